"""Narrow, explained signs that a text contradicts a claim.

A contradiction is reported only where one can point at it: the same slot holds another number, date or name; the same
sentence with a negation added; a listed opposite. Whatever else contradicts (world knowledge, roles exchanged,
opposites that are not listed) is not seen here and stays "not mentioned".
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.quantities import Entity, Quantity
from workbench.evidence.analysis import FUNCTION, NUMBER, Analysis, analyse, word_id
from workbench.evidence.features import claim_negations, holds_code
from workbench.evidence.grid import ClaimWords, Grid, Ints, names_of, quantities_of
from workbench.evidence.numbers import Numbers, date_parts

#: The rest of the claim must stand in the sentence to this share (by rarity) before a sign counts.
REST = {"number": 0.55, "name": 0.8, "name elsewhere": 0.9, "negation": 0.8, "antonym": 0.7}
#: The same for a number whose whole slot is the same, word for word: the rest of the claim may then be told elsewhere.
REST_IN_PLACE = 0.35
#: Words on each side that make the slot of a number or name.
_SLOT = 3
#: Kinds of names that could fill the same slot have the same value here.
_COMPARED = {"name": "name", "title": "name", "code": "code"}
#: Numbers of a claim, and of a sentence, that are looked at as slots; more of them are a list, without slots.
_MANY = 100
#: A sentence below this cover is not looked at.
_CANDIDATE = 0.35


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
def _opposites() -> dict[int, frozenset[int]]:
    """Id of a word → ids of its opposites, as :func:`workbench.evidence.analysis.word_id` numbers them."""
    table = tomllib.loads(resources.files(__package__).joinpath("antonyms.toml").read_text(encoding="utf-8"))
    found: dict[int, set[int]] = {}
    for value in table.values():
        for line in value.strip().splitlines():
            left, right = ({word_id(word) for word in side.split()} for side in line.split(" : "))
            for mine, others in ((left, right), (right, left)):
                for number in mine:
                    found.setdefault(number, set()).update(others - mine)
    return {number: frozenset(others) for number, others in found.items()}


@cache
def _opposite_words() -> dict[str, tuple[str, ...]]:
    """Word → its listed opposites as written; only pairs in the same place of both sides, where there are as many."""
    table = tomllib.loads(resources.files(__package__).joinpath("antonyms.toml").read_text(encoding="utf-8"))
    found: dict[str, tuple[str, ...]] = {}
    for value in table.values():
        for line in value.strip().splitlines():
            left, right = (side.split() for side in line.split(" : "))
            for mine, others in ((left, right), (right, left)):
                for at, word in enumerate(mine):
                    found.setdefault(word, (others[min(at, len(others) - 1)], *others))
    return found


def opposite_words(word: str) -> tuple[str, ...]:
    """Listed opposites of a folded word, the best fitting form first; empty when it is not listed."""
    return _opposite_words().get(word, ())


def opposites(claim: ClaimWords) -> list[tuple[int, frozenset[int]]]:
    """The claim's words that have listed opposites: (index into the word arrays, ids of the opposites)."""
    known = _opposites()
    ids = claim.source.ids[claim.words].tolist()
    return [(claim.words.start + at, known[number]) for at, number in enumerate(ids) if number in known]


def contradictions(grid: Grid, number: int) -> Iterator[tuple[int, Sign]]:
    """(sentence, sign) for each sentence of the grid that shows a sign against claim ``number``."""
    cover = _rest_cover(grid, number)
    claim, present = grid.claims[number], grid.present[grid.rows[number]]
    with_before = np.where(grid.leaning, cover + np.roll(cover, 1), cover)
    for sentence in np.flatnonzero(with_before >= _CANDIDATE):
        text, at = grid.locate(int(sentence))
        if text is not claim.source:
            told = present[:, sentence]
            before = np.maximum(told, present[:, sentence - 1]) if grid.leaning[sentence] else told
            sign = strongest(claim, text, at, told, before)
            if sign is not None:
                yield int(sentence), sign


