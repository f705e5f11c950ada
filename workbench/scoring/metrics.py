"""All metrics: their definitions in one table, and their computation from a view."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.data.schema import none_if_missing
from workbench.errors import InputError
from workbench.language import has_text, text
from workbench.scoring.groups import answer, contexts, joint, ranking, refusal
from workbench.scoring.scored import INPUT_ERROR, NOT_APPLICABLE, Scored, ratio, settle
from workbench.scoring.view import Group, Metric, View

if TYPE_CHECKING:
    import pandas as pd


# ------------------------------------------------------------------------------
# Metrics of the user's own: a plain function of a sample, registered under a name.


#: Takes a row (field → value; ``contexts`` a list of mappings) and returns a number, or None where it does not apply.
RowFunction = Callable[[Mapping[str, Any]], float | bool | None]

_custom: dict[str, tuple[Metric, RowFunction]] = {}


def metric(
    name: str,
    function: RowFunction | None = None,
    *,
    needs: tuple[str, ...] = (),
    low: float = 0.0,
    high: float = 1.0,
    higher_is_better: bool | None = True,
    formula: str = "",
) -> Any:
    """Register a metric; also usable as a decorator: ``@wb.metric("words")``.

    Parameters
    ----------
    name
        Its column; must not be a built-in one.
    function
        Takes a sample's row (fields as in the data contract) and returns a number, a bool, or None where the metric does
        not apply. A value that is not finite is undefined; an exception makes that sample ``input_error``.
    needs
        Fields without which it is not applicable.
    low, high
        Its range; a value outside is ``input_error``.

    Raises
    ------
    InputError
        For a name that is taken by a built-in metric.
    """

    if not isinstance(name, str) or name in {item.name.partition("@")[0] for item in METRICS} or "@" in name or not name:
        raise InputError(f"metric name {name!r} is taken or has an '@'; choose another")

    def register(chosen: RowFunction) -> RowFunction:
        definition = Metric(name, "own", formula or (chosen.__doc__ or "").strip().split("\n")[0], needs, "no finite value",
                            low=low, high=high, higher_is_better=higher_is_better)  # fmt: skip
        _custom[name] = (definition, chosen)
        return chosen

    return register if function is None else register(function)


def unregister(name: str) -> None:
    """Forget a registered metric; unknown names are ignored."""
    _custom.pop(name, None)


def registered() -> tuple[Metric, ...]:
    """The definitions of all registered metrics."""
    return tuple(definition for definition, _ in _custom.values())


def is_custom(name: str) -> bool:
    """Whether ``name`` is a registered metric."""
    return name in _custom


def compute_custom(view: View, name: str) -> Scored:
    """A registered metric over all samples; no threshold changes it."""
    return view.facts.once(("own", name, _custom[name][1]), lambda: _compute(view, name))


def _compute(view: View, name: str) -> Scored:
    definition, function = _custom[name]
    rows = view.facts.rows()
    values, wrong, absent = np.full(view.n, np.nan), np.zeros(view.n, dtype=bool), np.zeros(view.n, dtype=bool)
    for code, row in enumerate(rows):
        if any(none_if_missing(row.get(needed)) is None for needed in definition.needs):
            absent[code] = True
            continue
        try:
            result = function(row)
            values[code] = np.nan if result is None else float(result)
        except Exception:  # noqa: BLE001 - a user's function may raise or return anything; its sample says so
            wrong[code] = True
            continue
        absent[code] = result is None
    with np.errstate(invalid="ignore"):
        wrong |= (values < definition.low) | (values > definition.high)
    return settle(values, (wrong, INPUT_ERROR), (absent, NOT_APPLICABLE))


# ------------------------------------------------------------------------------
# One number for a sample, only where the user asks for it, and the word for its level.


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


# ------------------------------------------------------------------------------


#: Metrics that are computed together, in the order in which they are shown, and what computes them.
GROUPS: tuple[tuple[tuple[Metric, ...], Group], ...] = (
    (ranking.METRICS, ranking.compute), (contexts.METRICS, contexts.compute), (answer.METRICS, answer.compute),
    (refusal.METRICS, refusal.compute), (joint.SIGN_METRICS, joint.compute_signs), (joint.METRICS, joint.compute),
)  # fmt: skip

#: Every built-in metric in the order in which they are shown; ``{k}`` stands for the depth in force.
METRICS: tuple[Metric, ...] = (*(metric for metrics, _ in GROUPS for metric in metrics), OVERALL)


def definitions(k: int) -> dict[str, Metric]:
    """Every metric, built in or registered, by its name at depth ``k``."""

    return {metric.name.format(k=k): metric for metric in (*METRICS, *registered())}


def chosen(metrics: str | Iterable[str] | None, k: int) -> list[str]:
    """Names of the metrics to compute: the default set, ``"all"``, or those asked for.

    A name of a ranking metric may leave out its depth. Raises ``InputError`` for a name that does not exist.
    """
    known = definitions(k)
    if metrics is None:
        return [name for name, metric in known.items() if metric.default]
    if metrics == "all":
        return [name for name in known if name != OVERALL.name]
    names = [metrics] if isinstance(metrics, str) else list(metrics) if isinstance(metrics, Iterable) else [metrics]
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise InputError(f"metric {wrong[0]!r}: give names of metrics; wb.metrics_table() lists them")
    return [_known(name, known, k) for name in names]


def _known(name: str, known: Mapping[str, Metric], k: int) -> str:
    for candidate in (name, f"{name}@{k}"):
        if candidate in known:
            return candidate
    import difflib

    base = name.partition("@")[0]
    if f"{base}@{k}" in known:
        raise InputError(f"metric {name!r}: the depth in force is {k}; set it by thresholds k={name.partition('@')[2]}")
    close = difflib.get_close_matches(base, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "wb.metrics_table() lists them"
    raise InputError(f"metric {name!r} is not known; {hint}")


@cache
def _owners() -> dict[str, Callable[[View], Mapping[str, Scored]]]:
    return {metric.name: compute for metrics, compute in GROUPS for metric in metrics}


def score(view: View, name: str) -> Scored:
    """One metric over all samples."""

    if name == OVERALL.name:
        return overall(view)
    if is_custom(name):
        return compute_custom(view, name)
    base, at, _ = name.partition("@")
    return view.once(_owners()[f"{base}@{{k}}" if at else name])[name]


def metrics_table(language: str | None = None) -> pd.DataFrame:
    """Every metric, the user's own last: its definition, what it needs, and when it is undefined.

    Parameters
    ----------
    language
        Of ``title`` and ``reading``, ``"en"`` or ``"zh"``; default: the one in force.

    Returns
    -------
    DataFrame, index ``metric``: ``title``; ``reading``: one sentence on what it says and which way is better; ``group``;
    ``formula``; ``range``; ``higher_is_better`` (None: neither); ``needs``: fields without which it is not applicable;
    ``undefined_when``; ``source``; ``default``: whether it is computed unless others are asked for.

    Symbols of the formulas, for one sample: the answer has n claims, the reference m, and T contexts were recorded.
    S: claims of the answer that the contexts support; R: those that the reference supports; X: claims of the reference
    that the contexts support; A: those that the answer makes. D = n without the unsure claims. v_t is 1 where context t
    is relevant, else 0.
    """
    import pandas as pd


    rows = [_row(metric, language) for metric in (*METRICS, *registered())]
    return pd.DataFrame(rows).set_index("metric")


def _row(metric: Metric, language: str | None) -> dict[str, object]:
    base = metric.name.partition("@")[0]
    title, reading = (
        text(f"metrics.{base}.{part}", language) if has_text(f"metrics.{base}.{part}") else fallback
        for part, fallback in (("name", base), ("reading", metric.formula))
    )
    return {
        "metric": metric.name.format(k="k"),
        "title": title,
        "reading": reading,
        "group": metric.group,
        "formula": metric.formula,
        "range": f"[{metric.low:g}, {'∞' if np.isinf(metric.high) else f'{metric.high:g}'}]",
        "higher_is_better": metric.higher_is_better,
        "needs": ", ".join(metric.needs),
        "undefined_when": metric.undefined,
        "source": metric.source,
        "default": metric.default,
    }
