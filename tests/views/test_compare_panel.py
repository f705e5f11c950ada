"""Panel 06: two runs picked, flow, list by contrast, side by side with differences marked, gate, one run alone."""

from __future__ import annotations

import shutil

import pytest

import workbench as wb
from tests.two_runs import RIGHT, WRONG, case, run, two_runs
from workbench.views.panels.compare import changed_samples, text_differences


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two saved runs in one folder, to be copied: making them is what costs."""
    folder = tmp_path_factory.mktemp("runs")
    for one in two_runs():
        one.save(folder / one.name)
    return folder


@pytest.fixture
def saved(made, tmp_path):
    """Two saved runs in one folder of the test's own."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "before", tmp_path / "after"


@pytest.fixture
def panel(saved):
    return wb.panels.compare(wb.Session(wb.load_evaluation(saved[1])), saved[0])


def test_it_opens_with_what_broke(panel):
    assert panel.table().index.tolist() == ["b", "c", "a"] and panel.session.selection == "b"
    assert "16 points worse" in panel.head.value or "17 points worse" in panel.head.value
    assert "broken <strong>2</strong>" in panel.count.value and panel.picture.image.value[:4] == b"\x89PNG"
    assert panel.error.value == "" and panel.error.layout.display == "none"


def test_runs_beside_it_are_offered_and_the_one_after_can_be_changed(saved):
    panel = wb.panels.compare(wb.Session(wb.load_evaluation(saved[1])))
    assert panel.before.options == (("before", "before"),) and panel.after.value == "after"
    panel.after.value = "before"
    assert panel.session.evaluation.name == "before" and panel.before.value == "after"
    assert panel.comparison.counts.fixed == 2, "the two changed places"
    panel.after.value = "after"
    assert panel.comparison.counts.broken == 2 and panel.error.value == ""


def test_filters_by_change_and_cause(panel):
    panel.shown.value = "fixed"
    assert panel.table().index.tolist() == ["a"]
    panel.shown.value = "all"
    assert len(panel.table()) == 6
    panel.cause.value = "retrieval_miss"
    assert sorted(panel.table().index) == ["b", "d"]
    panel.session.set_filter(text="nothing like it")
    assert not len(panel.table()) and "No sample to list" in panel.card.body.value
    panel.filters.reset.click()
    panel.shown.value, panel.cause.value = "moved", ""
    for _ in range(2):  # the worst change comes first, then the best
        panel.rows.receive({"do": "sort", "key": "contrast"})
    assert panel.table().index[0] == "a"
    panel.shown.value = "noise"
    assert "judge noise" in panel.card.body.value


def test_sorting_and_stepping(panel):
    panel.stepper.next.click()
    assert panel.session.selection == "c" and "sample 2 of 3" in panel.stepper.position.value.replace(
        "Sample", "sample"
    )
    panel.rows.receive({"do": "sort", "key": "sample_id"})
    assert panel.table().index.tolist() == ["a", "b", "c"] and panel.rows.view["rows"][0][1] == ("✓ fixed", "wb-good")


def test_a_band_of_the_flow_lists_its_samples(panel):
    cell = panel.comparison.ledger().query("cause_before == 'pass' and cause_after != 'pass'").iloc[0]
    key = {"before": "pass", "after": cell["cause_after"]}
    assert key in [one["key"] for one in panel.picture.overlay.regions]
    panel.picture.receive({"do": "click", "key": key})
    assert set(panel.table().index) == set(cell["sample_ids"]) and "pass →" in panel.rows.view["note"]
    panel.picture.receive({"do": "click", "key": {"after": "pass"}})
    assert set(panel.table()["cause_after"]) == {"pass"}


def test_side_by_side_marks_what_differs(panel):
    panel.session.select("b")
    body = panel.card.body.value
    assert "wb-sides" in body and "5" in body and "9" in body
    assert 'title="only before" class="wb-mark wb-gone">5</mark>' in body
    assert 'title="only after" class="wb-mark wb-new">9</mark>' in body
    assert "2 → not retrieved" in body and "Another number" in body and "newly unsupported" in body
    assert "− " in body, "a context that only the run before has"
    assert body.count("<summary>") == 3, "two contexts before, one after"
    panel.session.select("c")
    assert "The contexts are the same in both runs" in panel.card.body.value


