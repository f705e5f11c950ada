"""Panels for people who do not see them or do not use a mouse, where no other test opens the notebook in that language.

Notebooks 00, 02, 04, 08 and 10 in English and 11 in both languages are looked at where they are worked with.
"""

from __future__ import annotations

import json
import re

import pytest

from tests.browser.conftest import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

NAMES = {
    "01_score_dataset": "zh", "03_missed_documents": "zh", "05_query_types": "zh", "06_compare_runs": "en",
    "07_hallucinations": "zh", "09_monitoring": "zh",
}  # fmt: skip


@pytest.mark.parametrize(("name", "language"), NAMES.items())
def test_nothing_serious_and_every_control_has_a_name(lab, workspace, name, language):
    book = json.loads((workspace / "notebooks" / f"{name}.ipynb").read_text("utf-8"))
    lines = next(cell for cell in book["cells"] if cell["cell_type"] == "code")
    source = re.sub(r"(?m)^LANGUAGE = .*$", f"LANGUAGE = {language!r}", "".join(lines["source"]))
    lines["source"] = re.sub(r"(?m)^ENCODER = .*$", 'ENCODER = "none"', source)
    (workspace / "notebooks" / f"named_{name}.ipynb").write_text(json.dumps(book), "utf-8")
    lab.run(f"named_{name}").accessible()


def test_no_notebook_is_left_out():
    elsewhere = {"00_start_here", "02_low_scores", "04_vocabulary_mismatch", "08_judge_calibration", "10_export_findings",
                 "11_repair_plan"}  # fmt: skip
    assert {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")} == {*NAMES, *elsewhere}
