"""Pictures, as ``Figure`` objects that are drawn to PNG bytes; nothing global is touched and no window is opened.

Every function takes plain arrays and returns a figure. ``theme="screen"`` is transparent with an ink that can be read
on a light and on a dark page; ``"print"`` is dark on white.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.language import text as _t
from workbench.views.fonts import drawable, families

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

#: Okabe–Ito, by what it stands for.
GREEN, VERMILLION, ORANGE, BLUE, PURPLE, SKY, GREY = (
    "#009E73", "#D55E00", "#E69F00", "#0072B2", "#CC79A7", "#56B4E9", "#8A8A8A",
)  # fmt: skip
#: Points that a plot draws at most; failures are always among them.
MOST_POINTS = 10_000
BLOCKS = "▁▂▃▄▅▆▇█"

_INK = {"screen": "#7d7d7d", "print": "#333333"}
_DPI = 110
#: Points below which a title is cut rather than set smaller.
_SMALLEST = 7.5
#: Settings of matplotlib belong to the whole process: two threads that draw at once would take each other's.
_ONE_AT_A_TIME = threading.RLock()


@contextmanager
def drawing(width: float, height: float, theme: str = "print") -> Iterator[tuple[Figure, Axes]]:
    """Yield a new figure of ``width`` × ``height`` inches and its axes; settings hold inside the block only."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with _ONE_AT_A_TIME, rc_context(_settings(theme)):
        figure = Figure(figsize=(width, height), dpi=_DPI)
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        axes.spines[["top", "right"]].set_visible(False)
        yield figure, axes


def _settings(theme: str) -> Any:
    ink = _INK[theme]
    face = "none" if theme == "screen" else "white"
    inks = ("text.color", "axes.labelcolor", "axes.edgecolor", "axes.titlecolor", "xtick.color", "ytick.color")
    return {
        **dict.fromkeys(inks, ink), "figure.facecolor": face, "axes.facecolor": face, "savefig.facecolor": face,
        "font.family": list(families()), "font.size": 9, "axes.titlesize": 10, "axes.titlelocation": "left",
        "text.parse_math": False, "axes.unicode_minus": False, "hatch.linewidth": 0.8,
        "axes.formatter.use_mathtext": False,
    }  # fmt: skip


