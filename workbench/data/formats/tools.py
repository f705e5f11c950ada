"""Records of other tools, with what they nest brought to the top; everything else passes unchanged.

A new tool is a line of :data:`_TOOLS`, at the end: what its records are known by, and what makes ours of them. Columns that
are only called differently need nothing here: ``fields.toml`` names them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from workbench.data.columns import aliases, first_of, fold, resolve
from workbench.data.fields import TALKS, Unreadable, number, plain, retrieved_in
from workbench.data.formats.records import (
    WHOLE_FILE,
    Records,
    Remark,
    Row,
    as_list,
    as_mapping,
    expanded,
    looks_structured,
    mapped,
    opened,
    renamed,
    unquoted,
    why,
)
from workbench.data.formats.sets import (
    first_text,
    gold_answers,
    has_gold_answers,
    hotpot,
    instructed,
    is_kilt,
    kilt,
    musique,
    squad,
)
from workbench.data.formats.spans import from_spans, holds_spans
from workbench.data.text.normalise import SURROGATE, scrub

# ------------------------------------------------------------------------------
# Results of promptfoo: one record for each test, prompt and provider.


_REFERENCE_ASSERTIONS = ("factuality", "model-graded-factuality", "similar", "answer-relevance", "equals")


def _from_promptfoo(records: Records) -> Records:
    """Variables, answer, scores and assertions of each result as columns; several prompts or providers are runs."""
    labels = [_label(row) for row in records.rows]
    several = len(set(labels)) > 1
    names: set[str] = set()
    rows = []
    for at, (row, label) in enumerate(zip(records.rows, labels, strict=True)):
        scores = {"score": row.get("score"), **as_mapping(row.get("namedScores"))}
        names.update(scores)
        variables = as_mapping(row.get("vars"))
        if "sample_id" not in resolve(list(variables), "sample"):
            variables = {"sample_id": row.get("testIdx", row.get("id", at + 1)), **variables}
        done = {**variables, **_answer(row), **_assertions(row), **scores}
        rows.append({**done, "run": label} if several else done)
    return records.with_rows(rows, score_columns=frozenset(names), kind="promptfoo")


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
    found = as_mapping(output) if isinstance(output, Mapping) else {"answer": output}
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


_SCORE_KEYS = (
    "metrics", "scores", "feedback", "evaluation_scores", "namedScores", "named_scores", "metric_scores",
    "metricsData", "metrics_data", "feedback_stats", "evaluations",
    "metric_score", "assessments", "annotations", "feedback_scores", "evaluation_results", "results",
)  # fmt: skip
_SCORE_NAMES = ("name", "key", "metric", "metric_name", "metricName", "assessment_name")
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


def _is_phoenix_table(columns: set[str], records: Records) -> bool:
    """Whether columns are those of a data set of Phoenix's page: ``input_<key>``, ``output_<key>``, ``metadata_<key>``."""
    heads = {name.partition("_")[0] for name in columns - {"example_id"}}
    return "example_id" in columns and "input" in heads and heads <= {"input", "output", "metadata"}


def _from_phoenix_table(records: Records) -> Records:
    """As nested objects; what a span said is an answer, other outputs of a data set are references."""
    recorded = "metadata_span_kind" in records.columns
    names = {"output": "output" if recorded else "expected_output"}

    def nest(row: Row) -> Row:
        """``input_question`` as part ``question`` of ``input``."""
        nested: Row = {"example_id": row.pop("example_id", None)}
        for name, value in row.items():
            head, _, tail = name.partition("_")
            nested.setdefault(names.get(head, head), {})[tail] = value
        return nested

    return replace(mapped(records, nest), kind="Phoenix")


def _prefix(name: str) -> str | None:
    head, dot, tail = name.partition("/" if "/" in name and "." not in name else ".")
    known = head in (*_INPUTS, *_OUTPUTS, *_REFERENCES, "expectations", "vars", "feedback", "metrics", "scores", "data")
    return head if dot and tail and known else None


def _nest_dots(records: Records) -> Records:
    """``inputs.question`` as ``{"inputs": {"question": …}}``."""

    def nest(row: Row) -> Row:
        """One record; a name whose head holds something else already stays as it is."""
        nested: Row = {}
        for name, value in row.items():
            head = _prefix(name)
            part = nested.get(head) if head else None
            if head and (part is None or isinstance(part, dict)):
                nested[head] = {**(part or {}), name[len(head) + 1 :]: value}
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
        """One record, its scores under their own names; what is there already stays."""
        for key in _SCORE_KEYS:
            found = _scores(_without_expectations(row, opened(row.get(key))))
            if found:
                del row[key]
                names.update(found)
                row.update({name: value for name, value in found.items() if name not in row})
        return row

    return replace(mapped(records, lift), score_columns=frozenset(names))


