"""Tables: CSV, TSV and Excel, data frames, Parquet and Arrow files, data sets of the Hugging Face library (not imported)."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.data.columns import aliases, fold, resolve
from workbench.data.formats.records import WHOLE_FILE, Records, Remark, excerpt, why
from workbench.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


# ------------------------------------------------------------------------------
# CSV and TSV: a real parser, the delimiter recognised by what the columns are called.


_DELIMITERS = (",", "\t", ";", "|")
_PROBE = 30
#: Most columns of a table: as many as Excel has.
MAX_COLUMNS = 16_384
_SEPARATOR_LINE = re.compile(r"\s*\"?sep=(.)\"?\r?\n", re.IGNORECASE)


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
    if _SEPARATOR_LINE.match(text):
        text = text.partition("\n")[2]
    cells = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header = unique_header([cell.strip() for cell in next(cells)])
    if len(header) > MAX_COLUMNS:
        raise InputError(f"the table has {len(header):,} columns, more than {MAX_COLUMNS:,}; give one row for each question")
    warnings = []
    if text.count('"') % 2:
        reason = why("open_quote")
        warnings.append(Remark(WHOLE_FILE, "", reason))
    return from_cells(header, cells, "TSV" if delimiter == "\t" else "CSV", warnings)


def from_cells(header: list[str], cells: Iterator[list[Any]], kind: str, warnings: list[Remark]) -> Records:
    """Records of rows of cells under ``header``; empty cells become None."""
    rows: list[dict[str, Any]] = []
    numbers: list[int] = []
    rejected: list[Remark] = []
    width, number, blank, between = len(header), 0, 0, 0
    for row in cells:
        if not any(cell not in ("", None) for cell in row):
            blank += 1
            continue
        number += 1
        between, blank = between + blank, 0
        if len(row) > width and any(cell not in ("", None) for cell in row[width:]):
            reason = why("more_cells", cells=len(row), columns=width)
            rejected.append(Remark(number, "", reason, excerpt(str(row[0]))))
            continue
        if len(row) < width:
            reason = why("fewer_cells", cells=len(row), columns=width)
            warnings.append(Remark(number, header[len(row)], reason, excerpt(str(row[0]))))
        cells_of = [None if cell == "" else cell for cell in row] + [None] * (width - len(row))
        rows.append(dict(zip(header, cells_of, strict=False)))
        numbers.append(number)
    if between and kind == "Excel":
        warnings.append(Remark(WHOLE_FILE, "", why("blank_rows", n=between)))
    return Records(rows, numbers, kind, rejected, warnings, columns=header)


def _sniff(text: str) -> str | None:
    """The delimiter that Excel's line ``sep=;`` names, or that gives most columns names that we know; None for no table."""
    if stated := _SEPARATOR_LINE.match(text):
        return stated[1]
    ranks = {delimiter: _rank(text[:200_000], delimiter) for delimiter in _DELIMITERS}
    best = max(ranks, key=lambda delimiter: ranks[delimiter])
    return best if ranks[best] > (0, 0.0, 0) else None


def _rank(head: str, delimiter: str) -> tuple[int, float, int]:
    """Known columns, share of rows as wide as the header, number of columns."""
    try:
        cells = itertools.islice(csv.reader(io.StringIO(head, newline=""), delimiter=delimiter), _PROBE)
        rows = [row for row in cells if any(cell.strip() for cell in row)]
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


# ------------------------------------------------------------------------------
# Excel workbooks (.xlsx): the sheet that has a column of questions, read row by row.


#: Largest unpacked size of a workbook or of the texts of a Parquet file; how far it may unpack before its ratio is looked at.
MAX_UNPACKED, SAFE, MAX_RATIO, MAX_CELLS = 1024**3, 64 * 1024**2, 150, 100_000_000


def read_workbook(content: bytes, where: str) -> Records:
    """Records of the first sheet that has a column of questions (or of texts); else of the first sheet.

    Cells keep Excel's types: 7 stays a whole number, a formula gives its stored result; percentages and dates are the text
    that people see, with all their digits.

    Raises ``InputError`` when it is no workbook, is damaged, or unpacks to more than ``MAX_UNPACKED`` bytes.
    """
    _check(content, where)
    import openpyxl
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        try:
            for sheet in book.worksheets:
                sheet.reset_dimensions()  # the recorded size may be wrong or huge
            cells: dict[str, Iterator[list[Any]]] = {
                sheet.title: (list(map(_as_shown, row)) for row in sheet.iter_rows()) for sheet in book.worksheets
            }
            return _best_sheet(cells, where, _uncalculated(content))
        finally:
            book.close()
    except InputError:
        raise
    except (InvalidFileException, zipfile.BadZipFile, OSError, KeyError, ValueError, TypeError, AttributeError,
            SyntaxError) as error:  # fmt: skip
        raise InputError(f"{where}: the workbook cannot be read ({error}); save it again as .xlsx or CSV") from error


def _as_shown(cell: Any) -> Any:
    value = cell.value
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "seconds")
    if isinstance(value, (date, time)):
        return value.isoformat()
    if type(value) in (int, float) and "%" in (cell.number_format or ""):
        return f"{100 * value:.15g}%"
    return value


