"""A report as an Excel workbook: typed columns, frozen headings, filters; text is text, whatever it begins with."""

from __future__ import annotations

import datetime
import math
import re
from pathlib import Path
from typing import Any

from workbench.data.files import replacing
from workbench.data.schema import none_if_missing
from workbench.language import speaking
from workbench.language import text as _t
from workbench.reports.report import Report
from workbench.reports.secrets import without_keys
from workbench.reports.sheets import Sheet, sheets
from workbench.views.html import clean

#: The most characters of a cell, and rows of a sheet, that Excel can hold.
CELL, ROWS = 32_767, 1_048_576
#: Longest name of a sheet.
_NAME = 31
#: What a spreadsheet would take for a formula when the cell is edited: such a cell is marked as text.
_FORMULA = re.compile(r"^[\s]*[=+\-@|%＝＋－＠]")


def write_workbook(report: Report, target: Path) -> Path:
    """Write the workbook, whole or not at all; the same report gives the same bytes."""
    import xlsxwriter

    with speaking(report.language), replacing(target) as temporary:
        options = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False,
                   "nan_inf_to_errors": False, "in_memory": True}  # fmt: skip
        book = xlsxwriter.Workbook(str(temporary), options)
        book.set_properties({"title": clean(report.title)[:250], "created": _midnight(report.date)})
        writer = _Writer(book)
        for sheet in sheets(report):
            writer.add(sheet)
        writer.say_cuts()
        book.close()
    return target


def _midnight(date: datetime.date) -> datetime.datetime:
    return datetime.datetime(date.year, date.month, date.day)


class _Writer:
    """Writes sheets and remembers what had to be cut."""

    def __init__(self, book: Any) -> None:
        self._book = book
        self._cut_cells = 0
        self._cut_rows: list[str] = []
        self._first: Any = None
        self._first_end = 0
        top = {"valign": "top"}
        self._formats = {
            "head": book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"}),
            "text": book.add_format({**top, "text_wrap": True}),
            "quoted": book.add_format({**top, "text_wrap": True, "quote_prefix": True}),
            "score": book.add_format({**top, "num_format": "0.00"}),
            "count": book.add_format({**top, "num_format": "#,##0"}),
            "rate": book.add_format({**top, "num_format": "0 %"}),
            "bold": book.add_format({**top, "text_wrap": True, "bold": True}),
        }

    def add(self, sheet: Sheet) -> None:
        """One sheet: headings frozen with filters, columns as wide as asked."""
        own = self._book.add_worksheet(sheet.name[:_NAME])
        rows = sheet.rows[: ROWS - 1]
        if len(rows) < len(sheet.rows):
            self._cut_rows.append(
                _t("report.workbook.cut_rows", sheet=sheet.name, shown=f"{len(rows):,}", total=f"{len(sheet.rows):,}")
            )
        for at, head in enumerate(sheet.heads):
            self._cell(own, 0, at, head, "head")
            own.set_column(at, at, sheet.widths[at] if at < len(sheet.widths) else 12)
        for line, row in enumerate(rows, 1):
            for at, value in enumerate(row):
                self._cell(own, line, at, value, sheet.kinds.get(at, ""))
        if sheet.table:
            own.freeze_panes(1, 1)
            own.autofilter(0, 0, max(len(rows), 1), max(len(sheet.heads) - 1, 0))
        if self._first is None:
            self._first, self._first_end = own, len(rows) + 2

    def _cell(self, sheet: Any, row: int, column: int, value: Any, kind: str) -> None:
        value = none_if_missing(value) if not isinstance(value, (list, tuple, dict)) else _joined(value)
        if value is None:
            return
        if isinstance(value, bool):
            sheet.write_boolean(row, column, value, self._formats["text"])
        elif isinstance(value, (int, float)):
            self._number(sheet, row, column, value, kind)
        else:
            self._text(sheet, row, column, str(value), kind)

    def _number(self, sheet: Any, row: int, column: int, value: float, kind: str) -> None:
        if not math.isfinite(value):
            self._text(sheet, row, column, str(value), kind)
            return
        usual = "count" if isinstance(value, int) else "score"
        sheet.write_number(row, column, value, self._formats[kind if kind in ("rate", "count") else usual])

    def _text(self, sheet: Any, row: int, column: int, value: str, kind: str) -> None:
        text = without_keys(clean(value))
        if _units(text) > CELL:
            self._cut_cells += 1
            text = _within(text, CELL)
        look = kind if kind in ("head", "bold") else "quoted" if _FORMULA.match(text) else "text"
        sheet.write_string(row, column, text, self._formats[look])

    def say_cuts(self) -> None:
        """Lines on the first sheet about what does not fit into Excel."""
        lines = list(self._cut_rows)
        if self._cut_cells:
            lines.append(_t("report.workbook.cut_cells", n=f"{self._cut_cells:,}"))
        for at, line in enumerate(lines):
            self._text(self._first, self._first_end + at, 0, line, "")


def _joined(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key}={item}" for key, item in value.items())
    return "; ".join(map(str, value))


def _units(text: str) -> int:
    """Length as Excel counts it: in UTF-16 code units."""
    return len(text) if text.isascii() else len(text) + sum(ord(c) > 0xFFFF for c in text)


def _within(text: str, limit: int) -> str:
    """``text`` cut to ``limit`` UTF-16 code units, ending in an ellipsis."""
    return text.encode("utf-16-le")[: 2 * (limit - 1)].decode("utf-16-le", "ignore") + "…"
