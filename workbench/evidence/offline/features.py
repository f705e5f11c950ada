"""Lexical evidence for claims in texts, all claims of a sample against all its texts at once.

:func:`lexical_features` reduces a :class:`~workbench.evidence.offline.words.Grid` to one row of :data:`LEXICAL` for each claim
and window.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.text.quantities import Quantity
from workbench.data.text.quantities import relation as quantity_relation
from workbench.evidence.offline.grid import ClaimWords, Grid, Stated, Windows, in_windows, names_of, word_rows
from workbench.evidence.offline.lexicon import tables
from workbench.evidence.offline.relations import ALIKE, RELATION, Relation, relate
from workbench.evidence.offline.words import (
    FUNCTION,
    NAME,
    NUMBER,
    Analysis,
    Ints,
    Numbers,
    analyse,
    follows,
    may_be_counted,
    rounds,
    run_of,
    word_id,
)
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
MANY_NUMBERS = 100


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
        grid.relations[key] = relate(grid.claims[number], text, at, grid.question)
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
    mine = [s.sentences for s in stated_in(grid, rows) if s.quantity.text.lower() not in _LIGHT]
    if not mine:
        return np.zeros(len(spans), dtype=np.float32)
    return np.minimum((1.0 - in_windows(np.stack(mine), spans)).sum(axis=0), 2.0)


@lru_cache(maxsize=256)
def numbers_of(text: str, sentence: int | None) -> Numbers:
    """The numbers of a text, or of one of its sentences."""
    found = analyse(text)
    inside = slice(None) if sentence is None else run_of(found.quantity_sentence, sentence)
    return Numbers((quantity, 0) for quantity in found.quantities[inside])


def stated_in(grid: Grid, rows: slice) -> Iterator[Stated]:
    """The numbers of the claim that has these rows."""
    return (stated for stated in grid.stated if rows.start <= stated.rows.start < rows.stop)


def untold(grid: Grid, number: int, question: Analysis | None) -> NDArray[np.bool_]:
    """(texts,) whether a number or code of the claim stands nowhere in a text: not rounded, and not to be counted there.

    What stands in the ``question`` needs no evidence: an answer repeats it. Of a claim with more than :data:`MANY_NUMBERS`
    numbers or codes the first are looked at.
    """
    asked = Numbers((quantity, 0) for quantity in (question.quantities if question else ()))
    found = np.zeros(len(grid.texts), dtype=bool)
    for stated in islice(stated_in(grid, grid.rows[number]), MANY_NUMBERS):
        if not (stated.worked_out or may_be_counted(stated.quantity) or asked.holding(stated.quantity)):
            held = np.diff(np.concatenate([[0], np.cumsum(stated.sentences)])[grid.offsets]) > 0
            for at in np.flatnonzero(~held & ~found).tolist():
                text = grid.texts[at]
                theirs = text.quantities
                found[at] = not (
                    (len(grid.read[at]) < len(text.bounds) and numbers_of(text.text, None).holding(stated.quantity))
                    or any(rounds(stated.quantity, other) or _as_long(stated.quantity, other) for other in theirs)
                    or follows(stated.quantity, theirs)
                )
    for code in islice(codes_of(grid.claims[number]), MANY_NUMBERS):
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
    | (?<!(?u:[\w-]))--?[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*(?!(?u:\w))
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


def denied_before(claim: ClaimWords, start: int) -> bool:
    """Whether a negation stands shortly before a place: "not the first" is no claim of a first."""
    negations = claim_negations(claim)
    return bool(((negations < start) & (negations >= start - _NEGATED)).any())
