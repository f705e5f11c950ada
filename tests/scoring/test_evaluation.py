"""An evaluation is a collection of samples, each of which is an evaluation of its own."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import workbench as wb
from tests.two_runs import case, run
from workbench.errors import InputError
from workbench.evaluation import Evaluation, load_evaluation

SAVED = Path(__file__).resolve().parents[2] / "sample_data" / "support" / "evaluations" / "baseline"
TABLES = ("scores", "states", "failures")
ROWS = ("claims", "contexts", "support", "spans", "errors")


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return wb.load_evaluation(SAVED, metrics="all")


def assert_same(one: pd.DataFrame, whole: pd.DataFrame) -> None:
    """Equal values; a column without any has no type of its own."""
    plain = [frame.astype(object).where(frame.notna(), None) for frame in (one, whole)]
    pd.testing.assert_frame_equal(*plain, check_exact=True)


def test_one_sample_is_what_it_is_in_the_whole(evaluation: Evaluation) -> None:
    """Before anything was computed for all, after it, and under other thresholds."""
    fresh = wb.load_evaluation(SAVED, metrics="all")
    strict = evaluation.thresholds.replace(support=0.8, k=3)
    whole = {name: getattr(evaluation, name)() for name in (*TABLES, *ROWS)}
    moved = evaluation.with_thresholds(strict).failures()
    for sample_id in evaluation.evidence.ids[::23]:
        for one in (fresh.one(sample_id), evaluation.one(sample_id)):
            for name in TABLES:
                assert_same(getattr(one, name)(), whole[name].loc[[sample_id]])
            for name in ROWS:
                rows = whole[name][whole[name]["sample_id"] == sample_id].reset_index(drop=True)
                assert_same(getattr(one, name)().reset_index(drop=True), rows)
        assert_same(one.with_thresholds(strict).failures(), moved.loc[[sample_id]])


def test_a_missing_answer_is_a_failure_in_a_set_with_answers_even_alone() -> None:
    whole = run([case("a"), case("b", None)])
    assert whole["b"].failures()["primary_cause"].tolist() == ["no_answer"]
    assert run([case("b", None)])["b"].failures()["primary_cause"].tolist() == ["pass"]


def test_it_is_iterated_indexed_and_counted(evaluation: Evaluation) -> None:
    small = run([case("a"), case("b"), case("c")])
    assert [one.evidence.ids.tolist() for one in small] == [["a"], ["b"], ["c"]] and len(small) == 3
    assert small[0].evidence.ids[0] == small[-3].evidence.ids[0] == small["a"].evidence.ids[0] == "a"
    assert "a" in small and "z" not in small and len(small["a"]) == 1
    with pytest.raises(KeyError, match=r"Evaluation\(.*holds no sample_id 'z'"):
        small.one("z")
    with pytest.raises(IndexError, match="position 3 is outside"):
        small[3]


def test_its_head_is_a_table(evaluation: Evaluation) -> None:
    head = evaluation.head(3)
    assert head.index.tolist() == evaluation.evidence.ids[:3].tolist()
    assert {"question", "answer", "passed", "primary_cause", "faithfulness", "recall@5"} <= set(head)
    hostile = run([case("<b>", "<script>x</script>" * 20)])
    assert "<script>" not in hostile._repr_html_() and "<b>" not in hostile._repr_html_().split("</p>")[1]


def test_moving_a_low_score_computes_no_metric_again(evaluation: Evaluation) -> None:
    moved = evaluation.with_thresholds(evaluation.thresholds.replace(low_score=0.9))
    name = "answer_correctness"
    assert moved.metric(name).values is evaluation.metric(name).values
    other = evaluation.with_thresholds(evaluation.thresholds.replace(support=0.9))
    assert other.metric(name).values is not evaluation.metric(name).values


def test_a_recording_given_for_an_evaluation_is_told_how_to_score_it(tmp_path):
    recording = tmp_path / "april.csv"
    recording.write_text("question\nWho pays?\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"score the recording first: python -m workbench score .*april\.csv --out"):
        load_evaluation(recording)
