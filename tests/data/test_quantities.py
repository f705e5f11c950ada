from __future__ import annotations

import datetime
import math
import random
import subprocess
import sys

import cn2an
import pint
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.data.text import quantity_grammar as grammar
from workbench.data.text.quantities import (
    Quantity,
    chinese_number,
    contains_quantity,
    entities,
    quantities,
    relation,
    same_quantity,
)


def one(text: str):  # type: ignore[no-untyped-def]
    found = quantities(text)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    "forms",
    [
        ("1,500", "1500", "1.5千", "一千五百", "１５００", "1.5k"),
        ("2024-05-01", "2024年5月1日", "May 1, 2024", "1 May 2024", "2024/5/1", "二〇二四年五月一日", "May 1st, 2024"),
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
        ("2024-05-01", "2024-05-02"), ("2024年5月1日", "2024年5月"), ("9:30", "9:31"), ("3 days", "3 hours"),
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


# ---------------------------------------------------------------- what two are to each other


@pytest.mark.parametrize(
    ("claim", "evidence", "expected"),
    [
        # a bound is kept, broken, or another one
        ("at most 10", "7", "compatible"), ("at most 10", "12", "different"), ("7", "at most 10", "unrelated"),
        ("12", "at most 10", "different"), ("10", "at most 10", "compatible"), ("at most 10", "at most 5", "different"),
        ("不超过 10 天", "up to 10 days", "same"), ("less than 5", "5", "different"), ("at least 5", "more than 5",
        "compatible"),
        ("more than 5", "at least 5", "unrelated"), ("up to 8 days", "3 to 5 days", "compatible"),
        # rounded numbers: the direction counts
        ("about 5,000", "4,987", "compatible"), ("4,987", "about 5,000", "unrelated"), ("约 5 千", "6100", "different"),
        ("1.5 billion", "1,512 million", "compatible"), ("1,512 million", "1.5 billion", "unrelated"),
        ("5,000", "4,987", "different"), ("25%", "25.3%", "compatible"), ("8 km", "5 miles", "compatible"),
        # granularity
        ("2024", "2024-05-01", "compatible"), ("2024-05-01", "May 2024", "unrelated"), ("Q2 2024", "May 2024",
        "compatible"),
        ("1990s", "1994", "compatible"), ("90年代", "1984", "different"), ("19世纪", "1850", "compatible"),
        ("周一", "2024-05-06", "compatible"), ("周二", "2024-05-06", "different"),
        # several readings
        ("5/6/2024", "2024-06-05", "compatible"), ("5/6/2024", "2024-05-06", "same"), ("5/6/2024", "2024-07-01",
        "different"),
        ("3 o'clock", "15:00", "compatible"), ("20度", "68 °F", "compatible"), ("1.500 kg", "1500 kg", "compatible"),
        # a range has two ends
        ("3-5 days", "3 to 5 days", "same"), ("3-5 days", "3-8 days", "different"), ("4 days", "3-5 days", "unrelated"),
        ("9 days", "3-5 days", "different"),
        # dimensions, currencies, what one is for
        ("5 kW", "5 kWh", "unrelated"), ("5 mg", "5 mcg", "different"), ("$5", "€5", "different"), ("5%", "5个百分点",
        "different"),
        ("60 km/h", "60 km", "different"), ("$5 a month", "$5", "compatible"), ("$5 a month", "$60 per year", "same"),
        ("-5 °C", "5 °C", "different"), ("-20 °C", "零下20度", "same"), ("3 months", "90 days", "unrelated"),
        ("3 months", "10 days", "different"), ("third", "3", "unrelated"),
    ],
)  # fmt: skip
def test_relation_of_a_claim_to_its_evidence(claim: str, evidence: str, expected: str) -> None:
    assert relation(one(claim), one(evidence)) == expected


# ---------------------------------------------------------------- kinds, generated: same and different


def chinese(value: float) -> str:
    return cn2an.an2cn(str(value))


def english(value: int) -> str:
    ones = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ]
    tens = ["_", "_", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
    if value < 20:
        return ones[value]
    if value < 100:
        return tens[value // 10] + (f"-{ones[value % 10]}" if value % 10 else "")
    if value < 1000:
        return f"{ones[value // 100]} hundred" + (f" and {english(value % 100)}" if value % 100 else "")
    return f"{english(value // 1000)} thousand" + (f" {english(value % 1000)}" if value % 1000 else "")


def plain(value: float) -> str:
    return f"{value:.12g}"


def magnitude(draw: random.Random) -> tuple[list[str], list[str]]:
    n = draw.randrange(11, 990) / 10
    other = plain(n + draw.choice([1, 2, 5]))
    n = plain(n)
    million = float(n) * 1e6
    same = [f"${n}M", f"{n} million dollars", f"US${n}m", f"{plain(million / 1e4)}万美元", f"USD {million:,.0f}"]
    return same, [f"${n}B", f"${n}", f"${other}M", f"{n}亿美元", f"{other} million dollars", f"€{n}M", f"{n}万美元"]


def chinese_magnitude(draw: random.Random) -> tuple[list[str], list[str]]:
    a, b = draw.randrange(1, 90), draw.randrange(1, 9) * 1000
    value = a * 10**8 + b * 10**4
    same = [f"{a}亿{b}万", f"{plain(value / 1e8)}亿", f"{value:,}", chinese(value), f"{plain(value / 1e6)} million"]
    return same, [f"{a}亿零{b}", f"{plain(value / 1e8)}万", str(value * 10), f"{a + 1}亿{b}万", chinese(value + 10**8)]


def separated(draw: random.Random) -> tuple[list[str], list[str]]:
    n = draw.randrange(1_000_000, 99_999_999)
    indian = f"{n % 1000:03d}"
    rest = n // 1000
    while rest:
        indian = (f"{rest % 100:02d}" if rest >= 100 else str(rest % 100)) + "," + indian
        rest //= 100
    grouped = f"{n:,}"
    same = [str(n), grouped, grouped.replace(",", "'"), grouped.replace(",", " "), grouped.replace(",", "."), indian,
            grouped.replace(",", "，"), "".join(chr(ord(c) + 0xFEE0) for c in str(n))]  # fmt: skip
    return same, [str(n + 1), f"{n + 10:,}", str(n * 10), str(n)[:-1], f"{n * 100:,}"]


def regional(draw: random.Random) -> tuple[list[str], list[str]]:
    n = draw.randrange(2, 99)
    same = [
        f"{n} lakh rupees",
        f"{plain(n / 10)} million rupees",
        f"₹{n},00,000",
        f"{n * 10}万卢比",
        f"{plain(n / 100)} crore rupees",
    ]
    return same, [f"{n} million rupees", f"{n} crore rupees", f"{n * 2} lakh rupees", f"{n} lakh yen"]


def percent(draw: random.Random) -> tuple[list[str], list[str]]:
    n = draw.randrange(11, 99)
    same = [
        f"{n}%",
        f"{n} percent",
        f"{n} per cent",
        f"百分之{chinese(n)}",
        f"百分之{n}",
        f"{n * 10}‰",
        f"{n}％",
        f"0.{n:02d}",
    ]
    return same, [f"{n + 1}%", f"{n} percentage points", f"{n}个百分点", f"{n}‰", str(n), f"千分之{chinese(n)}"]


def fraction(draw: random.Random) -> tuple[list[str], list[str]]:
    top, under, name, han, share = draw.choice(
        [(1, 2, "one half", "一半", 50), (1, 4, "one quarter", "四分之一", 25), (3, 4, "three quarters", "七成五", 75),
         (1, 5, "one fifth", "二成", 20), (3, 10, "three in ten", "三成", 30), (2, 5, "two in five", "五分之二", 40)]
    )  # fmt: skip
    mark = {(1, 2): "½", (1, 4): "¼", (3, 4): "¾", (1, 5): "⅕", (2, 5): "⅖"}.get((top, under), f"{top}/{under}")
    same = [
        f"{top}/{under} of the staff",
        f"{name} of the staff",
        f"{han}员工",
        f"{share}%",
        f"{mark} of all",
        plain(share / 100),
    ]
    return same, [
        f"{share + 10}%",
        f"{share // 10}%",
        "1/7 of the staff",
        "one third of the staff",
        "九成的人",
        str(share),
    ]


def number_words(draw: random.Random) -> tuple[list[str], list[str]]:
    n = draw.randrange(11, 9999)
    other = 2 * n + draw.choice([1, 10, 100])
    same = [f"{n} days", f"{english(n)} days", f"{chinese(n)}天", f"{n:,}日"]
    return same, [f"{other} days", f"{english(other)} days", f"{chinese(other)}天", f"{n} hours"]


def duration(draw: random.Random) -> tuple[list[str], list[str]]:
    h, m = draw.randrange(1, 9), draw.choice([15, 30, 45])
    total = h * 60 + m
    same = [f"{h} hours {m} minutes", f"{h} hours and {m} minutes", f"{h}h {m}min", f"{h}h{m}m", f"{h}小时{m}分",
    f"{h} 小时 {m} 分钟",
            f"{total} minutes", f"{total}分钟", f"{plain(total / 60)} hours", f"{plain(total / 60)}小时"]  # fmt: skip
    if m == 30:
        same += [f"{chinese(h)}个半小时", f"{english(h)} and a half hours", f"{h}个半小时"]
    return same, [
        f"{h} hours {m + 6} minutes",
        f"{total + 10}分钟",
        f"{h} minutes",
        f"{h}天",
        f"{h + 1}小时{m}分",
        f"{total} seconds",
    ]


def calendar(draw: random.Random) -> tuple[list[str], list[str]]:
    y = draw.randrange(1, 9)
    same = [
        f"{y} years 6 months",
        f"{y}年半",
        f"{chinese(y)}年零六个月",
        f"{y * 12 + 6} months",
        f"{y * 12 + 6}个月",
        f"{y}.5 years",
    ]
    return same, [f"{y} years 5 months", f"{y + 1}年半", f"{y * 12 + 6} weeks", f"{y}个半月", f"{y * 12 + 5}个月"]


def clock(draw: random.Random) -> tuple[list[str], list[str]]:
    h, m = draw.randrange(1, 6), draw.choice([0, 15, 30, 45])
    said = {0: "", 15: "一刻", 30: "半", 45: "三刻"}[m]
    minutes = f":{m:02d}" if m else ""
    same = [f"{h}{minutes}pm", f"{h}{minutes} p.m.", f"{h + 12}:{m:02d}", f"下午{h}点{said}", f"下午{chinese(h)}点{said}",
            f"{h + 12}点{m:02d}分", f"下午{h}:{m:02d}", f"{h}:{m:02d} in the afternoon"]  # fmt: skip
    if m == 30:
        same.append(f"half past {english(h)} in the afternoon")
    return same, [
        f"{h}{minutes}am",
        f"{h + 13}:{m:02d}",
        f"下午{h + 1}点{said}",
        f"上午{h}点{said}",
        f"{h + 12}:{m + 1:02d}",
        f"{h}:{m:02d}am",
    ]


def date(draw: random.Random) -> tuple[list[str], list[str]]:
    day = datetime.date(2000, 1, 1) + datetime.timedelta(days=draw.randrange(12_000))
    day = day.replace(day=draw.randrange(13, 29))
    other = day + datetime.timedelta(days=draw.choice([1, 31, 366]))

    def written(d: datetime.date) -> list[str]:
        nth = {1: "st", 2: "nd", 3: "rd"}.get(d.day % 10 if d.day not in (11, 12, 13) else 0, "th")
        return [d.isoformat(), f"{d:%B} {d.day}{nth}, {d.year}", f"{d.day} {d:%b} {d.year}",
        f"{d.year}年{d.month}月{d.day}日",
                f"{d:%m/%d/%Y}", f"{d.day}.{d.month}.{d.year}", f"{d.day}{nth} of {d:%B}, {d.year}",
                f"{d.year}/{d.month}/{d.day}",
                "".join("〇一二三四五六七八九"[int(c)] for c in str(d.year))
                + f"年{chinese(d.month)}月{chinese(d.day)}号"]  # fmt: skip

    return written(day), written(other)


def period(draw: random.Random) -> tuple[list[str], list[str]]:
    y, q = draw.randrange(1995, 2030), draw.randrange(1, 5)
    name, han = ["first", "second", "third", "fourth"][q - 1], "一二三四"[q - 1]

    def written(year: int, n: int, word: str, sign: str) -> list[str]:
        return [
            f"Q{n} {year}",
            f"{year} Q{n}",
            f"the {word} quarter of {year}",
            f"{year}年第{sign}季度",
            f"{year}年{sign}季度",
            f"{year}年Q{n}",
        ]

    return written(y, q, name, han), [
        *written(y + 1, q, name, han),
        f"Q{q % 4 + 1} {y}",
        f"{y}年第{'一二三四'[q % 4]}季度",
    ]


def decade(draw: random.Random) -> tuple[list[str], list[str]]:
    n = draw.randrange(2, 10) * 10
    return [f"the 19{n}s", f"19{n}年代", f"20世纪{n}年代"], [f"the 19{n - 10}s", f"18{n}年代", f"19世纪{n}年代"]


def weekday(draw: random.Random) -> tuple[list[str], list[str]]:
    names, han = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"], "一二三四五六日"
    a, b = sorted(draw.sample(range(7), 2))
    c = draw.choice([n for n in range(7) if n not in (a, b)])
    same = [
        f"{names[a]} to {names[b]}",
        f"{names[a][:3]}–{names[b][:3]}",
        f"周{han[a]}至周{han[b]}",
        f"星期{han[a]}到星期{han[b]}",
    ]
    low, high = sorted([a, c])
    return same, [f"{names[low]} to {names[high]}", f"周{han[low]}至周{han[high]}"]


def bound(draw: random.Random) -> tuple[list[str], list[str]]:
    n = draw.randrange(3, 900)
    most = ([f"at most {n} files", f"no more than {n} files", f"up to {n} files", f"不超过{n}个", f"最多{n}个",
    f"{n}个以内", f"≤ {n}",
             f"{n} or fewer files"])  # fmt: skip
    least = [
        f"at least {n} files",
        f"no fewer than {n}",
        f"至少{n}个",
        f"不少于{n}个",
        f"{n}个以上",
        f">= {n}",
        f"{n} files or more",
    ][:6]
    if draw.random() < 0.5:
        most, least = least, most
    return most, [*least, f"at most {n + 1} files", f"至少{n + 1}个"]


def ranged(draw: random.Random) -> tuple[list[str], list[str]]:
    a = draw.randrange(2, 50)
    b = a + draw.randrange(1, 9)
    same = [
        f"{a}–{b} days",
        f"between {a} and {b} days",
        f"{a} to {b} days",
        f"{a}到{b}天",
        f"{a}~{b}天",
        f"{chinese(a)}至{chinese(b)}天",
    ]
    return same, [f"{a}-{b + 1} days", f"{a - 1}到{b}天", f"{a}-{b} hours", f"{b + 4} days"]


def temperature(draw: random.Random) -> tuple[list[str], list[str]]:
    n = draw.randrange(1, 60) * 5
    same = [
        f"-{n} °C",
        f"minus {n} °C",
        f"零下{n}摄氏度",
        f"−{n}℃",
        f"-{n} degrees Celsius",
        f"{plain(-n * 9 / 5 + 32)} °F",
        f"零下{n}度",
    ]
    return same, [f"{n} °C", f"{n}摄氏度", f"-{n} °F" if n != 40 else "4 °F", f"-{n + 1} °C", f"零下{n * 10}摄氏度"]


def exponent(draw: random.Random) -> tuple[list[str], list[str]]:
    n, e = draw.randrange(2, 10), draw.randrange(4, 9)
    raised = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(c)] for c in str(e))
    same = [
        f"{n}×10^{e}",
        f"{n}*10{raised}",
        f"{n}e{e}",
        f"{n} x 10^{e}",
        f"{n * 10**e:,}",
        chinese(n * 10**e),
        f"{n}\\times 10^{{{e}}}",
    ]
    return same, [f"{n}×10^{e + 1}", f"{n}e{e - 1}", f"{n + 1}×10{raised}", f"{n}×10^-{e}", str(n * 10 ** (e + 1))]


