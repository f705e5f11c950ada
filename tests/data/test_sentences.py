from __future__ import annotations

import pytest

from workbench.data.text.refusals import claims
from workbench.data.text.sentences import MAX_CLAIMS, clauses, sentences


def texts(spans: object) -> list[str]:
    return [span.text for span in spans]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Smith paid $3.50. He left.", ["Dr. Smith paid $3.50.", "He left."]),
        ("He lives in the U.S. now. She left.", ["He lives in the U.S. now.", "She left."]),
        ("See e.g. this one. Next.", ["See e.g. this one.", "Next."]),
        ("Use v2.3.1. Then stop.", ["Use v2.3.1.", "Then stop."]),
        ("See https://a.b/c?x=1. Next.", ["See https://a.b/c?x=1.", "Next."]),
        ("See No. 5 there. Ok.", ["See No. 5 there.", "Ok."]),
        ("1. First thing\n2. Second thing", ["1. First thing", "2. Second thing"]),
        ("价格是3.5元。很便宜！真的吗？", ["价格是3.5元。", "很便宜！", "真的吗？"]),
        ("他说：“可以。”然后走了。", ["他说：“可以。”", "然后走了。"]),
        ("“真的吗？”他问。", ["“真的吗？”", "他问。"]),
        ("好……我知道了。", ["好……", "我知道了。"]),
        ("支持导出；不支持导入。", ["支持导出；", "不支持导入。"]),
        ("版本2.3.1支持。版本3不支持", ["版本2.3.1支持。", "版本3不支持"]),
        ("He said “Stop.” Then he left.", ["He said “Stop.”", "Then he left."]),
        ("He said (twice!) no. Ok.", ["He said (twice!) no.", "Ok."]),
        ("They hold vitamin A. They grow here. J. They wrote it.", ["They hold vitamin A.", "They grow here.", "J.",
                                                                   "They wrote it."]),
        ("Wrapped in the\nmiddle of it. Next.", ["Wrapped in the\nmiddle of it.", "Next."]),
        ("# Title\n- one\n- two", ["# Title", "- one", "- two"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |", "|---|---|", "| 1 | 2 |"]),
        ("It costs 5 USD [1]. It is [2].", ["It costs 5 USD [1].", "It is [2]."]),
        ("It costs 5.[1] It is small.[2]", ["It costs 5.[1]", "It is small.[2]"]),
        ("Wait... what happened? No!", ["Wait... what happened?", "No!"]),
        ("", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert texts(sentences(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The plan costs $5, and it includes 5 users", ["The plan costs $5", "it includes 5 users"]),
        ("It supports red, green and blue", ["It supports red, green and blue"]),
        ("标准版支持五个用户，而企业版支持无限用户", ["标准版支持五个用户", "而企业版支持无限用户"]),
        ("支持导出，并且可以定时", ["支持导出", "并且可以定时"]),
        ("因为是免费的，所以不收钱", ["因为是免费的，所以不收钱"]),
        ("法国位于西欧，它的首都是巴黎。", ["法国位于西欧", "它的首都是巴黎。"]),
        ("公司成立于1998年，总部位于柏林，员工有3000人。", ["公司成立于1998年", "总部位于柏林", "员工有3000人。"]),
        ("电梯最大载重为800公斤，电梯每年检查一次。", ["电梯最大载重为800公斤", "电梯每年检查一次。"]),
        ("如果超过三天，主管必须批准。", ["如果超过三天，主管必须批准。"]),
        ("员工离职后，账号须在24小时内停用。", ["员工离职后，账号须在24小时内停用。"]),
        ("东部地区，年降水量为500毫米。", ["东部地区，年降水量为500毫米。"]),
        ("长江全长6300公里，是中国最长的河流。", ["长江全长6300公里，是中国最长的河流。"]),
        ("A is one thing; B is another", ["A is one thing", "B is another"]),
    ],
)
def test_clauses(text: str, expected: list[str]) -> None:
    assert texts(clauses(text)) == expected


def test_claims_leave_out_what_states_nothing() -> None:
    text = (
        "您好！企业版支持 500 个用户[1]。\n1. 价格为300元【2】。\n希望对您有帮助。"
        "还有问题吗？如有其他问题，请随时联系我们。"
    )
    assert texts(claims(text).spans) == ["企业版支持 500 个用户", "价格为300元"]
    english = (
        "Sure! The plan has 5 seats [doc-a#1].\n## Details\n- It costs $9.\nLet me know if you need more. "
        "Is that ok? I could not find the refund policy. I hope this helps!"
    )
    assert texts(claims(english).spans) == ["The plan has 5 seats", "It costs $9."]


def test_claims_are_capped_and_say_so() -> None:
    many = claims("The plan has seats. " * (MAX_CLAIMS + 50))
    assert (len(many.spans), many.capped) == (MAX_CLAIMS, True)
    assert claims("The plan has seats.").capped is False


def test_bullets_and_numbers_are_no_part_of_a_claim() -> None:
    assert texts(claims("- 支持导出\n* 支持导入\n3) 支持同步\n① 支持备份").spans) == ["支持导出", "支持导入",
    "支持同步", "支持备份"]
    assert texts(claims("3.5 GB is the limit").spans) == ["3.5 GB is the limit"]


def test_raw_json_states_what_its_values_state():
    text = '{"answer": "报表最多关联 4 张表。Each has 60 fields.", "sources": ["report-zh#4"], "score": 0.9}'
    assert [claim.text for claim in claims(text).spans] == ["报表最多关联 4 张表。", "Each has 60 fields."]
    assert all(text[claim.start : claim.end] == claim.text for claim in claims(text).spans)


@pytest.mark.parametrize("yes", ["Sure", "Yes", "Of course"])
@pytest.mark.parametrize("source", ["according to the handbook", "based on the documents provided"])
def test_an_assent_before_the_source_is_no_part_of_a_claim(yes: str, source: str) -> None:
    assert texts(claims(f"{yes}, {source}, interns get 10 days.").spans) == ["interns get 10 days."]


@pytest.mark.parametrize("yes", ["好的", "是的", "可以"])
def test_an_assent_before_the_source_is_no_part_of_a_chinese_claim(yes: str) -> None:
    assert texts(claims(f"{yes}，根据手册内容，实习生享有10天假期。").spans) == ["实习生享有10天假期。"]


REMARKS = [
    "Yeah", "Well,", "Well ,", "Oh!", "Actually,", "yea and", "Haha,", "Hmm,", "Oh, wow!", "It does!", "Yes it does.",
    "It is.",
    "Exactly.",
]  # fmt: skip


@pytest.mark.parametrize("remark", REMARKS)
def test_interjections_and_short_answers_are_no_claims(remark: str) -> None:
    assert texts(claims(f"{remark} the tower is 300 m high.").spans) == ["the tower is 300 m high."]


@pytest.mark.parametrize("word", ["没错！", "嗯，", "其实，", "对！"])
def test_interjections_are_no_chinese_claims(word: str) -> None:
    assert texts(claims(f"{word}塔高 300 米。").spans) == ["塔高 300 米。"]


@pytest.mark.parametrize("text", [
    "Well water is tested yearly.", "OK buttons are green.", "Yes men are rare.", "No dogs are allowed.", "It is not.",
    "Correct answers are green.", "It was built in 1890.", "对方须在三天内答复。", "没错别字的稿件优先。",
])  # fmt: skip
def test_what_looks_like_an_interjection_is_kept(text: str) -> None:
    assert texts(claims(text).spans) == [text]


@pytest.mark.parametrize("opinion", ["It is important to note that", "But it's interesting that"])
def test_what_is_thought_of_a_statement_is_no_part_of_the_claim(opinion: str) -> None:
    assert texts(claims(f"{opinion} refunds take five days.").spans) == ["refunds take five days."]


@pytest.mark.parametrize("opinion", ["值得注意的是，", "需要说明的是", "有趣的是，"])
def test_what_is_thought_of_a_statement_is_no_part_of_a_chinese_claim(opinion: str) -> None:
    assert texts(claims(f"{opinion}退款需要五天。").spans) == ["退款需要五天。"]


def test_a_second_subordinate_clause_is_not_torn_from_what_governs_it() -> None:
    said = "The board said that the search was too narrow, and that the flag may change."
    assert texts(claims(said).spans) == [said]