def _without_expectations(row: Row, value: Any) -> Any:
    """Assessments that are none: what was expected, which becomes a column of its own."""
    if not isinstance(value, list) or not any(isinstance(item, Mapping) and "expectation" in item for item in value):
        return value
    for item in value:
        if isinstance(item, Mapping) and isinstance(item.get("expectation"), Mapping):
            row.setdefault(str(item.get("name") or item.get("assessment_name")), item["expectation"].get("value"))
    return [item for item in value if isinstance(item, Mapping) and "expectation" not in item]


def _scores(value: Any) -> Row:
    """Name → number or None; empty when ``value`` holds no scores."""
    if isinstance(value, Mapping) and isinstance(value.get("results"), list):  # LangSmith's evaluation_results
        value = value["results"]
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
        # Weave names the one number that a scorer gives: {"correct": true}
        item = next(iter(item.values())) if len(item) == 1 else first_of(item, _SCORE_VALUES)[1]
    if not isinstance(item, str):
        return item
    try:  # a cell of a table
        return {"true": True, "false": False}.get(item.lower(), _LETTERS.get(item)) if not item[:1].isdigit() else number(item)
    except Unreadable:
        return item


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
        reason = why("examples")
        warnings.append(Remark(WHOLE_FILE, "outputs", reason))

    def lift(row: Row) -> Row:
        """One record, its inputs, outputs and references parted into our columns."""
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
        """One record with the contexts of its feedback calls, and seconds called seconds."""
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
# Logs and evaluations whose records hold ours one level down.


def _labelled(row: Row) -> Row:
    """A task of Label Studio: its data, and each field that people filled in under its name."""
    done = {**{name: value for name, value in row.items() if name != "data"}, **as_mapping(row.get("data"))}
    annotations = row.pop("annotations", None) or row.pop("completions", None) or []
    done.pop("annotations", None)
    for annotation in as_list(annotations)[-1:]:
        for item in as_list(annotation.get("result")) if isinstance(annotation, Mapping) else ():
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
    for item in as_list(row.get("responseData")):
        if isinstance(item, Mapping) and isinstance(item.get("quoteList"), list):
            row.setdefault("contexts", []).extend(item["quoteList"])
    facts = row.get("expected_facts")
    if facts is not None and not any(row.get(name) for name in ("expected_response", "reference")):
        facts = opened(facts)
        row["reference"] = "\n".join(map(str, facts)) if isinstance(facts, list) else facts
    _without_expectations(row, opened(row.get("assessments")))
    return row


_NESTED = {"eval_sample", "expectations", "responseData", "expected_facts", "assessments", "retriever_resources"}


def _nests(columns: set[str], records: Records) -> bool:
    if columns & _NESTED:
        return True
    rows = records.rows[:20]
    return any(
        isinstance(opened(row.get("reference")), Mapping) and "chunks" in opened(row["reference"]) for row in rows
    ) or any(isinstance(meta := opened(row.get("metadata")), Mapping) and "retriever_resources" in meta for row in rows)


def _is_quoted(records: Records, name: str) -> bool:
    """Whether every text of a column was written as JSON, so that plain ones stand in quotes of their own."""
    some = False
    for row in records.rows:
        value = row.get(name)
        if not isinstance(value, str) or not value.strip():
            continue
        if unquoted(value) is not value:
            some = True
        elif not (looks_structured(value) or value in ("null", "true", "false", "{}", "[]")):
            return False
    return some


def _unquote(records: Records) -> Records:
    names = [name for name in records.columns if _is_quoted(records, name)]
    return mapped(records, lambda row: row | {name: unquoted(row[name]) for name in names if name in row})


def _from_run_and_example(row: Row) -> Row:
    """LangSmith's pairs of a run and the example that it was given."""
    run, example = (opened(row.pop(name, None)) for name in ("run", "example"))
    run, example = (part if isinstance(part, Mapping) else {} for part in (run, example))
    told = {"id": example.get("id") or run.get("id"), "inputs": example.get("inputs") or run.get("inputs"),
            "reference_outputs": example.get("outputs"), "outputs": run.get("outputs"), "error": run.get("error")}  # fmt: skip
    return {**told, **row}


