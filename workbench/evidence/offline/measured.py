"""Which of two things is more, by the values that a text gives of both.

"£28 for small dogs and £36 for large ones" bears out that large dogs are more expensive, and not that small ones are. What is
more of a quality and what less is said by the ``greater`` of the languages' ``polarity.toml``; a comparison of two things of
which the text gives no value each, or several that do not agree, is left open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from workbench.data.text.normalise import HAN_CHARACTER
from workbench.data.text.quantities import Quantity
from workbench.evidence.offline.answer_values import clause_starts
from workbench.evidence.offline.comparisons import comparatives, quality
from workbench.evidence.offline.lexicon import tables
from workbench.evidence.offline.words import FUNCTION, Analysis, analyse

#: Clauses of a text that are looked at.
_MANY = 200


def measured(claim: str, text: Analysis) -> bool | None:
    """Whether the values that a text gives of two things bear out what a claim says of them; None where they do not tell."""
    if len(text.quantities) < 2:
        return None
    found = [one for order in comparatives(claim, nouns=True) if (one := _told(order, text)) is not None]
    return all(found) if found else None


def _told(order: tuple[str, str, int, bool], text: Analysis) -> bool | None:
    greater, lesser, how, strict = order
    way = _ways().get(how)
    if way is None or not strict:
        return None
    names = _names(greater, lesser)
    if not all(names):
        return None
    values = [list(_values(mine, theirs, text)) for mine, theirs in (names, names[::-1])]
    pairs = [(a, b) for a in values[0] for b in values[1] if _alike(a, b)]
    told = {way * ((a.value or 0.0) - (b.value or 0.0)) > 0 for a, b in pairs}
    return told.pop() if len(told) == 1 else None


def _alike(one: Quantity, other: Quantity) -> bool:
    """Whether two values are of one kind and unit, or have the same word or sign beside the number."""
    units = [re.sub(r"[\d.,\s]", "", value.text) for value in (one, other)]
    beside = bool(units[0]) and units[0] == units[1]
    return one.kind == other.kind and one.unit == other.unit and (one.unit is not None or beside)


def _names(one: str, other: str) -> tuple[frozenset[int | str], frozenset[int | str]]:
    """What tells two things apart: the words that only the one has, in Han script all before its particle."""
    if HAN_CHARACTER.search(one + other):
        heads = [re.split(_of(), name)[0] if _of() else name for name in (one, other)]
        return frozenset(filter(None, heads[:1])), frozenset(filter(None, heads[1:]))
    ids = [_content(one, _ends_empty(other)), _content(other, _ends_empty(one))]
    if not (ids[0] - ids[1] and ids[1] - ids[0]):
        ids = [frozenset(analyse(name).ids.tolist()) for name in (one, other)]  # plans called by a letter
    return frozenset(ids[0] - ids[1]), frozenset(ids[1] - ids[0])


def _ends_empty(name: str) -> bool:
    return bool(_empty().intersection(analyse(name).ids.tolist()[-1:]))


def _content(name: str, elided: bool) -> frozenset[int]:
    """Ids of the content words of a name, without the last where the other name leaves that out ("large ones")."""
    words = analyse(name)
    found = [number for number in words.ids[words.kind != FUNCTION].tolist() if number not in _empty()]
    return frozenset(found[:-1] if elided and len(found) > 1 else found)


def _values(mine: frozenset[int | str], theirs: frozenset[int | str], text: Analysis) -> Iterator[Quantity]:
    """The values of the clauses that name the one thing and not the other; a clause that names none goes on with the last."""
    cuts = sorted({0, *clause_starts(text.text), *text.bounds[:, 0].tolist(), len(text.text)})
    cuts = [at for at in cuts if not any(q.start < at < q.end for q in text.quantities)]
    last = False
    for start, end in list(pairwise(cuts))[:_MANY]:
        here = [_has(some, text, start, end) for some in (mine, theirs)]
        if any(here):
            last = here[0] and not here[1]
        elif start in text.bounds[:, 0] and not text.text[:start].rstrip().endswith((",", "，", ";", "；")):
            last = False
        if last:
            yield from (q for q in text.quantities if start <= q.start < end and q.value is not None)


def _has(name: frozenset[int | str], text: Analysis, start: int, end: int) -> bool:
    words = text.words_between(start, end)
    known = set(text.ids[words].tolist())
    return all(part in text.folded[start:end] if isinstance(part, str) else part in known for part in name)


@cache
def _ways() -> dict[int, int]:
    """Quality → 1 where more of it is the higher number, −1 where it is the lower one."""
    found: dict[int, int] = {}
    for table in tables("polarity"):
        for word in table["comparison"]["greater"].split():
            number, turned = quality(word.replace("_", " "))
            found[number] = -1 if turned else 1
    return found


@cache
def _empty() -> frozenset[int]:
    """Words that stand for the thing that is compared ("large ones")."""
    words = " ".join(table["comparison"]["empty"] for table in tables("polarity"))
    return frozenset(analyse(words).ids.tolist()) if words.strip() else frozenset()


@cache
def _of() -> str:
    return "|".join(filter(None, (table["comparison"]["of"] for table in tables("polarity"))))
