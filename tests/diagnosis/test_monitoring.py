"""Logs, windows, the sequential test, alerts and the collector: by hand, false alarms, delay, threads, kills."""

from __future__ import annotations

import gzip
import http.server
import json
import logging
import math
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench import language
from workbench.diagnosis.alerts import (
    CLEARED,
    FIRED,
    WAITING,
    Detector,
    Dispatcher,
    Rule,
    Webhook,
    change_text,
    default_rules,
)
from workbench.diagnosis.monitoring import split_log, watch_log
from workbench.diagnosis.query_log import QueryLog, counted, rolling, statistics_of, window_size
from workbench.errors import InputError
from workbench.language import speaking

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_data" / "support" / "query_log.jsonl"
PLANTED = datetime.fromisoformat("2025-06-10T07:00:00Z").timestamp()


@pytest.fixture(scope="module")
def sample() -> QueryLog:
    return wb.load_log(SAMPLE)


def log_with(n: int | None = None, **columns) -> QueryLog:
    """A log without times from lists."""
    found = {name: np.asarray(values, dtype=float) for name, values in columns.items()}
    size = n or len(next(iter(found.values())))
    return QueryLog("made up", None, np.arange(1, size + 1), found)


# ---------------------------------------------------------------- reading


def test_every_way_to_write_a_log_gives_the_same_numbers(tmp_path):
    lines = [
        '{"timestamp": "2025-06-02T08:00:00+08:00", "Latency-MS": 120, "refused": false, "error": null, '
        '"faithfulness": 0.5}',
        '{"timestamp": 1748822401, "latency_seconds": 0.25, "refused": true, "error": "HTTP 502", '
        '"faithfulness": null}',
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with gzip.open(tmp_path / "b.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines))
    text = "时间,延迟ms,拒答,错误,faithfulness\n2025-06-02 00:00:00,120,否,,0.5\n2025/06/02 00:00:01,250,是,HTTP 502,\n"
    (tmp_path / "c.csv").write_text("\ufeff" + text, encoding="utf-8")
    for name in ("a.jsonl", "b.jsonl.gz", "c.csv"):
        log = wb.load_log(tmp_path / name)
        assert log.times.tolist() == [1748822400.0, 1748822401.0]
        assert log.columns["latency_ms"].tolist() == [120.0, 250.0]
        assert log.columns["refused"].tolist() == [0.0, 1.0] and log.columns["error"].tolist() == [0.0, 1.0]
        assert log.columns["faithfulness"][0] == 0.5 and math.isnan(log.columns["faithfulness"][1])


def test_rows_that_cannot_be_read_are_rejected_with_their_reason(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(
        '{"time": "2025-06-02T00:00:00Z", "latency_ms": 5}\n{"time": "torn\n[1]\n'
        '{"time": "yesterday", "latency_ms": 5}\n{"time": "2025-06-02T00:00:01Z", "latency_ms": -1}\n'
        '{"time": "2025-06-02T00:00:01Z", "latency_ms": "fast"}\n{"latency_ms": 7}\n'
        '{"time": "2025-06-02T00:00:02Z", "latency_ms": 6, "refused": "perhaps"}\n',
        encoding="utf-8",
    )
    log = wb.load_log(path)
    assert (log.n_read, log.n_rejected, len(log)) == (8, 7, 1)
    assert log.n_read == len(log) + log.n_rejected
    found = {row: (field, reason) for row, field, reason, _ in log.rejections}
    assert found[2][0] == "row" and "no JSON" in found[2][1] and "no object" in found[3][1]
    assert "no time" in found[4][1] and "negative" in found[5][1] and "no number" in found[6][1]
    assert found[7] == ("time", "has no time while other rows have one") and found[8][0] == "refused"
    assert log.rejected.columns.tolist() == ["row", "field", "reason", "excerpt"]


def test_what_is_not_finite_is_kept_apart_and_is_no_rejection(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"latency_ms": NaN}\n{"latency_ms": Infinity}\n{"latency_ms": null}\n{"latency_ms": 8}\n')
    log = wb.load_log(path)
    found = counted(log.columns["latency_ms"])
    assert (found.values.tolist(), found.n_missing, found.n_non_finite) == ([8.0], 1, 2)
    assert log.n_rejected == 0 and log.times is None and "no_times" in log.notes
    csv = tmp_path / "log.csv"
    csv.write_text("latency_ms\nnan\ninf\n8\n")
    assert counted(wb.load_log(csv).columns["latency_ms"]).n_non_finite == 2


def test_numbers_that_are_no_scores_are_left_out_unless_asked_for():
    records = [{"latency_ms": 1, "output_tokens": 0, "rerank": 7.5, "top_score": 0.5, "id": 1, "note": "x"}] * 2
    log = wb.load_log(records)
    assert log.scores == ["top_score"] and log.ignored == ("rerank",)
    assert wb.load_log(records, metrics=["rerank"]).scores == ["rerank"]


def test_rows_out_of_order_are_sorted_and_said():
    log = wb.load_log([{"time": 1748822500, "latency_ms": 2}, {"time": 1748822400, "latency_ms": 1}])
    assert log.columns["latency_ms"].tolist() == [1, 2] and log.rows.tolist() == [2, 1] and log.notes == ("sorted",)


def test_status_and_error_together_and_a_success_flag():
    log = wb.load_log(
        [{"error": None, "status": 500}, {"error": "boom", "status": 200}, {"error": None, "status": 200}]
    )
    assert log.columns["error"].tolist() == [1, 1, 0]
    assert wb.load_log([{"success": True}, {"success": False}]).columns["error"].tolist() == [0, 1]


def test_a_language_of_ones_own_names_fields_and_words(tmp_path, monkeypatch):
    monkeypatch.setattr(language, "_known", dict(language._known))
    (tmp_path / "language.toml").write_text("name = 'Deutsch'\n", encoding="utf-8")
    names, words = "latency_ms = ['dauer']\nrefused = ['abgelehnt']", "true = ['ja']\nfalse = ['nein']"
    (tmp_path / "log_fields.toml").write_text(f"[names]\n{names}\n[words]\n{words}\n", encoding="utf-8")
    language.add_language("de", tmp_path)
    log = wb.load_log([{"Dauer": took, "Abgelehnt": said} for took, said in ((5, "ja"), (7, "nein"), (9, "vielleicht"))])
    assert log.columns["latency_ms"].tolist() == [5, 7] and log.columns["refused"].tolist() == [1, 0]
    assert log.rejections[0][2].endswith("ja or nein")


def test_a_column_of_ones_own_name():
    log = wb.load_log([{"took": 0.5, "when": 1748822400}], mapping={"latency_s": "took", "time": "when"})
    assert log.columns["latency_ms"].tolist() == [500.0] and log.times.tolist() == [1748822400.0]


@pytest.mark.parametrize(
    ("source", "options", "says"),
    [
        ([], {}, "no usable row"),
        ([{"question": "q"}], {}, "no latency"),
        ([{"latency_ms": 1}], {"mapping": {"speed": "x"}}, "not known"),
        ([{"latency_ms": 1}], {"mapping": {"time": "when"}}, "no column 'when'"),
        ("missing.jsonl", {}, "cannot be read"),
        ("log.parquet", {}, "unknown kind"),
    ],
)
def test_what_is_no_log_is_one_clear_line(source, options, says):
    with pytest.raises(InputError, match=says):
        wb.load_log(source, **options)


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.just(10**400)
    | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)
FIELDS = st.sampled_from(
    ["time", "latency_ms", "latency_s", "refused", "error", "status", "success", "score", "\x1b[2J"]
)


@given(st.lists(st.dictionaries(FIELDS, ANYTHING, max_size=4), max_size=6))
def test_whatever_stands_in_a_log_each_row_is_kept_or_rejected(records):
    try:
        log = wb.load_log([*records, {"latency_ms": 1, "time": 1748822400}])
    except InputError:
        return
    assert log.n_read == len(records) + 1 == len(log) + log.n_rejected
    said = [*log.columns, *log.ignored, *(str(part) for rejection in log.rejections for part in rejection)]
    assert all(text.isprintable() for text in said)
    json.dumps(watch_log(log, BASE, window=1, rules=[]).to_dict(), allow_nan=False)


@given(st.dictionaries(st.sampled_from(["latency_ms", "refused", "error", "time", "score"]), ANYTHING, max_size=5))
def test_whatever_a_service_records_nothing_raises(fields):
    collector = wb.Collector(baseline=BASE, window=1)
    collector.record(**fields)
    collector.record(refused=True)
    assert collector.snapshot()["refusal_rate"]["value"] == 1


def test_a_frame_with_missing_values():
    log = wb.load_log(pd.DataFrame({"time": pd.to_datetime(["2025-06-02"]), "latency_ms": [3.0], "score": [np.nan]}))
    assert log.times.tolist() == [1748822400.0] and "score" not in log.columns


def test_the_sample_log(sample):
    assert (len(sample), sample.n_rejected, sample.scores) == (5000, 0, ["top_score", "faithfulness"])


# ---------------------------------------------------------------- windows


def test_the_window_asked_for_is_the_one_used():
    log = log_with(latency_ms=range(10))
    assert [(span.first, span.last) for span in rolling(log, 4, 3)] == [(0, 4), (3, 7), (6, 10)]
    assert [(span.first, span.last, span.fresh) for span in rolling(log, 4, 4)] == [(0, 4, 0), (4, 8, 4), (6, 10, 8)]
    assert rolling(log, 11) == []


def test_windows_of_time():
    times = np.array([0.0, 10, 20, 3600, 3601, 7300])
    log = QueryLog("t", times, np.arange(1, 7), {"latency_ms": np.arange(6.0)})
    assert [(span.first, span.last) for span in rolling(log, "1h", "1h")] == [(0, 3), (3, 5)]


@pytest.mark.parametrize(
    ("text", "size"), [(200, (200, 0)), ("200", (200, 0)), ("6h", (0, 21600)), ("30 min", (0, 1800))]
)
def test_sizes_of_windows(text, size):
    assert window_size(text) == size


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "six hours", "0h", True, ""])
def test_sizes_that_are_none(wrong):
    with pytest.raises(InputError, match="window or step"):
        window_size(wrong)


