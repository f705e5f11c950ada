"""Pictures, as ``Figure`` objects that are drawn to PNG bytes; nothing global is touched and no window is opened.

Every function takes plain arrays and returns a figure. ``theme="screen"`` is transparent, as wide as the page has room
(:func:`screen`) and in the ink of its theme; ``"print"`` is dark on white. A figure also says what its places stand for,
see :func:`regions_of`: the same picture answers the pointer in a panel and stands still in a report.
"""

from __future__ import annotations

import io
import logging
import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

import numpy as np

from workbench.language import language_of, numbers
from workbench.language import text as _t
from workbench.views.wording import cause_title, verdict_title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    from workbench.diagnosis.calibration import Calibration
    from workbench.repair.sweep import Sweep

# Which fonts pictures are drawn with, so that Chinese never turns into boxes: DejaVu Sans carries everything but Chinese;
# behind it stands an installed Chinese font where there is one, and always the subset that is shipped (simplified Chinese,
# made by ``workbench/training/fonts.py``, licence in ``fonts/OFL.txt``).

SHIPPED = Path(__file__).parent / "fonts" / "WorkbenchSansSC-Regular.otf"
SHIPPED_FAMILY = "Workbench Sans SC"
#: Installed families to prefer, best first: they know traditional characters too.
INSTALLED = (
    "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Source Han Sans CN", "PingFang SC", "Microsoft YaHei",
    "Hiragino Sans GB", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Noto Sans CJK JP", "SimHei",
)  # fmt: skip

_log = logging.getLogger(__name__)


@cache
def families() -> tuple[str, ...]:
    """Font families in the order of fallback. One logged warning when none of them knows Chinese."""
    from matplotlib import font_manager

    known = {entry.name for entry in font_manager.fontManager.ttflist}
    found = [name for name in INSTALLED if name in known][:1]
    if SHIPPED.is_file():
        if SHIPPED_FAMILY not in known:
            font_manager.fontManager.addfont(str(SHIPPED))
        found.append(SHIPPED_FAMILY)
    if not found:
        _log.warning(_t("panels.common.no_font"))
    return ("DejaVu Sans", *found)


@lru_cache(maxsize=4096)
def drawable(text: str, limit: int = 80) -> str:
    """``text`` on one line, cut to ``limit`` characters; a character that no font knows becomes ``?``, never a box."""
    line = " ".join(str(text)[: 4 * limit].split())
    line = line if len(line) <= limit else line[: limit - 1] + "…"
    if line.isascii() and line.isprintable():
        return line
    return "".join(c if any(ord(c) in codes for codes in _codes()) else "?" for c in line)