def _from_evaluation_calls(records: Records) -> Records:
    """Weave's evaluations: of their calls those that predict and score an example."""
    kept = [at for at, row in enumerate(records.rows) if _PREDICTS in str(row.get("op_name"))]
    rows = []
    for row in (records.rows[at] for at in kept):
        given, told = as_mapping(opened(row.get("inputs"))), as_mapping(opened(row.get("output")))
        said = told.get("output", told.get("model_output"))
        rows.append({"sample_id": row.get("id"), "inputs": given.get("example"), "outputs": said,
                     "scores": told.get("scores"), "latency_s": told.get("model_latency"),
                     "error": row.get("exception")})  # fmt: skip
    reason = why("calls", calls=len(records.rows), n=len(rows))
    return records.with_rows(rows, kind="Weave", warnings=[*records.warnings, Remark(WHOLE_FILE, "op_name", reason)])


_PREDICTS = "predict_and_score"


def _from_evaluators(records: Records) -> Records:
    """Azure's results: ``inputs.query``, ``inputs.response``, and ``outputs.<evaluator>.<metric>`` as scores."""
    names = {name: name.split(".", 1)[1] if name.startswith("inputs.") else name.split(".", 2)[-1]
             for name in records.columns if name.startswith(("inputs.", "outputs."))}  # fmt: skip
    scores = {own for name, own in names.items() if name.count(".") > 1 and name.startswith("outputs.")
              and all(isinstance(row.get(name), (int, float, type(None))) for row in records.rows)}  # fmt: skip
    done = mapped(records, lambda row: {names.get(name, name): value for name, value in row.items()})
    return replace(done, score_columns=records.score_columns | scores, kind="Azure AI evaluation")


def _turn(row: Row) -> Row:
    """One turn of Bedrock's evaluation of a knowledge base."""
    row = {**row, **as_mapping(row.pop("inputRecord", None))}
    said = row.get("output")
    given = [as_mapping(part).get("content", part) for part in as_list(row.get("referenceResponses"))]
    found = {"question": row.get("prompt"), "reference": [_texts(part) for part in given] or None, "answer": said,
             "contexts": retrieved_in(said) or None}  # fmt: skip
    return {**{name: row[name] for name in ("results", "referenceContexts") if name in row}, **found}


def _texts(value: Any) -> Any:
    parts = [as_mapping(part).get("text") for part in as_list(value)]
    return " ".join(part for part in parts if isinstance(part, str)) or value


def _turns_of(row: Row) -> list[Row]:
    turns = [dict(part) for part in as_list(row.get("conversationTurns")) if isinstance(part, Mapping)]
    return [_turn(part) for part in turns] or [row]


def _from_model_evaluation(row: Row) -> Row:
    """Bedrock's evaluation of a model: the record that went in, the answers, the scores."""
    answers = [as_mapping(part).get("response") for part in as_list(row.get("modelResponses"))]
    given, found = as_mapping(row.get("inputRecord")), as_mapping(row.get("automatedEvaluationResult"))
    return {**given, "answer": next(iter(answers), None), "scores": found.get("scores")}


def _from_promptfoo_table(records: Records) -> Records:
    """promptfoo's CSV: variables, and for each prompt its answer, status, score and reason under ``[provider] prompt``."""
    answers = [name for name in records.columns if re.match(r"\[[^\]]+\] ", name)]
    first = min(records.columns.index(name) for name in answers)
    rows = []
    for at, row in enumerate(records.rows, 1):
        given = {name: row.get(name) for name in records.columns[:first] if name != "Description"}
        for place, name in enumerate(answers, 1):
            mark = "" if place == 1 else f" ({place})"
            told = {"answer": row.get(name), "score": row.get(f"Score{mark}"), "success": row.get(f"Status{mark}") == "PASS"}
            several = {"run": name} if len(answers) > 1 else {}
            rows.append({"sample_id": str(at), **given, **told, **several})
    return records.with_rows(rows, kind="promptfoo", score_columns=frozenset({"score"}))


def _without_value(records: Records) -> Records:
    """MLflow's assessments ``correctness/value``: scores, but for what was expected."""
    ends = {name: name.removesuffix("/value") for name in records.columns if name.endswith("/value")}
    known = set(resolve(list(ends.values()), "sample").values())
    done = mapped(records, lambda row: {ends.get(name, name): value for name, value in row.items()})
    return replace(done, score_columns=records.score_columns | (set(ends.values()) - known))


_NUMBERED = re.compile(r"(.*?[^\W\d])[ _#-]?(\d{1,2})")