def currency(draw: random.Random) -> tuple[list[str], list[str]]:
    n = draw.randrange(2, 9000)
    forms = {
        "USD": [f"${n}", f"{n} dollars", f"US${n:,}", f"{n}美元", f"USD {n}"], "EUR": [f"€{n}", f"{n} euros",
        f"{n}欧元", f"EUR {n:,}"],
        "GBP": [f"£{n}", f"{n} GBP", f"{n}英镑"], "CNY": [f"{n}元", f"RMB {n}", f"人民币{n}元", f"{n} yuan"],
        "JPY": [f"{n}日元", f"{n} yen"],
    }  # fmt: skip
    mine, other = draw.sample(list(forms), 2)
    return forms[mine], [*forms[other], f"{n + 1} dollars"]


UNITS = [
    (["mg", "milligrams", "毫克"], ["mcg", "µg", "微克", "g", "ml"]), (["µg", "mcg", "micrograms", "微克"], ["mg", "毫克"]),
    (["kWh", "kilowatt-hours", "千瓦时", "kilowatt hours"], ["kW", "千瓦", "MWh"]), (["MPa", "megapascals", "兆帕"],
    ["kPa", "mPa", "千帕"]),
    (["mmol/L", "毫摩尔每升", "毫摩尔/升"], ["mol/L", "摩尔/升", "µmol/L"]), (["MB/s", "MB per second"], ["Mb/s",
    "GB/s", "MB"]),
    (["m²", "square metres", "平方米", "m2"], ["m³", "立方米", "m", "cm²"]), (["km/h", "公里/小时", "kph",
    "km per hour"], ["m/h", "mph", "km"]),
    (["mW", "milliwatts"][:1], ["MW", "kW", "W"]), (["mmHg", "毫米汞柱"], ["kPa", "mm"]), (["Mb", "megabits"], ["MB",
    "Gb"]),
    (["GHz", "gigahertz", "吉赫"], ["MHz", "Hz"]), (["dpi"], ["px"]), (["rpm", "转/分", "revolutions per minute"], ["Hz"]),
    (["litres", "L", "升"], ["ml", "毫升", "m"]), (["kilograms", "kg", "公斤", "千克"], ["g", "克", "吨", "km"]),
]  # fmt: skip


