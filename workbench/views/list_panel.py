"""Panels around a list of samples: the filter, the list, the card of one sample with the user's own verdict on it.

:class:`ListPanel` is what panels 02 to 08 and 11 share; :class:`Card` is the view of :func:`~workbench.views.card.card_html`.
"""

from __future__ import annotations

import asyncio
import datetime
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import ipywidgets as W
from markupsafe import Markup

from workbench.diagnosis.causes import NOT_FAILING, cause_names, sign
from workbench.diagnosis.queries import value_title
from workbench.language import text as _t
from workbench.views.card import card_html, sample_table
from workbench.views.figures import figure_png
from workbench.views.filtering import CHOICES, Filter, explained
from workbench.views.html import Fragment, empty, h, quiet
from workbench.views.session import VERDICTS, Annotation
from workbench.views.widgets import (
    LABEL,
    Column,
    Panel,
    Picture,
    RowList,
    Stepper,
    button,
    display,
    dropdown,
    markup,
    row,
    show,
    text_box,
)
from workbench.views.wording import cause_title, verdict_title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from workbench.views.session import Session

#: Cards that are kept ready, and seconds until the next one is made.
MADE, SOON = 12, 0.15

# The filter of the session, as widgets.

#: The value of "any" in a drop-down list (None would show as an empty box).
ANY = ""


class FilterBar(W.VBox):
    """Choices for each part of the session's filter, free text, undo, reset; a part with nothing to choose is not shown."""

    def __init__(self, panel: Panel) -> None:
        assert panel.session is not None
        self._panel, self._session = panel, panel.session
        self.choices = {name: dropdown(_t(f"panels.filters.{name}"), self._offered(name), ANY, "165px")
                        for name in CHOICES}  # fmt: skip
        self.text = text_box(_t("panels.filters.search"), width="165px", continuous_update=False)
        self.undo = button(_t("panels.filters.undo"), panel.guarded(self._session.undo, "undo"))
        self.reset = button(_t("panels.filters.reset"), panel.guarded(self._session.reset, "reset"))
        for name, widget in self.choices.items():
            panel.on(widget, partial(self._choose, name))
        panel.on(self.text, lambda value: self._session.set_filter(text=value.strip()))
        super().__init__([row(*self.choices.values(), self.text, self.undo, self.reset)])

    def _choose(self, part: str, value: str) -> None:
        self._session.set_filter(**{part: value or None})

    def _offered(self, name: str) -> list[tuple[str, Any]]:
        """What can be chosen for one part, with counts over the whole set, most frequent first."""
        if name == "cause":
            counts = Counter(self._session.causes.counts())
        elif name in ("tag", "asked"):
            column = self._session.facets["tags" if name == "tag" else name]
            counts = Counter(value for values in column if values for value in set(values))
        else:
            counts = Counter(value for value in self._session.facets[name] if value)
        found = [(f"{self._called(name, key)} ({n:,})", key) for key, n in counts.most_common(200) if n]
        return [(_t("panels.filters.any"), ANY), *found]

    def _called(self, part: str, value: str) -> str:
        if part == "asked":
            return value_title("query_type", value)
        if part != "cause":
            return value[:60]
        return _t("panels.filters.failing") if value == "failing" else cause_title(value)

    def fill(self) -> None:
        """Show the session's filter; causes are counted anew, since thresholds move them."""
        chosen = self._session.filter
        with self._panel.quietly():
            for name, widget in self.choices.items():
                options, wanted = self._offered(name), getattr(chosen, name) or ANY
                if wanted not in [value for _, value in options]:
                    options.append((f"{self._called(name, wanted)} (0)", wanted))
                if list(widget.options) != options:
                    widget.options = options
                widget.value = wanted
                display(widget, len(options) > 1)
            self.text.value = chosen.text


class FilterNote(W.HBox):
    """What the session's filter lets through, and a button that takes it off; nothing while everything is shown.

    For panels that follow the filter without choices of their own. ``take_off`` is called by the button.
    """

    def __init__(self, panel: Panel, take_off: Callable[[], None] | None = None) -> None:
        assert panel.session is not None
        self._session = panel.session
        self.note = markup()
        self.everything = button(_t("panels.filters.everything"), panel.guarded(take_off or self._session.clear_filter,
                                                                                "show all"), "wb-everything")  # fmt: skip
        super().__init__([self.note, self.everything], layout=W.Layout(align_items="center", grid_gap="2px 10px"))
        self.fill()

    def fill(self) -> None:
        """Say what is in force."""
        words = self._session.filter.words()
        show(self.note, h("p", _t("panels.filters.in_force", label=words), cls="wb-note") if words else h("span"))
        # Its place is kept, so that nothing below moves.
        self.layout.visibility = "visible" if words else "hidden"


