"""Lexical evidence for claims in texts, all claims of a sample against all its texts at once.

:func:`lexical_features` reduces a :class:`~workbench.evidence.offline.words.Grid` to one row of :data:`LEXICAL` for each claim
and window.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.text.quantities import Entity, Quantity
from workbench.data.text.quantities import relation as quantity_relation
from workbench.evidence.offline.lexicon import opposite_lists, tables
from workbench.evidence.offline.relations import ALIKE, RELATION, Relation, relate
from workbench.evidence.offline.words import (
    FUNCTION,
    NAME,
    NUMBER,
    Analysis,
    ClaimWords,
    Grid,
    Ints,
    Numbers,
    Stated,
    Windows,
    analyse,
    follows,
    in_windows,
    may_be_counted,
    names_of,
    quantities_of,
    rounds,
    run_of,
    word_id,
    word_rows,
)
from workbench.language import pattern
from workbench.steps import checkpoint

Floats = NDArray[Any]

#: What a row of lexical features holds, in order. Shares are in [0, 1].
LEXICAL = (
    "token_cover",  # share of its distinct words, function words included, that the window holds
    "gram_cover",  # share of the claim's character grams that the window holds
    "word_cover",  # share of its content words, weighted by rarity, words spelt nearly alike count in part
    "sentence_cover",  # the same in the one best sentence of the window
    "missing_mass",  # log(1 + rarity mass of the missing words): not divided by length
    "worst_word",  # presence of its rarest missing word: 1 - the highest rarity weight that is missing
    "name_cover",  # share of its names and numbers, 1 without any
    "number_missing",  # numbers, dates that the window does not hold, at most 2
    "name_missing",  # names that it does not hold, at most 3
    "number_altered",  # token_cover where a number is missing, else 0: all the rest stands there
    "name_altered",  # the same for a name
    "pair_cover",  # share of neighbouring content words that stand in one sentence together
    "sentence_worst",  # 1 - the highest rarity weight that the best sentence misses
    "sentence_missing",  # log(1 + rarity mass that the best sentence misses)
    "personal",  # the claim speaks of "I", the window does not
    *RELATION,  # how the claim and the best sentence relate, each x sentence_cover
)
_BASE = len(LEXICAL) - len(RELATION)

#: Numbers that say too little to be missed.
_LIGHT = frozenset(["first", "one"])
#: Characters before a number within which a negation denies it.
_NEGATED = 12
#: Numbers of a claim that are looked up one by one; more of them are a list.
_MANY = 100


def lexical_features(grid: Grid, spans: Windows) -> Floats:
    """(c, w, len(LEXICAL)) float32: what each window says about each claim."""
    rows = [_claim_features(grid, number, spans) for number in range(len(grid.claims))]
    return np.stack(rows) if rows else np.zeros((0, len(spans), len(LEXICAL)), dtype=np.float32)


def best_sentences(cover: Floats, spans: Windows) -> Ints:
    """(w,) the first sentence with the highest value of ``cover`` (s,) in each window."""
    widest = int((spans.last - spans.first).max(initial=0))
    if len(spans) <= widest:
        return np.array(
            [f + int(np.argmax(cover[f:t])) for f, t in zip(spans.first, spans.last, strict=True)], np.int64
        )
    best = spans.first.copy()
    for step in range(1, widest):
        at = np.minimum(spans.first + step, spans.last - 1)
        best = np.where(cover[at] > cover[best], at, best)
    return best


def sentence_cover(grid: Grid, number: int) -> Floats:
    """(s,) rarity-weighted share of the claim's content words that each sentence holds."""
    rows = grid.rows[number]
    weight = grid.weight[rows]
    return (weight @ grid.present[rows]) / max(float(weight.sum()), 1e-6)


def _claim_features(grid: Grid, number: int, spans: Windows) -> Floats:
    checkpoint()
    rows, gram_rows = grid.rows[number], grid.gram_rows[number]
    weight, kind = grid.weight[rows], grid.kind[rows]
    present = in_windows(grid.present[rows], spans)
    grams = in_windows(grid.gram_present[gram_rows], spans)
    cover = sentence_cover(grid, number)
    best = best_sentences(cover, spans)
    told = grid.present[rows][:, best]
    relations = _relations(grid, number, best, cover[best])
    lost = _shift(grid, number, best, relations, present, told, grams)
    total = max(float(weight.sum()), 1e-6) + lost.mass
    top = (weight @ told) / total
    missing = weight[:, None] * (1.0 - present)
    special = (kind == NAME) | (kind == NUMBER)
    out = np.empty((len(spans), len(LEXICAL)), dtype=np.float32)
    told_words, told_grams = _telling(grid.claims[number])
    out[:, 0] = _token_cover(grid.ids[rows][told_words], present[told_words], lost.words)
    grams = grams[told_grams]
    out[:, 1] = grams.sum(axis=0) / (len(grams) + lost.grams) if len(grams) else 1.0
    out[:, 2] = (weight @ present) / total
    out[:, 3] = top
    out[:, 4] = np.log1p(missing.sum(axis=0) + lost.mass)
    out[:, 5] = 1.0 - np.maximum(missing.max(axis=0, initial=0.0), lost.rarest)
    out[:, 6] = _mean(present[special], 1.0)
    out[:, 7] = _numbers_missing(grid, number, spans)
    out[:, 8] = _names_missing(grid, number, present)
    out[:, 9] = np.where(out[:, 7] > 0, out[:, 0], 0.0)
    out[:, 10] = np.where(out[:, 8] > 0, out[:, 0], 0.0)
    out[:, 11] = _pair_cover(grid, rows, weight, spans)
    lacking = weight[:, None] * (1.0 - told)
    out[:, 12] = 1.0 - np.maximum(lacking.max(axis=0, initial=0.0), lost.rarest)
    out[:, 13] = np.log1p(lacking.sum(axis=0) + lost.mass)
    out[:, 14] = _personal(grid, rows, spans)
    out[:, _BASE:] = 0.0
    for sentence, relation in relations.items():
        out[best == sentence, _BASE:] = relation.features
    out[:, _BASE:] *= top[:, None]
    return out


