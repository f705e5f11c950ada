"""A score against yes-or-no labels: the curve over all cuts, the area below it, and the cut that agrees best.

Everywhere ``right`` says what people said (True = right) and the judge calls an answer wrong when it scores below the
cut, so that "found" is the share of wrong answers that the judge finds and "false alarm" the share of right ones it
blames.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.diagnosis.statistics import NONE, SEED, Interval, Z

Floats = NDArray[np.float64]

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


def auroc(right: ArrayLike, score: ArrayLike) -> float:
    """Chance that a right answer scores higher than a wrong one, a tie being half (Mann & Whitney 1947).

    In [0, 1], 0.5 for a score that says nothing; NaN without both classes. Missing scores are left out.
    """
    labels, values = _known(right, score)
    good, bad = int(labels.sum()), int((~labels).sum())
    if not good or not bad:
        return math.nan
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return float((ranks[labels].sum() - good * (good + 1) / 2) / (good * bad))


def auroc_interval(right: ArrayLike, score: ArrayLike) -> Interval:
    """95 % interval of :func:`auroc`: score interval with Hanley and McNeil's variance (Newcombe 2006, method 5).

    Unlike a bootstrap it stays honest for a perfect score on few labels. NaN without both classes.
    """
    labels, _ = _known(right, score)
    area, good, bad = auroc(right, score), int(labels.sum()), int((~labels).sum())
    if math.isnan(area):
        return NONE
    ends = [_end(area, good, bad, bound) for bound in (0.0, 1.0)]
    return Interval(ends[0], ends[1], "Newcombe")


def _end(area: float, good: int, bad: int, bound: float) -> float:
    """Where ``|area − θ| = z · se(θ)`` between ``area`` and ``bound``, by bisection."""
    inner, outer = area, bound
    for _ in range(60):
        middle = (inner + outer) / 2
        if abs(area - middle) <= Z * _spread(middle, good, bad):
            inner = middle
        else:
            outer = middle
    return (inner + outer) / 2


def _spread(theta: float, good: int, bad: int) -> float:
    more = (good + bad) / 2 - 1
    bracket = 1 + more * ((1 - theta) / (2 - theta) + theta / (1 + theta))
    return math.sqrt(max(theta * (1 - theta) * bracket / (good * bad), 0.0))


def _known(right: ArrayLike, score: ArrayLike) -> tuple[NDArray[np.bool_], Floats]:
    labels, values = np.asarray(right, dtype=bool), np.asarray(score, dtype=float)
    keep = np.isfinite(values)
    return labels[keep], values[keep]


# ---------------------------------------------------------------- over all cuts


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
