"""Whose doing was it? The change of the share of right answers, split between retriever and generator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from workbench.diagnosis.paired import exact_mean

if TYPE_CHECKING:
    import numpy as np


class Rates(NamedTuple):
    """One run: share of samples with all evidence in the contexts, and of right ones with and without it."""

    evidence: float
    with_evidence: float
    without: float


def split(comparison: Any) -> pd.DataFrame:
    """Shapley values of the two players over "evidence in the contexts" × "correct" (Shapley 1953).

    Share of right answers = P(evidence) · P(right | evidence) + P(no evidence) · P(right | no evidence). The retriever
    owns the first factor, the generator the two conditional rates; each gets its change averaged over both orders of
    replacing them. Descriptive: it adds up exactly, and it says nothing about a cause that moves both.

    Returns
    -------
    DataFrame, index ``part`` (retriever, generator, total); ``points, before, after, n``: change in points of the share
    (in [−1, 1]); the part's own rate in either run (the generator's: right answers where the evidence was there); the
    number of samples where all of it is known. Empty when there is none.
    """
    right, there = comparison.scored("end_to_end_correct"), comparison.scored("evidence_retrieved")
    known = right[0].ok & right[1].ok & there[0].ok & there[1].ok
    n = int(known.sum())
    if not n:
        return pd.DataFrame(columns=["points", "before", "after", "n"], index=pd.Index([], name="part"))
    first, second = (_rates(right[run].values[known], there[run].values[known]) for run in (0, 1))
    first, second = _filled(first, second), _filled(second, first)
    base, both = _share(first, first), _share(second, second)
    only_retriever, only_generator = _share(second, first), _share(first, second)
    retriever = ((only_retriever - base) + (both - only_generator)) / 2
    generator = ((only_generator - base) + (both - only_retriever)) / 2
    rows = {
        "retriever": (retriever, first.evidence, second.evidence, n),
        "generator": (generator, first.with_evidence, second.with_evidence, n),
        "total": (both - base, base, both, n),
    }
    columns = ["points", "before", "after", "n"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("part")


def _rates(right: np.ndarray, there: np.ndarray) -> Rates:
    return Rates(exact_mean(there), exact_mean(right[there == 1]), exact_mean(right[there == 0]))


def _filled(own: Rates, other: Rates) -> Rates:
    """A rate over no sample is taken from the other run, so that it takes no part in the change; 0 when both lack it."""
    return Rates(*(a if a == a else b if b == b else 0.0 for a, b in zip(own, other, strict=True)))


def _share(retriever: Rates, generator: Rates) -> float:
    evidence = retriever.evidence
    return evidence * generator.with_evidence + (1 - evidence) * generator.without