def _numbered_names(records: Records) -> list[str]:
    """Columns such as ``context_1``, ``Retrieved chunk 2``, in order."""
    known = {*aliases("sample")["contexts"], *aliases("context")["text"]}
    found = [(int(match[2]), name) for name in records.columns if (match := _NUMBERED.fullmatch(name))
             and {fold(match[1]), fold(match[1]) + "s"} & known]  # fmt: skip
    return [name for _, name in sorted(found)]


def _join_numbered(records: Records) -> Records:
    names = _numbered_names(records)

    def join(row: Row) -> Row:
        texts = [text for name in names if (text := row.get(name)) not in (None, "")]
        return {**{name: value for name, value in row.items() if name not in names}, "contexts": texts}

    return mapped(records, join)


def _documents_in_rows(records: Records) -> Records:
    """Phoenix's table of retrieved documents: rows of one span are its contexts."""
    spans: dict[str, list[Row]] = {}
    for row in records.rows:
        spans.setdefault(str(row.get("context.span_id")), []).append(dict(row))
    rows = [{"sample_id": span, "question": found[0].get("input"),
             "contexts": [{"text": one.get("reference"), "score": one.get("document_score")} for one in found]}
            for span, found in spans.items()]  # fmt: skip
    reason = why("document_rows", rows=len(records.rows), questions=len(rows))
    return records.with_rows(rows, anew=True, kind="Phoenix", warnings=[*records.warnings, Remark(WHOLE_FILE, "", reason)])


#: Parts that say something about a record, and in which no question is looked for.
_BESIDE = {"metadata", "config", "usage", "tags", "metrics", "prompts", "stats", "trace"}


def _asks_inside(columns: set[str], records: Records) -> bool:
    """Whether no column holds questions, and some hold objects in which one may stand."""
    if "question" in resolve(records.columns, "sample") or any(fold(name) in TALKS for name in columns - _objects(records)):
        return False
    return bool(_objects(records))


def _objects(records: Records) -> set[str]:
    return {name for row in records.rows[:20] for name, value in row.items()
            if name not in _BESIDE and isinstance(opened(value), Mapping)}  # fmt: skip


def _lift_parts(records: Records) -> Records:
    """Objects that columns hold as columns of their own, until one holds questions; else as it was."""
    done = records
    for _ in range(3):
        if not _asks_inside(set(done.columns), done):
            break

        def lift(row: Row) -> Row:
            """One record, the parts of its objects beside its own columns, which win."""
            told = {name: opened(value) for name, value in row.items() if name not in _BESIDE}
            parts = {name: part for name, part in told.items() if isinstance(part, Mapping)}
            flat = {name: value for name, value in row.items() if name not in parts}
            for part in parts.values():
                inner = as_mapping(next(iter(as_list(part.get("answers"))), None))  # Haystack's answers carry the query
                for name, value in {**part, **(inner if "query" in inner else {})}.items():
                    flat.setdefault("answer" if name == "data" and "query" in inner else str(name), value)
            return flat

        done = mapped(done, lift)
    asks = "question" in resolve(done.columns, "sample") or any(fold(name) in TALKS for name in done.columns)
    return done if asks else records


def _parts_of_answers(columns: set[str], records: Records) -> bool:
    """Whether the contexts stand inside what the service answered, or the answer in a part of a pipeline's outputs."""
    known = resolve(records.columns, "sample")
    return bool(records.rows) and "question" in known and not ("contexts" in known and "answer" in known)


def _lift_answers(records: Records) -> Records:
    known = resolve(records.columns, "sample")
    said = known.get("answer")
    asked = {known["question"], known.get("reference"), known.get("expected_docs"), known.get("history")}

    def lift(row: Row) -> Row:
        """One record with contexts and answer taken out of what the service sent."""
        told = {name: opened(value) for name, value in row.items() if name not in asked}
        objects = {name: found for name, found in told.items() if isinstance(found, (Mapping, list))}
        if "contexts" not in known:
            found = retrieved_in({name: value for name, value in objects.items() if name not in _BESIDE})
            if found:
                row["contexts"] = found
                if isinstance(objects.get(said or ""), Mapping):
                    row[said or ""] = objects[said or ""]
        if said is None:
            replies = [part for value in objects.values() if isinstance(value, Mapping) for key in ("replies", "answers")
                       for part in as_list(value.get(key))[:1]]  # fmt: skip
            text = next((part if isinstance(part, str) else as_mapping(part).get("data") for part in replies), None)
            retrieved = "contexts" in row or "contexts" in known
            text = row.pop("text", None) if text is None and retrieved and isinstance(row.get("text"), str) else text
            if text is not None:
                row["answer"] = text
        return row

    return mapped(records, lift)


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


