"""One sample before the offline judge: its claims, its texts, and what each text says about each claim.

All texts of the sample (contexts, neighbouring chunks joined, reference, answer) are laid out in one grid, the claims
of both sides, the question and the whole reference are its rows; every figure is then a reduction of that grid.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.corpus import chunk_order
from workbench.data.schema import Context, Sample
from workbench.data.text.markers import absolutes
from workbench.data.text.normalise import HAN_CHARACTER, unspaced
from workbench.data.text.points import find_point, stitch
from workbench.data.text.quantities import Quantity, quantities
from workbench.data.text.refusals import claims as find_claims
from workbench.data.text.sentences import denied
from workbench.data.text.words import Span, normalise
from workbench.evidence.judge import MAX_CLAIMS, Side
from workbench.evidence.offline import answer_reading
from workbench.evidence.offline.cells import CellVerdict, cell_verdict, tables_in
from workbench.evidence.offline.excerpts import Excerpt, excerpt
from workbench.evidence.offline.features import (
    ALIGNMENT,
    LEXICAL,
    Alignment,
    Sign,
    align,
    alignment_features,
    claim_negations,
    codes_of,
    contradictions,
    holds_code,
    lexical_features,
    sentence_cover,
    untold,
)
from workbench.evidence.offline.models import Coefficients, Logistic
from workbench.evidence.offline.polarity import answered
from workbench.evidence.offline.relations import relate
from workbench.evidence.offline.vectors import TextVectors, sentence_vectors, vectors_of
from workbench.evidence.offline.words import (
    FUNCTION,
    NAME,
    NUMBER,
    TERM,
    Analysis,
    ClaimWords,
    Grid,
    Numbers,
    Windows,
    analyse,
    claim_words,
    names_of,
    quantities_of,
    windows,
)
from workbench.language import pattern

# ------------------------------------------------------------------------------
# The parts of a claim, each with support of its own, so that one wrong word in a long sentence is named.


#: What is known of a word of a claim in the window that supports the claim best; alignments are 0 without vectors.
SPAN = (
    "present",  # how far the window holds it
    "lacking",  # (1 - present) x rarity: a common word that is absent does little harm
    "displaced",  # how far the window holds it, but in no sentence beside a neighbour of the claim, x rarity
    "name_lacking",  # (1 - present) for a word of a name
    "spelling",  # share of its character grams that one sentence holds
    "alignment",  # nearest word of the window
    "relational",  # the same near its neighbours
)
#: Support of a number: beside a neighbour of the claim, elsewhere in the window, absent (wrong in nine cases of ten).
NUMBER_SUPPORT = (0.97, 0.85, 0.06)

#: Content words to each side that count as the neighbours of a word.
_REACH = 2
_DATES = ("date", "time")


def span_features(grid: Grid, alignment: Alignment | None, row: int, spans: Windows, window: int) -> Floats:
    """(m, len(SPAN)) float32 for the words of one claim in one window."""
    rows = grid.rows[row]
    inside = slice(int(spans.first[window]), int(spans.last[window]))
    out = np.zeros((rows.stop - rows.start, len(SPAN)), dtype=np.float32)
    if not len(out):
        return out
    weight = grid.weight[rows]
    present = grid.present[rows][:, inside].max(axis=1)
    out[:, 0] = present
    out[:, 1] = (1.0 - present) * weight
    out[:, 2] = (present - _beside(grid.present[rows][:, inside], weight)) * weight
    out[:, 3] = (1.0 - present) * (grid.kind[rows] == NAME)
    out[:, 4] = grid.spelt[rows][:, inside].max(axis=1)
    if alignment is not None:
        out[:, 5] = alignment.plain[rows][:, inside].max(axis=1)
        out[:, 6] = alignment.relational[rows][:, inside].max(axis=1)
    return out


def _beside(present: Floats, weight: Floats) -> Floats:
    """(m,) how far a sentence holds each word together with one of its content neighbours (two to each side)."""
    content = np.flatnonzero(weight > 0)
    result = present.max(axis=1)
    if len(content) < 2:
        return result
    mine = present[content]
    near = np.zeros_like(mine)
    for step in range(1, min(_REACH, len(content) - 1) + 1):
        np.maximum(near[step:], mine[:-step], out=near[step:])
        np.maximum(near[:-step], mine[step:], out=near[:-step])
    result[content] = np.minimum(mine, near).max(axis=1)
    return result


def word_support(model: Logistic, features: Floats, kind: NDArray[np.int8]) -> Floats:
    """(m,) calibrated support of the words of a claim; those of numbers by whether the number is there."""
    support = model.probability(features, SPAN)
    here, elsewhere, absent = NUMBER_SUPPORT
    number = np.where(features[:, 0] < 0.5, absent, np.where(features[:, 2] > 0.0, elsewhere, here))
    return np.where(kind == NUMBER, number, support).astype(np.float32)


def claim_parts(claim: ClaimWords, support: Floats, negation_support: float) -> list[dict[str, Any]]:
    """Numbers, dates, names, negations and content words of a claim, in order, without overlaps.

    Parameters
    ----------
    support
        (m,) support of each word of the claim.
    negation_support
        Support of its negations.
    """
    text = claim.source.text
    found: list[tuple[int, int, str]] = [(q.start, q.end, _number_kind(q)) for q in quantities_of(claim)]
    _add(found, [(n.start, n.end, "entity") for n in names_of(claim)])
    within = [span for span in claim.source.negation_spans.tolist() if claim.start <= span[0] and span[1] <= claim.end]
    negated = [(start, end, "negation") for start, end in within]
    _add(found, negated)
    words = range(claim.words.start, claim.words.stop)
    starts, ends, kind = claim.source.starts, claim.source.ends, claim.source.kind
    _add(found, [(int(starts[at]), int(ends[at]), "term") for at in words if kind[at] != FUNCTION])
    parts = []
    for start, end, name in sorted(found):
        value = negation_support if name == "negation" else _lowest(claim, support, start, end)
        parts.append({"start": start, "end": end, "text": text[start:end], "kind": name, "support": value})
    return parts


def _add(found: list[tuple[int, int, str]], more: list[tuple[int, int, str]]) -> None:
    """Add the spans that overlap none of those found before; linear in the text, which can be a million words long."""
    taken = bytearray(max((end for _, end, _ in (*found, *more)), default=0))
    for start, end, _ in found:
        taken[start:end] = b"\1" * (end - start)
    for start, end, name in more:
        if not any(taken[start:end]):
            taken[start:end] = b"\1" * (end - start)
            found.append((start, end, name))


def _number_kind(quantity: Quantity) -> str:
    return "date" if quantity.kind in _DATES else "number"


def _lowest(claim: ClaimWords, support: Floats, start: int, end: int) -> float:
    """Mean support of the content words of a part (of all its words when it has no content word)."""
    words = claim.source.words_between(start, end)
    inside = slice(words.start - claim.words.start, max(words.start, words.stop) - claim.words.start)
    values = support[inside]
    content = values[claim.source.weight[claim.words][inside] > 0]
    chosen = content if len(content) else values
    return round(float(chosen.mean()), 6) if len(chosen) else 0.5


def serious_kinds(claim: ClaimWords, parts: list[dict[str, Any]], cut: float = 0.5) -> tuple[str, ...]:
    """What makes the claim serious when it is unsupported.

    ``number`` and ``date`` where one of them is itself below ``cut``; ``absolute`` where it allows no exception;
    ``entity`` where it names something.
    """
    weak = {part["kind"] for part in parts if part["support"] < cut}
    found = [name for name in ("number", "date") if name in weak]
    if absolutes(claim.source.text[claim.start : claim.end]):
        found.append("absolute")
    if any(part["kind"] == "entity" for part in parts):
        found.append("entity")
    return tuple(found)


# ------------------------------------------------------------------------------
# How far a context helps to produce the reference or answer the question, and whether an answer addresses it.
#
# The question (or the reference) is laid over the contexts like a claim; names, order and rarity count as they do for
# support. Similarities are taken relative to random pairs, since an absolute cosine means nothing. The models and their
# coefficients come from :mod:`workbench.evidence.offline.models`.


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
    "outdone", "outdone_similarity",  # by how much a sentence of the contexts covers the question better than it, is nearer
)  # fmt: skip
#: The same, and once more for bare answers alone and for those that rest on a context alone.
RELEVANCY = tuple(name + of for of in ("", "_bare", "_resting") for name in _ADDRESSING)
#: How much more often an answer addresses its question than not, in use; the model is fitted on as many of both.
ADDRESSING_ODDS = 5.0

#: The most that an answer addresses its question which lacks what is asked for while a sentence about the same tells it.
TOLD_ELSEWHERE = 0.1
#: Rarity from which a word of the question that the answer lacks tells what was asked.
KEY = 0.2
#: Share of a claim from which it rests on a sentence.
RESTING = 0.9
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
        dates = (q.kind in (*_DATES, "duration", "ordinal") or _is_year(q) for q in new)
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
              *type_fit(seen.question, answer), *_rests(seen, row), *_outdone(seen, row, told)]  # fmt: skip
    own = np.array(values, dtype=np.float32)
    resting = float(own[_ADDRESSING.index("rests_there")] + own[_ADDRESSING.index("rests_elsewhere")] > 0)
    return np.concatenate([own, own * (content <= 4), own * resting])


def _outdone(seen: Examination, row: int, told: slice) -> tuple[float, float]:
    """By how much the best sentence of the contexts covers the question better than the best one of the answer, and by
    how much its cosine is higher; 0 without contexts."""
    end = int(seen.grid.offsets[seen.n_contexts])
    found = []
    for values in (sentence_cover(seen.grid, row), np.nan_to_num(seen.sentence_similarities())):
        gap = values[:end].max(initial=0.0) - values[told].max(initial=0.0) if end else 0.0
        found.append(max(0.0, float(gap)))
    return found[0], found[1]


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
    joint = np.maximum(theirs, 0.8 * np.where(grid.leaning[:end], np.roll(theirs, 1, axis=1), 0.0))
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


_GRAMS, _COVER, _SENTENCE, _NAMES, _PAIRS, _WORST, _EDITED = map(
    LEXICAL.index, ("gram_cover", "word_cover", "sentence_cover", "name_cover", "pair_cover", "worst_word", "edited")
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


#: A comma parts values too, but not the digits of a number nor a date from its year.
_VALUES = re.compile(r"\s*(?:[;；、]|[,，](?!\d)(?!\s*\d{4}\b))\s*")


@lru_cache(maxsize=8192)
def bare_values(reference: str) -> tuple[tuple[int, int], ...]:
    """Offsets of the values of a reference that is a bare value or values parted by ``; ； 、 ,``; empty otherwise.

    A value is a short phrase: a number with its unit, a name, a date; what has a verb or a full stop is a statement.
    Punctuation alone is neither.
    """
    spans = []
    at = 0
    for match in [*_VALUES.finditer(reference), None]:
        end = match.start() if match else len(reference)
        piece = reference[at:end].strip()
        if piece and not all(unicodedata.category(character)[0] in "PZC" for character in piece):
            start = reference.index(piece, at)
            spans.append((start, start + len(piece)))
        at = match.end() if match else end
    if spans and all(_is_value(reference[start:end]) for start, end in spans):
        return tuple(spans)
    return ()


_STATEMENT = re.compile(r"[。！？!?，,：:]|\.\s|\.$")


def _is_value(piece: str) -> bool:
    found = quantities(piece)
    if len(found) == 1 and len(found[0].text) >= 0.6 * len(piece):
        return True
    if _STATEMENT.search(piece.rstrip(".。")) or pattern("offline", "«statement»").search(piece):
        return False
    return len(piece) <= 10 if re.search(f"[{unspaced()}]", piece) else len(piece.split()) <= 5


# ------------------------------------------------------------------------------


Floats = NDArray[Any]

#: Words of claims times sentences of texts that are compared in full: some 80 MB.
CELLS = 8_000_000
#: Words of the question, and of the reference as a whole, that contexts are compared with.
WHOLE_WORDS = 512
#: Words of each of two neighbouring chunks that are joined at their edge.
EDGE_WORDS = 120
#: What is said of claim and evidence in two scripts when no word can be compared and there are no token vectors.
UNKNOWN = 0.3
#: Across languages a probability is drawn to the middle of the unsure band, by this share of its distance.
UNSURE, WIDENED = 0.35, 0.7
#: The most that code or a formula is supported that does not stand in the text as it is, and a claim that repeats a sentence
#: but for a telling word: unsure. From which rarity of that word times the share of the sentence on: nobody calls a claim
#: supported that was made by exchanging a word; where less is repeated, people do in three of five (WiCE, BEGIN).
CODE, EDITED = 0.45, 0.45
#: From this alignment on the missing words are there in another spelling (licence, license).
SPELT_ALIKE = 0.95
#: A cell of a table that the claim names by row and column: how sure it is that it holds, or that it says otherwise.
CELL = 0.85
#: Contradiction where no sign shows, as a share of what support leaves.
BASE_RATE = 0.03
#: The most that a text supports a claim of whose content words, by rarity, it has at most a fifth.
UNTOUCHED = 0.12
#: What is left of the support by a text that has a number or code of the claim nowhere. People call 1 to 14 % of such claims
#: supported (CLAPnq, BEGIN, WiCE), however alike the rest is.
UNTOLD = 0.2
#: Support of a claim that the contexts tell in parts: all in one run but for words of the question, or in two runs; and how
#: far a word must stand in a sentence for that.
PARTS, PARTS_BROKEN, HELD = 0.7, 0.6, 0.6
#: How much words, by rarity, count beside character grams in what answer and reference tell of each other's claims; the share
#: of it that makes a claim, and how steeply that is so. Below the last a negation of one side alone is no chance.
WORDS_TOLD, MADE, TOLD_STEEP, NOTHING_SEEN = 0.75, 0.45, 8.0, 0.2
#: A sentence with this share of a question's words answers it by yes or no, and what is then said of a bare yes or no.
ASKED, ANSWERED = 0.6, 0.8
#: By how much a sentence must say more of the question, of its content by rarity, than those with the value of a bare answer
#: for the answer to be unsure, to be contradicted, and how far it is then. Of 155 right numbers of XQuAD (a third of its
#: questions that these were not chosen on) 3 are unsure, of 440 others of the same paragraph 92 are and 184 contradicted.
SAYS_LESS, SAYS_LITTLE, OTHER_VALUE = 0.2, 0.4, 0.6
#: Rarity of the words that such a claim may have beside, "year" or "ahead", and their share of its rarity.
COMMON, COMMON_SHARE = 0.6, 0.12
#: Rarity from which a word that two contexts share links them.
LINKING = 0.5
#: Support of a bare value that stands in a text, and that does not.
VALUE_FOUND, VALUE_ABSENT = 0.95, 0.03


_MATH = re.compile(r"\$[^$]+\$|\\\(.+?\\\)|\\\[.+?\\\]", re.DOTALL)
_SYMBOL = re.compile(r"[{}()\[\]=<>;\\$_|&*+^~]")
_PLAIN_WORD = re.compile(r"(?<![\w.$-])[a-z]{2,}(?![\w(=.-])|[\u4e00-\u9fff]{2}", re.IGNORECASE)


def is_code(text: str) -> bool:
    """Whether a claim is a line of code or a formula rather than a sentence: many symbols and hardly a plain word."""
    plain = _MATH.sub(" ", text)
    solid = "".join(plain.split())
    if not solid or (solid == "".join(text.split()) and not _SYMBOL.search(solid)):
        return False
    words = len(_PLAIN_WORD.findall(plain))
    return words < 3 and (len(_SYMBOL.findall(solid)) >= 0.12 * len(solid) or (plain != text and words < 1))


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
        if not _mostly_within(c, declined) or denied(analyse(text).folded, c.start, c.end)
    ]
    return spans[:MAX_CLAIMS], found.capped or len(spans) > MAX_CLAIMS


def _mostly_within(claim: Span, parts: Sequence[Span]) -> bool:
    """Whether half of a claim or more lies within the parts, which do not overlap."""
    inside = sum(max(0, min(claim.end, part.end) - max(claim.start, part.start)) for part in parts)
    return 2 * inside >= claim.end - claim.start and inside > 0


def joints(contexts: Sequence[Context]) -> list[Joint]:
    """Neighbouring chunks of one document, both prompted; twice where the edge may lie inside a word or a number."""
    return [
        Joint(left, right, text)
        for left, right in enumerate(chunk_order(contexts))
        if right >= 0
        for text in _across(contexts[left].text, contexts[right].text)
    ]


def _has_han(claim: ClaimWords) -> bool:
    return HAN_CHARACTER.search(claim.source.text, claim.start, claim.end) is not None


def _across(left: str, right: str) -> Iterator[str]:
    """The end of one chunk and the beginning of the next as one text, parted and unparted where both are letters or digits."""
    tail, head = analyse(left), analyse(right)
    start = int(tail.starts[-EDGE_WORDS]) if len(tail.starts) > EDGE_WORDS else 0
    end = int(head.ends[EDGE_WORDS - 1]) if len(head.ends) > EDGE_WORDS else len(right)
    joined = [stitch(left[start:], right[:end])]
    if left[-1:].isalnum() and right[:1].isalnum():
        joined.append(left[start:] + right[:end])
    yield from dict.fromkeys(joined)


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
        #: Whether the question and the whole reference are related to the texts like claims; training asks for that.
        self.relates_all = False
        self.contexts = sample.contexts or ()
        self.joints = joints(self.contexts)
        answer, self.answer_capped = claims_of(sample.answer, "answer", declined)
        reference, self.reference_capped = claims_of(sample.reference, "reference")
        self.answer = analyse(sample.answer) if sample.answer else None
        self.reference = analyse(sample.reference) if sample.reference else None
        self.question = analyse(sample.question)
        if self.answer is not None and self.answered and not answer:
            answer = [ClaimSpan("answer", 0, len(self.answer.text), 0)]
        self.spans = [*answer, *reference]
        self.texts = self._texts()
        #: For each claim the statement that it denies, which is what is looked for then, or None.
        self.denied = [denied(self._source(span).folded, span.start, span.end) for span in self.spans]
        places = [inner or (span.start, span.end) for span, inner in zip(self.spans, self.denied, strict=True)]
        self.claims = [claim_words(self._source(s), *at) for s, at in zip(self.spans, places, strict=True)]

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
        ends = [len(t.text) if len(t.ids) <= WHOLE_WORDS else int(t.ends[WHOLE_WORDS - 1]) for t in whole]
        return [*self.claims, *(claim_words(text, 0, end) for text, end in zip(whole, ends, strict=True))]

    @cached_property
    def grid(self) -> Grid:
        """All rows against all texts."""
        # All sentences are compared by their words, but where that would be too many only those that are read.
        cells = sum(row.n_words for row in self.rows) * sum(len(text.bounds) for text in self.texts)
        read = [None if some is None or cells <= CELLS else some.sentences for some in self.excerpts]
        found = Grid(self.rows, self.texts, read)
        found.n_related = len(self.rows) if self.relates_all else len(self.claims)
        return found

    @cached_property
    def windows(self) -> Windows:
        """Windows over all texts."""
        return windows(self.texts, read=self.grid.read)

    @cached_property
    def excerpts(self) -> list[Excerpt | None]:
        """What is read of each text, None for all of it. Answer and reference are read as a whole."""
        own = (self.reference_at, self.answer_at)
        return [None if at in own else excerpt(text, self.rows) for at, text in enumerate(self.texts)]

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
        return align(self.grid, mine, [self._words_read(at) for at in range(len(self.texts))], self.read)

    @cached_property
    def read(self) -> NDArray[np.bool_]:
        """(s,) the sentences of the grid that are read: whose words have vectors."""
        found = np.ones(self.grid.n_sentences, dtype=bool)
        for at, some in enumerate(self.excerpts):
            if some is not None:
                here = slice(*self.grid.offsets[at : at + 2].tolist())
                found[here] = np.isin(self.grid.read[at], some.sentences)
        return found

    @property
    def long_contexts(self) -> list[str]:
        """The contexts that are read in parts."""
        return [context.text for context, some in zip(self.contexts, self.excerpts, strict=False) if some is not None]

    def read_pieces(self, pieces: Mapping[str, TextVectors], wholes: Mapping[str, Floats]) -> None:
        """Take the vectors of what is read of the long texts from those of its pieces, and their own from ``wholes`` (joints
        need none); without pieces they have none."""
        if pieces:
            long = [some for some in self.excerpts if some is not None]
            read = {s.text.text: vectors_of(s, pieces, wholes.get(s.text.text, np.empty(0))) for s in long}
            self.passages = {**self.passages, **read}

    def _words_read(self, at: int) -> Floats:
        """Vectors of the words of a text that are read."""
        words, text, some = self._words(self.texts[at]), self.texts[at], self.excerpts[at]
        return words if some is None or len(words) < len(text.ids) else words[np.isin(text.sentence, some.sentences)]

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
        # Function words make nothing likely.
        telling = np.array([bool((c.source.weight[c.words] > 0).any()) for c in self.claims], dtype=bool)
        untouched = telling[:, None] & (features[..., _COVER] <= 0.2)
        result = np.where(untouched, np.minimum(result, UNTOUCHED), result)
        # Where a telling word is missing in a context and the claim repeats the rest, another thing was meant, perhaps: not
        # sure. A reference or an answer may simply say less.
        other = (features[..., _EDITED] >= EDITED) & (features[..., _WORST] <= 0.2) & (result >= 0.5) & (result < 0.75)
        other &= self.windows.owner < self.n_contexts + len(self.joints)
        if "missing_alignment" in self.names:
            other &= features[..., self.names.index("missing_alignment")] < SPELT_ALIKE
        result = np.where(other, CODE, result)
        across = self._across_scripts()
        if across.any():
            other = np.full_like(result, UNKNOWN)
            if self.alignment is not None and "support_across" in models:
                other = _widened(models["support_across"].probability(features, self.names))
            result = np.where(across, other, result)
        return result

    def _across_scripts(self) -> NDArray[np.bool_]:
        """(n, w) whether claim and window are in different scripts, so that words cannot be compared.

        A claim of both scripts ("set client_id" in Chinese) can be compared with a text in Han script.
        """
        mine = np.array([claim.source.han for claim in self.claims], dtype=bool)
        mixed = np.array([_has_han(claim) for claim in self.claims], dtype=bool)
        theirs = np.array([text.han for text in self.texts], dtype=bool)[self.windows.owner]
        return (mine[:, None] != theirs[None, :]) & ~(mixed[:, None] & theirs[None, :])

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
            if number in self.other_values:
                at, sign = self.other_values[number]
                found.setdefault((number, at), sign)
            for at, verdict in self.cells.get(number, {}).items():
                if verdict.agrees:
                    found.pop((number, at), None)
                else:
                    found[number, at] = Sign(CELL, "cell", verdict.claimed, verdict.found)
        return found

    @cached_property
    def near_question(self) -> Floats:
        """(sentences of the contexts,) how much each says of the question, or the one before that it leans on."""
        end = int(self.grid.offsets[self.n_contexts])
        asked = sentence_cover(self.grid, len(self.claims))[:end]
        return np.maximum(asked, 0.8 * np.where(self.grid.leaning[:end], np.roll(asked, 1), 0.0))

    @cached_property
    def other_values(self) -> dict[int, tuple[int, Sign]]:
        """The claims of the answer that say a value and nothing beside it, where the contexts have it only in sentences that
        say much less of the question than one with another value of its kind ("until 6 p.m." of a Thursday on which it is
        9 p.m.): the context of the other value, and the sign."""
        end = int(self.grid.offsets[self.n_contexts])
        alone = [n for n, span in enumerate(self.spans) if span.side == "answer" and not span.value] if end else []
        asked = Numbers((quantity, 0) for quantity in self.question.quantities)
        found: dict[int, tuple[int, Sign]] = {}
        for number in alone:
            rows = self.grid.rows[number]
            stated = [one for one in self.grid.stated if rows.start <= one.rows.start < rows.stop]
            values = [one.quantity for one in stated]
            if not 1 <= len(values) <= 2 or any(map(asked.holding, values)):
                continue
            here = np.logical_and.reduce([one.sentences[:end] for one in stated])
            beside = self._beside_values(number, values)
            if not here.any() or len(beside) > 1:
                continue
            best, other = max(
                ((float(self.near_question[at]), (at, told)) for at, told in self._others_like(values[0], asked)
                 if not any(one.sentences[at] for one in stated) and (self.grid.present[beside, at] >= HELD).all()),
                key=lambda pair: pair[0], default=(0.0, None),
            )  # fmt: skip
            gap = best - float(self.near_question[here].max())
            if other is not None and gap >= SAYS_LESS:
                text = int(np.searchsorted(self.grid.offsets, other[0], side="right")) - 1
                probability = OTHER_VALUE if gap >= SAYS_LITTLE else UNSURE
                found[number] = text, Sign(probability, "number", values[0].text, other[1].text)
        return found

    def _beside_values(self, number: int, values: Sequence[Quantity]) -> list[int]:
        """The rows of the telling words of a claim that are no part of its values and that the question does not have."""
        claim, first = self.claims[number], self.grid.rows[number].start
        source, asked = claim.source, frozenset(self.question.ids.tolist())
        found = []
        for row, at in enumerate(range(claim.words.start, claim.words.stop), first):
            start, end = int(source.starts[at]), int(source.ends[at])
            glued = HAN_CHARACTER.match(source.folded, start) is not None and source.folded[start:end] in self.question.folded
            known = int(source.ids[at]) in asked or glued or any(q.wide[0] <= start < q.wide[1] for q in values)
            if source.weight[at] > KEY and not known:
                found.append(row)
        return found

    def _others_like(self, value: Quantity, asked: Numbers) -> Iterator[tuple[int, Quantity]]:
        """(sentence, quantity) of the contexts' quantities of the kind of a value that the question does not have."""
        for owner, text in enumerate(self.texts[: self.n_contexts]):
            for quantity, sentence in zip(text.quantities, text.quantity_sentence.tolist(), strict=True):
                alike = quantity.kind == value.kind and (quantity.unit == value.unit or value.kind in _DATES)
                if alike and not asked.holding(quantity) and (at := self.grid.column(owner, sentence)) >= 0:
                    yield at, quantity

    @cached_property
    def cells(self) -> dict[int, dict[int, CellVerdict]]:
        """For each claim that denies nothing what the tables of the texts say about it, by text."""
        tabled = [at for at in range(self.n_contexts) if tables_in(self.texts[at].text)]
        plain = [n for n in range(len(self.claims)) if not self.spans[n].value and not len(claim_negations(self.claims[n]))]
        found = {n: {at: cell_verdict(self.claim_text(n), self.texts[at].text) for at in tabled} for n in plain if tabled}
        return {n: {at: told for at, told in some.items() if told is not None} for n, some in found.items()}

    @cached_property
    def by_text(self) -> tuple[Floats, Floats]:
        """(n, texts) entailment and contradiction."""
        shape = (len(self.claims), len(self.texts))
        entail = np.zeros(shape, dtype=np.float32)
        if self.claims and len(self.windows):
            firsts = np.flatnonzero(np.diff(self.windows.owner, prepend=-1))
            entail[:, self.windows.owner[firsts]] = np.maximum.reduceat(self.window_support, firsts, axis=1)
        for number in range(len(self.claims)):
            lacking = untold(self.grid, number, self.question)
            entail[number, lacking] *= UNTOLD
            self._on_the_whole(number, entail[number], lacking)
            entail[number] = self._at_most_unsure(number, entail[number])
            self._in_parts(number, entail[number])
            if number in self.other_values:
                among = slice(self.n_contexts + len(self.joints))
                entail[number, among] = np.minimum(entail[number, among], UNSURE)
            for at, verdict in self.cells.get(number, {}).items():
                if verdict.agrees and entail[number, at] >= CODE:
                    entail[number, at] = max(entail[number, at], CELL)
        self._values(entail)
        contradict = BASE_RATE * (1.0 - entail)
        self._bare_yes_or_no(entail, contradict)
        for (claim, text), sign in self.signs.items():
            contradict[claim, text] = sign.probability
            entail[claim, text] = min(entail[claim, text], 1.0 - sign.probability)
        for number, inner in enumerate(self.denied):
            if inner is not None:
                told, refuted = entail[number].copy(), contradict[number].copy()
                contradict[number] = np.where(told >= 0.5, told, BASE_RATE)
                entail[number] = np.where(refuted >= 0.5, refuted, np.where(told >= 0.5, 1.0 - told, UNSURE))
                whole = self.claim_text(number).strip(" .。!！").lower()
                alike = np.array([whole in text.folded for text in self.texts], dtype=bool)
                entail[number, alike], contradict[number, alike] = VALUE_FOUND, 0.0
        return entail, contradict.astype(np.float32)

    def _on_the_whole(self, number: int, entail: Floats, lacking: NDArray[np.bool_]) -> None:
        """Raise the support (in place) of a claim of the answer by the reference, and the other way, by how much of what it
        says beyond the question is told anywhere there: of two texts about one thing each tells it in sentences of its own.

        Not where a number or code of it is told nowhere, nor where only one side is negative and support sees nothing.
        """
        claim, rows = self.claims[number], self.grid.rows[number]
        at = self.reference_at if self.spans[number].side == "answer" else self.answer_at
        weight = self.grid.weight[rows]
        if at < 0 or lacking[at] or not weight.any():
            return
        there = slice(*self.grid.offsets[at : at + 2].tolist())
        new = weight * ~np.isin(self.grid.ids[rows], self.question.ids)
        new = new if new.sum() > LINKING / 2 else weight
        words = float(new @ self.grid.present[rows][:, there].max(axis=1, initial=0.0)) / float(new.sum())
        grams = self.grid.gram_present[self.grid.gram_rows[number]][:, there].max(axis=1, initial=0.0)
        told = WORDS_TOLD * words + (1 - WORDS_TOLD) * float(grams.mean() if len(grams) else words)
        best = there.start + int(np.argmax(sentence_cover(self.grid, number)[there])) if there.stop > there.start else -1
        flipped = best >= 0 and (len(claim_negations(claim)) > 0) != bool(self.grid.negations[best])
        if told >= MADE and not (flipped and entail[at] < NOTHING_SEEN):
            entail[at] = max(entail[at], 1 / (1 + math.exp(-TOLD_STEEP * (told - MADE))))

    def _in_parts(self, number: int, entail: Floats) -> None:
        """Raise the support (in place) of a claim of the answer that no single sentence tells but the contexts together do.

        Two documents put together, or the question repeated around a value: every content word stands in a context (but
        for few that the question says, or common ones); those that it does not say follow one another as they do there,
        with at most one break; no sign is against it.
        """
        claim, rows, end = self.claims[number], self.grid.rows[number], int(self.grid.offsets[self.n_contexts])
        if self.spans[number].side != "answer" or not end or entail[: self.n_contexts + len(self.joints)].max() >= 0.5:
            return
        content = np.flatnonzero(self.grid.weight[rows] > 0)
        held = self.grid.present[rows][content, :end] >= HELD
        kind = self.grid.kind[rows][content]
        places = (claim.words.start + content).tolist()
        said = [claim.source.folded[claim.source.starts[at] : claim.source.ends[at]] for at in places]
        # The segmenter may cut the words of an unspaced question another way.
        glued = [len(word) > 1 and HAN_CHARACTER.match(word) is not None and word in self.question.folded for word in said]
        asked = (np.isin(self.grid.ids[rows][content], self.question.ids) | np.array(glued, dtype=bool)) & (kind != NUMBER)
        lacking = np.asarray(~held.any(axis=1), dtype=bool)
        weight = self.grid.weight[rows][content]
        common = lacking & ~asked & (kind == TERM) & (weight <= COMMON)
        if weight[common].sum() <= COMMON_SHARE * weight.sum():
            content, held, kind, asked, lacking = (x[~common] for x in (content, held, kind, asked, lacking))
        # Values alone, one for each part of the question, need not stand together.
        values = bool(len(content)) and bool(np.isin(kind, (NUMBER, NAME)).all())
        foreign = lacking & (kind == NAME) & (self.grid.present[rows][content, :end].max(axis=1) < 0.4)
        # Where all that is new is a name or a number, the question may be said in other words than the contexts.
        spared = 0.5 if (~asked).any() and np.isin(kind[~asked], (NUMBER, NAME)).all() else 0.34
        if (len(content) < 3 and not values) or lacking[~asked].any() or foreign.any() or lacking.sum() > spared * asked.sum():
            return
        texts = [text.folded for text in self.texts[: self.n_contexts]]
        if any(not any(holds_code(text, code) for text in texts) for code in codes_of(claim)):
            return
        if any(number == claimed and at < self.n_contexts for claimed, at in self.signs):
            return
        fresh = held[~asked]
        broken, throughout = (int((~(row[:-1] & row[1:]).any(axis=1)).sum()) for row in (fresh, held))
        negated = len(claim_negations(claim))
        if not len(fresh) or (not values and (broken > 1 or (broken and len(fresh) < 4 and throughout > 1))):
            return
        resting = np.flatnonzero(fresh.sum(axis=0) >= max(1.0, (0.0 if values else 0.4) * len(fresh)))
        if negated and not self.grid.negations[resting].any():
            return
        owners = np.unique(np.searchsorted(self.grid.offsets, resting, side="right") - 1)
        rare = self.grid.weight[rows][content]
        about = asked & ~lacking & ((kind == NAME) | (rare >= 0.9))
        if not values and not (
            self._joined(held[rare > LINKING], fresh, held[about], owners)
            or self._each_asked(held[asked & (rare > LINKING)], fresh)
        ):
            return
        entail[owners] = np.maximum(entail[owners], PARTS_BROKEN if broken else PARTS)

    def _joined(self, held: Any, fresh: Any, named: Any, owners: Any) -> bool:
        """Whether contexts that hold what is new hang together, and hold a name or rare word of the question where it has one:
        two do that have a telling word of the claim in common (what one calls the maker the other places in a town)."""
        of = np.searchsorted(self.grid.offsets, np.arange(held.shape[1]), side="right") - 1
        words, new, names = (
            np.stack([row[:, of == at].any(axis=1) for at in range(self.n_contexts)], axis=1) for row in (held, fresh, named)
        )
        for first in owners.tolist():
            reached = np.arange(self.n_contexts) == first
            for _ in range(2):
                reached |= words[words[:, reached].any(axis=1)].any(axis=0)
            if new[:, reached].any(axis=1).all() and (not len(names) or names[:, reached].any()):
                return True
        return False

    def _each_asked(self, asked: Any, fresh: Any) -> bool:
        """Whether each context that is needed for what is new holds a telling word of the question that no other one does:
        the parts of a question, answered from one context each."""
        of = np.searchsorted(self.grid.offsets, np.arange(asked.shape[1]), side="right") - 1
        words, new = (
            np.stack([row[:, of == at].any(axis=1) for at in range(self.n_contexts)], axis=1) for row in (asked, fresh)
        )
        own = words[words.sum(axis=1) == 1].any(axis=0)
        return bool(own.any()) and bool(new[:, own].any(axis=1).all())

    def _at_most_unsure(self, number: int, entail: Floats) -> Floats:
        """The support of a claim that cannot be read: "No." alone says too little, code and formulas count only verbatim."""
        claim = self.claims[number]
        if not (claim.source.weight[claim.words] > 0).any():
            return np.full_like(entail, UNSURE)
        text = self.claim_text(number)
        if not is_code(text):
            return entail
        squashed = "".join(text.split())
        told = np.array([squashed in "".join(other.text.split()) for other in self.texts], dtype=bool)
        return np.where(told, entail, np.minimum(entail, CODE))

    @cached_property
    def answered(self) -> int:
        """1 where the whole answer is a bare yes, -1 where it is a bare no, else 0; only of a question that wants one."""
        lead, rest = answer_reading.polarity_lead(self.answer.text if self.answer is not None else "")
        if not lead or (analyse(rest).weight > 0.3).any():
            return 0
        return lead if answer_reading.asks_yes_or_no(answer_reading.read(self.question.text)) else 0

    def _bare_yes_or_no(self, entail: Floats, contradict: Floats) -> None:
        """What a bare yes or no says is the question: each text tells it, denies it (in place), or leaves it open."""
        mine = [number for number, span in enumerate(self.spans) if span.side == "answer"]
        if not self.answered or len(mine) != 1:
            return
        cover = sentence_cover(self.grid, len(self.claims))
        asked = claim_words(self.question, 0, len(self.question.text))
        for at in range(self.n_contexts + len(self.joints)):
            low, high = int(self.grid.offsets[at]), int(self.grid.offsets[at + 1])
            best = low + int(np.argmax(cover[low:high])) if high > low else -1
            if best < 0 or cover[best] < ASKED:
                continue
            text, sentence = self.grid.locate(best)
            found = relate(asked, text, sentence)
            denies = found.clash is not None or found.opposed is not None
            if denies != (self.answered < 0):
                entail[mine[0], at], contradict[mine[0], at] = 1.0 - ANSWERED, ANSWERED
            else:
                entail[mine[0], at], contradict[mine[0], at] = ANSWERED, 0.0

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
                    spans[number, at] = self.texts[at].bounds[self.grid.read[at][best - low]]
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
        text, first = self.grid.locate(int(self.windows.first[number]))
        _, last = self.grid.locate(int(self.windows.last[number]) - 1)
        return text.text[int(text.bounds[first, 0]) : int(text.bounds[last, 1])]

    # -- similarities ----------------------------------------------------------------------------------------

    def similarities(self) -> Floats:
        """(T,) cosine of the question and each context as a retriever sees them, NaN without an encoder."""
        if not self.queries or not self.n_contexts:
            return np.full(self.n_contexts, np.nan, dtype=np.float32)
        rows = np.stack([self.passages[context.text].text for context in self.contexts])
        return (rows @ self.queries[self.sample.question].text).astype(np.float32)

    def sentence_similarities(self) -> Floats:
        """(s,) cosine of the question and the mean word vector of each sentence of the grid; NaN where it is not read."""
        question = self.queries.get(self.sample.question)
        if self.alignment is None or question is None or not self.texts:
            return np.full(self.grid.n_sentences, np.nan, dtype=np.float32)
        known = self.grid.word_sentence[self.read[self.grid.word_sentence]]
        words = np.concatenate([self._words_read(at) for at in range(len(self.texts))])
        rows = sentence_vectors(known, self.grid.n_sentences, words)
        return np.where(self.read, rows @ question.text, np.nan).astype(np.float32)

    def answer_cosine(self) -> float:
        """Cosine of the question and the mean word vector of the answer, its own vector without those; else NaN."""
        question = self.queries.get(self.sample.question)
        if question is None or self.answer is None:
            return float("nan")
        vectors = self.passages[self.answer.text]
        if vectors.words is None:
            return float(vectors.text @ question.text)
        mean = vectors.words.sum(axis=0)
        length = float(np.linalg.norm(mean))
        return float(mean @ question.text) / length if length > 0 else float("nan")
