"""What a metric declares, and the view of evidence and thresholds that it is computed from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from workbench.scoring.facts import Claims, Facts
from workbench.scoring.scored import Scored
from workbench.scoring.thresholds import Thresholds

# ------------------------------------------------------------------------------
# From probabilities to verdicts: the one rule for claims, against contexts, reference or answer alike.


SUPPORTED, CONTRADICTED, UNSURE, NOT_MENTIONED, MISSING = range(5)

#: Names of the codes above.
VERDICTS = ("supported", "contradicted", "unsure", "not_mentioned", "missing")

#: Names of severity codes 0, 1, 2.
SEVERITIES = ("low", "medium", "high")

Verdicts = NDArray[np.int8]


def verdict(entail: NDArray, contradict: NDArray, t: Thresholds) -> Verdicts:
    """Verdict of each claim from its highest ``entail`` and ``contradict``, both in [0, 1]; NaN entail = missing.

    supported if e ≥ support and e ≥ c; contradicted if c ≥ contradiction and c > e; unsure if
    max(e, c) ≥ support − unsure_band; else not mentioned.
    """
    e, c = np.asarray(entail, dtype=float), np.nan_to_num(np.asarray(contradict, dtype=float))
    found = np.full(len(e), NOT_MENTIONED, dtype=np.int8)
    found[np.fmax(e, c) >= t.support - t.unsure_band] = UNSURE
    found[(c >= t.contradiction) & (c > e)] = CONTRADICTED
    found[(e >= t.support) & (e >= c)] = SUPPORTED
    found[np.isnan(e)] = MISSING
    return found


def against_contexts(claims: Claims, t: Thresholds) -> Verdicts:
    """Verdicts against the contexts."""
    return verdict(claims.entail, claims.contradict, t)


def against_other(claims: Claims, t: Thresholds) -> Verdicts:
    """Verdicts of answer claims against the reference, or of reference claims against the answer."""
    return verdict(claims.other_entail, claims.other_contradict, t)


def severity(claims: Claims, verdicts: Verdicts) -> NDArray[np.int64]:
    """How serious each hallucinated claim is: 2 high (contradicts, or an unsupported number, date or absolute),
    1 medium (names an entity), 0 low; −1 for claims that are supported, unsure or missing."""
    level = np.where(verdicts == CONTRADICTED, 2, claims.severity)
    return np.where(np.isin(verdicts, (CONTRADICTED, NOT_MENTIONED)), level, -1)


# ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Metric:
    """The definition of one metric.

    Attributes
    ----------
    name
        As in frames; ``{k}`` stands for the depth in force.
    formula
        In the symbols of the metric table: S, R, X, A, v, e, c, n, m, T, D.
    needs
        Fields or parts of the evidence; without one of them it is not applicable (fields) or skipped (parts).
    undefined
        When the fields are there and it still has no value.
    low, high
        The range; ``high`` is infinity for counts and rates per 100 tokens.
    higher_is_better
        None where neither direction is good in itself.
    binary
        0 or 1 for a sample: its mean is a rate with a Wilson interval.
    source
        Paper or tool that the formula comes from.
    default
        Part of the default set.
    """

    name: str
    group: str
    formula: str
    needs: tuple[str, ...]
    undefined: str = ""
    low: float = 0.0
    high: float = 1.0
    higher_is_better: bool | None = True
    binary: bool = False
    source: str = ""
    default: bool = True

    @property
    def worst(self) -> float:
        """The worst possible value, or NaN where there is none."""
        return float("nan") if self.higher_is_better is None else self.low if self.higher_is_better else self.high

    @property
    def best(self) -> float:
        """The best possible value, or NaN where there is none."""
        return float("nan") if self.higher_is_better is None else self.high if self.higher_is_better else self.low


#: A group computes several metrics at once from a view.
Group = Callable[["View"], Mapping[str, Scored]]


class View:
    """Facts under thresholds: verdicts and per-context relevance, computed once for all metrics of one setting."""

    def __init__(self, facts: Facts, thresholds: Thresholds) -> None:
        self.facts = facts
        self.t = thresholds
        self.n = facts.n
        self._done: dict[Group, Mapping[str, Scored]] = {}

    def once(self, group: Group) -> Mapping[str, Scored]:
        """What ``group`` computes from this view, computed when first asked for."""
        if group not in self._done:
            self._done[group] = group(self)
        return self._done[group]

    @cached_property
    def answer(self) -> Claims:
        """Answer claims."""
        return self.facts.claims("answer")

    @cached_property
    def reference(self) -> Claims:
        """Reference claims."""
        return self.facts.claims("reference")

    @cached_property
    def points(self) -> Claims:
        """Key points."""
        return self.facts.claims("point")

    @cached_property
    def answer_verdicts(self) -> Verdicts:
        """Answer claims against the contexts."""
        return against_contexts(self.answer, self.t)

    @cached_property
    def answer_other(self) -> Verdicts:
        """Answer claims against the reference."""
        return against_other(self.answer, self.t)

    @cached_property
    def reference_verdicts(self) -> Verdicts:
        """Reference claims against the contexts."""
        return against_contexts(self.reference, self.t)

    @cached_property
    def reference_other(self) -> Verdicts:
        """Reference claims against the answer."""
        return against_other(self.reference, self.t)

    @cached_property
    def relevant(self) -> np.ndarray:
        """v: each recorded context is relevant (and prompted)."""
        contexts = self.facts.contexts
        return contexts.prompted & (contexts.relevance >= self.t.relevance)

    @cached_property
    def expected(self) -> np.ndarray:
        """Each recorded context is (one alternative of) a relevant expected document."""
        found = self.facts.matches(self.t.match)
        mask = np.zeros(len(self.facts.contexts.code), dtype=bool)
        mask[found.loc[found["grade"] >= 1, "context"].to_numpy(dtype=int)] = True
        return mask
