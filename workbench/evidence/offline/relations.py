"""How a claim and one sentence relate beyond the words they share: polarity, direction of kinds, order, strength.

:func:`relate` lays the content words of a claim on those of a sentence (the same word, one of the same meaning, a member
of the kind, a listed opposite) and asks what the rest of both sentences does to them. Its figures are features of the
support model; the finds that can be pointed at are signs of contradiction (:mod:`workbench.evidence.offline.features`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.text.normalise import HAN_CHARACTER
from workbench.data.text.quantities import Entity
from workbench.data.text.sentences import denied
from workbench.evidence.offline.comparisons import lifespan, ordered, paired, sequence_reversed, superseded
from workbench.evidence.offline.grid import ClaimWords, names_of, quantities_of
from workbench.evidence.offline.lexicon import Lexicon, lexicon, opposite_lists, tables
from workbench.evidence.offline.polarity import Operator, Reading, read
from workbench.evidence.offline.words import NAME, TERM, Analysis

Floats = NDArray[Any]

#: What :attr:`Relation.features` holds; each is 0 where claim and sentence are not about the same.
RELATION = (
    "negation_gap",  # something negated in one and not in the other
    "polarity_agrees",  # a negation or exception of one is met by the other
    "antonym",  # a listed opposite in the place of a word, polarity being the same
    "rival",  # another member of a list whose members exclude each other
    "stronger",  # by how much a quantity, frequency or modality is stronger in the claim
    "only_added",  # "only" in the claim alone
    "exception_dropped",  # an exception that the claim does not speak of
    "exchanged",  # two parts that have changed places
    "disorder",  # share of the claim's words that stand in another order
    "asked",  # the sentence is an open question
    "unmet",  # the claim negates something of which the sentence says nothing
    "follows",  # the comparatives (or "respectively") of the text tell what the claim says (1) or the reverse (-1)
    "edited",  # rarity of the rarest word that the sentence lacks, x the share of the sentence that the claim repeats
)
#: Sentences with a lower share of the claim are not compared.
ALIKE = 0.4
#: Words of a claim that are compared; a longer one is a text, not a claim.
_LONG = 160
#: A claim that tells this share of a sentence's words tells the sentence, and what it drops is dropped from it.
_WHOLE = 0.6
#: Rarity from which a word that negates has a meaning of its own.
_TELLS = 0.5
#: Words of a part that has changed places as a whole.
_RUN = 3
#: The distance that a word of another form adds, and a clause's end between two words.
_OTHER_WAY = 3
_CLAUSE = 6


@dataclass(slots=True)
class Match:
    """A word of the claim and the word of the sentence that it is laid on; ``how``: same, alike, kind, opposite."""

    mine: int
    other: int
    how: str


@dataclass(slots=True)
class Relation:
    """A claim laid on a sentence."""

    claim: ClaimWords
    text: Analysis
    mine: Reading
    other: Reading
    matches: list[Match] = field(default_factory=list)
    features: Floats = field(default_factory=lambda: np.zeros(len(RELATION), dtype=np.float32))
    #: (word of the claim, word of the sentence) where polarity clashes, opposites meet, members exclude each other.
    clash: tuple[int, int] | None = None
    opposed: tuple[int, int] | None = None
    rival: tuple[int, int] | None = None
    stronger: tuple[int, int] | None = None
    exchanged: tuple[tuple[int, int], tuple[int, int]] | None = None
    reversed_order: bool = False
    superseded: tuple[str, str] | None = None
    universal: bool = False
    #: Words of the claim that need no evidence (they only widen an "or", or narrow what holds for the broader), words
    #: that have none though they look alike (a poodle where any dog is told), and words of the sentence without which
    #: the claim says more than it (the restriction of a negation).
    harmless: list[int] = field(default_factory=list)
    harmful: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)

    @property
    def shifts(self) -> bool:
        """Whether what the claim needs is not simply its own words."""
        return bool(self.harmless or self.harmful or self.lost)


def relate(claim: ClaimWords, text: Analysis, sentence: int, question: Analysis | None = None) -> Relation:
    """The :class:`Relation` of a claim and a sentence of another text; an exception that the ``question`` speaks of holds."""
    mine = _of_claim(claim)
    return _Relating(Relation(claim, text, mine, read(text, sentence)), question).related()


def _of_claim(claim: ClaimWords) -> Reading:
    """The reading of a claim: of its sentence, cut to its words; of all its sentences when it has several."""
    first, last = claim.words.start, claim.words.stop
    sentences = sorted(set(claim.source.sentence[first:last].tolist()))
    parts = [_cut(read(claim.source, number), first, last) for number in sentences]
    if parts and sentences:
        # What is denied by the words before it is looked at without them.
        start = int(claim.source.bounds[sentences[0]][0])
        inner = denied(claim.source.folded, start, claim.end) if claim.start > start else None
        if inner is not None and inner[0] == claim.start:
            parts = [replace(part, operators=[one for one in part.operators if one.at >= first]) for part in parts]
    if len(parts) == 1:
        return parts[0]
    whole = Reading(first, last, [at for part in parts for at in part.content])
    for part in parts:
        whole.flips |= part.flips
        whole.operators += part.operators
        whole.downward += part.downward
        whole.conditions += part.conditions
        whole.ranks += part.ranks
        whole.only += part.only
        whole.disjunctions += part.disjunctions
        whole.passive |= part.passive
    return whole


def _cut(whole: Reading, first: int, last: int) -> Reading:
    if first <= whole.first and whole.last <= last:
        return whole

    def inside(numbers: Any) -> Iterator[int]:
        return (at for at in numbers if first <= at < last)

    operators = []
    for one in whole.operators:
        scope = tuple(inside(one.scope))
        # A negation reaches over the clauses of one sentence: "it is not sold, lent or given away".
        if scope and (first <= one.at < last or one.at < first):
            operators.append(Operator(one.at, scope, one.focus if first <= one.focus < last else scope[0], one.unless))
    names = ("content", "only", "disjunctions", "others", "predicates")
    places: dict[str, Any] = {name: list(inside(getattr(whole, name))) for name in names}
    return replace(
        whole, **places, first=first, last=last, operators=operators,
        flips={at: base for at, base in whole.flips.items() if first <= at < last},
        downward=[frozenset(inside(scope)) for scope in whole.downward],
        conditions=[some for scope in whole.conditions if (some := frozenset(inside(scope)))],
        ranks=[rank for rank in whole.ranks if first <= rank[3] < last],
    )  # fmt: skip


class _Relating:
    """Works out one :class:`Relation`."""

    def __init__(self, relation: Relation, question: Analysis | None = None) -> None:
        self.relation = relation
        self.asked = frozenset(question.ids.tolist()) if question is not None else frozenset()
        self.claim, self.text, self.mine, self.other = relation.claim, relation.text, relation.mine, relation.other
        self.lexicon: Lexicon = lexicon()
        self.my_ids, self.my_weight = self.claim.source.ids, self.claim.source.weight
        self.ids, self.weight = self.text.ids, self.text.weight
        self.my_down = self.mine.down()
        self.found = dict.fromkeys(RELATION, 0.0)

    @cached_property
    def counted(self) -> set[int]:
        """Words inside numbers: "two weeks" is no rival of "each month"."""
        spans = (self.claim.source.words_between(*quantity.wide) for quantity in quantities_of(self.claim))
        return {at for span in spans for at in range(span.start, span.stop)}

    def related(self) -> Relation:
        """The relation, worked out; empty for a long claim or where no word is laid on another."""
        if len(self.mine.content) <= _LONG and self.other.content:
            self._match()
            if self.relation.matches:
                self._polarity()
                self._words()
                self._direction()
                self._strength()
                self._compare()
                self._order()
                self._edit()
        self.relation.features = np.array([self.found[name] for name in RELATION], dtype=np.float32)
        return self.relation

    # -- laying words on words -------------------------------------------------------------------------------

    def _match(self) -> None:
        places: dict[int, list[int]] = {}
        for at in self.other.content:
            places.setdefault(int(self.ids[at]), []).append(at)
            if at in self.other.flips:
                places.setdefault(self.other.flips[at], []).append(at)
        options: list[tuple[int, list[int], str]] = []
        for at in self.mine.content:
            where, how = self._options(at, places)
            if where:
                options.append((at, where, how))
        following = [0] * len(options)
        place = -1
        for number in range(len(options) - 1, -1, -1):
            following[number] = place
            place = options[number][1][0] if len(options[number][1]) == 1 else place
        taken: set[int] = set()
        before = -1
        for (at, where, how), after in zip(options, following, strict=True):
            best = where[0]
            if len(where) > 1:
                free = [place for place in where if place not in taken] or where
                beside = [place for place in (before, after) if place >= 0] or self._crowd(at, options)
                # What is there itself rather than what negates it, where both are near.
                other_way = {place: _OTHER_WAY * (int(self.ids[place]) != int(self.my_ids[at])) for place in free}
                best = min(free, key=lambda place: other_way[place] + sum(self._apart(place, one) for one in beside))
            taken.add(best)
            before = best
            self.relation.matches.append(Match(at, best, how))

    def _crowd(self, at: int, options: Sequence[tuple[int, list[int], str]]) -> list[int]:
        """For the first of words that all stand in several places: the place that most of the others are near."""
        places = [place for other, where, _ in options[:8] if other != at for place in where[:8]]
        return [min(places, key=lambda place: sum(self._apart(place, other) for other in places))] if places else []

    def _apart(self, place: int, other: int) -> int:
        """How far two words of the sentence are from each other; a clause between counts as several words."""
        clauses = self.other.clause
        gap = _CLAUSE if clauses.get(place) != clauses.get(other) else 0
        return min(abs(place - other) + gap, 2 * _CLAUSE)

    def _options(self, at: int, places: dict[int, list[int]]) -> tuple[list[int], str]:
        number = int(self.my_ids[at])
        if number in places:
            return places[number], "same"
        if at in self.mine.flips and self.mine.flips[at] in places:
            return places[self.mine.flips[at]], "same"
        return self._listed(at, number, places)

    def _listed(self, at: int, number: int, places: dict[int, list[int]]) -> tuple[list[int], str]:
        known = self.lexicon
        down = at in self.my_down
        ways = (
            (known.same, "alike"),
            (known.kinds if down else known.members, "kind"),
            (known.opposites, "opposite"),
            (known.members if down else known.kinds, "narrower"),
            ({} if at in self.counted else known.rivals, "rival"),
        )
        for table, how in ways:
            for other in table.get(number, ()):
                if other in places and (how in ("alike", "kind") or not self._claimed(other)):
                    return places[other], how
        return [], ""

    def _claimed(self, number: int) -> bool:
        """Whether the claim itself has that word: then the sentence's is laid on that one."""
        return any(int(self.my_ids[at]) == number for at in self.mine.content)

    # -- polarity --------------------------------------------------------------------------------------------

    def _active(self, reading: Reading, spoken: set[int]) -> list[Operator]:
        """The operators that hold: an exception only where half of what it excepts is spoken of, a word that is a negation
        (prohibited) only where what it negates is not spoken of elsewhere ("but allowed in the lobby"), one of a condition
        only where the claim has a condition, too ("it lapses if nobody comes" denies nothing of what lapses)."""
        elsewhere = {
            int(self.my_ids[m.mine]) for m in self.relation.matches
            if m.how == "same" and reading is self.other and m.other not in reading.flips
        }  # fmt: skip
        return [
            one for one in reading.operators
            if (not one.unless or 2 * len(spoken & set(one.unless)) >= len(one.unless) or self._is_asked(reading, one))
            and reading.flips.get(one.at) not in elsewhere
            and (one.unless or self.mine.conditions or reading is self.mine or not self._of_a_condition(one))
        ]  # fmt: skip

    def _is_asked(self, reading: Reading, one: Operator) -> bool:
        """Whether the question speaks of what the sentence excepts: most of its words, two at least."""
        if reading is self.mine:
            return False
        told = [at for at in one.unless if int(self.ids[at]) in self.asked]
        return len(told) >= 2 and len(told) >= 0.6 * len(one.unless)

    def _unshared(self, mine: list[Operator], theirs: list[Operator]) -> tuple[list[Operator], list[Operator]]:
        """The operators without those that both sides name by one telling word, as often (waived): what it reaches may
        be left out on one side."""
        telling = ([int(self.my_ids[one.at]) for one in mine if self.my_weight[one.at] > _TELLS],
                   [int(self.ids[one.at]) for one in theirs if self.weight[one.at] > _TELLS])  # fmt: skip
        shared = {word for word in telling[0] if telling[0].count(word) == telling[1].count(word)}
        if not shared:
            return mine, theirs
        return ([one for one in mine if int(self.my_ids[one.at]) not in shared],
                [one for one in theirs if int(self.ids[one.at]) not in shared])  # fmt: skip

    def _of_a_condition(self, one: Operator) -> bool:
        """Whether an operator of the sentence stands inside a condition that is not all that the sentence says."""
        scope, content = frozenset(one.scope), frozenset(self.other.content)
        return bool(scope) and any(scope <= condition and not content <= condition for condition in self.other.conditions)

    def _polarity(self) -> None:
        pairs = [m for m in self.relation.matches if m.how in ("same", "alike", "kind", "opposite")]
        # "far from the door" is the opposite of "near the door" and negates nothing there.
        facing = [m for m in pairs if m.how == "opposite"]
        mine = [one for one in self._active(self.mine, {m.mine for m in pairs}) if one.at not in {m.mine for m in facing}]
        theirs = [one for one in self._active(self.other, {m.other for m in pairs}) if one.at not in {m.other for m in facing}]
        mine, theirs = self._unshared(mine, theirs)
        negated, other_negated = self.mine.negated(mine), self.other.negated(theirs)
        apart = {
            (m.mine, m.other): (m.mine in negated) ^ (m.other in other_negated) ^ (m.how == "opposite") for m in pairs
        }
        self._meet(mine, {m.mine: (m.mine, m.other) for m in pairs}, apart)
        self._meet(theirs, {m.other: (m.mine, m.other) for m in pairs}, apart)
        for m in pairs:
            flipped = (m.mine in self.mine.flips) != (m.other in self.other.flips)
            if flipped and m.how == "same":
                self._say(apart[m.mine, m.other], (m.mine, m.other))
            if m.how == "opposite" and not self._meets(m):
                m.how = "elsewhere"
            elif m.how == "opposite":
                if not apart[m.mine, m.other]:
                    self.found["polarity_agrees"] = 1.0
                    m.how = "alike"
                    self.relation.harmless.append(m.mine)
                elif not self.found["negation_gap"]:
                    self.found["antonym"] = 1.0
                    self.relation.opposed = (m.mine, m.other)
        self._universal()
        self._exclusive()
        if self.found["polarity_agrees"] and not self.found["negation_gap"]:
            # "excluded", "unnecessary" say the negation that the sentence says with another word.
            reached = {at for one in mine for at in one.scope if at in {m.mine for m in pairs}}
            self.relation.harmless += [one.at for one in mine if reached & set(one.scope) and self.my_weight[one.at] > 0]
        if not self.found["antonym"] and not self.found["negation_gap"]:
            self._written()
        reached = {m.mine for m in pairs}
        # What both deny in words of their own is taken for the same.
        own = {m.other for m in pairs}
        unmet, theirs_unmet = (sum(not laid & set(one.scope) for one in ops) for laid, ops in ((reached, mine), (own, theirs)))
        self.found["unmet"] = float(unmet > theirs_unmet)
        for one in self.other.excepted:
            if not any(one == operator.unless for operator in theirs):
                self.found["exception_dropped"] = 1.0

    def _written(self) -> None:
        """Opposites glued to other words by the segmenter, the characters around them being the same."""
        claim, text = self.claim, self.text
        if not claim.source.han or not text.han:
            return
        start, end = text.bounds[int(text.sentence[self.other.first])].tolist()
        told, said = text.folded[start:end], claim.source.folded[claim.start : claim.end]
        pattern, facing = _han_opposites()
        for match in pattern.finditer(said):
            left, right = said[max(0, match.start() - 2) : match.start()], said[match.end() : match.end() + 1]
            if len(left) < 2 or not right.strip() or left + match[0] in told:
                continue
            for other in facing[match[0]]:
                at = told.find(left + other + right)
                if at >= 0:
                    mine = _word_at(claim.source, claim.start + match.start())
                    self.found["antonym"] = 1.0
                    self.relation.opposed = (mine, _word_at(text, start + at + len(left)))
                    return

    def _universal(self) -> None:
        """"Everyone has seen every town": whatever name the claim denies it of, the sentence has said it of all."""
        denied = [one for one in self.mine.operators if one.focus >= 0 and not one.unless]
        laid = {m.mine for m in self.relation.matches if m.how in ("same", "alike", "kind")}
        if not denied or self.other.operators or not any(one.focus in laid for one in denied):
            return
        universal = sum(scale == "quantity" and rank == 4 for scale, rank, *_ in self.other.ranks)
        others = [at for at in self.mine.content if at not in laid]
        names = [at for at in others if self.claim.source.kind[at] == NAME or at == self.mine.first]
        if 0 < len(others) == len(names) <= universal:
            self._say(True, (denied[0].focus, self.other.ranks[0][3]))
            self.relation.universal = True

    def _exclusive(self) -> None:
        """"Only administrators can delete projects": what is claimed of everyone is denied, what is denied of others told."""
        if self.mine.only or not self.other.only or self.other.operators:
            return
        at = self.other.only[0]
        clause = self.other.clause
        sentence = [word for word in self.other.content if clause[word] == clause[at]]
        if not sentence or sentence[0] < at:
            return
        theirs = {m.other: m.mine for m in self.relation.matches}
        subject = [word for word in sentence if word < self.other.predicate(at)]
        rest = [word for word in sentence if word not in subject]
        told = [theirs[word] for word in rest if word in theirs]
        if not subject or not rest or any(word in theirs for word in subject) or 3 * len(told) < 2 * len(rest):
            return
        negated = self.mine.negated(self.mine.operators)
        if self.mine.others and not negated & set(told):
            self._say(True, (told[0], next(word for word in rest if word in theirs)))
            self.relation.universal = True
        elif set(told) <= negated:
            self.found["polarity_agrees"], self.found["negation_gap"], self.relation.clash = 1.0, 0.0, None
            self.relation.harmless += [word for word in self.mine.content if word not in theirs.values()]

    def _meets(self, match: Match) -> bool:
        """Whether two opposites stand beside words that are laid on each other; a word of little weight must."""
        laid = {m.mine: m.other for m in self.relation.matches}
        content = self.mine.content
        at = content.index(match.mine)
        near = [laid[w] for w in (*content[max(0, at - 1) : at], *content[at + 1 : at + 2]) if w in laid]
        heavy = self.my_weight[match.mine] > 0
        return heavy or any(abs(place - match.other) <= 3 for place in near)

    def _meet(
        self, operators: Sequence[Operator], laid: dict[int, tuple[int, int]], apart: dict[tuple[int, int], bool]
    ) -> None:
        """Whether what each operator reaches is turned the same way on the other side."""
        for one in operators:
            reached = [laid[at] for at in one.scope if at in laid]
            if not reached or (one.focus >= 0 and one.focus not in laid and 2 * len(reached) < len(one.scope)):
                continue
            turned = [apart[pair] for pair in reached]
            at = laid.get(one.focus, reached[0])
            self._say(apart[at] if one.focus in laid and not all(turned) and not one.unless else all(turned), at)

    def _say(self, clashes: bool, pair: tuple[int, int]) -> None:
        if clashes:
            self.found["negation_gap"] = 1.0
            self.relation.clash = self.relation.clash or pair
        else:
            self.found["polarity_agrees"] = 1.0

    # -- words -----------------------------------------------------------------------------------------------

    def _words(self) -> None:
        for m in self.relation.matches:
            if m.how == "narrower":
                self.relation.harmful.append(m.mine)
            elif m.how == "rival":
                self.found["rival"] = 1.0
                self.relation.rival = (m.mine, m.other)
        self.found["asked"] = float(self.other.asks and not self.mine.asks)
        self.found["only_added"] = float(bool(self.mine.only) and not self.other.only)

    # -- direction -------------------------------------------------------------------------------------------

    def _direction(self) -> None:
        """What the claim must show: under a negation or after "every", what it drops; elsewhere what it adds."""
        held = {m.mine for m in self.relation.matches if m.how not in ("narrower", "rival", "opposite", "elsewhere")}
        taken = {m.other for m in self.relation.matches}
        told = float(sum(self.my_weight[at] for at in held))
        if told < 0.6 * float(sum(self.my_weight[at] for at in self.mine.content)):
            return
        self.my_down, other_down = self.mine.down({m.mine for m in self.relation.matches}), self.other.down(taken)
        shared = any(m.mine in self.my_down and m.other in other_down for m in self.relation.matches)
        relation = self.relation
        # Of a sentence that says much else a claim takes a part: nothing is lost with the rest.
        whole = len(taken) >= _WHOLE * len(self.other.content)
        missing = [at for at in self.mine.content if at not in held]
        if shared:
            relation.harmless += [at for at in missing if at in self.my_down and at not in relation.harmful]
            lost = [at for at in self.other.content if at in other_down and at not in taken]
            low, high = min(taken) - 3, max(taken) + 3
            relation.lost += [at for at in lost if low <= at <= high][:3] if whole else []
        relation.harmless += self._beside_or(self.mine, self.mine.content, held)
        if whole:
            relation.lost += self._beside_or(self.other, self.other.content, taken)

    def _beside_or(self, reading: Reading, content: Sequence[int], held: set[int]) -> list[int]:
        """Words that stand beside an "or" whose other side is held (within four words), in places that are not downward."""
        found: list[int] = []
        for at in reading.disjunctions:
            before = [w for w in content if at - 4 <= w < at][-2:]
            after = [w for w in content if at < w <= at + 4][:2]
            if not before or not after or before[-1] in reading.down():
                continue
            left, right = before[-1] in held, after[0] in held
            if left != right:
                found += [w for w in (after if left else before) if w not in held]
        return found

    # -- strength --------------------------------------------------------------------------------------------

    def _strength(self) -> None:
        laid = {m.mine: m.other for m in self.relation.matches}
        for scale in ("quantity", "frequency", "modality"):
            mine = [rank for rank in self.mine.ranks if rank[0] == scale]
            theirs = [rank for rank in self.other.ranks if rank[0] == scale]
            for _, rank, head, at in mine:
                facing = [r for r in theirs if scale != "quantity" or (head in laid and r[2] == laid[head])]
                if facing:
                    least = max(r[1] for r in facing)
                    # Who may, should: only "must" against "may" can be pointed at.
                    pointed = at if scale != "modality" or rank - least > 1 else -1
                    self._stronger(rank - least, pointed, facing[0][3])
                elif rank >= 3 and scale == "quantity" and head in laid:
                    self._stronger(0.5, at, -1)
            if scale == "modality" and not mine and any(r[1] == 1 for r in theirs) and not self.other.downward:
                self._stronger(0.5, -1, -1)
            if scale == "quantity" and not mine and theirs:
                near = [r for r in theirs if r[1] == 1 and r[2] in laid.values()]
                if near:
                    self._stronger(0.5, -1, near[0][3])

    def _stronger(self, by: float, at: int, other: int) -> None:
        if by / 3 > self.found["stronger"]:
            self.found["stronger"] = by / 3
            if by >= 1 and at >= 0 and other >= 0:
                self.relation.stronger = (at, other)

    def _compare(self) -> None:
        claim = self.claim
        said = claim.source.text[claim.start : claim.end]
        start, end = self.text.bounds[int(self.text.sentence[self.other.first])].tolist()
        sentence = self.text.text[start:end]
        negated = self.mine.operators or self.other.operators
        told = ordered(said, self.text.text) or (0 if negated else paired(said, sentence))
        self.found["follows"] = float(told)
        dated, words = lifespan(said, sentence)
        for low, high in words:
            inside = claim.source.words_between(claim.start + low, claim.start + high)
            self.relation.harmless += range(inside.start, inside.stop)
        self.relation.reversed_order = told < 0 or dated < 0 or sequence_reversed(said, sentence)
        self.relation.superseded = superseded(said, sentence)

    # -- order -----------------------------------------------------------------------------------------------

    def _order(self) -> None:
        matches = [m for m in self.relation.matches if m.how in ("same", "alike")]
        places = [m.other for m in matches]
        if len(places) < 3:
            return
        rising = _rising(places)
        self.found["disorder"] = 1.0 - rising / len(places)
        if rising == len(places) or len(places) > 30 or len(places) < 0.7 * len(self.mine.content):
            return
        if self.mine.passive != self.other.passive:
            return
        units = self._units({m.mine: m.other for m in matches})
        pair = None if self.found["follows"] > 0 else _exchange(units, self._symmetric())
        if pair is not None and self._once(*pair):
            self.found["exchanged"] = 1.0
            self.relation.exchanged = pair

    def _edit(self) -> None:
        """A sentence that is repeated but for a word was meant to say another thing; who tells a part of it in other words,
        with a word of the subject or of the question, may well mean the same."""
        laid = {m.mine: m.other for m in self.relation.matches if m.how in ("same", "alike", "kind")}
        spared = {*laid, *self.relation.harmless, *self._completed(laid)}
        rarest = max((float(self.my_weight[at]) for at in self.mine.content if at not in spared), default=0.0)
        self.found["edited"] = rarest * len({*laid.values()} & {*self.other.content}) / len(self.other.content)

    def _completed(self, laid: dict[int, int]) -> Iterator[int]:
        """The words by which a name of the claim is longer than that of the sentence: Elvis Presley where Presley is told."""
        theirs = {at: name for name in self.text.names for at in _span_words(self.text, name)}
        for name in names_of(self.claim):
            words = _span_words(self.claim.source, name)
            told = [laid[at] for at in words if at in laid]
            if told and all(at not in theirs or set(_span_words(self.text, theirs[at])) <= set(told) for at in told):
                yield from (at for at in words if at not in laid)

    def _once(self, left: tuple[int, int], right: tuple[int, int]) -> bool:
        """Whether both parts are said once in the claim and in the sentence: of two girls none can be told."""
        mine, theirs = self.my_ids[self.claim.words].tolist(), self.ids[self.other.first : self.other.last].tolist()
        parts = [self.my_ids[first:stop].tolist() for first, stop in (left, right)]
        kinds = self.claim.source.kind
        plain = any((kinds[first:stop] == TERM).any() and stop - first > 1 for first, stop in (left, right))
        if plain and not set(parts[0]) & set(parts[1]):
            # Phrases change places where the sentence says nothing else between them: "forcing the write is possible only for
            # owners" says what "owners can force the write" says.
            taken = {m.other for m in self.relation.matches}
            if any(at not in taken for at in self.other.content if min(taken) < at < max(taken)):
                return False
        return all(_count(mine, part) == 1 and _count(theirs, part) <= 1 for part in parts)

    def _units(self, laid: dict[int, int]) -> list[tuple[int, int, int, str]]:
        """(first word, past the last, place in the sentence, kind) of the names, numbers and other words matched."""
        found: list[tuple[int, int, int, str]] = []
        taken: set[int] = set()
        source = self.claim.source
        for spans, kind in ((quantities_of(self.claim), "number"), (names_of(self.claim), "name")):
            for span in spans:
                words = source.words_between(span.start, span.end)
                stop = words.start + 1 if kind == "number" else words.stop  # the number alone, without what it counts
                inside = [at for at in range(words.start, stop) if at in laid and at not in taken]
                if inside:
                    found.append((words.start, stop, laid[inside[0]], kind))
                    taken.update(range(words.start, stop))
        for at in laid:
            if at not in taken:
                kind = "name" if source.kind[at] == NAME else "term"
                found.append((at, at + 1, laid[at], kind))
        # What follows one another on both sides is one part: "company B".
        parts: list[tuple[int, int, int, str]] = []
        for first, stop, place, kind in sorted(found):
            before = parts[-1] if parts else (0, 0, -9, "number")
            if first == before[1] and place == before[2] + first - before[0] and "number" not in (kind, before[3]):
                parts[-1] = (before[0], stop, before[2], "name" if "name" in (kind, before[3]) else kind)
            else:
                parts.append((first, stop, place, kind))
        return parts

    def _symmetric(self) -> set[int]:
        """Words of the claim that join what may change places."""
        listed, mutual = _symmetric_words()
        source = self.claim.source
        words = {
            at: source.folded[int(source.starts[at]) : int(source.ends[at])]
            for at in range(self.claim.words.start, self.claim.words.stop)
        }
        if any(word in mutual for word in words.values()):
            return set(words)
        joined = {at for at, word in words.items() if word in listed}
        commas = {
            at
            for at in words
            if at > self.claim.words.start
            and source.folded[int(source.ends[at - 1]) : int(source.starts[at])].strip() in (",", "，", "、", "&")
        }
        return joined | commas


