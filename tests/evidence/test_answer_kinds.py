"""Kinds of right and wrong answers, each generated with the same and with the different, in both languages."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from workbench.evidence.offline.answer_reading import read
from workbench.evidence.offline.answer_variants import asked_kind, variants
from workbench.evidence.offline.answers import answer_right
from workbench.training.answer_pairs import _in_han, _written_otherwise

few = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
PEOPLE = ["Edwin Marlow", "Petra Lindholm", "Yusuf Okafor", "Ines Duarte", "Oscar Castell"]
PEOPLE_ZH = ["林静山", "周文远", "赵明月", "孙长河"]
TOWNS, TOWNS_ZH = ["Velmar", "Ostrava", "Tarnby", "Castrel"], ["维尔马", "奥斯特瓦", "塔恩比", "卡斯特雷尔"]


def told(question: str, answer: str, reference: str) -> bool:
    return answer_right(question, answer, reference).probability >= 0.5


def two(items: list[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(items), min_size=2, max_size=2, unique=True)


# ---------------------------------------------------------------- numbers and times


@few
@given(st.integers(110, 199), st.integers(1, 9))
def test_a_decade_in_any_spelling(first: int, off: int) -> None:
    start = 10 * first
    century, decade = start // 100 + 1, start // 10 % 10
    assume(decade)
    question = "In which decade was the canal dug?"
    for same in (f"{start}s", f"{start}-{start + 9}", f"between {start} and {start + 9}"):
        assert told(question, f"It was dug {same}.", f"{start}s"), same
        assert told(question, f"the {start}s", f"{start}-{start + 9}")
    other = start + 10 * off
    assert not told(question, f"It was dug in the {other}s.", f"{start}-{start + 9}")
    question, han = "运河是在哪个年代开凿的？", "〇一二三四五六七八九"
    reference = f"{century}世纪{decade}0年代"
    tens = "十" if century < 20 else "二十"
    written = f"{tens}{han[century % 10] if century % 10 else ''}世纪{han[decade]}十年代"
    assert told(question, f"{start}年代", reference)
    assert told(question, f"运河在{written}开凿。", reference)
    assert not told(question, f"{other}年代", reference)


@few
@given(st.integers(5, 20), st.integers(1, 4))
def test_a_century_that_the_question_names_need_not_be_named_again(n: int, off: int) -> None:
    ordinal = f"{n}th"
    question = "In which century was the abbey founded?"
    assert told(question, ordinal, f"{ordinal} century")
    assert not told(question, f"{n + off}th" if n + off < 21 else "4th", f"{ordinal} century")
    numerals = [*"〇一二三四五六七八九十", *(f"十{c}" for c in "一二三四五六七八九"), "二十"]
    assert told("修道院建于哪个世纪？", f"{numerals[n]}世纪", f"{n}世纪")
    if n + off <= 20:
        assert not told("修道院建于哪个世纪？", f"{numerals[n + off]}世纪", f"{n}世纪")


@few
@given(st.integers(21, 98), st.integers(100, 990), st.sampled_from([0.6, 1.5, 2.0]))
def test_over_so_many_is_true_of_a_number_a_little_above(high: int, low: int, factor: float) -> None:
    value = 1000 * high + low
    question = "How many people live in the valley?"
    assert told(question, f"Over {high},000 people live there.", f"{value:,}")
    assert not told(question, f"Over {int(high * factor)},000 people live there.", f"{value:,}")


@few
@given(st.integers(2, 18), st.integers(1, 3), st.sampled_from(["King Osric", "Queen Elena", "Pope Severin"]))
def test_the_numeral_of_a_name(n: int, off: int, name: str) -> None:
    ones = ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"]
    roman = [tens + one for tens in ("", "X", "XX") for one in ones]
    words = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh"]
    reference = f"{name} {roman[n]}"
    assert told("Who signed the charter?", f"It was signed by {name} {roman[n]}.", reference)
    if n <= len(words):
        assert told("Who signed the charter?", f"{name} the {words[n - 1].title()}", reference)
    assert read(reference).numbers[0].value == n
    assert answer_right("Who signed the charter?", f"{name} {roman[n + off]}", reference).features["number_other"] == 1.0


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("between ten and twelve", "10 to 12"), ("7.30 p.m.", "19:30"), ("44 B.C.", "44 BC"), ("1979/80", "1979-1980"),
        ("World War Two", "World War II"), ("十二世纪", "12世纪"), ("公元前四十四年", "公元前44年"), ("每周一", "星期一"),
    ],
)  # fmt: skip
def test_a_quantity_is_read_however_it_is_spelled(text: str, same: str) -> None:
    one, other = read(text).numbers[-1], read(same).numbers[-1]
    assert (one.low, one.high) == (other.low, other.high)


@pytest.mark.parametrize("text", ["Then Ada I think", "between Ada and Carl", "2017-09", "a vitamin C tablet"])
def test_what_only_looks_like_a_numeral_is_none(text: str) -> None:
    assert not any(number.kind == "ordinal" for number in read(text).numbers)


# ---------------------------------------------------------------- names


@few
@given(two(PEOPLE), st.sampled_from(["Who wrote the novel?", "Who was the author?"]))
def test_the_parts_of_a_name_in_other_orders_and_forms(people: list[str], question: str) -> None:
    one, other = people
    first, last = one.split()
    for answer in (one, f"{first[0]}. {last}", f"{first} Karel {last}"):
        for reference in (one, f"{last}, {first}", f"{one}, Jr.", f"{one}, a baker from the coast"):
            assert told(question, answer, reference), (answer, reference)
            assert not told(question, other, reference), (other, reference)


@few
@given(two(PEOPLE))
def test_who_someone_is_need_not_be_said(people: list[str]) -> None:
    one, other = (name.split()[0] for name in people)
    reference = f"{one}, King of Veria, and his wife, {other}"
    assert told("Who were the parents of the hero?", f"{one} and {other}", reference)
    assert not told("Who were the parents of the hero?", one, reference)


@few
@given(st.permutations(["爱德温", "佩特拉", "马库斯"]), st.permutations(["马洛", "林德霍姆", "布兰特"]))
def test_the_family_name_of_a_transcribed_name(firsts: list[str], lasts: list[str]) -> None:
    question, reference = "小说是谁写的？", f"{firsts[0]}·{lasts[0]}"
    for answer in (lasts[0], f"{firsts[0]}{lasts[0]}", f"小说由{firsts[0]}·{lasts[0]}所写。"):
        assert told(question, answer, reference), answer
    for answer in (f"{firsts[0]}·{lasts[1]}", lasts[1], f"{firsts[1]}·{lasts[1]}"):
        assert not told(question, answer, reference), answer


@pytest.mark.parametrize(
    ("right", "wrong", "reference"),
    [
        ("Italians", "Spaniards", "Italy"), ("He came from Poland.", "He came from Portugal.", "Polish"),
        ("Yasir Qaradi", "Nasser Baradi", "Yasser Qaradi"),
        ("Jinks", "Banks", "Mr Jinx"), ("J. Müller", "G. Weller", "Jürgen Müller"),
        ("Laszlo Biro", "Marcel Hrabal", "Lszl Br"), ("Man United", "Leeds United", "Manchester United"),
        ("beekeeper", "shoemaker", "bee keeping"), ("a beehive", "a bird nest", "bee hives"), ("gray", "red", "grey"),
        ("National Weather and Space Institute", "National Water and Space Institute", "National Weather and Space Institute"),
        ("NWSI", "NWPI", "National Weather and Space Institute"), ("Velmar", "Belmar", "Velmar"),
        ("his daughter", "his granddaughter", "daughter"), ("his daughter", "his daughter-in-law", "daughter"),
        ("the Second World War", "the First World War", "World War II"), ("WWI", "WWII", "First World War"),
    ],
)  # fmt: skip
def test_words_and_names_in_other_forms(right: str, wrong: str, reference: str) -> None:
    assert told("Which one was it?", right, reference)
    assert not told("Which one was it?", wrong, reference)


@pytest.mark.parametrize(
    ("right", "wrong", "reference"),
    [
        ("世卫组织", "世贸组织", "世界卫生组织"), ("WHO", "WTO", "世界卫生组织"), ("一战", "二战", "第一次世界大战"),
        ("农改委", "卫健委", "农业和改革委员会"), ("中石化", "中海油", "中国石油化工集团有限公司"), ("雪梨", "墨尔本", "悉尼"),
        ("加州", "得州", "加利福尼亚州"),
    ],
)  # fmt: skip
def test_short_forms_and_other_names_in_chinese(right: str, wrong: str, reference: str) -> None:
    assert told("是哪一个？", right, reference)
    assert not told("是哪一个？", wrong, reference)


# ---------------------------------------------------------------- several values, one of them set aside


@few
@given(st.sampled_from(["en", "zh"]), st.data())
def test_of_values_joined_by_or_one_is_enough(language: str, data: st.DataObject) -> None:
    items, joined, question = (
        (["butter", "honey", "mustard", "vinegar"], "{} or {}", "What can be added?")
        if language == "en"
        else (["黄油", "蜂蜜", "芥末", "香醋"], "{}或{}", "可以加什么？")
    )
    one, other, third = data.draw(st.lists(st.sampled_from(items), min_size=3, max_size=3, unique=True))
    reference = joined.format(one, other)
    assert told(question, one, reference)
    assert told(question, other, reference)
    assert not told(question, third, reference)


@few
@given(two(["The Hollow Pines", "The Silver Reeds", "The Red Foxes", "The Paper Kites"]))
def test_of_two_names_with_articles_both_are_needed(bands: list[str]) -> None:
    question = "Which two bands won it twice?"
    assert told(question, f"{bands[1]} and {bands[0]}", " and ".join(bands))
    assert not told(question, bands[0], " and ".join(bands))


SET_ASIDE = {
    "en": ["It was not {x} but {y}.", "{y}, not {x}.", "{y} rather than {x}."],
    "zh": ["不是{x}，而是{y}。", "{y}，而非{x}。"],
}


@few
@given(st.sampled_from(["en", "zh"]), st.data())
def test_what_is_set_aside_is_not_the_answer(language: str, data: st.DataObject) -> None:
    items = ["copper", "granite", "leather", "bamboo"] if language == "en" else ["铜", "花岗岩", "皮革", "竹子"]
    question = "What is it made of?" if language == "en" else "它是用什么做的？"
    one, other = data.draw(two(items))
    said = data.draw(st.sampled_from(SET_ASIDE[language]))
    assert told(question, said.format(x=other, y=one), one)
    assert not told(question, said.format(x=one, y=other), one)


@few
@given(two(PEOPLE), st.sampled_from(["took over from", "replaced", "succeeded"]))
def test_who_has_taken_the_place_of_another(people: list[str], verb: str) -> None:
    one, other = people
    assert told("Who presents the show?", f"{one} {verb} {other}.", one)
    assert not told("Who presents the show?", f"{other} {verb} {one}.", one)
    # Not where the question asks for the one who was replaced.
    assert told(f"Whom has {other} replaced?", f"{other} replaced {one}.", one)


@few
@given(st.data())
def test_a_member_of_a_list_that_excludes_another(data: st.DataObject) -> None:
    one, other = data.draw(two(["spring", "summer", "autumn", "winter"]))
    year = data.draw(st.integers(1950, 2020))
    assert told("When is the fair held?", f"{one} {year}", f"in the {one} of {year}")
    assert not told("When is the fair held?", f"{other} {year}", f"in the {one} of {year}")


# ---------------------------------------------------------------- long references, of which a part was asked for

LONG = {
    "en": [
        ("When was the lighthouse built?", "The lighthouse is the oldest on the coast. It was built in {year}.",
         ["It was built in {year}.", "{year}"], ["The lighthouse is the oldest on the coast."]),
        ("Where is the largest bell foundry?", "Bell founding is an old craft. The largest foundry is in {town}.",
         ["It is in {town}.", "In {town}."], ["Bell founding is an old craft.", "It is a very old craft."]),
        ("Who invented the crank loom?", "The crank loom changed weaving. It was invented by {person} in {year}.",
         ["{person} invented it.", "It was {person}."], ["The crank loom changed weaving."]),
        ("When did people start to glaze pots?", "Writers differ on the origin of glazing. Most date it to about {year}.",
         ["Most say about {year}."], ["Writers differ on the origin of glazing.", "The origin of glazing is disputed."]),
    ],
    "zh": [
        ("灯塔是什么时候建的？", "这座灯塔是这一带海岸最古老的。它建于{year}年。",
         ["建于{year}年。", "{year}年"], ["这座灯塔是这一带海岸最古老的。"]),
        ("最大的铸钟厂在哪里？", "铸钟是许多国家的古老工艺。最大的铸钟厂位于{town}。",
         ["位于{town}。", "在{town}。"], ["铸钟是许多国家的古老工艺。"]),
        ("谁发明了曲柄织机？", "曲柄织机改变了许多城镇的纺织业。它由{person}于{year}年发明。",
         ["它由{person}发明。"], ["曲柄织机改变了许多城镇的纺织业。"]),
        ("人们什么时候开始给陶器上釉？", "学者对上釉的起源看法不一。多数人认为始于{year}年。",
         ["多数人认为是{year}年。"], ["学者对上釉的起源看法不一。", "上釉的起源有争议。"]),
    ],
}  # fmt: skip


@few
@given(st.sampled_from(["en", "zh"]), st.integers(0, 3), st.integers(1210, 1890), st.data())
def test_an_answer_without_the_time_or_name_that_was_asked_for(language: str, which: int, year: int, data) -> None:
    question, reference, right, wrong = LONG[language][which]
    parts = {
        "year": year,
        "town": data.draw(st.sampled_from(TOWNS if language == "en" else TOWNS_ZH)),
        "person": data.draw(st.sampled_from(PEOPLE if language == "en" else PEOPLE_ZH)),
    }
    assert asked_kind(question)
    reference = reference.format(**parts)
    for answer in right:
        assert told(question, answer.format(**parts), reference), answer
    for answer in wrong:
        assert not told(question, answer.format(**parts), reference), answer


@pytest.mark.parametrize("question", ["When was it built and by whom?", "Why was it built?", "建于何时，由谁建造？"])
def test_a_question_for_more_than_one_thing_wants_the_whole(question: str) -> None:
    assert asked_kind(question) == ""


def test_a_remark_is_no_part_of_a_value() -> None:
    assert told("Which city does it serve?", "Velmar", "Velmar Note: the airport was renamed in 1990")
    assert told("机场服务于哪座城市？", "维尔马", "维尔马（注：机场于1990年更名）")
    assert "Carl Dane" in variants("Who was it?", "Dane, Carl")


def test_a_refusal_that_goes_on_about_something_else() -> None:
    question = "Which metal is it made of?"
    assert not told(question, "I'm sorry, I could not find what it is made of. Copper is mined nearby.", "copper")
    assert not told("它是用什么金属做的？", "抱歉，没有找到它是用什么做的。附近有铜矿。", "铜")
    assert told("为什么停工？", "资金不足", "因为资金不足")


# ---------------------------------------------------------------- pairs made by rule


@few
@given(st.integers(20, 99_999_999))
def test_a_number_in_han_numerals_is_the_number(value: int) -> None:
    forms = ["〇", *"一二三四五六七八九十百千万亿"]
    assert read(f"共{_in_han(value, forms)}人").numbers[0].value == value


@pytest.mark.parametrize(
    ("language", "span"), [("zh", "2015年"), ("zh", "1987年5月3日"), ("zh", "26次"), ("en", "7 days"), ("en", "15%")]
)
def test_a_value_written_otherwise_is_the_same_value(language: str, span: str) -> None:
    written = _written_otherwise(span, language, random.Random(3))
    assert written != span
    one, other = read(span).numbers[0], read(written).numbers[0]
    assert (one.value, one.unit) == (other.value, other.unit)
