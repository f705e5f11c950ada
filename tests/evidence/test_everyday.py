"""What everyday answers do that their texts do not do word for word: they reckon with rates and times, compare values, name
people; and what they get wrong when they do. Each kind drawn at random in both languages, once right and once not."""

from __future__ import annotations

import random

import pytest

from workbench.data.schema import Context, Sample
from workbench.data.text.quantities import quantities, relation
from workbench.data.text.refusals import claims
from workbench.data.text.sentences import sentences
from workbench.evidence.offline.comparisons import other_cause, out_of_order, sequence_reversed, turned_round
from workbench.evidence.offline.contradiction import altered_name
from workbench.evidence.offline.examination import Examination
from workbench.evidence.offline.measured import measured
from workbench.evidence.offline.models import load_coefficients
from workbench.evidence.offline.words import analyse

SEEDS = range(20)
LANGUAGES = pytest.mark.parametrize("language", ["en", "zh"])
DRAWN = pytest.mark.parametrize("seed", SEEDS)


def verdict(question: str, answer: str, *contexts: str) -> str:
    """``supported``, ``contradicted`` or ``unsure`` of the answer's claims together, as words alone see them."""
    sample = Sample("", question, answer=answer, contexts=tuple(map(Context, contexts)))
    entail, contradict = Examination(sample, load_coefficients(None), {}, {}).by_text
    n = len(contexts)
    if contradict[:, :n].max() >= 0.5:
        return "contradicted"
    return "supported" if entail[:, :n].max(axis=1).min() >= 0.5 else "unsure"


@LANGUAGES
@DRAWN
def test_so_much_a_day_for_so_many_days(seed, language):
    chance = random.Random(f"{seed} {language}")
    rate, days = chance.randint(3, 40), chance.randint(2, 9)
    question, context, said = {
        "en": (f"What do I pay for {days} days?", f"A locker can be rented by guests. It costs €{rate} a day.",
               f"You pay €{{}} in all, €{rate} for each of the {days} days."),
        "zh": (f"租{days}天要付多少钱？", f"客人可以租用储物柜。每天收费{rate}元。", f"每天{rate}元，{days}天共{{}}元。"),
    }[language]  # fmt: skip
    assert verdict(question, said.format(rate * days), context) == "supported"
    assert verdict(question, said.format(rate * days + 1), context) != "supported"


@LANGUAGES
@DRAWN
def test_a_time_so_long_after_another(seed, language):
    chance = random.Random(f"{seed} {language}")
    start, hours = chance.randint(6, 11), chance.randint(2, 6)
    question, context, said = {
        "en": ("When does the tour end?", f"The tour starts at {start}:30 and takes {hours} hours.",
               f"The tour ends at {{}}:30, {hours} hours after {start}:30."),
        "zh": ("活动几点结束？", f"活动{start}:30开始，时长{hours}小时。",
               f"活动{{}}:30结束，{start}:30开始，时长{hours}小时。"),
    }[language]  # fmt: skip
    assert verdict(question, said.format(start + hours), context) == "supported"
    assert verdict(question, said.format(start + hours + 1), context) != "supported"


@DRAWN
def test_two_texts_give_the_ends_of_a_change(seed):
    chance = random.Random(seed)
    old, more = chance.randint(5, 60), chance.randint(2, 9)
    texts = [f"Price sheet {year}. The standing charge is €{n} a month." for year, n in ((2023, old), (2024, old + more))]
    said = f"The standing charge went from €{old} to €{{}} a month."
    assert verdict("Has the standing charge gone up?", said.format(old + more), *texts) == "supported"
    assert verdict("Has the standing charge gone up?", said.format(old + more + 1), *texts) != "supported"


