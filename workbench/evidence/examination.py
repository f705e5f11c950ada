"""One sample before the offline judge: its claims, its texts, and what each text says about each claim.

All texts of the sample (contexts, neighbouring chunks joined, reference, answer) are laid out in one grid, the claims
of both sides, the question and the whole reference are its rows; every figure is then a reduction of that grid.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.claims_part import claims as find_claims
from workbench.data.points import find_point, stitch
from workbench.data.schema import Context, Sample
from workbench.data.text import Span
from workbench.evidence.alignment import ALIGNMENT, Alignment, align, alignment_features
from workbench.evidence.analysis import Analysis, analyse
from workbench.evidence.contradiction import Sign, contradictions
from workbench.evidence.features import LEXICAL, lexical_features, sentence_cover, untold
from workbench.evidence.grid import ClaimWords, Grid, Windows, claim_words, windows
from workbench.evidence.judge import MAX_CLAIMS, Side
from workbench.evidence.relevance import bare_values
from workbench.evidence.support import Coefficients
from workbench.evidence.vectors import TextVectors, sentence_vectors

Floats = NDArray[Any]

#: Words of each of two neighbouring chunks that are joined at their edge.
EDGE_WORDS = 120
#: What is said of claim and evidence in two scripts when no word can be compared and there are no token vectors.
UNKNOWN = 0.3
#: Across languages a probability is drawn to the middle of the unsure band, by this share of its distance.
UNSURE, WIDENED = 0.35, 0.7
#: Contradiction where no sign shows, as a share of what support leaves.
BASE_RATE = 0.03
#: What is left of the support by a text that has a number or code of the claim nowhere. People call 1 to 14 % of such claims
#: supported (CLAPnq, BEGIN, WiCE), however alike the rest is.
UNTOLD = 0.2
#: Support of a bare value that stands in a text, and that does not.
VALUE_FOUND, VALUE_ABSENT = 0.95, 0.03

_STEM = re.compile(r"^(?P<stem>.+?)#(?:chunk)?[-_]?(?P<position>\d+)$")


def _widened(probability: Floats) -> Floats:
    """Drawn towards the unsure band: across languages only the alignment speaks, and it cannot see small changes."""
    return (UNSURE + WIDENED * (probability - UNSURE)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class ClaimSpan:
    """Where a claim stands, its sentence, and whether it is a bare value of the reference."""

    side: Side
    start: int
    end: int
    sentence: int
    value: bool = False


@dataclass(frozen=True, slots=True)
class Joint:
    """Two neighbouring chunks of one document joined: contexts ``left`` and ``right``, and the text across the edge."""

    left: int
    right: int
    text: str


def claims_of(text: str | None, side: Side, declined: Sequence[Span] = ()) -> tuple[list[ClaimSpan], bool]:
    """The claims of an answer or a reference, and whether more than :data:`MAX_CLAIMS` were found.

    ``declined``: parts of the text that decline to answer; they claim nothing.
    """
    if not text or not text.strip():
        return [], False
    if side == "reference":
        values = [ClaimSpan(side, start, end, 0, True) for start, end in bare_values(text)]
        if values:
            return values[:MAX_CLAIMS], len(values) > MAX_CLAIMS
    found = find_claims(text)
    bounds = analyse(text).bounds
    numbers = np.clip(np.searchsorted(bounds[:, 0], [c.start for c in found.spans], side="right") - 1, 0, None)
    spans = [
        ClaimSpan(side, c.start, c.end, int(at))
        for c, at in zip(found.spans, numbers, strict=True)
        if not _mostly_within(c, declined)
    ]
    return spans[:MAX_CLAIMS], found.capped or len(spans) > MAX_CLAIMS


def _mostly_within(claim: Span, parts: Sequence[Span]) -> bool:
    """Whether half of a claim or more lies within the parts, which do not overlap."""
    inside = sum(max(0, min(claim.end, part.end) - max(claim.start, part.start)) for part in parts)
    return 2 * inside >= claim.end - claim.start and inside > 0


def joints(contexts: Sequence[Context]) -> list[Joint]:
    """Neighbouring chunks of one document, by ``source`` and ``position`` or by ids ``doc#1``, ``doc#2``."""
    places: dict[tuple[str, int], int] = {}
    for at, context in enumerate(contexts):
        place = chunk_place(context)
        if place is not None:
            places.setdefault(place, at)
    found = []
    for (source, position), left in places.items():
        right = places.get((source, position + 1))
        if right is not None:
            found.append(Joint(left, right, _across(contexts[left].text, contexts[right].text)))
    return found


