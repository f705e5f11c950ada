"""Conditions of the causes that the subtle pairs of test_attribution leave out: each on one sample."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from tests.diagnosis.test_attribution import BASE, CONTEXTS, GOOD, claim, failure
from tests.scripted import ScriptedJudge, evidence, sample_set
from workbench.diagnosis.causes import cause_names
from workbench.evaluation import Evaluation
from workbench.evidence.collect import collect
from workbench.evidence.judge import failed

REFUSAL = "I could not find this in the documents."
NO_POINTS = {"must_include": None}


def test_the_chain_is_in_the_order_of_the_definition() -> None:
    assert cause_names() == (
        "permission_leak", "no_answer", "not_indexed", "retrieval_miss", "split_evidence", "missing_refusal",
        "wrong_refusal", "distracted", "contradiction", "hallucination", "omission", "faithful_but_wrong", "wrong_answer",
        "off_topic", "bad_citation", "format", "unexplained",
    )  # fmt: skip


def test_a_banned_document_is_a_red_line_though_the_answer_is_right() -> None:
    row = failure({"must_not_retrieve": ["oth*"]})
    assert (row["primary_cause"], row["confidence"]) == ("permission_leak", 1)


def test_an_error_counts_as_no_answer_though_there_is_text() -> None:
    assert failure({"error": "time-out"})["primary_cause"] == "no_answer"
    assert failure({"answer": None}, answer=[])["primary_cause"] == "no_answer"
    assert failure({"answer": "  "}, answer=[])["primary_cause"] == "no_answer"


def test_an_expected_document_that_was_not_prompted_is_missed() -> None:
    contexts = [{**CONTEXTS[0], "prompted": False}, CONTEXTS[1]]
    row = failure(
        {"contexts": contexts, "answer": "It allows 700 sessions."}, answer=[claim(0.0, 0.0, kinds=["number"])]
    )
    assert row["primary_cause"] == "retrieval_miss"


def test_a_missed_document_alone_fails_no_right_answer() -> None:
    """Only the key point counts: it is made and supported, though one expected document never came."""
    row = failure({"expected_docs": ["right", "gone"]})
    assert (row["primary_cause"], row["causes"]) == ("pass", [])


@pytest.mark.parametrize(("expected", "cause"), [(None, "retrieval_miss"), ([], "hallucination")])
def test_without_expected_documents_the_support_of_the_reference_tells(expected: Any, cause: str) -> None:
    row = {"expected_docs": expected, "answer": "It allows 700 sessions.", **NO_POINTS}
    said = {"answer": [claim(0.0, 0.0, kinds=["number"])], "reference": [claim(0.05, 0.0)]}
    found = failure(row, **said)
    assert found["primary_cause"] == cause
    assert ("retrieval_miss" in found["causes"]) is (expected is None)


def test_without_expected_documents_a_key_point_that_stands_nowhere_is_a_miss() -> None:
    row = {"expected_docs": None, "must_include": ["800"], "reference": None, "answer": "It allows sessions."}
    assert failure(row, answer=[claim(0.9, 0.0)], reference=[])["primary_cause"] == "retrieval_miss"


def test_where_a_refusal_is_expected_nothing_is_a_retrieval_miss() -> None:
    row = {"expect_refusal": True, "expected_docs": ["gone"], "answer": "It allows 500 sessions."}
    found = failure(row)
    assert found["primary_cause"] == "missing_refusal"
    assert "retrieval_miss" not in found["causes"]
    assert failure({**row, "answer": REFUSAL}, answer=[])["primary_cause"] == "pass"


def test_a_refusal_over_nothing_to_retrieve_is_no_miss() -> None:
    row = {"expected_docs": [], "answer": REFUSAL}
    assert failure(row, answer=[])["primary_cause"] == "wrong_refusal"


def test_a_claim_against_the_contexts_is_a_contradiction() -> None:
    against = claim(0.05, 0.0, contradict=(0.93, 0.0), other=0.4)
    row = failure({"answer": "500 sessions, 900 users."}, answer=[GOOD, against])
    assert row["primary_cause"] == "contradiction"
    assert row["confidence"] == pytest.approx(0.93)
    assert "right" in row["evidence"]


def test_low_faithfulness_without_a_serious_claim_is_hallucination() -> None:
    assert failure(answer=[GOOD, claim(0.05, 0.0)])["primary_cause"] == "hallucination"


def test_a_dropped_reference_claim_is_an_omission_where_there_are_no_key_points() -> None:
    reference = [GOOD, claim(0.9, 0.0, other=0.05), claim(0.9, 0.0, other=0.05)]
    assert failure(NO_POINTS, reference=reference, answer_right=0.2)["primary_cause"] == "omission"
    assert failure(NO_POINTS, reference=reference, answer_right=0.8)["primary_cause"] == "pass"


def test_a_citation_that_resolves_to_nothing_and_one_that_supports_nothing() -> None:
    for mark in ("[9]", "[2]", "[gone]"):
        row = failure({"answer": f"The plan allows 500 sessions. {mark}"})
        assert row["primary_cause"] == "bad_citation", mark
    assert failure({"answer": "The plan allows 500 sessions. [1]"})["primary_cause"] == "pass"


@pytest.mark.parametrize(
    "answer", ['{"answer": "The plan allows 500 sessions."}', "The plan allows 500 sessions and the"]
)
def test_a_broken_form_is_format(answer: str) -> None:
    assert failure({"answer": answer})["primary_cause"] == "format"


def test_what_fails_for_none_of_the_reasons_is_unexplained_with_confidence_0() -> None:
    row = failure({"must_not_include": ["sessions"]})
    assert (row["primary_cause"], row["confidence"]) == ("unexplained", 0)


def test_a_failed_judgement_blames_no_one() -> None:
    rows = [{**BASE, **NO_POINTS}]
    judge = ScriptedJudge(lambda sample: failed(sample.sample_id, "no reply"))
    row = Evaluation(collect(sample_set(rows), judge)).failures().iloc[0]
    assert row["primary_cause"] == "not_checked"
    assert "claims" in row["unchecked"]


def test_a_sample_without_any_expectation_fails_only_on_what_its_texts_show() -> None:
    bare = {"question": "q", "answer": "It allows 500 sessions.", "contexts": CONTEXTS}
    said = lambda claims: ScriptedJudge(lambda sample: evidence(sample, claims))  # noqa: E731
    causes = [Evaluation(collect(sample_set([bare]), said(claims))).failures().iloc[0]["primary_cause"]
              for claims in ([GOOD], [claim(0.0, 0.0, kinds=["number"])])]  # fmt: skip
    assert causes == ["pass", "hallucination"]


def test_labels_of_documents_count_for_causes_too() -> None:
    contexts = [{**CONTEXTS[0], "doc_id": "c1", "metadata": {"source": "plan"}}, CONTEXTS[1]]
    rows = [{**BASE, "contexts": contexts, "expected_docs": ["plan"], "answer": "It allows sessions."}]
    judge = ScriptedJudge(lambda sample: evidence(sample, [claim(0.9, 0.0, other=0.4)], [GOOD]))
    found = collect(sample_set(rows), judge)
    causes = [
        Evaluation(found, wb.Thresholds(match=match)).failures().iloc[0]["primary_cause"]
        for match in ("document", "chunk")
    ]
    assert causes == ["omission", "retrieval_miss"]
