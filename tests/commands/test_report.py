"""The ``report`` command."""

from __future__ import annotations

import pandas as pd
import pytest

import workbench as wb
from workbench import language
from workbench.cli import main

ROWS = [
    {"sample_id": "a", "question": "How many seats?", "answer": "There are 7 seats.", "must_include": ["5 seats"]},
    {"sample_id": "b", "question": "How many doors?", "answer": "There are 2 doors.", "must_include": ["2 doors"]},
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A saved evaluation of two samples, one of them failing."""
    monkeypatch.setattr(language, "_chosen", False)
    monkeypatch.setattr(language, "_current", "en")
    return wb.evaluate(wb.load_samples(ROWS), judge=None, progress=False, name="run").save(tmp_path / "run")


@pytest.mark.parametrize("format", ["html", "md", "xlsx", "csv", "parquet", "junit"])
@pytest.mark.parametrize("spoken", ["en", "zh"])
def test_every_format_in_both_languages(folder, tmp_path, format, spoken, capsys):
    out = tmp_path / f"out.{format}"
    assert main(["report", str(folder), "--format", format, "--language", spoken, "--out", str(out)]) == 0
    assert out.stat().st_size > 200
    assert str(out) in capsys.readouterr().out


def test_same_as_the_notebook(folder, tmp_path):
    session = wb.Session(wb.load_evaluation(folder))
    session.pin("What I saw", sample_ids=["a"])
    wb.panels.export(session).export(tmp_path / "panel.html", language="en")
    assert main(["report", str(folder), "--language", "en", "--out", str(tmp_path / "line.html")]) == 0
    assert (tmp_path / "panel.html").read_text() == (tmp_path / "line.html").read_text()


def test_baseline_and_date(folder, tmp_path):
    out = tmp_path / "r.html"
    assert main(["report", str(folder), "--baseline", str(folder), "--date", "2026-11-29", "--language", "en",
                 "--out", str(out)]) == 0  # fmt: skip
    text = out.read_text(encoding="utf-8")
    assert "29 Nov 2026" in text and "the same as before (2 pairs)" in text
    assert "Of 2 matched samples: 0 fixed, 0 broken, 1 still failing, 1 still passing" in text


def test_without_pins_the_failing_samples(folder, tmp_path):
    out = tmp_path / "r.csv"
    assert main(["report", str(folder), "--format", "csv", "--out", str(out)]) == 0
    assert pd.read_csv(out)["sample_id"].tolist() == ["a"]


def test_bad_input_is_one_line(tmp_path, capsys):
    assert main(["report", str(tmp_path), "--out", str(tmp_path / "r.html")]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not (tmp_path / "r.html").exists()
