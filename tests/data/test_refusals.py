from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.data.text.refusals import (
    Clause,
    _agreed,
    clause,
    features,
    folded,
    logistic,
    model_language,
    refusal,
    refuses,
    rest_values,
    segments,
    whole_values,
)
from workbench.training.refusals import collection, fit_logistic, parse, rates

STYLES = Path(__file__).parent / "refusals"


@pytest.mark.parametrize(
    "text",
    [
        "The documents do not say whether fingerprint readers at gates can be connected.",
        "The knowledge base does not mention Brightledger, so I cannot say whether an integration exists.",
        "Sorry, the knowledge base says nothing about who leads Norviq.",
        "There is nothing on this in the pages I have.", "I'm not allowed to discuss that.",
        "手头的资料里没有这一项。", "这不在我的服务范围内，请咨询财务。", "文档没有说明门口的指纹机能否接入。",
        "抱歉，您沒有權限查看這份文件。", "没查到相关规定，无从得知。", "資料中没有旧版打卡小程序停止服务的日期。",
        "唔好意思，我手頭上嘅資料搵唔到保留日數。", "请问您指的是哪一项服务呢？", "Which agreement are you referring to?",
        "系统繁忙，暂时取不到数据，请稍后再试。", "Credentials can't be shared through this channel.",
    ],
)  # fmt: skip
def test_what_refuses(text: str) -> None:
    found = refusal(text)
    assert found.probability >= 0.5
    assert found.spans
    assert not found.residual


@pytest.mark.parametrize(
    "text",
    [
        "The API does not support batch requests.", "No, you cannot export without admin rights.",
        "The contract does not mention a fee for early exit, it is free.", "I cannot recommend version 2; use 3.",
        "Passwords are not shown anywhere.", "不支持退款。", "未成年人不得参加。", "没有管理员权限就不能导出。",
        "我们不保留护照复印件。", "30 days.", "匿名用户不能发表评论。", "病因尚不明确。", "No, the price has never gone up.",
        "How about tennis, do you play?",
    ],
)  # fmt: skip
def test_a_product_that_lacks_something_refuses_nothing(text: str) -> None:
    assert refusal(text).probability < 0.5


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("没有相关信息，但是价格为300元。", "300"),
        ("I couldn't find the price in the documents. Typically such licences cost about $50 per month.", "$50"),
        ("The context does not say who invented it. It was most likely Edison, in 1879.", "1879"),
    ],
)
def test_what_is_left_after_refusing(text: str, left: str) -> None:
    found = refusal(text)
    assert found.probability < 0.5
    assert any(left in span.text for span in found.residual)
    assert all(text[span.start : span.end] == span.text for span in [*found.spans, *found.residual])


@pytest.mark.parametrize(
    ("answer", "answered", "declined"),
    [
        ("No objections were recorded in the minutes.", "Were any objections raised?", "Who objected, and why?"),
        ("The policy does not mention dogs.", "Does the policy mention dogs?", "What does a dog cost on the bus?"),
        ("年报没有披露门店数量。", "年报披露门店数量了吗？", "一共有多少家门店？"),
    ],
)
def test_the_question_decides_what_answers_it(answer: str, answered: str, declined: str) -> None:
    said, unsaid = (refusal(answer, question=question).probability for question in (answered, declined))
    assert said < unsaid and unsaid >= 0.5


@given(st.text(max_size=300), st.text(max_size=60))
def test_probability_agrees_with_the_spans(text: str, question: str) -> None:
    found = refusal(text, question=question)
    assert 0 <= found.probability <= 1
    assert (found.probability >= 0.5) == bool(found.spans and not found.residual)
    assert 0 <= found.refusing <= 1
    assert 0 <= found.left <= 1
    assert (found.probability >= 0.5) == (found.refusing >= 0.5 and not found.left >= 0.5)


