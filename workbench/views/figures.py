"""How a picture is drawn: fonts, colours, the screen it is for, and what its places stand for.

Nothing global is touched and no window is opened. ``theme="screen"`` is transparent, as wide as the page has room
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

from workbench.language import text as _t

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

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
    return "".join(c if any(ord(c) in codes for codes in code_points()) else "?" for c in line)


@cache
def code_points() -> tuple[frozenset[int], ...]:
    """The code points of every family in force."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return tuple(frozenset(get_font(findfont(FontProperties(family=[name]))).get_charmap()) for name in families())


# Colours and sizes.

#: Okabe–Ito, by what it stands for.
GREEN, VERMILLION, ORANGE, BLUE, PURPLE, SKY, GREY = (
    "#009E73", "#D55E00", "#E69F00", "#0072B2", "#CC79A7", "#56B4E9", "#8A8A8A",
)  # fmt: skip

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


def ink(theme: str) -> str:
    """The colour of words and lines."""
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
    face = "none" if on_screen else "white"
    inks = ("text.color", "axes.labelcolor", "axes.edgecolor", "axes.titlecolor", "xtick.color", "ytick.color")
    settings: Any = {
        **dict.fromkeys(inks, ink(theme)), "figure.facecolor": face, "axes.facecolor": face, "savefig.facecolor": face,
        "font.family": list(families()), "font.size": 9, "axes.titlesize": 10, "axes.titlelocation": "left",
        "text.parse_math": False, "axes.unicode_minus": False, "hatch.linewidth": 0.8,
        "axes.formatter.use_mathtext": False,
        # Where a title stands is known: looking for ticks above the axes costs a tenth of a picture.
        "axes.titley": 1.0,
    }  # fmt: skip
    with _ONE_AT_A_TIME, rc_context(settings):
        figure = Figure(figsize=(width, height), dpi=_DPI)
        paper = "#111111" if on_screen and _screen.dark else "#ffffff"
        vars(figure).update(places=[], paper=paper, passing=on_screen, ratio=_screen.ratio if on_screen else 2.0)
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
        of the axes. ``row=y`` is the box of a whole row.
    """
    if (row := shape.pop("row", None)) is not None:
        shape["box"] = (math.nan, row - 0.5, math.nan, row + 0.5)
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
def row_axes(
    names: Sequence[str], title: str, theme: str, *, each: float = 0.3, left: float = 0.27, right: float = 0.72,
    bottom: float = 0.32, limit: int = 34, notes: Sequence[str] = (),
) -> Iterator[tuple[Figure, Axes, NDArray[np.intp]]]:  # fmt: skip
    """A figure and its axes with one row a name, the first on top: its name on the left, its note on the right.

    ``each`` and ``bottom`` are inches: the height of a row and of what stands below; ``limit`` cuts the names.
    """
    with drawing(0.43 + bottom + each * max(len(names), 1), theme) as (figure, axes):
        height = figure.get_figheight()
        figure.subplots_adjust(left=left, right=right, top=1 - 0.36 / height, bottom=bottom / height)
        width = float(figure.get_figwidth()) * _DPI
        axes.set_yticks(range(len(names)), [as_wide(drawable(name, limit), left * width - 14) for name in names])
        axes.set_ylim(max(len(names), 1) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.set_title(drawable(title, 110), x=(0.02 - left) / (right - left))
        room = (1 - right) * width - 14
        for row, note in enumerate(notes):
            axes.annotate(as_wide(drawable(note, 66), room), (1, row), xytext=(8, -3), textcoords="offset points",
                          xycoords=("axes fraction", "data"))  # fmt: skip
        yield figure, axes, np.arange(len(names))


def margin(figure: Figure, pixels: float) -> float:
    """The share of a picture's width that ticks and the label of an axis take, which are as large in a narrow one."""
    return pixels / (float(figure.get_figwidth()) * _DPI)


def as_wide(words: str, room: float) -> str:
    """``words`` cut to about ``room`` pixels at the size of a note; a square character is as wide as two others."""
    widths = np.cumsum([13.8 if east_asian_width(char) in "WF" else 7.3 for char in words])
    if not words or widths[-1] <= room:
        return words
    return words[: int(np.searchsorted(widths, room - 12))].rstrip(" ·") + "…"


def beside(axes: Axes, words: str, at: tuple[float, float], shift: tuple[float, float], color: str, **style: Any) -> None:
    """Words a few points beside a place of the axes."""
    axes.annotate(drawable(words, 70), at, xytext=shift, textcoords="offset points",
                  color=readable(color, vars(axes.figure)["paper"]), **style)  # fmt: skip
