"""Chinese is judged as English is: the same operations on parallel facts give the same verdicts and nearly the same scores."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import workbench as wb

# (question, statement, the same with another value, a further statement, a statement about something else)
FACTS: list[dict[str, tuple[str, ...]]] = [
    {
        "en": (
            "How many days of annual leave are there?",
            "Annual leave is 10 days.",
            "Annual leave is 15 days.",
            "Requests go to the line manager.",
            "The canteen opens at noon.",
        ),
        "zh": (
            "年假有几天？",
            "年假为10天。",
            "年假为15天。",
            "申请提交给直属经理。",
            "食堂中午开门。",
        ),
    },
    {
        "en": (
            "When was the Eiffel Tower completed?",
            "The Eiffel Tower was completed in 1889.",
            "The Eiffel Tower was completed in 1899.",
            "It stands in Paris.",
            "Bananas are rich in potassium.",
        ),
        "zh": (
            "埃菲尔铁塔何时建成？",
            "埃菲尔铁塔于1889年建成。",
            "埃菲尔铁塔于1899年建成。",
            "它位于巴黎。",
            "香蕉富含钾。",
        ),
    },
    {
        "en": (
            "Who wrote Hamlet?",
            "Hamlet was written by Shakespeare.",
            "Hamlet was written by Marlowe.",
            "The play is set in Denmark.",
            "The printer needs new toner.",
        ),
        "zh": (
            "《哈姆雷特》是谁写的？",
            "《哈姆雷特》由莎士比亚创作。",
            "《哈姆雷特》由马洛创作。",
            "该剧以丹麦为背景。",
            "打印机需要更换碳粉。",
        ),
    },
    {
        "en": (
            "Where is the head office?",
            "The head office is in Berlin.",
            "The head office is in Madrid.",
            "The company was founded in 1998.",
            "Backups run every night.",
        ),
        "zh": (
            "总部在哪里？",
            "公司总部位于柏林。",
            "公司总部位于马德里。",
            "公司成立于1998年。",
            "备份每晚运行。",
        ),
    },
    {
        "en": (
            "How long is the warranty?",
            "The warranty lasts 24 months.",
            "The warranty lasts 12 months.",
            "Repairs are free during that time.",
            "The museum is closed on Mondays.",
        ),
        "zh": (
            "保修期多久？",
            "保修期为24个月。",
            "保修期为12个月。",
            "在此期间维修免费。",
            "博物馆周一闭馆。",
        ),
    },
    {
        "en": (
            "Can I return a used product?",
            "Used products cannot be returned.",
            "Used products can be returned.",
            "Refunds take five days.",
            "The lake is 40 metres deep.",
        ),
        "zh": (
            "用过的产品可以退货吗？",
            "用过的产品不可以退货。",
            "用过的产品可以退货。",
            "退款需要五天。",
            "湖深40米。",
        ),
    },
    {
        "en": (
            "How do I reset the password?",
            "Open the settings page and click Reset password.",
            "Open the settings page and click Delete account.",
            "The new password must have 12 characters.",
            "Tea is grown in the south of the province.",
        ),
        "zh": (
            "如何重置密码？",
            "打开设置页面，点击“重置密码”。",
            "打开设置页面，点击“删除账户”。",
            "新密码必须有12个字符。",
            "该省南部种植茶叶。",
        ),
    },
    {
        "en": (
            "What is the maximum load of the lift?",
            "The maximum load of the lift is 800 kg.",
            "The maximum load of the lift is 600 kg.",
            "The lift is inspected every year.",
            "Visitors must wear a badge.",
        ),
        "zh": (
            "电梯最大载重是多少？",
            "电梯最大载重为800公斤。",
            "电梯最大载重为600公斤。",
            "电梯每年检查一次。",
            "访客必须佩戴胸牌。",
        ),
    },
    {
        "en": (
            "Which port does the service listen on?",
            "The service listens on port 8080.",
            "The service listens on port 9090.",
            "Logs are written to /var/log/app.",
            "Dogs are not allowed in the park.",
        ),
        "zh": (
            "服务监听哪个端口？",
            "服务监听8080端口。",
            "服务监听9090端口。",
            "日志写入/var/log/app。",
            "公园内禁止带狗。",
        ),
    },
    {
        "en": (
            "Who approves travel expenses?",
            "Travel expenses are approved by the finance department.",
            "Travel expenses are approved by the legal department.",
            "Receipts must be kept for five years.",
            "The bridge is painted red.",
        ),
        "zh": (
            "差旅费由谁审批？",
            "差旅费由财务部审批。",
            "差旅费由法务部审批。",
            "票据须保存五年。",
            "这座桥漆成红色。",
        ),
    },
    {
        "en": (
            "Why was the flight cancelled?",
            "The flight was cancelled because of heavy fog.",
            "The flight was cancelled because of a strike.",
            "Passengers were rebooked the next day.",
            "The recipe calls for two eggs.",
        ),
        "zh": (
            "航班为什么取消？",
            "航班因大雾取消。",
            "航班因罢工取消。",
            "旅客次日改签。",
            "这份食谱需要两个鸡蛋。",
        ),
    },
    {
        "en": (
            "How high is Mount Tai?",
            "Mount Tai is 1,545 metres high.",
            "Mount Tai is 1,345 metres high.",
            "It lies in Shandong.",
            "The library lends e-books.",
        ),
        "zh": (
            "泰山有多高？",
            "泰山海拔1545米。",
            "泰山海拔1345米。",
            "它位于山东。",
            "图书馆出借电子书。",
        ),
    },
    {
        "en": (
            "What does the membership cost?",
            "The membership costs 99 yuan a year.",
            "The membership costs 199 yuan a year.",
            "Members get free shipping.",
            "The river flows to the north.",
        ),
        "zh": (
            "会员费多少钱？",
            "会员费每年99元。",
            "会员费每年199元。",
            "会员享受免费配送。",
            "这条河向北流。",
        ),
    },
    {
        "en": (
            "When does the office open?",
            "The office opens at 9 a.m.",
            "The office opens at 7 a.m.",
            "It is closed on Sundays.",
            "Copper conducts electricity.",
        ),
        "zh": (
            "办公室几点开门？",
            "办公室上午9点开门。",
            "办公室上午7点开门。",
            "周日不开放。",
            "铜能导电。",
        ),
    },
    {
        "en": (
            "Is overtime paid?",
            "Overtime is paid at 1.5 times the hourly wage.",
            "Overtime is paid at 2 times the hourly wage.",
            "It must be approved in advance.",
            "The statue is made of bronze.",
        ),
        "zh": (
            "加班有报酬吗？",
            "加班按小时工资的1.5倍支付。",
            "加班按小时工资的2倍支付。",
            "加班须事先批准。",
            "这座雕像是青铜制成的。",
        ),
    },
    {
        "en": (
            "Which vitamin is in carrots?",
            "Carrots contain vitamin A.",
            "Carrots contain vitamin D.",
            "They are grown all year.",
            "The train stops at every station.",
        ),
        "zh": (
            "胡萝卜含有哪种维生素？",
            "胡萝卜含有维生素A。",
            "胡萝卜含有维生素D。",
            "胡萝卜全年种植。",
            "火车每站都停。",
        ),
    },
    {
        "en": (
            "How often are backups made?",
            "Backups are made every night.",
            "Backups are made every week.",
            "They are kept for 30 days.",
            "The hall seats 300 people.",
        ),
        "zh": (
            "多久备份一次？",
            "系统每晚备份一次。",
            "系统每周备份一次。",
            "备份保留30天。",
            "大厅可容纳300人。",
        ),
    },
    {
        "en": (
            "Who was the first emperor of the Qin dynasty?",
            "The first emperor of the Qin dynasty was Ying Zheng.",
            "The first emperor of the Qin dynasty was Liu Bang.",
            "He unified the six states.",
            "The plugin needs version 3.2.",
        ),
        "zh": (
            "秦朝的第一位皇帝是谁？",
            "秦朝的第一位皇帝是嬴政。",
            "秦朝的第一位皇帝是刘邦。",
            "他统一了六国。",
            "该插件需要3.2版本。",
        ),
    },
    {
        "en": (
            "What language is the tool written in?",
            "The tool is written in Rust.",
            "The tool is written in Java.",
            "It runs on Linux and Windows.",
            "Coffee must not be taken into the laboratory.",
        ),
        "zh": (
            "该工具用什么语言编写？",
            "该工具使用Rust编写。",
            "该工具使用Java编写。",
            "它可在Linux和Windows上运行。",
            "实验室内不得带入咖啡。",
        ),
    },
    {
        "en": (
            "How many employees does the company have?",
            "The company has 3,200 employees.",
            "The company has 2,300 employees.",
            "Most of them work in Shanghai.",
            "The moon has no atmosphere.",
        ),
        "zh": (
            "公司有多少名员工？",
            "公司有3200名员工。",
            "公司有2300名员工。",
            "他们大多在上海工作。",
            "月球没有大气层。",
        ),
    },
    {
        "en": (
            "Where is the emergency exit?",
            "The emergency exit is on the left of the stage.",
            "The emergency exit is on the right of the stage.",
            "It must not be blocked.",
            "The contract ends in March.",
        ),
        "zh": (
            "紧急出口在哪里？",
            "紧急出口在舞台左侧。",
            "紧急出口在舞台右侧。",
            "紧急出口不得堵塞。",
            "合同三月到期。",
        ),
    },
]
PAD = {"en": "The document was last revised by the quality team.", "zh": "本文件由质量团队最近修订。"}


def cases(lang: str) -> Iterator[dict[str, Any]]:
    """Eight cases of each fact."""
    space = " " if lang == "en" else ""
    for i, fact in enumerate(FACTS):
        question, said, altered, more, other = fact[lang]
        elsewhere = FACTS[(i + 7) % len(FACTS)][lang]
        here = {"question": question, "contexts": [{"doc_id": "a", "text": space.join([said, more, PAD[lang]])}]}
        answers = {
            "same": said, "altered": altered, "two": said + space + more, "other": other, "added": said + space + other,
            "second": more,
        }  # fmt: skip
        for kind, answer in answers.items():
            yield {**here, "answer": answer, "sample_id": f"{kind}-{i}"}
        away = [{"doc_id": "b", "text": space.join([elsewhere[1], elsewhere[3], PAD[lang]])}]
        yield {"question": question, "answer": said, "contexts": away, "sample_id": f"away-{i}"}
        yield {**here, "answer": altered, "reference": said, "sample_id": f"reference-{i}"}


@cache
def judged(lang: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    found = wb.evaluate(list(cases(lang)), encoder="none", progress=False)
    claims = found.claims().reset_index()
    return claims[claims["side"] == "answer"], found.scores()


def test_verdicts_and_support_agree() -> None:
    both = [judged(lang)[0].groupby("sample_id") for lang in ("en", "zh")]
    names = [case["sample_id"] for case in cases("en")]
    assert len(names) >= 150
    same = near = claims = 0
    for name in names:
        english, chinese = (groups.get_group(name) for groups in both)
        same += list(english["verdict"]) == list(chinese["verdict"])
        if len(english) == len(chinese):
            claims += len(english)
            near += int((np.abs(english["support"].to_numpy() - chinese["support"].to_numpy()) <= 0.1).sum())
    assert same >= 0.94 * len(names)
    assert near >= 0.95 * claims


def test_what_is_on_the_subject_is_told_from_what_is_not_in_both() -> None:
    for lang in ("en", "zh"):
        relevancy = judged(lang)[1]["answer_relevancy"]
        right = relevancy[[f"same-{i}" for i in range(len(FACTS))]]
        other = relevancy[[f"other-{i}" for i in range(len(FACTS))]]
        assert (right >= 0.5).mean() >= 0.95
        assert (other < 0.5).mean() >= 0.9


# ---------------------------------------------------------------- denied statements

THINGS = {
    "en": ["the museum closes on {n} May", "the ferry carries {n} cars", "the tower has {n} floors",
           "the club has {n} members"],
    "zh": ["博物馆在5月{n}日闭馆", "渡轮可载{n}辆汽车", "这座塔有{n}层", "俱乐部有{n}名会员"],
}  # fmt: skip
FRAMES = {
    "en": ["There is no evidence that {s}.", "It is not true that {s}.", "No study has shown that {s}.",
           "It is a common misconception that {s}.", "I cannot confirm that {s}."],
    "zh": ["没有证据表明{s}。", "{s}的说法并不属实。", "目前没有研究能证明{s}。", "{s}是一个常见的误区。", "我无法证实{s}。"],
}  # fmt: skip
STATED = {"en": ["{s}.", "According to the brochure, {s}."], "zh": ["{s}。", "根据手册，{s}。"]}


def test_a_statement_that_is_denied_is_against_a_text_that_makes_it() -> None:
    chance = random.Random(3)
    rows, wanted = [], []
    for lang in ("en", "zh"):
        for at in range(60):
            thing = chance.choice(THINGS[lang]).format(n=chance.randint(11, 28))
            told = (thing[0].upper() + thing[1:] + "." if lang == "en" else thing + "。")
            denied = at % 2 == 0
            answer = chance.choice((FRAMES if denied else STATED)[lang]).format(s=thing)
            rows.append({"sample_id": f"{lang}-{at}", "question": "?", "answer": answer[0].upper() + answer[1:],
                         "contexts": [{"doc_id": "a", "text": told}], "reference": told})  # fmt: skip
            wanted.append(not denied)
    failures = wb.evaluate(rows, encoder="none", progress=False).failures()
    right = pd.Series(wanted, index=failures.index)
    passed = failures["passed"].astype(bool)
    assert (~passed[~right]).mean() >= 0.97, failures[~right & passed].index.tolist()
    assert passed[right].mean() >= 0.97, failures.loc[right & ~passed, ["primary_cause", "evidence"]].to_string()


# ---------------------------------------------------------------- one answer against itself


def test_two_values_of_one_thing_fail_an_answer_without_contexts() -> None:
    chance = random.Random(4)
    names = {"en": ["The return period", "The trial", "The warranty"], "zh": ["退货期限", "试用期", "保修期"]}
    shapes = {"en": ["{t} is {n} days. Keep the receipt. {t} is {m} days.", "{t} is {n} days. {o} is {m} days."],
              "zh": ["{t}为{n}天。请保留发票。{t}是{m}天。", "{t}为{n}天。{o}为{m}天。"]}  # fmt: skip
    rows, wanted = [], []
    for lang in ("en", "zh"):
        for at in range(40):
            thing, other = chance.sample(names[lang], 2)
            first, second = chance.sample(range(2, 30), 2)
            itself = at % 2 == 0
            answer = shapes[lang][0 if itself else 1].format(t=thing, o=other, n=first, m=second)
            rows.append({"sample_id": f"{lang}-{at}", "question": "?", "answer": answer})
            wanted.append(itself)
    failures = wb.evaluate(rows, encoder="none", progress=False).failures()
    assert ((failures["primary_cause"] == "contradiction") == np.array(wanted)).all()


def test_a_sum_and_a_span_of_years_that_cannot_be_right_are_signs() -> None:
    answers = {
        "Plan A costs $5 and plan B costs $7, in total $15.": 1, "Plan A costs $5 and plan B costs $7, in total $12.": 0,
        "套餐A为5元，套餐B为7元，合计15元。": 1, "套餐A为5元，套餐B为7元，合计12元。": 0,
        "He ruled from 1820 to 1790.": 1, "He ruled from 1790 to 1820.": 0, "他从1820年到1790年在位。": 1,
    }  # fmt: skip
    rows = [{"sample_id": str(i), "question": "?", "answer": answer} for i, answer in enumerate(answers)]
    scores = wb.evaluate(rows, judge=None, metrics=["numeric_consistency"], progress=False).scores()
    assert (scores["numeric_consistency"] < 1).tolist() == [bool(wrong) for wrong in answers.values()]


# ---------------------------------------------------------------- what the contexts tell in parts

TOWNS = {"en": ["Ashford", "Kelso", "Merton", "Penrith"], "zh": ["海宁", "宜兴", "江阴", "句容"]}
PARTS = {
    "en": ("How many bridges do {a} and {b} have?", "{a} has {n} bridges.", "The town of {b} counts {m} bridges in all.",
           "{a} has {n} bridges and {b} counts {m} bridges in all.", "{n} and {m}."),
    "zh": ("{a}和{b}各有多少座桥？", "{a}有{n}座桥。", "据统计，{b}共有{m}座桥梁。", "{a}有{n}座桥和{b}共有{m}座桥梁。",
           "{n}，{m}。"),
}  # fmt: skip


def test_two_documents_put_together_support_a_claim_and_a_value_of_neither_does_not() -> None:
    chance = random.Random(5)
    rows, wanted = [], []
    for lang in ("en", "zh"):
        question, first, second, joined, values = PARTS[lang]
        for at in range(40):
            a, b = chance.sample(TOWNS[lang], 2)
            n, m, other = chance.sample(range(13, 90), 3)
            right = at % 2 == 0
            shape = joined if at % 4 < 2 else values
            rows.append({"sample_id": f"{lang}-{at}", "question": question.format(a=a, b=b),
                         "answer": shape.format(a=a, b=b, n=n, m=m if right else other),
                         "contexts": [{"doc_id": "a", "text": first.format(a=a, n=n)},
                                      {"doc_id": "b", "text": second.format(b=b, m=m)}]})  # fmt: skip
            wanted.append(right)
    claims = wb.evaluate(rows, encoder="none", progress=False).claims().reset_index()
    held = claims[claims["side"] == "answer"].groupby("sample_id")["verdict"].agg(lambda v: (v == "supported").all())
    right = np.array(wanted)
    assert held[[row["sample_id"] for row in rows]].to_numpy()[right].mean() >= 0.95
    assert not held[[row["sample_id"] for row in rows]].to_numpy()[~right].any()
