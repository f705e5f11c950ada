"""Which way a sentence says things: negations, exceptions, quantities, order, kinds; each kind generated both ways.

Every kind is a template filled at random in one of the two languages, once so that the claim follows and once so that it
does not; the figures are those of :mod:`workbench.evidence.offline.relations`, the signs those of
:mod:`workbench.evidence.offline.features`.
"""

from __future__ import annotations

import itertools
import random

import pytest

from workbench.data.schema import Context, Sample
from workbench.evidence.offline.claims import is_code
from workbench.evidence.offline.comparisons import ordered, sequence_reversed
from workbench.evidence.offline.contradiction import contradictions
from workbench.evidence.offline.examination import EDITED, Examination
from workbench.evidence.offline.features import codes_of, holds_code
from workbench.evidence.offline.grid import Grid, claim_words
from workbench.evidence.offline.models import load_coefficients
from workbench.evidence.offline.polarity import read
from workbench.evidence.offline.relations import RELATION, Relation, _cut, relate
from workbench.evidence.offline.words import analyse

SEEDS = range(12)


def relation(claim: str, evidence: str, sentence: int = 0) -> Relation:
    return relate(claim_words(analyse(claim), 0, len(claim)), analyse(evidence), sentence)


def figures(claim: str, evidence: str) -> dict[str, float]:
    return dict(zip(RELATION, relation(claim, evidence).features.tolist(), strict=True))


def kinds(claim: str, evidence: str) -> set[str]:
    grid = Grid([claim_words(analyse(claim), 0, len(claim))], [analyse(evidence)])
    return {sign.kind for _, sign in contradictions(grid, 0)}


def support(claim: str, evidence: str) -> tuple[float, float]:
    sample = Sample("", "?", answer=claim, contexts=(Context(evidence),))
    seen = Examination(sample, load_coefficients(None), {}, {})
    entail, contradict = seen.by_text
    return float(entail[:, 0].min()), float(contradict[:, 0].max())


# ---------------------------------------------------------------- negation

ENGLISH = {
    "who": ["Guests", "Tenants", "Visitors", "Members", "Employees", "Students"],
    "what": ["park in the courtyard", "use the rear entrance", "bring a bicycle", "borrow the projector", "print in colour"],
}
CHINESE = {
    "who": ["访客", "租户", "会员", "员工", "学生", "读者"],
    "what": ["在院内停车", "使用后门", "携带自行车", "借用投影仪", "打印彩色文件"],
}


def clashes(claim: str, evidence: str) -> bool:
    return figures(claim, evidence)["negation_gap"] > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_negation_is_met_by_the_same_negation_however_it_is_worded(seed):
    pick = random.Random(seed)
    who, what = (pick.choice(ENGLISH[key]) for key in ("who", "what"))
    negative = [f"{who} may not {what}.", f"{who} cannot {what}.", f"{who} are not allowed to {what}.",
                f"No, {who.lower()} may not {what}.", f"{who} are forbidden to {what}."]  # fmt: skip
    positive = [f"{who} may {what}.", f"{who} can {what}.", f"Yes, {who.lower()} can {what}."]
    for said in negative:
        for told in negative:
            assert not clashes(said, told), (said, told)
        for told in positive:
            assert clashes(said, told), (said, told)
            assert clashes(told, said), (told, said)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_chinese_negation_is_met_by_the_same_negation_however_it_is_worded(seed):
    pick = random.Random(seed)
    who, what = (pick.choice(CHINESE[key]) for key in ("who", "what"))
    negative = [f"{who}不可以{what}。", f"{who}不得{what}。", f"禁止{who}{what}。", f"不可以，{who}不能{what}。"]
    positive = [f"{who}可以{what}。", f"{who}能{what}。", f"可以，{who}可以{what}。"]
    for said in negative:
        for told in negative:
            assert not clashes(said, told), (said, told)
        for told in positive:
            assert clashes(said, told), (said, told)
            assert clashes(told, said), (told, said)


