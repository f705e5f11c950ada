"""Spans of Phoenix (OpenInference): a trace is a sample, its retriever spans hold the contexts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.data.formats.records import WHOLE_FILE, Records, Remark

_INPUT, _OUTPUT, _DOCUMENTS = "attributes.input.value", "attributes.output.value", "attributes.retrieval.documents"
_NUMBERED = re.compile(r"^attributes\.retrieval\.documents\.(\d+)\.(document\..+)$")


def recognises(columns: set[str], records: Records) -> bool:
    """Whether the columns are those of spans, or of ``get_qa_with_reference``."""
    return _INPUT in columns or ("context.span_id" in columns and {"input", "output", "reference"} <= columns)


def convert(records: Records) -> Records:
    """One record for each trace (or span, when no traces are recorded)."""
    if _INPUT not in records.columns:
        rows = [
            {"contexts" if key == "reference" else key: value for key, value in row.items()} for row in records.rows
        ]
        columns = ["contexts" if name == "reference" else name for name in records.columns]
        return replace(records, rows=rows, columns=columns, kind="Phoenix")
    traces: dict[Any, list[int]] = {}
    for at, row in enumerate(records.rows):
        trace = row.get("context.trace_id")
        traces.setdefault(trace if isinstance(trace, str) and trace else at, []).append(at)
    chosen = {places[0]: _root(records, places) for places in traces.values()}
    rows = [_sample(records, places, chosen[places[0]]) for places in traces.values()]
    numbers = [records.numbers[at] for at in chosen.values()]
    warnings = list(records.warnings)
    if len(rows) < len(records.rows):
        reason = f"{len(records.rows)} spans are {len(rows)} traces; each trace is one sample"
        warnings.append(Remark(WHOLE_FILE, "context.trace_id", reason))
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return replace(records, rows=rows, numbers=numbers, columns=columns, warnings=warnings, kind="Phoenix")


def _root(records: Records, places: list[int]) -> int:
    """The span that stands for the trace: the one without parent, else the first with input and output."""
    rows = records.rows
    roots = [at for at in places if "parent_id" in rows[at] and not isinstance(rows[at]["parent_id"], str)]
    whole = [at for at in places if rows[at].get(_INPUT) is not None and rows[at].get(_OUTPUT) is not None]
    return (roots or whole or places)[0]


def _sample(records: Records, places: list[int], root: int) -> dict[str, Any]:
    row = records.rows[root]
    documents = next((found for at in [root, *places] if (found := _documents(records.rows[at])) is not None), None)
    done = {
        key: value
        for key, value in row.items()
        if key not in (_INPUT, _OUTPUT, _DOCUMENTS) and not _NUMBERED.match(key)
    }
    identity = row.get("context.trace_id") or row.get("context.span_id")
    return {
        "sample_id": identity,
        "question": row.get(_INPUT),
        "answer": row.get(_OUTPUT),
        "contexts": documents,
        **done,
    }


def _documents(row: Mapping[str, Any]) -> Any:
    if row.get(_DOCUMENTS) is not None and not isinstance(row[_DOCUMENTS], float):
        return row[_DOCUMENTS]
    numbered: dict[int, dict[str, Any]] = {}
    for key, value in row.items():
        match = _NUMBERED.match(key)
        if match and value is not None and value == value:
            numbered.setdefault(int(match[1]), {})[match[2]] = value
    return [numbered[at] for at in sorted(numbered)] or None
