"""Panel 02: which samples fail, and what do they look like?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.diagnosis.statistics import wilson
from workbench.language import text as _t
from workbench.views import plots
from workbench.views.card import Card, FilterBar, ListPanel, card_html
from workbench.views.filtering import Filter, beyond, first_choice, low_is_bad, offered
from workbench.views.html import Fragment, Markup, fragment, h, table
from workbench.views.widgets import Picture, Stepper, button, cut_slider, display, dropdown, markup, row, show
from workbench.views.wording import cause_title, metric_reading, metric_title, score_text, verdict_title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from workbench.views.session import Session

#: Which samples of the filter are listed.
SHOWN = ("beyond", "without", "all")
SORTS = ("worst", "best", "data", "cause")


def low_samples(
    session: Session, metric: str, cut: float, *, shown: str = "beyond", sort: str = "worst"
) -> pd.DataFrame:
    """The samples of the session's filter on the bad side of ``cut``.

    Parameters
    ----------
    shown
        ``beyond`` the cut, ``without`` a score, or ``all`` samples of the filter.
    sort
        ``worst`` or ``best`` score first, the order of the ``data``, or by ``cause``; ties keep the order of the data.

    Returns
    -------
    DataFrame, index ``sample_id``; ``question, score, state, cause, confidence, type, language, verdict, note``.
    """
    import pandas as pd

    ids = session.matching()
    scores = session.scores[metric].reindex(ids)
    keep = _kept(scores.to_numpy(dtype=float), metric, cut, shown)
    places = session.samples.index.get_indexer(ids[keep])
    ids = ids[keep]
    known = session.facets.loc[ids]
    notes = [session.annotations.get(name) for name in ids]
    frame = pd.DataFrame({
        "question": session.samples["question"].loc[ids], "score": scores[keep],
        "state": _states(session, metric, scores[keep]),
        "cause": session.causes.primary[places], "confidence": session.causes.confidence[places], "type": known["type"],
        "language": known["language"], "verdict": [note.verdict if note else None for note in notes],
        "note": [note.note if note else "" for note in notes],
    }, index=ids)  # fmt: skip
    if sort == "cause":
        return frame.sort_values("cause", kind="stable")
    if sort == "data":
        return frame
    return frame.sort_values("score", ascending=(sort == "worst") is low_is_bad(metric), kind="stable")


def _states(session: Session, metric: str, scores: pd.Series[float]) -> Any:
    """The states of some samples; only where a score is missing does it take a look-up."""
    return "ok" if scores.notna().all() else session.states[metric].loc[scores.index]


def _kept(scores: np.ndarray, metric: str, cut: float, shown: str) -> np.ndarray:
    if shown == "all":
        return np.ones(len(scores), dtype=bool)
    return np.isnan(scores) if shown == "without" else beyond(scores, cut, low_is_bad=low_is_bad(metric))


def low_counts(session: Session, metric: str, cut: float) -> dict[str, int]:
    """Over the session's filter: ``n_low`` beyond the cut, ``n_scored``, ``n_without`` a score, ``n_all``."""
    ids = session.matching()
    scores = session.scores[metric].reindex(ids).to_numpy(dtype=float)
    n_low = int(beyond(scores, cut, low_is_bad=low_is_bad(metric)).sum())
    n_scored = int(np.isfinite(scores).sum())
    return {"n_low": n_low, "n_scored": n_scored, "n_without": len(ids) - n_scored, "n_all": len(ids)}


def low_figure(session: Session, metric: str, cut: float, *, theme: str = "print") -> Figure:
    """How the scores of the session's filter are spread around the cut."""
    scores = session.scores[metric].reindex(session.matching()).to_numpy(dtype=float)
    counts = low_counts(session, metric, cut)
    title, label = count_words(metric, cut, counts), metric_title(metric)
    return plots.histogram(scores, cut, low_is_bad=low_is_bad(metric), title=title, label=label, theme=theme)


def count_words(metric: str, cut: float, counts: dict[str, int]) -> str:
    """ "23 of 71 scored samples are below 0.70"."""
    key = "below" if low_is_bad(metric) else "above"
    return _t(
        f"panels.low_scores.{key}", low=f"{counts['n_low']:,}", scored=f"{counts['n_scored']:,}", cut=f"{cut:.2f}"
    )