@dataclass(frozen=True, slots=True)
class Lost:
    """(w,) what the best sentence of each window restricts and the claim does not: words, grams, rarity."""

    words: Floats
    grams: Floats
    mass: Floats
    rarest: Floats


def _relations(grid: Grid, number: int, best: Ints, top: Floats) -> dict[int, Relation]:
    """How the claim relates to each best sentence that is like it at all."""
    if number >= grid.n_related:
        return {}
    return {sentence: related(grid, number, sentence) for sentence in np.unique(best[top >= ALIKE]).tolist()}


def _shift(
    grid: Grid, number: int, best: Ints, relations: dict[int, Relation], present: Floats, told: Floats, grams: Floats
) -> Lost:
    """Count what needs no evidence as present, what only looks alike as absent (in place), and return what is lost."""
    lost = Lost(*np.zeros((4, len(best)), dtype=np.float32))
    claim = grid.claims[number]
    for sentence, relation in relations.items():
        if not relation.shifts:
            continue
        at = np.flatnonzero(best == sentence)
        gram_word = claim.source.gram_word[claim.grams]
        for words, value in ((relation.harmless, 1.0), (relation.harmful, 0.0)):
            for word in words:
                present[word - claim.words.start, at] = told[word - claim.words.start, at] = value
                grams[np.flatnonzero(gram_word == word)[:, None], at] = value
        text = relation.text
        lost.words[at] = len(relation.lost)
        lost.grams[at] = sum(int(text.ends[word] - text.starts[word]) for word in relation.lost)
        lost.mass[at] = sum(float(text.weight[word]) for word in relation.lost)
        lost.rarest[at] = max((float(text.weight[word]) for word in relation.lost), default=0.0)
    return lost


def related(grid: Grid, number: int, sentence: int) -> Relation:
    """The relation of a claim and a sentence of the grid, worked out once."""
    key = (number, sentence)
    if key not in grid.relations:
        checkpoint()
        text, at = grid.locate(sentence)
        grid.relations[key] = relate(grid.claims[number], text, at)
    return grid.relations[key]


def _telling(claim: ClaimWords) -> tuple[Ints, Ints]:
    """The words and grams that are counted one by one: all, but in Han script not the function words nor the grams that
    touch one (another verb of being says the same, and half the bigrams of a short claim hold such a word)."""
    words, grams = np.arange(claim.n_words), np.arange(claim.grams.stop - claim.grams.start)
    if not claim.source.han or not len(words):
        return words, grams
    function = claim.source.kind[claim.words] == FUNCTION
    owner = claim.source.gram_word[claim.grams] - claim.words.start
    crosses = np.append(owner[1:] != owner[:-1], True)
    following = np.minimum(owner + crosses, len(words) - 1)
    kept = np.flatnonzero(~function[owner] & ~function[following]) if len(owner) else grams
    return (np.flatnonzero(~function) if (~function).any() else words), (kept if len(kept) else grams)


def _token_cover(ids: Ints, present: Floats, lost: Floats) -> Floats | float:
    """(w,) share of the distinct words that the window holds, each by its first place in the claim."""
    if not len(present):
        return 1.0
    _, firsts = np.unique(ids, return_index=True)
    return present[firsts].sum(axis=0) / (len(firsts) + lost)


def _personal(grid: Grid, rows: slice, spans: Windows) -> Floats | float:
    """Whether the claim speaks of "I" and the window does not: an answer's own remark, which no context supports."""
    mine = np.flatnonzero(np.isin(grid.ids[rows], _first_person()))
    return 1.0 - in_windows(grid.exact[rows][mine], spans).max(axis=0) if len(mine) else 0.0


@cache
def _first_person() -> Ints:
    listed = [word for table in tables("polarity") for word in table["words"]["first_person"].split()]
    return np.array([word_id(word) for word in listed], dtype=np.int64)


def _mean(values: NDArray[Any], empty: float) -> Floats | float:
    return values.mean(axis=0) if len(values) else empty


def _numbers_missing(grid: Grid, number: int, spans: Windows) -> Floats:
    rows = grid.rows[number]
    mine = [s.sentences for s in _stated(grid, rows) if s.quantity.text.lower() not in _LIGHT]
    if not mine:
        return np.zeros(len(spans), dtype=np.float32)
    return np.minimum((1.0 - in_windows(np.stack(mine), spans)).sum(axis=0), 2.0)


def _stated(grid: Grid, rows: slice) -> Iterator[Stated]:
    """The numbers of the claim that has these rows."""
    return (stated for stated in grid.stated if rows.start <= stated.rows.start < rows.stop)


def untold(grid: Grid, number: int, question: Analysis | None) -> NDArray[np.bool_]:
    """(texts,) whether a number or code of the claim stands nowhere in a text: not rounded, and not to be counted there.

    What stands in the ``question`` needs no evidence: an answer repeats it. Of a claim with more than :data:`_MANY`
    numbers or codes the first are looked at.
    """
    asked = Numbers((quantity, 0) for quantity in (question.quantities if question else ()))
    found = np.zeros(len(grid.texts), dtype=bool)
    for stated in islice(_stated(grid, grid.rows[number]), _MANY):
        if not may_be_counted(stated.quantity) and not asked.holding(stated.quantity):
            held = np.diff(np.concatenate([[0], np.cumsum(stated.sentences)])[grid.offsets]) > 0
            for at in np.flatnonzero(~held & ~found).tolist():
                text = grid.texts[at]
                theirs = text.quantities
                found[at] = not (
                    (len(grid.read[at]) < len(text.bounds) and _numbers_of(text.text, None).holding(stated.quantity))
                    or any(rounds(stated.quantity, other) or _as_long(stated.quantity, other) for other in theirs)
                    or follows(stated.quantity, theirs)
                )
    for code in islice(codes_of(grid.claims[number]), _MANY):
        if question is None or not holds_code(question.folded, code):
            found |= [not holds_code(text.folded, code) for text in grid.texts]
    return found


def _as_long(one: Quantity, other: Quantity) -> bool:
    """Whether two durations may be meant for the same though their units do not convert: 60 days, two months."""
    return one.kind == other.kind == "duration" and one.unit != other.unit and quantity_relation(one, other) == "unrelated"


