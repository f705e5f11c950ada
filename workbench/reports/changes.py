"""Section 4: what changed against the baseline."""

from __future__ import annotations

from typing import Any

from workbench.data.schema import none_if_missing
from workbench.diagnosis.comparison import CHANGES, Comparison
from workbench.diagnosis.failing import PASSED
from workbench.reports.report import Changes, Flow, Material, Moved
from workbench.views.names import cause_title


def compared(before: Any, after: Any) -> Comparison:
    """The comparison of two evaluations."""
    return Comparison(before, after)


def changes(material: Material) -> Changes | None:
    """Counts, flows of causes, and the samples that were fixed or broken; None without a baseline."""
    comparison = material.comparison
    if comparison is None:
        return None
    flips = comparison.flips().set_index("sample_id")
    flipped = flips[flips["change"].isin(("broken", "fixed")).to_numpy()].sort_values("change", kind="stable")
    moved = [_moved(material, str(name), row) for name, row in flipped.iterrows()]
    red = comparison.red_lines()["change"].tolist()
    return Changes(
        {name: getattr(comparison.counts, name) for name in CHANGES}, len(comparison), _flows(comparison.ledger()),
        tuple(item for item in moved if item.answer_changed), tuple(item for item in moved if not item.answer_changed),
        _noise(material, comparison), {name: red.count(name) for name in ("new", "gone", "still")},
        _smallest(comparison), tuple(comparison.warnings), tuple(comparison.notes),
    )  # fmt: skip


def _moved(material: Material, sample_id: str, row: Any) -> Moved:
    return Moved(
        sample_id, str(material.samples.at[sample_id, "question"]), str(row.get("change") or ""),
        cause_title(row["cause_before"]), cause_title(row["cause_after"]), bool(row.get("answer_changed", False)),
    )  # fmt: skip


def _noise(material: Material, comparison: Comparison) -> tuple[Moved, ...]:
    return tuple(_moved(material, str(name), row) for name, row in comparison.noise().set_index("sample_id").iterrows())


def _flows(ledger: Any) -> tuple[Flow, ...]:
    return tuple(
        Flow(cause_title(row.cause_before), cause_title(row.cause_after), int(row.n), tuple(map(str, row.sample_ids)),
             row.cause_before != row.cause_after)
        for row in ledger.itertuples()
    )  # fmt: skip


def _smallest(comparison: Comparison) -> float | None:
    """The smallest change of the pass rate that this many pairs could show."""
    value = none_if_missing(comparison.tests([PASSED])["smallest_detectable"].iloc[0])
    return None if value is None else float(value)