def test_time_over_a_log_without_times_or_a_step_of_another_kind():
    with pytest.raises(InputError, match="no times"):
        rolling(log_with(latency_ms=[1, 2]), "6h")
    with pytest.raises(InputError, match="another kind"):
        rolling(log_with(latency_ms=[1, 2]), 2, "1h")


def test_values_by_hand_and_no_data_no_number():
    values = [1, 2, 3, 4, math.nan, math.inf, math.nan, math.inf]
    refused = [1, 0, 0, 0, math.nan, math.nan, math.nan, math.nan]
    found = watch_log(
        log_with(latency_ms=values, refused=refused), log_with(latency_ms=[1, 2]), window=4, step=4, rules=[]
    )
    frame = found.windows(["latency_p50", "refusal_rate"]).set_index("statistic")
    assert frame.loc["latency_p50", "value"].tolist()[0] == 2.5
    assert frame.loc["latency_p50", ["n", "n_missing", "n_non_finite"]].to_numpy().tolist() == [[4, 0, 0], [0, 2, 2]]
    assert frame.loc["refusal_rate", "value"].tolist()[0] == 0.25
    assert frame["value"].isna().tolist() == [False, True, False, True]


@given(st.lists(st.floats(0, 1e4), min_size=8, max_size=40), st.sets(st.integers(0, 39)))
def test_values_that_are_not_finite_never_change_the_others(values, places):
    dirty = list(values)
    for place in sorted(places):
        dirty.insert(min(place, len(dirty)), math.inf)
    held = counted(np.array(dirty))
    assert held.values.tolist() == values and held.n_non_finite == len(places)


