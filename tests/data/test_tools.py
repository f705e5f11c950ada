"""One recording in the shape of every tool reads back as the same samples; conversations; what goes back out."""

# ruff: noqa: E501

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.data.corpus import matching_form
from workbench.data.load import load_samples
from workbench.errors import WorkbenchError
from workbench.reports.exchange import WRITERS
from workbench.reports.tables import export_findings
from workbench.scoring.definitions import under_definitions

WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters="[]{}()\"'<>#"),
    min_size=1,
    max_size=9,
)
TEXT = st.lists(WORDS, min_size=2, max_size=6).map(" ".join)
ROW = st.fixed_dictionaries({
    "question": TEXT, "answer": TEXT,
    "contexts": st.lists(st.tuples(st.integers(1, 999).map("d{}".format), TEXT, st.sampled_from([0.25, 0.5])), min_size=1,
                         max_size=3, unique_by=lambda item: item[0]),
})  # fmt: skip
ROWS = st.lists(ROW, min_size=1, max_size=3, unique_by=lambda row: row["question"])


def keyed(values: dict[str, Any]) -> list[dict[str, Any]]:
    """Attributes as OTLP writes them."""
    return [{"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
            for key, value in values.items()]  # fmt: skip


def otlp(rows, question, answer, documents, kind):
    spans = []
    for at, row in enumerate(rows):
        root, found = (
            {question: row["question"], answer: row["answer"], "gen_ai.usage.input_tokens": 7},
            {kind[0]: kind[1]},
        )
        found |= documents(row)
        own = {"traceId": f"t{at}", "startTimeUnixNano": str(10**18), "endTimeUnixNano": str(10**18 + 2 * 10**9)}
        spans += [{**own, "spanId": "b", "parentSpanId": "a", "name": "retrieve", "attributes": keyed(found)},
                  {**own, "spanId": "a", "name": "rag", "attributes": keyed(root)}]  # fmt: skip
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"spans": spans}]}]}


def openinference(rows):
    def documents(row):
        return {f"retrieval.documents.{n}.document.{name}": str(value) for n, item in enumerate(row["contexts"])
                for name, value in zip(("id", "content", "score"), item, strict=True)}  # fmt: skip

    return otlp(rows, "input.value", "output.value", documents, ("openinference.span.kind", "RETRIEVER"))


