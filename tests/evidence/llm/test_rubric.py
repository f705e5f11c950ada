"""Ratings by criteria, and consistency over several answers: the same strictness."""

from __future__ import annotations

import math

import pytest

from tests.evidence.llm.scripted import english, sample
from workbench.errors import InputError
from workbench.evidence.llm.rubric import Criterion, criterion, presets, rate, sampled_consistency


def test_each_answer_is_rated_by_each_criterion(make_judge, model):
    own = {"name": "politeness", "en": "The answer is polite."}
    frame = rate(make_judge(), [sample(), english(), sample(3, answer=None)], ["faithfulness", own])
    assert list(frame["criterion"]) == ["faithfulness", "politeness"] * 3
    assert list(frame["state"]) == ["ok"] * 4 + ["undefined"] * 2
    assert list(frame["score"][:4]) == [0.75] * 4 and frame["score"][4:].isna().all()
    assert len(model.requests) == 4
    prompts = [r.messages[0]["content"] for r in model.requests]
    assert any("标准“faithfulness”：回答中的一切陈述" in p for p in prompts)
    assert any('Criterion "politeness": The answer is polite.' in p for p in prompts)
    rate(make_judge(), [sample(), english()], ["faithfulness", own])
    assert len(model.requests) == 4


@pytest.mark.parametrize("score", ["85", "NaN", "-1", "null", '"high"'])
def test_a_rating_that_is_none_stays_none(make_judge, model, score):
    model.fault = lambda asked: f'{{"reasoning": "r", "score": {score}}}'
    frame = rate(make_judge(), [sample()], ["relevance"])
    assert frame["state"][0] == "judge_error" and math.isnan(frame["score"][0])
    assert frame["reason"][0].startswith("wrong_shape") and len(model.requests) == 2


def test_criteria():
    assert set(presets()) == {"faithfulness", "relevance", "completeness"}
    assert criterion({"name": "x", "zh": "中文标准"}) == Criterion("x", {"zh": "中文标准"})
    assert criterion({"name": "x", "zh": "中文标准"}).text("en") == "中文标准"
    for wrong in ("politeness", {"name": "x"}, {"en": "words"}):
        with pytest.raises(InputError):
            criterion(wrong)


def test_consistency_is_the_share_of_support_by_other_answers(make_judge, model):
    item = sample(
        answer="上限为 2GB。保留 30 天。", sampled_answers=("上限为 2GB。", "上限为 2GB。保留 30 天。", "不清楚。")
    )
    frame = sampled_consistency(make_judge(), [item, sample(2), sample(3, answer=None, sampled_answers=("x",))])
    row = frame.iloc[0]
    model_sees = [r for r in model.requests if r.name == "part"]
    assert len(model_sees) == len(model.requests) == 1
    # Sentence 1 ("上限为 2GB。") stands in two of three answers, sentence 2 in one of three.
    assert row["inconsistent"] == pytest.approx([1 / 3, 2 / 3])
    assert row["score"] == pytest.approx(0.5) and (row["n_sentences"], row["n_answers"]) == (2, 3)
    assert list(frame["state"]) == ["ok", "not_applicable", "undefined"]


def test_consistency_needs_every_verdict(make_judge, model):
    model.fault = lambda asked: '{"claims": [{"claim": 1, "verdicts": [{"context": 1, "verdict": "supported"}]}]}'
    frame = sampled_consistency(make_judge(), [sample(sampled_answers=("甲。", "乙。"))])
    assert frame["state"][0] == "judge_error" and math.isnan(frame["score"][0])
