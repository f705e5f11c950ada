"""TREC run and qrels files, read and written, and BEIR folders, read.

A qrels line is ``query_id iteration doc_id grade``, a run line ``query_id Q0 doc_id rank score tag``, parted by
blanks or tabs (https://trec.nist.gov/data/qrels_eng/). A BEIR folder holds ``corpus.jsonl``, ``queries.jsonl`` and
``qrels/<split>.tsv`` with a heading (https://github.com/beir-cellar/beir). Files that end in ``.gz`` are unpacked.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from workbench.data.files import replacing
from workbench.errors import InputError

QRELS = ("query_id", "iteration", "doc_id", "relevance")
RUN = ("query_id", "q0", "doc_id", "rank", "score", "tag")
SHAPES = {QRELS: "query_id 0 doc_id grade", RUN: "query_id Q0 doc_id rank score tag"}


class Trec(NamedTuple):
    """What :func:`load_trec` read; a part that was not asked for is None."""

    qrels: pd.DataFrame | None
    run: pd.DataFrame | None


class Beir(NamedTuple):
    """A BEIR folder: ``corpus`` (doc_id, title, text), ``queries`` (query_id, text), ``qrels``."""

    corpus: pd.DataFrame
    queries: pd.DataFrame
    qrels: pd.DataFrame


def load_trec(*, qrels: str | os.PathLike[str] | None = None, run: str | os.PathLike[str] | None = None) -> Trec:
    """Read a qrels file, a run file, or both: ``qrels, run = load_trec(qrels=…, run=…)``.

    ``qrels``: ``query_id, doc_id`` (text), ``relevance`` (int64; float64 when a grade is a fraction). ``run``:
    ``query_id, doc_id`` (text), ``score`` (float64), ``rank`` (as written, text: trec_eval ignores it, and so does
    :func:`workbench.evaluate_rankings`), ``tag``. Rows keep the file's order. ``qrels`` may also be a BEIR folder.

    Raises :class:`InputError`, naming file and row, for a file that cannot be read, is empty, or has a line with
    another number of fields or a score or grade that is no number.

    Examples
    --------
    >>> qrels, run = wb.load_trec(qrels="qrels.txt", run="run.txt")  # doctest: +SKIP
    """
    if qrels is None and run is None:
        raise InputError("give load_trec a qrels file, a run file or both: load_trec(qrels='a.qrels', run='a.run')")
    judged = None
    if qrels is not None:
        judged = read_beir(qrels).qrels if Path(qrels).is_dir() else read_qrels(qrels)
    return Trec(judged, None if run is None else read_run(run))


def read_qrels(path: str | os.PathLike[str]) -> pd.DataFrame:
    """The judgements of a TREC qrels file; see :func:`load_trec`."""
    frame = _read_fields(Path(path), QRELS)
    grade = _numbers(frame["relevance"], Path(path), QRELS, "relevance", finite=True)
    return _qrels_frame(frame["query_id"], frame["doc_id"], grade)


def read_run(path: str | os.PathLike[str]) -> pd.DataFrame:
    """The retrieved documents of a TREC run file; see :func:`load_trec`."""
    frame = _read_fields(Path(path), RUN)
    score = _numbers(frame["score"], Path(path), RUN, "score")
    columns = {"query_id": frame["query_id"], "doc_id": frame["doc_id"], "score": score}
    return pd.DataFrame({**columns, "rank": frame["rank"], "tag": frame["tag"]})


def _qrels_frame(queries: Any, documents: Any, grade: np.ndarray) -> pd.DataFrame:
    whole = bool((grade == np.floor(grade)).all()) and bool((np.abs(grade) < 2**53).all())
    frame = pd.DataFrame({"query_id": queries, "doc_id": documents, "relevance": grade})
    return frame.astype({"query_id": "str", "doc_id": "str", "relevance": "int64" if whole else "float64"})


def _read_fields(path: Path, names: tuple[str, ...]) -> pd.DataFrame:
    """All fields as text. The quick parser reads; a line that it stumbles over is found and named line by line."""
    if not path.exists():
        raise InputError(f"{path}: no such file; check the path")
    if path.is_dir():
        raise InputError(f"{path} is a folder; give a TREC file (a BEIR folder goes to load_trec(qrels=…))")
    try:
        frame = pd.read_csv(
            path, sep=r"\s+", header=None, names=[*names, "surplus"], index_col=False, dtype="str",
            quoting=csv.QUOTE_NONE, na_filter=False, skip_blank_lines=False, encoding="utf-8-sig", on_bad_lines="error",
        )  # fmt: skip
        sound = len(frame) > 0 and not (frame[names[-1]].fillna("") == "").any() and frame["surplus"].isna().all()
    except (pd.errors.ParserError, pd.errors.EmptyDataError, pd.errors.ParserWarning, ValueError, OSError, EOFError):
        sound = False
    return frame if sound else _read_slowly(path, names)


def _read_slowly(path: Path, names: tuple[str, ...]) -> pd.DataFrame:
    rows = [fields for _, fields in _fields(path, names)]
    if not rows:
        raise InputError(f"{path} is empty; expected lines of the form: {SHAPES[names]}")
    return pd.DataFrame(rows, columns=list(names), dtype="str")


def _fields(path: Path, names: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """Row numbers (from 1) and fields; blank lines are passed over."""
    for row, line in _lines(path):
        fields = line.split()
        if fields and len(fields) != len(names):
            raise InputError(
                f"{path}, row {row}: {len(fields)} fields instead of {len(names)}; "
                f"expected: {SHAPES[names]}; the line begins {line[:60].decode(errors='replace')!r}"
            )
        try:
            if fields:
                yield row, [field.decode("utf-8") for field in fields]
        except UnicodeDecodeError:
            raise InputError(f"{path}, row {row}: not UTF-8 text; save the file as UTF-8") from None


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as stream:
            for row, line in enumerate(stream, start=1):
                yield row, line.removeprefix(b"\xef\xbb\xbf") if row == 1 else line
    except (OSError, EOFError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def _numbers(texts: pd.Series, path: Path, names: tuple[str, ...], name: str, finite: bool = False) -> np.ndarray:
    """A column as float64; the error names the first row whose field is no number, or no finite one."""
    try:
        values = texts.to_numpy(dtype=object).astype(np.float64)
    except ValueError:
        sound = False
    else:
        sound = not finite or bool(np.isfinite(values).all())
    if sound:
        return values
    for row, fields in _fields(path, names):
        value = fields[names.index(name)]
        try:
            number = float(value)
            wrong = finite and not np.isfinite(number)
        except ValueError:
            wrong = True
        if wrong:
            kind = "a finite number" if finite else "a number"
            raise InputError(f"{path}, row {row}: {name} is {value[:40]!r}, not {kind}")
    raise InputError(f"{path}: {name} holds something that is not a number")


def write_qrels(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write ``query_id, doc_id, relevance`` as a TREC qrels file, complete or not at all.

    Raises :class:`InputError` for missing columns, missing values and ids that are empty or hold white space, which the
    format cannot express.
    """
    queries, documents = _ids(frame, "query_id", "qrels"), _ids(frame, "doc_id", "qrels")
    grades = _plain_numbers(frame, "relevance", "qrels")
    shortest = (str(int(grade)) if grade == int(grade) else repr(grade) for grade in grades)
    lines = (f"{q} 0 {d} {grade}\n" for q, d, grade in zip(queries, documents, shortest, strict=True))
    _write_lines(Path(path), lines)