_NO_RESULT = re.compile(
    rb'<c r="([A-Z]{1,3}\d+)"[^>]*>\s*<f\b(?:[^>]*/>|[^>]*>[^<]*</f>)\s*(?:<v\s*/>|<v></v>)?\s*</c>'
)


def _uncalculated(content: bytes) -> list[str]:
    """Cells whose formula has no stored result: the program that wrote the workbook never calculated it."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/") and name.endswith(".xml")]
        return [match.decode() for name in sheets for match in _NO_RESULT.findall(archive.read(name))]


def _check(content: bytes, where: str) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            size = sum(entry.file_size for entry in archive.infolist())
            packed = sum(entry.compress_size for entry in archive.infolist())
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise InputError(f"{where}: is no readable Excel file ({error}); save it again as .xlsx or CSV") from error
    if not any(name.startswith("xl/") for name in names):
        raise InputError(f"{where}: is a zip file and no workbook; unpack it and give the file in it")
    if size > SAFE and size > MAX_RATIO * packed:
        raise InputError(
            f"{where}: unpacks to more than {MAX_RATIO} times its size; it is no ordinary workbook, export it as CSV"
        )
    if size > MAX_UNPACKED:
        raise InputError(f"{where}: unpacks to {size >> 20} MB, more than {MAX_UNPACKED >> 20}; export it as CSV")


def _best_sheet(sheets: dict[str, Iterator[list[Any]]], where: str, uncalculated: Sequence[str] = ()) -> Records:
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
        warnings.append(Remark(WHOLE_FILE, "", why("one_sheet", sheet=chosen, others=others)))
    if uncalculated:
        shown = ", ".join(uncalculated[:5]) + (", …" if len(uncalculated) > 5 else "")
        reason = why("no_result", n=len(uncalculated), cells=shown)
        warnings.append(Remark(WHOLE_FILE, "", reason))
    # A workbook does not store empty cells at the end of a row.
    rows = (row + [None] * (len(heads[chosen]) - len(row)) for row in sheets[chosen])
    records = from_cells(heads[chosen], rows, "Excel", warnings)
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


# ------------------------------------------------------------------------------
# Data frames, Arrow and data sets.


def from_frame(frame: pd.DataFrame) -> Records:
    """Records of a DataFrame; an index that is named like an id becomes a column."""
    names = unique_header(["_".join(map(str, c)) if isinstance(c, tuple) else str(c) for c in frame.columns])
    columns = [frame.iloc[:, at].tolist() for at in range(len(names))]
    if frame.index.name is not None and fold(str(frame.index.name)) in aliases("sample")["sample_id"]:
        names, columns = [str(frame.index.name), *names], [frame.index.tolist(), *columns]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return _numbered(rows, "DataFrame", names)


def _numbered(rows: list[dict[str, Any]], kind: str, names: list[str]) -> Records:
    if not rows:
        raise InputError(f"the {kind} has no rows; give one with at least one record")
    return Records(list(rows), list(range(1, len(rows) + 1)), kind, columns=names)


def from_dataset(source: Any) -> Records:
    """Records of an object with ``to_list`` or ``to_pandas``: a Dataset, a RAGAS result, an Arrow or polars table."""
    if is_splits(source):
        return from_splits(source)
    if hasattr(source, "to_list") and hasattr(source, "column_names"):
        return _numbered(source.to_list(), "data set", unique_header(list(source.column_names)))
    return from_frame(source.to_pandas())


def is_splits(source: Any) -> bool:
    """Whether ``source`` is a mapping from split names to data sets."""
    return (
        isinstance(source, Mapping) and bool(source) and all(hasattr(part, "column_names") for part in source.values())
    )


def from_splits(source: Mapping[str, Any]) -> Records:
    """Records of the only split of a DatasetDict.

    Raises ``InputError`` when there are several: it names them.
    """
    if len(source) > 1:
        names = ", ".join(map(str, source))
        raise InputError(
            f"the data set has several splits ({names}); choose one, as in load_samples(data[{next(iter(source))!r}])"
        )
    return from_dataset(next(iter(source.values())))


def from_folder(folder: Path) -> Records:
    """Records of a folder written by ``Dataset.save_to_disk`` or ``DatasetDict.save_to_disk``, or of a BEIR folder.

    Raises ``InputError`` when it is no such folder, or holds several splits.
    """
    if (folder / "queries.jsonl").is_file() or (folder / "queries.jsonl.gz").is_file():
        return _from_beir(folder)
    splits = _splits(folder)
    if splits is not None:
        if len(splits) != 1:
            raise InputError(f"{folder}: has several splits ({', '.join(splits)}); give the folder of one of them")
        folder = folder / splits[0]
    state = folder / "state.json"
    if not state.is_file():
        raise _which_file(folder)
    try:
        names = [part["filename"] for part in json.loads(state.read_text(encoding="utf-8"))["_data_files"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{state}: cannot be read; save the data set again") from error
    parts = [_arrow_table((folder / Path(str(name)).name).read_bytes(), str(name)) for name in names]
    import pyarrow as pa

    return _from_arrow_table(pa.concat_tables(parts), folder.name)


def _which_file(folder: Path) -> InputError:
    """The error for a folder that holds files of which one could be meant."""
    kinds = (".jsonl", ".json", ".csv", ".tsv", ".xlsx", ".parquet", ".gz")
    names = sorted(item.name for item in folder.iterdir() if item.suffix.lower() in kinds)
    held = f"it holds {', '.join(names[:6])}{', …' if len(names) > 6 else ''}" if names else "it holds no data file"
    told = {"where": str(folder), "names": ", ".join(names[:6]) or "–"}
    remedy = "give one of them, or put the files of one recording together" if len(names) > 1 else "give the file in it"
    return InputError(f"{folder}: is a folder and no saved data set; {held}; {remedy}", key="which_file", **told)


def _from_beir(folder: Path) -> Records:
    """The judged queries of a BEIR folder (split ``test``) with their judgements."""
    from workbench.data.formats.trec import read_beir

    parts = read_beir(folder)
    expected: dict[str, dict[str, float]] = {}
    columns = (parts.qrels[name].tolist() for name in ("query_id", "doc_id", "relevance"))
    for query, document, grade in zip(*columns, strict=True):
        expected.setdefault(query, {})[document] = grade
    pairs = zip(parts.queries["query_id"].tolist(), parts.queries["text"].tolist(), strict=True)
    rows = [{"sample_id": i, "question": text, "expected_docs": expected[i]} for i, text in pairs if i in expected]
    return _numbered(rows, "BEIR folder", ["sample_id", "question", "expected_docs"])


def _splits(folder: Path) -> list[str] | None:
    file = folder / "dataset_dict.json"
    if not file.is_file():
        return None
    try:
        return [Path(str(name)).name for name in json.loads(file.read_text(encoding="utf-8"))["splits"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file}: cannot be read; save the data set again") from error


def from_parquet(content: bytes, where: str) -> Records:
    """Records of a Parquet file. A row index that pandas stored comes back as a column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        _check_unpacked(content, where)
        table = pq.read_table(pa.BufferReader(content))
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{where}: is no readable Parquet file ({error}); write it again") from error
    return _from_arrow_table(table, where)


