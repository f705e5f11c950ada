"""Similarity of an answer and its reference, on one scale for every encoder and every judge.

Raw cosines mean nothing (e5's lie in 0.80–0.92), so the cosine is said as a percentile among those of unrelated texts.
"""

from __future__ import annotations

from functools import cached_property
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.evidence.support import load_coefficients, percentile

if TYPE_CHECKING:
    from workbench.data.schema import Sample
    from workbench.evidence.embed import Encoder
    from workbench.evidence.judge import SampleEvidence


class AnswerSimilarity:
    """Percentile in [0, 1] of a cosine among those of unrelated texts under one encoder.

    Parameters
    ----------
    encoder
        What the vectors come from; None: every cosine is its own percentile.
    known
        Evenly spaced quantiles of the cosines of random pairs of answer and reference; default those of the encoder's
        coefficients, else the cosines between the sentences of ``unrelated.txt``.
    """

    def __init__(self, encoder: Encoder | None, known: NDArray[Any] | None = None) -> None:
        self.encoder = encoder
        self._known = known

    def of(self, cosine: float) -> float:
        """The percentile of ``cosine``."""
        return float(percentile(np.array(cosine), self.background))

    def compare(self, evidence: SampleEvidence, sample: Sample) -> None:
        """Set the similarity of answer and reference in ``evidence``, when there are both."""
        if self.encoder is None or not sample.answer or not sample.reference or evidence.state != "ok":
            return
        answer, reference = self.encoder.encode([sample.answer, sample.reference], "passage")
        evidence.answer_similarity = self.of(float(answer @ reference))
        evidence.missing.pop("similarity", None)

    @cached_property
    def background(self) -> NDArray[Any]:
        """Evenly spaced quantiles of the cosines of unrelated texts."""
        known = self._known
        if known is None and self.encoder is not None:
            known = load_coefficients(self.encoder.name).random_pairs.get("answer_reference")
        if known is not None or self.encoder is None:
            return np.array([0.0, 1.0]) if known is None else known
        lines = resources.files(__package__).joinpath("unrelated.txt").read_text(encoding="utf-8").splitlines()[1:]
        rows, half = self.encoder.encode(lines, "passage"), len(lines) // 2
        pairs = [part @ part.T for part in (rows[:half], rows[half:])]
        cosines = np.concatenate([values[np.triu_indices(half, 1)] for values in pairs])
        return np.quantile(cosines.astype(np.float64), np.linspace(0.0, 1.0, 21))