def holds_code(text: str, code: str) -> bool:
    """Whether a folded text holds an identifier as a whole, with or without the hyphens of one with digits (XR-250 =
    XR250); the end of a path is held by the path (error.log by /var/log/error.log), never the other way."""
    return _whole_code(code).search(text) is not None or _code_pattern(code).search(text) is not None


@lru_cache(maxsize=4096)
def _whole_code(code: str) -> re.Pattern[str]:
    bare = re.sub(r"^(?:https?://)?(?:www\.)?|[/.]+$", "", code)
    # What looks like a flag may be the end of a word: "pseudo -scientific".
    free = "(?<!-)" if re.fullmatch(r"-[a-z]{4,}", bare) else "(?<![a-z0-9_])(?<![a-z0-9_]-)"
    return re.compile(rf"{free}{re.escape(bare)}(?![a-z0-9_]|[-/.:@][a-z0-9_])")


@lru_cache(maxsize=4096)
def _code_pattern(code: str) -> re.Pattern[str]:
    runs = re.findall(r"[^\W\d_]+|\d+", code)
    if not runs or not any(letter.isdigit() for letter in code) or re.search(r"[/@]|\d\.\d", code):
        return re.compile(r"(?!)")
    return re.compile(r"(?<![^\W_])" + r"[-_ ./]?".join(map(re.escape, runs)) + r"(?![^\W_])")


#: Identifiers of a folded text: addresses, paths, flags, names with dots, underscores or capitals inside.
_IDENTIFIER = re.compile(
    r"""
      https?://[^\s<>"'()\u3000-\u9fff\uff00-\uffef]+ | www\.[^\s<>"'()\u3000-\u9fff\uff00-\uffef]+
    | [\w.+-]+@[\w-]+(?:\.[\w-]+)+
    | (?<![\w/.])(?:~|\.{1,2})?(?:/[A-Za-z0-9_.{}-]+){2,}/?
    | (?<![\w-])--?[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*(?![\w])
    | (?<![\w./@])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?=\b)
    | (?<![\w])[A-Za-z]+(?:_[A-Za-z0-9]+)+
    | (?<![\w])[a-z]+[A-Z][A-Za-z0-9]* | (?<![\w])[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+(?![\w])
    """,
    re.VERBOSE | re.ASCII,
)


def codes_of(claim: ClaimWords) -> Iterator[str]:
    """The identifiers of a claim, folded: E-1207, DVB-S2, client_id, --force, /etc/hosts, user@example.org."""
    for name in names_of(claim):
        if name.kind == "code" and any(letter.isdigit() for letter in name.text):
            yield claim.source.folded[name.start : name.end]
    for match in _IDENTIFIER.finditer(claim.source.text, claim.start, claim.end):
        code = claim.source.folded[match.start() : match.end()].rstrip(".,;:!?)")
        if not _ABBREVIATION.fullmatch(code):
            yield code


#: Letters with dots are an abbreviation: e.g., U.S.A, Ph.D.
_ABBREVIATION = re.compile(r"(?:[a-z]{1,2}\.)+[a-z]{1,2}")


def _names_missing(grid: Grid, number: int, present: Floats) -> Floats:
    """Names of the claim less than half of whose words the window holds, at most 3."""
    claim, rows = grid.claims[number], grid.rows[number]
    missing = np.zeros(present.shape[1], dtype=np.float32)
    for name in names_of(claim):
        words = word_rows(claim, rows, name.start, name.end)
        inside = present[words.start - rows.start : words.stop - rows.start]
        missing += (inside.mean(axis=0) < 0.5) if len(inside) else 0.0
    return np.minimum(missing, 3.0)


def _content_pairs(weight: Floats) -> tuple[Ints, Ints]:
    content = np.flatnonzero(weight > 0)
    return content[:-1], content[1:]


def _pair_cover(grid: Grid, rows: slice, weight: Floats, spans: Windows) -> Floats | float:
    left, right = _content_pairs(weight)
    if not len(left):
        return 1.0
    together = np.minimum(grid.present[rows][left], grid.present[rows][right])
    share = weight[left] + weight[right]
    return (share @ in_windows(together, spans)) / share.sum()


def claim_negations(claim: ClaimWords) -> Ints:
    """Offsets of the negations inside the claim."""
    starts = claim.source.negation_spans[:, 0]
    return starts[(starts >= claim.start) & (starts < claim.end)]


def _negated(claim: ClaimWords, start: int) -> bool:
    """Whether a negation stands shortly before a place: "not the first" is no claim of a first."""
    negations = claim_negations(claim)
    return bool(((negations < start) & (negations >= start - _NEGATED)).any())


# ------------------------------------------------------------------------------
# Soft alignment: for each word of a claim, how near the nearest word of the evidence is in an encoder's token space.
#
# A sentence vector blurs one wrong word; the weakest word of an alignment does not. Two kinds are computed: plain (the
# nearest word anywhere) and relational (the word must be found near where its neighbours are found: the same words in
# another place are no support). Everything is one matrix product for each sample and sums over its sentences.



#: What a row of alignment features holds, in order; all are cosines of the encoder's token vectors or means of them.
ALIGNMENT = (
    "worst_name",  # the worst-aligned name or number; the mean of the content words when there is none
    "three_worst",  # mean of the three worst-aligned content words
    "worst_relational",  # the worst relational alignment of a content word
    "three_worst_relational",  # mean of the three worst
    "mean_relational",  # mean over the content words, weighted by rarity
    "mean_alignment",  # the same, plain
    "sentence_alignment",  # in the best-aligned sentence of the window: mean of the three worst content words
    "missing_alignment",  # mean alignment of the content words that do not stand in the window; 1 when all do
)

#: A text longer than this is encoded in blocks of whole sentences; the words and characters of one block.
BLOCK_WORDS = 256
BLOCK_CHARACTERS = 1600
BLOCK_HAN_CHARACTERS = 480