def write_run(frame: pd.DataFrame, path: str | os.PathLike[str], *, tag: str = "workbench") -> None:
    """Write ``query_id, doc_id, score`` as a TREC run file, complete or not at all.

    Queries keep the order in which they first appear; inside one, rows stand in trec_eval's order (score descending,
    then document id descending) and ranks count from 1. Scores are written so that they read back as the same number.
    Raises :class:`InputError` as :func:`write_qrels` does, and for a tag with white space.
    """
    if not tag or tag.split() != [tag]:
        raise InputError(f"run tag {tag!r} must be one word without white space")
    columns = {"q": _ids(frame, "query_id", "run"), "d": _ids(frame, "doc_id", "run")}
    table = pd.DataFrame({**columns, "s": _plain_numbers(frame, "score", "run")})
    table["place"] = pd.factorize(table["q"])[0]
    table = table.sort_values(["place", "s", "d"], ascending=[True, False, False], kind="stable")
    table["rank"] = table.groupby("place", sort=False).cumcount() + 1
    rows = zip(table["q"], table["d"], table["rank"], table["s"], strict=True)
    _write_lines(Path(path), (f"{q} Q0 {d} {rank} {score!r} {tag}\n" for q, d, rank, score in rows))


def _column(frame: pd.DataFrame, name: str, owner: str) -> pd.Series:
    if not isinstance(frame, pd.DataFrame) or name not in frame.columns:
        raise InputError(f"{owner} needs a frame with a column {name!r}")
    return frame[name]


