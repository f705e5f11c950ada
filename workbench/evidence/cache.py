"""Content-keyed cache: JSON texts and float32 vectors in one SQLite file, safe for several notebooks at once.

The format is documented and not executable (no pickle): two tables, ``documents(namespace, key, value TEXT)`` and
``vectors(namespace, key, value BLOB)``, where a blob is the little-endian float32 row. Keys are made by
:func:`content_key`, so an entry never goes stale: other content has another key. The caller keeps secrets out:
neither keys nor values may contain credentials.

The file lives in :func:`cache_folder`. WAL mode lets readers and one writer work side by side; ``put_many`` is one
transaction, and what was committed survives a killed process.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from workbench.data.files import cache_folder
from workbench.errors import InputError

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

#: Seconds that a statement waits for another process's transaction.
BUSY_SECONDS = 60.0
#: Keys bound in one query; SQLite promised no more than 999 variables before version 3.32.
READ_BATCH = 900

_SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (namespace TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
                                      UNIQUE (key, namespace));
CREATE TABLE IF NOT EXISTS vectors (namespace TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL,
                                    UNIQUE (key, namespace));
"""
_CORRUPT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_UNUSABLE = {
    sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_PERM,
}  # fmt: skip

#: Until a new file is closed again no other thread may connect to it.
_CREATING = threading.Lock()


def private_folder(folder: Path) -> Path:
    """Create ``folder`` (and its parents) for this user alone, mode 0700; one that exists is left as it is."""
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def content_key(*parts: Any) -> str:
    """SHA-256 (64 hex digits) of JSON-able ``parts``, framed so that different parts never share a text.

    Lists and tuples are alike, the order of dictionary keys does not matter; ``1``, ``1.0``, ``"1"`` and ``True``
    are all different, and so are ``("ab", "c")`` and ``("a", "bc")``.

    Raises ``TypeError`` for a part that JSON cannot hold, or a dictionary whose keys are not all strings.
    """
    _require_text_keys(parts)
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _require_text_keys(part: Any) -> None:
    """Refuse dictionaries with other than string keys: JSON would write 1 and "1" alike."""
    if isinstance(part, dict):
        if not all(isinstance(key, str) for key in part):
            raise TypeError("content_key needs dictionaries with string keys")
        for value in part.values():
            _require_text_keys(value)
    elif isinstance(part, list | tuple):
        for value in part:
            _require_text_keys(value)


