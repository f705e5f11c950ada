"""From records to columns of our fields: each value read by its reader, each failure kept with its row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.data import validate
from workbench.data.columns import alternates, coalesce, fold, is_score, near_miss, resolve
from workbench.data.contexts import contexts, with_parallel
from workbench.data.formats.records import WHOLE_FILE, Records, Remark, excerpt
from workbench.data.normalising import SURROGATE
from workbench.data.validate import Unreadable

#: How each field of the contract is read.
READERS: dict[str, Callable[[Any], Any]] = {
    "sample_id": validate.identifier,
    "question": validate.question,
    "answer": validate.answer,
    "contexts": contexts,
    "reference": validate.reference,
    "expected_docs": validate.expected_docs,
    "must_not_retrieve": validate.ids,
    "must_include": validate.phrases,
    "must_not_include": validate.phrases,
    "expect_refusal": validate.boolean,
    "refusal_phrases": validate.flat_phrases,
    "case_type": validate.text,
    "tags": validate.tags,
    "tenant": validate.identifier,
    "citations": validate.ids,
    "refused": validate.boolean,
    "latency_ms": validate.number,
    "usage": validate.usage,
    "error": validate.error_text,
    "sampled_answers": validate.texts,
    "logprobs": validate.logprobs,
}

_SECONDS = (
    "latency_s", "latency_seconds", "duration_s", "duration_seconds", "elapsed_seconds", "response_time_seconds",
    "completion_time",
)  # fmt: skip

#: Columns that are understood without being a field: never a near miss.
_UNDERSTOOD = {"reference_contexts", "success", "context_trace_id", "span_kind"}


@dataclass
class Fields:
    """Columns of one source, all as long as ``numbers``.

    ``values`` has the fields that the source holds; ``unreadable`` the remarks by field and position; ``own`` the
    columns that are none of our fields; ``scores`` those that another tool computed, as floats or None.
    """

    numbers: list[int]
    values: dict[str, list[Any]]
    own: dict[str, list[Any]]
    scores: dict[str, list[float | None]]
    unreadable: dict[str, dict[int, Remark]] = field(default_factory=dict)
    warnings: list[Remark] = field(default_factory=list)

    def column(self, name: str) -> list[Any]:
        """Values of a field; all None when the source does not hold it."""
        return self.values.get(name) or [None] * len(self.numbers)


def read_fields(records: Records, columns: Mapping[str, str]) -> Fields:
    """Read every field of ``columns`` (field → column of ``records``)."""
    fields = Fields(records.numbers, {}, {}, {})
    rows, used = coalesce(records.rows, columns, alternates(records.columns, columns))
    records = replace(records, rows=rows)
    used |= set(columns.values())
    for name, column in columns.items():
        if name in READERS:
            _read_field(fields, records, name, column)
    used |= _read_parallel(fields, records)
    used |= _read_seconds(fields, records)
    for column in records.columns:
        if column not in used:
            _read_other(fields, records, column, columns)
    return fields


def _read_field(fields: Fields, records: Records, name: str, column: str) -> None:
    reader, failures = READERS[name], fields.unreadable.setdefault(name, {})
    values: list[Any] = []
    for at, row in enumerate(records.rows):
        raw = row.get(column)
        try:
            value = None if raw is None else reader(raw)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            value = None
            reason = str(error) if isinstance(error, Unreadable) else f"cannot be read ({error})"
            failures[at] = Remark(records.numbers[at], name, excerpt(reason, 300), excerpt(raw))
        if value is not None and records.may_hold_surrogates and has_surrogate(value):
            value = scrubbed(value)
            reason = "held half characters (lone surrogates), which became U+FFFD"
            fields.warnings.append(Remark(records.numbers[at], name, reason, excerpt(value)))
        values.append(value)
    fields.values[name] = values


def has_surrogate(value: Any) -> bool:
    """Whether any text in ``value`` holds a lone surrogate."""
    if isinstance(value, str):
        return not value.isascii() and SURROGATE.search(value) is not None
    if isinstance(value, dict):
        return any(has_surrogate(key) or has_surrogate(part) for key, part in value.items())
    return isinstance(value, (list, tuple)) and any(map(has_surrogate, value))


def scrubbed(value: Any) -> Any:
    """``value`` with every lone surrogate in its texts replaced by U+FFFD."""
    if isinstance(value, str):
        return validate.scrub(value)
    if isinstance(value, dict):
        return {scrubbed(key): scrubbed(part) for key, part in value.items()}
    return [scrubbed(part) for part in value] if isinstance(value, (list, tuple)) else value


def _read_parallel(fields: Fields, records: Records) -> set[str]:
    """Ids, scores, … that stand in lists beside the texts of the contexts."""
    beside = resolve(records.columns, "parallel")
    if not beside:
        return set()
    values = fields.column("contexts")
    broken = fields.unreadable.get("contexts", {})
    for at, row in enumerate(records.rows):
        lists = {name: row.get(column) for name, column in beside.items() if row.get(column) is not None}
        if lists and at not in broken:
            values[at], remarks = with_parallel(values[at], lists)
            fields.warnings += [Remark(records.numbers[at], "contexts", remark) for remark in remarks]
    fields.values["contexts"] = values
    return set(beside.values())


def _read_seconds(fields: Fields, records: Records) -> set[str]:
    """A latency in seconds, when there is none in milliseconds."""
    column = next((name for name in records.columns if fold(name) in _SECONDS), None)
    if column is None or "latency_ms" in fields.values:
        return set()
    _read_field(fields, records, "latency_ms", column)
    fields.values["latency_ms"] = [None if value is None else 1000.0 * value for value in fields.values["latency_ms"]]
    return {column}


def _read_other(fields: Fields, records: Records, column: str, columns: Mapping[str, str]) -> None:
    values = [_own(row.get(column)) for row in records.rows]
    if (is_score(column) or column in records.score_columns) and _mostly_numbers(values):
        fields.scores[column] = _floats(fields, column, values)
        return
    fields.own[column] = [scrubbed(value) if has_surrogate(value) else value for value in values]
    field_name = None if fold(column) in _UNDERSTOOD else near_miss(column, taken=columns)
    if field_name is not None:
        pair = f"{{{column!r}: {field_name!r}}}"
        reason = f"is kept as a column of your own; did you mean {field_name}? Then pass mapping={pair}"
        fields.warnings.append(Remark(WHOLE_FILE, column, reason))


def _own(value: Any) -> Any:
    """A value of a column of the user's own: containers in the form of JSON, anything flat as it is."""
    value = validate.plain(value)
    try:
        return validate.jsonable(value) if isinstance(value, (list, Mapping, int)) else value
    except (ValueError, RecursionError):  # a list that holds itself, a key of more than 4,300 digits
        return excerpt(value)


def _mostly_numbers(values: list[Any]) -> bool:
    given = [value for value in values if value is not None]
    return sum(_float(value) is not None or _says_nothing(value) for value in given) * 2 >= len(given)


def _float(value: Any) -> float | None:
    try:
        return float(value) if isinstance(value, bool) else validate.number(value)
    except Unreadable:
        return None


def _says_nothing(value: Any) -> bool:
    try:
        return validate.number(value) is None
    except Unreadable:
        return False


def _floats(fields: Fields, column: str, values: list[Any]) -> list[float | None]:
    found = [_float(value) for value in values]
    for at, value in enumerate(values):
        if found[at] is None and value is not None and not _says_nothing(value):
            fields.warnings.append(
                Remark(fields.numbers[at], column, "is no number; the score counts as missing", excerpt(value))
            )
    return found
