"""The row of filters that panels share: cause, type, language, tag, free text, undo and reset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.diagnosis.dimensions import value_title
from workbench.language import text as _t
from workbench.views.filtering import CHOICES
from workbench.views.html import h
from workbench.views.names import cause_title
from workbench.views.widgets import button, display, dropdown, markup, row, show

if TYPE_CHECKING:
    from workbench.views.session import Session
    from workbench.views.widgets import Panel


def choices(session: Session, name: str) -> list[tuple[str, Any]]:
    """What can be chosen for one part of the filter, with counts over the whole set, most frequent first."""
    counts: Counter[str] = Counter()
    if name == "cause":
        counts.update(session.causes.counts())
    elif name in ("tag", "asked"):
        column = session.facets["tags" if name == "tag" else name]
        counts.update(value for values in column if values for value in set(values))
    else:
        counts.update(value for value in session.facets[name] if value)
    any_one = (_t("panels.filters.any"), ANY)
    return [any_one, *((f"{_called(name, key)} ({n:,})", key) for key, n in counts.most_common(200) if n)]


def _called(name: str, key: str) -> str:
    if name == "asked":
        return value_title("query_type", key)
    if name != "cause":
        return key[:60]
    return _t("panels.filters.failing") if key == "failing" else cause_title(key)


#: The value of "any" in a drop-down list (None would show as an empty box).
ANY = ""


class FilterBar(W.VBox):
    """Choices for each part of the session's filter; a part without anything to choose is not shown."""

    def __init__(self, panel: Panel) -> None:
        assert panel.session is not None
        self._session = panel.session
        self._quiet = False
        self.choices = {name: dropdown(_t(f"panels.filters.{name}"), choices(self._session, name), ANY, "172px")
                        for name in CHOICES}  # fmt: skip
        self.text = W.Text(description=_t("panels.filters.search"), continuous_update=False,
                           layout=W.Layout(width="190px"), style={"description_width": "initial"})  # fmt: skip
        self.undo = button(_t("panels.filters.undo"), panel.guarded(self._session.undo, "undo"))
        self.reset = button(_t("panels.filters.reset"), panel.guarded(self._session.reset, "reset"))
        self.note = markup()
        for name, widget in self.choices.items():
            panel.on(widget, partial(self._choose, name))
        panel.on(self.text, lambda value: self._choose("text", value.strip()))
        super().__init__([row(*self.choices.values(), self.text, self.undo, self.reset), self.note])

    def _choose(self, part: str, value: Any) -> None:
        if not self._quiet:
            self._session.set_filter(**{part: value or ("" if part == "text" else None)})

    def fill(self) -> None:
        """Show the session's filter; causes are counted anew, since thresholds move them."""
        self._quiet = True
        for name, widget in self.choices.items():
            options = choices(self._session, name)
            wanted = getattr(self._session.filter, name) or ANY
            if wanted not in [value for _, value in options]:
                options.append((f"{_called(name, wanted)} (0)", wanted))
            if list(widget.options) != options:
                widget.options = options
            widget.value = wanted
            display(widget, len(options) > 1)
        self.text.value = self._session.filter.text
        self._quiet = False
        label = self._session.filter.label
        show(self.note, h("p", _t("panels.filters.only", label=label), cls="wb-note") if label else h("span"))


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
        display(self, bool(words))
