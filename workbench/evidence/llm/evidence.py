"""From replies to evidence: verdicts in words become probabilities, quotes become spans, claims find their place."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from workbench.data.text.markers import absolutes, negations
from workbench.data.text.quantities import Quantity, contains_quantity, entities, quantities
from workbench.data.text.sentences import sentences
from workbench.data.text.words import Span, language, normalise, normalise_with_map, stop_words, tokens, words
from workbench.evidence.encoders.base import Encoder
from workbench.evidence.judge import MAX_CLAIMS, Claim, ReverseQuestion, SampleEvidence, Side
from workbench.evidence.llm.prompts import Piece, Task
from workbench.evidence.llm.replies import ReadClaim, Reply, Verdict, edges
from workbench.language import languages

# ---------------------------------------------------------------- parts of claims
#
# A model gives one verdict for a claim. Which number, name or word of an unsupported claim is the wrong one is seen by
# looking it up: a part that stands in no context has support 0. Every part of a supported claim has support 1.

_QUANTITIES = frozenset(("number", "percent", "money", "date", "time", "duration", "version", "ordinal", "phone"))


class Texts:
    """The contexts that parts are looked up in."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = list(texts)

    @cached_property
    def _quantities(self) -> list[Quantity]:
        return [quantity for text in self._texts for quantity in quantities(text)]

    @cached_property
    def _folded(self) -> str:
        return "\n".join(normalise(text) for text in self._texts)

    def has_quantity(self, quantity: Quantity) -> bool:
        """Whether one of the texts says the same number or date."""
        return contains_quantity(self._quantities, quantity)

    def has(self, words: str) -> bool:
        """Whether ``words`` stand in one of the texts, after folding."""
        return normalise(words) in self._folded


def parts_of(text: str, start: int, end: int, texts: Texts, supported: bool) -> list[dict[str, Any]]:
    """Numbers, dates, names, negations and content words of ``text[start:end]``, in order, without overlaps.

    Each is ``{"start", "end", "text", "kind", "support"}`` with offsets in ``text`` and support 0 or 1.
    """
    claim = text[start:end]
    found = [
        (q.start, q.end, "date" if q.kind in ("date", "time") else "number", texts.has_quantity(q))
        for q in quantities(claim)
    ]
    stop = stop_words()
    says = (t for t in tokens(claim) if normalise(t.text) not in stop and any(c.isalnum() for c in t.text))
    for low, high, kind in (
        *((e.start, e.end, "entity") for e in entities(claim) if e.kind not in _QUANTITIES),
        *((n.start, n.end, "negation") for n in negations(claim)),
        *((t.start, t.end, "term") for t in says),
    ):
        if not any(low < b and a < high for a, b, *_ in found):
            found.append((low, high, kind, texts.has(claim[low:high])))
    return [
        {
            "start": start + low, "end": start + high, "text": claim[low:high], "kind": kind,
            "support": float(supported or there),
        }
        for low, high, kind, there in sorted(found)
    ]  # fmt: skip


def kinds_of(claim: str, parts: list[dict[str, Any]]) -> tuple[str, ...]:
    """What makes the claim serious when it is unsupported, as :class:`~workbench.evidence.judge.Claim` has it.

    ``number`` and ``date`` where one of them stands in no context; ``absolute`` where it allows no exception;
    ``entity`` where it names something.
    """
    weak = {part["kind"] for part in parts if part["support"] < 0.5}
    found = [name for name in ("number", "date") if name in weak]
    found += ["absolute"] if absolutes(claim) else []
    return (*found, *(["entity"] if any(part["kind"] == "entity" for part in parts) else []))


# ---------------------------------------------------------------- where a quote or a reworded claim stands in its text

_ELLIPSIS = re.compile(r"\s*(?:\.{3,}|…+|\[\.{3}\])\s*")
#: Shorter pieces of a quote prove nothing.
_SHORTEST = 2


