"""How far a context helps to produce the reference or answer the question, and whether an answer addresses it.

The question (or the reference) is laid over the contexts like a claim; names, order and rarity count as they do for
support. Similarities are taken relative to random pairs, since an absolute cosine means nothing. The models and their
coefficients come from :mod:`workbench.evidence.offline.models`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from workbench.data.text.quantities import Quantity
from workbench.data.text.words import normalise
from workbench.evidence.offline.examination import KEY, Examination
from workbench.evidence.offline.features import (
    LEXICAL,
    sentence_cover,
)
from workbench.evidence.offline.polarity import answered
from workbench.evidence.offline.words import DATES, FUNCTION, NAME, NUMBER, Analysis, Floats, Numbers
from workbench.language import pattern

#: Features of a pair (question, text).
QUESTION = ("gram_cover", "word_cover", "sentence_cover", "name_cover", "pair_cover", "similarity")
#: Features of a pair (reference, text), with those of the question.
REFERENCE = ("entail", "reference_cover", "reference_sentence_cover", "reference_names", *QUESTION)
#: Features of a sentence of a context.
SENTENCE = ("question_cover", "question_similarity", "reference_cover", "length")
#: Features of a question and an answer; those of the last four lines are 0 where there is nothing to tell them by.
_ADDRESSING = (
    "question_cover",  # share of the question's content words, by rarity, that the answer holds
    "question_missing",  # rarity of the rarest that it does not hold
    "similarity",  # how far their cosine lies above that of random pairs
    "bare",  # at most four content words
    "length",
    "across",  # in two scripts
    "alignment",  # how near the words of the question have one in the answer
    "type_fits", "type_misses",  # it has, or lacks, what the type of question asks for, beside what the question says
    "rests_there", "rests_elsewhere",  # it rests on the sentence of a context that says most about what is asked; on another
    "ahead", "ahead_similarity",  # by how much it covers the question more, is nearer to it, than other sentences do
    "lacking", "alone",  # share of the question that the best of those has and it has not, and the other way
    "fits_ahead",  # whether it, but not that sentence, has what the question asks for; negative the other way
)  # fmt: skip
#: The same, and once more for bare answers alone and for those that rest on a context alone.
RELEVANCY = tuple(name + of for of in ("", "_bare", "_resting") for name in _ADDRESSING)
#: How much more often an answer addresses its question than not, in use; the model is fitted on as many of both. Of the
#: sentences of XQuAD that answer (folds by passage) 2 % then do not seem to.
ADDRESSING_ODDS = 7.0

#: The most that an answer addresses its question which lacks what is asked for while a sentence about the same tells it.
TOLD_ELSEWHERE = 0.1
#: Share of a claim from which it rests on a sentence.
RESTING = 0.9
#: Share of a claim from which an answer rests on a sentence when it is set against the others, as much as by which another
#: may hold less of it than the best; how far what a sentence leans on, or stands beside, is said by it.
RESTS, RESTS_ALIKE, LEANS, BESIDE = 0.5, 0.05, 0.8, 0.5
#: Sentences of the contexts that are looked at for what a question wants.
_LOOKED_AT = 30
#: What kinds of answer a question may want, the first that fits.
_WANTED = ("reason", "duration", "count", "time", "place", "person", "way", "polar")


@lru_cache(maxsize=8192)
def wanted(question: str) -> str:
    """The kind of answer that a question wants: one of ``reason, duration, count, time, place, person, way, polar`` or
    ``open``; the patterns are ``asks_…`` of ``offline.toml``."""
    folded = normalise(question)
    return next((name for name in _WANTED if pattern("offline", f"«asks_{name}»").search(folded)), "open")


def type_fit(question: Analysis, answer: Analysis) -> tuple[float, float]:
    """(fits, misses): whether the answer has what the type of question asks for; (0, 0) where nothing can be told.

    What the question says itself does not count: a year that it names answers no "when". A question for yes or no is also
    answered without either, so that nothing is missed there.
    """
    kind = wanted(question.text)
    if kind == "open":
        return 0.0, 0.0
    has = _has(kind, question, answer, slice(0, len(answer.ids)), answer.folded, answer.quantities)
    has = has or (kind in ("place", "person", "way") and len(answer.ids) <= 4)
    return float(has), float(not has and kind != "polar")


def sentence_fits(question: Analysis, text: Analysis, sentence: int) -> bool:
    """Whether a sentence has what the type of question asks for; True for open questions."""
    kind = wanted(question.text)
    start, end = text.bounds[sentence].tolist()
    inside = slice(*np.searchsorted(text.quantity_sentence, [sentence, sentence + 1]).tolist())
    words = text.words_between(start, end)
    return kind in ("open", "polar") or _has(kind, question, text, words, text.folded[start:end], text.quantities[inside])


#: Kinds of quantities that are no number of things, and the units of lengths.
_NO_COUNT = ("date", "time", "ordinal", "version", "phone")
_LENGTHS = ("mm", "cm", "m", "km", "in", "ft", "yd", "mi", "inch", "foot", "yard", "mile")


def _has(
    kind: str, question: Analysis, text: Analysis, words: slice, folded: str, told: Sequence[Quantity]
) -> bool:
    """Whether words of a text tell a thing of a kind that the question does not name."""
    asked = Numbers((quantity, 0) for quantity in question.quantities)
    new = [quantity for quantity in told if not asked.holding(quantity)]
    if kind == "count":
        counts = [q for q in new if q.kind not in _NO_COUNT and not (_is_year(q) and dated(text, q))]
        return bool(counts) or _tells(kind, folded, question)
    if kind == "duration":
        long = pattern("offline", "«asks_length»").search(question.folded) is not None
        fitting = (q.kind == "duration" or (q.kind == "number" and (not q.unit or (long and q.unit in _LENGTHS))) for q in new)
        return any(fitting) or _tells(kind, folded, question)
    if kind == "time":
        dates = (q.kind in (*DATES, "duration", "ordinal") or _is_year(q) for q in new)
        return any(dates) or _tells(kind, folded, question)
    if kind == "polar":
        return answered(folded) != 0
    if kind in ("place", "person"):
        known = frozenset(question.ids.tolist())
        named = text.kind[words] == NAME
        if len(named) and text.text[int(text.starts[words.start])].isupper():
            named[0] |= text.weight[words.start] >= 1.0  # a name that opens a sentence looks like any other word
            named[0] &= pattern("offline", "(?:«gerund»)").match(folded) is None  # "Building the bridge took …"
        if any(number not in known for number in text.ids[words][named].tolist()):
            return True
    return _tells(kind, folded, question)


def _is_year(quantity: Quantity) -> bool:
    value = quantity.value
    return quantity.kind == "number" and not quantity.unit and value is not None and 1000 <= value <= 2100


def dated(text: Analysis, quantity: Quantity) -> bool:
    """Whether a number follows a word as years do: "in 1752"."""
    before = text.folded[max(0, quantity.start - 16) : quantity.start]
    return pattern("offline", "(?:«before_year»)$").search(before) is not None


def _tells(kind: str, folded: str, question: Analysis) -> bool:
    """Whether a text has words that tell a thing of that kind and that the question does not have."""
    found = pattern("offline", f"«tells_{kind}»").finditer(folded)
    return any(match[0] not in question.folded for match in found)


def is_vague(question: Analysis) -> bool:
    """Whether a question names nothing that an answer could be about: "What does the document say?"."""
    vague = pattern("offline", "(?:«vague»)")
    places = zip(question.starts.tolist(), question.ends.tolist(), question.weight.tolist(), strict=True)
    return not any(weight > 0.3 and not vague.fullmatch(question.folded[start:end]) for start, end, weight in places)


def relevancy_features(seen: Examination, similarity: float) -> Floats:
    """(len(RELEVANCY),) float32 for the question and the answer of a sample.

    ``similarity``: how far theirs exceeds that of random pairs, 0 without an encoder.
    """
    answer, row = seen.answer, len(seen.claims)
    assert answer is not None
    grid, rows = seen.grid, seen.grid.rows[row]
    told = slice(int(grid.offsets[seen.answer_at]), int(grid.offsets[seen.answer_at + 1]))
    weight = grid.weight[rows]
    total = max(float(weight.sum()), 1e-6)
    present = grid.present[rows, told].max(axis=1, initial=0.0)
    aligned = 0.0
    if seen.alignment is not None and len(weight):
        aligned = float(weight @ seen.alignment.plain[rows, told].max(axis=1, initial=0.0)) / total
    content = int((answer.kind != FUNCTION).sum())
    across = float(seen.question.han != answer.han and len(answer.ids) > 0 and not _neutral(answer))
    missing = float((weight * (1.0 - present)).max(initial=0.0))
    values = [float(weight @ present) / total, missing, similarity, float(content <= 4), np.log1p(content), across, aligned,
              *type_fit(seen.question, answer), *_rests(seen, row), *_ahead(seen, row, told)]  # fmt: skip
    own = np.array(values, dtype=np.float32)
    resting = float(own[_ADDRESSING.index("rests_there")] + own[_ADDRESSING.index("rests_elsewhere")] > 0)
    return np.concatenate([own, own * (content <= 4), own * resting])


def _ahead(seen: Examination, row: int, told: slice) -> tuple[float, float, float, float, float]:
    """The values of an answer against the sentences of the contexts that it does not rest on; 0 where there are none.

    It rests on the sentences that hold most of one of its claims, which may answer in other words than it does; and what the
    sentences beside one say of the question is half said by it.
    """
    grid, end = seen.grid, int(seen.grid.offsets[seen.n_contexts])
    mine = np.zeros(end, dtype=bool)
    for claim in (at for at, span in enumerate(seen.spans) if span.side == "answer" and end):
        cover = sentence_cover(grid, claim)[:end]
        mine |= cover >= max(RESTS, float(cover.max()) - RESTS_ALIKE)
    others = np.flatnonzero(~mine)
    if not len(others):
        return 0.0, 0.0, 0.0, 0.0, 0.0
    weight, present = grid.weight[grid.rows[row]], grid.present[grid.rows[row]]
    total = max(float(weight.sum()), 1e-6)
    own, theirs = present[:, told].max(axis=1, initial=0.0), present[:, :end]
    owner = grid.owners(np.arange(end))
    before, after = (np.where(np.roll(owner, by) == owner, np.roll(theirs, by, axis=1), 0.0) for by in (1, -1))
    wide = weight @ np.maximum(theirs, BESIDE * np.maximum(before, after)) / total
    joint = np.maximum(theirs, LEANS * np.where(grid.leaning[:end], before, 0.0))
    near = np.nan_to_num(seen.sentence_similarities())
    best = int(others[np.argmax((weight @ joint / total + near[:end] / 2)[others])])
    said = np.maximum(own, joint[:, mine].max(axis=1, initial=0.0))
    ahead = max(float(weight @ own) / total, float(wide[mine].max(initial=0.0))) - float(wide[others].max())
    nearer = max(float(near[told].max(initial=0.0)), float(near[:end][mine].max(initial=0.0))) - float(near[others].max())
    lacking, alone = weight @ ((1.0 - said) * joint[:, best]), weight @ (said * (1.0 - joint[:, best]))
    fits = type_fit(seen.question, seen.answer)[1] == 0.0 if seen.answer is not None else False
    return ahead, nearer, float(lacking) / total, float(alone) / total, float(fits) - sentence_fits(
        seen.question, *grid.locate(best)
    )


def says_yes_or_no(seen: Examination) -> bool:
    """Whether the answer opens with yes or no, and the question asks for that."""
    return seen.answer is not None and wanted(seen.question.text) == "polar" and answered(seen.answer.folded) != 0


def told_elsewhere(seen: Examination) -> bool:
    """Whether the answer has nothing of the kind that the question wants while another sentence of the contexts has.

    That sentence is about the same: it has words of the question in common with the answer, and a telling one beyond them,
    or as many as the answer.
    """
    grid, row, end = seen.grid, len(seen.claims), int(seen.grid.offsets[seen.n_contexts])
    if not end or seen.answer is None or not type_fit(seen.question, seen.answer)[1]:
        return False
    weight, present = grid.weight[grid.rows[row]], grid.present[grid.rows[row]]
    mine = present[:, int(grid.offsets[seen.answer_at]) : int(grid.offsets[seen.answer_at + 1])].max(axis=1, initial=0.0)
    theirs = present[:, :end]
    # A sentence that leans on the one before speaks of the same.
    joint = np.maximum(theirs, LEANS * np.where(grid.leaning[:end], np.roll(theirs, 1, axis=1), 0.0))
    keys = ((weight * (1.0 - mine))[:, None] * theirs).max(axis=0, initial=0.0)
    as_much = weight @ joint >= weight @ mine - 0.05 * weight.sum()
    rests = np.zeros(end, dtype=np.float32)
    for at, span in enumerate(seen.spans):
        if span.side == "answer":
            rests = np.maximum(rests, sentence_cover(grid, at)[:end])
    other = (weight @ (joint * mine[:, None]) > 0) & ((keys >= KEY) | as_much) & (rests < RESTING)
    looked_at = np.flatnonzero(other)[:_LOOKED_AT].tolist()
    return any(sentence_fits(seen.question, *grid.locate(at)) for at in looked_at)


def _rests(seen: Examination, row: int) -> tuple[float, float]:
    """How far the answer rests on a sentence of the contexts that says as much about the question as any other does, and
    on one that says less."""
    end = int(seen.grid.offsets[seen.n_contexts])
    mine = [at for at, span in enumerate(seen.spans) if span.side == "answer"]
    if not end or not mine:
        return 0.0, 0.0
    near = seen.near_question
    best = float(sentence_cover(seen.grid, row)[:end].max(initial=0.0))
    there = elsewhere = 0.0
    for claim in mine:
        cover = sentence_cover(seen.grid, claim)[:end]
        top = float(cover.max(initial=0.0))
        if top >= 0.5 and best > 0:
            share = float(near[cover >= top - 0.05].max()) / best
            there, elsewhere = max(there, top * min(share, 1.0)), max(elsewhere, top * max(0.0, 1.0 - share))
    return there, min(elsewhere, 1.0 - there)


def context_features(lexical: Floats, owner: NDArray[np.int64], entail: Floats, similarity: Floats) -> Floats:
    """(T, len(REFERENCE)) float32; what concerns the reference is 0 without one.

    Parameters
    ----------
    lexical
        (1 or 2, w, len(LEXICAL)): rows of the question and of the reference, for the windows of the contexts.
    owner
        (w,) the context of each window.
    entail
        (m, T) support of the claims of the reference.
    similarity
        (T,) how far the similarity of the question and each context exceeds that of random pairs.
    """
    out = np.zeros((len(similarity), len(REFERENCE)), dtype=np.float32)
    if not len(similarity) or not len(owner):
        return out
    firsts = np.flatnonzero(np.diff(owner, prepend=-1))
    best = np.maximum.reduceat(lexical, firsts, axis=1)
    at = owner[firsts]
    if len(lexical) > 1:
        out[:, 0] = entail.max(axis=0, initial=0.0)
        out[at, 1:4] = best[1][:, [_COVER, _SENTENCE, _NAMES]]
    out[at, 4:9] = best[0][:, [_GRAMS, _COVER, _SENTENCE, _NAMES, _PAIRS]]
    out[:, 9] = similarity
    return out


_GRAMS, _COVER, _SENTENCE, _NAMES, _PAIRS = map(
    LEXICAL.index, ("gram_cover", "word_cover", "sentence_cover", "name_cover", "pair_cover")
)


def sentence_features(question: Floats, similarity: Floats, reference: Floats, lengths: NDArray[np.int64]) -> Floats:
    """(s, len(SENTENCE)) float32.

    Parameters
    ----------
    question, reference
        (s,) rarity-weighted share of the content words of the question and of the reference in each sentence.
    similarity
        (s,) how far the similarity with the question exceeds that of random pairs, 0 without token vectors.
    lengths
        (s,) words.
    """
    return np.stack([question, similarity, reference, np.log1p(lengths)], axis=1).astype(np.float32)


def _neutral(text: Analysis) -> bool:
    """Whether a text is only numbers and names, which belong to no language."""
    return bool(np.isin(text.kind, (NUMBER, NAME)).all())


def across(seen: Examination) -> NDArray[np.bool_]:
    """(T,) whether the question and each context are in different scripts, so that words cannot be compared."""
    return np.array([text.han != seen.question.han for text in seen.texts[: seen.n_contexts]], dtype=bool)


def features_of(seen: Examination, similarity: Floats) -> Floats:
    """:func:`context_features` of an examined sample; ``similarity`` (T,) relative to random pairs."""
    n, among = len(seen.claims), seen.windows.owner < seen.n_contexts
    reference = [at for at, span in enumerate(seen.spans) if span.side == "reference"]
    entail = seen.by_text[0][reference][:, : seen.n_contexts]
    return context_features(seen.lexical[n:, among], seen.windows.owner[among], entail, similarity)


def sentence_features_of(seen: Examination, similarity: Floats) -> Floats:
    """:func:`sentence_features` of all sentences of the contexts of an examined sample."""
    n, end = len(seen.claims), int(seen.grid.offsets[seen.n_contexts])
    question = sentence_cover(seen.grid, n)[:end]
    reference = np.zeros_like(question) if seen.reference is None else sentence_cover(seen.grid, n + 1)[:end]
    return sentence_features(question, similarity[:end], reference, seen.grid.lengths[:end])


