"""Intervals and tests. Every rate and mean that is shown has one; none is computed for a constant."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Two-sided 95 %.
Z = 1.959963984540054
DRAWS = 2000
SEED = 20240501
#: Up to this many values the interval of a mean is BCa bootstrapped; above, the normal one is as good.
BOOTSTRAP_UP_TO = 5000


class Interval(NamedTuple):
    """A 95 % interval and how it was made; NaN where there is none."""

    low: float
    high: float
    method: str


NONE = Interval(math.nan, math.nan, "")


def wilson(successes: float, n: int) -> Interval:
    """Wilson's score interval of a rate (Wilson 1927); NaN for n = 0."""
    if n <= 0:
        return NONE
    rate, spread = successes / n, Z * Z / n
    centre = (rate + spread / 2) / (1 + spread)
    half = Z * math.sqrt(rate * (1 - rate) / n + spread / (4 * n)) / (1 + spread)
    low = 0.0 if successes <= 0 else max(0.0, centre - half)
    high = 1.0 if successes >= n else min(1.0, centre + half)
    return Interval(low, high, "Wilson")


def mean_interval(values: NDArray[np.float64], *, binary: bool = False) -> Interval:
    """The 95 % interval of a mean: Wilson for 0/1 values, BCa bootstrap up to 5,000 values, normal above.

    None (NaN) for fewer than two values or a constant.
    """
    values = np.asarray(values, dtype=float)
    if binary:
        return wilson(float(values.sum()), len(values))
    if len(values) < 2 or np.ptp(values) == 0:
        return NONE
    if len(values) > BOOTSTRAP_UP_TO:
        half = Z * float(values.std(ddof=1)) / math.sqrt(len(values))
        return Interval(float(values.mean()) - half, float(values.mean()) + half, "normal")
    return bca(values)


def bca(values: NDArray[np.float64]) -> Interval:
    """Bias-corrected and accelerated bootstrap interval of the mean (Efron 1987), 2,000 seeded draws.

    The acceleration of a mean has a closed form, and rows that are equal are drawn together (a multinomial over distinct
    values), so that a long column of few values costs no more than a short one.
    """
    from scipy.stats import norm

    draws = bootstrap_means(values)
    mean = float(values.mean())
    below = (np.sum(draws < mean) + 0.5 * np.sum(draws == mean)) / len(draws)
    bias = float(norm.ppf(np.clip(below, 1 / (2 * len(draws)), 1 - 1 / (2 * len(draws)))))
    centred = values - mean
    acceleration = float((centred**3).sum() / (6 * (centred**2).sum() ** 1.5))
    quantiles = []
    for z in (-Z, Z):
        shifted = bias + (bias + z) / (1 - acceleration * (bias + z))
        quantiles.append(float(norm.cdf(shifted)))
    low, high = np.quantile(draws, quantiles)
    return Interval(float(low), float(high), "BCa bootstrap")


def bootstrap_means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means of 2,000 seeded bootstrap samples of ``values``, in no order that means anything."""
    distinct, counts = np.unique(values, return_counts=True)
    return _means(values, distinct, counts, np.random.default_rng(SEED))


def _means(
    values: NDArray[np.float64], distinct: NDArray[np.float64], counts: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.float64]:
    n = len(values)
    if len(distinct) <= 64:
        return rng.multinomial(n, counts / n, size=DRAWS) @ distinct / n
    rows = max(1, 2_000_000 // n)
    parts = [values[rng.integers(0, n, size=(min(rows, DRAWS - at), n))].mean(axis=1) for at in range(0, DRAWS, rows)]
    return np.concatenate(parts)
