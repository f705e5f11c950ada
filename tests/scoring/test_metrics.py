"""Every metric of the table on samples small enough to work out by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.scripted import ScriptedJudge, evidence, sample_set
from workbench.evaluation import Evaluation
from workbench.evidence.collect import collect
from workbench.evidence.judge import failed
from workbench.scoring.thresholds import Thresholds

CONTEXTS = [{"doc_id": f"d{i}", "text": f"Text number {i}."} for i in range(1, 4)]


def scored(row: dict[str, Any], *, thresholds: Thresholds | None = None, **said: Any) -> tuple[dict, dict]:
    """Scores and states of one sample with everything a judge said of it."""
    base = {"question": "What is it?", "answer": "It is this.", "contexts": CONTEXTS, "reference": "This."}
    judge = ScriptedJudge(lambda sample: evidence(sample, **said))
    result = Evaluation(collect(sample_set([{**base, **row}]), judge), thresholds, metrics="all")
    return result.scores().iloc[0].to_dict(), result.states().iloc[0].to_dict()


def claim(*entail: float, contradict: tuple[float, ...] = (), other: float = 0.0, **more: Any) -> dict[str, Any]:
    padded = [*entail, *[0.0] * (3 - len(entail))]
    return {"entail": padded, "contradict": [*contradict, *[0.0] * (3 - len(contradict))], "other": other, **more}


SUPPORTED, CONTRADICTED, UNSURE, ABSENT = claim(0.9), claim(0.1, contradict=(0.8,)), claim(0.3), claim(0.05)


def test_faithfulness_leaves_unsure_claims_out_and_shows_the_two_other_classes_apart() -> None:
    scores, _ = scored({}, answer=[SUPPORTED, SUPPORTED, CONTRADICTED, UNSURE, ABSENT])
    assert scores["faithfulness"] == pytest.approx(2 / 4)
    assert scores["contradiction_rate"] == pytest.approx(1 / 4)
    assert scores["not_mentioned_rate"] == pytest.approx(1 / 4)
    assert scores["hallucination_rate"] == pytest.approx(2 / 4)
    assert scores["unsure_share"] == pytest.approx(1 / 5)


def test_a_tie_between_support_and_contradiction_is_support() -> None:
    scores, _ = scored({}, answer=[claim(0.6, contradict=(0.6,)), claim(0.6, contradict=(0.61,))])
    assert scores["faithfulness"] == pytest.approx(1 / 2)
    assert scores["contradiction_rate"] == pytest.approx(1 / 2)


def test_sentences_count_only_when_all_their_claims_are_supported() -> None:
    scores, _ = scored({}, answer=[{**SUPPORTED, "sentence": 0}, {**ABSENT, "sentence": 0}, {**SUPPORTED, "sentence": 1}])
    assert scores["faithfulness"] == pytest.approx(2 / 3)
    assert scores["sentence_faithfulness"] == pytest.approx(1 / 2)


@pytest.mark.parametrize(
    ("row", "said", "state"),
    [
        ({}, {"answer": []}, "undefined"),
        ({}, {"answer": [UNSURE]}, "undefined"),
        ({"answer": None}, {"answer": []}, "undefined"),
        ({"contexts": None}, {"answer": [claim()]}, "not_applicable"),
    ],
)
def test_faithfulness_without_a_denominator_has_a_state_and_no_number(row: dict, said: dict, state: str) -> None:
    if row.get("contexts", 1) is None:
        said = {"answer": [{"entail": [], "contradict": []}]}
    scores, states = scored(row, **said)
    assert states["faithfulness"] == state
    assert math.isnan(scores["faithfulness"])


def test_context_precision_weighs_by_rank() -> None:
    contexts = [{"doc_id": f"d{i}", "text": f"t{i}"} for i in range(5)]
    row = {"contexts": contexts}
    # R R N R N: (1/1 + 2/2 + 3/4) / 3
    scores, _ = scored(row, relevance=[0.9, 0.8, 0.1, 0.7, 0.2])
    assert scores["context_precision"] == pytest.approx(0.9167, abs=5e-5)
    assert scores["context_relevant_share"] == pytest.approx(3 / 5)
    assert scores["context_relevance"] == pytest.approx(2.7 / 5)
    assert scored(row, relevance=[0.1] * 5)[0]["context_precision"] == 0
    assert scored({"contexts": []}, relevance=[])[1]["context_precision"] == "undefined"


def test_context_recall_counts_reference_claims_in_the_contexts() -> None:
    assert scored({}, reference=[SUPPORTED, ABSENT, CONTRADICTED])[0]["context_recall"] == pytest.approx(1 / 3)
    assert scored({"contexts": []}, reference=[])[0]["context_recall"] == 0
    assert scored({"reference": None})[1]["context_recall"] == "not_applicable"


def test_context_utilization_is_the_used_share_of_what_was_retrieved() -> None:
    retrieved_used, retrieved_unused = claim(0.9, other=0.9), claim(0.9, other=0.1)
    scores, _ = scored({}, reference=[retrieved_used, retrieved_unused, retrieved_unused, claim(0.0, other=0.9)])
    assert scores["context_utilization"] == pytest.approx(1 / 3)
    assert scored({}, reference=[ABSENT])[1]["context_utilization"] == "undefined"


def test_noise_is_what_the_contexts_support_and_the_reference_does_not() -> None:
    answer = [claim(0.9, other=0.9), claim(0.9, other=0.0), claim(0.0, 0.9, other=0.0), claim(0.0, other=0.9)]
    scores, _ = scored({}, answer=answer, relevance=[0.9, 0.1, 0.1])
    assert scores["noise_sensitivity"] == pytest.approx(2 / 4)
    assert scores["noise_sensitivity_relevant"] == pytest.approx(1 / 4)
    assert scores["noise_sensitivity_irrelevant"] == pytest.approx(1 / 4)
    assert scores["self_knowledge"] == pytest.approx(1 / 4)


def test_answer_correctness_is_the_f1_of_claims() -> None:
    answer = [claim(other=0.9), claim(other=0.9), claim(other=0.1)]
    reference = [claim(other=0.9), claim(other=0.1)]
    scores, _ = scored({}, answer=answer, reference=reference)
    p, q = 2 / 3, 1 / 2
    assert scores["answer_correctness_precision"] == pytest.approx(p)
    assert scores["answer_correctness_recall"] == pytest.approx(q)
    assert scores["answer_correctness"] == pytest.approx(2 * p * q / (p + q))
    assert scored({}, answer=[claim()], reference=[claim()])[0]["answer_correctness"] == 0
    assert scored({"reference": None}, answer=[claim()])[1]["answer_correctness"] == "not_applicable"


def test_key_points_respect_number_boundaries_and_alternatives() -> None:
    row = {"answer": "最多 5000 个并发会话。", "must_include": ["500", ["并发", "会话数"]], "must_not_include": ["不限量"]}
    scores, states = scored(row)
    assert scores["key_point_coverage"] == pytest.approx(1 / 2)
    assert scores["forbidden_hits"] == 0
    assert states["key_point_grounding"] == "ok"
    assert scores["key_point_grounding"] == 0  # the point that is made stands in no context


def test_numbers_of_the_answer_are_looked_for_in_the_contexts_unless_the_question_has_them() -> None:
    row = {
        "question": "What do 3 seats cost?", "answer": "3 seats cost 1,500 yuan, with 20 GB each.",
        "contexts": [{"doc_id": "d", "text": "Seats cost 1500 yuan."}],
    }  # fmt: skip
    assert scored(row)[0]["number_accuracy"] == pytest.approx(1 / 2)


def test_citations_resolve_support_and_cover() -> None:
    row = {"answer": "One holds. [1] Two holds not. [2] Three. [9]"}
    answer = [{**claim(0.9), "sentence": 0}, {**claim(0.9, 0.1), "sentence": 1}, {**ABSENT, "sentence": 2}]
    scores, _ = scored(row, answer=answer)
    assert scores["citation_validity"] == pytest.approx(2 / 3)
    assert scores["citation_precision"] == pytest.approx(1 / 3)
    assert scores["citation_recall"] == pytest.approx(1 / 3)


def test_a_refusal_needs_that_nothing_is_still_claimed() -> None:
    refusal = {"answer": "抱歉，知识库中没有相关信息。", "expect_refusal": True}
    assert scored(refusal)[0]["refusal_correct"] == 1
    hedged = {"answer": "没有相关信息，但是企业版最多支持 900 个会话。", "expect_refusal": True}
    scores, _ = scored(hedged)
    assert scores["refused"] == 0
    assert scores["refusal_correct"] == 0
    assert scores["end_to_end_correct"] == 0


def test_refusing_over_useless_contexts_is_no_over_refusal() -> None:
    row = {"answer": "I could not find this in the documents.", "expect_refusal": False}
    assert scored({**row, "expected_docs": ["d9"]})[0]["over_refusal"] == 0
    assert scored({**row, "expected_docs": ["d1"]})[0]["over_refusal"] == 1


def test_leaks_count_distinct_foreign_documents_in_each_place() -> None:
    contexts = [
        {"doc_id": "own", "text": "Ours.", "tenant": "a"},
        {"doc_id": "shared", "text": "Everyone's."},
        {"doc_id": "b1", "text": "The secret price of tenant B is 48,000 euros for the first contract year.", "tenant": "b"},
        {"doc_id": "b2", "text": "Other.", "tenant": "b", "prompted": False},
    ]
    row = {"tenant": "a", "contexts": contexts,
           "answer": "The secret price of tenant B is 48,000 euros for the first contract year [3]."}  # fmt: skip
    scores, _ = scored(row)
    assert [scores[f"leaks_{p}"] for p in ("retrieved", "prompted", "cited", "answered")] == [2, 1, 1, 1]
    assert scores["leaks"] == 2
    assert scores["end_to_end_correct"] == 0
    assert scored({**row, "tenant": None})[1]["leaks"] == "not_applicable"


def test_end_to_end_needs_every_part() -> None:
    row = {"answer": "It is 500.", "must_include": ["500"]}
    assert scored(row)[0]["end_to_end_correct"] == 1
    assert scored({**row, "must_include": ["500", "600"]})[0]["end_to_end_correct"] == 0
    assert scored({**row, "must_not_include": ["500"]})[0]["end_to_end_correct"] == 0
    assert scored({**row, "answer": None, "error": "timeout"})[0]["end_to_end_correct"] == 0


def test_end_to_end_by_reference_needs_a_right_answer_and_no_contradiction() -> None:
    good = {"answer": [claim(0.9, other=0.9)], "reference": [claim(0.9, other=0.9)], "answer_right": 0.9}
    assert scored({}, **good)[0]["end_to_end_correct"] == 1
    assert scored({}, **good)[0]["answer_right"] == 0.9
    assert scored({}, **{**good, "answer_right": 0.2})[0]["end_to_end_correct"] == 0
    against = {**good, "answer": [claim(0.9, other=0.9), claim(0.9, other=0.1, other_contradict=0.8)]}
    assert scored({}, **against)[0]["end_to_end_correct"] == 0


def test_self_consistency_counts_pairs() -> None:
    said = {"answer": [SUPPORTED] * 3, "conflicts": [(0, 1, 0.9), (0, 2, 0.2)]}
    assert scored({}, **said)[0]["self_consistency"] == pytest.approx(1 - 1 / 3)
    assert scored({}, answer=[SUPPORTED])[1]["self_consistency"] == "undefined"


def test_support_counts_only_prompted_contexts() -> None:
    contexts = [{**CONTEXTS[0], "prompted": False}, *CONTEXTS[1:]]
    assert scored({"contexts": contexts}, answer=[claim(0.9)])[0]["faithfulness"] == 0


def test_a_missing_verdict_is_an_error_unless_it_can_change_nothing() -> None:
    nan = float("nan")
    assert scored({}, answer=[claim(1.0, nan)])[0]["faithfulness"] == 1
    scores, states = scored({}, answer=[claim(0.2, nan), claim(1.0)])
    assert states["faithfulness"] == "judge_error"
    assert math.isnan(scores["faithfulness"])


def test_a_failed_judgement_is_never_a_number() -> None:
    samples = sample_set([{"question": "q", "answer": "a", "contexts": CONTEXTS, "reference": "r", "expected_docs": ["d1"]}])
    result = Evaluation(collect(samples, ScriptedJudge(lambda s: failed(s.sample_id, "no reply after 3 tries"))))
    states = result.states().iloc[0]
    assert states["faithfulness"] == states["answer_correctness"] == states["context_precision"] == "judge_error"
    assert states["recall@5"] == "ok"
    assert result.errors().to_dict("records") == [
        {"sample_id": "0", "state": "judge_error", "reason": "no reply after 3 tries"}
    ]


def test_without_a_judge_only_what_needs_one_is_skipped() -> None:
    samples = sample_set([{"question": "q", "answer": "It is 5.", "contexts": CONTEXTS, "must_include": ["5"]}])
    states = Evaluation(collect(samples, None)).states().iloc[0]
    assert states["faithfulness"] == "skipped"
    assert states["key_point_coverage"] == states["refused"] == states["end_to_end_correct"] == "ok"


def test_unreadable_fields_are_input_errors() -> None:
    samples = sample_set([{"question": "q", "answer": "a", "contexts": None, "expected_docs": ["d"]}])
    samples.attributes["input_errors"] = {"contexts": {"0": "not a list"}}
    result = Evaluation(collect(samples, ScriptedJudge(evidence)))
    assert result.states().iloc[0]["recall@5"] == "input_error"
    assert result.errors().iloc[0]["reason"] == "contexts: not a list"


def test_perplexity_from_recorded_log_probabilities() -> None:
    scores, _ = scored({"logprobs": [math.log(0.5), math.log(0.25)]})
    assert scores["answer_perplexity"] == pytest.approx(8**0.5)


def test_a_target_beyond_what_the_data_allow_is_neither_met_nor_missed() -> None:
    samples = sample_set([{"question": "q", "answer": "a", "contexts": CONTEXTS, "expected_docs": ["d1"]}])
    targets = Thresholds(targets={"precision@5": 0.7})
    row = Evaluation(collect(samples, None), targets).summary().loc["precision@5"]
    assert row["target"] == 0.7
    assert row["attainable"] == pytest.approx(0.2)
    assert row["meets_target"] is None or row["meets_target"] != row["meets_target"]
