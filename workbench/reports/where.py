"""Section 3: where the failures are. Query types, case types, languages, and the worst slices."""

from __future__ import annotations

from typing import Any

from workbench.diagnosis.breakdown import grouped, outcomes
from workbench.diagnosis.dimensions import Dimensions, value_title
from workbench.diagnosis.slices import worst_slices
from workbench.diagnosis.statistics import wilson
from workbench.language import text as _t
from workbench.reports import words
from workbench.reports.report import Breakdown, Material, SliceRow
from workbench.views.names import cause_title

#: Fewest samples of a part that stands by itself.
MIN_N = 5
#: Slices, and parts of one dimension, shown.
WORST, PARTS = 6, 15
#: Causes named beside a part.
CAUSES = 4
DIMENSIONS = ("query_type", "case_type", "language")


def places(material: Material) -> tuple[Breakdown, ...]:
    """One table for each dimension that parts the samples, and the worst slices."""
    dimensions, found = Dimensions(material.evaluation), outcomes(material.evaluation)
    tables = [_breakdown(dimensions, found, by) for by in DIMENSIONS]
    return (*(table for table in tables if table is not None), _worst(material))


def _breakdown(dimensions: Dimensions, found: Any, by: str) -> Breakdown | None:
    """One dimension; None where all samples are of one kind."""
    if len(dimensions[by].values) < 2 or not found.tested.any():
        return None
    frame = grouped(dimensions, found, by, MIN_N)[0]
    frame = frame[(frame["n"] > 0).to_numpy()]
    rows = tuple(_row(by, row) for row in frame.head(PARTS).itertuples())
    notes = [_t("report.where.several", n=words.count(frame.attrs["n_tested"])) if frame.attrs["multiple"] else ""]
    if len(frame) > PARTS:
        notes.append(_t("report.where.first", shown=PARTS, n=words.count(len(frame))))
    return Breakdown(by, _t(f"report.where.{by}"), rows, words.sentences(notes))


def _row(by: str, row: Any) -> SliceRow:
    name = str(row.value) if row.folded else value_title(by, str(row.value))
    return SliceRow(name, int(row.n), int(row.n_failing), float(row.rate), float(row.low), float(row.high),
                    _causes(row.causes))  # fmt: skip


def _causes(causes: dict[str, int]) -> str:
    """The most frequent causes with their counts, in one line."""
    named = [f"{cause_title(name)} {n}" for name, n in list(causes.items())[:CAUSES]]
    return words.listed(named) + ("…" if len(causes) > CAUSES else "")


def _worst(material: Material) -> Breakdown:
    frame = worst_slices(material.evaluation)
    tried = frame.attrs.get("n_tried", 0)
    rows = tuple(_slice(row) for row in frame.head(WORST).itertuples())
    key = "worst_note" if rows else "no_slice" if tried else "nothing_tried"
    reason = _t(f"report.where.{key}", n=words.count(frame.attrs.get("n_tested", 0)), tried=words.count(tried))
    return Breakdown("worst", _t("report.where.worst"), rows, reason)


def _slice(row: Any) -> SliceRow:
    interval = wilson(row.n_failing, row.n)
    return SliceRow(str(row.rule), int(row.n), int(row.n_failing), float(row.rate), interval.low, interval.high,
                    lift=float(row.lift), q_value=float(row.q_value))  # fmt: skip
