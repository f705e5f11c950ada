"""The verdict is the model's last complete answer: whatever it thought aloud, drafted or echoed before decides nothing."""

from __future__ import annotations

import json

import numpy as np
import pytest
from werkzeug import Response

import workbench as wb
from tests.evidence.llm.scripted import completion, sample
from workbench.data.text.reasoning import final_words
from workbench.evidence.llm.last_object import load_object


def drafted(model, asked):
    """The model's answer with every verdict turned into another one: what it says before it has thought it over."""
    value = getattr(model, asked.name)(asked)
    for claim in [*value.get("answer_claims", ()), *value.get("reference_claims", ())]:
        for entry in claim["verdicts"]:
            entry |= {"verdict": "not_mentioned" if entry["verdict"] == "supported" else "supported", "quote": ""}
    return json.dumps(value, ensure_ascii=False)


def thoughts(draft):
    return f'The claim says "2GB. Let me see {{\n{draft}\nWait, is that right? I should look at context 1 again.'


FENCED = "```json\n{}\n```"
EXAMPLE = '{"contexts": [{"context": 1, "relevant": true}], "answer_claims": [{"text": "…", "verdicts": []}], "conflicts": []}'
SHAPE = '{"contexts": [{"context": integer, "relevant": true | false}, …], "answer_claims": [{"text": "…"}, …]}'

#: Family → the text of a reply, from a draft and the final answer.
TEXTS = {
    "DeepSeek-R1": lambda d, a: f"<think>\n{thoughts(d)}\n</think>\n\n{a}",
    "DeepSeek-R1, the opening tag in the template": lambda d, a: f"{thoughts(d)}\n</think>\n\n{FENCED.format(a)}",
    "Qwen3": lambda d, a: f"<think>\n{thoughts(d)}\n</think>\n\nHere it is:\n{FENCED.format(a)}",
    "Qwen3 without thinking": lambda d, a: f"<think>\n\n</think>\n\n{a}",
    "QwQ, thinking twice": lambda d, a: f"<think>{thoughts(d)}</think>{d}<think>No.</think>{a}",
    "gpt-oss": lambda d, a: (
        f"<|channel|>analysis<|message|>{thoughts(d)}<|end|><|start|>assistant<|channel|>final<|message|>{a}<|return|>"
    ),
    "gpt-oss, constrained": lambda d, a: (
        f"<|channel|>analysis<|message|>{thoughts(d)}<|end|><|start|>assistant<|channel|>commentary<|message|>{d}<|end|>"
        f"<|start|>assistant<|channel|>final <|constrain|>json<|message|>{a}"
    ),
    "gpt-oss without its special tokens": lambda d, a: f"analysis{thoughts(d)}assistantfinal{a}",
    "Kimi": lambda d, a: f"◁think▷{thoughts(d)}◁/think▷{a}",
    "Magistral": lambda d, a: f"[THINK]{thoughts(d)}[/THINK]{a}",
    "GLM": lambda d, a: f"<think>{thoughts(d)}</think>\n<answer>{a}</answer>",
    "GLM, in a box": lambda d, a: f"<think>{thoughts(d)}</think><|begin_of_box|>{a}<|end_of_box|>",
    "Seed": lambda d, a: f"<seed:think>{thoughts(d)}</seed:think>{a}",
    "Command A": lambda d, a: f"<|START_THINKING|>{thoughts(d)}<|END_THINKING|>{a}",
    "a draft before": lambda d, a: f"{d}\n\nOn reflection:\n\n{a}",
    "fenced drafts": lambda d, a: f"Draft:\n{FENCED.format(d)}\nFinal:\n{FENCED.format(a)}\nDone {{I hope}}.",
    "an echoed example before": lambda d, a: f"The shape is {EXAMPLE}.\n{a}",
    "an echoed example after": lambda d, a: f"{a}\n\nIt has this shape: {EXAMPLE}",
    "an echoed shape": lambda d, a: f"{SHAPE}\n{a}\n{SHAPE}",
    "as Python writes it": lambda d, a: repr(json.loads(a)),
    "as JavaScript writes it": lambda d, a: repr(json.loads(a)).replace(": True", ": true").replace(": False", ": false"),
    "comments in JSON": lambda d, a: a.replace('"contexts": [', '"contexts": [ // one each, see http://…\n'),
    "a call of a tool, written out": lambda d, a: f'<tool_call>{{"name": "f", "arguments": {a}}}</tool_call>',
    "a wrapper with its draft": lambda d, a: json.dumps({"thoughts": d, "reply": json.loads(a)}),
    "written as a text": lambda d, a: json.dumps(a),
    "an explanation after": lambda d, a: f"{a}\n\nThe number in the answer is incorrect. 数字不对，等等都已核对。",
    "Python's words in JSON": lambda d, a: a.replace(": true", ": True").replace(": false", ": False"),
}  # fmt: skip