DOUBLE = [
    ("Side effects are common.", "Side effects are not uncommon."),
    ("The door is not unlocked.", "The door is not unlocked."),
    ("Registration is possible by phone.", "Registration is not impossible by phone."),
    ("学员必须签到。", "学员不得不签到。"),
    ("参观无需预约。", "参观免预约。"),
]


@pytest.mark.parametrize(("claim", "evidence"), DOUBLE)
def test_two_negations_of_one_word_are_none(claim, evidence):
    assert not clashes(claim, evidence)


NOT_COUNTED = [
    ("The pool is heated.", "The pool is heated, but towels are not provided and lockers cannot be booked."),
    ("泳池恒温。", "泳池恒温，但不提供毛巾，也不能预订储物柜。"),
    ("标准版支持导出。", "标准版支持导出，试用版不支持导出。"),
    ("The lamp does not flicker.", "The lamp does not flicker and it is not loud."),
]


@pytest.mark.parametrize(("claim", "evidence"), NOT_COUNTED)
def test_how_many_negations_stand_elsewhere_does_not_matter(claim, evidence):
    assert not clashes(claim, evidence)
    assert "negation" not in kinds(claim, evidence)


FAQ = [
    ("Guests can bring pets.", "Can guests bring pets? {}", "Yes.", "No."),
    ("The card is transferable.", "Q: Is the card transferable? A: {}", "Yes, it is.", "No, it is not."),
    ("门票可以改签。", "门票可以改签吗？{}", "可以。", "不可以。"),
    ("本店支持分期付款。", "本店支持分期付款吗？{}", "支持。", "不支持。"),
]


@pytest.mark.parametrize(("claim", "context", "yes", "no"), FAQ)
def test_a_question_says_what_its_answer_makes_of_it(claim, context, yes, no):
    assert not clashes(claim, context.format(yes))
    assert clashes(claim, context.format(no))
    assert figures(claim, context.format("").strip())["asked"] == 1.0


EXCEPTIONS = [
    ("All fares are flexible except {} fares.", "{} fares are flexible.", "{} fares are not flexible.", ["weekend"]),
    ("The museum is open daily except {}.", "The museum is open on {}.", "The museum is not open on {}.", ["Sunday"]),
    ("除{}外，所有商品均可退货。", "{}可以退货。", "{}不能退货。", ["内衣", "生鲜", "贺卡"]),
]


@pytest.mark.parametrize(("rule", "wrong", "right", "things"), EXCEPTIONS)
def test_an_exception_turns_what_the_rest_says(rule, wrong, right, things):
    for thing in things:
        assert clashes(wrong.format(thing), rule.format(thing)), thing
        assert not clashes(right.format(thing), rule.format(thing)), thing


# ---------------------------------------------------------------- strength, opposites, kinds


STRENGTH = [
    ("{} rooms have a balcony.", ["Some", "Many", "Most", "All"]),
    ("The gate is {} locked at night.", ["sometimes", "often", "usually", "always"]),
    ("{}房间带阳台。", ["部分", "许多", "大多数", "所有"]),
    ("大门夜间{}上锁。", ["偶尔", "经常", "通常", "总是"]),
    ("申请人{}提交护照。", ["可以", "应当", "必须"]),
    ("Applicants {} submit a passport.", ["may", "should", "must"]),
]


@pytest.mark.parametrize(("template", "steps"), STRENGTH)
def test_a_stronger_word_says_more_and_a_weaker_one_less(template, steps):
    for low, weaker in enumerate(steps):
        for stronger in steps[low + 1 :]:
            assert figures(template.format(stronger), template.format(weaker))["stronger"] > 0
            assert figures(template.format(weaker), template.format(stronger))["stronger"] == 0
        assert figures(template.format(weaker), template.format(weaker))["stronger"] == 0


OPPOSITES = [
    ("Apply the primer {} the paint.", "before", "after"),
    ("Deliveries {} in spring.", "increase", "decrease"),
    ("The valve works {} electricity.", "with", "without"),
    ("采血{}须静坐十分钟。", "前", "后"),
    ("该地区人口持续{}。", "增长", "减少"),
    ("展厅冬季提前{}。", "开放", "关闭"),
]