def locate(quote: str, text: str) -> tuple[int, int] | None:
    """Offsets of ``quote`` in ``text``: as it is, or after folding width, case, script and white space; None if absent.

    Of a quote with an ellipsis the longest piece is looked for. Entities that the prompt wrote (``&lt;``) are undone.
    """
    for wanted in (quote, html.unescape(quote)):
        at = text.find(wanted) if wanted.strip() else -1
        if at >= 0:
            return at, at + len(wanted)
    pieces = [piece.strip(edges()) for piece in _ELLIPSIS.split(html.unescape(quote))]
    longest = max(pieces, key=len, default="")
    needle = normalise(longest) if len(longest) >= _SHORTEST else ""
    haystack, offsets = normalise_with_map(text) if needle else ("", None)
    at = haystack.find(needle) if needle else -1
    return offsets.span(at, at + len(needle)) if at >= 0 and offsets else None


class Places:
    """Finds claims in the text that they were made from."""

    def __init__(self, text: str) -> None:
        self._text = text

    def find(self, claim: str) -> tuple[int, int, int]:
        """``(start, end, sentence)`` of a claim.

        A claim in the text's own words gets its own offsets; a reworded one gets the sentence that has the largest part
        of its words, if that is at least half of them; else offsets are -1 and the sentence is the likeliest one.
        """
        place = locate(claim, self._text)
        if place is not None:
            return (*place, max((n for n, span in enumerate(self._sentences) if span.start <= place[0]), default=0))
        if not self._sentences:
            return -1, -1, 0
        own = set(words(claim))
        shares = [len(own & there) / len(own) if own else 0.0 for there in self._words]
        best = max(range(len(shares)), key=lambda n: shares[n])
        span = self._sentences[best]
        return (-1, -1, best) if shares[best] < 0.5 else (span.start, span.end, best)

    @cached_property
    def _sentences(self) -> list[Span]:
        return sentences(self._text)

    @cached_property
    def _words(self) -> list[frozenset[str]]:
        return [frozenset(words(span.text)) for span in self._sentences]


# ---------------------------------------------------------------- reverse questions compared with the real one

#: Similarity of two wordings of one question.
SAME = 0.9


