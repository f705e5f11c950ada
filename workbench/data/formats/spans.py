"""Spans of tracing tools as samples: a trace is a sample, whatever the tool calls its parts.

Every span becomes one flat mapping of folded names (``gen_ai.input.messages`` → ``gen_ai_input_messages``), in which
``[span]`` of ``fields.toml`` names what each tool calls the same thing. A convention that only has
other names is a line there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from workbench.data.columns import aliases, first_names, fold, resolve
from workbench.data.fields import (
    Message,
    Unreadable,
    answer,
    as_history,
    contexts,
    messages,
    plain,
    question,
    retrieved_in,
    text,
)
from workbench.data.formats.records import (
    SPAN_LISTS,
    SPAN_MARKS,
    WHOLE_FILE,
    Records,
    Remark,
    Row,
    opened,
    unquoted,
    why,
)
from workbench.errors import InputError

_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "scopeLogs")
_RESOURCES = ("resourceSpans", "resource_spans", "batches", "resourceLogs")
_NUMBERED = re.compile(r"(.+?)\.(\d+)(?:\.(.+))?")
_ABOUT = ("scores", "feedback_scores", "feedback_stats", "feedback", "metadata", "evaluations", "assessments", "tags")
#: Parts of a span whose own parts are read as if they were the span's.
_PARTS = ("context", "status", "trace", "record", "extra", "data", "meta", "metrics", "span_attributes", "timestamps")
_RETRIEVES = re.compile(r"retriev|similarity_search|vector_?(?:store|search)", re.IGNORECASE)
_DOCUMENT_PREFIX = re.compile(r"^db\.query\.result\.")


class Span(NamedTuple):
    """One span: ``at`` the row it came from, ``own`` what it says under folded names, ``fields`` that by
    the names of ``[span]``, ``kind`` as in ``[span_kinds]``.
    """

    at: int
    trace: str
    span: str
    parent: str
    kind: str
    own: Row
    fields: Row

    def get(self, name: str) -> Any:
        """The first thing that any tool's name for ``name`` holds."""
        return self.fields.get(name)


def holds_spans(columns: set[str], records: Records) -> bool:
    """Whether the records are spans, or objects that hold spans."""
    if columns & {*_RESOURCES, *SPAN_MARKS} or {"post", "patch"} <= columns:
        return True
    if {"trace_id", "span_id"} <= columns or ({"trace_id", "id", "run_type"} <= columns):
        return True
    nested = [name for name in SPAN_LISTS if name in columns] + [
        name for name in ("data", "context", "run", "trace", "attributes") if name in columns
    ]
    for row in records.rows[:20]:
        for name in nested:
            value = opened(row.get(name))
            if name in SPAN_LISTS and isinstance(value, list) and value and isinstance(value[0], Mapping):
                return True
            if isinstance(value, Mapping) and name != "attributes" and isinstance(value.get("attributes"), Mapping):
                value = value["attributes"]
            if isinstance(value, Mapping) and ("trace_id" in value or any(isinstance(value.get(n), list) for n in SPAN_LISTS)):
                return True
    return False


def from_spans(records: Records) -> Records:
    """One record for each trace: question, answer, contexts, model, usage, latency and error from its spans."""
    flat, spans, carried = True, [], {}
    for at, row in enumerate(records.rows):
        found = list(_spans_of(row, at))
        flat = flat and len(found) == 1 and found[0] is row
        spans += [_read(item, at) for item in _merged(found)]
        if not (len(found) == 1 and found[0] is row):
            carried[at] = row
    traces: dict[Any, list[Span]] = {}
    for number, span in enumerate(spans):
        traces.setdefault(span.trace or (span.at if not flat else number), []).append(span)
    rows, roots = [], []
    for members in traces.values():
        root = _root(members)
        roots.append(root.at)
        rows.append(_sample(root, members, carried.get(root.at, {}) if _is_one_trace(carried.get(root.at)) else {}))
    if spans and not any(row["question"] for row in rows):
        where = Path(records.source).name[-80:] or "the data"
        raise InputError(f"{where}: holds {len(spans)} spans in {len(rows)} traces and no question in any; "
                         "export traces of a model or a retriever, with what they were given", key="no_table", where=where,
                         first=f"{len(spans)} spans")  # fmt: skip
    numbers = [records.numbers[at] for at in roots] if flat else list(range(1, len(rows) + 1))
    warnings = list(records.warnings)
    if len(rows) < len(spans):
        reason = why("traces", spans=len(spans), traces=len(rows))
        warnings.append(Remark(WHOLE_FILE, "trace_id", reason))
    return records.with_rows(rows, numbers=numbers, rejected=records.rejected, warnings=warnings,
                             kind=f"spans ({_convention(spans)})")  # fmt: skip