def _ids(frame: pd.DataFrame, name: str, owner: str) -> list[str]:
    values = _column(frame, name, owner)
    texts = ["" if pd.isna(value) else str(value) for value in values]
    for row, text in enumerate(texts):
        if text.split() != [text]:
            raise InputError(f"{owner}, row {row}: {name} is {text[:40]!r}; TREC files need an id without white space")
    return texts


def _plain_numbers(frame: pd.DataFrame, name: str, owner: str) -> list[float]:
    try:
        values = _column(frame, name, owner).astype("float64")
    except (TypeError, ValueError):
        raise InputError(f"{owner}: column {name!r} is not numeric; convert it with pandas.to_numeric") from None
    missing = np.flatnonzero(values.isna())
    if len(missing):
        raise InputError(f"{owner}, row {missing[0]}: {name} is missing; TREC files need a number")
    return values.tolist()


def _write_lines(path: Path, lines: Iterator[str]) -> None:
    """Complete or not at all; packed when the name ends in ``.gz``."""
    with replacing(path) as temporary, temporary.open("wb") as raw:
        packed = gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) if path.suffix == ".gz" else raw
        for line in lines:
            packed.write(line.encode("utf-8"))
        if packed is not raw:
            packed.close()


def read_beir(folder: str | os.PathLike[str], *, split: str = "test") -> Beir:
    """Read a BEIR folder. Raises :class:`InputError`, naming file and row, for what is missing or cannot be read."""
    root = Path(folder)
    corpus = _read_records(_one_of(root, "corpus.jsonl"), {"title": "", "text": None})
    queries = _read_records(_one_of(root, "queries.jsonl"), {"text": None})
    return Beir(
        corpus.rename(columns={"_id": "doc_id"}),
        queries.rename(columns={"_id": "query_id"}),
        _read_split(root, split),
    )


def _one_of(root: Path, name: str) -> Path:
    for path in (root / name, root / f"{name}.gz"):
        if path.exists():
            return path
    raise InputError(f"{root} has no {name}; a BEIR folder holds corpus.jsonl, queries.jsonl and qrels/<split>.tsv")


def _read_records(path: Path, fields: dict[str, str | None]) -> pd.DataFrame:
    """``_id`` and ``fields`` (with what stands in for a missing one; None: required) of a JSON lines file."""
    rows = [_record(path, row, line, fields) for row, line in _lines(path) if line.strip()]
    return pd.DataFrame(rows, columns=["_id", *fields], dtype="str")


def _record(path: Path, row: int, line: bytes, fields: dict[str, str | None]) -> list[str]:
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}, row {row}: not a line of JSON ({error})") from None
    if not isinstance(record, dict):
        raise InputError(f"{path}, row {row}: a JSON {type(record).__name__}, not an object with '_id'")
    wanted: dict[str, str | None] = {"_id": None, **fields}
    values = [record.get(name, default) for name, default in wanted.items()]
    for name, value in zip(wanted, values, strict=True):
        if not isinstance(value, str) and not (name == "_id" and type(value) is int):
            raise InputError(f"{path}, row {row}: {name!r} is {type(value).__name__}, expected text")
    return [str(value).encode("utf-8", "replace").decode("utf-8") for value in values]


def _read_split(root: Path, split: str) -> pd.DataFrame:
    path = root / "qrels" / f"{split}.tsv"
    if not path.exists():
        there = ", ".join(sorted(p.stem for p in (root / "qrels").glob("*.tsv"))) or "none"
        raise InputError(f"{path}: no such split (there are: {there}); choose with split=")
    rows = [_judgement(path, row, line) for row, line in _lines(path) if row > 1 and line.strip()]
    if not rows:
        raise InputError(f"{path} has no judgements below its heading (query-id, corpus-id, score)")
    queries, documents, grades = zip(*rows, strict=True)
    return _qrels_frame(list(queries), list(documents), np.array(grades))


def _judgement(path: Path, row: int, line: bytes) -> tuple[str, str, float]:
    try:
        fields = line.decode("utf-8").rstrip("\r\n").split("\t")
        query, document, grade = fields
        value = float(grade)
    except ValueError:
        raise InputError(f"{path}, row {row}: expected query-id, corpus-id and a number, parted by tabs") from None
    if not np.isfinite(value):
        raise InputError(f"{path}, row {row}: score is {grade!r}; a grade must be a finite number")
    return query, document, value
