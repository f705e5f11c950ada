"""Reverse questions compared with the real one."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from workbench.evidence.judge import SampleEvidence

if TYPE_CHECKING:
    from workbench.evidence.embed import Encoder


class QuestionComparer:
    """Similarity of questions in [0, 1]: (cos − b) / (1 − b), negative values 0.

    ``cos`` is the cosine of the encoder's vectors and ``b`` its mean between unrelated questions of the same language
    (from ``background.toml``), so that unrelated questions have similarity near 0 whatever the encoder: raw cosines of
    unrelated texts lie near 0 for character n-grams and above .8 for e5. RAGAS (Es et al. 2023) averages the raw ones.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self._baselines: dict[str, float] = {}

    def compare(self, evidence: SampleEvidence, question: str) -> None:
        """Set the similarity of each reverse question of ``evidence`` to ``question``."""
        if not evidence.questions:
            return
        from workbench.data.text import language

        vectors = self.encoder.encode([question, *(item.text for item in evidence.questions)], kind="query")
        base = self._baseline("zh" if language(question) == "zh" else "en")
        for item, vector in zip(evidence.questions, vectors[1:], strict=True):
            cosine = float(vector @ vectors[0])
            item.similarity = min(1.0, max(0.0, (cosine - base) / (1 - base)))

    def _baseline(self, language: str) -> float:
        if language not in self._baselines:
            table = tomllib.loads(resources.files(__package__).joinpath("background.toml").read_text(encoding="utf-8"))
            vectors = self.encoder.encode(table[language], kind="query")
            others = ~np.eye(len(vectors), dtype=bool)
            self._baselines[language] = float(np.clip((vectors @ vectors.T)[others].mean(), 0.0, 0.99))
        return self._baselines[language]
