"""Narrow, explained signs that a text contradicts a claim.

A contradiction is reported only where one can point at it: the same slot holds another number, date or name; the same
sentence with a negation added; a listed opposite; two parts in each other's place; one thing said to be the only one of
several. Whatever else contradicts (world knowledge, opposites that are not listed) is not seen here and stays "not
mentioned".
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

from workbench.data.text.normalise import HAN, HAN_CHARACTER, unaccented
from workbench.data.text.quantities import Entity, Quantity
from workbench.data.text.quantities import relation as quantity_relation
from workbench.evidence.offline.answer_reading import listed
from workbench.evidence.offline.claims import bare_values
from workbench.evidence.offline.comparisons import outnumbered
from workbench.evidence.offline.copied import replaced
from workbench.evidence.offline.features import (
    MANY_NUMBERS,
    claim_negations,
    denied_before,
    holds_code,
    numbers_of,
    related,
    stated_in,
)
from workbench.evidence.offline.grid import ClaimWords, Grid, names_of, of_as_many, quantities_of
from workbench.evidence.offline.lexicon import opposite_lists, tables
from workbench.evidence.offline.lists import lists_in
from workbench.evidence.offline.polarity import listed_words
from workbench.evidence.offline.relations import Relation, relate
from workbench.evidence.offline.words import FUNCTION, NAME, NUMBER, Analysis, Numbers, analyse, follows, run_of
from workbench.language import pattern
from workbench.steps import checkpoint

#: The rest of the claim must stand in the sentence to this share (by rarity) before a sign counts.
REST = {"number": 0.55, "name": 0.8, "name elsewhere": 0.9, "negation": 0.75, "negation of another": 0.85, "antonym": 0.7,
        "kind": 0.7, "strength": 0.85, "exchange": 0.9, "told whole": 0.3, "only": 0.5}  # fmt: skip
#: Share of a sentence, by rarity, that a claim says too for it to say the whole sentence, and how many telling words at least.
WHOLE, TELLING_WORDS = 0.7, 2
#: Two claims of one answer are about the same where each holds this share of the other's words; else the sign is doubted.
SAME, DOUBTED = 0.9, 0.6
#: The same for a number whose whole slot is the same, word for word: the rest of the claim may then be told elsewhere.
REST_IN_PLACE = 0.35
#: Telling words of a value that an answer may consist of.
VALUE_WORDS = 2
#: That another number or name stands in a sentence that is copied but for it.
COPIED = 0.9
#: That a list is longer than there are things.
COUNTED = 0.85
#: Words on each side that make the slot of a number or name.
_SLOT = 3
#: A sentence that holds so much less of a claim than another is about something else.
_ELSEWHERE = 0.2
#: By how much less of a claim another sentence may hold that says it, and how many such are looked at.
_AS_MUCH, _LIKE = 0.1, 5
#: Sentences of one text that are looked through for that.
_SCANNED = 1000
_LIMITS = ("<", ">", "<=", ">=")
#: Characters of a list between two of its names.
_LIST_REACH = 160
#: Kinds of names that could fill the same slot have the same value here.
_COMPARED = {"name": "name", "title": "name", "code": "code"}
#: A sentence below this cover is not looked at.
_CANDIDATE = 0.35
#: Rarity that the words of a claim must have beside its names for a sentence to be about the same.
LEAST = 0.3
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
        """For people, the same in every language: ``2014 ≠ 2015``; the claim alone where several sentences are against it."""
        return f"{self.claimed} ≠ {self.found}" if self.found else self.claimed


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
    with_before = np.where(grid.before >= 0, cover + cover[grid.before], cover)
    with_before = np.where(_but_for_names(grid, number) >= REST["name"], np.maximum(with_before, _CANDIDATE), with_before)
    for sentence in np.flatnonzero(with_before >= _CANDIDATE):
        checkpoint()
        text, at = grid.locate(int(sentence))
        if text is not claim.source:
            told = present[:, sentence]
            before = np.maximum(told, present[:, grid.before[sentence]]) if grid.before[sentence] >= 0 else told
            relation = related(grid, number, int(sentence)) if with_before[sentence] >= _RELATED else None
            misplaced, excused = _misplaced(grid, number, int(sentence), cover), _excused(grid, number, int(sentence))
            closer = cover[sentence] < SAME and bool((cover[_beside(grid, int(sentence))] >= SAME).any())
            sign = strongest(
                claim, text, at, told, before, relation=relation, misplaced=misplaced, excused=excused, closer=closer
            )
            if sign is None and not (present[:, _beside(grid, int(sentence))].min(axis=0, initial=1.0) >= 1.0).any():
                sign = _copied(claim, text, at, misplaced)
            # "It ends at 12:30" where it starts at 9:30 and takes three hours: the opposite has been reckoned with.
            reckoned = sign is not None and sign.kind == "antonym" and _reckons(grid, number, int(sentence))
            told_so = sign is not None and sign.kind == "negation" and _denied_alike(grid, number, int(sentence), cover)
            # What another sentence tells in that order has not changed places.
            told_so |= sign is not None and sign.kind == "exchange" and closer
            if sign is not None and not reckoned and not told_so:
                yield int(sentence), sign
    said = claim.source.text[claim.start : claim.end]
    things = max(([said[slice(*item)].strip() for item in items] for items in lists_in(said)), key=len, default=[])
    if len(things) > 1:
        for sentence in np.flatnonzero(cover > 0.0):
            text, at = grid.locate(int(sentence))
            start, end = text.bounds[at].tolist()
            if text is not claim.source and (found := outnumbered(things, text.text[start:end])) is not None:
                yield int(sentence), Sign(COUNTED, "count", *found)


def _denied_alike(grid: Grid, number: int, sentence: int, cover: NDArray[Any]) -> bool:
    """Whether a claim denies something and another sentence of the text, with as much of it, does so too."""
    if not len(claim_negations(grid.claims[number])):
        return False
    inside = _beside(grid, sentence)
    near = [at for at in range(inside.start, inside.stop) if at != sentence and cover[at] >= cover[sentence] - _AS_MUCH]
    return any(grid.negations[at] and related(grid, number, at).clash is None for at in near[:_LIKE])


def _reckons(grid: Grid, number: int, sentence: int) -> bool:
    """Whether a number of the claim is worked out from what a sentence gives."""
    return any(one.worked_out and one.sentences[sentence] for one in stated_in(grid, grid.rows[number]))


def _copied(claim: ClaimWords, text: Analysis, at: int, misplaced: frozenset[Quantity]) -> Sign | None:
    """The sign of a claim that copies a sentence but for one number or name; not where the text has that number, too."""
    found = replaced(claim, text, at)
    if found is not None and found.kind == "number":
        mine = [q for q in quantities_of(claim) if q.text.strip() == found.claimed.strip()]
        if any(q not in misplaced and not _is_untold(q, text.text, None) for q in mine):
            return None
    return None if found is None else Sign(COPIED, found.kind, found.claimed, found.found)


def _beside(grid: Grid, sentence: int) -> slice:
    """The sentences of the text that a sentence of the grid stands in."""
    owner = int(grid.owners(sentence))
    return slice(int(grid.offsets[owner]), int(grid.offsets[owner + 1]))


def _misplaced(grid: Grid, number: int, sentence: int, cover: NDArray[Any]) -> frozenset[Quantity]:
    """The numbers of a claim that other sentences of the text have for something else: "express takes 2 days" excuses no
    "standard takes 2 days" where a sentence says 5 of standard.

    A sentence is about something else when it holds much less of the claim's words, has no pronoun for it and has no other
    number of the claim that ``sentence`` lacks.
    """
    inside = _beside(grid, sentence)
    if cover[sentence] < REST["number"] or inside.stop - inside.start > _SCANNED:
        return frozenset()
    stated = list(stated_in(grid, grid.rows[number]))
    if not stated or len(stated) > MANY_NUMBERS:
        return frozenset()
    pronoun = pattern("offline", r"(?<!\w)(?:«pronoun»)")
    leaning = [grid.leaning[at] or pronoun.search(grid.sentence(at)) is not None for at in range(inside.start, inside.stop)]
    excusing = (cover[inside] > cover[sentence] - _ELSEWHERE) | np.array(leaning, dtype=bool)
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


def _excused(grid: Grid, number: int, sentence: int) -> frozenset[Quantity]:
    """The numbers of a claim that a sentence need not have: those that can be worked out; those that another text has where
    this one has another number of the claim of the same kind ("10 days by law and 5 by us", put together); all of several
    where a sentence of another text has them all ("raised from 300 to 600" beside what was said before). A reference or an
    answer is no such text among others: against it only what can be worked out is excused."""
    stated = list(stated_in(grid, grid.rows[number]))
    if sentence >= grid.n_told:
        return frozenset(one.quantity for one in stated if one.worked_out)
    held = [one.quantity for one in stated if one.sentences[sentence] and not one.worked_out]
    here = _beside(grid, sentence)
    together = len(stated) > 1 and bool(np.logical_and.reduce([one.sentences[: grid.n_told] for one in stated]).any())
    return frozenset(
        one.quantity
        for one in stated
        if one.worked_out
        or (together and not one.sentences[here].any())
        or (
            any(other.unit == one.quantity.unit and other.kind == one.quantity.kind for other in held)
            and not one.sentences[here].any()
            and one.sentences[: grid.n_told].any()
        )
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
                differing = sum(not stated.sentences[column] for stated in stated_in(grid, grid.rows[number]))
                same = back >= 0 and min(cover[column], covers[other][back]) >= SAME and differing <= 1
                found[pair] = max(sign.probability if same else min(sign.probability, DOUBTED), found.get(pair, 0.0))
    return [(*pair, probability) for pair, probability in sorted(found.items())]


def _rest_cover(grid: Grid, number: int) -> NDArray[Any]:
    """(s,) share of the claim's words, numbers left out, that each sentence holds (by rarity)."""
    rows = grid.rows[number]
    weight = np.where(grid.kind[rows] == NUMBER, 0.0, grid.weight[rows])
    return (weight @ grid.present[rows]) / max(float(weight.sum()), 1e-6)


