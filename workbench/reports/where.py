"""Section 3: where the failures are. Query types, case types, languages, and the worst slices."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any

from workbench.diagnosis.statistics import wilson
from workbench.language import text as _t
from workbench.reports import words
from workbench.reports.report import Breakdown, Material, SliceRow
from workbench.views.names import cause_title

#: Fewest samples of a part that is shown.
MIN_N = 5
#: Slices shown.
WORST = 6
DIMENSIONS = ("query_type", "case_type", "language")


def places(material: Material) -> tuple[Breakdown, ...]:
    """One table a dimension that the samples have, and the worst slices."""
    if importlib.util.find_spec("workbench.diagnosis.slices") is None:
        return ()
    tables = [_breakdown(material, by) for by in DIMENSIONS]
    return (*(table for table in tables if table is not None), _worst(material))


def _breakdown(material: Material, by: str) -> Breakdown | None:
    from workbench.diagnosis.slices import breakdown

    frame = breakdown(material.evaluation, by, min_n=MIN_N)
    if len(frame) < 2:
        return None
    rows = tuple(_row(row) for row in frame.sort_values("rate", ascending=False, kind="stable").itertuples())
    return Breakdown(by, _t(f"report.where.{by}"), rows, _t("report.where.min_n", n=MIN_N))


def _row(row: Any) -> SliceRow:
    return SliceRow(str(row.value), int(row.n), int(row.n_failing), float(row.rate), float(row.low), float(row.high),
                    _causes(row.causes))  # fmt: skip


def _causes(causes: Any) -> str:
    """Counts by cause in one line."""
    if isinstance(causes, Mapping):
        return words.listed(f"{cause_title(name)} {n}" for name, n in causes.items() if n)
    return str(causes)


def _worst(material: Material) -> Breakdown:
    from workbench.diagnosis.slices import worst_slices

    rows = tuple(_slice(row) for row in worst_slices(material.evaluation).head(WORST).itertuples())
    reason = "" if rows else _t("report.where.no_slice", n=words.count(material.n))
    return Breakdown("worst", _t("report.where.worst"), rows, reason)


def _slice(row: Any) -> SliceRow:
    interval = wilson(row.n_failing, row.n)
    return SliceRow(str(row.rule), int(row.n), int(row.n_failing), float(row.rate), interval.low, interval.high,
                    lift=float(row.lift), q_value=float(row.q_value))  # fmt: skip
