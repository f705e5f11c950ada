"""What a careful reader finds in files of other tools, against what is loaded: FOLDER holds them and ``EXPECTED.json``.

    python -m tests.benchmarks.traces FOLDER

For each file: rows, rows in which each field is filled, the first and the last row, values that must not stand. A file
of which a refusal counts may be refused in one line. Exit 1 when any differs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import workbench as wb
from workbench.data.schema import none_if_missing
from workbench.errors import WorkbenchError


def found_in(path: Path, loader: str) -> dict[str, Any]:
    """The rows of a file as mappings, and its recorded scores."""
    if loader == "load_corpus":
        return {"rows": wb.load_corpus(path).frame.reset_index().to_dict("records"), "scores": {}}
    samples = wb.load_samples(path)
    scores = samples.recorded_scores.notna().sum().to_dict()
    return {"rows": samples.frame.reset_index().to_dict("records"), "scores": scores}


def _filled(value: Any) -> bool:
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return any(item.get("text") for item in value)
    return bool(value) if isinstance(value, (list, dict, str)) else none_if_missing(value) is not None


def _same(field: str, wanted: Any, row: Mapping[str, Any]) -> bool:
    contexts = row.get("contexts") or []
    if field == "n_contexts":
        return wanted == len(contexts)
    got = (contexts[0]["text"] if contexts else None) if field == "first_context" else none_if_missing(row.get(field))
    if isinstance(wanted, str) and isinstance(got, str):
        whole = "".join(got.split())
        # Of a context its beginning is told.
        return (whole[: len("".join(wanted.split()))] if field == "first_context" else whole) == "".join(wanted.split())
    return (wanted or None) == (got or None)


def differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """What is not as ``wanted``, one line each."""
    rows, wrong = found["rows"], []
    if len(rows) != wanted["n_samples"]:
        return [f"{len(rows)} rows, {wanted['n_samples']} wanted"]
    for field, n in wanted.get("fields", {}).items():
        if field.startswith("score:"):
            got = next((k for name, k in found["scores"].items() if name == field.removeprefix("score:")), 0)
        else:
            got = sum(_filled(row.get(field)) for row in rows)
        if got < n:
            wrong.append(f"{field}: {got} of {n}")
    for place, at in (("first", 0), ("last", -1)):
        wrong += [f"{place} {field}: {str(rows[at].get(field))[:60]!r}"
                  for field, value in (wanted.get(place) or {}).items() if not _same(field, value, rows[at])]  # fmt: skip
    for field, values in wanted.get("never", {}).items():
        wrong += [f"{field} holds {value}" for value in values if any(row.get(field) == value for row in rows)]
    wrong += [f"{field} is filled" for field in wanted.get("none", ()) if any(_filled(row.get(field)) for row in rows)]
    return wrong


def verdict(path: Path, wanted: Mapping[str, Any]) -> list[str]:
    """What is not as expected in one file; of several readings that count the nearest."""
    try:
        found = found_in(path, wanted.get("loader", "load_samples"))
    except WorkbenchError as error:
        refused = wanted["action"] in ("refuse", "either") and "\n" not in str(error)
        return [] if refused else [f"refused: {error}"]
    if wanted["action"] == "refuse":
        return [f"read as {len(found['rows'])} rows, a refusal is wanted"]
    return min((differences(found, {**wanted, **one}) for one in [{}, *wanted.get("or", ())]), key=len)


def main(folder: Path) -> int:
    """Print each file with what differs; the number of files that do."""
    expected = json.loads((folder / "EXPECTED.json").read_text(encoding="utf-8"))
    wrong = {name: verdict(folder / name, wanted) for name, wanted in expected.items()}
    for name, lines in wrong.items():
        print(f"{'✗' if lines else '✓'} {name} {'; '.join(lines)}")
    failed = sum(map(bool, wrong.values()))
    print(f"{len(wrong) - failed} of {len(wrong)} files as expected")
    return failed


if __name__ == "__main__":
    sys.exit(min(1, main(Path(sys.argv[1]))))
