"""Degradation alerts: what a rule is, when it fires and when it clears.

A rule compares one statistic of each window with the baseline, by an **absolute** change (in the statistic's own unit)
or by one **relative** to the baseline; which of the two is always named. It fires once and clears once:

* it fires when the window has ``min_n`` values, its statistic is beyond the *limit* (baseline and the whole change),
  and the sequential test below has rejected that nothing happened;
* it clears when a window of ``min_n`` values is back within the *clear level* (baseline, ``clear`` times the change).

**The sequential test** is a Shiryaev–Roberts e-detector (Shin, Ramdas and Rinaldo, "E-detectors: a nonparametric
framework for sequential change detection", 2023) on single requests, not on windows that overlap. Null hypothesis: the
statistic is no worse than the clear level. With y in [0, 1] whose mean is at most m under it (refused or not; slower
than the clear level or not; the score turned so that high is bad), each request pays e = 1 + b (y − m) / m for seven
bets b in (0, 1), and M ← (M + 1) e, averaged over the bets. As E[M after t] ≤ t without a degradation, P(M reached c
within t requests) ≤ t / c and the mean time to a false alarm is at least c requests for each rule, whenever one looks.
``false_alarm_every`` is c. It holds for requests whose expectation given the past is no worse than the clear level, so
for a baseline that is representative; traffic that changes with the hour needs a baseline that spans whole days.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import math
import queue
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from workbench.data.files import Secret, guard_client_loggers
from workbench.diagnosis.query_log import Statistic, counted
from workbench.errors import InputError
from workbench.language import has_text, numbers
from workbench.language import text as _t

# ------------------------------------------------------------------------------
# Bringing alerts to somebody: a callback or a webhook, in a thread of its own that never harms the service.
#
# Nothing here waits for a receiver in the thread that serves requests and nothing raises into it. An address may hold a
# secret in its path, query or user part, so messages name only its host.


_log = logging.getLogger(__name__)

#: Alerts that wait for a slow receiver; more are dropped and counted.
WAITING = 100


class Webhook:
    """POST each alert as JSON to an ``http`` or ``https`` address; redirects are not followed.

    Parameters
    ----------
    url
        Where to. It is not shown again, only its host is.
    timeout
        Seconds for one try.
    headers
        Additional headers, e.g. an ``Authorization``; they are not shown either.
    tries
        How often one alert is tried, from 1 on.

    Raises
    ------
    InputError
        For another scheme, an address without a host, or a time-out that is not positive.
    """

    def __init__(
        self, url: str, *, timeout: float = 5.0, headers: Mapping[str, str] | None = None, tries: int = 2
    ) -> None:
        self.place = _place(url)
        if not 0 < timeout < math.inf:
            raise InputError(f"webhook: timeout {timeout!r} is not a positive number of seconds")
        if tries < 1:
            raise InputError(f"webhook: tries {tries!r} is not a whole number from 1 on")
        self._url = Secret(url)
        self._headers = {name: Secret(value) for name, value in (headers or {}).items()}
        self._timeout, self._tries = timeout, tries
        parts = urlsplit(url)
        guard_client_loggers([url, f"{parts.path}?{parts.query}" if parts.query else parts.path, parts.query,
                              *(headers or {}).values()])  # fmt: skip

    def __repr__(self) -> str:
        return f"Webhook({self.place!r})"

    def __call__(self, alert: Alert) -> None:
        """Send one alert; an ``OSError`` names the host and what went wrong, never the address."""
        body = json.dumps(alert.to_dict(), ensure_ascii=False).encode("utf-8")
        problem = ""
        for _ in range(self._tries):
            try:
                status = self._post(body)
            except Exception as error:  # noqa: BLE001
                # The error's own text may hold the address: only its kind is told.
                problem = type(error).__name__
                continue
            if status < 300:
                return
            problem = f"answered HTTP {status}"
            if status < 500 and status != 429:
                break
        raise OSError(f"webhook at {self.place}: {problem}")

    def _post(self, body: bytes) -> int:
        """The status of the answer; through the proxies of the environment, redirects not followed."""
        import httpx

        headers = {"Content-Type": "application/json"} | {name: secret.value for name, secret in self._headers.items()}
        with httpx.stream("POST", self._url.value, content=body, headers=headers, timeout=self._timeout) as reply:
            return reply.status_code


def _place(url: str) -> str:
    """Scheme and host, checked."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except (ValueError, AttributeError):
        raise InputError("webhook: the address cannot be read; give one like https://host/path") from None
    if parts.scheme not in ("http", "https") or not host or not url.isprintable() or " " in url:
        raise InputError("webhook: only http:// and https:// addresses with a host are allowed")
    if parts.username is not None or parts.password is not None:
        raise InputError("webhook: user and password in the address are not sent; use headers={'Authorization': …}")
    return f"{parts.scheme}://{host}" + (f":{port}" if port else "")


