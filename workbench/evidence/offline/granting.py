"""Whether a sentence that grants some things and refuses others grants or refuses the one that a claim speaks of.

"The rate covers towels, breakfast costs extra", "Cash is accepted, checks are not": what is granted and what is refused
stands in clauses beside each other, and the second often leaves out the word that the first has. Such words, in families
(included and at extra cost, allowed and forbidden), are the ``granting`` of the languages' ``polarity.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

from workbench.data.text.normalise import HAN_CHARACTER
from workbench.evidence.offline.answer_values import clause_starts
from workbench.evidence.offline.grid import ClaimWords, quantities_of
from workbench.evidence.offline.lexicon import tables
from workbench.evidence.offline.words import FUNCTION, NUMBER, Analysis

#: Share, by rarity, of what a clause speaks of that a claim must name.
_NAMED = 0.5
#: The least that a word counts, and what two Han characters do.
_LEAST, _PAIR = 0.1, 0.5
#: Telling words of a claim that says of one thing that it is granted or refused, at most.
_SHORT = 6
#: Characters that a claim may have before its one clause ("No, …").
_LEAD = 5
_SIGNS = " .。,，;；!！"
#: Rarity from which a word of a claim must stand in the text.
_TELLING = 0.2


@dataclass(frozen=True, slots=True)
class _Family:
    """Words that grant, that refuse, and that negate either; ``no_more``: a clause that refuses by leaving out the rest."""

    grants: re.Pattern[str]
    refuses: re.Pattern[str]
    negates: re.Pattern[str]
    no_more: re.Pattern[str]
    depends: re.Pattern[str]

    def stance(self, clause: str) -> int:
        """1 where a clause grants, -1 where it refuses, 0 where it does neither, or negates twice."""
        if len(self.negates.findall(clause)) > 1:
            return 0
        if self.refuses.search(clause):
            return 0 if self.negates.search(self.refuses.sub(" ", clause)) else -1
        if self.grants.search(clause):
            return -1 if self.negates.search(clause) else 1
        return -1 if self.no_more.search(clause) else 0


@dataclass(frozen=True, slots=True)
class _Clause:
    """Offsets of a clause, its stance, and whether that is its own word's rather than that of the clause beside it."""

    start: int
    end: int
    stance: int


def granted(claim: ClaimWords, question: Analysis, text: Analysis, sentence: int) -> bool | None:
    """Whether a sentence bears a claim out that grants or refuses something; None where it does not tell."""
    said = claim.source.folded[claim.start : claim.end].strip(_SIGNS)
    start, end = text.bounds[sentence].tolist()
    cuts = [at for at in clause_starts(said) if 0 < at < len(said)]
    long = int((claim.source.weight[claim.words] > _TELLING).sum()) > _SHORT
    if long or any(at > _LEAD for at in cuts) or "".join(said.split()) in "".join(text.folded[start:end].split()):
        return None
    said = said[max(cuts, default=0) :]
    for family in _families():
        mine = family.stance(said)
        if not mine or quantities_of(claim) or any(map(family.depends.search, (said, text.folded[start:end]))):
            continue
        clauses = _clauses(family, text, start, end)
        told = _of_claim(family, claim, text, clauses)
        if not told:
            continue
        # What is granted must be told by the sentence; what is refused is refused whatever else is said of it elsewhere.
        if _all_told(family, claim, text, (start, end) if told > 0 else (0, len(text.text)), question):
            return told == mine
    return None


def _clauses(family: _Family, text: Analysis, start: int, end: int) -> list[_Clause]:
    """The clauses of a sentence; one without a stance of its own has that of the one that it continues, or that follows."""
    cuts = [start, *(at for at in clause_starts(text.text) if start < at < end), end]
    found = [_Clause(low, high, family.stance(text.folded[low:high].strip(_SIGNS))) for low, high in pairwise(cuts)]
    for at, clause in enumerate(found):
        if not clause.stance:
            before = found[at - 1].stance if at and not re.search(r"[;；]\s*$", text.folded[: clause.start]) else 0
            after = next((other.stance for other in found[at + 1 :] if other.stance), 0)
            # "Cash, cards and coins are accepted": what stands before any word of the family waits for it.
            found[at] = replace(clause, stance=before or after)
    return found


def _of_claim(family: _Family, claim: ClaimWords, text: Analysis, clauses: Sequence[_Clause]) -> int:
    """The stance towards what the claim speaks of: that of the last clause whose own words it names; 0 without one.

    The clauses before may hold what all of them are about.
    """
    parts = [_parts(family, text, clause) for clause in clauses]
    mine = frozenset(claim.source.ids[claim.words].tolist())
    said = claim.source.folded[claim.start : claim.end]
    for at in range(len(clauses) - 1, -1, -1):
        others = {key for number, some in enumerate(parts) if clauses[number].stance != clauses[at].stance for key in some}
        own = {key: weight for key, weight in parts[at].items() if key not in others}
        total = sum(own.values())
        named = sum(w for key, w in own.items() if (key in said if isinstance(key, str) else key in mine))
        if clauses[at].stance and total > _LEAST and named >= _NAMED * total:
            return clauses[at].stance
    return 0


def _parts(family: _Family, text: Analysis, clause: _Clause) -> dict[int | str, float]:
    """What a clause speaks of, beside the words of the family: words by id, Han characters in pairs, and their weights."""
    spans = [m.span() for p in (family.grants, family.refuses, family.no_more) for m in
             p.finditer(text.folded, clause.start, clause.end)]  # fmt: skip
    found: dict[int | str, float] = {}
    words = text.words_between(clause.start, clause.end)
    for at in range(words.start, words.stop):
        low, high = int(text.starts[at]), int(text.ends[at])
        if text.kind[at] in (FUNCTION, NUMBER) or any(low < stop and first < high for first, stop in spans):
            continue
        if HAN_CHARACTER.match(text.folded, low):
            found |= {text.folded[p : p + 2]: _PAIR for p in range(low, high - 1)}
        else:
            found[int(text.ids[at])] = max(float(text.weight[at]), _LEAST)
    return found


def _all_told(
    family: _Family, claim: ClaimWords, text: Analysis, bounds: tuple[int, int], question: Analysis
) -> bool:
    """Whether all telling words of the claim, beside those of the family, stand within the bounds of the text; of the whole
    text, or in the question."""
    known, where = frozenset(text.ids[text.words_between(*bounds)].tolist()), text.folded[slice(*bounds)]
    if bounds == (0, len(text.text)):
        known, where = known | frozenset(question.ids.tolist()), where + question.folded
    source = claim.source
    for at in range(claim.words.start, claim.words.stop):
        word = source.folded[int(source.starts[at]) : int(source.ends[at])]
        of_family = any(p.search(word) for p in (family.grants, family.refuses, family.negates, family.no_more))
        told = of_family or int(source.ids[at]) in known or (HAN_CHARACTER.match(word) is not None and word in where)
        if source.weight[at] > _TELLING and not told:
            return False
    return True


@cache
def _families() -> tuple[_Family, ...]:
    found = []
    for table in (each["granting"] for each in tables("polarity") if "granting" in each):
        own = [re.compile(table[name]) for name in ("negates", "no_more", "depends")]
        found += [_Family(re.compile(grants), re.compile(refuses), *own) for grants, refuses in table["families"]]
    return tuple(found)
