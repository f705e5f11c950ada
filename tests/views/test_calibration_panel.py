"""Panel 08 without a kernel: cut, score and labels change counts and picture; own verdicts count; the cut is frozen."""

from __future__ import annotations

import re

import pandas as pd
import pytest

import workbench as wb
from tests.scripted import ScriptedJudge, evidence, sample_set
from workbench.evaluation import Evaluation
from workbench.evidence.collect import collect
from workbench.language import set_language
from workbench.views.widgets import Panel

CONTEXTS = [{"doc_id": "a", "text": "A."}]
N = 40


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    """40 answers of one claim each, supported with probability 0, 1/40 …"""
    questions = ("Which question is number {}?", "第 {} 个问题是什么？")
    rows = [{"sample_id": f"s{i}", "question": questions[i % 2].format(i), "answer": "One.", "contexts": CONTEXTS}
            for i in range(N)]  # fmt: skip

    def script(sample):
        return evidence(sample, [{"entail": [int(sample.sample_id[1:]) / N], "kinds": ["number"]}])

    return Evaluation(collect(sample_set(rows), ScriptedJudge(script)), wb.Thresholds(unsure_band=0.0), name="made")


@pytest.fixture
def labels(tmp_path):
    """Two people over 30 samples: right from 0.4 on; they differ on s15 and s16."""
    rows = []
    for i in range(30):
        for who in ("chen", "okafor"):
            right = (i >= 16) != (who == "okafor" and i in (15, 16))
            verdict = "right" if right else "wrong"
            rows.append({"run": "made", "sample_id": f"s{i}", "annotator": who, "verdict": verdict})
    file = tmp_path / "verdicts.csv"
    pd.DataFrame(rows).to_csv(file, index=False)
    return file


@pytest.fixture
def panel(evaluation, labels, tmp_path):
    return wb.panels.calibration(wb.Session(evaluation, tmp_path / "session"), labels)


def plain(widget) -> str:
    return re.sub("<[^>]+>", "", widget.value)


def test_counts_advice_and_picture_follow_the_cut(panel) -> None:
    # 15 wrong ones below 0.4 are all found; s17 … s19 (three right ones) are below 0.5 and blamed.
    assert "At 0.50 judge and people agree on 25 of 28" in plain(panel.count)
    assert "15 of 15 wrong answers found, 3 of 13 right ones flagged (false positives)" in plain(panel.count)
    assert "4 samples" not in plain(panel.labelling)
    assert "2 samples are left out" in plain(panel.labelling)
    image = panel.picture.image.value
    panel.cut.value = 0.0
    assert panel.session.thresholds.support == 0.0
    assert "0 of 15 wrong answers found, 0 of 13" in plain(panel.count)
    assert panel.picture.image.value != image
    panel.cut.value = 1.0
    assert "15 of 15 wrong answers found, 13 of 13" in plain(panel.count)
    assert panel.error.layout.display == "none"


def test_the_classes_that_every_panel_carries(panel) -> None:
    for widget, name in ((panel.cut, "wb-threshold"), (panel.count, "wb-count"), (panel.picture.image, "wb-figure"),
                         (panel.card.body, "wb-card"), (panel.stepper.next, "wb-next"),
                         (panel.stepper.previous, "wb-previous"), (panel.card.pin, "wb-pin")):  # fmt: skip
        assert name in widget._dom_classes
    assert (panel.cut.min, panel.cut.max, panel.cut.step, panel.cut.continuous_update) == (0, 1, 0.01, False)


def test_the_suggested_cut_is_taken_over_and_frozen(panel, tmp_path) -> None:
    # s14 at 0.35 fails and s17 at 0.425 passes.
    assert 0.36 <= panel.found.suggested.value <= 0.42
    panel.use.click()
    assert panel.session.thresholds.support == panel.found.suggested.value
    assert "agree on 28 of 28" in plain(panel.count)
    assert panel.use.disabled
    panel.rules.value = str(tmp_path / "gate.toml")
    panel.freeze.click()
    assert wb.Thresholds.from_toml(tmp_path / "gate.toml").support == panel.found.suggested.value
    assert "support = " in plain(panel.frozen)


