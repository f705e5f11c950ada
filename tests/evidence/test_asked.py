"""What was asked, and what answers it: kinds of question in both languages, tables by cell, parts that change places, and
two documents put together. Everything is generated: the right and the wrong of each kind from the same template."""

from __future__ import annotations

import random
from typing import Any

import pytest

import workbench as wb
from workbench.evidence.offline.cells import cell_verdict
from workbench.evidence.offline.relevance import wanted

NAMES = {"en": ["Selm", "Orin", "Halden", "Brook", "Tavik"], "zh": ["塞尔姆", "奥林", "哈尔登", "布鲁克", "塔维克"]}
PEOPLE = {"en": ["Ada Kroll", "Tom Berg", "Sara Lind"], "zh": ["艾达·克罗尔", "汤姆·伯格", "林莎拉"]}
#: Kind → question and the sentence that answers it; the passage tells them all of one bridge.
ASKED = {
    "en": {
        "time": ("When was the {n} bridge opened?", "The {n} bridge was opened in {year}."),
        "person": ("Who designed the {n} bridge?", "The {n} bridge was designed by {person}."),
        "count": ("How many workers built the {n} bridge?", "{count} workers built the {n} bridge."),
        "duration": ("How long did building the {n} bridge take?", "Building the {n} bridge took {years} years."),
        "reason": ("Why was the {n} bridge closed?", "The {n} bridge was closed because a pier had sunk."),
        "open": ("", "The {n} bridge has stone towers."),
    },
    "zh": {
        "time": ("{n}大桥是什么时候通车的？", "{n}大桥于{year}年通车。"),
        "person": ("{n}大桥是谁设计的？", "{n}大桥由{person}设计。"),
        "count": ("有多少名工人建造了{n}大桥？", "{count}名工人建造了{n}大桥。"),
        "duration": ("{n}大桥的施工持续了多久？", "{n}大桥的施工持续了{years}年。"),
        "reason": ("{n}大桥为什么关闭？", "{n}大桥因桥墩下沉而关闭。"),
        "open": ("", "{n}大桥有石砌的塔楼。"),
    },
}  # fmt: skip
#: What answers one kind answers the other too, as far as its form tells.
ALIKE = {("person", "count"), ("count", "duration"), ("time", "duration"), ("person", "open"), ("reason", "open")}


def told(language: str, chance: random.Random) -> dict[str, tuple[str, str]]:
    """Question and statement of each kind about one bridge."""
    values = {
        "n": chance.choice(NAMES[language]), "person": chance.choice(PEOPLE[language]), "year": chance.randint(1700, 1990),
        "count": chance.randint(120, 900), "years": chance.randint(3, 19),
    }  # fmt: skip
    return {kind: (q.format(**values), s.format(**values)) for kind, (q, s) in ASKED[language].items()}


def evaluated(samples: list[dict[str, Any]], **more: Any) -> Any:
    named = [{"sample_id": str(at), **sample} for at, sample in enumerate(samples)]
    return wb.evaluate(named, encoder=None, progress=False, **more)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_answers_another_question_about_the_same_is_off_topic(language):
    chance = random.Random(4)
    right, other = [], []
    for _ in range(8):
        said = told(language, chance)
        passage = " ".join(s for _, s in said.values())
        for kind in ("time", "person", "count", "duration", "reason"):
            question, statement = said[kind]
            assert wanted(question) == kind
            right.append({"question": question, "answer": statement, "contexts": [passage]})
            other += [{"question": question, "answer": text, "contexts": [passage]} for name, (_, text) in said.items()
                      if name not in ("person", kind) and (kind, name) not in ALIKE and (name, kind) not in ALIKE]  # fmt: skip
    causes = evaluated(right).failures()["primary_cause"]
    assert (causes == "off_topic").mean() == 0, causes.value_counts()
    causes = evaluated(other).failures()["primary_cause"]
    assert (causes == "off_topic").mean() >= 0.9, [other[int(at)] for at in causes.index[causes != "off_topic"]][:3]


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What happened when the plant closed?", "open"), ("When did the plant close?", "time"),
        ("who plays in where the heart is", "person"), ("how does the price compare", "open"),
        ("How do I reset the router?", "way"), ("合数又被称为什么？", "open"), ("为什么关闭？", "reason"),
        ("成绩如何？", "open"), ("如何重置路由器？", "way"), ("运行时间内可以求解的问题是什么？", "open"),
    ],
)  # fmt: skip
def test_a_word_that_asks_elsewhere_asks_nothing_here(question, kind):
    assert wanted(question) == kind


