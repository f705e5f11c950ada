"""What an answer works out, counts or lists: each kind drawn at random in both languages, once right and once not."""

from __future__ import annotations

import random
from datetime import date, timedelta

import pytest

from workbench.data.schema import Context, Sample
from workbench.data.text.quantities import quantities, relation
from workbench.data.text.refusals import claims
from workbench.evidence.offline.answers import answer_right
from workbench.evidence.offline.arithmetic import worked_out
from workbench.evidence.offline.examination import Examination
from workbench.evidence.offline.lists import counted
from workbench.evidence.offline.models import load_coefficients

SEEDS = range(25)
ITEMS = {
    "en": ["Lisbon", "Oslo", "Vienna", "Prague", "Dublin", "Athens", "Warsaw", "Madrid", "Rome", "Paris", "Berlin", "Bern"],
    "zh": ["北京", "上海", "广州", "深圳", "成都", "武汉", "西安", "南京", "杭州", "重庆", "天津", "苏州"],
}
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]
NUMERALS = "零一两三四五六七八九十"


def verdict(question: str, answer: str, *contexts: str) -> str:
    """``supported``, ``contradicted`` or ``unsure`` of the answer's claims together, as words alone see them."""
    sample = Sample("", question, answer=answer, contexts=tuple(map(Context, contexts)))
    seen = Examination(sample, load_coefficients(None), {}, {})
    entail, contradict = seen.by_text
    n = len(contexts)
    if contradict[:, :n].max() >= 0.5:
        return "contradicted"
    return "supported" if entail[:, :n].max(axis=1).min() >= 0.5 else "unsure"


def listed(items: list[str], language: str) -> str:
    if language == "zh":
        return "、".join(items[:-1]) + "和" + items[-1]
    return ", ".join(items[:-1]) + " and " + items[-1]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_listed_can_be_counted(seed, language):
    chance = random.Random(f"{seed} {language}")
    n = chance.randint(3, 9)
    items = listed(chance.sample(ITEMS[language], n), language)
    context = {"en": f"The service runs in {items}.", "zh": f"该服务在{items}提供。"}[language]
    question = {"en": "How many cities does the service run in?", "zh": "该服务在几个城市提供？"}[language]
    said = {"en": lambda k: WORDS[k].title(), "zh": lambda k: f"{NUMERALS[k]}个城市"}[language]
    assert n in counted(context)
    assert verdict(question, said(n), context) == "supported"
    assert verdict(question, said(n - 1), context) != "supported"
    assert verdict(question, said(n + 1), context) != "supported"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("seed", SEEDS)
def test_days_are_counted_on_from_a_day_that_the_question_gives(seed, language):
    chance = random.Random(f"{seed} {language}")
    start, days = date(2023, chance.randint(1, 12), chance.randint(1, 28)), chance.randint(5, 60)
    write = {"en": lambda d: f"{d.day} {d:%B}", "zh": lambda d: f"{d.month}月{d.day}日"}[language]
    question = {
        "en": f"My parcel came on {write(start)}. Until when can I return it?",
        "zh": f"我{write(start)}收到包裹，最晚哪天可以退货？",
    }[language]
    context = {"en": f"Parcels can be returned within {days} days of delivery.", "zh": f"签收后{days}日内可以退货。"}[language]
    said = {"en": lambda d: f"Until {write(d)}.", "zh": lambda d: f"{write(d)}。"}[language]
    assert verdict(question, said(start + timedelta(days)), context) == "supported"
    assert verdict(question, said(start + timedelta(days + 3)), context) != "supported"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_number_is_worked_out_from_what_is_given(seed):
    chance = random.Random(seed)
    a, b, c = chance.randint(21, 60), chance.randint(3, 19), chance.randint(2, 9)
    given = quantities(f"${a}, then ${b} and {c} seats")

    def made(value: int) -> bool:
        return bool(worked_out(quantities(f"It is ${value}.")[0], given, ()))

    for right in (a + b, a - b, b * c, a + b * c):
        assert made(right), right
    others = {a + b, a - b, b * c, a * c, a + b * c, b + a * c, a, b}
    assert not any(made(value) for value in range(1, 300) if value not in others)


