"""Panel 01 with a language model as judge: plan, limit, budget, progress, cancel, outcomes, retry; no kernel."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import ipywidgets as W
import pytest
from pytest_httpserver import HTTPServer

import workbench as wb
from tests.evidence.llm.scripted import KEY, Model, english, failure, sample
from tests.scripted import sample_set
from workbench.language import set_language
from workbench.views.panels.score import JUDGES, Score, Wanted
from workbench.views.session import Session


@pytest.fixture(scope="module")
def server() -> Iterator[HTTPServer]:
    with HTTPServer(host="127.0.0.1", port=0, threaded=True) as running:
        yield running


@pytest.fixture
def model(server: HTTPServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[Model]:
    scripted = Model()
    server.expect_request("/v1/chat/completions", method="POST").respond_with_handler(scripted)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url_for("/v1"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    yield scripted
    server.clear()


def samples(n: int, **more: Any) -> Any:
    rows = []
    for i in range(n):
        item = english(i) if i % 2 else sample(i)
        contexts = [{"doc_id": c.doc_id, "text": c.text} for c in item.contexts or ()]
        rows.append({"sample_id": item.sample_id, "question": item.question, "answer": item.answer,
                     "reference": item.reference, "contexts": contexts, **more})  # fmt: skip
    return sample_set(rows)


@pytest.fixture
def panel(model: Model) -> Score:
    evaluation = wb.evaluate(samples(6), judge=None, progress=False)
    made = Score(Session(evaluation))
    made.judge.value = "llm"
    made.model.value = "scripted"
    made.encoder.value = "ngram"
    return made


def press(panel: Score, button: W.Button) -> None:
    assert not button.disabled
    button.click()
    panel.join(60)
    assert panel.error.value == "" and panel.start.disabled is False


def texts(widget: Any) -> Iterator[str]:
    for name in ("value", "description", "placeholder"):
        yield str(getattr(widget, name, ""))
    for child in getattr(widget, "children", ()):
        yield from texts(child)


def test_the_picker_shows_what_a_model_needs_and_no_key(panel: Score, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [value for _, value in panel.judge.options] == list(JUDGES)
    for judge, shown in (("offline", "none"), ("offline+llm", None), ("none", "none"), ("llm", None)):
        panel.judge.value = judge
        assert {w.layout.display for w in (panel.model, panel.plan, panel.choice)} == {shown}
    everything = "\n".join(texts(panel))
    assert "the key is set" in panel.choice.note.value
    assert KEY not in everything and "127.0.0.1" not in everything and "localhost" not in everything
    monkeypatch.delenv("OPENAI_API_KEY")
    panel.judge.value = "offline+llm"
    assert "the key is not set" in panel.choice.note.value


def test_the_plan_sends_nothing(panel: Score, model: Model) -> None:
    press(panel, panel.plan)
    assert "6 samples" in panel.choice.note.value and "12 calls" in panel.choice.note.value
    assert "unknown (not in the price table)" in panel.choice.note.value
    panel.choice.limit.value = 2
    press(panel, panel.plan)
    assert "2 samples" in panel.choice.note.value and "4 calls" in panel.choice.note.value
    panel.model.value = "gpt-4.1-mini"
    press(panel, panel.plan)
    assert "price $0.00" in panel.choice.note.value
    assert model.requests == [] and panel.message.value == '<span class="wb-quiet"></span>'


def test_a_limit_then_all_then_nothing_left(panel: Score, model: Model) -> None:
    panel.choice.limit.value = 2
    press(panel, panel.start)
    assert len(panel.session.samples) == 2 and len(model.requests) == 4
    assert "Spent: 4 calls, 400 tokens sent and 80 received, price unknown." in panel.outcomes.value
    assert "judged" in panel.outcomes.value and panel.retry.layout.display == "none"
    assert panel.session.evaluation.manifest["spending"]["calls"] == 4
    panel.choice.limit.value = 0
    press(panel, panel.start)
    assert len(panel.session.samples) == 6 and len(model.requests) == 12
    press(panel, panel.start)
    assert len(model.requests) == 12 and "Spent: 0 calls" in panel.outcomes.value
    press(panel, panel.plan)
    assert "6 judged before" in panel.choice.note.value and "0 calls" in panel.choice.note.value


def test_outcomes_by_cause_and_a_retry_of_these_only(panel: Score, model: Model) -> None:
    broken = {"套餐2", "plan 3"}
    model.fault = lambda asked: "no JSON" if any(name in asked.user for name in broken) else None
    press(panel, panel.start)
    shown = panel.outcomes.value
    assert "the reply was not JSON" in shown and "s2" in shown and "e3" in shown
    assert panel.retry.description == "Retry only these (2)" and panel.retry.layout.display is None
    states = panel.session.states["faithfulness"]
    assert (states == "judge_error").sum() == 2 and (states == "ok").sum() == 4
    model.fault, before = None, len(model.requests)
    panel.model.value = "another"
    press(panel, panel.retry)
    again = model.requests[before:]
    assert len(again) == 4 and all(any(name in asked.user for name in broken) for asked in again)
    assert {asked.body["model"] for asked in again} == {"scripted"}
    assert (panel.session.states["faithfulness"] == "ok").all() and panel.retry.layout.display == "none"


def test_a_budget_leaves_the_rest_for_a_retry(panel: Score, model: Model) -> None:
    panel.choice.budget.value, panel.choice.bound.value = 4, "calls"
    press(panel, panel.start)
    assert len(model.requests) <= 4 and "the budget was spent" in panel.outcomes.value
    left = int(panel.retry.description.split("(")[1].rstrip(")"))
    assert left >= 4
    panel.choice.bound.value = "cost"
    press(panel, panel.start)
    assert "price of scripted is unknown" in panel.message.value and len(model.requests) <= 4


def test_cancel_stops_within_a_request(panel: Score, model: Model) -> None:
    panel.session.use(wb.evaluate(samples(200), judge=None, progress=False))
    many = Score(panel.session)
    many.judge.value, many.model.value, many.encoder.value = "llm", "scripted", "ngram"
    started = threading.Event()

    def slow(asked: Any) -> None:
        started.set()
        time.sleep(0.2)

    model.fault = slow
    many.start.click()
    assert started.wait(20)
    began = time.monotonic()
    many.stop.click()
    many.join(20)
    assert time.monotonic() - began < 3 and "Cancelled" in many.message.value
    time.sleep(0.3)  # what was on its way arrives
    sent = len(model.requests)
    time.sleep(0.5)
    assert len(model.requests) == sent < 100 and many.error.value == ""
    assert len(many.session.samples) == 200 and many.start.disabled is False


def test_progress_says_rate_rest_hits_and_cost(panel: Score, model: Model) -> None:
    seen: list[str] = []
    panel.message.observe(lambda change: seen.append(change["new"]), "value")
    press(panel, panel.start)
    assert any("from the cache" in line and "calls (" in line and "price unknown" in line for line in seen)
    assert any("/s · about" in line for line in seen)


def test_a_judge_of_the_generators_family_is_warned_about(panel: Score, model: Model) -> None:
    panel.model.value = "qwen3-32b"
    press(panel, panel.plan)
    assert "same family" not in panel.choice.note.value
    panel.choice.generator.value = "qwen-max"
    press(panel, panel.plan)
    assert "same family" in panel.choice.note.value and "12 calls" in panel.choice.note.value
    recorded = wb.evaluate(samples(2, usage={"model": "qwen-plus"}), judge=None, progress=False)
    other = Score(Session(recorded))
    other.judge.value, other.model.value, other.encoder.value = "llm", "qwen3-32b", "ngram"
    press(other, other.start)
    assert "qwen-plus" in other.choice.note.value
    assert other.session.evaluation.manifest["generator"] == "qwen-plus"


def test_what_is_missing_is_said_in_words(panel: Score, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    panel.model.value = " "
    for button in (panel.start, panel.plan):
        press(panel, button)
        assert "write the name of the model" in panel.message.value
    panel.model.value = "scripted"
    model.fault = lambda asked: failure(401, f"bad key {KEY}")
    press(panel, panel.start)
    assert "OPENAI_API_KEY" in panel.message.value and KEY not in "\n".join(texts(panel))
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL")
    press(panel, panel.start)
    assert "no key for api.openai.com" in panel.message.value


def test_the_cascade_says_what_it_saved_in_chinese(panel: Score, model: Model) -> None:
    set_language("zh")
    chinese = Score(panel.session)
    chinese.judge.value, chinese.model.value, chinese.encoder.value = "offline+llm", "scripted", "ngram"
    press(chinese, chinese.plan)
    assert "次调用" in chinese.choice.note.value and model.requests == []
    press(chinese, chinese.start)
    cascade = chinese.session.evaluation.manifest["cascade"]
    assert cascade["n_samples"] == 6 and cascade["calls"] == len(model.requests) <= 0.4 * 12
    assert f"{cascade['calls_full']} 次调用节省了 {cascade['calls_saved']} 次" in chinese.outcomes.value
    assert chinese.plan.description == "预估"


def test_a_choice_becomes_a_judge(model: Model) -> None:
    def wanted(kind: str, **more: Any) -> Wanted:
        fields = {"data": "", "model": "llm:m", "encoder": "none", "limit": 0, "budget": 0.0, "bound": "calls"}
        return Wanted(kind=kind, **{**fields, "generator": "", **more})

    assert wanted("none").judge() is None and wanted("offline").judge() == "offline"
    judge: Any = wanted("llm", budget=5.0, generator=" g ").judge()
    assert judge.method == "llm:m" and judge.spending.budget.calls == 5 and judge.settings.generator == "g"
    data = samples(6)
    assert len(wanted("llm", limit=3).of(data)) == 3 and wanted("offline", limit=3).of(data) is data