#: Relational alignment: neighbours on each side in the claim (content words) and in the evidence (words).
_CLAIM_REACH = 2
_EVIDENCE_REACH = 6
#: The alignment of a word that has no counterpart.
_UNFOUND = 0.8
#: The alignment (e5, median of WiCE) of a content word that is absent from a sentence, and of one that is present.
_COMMON, _COMMON_PLAIN, _COMMON_RELATIONAL = (np.float32(value) for value in (0.70, 0.88, 0.83))
#: Cells of the matrix of words against words that are worked out at once: what bounds memory.
_CELLS = 4_000_000


def blocks(text: Analysis, limit: int = 0, *, cut: bool = True) -> list[tuple[int, int]]:
    """Offsets of the blocks that a text is encoded in: the whole text if it is short, else runs of sentences.

    ``limit``: characters of a block, by default what is encoded at once; longer sentences are ``cut``.
    """
    limit = limit or (BLOCK_HAN_CHARACTERS if text.han else BLOCK_CHARACTERS)
    if len(text.text) <= limit and len(text.ids) <= BLOCK_WORDS:
        return [(0, len(text.text))]
    found: list[tuple[int, int]] = []
    start = end = 0
    for low, high in _pieces(text, limit) if cut else text.bounds.tolist():
        if end > start and (high - start > limit or _n_words(text, start, high) > BLOCK_WORDS):
            found.append((start, end))
            start = low
        end = high
    found.append((start, end))
    return found


def _pieces(text: Analysis, limit: int) -> list[tuple[int, int]]:
    """The sentences; one that is longer than a block is cut."""
    found: list[tuple[int, int]] = []
    for low, high in text.bounds.tolist():
        found.extend((at, min(at + limit, high)) for at in range(low, high, limit))
    return found


def _n_words(text: Analysis, start: int, end: int) -> int:
    words = text.words_between(start, end)
    return words.stop - words.start


def word_vectors(
    text: Analysis, vectors: Floats, spans: NDArray[np.integer], offset: int = 0, words: slice = slice(None)
) -> Floats:
    """(n, d) unit rows: the mean of the token vectors that touch each word; a row of zeros where no token does.

    Parameters
    ----------
    vectors, spans
        Token vectors (m, d) and their spans (m, 2) in the block that starts at ``offset``.
    words
        The words that are asked for, by default all.
    """
    begins, stops = text.starts[words], text.ends[words]
    result = np.zeros((len(begins), vectors.shape[1]), dtype=np.float32)
    if not len(vectors) or not len(begins):
        return result
    starts, ends = spans[:, 0] + offset, spans[:, 1] + offset
    first = np.searchsorted(ends, begins, side="right")
    last = np.searchsorted(starts, stops, side="left")
    totals = np.concatenate([np.zeros((1, vectors.shape[1])), np.cumsum(vectors, axis=0, dtype=np.float64)])
    touched = last > first
    result[touched] = totals[last[touched]] - totals[first[touched]]
    lengths = np.linalg.norm(result, axis=1, keepdims=True)
    return result / np.where(lengths > 0, lengths, 1.0).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Alignment:
    """Cosines of the claims' words (m) with the best word of each evidence sentence (s).

    ``plain`` and ``relational`` are (m, s) float32.
    """

    plain: Floats
    relational: Floats


def align(
    grid: Grid, claims: Sequence[Floats], evidence: Sequence[Floats], read: NDArray[np.bool_] | None = None
) -> Alignment:
    """Align the words of all claims with those of all evidence texts.

    Parameters
    ----------
    claims, evidence
        Word vectors of each claim and of the words of each evidence text that are read, in the grid's order.
    read
        (s,) the sentences of the grid whose words have vectors, by default all. For the others stands what words of
        which as much is present commonly have.
    """
    there = np.ones(grid.n_sentences, dtype=bool) if read is None else read
    known = grid.word_sentence[there[grid.word_sentence]]
    plain, relational = (_COMMON + (most - _COMMON) * grid.present for most in (_COMMON_PLAIN, _COMMON_RELATIONAL))
    for values in (plain, relational):
        values[:, there] = 0.0
    if len(grid.ids) and len(known):
        theirs, steps = np.concatenate(evidence).T, _steps(_runs(grid, there))
        for numbers in _groups(grid, len(known)):
            first = grid.rows[numbers[0]].start
            cosines = np.concatenate([claims[number] for number in numbers]) @ theirs
            around, related = _around(cosines, steps), np.empty_like(cosines)
            for number in numbers:
                rows = grid.rows[number]
                mine = slice(rows.start - first, rows.stop - first)
                related[mine] = _related(cosines[mine], around[mine], grid.weight[rows] > 0)
            sentences, firsts = np.unique(known, return_index=True)
            for values, found in ((plain, cosines), (relational, related)):
                values[first : first + len(found), sentences] = np.maximum.reduceat(found, firsts, axis=1)
    for where, sentence in grid.initials:
        # The vector of "SSO" is nowhere near those of the words that it stands for.
        for values, most in ((plain, _COMMON_PLAIN), (relational, _COMMON_RELATIONAL)):
            values[where, sentence] = np.maximum(values[where, sentence], most)
    return Alignment(plain, relational)


def _groups(grid: Grid, width: int) -> Iterator[range]:
    """Claims in runs whose words make at most :data:`_CELLS` cells with ``width`` columns; one claim at least."""
    start = 0
    for end in range(1, len(grid.claims) + 1):
        last = end == len(grid.claims)
        if last or (grid.rows[end].stop - grid.rows[start].start) * width > _CELLS:
            yield range(start, end)
            start = end


def _runs(grid: Grid, there: NDArray[np.bool_]) -> Ints:
    """Words of each run of sentences that are read one after the other in one text."""
    follows = np.concatenate([np.diff(some, prepend=-2) == 1 for some in grid.read])
    begins = ~follows | ~np.concatenate([[False], there[:-1]])
    return np.bincount((np.cumsum(begins) - 1)[grid.word_sentence[there[grid.word_sentence]]])


def _steps(lengths: Sequence[int] | Ints) -> Ints:
    """Where each column goes when the texts are parted by gaps that no reach can cross."""
    gaps = np.repeat(np.arange(len(lengths)) * _EVIDENCE_REACH, lengths)
    return (np.arange(len(gaps)) + gaps + _EVIDENCE_REACH).astype(np.int64)


