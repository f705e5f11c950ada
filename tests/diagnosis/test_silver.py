"""Silver labels stand in for judgements, say so, and claim nothing about what was not retrieved."""

from __future__ import annotations

import workbench as wb
from tests.scripted import ScriptedJudge, evidence, sample_set
from workbench.api import silver_labels
from workbench.evaluation import Evaluation
from workbench.evidence.collect import collect

CONTEXTS = [{"doc_id": d, "text": f"Text of {d}."} for d in ("a", "b", "c")]


def evaluation() -> Evaluation:
    rows = [
        {"question": "one", "answer": "x", "reference": "r", "contexts": CONTEXTS},
        {"question": "two", "answer": "x", "reference": "r", "contexts": CONTEXTS, "expected_docs": ["a"]},
        {"question": "three", "answer": "x", "reference": "r", "contexts": CONTEXTS},
    ]

    def script(sample):
        entail = [0.0, 0.0, 0.0] if sample.question == "three" else [0.1, 0.9, 0.2]
        return evidence(sample, reference=[{"entail": entail}])

    return Evaluation(collect(sample_set(rows), ScriptedJudge(script)))


def test_only_unjudged_samples_get_labels_from_contexts_that_support_the_reference() -> None:
    labels = silver_labels(evaluation())
    assert labels[["sample_id", "doc_id", "rank"]].to_numpy().tolist() == [["0", "b", 2]]


def test_ranking_by_silver_labels_is_marked_and_leaves_recall_out() -> None:
    before = evaluation()
    after = wb.with_silver_labels(before)
    assert after.scores().loc["0", "reciprocal_rank@5"] == 1 / 2
    assert after.states().loc["0", "recall@5"] == after.states().loc["0", "ndcg@5"] == "not_applicable"
    assert after.scores().loc["1", "recall@5"] == 1
    assert after.states().loc["2", "reciprocal_rank@5"] == "not_applicable"
    assert "silver labels for 1 samples" in after.summary().loc["reciprocal_rank@5", "method"]
    assert before.states().loc["0", "reciprocal_rank@5"] == "not_applicable", "the first evaluation is not changed"
