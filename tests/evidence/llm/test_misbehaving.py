"""A server that misbehaves in every way: each sample ends in a state with its own reason, never in a made-up number."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from werkzeug import Response

from tests.evidence.llm.scripted import completion, english, failure, sample
from workbench.data.schema import Context
from workbench.errors import JudgeError


def only(judge, item=None):
    (evidence,) = judge.examine([item or sample()])
    return evidence


def edited(model, change):
    """A fault that changes the verify reply as an object."""

    def fault(asked):
        if asked.name != "verify":
            return None
        value = model.verify(asked)
        change(value)
        return json.dumps(value, ensure_ascii=False)

    return fault


def once(fault):
    """``fault`` on the first request of its kind only."""
    seen = []

    def first(asked):
        if asked.name != "verify" or seen:
            return None
        seen.append(1)
        return fault(asked)

    return first


def every_verdict(word):
    def change(value):
        for claim in [*value["answer_claims"], *value["reference_claims"]]:
            for entry in claim["verdicts"]:
                entry["verdict"] = word

    return change


# ---------------------------------------------------------------- content


BAD_TEXTS = {
    "empty": ("", "empty_reply"),
    "null": (completion(None), "empty_reply"),
    "prose": ("All claims look supported to me. Yes!", "not_json"),
    "truncated at once": (completion('{"contexts": [{"context": 1, "rel', "length"), "truncated"),
    "list": ("[1, 2, 3]", "not_json"),
    "another shape": ('{"verdict": "supported", "score": 0.9}', "wrong_shape"),
    "claims are text": ('{"contexts": [], "refusal": {}, "answer_claims": "all supported"}', "wrong_shape"),
    "echo of the schema": ('{"answer_claims": [{"text": "…", "verdicts": []}, …]}', "not_json"),
    "not a completion": (Response('{"ok": true}', content_type="application/json"), "empty_reply"),
    "html": (Response("<html>gateway</html>", content_type="text/html"), "empty_reply"),
    "declined": (completion(None, refusal="I cannot judge this"), "empty_reply"),
    "filtered": (completion("", "content_filter"), "empty_reply"),
    "usage of another kind": (
        Response(json.dumps({"choices": [{"message": {"content": 5}}], "usage": [1]}), content_type="application/json"),
        "empty_reply",
    ),
    "no choices": (Response('{"choices": []}', content_type="application/json"), "empty_reply"),
    "deeply nested": (Response("[" * 100_000, content_type="application/json"), "empty_reply"),
    "broken envelope": (Response('{"choices": [', content_type="application/json"), "empty_reply"),
}


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_a_useless_reply_is_repaired_once_then_an_error(make_judge, model, name):
    text, code = BAD_TEXTS[name]
    model.fault = lambda asked: text if asked.name == "verify" else None
    evidence = only(make_judge())
    assert (evidence.state, evidence.reason.split(":")[0]) == ("judge_error", code)
    assert evidence.entail is None and np.isnan(evidence.declines)
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    "word",
    [
        "85",
        85,
        "nan",
        -1,
        0.97,
        None,
        "supported | contradicted | not_mentioned",
        "Supported/Contradicted",
        "",
        "maybe",
        "是否支持",
        "probably supported",
        [],
        {},
    ],
)
def test_an_unknown_verdict_is_an_error(make_judge, model, word):
    model.fault = edited(model, every_verdict(word))
    evidence = only(make_judge())
    assert evidence.state == "judge_error"
    assert evidence.reason.split(":")[0] == "unknown_verdict" and len(model.requests) == 2


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-1"])
def test_bare_numbers_that_json_does_not_know_are_no_verdicts(make_judge, model, number):
    model.fault = lambda asked: (
        model.text(asked).replace('"not_mentioned"', number).replace('"supported"', number)
        if asked.name == "verify"
        else None
    )
    evidence = only(make_judge(), english())
    assert evidence.state == "judge_error"


@pytest.mark.parametrize(
    "word", ["不支持", "否", "no", "False", False, "未提及", "答案：否", "是否支持：否", "Not supported."]
)
def test_negatives_never_read_as_positives(make_judge, model, word):
    model.fault = edited(model, every_verdict(word))
    evidence = only(make_judge())
    assert evidence.state == "ok"
    assert evidence.entail.max() < 0.5


def test_one_unreadable_verdict_is_missing_and_the_rest_stay(make_judge, model):
    def change(value):
        value["answer_claims"][0]["verdicts"][1]["verdict"] = 85

    model.fault = edited(model, change)
    evidence = only(make_judge())
    assert evidence.state == "ok"
    assert np.isnan(evidence.entail[0, 1]) and np.isnan(evidence.contradict[0, 1])
    assert np.isfinite(evidence.entail).sum() == 5
    assert any("unknown_verdict" in note for note in evidence.notes)
    assert len(model.requests) == 3


@pytest.mark.parametrize("keep", [0, 1])
def test_fewer_verdicts_than_contexts_are_missing_not_counted(make_judge, model, keep):
    def change(value):
        value["answer_claims"][0]["verdicts"] = value["answer_claims"][0]["verdicts"][:keep]

    model.fault = edited(model, change)
    evidence = only(make_judge())
    assert np.isnan(evidence.entail[0]).sum() == 2 - keep
    assert np.isfinite(evidence.entail[1:]).all()
    assert any("missing_verdict" in note for note in evidence.notes)


def test_more_verdicts_than_contexts_are_ignored(make_judge, model):
    def change(value):
        value["answer_claims"][1]["verdicts"].append({"context": 7, "verdict": "supported", "quote": ""})

    model.fault = edited(model, change)
    evidence = only(make_judge())
    assert evidence.entail.shape == (3, 2) and evidence.entail[1].max() < 0.5
    assert any("context 7" in note for note in evidence.notes)
    assert len(model.requests) == 2


def test_verdicts_are_matched_by_number_not_by_place(make_judge, model):
    def change(value):
        value["answer_claims"][0]["verdicts"].reverse()
        value["contexts"].reverse()

    model.fault = edited(model, change)
    evidence = only(make_judge())
    assert evidence.entail[0, 0] > 0.9 > evidence.entail[0, 1]
    assert evidence.relevance[0] > 0.9 > evidence.relevance[1]


def test_two_verdicts_for_one_context_are_none(make_judge, model):
    def change(value):
        value["answer_claims"][0]["verdicts"].append({"context": 1, "verdict": "contradicted", "quote": ""})

    model.fault = edited(model, change)
    assert np.isnan(only(make_judge()).entail[0, 0])


def test_an_empty_list_of_claims_is_no_claims(make_judge, model):
    model.fault = edited(model, lambda value: value.update(answer_claims=[]))
    evidence = only(make_judge())
    assert evidence.state == "ok" and [c.side for c in evidence.claims] == ["reference"]


def test_a_cut_off_reply_keeps_whole_parts_and_asks_once_more(make_judge, model):
    def cut(asked):
        text = model.text(asked)
        return completion(text[: text.index('"reference_claims"') + 60], "length")

    model.fault = once(cut)
    evidence = only(make_judge())
    assert evidence.state == "ok" and len(model.requests) == 3
    assert any("repaired after truncated" in note for note in evidence.notes)
    model.fault = lambda asked: cut(asked) if asked.name == "verify" else None
    evidence = only(make_judge(), sample(2))
    assert evidence.state == "judge_error" and evidence.reason.startswith("truncated")


def test_a_part_that_stays_missing_costs_only_its_metrics(make_judge, model):
    model.fault = edited(model, lambda value: [value.pop(k) for k in ("contexts", "refusal", "conflicts")])
    evidence = only(make_judge())
    assert evidence.state == "ok" and np.isfinite(evidence.entail).all()
    assert {part: state for part, (state, _) in evidence.missing.items() if state == "judge_error"} == dict.fromkeys(
        ("relevance", "refusal", "conflicts"), "judge_error"
    )
    assert np.isnan(evidence.relevance).all() and np.isnan(evidence.declines)


def test_fences_thoughts_and_preambles_cost_nothing(make_judge, model):
    model.fault = lambda asked: f"<think>{{hm}}</think>Here is the JSON:\n```json\n{model.text(asked)}\n```\nDone."
    assert only(make_judge()).state == "ok" and len(model.requests) == 2


def test_repaired_reply_counts_and_shows_what_was_wrong(make_judge, model):
    model.fault = once(lambda asked: "not json at all")
    judge = make_judge()
    evidence = only(judge)
    assert evidence.state == "ok" and judge.spending.repairs == 1
    repair = model.requests[1]
    assert repair.repair and "not json at all" in repair.prompt and "not_json" in repair.messages[-1]["content"]
    assert any("repaired after not_json" in note for note in evidence.notes)


def test_at_most_one_repair_a_sample(make_judge, model):
    model.fault = lambda asked: "nonsense" if not asked.repair else None
    evidence = only(make_judge())
    assert len(model.requests) == 3
    assert evidence.state == "ok" and evidence.missing["relevancy"][0] == "judge_error"


def test_questions_in_another_language_are_an_error(make_judge, model):
    model.fault = lambda asked: '{"questions": ["What is the limit?"]}' if asked.name == "questions" else None
    evidence = only(make_judge())
    state, reason = evidence.missing["relevancy"]
    assert state == "judge_error" and reason.startswith("wrong_language") and evidence.questions == []
    model.fault = lambda asked: '{"questions": ["上限是多少？"]}' if asked.name == "questions" else None
    assert only(make_judge(), english()).missing["relevancy"][1].startswith("wrong_language")


def test_claims_in_another_language_are_an_error(make_judge, model):
    def change(value):
        for claim in value["answer_claims"]:
            claim["text"] = "The upload limit is 2 GB"

    model.fault = edited(model, change)
    evidence = only(make_judge())
    assert evidence.state == "judge_error" and evidence.reason.startswith("wrong_language")


def test_a_quote_that_is_not_there_is_noted_and_changes_nothing(make_judge, model):
    def change(value):
        value["answer_claims"][0]["verdicts"][0]["quote"] = "从未写过的话"

    model.fault = edited(model, change)
    evidence = only(make_judge())
    assert evidence.entail[0, 0] > 0.9 and (evidence.spans[0, 0] == -1).all()
    assert "unverified" in evidence.claims[0].reason and len(model.requests) == 2


def test_list_marks_are_no_part_of_claims_and_empty_ones_are_dropped(make_judge, model):
    def change(value):
        value["answer_claims"][0]["text"] = " 1. 套餐1的上传上限为 2GB"
        value["answer_claims"].append({**value["answer_claims"][1], "text": "  - "})

    model.fault = edited(model, change)
    assert [c.text for c in only(make_judge()).claims][:2] == ["套餐1的上传上限为 2GB", "套餐1的保留期为 30 天"]


# ---------------------------------------------------------------- transport


def test_429_is_waited_for_as_told(make_judge, model):
    times = []

    def busy(asked):
        times.append(time.monotonic())
        return failure(429, "slow down", Retry_After="1") if len(times) == 1 else None

    model.fault = busy
    assert only(make_judge()).state == "ok"
    assert times[1] - times[0] >= 0.95


def test_500_is_tried_again(make_judge, model):
    left = [2]

    def broken(asked):
        left[0] -= 1
        return failure(500) if left[0] >= 0 else None

    model.fault = broken
    judge = make_judge()
    assert only(judge).state == "ok"
    assert judge.spending.calls == 2 and judge.spending.requests == 4


@pytest.mark.parametrize(
    "answer, code",
    [
        (failure(429, "slow"), "rate_limited"),
        (failure(503), "server_error"),
        (failure(400, "no"), "bad_request"),
        (failure(400, "maximum context length is 4096 tokens"), "too_long"),
    ],
)
def test_lasting_failures_have_their_own_reasons(make_judge, model, answer, code):
    list(make_judge().examine([sample(99)]))
    model.fault = lambda asked: answer if "套餐1的" in asked.prompt else None
    found = {
        e.sample_id: (e.state, e.reason.split(":")[0]) for e in make_judge(retries=1).examine([sample(1), sample(2)])
    }
    assert found == {"s1": ("judge_error", code), "s2": ("ok", "")}


def test_a_hanging_endpoint_times_out(make_judge, model):
    list(make_judge().examine([sample(99)]))
    model.fault = lambda asked: time.sleep(1.2) if "套餐1的" in asked.prompt else None
    evidence = only(make_judge(timeout=0.4, retries=0))
    assert (evidence.state, evidence.reason.split(":")[0]) == ("judge_error", "timeout")


def test_a_closed_connection_is_named(make_judge, closing_server):
    from workbench.evidence.llm import LLMJudge

    judge = LLMJudge("m", base_url=closing_server, api_key="k", retries=1, cache=False)
    assert only(judge).reason.split(":")[0] == "connection_closed"
    assert judge.spending.requests == 2


@pytest.mark.parametrize(
    "answer, word",
    [
        (failure(401, "bad key"), "authentication"),
        (failure(403), "authentication"),
        (failure(404, "no such model"), "unknown_model"),
        (failure(429, "You exceeded your current quota", "insufficient_quota"), "quota"),
    ],
)
def test_what_every_call_would_meet_stops_the_batch(make_judge, model, answer, word):
    model.fault = lambda asked: answer
    started = time.monotonic()
    seen = []
    with pytest.raises(JudgeError, match=word):
        seen.extend(
            e.reason.split(":")[0] for e in make_judge(retries=0, workers=2).examine([sample(n) for n in range(40)])
        )
    assert set(seen) == {word} and len(model.requests) < 8
    assert time.monotonic() - started < 5


def test_an_unreachable_endpoint_stops_the_batch():
    from workbench.evidence.llm import LLMJudge

    judge = LLMJudge("m", base_url="http://127.0.0.1:9/v1", api_key="k", retries=0, cache=False)
    with pytest.raises(JudgeError, match=r"unreachable.*OPENAI_BASE_URL"):
        list(judge.examine([sample(n) for n in range(5)]))


# ---------------------------------------------------------------- formats


REFUSALS = {
    "400 names the field": failure(400, "response_format json_schema is not supported"),
    "400 says nothing": failure(400, "bad request"),
    "422": failure(422, "extra fields"),
    "500 as llama.cpp does": failure(500, "failed to parse grammar"),
}


@pytest.mark.parametrize("name", REFUSALS)
@pytest.mark.parametrize("accepted", ["json_object_schema", "json_object", "text"])
def test_formats_are_loosened_and_remembered(make_judge, model, name, accepted):
    def fault(asked):
        given = asked.body.get("response_format", {})
        kind = given.get("type", "text") + ("_schema" if "schema" in given else "")
        return None if kind == accepted else REFUSALS[name]

    model.fault = fault
    states = [e.state for e in make_judge(retries=0).examine([sample(n) for n in range(4)])]
    assert states == ["ok"] * 4
    refused = {"json_object_schema": 1, "json_object": 2, "text": 3}[accepted]
    assert len(model.requests) == 8 + refused
    model.requests.clear()
    list(make_judge(retries=0).examine([sample(7)]))
    assert len(model.requests) == 2


def test_a_server_that_makes_a_grammar_of_the_schema_gets_sizes(make_judge, model):
    """Else a small model lists contexts that do not exist until its tokens are used up."""
    model.fault = lambda asked: failure(500, "json_schema") if asked.format == "json_schema" else None
    assert only(make_judge(retries=0)).state == "ok"
    refused, verify, questions = model.requests
    assert "minItems" not in json.dumps(refused.body) and verify.format == "json_object"
    parts = verify.body["response_format"]["schema"]["properties"]
    assert (parts["contexts"]["minItems"], parts["contexts"]["maxItems"]) == (2, 2)
    claim = parts["answer_claims"]["items"]["properties"]
    assert (claim["verdicts"]["minItems"], claim["verdicts"]["maxItems"]) == (2, 2)
    assert claim["text"]["maxLength"] >= 26 and claim["verdicts"]["items"]["properties"]["quote"]["maxLength"] == 17
    assert 2 <= parts["answer_claims"]["maxItems"] <= 20 and parts["answer_claims"]["minItems"] == 0
    listed = questions.body["response_format"]["schema"]["properties"]["questions"]
    assert (listed["minItems"], listed["maxItems"], listed["items"]["minLength"]) == (1, 3, 1)


def test_a_slow_first_reply_does_not_send_others_to_the_refused_format(make_judge, model, monkeypatch):
    monkeypatch.setattr("workbench.evidence.llm.client.PROBE_SECONDS", 0.2)
    began = []

    def fault(asked):
        if asked.format == "json_schema":
            return failure(400, "json_schema is not supported")
        if not began:
            began.append(1)
            time.sleep(0.8)
        return None

    model.fault = fault
    assert [e.state for e in make_judge(workers=4).examine([sample(n) for n in range(4)])] == ["ok"] * 4
    assert [r.format for r in model.requests].count("json_schema") == 1


def test_a_model_without_a_system_role_gets_one_message(make_judge, model):
    def fault(asked):
        return failure(400, "System role not supported") if asked.messages[0]["role"] == "system" else None

    model.fault = fault
    assert only(make_judge()).state == "ok" and len(model.requests) == 3
    assert [m["role"] for m in model.requests[1].messages] == ["user"]
    assert model.requests[0].user in model.requests[1].user
    assert only(make_judge(), sample(2)).state == "ok" and len(model.requests) == 5


def test_a_prompt_that_was_cut_is_said(make_judge, model):
    item = sample(1, contexts=(Context("套餐1的上传上限为 2GB。" * 300, "d1"),))
    (note,) = [n for n in only(make_judge(), item).notes if "cut the prompt" in n]
    assert note.startswith("the endpoint counted 100 tokens where about ") and "num_ctx" in note


def test_a_server_that_is_not_ready_teaches_nothing_about_formats(make_judge, model):
    model.fault = lambda asked: failure(503, "Loading model")
    assert only(make_judge(retries=0)).reason.startswith("server_error")
    model.requests.clear()
    model.fault = None
    assert only(make_judge()).state == "ok" and model.requests[0].format == "json_schema"


def test_a_rate_limit_in_words_of_quota_stops_nothing(make_judge, model):
    model.fault = lambda asked: failure(429, "Quota exceeded for requests per minute")
    found = list(make_judge(retries=0, workers=2).examine([sample(n) for n in range(5)]))
    assert {e.reason.split(":")[0] for e in found} == {"rate_limited"} and len(found) == 5


def test_a_model_that_refuses_a_temperature_is_asked_without(make_judge, model):
    model.fault = lambda asked: (
        failure(400, "Unsupported value: 'temperature'") if "temperature" in asked.body else None
    )
    assert only(make_judge()).state == "ok"
    assert len(model.requests) == 3
    assert only(make_judge(), sample(2)).state == "ok" and len(model.requests) == 5


def test_a_refusal_of_one_request_is_not_a_refusal_of_the_format(make_judge, model):
    list(make_judge().examine([sample(1)]))
    model.requests.clear()
    model.fault = lambda asked: failure(400, "flagged") if "套餐2的" in asked.prompt else None
    assert [e.state for e in make_judge(workers=1).examine([sample(2), sample(3)])] == ["judge_error", "ok"]
    assert {r.format for r in model.requests} == {"json_schema"} and len(model.requests) == 3


# ---------------------------------------------------------------- everything at once


def test_whatever_the_server_does_no_number_is_made_up(make_judge, model):
    """≤ 3 calls a sample, a state for each, and every number that appears comes from a readable verdict."""
    texts = [case[0] for case in BAD_TEXTS.values()]

    def fault(asked):
        number = int(asked.prompt.split("套餐")[1].split("的")[0])
        return texts[number] if number < len(texts) and asked.name == "verify" else None

    model.fault = fault
    judge = make_judge(workers=8)
    found = list(judge.examine([sample(n) for n in range(len(texts) + 15)]))
    assert len(found) == len(texts) + 15
    bad = [e for e in found if e.state == "judge_error"]
    assert len(bad) == len(texts) and all(e.entail is None and e.relevance is None for e in bad)
    assert judge.spending.requests <= 3 * len(found)
    frame = judge.outcomes.frame()
    assert frame["n"].sum() == len(found) and frame.iloc[0]["outcome"] == "ok"
    assert sorted(judge.outcomes.ids()) == sorted(e.sample_id for e in bad)
