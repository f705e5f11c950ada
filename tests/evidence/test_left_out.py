"""Which of several things that are asked an answer tells, and what copies a sentence but for one thing: each kind drawn at
random in both languages, once the same and once different."""

from __future__ import annotations

import random
from typing import Any

import pytest

import workbench as wb
from workbench.evidence.offline.answers import LEFT_OUT, answer_right
from workbench.evidence.offline.asked import asks_for_several, asks_for_things, enough_of, points_asked
from workbench.evidence.offline.copied import replaced
from workbench.evidence.offline.grid import claim_words
from workbench.evidence.offline.words import analyse

SEEDS = range(20)
LANGUAGES = pytest.mark.parametrize("language", ["en", "zh"])
DRAWN = pytest.mark.parametrize("seed", SEEDS)
THINGS = {
    "en": ["lanterns", "violins", "cotton", "copper pans", "saffron", "sheepskins", "clay jars", "timber", "ivory", "honey"],
    "zh": ["灯笼", "小提琴", "棉花", "铜锅", "藏红花", "羊皮", "陶罐", "木材", "象牙", "蜂蜜"],
}
ASKED = {"en": "Which goods were sold at the harbour market?", "zh": "港口集市出售哪些货物？"}
TOLD = {"en": "The harbour market sold {}.", "zh": "港口集市出售{}。"}
PEOPLE = {
    "en": ["Ruth Calder", "Otto Brandt", "Ines Varga", "Hugo Lind", "Mara Petrov"],
    "zh": ["鲁思·考尔德", "奥托·布兰特", "伊内斯·瓦尔加", "雨果·林德", "玛拉·彼得罗娃"],
}


def listed(items: list[str], language: str) -> str:
    last = {"en": " and ", "zh": "和"}[language]
    return {"en": ", ", "zh": "、"}[language].join(items[:-1]) + last + items[-1] if len(items) > 1 else items[0]


def cause(question: str, answer: str, reference: str, contexts: list[str], **more: Any) -> str:
    row = {"question": question, "answer": answer, "reference": reference, "contexts": contexts, **more}
    found = wb.evaluate([{"sample_id": "1", **row}], encoder="none", progress=False).failures()
    return str(found["primary_cause"].iloc[0])


@LANGUAGES
@DRAWN
def test_a_list_needs_all_of_its_things_in_any_order(seed: int, language: str) -> None:
    chance = random.Random(f"{seed} {language}")
    items = chance.sample(THINGS[language], chance.randint(2, 5))
    reference, question = listed(items, language), ASKED[language]
    other = chance.sample(items, len(items))
    for text in (listed(other, language), TOLD[language].format(listed(other, language)), "\n".join(f"- {i}" for i in other)):
        assert answer_right(question, text, reference).probability >= 0.5, text
    items.remove(chance.choice(items))
    for text in (listed(items, language), TOLD[language].format(listed(items, language))):
        found = answer_right(question, text, reference)
        assert (found.probability < 0.5, found.reason) == (True, LEFT_OUT), text


@LANGUAGES
@DRAWN
def test_a_list_inside_a_statement_needs_all_of_its_things_where_they_are_asked_for(seed: int, language: str) -> None:
    chance = random.Random(f"{seed} {language}")
    items = chance.sample(THINGS[language], chance.randint(3, 5))
    statement = {"en": "The harbour market, which opened in {y}, sold {i} to travellers.",
                 "zh": "{y}年开业的港口集市向旅客出售{i}。"}  # fmt: skip
    reference = statement[language].format(y=1000 + 17 * seed, i=listed(items, language))
    dropped = chance.choice(items)
    kept = [item for item in items if item != dropped]
    short = statement[language].format(y=1000 + 17 * seed, i=listed(kept, language))
    assert answer_right(ASKED[language], reference, reference).probability >= 0.5
    assert answer_right(ASKED[language], f"{reference} {1000 + seed},500 m", reference).probability >= 0.5
    assert answer_right(ASKED[language], short, reference).reason == LEFT_OUT
    when = {"en": "When did the harbour market open?", "zh": "港口集市是哪一年开业的？"}[language]
    assert answer_right(when, short, reference).probability >= 0.5, "what is listed there is not asked for"


@LANGUAGES
@DRAWN
def test_one_thing_is_enough_for_who_asks_for_any(seed: int, language: str) -> None:
    chance = random.Random(f"{seed} {language}")
    items = chance.sample(THINGS[language], 4)
    question = {"en": "Name one of the goods sold at the harbour market.", "zh": "请举一例港口集市出售的货物。"}[language]
    assert enough_of(question) == 1
    other = chance.choice([thing for thing in THINGS[language] if thing not in items])
    assert answer_right(question, chance.choice(items), listed(items, language)).probability >= 0.5
    assert answer_right(question, other, listed(items, language)).probability < 0.5


