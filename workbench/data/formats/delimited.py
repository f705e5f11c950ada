"""CSV and TSV: a real parser, the delimiter recognised by what the columns are called."""

from __future__ import annotations

import csv
import io
import itertools
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from workbench.data.columns import resolve
from workbench.data.formats.records import WHOLE_FILE, Records, Remark, excerpt

_DELIMITERS = (",", "\t", ";", "|")
_PROBE = 30


def read_delimited(text: str) -> Records | None:
    """Records of a delimited text whose first line names the columns, or None when it is no table.

    An empty cell is missing (None); any other cell is the text that stands there. Quoted fields may hold line breaks.
    A row with more cells than columns is rejected; missing cells at the end of a row are missing values, with a
    warning. Rows without any content are not counted.
    """
    previous = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        delimiter = _sniff(text)
        return None if delimiter is None else _read(text, delimiter)
    except csv.Error:
        return None
    finally:
        csv.field_size_limit(previous)


def _read(text: str, delimiter: str) -> Records:
    cells = _parse(text, delimiter)
    header = unique_header([cell.strip() for cell in next(cells)])
    return from_cells(header, cells, "TSV" if delimiter == "\t" else "CSV", _quote_warning(text))


def from_cells(header: list[str], cells: Iterator[list[Any]], kind: str, warnings: list[Remark]) -> Records:
    """Records of rows of cells under ``header``; empty cells become None."""
    rows: list[dict[str, Any]] = []
    numbers: list[int] = []
    rejected: list[Remark] = []
    width, number = len(header), 0
    for row in cells:
        if not any(cell not in ("", None) for cell in row):
            continue
        number += 1
        if len(row) > width and any(cell not in ("", None) for cell in row[width:]):
            reason = f"has {len(row)} cells under {width} columns; put quotes around cells that hold the delimiter"
            rejected.append(Remark(number, "", reason, excerpt(str(row[0]))))
            continue
        if len(row) < width:
            reason = f"has {len(row)} cells under {width} columns; the others count as missing"
            warnings.append(Remark(number, header[len(row)], reason, excerpt(str(row[0]))))
        rows.append({name: _cell(row[at]) if at < len(row) else None for at, name in enumerate(header)})
        numbers.append(number)
    return Records(rows, numbers, kind, rejected, warnings, columns=header)


def _cell(cell: Any) -> Any:
    return None if cell == "" else cell


def _parse(text: str, delimiter: str) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)


def _sniff(text: str) -> str | None:
    """The delimiter under which most columns have names that we know; None when nothing looks like a table."""
    best: tuple[int, float, int] = (0, 0.0, 0)
    chosen = None
    for delimiter in _DELIMITERS:
        rank = _rank(text, delimiter)
        if rank > best:
            best, chosen = rank, delimiter
    return chosen


def _rank(text: str, delimiter: str) -> tuple[int, float, int]:
    """Known columns, share of rows as wide as the header, number of columns."""
    head = text[:200_000]
    try:
        rows = [row for row in itertools.islice(_parse(head, delimiter), _PROBE) if any(cell.strip() for cell in row)]
    except csv.Error:
        return 0, 0.0, 0
    if not rows:
        return 0, 0.0, 0
    known = len(resolve(rows[0], "sample")) + len(resolve(rows[0], "corpus"))
    width = len(rows[0])
    even = sum(len(row) == width for row in rows) / len(rows)
    if known == 0 and (width < 2 or even < 0.8):
        return 0, 0.0, 0
    return known, even, width


def unique_header(header: Sequence[str]) -> list[str]:
    """Column names; empty ones get their place as name, repeated ones a number."""
    seen: dict[str, int] = {}
    names = []
    for at, given in enumerate(header, 1):
        name = given or f"column {at}"
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names


def _quote_warning(text: str) -> list[Remark]:
    if text.count('"') % 2 == 0:
        return []
    return [Remark(WHOLE_FILE, "", "a quotation mark is never closed; the rows after it may have run together")]
