"""Values of a query log as numbers: flags, latencies, statuses and times, each as services write them."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Any

_TRUE, _FALSE = {"true", "yes", "1", "1.0", "是", "y"}, {"false", "no", "0", "0.0", "否", "n"}
#: Seconds since 1970 of the years 1900 and 2200.
_EARLIEST, _LATEST = -2_208_988_800.0, 7_258_118_400.0
#: Numbers since 1970 from the first on are nano-, micro- or milliseconds; smaller ones are seconds.
_EPOCH_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))


class UnreadableError(ValueError):
    """A value that rejects its row, with the reason."""


def flag(value: Any) -> float:
    """1, 0 or NaN (not recorded)."""
    if value is None or value == "" or value != value:
        return math.nan
    word = str(value).strip().lower()
    if word in _TRUE or word in _FALSE:
        return float(word in _TRUE)
    raise UnreadableError("is neither true nor false; write true or false, 是 or 否")


def number(value: Any) -> float:
    """A number; NaN when missing; +inf for anything recorded that is not finite, NaN as a word or a float among it."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return math.nan
    if isinstance(value, (bool, list, dict)):
        raise UnreadableError("is no number")
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise UnreadableError("is no number") from None
    return found if math.isfinite(found) else math.copysign(math.inf, found)


def latency(value: Any) -> float:
    """Milliseconds or seconds from 0 on, as :func:`number`."""
    found = number(value)
    if -math.inf < found < 0:
        raise UnreadableError("is a negative latency")
    return found


def failed(value: Any) -> float:
    """0 for no error (null, false, empty), 1 for anything else."""
    if value is None or value is False or value == "" or value == 0 or value != value or value in ([], {}):
        return 0.0
    return 0.0 if isinstance(value, str) and value.strip().lower() in _FALSE else 1.0


def status(value: Any) -> float:
    """An HTTP status from 400 on, or a word that is not "ok", is an error."""
    if value is None or value == "":
        return math.nan
    word = str(value).strip().lower()
    if re.fullmatch(r"\d{3}(\.0)?", word):
        return float(float(word) >= 400)
    return float(word not in ("ok", "success", "成功"))


def seconds_of(value: Any) -> float:
    """A time as seconds since 1970: ISO 8601 (without an offset it is UTC), or s, ms, µs or ns since 1970; NaN when
    missing. Raises ``UnreadableError`` for anything else and for years outside 1900 to 2200."""
    if value is None or value == "" or value != value:
        return math.nan
    try:
        found = _seconds(value)
    except (ValueError, TypeError, OverflowError):
        found = math.inf
    if not _EARLIEST <= found <= _LATEST:
        raise UnreadableError("is no time; write it as 2025-06-10T07:00:00Z")
    return found


def _seconds(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError("is no time")
    if not hasattr(value, "timestamp"):
        if isinstance(value, (int, float)) or re.fullmatch(r"\d{9,19}(\.\d+)?", str(value)):
            number = float(value)
            return number / next((unit for least, unit in _EPOCH_UNITS if abs(number) >= least), 1.0)
        value = datetime.fromisoformat(str(value).strip().replace("/", "-"))
    return float((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())


def looks_numeric(value: str) -> bool:
    """Whether a text is a number or empty."""
    try:
        float(value)
    except ValueError:
        return not value.strip()
    return True
