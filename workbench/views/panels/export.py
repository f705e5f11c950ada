"""Panel 10: what do I hand to my team? The pins in order, to edit, and to write out.

The view layer does not know how reports are written: an :data:`Exporter` is handed over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import ipywidgets as W
from markupsafe import Markup

from workbench.data.files import REPORT_FORMATS
from workbench.errors import InputError
from workbench.language import codes, get_language, languages, numbers
from workbench.language import text as _t
from workbench.views.html import Fragment, empty, fragment, h, join, marked, picture, quiet, restored, table
from workbench.views.session import Finding
from workbench.views.widgets import Panel, button, dropdown, markup, row, show, text_box

if TYPE_CHECKING:
    import pandas as pd

    from workbench.views.session import Session

#: ``exporter(session, path, format=…, language=…)`` writes the pins and gives the file that it wrote; with a run to compare
#: with it is called with ``before=…`` as well, with a rules file with ``rules=…``.
Exporter = Callable[..., Path]
#: Findings that can be edited on one page of the panel.
EDITED = 20


def findings_table(findings: Sequence[Finding]) -> pd.DataFrame:
    """The pins: ``finding_id, title, note, panel, n, n_total, value, low, high, created``, in their order."""
    import pandas as pd

    names = ("finding_id", "title", "note", "panel", "n", "n_total", "value", "low", "high", "created")
    return pd.DataFrame([[getattr(item, name) for name in names] for item in findings], columns=list(names))


def finding_html(finding: Finding, rows: int = 10) -> Markup:
    """One pin as static markup: title, number with n and interval, note, picture, first rows, ids, how to reproduce."""
    png = finding.png()
    own = finding.table()
    ids = ", ".join(finding.sample_ids[:500])
    how = _t("panels.export.reproduce")
    number = ""
    if finding.value is not None:
        number = f"{numbers.percent(finding.value)} ({numbers.interval(finding.low, finding.high, rate=True)}) · "
    size = _t("panels.common.of", shown=f"{finding.n:,}", total=f"{finding.n_total:,}")
    return h(
        "div", h("h3", finding.title), h("p", number, size, " · ", ", ".join(finding.runs), cls="wb-quiet"),
        h("p", marked(finding.note)) if finding.note else None,
        picture(png, finding.title) if png else None,
        restored(finding.card) if finding.card else None,
        table(own.head(rows), total=finding.n) if len(own.columns) and not finding.card else None,
        h("details", h("summary", _t("panels.export.ids", n=f"{finding.n:,}")), h("p", ids)),
        h("details", h("summary", how), h("pre", finding.snippet)) if finding.snippet else None,
        cls="wb-cardbody",
    )  # fmt: skip


class Export(Panel):
    """The pins of a session.

    Parameters
    ----------
    exporter
        Writes them, see :data:`Exporter`; without one the pins are shown and edited only.
    folder
        Where files go when the name box holds a bare name.
    before, rules
        What the boxes hold at first: the run to compare with, and a rules file.
    """

    stem = "export"

    def __init__(self, session: Session, exporter: Exporter | None = None, folder: str | Path = "findings",
                 before: str | Path | None = None, rules: str | Path | None = None) -> None:  # fmt: skip
        super().__init__(session)
        self.session: Session = session
        self._exporter = exporter
        session.refresh()
        self.list = W.VBox()
        names = {"summary": _t("panels.export.summary"), "langfuse": "Langfuse", "langsmith": "LangSmith",
                 "phoenix": "Phoenix", "mlflow": "MLflow", "junit": "JUnit"}  # fmt: skip
        offered = [(names.get(name, name.upper()), name) for name in REPORT_FORMATS]
        self.format = dropdown(_t("panels.export.format"), offered, "html")
        spoken = [(str(one.facts["name"]), one.code) for one in languages()]
        self.language = dropdown(_t("panels.export.language"), spoken, get_language())
        self.name = text_box(_t("panels.export.file"), str(Path(folder) / session.evaluation.name), "380px")
        self.before = text_box(_t("panels.export.before"), str(before or ""), "420px",
                               placeholder=_t("panels.export.before_hint"))  # fmt: skip
        self.rules = text_box(_t("panels.export.rules"), str(rules or ""), "380px", placeholder="gate.toml")
        self.write = button(_t("panels.export.write"), self.guarded(self._write, "write"), button_style="primary")
        self.reload = button(_t("panels.export.reload"), self.guarded(session.refresh, "reload"))
        self.undo = button(_t("panels.filters.undo"), self.guarded(session.undo, "undo"))
        self.message, self.preview = markup(), markup()
        self.write.disabled = exporter is None
        self.compose(row(self.reload, self.undo), self.list, row(self.before, self.rules),
                     row(self.format, self.language, self.name, self.write),
                     self.message, self.preview)  # fmt: skip
        session.observe(self.guarded(self._follow, "session"))
        self._fill()

    def _follow(self, names: frozenset[str]) -> None:
        if "findings" in names:
            self._fill()

    def _fill(self) -> None:
        findings = self.session.findings
        self.list.children = [self._editor(at, item, len(findings)) for at, item in enumerate(findings[:EDITED])]
        show(self.preview, self._preview())

    def _editor(self, at: int, finding: Finding, n: int) -> W.Widget:
        title = text_box("", finding.title, "420px", continuous_update=False)
        note = text_box("", finding.note, "380px", continuous_update=False, placeholder=_t("panels.card.note"))
        own = finding.finding_id
        self.on(title, lambda value: self.session.edit_finding(own, title=value))
        self.on(note, lambda value: self.session.edit_finding(own, note=value))
        up = button("▲", self.guarded(lambda: self.session.move_finding(own, -1), "up"), disabled=at == 0)
        down = button("▼", self.guarded(lambda: self.session.move_finding(own, 1), "down"), disabled=at == n - 1)
        gone = button("✕", self.guarded(lambda: self.session.remove_finding(own), "remove"),
                      tooltip=_t("panels.export.remove"))  # fmt: skip
        return row(markup(h("span", f"{at + 1}")), title, note, up, down, gone)

    def _preview(self) -> Markup:
        findings = self.session.findings
        if not findings:
            return empty(_t("panels.export.empty"))
        more = _t("panels.common.of", shown=EDITED, total=len(findings)) if len(findings) > EDITED else ""
        return join([*(finding_html(item) for item in findings[:EDITED]), quiet(more, tag="p")])

    def _write(self) -> None:
        path = self.export(self.name.value, format=self.format.value, language=self.language.value)
        written = _t("panels.export.written", path=path, size=f"{path.stat().st_size:,}")
        show(self.message, h("p", written, cls="wb-note"))

    def export(self, path: str | Path, *, format: str = "html", language: str | None = None) -> Path:
        """Write the pins to ``path`` (the ending of the format is added when it has none) and give the file.

        Raises ``InputError`` for an unknown format or language, or a place that cannot be written.
        """
        chosen = language or get_language()
        if self._exporter is None:
            raise InputError("no exporter was given; use wb.panels.export(session)")
        if format not in REPORT_FORMATS or chosen not in codes():
            raise InputError(f"format {format!r} in language {chosen!r} is not known; use {', '.join(REPORT_FORMATS)} in "
                             f"{' or '.join(codes())}")  # fmt: skip
        target = Path(path).expanduser()
        if not target.suffix:
            target = target.with_name(target.name + REPORT_FORMATS[format])
        boxes = {"before": self.before.value.strip(), "rules": self.rules.value.strip()}
        given = {name: value for name, value in boxes.items() if value}
        return self._exporter(self.session, target, format=format, language=chosen, **given)

    def table(self) -> pd.DataFrame:
        """The pins, see :func:`findings_table`."""
        return findings_table(self.session.findings)

    def html(self) -> Fragment:
        """All pins, one below the other."""
        return fragment(self._preview())