@cache
def _symmetric_words() -> tuple[frozenset[str], frozenset[str]]:
    both = list(tables("polarity"))
    listed, mutual = (
        frozenset(word for table in both for word in table["words"][name].split()) for name in ("symmetric", "mutual")
    )
    return listed, mutual


@cache
def _han_opposites() -> tuple[re.Pattern[str], dict[str, list[str]]]:
    """A pattern of the listed opposites in Han script, and each with those that face it."""
    facing: dict[str, list[str]] = {}
    for left, right in opposite_lists():
        for mine, others in ((left, right), (right, left)):
            for word in mine:
                if HAN_CHARACTER.match(word):
                    facing.setdefault(word, []).extend(others)
    return re.compile("|".join(map(re.escape, sorted(facing, key=len, reverse=True)))), facing


def _span_words(text: Analysis, span: Entity) -> range:
    words = text.words_between(span.start, span.end)
    return range(words.start, words.stop)


def _word_at(text: Analysis, offset: int) -> int:
    """The word that holds the character at an offset."""
    return max(int(text.starts.searchsorted(offset, side="right")) - 1, 0)


def _count(words: list[int], part: list[int]) -> int:
    """How often ``part`` stands in ``words``."""
    return sum(words[at : at + len(part)] == part for at in range(len(words) - len(part) + 1))