# ---------------------------------------------------------------- the sequential test


def test_the_detector_in_closed_form_is_the_recursion():
    values = np.random.default_rng(1).random(60)
    detector, sums = Detector(0.4, 1e9), np.zeros(7)
    bets = np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 0.95])
    for value in values:
        sums = (sums + 1) * (1 + bets * (value - 0.4) / 0.4)
    for part in np.split(values, [7, 30, 30]):
        detector.update(part)
    assert detector.evidence == pytest.approx(sums.mean() / 1e9)


def test_false_alarms_are_as_rare_as_promised():
    """At the edge of the null, c = 2,000 and 500 requests: P(alarm) ≤ 500 / 2,000 = 0.25, whenever one looks."""
    rng, alarms = np.random.default_rng(7), 0
    for _ in range(200):
        detector = Detector(0.1, 2_000)
        parts = (rng.random((50, 10)) < 0.1).astype(float)
        alarms += any(detector.update(part) >= 1 for part in parts)
    assert alarms / 200 <= 0.25


def test_evidence_falls_again_after_a_recovery():
    detector = Detector(0.1, 1_000)
    detector.update(np.ones(10_000))
    assert detector.evidence == pytest.approx(10)
    detector.update(np.zeros(1_000))
    assert detector.evidence < 1


# ---------------------------------------------------------------- alerts


