"""A history: many evaluations of the same cases, found in a folder and indexed beside it, so that thousands open at once.

The index is an SQLite file, ``history.sqlite``: for each run its row of the table and, packed, what a series needs of each
sample (cause, verdict, hashes of output and case). A run whose files changed is read anew; the evaluations stay the truth
and the index may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import workbench
from workbench.data.run_config import plain_config
from workbench.diagnosis.cause_inputs import PASSED
from workbench.diagnosis.causes import cause_names
from workbench.diagnosis.changes import case_hashes, output_hashes
from workbench.diagnosis.series import Series, config_frame
from workbench.diagnosis.statistics import mean_interval
from workbench.errors import InputError
from workbench.evaluation import Evaluation, load_evaluation
from workbench.evidence.cache import cache_folder, content_key
from workbench.evidence.parts import is_saved, part_folders
from workbench.evidence.waiting import bar
from workbench.scoring.metrics import HEADLINE
from workbench.scoring.thresholds import Thresholds

INDEX = "history.sqlite"
#: Layout of the index; one of another layout is made anew.
LAYOUT = 1
#: Files of an evaluation that its row depends on.
_FILES = ("samples", "contexts", "claims", "support", "questions")
#: Folders below the one given that are looked through for evaluations.
DEPTH = 3
#: What a series can be read on.
MEASURES = (PASSED, HEADLINE)
#: Columns of the table before the metrics.
FIRST = ("run", "path", "date", "n", PASSED, "passed_low", "passed_high", "n_tested")

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class History:
    """Runs of the same cases, oldest first.

    Attributes
    ----------
    table
        One row a run: ``run, path, date, n, passed, passed_low, passed_high, n_tested``; one column a metric (its mean, with
        ``<headline>_low, _high`` for the end-to-end rate), ``cause.<name>`` (failing samples), ``config.<key>``.
    measure
        What the series is read on: ``passed``, or ``end_to_end_correct``.
    alpha
        Rate of false regressions over the whole series.
    """

    table: pd.DataFrame
    packed: tuple[Mapping[str, Any], ...] = field(repr=False)
    measure: str = PASSED
    alpha: float = 0.05
    without_flaky: bool = False

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"History({len(self)} runs, {self.measure})"

    def on(self, measure: str) -> History:
        """The same runs read on another measure. Raises ``InputError`` for an unknown one."""
        return replace(self, measure=_known(measure))

    def open(self, run: str) -> Evaluation:
        """The evaluation of one run. Raises ``InputError`` for an unknown name, or a run that was never saved."""
        path = self.table["path"].iloc[self.series.place(run)]
        if not path:
            raise InputError(f"{run} was never saved; give its folder")
        return load_evaluation(path, name=run)

    def config(self, run: str) -> dict[str, Any]:
        """The configuration of one run, with what it was measured by."""
        return dict(self.packed[self.series.place(run)]["config"])

    @cached_property
    def series(self) -> Series:
        """The runs as a matrix of outcomes, for tests; without flaky samples when they are to be left out."""
        ids, outcome, cause, output, case, causes = _joined(self.packed, self.measure)
        whole = Series(
            tuple(self.table["run"]), ids, outcome, config_frame([own["config"] for own in self.packed]), causes, cause,
            output, case, self.alpha,
        )  # fmt: skip
        if not self.without_flaky:
            return whole
        return replace(whole, left_out=frozenset(ids[whole.flaky]))

    @property
    def regressions(self) -> pd.DataFrame:
        """Rows of ``series.steps()`` that broke it and have not been made good by the last run."""
        steps = self.series.steps()
        return steps[steps["standing"].astype(bool)]

    @property
    def regressed(self) -> bool:
        """Whether the last run is worse than the series was, beyond noise: after a step, or by a slow drift."""
        drift = self.series.drift()
        return bool(len(self.regressions)) or bool(drift["sure"] and drift["per_run"] < 0)


def history(
    runs: str | Path | Sequence[Any] | Mapping[str, Any], *, thresholds: Thresholds | None = None, measure: str = PASSED,
    alpha: float = 0.05, without_flaky: bool = False, by_date: bool | None = None, progress: bool | Progress = True,
) -> History:  # fmt: skip
    """The history of a system: its runs as a table, and which change broke it.

    Parameters
    ----------
    runs
        A folder with evaluations (looked through three folders deep), or several evaluations or their folders.
    by_date
        Whether the runs stand in the order of their date (the configuration's ``date``, when the recording was made, or when
        it was scored) or as given; by default a folder by date, a list as given.
    thresholds
        Put all under these; by default each is taken as it was saved, and a change of thresholds counts as a change.
    measure
        What is tested: ``"passed"``, or ``"end_to_end_correct"``.
    alpha
        Rate of false regressions over the whole series, however often one looks.
    without_flaky
        Leave out samples whose verdict flips among repeats of one configuration.
    progress
        True shows a bar while runs are read for the first time, a callable gets ``(done, total)``.

    Raises
    ------
    InputError
        When there is no evaluation, or an unknown measure.

    Examples
    --------
    >>> found = wb.history("evaluations")
    >>> found.table[["run", "passed"]].round(2).values.tolist()
    [['baseline', 0.6], ['improved', 0.78]]
    """
    _known(measure)
    if not 0 < alpha < 1:
        raise InputError(f"alpha {alpha!r} is not between 0 and 1")
    names, given = _given(runs)
    rows = _rows(given, thresholds, progress)
    if isinstance(runs, (str, Path)) if by_date is None else by_date:
        order = sorted(range(len(rows)), key=lambda at: (rows[at]["date"], _natural(rows[at]["name"])))
        rows, names = [rows[at] for at in order], [names[at] for at in order]
    return History(_table(rows, names), tuple(rows), measure, alpha, without_flaky)


def _known(measure: str) -> str:
    if measure not in MEASURES:
        raise InputError(f"measure {measure!r} is not known; use {' or '.join(MEASURES)}")
    return measure


def _natural(name: str) -> list[tuple[int, str]]:
    """ "run 9" before "run 10"."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]


