"""Intervals and tests. Every rate and mean that is shown has one; none is computed for a constant."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import none_if_missing
from workbench.errors import InputError

# ------------------------------------------------------------------------------
# How far a judge agrees with people: agreement beyond chance, and what it gets wrong.


_FIELDS = ("n", "n_error", "accuracy", "precision", "recall", "f1", "kappa", "kappa_low", "kappa_high")


def agreement(labels: Iterable[Any], predictions: Iterable[Any], positive: Any = None) -> pd.Series:
    """Agreement of a judge's verdicts with human labels.

    Parameters
    ----------
    labels
        What people said, of any kind and number of classes; pairs without a label are left out.
    predictions
        What the judge said, as many. A missing one (None, NaN) is an error of the judge: counted, left out of the rest.
    positive
        The class that ``precision, recall, f1`` speak of; without it they are macro averages over the classes.

    Returns
    -------
    Series
        ``n`` (judged pairs, may be 0), ``n_error``, ``accuracy, precision, recall, f1`` in [0, 1], ``kappa`` in [−1, 1]
        (Cohen 1960) with its 95 % interval ``kappa_low, kappa_high`` (Fleiss, Cohen & Everitt 1969). NaN where a figure
        is undefined: no pairs, or for kappa only one class in use.

    Raises
    ------
    InputError
        When the two are not equally long.

    Examples
    --------
    >>> wb.agreement(["yes", "no", "yes"], ["yes", "no", "no"])["accuracy"].round(2).item()
    0.67
    """
    said, judged = _plain(labels), _plain(predictions)
    if len(said) != len(judged):
        counts = f"{len(said)} labels and {len(judged)} predictions"
        raise InputError(f"agreement: {counts}; give one prediction for each label")
    known = [(a, b) for a, b in zip(said, judged, strict=True) if a is not None]
    pairs = [(a, b) for a, b in known if b is not None]
    found = dict.fromkeys(_FIELDS, np.nan) | {"n": float(len(pairs)), "n_error": float(len(known) - len(pairs))}
    if pairs:
        distinct = dict.fromkeys(itertools.chain.from_iterable(pairs))
        classes: dict[Hashable, int] = {value: at for at, value in enumerate(distinct)}
        said_at, judged_at = (np.array([classes[pair[side]] for pair in pairs]) for side in (0, 1))
        found |= {"accuracy": float((said_at == judged_at).mean())} | _kappa(said_at, judged_at)
        if (one := none_if_missing(positive)) is None or one in classes:
            found |= _rates(said_at, judged_at, None if one is None else classes[one])
    return pd.Series(found, index=list(_FIELDS), dtype=float)


def _plain(values: Iterable[Any]) -> list[Hashable]:
    """Python values, missing ones None; numpy scalars unwrapped so that equal ones are equal."""
    return [none_if_missing(value.item() if isinstance(value, np.generic) else value) for value in values]


def _rates(labels: NDArray[np.int64], judged: NDArray[np.int64], at: int | None) -> dict[str, float]:
    """Of the class ``at``; without it averaged over classes, a class that was never predicted (or labelled) counting 0."""
    from sklearn.metrics import precision_recall_fscore_support

    one = {"labels": [at], "zero_division": np.nan} if at is not None else {"zero_division": 0}
    precision, recall, f1, _ = precision_recall_fscore_support(labels, judged, average="macro", **one)
    return {"precision": float(precision), "recall": float(recall), "f1": float(f1)}


def _kappa(labels: NDArray[np.int64], judged: NDArray[np.int64]) -> dict[str, float]:
    from sklearn.metrics import confusion_matrix
    from statsmodels.stats.inter_rater import cohens_kappa

    if not (labels.any() or judged.any()):
        return {}
    table = confusion_matrix(labels, judged)
    shares = table / table.sum()
    if np.isclose(shares.sum(axis=1) @ shares.sum(axis=0), 1):
        return {}
    # Its test against chance divides by zero in degenerate tables; only kappa and its interval are used here.
    with np.errstate(invalid="ignore", divide="ignore"):
        result = cohens_kappa(table)
    low, high = max(-1.0, float(result.kappa_low)), min(1.0, float(result.kappa_upp))
    return {"kappa": float(result.kappa), "kappa_low": low, "kappa_high": high}


# ------------------------------------------------------------------------------
# Intervals of rates and means.


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
    rng, n = np.random.default_rng(SEED), len(values)
    if len(distinct) <= 64:
        return rng.multinomial(n, counts / n, size=DRAWS) @ distinct / n
    rows = max(1, 2_000_000 // n)
    parts = [values[rng.integers(0, n, size=(min(rows, DRAWS - at), n))].mean(axis=1) for at in range(0, DRAWS, rows)]
    return np.concatenate(parts)


# ------------------------------------------------------------------------------
# A mean over many judged samples, corrected by the few that people judged as well: prediction-powered inference.


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
    weight = float(more > 0)
    spread = float(np.concatenate([f, rest]).var(ddof=1))
    if tuned:
        best = float(np.cov(y, f)[0, 1]) / ((1 + n / more) * spread) if more and spread else 0.0
        weight = min(max(best, 0.0), 1.0)
    mean = float((weight * rest.mean() if more else 0.0) + (y - weight * f).mean())
    variance = float((y - weight * f).var(ddof=1)) / n
    variance += weight**2 * float(rest.var(ddof=1)) / more if more > 1 else 0.0
    half = Z * math.sqrt(variance)
    at, start, end = (min(max(value, low), high) for value in (mean, mean - half, mean + half))
    return Corrected(at, start, end, weight, n, more)


# ------------------------------------------------------------------------------
# Intervals and tests of paired differences: the same samples scored in two runs.
#
# Everything here depends on the multiset of differences alone and treats both directions alike, so that swapping the
# runs mirrors every figure exactly: the delta changes its sign, the interval is turned over, p-values stay.


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
    turned = bool(len(where)) and values[where[-1]] < opposite[where[-1]]
    low, high = np.quantile(bootstrap_means(opposite if turned else values), [0.025, 0.975]).tolist()
    if not len(where):
        low, high = (low - high) / 2, (high - low) / 2
    return Interval(*((-high, -low) if turned else (low, high)), _BOOTSTRAP)


def mcnemar_mid_p(fixed: int, broken: int) -> float:
    """McNemar's mid-p value of pairs that changed in either direction (Fagerland, Lydersen and Laake 2013).

    Two-sided, in (0, 1]; 1 when nothing changed. Unlike the exact test it is not conservative at small counts.
    """
    n, fewer = fixed + broken, min(fixed, broken)
    if n == 0 or fixed == broken:
        return 1.0
    if n > MCNEMAR_NORMAL_FROM:
        return math.erfc(abs(fixed - broken) / math.sqrt(2 * n))
    # Logarithms of k! by running sums: importing scipy for this would take longer than the whole comparison.
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    chosen = np.arange(fewer + 1)
    masses = np.exp(factorials[n] - factorials[chosen] - factorials[n - chosen] - n * math.log(2))
    return float(min(1.0, 2 * masses.sum() - masses[fewer]))


def permutation_p(differences: Floats, *, flips: int = FLIPS) -> float:
    """Two-sided p of the mean difference under random exchange of the two runs within each pair (Fisher 1935).

    Every assignment is counted up to 12 differing pairs, ``flips`` random ones are drawn up to 2,000 (p is then
    (1 + hits) / (1 + flips), an equal sum being half a hit; with 0 none are), and the normal limit is used beyond.
    Differences of one size
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
    if len(sizes) <= ENUMERATE_UP_TO:
        sums = np.zeros(1)
        for size in sizes:
            sums = np.concatenate([sums - size, sums + size])
        return float(np.mean(np.abs(sums) >= observed - tolerance))
    if len(sizes) >= NORMAL_FROM or not flips:
        return math.erfc(observed / math.sqrt(2 * math.fsum((sizes**2).tolist())))
    sums = np.abs(_random_sums(sizes, flips, np.random.default_rng(SEED)))
    tied = np.abs(sums - observed) <= tolerance
    return float((1 + np.sum((sums > observed) & ~tied) + np.sum(tied) / 2) / (1 + flips))