def course(*parts: tuple[float, int]) -> list[float]:
    """A refusal series: (rate, n) parts, spread evenly."""
    return [float(math.floor((i + 1) * rate) > math.floor(i * rate)) for rate, n in parts for i in range(n)]


BASE = log_with(refused=course((0.1, 1000)))


def test_an_alert_fires_once_and_clears_once():
    log = log_with(refused=course((0.1, 400), (0.4, 800), (0.1, 800)))
    found = watch_log(log, BASE, window=100, step=10, rules=[Rule("refusal_rate", 0.1, "absolute")])
    assert [event.state for event in found.events] == [FIRED, CLEARED]
    fired, cleared = found.events
    assert 400 < fired.row <= 500 and 1200 < cleared.row <= 1300
    assert fired.limit == pytest.approx(0.2) and fired.clear_level == pytest.approx(0.15)
    assert fired.value > 0.2 and cleared.value <= 0.15 and found.firing == []
    frame = found.alerts()
    assert len(frame) == 1 and frame.loc[0, "cleared_row"] == cleared.row and frame.loc[0, "kind"] == "absolute"


def test_swinging_around_the_limit_is_one_alert():
    """18 % and 23 % in turn around a limit of 20 %: the clear level of 15 % is never met."""
    log = log_with(refused=course(*[(0.23, 300), (0.18, 300)] * 8))
    found = watch_log(log, BASE, window=100, step=10, rules=[Rule("refusal_rate", 0.1, "absolute")])
    crossings = np.diff((found.windows(["refusal_rate"])["value"] > 0.2).astype(int))
    assert (crossings > 0).sum() >= 5
    assert [event.state for event in found.events] == [FIRED]


def test_relative_and_absolute_are_two_things_and_are_named():
    """10 % → 14 %: +40 % relative, +4 points absolute."""
    log = log_with(refused=course((0.14, 4000)))
    relative, absolute = (
        Rule("refusal_rate", 0.3, "relative", min_n=50),
        Rule("refusal_rate", 0.3, "absolute", min_n=50),
    )
    found = watch_log(log, BASE, window=1000, rules=[relative, absolute])
    assert [(event.kind, event.state) for event in found.events] == [("relative", FIRED)]
    event = found.events[0]
    assert event.change == pytest.approx(0.4) and event.change_text == "+40 % relative to the baseline"
    assert change_text("refusal_rate", "absolute", 0.04) == "+4.0 percentage points (absolute)"
    assert change_text("latency_p95", "absolute", 300) == "+300 ms (absolute)"
    with speaking("zh"):
        assert "相对基线 +40%" in event.message


def test_too_few_values_say_nothing():
    refused = [math.nan] * 1000
    refused[::50] = [1.0] * 20
    found = watch_log(log_with(refused=refused), BASE, window=100, rules=[Rule("refusal_rate", 0.1, "absolute")])
    assert found.windows(["refusal_rate"])["value"].min() == 1 and found.events == []


def test_an_alert_is_not_cleared_by_silence():
    log = log_with(refused=[*course((0.5, 400)), *[math.nan] * 400])
    found = watch_log(log, BASE, window=100, rules=[Rule("refusal_rate", 0.1, "absolute")])
    assert [event.state for event in found.events] == [FIRED] and len(found.firing) == 1