def unit(draw: random.Random) -> tuple[list[str], list[str]]:
    mine, others = draw.choice(UNITS)
    n = plain(draw.choice([draw.randrange(2, 900), draw.randrange(11, 99) / 10]))
    return [f"{n} {u}" for u in mine] + [f"{n}{mine[-1]}"], [f"{n} {u}" for u in others] + [f"{n}9 {mine[0]}"]


def converted(draw: random.Random) -> tuple[list[str], list[str]]:
    n = draw.randrange(1, 99) / 2
    base, thousandth = draw.choice([(["km", "公里"], ["m", "米"]), (["kg", "千克", "公斤"], ["g", "克"]), (["L",
    "升"], ["mL", "毫升"]),
                                    (["kPa", "千帕"], ["Pa"]), (["mg", "毫克"], ["µg", "微克"]), (["kW", "千瓦"],
                                    ["W", "瓦"])])  # fmt: skip
    same = (
        [f"{plain(n)} {u}" for u in base]
        + [f"{plain(n * 1000)} {u}" for u in thousandth]
        + [f"{n * 1000:,.0f} {thousandth[0]}"]
    )
    return same, [f"{plain(n * 10)} {u}" for u in base] + [f"{plain(n * 100)} {u}" for u in thousandth]


def ordinal(draw: random.Random) -> tuple[list[str], list[str]]:
    n = draw.randrange(4, 20)
    names = """fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth
    seventeenth eighteenth nineteenth"""
    same = [f"the {n}th", f"the {names.split()[n - 4]}", f"第{n}", f"第{chinese(n)}条", f"第{n}条"]
    return same, [f"the {n + 20}th", f"第{n + 1}", f"第{chinese(n * 10)}条", str(n), chinese(n) + "天"]