@cache
def _codes() -> tuple[frozenset[int], ...]:
    """The code points of every family in force."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return tuple(frozenset(get_font(findfont(FontProperties(family=[name]))).get_charmap()) for name in families())


# Colours and sizes.

#: Okabe–Ito, by what it stands for.
GREEN, VERMILLION, ORANGE, BLUE, PURPLE, SKY, GREY = (
    "#009E73", "#D55E00", "#E69F00", "#0072B2", "#CC79A7", "#56B4E9", "#8A8A8A",
)  # fmt: skip
#: Points that a plot draws at most; failures are always among them.
MOST_POINTS = 10_000
BLOCKS = "▁▂▃▄▅▆▇█"

#: Colour and hatch of each severity.
SEVERITIES = {"high": (VERMILLION, "///"), "medium": (ORANGE, "\\\\"), "low": ("#F0E442", "")}
#: Bars, and rows and columns of a grid, that are drawn at most.
MOST_BARS, SCREEN_BARS, MOST_ROWS, MOST_COLUMNS, MOST_CAUSES = 25, 9, 20, 9, 7

_DPI = 110
#: CSS pixels below which a picture is scaled down.
NARROWEST = 760
#: Points below which a title is cut rather than set smaller.
_SMALLEST = 7.5
#: Settings of matplotlib belong to the whole process: two threads that draw at once would take each other's.
_ONE_AT_A_TIME = threading.RLock()


@dataclass(frozen=True)
class Screen:
    """What pictures of ``theme="screen"`` are drawn for: a width in CSS pixels, device pixels for each of them, a theme."""

    width: int = 1056
    ratio: float = 1.0
    dark: bool = False


_screen = Screen()


def screen(seen: Mapping[str, Any] | None = None) -> Screen:
    """The screen that pictures are drawn for; ``seen``: what a page tells (``width``, ``ratio``, ``dark``), from now on."""
    global _screen
    if seen:
        _screen = Screen(int(np.clip(seen["width"], 200, 1500)), float(np.clip(seen["ratio"], 1, 3)), bool(seen["dark"]))
    return _screen


def _paper(theme: str) -> str:
    return "#111111" if theme == "screen" and _screen.dark else "#ffffff"


def _ink(theme: str) -> str:
    return "#d6d6d6" if theme == "screen" and _screen.dark else "#333333"


@cache
def readable(color: str, paper: str) -> str:
    """``color`` mixed with black or white until text in it has a contrast of 7:1 on ``paper`` (WCAG 2, AAA)."""
    from matplotlib.colors import to_hex, to_rgb

    def light(rgb: NDArray[np.float64]) -> float:
        linear = np.where(rgb <= 0.03928, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return float(linear @ (0.2126, 0.7152, 0.0722)) + 0.05

    own, under = np.array(to_rgb(color)), light(np.array(to_rgb(paper)))
    end = np.zeros(3) if under > 0.5 else np.ones(3)
    steps = (own + (end - own) * share for share in np.linspace(0, 1, 21))
    return to_hex(next(mixed for mixed in steps if max(light(mixed) / under, under / light(mixed)) >= 7))


@contextmanager
def drawing(height: float, theme: str = "print", *places: tuple[float, float, float, float]) -> Iterator[tuple[Figure, Any]]:
    """Yield a new figure, ``height`` inches high, and its axes (those at ``places``, else one); settings hold inside the
    block only."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    on_screen = theme == "screen"
    # On a narrow page the picture is scaled down: its labels would leave no room for itself.
    width = max(_screen.width, NARROWEST) / _DPI if on_screen else 9.6
    ink, face = _ink(theme), "none" if on_screen else "white"
    inks = ("text.color", "axes.labelcolor", "axes.edgecolor", "axes.titlecolor", "xtick.color", "ytick.color")
    settings: Any = {
        **dict.fromkeys(inks, ink), "figure.facecolor": face, "axes.facecolor": face, "savefig.facecolor": face,
        "font.family": list(families()), "font.size": 9, "axes.titlesize": 10, "axes.titlelocation": "left",
        "text.parse_math": False, "axes.unicode_minus": False, "hatch.linewidth": 0.8,
        "axes.formatter.use_mathtext": False,
        # Where a title stands is known: looking for ticks above the axes costs a tenth of a picture.
        "axes.titley": 1.0,
    }  # fmt: skip
    with _ONE_AT_A_TIME, rc_context(settings):
        figure = Figure(figsize=(width, height), dpi=_DPI)
        vars(figure).update(places=[], paper=_paper(theme), passing=on_screen, ratio=_screen.ratio if on_screen else 2.0)
        FigureCanvasAgg(figure)
        own = [figure.add_axes(place) for place in places] or [figure.add_subplot()]
        for axes in own:
            axes.spines[["top", "right"]].set_visible(False)
        yield figure, own if places else own[0]


