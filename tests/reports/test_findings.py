"""Pins within a report: order, words, numbers, pictures."""

from __future__ import annotations

import datetime

import pandas as pd
import pytest

import workbench as wb
from tests.reports.hostile import ATTACK
from workbench.errors import InputError
from workbench.reports.tables import export_findings
from workbench.views import figures, plots

DATE = datetime.date(2026, 11, 29)


@pytest.fixture
def session(evaluation, tmp_path):
    """A session with three pins, the last one moved to the front."""
    own = wb.Session(evaluation, path=tmp_path / "session")
    picture = figures.figure_png(plots.failures([], [0.1, 0.9], 0.5))
    table = pd.DataFrame({"sample_id": ["zh-1"], "score": [0.25], "cause": ["contradiction"], "note": [""]})
    own.pin("First pin", note=f"note {ATTACK}", figure=picture, table=table, sample_ids=["zh-1", "@formula"], n_total=4,
            value=0.5, interval=(0.15, 0.85), snippet="import workbench as wb\n```\nx")  # fmt: skip
    own.pin("Second pin", sample_ids=["fine"])
    own.pin("Third pin", sample_ids=[])
    own.move_finding(own.findings[2].finding_id, -2)
    return own


def order(text, *titles):
    places = [text.index(title) for title in titles]
    return places == sorted(places)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_page_shows_pins_in_their_order_with_everything(session, tmp_path, language):
    text = export_findings(session, tmp_path / "r.html", language=language, date=DATE).read_text(encoding="utf-8")
    assert order(text, "1. Third pin", "2. First pin", "3. Second pin")
    assert ("50\u00a0% (15 – 85\u00a0%) · 2 of 4 samples" if language == "en" else "50% (15 – 85%) · 2 / 4 个样本") in text
    assert text.count("data:image/png;base64,") == 1
    assert "zh-1, @formula" in text and "import workbench as wb" in text
    assert "<script" not in text and "onerror=alert" not in text.replace("&lt;img src=http://evil.example/a.png onerror", "")
    assert "No sample or view was saved" not in text


def test_edits_and_removals_show(session, tmp_path):
    second = session.findings[2].finding_id
    session.edit_finding(second, title="Edited title", note="own words")
    session.remove_finding(session.findings[0].finding_id)
    text = export_findings(session, tmp_path / "r.html", date=DATE).read_text(encoding="utf-8")
    assert order(text, "1. First pin", "2. Edited title")
    assert "own words" in text and "Third pin" not in text and "Second pin" not in text


def test_markdown_has_the_picture_beside_it(session, tmp_path):
    text = export_findings(session, tmp_path / "r.md", format="md", date=DATE).read_text(encoding="utf-8")
    assert "![First pin](r_files/finding-2.png)" in text
    assert (tmp_path / "r_files" / "finding-2.png").read_bytes().startswith(b"\x89PNG")
    assert "````python" in text


def test_samples_and_findings_are_two_tables(session, tmp_path):
    target = export_findings(session, tmp_path / "r.csv", format="csv", date=DATE)
    findings = pd.read_csv(tmp_path / "r_findings.csv", dtype={"sample_ids": str})
    assert findings["title"].tolist() == ["Third pin", "First pin", "Second pin"] and findings["finding"].tolist() == [1, 2, 3]
    assert findings["sample_ids"].fillna("").tolist() == ["", "zh-1; @formula", "fine"]
    assert findings["n"].tolist() == [0, 2, 1] and findings["n_total"].tolist() == [5, 4, 5]
    samples = pd.read_csv(target, dtype={"sample_id": str, "findings": str}).set_index("sample_id")
    failures = session.evaluation.failures()
    failing = failures.index[failures["passed"].eq(False)]
    assert samples.index[: len(failing)].str.removeprefix("'").isin(failing).all() and samples.index.is_unique
    assert samples.loc[["zh-1", "'@formula", "fine"], "findings"].tolist() == ["2", "2", "3"]
    assert samples.at["fine", "passed"] == failures.at["fine", "passed"]


def test_without_pins_the_failing_samples_are_shown(evaluation, tmp_path):
    session = wb.Session(evaluation, path=tmp_path / "session")
    text = export_findings(session, tmp_path / "r.html", date=DATE).read_text(encoding="utf-8")
    assert "No sample or view was saved" in text and "企业版支持 300 个并发会话。" in text


def test_thresholds_and_verdicts_of_the_session_hold(evaluation, tmp_path):
    session = wb.Session(evaluation, path=tmp_path / "session")
    session.set_thresholds(k=3)
    session.annotate("zh-1", verdict="wrong", note="seen by hand")
    text = export_findings(session, tmp_path / "r.html", date=DATE).read_text(encoding="utf-8")
    assert "k 3*" in text and "seen by hand" in text


def test_a_picture_that_is_gone_is_said(session, tmp_path):
    for file in (tmp_path / "session" / "figures").iterdir():
        file.unlink()
    text = export_findings(session, tmp_path / "r.html", date=DATE).read_text(encoding="utf-8")
    assert "The picture of this finding is no longer on disk." in text
    markdown = export_findings(session, tmp_path / "r.md", format="md", date=DATE).read_text(encoding="utf-8")
    assert "The picture of this finding is no longer on disk." in markdown


def test_panel_writes_the_same(session, tmp_path):
    panel = wb.panels.export(session, folder=tmp_path / "out")
    written = panel.export(tmp_path / "out" / "r", format="html", language="en")
    assert written == tmp_path / "out" / "r.html" and "First pin" in written.read_text(encoding="utf-8")
    with pytest.raises(InputError):
        panel.export(tmp_path / "x", format="pdf")