def genai(rows):
    def documents(row):
        return {
            "gen_ai.retrieval.documents": json.dumps(
                [{"id": i, "content": t, "score": s} for i, t, s in row["contexts"]]
            )
        }

    made = otlp(
        rows, "gen_ai.input.messages", "gen_ai.output.messages", documents, ("gen_ai.operation.name", "retrieval")
    )
    for span in made["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for pair in span["attributes"]:
            role = {"gen_ai.input.messages": "user", "gen_ai.output.messages": "assistant"}.get(pair["key"])
            if role:
                parts = [{"type": "text", "content": pair["value"]["stringValue"]}]
                pair["value"]["stringValue"] = json.dumps([{"role": role, "parts": parts}])
    return made


def items(row, *names):
    return [dict(zip(names, item, strict=True)) for item in row["contexts"]]


def phoenix(rows):
    made = []
    for at, row in enumerate(rows):
        trace = {"context.trace_id": f"t{at}"}
        made += [{**trace, "context.span_id": f"a{at}", "parent_id": None, "span_kind": "CHAIN", "attributes.input.value": row["question"],
                  "attributes.output.value": row["answer"], "attributes.retrieval.documents": None},
                 {**trace, "context.span_id": f"b{at}", "parent_id": f"a{at}", "span_kind": "RETRIEVER", "attributes.input.value": "x",
                  "attributes.output.value": None,
                  "attributes.retrieval.documents": items(row, "document.id", "document.content", "document.score")}]  # fmt: skip
    return made


def langfuse(rows):
    return [{"id": f"t{at}", "timestamp": "2025-01-01T00:00:00Z", "input": {"question": row["question"]},
             "output": {"answer": row["answer"]}, "latency": 2.0, "scores": [{"name": "faithfulness", "value": 0.5}],
             "observations": [{"id": f"o{at}", "traceId": f"t{at}", "parentObservationId": None, "type": "RETRIEVER",
                               "input": row["question"], "output": items(row, "id", "content", "score")}]}
            for at, row in enumerate(rows)]  # fmt: skip


def langsmith(rows):
    made = []
    for at, row in enumerate(rows):
        own = {"trace_id": f"t{at}", "start_time": "2025-01-01T00:00:00", "end_time": "2025-01-01T00:00:02"}
        pages = [{"page_content": t, "metadata": {"id": i, "score": s}} for i, t, s in row["contexts"]]
        made += [{**own, "id": f"t{at}", "parent_run_id": None, "run_type": "chain", "inputs": {"question": row["question"]},
                  "outputs": {"output": row["answer"]}},
                 {**own, "id": f"r{at}", "parent_run_id": f"t{at}", "run_type": "retriever", "inputs": {"query": "x"},
                  "outputs": {"documents": pages}}]  # fmt: skip
    return made


def mlflow(rows):
    def span(at, name, kind, parent, given, said):
        attributes = {
            "mlflow.spanType": json.dumps(kind),
            "mlflow.spanInputs": json.dumps(given),
            "mlflow.spanOutputs": json.dumps(said),
        }
        return {"span_id": name, "parent_id": parent, "name": name, "attributes": attributes,
                "start_time_unix_nano": 10**18, "end_time_unix_nano": 10**18 + 2 * 10**9}  # fmt: skip

    return [{"info": {"trace_id": f"t{at}", "state": "OK"}, "data": {"spans": [
        span(at, "a", "CHAIN", None, {"question": row["question"]}, row["answer"]),
        span(at, "b", "RETRIEVER", "a", {"query": "x"},
             [{"page_content": t, "id": i, "metadata": {"score": s}} for i, t, s in row["contexts"]])]}}
        for at, row in enumerate(rows)]  # fmt: skip


def trulens(rows):
    made = []
    for at, row in enumerate(rows):
        own = {"record_type": "SPAN", "record": {}}
        root = {"ai.observability.span_type": "record_root", "ai.observability.record_root.input": row["question"],
                "ai.observability.record_root.output": row["answer"]}  # fmt: skip
        found = {"ai.observability.span_type": "retrieval", "ai.observability.retrieval.query_text": "x",
                 "ai.observability.retrieval.retrieved_contexts": [t for _, t, _ in row["contexts"]]}  # fmt: skip
        made += [{**own, "record_attributes": root, "trace": {"trace_id": f"t{at}", "span_id": "a", "parent_id": ""}},
                 {**own, "record_attributes": found, "trace": {"trace_id": f"t{at}", "span_id": "b", "parent_id": "a"}}]  # fmt: skip
    return made


def each(convert):
    return lambda rows: [convert(at, row) for at, row in enumerate(rows)]


def chat(said):
    return {"choices": [{"message": {"role": "assistant", "content": said}}]}


def spanned(question, answer, retriever, documents):
    """Spans whose contexts stand in a span of their own, as one JSON object a record."""
    def made(rows):
        done = []
        for at, row in enumerate(rows):
            own = {"trace_id": f"t{at}"}
            done += [{**own, "span_id": f"a{at}", "parent_id": None, **question(row), **answer(row)},
                     {**own, "span_id": f"b{at}", "parent_id": f"a{at}", **retriever, **documents(row)}]  # fmt: skip
        return done

    return made


def datadog(rows):
    return [{"data": {"type": "span", "attributes": {"ml_app": "x", "spans": [
        {"trace_id": f"t{at}", "span_id": "a", "parent_id": "undefined", "start_ns": 10**18, "duration": 2 * 10**9,
         "meta": {"kind": "workflow", "input": {"value": r["question"]}, "output": {"value": r["answer"]}}},
        {"trace_id": f"t{at}", "span_id": "b", "parent_id": "a", "meta": {"kind": "retrieval", "input": {"value": "x"},
         "output": {"documents": items(r, "id", "text", "score")}}}]}}} for at, r in enumerate(rows)]  # fmt: skip


def logs(rows):
    """OpenTelemetry's log records of a conversation; contexts are not logged."""
    records = []
    for at, r in enumerate(rows):
        for name, said in (("gen_ai.user.message", r["question"]), ("gen_ai.choice", r["answer"])):
            body = {"kvlistValue": {"values": keyed({"content": said})}}
            records.append({"traceId": f"t{at}", "spanId": "a", "eventName": name, "body": body})
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}


def bedrock(rows):
    turns = [{"inputRecord": {"prompt": {"content": [{"text": r["question"]}]}}, "output": {"text": r["answer"], "retrievedPassages": {
        "retrievalResults": [{"content": {"text": t}, "score": s, "metadata": {"id": i}} for i, t, s in r["contexts"]]}},
        "results": [{"metricName": "Builtin.Correctness", "result": 1.0}]} for r in rows]  # fmt: skip
    return [{"conversationTurns": [turn]} for turn in turns]


