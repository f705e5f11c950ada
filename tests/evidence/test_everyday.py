"""What everyday answers do that their texts do not do word for word: they reckon with rates and times, compare values, name
people; and what they get wrong when they do. Each kind drawn at random in both languages, once right and once not."""

from __future__ import annotations

import random

import pytest

from workbench.data.schema import Context, Sample
from workbench.data.text.refusals import claims
from workbench.data.text.sentences import sentences
from workbench.evidence.offline.comparisons import sequence_reversed
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