def _given(runs: Any) -> tuple[list[str | None], list[Any]]:
    """Names (None: its own), and evaluations or folders."""
    if isinstance(runs, Mapping):
        return list(runs), list(runs.values())
    if isinstance(runs, (str, Path)):
        folder = Path(runs).expanduser()
        if not folder.is_dir():
            raise InputError(f"{runs}: is no folder; give one with the folders that score --out wrote")
        found = [folder] if is_saved(folder) else sorted(_evaluations(folder, DEPTH))
        if not found:
            raise InputError(f"{runs}: holds no evaluation; give a folder with the folders that score --out wrote")
        return [None] * len(found), found
    items = list(runs)
    if not items:
        raise InputError("history: no runs; give a folder, or evaluations")
    return [None] * len(items), items


def _evaluations(folder: Path, depth: int) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        inner = [entry for entry in entries if not entry.name.startswith(".") and entry.is_dir()]
    for entry in inner:
        path = folder / entry.name
        if is_saved(path):
            yield path
        elif depth > 1:
            yield from _evaluations(path, depth - 1)


def _table(rows: Sequence[Mapping[str, Any]], names: Sequence[str | None]) -> pd.DataFrame:
    titles: list[str] = []
    called = [str(own or row["name"]) for own, row in zip(names, rows, strict=True)]
    often, taken = Counter(called), Counter[str]()
    for name, own, row in zip(called, names, rows, strict=True):
        # Recordings that are all called the same are told apart by their folders.
        title = name if often[name] == 1 or own or not row["path"] else Path(row["path"]).name
        taken[title] += 1
        titles.append(title if taken[title] == 1 else f"{title} ({taken[title]})")
    flat = [
        {"run": title, "path": row["path"], "date": row["date"], **row["numbers"], **row["metrics"],
         **{f"cause.{name}": n for name, n in row["causes"].items()},
         **{f"config.{key}": value for key, value in row["config"].items()}}
        for title, row in zip(titles, rows, strict=True)
    ]  # fmt: skip
    frame = pd.DataFrame(flat)
    causes = [name for name in frame if str(name).startswith("cause.")]
    frame[causes] = frame[causes].fillna(0).astype(int)
    config = [name for name in frame if str(name).startswith("config.")]
    metrics = [name for name in frame if name not in {*FIRST, *causes, *config}]
    return frame[[*FIRST, *metrics, *causes, *config]]


