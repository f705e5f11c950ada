"""Traps of Chinese and English text that no other test shows."""

from __future__ import annotations

import pytest

from tests.scoring.test_metrics import scored


def test_hedging_is_per_token_also_in_chinese() -> None:
    """``len(answer.split())`` is 1 for both answers, so that one hedge would be 100 per 100 tokens."""
    short, _ = scored({"answer": "可能是五个。"})
    long, _ = scored({"answer": "可能是五个。" + "企业版支持单点登录和审计日志。" * 10})
    assert 0 < long["hedging"] < short["hedging"] / 5 < 10


@pytest.mark.parametrize(
    ("answer", "metric"),
    [("这不可能发生。", "hedging"), ("It is impossible.", "hedging"), ("Mighty good.", "hedging"),
     ("在一定程度上可行。", "overconfidence"), ("这不一定可行。", "overconfidence"), ("他不肯定。", "overconfidence")],
)  # fmt: skip
def test_a_marker_inside_another_word_is_none(answer: str, metric: str) -> None:
    assert scored({"answer": answer})[0][metric] == 0


@pytest.mark.parametrize(
    ("answer", "forbidden", "hits"),
    [("并非无限。", "无限", 0), ("无限。", "无限", 1), ("Up to 5000 users.", "500", 0), ("Up to 1,500 users.", "500", 0),
     ("最多1.5千个。", "1500", 1), ("You are now here.", "nowhere", 0), ("支持 5\n00:30 开始", "500", 0)],
)  # fmt: skip
def test_forbidden_content_respects_boundaries_and_negation(answer: str, forbidden: str, hits: int) -> None:
    assert scored({"answer": answer, "must_not_include": [forbidden]})[0]["forbidden_hits"] == hits


def test_matching_folds_width_case_and_script_and_shows_the_text_as_it_was() -> None:
    from workbench.data.text.points import find_point

    span = find_point("api 用户", "支持ＡＰＩ 用戶登录")
    assert span is not None
    assert span.text == "ＡＰＩ 用戶"


def test_a_chunk_edge_is_joined_only_between_neighbours() -> None:
    def grounding(*positions: int, sources: tuple[str, str] = ("a", "a")) -> float:
        parts = [("最多支持5", positions[0]), ("00个用户", positions[1])]
        contexts = [{"doc_id": f"{s}{p}", "text": t, "position": p, "metadata": {"source": s}}
                    for (t, p), s in zip(parts, sources, strict=True)]  # fmt: skip
        row = {"contexts": contexts, "must_include": ["500个用户"], "answer": "支持500个用户。"}
        return scored(row)[0]["key_point_grounding"]

    assert grounding(1, 2) == 1
    assert grounding(1, 3) == 0, "not neighbours"
    assert grounding(2, 1) == 0, "the other way round in the document"
    assert grounding(1, 2, sources=("a", "b")) == 0, "two documents"
