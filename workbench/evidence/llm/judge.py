"""A language model as judge: any OpenAI-compatible endpoint, at most three calls a sample for the whole metric set.

One structured reply holds the claims of answer and reference, the verdict of every numbered context on each, each
context's relevance and whether the answer declines; a second call, which sees the answer alone, makes reverse
questions; at most one call repairs. Contexts over the token budget add one call for each further part.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import dataclasses
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from workbench.data.files import Secret, parsed_toml, read_text, redacted
from workbench.data.record import Put, iterate
from workbench.data.schema import Sample
from workbench.errors import InputError, JudgeError
from workbench.evidence.cache import Cache
from workbench.evidence.encoders.base import Encoder, encoder_identity
from workbench.evidence.encoders.resolve import resolve_encoder
from workbench.evidence.judge import SampleEvidence, failed
from workbench.evidence.llm.asking import (
    Asker,
    BudgetSpent,
    Repairs,
    ReplyCache,
    part_reader,
    questions_reader,
    verify_reader,
)
from workbench.evidence.llm.budget import Budget, Plan, Price, Spending, estimate_tokens, price_of
from workbench.evidence.llm.client import DEFAULT_BASE_URL, CallError, Endpoint, EndpointOptions, Pace, check_ready
from workbench.evidence.llm.evidence import QuestionComparer, assemble, warm_up
from workbench.evidence.llm.prompts import (
    ORDERS,
    PROMPT_VERSION,
    SHIPPED,
    Call,
    Prompts,
    Task,
    family_warning,
    make_task,
    part_call,
    questions_call,
    read_prompts,
    verify_call,
)
from workbench.evidence.llm.replies import Reply
from workbench.evidence.offline.models import AnswerSimilarity
from workbench.language import codes, has_text, text

# ---------------------------------------------------------------- how each sample ended


def outcome_of(evidence: SampleEvidence) -> str:
    """``ok``, ``partly`` (a part is missing), or the code of what went wrong (``timeout, not_json, budget`` …)."""
    if evidence.state != "ok":
        return evidence.reason.partition(":")[0]
    failed = any(state == "judge_error" for state, _ in evidence.missing.values())
    return "partly" if failed else "ok"


def meaning(outcome: str, language: str | None = None) -> str:
    """An outcome in words; the code itself when it has none."""
    key = f"llm.reasons.{outcome}"
    return text(key, language) if has_text(key) else outcome


class Outcomes:
    """Outcome of each sample, the latest counts, and how fast they come."""

    def __init__(self) -> None:
        self._by_sample: dict[str, str] = {}
        self._total = self._done = 0
        self._started = time.monotonic()

    def start(self, total: int) -> None:
        """A run over ``total`` samples begins."""
        self._total, self._done, self._started = total, 0, time.monotonic()

    def add(self, evidence: SampleEvidence) -> None:
        """A sample is done."""
        self._by_sample[evidence.sample_id] = outcome_of(evidence)
        self._done += 1

    def ids(self, *outcomes: str) -> list[str]:
        """Samples that ended in one of ``outcomes``; without any, those that are not ``ok``."""
        return [key for key, value in self._by_sample.items() if (value in outcomes if outcomes else value != "ok")]

    def frame(self) -> pd.DataFrame:
        """``outcome, n, sample_ids, meaning`` (in the language in force), the most frequent first."""
        groups: dict[str, list[str]] = {}
        for sample_id, outcome in self._by_sample.items():
            groups.setdefault(outcome, []).append(sample_id)
        ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
        rows = [[key, len(ids), ids, meaning(key)] for key, ids in ordered]
        return pd.DataFrame(rows, columns=["outcome", "n", "sample_ids", "meaning"])

    def line(self, spending: Spending) -> str:
        """Progress in one line."""
        seconds = max(time.monotonic() - self._started, 1e-9)
        cost = text("llm.plan.unknown_price") if spending.cost is None else f"${spending.cost:.4f}"
        return text(
            "llm.progress", done=self._done, total=self._total, rate=f"{self._done / seconds:.1f}",
            calls=spending.calls, cached=spending.cached, cost=cost,
        )  # fmt: skip


# ---------------------------------------------------------------- options: defaults, an options file, arguments, checked once


@dataclass(frozen=True)
class Settings(EndpointOptions):
    """Everything that ``LLMJudge`` takes by name, documented there."""

    language: str | None = None
    workers: int = 16
    budget: Budget | Mapping[str, Any] | float | None = None
    context_tokens: int = 12_000
    questions: int = 3
    generator: str | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    prices: str | Path | None = None
    prompts: Prompts = SHIPPED
    order: str = "recorded"

    def task(self, sample: Sample) -> Task:
        """``sample`` made ready for asking."""
        return make_task(sample, self.context_tokens, self.language, self.prompts, self.order)

    @classmethod
    def of(cls, model: str, options: Mapping[str, Any]) -> Settings:
        """Settings from arguments and, for what they leave out, the ``[llm]`` table of ``options_file``.

        Raises ``InputError`` for an unknown name, a value out of range, or a file that cannot be read.
        """
        given = dict(options)
        path = given.pop("options_file", None)
        merged = {**(read_options(path) if path is not None else {}), **given}
        known = {item.name for item in dataclasses.fields(cls)} - {"model"}
        unknown = sorted(merged.keys() - known)
        if unknown:
            raise InputError(f"llm judge: unknown option {unknown[0]!r}; known are {', '.join(sorted(known))}")
        key = merged.pop("api_key", None)
        key = key.value or None if isinstance(key, Secret) else key
        merged["api_key"] = Secret(os.environ.get("OPENAI_API_KEY", "") if key is None else key)
        merged["base_url"] = merged.get("base_url") or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL
        if isinstance(merged.get("prompts", SHIPPED), (str, Path)):
            merged["prompts"] = read_prompts(merged["prompts"])
        settings = cls(model, **merged)
        _check(settings)
        return settings


def read_options(path: str | Path) -> dict[str, Any]:
    """The ``[llm]`` table of a TOML file.

    Raises ``InputError`` when the file cannot be read, has no such table, or holds a key.
    """
    options = parsed_toml(read_text(path), path).get("llm")
    if not isinstance(options, dict):
        raise InputError(f"{path}: the options file needs a table [llm]")
    if "api_key" in options:
        raise InputError(f"{path}: a key does not belong in a file; set OPENAI_API_KEY")
    return options


#: Option → (lowest value, whether it may be a fraction).
_RANGES: dict[str, tuple[float, bool]] = {
    "timeout": (0.01, True), "retries": (0, False), "workers": (1, False), "context_tokens": (50, False),
    "questions": (0, False), "requests_per_minute": (0.01, True), "tokens_per_minute": (1, True),
    "temperature": (0, True), "max_output_tokens": (1, False),
}  # fmt: skip


def _check(settings: Settings) -> None:
    if not settings.base_url.startswith(("http://", "https://")):
        raise InputError("llm judge: OPENAI_BASE_URL is no address; write http://HOST:PORT/v1 or https://…")
    if settings.language is not None and settings.language not in codes():
        raise InputError(f"llm judge: language is {settings.language!r}; use one of {', '.join(codes())}")
    if settings.order not in ORDERS:
        raise InputError(f"llm judge: order is {settings.order!r}; use one of {', '.join(ORDERS)}")
    for name, (lowest, fraction) in _RANGES.items():
        value = getattr(settings, name)
        kinds = (int, float) if fraction else (int,)
        if value is None and name in _OPTIONAL:
            continue
        if isinstance(value, bool) or not isinstance(value, kinds) or not lowest <= value < float("inf"):
            whole = "number" if fraction else "whole number"
            raise InputError(f"llm judge: {name} is {value!r}; use a {whole} from {lowest:g} on")


_OPTIONAL = frozenset(("requests_per_minute", "tokens_per_minute", "temperature", "max_output_tokens"))


# ---------------------------------------------------------------- what calls will take, before any is made

#: Rough sizes of replies in tokens: a claim in its item, a verdict with its quote, the frame around them.
CLAIM_TOKENS, VERDICT_TOKENS, FRAME_TOKENS, QUESTION_TOKENS = 30, 22, 40, 30
TOKENS_PER_CLAIM = 25
SECONDS_PER_CALL = 3.0


def expected_tokens(task: Task, part: int) -> int:
    """Estimated tokens of the reply about ``part``: claims as long as their text, a verdict for each context."""
    text = estimate_tokens(task.answer) + estimate_tokens(task.reference)
    n_claims = max(1, round(text / TOKENS_PER_CLAIM)) if text else 0
    verdicts = n_claims * len(task.parts[part]) * VERDICT_TOKENS
    claims = n_claims * CLAIM_TOKENS if part == 0 else n_claims * 6
    return FRAME_TOKENS + claims + verdicts + 10 * len(task.parts[part])


def make_plan(
    samples: Sequence[Sample], settings: Settings, kept: ReplyCache, price: Price | None, warnings: Sequence[str]
) -> Plan:
    """The plan for ``samples``; calls whose replies are kept cost nothing."""
    rows: list[dict[str, Any]] = []
    for sample in samples:
        task = settings.task(sample)
        cached, missing = _calls(task, settings, kept)
        rows.append({
            "sample_id": sample.sample_id, "calls": len(missing), "cached": cached, "parts": len(task.parts),
            "sent": sum(call.tokens for call, _ in missing), "received": sum(tokens for _, tokens in missing),
        })  # fmt: skip
    calls, sent, received = (sum(row[name] for row in rows) for name in ("calls", "sent", "received"))
    return Plan(
        model=settings.model, n_samples=len(rows), n_cached=sum(row["calls"] == 0 for row in rows), calls=calls,
        repairs_at_most=sum(row["calls"] > 0 for row in rows), sent=sent, received=received,
        seconds=calls * SECONDS_PER_CALL / settings.workers, price=None if price is None else price.cost(sent, received),
        context_tokens=settings.context_tokens, rows=tuple(rows), warnings=tuple(warnings),
    )  # fmt: skip


def _calls(task: Task, settings: Settings, kept: ReplyCache) -> tuple[int, list[tuple[Call, int]]]:
    """Number of kept calls, and the calls to make with the tokens that each is expected to bring."""
    if not task.flags:
        return 0, []
    first = verify_call(task)
    reply = kept.reply(first, verify_reader(task))
    missing = [] if reply else [(first, expected_tokens(task, 0))]
    claims = [claim.text for claim in (reply.claims if reply else ())] or ["?" * 4 * TOKENS_PER_CLAIM]
    for n in range(1, len(task.parts)):
        call = part_call(task, n, claims)
        if kept.reply(call, part_reader(task, n, len(claims))) is None:
            missing.append((call, expected_tokens(task, n)))
    total = len(task.parts)
    declined = reply is not None and reply.refusal == (True, False)
    if task.answer and settings.questions and not declined:
        total += 1
        call = questions_call(task, settings.questions)
        if kept.reply(call, questions_reader(task, settings.questions)) is None:
            missing.append((call, QUESTION_TOKENS * settings.questions))
    return total - len(missing), missing


# ---------------------------------------------------------------- many samples at once, and a stop where going on is pointless

Item = TypeVar("Item")

#: So many errors in a row that every other call would meet too stop the batch.
FATAL_IN_A_ROW = 3
#: Seconds after a cancel in which calls that are running may still bring their reply, paid for as it is.
GRACE_SECONDS = 0.8
#: Seconds between two looks at the cancel flag, which is set from another thread.
LOOK_SECONDS = 0.1

_REMEDIES = {
    "authentication": "set OPENAI_API_KEY to a key that this endpoint accepts",
    "quota": "top up the account or use another key",
    "unknown_model": "check the name of the model and OPENAI_BASE_URL",
    "unreachable": "check OPENAI_BASE_URL and that the server runs",
}


@dataclass
class Batch:
    """One run of the judge. ``run`` is a coroutine for a loop of its own."""

    settings: Settings
    cache: Cache | None
    spending: Spending
    cancelled: threading.Event
    method: str

    async def run(self, samples: Sequence[Sample], put: Put) -> None:
        """Put the evidence of every sample as it completes.

        Raises ``JudgeError`` after :data:`FATAL_IN_A_ROW` errors that every call would meet; what was judged is in the
        cache.
        """
        await self.work(samples, self._one, put, lambda sample, *why: failed(sample.sample_id, *why))

    async def work(
        self, items: Sequence[Item], one: Callable[[Item, Asker], Awaitable[Any]], put: Put, fail: Callable[..., Any]
    ) -> None:
        """Put ``one(item, asker)`` for every item, with bounded workers.

        ``fail(item, reason)`` or ``fail(item, reason, "skipped")`` makes what is put for an item without a reply.
        """
        settings = self.settings
        pace = Pace(settings.workers, settings.requests_per_minute, settings.tokens_per_minute)
        endpoint = Endpoint(settings, pace, self.spending, self.cache)
        endpoint.open()
        asker = Asker(endpoint, ReplyCache(self.cache, settings), self.spending)
        job = _Job(iter(items), one, put, fail, min(FATAL_IN_A_ROW, len(items)))
        n_workers = min(settings.workers, max(1, len(items)))
        workers = [asyncio.create_task(self._worker(job, asker)) for _ in range(n_workers)]
        stopper = asyncio.create_task(self._stop_when_cancelled(job))
        try:
            await asyncio.gather(*workers)
        finally:
            for task in (stopper, *workers):
                task.cancel()
            await asyncio.gather(stopper, *workers, return_exceptions=True)
            await endpoint.close()

    async def _stop_when_cancelled(self, job: _Job) -> None:
        """Once cancelled, give running calls a moment, then break them off: one that hangs would hold everything up."""
        while not self.cancelled.is_set():
            await asyncio.sleep(LOOK_SECONDS)
        await asyncio.sleep(GRACE_SECONDS)
        for call in tuple(job.running):
            call.cancel()

    async def _worker(self, job: _Job, asker: Asker) -> None:
        for item in job.waiting:
            if self.cancelled.is_set():
                job.put(job.fail(item, "cancelled", "skipped"))
                continue
            try:
                job.put(await self._unless_cancelled(job, item, asker))
                job.succeeded()
            except _Cancelled:
                job.put(job.fail(item, "cancelled", "skipped"))
            except BudgetSpent as spent:
                job.put(job.fail(item, f"budget: {spent}", "skipped"))
            except CallError as error:
                job.put(job.fail(item, str(error)))
                job.failed(error, self.settings)

    async def _unless_cancelled(self, job: _Job, item: Any, asker: Asker) -> Any:
        """``job.one(item, asker)``; :class:`_Cancelled` when it was broken off, which the worker survives."""
        task = asyncio.ensure_future(job.one(item, asker))
        job.running.add(task)
        try:
            await asyncio.wait([task])
            if task.cancelled():
                raise _Cancelled
            return task.result()
        finally:
            job.running.discard(task)
            if not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    async def _one(self, sample: Sample, asker: Asker) -> SampleEvidence:
        task = self.settings.task(sample)
        repairs = Repairs()
        first, parts = await self._verified(asker, task, repairs)
        questions, missing = await self._questions(asker, task, first, repairs)
        evidence = assemble(task, first, parts, questions, self.method)
        evidence.missing.update(missing)
        return evidence

    async def _verified(self, asker: Asker, task: Task, repairs: Repairs) -> tuple[Reply, list[Reply]]:
        if not task.flags:
            return Reply(), []
        expected = expected_tokens(task, 0)
        first = await asker.ask(verify_call(task), verify_reader(task), repairs, task.language, expected)
        claims = [claim.text for claim in first.claims]
        parts = []
        for n in range(1, len(task.parts)):
            reader = part_reader(task, n, len(claims))
            parts.append(await asker.ask(part_call(task, n, claims), reader, repairs, task.language, expected))
        return first, parts

    async def _questions(
        self, asker: Asker, task: Task, first: Reply, repairs: Repairs
    ) -> tuple[list[str], dict[str, tuple[str, str]]]:
        """Reverse questions, or why there are none."""
        n = self.settings.questions
        if not task.answer:
            return [], {}
        if n == 0:
            return [], {"relevancy": ("skipped", "no reverse questions were asked for")}
        if first.refusal == (True, False):
            return [], {"relevancy": ("undefined", "the answer declines")}
        try:
            call = questions_call(task, n)
            reply = await asker.ask(call, questions_reader(task, n), repairs, task.language, 30 * n)
        except CallError as error:
            if error.final:
                raise
            return [], {"relevancy": ("judge_error", str(error))}
        return reply.questions, {}


class _Cancelled(Exception):
    """A call was broken off because the user cancelled."""


@dataclass
class _Job:
    """What the workers share. It stops a batch whose every call would fail."""

    waiting: Iterator[Any]
    one: Callable[[Any, Asker], Awaitable[Any]]
    put: Put
    fail: Callable[..., Any]
    limit: int
    running: set[asyncio.Future[Any]] = field(default_factory=set)
    in_a_row: int = 0
    judged: int = 0

    def succeeded(self) -> None:
        """A sample was judged."""
        self.in_a_row = 0
        self.judged += 1

    def failed(self, error: CallError, options: EndpointOptions) -> None:
        """Count an error; raise ``JudgeError`` when it is one too many."""
        lasting = error.final and (self.judged == 0 or error.code in ("authentication", "quota"))
        self.in_a_row = self.in_a_row + 1 if lasting else 0
        if lasting and self.in_a_row >= self.limit:
            raise JudgeError(
                f"llm:{options.model} at {options.address} stopped: {error.code}: {error.detail}; "
                f"{_REMEDIES[error.code]}. What was judged before is kept."
            ) from None


# ---------------------------------------------------------------- the judge


class LLMJudge:
    """Judges with a language model behind an OpenAI-compatible endpoint.

    Parameters
    ----------
    model
        The name that the endpoint knows.
    base_url, api_key
        Default ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``. The key is never shown, logged, pickled or written.
    language
        The code of one language for all prompts; None: the language of each question.
    cache
        Where replies and the endpoint's reply format are kept; None for the default cache, False for none.
    timeout, retries
        Seconds for one attempt; further attempts on 429, 5xx, closed connections and time-outs.
    workers
        Most requests at once; fewer while the endpoint pushes back.
    budget
        Dollars, or ``{"calls": …, "tokens": …, "cost": …}``. When spent, the samples left are ``skipped``.
    context_tokens
        Most estimated tokens of contexts in one call; longer ones are judged in parts.
    questions
        Reverse questions a sample, 0 for none (then answer relevancy is ``skipped``).
    encoder
        Compares reverse questions with the real one, and the answer with the reference: a name that ``resolve_encoder``
        knows (``"auto"``: the embedded model, slower and better) or an encoder; default the character n-gram encoder.
    generator
        The model that wrote the answers; one of the judge's own family gives a warning.
    requests_per_minute, tokens_per_minute
        The endpoint's allowances, when there are any.
    prompts
        A folder with prompts of your own in place of the package's, see ``wb.prompts``.
    order
        How contexts are shown: ``recorded``, ``reversed`` or ``shuffled`` (the same for the same texts); verdicts are always
        on the context itself. See ``wb.order_bias``.
    prices
        A price table (see ``prices.toml``); default the package's own.
    options_file
        TOML file whose ``[llm]`` table gives any of these but the key; arguments given here win.
    temperature, max_output_tokens, max_tokens_name, query, headers, extra
        See :class:`~workbench.evidence.llm.client.EndpointOptions`.

    Attributes
    ----------
    warnings
        Things to know before trusting the verdicts.
    spending
        Requests, calls, tokens and dollars so far.
    outcomes
        How each sample ended; ``outcomes.frame()`` counts them by cause.

    Raises
    ------
    InputError
        For an option that is not known or out of range, or a budget in dollars with an unknown price.
    """

    def __init__(
        self, model: str, *, cache: Cache | bool | None = None, encoder: str | Encoder | None = None, **options: Any
    ) -> None:
        self.model = model
        self.settings = Settings.of(model, options)
        self.price = price_of(model, self.settings.prices)
        budget = Budget.of(self.settings.budget)
        if budget.cost is not None and self.price is None:
            raise InputError(f"budget: the price of {model} is unknown; give a price table (prices=) or bound tokens")
        self.spending = Spending(budget, self.price)
        self.warnings = family_warning(model, self.settings.generator)
        self.outcomes = Outcomes()
        self.cache: Cache | None = Cache() if cache is None or cache is True else cache or None
        self._wanted_encoder = encoder if encoder is not None else "ngram"
        self._cancelled = _Flag()

    @classmethod
    def from_spec(cls, spec: str, options: Mapping[str, Any] | str | Path | None = None, **more: Any) -> LLMJudge:
        """A judge from ``"llm:MODEL"`` and options: a mapping, a TOML file with a ``[llm]`` table, or nothing.

        Raises ``InputError`` when ``spec`` names no model, and for what the constructor refuses.
        """
        kind, _, model = spec.partition(":")
        if kind != "llm" or not model.strip():
            raise InputError(f"judge {spec!r}: write llm:MODEL, for example llm:gpt-4.1-mini")
        given = {"options_file": options} if isinstance(options, str | Path) else dict(options or {})
        return cls(model.strip(), **{**given, **more})

    def __repr__(self) -> str:
        return f"LLMJudge({self.model!r}, endpoint={self.endpoint.address!r})"

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder, loaded when it is first needed."""
        return resolve_encoder(self._wanted_encoder)

    @property
    def endpoint(self) -> EndpointOptions:
        """Where and how the model is asked."""
        return self.settings

    @property
    def method(self) -> str:
        """Which judge this is, as scores say it."""
        return f"llm:{self.model}"

    @property
    def name(self) -> str:
        """Model, endpoint, prompts and every option that can change a verdict; never the key."""
        s = self.settings
        name = " ".join((
            self.method, f"at={self.endpoint.address}", f"prompts={self.prompt_hash}",
            f"language={s.language or 'auto'}", f"context_tokens={s.context_tokens}", f"questions={s.questions}",
            f"temperature={s.temperature}", f"max_output={s.max_output_tokens}",
            f"extra={sorted((s.extra or {}).items())}", f"encoder={encoder_identity(self.encoder)}",
            *([] if s.order == "recorded" else [f"order={s.order}"]),
        ))  # fmt: skip
        return redacted(name, self.endpoint.secrets())

    def know_generator(self, name: str | None) -> None:
        """Say which model wrote the answers, unless the options did; a warning may follow."""
        if name and not self.settings.generator:
            self.settings = dataclasses.replace(self.settings, generator=name)
        self.warnings = family_warning(self.model, self.settings.generator)

    def plan(self, samples: Sequence[Sample]) -> Plan:
        """Calls, tokens, time and price of judging ``samples``, without sending anything; kept replies cost nothing."""
        return make_plan(samples, self.settings, ReplyCache(self.cache, self.settings), self.price, self.warnings)

    def examine(self, samples: Sequence[Sample]) -> Iterator[SampleEvidence]:
        """Yield evidence as it completes, one item a sample; see :class:`~workbench.evidence.judge.Judge`.

        Raises ``JudgeError`` after repeated rejection of the key, an exhausted quota, an unknown model or an
        unreachable endpoint, and when the package ``openai`` is missing. Replies that came before are kept.
        """
        if not samples:
            return
        self.check_ready()
        by_id = {sample.sample_id: sample for sample in samples}
        comparer, likeness = QuestionComparer(self.encoder), AnswerSimilarity(self.encoder)
        if self.settings.questions:
            comparer.prepare()
        if any(sample.answer and sample.reference for sample in samples):
            _ = likeness.background
        warm_up()
        self._cancelled.clear()
        self.outcomes.start(len(samples))
        for evidence in iterate(lambda put: self.batch().run(samples, put)):
            sample = by_id[evidence.sample_id]
            comparer.compare(evidence, sample.asked)
            likeness.compare(evidence, sample)
            self.outcomes.add(evidence)
            yield evidence

    def check_ready(self) -> None:
        """Raise what would stop the first call, before anything else is done; see :func:`client.check_ready`."""
        check_ready(self.settings)

    @property
    def prompt_hash(self) -> str:
        """Version and hash of all prompts."""
        return f"{PROMPT_VERSION}.{self.settings.prompts.hash}"

    @property
    def own_prompts(self) -> list[str]:
        """Names of the prompts that are not the package's."""
        return sorted(self.settings.prompts.own)

    def batch(self) -> Batch:
        """A run over this judge's endpoint, cache and budget; what other ways of judging are built on."""
        return Batch(self.settings, self.cache, self.spending, self._cancelled.event, self.method)

    def with_options(self, **changes: Any) -> LLMJudge:
        """The same judge, with its cache, budget and counts, under changed options (see the constructor)."""
        other = copy.copy(self)
        other.settings = dataclasses.replace(self.settings, **changes)
        return other

    def cancel(self) -> None:
        """Stop within about a second; samples left are ``skipped``, replies that came are kept. Safe from any thread."""
        self._cancelled.set()

    def status(self) -> str:
        """Progress in one line: samples done, rate, calls, cost so far."""
        return self.outcomes.line(self.spending)


class _Flag:
    """A cancel flag that can be pickled (cleared) with its judge."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.set, self.clear = self.event.set, self.event.clear

    def __reduce__(self) -> tuple[Any, ...]:
        return (_Flag, ())
