"""How metrics, causes, states and numbers are called for a reader, in the language in force."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from workbench.diagnosis import causes
from workbench.language import get_language, has_text
from workbench.language import text as _t
from workbench.scoring import metrics

# ------------------------------------------------------------------------------
# Numbers as a report shows them, in the language in force.


#: Between a number and its sign, so that a line never breaks there.
_THIN = "\u00a0"


def missing(value: Any) -> bool:
    """Whether a number is not there."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def score(value: Any, *, signed: bool = False) -> str:
    """A score with two decimals; an en dash where there is none."""
    if missing(value):
        return "–"
    text = f"{abs(float(value)):.2f}"
    return _sign(float(value), text) if signed else ("−" if value < 0 and text != "0.00" else "") + text


def percent(value: Any, *, unit: bool = True) -> str:
    """A rate in whole per cents: "71 %" in English, "71%" in Chinese."""
    if missing(value):
        return "–"
    return f"{100 * float(value):.0f}" + (_unit() if unit else "")


def points(value: Any) -> str:
    """A difference of rates in percentage points, signed: "+16", "−3", "0"."""
    return "–" if missing(value) else _sign(float(value), f"{abs(100 * float(value)):.0f}")


def interval(low: Any, high: Any, *, signed: bool = False) -> str:
    """An interval of scores; empty where there is none."""
    if missing(low) or missing(high):
        return ""
    return f"{score(low, signed=signed)} – {score(high, signed=signed)}"


def rate_interval(low: Any, high: Any) -> str:
    """An interval of rates; empty where there is none."""
    if missing(low) or missing(high):
        return ""
    return f"{percent(low, unit=False)} – {percent(high)}"


def count(value: Any) -> str:
    """A count with its thousands marked."""
    return "–" if missing(value) else f"{int(value):,}"


def chance(value: Any) -> str:
    """A p-value: two digits that count, never 0."""
    if missing(value):
        return "–"
    return "< 0.001" if value < 0.001 else f"{float(value):.3f}" if value < 0.1 else f"{float(value):.2f}"


def sentences(parts: Any) -> str:
    """Whole sentences one after the other."""
    return ("" if get_language() == "zh" else " ").join(str(part) for part in parts if part)


def scale(highs: Iterable[float]) -> float:
    """Where the scale of bars ends: the highest end of an interval, rounded up to tens of per cents; at most 1."""
    return min(1.0, math.ceil(10 * max(highs) - 1e-9) / 10)


def _sign(value: float, text: str) -> str:
    if not text.strip("0."):
        return text
    return ("+" if value > 0 else "−") + text


def _unit() -> str:
    return "%" if get_language() == "zh" else f"{_THIN}%"


# ------------------------------------------------------------------------------


def metric_title(name: str) -> str:
    """The readable name of a metric: ``recall@5`` → "recall@5" / "召回率@5"; a user's own metric keeps its name."""
    return metrics.title(name)


def metric_reading(name: str) -> str:
    """One sentence on what the metric says and which way is better; empty for a user's own metric."""
    key = f"metrics.{name.partition('@')[0]}.reading"
    return _t(key) if has_text(key) else ""


def cause_title(name: Any) -> str:
    """The readable name of a cause or sub-cause."""
    return _t(f"causes.sub.{name}") if has_text(f"causes.sub.{name}") else causes.title(str(name))


def state_title(name: Any) -> str:
    """The readable name of a score state."""
    return _t(f"panels.states.{name}") if has_text(f"panels.states.{name}") else str(name)


def verdict_title(name: Any) -> str:
    """The readable name of a claim's verdict or of a user's verdict."""
    return _t(f"panels.verdicts.{name}") if has_text(f"panels.verdicts.{name}") else str(name)


def named(area: str, name: Any) -> str:
    """``<area>.<name>.name`` in the language in force, or the name itself where there is no text for it."""
    key = f"{area}.{name}.name"
    return _t(key) if has_text(key) else str(name)


def score_text(value: Any) -> str:
    """A score with two decimals, an en dash where there is none."""
    return "–" if value is None or value != value else f"{value:.2f}"


def rate_text(value: Any) -> str:
    """A rate in whole per cents, an en dash where there is none."""
    return "–" if value is None or value != value else f"{value * 100:.0f}{_per_cent()}"


def interval_text(low: Any, high: Any, *, rate: bool = False) -> str:
    """An interval with an en dash; empty where there is none."""
    if low is None or high is None or low != low or high != high:
        return ""
    return f"{low * 100:.0f} – {high * 100:.0f}{_per_cent()}" if rate else f"{low:.2f} – {high:.2f}"


def _per_cent() -> str:
    """The sign with the space that English typography puts before it here, and Chinese does not."""
    return "%" if get_language() == "zh" else " %"