def test_rules_that_cannot_fire_say_why():
    base = log_with(refused=[0.0] * 200, faithfulness=[0.5] * 200, error=[1.0] * 200)
    log = log_with(refused=[1.0] * 400, faithfulness=[0.1] * 400, error=[0.0] * 400, latency_ms=[1.0] * 400)
    rules = [
        Rule("refusal_rate", 0.5, "relative"),
        Rule("faithfulness", 0.6, "absolute"),
        Rule("latency_p50", 0.1, "relative"),
    ]
    found = watch_log(log, base, window=100, rules=rules)
    assert found.rules_table()["problem"].tolist() == ["zero", "unreachable", "baseline"]
    assert found.events == []


def test_a_score_is_worse_when_low_and_a_rate_of_hallucination_when_high():
    found = {
        item.name: item.worse for item in statistics_of({"faithfulness": 0, "hallucination_rate": 0, "my_score": 0})
    }
    assert found == {"faithfulness": "down", "hallucination_rate": "up", "my_score": "down"}
    rng = np.random.default_rng(0)
    base = log_with(faithfulness=np.clip(rng.normal(0.9, 0.05, 500), 0, 1))
    log = log_with(faithfulness=np.clip(rng.normal(0.8, 0.05, 500), 0, 1))
    event = watch_log(log, base, window=100).events[0]
    assert event.worse == "down" and event.value < event.limit < event.clear_level < event.baseline


@pytest.mark.parametrize(
    "wrong",
    [{"kind": "percent"}, {"change": -1}, {"change": math.nan}, {"worse": "left"}, {"clear": 1}, {"min_n": 0},
     {"false_alarm_every": 1}],
)  # fmt: skip
def test_rules_that_make_no_sense(wrong):
    with pytest.raises(InputError, match="rule for refusal_rate"):
        Rule(**{"statistic": "refusal_rate", "change": 0.1, "kind": "absolute"} | wrong)


def test_a_rule_for_nothing_that_is_there():
    with pytest.raises(InputError, match="there are refusal_rate"):
        watch_log(BASE, BASE, window=100, rules=[Rule("latency_p95", 0.1, "relative")])


# ---------------------------------------------------------------- the planted degradation


def test_the_degradation_of_the_sample_log_is_found_soon_and_nothing_before_it(sample):
    found = wb.monitor(sample)
    fired = {event.statistic: event.at for event in found.events if event.state == FIRED}
    assert set(fired) == {"latency_p50", "latency_p95", "refusal_rate", "faithfulness"}
    assert min(fired.values()) >= PLANTED and max(fired.values()) - PLANTED < 5 * 3600
    assert min(fired.values()) - PLANTED < 2 * 3600
    assert len(found.events) == len(found.firing) == 4


def test_no_alarm_on_shuffled_logs_without_degradation(sample):
    """The 3,966 requests before the release in 30 random orders: the first 30 % is the baseline of the rest."""
    healthy = sample.part(0, int(np.searchsorted(sample.times, PLANTED)))
    rng, alarms = np.random.default_rng(11), 0
    for _ in range(30):
        order = rng.permutation(len(healthy))
        columns = {name: values[order] for name, values in healthy.columns.items()}
        alarms += watch_log(QueryLog("shuffled", None, healthy.rows, columns)).n_fired > 0
    assert alarms <= 1


def test_an_evaluation_can_be_the_baseline(sample):
    found = wb.monitor(sample, ROOT / "sample_data" / "support" / "evaluations" / "baseline")
    assert [(event.statistic, event.state) for event in found.events] == [("faithfulness", FIRED)]
    assert found.events[0].at > PLANTED and found.levels["top_score"].n == 0


def test_where_the_own_baseline_ends(sample):
    before, after = split_log(sample, "2025-06-10T07:00:00Z")
    assert (len(before), len(after)) == (3966, 1034)
    for wrong in ("someday", 1.5, "2030-01-01"):
        with pytest.raises(InputError):
            split_log(sample, wrong)


def test_everything_can_be_written_as_json(sample):
    found = json.loads(json.dumps(wb.monitor(sample).to_dict(), allow_nan=False))
    assert found["n_windows"] == 67 and found["events"][0]["statistic"] == "latency_p95"


# ---------------------------------------------------------------- the collector


