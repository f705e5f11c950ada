"""Every notebook keeps the rules of style, runs from top to bottom, and no panel in it has failed."""

from __future__ import annotations

import ast
import os
import re
import shutil
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SAMPLE = ROOT / "sample_data" / "support"


def ids(path):
    return path.stem


def sources(notebook, kind):
    return [cell.source for cell in notebook.cells if cell.cell_type == kind]


def widget_states(notebook):
    return notebook.metadata.get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {}).get("state", {})


def complaints(notebook):
    """What a green run can hide: a panel's red line, an error kept in an Output widget, an error output."""
    found = []
    for model in widget_states(notebook).values():
        state = model["state"]
        if "wb-error" in state.get("_dom_classes", []) and state.get("value"):
            found.append(state["value"])
        found += [o["evalue"] for o in state.get("outputs", []) if o.get("output_type") == "error"]
    for cell in notebook.cells:
        found += [o.evalue for o in cell.get("outputs", []) if o.output_type == "error"]
    return found


def shown(notebook, name):
    """What the widgets with a CSS class show."""
    states = (model["state"] for model in widget_states(notebook).values())
    return [state["value"] for state in states if name in state.get("_dom_classes", [])]


def run(path, folder, parameters, monkeypatch):
    """Execute a copy of ``path`` in ``folder`` with papermill's parameters, as the command line does."""
    import papermill

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("WORKBENCH_CACHE", str(folder / "cache"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    out = folder / path.name
    papermill.execute_notebook(
        str(path), str(out), parameters=parameters, kernel_name="python3", cwd=str(folder), progress_bar=False
    )
    return nbformat.read(out, as_version=4)


@pytest.fixture(scope="module")
def evaluations(tmp_path_factory):
    """A copy of the saved sample evaluations, so that no session is written into the repository."""
    folder = tmp_path_factory.mktemp("evaluations")
    ignore = shutil.ignore_patterns("session")
    return Path(shutil.copytree(SAMPLE / "evaluations", folder / "evaluations", ignore=ignore))


def test_there_are_notebooks():
    assert {path.stem[:2] for path in NOTEBOOKS} >= {"00", "01", "02", "10"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=ids)
def test_the_rules_of_style(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3" and "language_info" not in notebook.metadata
    assert [cell.id for cell in notebook.cells] == [f"{path.stem[:2]}-{i:02d}" for i in range(len(notebook.cells))]
    kinds = [cell.cell_type for cell in notebook.cells]
    assert kinds[:3] == ["markdown", "code", "code"] and kinds[-1] == "code"
    first = notebook.cells[0].source
    assert (
        first.startswith("# ") and "?" in first.splitlines()[0] and "decide" in first
    ) or "After this notebook" in first
    assert notebook.cells[1].metadata.tags == ["parameters"]
    assert re.search(r"(?m)^DATA = None  # ", notebook.cells[1].source)
    assert re.search(r"(?m)^MAPPING = {}  # ", notebook.cells[1].source)
    assert notebook.cells[2].source == "import workbench as wb"
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=ids)
def test_cells_are_short_and_plain(path):
    notebook = nbformat.read(path, as_version=4)
    for source in sources(notebook, "code"):
        assert len(source.splitlines()) <= 12
        nodes = list(ast.walk(ast.parse(source)))
        assert not [n for n in nodes if isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.For, ast.While))]
        assert max(map(len, source.splitlines())) <= 120


@pytest.mark.parametrize("path", NOTEBOOKS, ids=ids)
def test_a_static_result_and_how_to_read_it_stand_in_every_notebook(path):
    notebook = nbformat.read(path, as_version=4)
    headings = [source for source in sources(notebook, "markdown") if source.startswith("## ")]
    assert len(headings) >= 3 and headings[-1].startswith("## Export")
    # A panel shows the widget and the page in one display: no cell shows the same again.
    assert any(source.endswith("\npanel") for source in sources(notebook, "code"))
    assert "panel.html()" not in sources(notebook, "code")