SHAPES = {
    "OpenInference": openinference, "OpenTelemetry GenAI": genai, "Phoenix": phoenix, "Langfuse": langfuse,
    "LangSmith": langsmith, "MLflow": mlflow, "TruLens": trulens,
    "ragas": each(lambda at, r: {"user_input": r["question"], "response": r["answer"], "retrieved_contexts": [t for _, t, _ in r["contexts"]],
                                 "retrieved_context_ids": [i for i, _, _ in r["contexts"]]}),
    "DeepEval": lambda rows: {"testCases": [{"input": r["question"], "actualOutput": r["answer"],
                                             "retrievalContext": [t for _, t, _ in r["contexts"]]} for r in rows]},
    "Databricks": each(lambda at, r: {"request": {"messages": [{"role": "user", "content": r["question"]}]},
                                      "response": {"choices": [{"message": {"role": "assistant", "content": r["answer"]}}]},
                                      "retrieved_context": items(r, "doc_uri", "content", "score")}),
    "FlashRAG": each(lambda at, r: {"id": f"t{at}", "question": r["question"], "golden_answers": ["g"], "output": {
        "pred": r["answer"], "retrieval_result": items(r, "id", "contents", "score")}}),
    "mt-rag": each(lambda at, r: {"task_id": f"t{at}", "contexts": items(r, "document_id", "text", "score"),
                                  "input": [{"speaker": "user", "text": r["question"]}], "predictions": [{"text": r["answer"]}]}),
    "Dify": lambda rows: {"data": [{"id": f"t{at}", "inputs": {}, "query": r["question"], "answer": r["answer"],
                                    "retriever_resources": items(r, "segment_id", "content", "score")} for at, r in enumerate(rows)]},
    "RAGFlow": each(lambda at, r: {"id": f"t{at}", "question": r["question"], "answer": r["answer"],
                                   "reference": {"total": 1, "chunks": items(r, "id", "content", "similarity")}}),
    "FastGPT": each(lambda at, r: {"id": f"t{at}", "question": r["question"], "answer": r["answer"],
                                   "responseData": [{"moduleType": "datasetSearchNode", "quoteList": items(r, "id", "q", "score")}]}),
    "Haystack": lambda rows: {"questions": [r["question"] for r in rows], "predicted_answers": [r["answer"] for r in rows],
                              "contexts": [[t for _, t, _ in r["contexts"]] for r in rows]},
    "LangChain messages": each(lambda at, r: {"id": f"t{at}", "documents": items(r, "id", "page_content", "score"), "messages": [
        {"type": "human", "content": r["question"]}, {"type": "ai", "content": [{"type": "text", "text": r["answer"]}]}]}),
}  # fmt: skip
SHAPES |= {
    "Datadog": datadog, "OpenTelemetry logs": logs, "Bedrock": bedrock,
    "Jaeger": lambda rows: {"data": [{"traceID": f"t{at}", "processes": {}, "spans": [
        {"traceID": f"t{at}", "spanID": "a", "operationName": "rag", "references": [], "startTime": 10**15, "duration": 2 * 10**6,
         "tags": [{"key": "input.value", "value": r["question"]}, {"key": "output.value", "value": r["answer"]}]},
        {"traceID": f"t{at}", "spanID": "b", "operationName": "retrieve", "references": [{"refType": "CHILD_OF", "spanID": "a"}],
         "tags": [{"key": "openinference.span.kind", "value": "RETRIEVER"}, *({"key": f"retrieval.documents.{n}.document.{k}", "value": v}
                  for n, item in enumerate(r["contexts"]) for k, v in zip(("id", "content", "score"), item, strict=True))]}]}
        for at, r in enumerate(rows)]},
    "Zipkin": lambda rows: [one for at, r in enumerate(rows) for one in (
        {"traceId": f"t{at}", "id": "a", "name": "rag", "timestamp": 10**15, "duration": 2 * 10**6,
         "tags": {"input.value": r["question"], "output.value": r["answer"]}},
        {"traceId": f"t{at}", "id": "b", "parentId": "a", "tags": {"openinference.span.kind": "RETRIEVER", **{
            f"retrieval.documents.{n}.document.{k}": v for n, item in enumerate(r["contexts"])
            for k, v in zip(("id", "content", "score"), item, strict=True)}}})],
    "Logfire": spanned(lambda r: {"attributes": {"pydantic_ai.all_messages": json.dumps(
        [{"role": "user", "parts": [{"type": "text", "content": r["question"]}]}]), "final_result": r["answer"]}},
        lambda r: {"span_name": "agent run", "message": "x"}, {"span_name": "retrieve"},
        lambda r: {"attributes": {"output": items(r, "id", "content", "score")}}),
    "Weave": lambda rows: [one for at, r in enumerate(rows) for one in (
        {"id": f"a{at}", "trace_id": f"t{at}", "parent_id": None, "op_name": "weave:///e/p/op/RAG.predict:v1",
         "inputs": {"self": "weave:///e/p/object/RAG:v1", "question": r["question"]}, "output": {"answer": r["answer"]}},
        {"id": f"b{at}", "trace_id": f"t{at}", "parent_id": f"a{at}", "op_name": "weave:///e/p/op/retrieve:v1",
         "inputs": {"query": "x"}, "output": items(r, "id", "text", "score")})],
    "Weave evaluation": each(lambda at, r: {"id": f"t{at}", "trace_id": "e", "op_name": "weave:///e/p/op/Evaluation.predict_and_score:v1",
        "inputs": {"example": {"question": r["question"]}, "model": "m"}, "output": {"scores": {"right": {"correct": True}},
        "output": {"answer": r["answer"], "contexts": items(r, "id", "text", "score")}, "model_latency": 2.0}}),
    "Opik": lambda rows: [{"trace": {"id": f"t{at}", "input": {"question": r["question"]}, "output": {"response": r["answer"]}},
                           "spans": [{"id": "s", "trace_id": f"t{at}", "type": "general", "name": "retrieve_contexts",
                                      "output": {"output": items(r, "id", "content", "score")}}]} for at, r in enumerate(rows)],
    "Braintrust": lambda rows: [one for at, r in enumerate(rows) for one in (
        {"id": f"a{at}", "span_id": f"a{at}", "root_span_id": f"a{at}", "span_parents": None, "input": r["question"], "output": r["answer"],
         "expected": None, "scores": {"Factuality": 0.5}, "span_attributes": {"type": "task", "name": "rag"}},
        {"id": f"b{at}", "span_id": f"b{at}", "root_span_id": f"a{at}", "span_parents": [f"a{at}"], "input": "x",
         "output": items(r, "id", "content", "score"), "span_attributes": {"type": "function", "name": "retrieve"}})],
    "LangWatch": lambda rows: {"traces": [{"trace_id": f"t{at}", "input": {"value": r["question"]}, "output": {"value": r["answer"]},
        "spans": [{"span_id": "a", "trace_id": f"t{at}", "type": "rag", "contexts": items(r, "document_id", "content", "score")}]}
        for at, r in enumerate(rows)]},
    "Galileo": lambda rows: {"traces": [{"type": "trace", "id": f"t{at}", "input": r["question"], "output": r["answer"], "spans": [
        {"type": "workflow", "input": "x", "output": "y", "spans": [{"type": "retriever", "input": "x",
         "output": [{"content": t, "metadata": {"id": i, "score": s}} for i, t, s in r["contexts"]]}]}]} for at, r in enumerate(rows)]},
    "LangSmith examples": each(lambda at, r: {"run": {"id": f"r{at}", "outputs": {"answer": r["answer"],
        "documents": items(r, "id", "page_content", "score")}}, "example": {"id": f"t{at}", "inputs": {"question": r["question"]},
        "outputs": {"answer": "gold"}}, "evaluation_results": {"results": [{"key": "correct", "score": 1}]}}),
    "Phoenix experiment": each(lambda at, r: {"example_id": f"t{at}", "input": {"question": r["question"]}, "reference_output": {"a": "g"},
        "output": {"answer": r["answer"], "contexts": items(r, "id", "text", "score")},
        "annotations": [{"name": "correct", "score": 1.0, "label": "yes"}]}),
    "Azure AI evaluation": lambda rows: {"rows": [{"inputs.query": r["question"], "inputs.response": r["answer"],
        "inputs.context": items(r, "id", "text", "score"), "outputs.groundedness.groundedness": 5.0,
        "outputs.groundedness.groundedness_reason": "why"} for r in rows], "metrics": {"groundedness.groundedness": 5.0}},
    "Azure conversation": each(lambda at, r: {"conversation": {"messages": [{"role": "user", "content": r["question"]},
        {"role": "assistant", "content": r["answer"], "context": {"citations": items(r, "id", "content", "score")}}]}}),
    "Vertex": each(lambda at, r: {"request": {"contents": [{"role": "user", "parts": [{"text": r["question"]}]}]}, "response": {
        "candidates": [{"content": {"role": "model", "parts": [{"text": r["answer"]}]}, "groundingMetadata": {"groundingChunks": [
            {"retrievedContext": {"uri": i, "text": t}} for i, t, _ in r["contexts"]]}}]}}),
    "Helicone": each(lambda at, r: {"request_id": f"t{at}", "request_body": {"messages": [{"role": "user", "content": r["question"]}]},
        "response_body": chat(r["answer"]), "documents": items(r, "id", "text", "score")}),
    "OpenAI evals": each(lambda at, r: {"id": f"t{at}", "datasource_item": {"question": r["question"], "contexts": items(r, "id", "text", "score")},
        "sample": {"output": [{"role": "assistant", "content": r["answer"]}]}, "results": [{"name": "match", "score": 1.0}]}),
    "OpenAI request": each(lambda at, r: {"custom_id": f"t{at}", "request": {"body": {"messages": [{"role": "user", "content": r["question"]}]}},
        "response": {"status_code": 200, "body": chat(r["answer"])}, "chunks": items(r, "id", "text", "score")}),
    "promptfoo": lambda rows: {"evalId": "e", "results": {"version": 3, "prompts": [], "results": [{"testIdx": at, "vars": {
        "question": r["question"], "contexts": items(r, "id", "text", "score")}, "response": {"output": r["answer"]}, "success": True,
        "score": 1, "testCase": {}} for at, r in enumerate(rows)]}},
    "Label Studio": each(lambda at, r: {"id": at, "data": {"question": r["question"], "contexts": items(r, "id", "text", "score")},
        "annotations": [{"result": [{"from_name": "answer", "type": "textarea", "value": {"text": [r["answer"]]}}]}]}),
    "Argilla": each(lambda at, r: {"id": f"t{at}", "fields": {"question": r["question"], "response": r["answer"],
        "contexts": items(r, "id", "text", "score")}, "metadata": {}, "responses": {}}),
    "RAGFlow session": lambda rows: {"code": 0, "data": [{"id": f"t{at}", "messages": [{"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": r["question"]}, {"role": "assistant", "content": r["answer"], "reference": {"chunks": items(
            r, "id", "content", "similarity")}}]} for at, r in enumerate(rows)]},
    "FastGPT chat": each(lambda at, r: {"chatId": f"t{at}", "histories": [{"obj": "Human", "value": [{"text": {"content": r["question"]}}]},
        {"obj": "AI", "value": [{"text": {"content": r["answer"]}}], "responseData": [{"quoteList": items(r, "id", "q", "score")}]}]}),
    "AnythingLLM": each(lambda at, r: {"id": at, "prompt": r["question"], "response": json.dumps(
        {"text": r["answer"], "sources": items(r, "id", "text", "score")})}),
    "Flowise": each(lambda at, r: {"question": r["question"], "text": r["answer"], "sourceDocuments": [
        {"pageContent": t, "metadata": {"id": i, "score": s}} for i, t, s in r["contexts"]]}),
    "Haystack pipeline": each(lambda at, r: {"query": r["question"], "llm": {"replies": [r["answer"]]},
        "retriever": {"documents": items(r, "id", "content", "score")}}),
    "Haystack answers": each(lambda at, r: {"answer_builder": {"answers": [{"query": r["question"], "data": r["answer"],
        "documents": items(r, "id", "content", "score")}]}}),
    "Cohere": each(lambda at, r: {"message": r["question"], "text": r["answer"], "documents": items(r, "id", "snippet", "score")}),
    "LlamaIndex": each(lambda at, r: {"query": r["question"], "response": r["answer"], "source_nodes": [
        {"node": {"id_": i, "text": t}, "score": s} for i, t, s in r["contexts"]]}),
    "AutoRAG": each(lambda at, r: {"qid": f"t{at}", "query": r["question"], "retrieval_gt": [["d1"]], "generation_gt": ["g"],
        "retrieved_contents": [t for _, t, _ in r["contexts"]], "retrieved_ids": [i for i, _, _ in r["contexts"]],
        "generated_texts": r["answer"], "prompts": "x"}),
    "RAGChecker": lambda rows: {"results": [{"query_id": f"t{at}", "query": r["question"], "gt_answer": "g", "response": r["answer"],
        "retrieved_context": items(r, "doc_id", "text", "score")} for at, r in enumerate(rows)], "metrics": {}},
    "Giskard": each(lambda at, r: {"id": f"t{at}", "question": r["question"], "reference_answer": "g", "assistant_answer": r["answer"],
        "documents": items(r, "id", "text", "score")}),
    "Tonic": lambda rows: {"run_data": [{"reference_question": r["question"], "reference_answer": "g", "llm_answer": r["answer"],
        "llm_context": items(r, "id", "text", "score")} for r in rows], "overall_scores": {}},
    "DPR readers": each(lambda at, r: {"question": r["question"], "answers": ["g"], "prediction": r["answer"],
        "ctxs": items(r, "id", "text", "score")}),
    "by question": lambda rows: {r["question"] + "?": {"answer": r["answer"], "contexts": items(r, "id", "text", "score")} for r in rows},
}  # fmt: skip
NO_IDS = ("TruLens", "DeepEval", "Haystack")
NO_CONTEXTS = ("OpenTelemetry logs",)


