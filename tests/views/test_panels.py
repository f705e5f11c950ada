"""Panels 00, 01 and 10, the table that turns pages, and what all panels share."""

from __future__ import annotations

import threading

import pandas as pd
import pytest

from workbench.data.files import REPORT_FORMATS
from workbench.data.load import load_samples
from workbench.errors import CancelledError, InputError, JudgeError
from workbench.language import speaking
from workbench.views.data_paths import SAMPLE, baseline_path, corpus_path, data_path, remember
from workbench.views.html import h
from workbench.views.panels.dataset import Dataset, fields_table
from workbench.views.panels.export import Export, findings_table
from workbench.views.panels.low_scores import LowScores
from workbench.views.panels.score import Score, reading, score_table
from workbench.views.session import Session
from workbench.views.widgets import Background, PagedTable, Panel, Work, WorkProgress, markup, show


@pytest.fixture
def session(fake, tmp_path):
    return Session(fake(path=tmp_path / "evaluation"))


@pytest.fixture
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


# ---------------------------------------------------------------- 00


def test_a_file_shows_what_is_in_it(tmp_path, own_cache):
    path = tmp_path / "mine.csv"
    path.write_text("question,answer\nWhat is it?,A thing.\n,no question\n是什么？,\n", encoding="utf-8")
    panel = Dataset(str(path))
    shown = panel.html()
    assert "3 rows read = 2 kept + 1 rejected" in shown
    assert "en 1, zh 1" in shown
    assert "○" in shown and "reference" in shown and "context recall" in shown
    assert len(panel.table()) > 0


def test_fields_are_counted():
    fields = fields_table(load_samples([{"question": "q", "answer": None, "contexts": [], "tags": {}}])).set_index(
        "field"
    )
    assert fields["n"].to_dict()["question"] == 1
    assert fields.loc[["answer", "tags", "reference"], "n"].tolist() == [0, 0, 0]
    assert fields.at["contexts", "n"] == 1


def test_the_path_box_is_inherited_and_a_path_in_the_notebook_wins(tmp_path, own_cache):
    mine = tmp_path / "mine.jsonl"
    mine.write_text('{"question": "q", "answer": "a"}\n')
    panel = Dataset(load_samples(mine))
    panel.path.value = f'  "{mine}" '
    panel.load.click()
    assert "now open" in panel.message.value
    assert data_path() == data_path(None, "improved") == str(mine)
    assert data_path("other.csv") == "other.csv" and data_path(SAMPLE).endswith("evaluations/baseline")
    assert corpus_path() is None and corpus_path("kb.jsonl") == "kb.jsonl"
    panel.back.click()
    assert data_path() != str(mine)


def test_the_run_before_is_chosen_beside_the_data(tmp_path, own_cache):
    mine, before = tmp_path / "mine.jsonl", tmp_path / "before.jsonl"
    mine.write_text('{"question": "q", "answer": "a"}\n')
    panel = Dataset(data_path(SAMPLE), corpus_path(None, SAMPLE))
    assert panel.before.value == "" and baseline_path(None, "improved") is None
    assert panel.checks()["message"].str.contains("corpus does not have").any()
    panel.path.value, panel.before.value = str(mine), str(before)
    panel.load.click()
    assert "no such file" in panel.message.value and data_path() == str(mine) and baseline_path() is None
    assert panel.checks()["message"].str.contains("No corpus").any()  # that of the sample is none of these data
    before.write_text('{"question": "q", "answer": "b"}\n')
    panel.load.click()
    assert "06 and 10 compare it with" in panel.message.value
    assert baseline_path() == baseline_path(None, mine) == str(before) == Dataset(str(mine)).before.value
    assert baseline_path("", mine) is None and baseline_path("other.csv") == "other.csv"
    assert baseline_path(None, SAMPLE.replace("baseline", "improved")).endswith("evaluations/baseline")
    panel.back.click()
    assert baseline_path() is None and not data_path().startswith(str(tmp_path))


def test_the_sample_corpus_belongs_to_the_sample_data(own_cache):
    assert corpus_path(None, SAMPLE).endswith("sample_data/support/corpus.jsonl")
    assert corpus_path(None, "mine.csv") is None and baseline_path(None, "mine.csv") is None
    assert corpus_path("", SAMPLE) is None and corpus_path("kb.jsonl", SAMPLE) == "kb.jsonl"