def _rising(places: Sequence[int]) -> int:
    """Length of the longest rising run of places, gaps allowed."""
    ends: list[int] = []
    for place in places:
        at = bisect_left(ends, place)
        ends[at : at + 1] = [place]
    return len(ends)


def _exchange(
    units: Sequence[tuple[int, int, int, str]], symmetric: set[int]
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Two parts of the claim, of one kind, whose exchange gives the order of the sentence; None without such a pair."""
    places = [unit[2] for unit in units]
    n = len(places)
    if n < 3 or n > 16 or _rising(places) == n:
        return None
    joints = sorted(symmetric)
    for left in range(n):
        for right in range(left + 1, n):
            kinds = units[left][3], units[right][3]
            if places[left] < places[right] or (kinds[0] == "number") != (kinds[1] == "number"):
                continue
            changed = [*places]
            changed[left], changed[right] = places[right], places[left]
            between = range(units[left][1], units[right][0])
            apart = right - left > 1
            joined = any(at in symmetric for at in (*between, units[right][0]))
            if _rising(changed) == n and (apart or (kinds[0] == kinds[1] != "term" and not joined)):
                listed = sum(units[left][1] <= at <= units[right][0] for at in joints) >= right - left
                if apart and (listed or all(at in symmetric for at in between)):
                    continue  # items of one list, in whatever order
                return (units[left][0], units[left][1]), (units[right][0], units[right][1])
    return _exchanged_runs(units, places, symmetric)


def _exchanged_runs(
    units: Sequence[tuple[int, int, int, str]], places: Sequence[int], symmetric: set[int]
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """The same for two runs of words (a name that the segmenter cut) with something between that joins no list: all
    before, between and after them stands as it does in the sentence."""
    n = len(places)
    for first in range(n - 2):
        for second in range(first + 2, n):
            for left in range(first + 1, min(first + _RUN, second - 1) + 1):
                for right in range(second + 1, min(second + _RUN, n) + 1):
                    if left - first + right - second == 2:
                        continue
                    if len({any(unit[3] == "number" for unit in run) for run in (units[first:left], units[second:right])}) > 1:
                        continue
                    between = range(units[left - 1][1], units[second][0])
                    changed = [*places[:first], *places[second:right], *places[left:second], *places[first:left],
                               *places[right:]]  # fmt: skip
                    whole = all(high - low <= 2 for run in (places[first:left], places[second:right])
                                for low, high in pairwise(run))  # fmt: skip
                    if whole and _rising(changed) == n and not any(at in symmetric for at in between):
                        return (units[first][0], units[left - 1][1]), (units[second][0], units[right - 1][1])
    return None
