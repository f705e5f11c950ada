"""The row of panel 06 that freezes thresholds into a rules file and says whether the run may ship."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.errors import InputError
from workbench.language import text as _t
from workbench.views.html import h
from workbench.views.widgets import button, display, markup, row, show

if TYPE_CHECKING:
    from workbench.views.panels.compare import Compare


class GateRow(W.VBox):
    """A rules file, a button that freezes the session's thresholds into it, and one that checks the run against it.

    Parameters
    ----------
    panel
        The panel that it stands in.
    gate
        ``freeze(path, thresholds)`` and ``check(evaluation, path, baseline)``, what the command line uses as well; without
        it the row is not shown.
    """

    def __init__(self, panel: Compare, gate: Any) -> None:
        self._panel, self._gate = panel, gate
        self.rules = W.Text(
            value="gate.toml", description=_t("compare.gate.file"), layout=W.Layout(width="330px"),
            style={"description_width": "initial"},
        )  # fmt: skip
        self.freeze = button(_t("compare.gate.freeze"), panel.guarded(self._freeze, "freeze"), "wb-freeze")
        self.check = button(_t("compare.gate.check"), panel.guarded(self._check, "check"), "wb-gate")
        self.result = markup(None, "wb-gate-result")
        super().__init__([row(self.rules, self.freeze, self.check), self.result], layout=W.Layout(width="100%"))
        display(self, gate is not None)

    def _freeze(self) -> None:
        path = self._gate.freeze(self.rules.value, self._panel.session.thresholds)
        show(self.result, h("p", _t("compare.gate.frozen", path=path), cls="wb-note"))

    def _check(self) -> None:
        """The verdict of the rules file, the same as the command line gives."""
        if not Path(self.rules.value).is_file():
            raise InputError(_t("compare.gate.absent", path=self.rules.value))
        result = self._gate.check(self._panel.session.evaluation, self.rules.value, self._panel.baseline)
        lines = [h("p", line) for line in result.words()[:-1]]
        kind = "wb-good" if result.passed else "wb-bad"
        show(self.result, h("div", h("p", result.verdict, cls=kind), *lines, cls="wb-note"))
