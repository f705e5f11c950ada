"""The flow of causes between two runs: nodes for the causes of each, bands for the samples that went from one to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from workbench.views.figures import (
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    as_wide,
    drawable,
    drawing,
    ink,
    stand_for,
)
from workbench.views.wording import cause_title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

#: Height of the smallest node and of the gaps between nodes, as shares of the picture.
_LEAST, _GAP = 0.024, 0.016


def flow(ledger: pd.DataFrame, *, names: tuple[str, str] = ("", ""), title: str = "", theme: str = "print") -> Figure:
    """Causes before (left) and after (right) with bands between them, as wide as the samples that went that way.

    Green bands end in a pass, vermillion ones come from it, orange ones changed their cause, grey ones stayed.

    Parameters
    ----------
    ledger
        ``cause_before, cause_after, n``, as :meth:`Comparison.ledger` gives it.
    names
        What the two runs are called.
    """
    sides = [_nodes(ledger, f"cause_{side}") for side in ("before", "after")]
    rows = max(len(side) for side in sides)
    on_screen = theme == "screen"
    height = float(np.clip(0.6 + 0.165 * rows, 1.7, 3.0) if on_screen else np.clip(1.3 + 0.25 * rows, 2.4, 6.6))
    # Each end is as high as its label.
    least = 0.125 / (height - 0.62)
    sides = [_nodes(ledger, f"cause_{side}", least) for side in ("before", "after")]
    with drawing(height, theme) as (figure, axes):
        figure.subplots_adjust(left=0.02, right=0.98, top=1 - 0.5 / figure.get_figheight(), bottom=0.02)
        axes.set_xlim(0, 1), axes.set_ylim(1, 0)
        axes.set_axis_off()
        axes.set_title(drawable(title, 120), x=0.0, pad=16)
        _bands(axes, ledger, sides)
        for place, (side, name) in enumerate(zip(sides, names, strict=True)):
            _labels(axes, side, left=place == 0)
            axes.annotate(drawable(name, 40), (0.24 if place == 0 else 0.76, 0), xytext=(0, 3), color=ink(theme),
                          textcoords="offset points", ha="right" if place == 0 else "left")  # fmt: skip
    return figure


def _nodes(ledger: pd.DataFrame, column: str, least: float = 0.0) -> dict[str, tuple[float, float, int]]:
    """Cause → (top, height, n) on an axis from 0 to 1, in the order of the chain, passing ones last."""
    from workbench.diagnosis.causes import NOT_FAILING, cause_names

    counts = ledger.groupby(column)["n"].sum()
    order = [name for name in (*cause_names(), *reversed(NOT_FAILING)) if name in counts.index]
    total = max(int(counts.sum()), 1)
    room = 1 - 0.03 - _GAP * max(len(order) - 1, 0)
    least = min(max(least - _GAP, _LEAST), room / max(len(order), 1))
    heights = np.maximum(np.array([counts[name] / total for name in order]), least)
    # What is more than the least shares the room that is left.
    more = heights - least
    heights = least + more * max(room - least * len(heights), 0.0) / (more.sum() or 1.0)
    tops = 0.03 + np.concatenate([[0.0], np.cumsum(heights + _GAP)[:-1]]) if len(order) else heights
    return {name: (float(t), float(h), int(counts[name])) for name, t, h in zip(order, tops, heights, strict=True)}


def _bands(axes: Axes, ledger: pd.DataFrame, sides: Sequence[Mapping[str, tuple[float, float, int]]]) -> None:
    """Bands leave and enter each node in the order of the nodes on the other side, so that few cross."""
    order = [{name: place for place, name in enumerate(side)} for side in sides]
    cells = [(row.cause_before, row.cause_after, int(row.n)) for row in ledger.itertuples()]
    left = {name: node[0] for name, node in sides[0].items()}
    right = {name: node[0] for name, node in sides[1].items()}
    starts, ends = {}, {}
    for before, after, n in sorted(cells, key=lambda cell: (order[0][cell[0]], order[1][cell[1]])):
        starts[before, after] = (left[before], n / sides[0][before][2] * sides[0][before][1])
        left[before] += starts[before, after][1]
    for before, after, n in sorted(cells, key=lambda cell: (order[1][cell[1]], order[0][cell[0]])):
        ends[before, after] = (right[after], n / sides[1][after][2] * sides[1][after][1])
        right[after] += ends[before, after][1]
    counts = {(before, after): n for before, after, n in cells}
    for cell, start in starts.items():
        edge = _band(axes, *start, *ends[cell], *_paint(*cell))
        words = f"{cause_title(cell[0])} → {cause_title(cell[1])}: {counts[cell]:,}"
        stand_for(axes, {"before": cell[0], "after": cell[1]}, words, area=edge)


def _paint(before: str, after: str) -> tuple[str, float]:
    """Colour and opacity of a band."""
    if before == after:
        return GREY, 0.22
    if "not_checked" in (before, after):
        return SKY, 0.4
    return (GREEN, 0.62) if after == "pass" else (VERMILLION, 0.75) if before == "pass" else (ORANGE, 0.5)


def _band(
    axes: Axes, top: float, height: float, end: float, end_height: float, color: str, alpha: float
) -> NDArray[np.float64]:  # fmt: skip
    """A band between the sides; gives its edge as points."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    x0, x1, mid = 0.25, 0.75, 0.5
    points = [
        (x0, top), (mid, top), (mid, end), (x1, end),
        (x1, end + end_height), (mid, end + end_height), (mid, top + height), (x0, top + height), (x0, top),
    ]  # fmt: skip
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3, Path.CLOSEPOLY]
    path = Path(points, codes)
    axes.add_patch(PathPatch(path, facecolor=color, alpha=alpha, lw=0))
    return np.asarray(path.to_polygons(closed_only=False)[0])


def _labels(axes: Axes, side: Mapping[str, tuple[float, float, int]], *, left: bool) -> None:
    from matplotlib.patches import Rectangle

    from workbench.diagnosis.causes import NOT_CHECKED, PASS, rule_of

    for name, (top, height, n) in side.items():
        rule = rule_of(name)
        color = GREEN if name == PASS else GREY if name == NOT_CHECKED else VERMILLION
        x = 0.243 if left else 0.75
        color = PURPLE if rule and rule.red_line else color
        axes.add_patch(Rectangle((x, top), 0.007, height, facecolor=color, lw=0))
        box = (0.0 if left else x, top, 0.25 if left else 1.0, top + height)
        stand_for(axes, {"before" if left else "after": name}, f"{cause_title(name)}: {n:,}", box=box)
        room = 0.235 * 9 / 8.5 * axes.bbox.width - 7.3 * len(f"{n:,}")
        title = as_wide(drawable(cause_title(name)), room)
        words = f"{title}  {n:,}" if left else f"{n:,}  {title}"
        axes.text(0.235 if left else 0.765, top + height / 2, words, ha="right" if left else "left", va="center",
                  fontsize=8.5)  # fmt: skip
