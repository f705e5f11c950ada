from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.data.text import normalise
from workbench.data.text import words as t
from workbench.data.text.markers import absolutes, hedges, negations
from workbench.data.text.points import Matcher, find_across
from workbench.data.text.quantities import entities, quantities
from workbench.data.text.refusals import claims, refusal
from workbench.data.text.sentences import clauses, sentences

ANY_TEXT = st.text(alphabet=st.one_of(st.characters(), st.sampled_from("的不没有15一百万。，.,:-()[] \n\ud800é́％Ａ")))
SPAN_MAKERS: list[Callable[[str], Any]] = [
    t.tokens, sentences, clauses, quantities, entities, hedges, absolutes, negations,
    lambda text: claims(text).spans, lambda text: refusal(text).spans, lambda text: refusal(text).residual,
    lambda text: list(Matcher(text).find_all("500 个")),
]  # fmt: skip


@given(ANY_TEXT)
@settings(max_examples=150, deadline=None)
def test_every_span_is_a_piece_of_the_original(text: str) -> None:
    for make in SPAN_MAKERS:
        for span in make(text):
            assert text[span.start : span.end] == span.text
            assert span.start < span.end


@given(ANY_TEXT)
@settings(max_examples=150, deadline=None)
def test_normalising_is_idempotent_and_its_map_stays_inside(text: str) -> None:
    folded, offsets = t.normalise_with_map(text)
    assert folded == t.normalise(text)
    assert t.normalise(folded) == folded
    places = [offsets.span(i, i + 1) for i in range(len(folded))]
    assert all(0 <= start < end <= len(text) for start, end in places)
    assert places == sorted(places)


@given(ANY_TEXT)
@settings(max_examples=100, deadline=None)
def test_sentences_hold_every_character_that_is_no_space(text: str) -> None:
    kept = "".join("".join(span.text.split()) for span in sentences(text))
    assert kept == "".join(text.split())


@pytest.mark.parametrize("piece", ["a", "，", "((", "a-", "1,", "一", "亿", '?"', "没有", "a..", " ",
"the documents do not "])
def test_a_long_monotonous_text_takes_linear_time(piece: str) -> None:
    text = piece * (40_000 // len(piece))
    t.language(text[:100])
    begin = time.process_time()
    for make in SPAN_MAKERS:
        make(text)
    find_across("500 个", text, text)
    assert time.process_time() - begin < 20  # a quadratic step takes minutes


@pytest.mark.parametrize("text", ["", " ", "\n\n", "😀👍🏽", "مرحبا بالعالم", "\x00\x07", "\ud800", "\u200b\ufeff"])
def test_odd_texts_raise_nothing(text: str) -> None:
    assert t.content_words(text) is not None
    assert isinstance(t.language(text), str)
    assert isinstance(normalise.scrub(text), str)


def test_full_width_traditional_case_dashes_and_spaces_fold() -> None:
    assert t.normalise("ＡＢＣ　１２３") == "abc 123"
    assert t.normalise("企業版支援無限用戶") == "企业版支援无限用户"
    assert t.normalise("  A\t\nb ") == "a b"
    assert t.normalise("3–5") == "3-5"
    assert t.normalise("it’s “so”") == "it's \"so\""
    assert t.normalise("㎏ ﬁne cafe\u0301") == "kg fine café"
    assert t.normalise("a\u200bb") == "ab"


def test_the_map_leads_back_through_characters_that_change_their_length() -> None:
    text = "  重 ㎏  x"
    folded, offsets = t.normalise_with_map(text)
    assert folded == "重 kg x"
    at = folded.index("kg")
    assert offsets.span(at, at + 2) == (4, 5)
    assert offsets.span(at, at + 1) == (4, 5)
    assert offsets.span(0, 1) == (2, 3)


def test_surrogates_are_replaced_and_reported() -> None:
    assert normalise.scrub("a\ud83d b") == "a\ufffd b"
    assert normalise.scrub("a中") == "a中"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("企业版支持多少用户？", "zh"), ("企業版", "zh"), ("これは本です", "ja"), ("カタカナ", "ja"),
        ("한국어 문장", "ko"),
        ("What is it", "en"), ("API", "en"), ("how many users does the plan support", "en"),
        ("如何使用 API key in python", "zh"), ("请执行 pip install workbench --upgrade", "zh"),
        ("Bonjour, comment allez-vous aujourd'hui mes amis", "fr"), ("123", "other"), ("", "other"), ("!?", "other"),
        ("The character 中 means middle in Chinese and Japanese", "en"), ("Привет как дела", "ru"),
    ],
)  # fmt: skip
def test_language(text: str, expected: str) -> None:
    assert t.language(text) == expected


