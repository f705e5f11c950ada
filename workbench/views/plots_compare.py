"""Pictures of a comparison: where the causes went, how sure each difference is, and a trend over runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from workbench.language import text as _t
from workbench.views.causes import NOT_FAILING
from workbench.views.fonts import drawable
from workbench.views.names import cause_title
from workbench.views.plots import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, drawing

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle
    from numpy.typing import ArrayLike

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
    with drawing(9.6, float(np.clip(1.3 + 0.25 * rows, 2.4, 6.6)), theme) as (figure, axes):
        figure.subplots_adjust(left=0.02, right=0.98, top=1 - 0.62 / figure.get_figheight(), bottom=0.02)
        axes.set_xlim(0, 1), axes.set_ylim(1, 0)
        axes.set_axis_off()
        axes.set_title(drawable(title, 120), x=0.0, pad=22)
        _bands(axes, ledger, sides)
        for place, (side, name) in enumerate(zip(sides, names, strict=True)):
            _labels(axes, side, left=place == 0)
            axes.annotate(drawable(name, 40), (0.24 if place == 0 else 0.76, 0), xytext=(0, 3), color=GREY,
                          textcoords="offset points", ha="right" if place == 0 else "left")  # fmt: skip
    return figure


def _nodes(ledger: pd.DataFrame, column: str) -> dict[str, tuple[float, float, int]]:
    """Cause → (top, height, n) on an axis from 0 to 1, in the order of the chain, passing ones last."""
    from workbench.diagnosis.attribution import CAUSES

    counts = ledger.groupby(column)["n"].sum()
    order = [name for name in (*CAUSES, *reversed(NOT_FAILING)) if name in counts.index]
    total = max(int(counts.sum()), 1)
    room = 1 - 0.03 - _GAP * max(len(order) - 1, 0)
    least = min(_LEAST, room / max(len(order), 1))
    heights = np.maximum(np.array([counts[name] / total for name in order]), least)
    heights *= room / heights.sum() if len(heights) else 1
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
    for cell, start in starts.items():
        _band(axes, *start, *ends[cell], *_paint(*cell))


def _paint(before: str, after: str) -> tuple[str, float]:
    """Colour and opacity of a band."""
    if before == after:
        return GREY, 0.22
    if "not_checked" in (before, after):
        return SKY, 0.4
    return (GREEN, 0.62) if after == "pass" else (VERMILLION, 0.75) if before == "pass" else (ORANGE, 0.5)


def _band(axes: Axes, top: float, height: float, end: float, end_height: float, color: str, alpha: float) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    x0, x1, mid = 0.25, 0.75, 0.5
    points = [
        (x0, top), (mid, top), (mid, end), (x1, end),
        (x1, end + end_height), (mid, end + end_height), (mid, top + height), (x0, top + height), (x0, top),
    ]  # fmt: skip
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3, Path.CLOSEPOLY]
    axes.add_patch(PathPatch(Path(points, codes), facecolor=color, alpha=alpha, lw=0))


def _labels(axes: Axes, side: Mapping[str, tuple[float, float, int]], *, left: bool) -> None:
    for name, (top, height, n) in side.items():
        color = GREEN if name == "pass" else GREY if name == "not_checked" else VERMILLION
        x = 0.243 if left else 0.75
        axes.add_patch(_box(x, top, height, PURPLE if name == "permission_leak" else color))
        words = f"{drawable(cause_title(name), 30)}  {n:,}" if left else f"{n:,}  {drawable(cause_title(name), 30)}"
        axes.text(0.235 if left else 0.765, top + height / 2, words, ha="right" if left else "left", va="center",
                  fontsize=8.5)  # fmt: skip


def _box(x: float, top: float, height: float, color: str) -> Rectangle:
    from matplotlib.patches import Rectangle

    return Rectangle((x, top), 0.007, height, facecolor=color, lw=0)


# ---------------------------------------------------------------- differences and trends


def differences(
    names: Sequence[str], deltas: ArrayLike, lows: ArrayLike, highs: ArrayLike, *, better: Sequence[bool | None],
    sure: Sequence[bool], notes: Sequence[str] = (), title: str = "", theme: str = "print",
) -> Figure:  # fmt: skip
    """Paired differences with their 95 % intervals around no change, one line each.

    Parameters
    ----------
    deltas, lows, highs
        Shape (n,).
    better
        Whether each change is to the better (green) or the worse (vermillion); None is grey.
    sure
        Whether it is significant after correction: a filled point, else a hollow one.
    notes
        What stands at the right end of each line.
    """
    delta, low, high = (np.asarray(array, dtype=float) for array in (deltas, lows, highs))
    with drawing(9.6, 0.85 + 0.22 * max(len(names), 1), theme) as (figure, axes):
        height, rows = figure.get_figheight(), np.arange(len(names))
        figure.subplots_adjust(left=0.27, right=0.74, top=1 - 0.36 / height, bottom=0.34 / height)
        axes.axvline(0, color=GREY, lw=0.8)
        for row, color, full in zip(rows, map(_side_color, better), sure, strict=True):
            axes.hlines(row, low[row], high[row], color=color, lw=3, alpha=0.4)
            axes.plot(delta[row], row, "o", ms=5, color=color, mfc=color if full else "white")
        for row, note in zip(rows, notes, strict=False):
            axes.annotate(drawable(note, 60), (1, row), xytext=(8, -3), textcoords="offset points", fontsize=8.5,
                          xycoords=("axes fraction", "data"))  # fmt: skip
        axes.set_yticks(rows, [drawable(name, 34) for name in names])
        axes.set_ylim(max(len(names), 1) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.set_title(drawable(title, 110), x=-0.57)
    return figure


def _side_color(better: bool | None) -> str:
    return GREY if better is None else GREEN if better else VERMILLION


def trend(table: pd.DataFrame, titles: Mapping[str, str], *, title: str = "", theme: str = "print") -> Figure:
    """Means over runs, one line a metric with its interval and its name at the end.

    Parameters
    ----------
    table
        ``run, metric, mean, low, high``, as :func:`workbench.diagnosis.many_runs.runs_table` gives it.
    titles
        Metric → what to call it.
    """
    runs = list(dict.fromkeys(table["run"]))
    colors = (BLUE, GREEN, VERMILLION, PURPLE, ORANGE, SKY, GREY)
    with drawing(9.6, 3.4, theme) as (figure, axes):
        figure.subplots_adjust(left=0.06, right=0.78, top=0.88, bottom=0.12)
        ends: list[tuple[float, str, str]] = []
        for place, (metric, rows) in enumerate(table.groupby("metric", sort=False)):
            color, x = colors[place % len(colors)], np.arange(len(rows))
            mean, low, high = (rows[name].to_numpy(dtype=float) for name in ("mean", "low", "high"))
            axes.fill_between(x, low, high, color=color, alpha=0.12, lw=0)
            axes.plot(x, mean, "o-", color=color, lw=1.8, ms=4)
            if len(mean) and np.isfinite(mean[-1]):
                ends.append((float(mean[-1]), f"{titles.get(str(metric), str(metric))}  {mean[-1]:.2f}", color))
        axes.set_ylim(0, max(1.0, float(np.nanmax(table["mean"], initial=0))) * 1.02)
        axes.set_xticks(range(len(runs)), [drawable(str(run), 24) for run in runs])
        axes.set_title(drawable(title or _t("compare.panel.trend_title"), 110))
        for y, text, color, at in _apart(ends, axes.get_ylim()[1] * 0.065):
            axes.annotate(drawable(text, 44), (len(runs) - 1, y), xytext=(1.02, at), textcoords=axes.get_yaxis_transform(),
                          color=color, va="center")  # fmt: skip
    return figure


def _apart(ends: Sequence[tuple[float, str, str]], least: float) -> list[tuple[float, str, str, float]]:
    """Labels with the heights at which they do not cover each other."""
    placed: list[tuple[float, str, str, float]] = []
    at = -np.inf
    for y, text, color in sorted(ends):
        at = max(y, at + least)
        placed.append((y, text, color, at))
    return placed