def _related(cosines: Floats, around: Floats, content: NDArray[np.bool_]) -> Floats:
    """Mean of each word's cosine at a place and its neighbours' best cosines around that place."""
    places = np.flatnonzero(content)
    if len(places) < 2:
        return cosines
    n = len(places)
    distance = np.abs(np.arange(n)[:, None] - np.arange(n)[None, :])
    near = ((distance > 0) & (distance <= _CLAIM_REACH)).astype(np.float32)
    related = cosines.copy()
    related[places] = (cosines[places] + near @ around[places] / near.sum(axis=1, keepdims=True)) / 2
    return related


def _around(values: Floats, steps: Ints) -> Floats:
    """Highest value within :data:`_EVIDENCE_REACH` columns to each side in the same text, by doubling."""
    best = np.full((len(values), int(steps[-1]) + 1 + _EVIDENCE_REACH), -1.0, dtype=np.float32)
    best[:, steps] = values
    width, reach = 2 * _EVIDENCE_REACH + 1, 1
    while reach < width:
        step = min(reach, width - reach)
        best = np.maximum(best[:, :-step], best[:, step:])
        reach += step
    return best[:, steps - _EVIDENCE_REACH]


def alignment_features(grid: Grid, alignment: Alignment, spans: Windows) -> Floats:
    """(c, w, len(ALIGNMENT)) float32: what each window says about each claim."""
    rows = [_claim_alignment(grid, alignment, number, spans) for number in range(len(grid.claims))]
    return np.stack(rows) if rows else np.zeros((0, len(spans), len(ALIGNMENT)), dtype=np.float32)


def _claim_alignment(grid: Grid, alignment: Alignment, number: int, spans: Windows) -> Floats:
    rows = grid.rows[number]
    keep = np.flatnonzero(grid.weight[rows] > 0)
    if not len(keep):
        keep = np.arange(rows.stop - rows.start)
    out = np.ones((len(spans), len(ALIGNMENT)), dtype=np.float32)
    if not len(keep):
        return out
    weight, kind = grid.weight[rows][keep] + 1e-3, grid.kind[rows][keep]
    sentence_plain = alignment.plain[rows][keep]
    plain = in_windows(sentence_plain, spans)
    related = in_windows(alignment.relational[rows][keep], spans)
    special = (kind == NAME) | (kind == NUMBER)
    lost = _alignment_shift(grid, number, spans, keep, plain, related)
    best = best_sentences(weight @ sentence_plain / weight.sum(), spans)
    out[:, 5] = weight @ plain / weight.sum()
    out[:, 0] = plain[special].min(axis=0) if special.any() else out[:, 5]
    out[:, 1] = _worst(np.concatenate([plain, lost]), 3)
    out[:, 2] = np.concatenate([related, lost]).min(axis=0)
    out[:, 3] = _worst(np.concatenate([related, lost]), 3)
    out[:, 4] = weight @ related / weight.sum()
    out[:, 6] = _worst(sentence_plain[:, best], 3)
    missing = in_windows(grid.present[rows][keep], spans) < 0.99
    out[:, 7] = np.where(missing.any(axis=0), (plain * missing).sum(axis=0) / np.maximum(missing.sum(axis=0), 1), 1.0)
    return out


def _alignment_shift(grid: Grid, number: int, spans: Windows, keep: Ints, plain: Floats, related: Floats) -> Floats:
    """Count the words that need no evidence as found (in place); (0 or 3, w) alignments for words that are lost."""
    claim = grid.claims[number]
    shifting = {s: r for (row, s), r in grid.relations.items() if row == number and r.shifts}
    if not shifting:
        return np.empty((0, len(spans)), dtype=np.float32)
    best = best_sentences(sentence_cover(grid, number), spans)
    lost = np.ones((3, len(spans)), dtype=np.float32)
    for sentence, relation in shifting.items():
        at = np.flatnonzero(best == sentence)
        harmless = np.isin(keep + claim.words.start, relation.harmless)
        for values in (plain, related):
            values[np.flatnonzero(harmless)[:, None], at] = 1.0
        lost[: len(relation.lost), at] = _UNFOUND
    return lost


def _worst(values: Floats, n: int) -> Floats:
    """(w,) mean of the ``n`` lowest values of each column."""
    n = min(n, len(values))
    return np.partition(values, n - 1, axis=0)[:n].mean(axis=0)


# ------------------------------------------------------------------------------
# Narrow, explained signs that a text contradicts a claim.
#
# A contradiction is reported only where one can point at it: the same slot holds another number, date or name; the same
# sentence with a negation added; a listed opposite. Whatever else contradicts (world knowledge, roles exchanged,
# opposites that are not listed) is not seen here and stays "not mentioned".


#: The rest of the claim must stand in the sentence to this share (by rarity) before a sign counts.
REST = {"number": 0.55, "name": 0.8, "name elsewhere": 0.9, "negation": 0.85, "antonym": 0.7,
        "kind": 0.7, "strength": 0.85, "exchange": 0.9}  # fmt: skip
#: Two claims of one answer are about the same where each holds this share of the other's words; else the sign is doubted.
SAME, DOUBTED = 0.9, 0.6
#: The same for a number whose whole slot is the same, word for word: the rest of the claim may then be told elsewhere.
REST_IN_PLACE = 0.35
#: Words on each side that make the slot of a number or name.
_SLOT = 3
#: A sentence that holds so much less of a claim than another is about something else.
_ELSEWHERE = 0.2
#: Sentences of one text that are looked through for that.
_SCANNED = 1000
_LIMITS = ("<", ">", "<=", ">=")
#: Characters of a list between two of its names.
_LIST_REACH = 160
#: Kinds of names that could fill the same slot have the same value here.
_COMPARED = {"name": "name", "title": "name", "code": "code"}
#: A sentence below this cover is not looked at.
_CANDIDATE = 0.35
#: And below this one only its numbers and names are.
_RELATED = 0.35


