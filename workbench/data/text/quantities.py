"""Numbers, dates, times, units and names in a text, brought to a form in which meaning compares, not notation.

1,500 = 1.5k, $5M = 5 million dollars, 2024-05-01 = May 1st, 2024, 1 hour 30 minutes = 90 min, 3pm = 15:00, and the same in the
words of every language. Digits inside identifiers (``doc-12``), marks of citation and the numbers of a list are no numbers.

:func:`quantities` finds them, :func:`relation` says what one makes of another, :func:`traits` and :func:`neighbourhood` look
them up among many, :func:`entities` adds names. Spans index the original text.
"""

from __future__ import annotations

import datetime
import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

from workbench.data.text.normalise import HAN
from workbench.data.text.quantity_grammar import any_of, chinese_number, scale_of, size_of, words_of
from workbench.data.text.quantity_numbers import told_to
from workbench.data.text.quantity_reading import Quantity, is_day, quantities
from workbench.data.text.words import word_list
from workbench.steps import checkpoint

__all__ = [
    "Entity", "Quantity", "chinese_number", "contains_quantity", "date_parts", "entities", "neighbourhood", "quantities",
    "relation", "same_quantity", "traits",
]  # fmt: skip

# ---------------------------------------------------------------- what two quantities are to each other

_RANKS = ("same", "compatible", "unrelated", "different")
#: "About" allows for this share of the number, a last place that is coarser for up to the second share.
_ABOUT, _ABOUT_COARSE = 0.05, 0.08
#: A number that is written with fewer digits stands for one that rounds to it and lies within this share of it.
_ROUNDED = 0.025


def relation(claim: Quantity, evidence: Quantity) -> str:
    """What ``evidence`` makes of ``claim``: ``same``, ``compatible``, ``different`` or ``unrelated``.

    *same*: both mean the same, however written, after exact conversion (1.5 km = 1,500 m, 1/4 = 25 %, 1 GB = 1000 or
    1024 MB; a month is no number of days, but compatible with 30).

    *compatible*: the claim says less, and what it says holds:

    - its bound is kept ("at most 10" by 7), it is rounded ("about 5,000" by 4,987; 1.5 billion by 1,512 million; 8 km by
      5 miles), it is coarser (May 2024 by 2024-05-01, 1990s by 1994), it lacks a part (1 May by 2024-05-01);
    - it is the limit that the evidence gives without the word for it (500 by "at most 500"), or that "about" it;
    - one of them has several readings and one of those fits (5/6/2024 by 5 June 2024, 3 o'clock by 15:00).

    *different*: both cannot hold of one thing: other values, other currencies, a percentage and percentage points, a
    broken bound, two limits on the same side ("at most 10" by "at most 5": the limit of a thing is one number, although
    the second implies the first), ranges with another end.

    *unrelated*: neither. Other dimensions and kinds (kW and kWh, an ordinal and a number, a number with a unit and one
    without), and evidence that leaves the claim open: it is coarser or only bounds it (7 by "at most 10", 4,987 by
    "about 5,000", 4 by "3 to 5", 1 May 2024 by May 2024).

    Not symmetric: see :func:`same_quantity`. Quantities are compared as if they were of one thing; never raises.
    """
    best = _relation(claim, evidence)
    if best in ("same", "compatible") or not (claim.also or evidence.also):
        return best
    for mine in (claim, *_readings(claim)):
        for theirs in (evidence, *_readings(evidence)):
            found = _relation(mine, theirs)
            if found in ("same", "compatible"):
                return "compatible"
            best = min(best, found, key=_RANKS.index)
    return best


def _readings(quantity: Quantity) -> Iterator[Quantity]:
    for value, unit, kind in quantity.also:
        factor = 1000.0 if quantity.value and value == quantity.value * 1000 else 1.0
        low = value if math.isfinite(quantity.low) else quantity.low
        high = value if math.isfinite(quantity.high) else quantity.high
        yield replace(
            quantity, value=value, low=low, high=high, unit=unit, kind=kind, step=quantity.step * factor, also=()
        )


