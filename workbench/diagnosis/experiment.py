"""Two arms of an experiment, or two releases, side by side in one query log: unpaired, and as often as one likes to look.

Per arm and metric the difference of means to the control, with a confidence sequence: an interval that holds at every
moment at once (normal mixture; Robbins 1970; Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform central limit
theory and asymptotic confidence sequences", 2021). With v the squared standard error of the difference, r = ρ²/v and α the
level, the difference over √v exceeds √((1 + 1/r)(log(1 + r) − 2 log α)) ever with a chance of at most α. ρ is set so that it
is tightest near the number of requests that a test with one look would take for ``change``.

Guardrails (latency by its logarithm, refusals, errors, and what is asked for, such as a cost) are watched for the worse only.
Metrics and guardrails are corrected for their number, each on its own (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.diagnosis.alerts import statistic_title, value_text
from workbench.diagnosis.query_log import ERROR, LATENCY, REFUSED, QueryLog, Statistic, statistics_of
from workbench.diagnosis.statistics import Z
from workbench.errors import InputError
from workbench.language import text as _t
from workbench.language.numbers import score

COLUMNS = (
    "arm", "control", "metric", "role", "n", "n_control", "value", "value_control", "delta", "low", "high", "p_value",
    "p_adjusted", "verdict", "n_needed",
)  # fmt: skip
#: Finite values that an arm needs before anything is said: below it the normal limit is no limit.
LEAST = 50
_Z_POWER = 0.8416212335729143


def fixed_size(change: float, variance: float) -> int:
    """Requests an arm that a single look at the end takes to see ``change`` in 4 of 5 cases (two-sided 5 %)."""
    return math.ceil(2 * variance * ((Z + _Z_POWER) / change) ** 2)


def compare_arms(
    log: QueryLog, by: str, *, control: str | None = None, metrics: Iterable[str] | None = None,
    guardrails: Iterable[str] | None = None, change: float = 0.05, alpha: float = 0.05,
) -> pd.DataFrame:  # fmt: skip
    """Every arm of a log against the control.

    Parameters
    ----------
    log
        Read with ``groups=[by]``.
    by
        The column of arms or releases.
    control
        The arm to compare with; by default the one whose requests come first.
    metrics, guardrails
        Columns; by default all scores, and latency, refusals and errors.
    change
        The difference that the test is tuned to, in the unit of the metric (0.05 = five points).
    alpha
        Chance of any false alarm over all looks, for the metrics together and for the guardrails together.

    Returns
    -------
    DataFrame, one row an arm and metric: ``arm, control, metric, role`` (metric, guardrail)``, n, n_control, value,
    value_control, delta, low, high`` (the confidence sequence at 1 − alpha, not corrected)``, p_value`` (two-sided, valid at
    every moment)``, p_adjusted, verdict`` (worse, better, open, few: under 50 requests)``, n_needed`` (requests an arm until
    ``change`` shows in 4 of 5 cases). A latency is compared by its logarithm: ``delta`` 0.1 is 10 % slower.

    Raises
    ------
    InputError
        For a column that was not read as a group, an unknown control, fewer than two arms, or no metric.

    Examples
    --------
    >>> log = wb.load_log("query_log.jsonl", groups=["release"])
    >>> wb.compare_arms(log, "release")["verdict"].tolist()[:2]
    ['worse', 'worse']
    """
    if by not in log.groups:
        raise InputError(f"{log.name}: no groups {by!r} were read; use load_log(…, groups=[{by!r}])")
    codes, names = log.groups[by]
    there = np.unique(codes[codes >= 0], return_index=True)
    arms = [names[code] for code in there[0][np.argsort(there[1])]]
    if len(arms) < 2:
        raise InputError(f"{log.name}: {by} has {len(arms)} value(s); two arms are needed")
    base = control if control is not None else arms[0]
    if base not in arms:
        raise InputError(f"{log.name}: no arm {base!r} in {by}; there are {', '.join(arms[:8])}")
    roles = _roles(log, metrics, guardrails)
    rows = []
    for arm in arms:
        if arm == base:
            continue
        for metric, role in roles.items():
            first, second = (_values(log, metric, codes == names.index(name)) for name in (base, arm))
            family = sum(own == role for own in roles.values()) * (len(arms) - 1)
            rows.append({"arm": arm, "control": base, "metric": metric, "role": role,
                         **_row(first, second, metric, role, change, alpha, family)})  # fmt: skip
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _roles(log: QueryLog, metrics: Iterable[str] | None, guardrails: Iterable[str] | None) -> dict[str, str]:
    own = list(metrics) if metrics is not None else log.scores
    usual = [name for name in (LATENCY, REFUSED, ERROR) if name in log.columns and name not in own]
    watched = list(guardrails) if guardrails is not None else usual
    if missing := [name for name in (*own, *watched) if name not in log.columns]:
        raise InputError(f"{log.name}: no column {missing[0]!r}; there are {', '.join(log.columns)}")
    roles = {**dict.fromkeys(watched, "guardrail"), **dict.fromkeys(own, "metric")}
    if not roles:
        raise InputError(f"{log.name}: no column to compare arms by")
    return dict(sorted(roles.items(), key=lambda item: item[1] == "guardrail"))


def _values(log: QueryLog, metric: str, keep: NDArray[np.bool_]) -> NDArray[np.float64]:
    values = log.columns[metric][keep]
    values = values[np.isfinite(values)]
    return np.log(np.maximum(values, 1e-9)) if metric == LATENCY else values


def _worse(metric: str) -> str | None:
    """The bad direction of a column; up for what is neither a score nor known, such as a cost."""
    known: list[Statistic] = statistics_of({metric: None})
    return known[0].worse


def _row(
    first: NDArray[np.float64], second: NDArray[np.float64], metric: str, role: str, change: float, alpha: float, family: int
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "n": len(second), "n_control": len(first), "value": _mean(second, metric), "value_control": _mean(first, metric),
        "delta": math.nan, "low": math.nan, "high": math.nan, "p_value": math.nan, "p_adjusted": math.nan, "verdict": "few",
        "n_needed": None,
    }  # fmt: skip
    if min(len(first), len(second)) < LEAST:
        return found
    variances = [max(float(own.var(ddof=1)), 1e-12) for own in (first, second)]
    error = sum(own / len(values) for own, values in zip(variances, (first, second), strict=True))
    delta = float(second.mean() - first.mean())
    r = mixture(change) / error
    half = math.sqrt(error) * boundary(r, alpha)
    p = anytime_p(delta / math.sqrt(error), r)
    up_is_bad = _worse(metric) == "up" or (role == "guardrail" and _worse(metric) is None)
    bad = delta > 0 if up_is_bad else delta < 0
    # Towards the bad one side is looked at: its chance is half of the two-sided one.
    corrected = min(1.0, p * family / 2)
    verdict = "open" if corrected >= alpha else "worse" if bad else "better" if role == "metric" else "open"
    return found | {
        "delta": delta, "low": delta - half, "high": delta + half, "p_value": p, "p_adjusted": corrected,
        "verdict": verdict, "n_needed": math.ceil(sum(variances) * ((boundary(r, alpha) + _Z_POWER) / change) ** 2),
    }  # fmt: skip


def arm_lines(found: pd.DataFrame) -> list[str]:
    """The rows of :func:`compare_arms` as sentences in the language in force."""
    return [_t("logs.arms.line", **row) for row in arm_rows(found)]


def arm_rows(found: pd.DataFrame) -> list[dict[str, str]]:
    """What the rows of :func:`compare_arms` say, as texts in the language in force."""
    lines = []
    for row in found.to_dict("records"):
        name = {LATENCY: "latency_p50", REFUSED: "refusal_rate", ERROR: "error_rate"}.get(row["metric"], row["metric"])
        verdict = "open_guardrail" if row["verdict"] == "open" and row["role"] == "guardrail" else row["verdict"]
        change = {key: score(row[key], decimals=3, signed=True) for key in ("delta", "low", "high")}
        needed = "–" if row["n_needed"] != row["n_needed"] or row["n_needed"] is None else f"{int(row['n_needed']):,}"
        lines.append(dict(
            mark={"worse": "✗", "better": "✓"}.get(row["verdict"], "○"),
            metric=_t("logs.arms.latency") if row["metric"] == LATENCY else statistic_title(name),
            role=_t(f"logs.arms.role_{row['role']}"), arm=row["arm"], control=row["control"],
            value=value_text(name, row["value"]), value_control=value_text(name, row["value_control"]), n=f"{row['n']:,}",
            n_control=f"{row['n_control']:,}", verdict=_t(f"logs.arms.{verdict}", n=needed), **change,
        ))  # fmt: skip
    return lines


def _mean(values: NDArray[np.float64], metric: str) -> float:
    if not len(values):
        return math.nan
    return float(np.exp(values.mean()) if metric == LATENCY else values.mean())


def mixture(change: float, level: float = 0.1) -> float:
    """ρ², a squared difference: the boundary is tightest at 1.5 times the requests of a single look."""
    least = -2 * math.log(level)
    return (least + math.log(least + 1)) * (change / (Z + _Z_POWER)) ** 2 / 1.5


def boundary(r: float, alpha: float) -> float:
    """What the standardised difference exceeds ever with a chance of at most ``alpha``, in either direction."""
    return math.sqrt((1 + 1 / r) * (math.log1p(r) - 2 * math.log(alpha)))


def anytime_p(z: float, r: float) -> float:
    """The level at which the boundary is where the difference is; in (0, 1]."""
    return min(1.0, math.exp(0.5 * (math.log1p(r) - z * z / (1 + 1 / r))))