@pytest.mark.parametrize(("template", "left", "right"), OPPOSITES)
def test_a_listed_opposite_in_the_same_place_is_one(template, left, right):
    for said, told in ((left, right), (right, left)):
        found = figures(template.format(said), template.format(told))
        assert found["antonym"] or found["negation_gap"]
    same = figures(template.format(left), template.format(left))
    assert not same["antonym"]
    assert not same["negation_gap"]


def present(claim: str, evidence: str, word: str) -> float:
    grid = Grid([claim_words(analyse(claim), 0, len(claim))], [analyse(evidence)])
    text = analyse(claim)
    at = next(at for at in range(len(text.ids)) if text.folded[text.starts[at] : text.ends[at]] == word)
    return float(grid.present[at].max())


KINDS = [
    ("A {} slept on the sofa.", "poodle", "dog", "cat"),
    ("She bought a {} yesterday.", "violin", "instrument", "vehicle"),
    ("他昨天买了{}。", "苹果", "水果", "家具"),
    ("院子里有一只{}。", "贵宾犬", "动物", "昆虫"),
]


@pytest.mark.parametrize(("template", "member", "kind", "other"), KINDS)
def test_what_is_said_of_a_member_holds_for_its_kind_never_back(template, member, kind, other):
    assert present(template.format(kind), template.format(member), kind) > 0.8
    assert relation(template.format(member), template.format(kind)).harmful
    assert not relation(template.format(kind), template.format(member)).harmful
    assert present(template.format(other), template.format(member), other) < 0.5


@pytest.mark.parametrize("outer", ["No {} was seen.", "Every {} was fed."])
def test_under_no_and_every_the_kind_says_more(outer):
    assert relation(outer.format("dog"), outer.format("poodle")).harmful
    assert not relation(outer.format("poodle"), outer.format("dog")).harmful


DOWNWARD = [
    ("She does not sell wooden chairs.", "She does not sell chairs."),
    ("Nobody bought fresh bread.", "Nobody bought bread."),
    ("If you buy two large tickets, parking is free.", "If you buy two tickets, parking is free."),
    ("店里不卖进口水果。", "店里不卖水果。"),
]


@pytest.mark.parametrize(("narrow", "broad"), DOWNWARD)
def test_under_a_negation_the_narrower_follows_and_the_broader_does_not(narrow, broad):
    assert relation(narrow, broad).harmless
    assert not relation(narrow, broad).lost
    assert relation(broad, narrow).lost


def test_a_widened_or_is_harmless_and_a_narrowed_one_is_not():
    assert relation("Pay by cash or card.", "Pay by cash.").harmless
    assert relation("Pay by cash.", "Pay by cash or card.").lost
    assert not relation("A soccer pitch is level.", "A soccer pitch (or football ground) is level.").lost
    assert relation("支付方式为现金或支票。", "支付方式为现金。").harmless


@pytest.mark.parametrize(("claim", "sentence", "edited"), [
    ("The fermentation lasts ten days.", "The maturation lasts ten days.", True),
    ("A giant rat chewed a hole in the wall.", "A rat chewed a hole in the wall.", True),
    ("发酵持续十天。", "陈酿持续十天。", True),
    ("The fermentation lasts ten days.", "The fermentation lasts ten days.", False),
    ("Ada Lovelace wrote the programme.", "Lovelace, whose mother taught her mathematics early, wrote the programme while "
     "translating an Italian article about the engine.", False),
])  # fmt: skip
def test_a_sentence_repeated_but_for_a_word_is_edited(claim, sentence, edited):
    assert (figures(claim, sentence)["edited"] >= EDITED) is edited