def conflicts(grid: Grid, answer_at: int, claims: Sequence[int]) -> list[tuple[int, int, float]]:
    """Pairs of claims of one answer that contradict each other: (number, number, probability).

    Parameters
    ----------
    answer_at
        Number of the answer among the grid's texts.
    claims
        Numbers of the answer's claims.
    """
    offset = int(grid.offsets[answer_at])
    found: dict[tuple[int, int], float] = {}
    for number in claims:
        cover = _rest_cover(grid, number)
        for other in claims:
            sentence = _sentence_of(grid.claims[other])
            if _sentence_of(grid.claims[number]) == sentence or cover[offset + sentence] < _CANDIDATE:
                continue
            present = grid.present[grid.rows[number], offset + sentence]
            sign = strongest(grid.claims[number], grid.texts[answer_at], sentence, present, alone=True)
            if sign is not None:
                pair = (min(number, other), max(number, other))
                found[pair] = max(sign.probability, found.get(pair, 0.0))
    return [(*pair, probability) for pair, probability in sorted(found.items())]


def _rest_cover(grid: Grid, number: int) -> NDArray[Any]:
    """(s,) share of the claim's words, numbers left out, that each sentence holds (by rarity)."""
    rows = grid.rows[number]
    weight = np.where(grid.kind[rows] == NUMBER, 0.0, grid.weight[rows])
    return (weight @ grid.present[rows]) / max(float(weight.sum()), 1e-6)


def _sentence_of(claim: ClaimWords) -> int:
    return max(int(np.searchsorted(claim.source.bounds[:, 0], claim.start, side="right")) - 1, 0)


