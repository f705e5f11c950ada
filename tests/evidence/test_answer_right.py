"""Whether an answer makes the point of its reference: every kind, in both languages, and what must hold for any values."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from workbench.evidence.offline.answer_reading import read
from workbench.evidence.offline.answers import FEATURES, answer_right, cleaned, close_band

RIGHT = [
    # bare references and ordinary wording
    ("Who painted the ceiling of the chapel?", "It was painted by Rosa Bentley in 1921.", "Rosa Bentley"),
    ("礼拜堂的天花板是谁画的？", "天花板由画家林静山于1921年绘制。", "林静山"),
    ("What is the capital of Ardenia?", "Ardenia's capital is the port city of Velmar.", "Velmar"),
    ("阿登尼亚的首都是哪里？", "首都为港口城市维尔马。", "维尔马"),
    # names: initials, surname, squashed, accents
    ("Who wrote the report?", "T. K. Marlowe", "TK Marlowe"),
    ("Who wrote the report?", "The report was written by Thomas Marlowe.", "Thomas K. Marlowe"),
    ("Who founded the brewery?", "Okonedo founded it together with two friends.", "Beatrice Okonedo"),
    ("Who directed the film?", "The film was directed by Zoë Müllner.", "Zoe Mullner"),
    # numbers and dates by meaning
    ("How long is the guarantee?", "The guarantee runs for twenty-four months.", "24 months"),
    ("保修期多长？", "保修期为二十四个月。", "24个月"),
    ("When was the bridge opened?", "It opened to traffic on 3 May 1987.", "May 3, 1987"),
    ("大桥是什么时候通车的？", "1987年5月3日正式通车。", "1987-05-03"),
    ("In which year did the mill close?", "The mill closed on 12 June 1954.", "1954"),
    ("How heavy is the parcel?", "The parcel weighs 1,500 g.", "1.5 kg"),
    ("每次最多服用多少？", "每次最多服用0.5克。", "500毫克"),
    # lists
    ("Which colours is it sold in?", "You can buy it in:\n\n- green\n- silver\n- black", "black, green and silver"),
    ("有哪些颜色可选？", "可选颜色如下：\n- 绿色\n- 银色\n- 黑色", "黑色、绿色和银色"),
    # yes and no
    ("Are dogs allowed in the reading room?", "No, dogs may not enter the reading room.", "No"),
    ("Are dogs allowed in the reading room?", "Dogs are not allowed in the reading room.", "no"),
    ("Is the pool heated in winter?", "Yes, it is heated from November to March.", "Yes"),
    ("阅览室可以带狗进入吗？", "不可以，阅览室禁止携带宠物。", "不可以"),
    ("阅览室可以带狗进入吗？", "阅览室不允许带狗进入。", "不可以"),
    ("冬天泳池加热吗？", "是的，每年十一月到次年三月加热。", "是"),
    ("这种电池能充电吗？", "对，可以充电。", "能"),
    # nothing said about it
    ("What is the penalty for late return?", "The contract does not say anything about late return.", "not specified"),
    ("What is the penalty for late return?", "I could not find this in the documents.", "Not specified in the contract."),
    ("逾期归还的违约金是多少？", "合同中没有规定逾期归还的违约金。", "没有规定"),
    ("逾期归还的违约金是多少？", "抱歉，资料中未提及违约金。", "未说明"),
    # what the user did not see, or what is no part of the answer
    ("How many seats has the hall?", "<think>Perhaps 900? No, the plan says 450.</think>The hall has 450 seats.", "450"),
    ("大厅有多少个座位？", "<think>是900吗？</think>大厅共有450个座位[1]。", "450个"),
    ("How many seats has the hall?", "The hall has **450** seats [3].\n\nSources:\n[3] plan of 900 rooms", "450"),
    # both languages
    ("哪个配置项控制重试次数？", "重试次数由 `max_retry_count` 控制。", "max_retry_count"),
    ("在哪里打开双重验证？", "进入 Account → Safety 页面，打开 Two-step login 即可。", "Safety 页面的 Two-step login"),
    # long references through their points
    (
        "When must the form be handed in, and to whom?",
        "Hand the form to the registrar's office; the last day is 14 March. Late forms cost 20 euros.",
        "The form must be handed in by 14 March. It goes to the registrar's office.",
    ),
    ("表格什么时候交，交给谁？", "表格请在3月14日前交给学籍科，逾期须付20欧元。", "表格须在3月14日前提交。交给学籍科。"),
    # a premise that both deny
    ("为什么仙人掌能吸收电脑辐射？", "这种说法并不属实，仙人掌不会吸收辐射。", "没有证据表明仙人掌能够吸收电脑辐射。"),
]

WRONG = [
    ("Who painted the ceiling of the chapel?", "It was painted by Oskar Lindqvist in 1921.", "Rosa Bentley"),
    ("Who painted the ceiling of the chapel?", "It was painted by Rosa Hartmann.", "Rosa Bentley"),
    ("礼拜堂的天花板是谁画的？", "天花板由画家周文远绘制。", "林静山"),
    ("How long is the guarantee?", "The guarantee runs for 42 months.", "24 months"),
    ("How long is the guarantee?", "The guarantee runs for 24 days.", "24 months"),
    ("保修期多长？", "保修期为十四个月。", "24个月"),
    ("保修期多长？", "保修期为24天。", "24个月"),
    ("When was the bridge opened?", "It opened to traffic on 5 May 1987.", "May 3, 1987"),
    ("大桥是什么时候通车的？", "1978年5月3日通车。", "1987年5月3日"),
    ("Which colours is it sold in?", "It is sold in green.", "black, green and silver"),
    ("有哪些颜色可选？", "只有绿色。", "黑色、绿色和银色"),
    ("Are dogs allowed in the reading room?", "Yes, dogs may enter the reading room.", "No"),
    ("Are dogs allowed in the reading room?", "Dogs are allowed in the reading room.", "No"),
    ("阅览室可以带狗进入吗？", "可以，阅览室欢迎带狗进入。", "不可以"),
    ("阅览室可以带狗进入吗？", "不可以，禁止入内。", "可以"),
    ("冬天泳池加热吗？", "不，冬天不加热。", "是的"),
    ("What is the penalty for late return?", "The penalty is 50 euros a day.", "not specified"),
    ("逾期归还的违约金是多少？", "违约金为每天50元。", "没有规定"),
    ("How many seats has the hall?", "I'm sorry, I could not find the number of seats.", "450"),
    ("大厅有多少个座位？", "抱歉，资料里没有提到座位数量。", "450个"),
    ("Are dogs allowed in the reading room?", "I found no information about dogs.", "No, dogs are not allowed."),
    ("How many seats has the hall?", "<think>The plan says 450.</think>The hall has 900 seats.", "450"),
    ("哪个配置项控制重试次数？", "重试次数由 `min_retry_count` 控制。", "max_retry_count"),
    (
        "When must the form be handed in, and to whom?",
        "The form goes to the registrar's office.",
        "The form must be handed in by 14 March. It goes to the registrar's office.",
    ),
    ("表格什么时候交，交给谁？", "表格交给学籍科。", "表格须在3月14日前提交。交给学籍科。"),
    ("表格什么时候交，交给谁？", "表格须在3月24日前提交。交给学籍科。", "表格须在3月14日前提交。交给学籍科。"),
    ("为什么仙人掌能吸收电脑辐射？", "因为仙人掌的刺可以把辐射转化为热量。", "没有证据表明仙人掌能够吸收电脑辐射。"),
    ("How did sales change?", "Sales fell by 7%.", "Sales rose by 7%."),
    ("销售额有什么变化？", "销售额下降7%。", "销售额同比增长7%。"),
]


@pytest.mark.parametrize(("question", "answer", "reference"), RIGHT)
def test_right(question: str, answer: str, reference: str) -> None:
    found = answer_right(question, answer, reference)
    assert found.probability >= 0.5, (found.reason, {k: v for k, v in found.features.items() if v})


@pytest.mark.parametrize(("question", "answer", "reference"), WRONG)
def test_wrong(question: str, answer: str, reference: str) -> None:
    found = answer_right(question, answer, reference)
    assert found.probability < 0.5, (found.reason, {k: v for k, v in found.features.items() if v})


def test_one_alternative_is_enough_and_is_named() -> None:
    found = answer_right("Who sang it?", "The song was sung by Ada Brook.", ["", "Carl Dane", "Ada Brook", "A. Brook"])
    assert found.probability > 0.5
    assert found.alternative in (2, 3)


def test_without_reference_or_answer() -> None:
    assert answer_right("Who?", "Ada", []).reason == "no reference"
    assert answer_right("Who?", "Ada", [" "]).alternative == -1
    for answer in ("", None, "<think>It is Ada", "…"):
        assert answer_right("Who?", answer, "Ada").reason == "no answer"


@pytest.mark.parametrize(
    ("question", "answer", "reference", "reason"),
    [
        ("Are dogs allowed inside?", "Yes, dogs are allowed inside.", "No", "other polarity"),
        ("How many?", "I'm sorry, the documents do not say how many.", "450", "declines"),
        ("How many seats has it?", "It has 900 seats.", "450 seats", "other number"),
        ("逾期金是多少？", "没有规定逾期金。", "没有规定", "declines alike"),
    ],
)
def test_the_reason_says_what_decided(question: str, answer: str, reference: str, reason: str) -> None:
    assert answer_right(question, answer, reference).reason == reason


def test_what_the_reader_sees() -> None:
    assert cleaned("reasons</think>It is 5 [1][2].") == "It is 5 ."
    assert cleaned("<think>never closed 7") == ""
    assert cleaned("答案是5【1†来源】。\n\n参考资料：\n[1] 手册") == "答案是5。"
    assert cleaned("**5** days, see [the page](http://x.y)") == "5 days, see the page"


def test_close_calls_lie_around_one_half() -> None:
    low, high = close_band()
    assert 0 < low < 0.5 < high < 1


# ---------------------------------------------------------------- what must hold for any values

NAMES = ["Ada Brook", "Carl Dane", "Petra Lindholm", "Yusuf Okafor", "Minh Tran", "Ines Duarte", "Olaf Svensson"]
CHINESE_NAMES = ["林静山", "周文远", "赵明月", "孙长河", "欧阳秋", "郑小白"]
UNITS = ["days", "months", "km", "kg", "litres", "people"]
CHINESE_UNITS = ["天", "个月", "公里", "公斤", "升", "人"]
ASK = {"en": "What is given in the record about lot {n}?", "zh": "记录中关于第{n}批的内容是什么？"}
SAY = {
    "en": ["{a}", "It is {a}.", "According to the record, it is {a}.", "The record gives {a} for this lot."],
    "zh": ["{a}", "是{a}。", "根据记录，是{a}。", "记录显示，该批为{a}。"],
}

texts = st.text(max_size=60)
languages = st.sampled_from(["en", "zh"])
calm = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def values(draw: st.DrawFn) -> tuple[str, str, str]:
    """A language and two different values of one type."""
    language = draw(languages)
    kind = draw(st.sampled_from(["name", "number", "date"]))
    if kind == "name":
        names = st.sampled_from(NAMES if language == "en" else CHINESE_NAMES)
        one, two = draw(st.lists(names, min_size=2, max_size=2, unique=True))
    elif kind == "number":
        a, b = draw(st.lists(st.integers(21, 9999), min_size=2, max_size=2, unique=True))
        assume(abs(a - b) > 0.05 * a)  # not the one rounded to the other
        unit = draw(st.sampled_from(UNITS if language == "en" else CHINESE_UNITS))
        one, two = (f"{n} {unit}" if language == "en" else f"{n}{unit}" for n in (a, b))
    else:
        days = st.dates(min_value=date(1500, 1, 1), max_value=date(2100, 1, 1))
        a, b = draw(st.lists(days, min_size=2, max_size=2, unique=True))
        one, two = (f"{d:%B} {d.day}, {d.year}" if language == "en" else f"{d.year}年{d.month}月{d.day}日" for d in (a, b))
    return language, one, two


@calm
@given(texts, texts, st.lists(texts, max_size=4))
def test_any_texts_give_a_probability(question: str, answer: str, references: list[str]) -> None:
    found = answer_right(question, answer, references)
    assert 0 <= found.probability <= 1
    assert set(found.features) in (set(), set(FEATURES))


@calm
@given(texts, texts, st.lists(texts, min_size=1, max_size=4), texts)
def test_a_further_alternative_never_lowers(question: str, answer: str, references: list[str], more: str) -> None:
    fewer = answer_right(question, answer, references).probability
    assert answer_right(question, answer, [*references, more]).probability >= fewer


@calm
@given(values(), st.permutations(range(3)), st.integers(2, 90))
def test_the_order_of_alternatives_does_not_matter(value: tuple[str, str, str], order: list[int], n: int) -> None:
    language, one, two = value
    question = ASK[language].format(n=n)
    references = [one, two, "42 x"]
    found = answer_right(question, one, references)
    moved = answer_right(question, one, [references[i] for i in order])
    assert moved.probability == found.probability
    assert order[moved.alternative] == found.alternative


@calm
@given(values(), st.integers(2, 20), st.data())
def test_a_value_passes_and_another_of_its_type_fails(value: tuple[str, str, str], n: int, data: st.DataObject) -> None:
    language, one, two = value
    question = ASK[language].format(n=n)
    said = data.draw(st.sampled_from(SAY[language]))
    assert answer_right(question, said.format(a=one), [one]).probability >= 0.5
    assert answer_right(question, said.format(a=two), [one]).probability < 0.5


WRAPPED = {
    "en": [
        "Happy to help! {a} Let me know if you have any other questions!",
        "{a} [1]",
        "<think>Let me see.</think>{a}",
        "{a}\n\nSources:\n[1] record.pdf",
        "**{a}**",
    ],
    "zh": [
        "您好，感谢您的提问！{a}希望对您有帮助！",
        "{a}[1]",
        "<think>先看看。</think>{a}",
        "{a}\n\n参考资料：\n[1] 记录.pdf",
        "**{a}**",
    ],
}


@calm
@given(values(), st.integers(2, 20), st.data())
def test_courtesy_and_marks_keep_the_verdict(value: tuple[str, str, str], n: int, data: st.DataObject) -> None:
    language, one, two = value
    question = ASK[language].format(n=n)
    wrapped = data.draw(st.sampled_from(WRAPPED[language]))
    said = data.draw(st.sampled_from(SAY[language][1:]))
    for answer in (one, two):
        plain = answer_right(question, said.format(a=answer), [one]).probability >= 0.5
        assert (answer_right(question, wrapped.format(a=said.format(a=answer)), [one]).probability >= 0.5) == plain


@calm
@given(languages, st.booleans(), st.booleans(), st.sampled_from(["gate", "lift", "path", "desk"]))
def test_yes_and_no(language: str, truth: bool, claimed: bool, thing: str) -> None:
    if language == "en":
        question = f"Is the {thing} open to visitors?"
        yes, no = f"The {thing} is open to visitors.", f"The {thing} is not open to visitors."
        references, answers = ["No", "Yes"], [[f"No, {no}", no, "No."], [f"Yes, {yes}", yes, "Yes."]]
    else:
        thing = {"gate": "大门", "lift": "电梯", "path": "小路", "desk": "服务台"}[thing]
        question = f"{thing}对游客开放吗？"
        yes, no = f"{thing}对游客开放。", f"{thing}不对游客开放。"
        references, answers = ["不", "是的"], [[f"不，{no}", no, "不是。"], [f"是的，{yes}", yes, "是的。"]]
    for answer in answers[claimed]:
        assert (answer_right(question, answer, references[truth]).probability >= 0.5) == (truth == claimed), answer


@pytest.mark.parametrize(
    ("question", "spelled", "reference"),
    [
        ("年假有几天？", "年假为{}，需提前三天申请。", ("10 天", "十天", "九天")),
        ("保修期多久？", "保修期为{}，电池为六个月。", ("2 年", "两年", "三年")),
        ("会议几点开始？", "会议{}开始，持续2小时。", ("15:00", "下午3点", "下午4点")),
        ("How many days of leave are there?", "You get {} of leave; ask early.", ("10 days", "ten days", "nine days")),
        ("When does the meeting start?", "It starts at {} and lasts 2 hours.", ("15:00", "3 pm", "4 pm")),
    ],
)
def test_a_bare_quantity_is_right_however_it_is_written(question, spelled, reference):
    wanted, same, other = reference
    assert answer_right(question, spelled.format(same), wanted).probability > 0.9
    assert answer_right(question, spelled.format(other), wanted).probability < 0.5


@pytest.mark.parametrize(
    ("question", "both", "one", "reference"),
    [
        ("What ports must be open?", "Open ports 443 and 8443.", "Open port 443.", "443 and 8443"),
        ("需要开放哪些端口？", "开放 443 和 8443 端口。", "开放 443 端口。", "443 和 8443"),
        ("How is overtime paid?", "At 150% on weekdays and 200% on Sundays.", "At 150%.", "150% and 200%"),
    ],
)
def test_of_several_values_each_is_needed(question, both, one, reference):
    assert answer_right(question, both, reference).probability > 0.9
    assert answer_right(question, one, reference).probability < 0.5
    assert answer_right("How long?", "1 hour 30 minutes", "1 hour and 30 minutes").probability > 0.9


# ---------------------------------------------------------------- kinds of other wording, for any values

WORDS_EN = ["northern", "digital", "health", "travel", "finance", "regional", "legal", "supply", "quality", "research"]
KINDS_EN = ["office", "board", "institute", "council", "agency"]
FIRST_ZH, MIDDLE_ZH, LAST_ZH = ["世界", "国际", "东亚", "全球"], ["卫生", "贸易", "能源", "航运"], ["组织", "协会", "联盟"]
PEOPLE = ["Marta Holub", "Owen Prady", "Selma Quist", "Dario Venn", "Ingrid Falk"]
PEOPLE_ZH = ["林静山", "周文远", "赵明月", "孙长河"]
THINGS = {"en": ["canoe", "tent", "trailer", "bicycle"], "zh": ["帐篷", "皮艇", "拖车", "自行车"]}


few = settings(calm, max_examples=40)


def told(question: str, answer: str, reference: str) -> bool:
    return answer_right(question, answer, reference).probability >= 0.5


@few
@given(st.lists(st.sampled_from(WORDS_EN), min_size=2, max_size=3, unique=True), st.sampled_from(KINDS_EN), st.data())
def test_initials_stand_for_the_words_and_no_others(words: list[str], kind: str, data: st.DataObject) -> None:
    name = " ".join([*words, kind])
    initials = "".join(word[0] for word in name.split()).upper()
    other = data.draw(st.sampled_from([w for w in WORDS_EN if w[0] not in initials.lower()]))
    wrong = " ".join([other, *words[1:], kind])
    question = "Who must sign the form?"
    for written in (name, name.title()):
        assert told(question, f"The form must be signed by the {initials}.", f"the {written}")
        assert told(question, f"The {written} must sign it.", f"the {initials}")
        assert not told(question, f"The {wrong} must sign it.", f"the {initials}")
    assert not told(question, f"It is signed by the {wrong[0].upper()}{initials[1:]}.", f"the {name}")


@few
@given(st.sampled_from(FIRST_ZH), st.permutations(MIDDLE_ZH), st.sampled_from(LAST_ZH))
def test_the_short_form_of_a_chinese_name(first: str, middle: list[str], last: str) -> None:
    name, other = (f"{first}{word}{last}" for word in middle[:2])
    short, other_short = (f"{first[0]}{word[0]}{last}" for word in middle[:2])
    question = "该指南由谁发布？"
    assert told(question, f"该指南由{short}发布。", name)
    assert not told(question, f"该指南由{other_short}发布。", name)
    assert not told(question, f"该指南由{other}发布。", name)


@few
@given(languages, st.data())
def test_of_two_values_the_one_that_was_asked_counts(language: str, data: st.DataObject) -> None:
    one, two = data.draw(st.lists(st.sampled_from(THINGS[language]), min_size=2, max_size=2, unique=True))
    x, y = data.draw(st.lists(st.integers(21, 980), min_size=2, max_size=2, unique=True))
    if language == "en":
        question, unit = f"How much does it cost to rent a {one}?", "${}"
        answers = ["Renting a {0} costs {1} and a {2} costs {3}.", "A {2} costs {3} to rent; to rent a {0} costs {1}."]
    else:
        question, unit = f"租一个{one}要多少钱？", "{}元"
        answers = ["租{0}要{1}，租{2}要{3}。", "{2}的租金为{3}，{0}的租金为{1}。"]
    a, b = unit.format(x), unit.format(y)
    for answer in answers:
        assert told(question, answer.format(one, a, two, b), a), answer
        assert not told(question, answer.format(one, b, two, a), a), answer


@few
@given(st.data())
def test_titles_and_what_is_added_to_a_value_are_not_needed(data: st.DataObject) -> None:
    one, two = data.draw(st.lists(st.sampled_from(PEOPLE), min_size=2, max_size=2, unique=True))
    title = data.draw(st.sampled_from(["Dr.", "Professor", "Sir", "Mrs"]))
    year = data.draw(st.integers(1900, 2020))
    for reference in (f"{title} {one}", f"{one}, who in {year} became the first keeper of the northern lighthouse"):
        assert told("Who opened the hall?", f"The hall was opened by {one}.", reference)
        assert not told("Who opened the hall?", f"The hall was opened by {two}.", reference)
    one, two = data.draw(st.lists(st.sampled_from(PEOPLE_ZH), min_size=2, max_size=2, unique=True))
    for reference in (f"{one}博士", f"{one}，他于{year}年成为首任馆长"):
        assert told("大厅由谁揭幕？", f"大厅由{one}揭幕。", reference)
        assert not told("大厅由谁揭幕？", f"大厅由{two}揭幕。", reference)


@few
@given(languages, st.sampled_from(["costs", "sales", "visits"]), st.booleans())
def test_multiples_are_amounts_however_they_are_told(language: str, thing: str, grown: bool) -> None:
    if language == "en":
        question = f"How did {thing} change?"
        forms = [[f"The {thing} were halved."], [f"The {thing} doubled.", f"The {thing} are twice as high as before."]]
        references = ["They are half as high as before.", "They doubled."]
    else:
        thing = {"costs": "成本", "sales": "销售额", "visits": "访问量"}[thing]
        question = f"{thing}变化了多少？"
        forms = [[f"{thing}减少了一半。"], [f"{thing}变为原来的两倍。", f"{thing}翻了一番。"]]
        references = ["减半", "翻番"]
    for answer in forms[grown]:
        assert told(question, answer, references[grown]), answer
        assert not told(question, answer, references[not grown]), answer


@few
@given(st.sampled_from("ABCRTX"), st.integers(10, 980), st.integers(10, 980), languages)
def test_a_code_is_the_same_with_and_without_its_hyphen(letter: str, one: int, two: int, language: str) -> None:
    say = ("Which form is it?", "Fill in form {}.") if language == "en" else ("填哪张表？", "请填写{}。")
    assert told(say[0], say[1].format(f"{letter}{one}"), f"{letter}-{one}")
    assert told(say[0], say[1].format(f"{letter}-{one}"), f"{letter}{one}")
    if one != two:
        assert not told(say[0], say[1].format(f"{letter}{two}"), f"{letter}-{one}")


@few
@given(st.integers(2, 90), languages)
def test_at_most_is_not_at_least(n: int, language: str) -> None:
    question, most, least = (
        ("How many people may use it?", "at most {} people", "at least {} people")
        if language == "en"
        else ("可供几人使用？", "最多{}人", "至少{}人")
    )
    assert told(question, most.format(n), most.format(n))
    assert not told(question, least.format(n), most.format(n))
    assert not told(question, most.format(n), least.format(n))


@few
@given(st.data())
def test_of_two_names_both_are_needed(data: st.DataObject) -> None:
    for people, joined, question in ((PEOPLE, "{} and {}", "Who founded it?"), (PEOPLE_ZH, "{}和{}", "由谁创立？")):
        one, two, three = data.draw(st.lists(st.sampled_from(people), min_size=3, max_size=3, unique=True))
        reference = joined.format(one, two)
        assert told(question, joined.format(two, one), reference)
        assert not told(question, one, reference)
        assert not told(question, joined.format(one, three), reference)


@pytest.mark.parametrize(
    ("question", "right", "wrong", "reference"),
    [
        ("Can guests edit the list?", "They can read it but can't change anything.", "Yes, they may change it.", "No"),
        ("Can guests edit the list?", "They are unable to modify it.", "They can modify it.", "No, it is read-only."),
        ("访客可以编辑名单吗？", "他们只能查看，不能改动。", "可以，他们能改动。", "不可以"),
        ("合同结束后还要保密吗？", "合同终止后，仍要保密。", "合同终止后，不再需要保密。", "要"),
        ("Who keeps the minutes?", "Maria Olsen", "Mario Olsen", "Maria Olsen"),
        ("What side effect is common?", "Many patients feel sleepy.", "Many patients feel dizzy.", "drowsiness"),
        ("常见的副作用是什么？", "很多人会犯困。", "很多人会头晕。", "嗜睡"),
        ("灯是什么颜色？", "灯会变绿。", "灯会变红。", "绿色"),
        ("Do they need a permit?", "Yes, one from the office.", "Yes, no permit is needed.", "a permit from the office"),
    ],
)  # fmt: skip
def test_the_same_in_other_words(question: str, right: str, wrong: str, reference: str) -> None:
    assert told(question, right, reference)
    assert not told(question, wrong, reference)


@pytest.mark.parametrize(
    ("right", "wrong", "reference"),
    [
        ("Jim Harlow led it.", "Tim Harlow led it.", "James Harlow"),
        ("It was led by T. Harlow.", "It was led by J. Harlow.", "Thomas Harlow"),
        ("Thomas Harlow", "James Harlow", "T. K. Harlow"),
        ("General Harlow led it.", "Olaf Harlow led it.", "Thomas Harlow"),
        ("Ada and Carl Dane", "Carl Dane", "Ada & Carl Dane"),
        ("In the 1890s.", "In the 1900s.", "1890s"),
        ("In 1894.", "In 1904.", "the 1890s"),
        ("1934", "1943", "one thousand, nine hundred and thirty-four"),
        ("1982", "1928", "nineteen eighty-two"),
        ("Ardenia, Belmar and the United States", "Ardenia, Belmar and the United Kingdom", "Ardenia, Belmar, USA"),
    ],
)
def test_names_and_years_in_other_forms(right: str, wrong: str, reference: str) -> None:
    question = "Who or what was it?"
    assert told(question, right, reference)
    assert not told(question, wrong, reference)


@pytest.mark.parametrize("question", ["多少？", "几？", "How many?", "?"])
def test_a_question_without_words_of_its_own_tells_no_value_from_another(question: str) -> None:
    assert told(question, "3 天，另有 5 天。", "3 天")


SEVERAL = [
    ("When are invoices issued and when are they due?", "Issued on the first of each month, due within 14 days.",
     ["Invoices are issued on the first day of each month.", "Within 14 days."],
     ["They are issued on the first of the month and due within 14 days.",
      "Due within two weeks, issued on the first of each month."]),
    ("How many days do I get and how early must I ask for them?", "You get 25 days and must ask ten working days ahead.",
     ["You get 25 days."], ["25 days; ask ten working days before."]),
    ("Who leads the project and where is the office?", "Dana Wolff leads it; the office is in Graz.",
     ["Dana Wolff."], ["Dana Wolff, and the office is in Graz."]),
    ("账单什么时候开具，什么时候到期？", "每月1日开具，14天内付款。",
     ["账单每月1日开具。"], ["每月1日开具，14天内付清。", "账单在每月1日开具，付款期限为14天。"]),
    ("谁负责采购，预算是多少？", "采购由李娜负责，预算为五万元。", ["李娜负责采购。"], ["由李娜负责，预算5万元。"]),
]  # fmt: skip


@pytest.mark.parametrize(("question", "reference", "parts", "wholes"), SEVERAL)
def test_each_part_of_a_question_is_answered(question, reference, parts, wholes):
    assert all(answer_right(question, part, reference).probability < 0.5 for part in parts)
    assert all(answer_right(question, whole, reference).probability >= 0.5 for whole in wholes)


def test_what_a_reference_adds_to_the_one_thing_asked_is_not_needed():
    question = "When was the museum, which is in Graz, opened?"
    assert answer_right(question, "It opened in 1904.", "In 1904, by the mayor.").probability >= 0.5


NO_LIMIT = {"en": ["There is no limit on {}.", "{} are unlimited.", "There is no cap on {}."],
            "zh": ["{}没有限制。", "{}不限。", "{}无上限。"]}  # fmt: skip
LIMITED = {"en": ["{} are limited to {}.", "Yes, {} are capped at {}."], "zh": ["{}最多{}次。", "有限制，{}上限为{}。"]}
COUNTED = {"en": ["API calls", "uploads", "print jobs", "guest passes"], "zh": ["调用次数", "上传次数", "打印次数"]}


@few
@given(languages, st.integers(2, 900), st.data())
def test_no_limit_is_said_in_many_ways(language: str, n: int, data: st.DataObject) -> None:
    thing = data.draw(st.sampled_from(COUNTED[language]))
    question = (f"Is there a limit on {thing}?" if language == "en" else f"{thing}有限制吗？")
    reference, answer = (data.draw(st.sampled_from(NO_LIMIT[language])).format(thing) for _ in range(2))
    limited = data.draw(st.sampled_from(LIMITED[language])).format(thing, n)
    assert told(question, answer, reference)
    assert not told(question, limited, reference)


@few
@given(st.lists(st.sampled_from(["Rural", "Harbour", "Energy", "Medical", "Transport", "Housing"]), min_size=2, max_size=3,
                unique=True), st.sampled_from(["Agency", "Council"]), st.sampled_from("XYZW"))  # fmt: skip
def test_the_initials_of_a_name_inside_a_reference(words: list[str], kind: str, other: str) -> None:
    name = [*words, kind]
    initials = "".join(word[0] for word in name)
    reference = f"The {' '.join(name)} approved it."
    assert told("Which body approved the plan?", f"It was approved by the {initials}.", reference)
    assert not told("Which body approved the plan?", f"It was approved by the {initials[:-1]}{other}.", reference)


@few
@given(st.data())
def test_a_name_that_is_told_something_else_of_is_not_the_one_asked_for(data: st.DataObject) -> None:
    one, two = data.draw(st.lists(st.sampled_from(PEOPLE), min_size=2, max_size=2, unique=True))
    between = data.draw(st.sampled_from(["; ", ", and ", ", while "]))
    answer = "{} founded the bakery" + between + "{} joined as treasurer."
    for reference in (one, f"The bakery was founded by {one}."):
        assert told("Who founded the bakery?", answer.format(one, two), reference)
        assert not told("Who founded the bakery?", answer.format(two, one), reference)


@few
@given(st.sampled_from(PEOPLE), st.sampled_from(PEOPLE), st.integers(1700, 1990))
def test_what_is_added_to_the_name_of_one_thing_is_not_needed(one: str, other: str, year: int) -> None:
    reference = f"{one}, who in {year} became the first to cross it alone"
    question = "Which explorer is on the coin?"
    assert told(question, one, reference)
    assert one == other or not told(question, other, reference)


@pytest.mark.parametrize("word", ["paid", "insured", "locked", "visible", "complete", "connected", "refundable"])
def test_a_prefix_makes_the_opposite(word: str) -> None:
    for prefix in ("un", "in", "dis"):
        assert read(f"The parcel is {word}.").alike(prefix + word) is None
        assert read(f"The parcel is {prefix}{word}.").alike(word) is None


@few
@given(st.integers(1100, 1900), st.integers(5, 60), st.integers(0, 200))
def test_any_one_of_a_range_is_right_where_any_one_is_asked_for(first: int, length: int, off: int) -> None:
    last, year = first + length, first - 70 + off
    for question, answer in (
        ("Give a year in the reign of King Osric.", "King Osric reigned in {}."),
        ("说出任意一个奥斯里克在位的年份。", "{}年。"),
    ):
        assert told(question, answer.format(year), f"{first}-{last}") == (first <= year <= last)
    if year not in (first, last):
        assert not told("When did the reign of King Osric begin and end?", f"{year}-{last}", f"{first}-{last}")


@few
@given(st.lists(st.integers(1900, 1990), min_size=3, max_size=3, unique=True), st.integers(1991, 2020))
def test_numbers_that_are_all_told_are_told_together(years: list[int], other: int) -> None:
    one, two, three = sorted(years)
    answer = f"The horse won the race in {one}, {two} and {three}. In the year {other} it came second in the race."
    assert told("In which three years did the horse win the race?", answer, f"{one}, {two}, {three}")
    assert not told("In which three years did the horse win the race?", answer, f"{one}, {two}, {other + 1}")


@pytest.mark.parametrize(
    ("name", "damaged"), [("László Bíró", "Lszl Br"), ("Zoë Müllner", "Zo Mllner"), ("Götz Fährmann", "Gtz Fhrmann")]
)
def test_a_file_may_have_lost_the_letters_with_accents(name: str, damaged: str) -> None:
    assert told("Who invented the pen?", f"The pen was invented by {name}.", damaged)
    assert not told("Who invented the pen?", "The pen was invented by Márta Kövér.", damaged)


def test_brackets_part_a_name_from_what_stands_before() -> None:
    answer = "She was the director of the Port Security Service (KX4)."
    assert told("Which post did she hold?", answer, "Director of KX4")
    assert not told("Which post did she hold?", answer.replace("KX4", "KX5"), "Director of KX4")
