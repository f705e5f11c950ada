"""ROC, cuts, corrected means and repeat noise: exact values by hand, and properties that any data must keep."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.scripted import ScriptedJudge, evidence, sample_set
from workbench.diagnosis.calibration import (
    calibratable,
    calibrate,
    calibration_table,
    load_verdicts,
    repeat_noise,
    repeated_samples,
)
from workbench.diagnosis.statistics import GRID, auroc, auroc_interval, best_cut, judge_corrected_mean, kappas, rates
from workbench.errors import InputError
from workbench.evaluation import Evaluation
from workbench.evidence.collect import collect

CONTEXTS = [{"doc_id": "a", "text": "A."}]


def made(n=30, name="made", shift=0.0):
    """Samples whose only claim is supported with probability 0, 1/n, 2/n …"""
    rows = [{"sample_id": f"s{i}", "question": f"question {i}" if i % 2 else f"第 {i} 个问题是什么？", "answer": "One.",
             "contexts": CONTEXTS} for i in range(n)]  # fmt: skip

    def script(sample):
        value = min(int(sample.sample_id[1:]) / n + shift, 1.0)
        return evidence(sample, [{"entail": [value], "kinds": ["number"]}])

    return Evaluation(collect(sample_set(rows), ScriptedJudge(script)), wb.Thresholds(unsure_band=0.0), name=name)


def test_area_by_hand() -> None:
    """Pairs (right, wrong): .9>.4, .9>.5, .5>.4, .5=.5 → 3.5 of 4."""
    assert auroc([1, 1, 0, 0], [0.9, 0.5, 0.4, 0.5]) == pytest.approx(3.5 / 4)
    assert math.isnan(auroc([1, 1], [0.1, 0.2]))
    assert auroc([1, 0, 1], [0.9, 0.1, float("nan")]) == 1


def test_a_perfect_score_on_few_labels_is_not_certain() -> None:
    found = auroc_interval([1] * 5 + [0] * 5, [1] * 5 + [0] * 5)
    assert found.high == pytest.approx(1)
    assert 0.5 < found.low < 0.9


labels_and_scores = st.lists(st.tuples(st.booleans(), st.integers(0, 100)), min_size=2, max_size=60)


@settings(deadline=None)
@given(labels_and_scores)
def test_the_interval_holds_the_area_and_turning_the_score_mirrors_it(rows) -> None:
    right, score = np.array([a for a, _ in rows]), np.array([b / 100 for _, b in rows])
    area = auroc(right, score)
    if math.isnan(area):
        assert right.all() or not right.any()
        return
    low, high, _ = auroc_interval(right, score)
    assert -1e-9 <= low <= area + 1e-9 <= high + 2e-9 <= 1 + 1e-8
    assert auroc(right, -score) == pytest.approx(1 - area)


@settings(max_examples=25, deadline=None)
@given(labels_and_scores)
def test_kappa_over_the_cuts_is_that_of_agreement(rows) -> None:
    right, score = np.array([a for a, _ in rows]), np.array([b / 100 for _, b in rows])
    judged = (score[:, None] >= GRID[None, ::25]).astype(float)
    for column, value in enumerate(kappas(right, judged)):
        expected = wb.agreement(right, judged[:, column] == 1)["kappa"]
        assert value == pytest.approx(expected, nan_ok=True)


def test_rates_leave_out_what_has_no_verdict() -> None:
    right = np.array([True, True, False, False, False])
    false_alarm, found = rates(right, np.array([[1.0], [0.0], [0.0], [1.0], [np.nan]]))
    assert (false_alarm[0], found[0]) == (0.5, 0.5)


def test_the_cut_is_in_the_middle_of_those_that_agree_equally_well() -> None:
    score = np.array([0.1] * 15 + [0.2] * 15 + [0.8] * 20 + [0.9] * 10)
    right = score > 0.5
    found = best_cut(right, (score[:, None] >= GRID).astype(float))
    assert found.value == pytest.approx(0.5)  # every cut from 0.21 to 0.80 separates them
    assert found.kappa == 1
    assert (found.low, found.high) == (0.21, 0.8)  # whichever labels are drawn, these are as good as any
    assert math.isnan(best_cut(np.ones(30, bool), np.ones((30, len(GRID)))).value)


# ---------------------------------------------------------------- corrected means


def test_prediction_powered_mean_by_hand() -> None:
    """λ = 1: mean(others) 0.75 + mean(human − judged) −0.25; variance 0.25/4 + 0.25/4."""
    found = judge_corrected_mean([1, 0, 0, 1], [1, 1, 0, 1], [1, 1, 0, 1], tuned=False)
    assert found.mean == pytest.approx(0.5)
    half = 1.959964 * math.sqrt(0.25 / 4 + 0.25 / 4)
    assert found.low == max(0, found.mean - half)
    assert found.high == min(1, found.mean + half)


def test_the_weight_of_the_judge_by_hand() -> None:
    """cov = 1/3, pooled var = 2/7, n/N = 1: λ = (1/3) / (2 · 2/7) = 7/12 for a judge that agrees throughout."""
    found = judge_corrected_mean([1, 0, 0, 1], [1, 0, 0, 1], [1, 0, 0, 1])
    assert found.weight == pytest.approx((1 / 3) / (2 * 2 / 7))
    assert judge_corrected_mean([1, 0, 1], [1, 0, 1], []).weight == 0


def test_a_judge_that_is_always_too_kind_is_corrected() -> None:
    """It calls 90 % right where people say 50 %: the naive mean is far off, the corrected interval holds the truth."""
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(200):
        truth = rng.random(500) < 0.5
        judged = np.where(truth, 1.0, rng.random(500) < 0.8)
        found = judge_corrected_mean(truth[:100], judged[:100], judged[100:])
        hits += found.low <= 0.5 <= found.high
    assert hits / 200 >= 0.9


def test_gaps_are_refused() -> None:
    with pytest.raises(InputError, match="pairs without gaps"):
        judge_corrected_mean([1, float("nan")], [1, 1], [1])
    assert math.isnan(judge_corrected_mean([1], [1], [1, 0]).mean)


# ---------------------------------------------------------------- an evaluation against labels


def test_a_cut_is_found_and_counts_follow_it() -> None:
    evaluation = made()
    human = {f"s{i}": "right" if i >= 12 else "wrong" for i in range(30)}
    found = calibrate(evaluation, human)
    assert found.enough
    # 11/30 = 0.367 must fail and 12/30 = 0.4 pass.
    assert 0.37 <= found.suggested.value <= 0.4
    assert found.suggested.kappa == 1
    assert found.cut == 0.5
    there = found.at(found.suggested.value)
    assert there.agreement()["kappa"] == 1
    assert there.confusion().to_numpy().tolist() == [[18, 0, 0], [0, 12, 0]]
    assert found.confusion().to_numpy().sum() == 30
    assert len(found.disagreements()) == found.confusion().loc["right", "wrong"]
    assert set(found.by_language().index) == {"zh", "en"}


def test_sweeping_passed_is_what_with_thresholds_gives() -> None:
    evaluation = made()
    human = {f"s{i}": "right" if i % 3 else "wrong" for i in range(30)}
    found = calibrate(evaluation, human)
    for cut in (0.2, 0.5, 0.77):
        other = evaluation.with_thresholds(evaluation.thresholds.replace(support=cut)).failures()["passed"]
        column = found.swept[:, round(cut * 100)]
        assert column.tolist() == [float(value) for value in other.loc[found.human.index]]
        assert found.at(cut).judged.tolist() == column.tolist()


def test_a_metric_that_is_bad_when_high() -> None:
    evaluation = made()
    human = {f"s{i}": "right" if i >= 15 else "wrong" for i in range(30)}
    found = calibrate(evaluation, human, "hallucination_rate")
    assert found.area[0] > 0.5
    assert not found.low_is_bad
    assert found.confusion().loc["wrong", "right"] == 0


def test_too_few_labels_say_how_many_are_missing() -> None:
    found = calibrate(made(), {"s1": "wrong", "s20": "right", "s21": "right", "elsewhere": "right"})
    assert found.lacking == {"n": 17, "right": 3, "wrong": 4}
    assert math.isnan(found.suggested.value)
    assert found.n_elsewhere == 1
    empty = calibrate(made(), load_verdicts([{"sample_id": "s1", "verdict": None}]))
    assert calibrate(made(), {}).counts == empty.counts
    assert empty.agreement()["n"] == 0
    assert empty.lacking["n"] == 20
    assert len(empty.by_language()) == 0
    assert empty.confusion().to_numpy().sum() == 0


def test_labels_of_other_runs_do_not_count(tmp_path) -> None:
    file = tmp_path / "v.csv"
    file.write_text("run,sample_id,verdict\nmade,s1,wrong\nother,s2,wrong\n", encoding="utf-8")
    assert calibrate(made(), file).human.to_dict() == {"s1": "wrong"}


def test_wrong_calls_are_refused() -> None:
    with pytest.raises(InputError, match="does not move passed"):
        calibrate(made(3), {}, threshold="k")
    with pytest.raises(InputError, match="number from 0 to 1"):
        calibrate(made(3), {}, cut=7)


def test_the_table_of_all_scores_has_those_that_can_be_calibrated() -> None:
    evaluation = made()
    human = {f"s{i}": "right" if i >= 12 else "wrong" for i in range(30)}
    table = calibration_table(evaluation, human)
    assert set(table.index) == set(calibratable(evaluation))
    assert table.loc["passed", "auroc"] == 1
    assert "forbidden_hits" not in table.index


def test_the_corrected_share_uses_people_and_judge() -> None:
    evaluation = made(60)
    human = {f"s{i}": "right" if i >= 24 else "wrong" for i in range(0, 60, 2)}
    found = calibrate(evaluation, human).corrected()
    assert found.loc["judge", "share"] == pytest.approx(0.5)
    assert found.loc["people", "share"] == pytest.approx(0.6)
    assert found.loc["corrected", "low"] < found.loc["corrected", "share"] < found.loc["corrected", "high"]
    assert found["n"].to_dict() == {"judge": 60, "people": 30, "corrected": 60}


# ---------------------------------------------------------------- the judge's own noise


def test_repeat_noise_by_hand() -> None:
    """Shifted by 0.1, the samples between 0.4 and 0.5 (12, 13, 14 of 30) change their verdict."""
    first, second = made(), made(shift=0.1)
    found = repeat_noise([first, second])
    assert (found["n"], found["n_flips"]) == (30, 3)
    assert found["low"] < 0.1 < found["high"]
    assert repeat_noise([first, first])["n_flips"] == 0
    rows = repeated_samples([first, second])
    assert rows.index[rows["flips"]].tolist() == ["s12", "s13", "s14"]
    assert rows.loc["s12", "sd"] == pytest.approx(math.sqrt(0.5))


def test_other_answers_are_no_noise() -> None:
    rows = [{"sample_id": "a", "question": "q", "answer": f"{i}.", "contexts": CONTEXTS} for i in (1, 2)]
    both = [Evaluation(collect(sample_set([row]), None)) for row in rows]
    assert repeat_noise(both)["n"] == 0
    with pytest.raises(InputError, match="two or more"):
        repeat_noise(both[:1])


def test_it_is_a_frame_by_sample() -> None:
    assert isinstance(repeated_samples([made(4), made(4)]), pd.DataFrame)
    assert repeated_samples([made(4), made(4)]).index.name == "sample_id"
