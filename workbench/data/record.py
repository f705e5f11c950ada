"""Record a live system: ask it every case and keep all that comes back, so that it can be scored as often as one likes.

A recording is a JSON-lines file: each row has the fields of its case, what the system answered, ``latency_ms`` and,
when it failed, ``error``. Rows are appended as they come; an interrupted recording goes on where it stopped. Beside it
stands a manifest with the configuration, without any key.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import os
import platform
import queue
import random
import re
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from workbench.data.fields import Unreadable
from workbench.data.fields import contexts as read_contexts
from workbench.data.files import JsonLines, guard_client_loggers, hidden, public_url, redacted, write_bytes, write_text
from workbench.data.schema import SAMPLE_FIELDS, SampleSet, none_if_missing
from workbench.errors import CancelledError, InputError

# ------------------------------------------------------------------------------
# A run file that grows by one whole line at a time and survives being killed.


class RunFile:
    """``out``: JSON lines, one a case, each on disk before the next is asked.

    Opening repairs a last line that was torn by a kill, and reads which samples are recorded. The file belongs to one
    recording at a time. ``forget_errors``: rows with an error are taken out, so that they are asked again.

    Attributes
    ----------
    recorded
        Sample id → whether it was recorded without an error.

    Raises
    ------
    InputError
        When the place cannot be written, or the file holds something else than recorded rows.
    """

    def __init__(self, path: Path, *, forget_errors: bool = False) -> None:
        self.recorded: dict[str, bool] = {}
        self._lines = JsonLines(path, ascii=False)
        try:
            content = path.read_bytes() if path.exists() else b""
            whole = b"".join(line + b"\n" for line in self._kept(content.split(b"\n"), forget_errors))
            if whole != content:
                write_bytes(path, whole)
            self._lines.append()
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror}); choose another place") from error

    def _kept(self, lines: list[bytes], forget_errors: bool) -> Iterator[bytes]:
        """The lines that stay; a torn last one does not."""
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError:
                if number == len(lines):
                    continue
                row = None
            if not isinstance(row, dict) or "sample_id" not in row:
                what = f"line {number} is no recorded row; choose another file for the recording"
                raise InputError(f"{self._lines.path}: {what}")
            if not forget_errors or row.get("error") is None:
                self.recorded[str(row["sample_id"])] = row.get("error") is None
                yield line

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one row and wait until it is on disk."""
        self._lines.append(row)
        self.recorded[str(row["sample_id"])] = row.get("error") is None

    @property
    def n_errors(self) -> int:
        """Rows with an error."""
        return sum(not fine for fine in self.recorded.values())


# ------------------------------------------------------------------------------
# Requests made from a template, and answers read by paths.
#
# A template is any JSON value. A string that is exactly ``"{field}"`` becomes the case's value with its type; ``{field}``
# inside a longer string becomes text; ``${NAME}`` is an environment variable. A path is ``$.a.b[0].c`` or ``a.b[*].c``,
# where ``[*]`` collects over a list.


_SLOT = re.compile(r"\$\{(?P<env>\w+)\}|\{(?P<field>\w+)\}")
_STEP = re.compile(r"\.?(?P<key>[^.\[\]]+)|\[(?P<index>\*|-?\d+|'[^']*'|\"[^\"]*\")\]")