def figure_png(figure: Figure) -> bytes:
    """The figure as PNG bytes."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    with _ONE_AT_A_TIME, rc_context({"font.family": list(families()), "text.parse_math": False}):
        _fit_titles(figure)
        # A picture on the way to the screen is packed quickly, one that is kept is packed small.
        figure.savefig(buffer, format="png", dpi=_DPI * vars(figure).get("ratio", 2.0), facecolor=figure.get_facecolor(),
                       pil_kwargs={"compress_level": 1 if vars(figure).get("passing") else 6})  # fmt: skip
    return buffer.getvalue()


# What places of a picture stand for.


def stand_for(axes: Axes, key: Any, label: str, **shape: Any) -> None:
    """Say that a place of the picture stands for something.

    Parameters
    ----------
    key
        What a click on it means: a plain value that the panel understands; empty when there is nothing to click.
    label
        What a pointer shows.
    shape
        One of ``at=(x, y)``, ``box=(x0, y0, x1, y1)``, ``area=[(x, y), …]`` in data coordinates; NaN in a box is the edge
        of the axes.
    """
    vars(axes.figure)["places"].append((axes, key, label, shape))


def draggable(axes: Axes, value: float, low: float, high: float, words: str, step: float = 0.01) -> None:
    """Say that the vertical line at ``value`` may be moved between ``low`` and ``high``."""
    vars(axes.figure)["line"] = (axes, {"value": value, "low": low, "high": high, "step": step, "words": words})


def _shares(axes: Axes, points: ArrayLike) -> NDArray[np.float64]:
    """Data coordinates (n, 2) as shares of the picture from its upper left corner."""
    box = axes.figure.bbox
    places = axes.transData.transform(np.asarray(points, dtype=float)) / (box.width, box.height)
    return np.asarray(np.round(np.column_stack([places[:, 0], 1 - places[:, 1]]), 5), dtype=np.float64)


def regions_of(figure: Figure) -> list[dict[str, Any]]:
    """What the places of a figure stand for: ``key``, ``label`` and ``at`` [x, y], ``box`` [left, top, right, bottom] or
    ``area`` [[x, y], …], as shares of the picture from its upper left corner."""
    found = []
    for axes, key, label, shape in vars(figure).get("places", ()):
        region: dict[str, Any] = {"key": key, "label": label}
        (kind, value), (left, bottom, right, top) = next(iter(shape.items())), axes.viewLim.extents
        if kind == "box":
            value = [edge if own != own else own for own, edge in zip(value, (left, bottom, right, top), strict=True)]
            (a, b), (c, d) = _shares(axes, [value[:2], value[2:]]).tolist()
            region["box"] = [min(a, c), min(b, d), max(a, c), max(b, d)]
        else:
            places = _shares(axes, [value] if kind == "at" else value).tolist()
            region[kind] = places[0] if kind == "at" else places
        found.append(region)
    return found


def line_of(figure: Figure) -> dict[str, Any]:
    """The line that may be moved: ``value, low, high, step, words`` and where it is (``from, to, top, bottom``)."""
    axes, line = vars(figure).get("line", (None, {}))
    if axes is None:
        return {}
    (start, _), (end, _) = _shares(axes, [(line["low"], 0), (line["high"], 0)]).tolist()
    box = axes.get_position()
    return {**line, "from": start, "to": end, "top": 1 - box.y1, "bottom": 1 - box.y0}


def _fit_titles(figure: Figure) -> None:
    """Titles that would run out of the picture are set smaller, and cut where that would make them too small."""
    from matplotlib.text import Text

    for axes in figure.axes:
        words = axes.get_title(loc="left")
        for title in axes.get_children() if words else ():
            if not isinstance(title, Text) or title.get_text() != words:
                continue
            # Letters are set on whole pixels: smaller ones are measured again.
            while 0 < (fits := _room(title, figure)) < 1 < len(title.get_text()):
                size = float(title.get_fontsize())
                title.set_fontsize(max(size * fits, _SMALLEST))
                if size <= _SMALLEST:
                    title.set_text(title.get_text()[: max(int(len(title.get_text()) * fits) - 1, 0)].rstrip("…") + "…")


def _room(text: Any, figure: Figure) -> float:
    """How much of a text's width there is from where it begins to the right edge of the picture; 1 and more: it fits."""
    extent = text.get_window_extent()
    return float((figure.bbox.width - extent.x0 - 4) / max(extent.width, 1.0))


