"""Other libraries' judgements: what they wrote is read as it is, and what they could not compute stays missing."""

from __future__ import annotations

import asyncio
import json
import math
import sys
import types

import pytest

import workbench as wb
from workbench.data.schema import Context, Sample
from workbench.errors import InputError, JudgeError
from workbench.evidence.adapters import ragas_scores, recorded_judgements, with_ragas

DEEPEVAL = {
    "test_results": [
        {
            "name": "case_0", "success": False, "input": "上限？", "actual_output": "2 GB", "expected_output": "2 GB",
            "context": None, "retrieval_context": ["上限为 2 GB"],
            "metrics_data": [
                {"name": "Faithfulness", "threshold": 0.5, "success": True, "score": 0.9, "reason": "all good",
                 "evaluation_model": "gpt-4o", "error": None},
                {"name": "Answer Relevancy", "threshold": 0.7, "success": False, "score": None, "reason": None,
                 "evaluation_model": "gpt-4o", "error": "rate limit"},
            ],
        },
        {"name": "case_1", "input": "", "actual_output": "x", "context": None, "metrics_data": [{"name": "F", "score": 1}]},
        {"name": "case_2", "input": "What?", "actual_output": "x", "context": None,
         "metrics_data": [{"name": "F", "score": "NaN", "success": True}]},
    ]
}  # fmt: skip
TRULENS = [
    {
        "app_id": "a", "record_id": "r1", "input": "What?", "output": "2 GB", "Groundedness": 0.8, "tags": "-",
        "Groundedness_calls": json.dumps([
            {"args": {"source": ["limit 2 GB"]}, "ret": 0.8, "meta": {"reasons": "criteria: stated"}},
        ]),
    },
]  # fmt: skip


def test_deepeval_judgements_keep_reasons_errors_and_ids(tmp_path):
    path = tmp_path / "deepeval.json"
    path.write_text(json.dumps(DEEPEVAL), encoding="utf-8")
    frame = recorded_judgements(path)
    samples = wb.load_samples(path)
    assert set(frame["sample_id"]) == set(samples.frame.index) and len(samples) == 2
    first, second, third = frame.to_dict("records")
    assert (first["tool"], first["score"], first["passed"], first["reason"], first["judge"], first["state"]) == (
        "deepeval", 0.9, True, "all good", "gpt-4o", "ok",
    )  # fmt: skip
    assert math.isnan(second["score"]) and (second["state"], second["reason"]) == ("judge_error", "rate limit")
    assert second["passed"] is None
    assert math.isnan(third["score"]) and third["state"] == "judge_error"


def test_trulens_judgements(tmp_path):
    path = tmp_path / "trulens.json"
    path.write_text(json.dumps(TRULENS), encoding="utf-8")
    (row,) = recorded_judgements(path).to_dict("records")
    assert (row["sample_id"], row["tool"], row["metric"], row["score"]) == ("r1", "trulens", "Groundedness", 0.8)
    assert row["reason"] == "criteria: stated" and row["passed"] is None


def test_a_file_without_judgements_says_so(tmp_path):
    path = tmp_path / "plain.jsonl"
    path.write_text('{"question": "q", "answer": "a"}\n', encoding="utf-8")
    with pytest.raises(InputError, match="no judgements"):
        recorded_judgements(path)


# ---------------------------------------------------------------- RAGAS, by a stand-in with its interface

SAMPLES = [
    Sample("a", "q1?", "answer", (Context("seen"), Context("unseen", prompted=False)), "ref"),
    Sample("b", "q2?", None, None),
]


@pytest.fixture
def ragas(monkeypatch):
    library = types.ModuleType("ragas")
    library.metrics = types.ModuleType("ragas.metrics")
    library.metrics.faithfulness = "the faithfulness metric"
    library.seen = []

    class EvaluationDataset:
        from_list = staticmethod(list)

    async def aevaluate(data, metrics, **options):
        await asyncio.sleep(0)
        library.seen.append((data, metrics, options))
        return types.SimpleNamespace(scores=[{"faithfulness": 1.0}, {"faithfulness": float("nan")}])

    library.EvaluationDataset, library.aevaluate = EvaluationDataset, aevaluate
    monkeypatch.setitem(sys.modules, "ragas", library)
    monkeypatch.setitem(sys.modules, "ragas.metrics", library.metrics)
    return library


def test_ragas_sees_the_same_samples(ragas):
    async def inside_a_loop():
        return ragas_scores(SAMPLES, ["faithfulness"])

    frame = asyncio.run(inside_a_loop())
    ((data, metrics, options),) = ragas.seen
    assert data == [
        {"user_input": "q1?", "response": "answer", "retrieved_contexts": ["seen"], "reference": "ref"},
        {"user_input": "q2?"},
    ]
    assert metrics == ["the faithfulness metric"] and options["raise_exceptions"] is False
    assert list(frame.columns) == ["ragas_faithfulness"] and frame.loc["a"].item() == 1.0
    assert math.isnan(frame.loc["b"].item())


def test_ragas_scores_stand_beside_recorded_ones(ragas):
    samples = wb.load_samples([{"question": "q1", "answer": "a"}, {"question": "q2", "answer": "b"}])
    both = with_ragas(samples, ["faithfulness"])
    assert both.recorded_scores["ragas_faithfulness"].iloc[0] == 1.0
    assert "ragas_faithfulness" not in samples.recorded_scores
    assert list(with_ragas(both, ["faithfulness"]).recorded_scores.columns) == ["ragas_faithfulness"]


def test_what_ragas_raises_is_one_clear_line(ragas):
    async def fails(data, metrics, **options):
        raise RuntimeError("no\nmodel")

    ragas.aevaluate = fails
    with pytest.raises(JudgeError, match="ragas failed: RuntimeError: no model"):
        ragas_scores(SAMPLES, ["faithfulness"])
    with pytest.raises(InputError, match="no metric 'unheard_of'"):
        ragas_scores(SAMPLES, ["unheard_of"])


def test_without_ragas_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ragas", None)
    with pytest.raises(InputError, match="pip install ragas"):
        ragas_scores(SAMPLES)