@pytest.mark.parametrize("name", ["Elvis Presley", "Ada Lovelace", "Grace Hopper"])
def test_a_name_told_in_part_is_no_other_name(name):
    said = "{} was born in Tupelo and moved to Memphis.".format
    assert figures(said(name), said(name.split()[1]))["edited"] < EDITED
    assert figures(said(name), said(f"Lisa {name.split()[1]}"))["edited"] >= EDITED


RIVALS = [
    ("The cover is {}.", ["red", "blue", "green"]),
    ("He plays the {} in the band.", ["guitar", "trumpet", "cello"]),
    ("会议定在{}举行。", ["星期一", "星期三", "星期五"]),
    ("他在乐队里演奏{}。", ["吉他", "小号", "大提琴"]),
]


@pytest.mark.parametrize(("template", "members"), RIVALS)
def test_another_member_of_an_exclusive_list_is_named(template, members):
    for said in members:
        for told in members:
            found = kinds(template.format(said), template.format(told))
            assert ("kind" in found) == (said != told) or "number" in found


# ---------------------------------------------------------------- order


@pytest.mark.parametrize("seed", SEEDS)
def test_parts_that_have_changed_places_are_seen_but_not_in_a_list(seed):
    pick = random.Random(seed)
    a, b = pick.sample(["Anna", "Boris", "Clara", "David", "Elena"], 2)
    verb = pick.choice(["hired", "sued", "defeated", "succeeded"])
    n, m = pick.sample(["two", "three", "five", "seven"], 2)
    assert "exchange" in kinds(f"In May {a} {verb} {b}.", f"In May {b} {verb} {a}.")
    assert kinds(f"In May {a} {verb} {b}.", f"In May {a} {verb} {b}.") == set()
    assert figures(f"The panel has {n} judges and {m} clerks.", f"The panel has {m} judges and {n} clerks.")["exchanged"]
    assert not figures(f"{a} and {b} won the cup.", f"{b} and {a} won the cup.")["exchanged"]
    assert not figures("The kit holds cables, lamps and fuses.", "The kit holds lamps, cables and fuses.")["exchanged"]


@pytest.mark.parametrize("seed", SEEDS)
def test_chinese_parts_that_have_changed_places_are_seen(seed):
    pick = random.Random(seed)
    a, b = pick.sample(["王明", "李娜", "赵刚", "陈静"], 2)
    verb = pick.choice(["起诉", "雇用", "采访"])
    assert figures(f"去年{a}{verb}了{b}。", f"去年{b}{verb}了{a}。")["exchanged"]
    assert not figures(f"去年{a}{verb}了{b}。", f"去年{a}{verb}了{b}。")["exchanged"]
    assert not figures(f"{a}和{b}获得了奖学金。", f"{b}和{a}获得了奖学金。")["exchanged"]


@pytest.mark.parametrize("seed", SEEDS)
def test_comparatives_are_followed_from_one_to_the_next(seed):
    pick = random.Random(seed)
    names = pick.sample(["Ada", "Ben", "Cleo", "Dan", "Eve"], 5)
    text = ", ".join(f"{a} is taller than {b}" for a, b in itertools.pairwise(names)) + "."
    low, high = sorted(pick.sample(range(5), 2))
    assert ordered(f"{names[low]} is taller than {names[high]}.", text) == 1
    assert ordered(f"{names[high]} is taller than {names[low]}.", text) == -1
    assert ordered(f"{names[high]} is shorter than {names[low]}.", text) == 1
    assert ordered(f"{names[high]} is older than {names[low]}.", text) == 0
    chinese = "，".join(f"{a}比{b}高" for a, b in zip(["小王", "小李", "小张"], ["小李", "小张", "小赵"], strict=True))
    assert ordered("小王比小赵高。", chinese) == 1
    assert ordered("小赵比小王高。", chinese) == -1


# ---------------------------------------------------------------- identifiers, code, mixed claims

