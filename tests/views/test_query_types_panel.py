"""Panel 05 without a kernel: what choosing dimensions, groups and slices does to the session, the card and the pins."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from workbench import language
from workbench.diagnosis.queries import dimension_title
from workbench.views import figures
from workbench.views.panels.query_types import QueryTypes, breakdown_table, causes_words, slices_table
from workbench.views.session import Session

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def session(fake, tmp_path):
    """24 samples: even ones Chinese, how many, and failing; odd ones English, how long, and passing."""
    session = Session(fake(path=tmp_path))
    session.set_low_score("faithfulness", 0.5)
    return session


@pytest.fixture
def panel(session):
    return QueryTypes(session)


def classes(widget):
    found = set(getattr(widget, "_dom_classes", ()))
    for child in getattr(widget, "children", ()):
        found |= classes(child)
    return found


def choose(widget, start):
    """Click the row that begins so."""
    at = next(at for at, row in enumerate(widget.view["rows"]) if row[0][0].startswith(start))
    widget.receive({"do": "go", "at": at})


def test_it_carries_the_classes_of_the_contract(panel):
    wanted = {"wb-count", "wb-figure", "wb-card", "wb-next", "wb-previous", "wb-pin", "wb-error"}
    assert wanted <= classes(panel)
    assert panel.error.value == "" and panel.error.layout.display == "none"


def test_what_is_shown_is_what_the_functions_say(panel, session):
    pd.testing.assert_frame_equal(panel.table(), wb.breakdown(session.evaluation, "query_type"))
    assert panel.by.value == "query_type" and "12 of 24 tested samples fail (50 %)" in panel.count.value
    assert "several types" in panel.count.value and "not offered: tenant" in panel.count.value
    assert [[cell for cell, _ in row[:3]] for row in panel.groups.view["rows"]] == [
        ["how many", "12", "12"], ["when", "0", "12"],
    ]  # fmt: skip


def test_choosing_a_group_filters_the_session_and_the_card(panel, session):
    panel.by.value = "language"
    choose(panel.groups, "zh")
    assert session.filter.label == "language = zh, failing" and len(session.matching()) == 12
    assert session.selection == "s-00000" and "企业版" in panel.card.body.value
    panel.stepper.next.click()
    assert session.selection == "s-00002" and "sample 2 of 12" in panel.stepper.position.value
    panel.stepper.previous.click()
    assert session.selection == "s-00000"
    choose(panel.groups, "en")
    assert len(session.matching()) == 0 and "Untick" in panel.card.body.value
    panel.only_failing.value = False
    assert session.filter.label == "language = en" and len(session.matching()) == 12
    panel.filtered.everything.click()
    assert session.filter.label == "" and panel.groups.view["current"] == -1 and len(session.matching()) == 24


def test_failing_samples_come_first(panel, session):
    panel.only_failing.value = False
    ids = panel.ids()
    assert ids[:12] == [f"s-{i:05d}" for i in range(0, 24, 2)] and len(ids) == 24


def test_a_pivot_is_a_grid_and_its_cells_can_be_chosen(panel, session):
    before = panel.picture.image.value
    panel.other.value = "language"
    assert panel.picture.image.value != before
    assert panel.table()["value"].tolist()[0] == "how_many × zh"
    key = next(one["key"] for one in panel.picture.overlay.regions if one["label"].startswith("how many × zh"))
    panel.picture.receive({"do": "click", "key": key})
    assert session.filter.label == "question type × language = how many × zh, failing"
    panel.other.value = "query_type"
    assert panel.chosen == ["query_type"]


def test_small_groups_are_folded(panel):
    panel.by.value = "tags.area"
    panel.min_n.value = 13
    assert panel.table()["value"].tolist() == ["2 smaller groups together"] and panel.table()["n"].tolist() == [24]


def test_a_slice_filters_the_session(panel, session):
    found = panel.slices_found()
    assert found.loc[0, "n_failing"] == 12 and found.loc[0, "q_value"] <= 0.05
    assert panel.found.view["rows"][0][0][0] == found.loc[0, "rule"]
    panel.found.receive({"do": "go", "at": 0})
    assert panel.found.view["current"] == 0
    assert session.filter.label == found.loc[0, "rule"] + ", failing" and panel.groups.view["current"] == -1
    assert list(session.matching()) == [f"s-{i:05d}" for i in range(0, 24, 2)]


def test_thresholds_move_everything(panel, session):
    rate = panel.table()["rate"].tolist()
    session.set_low_score("faithfulness", 1.0)
    assert panel.table()["rate"].tolist() != rate and "of 24 tested" in panel.count.value
    assert "12 of 24" not in panel.count.value


def test_a_pin_states_the_group_its_numbers_and_samples(panel, session):
    panel.by.value = "language"
    choose(panel.groups, "zh")
    panel.card.pin.click()
    finding = session.findings[-1]
    assert finding.panel == "query_types" and finding.title.startswith("language = zh: 12 of 12")
    assert (finding.value, finding.n_total, len(finding.sample_ids)) == (1.0, 12, 12) and finding.low < 1
    assert "wb.breakdown(evaluation, 'language', min_n=5)" in finding.snippet
    panel.filtered.everything.click()
    panel.card.pin.click()
    assert session.findings[-1].title == "Failures by language" and session.findings[-1].value == 0.5


def test_a_view_of_another_panel_is_followed(panel, session):
    session.show(["s-00003", "s-00004"], "a click elsewhere")
    assert panel.ids() == ["s-00004"] and session.selection == "s-00004"
    assert "Showing only: a click elsewhere" in panel.filtered.note.value and panel.filtered.layout.visibility == "visible"
    panel.only_failing.value = False
    assert panel.ids() == ["s-00004", "s-00003"]


def test_only_failing_ones_means_the_list_at_once(panel):
    """The box is ticked from the beginning, so the list is that of the failing ones before anything is chosen."""
    assert panel.only_failing.value and panel.ids() == [f"s-{i:05d}" for i in range(0, 24, 2)]
    assert "sample 1 of 12" in panel.stepper.position.value and panel.filtered.layout.visibility == "hidden"


def test_a_tag_called_like_a_dimension_is_told_apart():
    assert dimension_title("language") == "language" and dimension_title("tags.language") == "language (tag)"
    assert dimension_title("tags.topic") == "topic"


def test_nothing_tested_speaks(fake, tmp_path, monkeypatch):
    def nothing(self):
        names = ["not_checked"] * self.n
        return pd.DataFrame(
            {"primary_cause": names, "causes": [[]] * self.n, "confidence": np.nan}, index=self.frame.index
        )

    monkeypatch.setattr(fake, "failures", nothing)
    panel = QueryTypes(Session(fake(path=tmp_path)))
    assert "Nothing could be tested" in panel.count.value and len(panel.slices_found()) == 0
    assert figures.figure_png(panel.figure())[:4] == b"\x89PNG"


def test_a_handler_that_raises_shows_the_red_line(panel, monkeypatch):
    monkeypatch.setenv("WORKBENCH_STRICT", "0")
    monkeypatch.setattr(panel, "_regroup", lambda: 1 / 0)
    panel.min_n.value = 7
    assert "ZeroDivisionError" in panel.error.value and panel.error.layout.display is None


@pytest.mark.parametrize("chosen", ["en", "zh"])
def test_both_languages_draw_and_write(chosen, fake, tmp_path, monkeypatch):
    monkeypatch.setattr(language, "_current", chosen)
    panel = QueryTypes(Session(fake(path=tmp_path)), other="language")
    html = str(panel.html())
    assert ("question type" in html) == (chosen == "en") and ("问题类型" in html) == (chosen == "zh")
    written = panel.save(tmp_path / "out")
    assert sorted(path.suffix for path in written) == [".csv", ".html", ".png"] and all(
        p.stat().st_size for p in written
    )


def test_what_the_user_wrote_is_escaped(fake, tmp_path):
    evaluation = fake(path=tmp_path)
    evaluation.frame["plan"] = HOSTILE
    evaluation.samples.frame["plan"] = HOSTILE
    panel = QueryTypes(Session(evaluation), by="plan")
    assert HOSTILE not in str(panel.html()) and "&lt;script&gt;" in str(panel.html())
    frame = pd.DataFrame({"rule": [HOSTILE], "n": [9], "n_failing": [9], "rate": [1.0], "lift": [2.0], "q_value": [0.0001],
                          "same_samples": [[HOSTILE]]})  # fmt: skip
    assert HOSTILE not in slices_table(frame) and "&lt; 0.001" in slices_table(frame)


def test_many_groups_are_drawn_in_part_and_it_says_so(fake, tmp_path):
    evaluation = fake(n=120, path=tmp_path)
    evaluation.samples.frame["plan"] = [f"p{i // 3}" for i in range(120)]
    panel = QueryTypes(Session(evaluation), by="plan", min_n=1)
    assert len(panel.table()) == 40 and "first 9 of 40" in panel.picture.caption.value
    assert "30 of 40" in breakdown_table(panel.table(), panel._rows)


def test_very_many_samples_wait_for_the_button(fake, tmp_path, monkeypatch):
    monkeypatch.setattr("workbench.views.panels.query_types.AT_ONCE", 10)
    panel = QueryTypes(Session(fake(path=tmp_path)))
    assert panel.by.value == "case_type" and panel.slices.value == "" and panel.find.layout.display is None
    panel.find.click()
    assert panel.found.view["total"] >= 1 and panel.found.layout.display is None


def test_causes_in_words():
    assert (
        causes_words({"omission": 5, "retrieval_miss": 3, "format": 1, "off_topic": 1}, 2)
        == "omission 5 · retrieval miss 3"
    )


def test_without_samples_it_speaks(fake, tmp_path):
    panel = QueryTypes(Session(fake(n=0, path=tmp_path, frame=fake(n=2).frame.iloc[:0])))
    assert "Nothing could be tested" in panel.count.value and len(panel.table()) == 0