class LowScores(ListPanel):
    """Metric, cut, filters, position and the evidence card.

    Parameters
    ----------
    metric
        The metric to begin with; by default the first of faithfulness, correctness … that has scores.
    """

    stem = "low_scores"

    def __init__(self, session: Session, metric: str | None = None) -> None:
        super().__init__(session)
        self._rows: pd.DataFrame | None = None
        metrics = offered(session.scores)
        if not metrics:
            self.compose(markup(h("div", _t("panels.low_scores.no_scores"), cls="wb-empty")))
            self.metric = None
            return
        self._build(metrics, metric if metric in metrics else first_choice(metrics, self._has_low))
        session.observe(self.guarded(self._follow, "session"))
        self._follow(frozenset(("filter", "thresholds")))

    def _build(self, metrics: Sequence[str], metric: str | None) -> None:
        names = [(metric_title(name), name) for name in metrics]
        self.metric = dropdown(_t("panels.low_scores.metric"), names, metric)
        self.cut = cut_slider("", 0.5, "290px")
        self.count = markup(None, "wb-count")
        self.shown = dropdown("", [(_t(f"panels.low_scores.shown_{name}"), name) for name in SHOWN], "beyond")
        self.sort = dropdown(
            _t("panels.low_scores.sort"), [(_t(f"panels.low_scores.sort_{s}"), s) for s in SORTS], "worst"
        )
        self.without = button(
            _t("panels.low_scores.show_without"), self.guarded(lambda: self._show("without"), "without")
        )
        self.picture = Picture("wb-figure")
        self.filters = FilterBar(self)
        self.stepper = Stepper(self, self.go)
        self.reading = markup()
        self.card = Card(self, self._pin, self.ids)
        for widget in (self.metric, self.shown, self.sort):
            self.on(widget, lambda _: self._changed())
        self.on(self.cut, self._cut_moved)
        self.compose(row(self.metric, self.cut, self.count, self.without), self.picture, self.reading, self.filters,
                     row(self.shown, self.sort, self.stepper), self.card)  # fmt: skip

    # ------------------------------------------------------------ what is chosen

    def _has_low(self, metric: str) -> bool:
        return low_counts(self.session, metric, self.session.thresholds.low_cut(metric))["n_low"] > 0

    @property
    def chosen(self) -> tuple[str, float]:
        """The metric and its cut."""
        assert self.metric is not None
        return self.metric.value, self.session.thresholds.low_cut(self.metric.value)

    def ids(self) -> list[str]:
        """Ids of the list, in its order."""
        return [] if self._rows is None else [str(name) for name in self._rows.index]

    def _cut_moved(self, value: float) -> None:
        if not self._quiet:
            self.session.set_low_score(self.chosen[0], value)

    def _changed(self) -> None:
        if not self._quiet:
            self._refresh()

    def _show(self, shown: str) -> None:
        self.shown.value = shown

    # ------------------------------------------------------------ following the session

    def _follow(self, names: frozenset[str]) -> None:
        if "filter" in names:
            self.filters.fill()
            self._open_click_through()
        if names & {"filter", "thresholds"}:
            self._refresh()
        elif "selection" in names:
            self.draw_card()

    def _open_click_through(self) -> None:
        """Samples chosen elsewhere are shown whatever their score is."""
        self._quiet = True
        if self.session.filter.sample_ids is not None:
            self.shown.value = "all"
        self._quiet = False

    def _offer(self) -> None:
        """Offer the metrics that there are now: another k renames the ranking metrics."""
        assert self.metric is not None
        metrics = offered(self.session.scores)
        if metrics == [name for _, name in self.metric.options]:
            return
        base = self.metric.value.partition("@")[0]
        same = [name for name in metrics if name.partition("@")[0] == base]
        self._quiet = True
        self.metric.options = [(metric_title(name), name) for name in metrics]
        self.metric.value = same[0] if same else first_choice(metrics, self._has_low)
        self._quiet = False

    def _refresh(self) -> None:
        self._offer()
        metric, cut = self.chosen
        self._set_slider(metric, cut)
        self._rows = low_samples(self.session, metric, cut, shown=self.shown.value, sort=self.sort.value)
        counts = low_counts(self.session, metric, cut)
        show(self.count, _count_markup(metric, cut, counts))
        display(self.without, counts["n_without"] > 0)
        self.picture.draw(low_figure(self.session, metric, cut, theme="screen"), _t("panels.low_scores.caption"))
        show(self.reading, h("p", metric_reading(metric), cls="wb-quiet"))
        self.settle()

    def _set_slider(self, metric: str, cut: float) -> None:
        values = self.session.scores[metric].to_numpy(dtype=float)
        self._quiet = True
        self.cut.max = max(1.0, float(np.nanmax(values)), cut)
        self.cut.value = cut
        self.cut.description = _t(f"panels.low_scores.{'cut_below' if low_is_bad(metric) else 'cut_above'}")
        self._quiet = False

    def position(self, at: int, ids: Sequence[str]) -> str:
        """ "3 of 41", the id, its type and language."""
        if not ids:
            return _t("panels.low_scores.none")
        known = self.session.facets.loc[ids[at]]
        parts = [ids[at][:60], *(str(known[name]) for name in ("type", "language") if known[name])]
        return f"{_t('panels.low_scores.position', at=at + 1, n=len(ids))} — {' · '.join(parts)}"

    def empty_words(self) -> str:
        """Why nothing is listed: the filter, the cut, or samples without a score."""
        metric, cut = self.chosen
        counts = low_counts(self.session, metric, cut)
        if counts["n_all"] == 0:
            return _t("panels.low_scores.empty_filter", filter=self.session.filter.words())
        key = "empty" if self.shown.value == "beyond" else "empty_list"
        return _t(f"panels.low_scores.{key}", cut=f"{cut:.2f}", n=counts["n_without"])

    # ------------------------------------------------------------ handing over

    def _pin(self) -> None:
        metric, cut = self.chosen
        counts = low_counts(self.session, metric, cut)
        title = f"{metric_title(metric)}: {count_words(metric, cut, counts)}"
        if words := self.session.filter.words():
            title += f" ({words})"
        self.card.keep(title, snippet=self.snippet(), n_total=counts["n_scored"], interval=_interval(counts),
                       value=counts["n_low"] / counts["n_scored"] if counts["n_scored"] else None)  # fmt: skip

    def snippet(self) -> str:
        """Lines of Python that give the same table."""
        metric, cut = self.chosen
        where = str(self.session.evaluation.path or self.session.evaluation.name)
        lines = [f"session = wb.Session(wb.open({where!r}))", f"session.set_low_score({metric!r}, {cut!r})"]
        if self.session.filter != Filter():
            lines.append(f"session.set_filter(**{self.session.filter.to_dict()!r})")
        return "\n".join(
            ["import workbench as wb", *lines, f"wb.panels.low_scores(session, metric={metric!r}).table()"]
        )

    def table(self) -> pd.DataFrame:
        """The listed samples, see :func:`low_samples`."""
        metric, cut = self.chosen
        return low_samples(self.session, metric, cut, shown=self.shown.value, sort=self.sort.value)

    def figure(self) -> Figure:
        """The histogram with the cut, dark on white."""
        return low_figure(self.session, *self.chosen)

    def html(self, rows: int = 10) -> Fragment:
        """Counts, picture, the first ``rows`` samples and the card of the selected one."""
        if self.metric is None:
            return fragment(h("div", _t("panels.low_scores.no_scores"), cls="wb-empty"))
        from workbench.views.html import picture

        metric, cut = self.chosen
        words = count_words(metric, cut, low_counts(self.session, metric, cut))
        listed = self.table()
        first = table(_readable(listed.head(rows)), headings=_headings(), total=len(listed))
        selected = self.session.selection
        card = card_html(self.session, selected) if selected in listed.index else None
        return fragment(picture(plots.figure_png(self.figure()), words), first, card)


def _count_markup(metric: str, cut: float, counts: dict[str, int]) -> Markup:
    words = [h("span", count_words(metric, cut, counts))]
    if counts["n_without"]:
        words.append(h("span", " " + _t("panels.low_scores.without", n=f"{counts['n_without']:,}"), cls="wb-quiet"))
    return h("span", *words)


def _readable(frame: pd.DataFrame) -> pd.DataFrame:
    shown = frame.reset_index()[["sample_id", "question", "score", "cause", "type", "language", "verdict"]]
    shown["cause"] = shown["cause"].map(cause_title)
    shown["verdict"] = shown["verdict"].map(verdict_title, na_action="ignore")
    shown["score"] = shown["score"].map(score_text)
    return shown


def _headings() -> dict[str, str]:
    names = ("sample_id", "question", "score", "cause", "type", "language", "verdict")
    return {name: _t(f"panels.columns.{name}") for name in names}


def _interval(counts: dict[str, int]) -> tuple[float, float] | None:
    """The 95 % interval of the share beyond the cut; None without a scored sample."""
    if not counts["n_scored"]:
        return None
    found = wilson(counts["n_low"], counts["n_scored"])
    return float(found.low), float(found.high)