def phone(draw: random.Random) -> tuple[list[str], list[str]]:
    a, b, c = draw.randrange(201, 999), draw.randrange(200, 999), draw.randrange(1000, 9999)
    same = [f"{a}-{b}-{c}", f"({a}) {b} {c}", f"({a}) {b}-{c}", f"{a} {b} {c}", f"{a}{b}{c}"]
    return same, [f"{a}-{b}-{c - 1}", f"({b + 1}) {a} {c}"]


KINDS = [magnitude, chinese_magnitude, separated, regional, percent, fraction, number_words, duration, calendar, clock, date,
         period,
         decade, weekday, bound, ranged, temperature, exponent, currency, unit, converted, ordinal, phone]  # fmt: skip
SENTENCES = [
    "{}",
    "It is {}.",
    "The value is {} according to the manual.",
    "规定为{}。",
    "数值：{}；",
    "We wrote ({}) there.",
]


def found(text: str, draw: random.Random) -> Quantity:
    """The one quantity of the text in some sentence."""
    frame = draw.choice(SENTENCES)
    written = quantities(frame.format(text))
    assert len(written) == 1, (frame.format(text), [q.text for q in written])
    return written[0]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_generated_forms_say_the_same_and_others_do_not(kind, seed: int) -> None:  # type: ignore[no-untyped-def]
    draw = random.Random(seed)
    same, different = kind(draw)
    first = draw.choice(same)
    for form in draw.sample(same, min(len(same), 5)):
        assert same_quantity(found(first, draw), found(form, draw)), (first, form)
    for form in draw.sample(different, min(len(different), 4)):
        assert not same_quantity(found(first, draw), found(form, draw)), (first, form)
        assert not same_quantity(found(form, draw), found(first, draw)), (form, first)


