"""Notebooks 03 and 04 over the sample corpus: ranks, pictures and candidates are really made, and say so."""

from __future__ import annotations

import shutil

import pytest

from tests.notebooks.test_notebooks import ROOT, SAMPLE, fine, run, shown


@pytest.fixture
def executed(tmp_path, monkeypatch):
    """Execute a notebook over the sample corpus; it runs, and no panel failed."""

    def execute(name, language):
        data = shutil.copytree(SAMPLE / "evaluations" / "baseline", tmp_path / "baseline")
        given = {"DATA": str(data), "OUT": str(tmp_path / "findings"), "LANGUAGE": language,
                 "CORPUS": str(SAMPLE / "corpus.jsonl"), "ENCODER": "ngram"}  # fmt: skip
        notebook = run(ROOT / "notebooks" / name, tmp_path, given, monkeypatch)
        fine(notebook, tmp_path / "findings")
        return notebook

    return execute


@pytest.mark.parametrize("language", ["en", "zh"])
def test_missed_documents(executed, tmp_path, language):
    notebook = executed("03_missed_documents.ipynb", language)
    assert ("questions miss" in shown(notebook, "wb-count")[0]) == (language == "en")
    html = "".join(str(output) for cell in notebook.cells for output in cell.get("outputs", []))
    assert html.count("data:image/png") >= 5
    assert (tmp_path / "findings" / "missed_documents.csv").is_file()


def test_vocabulary(executed, tmp_path):
    notebook = executed("04_vocabulary_mismatch.ipynb", "en")
    assert "misses are vocabulary gaps" in shown(notebook, "wb-count")[0]
    assert (tmp_path / "findings" / "synonyms.json").is_file()
    assert (tmp_path / "findings" / "vocabulary.html").is_file()
