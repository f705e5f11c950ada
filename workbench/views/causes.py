"""Causes of failure as panels need them: for all samples only what is counted and filtered, in full for one sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.diagnosis.attribution import CAUSES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.views.slices import Slices

#: Primary causes of samples that do not fail.
NOT_FAILING = ("pass", "not_checked")


class CauseTable:
    """The causes of every sample as arrays. No sentence is written, so that a slider over many samples can be followed.

    Attributes
    ----------
    primary
        (n,) names, ``pass`` and ``not_checked`` included.
    confidence
        (n,) in [0, 1] of the primary cause, NaN without one.
    """

    def __init__(self, evaluation: Any) -> None:
        causes = getattr(evaluation, "causes", None)
        if causes is None:
            full = evaluation.failures()
            self.primary: NDArray[np.object_] = full["primary_cause"].to_numpy(dtype=object)
            self.confidence: NDArray[np.float64] = full["confidence"].to_numpy(dtype=float)
            self._holds = np.array([[cause in own for cause in CAUSES] for own in full["causes"]], dtype=bool)
        else:
            self.primary, self.confidence, self._holds = causes.names(), causes.confidence, causes.holds

    @property
    def failing(self) -> NDArray[np.bool_]:
        """(n,) whether the sample fails."""
        return ~np.isin(self.primary, NOT_FAILING)

    def has(self, cause: str) -> NDArray[np.bool_]:
        """(n,) whether ``cause`` is among the causes; also for ``failing``, ``pass`` and ``not_checked``."""
        if cause == "failing":
            return self.failing
        if cause in CAUSES:
            found: NDArray[np.bool_] = self._holds[:, CAUSES.index(cause)]
            return found
        return np.asarray(self.primary == cause, dtype=bool)

    def counts(self) -> dict[str, int]:
        """How many samples have each cause; those that none has are left out."""
        names = ("failing", *CAUSES, *NOT_FAILING)
        return {name: n for name in names if (n := int(self.has(name).sum()))}


def explained(slices: Slices, sample_id: str) -> dict[str, Any]:
    """One sample's row of ``failures()``, with ``others``: what each further cause rests on (cause → sentence)."""
    small = slices.small(sample_id)
    row = small.failures().loc[sample_id].to_dict()
    causes = getattr(small, "causes", None)
    if causes is None or row["primary_cause"] in NOT_FAILING:
        further = [name for name in row["causes"] if name != row["primary_cause"]]
        return {**row, "others": dict.fromkeys(further, "")}
    from workbench.diagnosis.explain import Explainer

    sentences = Explainer(causes).all_evidence(int(small.evidence.ids.get_loc(sample_id)))
    sentences.pop(row["primary_cause"], None)
    return {**row, "others": sentences}
