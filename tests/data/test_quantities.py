from __future__ import annotations

import math

import pytest

from workbench.data.text.quantities import chinese_number, contains_quantity, entities, quantities, same_quantity


def one(text: str):  # type: ignore[no-untyped-def]
    found = quantities(text)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    "forms",
    [
        ("1,500", "1500", "1.5千", "一千五百", "１５００", "1.5k"),
        ("2024-05-01", "2024年5月1日", "May 1, 2024", "1 May 2024", "2024/5/1", "二〇二四年五月一日",
        "May 1st, 2024"),
        ("3–5 days", "3到5天", "3-5天", "3 to 5 days", "三至五天"),
        ("5%", "百分之五", "5 percent", "５％", "five percent"),
        ("三个月", "3个月", "3 months", "three months", "一个季度"),
        ("500GB", "500 gb", "500 GB"),
        ("300元", "¥300", "RMB 300", "300 RMB", "三百元", "人民币300"),
        ("$20", "20 dollars", "20美元", "USD 20"),
        ("1.2亿元", "120,000,000元", "12000万元"),
        ("24小时", "1 day", "24 hours"),
        ("18:00", "6:00 pm", "6 pm"),
        ("v2.3.1", "2.3.1", "version 2.3.1", "版本2.3.1"),
        ("第三", "3rd", "third"),
        ("两百", "200", "two hundred"),
        ("5万", "50,000", "五万", "50 thousand"),
        ("25 users", "twenty-five users", "25个", "25"),
        ("1 GB", "1024 MB", "1000 MB"),
        ("2024", "2024年"),
        ("30-day", "30 days", "三十天"),
    ],
)
def test_forms_of_one_quantity_are_equal(forms: tuple[str, ...]) -> None:
    first = one(forms[0])
    for form in forms[1:]:
        assert same_quantity(first, one(form)), form
        assert same_quantity(one(form), first), form


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("三个月", "90 天"), ("500", "5000"), ("500 GB", "500 MB"), ("5%", "5"), ("$20", "20元"), ("3-5天", "3天"),
        ("3-5天", "3-6天"), ("v2.3.1", "v2.3.2"), ("at most 5", "at least 5"), ("最多5个", "至少5个"),
        ("2024-05-01", "2024-05-02"), ("2024年5月", "2024年5月1日"), ("9:30", "9:31"), ("3 days", "3 hours"),
        ("第三", "3"),
        ("3 business days", "3 days"), ("-5", "5"),
    ],
)  # fmt: skip
def test_different_quantities_differ(left: str, right: str) -> None:
    assert not same_quantity(one(left), one(right))


@pytest.mark.parametrize(
    "text", ["doc-12", "ERR-1042", "doc-a#1", "foo_1", "https://a.b/1?x=2", "a1@b.io", "sha256", "一般", "十分好",
    "一定",
             "万一", "one of them", "一些用户", "统一", "千万不要", "covid-19", ""],
)  # fmt: skip
def test_no_quantity(text: str) -> None:
    assert quantities(text) == []


def test_bounds_of_comparators_and_ranges() -> None:
    most, least, spread = one("最多 500 个"), one("at least 5 users"), one("10-20 MB")
    assert (most.low, most.high, most.value) == (-math.inf, 500, 500)
    assert (least.low, least.high, least.value) == (5, math.inf, 5)
    assert (spread.low, spread.high, spread.value, spread.unit) == (10, 20, None, "MB")
    assert one("30天以内").low == -math.inf
    assert same_quantity(most, one("500"))


def test_spans_and_units_of_a_sentence() -> None:
    text = "企业版最多支持 500 个并发用户，每月费用 1,500 元，2024年5月1日起。"
    found = quantities(text)
    assert [q.text for q in found] == ["500 个", "1,500 元", "2024年5月1日"]
    assert [q.kind for q in found] == ["number", "money", "date"]
    assert contains_quantity(found, one("¥1500"))
    assert not contains_quantity(found, one("150"))


def test_money_stands_alone_in_a_list() -> None:
    assert [q.text for q in quantities("300元 $20 RMB 300")] == ["300元", "$20", "RMB 300"]


@pytest.mark.parametrize(
    ("text", "value"),
    [("三", 3), ("十二", 12), ("两百", 200), ("一千零五", 1005), ("一万二", 12000), ("二〇二四", 2024),
    ("三点五", 3.5),
     ("三亿五千万", 350_000_000), ("十", 10), ("一千五", 1500), ("两百五", 250)],
)  # fmt: skip
def test_chinese_numerals(text: str, value: float) -> None:
    assert chinese_number(text) == value
    assert chinese_number("很多") is None


def test_entities_of_both_languages() -> None:
    text = (
        "The Acme Cloud was founded by John Smith in Paris. See 《产品手册》 "
        "and ERR-1042, `max_size`; 由北京大学发布于2024年。"
    )
    found = {(entity.text, entity.kind) for entity in entities(text)}
    assert {
        ("Acme Cloud", "name"), ("John Smith", "name"), ("Paris", "name"), ("产品手册", "title"),
        ("ERR-1042", "code"),
        ("max_size", "quoted"), ("北京大学", "name"), ("2024年", "date"),
    } <= found  # fmt: skip
    assert not {"The", "See"} & {entity.text for entity in entities(text)}


def test_a_capital_at_the_start_of_a_sentence_makes_no_name() -> None:
    assert entities("Backups run daily. Users can restore them.") == []


@pytest.mark.parametrize(
    ("text", "unit", "value"), [("in the 1980s", "decade", 1980), ("the 80s", "decade", 80), ("80年代", "decade", 80),
                                ("within 30s", "second", 30), ("1500 s", "second", 1500)],
)  # fmt: skip
def test_a_decade_is_no_number_of_seconds(text, unit, value):
    (found,) = quantities(text)
    assert (found.unit, found.value) == (unit, value)


def test_the_short_second_year_of_a_pair():
    (found,) = quantities("the 2018–19 season")
    assert (found.low, found.high) == (2018, 2019)
