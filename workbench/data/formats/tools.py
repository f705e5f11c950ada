"""Records of other tools, with what they nest brought to the top; everything else passes unchanged.

Known are RAGChecker, DeepEval, LangSmith, Langfuse and other ``inputs / outputs`` exports, promptfoo, TruLens and
Phoenix. Columns that are only called differently need nothing here: ``fields.toml`` names them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from workbench.data.fields import plain, resolve, scrub
from workbench.data.formats.records import WHOLE_FILE, Records, Remark, looks_structured, parse_literal
from workbench.data.text.normalise import SURROGATE

# ------------------------------------------------------------------------------
# Spans of Phoenix (OpenInference): a trace is a sample, its retriever spans hold the contexts.


_INPUT, _OUTPUT, _DOCUMENTS = "attributes.input.value", "attributes.output.value", "attributes.retrieval.documents"
_NUMBERED = re.compile(r"^attributes\.retrieval\.documents\.(\d+)\.(document\..+)$")


def is_phoenix(columns: set[str], records: Records) -> bool:
    """Whether the columns are those of spans, or of ``get_qa_with_reference``."""
    return _INPUT in columns or ("context.span_id" in columns and {"input", "output", "reference"} <= columns)


def from_phoenix(records: Records) -> Records:
    """One record for each trace (or span, when no traces are recorded)."""
    if _INPUT not in records.columns:
        return replace(_renamed(records, "reference", "contexts"), kind="Phoenix")
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
    taken = (_INPUT, _OUTPUT, _DOCUMENTS)
    identity = row.get("context.trace_id") or row.get("context.span_id")
    found = {"sample_id": identity, "question": row.get(_INPUT), "answer": row.get(_OUTPUT), "contexts": documents}
    return found | {key: value for key, value in row.items() if key not in taken and not _NUMBERED.match(key)}


def _documents(row: Mapping[str, Any]) -> Any:
    if row.get(_DOCUMENTS) is not None and not isinstance(row[_DOCUMENTS], float):
        return row[_DOCUMENTS]
    numbered: dict[int, dict[str, Any]] = {}
    for key, value in row.items():
        match = _NUMBERED.match(key)
        if match and value is not None and value == value:
            numbered.setdefault(int(match[1]), {})[match[2]] = value
    return [numbered[at] for at in sorted(numbered)] or None


# ------------------------------------------------------------------------------
# Results of promptfoo: one record for each test, prompt and provider.


_REFERENCE_ASSERTIONS = ("factuality", "model-graded-factuality", "similar", "answer-relevance", "equals")


def is_promptfoo(columns: set[str], records: Records) -> bool:
    """Whether rows carry ``vars`` beside a ``response`` or ``testCase``."""
    return "vars" in columns and bool(columns & {"response", "testCase", "gradingResult"})


def from_promptfoo(records: Records) -> Records:
    """Variables, answer, scores and assertions of each result as columns; several prompts or providers are runs."""
    labels = [_label(row) for row in records.rows]
    several = len(set(labels)) > 1
    names: set[str] = set()
    rows = []
    for at, (row, label) in enumerate(zip(records.rows, labels, strict=True)):
        scores = {"score": row.get("score"), **_mapping(row.get("namedScores"))}
        names.update(scores)
        variables = _mapping(row.get("vars"))
        if "sample_id" not in resolve(list(variables), "sample"):
            variables = {"sample_id": row.get("testIdx", row.get("id", at + 1)), **variables}
        done = {**variables, **_answer(row), **_assertions(row), **scores}
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


# ------------------------------------------------------------------------------
# Nested inputs, outputs and scores of any tool.


Row = dict[str, Any]

_SCORE_KEYS = (
    "metrics", "scores", "feedback", "evaluation_scores", "namedScores", "named_scores", "metric_scores",
    "metricsData", "metrics_data", "feedback_stats", "evaluations",
)  # fmt: skip
_SCORE_NAMES = ("name", "key", "metric", "metric_name")
_SCORE_VALUES = ("score", "value", "result")
_INPUTS = ("inputs", "input")
_OUTPUTS = ("outputs", "actual_outputs", "output", "run_outputs")
_REFERENCES = (
    "reference_outputs", "expected_outputs", "reference_output", "expected_output", "expectedOutput", "expected",
    "reference",
)  # fmt: skip
_EXAMPLE_ONLY = {
    "inputs", "outputs", "metadata", "id", "example_id", "split", "created_at", "modified_at", "dataset_id",
    "dataset_name", "name", "source_run_id", "attachments_info", "attachment_urls",
}  # fmt: skip


def unpack(records: Records) -> Records:
    """``records`` with nested parts of known tools as columns of their own, and names without lone surrogates."""
    if any(SURROGATE.search(name) for name in records.columns):
        records = mapped(records, lambda row: {scrub(name): value for name, value in row.items()})
    for recognises, convert in _TOOLS:
        if recognises(set(records.columns), records):
            # Arrays become lists and missing values None, so that conversions meet nothing else.
            records = convert(mapped(records, lambda row: {name: plain(value) for name, value in row.items()}))
    return records


def mapped(records: Records, convert: Callable[[Row], Row]) -> Records:
    """``records`` with each row converted, columns in the order of their first appearance."""
    rows = [convert(dict(row)) for row in records.rows]
    return replace(records, rows=rows, columns=list(dict.fromkeys(key for row in rows for key in row)))


def _renamed(records: Records, old: str, new: str) -> Records:
    return mapped(records, lambda row: {new if name == old else name: value for name, value in row.items()})


def opened(value: Any) -> Any:
    """``value``, read back when it is an object or list written as text; text that is none stays."""
    if isinstance(value, str) and looks_structured(value):
        try:
            return parse_literal(value)
        except ValueError:
            return value
    return value


def _has_dots(columns: set[str], records: Records) -> bool:
    return any(_prefix(name) for name in columns)


def _prefix(name: str) -> str | None:
    head, dot, tail = name.partition(".")
    known = head in (*_INPUTS, *_OUTPUTS, *_REFERENCES, "vars", "feedback", "metrics", "scores")
    return head if dot and tail and known else None


def _nest_dots(records: Records) -> Records:
    """``inputs.question`` as ``{"inputs": {"question": …}}``."""

    def nest(row: Row) -> Row:
        nested: Row = {}
        for name, value in row.items():
            head = _prefix(name)
            part = nested.get(head) if head else None
            if head and (part is None or isinstance(part, dict)):
                nested[head] = {**(part or {}), name.partition(".")[2]: value}
            else:
                nested[name] = value
        return nested

    return mapped(records, nest)


def _has_scores(columns: set[str], records: Records) -> bool:
    return any(_scores(opened(row.get(name))) for row in records.rows[:50] for name in _SCORE_KEYS if name in columns)


def _lift_scores(records: Records) -> Records:
    """Scores of ``{"metrics": {name: score}}`` and ``[{"name": …, "score": …}]`` as columns."""
    names: set[str] = set(records.score_columns)

    def lift(row: Row) -> Row:
        for key in _SCORE_KEYS:
            found = _scores(opened(row.get(key)))
            if found:
                del row[key]
                names.update(found)
                row.update({name: value for name, value in found.items() if name not in row})
        return row

    return replace(mapped(records, lift), score_columns=frozenset(names))


def _scores(value: Any) -> Row:
    """Name → number or None; empty when ``value`` holds no scores."""
    if isinstance(value, list):
        value = {str(_first(item, _SCORE_NAMES)): item for item in value if isinstance(item, Mapping)}
        value.pop("None", None)
    if not isinstance(value, Mapping):
        return {}
    found = {
        str(name): _first(item, _SCORE_VALUES) if isinstance(item, Mapping) else item for name, item in value.items()
    }
    return found if all(item is None or isinstance(item, (int, float, bool)) for item in found.values()) else {}


def _first(item: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((item[name] for name in names if item.get(name) is not None), None)


def _has_inputs(columns: set[str], records: Records) -> bool:
    """Whether inputs, outputs or references are objects, or the columns of LangSmith."""
    if "inputs" in columns:
        return True
    names = [name for name in (*_INPUTS, *_OUTPUTS) if name in columns]
    return any(isinstance(opened(row.get(name)), Mapping) for row in records.rows[:50] for name in names)


def _lift_inputs(records: Records) -> Records:
    columns = set(records.columns)
    reference_key = next((name for name in _REFERENCES if name in columns), None)
    is_examples = reference_key is None and columns <= _EXAMPLE_ONLY and not _outputs_hold_contexts(records)
    warnings = list(records.warnings)
    if is_examples and "outputs" in columns:
        reason = "read as reference answers, as in a LangSmith data set; if the system gave them, rename it answer"
        warnings.append(Remark(WHOLE_FILE, "outputs", reason))

    def lift(row: Row) -> Row:
        done = {name: value for name, value in row.items() if name not in (*_INPUTS, *_OUTPUTS, reference_key)}
        parts = [(_INPUTS, "question"), (_OUTPUTS, "reference" if is_examples else "answer")]
        parts += [((reference_key,), "reference")] if reference_key else []
        for names, target in parts:
            name = next((name for name in names if row.get(name) is not None), None)
            done |= {} if name is None else _lifted(opened(row[name]), target, done)
        if "execution_time" in done:
            done["latency_s"] = done.pop("execution_time")
        return done

    return replace(mapped(records, lift), warnings=warnings)


def _outputs_hold_contexts(records: Records) -> bool:
    parts = [opened(row.get("outputs")) for row in records.rows[:50]]
    return any("contexts" in resolve(list(map(str, part)), "sample") for part in parts if isinstance(part, Mapping))


def _lifted(value: Any, target: str, taken: Row) -> Row:
    """Parts of an object as columns; what holds the text itself is called ``target``."""
    if not isinstance(value, Mapping):
        return {target: value}
    value = {str(name): part for name, part in value.items()}
    names = list(value)
    known = resolve(names, "sample")
    column = known.get(target) or (known.get("answer") if target == "reference" else None)
    texts = [name for name in names if isinstance(value[name], str)]
    if column is None and "messages" in names:
        column = "messages"
    if column is None and len(texts) == 1 and texts[0] not in known.values():
        column = texts[0]
    found: Row = {target: value[column]} if column is not None else {}
    for name in names:
        if name != column:
            renamed = "reference_contexts" if target == "reference" and known.get("contexts") == name else name
            found[renamed if renamed not in taken else f"{target}.{renamed}"] = value[name]
    return found


# ------------------------------------------------------------------------------
# DeepEval and TruLens.


def _is_deepeval(columns: set[str], records: Records) -> bool:
    return bool(columns & {"actual_output", "actualOutput"}) and "context" in columns


def _from_deepeval(records: Records) -> Records:
    """DeepEval's ``context`` is the ideal one and not what was retrieved."""

    return _renamed(records, "context", "reference_contexts")


