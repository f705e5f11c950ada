"""Notebook 09 with a log of one's own, with the sample log, and without any log."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.notebooks.test_notebooks import ROOT, SAMPLE, fine, run, shown

BOOK = ROOT / "notebooks" / "09_monitoring.ipynb"


@pytest.fixture
def data(tmp_path):
    return Path(shutil.copytree(SAMPLE / "evaluations" / "baseline", tmp_path / "baseline"))


def printed(notebook):
    return "".join(
        str(output.get("data", {}).get("text/plain", "")) + str(output.get("text", ""))
        for cell in notebook.cells
        for output in cell.get("outputs", [])
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_planted_degradation_is_in_the_notebook(language, data, tmp_path, monkeypatch):
    parameters = {
        "DATA": str(data),
        "LOG": str(SAMPLE / "query_log.jsonl"),
        "OUT": str(tmp_path / "out"),
        "LANGUAGE": language,
    }
    notebook = run(BOOK, tmp_path, parameters, monkeypatch)
    fine(notebook, tmp_path / "out")
    [count] = shown(notebook, "wb-count")
    assert ("alerts: 1 of this metric" in count) == (language == "en")
    assert "2025-06-10 08:34 UTC" in printed(notebook) or "2025-06-10 08" in printed(notebook)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "monitoring.html",
        "monitoring.csv",
        "monitoring.png",
    }


def test_without_a_log_it_says_what_it_lacks(data, tmp_path, monkeypatch):
    notebook = run(BOOK, tmp_path, {"DATA": str(data), "OUT": str(tmp_path / "out"), "LANGUAGE": "en"}, monkeypatch)
    fine(notebook, tmp_path / "out")
    assert any("No query log was given" in text for text in shown(notebook, "wb"))
