"""Intervals and tests of paired differences: the same samples scored in two runs.

Everything here depends on the multiset of differences alone and treats both directions alike, so that swapping the
runs mirrors every figure exactly: the delta changes its sign, the interval is turned over, p-values stay.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.diagnosis.statistics import BOOTSTRAP_UP_TO, NONE, SEED, Interval, Z, bootstrap_means

Floats = NDArray[np.float64]

_BOOTSTRAP = "paired bootstrap"
#: The normal quantile of the power that "smallest detectable" promises: 80 %.
_Z_POWER = 0.8416212335729143
#: Random sign assignments of the permutation test.
FLIPS = 9999
#: From this many differing pairs on the permutation distribution is taken as normal.
NORMAL_FROM = 2000
#: Up to this many differing pairs every sign assignment is counted.
ENUMERATE_UP_TO = 12
#: Discordant pairs from which McNemar's test uses the normal approximation.
MCNEMAR_NORMAL_FROM = 20_000


def exact_mean(values: Floats) -> float:
    """The mean, correctly rounded, so that the order of the values does not matter; NaN without any."""
    return math.fsum(values.tolist()) / len(values) if len(values) else math.nan


def difference_interval(differences: Floats) -> Interval:
    """The 95 % interval of the mean difference: percentiles of 2,000 bootstrap samples of the pairs (Efron 1979) up to
    5,000 pairs, normal above.

    Percentiles and not BCa: where few pairs differ, its correction leaves out 0 on the word of a single pair.
    ``(d, d)`` when all differences are the same d; NaN without pairs, and for a single one that differs.
    """
    values = np.sort(np.asarray(differences, dtype=float))
    if not len(values) or (len(values) == 1 and values[0] != 0):
        return NONE
    if values[0] == values[-1]:
        return Interval(float(values[0]), float(values[0]), "constant")
    if len(values) > BOOTSTRAP_UP_TO:
        half = Z * float(values.std(ddof=1)) / math.sqrt(len(values))
        mean = exact_mean(values)
        return Interval(mean - half, mean + half, "normal")
    return _mirrored(values)


def _mirrored(values: Floats) -> Interval:
    """Percentiles computed for one chosen direction and turned over for the other, so that both agree exactly."""
    opposite = np.sort(-values)
    where = np.flatnonzero(values != opposite)
    if not len(where):
        low, high = _percentiles(values)
        return Interval((low - high) / 2, (high - low) / 2, _BOOTSTRAP)
    if values[where[-1]] > opposite[where[-1]]:
        return Interval(*_percentiles(values), _BOOTSTRAP)
    low, high = _percentiles(opposite)
    return Interval(-high, -low, _BOOTSTRAP)


def _percentiles(values: Floats) -> tuple[float, float]:
    low, high = np.quantile(bootstrap_means(values), [0.025, 0.975])
    return float(low), float(high)


def mcnemar_mid_p(fixed: int, broken: int) -> float:
    """McNemar's mid-p value of pairs that changed in either direction (Fagerland, Lydersen and Laake 2013).

    Two-sided, in (0, 1]; 1 when nothing changed. Unlike the exact test it is not conservative at small counts.
    """
    n, fewer = fixed + broken, min(fixed, broken)
    if n == 0 or fixed == broken:
        return 1.0
    if n > MCNEMAR_NORMAL_FROM:
        return _two_sided(abs(fixed - broken) / math.sqrt(n))
    # Logarithms of k! by running sums: importing scipy for this would take longer than the whole comparison.
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    chosen = np.arange(fewer + 1)
    masses = np.exp(factorials[n] - factorials[chosen] - factorials[n - chosen] - n * math.log(2))
    return float(min(1.0, 2 * masses.sum() - masses[fewer]))


def permutation_p(differences: Floats, *, flips: int = FLIPS, seed: int = SEED) -> float:
    """Two-sided p of the mean difference under random exchange of the two runs within each pair (Fisher 1935).

    Every assignment is counted up to 12 differing pairs, ``flips`` random ones are drawn up to 2,000 (p is then
    (1 + hits) / (1 + flips), an equal sum being half a hit), and the normal limit is used beyond. Differences of one size
    only are those of a score that is 0 or 1 in effect: they get McNemar's mid-p, so that the same data give the same p
    under either name. In (0, 1]; 1 when the mean difference is 0.
    """
    values = np.asarray(differences, dtype=float)
    sizes = np.sort(np.abs(values[values != 0]))
    if not len(sizes):
        return 1.0
    if sizes[0] == sizes[-1]:
        return mcnemar_mid_p(int((values > 0).sum()), int((values < 0).sum()))
    observed, tolerance = abs(math.fsum(values.tolist())), 1e-9 * float(sizes.sum())
    if observed <= tolerance:
        return 1.0
    if len(sizes) >= NORMAL_FROM:
        return _two_sided(observed / math.sqrt(math.fsum((sizes**2).tolist())))
    if len(sizes) <= ENUMERATE_UP_TO:
        sums = _all_sums(sizes)
        return float(np.mean(np.abs(sums) >= observed - tolerance))
    sums = np.abs(_random_sums(sizes, flips, np.random.default_rng(seed)))
    tied = np.abs(sums - observed) <= tolerance
    return float((1 + np.sum((sums > observed) & ~tied) + np.sum(tied) / 2) / (1 + flips))


def _all_sums(sizes: Floats) -> Floats:
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums - size, sums + size])
    return sums


def _random_sums(sizes: Floats, flips: int, rng: np.random.Generator) -> Floats:
    """Sums of ``sizes`` under random signs; equal sizes are drawn together as one binomial."""
    distinct, counts = np.unique(sizes, return_counts=True)
    if len(distinct) <= len(sizes) // 4:
        heads = rng.binomial(counts, 0.5, size=(flips, len(distinct)))
        sums: Floats = (2 * heads - counts) @ distinct
        return sums
    rows = max(1, 4_000_000 // len(sizes))
    parts = [_signs(min(rows, flips - at), len(sizes), rng) @ sizes for at in range(0, flips, rows)]
    return np.concatenate(parts)


def _signs(rows: int, columns: int, rng: np.random.Generator) -> NDArray[np.float32]:
    packed = rng.integers(0, 256, size=(rows, (columns + 7) // 8), dtype=np.uint8)
    return np.unpackbits(packed, axis=1, count=columns).astype(np.float32) * 2 - 1


def adjusted(p_values: Sequence[float], method: str = "holm") -> Floats:
    """P-values corrected for how many were looked at; missing ones stay missing and do not count.

    Parameters
    ----------
    method
        ``"holm"`` (no false alarm in the whole family) or ``"bh"`` (Benjamini–Hochberg: share of false alarms).
    """
    p = np.asarray(p_values, dtype=float)
    result = np.full(len(p), np.nan)
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known], kind="stable")]
    n, rank = len(order), np.arange(1, len(order) + 1)
    if method == "holm":
        raised = np.maximum.accumulate(p[order] * (n - rank + 1))
    else:
        raised = np.minimum.accumulate((p[order] * n / rank)[::-1])[::-1]
    result[order] = np.minimum(raised, 1.0)
    return result


def smallest_detectable(differences: Floats, *, binary: bool = False) -> float:
    """The smallest true mean difference that so many pairs with this spread show in 4 of 5 repetitions (two-sided 5 %).

    (z₀.₉₇₅ + z₀.₈) · √(mean d² / n). For 0/1 scores no fewer than 5 pairs that all change in one direction, the least
    that McNemar's mid-p can call. NaN when the set cannot show any, or when no pair differs and the spread is unknown.
    """
    values = np.asarray(differences, dtype=float)
    n = len(values)
    if n < 2:
        return math.nan
    spread = math.sqrt(math.fsum((values**2).tolist()) / n)
    found = (Z + _Z_POWER) * spread / math.sqrt(n)
    if binary:
        found = max(found, 5 / n)
        return found if found <= 1 else math.nan
    return found if spread > 0 else math.nan


def _two_sided(z: float) -> float:
    return math.erfc(z / math.sqrt(2))