@LANGUAGES
@DRAWN
def test_the_values_of_two_things_tell_which_is_more(seed, language):
    chance = random.Random(f"{seed} {language}")
    low, high = sorted(chance.sample(range(10, 300), 2))
    kinds = {"en": ["small", "large", "old", "heavy"], "zh": ["小型犬", "大型犬", "老年犬", "幼犬"]}[language]
    one, two = chance.sample(kinds, 2)
    text, more, less = {
        "en": (f"A night costs £{low} for {one} dogs and £{high} for {two} ones.", "{} dogs cost more than {} ones.",
               "{} dogs are cheaper than {} ones."),
        "zh": (f"{one}每晚{low}元，{two}每晚{high}元。", "{}比{}贵。", "{}比{}便宜。"),
    }[language]  # fmt: skip
    context = analyse(text)
    for form, first, second in ((more, two, one), (less, one, two)):
        assert measured(form.format(first.capitalize(), second), context) is True
        assert measured(form.format(second.capitalize(), first), context) is False


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The museum is older than the library.", "The museum opened in 1904. The library has 20 rooms."),
        ("Gold is more expensive than Silver.", "Gold costs $5. Silver can be ordered in two sizes."),
        ("甲馆比乙馆大。", "甲馆每天9点开放，乙馆有20名员工。"),
    ],
)
def test_values_of_other_kinds_tell_nothing(claim, text):
    assert measured(claim, analyse(text)) is None


@LANGUAGES
@pytest.mark.parametrize(
    "names",
    [("boardroom", "meeting rooms", "董事会议室", "培训教室"), ("sauna", "bicycles", "桑拿房", "自行车"),
     ("attic", "garden sheds", "阁楼", "花园小屋")],
)  # fmt: skip
def test_what_is_said_of_one_thing_is_not_said_of_another(names, language):
    if language == "en":
        one, two = names[:2]
        context = f"All {two} can be booked by every member. The {one} can only be booked by the wardens. Keys: at the desk."
        question, said = f"Who can book the {one}?", "The {} can be booked by {}."
        assert verdict(question, said.format(one, "every member"), context) == "contradicted"
        assert verdict(question, said.format(one, "the wardens"), context) == "supported"
        assert verdict(f"Who can book {two}?", f"All {two} can be booked by every member.", context) == "supported"
    else:
        one, two = names[2:]
        context = f"{two}全体会员都可以预订。{one}只能由管理员预订。钥匙在前台。"
        assert verdict(f"{one}哪些人可以预订？", f"全体会员都可以预订{one}。", context) == "contradicted"
        assert verdict(f"{one}哪些人可以预订？", f"{one}只能由管理员预订。", context) == "supported"
        assert verdict(f"{two}哪些人可以预订？", f"{two}全体会员都可以预订。", context) == "supported"


def test_sentences_that_hang_together_are_not_set_against_each_other():
    depot = "At the Emden depot lorries are admitted from 06:30. Weighing costs EUR 15, and parking overnight EUR 38 a lorry."
    said = "At the Emden depot parking overnight costs EUR 38 for each lorry."
    assert verdict("What does parking cost at our newest depot?", said, depot) == "supported"
    context = "The X-ray room opens at nine. It can be used by all staff. The X-ray room is used for teaching."
    assert verdict("Who can use the X-ray room?", "The X-ray room can be used by all staff.", context) == "supported"


FIRST = {"en": ["Anna", "John", "Maria", "Peter"], "zh": ["张", "李", "王", "赵"]}
LAST = {"en": ["Miller", "Turner", "Baker"], "zh": ["伟明", "志强", "秀英"]}


@LANGUAGES
@DRAWN
def test_half_a_name_is_another_person(seed, language):
    chance = random.Random(f"{seed} {language}")
    one, two = chance.sample(FIRST[language], 2)
    last = chance.choice(LAST[language])
    join, context, said = {
        "en": (" ", "{} leads the audit team.", "{} leads the audit team."),
        "zh": ("", "{}负责审计小组。", "审计小组由{}负责。"),
    }[language]  # fmt: skip
    assert verdict("?", said.format(join.join((one, last))), context.format(join.join((one, last)))) == "supported"
    assert verdict("?", said.format(join.join((two, last))), context.format(join.join((one, last)))) != "supported"
    assert altered_name(join.join((one, last)), join.join((two, last)))


@pytest.mark.parametrize(
    ("one", "other"),
    [("President Lincoln", "Abraham Lincoln"), ("J Miller", "John Miller"), ("Tom Baker", "Thomas Henry Baker"),
     ("王经理", "王小明"), ("北京", "南京"), ("Colin Rand Kaepernick", "Colin Kaepernick")],
)  # fmt: skip
def test_names_that_may_be_the_same(one, other):
    assert not altered_name(one, other)


