"""What an answer says: without reasoning, marks of citation, lists of sources, lead-ins and greetings."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.data.text.reasoning import parted
from workbench.data.text.refusals import claims

STATES = [
    ("Refunds go to the card.\n\nReferences:\n[1] policy.pdf, p. 12\n[2] faq.html", "Refunds go to the card."),
    ("The pump must be primed.\n\n**Sources**\n- manual_v7.pdf (pages 44-46)", "The pump must be primed."),
    ("退款原路返回。\n\n参考资料：\n1. 退款政策.pdf\n2. 客服手册第8章", "退款原路返回。"),
    ("水泵须先灌水。\n来源：水泵说明书.pdf，第44页", "水泵须先灌水。"),
    ("The deposit is refunded within 14 days [Source: terms.pdf, p. 3].", "The deposit is refunded within 14 days"),
    ("押金在14天内退还（来源：指南.pdf，第3页）。", "押金在14天内退还"),
    ("The limit is 500 users ##0$$.", "The limit is 500 users"),
    ("Great question. According to the handbook, interns receive 10 days of leave.", "interns receive 10 days of leave."),
    ("您好，感谢您的提问！根据提供的资料，热线24小时开通。希望以上信息对您有帮助。", "热线24小时开通。"),
]


@pytest.mark.parametrize(("text", "stated"), STATES)
def test_wrappings_state_nothing(text: str, stated: str) -> None:
    assert [claim.text for claim in claims(text).spans] == [stated]


@pytest.mark.parametrize(
    "text", ["It costs 5 USD (see page 3).", "Sources differ in this.\nSources: we use three of them. They are good."]
)
def test_a_sentence_about_sources_is_none(text: str) -> None:
    assert "".join(claim.text for claim in claims(text).spans).startswith(text[:10])


@pytest.mark.parametrize(
    ("answer", "said", "thought"),
    [
        ("<think>30? No, 18.</think>The fee is 18.", "The fee is 18.", "<think>30? No, 18.</think>"),
        ("Maybe 30. No.</think>\n\nThe fee is 18.", "The fee is 18.", "Maybe 30. No.</think>"),
        ("<think>it never ends", "", "<think>it never ends"),
        ("[THINK]30?[/THINK]费用是 18 元。", "费用是 18 元。", "[THINK]30?[/THINK]"),
        ("Write <think> before a thought.", "Write <think> before a thought.", ""),
    ],
)
def test_reasoning_is_told_from_what_is_said(answer: str, said: str, thought: str) -> None:
    assert parted(answer) == (said, thought)
    (row,) = wb.load_samples([{"question": "What is the fee?", "answer": answer}]).frame.to_dict("records")
    assert row["answer"] == (said or None)
    assert (row.get("metadata") or {}).get("reasoning", "") == thought
