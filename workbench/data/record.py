"""Record a live system: ask it every case and keep all that comes back, so that it can be scored as often as one likes.

A recording is a JSON-lines file: each row has the fields of its case, what the system answered, ``latency_ms`` and,
when it failed, ``error``. Rows are appended as they come; an interrupted recording goes on where it stopped. Beside it
stands a manifest with the configuration, without any key.
"""

from __future__ import annotations

import asyncio
import json
import math
import platform
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from workbench.data.record_file import RunFile
from workbench.data.record_service import Ask, HttpService, Reader, ServiceError, from_function
from workbench.data.record_template import Template, hidden
from workbench.data.redact import public_url, redacted
from workbench.data.runner import Put, iterate
from workbench.data.schema import SAMPLE_FIELDS, SampleSet, none_if_missing
from workbench.errors import CancelledError, InputError

#: Fields that the recording brings; what a case has under these names is left behind.
OUTCOME = ("answer", "contexts", "citations", "refused", "latency_ms", "usage", "error", "logprobs", "sampled_answers")
DEFAULT_REQUEST = {"question": "{question}", "query": "{question}", "tenant_id": "{tenant}"}
#: Longest wait between two tries, in seconds.
LONGEST_WAIT = 60.0

Progress = Callable[[int, int, int], None]


@dataclass(frozen=True)
class Recording:
    """What a recording did.

    Attributes
    ----------
    path, manifest
        The run file and its manifest.
    n_cases, n_recorded, n_kept, n_errors
        Cases in all; asked now; found recorded already; rows of the file with an error.
    """

    path: Path
    manifest: Path
    n_cases: int
    n_recorded: int
    n_kept: int
    n_errors: int


def record(
    cases: Any, call: Callable[..., Any] | None = None, *, endpoint: str | None = None, out: str | Path,
    request: Any = None, response: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None,
    concurrency: int = 8, timeout: float = 60.0, retries: int = 3, config: Mapping[str, Any] | None = None,
    progress: Progress | None = None, cancelled: Callable[[], bool] | None = None, retry_errors: bool = False,
) -> Recording:  # fmt: skip
    """Ask a system every case that ``out`` does not hold yet, and append what it says.

    Parameters
    ----------
    cases
        Anything that ``load_samples`` reads, or a ``SampleSet``.
    call
        A function or coroutine function; parameters get the fields of the case that they are named after
        (``question``, ``tenant`` …), any other parameter the whole case. It returns the answer, or a mapping.
    endpoint
        Address of a service that takes JSON by POST, instead of ``call``.
    request, headers
        Templates (see :mod:`workbench.data.record_template`); ``${NAME}`` is read from the environment. Default body:
        ``question`` and ``query``, ``tenant_id``, and the plain entries of ``config``.
    response
        Path of our field: ``{"answer": "$.data.reply", "contexts": "$.docs", "contexts.text": "body"}``.
    concurrency, timeout, retries
        Requests at once; seconds for one; further tries on 429 (as ``Retry-After`` says), 5xx, lost connections, time-outs.
    config
        Free key–values about the system (``top_k``, model, prompt version), written to the manifest.
    progress
        Called with (done, total, errors) after each case.
    retry_errors
        Ask the cases again whose row has an error.

    Raises
    ------
    InputError
        For cases or options that cannot be used, or an ``out`` recorded with another configuration.
    CancelledError
        When ``cancelled()`` turned true; what was recorded stays.
    """
    rows = _cases(cases)
    plan = _Plan.make(rows, call, endpoint, request, response, headers, config, timeout)
    _check_numbers(concurrency, timeout, retries)
    path = Path(out)
    manifest = _Manifest(path, plan, len(rows), {"concurrency": concurrency, "timeout": timeout, "retries": retries})
    manifest.check()
    file = RunFile(path).open(forget_errors=retry_errors)
    try:
        waiting = [row for row in rows if row["sample_id"] not in file.recorded]
        manifest.write(file, finished=False)
        _ask_all(waiting, plan, file, (concurrency, retries), len(rows), progress, cancelled)
    finally:
        file.close()
        manifest.write(file, finished=True)
    n_errors = sum(not fine for fine in file.recorded.values())
    return Recording(path, manifest.path, len(rows), len(waiting), len(rows) - len(waiting), n_errors)


