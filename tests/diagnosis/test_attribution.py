"""Causes: subtle pairs with scripted evidence, and known faults put into known-good samples under the offline judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import workbench as wb
from tests.diagnosis import faults
from tests.scripted import ScriptedJudge, evidence, sample_set
from workbench.data.schema import Corpus
from workbench.diagnosis.causes import cause_names
from workbench.evaluation import Evaluation
from workbench.evidence.collect import collect
from workbench.language import set_language

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"

GOOD = {"entail": [0.95, 0.0], "contradict": [0.0, 0.0], "other": 0.95}
CONTEXTS = [{"doc_id": "right", "text": "The plan allows 500 sessions."}, {"doc_id": "other", "text": "Mail us any time."}]
BASE = {
    "question": "How many sessions?", "answer": "The plan allows 500 sessions.", "contexts": CONTEXTS,
    "reference": "500 sessions", "expected_docs": ["right"], "must_include": ["500"], "expect_refusal": False,
}  # fmt: skip


def failure(row: dict[str, Any] | None = None, corpus: Corpus | None = None, **said: Any) -> pd.Series:
    samples = sample_set([{**BASE, **(row or {})}, {**BASE, "sample_id": "control", "question": "How many sessions, please?"}])

    def script(sample: Any) -> Any:
        if sample.sample_id == "control":
            return evidence(sample, [GOOD], [GOOD])
        return evidence(sample, **{"answer": [GOOD], "reference": [GOOD], **said})

    return Evaluation(collect(samples, ScriptedJudge(script), corpus=corpus)).failures().iloc[0]


def claim(*entail: float, contradict: tuple[float, ...] = (0.0, 0.0), **more: Any) -> dict[str, Any]:
    return {"entail": list(entail), "contradict": list(contradict), **more}


def test_the_base_passes() -> None:
    row = failure()
    assert row["primary_cause"] == "pass"
    assert row["causes"] == []


def test_refusing_over_useless_contexts_is_a_retrieval_miss() -> None:
    row = failure({"contexts": CONTEXTS[1:], "answer": "I could not find this in the documents."}, answer=[], reference=[])
    assert row["primary_cause"] == "retrieval_miss"
    assert row["refusal_outcome"] == "right_refusal"


def test_refusing_over_the_right_contexts_is_a_wrong_refusal() -> None:
    row = failure({"answer": "I could not find this in the documents."}, answer=[])
    assert row["primary_cause"] == "wrong_refusal"
    assert row["refusal_outcome"] == "wrong_refusal"


def test_following_an_altered_document_is_faithful_but_wrong() -> None:
    contexts = [{**CONTEXTS[0], "text": "The plan allows 400 sessions."}, CONTEXTS[1]]
    row = failure(
        {"contexts": contexts, "answer": "The plan allows 400 sessions."},
        answer=[claim(0.95, 0.0, other=0.05, other_contradict=0.9, kinds=["number"])],
        reference=[claim(0.05, 0.0, contradict=(0.9, 0.0), other=0.05, other_contradict=0.9)],
    )
    assert row["primary_cause"] == "faithful_but_wrong"
    assert "hallucination" not in row["causes"]


def test_an_altered_twin_instead_of_the_expected_document_is_both() -> None:
    contexts = [{"doc_id": "twin", "text": "The plan allows 400 sessions."}, CONTEXTS[1]]
    row = failure(
        {"contexts": contexts, "answer": "The plan allows 400 sessions."},
        answer=[claim(0.95, 0.0, other=0.05, other_contradict=0.9)],
        reference=[claim(0.05, 0.0, contradict=(0.9, 0.0), other=0.05, other_contradict=0.9)],
    )
    assert row["primary_cause"] == "retrieval_miss"
    assert {"retrieval_miss", "faithful_but_wrong"} <= set(row["causes"])


def test_the_second_of_two_needed_documents_missing_is_retrieval() -> None:
    row = failure({"expected_docs": ["right", "second"], "must_include": ["500", "30 days"]})
    assert row["primary_cause"] == "retrieval_miss"


def test_any_of_two_alternatives_is_enough() -> None:
    assert failure({"expected_docs": [["right", "second"]]})["primary_cause"] == "pass"


def test_a_proper_refusal_over_a_foreign_document_is_still_a_leak() -> None:
    contexts = [{"doc_id": "x", "text": "Theirs.", "tenant": "b"}]
    row = failure({"tenant": "a", "contexts": contexts, "answer": "I cannot share that.", "expect_refusal": True,
                   "expected_docs": [], "must_include": None, "reference": None}, answer=[], reference=[])  # fmt: skip
    assert row["primary_cause"] == "permission_leak"


def test_a_point_cut_by_a_chunk_edge_is_split_evidence() -> None:
    halves = [
        {"doc_id": "right", "text": "The plan allows 500 concurrent", "position": 1, "metadata": {"source": "plan"}},
        {"doc_id": "right2", "text": "sessions in all regions.", "position": 2, "metadata": {"source": "plan"}},
    ]
    row = {"contexts": halves, "must_include": ["500 concurrent sessions"], "answer": "The plan allows sessions."}
    assert failure(row, answer=[claim(0.9, 0.0)])["primary_cause"] == "split_evidence"
    made = {**row, "answer": "The plan allows 500 concurrent sessions."}
    assert failure(made)["primary_cause"] == "pass"


def test_a_neighbour_that_only_the_corpus_has_is_split_evidence_too() -> None:
    chunks = [{"doc_id": "right", "text": "The plan allows 500 concurrent", "source": "plan", "position": 1},
              {"doc_id": "right2", "text": "sessions in all regions.", "source": "plan", "position": 2}]  # fmt: skip
    contexts = [{**chunks[0], "metadata": {"source": "plan"}}]
    row = {"contexts": contexts, "must_include": ["500 concurrent sessions"], "answer": "The plan allows sessions."}
    said = {"answer": [{"entail": [0.9], "contradict": [0.0]}], "reference": []}
    corpus = wb.load_corpus(chunks)
    assert failure({**row, "expected_docs": ["right"]}, corpus, **said)["primary_cause"] == "split_evidence"
    assert failure({**row, "expected_docs": ["right", "right2"]}, corpus, **said)["primary_cause"] == "split_evidence"


def test_a_point_that_is_dropped_though_retrieved_is_an_omission() -> None:
    row = failure({"answer": "The plan allows sessions."}, answer=[claim(0.9, 0.0, other=0.5)])
    assert row["primary_cause"] == "omission"
    assert "500" in row["evidence"] and "right" in row["evidence"]


def test_an_answer_about_something_else_is_off_topic_where_it_rests_on_the_expected_document() -> None:
    row = failure({"answer": "Mail us any time."}, answer=[claim(0.95, 0.0)], relevancy=0.1)
    assert row["primary_cause"] == "off_topic"
    elsewhere = failure({"answer": "Mail us any time."}, answer=[claim(0.0, 0.95)], relevancy=0.1)
    assert elsewhere["primary_cause"] == "distracted", "what the answer rests on decides"


def test_an_answer_that_keeps_to_the_question_and_differs_is_wrong_answer_where_nothing_says_why() -> None:
    row = {"contexts": None, "expected_docs": None, "must_include": None}
    found = failure(row, answer=[{"other": 0.1}], reference=[{"other": 0.1}], answer_right=0.1, relevancy=0.9)
    assert (found["primary_cause"], found["causes"]) == ("wrong_answer", ["wrong_answer"])
    said = {"answer": [{"other": 0.1}], "reference": [{"other": 0.1}], "answer_right": 0.1, "relevancy": 0.1}
    assert failure(row, **said)["primary_cause"] == "off_topic"


def test_a_value_from_a_document_that_is_not_expected_is_distracted() -> None:
    contexts = [*CONTEXTS[:1], {"doc_id": "old", "text": "The plan allows 300 sessions."}]
    said = [claim(0.05, 0.95, contradict=(0.9, 0.0), other=0.05, other_contradict=0.9, kinds=["number"])]
    row = failure({"contexts": contexts, "answer": "The plan allows 300 sessions."}, answer=said)
    assert row["primary_cause"] == "distracted"
    assert "old" in row["evidence"]


def test_an_invented_number_is_hallucination_and_an_unsure_claim_is_not() -> None:
    invented = failure(answer=[GOOD, claim(0.05, 0.0, kinds=["number"])])
    assert invented["primary_cause"] == "hallucination"
    assert failure(answer=[GOOD, claim(0.3, 0.0, kinds=["number"])])["primary_cause"] == "pass"
    assert failure(answer=[GOOD, GOOD, GOOD, claim(0.05, 0.0)])["primary_cause"] == "pass", "low severity, faithful enough"


def test_not_indexed_needs_a_corpus_without_all_expected_documents() -> None:
    corpus = wb.load_corpus([{"doc_id": "other", "text": "Mail us any time."}])
    row = {"contexts": CONTEXTS[1:], "answer": "It allows 700 sessions."}
    said = {"answer": [{"entail": [0.0], "contradict": [0.0], "kinds": ["number"]}], "reference": []}
    assert failure(row, corpus, **said)["primary_cause"] == "not_indexed"
    assert failure(row, None, **said)["primary_cause"] == "retrieval_miss"


def test_a_set_without_answers_fails_by_recall() -> None:
    rows = [{"question": "q", "contexts": CONTEXTS, "expected_docs": [d]} for d in ("right", "gone")]
    failures = Evaluation(collect(sample_set(rows), None)).failures()
    assert failures["primary_cause"].tolist() == ["pass", "retrieval_miss"]


def test_nothing_but_question_and_answer_is_not_checked() -> None:
    row = Evaluation(collect(sample_set([{"question": "q", "answer": "It is so."}]), None)).failures().iloc[0]
    assert row["passed"] is None
    assert row["primary_cause"] == "not_checked"
    assert {"contexts", "reference"} <= set(row["unchecked"])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_cause_has_a_name_advice_and_evidence_in_both_languages(language: str) -> None:
    from workbench.language import get_language, text

    before = get_language()
    set_language(language)
    try:
        for cause in cause_names():
            assert text(f"causes.{cause}.name")
            assert text(f"causes.{cause}.advice")
        row = failure({"answer": None, "error": "boom"}, answer=[])
        assert "boom" in row["evidence"]
    finally:
        set_language(before)


def judged(rows: list[dict[str, Any]], corpus: Any) -> Evaluation:
    return wb.evaluate(rows, corpus=corpus, judge="offline", encoder="none", progress=False)


def confusion(bases: list[dict[str, Any]], per_cause: int) -> pd.DataFrame:
    """One row an injected sample: language, true and found cause. Bases are first filtered to those that pass.

    The rules were tuned while looking at this draw (seed 0), so this guards against getting worse; it is no estimate of
    how they do elsewhere. A fresh draw of CLAPnq gave .96 overall and .80 for the weakest causes.
    """
    corpus = wb.load_corpus(faults.corpus_of(bases))
    passing = judged(bases, corpus).failures()
    kept = [b for b in bases if passing.loc[str(b["sample_id"]), "primary_cause"] == "pass"]
    assert len(kept) >= 0.85 * len(bases), passing["primary_cause"].value_counts().to_dict()
    items = list(faults.injected(kept, per_cause))
    found = judged([row for _, row in items], corpus).failures()
    frame = pd.DataFrame([(row["sample_id"], faults.language(row["question"]), cause) for cause, row in items],
                         columns=["sample_id", "language", "true"]).set_index("sample_id")  # fmt: skip
    frame["found"] = found.loc[frame.index, "primary_cause"]
    return frame


def check(frame: pd.DataFrame) -> None:
    """All causes but ``off_topic``, which is read from the relevancy alone: by words, as here, an answer that shares the
    question's words still seems to address it, so that it is called an omission."""
    hits = frame["true"] == frame["found"]
    table = pd.crosstab([frame["language"], frame["true"]], frame["found"]).to_string()
    other = frame["true"] != "off_topic"
    assert (hits[other].groupby(frame["language"][other]).mean() >= 0.95).all(), table
    by_cause = hits[other].groupby(frame["true"][other]).agg(["mean", "size"])
    assert (by_cause.loc[by_cause["size"] >= 8, "mean"] >= 0.8).all(), table
    assert hits[~other].mean() >= 0.3 and not frame["found"][~other].isin(["retrieval_miss", "not_indexed"]).any(), table


def test_injected_faults_of_the_sample_data_are_named() -> None:
    frame = confusion(faults.sample_bases(), 12)
    assert set(frame["true"]) == set(cause_names()) - {"unexplained", "wrong_answer"}
    check(frame)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the research data is not part of the repository")
@pytest.mark.parametrize("source", ["en", "zh", "clapnq"])
def test_injected_faults_of_research_data_are_named(source: str) -> None:
    if source == "clapnq":
        check(confusion(faults.clapnq_bases(SHARED / "clapnq", 150), 15))
    else:
        check(confusion(faults.xquad_bases(SHARED / "xquad", source, 200), 12))


def test_every_contributing_cause_has_its_sentence() -> None:
    samples = sample_set([{**BASE, "answer": "The plan allows 900 sessions. [7]"}])
    judge = ScriptedJudge(lambda s: evidence(s, [claim(0.0, 0.0, contradict=(0.9, 0.0), kinds=["number"])], [GOOD]))
    causes = Evaluation(collect(samples, judge)).causes
    sentences = causes.explanations(0)
    assert next(iter(sentences)) == "contradiction"
    assert {"contradiction", "bad_citation", "omission"} <= set(sentences)
    assert all(sentences.values())