def test_a_choice_that_is_gone_or_damaged_is_left_out(tmp_path, own_cache):
    mine = tmp_path / "mine.jsonl"
    mine.write_text("{}")
    remember(mine)
    mine.unlink()
    assert data_path() != str(mine)
    (tmp_path / "cache" / "chosen_data.json").write_text("[")
    assert data_path().endswith("evaluations/baseline")


def test_a_file_that_does_not_load_is_said_in_words(tmp_path, own_cache, fake):
    panel = Dataset(Session(fake(n=4)))
    panel.path.value = str(tmp_path / "nothing.csv")
    panel.load.click()
    assert "✗" in panel.message.value and "nothing.csv" in panel.message.value
    assert panel.error.value == "" and len(panel.samples) == 4
    assert "✗" in Dataset(str(tmp_path / "nothing.csv")).html()


# ---------------------------------------------------------------- 01


def test_the_table_shows_states_targets_and_spread(session):
    panel = Score(session)
    shown = panel.html()
    assert "&lt;span" not in shown and "<strong>" in shown
    assert "▁" in shown and "24" in shown and "0.90" in shown and "✗" in shown
    pd.testing.assert_frame_equal(panel.table(), score_table(session))
    assert any("50 % of answers are right end to end" in line for line in reading(panel.table()))
    assert any("targets are met; missed: faithfulness" in line for line in reading(panel.table()))


def test_reading_of_nothing_and_of_a_wide_interval(session):
    table = score_table(session)
    table.loc["faithfulness", ["low", "high"]] = [0.1, 0.9]
    assert any("faithfulness (0.10 – 0.90, on 23 samples)" in line for line in reading(table))
    assert reading(table.iloc[:0]) == []


def scored_by(fake, path, seen):
    def evaluate(samples, *, judge, encoder, thresholds, progress, cancelled):
        seen.append((len(samples), judge, encoder, thresholds.k))
        progress(0, 6, 0)
        progress(6, 6, 2)
        return fake(n=6, path=path, thresholds=thresholds)

    return evaluate


def test_scoring_gives_the_session_a_new_evaluation(fake, tmp_path, session):
    seen = []
    panel = Score(session, evaluate=scored_by(fake, tmp_path / "new", seen))
    panel.judge.value = "none"
    panel.k.value = 7
    panel.start.click()
    panel.join(20)
    assert seen == [(24, None, "auto", 7)]
    assert len(session.samples) == 6 and "Scored 6 samples" in panel.message.value
    assert "of</th>" in panel.body.value and panel.start.disabled is False and panel.error.value == ""


def test_an_llm_judge_takes_its_model(fake, session, own_cache):
    seen = []
    panel = Score(session, evaluate=scored_by(fake, None, seen))
    panel.judge.value = "llm"
    panel.model.value = " gpt-x "
    assert panel.model.layout.display is None
    panel.start.click()
    panel.join(20)
    assert seen[0][1].method == "llm:gpt-x"


def test_cancel_stops_and_says_that_nothing_is_lost(session):
    begun = threading.Event()

    def evaluate(samples, *, progress, cancelled, **_):
        progress(1, 24, 0)
        begun.set()
        while not cancelled():
            threading.Event().wait(0.01)
        raise CancelledError("stopped")

    panel = Score(session, evaluate=evaluate)
    panel.start.click()
    assert begun.wait(10) and panel.start.disabled
    panel.score()
    panel.stop.click()
    panel.join(10)
    assert "Cancelled" in panel.message.value and panel.stop.disabled
    assert panel.error.value == "" and len(session.samples) == 24


def test_a_judge_that_cannot_work_is_said_and_a_fault_of_ours_is_red(session, monkeypatch):
    monkeypatch.setenv("WORKBENCH_STRICT", "0")

    def refuse(samples, **_):
        raise JudgeError("no key")

    def crash(samples, **_):
        raise ZeroDivisionError("oops")

    panel = Score(session, evaluate=refuse)
    panel.start.click()
    panel.join(10)
    assert "no key" in panel.message.value and panel.error.value == ""
    panel = Score(session, evaluate=crash)
    panel.start.click()
    panel.join(10)
    assert "ZeroDivisionError" in panel.error.value


def test_progress_knows_rate_and_rest():
    progress = WorkProgress(done=30, total=80, cached=10, seconds=5)
    assert progress.rate == 4 and progress.left == 12.5
    assert WorkProgress(10, 80, 10, 1).left is None


