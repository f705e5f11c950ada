"""Pictures of panel 05: failing shares by one dimension as bars, by two as a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.language import text as _t
from workbench.views import plots
from workbench.views.fonts import drawable
from workbench.views.names import rate_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

#: Bars, and rows and columns of a grid, that are drawn at most.
MOST_BARS, MOST_ROWS, MOST_COLUMNS = 25, 20, 9


def rate_bars(
    names: Sequence[str], rates: ArrayLike, lows: ArrayLike, highs: ArrayLike, base: float, *, notes: Sequence[str],
    title: str, theme: str = "print",
) -> Figure:  # fmt: skip
    """Failing shares in [0, 1] with their intervals, the share of all samples as a dotted line; first rows on top."""
    most = slice(None, MOST_BARS)
    rate, low, high = (np.asarray(array, dtype=float)[most] for array in (rates, lows, highs))
    with plots.drawing(9.6, 0.85 + 0.3 * max(len(rate), 1), theme) as (figure, axes):
        height = figure.get_figheight()
        figure.subplots_adjust(left=0.24, right=0.56, top=1 - 0.42 / height, bottom=0.32 / height)
        places = np.arange(len(rate))
        axes.barh(places, np.nan_to_num(rate), 0.62, color=plots.VERMILLION, alpha=0.75)
        axes.hlines(places, low, high, color=axes.xaxis.label.get_color(), lw=1.6)
        if base == base:
            axes.axvline(base, color=plots.BLUE, lw=1.2, ls=":")
        for place, note in zip(places, notes[most], strict=True):
            axes.annotate(drawable(note, 66), (1, place), xytext=(10, -3), textcoords="offset points",
                          xycoords=("axes fraction", "data"))  # fmt: skip
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.5, 1], [rate_text(value) for value in (0.0, 0.5, 1.0)])
        axes.set_ylim(max(len(rate), 1) - 0.5, -0.5)
        axes.set_yticks(places, [drawable(name, 30) for name in names[most]])
        axes.tick_params(axis="y", length=0)
        figure.suptitle(drawable(title, 110), x=0.01, y=1 - 0.06 / height, ha="left", va="top", fontsize=10)
    return figure


def rate_grid(
    rows: Sequence[str], columns: Sequence[str], rates: ArrayLike, n: ArrayLike, failing: ArrayLike, *, title: str,
    theme: str = "print",
) -> Figure:  # fmt: skip
    """Failing shares by two dimensions, each cell with its rate and numbers; darker is worse.

    Parameters
    ----------
    rates, n, failing
        Shape (len(rows), len(columns)); cells without a rate (NaN) stay empty.
    """
    rate, size, bad = (np.asarray(a, dtype=float)[:MOST_ROWS, :MOST_COLUMNS] for a in (rates, n, failing))
    height, width = rate.shape
    with plots.drawing(9.6, 0.9 + 0.42 * max(height, 1), theme) as (figure, axes):
        figure.subplots_adjust(left=0.24, right=0.99, top=1 - 0.62 / figure.get_figheight(), bottom=0.06)
        for i in range(height):
            for j in range(width):
                if rate[i, j] == rate[i, j]:
                    axes.add_patch(_cell(i, j, rate[i, j]))
                    words = f"{rate_text(rate[i, j])}  ({bad[i, j]:.0f} / {size[i, j]:.0f})"
                    axes.text(j, i, words, ha="center", va="center", fontsize=8.5, color="#1b1b1b")
        axes.set_xlim(-0.5, max(width, 1) - 0.5)
        axes.set_ylim(max(height, 1) - 0.5, -0.5)
        axes.set_xticks(range(width), [drawable(name, 16) for name in columns[:width]])
        axes.set_yticks(range(height), [drawable(name, 30) for name in rows[:height]])
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        figure.suptitle(drawable(title, 110), x=0.01, y=0.99, ha="left", va="top", fontsize=10)
    return figure


def _cell(row: int, column: int, rate: float) -> Any:
    """One cell: paper at 0, a strong vermillion at 1, opaque so that dark ink can be read on any page."""
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Rectangle

    paper, full = np.array(to_rgb("#faf3ee")), np.array(to_rgb(plots.VERMILLION))
    color = tuple(paper + (full - paper) * 0.75 * rate)
    return Rectangle((column - 0.48, row - 0.44), 0.96, 0.88, facecolor=color, lw=0)


def cut_words(shown: int, total: int) -> str:
    """The sentence that says that not all groups are drawn; empty when they are."""
    return "" if total <= shown else _t("queries.panel.cut", shown=f"{shown:,}", total=f"{total:,}")