def _check_unpacked(content: bytes, where: str) -> None:
    """Raise for a Parquet file that would fill the memory: by its stated size, its cells, and its texts, which may repeat."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    meta = pq.ParquetFile(pa.BufferReader(content)).metadata
    stated = sum(meta.row_group(at).total_byte_size for at in range(meta.num_row_groups))
    if (stated > MAX_UNPACKED and stated > 20 * len(content)) or meta.num_rows * meta.num_columns > MAX_CELLS:
        raise InputError(f"{where}: unpacks to {stated >> 20} MB in {meta.num_rows:,} rows; write it again in parts")
    if meta.num_rows * stated < MAX_UNPACKED:
        return
    leaves = [meta.schema.column(at) for at in range(meta.num_columns)]
    texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    size = 0
    for batch in pq.ParquetFile(pa.BufferReader(content), read_dictionary=texts).iter_batches(batch_size=4096):
        for array in _dictionaries(batch.columns):
            lengths = pc.binary_length(array.dictionary).to_numpy(zero_copy_only=False)
            size += int(lengths[array.indices.drop_null().to_numpy()].sum(dtype=np.int64)) if len(lengths) else 0
        if size > MAX_UNPACKED:
            raise InputError(f"{where}: its texts unpack to more than {MAX_UNPACKED >> 20} MB; write it again in parts")


def _dictionaries(arrays: Sequence[Any]) -> Iterator[Any]:
    """The dictionary arrays in nested ones."""
    for array in arrays:
        if hasattr(array, "dictionary"):
            yield array
        elif hasattr(array, "flatten") and array.type.num_fields:
            inner = array.flatten()
            yield from _dictionaries(inner if isinstance(inner, list) else [inner])


def from_arrow(content: bytes, where: str) -> Records:
    """Records of an Arrow (Feather) file."""
    return _from_arrow_table(_arrow_table(content, where), where)


def _arrow_table(content: bytes, where: str) -> pa.Table:
    import pyarrow as pa

    opener = pa.ipc.open_file if content[:6] == b"ARROW1" else pa.ipc.open_stream
    try:
        return opener(pa.BufferReader(content)).read_all()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{where}: is no readable Arrow file ({error}); write it again") from error


def _from_arrow_table(table: pa.Table, where: str) -> Records:
    import pyarrow as pa

    names = unique_header(table.column_names)
    try:
        columns = [column.to_pylist(maps_as_pydicts="lossy") for column in table.columns]
    except (pa.ArrowException, ValueError, UnicodeDecodeError) as error:
        raise InputError(f"{where}: holds values that cannot be read ({error}); write it again") from error
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    records = _numbered(rows, f"file {where}", names)
    records.may_hold_surrogates = False  # Arrow's texts are valid UTF-8
    return records