SAME = [
    ("error.log", "see /var/log/app/error.log for details"),
    ("https://example.org/v2/refunds", "call https://example.org/v2/refunds, then wait"),
    ("xr-250", "the xr250 model"),
    ("client_id", "first set client_id, then go on"),
    ("--force", "run it with --force now"),
    ("-scientific", "a pseudo-scientific programme"),
]
DIFFERENT = [
    ("/var/log/app/error.log", "see /var/log/web/error.log"),
    ("https://example.org/v2/refund", "call https://example.org/v2/refunds"),
    ("https://example.org/v2", "call https://example.org/v2/refunds"),
    ("client_id", "first set client_id_old"),
    ("--force", "run it with --force-all"),
    ("-force", "run it with --force"),
    ("info@example.org", "write to sales@example.org"),
]


@pytest.mark.parametrize("name", ["Hōryū-ji", "Saint-Rémy", "Ikaruga-dera", "Nezahualcóyotl-sur"])
def test_a_name_with_an_accent_holds_no_flag(name):
    text = f"{name} was dedicated to a healer."
    assert not list(codes_of(claim_words(analyse(text), 0, len(text))))


@pytest.mark.parametrize(("code", "text"), SAME)
def test_an_identifier_is_held_as_a_whole(code, text):
    assert holds_code(text, code)


@pytest.mark.parametrize(("code", "text"), DIFFERENT)
def test_another_identifier_is_another_thing(code, text):
    assert not holds_code(text, code)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_claim_with_another_identifier_is_not_supported(seed):
    pick = random.Random(seed)
    shapes = ["/etc/{}/main.conf", "{}@example.org", "--{}-only", "{}_timeout", "https://api.example.org/{}", "load{}Config"]
    shape = pick.choice(shapes)
    mine, other = (shape.format(word) for word in pick.sample(["Cache", "Queue", "Mail", "Audit"], 2))
    for template in ("The value is set with {}.", "该值由 {} 设定。"):
        assert support(template.format(mine), template.format(other))[0] < 0.5
        assert support(template.format(mine), template.format(mine))[0] >= 0.5


def test_code_is_supported_only_verbatim_and_bare_words_are_unsure():
    assert is_code("x = load(path, 0);")
    assert not is_code("The gate opens at (about) nine.")
    assert not is_code("设置 client_id。")
    assert support("x = load(path, 1);", "Use x = load(path, 0); to read it.")[0] < 0.5
    assert 0.3 <= support("不可以。", "礼品卡不可兑换现金。")[0] < 0.5
    assert support("Me too!", "The band comes from a small town.")[0] < 0.3  # said of oneself


# ---------------------------------------------------------------- what is (not) there, everybody else, what comes first

THINGS = {
    "en": [("refunds", "refunded", "gift cards"), ("discounts", "discounted", "rail passes"), ("loans", "loaned", "old maps")],
    "zh": [("保修", "进水损坏"), ("套餐", "机场接送"), ("票价", "午餐")],
}


@pytest.mark.parametrize(("what", "done", "thing"), THINGS["en"])
@pytest.mark.parametrize("light", ["available", "offered", "possible", "provided"])
def test_what_is_not_available_cannot_be_had(what, done, thing, light):
    told = f"{what.capitalize()} are not {light} for {thing}."
    assert "negation" not in kinds(f"{thing.capitalize()} cannot be {done}.", told)
    assert "negation" in kinds(f"{what.capitalize()} are {light} for {thing}.", told)
    assert clashes(f"You can get {what} for {thing}.", told)


@pytest.mark.parametrize(("whole", "part"), THINGS["zh"])
def test_what_is_not_included_is_outside(whole, part):
    told = f"{whole}不包括{part}。"
    assert not clashes(f"{part}不在{whole}范围内。", told)
    assert clashes(f"{part}在{whole}范围内。", told)
    assert clashes(f"{whole}包括{part}。", told)
    excepted = relation(f"{whole}包括餐饮。", f"{whole}包括餐饮，不包括{part}。")
    assert excepted.clash is None