def test_the_collector_says_what_the_log_says(sample):
    base, rest = split_log(sample)
    whole = rest.part(0, 3500)
    found = watch_log(whole, base, window=200, step=50)
    collector = wb.Collector(baseline=base, window=200, step=50)
    for request in whole.records():
        collector.record(**request)
    assert [(a.statistic, a.at, a.value) for a in collector.alerts] == [
        (e.statistic, e.at, e.value) for e in found.events
    ]
    assert [alert.statistic for alert in collector.firing] == [event.statistic for event in found.firing] or len(
        collector.firing
    ) == len(found.firing)


def test_memory_is_bounded_and_nothing_raises():
    collector = wb.Collector(window=10)
    for i in range(1000):
        collector.record(latency_ms=i, refused="perhaps", error=None, time="yesterday", score="high")
    collector.record(latency_ms=math.nan, score=math.inf, refused=math.nan)
    collector.record(latency_ms=object(), bad={"a": 1})
    assert len(collector._records) == 10 and collector.n_recorded == 1002 and collector.n_unreadable == 3 * 1000 + 2
    assert collector.snapshot()["latency_p50"] == {"value": 995.5, "n": 8, "n_non_finite": 1}
    assert collector.snapshot()["score"] == {"value": None, "n": 0, "n_non_finite": 1}