class Dispatcher:
    """Calls receivers one after the other in a daemon thread; a full queue drops and counts.

    Attributes
    ----------
    sent, failed, dropped
        Deliveries that went well, that raised (logged without the address), that found the queue full.
    """

    def __init__(self, *receivers: Callable[[Alert], Any]) -> None:
        self.sent = self.failed = self.dropped = 0
        self._receivers = receivers
        self._queue: queue.Queue[Alert | None] = queue.Queue(WAITING)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def put(self, alert: Alert) -> None:
        """Hand over one alert; returns at once and never raises."""
        if not self._receivers:
            return
        try:
            self._queue.put_nowait(alert)
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="alerts", daemon=True)
                    self._thread.start()
        except (queue.Full, RuntimeError) as error:
            self.dropped += 1
            _log.warning("an alert was not handed over (%s)", type(error).__name__)

    def close(self, timeout: float = 5.0) -> bool:
        """Wait at most ``timeout`` seconds for what is queued; whether all of it went out."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is None:
            return True
        try:
            self._queue.put(None, timeout=timeout)
        except queue.Full:
            return False
        thread.join(timeout)
        return not thread.is_alive()

    def _run(self) -> None:
        while (alert := self._queue.get()) is not None:
            for receiver in self._receivers:
                self._deliver(receiver, alert)

    def _deliver(self, receiver: Callable[[Alert], Any], alert: Alert) -> None:
        try:
            receiver(alert)
        except Exception as error:  # noqa: BLE001
            # Whatever a receiver does, the next alert and the service go on.
            self.failed += 1
            known = isinstance(receiver, Webhook)
            _log.warning("an alert could not be delivered: %s", error if known else type(error).__name__)
        else:
            self.sent += 1


# ------------------------------------------------------------------------------
# Rules and the levels that they compare with.


KINDS = ("absolute", "relative")
FIRED, CLEARED = "fired", "cleared"
#: Shares of the largest possible stake that the test bets.
BETS = np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 0.95])
#: The evidence is kept at most this many times above what is needed, so that it also falls soon after a recovery.
_CAP = 10.0
#: Products are cut here: far beyond any evidence that is needed, and their sum is still finite.
_MOST_LOG = 600.0


@dataclass(frozen=True)
class Rule:
    """When one statistic counts as degraded.

    Parameters
    ----------
    statistic
        ``latency_p50``, ``latency_p95``, ``latency_p99`` (ms), ``refusal_rate``, ``error_rate``, or a score's name.
    change
        How much worse than the baseline is too much: in the statistic's unit when absolute (0.05 = five percentage
        points of a rate, 300 = 300 ms), as a share of the baseline when relative (0.5 = half as much again). From 0 on.
    kind
        ``"absolute"`` or ``"relative"``.
    worse
        ``"up"`` or ``"down"``; by default the statistic's own bad direction.
    clear
        Share of the change within which the alert clears, in [0, 1).
    min_n
        Finite values that a window (and the baseline) needs before anything is said; from 1 on.
    false_alarm_every
        Requests between two false alarms of this rule on average, at least; see the module.
    """

    statistic: str
    change: float
    kind: str
    worse: str | None = None
    clear: float = 0.5
    min_n: int = 30
    false_alarm_every: float = 100_000

    def __post_init__(self) -> None:
        checks = {
            f"kind {self.kind!r} is not known; use absolute or relative": self.kind in KINDS,
            f"change {self.change!r} is no number from 0 on": _is_number(self.change) and self.change >= 0,
            f"worse {self.worse!r} is not known; use up or down": self.worse in (None, "up", "down"),
            f"clear {self.clear!r} is not in [0, 1)": _is_number(self.clear) and 0 <= self.clear < 1,
            f"min_n {self.min_n!r} is no whole number from 1 on": isinstance(self.min_n, int) and self.min_n >= 1,
            f"false_alarm_every {self.false_alarm_every!r} is no number above 1": self.false_alarm_every > 1,
        }
        for message, fine in checks.items():
            if not fine:
                raise InputError(f"rule for {self.statistic}: {message}")

    def replace(self, **changes: Any) -> Rule:
        """The rule with other values."""
        return dataclasses.replace(self, **changes)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


#: Statistic → (change, kind, min_n) of the default rules; every score falls under "".
_DEFAULTS: dict[str, tuple[float, str, int]] = {
    "latency_p50": (0.25, "relative", 30),
    "latency_p95": (0.5, "relative", 100),
    "refusal_rate": (0.05, "absolute", 50),
    "error_rate": (0.03, "absolute", 50),
    "": (0.04, "absolute", 30),
}


def default_rules(statistics: Iterable[Statistic]) -> list[Rule]:
    """One rule a statistic that has a bad direction; none for the 99th percentile, which few windows can carry."""
    found = []
    for item in statistics:
        if item.worse is None or item.name == "latency_p99":
            continue
        change, kind, min_n = _DEFAULTS.get(item.name, _DEFAULTS[""])
        found.append(Rule(item.name, change, kind, min_n=min_n))
    return found


@dataclass(frozen=True)
class Level:
    """A statistic of the baseline: its value with a 95 % interval, from ``n`` finite values in ``[least, most]``; ``given``:
    a number that somebody said."""

    value: float
    low: float
    high: float
    n: int
    n_missing: int = 0
    n_non_finite: int = 0
    least: float = 0.0
    most: float = 1.0
    given: bool = False


def level_of(statistic: Statistic, values: NDArray[np.float64]) -> Level:
    """The level of a baseline's column, shape (n,); NaN everywhere for no finite value."""
    found = counted(values)
    low, high = statistic.interval(found.values)
    scale = found.values if statistic.kind == "mean" else found.values[:0]
    least, most = min(0.0, float(scale.min(initial=0.0))), max(1.0, float(scale.max(initial=1.0)))
    return Level(statistic.value(found.values), low, high, len(found.values), found.n_missing, found.n_non_finite,
                 least, most)  # fmt: skip


