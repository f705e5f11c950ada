"""Panel 02 without a kernel: what moving the slider, stepping, judging and pinning do."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from workbench import language
from workbench.views.html import restored
from workbench.views.panels.low_scores import LowScores, cause_counts, low_counts, low_samples
from workbench.views.session import Session

BASELINE = Path(__file__).parents[2] / "sample_data" / "support" / "evaluations" / "baseline"
HOSTILE = "<script>alert(1)</script>=cmd|' /C calc'!A0\x00\x1b[2J\u202egnp.exe"


@pytest.fixture
def session(fake, tmp_path):
    return Session(fake(path=tmp_path))


@pytest.fixture
def panel(session):
    return LowScores(session)


def classes(widget):
    found = set(getattr(widget, "_dom_classes", ()))
    for child in getattr(widget, "children", ()):
        found |= classes(child)
    return found


def test_it_carries_the_classes_of_the_contract(panel):
    wanted = {"wb-threshold", "wb-count", "wb-figure", "wb-card", "wb-next", "wb-previous", "wb-pin", "wb-error"}
    assert wanted <= classes(panel)
    slider = panel.cut
    assert (slider.min, slider.max, slider.step, slider.continuous_update) == (0, 1, 0.01, False)
    assert panel.error.value == "" and panel.error.layout.display == "none"


def test_a_sensible_first_choice_is_made(panel, session):
    assert panel.metric.value == "faithfulness" and panel.cut.value == 0.7
    assert panel.shown.value == "failing" and "17 of 24 samples fail" in panel.count.value
    assert session.selection == "s-00000" and "企业版" in panel.card.body.value


def test_the_next_card_is_made_while_this_one_is_read(panel, session, monkeypatch):
    made = []
    body = panel.body
    monkeypatch.setattr(panel, "body", lambda name: made.append(name) or body(name))

    async def read():
        panel.stepper.next.click()
        await asyncio.sleep(0.4)
        ready = list(made)
        panel.stepper.next.click()
        assert made == ready == panel.ids()[1:3] and session.selection == ready[1]
        assert panel.card.body.value == body(ready[1])
        panel.cut.value = 0.95  # other causes: what was made says what is over
        assert len(made) > 2

    asyncio.run(read())


def test_the_slider_changes_counts_picture_and_causes(panel, session):
    seen = []
    for cut in (0.0, 0.25, 0.5, 1.0):
        panel.cut.value = cut
        seen.append((panel.count.value, panel.picture.image.value))
    assert len({count for count, _ in seen}) == len({png for _, png in seen}) == 4
    assert "0 of 23" in seen[0][0] and "23 of 23" in seen[3][0]
    assert session.thresholds.low_cut("faithfulness") == 1.0


def test_counts_are_those_of_the_plain_functions(panel, session):
    panel.cut.value = 0.3
    assert panel.shown.value == "beyond"  # whoever moves the threshold wants to see what it takes
    counts = low_counts(session, "faithfulness", 0.3)
    rows = low_samples(session, "faithfulness", 0.3, shown="beyond")
    expected = session.scores["faithfulness"].lt(0.3).sum()
    assert counts == {"n_low": expected, "n_scored": 23, "n_without": 1, "n_all": 24}
    assert len(rows) == expected and rows["score"].is_monotonic_increasing
    pd.testing.assert_frame_equal(panel.table(), rows)


def test_one_move_draws_once(panel, monkeypatch):
    drawn = []
    monkeypatch.setattr(panel.picture, "draw", lambda *_: drawn.append(1))
    panel.cut.value = 0.4
    assert len(drawn) == 1


def test_metrics_that_are_bad_when_high_are_cut_from_above(panel, session):
    panel.metric.value = "hallucination_rate"
    panel.cut.value = 0.4
    assert "above 0.40" in panel.count.value and "12 of 24" in panel.count.value
    assert (low_samples(session, "hallucination_rate", 0.4, shown="beyond")["score"] > 0.4).all()


def test_samples_without_a_score_are_a_group_of_their_own(panel):
    assert "(1 have no score)" in panel.count.value
    panel.shown.value = "without"
    assert panel.table().index.tolist() == ["s-00003"]
    assert panel.table()["state"].tolist() == ["undefined"]


def test_stepping_with_buttons_and_slider(panel, session):
    ids = panel.table().index.tolist()
    assert panel.stepper.previous.disabled
    panel.stepper.next.click()
    assert session.selection == ids[1] and "sample 2 of" in panel.stepper.position.value
    panel.stepper.slider.value = len(ids)
    assert session.selection == ids[-1] and panel.stepper.next.disabled
    panel.stepper.previous.click()
    assert session.selection == ids[-2]


def test_sorting_and_filtering(panel, session):
    panel.shown.value = "all"
    panel.rows.receive({"do": "sort", "key": "score"})
    panel.rows.receive({"do": "sort", "key": "score"})
    assert panel.table()["score"].iloc[0] == session.scores["faithfulness"].max()
    assert panel.rows.view["sort"] == ["score", True]
    panel.filters.choices["language"].value = "zh"
    assert session.filter.language == "zh" and len(panel.table()) == 12
    panel.filters.text.value = "nowhere"
    assert len(panel.table()) == 0 and "No sample passes the filter" in panel.card.body.value
    panel.filters.reset.click()
    assert len(panel.table()) == 24 and panel.filters.text.value == ""


def test_an_empty_list_speaks(panel):
    panel.cut.value = 0.0
    assert "failing side of 0.00" in panel.card.body.value and "1 without a score" in panel.card.body.value


def test_a_click_elsewhere_shows_those_samples_whatever_their_score(panel, session):
    session.show(["s-00001", "s-00005"], "worst slice")
    assert panel.table().index.tolist() == ["s-00001", "s-00005"]
    assert "worst slice" in panel.rows.view["note"]


def test_verdict_and_note_are_saved_at_once(panel, session, tmp_path):
    panel.card.verdict.value = "wrong"
    panel.card.note.value = "旧版本"
    line = json.loads((tmp_path / "session" / "session.jsonl").read_text().splitlines()[-1])
    assert line["annotations"]["s-00000"]["note"] == "旧版本"
    assert line["annotations"]["s-00000"]["verdict"] == "wrong"
    assert "saved" in panel.card.saved.value
    panel.stepper.next.click()
    assert panel.card.verdict.value is None and panel.card.note.value == ""
    panel.stepper.previous.click()
    assert panel.card.verdict.value == "wrong" and panel.card.note.value == "旧版本"
    assert len(session.annotations) == 1


def test_a_pin_has_all_that_is_needed_to_find_it_again(panel, session, tmp_path):
    panel.cut.value = 0.3
    panel.filters.choices["language"].value = "zh"
    panel.card.pin.click()
    finding = session.findings[0]
    assert finding.n == len(panel.table()) == len(finding.sample_ids)
    assert finding.value == pytest.approx(finding.n / 12)
    assert finding.low < finding.value < finding.high
    assert finding.png().startswith(b"\x89PNG") and finding.filter == {"language": "zh"}
    assert finding.thresholds["low_scores"]["faithfulness"] == 0.3
    assert "set_low_score('faithfulness', 0.3)" in finding.snippet and str(tmp_path) in finding.snippet
    assert list((tmp_path / "session" / "figures").iterdir())


def test_a_saved_sample_keeps_its_card_as_it_stood(panel, session):
    panel.card.note.value = "look at this"
    panel.rows.receive({"do": "key", "key": "2"})
    panel.rows.receive({"do": "key", "key": "p"})
    finding, shown = session.findings[-1], panel.card.body.value
    assert finding.sample_ids == ("s-00000",) and finding.note == "look at this" and finding.png() is None
    assert str(restored(finding.card)) == shown and "企业版" in shown
    assert "wrong" in finding.table().to_numpy()
    session.set_low_score("faithfulness", 0.0)
    assert Session(session.evaluation).findings[-1].card == finding.card


def test_what_comes_back_from_a_file_is_markup_of_ours_alone():
    bad = '<p onclick="x()" class="wb-note">a<script>alert(1)</script><img src=x onerror=y><iframe>b</iframe></p><div>open'
    assert str(restored(bad)) == '<p class="wb-note">a</p><div>open</div>'


def test_rows_are_paged_clicked_and_stepped_through(fake):
    panel = LowScores(Session(fake(n=100)))
    panel.shown.value = "all"
    rows, session = panel.rows, panel.session
    assert [row[0][0] for row in rows.view["rows"]] == [f"s-{n:05d}" for n in range(14)]
    assert rows.view["total"] == 100 and rows.view["words"]["place"] == "1–14 of 100" and rows.view["current"] == 0
    rows.receive({"do": "go", "at": 3})
    assert session.selection == "s-00003" and "sample 4 of 100" in panel.stepper.position.value
    rows.receive({"do": "step", "by": 1})
    assert session.selection == "s-00004" and rows.view["current"] == 4
    rows.receive({"do": "page", "to": "on"})
    assert session.selection == "s-00004" and rows.view["first"] == 14 and rows.view["current"] == -1
    rows.receive({"do": "page", "to": "last", "go": True})
    assert session.selection == "s-00099" and rows.view["first"] == 98 and len(rows.view["rows"]) == 2
    panel.stepper.previous.click()
    assert session.selection == "s-00098" and rows.view["current"] == 0
    rows.receive({"do": "step", "by": 99})
    assert session.selection == "s-00099"


def test_a_bar_filters_and_the_line_moves_the_threshold(panel, session):
    regions = {tuple(one["key"][:2]): one for one in panel.picture.overlay.regions}
    name, main, more = cause_counts(session)[0]
    assert f"main cause of {main}" in regions["cause", name]["label"]
    panel.picture.receive({"do": "click", "key": ["cause", name]})
    assert session.filter.cause == name and len(panel.ids()) == main + more
    panel.picture.receive({"do": "click", "key": ["cause", name]})  # once more takes it off
    assert session.filter.cause is None
    panel.picture.receive({"do": "line", "value": 0.3})
    assert panel.cut.value == 0.3 and panel.shown.value == "beyond"
    _, low, high = next(one["key"] for one in panel.picture.overlay.regions if one["key"][0] == "bin")
    panel.picture.receive({"do": "click", "key": ["bin", low, high]})
    assert panel.table()["score"].between(low, high).all() and "faithfulness from" in panel.rows.view["note"]


def test_ids_can_be_copied(panel):
    panel.card.copy.click()
    assert panel.card.id_box.value.split("\n") == panel.table().index.tolist()
    assert panel.card.id_box.layout.display is None


def test_the_card_says_what_is_known(panel):
    shown = panel.card.body.value
    assert "✓" in shown and "wb-supported" in shown and "wb-contradicted" in shown and "wb-part" in shown
    assert "rank 2" in shown and "wb-match" in shown and "wb-clash" in shown and "wb-word" in shown
    assert "500" in shown and "missing" in shown and "present" in shown
    assert "ragas_faithfulness" in shown


def test_the_card_of_a_real_evaluation_tells_points_made_and_documents_that_leaked():
    """Frames hold numpy's True and not Python's: a point that is made is not missing, the document of another tenant has
    its sign, and the one that was used is called so."""
    card = str(LowScores(Session(wb.load_evaluation(BASELINE))).body("qa-023"))
    assert "missing" not in card.partition("45 元")[2].partition("wb-grid")[0]
    assert re.findall("⚠ ([^<]+)<", card) == ["mirabel-shanghai-zh#2"] and card.count("used in the answer") == 1


def test_the_samples_whose_verdict_teaches_most_are_listed_in_that_order(tmp_path):
    """A verdict leaves the list as it is; chosen again, it holds only samples without one. A filter holds for it too."""
    session = Session(wb.load_evaluation(BASELINE), tmp_path)
    panel = LowScores(session)
    panel.shown.value = "teaching"
    first = panel.ids()
    assert first == [str(name) for name in wb.suggest(session.evaluation, n=20).index]
    session.annotate(first[0], verdict="wrong")
    assert panel.ids() == first
    panel.shown.value = "all"
    panel.shown.value = "teaching"
    again = panel.ids()
    assert first[0] not in again and len(again) == 20
    session.set_filter(language="zh")
    assert 0 < len(panel.ids()) < 20 and set(panel.ids()) <= set(session.matching())


def test_missing_columns_are_named(fake):
    evaluation = fake(n=2)
    evaluation.frame[["reference", "expected_docs", "contexts"]] = None
    evaluation.contexts = evaluation.support = evaluation.claims = lambda: pd.DataFrame(
        columns=["sample_id", "rank", "side", "claim_id"]
    )
    panel = LowScores(Session(evaluation))
    for column in ("reference", "expected_docs", "contexts"):
        assert f"column “{column}” unlocks" in panel.card.body.value


def test_no_scores_at_all(fake):
    evaluation = fake(n=3)
    scores = evaluation.scores() * np.nan
    evaluation.scores = lambda: scores
    panel = LowScores(Session(evaluation))
    assert "no score at all" in panel.html() and panel.error.value == ""


def test_a_handler_that_raises_shows_a_red_line_and_raises(panel, monkeypatch):
    monkeypatch.setattr(panel, "_refresh", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        panel.cut.value = 0.11
    assert "ZeroDivisionError" in panel.error.value and panel.error.layout.display is None


def test_with_a_kernel_the_red_line_is_all_and_it_goes_away(panel, monkeypatch):
    monkeypatch.setenv("WORKBENCH_STRICT", "0")
    with monkeypatch.context() as broken:
        broken.setattr(panel, "_refresh", lambda: 1 / 0)
        panel.cut.value = 0.11
        assert "ZeroDivisionError" in panel.error.value
    panel.cut.value = 0.12
    assert panel.error.value == "" and panel.error.layout.display == "none"


def test_hostile_texts_show_harmlessly(fake, tmp_path):
    evaluation = fake(n=2, path=tmp_path)
    evaluation.frame["question"] = HOSTILE
    evaluation.frame["answer"] = HOSTILE * 20_000
    evaluation.frame["reference"] = HOSTILE
    evaluation.frame["case_type"] = HOSTILE
    evaluation.frame["contexts"] = [[{"doc_id": HOSTILE, "text": HOSTILE * 100}] for _ in range(2)]
    session = Session(evaluation)
    panel = LowScores(session)
    session.annotate("s-00000", note=HOSTILE)
    panel.card.pin.click()
    panel.card.save.click()
    assert "\x00" not in json.dumps(panel.rows.view) and "\x1b" not in json.dumps(panel.rows.view)
    for shown in (panel.card.body.value, panel.html(), panel.stepper.position.value):
        assert "<script" not in shown and "\x00" not in shown and "\x1b" not in shown
    assert len(panel.card.body.value) < 200_000
    assert "<bdi>" in panel.card.body.value


def test_static_twins_show_the_same(panel):
    panel.cut.value = 0.3
    shown = panel.html()
    assert "scored samples are below 0.30" in shown and "data:image/png" in shown and "企业版" in shown
    assert shown._repr_html_() == shown
    assert "script" not in shown


def test_chinese(fake, monkeypatch):
    monkeypatch.setattr(language, "_current", "zh")
    panel = LowScores(Session(fake()))
    assert "低于 0.70" in panel.count.value and panel.metric.description == "指标"
    assert "期望文档" in panel.card.body.value and "忠实度" in dict(panel.metric.options)


def test_k_may_change(fake):
    session = Session(fake())
    panel = LowScores(session, "recall@5")
    deeper = fake(thresholds=session.thresholds.replace(k=7))
    scores = deeper.scores().rename(columns={"recall@5": "recall@7"})
    deeper.scores = lambda: scores
    session.evaluation.with_thresholds = lambda thresholds: deeper
    session.set_thresholds(k=7)
    assert panel.metric.value == "recall@7" and panel.error.value == ""


def test_ten_thousand_samples_follow_the_slider(fake):
    panel = LowScores(Session(fake(n=10_000)))
    panel.cut.value = 0.25
    assert len(panel.table()) == int(np.sum(panel.session.scores["faithfulness"] < 0.25))
    assert len(panel.html()) < 400_000