class QuestionComparer:
    """Similarity of questions in [0, 1], on one scale for every encoder.

    similarity = .9 · (cos − u) / (s − u), clipped to [0, 1]; ``cos`` is the cosine of the encoder's vectors, ``u`` its mean
    between unrelated questions and ``s`` its mean between two wordings of one question, both over the fixed questions
    of ``questions.toml`` in the question's language. So unrelated questions have similarity near 0 and a question put in
    other words near .9, though raw cosines of unrelated questions lie near 0 for character n-grams and near .8 for e5.
    RAGAS (Es et al. 2023), whose measure this is, averages raw cosines.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self._scales: dict[str, tuple[float, float]] = {}

    def prepare(self) -> None:
        """Load the encoder and read its scales, so that nothing slow happens between two requests."""
        for code in _questions():
            self._scale(code)

    def compare(self, evidence: SampleEvidence, question: str) -> None:
        """Set the similarity of each reverse question of ``evidence`` to ``question``."""
        if not evidence.questions:
            return
        vectors = self.encoder.encode([question, *(item.text for item in evidence.questions)], kind="query")
        unrelated, same = self._scale(language(question))
        for item, vector in zip(evidence.questions, vectors[1:], strict=True):
            scaled = SAME * (float(vector @ vectors[0]) - unrelated) / (same - unrelated)
            item.similarity = min(1.0, max(0.0, scaled))

    def _scale(self, code: str) -> tuple[float, float]:
        """``u`` and ``s``, those of the first language for one without questions of its own.

        They are kept apart by at least .01 for encoders that cannot tell questions apart.
        """
        known = _questions()
        code = code if code in known else next(iter(known))
        if code not in self._scales:
            vectors = self.encoder.encode(known[code]["unrelated"], kind="query")
            unrelated = float((vectors @ vectors.T)[~np.eye(len(vectors), dtype=bool)].mean())
            left, right = (self.encoder.encode(side, kind="query") for side in zip(*known[code]["same"], strict=True))
            same = float(np.einsum("ij,ij->i", left, right).mean())
            self._scales[code] = (unrelated, max(same, unrelated + 0.01))
        return self._scales[code]


def _questions() -> dict[str, dict[str, Any]]:
    """The table ``questions`` of each language that has one."""
    return {item.code: table for item in languages() if (table := item.table("questions"))}


# ---------------------------------------------------------------- evidence

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
    """The evidence of one sample from the replies to the first call and to those about further parts of the contexts.

    ``questions``: reverse questions, empty when none were asked for.
    """
    evidence = SampleEvidence(task.sample.sample_id, method=method, missing=dict(NOT_PRODUCED))
    evidence.relevance_basis = task.relevance_basis
    evidence.notes = [*task.notes, *first.notes, *(note for part in parts for note in part.notes)]
    evidence.claims = _claims(task, first)
    _set_support(evidence, task, first, [first, *parts])
    _set_parts(evidence, task)
    _set_relevance(evidence, task, [first, *parts])
    if task.answer:
        _set_answer(evidence, first)
    evidence.questions = [ReverseQuestion(text) for text in questions]
    return evidence


@cache
def warm_up() -> None:
    """Load word lists and tables once, so that nothing slow happens between two requests."""
    examples = [text for table in _questions().values() for text in table["unrelated"][:2]]
    texts = Texts(examples)
    for text in examples:
        kinds_of(text, parts_of(f"{text} 2", 0, len(text) + 2, texts, supported=False))
        Places(text).find(examples[0])


def _claims(task: Task, first: Reply) -> list[Claim]:
    sides: tuple[tuple[Side, list[ReadClaim] | None, str | None], ...] = (
        ("answer", first.answer_claims, task.sample.answer), ("reference", first.reference_claims, task.sample.reference),
    )  # fmt: skip
    found: list[Claim] = []
    for side, claims, text in sides:
        places = Places(text or "")
        for item in claims or ():
            entail, contradict = PROBABILITIES[item.other] if item.other else (_NAN, _NAN)
            found.append(Claim(side, item.text, *places.find(item.text), entail, contradict))
        if len(claims or ()) == MAX_CLAIMS:
            found[-1].reason = f"the first {MAX_CLAIMS} claims are kept"
    return found


def _set_parts(evidence: SampleEvidence, task: Task) -> None:
    """Parts and kinds of the answer's claims, looked up in the prompted contexts."""
    texts = Texts(context.text for context in task.sample.contexts or () if context.prompted)
    best = None if evidence.entail is None else np.nan_to_num(evidence.entail).max(axis=1, initial=0.0)
    for row, claim in enumerate(evidence.claims):
        if claim.side == "answer":
            supported = best is not None and bool(best[row] >= YES)
            claim.kinds = kinds_of(claim.text, parts_of(claim.text, 0, len(claim.text), texts, supported))
            if claim.start >= 0:
                claim.spans = parts_of(task.sample.answer or "", claim.start, claim.end, texts, supported)


Judged = list[tuple[Piece, Verdict | None, str]]