class Template:
    """A template made ready.

    Parameters
    ----------
    value
        The template.
    fields
        Names that cases may have.

    Raises
    ------
    InputError
        For a field that no case has, or an environment variable that is not set.
    """

    def __init__(self, value: Any, fields: Iterable[str] | None) -> None:
        self.value = value
        self.secrets: list[str] = []
        self._fields = None if fields is None else frozenset(fields)
        _walk(value, self._check)

    def filled(self, case: Mapping[str, Any]) -> Any:
        """The template with the values of ``case``; a field that it lacks is null."""
        return _walk(self.value, lambda text: self._fill(text, case))

    def _check(self, text: str) -> str:
        for match in _SLOT.finditer(text):
            if match["env"] is not None:
                value = os.environ.get(match["env"])
                if value is None:
                    raise InputError(f"template {text!r}: the environment variable {match['env']} is not set")
                self.secrets.append(value)
            elif self._fields is not None and match["field"] not in self._fields:
                known = ", ".join(sorted(self._fields)[:12])
                raise InputError(f"template {text!r}: no case has a field {match['field']!r}; known are {known}")
        return text

    def _fill(self, text: str, case: Mapping[str, Any]) -> Any:
        whole = _SLOT.fullmatch(text)
        if whole is not None and whole["field"] is not None:
            return case.get(whole["field"])

        def as_text(match: re.Match[str]) -> str:
            """A field or variable inside a longer text: nothing for null, JSON for what is no text."""
            value = os.environ.get(match["env"]) if match["env"] is not None else case.get(match["field"])
            return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)

        return _SLOT.sub(as_text, text)


def _walk(value: Any, change: Callable[[str], Any]) -> Any:
    """``value`` with every string in it (not the keys) passed through ``change``."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {str(key): _walk(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_walk(item, change) for item in value]
    return value


def at_path(value: Any, path: str) -> Any:
    """What stands at ``path`` in ``value``; None where there is nothing.

    >>> at_path({"docs": [{"id": 1}, {"id": 2}]}, "$.docs[*].id")
    [1, 2]
    """
    steps: list[Any] = []
    for match in _STEP.finditer(path.removeprefix("$")):
        key, index = match["key"], match["index"]
        steps.append(key if index is None else None if index == "*" else index[1:-1] if index[0] in "'\"" else int(index))
    return _follow(value, steps)


def _follow(value: Any, steps: list[Any]) -> Any:
    """What lies behind keys and list indices; None collects over a list."""
    for at, step in enumerate(steps):
        if step is None:
            items = value if isinstance(value, list) else []
            return [_follow(item, steps[at + 1 :]) for item in items]
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and -len(value) <= step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


def checked_path(path: Any) -> str:
    """``path`` if it can be read to its end.

    Raises ``InputError`` when it is no path.
    """
    body = path.removeprefix("$") if isinstance(path, str) else ""
    if not body or "".join(match[0] for match in _STEP.finditer(body)) != body:
        raise InputError(f"response path {path!r} cannot be read; write it like $.data.answer or $.docs[*]")
    return str(path)


# ------------------------------------------------------------------------------
# Asking a function or a service over HTTP, and reading what comes back.


#: Longest reply that is read, in bytes.
LONGEST_REPLY = 64 * 1024 * 1024
#: What of a reply is kept.
RECORDED = ("answer", "contexts", "citations", "refused", "usage", "logprobs", "sampled_answers", "error")
#: Parameters of a function that get the question though they have another name.
_QUESTION_NAMES = frozenset(
    ("question", "query", "q", "prompt", "text", "user_input", "message", "input", "query_text")
)


class ServiceError(Exception):
    """A request without a usable reply. ``retry``: worth another try, after ``wait`` seconds if the service said so."""

    def __init__(self, message: str, *, retry: bool = False, wait: float | None = None) -> None:
        super().__init__(message)
        self.retry = retry
        self.wait = wait


Ask = Callable[[Mapping[str, Any]], Awaitable[Any]]


def from_function(call: Callable[..., Any], timeout: float) -> Ask:
    """A way of asking ``call``, which may be a coroutine function; a plain one runs in a thread of its own.

    Parameters named after a field of the case get that field, ``query``, ``q``, ``prompt`` … get the question, any
    other parameter the whole case as a dict.
    """

    waits = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)

    async def ask(case: Mapping[str, Any]) -> Any:
        """One case asked; a time-out or a lost connection is worth another try."""
        arguments = arguments_for(call, case)
        called = partial(call, **arguments) if isinstance(arguments, dict) else partial(call, arguments[0])
        try:
            async with asyncio.timeout(timeout):
                result = called() if waits else await in_thread(called)
                return await result if inspect.isawaitable(result) else result
        except TimeoutError:
            raise ServiceError(f"timeout: no reply within {timeout:g} s", retry=True) from None
        except ConnectionError as error:
            raise ServiceError(f"{type(error).__name__}: {error}", retry=True) from error

    return ask


def arguments_for(call: Callable[..., Any], case: Mapping[str, Any]) -> dict[str, Any] | tuple[Any]:
    """What ``call`` gets of a case: keyword arguments by name, or the one positional argument."""
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return (dict(case),)
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    positional = [p for p in parameters if p.kind is p.POSITIONAL_ONLY]
    if positional or not named:
        return (case["question"] if positional and positional[0].name in _QUESTION_NAMES else dict(case),)
    wanted = [p.name for p in named if p.default is p.empty or p.name in case] or [named[0].name]
    return {name: case.get(name, case["question"] if name in _QUESTION_NAMES else dict(case)) for name in wanted}


async def in_thread(work: Callable[[], Any]) -> Any:
    """The result of ``work()`` in a daemon thread: one that never returns keeps nobody from leaving."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def tell(set_outcome: Callable[[Any], None], value: Any) -> None:
        """Hand over the outcome, unless nobody waits any more."""
        if not future.done():
            set_outcome(value)

    def work_and_tell() -> None:
        """In the thread: the outcome goes to the loop, if that is still open."""
        try:
            outcome: tuple[Callable[[Any], None], Any] = (future.set_result, work())
        except Exception as error:  # noqa: BLE001 - raised again where the result is awaited
            outcome = (future.set_exception, error)
        if not loop.is_closed():
            loop.call_soon_threadsafe(tell, *outcome)

    threading.Thread(target=work_and_tell, name="workbench-record", daemon=True).start()
    return await future


