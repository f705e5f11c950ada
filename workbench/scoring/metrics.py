"""All metrics: their definitions in one table, those of the user's own, and their computation from a view."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from workbench.data.schema import none_if_missing
from workbench.errors import InputError
from workbench.language import has_text, text
from workbench.scoring.groups import answer, contexts, joint, ranking, refusal
from workbench.scoring.scored import INPUT_ERROR, NOT_APPLICABLE, Scored, ratio, with_states
from workbench.scoring.view import Metric, View

if TYPE_CHECKING:
    import pandas as pd


# ---------------------------------------------------------------- one number for a sample, only where the user asks for it

#: Weights of the parts; those without a score are left out and the rest scaled up, which ``formulas`` shows.
WEIGHTS = {
    "faithfulness": 0.3, "answer_relevancy": 0.2, "context_precision": 0.15, "context_recall": 0.2,
    "answer_correctness": 0.15,
}  # fmt: skip

#: Words for the level of such a number, by the least that each asks for.
LEVELS = ((0.9, "excellent"), (0.7, "good"), (0.5, "fair"))


def overall(view: View) -> dict[str, Scored]:
    """Weighted mean of the parts that have a score. Never average it over samples with different ``formulas``."""
    values = _parts(view)
    weights = np.array(list(WEIGHTS.values()))[:, None]
    known = ~np.isnan(values)
    mean = ratio((np.where(known, values, 0) * weights).sum(axis=0), (known * weights).sum(axis=0))
    return {"overall": with_states(mean)}


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
    return np.stack([score(view, name).values for name in WEIGHTS])


OVERALL = Metric(
    "overall",
    "Σ weight · score / Σ weight over those that are ok (" + ", ".join(f"{w} {n}" for n, w in WEIGHTS.items()) + ")",
    tuple(WEIGHTS),
    "none of them has a score",
    "joint",
    default=False,
)


# ---------------------------------------------------------------- the table

#: Every built-in metric in the order in which they are shown; ``{k}`` stands for the depth in force.
METRICS: tuple[Metric, ...] = tuple(
    dataclasses.replace(item, compute=compute)
    for items, compute in (
        (ranking.METRICS, ranking.compute), (contexts.METRICS, contexts.compute), (answer.METRICS, answer.compute),
        (refusal.METRICS, refusal.compute), (joint.SIGN_METRICS, joint.compute_signs), (joint.METRICS, joint.compute),
        ((OVERALL,), overall),
    )
    for item in items
)  # fmt: skip

#: The metric that answers "how good is it?".
HEADLINE = "end_to_end_correct"

_own: dict[str, Metric] = {}


def every_metric() -> tuple[Metric, ...]:
    """Every metric, built in and then registered."""
    return (*METRICS, *_own.values())


def definitions(k: int) -> Mapping[str, Metric]:
    """Every metric by its name at depth ``k``."""
    return _definitions(k, tuple(_own.values()))


@lru_cache(maxsize=64)
def _definitions(k: int, own: tuple[Metric, ...]) -> Mapping[str, Metric]:
    return {item.name.format(k=k): item for item in (*METRICS, *own)}


def definition(name: str) -> Metric | None:
    """The definition of a metric, whatever the depth in its name; None for an unknown one."""
    base, at, depth = name.partition("@")
    return definitions(int(depth) if depth.isdigit() else 1).get(name) if at else definitions(1).get(base)


def score(view: View, name: str) -> Scored:
    """One metric over all samples."""
    compute = definitions(view.t.k)[name].compute
    assert compute is not None
    return view.once(compute)[name]


def chosen(metrics: str | Iterable[str] | None, k: int) -> list[str]:
    """Names of the metrics to compute: the default set, ``"all"``, or those asked for.

    A name of a ranking metric may leave out its depth or call it k, as the tables do. Raises ``InputError`` for a name
    that does not exist.
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
    for candidate in (name, f"{name}@{k}", f"{name.removesuffix('@k')}@{k}"):
        if candidate in known:
            return candidate
    base = name.partition("@")[0]
    if f"{base}@{k}" in known:
        raise InputError(f"metric {name!r}: the depth in force is {k}; set it by thresholds k={name.partition('@')[2]}")
    close = difflib.get_close_matches(base, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "wb.metrics_table() lists them"
    raise InputError(f"metric {name!r} is not known; {hint}")


# ---------------------------------------------------------------- metrics of the user's own


def metric(
    name: str,
    function: Callable[[Any], Any] | None = None,
    *,
    needs: tuple[str, ...] = (),
    over: Literal["row", "evidence"] = "row",
    low: float = 0.0,
    high: float = 1.0,
    higher_is_better: bool | None = True,
    formula: str = "",
    **more: Any,
) -> Any:
    """Register a metric; also usable as a decorator. It then stands in scores, summary, panels, reports and the gate.

    Parameters
    ----------
    name
        Its column; must not be a built-in one.
    function
        Takes a sample's row (field → value as in the data contract; ``contexts`` a list of mappings) and returns a number,
        a bool, or None where the metric does not apply. A value that is not finite is undefined; an exception makes that
        sample ``input_error``.
    over
        ``"evidence"``: the function takes the evidence instead (the frames ``samples``, ``contexts``, ``claims``,
        ``support``, ``questions``) and returns one number a sample, NaN where the metric does not apply.
    needs
        Fields without which it is not applicable.
    low, high
        Its range; a value outside is ``input_error``.
    more
        Further attributes of :class:`workbench.scoring.view.Metric`: ``target``, ``low_score``, ``low_fails``,
        ``in_report``, ``in_overview``, ``layer``, ``binary`` …

    Raises
    ------
    InputError
        For a name that is taken by a built-in metric, or an unknown attribute.

    Examples
    --------
    >>> @wb.metric("answer_words", needs=("answer",), high=1000, higher_is_better=None)
    ... def answer_words(row):
    ...     "Words of the answer."
    ...     return len(row["answer"].split())
    >>> wb.metrics_table().loc["answer_words", "formula"]
    'Words of the answer.'
    """
    if not isinstance(name, str) or name in {item.base for item in METRICS} or "@" in name or not name:
        raise InputError(f"metric name {name!r} is taken or has an '@'; choose another")
    if over not in ("row", "evidence"):
        raise InputError(f"metric {name!r}: over is {over!r}; use 'row' or 'evidence'")

    def register(chosen: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Make it a metric; without a formula the first line of the docstring is it."""
        said = formula or (chosen.__doc__ or "").strip().split("\n")[0]
        values = _over_rows if over == "row" else _over_evidence

        def compute(view: View) -> dict[str, Scored]:
            return {name: view.facts.once(compute, lambda: values(view, _own[name], chosen))}  # no threshold changes it

        try:
            _own[name] = Metric(
                name, said, needs, "no finite value", low=low, high=high, higher_is_better=higher_is_better,
                compute=compute, **{"read_from": "own function", **more},
            )  # fmt: skip
        except TypeError as error:
            raise InputError(f"metric {name!r}: {error}; see workbench.scoring.view.Metric") from error
        return chosen

    return register if function is None else register(function)


def unregister(name: str) -> None:
    """Forget a registered metric; unknown names are ignored."""
    _own.pop(name, None)


def _over_rows(view: View, item: Metric, function: Callable[[Any], Any]) -> Scored:
    values, wrong, absent = np.full(view.n, np.nan), np.zeros(view.n, dtype=bool), np.zeros(view.n, dtype=bool)
    for code, row in enumerate(view.facts.rows()):
        if any(none_if_missing(row.get(needed)) is None for needed in item.needs):
            absent[code] = True
            continue
        try:
            result = function(row)
            values[code] = np.nan if result is None else float(result)
        except Exception:  # noqa: BLE001 - a user's function may raise or return anything; its sample says so
            wrong[code] = True
            continue
        absent[code] = result is None
    return _in_range(item, values, wrong, absent)


def _over_evidence(view: View, item: Metric, function: Callable[[Any], Any]) -> Scored:
    evidence = view.facts.evidence
    absent = np.zeros(view.n, dtype=bool)
    for needed in item.needs:
        absent |= np.array([value is None for value in evidence.plain(needed)], dtype=bool)
    try:
        values = np.array(function(evidence), dtype=float).reshape(view.n)
        wrong = np.zeros(view.n, dtype=bool)
    except Exception:  # noqa: BLE001 - as above; nothing is known of any sample
        values, wrong = np.full(view.n, np.nan), ~absent
    return _in_range(item, values, wrong, absent | (np.isnan(values) & ~wrong))


def _in_range(item: Metric, values: np.ndarray, wrong: np.ndarray, absent: np.ndarray) -> Scored:
    with np.errstate(invalid="ignore"):
        wrong = wrong | (values < item.low) | (values > item.high)
    return with_states(values, (wrong, INPUT_ERROR), (absent, NOT_APPLICABLE))


# ---------------------------------------------------------------- what they mean


def title(name: str, language: str | None = None) -> str:
    """The readable name of a metric, its depth kept; a user's own metric keeps its name."""
    base, at, depth = name.partition("@")
    return text(f"metrics.{base}.name", language) + at + depth if has_text(f"metrics.{base}.name") else name


def metrics_table(language: str | None = None) -> pd.DataFrame:
    """Every metric, the user's own last: its definition, what it needs, and when it is undefined.

    Parameters
    ----------
    language
        Of ``title`` and ``reading``, by its code; default: the one in force.

    Returns
    -------
    DataFrame, index ``metric``: ``title``; ``reading``: one sentence on what it says and which way is better; ``group``;
    ``formula``; ``range``; ``higher_is_better`` (None: neither); ``needs``: fields without which it is not applicable;
    ``undefined_when``; ``source``; ``default``: whether it is computed unless others are asked for.

    Symbols of the formulas, for one sample: the answer has n claims, the reference m, and T contexts were recorded.
    S: claims of the answer that the contexts support; R: those that the reference supports; X: claims of the reference
    that the contexts support; A: those that the answer makes. D = n without the unsure claims. v_t is 1 where context t
    is relevant, else 0.

    Examples
    --------
    >>> wb.metrics_table().loc["faithfulness", "formula"]
    'supported / D'
    """
    import pandas as pd

    return pd.DataFrame([_row(item, language) for item in every_metric()]).set_index("metric")


def _row(metric: Metric, language: str | None) -> dict[str, object]:
    reading = f"metrics.{metric.base}.reading"
    return {
        "metric": metric.name.format(k="k"),
        "title": title(metric.base, language),
        "reading": text(reading, language) if has_text(reading) else metric.formula,
        "group": metric.group,
        "formula": metric.formula,
        "range": f"[{metric.low:g}, {'∞' if np.isinf(metric.high) else f'{metric.high:g}'}]",
        "higher_is_better": metric.higher_is_better,
        "needs": ", ".join(metric.needs),
        "undefined_when": metric.undefined,
        "source": metric.source,
        "default": metric.default,
    }
