"""One number for a sample, only where the user asks for it, and the word for its level."""

from __future__ import annotations

import numpy as np

from workbench.scoring.groups import answer, contexts
from workbench.scoring.metric import Metric, View
from workbench.scoring.scored import Scored, ratio, settle

#: Weights of the parts; those without a score are left out and the rest scaled up, which ``formulas`` shows.
WEIGHTS = {
    "faithfulness": 0.3, "answer_relevancy": 0.2, "context_precision": 0.15, "context_recall": 0.2,
    "answer_correctness": 0.15,
}  # fmt: skip

LEVELS = ((0.9, "excellent"), (0.7, "good"), (0.5, "fair"))

OVERALL = Metric(
    "overall",
    "joint",
    "Σ weight · score / Σ weight over those that are ok (" + ", ".join(f"{w} {n}" for n, w in WEIGHTS.items()) + ")",
    tuple(WEIGHTS),
    "none of them has a score",
    default=False,
)


def overall(view: View) -> Scored:
    """Weighted mean of the parts that have a score. Never average it over samples with different ``formulas``."""
    values = _parts(view)
    weights = np.array(list(WEIGHTS.values()))[:, None]
    known = ~np.isnan(values)
    return settle(ratio((np.where(known, values, 0) * weights).sum(axis=0), (known * weights).sum(axis=0)))


def formulas(view: View) -> list[str]:
    """The formula in force for each sample: the names of the parts that have a score, joined by ``+``."""
    names = np.array(list(WEIGHTS), dtype=object)
    return ["+".join(names[known]) for known in ~np.isnan(_parts(view)).T]


def level(value: float) -> str | None:
    """``excellent`` ≥ .9, ``good`` ≥ .7, ``fair`` ≥ .5, else ``poor``; None for NaN."""
    if value != value:
        return None
    return next((word for cut, word in LEVELS if value >= cut), "poor")


def _parts(view: View) -> np.ndarray:
    found = {**view.once(answer.compute), **view.once(contexts.compute)}
    return np.stack([found[name].values for name in WEIGHTS])