def test_a_metric_has_its_own_cut(panel) -> None:
    panel.score.value = ("faithfulness", "support")
    assert panel.cut.value == pytest.approx(0.7)
    panel.cut.value = 0.3
    assert panel.session.thresholds.low_scores["faithfulness"] == 0.3
    panel.score.value = ("hallucination_rate", "support")
    assert panel.cut.description == "right up to"


def test_labels_of_one_person_or_of_oneself(panel) -> None:
    panel.labels.value = "okafor"
    assert "of 30" in plain(panel.count)
    panel.labels.value = ("own",)
    assert "nothing to compare" in plain(panel.count)
    assert "It takes 20 with at least 5 of each; still missing: 20 labels, 5 right ones among them" in plain(panel.advice)


def test_own_verdicts_on_the_card_count_at_once_and_the_list_stays(panel) -> None:
    panel.shown.value = "unlabelled"
    ids = list(panel._ids)
    assert sorted(ids) == sorted(f"s{i}" for i in range(30, 40))
    panel.card.verdict.value = "right"
    assert "of 29" in plain(panel.count)
    assert panel._ids == ids
    assert panel.session.selection == ids[0]
    assert "me: right" in plain(panel.people)
    panel.stepper.next.click()
    assert panel.session.selection == ids[1]


def test_disagreements_with_what_people_said(panel) -> None:
    assert panel.listed("disagreements") == list(panel.found.disagreements().index)
    assert set(panel._ids) == {"s17", "s18", "s19"}
    assert "chen: right; okafor: right. Judge at this threshold: wrong." in plain(panel.people)
    panel.cut.value = 0.4
    assert "agree on every labelled sample" in plain(panel.card.body)
    panel.shown.value = "split"
    assert set(panel._ids) == {"s15", "s16"}


def test_every_tab_says_something(panel) -> None:
    expected = ("judge: right", "Chinese", "corrected by people", "Krippendorff", "noise is unknown", "faithfulness")
    for place, words in enumerate(expected):
        panel.tabs.selected_index = place
        assert words in list(panel.pages.values())[place].value


def test_another_evaluation_of_the_same_texts_shows_the_judge_s_noise(evaluation, tmp_path) -> None:
    for name in ("one", "two"):
        evaluation.save(tmp_path / "runs" / name)
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "samples.parquet").write_bytes(b"no parquet")
    panel = wb.panels.calibration(wb.Session(wb.load_evaluation(tmp_path / "runs" / "one")))
    panel.tabs.selected_index = 4
    said = plain(panel.pages["noise"])
    assert "two" in said
    assert "0 % (0 – 9 %)" in said
    assert "Could not be opened: broken" in said


def test_a_pin_is_kept_with_the_corrected_rate(panel) -> None:
    panel.card.pin.click()
    finding = panel.session.findings[-1]
    assert finding.low < finding.value < finding.high
    assert "after correction" in finding.title
    compile(finding.snippet, "snippet", "exec")
    assert finding.n_total == 28


def test_without_labels_it_begins_with_what_is_to_be_judged(evaluation, labels, tmp_path) -> None:
    other = Evaluation(evaluation.evidence, evaluation.thresholds, name="other")
    panel = wb.panels.calibration(wb.Session(other, tmp_path / "o"), labels)
    assert "Nobody has judged an answer of other yet. The file of verdicts is about made." in plain(panel.labelling)
    assert panel.shown.value == "unlabelled"
    assert len(panel._ids) == N
    assert panel._ids != [f"s{i}" for i in range(N)]
    assert "nothing to compare" in panel.html()
    alone = wb.panels.calibration(wb.Session(other, tmp_path / "p"))
    assert len(alone.table()) == 0
    alone.tabs.selected_index = 3
    assert "No sample was judged by two people" in alone.pages["annotators"].value


def test_labels_that_the_score_cannot_follow_get_no_cut(evaluation, tmp_path) -> None:
    """People's verdicts run against the score: no cut agrees beyond chance."""
    rows = [{"sample_id": f"s{i}", "verdict": "wrong" if i >= 20 else "right"} for i in range(N)]
    panel = wb.panels.calibration(wb.Session(evaluation, tmp_path / "r"), rows)
    assert "No threshold agrees with people beyond chance" in plain(panel.advice)
    assert panel.use.disabled


