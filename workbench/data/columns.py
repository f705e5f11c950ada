"""Which column is which of our fields: names of other tools in both languages, near misses, and what the user chose.

``fields.toml`` here and in the language folders lists the names; a choice is remembered for each file, in the cache folder.
"""

from __future__ import annotations

import difflib
import logging
import os
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from workbench.data.files import choices, keep_choice
from workbench.errors import InputError
from workbench.language import by_languages, languages

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATORS = re.compile(r"[\W_]+")
_SCORE_MARK = re.compile(r"^(?:scores?|metrics?|feedback|eval|annotation|ragas|deepeval)_|_(?:scores?|value)$")
_BRACKETS = re.compile(r"[(（\[].*?[)）\]]")


#: Names in use by tools everywhere, which every language's ``fields.toml`` adds to.
_SHARED = tomllib.loads(resources.files("workbench.data").joinpath("fields.toml").read_text(encoding="utf-8"))


def name_tables(section: str) -> list[dict[str, Any]]:
    """``[section]`` of ``fields.toml``: the names in use everywhere first, then those of each language."""
    return [_SHARED.get(section, {}), *(own.table("fields").get(section, {}) for own in languages())]


@by_languages(maxsize=32)
def names_in(section: str) -> dict[str, tuple[str, ...]]:
    """Field → its names under ``[section]`` of ``fields.toml`` as they are written, in any language."""
    listed = name_tables(section)
    names = dict.fromkeys(name for table in listed for name in table)
    return {name: tuple(one for table in listed for one in table.get(name, ())) for name in names}


def named(section: str, name: str) -> tuple[str, ...]:
    """The names of one field of :func:`names_in`; none for one that is not listed."""
    return names_in(section).get(name, ())


@by_languages(maxsize=32)
def aliases(section: str) -> dict[str, tuple[str, ...]]:
    """Field → folded names by which it is known, of one section of ``fields.toml``."""
    return {name: tuple(dict.fromkeys(map(fold, names))) for name, names in names_in(section).items()}


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
    if not mapping:
        return dict(_resolved(tuple(columns), section))
    return _resolve(columns, aliases(section), {field: column for column, field in mapping.items()})


@by_languages(maxsize=2048)
def _resolved(columns: tuple[str, ...], section: str) -> dict[str, str]:
    """Records of one source have the same few sets of names."""
    return _resolve(columns, aliases(section), {})


def _resolve(columns: Sequence[str], fields: Mapping[str, tuple[str, ...]], found: dict[str, str]) -> dict[str, str]:
    by_fold = _by_fold(columns, set(found.values()))
    for field, names in fields.items():
        match = next((by_fold[name] for name in names if name in by_fold), None)
        if field not in found and match is not None:
            found[field] = by_fold.pop(fold(match))
    return found


def alternates(columns: Sequence[str], chosen: Mapping[str, str], section: str = "sample") -> dict[str, list[str]]:
    """Field → further columns that are known names of it, in order, for records that lack the chosen column."""
    by_fold = _by_fold(columns, set(chosen.values()))
    found = {field: [by_fold[n] for n in aliases(section).get(field, ()) if n in by_fold] for field in chosen}
    return {field: names for field, names in found.items() if names}


def _by_fold(columns: Sequence[str], taken: set[str]) -> dict[str, str]:
    """Folded name → column, the first of each, without those that are taken."""
    return {fold(column): column for column in reversed(columns) if column not in taken}


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

    Raises ``InputError`` when a pair names no field of ours or no column of the source.
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
    name = fold(column[:200])
    # A longer one is a text, and comparing it would take long; three Chinese characters say more than three letters.
    if not (4 if name.isascii() else 2) <= len(name) <= 80:
        return None
    names = {alias: field for field, known in aliases("sample").items() if field not in set(taken) for alias in known}
    match = difflib.get_close_matches(name, names, n=1, cutoff=0.82)
    if match:
        return names[match[0]]
    words = set(name.split("_"))
    hints = ((field, hint) for field, known in aliases("hints").items() if field not in set(taken) for hint in known)
    return next((field for field, hint in hints if hint in words or (not hint.isascii() and hint in name)), None)


