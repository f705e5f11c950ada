"""Comparing evaluations by what they are or where they lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.diagnosis.comparison import Comparison
from workbench.errors import InputError
from workbench.evaluation import Evaluation, load_evaluation
from workbench.scoring.thresholds import Thresholds

if TYPE_CHECKING:
    import pandas as pd

#: An evaluation, or the folder that it was saved to.
Run = Evaluation | str | Path


def compare(before: Run, after: Run, *, thresholds: Thresholds | None = None, correction: str = "holm") -> Comparison:
    """What changed between two evaluations of the same cases, and whether it is real.

    Parameters
    ----------
    before, after
        Evaluations, or folders that ``save`` or ``score`` wrote. Samples are matched by id.
    thresholds
        Put both under these; by default each is taken as it is, and a difference is said before any number.
    correction
        For how many metrics were looked at: ``"holm"`` or ``"bh"`` (Benjamini–Hochberg).

    Raises
    ------
    InputError
        For a folder that holds no evaluation, or an unknown correction.
    """
    if correction not in ("holm", "bh"):
        raise InputError(f"correction {correction!r} is not known; use 'holm' or 'bh'")
    first, second = (_opened(run, thresholds) for run in (before, after))
    return Comparison(first, second, correction=correction)


def compare_many(
    runs: Mapping[str, Run] | Sequence[Run], *, metrics: Sequence[str] | None = None,
    thresholds: Thresholds | None = None,
) -> pd.DataFrame:  # fmt: skip
    """A table over runs in the order given, on the samples that all of them have.

    See :func:`workbench.diagnosis.many_runs.runs_table` for the columns.
    """
    from workbench.diagnosis.many_runs import runs_table

    names = list(runs) if isinstance(runs, Mapping) else None
    given = runs.values() if isinstance(runs, Mapping) else runs
    return runs_table([_opened(run, thresholds) for run in given], names, metrics=metrics)


def _opened(run: Any, thresholds: Thresholds | None) -> Any:
    if isinstance(run, (str, Path)):
        return load_evaluation(run, thresholds=thresholds)
    if not hasattr(run, "evidence"):
        raise InputError(f"a {type(run).__name__} cannot be compared; give an evaluation or the folder of one")
    return run if thresholds is None else run.with_thresholds(thresholds)
