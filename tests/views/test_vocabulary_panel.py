"""Panel 04 without a kernel: the coverage slider, accepting synonyms, the preview, exports, and what it lacks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import workbench as wb
from workbench import language
from workbench.errors import EncoderError
from workbench.views import plots as plots_terms
from workbench.views.figures import figure_png
from workbench.views.panels import vocabulary as module
from workbench.views.panels.vocabulary import VocabularyPanel
from workbench.views.session import Session

SAMPLE = Path(__file__).resolve().parents[2] / "sample_data" / "support"


@pytest.fixture(scope="module")
def corpus():
    return wb.load_corpus(SAMPLE / "corpus.jsonl")


@pytest.fixture(scope="module")
def evaluation(corpus):
    samples = wb.load_samples(SAMPLE / "runs" / "baseline.jsonl")
    return wb.evaluate(samples, judge=None, encoder="none", progress=False)


@pytest.fixture(autouse=True)
def patient(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "PATIENCE", 60)


@pytest.fixture
def session(evaluation, tmp_path):
    return Session(evaluation, tmp_path / "session")


@pytest.fixture
def panel(session, corpus, tmp_path):
    return VocabularyPanel(session, corpus, "none", tmp_path / "findings")


def classes(widget):
    found = set(getattr(widget, "_dom_classes", ()))
    for child in getattr(widget, "children", ()):
        found |= classes(child)
    return found


def test_it_opens_with_a_choice_made(panel, session):
    wanted = {"wb-threshold", "wb-count", "wb-figure", "wb-card", "wb-next", "wb-previous", "wb-pin", "wb-error"}
    assert wanted <= classes(panel) and panel.error.value == ""
    assert (panel.cut.min, panel.cut.max, panel.cut.step, panel.cut.continuous_update) == (0, 1, 0.01, False)
    assert session.selection == "qa-005" and "离职交接" in panel.pair.value and panel.picture.image.value


def test_the_slider_changes_counts_at_once(panel):
    counts = []
    for cut in (0.0, 0.1, 0.3, 1.0):
        panel.cut.value = cut
        counts.append((panel.count.value, len(panel.table())))
    assert counts[0][1] == 0 and "wb-empty" not in panel.pair.value
    assert len({words for words, _ in counts}) == 4 and [n for _, n in counts] == sorted(n for _, n in counts)


def test_counts_and_rows_are_those_of_the_plain_function(panel, evaluation, corpus):
    plain = wb.vocabulary_gaps(evaluation, corpus, "none")
    panel.shown.value = "all"
    assert panel.table().drop(columns="candidates").equals(plain.drop(columns="candidates"))
    assert f"{int((plain['coverage'] < 0.4).sum())} of {len(plain)} misses" in panel.count.value


def test_accepting_goes_on_to_the_next_term_and_rescues(panel, session):
    assert "finds 3 of 10" in panel.accepted.value
    first = panel.term.value
    panel.edit.value = "离职交接"
    panel.accept.click()
    assert panel.term.value != first and "1 synonyms" in panel.accepted.value
    panel.term.value = "单子"
    panel.edit.value = "审批任务"
    panel.accept.click()
    assert "finds 4 of 10" in panel.accepted.value
    kept = json.loads((session.folder / "synonyms.json").read_text(encoding="utf-8"))["synonyms"]
    assert [row["replacement"] for row in kept] == ["离职交接", "审批任务"]
    panel.drop.value = ("单子", "审批任务")
    panel.remove.click()
    assert "1 synonyms" in panel.accepted.value


def test_another_visit_finds_the_synonyms(panel, session, corpus):
    panel.edit.value = "离职"
    panel.accept.click()
    again = VocabularyPanel(Session(session.evaluation, session.folder), corpus, "none")
    assert [pair.replacement for pair in again.synonyms] == ["离职"]


def test_an_empty_synonym_is_refused_in_words(panel, monkeypatch):
    monkeypatch.setenv("WORKBENCH_STRICT", "0")
    panel.edit.value = "  "
    panel.accept.click()
    assert "two different words" in panel.error.value and len(panel.synonyms) == 0


def test_skipping_the_last_term_goes_to_the_next_document(panel, session):
    before = session.selection
    for _ in range(len(panel.term.options)):
        panel.skip.click()
    assert session.selection != before


def test_exports_in_every_format(panel, tmp_path):
    panel.edit.value = "离职"
    panel.accept.click()
    for _, name in panel.format.options:
        panel.format.value = name
        panel.export_button.click()
    assert len(list((tmp_path / "findings").iterdir())) == 4 and "synonyms_meilisearch.json" in panel.exported.value
    assert {path.suffix for path in panel.save(tmp_path / "out")} == {".html", ".csv", ".png"}


def test_pictures_pin_and_static_twin(panel, session):
    heat = panel.picture.image.value
    panel.view.value = "failing"
    assert panel.picture.image.value != heat and "base rate" in panel.picture.caption.value
    panel.card.pin.click()
    assert session.findings[0].panel == "vocabulary" and "vocabulary gaps" in session.findings[0].title
    html = panel.html()
    assert html.count("data:image/png") == 2 and "wb-part" in html and "<script" not in html


def test_k_and_filter_of_the_session_are_followed(panel, session):
    panel.shown.value = "all"
    session.set_thresholds(k=1)
    assert len(panel.table()) > 10
    session.set_filter(language="en")
    assert all(session.facets.loc[name, "language"] == "en" for name in panel.table()["sample_id"])
    session.set_filter(text="nowhere at all")
    assert panel.table().empty and "wb-empty" in panel.pair.value and panel.error.value == ""


def test_candidates_by_meaning_come_from_the_encoder(session, corpus):
    panel = VocabularyPanel(session, corpus, "ngram")
    panel.shown.value = "all"
    assert panel.error.value == "" and any(found for row in panel.table()["candidates"] for found in row.values())


def test_an_encoder_that_fails_leaves_candidates_by_form(session, corpus):
    class Broken:
        name, dimension = "broken", 3

        def encode(self, texts, kind="passage"):
            raise EncoderError("no vectors here")

    panel = VocabularyPanel(session, corpus, Broken())
    assert "no vectors here" in panel.message.value and panel.error.value == "" and "wb-part" in panel.pair.value


def test_without_a_corpus_it_says_what_it_lacks(session, tmp_path):
    panel = VocabularyPanel(session)
    assert "CORPUS" in panel.pair.value and panel.table().empty and "CORPUS" in panel.html() and panel.error.value == ""
    assert panel.save(tmp_path / "out")


def test_chinese(session, corpus, monkeypatch):
    monkeypatch.setattr(language, "_current", "zh")
    panel = VocabularyPanel(session, corpus, "none")
    assert "词汇不匹配" in panel.count.value and "缺少" in panel.pair.value and "已接受" in panel.accepted.value


def test_the_picture_of_terms_takes_none_and_many():
    for n in (0, 1, 30):
        figure = plots_terms.log_odds(["词"] * n, [1.0] * n, [0.5] * n, [1.5] * n, notes=["1 / 2"] * n, title="标题")
        assert figure_png(figure).startswith(b"\x89PNG")


def test_no_box_is_empty_and_no_button_does_nothing(panel, session):
    assert panel.remove.layout.display == "none" and panel.drop.layout.display == "none"
    panel.edit.value = "two words"
    panel.accept.click()
    assert panel.drop.value is not None and panel.remove.layout.display is None
    panel.remove.click()
    assert len(panel.synonyms) == 0 and panel.remove.layout.display == "none"
    panel.edit.value = " "
    assert panel.accept.disabled
    panel.edit.value = "other"
    assert not panel.accept.disabled
    panel.cut.value = 0
    assert panel.at is None and panel.choosing.layout.display == "none"


def test_the_filter_in_force_is_said_and_can_be_taken_off(panel, session):
    assert panel.filtered.layout.visibility == "hidden"
    session.show(["qa-005"], "one <question>")
    assert "Showing only: one &lt;question&gt;." in panel.filtered.note.value and "of 1 misses" in panel.count.value
    panel.filtered.everything.click()
    assert panel.filtered.layout.visibility == "hidden" and "of 1 misses" not in panel.count.value
