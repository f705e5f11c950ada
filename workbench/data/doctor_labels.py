"""Checks of what the cases expect: duplicates, contradictions, cases that assert nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from workbench.data.doctor import Finding, Level, Patient
from workbench.data.normalising import normalise
from workbench.data.schema import alternatives

#: Any of these makes a case one that can be failed.
EXPECTATIONS = (
    "reference", "expected_docs", "must_not_retrieve", "must_include", "must_not_include", "expect_refusal",
)  # fmt: skip


def duplicate_questions(patient: Patient) -> Iterator[Finding]:
    """The same question in several samples: as a plain duplicate, or with other expectations."""
    same: list[int] = []
    contradicting: list[int] = []
    for places in _groups(patient):
        kept = (same, contradicting)[len({_expectation(patient, at) for at in places}) > 1]
        kept.extend(places)
    if same:
        yield Finding("duplicate_questions", "warning", [patient.ids[at] for at in sorted(same)])
    if contradicting:
        yield Finding("contradictory_labels", "error", [patient.ids[at] for at in sorted(contradicting)])


def _groups(patient: Patient) -> list[list[int]]:
    """Positions of samples that ask the same for the same tenant, where there are several."""
    groups: dict[tuple[str, Any], list[int]] = {}
    for at, (question, tenant) in enumerate(zip(patient.questions, patient.column("tenant"), strict=True)):
        groups.setdefault((question, tenant), []).append(at)
    return [places for places in groups.values() if len(places) > 1]


def _expectation(patient: Patient, at: int) -> tuple[Any, ...]:
    row = patient.samples.frame.iloc[at]
    expected = patient.expected[at]
    reference = row["reference"]
    return (
        None if reference is None else normalise(reference),
        None if expected is None else frozenset(expected),
        bool(row["expect_refusal"]) if row["expect_refusal"] is not None else None,
        repr(row["must_include"]),
        repr(row["must_not_include"]),
    )


def included_and_forbidden(patient: Patient) -> Iterator[Finding]:
    """A key point that is also forbidden, or that holds what is forbidden: no answer can pass."""
    flags = [_clash(wanted, banned) for wanted, banned in _pairs(patient, "must_include", "must_not_include")]
    if any(flags):
        yield Finding("included_and_forbidden", "error", patient.where(flags))


def _pairs(patient: Patient, left: str, right: str) -> list[tuple[Any, Any]]:
    return list(zip(patient.column(left), patient.column(right), strict=True))


def _clash(wanted: Any, banned: Any) -> bool:
    """Whether every alternative of some point holds a forbidden text."""
    forbidden = [normalise(one) for entry in banned or () for one in alternatives(entry)]
    points = [[normalise(one) for one in alternatives(entry)] for entry in wanted or ()]
    return any(point and all(any(ban and ban in one for ban in forbidden) for one in point) for point in points)


def refusal_with_points(patient: Patient) -> Iterator[Finding]:
    """A refusal is expected, and key points of an answer as well."""
    flags = [refusal is True and bool(points) for refusal, points in _pairs(patient, "expect_refusal", "must_include")]
    if any(flags):
        yield Finding("refusal_with_points", "error", patient.where(flags))


def expected_and_banned_documents(patient: Patient) -> Iterator[Finding]:
    """A document that is expected and must not be retrieved; patterns are globs."""
    flags = [
        any(fnmatchcase(doc_id, pattern) for doc_id in expected or () for pattern in _patterns(banned))
        for expected, banned in zip(patient.expected, patient.column("must_not_retrieve"), strict=True)
    ]
    if any(flags):
        yield Finding("expected_and_banned_documents", "error", patient.where(flags))


def _patterns(banned: Any) -> list[str]:
    return [one for entry in banned or () for one in alternatives(entry)]


def vacuous_cases(patient: Patient) -> Iterator[Finding]:
    """A case that expects nothing: whatever the system does, it cannot fail."""
    columns = [patient.column(name) for name in EXPECTATIONS]
    flags = [all(_says_nothing(value) for value in row) for row in zip(*columns, strict=True)]
    if any(flags):
        level: Level = "note" if all(flags) else "warning"
        yield Finding("vacuous_cases", level, patient.where(flags))


def _says_nothing(value: Any) -> bool:
    """None, or a list that asserts nothing; ``expected_docs == []`` asserts that nothing is to be retrieved."""
    return value is None


def missing_kinds(patient: Patient) -> Iterator[Finding]:
    """No case that should be refused; no case about what must not be seen."""
    if not patient.ids:
        return
    if not any(value is True for value in patient.column("expect_refusal")):
        yield Finding("no_refusal_cases", "note", n=0)
    has_permission = any(value for value in patient.column("must_not_retrieve")) or any(
        any(word in str(value or "").lower() for word in ("permission", "access", "权限", "越权"))
        for value in patient.column("case_type")
    )
    if not has_permission:
        yield Finding("no_permission_cases", "note", n=0)


def unbalanced_types(patient: Patient) -> Iterator[Finding]:
    """Types with so few samples that a rate over them says little, or that drown beside the largest."""
    sizes: dict[str, int] = {}
    types = patient.column("case_type")
    for value in types:
        if value is not None:
            sizes[value] = sizes.get(value, 0) + 1
    if len(sizes) < 2:
        return
    largest = max(sizes.values())
    small = {name for name, size in sizes.items() if size < 5 or size * 10 < largest}
    if small and len(small) < len(sizes):
        shown = ", ".join(f"{name} ({sizes[name]})" for name in sorted(small, key=sizes.__getitem__)[:6])
        ids = patient.where(value in small for value in types)
        yield Finding("unbalanced_types", "note", ids, values={"types": shown, "largest": largest})


def answers(patient: Patient) -> Iterator[Finding]:
    """Answers that are missing or blank; answers that are the reference word for word."""
    values = patient.column("answer")
    missing = [value is None for value in values]
    if values and all(missing):
        yield Finding("no_answers", "note", n=len(values))
    elif any(missing):
        yield Finding("missing_answers", "warning", patient.where(missing))
    blank = [value is not None and not value.strip() for value in values]
    if any(blank):
        yield Finding("empty_answers", "warning", patient.where(blank))
    copied = [
        bool(answer and reference) and len(reference) >= 20 and normalise(answer) == normalise(reference)
        for answer, reference in zip(values, patient.column("reference"), strict=True)
    ]
    if sum(copied) * 2 > len(copied) and len(copied) >= 3:
        yield Finding("answer_is_reference", "warning", patient.where(copied))


def languages(patient: Patient) -> Iterator[Finding]:
    """Questions in several languages; answers in another language than their question."""
    from workbench.data.text import language

    asked = [language(question) for question in patient.column("question")]
    counts: Mapping[str, int] = {name: asked.count(name) for name in dict.fromkeys(asked) if name != "other"}
    if len(counts) > 1:
        shown = ", ".join(f"{name} {n}" for name, n in sorted(counts.items(), key=lambda item: -item[1]))
        yield Finding("language_mix", "note", n=len(asked), values={"languages": shown})
    flags = [
        bool(answer) and len(answer) >= 20 and name != "other" and language(answer) not in (name, "other")
        for name, answer in zip(asked, patient.column("answer"), strict=True)
    ]
    if any(flags):
        yield Finding("answer_in_other_language", "note", patient.where(flags))


CHECKS = (
    duplicate_questions,
    included_and_forbidden,
    refusal_with_points,
    expected_and_banned_documents,
    vacuous_cases,
    answers,
    unbalanced_types,
    missing_kinds,
    languages,
)
