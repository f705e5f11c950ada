"""Traps of refusals, citations and leaks that no other test shows."""

from __future__ import annotations

import pytest

from tests.scoring.test_metrics import CONTEXTS, claim, scored
from workbench.data.text.citations import find_citations


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [("One [1].", [1]), ("One [1,2].", [1, 2]), ("甲【3】。", [3]), ("甲【1，2】", [1, 2]), ("One [1][2]", [1, 2]),
     ("One [1-3].", [1, 2, 3]), ("No mark.", []), ("An array a[i].", [])],
)  # fmt: skip
def test_every_form_of_a_citation_is_read(answer: str, numbers: list[int]) -> None:
    assert [citation.number for citation in find_citations(answer)] == numbers


def test_a_bracketed_id_is_a_citation_whether_known_or_not() -> None:
    found = find_citations("A [doc-a#1], B [doc-zz#9], C [see below].", ["doc-a#1", "doc-b#2"])
    assert [citation.doc_id for citation in found] == ["doc-a#1", "doc-zz#9"]


def test_a_mark_is_mapped_to_its_document_and_its_support_tested() -> None:
    contexts = [{"doc_id": f"doc-a#{i}", "text": f"Text {i}."} for i in (1, 2, 3)]
    answer = {"answer": "First. [doc-a#1] Second.【2】 Third. [doc-a#9]", "contexts": contexts}
    said = [{**claim(0.9), "sentence": 0}, {**claim(0.9), "sentence": 1}, {**claim(0.9), "sentence": 2}]
    scores, _ = scored(answer, answer=said)
    assert scores["citation_validity"] == pytest.approx(2 / 3)
    assert scores["citation_precision"] == pytest.approx(1 / 3), "only the first supports its sentence"


def test_the_literal_mark_in_a_context_is_no_support() -> None:
    contexts = [{"doc_id": "d", "text": "See [1] for details."}]
    scores, _ = scored({"answer": "It is 5. [1]", "contexts": contexts}, answer=[{"entail": [0.0]}])
    assert scores["citation_validity"] == 1
    assert scores["citation_precision"] == 0


def test_marks_are_no_numbers_of_the_answer() -> None:
    assert scored({"answer": "It is this. [999]"})[1]["number_accuracy"] == "undefined"


@pytest.mark.parametrize("answer", ["没有相关信息，但是企业版支持 900 个会话。",
                                    "I found no information about this, but the plan allows 900 sessions."])  # fmt: skip
def test_a_refusal_phrase_with_an_invention_behind_it_is_no_refusal(answer: str) -> None:
    scores, _ = scored({"answer": answer, "expect_refusal": True})
    assert scores["refused"] == 0
    assert scores["refusal_correct"] == 0


def test_a_leak_counts_though_the_answer_refuses() -> None:
    contexts = [{"doc_id": "theirs", "text": "Their price is 48,000 euros.", "tenant": "b"}]
    row = {"tenant": "a", "contexts": contexts, "answer": "I cannot share that.", "expect_refusal": True}
    scores, _ = scored(row, answer=[])
    assert scores["refusal_correct"] == 1
    assert (scores["leaks"], scores["leaks_retrieved"], scores["leaks_answered"]) == (1, 1, 0)
    assert scores["end_to_end_correct"] == 0


def test_contexts_without_a_tenant_are_shared() -> None:
    assert scored({"tenant": "a", "contexts": CONTEXTS})[0]["leaks"] == 0
