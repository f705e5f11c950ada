"""From probabilities to verdicts: the one rule for claims, against contexts, reference or answer alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.scoring.facts import Claims
from workbench.scoring.thresholds import Thresholds

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
