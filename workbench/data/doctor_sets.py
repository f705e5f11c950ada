"""Checks of the set as a whole: what loading left out, how it differs from other sets, what would unlock more."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from workbench.data.doctor import Finding, Level, Patient
from workbench.data.normalising import normalise


def loading(patient: Patient) -> Iterator[Finding]:
    """Rows that were rejected, and values that could not be read."""
    rejected = patient.samples.rejected
    if len(rejected):
        rows = rejected["row"].drop_duplicates()
        shown = ", ".join(map(str, rows[:5])) + (", …" if len(rows) > 5 else "")
        yield Finding(
            "rejected_rows", "error", n=len(rows), values={"rows": shown, "reason": rejected["reason"].iloc[0]}
        )
    for name, reasons in patient.samples.attributes.get("input_errors", {}).items():
        values = {"field": name, "reason": next(iter(reasons.values()))}
        yield Finding("unreadable_values", "error", list(reasons), values=values)


def other_sets(patient: Patient) -> Iterator[Finding]:
    """Samples that only one of the sets has, and ids that mean different cases in them."""
    mine = dict(zip(patient.ids, patient.questions, strict=True))
    for other in patient.others:
        theirs = dict(zip(other.frame.index.tolist(), map(normalise, other.frame["question"]), strict=True))
        here, there = [one for one in mine if one not in theirs], [one for one in theirs if one not in mine]
        values = {"other": other.name, "here": len(here), "there": len(there), "shared": len(mine) - len(here)}
        if here or there:
            level: Level = "error" if not values["shared"] else "warning"
            yield Finding("different_samples", level, here + there, values=values)
        differing = [one for one in mine if one in theirs and mine[one] != theirs[one]]
        if differing:
            yield Finding("different_questions", "error", differing, values=values)
        relabelled = _relabelled(
            patient,
            dict(zip(other.frame.index.tolist(), other.frame["reference"].tolist(), strict=True)),
            set(differing),
        )
        if relabelled:
            yield Finding("different_references", "warning", relabelled, values=values)


def _relabelled(patient: Patient, theirs: dict[str, str | None], differing: set[str]) -> list[str]:
    """Ids of shared samples with the same question whose references differ."""
    return [
        one
        for one, reference in zip(patient.ids, patient.column("reference"), strict=True)
        if one in theirs and one not in differing and reference and theirs[one] and reference != theirs[one]
    ]


def _any(name: str) -> Callable[[Patient], bool]:
    return lambda patient: any(value is not None for value in patient.column(name))


#: What a set may lack, and whether it has it. What it would unlock is in the texts.
UNLOCKS: dict[str, Callable[[Patient], bool]] = {
    "answer": _any("answer"),
    "contexts": _any("contexts"),
    "reference": _any("reference"),
    "expected_docs": _any("expected_docs"),
    "doc_id": lambda patient: bool(patient.retrieved_ids) or not any(patient.contexts),
    "corpus": lambda patient: patient.corpus is not None,
    "must_include": _any("must_include"),
    "expect_refusal": _any("expect_refusal"),
    "tenant": _any("tenant"),
    "case_type": _any("case_type"),
    "latency_ms": lambda patient: bool(patient.samples.frame["latency_ms"].notna().any()),
}


def unlocks(patient: Patient) -> Iterator[Finding]:
    """Columns that are not there, and what they would make possible."""
    for name, has in UNLOCKS.items():
        if patient.ids and not has(patient):
            yield Finding(f"unlock_{name}", "note", n=len(patient.ids))


CHECKS = (loading, other_sets)
NOTES = (unlocks,)
