"""Panel 07: what was made up, and how serious is it?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.diagnosis.hallucinations import (
    SEVERITIES,
    VERDICTS,
    citation_rows,
    hallucinated_claims,
    sign_rows,
    verdict_counts,
)
from workbench.diagnosis.statistics import wilson
from workbench.language import has_text, numbers
from workbench.language import text as _t
from workbench.views import plots
from workbench.views.card import SIGNS
from workbench.views.html import Fragment, empty, excerpt, fragment, h, table
from workbench.views.list_panel import ANY, FilterBar, ListPanel, id_column
from workbench.views.widgets import Column, PagedTable, cut_slider, dropdown, markup, named, row, show, still
from workbench.views.wording import metric_title, verdict_title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from workbench.views.session import Session

#: Columns of the list of claims.
COLUMNS = ("sample_id", "text", "verdict", "severity", "support", "wrong", "best_doc_id")


class Hallucinations(ListPanel):
    """Cut of support, verdict and severity, the list of claims, citations and signs, and the evidence card."""

    stem = "hallucinations"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._claims = self._rows = None
        if not len(session.evaluation.claims()):
            self.compose(markup(empty(_t("hallucinations.no_claims"))))
            return
        self.cut = cut_slider(_t("hallucinations.support"), session.thresholds.support)
        self.filters = FilterBar(self)
        every = (_t("panels.filters.any"), ANY)
        verdicts = [(verdict_title(name), name) for name in VERDICTS]
        self.verdict = dropdown(_t("hallucinations.verdict"), [every, *verdicts], ANY)
        self.severity = dropdown(_t("hallucinations.level"), [every, *named("hallucinations.severity.", SEVERITIES)], ANY)
        self.citations, self.signs = PagedTable(self), PagedTable(self)
        self.tabs = W.Tab([self.citations, self.signs])
        self.tabs.titles = tuple(_t(f"hallucinations.tab_{name}") for name in ("citations", "signs"))
        self.picture.clicked = self._click
        self.on(self.cut, lambda value: session.set_thresholds(support=round(float(value), 6)))
        for widget in (self.verdict, self.severity):
            self.on(widget, lambda _: self._list())
        self.compose(row(self.cut, self.verdict, self.severity, self.count), self.filters, self.picture, self.bar,
                     self.beside(*self._columns()), self.tabs)  # fmt: skip
        self.begin()

    def _columns(self) -> list[Column]:
        def verdict(name: str) -> tuple[str, str]:
            return f"{SIGNS[name]} {verdict_title(name)}", "wb-fail" if name != "unsure" else ""

        def level(name: Any) -> str:
            return _t(f"hallucinations.severity.{name}") if isinstance(name, str) else "–"

        order = {name: place for place, name in enumerate((*VERDICTS, *SEVERITIES))}
        title = _headings(("text", "verdict", "severity", "support"))
        return [id_column(), Column("verdict", title["verdict"], "short", verdict, order.get),
                Column("severity", title["severity"], "number", level, lambda name: order.get(name, len(order))),
                Column("support", title["support"], "number", numbers.score), Column("text", title["text"])]  # fmt: skip

    def _click(self, key: Any) -> None:
        """A part of a bar lists its claims; once more takes that off."""
        verdict, level = key if [self.verdict.value, self.severity.value] != key else (ANY, ANY)
        with self.quietly():
            self.verdict.value, self.severity.value = verdict, level
        self._list()

    def _refresh(self) -> None:
        with self.quietly():
            self.cut.value = self.session.thresholds.support
        kept, evaluation = self.session.matching(), self.session.evaluation
        claims = hallucinated_claims(evaluation)
        self._claims = claims[claims["sample_id"].isin(kept)]
        show(self.count, h("span", self.words()))
        self.picture.draw(lambda: self.figure("screen"), _t("hallucinations.caption"))
        citations, signs = citation_rows(evaluation), sign_rows(evaluation)
        state = {"state": lambda value: excerpt(_t(f"hallucinations.citation.{value}"))}
        _fill(self.citations, citations[citations["sample_id"].isin(kept)], _t("hallucinations.no_citations"), state)
        signs = signs[signs.index.isin(kept)].rename_axis("sample_id").reset_index()
        _fill(self.signs, signs, _t("hallucinations.no_signs"))
        self._list()

    def _list(self) -> None:
        rows = self._claims
        assert rows is not None
        for name, widget in (("verdict", self.verdict), ("severity", self.severity)):
            if widget.value:
                rows = rows[rows[name] == widget.value]
        assert self.rows is not None
        self._rows = self.rows.ordered(rows).reset_index(drop=True)
        self.rows.set(self._rows, empty=self._empty_words(), note=self._note())
        self.keep_selection()

    def row_ids(self) -> list[str]:
        """The sample of each claim."""
        return [] if self._rows is None else self._rows["sample_id"].astype(str).tolist()

    def _position(self, at: int, ids: Sequence[str]) -> str:
        return _t("hallucinations.position", at=f"{at + 1:,}", n=f"{len(ids):,}") if ids else super()._position(at, ids)

    def draw_card(self) -> None:
        """Show the selected sample, and point out its rows."""
        super().draw_card()
        for listed in (self.citations, self.signs):
            listed.point(self.shown_id)

    def _empty_words(self) -> str:
        return _t("hallucinations.empty")

    def ids(self) -> list[str]:
        """Samples with a listed claim, in the order of the list."""
        return list(dict.fromkeys(self.row_ids()))

    def counts(self) -> pd.DataFrame:
        """Answer claims of the whole evaluation by verdict and severity."""
        return verdict_counts(self.session.evaluation)

    def _unsupported(self) -> tuple[int, int]:
        """Claims without support, of how many."""
        counts = self.counts()["n"]
        return int(counts["contradicted"] + counts["not_mentioned"]), int(counts.sum())

    def words(self) -> str:
        """ "31 of 210 claims have no support (15 %), 4 of them contradict the contexts; 12 more are unsure"."""
        counts, (bad, total) = self.counts()["n"], self._unsupported()
        return _t("hallucinations.words", bad=f"{bad:,}", n=f"{total:,}", rate=numbers.percent(bad / total if total else None),
                  contradicted=f"{counts['contradicted']:,}", unsure=f"{counts['unsure']:,}")  # fmt: skip

    def figure(self, theme: str = "print") -> Figure:
        """Claims by verdict and severity, dark on white."""
        return plots.verdict_bars(self.counts(), self.words(), theme=theme)

    def table(self) -> pd.DataFrame:
        """The listed claims, see ``hallucinated_claims``."""
        import pandas as pd

        return pd.DataFrame() if self._rows is None else self._rows

    def html(self, rows: int = 10) -> Fragment:
        """Counts, picture, the worst claims and the card of the selected sample."""
        if self._rows is None:
            return fragment(empty(_t("hallucinations.no_claims")))
        shown = _readable(self._rows.head(rows))
        listed = table(shown, headings=_headings(shown.columns), total=len(self._rows))
        return fragment(still(self.figure(), self.words()), listed, self.still_card())

    def pin(self) -> None:
        """Keep the share of claims without support as a finding."""
        bad, total = self._unsupported()
        self.card.keep(self.words(), value=bad / total if total else None,
                       interval=wilson(bad, total)[:2] if total else None)  # fmt: skip

    def _snippet(self) -> str:
        return self.script(f"session.set_thresholds(support={self.session.thresholds.support!r})",
                           "wb.panels.hallucinations(session).table()")  # fmt: skip


def _readable(rows: pd.DataFrame) -> pd.DataFrame:
    shown = rows[list(COLUMNS)].copy()
    shown["verdict"] = [f"{SIGNS[name]} {verdict_title(name)}" for name in shown["verdict"]]
    levels = [name if isinstance(name, str) else "" for name in shown["severity"]]
    shown["severity"] = [_t(f"hallucinations.severity.{name}") if name else "–" for name in levels]
    shown["support"] = shown["support"].map(numbers.score)
    return shown


def _fill(listed: PagedTable, frame: pd.DataFrame, words: str, formats: dict[str, Any] | None = None) -> None:
    """Show rows labelled by their sample."""
    rows = frame.set_axis(frame["sample_id"].astype(str), axis="index")
    listed.set(rows, headings=_headings(frame.columns), formats=formats, empty=words)


def _headings(names: Iterable[Any]) -> dict[str, str]:
    keys = {str(name): f"hallucinations.columns.{name}" for name in names}
    return {name: _t(key) if has_text(key) else metric_title(name) for name, key in keys.items()}
