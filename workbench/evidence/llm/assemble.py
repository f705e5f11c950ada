"""From replies to evidence: verdicts in words become probabilities, quotes become spans, claims find their place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from workbench.evidence.judge import MAX_CLAIMS, Claim, ReverseQuestion, SampleEvidence, Side
from workbench.evidence.llm.claimparts import Texts, kinds_of, parts_of
from workbench.evidence.llm.locate import Places, locate
from workbench.evidence.llm.parse import ReadClaim, Reply
from workbench.evidence.llm.schema import Verdict
from workbench.evidence.llm.tasks import Piece, Task

#: A verdict in words as (entail, contradict). A judge's word is taken as certain: "supported" in one context cannot be
#: changed by a missing verdict on another.
PROBABILITIES: dict[Verdict, tuple[float, float]] = {
    "supported": (1.0, 0.0),
    "contradicted": (0.0, 1.0),
    "not_mentioned": (0.0, 0.0),
}
YES, NO = 1.0, 0.0
_NAN = float("nan")

NOT_PRODUCED = {
    "sentences": ("skipped", "this judge does not rate single sentences of a context"),
    "similarity": ("skipped", "this judge compares no vectors"),
}


def assemble(task: Task, first: Reply, parts: Sequence[Reply], questions: Sequence[str], method: str) -> SampleEvidence:
    """The evidence of one sample.

    Parameters
    ----------
    first, parts
        The reply to the first call and those about further parts of the contexts.
    questions
        Reverse questions, empty when none were asked for.
    """
    evidence = SampleEvidence(task.sample.sample_id, method=method, missing=dict(NOT_PRODUCED))
    evidence.relevance_basis = task.relevance_basis
    evidence.notes = [*task.notes, *first.notes, *(note for part in parts for note in part.notes)]
    read = _sides(first)
    evidence.claims = _claims(task, read)
    _set_support(evidence, task, [claim for _, claim in read], [first, *parts])
    _set_parts(evidence, task)
    _set_relevance(evidence, task, [first, *parts])
    _set_refusal(evidence, task, first)
    _set_conflicts(evidence, task, first)
    evidence.questions = [ReverseQuestion(text) for text in questions]
    return evidence


@cache
def warm_up() -> None:
    """Load word lists and tables once, so that nothing slow happens between two requests."""
    texts = Texts(["Plan A 保留 30 天，not 60 days."])
    for text in ("Plan A keeps it for 30 days, never 60.", "方案 A 保留 30 天，从不例外。"):
        kinds_of(text, parts_of(text, 0, len(text), texts, supported=False))
        Places(text).find("keeps 保留")


def _sides(first: Reply) -> list[tuple[Side, ReadClaim]]:
    answer: list[tuple[Side, ReadClaim]] = [("answer", claim) for claim in first.answer_claims or ()]
    return answer + [("reference", claim) for claim in first.reference_claims or ()]


# ---------------------------------------------------------------- claims


def _claims(task: Task, read: Sequence[tuple[Side, ReadClaim]]) -> list[Claim]:
    originals: dict[Side, str] = {"answer": task.sample.answer or "", "reference": task.sample.reference or ""}
    places = {side: Places(text) for side, text in originals.items()}
    claims = []
    for side, item in read:
        start, end, sentence = places[side].find(item.text)
        other = PROBABILITIES[item.other] if item.other else (_NAN, _NAN)
        claims.append(Claim(side, item.text, start, end, sentence, other_entail=other[0], other_contradict=other[1]))
    for side in originals:
        _say_cap([claim for claim in claims if claim.side == side])
    return claims


def _say_cap(claims: Sequence[Claim]) -> None:
    if len(claims) == MAX_CLAIMS:
        claims[-1].reason = f"the first {MAX_CLAIMS} claims are kept"


def _set_parts(evidence: SampleEvidence, task: Task) -> None:
    """Parts and kinds of the answer's claims, looked up in the prompted contexts."""
    texts = Texts(context.text for context in task.sample.contexts or () if context.prompted)
    best = None if evidence.entail is None else np.nan_to_num(evidence.entail).max(axis=1, initial=0.0)
    for row, claim in enumerate(evidence.claims):
        if claim.side != "answer":
            continue
        supported = best is not None and bool(best[row] >= YES)
        found = parts_of(claim.text, 0, len(claim.text), texts, supported)
        claim.kinds = kinds_of(claim.text, found)
        if claim.start >= 0:
            claim.spans = parts_of(task.sample.answer or "", claim.start, claim.end, texts, supported)


# ---------------------------------------------------------------- claims × contexts


