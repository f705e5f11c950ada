"""Terms tied to failing questions, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from workbench.language import text as _t
from workbench.views.fonts import drawable
from workbench.views.plots import GREY, VERMILLION, drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike


def log_odds(
    terms: Sequence[str], values: ArrayLike, lows: ArrayLike, highs: ArrayLike, *, notes: Sequence[str] = (),
    title: str = "", theme: str = "print",
) -> Figure:  # fmt: skip
    """Log-odds (n,) of terms with their 95 % intervals, one line each; those whose interval lies above 0 are filled."""
    value, low, high = (np.asarray(array, dtype=float) for array in (values, lows, highs))
    with drawing(9.6, 0.95 + 0.24 * max(len(terms), 1), theme) as (figure, axes):
        height = figure.get_figheight()
        figure.subplots_adjust(left=0.16, right=0.82, top=1 - 0.36 / height, bottom=0.5 / height)
        rows = np.arange(len(terms))
        sure = low > 0
        axes.axvline(0, color=GREY, lw=1)
        axes.hlines(rows, low, high, color=[VERMILLION if flag else GREY for flag in sure], lw=2.5, alpha=0.5)
        axes.scatter(value[sure], rows[sure], color=VERMILLION, s=30, zorder=3)
        axes.scatter(value[~sure], rows[~sure], facecolors="white", edgecolors=GREY, s=30, zorder=3)
        for row, note in zip(rows, notes, strict=False):
            axes.annotate(drawable(note, 40), (1, row), xytext=(8, -3), textcoords="offset points",
                          xycoords=("axes fraction", "data"))  # fmt: skip
        axes.set_yticks(rows, [drawable(term, 22) for term in terms])
        axes.set_ylim(max(len(terms), 1) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(drawable(_t("vocabulary.plot.log_odds")))
        axes.set_title(drawable(title, 100), x=-0.19)
    return figure