@dataclass(frozen=True, slots=True)
class Sign:
    """One sign of contradiction: its probability, its kind, the words of the claim and of the evidence."""

    probability: float
    kind: str
    claimed: str
    found: str

    @property
    def text(self) -> str:
        """For people, the same in every language: ``2014 ≠ 2015``."""
        return f"{self.claimed} ≠ {self.found}"


@cache
def _opposite_words() -> dict[str, tuple[str, ...]]:
    """Word → its listed opposites as written; only pairs in the same place of both sides, where there are as many."""
    found: dict[str, tuple[str, ...]] = {}
    for left, right in opposite_lists():
        for mine, others in ((left, right), (right, left)):
            for at, word in enumerate(mine):
                found.setdefault(word, (others[min(at, len(others) - 1)], *others))
    return found


def opposite_words(word: str) -> tuple[str, ...]:
    """Listed opposites of a folded word, the best fitting form first; empty when it is not listed."""
    return _opposite_words().get(word, ())


def contradictions(grid: Grid, number: int) -> Iterator[tuple[int, Sign]]:
    """(sentence, sign) for each sentence of the grid that shows a sign against claim ``number``."""
    cover = _rest_cover(grid, number)
    claim, present = grid.claims[number], grid.present[grid.rows[number]]
    with_before = np.where(grid.leaning, cover + np.roll(cover, 1), cover)
    for sentence in np.flatnonzero(with_before >= _CANDIDATE):
        checkpoint()
        text, at = grid.locate(int(sentence))
        if text is not claim.source:
            told = present[:, sentence]
            before = np.maximum(told, present[:, sentence - 1]) if grid.leaning[sentence] else told
            relation = related(grid, number, int(sentence)) if with_before[sentence] >= _RELATED else None
            misplaced = _misplaced(grid, number, int(sentence), cover)
            sign = strongest(claim, text, at, told, before, relation=relation, misplaced=misplaced)
            if sign is not None:
                yield int(sentence), sign


def _misplaced(grid: Grid, number: int, sentence: int, cover: NDArray[Any]) -> frozenset[Quantity]:
    """The numbers of a claim that other sentences of the text have for something else: "express takes 2 days" excuses no
    "standard takes 2 days" where a sentence says 5 of standard.

    A sentence is about something else when it holds much less of the claim's words, leans on none before it and has no
    other number of the claim that ``sentence`` lacks.
    """
    owner = int(np.searchsorted(grid.offsets, sentence, side="right")) - 1
    inside = slice(int(grid.offsets[owner]), int(grid.offsets[owner + 1]))
    if cover[sentence] < REST["number"] or inside.stop - inside.start > _SCANNED:
        return frozenset()
    stated = list(_stated(grid, grid.rows[number]))
    if not stated or len(stated) > _MANY:
        return frozenset()
    excusing = (cover[inside] > cover[sentence] - _ELSEWHERE) | grid.leaning[inside]
    for one in stated:
        if not one.sentences[sentence]:
            excusing = excusing | (one.sentences[inside] & (sum(other.sentences[inside] for other in stated) > 1))
    return frozenset(
        one.quantity
        for one in stated
        if one.quantity.kind != "date"
        and not one.sentences[sentence]
        and one.sentences[inside].any()
        and not (one.sentences[inside] & excusing).any()
    )


def conflicts(grid: Grid, answer_at: int, claims: Sequence[int]) -> list[tuple[int, int, float]]:
    """Pairs of claims of one answer that contradict each other: (number, number, probability).

    Parameters
    ----------
    answer_at
        Number of the answer among the grid's texts.
    claims
        Numbers of the answer's claims.
    """
    found: dict[tuple[int, int], float] = {}
    covers = {number: _rest_cover(grid, number) for number in claims}
    for number, cover in covers.items():
        for other in claims:
            sentence = _sentence_of(grid.claims[other])
            column = grid.column(answer_at, sentence)
            if column < 0 or _sentence_of(grid.claims[number]) == sentence or cover[column] < _CANDIDATE:
                continue
            present = grid.present[grid.rows[number], column]
            sign = strongest(grid.claims[number], grid.texts[answer_at], sentence, present, alone=True)
            if sign is not None:
                pair = (min(number, other), max(number, other))
                # Two things may well have two values: only what is said of the very same in the same words is sure.
                back = grid.column(answer_at, _sentence_of(grid.claims[number]))
                differing = sum(not stated.sentences[column] for stated in _stated(grid, grid.rows[number]))
                same = back >= 0 and min(cover[column], covers[other][back]) >= SAME and differing <= 1
                found[pair] = max(sign.probability if same else min(sign.probability, DOUBTED), found.get(pair, 0.0))
    return [(*pair, probability) for pair, probability in sorted(found.items())]


def _rest_cover(grid: Grid, number: int) -> NDArray[Any]:
    """(s,) share of the claim's words, numbers left out, that each sentence holds (by rarity)."""
    rows = grid.rows[number]
    weight = np.where(grid.kind[rows] == NUMBER, 0.0, grid.weight[rows])
    return (weight @ grid.present[rows]) / max(float(weight.sum()), 1e-6)


def _sentence_of(claim: ClaimWords) -> int:
    return max(int(np.searchsorted(claim.source.bounds[:, 0], claim.start, side="right")) - 1, 0)


def strongest(
    claim: ClaimWords,
    text: Analysis,
    sentence: int,
    present: Any,
    before: Any = None,
    *,
    alone: bool = False,
    relation: Relation | None = None,
    misplaced: frozenset[Quantity] = frozenset(),
) -> Sign | None:
    """The strongest sign of one sentence against a claim.

    Parameters
    ----------
    present
        (m,) how far the sentence holds the claim's words.
    before
        (m,) how far it holds them together with the sentence before that it leans on ("It costs …"); for numbers only.
    alone
        Whether only this sentence of the text counts: a number that stands elsewhere in it is no excuse.
    misplaced
        Numbers of the claim that stand elsewhere in the text for something else, which is no excuse either.
    """
    words = _Sentence(text, sentence, alone=alone)
    signs = [
        *_numbers(claim, words, present if before is None else before, misplaced),
        *_names(claim, words, present),
        *_related_signs(claim, words, present, relate(claim, text, sentence) if alone else relation),
    ]
    return max(signs, key=lambda sign: sign.probability, default=None)