@LANGUAGES
@DRAWN
def test_a_part_of_a_question_that_is_declined_or_passed_over_is_left_out(seed: int, language: str) -> None:
    chance = random.Random(f"{seed} {language}")
    person, year = chance.choice(PEOPLE[language]), chance.randint(1500, 1990)
    question = {"en": "Who built the Alder bridge? And when was the mill sold?",
                "zh": "谁修建了赤杨桥？另外，磨坊是哪一年出售的？"}  # fmt: skip
    first = {"en": f"The Alder bridge was built by {person}.", "zh": f"赤杨桥由{person}修建。"}[language]
    second = {"en": f"The mill was sold in {year}.", "zh": f"磨坊于{year}年出售。"}[language]
    declined = chance.choice({
        "en": ["The document doesn't say when.", "I could not find anything about the mill.", "The date is not mentioned."],
        "zh": ["文档没有说明磨坊的情况。", "至于磨坊，资料中没有提到。", "我没有找到出售年份的信息。"],
    }[language])  # fmt: skip
    refused = {"en": "The documents do not answer this.", "zh": "抱歉，资料中没有相关内容。"}[language]
    gap = {"en": " ", "zh": ""}[language]
    contexts, points = [first + gap + second], [person, str(year)]
    asked = question[language]
    reference = person + {"en": "; ", "zh": "；"}[language] + str(year)
    assert points_asked(asked) == 2
    for text in (first, first + gap + declined):
        assert cause(asked, text, reference, contexts) == "omission", text
        assert cause(asked, text, first + gap + second, contexts) == "omission", text
        assert cause(asked, text, "", contexts, must_include=points) == "omission", text
    assert cause(asked, refused, reference, contexts) == "wrong_refusal"
    assert cause(asked, second + gap + first, reference, contexts) == "pass"


@LANGUAGES
@DRAWN
def test_the_sentence_that_answers_is_enough_and_needed(seed: int, language: str) -> None:
    chance = random.Random(f"{seed} {language}")
    year, days = chance.randint(1500, 1990), chance.randint(11, 60)
    question = {"en": "When was the old town hall of Brackwede built?", "zh": "布拉克韦德的旧市政厅是哪一年建成的？"}[language]
    first = {"en": f"The old town hall of Brackwede was built in {year}.", "zh": f"布拉克韦德的旧市政厅于{year}年建成。"}
    second = {"en": f"Visitors need about {days} minutes for a tour.", "zh": f"参观者的导览需要大约{days}分钟。"}[language]
    reference = first[language] + {"en": " ", "zh": ""}[language] + second
    assert answer_right(question, first[language], reference).probability >= 0.5
    assert answer_right(question, second, reference).probability < 0.5


@LANGUAGES
@DRAWN
def test_a_copy_with_another_number_name_or_denial_is_against_the_sentence(seed: int, language: str) -> None:
    chance = random.Random(f"{seed} {language}")
    one, two = chance.sample(PEOPLE[language], 2)
    year, other = chance.sample(range(1500, 1990), 2)
    sentence = {"en": "After a long dispute {p} was asked to rebuild the northern lock in {y}, which a flood had destroyed.",
                "zh": "经过长期争执，{p}于{y}年受托重建北部船闸，那座船闸毁于洪水。"}[language]  # fmt: skip
    text = analyse(sentence.format(p=one, y=year))

    def kind(said: str) -> str | None:
        found = replaced(claim_words(analyse(said), 0, len(said)), text, 0)
        return None if found is None else found.kind

    assert kind(sentence.format(p=one, y=year)) is None
    assert kind(sentence.format(p=one, y=other)) == "number"
    assert kind(sentence.format(p=two, y=year)) == "name"
    denied = {"en": ("was asked", "was not asked"), "zh": ("受托", "未受托")}[language]
    assert kind(sentence.format(p=one, y=year).replace(*denied)) == "negation"
    told = {"en": ("the northern lock", "the lock in the north"), "zh": ("那座船闸", "这座船闸")}[language]
    assert kind(sentence.format(p=one, y=year).replace(*told)) is None, "said in other words"
    family = {"en": one.split()[-1], "zh": one.split("·")[-1]}[language]
    assert kind(sentence.format(p=family, y=year)) is None, "a part of the name"


@pytest.mark.parametrize(("question", "points", "several", "things"), [
    ("Who runs the shop?", 1, False, True), ("When did it open?", 1, False, False), ("Which ports are closed?", 1, True, True),
    ("Who runs it, and when did it open?", 2, False, False), ("What are the two ports? Where do they lie?", 2, True, True),
    ("谁经营这家店？", 1, False, True), ("哪一年开业？", 1, False, False), ("哪些港口关闭了？", 1, True, True),
    ("谁经营，以及何时开业？", 2, False, False),
])  # fmt: skip
def test_what_a_question_asks_for(question: str, points: int, several: bool, things: bool) -> None:
    found = points_asked(question), asks_for_several(question), asks_for_things(question)
    assert found == (points, several, things)