@pytest.mark.parametrize("tool", list(SHAPES))
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS)
def test_a_recording_in_every_tools_shape_reads_back(tool, rows, tmp_path):
    file = tmp_path / "x.json"
    file.write_text(json.dumps(SHAPES[tool](copy.deepcopy(rows)), ensure_ascii=False), encoding="utf-8")
    samples = load_samples(file)
    mark = "?" if tool == "by question" else ""
    assert samples.frame["question"].tolist() == [row["question"] + mark for row in rows]
    assert samples.frame["answer"].tolist() == [row["answer"] for row in rows]
    if tool in NO_CONTEXTS:
        return
    texts = [[item["text"] for item in items] for items in samples.frame["contexts"]]
    assert texts == [[text for _, text, _ in row["contexts"]] for row in rows]
    if tool not in NO_IDS:
        ids = [[item.get("doc_id") for item in items] for items in samples.frame["contexts"]]
        assert ids == [[one for one, _, _ in row["contexts"]] for row in rows]
    assert samples.n_read == len(samples) and samples.rejected.empty
    if tool in ("OpenInference", "Langfuse", "LangSmith", "MLflow", "Datadog", "Jaeger", "Zipkin", "Weave evaluation"):
        assert samples.frame["latency_ms"].tolist() == [2000.0] * len(rows)
        assert samples.frame.index.tolist() == [f"t{at}" for at in range(len(rows))]


