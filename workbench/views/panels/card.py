"""The evidence card: everything that is known about one sample, and the user's own verdict on it.

:func:`card_html` is the plain function; :class:`Card` is its view, embedded in panels 02 to 07.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import ipywidgets as W
from markupsafe import Markup

from workbench.language import text as _t
from workbench.views.html import h, join
from workbench.views.names import verdict_title
from workbench.views.panels.card_parts import answer_part, contexts_part, expected_part, header_part, scores_part
from workbench.views.plots import figure_png
from workbench.views.session import VERDICTS
from workbench.views.widgets import Panel, button, display, markup, row, show

if TYPE_CHECKING:
    from workbench.views.session import Session


def card_html(session: Session, sample_id: str) -> Markup:
    """The evidence of one sample as static markup: question, cause, answer, expectations, contexts, scores."""
    parts = (header_part, answer_part, expected_part, contexts_part, scores_part)
    return h("div", *(part(session, sample_id) for part in parts), cls="wb-cardbody")


class Card(W.VBox):
    """The card of the session's selected sample, with verdict, note, pin and copyable ids.

    Parameters
    ----------
    panel
        The panel that it stands in; its red line shows what fails here.
    on_pin
        Called when the pin button is pressed.
    ids
        Gives the ids that "copy ids" offers and a pin is about; by default the selected one.
    body
        Gives the markup of a sample; by default :func:`card_html`.
    """

    def __init__(self, panel: Panel, on_pin: Callable[[], Any], ids: Callable[[], list[str]] | None = None,
                 body: Callable[[str], Markup] | None = None) -> None:  # fmt: skip
        assert panel.session is not None
        self._panel, self._session = panel, panel.session
        self._markup = body or (lambda sample_id: card_html(self._session, sample_id))
        self._ids = ids or (lambda: [self._session.selection] if self._session.selection else [])
        self._quiet = False
        self.body = markup(None, "wb-card")
        self.verdict = W.ToggleButtons(
            options=[(_t("panels.card.no_verdict"), None), *((verdict_title(name), name) for name in VERDICTS)],
            value=None, description=_t("panels.card.my_verdict"),
            style={"button_width": "auto", "description_width": "initial"},
            layout=W.Layout(width="max-content", margin="2px"),
        )  # fmt: skip
        self.note = W.Text(description=_t("panels.card.note"), continuous_update=False, layout=W.Layout(width="330px"),
                           style={"description_width": "initial"})  # fmt: skip
        self.saved = markup()
        self.pin = button(f"⚑ {_t('panels.card.pin')}", panel.guarded(on_pin, "pin"), "wb-pin")
        self.copy = button(_t("panels.card.copy_ids"), panel.guarded(self._show_ids, "copy ids"))
        self.id_box = W.Textarea(layout=W.Layout(width="100%", height="70px"))
        display(self.id_box, False)
        panel.on(self.verdict, lambda _: self._annotate())
        panel.on(self.note, lambda _: self._annotate())
        mine = row(self.verdict, self.note, self.saved, self.pin, self.copy)
        super().__init__([self.body, mine, self.id_box], layout=W.Layout(width="100%"))
        self.mine = mine

    def draw(self, sample_id: str | None, empty: str = "") -> None:
        """Show a sample, or the words of ``empty`` when there is none to show."""
        display(self.mine, sample_id is not None)
        display(self.id_box, False)
        if sample_id is None:
            show(self.body, h("div", empty, cls="wb-empty") if empty else Markup())
            return
        show(self.body, self._markup(sample_id))
        self._fill(sample_id)

    def _fill(self, sample_id: str) -> None:
        """Show the verdict and note as saved, without saving them again."""
        annotation = self._session.annotations.get(sample_id)
        self._quiet = True
        self.verdict.value = annotation.verdict if annotation else None
        self.note.value = annotation.note if annotation else ""
        self._quiet = False
        self._say_saved(annotation.at if annotation else "")

    def _annotate(self) -> None:
        if self._quiet or self._session.selection is None:
            return
        chosen = self._session.annotate(self._session.selection, verdict=self.verdict.value, note=self.note.value)
        self._say_saved(chosen.at)

    def _say_saved(self, at: str) -> None:
        key = "panels.card.saved" if self._session.saved else "panels.card.kept"
        show(self.saved, h("span", _t(key, time=_clock(at)), cls="wb-quiet") if at else Markup())

    def _show_ids(self) -> None:
        self.id_box.value = "\n".join(self._ids())
        display(self.id_box, self.id_box.layout.display == "none")

    def keep(self, title: str, **stated: Any) -> None:
        """Pin the panel's picture and table with the note on the selected sample; ``stated``: further arguments of
        :meth:`~workbench.views.session.Session.pin`."""
        table, figure = self._panel.table(), self._panel.figure()
        own = self._session.annotations.get(self._session.selection or "")
        self._session.pin(
            title, panel=self._panel.stem, note=own.note if own else "",
            figure=None if figure is None else figure_png(figure),
            table=table if table.index.name is None else table.reset_index(), sample_ids=self._ids(), **stated,
        )  # fmt: skip
        self.say(_t("panels.card.pinned", n=len(self._session.findings)))

    def say(self, line: str) -> None:
        """Say something beside the buttons, e.g. that a pin was saved."""
        show(self.saved, join([h("span", line, cls="wb-quiet")]))


def _clock(at: str) -> str:
    try:
        return datetime.datetime.fromisoformat(at).astimezone().strftime("%H:%M")
    except ValueError:
        return at