@pytest.mark.parametrize(
    ("told", "others", "everyone", "who"),
    [
        ("Only {who} can delete projects.", "Regular users cannot delete projects.", "Any user can delete projects.",
         ["administrators", "owners", "auditors"]),
        ("Only {who} may open the archive.", "Other people may not open the archive.", "Everyone may open the archive.",
         ["archivists", "curators", "trustees"]),
        ("只有{who}可以删除项目。", "普通用户不能删除项目。", "所有用户都可以删除项目。", ["管理员", "审计员", "负责人"]),
        ("仅{who}可以进入机房。", "其他人不能进入机房。", "任何人都可以进入机房。", ["值班人员", "工程师", "主管"]),
    ],
)  # fmt: skip
def test_what_only_some_may_is_told_of_the_others(told, others, everyone, who):
    for name in who:
        sentence = told.format(who=name)
        assert not clashes(others, sentence)
        assert support(others, sentence)[0] >= 0.5
        assert clashes(everyone, sentence)
        assert support(everyone, sentence)[0] < 0.5
        assert support(sentence.replace("Only ", "").replace("只有", "").replace("仅", ""), sentence)[0] >= 0.5


STEPS = {
    "en": (["clean the filter", "drain the tank", "close the valve", "log the reading", "check the seal"],
           ["{0} before you {1}.", "Before you {1}, {0}.", "After you {0}, {1}.", "{1} only after you {0}.",
            "First {0}, then {1}."]),
    "zh": (["清洗滤网", "排空水箱", "关闭阀门", "记录读数", "检查密封"],
           ["{1}之前请{0}。", "{0}之后再{1}。", "先{0}，再{1}。", "先{0}然后{1}。"]),
}  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_sequence_of_two_steps_is_read_in_whatever_words(seed, language):
    pick = random.Random(seed)
    steps, ways = STEPS[language]
    first, then = pick.sample(steps, 2)
    for said, told in itertools.product(ways, ways):
        same, turned = said.format(first, then), said.format(then, first)
        sentence = told.format(first, then)
        assert not sequence_reversed(same, sentence), (same, sentence)
        assert sequence_reversed(turned, sentence), (turned, sentence)


@pytest.mark.parametrize(
    ("left", "right", "told"),
    [
        ("Company A", "Company B", "{} acquired {} in 2019."),
        ("Plan A", "Plan B", "{} is cheaper and {} is faster."),
        ("甲公司", "乙公司", "{}于2019年收购了{}。"),
        ("北京分部", "上海分部", "{}每月向{}汇报。"),
    ],
)
def test_things_that_share_a_word_change_places(left, right, told):
    assert "exchange" in kinds(told.format(right, left), told.format(left, right))
    assert not kinds(told.format(left, right), told.format(left, right))


def test_items_of_a_list_may_stand_in_any_order():
    for items in itertools.permutations(["身份证", "购房合同", "首付款发票", "银行卡"], 3):
        assert not kinds(f"需要提供{'、'.join(items)}。", "申请须提供身份证、购房合同、首付款发票和银行卡。")


MIXED = "备份每天凌晨两点自动运行，保留三十天。"


@pytest.mark.parametrize("claim", ["设置 client_id。", "重启 nginx。", "Python 广泛用于数据科学。"])
def test_a_claim_of_both_scripts_is_compared_by_its_words(claim):
    assert support(claim, MIXED)[0] < 0.2
    assert support(claim, f"{MIXED}{claim}")[0] >= 0.5


def test_reading_any_text_raises_nothing():
    for text in ("", " ", "not", "不", "No.", "除", "except", "or", "than", "\ud800 not", "每", "？"):
        analysed = analyse(text)
        for sentence in range(len(analysed.bounds)):
            read(analysed, sentence)
            relate(claim_words(analysed, 0, len(text)), analysed, sentence)


def test_a_part_of_a_sentence_keeps_what_is_said_of_the_whole() -> None:
    whole = read(analyse("Was any other regular member ever admitted only by a vote or not, perhaps by the board?"), 0)
    part = _cut(whole, whole.first, whole.last - 2)
    assert (part.passive, part.asks) == (whole.passive, whole.asks) == (True, True) and whole.others
    for name in ("content", "only", "disjunctions", "others", "predicates"):
        assert getattr(part, name) == [at for at in getattr(whole, name) if at < part.last]


