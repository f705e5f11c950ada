"""A mean over many judged samples, corrected by the few that people judged as well: prediction-powered inference."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.diagnosis.statistics import Z
from workbench.errors import InputError


class Corrected(NamedTuple):
    """A mean with its 95 % interval; ``weight`` of the judge in [0, 1]: 0 uses people alone, 1 trusts it as it is.

    ``n`` labelled and ``n_other`` judged only. NaN with fewer than two labels.
    """

    mean: float
    low: float
    high: float
    weight: float
    n: int
    n_other: int


def judge_corrected_mean(
    human: ArrayLike, judged: ArrayLike, others: ArrayLike, *, tuned: bool = True, low: float = 0.0, high: float = 1.0
) -> Corrected:
    """The mean that people would have given to all samples, from the judge on all and people on some.

    θ = λ · mean(others) + mean(human − λ · judged), with variance λ² var(others) / N + var(human − λ · judged) / n and
    a normal interval, cut off at the ends of the range. It holds when the labelled samples are a random part of all,
    however bad the judge is; a good judge makes it narrower than people alone.

    Parameters
    ----------
    human, judged
        (n,) what people said and what the judge said on the same samples; 0 and 1, or scores.
    others
        (N,) what the judge said on the samples without a label.
    tuned
        λ = cov(human, judged) / ((1 + n/N) var(judged)) within [0, 1] (PPI++); False is λ = 1, the first form.
    low, high
        The range of the values.

    Raises
    ------
    InputError
        When ``human`` and ``judged`` are not equally long, or anything is missing.

    Sources: Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, Science 382 (2023); Angelopoulos, Duchi and Zrnic, PPI++
    (2023).
    """
    y, f, rest = (np.asarray(values, dtype=float) for values in (human, judged, others))
    if len(y) != len(f) or not all(np.isfinite(values).all() for values in (y, f, rest)):
        raise InputError(f"judge_corrected_mean: {len(y)} human and {len(f)} judged values; give pairs without gaps")
    n, more = len(y), len(rest)
    if n < 2:
        return Corrected(math.nan, math.nan, math.nan, math.nan, n, more)
    weight = _weight(y, f, rest) if tuned else float(more > 0)
    mean = float((weight * rest.mean() if more else 0.0) + (y - weight * f).mean())
    variance = float((y - weight * f).var(ddof=1)) / n
    variance += weight**2 * float(rest.var(ddof=1)) / more if more > 1 else 0.0
    half = Z * math.sqrt(variance)
    at, start, end = (min(max(value, low), high) for value in (mean, mean - half, mean + half))
    return Corrected(at, start, end, weight, n, more)


def _weight(y: NDArray[np.float64], f: NDArray[np.float64], rest: NDArray[np.float64]) -> float:
    spread = float(np.concatenate([f, rest]).var(ddof=1))
    if not len(rest) or spread == 0:
        return 0.0
    together = float(((y - y.mean()) * (f - f.mean())).sum()) / (len(y) - 1)
    return min(max(together / ((1 + len(y) / len(rest)) * spread), 0.0), 1.0)