def _set_support(evidence: SampleEvidence, task: Task, read: Sequence[ReadClaim], replies: Sequence[Reply]) -> None:
    n, width = len(read), len(task.sample.contexts or ())
    if task.sample.contexts is None:
        return
    evidence.entail = np.full((n, width), np.nan, dtype=np.float32)
    evidence.contradict = np.full((n, width), np.nan, dtype=np.float32)
    evidence.spans = np.full((n, width, 2), -1, dtype=np.int32)
    evidence.entail[:, sorted(task.blank)], evidence.contradict[:, sorted(task.blank)] = PROBABILITIES["not_mentioned"]
    unverified: dict[int, set[int]] = {}
    for row in range(n):
        for index, judged in _by_context(task, row, read[row], replies).items():
            pair = _merged([verdict for _, verdict, _ in judged])
            evidence.entail[row, index], evidence.contradict[row, index] = pair
            found = _span(judged)
            if found is not None:
                evidence.spans[row, index] = found
            elif any(quote for _, _, quote in judged):
                unverified.setdefault(row, set()).add(index + 1)
    _note_unverified(evidence, unverified)


Judged = list[tuple[Piece, Verdict | None, str]]


def _by_context(task: Task, row: int, claim: ReadClaim, replies: Sequence[Reply]) -> dict[int, Judged]:
    """For each context the verdicts on claim ``row`` of all its pieces."""
    found: dict[int, Judged] = {}
    for pieces, reply, first in zip(task.parts, replies, [True] + [False] * len(replies), strict=False):
        source = claim if first else reply.by_number.get(row + 1, ReadClaim(""))
        for number, piece in enumerate(pieces, start=1):
            entry = (piece, source.verdicts.get(number), source.quotes.get(number, ""))
            found.setdefault(piece.index, []).append(entry)
    return found


def _merged(verdicts: Sequence[Verdict | None]) -> tuple[float, float]:
    """(entail, contradict) of a context from those of its pieces: the highest, missing where that could hide more."""
    known = [PROBABILITIES[verdict] for verdict in verdicts if verdict is not None]
    entail = max((e for e, _ in known), default=_NAN)
    contradict = max((c for _, c in known), default=_NAN)
    if len(known) == len(verdicts) or entail >= YES:
        return entail, contradict
    return _NAN, _NAN


def _span(judged: Judged) -> tuple[int, int] | None:
    """Where the first quote that exists stands in its context, the most telling verdict first."""
    order = {"supported": 0, "contradicted": 1, "not_mentioned": 2, None: 3}
    for piece, _, quote in sorted(judged, key=lambda item: order[item[1]]):
        place = locate(quote, piece.text) if quote else None
        if place is not None:
            return piece.start + place[0], piece.start + place[1]
    return None


def _note_unverified(evidence: SampleEvidence, unverified: dict[int, set[int]]) -> None:
    for row, contexts in unverified.items():
        numbers = ", ".join(str(number) for number in sorted(contexts))
        claim = evidence.claims[row]
        reason = f"the quote for context {numbers} is unverified: it does not stand there"
        claim.reason = f"{claim.reason}; {reason}" if claim.reason else reason
    if unverified:
        evidence.notes.append(f"quotes of {len(unverified)} claims are unverified: not found in their contexts")


# ---------------------------------------------------------------- the rest


def _set_relevance(evidence: SampleEvidence, task: Task, replies: Sequence[Reply]) -> None:
    contexts = task.sample.contexts
    if contexts is None:
        return
    evidence.relevance = np.full(len(contexts), np.nan, dtype=np.float32)
    evidence.relevance[sorted(task.blank)] = NO
    flags: dict[int, list[bool | None]] = {}
    for pieces, reply in zip(task.parts, replies, strict=False):
        for number, piece in enumerate(pieces, start=1):
            flags.setdefault(piece.index, []).append(reply.relevant.get(number))
    for index, values in flags.items():
        if True in values:
            evidence.relevance[index] = YES
        elif None not in values:
            evidence.relevance[index] = NO
    if flags and all(None in values and True not in values for values in flags.values()):
        evidence.missing["relevance"] = ("judge_error", _why(replies, "contexts"))


def _why(replies: Sequence[Reply], part: str) -> str:
    problems = [problem for reply in replies for problem in reply.ordered()]
    problem = next((item for item in problems if item.part == part), problems[0] if problems else None)
    return str(problem) if problem else f"wrong_shape: {part} is missing"


def _set_refusal(evidence: SampleEvidence, task: Task, first: Reply) -> None:
    if not task.answer:
        return
    if first.refusal is None:
        evidence.missing["refusal"] = ("judge_error", _why([first], "refusal"))
        return
    declines, answers = first.refusal
    evidence.declines = YES if declines else NO
    evidence.residual = YES if answers else NO


def _set_conflicts(evidence: SampleEvidence, task: Task, first: Reply) -> None:
    if not task.answer:
        return
    if first.conflicts is None:
        evidence.missing["conflicts"] = ("judge_error", "wrong_shape: conflicts cannot be read")
    else:
        evidence.conflicts = [(a - 1, b - 1, YES) for a, b in first.conflicts]