@pytest.mark.parametrize(
    ("claim", "text", "reversed_"),
    [
        ("A fall in pressure causes the leak.", "The leak causes a fall in pressure.", True),
        ("A fall in pressure is caused by the leak.", "The leak causes a fall in pressure.", False),
        ("The outage was due to a failed disk.", "A failed disk caused the outage.", False),
        ("The failed disk was due to the outage.", "A failed disk caused the outage.", True),
        ("因为设备停机，所以电压下降。", "电压下降会导致设备停机。", True),
        ("设备停机是因为电压下降。", "电压下降会导致设备停机。", False),
    ],
)
def test_cause_and_effect(claim, text, reversed_):
    assert sequence_reversed(claim, text) is reversed_


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A booking lapses if nobody comes within 15 minutes.", "Your booking will have lapsed after 15 minutes."),
        ("The alarm rings if no one presses the button within 10 seconds.", "The alarm will have rung after 10 seconds."),
    ],
)
def test_a_condition_denies_nothing_of_what_holds_under_it(text, said):
    assert verdict("?", said, text) != "contradicted"


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("Ann Lee ([lee]; born May 3, 1970) is a painter.", 1),
        ("配件（螺丝；垫圈）另购。", 1),
        ("Two ways: (a) wait; (b) pay.", 2),
        ("He (aged 5) ran; she (tall) sat.", 2),
    ],
)
def test_a_bracket_holds_a_sentence_together(text, n):
    assert len(sentences(text)) == n


@pytest.mark.parametrize("name", ["Noël", "Nóra", "Zoë", "Chloé"])
def test_accents_part_no_words(name):
    plain = name.translate(str.maketrans("ëóé", "eoe"))
    assert not analyse(f"A play by {name} Coward.").negations.any()
    assert verdict("?", f"The play is by {plain} Coward.", f"The play is by {name} Coward.") == "supported"


@pytest.mark.parametrize(
    ("text", "left"),
    [("It really is. The box is red.", 1), ("I believe it was. The box is red.", 1), ("That's right. The box is red.", 1),
     ("确实如此。周六开放。", 1), ("您说得对。周六开放。", 1), ("It really is red.", 1)],
)  # fmt: skip
def test_agreeing_states_nothing(text, left):
    assert len(claims(text).spans) == left


@LANGUAGES
@DRAWN
def test_what_is_out_of_date_bears_nothing_out_that_the_present_denies(seed, language):
    chance = random.Random(f"{seed} {language}")
    old, new = chance.sample(range(2, 30), 2)
    if language == "en":
        past = f"Travel policy, version of 2021 (superseded). Requests must be made {old} days ahead."
        now = f"Travel policy, valid from 2024; it replaces the 2021 version. Requests must be made {new} days ahead."
        question, said = "How far ahead must requests be made?", "Requests must be made {} days ahead."
    else:
        past = f"（已废止）出差申请须提前{old}天提交。"
        now = f"本制度自2024年起施行，2021版同时废止。出差申请须提前{new}天提交。"
        question, said = "出差申请须提前几天提交？", "出差申请须提前{}天提交。"
    for texts in ((past, now), (now, past)):
        assert verdict(question, said.format(new), *texts) == "supported"
        assert verdict(question, said.format(old), *texts) == "contradicted"
    earlier = {"en": "How far ahead did requests have to be made in 2021?", "zh": "以前出差申请须提前几天提交？"}[language]
    assert verdict(earlier, said.format(old), past, "") != "contradicted"


STEPS = {
    "en": ["unplug the machine", "empty the water tank", "clean the filter"],
    "zh": ["拔下电源插头", "倒空清水箱", "清洗过滤网"],
}


