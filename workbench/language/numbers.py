"""How numbers are written for a reader, in the language in force: the same in panels, reports, gate and command line.

Everything is rounded half up, away from zero, on the number as it is written: 12.5 % is 13 %, and 55 % → 67.5 % is 13
points. An en dash stands for a number that is not there (None, NaN, infinite); minus is a minus sign, and 0 has no sign.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from workbench.language import language_of

NOTHING = "–"


def missing(value: Any) -> bool:
    """Whether there is no number to write: None, a missing value of pandas, NaN or infinite."""
    try:
        return not math.isfinite(value)
    except TypeError:
        return True


def score(value: Any, *, decimals: int = 2, signed: bool = False) -> str:
    """A number with its decimals: 0.256 → "0.26"."""
    return NOTHING if missing(value) else _written(value, decimals, signed)


def percent(value: Any, *, decimals: int = 0, unit: bool = True, signed: bool = False) -> str:
    """A rate in per cents: 0.714 → "71 %" in English, "71%" in Chinese."""
    if missing(value):
        return NOTHING
    return _written(100 * value, decimals, signed) + (str(language_of().facts["percent_sign"]) if unit else "")


def points(value: Any, *, signed: bool = True) -> str:
    """A difference of rates in points of a hundred: 0.163 → "+16"; one decimal below 1."""
    if missing(value):
        return NOTHING
    below_one = 0 < abs(100 * value) < 0.95
    return _written(100 * value, int(below_one), signed)


def interval(low: Any, high: Any, *, rate: bool = False, signed: bool = False) -> str:
    """An interval of scores, or of rates: "0.71 – 0.80", "71 – 80 %"; empty where there is none."""
    if missing(low) or missing(high):
        return ""
    if rate:
        return f"{percent(low, unit=False, signed=signed)} – {percent(high, signed=signed)}"
    return f"{score(low, signed=signed)} – {score(high, signed=signed)}"


def chance(value: Any) -> str:
    """A p-value with two digits that count, never 0: "< 0.001", "0.040", "0.40"."""
    if missing(value):
        return NOTHING
    return "< 0.001" if value < 0.001 else _written(value, 3 if value < 0.1 else 2, signed=False)


def p_value(value: Any) -> str:
    """The same with its letter: "p = 0.040", "p < 0.001"; "p –" without a test."""
    shown = chance(value)
    return f"p {shown}" if shown[0] in "<–" else f"p = {shown}"


def count(value: Any) -> str:
    """A count with its thousands marked."""
    return NOTHING if missing(value) else f"{int(value):,}"


def _written(value: Any, decimals: int, signed: bool) -> str:
    if abs(value) >= 1e15:
        return f"{float(value):.{decimals}f}"
    # Nine decimals hold every tie of a ratio and none of the dust of binary arithmetic.
    plain = Decimal(f"{abs(float(value)):.9f}").quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    if not plain:
        return f"{plain}"
    return ("−" if value < 0 else "+" if signed else "") + f"{plain}"
