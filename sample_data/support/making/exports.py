"""The same cases in the layouts of other tools."""

from __future__ import annotations

from typing import Any

from .files import Row


def ragas_new(rows: list[Row]) -> list[Row]:
    """RAGAS with the field names of its newer versions; texts only, no ids."""
    names = ("user_input", "response", "retrieved_contexts", "reference")
    return [dict(zip(names, _four(row), strict=True)) for row in rows]


def ragas_old(rows: list[Row]) -> list[Row]:
    """RAGAS with the field names of its older versions; texts only, no ids."""
    names = ("question", "answer", "contexts", "ground_truth")
    return [dict(zip(names, _four(row), strict=True)) for row in rows]


def _four(row: Row) -> tuple[Any, ...]:
    return row["question"], row["answer"], [context["text"] for context in row["contexts"]], row["reference"]


def layered(cases: list[Row]) -> dict[str, list[Row]]:
    """The layered case format: one object with a list ``cases``, no reference answers."""
    return {"cases": [_layered_case(case) for case in cases]}


def _layered_case(case: Row) -> Row:
    return {
        "id": case["sample_id"], "type": case["case_type"], "question": case["question"],
        "expected_doc_ids": case["expected_docs"], "must_include": case["must_include"],
        "must_not_include": case["must_not_include"], "expect_refusal": case["expect_refusal"],
        "refusal_phrases": case.get("refusal_phrases", []), "tenant": case["tenant"],
    }  # fmt: skip