def fine(notebook, out):
    """It ran, no panel failed, what it shows stands beside its widgets as a page, and something was exported."""
    assert complaints(notebook) == []
    assert widget_states(notebook), "the widgets' state is kept in the file"
    displayed = [output.data for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    both = [data for data in displayed if "application/vnd.jupyter.widget-view+json" in data]
    assert both and all("wb" in data["text/html"] for data in both), "a page stands beside the widget"
    assert list(out.iterdir())


#: Run with the data alone by other tests: 02 below in both languages, 09 in ``test_monitoring_notebook.py``.
ELSEWHERE = ("02", "09")


@pytest.mark.parametrize("path", [path for path in NOTEBOOKS if not path.stem.startswith(ELSEWHERE)], ids=ids)
def test_it_runs_and_no_panel_failed(path, evaluations, tmp_path, monkeypatch):
    data = evaluations / "baseline"
    notebook = run(path, tmp_path, {"DATA": str(data), "OUT": str(tmp_path / "findings")}, monkeypatch)
    fine(notebook, tmp_path / "findings")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_both_languages(language, evaluations, tmp_path, monkeypatch):
    path = ROOT / "notebooks" / "02_low_scores.ipynb"
    parameters = {"DATA": str(evaluations / "baseline"), "OUT": str(tmp_path / "findings"), "LANGUAGE": language}
    notebook = run(path, tmp_path, parameters, monkeypatch)
    fine(notebook, tmp_path / "findings")
    [count] = shown(notebook, "wb-count")
    assert ("scored samples" in count) == (language == "en")


def test_a_csv_of_ones_own_in_the_one_line(tmp_path, monkeypatch):
    """RAGAS' old column names, no ids, no expected documents: notebook 02 opens it and names what is missing."""
    csv = tmp_path / "mine.csv"
    csv.write_text(
        "question,answer,contexts,ground_truth\n"
        "How long are logs kept?,For 90 days.,\"['Logs are kept for 90 days.']\",90 days\n"
        "日志保留多久？,永久保留。,\"['日志保留 90 天。']\",90 天\n",
        encoding="utf-8",
    )
    path = ROOT / "notebooks" / "02_low_scores.ipynb"
    notebook = run(path, tmp_path, {"DATA": str(csv), "OUT": str(tmp_path / "findings")}, monkeypatch)
    assert complaints(notebook) == []
    assert "expected_docs" in shown(notebook, "wb-card")[0]


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\x00\x1b[2J\u202egnp.exe"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """An evaluation of texts that would run, hide or freeze something; the last answer has a megabyte."""
    import workbench as wb

    rows = [
        {
            "sample_id": f"=cmd|' /C calc'!A{i}",
            "question": f"{HOSTILE} {i}",
            "answer": "=1+1" + HOSTILE + "<b>词语 word</b> " * (0 if i < 3 else 55_000),
            "contexts": [{"doc_id": HOSTILE, "text": HOSTILE * 50}],
            "reference": HOSTILE,
            "case_type": HOSTILE,
            "tags": {HOSTILE: HOSTILE},
            "must_include": ["@never there"],
            "expected_docs": ["-1+1"],
        }
        for i in range(4)
    ]
    folder = tmp_path_factory.mktemp("hostile") / "evaluation"
    wb.evaluate(wb.load_samples(rows), judge=None, progress=False).save(folder)
    return folder


@pytest.mark.xdist_group("hostile")
@pytest.mark.parametrize("name", ["00_start_here", "01_score_dataset", "02_low_scores", "10_export_findings"])
def test_hostile_texts_show_and_export_harmlessly(name, hostile, tmp_path, monkeypatch):
    out = tmp_path / "findings"
    path = ROOT / "notebooks" / f"{name}.ipynb"
    notebook = run(path, tmp_path, {"DATA": str(hostile), "OUT": str(out)}, monkeypatch)
    assert complaints(notebook) == []
    pages = [m["state"]["value"] for m in widget_states(notebook).values() if m["model_name"] == "HTMLModel"]
    pages += [
        o.data["text/html"]
        for cell in notebook.cells
        for o in cell.get("outputs", [])
        if "text/html" in o.get("data", {})
    ]
    pages += [file.read_text("utf-8") for file in out.glob("*.html")]
    assert pages and max(map(len, pages)) < 2_000_000
    for page in pages:
        assert not re.search(r"<script|<img src=x|[\x00-\x08\x0b-\x1f]", page)
    for file in out.glob("*.csv"):
        assert not re.search(r'(?m)(^|,)"?[=+@]', file.read_text("utf-8-sig"))


def test_a_broken_panel_is_found(evaluations, tmp_path, monkeypatch):
    """The scan itself: an observer that raises leaves the cell green, and the red line is seen."""
    notebook = nbformat.read(ROOT / "notebooks" / "02_low_scores.ipynb", as_version=4)
    code = "panel._refresh = lambda: 1 / 0\npanel.cut.value = 0.11\npanel"
    notebook.cells.append(nbformat.v4.new_code_cell(code))
    broken = tmp_path / "broken" / "02_low_scores.ipynb"
    broken.parent.mkdir()
    nbformat.write(notebook, broken)
    done = run(
        broken, tmp_path, {"DATA": str(evaluations / "baseline"), "OUT": str(tmp_path / "findings")}, monkeypatch
    )
    assert any("ZeroDivisionError" in line for line in complaints(done))