def stream(*deltas, end="stop"):
    parts = [{"choices": [{"delta": one, "finish_reason": None}]} for one in deltas]
    parts += [{"choices": [{"delta": {}, "finish_reason": end}]}] * bool(end)
    return Response("".join(f"data: {json.dumps(part)}\n\n" for part in parts) + "data: [DONE]\n\n")


#: Family → the whole body of a reply.
BODIES = {
    "DeepSeek, two fields": lambda d, a: completion(a, reasoning_content=thoughts(d)),
    "OpenRouter, two fields": lambda d, a: completion(a, reasoning=thoughts(d)),
    "Magistral, parts": lambda d, a: completion(
        [{"type": "thinking", "thinking": [{"type": "text", "text": thoughts(d)}]}, {"type": "text", "text": a}]
    ),
    "a call of a tool": lambda d, a: completion(
        None, "tool_calls", tool_calls=[{"type": "function", "function": {"name": "f", "arguments": a}}]
    ),
    "a draft beside the call of a tool": lambda d, a: completion(d, function_call={"name": "f", "arguments": a}),
    "a stream nobody asked for": lambda d, a: stream({"reasoning_content": d}, {"content": a[:40]}, {"content": a[40:]}),
    "a plain completion": lambda d, a: Response(
        json.dumps({"choices": [{"index": 0, "text": f"<think>{d}</think>{a}", "finish_reason": "stop"}]}),
        content_type="application/json",
    ),
}  # fmt: skip


def only(judge, item):
    (evidence,) = judge.examine([item])
    return evidence


@pytest.fixture
def plain(make_judge, tmp_path):
    return only(make_judge(cache=False), sample())


@pytest.mark.parametrize("family", [*TEXTS, *BODIES])
def test_the_last_complete_answer_counts(make_judge, model, plain, family):
    wrapped = TEXTS.get(family) or BODIES[family]
    model.fault = lambda asked: wrapped(drafted(model, asked), model.text(asked))
    model.requests.clear()
    found = only(make_judge(cache=False), sample())
    assert found.state == "ok" and len(model.requests) == 2
    assert np.array_equal(found.entail, plain.entail) and found.entail.max() == 1.0
    assert [claim.text for claim in found.claims] == [claim.text for claim in plain.claims]
    assert [question.text for question in found.questions] == [question.text for question in plain.questions]


#: Replies that never come to an answer, though they hold a draft that is whole.
UNFINISHED = {
    "DeepSeek-R1": lambda d: completion(f"<think>{thoughts(d)}", "length"),
    "Qwen3": lambda d: completion(f"<think>{thoughts(d)}</think>"),
    "Qwen3, everything in the other field": lambda d: completion(None, reasoning_content=d),
    "gpt-oss": lambda d: completion(f"<|channel|>analysis<|message|>{thoughts(d)}", "length"),
    "gpt-oss without its special tokens": lambda d: completion(f"analysis{thoughts(d)}", "length"),
    "Kimi": lambda d: completion(f"◁think▷{thoughts(d)}", "length"),
    "Magistral": lambda d: completion(f"[THINK]{thoughts(d)}", "length"),
    "Magistral, parts": lambda d: completion([{"type": "thinking", "thinking": [{"type": "text", "text": d}]}]),
    "GLM": lambda d: completion(f"<think>{thoughts(d)}</think>\n<answer>", "length"),
    "an answer that breaks off": lambda d: completion(f"{d}\nNo:\n{d.replace('supported', 'contradicted')[:-60]}", "length"),
    "second thoughts": lambda d: completion(f"{d}\n\nWait, that is wrong: it must be supported."),
    "second thoughts in Chinese": lambda d: completion(f"{d}\n\n更正：上下文 1 写明了，应为支持。"),
    "a draft and a final one side by side": lambda d: completion(f'{{"first": {d}, "second": {{"answer_claims": []}}}}'),
    "a draft in a wrapper": lambda d: completion(json.dumps({"draft": d, "final": "as above"})),
    "a stream that breaks off": lambda d: stream({"content": d}, end=""),
    "second thoughts that break off": lambda d: completion(f"{d}\nWait, the second claim is", "length"),
}  # fmt: skip


@pytest.mark.parametrize("family", UNFINISHED)
def test_a_draft_is_never_the_verdict(make_judge, model, family):
    model.fault = lambda asked: UNFINISHED[family](drafted(model, asked)) if asked.name == "verify" else None
    found = only(make_judge(cache=False), sample())
    assert found.state == "judge_error" and found.entail is None and len(model.requests) == 2
    assert found.reason.partition(":")[0] in ("truncated", "not_json", "empty_reply", "wrong_shape")