def chunk_place(context: Context) -> tuple[str, int] | None:
    """(document, place in it) of a chunk, None when it is not known."""
    match = _STEM.match(context.doc_id or "")
    source = context.source or (match["stem"] if match else None)
    position = context.position if context.position is not None else (int(match["position"]) if match else None)
    return None if source is None or position is None else (source, position)


def _across(left: str, right: str) -> str:
    """The end of one chunk and the beginning of the next as one text."""
    tail, head = analyse(left), analyse(right)
    start = int(tail.starts[-EDGE_WORDS]) if len(tail.starts) > EDGE_WORDS else 0
    end = int(head.ends[EDGE_WORDS - 1]) if len(head.ends) > EDGE_WORDS else len(right)
    return stitch(left[start:], right[:end])


class Examination:
    """One sample laid out. ``n`` claims, ``T`` contexts, ``w`` windows over all texts.

    Parameters
    ----------
    passages, queries
        Vectors of the sample's texts by text; empty without an encoder.
    declined
        Parts of the answer that decline.
    """

    def __init__(
        self,
        sample: Sample,
        coefficients: Coefficients,
        passages: Mapping[str, TextVectors],
        queries: Mapping[str, TextVectors],
        declined: Sequence[Span] = (),
    ) -> None:
        self.sample, self.coefficients = sample, coefficients
        self.passages, self.queries = passages, queries
        self.contexts = sample.contexts or ()
        self.joints = joints(self.contexts)
        answer, self.answer_capped = claims_of(sample.answer, "answer", declined)
        reference, self.reference_capped = claims_of(sample.reference, "reference")
        self.spans = [*answer, *reference]
        self.answer = analyse(sample.answer) if sample.answer else None
        self.reference = analyse(sample.reference) if sample.reference else None
        self.question = analyse(sample.question)
        self.texts = self._texts()
        self.claims = [claim_words(self._source(span), span.start, span.end) for span in self.spans]

    def _texts(self) -> list[Analysis]:
        """Contexts, joints, then the reference and the answer where there are any."""
        own = [text for text in (self.reference, self.answer) if text is not None]
        return [*(analyse(c.text) for c in self.contexts), *(analyse(j.text) for j in self.joints), *own]

    def _source(self, span: ClaimSpan) -> Analysis:
        source = self.answer if span.side == "answer" else self.reference
        assert source is not None
        return source

    # -- where the texts are ---------------------------------------------------------------------------------

    @property
    def n_contexts(self) -> int:
        """T."""
        return len(self.contexts)

    @cached_property
    def reference_at(self) -> int:
        """Number of the reference among the texts, -1 without one."""
        return -1 if self.reference is None else len(self.contexts) + len(self.joints)

    @cached_property
    def answer_at(self) -> int:
        """Number of the answer among the texts, -1 without one."""
        return -1 if self.answer is None else len(self.texts) - 1

    # -- the grid --------------------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> list[ClaimWords]:
        """The claims, then the question, then the whole reference where there is one."""
        whole = [self.question] + ([self.reference] if self.reference is not None else [])
        return [*self.claims, *(claim_words(text, 0, len(text.text)) for text in whole)]

    @cached_property
    def grid(self) -> Grid:
        """All rows against all texts."""
        return Grid(self.rows, self.texts)

    @cached_property
    def windows(self) -> Windows:
        """Windows over all texts."""
        return windows(self.texts)

    @cached_property
    def lexical(self) -> Floats:
        """(n + 1 or 2, w, len(LEXICAL)): claims, question, reference."""
        return lexical_features(self.grid, self.windows)

    @cached_property
    def alignment(self) -> Alignment | None:
        """Token alignment of all rows, None where the coefficients use none."""
        if not self.coefficients.uses_tokens:
            return None
        mine = [self._words(row.source)[row.words] for row in self.rows]
        return align(self.grid, mine, [self._words(text) for text in self.texts])

    def _words(self, text: Analysis) -> Floats:
        known = self.queries if text is self.question else self.passages
        words = known[text.text].words
        assert words is not None
        return words

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the last axis of :attr:`features` holds."""
        return (*LEXICAL, *ALIGNMENT) if self.alignment is not None else LEXICAL

    @cached_property
    def features(self) -> Floats:
        """(rows, w, f)."""
        if self.alignment is None:
            return self.lexical
        return np.concatenate([self.lexical, alignment_features(self.grid, self.alignment, self.windows)], axis=2)

    # -- support ---------------------------------------------------------------------------------------------

    @cached_property
    def window_support(self) -> Floats:
        """(n, w) probability that a window supports a claim."""
        features = self.features[: len(self.claims)]
        models = self.coefficients.models
        result = models["support"].probability(features, self.names)
        across = self._across_scripts()
        if across.any():
            other = np.full_like(result, UNKNOWN)
            if self.alignment is not None and "support_across" in models:
                other = _widened(models["support_across"].probability(features, self.names))
            result = np.where(across, other, result)
        return result

    def _across_scripts(self) -> NDArray[np.bool_]:
        """(n, w) whether claim and window are in different scripts, so that words cannot be compared."""
        mine = np.array([claim.source.han for claim in self.claims], dtype=bool)
        theirs = np.array([text.han for text in self.texts], dtype=bool)[self.windows.owner]
        return mine[:, None] != theirs[None, :]

    @cached_property
    def signs(self) -> dict[tuple[int, int], Sign]:
        """The strongest sign of contradiction for each (claim, text) that has one."""
        found: dict[tuple[int, int], Sign] = {}
        for number in range(len(self.claims)):
            if self.spans[number].value:
                continue
            for sentence, sign in contradictions(self.grid, number):
                key = (number, int(np.searchsorted(self.grid.offsets, sentence, side="right")) - 1)
                if key not in found or sign.probability > found[key].probability:
                    found[key] = sign
        return found

    @cached_property
    def by_text(self) -> tuple[Floats, Floats]:
        """(n, texts) entailment and contradiction."""
        shape = (len(self.claims), len(self.texts))
        entail = np.zeros(shape, dtype=np.float32)
        if self.claims and len(self.windows):
            firsts = np.flatnonzero(np.diff(self.windows.owner, prepend=-1))
            entail[:, self.windows.owner[firsts]] = np.maximum.reduceat(self.window_support, firsts, axis=1)
        for number in range(len(self.claims)):
            entail[number, untold(self.grid, number, self.question)] *= UNTOLD
        self._values(entail)
        contradict = BASE_RATE * (1.0 - entail)
        for (claim, text), sign in self.signs.items():
            contradict[claim, text] = sign.probability
            entail[claim, text] = min(entail[claim, text], 1.0 - sign.probability)
        return entail, contradict.astype(np.float32)

    def _values(self, entail: Floats) -> None:
        """A bare value of the reference is supported where it stands, and only there."""
        for number, span in enumerate(self.spans):
            if span.value:
                value = self.claim_text(number)
                for at, text in enumerate(self.texts):
                    entail[number, at] = VALUE_FOUND if find_point(value, text.text) else VALUE_ABSENT
        if self.reference is not None and any(span.value for span in self.spans):
            self._answer_claims_against_values(entail)

    def _answer_claims_against_values(self, entail: Floats) -> None:
        """An answer claim that makes a value of a bare reference is supported by it; others cannot be told."""
        values = [self.claim_text(at) for at, span in enumerate(self.spans) if span.value]
        for number, span in enumerate(self.spans):
            if span.side == "answer":
                made = any(find_point(value, self.claim_text(number)) for value in values)
                entail[number, self.reference_at] = VALUE_FOUND if made else VALUE_ABSENT

    @cached_property
    def best_windows(self) -> NDArray[np.int64]:
        """(n,) the window of any context that supports each claim best, -1 without contexts."""
        among = np.flatnonzero(self.windows.owner < self.n_contexts + len(self.joints))
        if not len(among) or not self.claims:
            return np.full(len(self.claims), -1, dtype=np.int64)
        return among[np.argmax(self.window_support[:, among], axis=1)]

    def evidence_spans(self) -> NDArray[np.int32]:
        """(n, T, 2) offsets of the sentence of each context that says most about each claim; -1 where none does."""
        spans = np.full((len(self.claims), self.n_contexts, 2), -1, dtype=np.int32)
        for number in range(len(self.claims)):
            cover = self.sentence_scores(number)
            for at in range(self.n_contexts):
                low, high = self.grid.offsets[at], self.grid.offsets[at + 1]
                best = int(low + np.argmax(cover[low:high])) if high > low else -1
                if best >= 0 and cover[best] > 0.0:
                    spans[number, at] = self.texts[at].bounds[best - low]
        return spans

    def sentence_scores(self, row: int) -> Floats:
        """(s,) how much each sentence of the grid says about a row: its rarity-weighted cover, or its alignment."""
        if self.alignment is None:
            return sentence_cover(self.grid, row)
        rows = self.grid.rows[row]
        weight = self.grid.weight[rows] + 1e-3
        return (weight @ (0.5 * self.grid.present[rows] + 0.5 * self.alignment.plain[rows])) / weight.sum()

    def claim_text(self, number: int) -> str:
        """The text of a claim."""
        span = self.spans[number]
        return self._source(span).text[span.start : span.end]

    def window_text(self, number: int) -> str:
        """The text of a window."""
        owner = int(self.windows.owner[number])
        text, base = self.texts[owner], int(self.grid.offsets[owner])
        first, last = int(self.windows.first[number]) - base, int(self.windows.last[number]) - base
        return text.text[int(text.bounds[first, 0]) : int(text.bounds[last - 1, 1])]

    # -- similarities ----------------------------------------------------------------------------------------

    def similarities(self) -> Floats:
        """(T,) cosine of the question and each context as a retriever sees them, NaN without an encoder."""
        if not self.queries or not self.n_contexts:
            return np.full(self.n_contexts, np.nan, dtype=np.float32)
        rows = np.stack([self.passages[context.text].text for context in self.contexts])
        return (rows @ self.queries[self.sample.question].text).astype(np.float32)

    def sentence_similarities(self) -> Floats:
        """(s,) cosine of the question and the mean word vector of each sentence of the grid; NaN without them."""
        question = self.queries.get(self.sample.question)
        if self.alignment is None or question is None or not self.texts:
            return np.full(self.grid.n_sentences, np.nan, dtype=np.float32)
        rows = np.concatenate([sentence_vectors(text, self._words(text)) for text in self.texts])
        return (rows @ question.text).astype(np.float32)

    def answer_cosine(self, start: int, end: int) -> float:
        """Cosine of the question and a part of the answer; the whole answer's without word vectors; else NaN."""
        question = self.queries.get(self.sample.question)
        if question is None or self.answer is None:
            return float("nan")
        vectors = self.passages[self.answer.text]
        if vectors.words is None:
            return float(vectors.text @ question.text)
        mean = vectors.words[self.answer.words_between(start, end)].sum(axis=0)
        length = float(np.linalg.norm(mean))
        return float(mean @ question.text) / length if length > 0 else float("nan")
