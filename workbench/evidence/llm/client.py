"""One OpenAI-compatible endpoint: what it can do, what it says, what went wrong.

Transport retries (429 with ``Retry-After``, 5xx, closed connections, time-outs) are the openai client's own and are not
repeated here. The looseness of the reply format is found out once per endpoint and model, remembered in the cache:
``json_schema``, then ``json_object`` with the schema, then ``json_object``, then plain text.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.data.files import Secret, guard_client_loggers, public_url, redacted
from workbench.errors import JudgeError
from workbench.evidence.cache import Cache, content_key
from workbench.evidence.llm.budget import Spending, estimate_tokens
from workbench.evidence.llm.prompts import Call, without_system
from workbench.evidence.llm.replies import sized
from workbench.language import languages

# ---------------------------------------------------------------- what stands in a body, whatever the server made of it


@dataclass(frozen=True, slots=True)
class Completion:
    """A completed call. ``problem`` says what was wrong with the envelope when ``text`` could not be found in it.

    ``error``: status (0 when it has none), kind and words of an error that the endpoint put into the body.
    """

    text: str
    finish: str = ""
    sent: int = 0
    received: int = 0
    problem: str = ""
    error: tuple[int, str, str] | None = None

    @property
    def cut_off(self) -> bool:
        """Whether the endpoint stopped at its length limit."""
        return self.finish in ("length", "max_tokens")


def completion_in(content: bytes) -> Completion:
    """What stands in the body of a chat completion, or of a plain one. Never raises. Reasoning is no part of it."""
    try:
        body = _streamed(content) if content.lstrip().startswith(b"data:") else json.loads(content)
    except (ValueError, RecursionError):
        body = None
    choices = body.get("choices") if isinstance(body, dict) else None
    choice: dict[str, Any] = (
        choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    )
    message: dict[str, Any] = choice["message"] if isinstance(choice.get("message"), dict) else choice
    text = message.get("content", message.get("text"))
    if isinstance(text, list):
        said = [p for p in text if isinstance(p, dict) and p.get("type", "text") in ("text", "output_text")]
        text = "".join(str(part.get("text", "")) for part in said)
    # Asked for no tool, a model may yet put its answer into the call of one.
    called = [*(message.get("tool_calls") or ()), {"function": message.get("function_call")}]
    functions = [one.get("function") for one in called if isinstance(one, dict)]
    calls = [json.dumps(one, ensure_ascii=False) for one in functions if one]
    text = "\n".join([*([text] if isinstance(text, str) else []), *calls])
    counted = body.get("usage") if isinstance(body, dict) else None
    usage: dict[str, Any] = counted if isinstance(counted, dict) else {}
    finish = str(choice.get("finish_reason") or "")
    sent, received = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if text and finish != "error":
        return Completion(text, finish, sent, received)
    error = next((found for item in (body, choice) if (found := _error_in(item))), None)
    return Completion("", finish, sent, received, _why_empty(choice, message), error)


def _streamed(content: bytes) -> Any:
    """The body of a reply that a server sends in pieces though it was not asked to; ``ValueError`` without an end."""
    lines = [line[5:].strip() for line in content.decode("utf-8", "replace").splitlines() if line.startswith("data:")]
    events = [json.loads(line) for line in lines if line and line != "[DONE]"]
    pieces = [one["choices"][0] for one in events if isinstance(one, dict) and one.get("choices")]
    if len(events) == 1 or not pieces:
        return events[0] if events else None
    finish = next((one["finish_reason"] for one in reversed(pieces) if one.get("finish_reason")), None)
    if finish is None:
        raise ValueError("the stream has no end")
    text = "".join(piece.get("delta", piece).get(name) or "" for piece in pieces for name in ("content", "text"))
    usage = next((one["usage"] for one in reversed(events) if one.get("usage")), None)
    return {"choices": [{"finish_reason": finish, "message": {"content": text}}], "usage": usage}


def _error_in(body: Any) -> tuple[int, str, str] | None:
    """Status, kind and words of an error object, in the shapes that providers give it."""
    if not isinstance(body, dict):
        return None
    base = body.get("base_resp")
    found = body.get("error") or ({} if "choices" in body else body)
    found = {"message": found} if isinstance(found, str) else found
    found = base if isinstance(base, dict) and base.get("status_code") else found
    words = [found.get(name) for name in ("message", "msg", "status_msg", "detail")] if isinstance(found, dict) else []
    said = next((" ".join(word.split()) for word in words if isinstance(word, str) and word.strip()), None)
    if said is None:
        return None
    code = str(found.get("code", found.get("status_code")))
    return int(code) if code.isdigit() and 400 <= int(code) < 600 else 0, f"{code} {found.get('type')}", said


def _why_empty(choice: dict[str, Any], message: dict[str, Any]) -> str:
    if message.get("refusal"):
        return f"the model declined: {message['refusal']}"[:200]
    if choice.get("finish_reason") == "content_filter":
        return "the endpoint's content filter stopped the reply"
    if any(message.get(name) for name in ("reasoning_content", "reasoning", "thinking", "content")):
        return "the reply holds reasoning and no answer"
    return "" if choice else "the endpoint's reply is no chat completion"


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


# ---------------------------------------------------------------- how many requests run at once
#
# As many as the endpoint bears, and no more a minute than was allowed.
# Additive increase, multiplicative decrease (as TCP does, Chiu & Jain 1989): each success widens the limit a little, a
# 429, a time-out or a sudden slowness halves or trims it. ``Retry-After`` holds back every new request until then.


#: Seconds for which one decrease stands before another may follow: one burst of 429s is one event.
SETTLE_SECONDS = 1.0
#: A reply slower than this many times the usual, and than this many seconds, narrows the limit.
SLOW_FACTOR, SLOW_SECONDS = 3.0, 2.0
#: Seconds' worth of a per-minute allowance that may be spent at once.
BURST_SECONDS = 10.0
#: The client's own bound on ``Retry-After``; longer ones are not waited for here either.
LONGEST_PAUSE = 120.0


class Allowance:
    """A token bucket: ``per_minute`` units, refilled evenly, None for no bound."""

    def __init__(self, per_minute: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = None if per_minute is None else per_minute / 60
        self._capacity = 0.0 if self._rate is None else max(self._rate * BURST_SECONDS, 1.0)
        self._level = self._capacity
        self._clock = clock
        self._at = clock()

    def wait(self, amount: float) -> float:
        """Seconds until ``amount`` may be taken; more than the capacity may be once the bucket is full."""
        if self._rate is None:
            return 0.0
        now = self._clock()
        self._level = min(self._capacity, self._level + (now - self._at) * self._rate)
        self._at = now
        return max(0.0, (min(amount, self._capacity) - self._level) / self._rate)

    def take(self, amount: float) -> None:
        """Take ``amount``; the level may become negative."""
        if self._rate is not None:
            self._level -= amount


class Pace:
    """Slots for at most ``workers`` requests at once, within the endpoint's allowances (None for no bound).

    Used inside one event loop.
    """

    def __init__(
        self, workers: int, requests_per_minute: float | None = None, tokens_per_minute: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.workers = max(1, workers)
        self.limit = float(self.workers)
        self.in_flight = 0
        self._clock = clock
        self._requests = Allowance(requests_per_minute, clock)
        self._tokens = Allowance(tokens_per_minute, clock)
        self._paused_until = 0.0
        self._settled_at = 0.0
        self._usual: float | None = None
        self._changed = asyncio.Condition()

    @contextlib.asynccontextmanager
    async def slot(self, tokens: float = 0.0) -> AsyncIterator[None]:
        """Wait for a slot, hold it during the block."""
        async with self._changed:
            while self.in_flight >= int(self.limit) or (delay := self._delay(tokens)) > 0:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(None if self.in_flight >= int(self.limit) else delay):
                        await self._changed.wait()
            self.in_flight += 1
            self._requests.take(1)
            self._tokens.take(tokens)
        try:
            yield
        finally:
            async with self._changed:
                self.in_flight -= 1
                self._changed.notify_all()

    def _delay(self, tokens: float) -> float:
        pause = self._paused_until - self._clock()
        return max(pause, self._requests.wait(1), self._tokens.wait(tokens))

    def succeeded(self, seconds: float) -> None:
        """A reply came after ``seconds``."""
        usual = seconds if self._usual is None else self._usual
        self._usual = 0.9 * usual + 0.1 * seconds
        if seconds > SLOW_SECONDS and seconds > SLOW_FACTOR * usual:
            self._decrease(0.8)
        else:
            self.limit = min(float(self.workers), self.limit + 1 / max(self.limit, 1.0))

    def pushed_back(self, retry_after: float | None = None) -> None:
        """The endpoint answered 429 or 503; ``retry_after`` in seconds when it said so."""
        self._decrease(0.5)
        if retry_after is not None and 0 < retry_after <= LONGEST_PAUSE:
            self._paused_until = max(self._paused_until, self._clock() + retry_after)

    def timed_out(self) -> None:
        """No reply came in time."""
        self._decrease(0.5)

    def _decrease(self, factor: float) -> None:
        now = self._clock()
        if now - self._settled_at >= SETTLE_SECONDS:
            self._settled_at = now
            self.limit = max(1.0, self.limit * factor)


# ---------------------------------------------------------------- the endpoint

NAMESPACE = "llm-formats"
FORMATS = ("json_schema", "json_object_schema", "json_object", "text")
#: Seconds that other calls wait for the first one to find out the format.
PROBE_SECONDS = 20.0
#: Seconds before an error that a reply tells is tried again, doubled each time.
RETRY_SECONDS = 0.5
DEFAULT_BASE_URL = "https://api.openai.com/v1"


class CallError(Exception):
    """A call that gave no reply. ``code`` is its reason.

    ``final``: every other call will fail in the same way; ``may_be_format``: a looser reply format may be accepted.
    """

    def __init__(self, code: str, detail: str, *, final: bool = False, may_be_format: bool = False) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.final = final
        self.may_be_format = may_be_format


class _FormatRefused(Exception):
    """The endpoint may not know the format that was asked for; holds the ``CallError``."""


@dataclass(frozen=True)
class EndpointOptions:
    """Where the model is and how it is asked.

    Attributes
    ----------
    timeout, retries
        Seconds for one attempt; further attempts on 429, 5xx, closed connections and time-outs.
    temperature
        None leaves it to the endpoint (some models refuse any).
    max_output_tokens
        Sent only when given; ``max_tokens_name`` is the name of the field.
    query, headers
        Added to each request (Azure's ``api-version``, a gateway's own header).
    extra
        Added to the request body as it is (``{"seed": 1}``, a server's own switches).
    """

    model: str
    base_url: str = field(default=DEFAULT_BASE_URL, repr=False)
    api_key: Secret = field(default_factory=lambda: Secret(""))
    timeout: float = 60.0
    retries: int = 3
    temperature: float | None = 0.0
    max_output_tokens: int | None = None
    max_tokens_name: str = "max_tokens"
    query: Mapping[str, str] | None = field(default=None, repr=False)
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    extra: Mapping[str, Any] | None = None

    @property
    def address(self) -> str:
        """The endpoint without credentials."""
        return public_url(self.base_url)

    def secrets(self) -> list[str]:
        """Everything that must never be shown."""
        values = [self.api_key.value, *(self.headers or {}).values(), *(self.query or {}).values()]
        return [value for value in values if value]


def check_ready(options: EndpointOptions) -> None:
    """Raise what would stop every call, without making any.

    Raises ``JudgeError`` when the package ``openai`` is not installed, or OpenAI itself would be asked without a key.
    """
    try:
        import openai  # noqa: F401 - only whether it is there
    except ImportError as error:
        raise JudgeError("a language model as judge needs the package openai: pip install 'workbench[llm]'") from error
    if not options.api_key and options.address == DEFAULT_BASE_URL:
        raise JudgeError("no key for api.openai.com: set OPENAI_API_KEY, or OPENAI_BASE_URL for another endpoint")


class Endpoint:
    """Asks one model. To be used inside one event loop, between :meth:`open` and :meth:`close`."""

    def __init__(self, options: EndpointOptions, pace: Pace, spending: Spending, cache: Cache | None) -> None:
        self.options = options
        self._pace = pace
        self._spending = spending
        self._cache = cache
        self._key = content_key("format", options.address, options.model)
        self._floor = 0
        self._known: str | None = None
        self._temperature = options.temperature
        self._one_message = False
        self._first: asyncio.Event | None = None
        self._client: Any = None
        self._raw: Any = None
        self._recall()

    def open(self) -> None:
        """Make the client; raises what :func:`check_ready` does."""
        options = self.options
        check_ready(options)
        import openai

        guard_client_loggers(options.secrets())
        maker = getattr(openai, "DefaultAsyncHttpx2Client", openai.DefaultAsyncHttpxClient)
        self._raw = _raw_response(openai)
        hooks: Any = {"request": [self._sending], "response": [self._answered]}
        azure = {"api-key": options.api_key.value} if ".azure." in options.address and options.api_key else {}
        self._client = openai.AsyncOpenAI(
            api_key=options.api_key.value or "none", base_url=options.base_url, timeout=options.timeout,
            max_retries=options.retries, default_headers=azure | dict(options.headers or {}),
            default_query=dict(options.query or {}), http_client=maker(event_hooks=hooks, timeout=options.timeout),
        )  # fmt: skip

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    async def _sending(self, request: Any) -> None:
        self._spending.requests += 1

    async def _answered(self, response: Any) -> None:
        if response.status_code in (429, 503):
            self._pace.pushed_back(_retry_after(response.headers))

    async def complete(self, call: Call) -> Completion:
        """The model's reply to ``call``, asked to follow its schema.

        Raises ``CallError`` when there is no reply after all retries, or the endpoint refuses.
        """
        if self._known is None and self._first is None:
            self._first = asyncio.Event()
            try:
                return await self._probe(call)
            finally:
                self._first.set()
        if self._known is None and self._first is not None:
            # Let the first call find out the format; go on without it when it takes long.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PROBE_SECONDS):
                    await self._first.wait()
        if self._known is None:
            return await self._probe(call)
        try:
            return await self._send(call, self._known)
        except _FormatRefused as refused:
            if not _says("format", refused.args[0].detail):
                raise refused.args[0] from None
            self._known, self._floor = None, FORMATS.index(self._known) + 1
            return await self._probe(call)

    async def _probe(self, call: Call) -> Completion:
        """Try the formats from the strictest on that was not refused yet."""
        refusals: list[CallError] = []
        start = self._floor
        for level in range(start, len(FORMATS)):
            try:
                completion = await self._send(call, FORMATS[level])
            except _FormatRefused as refused:
                refusals.append(refused.args[0])
                # A model may take minutes for its reply in the next format: others need not meet the refusal meanwhile.
                self._floor = max(self._floor, level + 1)
                continue
            self._remember(FORMATS[level])
            return completion
        self._floor = start
        raise refusals[0] if refusals else CallError("bad_request", "the endpoint refuses every reply format")

    async def _send(self, call: Call, kind: str, attempt: int = 0) -> Completion:
        import openai

        body, told = self._body(call, kind), False
        async with self._pace.slot(call.tokens):
            started = time.monotonic()
            try:
                # The body is made and read here, so the client only has to carry it: its typed layer costs as much
                # time again, and fails on bodies that are no chat completion.
                reply = await self._client.post("/chat/completions", body=body, cast_to=self._raw)
            except openai.APITimeoutError:
                self._pace.timed_out()
                raise self._error("timeout", f"no reply within {self.options.timeout:g} s, {self._tries()}") from None
            except openai.APIConnectionError as error:
                cause = error.__cause__
                if type(cause).__name__ in ("ConnectError", "UnsupportedProtocol"):
                    raise self._error("unreachable", f"{self.options.address}: {cause}", final=True) from None
                said = f"{type(cause).__name__}: {cause}, {self._tries()}"
                raise self._error("connection_closed", said) from None
            except openai.APIStatusError as error:
                kind_of_error = f"{error.code} {error.type}"
                failure = self._failure(error.status_code, kind_of_error, _message(error), error.response.headers)
            else:
                self._pace.succeeded(time.monotonic() - started)
                completion = completion_in(reply.content)
                if completion.error is None:
                    sent = completion.sent or call.tokens
                    self._spending.completed(sent, completion.received or estimate_tokens(completion.text))
                    return completion
                failure = self._failure(*completion.error, reply.headers, told=True)
                told = True
        if told and attempt < self.options.retries and failure.code in ("rate_limited", "server_error"):
            # The client has tried again what came with such a status, not what a reply tells.
            self._pace.pushed_back()
            await asyncio.sleep(RETRY_SECONDS * 2**attempt)
            return await self._send(call, kind, attempt + 1)
        if failure.code == "bad_request" and self._temperature is not None and "temperature" in failure.detail.lower():
            self._temperature = None
            return await self._send(call, kind)
        if not self._one_message and _says("no_system", failure.detail):
            self._one_message = True
            return await self._send(call, kind)
        if kind != "text" and failure.may_be_format:
            raise _FormatRefused(failure)
        raise failure

    def _body(self, call: Call, kind: str) -> dict[str, Any]:
        messages = without_system(call.messages) if self._one_message else call.messages
        body: dict[str, Any] = {"model": self.options.model, "messages": messages}
        if kind == "json_schema":
            wrapped = {"name": call.name, "strict": True, "schema": call.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": wrapped}
        elif kind != "text":
            body["response_format"] = {"type": "json_object"} | (
                {"schema": sized(call.schema, call.sizes)} if kind.endswith("schema") else {}
            )
        if self._temperature is not None:
            body["temperature"] = self._temperature
        if self.options.max_output_tokens is not None:
            body[self.options.max_tokens_name] = self.options.max_output_tokens
        if self.options.extra:
            body |= self.options.extra
        return body

    def _error(self, code: str, detail: str, final: bool = False, may_be_format: bool = False) -> CallError:
        line = " ".join(redacted(detail, self.options.secrets()).split())
        return CallError(code, line[:300], final=final, may_be_format=may_be_format)

    def _tries(self) -> str:
        return f"{self.options.retries + 1} tries"

    def _failure(
        self, status: int, kind: str, message: str, headers: Mapping[str, str], told: bool = False
    ) -> CallError:
        """The error of a status, 0 for none; ``told``: by the body of a reply that seemed to be one."""
        detail = f"the endpoint answers with an error: {message}" if told else f"HTTP {status}: {message}"
        words = f"{kind} {detail}".lower()
        if status in (401, 403):
            return self._error("authentication", detail, final=True)
        if status == 402 or (status in (0, 429) and _is_spent(words, headers)):
            return self._error("quota", detail, final=True)
        if status == 404:
            return self._error("unknown_model", f"{detail} ({self.options.address}, {self.options.model})", final=True)
        if status == 429:
            return self._error("rate_limited", f"{detail}, {self._tries()}")
        too_long = status == 413 or _says("length", words)
        if status >= 500 or status in (408, 409) or (status == 0 and not too_long):
            # llama.cpp answers 500 to a schema that it cannot use; 502–504 come from a server that is not ready.
            unusable = status in (500, 501) or (status == 0 and _says("format", detail))
            return self._error("server_error", f"{detail}, {self._tries()}", may_be_format=unusable)
        return self._error("too_long" if too_long else "bad_request", detail, may_be_format=not too_long)

    def _recall(self) -> None:
        text = self._cache.get(NAMESPACE, self._key) if self._cache is not None else None
        known = json.loads(text) if text else {}
        if known.get("format") in FORMATS:
            self._known = known["format"]
            self._temperature = self._temperature if known.get("temperature", True) else None
            self._one_message = bool(known.get("one_message"))

    def _remember(self, kind: str) -> None:
        self._known = kind
        if self._cache is not None:
            temperature = self._temperature is not None or self.options.temperature is None
            known = {"format": kind, "temperature": temperature, "one_message": self._one_message}
            self._cache.put(NAMESPACE, self._key, json.dumps(known))


def _raw_response(openai: Any) -> type:
    """The response type of the library that this version of the client sends with."""
    if hasattr(openai, "DefaultAsyncHttpx2Client"):
        import httpx2

        return httpx2.Response
    import httpx

    return httpx.Response


def _is_spent(words: str, headers: Mapping[str, str]) -> bool:
    """Whether a 429 is about an account without credit; one that will pass says when, or names a rate."""
    passes = "retry-after" in headers or "per minute" in words or "per second" in words
    return "insufficient_quota" in words or (not passes and _says("quota", words))


def _says(what: str, message: str) -> bool:
    """Whether an error says ``what``, in one of the words of any language's ``judging.toml``."""
    known = [word for item in languages() for word in item.table("judging").get("endpoints", {}).get(what, ())]
    return any(word in message.lower() for word in known)


def _message(error: Any) -> str:
    body = error.body
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        return str(body["message"])
    return str(body if body is not None else error.message)[:300]


def _retry_after(headers: Mapping[str, str]) -> float | None:
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return float(headers[name]) / unit
        except (KeyError, ValueError):
            continue  # absent, or a date instead of a number: the next header, else our own wait
    return None