def test_threads_write_whole_lines(tmp_path):
    path = tmp_path / "live.jsonl"
    collector = wb.Collector(path, window=50)
    threads = [
        threading.Thread(target=lambda: [collector.record(latency_ms=5, refused=False, score=0.5) for _ in range(200)])
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    collector.close()
    log = wb.load_log(path)
    assert collector.n_recorded == len(log) == 1600 and log.n_rejected == 0


def test_what_was_recorded_survives_a_kill(tmp_path):
    path = tmp_path / "live.jsonl"
    code = (
        "import sys, workbench as wb\nc = wb.Collector(sys.argv[1])\n"
        "for i in range(10**9):\n    c.record(latency_ms=i)\n    print(i, flush=True)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    lines = [child.stdout.readline() for _ in range(20)]
    os.kill(child.pid, signal.SIGKILL)
    said = [*lines, *child.stdout.readlines()]
    child.wait()
    last = max(int(line) for line in said if line.endswith("\n") and line.strip())
    assert wb.load_log(path).columns["latency_ms"].tolist()[: last + 1] == list(range(last + 1))


def test_a_new_collector_goes_on_after_a_torn_line_and_fires_nothing_twice(tmp_path):
    path, sent = tmp_path / "live.jsonl", []
    rules = [Rule("refusal_rate", 0.1, "absolute")]
    with wb.Collector(path, baseline=BASE, rules=rules, window=100) as first:
        for refused in course((0.5, 300)):
            first.record(refused=bool(refused))
    with path.open("ab") as file:
        file.write(b'{"time": 12')
    with wb.Collector(path, baseline=BASE, rules=rules, window=100, on_alert=sent.append) as second:
        assert second.n_recorded == 300 and [a.statistic for a in second.firing] == ["refusal_rate"]
        for refused in course((0.5, 300), (0.0, 300)):
            second.record(refused=bool(refused))
    assert [alert.state for alert in sent] == [CLEARED]
    log = wb.load_log(path)
    assert (len(log), log.n_rejected) == (900, 1)


def test_no_question_and_no_key_is_written(tmp_path):
    path = tmp_path / "live.jsonl"
    with wb.Collector(path) as collector:
        collector.record(latency_ms=1, error="401 for key sk-abcdefgh12345678")
    text = path.read_text()
    assert "sk-abcdefgh" not in text and set(json.loads(text)) == {"time", "latency_ms", "error"}


def test_a_full_disk_is_counted_and_does_not_stop_the_service(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    collector = wb.Collector(tmp_path / "file" / "live.jsonl")
    for _ in range(3):
        collector.record(latency_ms=1)
    assert (collector.n_recorded, collector.n_unwritten) == (3, 3) and len(caplog.records) == 1


def test_a_line_that_the_system_takes_in_pieces_is_whole(tmp_path, monkeypatch):
    path, write = tmp_path / "live.jsonl", os.write
    cuts = iter([7])
    monkeypatch.setattr(os, "write", lambda file, line: write(file, line[: next(cuts, len(line))]))
    with wb.Collector(path) as collector:
        for i in range(3):
            collector.record(latency_ms=i)
    log = wb.load_log(path)
    assert log.columns["latency_ms"].tolist() == [0, 1, 2] and log.n_rejected == 0


def test_a_block_is_timed_and_its_exception_goes_on():
    collector = wb.Collector()
    with pytest.raises(KeyError), collector.request() as request:
        request.score(faithfulness=0.5)
        raise KeyError("k")
    assert collector.snapshot()["error_rate"]["value"] == 1 and collector.snapshot()["faithfulness"]["value"] == 0.5


def test_a_collector_that_makes_no_sense():
    for wrong in ({"window": "6h"}, {"step": 0}, {"rules": [Rule("refusal_rate", 0.1, "absolute")]}, {"on_alert": [3]},
                  {"on_alert": "ftp://host/x"}):  # fmt: skip
        with pytest.raises(InputError):
            wb.Collector(**wrong)


# ---------------------------------------------------------------- delivery


@pytest.fixture
def event():
    return watch_log(log_with(refused=course((0.5, 400))), BASE, window=100).events[0]


class _Receiver(http.server.BaseHTTPRequestHandler):
    bodies: ClassVar[list] = []
    reply = 200

    def do_POST(self):
        self.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.reply)
        if self.reply == 302:
            self.send_header("Location", "http://127.0.0.1:9/elsewhere")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def receiver():
    _Receiver.bodies, _Receiver.reply = [], 200
    server = http.server.HTTPServer(("127.0.0.1", 0), _Receiver)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def test_a_webhook_gets_the_alert_as_json(receiver):
    url = f"http://127.0.0.1:{receiver.server_port}/hook?token=s3cret"
    with wb.Collector(baseline=BASE, window=100, on_alert=url) as collector:
        for refused in course((0.5, 300)):
            collector.record(refused=bool(refused))
    assert [body["statistic"] for body in _Receiver.bodies] == ["refusal_rate"]
    assert "absolute" in _Receiver.bodies[0]["message"] and _Receiver.bodies[0]["state"] == FIRED


@pytest.mark.parametrize(("reply", "tries"), [(500, 2), (404, 1), (302, 1)])
def test_a_refusing_webhook_is_named_without_its_secret(receiver, event, reply, tries, caplog):
    _Receiver.reply = reply
    hook = Webhook(f"http://127.0.0.1:{receiver.server_port}/T000/s3cret", headers={"Authorization": "Bearer s3cret"})
    with caplog.at_level(logging.DEBUG):
        dispatcher = Dispatcher(hook)
        dispatcher.put(event)
        assert dispatcher.close()
    assert (dispatcher.sent, dispatcher.failed, len(_Receiver.bodies)) == (0, 1, tries)
    assert f"HTTP {reply}" in caplog.text and "s3cret" not in caplog.text + repr(hook)


def test_a_webhook_that_is_down_says_only_where(event):
    with pytest.raises(OSError, match=r"webhook at http://127\.0\.0\.1:9: ") as caught:
        Webhook("http://127.0.0.1:9/s3cret", timeout=0.5)(event)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://host/x",
        "javascript:alert(1)",
        "http://",
        "host/x",
        "http://u:p@host/",
        "http://[",
        "",
    ],
)
def test_only_http_and_https(url):
    with pytest.raises(InputError, match="webhook") as caught:
        Webhook(url)
    assert "u:p" not in str(caught.value) and "passwd" not in str(caught.value)


def test_a_receiver_that_hangs_or_raises_never_holds_the_service(event):
    gate, seen = threading.Event(), []

    def slow(_):
        gate.wait(10)

    dispatcher = Dispatcher(slow)
    began = time.perf_counter()
    for _ in range(WAITING + 50):
        dispatcher.put(event)
    assert time.perf_counter() - began < 1 and dispatcher.dropped >= 49
    gate.set()
    assert dispatcher.close()
    failing = Dispatcher(lambda _: 1 / 0, seen.append)
    failing.put(event)
    assert failing.close() and failing.failed == 1 and seen == [event]


def test_default_rules_name_their_kind():
    kinds = {
        rule.statistic: rule.kind for rule in default_rules(statistics_of({"latency_ms": 0, "refused": 0, "error": 0}))
    }
    assert kinds == {"latency_p50": "relative", "latency_p95": "relative", "refusal_rate": "absolute",
                     "error_rate": "absolute"}  # fmt: skip
