"""Arms of an experiment in one log, under peeking; levels that are given; falls seen before the window is full."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.benchmarks import history as trials
from workbench.cli import main
from workbench.diagnosis.experiment import arm_lines, boundary, compare_arms, fixed_size
from workbench.errors import InputError


def log(n=2000, fall=0.05, seed=0):
    rng = np.random.default_rng(seed)
    arm = np.where(np.arange(n) % 2, "new", "old")
    score = (rng.random(n) < np.where(arm == "new", 0.8 - fall, 0.8)).astype(float)
    return pd.DataFrame({"arm": arm, "score": score, "latency_ms": rng.lognormal(6, 0.4, n), "refused": rng.random(n) < 0.1})


@pytest.fixture(autouse=True)
def english():
    wb.set_language("en")
    yield
    wb.set_language(None)


def test_a_worse_arm_is_named_and_guardrails_stay_quiet():
    found = compare_arms(wb.load_log(log(6000, 0.1), groups=["arm"]), "arm").set_index("metric")
    assert found.loc["score", ["arm", "control", "verdict"]].tolist() == ["new", "old", "worse"]
    assert found.loc["score", "low"] < -0.1 < found.loc["score", "high"] < 0
    assert found.loc[["latency_ms", "refused"], "verdict"].tolist() == ["open", "open"]
    assert "✗ score (metric): new" in arm_lines(found.reset_index())[0]


def test_a_slower_arm_breaks_a_guardrail():
    rows = log(4000, 0)
    rows.loc[rows["arm"] == "new", "latency_ms"] *= 1.3
    found = compare_arms(wb.load_log(rows, groups=["arm"]), "arm").set_index("metric")
    assert found.loc["latency_ms", "verdict"] == "worse" and found.loc["latency_ms", "delta"] == pytest.approx(0.26, abs=0.05)


def test_what_cannot_be_compared_says_so():
    read = wb.load_log(log(60), groups=["arm"])
    assert set(compare_arms(read, "arm")["verdict"]) == {"few"}
    for options, says in (({"by": "x"}, "no groups 'x'"), ({"by": "arm", "control": "z"}, "no arm 'z'")):
        with pytest.raises(InputError, match=says):
            compare_arms(read, **options)
    with pytest.raises(InputError, match="no column 'tier'"):
        wb.load_log(log(60), groups=["tier"])


def test_the_boundary_by_hand():
    assert boundary(1.0, 0.05) == pytest.approx((2 * (np.log(2) - 2 * np.log(0.05))) ** 0.5)
    assert fixed_size(0.05, 0.175) == 1099, "2 · 0.175 · ((1.95996 + 0.84162) / 0.05)²"


@pytest.mark.parametrize("name", list(trials.ARMS))
def test_two_arms_under_peeking(name):
    """A small edition of tests/benchmarks/history.py."""
    trial, least = trials.ARMS[name]
    assert np.mean([trial(np.random.default_rng(seed)) for seed in range(60)]) >= least - 0.08


def test_a_number_or_levels_stand_for_a_baseline(tmp_path):
    rows = [{"query": "q", "precision@5": 0.2 + 0.1 * (at % 3)} for at in range(400)]
    assert wb.monitor(rows, 0.8).firing[0].statistic == "precision@5"
    found = wb.monitor(rows, {"precision@k": 0.3})
    assert not found.firing and found.levels["precision@5"].given
    assert [rule.statistic for rule in found.rules] == ["precision@5"]
    windows = found.windows()
    assert windows["mean"].tolist() == windows["value"].tolist() and windows["sd"].round(3).unique().tolist() == [0.082]
    with pytest.raises(InputError, match="speed: no such statistic"):
        wb.monitor(rows, {"speed": 1})
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert main(["monitor", str(path), "--baseline", "precision@k=0.8"]) == 1
    assert main(["monitor", str(path), "--baseline", "0.2"]) == 0


def test_a_large_fall_alerts_before_the_window_is_full():
    rows = [{"score": 0.9}] * 300 + [{"score": 0.1}] * 120
    found = wb.monitor(rows, {"score": 0.9}, window=1000, step=20)
    assert not found.spans and found.events[0].row <= 360
    collector = wb.Collector(baseline=wb.load_log([{"score": 0.9}] * 200), window=500, step=20)
    for _ in range(100):
        collector.record(score=0.0)
    assert collector.alerts[0].row < 100


def test_regular_files_are_read_as_row_by_row(tmp_path):
    """Columns at once, or one record after the other: the same numbers, rejections and groups."""
    rows = [{"time": f"2025-06-01T00:00:{at % 60:02}Z", "latency_ms": at - 2, "status": "200" if at % 5 else "500",
             "arm": f"a{at % 2}", "score": None if at % 7 == 0 else at / 50, "tokens": at} for at in range(50)]  # fmt: skip
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    fast, slow = wb.load_log(path, groups=["arm"]), wb.load_log(rows, groups=["arm"])
    assert fast.columns.keys() == slow.columns.keys() and fast.n_rejected == slow.n_rejected == 2
    for name, values in slow.columns.items():
        np.testing.assert_array_equal(fast.columns[name], values)
    np.testing.assert_array_equal(fast.times, slow.times)
    assert fast.rejections == slow.rejections and fast.rows.tolist() == slow.rows.tolist()
    groups = [[read.groups["arm"][1][code] for code in read.groups["arm"][0]] for read in (fast, slow)]
    assert groups[0] == groups[1]