class HttpService:
    """One endpoint: JSON in by POST, JSON out. Redirects are errors: followed, they would carry the headers elsewhere."""

    def __init__(self, endpoint: str, request: Template, headers: Template, timeout: float) -> None:
        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"endpoint {public_url(endpoint)!r}: write a whole http:// or https:// address")
        self._endpoint, self._request, self._headers, self._timeout = endpoint, request, headers, timeout
        self._client: Any = None
        self.secrets = [*request.secrets, *headers.secrets, *(str(v) for v in (headers.value or {}).values())]
        self.secrets += [text for text in (parts.password, parts.query) if text]
        guard_client_loggers(self.secrets)

    async def ask(self, case: Mapping[str, Any]) -> Any:
        """The decoded reply.

        Raises
        ------
        ServiceError
            Its message holds no header, key or address with credentials.
        """
        import httpx

        if self._client is None:
            self._client = httpx.AsyncClient(timeout=self._timeout, limits=httpx.Limits(max_connections=None))
        body = json.dumps(self._request.filled(case), ensure_ascii=False).encode("utf-8", "replace")
        headers = {"Content-Type": "application/json", "Accept": "application/json", **self._headers.filled(case)}
        try:
            async with (
                asyncio.timeout(self._timeout * 1.5 + 1),
                self._client.stream("POST", self._endpoint, content=body, headers=headers) as reply,
            ):
                return await _decoded(reply)
        except (TimeoutError, httpx.TimeoutException):
            raise ServiceError(f"timeout: no reply within {self._timeout:g} s", retry=True) from None
        except ServiceError as error:
            raise ServiceError(redacted(str(error), self.secrets), retry=error.retry, wait=error.wait) from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            message = redacted(f"connection: {type(error).__name__}: {error}", self.secrets)
            raise ServiceError(message, retry=True) from None

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()