def is_score(column: str) -> bool:
    """Whether a column is named like a metric of another tool; ``"rouge_score(mode=fmeasure)"``, ``"mrr@10"``,
    ``"toxicity/v1/score"``, ``"eval.relevance.score"`` and ``"score_context_relevance"`` are."""
    if re.search(r"\w@(\d+|k)$|[/.]score$", column) is not None:
        return True
    name, known = fold(_BRACKETS.sub("", column)), aliases("scores")["names"]
    return name in known or _SCORE_MARK.sub("", name) in known


def first_names(values: Mapping[str, Any], section: str, empty: bool = True) -> dict[str, str]:
    """Field → the first of its names in ``section`` that has a value in ``values``, whose names are folded.

    ``empty``: whether an empty text is a value.
    """
    there = tuple([name for name, value in values.items() if value is not None and (empty or value != "")])
    return _first_names(there, section)


@by_languages(maxsize=2048)
def _first_names(there: tuple[str, ...], section: str) -> dict[str, str]:
    places, best = _places(section), dict[str, tuple[int, str]]()
    for name in there:
        for field, rank in places.get(name, ()):
            if field not in best or rank < best[field][0]:
                best[field] = rank, name
    return {field: name for field, (_, name) in best.items()}


@by_languages(maxsize=32)
def _places(section: str) -> dict[str, list[tuple[str, int]]]:
    """Folded name → the fields that it may be, each with its rank among the names of the field."""
    found: dict[str, list[tuple[str, int]]] = {}
    for field, names in aliases(section).items():
        for rank, name in enumerate(names):
            found.setdefault(name, []).append((field, rank))
    return found


def first_of(item: Mapping[str, Any], names: Iterable[str]) -> tuple[str | None, Any]:
    """The first of ``names`` that ``item`` has with a value, and that value."""
    for name in names:
        value = item.get(name)
        if value is not None:
            return name, value
    return None, None


# ------------------------------------------------------------------------------
# What is suggested where names are not known, and what was chosen, remembered for each file.


#: Columns of a table, the first of them, that are compared with our names.
COMPARED = 200

#: Where choices are kept in the cache folder.
FILE = "mappings.json"

_log = logging.getLogger(__name__)


def suggested_mapping(columns: Sequence[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Column → field for columns that nearly have a field's name, or hold a word that tells one (``Customer asked``).

    Fields in ``taken`` are not suggested, and each field once.
    """
    found: dict[str, str] = {}
    for column in columns[:COMPARED]:
        field = near_miss(column, {*taken, *found.values()})
        if field is not None:
            found[column] = field
    return found


def remembered_mapping(source: Any, columns: Sequence[str]) -> dict[str, str]:
    """What was chosen for the file ``source``, as far as its columns are still there, else what was chosen last for a file
    with these columns whose question nobody knew (the run before, the next export); empty without a choice."""
    if not isinstance(source, (str, os.PathLike)):
        return {}
    known = choices(FILE)
    alike = (pairs for pairs in reversed(known.values())
             if "question" in {*pairs, *pairs.values()} and all({*pair} & {*columns} for pair in pairs.items()))  # fmt: skip
    chosen = known[_key(source)] if _key(source) in known else next(alike, {})
    kept = {left: right for left, right in chosen.items() if left in columns or right in columns}
    try:
        return checked_mapping(kept, columns, "sample", "")
    except InputError as error:  # a field of another version
        _log.warning("the mapping that was chosen for this file was left out: %s", error)
        return {}


def remember_mapping(source: Any, mapping: Mapping[str, str] | None) -> None:
    """Read the file ``source`` with ``mapping`` (column → field) from now on; None or an empty one forgets it.

    It is kept in the cache folder. Sources that are no files are not remembered.
    """
    if not isinstance(source, (str, os.PathLike)):
        return
    keep_choice(FILE, _key(source), dict(mapping or {}))


def _key(source: str | os.PathLike[str]) -> str:
    return str(Path(source).expanduser().resolve())
