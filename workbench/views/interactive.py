"""The two widgets with a script of their own: a list of rows to click, and what lies over a picture.

Both work without the network (their scripts are files of this package, which ``anywidget`` hands to the page), and a panel
works without them: the picture stays an image, previous and next stay buttons. Rows and hit tests that the page needs are
sent at once and small: a list sends the page that is seen, never the frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import traitlets
from anywidget import AnyWidget

from workbench.language import text as _t
from workbench.views.html import clean

if TYPE_CHECKING:
    import pandas as pd

_HERE = Path(__file__).parent
#: Rows of a page, and characters of a cell.
ROWS, CELL = 14, 140
#: Keys of a list that a panel answers, besides those that move: verdicts, the note, saving.
KEYS = ("1", "2", "3", "n", "p")


@dataclass(frozen=True)
class Column:
    """A column of a list: a column of the frame (or its index), its heading, how wide (``id``, ``text``, ``short``,
    ``number``), how a value is shown (a text, or a text and its class), and the order that a click sorts by."""

    key: str
    title: str
    kind: str = "text"
    shown: Callable[[Any], str | tuple[str, str]] = str
    order: Callable[[Any], Any] | None = None


class RowList(AnyWidget):
    """The rows of a frame, a page at a time: a click or a key goes to a row, a click on a heading sorts.

    Parameters
    ----------
    guarded
        Wraps handlers, see :meth:`workbench.views.widgets.Panel.guarded`.
    chosen
        Called with the place of the row that was clicked or stepped to.
    resort
        Called after the order was changed; the owner then sorts by :meth:`ordered` and calls :meth:`set`.
    key
        Called with one of :data:`KEYS`; without it these keys do nothing.
    """

    _esm = _HERE / "row_list.js"
    view = traitlets.Dict().tag(sync=True)
    answers: Any = traitlets.List().tag(sync=True)

    def __init__(self, columns: Sequence[Column], guarded: Callable[..., Any], chosen: Callable[[int], None],
                 resort: Callable[[], None], key: Callable[[str], None] | None = None, rows: int = ROWS) -> None:  # fmt: skip
        super().__init__(answers=list(KEYS) if key else [])
        self.columns, self._chosen, self._resort, self._key = columns, chosen, resort, key
        self._frame: pd.DataFrame | None = None
        self._first, self._at, self._size = 0, -1, rows
        self._note = self._empty = ""
        self.sort: tuple[str, bool] | None = None
        self.on_msg(lambda _, message, __: guarded(self.receive, "list")(message))
        self.add_class("wb-list")

    def ordered(self, frame: pd.DataFrame) -> pd.DataFrame:
        """``frame`` in the order that was clicked; as it is before any click."""
        if self.sort is None:
            return frame
        key, down = self.sort
        column = next(one for one in self.columns if one.key == key)
        by = None if column.order is None else (lambda values: values.map(column.order))
        if key not in frame:
            return frame.sort_index(ascending=not down, kind="stable", key=by)
        return frame.sort_values(key, ascending=not down, kind="stable", key=by)

    def set(self, frame: pd.DataFrame, *, empty: str = "", note: str = "") -> None:
        """Show ``frame``; :meth:`point` says which row is the one looked at. ``note`` stands above the rows."""
        self._frame, self._empty, self._note = frame, empty, note
        self._first, self._at = 0, -1

    def point(self, at: int) -> None:
        """Point out the row at a place (-1: none), on its page, and send what is seen."""
        self._at = at
        if at >= 0:
            self._first = at // self._size * self._size
        self._show_page()

    def receive(self, message: Mapping[str, Any]) -> None:
        """Do what the page asks for: ``go`` to a row, ``step``, turn a ``page``, ``sort``, or pass on a ``key``."""
        n = 0 if self._frame is None else len(self._frame)
        last, at = max(n - 1, 0), max(self._at, 0)
        match message.get("do"):
            case "go" | "step" if n:
                self._chosen(min(max(int(message.get("at", at + int(message.get("by", 0)))), 0), last))
            case "page":
                to = {"first": 0, "back": -self._size, "on": self._size, "last": last}[message["to"]]
                ends = message["to"] in ("first", "last")
                if message.get("go") and n:
                    self._chosen(to if ends else min(max(at + to, 0), last))
                else:
                    first = to if ends else min(max(self._first + to, 0), last)
                    self._first = first // self._size * self._size
                    self._show_page()
            case "sort":
                own = str(message["key"])
                if own in [one.key for one in self.columns]:
                    self.sort = (own, self.sort is not None and self.sort == (own, False))
                    self._resort()
            case "key" if self._key is not None and message.get("key") in KEYS:
                self._key(str(message["key"]))

    def _show_page(self) -> None:
        if self._frame is None:
            return
        page, n = self._frame.iloc[self._first : self._first + self._size], len(self._frame)
        cells = []
        for one in self.columns:
            values = page[one.key].tolist() if one.key in page else page.index.tolist()
            said = (one.shown(value) for value in values)
            cells.append([(clean(text[:CELL]), cls) for text, cls in (x if isinstance(x, tuple) else (x, "") for x in said)])
        first, until = min(self._first + 1, n), min(self._first + self._size, n)
        self.view = {
            "columns": [{"key": one.key, "title": one.title, "kind": one.kind} for one in self.columns],
            "rows": [list(row) for row in zip(*cells, strict=True)], "first": self._first, "total": n,
            "current": self._at - self._first if self._first <= self._at < self._first + self._size else -1,
            "sort": None if self.sort is None else list(self.sort), "note": clean(self._note), "label": _t("lists.label"),
            "words": {
                "place": _t("panels.common.page", first=f"{first:,}", last=f"{until:,}", total=f"{n:,}"),
                "keys": _t("lists.keys") if self.answers else "", "empty": clean(self._empty), "sort": _t("lists.sort"),
                "pages": [_t(f"lists.{name}") for name in ("first", "back", "on", "last")],
            },
        }  # fmt: skip


class PictureOverlay(AnyWidget):
    """What lies over an image: hover labels, clicks, a drag over points, a line to move. Tells the width that there is.

    ``regions`` and ``line`` come from :func:`workbench.views.plots.regions_of` and ``line_of``.
    """

    _esm = _HERE / "picture.js"
    regions: Any = traitlets.List().tag(sync=True)
    line = traitlets.Dict().tag(sync=True)
    brush = traitlets.Bool(False).tag(sync=True)
    alt = traitlets.Unicode().tag(sync=True)
    seen = traitlets.Dict().tag(sync=True)
