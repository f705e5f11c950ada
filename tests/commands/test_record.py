"""``record`` on the command line, against a service on a real socket."""

from __future__ import annotations

import json
from pathlib import Path

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.shell import workbench


def test_record_asks_maps_resumes_and_writes_no_key(httpserver: HTTPServer, tmp_path: Path) -> None:
    seen: list[tuple[dict[str, object], str]] = []

    def answer(request: Request) -> Response:
        seen.append((json.loads(request.data), request.headers["Authorization"]))
        return Response(json.dumps({"data": {"text": "2 GB"}}), content_type="application/json")

    httpserver.expect_request("/ask", method="POST").respond_with_handler(answer)
    cases, out = tmp_path / "cases.jsonl", tmp_path / "run.jsonl"
    cases.write_text('{"id": "a", "question": "上限？"}\n{"id": "b", "question": "limit?"}\n', encoding="utf-8")
    command = (
        "record", cases, "--endpoint", httpserver.url_for("/ask"), "--out", out, "--response", "answer=$.data.text",
        "--header", "Authorization=Bearer ${RAG_KEY}", "--config", "top_k=5", "--config", "model=m-1",
    )  # fmt: skip
    done = workbench(*command, RAG_KEY="rag-secret-123")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert {row["sample_id"]: row["answer"] for row in rows} == {"a": "2 GB", "b": "2 GB"}
    assert all(body["top_k"] == 5 and body["model"] == "m-1" and key == "Bearer rag-secret-123" for body, key in seen)
    manifest = tmp_path / "run.manifest.json"
    assert json.loads(manifest.read_text(encoding="utf-8"))["config"] == {"top_k": 5, "model": "m-1"}
    again = workbench(*command, RAG_KEY="rag-secret-123")
    assert again.returncode == 0 and len(seen) == 2
    written = manifest.read_text(encoding="utf-8") + out.read_text(encoding="utf-8") + done.stdout + done.stderr
    assert "rag-secret-123" not in written
    unset = workbench(*command)
    assert unset.returncode == 2 and "RAG_KEY is not set" in unset.stderr and "Traceback" not in unset.stderr
