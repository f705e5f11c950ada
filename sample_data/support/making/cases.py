"""The plan: what is asked, what is right, and what was done to each recorded run."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from .files import Row


def read_plan(folder: Path) -> list[Row]:
    """All planned cases in the order of their ids."""
    tables = [tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("cases-*.toml"))]
    return sorted((case for table in tables for case in table["case"]), key=lambda case: case["id"])


def case_rows(plan: list[Row]) -> list[Row]:
    """The cases as an evaluation reads them, without anything on the runs."""
    return [case_row(case) for case in plan]


def case_row(case: Row) -> Row:
    """One case in the fields of the data contract."""
    row: dict[str, Any] = {
        "sample_id": case["id"],
        "question": case["question"],
        "reference": case["reference"],
        "expected_docs": case["docs"],
        "must_include": case.get("must", []),
        "must_not_include": case.get("must_not", []),
        "expect_refusal": case.get("refuse", False),
        "case_type": case["type"],
        "tags": tags(case),
        "tenant": case["tenant"],
    }
    if "forbid_docs" in case:
        row["must_not_retrieve"] = case["forbid_docs"]
    if "refusal_phrases" in case:
        row["refusal_phrases"] = case["refusal_phrases"]
    return row


def tags(case: Row) -> dict[str, str]:
    """Free slices: topic, language of the question, wording, and whether the answer is in the other language."""
    return {
        "topic": case["topic"],
        "language": language(case["question"], case["id"]),
        "wording": case.get("wording", "plain"),
        "cross_language": "yes" if case.get("cross") else "no",
    }


def language(text: str, case_id: str) -> str:
    """``zh`` where there is any Chinese character; a bare error code has the language of its asker (odd ids)."""
    if any("\u4e00" <= character <= "\u9fff" for character in text):
        return "zh"
    return "zh" if int(case_id.rsplit("-", 1)[1]) % 2 and " " not in text else "en"


def all_expected(case: Row) -> list[str]:
    """Every id among the expected documents, alternatives included."""
    return [doc for entry in case["docs"] for doc in ([entry] if isinstance(entry, str) else entry)]
