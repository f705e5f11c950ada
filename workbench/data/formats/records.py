"""What every reader of a format returns: records as they stood in the source, with their row numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

#: Row number of a remark about the whole source.
WHOLE_FILE = 0

_EXCERPT = 80


class Remark(NamedTuple):
    """One line of ``SampleSet.rejected`` or ``.warnings``. ``row`` counts records from 1; 0 is the whole source."""

    row: int
    field: str
    reason: str
    excerpt: str = ""


@dataclass
class Records:
    """Records of one source.

    ``rows`` are those that could be read, ``numbers`` their place in the source (the first record is 1); ``rejected``
    are the others, so that ``n_read == len(rows) + number of rejected rows``. ``kind`` says what was recognised;
    ``score_columns`` are those that a tool is known to have computed;
    ``may_hold_surrogates`` is False when the source cannot hold lone surrogates, which saves looking for them.
    """

    rows: Sequence[Mapping[str, Any]]
    numbers: list[int]
    kind: str
    rejected: list[Remark] = field(default_factory=list)
    warnings: list[Remark] = field(default_factory=list)
    name: str = "samples"
    source: str = ""
    columns: list[str] = field(default_factory=list)
    score_columns: frozenset[str] = frozenset()
    may_hold_surrogates: bool = True

    def __post_init__(self) -> None:
        if not self.columns:
            self.columns = list(dict.fromkeys(key for row in self.rows for key in row))

    @property
    def n_read(self) -> int:
        """Number of records in the source, readable or not."""
        return len(self.rows) + len({remark.row for remark in self.rejected})


def number_records(items: Iterable[Any], kind: str) -> Records:
    """Number ``items`` from 1; those that are no mapping are rejected.  Keys become text."""
    rows: list[Mapping[str, Any]] = []
    numbers: list[int] = []
    rejected: list[Remark] = []
    for number, item in enumerate(items, 1):
        if isinstance(item, Mapping):
            rows.append(item if all(type(key) is str for key in item) else {str(k): v for k, v in item.items()})
            numbers.append(number)
        else:
            rejected.append(Remark(number, "", "is no record of named fields", excerpt(item)))
    return Records(rows, numbers, kind, rejected)


def excerpt(value: Any, limit: int = _EXCERPT) -> str:
    """``value`` as printable text of at most ``limit`` characters."""
    if isinstance(value, str):
        text = value
    elif isinstance(value, (list, tuple, dict)) and len(value) > limit:
        text = f"{type(value).__name__} of {len(value)} items"
    else:
        text = _safe_repr(value)
    text = "".join(c if c.isprintable() else " " for c in text[: limit + 1])
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _safe_repr(value: Any) -> str:
    try:
        return repr(value)
    except (ValueError, RecursionError):  # an integer of more than 4,300 digits, or nesting without end
        return f"<{type(value).__name__}>"
