"""Section 1: how good is it? Metrics with intervals, targets and states, and what better retrieval would bring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.language import text as _t
from workbench.reports.report import Material, Measure, Step
from workbench.views.names import metric_reading, metric_title

if TYPE_CHECKING:
    import pandas as pd

#: Metrics of the first table, where they have scores; the others are in the appendix.
FIRST = (
    "end_to_end_correct", "recall", "ndcg", "precision", "context_recall", "context_relevance", "faithfulness",
    "hallucination_rate", "contradiction_rate", "answer_relevancy", "completeness", "citation_precision",
    "refusal_correct", "over_refusal", "leaks",
)  # fmt: skip
#: The metric of the verdict.
HEADLINE = "end_to_end_correct"
STATES = ("not_applicable", "undefined", "error", "skipped")


def measures(material: Material) -> tuple[Measure, ...]:
    """Every metric of the evaluation: those of the first table in its order, then the rest."""
    tests = _tests(material)
    rows = [_measure(str(name), row, tests.get(str(name))) for name, row in material.summary.iterrows()]
    return tuple(sorted(rows, key=lambda measure: (not measure.shown, _place(measure))))


def _place(measure: Measure) -> int:
    base = measure.metric.partition("@")[0]
    return FIRST.index(base) if base in FIRST else len(FIRST)


def _measure(name: str, row: Any, test: Any) -> Measure:
    has_target = row["target"] == row["target"]
    shown = has_target or (name.partition("@")[0] in FIRST and row["n_ok"] > 0)
    return Measure(
        name, metric_title(name), metric_reading(name), float(row["mean"]), float(row["low"]), float(row["high"]),
        int(row["n_ok"]), int(row["n_total"]), {state: int(row[f"n_{state}"]) for state in STATES if row[f"n_{state}"]},
        float(row["low_bound"]), float(row["high_bound"]), float(row["target"]), float(row["attainable"]),
        None if row["meets_target"] is None else bool(row["meets_target"]), str(row["method"]), bool(shown),
        **_difference(name, test),
    )  # fmt: skip


def _difference(name: str, test: Any) -> dict[str, Any]:
    """The paired comparison of one metric; nothing without a baseline or without a pair."""
    if test is None or not test["n_pairs"]:
        return {}
    # The headline is the question asked and stands alone; the others are corrected for how many were looked at.
    chance = float(test["p_value" if name == HEADLINE else "p_adjusted"])
    return {
        "before": float(test["before"]), "after": float(test["after"]), "delta": float(test["delta"]),
        "delta_low": float(test["low"]), "delta_high": float(test["high"]), "p": chance, "n_pairs": int(test["n_pairs"]),
    }  # fmt: skip


def _tests(material: Material) -> dict[str, Any]:
    if material.comparison is None:
        return {}
    frame: pd.DataFrame = material.comparison.tests()
    named = frame.set_index("metric") if "metric" in frame.columns else frame
    return {str(name): row for name, row in named.iterrows()}


def ladder(material: Material) -> tuple[Step, ...]:
    """What is right now, what the retrieved evidence allows, the estimate for perfect retrieval; empty without n."""
    from workbench.diagnosis.summary import oracle_ladder

    view = getattr(material.evaluation, "view", None)
    if view is None:
        return ()
    return tuple(
        Step(str(name), _t(f"report.ladder.{name}"), float(row["rate"]), float(row["low"]), float(row["high"]), int(row["n"]))
        for name, row in oracle_ladder(view).iterrows()
        if row["n"]
    )
