"""A run file that grows by one whole line at a time and survives being killed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.errors import InputError


class RunFile:
    """``out``: JSON lines, one a case, each on disk before the next is asked.

    Opening repairs a last line that was torn by a kill, and reads which samples are recorded. The file belongs to one
    recording at a time.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.recorded: dict[str, bool] = {}
        self._handle: int | None = None

    def open(self, *, forget_errors: bool = False) -> RunFile:
        """Read what is there, repair the end, open for appending.

        ``recorded`` then holds sample id → whether it was recorded without an error. With ``forget_errors`` rows with
        an error are taken out of the file, so that they are asked again.

        Raises
        ------
        InputError
            When the place cannot be written, or the file holds something else than recorded rows.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            content = self.path.read_bytes() if self.path.exists() else b""
            lines = self._read(content, forget_errors)
            whole = b"".join(line + b"\n" for line in lines)
            if whole != content:
                from workbench.data.files import write_bytes

                write_bytes(self.path, whole)
            self._handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written ({error.strerror}); choose another place") from error
        return self

    def _read(self, content: bytes, forget_errors: bool) -> list[bytes]:
        raw = content.split(b"\n")
        kept = []
        for number, line in enumerate(raw, start=1):
            if not line.strip():
                continue
            row = self._row(line, number, last=number == len(raw))
            if row is None or (forget_errors and row.get("error") is not None):
                continue
            self.recorded[str(row["sample_id"])] = row.get("error") is None
            kept.append(line)
        return kept

    def _row(self, line: bytes, number: int, last: bool) -> dict[str, Any] | None:
        """A recorded row; None for a torn last line."""
        try:
            row = json.loads(line)
        except ValueError:
            if last:
                return None
            row = None
        if not isinstance(row, dict) or "sample_id" not in row:
            raise InputError(f"{self.path}: line {number} is no recorded row; choose another file for the recording")
        return row

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one row and wait until it is on disk."""
        assert self._handle is not None, "open() comes first"
        line = json.dumps(row, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"
        written = os.write(self._handle, line)
        while written < len(line):
            written += os.write(self._handle, line[written:])
        os.fsync(self._handle)
        self.recorded[str(row["sample_id"])] = row.get("error") is None

    def close(self) -> None:
        """Close the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