async def _decoded(reply: Any) -> Any:
    """The JSON of a reply; ``ServiceError`` for another status, a reply that is too long or none of JSON."""
    content = b""
    async for piece in reply.aiter_bytes():
        content += piece
        if len(content) > LONGEST_REPLY:
            raise ServiceError(f"the reply is longer than {LONGEST_REPLY} bytes")
    if not 200 <= reply.status_code < 300:
        detail = " ".join(content[:300].decode("utf-8", "replace").split())[:200]
        try:
            wait = float(reply.headers.get("Retry-After", ""))
        except ValueError:
            wait = None
        retry = reply.status_code in (408, 425, 429) or reply.status_code >= 500
        raise ServiceError(f"HTTP {reply.status_code}: {detail}", retry=retry, wait=wait)
    try:
        return json.loads(content)
    except ValueError:
        start = content[:60].decode("utf-8", "replace")
        raise ServiceError(f"the reply is no JSON: {start!r}") from None


class Reader:
    """From a reply to what is recorded.

    Parameters
    ----------
    mapping
        Our field → path in the reply; ``"contexts.text"`` and the like → path inside one context. None: the reply has
        our own names (``answer, contexts[{id, text, score}], citations, refused``), or is the answer itself.
    """

    def __init__(self, mapping: Mapping[str, str] | None) -> None:
        self._paths: dict[str, str] = {}
        self._inner: dict[str, str] = {}
        for name, path in (mapping or {}).items():
            field, _, inner = name.replace("[]", "").partition(".")
            if field not in RECORDED or (inner and field != "contexts"):
                raise InputError(f"response: unknown field {name!r}; known are {', '.join(RECORDED)}, contexts.text …")
            (self._inner if inner else self._paths)[inner or field] = checked_path(path)

    def read(self, reply: Any) -> dict[str, Any]:
        """The recorded fields of ``reply``.

        Raises ``ServiceError`` when it has no answer in the place where it should be.
        """
        if isinstance(reply, str) and not self._paths:
            return {"answer": reply}
        if not isinstance(reply, Mapping):
            raise ServiceError(f"the reply is no JSON object but {type(reply).__name__}; name paths with response=")
        found = self._found(reply)
        if "answer" not in found and found.get("error"):
            return {"answer": None, "error": str(found["error"])[:500]}
        if "answer" not in found:
            keys = ", ".join(str(key) for key in list(reply)[:8])
            raise ServiceError(f"the reply has no answer (it has: {keys}); name its path with response=")
        if found["answer"] is not None and not isinstance(found["answer"], str):
            raise ServiceError(f"the answer is no text but {type(found['answer']).__name__}")
        if found.get("contexts") is not None:
            found["contexts"] = self._contexts(found["contexts"])
        return found

    def _found(self, reply: Mapping[str, Any]) -> dict[str, Any]:
        plain = {name: reply[name] for name in RECORDED if name in reply}
        mapped = {name: at_path(reply, path) for name, path in self._paths.items()}
        return plain | {name: value for name, value in mapped.items() if value is not None or name not in plain}

    def _contexts(self, value: Any) -> list[dict[str, Any]]:
        if self._inner and isinstance(value, list):
            value = [{name: at_path(item, path) for name, path in self._inner.items()} for item in value]
        try:
            return read_contexts(value) or []
        except Unreadable as error:
            raise ServiceError(f"the contexts of the reply cannot be read: {error}") from None


# ------------------------------------------------------------------------------
# A coroutine in a thread and loop of its own, read as a plain iterator.
#
# So a judge works in a script, in a notebook and inside a running loop alike, and nothing patches anybody's loop.


Put = Callable[[Any], None]

_END = object()


