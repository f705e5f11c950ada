"""Rolling windows over a query log: which rows each holds, and the statistics of one window.

A window is the last N requests or the last stretch of time; the one asked for is the one used, so a log shorter than
its window has none. Values that are not finite are counted apart and take part in nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.diagnosis.query_log import ERROR, LATENCY, REFUSED, QueryLog
from workbench.diagnosis.statistics import Z, mean_interval, wilson
from workbench.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Window or step → seconds a unit.
_UNITS = {"s": 1, "sec": 1, "min": 60, "m": 60, "h": 3600, "d": 86400}
#: More windows than this are refused: nobody reads them and the log is walked too often.
MOST_WINDOWS = 200_000


@dataclass(frozen=True)
class Statistic:
    """One number of a window: a quantile of the latency (ms), a rate in [0, 1], or the mean of a score.

    ``worse`` is ``"up"`` or ``"down"``, None where neither direction is bad.
    """

    name: str
    column: str
    kind: str
    worse: str | None
    quantile: float = math.nan

    def value(self, values: NDArray[np.float64]) -> float:
        """The statistic of finite values, shape (n,); NaN for none."""
        if not len(values):
            return math.nan
        return float(np.quantile(values, self.quantile) if self.kind == "quantile" else values.mean())

    def interval(self, values: NDArray[np.float64]) -> tuple[float, float]:
        """95 %: order statistics for a quantile, Wilson for a rate, as ``mean_interval`` for a score; NaN for none."""
        if self.kind == "quantile":
            return _quantile_interval(values, self.quantile)
        found = wilson(float(values.sum()), len(values)) if self.kind == "rate" else mean_interval(values)
        return found.low, found.high


_LATENCIES = tuple(Statistic(f"latency_p{p}", LATENCY, "quantile", "up", p / 100) for p in (50, 95, 99))
_RATES = (Statistic("refusal_rate", REFUSED, "rate", "up"), Statistic("error_rate", ERROR, "rate", "up"))


def statistics_of(columns: Mapping[str, object]) -> list[Statistic]:
    """The statistics that can be computed from ``columns``, in the order in which they are shown."""
    fixed = [item for item in (*_LATENCIES, *_RATES) if item.column in columns]
    scores = [name for name in columns if name not in (LATENCY, REFUSED, ERROR)]
    return [*fixed, *(Statistic(name, name, "mean", _worse(name)) for name in scores)]


def _worse(score: str) -> str | None:
    """A score is worse when low, unless its metric says otherwise."""
    from workbench.scoring.metrics import definitions

    depth = score.partition("@")[2]
    metric = definitions(int(depth) if depth.isdigit() else 1).get(score)
    better = True if metric is None else metric.higher_is_better
    return None if better is None else "down" if better else "up"


def _quantile_interval(values: NDArray[np.float64], quantile: float) -> tuple[float, float]:
    n = len(values)
    if n < 2:
        return math.nan, math.nan
    half = Z * math.sqrt(n * quantile * (1 - quantile))
    low, high = math.floor(n * quantile - half), math.ceil(n * quantile + half)
    ordered = np.sort(values)
    return float(ordered[max(low, 0)]), float(ordered[min(high, n - 1)])


class Counted(NamedTuple):
    """The finite values of a column in one window, and how many rows have none or one that is not finite."""

    values: NDArray[np.float64]
    n_missing: int
    n_non_finite: int


def counted(values: NDArray[np.float64]) -> Counted:
    """Sort a column's values, shape (n,), into finite, missing (NaN) and not finite (±inf)."""
    finite = np.isfinite(values)
    missing = int(np.isnan(values).sum())
    return Counted(values[finite], missing, int(len(values) - finite.sum() - missing))


# ---------------------------------------------------------------- which rows


def window_size(window: int | str) -> tuple[int, float]:
    """``(requests, 0)`` for a number, ``(0, seconds)`` for a text like ``"6h"``, ``"30min"``, ``"1d"``.

    Raises
    ------
    InputError
        For anything else.
    """
    text = str(window).strip().lower()
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text)
    if found and not isinstance(window, bool):
        amount, unit = float(found[1]), found[2]
        if unit == "" and amount == int(amount) >= 1:
            return int(amount), 0.0
        if unit in _UNITS and amount > 0:
            return 0, amount * _UNITS[unit]
    raise InputError(f"window or step {window!r}: use a number of requests from 1 on, or a time such as 30min, 6h, 1d")


class Window(NamedTuple):
    """Rows ``[first, last)`` of one window, those from ``fresh`` on new since the window before; times in seconds."""

    first: int
    last: int
    fresh: int
    start: float
    end: float


def rolling(log: QueryLog, window: int | str, step: int | str | None = None) -> list[Window]:
    """The windows over a log, each of the whole size asked for.

    Parameters
    ----------
    window, step
        Numbers of requests, or times (``"6h"``); the step is a quarter of the window by default and of its kind. With
        requests, the last window ends at the last request.

    Raises
    ------
    InputError
        For a time over a log without times, a step of the other kind, or more than 200,000 windows.
    """
    requests, seconds = window_size(window)
    step_requests, step_seconds = window_size(step) if step is not None else (max(requests // 4, 1), seconds / 4)
    if bool(requests) != bool(step_requests) and step is not None:
        raise InputError(f"step {step!r} is of another kind than window {window!r}; use requests or time for both")
    if requests:
        return _by_requests(log, requests, step_requests)
    if log.times is None:
        raise InputError(f"{log.name} has no times, so a window of {window} cannot be taken; use a number of requests")
    return _by_time(log.times, seconds, step_seconds)


def _by_requests(log: QueryLog, size: int, step: int) -> list[Window]:
    n = len(log)
    _few_enough((n - size) / step)
    ends = list(range(size, n + 1, step))
    if ends and ends[-1] != n:
        ends.append(n)
    times = log.times
    found, before = [], 0
    for end in ends:
        moments = (math.nan, math.nan) if times is None else (float(times[end - size]), float(times[end - 1]))
        found.append(Window(end - size, end, before, *moments))
        before = end
    return found


def _by_time(times: NDArray[np.float64], size: float, step: float) -> list[Window]:
    count = (times[-1] - times[0] - size) / step
    _few_enough(count)
    ends = times[0] + size + step * np.arange(max(math.floor(count) + 1, 0))
    firsts, lasts = np.searchsorted(times, ends - size), np.searchsorted(times, ends)
    before = [0, *lasts[:-1].tolist()]
    rows = zip(firsts.tolist(), lasts.tolist(), before, ends.tolist(), strict=True)
    return [Window(first, last, fresh, end - size, end) for first, last, fresh, end in rows]


def _few_enough(count: float) -> None:
    if count > MOST_WINDOWS:
        raise InputError(f"{count:,.0f} windows are more than {MOST_WINDOWS:,}; use a longer window or step")