FACTS = [["T", 0]]
PAGES = [["T", ["The tower is ", "300 m tall."]], ["U", ["It is old."]]]


@pytest.mark.parametrize(
    ("value", "reference", "expected"),
    [
        ({"version": "v2", "data": [{"title": "T", "paragraphs": [{"context": "c", "qas": [
            {"id": "s", "question": "How tall?", "answers": [{"text": "300 m", "answer_start": 0}]}]}]}]}, "300 m", None),
        ([{"_id": "h", "question": "How tall?", "answer": "300 m", "supporting_facts": FACTS, "context": PAGES}], "300 m", ["T"]),
        ([{"id": "m", "question": "How tall?", "answer": "300 m", "answerable": True, "paragraphs": [
            {"idx": 0, "title": "T", "paragraph_text": "c", "is_supporting": True}, {"idx": 1, "paragraph_text": "d"}]}], "300 m", ["0"]),
        ([{"id": "k", "input": "How tall?", "output": [{"answer": "300 m", "provenance": [{"wikipedia_id": "7"}]}]}], "300 m", ["7"]),
        ({"Data": [{"Question": "How tall?", "Answer": {"Value": "300 m", "Aliases": ["300 metres"]}}]}, "300 m", None),
        ({"queries": {"q": "How tall?"}, "corpus": {"d": "c"}, "relevant_docs": {"q": ["d"]}}, None, ["d"]),
        ({"examples": [{"query": "How tall?", "query_by": {"type": "ai"}, "reference_contexts": ["c"],
                        "reference_answer": "300 m"}]}, "300 m", None),
        ([{"question": "How tall?", "answer": "300 m", "docs": [{"text": "c"}], "output": "It is 300 m."}], "300 m", None),
        ([{"query": "How tall?", "answers": ["300 m"], "passages": {"passage_text": ["c", "d"], "is_selected": [1, 0]}}], "300 m", None),
        ([{"interaction_id": "c", "query": "How tall?", "answer": "300 m", "alt_ans": [], "search_results": [
            {"page_url": "u", "page_snippet": "c"}]}], "300 m", None),
        ([{"user_input": "How tall?", "reference": "300 m", "reference_contexts": ["c"], "synthesizer_name": "s"}], "300 m", None),
    ],
)  # fmt: skip
def test_answers_of_data_sets_are_references(value, reference, expected):
    samples = load_samples(value)
    row = samples.frame.iloc[0]
    assert (row["question"], row["reference"], row["expected_docs"]) == ("How tall?", reference, expected)
    assert row["answer"] == ("It is 300 m." if "output" in str(value) and "docs" in str(value) else None)


