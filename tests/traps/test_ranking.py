"""Traps of ranking metrics that no other test shows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.scoring.test_metrics import CONTEXTS, scored
from tests.scripted import sample_set
from workbench.evaluation import Evaluation
from workbench.evidence.collect import collect


def ids(*names: str) -> list[dict[str, str]]:
    return [{"doc_id": name, "text": f"text of {name}"} for name in names]


def test_a_document_returned_twice_counts_once() -> None:
    scores, _ = scored({"contexts": ids("d1", "d1", "d2"), "expected_docs": {"d1": 1, "d2": 1}})
    assert scores["recall@5"] == scores["ndcg@5"] == scores["average_precision@5"] == 1
    assert scores["duplicate_rate"] == pytest.approx(1 / 3)


def test_an_expected_id_given_twice_is_one_need() -> None:
    scores, _ = scored({"expected_docs": ["d1", "d1", "d2"]})
    assert scores["recall@5"] == 1
    assert scores["precision@5"] == 2 / 5
    assert scores["ndcg@5"] == 1


def test_number_7_and_text_7_are_one_id() -> None:
    samples = wb.load_samples(
        [{"question": "q", "answer": "a", "contexts": [{"doc_id": 7, "text": "t"}], "expected_docs": ["7"]}]
    )
    assert Evaluation(collect(samples, None)).scores().iloc[0]["recall@5"] == 1


def test_ids_that_never_match_are_a_warning_and_no_silent_0() -> None:
    rows = [{"question": f"q{i}", "answer": "a", "contexts": ids("d1"), "expected_docs": ["D-1"]} for i in range(3)]
    findings = wb.check(sample_set(rows)).set_index("check")
    assert findings.loc["ids_never_match", "level"] == "error"


def test_precision_divides_by_k_and_its_twin_by_what_came_back() -> None:
    scores, _ = scored({"contexts": ids("d1", "d2"), "expected_docs": ["d1"]})
    assert scores["precision@5"] == 1 / 5
    assert scores["precision_returned@5"] == 1 / 2


def test_reciprocal_rank_is_cut_at_k_like_the_rest() -> None:
    from workbench.scoring.thresholds import Thresholds

    row = {"contexts": ids("a", "b", "c"), "expected_docs": ["c"]}
    assert scored(row, thresholds=Thresholds(k=3))[0]["reciprocal_rank@3"] == 1 / 3
    assert scored(row, thresholds=Thresholds(k=2))[0]["reciprocal_rank@2"] == 0


def test_average_precision_counts_the_documents_that_never_came() -> None:
    """Context precision looks only at what came; average precision divides by all that are relevant."""
    scores, _ = scored({"expected_docs": ["d1", "x", "y", "z"]}, relevance=[0.9, 0.1, 0.1])
    assert scores["context_precision"] == 1
    assert scores["average_precision@5"] == 1 / 4


def test_the_gain_is_linear_by_default_named_and_exponential_on_request() -> None:
    qrels = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "relevance": [3, 1]})
    run = pd.DataFrame({"query_id": "q", "doc_id": ["b", "a"], "score": [2.0, 1.0]})
    linear = (1 + 3 / np.log2(3)) / (3 + 1 / np.log2(3))
    exponential = (1 + 7 / np.log2(3)) / (7 + 1 / np.log2(3))
    assert wb.evaluate_rankings(qrels, run, ["ndcg@2"])["ndcg@2"].iloc[0] == pytest.approx(linear)
    assert wb.evaluate_rankings(qrels, run, ["ndcg@2"], gain="exponential")["ndcg@2"].iloc[0] == pytest.approx(
        exponential
    )
    samples = sample_set([{"question": "q", "answer": "a", "contexts": CONTEXTS, "expected_docs": ["d1"]}])
    assert "linear gain" in Evaluation(collect(samples, None)).summary().loc["ndcg@5", "method"]


def test_in_a_recording_the_list_order_wins_over_scores() -> None:
    contexts = [{"doc_id": "low", "text": "a", "score": 0.1}, {"doc_id": "high", "text": "b", "score": 0.9}]
    assert scored({"contexts": contexts, "expected_docs": ["low"]})[0]["reciprocal_rank@5"] == 1


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_a_k_below_1_is_a_clear_error(k: object) -> None:
    with pytest.raises(wb.InputError, match=r"k is .*; use a whole number from 1 on"):
        wb.Thresholds(k=k)
