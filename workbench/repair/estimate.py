"""From contexts to answers: how often an answer is right given what its contexts hold, estimated on the user's samples.

A logistic model of passing: a level for each amount of evidence, and where the evidence is complete the rank by which all
of it has come, the number of distractors, near-duplicates of what is expected, and the kind of question. Levels are shrunk
to the whole (with the weight of one sample), the other effects to none. Uncertainty comes from weighted refits (Newton and
Raftery 1994): samples get random weights, and so do the pseudo-samples of the shrinkage, so that a level with few samples
is as uncertain as its Beta posterior. The prior of the effects of rank and distractors is drawn too and applies beyond what
was shown: the mean takes more of them like the most that was shown, the interval allows for what they may harm.

What it gives is always an estimate, never a measurement; what contexts hold is computed in :mod:`workbench.repair.needs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.diagnosis.statistics import sigmoid

Floats = NDArray[np.float64]

#: Amounts of evidence: all of it whole in the contexts, part of it (or cut at a chunk edge), none, none needed, not told.
LEVELS = ("complete", "partial", "none", "nothing", "unknown")
#: Levels that are taken to be right half as often as the whole while no sample speaks.
_LACKING = ("partial", "none")
_EFFECTS = ("rank", "distractors", "copies")
#: Weight of the shrinkage of a level, in samples; and of the other effects (their prior standard deviation is 1/√ridge).
SHRINKAGE, RIDGE = 1.0, 4.0
DRAWS, SEED = 400, 20240501
#: Samples of a kind of question from which it has an effect of its own, and how many kinds at most.
FEW, KINDS = 8, 6


@dataclass(frozen=True)
class Gain:
    """An estimated change of the pass rate in [−1, 1] with its 95 % interval."""

    mean: float
    low: float
    high: float


#: Where nothing can be estimated.
UNKNOWN = Gain(np.nan, np.nan, np.nan)


def level(held: pd.DataFrame, nothing: NDArray[np.bool_]) -> NDArray[np.str_]:
    """The amount of evidence (n,) of each sample, one of :data:`LEVELS`."""
    some = (held[["recall", "context_recall"]].fillna(0) > 0).any(axis=1) | (held["split"] == 1)
    complete = held["complete"].to_numpy()
    return np.select([nothing, np.isnan(complete), complete == 1, some.to_numpy()], ["nothing", "unknown", *LEVELS[:2]],
                     "none")  # fmt: skip


class AnswerModel:
    """The probability of passing given what the contexts hold.

    Parameters
    ----------
    held
        What the contexts of today hold (:data:`workbench.repair.needs.COLUMNS`).
    passed
        (n,) 1 passes, 0 fails, NaN could not be tested; samples with a leak teach nothing, they fail by definition.
    nothing
        (n,) samples that need no context.
    kinds
        (n,) the kind of each question, empty = unknown.
    """

    def __init__(
        self, held: pd.DataFrame, passed: Floats, nothing: NDArray[np.bool_], kinds: Sequence[str] = (), seed: int = SEED
    ) -> None:
        self._nothing = nothing
        counts = pd.Series(list(kinds), dtype=object).value_counts()
        self._kinds = [name for name, n in counts.items() if name and FEW <= n < len(held)][:KINDS]
        self._kind = np.array(list(kinds) or [""] * len(held), dtype=object)
        self._range = np.array([[-np.inf, np.inf]] * 2)
        rows = self._features(held)
        clear = held["leaks"].to_numpy() == 0
        known = ~np.isnan(passed) & clear & ~np.isnan(held["n_contexts"].to_numpy())
        # What no sample has shown is not known: a rank or number of distractors beyond it counts like the utmost shown.
        shown = rows[known & (rows[:, 0] == 1)][:, len(LEVELS) : len(LEVELS) + 2]
        if len(shown):
            self._range = np.stack([shown.min(axis=0), shown.max(axis=0)], axis=1)
        self.most_distractors = round(float(np.expm1(self._range[1, 1]))) if len(shown) else 0
        self.n_known = int(known.sum())
        self.rate = float(passed[known].mean()) if known.any() else np.nan
        rng = np.random.default_rng(seed)
        #: (draws, n) weights of the samples; row 0 is 1 everywhere: the estimate itself.
        self.weights = np.vstack([np.ones(len(held)), rng.standard_exponential((DRAWS, len(held)))])
        self._coefficients = self._fitted(rows[known], passed[known], self.weights[:, known], rng) if known.any() else None
        self.table = self._levels(held, passed, known)

    def _features(self, held: pd.DataFrame, beyond: bool = False) -> Floats:
        """(n, levels + effects + kinds); ranks and numbers of distractors as far as they were shown, or ``beyond``."""
        names = level(held, self._nothing)
        levels = np.array([[name == own for name in LEVELS] for own in names], dtype=float).reshape(-1, len(LEVELS))
        complete = levels[:, 0]
        worst = np.nan_to_num(held["worst_rank"].to_numpy(), nan=1.0)
        known = [np.log2(worst), np.log1p(np.nan_to_num(held["distractors"].to_numpy()))]
        limits = [(-np.inf, np.inf)] * 2 if beyond else self._range
        effects = [np.clip(values, *own) for values, own in zip(known, limits, strict=True)]
        effects.append((np.nan_to_num(held["copies"].to_numpy()) > 0).astype(float))
        kinds = [self._kind == name for name in self._kinds]
        return np.column_stack([levels, *(effect * complete for effect in effects), *kinds]).astype(float)

    def _fitted(self, rows: Floats, passed: Floats, weights: Floats, rng: np.random.Generator) -> Floats:
        """(1 + draws, p) coefficients."""
        m, width = len(LEVELS), rows.shape[1]
        patterns, at = np.unique(rows, axis=0, return_inverse=True)
        at = at.ravel()
        right, wrong = (np.zeros((len(weights), len(patterns))) for _ in range(2))
        for outcome, sums in ((1, right), (0, wrong)):
            mine = passed == outcome
            np.add.at(sums.T, at[mine], weights[:, mine].T)
        levels = np.array([self.rate * (0.5 if name in _LACKING else 1.0) for name in LEVELS])
        levels = SHRINKAGE * np.clip(levels, 0.02, 0.98)
        pseudo = [np.vstack([p, rng.gamma(p, size=(len(weights) - 1, m))]) for p in (levels, SHRINKAGE - levels)]
        # The pseudo-samples of "complete" stand at the features that complete samples have on average.
        there = rows[:, 0] == 1
        centre = np.zeros((m, width))
        centre[:, :m] = np.eye(m)
        if there.any():
            centre[0, m:] = rows[there][:, m:].mean(axis=0)
        design = np.vstack([patterns, centre])
        right, wrong = np.hstack([right, pseudo[0]]), np.hstack([wrong, pseudo[1]])
        ridge = np.full((len(weights), width), RIDGE)
        ridge[:, :m] = 1e-6
        # In the draws the prior of an effect is drawn too: what no sample speaks of is as uncertain as it says, above all
        # how much a later rank or more distractors than were ever shown would harm.
        prior = np.zeros_like(ridge)
        prior[1:, m : m + 2] = rng.normal(0.0, RIDGE**-0.5, size=(len(weights) - 1, 2))
        found = _logistic(design, right, wrong, ridge, prior)
        # More distractors, copies or a later rank never help: an effect that says so is noise and is left out.
        against = np.zeros_like(ridge, dtype=bool)
        against[:, m : m + len(_EFFECTS)] = found[:, m : m + len(_EFFECTS)] > 0
        return _logistic(design, right, wrong, np.where(against, 1e6, ridge), np.where(against, 0.0, prior))

    def probabilities(self, held: pd.DataFrame) -> Floats:
        """(1 + draws, n) probability of passing; 0 where a document of others is among the contexts, NaN untold."""
        if self._coefficients is None:
            return np.full((len(self.weights), len(held)), np.nan)
        rows, at = np.unique(self._features(held, beyond=True), axis=0, return_inverse=True)
        found = sigmoid(self._coefficients @ rows.T)[:, at.ravel()]
        found[0] = sigmoid(self._coefficients[0] @ self._features(held).T)
        found[:, held["leaks"].to_numpy() > 0] = 0.0
        return found

    def gain(self, before: pd.DataFrame, after: pd.DataFrame) -> Gain:
        """The estimated change of the pass rate over all samples; those that cannot be told count as unchanged.

        Of both sides the probabilities are compared, not today's outcome: asking a failing question again helps by
        itself, and no fix may take the credit.
        """
        change = np.nan_to_num(self.probabilities(after) - self.probabilities(before))
        means = (self.weights * change).sum(axis=1) / self.weights.sum(axis=1)
        if self._coefficients is None:
            return UNKNOWN
        low, high = np.quantile(means[1:], [0.025, 0.975])
        return Gain(float(means[0]), float(min(low, means[0])), float(max(high, means[0])))

    def _levels(self, held: pd.DataFrame, passed: Floats, known: NDArray[np.bool_]) -> pd.DataFrame:
        """What was learned: ``level, n, passing, estimate, low, high``; levels with samples only."""
        names, chance = level(held, self._nothing), self.probabilities(held)
        rows: list[tuple[Any, ...]] = []
        for name in LEVELS:
            mine = known & (names == name)
            if mine.any():
                means = chance[:, mine].mean(axis=1)
                low, high = np.quantile(means[1:], [0.025, 0.975])
                rows.append((name, int(mine.sum()), int(passed[mine].sum()), means[0], low, high))
        return pd.DataFrame(rows, columns=["level", "n", "passing", "estimate", "low", "high"])


def _logistic(
    design: Floats, right: Floats, wrong: Floats, ridge: Floats, prior: Floats, steps: int = 12
) -> Floats:
    """Penalised logistic regressions, one for each row of weights, by Newton's method: (b, p) coefficients.

    ``design`` (m, p); ``right``, ``wrong`` (b, m) weights of either outcome; ``ridge`` (b, p) draws to ``prior`` (b, p).
    """
    total = right + wrong
    found = np.zeros_like(ridge)
    for _ in range(steps):
        p = sigmoid(found @ design.T)
        gradient = (right - total * p) @ design - ridge * (found - prior)
        curvature = np.einsum("bm,mi,mj->bij", total * p * (1 - p), design, design, optimize=True)
        curvature += (ridge + 1e-9)[:, :, None] * np.eye(design.shape[1])
        step = np.linalg.solve(curvature, gradient[..., None])[..., 0]
        found = found + np.clip(step, -2, 2)
    return found