def iterate(work: Callable[[Put], Coroutine[Any, Any, None]]) -> Iterator[Any]:
    """Yield what ``work(put)`` puts, as it comes; raise what it raises after everything that it had put.

    When the iterator is closed early the coroutine is cancelled and its thread joined.
    """
    results: queue.SimpleQueue[Any] = queue.SimpleQueue()
    ready = threading.Event()
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]] = []
    raised: list[Exception] = []

    async def main() -> None:
        """In the loop: make the task known, so that it can be cancelled, and work."""
        task = asyncio.current_task()
        assert task is not None
        running.append((asyncio.get_running_loop(), task))
        ready.set()
        await work(results.put)

    def run() -> None:
        """In the thread: whatever happens, the reader gets an end."""
        try:
            with suppress(asyncio.CancelledError):  # whoever reads has stopped reading, and needs not be told
                asyncio.run(main())
        except Exception as error:  # noqa: BLE001 - handed to the thread that reads, which raises it
            raised.append(error)
        finally:
            ready.set()
            results.put(_END)

    thread = threading.Thread(target=run, name="workbench-worker", daemon=True)
    thread.start()
    ready.wait()
    try:
        while (item := results.get()) is not _END:
            yield item
    finally:
        if running and thread.is_alive():
            loop, task = running[0]
            with suppress(RuntimeError):  # the loop may close between the check and the call
                loop.call_soon_threadsafe(task.cancel)
        thread.join()
    if raised:
        raise raised[0]


# ------------------------------------------------------------------------------
# The recording.


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
    given: Sequence[str] = (),
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
        Templates (see :mod:`workbench.data.record`); ``${NAME}`` is read from the environment. Default body:
        ``question`` and ``query``, ``tenant_id``, and the plain entries of ``config``.
    response
        Path of our field: ``{"answer": "$.data.reply", "contexts": "$.docs", "contexts.text": "body"}``.
    concurrency, timeout, retries
        Requests at once; seconds for one; further tries on 429 (as ``Retry-After`` says), 5xx, lost connections, time-outs.
    config
        Free key–values about the system (``top_k``, model, prompt version), written to the manifest; scoring takes them over.
    progress
        Called with (done, total, errors) after each case.
    retry_errors
        Ask the cases again whose row has an error.
    given
        Fields that usually come back and that these cases bring: ``("contexts",)`` asks a generator alone.

    Raises
    ------
    InputError
        For cases or options that cannot be used, or an ``out`` recorded with another configuration.
    CancelledError
        When ``cancelled()`` turned true; what was recorded stays.
    """
    rows = _cases(cases, given)
    plan = _plan(rows, call, endpoint, request, response, headers, config, timeout)
    for option, value, lowest in (("concurrency", concurrency, 1), ("retries", retries, 0), ("timeout", timeout, 0.01)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not lowest <= value < math.inf:
            raise InputError(f"record: {option} is {value!r}; use a number from {lowest:g} on")
    path = Path(out)
    limits = {"concurrency": concurrency, "timeout": timeout, "retries": retries}
    manifest = _Manifest(path, plan.described, len(rows), limits)
    manifest.check()
    file = RunFile(path, forget_errors=retry_errors)
    waiting = [row for row in rows if row["sample_id"] not in file.recorded]
    manifest.write(file, finished=False)
    try:
        _ask_all(waiting, plan, file, int(concurrency), int(retries), len(rows), progress, cancelled)
    finally:
        manifest.write(file, finished=True)
    return Recording(path, manifest.path, len(rows), len(waiting), len(rows) - len(waiting), file.n_errors)


def _cases(cases: Any, given: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Each case as a dict with ``sample_id`` and ``question`` first, without what only a recording has."""
    if not isinstance(cases, SampleSet):
        from workbench.data.load import load_samples

        cases = load_samples(cases)
    frame = cases.frame.drop(columns=[name for name in OUTCOME if name in cases.frame.columns and name not in given])
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
    described: dict[str, Any]
    service: HttpService | None = None


