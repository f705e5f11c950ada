"""Which end of a metric is the bad one, and which samples lie beyond a cut. Plain functions over arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

#: Metrics offered first, in the order of preference.
FIRST = ("faithfulness", "answer_correctness", "recall", "end_to_end_correct", "key_point_coverage")


def higher_is_better(metric: str) -> bool | None:
    """The direction of ``metric``; None where neither is good in itself. An undeclared metric is better high."""
    from workbench.scoring.metrics import definitions

    depth = metric.partition("@")[2]
    found = definitions(int(depth) if depth.isdigit() else 1).get(metric)
    return True if found is None else found.higher_is_better


def low_is_bad(metric: str) -> bool:
    """Whether the samples below a cut are the ones to look at (else those above it)."""
    return higher_is_better(metric) is not False


def is_low(metric: str, value: float, cut: float) -> bool:
    """Whether one score lies on the bad side of ``cut``; never for a missing score or a metric without direction."""
    better = higher_is_better(metric)
    return better is not None and bool(value < cut if better else value > cut)


def beyond(values: ArrayLike, cut: float, *, low_is_bad: bool) -> NDArray[np.bool_]:
    """Which scores lie on the bad side of ``cut``, shape (n,); missing scores do not."""
    scores = np.asarray(values, dtype=float)
    return scores < cut if low_is_bad else scores > cut


def offered(scores: pd.DataFrame) -> list[str]:
    """Metrics that have at least one score, in the order of the frame."""
    return [str(name) for name in scores.columns[scores.notna().any()]]


def first_choice(metrics: list[str], has_low: Callable[[str], bool] = lambda _: True) -> str | None:
    """The metric to begin with: of those with anything on the bad side of their cut (``has_low``) the most telling;
    None when there is no metric."""
    for good_enough in (has_low, lambda _: True):
        for wanted in FIRST:
            for name in metrics:
                if name.partition("@")[0] == wanted and good_enough(name):
                    return name
    return metrics[0] if metrics else None