@pytest.mark.parametrize("probability", [0.0, 0.3, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("left", [None, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("strongest", [0.1, 0.5, 0.9])
def test_both_probabilities_agree_with_the_whole(probability: float, left: float | None, strongest: float) -> None:
    """Whatever the three models say of one another."""
    cut = segments("I looked everywhere. It costs 5 euros.")
    clauses = [Clause(strongest, 0.0, 1 - strongest), Clause(0.0, 0.1, 0.9)]
    found = _agreed(probability, cut, clauses, {} if left is None else {1: left})
    assert (found.refusing >= 0.5 and not found.left >= 0.5) == (probability >= 0.5)
    assert bool(found.spans and not found.residual) == (probability >= 0.5)


def test_refusing_is_graded_and_not_all_or_nothing() -> None:
    sure, vague = refusal("I cannot answer that from the documents."), refusal("The page is vague there.")
    assert 0.9 < sure.refusing < 1
    assert vague.refusing < sure.refusing
    answered = refusal("I couldn't find the price in the documents. Typically such licences cost about $50 per month.")
    assert answered.refusing >= 0.5
    assert 0.5 <= answered.left < 1


@given(st.text(max_size=200))
def test_a_clause_does_one_of_three_things(text: str) -> None:
    c = clause(text)
    assert c.refuses + c.fills + c.states == pytest.approx(1)


@pytest.mark.parametrize("piece", ["not ", "没有", '"', "“", ", but ", "我不，", "no-", "as x, "])
def test_long_texts_take_linear_time(piece: str) -> None:
    start = time.process_time()
    refusal(piece * 40_000)
    assert time.process_time() - start < 5


def test_features_name_who_does_not_do_what() -> None:
    found = features("The notes don't say who signed.")
    assert {"SRC>NEG", "NEG+SAY", "SRC>NEG>SAY", "f:SRC|SAY", "f:SRC|?", "w:signed", "b:do not"} <= found
    assert features("The notes do not say who signed.") == found
    assert "f:none" in features("It costs much.")
    assert {"f:SRC|SAY", "SRC>NEG"} <= features("文档没有说明原因")


def test_quoted_words_are_left_out() -> None:
    assert "found" not in folded('The page shows "not found" then.')


def test_model_language_a_clause() -> None:
    assert model_language("API 没有说明") == "zh"
    assert model_language("The term 没 is a negation in Chinese") == "en"
    assert model_language("") == "en"


def test_a_time_and_a_number_are_not_cut() -> None:
    cut = [span.text for span, _ in segments("服务时间8:00-20:00，每月3,000元:面议,可开票。")]
    assert cut == ["服务时间8:00-20:00", "每月3,000元", "面议", "可开票。"]


def test_segments_know_their_sentence() -> None:
    cut = segments("I looked, but found nothing. Ask HR; they know.")
    assert [(span.text, number) for span, number in cut] == [
        ("I looked", 0), ("found nothing.", 0), ("Ask HR", 1), ("they know.", 2),
    ]  # fmt: skip


def test_the_rest_leaves_the_chief_clause_out() -> None:
    clauses = [Clause(0.1, 0.0, 0.9), Clause(0.8, 0.1, 0.1), Clause(0.2, 0.2, 0.6)]
    rows = rest_values(["It is 5", "I do not know", "ask"], [0, 0, 1], clauses)
    assert sorted(rows) == [0, 2]
    assert rows[0][3:7] == [1.0, 0.0, 0.0, 1.0]
    assert rows[2][3:7] == [0.0, 0.0, 0.0, 0.0]


def test_the_whole_by_hand() -> None:
    assert whole_values(0.5, None) == [0.0, 0.0]
    assert whole_values(0.99, 0.9) == [pytest.approx(-2.196, abs=1e-3), 2.0]
    assert logistic([1.0, 2.0], {"intercept": -1.0, "weights": {"a": 1.0, "b": 0.0}}) == 0.5


def test_marks_of_a_collection() -> None:
    answer = parse("~Sorry, ^I cannot say; §it is 5.", "en-x")
    assert answer.text == "Sorry, I cannot say; it is 5."
    assert answer.kinds[-1] == "states"
    assert not answer.refusal
    assert parse("^Not known.", "en-x").refusal
    assert not parse("It is 5.", "en-x").refusal


def test_rates_by_hand() -> None:
    said = [(0.9, True), (0.8, False), (0.2, True), (0.1, False)]
    assert rates(said) == "n 4, precision 0.500, recall 0.500"


def test_a_fit_separates_what_can_be_separated() -> None:
    fitted = fit_logistic([[-3.0], [-2.0], [2.0], [3.0]], [False, False, True, True], ["x"])
    assert fitted["weights"]["x"] > 0
    assert logistic([3.0], fitted) > 0.5 > logistic([-3.0], fitted)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_collection_is_learned(language: str) -> None:
    """What the model was fitted on: no measure of new wordings, but a fit that went wrong shows here."""
    answers = [a for a in collection(STYLES) if a.language == language]
    assert len(answers) >= 2500
    judged = [(refusal(a.text, question=a.question).probability >= 0.5, a.refusal) for a in answers]
    assert sum(said == true for said, true in judged) / len(judged) >= 0.94


def test_one_clause_alone() -> None:
    assert refuses("The handbook does not cover this")
    assert not refuses("The plan does not include phone support")


def test_only_what_speaks_to_the_reader_is_read() -> None:
    echo = "Answer the question using only the provided context.\nQuestion: How high is it?\nAnswer: It is 4,207 m high."
    assert refusal(echo).probability < 0.5
    assert refusal('{"answer": "I could not find this in the documents.", "sources": []}').probability >= 0.5


@pytest.mark.parametrize("text", ["I do not think that it is scary.", "The notes do not say who signed.", "It is 30 euros."])
def test_a_question_without_a_word_is_no_question(text: str) -> None:
    assert refusal(text, question="?") == refusal(text, question=" ？！") == refusal(text)