def test_without_any_score_it_says_so(tmp_path) -> None:
    rows = [{"question": "q"}, {"question": "r"}]
    nothing = Evaluation(collect(sample_set(rows), None))
    panel = wb.panels.calibration(wb.Session(nothing, tmp_path))
    assert isinstance(panel, Panel)
    assert "score the recording with a judge first" in panel.html()


def test_both_languages(evaluation, labels, tmp_path) -> None:
    set_language("zh")
    panel = wb.panels.calibration(wb.Session(evaluation, tmp_path / "z"), labels)
    assert "建议阈值" in plain(panel.advice)
    assert "评判者与人工在 28 个中的 25 个上一致" in plain(panel.count)
    for place in range(6):
        panel.tabs.selected_index = place
    assert "中文" in panel.pages["languages"].value


def test_it_is_saved_as_page_table_and_picture(panel, tmp_path) -> None:
    written = panel.save(tmp_path / "out")
    assert sorted(path.suffix for path in written) == [".csv", ".html", ".png"]
    assert len(pd.read_csv(tmp_path / "out" / "calibration.csv")) == 28


def test_notes_of_annotators_are_escaped(evaluation, tmp_path) -> None:
    rows = [{"sample_id": "s39", "annotator": "<b>x", "verdict": "wrong", "note": "<script>alert(1)</script>"}]
    panel = wb.panels.calibration(wb.Session(evaluation, tmp_path / "h"), rows)
    panel.shown.value = "labelled"
    assert "&lt;script&gt;" in panel.people.value
    assert "<script" not in panel.people.value
    panel.tabs.selected_index = 3
    assert "<script" not in panel.html()


def test_one_key_gives_a_verdict_and_goes_on(panel) -> None:
    panel.shown.value = "suggested"
    ids = panel.ids()
    assert len(ids) == 10 and set(ids) == {f"s{i}" for i in range(30, 40)}
    panel.card.key.value = "r"
    assert panel.session.annotations[ids[0]].verdict == "right" and panel.session.selection == ids[1]
    assert "of 29" in plain(panel.count) and panel.ids() == ids
    panel.card.key.value = "rxw3"  # what was typed before is not read again; letters without a meaning are passed over
    assert [panel.session.annotations[name].verdict for name in ids[1:3]] == ["wrong", "unsure"]
    assert panel.session.selection == ids[3] and "sample 4 of 10" in panel.stepper.position.value
    panel.card.key.value = "rxw"  # a key taken back gives no verdict
    assert panel.session.selection == ids[3]


def test_the_judge_is_fitted_in_its_tab(panel, tmp_path) -> None:
    panel.tabs.selected_index = len(panel.tabs.children) - 1
    assert "30 verdicts so far" in plain(panel.fitting.intro)
    panel.fitting.button.click()
    assert "support of claims: 28 labels; it takes 30" in plain(panel.fitting.said)
    for i in range(30, 34):
        panel.session.annotate(f"s{i}", verdict="right")
    panel.fitting.rate.value = 0.2
    panel.fitting.button.click()
    fitted = wb.load_judge(tmp_path / "session" / "judge.toml")
    assert fitted.parts["support"].n == 32 and fitted.error_rate == 0.2
    assert "Right answers" in plain(panel.fitting.said) and "verdict on the answer" in plain(panel.fitting.said)
    panel.shown.value = "unsure"
    assert panel.ids() == panel.fitting.unsure()
    again = wb.panels.calibration(wb.Session(panel.session._opened, tmp_path / "session"))
    assert again.fitting.fitted == fitted


def test_a_broken_file_and_a_fitted_evaluation_are_said(panel, evaluation, tmp_path, labels) -> None:
    (tmp_path / "session" / "judge.toml").write_text("[fitted]\n", encoding="utf-8")
    assert "no fitted judge" in plain(wb.panels.calibration(panel.session).fitting.said)
    under = evaluation.with_judge(wb.fit(evaluation, labels))
    shown = wb.panels.calibration(wb.Session(under, tmp_path / "other"))
    assert "under a fitted judge" in plain(shown.fitting.intro) and shown.listed("suggested") == []
