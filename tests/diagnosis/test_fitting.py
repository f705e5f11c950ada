"""A judge fitted to its user: maps, the band of unsure, the file, what is refused, what to label next."""

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.diagnosis import fitting
from workbench.diagnosis.fitting import Labelled, Part, _band, _fitted, _isotonic, _platt, log_odds
from workbench.language import speaking

DATA = "sample_data/support/evaluations/baseline"
LABELS = "sample_data/support/verdicts.csv"


@pytest.fixture(scope="module")
def baseline():
    return wb.load_evaluation(DATA)


@pytest.fixture(scope="module")
def fitted(baseline):
    return wb.fit(baseline, LABELS, error_rate=0.2)


def drawn(n, seed=0, *, shift=0.0, noise=1.0):
    """Labels of a judge whose log-odds are off by ``shift``."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 2, n)
    right = rng.random(n) < 1 / (1 + np.exp(-truth / noise))
    said = 1 / (1 + np.exp(-(truth + shift)))
    return Labelled(said, right, (said >= 0.5).astype(float), np.arange(n).astype(object))


def test_without_labels_the_map_is_the_judge_as_it_is() -> None:
    part = _platt(np.zeros((0, 1)), np.zeros(0, dtype=bool), np.ones(1))
    assert part.weights == (1.0,) and part.intercept == 0.0
    assert part([0.2, 0.5, 0.9]).round(6).tolist() == [0.2, 0.5, 0.9]
    assert math.isnan(part([np.nan])[0])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40))
def test_a_map_never_turns_the_order_round(pairs) -> None:
    said, right = (np.array(column) for column in zip(*pairs, strict=True))
    grid = np.linspace(0, 1, 21)
    for part in (_platt(log_odds(said)[:, None], right, np.ones(1)), _isotonic(said, right)):
        values = part(grid)
        assert (np.diff(values) >= -1e-9).all() and values.min() >= 0 and values.max() <= 1


def test_the_band_is_the_narrowest_that_keeps_the_rate() -> None:
    # Ten labels; wrong are those at 0.55 and 0.40. With rate 0.2, (errors + 1) / (told + 1) is 3/11 with all, 3/10 with nine
    # (0.52 left out), 3/9 with eight (0.47), 2/8 with seven (0.55), 1/7 with six (0.40): only the last is below 0.2.
    p = np.array([0.9, 0.95, 0.85, 0.1, 0.05, 0.8, 0.55, 0.40, 0.47, 0.52])
    right = np.array([1, 1, 1, 0, 0, 1, 0, 1, 0, 1], dtype=bool)
    found = _band(p, right, 0.2)
    assert found["doubt"] == pytest.approx(0.1) and found["told"] == 0.6 and found["told_error"] == 0
    assert _band(p, right, 0.34)["doubt"] == -1  # 3/11, and 3/9 close by, are allowed: nothing is unsure
    assert _band(p, right, 0.3)["doubt"] == pytest.approx(0.05)  # 3/11 is allowed, but 3/9 close by is not
    assert math.isnan(_band(p, right, 0.1)["doubt"])  # 1/7 is the best that there is
    part = Part("as it is", 10, 4, 0.8, 0.8, **found)
    assert part.unsure(np.array([0.55, 0.399, 0.7])).tolist() == [True, False, False]


def test_a_shifted_judge_is_mended_and_one_that_says_nothing_is_refused() -> None:
    mended = _fitted(drawn(150, shift=3), 0.3)
    assert mended.method == "platt" and not mended.reason and mended.after > mended.before + 0.1
    good = _fitted(drawn(150), 0.3)
    assert good.reason == "not_better" and good([0.3])[0] == 0.3
    deaf = drawn(60)
    deaf = dataclasses.replace(deaf, right=np.random.default_rng(5).random(60) < 0.7)
    refused = _fitted(deaf, 0.3)
    assert refused.reason == "tells_nothing" and refused.unsure(np.array([0.01, 0.99])).all()


def test_many_labels_give_a_map_of_any_shape() -> None:
    rng = np.random.default_rng(1)
    said = rng.random(600)
    right = rng.random(600) < np.where(said < 0.7, 0.1, 0.9)
    part = _fitted(Labelled(said, right, (said >= 0.5).astype(float), np.arange(600).astype(object)), 0.2)
    assert part.method == "isotonic" and not part.reason
    assert part([0.6])[0] < 0.2 < 0.8 < part([0.8])[0]


def test_labels_of_other_samples_are_told(baseline) -> None:
    with pytest.raises(wb.InputError, match=r"none of the labelled samples \(elsewhere, …\) is in baseline"):
        wb.fit(baseline, {"elsewhere": "right"})


@pytest.mark.parametrize("rate", [0.1, 0.15, 0.2])
def test_on_average_no_more_are_wrong_than_asked_for(rate) -> None:
    # A judge that is hard to trust: where it is surest, one in ten of its verdicts is wrong.
    errors = []
    for seed in range(500, 520):
        part = _fitted(drawn(60, seed, noise=1.5), rate)
        fresh = drawn(2000, 1000 + seed, noise=1.5)
        p = part(fresh.said)
        told = ~part.unsure(p)
        if told.any():
            errors.append(((p >= 0.5) != fresh.right)[told].mean())
    assert len(errors) > 3 and np.mean(errors) <= rate + 0.03


def test_fitting_says_what_was_refused_and_why(fitted) -> None:
    summary = fitted.summary()
    assert summary.loc["answer_right", ["used", "reason", "n", "n_wrong"]].tolist() == [False, "not_better", 32, 14]
    assert summary.loc["verdict", ["used", "reason", "n", "n_wrong"]].tolist() == [False, "not_better", 36, 16]
    assert summary.loc["refusal", "reason"] == "few 22" and summary.loc["relevance", "reason"] == "no_labels"
    with speaking("en"):
        assert any("22 labels; it takes 30" in line for line in fitted.words())
    with speaking("zh"):
        assert any("22 个标注；需要 30 个" in line for line in fitted.words())


def test_the_file_is_the_judge(fitted, tmp_path) -> None:
    path = fitted.save(tmp_path / "mine.toml")
    again = wb.load_judge(path)
    assert again == fitted and again.hash == fitted.hash and path.stat().st_size < 2000
    (tmp_path / "other.toml").write_text("[gate]\n", encoding="utf-8")
    with pytest.raises(wb.InputError, match="no fitted judge"):
        wb.load_judge(tmp_path / "other.toml")


def test_an_evaluation_under_a_fitted_judge_is_saved_with_it(baseline, fitted, tmp_path) -> None:
    under = baseline.with_judge(fitted)
    folder = under.save(tmp_path / "under")
    opened = wb.load_evaluation(folder)
    assert opened.manifest["fitted"]["hash"] == fitted.hash and opened.manifest["judge"].endswith(fitted.hash)
    assert fitting.fitted_in(json.loads((folder / "manifest.json").read_text(encoding="utf-8"))).parts == fitted.parts
    expected = fitted.verdicts(baseline)["probability"]
    assert opened.scores()["fitted_right"].to_numpy() == pytest.approx(expected.to_numpy())
    with pytest.raises(wb.InputError, match="already"):
        opened.with_judge(fitted)
    with pytest.raises(wb.InputError, match="already"):
        wb.fit(opened, LABELS)
    assert "fitted_right" not in baseline.scores() and "fitted" not in baseline.manifest
    assert baseline.states().shape[1] + 1 == opened.states().shape[1]


def test_another_judge_is_not_mapped(baseline, fitted) -> None:
    other = dataclasses.replace(fitted, judge="llm:other")
    with pytest.raises(wb.InputError, match="llm:other"):
        baseline.with_judge(other)


def test_each_part_maps_its_own_numbers(baseline, fitted) -> None:
    half = Part("platt", 40, 20, 0.5, 0.9, weights=(1.0,), intercept=-1.0, doubt=0.1)
    moved = dataclasses.replace(fitted, parts=dict.fromkeys(("answer_right", "support", "refusal", "relevance"), half))
    before, after = baseline.view.facts, baseline.with_judge(moved).view.facts
    assert after.right == pytest.approx(half(before.right), nan_ok=True)
    assert after.contexts.relevance == pytest.approx(half(before.contexts.relevance), nan_ok=True)
    assert after.claims("point").entail.tolist() == before.claims("point").entail.tolist()
    entail, mapped = before.claims("answer").entail, after.claims("answer").entail
    there = before.n_contexts[before.claims("answer").code] > 0
    assert mapped[there] == pytest.approx(half(entail[there]), abs=1e-4)


def test_verdicts_on_claims_contexts_and_refusals(baseline) -> None:
    claims = baseline.claims().query("side == 'answer'")
    said = np.where(claims["support"] > 0.3, "right", "wrong")
    rows = [{"sample_id": name, "verdict": verdict, "about": f"claim {number}"}
            for name, number, verdict in zip(claims["sample_id"], claims["claim_id"], said, strict=True)]  # fmt: skip
    rows += [{"sample_id": "qa-001", "verdict": "wrong", "about": "context 1"}]
    found = wb.fit(baseline, rows)
    assert found.parts["support"].n > 80 and found.refused["relevance"] == "few 1" and found.refused["verdict"] == "no_labels"
    with pytest.raises(wb.InputError, match="about"):
        wb.fit(baseline, [{"sample_id": "qa-001", "verdict": "wrong", "about": "claim"}])


@pytest.mark.parametrize("rate", [0, 1, -0.1])
def test_an_error_rate_is_a_share(baseline, rate) -> None:
    with pytest.raises(wb.InputError, match="error_rate"):
        wb.fit(baseline, LABELS, error_rate=rate)


def test_suggestions_are_new_fixed_and_go_on_where_labels_end(baseline) -> None:
    first = wb.suggest(baseline, n=10)
    assert first.index.is_unique and first.equals(wb.suggest(baseline, n=10))
    labels = dict.fromkeys(first.index[:4], "right")
    assert set(wb.suggest(baseline, labels, n=10).index).isdisjoint(labels)
    assert len(wb.suggest(baseline, n=1000)) == 80
    assert (first["group"] == "close").sum() >= min(5, (fitting.groups_of(baseline)[0] == 1).sum())


def test_the_rate_of_right_answers_leans_on_people(baseline) -> None:
    ids = wb.suggest(baseline, n=60).index
    share = wb.right_rate(baseline, dict.fromkeys(ids, "wrong"))
    assert share.loc["corrected", "share"] < share.loc["judge", "share"]
    assert share.loc["people", ["share", "n"]].tolist() == [0, 60]
    everyone = {name: "right" if passed else "wrong" for name, passed in baseline.failures()["passed"].items()}
    whole = wb.right_rate(baseline, everyone)
    assert whole.loc["corrected", "share"] == pytest.approx(whole.loc["judge", "share"])
    assert np.isnan(wb.right_rate(baseline, {}).loc["corrected", "share"])