# ------------------------------------------------------------------------------
# One run as the index keeps it.


def describe(evaluation: Evaluation) -> dict[str, Any]:
    """A run as one row and, of each sample, what a series needs of it."""
    manifest, t = evaluation.manifest, evaluation.thresholds
    primary, passed = evaluation.causes.primary, evaluation.causes.inputs.failing.passed
    metrics = {}
    for name in evaluation.metrics:
        values = evaluation.metric(name).values
        known = values[np.isfinite(values)]
        metrics[name] = float(known.mean()) if len(known) else None
        if name == HEADLINE:
            ends = mean_interval(known, binary=True)
            metrics |= {f"{name}_low": _plain(ends.low), f"{name}_high": _plain(ends.high)}
    tested = passed[np.isfinite(passed)]
    ends = mean_interval(tested, binary=True)
    numbers = {"n": len(evaluation), PASSED: float(tested.mean()) if len(tested) else None,
               "passed_low": _plain(ends.low), "passed_high": _plain(ends.high), "n_tested": len(tested)}  # fmt: skip
    names = cause_names()
    counts = np.bincount(primary[primary >= 0], minlength=len(names))
    headline = evaluation.metric(HEADLINE).values
    return {
        "name": evaluation.name, "path": str(evaluation.path or ""), "date": run_date(manifest), "numbers": numbers,
        "metrics": metrics, "causes": {name: int(n) for name, n in zip(names, counts, strict=True) if n},
        "config": measured_config(manifest, t), "cause_names": list(names),
        "ids": [str(i) for i in evaluation.evidence.ids],
        "arrays": _Arrays({
            "cause": primary, HEADLINE: np.where(np.isfinite(headline), headline, -1),
            "output": output_hashes(evaluation.evidence), "case": case_hashes(evaluation.evidence),
        }),
    }  # fmt: skip


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def run_date(manifest: Mapping[str, Any]) -> str:
    """When a run was made: as its configuration says, else when it was scored; "" when nobody knows."""
    config = manifest.get("config") or {}
    known = [config[key] for key in config if key.lower() in ("date", "timestamp", "started")]
    return str((known or [manifest.get("started") or ""])[0])


def measured_config(manifest: Mapping[str, Any], thresholds: Thresholds) -> dict[str, Any]:
    """The configuration with what the run was measured by: judge, its prompt, encoder, thresholds, knowledge base."""
    own = {
        "judge": manifest.get("judge"), "judge_prompt": manifest.get("prompt_hash"), "encoder": manifest.get("encoder"),
        "thresholds": _cuts(thresholds),
        "corpus": ((manifest.get("corpus") or {}).get("hash") or "")[:8] or None,
    }  # fmt: skip
    config = plain_config(manifest.get("config"))
    return {**{key: value for key, value in own.items() if value is not None}, **config}


def _cuts(thresholds: Thresholds) -> str:
    """The cut-offs that are not the defaults, in words; targets and levels move no verdict."""
    plain = [own.to_dict() for own in (thresholds, Thresholds())]
    flat, usual = ({**one, **one["low_scores"]} for one in plain)
    changed = {key: value for key, value in flat.items() if not isinstance(value, dict) and value != usual.get(key)}
    return ", ".join(f"{key}={value}" for key, value in changed.items()) or "default"


