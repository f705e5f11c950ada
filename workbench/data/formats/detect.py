"""Any source as records: what a file is, is read from its content and not from its name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from workbench.data.formats import bytesource, delimited, jsontext, tables, workbook
from workbench.data.formats.records import Records, number_records
from workbench.data.validate import scrub
from workbench.errors import InputError

#: What ``format=`` may be.
FORMATS = ("json", "jsonl", "csv", "tsv", "excel", "parquet")

_FOREIGN = (
    (b"\xd0\xcf\x11\xe0", "an old Excel file (.xls)", "save it as .xlsx or CSV"),
    (b"%PDF", "a PDF", "export the data as JSON, JSONL or CSV"),
    (b"\x80\x04", "a Python pickle, which is never opened", "export the data as JSONL or Parquet"),
    (b"\x80\x05", "a Python pickle, which is never opened", "export the data as JSONL or Parquet"),
    (b"SQLite format 3", "a SQLite database", "export the table as JSONL or CSV"),
    (b"\x28\xb5\x2f\xfd", "a zstd file", "unpack it first"),
    (b"BZh", "a bzip2 file", "unpack it first"),
    (b"\xfd7zXZ", "an xz file", "unpack it first"),
    (b"\x89PNG", "a picture", "give the data behind it"),
)


_SURROGATE_ESCAPE = re.compile(r"\\[uU](?:0000)?[dD][89a-fA-F]")


def read_source(source: Any, format: str | None = None) -> Records:
    """Records of a path, a DataFrame, a list of dicts, a dict, or an object with ``to_pandas`` or ``to_list``.

    ``format`` (one of :data:`FORMATS`) says what a file is when its content leaves a doubt.

    Raises
    ------
    InputError
        When nothing can be read, with the remedy.
    """
    if format is not None and format not in FORMATS:
        raise InputError(f"format {format!r} is not known; use one of {', '.join(FORMATS)}, or leave it out")
    if isinstance(source, (str, os.PathLike)):
        return read_path(Path(source), format)
    if type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns"):
        return tables.from_frame(source)
    if hasattr(source, "column_names") or hasattr(source, "to_pandas"):
        return tables.from_dataset(source)
    if isinstance(source, Mapping):
        return tables.from_splits(source) if tables.is_splits(source) else jsontext.records_in(source, "the data")
    if isinstance(source, Iterable) and not isinstance(source, bytes):
        return _from_list(list(source))
    raise InputError(f"a {type(source).__name__} cannot be loaded; give a path, a DataFrame or a list of dicts")


def _from_list(items: list[Any]) -> Records:
    if not any(isinstance(item, Mapping) for item in items):
        raise InputError(f"the list given holds no dicts ({jsontext.describe(items)}); give one dict for each question")
    return number_records(items, "list of dicts")


def read_path(path: Path, format: str | None = None) -> Records:
    """Records of a file or of a folder that the Hugging Face library saved."""
    try:
        is_folder = path.is_dir()
    except (OSError, ValueError):
        is_folder = False
    records = tables.from_folder(path) if is_folder else _from_bytes(bytesource.read_bytes(path), path, format)
    records.name, records.source = scrub(stem(path)), scrub(str(path))
    return records


def stem(path: Path) -> str:
    """File name without its endings: ``baseline.jsonl.gz`` → ``baseline``."""
    name = path.name.removesuffix(".gz")
    return Path(name).stem or name or "samples"


def _from_bytes(content: bytes, path: Path, format: str | None) -> Records:
    where = path.name[-80:]
    if format == "parquet" or content[:4] == b"PAR1":
        return tables.from_parquet(content, where)
    if content[:6] == b"ARROW1":
        return tables.from_arrow(content, where)
    if format == "excel" or content[:4] == b"PK\x03\x04":
        return workbook.read_workbook(content, where)
    for magic, what, remedy in _FOREIGN:
        if content.startswith(magic):
            raise InputError(f"{where}: is {what}; {remedy}")
    text, warnings = bytesource.decode(content)
    _refuse_binary(text, where)
    records = _from_text(text, where, format)
    records.warnings = warnings + records.warnings
    records.may_hold_surrogates = _SURROGATE_ESCAPE.search(text) is not None
    return records


def _from_text(text: str, where: str, format: str | None) -> Records:
    if format in (None, "json", "jsonl"):
        records = jsontext.read_json(text, where)
        if records is not None:
            return records
    if format in (None, "csv", "tsv"):
        records = delimited.read_delimited(text)
        if records is not None:
            return records
    first = " ".join(text.split())[:60]
    what = f"is no {format}" if format else "is no table and no JSON; it looks like a text report"
    raise InputError(f"{where}: {what} ({first!r}); give the file with one record for each question")


def _refuse_binary(text: str, where: str) -> None:
    head = text[:4096]
    strange = sum((c < " " and c not in "\t\r\n\f\x1b") or c == "\ufffd" for c in head)
    if strange > 0.3 * len(head):
        raise InputError(f"{where}: is no text and of no known format; give JSON, JSONL, CSV, Excel or Parquet")