# ---------------------------------------------------------------- a bare yes or no


ASKED = [
    ("Can I reuse my last password?", "The last ten passwords cannot be reused.", -1),
    ("Are refunds available for gift cards?", "Refunds are not available for gift cards.", -1),
    ("Is breakfast included?", "Breakfast is included in the price.", 1),
    ("Do I need a visa?", "No visa is required for stays of up to 90 days.", -1),
    ("Is smoking allowed in the rooms?", "Smoking is prohibited in all rooms.", -1),
    ("May guests park in the yard?", "Guests may park in the yard.", 1),
    ("可以重复使用上一个密码吗？", "不得重复使用最近十个密码。", -1),
    ("含早餐吗？", "房价包含早餐。", 1),
    ("需要签证吗？", "停留不超过90天无需签证。", -1),
    ("房间内能吸烟吗？", "所有房间禁止吸烟。", -1),
    ("访客可以在院内停车吗？", "访客可以在院内停车。", 1),
    ("保修包括进水损坏吗？", "保修不包括进水损坏。", -1),
]
SAID = {
    False: [("Yes.", 1), ("Yes, you can.", 1), ("No.", -1), ("No, that is not so.", -1)],
    True: [("是的。", 1), ("可以。", 1), ("不可以。", -1), ("不。", -1)],
}


@pytest.mark.parametrize(("question", "evidence", "told"), ASKED)
def test_a_bare_yes_or_no_says_the_question(question, evidence, told):
    for answer, said in SAID[question.endswith("？")]:
        contexts = (Context(evidence), Context("The canteen opens at noon. 食堂中午开门。"))
        seen = Examination(Sample("", question, answer=answer, contexts=contexts), load_coefficients(None), {}, {})
        entail, contradict = seen.by_text
        assert (seen.answered, len(seen.claims)) == (said, 1)
        assert entail[0, 0] >= 0.5 if said == told else contradict[0, 0] >= 0.5


def test_a_bare_yes_says_nothing_where_no_yes_or_no_is_wanted_or_nothing_speaks_of_it():
    for question, answer, evidence in (
        ("When does it open?", "Yes.", "It opens at nine."),
        ("Can I pay by card?", "Yes.", "The garden is large."),
        ("可以刷卡吗？", "可以。", "花园很大。"),
    ):
        seen = Examination(Sample("", question, answer=answer, contexts=(Context(evidence),)), load_coefficients(None), {}, {})
        entail, contradict = seen.by_text
        assert not len(entail) or (entail[0, 0] < 0.5 and contradict[0, 0] < 0.5)


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The smooth membrane makes lipids.", "The smooth membrane lacks pores and makes lipids."),
        ("The batch number names the oven.", "The order number is not the same as the batch number, which names the oven."),
    ],
)
def test_a_negation_ends_before_what_is_joined_or_compared(claim, evidence):
    assert not kinds(claim, evidence)


@pytest.mark.parametrize("limit", [3, 9, 14])
def test_another_limit_is_another_limit_however_near(limit):
    told = f"Up to {limit} unused days may be carried over; 16 teams and 2,000 people did so."
    assert "number" in kinds(f"Up to {limit + 1} unused days may be carried over.", told)
    assert not kinds(f"At most {limit} unused days may be carried over.", told)
    told = f"最低配置为{limit}台服务器，每台16核，可支撑2000人。"
    assert support(f"最低需要{limit + 5}台服务器。", told)[0] < 0.5


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("Only workspace owners can force the write.", "Forcing the write is possible only for workspace owners."),
        ("Team leads approve the travel request.", "The travel request is a matter that team leads approve."),
        ("部门主管审批出差申请。", "出差申请由部门主管审批。"),
        ("标准版可以保留30天的历史版本。", "标准版的历史版本保留30天。"),
    ],
)
def test_the_same_told_the_other_way_round_is_no_exchange(claim, evidence):
    assert "exchange" not in kinds(claim, evidence)