def _joined(packed: Sequence[Mapping[str, Any]], measure: str) -> tuple[Any, ...]:
    """Ids, outcomes, causes and hashes of all runs on one set of samples."""
    ids = pd.Index(list(dict.fromkeys(i for own in packed for i in own["ids"])), dtype=object)
    causes = list(dict.fromkeys(name for own in packed for name in own["cause_names"]))
    shape = (len(packed), len(ids))
    outcome, cause = np.full(shape, np.nan), np.full(shape, -2, dtype=np.int16)
    output, case = np.zeros(shape, dtype=np.uint64), np.zeros(shape, dtype=np.uint64)
    places: dict[int, Any] = {}
    for at, own in enumerate(packed):
        where = places.get(id(own["ids"]))
        if where is None:
            where = places[id(own["ids"])] = ids.get_indexer(own["ids"])
        names = np.array([*(causes.index(name) for name in own["cause_names"]), -2, -1], dtype=np.int16)
        arrays = own["arrays"].read(len(own["ids"]))
        codes = names[arrays["cause"]]
        cause[at, where], output[at, where], case[at, where] = codes, arrays["output"], arrays["case"]
        if measure == PASSED:
            outcome[at, where] = np.where(codes == -2, np.nan, codes == -1)
        else:
            outcome[at, where] = np.where(arrays[HEADLINE] < 0, np.nan, arrays[HEADLINE])
    return ids, outcome, cause, output, case, tuple(causes)


# ------------------------------------------------------------------------------
# The index on disk.


def _rows(given: Sequence[Any], thresholds: Thresholds | None, progress: bool | Progress) -> list[dict[str, Any]]:
    """One description a run, from the index where it is still good."""
    rows: list[dict[str, Any] | None] = [None] * len(given)
    folders: dict[Path, list[tuple[int, Path]]] = {}
    for at, run in enumerate(given):
        if isinstance(run, (str, Path)):
            path = Path(os.path.abspath(Path(run).expanduser()))
            folders.setdefault(path.parent, []).append((at, path))
        elif isinstance(run, Evaluation):
            rows[at] = describe(run if thresholds is None else run.with_thresholds(thresholds))
        else:
            raise InputError(f"a {type(run).__name__} is no run; give evaluations or the folders of them")
    key = "" if thresholds is None else content_key(json.dumps(thresholds.to_dict(), sort_keys=True, default=str))[:16]
    with bar(progress, "run", delay=2) as tell:
        done = 0
        for parent, places in folders.items():
            with _Index.of(parent) as index:
                kept = index.load(key)
                for at, path in places:
                    stamp = _stamp(path)
                    rows[at] = kept(path, stamp)
                    if rows[at] is None:
                        rows[at] = made = describe(load_evaluation(path, thresholds=thresholds))
                        index.put(path, key, stamp, made)
                    done += 1
                    if tell is not None:
                        tell(done, len(given))
    return [row for row in rows if row is not None]


def _stamp(path: Path) -> str:
    """Changes when the evaluation, its thresholds, the workbench or the registered causes do."""
    parts = [workbench.__version__, str(LAYOUT), ",".join(cause_names())]
    names = (*(f"{name}.parquet" for name in _FILES), "manifest.json", "thresholds.toml")
    for folder, name in product(part_folders(path) or (path,), names):
        with contextlib.suppress(OSError):
            found = os.stat(f"{folder}/{name}")
            parts.append(f"{name} {found.st_mtime_ns} {found.st_size}")
    return content_key("\n".join(parts))[:32]


