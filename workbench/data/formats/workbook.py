"""Excel workbooks (.xlsx): the sheet that has a column of questions, read row by row."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import Any

from workbench.data.columns import resolve
from workbench.data.formats.delimited import from_cells, unique_header
from workbench.data.formats.records import WHOLE_FILE, Records, Remark
from workbench.errors import InputError

#: Largest unpacked size of a workbook.
MAX_UNPACKED = 1024**3


def read_workbook(content: bytes, where: str) -> Records:
    """Records of the first sheet that has a column of questions (or of texts); else of the first sheet.

    Cells keep Excel's types: 7 stays a whole number, a formula gives its stored result.

    Raises
    ------
    InputError
        When it is no workbook, is damaged, or unpacks to more than ``MAX_UNPACKED`` bytes.
    """
    _check(content, where)
    import openpyxl
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        try:
            return _best_sheet({sheet.title: _cells(sheet) for sheet in book.worksheets}, where)
        finally:
            book.close()
    except (
        InvalidFileException,
        zipfile.BadZipFile,
        OSError,
        KeyError,
        ValueError,
        TypeError,
        AttributeError,
        SyntaxError,
    ) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{where}: the workbook cannot be read ({error}); save it again as .xlsx or CSV") from error


def _check(content: bytes, where: str) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            size = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise InputError(f"{where}: is no readable Excel file ({error}); save it again as .xlsx or CSV") from error
    if not any(name.startswith("xl/") for name in names):
        raise InputError(f"{where}: is a zip file and no workbook; unpack it and give the file in it")
    if size > MAX_UNPACKED:
        raise InputError(f"{where}: unpacks to {size >> 20} MB, more than {MAX_UNPACKED >> 20}; export it as CSV")


def _cells(sheet: Any) -> Iterator[list[Any]]:
    sheet.reset_dimensions()  # the recorded size may be wrong or huge
    for row in sheet.iter_rows(values_only=True):
        yield list(row)


def _best_sheet(sheets: dict[str, Iterator[list[Any]]], where: str) -> Records:
    heads = {title: _header(cells) for title, cells in sheets.items()}
    heads = {title: header for title, header in heads.items() if header}
    if not heads:
        raise InputError(f"{where}: the workbook is empty; give one with a header and at least one row")
    known = {title: resolve(header, "sample") for title, header in heads.items()}
    chosen = next((title for title, fields in known.items() if "question" in fields), None)
    if chosen is None:
        chosen = next(
            (title for title, header in heads.items() if "text" in resolve(header, "corpus")), next(iter(heads))
        )
    warnings = []
    if len(heads) > 1:
        others = ", ".join(title for title in heads if title != chosen)
        warnings.append(Remark(WHOLE_FILE, "", f"read the sheet {chosen!r}; the others ({others}) were left out"))
    records = from_cells(heads[chosen], _trimmed(sheets[chosen], len(heads[chosen])), "Excel", warnings)
    if not records.n_read:
        raise InputError(f"{where}: the sheet {chosen!r} has a header and no rows; give one with at least one record")
    return records


def _header(cells: Iterator[list[Any]]) -> list[str]:
    for row in cells:
        while row and row[-1] in (None, ""):
            row.pop()
        if row:
            return unique_header(["" if cell is None else str(cell).strip() for cell in row])
    return []


def _trimmed(cells: Iterator[list[Any]], width: int) -> Iterator[list[Any]]:
    """Rows filled up to the width of the header: a workbook does not store empty cells at the end."""
    for row in cells:
        yield row + [None] * (width - len(row))
