"""``plan`` and ``score`` with a language model, against a scripted model on a real socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from tests.evidence.llm.scripted import KEY, Model
from tests.shell import workbench


@pytest.fixture
def model(httpserver: HTTPServer) -> Iterator[Model]:
    scripted = Model()
    httpserver.expect_request("/v1/chat/completions", method="POST").respond_with_handler(scripted)
    yield scripted
    httpserver.clear()


def rows(n: int) -> list[dict[str, object]]:
    return [
        {"sample_id": f"e{i}", "question": f"What is the upload limit of plan {i}?",
         "answer": f"The upload limit of plan {i} is 2 GB.", "reference": f"The upload limit of plan {i} is 2 GB",
         "contexts": [f"Note: The upload limit of plan {i} is 2 GB."], "usage": {"model": "scripted-gpt"}}
        for i in range(n)
    ]  # fmt: skip


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows(4)), encoding="utf-8")
    return path


def test_plan_then_score_then_nothing_left(model: Model, httpserver: HTTPServer, recording: Path, tmp_path: Path) -> None:
    environment = {
        "OPENAI_BASE_URL": httpserver.url_for("/v1"), "OPENAI_API_KEY": KEY, "WORKBENCH_CACHE": str(tmp_path / "cache")
    }  # fmt: skip
    options = tmp_path / "judge.toml"
    options.write_text('[llm]\nworkers = 2\nprices = "prices.toml"\nquestions = 2\n'.replace(
        '"prices.toml"', json.dumps(str(tmp_path / "prices.toml"))))  # fmt: skip
    (tmp_path / "prices.toml").write_text("[models]\nscripted-gpt = { input = 1.0, output = 10.0 }\n")
    judged = ("--judge", "llm:scripted-gpt", "--encoder", "none", "--judge-options", options)
    plan = workbench("plan", recording, *judged, **environment)
    assert plan.returncode == 0, plan.stderr
    assert "4 samples" in plan.stdout and "8 calls" in plan.stdout and "$0.0" in plan.stdout
    assert "same family" in plan.stderr and model.requests == []
    unknown = workbench("plan", recording, "--judge", "llm:other", "--limit", 2, **environment)
    assert "2 samples" in unknown.stdout and "unknown" in unknown.stdout and "same family" not in unknown.stderr

    out = tmp_path / "out"
    done = workbench("score", recording, *judged, "--out", out, **environment)
    assert done.returncode == 0, done.stderr
    # 4 samples, two calls each; the scripted server counts 100 tokens sent and 20 received for a call.
    assert "spent: 8 calls (0 repairs), 800 tokens sent and 160 received, $0.0024" in done.stdout
    assert "same family" in done.stderr and len(model.requests) == 8
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["spending"]["calls"] == 8 and manifest["spending"]["cost"] == pytest.approx(0.0024)
    assert manifest["generator"] == "scripted-gpt" and "same family" in manifest["judge_warnings"][0]
    assert manifest["prompt_hash"]
    again = workbench("score", recording, *judged, "--generator", "claude-x", "--out", out, **environment)
    assert "0 samples judged now, 4 known" in again.stdout and "spent: 0 calls" in again.stdout
    assert "same family" not in again.stderr and len(model.requests) == 8
    assert "4 judged before" in workbench("plan", recording, *judged, **environment).stdout
    written = "".join(path.read_text(encoding="utf-8", errors="replace") for path in out.iterdir() if path.is_file())
    assert KEY not in written + done.stdout + done.stderr + plan.stdout + plan.stderr


def test_cascade_says_what_it_saved(model: Model, httpserver: HTTPServer, recording: Path, tmp_path: Path) -> None:
    environment = {
        "OPENAI_BASE_URL": httpserver.url_for("/v1"), "OPENAI_API_KEY": KEY, "WORKBENCH_CACHE": str(tmp_path / "cache")
    }  # fmt: skip
    options = tmp_path / "judge.toml"
    options.write_text("[llm]\nshare = 0.5\ndoubt = 0.0\n")
    out = tmp_path / "out"
    done = workbench("score", recording, "--judge", "offline+llm:scripted", "--judge-options", options,
                     "--encoder", "none", "--out", out, **environment)  # fmt: skip
    assert done.returncode == 0, done.stderr
    cascade = json.loads((out / "manifest.json").read_text(encoding="utf-8"))["cascade"]
    # The model alone takes 8 calls (claims and reverse questions); half of them, without reverse questions, ask all 4.
    assert (cascade["calls_full"], cascade["calls"], cascade["calls_saved"]) == (8, 4, 4)
    assert cascade["n_asked"] == cascade["n_compared"] == len(model.requests) == 4
    assert "cascade: 4 of 4 samples asked about, 4 of 8 calls saved" in done.stdout


@pytest.mark.parametrize(
    ("judge", "environment", "says"),
    [
        ("llm:lone", {}, "OPENAI_API_KEY"),
        ("offline+llm:lone", {}, "OPENAI_API_KEY"),
        ("llm:lone", {"OPENAI_BASE_URL": "localhost:8000/v1"}, "OPENAI_BASE_URL is no address"),
        ("llm:", {}, "llm:MODEL"),
        ("nli:absent-folder", {"HF_HUB_OFFLINE": "1"}, "absent-folder"),
    ],
)
def test_what_a_judge_lacks_is_one_line(
    recording: Path, tmp_path: Path, judge: str, environment: dict[str, str], says: str
) -> None:
    done = workbench("score", recording, "--judge", judge, "--encoder", "none", "--out", tmp_path / "out",
                     WORKBENCH_CACHE=str(tmp_path / "cache"), **environment)  # fmt: skip
    assert done.returncode == 2 and says in done.stderr
    assert "Traceback" not in done.stderr and done.stderr.strip().count("\n") == 0
    assert not (tmp_path / "out").exists()


def test_a_judge_that_cannot_ask_warns_of_nothing_before_it_says_so(recording: Path, tmp_path: Path) -> None:
    done = workbench("score", recording, "--judge", "llm:gpt-x", "--generator", "gpt-y", "--encoder", "none",
                     "--out", tmp_path / "out", WORKBENCH_CACHE=str(tmp_path / "cache"))  # fmt: skip
    assert done.returncode == 2 and done.stderr.strip().count("\n") == 0 and "OPENAI_API_KEY" in done.stderr


def test_a_plan_needs_no_key_and_no_model_for_other_judges(recording: Path, tmp_path: Path) -> None:
    cache = {"WORKBENCH_CACHE": str(tmp_path / "cache")}
    assert "8 calls" in workbench("plan", recording, "--judge", "llm:gpt-4.1-mini", **cache).stdout
    assert "costs nothing" in workbench("plan", recording, "--judge", "none", **cache).stdout
    rated = [*rows(2), {**rows(3)[2], "sampled_answers": ["2 GB", "3 GB"]}]
    recording.write_text("\n".join(json.dumps(row) for row in rated), encoding="utf-8")
    told = workbench("plan", recording, "--judge", "llm:m", "--metrics", "faithfulness,sampled_consistency", **cache)
    assert "6 calls" in told.stdout and "sampled_consistency: about 1 more calls" in told.stdout
    missing = workbench("plan", recording, "--judge", "llm:m", "--judge-options", tmp_path / "absent.toml", **cache)
    assert missing.returncode == 2 and "absent.toml" in missing.stderr
