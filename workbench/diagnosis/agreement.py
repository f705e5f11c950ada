"""How far a judge agrees with people: agreement beyond chance, and what it gets wrong."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.data.schema import none_if_missing
from workbench.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

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
    """
    import pandas as pd

    said, judged = _plain(labels), _plain(predictions)
    if len(said) != len(judged):
        counts = f"{len(said)} labels and {len(judged)} predictions"
        raise InputError(f"agreement: {counts}; give one prediction for each label")
    known = [(a, b) for a, b in zip(said, judged, strict=True) if a is not None]
    pairs = [(a, b) for a, b in known if b is not None]
    found = dict.fromkeys(_FIELDS, np.nan) | {"n": float(len(pairs)), "n_error": float(len(known) - len(pairs))}
    if pairs:
        table, classes = _table(pairs)
        found |= _rates(table, classes, none_if_missing(positive)) | _kappa(table)
    return pd.Series(found, index=list(_FIELDS), dtype=float)


def _plain(values: Iterable[Any]) -> list[Hashable]:
    """Python values, missing ones None; numpy scalars unwrapped so that equal ones are equal."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    return [none_if_missing(value) for value in plain]


def _table(pairs: Sequence[tuple[Hashable, Hashable]]) -> tuple[np.ndarray, list[Hashable]]:
    """Confusion counts: rows are labels, columns predictions."""
    classes = list(dict.fromkeys([a for a, _ in pairs] + [b for _, b in pairs]))
    place = {value: i for i, value in enumerate(classes)}
    table = np.zeros((len(classes), len(classes)))
    np.add.at(table, ([place[a] for a, _ in pairs], [place[b] for _, b in pairs]), 1)
    return table, classes


def _rates(table: np.ndarray, classes: list[Hashable], positive: Any) -> dict[str, float]:
    right, labelled, predicted = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.where(predicted > 0, right / predicted, np.nan)
        recall = np.where(labelled > 0, right / labelled, np.nan)
    f1 = 2 * right / np.maximum(labelled + predicted, 1)
    accuracy = float(right.sum() / table.sum())
    if positive is None:
        # A class that was never predicted (or labelled) counts 0, as in scikit-learn's macro average.
        macro = {"precision": float(np.nan_to_num(precision).mean()), "recall": float(np.nan_to_num(recall).mean())}
        return {"accuracy": accuracy, **macro, "f1": float(f1.mean())}
    if positive not in classes:
        return {"accuracy": accuracy}
    at = classes.index(positive)
    return {"accuracy": accuracy, "precision": float(precision[at]), "recall": float(recall[at]), "f1": float(f1[at])}


def _kappa(table: np.ndarray) -> dict[str, float]:
    from statsmodels.stats.inter_rater import cohens_kappa

    shares = table / table.sum()
    if np.isclose(shares.sum(axis=1) @ shares.sum(axis=0), 1):
        return {}
    # Its test against chance divides by zero in degenerate tables; only kappa and its interval are used here.
    with np.errstate(invalid="ignore", divide="ignore"):
        result = cohens_kappa(table)
    low, high = max(-1.0, float(result.kappa_low)), min(1.0, float(result.kappa_upp))
    return {"kappa": float(result.kappa), "kappa_low": low, "kappa_high": high}