class Detector:
    """The e-detector of the module's text for values y in [0, 1] with mean at most ``mean`` under the null."""

    def __init__(self, mean: float, needed: float) -> None:
        self._stakes = BETS / mean
        self._mean = mean
        self._needed = needed
        self._sums = np.zeros(len(BETS))

    @property
    def evidence(self) -> float:
        """M / c: from 1 on the null is rejected."""
        return float(self._sums.mean() / self._needed)

    def update(self, values: NDArray[np.float64]) -> float:
        """Take in y, shape (n,), and return the evidence. M is computed for the last of them, in closed form."""
        if len(values):
            growth = np.log1p(self._stakes[:, None] * (values - self._mean))
            # log of Π e from each request to the last one, and of Π over all
            tails = np.exp(np.minimum(np.cumsum(growth[:, ::-1], axis=1), _MOST_LOG))
            self._sums = np.minimum(tails.sum(axis=1) + self._sums * tails[:, -1], _CAP * self._needed)
        return self.evidence

    def restart(self) -> None:
        """Forget what was seen."""
        self._sums = np.zeros(len(BETS))


@dataclass(frozen=True)
class Alert:
    """A rule that fired or cleared: where, by which number, against what.

    ``at``, ``start`` and ``end`` are seconds since 1970 (NaN without times); ``row`` is the last request's number;
    ``change`` is value − baseline, in per cent of the baseline's value when the rule is relative (0.5 = 50 %).
    """

    statistic: str
    state: str
    kind: str
    worse: str
    row: int
    at: float
    start: float
    value: float
    n: int
    n_non_finite: int
    baseline: float
    baseline_n: int
    limit: float
    clear_level: float
    change: float
    allowed: float
    evidence: float

    @property
    def message(self) -> str:
        """One sentence in the language in force."""
        name, limit = self.statistic, self.limit if self.state == FIRED else self.clear_level
        return _t(f"monitoring.message.{self.state}", statistic=statistic_title(name), at=when(self.at, self.row),
                  value=value_text(name, self.value), n=f"{self.n:,}", baseline=value_text(name, self.baseline),
                  change=self.change_text, limit=value_text(name, limit))  # fmt: skip

    @property
    def change_text(self) -> str:
        """The change with its kind in words: "+53 % relative to the baseline", "+11.2 points (absolute)"."""
        return change_text(self.statistic, self.kind, self.change)

    def to_dict(self) -> dict[str, Any]:
        """All fields as JSON can hold them (None for NaN), times as ISO 8601, and the sentence."""
        found = {key: None if isinstance(value, float) and not math.isfinite(value) else value
                 for key, value in dataclasses.asdict(self).items()}  # fmt: skip
        return found | {"at": iso(self.at), "start": iso(self.start), "message": self.message}


