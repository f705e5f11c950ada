"""Reading the log of a live service: JSONL or CSV, also gzipped, line by line; texts are not kept.

A log has one row for each request. Only numbers are held (8 bytes a field and row), so a log may be large. Known
fields are found under many names; every other column of numbers within [0, 1] is taken as a score.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import math
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.data.schema import none_if_missing
from workbench.diagnosis import query_values as read
from workbench.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

LATENCY, REFUSED, ERROR, TIME = "latency_ms", "refused", "error", "time"

#: Field → names it is found under, compared in lower case without spaces, dashes and underscores.
NAMES = {
    TIME: ("time", "timestamp", "ts", "@timestamp", "datetime", "date", "at", "createdat", "requesttime", "starttime",
           "时间", "时间戳", "请求时间"),
    LATENCY: ("latencyms", "latency", "durationms", "elapsedms", "responsetimems", "latencymillis", "耗时ms", "延迟ms",
              "耗时毫秒", "延迟毫秒", "延迟", "耗时"),
    "latency_s": ("latencys", "latencyseconds", "durations", "durationseconds", "elapsedseconds",
                  "responsetimeseconds", "延迟秒", "耗时秒"),
    REFUSED: ("refused", "isrefusal", "refusal", "declined", "拒答", "是否拒答"),
    ERROR: ("error", "exception", "errormessage", "failed", "错误", "报错", "异常"),
    "succeeded": ("success", "ok", "succeeded", "成功"),
    "status": ("status", "statuscode", "httpstatus", "状态码"),
}  # fmt: skip
_FIELD = {name: known for known, names in NAMES.items() for name in names}
#: Rejected rows that are kept with their reason; all are counted.
KEPT_REJECTIONS = 1_000
#: An undeclared column whose values are no numbers more often than this is no score.
_NO_SCORE_ABOVE = 0.05


@dataclass(frozen=True)
class QueryLog:
    """The numbers of a query log, in the order of time.

    Attributes
    ----------
    name
        The file's stem, or what the caller said.
    times
        Seconds since 1970 (UTC), shape (n,); None when the rows have no time and are in the order of the file.
    rows
        Row numbers of the file, from 1; shape (n,).
    columns
        ``latency_ms``, ``refused`` and ``error`` (1 yes, 0 no) and the scores → values, shape (n,). NaN is "not
        recorded"; ±inf stands for any value that was recorded and is not finite.
    n_read, n_rejected
        Rows of the file, and those left out; ``n_read == len(log) + n_rejected``.
    rejections
        ``(row, field, reason, excerpt)`` of the first 1,000 rejected rows.
    ignored
        Columns of numbers that are no scores (outside [0, 1]) unless they are asked for with ``metrics=``.
    notes
        What a reader should know about how it was read.
    """

    name: str
    times: NDArray[np.float64] | None
    rows: NDArray[np.int64]
    columns: Mapping[str, NDArray[np.float64]]
    n_read: int = 0
    n_rejected: int = 0
    rejections: tuple[tuple[int, str, str, str], ...] = ()
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"QueryLog({self.name!r}, {len(self):,} requests, {', '.join(self.columns)})"

    @property
    def scores(self) -> list[str]:
        """Columns that are neither latency nor refusal nor error."""
        return [name for name in self.columns if name not in (LATENCY, REFUSED, ERROR)]

    @property
    def rejected(self) -> pd.DataFrame:
        """``row, field, reason, excerpt`` of the rows left out (the first 1,000)."""
        import pandas as pd

        return pd.DataFrame(list(self.rejections), columns=["row", "field", "reason", "excerpt"])

    @property
    def frame(self) -> pd.DataFrame:
        """``time`` (UTC, where there is one), ``row`` and the columns, one row a request."""
        import pandas as pd

        found: dict[str, Any] = {} if self.times is None else {TIME: pd.to_datetime(self.times, unit="s", utc=True)}
        return pd.DataFrame(found | {"row": self.rows, **self.columns})

    def records(self) -> Iterator[dict[str, Any]]:
        """One request at a time, as :meth:`Collector.record` takes it; what was not recorded is left out."""
        flags = (REFUSED, ERROR)
        for at in range(len(self)):
            moment = {} if self.times is None else {TIME: float(self.times[at])}
            values = {name: float(values[at]) for name, values in self.columns.items()}
            known = {name: value for name, value in values.items() if value == value}
            yield moment | {name: bool(value) if name in flags else value for name, value in known.items()}

    def part(self, start: int, end: int, name: str = "") -> QueryLog:
        """The requests ``[start, end)`` as a log of its own."""
        times = None if self.times is None else self.times[start:end]
        columns = {key: values[start:end] for key, values in self.columns.items()}
        size = len(self.rows[start:end])
        return QueryLog(name or self.name, times, self.rows[start:end], columns, n_read=size, ignored=self.ignored)


def load_log(
    source: str | Path | Iterable[Mapping[str, Any]] | pd.DataFrame, *, mapping: Mapping[str, str] | None = None,
    metrics: Iterable[str] | None = None, name: str | None = None,
) -> QueryLog:  # fmt: skip
    """Read a query log.

    Parameters
    ----------
    source
        A ``.jsonl`` or ``.ndjson`` file, ``.csv`` or ``.tsv``, each also with ``.gz``; or records, or a frame.
    mapping
        Our field → the column that holds it, where the names are not recognised; fields are ``time``, ``latency_ms``,
        ``latency_s``, ``refused``, ``error``, ``succeeded``, ``status``.
    metrics
        The columns to take as scores; by default every column of numbers in [0, 1]. A value of a column that was asked
        for and is no number rejects its row.

    Raises
    ------
    InputError
        For a file that cannot be read or has no usable row, an unknown field in ``mapping`` or a missing column.
    """
    reader = _Reader(mapping or {}, None if metrics is None else tuple(metrics))
    label = name or (Path(source).name.split(".")[0] if isinstance(source, (str, Path)) else "log")
    where = str(source) if isinstance(source, (str, Path)) else label
    for number, record in _records(source):
        reader.take(number, record)
    return reader.finish(label, where)


# ---------------------------------------------------------------- records


def _records(source: Any) -> Iterator[tuple[int, Any]]:
    """Row numbers from 1 and records; a line that is no JSON comes as the ``ValueError`` it raised."""
    if isinstance(source, (str, Path)):
        yield from _file_records(Path(source).expanduser())
    elif hasattr(source, "to_dict"):
        names = [str(name) for name in source.columns]
        columns = [[none_if_missing(value) for value in source[name].tolist()] for name in source.columns]
        yield from enumerate((dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)), 1)
    else:
        yield from enumerate(source, 1)


def _file_records(path: Path) -> Iterator[tuple[int, Any]]:
    name = path.name.lower().removesuffix(".gz")
    kinds = {".jsonl": _json_lines, ".ndjson": _json_lines, ".log": _json_lines, ".csv": _table, ".tsv": _table}
    reader = kinds.get(Path(name).suffix)
    if path.is_dir():
        raise InputError(f"{path}: is a folder, not a query log; give a .jsonl or .csv file")
    if reader is None:
        raise InputError(f"{path}: unknown kind of log; use .jsonl, .ndjson, .csv or .tsv, plain or .gz")
    opener: Any = gzip.open if path.name.lower().endswith(".gz") else open
    try:
        newline = "" if reader is _table else None
        with opener(path, "rt", encoding="utf-8-sig", errors="replace", newline=newline) as file:
            yield from reader(file, "\t" if name.endswith(".tsv") else ",")
    except (OSError, EOFError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read ({error}); check the file") from error


def _json_lines(file: Iterable[str], _: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            record: Any = json.loads(line)
        except (ValueError, RecursionError) as error:
            record = ValueError(f"is no JSON ({type(error).__name__})")
        yield number, record


def _table(file: Iterable[str], delimiter: str) -> Iterator[tuple[int, Any]]:
    for number, record in enumerate(csv.DictReader(file, delimiter=delimiter), 1):
        record.pop(None, None)
        yield number, record


# ---------------------------------------------------------------- columns


_READERS: dict[str, tuple[str, Any]] = {
    TIME: (TIME, read.seconds_of),
    LATENCY: (LATENCY, read.latency),
    "latency_s": (LATENCY, lambda value: read.latency(value) * 1000),
    REFUSED: (REFUSED, read.flag),
    ERROR: (ERROR, read.failed),
    "succeeded": (ERROR, lambda value: 1 - read.flag(value)),
    "status": (ERROR, read.status),
}
#: Names of numbers that are no scores though they may lie in [0, 1].
_NEVER = re.compile(
    r"(^|[_.-])(id|ids|index|row|rank|count|seed|k|version|cost|price|temperature|streamed|cached)$|tokens?$", re.I
)


def _printable(text: str) -> str:
    """Without control characters and lone surrogates, which a terminal or a file would trip over."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)


