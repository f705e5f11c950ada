"""Results of promptfoo: one record for each test, prompt and provider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.data.columns import resolve
from workbench.data.formats.records import Records

_REFERENCE_ASSERTIONS = ("factuality", "model-graded-factuality", "similar", "answer-relevance", "equals")


def recognises(columns: set[str], records: Records) -> bool:
    """Whether rows carry ``vars`` beside a ``response`` or ``testCase``."""
    return "vars" in columns and bool(columns & {"response", "testCase", "gradingResult"})


def convert(records: Records) -> Records:
    """Variables, answer, scores and assertions of each result as columns; several prompts or providers are runs."""
    labels = [_label(row) for row in records.rows]
    several = len(set(labels)) > 1
    names: set[str] = set()
    rows = []
    for at, (row, label) in enumerate(zip(records.rows, labels, strict=True)):
        scores = {"score": row.get("score"), **_mapping(row.get("namedScores"))}
        names.update(scores)
        done = {**_identified(row, at), **_answer(row), **_assertions(row), **scores}
        rows.append({**done, "run": label} if several else done)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return replace(records, rows=rows, columns=columns, score_columns=frozenset(names), kind="promptfoo")


def _mapping(value: Any) -> dict[str, Any]:
    return {str(key): item for key, item in value.items()} if isinstance(value, Mapping) else {}


def _label(row: Mapping[str, Any]) -> str:
    provider = row.get("provider")
    if isinstance(provider, Mapping):
        provider = provider.get("label") or provider.get("id")
    prompt = row.get("promptIdx")
    named = provider if isinstance(provider, str) and provider else "provider"
    return f"{named} / prompt {prompt}" if isinstance(prompt, int) and 0 < prompt < 1000 else named


def _identified(row: Mapping[str, Any], at: int) -> dict[str, Any]:
    variables = _mapping(row.get("vars"))
    if "sample_id" in resolve(list(variables), "sample"):
        return variables
    return {"sample_id": row.get("testIdx", row.get("id", at + 1)), **variables}


def _answer(row: Mapping[str, Any]) -> dict[str, Any]:
    response = row.get("response")
    output = response.get("output") if isinstance(response, Mapping) else response
    found = _mapping(output) if isinstance(output, Mapping) else {"answer": output}
    found |= {"latency_ms": row.get("latencyMs"), "success": row.get("success")}
    usage = row.get("tokenUsage") or (response.get("tokenUsage") if isinstance(response, Mapping) else None)
    error = None if found.get("answer") is not None else row.get("error")
    return {**found, "usage": usage, "error": error}


def _assertions(row: Mapping[str, Any]) -> dict[str, Any]:
    """Key points, forbidden content and the reference that the test's assertions name."""
    case = row.get("testCase")
    found: dict[str, Any] = {}
    items = case.get("assert") if isinstance(case, Mapping) else None
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, Mapping):
            continue
        kind, value = str(item.get("type", "")).replace("icontains", "contains"), item.get("value")
        values = value if isinstance(value, list) else [value]
        if kind in ("contains", "contains-all"):
            found.setdefault("must_include", []).extend(values)
        elif kind == "contains-any":
            found.setdefault("must_include", []).append(values)
        elif kind in ("not-contains", "not-contains-any", "not-contains-all"):
            found.setdefault("must_not_include", []).extend(values)
        elif kind in _REFERENCE_ASSERTIONS and isinstance(value, str):
            found.setdefault("reference", value)
    return found
