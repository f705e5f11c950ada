"""Numbers that stand in no text but can be worked out: sums that an answer spells out, days counted on.

Only what rests on numbers that the question or the claim itself gives is worked out. Among the numbers of a text alone nearly
every value is the sum or product of two.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from itertools import combinations, permutations

from dateutil.relativedelta import relativedelta

from workbench.data.text.quantities import Quantity, date_parts
from workbench.data.text.quantity_grammar import scale_of

#: Numbers of each kind that are looked at.
_MANY = 12
#: Steps of a calendar by the unit of a duration.
_STEPS = {"day": "days", "week": "weeks", "month": "months", "year": "years"}
#: Minutes of the units that a time of the day is moved by.
_MINUTES, _DAY = {"minute": 1, "hour": 60}, 24 * 60
#: The most that something is taken.
_MOST_COUNTED = 1000
#: A year for dates that have none.
_ANY_YEAR = 2023


def worked_out(claimed: Quantity, given: Sequence[Quantity], told: Sequence[Quantity]) -> tuple[Quantity, ...]:
    """What a number is worked out from; empty where it is not.

    Parameters
    ----------
    given
        The numbers of the question, and the other ones of the answer that stand in a text or are worked out themselves. Sums,
        differences, products and ``a + b × c`` of these count; so do times so long before or after another.
    told
        Those of the texts. With one that is given they make a difference, a product (what one costs, how many), a time; a
        duration makes another day of a date (± one day, as the first day counts or does not).
    """
    given, told = tuple(given)[:_MANY], tuple(told)[: 4 * _MANY]
    if claimed.value is None and claimed.cue == "" and math.isfinite(claimed.low + claimed.high):
        return _both_ends(claimed, (*given, *told))
    if claimed.value is None or claimed.kind in ("version", "ordinal", "phone") or not given:
        return ()
    if claimed.kind == "date":
        return next(_days(claimed, given, told), ())
    return next((_times if claimed.kind == "time" else _sums)(claimed, given, told), ())


def _sums(claimed: Quantity, given: Sequence[Quantity], told: Sequence[Quantity]) -> Iterator[tuple[Quantity, ...]]:
    """Every way to make a number; those told are turned into its unit, so that 200 times 30 g make 6 kg."""
    plain = [q for q in given if q.value is not None and not date_parts(q)]
    alike = [same for q in given if not date_parts(q) for end in _ends(q) if (same := _in(end, claimed)) is not None]
    counts = [q for q in plain if _counts(q, claimed)]
    theirs = [same for q in told if q.value is not None and (same := _in(q, claimed)) is not None]
    yield from _rates(claimed, plain, theirs, told)
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
        # "Five of the eight hours": the unit is said once.
        bare = [q for q in plain if q.unit is None and claimed.kind == "duration"]
        yield from ((a, b) for a in alike for b in bare for made in (_value(a) - _value(b), _value(a) + _value(b))
                    if _is(made, claimed))  # fmt: skip
        yield from ((a, b) for a in alike for b in theirs if _is(abs(_value(a) - _value(b)), claimed))
        yield from ((b, n) for n in counts for b in theirs if _is(_value(b) * _value(n), claimed))


def _rates(
    claimed: Quantity, given: Sequence[Quantity], theirs: Sequence[Quantity], told: Sequence[Quantity]
) -> Iterator[tuple[Quantity, ...]]:
    """A rate by what it is for (20 cents a day, ten days), by a sum of counts (one month and three), a share of an amount, a
    recipe for four made for eight; ``theirs`` are the numbers told in the unit of the claim."""
    if claimed.unit is None:
        return
    for rate in (*theirs, *(same for q in given if (same := _in(q, claimed)) is not None)):
        for count in given:
            if rate.per is not None and count.unit == rate.per and _is(_value(rate) * _value(count), claimed):
                yield rate, count
        sizes = [q for q in given if q.unit != claimed.unit and (q.unit is None or q.kind == "duration") and _value(q) < _MANY]
        yield from ((rate, a, b) for a, b in combinations(sizes, 2)
                    if a.unit == b.unit and _is(_value(rate) * (_value(a) + _value(b)), claimed))  # fmt: skip
    for share in (q for q in (*given, *told) if q.kind == "percent" and q.value is not None):
        for amount in given:
            same = _in(amount, claimed)
            if same is not None and _is(_value(same) * _value(share) / 100, claimed):
                yield amount, share
    portions = [q for q in told if q.unit is None and q.kind == "number" and q.value is not None and 2 <= q.value <= _MANY]
    for amount in theirs:
        for wanted in (q for q in given if q.unit is None and q.kind == "number" and _value(q) <= _MOST_COUNTED):
            for made in portions:
                times = _value(wanted) / _value(made)
                if times > 1 and times == int(times) and _is(_value(amount) * times, claimed):
                    yield amount, wanted, made


def _in(quantity: Quantity, claimed: Quantity) -> Quantity | None:
    """A quantity in the unit of the claim, None where it has none in common; a hundred cents are one of any currency."""
    if quantity.value is None or quantity.unit == claimed.unit:
        return quantity if quantity.value is not None else None
    if None in (quantity.unit, claimed.unit):
        return None
    scale = (0.01, 0.0) if quantity.unit == "cent" and claimed.kind == "money" else None
    scale = scale or scale_of(str(quantity.unit), str(claimed.unit))
    if scale is None or scale[1]:
        return None
    return replace(quantity, value=quantity.value * scale[0])


def _ends(quantity: Quantity) -> tuple[Quantity, ...]:
    """The numbers that a quantity gives: a range ("from 11 to 12") gives two."""
    if quantity.value is not None:
        return (quantity,)
    return tuple(replace(quantity, value=end) for end in (quantity.low, quantity.high) if math.isfinite(end))


def _both_ends(claimed: Quantity, known: Sequence[Quantity]) -> tuple[Quantity, ...]:
    """The two numbers that a claim puts together: "from 11 to 12 euros" of what the one text and the other say."""
    ends = [next((q for q in known if q.unit == claimed.unit and q.kind == claimed.kind and q.value == end), None)
            for end in (claimed.low, claimed.high)]  # fmt: skip
    return tuple(end for end in ends if end is not None) if all(ends) else ()


def _counts(quantity: Quantity, claimed: Quantity) -> bool:
    """Whether a number says how many times something is taken: a number of things, or of days for what costs so much a day."""
    value = _value(quantity)
    counted = quantity.unit is None or (quantity.kind == "duration" and claimed.kind not in ("duration", "date"))
    return counted and 2 <= value <= _MOST_COUNTED and value == int(value)


def _times(claimed: Quantity, given: Sequence[Quantity], told: Sequence[Quantity]) -> Iterator[tuple[Quantity, ...]]:
    """A time so long before or after another one; both are numbers of minutes of a day."""
    spans = [q for q in (*given, *told) if q.kind == "duration" and q.value is not None and q.unit in _MINUTES]
    clocks = [q for q in (*given, *told) if q.kind == "time" and q.value is not None]
    for clock in clocks:
        for span in spans:
            if clock in given or span in given:
                by = _value(span) * _MINUTES[str(span.unit)]
                if any(_is((_value(clock) + way * by) % _DAY or _DAY, claimed) for way in (1, -1)):
                    yield clock, span


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
