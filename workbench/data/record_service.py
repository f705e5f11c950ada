"""Asking a service over HTTP or a function, and reading what comes back. Standard library only."""

from __future__ import annotations

import asyncio
import base64
import http.client
import inspect
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from workbench.data.contexts import contexts as read_contexts
from workbench.data.record_template import Template, at_path, checked_path
from workbench.data.redact import public_url, redacted
from workbench.data.validate import Unreadable
from workbench.errors import InputError

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


# ---------------------------------------------------------------- functions


def from_function(call: Callable[..., Any], timeout: float) -> Ask:
    """A way of asking ``call``, which may be a coroutine function; a plain one runs in a thread of its own.

    Parameters named after a field of the case get that field, ``query``, ``q``, ``prompt`` … get the question, any
    other parameter the whole case as a dict.
    """

    async def asked(case: Mapping[str, Any]) -> Any:
        """What ``call`` gives for a case, however long it takes."""
        arguments = _arguments(call, case)
        waits = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)

        called = partial(call, **arguments) if isinstance(arguments, dict) else partial(call, arguments[0])
        result = called() if waits else await in_thread(called)
        return await result if inspect.isawaitable(result) else result

    async def ask(case: Mapping[str, Any]) -> Any:
        """What ``call`` gives for a case, within the time; ``ServiceError`` when it is late or out of reach."""
        try:
            async with asyncio.timeout(timeout):
                return await asked(case)
        except TimeoutError:
            raise ServiceError(f"timeout: no reply within {timeout:g} s", retry=True) from None
        except ConnectionError as error:
            raise ServiceError(f"{type(error).__name__}: {error}", retry=True) from error

    return ask


def _arguments(call: Callable[..., Any], case: Mapping[str, Any]) -> dict[str, Any] | tuple[Any]:
    """Keyword arguments by name, or the one positional argument."""
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return (dict(case),)
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    positional = [p for p in parameters if p.kind is p.POSITIONAL_ONLY]
    if positional or not named:
        return (case["question"] if positional and positional[0].name in _QUESTION_NAMES else dict(case),)
    wanted = [p for p in named if p.default is p.empty or p.name in case]
    return {p.name: _value(p.name, case) for p in wanted or named[:1]}


def _value(name: str, case: Mapping[str, Any]) -> Any:
    if name in case:
        return case[name]
    return case["question"] if name in _QUESTION_NAMES else dict(case)


async def in_thread(work: Callable[[], Any]) -> Any:
    """The result of ``work()`` in a daemon thread: one that never returns keeps nobody from leaving."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(set_result: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            set_result(value)

    def work_and_tell() -> None:
        """Work in this thread, and hand the outcome to the loop that waits."""
        try:
            outcome: tuple[Callable[[Any], None], Any] = (future.set_result, work())
        except Exception as error:  # noqa: BLE001 - raised again where the result is awaited
            outcome = (future.set_exception, error)
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=work_and_tell, name="workbench-record", daemon=True).start()
    return await future


# ---------------------------------------------------------------- HTTP


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Redirects are errors: followed, they would carry the headers to another host."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> None:
        """None: not followed."""


class HttpService:
    """One endpoint: JSON in by POST, JSON out."""

    def __init__(self, endpoint: str, request: Template, headers: Template, timeout: float) -> None:
        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"endpoint {public_url(endpoint)!r}: write a whole http:// or https:// address")
        self._endpoint, self._login = _without_login(endpoint)
        self._request = request
        self._headers = headers
        self._timeout = timeout
        self._opener = urllib.request.build_opener(_NoRedirect)
        self.secrets = [*request.secrets, *headers.secrets, *(str(v) for v in (headers.value or {}).values())]
        self.secrets += [text for text in (parts.password, parts.query) if text]

    async def ask(self, case: Mapping[str, Any]) -> Any:
        """The decoded reply.

        Raises
        ------
        ServiceError
            Its message holds no header, key or address with credentials.
        """
        try:
            async with asyncio.timeout(self._timeout * 1.5 + 1):
                return await in_thread(lambda: self._post(case))
        except TimeoutError:
            raise ServiceError(f"timeout: no reply within {self._timeout:g} s", retry=True) from None
        except ServiceError as error:
            raise ServiceError(redacted(str(error), self.secrets), retry=error.retry, wait=error.wait) from None

    def _post(self, case: Mapping[str, Any]) -> Any:
        body = json.dumps(self._request.filled(case), ensure_ascii=False).encode("utf-8", "replace")
        headers = {"Content-Type": "application/json", "Accept": "application/json", **self._login}
        headers |= self._headers.filled(case)
        request = urllib.request.Request(self._endpoint, data=body, headers=headers, method="POST")
        try:
            with self._opener.open(request, timeout=self._timeout) as reply:
                content = reply.read(LONGEST_REPLY + 1)
        except urllib.error.HTTPError as error:
            raise _status(error) from None
        except TimeoutError:
            raise ServiceError(f"timeout: no reply within {self._timeout:g} s", retry=True) from None
        except urllib.error.URLError as error:
            late = isinstance(error.reason, TimeoutError)
            what = f"timeout: no reply within {self._timeout:g} s" if late else f"connection: {error.reason}"
            raise ServiceError(what, retry=True) from None
        except (http.client.HTTPException, OSError) as error:
            raise ServiceError(f"connection: {type(error).__name__}: {error}", retry=True) from None
        if len(content) > LONGEST_REPLY:
            raise ServiceError(f"the reply is longer than {LONGEST_REPLY} bytes")
        try:
            return json.loads(content)
        except ValueError:
            start = content[:60].decode("utf-8", "replace")
            raise ServiceError(f"the reply is no JSON: {start!r}") from None


def _without_login(endpoint: str) -> tuple[str, dict[str, str]]:
    """The address without user and password, and the header that carries them instead."""
    parts = urlsplit(endpoint)
    if parts.username is None:
        return endpoint, {}
    login = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
    host = parts.netloc.rpartition("@")[2]
    plain = urlunsplit((parts.scheme, host, parts.path, parts.query, ""))
    return plain, {"Authorization": f"Basic {base64.b64encode(login).decode('ascii')}"}


def _status(error: urllib.error.HTTPError) -> ServiceError:
    try:
        detail = error.read(300).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        detail = ""
    retry = error.code in (408, 425, 429) or error.code >= 500
    try:
        wait = float(error.headers.get("Retry-After", ""))
    except ValueError:
        wait = None
    return ServiceError(f"HTTP {error.code}: {' '.join(detail.split())[:200]}", retry=retry, wait=wait)


# ---------------------------------------------------------------- replies


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

        Raises
        ------
        ServiceError
            When it has no answer in the place where it should be.
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