def test_differences_in_texts_are_found_by_words_and_characters():
    def cut(own, other, kind="gone"):
        return [own[mark.start : mark.end] for mark in text_differences(own, other, kind)]

    assert cut("Plan A has 500 units.", "Plan A has 5000 units.") == ["500"], "a number is one word"
    assert cut("企业版支持五百个会话。", "企业版支持八百个会话。") == ["五"]
    assert cut("same", "same") == []


def test_the_threshold_is_shared(panel):
    first = panel.picture.image.value
    panel.cut.value = 1.0
    assert panel.session.thresholds.support == 1.0 and panel.comparison.before.thresholds.support == 1.0
    panel.session.set_thresholds(support=0.5)
    assert panel.cut.value == 0.5 and panel.picture.image.value == first
    panel.by_metric.value = True
    assert panel.chart.image.value[:4] == b"\x89PNG" and "pairs" in panel.tests_box.value


def test_a_pin_keeps_both_runs_and_the_difference(panel):
    panel.card.pin.click()
    pin = panel.session.findings[-1]
    assert pin.runs == ("before", "after") and pin.sample_ids == ("b", "c", "a") and pin.n_total == 6
    assert pin.value == pytest.approx(-1 / 6) and pin.low <= pin.value <= pin.high
    assert pin.png()[:4] == b"\x89PNG" and "wb.panels.compare" in pin.snippet
    names = {"wb": wb}
    *lines, last = pin.snippet.splitlines()
    exec("\n".join(lines), names)
    assert eval(last, names).index.tolist() == ["b", "c", "a"], "the snippet gives the same table"


def test_verdicts_are_saved_on_the_card(panel):
    panel.card.verdict.value = "wrong"
    assert panel.session.annotations["b"].verdict == "wrong"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_one_run_alone_says_what_it_lacks(tmp_path, language):
    wb.set_language(language)
    panel = wb.panels.compare(
        wb.Session(two_runs()[0].save(tmp_path / "only") and wb.load_evaluation(tmp_path / "only"))
    )
    words = {"en": "one evaluation only", "zh": "只有一次评测"}[language]
    assert words in panel.html() and words in panel.empty.value and panel.tabs.layout.display == "none"
    assert not len(panel.table()) and panel.figure() is None and not len(panel.tests())
    panel.pin(), panel.session.set_thresholds(support=0.4)
    assert panel.error.value == "" and not panel.session.findings


def test_runs_without_a_common_sample(tmp_path):
    session = wb.Session(run([case("x")], "x"))
    panel = wb.panels.compare(session, {"y": run([case("y", question="Who owns plan B?")], "y")})
    assert "no sample id is in both" in panel.head.value and panel.figure() is None
    assert "no sample id" in panel.html() and panel.error.value == ""


@pytest.mark.parametrize("language", ["en", "zh"])
def test_static_twins_in_both_languages(saved, tmp_path, language):
    wb.set_language(language)
    panel = wb.panels.compare(wb.Session(wb.load_evaluation(saved[1])), str(saved[0]))
    page = panel.html()
    assert page.count("<img") == 2 and "<script" not in page and ("新增失败" in page) is (language == "zh")
    assert {path.suffix for path in panel.save(tmp_path / "out")} == {".html", ".csv", ".png"}


def test_slices_in_which_samples_broke(tmp_path):
    """30 of one type pass and then fail, 30 of the other keep passing."""
    kinds = {f"s{i}": "policy" if i % 2 else "fact" for i in range(60)}
    before = run([case(name, case_type=kind) for name, kind in kinds.items()], "x")
    after = run([case(name, WRONG if kind == "policy" else RIGHT, case_type=kind) for name, kind in kinds.items()], "y")
    panel = wb.panels.compare(wb.Session(after), before)
    rules = panel.comparison.slices()
    assert rules.iloc[0]["n_failing"] == 30 and "policy" in rules.iloc[0]["rule"]
    panel.by_metric.value = True
    assert "policy" in panel.tests_box.value and "Slices in which" in panel.html()