# The card with the user's own verdict, and panels around a list of samples.


class Card(W.VBox):
    """The card of the session's selected sample, inside a :class:`ListPanel`.

    What the user says of it (verdict, note, saving) is ``bar``, which stands above whatever may change its height.
    """

    def __init__(self, panel: ListPanel) -> None:
        self._panel, self._session = panel, panel.session
        self.body = markup(None, "wb-card")
        self.verdict = W.ToggleButtons(
            options=[(_t("panels.card.no_verdict"), None), *((verdict_title(name), name) for name in VERDICTS)],
            value=None, description=_t("panels.card.my_verdict"), style={"button_width": "auto", **LABEL},
            layout=W.Layout(width="max-content", margin="2px"),
        )  # fmt: skip
        self.note = text_box(_t("panels.card.note"), width="190px", continuous_update=False)
        self.note.add_class("wb-own-note")
        #: A verdict by one key: JupyterLab leaves the keys of a text box alone.
        self.key = W.Text(placeholder=_t("panels.card.key"), layout=W.Layout(width="110px"))
        self.key.tooltip = _t("panels.card.key_hint")
        self.key.add_class("wb-key")
        self._typed = ""
        self.saved = markup(None, "wb-saved")
        self.save = button(_t("lists.save_sample"), panel.guarded(self.keep_sample, "save sample"), "wb-save")
        self.pin = button(_t("lists.save_view"), panel.guarded(panel.pin, "pin"), "wb-pin")
        self.save.tooltip, self.pin.tooltip = _t("lists.save_sample_hint"), _t("lists.save_view_hint")
        self.copy = button(_t("panels.card.copy_ids"), panel.guarded(self._show_ids, "copy ids"))
        self.id_box = W.Textarea(layout=W.Layout(width="100%", height="70px", display="none"))
        for widget in (self.verdict, self.note):
            panel.on(widget, lambda _: self._annotate())
        panel.on(self.key, self._keyed)
        buttons = row(panel.stepper, self.verdict, self.key, self.note, self.save, self.pin, self.copy)
        self.bar = W.VBox([buttons, self.saved])
        super().__init__([self.body, self.id_box], layout=W.Layout(width="100%"))

    def draw(self, sample_id: str | None, words: str = "") -> None:
        """Show a sample with the verdict and note as saved, or ``words`` when there is none to show."""
        display(self.id_box, False)
        for widget in (self.verdict, self.note, self.save, self.copy):
            widget.disabled = sample_id is None
        if sample_id is None:
            show(self.body, empty(words) if words else Markup())
        else:
            show(self.body, self._panel.card_of(sample_id))
        annotation = self._session.annotations.get(sample_id or "")
        with self._panel.quietly():
            self.verdict.value = annotation.verdict if annotation else None
            self.note.value = annotation.note if annotation else ""
        self._say_saved(annotation.at if annotation else "")

    def _annotate(self) -> None:
        if self._session.selection is not None:
            verdict, note = self.verdict.value, self.note.value
            self._say_saved(self._session.annotate(self._session.selection, verdict=verdict, note=note).at)

    def _keyed(self, typed: str) -> None:
        """The first letter of a verdict, or its number, gives it and goes on to the next sample.

        The box is never emptied: a key that was typed while the kernel was busy must not be read twice.
        """
        letters = {key: name for at, name in enumerate(VERDICTS) for key in (name[0], str(at + 1))}
        new = typed[len(self._typed) :] if typed.startswith(self._typed) else ""
        self._typed = typed
        for verdict in filter(None, map(letters.get, new.lower())):
            with self._session.batch():  # one notification: what is shown is drawn once
                if self._session.selection is not None:
                    note = self._session.annotations.get(self._session.selection, Annotation()).note
                    self._session.annotate(self._session.selection, verdict=verdict, note=note)
                    self._panel.stepper.next.click()

    def _say_saved(self, at: str) -> None:
        with suppress(ValueError):
            at = datetime.datetime.fromisoformat(at).astimezone().strftime("%H:%M")
        key = "panels.card.saved" if self._session.saved else "panels.card.kept"
        show(self.saved, quiet(_t(key, time=at)) if at else Markup())

    def _show_ids(self) -> None:
        self.id_box.value = "\n".join(self._panel.ids())
        display(self.id_box, self.id_box.layout.display == "none")

    def keep(self, title: str, **stated: Any) -> None:
        """Save the view: the panel's picture, counts, filter and table with the note on the selected sample. ``stated``:
        further arguments of :meth:`~workbench.views.session.Session.pin`, which win."""
        own = self._session.annotations.get(self._session.selection or "")
        if "table" not in stated:
            table = self._panel.table()
            stated["table"] = table if table.index.name is None else table.reset_index()
        if (figure := self._panel.figure()) is not None:
            stated["figure"] = figure_png(figure)
        known = {"note": own.note if own else "", "sample_ids": self._panel.ids(), "snippet": self._panel._snippet()}
        found = self._session.pin(title, panel=self._panel.stem, **{**known, **stated})
        self._say_kept("view", n=f"{found.n:,}")

    def keep_sample(self) -> None:
        """Save the sample that is looked at, with its card as it stands."""
        shown = self._panel.shown_id
        if shown is None:
            return
        own, found = self._session.annotations.get(shown), explained(self._session.slices, shown)
        question = " ".join(str(self._session.sample(shown)["question"]).split())
        self._session.pin(
            f"{shown}: {cause_title(found['primary_cause'])} – {question[:90]}", panel=self._panel.stem,
            note=own.note if own else "", sample_ids=[shown], n_total=len(self._session.samples),
            card=str(self._panel.body(shown)), snippet=self._panel.script(f"session.select({shown!r})"),
            table=sample_table(self._session, shown, found),
        )  # fmt: skip
        self._say_kept("sample", id=shown[:40])

    def _say_kept(self, what: str, **values: str) -> None:
        show(self.saved, quiet(_t(f"lists.kept_{what}", total=len(self._session.findings), **values)))