def test_spans_printed_one_after_another_and_tables_of_spans_by_column(tmp_path):
    spans = [{"name": "rag", "context": {"trace_id": "t", "span_id": "a"}, "parent_id": None,
              "attributes": {"input.value": "How tall?", "output.value": "300 m"}},
             {"name": "retrieve", "context": {"trace_id": "t", "span_id": "b"}, "parent_id": "a",
              "attributes": {"openinference.span.kind": "RETRIEVER", "retrieval.documents.0.document.content": "c"}}]  # fmt: skip
    (tmp_path / "console.json").write_text("\n".join(json.dumps(span, indent=4) for span in spans), encoding="utf-8")
    columns = {"context.trace_id": {"0": "t", "1": "t"}, "context.span_id": {"0": "a", "1": "b"}, "parent_id": {"0": None, "1": "a"},
               "attributes.input.value": {"0": "How tall?", "1": "x"}, "attributes.output.value": {"0": "300 m", "1": None},
               "attributes.retrieval.documents": {"0": None, "1": [{"document.content": "c"}]}}  # fmt: skip
    (tmp_path / "frame.json").write_text(json.dumps(columns), encoding="utf-8")
    for name in ("console.json", "frame.json"):
        row = load_samples(tmp_path / name).frame.iloc[0]
        assert (row["question"], row["answer"], row["contexts"]) == ("How tall?", "300 m", [{"text": "c"}]), name
    with pytest.raises(WorkbenchError, match="no question in any"):
        load_samples([{"trace_id": "t", "span_id": "a", "name": "GET /", "attributes": {"http.method": "GET"}}])


def test_cells_written_as_json_and_scores_as_tools_write_them(tmp_path):
    table = 'id,timestamp,input,output,latency,faithfulness,relevance/value,toxicity/v1/score\nt,x,"""How tall?""","{""answer"": ""300 m""}",2.5,[0.5],yes,4\n'
    (tmp_path / "x.csv").write_text(table, encoding="utf-8")
    samples = load_samples(tmp_path / "x.csv")
    row = samples.frame.iloc[0]
    assert (row["question"], row["answer"], row["latency_ms"]) == ("How tall?", "300 m", 2500.0)
    assert samples.recorded_scores.iloc[0].to_dict() == {"faithfulness": 0.5, "relevance": 1.0, "toxicity/v1/score": 4.0}


def test_promptfoos_table_and_numbered_contexts():
    head = {"question": "How tall?", "[openai:gpt-4o] Answer": "300 m", "Status": "PASS", "Score": "1.00", "Grader Reason": ""}
    assert load_samples([head]).frame["answer"].tolist() == ["300 m"]
    row = {"question": "How tall?", "Retrieved chunk 2": "d", "Retrieved chunk 1": "c"}
    assert [one["text"] for one in load_samples([row]).frame["contexts"].iloc[0]] == ["c", "d"]


def mutated(value: Any, draw: random.Random) -> Any:
    """``value`` with one thing in it gone, doubled or of another kind."""
    odd = [None, "", [], {}, 7, "x", float("nan"), [None], {"a": {"b": []}}, "[1, ", True, 10**30, [["x"]], "\u0000"]
    if isinstance(value, (dict, list)) and value and draw.random() < 0.85:
        done = copy.copy(value)
        key = draw.choice(list(done)) if isinstance(done, dict) else draw.randrange(len(done))
        act = draw.random()
        if act < 0.75:
            done[key] = mutated(done[key], draw)
        elif act < 0.9:
            del done[key]
        elif isinstance(done, list):
            done.insert(key, done[key])
        else:
            done[draw.choice(["id", "messages", "spans", "data", "input"])] = done.pop(key)
        return done
    return draw.choice(odd)


def check_mutations(n: int, seed: int = 1) -> int:
    """Load ``n`` mutated recordings; the number that were refused. Anything but a clear error is a failure."""
    draw, refused = random.Random(seed), 0
    rows = [
        {
            "question": "What is it?",
            "answer": "It is this.",
            "contexts": [("d1", "It is this one.", 0.5), ("d2", "No", 0.25)],
        }
    ] * 2
    for _ in range(n):
        value = SHAPES[draw.choice(list(SHAPES))](copy.deepcopy(rows))
        for _ in range(draw.randint(1, 4)):
            value = mutated(value, draw)
        if not isinstance(value, (list, dict)):
            continue
        try:
            samples = load_samples(value, turns=draw.choice(["last", "all"]))
        except WorkbenchError as error:
            refused += 1
            assert "\n" not in str(error) and len(str(error)) <= 400
        else:
            assert samples.n_read == len(samples) + samples.rejected["row"].nunique()
    return refused


