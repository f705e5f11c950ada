"""States: which one wins where several hold, what the fields at hand leave open, what the summary says of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.scoring.test_metrics import ABSENT, CONTEXTS, SUPPORTED, claim, scored
from tests.scripted import ScriptedJudge, evidence, sample_set
from workbench.evaluation import Evaluation
from workbench.evidence.collect import collect
from workbench.evidence.judge import failed
from workbench.scoring.thresholds import Thresholds

NAN = float("nan")
ROW = {"question": "What is it?", "answer": "It is this.", "contexts": CONTEXTS, "reference": "This."}


def evaluated(
    rows: list[dict[str, Any]], script: Any = evidence, metrics: Any = "all", **thresholds: Any
) -> Evaluation:
    judge = None if script is None else ScriptedJudge(script)
    return Evaluation(collect(sample_set(rows), judge), Thresholds(**thresholds), metrics=metrics)


def state(row: dict[str, Any], metric: str = "answer_correctness", script: Any = evidence, unread: str = "") -> str:
    samples = sample_set([{**ROW, **row}])
    if unread:
        samples.attributes["input_errors"] = {unread: {"0": "not text"}}
    judge = None if script is None else ScriptedJudge(script)
    return str(Evaluation(collect(samples, judge), metrics="all").states().iloc[0][metric])


def test_an_unreadable_field_wins_then_a_missing_one_then_no_answer_then_what_the_judge_lacks() -> None:
    broken = lambda sample: failed(sample.sample_id, "no reply")  # noqa: E731
    everything = {"answer": None, "reference": None}
    assert state(everything, script=broken, unread="reference") == "input_error"
    assert state(everything, script=broken) == "not_applicable"
    assert state({"answer": None}, script=broken) == "undefined"
    assert state({"answer": None}, script=None) == "undefined"
    assert state({}, script=None) == "skipped"
    assert state({}, script=broken) == "judge_error"


def test_a_part_that_the_judge_skipped_is_skipped_and_one_that_failed_is_an_error() -> None:
    for said in ("skipped", "judge_error"):
        _, states = scored({}, answer=[SUPPORTED], missing={"relevance": (said, "why")})
        assert {states[n] for n in ("context_precision", "context_relevance", "noise_sensitivity_relevant")} == {said}
        assert states["retrieval_generation_consistency"] == said
        assert states["faithfulness"] == states["noise_sensitivity"] == "ok"


def test_with_expected_documents_consistency_needs_no_relevance() -> None:
    skipped = {"relevance": ("skipped", "why")}
    scores, states = scored({"expected_docs": ["d1"]}, answer=[SUPPORTED], missing=skipped)
    assert states["retrieval_generation_consistency"] == "ok"
    assert scores["retrieval_generation_consistency"] == 1


def test_one_relevance_that_is_missing_leaves_no_mean_over_the_rest() -> None:
    scores, states = scored({}, answer=[SUPPORTED], relevance=[NAN, 1.0, 1.0])
    for name in (
        "context_precision",
        "context_relevance",
        "context_relevant_share",
        "retrieval_generation_consistency",
    ):
        assert states[name] == "judge_error", name
        assert math.isnan(scores[name]), name


def test_a_missing_verdict_of_the_cited_context_leaves_the_citation_open() -> None:
    _, states = scored({"answer": "One. [2]"}, answer=[claim(1.0, NAN)])
    assert states["citation_precision"] == states["citation_recall"] == states["contexts_used_share"] == "judge_error"
    assert states["citation_validity"] == states["faithfulness"] == "ok"
    scores, _ = scored({"answer": "One. [1]"}, answer=[claim(1.0, NAN)])
    assert scores["citation_precision"] == 1, "the cited context is known"


def test_context_recall_is_0_with_a_reference_and_no_contexts_whatever_the_judge() -> None:
    for script in (evidence, None, lambda sample: failed(sample.sample_id, "no reply")):
        result = evaluated([{**ROW, "contexts": []}], script)
        assert result.scores().iloc[0]["context_recall"] == 0
        assert result.states().iloc[0]["context_precision"] == "undefined"
    assert state({"contexts": None}, "context_recall") == "not_applicable"


def test_empty_contexts_with_expected_documents_are_0_and_unrecorded_ones_are_not_applicable() -> None:
    row = {"expected_docs": ["d1"]}
    scores, states = scored({**row, "contexts": []})
    for name in ("precision@5", "recall@5", "hit@5", "reciprocal_rank@5", "ndcg@5", "average_precision@5"):
        assert (scores[name], states[name]) == (0, "ok"), name
    assert states["duplicate_rate"] == states["precision_returned@5"] == "undefined"
    assert scored({**row, "contexts": None})[1]["recall@5"] == "not_applicable"


@pytest.mark.parametrize("expected", [None, [], {"d1": 0}])
def test_nothing_to_retrieve_is_not_applicable_and_no_zero(expected: Any) -> None:
    scores, states = scored({"expected_docs": expected})
    assert states["recall@5"] == states["ndcg@5"] == states["hit@5"] == "not_applicable"
    assert math.isnan(scores["recall@5"])


def test_a_grade_of_0_is_judged_and_not_relevant() -> None:
    scores, _ = scored({"expected_docs": {"d1": 0, "d2": 2}})
    assert scores["recall@5"] == 1
    assert scores["reciprocal_rank@5"] == 1 / 2
    assert scores["precision_returned@5"] == pytest.approx(1 / 3)
    assert scores["ndcg@5"] == pytest.approx(1 / np.log2(3))
    assert scores["holes@5"] == pytest.approx(1 / 5), "only d3 has no judgement"


def test_alternatives_are_one_need_and_a_repeated_document_keeps_its_first_rank() -> None:
    repeated = [CONTEXTS[0], CONTEXTS[0], CONTEXTS[1], CONTEXTS[2]]
    scores, _ = scored({"contexts": repeated, "expected_docs": [["d2", "d3"], "d9"]})
    assert scores["recall@5"] == 1 / 2
    assert scores["reciprocal_rank@5"] == 1 / 2, "the second d1 takes no place"
    assert scores["precision@5"] == 1 / 5, "the second alternative counts no more"
    assert scores["duplicate_rate"] == 1 / 4


@pytest.mark.parametrize("label", ["guide", "guide#9"])
def test_labels_of_documents_match_any_chunk_by_id_or_source(label: str) -> None:
    for context in (
        {"doc_id": "guide#3", "text": "t"},
        {"doc_id": "c17", "text": "t", "metadata": {"source": "guide"}},
    ):
        row = {"contexts": [context, {"doc_id": "x", "text": "u"}], "expected_docs": [label]}
        assert scored(row, thresholds=Thresholds(match="document"))[0]["recall@5"] == 1, context
        assert scored(row)[0]["recall@5"] == 0, "chunks are compared by default"


def test_banned_documents_are_found_by_id_and_by_glob() -> None:
    row = {
        "contexts": [
            {"doc_id": "hr/pay", "text": "a"},
            {"doc_id": "hr/leave", "text": "b"},
            {"doc_id": "faq", "text": "c"},
        ]
    }
    hits = lambda banned: scored({**row, "must_not_retrieve": banned})[0]["must_not_retrieve_hits"]  # noqa: E731
    assert [hits(["faq"]), hits(["hr/*"]), hits(["legal/*"])] == [1, 2, 0]
    assert scored(row)[1]["must_not_retrieve_hits"] == "not_applicable"


def test_what_was_not_prompted_counts_for_the_ranking_and_for_nothing_judged() -> None:
    contexts = [CONTEXTS[0], {**CONTEXTS[1], "prompted": False}, CONTEXTS[2]]
    row = {"contexts": contexts, "expected_docs": ["d2"], "must_include": ["number 2"], "answer": "It is number 2."}
    scores, _ = scored(row, answer=[claim(0.0, 0.9)], reference=[claim(0.0, 0.9)], relevance=[1.0, 0.0, 1.0])
    assert scores["recall@5"] == 1
    assert scores["faithfulness"] == scores["context_recall"] == scores["key_point_grounding"] == 0
    assert scores["context_relevant_share"] == 1, "two prompted contexts, both relevant"


# -- summary ------------------------------------------------------------------------------------------------------------


def test_bounds_are_the_mean_with_the_missing_at_either_end() -> None:
    rows = [{**ROW, "sample_id": name, "question": f"What is {name}?"} for name in "abcde"]
    rows[4]["contexts"] = None
    said = {"a": [SUPPORTED], "b": [SUPPORTED, ABSENT], "c": [], "d": None, "e": []}

    def script(sample: Any) -> Any:
        claims = said[sample.sample_id]
        return failed(sample.sample_id, "no reply") if claims is None else evidence(sample, claims)

    row = evaluated(rows, script).summary().loc["faithfulness"]
    counts = [row[f"n_{name}"] for name in ("ok", "not_applicable", "undefined", "error", "skipped", "total")]
    assert counts == [2, 1, 1, 1, 0, 5]
    assert row["mean"] == pytest.approx(0.75)
    assert row["low_bound"] == pytest.approx(1.5 / 4)
    assert row["high_bound"] == pytest.approx(3.5 / 4)


def test_no_data_is_no_number() -> None:
    row = evaluated([{**ROW, "contexts": None, "reference": None}]).summary().loc["faithfulness"]
    assert row["n_ok"] == 0
    assert all(math.isnan(row[name]) for name in ("mean", "low", "high", "low_bound", "high_bound"))
    assert row["meets_target"] is None


def test_the_interval_names_its_method() -> None:
    def said(sample: Any) -> Any:
        return evidence(sample, [SUPPORTED] * (1 + int(sample.sample_id) % 3) + [ABSENT])

    rows = [
        {**ROW, "sample_id": str(i), "question": f"Which {i}?", "must_include": ["this" if i else "other"]}
        for i in range(9)
    ]
    methods = evaluated(rows, said).summary()["method"]
    assert methods["faithfulness"] == "scripted; BCa bootstrap"
    assert methods["end_to_end_correct"].endswith("; Wilson")
    assert methods["context_relevance"] == "scripted", "a constant has no interval"


def test_above_5000_scores_the_interval_is_the_normal_one() -> None:
    from workbench.diagnosis.statistics import mean_interval

    values = np.arange(5001) % 7 / 6
    interval = mean_interval(values)
    assert interval.method == "normal"
    half = 1.959964 * values.std(ddof=1) / math.sqrt(5001)
    assert interval.high - values.mean() == pytest.approx(half)
    assert mean_interval(values[:5000]).method == "BCa bootstrap"


def test_a_target_out_of_reach_of_the_labels_is_neither_met_nor_missed() -> None:
    six = [f"d{i}" for i in range(1, 7)]
    contexts = [{"doc_id": name, "text": name} for name in six]
    summary = evaluated([{**ROW, "contexts": contexts, "expected_docs": six}], k=3, targets={"recall@3": 0.8}).summary()
    row = summary.loc["recall@3"]
    assert (row["mean"], row["target"], row["attainable"]) == (0.5, 0.8, 0.5)
    assert row["meets_target"] is None or row["meets_target"] != row["meets_target"]
    assert summary.loc["precision@3", "attainable"] == 1
    assert summary.loc["average_precision@3", "attainable"] == 0.5


def test_mixed_bases_of_relevance_are_summarised_apart() -> None:
    both = [{**ROW, "sample_id": "a"}, {**ROW, "sample_id": "b", "reference": None}]
    said = lambda sample: evidence(sample, relevance=[0.9 if sample.reference else 0.6] * 3)  # noqa: E731
    methods = evaluated(both, said).summary(intervals=False)["method"]
    assert methods["context_relevance"] == "scripted; relevance by question 0.600 (n = 1), by reference 0.900 (n = 1)"
    assert methods["faithfulness"] == methods["context_recall"] == "scripted"
    assert evaluated(both[:1], said).summary(intervals=False).loc["context_relevance", "method"] == "scripted"


# -- one number, only when asked ----------------------------------------------------------------------------------------


def test_overall_is_there_only_when_asked_for_and_no_bad_part_is_hidden() -> None:
    result = evaluated([ROW], lambda sample: evidence(sample, [SUPPORTED, ABSENT], [SUPPORTED]), metrics=None)
    assert "overall" not in result.scores() and "overall" not in evaluated([ROW]).scores()
    parts = {
        "faithfulness": 0.5,
        "answer_relevancy": 0.9,
        "context_precision": 1,
        "context_recall": 1,
        "answer_correctness": 0,
    }
    assert {name: result.scores().iloc[0][name] for name in parts} == pytest.approx(parts)
    expected = 0.3 * 0.5 + 0.2 * 0.9 + 0.15 * 1 + 0.2 * 1 + 0.15 * 0
    assert result.metric("overall").values[0] == pytest.approx(expected)


def test_overall_of_samples_with_different_formulas_is_never_averaged() -> None:
    rows = [{**ROW, "sample_id": "a"}, {**ROW, "sample_id": "b", "reference": None}]
    said = lambda sample: evidence(sample, [SUPPORTED], [SUPPORTED] if sample.reference else [])  # noqa: E731
    row = evaluated(rows, said, metrics=["overall"]).summary().loc["overall"]
    assert row["n_ok"] == 2
    assert math.isnan(row["mean"]) and math.isnan(row["low_bound"])
    assert row["method"].count("formula") == 2
    assert "formula faithfulness+answer_relevancy+context_precision;" in row["method"] + ";"
    assert evaluated(rows[:1], said, metrics=["overall"]).summary().loc["overall", "mean"] > 0


def test_overall_is_compared_only_under_one_formula() -> None:
    import workbench as wb

    rows = [{**ROW, "sample_id": "a"}, {**ROW, "sample_id": "b", "reference": None}]
    said = lambda sample: evidence(sample, [SUPPORTED], [SUPPORTED] if sample.reference else [])  # noqa: E731
    pairs = [wb.compare(*(evaluated(part, said, metrics=["overall"]) for _ in range(2))).tests().set_index("metric")
             for part in (rows, rows[:1])]  # fmt: skip
    assert [table.loc["overall", "n_pairs"] for table in pairs] == [0, 1]


def test_levels_by_value() -> None:
    from workbench.scoring.metrics import level

    assert [level(v) for v in (0.9, 0.89, 0.7, 0.69, 0.5, 0.49)] == [
        "excellent",
        "good",
        "good",
        "fair",
        "fair",
        "poor",
    ]
    assert level(NAN) is None