def iso(seconds: float) -> str | None:
    """Seconds since 1970 as ISO 8601 in UTC; None for NaN."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds") if math.isfinite(seconds) else None


def when(seconds: float, row: int) -> str:
    """A time for a reader, or the row where there is none."""
    if not math.isfinite(seconds):
        return _t("monitoring.at_row", row=f"{row:,}")
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def statistic_title(name: str) -> str:
    """The readable name of a statistic in the language in force."""
    for key in (f"monitoring.statistics.{name}", f"metrics.{name.partition('@')[0]}.name"):
        if has_text(key):
            return _t(key)
    return name


def value_text(statistic: str, value: float, *, signed: bool = False) -> str:
    """A statistic's value with its unit: ms, per cent, or three decimals; an en dash for none."""
    if not math.isfinite(value):
        return numbers.NOTHING
    if statistic.startswith("latency_"):
        return f"{value:{'+' if signed else ''},.0f} ms"
    write = numbers.percent if statistic.endswith("_rate") else numbers.score
    return write(value, decimals=1 if write is numbers.percent else 3, signed=signed)


def change_text(statistic: str, kind: str, change: float) -> str:
    """A change with its sign, its unit and its kind in words."""
    if not math.isfinite(change):
        return numbers.NOTHING
    if kind == "relative":
        return _t("monitoring.change.relative", change=numbers.percent(change, signed=True))
    if statistic.endswith("_rate"):
        return _t("monitoring.change.points", change=numbers.score(100 * change, decimals=1, signed=True))
    return _t("monitoring.change.absolute", change=value_text(statistic, change, signed=True))


