"""Panel 02: which samples fail, and what do they look like?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import ipywidgets as W
import numpy as np

from workbench.diagnosis.statistics import wilson
from workbench.language import numbers
from workbench.language import text as _t
from workbench.views import plots
from workbench.views.card import FilterBar, ListPanel
from workbench.views.filtering import beyond, first_choice, low_is_bad, offered
from workbench.views.html import Fragment, empty, fragment, h, quiet, table
from workbench.views.widgets import button, cut_slider, display, dropdown, markup, named, row, show, still
from workbench.views.wording import cause_title, metric_reading, metric_title, verdict_title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from workbench.views.session import Session

#: Which samples of the filter are listed.
SHOWN = ("beyond", "without", "all")
SORTS = ("worst", "best", "data", "cause")
#: Columns of the static table.
COLUMNS = ("sample_id", "question", "score", "cause", "type", "language", "verdict")


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
    if shown != "all":
        keep = scores.isna() if shown == "without" else beyond(scores, cut, low_is_bad=low_is_bad(metric))
        scores = scores[keep]
    ids = scores.index
    places = session.samples.index.get_indexer(ids)
    known = session.facets.loc[ids]
    notes = [session.annotations.get(name) for name in ids]
    frame = pd.DataFrame({
        "question": session.samples["question"].loc[ids], "score": scores,
        # States of many samples are costly, and only a missing score needs them.
        "state": "ok" if scores.notna().all() else session.states[metric].loc[ids],
        "cause": session.causes.primary[places], "confidence": session.causes.confidence[places], "type": known["type"],
        "language": known["language"], "verdict": [note.verdict if note else None for note in notes],
        "note": [note.note if note else "" for note in notes],
    }, index=ids)  # fmt: skip
    if sort == "cause":
        return frame.sort_values("cause", kind="stable")
    if sort == "data":
        return frame
    return frame.sort_values("score", ascending=(sort == "worst") is low_is_bad(metric), kind="stable")


def low_counts(session: Session, metric: str, cut: float) -> dict[str, int]:
    """Over the session's filter: ``n_low`` beyond the cut, ``n_scored``, ``n_without`` a score, ``n_all``."""
    scores = session.scores[metric].reindex(session.matching()).to_numpy(dtype=float)
    n_low = int(beyond(scores, cut, low_is_bad=low_is_bad(metric)).sum())
    n_scored = int(np.isfinite(scores).sum())
    return {"n_low": n_low, "n_scored": n_scored, "n_without": len(scores) - n_scored, "n_all": len(scores)}


