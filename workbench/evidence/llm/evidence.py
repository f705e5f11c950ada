"""From replies to evidence: verdicts in words become probabilities, quotes become spans, claims find their place."""

from __future__ import annotations

import html
import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.data.text.markers import absolutes, negations
from workbench.data.text.quantities import Quantity, contains_quantity, entities, quantities
from workbench.data.text.words import Token, normalise, stop_words, tokens
from workbench.evidence.judge import MAX_CLAIMS, Claim, ReverseQuestion, SampleEvidence, Side
from workbench.evidence.llm.prompts import Piece, Task
from workbench.evidence.llm.replies import ReadClaim, Reply, Verdict
from workbench.language import codes

if TYPE_CHECKING:
    from workbench.evidence.encoders.base import Encoder


# ------------------------------------------------------------------------------
# The parts of a claim with support of their own, and what makes it serious: read from the texts, not from the model.
#
# A model gives one verdict for a claim. Which number, name or word of an unsupported claim is the wrong one is seen by
# looking it up: a part that stands in no context has support 0. Every part of a supported claim has support 1.


_DATES = ("date", "time")
_QUANTITIES = frozenset(("number", "percent", "money", "date", "time", "duration", "version", "ordinal"))

Part = tuple[int, int, str]


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
    found: list[tuple[Part, bool]] = [
        ((q.start, q.end, _kind(q.kind)), texts.has_quantity(q)) for q in quantities(claim)
    ]
    _add(found, ((e.start, e.end, "entity") for e in entities(claim) if e.kind not in _QUANTITIES), claim, texts)
    _add(found, ((n.start, n.end, "negation") for n in negations(claim)), claim, texts)
    _add(found, ((t.start, t.end, "term") for t in tokens(claim) if _says_something(t)), claim, texts)
    return [
        {
            "start": start + low,
            "end": start + high,
            "text": claim[low:high],
            "kind": kind,
            "support": float(supported or there),
        }
        for (low, high, kind), there in sorted(found)
    ]


def kinds_of(claim: str, parts: list[dict[str, Any]]) -> tuple[str, ...]:
    """What makes the claim serious when it is unsupported, as :class:`~workbench.evidence.judge.Claim` has it.

    ``number`` and ``date`` where one of them stands in no context; ``absolute`` where it allows no exception;
    ``entity`` where it names something.
    """
    weak = {part["kind"] for part in parts if part["support"] < 0.5}
    found = [name for name in ("number", "date") if name in weak]
    if absolutes(claim):
        found.append("absolute")
    if any(part["kind"] == "entity" for part in parts):
        found.append("entity")
    return tuple(found)


def _kind(kind: str) -> str:
    return "date" if kind in _DATES else "number"


def _add(found: list[tuple[Part, bool]], more: Iterable[Part], claim: str, texts: Texts) -> None:
    for start, end, kind in more:
        if not any(low < end and start < high for (low, high, _), _ in found):
            found.append(((start, end, kind), texts.has(claim[start:end])))


def _says_something(token: Token) -> bool:
    return normalise(token.text) not in stop_words() and any(c.isalnum() for c in token.text)


# ------------------------------------------------------------------------------
# Where a quote or a reworded claim stands in the text it was taken from.


_ELLIPSIS = re.compile(r"\s*(?:\.{3,}|…+|\[\.{3}\])\s*")
_EDGES = " \t\r\n\"'“”‘’「」『』`.。,，;；"
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
    pieces = [piece.strip(_EDGES) for piece in _ELLIPSIS.split(html.unescape(quote))]
    longest = max(pieces, key=len, default="")
    return _folded(longest, text) if len(longest) >= _SHORTEST else None


def _folded(wanted: str, text: str) -> tuple[int, int] | None:
    from workbench.data.text.words import normalise, normalise_with_map

    needle = normalise(wanted)
    haystack, offsets = normalise_with_map(text)
    at = haystack.find(needle) if needle else -1
    return offsets.span(at, at + len(needle)) if at >= 0 else None


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
            return (*place, self._sentence_at(place[0]))
        if not self._sentences:
            return -1, -1, 0
        shares = [self._share(claim, words) for words in self._words]
        best = max(range(len(shares)), key=lambda n: shares[n])
        if shares[best] < 0.5:
            return -1, -1, best
        span = self._sentences[best]
        return span.start, span.end, best

    def _sentence_at(self, offset: int) -> int:
        return max((n for n, span in enumerate(self._sentences) if span.start <= offset), default=0)

    @cached_property
    def _sentences(self) -> list:
        from workbench.data.text.sentences import sentences

        return sentences(self._text)

    @cached_property
    def _words(self) -> list[frozenset[str]]:
        from workbench.data.text.words import words

        return [frozenset(words(span.text)) for span in self._sentences]

    @staticmethod
    def _share(claim: str, words_of_sentence: frozenset[str]) -> float:
        from workbench.data.text.words import words

        own = set(words(claim))
        return len(own & words_of_sentence) / len(own) if own else 0.0


# ------------------------------------------------------------------------------
# Reverse questions compared with the real one.


#: Similarity of two wordings of one question.
SAME = 0.9


class QuestionComparer:
    """Similarity of questions in [0, 1], on one scale for every encoder.

    similarity = .9 · (cos − u) / (s − u), clipped to [0, 1]; ``cos`` is the cosine of the encoder's vectors, ``u`` its mean
    between unrelated questions and ``s`` its mean between two wordings of one question, both over the fixed questions
    of ``background.toml`` in the question's language. So unrelated questions have similarity near 0 and a question put in
    other words near .9, though raw cosines of unrelated questions lie near 0 for character n-grams and near .8 for e5.
    RAGAS (Es et al. 2023), whose measure this is, averages raw cosines.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self._scales: dict[str, tuple[float, float]] = {}

    def prepare(self) -> None:
        """Load the encoder and read its scales, so that nothing slow happens between two requests."""
        for language in codes():
            self._scale(language)

    def compare(self, evidence: SampleEvidence, question: str) -> None:
        """Set the similarity of each reverse question of ``evidence`` to ``question``."""
        if not evidence.questions:
            return
        from workbench.data.text.words import language

        vectors = self.encoder.encode([question, *(item.text for item in evidence.questions)], kind="query")
        unrelated, same = self._scale("zh" if language(question) == "zh" else "en")
        for item, vector in zip(evidence.questions, vectors[1:], strict=True):
            scaled = SAME * (float(vector @ vectors[0]) - unrelated) / (same - unrelated)
            item.similarity = min(1.0, max(0.0, scaled))

    def _scale(self, language: str) -> tuple[float, float]:
        """``u`` and ``s``; they are kept apart by at least .01 for encoders that cannot tell questions apart."""
        if language not in self._scales:
            table = _background()
            vectors = self.encoder.encode(table["unrelated"][language], kind="query")
            others = ~np.eye(len(vectors), dtype=bool)
            unrelated = float((vectors @ vectors.T)[others].mean())
            left, right = (
                self.encoder.encode(list(side), kind="query") for side in zip(*table["same"][language], strict=True)
            )
            same = float(np.einsum("ij,ij->i", left, right).mean())
            self._scales[language] = (unrelated, max(same, unrelated + 0.01))
        return self._scales[language]


@cache
def _background() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("background.toml").read_text(encoding="utf-8"))


# ------------------------------------------------------------------------------


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
