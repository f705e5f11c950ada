"""The journal of a session: append-only JSON lines, safe when two kernels write, read in pieces.

Each entry is one line, written by one ``write`` to a file opened for appending, under a lock. A line that was torn by
a killed process is skipped when read and never glued to the next one.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

JOURNAL = "session.jsonl"


class Journal:
    """Entries in ``<folder>/session.jsonl``.

    Attributes
    ----------
    folder
        Where the journal and its pictures are; made at the first write.
    unreadable
        Lines met so far that are no JSON object (torn or foreign).
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.path = self.folder / JOURNAL
        self.unreadable = 0
        self._offset = 0

    def append(self, entry: Mapping[str, Any]) -> None:
        """Write one entry and force it to disk. Raises ``OSError`` when the place cannot be written."""
        self.folder.mkdir(parents=True, exist_ok=True)
        line = json.dumps(entry, ensure_ascii=True, default=str, separators=(",", ":")).encode("ascii") + b"\n"
        handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            with _locked(handle):
                size = os.fstat(handle).st_size
                torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
                os.write(handle, b"\n" + line if torn else line)
                os.fsync(handle)
        finally:
            os.close(handle)

    def read_new(self) -> list[dict[str, Any]]:
        """Entries written since the last call, by any process; an unfinished last line waits for its end."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                content = file.read()
        except (FileNotFoundError, NotADirectoryError):
            return []
        complete = content.rfind(b"\n") + 1
        self._offset += complete
        entries = [self._parsed(line) for line in content[:complete].splitlines() if line.strip()]
        return [entry for entry in entries if entry is not None]

    def _parsed(self, line: bytes) -> dict[str, Any] | None:
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if isinstance(entry, dict):
            return entry
        self.unreadable += 1
        return None


@contextlib.contextmanager
def _locked(handle: int) -> Iterator[None]:
    """Hold an advisory lock where the system has one; a single appending write is the fallback."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)