@LANGUAGES
@DRAWN
def test_steps_keep_their_order(seed, language):
    one, two, three = random.Random(f"{seed} {language}").sample(STEPS[language], 3)
    form = {"en": "First {}, then {}, and finally {}.", "zh": "先{}，再{}，最后{}。"}[language]
    apart = {"en": f"First {one}. Then {two}, and finally {three}.", "zh": f"先{one}。再{two}，最后{three}。"}[language]
    assert not out_of_order(form.format(one, two, three), apart)
    for wrong in ((two, one, three), (one, three, two)):
        assert out_of_order(form.format(*wrong), apart)


@pytest.mark.parametrize(
    ("said", "text", "turned"),
    [
        ("Files are moved from the archive to the drive.", "Old files on the drive are moved to the archive.", True),
        ("Files are moved from the drive to the archive.", "Old files on the drive are moved to the archive.", False),
        ("The shop is open from Monday to Friday.", "The shop moved to a new house. It is open from Monday to Friday.", False),
        ("数据从测试环境同步到生产环境。", "数据从生产环境同步到测试环境。", True),
        ("数据从生产环境同步到测试环境。", "数据从生产环境同步到测试环境。", False),
    ],
)
def test_a_way_leads_where_it_leads(said, text, turned):
    assert turned_round(said, text) is turned


@pytest.mark.parametrize(
    ("question", "said", "text"),
    [
        ("Must I hand in my bag?", "You may leave large bags in the cloakroom if you wish.",
         "Large bags must be left in the cloakroom."),
        ("Is the course compulsory?", "The safety course is optional.", "The safety course is mandatory for all staff."),
        ("When may I visit?", "Patients may be visited at any time.", "Patients may be visited between 14:00 and 18:00."),
        ("大件行李要寄存吗？", "大件行李可以自己决定是否寄存。", "大件行李必须寄存。"),
        ("什么时候可以探视？", "病人随时可以探视。", "病人探视时间为14:00至18:00，其他时间内不得探视。"),
    ],
)
def test_what_is_laid_down_is_not_left_open(question, said, text):
    assert verdict(question, said, text) == "contradicted"
    assert verdict(question, text.split(".")[0], text) == "supported"


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("The fee includes the textbook, the learning app and trips.",
         "The fee includes the textbook, the learning app and a test. It does not include trips or the exam."),
        ("An API key can be deleted by administrators and by developers.",
         "API keys are created by developers. Only administrators can delete a key."),
    ],
)  # fmt: skip
def test_each_thing_of_a_list_is_stated_by_itself(said, text):
    assert verdict("?", said, text) == "contradicted"


@LANGUAGES
@DRAWN
def test_the_tier_that_holds_for_who_asks(seed, language):
    chance = random.Random(f"{seed} {language}")
    limit, young, old = chance.randint(20, 30), *chance.sample(range(4, 20), 2)
    age = limit - chance.randint(1, 4)
    if language == "en":
        text = (f"For applicants aged {limit} and over a passport is valid for {old} years. "
                f"For applicants under {limit} it is valid for {young} years.")
        question, said = f"How long is a passport valid for a {age}-year-old?", "A passport is valid for {} years."
    else:
        text = f"{limit}岁以上的申请人，护照有效期为{old}年。{limit}岁以下的申请人，护照有效期为{young}年。"
        question, said = f"我{age - 1}岁，护照有效期是多久？", "护照有效期为{}年。"
    assert verdict(question, said.format(young), text) != "contradicted"
    assert verdict(question, said.format(old), text) == "contradicted"


def test_what_is_denied_to_who_asks():
    text = "For pain you may take ibuprofen. Patients who take blood thinners must not use ibuprofen."
    said = "For pain you may take ibuprofen."
    assert verdict("I take blood thinners. What may I take for pain?", said, text) == "contradicted"
    assert verdict("What may I take for pain?", said, text) == "supported"


def test_an_exception_that_the_question_speaks_of_holds():
    text = "A loan can be renewed twice, unless another reader has reserved the book."
    said = "You can renew the loan twice."
    assert verdict("Another reader has reserved my book. Can I renew the loan?", said, text) == "contradicted"
    assert verdict("How often can I renew the loan?", said, text) != "contradicted"