def _is_trulens(columns: set[str], records: Records) -> bool:
    return {"input", "output"} <= columns and any(name.endswith("_calls") for name in columns)


def _from_trulens(records: Records) -> Records:
    """Feedback columns are scores; contexts are the arguments with which the feedback was computed."""
    calls = [name for name in records.columns if name.endswith("_calls")]
    feedback = {name.removesuffix("_calls") for name in calls} & set(records.columns)
    apps = {row["app_id"] for row in records.rows if isinstance(row.get("app_id"), str)}

    def lift(row: Row) -> Row:
        contexts = _called_contexts([opened(row.pop(name, None)) for name in calls])
        if contexts and "contexts" not in row:
            row["contexts"] = contexts
        if "latency" in row:
            row["latency_s"] = row.pop("latency")
        if row.get("tags") == "-":
            row["tags"] = None
        return {**row, "run": row.get("app_id")} if len(apps) > 1 else row

    return replace(mapped(records, lift), score_columns=records.score_columns | feedback)


def _called_contexts(calls: list[Any]) -> list[str]:
    for names in (("context", "contexts", "retrieved_context"), ("source",)):
        found: dict[str, None] = {}
        for call in [one for part in calls if isinstance(part, list) for one in part]:
            arguments = call.get("args", call) if isinstance(call, Mapping) else {}
            value = _first(arguments, names) if isinstance(arguments, Mapping) else None
            for text in value if isinstance(value, list) else [value]:
                if isinstance(text, str):
                    found[text] = None
        if found:
            return list(found)
    return []


_TOOLS: tuple[tuple[Callable[[set[str], Records], bool], Callable[[Records], Records]], ...] = (
    (is_phoenix, from_phoenix),
    (is_promptfoo, from_promptfoo),
    (_is_trulens, _from_trulens),
    (_has_dots, _nest_dots),
    (_has_scores, _lift_scores),
    (_is_deepeval, _from_deepeval),
    (_has_inputs, _lift_inputs),
)
