"""Notebooks 03 and 04 over the sample corpus: ranks, pictures and candidates are really made, and say so."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_data" / "support"


def run(name, folder, monkeypatch, **parameters):
    import papermill

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("WORKBENCH_CACHE", str(folder / "cache"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    data = folder / "baseline"
    if not data.exists():
        import shutil

        shutil.copytree(SAMPLE / "evaluations" / "baseline", data, ignore=shutil.ignore_patterns("session"))
    given = {
        "DATA": str(data),
        "OUT": str(folder / "findings"),
        "CORPUS": str(SAMPLE / "corpus.jsonl"),
        "ENCODER": "ngram",
    }
    papermill.execute_notebook(
        str(ROOT / "notebooks" / name),
        str(folder / name),
        parameters={**given, **parameters},
        kernel_name="python3",
        cwd=str(folder),
        progress_bar=False,
    )
    notebook = nbformat.read(folder / name, as_version=4)
    states = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    return notebook, [model["state"] for model in states.values()]


def shown(states, name):
    return [state["value"] for state in states if name in state.get("_dom_classes", [])]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_missed_documents(tmp_path, monkeypatch, language):
    notebook, states = run("03_missed_documents.ipynb", tmp_path, monkeypatch, LANGUAGE=language)
    assert not any(shown(states, "wb-error"))
    assert ("questions miss" in shown(states, "wb-count")[0]) == (language == "en")
    html = "".join(str(output) for cell in notebook.cells for output in cell.get("outputs", []))
    assert html.count("data:image/png") >= 5
    assert (tmp_path / "findings" / "missed_documents.csv").is_file()


def test_vocabulary(tmp_path, monkeypatch):
    _, states = run("04_vocabulary_mismatch.ipynb", tmp_path, monkeypatch, LANGUAGE="en")
    assert not any(shown(states, "wb-error"))
    assert "misses are vocabulary gaps" in shown(states, "wb-count")[0]
    assert (tmp_path / "findings" / "synonyms.json").is_file()
    assert (tmp_path / "findings" / "vocabulary.html").is_file()