def _plan(
    rows: Sequence[Mapping[str, Any]], call: Any, endpoint: str | None, request: Any,
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
        return _Plan(from_function(call, timeout), reader, {"call": name, **described})
    if request is None:
        plain = {key: value for key, value in hidden(config).items() if isinstance(value, str | int | float | bool)}
        request = {**DEFAULT_REQUEST, **{key: value for key, value in plain.items() if (config or {})[key] == value}}
    elif isinstance(request, str):
        try:
            request = json.loads(request)
        except ValueError as error:
            raise InputError(f"request template: not valid JSON ({error})") from error
    fields = {*SAMPLE_FIELDS, *(key for row in rows for key in row)}
    service = HttpService(endpoint, Template(request, fields), Template(dict(headers or {}), fields), timeout)
    described |= {"endpoint": public_url(endpoint), "request": request, "headers": hidden(headers)}
    return _Plan(service.ask, reader, described, service)


def _ask_all(
    waiting: Sequence[Mapping[str, Any]], plan: _Plan, file: RunFile, concurrency: int, retries: int, n_cases: int,
    progress: Progress | None, cancelled: Callable[[], bool] | None,
) -> None:  # fmt: skip
    """Ask in a loop of its own; each row is on disk before it is counted."""
    report = progress or (lambda done, total, errors: None)
    done = n_cases - len(waiting)
    report(done, n_cases, file.n_errors)
    replies = iterate(lambda put: _workers(waiting, plan, concurrency, retries, put))
    for row in replies:
        file.append(row)
        done += 1
        report(done, n_cases, file.n_errors)
        if cancelled is not None and cancelled():
            replies.close()  # type: ignore[attr-defined]
            raise CancelledError(f"cancelled after {done} of {n_cases} cases; run it again to go on")


async def _workers(waiting: Sequence[Mapping[str, Any]], plan: _Plan, concurrency: int, retries: int, put: Put) -> None:
    cases: Iterator[Mapping[str, Any]] = iter(waiting)

    async def work() -> None:
        for case in cases:
            put(await _recorded(case, plan, retries))

    try:
        await asyncio.gather(*(work() for _ in range(min(concurrency, len(waiting)))))
    finally:
        if plan.service is not None:
            await plan.service.close()


async def _recorded(case: Mapping[str, Any], plan: _Plan, retries: int) -> dict[str, Any]:
    """The row of one case: an error is a state of the row, and never of the recording."""
    tried = 0
    while True:
        started = time.monotonic()
        wait = None
        try:
            reply = await plan.ask(dict(case))
            latency = time.monotonic() - started
            found = plan.reader.read(reply)
        except ServiceError as error:
            latency = time.monotonic() - started
            found = {"answer": None, "error": str(error)}
            wait = _wait(error, tried) if error.retry and tried < retries else None
        except Exception as error:  # noqa: BLE001 - whatever the user's function raises belongs to this case alone
            latency = time.monotonic() - started
            message = redacted(f"{type(error).__name__}: {error}", plan.service.secrets if plan.service else ())
            found = {"answer": None, "error": " ".join(message.split())[:500]}
        if wait is None:
            kept = {name: value for name, value in found.items() if value is not None or name == "answer"}
            return {**case, **kept, "latency_ms": round(latency * 1000, 3)}
        tried += 1
        await asyncio.sleep(wait)


def _wait(error: ServiceError, tried: int) -> float:
    """Seconds before the next try: what the service asked for, else .5, 1, 2 … with jitter."""
    if error.wait is not None and math.isfinite(error.wait) and error.wait >= 0:
        return min(error.wait, LONGEST_WAIT)
    return min(LONGEST_WAIT, 0.5 * 2**tried * random.uniform(0.75, 1.0))


class _Manifest:
    """``RUN.manifest.json`` beside ``RUN.jsonl``: what was asked, how, when, with which configuration."""

    def __init__(self, out: Path, described: Mapping[str, Any], n_cases: int, limits: Mapping[str, Any]) -> None:
        self.path = out.with_name(f"{out.stem}.manifest.json")
        self._out, self._n_cases, self._limits = out, n_cases, limits
        self._described = json.loads(json.dumps(described, default=str))
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

        now = datetime.now(UTC).isoformat(timespec="seconds")
        content = {
            "format": 1, "run": self._out.name, "started": self._started, "updated": now, **self._described,
            **self._limits, "n_cases": self._n_cases, "n_rows": len(file.recorded), "n_errors": file.n_errors,
            "complete": finished and len(file.recorded) >= self._n_cases,
            "workbench": workbench.__version__, "python": platform.python_version(),
        }  # fmt: skip
        write_text(self.path, json.dumps(content, ensure_ascii=False, indent=2) + "\n")
