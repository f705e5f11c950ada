"""Data frames, Parquet and Arrow files, and data sets of the Hugging Face library (without importing it)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.data.columns import aliases, fold
from workbench.data.formats.delimited import unique_header
from workbench.data.formats.records import Records
from workbench.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


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

    Raises
    ------
    InputError
        When there are several: it names them.
    """
    if len(source) > 1:
        names = ", ".join(map(str, source))
        raise InputError(
            f"the data set has several splits ({names}); choose one, as in load_samples(data[{next(iter(source))!r}])"
        )
    return from_dataset(next(iter(source.values())))


def from_folder(folder: Path) -> Records:
    """Records of a folder written by ``Dataset.save_to_disk`` or ``DatasetDict.save_to_disk``, or of a BEIR folder.

    Raises
    ------
    InputError
        When it is no such folder, or holds several splits.
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
        raise InputError(f"{folder}: is a folder and no saved data set; give the file in it")
    try:
        names = [part["filename"] for part in json.loads(state.read_text(encoding="utf-8"))["_data_files"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{state}: cannot be read; save the data set again") from error
    parts = [_arrow_table((folder / Path(str(name)).name).read_bytes(), str(name)) for name in names]
    import pyarrow as pa

    return _from_arrow_table(pa.concat_tables(parts), folder.name)


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
        table = pq.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{where}: is no readable Parquet file ({error}); write it again") from error
    return _from_arrow_table(table, where)


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
    return _numbered(rows, f"file {where}", names)
