"""Recording a live system: everything is kept, nothing is asked twice, no key is written."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

import workbench as wb
from workbench.data.record import Template, at_path, record
from workbench.errors import CancelledError, InputError

KEY = "sk-live-0123456789secret"
CASES = [
    {"sample_id": "a", "question": "上传上限是多少？", "reference": "2GB", "tenant": "t1", "must_include": ["2GB"]},
    {"sample_id": "b", "question": "What is the limit?", "expected_docs": ["d1"], "tags": {"kind": "fact"}},
    {"sample_id": "c", "question": "能退款吗？", "expect_refusal": True},
]


@pytest.fixture(scope="module")
def running_server():
    with HTTPServer(host="127.0.0.1", port=0, threaded=True) as running:
        yield running


class Service:
    """A retrieval service that can misbehave."""

    def __init__(self):
        self.requests = []
        self.answer = lambda body, n: {
            "answer": f"A: {body['question']}",
            "contexts": [{"id": "d1", "text": "上限 2GB", "score": 0.5}],
            "citations": ["d1"],
            "refused": False,
        }

    def __call__(self, request: Request) -> Response:
        body = json.loads(request.data)
        self.requests.append((body, dict(request.headers)))
        result = self.answer(body, len(self.requests))
        if isinstance(result, Response):
            return result
        return Response(json.dumps(result), content_type="application/json")


@pytest.fixture
def service(running_server):
    running_server.clear()
    asked = Service()
    running_server.expect_request("/ask", method="POST").respond_with_handler(asked)
    asked.url = running_server.url_for("/ask")
    return asked


def rows(path):
    return {row["sample_id"]: row for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())}


def manifest(path):
    return json.loads(path.with_name("run.manifest.json").read_text(encoding="utf-8"))


@pytest.fixture
def out(tmp_path):
    return tmp_path / "run.jsonl"


def test_a_row_has_its_case_and_what_came_back(service, out):
    result = record(CASES, endpoint=service.url, out=out)
    found = rows(out)
    assert (result.n_cases, result.n_recorded, result.n_kept, result.n_errors) == (3, 3, 0, 0)
    first = found["a"]
    assert first["reference"] == "2GB" and first["must_include"] == ["2GB"] and first["tenant"] == "t1"
    assert first["answer"] == "A: 上传上限是多少？" and first["citations"] == ["d1"] and first["refused"] is False
    assert first["contexts"] == [{"doc_id": "d1", "text": "上限 2GB", "score": 0.5}]
    assert 0 < first["latency_ms"] < 10_000 and "error" not in first
    assert {body["tenant_id"] for body, _ in service.requests} == {"t1", None}


def test_a_recording_loads_as_samples(service, out):
    record(CASES, endpoint=service.url, out=out)
    samples = wb.load_samples(out)
    assert len(samples) == 3 and not len(samples.rejected)
    assert samples.frame.loc["b", "tags"] == {"kind": "fact"}
    assert samples.frame.loc["c", "expect_refusal"] in (True, 1)


def test_going_on_asks_only_what_is_missing(service, out):
    record(CASES[:2], endpoint=service.url, out=out)
    result = record(CASES, endpoint=service.url, out=out)
    assert (result.n_recorded, result.n_kept) == (1, 2) and len(service.requests) == 3
    assert record(CASES, endpoint=service.url, out=out).n_recorded == 0
    assert len(service.requests) == 3 and manifest(out)["complete"] is True


@pytest.mark.parametrize("torn", ['{"sample_id": "b", "quest', '{"sample_id"', "{", '"'])
def test_a_torn_last_line_is_repaired(service, out, torn):
    record(CASES[:1], endpoint=service.url, out=out)
    with out.open("a", encoding="utf-8") as file:
        file.write(torn)
    result = record(CASES, endpoint=service.url, out=out)
    assert result.n_recorded == 2 and sorted(rows(out)) == ["a", "b", "c"]


def test_a_last_line_without_its_newline_is_kept(service, out):
    record(CASES[:1], endpoint=service.url, out=out)
    out.write_bytes(out.read_bytes().rstrip(b"\n"))
    assert record(CASES, endpoint=service.url, out=out).n_kept == 1
    assert sorted(rows(out)) == ["a", "b", "c"]


def test_another_file_is_never_appended_to(out, service):
    out.write_text("id,question\n1,x\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 1"):
        record(CASES, endpoint=service.url, out=out)
    assert out.read_text(encoding="utf-8") == "id,question\n1,x\n"


def test_another_configuration_needs_another_file(service, out):
    record(CASES[:1], endpoint=service.url, out=out, config={"top_k": 5})
    with pytest.raises(InputError, match="config"):
        record(CASES, endpoint=service.url, out=out, config={"top_k": 10})


# ---------------------------------------------------------------- requests and replies


def test_template_headers_and_mapped_reply(service, out, monkeypatch):
    monkeypatch.setenv("RAG_KEY", KEY)
    service.answer = lambda body, n: {
        "data": {
            "reply": "好",
            "docs": [{"body": "文一", "meta": {"id": "x1"}, "s": 0.9}, {"body": "文二", "meta": {}}],
        }
    }
    record(
        CASES[:1],
        endpoint=service.url,
        out=out,
        request={"query": "{question}", "user": "u-{tenant}", "must": "{must_include}", "top_k": 3},
        headers={"Authorization": "Bearer ${RAG_KEY}"},
        response={
            "answer": "$.data.reply",
            "contexts": "$.data.docs",
            "contexts.text": "body",
            "contexts.doc_id": "$.meta.id",
            "contexts.score": "s",
        },
    )
    body, headers = service.requests[0]
    assert body == {"query": "上传上限是多少？", "user": "u-t1", "must": ["2GB"], "top_k": 3}
    assert headers["Authorization"] == f"Bearer {KEY}"
    found = rows(out)["a"]
    assert found["answer"] == "好"
    assert [c["text"] for c in found["contexts"]] == ["文一", "文二"] and found["contexts"][0]["doc_id"] == "x1"


def test_config_is_written_and_sent_by_default(service, out):
    record(CASES[:1], endpoint=service.url, out=out, config={"top_k": 7, "model": "m1", "api_key": KEY})
    assert service.requests[0][0]["top_k"] == 7 and "api_key" not in service.requests[0][0]
    kept = manifest(out)
    assert kept["config"] == {"top_k": 7, "model": "m1", "api_key": "***"}
    assert kept["n_cases"] == kept["n_rows"] == 1 and kept["endpoint"].endswith("/ask")


def test_no_key_is_written_anywhere(service, out, monkeypatch, caplog):
    monkeypatch.setenv("RAG_KEY", KEY)
    service.answer = lambda body, n: Response(f"denied for {KEY} Bearer {KEY}", status=403)
    caplog.set_level("DEBUG")
    record(
        CASES,
        endpoint=service.url.replace("http://", "http://user:hunter22@") + "?token=tok-12345678",
        out=out,
        headers={"Authorization": "Bearer ${RAG_KEY}", "X-Api-Key": KEY},
        config={"password": "pw-987654321"},
    )
    written = "".join(p.read_text(encoding="utf-8") for p in out.parent.iterdir())
    written += "".join(r.getMessage() for r in caplog.records if r.name != "werkzeug")
    for secret in (KEY, "hunter22", "tok-12345678", "pw-987654321"):
        assert secret not in written
    assert "HTTP 403" in written


@pytest.mark.parametrize(
    "options, word",
    [
        ({"request": {"q": "{nothing}"}}, "nothing"),
        ({"request": "{not json"}, "JSON"),
        ({"headers": {"A": "${NOT_SET_ANYWHERE}"}}, "NOT_SET_ANYWHERE"),
        ({"response": {"anwser": "$.a"}}, "anwser"),
        ({"response": {"answer": "$..["}}, "path"),
        ({"endpoint": "ftp://host/x"}, "http"),
        ({"endpoint": "file:///etc/passwd"}, "http"),
        ({"endpoint": None}, "function"),
        ({"concurrency": 0}, "concurrency"),
        ({"timeout": -1}, "timeout"),
    ],
)
def test_wrong_options_are_named_before_anything_is_asked(service, out, options, word):
    with pytest.raises(InputError, match=word):
        record(CASES, **{"endpoint": service.url, "out": out, **options})
    assert not service.requests and not out.exists()


# ---------------------------------------------------------------- trouble


BAD = {
    "no json": (Response("<html>", content_type="text/html"), "no JSON"),
    "cut off": (Response('{"answer": "x', content_type="application/json"), "no JSON"),
    "a list": (["x"], "no JSON object"),
    "no answer": ({"text": "x"}, "it has: text"),
    "answer is a number": ({"answer": 5}, "no text but int"),
    "contexts are a number": ({"answer": "x", "contexts": 5}, "contexts"),
    "404": (Response("no such thing", status=404), "HTTP 404: no such thing"),
    "redirect": (Response("", status=302, headers={"Location": "http://127.0.0.1:9/"}), "HTTP 302"),
    "its own error": ({"error": "index offline"}, "index offline"),
}


@pytest.mark.parametrize("name", BAD)
def test_an_error_is_a_state_of_its_case(service, out, name):
    reply, word = BAD[name]
    good = service.answer
    service.answer = lambda body, n: reply if body["question"].startswith("What") else good(body, n)
    result = record(CASES, endpoint=service.url, out=out)
    found = rows(out)
    assert result.n_errors == 1 and len(service.requests) == 3
    assert word in found["b"]["error"] and found["b"]["answer"] is None and found["b"]["latency_ms"] > 0
    assert "error" not in found["a"] and "error" not in found["c"]


def test_429_and_500_are_tried_again(service, out):
    good = service.answer
    times = []

    def answer(body, n):
        times.append(time.monotonic())
        if n == 1:
            return Response("slow", status=429, headers={"Retry-After": "0.4"})
        return Response("oops", status=500) if n == 2 else good(body, n)

    service.answer = answer
    assert record(CASES[:1], endpoint=service.url, out=out).n_errors == 0
    assert len(service.requests) == 3 and times[1] - times[0] >= 0.4
    assert rows(out)["a"]["latency_ms"] < 400


def test_tries_end(service, out):
    service.answer = lambda body, n: Response("oops", status=503)
    record(CASES[:1], endpoint=service.url, out=out, retries=1)
    assert len(service.requests) == 2 and rows(out)["a"]["error"] == "HTTP 503: oops"
    good = Service().answer
    service.answer = good
    assert record(CASES[:1], endpoint=service.url, out=out).n_recorded == 0
    assert record(CASES[:1], endpoint=service.url, out=out, retry_errors=True).n_recorded == 1
    assert rows(out)["a"]["answer"] and len(out.read_text(encoding="utf-8").splitlines()) == 1


def test_a_hanging_service_times_out(service, out):
    service.answer = lambda body, n: time.sleep(1.5) or {}
    started = time.monotonic()
    record(CASES[:1], endpoint=service.url, out=out, timeout=0.3, retries=0)
    assert time.monotonic() - started < 1.4 and rows(out)["a"]["error"].startswith("timeout")


def test_nobody_listening_is_an_error_of_each_case(out):
    result = record(CASES, endpoint="http://127.0.0.1:9/ask", out=out, retries=0)
    assert result.n_errors == 3 and all("connection" in row["error"] for row in rows(out).values())


# ---------------------------------------------------------------- functions


def test_parameters_are_filled_by_name(out, tmp_path):
    assert record(CASES, lambda question: question.upper(), out=out).n_errors == 0
    assert rows(out)["b"]["answer"] == "WHAT IS THE LIMIT?"
    for number, call in enumerate(
        [
            lambda query: query[:1],
            lambda case: case["question"][:1],
            lambda row, extra=3: {"answer": row["question"][:1]},
            lambda question, *, tags=None: question[:1],
        ]
    ):
        path = tmp_path / f"{number}.jsonl"
        record(CASES, call, out=path)
        assert {row["answer"] for row in rows(path).values()} == {"上", "W", "能"}, number


def test_coroutines_run_side_by_side(out):
    running = peak = 0

    async def call(question):
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0.02)
        running -= 1
        return {"answer": question, "contexts": ["一段文字"]}

    record([{"question": f"q{n}"} for n in range(20)], call, out=out, concurrency=4)
    assert peak == 4
    assert all(row["contexts"] == [{"text": "一段文字"}] for row in rows(out).values())


def test_plain_functions_run_in_threads_and_may_hang(out):
    threads = set()

    def call(question):
        threads.add(threading.get_ident())
        if question == "q3":
            time.sleep(1.5)
        return question

    started = time.monotonic()
    record([{"question": f"q{n}"} for n in range(6)], call, out=out, timeout=0.3, retries=0)
    assert time.monotonic() - started < 1.4 and threading.get_ident() not in threads
    assert [row.get("error", "")[:7] for row in rows(out).values() if row["question"] == "q3"] == ["timeout"]


def test_what_a_function_raises_belongs_to_its_case(out):
    def call(question):
        if "退款" in question:
            raise ValueError(f"bad {KEY}")
        return question

    result = record(CASES, call, out=out)
    assert result.n_errors == 1 and rows(out)["c"]["error"] == "ValueError: bad ***"


def test_works_inside_a_running_loop_reports_and_cancels(out):
    seen = []

    async def main():
        return record(CASES, lambda question: question, out=out, progress=lambda *p: seen.append(p))

    asyncio.run(main())
    assert seen == [(0, 3, 0), (1, 3, 0), (2, 3, 0), (3, 3, 0)]
    other = out.with_name("other.jsonl")
    with pytest.raises(CancelledError):
        record(CASES, lambda question: question, out=other, concurrency=1, cancelled=lambda: True)
    assert len(rows(other)) == 1


KILLED = """
import sys, time
from workbench.data.record import record
def call(question):
    print(question, flush=True)
    time.sleep(0.15)
    return question