class _Sentence:
    """The words of one sentence of an analysed text."""

    def __init__(self, text: Analysis, number: int, *, alone: bool = False) -> None:
        self.text, self.number = text, number
        start, end = text.bounds[number]
        self.scope = text.folded[start:end] if alone else text.folded
        self.words = text.words_between(int(start), int(end))
        self.ids = text.ids[self.words]
        self.weight = text.weight[self.words]
        self.quantities = text.quantities[run_of(text.quantity_sentence, number)]
        self.names = text.names[run_of(text.name_sentence, number)]
        self.alone = alone


@lru_cache(maxsize=256)
def _numbers_of(text: str, sentence: int | None) -> Numbers:
    found = analyse(text)
    inside = slice(None) if sentence is None else run_of(found.quantity_sentence, sentence)
    return Numbers((quantity, 0) for quantity in found.quantities[inside])


def _rest(claim: ClaimWords, present: Any, left_out: slice) -> float:
    """Rarity-weighted share of the claim's content words that the sentence holds, some words left out."""
    weight = claim.source.weight[claim.words].copy()
    weight[left_out] = 0.0
    total = float(weight.sum())
    if total > 0.3:
        return float(weight @ present) / total
    # Of common words alone all must stand there, and there must be some.
    return float(total > 0.0 and bool((present[weight > 0] >= 1.0).all()))


def _inside(claim: ClaimWords, start: int, end: int) -> slice:
    words = claim.source.words_between(start, end)
    return slice(words.start - claim.words.start, max(words.start, words.stop) - claim.words.start)


def _slot(text: Analysis, start: int, end: int, low: int, high: int) -> frozenset[int]:
    """Ids of the content words next to ``[start, end)``, within the words ``[low, high)``."""
    inside = text.words_between(start, end)
    before = (at for at in range(inside.start - 1, low - 1, -1) if text.kind[at] != FUNCTION)
    after = (at for at in range(max(inside.stop, inside.start), high) if text.kind[at] != FUNCTION)
    near = (*islice(before, _SLOT), *islice(after, _SLOT))
    return frozenset(int(text.ids[at]) for at in near if text.kind[at] != NUMBER)


def _same_slot(claim: ClaimWords, mine: Quantity | Entity, words: _Sentence, other: Quantity | Entity) -> float:
    """Share of the neighbours that two places have in common, of the smaller neighbourhood."""
    left = _slot(claim.source, mine.start, mine.end, claim.words.start, claim.words.stop)
    right = _slot(words.text, other.start, other.end, words.words.start, words.words.stop)
    if not left or not right:
        return 0.0
    return len(left & right) / min(len(left), len(right))


def _numbers(
    claim: ClaimWords, words: _Sentence, present: Any, misplaced: frozenset[Quantity] = frozenset()
) -> Iterator[Sign]:
    mine = quantities_of(claim)
    if not mine or not words.quantities:
        return
    claimed = Numbers((quantity, 0) for quantity in mine)
    open_slots = [other for other in words.quantities if not claimed.held_by(other)][:_MANY]
    # "Not the first" is no claim of a first; "no more than ten" is one of ten.
    meant = (q for q in mine if q.cue or not _negated(claim, q.start))
    here = words.number if words.alone else None
    unheld = (
        q
        for q in meant
        if (q in misplaced or _is_untold(q, words.text.text, here)) and not _either(claim, mine, q, words)
    )
    for quantity in islice(unheld, _MANY if open_slots else 0):
        rest = _rest(claim, present, _inside(claim, quantity.start, quantity.end))
        if rest < REST_IN_PLACE:
            continue
        for other in open_slots:
            if not _comparable(quantity, other):
                continue
            slot = _same_slot(claim, quantity, words, other)
            if slot >= (0.5 if rest >= REST["number"] else 0.99):
                yield Sign(_level(rest, slot), "number", quantity.text, other.text)


@lru_cache(maxsize=16384)
def _is_untold(claimed: Quantity, text: str, sentence: int | None) -> bool:
    """Whether neither the text (or that sentence of it) holds a number nor it follows from what the text tells."""
    return not _numbers_of(text, sentence).holding(claimed) and not follows(claimed, analyse(text).quantities)


def _either(claim: ClaimWords, mine: Sequence[Quantity], one: Quantity, words: _Sentence) -> bool:
    """Whether the claim has another number beside an "or" that the text holds: "in the 18th or 19th century"."""
    either = {word for table in tables("polarity") for word in table["words"]["or"].split()}
    known = _numbers_of(words.text.text, words.number if words.alone else None)
    for other in mine:
        low, high = sorted((one, other), key=lambda q: q.start)
        if other is not one and claim.source.folded[low.end : high.start].strip() in either and known.holding(other):
            return True
    return False


def _comparable(claimed: Quantity, found: Quantity) -> bool:
    """Whether two numbers could fill the same slot, where only one of them can stand."""
    if quantity_relation(claimed, found) != "different":
        return False
    if not claimed.cue or claimed.unit != found.unit:
        return True
    if found.cue in _LIMITS:
        # "At least five" are more than four; but who needs at least ten does not need at least eleven.
        ends = ((claimed.low, found.low), (claimed.high, found.high))
        alike = claimed.cue == found.cue
        return alike or not any(math.isfinite(mine) and abs(mine - theirs) == 1 for mine, theirs in ends)
    return not (claimed.low <= found.low and found.high <= claimed.high)


def _level(rest: float, slot: float) -> float:
    """Probability of a sign from how alike the rest is; between .5 and .95."""
    return round(min(0.95, 0.35 + 0.4 * rest + 0.2 * slot), 4)