def table(language: str, chance: random.Random) -> tuple[str, list[str], list[str], dict[tuple[int, int], str]]:
    """A table as text, its row and column headings, and its cells, all different."""
    rows = ["Basic", "Team", "Enterprise"] if language == "en" else ["基础版", "团队版", "企业版"]
    heads = ["Storage", "Price"] if language == "en" else ["存储空间", "价格"]
    units = ["{} GB", "{} USD"] if language == "en" else ["{} GB", "{}元"]
    numbers = chance.sample(range(11, 999), 6)
    cells = {(r, c): units[c].format(numbers[2 * r + c]) for r in range(3) for c in range(2)}
    first = "Plan" if language == "en" else "套餐"
    lines = [[first, *heads], *([rows[r], cells[r, 0], cells[r, 1]] for r in range(3))]
    if chance.random() < 0.5:
        return "\n".join("\t".join(line) for line in lines), rows, heads, cells
    body = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([body[0], "|---|---|---|", *body[1:]]), rows, heads, cells


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_table_is_read_where_row_and_column_meet(language):
    chance = random.Random(2)
    said = "The {row} plan has a {head} of {cell}." if language == "en" else "{row}的{head}为{cell}。"
    for _ in range(60):
        text, rows, heads, cells = table(language, chance)
        row, column = chance.randrange(3), chance.randrange(2)
        claim = said.format(row=rows[row], head=heads[column].lower(), cell=cells[row, column])
        verdict = cell_verdict(claim, text)
        assert verdict is not None and verdict.agrees, (text, claim)
        other = chance.choice([r for r in range(3) if r != row])
        claim = said.format(row=rows[row], head=heads[column].lower(), cell=cells[other, column])
        verdict = cell_verdict(claim, text)
        assert verdict is not None and not verdict.agrees and verdict.found == cells[row, column], (text, claim)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_wrong_cell_is_a_contradiction(language):
    chance = random.Random(3)
    text, rows, heads, cells = table(language, chance)
    said = "The {} plan has a {} of {}." if language == "en" else "{}的{}为{}。"
    answers = [said.format(rows[0], heads[0].lower(), cells[at, 0]) for at in (0, 1)]
    claims = evaluated([{"question": "?", "answer": a, "contexts": [text]} for a in answers]).claims()
    assert claims["verdict"].tolist() == ["supported", "contradicted"]


def test_no_table_and_no_row_tell_nothing():
    assert cell_verdict("The Basic plan has 5 GB.", "Basic | a | b") is None
    assert cell_verdict("The Solo plan has 5 GB.", "| Plan | Storage |\n|---|---|\n| Basic | 5 GB |") is None
    assert cell_verdict("It has 5 GB.", "The Basic plan has 5 GB.") is None


def test_names_that_are_cut_into_words_change_places_too():
    chance = random.Random(1)
    pairs = [("德尔塔食品", "马林面包房"), ("北极光电子", "银河物流"), ("红杉银行", "白塔出版社"), ("长江汽车", "太湖机械")]
    verbs = ["收购了", "起诉了", "资助了", "合并了"]
    samples = []
    for _ in range(12):
        (left, right), verb = chance.choice(pairs), chance.choice(verbs)
        context = f"{chance.randint(1990, 2020)}年，{left}{verb}{right}，金额未公布。"
        samples += [{"question": "？", "answer": f"{a}{verb}{b}。", "contexts": [context]}
                    for a, b in ((left, right), (right, left))]  # fmt: skip
    verdicts = evaluated(samples).claims()["verdict"].tolist()
    assert set(verdicts[::2]) == {"supported"}
    assert verdicts[1::2].count("contradicted") >= 9


