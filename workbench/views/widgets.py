"""Pieces that every panel is put together from.

An observer that raises leaves a notebook's cell green, so every handler of a panel runs through
:meth:`Panel.guarded`: the panel then shows a red line, and without a kernel (tests, scripts) or with
``WORKBENCH_STRICT=1`` the error is raised as well.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as W
import traitlets
from anywidget import AnyWidget
from markupsafe import Markup

from workbench.data.files import write_bytes, write_csv, write_text
from workbench.errors import CancelledError, WorkbenchError
from workbench.language import get_language
from workbench.language import text as _t
from workbench.steps import ByText
from workbench.views import figures
from workbench.views import html as ht
from workbench.views.error_box import error_line
from workbench.views.html import clean

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from workbench.views.session import Session

# The two widgets with a script of their own: a list of rows to click, and what lies over a picture. Both work without the
# network, and a panel works without them: the picture stays an image, previous and next stay buttons. A list sends the
# page that is seen, never the frame.

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

    ``regions`` and ``line`` come from :func:`workbench.views.figures.regions_of` and ``line_of``.
    """

    _esm = _HERE / "picture.js"
    regions: Any = traitlets.List().tag(sync=True)
    line = traitlets.Dict().tag(sync=True)
    brush = traitlets.Bool(False).tag(sync=True)
    alt = traitlets.Unicode().tag(sync=True)
    seen = traitlets.Dict().tag(sync=True)


# Long work beside a live notebook: one thread, told progress, asked to stop. The function that works stays plain.

#: Least seconds between two reports of progress.
PACE = 0.2


@dataclass(frozen=True)
class WorkProgress:
    """How far work has come: samples ``done`` of ``total``, of which ``cached`` cost nothing; ``seconds`` so far."""

    done: int
    total: int
    cached: int
    seconds: float
    #: Seconds left by the length of the texts; None where that is not known.
    by_text: float | None = None

    @property
    def rate(self) -> float:
        """Samples a second that were really worked on; 0 before the first."""
        return max(self.done - self.cached, 0) / self.seconds if self.seconds > 0 else 0.0

    @property
    def left(self) -> float | None:
        """Seconds left, by the length of the texts where that is known, else at this rate; None while it cannot be told."""
        if self.by_text is not None:
            return self.by_text
        return (self.total - self.done) / self.rate if self.rate else None