@dataclass
class _Reader:
    """Columns as they grow; one value a kept row in each."""

    mapping: Mapping[str, str]
    metrics: tuple[str, ...] | None
    numbers: array[int] = field(default_factory=lambda: array("q"))
    columns: dict[str, array[float]] = field(default_factory=dict)
    known: dict[str, str | None] = field(default_factory=dict)
    bad: dict[str, list[int]] = field(default_factory=dict)
    rejections: list[tuple[int, str, str, str]] = field(default_factory=list)
    n_read: int = 0
    n_rejected: int = 0

    def __post_init__(self) -> None:
        unknown = [name for name in self.mapping if name not in NAMES]
        if unknown:
            raise InputError(f"mapping: field {unknown[0]!r} is not known; use {', '.join(NAMES)}")

    def take(self, number: int, record: Any) -> None:
        """Read one record, or reject it with the reason."""
        self.n_read += 1
        if not isinstance(record, Mapping):
            reason = str(record) if isinstance(record, ValueError) else "is no object"
            self.reject(number, "row", reason, "" if isinstance(record, ValueError) else record)
            return
        values: dict[str, float] = {}
        for column, value in record.items():
            name = column if isinstance(column, str) and column.isprintable() else _printable(str(column))
            try:
                self._read(name, value, values)
            except ValueError as error:
                self.reject(number, name, str(error), value)
                return
        self._append(number, values)

    def reject(self, number: int, name: str, reason: str, value: Any = "") -> None:
        """Count a row left out; the first thousand with their reason."""
        self.n_rejected += 1
        if len(self.rejections) < KEPT_REJECTIONS:
            self.rejections.append((number, _printable(name), reason, _printable(str(value)[:80])))

    def _read(self, name: str, value: Any, values: dict[str, float]) -> None:
        if name not in self.known:
            folded = re.sub(r"[\s_-]", "", name.lower())
            field_name = _FIELD.get(folded)
            given = {column: known for known, column in self.mapping.items()}
            self.known[name] = given.get(name, field_name if field_name not in self.mapping else None)
        known = self.known[name]
        if known is not None:
            target, reader = _READERS[known]
            found, before = reader(value), values.get(target, math.nan)
            # Of several columns for one field the one that says something wins, and one that says "failed" stays.
            if target not in values or not (math.isnan(found) or (target == ERROR and before == 1)):
                values[target] = found
        elif self.metrics is not None:
            if name in self.metrics:
                values[name] = read.number(value)
        elif not _NEVER.search(name):
            self._maybe_score(name, value, values)

    def _maybe_score(self, name: str, value: Any, values: dict[str, float]) -> None:
        is_text = isinstance(value, str) and name not in self.columns and not read.looks_numeric(value)
        if isinstance(value, bool) or is_text:
            return
        try:
            values[name] = read.number(value)
        except read.UnreadableError:
            if name in self.columns:
                self.bad.setdefault(name, []).append(len(self.numbers))

    def _append(self, number: int, values: dict[str, float]) -> None:
        at = len(self.numbers)
        for name in values.keys() - self.columns.keys():
            if values[name] == values[name] or name in _FIELD.values():
                self.columns[name] = array("d", itertools.repeat(math.nan, at))
        self.numbers.append(number)
        for name, column in self.columns.items():
            column.append(values.get(name, math.nan))

    # -- the end ----------------------------------------------------------------------------------------------------

    def finish(self, name: str, where: str) -> QueryLog:
        """The log: columns that are no scores left out, rows without a time rejected, in the order of time."""
        missing = [column for column in (*self.mapping.values(), *(self.metrics or ())) if column not in self.known]
        if missing and self.n_read:
            raise InputError(f"{where}: no column {missing[0]!r}; there are {', '.join(list(self.known)[:12])}")
        columns = {key: np.frombuffer(values, dtype=np.float64).copy() for key, values in self.columns.items()}
        times = columns.pop(TIME, None)
        keep = np.ones(len(self.numbers), dtype=bool)
        ignored = [key for key, values in columns.items() if self._is_no_score(key, values)]
        columns = {key: values for key, values in columns.items() if key not in ignored}
        self._reject_bad(keep, columns)
        if times is not None and not np.isfinite(times).any():
            times = None
        if times is not None:
            self._reject_where(keep & ~np.isfinite(times), keep, TIME, "has no time while other rows have one")
        if ERROR in columns:
            columns[ERROR] = np.nan_to_num(columns[ERROR], nan=0.0)
        self._check_usable(where, keep, columns)
        return self._ordered(name, times, keep, columns, ignored)

    def _is_no_score(self, name: str, values: NDArray[np.float64]) -> bool:
        if name in (LATENCY, REFUSED, ERROR) or (self.metrics is not None and name in self.metrics):
            return False
        finite = values[np.isfinite(values)]
        unreadable = len(self.bad.get(name, ()))
        return bool(not len(finite) or finite.min() < 0 or finite.max() > 1
                    or unreadable > _NO_SCORE_ABOVE * (len(finite) + unreadable))  # fmt: skip

    def _reject_bad(self, keep: NDArray[np.bool_], columns: Mapping[str, Any]) -> None:
        for name in columns:
            chosen = np.zeros(len(keep), dtype=bool)
            chosen[self.bad.get(name, [])] = True
            self._reject_where(chosen & keep, keep, name, "is no number")

    def _reject_where(self, chosen: NDArray[np.bool_], keep: NDArray[np.bool_], name: str, reason: str) -> None:
        for at in np.flatnonzero(chosen):
            self.reject(self.numbers[at], name, reason)
        keep &= ~chosen

    def _check_usable(self, where: str, keep: NDArray[np.bool_], columns: Mapping[str, Any]) -> None:
        if not keep.any():
            first = "; row {}, {}: {}".format(*self.rejections[0][:3]) if self.rejections else ""
            raise InputError(f"{where}: no usable row among {self.n_read:,}{first}")
        if not columns:
            raise InputError(
                f"{where}: no latency, refusal, error or score among {', '.join(list(self.known)[:12])}; name the "
                "columns with mapping= or metrics="
            )

    def _ordered(self, name: str, times: Any, keep: Any, columns: dict[str, Any], ignored: list[str]) -> QueryLog:
        order = np.flatnonzero(keep)
        notes = []
        if times is None:
            notes.append("no_times")
        elif np.any(np.diff(times[order]) < 0):
            order = order[np.argsort(times[order], kind="stable")]
            notes.append("sorted")
        first = [key for key in (LATENCY, REFUSED, ERROR) if key in columns]
        arranged = {key: columns[key][order] for key in (*first, *(key for key in columns if key not in first))}
        rejections = tuple(sorted(self.rejections, key=lambda item: item[0]))
        rows = np.frombuffer(self.numbers, dtype=np.int64)[order].copy()
        return QueryLog(name, None if times is None else times[order], rows, arranged, self.n_read, self.n_rejected,
                        rejections, tuple(ignored), tuple(notes))  # fmt: skip
