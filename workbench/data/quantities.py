"""Numbers, dates, times, units and names in a text, brought to comparable form.

1,500 = 1500 = 1.5千 = 一千五百; 2024-05-01 = 2024年5月1日 = May 1, 2024; 3–5 days = 3到5天. Digits inside identifiers
(``doc-12``, ``ERR-1042``) are no numbers, and 三个月 is not 90 天. Spans index the original text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from workbench.data.entities import Entity, entities
from workbench.data.measures import Quantity, quantities
from workbench.data.numerals import chinese_number

__all__ = [
    "Entity", "Quantity", "chinese_number", "contains_quantity", "entities", "quantities", "same_quantity", "traits",
]  # fmt: skip

_EXACT_UNITS = {
    "millisecond": ("second", 0.001), "second": ("second", 1.0), "minute": ("second", 60.0), "hour": ("second", 3600.0),
    "day": ("second", 86400.0), "week": ("second", 604800.0),
    "month": ("month", 1.0), "quarter": ("month", 3.0), "year": ("month", 12.0),
    "mm": ("m", 0.001), "cm": ("m", 0.01), "m": ("m", 1.0), "km": ("m", 1000.0),
    "mg": ("g", 0.001), "g": ("g", 1.0), "kg": ("g", 1000.0), "ton": ("g", 1e6),
    "ml": ("litre", 0.001), "litre": ("litre", 1.0),
    "Hz": ("Hz", 1.0), "kHz": ("Hz", 1e3), "MHz": ("Hz", 1e6), "GHz": ("Hz", 1e9),
    "bps": ("bps", 1.0), "kbps": ("bps", 1e3), "Mbps": ("bps", 1e6), "Gbps": ("bps", 1e9),
    "cent": ("USD", 0.01), "jiao": ("CNY", 0.1), "W": ("W", 1.0), "kW": ("W", 1e3),
}  # fmt: skip
_BYTE_STEPS = {"byte": 0, "KB": 1, "MB": 2, "GB": 3, "TB": 4, "PB": 5}


def same_quantity(a: Quantity, b: Quantity) -> bool:
    """Whether two quantities say the same: value, unit and, for ranges, both ends.

    Units convert only where that is exact (24 hours = 1 day, 12 months = 1 year, 1 GB = 1024 or 1000 MB; a month is no
    number of days). A quantity without a unit equals one with a unit of counting, and a year equals the bare number.
    "at most 5" and "at least 5" differ; either equals a bare 5.
    """
    if a.kind == "version" or b.kind == "version":
        return _same_version(a, b)
    if a.kind == "date" or b.kind == "date":
        return _same_date(a, b)
    if {a.kind, b.kind} & {"time", "ordinal"} and a.kind != b.kind:
        return False
    if (a.value is None) != (b.value is None):
        return False
    return any(_same_bounds(a, b, factor) for factor in _factors(a.unit, b.unit))


def _same_version(a: Quantity, b: Quantity) -> bool:
    left, right = (q.unit if q.kind == "version" else _plain_text(q) for q in (a, b))
    return left is not None and left == right


def _plain_text(quantity: Quantity) -> str | None:
    if quantity.kind != "number" or quantity.unit is not None or quantity.value is None:
        return None
    return quantity.text.strip()


def _same_date(a: Quantity, b: Quantity) -> bool:
    if a.kind == b.kind:
        return a.unit == b.unit and a.value == b.value
    date, other = (a, b) if a.kind == "date" else (b, a)
    return date.unit == "y" and other.kind == "number" and other.unit is None and other.value == date.value


def _factors(a: str | None, b: str | None) -> list[float]:
    """By what a value in unit ``a`` is multiplied to be in unit ``b``; empty where the units do not compare."""
    if a == b:
        return [1.0]
    if a in _EXACT_UNITS and b in _EXACT_UNITS:
        (base_a, size_a), (base_b, size_b) = _EXACT_UNITS[a], _EXACT_UNITS[b]
        return [size_a / size_b] if base_a == base_b else []
    if a in _BYTE_STEPS and b in _BYTE_STEPS:
        steps = _BYTE_STEPS[a] - _BYTE_STEPS[b]
        return [1000.0**steps, 1024.0**steps]
    return []


def _same_bounds(a: Quantity, b: Quantity, factor: float) -> bool:
    if a.value is None or b.value is None:
        return _close(a.low * factor, b.low) and _close(a.high * factor, b.high)
    if not _close(a.value * factor, b.value):
        return False
    opposite = (a.low == -math.inf and b.high == math.inf) or (a.high == math.inf and b.low == -math.inf)
    return not opposite


def _close(a: float, b: float) -> bool:
    return a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def traits(quantity: Quantity) -> frozenset[tuple[str, Any]]:
    """What a quantity can be looked up by: two that say the same, or have an end in common, share a trait.

    The converse does not hold: what shares a trait is then compared. Ends are rounded to one part in a million, each
    filed under two neighbours so that no pair parts at the edge.
    """
    if quantity.kind == "version":
        return frozenset([("version", quantity.unit)])
    if quantity.kind == "date":
        return frozenset(_date_traits(int(quantity.value or 0), quantity.unit or ""))
    ends = {end for end in (quantity.value, quantity.low, quantity.high) if end is not None and math.isfinite(end)}
    found = {trait for end in ends for size in _sizes(quantity.unit) for trait in _rounded(end * size)}
    if quantity.unit is None and quantity.value is not None:
        found |= {("version", quantity.text.strip()), ("y", int(quantity.value))}
    return frozenset(found)


def _date_traits(digits: int, parts: str) -> Iterator[tuple[str, Any]]:
    for part in reversed(parts):
        digits, value = (digits, digits) if part == "y" else divmod(digits, 100)
        yield part, value


def _sizes(unit: str | None) -> set[float]:
    """One unit in itself and in the units that it converts to."""
    if unit in _BYTE_STEPS:
        return {1.0, 1000.0 ** _BYTE_STEPS[unit], 1024.0 ** _BYTE_STEPS[unit]}
    return {1.0, _EXACT_UNITS[unit][1]} if unit in _EXACT_UNITS else {1.0}


def _rounded(value: float) -> Iterator[tuple[str, Any]]:
    if abs(value) < 1e-6:
        yield "zero", 0
    if value:
        step = math.floor(math.log(abs(value)) * 1e6)
        yield "end", step
        yield "end", step + 1


def contains_quantity(text_quantities: Iterable[Quantity], quantity: Quantity) -> bool:
    """Whether one of ``text_quantities`` says the same as ``quantity``."""
    return any(same_quantity(found, quantity) for found in text_quantities)