def _relation(a: Quantity, b: Quantity) -> str:
    kinds = {a.kind, b.kind}
    if kinds & {"version", "phone"}:
        return _as_written(a, b)
    if "date" in kinds:
        return _dates(a, b)
    if kinds & {"time", "ordinal"}:
        if a.kind != b.kind or a.value is None or b.value is None:
            return "unrelated"
        if a.value == b.value:
            return "same"
        about = a.kind == "time" and a.cue == "~" and abs(a.value - b.value) <= 15
        return "compatible" if about else "different"
    if {a.unit, b.unit} == {"%", "times"}:
        # 1.5 times is 150 %; other shares may be of an increase and speak of something else.
        shares = [q if q.unit == "%" else replace(_times(q, 100.0, 0.0), unit="%", kind="percent") for q in (a, b)]
        found_share = _numbers(shares[0], shares[1], exact=True)
        return found_share if found_share in ("same", "compatible") else "unrelated"
    converted = _converted(a, b)
    if converted is None:
        return _without_conversion(a, b)
    worst = "unrelated"
    found = [_numbers(a, other, exact) for other, exact in converted]
    worst = min(found, key=_RANKS.index)
    return _for_each(a, b, worst)


def _as_written(a: Quantity, b: Quantity) -> str:
    """Versions and phone numbers: the same figures, in a plain number too."""
    if {a.kind, b.kind} == {"version", "phone"}:
        return "unrelated"
    written = [q.unit if q.kind in ("version", "phone") else _bare(q) for q in (a, b)]
    if None in written:
        return "unrelated"
    if "phone" in (a.kind, b.kind):
        written = [re.sub(r"^(?:\+?86|1)(?=\d{10})", "", text or "") for text in written]
    else:
        written = [_release(text or "") for text in written]
    return "same" if written[0] == written[1] else "different"


def _release(version: str) -> str:
    """A version without the zeros at its end: 2 and 2.0 are one release."""
    return re.sub(r"(?:\.0+)+$", "", version)


def _bare(quantity: Quantity) -> str | None:
    plain = quantity.kind == "number" and quantity.unit is None and quantity.value is not None
    return quantity.text.strip() if plain else None


def date_parts(date: Quantity) -> dict[str, int]:
    """``{"y": 2014, "m": 5, "d": 1}`` of a date; a bare number that looks like a year is one, others have no parts."""
    if date.value is None:
        return {}
    rest, unit = int(date.value), date.unit or ""
    if date.kind != "date":
        return {"y": rest} if date.unit is None and 1000 <= rest <= 2999 and rest == date.value else {}
    if unit in ("decade", "century"):
        return {unit: rest}
    parts: dict[str, int] = {}
    for part in reversed(unit):
        rest, parts[part] = (rest, rest) if part == unit[0] else divmod(rest, 100)
    return parts