def figure_png(figure: Figure) -> bytes:
    """The figure as PNG bytes."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    with _ONE_AT_A_TIME, rc_context({"font.family": list(families()), "text.parse_math": False}):
        _fit_titles(figure)
        figure.savefig(buffer, format="png", dpi=_DPI, facecolor=figure.get_facecolor())
    return buffer.getvalue()


def _fit_titles(figure: Figure) -> None:
    """Titles that would run out of the picture are set smaller, and cut where that would make them too small."""
    from matplotlib.text import Text

    for axes in figure.axes:
        words = axes.get_title(loc="left")
        for title in axes.findobj(Text) if words else ():
            if not isinstance(title, Text) or title.get_text() != words:
                continue
            extent = title.get_window_extent()
            fits = (figure.bbox.width - extent.x0 - 4) / max(extent.width, 1.0)
            if 0 < fits < 1:
                size = title.get_fontsize()
                title.set_fontsize(max(size * fits, _SMALLEST))
                if size * fits < _SMALLEST:
                    title.set_text(words[: int(len(words) * size * fits / _SMALLEST) - 1] + "…")


# ---------------------------------------------------------------- figures


def histogram(
    values: ArrayLike, cut: float, *, low_is_bad: bool = True, title: str = "", label: str = "", theme: str = "print"
) -> Figure:
    """How scores are spread, with the cut drawn; the failing side is coloured and hatched.

    Parameters
    ----------
    values
        Shape (n,); missing ones are left out. With values outside [0, 1] the axis widens.
    low_is_bad
        Whether the failing side is below the cut (else above it).
    """
    from matplotlib.ticker import MaxNLocator

    scores = _finite(values)
    edges = _edges(scores, cut)
    failing = scores < cut if low_is_bad else scores > cut
    with drawing(9.6, 2.0, theme) as (figure, axes):
        figure.subplots_adjust(left=0.055, right=0.985, top=0.85, bottom=0.22)
        fine, bad = (np.histogram(scores[chosen], edges)[0] for chosen in (~failing, failing))
        axes.stairs(fine, edges, fill=True, color=GREEN, alpha=0.75, lw=0)
        axes.stairs(
            fine + bad, edges, baseline=fine, fill=True, facecolor=VERMILLION, hatch="////", edgecolor="white", lw=0
        )
        axes.axvline(cut, color=BLUE, lw=1.6)
        axes.annotate(f"{cut:.2f}", (cut, 1), xycoords=("data", "axes fraction"), xytext=(3, -9),
                      textcoords="offset points", color=BLUE)  # fmt: skip
        axes.set_xlim(edges[0], edges[-1])
        axes.set_xlabel(drawable(label))
        axes.set_title(drawable(title, 120))
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    return figure


def intervals(
    names: Sequence[str], means: ArrayLike, lows: ArrayLike, highs: ArrayLike, *, targets: ArrayLike | None = None,
    title: str = "", theme: str = "print",
) -> Figure:  # fmt: skip
    """Means with their 95 % intervals, one line each, targets as ticks; the axis runs from 0 to 1.

    All arrays have shape (n,); a missing interval or target is left out.
    """
    mean, low, high = (np.asarray(array, dtype=float) for array in (means, lows, highs))
    with drawing(9.6, 0.75 + 0.21 * max(len(names), 1), theme) as (figure, axes):
        rows = np.arange(len(names))
        _frame_rows(figure, axes, names, title)
        axes.hlines(rows, low, high, color=BLUE, lw=3, alpha=0.45)
        axes.plot(mean, rows, "o", color=BLUE, ms=5)
        if targets is not None:
            axes.plot(np.asarray(targets, dtype=float), rows, "|", color=VERMILLION, ms=11, mew=2)
        for row, value in zip(rows, mean, strict=True):
            if value == value:
                axes.annotate(f"{value:.2f}", (1, row), xytext=(8, -3), textcoords="offset points",
                              xycoords=("axes fraction", "data"))  # fmt: skip
        axes.set_xlim(0, 1)
    return figure


def bars(
    names: Sequence[str], rates: ArrayLike, lows: ArrayLike, highs: ArrayLike, *, notes: Sequence[str] = (),
    title: str = "", color: str = VERMILLION, theme: str = "print",
) -> Figure:  # fmt: skip
    """Horizontal bars of rates in [0, 1] with their intervals, and a note at the right end of each line."""
    rate, low, high = (np.asarray(array, dtype=float) for array in (rates, lows, highs))
    with drawing(9.6, 0.75 + 0.3 * max(len(names), 1), theme) as (figure, axes):
        rows = np.arange(len(names))
        _frame_rows(figure, axes, names, title, right=0.72)
        axes.barh(rows, np.nan_to_num(rate), 0.62, color=color, alpha=0.8)
        axes.hlines(rows, low, high, color=_INK[theme], lw=1.6)
        for row, note in zip(rows, notes, strict=False):
            axes.annotate(drawable(note, 60), (1, row), xytext=(8, -3), textcoords="offset points",
                          xycoords=("axes fraction", "data"))  # fmt: skip
        axes.set_xlim(0, 1)
    return figure


def _frame_rows(figure: Figure, axes: Axes, names: Sequence[str], title: str, right: float = 0.93) -> None:
    """Margins, row labels from top to bottom, and the title above."""
    height = figure.get_figheight()
    figure.subplots_adjust(left=0.27, right=right, top=1 - 0.36 / height, bottom=0.32 / height)
    axes.set_yticks(range(len(names)), [drawable(name, 34) for name in names])
    axes.set_ylim(max(len(names), 1) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.set_title(drawable(title, 100), x=-0.36 if right > 0.8 else -0.58)


# ---------------------------------------------------------------- small pieces


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


def _edges(scores: NDArray[np.float64], cut: float, bins: int = 40) -> NDArray[np.float64]:
    """Edges of equal bins from 0 (or the lowest score) to 1 (or the highest), the last one a little beyond."""
    low = min(0.0, float(scores.min(initial=0)))
    high = max(1.0, float(scores.max(initial=1)), cut)
    return np.linspace(low, high * (1 + 1e-9), bins + 1)
