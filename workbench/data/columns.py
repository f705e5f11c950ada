"""Which column is which of our fields: names of other tools in both languages, the user's mapping, near misses."""

from __future__ import annotations

import difflib
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from workbench.errors import InputError

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATORS = re.compile(r"[\W_]+")
_BRACKETS = re.compile(r"[(（\[].*?[)）\]]")


@cache
def aliases(section: str) -> dict[str, tuple[str, ...]]:
    """Field → folded names by which it is known, of one section of ``fields.toml``."""
    content = tomllib.loads(resources.files("workbench.data").joinpath("fields.toml").read_text(encoding="utf-8"))
    return {name: tuple(dict.fromkeys(fold(item) for item in names)) for name, names in content[section].items()}


@lru_cache(maxsize=4096)
def fold(name: str) -> str:
    """A column name for comparison: ``"Retrieved Contexts"``, ``"retrievedContexts"`` → ``"retrieved_contexts"``."""
    text = unicodedata.normalize("NFKC", name).strip().strip("\ufeff")
    return _SEPARATORS.sub("_", _CAMEL.sub("_", text).lower()).strip("_")


def resolve(
    columns: Sequence[str], section: str = "sample", mapping: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Field → column, for the fields of ``section`` that ``columns`` hold.

    ``mapping`` (their column → our field) wins; then our names for a field in the order of ``fields.toml``. A column
    is used for one field only.
    """
    found = {field: column for column, field in (mapping or {}).items()}
    taken = set(found.values())
    by_fold: dict[str, str] = {}
    for column in columns:
        if column not in taken:
            by_fold.setdefault(fold(column), column)
    for field, names in aliases(section).items():
        match = next((by_fold[name] for name in names if name in by_fold), None)
        if field not in found and match is not None:
            found[field] = by_fold.pop(fold(match))
    return found


def alternates(columns: Sequence[str], chosen: Mapping[str, str], section: str = "sample") -> dict[str, list[str]]:
    """Field → further columns that are known names of it, in order, for records that lack the chosen column."""
    taken = set(chosen.values())
    by_fold: dict[str, str] = {}
    for column in columns:
        if column not in taken:
            by_fold.setdefault(fold(column), column)
    found = {
        field: [by_fold[n] for n in aliases(section)[field] if n in by_fold]
        for field in chosen
        if field in aliases(section)
    }
    return {field: names for field, names in found.items() if names}


def coalesce(
    rows: Sequence[Mapping[str, Any]], chosen: Mapping[str, str], others: Mapping[str, list[str]]
) -> tuple[list[Mapping[str, Any]], set[str]]:
    """Rows in which a record without the chosen column has it from another known name; and the names so used.

    A column that is there and null is not replaced: null is a recording.
    """
    used: set[str] = set()
    done: list[Mapping[str, Any]] = []
    for row in rows:
        added = {}
        for field, names in others.items():
            if chosen[field] not in row:
                name = next((name for name in names if row.get(name) is not None), None)
                if name is not None:
                    added[chosen[field]] = row[name]
                    used.add(name)
        done.append({**row, **added} if added else row)
    return done, used


def checked_mapping(
    mapping: Mapping[str, str] | None, columns: Sequence[str], section: str, where: str
) -> dict[str, str]:
    """The user's mapping as their column → our field; it may be written either way round.

    Raises
    ------
    InputError
        When a pair names no field of ours or no column of the source.
    """
    result: dict[str, str] = {}
    fields, known = aliases(section), set(columns)
    for left, right in (mapping or {}).items():
        left, right = str(left), str(right)
        if right in fields and left in known:
            result[left] = right
        elif left in fields and right in known:
            result[right] = left
        else:
            _refuse_pair(left, right, columns, fields, where)
    return result


def _refuse_pair(left: str, right: str, columns: Sequence[str], fields: Iterable[str], where: str) -> None:
    field = right if right in set(fields) else left
    if field not in set(fields):
        raise InputError(f"{where}: mapping {left!r} → {right!r} names no field; fields are {', '.join(fields)}")
    column = left if field is right else right
    near = difflib.get_close_matches(column, columns, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"columns are {', '.join(map(str, columns[:12]))}"
    raise InputError(f"{where}: mapping names the column {column!r}, which is not there; {hint}")


def near_miss(column: str, taken: Iterable[str] = ()) -> str | None:
    """The field whose name ``column`` nearly has, or None. Fields in ``taken`` are not proposed."""
    name = fold(column)
    if len(name) < 4:
        return None
    names = {alias: field for field, known in aliases("sample").items() if field not in set(taken) for alias in known}
    match = difflib.get_close_matches(name, names, n=1, cutoff=0.82)
    return names[match[0]] if match else None


@cache
def _score_names() -> frozenset[str]:
    return frozenset(aliases("scores")["names"])


def is_score(column: str) -> bool:
    """Whether a column is named like a metric of another tool; ``"rouge_score(mode=fmeasure)"`` is."""
    return fold(_BRACKETS.sub("", column)) in _score_names()


def first_of(item: Mapping[str, Any], names: Iterable[str]) -> tuple[str | None, Any]:
    """The first of ``names`` that ``item`` has with a value, and that value."""
    for name in names:
        value = item.get(name)
        if value is not None:
            return name, value
    return None, None
