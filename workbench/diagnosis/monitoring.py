"""Is production drifting? A query log against a baseline: windows, levels, alerts.

The baseline is another log, an evaluation, or the first part of the log itself. See :mod:`workbench.diagnosis.alerts`
for what fires and how false alarms are kept rare.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.diagnosis.alerts import FIRED, Alert, Armed, Level, Rule, Watch, default_rules, iso, level_of
from workbench.diagnosis.query_log import ERROR, LATENCY, REFUSED, QueryLog
from workbench.diagnosis.query_values import seconds_of
from workbench.diagnosis.windows import Statistic, Window, counted, rolling, statistics_of
from workbench.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

#: Share of a log that is its own baseline when none is given.
OWN_SHARE = 0.3


def log_of(evaluation: Any) -> QueryLog:
    """The samples of an evaluation as a log, in their order and without times: latency and errors as recorded,
    refusals as decided, and every score that lies in [0, 1]."""
    frame = evaluation.samples.frame
    scores = evaluation.scores()
    columns: dict[str, NDArray[np.float64]] = {}
    if LATENCY in frame and frame[LATENCY].notna().any():
        columns[LATENCY] = frame[LATENCY].to_numpy(dtype=float, na_value=math.nan)
    if REFUSED in scores:
        columns[REFUSED] = scores[REFUSED].to_numpy(dtype=float)
    if "error" in frame:
        columns[ERROR] = frame["error"].notna().to_numpy(dtype=float)
    for name in scores.columns:
        values = scores[name].to_numpy(dtype=float)
        found = values[np.isfinite(values)]
        if name != REFUSED and len(found) and found.min() >= 0 and found.max() <= 1:
            columns[str(name)] = values
    return QueryLog(
        evaluation.name, None, np.arange(1, len(frame) + 1), columns, n_read=len(frame), notes=("no_times",)
    )


def split_log(log: QueryLog, until: float | str | None = None) -> tuple[QueryLog, QueryLog]:
    """A log's beginning as its baseline, and the rest: the first 30 %, ``until`` a time ("2025-06-09" …), or a share.

    Raises
    ------
    InputError
        For a time over a log without times, a share outside (0, 1), or a part without a request.
    """
    if until is None or isinstance(until, float):
        share = OWN_SHARE if until is None else until
        if not 0 < share < 1:
            raise InputError(f"baseline: the share {share!r} of the log is not between 0 and 1")
        at = round(len(log) * share)
    else:
        if log.times is None:
            raise InputError(f"{log.name} has no times and cannot be parted at {until}; give another log as baseline")
        try:
            at = int(np.searchsorted(log.times, seconds_of(until)))
        except ValueError:
            raise InputError(f"baseline: {until!r} is no time; write it as 2025-06-10T07:00:00Z") from None
    if not 0 < at < len(log):
        raise InputError(f"{log.name}: parted at {until or OWN_SHARE} a part has no request; choose another point")
    return log.part(0, at), log.part(at, len(log))


@dataclass(frozen=True)
class Monitoring:
    """A log watched against a baseline; everything is computed when it is first asked for.

    Attributes
    ----------
    log, baseline
        The requests watched, and those compared with.
    window, step
        As asked for.
    rules
        The rules in force.
    own_baseline
        Whether the baseline is the beginning of the same log.
    """

    log: QueryLog
    baseline: QueryLog
    window: int | str
    step: int | str | None
    rules: tuple[Rule, ...]
    own_baseline: bool = False

    @cached_property
    def statistics(self) -> list[Statistic]:
        """What can be watched: the columns that the log has."""
        return statistics_of(self.log.columns)

    @cached_property
    def levels(self) -> dict[str, Level]:
        """Statistic → its level in the baseline; n = 0 and NaN where the baseline has no such column."""
        empty = np.empty(0)
        return {item.name: level_of(item, self.baseline.columns.get(item.column, empty)) for item in self.statistics}

    @cached_property
    def spans(self) -> list[Window]:
        """The windows, each of the size asked for; none when the log is shorter."""
        return rolling(self.log, self.window, self.step)

    def _series(self, name: str) -> dict[str, list[Any]]:
        statistic = self.statistic(name)
        values = self.log.columns[statistic.column]
        found = [counted(values[span.first : span.last]) for span in self.spans]
        return {
            "value": [statistic.value(item.values) for item in found], "n": [len(item.values) for item in found],
            "n_missing": [item.n_missing for item in found], "n_non_finite": [item.n_non_finite for item in found],
        }  # fmt: skip

    def statistic(self, name: str) -> Statistic:
        """The statistic of that name. Raises ``InputError`` for an unknown one."""
        for item in self.statistics:
            if item.name == name:
                return item
        raise InputError(f"no statistic {name!r} here; there are {', '.join(item.name for item in self.statistics)}")

    @cached_property
    def _watched(self) -> tuple[list[Alert], list[Armed]]:
        watch = Watch(self.rules, self.statistics, self.levels)
        events: list[Alert] = []
        columns, rows = self.log.columns, self.log.rows
        for span in self.spans:
            window = {name: values[span.first : span.last] for name, values in columns.items()}
            fresh = {name: values[span.fresh : span.last] for name, values in columns.items()}
            row = int(rows[span.last - 1]) if span.last else 0
            events += watch.step(window, fresh, row=row, at=span.end, start=span.start)
        return events, watch.armed

    @property
    def events(self) -> list[Alert]:
        """What fired and what cleared, in the order of the log."""
        return self._watched[0]

    @property
    def armed(self) -> list[Armed]:
        """The rules with their limits, and why one cannot fire."""
        return self._watched[1]

    @property
    def firing(self) -> list[Alert]:
        """The alerts that had not cleared at the end of the log."""
        return [item.firing for item in self.armed if item.firing is not None]

    @property
    def n_fired(self) -> int:
        """How many alerts fired."""
        return sum(event.state == FIRED for event in self.events)

    # -- frames -----------------------------------------------------------------------------------------------------

    def windows(self, statistics: Iterable[str] | None = None) -> pd.DataFrame:
        """One row a window and statistic: ``statistic, start, end, first_row, last_row, n_requests, value, n,
        n_missing, n_non_finite``. ``n`` counts finite values; with none there is no value (NaN). Times: UTC or NaT."""
        import pandas as pd

        names = list(statistics) if statistics is not None else [item.name for item in self.statistics]
        rows, spans = self.log.rows, self.spans
        held = {
            "start": pd.to_datetime([span.start for span in spans], unit="s", utc=True),
            "end": pd.to_datetime([span.end for span in spans], unit="s", utc=True),
            "first_row": [int(rows[span.first]) if span.first < span.last else 0 for span in spans],
            "last_row": [int(rows[span.last - 1]) if span.first < span.last else 0 for span in spans],
            "n_requests": [span.last - span.first for span in spans],
        }
        parts = [pd.DataFrame({"statistic": name, **held, **self._series(name)}) for name in names]
        return pd.concat(parts, ignore_index=True)

    def alerts(self) -> pd.DataFrame:
        """One row an alert: ``statistic, fired_at, cleared_at`` (UTC; NaT while it fires and without times)``, row,
        cleared_row, kind, worse, value, baseline, change, allowed, limit, clear_level, n, baseline_n, evidence``."""
        import pandas as pd

        found: list[dict[str, Any]] = []
        last: dict[tuple[str, str, str, float], dict[str, Any]] = {}
        for event in self.events:
            key = (event.statistic, event.kind, event.worse, event.allowed)
            if event.state != FIRED:
                last[key] |= {"cleared_at": event.at, "cleared_row": event.row}
                continue
            names = ("row", "kind", "worse", "value", "baseline", "change", "allowed", "limit", "clear_level", "n",
                     "baseline_n", "evidence")  # fmt: skip
            last[key] = {"statistic": event.statistic, "fired_at": event.at, "cleared_at": math.nan,
                         "cleared_row": None, **{name: getattr(event, name) for name in names}}  # fmt: skip
            found.append(last[key])
        frame = pd.DataFrame(found, columns=_ALERT_COLUMNS)
        frame["cleared_row"] = frame["cleared_row"].astype("Int64")
        for name in ("fired_at", "cleared_at"):
            frame[name] = pd.to_datetime(frame[name].astype(float), unit="s", utc=True)
        return frame

    def rules_table(self) -> pd.DataFrame:
        """One row a rule: ``statistic, kind, change, worse, baseline, low, high, baseline_n, limit, clear_level, min_n,
        false_alarm_every, problem``; ``problem`` (baseline, zero, unreachable) says why it cannot fire."""
        import pandas as pd

        rows = [
            {"statistic": item.rule.statistic, "kind": item.rule.kind, "change": item.rule.change, "worse": item.worse,
             "baseline": item.level.value, "low": item.level.low, "high": item.level.high, "baseline_n": item.level.n,
             "limit": item.limit, "clear_level": item.clear_level, "min_n": item.rule.min_n,
             "false_alarm_every": item.rule.false_alarm_every, "problem": item.problem}
            for item in self.armed
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=_RULE_COLUMNS)

    def to_dict(self) -> dict[str, Any]:
        """Counts, levels, rules and events as JSON can hold them."""
        levels = {
            name: {key: _plain(getattr(level, key)) for key in ("value", "low", "high")} | {"n": level.n}
            for name, level in self.levels.items()
        }
        ends = [None, None] if self.log.times is None else [iso(float(self.log.times[at])) for at in (0, -1)]
        return {
            "log": self.log.name, "n_read": self.log.n_read, "n_rejected": self.log.n_rejected,
            "n_watched": len(self.log), "from": ends[0], "to": ends[1], "baseline": self.baseline.name,
            "n_baseline": len(self.baseline), "own_baseline": self.own_baseline,
            "window": self.window, "step": self.step, "n_windows": len(self.spans), "levels": levels,
            "events": [event.to_dict() for event in self.events], "firing": [event.statistic for event in self.firing],
        }  # fmt: skip


_RULE_COLUMNS = [
    "statistic", "kind", "change", "worse", "baseline", "low", "high", "baseline_n", "limit", "clear_level", "min_n",
    "false_alarm_every", "problem",
]  # fmt: skip
_ALERT_COLUMNS = [
    "statistic", "fired_at", "cleared_at", "row", "cleared_row", "kind", "worse", "value", "baseline", "change",
    "allowed", "limit", "clear_level", "n", "baseline_n", "evidence",
]  # fmt: skip


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None


def watch_log(
    log: QueryLog, baseline: QueryLog | None = None, *, window: int | str = 200, step: int | str | None = None,
    rules: Sequence[Rule] | None = None, until: float | str | None = None,
) -> Monitoring:  # fmt: skip
    """Watch a log. Without a ``baseline`` its beginning is one, see :func:`split_log`.

    Raises
    ------
    InputError
        For a window, step or rule that does not fit the log.
    """
    if baseline is not None and until is not None:
        raise InputError("baseline: give either another log or the point up to which this one is its own baseline")
    watched, reference = log, baseline
    if reference is None:
        reference, watched = split_log(log, until)
        watched = _with_counts(watched, log)
    known = statistics_of(watched.columns)
    found = Monitoring(watched, reference, window, step, tuple(default_rules(known) if rules is None else rules),
                       own_baseline=baseline is None)  # fmt: skip
    _ = found.spans, Watch(found.rules, known, found.levels)
    return found


def _with_counts(part: QueryLog, whole: QueryLog) -> QueryLog:
    """The part watched, with what was rejected and noted when the whole was read."""
    import dataclasses

    return dataclasses.replace(part, n_read=whole.n_read, n_rejected=whole.n_rejected, rejections=whole.rejections,
                               notes=whole.notes)  # fmt: skip


def columns_of(records: Sequence[Mapping[str, float]]) -> dict[str, NDArray[np.float64]]:
    """Records of numbers as columns; what a record does not have is NaN."""
    names = dict.fromkeys(name for record in records for name in record)
    return {name: np.array([record.get(name, math.nan) for record in records], dtype=float) for name in names}
