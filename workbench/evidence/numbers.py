"""The numbers and dates of texts, looked up by what they say.

A claim's number stands in a text when some number there says at least as much. Beside that, a small count may be told in
other words, and a number may be rounded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.quantities import Quantity, same_quantity, traits

#: Counts up to this may be counted or told in other words ("both", a list of three).
_COUNTED = 12
#: A rounded number lies this near to the one it stands for.
_ROUNDED = 0.1


class Numbers:
    """The distinct numbers and dates of texts and where they stand; a look-up compares with the few that come close.

    Attributes
    ----------
    places
        Each distinct number with the sentences that it stands in, some of them repeatedly.
    """

    def __init__(self, found: Iterable[tuple[Quantity, int]]) -> None:
        self.places: dict[Quantity, list[int]] = {}
        for quantity, place in found:
            self.places.setdefault(said(quantity), []).append(place)
        self._near: dict[Any, list[Quantity]] = {}
        for quantity in self.places:
            for trait in traits(quantity):
                self._near.setdefault(trait, []).append(quantity)

    def near(self, quantity: Quantity) -> list[Quantity]:
        """The distinct numbers that could hold ``quantity`` or be held by it."""
        return list(dict.fromkeys(other for trait in traits(quantity) for other in self._near.get(trait, ())))

    def holding(self, claimed: Quantity) -> list[Quantity]:
        """The distinct numbers that hold ``claimed``, see :func:`holds_quantity`."""
        return [other for other in self.near(claimed) if holds_quantity(other, claimed)]

    def held_by(self, evidence: Quantity) -> list[Quantity]:
        """The distinct numbers that ``evidence`` holds."""
        return [claimed for claimed in self.near(evidence) if holds_quantity(evidence, claimed)]

    @cached_property
    def years(self) -> dict[int, set[int]]:
        """The years named in each sentence that names one."""
        found: dict[int, set[int]] = {}
        for quantity, places in self.places.items():
            if "y" in (parts := date_parts(quantity)):
                for place in places:
                    found.setdefault(place, set()).add(parts["y"])
        return found

    def on_day(self, month: int, day: int) -> list[int]:
        """The sentences that name a day without its year."""
        near = self._near.get(("d", day), ())
        return [at for other in near if date_parts(other) == {"m": month, "d": day} for at in self.places[other]]


def said(quantity: Quantity) -> Quantity:
    """A number apart from where it stands and, unless a version could be written so, how it is written."""
    text = quantity.text.strip() if quantity.kind == "number" and quantity.unit is None else ""
    return replace(quantity, start=0, end=0, text=text)


def holds_quantity(evidence: Quantity, claimed: Quantity) -> bool:
    """Whether a number of the evidence says at least what the claimed one says.

    The same number; a fuller date (2014-05-01 holds 2014); a range holds its two ends; a unit that only one of them has
    does not part them (it may stand in the head of a table).
    """
    if same_quantity(evidence, claimed):
        return True
    if evidence.kind == "date" and claimed.kind in ("date", "number"):
        return _fuller_date(evidence, claimed)
    if {claimed.kind, evidence.kind} & {"ordinal", "version", "date", "time"}:
        return False
    if claimed.unit != evidence.unit and claimed.unit is not None and evidence.unit is not None:
        return False
    if claimed.value is None:
        return (claimed.low, claimed.high) == (evidence.low, evidence.high)
    return claimed.value in (evidence.value, evidence.low, evidence.high)


def _fuller_date(evidence: Quantity, claimed: Quantity) -> bool:
    mine, theirs = date_parts(claimed), date_parts(evidence)
    return bool(mine) and all(theirs.get(part) == value for part, value in mine.items())


def date_parts(date: Quantity) -> dict[str, int]:
    """``{"y": 2014, "m": 5, "d": 1}`` of a date; a bare number that looks like a year is one, others have no parts."""
    rest = int(date.value or 0)
    if date.kind != "date":
        return {"y": rest} if date.unit is None and 1000 <= rest <= 2999 else {}
    parts: dict[str, int] = {}
    for part in reversed(date.unit or ""):
        rest, parts[part] = (rest, rest) if part == "y" else divmod(rest, 100)
    return parts


def sentences_with(quantity: Quantity, theirs: Numbers, n: int) -> NDArray[np.bool_]:
    """(n,) the sentences that hold a number.

    A date is also held where its day stands without a year and the sentence names no other year (June 19 , 2009).
    """
    found = np.zeros(n, dtype=bool)
    for other in theirs.holding(quantity):
        found[theirs.places[other]] = True
    mine = date_parts(quantity) if quantity.kind == "date" else {}
    if {"y", "m", "d"} <= mine.keys():
        for at in theirs.on_day(mine["m"], mine["d"]):
            found[at] |= mine["y"] in theirs.years.get(at, {mine["y"]})
    return found


def may_be_counted(claimed: Quantity) -> bool:
    """Whether a number is a small count or ordinal: it may be counted in a text, or told there in other words."""
    bare = claimed.kind in ("number", "ordinal") and claimed.unit in (None, "ordinal")
    return bare and claimed.value is not None and abs(claimed.value) <= _COUNTED


def rounds(claimed: Quantity, exact: Quantity) -> bool:
    """Whether ``claimed`` has fewer digits than ``exact`` and lies near it; years and dates are not rounded."""
    mine, theirs = claimed.value, exact.value
    if mine is None or theirs is None or not mine or date_parts(claimed) or claimed.kind != exact.kind:
        return False
    alike = claimed.unit == exact.unit or claimed.unit is None or exact.unit is None
    return alike and _digits(mine) < _digits(theirs) and abs(mine - theirs) <= _ROUNDED * abs(theirs)


def _digits(value: float) -> int:
    """Digits that count: 1,200 has two, 39.8 three."""
    return len(f"{abs(value):.12g}".replace(".", "").strip("0"))
