"""Panel 09 without a kernel: sliders change counts and picture, windows and metrics follow, pins are kept."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench.diagnosis.query_log import QueryLog
from workbench.language import get_language, set_language

SUPPORT = Path(__file__).resolve().parents[2] / "sample_data" / "support"
LOG = SUPPORT / "query_log.jsonl"


@pytest.fixture(scope="module")
def log():
    return wb.load_log(LOG)


@pytest.fixture(autouse=True)
def english():
    before = get_language()
    set_language("en")
    yield
    set_language(None)
    set_language(before)


@pytest.fixture
def session(tmp_path):
    folder = shutil.copytree(SUPPORT / "evaluations" / "baseline", tmp_path / "baseline")
    return wb.Session(wb.load_evaluation(folder))


def test_the_limit_moves_counts_and_picture(log):
    panel = wb.panels.monitoring(log)
    seen = []
    for value in (0.0, 0.5, 0.51, 1.0):
        panel.allowed.value = value
        seen.append((panel.count.value, panel.picture.image.value))
    assert len({count for count, _ in seen}) == 4 and len({image for _, image in seen}) == 4
    assert panel.words() == "20 of 67 windows beyond 3,666 ms; alerts: 1 of this metric, 4 in all"
    assert panel.error.layout.display == "none"


def test_window_and_metric_follow(log):
    panel = wb.panels.monitoring(log)
    panel.window.value = "6h"
    panel.statistic.value = "refusal_rate"
    assert "118 windows" in panel.words() and "have fewer than 50 values and decide nothing" in panel.words()
    assert panel.kind.value == "absolute" and panel.allowed.value == pytest.approx(0.05)
    panel.min_n.value = 1
    assert "decide nothing" not in panel.words()


def test_another_kind_keeps_the_limit_and_names_itself(log):
    panel = wb.panels.monitoring(log)
    assert panel.rule.kind == "relative" and panel.rule.change == 0.5
    panel.kind.value = "absolute"
    assert panel.rule.change == pytest.approx(920) and "seconds" in panel.unit.value
    panel.kind.value = "relative"
    assert panel.rule.change == pytest.approx(0.5, abs=0.011) and "of the baseline" in panel.unit.value


def test_the_99th_percentile_is_watched_only_while_it_is_looked_at(log):
    panel = wb.panels.monitoring(log)
    assert "latency_p99" not in set(panel.table()["statistic"])
    panel.statistic.value = "latency_p99"
    assert "latency p99" in panel.html()._repr_html_()


def test_table_and_html_name_alerts_and_kind(log):
    panel = wb.panels.monitoring(log)
    assert panel.table()["statistic"].tolist() == ["latency_p95", "latency_p50", "faithfulness", "refusal_rate"]
    page = panel.html()._repr_html_()
    assert "+11.7 percentage points (absolute)" in page and "+94 % relative to the baseline" in page
    assert "one false alarm of a rule in 100,000 requests" in page and not re.search(
        r"<script|overflow-x: *scroll", page
    )


def test_a_pin_is_kept_and_its_snippet_runs(session):
    panel = wb.panels.monitoring(session, LOG)
    panel.pin.click()
    finding = session.findings[-1]
    assert finding.panel == "monitoring" and finding.n_total == 3500 and "latency p95" in finding.note
    assert finding.value == pytest.approx(panel.found.windows(["latency_p95"])["value"].iloc[-1])
    namespace = {}
    *lines, last = finding.snippet.splitlines()
    exec("\n".join(lines), namespace)
    assert eval(last, namespace)["statistic"].tolist() == ["latency_p95"]


def test_without_a_log_the_evaluation_stands_in_and_it_says_so(session):
    panel = wb.panels.monitoring(session)
    notes = panel.notes.value
    assert "No query log was given" in notes and "have no time" in notes
    assert panel.figure() is not None and panel.error.layout.display == "none"


def test_an_evaluation_as_baseline(log):
    panel = wb.panels.monitoring(log, baseline=SUPPORT / "evaluations" / "improved")
    assert panel.statistic.value == "faithfulness" and "An evaluation is a test set" in panel.notes.value
    panel.statistic.value = "latency_p95"
    assert "too few values (n = 80 of 100)" in panel.words()


def test_a_window_longer_than_the_log_gives_no_number():
    short = QueryLog("short", None, np.arange(1, 31), {"latency_ms": np.arange(30.0)})
    panel = wb.panels.monitoring(short, window=500)
    assert "n = 0, no number" in panel.notes.value and panel.words().startswith("0 of 0 windows")
    assert panel.figure() is not None and len(panel.table()) == 0 and "No alert" in panel.html()._repr_html_()


def test_values_that_are_not_finite_are_counted_on_the_panel():
    values = np.full(400, 100.0)
    values[300:310] = np.inf
    panel = wb.panels.monitoring(QueryLog("x", None, np.arange(1, 401), {"latency_ms": values}))
    assert "10 values are not finite and are counted apart" in panel.words()


def test_nothing_to_watch(log):
    empty = QueryLog("x", None, np.arange(1, 3), {})
    panel = wb.panels.monitoring(empty)
    assert "Nothing can be watched" in panel.html()._repr_html_() and panel.figure() is None


def test_arms_of_a_log_are_compared_side_by_side(log):
    panel = wb.panels.monitoring("sample_data/support/query_log.jsonl")
    names = [value for _, value in panel.arm.options]
    assert "release" in names and "question" not in names and "time" not in names and panel.found_arms is None
    panel.arm.value = "release"
    arms = panel.arms_tab.children[2]._frame
    assert panel.found_arms["verdict"].eq("worse").any() and len(arms) == len(panel.found_arms)
    assert any(text.startswith("✗ worse") for text in arms["verdict"]) and "Arms: release" in str(panel.html())
    last = panel.found_arms["arm"].iloc[-1]
    panel.control.value = last
    assert set(panel.found_arms["control"]) == {last}
    panel.arm.value = ""
    assert panel.found_arms is None and "Arms: " not in str(panel.html())


def test_in_chinese(log):
    set_language("zh")
    panel = wb.panels.monitoring(log)
    assert "个窗口中有" in panel.count.value and panel.tabs.titles[0] == "告警"
    assert "相对基线 +94%" in panel.html()._repr_html_()


def test_what_a_log_says_is_escaped():
    records = [{"latency_ms": 1.0, "<script>alert(1)</script>": 0.5}] * 40 + [{"latency_ms": "<img src=x onerror=1>"}]
    panel = wb.panels.monitoring(wb.load_log(records, name="<b>x</b>"))
    panel.statistic.value = "<script>alert(1)</script>"
    page = panel.html()._repr_html_() + panel.count.value + panel.notes.value + panel.rejected._body.value
    assert "<script>" not in page and "<img src=x" not in page and "<b>x" not in page


def test_css_classes(session):
    panel = wb.panels.monitoring(session, LOG)
    classes = {name for widget in (panel.allowed, panel.count, panel.picture.image, panel.pin, panel.error)
               for name in widget._dom_classes}  # fmt: skip
    assert classes >= {"wb-threshold", "wb-count", "wb-figure", "wb-pin", "wb-error"}
    assert (panel.allowed.min, panel.allowed.max, panel.allowed.step, panel.allowed.continuous_update) == (
        0,
        1,
        0.01,
        False,
    )


def test_it_is_saved(log, tmp_path):
    written = wb.panels.monitoring(log).save(tmp_path)
    assert sorted(path.name for path in written) == ["monitoring.csv", "monitoring.html", "monitoring.png"]


def test_an_empty_list_speaks(log):
    panel = wb.panels.monitoring(log)
    assert "No row of the log was rejected." in panel.rejected._body.value
    assert panel.pin.description == "Save view"