def _random_sums(sizes: Floats, flips: int, rng: np.random.Generator) -> Floats:
    """Sums of ``sizes`` under random signs; equal sizes are drawn together as one binomial."""
    distinct, counts = np.unique(sizes, return_counts=True)
    if len(distinct) <= len(sizes) // 4:
        heads = rng.binomial(counts, 0.5, size=(flips, len(distinct)))
        sums: Floats = (2 * heads - counts) @ distinct
        return sums
    rows, n = max(1, 4_000_000 // len(sizes)), len(sizes)
    parts = []
    for at in range(0, flips, rows):
        packed = rng.integers(0, 256, size=(min(rows, flips - at), (n + 7) // 8), dtype=np.uint8)
        parts.append((np.unpackbits(packed, axis=1, count=n).astype(np.float32) * 2 - 1) @ sizes)
    return np.concatenate(parts)


class Totals(NamedTuple):
    """The four numbers that say what is unusual: samples and failing ones, in all and in candidates."""

    n_all: int
    failing_all: int


def strength(n: NDArray[np.int64], x: Any, totals: Totals) -> Floats:
    """Likelihood ratio (G²) of "fails more often inside than outside", 0 where it fails less often.

    Parameters
    ----------
    n
        (c,) or (c, 1) samples of each candidate.
    x
        (c,) or (c, b) failing ones among them.
    """
    n_all, k = totals
    logs = np.arange(n_all + 1, dtype=float)
    logs[1:] *= np.log(logs[1:])
    constant = logs[n_all] - logs[k] - logs[n_all - k] - logs[n] - logs[n_all - n]
    inside = logs[x] + logs[n - x]
    outside = logs[k - x] + logs[n_all - k - n + x]
    return np.where(x * n_all > n * k, 2 * (inside + outside + constant), 0.0)


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


# ------------------------------------------------------------------------------
# A score against yes-or-no labels: the curve over all cuts, the area below it, and the cut that agrees best.
#
# Everywhere ``right`` says what people said (True = right) and the judge calls an answer wrong when it scores below the
# cut, so that "found" is the share of wrong answers that the judge finds and "false alarm" the share of right ones it
# blames.


#: Cuts that are tried: the steps of the slider.
GRID: Floats = np.round(np.linspace(0, 1, 101), 2)
#: Bootstrap draws of a suggested cut.
CUT_DRAWS = 1000


class Cut(NamedTuple):
    """The cut that agrees best with people: in the middle of those that agree equally well.

    ``low, high``: 95 % bootstrap interval, from the lowest to the highest cut that is as good as any; the labels do not
    tell cuts within it apart. ``kappa`` is what it reaches on the labels it was chosen on, so a little flattering. NaN
    without both classes.
    """

    value: float
    low: float
    high: float
    kappa: float


NO_CUT = Cut(math.nan, math.nan, math.nan, math.nan)


def sigmoid(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / (1 + exp(−x)), of x within ±30."""
    return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -30, 30))))


def auroc(right: ArrayLike, score: ArrayLike) -> float:
    """Chance that a right answer scores higher than a wrong one, a tie being half (Mann & Whitney 1947).

    In [0, 1], 0.5 for a score that says nothing; NaN without both classes. Missing scores are left out.
    """
    labels, values = _known(right, score)
    if labels.all() or not labels.any():
        return math.nan
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(labels, values))


def auroc_interval(right: ArrayLike, score: ArrayLike) -> Interval:
    """95 % interval of :func:`auroc`: score interval with Hanley and McNeil's variance (Newcombe 2006, method 5).

    Unlike a bootstrap it stays honest for a perfect score on few labels. NaN without both classes.
    """
    labels, _ = _known(right, score)
    area, good, bad = auroc(right, score), int(labels.sum()), int((~labels).sum())
    if math.isnan(area):
        return NONE
    def end(bound: float) -> float:
        """Where ``|area − θ| = z · se(θ)`` between ``area`` and ``bound``, by bisection."""
        inner, outer = area, bound
        for _ in range(60):
            middle = (inner + outer) / 2
            more = (good + bad) / 2 - 1
            bracket = 1 + more * ((1 - middle) / (2 - middle) + middle / (1 + middle))
            reach = Z * math.sqrt(max(middle * (1 - middle) * bracket / (good * bad), 0.0))
            inner, outer = (middle, outer) if abs(area - middle) <= reach else (inner, middle)
        return (inner + outer) / 2

    return Interval(end(0.0), end(1.0), "Newcombe")


def _known(right: ArrayLike, score: ArrayLike) -> tuple[NDArray[np.bool_], Floats]:
    labels, values = np.asarray(right, dtype=bool), np.asarray(score, dtype=float)
    keep = np.isfinite(values)
    return labels[keep], values[keep]


def rates(right: NDArray[np.bool_], judged: Floats) -> tuple[Floats, Floats]:
    """``false_alarm`` and ``found`` for every column of (n, cuts) verdicts (1 right, 0 wrong, NaN none); NaN without
    that class."""
    wrong = np.where(np.isnan(judged), 0.0, judged == 0)
    there = (~np.isnan(judged)).astype(float)
    good, bad = right.astype(float), (~right).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (good @ wrong) / (good @ there), (bad @ wrong) / (bad @ there)


def kappas(right: NDArray[np.bool_], judged: Floats, weights: Floats | None = None) -> Floats:
    """Cohen's kappa for every column of (n, cuts) verdicts; with (draws, n) weights a row a draw. NaN if undefined."""
    weight = np.ones((1, len(right))) if weights is None else weights
    there = ~np.isnan(judged)
    says_right = np.where(there, judged == 1, False)
    good = right[:, None]
    # A label that the judge has no verdict on counts in no cell.
    cells = [says_right & good, says_right & ~good, there & ~says_right & good, there & ~says_right & ~good]
    both, too_kind, too_strict, neither = (weight @ cell.astype(float) for cell in cells)
    n = both + too_kind + too_strict + neither
    observed = both + neither
    with np.errstate(invalid="ignore", divide="ignore"):
        chance = ((both + too_strict) * (both + too_kind) + (too_kind + neither) * (too_strict + neither)) / n
        found = np.where(n - chance > 1e-12, (observed - chance) / (n - chance), np.nan)
    result: Floats = found[0] if weights is None else found
    return result


def best_cut(right: NDArray[np.bool_], judged: Floats, grid: Floats = GRID) -> Cut:
    """The cut with the highest kappa, with its bootstrap interval (labels drawn anew within each class).

    Parameters
    ----------
    right
        (n,) what people said.
    judged
        (n, cuts) the judge's verdicts at each cut of ``grid``: 1 right, 0 wrong, NaN none.
    """
    own = kappas(right, judged)
    if right.all() or not right.any() or not np.isfinite(own).any():
        return NO_CUT
    draws = _stratified(right)
    again = kappas(right, judged, draws)
    first, last = np.array([_best_run(row) for row in again if np.isfinite(row).any()]).T
    low, high = np.quantile(first, 0.025, method="lower"), np.quantile(last, 0.975, method="higher")
    start, end = _best_run(own)
    value, ends = float(grid[(start + end) // 2]), (int(min(low, start)), int(max(high, end)))
    return Cut(value, float(grid[ends[0]]), float(grid[ends[1]]), float(np.nanmax(own)))


def _best_run(kappa: Floats) -> tuple[int, int]:
    """First and last place of the longest run of cuts with the highest kappa."""
    best = np.isfinite(kappa) & (kappa >= np.nanmax(kappa) - 1e-9)
    places = np.flatnonzero(best)
    runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
    longest = max(runs, key=len)
    return int(longest[0]), int(longest[-1])


def _stratified(right: NDArray[np.bool_]) -> Floats:
    """(draws, n) how often each label is drawn, as many of each class as there are."""
    rng = np.random.default_rng(SEED)
    weights = np.zeros((CUT_DRAWS, len(right)))
    for group in (right, ~right):
        n = int(group.sum())
        weights[:, group] = rng.multinomial(n, np.full(n, 1 / n), size=CUT_DRAWS)
    return weights