class Work:
    """Runs ``function(progress=…, cancelled=…)`` in a thread of its own.

    Parameters
    ----------
    on_progress, on_end
        Called from that thread with a :class:`WorkProgress` until it ends or is cancelled, and at the end with
        ``(result, None)`` or ``(None, error)``.
    """

    def __init__(self, function: Callable[..., Any], on_progress: Callable[[WorkProgress], None],
                 on_end: Callable[[Any, BaseException | None], None]) -> None:  # fmt: skip
        self._function, self._on_progress, self._on_end = function, on_progress, on_end
        self._progress = ByText(self._report)
        self._stop, self._ended = threading.Event(), False
        self._started, self._told = time.monotonic(), 0.0
        self._thread = threading.Thread(target=self._run, name="scoring", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._started = time.monotonic()
        self._thread.start()

    def cancel(self) -> None:
        """Ask the work to stop after what it is at."""
        self._stop.set()

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end."""
        self._thread.join(timeout)

    @property
    def running(self) -> bool:
        """Whether the work goes on."""
        return self._thread.is_alive()

    def _run(self) -> None:
        result, failure = None, None
        try:
            result = self._function(progress=self._progress, cancelled=self._stop.is_set)
        except Exception as error:  # noqa: BLE001 - handed to on_end, which shows or raises it
            _log.info("work ended early: %s", error, exc_info=True)
            failure = error
        self._ended = True
        self._on_end(result, failure)

    def _report(self, done: int, total: int, cached: int = 0) -> None:
        now = time.monotonic()
        # What the work made may go on reporting, for example an encoder that a picture uses later.
        if self._ended or self._stop.is_set() or (done < total and now - self._told < PACE):
            return
        self._told = now
        seconds = now - self._started
        self._on_progress(WorkProgress(done, total, cached, seconds, self._progress.left(seconds)))


# Single widgets.

_log = logging.getLogger(__name__)

#: A label as wide as its words.
LABEL = {"description_width": "initial"}


def strict() -> bool:
    """Whether a failing handler raises: ``WORKBENCH_STRICT`` decides, else only a running kernel shows it instead."""
    from IPython import get_ipython

    chosen = os.environ.get("WORKBENCH_STRICT", "")
    return chosen != "0" if chosen else not hasattr(get_ipython(), "kernel")


@contextmanager
def suppress_unless_strict(what: str) -> Iterator[None]:
    """Log what goes wrong in the block instead of raising it, where handlers do so too."""
    try:
        yield
    except Exception:
        _log.exception("%s failed", what)
        if strict():
            raise


def markup(content: Markup | None = None, *classes: str, **layout: Any) -> W.HTML:
    """An HTML widget that holds markup made by :mod:`workbench.views.html`, and nothing else."""
    widget = W.HTML(layout=W.Layout(**layout))
    for name in ("wb", *classes):
        widget.add_class(name)
    show(widget, content if content is not None else Markup())
    return widget


def show(widget: W.HTML, content: Markup) -> None:
    """Put markup into an HTML widget. Raises ``TypeError`` for a plain string: it could hold a script."""
    if not isinstance(content, Markup):
        raise TypeError("only markup made by workbench.views.html may be shown")
    widget.value = str(content)


def button(text: str, action: Callable[[], None], *classes: str, **options: Any) -> W.Button:
    """A button as wide as its text that calls ``action`` without arguments."""
    widget = W.Button(description=text, layout=W.Layout(width="auto"), **options)
    widget.on_click(lambda _: action())
    for name in classes:
        widget.add_class(name)
    return widget


def dropdown(label: str, options: Sequence[tuple[str, Any]], value: Any, width: str = "auto") -> W.Dropdown:
    """A drop-down list of ``(text, value)`` pairs with a short label."""
    values = [item for _, item in options]
    chosen = value if value in values else (values[0] if values else None)
    return W.Dropdown(description=label, options=list(options), value=chosen, layout=W.Layout(width=width), style=LABEL)


def named(area: str, names: Iterable[str]) -> list[tuple[str, str]]:
    """Choices whose words are the texts ``<area><name>``."""
    return [(_t(f"{area}{name}"), name) for name in names]


def text_box(label: str, value: str = "", width: str = "330px", **options: Any) -> W.Text:
    """A line to write in, with a short label."""
    return W.Text(description=label, value=value, layout=W.Layout(width=width), style=LABEL, **options)


def row(*children: W.Widget) -> W.HBox:
    """Widgets side by side, wrapping on narrow screens."""
    layout = W.Layout(flex_flow="row wrap", align_items="center", width="100%", grid_gap="2px 10px", overflow="hidden")
    return W.HBox(list(children), layout=layout)


def display(widget: W.Widget, shown: bool) -> None:
    """Show or hide a widget."""
    widget.layout.display = None if shown else "none"


class Panel(W.VBox):
    """Base of all panels: a style sheet, a red line for errors, the session's notes, and static twins.

    Subclasses call :meth:`compose` with their widgets, and give ``figure()``, ``table()`` and ``html()``.
    """

    #: What files and findings of this panel are called.
    stem = "panel"

    def __init__(self, session: Session | None) -> None:
        self.session = session
        self._broken: dict[str, str] = {}
        self._quiet = False
        self.error = markup(None, "wb-error")
        display(self.error, False)
        super().__init__(layout=W.Layout(width="100%", max_width="1400px"))
        self.add_class("wb-panel")

    def compose(self, *children: W.Widget) -> None:
        """Put the widgets below the style sheet, the red line and the notes."""
        notes, restored = getattr(self.session, "notes", []), _t("panels.session.restored")
        note = markup(ht.join(ht.h("p", line, cls="wb-note") for line in notes))

        def start_over() -> None:
            """Take back the filter and thresholds of the last visit, and the note that says they are in force."""
            assert self.session is not None
            self.session.reset()
            show(note, ht.join(ht.h("p", line, cls="wb-note") for line in notes if line != restored))
            display(back, False)

        back = button(_t("panels.filters.reset"), self.guarded(start_over, "reset"), "wb-reset")
        display(note, bool(notes))
        display(back, restored in notes)
        self.children = (markup(ht.style() + ht.prose()), self.error, row(note, back), *children, ControlNames())

    def join(self, timeout: float | None = None) -> None:
        """Wait until work in a thread of its own has ended, if there is any (for scripts and static results)."""
        if (work := getattr(self, "work", None)) is not None:
            work.join(timeout)

    def guarded(self, action: Callable[..., Any], name: str = "") -> Callable[..., None]:
        """``action`` as a handler that shows what it raises as the red line, until it works again."""
        key = name or getattr(action, "__qualname__", repr(action))

        def handler(*arguments: Any) -> None:
            try:
                action(*arguments)
            except Exception as error:
                _log.exception("a handler of %s failed", type(self).__name__)
                self._report(key, error_line(error))
                if strict():
                    raise
            else:
                self._report(key, "")

        return handler

    def _report(self, key: str, message: str) -> None:
        if not message and key not in self._broken:
            return
        self._broken.pop(key, None)
        if message:
            self._broken[key] = message
        lines = [ht.h("p", "✗ ", ht.excerpt(line, 300), cls="wb-redline") for line in self._broken.values()]
        show(self.error, ht.join(lines))
        display(self.error, bool(lines))

    def on(self, widget: W.Widget, action: Callable[[Any], Any]) -> None:
        """Call ``action(new value)`` when the value of ``widget`` changes, but not within :meth:`quietly`."""

        def changed(change: Any) -> None:
            if not self._quiet:
                action(change["new"])

        widget.observe(self.guarded(changed, f"{id(widget)}"), names="value")

    @contextmanager
    def quietly(self) -> Iterator[None]:
        """Put values into widgets inside the block without calling what :meth:`on` was told to call."""
        before, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = before

    def save(self, folder: str | Path) -> list[Path]:
        """Write what is shown to ``folder``: ``<panel>.html`` (one file), ``.csv`` and, with a picture, ``.png``.

        Raises ``InputError`` when the place cannot be written.
        """
        path = Path(folder).expanduser() / self.stem
        page = ht.page(self.stem, self.html(), language=get_language())
        written = [write_text(path.with_suffix(".html"), str(page))]
        table = self.table()
        written.append(write_csv(path.with_suffix(".csv"), table, index=table.index.name is not None))
        if (figure := self.figure()) is not None:
            written.append(write_bytes(path.with_suffix(".png"), figures.figure_png(figure)))
        return written

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget, and the page that stands for it where there is no kernel, in one display."""
        found = super()._repr_mimebundle_(**options)
        if found:
            data = found[0] if isinstance(found, tuple) else found
            with suppress_unless_strict(f"the page of {self.stem}"):
                data["text/html"] = str(self.page())
        return found

    def page(self) -> ht.Fragment:
        """The static page beside the widget: :meth:`html`, but of what is there when work goes on for long."""
        return self.html()

    def figure(self) -> Figure | None:
        """The picture that is shown, dark on white; None where there is none."""
        return None

    @abstractmethod
    def table(self) -> pd.DataFrame:
        """What is shown, as a frame."""

    @abstractmethod
    def html(self) -> ht.Fragment:
        """What is shown, as a static piece of HTML."""


class Picture(W.VBox):
    """An image with what its places stand for on top of it, and a caption; drawn anew when width or theme change.

    Attributes
    ----------
    clicked, brushed, moved
        Called with the key of what was clicked, the keys of the points that a drag went over, the value that the line was
        moved to; None: nothing happens.
    """

    def __init__(self, *classes: str, guarded: Callable[..., Any] = lambda action, _: action) -> None:
        self.image = W.Image(format="png", layout=W.Layout(width="100%", margin="0"))
        for name in classes:
            self.image.add_class(name)
        self.clicked: Callable[[Any], None] | None = None
        self.brushed: Callable[[list[Any]], None] | None = None
        self.moved: Callable[[float], None] | None = None
        self.overlay = PictureOverlay()
        self.overlay.on_msg(lambda _, message, __: guarded(self.receive, "picture")(message))
        self.overlay.observe(guarded(lambda change: self._seen(change["new"]), "width"), names="seen")
        self.frame = W.Box([self.image, self.overlay])
        self.frame.add_class("wb-frame")
        self.caption = markup()
        self._make: Callable[[], Figure] | None = None
        self._drawn_for = figures.screen()
        super().__init__([self.frame, self.caption], layout=W.Layout(width="100%", overflow="hidden"))

    def draw(self, figure: Figure | Callable[[], Figure], caption: str) -> None:
        """Show a figure and say what it shows; a function that makes it is called again when the width changes."""
        self._make = figure if callable(figure) else None
        self._drawn_for = shown = figures.screen(self.overlay.seen)
        made = figure() if callable(figure) else figure
        self.image.value = figures.figure_png(made)
        # The height is kept while the page waits for the next picture: nothing below moves.
        wide, high = made.get_size_inches() * made.dpi
        self.frame.layout.height = f"{round(high * min(1.0, shown.width / wide))}px"
        with self.overlay.hold_sync():
            self.overlay.regions, self.overlay.line = figures.regions_of(made), figures.line_of(made)
            self.overlay.alt, self.overlay.brush = caption, self.brushed is not None
        show(self.caption, ht.h("p", caption, cls="wb-quiet"))

    def receive(self, message: Mapping[str, Any]) -> None:
        """Do what the page asks for."""
        answers = {"click": (self.clicked, "key"), "brush": (self.brushed, "keys"), "line": (self.moved, "value")}
        action, value = answers.get(str(message.get("do")), (None, ""))
        if action is not None:
            action(message[value])

    def _seen(self, seen: Mapping[str, Any]) -> None:
        if figures.screen(seen) != self._drawn_for and self._make is not None:
            self.draw(self._make, self.overlay.alt)


def still(figure: Figure, caption: str) -> Markup:
    """A figure inside static HTML."""
    return ht.picture(figures.figure_png(figure), caption)


class PagedTable(W.VBox):
    """A frame, one page at a time, with "1–20 of 6,337" and buttons to turn pages.

    ``options`` go to :func:`workbench.views.html.table`.
    """

    def __init__(self, panel: Panel, page: int = 10) -> None:
        self._size, self._at = page, 0
        self._frame: pd.DataFrame | None = None
        self._options: dict[str, Any] = {}
        self._empty = ""
        self._body = markup()
        self._count = markup()
        self._back = button(
            "◀", panel.guarded(lambda: self._turn(-1), "page back"), tooltip=_t("panels.common.previous")
        )
        self._forward = button("▶", panel.guarded(lambda: self._turn(1), "page on"), tooltip=_t("panels.common.next"))
        self._bar = row(self._back, self._count, self._forward)
        super().__init__([self._body, self._bar], layout=W.Layout(width="100%"))

    def set(self, frame: pd.DataFrame, *, empty: str = "", **options: Any) -> None:
        """Show the first page of ``frame``; ``empty`` is what an empty one says."""
        self._frame, self._options, self._at, self._empty = frame, options, 0, empty
        self._draw()

    def point(self, label: Any) -> None:
        """Point out the rows with an index label, and turn to the page of the first one."""
        if self._frame is None or self._options.get("current") == label:
            return
        self._options["current"] = label
        places = [at for at, own in enumerate(self._frame.index) if own == label]
        if places and not any(self._at <= at < self._at + self._size for at in places):
            self._at = places[0] // self._size * self._size
        self._draw()

    def _turn(self, step: int) -> None:
        last = max(len(self._frame) - 1, 0) // self._size * self._size if self._frame is not None else 0
        self._at = min(max(self._at + step * self._size, 0), last)
        self._draw()

    def _draw(self) -> None:
        if self._frame is None:
            return
        n, until = len(self._frame), min(self._at + self._size, len(self._frame))
        if n or not self._empty:
            show(self._body, ht.table(self._frame.iloc[self._at : until], **self._options))
        else:
            show(self._body, ht.empty(self._empty))
        label = _t("panels.common.page", first=f"{min(self._at + 1, n):,}", last=f"{until:,}", total=f"{n:,}")
        show(self._count, ht.quiet(label))
        self._back.disabled, self._forward.disabled = self._at == 0, until >= n
        display(self._bar, n > self._size)


class Background(W.HBox):
    """Long work of a panel in a thread of its own: a bar, words, and a button that cancels.

    Beginning new work stops the work before, whose end is then told to nobody.

    Parameters
    ----------
    area
        Its texts: ``<area>.cancel`` on the button, ``.cancelled`` and ``.failed``, and ``.start`` for ``again``.
    words
        What stands beside the bar, for a :class:`WorkProgress`.
    again
        Begins anew; a button calls it once the work was cancelled.
    on_busy, on_cancel
        Called with True before work begins and False when it has ended; called when the button was pressed.
    """

    def __init__(
        self, panel: Panel, area: str, words: Callable[[WorkProgress], str], *, again: Callable[[], None] | None = None,
        on_busy: Callable[[bool], None] = lambda busy: None, on_cancel: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._panel, self._area, self._words, self._on_busy, self._on_cancel = panel, area, words, on_busy, on_cancel
        self._work: Work | None = None
        self.bar = W.IntProgress(min=0, max=1, layout=W.Layout(width="180px"))
        self.message = markup()
        self.cancel_button = button(_t(f"{area}.cancel"), panel.guarded(self.cancel, "cancel"), "wb-cancel")
        self.again = None if again is None else button(_t(f"{area}.start"), panel.guarded(again, "start"))
        # No button acts before a cell that waits has ended.
        self.waits = markup(ht.quiet(_t("panels.common.cell_waits")))
        display(self.waits, False)
        buttons = [self.cancel_button, *([] if self.again is None else [self.again])]
        super().__init__([self.bar, self.message, *buttons, self.waits],
                         layout=W.Layout(flex_flow="row wrap", align_items="center", grid_gap="2px 10px"))  # fmt: skip
        self._set_busy(False)

    def start(self, function: Callable[..., Any], done: Callable[[Any], None], *,
              failed: Callable[[BaseException], None] = lambda error: None, words: str = "", patience: float = 0.0,
              stoppable: bool = True) -> None:  # fmt: skip
        """Begin ``function(progress=…, cancelled=…)``; wait ``patience`` seconds, then leave it to its thread.

        In that thread ``done(result)`` or ``failed(error)`` is called at the end, before the failure is said; what they
        raise is the red line.
        """
        if self._work is not None:
            self._work.cancel()

        def ended(result: Any, error: BaseException | None) -> None:
            if work is self._work:
                self._set_busy(False)
                self.say("")
                if error is None:
                    done(result)
                    return
                failed(error)
                if self.again is not None:
                    display(self.again, isinstance(error, CancelledError))
                self.say_failure(error)

        work = self._work = Work(function, self._told, self._panel.guarded(ended, "end"))
        self._set_busy(True, stoppable)
        self.say(words)
        work.start()
        work.join(patience)

    def say(self, words: str) -> None:
        """Put words beside the bar."""
        show(self.message, ht.quiet(words))

    def say_failure(self, error: BaseException) -> None:
        """Say why work ended early; a fault of ours is raised as well."""
        if isinstance(error, CancelledError):
            self.say(_t(f"{self._area}.cancelled"))
            return
        known = isinstance(error, WorkbenchError)
        self.say(_t(f"{self._area}.failed", reason=error if known else type(error).__name__))
        if not known:
            raise error

    @property
    def running(self) -> bool:
        """Whether work goes on."""
        return self._work is not None and self._work.running

    def cancel(self) -> None:
        """Ask the work to stop after what it is at; what it has kept stays."""
        if self._work is not None:
            self._work.cancel()
            self._on_cancel()

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end, if there is work, with words in sight; interrupting the wait cancels the work too."""
        display(self.waits, self.running)
        try:
            if self._work is not None:
                self._work.join(timeout)
        except KeyboardInterrupt:
            self.cancel()
            raise
        finally:
            display(self.waits, False)

    def _told(self, progress: WorkProgress) -> None:
        self.bar.max, self.bar.value = max(progress.total, 1), progress.done
        self.say(self._words(progress))

    def _set_busy(self, busy: bool, stoppable: bool = True) -> None:
        self.busy = busy
        self.bar.value, self.bar.max = 0, 1
        display(self.bar, busy)
        display(self.cancel_button, busy and stoppable)
        self.cancel_button.disabled = not (busy and stoppable)
        if self.again is not None:
            display(self.again, False)
        self._on_busy(busy)


def slider(kind: type[W.Widget], label: str, width: str = "300px", **options: Any) -> W.Widget:
    """A slider of that kind which tells its value when it is let go."""
    return kind(description=label, continuous_update=False, style=LABEL, layout=W.Layout(width=width), **options)


def cut_slider(label: str, value: float, width: str = "330px") -> W.FloatSlider:
    """A slider for a cut in [0, 1]."""
    made = slider(W.FloatSlider, label, width, min=0, max=1, step=0.01, value=value, readout_format=".2f")
    made.add_class("wb-threshold")
    return made


class Stepper(W.HBox):
    """Previous and next with the position, as buttons and as a slider (lists would lose their keys to JupyterLab)."""

    def __init__(self, panel: Panel, chosen: Callable[[int], None]) -> None:
        self._panel = panel
        self.previous = button(f"◀ {_t('panels.common.previous')}", panel.guarded(lambda: self._step(-1), "previous"),
                               "wb-previous")  # fmt: skip
        self.next = button(f"{_t('panels.common.next')} ▶", panel.guarded(lambda: self._step(1), "next"), "wb-next")
        # As wide for "sample 1 of 9" as for "sample 1,000 of 99,999": the buttons stay where they are.
        self.position = markup(width="150px")
        self.slider = W.IntSlider(min=1, max=1, readout=False, continuous_update=False, layout=W.Layout(width="80px"))
        panel.on(self.slider, lambda place: chosen(place - 1))
        super().__init__([self.previous, self.position, self.next, self.slider], layout=W.Layout(align_items="center"))

    def set(self, at: int, n: int, label: str) -> None:
        """Show position ``at`` (from 0) of ``n`` without telling anyone."""
        with self._panel.quietly():
            self.slider.max = max(n, 1)
            self.slider.value = at + 1
        show(self.position, ht.h("span", label))
        self.previous.disabled, self.next.disabled = at <= 0, at >= n - 1
        self.slider.disabled = n < 2

    def _step(self, step: int) -> None:
        self.slider.value = min(max(self.slider.value + step, 1), self.slider.max)


class ControlNames(AnyWidget):  # type: ignore[misc, unused-ignore]
    """Names that a screen reader can say, where widgets leave them out (handles of sliders, lists without a label, pictures),
    for the controls of the panel that it is in and those that come later; it shows nothing itself."""

    _esm = _HERE / "control_names.js"