class Cache:
    """Documents and vectors by ``(namespace, key)``, kept in ``folder/name``.

    Usable from several threads (one connection each) and several processes. A damaged file is moved aside with a
    logged warning and a fresh one started; where nothing can be written, the cache works in memory for this
    process and says so in the log. It is never a reason for an evaluation to stop.

    Parameters
    ----------
    folder
        Default :func:`cache_folder`.
    name
        File name inside ``folder``.

    Raises ``InputError`` for a folder that no file system can name.
    """

    def __init__(self, folder: str | Path | None = None, name: str = "cache.sqlite") -> None:
        self.folder = Path(folder) if folder is not None else cache_folder()
        if "\0" in str(self.folder):
            raise InputError(f"cache folder {str(self.folder)!r} holds a NUL character; name another folder")
        self.path = self.folder / name
        self._local = threading.local()
        self._lock = threading.RLock()
        self._opened: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._memory: sqlite3.Connection | None = None

    @classmethod
    def in_process(cls) -> Cache:
        """A cache in memory, which ends with this object."""
        cache = cls(os.devnull)
        cache._memory = _memory()
        return cache

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process gets the same file through connections of its own."""
        return (Cache, (self.folder, self.path.name))

    @property
    def in_memory(self) -> bool:
        """Whether the file could not be used, so that entries end with this process."""
        return self._memory is not None

    def get_many(self, namespace: str, keys: Iterable[str]) -> dict[str, str]:
        """The JSON texts that are there, by key; missing keys are left out."""
        return dict(self._read("documents", namespace, keys))

    def put_many(self, namespace: str, documents: Mapping[str, str]) -> None:
        """Store JSON texts in one transaction, replacing those with the same key."""
        self._write("documents", namespace, documents.items())

    def get(self, namespace: str, key: str) -> str | None:
        """One JSON text, or None."""
        return self.get_many(namespace, [key]).get(key)

    def put(self, namespace: str, key: str, document: str) -> None:
        """Store one JSON text."""
        self.put_many(namespace, {key: document})

    def get_vectors(self, namespace: str, keys: Iterable[str]) -> dict[str, np.ndarray]:
        """The float32 rows that are there, by key, read-only; missing and damaged ones are left out."""
        found = {}
        for key, blob in self._read("vectors", namespace, keys):
            if len(blob) % 4 or not blob:
                logger.warning("%s: vector %s… is damaged and will be made again", self.path.name, key[:8])
                continue
            found[key] = np.frombuffer(blob, dtype="<f4")
        return found

    def put_vectors(self, namespace: str, vectors: Mapping[str, np.ndarray]) -> None:
        """Store float32 rows in one transaction, replacing those with the same key."""
        rows = ((key, np.ascontiguousarray(row, dtype="<f4").tobytes()) for key, row in vectors.items())
        self._write("vectors", namespace, rows)

    def count(self, namespace: str) -> int:
        """Number of documents and vectors in a namespace."""
        query = (
            "SELECT (SELECT COUNT(*) FROM documents WHERE namespace = ?1)"
            " + (SELECT COUNT(*) FROM vectors WHERE namespace = ?1)"
        )
        return int(self._run(lambda connection: connection.execute(query, (namespace,)).fetchone()[0]))

    def clear(self, namespace: str) -> None:
        """Forget every entry of a namespace."""

        def delete(connection: sqlite3.Connection) -> None:
            with connection:
                for table in ("documents", "vectors"):
                    connection.execute(f"DELETE FROM {table} WHERE namespace = ?", (namespace,))

        self._run(delete)

    def discard(self) -> None:
        """Remove the file; the next use makes a new one."""
        self.close()
        for suffix in ("-wal", "-shm", ""):
            with suppress(OSError):
                os.unlink(f"{self.path}{suffix}")

    def close(self) -> None:
        """Close the connections of all threads; the next use opens them again."""
        with self._lock:
            for _, connection in self._opened:
                connection.close()
            self._opened.clear()
            self._local = threading.local()

    def _read(self, table: str, namespace: str, keys: Iterable[str]) -> Iterator[tuple[str, Any]]:
        """``(key, value)`` of the entries found, read in bounded batches."""
        wanted = list(dict.fromkeys(keys))
        for start in range(0, len(wanted), READ_BATCH):
            batch = wanted[start : start + READ_BATCH]
            marks = ",".join("?" * len(batch))
            query = f"SELECT key, value FROM {table} WHERE key IN ({marks}) AND namespace = ?"
            yield from self._fetch(query, [*batch, namespace])

    def _fetch(self, query: str, values: list[str]) -> list[tuple[str, Any]]:
        return self._run(lambda connection: connection.execute(query, values).fetchall())

    def _write(self, table: str, namespace: str, items: Iterable[tuple[str, Any]]) -> None:
        rows = [(namespace, key, value) for key, value in items]
        if not rows:
            return

        def insert(connection: sqlite3.Connection) -> None:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany(
                    f"INSERT INTO {table} (namespace, key, value) VALUES (?, ?, ?)"
                    " ON CONFLICT (key, namespace) DO UPDATE SET value = excluded.value",
                    rows,
                )

        self._run(insert)

    def _run(self, statement: Callable[[sqlite3.Connection], Result]) -> Result:
        """Run ``statement``, once more after a damaged file was set aside or the file given up."""
        for _ in range(3):
            try:
                return self._run_once(statement)
            except sqlite3.DatabaseError as error:
                self._recover(error)
        return self._run_once(statement)

    def _run_once(self, statement: Callable[[sqlite3.Connection], Result]) -> Result:
        if self._memory is not None:
            with self._lock:
                return statement(self._memory)
        return statement(self._connection())

    def _connection(self) -> sqlite3.Connection:
        """This thread's connection; a new one after a fork or when the file was replaced."""
        state = self._local
        stamp = (os.getpid(), _inode(self.path))
        if getattr(state, "stamp", None) != stamp or stamp[1] is None:
            connection = self._open()
            state.connection, state.stamp = connection, (os.getpid(), _inode(self.path))
        return state.connection

    def _open(self) -> sqlite3.Connection:
        """Connect, create the tables where they are missing, and remember the connection for :meth:`close`."""
        try:
            private_folder(self.folder)
            # Created by hand so that it is private from the start; SQLite gives its -wal and -shm the same mode. Never one
            # that exists: to close any descriptor of a file gives up every lock that this process holds on it (POSIX), and
            # another process would then remove the -wal that our connections write to.
            with _CREATING, suppress(FileExistsError):
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except OSError as error:
            # The operating system's refusal in the form that SQLite's own has.
            refused = sqlite3.OperationalError(f"{error.strerror or error}: {error.filename}")
            refused.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
            raise refused from error
        self._local.seen = _inode(self.path)
        connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            _prepare(connection)
        except sqlite3.DatabaseError:
            connection.close()
            raise
        with self._lock:  # kept for :meth:`close`; those whose thread has ended are closed now
            for thread, old in self._opened:
                if not thread.is_alive():
                    old.close()
            alive = [entry for entry in self._opened if entry[0].is_alive()]
            self._opened = [*alive, (threading.current_thread(), connection)]
        return connection

    def _recover(self, error: sqlite3.DatabaseError) -> None:
        """Set a damaged file aside, or give the file up and go on in memory; any other error is raised again."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _CORRUPT:
            self._set_aside(error)
            return
        if code not in _UNUSABLE:
            raise error
        with self._lock:
            if self._memory is None:
                logger.warning(
                    "cache file %s cannot be used (%s); results are kept in memory only. Set WORKBENCH_CACHE to a"
                    " folder you can write to", self.path, error,
                )  # fmt: skip
                self._memory = _memory()

    def _set_aside(self, error: sqlite3.DatabaseError) -> None:
        """Rename the damaged file unless another thread or process has replaced it already."""
        with self._lock, _only_process(self.path):
            self._local.stamp = None
            if getattr(self._local, "seen", None) != _inode(self.path):
                return
            aside = self.path.with_name(f"{self.path.name}.damaged-{time.time_ns()}")
            logger.warning(
                "cache file %s is damaged (%s); moved to %s, starting a fresh one", self.path, error, aside.name
            )
            for suffix in ("-wal", "-shm", ""):
                with suppress(FileNotFoundError):
                    os.replace(f"{self.path}{suffix}", f"{aside}{suffix}")


def _memory() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.executescript(_SCHEMA)
    return connection


def _inode(path: Path) -> tuple[int, int] | None:
    """What identifies the file now at ``path``; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_dev, status.st_ino)


@contextmanager
def _only_process(path: Path, stale: float = 10.0) -> Iterator[None]:
    """Keep other processes out; a claim that a killed process left is broken after ``stale`` seconds."""
    claim = path.with_name(f"{path.name}.claim")
    deadline = time.monotonic() + stale
    while True:
        try:
            claim.mkdir()
            break
        except FileExistsError:
            if time.monotonic() > deadline:
                break
            time.sleep(0.01)
    try:
        yield
    finally:
        with suppress(OSError):
            claim.rmdir()


def _prepare(connection: sqlite3.Connection) -> None:
    """Switch to WAL and create the tables; wait where another process does so at this moment.

    SQLite does not run its busy handler while it changes the journal mode, so the wait is ours.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.executescript(_SCHEMA)
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
            if not busy or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return