#: Columns that stand beside the seconds of Langfuse's ``latency``.
_LANGFUSE = {"session_id", "sessionId", "htmlPath", "totalCost", "total_cost", "timestamp", "observations"}

#: What each tool is known by, and how its records become ours; all that fit are applied, in this order.
_TOOLS: tuple[tuple[Callable[[set[str], Records], bool], Callable[[Records], Records]], ...] = (
    (lambda columns, records: any(_is_quoted(records, name) for name in columns), _unquote),
    (
        lambda _, records: any(_PREDICTS in str(row.get("op_name")) for row in records.rows),
        _from_evaluation_calls,
    ),
    (_columns("run", "example"), lambda records: replace(mapped(records, _from_run_and_example), kind="LangSmith")),
    (_columns("context.span_id", "document_position", "reference"), _documents_in_rows),
    (lambda columns, _: "op_name" in columns and any(map(_prefix, columns)), _nest_dots),
    (holds_spans, from_spans),
    (_columns("inputs.query"), _from_evaluators),
    (_columns("conversationTurns"), lambda records: replace(expanded(records, _turns_of, "turns"), kind="Bedrock")),
    (
        _columns("inputRecord", "modelResponses"),
        lambda records: replace(mapped(records, _from_model_evaluation), kind="Bedrock"),
    ),
    (
        lambda columns, _: {"Status", "Score"} <= columns and any(re.match(r"\[[^\]]+\] ", name) for name in columns),
        _from_promptfoo_table,
    ),
    (_columns("instruction", "input", "output"), lambda records: mapped(records, instructed)),
    (
        lambda columns, _: "message" in columns and len(columns & {"text", "documents", "citations"}) > 1,
        lambda records: renamed(records, "message", "question"),
    ),
    (
        _columns("doc", "target", "filtered_resps"),  # lm-evaluation-harness
        lambda records: mapped(records, lambda row: {"question": as_mapping(row.get("doc")).get("question"), **row,
                                                     "doc": None, "answer": first_text(row.get("filtered_resps"))}),
    ),
    (is_kilt, lambda records: mapped(records, kilt)),
    (_columns("paragraphs", "question"), lambda records: mapped(records, musique)),
    (lambda columns, _: any(name.endswith("/value") for name in columns), _without_value),
    (
        lambda _, records: "contexts" not in resolve(records.columns, "sample") and len(_numbered_names(records)) > 1,
        _join_numbered,
    ),
    (  # Phoenix's get_qa_with_reference, whose reference is the retrieved text
        _columns("context.span_id", "input", "output", "reference"),
        lambda records: replace(renamed(records, "reference", "contexts"), kind="Phoenix"),
    ),
    (
        lambda columns, _: "vars" in columns and bool(columns & {"response", "testCase", "gradingResult"}),
        _from_promptfoo,
    ),
    (_columns("paragraphs", "title"), lambda records: expanded(records, squad, "questions")),
    (_columns("supporting_facts", "context"), lambda records: mapped(records, hotpot)),
    (
        lambda columns, _: "data" in columns and bool(columns & {"annotations", "completions"}),
        lambda records: mapped(records, _labelled),
    ),
    (_columns("retrieval_context", "context", "expected_tools"), _split_by_bars),
    (
        lambda columns, _: {"latency", "input"} <= columns and bool(columns & _LANGFUSE),
        lambda records: replace(renamed(records, "latency", "latency_s"), kind="Langfuse"),  # its tables have seconds
    ),
    (_is_phoenix_table, _from_phoenix_table),
    (
        lambda columns, _: {"prompt", "completion"} <= columns and "question" not in resolve(list(columns), "sample"),
        lambda records: renamed(records, "prompt", "question"),
    ),
    (
        lambda columns, _: {"input", "output"} <= columns and any(name.endswith("_calls") for name in columns),
        _from_trulens,
    ),
    (lambda columns, _: any(map(_prefix, columns)), _nest_dots),
    (_has_scores, _lift_scores),
    (  # DeepEval's context is the ideal one and not what was retrieved
        lambda columns, _: bool(columns & {"actual_output", "actualOutput"}) and "context" in columns,
        lambda records: renamed(records, "context", "reference_contexts"),
    ),
    (_nests, lambda records: mapped(records, _one_level_down)),
    (_asks_inside, _lift_parts),
    (_has_inputs, _lift_inputs),
    (_has_scores, _lift_scores),
    (has_gold_answers, gold_answers),
    (_parts_of_answers, _lift_answers),
)