@pytest.mark.parametrize(("question", "answer"), [("How many cities?", "Three"), ("几个城市？", "三个")])
def test_without_a_context_nothing_is_counted(question, answer):
    sample = Sample("", question, answer=answer, contexts=(), reference="Three: Rome, Milan and Turin.")
    entail, _ = Examination(sample, load_coefficients(None), {}, {}).by_text
    assert ((entail >= 0) & (entail <= 1)).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_rates_shares_and_recipes(seed):
    chance = random.Random(seed)
    n, cents, percent, grams = chance.randint(2, 9), chance.randint(11, 95), chance.randint(2, 19), 50 * chance.randint(3, 9)

    def made(claimed: str, given: str, told: str) -> bool:
        return bool(worked_out(quantities(claimed)[0], quantities(given), quantities(told)))

    assert made(f"€{n * cents / 100:.2f}", f"{n} days", f"{cents} cents a day")
    assert not made(f"€{(n + 1) * cents / 100:.2f}", f"{n} days", f"{cents} cents a day")
    assert made(f"{20 * percent}元", "2000元", f"金额的{percent}%")
    assert not made(f"{20 * percent + 7}元", "2000元", f"金额的{percent}%")
    assert made(f"{2 * grams} g", "eight people", f"{grams} g of flour. It serves 4.")
    assert not made(f"{2 * grams + 10} g", "eight people", f"{grams} g of flour. It serves 4.")
    assert made(f"{(n + 3) * 100}元", f"每月100元，{n}个月，三个月", f"每月租金100元，{n}个月押金和三个月租金")


def test_without_anything_given_nothing_is_worked_out():
    told = quantities("$10, $20 and $30")
    assert worked_out(quantities("$30")[0], (), told) == ()


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("seed", SEEDS)
def test_who_says_only_denies_the_others_of_a_list(seed, language):
    chance = random.Random(f"{seed} {language}")
    items = chance.sample(ITEMS[language], 3)
    context = {"en": f"The shop ships to {listed(items, 'en')}.", "zh": f"本店配送到{listed(items, 'zh')}。"}[language]
    question = {"en": "Where does the shop ship to?", "zh": "本店配送到哪里？"}[language]
    only = {"en": "The shop ships only to {}.", "zh": "本店只配送到{}。"}[language]
    plain = {"en": "The shop ships to {}.", "zh": "本店配送到{}。"}[language]
    one = chance.choice(items)
    assert verdict(question, only.format(one), context) == "contradicted"
    assert verdict(question, plain.format(one), context) == "supported"
    assert verdict(question, only.format(listed(items, language)), context) == "supported"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_list_that_adds_a_thing_is_not_supported(seed, language):
    chance = random.Random(f"{seed} {language}")
    *items, other = chance.sample(ITEMS[language], 4)
    write = {"en": "Direct trains go to {}.", "zh": "直达列车开往{}。"}[language]
    question = {"en": "Where do direct trains go?", "zh": "直达列车开往哪里？"}[language]
    context = write.format(listed(items, language))
    changed = items[::-1]
    assert verdict(question, write.format(listed(changed, language)), context) == "supported"
    assert verdict(question, write.format(listed([*items[:2], other, items[2]], language)), context) != "supported"


@pytest.mark.parametrize(
    ("aux", "bound"),
    [(f"{aux}n't exceed", "<=") for aux in ("does", "do", "did", "must", "should", "wo", "ca", "would", "could")]
    + [("does not exceed", "<="), ("isn't more than", "<="), ("aren’t more than", "<="), ("isn't less than", ">="),
       ("exceeds", ">"), ("is more than", ">"), ("is not older than", "<="), ("is older than", ">")],
)  # fmt: skip
@pytest.mark.parametrize("number", [3, 20, 500])
def test_a_contraction_turns_a_bound_as_its_long_form_does(aux, bound, number):
    (found,) = quantities(f"It {aux} {number} kg.")
    assert found.cue == bound


@pytest.mark.parametrize("seed", SEEDS)
def test_units_of_land_and_weight_are_no_others(seed):
    n = random.Random(seed).randint(2, 900)

    def told(one: str, other: str) -> str:
        return relation(quantities(one)[0], quantities(other)[0])

    assert told(f"{n}亩", f"{n}亩") == "same"
    assert told(f"{n}亩", f"{n}平方米") not in ("same", "compatible")
    assert told(f"{n}斤", f"{n}公斤") not in ("same", "compatible")
    assert told(f"{n}周岁", f"{n}岁") == "same"
    assert told(f"{n}周岁", f"{n}周") not in ("same", "compatible")


@pytest.mark.parametrize(("winner", "loser"), [("Germany", "Brazil"), ("Tessel", "Lumora"), ("Ann Moore", "Bob Lane")])
@pytest.mark.parametrize("verb", ["beat", "sued", "acquired", "succeeded"])
def test_who_did_it_to_whom(winner, loser, verb):
    question, reference = "Who did what to whom?", f"{winner} {verb} {loser}."
    assert answer_right(question, f"{winner} {verb} {loser} last year.", reference).probability > 0.5
    assert answer_right(question, f"{loser} {verb} {winner} last year.", reference).probability < 0.5


