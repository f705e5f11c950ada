"""Reverse questions compared with the real one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.evidence.judge import SampleEvidence

if TYPE_CHECKING:
    from workbench.evidence.embed import Encoder


def compare_questions(evidence: SampleEvidence, question: str, encoder: Encoder) -> None:
    """Set the similarity of each reverse question: the cosine of the encoder's vectors, in [0, 1]; negative ones are 0.

    RAGAS (Es et al. 2023) averages these as answer relevancy; the mean is taken where scores are made.
    """
    if not evidence.questions:
        return
    vectors = encoder.encode([question, *(item.text for item in evidence.questions)], kind="query")
    for item, vector in zip(evidence.questions, vectors[1:], strict=True):
        item.similarity = float(min(1.0, max(0.0, vector @ vectors[0])))
