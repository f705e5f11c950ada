"""Reading the log of a live service: JSONL or CSV, also gzipped; of texts only the values of groups are kept.

A log has one row for each request. Only numbers are held (8 bytes a field and row), so a log may be large. Known
fields are found under many names; every other column of numbers within [0, 1] is taken as a score. A log is read column by
column: Arrow gives those of a regular file, each value that occurs once; of any other source they are put together of
records, a block after the other.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.data.schema import none_if_missing
from workbench.diagnosis.statistics import Z, mean_interval, wilson
from workbench.errors import InputError
from workbench.language import languages, words_of

# ------------------------------------------------------------------------------
# Values of a query log as numbers: flags, latencies, statuses and times, each as services write them.


#: Seconds since 1970 of the years 1900 and 2200.
_EARLIEST, _LATEST = -2_208_988_800.0, 7_258_118_400.0
#: Numbers since 1970 from the first on are nano-, micro- or milliseconds; smaller ones are seconds.
_EPOCH_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))


class UnreadableError(ValueError):
    """A value that rejects its row, with the reason."""


def flag(value: Any) -> float:
    """1, 0 or NaN (not recorded)."""
    if value is None or value == "" or value != value:
        return math.nan
    word, words = str(value).strip().lower(), words_of("log_fields", "words")
    if word in words["true"] or word in words["false"]:
        return float(word in words["true"])
    tables = [language.table("log_fields").get("words", {}) for language in languages()]
    pairs = [f"{table['true'][0]} or {table['false'][0]}" for table in tables if "true" in table and "false" in table]
    raise UnreadableError(f"is neither true nor false; write {', '.join(pairs)}")


def number(value: Any) -> float:
    """A number; NaN when missing; +inf for anything recorded that is not finite, NaN as a word or a float among it."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return math.nan
    if isinstance(value, (bool, list, dict)):
        raise UnreadableError("is no number")
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise UnreadableError("is no number") from None
    return found if math.isfinite(found) else math.copysign(math.inf, found)


def latency(value: Any) -> float:
    """Milliseconds or seconds from 0 on, as :func:`number`."""
    found = number(value)
    if -math.inf < found < 0:
        raise UnreadableError("is a negative latency")
    return found


def failed(value: Any) -> float:
    """0 for no error (null, false, empty), 1 for anything else."""
    if value is None or value is False or value == "" or value == 0 or value != value or value in ([], {}):
        return 0.0
    return 0.0 if isinstance(value, str) and value.strip().lower() in words_of("log_fields", "words")["false"] else 1.0


def status(value: Any) -> float:
    """An HTTP status from 400 on, or a word that is not "ok", is an error."""
    if value is None or value == "":
        return math.nan
    word = str(value).strip().lower()
    if re.fullmatch(r"\d{3}(\.0)?", word):
        return float(float(word) >= 400)
    return float(word not in words_of("log_fields", "words")["ok"])


def seconds_of(value: Any) -> float:
    """A time as seconds since 1970: ISO 8601 (without an offset it is UTC), or s, ms, µs or ns since 1970; NaN when
    missing. Raises ``UnreadableError`` for anything else and for years outside 1900 to 2200."""
    if value is None or value == "" or value != value:
        return math.nan
    try:
        found = _seconds(value)
    except (ValueError, TypeError, OverflowError):
        found = math.inf
    if not _EARLIEST <= found <= _LATEST:
        raise UnreadableError("is no time; write it as 2025-06-10T07:00:00Z")
    return found