def _but_for_names(grid: Grid, number: int) -> NDArray[Any]:
    """(s,) the same with the names left out but for one that the claim begins with: of "the office is in Hamburg" the name is
    most. Where the claim denies something that one is left out too: what holds for everyone is denied of nobody."""
    rows = grid.rows[number]
    weight, kind = grid.weight[rows].copy(), grid.kind[rows]
    content = np.flatnonzero(weight > 0)
    free = content[0 if len(claim_negations(grid.claims[number])) else 1 :]
    weight[free[(kind[free] == NAME) | (free == content[:1])]] = 0.0
    weight[kind == NUMBER] = 0.0
    total = float(weight.sum())
    return (weight @ grid.present[rows]) / total if total > LEAST else np.zeros(grid.n_sentences, dtype=np.float32)


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
    excused: frozenset[Quantity] = frozenset(),
    closer: bool = False,
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
    excused
        Numbers of the claim that this sentence need not have.
    closer
        Whether another sentence of the text holds nearly all of the claim, and this one does not.
    """
    words = _Sentence(text, sentence, alone=alone)
    value, verbatim = _values_told(claim, words), not alone and _stands_in(claim, text)
    relation = relate(claim, text, sentence) if alone else relation
    signs = [
        *(() if value > 1 or verbatim else _numbers(claim, words, present if before is None else before, misplaced, excused)),
        *(() if value or verbatim else _names(claim, words, present)),
        *_related_signs(claim, words, present, relation, closer, value > 0 and not len(claim_negations(claim))),
    ]
    return max(signs, key=lambda sign: sign.probability, default=None)


def _stands_in(claim: ClaimWords, text: Analysis) -> bool:
    """Whether a text says a claim word for word; what it says elsewhere of other things is then no other value or name."""
    said = claim.source.folded[claim.start : claim.end].strip(" .。!！,，;；")
    at = text.folded.find(said) if said else -1
    around = text.folded[max(at - 1, 0) : at] + text.folded[at + len(said) : at + len(said) + 1]
    return at >= 0 and not any(c.isascii() and c.isalnum() for c in around)


def _values_told(claim: ClaimWords, words: _Sentence) -> int:
    """How many values a claim is that says nothing beside them, each of one or two telling words that stand in the text."""
    values = bare_values(claim.source.text[claim.start : claim.end])
    for start, end in values:
        told = claim.source.words_between(claim.start + start, claim.start + end)
        stands = claim.source.folded[claim.start + start : claim.start + end] in words.text.folded
        if not stands or int((claim.source.weight[told] > 0).sum()) > VALUE_WORDS:
            return 0
    return len(values)


class _Sentence:
    """The words of one sentence of an analysed text."""

    def __init__(self, text: Analysis, number: int, *, alone: bool = False) -> None:
        self.text, self.number = text, number
        start, end = text.bounds[number]
        self.folded = text.folded[start:end]
        self.scope = self.folded if alone else text.folded
        self.words = text.words_between(int(start), int(end))
        self.ids = text.ids[self.words]
        self.weight = text.weight[self.words]
        self.quantities = text.quantities[run_of(text.quantity_sentence, number)]
        self.names = text.names[run_of(text.name_sentence, number)]
        self.alone = alone


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
    claim: ClaimWords, words: _Sentence, present: Any, misplaced: frozenset[Quantity], excused: frozenset[Quantity]
) -> Iterator[Sign]:
    mine = [quantity for quantity in quantities_of(claim) if quantity not in excused]
    if not mine or not words.quantities:
        return
    claimed = Numbers((quantity, 0) for quantity in mine)
    open_slots = [other for other in words.quantities if not claimed.held_by(other)][:MANY_NUMBERS]
    # "Not the first" is no claim of a first; "no more than ten" is one of ten.
    meant = (q for q in mine if q.cue or not denied_before(claim, q.start))
    here = words.number if words.alone else None
    unheld = (
        q
        for q in meant
        # "Over a year" and "at least a year" are no two values.
        if not any(q.unit == other.unit and q.value == other.value is not None for other in words.quantities)
        and (q in misplaced or _is_untold(q, words.text.text, here)) and not _either(claim, mine, q, words)
    )
    for quantity in islice(unheld, MANY_NUMBERS if open_slots else 0):
        rest = _rest(claim, present, _inside(claim, *quantity.wide))
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
    return not numbers_of(text, sentence).holding(claimed) and not follows(claimed, analyse(text).quantities)


def _either(claim: ClaimWords, mine: Sequence[Quantity], one: Quantity, words: _Sentence) -> bool:
    """Whether the claim has another number beside an "or" that the text holds: "in the 18th or 19th century"."""
    either = {word for table in tables("polarity") for word in table["words"]["or"].split()}
    known = numbers_of(words.text.text, words.number if words.alone else None)
    for other in mine:
        low, high = sorted((one, other), key=lambda q: q.start)
        if other is not one and claim.source.folded[low.end : high.start].strip() in either and known.holding(other):
            return True
    return False


def _comparable(claimed: Quantity, found: Quantity) -> bool:
    """Whether two numbers could fill the same slot, where only one of them can stand."""
    if quantity_relation(claimed, found) != "different" or _of_other_things(claimed, found):
        return False
    if not claimed.cue or claimed.unit != found.unit:
        return True
    if found.cue in _LIMITS:
        # "At least five" are more than four; but who needs at least ten does not need at least eleven.
        ends = ((claimed.low, found.low), (claimed.high, found.high))
        alike = claimed.cue == found.cue
        return alike or not any(math.isfinite(mine) and abs(mine - theirs) == 1 for mine, theirs in ends)
    return not (claimed.low <= found.low and found.high <= claimed.high)


def _of_other_things(one: Quantity, other: Quantity) -> bool:
    """Whether two numbers without a unit count different things, as their Han counters say: two tickets, seventy years."""
    counters = [re.findall(f"[{HAN}]+$", quantity.text) for quantity in (one, other)]
    return one.unit is None and other.unit is None and all(counters) and counters[0] != counters[1]


def _level(rest: float, slot: float) -> float:
    """Probability of a sign from how alike the rest is; between .5 and .95."""
    return round(min(0.95, 0.35 + 0.4 * rest + 0.2 * slot), 4)


def _names(claim: ClaimWords, words: _Sentence, present: Any) -> Iterator[Sign]:
    mine = [part for name in names_of(claim) if name.kind in _COMPARED for part in _single(claim.source.text, name)]
    known = claim.source.folded[claim.start : claim.end]
    others = [part for name in words.names for part in _single(words.text.text, name)]
    leaning = pattern("offline", "(?:^|[,，;；] ?)(?:«pronoun»)").search(words.folded)
    meant = [other for other in others if words.text.folded[other.start : other.end] in known]
    for name in mine:
        rows = _inside(claim, name.start, name.end)
        # "Anna Miller" where the sentence has John Miller is another person, though half of the name stands there.
        altered = [other for other in others if other.kind == name.kind == "name" and altered_name(name.text, other.text)]
        if not len(present[rows]) or (float(np.max(present[rows])) > 0 and not altered):
            continue
        # The pronoun that a sentence, or a clause of it, begins with may stand for the name that the claim begins with.
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
        for other in altered or others:
            if _COMPARED.get(other.kind) != _COMPARED[name.kind] or words.text.folded[other.start : other.end] in known:
                continue
            if any(_listed(words.text.text, others, other, shared) for shared in meant) and not any(
                _listed(claim.source.text, mine, name, shared) for shared in mine if shared is not name
            ):
                continue
            slot = _same_slot(claim, name, words, other)
            if slot >= (0.99 if elsewhere else 0.6):
                yield Sign(_level(rest, slot) - 0.05, "name", name.text, other.text)


def altered_name(one: str, other: str) -> bool:
    """Whether two names are those of two things, a part being the same: as many words, some the same in their places, the
    others neither titles nor initials nor another spelling. In Han script as many characters, three or four, half the same."""
    if HAN_CHARACTER.match(one):
        after = listed("names", "after")
        return not one.endswith(after) and not other.endswith(after) and of_as_many(one, other)
    mine, theirs = (re.findall(r"\w+", unaccented(name.lower())) for name in (one, other))
    if len(mine) != len(theirs):
        return False
    apart = [(a, b) for a, b in zip(mine, theirs, strict=True) if a != b]
    titled = {*listed("names", "titles"), *listed("names", "after")}
    return 0 < len(apart) < len(mine) and not any(
        a in titled or b in titled or min(len(a), len(b)) < 3 or a[:3] == b[:3] for a, b in apart
    )


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


def _related_signs(
    claim: ClaimWords, words: _Sentence, present: Any, relation: Relation | None, closer: bool, bare: bool = False
) -> Iterator[Sign]:
    """The same said with another polarity, an opposite, another member, a stronger word, or two parts exchanged; a ``bare``
    value says of nothing that it is so."""
    if relation is None:
        return
    whole = _told_whole(relation, words.text)
    clash = None if bare else relation.clash or (relation.opposed if whole else None)
    if clash is not None:
        row = clash[0] - claim.words.start
        laid = np.array(present, dtype=np.float32)
        laid[[m.mine - claim.words.start for m in relation.matches if m.how in ("same", "alike")]] = 1.0
        rest = _rest(claim, laid, slice(row, row + 1) if present[row] < 0.5 else slice(0, 0))
        if relation.universal:
            rest = 1.0
        # What a pronoun stands for is not known: its sentence may speak of something else.
        pronoun = pattern("offline", "(?:«pronoun»)").match(claim.source.folded, claim.start)
        # What is said of another subject or name is not denied of this one.
        content = np.flatnonzero(claim.source.weight[claim.words] > 0)
        telling = (claim.source.kind[claim.words] == NAME) | (np.arange(claim.n_words) == content[:1])
        another = closer or bool((telling & (laid < 0.5)).any())
        if len(content) < 2:
            return  # a thing alone is nothing that can be denied: the line above a list says what holds of it
        needed = "told whole" if whole else "negation of another" if another else "negation"
        if rest >= REST[needed] and not pronoun:
            start, end = words.text.bounds[words.number].tolist()
            shown, found = claim.source.text[claim.start : claim.end], words.text.text[start:end]
            yield Sign(_level(rest, 0.5), "negation", shown[:80], found[:80])
    for kind, pair in (("antonym", relation.opposed), ("kind", relation.rival)):
        if pair is not None and (sign := _other_word(claim, words, present, kind, pair)) is not None:
            yield sign
    if (things := _only_one(relation, words)) is not None and _rest(claim, present, slice(0, 0)) >= REST["only"]:
        yield Sign(_level(REST["only"], 0.5), "strength", *things)
    if relation.stronger is not None:
        rest = _rest(claim, present, slice(0, 0))
        if rest >= REST["strength"]:
            mine, other = (text.shown(at) for text, at in zip((claim.source, words.text), relation.stronger, strict=True))
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


def _told_whole(relation: Relation, text: Analysis) -> bool:
    """Whether a claim that denies nothing says all that a sentence says, which denies one thing, and more ("interns are
    excluded" – "all, interns too, may apply"); of several that it is denied of, one is enough."""
    if relation.mine.operators or relation.mine.flips or len(relation.other.operators) != 1:
        return False
    content, said = relation.other.content, {m.other for m in relation.matches}
    if _covered(text, content, said) and sum(at in said and text.weight[at] > 0.4 for at in content) >= TELLING_WORDS:
        return True
    denial = relation.other.operators[0]
    words = {at: text.shown(at).lower() for at in denial.scope}
    subject = [at for at in denial.scope if at < denial.at]
    rest = [at for at in denial.scope if at > denial.at and words[at] not in listed_words("light") | listed_words("itself")]
    named = any(at in said and text.weight[at] >= 0.6 for at in subject)
    return named and denial.focus < 0 and not denial.unless and _covered(text, rest, said)


def _covered(text: Analysis, words: Sequence[int], said: set[int]) -> bool:
    """Whether the claim has most of some words of the sentence, by rarity; it has all of none."""
    total = sum(float(text.weight[at]) for at in words)
    return sum(float(text.weight[at]) for at in words if at in said) >= WHOLE * total


def _only_one(relation: Relation, words: _Sentence) -> tuple[str, str] | None:
    """The thing that a claim says to be the only one, and another that the sentence lists beside it."""
    if not relation.mine.only or relation.other.only or relation.mine.operators:
        return None
    text, said = words.text, {m.other for m in relation.matches}
    focus = [at for at in relation.mine.content if at > relation.mine.only[0]][:2]
    meant = {m.other for m in relation.matches if m.mine in focus}
    claimed = relation.claim.source.folded[relation.claim.start : relation.claim.end]
    start, end = text.bounds[words.number].tolist()
    for items in lists_in(text.text[start:end]):
        ends = [(start + low, start + high) for low, high in items]
        named = [_telling(text, *span) for span in ends]
        # The first thing stands at the end of its stretch, the last at the beginning.
        named = [named[0][-2:], *named[1:-1], named[-1][:2]]
        if any(not {*one}.isdisjoint(operator.scope) for operator in relation.other.operators for one in named):
            continue
        told = [not meant.isdisjoint(one) for one in named]
        new = [
            bool(one) and said.isdisjoint(one) and not any(text.shown(at).lower() in claimed for at in one) for one in named
        ]
        if any(told) and any(new):
            mine, other = ends[told.index(True)], ends[new.index(True)]
            return text.text[slice(*mine)].strip(), text.text[slice(*other)].strip()
    return None


def _telling(text: Analysis, start: int, end: int) -> list[int]:
    inside = text.words_between(start, end)
    return [at for at in range(inside.start, inside.stop) if text.weight[at] > 0.3]


def _other_word(
    claim: ClaimWords, words: _Sentence, present: Any, kind: str, pair: tuple[int, int]
) -> Sign | None:
    """An opposite or a rival in the place of a word of the claim."""
    at, place = pair
    row = at - claim.words.start
    if kind == "kind" and denied_before(claim, int(claim.source.starts[at])):
        return None
    rest = _rest(claim, present, slice(row, row + 1))
    if rest < REST[kind]:
        return None
    mine, other = (_entity(text, number) for text, number in ((claim.source, at), (words.text, place)))
    slot = _same_slot(claim, mine, words, other)
    if slot < (0.99 if _word(claim, at) in words.scope else 0.5):
        return None
    return Sign(_level(rest, slot) - 0.05, kind, claim.source.shown(at), words.text.shown(place))


def _entity(text: Analysis, at: int) -> Entity:
    return Entity(int(text.starts[at]), int(text.ends[at]), "", "")


def _part(text: Analysis, first: int, last: int) -> str:
    return text.text[int(text.starts[first]) : int(text.ends[last - 1])]


def _word(claim: ClaimWords, at: int) -> str:
    return claim.source.folded[int(claim.source.starts[at]) : int(claim.source.ends[at])]
