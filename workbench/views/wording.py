"""How metrics, causes, states and numbers are called for a reader, in the language in force."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from workbench.diagnosis import causes
from workbench.language import has_text, listed, numbers, sentences
from workbench.language import text as _t
from workbench.language.numbers import chance, count, missing, points, score
from workbench.scoring import metrics
from workbench.scoring.thresholds import LOWEST

__all__ = ["chance", "count", "missing", "points", "score", "sentences"]

# Numbers as a report shows them: never parted from their sign by the end of a line.

_THIN = "\u00a0"


def percent(value: Any, *, unit: bool = True) -> str:
    """A rate in whole per cents: "71 %" in English, "71%" in Chinese."""
    return numbers.percent(value, unit=unit).replace(" ", _THIN)


def interval(low: Any, high: Any, *, signed: bool = False) -> str:
    """An interval of scores; empty where there is none."""
    return numbers.interval(low, high, signed=signed)


def rate_interval(low: Any, high: Any) -> str:
    """An interval of rates; empty where there is none."""
    return numbers.interval(low, high, rate=True).replace(" %", f"{_THIN}%")


def scale(highs: Iterable[float]) -> float:
    """Where the scale of bars ends: the highest end of an interval, rounded up to tens of per cents; at most 1."""
    return min(1.0, math.ceil(10 * max(highs) - 1e-9) / 10)


# Names.


def metric_title(name: str) -> str:
    """The readable name of a metric: ``recall@5`` → "recall@5" in English; a user's own metric keeps its name."""
    return metrics.title(name)


#: Layers in the order in which a reader meets them; the whole first.
LAYERS = ("", "access", "index", "retrieval", "generation", "service", "unknown")


def by_layer(names: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Metrics in groups: the title of their layer (end to end first), and those of it, in the order given."""
    found: dict[str, list[str]] = {}
    for name in names:
        known = metrics.definition(name)
        found.setdefault(known.layer if known else "", []).append(name)
    order = sorted(found, key=lambda layer: LAYERS.index(layer) if layer in LAYERS else len(LAYERS))
    return [(_t(f"compare.layer.{layer}.name") if layer else _t("lists.whole"), found[layer]) for layer in order]


def direction(name: str) -> str:
    """The arrow of the good direction of a metric; empty where neither is good in itself."""
    known = metrics.definition(name)
    better = True if known is None else known.higher_is_better
    return "" if better is None else "↑" if better else "↓"


def metric_reading(name: str) -> str:
    """One sentence on what the metric says and which way is better; empty for a user's own metric."""
    key = f"metrics.{name.partition('@')[0]}.reading"
    return _t(key) if has_text(key) else ""


def level_title(name: Any) -> str:
    """A level in words; a user's own level keeps its name, a missing one is an empty text."""
    key = f"metrics.levels.{name}"
    return (_t(key) if has_text(key) else name) if isinstance(name, str) else ""


def levels_words(thresholds: Any) -> str:
    """The limits of the levels in one sentence: "excellent from 0.90, good from 0.75 …"."""
    ordered = sorted(thresholds.levels.items(), key=lambda pair: -pair[1])
    limits = listed(_t("metrics.level_from", level=level_title(name), value=score(cut)) for name, cut in ordered)
    return _t("metrics.levels_said", limits=limits, lowest=level_title(LOWEST))


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
