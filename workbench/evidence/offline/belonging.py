"""Which of several values that one sentence gives belongs to what a claim speaks of.

"The Basic plan has 5 GB and the Pro plan 50 GB" tells nothing of 5 GB for Pro; "Ann runs payroll and Bob runs shipping" tells
nothing of Bob and payroll. Clauses beside each other that give values of one kind, or go on alike around one word, are set
against each other by the words that only one of them has. What such a clause leaves out, because the one before has said
it, is no difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

from workbench.data.text.normalise import HAN, HAN_CHARACTER
from workbench.data.text.quantities import Entity, Quantity
from workbench.data.text.quantities import relation as quantity_relation
from workbench.data.text.quantity_grammar import grammar
from workbench.data.text.words import stop_words
from workbench.evidence.offline.answer_values import clause_starts, empty_characters
from workbench.evidence.offline.grid import ClaimWords, names_of, quantities_of
from workbench.evidence.offline.words import FUNCTION, NUMBER, Analysis, run_of
from workbench.language import pattern

#: Share, by rarity, of what its own clause says that a value's other clause must have at least, and by how much more: little
#: where the other one follows and may leave out what the first has said.
_MOST, _MORE_AFTER, _MORE_BEFORE = 0.6, 0.15, 0.4
#: How much of its own clause a question may say of a value alone, for the same.
_NEARLY = 0.8
#: The first of these where the claim has nothing of the value's own clause; enough by itself.
_ALONE, _ALL = 0.35, 0.9
#: Rarity from which a word of a claim must stand in the sentence, or in the question, for that.
_TELLING = 0.2
#: The least that a word counts, and what two Han characters of one word do; those between two words count least.
_LEAST, _PAIR = 0.1, 0.5
#: A claim with so few telling words is a value alone.
_BARE = 3
#: A longer sentence is no list of values.
_CLAUSES = 12


@dataclass(frozen=True, slots=True)
class _Part:
    """What is compared: a word by its id, or two Han characters as they stand, for the same words are cut in several ways."""

    key: int | str
    weight: float
    at: int


@dataclass(frozen=True, slots=True)
class _Clause:
    """The parts of one clause, without those of its numbers, its numbers, and where it ends in the text."""

    parts: tuple[_Part, ...]
    numbers: tuple[Quantity, ...]
    end: int


def of_another(claim: ClaimWords, question: Analysis, text: Analysis, sentence: int) -> tuple[str, str] | None:
    """(said by the claim, by the sentence) where a value of the claim belongs to something else in the sentence; else None."""
    clauses = _clauses(text, sentence)
    if not 2 <= len(clauses) <= _CLAUSES:
        return None
    said = _Said(claim, question, text, sentence)
    if said.word_for_word():
        return None
    return _number_of_another(said, clauses) or _thing_of_another(said, clauses)


def _clauses(text: Analysis, sentence: int) -> list[_Clause]:
    """The clauses of a sentence; one that gives no number belongs to the one that follows, if any of them gives one."""
    first, last = _listed_with(text, sentence)
    start, end = int(text.bounds[first, 0]), int(text.bounds[last, 1])
    quantities, names = (
        slice(run_of(of, first).start, run_of(of, last).stop) for of in (text.quantity_sentence, text.name_sentence)
    )
    codes = map(_as_value, text.names[names])
    numbers = [*text.quantities[quantities], *(code for code in codes if code is not None)]
    cuts = {*text.bounds[first : last + 1, 0].tolist(), *clause_starts(text.text)}
    cuts |= {match.end() for match in re.finditer("，", text.text)}
    cuts = {at for at in cuts if start < at < end and not any(q.start < at < q.end for q in numbers)}
    for at, following in pairwise([*sorted(cuts), end]):
        # "Basic: 5 GB, Pro: 50 GB": what stands before a colon names the value alone that follows it.
        alone = not any(True for _ in _parts(text, at, following, numbers))
        if alone and text.text[start:at].rstrip().endswith((":", "：")):
            cuts.discard(at)
    found: list[_Clause] = []
    first = start
    for high in [*sorted(cuts), end]:
        inside = tuple(q for q in numbers if first <= q.start < high)
        parts = tuple(_parts(text, first, high, inside))
        if not inside and text.text[first:high].rstrip().endswith((":", "：")):
            first = high  # what stands before a colon is said of all that follows
        elif parts and (inside or not numbers):
            found.append(_Clause(parts, inside, high))
            first = high
    return found


def _listed_with(text: Analysis, sentence: int) -> tuple[int, int]:
    """The first and the last of the sentences that semicolons join with one: a list of what belongs to what."""

    def goes_on(at: int) -> bool:
        """Whether a sentence ends in a semicolon."""
        return text.text[slice(*text.bounds[at].tolist())].rstrip().endswith((";", "；"))

    first = last = sentence
    while first > 0 and sentence - first < _CLAUSES and goes_on(first - 1):
        first -= 1
    while last + 1 < len(text.bounds) and last - sentence < _CLAUSES and goes_on(last):
        last += 1
    return first, last


def _as_value(name: Entity) -> Quantity | None:
    """An identifier as a value without a number; None for other names."""
    return Quantity(name.start, name.end, name.text, None, 0.0, 0.0, None, "code") if name.kind == "code" else None


def _compared(claimed: Quantity, other: Quantity) -> str:
    """What one value makes of another, as quantities are related: identifiers of one form are the same or different."""
    if "code" not in (claimed.kind, other.kind):
        return quantity_relation(claimed, other)
    forms = [re.sub(r"\d+", "0", value.text.lower()) for value in (claimed, other)]
    same = claimed.text.lower() == other.text.lower()
    return "unrelated" if claimed.kind != other.kind or forms[0] != forms[1] else "same" if same else "different"


def _parts(text: Analysis, start: int, end: int, numbers: Sequence[Quantity]) -> Iterator[_Part]:
    words = text.words_between(start, end)
    for at in range(words.start, words.stop):
        first = int(text.starts[at])
        told = text.kind[at] not in (FUNCTION, NUMBER) and not any(q.start <= first < q.end for q in numbers)
        if told and not HAN_CHARACTER.match(text.folded, first):
            yield _Part(int(text.ids[at]), max(float(text.weight[at]), _LEAST), first)
    for at in range(start, end - 1) if text.han else ():
        pair = text.folded[at : at + 2]
        word = int(text.starts.searchsorted(at, side="right")) - 1
        inside = word >= 0 and at + 2 <= text.ends[word] and not set(pair) & _joining()
        said = all(HAN_CHARACTER.match(one) for one in pair) and not (inside and text.kind[word] == FUNCTION)
        if said and not any(q.start < at + 2 and at < q.end for q in numbers):
            yield _Part(pair, _PAIR if inside else _LEAST, at)


@cache
def _joining() -> frozenset[str]:
    """Han characters that join others as words of their own, but can be a part of one."""
    return empty_characters() & frozenset(word for word in stop_words() if len(word) == 1) - frozenset(grammar().han)


class _Said:
    """What a claim and its question say, as the parts of a sentence are looked for in it."""

    def __init__(self, claim: ClaimWords, question: Analysis, text: Analysis, sentence: int) -> None:
        self.claim, self.question, self.text = claim, question, text
        self.bounds = text.bounds[sentence].tolist()
        self.asked = frozenset(question.ids.tolist())
        self.mine = frozenset(claim.source.ids[claim.words].tolist())
        self.folded = claim.source.folded[claim.start : claim.end]

    def by_claim(self, part: _Part) -> bool:
        """Whether the claim has a part of the sentence."""
        return part.key in self.folded if isinstance(part.key, str) else part.key in self.mine

    def by_either(self, part: _Part) -> bool:
        """Whether the claim or the question has it."""
        told = part.key in self.question.folded if isinstance(part.key, str) else part.key in self.asked
        return told or self.by_claim(part)

    def shown(self, part: _Part) -> str:
        """A part for people."""
        word = int(self.text.starts.searchsorted(part.at, side="right")) - 1
        return part.key if isinstance(part.key, str) else self.text.text[part.at : int(self.text.ends[word])]

    def word_for_word(self) -> bool:
        """Whether the sentence has the claim as it is, and more of it than a value alone."""
        start, end = self.bounds
        known = self.folded.strip(" .。!！;；") in self.text.folded[start:end]
        return known and int((self.claim.source.weight[self.claim.words] > _TELLING).sum()) > _BARE

    def nothing_else(self) -> bool:
        """Whether all telling words of the claim stand in the sentence or in the question."""
        start, end = self.bounds
        known = self.asked | frozenset(self.text.ids[self.text.words_between(start, end)].tolist())
        there = self.text.folded[start:end] + self.question.folded
        source = self.claim.source
        for at in range(self.claim.words.start, self.claim.words.stop):
            word = source.folded[int(source.starts[at]) : int(source.ends[at])]
            told = int(source.ids[at]) in known or (HAN_CHARACTER.match(word) is not None and word in there)
            if source.kind[at] != NUMBER and source.weight[at] > _TELLING and not told:
                return False
        return True


def _weight(parts: Sequence[_Part], has: Callable[[_Part], bool]) -> float:
    return sum(part.weight for part in parts if has(part))


def _share(parts: Sequence[_Part], has: Callable[[_Part], bool]) -> float:
    """The share, by weight, of parts that are told; 0 without any."""
    return _weight(parts, has) / max(sum(part.weight for part in parts), _LEAST)


def _apart(one: _Clause, other: _Clause, kind: str = "") -> tuple[list[_Part], list[_Part]]:
    """The parts that only one of two clauses has, of each; with numbers of other kinds than ``kind``, where one is given."""
    if kind:
        one, other = (replace(c, parts=c.parts + tuple(
            _Part(q.text, 1.0, q.start) for q in c.numbers if q.kind != kind)) for c in (one, other))  # fmt: skip
    keys = [{part.key for part in clause.parts} for clause in (one, other)]
    return [p for p in one.parts if p.key not in keys[1]], [p for p in other.parts if p.key not in keys[0]]


def _number_of_another(said: _Said, clauses: Sequence[_Clause]) -> tuple[str, str] | None:
    codes = map(_as_value, names_of(said.claim))
    mine = [*quantities_of(said.claim), *(code for code in codes if code is not None)]
    for quantity in mine:
        own = [c for c in clauses if any(_compared(quantity, q) in ("same", "compatible") for q in c.numbers)]
        others = [(c, q) for c in clauses if c not in own for q in c.numbers if _rivals(quantity, q)]
        if not own or not others or any(_compared(m, q) == "same" for m in mine for _, q in others):
            continue
        found = [_within(mine, quantity, clause, others) or _better(said, clause, others) for clause in own]
        if all(found):
            return quantity.text, found[0]
    return None


def _within(mine: Sequence[Quantity], quantity: Quantity, own: _Clause, others: Sequence[tuple[_Clause, Quantity]]) -> str:
    """The value of the clause whose range or limit holds another number of the claim, which that of its own clause does not:
    of a child of 6, "4 to 6: 5 ml, 7 to 9: 8 ml" tells 5 ml; empty without one."""
    conditions = [m for m in mine if m is not quantity and m.unit != quantity.unit]
    for clause, value in others:
        for m in conditions:
            here, there = ([q for q in c.numbers if q.low < q.high and q.unit == m.unit] for c in (own, clause))
            holds = [[m.value is not None and q.low <= m.value <= q.high for q in some] for some in (here, there)]
            if any(holds[1]) and holds[0] and not any(holds[0]):
                return value.text
    return ""


def _rivals(claimed: Quantity, other: Quantity) -> bool:
    """Whether two quantities, one of which may leave out its unit, are different values of one kind, and in Han script of one
    counter."""
    counters = [re.findall(f"[{HAN}]+$", quantity.text) for quantity in (claimed, other)]
    if claimed.unit is None and other.unit is None and all(counters) and counters[0] != counters[1]:
        return False
    if "code" in (claimed.kind, other.kind):
        return _compared(claimed, other) == "different"
    exact = not (claimed.cue or other.cue) and None not in (claimed.value, other.value)
    if claimed.kind == other.kind and (None in (claimed.unit, other.unit) or (exact and claimed.unit == other.unit)):
        return claimed.value != other.value and claimed.kind != "ordinal"
    return quantity_relation(claimed, other) == "different" and claimed.unit == other.unit


def _better(said: _Said, own: _Clause, others: Sequence[tuple[_Clause, Quantity]]) -> str:
    """The value whose clause has more of what the claim says than the one that its value stands in; empty without one."""
    for other, quantity in others:
        here, there = _apart(own, other, quantity.kind)
        has = said.by_claim if any(map(said.by_claim, (*here, *there))) else said.by_either
        mine, theirs = _share(here, has), _share(there, has)
        follows = own.parts[0].at < other.parts[0].at and (has == said.by_claim or mine < _NEARLY)
        lost, left = (_weight(some, lambda part: True) - _weight(some, has) for some in (here, there))
        # What follows may leave out what has been said: then what it says instead decides.
        instead = follows and lost > _PAIR - 1e-6 > left and _weight(there, has) >= _PAIR
        if instead:
            return quantity.text
        if mine == 0.0:
            if here and (theirs >= _ALL or (theirs >= _ALONE and said.nothing_else())):
                return quantity.text
        elif theirs >= _MOST and theirs - mine >= (_MORE_AFTER if follows else _MORE_BEFORE):
            return quantity.text
    return ""


def _thing_of_another(said: _Said, clauses: Sequence[_Clause]) -> tuple[str, str] | None:
    """The same for clauses without numbers that have a word in common, before and after which each has words of its own."""
    for one, other in pairwise(clauses):
        if one.numbers or other.numbers or _pronoun().search(said.text.folded, one.end, other.parts[0].at):
            continue
        for parts in _around_the_same(said.text, one, other):
            has = said.by_claim if all(any(map(said.by_claim, parts[n] + parts[n + 2])) for n in (0, 1)) else said.by_either
            before, after, other_before, other_after = (_share(some, has) for some in parts)
            if not said.nothing_else():
                return None
            if min(after, other_before) >= _MOST and not before and not other_after:
                return said.shown(parts[2][0]), said.shown(parts[0][0])
            if min(before, other_after) >= _MOST and not after and not other_before:
                return said.shown(parts[0][0]), said.shown(parts[2][0])
    return None


@cache
def _pronoun() -> re.Pattern[str]:
    """A pronoun stands for what the clause before it speaks of."""
    return pattern("offline", r"(?<!\w)(?:«pronoun»)|[，,]\s*(?:«pronoun»)")


def _around_the_same(text: Analysis, one: _Clause, other: _Clause) -> Iterator[tuple[list[_Part], ...]]:
    """The parts that only the one clause has before and after a word that both have, and those of the other."""
    here, there = (
        [part for part in parts if part.weight > _LEAST or not isinstance(part.key, str)] for parts in _apart(one, other)
    )
    for first, second in _in_common(text, one, other):
        parts = [[p for p in here if p.at < first], [p for p in here if p.at > first]]
        parts += [[p for p in there if p.at < second], [p for p in there if p.at > second]]
        if all(parts):
            yield tuple(parts)


def _in_common(text: Analysis, one: _Clause, other: _Clause) -> Iterator[tuple[int, int]]:
    """Where each word stands that both clauses have once, also one that only joins others ("for")."""
    found: list[dict[int | str, list[int]]] = [{}, {}]
    for places, clause in zip(found, (one, other), strict=True):
        for part in clause.parts:
            places.setdefault(part.key, []).append(part.at)
        words = text.words_between(clause.parts[0].at, clause.end)
        for at in range(words.start, words.stop):
            if text.kind[at] == FUNCTION:
                places.setdefault(int(text.ids[at]), []).append(int(text.starts[at]))
        for at in range(clause.parts[0].at, clause.end) if text.han else ():
            if text.folded[at] in _joining():
                places.setdefault(text.folded[at], []).append(at)
    for key, here in found[0].items():
        there = found[1].get(key, [])
        if len(here) == len(there) == 1:
            yield here[0], there[0]
