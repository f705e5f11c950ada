"""All metrics: their definitions in one table, and their computation from a view."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from workbench.errors import InputError
from workbench.language import has_text, text
from workbench.scoring.groups import answer, contexts, joint, ranking, refusal, signs
from workbench.scoring.metric import Metric, View
from workbench.scoring.overall import OVERALL, overall
from workbench.scoring.scored import Scored

if TYPE_CHECKING:
    import pandas as pd

_MODULES = (ranking, contexts, answer, refusal, signs, joint)

#: Every built-in metric in the order in which they are shown; ``{k}`` stands for the depth in force.
METRICS: tuple[Metric, ...] = (*(metric for module in _MODULES for metric in module.METRICS), OVERALL)


def definitions(k: int) -> dict[str, Metric]:
    """Every metric, built in or registered, by its name at depth ``k``."""
    from workbench.scoring.custom import registered

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
    return {metric.name: module.compute for module in _MODULES for metric in module.METRICS}


def score(view: View, name: str) -> Scored:
    """One metric over all samples."""
    from workbench.scoring.custom import compute_custom, is_custom

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

    from workbench.scoring.custom import registered

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
