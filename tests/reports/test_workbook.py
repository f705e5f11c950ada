"""The Excel workbook: typed, frozen, filtered; nothing in it is a formula."""

from __future__ import annotations

import datetime
import re
import zipfile

import openpyxl
import pytest

import workbench as wb
from tests.reports.hostile import FORMULA
from workbench.reports.sections import build_report
from workbench.reports.tables import CELL, _units, _within, write

DATE = datetime.date(2026, 11, 29)


def book_of(evaluation, folder, **options):
    path = write(build_report(evaluation, date=DATE, **options), folder / "r.xlsx", "xlsx")
    return path, openpyxl.load_workbook(path)


def test_no_cell_is_a_formula_or_a_link(evaluation, tmp_path):
    path, book = book_of(evaluation, tmp_path)
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row if cell.value is not None]
    assert not [cell for cell in cells if cell.data_type == "f"]
    assert not [cell for cell in cells if cell.hyperlink]
    same = [cell for cell in cells if cell.value == FORMULA]
    assert same and all(cell.quotePrefix for cell in same)
    with zipfile.ZipFile(path) as archive:
        assert not [name for name in archive.namelist() if "externalLink" in name or "vba" in name.lower()]
        for name in archive.namelist():
            assert not re.search(b"[\x00-\x08\x0b\x0c\x0e-\x1f]", archive.read(name)), name


def test_columns_are_typed_headings_frozen_and_filtered(evaluation, tmp_path):
    _, book = book_of(evaluation, tmp_path)
    sheet = book["Samples"]
    assert (sheet.freeze_panes, sheet.auto_filter.ref[:3]) == ("B2", "A1:")
    heads = [cell.value for cell in sheet[1]]
    rows = {row[0]: dict(zip(heads, row, strict=True)) for row in sheet.iter_rows(min_row=2, values_only=True)}
    assert rows.keys() == set(evaluation.samples.frame.index)
    scores, failures = evaluation.scores(), evaluation.failures()
    for name, row in rows.items():
        assert row["passed"] is failures.at[name, "passed"]
        for metric in scores.columns:
            value = scores.at[name, metric]
            assert row[metric] is None if value != value else row[metric] == pytest.approx(value)


def test_numbers_are_those_of_the_evaluation(evaluation, better, tmp_path):
    after = wb.load_evaluation(better)
    _, book = book_of(after, tmp_path, baseline=evaluation)
    assert book.sheetnames == ["Report", "Charts", "Metrics", "Causes", "Where", "Changes", "Failing", "Samples", "States",
                               "Measured"]  # fmt: skip
    heads, *rows = book["Metrics"].iter_rows(values_only=True)
    faithful = next(dict(zip(heads, row, strict=True)) for row in rows if row[0] == "faithfulness")
    summary = after.summary().loc["faithfulness"]
    assert faithful["mean"] == pytest.approx(summary["mean"]) and faithful["n scored"] == summary["n_ok"]
    assert [row[0] for row in book["Changes"].iter_rows(min_row=2, values_only=True)][:2] == ["broken", "fixed"]


def test_a_cell_that_is_too_long_is_cut_and_said(tmp_path):
    long = "😀" * 40_000
    row = {"sample_id": "long", "question": "How?", "answer": long, "must_include": ["nothing of it"]}
    _, book = book_of(wb.evaluate(wb.load_samples([row]), judge=None, progress=False), tmp_path)
    answer = book["Samples"]["C2"].value
    assert _units(answer) <= CELL and answer.endswith("😀…")
    said = [row[0] for row in book["Report"].iter_rows(values_only=True) if row[0]]
    assert any(line.startswith("2 texts were longer than the 32,767 characters") for line in said)


def test_cut_never_parts_a_character():
    assert _within("ab😀cd", 4) == "ab…"
    assert _within("ab😀cd", 5) == "ab😀…"


def test_chinese_workbook(evaluation, tmp_path):
    _, book = book_of(evaluation, tmp_path, language="zh")
    assert book.sheetnames[:4] == ["报告", "图表", "指标", "归因"]
    assert book["失败样本"]["A1"].value == "样本"


@pytest.mark.parametrize(("language", "sheet", "cause"), [("en", "Charts", "contradiction"), ("zh", "图表", "矛盾")])
def test_a_sheet_of_charts_and_causes_by_their_names(evaluation, better, tmp_path, language, sheet, cause):
    path, _ = book_of(wb.load_evaluation(better), tmp_path, baseline=evaluation, language=language)
    with zipfile.ZipFile(path) as archive:
        charts = [archive.read(name).decode() for name in archive.namelist() if re.match(r"xl/charts/chart\d", name)]
    assert len(charts) == 2 and cause in charts[0] + openpyxl_text(path)
    assert sheet in openpyxl.load_workbook(path).sheetnames


def openpyxl_text(path):
    """Every text of the sheet of samples."""
    book = openpyxl.load_workbook(path)
    rows = book[book.sheetnames[-3]].iter_rows(values_only=True)
    return " ".join(str(value) for row in rows for value in row if isinstance(value, str))
