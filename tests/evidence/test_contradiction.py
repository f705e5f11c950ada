"""Narrow signs of contradiction: each shown on the smallest pair, and what must not be taken for one."""

from __future__ import annotations

import random

import pytest

from workbench.data.text.normalise import HAN_CHARACTER
from workbench.evidence.offline.contradiction import Sign, conflicts, contradictions, opposite_words
from workbench.evidence.offline.grid import Grid, claim_words
from workbench.evidence.offline.words import analyse


def signs(claim: str, evidence: str) -> list[Sign]:
    grid = Grid([claim_words(analyse(claim), 0, len(claim))], [analyse(evidence)])
    return [sign for _, sign in contradictions(grid, 0)]


CONTRADICTED = [
    ("number", "It is 320 metres tall.", "The tower is 330 metres tall."),
    ("number", "企业版最多支持 500 名用户", "企业版最多支持 1000 名用户。"),
    ("number", "The company was founded in 2014.", "The company was founded in 2015 in Berlin."),
    ("number", "公司成立于2014年。", "公司成立于2015年，总部在柏林。"),
    ("number", "The event is on 3 May 2024.", "The event is on 4 May 2024."),
    ("number", "Refunds take 30 days.", "Refunds take 14 days."),
    ("number", "价格上涨了百分之五。", "价格上涨了 8%。"),
    ("name", "The festival was hosted by Berlin last year.", "The festival was hosted by Munich last year."),
    ("negation", "The API is not rate limited.", "The API is rate limited."),
    ("negation", "该服务不支持退款", "该服务支持退款。"),
    ("negation", "The warranty covers water damage.", "The warranty does not cover water damage."),
    ("antonym", "Sales increased sharply in March.", "Sales decreased sharply in March."),
    ("antonym", "三月份的销售额大幅上升。", "三月份的销售额大幅下降。"),
]


@pytest.mark.parametrize(("kind", "claim", "evidence"), CONTRADICTED)
def test_a_contradiction_one_can_point_at_is_seen_and_explained(kind, claim, evidence):
    found = signs(claim, evidence)
    assert kind in [sign.kind for sign in found]
    strongest = max(found, key=lambda sign: sign.probability)
    assert 0.5 <= strongest.probability <= 0.95
    assert " ≠ " in strongest.text


COMPATIBLE = [
    ("the same", "The tower is 330 metres tall.", "The tower is 330 metres tall."),
    ("the same number written otherwise", "It costs 1,500 dollars.", "It costs 1500 dollars."),
    ("the number stands in another sentence", "It has 5 rooms.", "It has 3 floors. In all there are 5 rooms."),
    ("another slot", "The tower has 3 floors.", "The tower is 330 metres tall."),
    ("another unit", "It is 330 metres tall.", "It weighs 900 kg."),
    ("a fuller date", "It opened in 2014.", "It opened on 1 May 2014."),
    ("a date parted by the tokeniser", "It opened on June 19, 2009.", "It opened on June 19 , 2009 ."),
    ("something else", "Paris is the capital of France.", "The tower is not open on Mondays."),
    (
        "negated in another part",
        "The service is free.",
        "The service is free, but refunds are not possible at all after the third day.",
    ),
    ("the whole, then a part", "Former schools are not private schools.", "Former schools are not private schools."),
    (
        "an opposite of something else",
        "The first chapter is long.",
        "The last chapter is short, the first chapter is long.",
    ),
    ("not 反义", "企业版支持导出。", "企业版支持导出，个人版不支持导出。"),
    ("no overlap", "它很贵", "天气很好，没有下雨。"),
]


@pytest.mark.parametrize(("why", "claim", "evidence"), COMPATIBLE)
def test_what_does_not_contradict_is_left_alone(why, claim, evidence):
    assert signs(claim, evidence) == []


def test_what_it_cannot_see():
    """Said so in the documentation: opposites that are not listed."""
    assert signs("The soup was delicious.", "The soup was revolting.") == []


def test_an_answer_that_contradicts_itself():
    answer = "The API is not rate limited. It was made by Acme. The API is rate limited."
    text = analyse(answer)
    claims = [claim_words(text, int(start), int(end)) for start, end in text.bounds]
    assert [(a, b) for a, b, _ in conflicts(Grid(claims, [text]), 0, [0, 1, 2])] == [(0, 2)]


def test_two_numbers_in_one_answer():
    answer = "退款需要 14 天。运费由买家承担。退款需要 30 天。"
    text = analyse(answer)
    claims = [claim_words(text, int(start), int(end)) for start, end in text.bounds]
    found = conflicts(Grid(claims, [text]), 0, [0, 1, 2])
    assert [(a, b) for a, b, _ in found] == [(0, 2)]
    assert found[0][2] >= 0.5


def test_opposites_are_listed_both_ways():
    assert "decrease" in opposite_words("increase")
    assert "increase" in opposite_words("decrease")
    assert "下降" in opposite_words("上升")
    assert opposite_words("table") == ()


LISTED = [
    ("{a} and {b} were built in {x} and {y}, respectively.", "{0} was built in {1}.", "{0} was not built in {1}."),
    ("{a} and {b} cost {x} and {y} dollars respectively.", "{0} costs {1} dollars.", "{0} never cost {1} dollars."),
    ("{a}和{b}的容量分别为{x}升和{y}升。", "{0}的容量为{1}升。", "{0}的容量不是{1}升。"),
    ("{a}与{b}分别在{x}年和{y}年建成。", "{0}在{1}年建成。", "{0}不在{1}年建成。"),
]


@pytest.mark.parametrize(("text", "claim", "denial"), LISTED)
def test_what_respectively_pairs_goes_with_nothing_else(text, claim, denial):
    chance = random.Random(text)
    names = ["北京", "上海", "广州", "南京"] if HAN_CHARACTER.match(text[-2]) else ["Oslo", "Bergen", "Turku", "Vaasa"]
    for _ in range(40):
        (a, b), (x, y) = chance.sample(names, 2), chance.sample(range(1900, 1999), 2)
        evidence = text.format(a=a, b=b, x=x, y=y)
        for name, value, right in ((a, x, True), (b, y, True), (a, y, False), (b, x, False)):
            orders = [sign for sign in signs(claim.format(name, value), evidence) if sign.kind == "order"]
            assert bool(orders) is not right, (claim.format(name, value), evidence)
            assert not [sign for sign in signs(denial.format(name, value), evidence) if sign.kind == "order"]


@pytest.mark.parametrize(("claim", "evidence"), [
    ("Ann and Bob are 20 and 19, respectively.", "Ann and Bob are 20 and 19, respectively."),
    ("Ann is 20.", "Ann, Bob and Carl are 20 and 19, respectively."),
    ("The plans cost 5 dollars.", "Ann and Bob are 5 and 7, respectively."),
])  # fmt: skip
def test_respectively_tells_nothing_of_lists_that_do_not_match(claim, evidence):
    assert not [sign for sign in signs(claim, evidence) if sign.kind == "order"]
