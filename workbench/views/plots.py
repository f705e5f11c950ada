"""The pictures, as ``Figure`` objects; every function takes plain arrays. How they are drawn: ``views/figures.py``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.language import language_of, numbers
from workbench.language import text as _t
from workbench.views.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    as_wide,
    beside,
    draggable,
    drawable,
    drawing,
    ink,
    margin,
    row_axes,
    stand_for,
)
from workbench.views.wording import cause_title, verdict_title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    from workbench.diagnosis.calibration import Calibration
    from workbench.repair.sweep import Sweep

#: Points that a plot draws at most; failures are always among them.
MOST_POINTS = 10_000
BLOCKS = "▁▂▃▄▅▆▇█"

#: Colour and hatch of each severity.
SEVERITIES = {"high": (VERMILLION, "///"), "medium": (ORANGE, "\\\\"), "low": ("#F0E442", "")}
#: Bars, and rows and columns of a grid, that are drawn at most.
MOST_BARS, SCREEN_BARS, MOST_ROWS, MOST_COLUMNS, MOST_CAUSES = 25, 9, 20, 9, 7


def _floats(*arrays: ArrayLike) -> list[NDArray[np.float64]]:
    return [np.asarray(array, dtype=float) for array in arrays]


def _cut_line(axes: Axes, cut: float) -> None:
    """The cut in force with its value; beyond 0.9 there is no room on the right."""
    right = cut > 0.9
    axes.axvline(cut, color=BLUE, lw=1.6)
    beside(axes, f"{cut:.2f}", (cut, 1), (-3 if right else 3, -9), BLUE, xycoords=("data", "axes fraction"),
            ha="right" if right else "left")  # fmt: skip


def _whole_numbers(axis: Any, most: Any = "auto") -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(most, integer=True))


def sampled(n: int, keep: NDArray[np.bool_], limit: int = MOST_POINTS) -> tuple[NDArray[np.intp], str]:
    """Which of ``n`` points to draw, and the sentence that says so (empty when all are).

    Points of ``keep`` (failures) are always drawn, even when they alone are more than ``limit``; the others are an
    even random sample, the same one each time.
    """
    if n <= limit:
        return np.arange(n), ""
    wanted = np.flatnonzero(keep)
    others = np.flatnonzero(~keep)
    room = max(limit - len(wanted), 0)
    chosen = np.random.default_rng(0).choice(others, min(room, len(others)), replace=False)
    drawn = np.sort(np.concatenate([wanted, chosen]))
    return drawn, _t("panels.common.sampled", shown=f"{len(drawn):,}", total=f"{n:,}")


def spark(values: ArrayLike, bins: int = 8) -> str:
    """The spread of scores in [0, 1] as ``bins`` block characters; empty without values."""
    scores = _finite(values)
    if not len(scores):
        return ""
    counts = np.histogram(np.clip(scores, 0, 1), bins, (0, 1))[0]
    return "".join(BLOCKS[round(count / counts.max() * (len(BLOCKS) - 1))] for count in counts)


def _finite(values: ArrayLike) -> NDArray[np.float64]:
    scores = np.asarray(values, dtype=float)
    return scores[np.isfinite(scores)]


# Distributions and curves.


def _spread(axes: Axes, scores: NDArray[np.float64], cut: float, low_is_bad: bool, label: str) -> None:
    low, high = min(0.0, float(scores.min(initial=0))), max(1.0, float(scores.max(initial=1)), cut)
    edges = np.linspace(low, high * (1 + 1e-9), 41)
    failing = scores < cut if low_is_bad else scores > cut
    fine, bad = (np.histogram(scores[chosen], edges)[0] for chosen in (~failing, failing))
    axes.stairs(fine, edges, fill=True, color=GREEN, alpha=0.75, lw=0)
    axes.stairs(fine + bad, edges, baseline=fine, fill=True, facecolor=VERMILLION, hatch="////", edgecolor="white", lw=0)
    _cut_line(axes, cut)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_xlabel(drawable(label))
    _whole_numbers(axes.yaxis, 4)
    for start, end, n in zip(edges, edges[1:], fine + bad, strict=False):
        if n:
            words = _t("lists.bin", low=numbers.score(start), high=numbers.score(end), n=f"{n:,}")
            stand_for(axes, ["bin", float(start), float(end)], words, box=(start, math.nan, end, math.nan))
    draggable(axes, cut, 0.0, max(1.0, high), _t("lists.drag"))


def failures(
    causes: Sequence[tuple[str, int, int]], values: ArrayLike, cut: float, *, low_is_bad: bool = True,
    titles: tuple[str, str] = ("", ""), label: str = "", theme: str = "print",
) -> Figure:  # fmt: skip
    """Why samples fail beside how one score is spread.

    Parameters
    ----------
    causes
        Cause, how many samples have it as the main cause, and to how many more it contributes; the first
        :data:`MOST_CAUSES` are drawn.
    values
        The score of each sample (n,); missing ones are left out. With values outside [0, 1] the axis widens.
    cut, low_is_bad
        The threshold, and whether the failing side, coloured and hatched, is below it (else above).
    titles
        What to see on the left and on the right.
    """
    shown = list(causes[:MOST_CAUSES])
    with drawing(1.62, theme, (0.19, 0.05, 0.25, 0.79), (0.535, 0.275, 0.45, 0.565)) as (figure, (left, right)):
        most = max((main + more for _, main, more in shown), default=1)
        left.set(xlim=(0, most * 1.22), ylim=(max(len(shown), 4) - 0.4, -0.6), xticks=[])
        left.set_yticks(range(len(shown)), [drawable(cause_title(name), 22) for name, _, _ in shown])
        left.tick_params(axis="y", length=0, labelsize=8.5)
        left.spines[["left", "bottom"]].set_visible(False)
        mains, further = ([cause[place] for cause in shown] for place in (1, 2))
        left.barh(range(len(shown)), mains, 0.66, color=VERMILLION)
        left.barh(range(len(shown)), further, 0.66, left=mains, facecolor="none", edgecolor=VERMILLION, hatch="////", lw=0.6)
        for row, (name, main, more) in enumerate(shown):
            counts = f"{main:,}" + (f" + {more:,}" if more else "")
            beside(left, counts, (main + more, row), (4, -3), ink(theme), fontsize=8.5)
            words = _t("lists.cause", cause=cause_title(name), main=f"{main:,}", more=f"{more:,}")
            stand_for(left, ["cause", name], words, row=row)
        _spread(right, _finite(values), cut, low_is_bad, label)
        left.set_title(drawable(titles[0], 60), x=-0.72)
        right.set_title(drawable(titles[1], 80))
    return figure


# One row a name: means, rates, differences, counts.


def intervals(
    names: Sequence[str], means: ArrayLike, lows: ArrayLike, highs: ArrayLike, *, targets: ArrayLike | None = None,
    title: str = "", theme: str = "print",
) -> Figure:  # fmt: skip
    """Means with their 95 % intervals, one line each, targets as ticks; the axis runs from 0 to 1.

    All arrays have shape (n,); a missing interval or target is left out.
    """
    mean, low, high = _floats(means, lows, highs)
    notes = ["" if np.isnan(value) else f"{value:.2f}" for value in mean]
    with row_axes(names, title, theme, each=0.21, right=0.93, notes=notes) as (figure, axes, rows):
        axes.hlines(rows, low, high, color=BLUE, lw=3, alpha=0.45)
        axes.plot(mean, rows, "o", color=BLUE, ms=5)
        for row, name in enumerate(names):
            words = f"{name}: {notes[row]} ({numbers.interval(low[row], high[row])})"
            stand_for(axes, "", words, row=row)
        if targets is not None:
            axes.plot(*_floats(targets), rows, "|", color=VERMILLION, ms=11, mew=2)
        axes.set_xlim(0, 1)
        return figure


def bars(
    names: Sequence[str], rates: ArrayLike, lows: ArrayLike, highs: ArrayLike, *, notes: Sequence[str] = (),
    title: str = "", color: str = VERMILLION, base: float = math.nan, theme: str = "print",
) -> Figure:  # fmt: skip
    """Horizontal bars of rates in [0, 1] with their intervals, and a note at the right end of each line; ``base``: the
    rate of all, as a dotted line."""
    rate, low, high = _floats(rates, lows, highs)
    wide = math.isnan(base)
    left, right = (0.27, 0.72) if wide else (0.24, 0.56)
    each = 0.24 if theme == "screen" else 0.3
    with row_axes(names, title, theme, each=each, left=left, right=right, notes=notes) as (figure, axes, rows):
        for row, (name, note) in enumerate(zip(names, notes, strict=False)):
            stand_for(axes, row, f"{name}: {note}", row=row)
        axes.barh(rows, np.nan_to_num(rate), 0.62, color=color, alpha=0.8)
        axes.hlines(rows, low, high, color=ink(theme), lw=1.6)
        if not wide:
            axes.axvline(base, color=BLUE, lw=1.2, ls=":")
            axes.set_xticks([0, 0.5, 1], [numbers.percent(value) for value in (0.0, 0.5, 1.0)])
        axes.set_xlim(0, 1)
        return figure


def rate_bars(
    names: Sequence[str], rates: ArrayLike, lows: ArrayLike, highs: ArrayLike, base: float, *, notes: Sequence[str],
    title: str, theme: str = "print",
) -> Figure:  # fmt: skip
    """The first :data:`MOST_BARS` failing shares with their intervals, the share of all samples as a dotted line."""
    most = slice(None, SCREEN_BARS if theme == "screen" else MOST_BARS)
    shown = [array[most] for array in _floats(rates, lows, highs)]
    return bars(names[most], *shown, notes=notes[most], title=title, base=base, theme=theme)


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
    delta, low, high = _floats(deltas, lows, highs)
    colors = [GREY if good is None else GREEN if good else VERMILLION for good in better]
    with row_axes(names, title, theme, each=0.22, right=0.74, notes=notes) as (figure, axes, rows):
        axes.axvline(0, color=GREY, lw=0.8)
        axes.hlines(rows, low, high, color=colors or GREY, lw=3, alpha=0.4)
        for row, note in enumerate(notes):
            stand_for(axes, "", f"{names[row]}: {note}", row=row)
        for row, color, full in zip(rows, colors, sure, strict=True):
            axes.plot(delta[row], row, "o", ms=5, color=color, mfc=color if full else "white")
        return figure


def log_odds(
    terms: Sequence[str], values: ArrayLike, lows: ArrayLike, highs: ArrayLike, *, notes: Sequence[str] = (),
    title: str = "", theme: str = "print",
) -> Figure:  # fmt: skip
    """Log-odds (n,) of terms with their 95 % intervals, one line each; those whose interval lies above 0 are filled."""
    value, low, high = _floats(values, lows, highs)
    sure = low > 0
    with row_axes(
        terms, title, theme, each=0.24, left=0.16, right=0.82, bottom=0.5, limit=22, notes=notes
    ) as (figure, axes, rows):  # fmt: skip
        axes.axvline(0, color=GREY, lw=1)
        axes.hlines(rows, low, high, color=[VERMILLION if flag else GREY for flag in sure], lw=2.5, alpha=0.5)
        axes.scatter(value[sure], rows[sure], color=VERMILLION, s=30, zorder=3)
        axes.scatter(value[~sure], rows[~sure], facecolors="white", edgecolors=GREY, s=30, zorder=3)
        for row, (term, own) in enumerate(zip(terms, value, strict=True)):
            stand_for(axes, term, f"{term}: {own:.2f}", row=row)
        axes.set_xlabel(drawable(_t("vocabulary.plot.log_odds")))
        return figure


def hub_chart(names: Sequence[str], counts: ArrayLike, expected: ArrayLike, hub: Sequence[bool], *, title: str = "",
              theme: str = "print") -> Figure:  # fmt: skip
    """How often documents came: expected ones solid, the rest hatched; hubs carry a mark."""
    total, wanted = _floats(counts, expected)
    with row_axes(names, title, theme, each=0.24, right=0.93, bottom=0.46) as (figure, axes, rows):
        axes.barh(rows, wanted, 0.7, color=GREEN, label=drawable(_t("missed.hub.expected")))
        axes.barh(rows, total - wanted, 0.7, left=wanted, color=ORANGE, hatch="////", edgecolor="white", lw=0,
                  label=drawable(_t("missed.hub.other")))  # fmt: skip
        for row, value, marked in zip(rows, total, hub, strict=True):
            beside(axes, f"{int(value)}{' ⚠' if marked else ''}", (value, row), (4, -3), ink(theme))
            words = f"{names[row]}: {wanted[row]:,.0f} / {value:,.0f}"
            stand_for(axes, {"doc_id": names[row]}, words, row=row)
        _whole_numbers(axes.xaxis)
        axes.legend(loc="lower right", frameon=False, fontsize=8)
        axes.set_xlabel(drawable(_t("missed.hub.axis")))
        return figure


def verdict_bars(counts: pd.DataFrame, title: str, *, theme: str = "print") -> Figure:
    """One bar a verdict, from ``verdict_counts``; claims without support are split by severity."""
    total = int(counts["n"].sum())
    names = [verdict_title(name) for name in counts.index]
    with row_axes(names, title, theme, each=0.27, left=0.16, right=0.8, limit=30) as (figure, axes, _):
        for row, (verdict, values) in enumerate(counts.iterrows()):
            left = 0
            if verdict == "unsure":
                words = f"{verdict_title(verdict)}: {values['n']:,.0f}"
                stand_for(axes, [verdict, ""], words, box=(0, row - 0.5, values["n"], row + 0.5))
            # The hatch tells severities apart without colour.
            for level, (color, hatch) in SEVERITIES.items():
                axes.barh(row, values[level], 0.62, left=left, color=color, hatch=hatch, edgecolor="#00000055", lw=0.5)
                if values[level]:
                    words = f"{verdict_title(verdict)}, {_t(f'hallucinations.severity.{level}')}: {values[level]:,.0f}"
                    stand_for(axes, [verdict, level], words, box=(left, row - 0.5, left + values[level], row + 0.5))
                left += values[level]
            axes.barh(row, values["n"] - left, 0.62, left=left, color=GREEN if verdict == "supported" else "#999999")
            levels = [f"{_t(f'hallucinations.severity.{name}')} {values[name]:.0f}" for name in SEVERITIES if values[name]]
            words = f"{values['n']:,.0f} · {numbers.percent(values['n'] / total) if total else ''}"
            words += f"  ({', '.join(levels)})" if levels else ""
            beside(axes, words, (values["n"], row), (6, -3), ink(theme))
        axes.set_xlim(0, max(total, 1))
        return figure


# Grids of two dimensions.


def rate_grid(
    rows: Sequence[str], columns: Sequence[str], rates: ArrayLike, n: ArrayLike, failing: ArrayLike, *,
    keys: Mapping[tuple[int, int], Any], title: str, theme: str = "print",
) -> Figure:  # fmt: skip
    """Failing shares by two dimensions, each cell with its rate and numbers; darker is worse.

    Parameters
    ----------
    rates, n, failing
        Shape (len(rows), len(columns)); cells without a rate (NaN) stay empty.
    keys
        Row and column → what a click on the cell means.
    """
    from matplotlib.colors import LinearSegmentedColormap

    most = SCREEN_BARS if theme == "screen" else MOST_ROWS
    rate, size, bad = (array[:most, :MOST_COLUMNS] for array in _floats(rates, n, failing))
    height, width = rate.shape
    # Paper at 0, a strong vermillion at 1, opaque so that dark ink can be read on any page.
    colors = LinearSegmentedColormap.from_list("rates", ["#faf3ee", "#de833c"])
    with drawing(0.9 + (0.24 if theme == "screen" else 0.42) * max(height, 1), theme) as (figure, axes):
        figure.subplots_adjust(left=0.24, right=0.99, top=1 - 0.62 / figure.get_figheight(), bottom=0.06)
        if rate.size:
            axes.imshow(np.ma.masked_invalid(rate), cmap=colors, aspect="auto", vmin=0, vmax=1)
        for i, j in np.argwhere(np.isfinite(rate)):
            words = f"{numbers.percent(rate[i, j])}  ({bad[i, j]:.0f} / {size[i, j]:.0f})"
            axes.text(j, i, words, ha="center", va="center", fontsize=8.5, color="#1b1b1b")
            said = f"{rows[i]} × {columns[j]}: {words}"
            stand_for(axes, keys.get((int(i), int(j)), ""), said, box=(j - 0.5, i - 0.5, j + 0.5, i + 0.5))
        axes.set_xlim(-0.5, max(width, 1) - 0.5)
        axes.set_ylim(max(height, 1) - 0.5, -0.5)
        axes.set_xticks(range(width), [drawable(name, 16) for name in columns[:width]])
        axes.set_yticks(range(height), [drawable(name, 30) for name in rows[:height]])
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        figure.suptitle(drawable(title, 110), x=0.01, y=0.99, ha="left", va="top", fontsize=10)
    return figure


def cut_words(shown: int, total: int) -> str:
    """The sentence that says that not all groups are drawn; empty when they are."""
    return "" if total <= shown else _t("queries.panel.cut", shown=f"{shown:,}", total=f"{total:,}")


def heat_map(terms: Sequence[str], names: Sequence[str], weights: NDArray[np.floating], *, title: str = "",
             theme: str = "print") -> Figure:  # fmt: skip
    """Question terms (rows) × documents (columns): darker where a weightier term stands, ``·`` where none does."""
    from matplotlib.colors import LinearSegmentedColormap

    cells = np.asarray(weights, dtype=float).reshape(len(terms), len(names))
    # Opaque, so that dark ink can be read on any page.
    blues = LinearSegmentedColormap.from_list("coverage", ["#f4f8fc", "#7db4dd"])
    with drawing(1.3 + 0.26 * max(len(terms), 1), theme) as (figure, axes):
        height = figure.get_figheight()
        figure.subplots_adjust(left=0.16, right=0.985, top=1 - 0.36 / height, bottom=0.8 / height)
        # Where a word does not stand the page is seen: a field of white would blind a dark one.
        shown = np.ma.masked_equal(cells, 0)
        axes.imshow(shown, cmap=blues, aspect="auto", vmin=0, vmax=max(float(cells.max(initial=0)), 1e-9))
        for row, column in np.ndindex(cells.shape):
            value = cells[row, column]
            axes.annotate(f"{value:.1f}" if value else "·", (column, row), ha="center", va="center", fontsize=8,
                          color="#1b1b1b" if value else ink(theme))  # fmt: skip
            said = f"{terms[row]} × {names[column]}: {value:.1f}"
            stand_for(axes, "", said, box=(column - 0.5, row - 0.5, column + 0.5, row + 0.5))
        axes.set_yticks(range(len(terms)), [drawable(term, 20) for term in terms])
        axes.set_xticks(range(len(names)), [drawable(name, 24) for name in names], rotation=18, ha="right", fontsize=8)
        axes.tick_params(length=0)
        axes.spines[["left", "bottom"]].set_visible(False)
        axes.set_title(drawable(title, 100), x=-0.16)
    return figure


# One statistic over time, with the baseline's band, the limits and where alerts fired.


@dataclass(frozen=True)
class Course:
    """What :func:`course` draws; times are seconds since 1970 or row numbers, arrays have shape (windows,).

    ``marks`` are ``(at, value, fired)``; ``spans`` stretches ``(from, to)`` during which an alert fired.
    """

    at: NDArray[np.float64]
    values: NDArray[np.float64]
    timed: bool
    baseline: tuple[float, float, float]
    limit: float
    clear_level: float
    marks: Sequence[tuple[float, float, bool]] = ()
    spans: Sequence[tuple[float, float]] = ()


def course(
    data: Course, *, title: str = "", label: str = "", scale: float = 1.0, rate: bool = False, theme: str = "print"
) -> Figure:
    """A statistic of each window over time; a window without a value leaves a gap. ``scale`` multiplies the values."""
    with drawing(3.1, theme) as (figure, axes):
        figure.subplots_adjust(left=margin(figure, 79), right=0.985, top=0.89, bottom=0.16)
        at = _moments(data.at, data.timed)
        for start, end in data.spans:
            axes.axvspan(*_moments(np.array([start, end]), data.timed), color=VERMILLION, alpha=0.1, lw=0)
        _levels(axes, data, scale)
        axes.plot(at, data.values * scale, color=BLUE, lw=1.5, marker="o", ms=3 if len(at) < 40 else 1)
        ends = np.asarray(axes.convert_xunits(at), dtype=float)
        starts = np.concatenate([ends[:1] - (np.diff(ends[:2]) if len(ends) > 1 else 1.0), ends[:-1]])
        for window, (start, place, value) in enumerate(zip(starts, ends, data.values * scale, strict=True)):
            if value == value:
                words = _t("lists.window", at=window + 1, n=len(at), value=f"{value:,.4g}", unit=label)
                stand_for(axes, window, words, box=(start, math.nan, place, math.nan))
        for moment, value, fired in data.marks:
            colour = VERMILLION if fired else GREEN
            place = _moments(np.array([moment]), data.timed)
            axes.plot(place, [value * scale], "^" if fired else "v", color=colour, ms=9, mec="white", zorder=5)
        _frame(axes, data, scale, rate)
        axes.set_ylabel(drawable(label, 40))
        axes.set_title(drawable(title, 150))
    return figure


def _levels(axes: Axes, data: Course, scale: float) -> None:
    value, low, high = data.baseline
    if value == value:
        axes.axhline(value * scale, color=GREEN, lw=1, alpha=0.8)
    if low == low and high == high:
        axes.axhspan(low * scale, high * scale, color=GREEN, alpha=0.2, lw=0)
    for level, style, colour in ((data.limit, "--", VERMILLION), (data.clear_level, ":", ORANGE)):
        if level == level:
            axes.axhline(level * scale, color=colour, lw=1.2, ls=style)


def _frame(axes: Axes, data: Course, scale: float, rate: bool) -> None:
    """Rates and latencies from 0 on; scores around what is drawn."""
    levels = [level for level in (*data.baseline, data.limit) if level == level]
    shown = [*data.values[np.isfinite(data.values)], *levels]
    if shown:
        low, high = min(shown) * scale, max(shown) * scale
        space = 0.08 * (high - low or abs(high) or 1)
        axes.set_ylim(0 if rate else low - space, high + space)
    if data.timed:
        import matplotlib.dates as dates

        locator = dates.AutoDateLocator(maxticks=10)
        axes.xaxis.set_major_locator(locator)
        # Months as numbers: names of months are English.
        axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(
            locator, tz="UTC", formats=["%Y", "%Y-%m", "%d", "%H:%M", "%H:%M", "%S.%f"],
            zero_formats=["", "%Y", "%m-%d", "%m-%d", "%H:%M", "%H:%M"],
            offset_formats=["", "%Y", "%Y-%m", "%Y-%m-%d", "%Y-%m-%d", "%Y-%m-%d %H:%M"],
        ))  # fmt: skip


def _moments(values: NDArray[np.float64], timed: bool) -> NDArray[Any]:
    return (values * 1e6).astype("datetime64[us]") if timed else values


# Where missed documents are.

#: Roles of documents in the neighbourhood map → colour, marker, size.
ROLES: Mapping[str, tuple[str, str, float]] = {
    "corpus": (GREY, "o", 14), "rival": (ORANGE, "s", 34), "came": (SKY, "o", 46), "expected": (GREEN, "P", 60),
    "missed": (VERMILLION, "X", 90), "question": (BLUE, "*", 170),
}  # fmt: skip
#: Sub-causes → colour and marker, so that colour never stands alone.
MARKS: Mapping[str, tuple[str, str]] = {
    "filtered": (BLUE, "s"), "just_below_k": (GREEN, "^"), "crowded_out": (ORANGE, "D"),
    "lexical_gap": (VERMILLION, "v"),
    "semantic_gap": (PURPLE, "o"), "language_gap": (SKY, "P"), "truncated": (GREY, "X"),
}  # fmt: skip


def profile(
    background: ArrayLike, came: ArrayLike, missed: float, kth: float, *, title: str = "", theme: str = "print"
) -> Figure:
    """Similarity profile of one question: the corpus as a histogram, what came as ticks, the missed document as a line.

    Parameters
    ----------
    background, came
        Cosines of all documents (n,) and of the recorded contexts.
    missed, kth
        Cosines of the missed document and of the k-th nearest one.
    """
    values = np.asarray(background, dtype=float)
    edges = np.linspace(values.min(), values.max() + 1e-9, 60)
    with drawing(2.2 if theme == "screen" else 2.6, theme) as (figure, axes):
        figure.subplots_adjust(left=0.055, right=0.985, top=0.86, bottom=0.23)
        counts, _, _ = axes.hist(values, edges.tolist(), color=GREY, alpha=0.45)
        for low, high, n in zip(edges, edges[1:], np.asarray(counts).ravel().tolist(), strict=False):
            stand_for(axes, "", f"{low:.2f} – {high:.2f}: {n:,.0f}", box=(low, math.nan, high, math.nan))
        top = axes.get_ylim()[1]
        axes.vlines(np.asarray(came, dtype=float), 0, top * 0.35, color=SKY, lw=2.2)
        axes.axvline(kth, color=BLUE, lw=1.2, ls="--")
        axes.axvline(missed, color=VERMILLION, lw=2.2)
        labels = [(missed, "missed", VERMILLION, 0.97), (kth, "kth", BLUE, 0.82)]
        labels += [(float(np.max(came)), "came", SKY, 0.36)] if np.size(came) else []
        for value, key, color, height in labels:
            # On the side where there is room.
            left = value > (edges[0] + edges[-1]) / 2
            beside(axes, _t(f"missed.plot.{key}"), (value, height), (-4 if left else 4, 0), color,
                    xycoords=("data", "axes fraction"), ha="right" if left else "left", va="top")  # fmt: skip
        axes.set_xlabel(drawable(_t("missed.plot.similarity")))
        axes.set_title(drawable(title, 120))
    return figure


def neighbourhood(
    vectors: NDArray[np.float32], roles: Sequence[str], names: Sequence[str], *, title: str = "", theme: str = "print"
) -> tuple[Figure, str]:
    """2-D map (PCA) of documents and the question; everything but the corpus background is named.

    Parameters
    ----------
    vectors
        Unit rows (n, d).
    roles, names
        Of each row: one of :data:`ROLES`, and its label.

    Returns
    -------
    The figure, and the sentence that says what share of the variance it shows and how many points were left out.
    """
    kinds = np.array(roles, dtype=object)
    drawn, notice = sampled(len(kinds), kinds != "corpus", 2000)
    points, share = project(vectors[drawn])
    with drawing(3.2 if theme == "screen" else 4.6, theme) as (figure, axes):
        figure.subplots_adjust(left=0.02, right=0.82, top=0.9, bottom=0.03)
        for role, (color, marker, size) in ROLES.items():
            mine = kinds[drawn] == role
            style: dict[str, Any] = {"alpha": 0.4, "linewidths": 0} if role == "corpus" else {"edgecolors": "white"}
            across, up = points[mine].T
            axes.scatter(across, up, c=color, marker=marker, s=size, label=drawable(_t(f"missed.role.{role}")), **style)
        _name_points(axes, points, [names[at] for at in drawn], kinds[drawn])
        for at, place in zip(drawn, points.tolist(), strict=True):
            stand_for(axes, "", f"{names[at]} · {_t(f'missed.role.{kinds[at]}')}", at=place)
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=8)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_title(drawable(title, 120))
    return figure, f"{_t('missed.plot.map_note', share=numbers.percent(share))} {notice}".strip()


def _name_points(axes: Axes, points: NDArray[np.floating], names: Sequence[str], kinds: NDArray[Any]) -> None:
    """Labels that do not lie on each other: one is left out where another stands already."""
    scale = np.ptp(points, axis=0) if len(points) else np.ones(2)
    placed: list[NDArray[np.floating]] = []
    middle = np.min(points[:, 0], initial=np.inf) + 0.7 * scale[0]
    for wanted in ("missed", "question", "expected", "came", "rival"):
        for at in np.flatnonzero(kinds == wanted).tolist():
            place = points[at] / np.where(scale > 0, scale, 1)
            if any(abs(place[0] - other[0]) < 0.2 and abs(place[1] - other[1]) < 0.035 for other in placed):
                continue
            placed.append(place)
            left = points[at, 0] > middle
            axes.annotate(drawable(names[at], 26), points[at], xytext=(-6 if left else 6, 3), fontsize=8,
                          textcoords="offset points", ha="right" if left else "left")  # fmt: skip


def project(vectors: NDArray[np.floating]) -> tuple[NDArray[np.float64], float]:
    """The first two principal components (n, 2) of rows, and the share of the variance that they hold."""
    from sklearn.decomposition import PCA

    points = np.zeros((len(vectors), 2))
    if not np.ptp(vectors, axis=0).any():
        return points, 1.0
    model = PCA(min(2, *np.shape(vectors)), svd_solver="full")
    found = model.fit_transform(np.asarray(vectors, dtype=np.float64))
    points[:, : found.shape[1]] = found
    return points, float(model.explained_variance_ratio_.sum())


def quadrant(
    dense: ArrayLike, bm25: ArrayLike, causes: Sequence[str | None], k: int, n_documents: int, *,
    names: Sequence[str] = (), current: int | None = None, title: str = "", theme: str = "print",
) -> Figure:  # fmt: skip
    """Dense rank against BM25 rank of each missed document, log scales, with what each quadrant means.

    Parameters
    ----------
    dense, bm25
        Ranks (n,); rows with a missing one are left out.
    names
        What a pointer says of each row.
    current
        The row to point out.
    """
    across, up = np.asarray(dense, dtype=float), np.asarray(bm25, dtype=float)
    known = np.isfinite(across) & np.isfinite(up)
    with drawing(2.8 if theme == "screen" else 4.2, theme) as (figure, axes):
        figure.subplots_adjust(left=margin(figure, 74), right=0.75, top=0.89, bottom=0.16)
        limit = max(n_documents, k + 1) * 1.3
        axes.set(xscale="log", yscale="log", xlim=(0.8, limit), ylim=(0.45, limit * 1.8))  # room for the words
        axes.axvline(k + 0.5, color=GREY, lw=1)
        axes.axhline(k + 0.5, color=GREY, lw=1)
        for cause, (color, marker) in MARKS.items():
            mine = known & np.array([name == cause for name in causes], dtype=bool)
            if mine.any():
                axes.scatter(across[mine], up[mine], c=color, marker=marker, s=48, alpha=0.85, edgecolors="white",
                             label=drawable(f"{_t(f'causes.sub.{cause}')} {int(mine.sum())}"))  # fmt: skip
        for at in np.flatnonzero(known[: len(names)]).tolist():
            said = f"{names[at]}: {across[at]:,.0f} / {up[at]:,.0f}"
            stand_for(axes, at, said, at=(across[at], up[at]))
        if current is not None and known[current]:
            axes.scatter(across[current], up[current], s=210, facecolors="none", edgecolors=BLUE, linewidths=1.8)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        colon = str(language_of().facts["colon"])
        for x, y, key in ((0, 0, "both"), (1, 0, "words_only"), (0, 1, "meaning_only"), (1, 1, "none")):
            words = drawable(_t(f"missed.quadrant.{key}")).replace(colon, f"{colon.strip()}\n")
            axes.annotate(words, (0.01 + 0.98 * x, 0.01 + 0.98 * y), xycoords="axes fraction", fontsize=8,
                          ha="right" if x else "left", va="top" if y else "bottom")  # fmt: skip
        axes.set_xlabel(drawable(_t("missed.plot.dense_rank")))
        axes.set_ylabel(drawable(_t("missed.plot.bm25_rank")))
        if known.any():
            axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=8)
        axes.set_title(drawable(title, 110))
    return figure


def _apart(ends: Sequence[tuple[float, str, str]], least: float) -> list[tuple[float, str, str, float]]:
    """Labels with the heights at which they do not cover each other."""
    placed: list[tuple[float, str, str, float]] = []
    at = -np.inf
    for y, text, color in sorted(ends):
        at = max(y, at + least)
        placed.append((y, text, color, at))
    return placed


def rescue(curves: Mapping[str, ArrayLike], depths: ArrayLike, n: int, k: int, *, title: str = "",
           theme: str = "print") -> Figure:  # fmt: skip
    """How many missed documents each ranking would fetch at each depth; ``curves``: name → counts (d,)."""
    styles = {"dense": (BLUE, "-"), "bm25": (ORANGE, "--"), "hybrid": (GREEN, "-.")}
    x = np.asarray(depths)
    with drawing(2.4 if theme == "screen" else 2.9, theme) as (figure, axes):
        figure.subplots_adjust(left=0.06, right=0.86, top=0.87, bottom=0.2)
        for row, depth in enumerate(x.tolist()):
            heights = ", ".join(f"{_t(f'missed.curve.{name}')} {np.asarray(own)[row]:,.0f}" for name, own in curves.items())
            stand_for(axes, "", f"k = {depth}: {heights}", box=(depth, math.nan, depth + 1, math.nan))
        ends = [(float(np.asarray(heights)[-1]), name, styles[name][0]) for name, heights in curves.items()]
        for _, name, color, at in _apart(ends, 0.09 * max(n, 1)):
            axes.step(x, np.asarray(curves[name]), where="post", color=color, ls=styles[name][1], lw=2)
            beside(axes, _t(f"missed.curve.{name}"), (x[-1], at), (5, -3), color, annotation_clip=False)
        axes.axvline(k, color=GREY, lw=1)
        axes.set(xlim=(1, x[-1]), ylim=(0, max(n, 1) * 1.05))
        _whole_numbers(axes.yaxis)
        axes.set_xlabel(drawable(_t("missed.plot.depth")))
        axes.set_title(drawable(title, 110))
    return figure


def sweep_curve(found: Sweep, *, theme: str = "print") -> Figure:
    """Recall against prompt tokens of every cell of a grid, one line a ranking and chunking; the knee and today marked."""
    from workbench.repair.words import chunking_words

    colors = (BLUE, ORANGE, GREEN, PURPLE, VERMILLION, SKY, GREY)
    lines = list(found.frame.groupby(["ranking", "chunking"], sort=False))
    below = 0.75 + 0.22 * ((len(lines) + 4) // 3)  # inches: ticks, what the axis is, and the names three in a row
    with drawing(2.9 + below, theme) as (figure, axes):
        figure.subplots_adjust(left=0.07, right=0.98, top=1 - 0.4 / (2.9 + below), bottom=below / (2.9 + below))
        for at, ((ranking, chunking), cells) in enumerate(lines):
            name = " · ".join([_t(f"repair.ranking.{ranking}"), *([chunking_words(chunking)] if chunking else [])])
            axes.plot(cells["tokens"], cells["recall"], marker="o", ms=4, lw=1.5, color=colors[at % len(colors)],
                      ls=("-", "--", ":")[at // len(colors) % 3], label=as_wide(drawable(name), 300))  # fmt: skip
        for cells in (cells for _, cells in lines[:1]):
            for k, x, y in cells[["k", "tokens", "recall"]].itertuples(index=False):
                beside(axes, f"{k}", (x, y), (4, -9), ink(theme), fontsize=7.5)
        if (knee := found.knee) is not None:
            axes.plot(knee["tokens"], knee["recall"], "o", ms=13, mfc="none", mec=VERMILLION, mew=2,
                      label=drawable(_t("repair.panel.knee"), 28))  # fmt: skip
        if np.isfinite(found.today["recall"]):
            axes.plot(found.today["tokens"], found.today["recall"], "*", ms=12, color=ink(theme), label=_t("repair.today"))
        # Curves of recall are flat where they matter: the axis begins below the lowest, at a tenth.
        lowest = np.nanmin([*found.frame["recall"], found.today["recall"], 1.0])
        axes.set(ylim=(max(np.floor(10 * lowest) / 10 - 0.1, 0), 1.03), xlim=(0, None))
        axes.set_xlabel(drawable(_t("repair.panel.sweep_tokens")))
        figure.legend(loc="lower center", ncols=3, frameon=False, fontsize=8)
        axes.set_title(drawable(_t("repair.panel.sweep_title"), 110))
    return figure


# The ROC curve with the cut on it, and agreement over all cuts.


def calibration_figure(found: Calibration, title: str, *, theme: str = "print") -> Figure:
    """Left: share of wrong answers found against share of right ones flagged, one point a cut. Right: kappa over cuts.

    The cut in force is a blue dot, the suggested one a green diamond, its 95 % interval a green band.
    """
    with drawing(3.1, theme) as (figure, axes):
        axes.remove()
        left, right = figure.subplots(1, 2, gridspec_kw={"width_ratios": (1, 1.9)})
        figure.subplots_adjust(left=margin(figure, 69), right=0.985, top=0.88, bottom=0.17, wspace=0.2)
        for panel in (left, right):
            panel.spines[["top", "right"]].set_visible(False)
        curve = found.roc()
        _roc(left, found, curve)
        _kappa(right, found, curve)
        left.set_title(drawable(title, 120))
    return figure


def _roc(axes: Axes, found: Calibration, curve: Any) -> None:
    from workbench.diagnosis.statistics import rates

    points = curve[["false_alarm", "found"]].dropna().sort_values(["false_alarm", "found"])
    axes.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls=":")
    axes.plot(points["false_alarm"], points["found"], color=VERMILLION, lw=1.6, marker=".", ms=4)
    for cut, one in curve.set_index("cut").loc[:, ["false_alarm", "found"]].dropna().iterrows():
        shares = {"found": numbers.percent(one["found"]), "alarm": numbers.percent(one["false_alarm"])}
        words = _t("lists.roc", cut=f"{cut:.2f}", **shares)
        stand_for(axes, float(cut), words, at=(one["false_alarm"], one["found"]))
    alarm, hit = rates(found.right, found.judged[:, None])
    _mark(axes, float(alarm[0]), float(hit[0]), f"{found.cut:.2f}", BLUE, "o")
    if found.suggested.value == found.suggested.value:
        row = curve.iloc[int(np.argmin(np.abs(curve["cut"] - found.suggested.value)))]
        _mark(axes, row["false_alarm"], row["found"], f"{found.suggested.value:.2f}", GREEN, "D", below=True)
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.14))
    axes.set_xlabel(drawable(_t("calibration.axis.blamed"), 60))
    axes.set_ylabel(drawable(_t("calibration.axis.found"), 60))


def _mark(axes: Axes, x: float, y: float, words: str, color: str, marker: str, below: bool = False) -> None:
    if not math.isnan(x + y):
        size, face = (8, color) if marker == "o" else (6, "none")
        axes.plot([x], [y], marker, color=color, ms=size, mfc=face, mew=1.8)
        beside(axes, words, (x, y), (7, -15 if below else 5), color)


def _kappa(axes: Axes, found: Calibration, curve: Any) -> None:
    axes.plot(curve["cut"], curve["kappa"], color=VERMILLION, lw=1.6)
    if found.suggested.value == found.suggested.value:
        low, high = found.suggested.low, max(found.suggested.high, found.suggested.low + 0.004)
        axes.axvspan(low, high, color=GREEN, alpha=0.18, lw=0)
        axes.axvline(found.suggested.value, color=GREEN, lw=1.4, ls="--")
        words = _t("calibration.axis.suggested", cut=f"{found.suggested.value:.2f}")
        beside(axes, words, (found.suggested.value, 0), (4, 5), GREEN, xycoords=("data", "axes fraction"))
    _cut_line(axes, found.cut)
    draggable(axes, found.cut, 0.0, 1.0, _t("lists.drag"))
    lowest = curve["kappa"].min()
    axes.set(xlim=(0, 1), ylim=(min(0.0, lowest if lowest == lowest else 0.0) - 0.02, 1.04))
    axes.set_xlabel(drawable(_t("calibration.axis.cut"), 60))
    axes.set_ylabel(drawable(_t("calibration.axis.kappa"), 60))