@given(st.integers(1000, 99_999), st.floats(0.9, 1.1))
@settings(max_examples=300, deadline=None)
def test_about_holds_near_the_number_only(exact: int, factor: float) -> None:
    rounded = round(exact, -len(str(exact)) + 2)
    for text in (f"about {rounded:,} people", f"约{rounded}人", f"{rounded}人左右"):
        assert same_quantity(one(text), one(f"{exact:,}人")), text
        assert not same_quantity(one(text), one(f"{exact * 2}人")), text
        assert not same_quantity(one(f"{exact * 3}人"), one(text)), text


@given(st.integers(2, 5000), st.integers(1, 500))
@settings(max_examples=300, deadline=None)
def test_a_bound_is_compatible_with_what_keeps_it(limit: int, step: int) -> None:
    for most in (f"at most {limit}", f"不超过{limit}", f"fewer than {limit}", f"{limit} or less", f"不到{limit}个"):
        assert same_quantity(one(most), one(str(limit - min(step, limit - 1)))), most
        assert not same_quantity(one(most), one(str(limit + step))), most
    for least in (f"at least {limit}", f"不少于{limit}", f"more than {limit}", f"{limit}以上", f"{limit}多个"):
        assert same_quantity(one(least), one(str(limit + step))), least
        assert not same_quantity(one(least), one(str(limit - min(step, limit - 1)))), least