def test_mutations_never_crash():
    assert 0 < check_mutations(400) < 400


# ---------------------------------------------------------------- conversations


TALK = [
    {"role": "system", "content": "Be brief."}, {"role": "user", "content": "How many people live in London?"},
    {"role": "assistant", "content": "About 9 million."}, {"role": "user", "content": "And in Paris?"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}, {"role": "tool", "content": "Paris: 2.1 million."},
    {"role": "assistant", "content": "About 2.1 million."},
]  # fmt: skip


def test_a_conversation_is_one_sample_or_one_a_turn():
    last = load_samples([{"id": "c", "messages": TALK, "reference": "2.1 million"}])
    assert last.frame[["question", "answer"]].to_dict("index") == {
        "c": {"question": "And in Paris?", "answer": "About 2.1 million."}
    }
    assert last.frame.loc["c", "contexts"] == [{"text": "Paris: 2.1 million.", "kind": "tool"}]
    assert [one["content"] for one in last.frame.loc["c", "history"]] == [
        "How many people live in London?",
        "About 9 million.",
    ]
    every = load_samples([{"id": "c", "messages": TALK, "reference": "2.1 million"}], turns="all")
    assert every.frame.index.tolist() == ["c/1", "c/2"] and every.n_read == 2
    assert every.frame["reference"].tolist() == [None, "2.1 million"]
    assert wb.query_types(every)["how_many"].tolist() == [True, True]  # the second is short: read after the first
    sample = every["c/2"]
    assert sample.asked == "How many people live in London?\nAnd in Paris?" and sample.conversation.endswith(
        "user: And in Paris?"
    )
    with pytest.raises(WorkbenchError, match="'last' or 'all'"):
        load_samples([{"messages": TALK}], turns="each")


def test_the_history_survives_an_evaluation_and_stands_on_the_card(tmp_path):
    from workbench.views.card import card_html

    result = wb.evaluate([{"id": "c", "messages": TALK}], judge=None, progress=False)
    result.save(tmp_path / "saved")
    again = wb.load_evaluation(tmp_path / "saved").samples
    assert again.frame.loc["c", "history"][1] == {"role": "assistant", "content": "About 9 million."}
    assert again.frame.loc["c", "contexts"][0]["kind"] == "tool"
    card = str(card_html(wb.Session(result), "c"))
    assert "How many people live in London?" in card and "wb-history" in card


def test_records_of_one_conversation_are_each_others_history():
    rows = [{"conversation_id": "k", "created_at": 2, "question": "And Bonn?", "answer": "No."},
            {"conversation_id": "k", "created_at": 1, "question": "Is Rome in Italy?", "answer": "Yes."}]  # fmt: skip
    history = load_samples(rows).frame["history"].tolist()
    assert history[1] is None and [one["content"] for one in history[0]] == ["Is Rome in Italy?", "Yes."]
    told = [{"conversation_id": "k", "role": r, "content": c} for r, c in (("user", "Hi?"), ("assistant", "Ho."))]
    assert load_samples(told).frame[["question", "answer"]].to_dict("index") == {
        "k": {"question": "Hi?", "answer": "Ho."}
    }


# ---------------------------------------------------------------- shapes, names, ids


@pytest.mark.parametrize(
    ("given_value", "kept"),
    [
        ([["c1", "c2"], ["c3"]], [{"text": "c1"}, {"text": "c2"}, {"text": "c3"}]),
        ([["T", ["s1 ", "s2"]]], [{"text": "s1 s2", "doc_id": "T", "title": "T"}]),
        ([["id1", "a text", 0.5]], [{"text": "a text", "doc_id": "id1", "score": 0.5}]),
    ],
)
def test_nested_contexts(given_value, kept):
    assert load_samples([{"question": "q", "contexts": given_value}]).frame["contexts"].iloc[0] == kept


def test_joined_contexts_are_asked_about_and_cut_when_told():
    row = {"question": "q", "contexts": "the first text|the second text"}
    asked = load_samples([row])
    assert len(asked.frame["contexts"].iloc[0]) == 1 and "separator='|'" in asked.warnings["reason"].iloc[0]
    assert len(load_samples([row], separator="|").frame["contexts"].iloc[0]) == 2


def test_numbers_as_people_write_them():
    row = {"question": "q", "faithfulness": "50%", "answer_relevancy": "0,5", "latency_ms": "1,234"}
    samples = load_samples([row])
    assert samples.recorded_scores.iloc[0].tolist() == [0.5, 0.5]
    assert "thousands or a decimal comma" in samples.warnings["reason"].iloc[0]


def test_names_are_suggested_as_one_mapping():
    with pytest.raises(WorkbenchError, match=r"'The utterance': 'question', 'What it said': 'answer', 'Truth text': 'reference'"):
        load_samples([{"The utterance": "q", "What it said": "a", "Chunks": "c", "Truth text": "g"}])


