"""A small trained model of declining: what each clause does, what is left, and the answer as a whole.

Three steps, each a logistic model whose coefficients stand in ``declining_model.json``, one set for each language:

* a clause declines, fills (an apology, a redirect, an offer, a remark about the sources) or states: softmax over the
  features of ``declining_features.py``;
* every clause but the one that declines most states something that is left of an answer: ``REST``;
* the answer is a refusal: from the clause that declines most and the one that states most: ``WHOLE``, or where the
  question is known ``ASKED`` of ``declining_asked.py``.

Written by ``python -m workbench.data.declining_train``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from workbench.data.declining_features import features, folded, language_of

REST = (
    "states", "declines", "fills", "before_in_sentence", "before", "after_in_sentence", "digit", "name", "contrast",
    "length", "question", "states_before_in_sentence",
)  # fmt: skip
WHOLE = ("weaker", "declines")
_CONTRAST = re.compile(
    r"^(?:but|however|still|though|yet|that said|in general|generally|typically|usually)\b"
    r"|^(?:但|不过|然而|可是|一般|通常)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Clause:
    """What a clause does: probabilities in [0, 1] that sum to 1."""

    declines: float
    fills: float
    states: float


@cache
def coefficients(language: str) -> Mapping[str, Any]:
    """The models of ``"en"`` or ``"zh"``: ``clause``, ``rest``, ``whole`` and ``asked``."""
    text = resources.files(__package__).joinpath("declining_model.json").read_text(encoding="utf-8")
    return json.loads(text)[language]


@lru_cache(maxsize=65536)
def clause(segment: str) -> Clause:
    """What one clause does, whatever stands around it."""
    model = coefficients(language_of(folded(segment)))["clause"]
    return weighed(features(segment), model)


def weighed(found: set[str], model: Mapping[str, Any]) -> Clause:
    """The softmax over the features ``found``; stating is the level that the two others are measured from."""
    weights = model["weights"]
    known = [weights[name] for name in found if name in weights]
    declining = model["intercept"][0] + math.fsum(pair[0] for pair in known)
    filling = model["intercept"][1] + math.fsum(pair[1] for pair in known)
    top = max(declining, filling, 0.0)
    parts = [math.exp(value - top) for value in (declining, filling, 0.0)]
    return Clause(*(part / sum(parts) for part in parts))


def tilted(c: Clause, declining: float, filling: float) -> Clause:
    """``c`` with further evidence: log-odds of declining and of filling against stating, each within ±30."""
    more = [math.exp(max(-30.0, min(30.0, value))) for value in (declining, filling)]
    parts = (c.declines * more[0], c.fills * more[1], c.states)
    total = math.fsum(parts)
    return Clause(*(part / total for part in parts)) if total > 0 else c


def log_odds(p: float) -> float:
    """ln(p / (1 − p)) with both cut off at 1e-4."""
    return math.log((p + 1e-4) / (1 - p + 1e-4))


def rest_values(segments: Sequence[str], in_sentence: Sequence[int], clauses: Sequence[Clause]) -> dict[int, list[float]]:
    """The values of ``REST`` for every clause but the one that declines most, by its place.

    ``in_sentence``: the number of the sentence in which each clause stands.
    """
    chief = max(range(len(clauses)), key=lambda i: clauses[i].declines)
    first = next((i for i, c in enumerate(clauses) if c.declines >= 0.5), chief)
    found = {}
    for i, (segment, c) in enumerate(zip(segments, clauses, strict=True)):
        if i != chief:
            same, before = in_sentence[i] == in_sentence[chief], i < first
            found[i] = _rest_row(segment, c, same, before)
    return found


def _rest_row(segment: str, c: Clause, same: bool, before: bool) -> list[float]:
    states = log_odds(c.states)
    unit = 20 if language_of(segment) == "zh" else 60
    return [
        states, log_odds(c.declines), log_odds(c.fills), float(before and same), float(before and not same),
        float(same and not before), float(bool(re.search(r"\d", segment))),
        float(bool(re.search(r"\w\W{1,3}[A-Z][a-z]", segment))), float(bool(_CONTRAST.search(segment))),
        min(len(segment) / unit, 2.0), float(segment.rstrip().endswith(("?", "？"))), states * (before and same),
    ]  # fmt: skip


def whole_values(declining: float, left: float | None) -> list[float]:
    """The values of ``WHOLE``; ``left`` is None where no other clause is left.

    An answer must decline and leave nothing: the weaker of the two counts, and how surely it declines at most mildly.
    """
    declines = log_odds(declining)
    nothing_left = -log_odds(0.0 if left is None else left)
    return [min(declines, nothing_left), min(declines, 2.0)]


def logistic(values: Sequence[float], model: Mapping[str, Any]) -> float:
    """1 / (1 + exp(−(intercept + Σ weight · value)))."""
    total = model["intercept"] + math.fsum(w * v for w, v in zip(model["weights"].values(), values, strict=True))
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, total))))
