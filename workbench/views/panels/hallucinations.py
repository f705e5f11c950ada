"""Panel 07: what was made up, and how serious is it?"""

from __future__ import annotations

from collections.abc import Sequence
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
from workbench.language import text as _t
from workbench.views import plots
from workbench.views.card import Card, FilterBar, ListPanel, card_html
from workbench.views.html import Fragment, Markup, excerpt, fragment, h, table
from workbench.views.plots import verdict_bars
from workbench.views.widgets import (
    PagedTable,
    Picture,
    Stepper,
    cut_slider,
    display,
    dropdown,
    markup,
    row,
    show,
)
from workbench.views.wording import rate_text, score_text, verdict_title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from workbench.views.session import Session

_ANY = ""


class Hallucinations(ListPanel):
    """Cut of support, verdict and severity, the list of claims, citations and signs, and the evidence card."""

    stem = "hallucinations"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._claims = self._rows = None
        if not len(session.evaluation.claims()):
            self.compose(markup(h("div", _t("hallucinations.no_claims"), cls="wb-empty")))
            return
        self._build()
        session.observe(self.guarded(self._follow, "session"))
        self._follow(frozenset(("filter", "thresholds")))

    def _build(self) -> None:
        self.cut = cut_slider(_t("hallucinations.support"), self.session.thresholds.support)
        self.count = markup(None, "wb-count")
        self.picture = Picture("wb-figure")
        self.filters = FilterBar(self)
        verdicts = [(verdict_title(name), name) for name in VERDICTS]
        levels = [(_t(f"hallucinations.severity.{name}"), name) for name in SEVERITIES]
        self.verdict = dropdown(_t("hallucinations.verdict"), [(_t("panels.filters.any"), _ANY), *verdicts], _ANY)
        self.severity = dropdown(_t("hallucinations.level"), [(_t("panels.filters.any"), _ANY), *levels], _ANY)
        self.stepper = Stepper(self, self.go)
        self.list, self.citations, self.signs = PagedTable(self, 10), PagedTable(self, 10), PagedTable(self, 10)
        self.leaks = markup()
        self.tabs = W.Tab([self.list, self.citations, self.signs])
        self.tabs.titles = tuple(_t(f"hallucinations.tab_{name}") for name in ("claims", "citations", "signs"))
        self.card = Card(self, self._pin, self.ids)
        self.on(self.cut, self._cut_moved)
        for widget in (self.verdict, self.severity):
            self.on(widget, lambda _: self._list())
        self.compose(row(self.cut, self.count), self.picture, self.filters, row(self.verdict, self.severity, self.stepper),
                     self.tabs, self.card)  # fmt: skip

    # -- following --------------------------------------------------------------------------------------------------

    def _cut_moved(self, value: float) -> None:
        if not self._quiet:
            self.session.set_thresholds(support=round(float(value), 6))

    def _follow(self, names: frozenset[str]) -> None:
        if "filter" in names:
            self.filters.fill()
        if names & {"filter", "thresholds"}:
            self._refresh()
        elif "selection" in names:
            self.draw_card()

    def _refresh(self) -> None:
        self._quiet = True
        self.cut.value = self.session.thresholds.support
        self._quiet = False
        kept = set(self.session.matching())
        evaluation = self.session.evaluation
        claims = hallucinated_claims(evaluation)
        self._claims = claims[claims["sample_id"].isin(kept)]
        words = self.words()
        show(self.count, h("span", words))
        self.picture.draw(self._figure("screen"), _t("hallucinations.caption"))
        citations = citation_rows(evaluation)
        shown = citations[citations["sample_id"].isin(kept)]
        self.citations.set(_by_sample(shown), headings=_headings(shown), formats={"state": _citation_state},
                           empty=_t("hallucinations.no_citations"))  # fmt: skip
        signs = sign_rows(evaluation)
        shown = signs[signs.index.isin(kept)].rename_axis("sample_id").reset_index()
        self.signs.set(_by_sample(shown), headings=_headings(shown), empty=_t("hallucinations.no_signs"))
        self._list()

    def _list(self) -> None:
        rows = self._claims
        assert rows is not None
        if self.verdict.value:
            rows = rows[rows["verdict"] == self.verdict.value]
        if self.severity.value:
            rows = rows[rows["severity"] == self.severity.value]
        self._rows = rows.reset_index(drop=True)
        shown = _readable(self._rows)
        self.list.set(_by_sample(shown), headings=_headings(shown), formats={"verdict": _unbroken}, empty=self.empty_words())
        display(self.stepper, bool(self.ids()))
        self.settle()

    def draw_card(self) -> None:
        """Show the selected sample, and point out its rows."""
        super().draw_card()
        ids, selected = self.ids(), self.session.selection
        shown = selected if selected in ids else next(iter(ids), None)
        for listed in (self.list, self.citations, self.signs):
            listed.point(shown)

    def position(self, at: int, ids: Sequence[str]) -> str:
        """ "3 of 41" and the id."""
        if not ids:
            return _t("panels.low_scores.none")
        return f"{_t('panels.low_scores.position', at=at + 1, n=len(ids))} — {ids[at][:60]}"

    def empty_words(self) -> str:
        """That no claim is listed."""
        return _t("hallucinations.empty")

    # -- what is shown ----------------------------------------------------------------------------------------------

    def ids(self) -> list[str]:
        """Samples with a listed claim, in the order of the list."""
        return [] if self._rows is None else list(dict.fromkeys(self._rows["sample_id"].astype(str)))

    def counts(self) -> pd.DataFrame:
        """Answer claims of the whole evaluation by verdict and severity."""
        return verdict_counts(self.session.evaluation)

    def words(self) -> str:
        """ "31 of 210 claims have no support (15 %), 4 of them contradict the contexts; 12 more are unsure"."""
        counts = self.counts()["n"]
        bad, total = int(counts["contradicted"] + counts["not_mentioned"]), int(counts.sum())
        return _t("hallucinations.words", bad=f"{bad:,}", n=f"{total:,}", rate=rate_text(bad / total if total else None),
                  contradicted=f"{counts['contradicted']:,}", unsure=f"{counts['unsure']:,}")  # fmt: skip

    def _figure(self, theme: str) -> Figure:
        return verdict_bars(self.counts(), self.words(), theme=theme)

    def figure(self) -> Figure:
        """Claims by verdict and severity, dark on white."""
        return self._figure("print")

    def table(self) -> pd.DataFrame:
        """The listed claims, see ``hallucinated_claims``."""
        import pandas as pd

        return pd.DataFrame() if self._rows is None else self._rows

    def html(self, rows: int = 10) -> Fragment:
        """Counts, picture, the worst claims and the card of the selected sample."""
        if self._rows is None:
            return fragment(h("div", _t("hallucinations.no_claims"), cls="wb-empty"))
        from workbench.views.html import picture

        shown = _readable(self._rows.head(rows))
        listed = table(shown, headings=_headings(shown), total=len(self._rows))
        selected = self.session.selection
        card = card_html(self.session, selected) if selected in self.ids() else None
        return fragment(picture(plots.figure_png(self.figure()), self.words()), listed, card)

    def _pin(self) -> None:
        counts = self.counts()["n"]
        bad, total = int(counts["contradicted"] + counts["not_mentioned"]), int(counts.sum())
        found = wilson(bad, total)
        self.card.keep(self.words(), snippet=self._snippet(), value=bad / total if total else None,
                       interval=(found.low, found.high) if total else None)  # fmt: skip

    def _snippet(self) -> str:
        where = str(self.session.evaluation.path or self.session.evaluation.name)
        lines = ["import workbench as wb", f"session = wb.Session(wb.open({where!r}))"]
        lines.append(f"session.set_thresholds(support={self.session.thresholds.support!r})")
        return "\n".join([*lines, "wb.panels.hallucinations(session).table()"])


