"""Panel 03 without a kernel: opens at once, follows the session, draws every picture, cancels, names what it lacks."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench import language
from workbench.errors import EncoderError
from workbench.views import plots as plots_missed
from workbench.views.card import term_marks
from workbench.views.figures import figure_png
from workbench.views.panels import missed_documents as module
from workbench.views.panels.missed_documents import MissedDocuments
from workbench.views.session import Session

SAMPLE = Path(__file__).resolve().parents[2] / "sample_data" / "support"
HOSTILE = "<script>alert(1)</script>\x00\u202egnp"


@pytest.fixture(scope="module")
def corpus():
    return wb.load_corpus(SAMPLE / "corpus.jsonl")


@pytest.fixture(scope="module")
def evaluation(corpus, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        samples = wb.load_samples(SAMPLE / "runs" / "baseline.jsonl")
        return wb.evaluate(samples, corpus=corpus, judge=None, encoder="none", progress=False)


@pytest.fixture(autouse=True)
def patient(tmp_path, monkeypatch):
    """Without a kernel nobody waits for a thread: the panel does."""
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "PATIENCE", 60)


@pytest.fixture
def session(evaluation, tmp_path):
    return Session(evaluation, tmp_path / "session")


@pytest.fixture
def panel(session, corpus):
    return MissedDocuments(session, corpus, "ngram")


def classes(widget):
    found = set(getattr(widget, "_dom_classes", ()))
    for child in getattr(widget, "children", ()):
        found |= classes(child)
    return found


def test_it_opens_with_a_choice_made(panel, session):
    assert {"wb-figure", "wb-card", "wb-next", "wb-previous", "wb-pin", "wb-error", "wb-count"} <= classes(panel)
    assert "10 questions miss 10 documents" in panel.count.value
    assert panel.error.value == "" and bytes(panel.picture.image.value).startswith(b"\x89PNG")
    assert (
        session.selection == "qa-005"
        and "account-zh#4" in panel.sentence.value
        and panel.rows.view["rows"][panel.rows.view["current"]][0][0] == "qa-005"
    )
    assert "人走了" in panel.card.body.value


def test_every_picture_is_drawn_and_differs(panel):
    seen = set()
    for _, view in panel.view.options:
        panel.view.value = view
        assert panel.picture.frame.layout.display is None and panel.picture.caption.value
        seen.add(panel.picture.image.value)
    assert len(seen) == 5
    panel.view.value = "map"
    near = panel.picture.image.value
    panel.focus.value = "all"
    assert panel.picture.image.value != near


def test_stepping_selects_samples_and_another_panel_may_lead(panel, session):
    panel.stepper.next.click()
    assert session.selection == panel.table()["sample_id"].iloc[2] and "3 of 10" in panel.stepper.position.value
    session.select("qa-047")
    assert "pricing-zh#5" in panel.sentence.value and "just below k" not in panel.error.value
    panel.stepper.previous.click()
    assert session.selection == panel.table()["sample_id"].iloc[8]


def test_k_changes_what_is_missed_for_the_whole_session(panel, session):
    panel.k.value = 1
    assert session.thresholds.k == 1 and len(panel.table()) > 10 and panel.error.value == ""
    session.set_thresholds(k=5)
    assert panel.k.value == 5 and len(panel.table()) == 10


def test_the_table_is_that_of_the_plain_function(panel, evaluation, corpus):
    plain = wb.missed_documents(evaluation, corpus, "ngram")
    shown = panel.table()
    assert shown.drop(columns="sub_cause").equals(plain.drop(columns="sub_cause"))
    assert set(shown["sub_cause"]) >= {"not_indexed", "language_gap"}


def test_sub_causes_and_the_session_s_filter_narrow_the_list(panel, session):
    panel.cause.value = "language_gap"
    assert set(panel.table()["sub_cause"]) == {"language_gap"} and session.selection in {"qa-030", "qa-033"}
    panel.cause.value = None
    session.set_filter(language="zh")
    assert 0 < len(panel.table()) < 10
    session.set_filter(text="no such words anywhere")
    assert panel.table().empty and "wb-empty" in panel.sentence.value and panel.error.value == ""


def test_sentence_tag_card_and_advice_are_of_one_rule(panel, session):
    """Whatever the encoder of the panel makes of a document, the card beside it does not say something else."""
    for at in range(len(panel.listed)):
        panel.rows.receive({"do": "go", "at": at})
        own, shown = module.label(panel.listed[at], session.thresholds.k), panel.card.body.value
        title = module.label_title(own)
        assert title in panel.sentence.value and wb.panels and module._t(f"missed.advice.{own}") in panel.sentence.value
        if "retrieval miss ·" in shown:
            assert f"retrieval miss · {title}" in shown


def test_points_of_the_ranks_go_to_their_documents(panel, session):
    panel.picture.receive({"do": "click", "key": 3})
    assert panel.at == 3 and panel.rows.view["current"] == 3
    panel.picture.receive({"do": "brush", "keys": [1, 2]})
    assert set(session.matching()) == {panel.listed[at].miss.sample_id for at in range(len(panel.listed))}
    assert len(panel.listed) == 2 and "2 samples" in panel.rows.view["note"]


def test_rows_sort_by_rank(panel):
    panel.rows.receive({"do": "sort", "key": "bm25_rank"})
    known = [item.autopsy.bm25_rank for item in panel.listed if item.autopsy.bm25_rank is not None]
    assert known == sorted(known) and panel.error.value == ""


def test_what_ifs_count_over_all(panel):
    before = panel.whatif.value
    panel.title_weight.value = 4
    assert panel.whatif.value != before and "of 10 missed documents" in panel.whatif.value


def test_a_pin_is_on_disk(panel, session):
    panel.card.pin.click()
    finding = session.findings[0]
    assert finding.panel == "missed_documents" and "10 questions miss" in finding.title and len(finding.rows) == 10
    assert "wb.missed_documents" in finding.snippet
    assert (session.folder / "figures" / f"{finding.finding_id}.png").is_file()


def test_static_twins_and_files(panel, tmp_path):
    html = panel.html()
    assert html.count("data:image/png") == 5 and "account-zh#4" in html and "<script" not in html
    assert {path.suffix for path in panel.save(tmp_path / "out")} == {".html", ".csv", ".png"}


def test_words_only_says_what_it_cannot_draw(session, corpus):
    panel = MissedDocuments(session, corpus, "none")
    panel.view.value = "profile"
    assert panel.picture.frame.layout.display == "none" and "needs vectors" in panel.picture.caption.value
    assert panel.figure() is not None and panel.table()["dense_rank"].isna().all()


def test_without_a_corpus_the_stored_ranks_are_shown(session):
    panel = MissedDocuments(session)
    assert "No corpus was given" in panel.message.value and len(panel.table()) == 10
    assert panel.table()["bm25_rank"].notna().any() and panel.html() and panel.error.value == ""


def test_an_evaluation_without_expectations_says_so(tmp_path, corpus):
    samples = wb.load_samples([{"question": "q", "answer": "a", "contexts": ["text"]}])
    evaluation = wb.evaluate(samples, judge=None, encoder="none", progress=False)
    panel = MissedDocuments(Session(evaluation, tmp_path / "s"), corpus, "ngram")
    assert "expected_docs" in panel.sentence.value and panel.table().empty and panel.html() and panel.error.value == ""


class Slow:
    """An encoder that waits at the second batch until it is let go."""

    name, dimension, fingerprint = "slow", 4, "1"

    def __init__(self):
        self.reached, self.go = threading.Event(), threading.Event()

    def encode(self, texts, kind="passage"):
        self.reached.set()
        assert self.go.wait(30)
        rows = np.array([[len(text) % 7 + 1, len(text) % 5, 1, 0] for text in texts], dtype=np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_without_expectations_and_without_a_corpus_nothing_is_called_found(tmp_path):
    cases = [{"question": f"q{n}", "contexts": [{"doc_id": "d", "text": "a text"}], "answer": "a"} for n in range(3)]
    result = wb.evaluate(wb.load_samples(cases), judge=None, encoder="none", progress=False)
    panel = MissedDocuments(Session(result, tmp_path / "none"), None, "none")
    for shown in (panel.sentence.value, str(panel.html())):
        assert "Add expected_docs" in shown
        assert "Every expected document" not in shown
    assert "missing from the first" not in panel.count.value


def test_it_opens_while_vectors_are_being_made_and_can_be_cancelled(session, corpus, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    slow = Slow()
    started = time.monotonic()
    panel = MissedDocuments(session, corpus, slow)
    assert time.monotonic() - started < 10 and slow.reached.wait(30)
    # The stored ranks give the first picture; progress and cancel are there.
    assert panel.picture.image.value and "questions miss" in panel.count.value
    assert panel.work.cancel_button.layout.display is None
    panel.work.cancel_button.click()
    slow.go.set()
    panel.join(30)
    assert "Cancelled" in panel.message.value and panel.work.again.layout.display is None
    panel.work.again.click()
    panel.join(60)
    assert panel.table()["dense_rank"].notna().any() and panel.error.value == ""


def test_an_encoder_that_fails_leaves_words(session, corpus):
    class Broken(Slow):
        def encode(self, texts, kind="passage"):
            raise EncoderError("no vectors here")

    panel = MissedDocuments(session, corpus, Broken())
    assert "no vectors here" in panel.message.value and panel.error.value == ""
    assert panel.table()["dense_rank"].isna().all() and panel.table()["bm25_rank"].notna().any()


def test_an_observer_that_raises_shows_the_red_line(panel, monkeypatch):
    monkeypatch.setenv("WORKBENCH_STRICT", "0")
    with monkeypatch.context() as broken:
        broken.setattr(panel, "_draw_picture", lambda: 1 / 0)
        panel.view.value = "rescue"
        assert "ZeroDivisionError" in panel.error.value
    panel.view.value = "profile"
    assert panel.error.value == ""


def test_chinese(session, corpus, monkeypatch):
    monkeypatch.setattr(language, "_current", "zh")
    panel = MissedDocuments(session, corpus, "ngram")
    assert "漏检" in panel.count.value and "向量排名" in panel.sentence.value and "语言鸿沟" in panel.causes.value
    assert "子原因" in panel.html()


def test_hostile_texts_show_harmlessly(tmp_path):
    rows = [{"doc_id": HOSTILE, "text": HOSTILE * 300, "title": HOSTILE}, {"doc_id": "b", "text": "other words"}]
    corpus = wb.load_corpus(rows)
    samples = wb.load_samples(
        [{"question": HOSTILE, "expected_docs": [rows[0]["doc_id"]], "contexts": [{"doc_id": "b", "text": HOSTILE}]}]
    )
    evaluation = wb.evaluate(samples, corpus=corpus, judge=None, encoder="none", progress=False)
    panel = MissedDocuments(Session(evaluation, tmp_path / "s"), corpus, "ngram")
    for shown in (panel.sentence.value, panel.texts.value, panel.html(), panel.stepper.position.value):
        assert "<script" not in shown and "\x00" not in shown


# ---------------------------------------------------------------- pictures of any size


def test_marks_stand_where_the_words_stand():
    text = "企業版最多支持 500 个并发会话。Logs, catalogue."
    marks = term_marks(text, ["企业版", "500", "logs", "log", "cat"])
    assert [text[mark.start : mark.end] for mark in marks] == ["企業版", "500", "Logs"]


@pytest.mark.parametrize("n", [1, 2, 5000])
def test_the_map_takes_any_number_of_documents_and_says_what_it_left_out(n):
    rows = np.random.default_rng(0).normal(size=(n, 8)).astype(np.float32)
    figure, note = plots_missed.neighbourhood(rows, ["question", *["corpus"] * (n - 1)], ["文档 doc"] * n)
    assert figure_png(figure).startswith(b"\x89PNG") and "%" in note and ("2,000 of 5,000" in note) == (n == 5000)


def test_empty_and_extreme_pictures_are_drawn():
    pictures = [
        plots_missed.quadrant([np.nan], [3.0], [None], 5, 10),
        plots_missed.quadrant([1], [1], ["filtered"], 1, 1, current=0),
        plots_missed.rescue({"bm25": [0, 0]}, [1, 2], 0, 5),
        plots_missed.profile([0.5], [], 0.5, 0.5),
        plots_missed.hub_chart([], [], [], []),
        plots_missed.heat_map(["词"], ["d"], np.zeros((1, 1))),
    ]
    assert all(figure_png(figure).startswith(b"\x89PNG") for figure in pictures)


def test_after_the_work_nothing_is_in_progress(panel):
    panel.view.value = "profile"
    assert panel.message.value.count("encoded") == 0 and panel.work.bar.layout.display == "none"
    assert panel.examined.index.progress is None and panel.examined.index.cancel is None


def test_a_k_beyond_the_recording_and_a_filter_are_said(panel, session):
    assert "were recorded" not in panel.count.value and panel.filtered.layout.visibility == "hidden"
    session.set_thresholds(k=9)
    assert "at most 5 contexts of a question were recorded" in panel.count.value
    session.show(list(session.matching()[:30]), "the first thirty")
    assert "the first thirty" in panel.filtered.note.value
    panel.filtered.everything.click()
    assert session.filter.label == ""
