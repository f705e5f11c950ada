"""A finding: what a user pinned, with everything that is needed to show it elsewhere and to find it again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.data.schema import none_if_missing

if TYPE_CHECKING:
    import pandas as pd

#: Rows of a table that a finding keeps; ``n`` says how many there were.
TABLE_ROWS = 200


@dataclass(frozen=True)
class Finding:
    """One pinned view.

    Attributes
    ----------
    finding_id, created, panel
        Unique id, ISO time, and the panel that it comes from (``low_scores`` …).
    title, note
        What it says, in the user's words; both can be edited later.
    columns, rows
        The table that was shown (at most :data:`TABLE_ROWS` rows), plain values.
    sample_ids, n, n_total
        The samples it is about, how many they are, out of how many.
    value, low, high
        The number it states with its 95 % interval; None where there is none.
    filter, thresholds, runs
        What was in force, and the names of the evaluations.
    snippet
        Lines of Python that reproduce it.
    figure, figure_bytes
        The picture as a file beside the journal, or in memory when nothing is saved.
    """

    finding_id: str
    title: str
    note: str = ""
    panel: str = ""
    created: str = ""
    sample_ids: tuple[str, ...] = ()
    n: int = 0
    n_total: int = 0
    value: float | None = None
    low: float | None = None
    high: float | None = None
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    filter: Mapping[str, Any] = field(default_factory=dict)
    thresholds: Mapping[str, Any] = field(default_factory=dict)
    runs: tuple[str, ...] = ()
    snippet: str = ""
    figure: Path | None = None
    figure_bytes: bytes | None = field(default=None, repr=False)

    def png(self) -> bytes | None:
        """The picture as PNG bytes; None when it has none or its file is gone."""
        if self.figure_bytes is not None:
            return self.figure_bytes
        return self.figure.read_bytes() if self.figure is not None and self.figure.is_file() else None

    def table(self) -> pd.DataFrame:
        """The table that was shown; without columns when there was none."""
        import pandas as pd

        return pd.DataFrame([list(row) for row in self.rows], columns=list(self.columns))

    def replace(self, **changes: Any) -> Finding:
        """A copy with some values changed."""
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for the journal; the picture by its file name only."""
        kept = (item.name for item in dataclasses.fields(self) if item.name not in ("figure_bytes", "figure"))
        plain = {name: getattr(self, name) for name in kept}
        plain["figure"] = self.figure.name if self.figure else None
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], folder: Path | None = None) -> Finding:
        """Read what :meth:`to_dict` wrote. Unknown names are left out, so that older journals stay readable."""
        known = {item.name for item in dataclasses.fields(cls)}
        values = {name: value for name, value in plain.items() if name in known}
        for name in ("sample_ids", "columns", "runs"):
            values[name] = tuple(values.get(name) or ())
        values["rows"] = tuple(tuple(row) for row in values.get("rows") or ())
        figure = values.get("figure")
        # Only the name counts: a journal cannot make us read a file elsewhere.
        values["figure"] = folder / Path(figure).name if figure and folder is not None else None
        return cls(**values)


def plain_rows(frame: pd.DataFrame) -> tuple[tuple[Any, ...], ...]:
    """The first :data:`TABLE_ROWS` rows as values that JSON can hold."""
    columns: Sequence[list[Any]] = [[_plain(value) for value in frame[name].head(TABLE_ROWS)] for name in frame]
    return tuple(zip(*columns, strict=True)) if columns else ()


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple, set)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    value = none_if_missing(value)
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)
