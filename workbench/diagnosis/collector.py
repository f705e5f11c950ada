"""A collector for a live service: records each request, keeps the last ones, and says when the service degrades.

Thread-safe, bounded in memory, and harmless: recording never waits for a receiver and never raises for what it is
given, for a full disk or for a receiver that is down. Each request is one line, appended to a JSONL file by one
write, so a killed process loses nothing that it recorded; a new collector over the same file goes on where the last
one stopped. Only numbers and a short error text are written: no question, no answer, no context.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.data.redact import redacted
from workbench.diagnosis.alerts import Alert, Dispatcher, Level, Rule, Watch, Webhook, default_rules, level_of
from workbench.diagnosis.monitoring import columns_of
from workbench.diagnosis.query_log import ERROR, LATENCY, REFUSED, TIME, QueryLog, load_log
from workbench.diagnosis.query_values import failed, flag, seconds_of
from workbench.diagnosis.windows import counted, statistics_of, window_size
from workbench.errors import InputError

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
        self._path, self._sync, self._file = None if path is None else Path(path).expanduser(), sync, -1
        self._torn = False
        self._lock = threading.Lock()
        self._records: deque[dict[str, float]] = deque(maxlen=max(size, self._step))
        self._since = 0
        self.n_recorded = self.n_unreadable = self.n_unwritten = 0
        self.alerts: deque[Alert] = deque(maxlen=KEPT_ALERTS)
        self._watch = _watch(baseline, rules)
        self._dispatcher = Dispatcher(*_receivers(on_alert))
        self._resume()

    # -- recording --------------------------------------------------------------------------------------------------

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
                line, numbers = self._line(latency_ms, refused, error, time, scores)
                self._write(line)
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

    def _line(
        self, latency: Any, refused: Any, error: Any, at: Any, scores: Mapping[str, Any]
    ) -> tuple[bytes, dict[str, float]]:
        """The line to write and the numbers to keep."""
        numbers = {TIME: self._moment(at), ERROR: failed(error)}
        if (declined := self._flag(refused)) is not None:
            numbers[REFUSED] = declined
        for name, value in ((LATENCY, latency), *scores.items()):
            if (found := self._number(value)) is not None:
                numbers[name] = found
        entry: dict[str, Any] = {name: value if math.isfinite(value) else "nan" for name, value in numbers.items()}
        if REFUSED in numbers:
            entry[REFUSED] = bool(numbers[REFUSED])
        entry[ERROR] = redacted(str(error))[:ERROR_TEXT] if numbers[ERROR] else None
        return json.dumps(entry, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n", numbers

    def _moment(self, at: Any) -> float:
        try:
            found = seconds_of(at) if at is not None else math.nan
        except ValueError:
            self.n_unreadable += 1
            found = math.nan
        return found if math.isfinite(found) else time.time()

    def _flag(self, value: Any) -> float | None:
        """1 or 0; None for nothing and for what is neither true nor false (counted)."""
        try:
            found = flag(value)
        except ValueError:
            self.n_unreadable += 1
            return None
        return None if math.isnan(found) else found

    def _number(self, value: Any) -> float | None:
        """A number; ±inf for one that is not finite; None for nothing and for what is no number (counted)."""
        if value is None:
            return None
        try:
            found = float(value)
        except (TypeError, ValueError, OverflowError):
            self.n_unreadable += 1
            return None
        return found if math.isfinite(found) else math.copysign(math.inf, found)

    def _write(self, line: bytes) -> None:
        if self._path is None:
            return
        try:
            if self._file < 0:
                self._file = _opened(self._path)
            # A line that a full disk cut is ended before the next one.
            whole = b"\n" + line if self._torn else line
            self._torn = os.write(self._file, whole) < len(whole)
            if self._sync:
                os.fsync(self._file)
        except OSError as error:
            self.n_unwritten += 1
            if self.n_unwritten == 1:
                _log.warning("requests cannot be written to the log: %s", error.strerror or type(error).__name__)

    # -- watching ---------------------------------------------------------------------------------------------------

    def _take(self, numbers: dict[str, float]) -> list[Alert]:
        """Keep one request and, each ``step`` requests once the window is full, look at the window."""
        self._records.append(numbers)
        self.n_recorded += 1
        self._since += 1
        due = self.n_recorded >= self._size and (self.n_recorded - self._size) % self._step == 0
        if self._watch is None or not due:
            return []
        records = list(self._records)
        window, fresh = records[-self._size :], records[-self._since :]
        self._since = 0
        names = [item.statistic.column for item in self._watch.armed]
        held, new = _filled(columns_of(window), names, len(window)), _filled(columns_of(fresh), names, len(fresh))
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
        """Close the file and wait at most ``timeout`` seconds for alerts under way; whether all went out."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1
        return self._dispatcher.close(timeout)

    def __enter__(self) -> Collector:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _resume(self) -> None:
        """Go on where the file stopped: the same window, the same evidence, and no alert sent twice."""
        if self._path is None or not self._path.is_file() or not self._path.stat().st_size:
            return
        try:
            with self._path.open("rb") as file:
                for line in file:
                    numbers = _numbers(line)
                    if numbers is not None:
                        self._take(numbers)
        except OSError as error:
            raise InputError(f"{self._path}: cannot be read ({error.strerror}); choose another file") from error


def _numbers(line: bytes) -> dict[str, float] | None:
    """The numbers of one written line; None for a line that a killed process tore."""
    try:
        entry = json.loads(line)
        numbers = {name: float(value) for name, value in entry.items() if name != ERROR and value is not None}
        numbers[ERROR] = float(entry[ERROR] is not None)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return {name: math.inf if math.isnan(value) else value for name, value in numbers.items()}


def _opened(path: Path) -> int:
    """A descriptor for appending; a line that was torn is ended first, so that the next one stands alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":
        os.write(file, b"\n")
    return file


def _filled(columns: dict[str, Any], names: Sequence[str], n: int) -> dict[str, Any]:
    """With a column of NaN for everything that a rule needs and no request had."""
    import numpy as np

    return {name: columns.get(name, np.full(n, math.nan)) for name in names}


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
