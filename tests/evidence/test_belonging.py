"""Values that stand in a sentence for something else, things granted and refused, totals and missed limits: whole kinds in
both languages, each with the right and the wrong answer to one question over one generated text."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb

PLANS = {"en": ["Basic", "Pro", "Silver", "Gold", "Campus"], "zh": ["基础版", "专业版", "银卡", "金卡", "校园版"]}
PLACES = {"en": ["library", "pool", "museum", "gym", "canteen"], "zh": ["图书馆", "游泳馆", "博物馆", "健身房", "食堂"]}
PEOPLE = {"en": ["Nora Field", "Paul Reyes", "Lena Sorg", "Omar Haddad"], "zh": ["王芳", "李强", "赵敏", "陈刚"]}
TASKS = {"en": ["payroll", "shipping", "training", "security"], "zh": ["薪资", "发货", "培训", "安保"]}
CODES = [400, 401, 403, 404, 409, 410, 422, 429, 500, 502, 503]
MORE = {"en": " Further questions are answered at the desk in the main building.", "zh": "如有其他问题，请到主楼服务台咨询。"}
#: Question, context, the right and the wrong answer.
Case = tuple[str, str, str, str]


def a_plan_and_its_amount(language: str, chance: random.Random) -> Case:
    one, two = chance.sample(PLANS[language], 2)
    x, y = chance.sample(range(3, 90), 2)
    if language == "en":
        text, question, answer = chance.choice([
            (f"The {one} plan includes {x} GB of storage and the {two} plan {y} GB.",
             f"How much storage does the {two} plan include?", f"The {two} plan includes {{}} GB of storage."),
            (f"{one} costs {x} euros a month, {two} costs {y} euros a month.", f"What does {two} cost a month?",
             f"{two} costs {{}} euros a month."),
            (f"The deposit is {x} euros for {one} and {y} euros for {two}.", f"How high is the deposit for {two}?",
             f"The deposit for {two} is {{}} euros."),
        ])  # fmt: skip
    else:
        text, question, answer = chance.choice([
            (f"{one}提供{x}GB存储空间，{two}提供{y}GB。", f"{two}提供多少存储空间？", f"{two}提供{{}}GB存储空间。"),
            (f"{one}每月{x}元，{two}每月{y}元。", f"{two}每月多少钱？", f"{two}每月{{}}元。"),
            (f"押金方面，{one}为{x}元，{two}为{y}元。", f"{two}的押金是多少？", f"{two}的押金是{{}}元。"),
        ])  # fmt: skip
    return question, text, answer.format(y), answer.format(x)


def a_whole_and_its_part(language: str, chance: random.Random) -> Case:
    whole = chance.choice([100, 120, 150, 200])
    part = whole * 6 // 10
    if language == "en":
        text, question, answer = chance.choice([
            (f"The exam has {whole} points in total, and {part} points are needed to pass.",
             "How many points are needed to pass?", "{} points are needed to pass."),
            (f"The hall seats {whole} people, of whom {part} can sit downstairs.", "How many people can sit downstairs?",
             "{} people can sit downstairs."),
            (f"The bus holds {whole} passengers and has {part} seats.", "How many seats does the bus have?",
             "The bus has {} seats."),
        ])  # fmt: skip
    else:
        text, question, answer = chance.choice([
            (f"考试满分{whole}分，{part}分及格。", "及格线是多少分？", "及格线是{}分。"),
            (f"礼堂可容纳{whole}人，其中一楼可坐{part}人。", "礼堂一楼可以坐多少人？", "礼堂一楼可坐{}人。"),
            (f"公交车核载{whole}人，设有{part}个座位。", "公交车有多少个座位？", "公交车有{}个座位。"),
        ])  # fmt: skip
    return question, text, answer.format(part), answer.format(whole)


def a_place_and_its_hour(language: str, chance: random.Random) -> Case:
    one, two = chance.sample(PLACES[language], 2)
    x, y = chance.sample([8, 9, 10, 11, 14, 15, 16, 17], 2)
    if language == "en":
        told = {hour: f"{hour - 12} p.m." if hour > 12 else f"{hour} a.m." for hour in (x, y)}
        text = f"The {one} opens at {x}:00 and the {two} at {y}:00."
        return f"When does the {one} open?", text, f"The {one} opens at {told[x]}", f"The {one} opens at {told[y]}"
    text = f"{one}{x}:00开门，{two}{y}:00开门。"
    told = {hour: f"下午{hour - 12}点" if hour > 12 else f"上午{hour}点" for hour in (x, y)}
    return f"{one}几点开门？", text, f"{one}{told[x]}开门。", f"{one}{told[y]}开门。"


def a_person_and_a_task(language: str, chance: random.Random) -> Case:
    one, two = chance.sample(PEOPLE[language], 2)
    first, second = chance.sample(TASKS[language], 2)
    if language == "en":
        return chance.choice([
            (f"Who runs {first}?", f"{one} runs {first} and {two} runs {second}.", f"{one} runs {first}.",
             f"{two} runs {first}."),
            (f"Who is responsible for {second}?", f"{one} is responsible for {first}, {two} for {second}.",
             f"{two} is responsible for {second}.", f"{one} is responsible for {second}."),
        ])  # fmt: skip
    return chance.choice([
        (f"谁负责{first}？", f"{one}负责{first}，{two}负责{second}。", f"{one}负责{first}。", f"{two}负责{first}。"),
        (f"{second}由谁负责？", f"{first}由{one}负责，{second}由{two}负责。", f"{second}由{two}负责。",
         f"{second}由{one}负责。"),
    ])  # fmt: skip


def a_short_identifier(language: str, chance: random.Random) -> Case:
    one, two = chance.sample(CODES, 2)
    if chance.random() < 0.4:
        one, two = f"E{one}", f"E{two}"
        if language == "en":
            text = f"A wrong password gives the error {one} and an expired one the error {two}."
            said = "A wrong password gives the error {}."
            return "Which error does a wrong password give?", text, said.format(one), said.format(two)
        text = f"密码错误时返回错误码{one}，密码过期时返回错误码{two}。"
        return "密码错误时返回什么？", text, f"密码错误时返回错误码{one}。", f"密码错误时返回错误码{two}。"
    if language == "en":
        name = chance.choice(["HTTP", "error", "code"])
        text = f"A client that sends too many requests gets {name} {one}. During maintenance the server answers {name} {two}."
        return "What does a client get that sends too many requests?", text, f"It gets {name} {one}.", f"It gets {name} {two}."
    name = chance.choice(["HTTP ", "错误码", "状态码"])
    text = f"请求过多时返回{name}{one}，系统维护时返回{name}{two}。"
    return "请求过多时返回什么？", text, f"返回{name}{one}。", f"请求过多时返回{name}{two}。"


def a_bare_yes_or_no(language: str, chance: random.Random) -> Case:
    x, y = chance.sample(range(3, 30), 2)
    own = chance.random() < 0.5
    days = y if own else x
    if language == "en":
        one, two = chance.sample(["Managers", "Trainees", "Drivers", "Nurses"], 2)
        text = f"{one} get {x} days of leave, {two.lower()} get {y} days."
        question = f"Do {two.lower()} get {days} days of leave?"
        answers = ["Yes.", "No."]
    else:
        one, two = chance.sample(["经理", "实习生", "司机", "护士"], 2)
        text, question = f"{one}有{x}天年假，{two}有{y}天年假。", f"{two}有{days}天年假吗？"
        answers = ["是的。", "不是。"]
    return (question, text, *(answers if own else answers[::-1]))  # type: ignore[return-value]


def what_is_included(language: str, chance: random.Random) -> Case:
    if language == "en":
        thing, second, third = chance.sample(["breakfast", "parking", "laundry", "the minibar", "the sauna"], 3)
        apart = chance.choice(["is excluded", "is charged separately", "costs extra"])
        here = chance.random() < 0.5
        text = (f"The room rate covers {thing} and {second}; {third} {apart}." if here else
                f"The room rate includes {second} and {third}; {thing} {apart}.")  # fmt: skip
        said = [f"{thing.capitalize()} is {how}included in the room rate." for how in ("", "not ")]
        question = f"Is {thing} included in the room rate?"
    else:
        thing, second, third = chance.sample(["早餐", "停车", "洗衣", "桑拿", "毛巾"], 3)
        apart = chance.choice(["另收费", "不含在内", "需另付费", "不包括在内"])
        here = chance.random() < 0.5
        text = f"房费包含{thing}和{second}，{third}{apart}。" if here else f"房费包含{second}和{third}，{thing}{apart}。"
        said = [f"房费包含{thing}。", f"房费不包含{thing}。"]
        question = f"房费包含{thing}吗？"
    right, wrong = said if here else said[::-1]
    return question, text, right, wrong


def what_is_accepted(language: str, chance: random.Random) -> Case:
    if language == "en":
        one, two, other = chance.sample(["checks", "coupons", "coins", "vouchers", "stamps"], 3)
        text = chance.choice([
            f"{one.capitalize()} and {two} are accepted; {other} are not.",
            f"{one.capitalize()} are accepted, but {other} are not.", f"We accept {one} and {two}, but not {other}.",
        ])  # fmt: skip
        no = chance.choice([f"No, {other} are not accepted.", f"{other.capitalize()} are not accepted."])
        return f"Are {other} accepted?", text, no, f"Yes, {other} are accepted."
    one, two, other = chance.sample(["现金", "支票", "优惠券", "信用卡", "代金券"], 3)
    text = chance.choice([
        f"本店接受{one}和{two}，{other}不行。", f"可以用{one}付款，{other}不可以。", f"{one}、{two}均可使用，{other}则不行。",
    ])  # fmt: skip
    no = chance.choice([f"不可以用{other}付款。", f"不行，{other}不能用。"])
    return f"可以用{other}付款吗？", text, no, f"可以用{other}付款。"


def a_total_of_a_day(language: str, chance: random.Random) -> Case:
    each, times = chance.choice([(2, 3), (2, 4), (3, 2), (3, 3), (4, 2), (4, 3)])
    wrong = chance.choice([n for n in range(2, 20) if n not in (each, times, each * times)])
    if language == "en":
        often = {2: "twice", 3: "three times", 4: "four times"}[times]
        said = "You take {} tablets a day."
        text, question = f"Take {each} tablets {often} a day.", "How many tablets do I take a day?"
    else:
        said = "每天一共吃{}片。"
        text = chance.choice([f"每次{each}片，每天{times}次。", f"一日{times}次，一次{each}片。"])
        question = "每天一共吃几片？"
    return question, text, said.format(each * times), said.format(wrong)


def a_missed_limit(language: str, chance: random.Random) -> Case:
    limit, fee = chance.choice([10, 15, 20, 40, 45]), chance.randint(50, 80)
    if language == "en":
        text = f"Cars must leave within {limit} minutes, otherwise a fee of {fee} euros is due."
        when = f"If a car stays longer than {limit} minutes, "
        question = f"What happens if a car stays longer than {limit} minutes?"
        return question, text, f"{when}a fee of {fee} euros is due.", f"{when}no fee is due."
    text = f"车辆须在{limit}分钟内驶离，否则收取{fee}元停车费。"
    right, wrong = f"超过{limit}分钟还不驶离，收取{fee}元停车费。", f"超过{limit}分钟不驶离也不收停车费。"
    return f"停车超过{limit}分钟会怎样？", text, right, wrong


KINDS: list[Callable[[str, random.Random], Case]] = [
    a_plan_and_its_amount, a_whole_and_its_part, a_place_and_its_hour, a_person_and_a_task, a_short_identifier,
    a_bare_yes_or_no, what_is_included, what_is_accepted, a_total_of_a_day, a_missed_limit,
]  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_right_one_passes_and_the_wrong_one_fails(kind, language):
    chance = random.Random(7)
    samples: list[dict[str, Any]] = []
    for number in range(20):
        question, text, right, wrong = kind(language, chance)
        context = text + MORE[language] * (chance.random() < 0.5)
        samples += [{"sample_id": f"{number}-{name}", "question": question, "answer": answer, "contexts": [context]}
                    for name, answer in (("right", right), ("wrong", wrong))]  # fmt: skip
    failures = wb.evaluate(samples, encoder=None, progress=False).failures()
    passed = failures["passed"].eq(True)
    right = failures.index.str.endswith("right")
    told = {row["sample_id"]: (row["contexts"][0], row["answer"]) for row in samples}
    assert passed[right].all(), [told[at] for at in failures.index[right & ~passed]][:3]
    wrongly = passed[~right]
    assert (~wrongly).mean() >= 0.95, [told[at] for at in wrongly.index[wrongly]][:3]


@pytest.mark.parametrize(
    ("text", "claim", "told"),
    [
        ("The bridge was opened in 1902 and rebuilt in 1964.", "The bridge was reconstructed in 1964.", False),
        ("The firm, founded in 1902 by Ada Kroll, moved to Leeds in 1950.", "The firm was founded in 1902.", False),
        ("Tom lives in Leeds and works in York.", "Tom has a job in York.", False),
        ("Marie won the prize, and Pierre shared it with her.", "Pierre won a share of the prize.", False),
        ("公司成立于1902年，1950年迁往利兹。", "公司成立于1902年。", False),
        ("公司成立于1902年，1950年迁往利兹。", "公司成立于1950年。", True),
        ("The museum opened in 1902 and was enlarged in 1964.", "The museum was enlarged in 1902.", True),
    ],
)
def test_what_a_clause_leaves_out_is_no_difference(text, claim, told):
    sample = {"sample_id": "1", "question": "?", "answer": claim, "contexts": [text]}
    claims = wb.evaluate([sample], encoder=None, progress=False).claims()
    assert (claims["verdict"] == "contradicted").any() == told
