"""The retrieved fragments of one sample, from whatever a tool recorded to the contract's list of dicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.data import validate
from workbench.data.columns import aliases, first_of, fold
from workbench.data.validate import Unreadable

_INNER = ("node", "document", "doc")


def contexts(value: Any) -> list[dict[str, Any]] | None:
    """The contract's ``contexts``: a list of dicts, each with a ``text`` string and only the keys that were recorded.

    Accepts a list of texts or of objects under many names of keys, ``{doc_id: text}``, and each of these written as
    text. A single text is one context. When every item has a rank, the ranks give the order.

    Raises
    ------
    Unreadable
        When it is none of these.
    """
    value = validate.structure(value)
    if value is None:
        return None
    if isinstance(value, str):
        return [{"text": value}] if value.strip() else []
    if isinstance(value, Mapping):
        value = _from_mapping(value)
    if not isinstance(value, Sequence):
        raise Unreadable("is no list of texts")
    pairs = [_context(item, at) for at, item in enumerate(value, 1)]
    if pairs and all(rank is not None for _, rank in pairs):
        pairs.sort(key=lambda pair: pair[1] or 0.0)
    return [item for item, _ in pairs]


def _from_mapping(value: Mapping[str, Any]) -> list[Any]:
    """One context, columns of contexts, a list under a name, or ``{doc_id: text}``."""
    names = {fold(str(key)): key for key in value}
    text_key = next((names[name] for name in aliases("context")["text"] if name in names), None)
    if text_key is not None and isinstance(value[text_key], str):
        return [value]
    lists = [part for part in value.values() if isinstance(part, list)]
    if text_key is not None and lists and len({len(part) for part in lists}) == 1 and len(lists) == len(value):
        return [dict(zip(value, row, strict=True)) for row in zip(*lists, strict=True)]
    if len(lists) == 1:
        return lists[0]
    if all(isinstance(part, str) for part in value.values()):
        return [{"doc_id": key, "text": part} for key, part in value.items()]
    raise Unreadable("is an object that holds no list of texts")


def _context(item: Any, at: int) -> tuple[dict[str, Any], float | None]:
    """One context, and its rank when recorded."""
    if _is_in_form(item):
        return dict(item), None
    item = validate.plain(item)
    if isinstance(item, Mapping):
        return _from_object(item, at)
    if isinstance(item, list):
        return _from_pair(item, at), None
    return {"text": validate.text(item) or ""}, None


def _is_in_form(item: Any) -> bool:
    """Whether ``item`` is a context as the contract has it already; most recordings of our own are."""
    return (
        type(item) is dict
        and type(item.get("text")) is str
        and all(key in _FORMS and _FORMS[key](value) for key, value in item.items())
    )


def _from_pair(item: list[Any], at: int) -> dict[str, Any]:
    """``[text]`` or ``[text, score]``, as vector stores return them."""
    if item and isinstance(item[0], Mapping):
        found, _ = _from_object(item[0], at)
    elif item and isinstance(item[0], str):
        found = {"text": item[0]}
    else:
        raise Unreadable(f"item {at} is a list without text")
    if len(item) == 2 and isinstance(item[1], (int, float)):
        found["score"] = float(item[1])
    return found


def _from_object(item: Mapping[str, Any], at: int) -> tuple[dict[str, Any], float | None]:
    values = {fold(str(key)): validate.plain(value) for key, value in item.items()}
    inner = next((values.pop(name) for name in _INNER if isinstance(values.get(name), Mapping)), None)
    if inner is not None:
        values = {**{fold(str(key)): validate.plain(value) for key, value in inner.items()}, **values}
    taken = {field: first_of(values, names) for field, names in aliases("context").items()}
    used = {name for name, _ in taken.values()}
    found = {field: value for field, (_, value) in taken.items() if value is not None}
    metadata = _metadata(found.pop("metadata", None))
    metadata |= {key: value for key, value in values.items() if key not in used and value is not None}
    rank = _rank(found.pop("rank", None))
    return _checked(found, metadata, at), rank


def _metadata(value: Any) -> dict[str, Any]:
    value = validate.structure(value) if isinstance(value, str) else value
    return {str(key): part for key, part in value.items()} if isinstance(value, Mapping) else {}


def _rank(value: Any) -> float | None:
    try:
        return validate.number(value)
    except Unreadable:
        return None


def _checked(found: dict[str, Any], metadata: dict[str, Any], at: int) -> dict[str, Any]:
    """Types of the contract; what the item lacks is looked for in its metadata."""
    if not found.keys() & {"text", "doc_id"}:
        raise Unreadable(f"item {at} has neither a text nor an id; keys are {', '.join(list(metadata)[:6])}")
    for field in ("doc_id", "title", "tenant", "position", "score"):
        if field not in found and metadata.get(field) is not None and not isinstance(metadata[field], (Mapping, list)):
            found[field] = metadata[field]
    if "doc_id" not in found:
        name, value = first_of(metadata, ("document_id", "chunk_id", "id", "_id"))
        if name and not isinstance(value, (Mapping, list)):
            found["doc_id"] = value
    result: dict[str, Any] = {"text": _text(found.get("text"), at)}
    for field, reader in _READERS.items():
        if field in found and (value := _read(reader, found[field], field, at)) is not None:
            result[field] = value
    if metadata:
        result["metadata"] = validate.jsonable(metadata)
    return result


def _text(value: Any, at: int) -> str:
    if isinstance(value, Mapping):
        value = next(
            (value[key] for key in ("text", "content", "page_content") if isinstance(value.get(key), str)), value
        )
    return _read(validate.text, value, "text", at) or ""


def _position(value: Any) -> int | None:
    found = validate.number(value)
    return None if found is None else int(found)


_READERS = {
    "doc_id": validate.identifier,
    "score": validate.number,
    "title": validate.text,
    "tenant": validate.identifier,
    "position": _position,
    "prompted": validate.boolean,
}


def _is_name(value: Any) -> bool:
    return type(value) is str and value != "" and not value[0].isspace() and not value[-1].isspace()


def _is_plain_metadata(value: Any) -> bool:
    return type(value) is dict and not value.keys() & _LOOKED_FOR


_LOOKED_FOR = {"doc_id", "title", "tenant", "position", "score", "document_id", "chunk_id", "id", "_id"}
_FORMS: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: type(value) is str,
    "doc_id": _is_name,
    "title": lambda value: type(value) is str,
    "tenant": _is_name,
    "score": lambda value: type(value) is float and math.isfinite(value),
    "position": lambda value: type(value) is int,
    "prompted": lambda value: type(value) is bool,
    "metadata": _is_plain_metadata,
}


def _read(reader: Any, value: Any, field: str, at: int) -> Any:
    try:
        return reader(value)
    except Unreadable as error:
        raise Unreadable(f"item {at}: {field} {error}") from error


def with_parallel(
    items: list[dict[str, Any]] | None, lists: Mapping[str, Any]
) -> tuple[list[dict[str, Any]] | None, list[str]]:
    """``items`` with what stands in lists beside them (``doc_id``, ``score``, …), and what did not fit.

    Without texts, ids alone make contexts with an empty text.
    """
    remarks = []
    for field, value in lists.items():
        try:
            listed = _listed(value)
            if listed is None:
                continue
            if items is None and field == "doc_id":
                items = [{"text": ""} for _ in listed]
            if items is None or len(items) != len(listed):
                remarks.append(
                    f"{len(listed)} values of {field} beside {len(items or ())} contexts; they were left out"
                )
                continue
            items = [_beside(item, field, one, at) for at, (item, one) in enumerate(zip(items, listed, strict=True), 1)]
        except Unreadable as error:
            remarks.append(f"the list of {field} beside the contexts {error}; it was left out")
    return items, remarks


def _listed(value: Any) -> list[Any] | None:
    value = validate.structure(value)
    return list(value) if isinstance(value, list) else validate.ids(value)


def _beside(item: dict[str, Any], field: str, value: Any, at: int) -> dict[str, Any]:
    found = _read(_READERS[field], value, field, at)
    return item if found is None or item.get(field) is not None else {**item, field: found}
