"""Panel 07 without a kernel: the cut changes counts and picture, verdict and severity filter, pins are kept."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.scripted import ScriptedJudge, evidence, sample_set
from workbench.diagnosis.hallucinations import citation_rows, clean_bound, hallucinated_claims, verdict_counts
from workbench.evaluation import Evaluation
from workbench.evidence.collect import collect
from workbench.language import get_language, set_language

CONTEXTS = [{"doc_id": "a", "text": "A."}, {"doc_id": "b", "text": "B."}]


def claim(entail: float, contradict: float = 0.0, **more):
    return {"entail": [entail, 0.0], "contradict": [contradict, 0.0], **more}


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    rows = [
        {"sample_id": "good", "question": "q1", "answer": "One. [1]", "contexts": CONTEXTS},
        {"sample_id": "bad", "question": "q2", "answer": "Two. [2] Three. [7]", "contexts": CONTEXTS},
    ]
    said = {
        "q1": [claim(0.9), claim(0.3)],
        "q2": [
            {**claim(0.1, 0.9), "sentence": 0},
            {**claim(0.02, kinds=["entity"]), "sentence": 1},
            claim(0.03, sentence=1),
        ],
    }
    return Evaluation(collect(sample_set(rows), ScriptedJudge(lambda s: evidence(s, said[s.question]))), name="made up")


@pytest.fixture
def panel(evaluation, tmp_path):
    before = get_language()
    set_language("en")
    yield wb.panels.hallucinations(wb.Session(evaluation, tmp_path))
    set_language(before)


def test_claims_are_listed_worst_first_with_their_severity(evaluation) -> None:
    rows = hallucinated_claims(evaluation)
    assert rows["verdict"].tolist() == ["contradicted", "not_mentioned", "not_mentioned", "unsure"]
    assert rows["severity"].tolist()[:3] == ["high", "medium", "low"]
    counts = verdict_counts(evaluation)
    assert counts["n"].to_dict() == {"supported": 1, "contradicted": 1, "not_mentioned": 2, "unsure": 1}


def test_citations_say_what_is_wrong_with_them(evaluation) -> None:
    rows = citation_rows(evaluation)
    assert rows[["mark", "state"]].to_numpy().tolist() == [
        ["[7]", "unresolved"], ["[2]", "not_supporting"], ["[1]", "supporting"],
    ]  # fmt: skip


def test_the_cut_moves_counts_and_picture(panel) -> None:
    words, image = panel.count.value, panel.picture.image.value
    assert "3 of 5 claims have no support (60 %), 1 of them contradict the contexts; 1 more are unsure" in words
    panel.cut.value = 0.95
    assert panel.session.thresholds.support == 0.95
    assert panel.count.value != words
    assert panel.picture.image.value != image
    assert panel.error.layout.display == "none"


def test_verdict_and_severity_filter_the_list_and_the_card(panel) -> None:
    panel.verdict.value = "unsure"
    assert panel.table()["sample_id"].tolist() == ["good"]
    assert panel.session.selection == "good"
    panel.verdict.value, panel.severity.value = "", "high"
    assert panel.table()["verdict"].tolist() == ["contradicted"]
    panel.verdict.value = "unsure"
    assert "No claim matches" in panel.card.body.value


def test_a_pin_is_kept(panel) -> None:
    panel.card.pin.click()
    finding = panel.session.findings[-1]
    assert finding.value == pytest.approx(3 / 5)
    assert finding.low < 3 / 5 < finding.high


def test_without_claims_it_says_what_is_missing(tmp_path) -> None:
    plain = Evaluation(collect(sample_set([{"question": "q", "answer": "a", "contexts": CONTEXTS}]), None))
    assert (
        "score the recording with a judge" in wb.panels.hallucinations(wb.Session(plain, tmp_path)).html()._repr_html_()
    )


def test_what_no_leak_found_means() -> None:
    assert clean_bound(59) == pytest.approx(0.0495, abs=1e-3)
    assert clean_bound(0) != clean_bound(0)


def test_each_claim_is_a_row_that_shows_its_sample(panel) -> None:
    session, view = panel.session, lambda: panel.rows.view
    assert [row[0][0] for row in view()["rows"]] == ["bad", "bad", "bad", "good"]
    assert (session.selection, view()["current"]) == ("bad", 0) and "claim 1 of 4" in panel.stepper.position.value
    panel.stepper.next.click()
    assert (session.selection, view()["current"]) == ("bad", 1)
    panel.rows.receive({"do": "go", "at": 3})
    assert (session.selection, view()["current"]) == ("good", 3) and panel.ids() == ["bad", "good"]
    assert "wb-current" in panel.citations._body.value


def test_a_part_of_a_bar_lists_its_claims(panel) -> None:
    keys = [one["key"] for one in panel.picture.overlay.regions]
    assert ["contradicted", "high"] in keys and ["unsure", ""] in keys
    panel.picture.receive({"do": "click", "key": ["not_mentioned", "medium"]})
    assert panel.verdict.value == "not_mentioned" and panel.table()["severity"].tolist() == ["medium"]
    panel.picture.receive({"do": "click", "key": ["not_mentioned", "medium"]})
    assert len(panel.table()) == 4
