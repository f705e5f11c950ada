from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.data.text.markers import absolutes, hedges, negations
from workbench.data.text.refusals import refusal

LINES = (Path(__file__).parent / "refusals.jsonl").read_text(encoding="utf-8").splitlines()
ROWS = [json.loads(line) for line in LINES]


def texts(spans: object) -> list[str]:
    return [span.text for span in spans]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("这不可能发生", []), ("这可能发生", ["可能"]), ("很可能", ["很可能"]), ("不一定", ["不一定"]),
        ("不肯定", ["不肯定"]),
        ("在一定程度上可行", ["在一定程度上"]), ("尽可能快", []), ("It might be", ["might"]), ("on 1 May", []),
        ("Mighty good", []), ("maybe, perhaps", ["maybe", "perhaps"]), ("impossible", []), ("", []),
    ],
)  # fmt: skip
def test_hedges(text: str, expected: list[str]) -> None:
    assert texts(hedges(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("一定可以", ["一定"]), ("一定程度上", []), ("不一定", []), ("不肯定", []), ("肯定", ["肯定"]),
        ("并非所有", []),
        ("所有用户", ["所有"]), ("always", ["always"]), ("not always", []), ("only", ["only"]), ("not only", []),
        ("并非无限", []), ("无限", ["无限"]), ("100%", ["100%"]), ("平均", []), ("after all", []),
    ],
)  # fmt: skip
def test_absolutes(text: str, expected: list[str]) -> None:
    assert texts(absolutes(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("不支持", ["不支持"]), ("不仅支持", []), ("非常好", []), ("不断增长", []), ("没有限制", ["没有"]),
        ("并非如此", ["并非"]),
        ("is not free", ["not"]), ("isn’t free", ["isn’t"]), ("not only free", []), ("known", []), ("no doubt", []),
        ("无论如何", []), ("除非", []),
    ],
)  # fmt: skip
def test_negations(text: str, expected: list[str]) -> None:
    assert texts(negations(text)) == expected


def test_overlapping_markers_count_once() -> None:
    assert len(hedges("很可能可能")) == 2
    assert len(negations("不可能")) == 1


@pytest.mark.parametrize("split", ["tune", "held_out"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_refusals_are_told_from_answers(split: str, language: str) -> None:
    """``tune`` is a part of what the model was fitted on (the style "gathered"), ``held_out`` is not.

    No question stands beside these answers: "the system does not store card numbers" may be either.
    """
    rows = [row for row in ROWS if row["split"] == split and row["language"] == language]
    judged = [(refusal(row["text"]).probability >= 0.5, row["refusal"]) for row in rows]
    hits = sum(said and true for said, true in judged)
    assert hits / sum(said for said, _ in judged) >= 0.92
    assert hits / sum(true for _, true in judged) >= 0.95
    assert len(rows) >= 60


def test_refusing_and_then_answering_is_no_refusal() -> None:
    answer = refusal("没有相关信息，但是价格为300元。")
    assert texts(answer.spans) == ["没有相关信息"]
    assert "价格为300元" in answer.residual[0].text
    assert answer.probability < 0.5


def test_redirects_and_offers_are_no_residual_claim() -> None:
    for text in (
        "抱歉，知识库中没有找到相关信息。请联系客服。",
        "I could not find this. Please contact support. I can help you with something else.",
    ):
        answer = refusal(text)
        assert answer.residual == []
        assert answer.probability > 0.7


def test_wordings_of_the_case_itself() -> None:
    text = "小助手先下线啦"
    assert refusal(text).probability < 0.5
    assert refusal(text, ["先下线"]).probability > 0.5
    assert refusal(text, ["", " "]).probability < 0.5


def test_an_empty_answer_refuses_nothing() -> None:
    assert refusal("").spans == []
    assert refusal("").probability < 0.5


def test_a_remark_about_the_sources_is_no_residual_claim() -> None:
    text = "There is no information in the context about exams. The context mainly discusses jobs, and friends."
    assert refusal(text).residual == []
    assert refusal(text).probability > 0.5


def test_the_only_one_out_of_many_refuses_nothing() -> None:
    text = "It is revealed that Kepner is the only one out of the residents to have failed her exams."
    assert refusal(text).spans == []