@pytest.mark.parametrize("number", ["two", "three", "six"])
def test_the_unit_of_a_number_is_no_rival_of_another_unit(number):
    told = "Invoices are issued on the first of each month and are payable within 14 days."
    assert "kind" not in kinds(f"They must be paid within {number} weeks of issue.", told)
    assert "kind" in kinds("Invoices are issued each week.", told)


@pytest.mark.parametrize("year", [1998, 2012])
def test_since_is_the_opposite_of_until(year):
    assert kinds(f"Voss has led the institute since {year}.", f"Voss led the institute until {year}, when Berg took over.")
    assert not kinds(f"Voss has led the institute since {year}.", f"Since {year} the institute has been led by Voss.")


@pytest.mark.parametrize("thing", ["年假", "积分", "优惠券", "流量"])
@pytest.mark.parametrize("state", ["未休完", "未使用", "没有用完"])
def test_what_is_denied_of_a_thing_is_not_denied_by_the_predicate_after_it(thing, state):
    told = f"{state}的{thing}可结转至次年。"
    assert "negation" not in kinds(f"{thing}可以结转到次年。", told)
    assert "negation" in kinds(f"{thing}不可以结转到次年。", told)
    assert "negation" in kinds(f"{thing}可以结转到次年。", f"{state}的{thing}不可结转至次年。")
    assert "negation" in kinds(f"本店提供免费的{thing}。", f"本店不提供免费的{thing}。")
    assert not kinds(f"没有用完的{thing}可以结转到次年。", f"未用{thing}可结转至次年。")


@pytest.mark.parametrize(
    ("told", "now", "then"),
    [
        ("The {a} office moved from {b} to {c} in 2019.", "The {a} office is in {}.", "The {a} office was in {}."),
        ("The price of the {a} plan was raised from {b} to {c}.", "The price of the {a} plan is {}.",
         "The price of the {a} plan used to be {}."),
        ("The {a} team has switched from {b} to {c} for its mail.", "The {a} team switched to {} for its mail.",
         "The {a} team formerly used {} for its mail."),
        ("{a}的总部已从{b}迁至{c}。", "{a}的总部在{}。", "{a}的总部曾在{}。"),
        ("{a}的票价由{b}调整为{c}。", "{a}的票价是{}。", "{a}的票价原为{}。"),
    ],
)  # fmt: skip
def test_what_has_given_way_holds_no_longer(told, now, then):
    latin = [("Selm", "Halden", "Brook"), ("Orin", "Tavik", "Leeds")]
    for a, b, c in latin if "{a} " in told else [("奥林", "利兹", "约克"), ("布鲁克", "哈尔登", "塔维克")]:
        text = told.format(a=a, b=b, c=c)
        assert "change" in kinds(now.format(b, a=a), text)
        assert not kinds(now.format(c, a=a), text)
        assert "change" not in kinds(then.format(b, a=a), text)


@pytest.mark.parametrize(("here", "there"), [("lobby", "laboratory"), ("garden", "archive"), ("hall", "vault")])
def test_what_is_forbidden_in_one_place_is_allowed_in_another(here, there):
    told = f"Photography is prohibited in the {there}, but allowed in the {here}."
    assert not kinds(f"Photography is allowed in the {here}.", told)
    assert not kinds(f"Photography is prohibited in the {there}.", told)
    assert "negation" in kinds(f"Photography is allowed in the {there}.", told)


@pytest.mark.parametrize("thing", ["Loans", "Rooms", "Passes"])
def test_what_unless_excepts_is_the_other_way_round(thing):
    told = f"{thing} can be renewed twice unless another member has reserved the item."
    assert not kinds("Items reserved by another member cannot be renewed.", told)
    assert "negation" in kinds("Items reserved by another member can be renewed.", told)
    assert not kinds(f"{thing} can be renewed twice.", told)
    assert "negation" in kinds(f"{thing} cannot be renewed.", told)