def test_a_chinese_question_is_no_single_token() -> None:
    assert [token.text for token in t.tokens("企业版支持多少用户")] == ["企业", "版", "支持", "多少", "用户"]


def test_identifiers_stay_whole_and_mixed_text_is_parted() -> None:
    text = "调用 /api/v1 时 doc-a#1, foo_bar, v2.3.1 和 ERR-1042 返回500GB；see a@b.io or https://x.y/z?q=1."
    found = [token.text for token in t.tokens(text)]
    whole = ["/api/v1", "doc-a#1", "foo_bar", "v2.3.1", "ERR-1042", "a@b.io", "https://x.y/z?q=1"]
    assert [word for word in found if word in whole] == whole
    assert found[found.index("500") + 1] == "GB"


def test_plain_compounds_are_parted() -> None:
    assert [token.text for token in t.tokens("well-known and/or don't C++ 3-5")] == [
        "well", "known", "and", "or", "don't", "C++", "3", "5",
    ]  # fmt: skip


def test_words_are_normalised() -> None:
    assert t.words("1,500 個用戶 ＡＢＣ") == ["1500", "个", "用户", "abc"]


def test_traditional_text_gives_the_words_of_the_simplified() -> None:
    assert t.words("企業版支援無限用戶") == t.words("企业版支援无限用户")
    assert [token.text for token in t.tokens("無限用戶")] == ["無限", "用戶"]


def test_stop_words_go_and_negations_stay() -> None:
    assert t.content_words("What is the limit of the plan?") == ["limit", "plan"]
    assert "不" in t.content_words("这个功能不支持") or "不支" in "".join(t.content_words("这个功能不支持"))
    assert "not" in t.content_words("it is not free")


@pytest.mark.parametrize(
    "forms",
    [
        ("plan", "plans", "planned", "planning"), ("use", "used", "uses", "using"),
        ("supports", "supported", "support"),
        ("cancellation", "cancellations"), ("refund", "refunds", "refunded"), ("company", "companies"),
        ("limit", "limited"),
    ],
)  # fmt: skip
def test_stems_of_one_word_meet(forms: tuple[str, ...]) -> None:
    assert len({t.stem(form) for form in forms}) == 1


def test_stems_leave_short_and_foreign_words_alone() -> None:
    assert [t.stem(word) for word in ("is", "gas", "用户", "v2.3", "class")] == ["is", "gas", "用户", "v2.3", "class"]
    assert t.stem("university") != t.stem("universe")


def test_ngrams() -> None:
    assert t.char_ngrams("ABc", 2) == ["ab", "bc"]
    assert t.char_ngrams("用", 3) == ["用"]
    assert t.char_ngrams("", 3) == []


@pytest.mark.parametrize("forms", ["pay pays paid paying", "freeze freezing froze frozen", "child children", "keep kept"])
def test_irregular_forms_have_the_stem_of_the_plain_one(forms):
    assert len({t.stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("全职员工有25天年假", ["25", "天"]), ("25天年假", ["25", "天"]), ("3天气温下降", ["3", "天", "气温"]),
        ("5分钟内", ["5", "分钟"]), ("10人民币", ["10", "人民币"]), ("天年已尽", ["天年"]),
    ],
)  # fmt: skip
def test_a_measure_word_after_digits_is_a_word_of_its_own(text, found):
    assert "".join(t.words(text)) == text and all(word in t.words(text) for word in found)
    assert [token.text for token in t.tokens(text)] == t.words(text)
