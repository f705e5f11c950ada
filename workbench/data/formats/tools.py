"""Records of other tools, with what they nest brought to the top; everything else passes unchanged.

A new tool is a line of :data:`_TOOLS`, at the end: what its records are known by, and what makes ours of them. Columns that
are only called differently need nothing here: ``fields.toml`` names them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from workbench.data.fields import first_of, plain, resolve, scrub
from workbench.data.formats.records import WHOLE_FILE, Records, Remark, opened
from workbench.data.formats.spans import from_spans, holds_spans
from workbench.data.text.normalise import SURROGATE

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
    return records.with_rows(rows, score_columns=frozenset(names), kind="promptfoo")


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
    "metric_score", "assessments",
)  # fmt: skip
_SCORE_NAMES = ("name", "key", "metric", "metric_name", "assessment_name")
_SCORE_VALUES = ("score", "value", "result", "avg", "mean")
#: Verdicts that Inspect writes as letters: correct, partial, incorrect, no answer.
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_INPUTS = ("inputs", "input")
_OUTPUTS = ("outputs", "actual_outputs", "output", "run_outputs")
_REFERENCES = (
    "reference_outputs", "expected_outputs", "reference_output", "expected_output", "expectedOutput", "expected",
    "reference",
)  # fmt: skip
_REPLIES = ("choices", "messages", "generations", "candidates")
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
    return records.with_rows([convert(dict(row)) for row in records.rows])


def _renamed(records: Records, old: str, new: str) -> Records:
    return mapped(records, lambda row: {new if name == old else name: value for name, value in row.items()})


def _is_phoenix_table(columns: set[str], records: Records) -> bool:
    """Whether columns are those of a data set of Phoenix's page: ``input_<key>``, ``output_<key>``, ``metadata_<key>``."""
    heads = {name.partition("_")[0] for name in columns - {"example_id"}}
    return "example_id" in columns and "input" in heads and heads <= {"input", "output", "metadata"}


def _from_phoenix_table(records: Records) -> Records:
    """As nested objects; what a span said is an answer, other outputs of a data set are references."""
    recorded = "metadata_span_kind" in records.columns
    names = {"output": "output" if recorded else "expected_output"}

    def nest(row: Row) -> Row:
        nested: Row = {"example_id": row.pop("example_id", None)}
        for name, value in row.items():
            head, _, tail = name.partition("_")
            nested.setdefault(names.get(head, head), {})[tail] = value
        return nested

    return replace(mapped(records, nest), kind="Phoenix")


def _prefix(name: str) -> str | None:
    head, dot, tail = name.partition(".")
    known = head in (*_INPUTS, *_OUTPUTS, *_REFERENCES, "expectations", "vars", "feedback", "metrics", "scores", "data")
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
        value = {str(first_of(item, _SCORE_NAMES)[1]): item for item in value if isinstance(item, Mapping)}
        value.pop("None", None)
    if not isinstance(value, Mapping):
        return {}
    found = {str(name): _score(item) for name, item in value.items()}
    return found if all(item is None or isinstance(item, (int, float, bool)) for item in found.values()) else {}


def _score(item: Any) -> Any:
    if isinstance(item, Mapping):
        item = item.get("feedback") if isinstance(item.get("feedback"), Mapping) else item
        item = first_of(item, _SCORE_VALUES)[1]
    return _LETTERS.get(item, item) if isinstance(item, str) else item


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
    if any(isinstance(value.get(name), (list, tuple)) for name in _REPLIES):
        return {
            target: value,
            **{name: value[name] for name in ("usage", "model", "error") if value.get(name) is not None},
        }
    names = list(value)
    known = resolve(names, "sample")
    column = known.get(target) or (known.get("answer") if target == "reference" else None)
    texts = [name for name in names if isinstance(value[name], str)]
    if column is None and len(texts) == 1 and texts[0] not in known.values():
        column = texts[0]
    found: Row = {target: value[column]} if column is not None else {}
    for name in names:
        if name != column:
            renamed = "reference_contexts" if target == "reference" and known.get("contexts") == name else name
            found[renamed if renamed not in taken else f"{target}.{renamed}"] = value[name]
    return found


