"""Keys are written nowhere; a killed run repeats nothing that was committed."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import subprocess
import sys
import traceback

import pytest

from tests.evidence.llm.scripted import KEY, failure, sample
from workbench.data.files import RedactingFilter, Secret, public_url, redacted
from workbench.errors import JudgeError
from workbench.evidence.cache import Cache
from workbench.evidence.llm import LLMJudge


def everything_written(folder, caplog) -> bytes:
    text = "\n".join(
        f"{record.getMessage()} {record.exc_text or ''}" for record in caplog.records if record.name != "werkzeug"
    )
    return b"".join(p.read_bytes() for p in folder.rglob("*") if p.is_file()) + text.encode()


def test_the_key_is_in_no_file_log_or_repr(make_judge, model, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    judge = make_judge(headers={"X-Gateway": "gw-secret-987654"})
    model.fault = lambda asked: failure(400, f"Bearer {KEY} gw-secret-987654") if "套餐2的" in asked.prompt else None
    found = list(judge.examine([sample(1), sample(2)]))
    assert model.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    assert model.requests[0].headers["X-Gateway"] == "gw-secret-987654"
    shown = [repr(judge), str(vars(judge)), judge.name, str(found), str(judge.plan([sample()])), judge.status()]
    written = everything_written(tmp_path, caplog) + "".join(shown).encode()
    assert len(written) > 1000
    assert KEY.encode() not in written and b"gw-secret-987654" not in written


def test_the_key_is_in_no_exception(make_judge, model):
    model.fault = lambda asked: failure(401, f"Incorrect API key provided: {KEY}")
    with pytest.raises(JudgeError) as raised:
        list(make_judge(retries=0).examine([sample()]))
    assert KEY not in "".join(traceback.format_exception(raised.value))
    assert raised.value.__cause__ is None


def test_a_pickled_judge_leaves_its_key_behind(make_judge, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    data = pickle.dumps(make_judge())
    assert KEY.encode() not in data
    again = pickle.loads(data)  # noqa: S301 - made two lines above
    assert again.name == make_judge().name and not again.endpoint.api_key


def test_redacting():
    assert redacted(f"x {KEY} y", [KEY]) == "x *** y"
    assert redacted("Authorization: Bearer abc.def-123456") == "Authorization: ***"
    assert redacted("task-force, sk-learn, monkey_business") == "task-force, sk-learn, monkey_business"
    assert redacted("ab", ["ab"]) == "ab"
    assert str(Secret("abc")) == repr(Secret("abc")) == "***"
    assert public_url("https://u:p@host:8/v1/?key=1#x") == "https://host:8/v1"
    assert public_url("http://[::1]:8/v1") == "http://[::1]:8/v1"


def test_a_logging_filter_cleans_message_arguments_and_traceback():
    try:
        raise ValueError(KEY)
    except ValueError:
        record = logging.LogRecord("x", logging.INFO, "f", 1, "sent %s", (KEY,), sys.exc_info())
    assert RedactingFilter([KEY]).filter(record)
    assert KEY not in logging.Formatter().format(record) and "sent ***" in logging.Formatter().format(record)


KILLED = """
import sys
from workbench.evidence.cache import Cache
from workbench.evidence.llm import LLMJudge
from tests.evidence.llm.scripted import sample
judge = LLMJudge("scripted", base_url=sys.argv[1], api_key="k", cache=Cache(sys.argv[2]), workers=2)
for evidence in judge.examine([sample(n) for n in range(20)]):
    print(evidence.sample_id, flush=True)
"""


def test_kill_9_repeats_no_committed_call(server, model, tmp_path):
    model.delay = 0.1
    url = server.url_for("/v1")
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, url, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=os.getcwd()
    )
    done = {process.stdout.readline().strip() for _ in range(5)}
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    committed = Cache(tmp_path).count("llm-replies")
    before = len(model.requests)
    judge = LLMJudge("scripted", base_url=url, api_key="k", cache=Cache(tmp_path), workers=2)
    states = {e.sample_id: e.state for e in judge.examine([sample(n) for n in range(20)])}
    assert len(done) == 5 and committed >= 2 * len(done)
    assert set(states.values()) == {"ok"} and len(states) == 20
    assert len(model.requests) - before == 40 - committed
    assert before - committed <= 2
