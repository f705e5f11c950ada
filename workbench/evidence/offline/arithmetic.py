"""Numbers that stand in no text but can be worked out: sums that an answer spells out, days counted on.

Only what rests on numbers that the question or the claim itself gives is worked out. Among the numbers of a text alone nearly
every value is the sum or product of two.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import combinations, permutations

from dateutil.relativedelta import relativedelta

from workbench.data.text.quantities import Quantity, date_parts

#: Numbers of each kind that are looked at.
_MANY = 12
#: Steps of a calendar by the unit of a duration.
_STEPS = {"day": "days", "week": "weeks", "month": "months", "year": "years"}
#: A year for dates that have none.
_ANY_YEAR = 2023


def worked_out(claimed: Quantity, given: Sequence[Quantity], told: Sequence[Quantity]) -> tuple[Quantity, ...]:
    """What a number is worked out from; empty where it is not.

    Parameters
    ----------
    given
        The numbers of the question, and the other ones of the claim that stand in a text. Sums, differences, products and
        ``a + b × c`` of these count.
    told
        Those of the texts. With one that is given they make a difference, a duration makes another day of a date (± one day,
        as the first day counts or does not).
    """
    given, told = tuple(given)[:_MANY], tuple(told)[: 4 * _MANY]
    if claimed.value is None or claimed.kind in ("version", "ordinal", "time", "phone") or not given:
        return ()
    if claimed.kind == "date":
        return next(_days(claimed, given, told), ())
    return next(_sums(claimed, given, told), ())


def _sums(claimed: Quantity, given: Sequence[Quantity], told: Sequence[Quantity]) -> Iterator[tuple[Quantity, ...]]:
    plain = [q for q in given if q.value is not None and not date_parts(q)]
    alike = [q for q in plain if q.unit == claimed.unit]
    counts = [q for q in plain if q.unit is None]
    for made in range(2, min(len(alike), 4) + 1):
        yield from (some for some in combinations(alike, made) if _is(sum(_value(q) for q in some), claimed))
    yield from (pair for pair in permutations(alike, 2) if _is(_value(pair[0]) - _value(pair[1]), claimed))
    for one in alike:
        for count in counts:
            if count is not one:
                if _is(_value(one) * _value(count), claimed):
                    yield one, count
                rest = (q for q in alike if q is not one and q is not count)
                yield from ((q, one, count) for q in rest if _is(_value(q) + _value(one) * _value(count), claimed))
    if claimed.unit is not None:
        theirs = [q for q in told if q.unit == claimed.unit and q.value is not None]
        yield from ((a, b) for a in alike for b in theirs if _is(abs(_value(a) - _value(b)), claimed))


def _value(quantity: Quantity) -> float:
    assert quantity.value is not None
    return quantity.value


def _is(made: float, claimed: Quantity) -> bool:
    return made > 0 and math.isclose(made, _value(claimed), rel_tol=1e-9)


def _days(claimed: Quantity, given: Sequence[Quantity], told: Sequence[Quantity]) -> Iterator[tuple[Quantity, ...]]:
    wanted = date_parts(claimed)
    if not {"m", "d"} <= wanted.keys():
        return
    spans = [q for q in (*given, *told) if q.kind == "duration" and q.unit in _STEPS and q.value and q.value == int(q.value)]
    for start in given:
        parts = date_parts(start)
        if start.kind != "date" or not {"m", "d"} <= parts.keys():
            continue
        for span in spans[: 4 * _MANY]:
            if any(_same_day(day, wanted, parts) for day in _reached(parts, span)):
                yield start, span


def _reached(parts: dict[str, int], span: Quantity) -> Iterator[date]:
    try:
        first = date(parts.get("y", _ANY_YEAR), parts["m"], parts["d"])
        for way in (1, -1):
            there = first + relativedelta(**{_STEPS[str(span.unit)]: way * int(_value(span))})
            yield from (there + timedelta(days=by) for by in (0, 1, -1))
    except (ValueError, OverflowError):  # no such day, or beyond the calendar
        return


def _same_day(day: date, wanted: dict[str, int], start: dict[str, int]) -> bool:
    year = "y" not in wanted or "y" not in start or wanted["y"] == day.year
    return (day.month, day.day) == (wanted["m"], wanted["d"]) and year
