"""One run out of a file of several, and case fields joined to a recording."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from workbench.data import validate
from workbench.data.formats.records import WHOLE_FILE, Records, Remark
from workbench.data.reading import Fields
from workbench.data.validate import Unreadable
from workbench.errors import InputError

#: Fields that are recorded with an answer and never come from the cases.
RECORDED = ("answer", "contexts", "citations", "refused", "latency_ms", "usage", "error", "sampled_answers", "logprobs")


def chosen_run(records: Records, column: str | None, run: str | None, where: str) -> Records:
    """The rows of ``run``; all of them when the source has no such column, or only one run in it.

    Raises
    ------
    InputError
        When there are several runs and none is chosen, or the chosen one is not there: it names the runs.
    """
    if column is None:
        if run is not None:
            raise InputError(f"{where}: run={run!r} is asked for and there is no column named run; leave run= out")
        return records
    labels = [_label(row.get(column)) for row in records.rows]
    names = list(dict.fromkeys(label for label in labels if label is not None))
    shown = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
    if run is None and len(names) <= 1:
        return records
    if run is None:
        raise InputError(f"{where}: holds {len(names)} runs ({shown}); choose one with run={names[0]!r}")
    if str(run) not in names:
        raise InputError(f"{where}: there is no run {run!r}; it holds {shown or 'none'}")
    return _only(records, [at for at, label in enumerate(labels) if label == str(run)], labels.count(None))


def _only(records: Records, kept: list[int], n_without: int) -> Records:
    warnings = list(records.warnings)
    if n_without:
        warnings.append(
            Remark(WHOLE_FILE, "run", f"is missing in {n_without} rows, which belong to no run and were left out")
        )
    rows, numbers = [records.rows[at] for at in kept], [records.numbers[at] for at in kept]
    return replace(records, rows=rows, numbers=numbers, warnings=warnings)


def _label(value: Any) -> str | None:
    try:
        return validate.identifier(value)
    except Unreadable:
        return None


def fill_from_cases(fields: Fields, cases: Fields, *, by_question: bool) -> None:
    """Fill what ``fields`` lacks from the case with the same id (or question); what was recorded stays.

    Samples without a case and cases without a sample are warnings.
    """
    positions: dict[str, int] = {}
    for at, key in enumerate(_keys(cases, by_question)):
        if key is not None:
            positions.setdefault(key, at)
    keys = _keys(fields, by_question)
    matches = [None if key is None else positions.get(key) for key in keys]
    for name in cases.values:
        if name != "sample_id" and name not in RECORDED:
            fields.values[name] = _filled(fields.column(name), cases.values[name], matches)
    if by_question:
        _take_ids(fields, cases, matches)
    for name, values in cases.own.items():
        fields.own[name] = _filled(fields.own.get(name, [None] * len(matches)), values, matches)
    _report(fields, cases, matches, "question" if by_question else "id")


def _take_ids(fields: Fields, cases: Fields, matches: list[int | None]) -> None:
    ids, theirs = fields.values["sample_id"], cases.values["sample_id"]
    fields.values["sample_id"] = [own if at is None else theirs[at] for own, at in zip(ids, matches, strict=True)]


def _filled(values: list[Any], theirs: list[Any], matches: list[int | None]) -> list[Any]:
    return [
        theirs[at] if value is None and at is not None else value for value, at in zip(values, matches, strict=True)
    ]


def _keys(fields: Fields, by_question: bool) -> list[str | None]:
    if not by_question:
        return fields.values["sample_id"]
    from workbench.data.normalising import normalise

    return [None if question is None else normalise(question) for question in fields.column("question")]


def _report(fields: Fields, cases: Fields, matches: list[int | None], by: str) -> None:
    fields.warnings += [
        Remark(number, "sample_id", f"has no case with its {by}; case fields stay as recorded")
        for number, at in zip(fields.numbers, matches, strict=True)
        if at is None
    ]
    unused = len(cases.numbers) - len({at for at in matches if at is not None})
    if unused:
        fields.warnings.append(Remark(WHOLE_FILE, "sample_id", f"{unused} cases have no sample in this recording"))
