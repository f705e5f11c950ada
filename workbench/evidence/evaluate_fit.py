"""How good calibrated probabilities are on labelled rows: the figures of the training report and its plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Paired bootstrap draws for the difference to the floor.
DRAWS = 1000


@dataclass(frozen=True)
class Report:
    """Figures of one set.

    ``auroc`` and the ``floor``'s; ``low`` and ``high`` bound their difference (95 %, paired bootstrap over groups);
    ``balanced``, ``f1`` at a cut of .5; ``brier``; ``calibration`` = expected calibration error over ten equal bins.
    """

    source: str
    n: int
    auroc: float
    floor: float
    low: float
    high: float
    balanced: float
    f1: float
    brier: float
    calibration: float

    HEADER = "set            n   AUROC  floor  difference       bal.acc  F1    Brier  ECE"

    def line(self) -> str:
        """One line of the report's table."""
        return (
            f"{self.source:<12} {self.n:>5}  {self.auroc:.3f}  {self.floor:.3f}  [{self.low:+.3f}, {self.high:+.3f}]"
            f"  {self.balanced:.3f}    {self.f1:.3f} {self.brier:.3f}  {self.calibration:.3f}"
        )


def auroc(labels: Bools, scores: Numbers) -> float:
    """Area under the ROC curve, ties counted half; NaN when one class is missing."""
    positives, negatives = int(labels.sum()), int((~labels).sum())
    if not positives or not negatives:
        return float("nan")
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return float((ranks[labels].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def report(source: str, labels: Bools, probabilities: Numbers, floor: Numbers, groups: NDArray[np.str_]) -> Report:
    """The figures of one set."""
    low, high = difference_interval(labels, probabilities, floor, groups)
    balanced, f1 = at_cut(labels, probabilities)
    return Report(
        source,
        len(labels),
        auroc(labels, probabilities),
        auroc(labels, floor),
        low,
        high,
        balanced,
        f1,
        float(np.mean((probabilities - labels) ** 2)),
        calibration_error(labels, probabilities),
    )


def at_cut(labels: Bools, probabilities: Numbers, cut: float = 0.5) -> tuple[float, float]:
    """(balanced accuracy, F1 of the positive class) at a cut; NaN where they are undefined."""
    said = probabilities >= cut
    hits = int((said & labels).sum())
    recall = hits / labels.sum() if labels.any() else float("nan")
    specificity = float((~said & ~labels).sum() / (~labels).sum()) if (~labels).any() else float("nan")
    total = int(said.sum() + labels.sum())
    return float((recall + specificity) / 2), 2 * hits / total if total else float("nan")


def calibration_error(labels: Bools, probabilities: Numbers, bins: int = 10) -> float:
    """Expected calibration error: mean gap of probability and frequency over equally wide bins, weighted by size."""
    bin_of = np.minimum((probabilities * bins).astype(int), bins - 1)
    gaps = [
        abs(float(probabilities[bin_of == b].mean()) - float(labels[bin_of == b].mean())) * (bin_of == b).sum()
        for b in range(bins)
        if (bin_of == b).any()
    ]
    return float(sum(gaps) / len(labels))


def difference_interval(
    labels: Bools, scores: Numbers, floor: Numbers, groups: NDArray[np.str_], seed: int = 0
) -> tuple[float, float]:
    """95 % interval of auroc(scores) − auroc(floor), drawing whole groups with replacement."""
    random = np.random.default_rng(seed)
    names, of = np.unique(groups, return_inverse=True)
    members = [np.flatnonzero(of == at) for at in range(len(names))]
    differences = []
    for _ in range(DRAWS):
        rows = np.concatenate([members[at] for at in random.integers(0, len(names), len(names))])
        differences.append(auroc(labels[rows], scores[rows]) - auroc(labels[rows], floor[rows]))
    low, high = np.nanpercentile(differences, [2.5, 97.5])
    return float(low), float(high)


def calibration_plot(path: Path, series: Sequence[tuple[str, Bools, Numbers]]) -> None:
    """Reliability of each set as a PNG: frequency of supported against probability, ten bins."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=1)
    for name, labels, probabilities in series:
        bin_of = np.minimum((probabilities * 10).astype(int), 9)
        filled = [b for b in range(10) if (bin_of == b).sum() >= 5]
        points = [(probabilities[bin_of == b].mean(), labels[bin_of == b].mean()) for b in filled]
        axes.plot(*zip(*points, strict=True), marker="o", label=name)
    axes.set(xlabel="probability", ylabel="share supported", xlim=(0, 1), ylim=(0, 1))
    axes.legend()
    figure.savefig(path, dpi=120)