# ---------------------------------------------------------------- what is no number


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Built in 1850[1] and 1901 [2, 3].", [1850, 1901]), ("建于1850年【1†source】，长5米##0$$。", [1850, 5]),
        ("Six months.<sup>1</sup>", [6]),
        ("It holds 7 [ID:0].", [7]), ("1. Open the lid\n2. Add 5 g", [5]), ("1、打开盖子\n2、加5克", [5]),
        ("sha256 of file-12 at v2", []),
        ("见 https://a.b/12?x=5", []), ("一般、十分、万一、百度、千瓦", []), ("Page 1 500 of them", [1, 500]),
    ],
)  # fmt: skip
def test_marks_of_citation_and_numbers_of_lists_are_no_numbers(text: str, values: list[float]) -> None:
    measured = [q.value for q in quantities(text) if q.kind != "version"]
    assert measured == values


# ---------------------------------------------------------------- the libraries behind the tables


def test_the_sizes_of_units_are_those_of_pint() -> None:
    registry = pint.UnitRegistry()
    tables = grammar.tables("")
    for base, units in tables["sizes"].items():
        for name, size in units.items():
            factor, zero = size if isinstance(size, list) else (size, 0)
            named = tables["pint"].get(name, name)
            if base == "kelvin":
                assert math.isclose(registry.Quantity(1.0, named).to(base).magnitude, factor + zero, rel_tol=1e-9), name
            elif name == "rpm":
                assert math.isclose(factor, 1 / 60)  # pint counts a turn in radians
            else:
                reference = "m**2" if base == "square_metre" else base
                assert math.isclose(
                    (1.0 * registry.parse_expression(named)).to(reference).magnitude, factor, rel_tol=1e-9
                ), name


def test_every_symbol_is_known_to_pint_and_every_spelling_has_one_meaning() -> None:
    registry = pint.UnitRegistry()
    for symbol in grammar.symbols():
        if symbol not in grammar.known_sizes():
            registry.parse_units(symbol)
            assert grammar.size_of(symbol) is not None
    seen: dict[str, str] = {}
    for language in ("en", "zh"):
        for units in grammar.tables(language)["units"].values():
            for name, spellings in units.items():
                for spelling in spellings.split():
                    assert seen.setdefault(spelling, name) == name or spelling in ("pound", "pounds", "¥"), spelling


@given(st.integers(0, 10**12))
@settings(max_examples=300, deadline=None)
def test_chinese_numerals_are_those_of_cn2an(value: int) -> None:
    assert chinese_number(cn2an.an2cn(str(value))) == value


def test_no_library_is_loaded_with_the_package() -> None:
    code = "import sys, workbench, workbench.data.text.quantities; print({'pint', 'cn2an', 'dateparser'} & set(sys.modules))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        == "set()"
    )