# ---------------------------------------------------------------- what is asked


def _cases(cases: Any) -> list[dict[str, Any]]:
    """Each case as a dict with ``sample_id`` and ``question`` first, without what only a recording has."""
    if not isinstance(cases, SampleSet):
        from workbench.data.load import load_samples

        cases = load_samples(cases)
    frame = cases.frame.drop(columns=[name for name in OUTCOME if name in cases.frame.columns])
    columns = {name: frame[name].tolist() for name in frame.columns}
    rows = []
    for place, sample_id in enumerate(frame.index.tolist()):
        values = {name: none_if_missing(column[place]) for name, column in columns.items()}
        rows.append({"sample_id": str(sample_id), **{key: value for key, value in values.items() if value is not None}})
    if not rows:
        raise InputError(f"{cases.source or cases.name}: no case could be read; see the rejected rows")
    return rows


@dataclass(frozen=True)
class _Plan:
    """How a case is asked and its reply read; ``described`` is what the manifest says of it."""

    ask: Ask
    reader: Reader
    secrets: Sequence[str]
    described: dict[str, Any]

    @classmethod
    def make(
        cls, rows: Sequence[Mapping[str, Any]], call: Any, endpoint: str | None, request: Any,
        response: Mapping[str, str] | None, headers: Mapping[str, str] | None, config: Mapping[str, Any] | None,
        timeout: float,
    ) -> _Plan:  # fmt: skip
        """The plan for these options; ``InputError`` when they contradict each other or cannot be used."""
        reader = Reader(response)
        described: dict[str, Any] = {"response": dict(response or {}), "config": hidden(config)}
        if (call is None) == (endpoint is None):
            raise InputError("record: give either a function (call=) or an endpoint, not both and not neither")
        if endpoint is None:
            name = getattr(call, "__qualname__", type(call).__name__)
            return cls(from_function(call, timeout), reader, (), {"call": name, **described})
        body = _request(request, config)
        fields = {*SAMPLE_FIELDS, *(key for row in rows for key in row)}
        service = HttpService(endpoint, Template(body, fields), Template(dict(headers or {}), fields), timeout)
        described |= {"endpoint": public_url(endpoint), "request": body, "headers": hidden(headers)}
        return cls(service.ask, reader, service.secrets, described)


def _request(request: Any, config: Mapping[str, Any] | None) -> Any:
    if request is None:
        plain = {key: value for key, value in hidden(config).items() if isinstance(value, str | int | float | bool)}
        return {**DEFAULT_REQUEST, **{key: value for key, value in plain.items() if (config or {})[key] == value}}
    if isinstance(request, str):
        try:
            return json.loads(request)
        except ValueError as error:
            raise InputError(f"request template: not valid JSON ({error})") from error
    return request