def _implied(parts: dict[str, int]) -> dict[str, int]:
    """Parts with those that they imply: a day's quarter, a year's decade."""
    found = dict(parts)
    if "m" in parts:
        found |= {"q": (parts["m"] + 2) // 3}
    if "q" in found:
        found |= {"h": (found["q"] + 1) // 2}
    if "y" in parts and parts["y"] > 0:
        found |= {"decade": parts["y"] // 10 * 10, "century": (parts["y"] - 1) // 100 + 1}
    if parts.get("decade", 0) >= 100:
        found |= {"century": parts["decade"] // 100 + 1}
    if {"y", "m", "d"} <= parts.keys() and parts["y"] > 0 and is_day(parts["y"], parts["m"], parts["d"]):
        found |= {"w": datetime.date(parts["y"], parts["m"], parts["d"]).isoweekday()}
    return found


def _dates(a: Quantity, b: Quantity) -> str:
    if a.unit == b.unit == "w" and (a.value is None or b.value is None):
        return (
            "same" if (a.low, a.high) == (b.low, b.high) else "different" if a.value is b.value is None else "unrelated"
        )
    mine, theirs = date_parts(a), date_parts(b)
    if not mine or not theirs:
        return "unrelated"
    if mine == theirs:
        return "same" if (a.cue or "~") == (b.cue or "~") else "compatible"
    if "~" in (a.cue, b.cue) and mine.keys() == theirs.keys() == {"y"}:
        near = abs(mine["y"] - theirs["y"]) <= (5 if (mine if a.cue == "~" else theirs)["y"] % 10 == 0 else 2)
        return "different" if not near else "compatible" if a.cue == "~" else "unrelated"
    if a.cue[:1] in ("<", ">") and mine.keys() == theirs.keys() == {"y"}:
        return "compatible" if (mine["y"] > theirs["y"]) == (a.cue[0] == "<") else "different"
    left, right = _implied(mine), _implied(theirs)
    for one, other in ((left, right), (right, left)):
        if one.get("decade", 100) < 100 and other.get("decade", 0) >= 100:
            other["decade"] %= 100
    if any(left[part] != right[part] for part in left.keys() & right.keys()):
        return "different"
    if all(right.get(part) == value for part, value in mine.items() if part != "decade" or "decade" in right) and (
        "decade" not in mine or "decade" in right
    ):
        return "compatible"
    return "unrelated"


def _converted(a: Quantity, b: Quantity) -> list[tuple[Quantity, bool]] | None:
    """``b`` in the unit of ``a``, with whether that is a step of the metric system; None where they do not compare.

    Bytes have two readings, by 1000 and by 1024.
    """
    if a.per and b.per and a.per != b.per:
        return _converted_rate(a, b)
    if a.unit == b.unit:
        return [(b, True)]
    mine, theirs = a.unit or _as_share(a), b.unit or _as_share(b)
    if mine is None or theirs is None:
        return None
    if mine == theirs:
        return [(b, True)]
    scale = scale_of(mine, theirs)
    if scale is None:
        return None
    back = scale_of(theirs, mine)
    assert back is not None
    found = [(_times(b, *back), _is_metric(back))]
    if mine in _BYTE_STEPS and theirs in _BYTE_STEPS:
        found.append((_times(b, 1024.0 ** (_BYTE_STEPS.index(theirs) - _BYTE_STEPS.index(mine)), 0.0), True))
    return found


def _converted_rate(a: Quantity, b: Quantity) -> list[tuple[Quantity, bool]] | None:
    """Rates for different things: those of 5 a month and 60 a year compare by their product."""
    assert a.per
    assert b.per
    scale = scale_of(a.per, b.per)
    inner = (1.0, 0.0) if a.unit == b.unit else scale_of(b.unit or "", a.unit or "")
    if scale is None or inner is None or inner[1]:
        return None
    return [(_times(b, inner[0] * scale[0], 0.0), False)]


_BYTE_STEPS = ("byte", "KB", "MB", "GB", "TB", "PB")
_PURE = "pure"


def _as_share(quantity: Quantity) -> str | None:
    """A fraction counts as a share of one: 0.25 is 25 %."""
    ends = (quantity.value,) if quantity.value is not None else (quantity.low, quantity.high)
    return (
        _PURE
        if quantity.kind == "number" and not all(float(end).is_integer() for end in ends if end is not None)
        else None
    )


def _is_metric(scale: tuple[float, float]) -> bool:
    power = math.log10(scale[0])
    return not scale[1] and abs(power - round(power)) < 1e-9


def _times(quantity: Quantity, factor: float, shift: float) -> Quantity:
    value = None if quantity.value is None else quantity.value * factor + shift
    return replace(
        quantity, value=value, low=quantity.low * factor + shift, high=quantity.high * factor + shift,
        step=quantity.step * factor,
    )  # fmt: skip


def _without_conversion(a: Quantity, b: Quantity) -> str:
    """Two quantities whose units do not convert into each other."""
    if "money" == a.kind == b.kind:
        return "different"
    if "percent" == a.kind == b.kind or ("percent" in (a.kind, b.kind) and None in (a.unit, b.unit)):
        return "different"
    sizes = [size_of(q.unit) if q.unit else None for q in (a, b)]
    if sizes[0] and sizes[1] and {sizes[0][0], sizes[1][0]} == {"month", "second"} and a.value and b.value:
        days = [
            q.value * s[1] * (2629800 if s[0] == "month" else 1)
            for q, s in zip((a, b), sizes, strict=True)
            if s and q.value
        ]
        return "compatible" if math.isclose(*days, rel_tol=_ROUNDED) else "different"
    if a.kind == b.kind == "duration":
        return "different"
    return "unrelated"


def _for_each(a: Quantity, b: Quantity, found: str) -> str:
    """``60 km`` is no speed; 5 dollars, though, may be told of each month elsewhere."""
    if found not in ("same", "compatible") or bool(a.per) == bool(b.per):
        return found
    loose = a.kind in ("money", "percent", "duration") or a.unit is None or (a.per or b.per) in _CALENDAR
    return "compatible" if loose else "different"


_CALENDAR = frozenset(["day", "week", "month", "quarter", "year", "business_day"])


def _close(a: float, b: float) -> bool:
    return a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def _numbers(a: Quantity, b: Quantity, exact: bool) -> str:
    """Two numbers in one unit; ``exact`` where no conversion can have rounded one."""
    if a.value is None or b.value is None:
        return _ranges(a, b)
    equal = _close(a.value, b.value)
    bounds = (a.cue[:1] in ("<", ">") and a.cue[:1]) or "", (b.cue[:1] in ("<", ">") and b.cue[:1]) or ""
    if bounds[0] and bounds[1]:
        if bounds[0] != bounds[1] or not equal:
            return "different"
        return "same" if a.cue == b.cue else "compatible" if a.cue.endswith("=") else "unrelated"
    if bounds[0]:
        return _keeps(a, b.value, equal)
    if bounds[1]:
        if equal:
            return "compatible" if b.cue.endswith("=") else "unrelated"
        return "unrelated" if b.low <= a.value <= b.high else "different"
    if equal:
        return "same" if a.cue == b.cue else "compatible"
    if a.cue == "~":
        return "compatible" if abs(a.value - b.value) <= _tolerance(a) else "different"
    if b.cue == "~":
        return "unrelated" if abs(a.value - b.value) <= _tolerance(b) else "different"
    if _rounds(a, b, exact):
        return "compatible"
    return "unrelated" if _rounds(b, a, exact) else "different"


def _keeps(bound: Quantity, value: float, equal: bool) -> str:
    if equal:
        return "compatible" if bound.cue.endswith("=") else "different"
    return "compatible" if bound.low <= value <= bound.high else "different"


def _ranges(a: Quantity, b: Quantity) -> str:
    """At least one of the two is a range."""
    if a.value is None and b.value is None:
        return "same" if _close(a.low, b.low) and _close(a.high, b.high) else "different"
    inside = max(a.low, b.low) <= min(a.high, b.high) or _close(max(a.low, b.low), min(a.high, b.high))
    if a.cue[:1] in ("<", ">") and a.value is not None:
        return "compatible" if a.low <= b.low and b.high <= a.high else "unrelated" if inside else "different"
    return "unrelated" if inside else "different"


def _tolerance(about: Quantity) -> float:
    value = abs(about.value or 0.0)
    if about.unit is None and 1000 <= value <= 2999 and about.step == 1.0 and len(about.text) == 4:
        return 5.0 if value % 10 == 0 else 2.0
    place = max(about.step, told_to(value) if value >= 1000 else 10.0 if value >= 10 and value % 10 == 0 else 0.0)
    return min(max(place / 2, _ABOUT * value), _ABOUT_COARSE * value) * (1 + 1e-9)


def _rounds(rounded: Quantity, other: Quantity, exact: bool) -> bool:
    """Whether ``other`` rounds to what is written with a coarser last place; after miles, °F … any last place will do."""
    if rounded.value is None or other.value is None or (exact and rounded.step <= other.step * 1.01):
        return False
    apart = abs(rounded.value - other.value)
    return apart <= rounded.step / 2 * (1 + 1e-9) and apart <= _ROUNDED * abs(other.value)


def same_quantity(claim: Quantity, evidence: Quantity) -> bool:
    """Whether ``evidence`` bears out ``claim``: :func:`relation` is same or compatible.

    The order matters: "about 5,000" is borne out by 4,987, not the other way round.
    """
    return relation(claim, evidence) in ("same", "compatible")


def contains_quantity(text_quantities: Iterable[Quantity], quantity: Quantity) -> bool:
    """Whether one of ``text_quantities`` bears out ``quantity``."""
    return any(same_quantity(quantity, found) for found in text_quantities)


# ---------------------------------------------------------------- looking quantities up


@lru_cache(maxsize=32768)
def traits(quantity: Quantity) -> frozenset[tuple[str, Any]]:
    """What a quantity can be looked up by: two that say the same, or have an end in common, share a trait.

    The converse does not hold: what shares a trait is then compared. Ends are rounded to one part in a million, each
    filed under two neighbours so that no pair parts at the edge. Those that are only compatible: :func:`neighbourhood`.
    """
    return frozenset(trait for reading in (quantity, *_readings(quantity)) for trait in _traits(reading))


def _traits(quantity: Quantity) -> Iterator[tuple[str, Any]]:
    if quantity.kind in ("version", "phone"):
        yield "version", _release(quantity.unit or "")
        return
    if quantity.kind == "date":
        yield from _implied(date_parts(quantity)).items()
        if "decade" in date_parts(quantity) or "y" in date_parts(quantity):
            yield "tens", date_parts(quantity).get("decade", date_parts(quantity).get("y", 0)) // 10 % 10
        if quantity.value is None:
            yield "days", (quantity.low, quantity.high)
        return
    for end in {end for end in (quantity.value, quantity.low, quantity.high) if end is not None and math.isfinite(end)}:
        for value in _bases(end, quantity):
            yield from _rounded(value, 1e6)
    if quantity.unit is None and quantity.value is not None:
        yield "version", _release(quantity.text.strip())
        yield from _implied(date_parts(quantity)).items()
        if date_parts(quantity):
            yield "tens", int(quantity.value) // 10 % 10


def _bases(value: float, quantity: Quantity) -> set[float]:
    """A value in its own unit and in those that it converts to."""
    unit = quantity.unit
    size = size_of(unit) if unit else None
    if unit is None or size is None:
        return {value}
    found = {value, value * size[1] + size[2]}
    if unit in _BYTE_STEPS:
        found.add(value * 1024.0 ** _BYTE_STEPS.index(unit))
    if quantity.per and (per := size_of(quantity.per)):
        found |= {base / per[1] for base in found}
    return found


def _rounded(value: float, fineness: float) -> Iterator[tuple[str, Any]]:
    if abs(value) < 1e-6:
        yield "zero", 0
    if value:
        step = math.floor(math.log(abs(value)) * fineness)
        yield "end", step
        yield "end", step + 1


@lru_cache(maxsize=32768)
def neighbourhood(quantity: Quantity) -> tuple[str, frozenset[int]]:
    """How far a quantity must be looked for, and the coarse places where it stands.

    ``exact``: what is compatible shares its :func:`traits`, but for what has another reach itself; ``near``: it may be
    rounded, and shares one of the places; ``any``: it is a bound or a range.
    """
    if quantity.kind in ("date", "version", "phone", "ordinal"):
        return ("any" if quantity.cue and quantity.kind == "date" else "exact"), frozenset()
    if quantity.value is None or quantity.cue[:1] in ("<", ">") or quantity.kind == "time":
        return "any" if quantity.kind != "time" or quantity.cue else "exact", frozenset()
    values = {v for r in (quantity, *_readings(quantity)) if r.value for v in _bases(r.value, r)}
    places = frozenset(place for value in values for _, place in _rounded(value, 10.0))
    plain = quantity.unit is None and quantity.step == 1.0 and not quantity.cue and not quantity.also
    return ("exact" if plain else "near"), places


# ---------------------------------------------------------------- names


@dataclass(frozen=True, slots=True)
class Entity:
    """A name, title, quoted term, identifier, number or date; ``kind`` says which: name, title, quoted, code, or the
    kind of a quantity.
    """

    start: int
    end: int
    text: str
    kind: str


_CAPITALISED = r"[A-Z][A-Za-zÀ-ɏ0-9’'-]*"
#: How an identifier begins: no part of the name before it (Error E-1207).
_CODE_HEAD = r"[A-Za-z]{1,20}[-./_\#]?\d"


@cache
def _entity_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Of names, and of the Chinese words with which none begins."""
    places = any_of(words_of("zh", "names", "place_ends"))
    entity = re.compile(
        rf"""
          (?P<title>《[^《》
]{{1,60}}》)
        | (?P<quoted>[“「『][^“”「」『』
]{{1,40}}[”」』]|"[^"
]{{1,40}}"|`[^`
]{{1,60}}`)
        | (?P<code>(?<![A-Za-z0-9_])(?=[A-Za-z_]{{1,60}}(?:[-.\#/_][A-Za-z_]{{1,60}}){{0,8}}[-.\#/_]?\d)
                [A-Za-z_][A-Za-z0-9_]*(?:[-\#./][A-Za-z0-9_]+)*(?![A-Za-z0-9_])
            | [a-z]+(?:_[a-z0-9]+)+ | (?<![A-Za-z0-9_])[A-Z]{{2,}}(?:[-_][A-Z0-9]+)*(?![A-Za-z0-9_]))
        | (?P<name>(?<![A-Za-z0-9_]){_CAPITALISED}(?:\ (?:(?:of|the|and|de|van|von|for|&)\ )?(?!{_CODE_HEAD}){_CAPITALISED})*)
        | (?P<place>[{HAN}]{{2,8}}?{places})
        """,
        re.VERBOSE,
    )
    return entity, re.compile(any_of(words_of("zh", "names", "not_name")))


def entities(text: str) -> list[Entity]:
    """Names, titles, quoted terms, identifiers, numbers and dates of ``text``, in order, without overlaps.

    English names are capitalised words that do not merely open a sentence; Chinese ones are recognised by 《》, quotes
    and the endings of organisations and places, so that a bare personal name in Chinese is not found.
    """
    found = measured = [Entity(q.start, q.end, q.text, q.kind) for q in quantities(text)]
    ends = [entity.end for entity in measured]
    found = list(measured)
    for match in _entity_patterns()[0].finditer(text):
        checkpoint()
        entity = _entity(text, match)
        if entity is None:
            continue
        following = bisect_right(ends, entity.start)
        if following == len(measured) or measured[following].start >= entity.end:
            found.append(entity)
    return sorted(found, key=lambda entity: entity.start)


def _entity(text: str, match: re.Match[str]) -> Entity | None:
    kind = match.lastgroup or ""
    start, end = match.span()
    if kind in ("title", "quoted"):
        start, end = start + 1, end - 1
    elif kind == "name":
        start = _name_start(text, start, end)
        if start >= end:
            return None
    elif kind == "place":
        start = _place_start(text, start, end)
        kind = "name"
    return Entity(start, end, text[start:end], kind)


def _name_start(text: str, start: int, end: int) -> int:
    """Where the name begins without words capitalised only by their position; ``end`` if nothing is left."""
    words = text[start:end].split(" ")
    while words and words[0].lower().strip("'’") in word_list("name", "common_starts"):
        start += len(words.pop(0)) + 1
    if not words:
        return end
    opens = re.search(r"(?:^|[.!?。！？:：;；\n•*-])[\s\"'“(]*$", text[max(0, start - 8) : start]) is not None
    single = len(words) == 1 and not re.search(r"[A-Z\d]", words[0][1:])
    return end if opens and single else start


def _place_start(text: str, start: int, end: int) -> int:
    """Cut function words from the front of a Chinese name found by its ending."""
    cut = max((match.end() for match in _entity_patterns()[1].finditer(text, start, end - 1)), default=start)
    return cut if end - cut >= 2 else start
