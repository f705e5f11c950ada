"""Causes of failure as panels need them: for all samples only what is counted and filtered, in full for one sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def cause_table(evaluation: Any) -> pd.DataFrame:
    """Index ``sample_id``; ``primary_cause, causes, confidence``, as in ``failures()`` but without a sentence written.

    Sentences are what makes ``failures()`` too slow to follow a slider over many samples.
    """
    import pandas as pd

    from workbench.diagnosis.attribution import CAUSES

    causes = getattr(evaluation, "causes", None)
    if causes is None:
        full: pd.DataFrame = evaluation.failures()
        return full[["primary_cause", "causes", "confidence"]]
    contributing: list[list[str]] = [[] for _ in range(len(causes.primary))]
    for code, place in zip(*(part.tolist() for part in causes.holds.nonzero()), strict=True):
        contributing[code].append(CAUSES[place])
    columns = {"primary_cause": causes.names(), "causes": contributing, "confidence": causes.confidence}
    return pd.DataFrame(columns, index=evaluation.evidence.ids)


def explained(evaluation: Any, sample_id: str) -> dict[str, Any]:
    """One sample's row of ``failures()``, with ``others``: what each further cause rests on (cause → sentence)."""
    causes = getattr(evaluation, "causes", None)
    if causes is None:
        return {**evaluation.failures().loc[sample_id].to_dict(), "others": {}}
    from workbench.diagnosis.attribution import unchecked
    from workbench.diagnosis.explain import Explainer, advice

    explainer = Explainer(causes)
    code = int(evaluation.evidence.ids.get_loc(sample_id))
    primary = str(causes.names()[code])
    failing = bool(causes.primary[code] >= 0)
    sentences = explainer.all_evidence(code) if failing else {}
    return {
        "primary_cause": primary,
        "sub_cause": explainer.sub_cause(code) if failing else None,
        "confidence": float(causes.confidence[code]),
        "evidence": sentences.pop(primary, ""),
        "advice": advice(primary) if failing else "",
        "others": sentences,
        "unchecked": unchecked(causes.chain)[code] if primary != "pass" else [],
    }