@pytest.mark.parametrize(
    ("left", "right", "found"),
    [
        ("15 minutes", "a quarter of an hour", "same"), ("45 minutes", "three quarters of an hour", "same"),
        ("250,000", "a quarter of a million", "same"), ("1.5 times", "150%", "same"), ("1.5 倍", "150%", "same"),
        ("两倍", "200%", "same"), ("1.5 times", "50%", "unrelated"), ("v2", "v2.0", "same"), ("v2.0", "v2.1", "different"),
        ("v2", "v20", "different"),
    ],
)  # fmt: skip
def test_shares_of_an_hour_multiples_and_releases(left, right, found):
    pair = quantities(left)[0], quantities(right)[0]
    assert relation(*pair) == relation(*reversed(pair)) == found


@pytest.mark.parametrize(
    ("written", "value", "unit", "cue"),
    [
        ("打八折", 80, "%", ""), ("七五折", 75, "%", ""), ("85折", 85, "%", ""), ("8.5 折", 85, "%", ""),
        ("Take it twice a day.", 2, "times", ""),
        ("至少需要18人", 18, None, ">="), ("最多可以添加18人", 18, None, "<="), ("不得提前18天", 18, "day", ""),
    ],
)  # fmt: skip
def test_discounts_multiples_and_bounds_across_a_verb(written, value, unit, cue):
    (found,) = quantities(written)
    assert (found.value, found.unit, found.cue) == (value, unit, cue)


@pytest.mark.parametrize("written", ["没有折扣", "三折叠手机", "八折叠加"])
def test_folding_is_no_discount(written):
    assert not [found for found in quantities(written) if found.kind == "percent"]


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("until the end of March", "31 March"), ("次年3月底", "次年3月31日"), ("四月末之前", "4月30日"),
        ("by the end of June", "30 June"), ("the end of February 2024", "29 February 2024"), ("2023年2月底", "2023年2月28日"),
        ("end of May 2024", "2024-05-31"),
    ],
)  # fmt: skip
def test_the_end_of_a_month_is_its_last_day(written, day):
    (*_, month), (*_, last) = quantities(written), quantities(day)
    assert relation(last, month) == relation(month, last) == "compatible"
    (*_, other) = quantities(day.replace("31", "15").replace("30", "15").replace("29", "15").replace("28", "15"))
    assert relation(other, month) != "compatible"


RANGES = ["凌晨2点到4点停机维护", "02:00至04:00", "凌晨两点~四点进行", "2:00-4:00", "从2点半至4点维修"]


@pytest.mark.parametrize("written", RANGES)
def test_the_second_time_of_a_range_is_a_time(written):
    found = quantities(written)
    assert [quantity.kind for quantity in found] == ["time", "time"]
    assert found[1].value == 240


def test_what_is_counted_for_each_unit_of_time_is_no_part_of_the_number():
    (found,) = quantities("Up to 900 requests per minute per key.")
    assert (found.per, found.wide) == ("minute", (0, 9))


@pytest.mark.parametrize("verb", ["可发送", "只能存储", "可以申请使用", ""])
def test_a_bound_reaches_over_a_verb(verb):
    (found,) = quantities(f"每个密钥最多{verb}600次。")
    assert found.cue == "<="
    assert not quantities("最多的城市有5个")[0].cue


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("closed on Mondays", "closed every Monday"), ("open Tuesdays to Fridays", "open Tuesday to Friday"),
        ("次年生效", "第二年生效"), ("次日到账", "第二天到账"),
        ("首年免费", "第一年免费"), ("翌日退款", "第2天退款"), ("超过半小时", "超过30分钟"),
        ("过半小时", "过30分钟"), ("within a month", "within 1 month"), ("less than a week", "less than 7 days"),
        ("takes an hour", "takes 60 minutes"),
    ],
)  # fmt: skip
def test_a_day_of_each_week_the_next_of_its_kind_a_month_and_over_half_are_read(one, other):
    (mine,), (theirs,) = quantities(one), quantities(other)
    assert (mine.value, mine.cue) == (theirs.value, theirs.cue) or relation(mine, theirs) == "same"


NO_NUMBERS = ["层次年龄", "每次日志", "首次月结", "上下半场", "前半年", "每逾期一天", "每隔一周", "once a week",
              "within a day's walk"]  # fmt: skip


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_only_looks_like_a_number_is_no_quantity(text):
    assert not quantities(text)