@pytest.mark.parametrize("language", ["en", "zh"])
def test_two_documents_support_what_they_say_together_only(language):
    texts = {
        "en": ("In which city is the maker of the {p} scanner based?", "The {p} scanner is made by {a}.",
               "{a} has its headquarters in {c}.", "{b} has its headquarters in {d}.",
               "The maker of the {p} scanner, {a}, is based in {c}.",
               "The maker of the {p} scanner, {b}, is based in {d}."),
        "zh": ("{p}扫描仪的制造商总部在哪座城市？", "{p}扫描仪由{a}公司制造。", "{a}公司的总部设在{c}。",
               "{b}公司的总部设在{d}。", "{p}扫描仪的制造商{a}公司总部在{c}。", "{p}扫描仪的制造商{b}公司总部在{d}。"),
    }[language]  # fmt: skip
    values = {
        "en": {"p": "Orion", "a": "Halden", "b": "Varga", "c": "Trondheim", "d": "Bergen"},
        "zh": {"p": "猎户座", "a": "哈尔登", "b": "瓦尔加", "c": "特隆赫姆", "d": "卑尔根"},
    }[language]
    question, made, here, there, right, wrong = (text.format(**values) for text in texts)
    contexts = [made, here, there]
    claims = evaluated([{"question": question, "answer": a, "contexts": contexts} for a in (right, wrong)]).claims()
    verdicts = claims.groupby("sample_id")["verdict"].agg(list)
    assert set(verdicts["0"]) == {"supported"}
    assert set(verdicts["1"]) != {"supported"}


@pytest.mark.parametrize(
    ("context", "claim", "contradicted"),
    [
        ("The film stars Mel Gray, Vera Holm and Laurie Dent.", "The film stars Mel Gray, Ivan Ross and Laurie Dent.", True),
        ("The voices are those of Jason Reed, Amy Stone and Brad Lowe.", "Amy Stone has a voice in Underhill.", False),
        ("He also directed the films Tommy Hill and Joe Dent.", "David Spade directed the film Joe Dent.", False),
        ("They met in Paris and London in 1990.", "They met in Paris and Lisbon in 1990.", True),
        ("Eva Lind was the second director of the institute.", "Eva Lind was not the first director.", False),
        ("Eva Lind was the second director of the institute.", "Eva Lind was the first director.", True),
        ("The hall has at least five exits.", "The hall has more than four exits.", False),
        ("The hall has 3 exits.", "The hall has more than four exits.", True),
        ("Admission costs 20 euros.", "Admission costs no more than 15 euros.", True),
        ("林德是研究所的第二任所长。", "林德不是研究所的第一任所长。", False),
        ("林德是研究所的第二任所长。", "林德是研究所的第一任所长。", True),
        ("大厅至少有五个出口。", "大厅有超过四个出口。", False),
        ("门票为20元。", "门票不超过15元。", True),
    ],
)
def test_a_sign_of_contradiction_is_in_the_place_of_what_is_claimed(context, claim, contradicted):
    verdicts = evaluated([{"question": "?", "answer": claim, "contexts": [context]}]).claims()["verdict"]
    assert ("contradicted" in set(verdicts)) == contradicted


#: Question, passage, answer; ``{at}`` is where the value stands that is asked for, ``{o}`` that of something else.
VALUES = [
    ("Until when is the {n} bridge open on Thursdays?",
     "The {n} bridge is open until {o} p.m. On Thursdays the {n} bridge is open until {at} p.m.", "Until {v} p.m.",
     range(5, 11)),
    ("How long may visitors of the {n} bridge park?",
     "Staff may park for {o} hours. Visitors of the {n} bridge may park for {at} hours.", "{v} hours", range(2, 12)),
    ("{n}大桥的夜间通行费是多少？", "{n}大桥的养护费为{o}元。{n}大桥的夜间通行费为{at}元。", "{v}元", range(21, 90)),
    ("周四{n}大桥开放到几点？", "平时开放到下午{o}点。周四{n}大桥开放到下午{at}点。", "下午{v}点", range(3, 9)),
]  # fmt: skip


@pytest.mark.parametrize(("question", "passage", "answer", "values"), VALUES)
def test_a_bare_value_is_that_of_what_was_asked(question, passage, answer, values):
    chance = random.Random(7)
    right, other = [], []
    for name in NAMES["zh" if "大桥" in question else "en"]:
        at, o = chance.sample(list(values), 2)
        told = {"question": question.format(n=name), "contexts": [passage.format(n=name, at=at, o=o)]}
        right.append({**told, "answer": answer.format(v=at)})
        other.append({**told, "answer": answer.format(v=o)})
    assert (evaluated(right).failures()["primary_cause"] == "pass").all()
    assert not (evaluated(other).failures()["primary_cause"] == "pass").any()