def _seconds(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError("is no time")
    if not hasattr(value, "timestamp"):
        if isinstance(value, (int, float)) or re.fullmatch(r"\d{9,19}(\.\d+)?", str(value)):
            number = float(value)
            return number / next((unit for least, unit in _EPOCH_UNITS if abs(number) >= least), 1.0)
        value = datetime.fromisoformat(str(value).strip().replace("/", "-"))
    return float((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())


# ------------------------------------------------------------------------------
# The log and its reader.


LATENCY, REFUSED, ERROR, TIME = "latency_ms", "refused", "error", "time"

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
    groups
        Column → (codes, names) of texts that were asked for: the code of each request's value, shape (n,), −1 = missing.
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
    groups: Mapping[str, tuple[NDArray[np.int64], tuple[str, ...]]] = field(default_factory=dict)

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
        return pd.DataFrame(list(self.rejections), columns=["row", "field", "reason", "excerpt"])

    @property
    def frame(self) -> pd.DataFrame:
        """``time`` (UTC, where there is one), ``row`` and the columns, one row a request."""
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
        return self.where(slice(start, end), name)

    def where(self, keep: NDArray[np.bool_] | slice, name: str = "") -> QueryLog:
        """The requests for which ``keep``, shape (n,), holds (or those of a slice), as a log of its own."""
        columns = {key: values[keep] for key, values in self.columns.items()}
        groups = {key: (codes[keep], names) for key, (codes, names) in self.groups.items()}
        times = None if self.times is None else self.times[keep]
        return QueryLog(name or self.name, times, self.rows[keep], columns, n_read=len(self.rows[keep]),
                        ignored=self.ignored, groups=groups)  # fmt: skip


def load_log(
    source: str | Path | Iterable[Mapping[str, Any]] | pd.DataFrame, *, mapping: Mapping[str, str] | None = None,
    metrics: Iterable[str] | None = None, name: str | None = None, groups: Iterable[str] = (),
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
    groups
        Columns of texts to keep as groups, such as a release or the arm of an experiment.

    Raises
    ------
    InputError
        For a file that cannot be read or has no usable row, an unknown field in ``mapping`` or a missing column.

    Examples
    --------
    >>> len(wb.load_log("query_log.jsonl"))
    5000
    """
    reader = _LogReader(mapping or {}, None if metrics is None else tuple(metrics), tuple(groups))
    label = name or (Path(source).name.split(".")[0] if isinstance(source, (str, Path)) else "log")
    where = str(source) if isinstance(source, (str, Path)) else label
    table = _regular(source)
    if table is not None:
        reader.take(np.arange(1, len(next(iter(table.values()))) + 1), table)
    else:
        records = _records(source)
        while block := list(itertools.islice(records, _BLOCK)):
            reader.take_records(block)
    return reader.finish(label, where)


def group_columns(source: Any, most: int = 20) -> list[str]:
    """Columns by which requests may be grouped: at most ``most`` short texts in the first 2,000 of a log.

    ``source`` as for :func:`load_log`; of a log that was read, the groups that it holds.
    """
    if isinstance(source, QueryLog):
        return list(source.groups)
    values: dict[str, set[str]] = {}
    others: set[str] = set()
    for _, record in itertools.islice(_records(source), 2000):
        for name, value in record.items() if isinstance(record, Mapping) else ():
            if isinstance(value, str) and value.strip() and len(value) <= 60:
                values.setdefault(str(name), set()).add(value)
            elif value not in (None, "") and value == value:
                others.add(str(name))
    return [name for name, own in values.items() if len(own) <= most and name not in others and not _all_numbers(own)]


def _all_numbers(texts: set[str]) -> bool:
    """Whether texts are numbers as a table holds them: scores and counts, and no arms."""
    try:
        return bool([float(text) for text in texts])
    except ValueError:
        return False


#: Larger files are read in blocks of so many records, in bounded memory.
_AT_ONCE, _BLOCK = 1 << 30, 50_000


def _regular(source: Any) -> dict[str, Any] | None:
    """A file's columns as Arrow arrays, when every line of it is a regular record; else None."""
    if not isinstance(source, (str, Path)):
        return None
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.json

    path = Path(source).expanduser()
    name = path.name.lower()
    try:
        if path.stat().st_size > _AT_ONCE:
            return None
        content = (gzip.open if name.endswith(".gz") else open)(path, "rb").read()
        kind = Path(name.removesuffix(".gz")).suffix
        buffer = pa.BufferReader(content)
        if kind in (".jsonl", ".ndjson", ".log"):
            options = pa.json.ReadOptions(block_size=1 << 24)
            table = pa.json.read_json(buffer, read_options=options)
        elif kind in (".csv", ".tsv"):
            names = content[:1_000_000].split(b"\n", 1)[0].decode("utf-8-sig").strip("\r")
            columns = next(csv.reader([names], delimiter="\t" if kind == ".tsv" else ","))
            convert = pa.csv.ConvertOptions(column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=True,
                                            null_values=[""])  # fmt: skip
            parse = pa.csv.ParseOptions(delimiter="\t" if kind == ".tsv" else ",", newlines_in_values=True)
            table = pa.csv.read_csv(buffer, parse_options=parse, convert_options=convert)
        else:
            return None
    except (OSError, EOFError, ValueError, StopIteration, pa.ArrowException):
        return None
    # A line that is blank or holds several records would shift the numbers of the rows.
    header = int(kind in (".csv", ".tsv"))
    lines = content.count(b"\n") + (not content.endswith(b"\n"))
    regular = table.num_rows == lines - header and len(set(table.column_names)) == len(table.column_names)
    return dict(zip(table.column_names, table.columns, strict=True)) if regular and table.num_rows else None


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


_READERS: dict[str, tuple[str, Any]] = {
    TIME: (TIME, seconds_of),
    LATENCY: (LATENCY, latency),
    "latency_s": (LATENCY, lambda value: latency(value) * 1000),
    REFUSED: (REFUSED, flag),
    ERROR: (ERROR, failed),
    "succeeded": (ERROR, lambda value: 1 - flag(value)),
    "status": (ERROR, status),
}
#: Names of numbers that are no scores though they may lie in [0, 1].
_NEVER = re.compile(
    r"(^|[_.-])(id|ids|index|row|rank|count|seed|k|version|cost|price|temperature|streamed|cached)$|tokens?$", re.I
)


def _printable(text: str) -> str:
    """Without control characters and lone surrogates, which a terminal or a file would trip over."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)


@dataclass
class _LogReader:
    """Columns as they grow, one block of rows after the other."""

    mapping: Mapping[str, str]
    metrics: tuple[str, ...] | None
    groups: tuple[str, ...] = ()
    #: Column → its known field, None for another one.
    known: dict[str, str | None] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    #: Of the rows kept in each block: their numbers, the numbers of each column, which of them are unreadable, and groups.
    rows: list[NDArray[np.int64]] = field(default_factory=list)
    columns: list[dict[str, NDArray[np.float64]]] = field(default_factory=list)
    unreadable: list[dict[str, NDArray[np.bool_]]] = field(default_factory=list)
    codes: dict[str, list[NDArray[np.int64]]] = field(default_factory=dict)
    arms: dict[str, dict[str, int]] = field(default_factory=dict)
    rejections: list[tuple[int, str, str, str]] = field(default_factory=list)
    n_read: int = 0
    n_rejected: int = 0

    def __post_init__(self) -> None:
        unknown = [name for name in self.mapping if name not in _READERS]
        if unknown:
            raise InputError(f"mapping: field {unknown[0]!r} is not known; use {', '.join(_READERS)}")
        self.codes, self.arms = {name: [] for name in self.groups}, {name: {} for name in self.groups}
        self.names = {name: known for known, names in words_of("log_fields", "names").items() for name in names}

    def take_records(self, records: Sequence[tuple[int, Any]]) -> None:
        """Read records with their row numbers as one block; one that is no object is rejected."""
        rows: list[int] = []
        table: dict[Any, list[Any]] = {}
        for number, record in records:
            if not isinstance(record, Mapping):
                torn = isinstance(record, ValueError)
                self.reject(number, "row", str(record) if torn else "is no object", "" if torn else record)
                continue
            for name, value in record.items():
                own = table.setdefault(name, [])
                own.extend([None] * (len(rows) - len(own)))
                own.append(value)
            rows.append(number)
        for own in table.values():
            own.extend([None] * (len(rows) - len(own)))
        self.n_read += len(records) - len(rows)
        self.take(np.array(rows, dtype=np.int64), table)

    def take(self, rows: NDArray[np.int64], table: Mapping[Any, Any]) -> None:
        """Read a block: the numbers of its rows (n,), and column → values (n,), as a list or an Arrow array."""
        n = len(rows)
        self.n_read += n
        keep = np.ones(n, dtype=bool)
        columns: dict[str, NDArray[np.float64]] = {}
        unreadable: dict[str, NDArray[np.bool_]] = {}
        rejected: list[tuple[int, str, str, Any]] = []
        for column, values in table.items():
            name = _printable(str(column))
            known = self._field(name)
            if known is not None:
                target, reader = _READERS[known]
            elif (name in self.metrics) if self.metrics is not None else not _NEVER.search(name):
                target, reader = name, number
            else:
                continue
            undeclared = known is None and self.metrics is None
            if undeclared and _nested(values):
                continue
            distinct, codes = _encoded(values)
            read = np.full(len(distinct) + 1, math.nan)
            reasons: list[str | None] = [None] * len(read)
            if undeclared and _mostly_text(distinct):
                reasons[:-1] = ["is no number"] * len(distinct)
            else:
                for at, value in enumerate([*distinct, None]):
                    try:
                        read[at] = reader(value)
                    except ValueError as error:
                        reasons[at] = str(error)
            found, bad = read[codes], np.array([reason is not None for reason in reasons])[codes]
            if undeclared:
                unreadable[name] = bad
            else:
                rejected += [(at, name, str(reasons[codes[at]]), distinct[codes[at]])
                             for at in np.flatnonzero(bad & keep).tolist()]  # fmt: skip
                keep &= ~bad
            # Of several columns for one field the one that says something wins, and one that says "failed" stays.
            if (before := columns.get(target)) is not None:
                found = np.where(np.isnan(found) | ((target == ERROR) & (before == 1)), before, found)
            if target in _READERS or not np.isnan(found).all():
                columns[target] = found
        for at, name, reason, value in sorted(rejected, key=lambda item: item[0]):
            self.reject(int(rows[at]), name, reason, value)
        self.rows.append(rows[keep])
        self.columns.append({name: own[keep] for name, own in columns.items()})
        self.unreadable.append({name: own[keep] for name, own in unreadable.items()})
        for name, arms in self.arms.items():
            distinct, codes = _encoded(table.get(name, [None] * n))
            own = np.full(len(distinct) + 1, -1)
            for at in np.unique(codes[keep & (codes >= 0)]).tolist():
                if (value := none_if_missing(distinct[at])) is not None:
                    own[at] = arms.setdefault(str(value), len(arms))
            self.codes[name].append(own[codes[keep]])

    def _field(self, name: str) -> str | None:
        """The known field that a column holds, None for another one."""
        if name not in self.known:
            field_name = self.names.get(re.sub(r"[\s_-]", "", name.lower()))
            given = {column: known for known, column in self.mapping.items()}
            self.known[name] = given.get(name, field_name if field_name not in self.mapping else None)
        return self.known[name]

    def reject(self, number: int, name: str, reason: str, value: Any = "") -> None:
        """Count a row left out; the first thousand with their reason."""
        self.n_rejected += 1
        if len(self.rejections) < KEPT_REJECTIONS:
            self.rejections.append((number, _printable(name), reason, _printable(str(value)[:80])))

    def _joined(self, blocks: Sequence[Mapping[str, NDArray[Any]]], fill: Any) -> dict[str, NDArray[Any]]:
        """The columns of all blocks (kept rows,); ``fill`` where a block has not got one."""
        names = dict.fromkeys(name for block in blocks for name in block)
        return {name: np.concatenate([block.get(name, np.full(len(rows), fill))
                                      for block, rows in zip(blocks, self.rows, strict=True)]) for name in names}  # fmt: skip

    def finish(self, name: str, where: str) -> QueryLog:
        """The log: columns that are no scores left out, rows without a time rejected, in the order of time."""
        wanted = (*self.mapping.values(), *(self.metrics or ()), *self.groups)
        missing, there = [column for column in wanted if column not in self.known], ", ".join(list(self.known)[:12])
        if missing and self.n_read:
            raise InputError(f"{where}: no column {missing[0]!r}; there are {there}")
        columns, unreadable = self._joined(self.columns, math.nan), self._joined(self.unreadable, False)
        columns = {key: values for key, values in columns.items() if key in _READERS or not np.isnan(values).all()}
        rows = np.concatenate([np.empty(0, dtype=np.int64), *self.rows])
        times = columns.pop(TIME, None)
        keep = np.ones(len(rows), dtype=bool)
        scores = {key: self._is_score(key, values, unreadable.get(key)) for key, values in columns.items()}
        ignored = [key for key, chosen in scores.items() if not chosen]
        columns = {key: values for key, values in columns.items() if scores[key]}

        def reject_where(chosen: NDArray[np.bool_], column: str, reason: str) -> None:
            for row in rows[chosen & keep].tolist():
                self.reject(row, column, reason)
            keep[chosen] = False

        for key in columns:
            if key in unreadable:
                reject_where(unreadable[key], key, "is no number")
        if times is not None and not np.isfinite(times).any():
            times = None
        if times is not None:
            reject_where(~np.isfinite(times), TIME, "has no time while other rows have one")
        if ERROR in columns:
            columns[ERROR] = np.nan_to_num(columns[ERROR], nan=0.0)
        if not keep.any():
            first = "; row {}, {}: {}".format(*self.rejections[0][:3]) if self.rejections else ""
            raise InputError(f"{where}: no usable row among {self.n_read:,}{first}")
        if not columns:
            raise InputError(f"{where}: no latency, refusal, error or score among {there}; name the columns with "
                             "mapping= or metrics=")  # fmt: skip
        order = np.flatnonzero(keep)
        notes: tuple[str, ...] = ()
        if times is None:
            notes = ("no_times",)
        elif np.any(np.diff(times[order]) < 0):
            order, notes = order[np.argsort(times[order], kind="stable")], ("sorted",)
        known = [key for key in (LATENCY, REFUSED, ERROR) if key in columns]
        arranged = {key: columns[key][order] for key in [*known, *(key for key in columns if key not in known)]}
        groups = {key: (np.concatenate(codes)[order], tuple(self.arms[key])) for key, codes in self.codes.items()}
        return QueryLog(name, None if times is None else times[order], rows[order], arranged, self.n_read, self.n_rejected,
                        tuple(sorted(self.rejections, key=lambda item: item[0])), tuple(ignored), notes, groups)  # fmt: skip

    def _is_score(self, name: str, values: NDArray[np.float64], unreadable: NDArray[np.bool_] | None) -> bool:
        if name in (LATENCY, REFUSED, ERROR) or (self.metrics is not None and name in self.metrics):
            return True
        finite, bad = values[np.isfinite(values)], 0 if unreadable is None else int(unreadable.sum())
        few = bad <= _NO_SCORE_ABOVE * (len(finite) + bad)
        return bool(len(finite) and few and finite.min() >= 0 and finite.max() <= 1)


def _nested(values: Any) -> bool:
    import pyarrow as pa

    return not isinstance(values, list) and bool(pa.types.is_nested(values.type))


def _encoded(values: Any) -> tuple[list[Any], NDArray[np.int64]]:
    """Values, and which of them each row has (n,), −1 for none; of an Arrow array each value that occurs once."""
    if isinstance(values, list) or _nested(values):
        return list(values if isinstance(values, list) else values.to_pylist()), np.arange(len(values))
    encoded = values.combine_chunks().dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)


def _mostly_text(distinct: list[Any]) -> bool:
    """Whether most of the first values are no numbers: such a column is no score."""
    shown = [item for item in distinct[:400] if item is not None]
    unreadable = 0
    for item in shown:
        try:
            number(item)
        except UnreadableError:
            unreadable += 1
    return unreadable > len(shown) / 2


# ------------------------------------------------------------------------------
# Rolling windows over a query log: which rows each holds, and the statistics of one window.
#
# A window is the last N requests or the last stretch of time; the one asked for is the one used, so a log shorter than
# its window has none. Values that are not finite are counted apart and take part in nothing.


#: Window or step → seconds a unit.
_UNITS = {"s": 1, "sec": 1, "min": 60, "m": 60, "h": 3600, "d": 86400}
#: More windows than this are refused: nobody reads them and the log is walked too often.
MOST_WINDOWS = 200_000


@dataclass(frozen=True)
class Statistic:
    """One number of a window: a quantile of the latency (ms), a rate in [0, 1], or the mean of a score.

    ``worse`` is ``"up"`` or ``"down"``, None where neither direction is bad.
    """

    name: str
    column: str
    kind: str
    worse: str | None
    quantile: float = math.nan

    def value(self, values: NDArray[np.float64]) -> float:
        """The statistic of finite values, shape (n,); NaN for none."""
        if not len(values):
            return math.nan
        return float(np.quantile(values, self.quantile) if self.kind == "quantile" else values.mean())

    def interval(self, values: NDArray[np.float64]) -> tuple[float, float]:
        """95 %: order statistics for a quantile, Wilson for a rate, as ``mean_interval`` for a score; NaN for none."""
        if self.kind == "quantile":
            return _quantile_interval(values, self.quantile)
        found = wilson(float(values.sum()), len(values)) if self.kind == "rate" else mean_interval(values)
        return found.low, found.high


_LATENCIES = tuple(Statistic(f"latency_p{p}", LATENCY, "quantile", "up", p / 100) for p in (50, 95, 99))
_RATES = (Statistic("refusal_rate", REFUSED, "rate", "up"), Statistic("error_rate", ERROR, "rate", "up"))


def statistics_of(columns: Mapping[str, object]) -> list[Statistic]:
    """The statistics that can be computed from ``columns``, in the order in which they are shown."""
    fixed = [item for item in (*_LATENCIES, *_RATES) if item.column in columns]
    scores = [name for name in columns if name not in (LATENCY, REFUSED, ERROR)]
    return [*fixed, *(Statistic(name, name, "mean", _worse(name)) for name in scores)]


def _worse(score: str) -> str | None:
    """A score is worse when low, unless its metric says otherwise."""
    from workbench.scoring.metrics import definition

    metric = definition(score)
    better = True if metric is None else metric.higher_is_better
    return None if better is None else "down" if better else "up"


def _quantile_interval(values: NDArray[np.float64], quantile: float) -> tuple[float, float]:
    n = len(values)
    if n < 2:
        return math.nan, math.nan
    half = Z * math.sqrt(n * quantile * (1 - quantile))
    low, high = math.floor(n * quantile - half), math.ceil(n * quantile + half)
    ordered = np.sort(values)
    return float(ordered[max(low, 0)]), float(ordered[min(high, n - 1)])


class Counted(NamedTuple):
    """The finite values of a column in one window, and how many rows have none or one that is not finite."""

    values: NDArray[np.float64]
    n_missing: int
    n_non_finite: int


def counted(values: NDArray[np.float64]) -> Counted:
    """Sort a column's values, shape (n,), into finite, missing (NaN) and not finite (±inf)."""
    finite = np.isfinite(values)
    missing = int(np.isnan(values).sum())
    return Counted(values[finite], missing, int(len(values) - finite.sum() - missing))


def window_size(window: int | str) -> tuple[int, float]:
    """``(requests, 0)`` for a number, ``(0, seconds)`` for a text like ``"6h"``, ``"30min"``, ``"1d"``.

    Raises ``InputError`` for anything else.
    """
    text = str(window).strip().lower()
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text)
    if found and not isinstance(window, bool):
        amount, unit = float(found[1]), found[2]
        if unit == "" and amount == int(amount) >= 1:
            return int(amount), 0.0
        if unit in _UNITS and amount > 0:
            return 0, amount * _UNITS[unit]
    raise InputError(f"window or step {window!r}: use a number of requests from 1 on, or a time such as 30min, 6h, 1d")


class Window(NamedTuple):
    """Rows ``[first, last)`` of one window, those from ``fresh`` on new since the window before; times in seconds."""

    first: int
    last: int
    fresh: int
    start: float
    end: float


def rolling(log: QueryLog, window: int | str, step: int | str | None = None) -> list[Window]:
    """The windows over a log, each of the whole size asked for.

    Parameters
    ----------
    window, step
        Numbers of requests, or times (``"6h"``); the step is a quarter of the window by default and of its kind. With
        requests, the last window ends at the last request.

    Raises
    ------
    InputError
        For a time over a log without times, a step of the other kind, or more than 200,000 windows.
    """
    requests, seconds = window_size(window)
    step_requests, step_seconds = window_size(step) if step is not None else (max(requests // 4, 1), seconds / 4)
    if bool(requests) != bool(step_requests) and step is not None:
        raise InputError(f"step {step!r} is of another kind than window {window!r}; use requests or time for both")
    if requests:
        return _by_requests(log, requests, step_requests)
    if log.times is None:
        raise InputError(f"{log.name} has no times, so a window of {window} cannot be taken; use a number of requests")
    return _by_time(log.times, seconds, step_seconds)


def early(log: QueryLog, window: int | str, step: int | str | None = None) -> list[Window]:
    """The beginnings of the first window, a step longer each, so that a large fall need not wait until it is full."""
    requests, seconds = window_size(window)
    step_requests, step_seconds = window_size(step) if step is not None else (max(requests // 4, 1), seconds / 4)
    if requests:
        ends = list(range(step_requests, min(requests, len(log) + 1), step_requests))
    elif log.times is not None:
        moments = log.times[0] + step_seconds * np.arange(1, math.ceil(seconds / step_seconds))
        ends = np.searchsorted(log.times, moments[moments <= log.times[-1]]).tolist()
    else:
        ends = []
    times = np.full(len(log), np.nan) if log.times is None else log.times
    pairs = zip([0, *ends], ends, strict=False)
    return [Window(0, end, first, float(times[0]), float(times[end - 1])) for first, end in pairs if end > first]


def _by_requests(log: QueryLog, size: int, step: int) -> list[Window]:
    n = len(log)
    _few_enough((n - size) / step)
    ends = list(range(size, n + 1, step))
    if ends and ends[-1] != n:
        ends.append(n)
    times = np.full(n, np.nan) if log.times is None else log.times
    return [Window(end - size, end, before, float(times[end - size]), float(times[end - 1]))
            for before, end in zip([0, *ends], ends, strict=False)]  # fmt: skip


def _by_time(times: NDArray[np.float64], size: float, step: float) -> list[Window]:
    count = (times[-1] - times[0] - size) / step
    _few_enough(count)
    ends = times[0] + size + step * np.arange(max(math.floor(count) + 1, 0))
    firsts, lasts = np.searchsorted(times, ends - size), np.searchsorted(times, ends)
    before = [0, *lasts[:-1].tolist()]
    rows = zip(firsts.tolist(), lasts.tolist(), before, ends.tolist(), strict=True)
    return [Window(first, last, fresh, end - size, end) for first, last, fresh, end in rows]


def _few_enough(count: float) -> None:
    if count > MOST_WINDOWS:
        raise InputError(f"{count:,.0f} windows are more than {MOST_WINDOWS:,}; use a longer window or step")