def count_words(metric: str, cut: float, counts: dict[str, int]) -> str:
    """ "23 of 71 scored samples are below 0.70"."""
    key = f"panels.low_scores.{'below' if low_is_bad(metric) else 'above'}"
    return _t(key, low=f"{counts['n_low']:,}", scored=f"{counts['n_scored']:,}", cut=numbers.score(cut))


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
        self.metric: W.Dropdown | None = None
        metrics = offered(session.scores)
        if not metrics:
            self.compose(markup(empty(_t("panels.low_scores.no_scores"))))
            return
        first = metric if metric in metrics else first_choice(metrics, self._has_low)
        self.metric = dropdown(_t("panels.low_scores.metric"), [(metric_title(name), name) for name in metrics], first)
        self.cut = cut_slider("", 0.5, "290px")
        self.shown = dropdown("", named("panels.low_scores.shown_", SHOWN), "beyond")
        self.sort = dropdown(_t("panels.low_scores.sort"), named("panels.low_scores.sort_", SORTS), "worst")
        self.without = button(_t("panels.low_scores.show_without"), lambda: setattr(self.shown, "value", "without"))
        self.filters = FilterBar(self)
        self.reading = markup()
        for widget in (self.metric, self.shown, self.sort):
            self.on(widget, lambda _: self._refresh())
        self.on(self.cut, lambda value: self.session.set_low_score(self.chosen[0], value))
        self.compose(row(self.metric, self.cut, self.count, self.without), self.picture, self.reading, self.filters,
                     row(self.shown, self.sort, self.stepper), self.card)  # fmt: skip
        self.begin()

    def _has_low(self, metric: str) -> bool:
        return low_counts(self.session, metric, self.session.thresholds.low_cut(metric))["n_low"] > 0

    @property
    def chosen(self) -> tuple[str, float]:
        """The metric and its cut."""
        assert self.metric is not None
        return self.metric.value, self.session.thresholds.low_cut(self.metric.value)

    def ids(self) -> list[str]:
        """Ids of the list, in its order."""
        return [] if self._rows is None else self._rows.index.tolist()

    def _follow(self, names: frozenset[str]) -> None:
        if "filter" in names and self.session.filter.sample_ids is not None:
            # Samples chosen elsewhere are shown whatever their score is.
            with self.quietly():
                self.shown.value = "all"
        super()._follow(names)

    def _refresh(self) -> None:
        self._offer()
        (metric, cut), low = self.chosen, low_is_bad(self.chosen[0])
        with self.quietly():
            self.cut.max = max(1.0, float(np.nanmax(self.session.scores[metric].to_numpy(dtype=float))), cut)
            self.cut.value = cut
            self.cut.description = _t(f"panels.low_scores.{'cut_below' if low else 'cut_above'}")
        self._rows = low_samples(self.session, metric, cut, shown=self.shown.value, sort=self.sort.value)
        counts = low_counts(self.session, metric, cut)
        n = counts["n_without"]
        without = quiet(" ", _t("panels.low_scores.without", n=f"{n:,}")) if n else None
        show(self.count, h("span", count_words(metric, cut, counts), without))
        display(self.without, n > 0)
        self.picture.draw(self.figure("screen"), _t("panels.low_scores.caption"))
        show(self.reading, quiet(metric_reading(metric), tag="p"))
        self.keep_selection()

    def _offer(self) -> None:
        """Offer the metrics that there are now: another k renames the ranking metrics."""
        assert self.metric is not None
        metrics = offered(self.session.scores)
        if metrics == [name for _, name in self.metric.options]:
            return
        base = self.metric.value.partition("@")[0]
        same = [name for name in metrics if name.partition("@")[0] == base]
        with self.quietly():
            self.metric.options = [(metric_title(name), name) for name in metrics]
            self.metric.value = same[0] if same else first_choice(metrics, self._has_low)

    def _position(self, at: int, ids: Sequence[str]) -> str:
        known = self.session.facets.loc[ids[at]] if ids else {}
        kinds = [str(known[name]) for name in ("type", "language") if known.get(name)]
        return " · ".join([super()._position(at, ids), *kinds])

    def _empty_words(self) -> str:
        metric, cut = self.chosen
        counts = low_counts(self.session, metric, cut)
        if counts["n_all"] == 0:
            return _t("panels.low_scores.empty_filter", filter=self.session.filter.words())
        key = "empty" if self.shown.value == "beyond" else "empty_list"
        return _t(f"panels.low_scores.{key}", cut=numbers.score(cut), n=counts["n_without"])

    def pin(self) -> None:
        """Keep the share beyond the cut as a finding."""
        metric, cut = self.chosen
        counts = low_counts(self.session, metric, cut)
        n, low = counts["n_scored"], counts["n_low"]
        title = f"{metric_title(metric)}: {count_words(metric, cut, counts)}"
        if words := self.session.filter.words():
            title += f" ({words})"
        self.card.keep(title, n_total=n, interval=wilson(low, n)[:2] if n else None, value=low / n if n else None)

    def _snippet(self) -> str:
        metric, cut = self.chosen
        return self.script(f"session.set_low_score({metric!r}, {cut!r})",
                           f"wb.panels.low_scores(session, metric={metric!r}).table()")  # fmt: skip

    def table(self) -> pd.DataFrame:
        """The listed samples, see :func:`low_samples`."""
        metric, cut = self.chosen
        return low_samples(self.session, metric, cut, shown=self.shown.value, sort=self.sort.value)

    def figure(self, theme: str = "print") -> Figure:
        """How the scores of the session's filter are spread around the cut."""
        metric, cut = self.chosen
        scores = self.session.scores[metric].reindex(self.session.matching()).to_numpy(dtype=float)
        title = count_words(metric, cut, low_counts(self.session, metric, cut))
        return plots.histogram(scores, cut, low_is_bad=low_is_bad(metric), title=title, label=metric_title(metric),
                               theme=theme)  # fmt: skip

    def html(self, rows: int = 10) -> Fragment:
        """Counts, picture, the first ``rows`` samples and the card of the selected one."""
        if self.metric is None:
            return fragment(empty(_t("panels.low_scores.no_scores")))
        metric, cut = self.chosen
        listed = self.table()
        shown = listed.head(rows).reset_index()[list(COLUMNS)]
        shown["cause"] = shown["cause"].map(cause_title)
        shown["verdict"] = shown["verdict"].map(verdict_title, na_action="ignore")
        shown["score"] = shown["score"].map(numbers.score)
        words = count_words(metric, cut, low_counts(self.session, metric, cut))
        return fragment(still(self.figure(), words), table(shown, headings="panels.columns", total=len(listed)),
                        self.still_card())  # fmt: skip