class _Index:
    """The file of one folder; where it cannot be written it lies in the cache folder, and a damaged one is made anew."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @classmethod
    @contextlib.contextmanager
    def of(cls, folder: Path) -> Iterator[_Index]:
        """The index of ``folder``; what was put is on disk at once, so that a cancelled reading goes on where it stopped."""
        own = cache_folder() / "history" / f"{content_key(str(folder))[:24]}.sqlite"
        connection = _opened(folder / INDEX) or _opened(own) or sqlite3.connect(":memory:")
        try:
            _create(connection)
            yield cls(connection)
        finally:
            connection.close()

    def load(self, key: str) -> Callable[[Path, str], dict[str, Any] | None]:
        """A function of folder and stamp that gives the description kept, None when it is not there or out of date."""
        rows = self._connection.execute("SELECT name, stamp, row, ids, arrays FROM runs WHERE key = ?", (key,))
        kept = {name: rest for name, *rest in rows}
        ids = {digest: json.loads(zlib.decompress(packed))
               for digest, packed in self._connection.execute("SELECT digest, ids FROM samples")}  # fmt: skip

        def found(path: Path, stamp: str) -> dict[str, Any] | None:
            """The description, when its evaluation has not changed since."""
            entry = kept.get(path.name)
            if entry is None or entry[0] != stamp or entry[2] not in ids:
                return None
            row: dict[str, Any] = json.loads(entry[1])
            return row | {"path": str(path), "ids": ids[entry[2]], "arrays": _Arrays(entry[3])}

        return found

    def put(self, path: Path, key: str, stamp: str, row: Mapping[str, Any]) -> None:
        """Keep a description."""
        plain = {name: value for name, value in row.items() if name not in ("arrays", "ids", "path")}
        ids = json.dumps(row["ids"])
        digest = content_key(ids)
        with self._connection as change:
            change.execute(
                "INSERT OR IGNORE INTO samples VALUES (?, ?)", (digest, zlib.compress(ids.encode("ascii"), 1))
            )
            change.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?)",
                           (path.name, key, stamp, json.dumps(plain), digest, row["arrays"].packed))  # fmt: skip


_TYPES = {"cause": "<i2", HEADLINE: "<i1", "output": "<u8", "case": "<u8"}
_KINDS: dict[str, np.dtype[Any]] = {name: np.dtype(kind) for name, kind in _TYPES.items()}


class _Arrays:
    """Arrays of one value a sample, packed until they are needed."""

    def __init__(self, given: Mapping[str, Any] | bytes) -> None:
        self.packed = given if isinstance(given, bytes) else zlib.compress(
            b"".join(np.asarray(given[name]).astype(kind).tobytes() for name, kind in _KINDS.items()), 1)  # fmt: skip

    def read(self, n: int) -> dict[str, np.ndarray]:
        """Name → array of shape (n,)."""
        content, found, at = zlib.decompress(self.packed), {}, 0
        for name, kind in _KINDS.items():
            found[name] = np.frombuffer(content, dtype=kind, count=n, offset=at)
            at += n * kind.itemsize
        return found


def _opened(path: Path) -> sqlite3.Connection | None:
    """A connection that can be written to; a damaged file is removed and begun anew. None where it cannot be."""
    for _ in range(2):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=20)
            _create(connection)
            connection.execute("UPDATE runs SET key = key WHERE 0")
            connection.commit()
            return connection
        except sqlite3.OperationalError:
            return None
        except sqlite3.DatabaseError:
            with contextlib.suppress(OSError):
                path.unlink()
        except OSError:
            return None
    return None


def _create(connection: sqlite3.Connection) -> None:
    with connection as change:
        if change.execute("PRAGMA user_version").fetchone()[0] not in (0, LAYOUT):
            change.execute("DROP TABLE IF EXISTS runs")
            change.execute("DROP TABLE IF EXISTS samples")
        change.execute(f"PRAGMA user_version = {LAYOUT}")
        change.execute("CREATE TABLE IF NOT EXISTS samples (digest TEXT PRIMARY KEY, ids BLOB)")
        change.execute("CREATE TABLE IF NOT EXISTS runs (name TEXT, key TEXT, stamp TEXT, row TEXT, ids TEXT, arrays BLOB, "
                       "PRIMARY KEY (name, key))")  # fmt: skip
