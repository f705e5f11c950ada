from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.data.text.points import Matcher, find_across, find_point, stitch

FOUND = [
    ("1500", "1,500"), ("1,500", "1.5千"), ("一千五百", "共1500个"), ("500 个", "支持500個用户"),
    ("500个", "支持 500 个"),
    ("无限", "支持无限用户"), ("企業版", "企业版"), ("ＡＢＣ", "abc"), ("30 天", "三十天内"), ("5%", "百分之五"),
    ("May 1, 2024", "on 2024-05-01."), ("500 GB", "up to 500gb"), ("支持退款", "不仅支持退款"),
    ("500 users", "**500** users"),
    ("now here", "It is now  here."), ("unlimited", "Unlimited seats"), ("C++", "uses C++ code"),
    ("doc-12", "see doc-12."),
    ("v2.3.1", "version v2.3.1!"), ("不支持退款", "我们不支持退款"), ("not refundable", "It is not refundable."),
    ("无限", "并非无限。专业版无限"), ("30 days", "a 30-day window"), ("3 business days", "within 3 business days"),
    ("5.00", "costs 5.00 USD"), ("API 密钥", "使用API密钥"), ("企业版支持500个用户", "企业版支持五百个用户"),
]  # fmt: skip
ABSENT = [
    ("500", "5000"), ("500", "1500"), ("500", "5.00"), ("500", "1,500"), ("500", "2.500"), ("5", "5千"),
    ("500", "500万"),
    ("无限", "并非无限"), ("无限", "不是无限"), ("unlimited", "not unlimited"), ("unlimited", "It isn't unlimited"),
    ("unlimited", "never really unlimited"), ("now here", "nowhere"), ("nowhere", "now here"),
    ("500", "支持 5\n00:30"),
    ("3 个月", "九十天"), ("支持", "不支持"), ("cat", "category"), ("cat", "bobcat"), ("五百", "一千五百"),
    ("limit", "no limit"),
    ("2.3", "v2.3.1"), ("12", "doc-12"), ("", "text"), ("text", ""), ("500 GB", "500 MB"),
    ("支持退款", "尚未支持退款"),
    ("有限制", "没有限制"), ("12", "ERR-1204"), ("。", "好。"),
]  # fmt: skip


@pytest.mark.parametrize(("point", "text"), FOUND)
def test_point_stands_there(point: str, text: str) -> None:
    span = find_point(point, text)
    assert span is not None
    assert text[span.start : span.end] == span.text


@pytest.mark.parametrize(("point", "text"), ABSENT)
def test_point_does_not_stand_there(point: str, text: str) -> None:
    assert find_point(point, text) is None


def test_the_span_is_the_original_wording() -> None:
    span = find_point("1500 个", "  最多１,５００  個。")
    assert span is not None
    assert span.text == "１,５００  個"


def test_stitching() -> None:
    assert stitch("up to five", "users") == "up to five users"
    assert stitch("最多支持", "五百个") == "最多支持五百个"
    assert stitch("ends ", "here") == "ends here"
    assert stitch("", "x") == "x"


def test_only_matches_over_the_edge_count() -> None:
    assert find_across("two words", "of two", "words here") is not None
    assert find_across("five hundred", "up to five hun", "dred users") is not None
    assert find_across("支持500个", "最多支持5", "00个用户") is not None
    assert find_across("two words", "two words", "and more") is None
    assert find_across("两百元", "价格是两", "百元") is not None
    assert find_across("nowhere", "is now", "there") is None


@given(st.text(alphabet="ab 5。中不,.", max_size=12), st.text(alphabet="ab 5。中不,.", max_size=30))
@settings(max_examples=200, deadline=None)
def test_a_found_span_holds_the_point(point: str, text: str) -> None:
    span = Matcher(text).find(point)
    if span is not None:
        assert text[span.start : span.end] == span.text
        assert span.text
