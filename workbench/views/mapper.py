"""Which column is which field: a list for each field, with what the first rows would be read as."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets as W

from workbench.data.mapping import Columns, columns_of, remember_mapping
from workbench.language import text as _t
from workbench.views.html import excerpt, h, join, quiet, table
from workbench.views.widgets import Panel, button, display, dropdown, markup, row, show

#: Fields that can be mapped, the most needed first.
FIELDS = (
    "question", "answer", "contexts", "reference", "expected_docs", "must_include", "must_not_include", "expect_refusal",
    "sample_id", "case_type", "tenant", "latency_ms",
)  # fmt: skip


class Mapper(W.VBox):
    """A drop-down list of the file's columns for each field; what is chosen is remembered for the file.

    Parameters
    ----------
    applied
        Called after the choice was remembered.
    """

    def __init__(self, panel: Panel, applied: Callable[[], Any]) -> None:
        self._panel, self._applied = panel, applied
        self._source: Any = None
        self.columns: Columns | None = None
        self.intro, self.preview = markup(), markup()
        none = [(_t("panels.mapper.none"), "")]
        self.choices = {name: dropdown(_t(f"panels.mapper.fields.{name}"), none, "", width="300px") for name in FIELDS}
        for choice in self.choices.values():
            panel.on(choice, lambda _: self._show())
        self.apply = button(_t("panels.mapper.apply"), panel.guarded(self._apply, "mapper"), "wb-map", button_style="primary")
        self.forget = button(_t("panels.mapper.forget"), panel.guarded(self._forget, "mapper"))
        super().__init__([self.intro, row(*self.choices.values()), self.preview, row(self.apply, self.forget)],
                         layout=W.Layout(width="100%"))  # fmt: skip
        display(self, False)

    @property
    def mapping(self) -> dict[str, str]:
        """Column → field as it is chosen now, in the form of ``MAPPING``."""
        return {choice.value: name for name, choice in self.choices.items() if choice.value}

    def offer(self, source: Any) -> None:
        """Show the columns of a file; nothing for a source that has none. Raises ``InputError`` as loading does."""
        self._source, self.columns = source, columns_of(source)
        with self._panel.quietly():
            for name, choice in self.choices.items():
                choice.options = [(_t("panels.mapper.none"), ""), *((column, column) for column in self.columns.names)]
                choice.value = self.columns.known.get(name) or self.columns.suggested.get(name, "")
        self._show()
        display(self, True)

    def hide(self) -> None:
        """Out of sight: there is no file, or its columns are known."""
        display(self, False)

    def _show(self) -> None:
        """What is missing, and the first rows as they would be read."""
        if self.columns is None:
            return
        chosen = {name: choice.value for name, choice in self.choices.items() if choice.value}
        self.apply.disabled = "question" not in chosen
        guessed = [name for name, column in chosen.items() if self.columns.suggested.get(name) == column]
        told = [h("p", _t("panels.mapper.intro", n=len(self.columns.names)))]
        if guessed:
            said = ", ".join(f"{chosen[name]} → {_t(f'panels.mapper.fields.{name}')}" for name in guessed)
            told.append(h("p", _t("panels.mapper.suggested", pairs=said), cls="wb-note"))
        if "question" not in chosen:
            told.append(h("p", _t("panels.mapper.no_question"), cls="wb-note"))
        show(self.intro, join(told))
        import pandas as pd

        rows = pd.DataFrame([{name: line.get(column) for name, column in chosen.items()} for line in self.columns.rows],
                            columns=list(chosen), dtype=object)  # fmt: skip
        heads = {name: _t(f"panels.mapper.fields.{name}") for name in chosen}
        shown = table(rows, headings=heads, formats=dict.fromkeys(chosen, _cell)) if chosen else None
        code = f"MAPPING = {self.mapping}"
        show(self.preview, join([shown, quiet(_t("panels.mapper.code"), " ", h("code", code), tag="p")]))

    def _apply(self) -> None:
        remember_mapping(self._source, self.mapping)
        self._applied()

    def _forget(self) -> None:
        remember_mapping(self._source, None)
        self.offer(self._source)


def _cell(value: Any) -> Any:
    return excerpt(value if value is None else str(value), 90)