def _readable(rows: pd.DataFrame) -> pd.DataFrame:
    shown = rows[["sample_id", "text", "verdict", "severity", "support", "wrong", "best_doc_id"]].copy()
    shown["verdict"] = [f"{_SIGN[name]} {verdict_title(name)}" for name in shown["verdict"]]
    shown["severity"] = [
        _t(f"hallucinations.severity.{name}") if isinstance(name, str) else "–" for name in shown["severity"]
    ]
    shown["support"] = shown["support"].map(score_text)
    return shown


def _by_sample(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows labelled by their sample."""
    return frame.set_axis(frame["sample_id"].astype(str), axis="index")


def _unbroken(words: str) -> Markup:
    """A sign and its word on one line."""
    return h("span", words, cls="wb-chip")


_SIGN = {"contradicted": "✗", "not_mentioned": "✗", "unsure": "?"}


def _headings(frame: pd.DataFrame) -> dict[str, str]:
    from workbench.language import has_text
    from workbench.views.wording import metric_title

    return {
        str(name): _t(f"hallucinations.columns.{name}")
        if has_text(f"hallucinations.columns.{name}")
        else metric_title(str(name))
        for name in frame.columns
    }


def _citation_state(value: Any) -> Markup:
    return excerpt(_t(f"hallucinations.citation.{value}"))