def test_a_repair_shows_what_was_said_and_not_what_was_thought(make_judge, model):
    model.fault = lambda asked: None if asked.repair else "<think>secret thoughts</think>I cannot say."
    assert only(make_judge(cache=False), sample(answer="", sample_id="r")).state == "ok"
    shown = next(r for r in model.requests if r.repair).messages
    assert "secret thoughts" not in str(shown) and "I cannot say." in str(shown)


def test_marks_of_reasoning_inside_an_answer_are_its_content():
    value = {"answer_claims": [{"text": "It writes </think> and [THINK] around it."}]}
    assert load_object(json.dumps(value), ["answer_claims"]).value == value
    assert load_object(f"<think>{{</think>{json.dumps({'a': 1})}", ["a"]).value == {"a": 1}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plain", "plain"),
        ("<think>a</think>b", "b"),
        ("a</think>b", "b"),
        ("b<think>a", ""),
        ("<|channel|>final<|message|>b<|return|>", "b"),
        ("analysis of the claims: b", "analysis of the claims: b"),
        ("Analysis: b", "Analysis: b"),
    ],
)
def test_final_words(text, said):
    assert final_words(text) == said


def test_an_answer_said_again_and_again_until_the_limit_is_one_answer():
    text = '{"a": [1, 2]}'
    loaded = load_object(f"{text}\n{text}\n{text[:6]}", ["a"])
    assert (loaded.value, loaded.cut, loaded.n_answers, loaded.more) == ({"a": [1, 2]}, None, 1, "")


@pytest.mark.parametrize("text", ["{'a': 'it's'}", "{'a': __import__('os')}", "{'a': 1 + 1j"])
def test_what_is_neither_json_nor_a_literal_is_no_answer(text):
    assert not load_object(text, ["a"]).value


# ---------------------------------------------------------------- errors inside a reply of status 200


def body(**fields):
    return Response(json.dumps(fields, ensure_ascii=False), content_type="application/json")


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (body(error={"message": "Provider returned error", "code": 502}), "server_error", "Provider returned error"),
        (body(error="model overloaded, try later"), "server_error", "model overloaded, try later"),
        (body(error={"code": "1113", "message": "您的账户余额不足"}), "quota", "您的账户余额不足"),
        (body(object="error", message="maximum context length is 4096", code=400), "too_long", "4096"),
        (completion('{"error": {"message": "context too long"}}'), "wrong_shape", "context too long"),
        (body(error={"message": "slow down", "code": 429}), "rate_limited", "slow down"),
        (body(base_resp={"status_code": 1008, "status_msg": "insufficient balance"}, choices=None), "quota", "balance"),
        (
            body(
                choices=[{"finish_reason": "error", "message": {"content": ""}, "error": {"message": "upstream died"}}]
            ),
            "server_error",
            "upstream died",
        ),
    ],
)
def test_an_error_in_a_reply_is_told_with_the_providers_words(make_judge, model, answer, code, words):
    model.fault = lambda asked: answer
    judge = make_judge(cache=False, retries=0)
    if code == "quota":
        with pytest.raises(wb.WorkbenchError, match=words):
            only(judge, sample())
    else:
        found = only(judge, sample())
        assert found.state == "judge_error" and found.reason.startswith(code) and words in found.reason


def test_an_error_in_a_reply_is_tried_again(make_judge, model, monkeypatch):
    monkeypatch.setattr("workbench.evidence.llm.client.RETRY_SECONDS", 0.01)
    answers = [body(error={"message": "overloaded", "code": 529}), body(error="overloaded")]
    model.fault = lambda asked: answers.pop() if answers else None
    assert only(make_judge(cache=False), sample()).state == "ok" and len(model.requests) == 4


# ---------------------------------------------------------------- a claim without a verdict has its reason in the table


def test_a_missing_verdict_is_an_error_with_its_reason(make_judge, model, tmp_path):
    def fault(asked):
        if asked.name != "verify":
            return None
        value = model.verify(asked)
        value["answer_claims"][1]["verdicts"] = value["answer_claims"][1]["verdicts"][:1]
        return json.dumps(value, ensure_ascii=False)

    model.fault = fault
    row = {
        "sample_id": "a", "question": "套餐的上传上限是多少？", "answer": "上传上限为 2GB。保留期为 30 天。",
        "contexts": ["上传上限为 2GB。", "保留期为 90 天。"], "reference": "上传上限为 2GB。",
    }  # fmt: skip
    evaluation = wb.evaluate(wb.load_samples([row]), judge=make_judge(), cache_dir=tmp_path, progress=False)
    assert evaluation.states().loc["a", "faithfulness"] == "judge_error"
    errors = evaluation.errors()
    assert list(errors["state"]) == ["judge_error"]
    assert errors["reason"][0] == "missing_verdict: answer_claims item 2: no verdict for context 2"
    asked = len(model.requests)
    wb.evaluate(wb.load_samples([row]), judge=make_judge(), cache_dir=tmp_path, progress=False)
    assert len(model.requests) == asked == 3