def _convention(spans: Sequence[Span]) -> str:
    names = {key for span in spans[:50] for key in span.own}
    known = (("gen_ai_", "OpenTelemetry GenAI"), ("openinference", "OpenInference"), ("mlflow_", "MLflow"),
             ("ai_observability", "TruLens"), ("traceloop", "OpenLLMetry"), ("haystack_", "Haystack"),
             ("dotted_order", "LangSmith"), ("parent_observation_id", "Langfuse"), ("llm_", "OpenInference"))  # fmt: skip
    return next((tool for mark, tool in known if any(mark in name for name in names)), "traces")


# ------------------------------------------------------------------------------
# From a record to its spans.


def _spans_of(row: Mapping[str, Any], at: int) -> Iterator[Mapping[str, Any]]:
    """The spans that a record holds; itself when it is one."""
    for name in _RESOURCES:
        if isinstance(row.get(name), list):
            for resource in row[name]:
                yield from _spans_of(resource, at) if isinstance(resource, Mapping) else ()
            return
    for name in _SCOPES:
        if isinstance(row.get(name), list):
            for scope in row[name]:
                listed = scope.get("spans") if isinstance(scope, Mapping) else None
                listed = _logged(scope) if listed is None and isinstance(scope, Mapping) else listed
                yield from (span for span in (listed if isinstance(listed, list) else ()) if isinstance(span, Mapping))
            return
    if isinstance(row.get("post"), list) and isinstance(row.get("patch"), list):
        yield from (run for part in ("post", "patch") for run in row[part] if isinstance(run, Mapping))
        return
    data = opened(row.get("data"))
    trace = opened(row.get("trace"))
    if isinstance(trace, Mapping) and any(isinstance(trace.get(name), list) for name in _RESOURCES):
        yield from _spans_of(trace, at)
        return
    inner = [holder.get(name) for holder, name in ((trace, "data"), (data, "attributes")) if isinstance(holder, Mapping)]
    for holder in (row, data, trace, *inner):
        listed = opened(holder.get("spans") or holder.get("observations")) if isinstance(holder, Mapping) else None
        if isinstance(listed, list) and any(isinstance(item, Mapping) for item in listed):
            mine = _identity(row, data if isinstance(data, Mapping) else {})
            for item in listed:
                if isinstance(item, Mapping):
                    yield from _with_inner(item, mine)
            return
    children = row.get("child_runs")
    if isinstance(children, list) and children:
        yield {"trace_id": row.get("trace_id") or row.get("id"), **{k: v for k, v in row.items() if k != "child_runs"}}
        for child in children:
            if isinstance(child, Mapping):
                link = {"trace_id": row.get("trace_id") or row.get("id"), "parent_run_id": row.get("id")}
                yield from _spans_of({**{k: v for k, v in link.items() if v}, **child}, at)
        return
    yield row


def _with_inner(item: Mapping[str, Any], trace: str | None) -> Iterator[Mapping[str, Any]]:
    """A span of a trace that is one object, and the spans that it holds."""
    told = trace is None or _first_of(item, ("trace_id", "traceId", "traceID", "context"))
    yield item if told else {"trace_id": trace, **item}
    for part in item["spans"] if isinstance(item.get("spans"), list) else ():
        if isinstance(part, Mapping):
            yield from _with_inner(part, trace)


