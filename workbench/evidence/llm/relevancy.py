"""Reverse questions compared with the real one."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.evidence.judge import SampleEvidence
from workbench.language import LANGUAGES

if TYPE_CHECKING:
    from workbench.evidence.embed import Encoder

#: Similarity of two wordings of one question.
SAME = 0.9


class QuestionComparer:
    """Similarity of questions in [0, 1], on one scale for every encoder.

    similarity = .9 · (cos − u) / (s − u), clipped to [0, 1]; ``cos`` is the cosine of the encoder's vectors, ``u`` its mean
    between unrelated questions and ``s`` its mean between two wordings of one question, both over the fixed questions
    of ``background.toml`` in the question's language. So unrelated questions have similarity near 0 and a question put in
    other words near .9, though raw cosines of unrelated questions lie near 0 for character n-grams and near .8 for e5.
    RAGAS (Es et al. 2023), whose measure this is, averages raw cosines.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self._scales: dict[str, tuple[float, float]] = {}

    def prepare(self) -> None:
        """Load the encoder and read its scales, so that nothing slow happens between two requests."""
        for language in LANGUAGES:
            self._scale(language)

    def compare(self, evidence: SampleEvidence, question: str) -> None:
        """Set the similarity of each reverse question of ``evidence`` to ``question``."""
        if not evidence.questions:
            return
        from workbench.data.text import language

        vectors = self.encoder.encode([question, *(item.text for item in evidence.questions)], kind="query")
        unrelated, same = self._scale("zh" if language(question) == "zh" else "en")
        for item, vector in zip(evidence.questions, vectors[1:], strict=True):
            scaled = SAME * (float(vector @ vectors[0]) - unrelated) / (same - unrelated)
            item.similarity = min(1.0, max(0.0, scaled))

    def _scale(self, language: str) -> tuple[float, float]:
        """``u`` and ``s``; they are kept apart by at least .01 for encoders that cannot tell questions apart."""
        if language not in self._scales:
            table = _background()
            vectors = self.encoder.encode(table["unrelated"][language], kind="query")
            others = ~np.eye(len(vectors), dtype=bool)
            unrelated = float((vectors @ vectors.T)[others].mean())
            left, right = (
                self.encoder.encode(list(side), kind="query") for side in zip(*table["same"][language], strict=True)
            )
            same = float(np.einsum("ij,ij->i", left, right).mean())
            self._scales[language] = (unrelated, max(same, unrelated + 0.01))
        return self._scales[language]


@cache
def _background() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("background.toml").read_text(encoding="utf-8"))
