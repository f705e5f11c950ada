"""The judge's own noise: the same recording judged several times, and how often the verdict flips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.diagnosis.calibrating import scores_of
from workbench.diagnosis.failing import PASSED
from workbench.diagnosis.pairing import pair
from workbench.diagnosis.statistics import wilson
from workbench.errors import InputError
from workbench.scoring.metrics import definitions

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


def repeated_samples(evaluations: Sequence[Any], score: str = PASSED) -> pd.DataFrame:
    """How one score moved between judgements of identical text.

    Parameters
    ----------
    evaluations
        Two or more; only samples whose question, answer and contexts are the same in all are looked at, so that two
        runs of a system serve as well where they did exactly the same.
    score
        ``passed`` or a metric.

    Returns
    -------
    DataFrame, index ``sample_id``; ``n`` judgements with a score, ``mean``, ``low``, ``high`` (smallest, largest),
    ``sd`` (NaN below two), ``flips`` (whether the verdict under the thresholds in force is not always the same).

    Raises
    ------
    InputError
        With fewer than two evaluations.
    """
    import pandas as pd

    if len(evaluations) < 2:
        raise InputError("repeat_noise: give two or more evaluations of the same recording")
    first, *rest = evaluations
    same = np.ones(len(first), dtype=bool)
    places = []
    for other in rest:
        pairing = pair(first.evidence, other.evidence)
        same &= np.isin(np.arange(len(first)), pairing.left[pairing.identical & ~pairing.case_changed])
        places.append(other.evidence.ids.get_indexer(first.evidence.ids))
    columns = [scores_of(first, score), *(scores_of(other, score)[at] for other, at in zip(rest, places, strict=True))]
    values = np.column_stack(columns)[same]
    cuts = np.array([1.0 if score == PASSED else item.thresholds.low_cut(score) for item in evaluations])
    known = definitions(first.thresholds.k).get(score)
    low_is_bad = known is None or known.higher_is_better is not False
    good = values >= cuts if low_is_bad else values <= cuts
    return pd.DataFrame(_spread(values, good), index=first.evidence.ids[same])


def _spread(values: NDArray[np.float64], good: NDArray[np.bool_]) -> dict[str, Any]:
    known = np.isfinite(values)
    n = known.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(n > 0, np.nansum(values, axis=1) / n, np.nan)
        off = np.where(known, (values - mean[:, None]) ** 2, 0).sum(axis=1)
        sd = np.where(n > 1, np.sqrt(off / (n - 1)), np.nan)
    low = np.where(n > 0, np.min(np.where(known, values, np.inf), axis=1, initial=np.inf), np.nan)
    high = np.where(n > 0, np.max(np.where(known, values, -np.inf), axis=1, initial=-np.inf), np.nan)
    n_good = (good & known).sum(axis=1)
    return {"n": n, "mean": mean, "low": low, "high": high, "sd": sd, "flips": (n_good > 0) & (n_good < n)}


def repeat_noise(evaluations: Sequence[Any], score: str = PASSED) -> pd.Series:
    """The judge's noise over all samples judged more than once, see :func:`repeated_samples`.

    Returns
    -------
    Series
        ``n`` samples with two scores or more, ``n_flips`` of them with verdicts that differ, ``rate`` with its 95 %
        interval (Wilson) ``low, high``, ``sd`` the pooled standard deviation of the score. NaN for n = 0.
    """
    import pandas as pd

    rows = repeated_samples(evaluations, score)
    rows = rows[rows["n"] >= 2]
    n, flips = len(rows), int(rows["flips"].sum())
    interval = wilson(flips, n)
    freedom = (rows["n"] - 1).sum()
    pooled = float(np.sqrt((rows["sd"] ** 2 * (rows["n"] - 1)).sum() / freedom)) if freedom else np.nan
    found = {"n": n, "n_flips": flips, "rate": flips / n if n else np.nan, "low": interval.low, "high": interval.high,
             "sd": pooled}  # fmt: skip
    return pd.Series(found, dtype=float)