# ------------------------------------------------------------------------------
# TruLens.


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
            value = first_of(arguments, names)[1] if isinstance(arguments, Mapping) else None
            for text in value if isinstance(value, list) else [value]:
                if isinstance(text, str):
                    found[text] = None
        if found:
            return list(found)
    return []


# ------------------------------------------------------------------------------
# Data sets and logs whose records hold several questions, or hold ours one level down.


def expanded(records: Records, parts: Callable[[Row], list[Row]], what: str) -> Records:
    """``records`` with each row replaced by its parts, numbered anew when that changes their number."""
    rows = [part for row in records.rows for part in parts(dict(row))]
    reason = f"{len(records.rows)} records hold {len(rows)} {what}; each is one sample"
    remarks = [Remark(WHOLE_FILE, "", reason)] if len(rows) != len(records.rows) else []
    return records.with_rows(rows, warnings=[*records.warnings, *remarks])


def _list(value: Any) -> list[Any]:
    """A list, also one that was written as text; empty for anything else."""
    found = opened(value)
    return found if isinstance(found, list) else []


def _squad(row: Row) -> list[Row]:
    """Questions of SQuAD's paragraphs, which are their contexts."""
    done = []
    for number, part in enumerate(_list(row.get("paragraphs")), 1):
        for item in _list(part.get("qas")) if isinstance(part, Mapping) else ():
            if isinstance(item, Mapping):
                context = {
                    "text": part.get("context"),
                    "title": row.get("title"),
                    "doc_id": f"{row.get('title')}#{number}",
                }
                refusal = {"expect_refusal": item["is_impossible"]} if "is_impossible" in item else {}
                done.append({**item, "contexts": [{k: v for k, v in context.items() if v is not None}], **refusal})
    return done or [row]


def _hotpot(row: Row) -> Row:
    """HotpotQA's answer is the gold one; supporting facts name the relevant paragraphs by title."""
    facts, context = row.get("supporting_facts"), row.get("context")
    titles = (
        facts.get("title") if isinstance(facts, Mapping) else [f[0] for f in _list(facts) if isinstance(f, list) and f]
    )
    if isinstance(context, Mapping) and {"title", "sentences"} <= context.keys():
        context = list(map(list, zip(context["title"], context["sentences"], strict=False)))
    found = {"reference": row.pop("answer", None), "expected_docs": list(dict.fromkeys(map(str, titles or ()))) or None}
    return {**row, "contexts": context, **found}


def _labelled(row: Row) -> Row:
    """A task of Label Studio: its data, and each field that people filled in under its name."""
    done = {**{name: value for name, value in row.items() if name != "data"}, **_mapping(row.get("data"))}
    annotations = row.pop("annotations", None) or row.pop("completions", None) or []
    done.pop("annotations", None)
    for annotation in _list(annotations)[-1:]:
        for item in _list(annotation.get("result")) if isinstance(annotation, Mapping) else ():
            given = item.get("value") if isinstance(item, Mapping) else None
            if isinstance(given, Mapping):
                value = next((given[key] for key in ("text", "choices", "rating", "number") if key in given), None)
                value = value[0] if isinstance(value, list) and len(value) == 1 else value
                done.setdefault(str(item.get("from_name")), value)
    return done


