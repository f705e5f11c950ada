"""How metrics, causes, states and numbers are called for a reader, in the language in force."""

from __future__ import annotations

from typing import Any

from workbench.language import get_language, has_text
from workbench.language import text as _t


def metric_title(name: str) -> str:
    """The readable name of a metric: ``recall@5`` → "recall@5" / "召回率@5"; a user's own metric keeps its name."""
    base, _, depth = name.partition("@")
    key = f"metrics.{base}.name"
    if not has_text(key):
        return name
    title = _t(key)
    return f"{title}@{depth}" if depth else title


def metric_reading(name: str) -> str:
    """One sentence on what the metric says and which way is better; empty for a user's own metric."""
    key = f"metrics.{name.partition('@')[0]}.reading"
    return _t(key) if has_text(key) else ""


def cause_title(name: Any) -> str:
    """The readable name of a cause or sub-cause."""
    return _t(f"causes.sub.{name}") if has_text(f"causes.sub.{name}") else named("causes", name)


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
