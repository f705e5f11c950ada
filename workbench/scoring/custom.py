"""Metrics of the user's own: a plain function of a sample, registered under a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from workbench.data.schema import none_if_missing
from workbench.errors import InputError
from workbench.scoring.metric import Metric, View
from workbench.scoring.scored import Scored, settle
from workbench.scoring.states import INPUT_ERROR, NOT_APPLICABLE

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
    from workbench.scoring.metrics import METRICS

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
