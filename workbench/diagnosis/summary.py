"""The table of metrics: means with intervals, states, bounds, targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.diagnosis.causes import attribute
from workbench.diagnosis.statistics import NONE, mean_interval, wilson
from workbench.scoring.metrics import HEADLINE, OVERALL, formulas, score
from workbench.scoring.scored import (
    CODES,
    INPUT_ERROR,
    JUDGE_ERROR,
    NOT_APPLICABLE,
    OK,
    SKIPPED,
    UNDEFINED,
    Floats,
    Scored,
    ratio,
)
from workbench.scoring.thresholds import Thresholds
from workbench.scoring.view import Metric, View

if TYPE_CHECKING:
    import pandas as pd


class Tally(NamedTuple):
    """One metric over one evaluation: scores, the highest value that the data allow for each, how it was made, the
    formulas in force, of which only one may stand in a mean, and what each sample's relevance was judged by."""

    scored: Scored
    attainable: Floats
    method: str
    formulas: tuple[str, ...]
    basis: NDArray[np.object_]


def summarise(
    view: View, scored: Mapping[str, Scored], known: Mapping[str, Metric], *, intervals: bool = True,
    spread: bool = False,
) -> pd.DataFrame:  # fmt: skip
    """One row a metric; see ``Evaluation.summary``."""
    return joined([tallies(view, scored, known)], known, view.t, intervals=intervals, spread=spread)


def tallies(view: View, scored: Mapping[str, Scored], known: Mapping[str, Metric]) -> dict[str, Tally]:
    """What :func:`joined` needs of one evaluation, by metric."""
    return {
        name: Tally(
            result,
            _attainable(view, known[name], result),
            _method(view, known[name]),
            tuple(sorted({formula for formula in formulas(view) if formula})) if name == OVERALL.name else (),
            np.asarray(view.facts.evidence.plain("judge_basis"), dtype=object)
            if known[name].on_relevance
            else np.full(view.n, None, dtype=object),
        )
        for name, result in scored.items()
    }


def joined(
    parts: Sequence[Mapping[str, Tally]], known: Mapping[str, Metric], t: Thresholds, *, intervals: bool = True,
    spread: bool = False,
) -> pd.DataFrame:  # fmt: skip
    """The summary over the samples of all ``parts`` together; only metrics that every part has."""
    import pandas as pd

    names = [name for name in parts[0] if all(name in part for part in parts)] if parts else []
    rows = {name: _row(known[name], [part[name] for part in parts], t.targets.get(name), intervals, spread) for name in names}
    if spread:
        for name, row in rows.items():
            row["level"] = level(known[name], row["mean"], row["attainable"], t)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("metric")


def level(metric: Metric, mean: float, attainable: float, t: Thresholds) -> str | None:
    """How good a mean is, as one of ``Thresholds.levels`` or ``"poor"``: of the highest mean that the data allow, and of
    1 − mean where low is good. None for a metric without a direction, a range up to 1 or any score."""
    if not metric.has_level or metric.higher_is_better is None or (metric.low, metric.high) != (0.0, 1.0) or np.isnan(mean):
        return None
    best = attainable if metric.higher_is_better and 0 < attainable < 1 else 1.0
    return t.level(min(mean / best, 1.0) if metric.higher_is_better else 1.0 - mean)


def _row(metric: Metric, parts: Sequence[Tally], target: float | None, intervals: bool, spread: bool) -> dict[str, Any]:
    scored = Scored(
        np.concatenate([part.scored.values for part in parts]), np.concatenate([part.scored.states for part in parts])
    )
    formulas = dict.fromkeys(formula for part in parts for formula in part.formulas)
    # A mean over different formulas would be of nothing: there is none, and the method names them.
    values = scored.values[scored.ok] if len(formulas) < 2 else scored.values[:0]
    counts = np.bincount(scored.states, minlength=len(CODES))
    mean = float(values.mean()) if len(values) else np.nan
    interval = mean_interval(values, binary=metric.binary) if intervals and len(values) else NONE
    low_bound, high_bound = _bounds(metric, scored, values) if len(formulas) < 2 else (np.nan, np.nan)
    allowed = np.concatenate([part.attainable for part in parts])
    attainable = float(allowed.mean()) if len(allowed) and np.isfinite(allowed).all() else np.nan
    methods = dict.fromkeys(part.method for part in parts if part.method)
    basis = np.concatenate([part.basis for part in parts])
    said = (
        " + ".join(methods),
        _by_basis(scored, basis),
        *(f"formula {formula}" for formula in formulas),
        interval.method,
    )
    return {
        "mean": mean,
        "low": interval.low,
        "high": interval.high,
        "n_ok": int(counts[CODES[OK]]),
        "n_not_applicable": int(counts[CODES[NOT_APPLICABLE]]),
        "n_undefined": int(counts[CODES[UNDEFINED]]),
        "n_error": int(counts[CODES[JUDGE_ERROR]] + counts[CODES[INPUT_ERROR]]),
        "n_skipped": int(counts[CODES[SKIPPED]]),
        "n_total": len(scored.states),
        "low_bound": low_bound,
        "high_bound": high_bound,
        "target": np.nan if target is None else target,
        "attainable": attainable,
        "meets_target": _meets(metric, mean, target, attainable),
        "method": "; ".join(part for part in said if part),
        **(_spread(values) if spread else {}),
    }