@pytest.mark.parametrize(
    ("text", "left"),
    [("A course costs €460. We would be delighted to welcome you.", 1), ("We'd be glad to offer you a room for €25.", 1),
     ("您可以延迟退房，祝您入住愉快！", 1), ("请提前告知老师，谢谢您的配合！", 1),
     ("You are over 21, so you meet both requirements.", 1), ("No, he can't, because the sauna is for adults only.", 1)],
)  # fmt: skip
def test_wishes_and_conclusions_state_nothing(text, left):
    found = [claim.text for claim in claims(text).spans]
    assert len(found) == left and not any(word in found[0] for word in ("delighted", "祝您", "谢谢", "requirements", "can't"))


@DRAWN
def test_half_a_kilogram(seed):
    n = random.Random(seed).randint(2, 90)
    assert relation(quantities(f"{2 * n}斤")[0], quantities(f"{n}公斤")[0]) == "same"
    assert relation(quantities(f"{n}斤")[0], quantities(f"{n}公斤")[0]) == "different"


@LANGUAGES
@DRAWN
def test_what_one_document_says_of_its_thing_is_not_said_of_another(seed, language):
    chance = random.Random(f"{seed} {language}")
    one, two = chance.sample(["LX-200", "LX-400", "MT-15", "QR-7"], 2)
    x, y = chance.sample(range(5, 40), 2)
    if language == "en":
        texts = [f"The {name} is a laptop. Its battery lasts {n} hours." for name, n in ((one, x), (two, y))]
        question, short = f"How long does the battery of the {two} last?", "{} hours."
        said = f"The battery of the {two} lasts {{}} hours."
    else:
        texts = [f"{name}是一款笔记本电脑。其电池续航为{n}小时。" for name, n in ((one, x), (two, y))]
        question, short, said = f"{two}的电池续航多久？", "{}小时。", f"{two}的电池续航为{{}}小时。"
    for ordered in (texts, texts[::-1]):
        assert verdict(question, said.format(y), *ordered) != "unsure"
        assert verdict(question, said.format(x), *ordered) == "contradicted"
        assert verdict(question, short.format(y), *ordered) == "supported"
        assert verdict(question, short.format(x), *ordered) != "supported"


@DRAWN
def test_a_heading_says_of_what_the_lines_below_it_are(seed):
    chance = random.Random(seed)
    x, y = chance.sample(range(5, 90), 2)
    texts = [f"{name} plan. Costs: ${n} a month. Storage: 5 GB." for name, n in (("Basic", x), ("Campus", y))]
    assert verdict("What does the Campus plan cost?", f"The Campus plan costs ${x} a month.", *texts) == "contradicted"


@pytest.mark.parametrize(
    ("question", "said", "text", "against"),
    [
        ("Why was the ferry suspended?", "It was suspended because the crew was on strike.",
         "The ferry was suspended because the harbour was frozen.", True),
        ("Why was the ferry suspended?", "It was suspended because the harbour was frozen.",
         "The ferry was suspended because the harbour was frozen.", False),
        ("列车为什么晚点？", "因为设备故障，所以晚点。", "列车晚点的原因是沿线遭遇暴雨。", True),
        ("列车为什么晚点？", "因为沿线遭遇暴雨，所以晚点。", "列车晚点的原因是沿线遭遇暴雨。", False),
    ],
)  # fmt: skip
def test_another_cause(question, said, text, against):
    assert (other_cause(said, question, text) is not None) is against


@LANGUAGES
@DRAWN
def test_the_other_side_of_a_limit(seed, language):
    chance = random.Random(f"{seed} {language}")
    limit = 100 * chance.randint(2, 90)
    text, said = {
        "en": (f"Requests up to {limit} euros are approved by the line manager. Requests above {limit} euros are approved by "
               "the finance director.", f"Requests above {limit} euros are approved by the {{}}."),
        "zh": (f"{limit}元以下的申请由部门主管批准。{limit}元以上的申请由财务总监批准。", f"{limit}元以上的申请由{{}}批准。"),
    }[language]  # fmt: skip
    low, high = {"en": ("line manager", "finance director"), "zh": ("部门主管", "财务总监")}[language]
    assert verdict("?", said.format(high), text) == "supported"
    assert verdict("?", said.format(low), text) == "contradicted"
