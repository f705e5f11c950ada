"""Writing files so that they come out the same on every machine."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """One compact JSON object a line, UTF-8, line feeds."""
    lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows]
    _write(path, "\n".join(lines) + "\n")


def write_json(path: Path, value: object) -> None:
    """One indented JSON document."""
    _write(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def write_csv(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    """A CSV file with the columns of the first row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