def test_progress_is_paced_but_the_end_is_always_told():
    told = []

    def work(progress, cancelled):
        for done in range(1001):
            progress(done, 1000)
        return "result"

    ended = []
    job = Work(work, told.append, lambda result, error: ended.append((result, error)))
    job.start()
    job.join(20)
    assert ended == [("result", None)] and told[-1].done == 1000 and len(told) < 50


def test_what_the_work_made_reports_no_more_after_its_end():
    kept, told = [], []
    job = Work(lambda progress, cancelled: kept.append(progress), told.append, lambda result, error: None)
    job.start()
    job.join(20)
    kept[0](1, 1)
    assert told == []


def test_cancelled_work_tells_no_progress_to_its_successor():
    started, cancelled_at, told = threading.Event(), threading.Event(), []

    def work(progress, cancelled):
        started.set()
        assert cancelled_at.wait(20) and cancelled()
        progress(1, 1)

    job = Work(work, told.append, lambda result, error: None)
    job.start()
    assert started.wait(20)
    job.cancel()
    cancelled_at.set()
    job.join(20)
    assert told == []


def test_interrupting_a_wait_cancels_the_work_and_words_say_how(monkeypatch):
    panel, ended = Panel(None), []
    work = Background(panel, "panels.score", lambda progress: "")
    seen = []
    assert "interrupt it" in work.waits.value and work.waits.layout.display == "none"

    def until_stopped(progress, cancelled):
        while not cancelled():
            threading.Event().wait(0.01)
        raise CancelledError("stopped")

    def interrupted(self, timeout=None):
        seen.append(work.waits.layout.display)
        raise KeyboardInterrupt

    work.start(until_stopped, ended.append, failed=lambda error: ended.append(type(error)))
    assert work.cancel_button.layout.display is None and not work.cancel_button.disabled
    with monkeypatch.context() as patch:
        patch.setattr(Work, "join", interrupted)
        with pytest.raises(KeyboardInterrupt):
            work.join()
    work.join(20)
    assert ended == [CancelledError] and seen == [None] and work.waits.layout.display == "none"
    assert work.cancel_button.layout.display == "none" and work.cancel_button.disabled


def test_newer_work_stops_the_older_whose_end_is_told_to_nobody():
    work, ended, go = Background(Panel(None), "panels.score", lambda progress: ""), [], threading.Event()
    stopped = []

    def older(progress, cancelled):
        assert go.wait(20)
        stopped.append(cancelled())
        return "older"

    work.start(older, ended.append)
    first = work._work
    work.start(lambda progress, cancelled: "newer", ended.append, patience=20)
    go.set()
    first.join(20)
    assert ended == ["newer"] and stopped == [True] and not work.running


def test_reset_of_the_last_visit_stands_beside_its_note(fake, tmp_path):
    first = Session(fake(path=tmp_path / "evaluation"))
    first.set_filter(language="zh")
    again = LowScores(Session(fake(path=tmp_path / "evaluation")))
    note, back = again.children[2].children
    assert "Reset takes them back" in note.value and back.layout.display is None
    assert len(again.session.matching()) < 24
    back.click()
    assert len(again.session.matching()) == 24 and again.session.filter.language is None
    assert "Reset" not in note.value and back.layout.display == "none"
    assert LowScores(Session(fake(path=tmp_path / "other"))).children[2].children[1].layout.display == "none"


def test_an_empty_table_speaks_and_rows_are_pointed_out(session):
    table = PagedTable(Panel(session), 2)
    table.set(pd.DataFrame({"a": []}), empty="No row <here>.")
    assert "No row &lt;here&gt;." in table._body.value and "<table" not in table._body.value
    table.set(pd.DataFrame({"a": [10, 11, 12]}, index=["x", "y", "z"]))
    assert "wb-current" not in table._body.value
    table.point("z")
    assert "wb-current" in table._body.value and ">12<" in table._body.value and ">10<" not in table._body.value


# ---------------------------------------------------------------- 10


@pytest.fixture
def pinned(session):
    panel = LowScores(session)
    panel.card.pin.click()
    panel.cut.value = 0.3
    panel.card.pin.click()
    return session


