"""Columns of a file → fields: what is suggested where names are not known, and what was chosen, remembered for each file."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.data.fields import checked_mapping, near_miss, resolve
from workbench.data.files import choices, keep_choice
from workbench.data.formats.source import read_source
from workbench.data.formats.tools import unpack
from workbench.errors import InputError

#: Columns of a table, the first of them, that are compared with our names.
COMPARED = 200

#: Where choices are kept in the cache folder.
FILE = "mappings.json"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Columns:
    """What a file offers: its columns, its first rows, and field → column as it is read now and as it may be meant."""

    names: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    known: Mapping[str, str]
    suggested: Mapping[str, str]


def columns_of(source: Any, shown: int = 3) -> Columns:
    """The columns of a recording with its first ``shown`` rows.

    Raises
    ------
    InputError
        When the source cannot be read at all.
    """
    records = unpack(read_source(source))
    known = resolve(records.columns, "sample", remembered_mapping(source, records.columns))
    free = [name for name in records.columns if name not in known.values()]
    suggested = {field: column for column, field in suggested_mapping(free, known).items()}
    return Columns(tuple(records.columns), tuple(records.rows[:shown]), known, suggested)


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