record([{"sample_id": f"s{n}", "question": f"q{n}"} for n in range(12)], call, out=sys.argv[1], concurrency=1)
"""


def test_kill_9_loses_at_most_what_is_in_flight(out):
    """The case that is asked, and the one before it whose row is being written."""
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(out)], stdout=subprocess.PIPE, text=True)
    for _ in range(4):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    before = set(rows(out))
    assert 2 <= len(before) < 12
    asked = []
    record(
        [{"sample_id": f"s{n}", "question": f"q{n}"} for n in range(12)],
        lambda question: asked.append(question) or question,
        out=out,
    )
    assert len(rows(out)) == 12 and len(asked) == 12 - len(before)
    assert not {f"s{q[1:]}" for q in asked} & before


# ---------------------------------------------------------------- templates


def test_values_are_put_in_once_and_keep_their_type():
    template = Template(
        {"q": "{question}", "n": "{k}", "t": "[{question}] {none}", "l": ["{k}"]}, ["question", "k", "none"]
    )
    assert template.filled({"question": "{k} ${HOME}", "k": 5}) == {
        "q": "{k} ${HOME}",
        "n": 5,
        "t": "[{k} ${HOME}] ",
        "l": [5],
    }


@pytest.mark.parametrize(
    "path, value",
    [
        ("$.a.b[0].c", 1),
        ("a.b[*].c", [1, 2]),
        ("$.a.b[-1]", {"c": 2}),
        ("$['x y']", 3),
        ("$.missing.b", None),
        ("$.a.b[9]", None),
        ("$.a.b.c", None),
    ],
)
def test_paths(path, value):
    assert at_path({"a": {"b": [{"c": 1}, {"c": 2}]}, "x y": 3}, path) == value