def _spread(values: Floats) -> dict[str, float]:
    """Lowest, median and highest score, and the standard deviation of the sample (of at least two)."""
    if not len(values):
        return dict.fromkeys(("min", "median", "max", "std"), np.nan)
    return {"min": float(values.min()), "median": float(np.median(values)), "max": float(values.max()),
            "std": float(values.std(ddof=1)) if len(values) > 1 else np.nan}  # fmt: skip


def _bounds(metric: Metric, scored: Scored, values: Floats) -> tuple[float, float]:
    """The mean if every applicable sample without a score were the lowest / the highest; NaN without a finite end."""
    missing = int(np.isin(scored.states, [CODES[s] for s in (UNDEFINED, JUDGE_ERROR, INPUT_ERROR, SKIPPED)]).sum())
    n = len(values) + missing
    if not n:
        return np.nan, np.nan
    if not missing:
        return float(values.mean()), float(values.mean())
    total = float(values.sum())
    ends = [(total + missing * end) / n if np.isfinite(end) else np.nan for end in (metric.low, metric.high)]
    return ends[0], ends[1]


def _attainable(view: View, metric: Metric, scored: Scored) -> Floats:
    """The best possible value of each scored sample: with more relevant documents than k, or fewer, 1 may be out of reach."""
    if metric.bounded not in ("depth", "relevant"):
        return np.full(int(scored.ok.sum()), metric.best)
    relevant = view.facts.entries
    chosen = relevant[relevant["grade"] >= 1].drop_duplicates("entry")
    counts = np.bincount(chosen["code"].to_numpy(dtype=np.int64), minlength=view.n)
    whole = np.maximum(counts, 1) if metric.bounded == "relevant" else view.t.k
    return (np.minimum(counts, view.t.k) / whole)[scored.ok]


def _meets(metric: Metric, mean: float, target: float | None, attainable: float) -> bool | None:
    """Whether the mean reaches the target; None without either, and for a target beyond what the data allow."""
    if target is None or np.isnan(mean):
        return None
    if metric.higher_is_better is False:
        return bool(mean <= target)
    return None if attainable < target - 1e-12 else bool(mean >= target - 1e-12)


def _method(view: View, metric: Metric) -> str:
    if metric.read_from == "ids":
        silver = int((view.facts.evidence.plain("silver") == True).sum())  # noqa: E712 - elementwise
        labels = f"ids, silver labels for {silver} samples" if silver else "ids"
        return f"{labels}, linear gain" if metric.bounded == "ideal" else labels
    if metric.read_from != "judge":
        return metric.read_from
    methods = sorted({m for m in view.facts.evidence.plain("judge_method") if m is not None})
    return " + ".join(methods)


def _by_basis(scored: Scored, basis: NDArray[np.object_]) -> str:
    """The means of the two bases of relevance apart, where both are in the mean; empty otherwise."""
    found = sorted({name for name in basis[scored.ok] if name is not None})
    means = [(name, scored.values[scored.ok & (basis == name)]) for name in found]
    apart = ", ".join(f"by {name} {values.mean():.3f} (n = {len(values)})" for name, values in means)
    return f"relevance {apart}" if len(found) > 1 else ""


def oracle_ladder(view: View) -> pd.DataFrame:
    """What is right now, what the retrieved evidence would allow, and an estimate for perfect retrieval.

    Rows ``now`` (end-to-end correct), ``evidence_retrieved`` (all key points, else reference claims, stand in the contexts:
    the ceiling with this retriever) and ``perfect_retrieval`` = (passes + retrieval-caused failures × pass rate where the
    evidence was retrieved) / N, an estimate; columns ``rate, low, high, n``. Over samples where all of it is known.
    """
    import pandas as pd

    right, there = score(view, HEADLINE), score(view, "evidence_retrieved")
    known = right.ok & there.ok
    n = int(known.sum())
    causes = attribute(view)
    by_retrieval = np.isin(causes.primary, [at for at, rule in enumerate(causes.rules) if rule.retriever_at_fault])
    passes = float(right.values[known].sum())
    ceiling = float(there.values[known].sum())
    with_evidence = known & (there.values == 1)
    rate = ratio(np.array([right.values[with_evidence].sum()]), np.array([with_evidence.sum()]))[0]
    rescued = float((known & by_retrieval & (right.values == 0)).sum()) * rate
    rows = {}
    for name, total in (("now", passes), ("evidence_retrieved", ceiling), ("perfect_retrieval", passes + rescued)):
        interval = wilson(total, n) if n and np.isfinite(total) else NONE
        rows[name] = {"rate": total / n if n else np.nan, "low": interval.low, "high": interval.high, "n": n}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("step")