@contextmanager
def _row_axes(
    names: Sequence[str], title: str, theme: str, *, each: float = 0.3, left: float = 0.27, right: float = 0.72,
    bottom: float = 0.32, limit: int = 34, notes: Sequence[str] = (),
) -> Iterator[tuple[Axes, NDArray[np.intp]]]:  # fmt: skip
    """Axes with one row a name, the first on top: its name on the left, its note on the right, the title over all.

    ``each`` and ``bottom`` are inches: the height of a row and of what stands below; ``limit`` cuts the names.
    """
    with drawing(0.43 + bottom + each * max(len(names), 1), theme) as (figure, axes):
        height = figure.get_figheight()
        figure.subplots_adjust(left=left, right=right, top=1 - 0.36 / height, bottom=bottom / height)
        width = float(figure.get_figwidth()) * _DPI
        axes.set_yticks(range(len(names)), [_as_wide(drawable(name, limit), left * width - 14) for name in names])
        axes.set_ylim(max(len(names), 1) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.set_title(drawable(title, 110), x=(0.02 - left) / (right - left))
        room = (1 - right) * width - 14
        for row, note in enumerate(notes):
            axes.annotate(_as_wide(drawable(note, 66), room), (1, row), xytext=(8, -3), textcoords="offset points",
                          xycoords=("axes fraction", "data"))  # fmt: skip
        yield axes, np.arange(len(names))


def _margin(figure: Figure, pixels: float) -> float:
    """The share of a picture's width that ticks and the label of an axis take, which are as large in a narrow one."""
    return pixels / (float(figure.get_figwidth()) * _DPI)


def _as_wide(words: str, room: float) -> str:
    """``words`` cut to about ``room`` pixels at the size of a note; a square character is as wide as two others."""
    widths = np.cumsum([13.8 if east_asian_width(char) in "WF" else 7.3 for char in words])
    if not words or widths[-1] <= room:
        return words
    return words[: int(np.searchsorted(widths, room - 12))].rstrip(" ·") + "…"


def _floats(*arrays: ArrayLike) -> list[NDArray[np.float64]]:
    return [np.asarray(array, dtype=float) for array in arrays]


def _beside(axes: Axes, words: str, at: tuple[float, float], shift: tuple[float, float], color: str, **style: Any) -> None:
    """Words a few points beside a place of the axes."""
    axes.annotate(drawable(words, 70), at, xytext=shift, textcoords="offset points",
                  color=readable(color, vars(axes.figure)["paper"]), **style)  # fmt: skip


def _cut_line(axes: Axes, cut: float) -> None:
    """The cut in force with its value; beyond 0.9 there is no room on the right."""
    right = cut > 0.9
    axes.axvline(cut, color=BLUE, lw=1.6)
    _beside(axes, f"{cut:.2f}", (cut, 1), (-3 if right else 3, -9), BLUE, xycoords=("data", "axes fraction"),
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


def histogram(
    values: ArrayLike, cut: float, *, low_is_bad: bool = True, title: str = "", label: str = "", theme: str = "print"
) -> Figure:  # fmt: skip
    """How scores are spread, with the threshold drawn; the failing side is coloured and hatched.

    Parameters
    ----------
    values
        Shape (n,); missing ones are left out. With values outside [0, 1] the axis widens.
    low_is_bad
        Whether the failing side is below the threshold (else above it).
    """
    with drawing(2.0, theme) as (figure, axes):
        figure.subplots_adjust(left=0.055, right=0.985, top=0.85, bottom=0.22)
        _spread(axes, _finite(values), cut, low_is_bad, label)
        axes.set_title(drawable(title, 120))
    return figure


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
    values, cut, low_is_bad, label
        As for :func:`histogram`.
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
            _beside(left, counts, (main + more, row), (4, -3), _ink(theme), fontsize=8.5)
            words = _t("lists.cause", cause=cause_title(name), main=f"{main:,}", more=f"{more:,}")
            stand_for(left, ["cause", name], words, box=(math.nan, row - 0.5, math.nan, row + 0.5))
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
    with _row_axes(names, title, theme, each=0.21, right=0.93, notes=notes) as (axes, rows):
        axes.hlines(rows, low, high, color=BLUE, lw=3, alpha=0.45)
        axes.plot(mean, rows, "o", color=BLUE, ms=5)
        for row, name in enumerate(names):
            words = f"{name}: {notes[row]} ({numbers.interval(low[row], high[row])})"
            stand_for(axes, "", words, box=(math.nan, row - 0.5, math.nan, row + 0.5))
        if targets is not None:
            axes.plot(*_floats(targets), rows, "|", color=VERMILLION, ms=11, mew=2)
        axes.set_xlim(0, 1)
        return _of(axes)


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
    with _row_axes(names, title, theme, each=each, left=left, right=right, notes=notes) as (axes, rows):
        for row, (name, note) in enumerate(zip(names, notes, strict=False)):
            stand_for(axes, row, f"{name}: {note}", box=(math.nan, row - 0.5, math.nan, row + 0.5))
        axes.barh(rows, np.nan_to_num(rate), 0.62, color=color, alpha=0.8)
        axes.hlines(rows, low, high, color=_ink(theme), lw=1.6)
        if not wide:
            axes.axvline(base, color=BLUE, lw=1.2, ls=":")
            axes.set_xticks([0, 0.5, 1], [numbers.percent(value) for value in (0.0, 0.5, 1.0)])
        axes.set_xlim(0, 1)
        return _of(axes)


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
    with _row_axes(names, title, theme, each=0.22, right=0.74, notes=notes) as (axes, rows):
        axes.axvline(0, color=GREY, lw=0.8)
        axes.hlines(rows, low, high, color=colors or GREY, lw=3, alpha=0.4)
        for row, note in enumerate(notes):
            stand_for(axes, "", f"{names[row]}: {note}", box=(math.nan, row - 0.5, math.nan, row + 0.5))
        for row, color, full in zip(rows, colors, sure, strict=True):
            axes.plot(delta[row], row, "o", ms=5, color=color, mfc=color if full else "white")
        return _of(axes)


def log_odds(
    terms: Sequence[str], values: ArrayLike, lows: ArrayLike, highs: ArrayLike, *, notes: Sequence[str] = (),
    title: str = "", theme: str = "print",
) -> Figure:  # fmt: skip
    """Log-odds (n,) of terms with their 95 % intervals, one line each; those whose interval lies above 0 are filled."""
    value, low, high = _floats(values, lows, highs)
    sure = low > 0
    with _row_axes(terms, title, theme, each=0.24, left=0.16, right=0.82, bottom=0.5, limit=22, notes=notes) as (axes, rows):
        axes.axvline(0, color=GREY, lw=1)
        axes.hlines(rows, low, high, color=[VERMILLION if flag else GREY for flag in sure], lw=2.5, alpha=0.5)
        axes.scatter(value[sure], rows[sure], color=VERMILLION, s=30, zorder=3)
        axes.scatter(value[~sure], rows[~sure], facecolors="white", edgecolors=GREY, s=30, zorder=3)
        for row, (term, own) in enumerate(zip(terms, value, strict=True)):
            stand_for(axes, term, f"{term}: {own:.2f}", box=(math.nan, row - 0.5, math.nan, row + 0.5))
        axes.set_xlabel(drawable(_t("vocabulary.plot.log_odds")))
        return _of(axes)


def hub_chart(names: Sequence[str], counts: ArrayLike, expected: ArrayLike, hub: Sequence[bool], *, title: str = "",
              theme: str = "print") -> Figure:  # fmt: skip
    """How often documents came: expected ones solid, the rest hatched; hubs carry a mark."""
    total, wanted = _floats(counts, expected)
    with _row_axes(names, title, theme, each=0.24, right=0.93, bottom=0.46) as (axes, rows):
        axes.barh(rows, wanted, 0.7, color=GREEN, label=drawable(_t("missed.hub.expected")))
        axes.barh(rows, total - wanted, 0.7, left=wanted, color=ORANGE, hatch="////", edgecolor="white", lw=0,
                  label=drawable(_t("missed.hub.other")))  # fmt: skip
        for row, value, marked in zip(rows, total, hub, strict=True):
            _beside(axes, f"{int(value)}{' ⚠' if marked else ''}", (value, row), (4, -3), _ink(theme))
            words = f"{names[row]}: {wanted[row]:,.0f} / {value:,.0f}"
            stand_for(axes, {"doc_id": names[row]}, words, box=(math.nan, row - 0.5, math.nan, row + 0.5))
        _whole_numbers(axes.xaxis)
        axes.legend(loc="lower right", frameon=False, fontsize=8)
        axes.set_xlabel(drawable(_t("missed.hub.axis")))
        return _of(axes)


def verdict_bars(counts: pd.DataFrame, title: str, *, theme: str = "print") -> Figure:
    """One bar a verdict, from ``verdict_counts``; claims without support are split by severity."""
    total = int(counts["n"].sum())
    names = [verdict_title(name) for name in counts.index]
    with _row_axes(names, title, theme, each=0.27, left=0.16, right=0.8, limit=30) as (axes, _):
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
            _beside(axes, words, (values["n"], row), (6, -3), _ink(theme))
        axes.set_xlim(0, max(total, 1))
        return _of(axes)


def _of(axes: Axes) -> Figure:
    from matplotlib.figure import Figure

    assert isinstance(axes.figure, Figure)
    return axes.figure


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
                          color="#1b1b1b" if value else _ink(theme))  # fmt: skip
            said = f"{terms[row]} × {names[column]}: {value:.1f}"
            stand_for(axes, "", said, box=(column - 0.5, row - 0.5, column + 0.5, row + 0.5))
        axes.set_yticks(range(len(terms)), [drawable(term, 20) for term in terms])
        axes.set_xticks(range(len(names)), [drawable(name, 24) for name in names], rotation=18, ha="right", fontsize=8)
        axes.tick_params(length=0)
        axes.spines[["left", "bottom"]].set_visible(False)
        axes.set_title(drawable(title, 100), x=-0.16)
    return figure


# The flow of causes between two runs.

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
            axes.annotate(drawable(name, 40), (0.24 if place == 0 else 0.76, 0), xytext=(0, 3), color=_ink(theme),
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
        title = _as_wide(drawable(cause_title(name)), room)
        words = f"{title}  {n:,}" if left else f"{n:,}  {title}"
        axes.text(0.235 if left else 0.765, top + height / 2, words, ha="right" if left else "left", va="center",
                  fontsize=8.5)  # fmt: skip


def _apart(ends: Sequence[tuple[float, str, str]], least: float) -> list[tuple[float, str, str, float]]:
    """Labels with the heights at which they do not cover each other."""
    placed: list[tuple[float, str, str, float]] = []
    at = -np.inf
    for y, text, color in sorted(ends):
        at = max(y, at + least)
        placed.append((y, text, color, at))
    return placed


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
        figure.subplots_adjust(left=_margin(figure, 79), right=0.985, top=0.89, bottom=0.16)
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
            _beside(axes, _t(f"missed.plot.{key}"), (value, height), (-4 if left else 4, 0), color,
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
        figure.subplots_adjust(left=_margin(figure, 74), right=0.75, top=0.89, bottom=0.16)
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
            _beside(axes, _t(f"missed.curve.{name}"), (x[-1], at), (5, -3), color, annotation_clip=False)
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
                      ls=("-", "--", ":")[at // len(colors) % 3], label=_as_wide(drawable(name), 300))  # fmt: skip
        for cells in (cells for _, cells in lines[:1]):
            for k, x, y in cells[["k", "tokens", "recall"]].itertuples(index=False):
                _beside(axes, f"{k}", (x, y), (4, -9), _ink(theme), fontsize=7.5)
        if (knee := found.knee) is not None:
            axes.plot(knee["tokens"], knee["recall"], "o", ms=13, mfc="none", mec=VERMILLION, mew=2,
                      label=drawable(_t("repair.panel.knee"), 28))  # fmt: skip
        if np.isfinite(found.today["recall"]):
            axes.plot(found.today["tokens"], found.today["recall"], "*", ms=12, color=_ink(theme), label=_t("repair.today"))
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
        figure.subplots_adjust(left=_margin(figure, 69), right=0.985, top=0.88, bottom=0.17, wspace=0.2)
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
        _beside(axes, words, (x, y), (7, -15 if below else 5), color)


def _kappa(axes: Axes, found: Calibration, curve: Any) -> None:
    axes.plot(curve["cut"], curve["kappa"], color=VERMILLION, lw=1.6)
    if found.suggested.value == found.suggested.value:
        low, high = found.suggested.low, max(found.suggested.high, found.suggested.low + 0.004)
        axes.axvspan(low, high, color=GREEN, alpha=0.18, lw=0)
        axes.axvline(found.suggested.value, color=GREEN, lw=1.4, ls="--")
        words = _t("calibration.axis.suggested", cut=f"{found.suggested.value:.2f}")
        _beside(axes, words, (found.suggested.value, 0), (4, 5), GREEN, xycoords=("data", "axes fraction"))
    _cut_line(axes, found.cut)
    draggable(axes, found.cut, 0.0, 1.0, _t("lists.drag"))
    lowest = curve["kappa"].min()
    axes.set(xlim=(0, 1), ylim=(min(0.0, lowest if lowest == lowest else 0.0) - 0.02, 1.04))
    axes.set_xlabel(drawable(_t("calibration.axis.cut"), 60))
    axes.set_ylabel(drawable(_t("calibration.axis.kappa"), 60))