def _names(claim: ClaimWords, words: _Sentence, present: Any) -> Iterator[Sign]:
    mine = [part for name in names_of(claim) if name.kind in _COMPARED for part in _single(claim.source.text, name)]
    known = claim.source.folded[claim.start : claim.end]
    others = [part for name in words.names for part in _single(words.text.text, name)]
    leaning = pattern("offline", "(?:«pronoun»)").match(words.text.folded, int(words.text.bounds[words.number, 0]))
    meant = [other for other in others if words.text.folded[other.start : other.end] in known]
    for name in mine:
        rows = _inside(claim, name.start, name.end)
        if not len(present[rows]) or float(np.max(present[rows])) > 0:
            continue
        # The pronoun that a sentence begins with may stand for the name that the claim begins with.
        if leaning and name.start <= claim.start + 4:
            continue
        said = claim.source.folded[name.start : name.end]
        rest = _rest(claim, present, rows)
        if rest < REST["name"]:
            continue
        if name.kind == "code" and holds_code(words.scope, said):
            continue
        elsewhere = said in words.scope
        if rest < REST["name elsewhere" if elsewhere else "name"]:
            continue
        for other in others:
            if _COMPARED.get(other.kind) != _COMPARED[name.kind] or words.text.folded[other.start : other.end] in known:
                continue
            if any(_listed(words.text.text, others, other, shared) for shared in meant) and not any(
                _listed(claim.source.text, mine, name, shared) for shared in mine if shared is not name
            ):
                continue
            slot = _same_slot(claim, name, words, other)
            if slot >= (0.99 if elsewhere else 0.6):
                yield Sign(_level(rest, slot) - 0.05, "name", name.text, other.text)


def _single(text: str, name: Entity) -> Iterator[Entity]:
    """The names of a name: "Paris and London" are two."""
    if name.kind != "name":
        yield name
        return
    at = name.start
    for match in [*_joining().finditer(text, name.start, name.end), None]:
        end = match.start() if match else name.end
        if end > at:
            yield Entity(at, end, text[at:end], name.kind)
        at = match.end() if match else end


def _listed(text: str, names: Sequence[Entity], one: Entity, two: Entity) -> bool:
    """Whether two names stand in one list: what a claim adds to it need not be in the place of another item."""
    low, high = sorted((one, two), key=lambda name: name.start)
    between = text[low.end : high.start]
    if len(between) > _LIST_REACH:
        return False
    for name in names:
        between = between.replace(name.text, "")
    return bool(between.strip()) and _joining().sub(",", f" {between} ").strip(" ,，、;；") == ""


@cache
def _joining() -> re.Pattern[str]:
    words = "|".join(re.escape(word) for table in tables("polarity") for word in table["words"]["symmetric"].split())
    return re.compile(rf"\s+(?:{words})\s+", re.IGNORECASE)


def _related_signs(claim: ClaimWords, words: _Sentence, present: Any, relation: Relation | None) -> Iterator[Sign]:
    """The same said with another polarity, an opposite, another member, a stronger word, or two parts exchanged."""
    if relation is None:
        return
    if relation.clash is not None:
        row = relation.clash[0] - claim.words.start
        laid = np.array(present, dtype=np.float32)
        laid[[m.mine - claim.words.start for m in relation.matches if m.how in ("same", "alike")]] = 1.0
        rest = _rest(claim, laid, slice(row, row + 1) if present[row] < 0.5 else slice(0, 0))
        if relation.universal:
            rest = 1.0
        # What a pronoun stands for is not known: its sentence may speak of something else.
        pronoun = pattern("offline", "(?:«pronoun»)").match(claim.source.folded, claim.start)
        if rest >= REST["negation"] and not pronoun:
            start, end = words.text.bounds[words.number].tolist()
            shown, found = claim.source.text[claim.start : claim.end], words.text.text[start:end]
            yield Sign(_level(rest, 0.5), "negation", shown[:80], found[:80])
    for kind, pair in (("antonym", relation.opposed), ("kind", relation.rival)):
        if pair is not None and (sign := _other_word(claim, words, present, kind, pair)) is not None:
            yield sign
    if relation.stronger is not None:
        rest = _rest(claim, present, slice(0, 0))
        if rest >= REST["strength"]:
            mine, other = (_shown(text, at) for text, at in zip((claim.source, words.text), relation.stronger, strict=True))
            yield Sign(_level(rest, 0.5) - 0.05, "strength", mine, other)
    if relation.reversed_order:
        start, end = words.text.bounds[words.number].tolist()
        yield Sign(0.85, "order", claim.source.text[claim.start : claim.end][:80], words.text.text[start:end][:80])
    if relation.superseded is not None and (rest := _rest(claim, present, slice(0, 0))) >= REST["exchange"]:
        yield Sign(_level(rest, 0.5), "change", *relation.superseded)
    if relation.exchanged is not None:
        rest = _rest(claim, present, slice(0, 0))
        if rest >= REST["exchange"]:
            left, right = (_part(claim.source, *part) for part in relation.exchanged)
            yield Sign(_level(rest, 0.5), "exchange", f"{left} … {right}", f"{right} … {left}")


def _other_word(
    claim: ClaimWords, words: _Sentence, present: Any, kind: str, pair: tuple[int, int]
) -> Sign | None:
    """An opposite or a rival in the place of a word of the claim."""
    at, place = pair
    row = at - claim.words.start
    if kind == "kind" and _negated(claim, int(claim.source.starts[at])):
        return None
    rest = _rest(claim, present, slice(row, row + 1))
    if rest < REST[kind]:
        return None
    mine, other = (_entity(text, number) for text, number in ((claim.source, at), (words.text, place)))
    slot = _same_slot(claim, mine, words, other)
    if slot < (0.99 if _word(claim, at) in words.scope else 0.5):
        return None
    return Sign(_level(rest, slot) - 0.05, kind, _shown(claim.source, at), _shown(words.text, place))


def _entity(text: Analysis, at: int) -> Entity:
    return Entity(int(text.starts[at]), int(text.ends[at]), "", "")


def _shown(text: Analysis, at: int) -> str:
    return text.text[int(text.starts[at]) : int(text.ends[at])]


def _part(text: Analysis, first: int, last: int) -> str:
    return text.text[int(text.starts[first]) : int(text.ends[last - 1])]


def _word(claim: ClaimWords, at: int) -> str:
    return claim.source.folded[int(claim.source.starts[at]) : int(claim.source.ends[at])]
