"""A series of runs: where it broke, by which change, and what is noise; small cases by hand, trials with seeds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.benchmarks import history as trials
from workbench.diagnosis.series import Series, config_frame, share_of_look, share_of_step
from workbench.diagnosis.statistics import permutation_p
from workbench.errors import InputError


def series(rows, configs, **more):
    outcome = np.array(rows, dtype=float)
    names = tuple(f"r{at}" for at in range(len(rows)))
    return Series(names, pd.Index([f"s{at}" for at in range(outcome.shape[1])]), outcome, config_frame(configs), **more)


def block(*rates, n=100):
    """Runs in which the first ``rate`` of n samples pass."""
    return [(np.arange(n) < rate * n).astype(float) for rate in rates]


def test_one_key_is_named_with_the_run():
    found = series(block(0.8, 0.8, 0.6, 0.6), [{"k": 5}, {"k": 5}, {"k": 8}, {"k": 8}])
    steps = found.steps()
    assert steps["verdict"].tolist() == ["noise", "broke", "noise"]
    assert steps["blamed"].tolist() == [[], ["k"], []] and steps["standing"].tolist() == [False, True, False]
    assert steps.loc[1, "delta"] == pytest.approx(-0.2) and steps.loc[1, "p_value"] == pytest.approx(2 * 0.5**20 - 0.5**20)
    effects = found.key_effects()
    assert effects[["key", "method", "n_pairs", "verdict"]].values.tolist() == [["k", "pairs", 4, "worse"]]
    assert found.samples().set_index("sample_id").loc["s60", ["state", "broke_in", "passed_in", "changed"]].tolist() == [
        "broken", "r2", "r1", "k 5 → 8",
    ]  # fmt: skip


def test_keys_that_never_part_cannot_be_told_apart_and_the_runs_that_would_tell_are_named():
    a, b = {"k": 5, "model": "x"}, {"k": 8, "model": "y"}
    found = series(block(0.8, 0.8, 0.6), [a, a, b])
    step = found.steps().iloc[1]
    assert (step["verdict"], step["keys"], step["blamed"]) == ("broke", ["k", "model"], [])
    assert found.to_record(2) == [{"k": 8, "model": "x"}, {"k": 5, "model": "y"}]
    effects = found.key_effects()
    assert set(effects["verdict"]) == {"cannot_tell"} and effects["together"].tolist() == [["model"], ["k"]]


def test_a_run_that_changes_one_of_two_keys_tells_them_apart():
    a, b, back = {"k": 5, "model": "x"}, {"k": 8, "model": "y"}, {"k": 8, "model": "x"}
    found = series(block(0.8, 0.8, 0.6, 0.8), [a, a, b, back])
    assert found.steps().loc[1, "blamed"] == ["model"] and found.to_record(2) == []
    assert found.steps()["standing"].tolist() == [False, False, False], "the last run made it good"


def test_a_regression_parts_keys_that_no_pair_isolates():
    """Three keys, each pair of runs differs in two of them: least squares has one solution."""
    configs = [{"a": 0, "b": 0, "c": 0}, {"a": 1, "b": 1, "c": 0}, {"a": 0, "b": 1, "c": 1}, {"a": 1, "b": 0, "c": 1}]
    found = series(block(0.8, 0.6, 0.8, 0.6), configs)
    effects = found.key_effects().set_index("key")
    assert set(effects["method"]) == {"regression"}
    assert effects["delta"].round(9).to_dict() == {"a": -0.2, "b": 0.0, "c": 0.0}


def test_a_change_that_nobody_recorded_names_the_run_and_no_key():
    found = series(block(0.8, 0.8, 0.5, 0.5), [{"k": 5}] * 4)
    step = found.steps().iloc[1]
    assert (step["verdict"], step["change"], step["blamed"]) == ("broke", "none", [])
    assert not found.flaky.any(), "what broke is not flaky"
    unknown = series(block(0.8, 0.5), [{}, {}])
    assert unknown.steps().loc[0, "change"] == "unknown" and not len(unknown.noise())


def test_a_commit_stands_for_what_no_key_says_and_a_date_for_nothing():
    configs = [{"k": k, "commit": commit, "date": commit} for k, commit in ((5, "a"), (5, "b"), (8, "c"))]
    steps = series(block(0.8, 0.6, 0.4), configs).steps()
    assert steps["blamed"].tolist() == [["commit"], ["k"]] and steps["change"].tolist() == ["commit", "key"]


def test_verdicts_that_move_on_the_same_answer_count_for_nothing():
    output = np.full((3, 100), 7, dtype=np.uint64)
    found = series(block(0.8, 0.8, 0.4), [{"k": 5}, {"k": 5}, {"k": 8}], output=output)
    assert found.steps()["delta"].tolist() == [0, 0] and found.judge_moves["down"].tolist() == [0, 40]
    judges = [{"k": 5, "judge": "a"}, {"k": 5, "judge": "a"}, {"k": 5, "judge": "b"}]
    assert series(block(0.8, 0.8, 0.4), judges, output=output).steps().loc[1, "blamed"] == ["judge"]


def test_cases_that_were_edited_are_not_compared():
    case = np.zeros((2, 100), dtype=np.uint64)
    case[1, 60:] = 1
    found = series(block(0.8, 0.6), [{"k": 5}, {"k": 8}], case=case).steps()
    assert found.loc[0, "n"] == 60 and found.loc[0, "delta"] == 0


def test_flaky_samples_and_the_floor_of_noise():
    rows = block(0.8, 0.8, 0.8, 0.8)
    rows[1][:5] = 0
    rows[3][:5] = 0
    found = series(rows, [{"k": 5}] * 4)
    assert found.ids[found.flaky].tolist() == ["s0", "s1", "s2", "s3", "s4"]
    noise = found.noise().iloc[0]
    assert noise["n_runs"] == 4 and noise["flipping"] == pytest.approx(0.05)
    assert noise["floor"] == pytest.approx(1.96 * (0.05 / 100) ** 0.5, abs=1e-4)
    assert found.samples()["n_flips"].max() == 3


def test_bisecting_uses_what_is_known_and_names_the_next_run():
    names = ("a", "b", "c", "d")
    good, bad = dict.fromkeys(names, 0), dict.fromkeys(names, 1)
    found = series(block(0.8, 0.6), [good, bad]).bisect("r0", "r1")
    assert found.suspects == names and found.record == {"a": 1, "b": 1, "c": 0, "d": 0}
    half = series(block(0.8, 0.6, 0.61), [good, bad, good | {"a": 1, "b": 1}]).bisect("r0", "r1")
    assert half.suspects == ("a", "b") and half.record == good | {"a": 1} and half.used == (("r2", "bad"),)
    done = series(block(0.8, 0.6, 0.61, 0.79), [good, bad, good | {"a": 1, "b": 1}, good | {"a": 1}]).bisect("r0", "r1")
    assert done.suspects == ("b",) and done.record is None
    with pytest.raises(InputError, match="no run 'x'"):
        series(block(0.8, 0.6), [good, bad]).bisect("x", "r1")


def test_shares_of_the_error_rate_add_up_to_one():
    assert sum(share_of_step(j) for j in range(1, 200_000)) == pytest.approx(1, abs=0.01)
    assert [share_of_look(n)[0] for n in (1, 2, 3, 4, 9)] == [1, 2, 2, 4, 8]
    assert sum(share_of_look(2**j)[1] for j in range(1000)) == pytest.approx(1, abs=0.001)


def test_signs_are_counted_exactly_where_there_are_few():
    assert permutation_p(np.array([-1.0, -1.0, -1.0]), flips=0) == pytest.approx(0.125), "mid-p: half of 2 · 1/8"
    assert permutation_p(np.array([-1.0, -0.5]), flips=0) == 0.5 and permutation_p(np.zeros(4), flips=0) == 1.0


def test_the_matrix_holds_what_differs_the_latest_breaks_first():
    found = series([[1, 1, 1, 0], [1, 0, 1, 0], [0, 0, 1, 0]], [{"k": 1}, {"k": 2}, {"k": 3}], causes=("miss",))
    matrix = found.matrix()
    assert matrix.index.tolist() == ["s0", "s1"] and matrix.loc["s1"].tolist() == ["pass", "miss", "miss"]
    assert len(found.matrix(differing=False)) == 4


@pytest.mark.parametrize("name", list(trials.TRIALS))
def test_planted_breaks_in_twenty_runs(name):
    """A small edition of tests/benchmarks/history.py."""
    trial, _ = trials.TRIALS[name]
    assert sum(trial(np.random.default_rng(seed)) for seed in range(5)) >= 4
