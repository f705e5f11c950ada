"""Many samples at once: bounded workers, an outcome for each sample, and a stop where going on is pointless."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from workbench.data.runner import Put
from workbench.data.schema import Sample
from workbench.errors import JudgeError
from workbench.evidence.cache import Cache
from workbench.evidence.judge import SampleEvidence, failed
from workbench.evidence.llm.asking import Asker, BudgetSpent, Repairs, ReplyCache
from workbench.evidence.llm.assemble import assemble
from workbench.evidence.llm.budget import Spending
from workbench.evidence.llm.client import CallError, Endpoint, EndpointOptions
from workbench.evidence.llm.estimate import expected_tokens
from workbench.evidence.llm.pace import Pace
from workbench.evidence.llm.parse import Reply
from workbench.evidence.llm.readers import part_reader, questions_reader, verify_reader
from workbench.evidence.llm.settings import Settings
from workbench.evidence.llm.tasks import Task, make_task, part_call, questions_call, verify_call

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
    options: EndpointOptions
    cache: Cache | None
    spending: Spending
    cancelled: threading.Event
    method: str

    async def run(self, samples: Sequence[Sample], put: Put) -> None:
        """Put the evidence of every sample as it completes.

        Raises
        ------
        JudgeError
            After :data:`FATAL_IN_A_ROW` errors that every call would meet; what was judged is in the cache.
        """
        await self.work(samples, self._one, put, lambda sample, *why: failed(sample.sample_id, *why))

    async def work(
        self,
        items: Sequence[Item],
        one: Callable[[Item, Asker], Awaitable[Any]],
        put: Put,
        fail: Callable[..., Any],
    ) -> None:
        """Put ``one(item, asker)`` for every item, with bounded workers.

        ``fail(item, reason)`` or ``fail(item, reason, "skipped")`` makes what is put for an item without a reply.
        """
        settings = self.settings
        pace = Pace(settings.workers, settings.requests_per_minute, settings.tokens_per_minute)
        endpoint = Endpoint(self.options, pace, self.spending, self.cache)
        endpoint.open()
        asker = Asker(endpoint, ReplyCache(self.cache, self.options), self.spending)
        job = _Job(iter(items), one, put, fail, _Guard(len(items), self.options))
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
                job.guard.succeeded()
            except _Cancelled:
                job.put(job.fail(item, "cancelled", "skipped"))
            except BudgetSpent as spent:
                job.put(job.fail(item, f"budget: {spent}", "skipped"))
            except CallError as error:
                job.put(job.fail(item, str(error)))
                job.guard.failed(error)

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

    # ------------------------------------------------------------ one sample

    async def _one(self, sample: Sample, asker: Asker) -> SampleEvidence:
        task = make_task(sample, self.settings.context_tokens, self.settings.language)
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
        claims = [claim.text for claim in (*(first.answer_claims or ()), *(first.reference_claims or ()))]
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
    """What the workers share."""

    waiting: Iterator[Any]
    one: Callable[[Any, Asker], Awaitable[Any]]
    put: Put
    fail: Callable[..., Any]
    guard: _Guard
    running: set[asyncio.Future[Any]] = field(default_factory=set)


class _Guard:
    """Stops a batch whose every call would fail."""

    def __init__(self, n_samples: int, options: EndpointOptions) -> None:
        self._limit = min(FATAL_IN_A_ROW, n_samples)
        self._options = options
        self._in_a_row = 0
        self._judged = 0

    def succeeded(self) -> None:
        """A sample was judged."""
        self._in_a_row = 0
        self._judged += 1

    def failed(self, error: CallError) -> None:
        """Count an error; raise ``JudgeError`` when it is one too many."""
        lasting = error.final and (self._judged == 0 or error.code in ("authentication", "quota"))
        self._in_a_row = self._in_a_row + 1 if lasting else 0
        if lasting and self._in_a_row >= self._limit:
            raise JudgeError(
                f"llm:{self._options.model} at {self._options.address} stopped: {error.code}: {error.detail}; "
                f"{_REMEDIES[error.code]}. What was judged before is kept."
            ) from None
