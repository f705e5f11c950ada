"""Is production drifting? A query log against a baseline: windows, levels, alerts.

The baseline is another log, an evaluation, or the first part of the log itself. See :mod:`workbench.diagnosis.alerts`
for what fires and how false alarms are kept rare.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.data.files import JsonLines, redacted
from workbench.diagnosis.alerts import (
    FIRED,
    Alert,
    Dispatcher,
    Level,
    Rule,
    RuleState,
    Watch,
    Webhook,
    default_rules,
    iso,
    level_of,
    statistic_title,
    value_text,
)
from workbench.diagnosis.query_log import (
    ERROR,
    LATENCY,
    REFUSED,
    TIME,
    QueryLog,
    Statistic,
    Window,
    counted,
    early,
    failed,
    flag,
    load_log,
    number,
    rolling,
    seconds_of,
    statistics_of,
    window_size,
)
from workbench.errors import InputError
from workbench.language import listed
from workbench.language import text as _t

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

    Raises ``InputError`` for a time over a log without times, a share outside (0, 1), or a part without a request.
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
    given
        Statistic → level that stands for the baseline, where numbers were given instead of one.
    """

    log: QueryLog
    baseline: QueryLog
    window: int | str
    step: int | str | None
    rules: tuple[Rule, ...]
    own_baseline: bool = False
    given: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @cached_property
    def statistics(self) -> list[Statistic]:
        """What can be watched: the columns that the log has."""
        return statistics_of(self.log.columns)

    @cached_property
    def levels(self) -> dict[str, Level]:
        """Statistic → its level in the baseline; n = 0 and NaN where the baseline has no such column."""
        empty = np.empty(0)
        found = {item.name: level_of(item, self.baseline.columns.get(item.column, empty)) for item in self.statistics}
        return found | {name: Level(value, value, value, 0, given=True) for name, value in self.given.items()}

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
            "mean": [float(item.values.mean()) if len(item.values) else math.nan for item in found],
            "sd": [float(item.values.std(ddof=1)) if len(item.values) > 1 else math.nan for item in found],
            "n_missing": [item.n_missing for item in found], "n_non_finite": [item.n_non_finite for item in found],
        }  # fmt: skip

    def statistic(self, name: str) -> Statistic:
        """The statistic of that name. Raises ``InputError`` for an unknown one."""
        for item in self.statistics:
            if item.name == name:
                return item
        raise InputError(f"no statistic {name!r} here; there are {', '.join(item.name for item in self.statistics)}")

    @cached_property
    def _watched(self) -> tuple[list[Alert], list[RuleState]]:
        watch = Watch(self.rules, self.statistics, self.levels)
        events: list[Alert] = []
        columns, rows = self.log.columns, self.log.rows
        for span in (*early(self.log, self.window, self.step), *self.spans):
            window = {name: values[span.first : span.last] for name, values in columns.items()}
            fresh = {name: values[span.fresh : span.last] for name, values in columns.items()}
            row = int(rows[span.last - 1]) if span.last else 0
            events += watch.step(window, fresh, row=row, at=span.end, start=span.start)
        return events, watch.rule_states

    @property
    def events(self) -> list[Alert]:
        """What fired and what cleared, in the order of the log."""
        return self._watched[0]

    @property
    def rule_states(self) -> list[RuleState]:
        """The rules with their limits, and why one cannot fire."""
        return self._watched[1]

    @property
    def firing(self) -> list[Alert]:
        """The alerts that had not cleared at the end of the log."""
        return [item.firing for item in self.rule_states if item.firing is not None]

    @property
    def n_fired(self) -> int:
        """How many alerts fired."""
        return sum(event.state == FIRED for event in self.events)

    def windows(self, statistics: Iterable[str] | None = None) -> pd.DataFrame:
        """One row a window and statistic: ``statistic, start, end, first_row, last_row, n_requests, value, n, mean, sd,
        n_missing, n_non_finite``. ``n`` counts finite values; with none there is no value (NaN). ``mean, sd``: of the values
        that the statistic is of. Times: UTC or NaT."""
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
        found: list[dict[str, Any]] = []
        last: dict[tuple[str, str, str, float], dict[str, Any]] = {}
        for event in self.events:
            key = (event.statistic, event.kind, event.worse, event.allowed)
            if event.state == FIRED:
                last[key] = dataclasses.asdict(event) | {"fired_at": event.at, "cleared_at": math.nan, "cleared_row": None}
                found.append(last[key])
            else:
                last[key] |= {"cleared_at": event.at, "cleared_row": event.row}
        frame = pd.DataFrame(found, columns=_ALERT_COLUMNS)
        frame["cleared_row"] = frame["cleared_row"].astype("Int64")
        for name in ("fired_at", "cleared_at"):
            frame[name] = pd.to_datetime(frame[name].astype(float), unit="s", utc=True)
        return frame

    def rules_table(self) -> pd.DataFrame:
        """One row a rule: ``statistic, kind, change, worse, baseline, low, high, baseline_n, limit, clear_level, min_n,
        false_alarm_every, problem``; ``problem`` (baseline, zero, unreachable) says why it cannot fire."""
        own = ("worse", "limit", "clear_level", "problem")
        of_rule = ("statistic", "kind", "change", "min_n", "false_alarm_every")
        rows = [
            {name: getattr(item.rule, name) for name in of_rule} | {name: getattr(item, name) for name in own}
            | {"baseline": item.level.value, "low": item.level.low, "high": item.level.high, "baseline_n": item.level.n}
            for item in self.rule_states
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=_RULE_COLUMNS)

    def to_dict(self) -> dict[str, Any]:
        """Counts, levels, rules and events as JSON can hold them."""
        levels = {
            name: {key: own if math.isfinite(own := getattr(level, key)) else None for key in ("value", "low", "high")}
            | {"n": level.n}
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


def watch_log(
    log: QueryLog, baseline: QueryLog | float | Mapping[str, float] | None = None, *, window: int | str = 200,
    step: int | str | None = None, rules: Sequence[Rule] | None = None, until: float | str | None = None,
) -> Monitoring:  # fmt: skip
    """Watch a log. Without a ``baseline`` its beginning is one, see :func:`split_log`; a number is the level of every score,
    a mapping those of the statistics that it names, and only these are then watched.

    Raises ``InputError`` for a window, step or rule that does not fit the log.
    """
    if baseline is not None and until is not None:
        raise InputError("baseline: give either another log or the point up to which this one is its own baseline")
    known = statistics_of(log.columns)
    given = _levels_given(baseline, known)
    watched = log
    reference = log.part(0, 0, _t("logs.given")) if given else baseline if isinstance(baseline, QueryLog) else None
    if reference is None:
        reference, watched = split_log(log, until)
        # The part watched says what was rejected and noted when the whole was read.
        watched = dataclasses.replace(watched, n_read=log.n_read, n_rejected=log.n_rejected, rejections=log.rejections,
                                      notes=log.notes)  # fmt: skip
    if rules is None:
        rules = [rule for rule in default_rules(known) if not given or rule.statistic in given]
    found = Monitoring(watched, reference, window, step, tuple(rules), own_baseline=baseline is None, given=given)
    _ = found.spans, Watch(found.rules, known, found.levels)
    return found


def _levels_given(baseline: Any, known: Sequence[Statistic]) -> dict[str, float]:
    """The levels that a number or a mapping of numbers gives; none for anything else.

    A depth may be called k: ``precision@k`` is the one precision that the log has.
    """
    names = [item.name for item in known]
    if isinstance(baseline, (int, float)) and not isinstance(baseline, bool):
        found = {item.name: float(baseline) for item in known if item.kind == "mean"}
        if not found:
            raise InputError(f"baseline {baseline!r}: the log has no score; give levels by name, e.g. {{'{names[0]}': …}}")
        return found
    if not isinstance(baseline, Mapping):
        return {}
    found = {}
    for name, value in baseline.items():
        full = statistic_name(str(name), names)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise InputError(f"baseline {name!r}: {value!r} is no number; give a level for each statistic")
        found[full] = float(value)
    return found


def statistic_name(name: str, known: Sequence[str]) -> str:
    """``name`` among ``known``, where a depth may be called k or left out. Raises ``InputError`` for an unknown one."""
    base = name.removesuffix("@k")
    found = [own for own in known if own == name] or [own for own in known if own.partition("@")[0] == base]
    if len(found) != 1:
        raise InputError(f"{name}: no such statistic here; there are {', '.join(known)}")
    return found[0]


def columns_of(records: Sequence[Mapping[str, float]], names: Iterable[str] = ()) -> dict[str, NDArray[np.float64]]:
    """Records of numbers as columns, those of ``names`` in any case; what a record does not have is NaN."""
    found = dict.fromkeys([*(name for record in records for name in record), *names])
    return {name: np.array([record.get(name, math.nan) for record in records], dtype=float) for name in found}


# ------------------------------------------------------------------------------
# A collector for a live service: records each request, keeps the last ones, and says when the service degrades.
#
# Thread-safe, bounded in memory, and harmless: recording never waits for a receiver and never raises for what it is
# given, for a full disk or for a receiver that is down. Each request is one line, appended to a JSONL file by one
# write, so a killed process loses nothing that it recorded; a new collector over the same file goes on where the last
# one stopped. Only numbers and a short error text are written: no question, no answer, no context.


_log = logging.getLogger(__name__)

#: Characters of an error that are kept.
ERROR_TEXT = 300
#: Alerts that are kept in memory.
KEPT_ALERTS = 1_000


class Request:
    """What happened in one request; set the attributes, scores with ``score(name=value)``."""

    def __init__(self) -> None:
        self.refused: bool | None = None
        self.error: str | None = None
        self.scores: dict[str, float] = {}

    def score(self, **scores: float) -> None:
        """Note scores of this request."""
        self.scores.update(scores)


class Collector:
    """Records requests of a live service.

    Parameters
    ----------
    path
        JSONL file to append to; it can be read with ``load_log``. None keeps the last requests in memory only.
    baseline
        A ``QueryLog`` (or the path of one) to compare with; without one nothing alerts.
    rules
        By default ``default_rules`` of what the baseline has.
    window, step
        Requests of a window, and between two looks at it (a quarter of the window). Memory holds one window.
    on_alert
        A callable that takes an ``Alert``, or the address of a webhook, or several of them; called in another thread.
    sync
        Force each line to the disk, so that it survives a failing machine too, not only a killed process.

    Attributes
    ----------
    n_recorded, n_unreadable, n_unwritten
        Requests recorded since the file began, values that were no numbers (left out of their request), and requests
        that could not be written.
    alerts
        The last 1,000 events, oldest first.

    Raises
    ------
    InputError
        At construction only: for a window, rule, address or baseline that cannot be used, or an unreadable file.

    Examples
    --------
    >>> collector = wb.Collector("log.jsonl")  # doctest: +SKIP
    >>> collector.record(latency_ms=took, refused=False, faithfulness=0.9)  # doctest: +SKIP
    """

    def __init__(
        self, path: str | Path | None = None, *, baseline: QueryLog | str | Path | None = None,
        rules: Sequence[Rule] | None = None, window: int = 200, step: int | None = None,
        on_alert: Callable[[Alert], Any] | str | Sequence[Callable[[Alert], Any] | str] = (), sync: bool = False,
    ) -> None:  # fmt: skip
        size, seconds = window_size(window)
        if seconds:
            raise InputError(f"collector: window {window!r} is a time; give a number of requests")
        self._size, self._step = size, step if step is not None else max(size // 4, 1)
        if self._step < 1:
            raise InputError(f"collector: step {step!r} is not a whole number from 1 on")
        self._file = None if path is None else JsonLines(Path(path).expanduser(), sync=sync)
        self._lock = threading.Lock()
        self._records: deque[dict[str, float]] = deque(maxlen=max(size, self._step))
        self._since = 0
        self.n_recorded = self.n_unreadable = self.n_unwritten = 0
        self.alerts: deque[Alert] = deque(maxlen=KEPT_ALERTS)
        self._watch = _watch(baseline, rules)
        self._dispatcher = Dispatcher(*_receivers(on_alert))
        self._resume()

    def record(self, *, latency_ms: float | None = None, refused: bool | None = None, error: Any = None,
               time: Any = None, **scores: float | None) -> None:  # fmt: skip
        """Record one request; never raises.

        Parameters
        ----------
        latency_ms, refused, error
            None where it is not known; ``error`` None means that there was none.
        time
            When it happened; now by default.
        scores
            Name → value; None is not recorded.
        """
        try:
            with self._lock:
                entry, numbers = self._entry(latency_ms, refused, error, time, scores)
                self._write(entry)
                found = self._take(numbers)
            for alert in found:
                self._dispatcher.put(alert)
        except Exception as problem:  # noqa: BLE001
            # The service goes on whatever happens here; the text of a stranger's error may hold a secret.
            _log.warning("a request could not be recorded: %s", type(problem).__name__)

    @contextlib.contextmanager
    def request(self) -> Iterator[Request]:
        """Time a block and record it; an exception that leaves the block is recorded as an error and goes on."""
        found, began = Request(), time.perf_counter()
        try:
            yield found
        except BaseException as error:
            found.error = found.error or type(error).__name__
            raise
        finally:
            self.record(latency_ms=(time.perf_counter() - began) * 1000, refused=found.refused, error=found.error,
                        **found.scores)  # fmt: skip

    def _entry(
        self, latency: Any, refused: Any, error: Any, at: Any, scores: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float]]:
        """What to write and the numbers to keep."""
        moment = self._number(seconds_of, at)
        numbers = {TIME: time.time() if moment is None or math.isinf(moment) else moment, ERROR: failed(error)}
        readers = {REFUSED: flag, **dict.fromkeys((LATENCY, *scores), number)}
        for name, value in ((REFUSED, refused), (LATENCY, latency), *scores.items()):
            if (found := self._number(readers[name], value)) is not None:
                numbers[name] = found
        entry: dict[str, Any] = {name: value if math.isfinite(value) else "nan" for name, value in numbers.items()}
        if REFUSED in numbers:
            entry[REFUSED] = bool(numbers[REFUSED])
        entry[ERROR] = redacted(str(error))[:ERROR_TEXT] if numbers[ERROR] else None
        return entry, numbers

    def _number(self, reader: Callable[[Any], float], value: Any) -> float | None:
        """What is recorded as a number; None for nothing and for what cannot be read (counted)."""
        try:
            found = reader(float(value) if reader is number and isinstance(value, bool) else value)
        except ValueError:
            self.n_unreadable += 1
            return None
        return None if math.isnan(found) else found

    def _write(self, entry: Mapping[str, Any]) -> None:
        try:
            if self._file is not None:
                self._file.append(entry)
        except OSError as error:
            self.n_unwritten += 1
            if self.n_unwritten == 1:
                _log.warning("requests cannot be written to the log: %s", error.strerror or type(error).__name__)

    def _take(self, numbers: dict[str, float]) -> list[Alert]:
        """Keep one request and look at the window each ``step`` requests, also before it is full."""
        self._records.append(numbers)
        self.n_recorded += 1
        self._since += 1
        not_full = self.n_recorded < self._size and self.n_recorded % self._step == 0
        due = not_full or (self.n_recorded >= self._size and (self.n_recorded - self._size) % self._step == 0)
        if self._watch is None or not due:
            return []
        records = list(self._records)
        window, fresh = records[-self._size :], records[-self._since :]
        self._since = 0
        names = [item.statistic.column for item in self._watch.rule_states]
        held, new = columns_of(window, names), columns_of(fresh, names)
        found = self._watch.step(held, new, row=self.n_recorded, at=window[-1][TIME], start=window[0][TIME])
        self.alerts.extend(found)
        return found

    @property
    def firing(self) -> list[Alert]:
        """The alerts that have fired and not cleared."""
        with self._lock:
            return [] if self._watch is None else self._watch.firing

    def snapshot(self) -> dict[str, dict[str, Any]]:
        """The window as it is now: statistic → ``value`` (None without a finite value), ``n``, ``n_non_finite``."""
        with self._lock:
            records = list(self._records)[-self._size :]
        columns = columns_of(records)
        columns.pop(TIME, None)
        found = {}
        for item in statistics_of(columns):
            held = counted(columns[item.column])
            value = item.value(held.values)
            found[item.name] = {"value": None if math.isnan(value) else value, "n": len(held.values),
                                "n_non_finite": held.n_non_finite}  # fmt: skip
        return found

    def close(self, timeout: float = 5.0) -> bool:
        """Wait at most ``timeout`` seconds for alerts under way; whether all went out."""
        return self._dispatcher.close(timeout)

    def __enter__(self) -> Collector:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _resume(self) -> None:
        """Go on where the file stopped: the same window, the same evidence, and no alert sent twice."""
        if self._file is None or not self._file.path.is_file():
            return
        try:
            with self._file.path.open("rb") as file:
                for line in file:
                    numbers = _numbers(line)
                    if numbers is not None:
                        self._take(numbers)
        except OSError as error:
            raise InputError(f"{self._file.path}: cannot be read ({error.strerror}); choose another file") from error


def _numbers(line: bytes) -> dict[str, float] | None:
    """The numbers of one written line; None for a line that a killed process tore."""
    try:
        entry = json.loads(line)
        numbers = {name: float(value) for name, value in entry.items() if name != ERROR and value is not None}
        numbers[ERROR] = float(entry[ERROR] is not None)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return {name: math.inf if math.isnan(value) else value for name, value in numbers.items()}


def _watch(baseline: QueryLog | str | Path | None, rules: Sequence[Rule] | None) -> Watch | None:
    if baseline is None:
        if rules:
            raise InputError("collector: rules need a baseline to compare with; give baseline=")
        return None
    log = baseline if isinstance(baseline, QueryLog) else load_log(baseline)
    known = statistics_of(log.columns)
    levels: dict[str, Level] = {item.name: level_of(item, log.columns[item.column]) for item in known}
    return Watch(default_rules(known) if rules is None else rules, known, levels)


def _receivers(on_alert: Any) -> list[Callable[[Alert], Any]]:
    given = [on_alert] if callable(on_alert) or isinstance(on_alert, str) else list(on_alert)
    found = [Webhook(item) if isinstance(item, str) else item for item in given]
    if not all(callable(item) for item in found):
        raise InputError("collector: on_alert takes callables and addresses of webhooks")
    return found


# ------------------------------------------------------------------------------
# What monitoring says in words, the same in the command and in the panel.


def window_text(window: int | str) -> str:
    """ "200 requests" or "6h"."""
    text = str(window)
    return _t("monitoring.words.requests", n=f"{int(text):,}") if text.isdigit() else text


def watched_words(found: Monitoring) -> str:
    """What was watched, in how many windows, against what."""
    baseline = _t("monitoring.words.own") if found.own_baseline else found.baseline.name
    if found.given:
        return _t("logs.watched_given", name=found.log.name, n=f"{len(found.log):,}", windows=f"{len(found.spans):,}",
                  window=window_text(found.window))  # fmt: skip
    return _t("monitoring.words.watched", name=found.log.name, n=f"{len(found.log):,}", windows=f"{len(found.spans):,}",
              window=window_text(found.window), baseline=baseline, n_baseline=f"{len(found.baseline):,}")  # fmt: skip


def verdict_words(found: Monitoring) -> str:
    """How many alerts, and which still fire."""
    if not found.spans and not found.events:
        return _t("monitoring.words.no_windows", n=f"{len(found.log):,}", window=window_text(found.window))
    if not found.n_fired:
        return _t("monitoring.words.quiet")
    if not found.firing:
        return _t("monitoring.words.fired_cleared", n=f"{found.n_fired:,}")
    names = listed(statistic_title(event.statistic) for event in found.firing)
    return _t("monitoring.words.fired", n=f"{found.n_fired:,}", firing=len(found.firing), names=names)


def note_lines(found: Monitoring) -> list[str]:
    """What a reader should know: rejected rows, no times, what is not recorded, an evaluation as baseline."""
    log = found.log
    lines = [_t(f"monitoring.words.{name}") for name in log.notes]
    if log.n_rejected:
        lines.append(_t("monitoring.words.rejected", n=f"{log.n_rejected:,}", total=f"{log.n_read:,}"))
    lacking = [statistic_title(name) for column, name in _WANTED if column not in log.columns]
    if lacking:
        lines.append(_t("monitoring.words.lacks", names=listed(lacking)))
    if log.ignored:
        lines.append(_t("monitoring.words.ignored", names=listed(log.ignored[:8])))
    if not found.own_baseline and found.baseline.times is None and log.times is not None:
        lines.append(_t("monitoring.words.other_baseline"))
    return lines


_WANTED = ((LATENCY, "latency_p95"), (REFUSED, "refusal_rate"), (ERROR, "error_rate"))


def rule_words(item: RuleState) -> str:
    """ "latency p95 up by more than 50 % of the baseline (relative): baseline 1,833 ms (n = 1,500), limit …"."""
    return f"{rule_title(item)}: {problem_words(item) or limit_words(item)}"


def rule_title(item: RuleState) -> str:
    """The rule without its numbers here: statistic, direction, change and its kind."""
    rule, name = item.rule, item.rule.statistic
    if rule.kind == "relative":
        change = f"{rule.change * 100:g}"
    elif name.endswith("_rate"):
        change = _t("monitoring.words.points", n=f"{rule.change * 100:g}")
    else:
        change = value_text(name, rule.change)
    return _t(f"monitoring.command.rule_{rule.kind}", statistic=statistic_title(name), change=change,
              worse=_t(f"monitoring.direction.{item.worse}"))  # fmt: skip


def limit_words(item: RuleState) -> str:
    """Baseline, limit and clear level."""
    name = item.rule.statistic
    if item.level.given:
        return _t("logs.limits_given", baseline=value_text(name, item.level.value), limit=value_text(name, item.limit),
                  clear=value_text(name, item.clear_level))  # fmt: skip
    return _t("monitoring.command.limits", baseline=value_text(name, item.level.value), n=f"{item.level.n:,}",
              limit=value_text(name, item.limit), clear=value_text(name, item.clear_level))  # fmt: skip


def problem_words(item: RuleState) -> str:
    """Why the rule cannot fire; empty when it can."""
    if not item.problem:
        return ""
    reason = _t(f"monitoring.problem.{item.problem}", n=f"{item.level.n:,}", min_n=item.rule.min_n)
    return _t("monitoring.command.cannot_fire", reason=reason)