def id_column() -> Column:
    """The ids of samples."""
    return Column("sample_id", _t("panels.columns.sample_id"), "id")


def question_column() -> Column:
    """The questions, on one line."""
    return Column("question", _t("panels.columns.question"), "text", lambda text: " ".join(str(text)[:400].split()))


def cause_column(key: str = "cause", title: str | None = None) -> Column:
    """Causes with their sign, sorted as they break a chain."""
    order = {name: place for place, name in enumerate((*cause_names(), *NOT_FAILING))}

    def shown(name: str) -> tuple[str, str]:
        return f"{sign(name)} {cause_title(name)}", "wb-pass" if name in NOT_FAILING else "wb-fail"

    return Column(key, title or _t("panels.columns.cause"), "short", shown, lambda name: order.get(name, len(order)))


class ListPanel(Panel):
    """Base of panels around a list of samples: counts, a picture, previous and next, the list, the card of one sample.

    Subclasses say what is listed and draw it in :meth:`_refresh`; once put together they call :meth:`begin`.
    """

    filters: FilterBar | FilterNote | None = None
    #: Whether the card of the next row is made while this one is read; only where nothing but the sample decides what it says.
    ahead = False
    _at = -1
    rows: RowList | None = None
    #: What the list shows, one row a sample, in the order that was clicked; see :meth:`list_samples`.
    _shown: pd.DataFrame | None = None

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.session: Session = session
        self._ids: list[str] = []
        self.count = markup(None, "wb-count")
        self.picture = Picture("wb-figure", guarded=self.guarded)
        self.stepper = Stepper(self, self.go)
        self._made: dict[str, Markup] = {}
        self._soon: asyncio.TimerHandle | None = None
        self.card = Card(self)
        self.bar = self.card.bar

    def beside(self, *columns: Column, above: Sequence[W.Widget] = (), below: Sequence[W.Widget] = ()) -> W.Box:
        """A list with these columns, and the card beside it (below it on a narrow page) between other widgets."""
        self.rows = RowList(columns, self.guarded, self.go, lambda: self._list(), self._key)
        box = W.Box([self.rows, W.VBox([*above, self.card, *below])])
        box.add_class("wb-split")
        display(self.card.key, False)  # the list takes the keys itself
        return box

    def _list(self) -> None:
        """Put the listed samples together anew, in the order of the list."""

    def list_samples(self, frame: pd.DataFrame) -> None:
        """List the samples of the index of ``frame``; the selected one stays on the card when it is among them."""
        assert self.rows is not None
        self._shown = self.rows.ordered(frame)
        self._ids = self._shown.index.tolist()
        self.rows.set(self._shown, empty=self._empty_words(), note=self._note())
        self.keep_selection()

    def _key(self, key: str) -> None:
        if key == "p":
            self.card.keep_sample()
        elif key.isdigit() and self.shown_id is not None:
            self.card.verdict.value = VERDICTS[int(key) - 1]

    def _note(self) -> str:
        """What stands above the list: a set of samples that was chosen elsewhere."""
        label = self.session.filter.label
        return _t("panels.filters.only", label=label) if label else ""

    def begin(self, *, draw: bool = True) -> None:
        """Follow the session from now on, and draw for the first time."""
        self.session.observe(self.guarded(self._follow, "session"))
        if draw:
            self._follow(frozenset(("filter", "thresholds")))

    def _follow(self, names: frozenset[str]) -> None:
        if self.filters is not None and "filter" in names:
            self.filters.fill()
        if names & {"filter", "thresholds"}:
            self._refresh()
        elif "selection" in names:
            self.draw_card()

    @abstractmethod
    def _refresh(self) -> None:
        """Draw everything under the filter and thresholds in force."""

    def ids(self) -> list[str]:
        """Ids of the list, in its order."""
        return self._ids

    @abstractmethod
    def _empty_words(self) -> str:
        """What the card says when nothing is listed."""

    @abstractmethod
    def pin(self) -> None:
        """Keep what is shown as a finding."""

    @abstractmethod
    def _snippet(self) -> str:
        """Lines of Python that give the same table."""

    def _position(self, at: int, ids: Sequence[str]) -> str:
        """ "3 of 41" and the id, for place ``at`` (from 0) of ``ids``, which may be empty."""
        if not ids:
            return _t("panels.low_scores.none")
        return _t("panels.low_scores.position", at=f"{at + 1:,}", n=f"{len(ids):,}")

    def body(self, sample_id: str) -> Markup:
        """What the card shows of a sample."""
        return card_html(self.session, sample_id)

    def card_of(self, sample_id: str) -> Markup:
        """:meth:`body`; one that was made for this list is kept."""
        if not self.ahead:
            return self.body(sample_id)
        if sample_id not in self._made:
            self._made = {**dict(islice(self._made.items(), max(len(self._made) - MADE + 1, 0), None)),
                          sample_id: self.body(sample_id)}  # fmt: skip
        return self._made[sample_id]

    def _make_soon(self, sample_id: str) -> None:
        """Make the card of a sample once the page has what it waits for; at once is too early, it would wait for this too."""
        if self._soon is not None:
            self._soon.cancel()
        with suppress(RuntimeError):  # outside of a kernel no loop runs, and nobody waits
            loop = asyncio.get_running_loop()
            self._soon = loop.call_later(SOON, self.guarded(lambda: self.card_of(sample_id), "ahead"))

    def still_card(self) -> Markup | None:
        """The card of the selected sample for static HTML; None when it is not listed."""
        selected = self.session.selection
        return self.card_of(selected) if selected is not None and selected in self.ids() else None

    def row_ids(self) -> Sequence[str]:
        """The sample of each row of the list; a sample may have several."""
        return self.ids()

    def go(self, at: int) -> None:
        """Look at a row of the list."""
        self._at, sample_id = at, self.row_ids()[at]
        if self.session.selection == sample_id:
            self.draw_card()
        else:
            self.session.select(sample_id)

    def keep_selection(self, first: int = 0) -> None:
        """After the list changed: keep the selected sample when it is listed, else go to row ``first``."""
        self._made = {}
        if self._soon is not None:
            self._soon.cancel()
        ids = self.row_ids()
        if self.session.selection in ids or not len(ids):
            self.draw_card()
        else:
            self.go(first)

    @property
    def at(self) -> int | None:
        """The row looked at: the one gone to, else the first of the selected sample, else the first; None without any."""
        ids, selected = self.row_ids(), self.session.selection
        if 0 <= self._at < len(ids) and ids[self._at] == selected:
            return self._at
        return ids.index(selected) if selected in ids else 0 if len(ids) else None

    @property
    def shown_id(self) -> str | None:
        """The sample on the card: the selected one, the first when that is not listed, None when nothing is."""
        return None if self.at is None else self.row_ids()[self.at]

    def draw_card(self) -> None:
        """Show the sample of the row looked at, and its place."""
        ids, at = self.row_ids(), self.at
        self.stepper.set(at or 0, len(ids), self._position(at or 0, ids))
        if self.rows is not None:
            self.rows.point(-1 if at is None else at)
        self.card.draw(None if at is None else ids[at], self._empty_words())
        if self.ahead and at is not None and at + 1 < len(ids):
            self._make_soon(ids[at + 1])

    def script(self, *lines: str, opened: str = "session") -> str:
        """Lines of Python after those that open the ``session`` with its filter, or the ``evaluation``."""
        call = f"wb.open({str(self.session.evaluation.path or self.session.evaluation.name)!r})"
        first = [f"session = wb.Session({call})" if opened == "session" else f"evaluation = {call}"]
        if opened == "session" and self.session.filter != Filter():
            first.append(f"session.set_filter(**{self.session.filter.to_dict()!r})")
        return "\n".join(["import workbench as wb", *first, *lines])

    @abstractmethod
    def html(self) -> Fragment:
        """What is shown, as a static piece of HTML."""