def strongest(
    claim: ClaimWords, text: Analysis, sentence: int, present: Any, before: Any = None, *, alone: bool = False
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
    """
    words = _Sentence(text, sentence, alone=alone)
    signs = [
        *_numbers(claim, words, present if before is None else before),
        *_names(claim, words, present),
        *_negation(claim, words, present),
        *_antonyms(claim, words, present),
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
        self.id_set = frozenset(self.ids.tolist())
        self.quantities = text.quantities[_run(text.quantity_sentence, number)]
        self.names = text.names[_run(text.name_sentence, number)]
        self.alone = alone

    @property
    def known(self) -> Numbers:
        """The numbers that are no contradiction: those of the sentence, or of its whole text."""
        return _numbers_of(self.text.text, self.number if self.alone else None)


def _run(sentences: Ints, number: int) -> slice:
    """Where ``number`` stands in a sorted array."""
    low, high = np.searchsorted(sentences, [number, number + 1]).tolist()
    return slice(low, high)


@lru_cache(maxsize=256)
def _numbers_of(text: str, sentence: int | None) -> Numbers:
    found = analyse(text)
    inside = slice(None) if sentence is None else _run(found.quantity_sentence, sentence)
    return Numbers((quantity, 0) for quantity in found.quantities[inside])


def _rest(claim: ClaimWords, present: Any, left_out: slice) -> float:
    """Rarity-weighted share of the claim's content words that the sentence holds, some words left out."""
    weight = claim.source.weight[claim.words].copy()
    weight[left_out] = 0.0
    total = float(weight.sum())
    return float(weight @ present) / total if total > 0.3 else 0.0


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


def _numbers(claim: ClaimWords, words: _Sentence, present: Any) -> Iterator[Sign]:
    mine = quantities_of(claim)
    if not mine or not words.quantities:
        return
    claimed = Numbers((quantity, 0) for quantity in mine)
    open_slots = [other for other in words.quantities if not claimed.held_by(other)][:_MANY]
    unheld = (quantity for quantity in mine if not words.known.holding(quantity))
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


def _comparable(claimed: Quantity, found: Quantity) -> bool:
    """Whether two numbers could fill the same slot: the same kind and unit, and dates with the same parts."""
    if claimed.kind == "ordinal" or found.kind == "ordinal":
        return claimed.kind == found.kind
    if claimed.kind == "date" and found.kind == "date":
        mine, theirs = date_parts(claimed), date_parts(found)
        return any(mine[part] != theirs[part] for part in mine.keys() & theirs.keys())
    return claimed.kind == found.kind and (claimed.unit == found.unit or claimed.kind == "version")


def _level(rest: float, slot: float) -> float:
    """Probability of a sign from how alike the rest is; between .5 and .95."""
    return round(min(0.95, 0.35 + 0.4 * rest + 0.2 * slot), 4)


def _names(claim: ClaimWords, words: _Sentence, present: Any) -> Iterator[Sign]:
    mine = [name for name in names_of(claim) if name.kind in _COMPARED]
    known = claim.source.folded[claim.start : claim.end]
    for name in mine:
        rows = _inside(claim, name.start, name.end)
        if not len(present[rows]) or float(np.max(present[rows])) > 0:
            continue
        said = claim.source.folded[name.start : name.end]
        if name.kind == "code" and holds_code(words.scope, said):
            continue
        elsewhere = said in words.scope
        rest = _rest(claim, present, rows)
        if rest < REST["name elsewhere" if elsewhere else "name"]:
            continue
        for other in words.names:
            if _COMPARED.get(other.kind) != _COMPARED[name.kind] or words.text.folded[other.start : other.end] in known:
                continue
            slot = _same_slot(claim, name, words, other)
            if slot >= (0.99 if elsewhere else 0.6):
                yield Sign(_level(rest, slot) - 0.05, "name", name.text, other.text)


def _negation(claim: ClaimWords, words: _Sentence, present: Any) -> Iterator[Sign]:
    """The claim and the sentence say the same around a negation that only one of them has."""
    mine = claim_negations(claim).tolist()
    start, end = words.text.bounds[words.number].tolist()
    theirs = [at for at in words.text.negation_spans[:, 0].tolist() if start <= at < end]
    if (len(mine) + len(theirs)) % 2 != 1 or len(mine) + len(theirs) > 3:
        return
    rest = _rest(claim, present, slice(0, 0))
    if rest < REST["negation"]:
        return
    said = claim.source.folded[claim.start : claim.end]
    if len(mine) > len(theirs):
        facing = all(_around(claim.source, claim.words, at, words.id_set, words.text.folded[start:end]) for at in mine)
    else:
        facing = all(_around(words.text, words.words, at, claim.id_set, said) for at in theirs)
    if facing:
        shown, found = claim.source.text[claim.start : claim.end], words.text.text[start:end]
        yield Sign(_level(rest, 0.5), "negation", shown[:80], found[:80])


def _around(text: Analysis, span: slice, at: int, others: frozenset[int], other: str) -> bool:
    """Whether the nearest content words before and after a negation stand in the other text; Han also inside its words,
    since the segmenter cuts 不是指 and 是指 differently."""
    place = int(np.searchsorted(text.starts, at, side="right")) - 1
    before = [w for w in range(span.start, place) if text.kind[w] != FUNCTION][-1:]
    after = [w for w in range(place + 1, span.stop) if text.kind[w] != FUNCTION][:2]
    return bool(before or after) and all(
        int(text.ids[w]) in others or (text.han and text.folded[int(text.starts[w]) : int(text.ends[w])] in other)
        for w in [*before, *after]
    )


def _antonyms(claim: ClaimWords, words: _Sentence, present: Any) -> Iterator[Sign]:
    negated = words.text.negations[words.number] > 0 or len(claim_negations(claim)) > 0
    for at, others in opposites(claim):
        row = at - claim.words.start
        hit = [place for place, number in enumerate(words.ids.tolist()) if number in others]
        if not hit or present[row] > 0.99 or negated or others & claim.id_set:
            continue
        rest = _rest(claim, present, slice(row, row + 1))
        if rest < REST["antonym"]:
            continue
        place = words.words.start + hit[0]
        mine = Entity(int(claim.source.starts[at]), int(claim.source.ends[at]), "", "")
        other = Entity(int(words.text.starts[place]), int(words.text.ends[place]), "", "")
        slot = _same_slot(claim, mine, words, other)
        if slot >= (0.99 if _word(claim, at) in words.scope else 0.5):
            text = (claim.source.text[mine.start : mine.end], words.text.text[other.start : other.end])
            yield Sign(_level(rest, slot) - 0.05, "antonym", *text)


def _word(claim: ClaimWords, at: int) -> str:
    return claim.source.folded[int(claim.source.starts[at]) : int(claim.source.ends[at])]
