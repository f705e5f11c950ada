"""The judge that needs no language model: embeddings, lexical evidence and a small trained logistic model.

What it cannot see: who did what to whom inside one sentence, knowledge added in plausible words, a faithful paraphrase
that shares no words, negations and opposites outside its list. Probabilities are calibrated, so that such claims lie in
the unsure band rather than at either end. Judgements depend on the sample alone, never on what it is examined with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from workbench.data.schema import Sample
from workbench.data.text.refusals import Refusal, refusal
from workbench.evidence.cache import Cache
from workbench.evidence.encoders.base import CachedEncoder, Encoder, encoder_identity
from workbench.evidence.encoders.resolve import remembered
from workbench.evidence.judge import MAX_CLAIMS, Claim, SampleEvidence
from workbench.evidence.offline import reader, reading, relevance
from workbench.evidence.offline.claim_parts import claim_parts, serious_kinds, span_features, word_support
from workbench.evidence.offline.claims import joints
from workbench.evidence.offline.contradiction import conflicts
from workbench.evidence.offline.examination import Examination
from workbench.evidence.offline.excerpts import is_long, read_of
from workbench.evidence.offline.features import claim_negations
from workbench.evidence.offline.models import (
    AnswerSimilarity,
    Coefficients,
    RefusalModel,
    excess,
    load_coefficients,
    load_refusal_model,
)
from workbench.evidence.offline.vectors import TextVectors, VectorStore

Floats = NDArray[Any]

#: Samples whose texts are encoded together, and the characters of all their texts: at most.
BATCH = 64
BATCH_CHARACTERS = 400_000
#: Of a question, an answer or a reference so many characters are examined (contexts have no bound); it holds some 200 claims.
MAX_CHARACTERS = 30_000
#: Raised when a change of code changes verdicts.
VERSION = "13"

#: Support from which a claim stands in a context, with all its numbers.
STATED = 0.6


class OfflineJudge:
    """A judge without a language model and without a network.

    Parameters
    ----------
    encoder
        A name that :func:`~workbench.evidence.encoders.base.resolve_encoder` knows, an encoder, or ``"none"`` (or None) for
        words alone. Encoders without coefficients of their own give similarities; support is then judged by the
        lexical model (method ``offline-lexical``).
    cache
        Where vectors of texts are kept between runs for encoders without token vectors; None = in memory only. Those
        with token vectors have a file of their own in the folder of all caches.
    """

    #: Whether claims are read as well that words and numbers tell better; training asks for that.
    reads_near = False

    def __init__(self, encoder: str | Encoder | None = "auto", cache: Cache | None = None) -> None:
        self._wanted, self._cache = encoder, cache

    @cached_property
    def encoder(self) -> Encoder | None:
        """The encoder, loaded when it is first needed; None for words alone."""
        if self._wanted is None or self._wanted == "none":
            return None
        found = remembered(self._wanted, Cache(name="vectors.sqlite"))
        return found if self._cache is None else cast(Encoder, CachedEncoder(found, self._cache))

    @cached_property
    def coefficients(self) -> Coefficients:
        """The models in use."""
        found = load_coefficients(None if self.encoder is None else self.encoder.name)
        able = hasattr(self.encoder, "encode_with_tokens") or hasattr(self.encoder, "token_vectors")
        return found if able or not found.uses_tokens else load_coefficients(None)

    @property
    def method(self) -> str:
        """``offline-e5``, or ``offline-lexical`` without an encoder that has coefficients."""
        return self.coefficients.method

    @cached_property
    def name(self) -> str:
        """Goes into cache keys: the code's version, the coefficients' version, the encoder."""
        encoder = "none" if self.encoder is None else encoder_identity(self.encoder)
        refusals = "" if self._refusals is None else f"-{self._refusals.version}"
        read = f"-{reading.version()}" if self._reads else ""
        return f"{self.method}/{VERSION}-{self.coefficients.version}{refusals}{read}/{encoder}"

    @property
    def _reads(self) -> bool:
        return self.coefficients.uses_tokens and reader.reads(self.encoder)

    @cached_property
    def _reader(self) -> reader.Reader | None:
        """What reads claim and text together; None where words and vectors must do."""
        return reader.load_reader(self.encoder) if self._reads else None

    @cached_property
    def _refusals(self) -> RefusalModel | None:
        """The models of refusals that read vectors; None where words alone must do."""
        if self.encoder is None or not self.coefficients.uses_tokens:
            return None
        return load_refusal_model(self.encoder.name)

    @cached_property
    def _store(self) -> VectorStore | None:
        if self.encoder is None:
            return None
        return VectorStore(self.encoder, tokens=self.coefficients.uses_tokens, cache=Cache(name="words.sqlite"))

    def efforts(self, samples: Sequence[Sample]) -> list[float]:
        """Characters that are encoded for each sample, about: what its time goes by. A text counts once, where it is first."""
        known: set[str] = set()
        found = []
        for sample in samples:
            new = {text for text in _passages(sample, tokens=False) if text not in known}
            known |= new
            # Laying out a sample takes as long as encoding a paragraph does.
            found.append(500.0 + sum(read_of(len(text)) for text in new))
        return found

    def examine(self, samples: Sequence[Sample]) -> Iterator[SampleEvidence]:
        """Yield the evidence of each sample in order; texts are encoded in batches of :data:`BATCH` samples.

        Raises
        ------
        EncoderError
            When the encoder cannot be loaded or returns what is no vector.
        """
        for batch in _batches([_within(sample) for sample in samples]):
            passages, queries = self._vectors(batch)
            declined = [self._refusal(sample, passages, queries) for sample in batch]
            seen = [
                Examination(sample, self.coefficients, passages, queries, one.spans)
                for sample, one in zip(batch, declined, strict=True)
            ]
            pieces, wholes = self._vectors_of_long(seen)
            while seen:
                one = seen.pop(0)  # its matrices go when its evidence is there
                one.read_pieces(pieces, wholes)
                self._read(one)
                yield self._evidence(one, declined.pop(0))

    def _vectors(self, batch: Sequence[Sample]) -> tuple[dict[str, TextVectors], dict[str, TextVectors]]:
        if self._store is None:
            return {}, {}
        passages = [text for sample in batch for text in _passages(sample, self.coefficients.uses_tokens)]
        return self._store.get(passages, "passage"), self._store.get([s.question for s in batch], "query")

    def _vectors_of_long(self, seen: Sequence[Examination]) -> tuple[dict[str, TextVectors], dict[str, Floats]]:
        """Of what is read of long texts the vectors of its pieces, and one of each long context as a retriever has it."""
        if self._store is None or not self.coefficients.uses_tokens:
            return {}, {}
        read = [some for one in seen for some in one.excerpts if some is not None]
        pieces = self._store.get([piece for some in read for piece in some.strings], "passage")
        return pieces, self._store.as_retrieved([text for one in seen for text in one.long_contexts])

    # -- one sample ------------------------------------------------------------------------------------------

    def _read(self, seen: Examination) -> None:
        """Have the claims of the answer read with the contexts, and the answer with the reference."""
        if self._reader is None:
            return
        pairs = reading.pairs(seen, self.reads_near)
        whole, same = reading.whole(seen, pairs), reading.with_reference(seen)
        read = self._reader.read([*pairs.values(), *whole, *same])
        seen.readings = dict(zip(pairs, read, strict=False))
        if whole:
            within = read[len(pairs)]
            seen.readings = {number: reading.both(alone, within) for number, alone in seen.readings.items()}
        seen.same = float(read[-1, 4]) if same else float("nan")

    def _evidence(self, seen: Examination, declined: Refusal) -> SampleEvidence:
        evidence = SampleEvidence(sample_id=seen.sample.sample_id, method=self.method)
        entail, contradict = self._support(seen)
        t = seen.n_contexts
        evidence.entail = entail[:, :t].copy()
        evidence.contradict = _conflicting(evidence.entail, contradict[:, :t])
        evidence.stitched_entail, across = _stitched(seen, entail, contradict)
        evidence.stitched_contradict = _conflicting(evidence.entail, across)
        for joint in seen.joints:
            # What the two chunks tell together, half of it does not deny.
            told = evidence.stitched_entail[:, joint.left]
            for half in (joint.left, joint.right):
                here = evidence.contradict[:, half]
                here[:] = np.where(told >= 0.5, np.minimum(here, 1.0 - told), here)
        evidence.spans = seen.evidence_spans()
        evidence.claims = self._claims(seen, entail, contradict)
        self._relevance(seen, evidence)
        self._answer(seen, evidence, declined)
        evidence.conflicts = _conflicts(seen)
        _say_caps(seen, evidence)
        return evidence

    def _support(self, seen: Examination) -> tuple[Floats, Floats]:
        """(n, texts) entailment and contradiction of each claim by each text of the sample."""
        return seen.by_text

    def _claims(self, seen: Examination, entail: Floats, contradict: Floats) -> list[Claim]:
        made = []
        for number, (span, words) in enumerate(zip(seen.spans, seen.claims, strict=True)):
            parts = self._parts(seen, number, self._read_in(seen, entail[number], contradict[number]))
            other = seen.reference_at if span.side == "answer" else seen.answer_at
            claim = Claim(span.side, words.source.text[span.start : span.end], span.start, span.end, span.sentence)
            if other >= 0:
                claim.other_entail = float(entail[number, other])
                claim.other_contradict = float(contradict[number, other])
            claim.spans, claim.kinds = parts, serious_kinds(words, parts)
            claim.reason = _signs(seen, number)
            made.append(claim)
        return made

    def _read_in(self, seen: Examination, entail: Floats, contradict: Floats) -> int | None:
        """The context in which the parts of a claim are read: the one against it where it is contradicted, else any."""
        t = seen.n_contexts
        against = int(np.argmax(contradict[:t])) if t else 0
        return against if t and contradict[against] >= max(0.5, entail[:t].max()) else None

    def _parts(self, seen: Examination, number: int, context: int | None) -> list[dict[str, Any]]:
        claim, window = seen.claims[number], int(seen.best_windows[number])
        if context is not None:
            among = np.flatnonzero(seen.windows.owner == context)
            window = int(among[np.argmax(seen.window_support[number, among])]) if len(among) else window
        n = claim.n_words
        if window < 0:
            return claim_parts(claim, np.zeros(n, dtype=np.float32), 0.0)
        cover = seen.sentence_scores(number)
        features = span_features(seen.grid, seen.alignment, number, seen.windows, window)
        first, last = int(seen.windows.first[window]), int(seen.windows.last[window])
        best = first + int(np.argmax(cover[first:last]))
        same = seen.grid.negations[best] % 2 == len(claim_negations(claim)) % 2
        support = word_support(self.coefficients.models["span"], features, claim.source.kind[claim.words])
        return claim_parts(claim, support, 0.9 if same else 0.2)

    # -- relevance -------------------------------------------------------------------------------------------

    def _relevance(self, seen: Examination, evidence: SampleEvidence) -> None:
        evidence.relevance_basis = "reference" if seen.reference is not None else "question"
        evidence.similarity = seen.similarities()
        if self.encoder is None:
            evidence.missing["similarity"] = ("skipped", "the judge runs without an encoder")
        evidence.relevance = self._context_relevance(seen, evidence.relevance_basis, evidence.similarity)
        evidence.n_sentences = np.array([len(t.bounds) for t in seen.texts[: seen.n_contexts]], dtype=np.float32)
        evidence.relevant_sentences = self._relevant_sentences(seen, evidence.relevance_basis)

    def _context_relevance(self, seen: Examination, basis: str, similarity: Floats) -> Floats:
        """(T,) by the model of the basis, and where question and context differ in script by the one for that."""
        across, models = relevance.across(seen), self.coefficients.models
        near = np.where(
            across, self._excess(similarity, "question_passage_across"), self._excess(similarity, "question_passage")
        )
        features = relevance.features_of(seen, near.astype(np.float32))
        same = models[f"relevance_{basis}"].probability(features, relevance.REFERENCE)
        if not across.any():
            return same
        other = models[f"relevance_{basis}_across"].probability(features, relevance.REFERENCE)
        return np.where(across, other, same)

    def _relevant_sentences(self, seen: Examination, basis: str) -> Floats:
        """(T,) number of sentences of each context with probability ≥ .5 of being relevant."""
        similarity = self._excess(seen.sentence_similarities(), "question_sentence")
        features = relevance.sentence_features_of(seen, similarity)
        model = self.coefficients.models[f"sentence_{basis}"]
        relevant = model.probability(features, relevance.SENTENCE) >= 0.5
        total = np.concatenate([[0], np.cumsum(relevant)])
        offsets = seen.grid.offsets[: seen.n_contexts + 1]
        return (total[offsets[1:]] - total[offsets[:-1]]).astype(np.float32)

    def _excess(self, cosines: Floats, pairs: str) -> Floats:
        return excess(cosines, self.coefficients.random_pairs.get(pairs))

    # -- the answer as a whole -------------------------------------------------------------------------------

    def _answer(self, seen: Examination, evidence: SampleEvidence, declined: Refusal) -> None:
        if seen.answer is None:
            return
        evidence.relevancy = self._relevancy(seen)
        evidence.answer_similarity = self._answer_similarity(seen)
        evidence.same = seen.same
        evidence.declines = declined.refusing
        evidence.residual = declined.left if declined.spans else 0.0

    def _refusal(
        self, sample: Sample, passages: dict[str, TextVectors], queries: dict[str, TextVectors]
    ) -> Refusal:
        answer, phrases = sample.answer or "", sample.refusal_phrases
        vectors = passages.get(answer)
        if self._refusals is None or vectors is None or not self._refusals.reads(vectors):
            return refusal(answer, phrases, sample.question)
        return self._refusals.refusal(answer, vectors, phrases, sample.question, queries.get(sample.question))

    def _relevancy(self, seen: Examination) -> float:
        """Calibrated probability that the answer addresses the question; a bare yes or no to what wants one does."""
        cosine = np.array([seen.answer_cosine()], dtype=np.float32)
        pairs = "question_answer_han" if seen.question.han else "question_answer"
        features = relevance.relevancy_features(seen, float(self._excess(cosine, pairs)[0]))
        even = float(self.coefficients.models["relevancy"].probability(features[None], relevance.RELEVANCY)[0])
        if seen.readings:
            even = reading.addressing(even, max(float(read[3]) for read in seen.readings.values()))
        if relevance.told_elsewhere(seen):
            even = min(even, relevance.TOLD_ELSEWHERE)  # of another thing about the same subject
        elif relevance.says_yes_or_no(seen):
            even = max(even, 0.5)  # yes or no, as asked
        if relevance.is_vague(seen.question):
            even = max(even, 0.5)  # nothing tells what is asked
        if seen.answered:
            even = max(even, 0.9)
        return even * relevance.ADDRESSING_ODDS / (even * relevance.ADDRESSING_ODDS + 1 - even)

    def _answer_similarity(self, seen: Examination) -> float:
        if self.encoder is None or seen.answer is None or seen.reference is None:
            return float("nan")
        cosine = float(seen.passages[seen.answer.text].text @ seen.passages[seen.reference.text].text)
        return self._similarity.of(cosine)

    @cached_property
    def _similarity(self) -> AnswerSimilarity:
        return AnswerSimilarity(self.encoder, self.coefficients.random_pairs.get("answer_reference"))


def _within(sample: Sample) -> Sample:
    """The sample with its own texts cut to what is examined; the question is all that was asked."""
    answer, reference = (text and text[:MAX_CHARACTERS] for text in (sample.answer, sample.reference))
    return replace(sample, question=sample.asked[:MAX_CHARACTERS], answer=answer, reference=reference)


def _batches(samples: Sequence[Sample]) -> Iterator[list[Sample]]:
    """At most :data:`BATCH` samples, and :data:`BATCH_CHARACTERS` of their texts: a batch's vectors are in memory at once."""
    batch: list[Sample] = []
    size = 0
    for sample in samples:
        length = sum(len(text) for text in _passages(sample, tokens=False))
        if batch and (len(batch) == BATCH or size + length > BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(sample)
        size += length
    if batch:
        yield batch


def _passages(sample: Sample, tokens: bool) -> list[str]:
    """The texts of a sample that are encoded as passages; with word vectors, of long contexts only what is read, later."""
    contexts = sample.contexts or ()
    found = [context.text for context in contexts if not (tokens and is_long(context.text))]
    found += [text for text in (sample.answer, sample.reference) if text]
    return found + ([joint.text for joint in joints(contexts)] if tokens else [])


def _conflicting(entail: Floats, contradict: Floats) -> Floats:
    """``contradict`` (n, T; NaN stays), no higher than the best support of a claim that stands in a context.

    Another context that says otherwise is then a conflict between contexts (an outdated page, say): the claim does
    not contradict what the generator was given, though it may be the wrong one of the two to follow.
    """
    if not entail.shape[1]:
        return contradict.copy()
    best = np.nanmax(entail, axis=1, keepdims=True)
    return np.where(best >= STATED, np.minimum(contradict, best), contradict).astype(np.float32)


def _stitched(seen: Examination, entail: Floats, contradict: Floats) -> tuple[Floats, Floats]:
    """(n, T) for context t joined with the next chunk of its document in the way that tells more; NaN without a next one."""
    shape = (len(seen.claims), seen.n_contexts)
    told, denied = (np.full(shape, np.nan, dtype=np.float32) for _ in range(2))
    for at, joint in enumerate(seen.joints, seen.n_contexts):
        more = ~(entail[:, at] <= told[:, joint.left])
        told[more, joint.left], denied[more, joint.left] = entail[more, at], contradict[more, at]
    return told, denied


def _signs(seen: Examination, number: int) -> str:
    """What the signs of contradiction against a claim are, for people: ``2014 ≠ 2015``; empty without any."""
    found = [sign.text for (claim, text), sign in seen.signs.items() if claim == number and text < seen.n_contexts]
    return "; ".join(dict.fromkeys(found))


def _conflicts(seen: Examination) -> list[tuple[int, int, float]]:
    """Pairs of answer claims that contradict each other by one of the narrow signs."""
    mine = [at for at, span in enumerate(seen.spans) if span.side == "answer" and not span.value]
    return conflicts(seen.grid, seen.answer_at, mine) if len(mine) > 1 else []


def _say_caps(seen: Examination, evidence: SampleEvidence) -> None:
    sides = [("answer", seen.answer_capped), ("reference", seen.reference_capped)]
    capped = [side for side, cut in sides if cut]
    said = [f"more than {MAX_CLAIMS} claims in the {side}: the rest is left out" for side in capped]
    own = {"question": seen.sample.question, "answer": seen.sample.answer, "reference": seen.sample.reference}
    long = [side for side, text in own.items() if len(text or "") == MAX_CHARACTERS]
    said += [f"the {side} is examined up to {MAX_CHARACTERS:,} characters" for side in long]
    evidence.reason = "; ".join(said)