def test_pins_are_shown_edited_ordered_and_removed(pinned):
    panel = Export(pinned)
    assert len(panel.list.children) == 2 and panel.preview.value.count("<img") == 2
    title = panel.list.children[0].children[1]
    title.value = "<b>Worst first</b>"
    assert pinned.findings[0].title == "<b>Worst first</b>" and "<b>Worst" not in panel.preview.value
    panel.list.children[0].children[4].click()
    assert pinned.findings[1].title == "<b>Worst first</b>"
    panel.list.children[0].children[5].click()
    assert len(pinned.findings) == 1
    panel.undo.click()
    assert len(pinned.findings) == 2 and len(panel.list.children) == 2


def test_the_exporter_gets_what_was_chosen(pinned, tmp_path):
    asked = []

    def exporter(session, path, *, format, language):
        asked.append((len(session.findings), path, format, language))
        path.write_text("x")
        return path

    panel = Export(pinned, exporter, folder=tmp_path)
    panel.format.value, panel.language.value = "md", "zh"
    panel.write.click()
    assert asked == [(2, tmp_path / "fake.md", "md", "zh")] and "written" in panel.message.value
    # The panel offers what the command line and Python do, in one list.
    assert [value for _, value in panel.format.options] == list(REPORT_FORMATS)
    panel.export(tmp_path / "x", format="langsmith", language="en")
    assert asked[-1][1] == tmp_path / "x.jsonl"
    with pytest.raises(InputError, match="pdf"):
        panel.export(tmp_path / "x", format="pdf")
    with pytest.raises(InputError, match="exporter"):
        Export(pinned).export(tmp_path / "x")


def test_without_pins_it_says_where_to_get_some(session):
    panel = Export(session)
    assert "02_low_scores" in panel.html() and len(panel.table()) == 0


def test_pins_of_another_kernel_are_taken_over(fake, session):
    panel = Export(session)
    other = Session(fake(path=session.evaluation.path))
    other.pin("from elsewhere")
    panel.reload.click()
    assert findings_table(session.findings)["title"].tolist() == ["from elsewhere"]
    assert "from elsewhere" in panel.preview.value


# ---------------------------------------------------------------- shared


def test_a_table_turns_pages(session):
    table = PagedTable(Panel(session), page=10)
    table.set(pd.DataFrame({"n": range(25)}, index=[f"row {i}" for i in range(25)]))
    assert "1–10 of 25" in table._count.value and table._back.disabled
    table._forward.click()
    table._forward.click()
    assert "21–25 of 25" in table._count.value and table._forward.disabled
    table._back.click()
    assert "11–20 of 25" in table._count.value and ">19<" in table._body.value and ">20<" not in table._body.value
    table.set(pd.DataFrame({"n": []}))
    assert table._bar.layout.display == "none"


def test_only_our_own_markup_is_shown():
    widget = markup(h("p", "x"))
    with pytest.raises(TypeError, match="markup"):
        show(widget, "<script>alert(1)</script>")
    assert widget.value == "<p>x</p>"


@pytest.mark.parametrize("make", [LowScores, Score, Export, Dataset])
def test_every_panel_is_saved_as_files(make, session, tmp_path):
    written = make(session).save(tmp_path / "out")
    assert {path.suffix for path in written} >= {".html", ".csv"}
    page = written[0].read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>") and "<script" not in page
    assert written[1].read_bytes().startswith(b"\xef\xbb\xbf")


@pytest.mark.parametrize(("language", "words"), [("en", "No column is known as the question"), ("zh", "没有认出“问题”列")])
def test_unknown_columns_are_chosen_once_in_the_panel(tmp_path, own_cache, language, words):
    mine = tmp_path / "mine.csv"
    mine.write_text("Wanted,Bot output,Found\nHow long?,90 days.,\"['Kept for 90 days.']\"\n", encoding="utf-8")
    with speaking(language):
        panel = Dataset(str(mine))
        assert words in panel.message.value and panel.samples is None and panel.mapper.layout.display is None
        assert panel.mapper.mapping == {"Bot output": "answer"} and panel.mapper.apply.disabled
        panel.mapper.choices["question"].value = "Wanted"
        panel.mapper.choices["contexts"].value = "Found"
        assert "How long?" in panel.mapper.preview.value and "MAPPING = {" in panel.mapper.preview.value
        panel.mapper.apply.click()
    assert len(panel.samples) == 1 and panel.mapper.layout.display == "none"
    assert load_samples(mine).frame["contexts"].iloc[0] == [{"text": "Kept for 90 days."}]
    assert data_path() == str(mine)