def test_expected_documents_given_as_texts_are_found_by_content():
    texts = ["The cat sat on the mat today.", "Dogs are never ever cats at all."]
    rows = [
        {
            "question": "q",
            "answer": "a",
            "relevant_contexts": texts,
            "contexts": ["The cat  sat on the mat today.", "x"],
        }
    ]
    assert wb.evaluate(rows, judge=None, progress=False).scores()["recall@5"].tolist() == [0.5]
    corpus = [{"doc_id": "A", "text": texts[0]}, {"doc_id": "B", "text": texts[1]}]
    assert load_samples(rows, corpus=corpus).frame["expected_docs"].tolist() == [["A", "B"]]


def test_ids_that_differ_in_form_are_offered_a_form():
    assert matching_form({"Docs/HR%20Policy.PDF"}, {"hr policy", "x"}) == (("case", "percent", "path", "suffix"), 1)
    assert matching_form({"a"}, {"b"}) == ((), 0)
    rows = [
        {"question": "q", "answer": "a", "expected_docs": ["docs/Ａ.md"], "contexts": [{"doc_id": "A", "text": "t"}]}
    ]
    found = wb.check(load_samples(rows)).set_index("check").loc["ids_differ_in_form"]
    assert found["remedy"] and "unicode" in found["message"]
    assert load_samples(rows, normalize_ids=True).frame["expected_docs"].tolist() == [["A"]]
    with pytest.raises(WorkbenchError, match="normalize_ids"):
        load_samples(rows, normalize_ids=["colour"])


def test_runs_without_ids_are_paired_by_question():
    before = wb.evaluate(
        [{"question": q, "answer": "x"} for q in ["one", "two", "three", "three"]], judge=None, progress=False
    )
    after = wb.evaluate(
        [{"question": q, "answer": "y"} for q in ["three", "one", "three", "two"]], judge=None, progress=False
    )
    found = wb.compare(before, after)
    assert len(found) == 4 and not found.pairing.case_changed.any() and found.renamed == {"1": "2", "2": "4", "4": "1"}
    reused = wb.evaluate(
        [{"id": "1", "question": "Something else entirely?", "answer": "y"}], judge=None, progress=False
    )
    assert len(wb.compare(before, reused)) == 0


# ---------------------------------------------------------------- back out


@pytest.fixture(scope="module")
def result():
    rows = [{"trace_id": f"t{n}", "question": "How many?", "answer": "5.", "must_include": [str(4 + n)], "contexts": ["It is 5."]}
            for n in (0, 1)]  # fmt: skip
    return wb.evaluate(rows, judge=None, progress=False)


def test_scores_go_back_by_trace_id(result, tmp_path):
    session = wb.Session(result)
    texts = {
        name: export_findings(session, tmp_path / name, format=name, language="en").read_text("utf-8")
        for name in WRITERS
    }
    batch = json.loads(texts["langfuse"])["batch"]
    points = {
        e["body"]["traceId"]: e["body"]["value"] for e in batch if e["body"]["name"] == "workbench.key_point_coverage"
    }
    assert points == {"t0": 0.0, "t1": 1.0}
    lines = [json.loads(line) for line in texts["mlflow"].splitlines()]
    assert {line["trace_id"] for line in lines} == {"t0", "t1"} and all(
        line["value"] == line["value"] for line in lines
    )
    causes = [json.loads(line) for line in texts["langsmith"].splitlines() if ".cause" in line]
    assert [one["value"] for one in causes] == result.failures()["primary_cause"].tolist()
    assert json.loads(texts["phoenix"])["data"][0]["annotator_kind"] == "CODE"
    assert texts["summary"].startswith("## ") and "t0" in texts["summary"]


def test_a_frame_of_everything(result):
    frame = result.to_frame()
    assert frame.columns.is_unique and frame["key_point_coverage"].tolist() == [0.0, 1.0]
    assert {"question", "primary_cause"} <= set(frame.columns) and frame.index.tolist() == ["t0", "t1"]


def test_definitions_by_hand():
    import pandas as pd

    class Judged:
        thresholds = wb.Thresholds()

        class evidence:
            ids = pd.Index(["a"])

        def contexts(self):
            return pd.DataFrame({"sample_id": "a", "relevance": [0.1, 0.9, 0.9], "prompted": True})

        def claims(self):
            verdicts = ["supported", "contradicted", "not_mentioned", "supported"]
            return pd.DataFrame({"sample_id": "a", "side": ["answer"] * 3 + ["reference"], "verdict": verdicts,
                                 "support": [0.9, 0.0, 0.3, 0.8]})  # fmt: skip

    found = under_definitions(Judged()).set_index(["metric", "tool"])["value"].round(6).to_dict()
    assert found["context precision", "ragas"] == round((1 / 2 + 2 / 3) / 2, 6)
    assert found["context precision", "RAGChecker"] == round(2 / 3, 6)
    assert found["faithfulness", "ragas"] == round(1 / 3, 6) and found["faithfulness", "DeepEval"] == round(2 / 3, 6)
    assert found["groundedness", "TruLens"] == 0.4 and found["context recall", "ragas"] == 1
    assert found["hallucination", "Phoenix"] == 1