def _logged(scope: Mapping[str, Any]) -> list[Row]:
    """Log records as spans: those of one span are its events."""
    spans: dict[tuple[str, str], Row] = {}
    for record in scope.get("logRecords") or ():
        if isinstance(record, Mapping):
            own = {name: str(record.get(name) or "") for name in ("traceId", "spanId")}
            span = spans.setdefault((own["traceId"], own["spanId"]), {**own, "events": []})
            values = _pairs(record.get("attributes") or {})
            name = record.get("eventName") or values.get("event.name")
            span["events"].append({"name": name, "attributes": values, "body": _typed(record.get("body"))})
    return list(spans.values())


def _identity(row: Mapping[str, Any], data: Mapping[str, Any]) -> str | None:
    """The id of a trace that is recorded as one object with its spans in a list."""
    info = opened(row.get("info"))
    info = info if isinstance(info, Mapping) else {}
    inner = opened(row.get("trace"))
    found = _first_of(info, ("trace_id", "request_id")) or _first_of(
        {**(inner if isinstance(inner, Mapping) else {}), **row}, ("trace_id", "traceID", "traceId", "request_id", "id")
    )
    return str(found or _first_of(data, ("trace_id",)) or "") or None


def _first_of(item: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((item[name] for name in names if item.get(name) not in (None, "")), None)


def _is_one_trace(row: Mapping[str, Any] | None) -> bool:
    """Whether a record is one trace with its spans inside, so that what stands beside them is about the trace."""
    return row is not None and not row.keys() & {*_RESOURCES, *_SCOPES, "post"}


def _merged(items: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Runs that were posted and then patched, as one: what came later fills and overrides."""
    if not any("dotted_order" in item for item in items):
        return items
    by_order: dict[Any, Row] = {}
    for number, item in enumerate(items):
        known = by_order.setdefault(item.get("dotted_order") or item.get("id") or number, {})
        known.update({name: value for name, value in item.items() if value is not None})
    return list(by_order.values())


def _pairs(value: Any) -> Mapping[str, Any]:
    """Attributes as a mapping: OTLP's ``[{"key", "value": {"stringValue"}}]``, Jaeger's tags, JSON text, or one already."""
    value = opened(value)
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, list):
        return {}
    found = {}
    for item in value:
        if isinstance(item, (dict, Mapping)) and "key" in item:
            inner = item.get("value")
            plain_text = type(inner) is dict and len(inner) == 1 and inner.get("stringValue")  # most are
            found[str(item["key"])] = plain_text if type(plain_text) is str else _typed(inner)
    return found


def _typed(value: Any) -> Any:
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if kind == "stringValue":
        return inner
    if kind == "arrayValue":
        return [_typed(item) for item in (inner or {}).get("values", ())]
    if kind == "kvlistValue":
        return {str(item.get("key")): _typed(item.get("value")) for item in (inner or {}).get("values", ())}
    return int(inner) if kind == "intValue" and str(inner).lstrip("-").isdigit() and len(str(inner)) < 20 else inner


def _read(row: Mapping[str, Any], at: int) -> Span:
    own: Row = {}
    numbered: dict[str, dict[int, Any]] = {}
    for name, value in row.items():
        if value is None or (isinstance(value, float) and value != value):
            continue
        if name in ("attributes", "record_attributes", "tags", "customDimensions") and (inner := _pairs(value)):
            _gather(inner, "", own, numbered)
        elif name in _PARTS and isinstance(value, Mapping):
            _gather(value, f"{name}.", own, numbered)
        elif name == "events" and isinstance(opened(value), list):
            _read_events(opened(value), own, numbered)
        elif name.startswith("eval.") and name.endswith(".score"):  # Arize's and Phoenix's evaluations of a span
            own.setdefault("scores", {})[name] = value
        elif name not in SPAN_LISTS:
            _put(name.removeprefix("attributes."), value, own, numbered)
    for name, items in numbered.items():
        own.setdefault(fold(name), [items[index] for index in sorted(items)])
    if isinstance(own.get("span_parents"), list):  # Braintrust lists them
        own["span_parents"] = next(iter(own["span_parents"]), None)
    fields = _fields(own)
    trace, span, parent = (str(fields.get(name) or "") for name in ("trace", "span", "parent"))
    return Span(at, trace, span, parent if parent.strip("0") else "", _kind(own, fields), own, fields)


def _fields(own: Row, usage: bool = False) -> Row:
    """Field of ``[span]`` → value; ``input``, ``output`` and ``total`` are counts inside a usage only."""
    told = first_names(own, "span", empty=False)
    short = () if usage else ("input", "output", "total")
    return {field: own[name] for field, name in told.items() if not (name in short and field.endswith("_tokens"))}


def _gather(
    values: Mapping[str, Any], prefix: str, own: Row, numbered: dict[str, dict[int, Any]], depth: int = 0
) -> None:
    for name, value in values.items():
        if value is None:
            continue
        if type(value) is not str and isinstance(value, Mapping) and value and depth < 4:
            _gather(value, f"{prefix}{name}.", own, numbered, depth + 1)
        _put(prefix + name if prefix else name, value, own, numbered)


def _put(name: str, value: Any, own: Row, numbered: dict[str, dict[int, Any]]) -> None:
    """One attribute; ``llm.input_messages.0.message.role`` goes into the list ``llm.input_messages``."""
    if name.startswith("mlflow.") and isinstance(value, str) and value.startswith('"'):
        listed = opened(f"[{value}]")  # MLflow writes every attribute as JSON, a text too
        value = listed[0] if isinstance(listed, list) and listed else value
    if name.endswith("entity.input"):
        value = _called(value)
    folded, head, at, tail = _place(name)
    if head is None:
        own.setdefault(folded, value)
    elif tail is None:
        numbered.setdefault(head, {})[at] = value
    else:
        item = numbered.setdefault(head, {}).setdefault(at, {})
        if isinstance(item, dict):
            item[tail] = value


def _called(value: Any) -> Any:
    """What a function was called with, of ``{"args": […], "kwargs": {…}}`` as OpenLLMetry records it."""
    found = opened(value)
    if isinstance(found, Mapping) and found.keys() <= {"args", "kwargs", "inputs", "tags", "metadata"}:
        given = found.get("args")
        given = given[0] if isinstance(given, list) and len(given) == 1 else given
        return found.get("inputs") or found.get("kwargs") or given
    return value


@lru_cache(maxsize=8192)
def _place(name: str) -> tuple[str, str | None, int, str | None]:
    """An attribute's folded name; of one that is numbered the list, the place in it and the key there."""
    match = _NUMBERED.fullmatch(name)
    if match is None or int(match[2]) > 100_000:
        return fold(name), None, 0, None
    return "", match[1], int(match[2]), match[3]


def _read_events(events: list[Any], own: Row, numbered: dict[str, dict[int, Any]]) -> None:
    """What a span says in events: messages, documents of a vector store, an exception."""
    talk, documents = [], []
    for event in events:
        if not isinstance(event, Mapping):
            continue
        name, body = str(event.get("name", "")), event.get("body")
        values = {**_pairs(event.get("attributes") or {}), **(_pairs(body) if isinstance(body, (Mapping, list)) else {})}
        if isinstance(said := opened(values.get("message")), Mapping):
            values |= {str(key): part for key, part in said.items()}
        if name == "exception":
            own.setdefault("events_exception_message", values.get("exception.message"))
        elif name == "db.query.result":
            documents.append({_DOCUMENT_PREFIX.sub("", key): value for key, value in values.items()})
        elif name == "gen_ai.choice":
            own.setdefault("gen_ai_completion", [values | {"role": "assistant"}])
        elif name.startswith("gen_ai.") and name.endswith(".message"):
            talk.append({"role": name.split(".")[1], **values})
        else:
            _gather({key: value for key, value in values.items() if key.startswith("gen_ai.")}, "", own, numbered)
    if talk:
        own.setdefault("gen_ai_events", talk)
    if documents:
        own.setdefault("db_query_result", documents)


def _kind(own: Row, fields: Row) -> str:
    told = (own.get(alias) for alias in aliases("span")["kind"]) if "kind" in fields else ()
    words = (fold(value.strip('"')) for value in told if isinstance(value, str))
    found = next((_kinds()[word] for word in words if word in _kinds()), None)
    if found not in (None, "tool"):
        return found
    name = str(_first_of(own, ("op_name", "name", "span_name", "operation_name", "span_attributes_name")) or "")
    # Weave: weave:///entity/project/op/NAME:hash
    name = name.rpartition("/")[2].partition(":")[0] if name.startswith("weave:") else name
    if (_RETRIEVES.search(name) or _kinds().get(fold(name)) == "retriever") and _only_documents(opened(fields.get("output"))):
        return "retriever"
    return found or ("retriever" if "documents" in fields else "llm" if "messages" in fields else "step")


def _only_documents(value: Any) -> bool:
    """Whether a span's output is what was found, and no answer."""
    if isinstance(value, Mapping) and len(value) == 1:
        value = next(iter(value.values()))
    if isinstance(value, Mapping):
        return "answer" not in resolve(list(map(str, value)), "sample") and bool(retrieved_in(value))
    return isinstance(value, list) and bool(value) and messages(value) is None


@lru_cache(maxsize=1)
def _kinds() -> dict[str, str]:
    return {name: kind for kind, names in aliases("span_kinds").items() for name in names}


# ------------------------------------------------------------------------------
# From the spans of a trace to a sample.


def _root(spans: list[Span]) -> Span:
    """The span without a parent in the trace; of several the one that says most."""
    known = {span.span for span in spans}
    roots = [span for span in spans if not span.parent or span.parent not in known] or spans
    return max(
        roots, key=lambda span: ((span.get("input") is not None) + (span.get("output") is not None), not span.parent)
    )


def _sample(root: Span, spans: list[Span], beside: Mapping[str, Any]) -> Row:
    found: dict[str, list[Span]] = {kind: [] for kind in ("retriever", "reranker", "llm", "tool", "step")}
    for span in spans:
        found.setdefault(span.kind, []).append(span)
    models, steps = found["llm"], [root, *(span for span in found["step"] if span is not root)]
    given, told = (_told(beside, names) for names in (("input", "request", "inputs"), ("output", "response", "outputs")))
    asked = [given, *(span.get("input") for span in steps)]
    asked += [span.get("messages") for span in models if span is root] + [s.get("input") for s in found["retriever"]]
    asked += [part for span in models for part in (span.get("messages"), span.get("input"))]
    said = [told, *(span.get("output") for span in (root, *steps[:0:-1], *models[::-1]))]
    said_in = (one.get(name) for one in (root, *models[::-1]) for name in ("messages", "input"))
    talk = next((talk for value in (given, *said_in)
                 if value is not None and (talk := messages(value)) is not None), None)  # fmt: skip
    row: Row = {"sample_id": root.trace or root.span or None, "question": _readable(question, asked)}
    row["answer"] = _readable(answer, said, keep=True)
    if row["answer"] is None and talk is not None and talk[-1].role == "assistant":
        row["answer"] = talk[-1].text
    if talk is not None and sum(one.role == "user" for one in talk) > 1:
        row |= _earlier(talk, row["question"])
    documents = _documents(found["reranker"] or found["retriever"], found["retriever"])
    lifted = _lifted((told, root.get("output"), given, root.get("input")), row)
    _lifted((root.own, beside), row, ("reference", "expected_docs"))
    documents = lifted if documents is None else documents
    tools = _tool_contexts(found["tool"], spans, talk)
    if documents is not None or tools:
        row["contexts"] = (
            [*(documents or ()), *tools] if documents is None or isinstance(documents, list) else documents
        )
    row |= _accounting(root, spans, models, beside, row["answer"])
    return row


def _told(beside: Mapping[str, Any], names: Sequence[str]) -> Any:
    """What stands beside a trace's spans under one of ``names``; MLflow keeps the second of them in its data."""
    if not beside:
        return None
    data, trace = opened(beside.get("data")), opened(beside.get("trace"))
    found = _first_of(beside, names) or (data.get(names[1]) if isinstance(data, Mapping) else None)
    return found or (_first_of(trace, names) if isinstance(trace, Mapping) else None)


def _readable(reader: Callable[[Any], str | None], values: Sequence[Any], keep: bool = False) -> Any:
    """The first of ``values`` that reads as a text, read; a text that only looks like an object is kept as written."""
    for value in values:
        if value is None or value == "":
            continue
        try:
            found = reader(unquoted(opened(value)))
        except (Unreadable, RecursionError):
            if keep and isinstance(value, str):
                return value
            continue
        if found and found.strip():
            return found
    return None


def _earlier(talk: list[Message], asked: str | None) -> Row:
    """The conversation before the question, and what was asked when the question is a rewritten one."""
    last = max(at for at, one in enumerate(talk) if one.role == "user")
    history = as_history(talk[:last])
    return {"history": history} if asked == talk[last].text and history else {}


def _documents(chosen: list[Span], retrievers: list[Span]) -> Any:
    """Contexts of the retriever spans (of the reranker's, when there is one), each once; None without any."""
    if not chosen:
        return None
    items: list[Row] = []
    seen: set[tuple[Any, str]] = set()
    some = False
    for span in chosen:
        value = span.get("documents")
        value = opened(span.get("output") if value is None else value)
        if value is None:
            continue
        if isinstance(value, Mapping):
            names = resolve(list(map(str, value)), "sample")
            only = next(iter(value.values())) if len(value) == 1 else value
            value = value[names["contexts"]] if "contexts" in names else (only if isinstance(only, list) else value)
        try:
            found = contexts(value) or []
        except (Unreadable, ValueError):
            return value  # the reader of the field says what is wrong with it
        some = True
        for item in found:
            key = (item.get("doc_id"), item["text"])
            if key not in seen:
                seen.add(key)
                items.append(item)
    return items if some else (None if chosen is retrievers else _documents(retrievers, retrievers))


#: What a trace may say of its sample beside question, answer and contexts.
_OURS = ("reference", "expected_docs", "citations", "case_type", "tenant", "rewritten_question", "history")


def _lifted(values: Sequence[Any], row: Row, fields: Sequence[str] = _OURS) -> Any:
    """Contexts (and whatever of our fields) that stand inside the trace's own inputs and outputs."""
    documents = None
    for value in map(opened, values):
        if value and type(value) is not str and isinstance(value, Mapping):
            names = resolve(list(map(str, value)), "sample")
            if "contexts" in names and documents is None and not messages(value[names["contexts"]]):
                documents = value[names["contexts"]]
            for field in fields:
                if field in names:
                    row.setdefault(field, value[names[field]])
    return documents


def _tool_contexts(tools: list[Span], spans: list[Span], talk: list[Message] | None) -> list[Row]:
    """What tools answered, as contexts of kind ``tool``; a tool that only wraps a retriever adds nothing."""
    if not tools and talk is None:
        return []
    parents = {span.span: span.parent for span in spans}
    wrapping = set()
    for span in spans:
        up = span.parent if span.kind in ("retriever", "reranker") else ""
        while up and up not in wrapping:
            wrapping.add(up)
            up = parents.get(up, "")
    said = [said for span in tools if span.span not in wrapping and (said := _shown(span.get("output")))]
    if not said and talk is not None:
        last = max((at for at, one in enumerate(talk) if one.role == "user"), default=0)
        said = [one.text for one in talk[last:] if one.role == "tool" and one.text]
    return [{"text": part, "kind": "tool"} for part in dict.fromkeys(said)]


def _shown(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    try:
        return text(value)
    except Unreadable:
        import json

        return json.dumps(value, ensure_ascii=False, default=str)


def _accounting(root: Span, spans: list[Span], models: list[Span], beside: Mapping[str, Any], said: Any) -> Row:
    """Model, tokens, time, error, scores and what the root says of itself."""
    row: Row = {}
    counted = [_tokens(span) for span in (models or [root])]
    usage = {
        name: sum(one[name] for one in counted if name in one)
        for name in dict.fromkeys(k for one in counted for k in one)
    }
    model = next((found for span in models[::-1] if isinstance(found := span.get("model"), str)), None)
    start, end = _milliseconds(root.get("start")), _milliseconds(root.get("end"))
    latency = end - start if start is not None and end is not None and end > start else _stated(root, beside)
    error = _error(root)
    if error is None and not said:
        error = next(filter(None, map(_error, spans)), None)
    session = _first_of(beside, ("sessionId", "session_id")) or root.get("session")
    names = {"usage": usage or None, "model": model, "latency_ms": latency, "error": error, "session_id": session}
    row |= {name: value for name, value in names.items() if value is not None}
    inner = opened(beside.get("trace"))
    about = {**(inner if isinstance(inner, Mapping) else {}), **root.own, **beside}
    for name in _ABOUT:
        value = about.get(name)
        if value is None:
            continue
        if name == "tags" and isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            continue
        if value not in ("", [], {}):
            row[name] = opened(value)
    return row


_COUNTS = ("usage", "input_tokens", "output_tokens", "total_tokens")


def _tokens(span: Span) -> dict[str, float]:
    if span.fields.keys().isdisjoint(_COUNTS):
        return {}
    usage = opened(span.get("usage"))
    inner = {fold(str(key)): value for key, value in usage.items()} if isinstance(usage, Mapping) else {}
    told = span.fields | _fields(inner, usage=True)
    found = {}
    for name in _COUNTS[1:]:
        value = told.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            found[name] = value
        elif isinstance(value, str) and value.isdigit():
            found[name] = int(value)
    return found


def _stated(root: Span, beside: Mapping[str, Any]) -> float | None:
    """A duration in milliseconds that is recorded as such; Langfuse's ``latency`` counts seconds, Jaeger's microseconds."""
    own = {**root.own, **{fold(name): value for name, value in beside.items()}}
    for name, factor in (("latency_ms", 1.0), ("execution_duration", 1.0), ("execution_time_ms", 1.0), ("duration_ms", 1.0),
                         ("duration_nano", 1e-6), ("latency", 1000.0)):  # fmt: skip
        if isinstance(own.get(name), (int, float)) and not isinstance(own[name], bool):
            return factor * own[name]
    took, start = own.get("duration"), root.get("start")
    if not isinstance(took, (int, float)) or isinstance(took, bool):
        return None
    if "operation_name" in own or (isinstance(start, (int, float)) and 1e14 <= start < 1e17):  # Jaeger, Zipkin
        return took / 1000.0
    return took * 1e-6 if "start_ns" in own else None  # Datadog


def _milliseconds(value: Any) -> float | None:
    """A time in milliseconds since 1970, from seconds, milli-, micro- or nanoseconds (told by size), ISO text, datetime."""
    value = plain(value)
    if isinstance(value, str) and not value.replace(".", "", 1).isdigit():
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp() * 1000.0
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    for least, factor in ((1e17, 1e-6), (1e14, 1e-3), (1e11, 1.0), (1e8, 1e3)):
        if number >= least:
            return number * factor
    return None


def _error(span: Span) -> str | None:
    """What went wrong in a span, None when it says that all went well."""
    if "status" not in span.fields and "error" not in span.fields:
        return None
    status = str(span.get("status") or "").upper()
    failed = status.endswith("ERROR") or status == "2" or status.startswith("ERR")
    found = opened(span.get("error"))
    if isinstance(found, Mapping):
        found = _first_of(found, ("message", "exception.message", "type"))
    if found in (None, "", False, "false", "null"):
        found = span.get("status_message") if failed else None
    return str(found) if found not in (None, "", True, "true") else ("error" if failed else None)
