"""More than two runs: one table over all of them, on the samples that every one has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from workbench.diagnosis import paired
from workbench.diagnosis.failing import PASSED
from workbench.diagnosis.statistics import mean_interval
from workbench.errors import InputError
from workbench.scoring.metrics import definitions

COLUMNS = ("run", "metric", "n", "mean", "low", "high", "delta", "delta_low", "delta_high", "p_value")
#: Metrics of the table unless others are asked for; those that a run lacks are left out.
DEFAULT = ("recall", "context_relevance", "faithfulness", "answer_correctness", "end_to_end_correct", "leaks")


def runs_table(
    runs: Sequence[Any], names: Sequence[str] | None = None, *, metrics: Sequence[str] | None = None
) -> pd.DataFrame:
    """Means over the samples that all runs share, and each run's paired difference to the first.

    Parameters
    ----------
    runs
        Evaluations, in the order in which they are shown (oldest first).
    names
        What to call them; by default their own names, numbered where two are the same.
    metrics
        Metric names, ``passed`` for pass / fail; by default a few of each layer.

    Returns
    -------
    DataFrame, one row a metric and run: ``run, metric, n, mean, low, high, delta, delta_low, delta_high, p_value``. Each
    metric is over the samples with a score in every run (``n``), so that the means can be compared; ``low``, ``high``
    are the 95 % interval of the mean, ``delta…`` the paired difference to the first run (missing for itself).

    Raises
    ------
    InputError
        For fewer than two runs.
    """
    if len(runs) < 2:
        raise InputError("comparing runs needs at least two evaluations")
    titles = list(names) if names is not None else _titles(runs)
    ids = runs[0].evidence.ids
    for run in runs[1:]:
        ids = ids[ids.isin(run.evidence.ids)]
    rows: list[tuple[Any, ...]] = []
    for metric in _chosen(runs, metrics):
        rows += _rows(metric, titles, [_values(run, metric, ids) for run in runs])
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _titles(runs: Sequence[Any]) -> list[str]:
    names = [str(run.name) for run in runs]
    return [name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}" for i, name in enumerate(names)]


def _chosen(runs: Sequence[Any], metrics: Sequence[str] | None) -> list[str]:
    shared = [name for name in runs[0].metrics if all(name in run.metrics for run in runs)]
    if metrics is None:
        return [PASSED, *(name for name in shared if name.partition("@")[0] in DEFAULT)]
    return [name for name in metrics if name == PASSED or name in shared]


def _values(run: Any, metric: str, ids: pd.Index) -> np.ndarray:
    """(n,) scores of one run on the shared samples, NaN where there is none."""
    codes = run.evidence.ids.get_indexer(ids)
    if metric == PASSED:
        primary = run.causes.primary[codes]
        return np.where(primary == -2, np.nan, (primary == -1).astype(float))
    values: np.ndarray = run.metric(metric).values[codes]
    return values


def _rows(metric: str, titles: Sequence[str], values: Sequence[np.ndarray]) -> list[tuple[Any, ...]]:
    known = np.isfinite(np.stack(values)).all(axis=0)
    base = metric.partition("@")[0]
    binary = metric == PASSED or any(m.binary for n, m in definitions(1).items() if n.partition("@")[0] == base)
    rows = []
    for place, (title, own) in enumerate(zip(titles, (v[known] for v in values), strict=True)):
        low, high, _ = mean_interval(own, binary=binary) if len(own) else (np.nan, np.nan, "")
        delta: tuple[float, ...] = (np.nan,) * 4
        if place:
            delta = _difference(own - values[0][known], binary)
        rows.append((title, metric, len(own), paired.exact_mean(own), low, high, *delta))
    return rows


def _difference(differences: np.ndarray, binary: bool) -> tuple[float, ...]:
    low, high, _ = paired.difference_interval(differences)
    if binary:
        p = paired.mcnemar_mid_p(int((differences > 0).sum()), int((differences < 0).sum()))
    else:
        p = paired.permutation_p(differences)
    return paired.exact_mean(differences), low, high, p if len(differences) else np.nan
