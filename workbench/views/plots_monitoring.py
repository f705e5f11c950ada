"""The picture of panel 09: one statistic over time, with the baseline's band, the limits and where alerts fired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.views.fonts import drawable
from workbench.views.plots import BLUE, GREEN, ORANGE, VERMILLION, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


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
    with drawing(9.6, 3.1, theme) as (figure, axes):
        figure.subplots_adjust(left=0.075, right=0.985, top=0.89, bottom=0.16)
        at = _moments(data.at, data.timed)
        for start, end in data.spans:
            axes.axvspan(*_moments(np.array([start, end]), data.timed), color=VERMILLION, alpha=0.1, lw=0)
        _levels(axes, data, scale)
        axes.plot(at, data.values * scale, color=BLUE, lw=1.5, marker="o", ms=3 if len(at) < 40 else 1)
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
        axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator, tz="UTC"))


def _moments(values: NDArray[np.float64], timed: bool) -> NDArray[Any]:
    return (values * 1e6).astype("datetime64[us]") if timed else values