def _check_numbers(concurrency: int, timeout: float, retries: int) -> None:
    for name, value, lowest in (("concurrency", concurrency, 1), ("retries", retries, 0), ("timeout", timeout, 0.01)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not lowest <= value < math.inf:
            raise InputError(f"record: {name} is {value!r}; use a number from {lowest:g} on")


# ---------------------------------------------------------------- asking


def _ask_all(
    waiting: Sequence[Mapping[str, Any]], plan: _Plan, file: RunFile, limits: tuple[int, int], n_cases: int,
    progress: Progress | None, cancelled: Callable[[], bool] | None,
) -> None:  # fmt: skip
    """Ask in a loop of its own; each row is on disk before it is counted."""
    report = progress or (lambda done, total, errors: None)
    concurrency, retries = int(limits[0]), int(limits[1])
    done = n_cases - len(waiting)
    report(done, n_cases, _errors(file))
    replies = iterate(lambda put: _workers(waiting, plan, concurrency, retries, put))
    for row in replies:
        file.append(row)
        done += 1
        report(done, n_cases, _errors(file))
        if cancelled is not None and cancelled():
            replies.close()  # type: ignore[attr-defined]
            raise CancelledError(f"cancelled after {done} of {n_cases} cases; run it again to go on")


def _errors(file: RunFile) -> int:
    return sum(not fine for fine in file.recorded.values())


async def _workers(waiting: Sequence[Mapping[str, Any]], plan: _Plan, concurrency: int, retries: int, put: Put) -> None:
    queue: Iterator[Mapping[str, Any]] = iter(waiting)

    async def work() -> None:
        for case in queue:
            put(await _recorded(case, plan, retries))

    await asyncio.gather(*(work() for _ in range(min(concurrency, len(waiting)))))


async def _recorded(case: Mapping[str, Any], plan: _Plan, retries: int) -> dict[str, Any]:
    """The row of one case: an error is a state of the row, and never of the recording."""
    for left in range(retries, -1, -1):
        started = time.monotonic()
        try:
            reply = await plan.ask(dict(case))
            latency = round((time.monotonic() - started) * 1000, 3)
            return _row(case, latency, plan.reader.read(reply))
        except ServiceError as error:
            latency = round((time.monotonic() - started) * 1000, 3)
            if not error.retry or left == 0:
                return _row(case, latency, {"answer": None, "error": str(error)})
            await asyncio.sleep(_wait(error, retries - left))
        except Exception as error:  # noqa: BLE001 - whatever the user's function raises belongs to this case alone
            latency = round((time.monotonic() - started) * 1000, 3)
            message = redacted(f"{type(error).__name__}: {error}", plan.secrets)
            return _row(case, latency, {"answer": None, "error": " ".join(message.split())[:500]})
    raise AssertionError("the loop always returns")


def _wait(error: ServiceError, tried: int) -> float:
    """Seconds before the next try: what the service asked for, else .5, 1, 2 … with jitter."""
    if error.wait is not None and math.isfinite(error.wait) and error.wait >= 0:
        return min(error.wait, LONGEST_WAIT)
    return min(LONGEST_WAIT, 0.5 * 2**tried * random.uniform(0.75, 1.0))


def _row(case: Mapping[str, Any], latency: float, found: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in found.items() if value is not None or name == "answer"}
    return {**case, **kept, "latency_ms": latency}


# ---------------------------------------------------------------- manifest


class _Manifest:
    """``RUN.manifest.json`` beside ``RUN.jsonl``: what was asked, how, when, with which configuration."""

    def __init__(self, out: Path, plan: _Plan, n_cases: int, limits: Mapping[str, Any]) -> None:
        self.path = out.with_name(f"{out.stem}.manifest.json")
        self._out = out
        self._described = json.loads(json.dumps(plan.described, default=str))
        self._n_cases = n_cases
        self._limits = dict(limits)
        self._started = datetime.now(UTC).isoformat(timespec="seconds")

    def check(self) -> None:
        """Refuse to go on with another configuration than the file was begun with."""
        if not (self.path.exists() and self._out.exists() and self._out.stat().st_size):
            return
        try:
            before = json.loads(self.path.read_text(encoding="utf-8"))
            self._started = before.get("started", self._started)
        except (OSError, ValueError, AttributeError):
            return
        described = {key: value for key, value in self._described.items() if key != "call"}
        changed = [key for key, value in described.items() if key in before and before[key] != value]
        if changed:
            raise InputError(f"{self._out}: recorded with another {changed[0]}; choose another file for this run")

    def write(self, file: RunFile, *, finished: bool) -> None:
        """Write it, replacing the one before."""
        import workbench
        from workbench.data.files import write_text

        now = datetime.now(UTC).isoformat(timespec="seconds")
        content = {
            "format": 1, "run": self._out.name, "started": self._started, "updated": now, **self._described,
            **self._limits, "n_cases": self._n_cases, "n_rows": len(file.recorded), "n_errors": _errors(file),
            "complete": finished and len(file.recorded) >= self._n_cases,
            "workbench": workbench.__version__, "python": platform.python_version(),
        }  # fmt: skip
        write_text(self.path, json.dumps(content, ensure_ascii=False, indent=2) + "\n")
