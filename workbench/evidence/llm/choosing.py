"""Whom to ask, when not everybody can be asked: so that the means come out as if everybody had been.

A gate looks at means over a run: the share of supported claims, the share of answers without an unsupported one. Asking
about the most doubtful samples alone leaves a mean that leans to one side: of twenty claims that are supported with
p = .95 each, the offline judge counts twenty and the model about nineteen; and the model has habits of its own. So

1. a random part is asked first, and from it is learnt what the model says to a claim of probability p: a straight line
   for each kind of verdict, E[y | p] = low · (1 − p) + high · p, by least squares on the samples' mean p and mean y;
2. then those samples are asked whose absence costs most: what is left to the offline judge shall have a small squared
   error of the mean, (Σ bias)² + Σ variance over the samples left, where bias is the expected share by the model
   minus the share counted offline. Biases of opposite sign cancel, so the sum is looked at as samples are taken.

This is the mean squared error of a sum of independent terms, made small one sample at a time (greedily).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.evidence.judge import SampleEvidence

Array = NDArray[np.float64]
#: Probabilities of verdicts by kind.
Verdicts = dict[str, Array]
Lines = Mapping[str, tuple[float, float]]

#: Where a claim counts as supported, a context as relevant, an answer as declining.
CUT = 0.5
#: Kinds of verdicts of which the share counts, and those of which it also counts whether all are positive.
KINDS = ("answer", "reference", "answer_by_reference", "reference_by_answer", "declines", "relevance")
WHOLE = KINDS[:4]
#: Verdicts' worth of belief, at each end of the line, that the model says what the offline judge expects.
PRIOR = 2.0
#: Samples are taken in at most so many steps; with more samples, several at a step.
STEPS = 500


def best_support(evidence: SampleEvidence) -> tuple[list[float], list[float]]:
    """For each claim the highest entail (stitched neighbours included) and the highest contradict over the contexts."""
    if evidence.entail is None or not evidence.entail.size or evidence.contradict is None:
        return [], []
    grids = [evidence.entail] + ([] if evidence.stitched_entail is None else [evidence.stitched_entail])
    support = np.nan_to_num(np.concatenate(grids, axis=1)).max(axis=1)
    return support.tolist(), np.nan_to_num(evidence.contradict).max(axis=1).tolist()


def verdicts(evidence: SampleEvidence) -> Verdicts:
    """Probabilities in [0, 1] by kind, without those that are missing; kinds without any are left out.

    ``answer, reference``: claims of that side by the contexts; ``…_by_…``: by the other text.
    """
    if evidence.state != "ok":
        return {}
    support, _ = best_support(evidence)
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for claim, value in zip(evidence.claims, support, strict=False):
        found[claim.side].append(value)
    for claim in evidence.claims:
        found["answer_by_reference" if claim.side == "answer" else "reference_by_answer"].append(claim.other_entail)
    found["declines"] = [evidence.declines]
    found["relevance"] = [] if evidence.relevance is None else evidence.relevance.tolist()
    clean = {kind: np.array([p for p in values if not math.isnan(p)], dtype=float) for kind, values in found.items()}
    return {kind: values for kind, values in clean.items() if values.size}


def learn_lines(pairs: Iterable[tuple[Verdicts, Verdicts]]) -> dict[str, tuple[float, float]]:
    """For each kind (low, high) in [0, 1]: the model's share of positive verdicts where p is 0 and where it is 1.

    Parameters
    ----------
    pairs
        Verdicts of the offline judge and of the model on the same samples. Their claims need not be the same ones:
        only means are compared. Without any pair the line is (0, 1), the offline judge's own word.
    """
    left = {kind: PRIOR * np.eye(2) for kind in KINDS}
    right = {kind: np.array([0.0, PRIOR]) for kind in KINDS}
    for before, after in pairs:
        for kind in before.keys() & after.keys():
            p, y = before[kind].mean(), float(np.mean(after[kind] >= CUT))
            row = np.array([1 - p, p])
            left[kind] += before[kind].size * np.outer(row, row)
            right[kind] += before[kind].size * row * y
    solved = {kind: np.clip(np.linalg.solve(left[kind], right[kind]), 0.0, 1.0) for kind in KINDS}
    return {kind: (float(low), float(high)) for kind, (low, high) in solved.items()}


def expected(found: Verdicts, lines: Lines) -> Verdicts:
    """The probability that the model says yes, for each verdict."""
    return {kind: lines[kind][0] * (1 - p) + lines[kind][1] * p for kind, p in found.items()}


def chance_of_change(found: Verdicts, lines: Lines) -> float:
    """Probability in [0, 1] that the model differs on any verdict but relevance; 1 where nothing was judged."""
    if not found:
        return 1.0
    wanted = expected(found, lines)
    agree = [
        np.where(found[kind] >= CUT, wanted[kind], 1 - wanted[kind]).prod() for kind in found if kind != "relevance"
    ]
    return 1.0 - math.prod(agree)


def moments(all_found: Sequence[Verdicts], lines: Lines) -> tuple[Array, Array]:
    """Bias and variance of each sample's part in each mean, (n, m) both, m = shares of ``KINDS`` and all of ``WHOLE``.

    bias: what the model is expected to say minus what the offline judge said. A mean that fewer samples take part in
    counts as much as the others, so its parts are scaled by n / (samples that take part).
    """
    names = [(kind, False) for kind in KINDS] + [(kind, True) for kind in WHOLE]
    bias, variance = np.zeros((len(all_found), len(names))), np.zeros((len(all_found), len(names)))
    for row, found in enumerate(all_found):
        wanted = expected(found, lines)
        for column, (kind, whole) in enumerate(names):
            if kind in found:
                bias[row, column], variance[row, column] = _part(found[kind] >= CUT, wanted[kind], whole)
    taking = [max(1, sum(kind in found for found in all_found)) for kind, _ in names]
    scale = len(all_found) / np.array(taking, dtype=float)
    nothing = np.array([not found for found in all_found], dtype=bool)
    variance[nothing] = 1.0
    return bias * scale, variance * scale**2


def _part(offline: NDArray[np.bool_], wanted: Array, whole: bool) -> tuple[float, float]:
    if whole:
        together = float(wanted.prod())
        return together - float(offline.all()), together * (1 - together)
    return float(wanted.mean() - offline.mean()), float((wanted * (1 - wanted)).sum()) / wanted.size**2


def choose(bias: Array, variance: Array, costs: Array, allowed: NDArray[np.bool_], budget: float) -> list[int]:
    """Rows to ask about, in the order chosen: ``allowed`` ones while their ``costs`` fit into ``budget``.

    Parameters
    ----------
    bias, variance
        (n, m), see :func:`moments`; rows that are not allowed stay among those left and count.
    """
    total, spread, square = bias.sum(axis=0), variance.sum(axis=1), (bias**2).sum(axis=1)
    open_, chosen, left = allowed.copy(), [], budget
    at_once = math.ceil(len(bias) / STEPS)
    while (fitting := open_ & (costs <= left)).any():
        gain = np.where(fitting, (2 * bias @ total - square + spread) / np.maximum(costs, 1), -np.inf)
        for row in np.argsort(-gain, kind="stable")[: min(at_once, int(fitting.sum()))].tolist():
            if costs[row] <= left:
                chosen.append(row)
                left -= costs[row]
                total = total - bias[row]
            open_[row] = False
    return chosen