def test_the_head_of_a_table_states_nothing():
    table = "| Plan | Storage |\n|---|---|\n| Basic | 100 GB |\n| Pro | 2 TB |"
    assert [claim.text for claim in claims(table).spans] == ["| Basic | 100 GB |", "| Pro | 2 TB |"]
    assert next(claim.text for claim in claims("Here it is:\n\n" + table).spans) == "| Basic | 100 GB |"


@pytest.mark.parametrize(
    ("context", "answer"),
    [
        ("Permanent staff may apply. Staff who are under notice on the payment date are excluded.",
         "All permanent staff may apply, including those who are under notice on the payment date."),
        ("Cover starts on day one for all employees. Contractors and agency workers are not eligible for the dental plan.",
         "Contractors are covered by the company dental plan from their first day."),
        ("公司为正式员工购买补充医疗保险。实习生、兼职员工及劳务派遣人员不适用本条规定。", "公司为兼职员工购买补充医疗保险。"),
        ("转让旧车并购买新车的可申请补贴。购买二手车不适用本补贴。", "购买二手车同样可以申请补贴。"),
    ],
)  # fmt: skip
def test_a_whole_sentence_said_the_other_way_contradicts(context, answer):
    assert verdict("?", answer, context) == "contradicted"


@pytest.mark.parametrize(
    ("context", "answer"),
    [
        ("Cover starts on the first day for all employees. Agency workers are not eligible for the dental plan.",
         "All employees are covered from the first day."),
        ("公司为正式员工购买补充医疗保险。实习生不适用本条规定。", "公司为正式员工购买补充医疗保险。"),
    ],
)  # fmt: skip
def test_what_is_denied_of_others_contradicts_nothing(context, answer):
    assert verdict("?", answer, context) != "contradicted"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("form", ["{}: {}", "{} {}"])
@pytest.mark.parametrize("seed", SEEDS)
def test_each_label_of_a_list_has_its_own_value(seed, form, language):
    chance = random.Random(f"{seed} {form} {language}")
    names = {"en": ["Starter", "Standard", "Enterprise"], "zh": ["基础版", "专业版", "旗舰版"]}[language]
    days = chance.sample(range(3, 90), 3)
    unit = {"en": "{} days", "zh": "{}天"}[language]
    listed = ", ".join(form.format(name, unit.format(n)) for name, n in zip(names, days, strict=True))
    head = {"en": f"Backup retention – {listed}.", "zh": f"备份保留时间，{listed.replace(', ', '，')}。"}[language]
    question = {"en": "How long are the backups of {} kept?", "zh": "{}的备份保留多久？"}[language]
    said = {"en": "{} backups are kept for {} days.", "zh": "{}的备份保留{}天。"}[language]
    for at in range(3):
        asked = question.format(names[at])
        assert verdict(asked, said.format(names[at], days[at]), head) != "contradicted"
    assert verdict(question.format(names[1]), said.format(names[1], days[2]), head) == "contradicted"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_range_that_holds_the_age_tells_the_dose(seed, language):
    chance = random.Random(f"{seed} {language}")
    doses = chance.sample(range(2, 20), 3)
    bands = [(1, 3), (4, 6), (7, 9)]
    write = {"en": "ages {}–{}: {} ml", "zh": "{}–{}岁，每次{}毫升"}[language]
    table = {"en": ", ", "zh": "；"}[language].join(write.format(*band, dose) for band, dose in zip(bands, doses, strict=True))
    context = {"en": f"Take three times a day, {table}.", "zh": f"每日三次。{table}。"}[language]
    at, age = (at := chance.randrange(3)), chance.randint(*bands[at])
    question = {"en": f"What does a child aged {age} take?", "zh": f"{age}岁儿童每次服用多少？"}[language]
    said = {"en": f"A child aged {age} takes {{}} ml.", "zh": f"{age}岁儿童每次服用{{}}毫升。"}[language]
    assert verdict(question, said.format(doses[at]), context) != "contradicted"
    if language == "zh":
        assert verdict(question, said.format(doses[(at + 1) % 3]), context) == "contradicted"


@pytest.mark.parametrize(
    ("context", "answer"),
    [("起步价维持2元不变。", "起步价不变仍为2元。"), ("会议于3月1日起在三楼举行。", "会议自3月1日起均在三楼举行。")],
)
def test_helping_pieces_of_chinese_are_no_content(context, answer):
    assert verdict("?", answer, context) == "supported"
