"""Narrow signs of contradiction: each shown on the smallest pair, and what must not be taken for one."""

from __future__ import annotations

import random

import pytest

from workbench.data.text.normalise import HAN_CHARACTER
from workbench.evidence.offline.comparisons import lifespan
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


PLACES = ["Hamburg", "Toronto", "Nairobi", "Lisbon", "Osaka", "Mumbai"]
PLACED = ["The office is in {}.", "The people are in {}.", "The workshop was held in {}."]


@pytest.mark.parametrize("template", PLACED)
def test_another_name_is_seen_where_it_is_most_of_the_claim(template):
    for place in PLACES:
        other = PLACES[PLACES.index(place) - 1]
        assert [s for s in signs(template.format(other), template.format(place)) if s.kind in ("name", "kind")]
        assert not signs(template.format(place), template.format(place))


def test_a_pronoun_anywhere_in_a_sentence_may_stand_for_the_name_that_a_claim_begins_with():
    told = "After becoming a student of Anna Berger, he became a practitioner of both crafts."
    assert not signs("Peter Klein became a practitioner of both crafts.", told)


@pytest.mark.parametrize("thing", ["the door", "two children", "the green chairs"])
def test_far_from_is_the_opposite_of_near_and_negates_nothing(thing):
    near, far = f"The man sits near {thing}.", f"The man sits far from {thing}."
    for claim, evidence in ((near, far), (far, near)):
        assert [s.kind for s in signs(claim, evidence)] == ["antonym"]
    assert not signs(near, near) and not signs(far, far)


def test_what_holds_for_everyone_is_denied_of_nobody_but_a_list_is_not_everything():
    assert "negation" in [s.kind for s in signs("Brent didn't visit Kenya.", "Everyone has visited every place.")]
    assert not signs("Brent didn't visit Kenya.", "Everyone has visited Spain, Cuba and Nepal.")


NEGATED = [
    ("The lender did not charge much interest.", "The lender charged 10 percent interest on every loan.", True),
    ("Tom didn't visit Algeria.", "Anna and Paul have visited Algeria.", False),  # of another subject
]


@pytest.mark.parametrize(("claim", "evidence", "against"), NEGATED)
def test_a_negation_counts_where_most_of_the_rest_is_said_of_the_same(claim, evidence, against):
    assert ("negation" in [s.kind for s in signs(claim, evidence)]) == against


def test_a_sentence_that_says_the_claim_excuses_the_negation_of_one_that_says_less():
    text = ("The gospel of Mark was written anonymously. The author used stories and sayings (although not the gospel of "
            "Thomas, and probably not what Mark had written).")  # fmt: skip
    assert not signs("The gospel of Mark was written anonymously.", text)


@pytest.mark.parametrize("verb", ["does", "did", "is"])
def test_a_negation_that_a_tokeniser_parted_from_its_verb_is_one(verb):
    said = {"does": "cover water damage", "did": "cover water damage", "is": "valid abroad"}[verb]
    claim, told = f"The warranty {verb} not {said}.", f"The warranty {verb} n't {said} ."
    assert not signs(claim, told)
    assert "negation" in [s.kind for s in signs(claim.replace(" not", ""), told)]


THINGS = ["a hammer", "a saw", "a drill", "a file", "a wrench", "a chisel", "a clamp"]
DINGE = ["锤子", "锯子", "钻头", "锉刀", "扳手", "凿子", "夹具"]
WORDS, ZAHLEN = ["two", "three", "four", "five"], "两三四五"


@pytest.mark.parametrize("seed", range(8))
def test_a_list_longer_than_there_are_things_is_against_their_number(seed):
    chance = random.Random(seed)
    n = chance.randrange(4)
    for count, against in ((n + 2, False), (n + 3, True)):
        some = chance.sample(THINGS, count)
        claim = f"The box contains {', '.join(some[:-1])} and {some[-1]}."
        assert ("count" in [s.kind for s in signs(claim, f"The box contains only {WORDS[n]} tools.")]) == against
        assert not [s for s in signs(claim, f"The box contains {WORDS[n]} tools.") if s.kind == "count"]
        assert not [s for s in signs(claim, f"The drawer holds only {WORDS[n]} tools.") if s.kind == "count"]
        dinge = chance.sample(DINGE, count)
        claim = f"工具箱有{'、'.join(dinge[:-1])}和{dinge[-1]}。"
        assert ("count" in [s.kind for s in signs(claim, f"工具箱只有{ZAHLEN[n]}种工具。")]) == against


@pytest.mark.parametrize("seed", range(12))
def test_brackets_after_a_name_tell_when_somebody_was_born_and_died(seed):
    chance = random.Random(seed)
    born = chance.randrange(1500, 1900)
    died = born + chance.randrange(20, 90)
    day = chance.randrange(1, 28)
    brackets = [f"({born}–{died})", f"({day} May {born} – {day} June {died})", f"(May {day}, {born} - June {day}, {died})",
                f"(born Ada King; May {day}, {born} – {died})"]  # fmt: skip
    for told in brackets:
        text = f"Ada Klein {told} was a painter."
        assert lifespan(f"Ada Klein was born in {born} and died in {died}.", text)[0] == 1
        assert lifespan(f"She died in {born}.", text)[0] == lifespan(f"She was born in {died}.", text)[0] == -1
        assert lifespan(f"She was born in {born + 1}.", text)[0] == 0
    for told in (f"（{born}年－{died}年）", f"（{born}年5月{day}日—{died}年6月{day}日）"):
        text = f"李明{told}，画家。"
        assert lifespan(f"李明出生于{born}年。", text)[0] == lifespan(f"李明{died}年6月去世。", text)[0] == 1
        assert lifespan(f"李明出生于{died}年。", text)[0] == lifespan(f"李明于{born}年逝世。", text)[0] == -1
