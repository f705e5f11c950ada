"""A metric is declared in one place and a cause in one place: registering them is enough to meet them everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.two_runs import RIGHT, WRONG, case, run
from workbench.diagnosis import causes
from workbench.evaluation import Evaluation
from workbench.reports.gate import check, read_rules
from workbench.reports.render import html, markdown
from workbench.reports.sections import build_report
from workbench.scoring import metrics
from workbench.views.card import card_html


@pytest.fixture
def evaluation() -> Iterator[Evaluation]:
    """Two samples: the first answer is right but short of words, the second is wrong as well."""
    wb.metric("words", lambda row: len(row["answer"].split()), needs=("answer",), high=1000, higher_is_better=None)

    @wb.metric("surely_right", over="evidence", target=0.95, low_score=0.6, low_fails=True, in_report=1, in_overview=True)
    def surely_right(evidence: Any) -> np.ndarray:
        """Probability that the answer is right, as a column of the samples has it."""
        return evidence.number("p_right")

    @wb.cause("doubtful", title="a doubtful answer", advice="Ask again.", evidence="Only {p} likely.", before="omission",
              explain=lambda e, code: {"p": f"{e.inputs.score('surely_right')[code]:.1f}"})  # fmt: skip
    def doubtful(inputs: Any) -> np.ndarray:
        return inputs.score("surely_right") < 0.6

    yield run([case("a", RIGHT, p_right=0.4), case("b", WRONG, p_right=0.2), case("c", RIGHT, p_right=0.9)])
    metrics.unregister("words")
    metrics.unregister("surely_right")
    causes.unregister("doubtful")


def test_scores_states_and_summary_have_both_metrics(evaluation: Evaluation) -> None:
    scores, summary = evaluation.scores(), evaluation.summary()
    assert scores["words"].tolist() == [5, 5, 5] and scores["surely_right"].tolist() == [0.4, 0.2, 0.9]
    assert set(evaluation.states()["surely_right"]) == {"ok"}
    assert summary.loc["surely_right", "target"] == 0.95 and not summary.loc["surely_right", "meets_target"]
    assert summary.loc["words", "method"].startswith("own function")


def test_a_low_score_fails_and_the_cause_says_why(evaluation: Evaluation) -> None:
    failures = evaluation.failures()
    assert failures["primary_cause"].tolist() == ["doubtful", "contradiction", "pass"]
    assert "doubtful" in failures.loc["b", "causes"] and failures.loc["c", "causes"] == []
    assert failures.loc["a", ["evidence", "advice"]].tolist() == ["Only 0.4 likely.", "Ask again."]
    passing = evaluation.with_thresholds(evaluation.thresholds.replace(low_scores={"surely_right": 0.3}))
    assert passing.failures().loc["a", "primary_cause"] == "pass"


def test_the_card_has_them(evaluation: Evaluation, tmp_path: Path) -> None:
    card = str(card_html(wb.Session(evaluation, path=tmp_path), "a"))
    assert "a doubtful answer" in card and "Only 0.4 likely." in card and "Ask again." in card
    assert "surely_right" in card and "words" in card


def test_the_report_has_them_in_both_forms(evaluation: Evaluation) -> None:
    report = build_report(evaluation)
    for text in (str(html(report)), markdown(report, {})):
        assert "a doubtful answer" in text and "Ask again." in text
        assert "surely" in text and "words" in text
    assert [measure.shown for measure in report.measures if measure.metric in ("surely_right", "words")] == [True, False]


def test_the_gate_takes_them_in_rules_targets_and_red_lines(evaluation: Evaluation) -> None:
    rules = read_rules('[rules.at_least]\nsurely_right = 0.4\nwords = 9\n[red_lines]\ncauses = ["doubtful"]')
    found = {item.rule: item for item in check(evaluation, rules).checks}
    assert [item.state for item in found.values()] == ["failed", "passed", "failed"]
    assert next(iter(found.values())).sample_ids == ("a", "b") and "a doubtful answer" in next(iter(found))
    assert not check(evaluation, read_rules("[rules]\ntargets = true")).passed
    with pytest.raises(wb.InputError, match=r"unknown cause 'nothing'; known are .*doubtful"):
        read_rules('[red_lines]\ncauses = ["nothing"]')


def test_comparison_filters_and_the_table_of_metrics_have_them(evaluation: Evaluation, tmp_path: Path) -> None:
    comparison = wb.compare(evaluation, evaluation)
    assert {"surely_right", "words"} <= set(comparison.tests()["metric"])
    assert comparison.causes().loc["doubtful", "layer"] == "generation"
    assert wb.Session(evaluation, path=tmp_path).causes.counts()["doubtful"] == 2
    table = wb.metrics_table()
    assert table.loc["surely_right", "formula"].startswith("Probability") and table.loc["words", "range"] == "[0, 1000]"


def test_it_is_saved_and_opened_again(evaluation: Evaluation, tmp_path: Path) -> None:
    again = wb.load_evaluation(evaluation.save(tmp_path / "saved"))
    assert again.failures()["primary_cause"].tolist() == evaluation.failures()["primary_cause"].tolist()


def test_a_cause_registered_later_is_seen(evaluation: Evaluation) -> None:
    assert evaluation.failures().loc["a", "primary_cause"] == "doubtful"
    wb.cause("hurried", lambda inputs: np.ones(inputs.n, dtype=bool), before="doubtful")
    try:
        assert evaluation.failures().loc["a", "primary_cause"] == "hurried"
        assert evaluation.one("a").failures().loc["a", "causes"] == ["hurried", "doubtful"]
    finally:
        causes.unregister("hurried")


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [("omission", {}, "taken"), ("pass", {}, "taken"), ("x", {"layer": "moon"}, "layer 'moon'"),
     ("x", {"before": "moon"}, "no cause"), ("x", {"moon": 1}, "moon")],
)  # fmt: skip
def test_a_wrong_cause_is_refused_in_one_line(name: str, more: dict[str, Any], message: str) -> None:
    with pytest.raises(wb.InputError, match=message):
        wb.cause(name, lambda inputs: np.ones(inputs.n, dtype=bool), **more)


@pytest.mark.parametrize(("name", "more"), [("leaks", {}), ("x", {"over": "moon"}), ("x", {"moon": 1})])
def test_a_wrong_metric_is_refused_in_one_line(name: str, more: dict[str, Any]) -> None:
    with pytest.raises(wb.InputError, match="metric"):
        wb.metric(name, lambda row: 1.0, **more)


def test_a_metric_over_the_evidence_that_fails_says_so_of_every_sample() -> None:
    wb.metric("broken", lambda evidence: evidence.nothing, over="evidence")
    try:
        assert set(run([case("a")]).states()["broken"]) == {"input_error"}
    finally:
        metrics.unregister("broken")


def test_every_metric_and_every_cause_has_its_texts_in_every_language() -> None:
    from workbench.language import languages

    for language in languages():
        for metric in metrics.METRICS:
            assert language.template(f"metrics.{metric.base}.name"), (language, metric.name)
        for rule in causes.RULES:
            assert language.template(f"causes.{rule.name}.advice"), (language, rule.name)
            assert language.template(f"report.layer.{rule.layer}"), (language, rule.layer)
