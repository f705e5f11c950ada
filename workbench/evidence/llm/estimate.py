"""What calls will take, before any is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.data.schema import Sample
from workbench.evidence.llm.asking import ReplyCache
from workbench.evidence.llm.budget import Plan, Price, estimate_tokens
from workbench.evidence.llm.readers import part_reader, questions_reader, verify_reader
from workbench.evidence.llm.settings import Settings
from workbench.evidence.llm.tasks import Call, Task, make_task, part_call, questions_call, verify_call

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
    samples: Sequence[Sample], settings: Settings, kept: ReplyCache, model: str, price: Price | None,
    warnings: Sequence[str],
) -> Plan:  # fmt: skip
    """The plan for ``samples``; calls whose replies are kept cost nothing."""
    rows = tuple(_row(sample, settings, kept) for sample in samples)
    calls, sent, received = (sum(row[name] for row in rows) for name in ("calls", "sent", "received"))
    dollars = None if price is None else price.cost(sent, received)
    return Plan(
        model=model, n_samples=len(rows), n_cached=sum(row["calls"] == 0 for row in rows), calls=calls,
        repairs_at_most=sum(row["calls"] > 0 for row in rows), sent=sent, received=received,
        seconds=calls * SECONDS_PER_CALL / settings.workers, price=dollars,
        context_tokens=settings.context_tokens, rows=rows, warnings=tuple(warnings),
    )  # fmt: skip


def _row(sample: Sample, settings: Settings, kept: ReplyCache) -> dict[str, Any]:
    task = make_task(sample, settings.context_tokens, settings.language)
    cached, missing = _calls(task, settings, kept)
    return {
        "sample_id": sample.sample_id,
        "calls": len(missing),
        "cached": cached,
        "parts": len(task.parts),
        "sent": sum(call.tokens for call, _ in missing),
        "received": sum(tokens for _, tokens in missing),
    }


def _calls(task: Task, settings: Settings, kept: ReplyCache) -> tuple[int, list[tuple[Call, int]]]:
    """Number of kept calls, and the calls to make with the tokens that each is expected to bring."""
    if not task.flags:
        return 0, []
    first = verify_call(task)
    reply = kept.reply(first, verify_reader(task))
    missing = [] if reply else [(first, expected_tokens(task, 0))]
    wanted = [] if reply is None else [*(reply.answer_claims or ()), *(reply.reference_claims or ())]
    claims = [claim.text for claim in wanted] or ["?" * 4 * TOKENS_PER_CLAIM]
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