class RuleState:
    """One rule against its baseline, with what it remembers: the evidence so far and whether it is firing.

    ``problem`` says why it cannot fire (a key of the texts ``monitoring.problem``), empty when it can.
    """

    def __init__(self, rule: Rule, statistic: Statistic, level: Level) -> None:
        self.rule, self.statistic, self.level = rule, statistic, level
        self.worse = rule.worse or statistic.worse or "up"
        self._sign = 1.0 if self.worse == "up" else -1.0
        scale = abs(level.value) if rule.kind == "relative" else 1.0
        self.limit = level.value + self._sign * rule.change * scale
        self.clear_level = level.value + self._sign * rule.clear * rule.change * scale
        self.problem = self._problem()
        self.firing: Alert | None = None
        self._detector = None if self.problem else Detector(self._null_mean(), rule.false_alarm_every)

    def _problem(self) -> str:
        if self.level.n < self.rule.min_n and not self.level.given:
            return "baseline"
        if self.rule.kind == "relative" and self.level.value == 0:
            return "zero"
        bounded = self.statistic.kind != "quantile"
        beyond = self.limit >= self.level.most if self.worse == "up" else self.limit <= self.level.least
        return "unreachable" if bounded and beyond else ""

    def _null_mean(self) -> float:
        """The mean of y at the clear level."""
        if self.statistic.kind == "quantile":
            above = 1 - self.statistic.quantile
            return above if self.worse == "up" else 1 - above
        return float(np.clip(self._turned(np.array([self.clear_level]))[0], 1e-3, 1 - 1e-9))

    def _turned(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Finite values as y in [0, 1], high is bad."""
        if self.statistic.kind == "quantile":
            return (self._sign * values > self._sign * self.clear_level).astype(float)
        least, most = self.level.least, self.level.most
        share = np.clip((values - least) / (most - least), 0, 1)
        return share if self.worse == "up" else 1 - share

    def step(self, window: NDArray[np.float64], fresh: NDArray[np.float64], row: int, at: float,
             start: float) -> Alert | None:  # fmt: skip
        """Look at one window, all of its values and those that are new in it."""
        if self._detector is None:
            return None
        evidence = self._detector.update(self._turned(fresh[np.isfinite(fresh)]))
        if self.firing is None and evidence < 1:
            return None
        held = counted(window)
        n, n_non_finite, value = len(held.values), held.n_non_finite, self.statistic.value(held.values)
        if n < self.rule.min_n:
            return None
        clears = self.firing is not None and self._sign * value <= self._sign * self.clear_level
        fires = self.firing is None and self.beyond(value) and evidence >= 1
        if not clears and not fires:
            return None
        scale = abs(self.level.value) if self.rule.kind == "relative" else 1.0
        alert = Alert(
            self.rule.statistic, FIRED if fires else CLEARED, self.rule.kind, self.worse, row, at, start, value, n,
            n_non_finite, self.level.value, self.level.n, self.limit, self.clear_level,
            (value - self.level.value) / scale, self.rule.change, evidence,
        )  # fmt: skip
        self.firing = alert if fires else None
        if clears:
            self._detector.restart()
        return alert

    def beyond(self, value: float) -> bool:
        """Whether a value is beyond the limit; never for NaN."""
        return self._sign * value > self._sign * self.limit


class Watch:
    """Rules against a baseline, stepped window by window; the same for a log and for a live service."""

    def __init__(self, rules: Iterable[Rule], statistics: Iterable[Statistic], levels: Mapping[str, Level]) -> None:
        known = {item.name: item for item in statistics}
        self.rule_states: list[RuleState] = []
        for rule in rules:
            if rule.statistic not in known:
                raise InputError(f"rule for {rule.statistic}: no such statistic here; there are {', '.join(known)}")
            self.rule_states.append(RuleState(rule, known[rule.statistic], levels[rule.statistic]))

    @property
    def firing(self) -> list[Alert]:
        """The alerts that have fired and not cleared."""
        return [item.firing for item in self.rule_states if item.firing is not None]

    def step(self, window: Mapping[str, NDArray[np.float64]], fresh: Mapping[str, NDArray[np.float64]], *, row: int,
             at: float, start: float) -> list[Alert]:  # fmt: skip
        """Look at one window: column → values of all its requests, and of those that are new since the last step."""
        found = []
        for item in self.rule_states:
            column = item.statistic.column
            alert = item.step(window[column], fresh[column], row, at, start)
            if alert is not None:
                found.append(alert)
        return found