def _one_level_down(row: Row) -> Row:
    """Parts that a tool nests: ragas' ``eval_sample``, expectations of MLflow, resources of Dify, chunks of RAGFlow."""
    for name in ("eval_sample", "expectations", "sample"):
        inner = opened(row.get(name))
        if isinstance(inner, Mapping):
            row = {**{key: value for key, value in row.items() if key != name}, **{str(k): v for k, v in inner.items()}}
    meta = opened(row.get("metadata"))
    if isinstance(meta, Mapping):
        row |= {name: meta[name] for name in ("retriever_resources", "usage") if name in meta and row.get(name) is None}
    if isinstance(opened(row.get("reference")), Mapping) and "chunks" in opened(row["reference"]):
        row["contexts"] = opened(row.pop("reference"))["chunks"]
    for item in _list(row.get("responseData")):
        if isinstance(item, Mapping) and isinstance(item.get("quoteList"), list):
            row.setdefault("contexts", []).extend(item["quoteList"])
    facts = row.get("expected_facts")
    if facts is not None and not any(row.get(name) for name in ("expected_response", "reference")):
        facts = opened(facts)
        row["reference"] = "\n".join(map(str, facts)) if isinstance(facts, list) else facts
    for item in _list(row.get("assessments")):
        if isinstance(item, Mapping) and isinstance(item.get("expectation"), Mapping):
            row.setdefault(str(item.get("name") or item.get("assessment_name")), item["expectation"].get("value"))
    return row


_NESTED = {"eval_sample", "expectations", "responseData", "expected_facts", "assessments", "retriever_resources"}


def _nests(columns: set[str], records: Records) -> bool:
    if columns & _NESTED:
        return True
    rows = records.rows[:20]
    return any(
        isinstance(opened(row.get("reference")), Mapping) and "chunks" in opened(row["reference"]) for row in rows
    ) or any(isinstance(meta := opened(row.get("metadata")), Mapping) and "retriever_resources" in meta for row in rows)


def _split_by_bars(records: Records) -> Records:
    """DeepEval's own CSV joins the texts of a list by ``|``."""

    def split(row: Row) -> Row:
        for name in ("retrieval_context", "context"):
            if isinstance(row.get(name), str) and isinstance(opened(row[name]), str):
                row[name] = row[name].split("|")
        return row

    return replace(mapped(records, split), kind="DeepEval")


def _columns(*names: str) -> Callable[[set[str], Records], bool]:
    return lambda columns, records: set(names) <= columns


#: What each tool is known by, and how its records become ours; all that fit are applied, in this order.
_TOOLS: tuple[tuple[Callable[[set[str], Records], bool], Callable[[Records], Records]], ...] = (
    (holds_spans, from_spans),
    (  # Phoenix's get_qa_with_reference, whose reference is the retrieved text
        _columns("context.span_id", "input", "output", "reference"),
        lambda records: replace(_renamed(records, "reference", "contexts"), kind="Phoenix"),
    ),
    (is_promptfoo, from_promptfoo),
    (_columns("paragraphs", "title"), lambda records: expanded(records, _squad, "questions")),
    (_columns("supporting_facts", "context"), lambda records: mapped(records, _hotpot)),
    (
        lambda columns, _: "data" in columns and bool(columns & {"annotations", "completions"}),
        lambda records: mapped(records, _labelled),
    ),
    (_columns("retrieval_context", "context", "expected_tools"), _split_by_bars),
    (
        lambda columns, _: {"latency", "input"} <= columns and bool(columns & {"session_id", "sessionId"}),
        lambda records: replace(_renamed(records, "latency", "latency_s"), kind="Langfuse"),  # its tables have seconds
    ),
    (_is_phoenix_table, _from_phoenix_table),
    (
        lambda columns, _: {"prompt", "completion"} <= columns and "question" not in resolve(list(columns), "sample"),
        lambda records: _renamed(records, "prompt", "question"),
    ),
    (
        lambda columns, _: {"input", "output"} <= columns and any(name.endswith("_calls") for name in columns),
        _from_trulens,
    ),
    (lambda columns, _: any(map(_prefix, columns)), _nest_dots),
    (_has_scores, _lift_scores),
    (  # DeepEval's context is the ideal one and not what was retrieved
        lambda columns, _: bool(columns & {"actual_output", "actualOutput"}) and "context" in columns,
        lambda records: _renamed(records, "context", "reference_contexts"),
    ),
    (_nests, lambda records: mapped(records, _one_level_down)),
    (_has_inputs, _lift_inputs),
    (_has_scores, _lift_scores),
)
