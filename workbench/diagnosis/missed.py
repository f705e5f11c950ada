"""Missed documents (being built)."""

from __future__ import annotations

from typing import Any


def first_sub_causes(view: Any) -> dict[int, str]:
    """Sub-causes by sample code."""
    return {}


def autopsy_column(evidence: Any, corpus: Any, encoder: Any) -> list[str | None]:
    """Column."""
    return [None] * len(evidence)
