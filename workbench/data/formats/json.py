"""JSON in the shapes that people write: a list of records, wrapped, by column, by id, or one record a line."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.data.columns import is_score, named, resolve
from workbench.data.fields import TALKS, messages
from workbench.data.formats.records import SPAN_LISTS, SPAN_MARKS, Records, Remark, excerpt, number_records, why
from workbench.errors import InputError

_STARTS_JSON = re.compile(r"\s*[\[{]")


def parse_json(text: str) -> Any:
    """The JSON value in ``text``.

    Raises ``ValueError`` when it is no JSON, is nested too deeply, or holds an integer of more than 4,300 digits.
    """
    try:
        return json.loads(text)
    except (RecursionError, MemoryError) as error:
        raise ValueError("is nested too deeply") from error


def read_json(text: str, path: str, *, log: bool = False) -> Records | None:
    """Records of a JSON or JSON-lines text, or None when it is neither; of a ``log`` a single object is one record.

    Raises ``InputError`` when it begins as JSON and is broken, or is JSON in which no records are found.
    """
    if not _STARTS_JSON.match(text):
        return None
    try:
        value = parse_json(text)
    except ValueError as error:
        return _read_lines_or_fail(text, path, error)
    record = log or (isinstance(value, Mapping) and _names_a_question(value)
                     and not all(isinstance(part, (list, Mapping)) for part in value.values()))  # fmt: skip
    if isinstance(value, Mapping) and "\n" not in text.strip() and record:
        return number_records([value], "JSON lines")
    return records_in(value, path)


def records_in(value: Any, path: str) -> Records:
    """Find the records in a parsed JSON value.

    Raises ``InputError`` when there are none.
    """
    items = _find_records(value)
    if items is None:
        raise InputError(f"{path}: holds no list of records ({describe(value)}); give one record for each question")
    return number_records(items, "JSON")


def describe(value: Any) -> str:
    """What a JSON value looks like, in a few words."""
    if isinstance(value, Mapping):
        keys = ", ".join(excerpt(str(key), 30) for key in list(value)[:6])
        if value and all(type(item) in (int, float) for item in value.values()):
            return f"it looks like aggregate scores: {keys}"
        if any(is_score(str(key)) for key in value):
            return f"it looks like scores without questions: {keys}"
        return f"an object with the keys {keys}" if value else "an empty object"
    if isinstance(value, list):
        if not value:
            return "an empty list"
        return f"a list of {len(value)} items such as {excerpt(value[0], 40)}"
    return f"a single value, {excerpt(value, 40)}"


def _find_records(value: Any, depth: int = 0) -> Sequence[Any] | None:
    if isinstance(value, list):
        return [_unwrap(item) for item in value] if any(isinstance(item, Mapping) for item in value) else None
    if not isinstance(value, Mapping) or not value:
        return None
    columns: Sequence[Any] | None = _by_column(value)
    if _holds_spans(value) and not (columns and all(isinstance(part, Mapping) for part in value.values())):
        return [value]
    found: Sequence[Any] | None = columns or _split_orient(value) or _by_judged(value) or _by_question(value)
    found = found or _wrapped(value, depth) or _by_id(value)
    return found or ([value] if _names_a_record(value) or (not depth and _asks_inside(value)) else None)


def _unwrap(item: Any) -> Any:
    """The record in ``{"row_idx": 0, "row": {…}}``, as dataset servers send it."""
    if isinstance(item, Mapping) and isinstance(item.get("row"), Mapping) and "row_idx" in item:
        return item["row"]
    return item


def _split_orient(value: Mapping[str, Any]) -> list[Any] | None:
    """Records of ``{"columns": […], "data": [[…]]}``."""
    columns, data = value.get("columns"), value.get("data")
    if not (isinstance(columns, list) and isinstance(data, list) and data):
        return None
    if not all(isinstance(row, list) and len(row) == len(columns) for row in data):
        return None
    return [dict(zip(map(str, columns), row, strict=True)) for row in data]


def _by_column(value: Mapping[str, Any]) -> list[Any] | None:
    """Records of ``{"question": […], …}`` and ``{"question": {"0": …}, …}``."""
    parts = list(value.values())
    if all(isinstance(part, list) for part in parts):
        if len({len(part) for part in parts}) != 1 or not _names_a_record(value):
            return None
        return [dict(zip(value, row, strict=True)) for row in zip(*parts, strict=True)]
    if not all(isinstance(part, Mapping) for part in parts) or not _names_a_record(value):
        return None
    same = bool(parts[0]) and all(part.keys() == parts[0].keys() for part in parts)
    return [{name: part.get(key) for name, part in value.items()} for key in parts[0]] if same else None


def _by_judged(value: Mapping[str, Any]) -> list[Any] | None:
    """Records of ``{"queries": {id: text}, "relevant_docs": {id: [ids]}}``, as retrieval data sets are kept."""
    asked = value.get("queries")
    judged = next((value[name] for name in named("keys", "judged") if isinstance(value.get(name), Mapping)), None)
    if not (isinstance(asked, Mapping) and judged is not None and all(isinstance(text, str) for text in asked.values())):
        return None
    return [{"sample_id": key, "question": text, "expected_docs": judged.get(key)} for key, text in asked.items()]


def _wrapped(value: Mapping[str, Any], depth: int) -> Sequence[Any] | None:
    if depth > 3 or (_names_a_question(value) and not isinstance(value.get("questions"), list)):
        return None
    wrappers = named("keys", "records")
    known = [value[key] for key in wrappers if key in value]
    others = [part for key, part in value.items() if key not in wrappers and isinstance(part, list)]
    # The messages of one conversation are no records.
    others = [part for part in others if not (depth and messages(part))]
    objects = [part for key, part in value.items() if key not in wrappers and isinstance(part, Mapping)]
    lists = [
        found
        for part in [*known, *others, *objects]
        if isinstance(part, (list, Mapping)) and (found := _find_records(part, depth + 1))
        # An object under a name of its own holds records only when there is a list in it.
        and not (isinstance(part, Mapping) and found[0] is part and part in objects and not _holds_spans(part))
    ]
    # Scores of an evaluation may stand under the name of a list of samples: a list that asks questions comes first.
    asking = (
        found for found in lists if any(isinstance(item, Mapping) and _names_a_question(item) for item in found[:20])
    )
    return next(asking, None if not depth and _asks_inside(value) else next(iter(lists), None))


def _by_id(value: Mapping[str, Any]) -> list[Any] | None:
    """Records of ``{"q1": {"question": …}, …}``; the key is the id of a record that has none."""
    if not all(isinstance(part, Mapping) for part in value.values()):
        return None
    if _names_a_question(value) or 2 * sum(map(_names_a_record, value.values())) <= len(value):
        return None
    return [
        part if "sample_id" in resolve(list(map(str, part)), "sample") else {"id": key, **part}
        for key, part in value.items()
    ]


def _asks_inside(value: Mapping[str, Any], depth: int = 0) -> bool:
    """Whether an object is one record whose question stands in a part of it: a conversation, a request and its answer."""
    if any(isinstance(value.get(name), list) and messages(value[name]) for name in TALKS):
        return True
    told = resolve(list(map(str, value)), "sample")
    if "question" in told and told.keys() & {"answer", "contexts", "reference"}:
        return True
    return depth < 3 and any(isinstance(part, Mapping) and _asks_inside(part, depth + 1) for part in value.values())


def _by_question(value: Mapping[str, Any]) -> list[Any] | None:
    """Records of ``{"How many …?": {"answer": …}, …}`` and ``{"How many …?": "Five."}``."""
    asked = [str(key) for key in value]
    # NFKC also makes the full-width mark of Chinese a plain one.
    if 2 * sum(unicodedata.normalize("NFKC", key).rstrip().endswith("?") for key in asked) <= len(asked):
        return None
    parts = [part if isinstance(part, Mapping) else {"answer": part} for part in value.values()]
    known = [resolve(list(map(str, part)), "sample").keys() for part in parts]
    answered = all(fields & {"answer", "contexts", "reference"} for fields in known)
    return [{"question": key, **part} for key, part in zip(asked, parts, strict=True)] if answered else None


def _names_a_question(value: Mapping[str, Any]) -> bool:
    return _holds_spans(value) or "question" in resolve(list(map(str, value)), "sample") or "inputs" in value


def _holds_spans(value: Mapping[str, Any]) -> bool:
    """Whether an object is a span, or one trace or export of spans."""
    listed = [value.get(name) for name in (*SPAN_LISTS, "post")]
    return any(isinstance(part, list) and part and isinstance(part[0], Mapping) for part in listed) or any(
        str(name).startswith("gen_ai.") or name in SPAN_MARKS for name in value
    )


def _names_a_record(value: Mapping[str, Any]) -> bool:
    """Whether the keys are those of a sample or of a document."""
    return _names_a_question(value) or "text" in resolve(list(map(str, value)), "corpus")


_GAP = re.compile(r"[\s,]*")


def _one_after_another(text: str) -> list[Any] | None:
    """Objects that stand one after another, each over several lines, as exporters print spans; None for anything else."""
    if "\n{" not in text and "\n  " not in text:
        return None
    decoder, found, at = json.JSONDecoder(), [], _end_of(_GAP, text, 0)
    try:
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            found.append(value)
            at = _end_of(_GAP, text, at)
    except (ValueError, RecursionError, MemoryError):
        return None
    return found if len(found) > 1 else None


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _read_lines_or_fail(text: str, path: str, error: ValueError) -> Records | None:
    """Records of JSON lines; a line that cannot be read is rejected, unless none can."""
    if several := _one_after_another(text):
        return number_records(map(_unwrap, several), "JSON, one after another")
    rows: list[Any] = []
    numbers: list[int] = []
    rejected: list[Remark] = []
    number = 0
    for at, line in enumerate(re.split(r"\r\n|\n|\r", text), 1):
        if not line.strip():
            continue
        number += 1
        reason = why("line_no_record", line=at)
        try:
            value = parse_json(line)
        except ValueError as wrong:
            value, reason = None, why("line_no_json", line=at, error=excerpt(str(wrong), 100))
        if isinstance(value, Mapping):
            rows.append(_unwrap(value))
            numbers.append(number)
        else:
            rejected.append(Remark(number, "", reason, excerpt(line)))
    if rows:
        return Records(rows, numbers, "JSON lines", rejected)
    if text.lstrip().startswith(("{", "[[", '["', "[{", "[\n", "[\r", "[ ")):
        raise InputError(f"{path}: is no valid JSON ({excerpt(str(error), 100)}); export it again or repair it")
    return None
