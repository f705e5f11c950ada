"""Which runs there are to compare, and which samples of two runs are listed: what panel 06 chooses from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.diagnosis.comparison import Comparison
from workbench.evaluation import Evaluation

if TYPE_CHECKING:
    import pandas as pd

    from workbench.views.session import Session

#: What the list can be narrowed to: one kind of change, or a group of them.
SHOWN = ("flipped", "broken", "fixed", "still_failing", "still_passing", "moved", "changed", "noise", "all")
SORTS = ("worst", "best", "data")
COLUMNS = ("question", "change", "cause_before", "cause_after", "answer_changed", "contexts_changed", "contrast")
#: Other evaluations that are looked for beside the session's.
MOST_RUNS = 50


def changed_samples(
    session: Session, comparison: Comparison, *, shown: str = "flipped", cause: str | None = None, sort: str = "worst"
) -> pd.DataFrame:
    """The matched samples of the session's filter, by how much they changed.

    Parameters
    ----------
    shown
        ``broken``, ``fixed``, ``still_failing``, ``still_passing``; ``flipped`` (broken or fixed), ``moved`` (another
        cause), ``changed`` (another answer or other contexts), ``noise`` (verdict moved on identical text), ``all``.
    cause
        Only samples with this primary cause before or after.
    sort
        ``worst`` or ``best`` contrast first, or the order of the ``data``.

    Returns
    -------
    DataFrame, index ``sample_id``; ``question, change, cause_before, cause_after, answer_changed, contexts_changed,
    contrast``.
    """
    flips = comparison.flips().set_index("sample_id")
    keep = _kept(flips, shown) & flips.index.isin(session.matching())
    if cause:
        keep &= ((flips["cause_before"] == cause) | (flips["cause_after"] == cause)).to_numpy(dtype=bool)
    found = flips[keep]
    found.insert(0, "question", session.samples["question"].reindex(found.index))
    if sort != "data":
        found = found.sort_values("contrast", ascending=sort == "worst", kind="stable")
    return found[list(COLUMNS)]


def _kept(flips: pd.DataFrame, shown: str) -> np.ndarray:
    groups = {
        "flipped": flips["change"].isin(["broken", "fixed"]), "moved": flips["cause_before"] != flips["cause_after"],
        "changed": flips["answer_changed"] | flips["contexts_changed"], "noise": flips["judge_noise"],
        "all": flips["change"].notna(),
    }  # fmt: skip
    found = groups[shown] if shown in groups else flips["change"] == shown
    return found.to_numpy(dtype=bool)


def found_runs(session: Session, given: Any) -> dict[str, Any]:
    """Name → evaluation or folder of the runs to choose from: those given, and those saved beside the session's own."""
    runs: dict[str, Any] = {}
    items = given.items() if isinstance(given, Mapping) else [(None, item) for item in _listed(given)]
    for name, run in items:
        runs[free_name(name or (run.name if isinstance(run, Evaluation) else Path(run).name), runs)] = run
    own = session.evaluation.path
    known = {
        Path(run).resolve() if isinstance(run, (str, Path)) else run.path and Path(run.path).resolve()
        for run in runs.values()
    }
    if own is None:
        return runs
    beside = sorted(path.parent for path in Path(own).resolve().parent.glob("*/samples.parquet"))
    for folder in beside[:MOST_RUNS]:
        if folder != Path(own).resolve() and folder not in known:
            runs[free_name(folder.name, runs)] = folder
    return runs


def _listed(given: Any) -> list[Any]:
    if given is None:
        return []
    return [given] if isinstance(given, (str, Path, Evaluation)) else list(given)


def free_name(name: str, taken: Mapping[str, Any]) -> str:
    """``name``, numbered when another run is called that already."""
    number = sum(key == name or key.startswith(f"{name} (") for key in taken)
    return f"{name} ({number + 1})" if number else name
