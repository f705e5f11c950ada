"""Which part of a retrieval-augmented system each cause of failure belongs to."""

from __future__ import annotations

from collections.abc import Mapping

#: Layers in the order in which a question passes them.
LAYERS = ("access", "index", "retrieval", "generation", "service", "unknown")

#: Cause → layer; ``pass`` and ``not_checked`` have none.
LAYER_OF: Mapping[str, str] = {
    "permission_leak": "access",
    "no_answer": "service",
    "not_indexed": "index",
    "retrieval_miss": "retrieval",
    "split_evidence": "index",
    "missing_refusal": "generation",
    "wrong_refusal": "generation",
    "distracted": "generation",
    "contradiction": "generation",
    "hallucination": "generation",
    "omission": "generation",
    "faithful_but_wrong": "index",
    "off_topic": "generation",
    "bad_citation": "generation",
    "format": "service",
    "unexplained": "unknown",
}


def layer(cause: str) -> str:
    """The layer of a cause; empty for ``pass`` and ``not_checked``."""
    return LAYER_OF.get(cause, "")