def test_hostile_text_stays_text(tmp_path):
    evil = "<script>alert(1)</script> 5"
    before, after = run([case("a", evil)], "<b>x"), run([case("a", evil + " more")], "y")
    panel = wb.panels.compare(wb.Session(after, tmp_path / "s"), before)
    panel.shown.value = "all"
    assert "<script" not in panel.card.body.value + panel.html() and "<b>x" not in panel.html()


def test_a_warning_stands_before_any_number(saved):
    other = run([case("a"), case("b")], "other")
    other.manifest["judge"] = "llm:x"
    panel = wb.panels.compare(wb.Session(wb.load_evaluation(saved[1])), other)
    assert panel.head.value.index("Different judges") < panel.head.value.index("matched")


def test_freezing_and_checking_give_the_verdict_of_the_command_line(panel, saved, tmp_path, capsys):
    from workbench.cli import main

    path = tmp_path / "gate.toml"
    panel.gate.rules.value = str(path)
    panel.gate.check.click()
    assert "no such file" in panel.error.value
    panel.session.set_thresholds(support=0.45, targets={"faithfulness": 0.9})
    panel.gate.freeze.click()
    path.write_text(path.read_text(encoding="utf-8") + "\n[rules.no_regression]\nmax_broken = 1\n", encoding="utf-8")
    panel.gate.check.click()
    assert main(["gate", str(saved[1]), "--baseline", str(saved[0]), "--rules", str(path)]) == 1
    printed = capsys.readouterr().out.strip().splitlines()
    assert printed[-1] in panel.gate.result.value and "is blocked" in printed[-1]
    for line in printed[:-1]:
        assert line.split(":")[0] in panel.gate.result.value


def test_the_panel_hides_nothing_of_the_widget_it_is(panel):
    """A method called ``_compare`` once replaced the one by which widgets compare their values."""
    import ipywidgets

    kinds = (type(panel), type(panel.card), type(panel.gate))
    own = {
        name for kind in kinds for name, value in vars(kind).items() if callable(value) and not name.startswith("__")
    }
    assert own & set(dir(ipywidgets.VBox)) <= {"_repr_mimebundle_"}


def test_the_series_begins_the_panel_and_two_of_its_runs_are_compared(saved, tmp_path):
    third = run([case(name, WRONG) for name in "abcdef"], "third", started="2020-01-01").save(tmp_path / "third")
    panel = wb.panels.compare(wb.Session(wb.load_evaluation(saved[1])), {"old": third, "mid": saved[0]})
    assert panel.runs_table(["passed"])["mean"].tolist() == [0.0, 4 / 6, 0.5]
    top = panel.series
    top.work.join()
    assert top.picture.image.value[:4] == b"\x89PNG" and "old" in top.tables.value
    assert set(top.matrix().loc["a"]) > {"pass"}
    assert panel.tabs.selected_index == 1, "several runs begin with their series"
    top.click_run("old")
    top.click_run("mid")
    assert panel.tabs.selected_index == 0, "what was chosen is seen at once"
    assert (panel.before.value, panel.session.evaluation.name) == ("mid", "third"), "the one with the later date is after"
    top.sample.value = "a"
    assert "wb-new" in top.card.value, "what the run before did not say is marked"
    top.state.value = "flaky"
    assert len(top.matrix()) == 0


def test_two_runs_begin_with_their_comparison(saved):
    panel = wb.panels.compare(wb.Session(wb.load_evaluation(saved[1])), {"old": saved[0]})
    panel.series.work.join()
    assert panel.tabs.selected_index == 0 and panel.series.body.layout.display is None and panel.series.words.value


def test_the_list_without_a_panel(saved):
    session = wb.Session(wb.load_evaluation(saved[1]))
    comparison = wb.compare(saved[0], session.evaluation)
    assert sorted(changed_samples(session, comparison, shown="changed").index.tolist()) == ["a", "b", "c", "d"]
    assert changed_samples(session, comparison)["question"].notna().all()