class MissPanel(ListPanel):
    """Base of panels around questions and the documents that they missed; a sample may stand there with several."""

    _document: str | None = None

    @property
    @abstractmethod
    def listed(self) -> Sequence[Any]:
        """What is listed, in order; each has ``miss.sample_id`` and ``miss.doc_id``."""

    @property
    def at(self) -> int | None:
        """Place of what is looked at: the chosen document of the selected sample, else the first; None without any."""
        listed = self.listed
        mine = [at for at, item in enumerate(listed) if item.miss.sample_id == self.session.selection]
        same = [at for at in mine if listed[at].miss.doc_id == self._document]
        return next(iter(same or mine), 0 if listed else None)

    def row_ids(self) -> list[str]:
        """The sample of each listed document."""
        return [item.miss.sample_id for item in self.listed]

    def ids(self) -> list[str]:
        """Samples with a listed document."""
        return list(dict.fromkeys(self.row_ids()))

    def go(self, at: int) -> None:
        """Look at the document at a place of the list."""
        self._document = self.listed[at].miss.doc_id
        super().go(at)

    def draw_place(self) -> Any:
        """Show which one of how many is looked at, and its card; what that is, or None."""
        listed, at = self.listed, self.at
        if at is None:
            self.stepper.set(0, 0, _t("panels.low_scores.none"))
            if self.rows is not None:
                self.rows.point(-1)
            self.card.draw(None)
            return None
        miss = listed[at].miss
        where = _t("missed.position", at=at + 1, n=len(listed))
        self.stepper.set(at, len(listed), where)
        if self.rows is not None:
            self.rows.point(at)
        self.card.draw(miss.sample_id)
        return listed[at]

    @abstractmethod
    def _drawn(self, theme: str, view: str | None = None) -> tuple[Figure, str] | None:
        """A picture (that in view) and its caption; None where it cannot be drawn."""

    def _again(self) -> Figure:
        drawn = self._drawn("screen")
        assert drawn is not None
        return drawn[0]

    # Handing over: what waits for the work that goes on is built of what is known now.

    def figure(self) -> Figure | None:
        """The picture in view, dark on white."""
        self.join()
        drawn = self._drawn("print")
        return None if drawn is None else drawn[0]

    @abstractmethod
    def rows_known(self) -> pd.DataFrame:
        """What is listed, as far as it is known now."""

    def table(self) -> pd.DataFrame:
        """:meth:`rows_known` once all is known."""
        self.join()
        return self.rows_known()

    @abstractmethod
    def page(self, rows: int = 15) -> Fragment:
        """As :meth:`html`, of what is known now."""

    def html(self, rows: int = 15) -> Fragment:
        """What is shown, as a static piece of HTML, once all is known."""
        self.join()
        return self.page(rows)