def _set_support(evidence: SampleEvidence, task: Task, first: Reply, replies: Sequence[Reply]) -> None:
    contexts, read = task.sample.contexts, first.claims
    unread = [n for n, item in enumerate(read) if task.answer and task.reference and item.other is None]
    if contexts is not None:
        shape = (len(read), len(contexts))
        evidence.entail, evidence.contradict = (np.full(shape, np.nan, dtype=np.float32) for _ in range(2))
        evidence.spans = np.full((*shape, 2), -1, dtype=np.int32)
        blank = sorted(task.blank)
        evidence.entail[:, blank], evidence.contradict[:, blank] = PROBABILITIES["not_mentioned"]
        n_unverified = 0
        for row, item in enumerate(read):
            unverified = []
            for index, judged in _by_context(task, row, item, replies).items():
                pair = _merged([verdict for _, verdict, _ in judged])
                evidence.entail[row, index], evidence.contradict[row, index] = pair
                span = _span(judged)
                if span is not None:
                    evidence.spans[row, index] = span
                elif any(quote for _, _, quote in judged):
                    unverified.append(str(index + 1))
            if unverified:
                n_unverified += 1
                reason = f"the quote for context {', '.join(unverified)} is unverified: it does not stand there"
                claim = evidence.claims[row]
                claim.reason = f"{claim.reason}; {reason}" if claim.reason else reason
        if n_unverified:
            evidence.notes.append(f"quotes of {n_unverified} claims are unverified: not found in their contexts")
        shown = [index for index, context in enumerate(contexts) if context.prompted]
        cells = evidence.entail[:, shown]
        # A missing verdict can be anything; it changes nothing only where another context supports the claim.
        unread += np.flatnonzero(np.isnan(cells).any(axis=1) & ~(cells >= YES).any(axis=1)).tolist()
    if unread:
        evidence.missing["verdicts"] = ("judge_error", _why(replies, "answer_claims", "reference_claims", "claims"))


def _by_context(task: Task, row: int, claim: ReadClaim, replies: Sequence[Reply]) -> dict[int, Judged]:
    """For each context the verdicts on claim ``row`` of all its pieces."""
    found: dict[int, Judged] = {}
    for part, (pieces, reply) in enumerate(zip(task.parts, replies, strict=False)):
        source = claim if part == 0 else reply.by_number.get(row + 1, ReadClaim(""))
        for number, piece in enumerate(pieces, start=1):
            entry = (piece, source.verdicts.get(number), source.quotes.get(number, ""))
            found.setdefault(piece.index, []).append(entry)
    return dict(sorted(found.items()))


def _merged(verdicts: Sequence[Verdict | None]) -> tuple[float, float]:
    """(entail, contradict) of a context from those of its pieces: the highest, missing where that could hide more."""
    known = [PROBABILITIES[verdict] for verdict in verdicts if verdict is not None]
    entail = max((e for e, _ in known), default=_NAN)
    contradict = max((c for _, c in known), default=_NAN)
    return (entail, contradict) if len(known) == len(verdicts) or entail >= YES else (_NAN, _NAN)


def _span(judged: Judged) -> tuple[int, int] | None:
    """Where the first quote that exists stands in its context, the most telling verdict first."""
    order = {"supported": 0, "contradicted": 1, "not_mentioned": 2, None: 3}
    for piece, _, quote in sorted(judged, key=lambda item: order[item[1]]):
        place = locate(quote, piece.text) if quote else None
        if place is not None:
            return piece.start + place[0], piece.start + place[1]
    return None


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
        if True in values or None not in values:
            evidence.relevance[index] = YES if True in values else NO
    if flags and all(None in values and True not in values for values in flags.values()):
        evidence.missing["relevance"] = ("judge_error", _why(replies, "contexts"))


def _why(replies: Sequence[Reply], *parts: str) -> str:
    """The problem of one of ``parts``, else the first of all."""
    problems = [problem for reply in replies for problem in reply.ordered()]
    problem = next((item for item in problems if item.part in parts), problems[0] if problems else None)
    return str(problem) if problem else f"wrong_shape: {parts[0]} is missing"


def _set_answer(evidence: SampleEvidence, first: Reply) -> None:
    """Whether the answer declines, and which of its claims contradict each other."""
    if first.refusal is None:
        evidence.missing["refusal"] = ("judge_error", _why([first], "refusal"))
    else:
        evidence.declines, evidence.residual = (YES if flag else NO for flag in first.refusal)
    if first.conflicts is None:
        evidence.missing["conflicts"] = ("judge_error", "wrong_shape: conflicts cannot be read")
    else:
        evidence.conflicts = [(a - 1, b - 1, YES) for a, b in first.conflicts]
