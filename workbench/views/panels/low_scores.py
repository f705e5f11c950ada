"""Panel 02: which samples fail, and what do they look like?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets as W
import numpy as np

from workbench.diagnosis.calibration import own_verdicts
from workbench.diagnosis.statistics import wilson
from workbench.language import numbers
from workbench.language import text as _t
from workbench.views import plots
from workbench.views.filtering import beyond, first_choice, low_is_bad, offered
from workbench.views.html import Fragment, empty, fragment, h, quiet, table
from workbench.views.list_panel import FilterBar, ListPanel, cause_column, id_column, question_column
from workbench.views.widgets import Column, cut_slider, dropdown, markup, named, row, show, still
from workbench.views.wording import cause_title, metric_reading, metric_title, verdict_title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from workbench.views.session import Session

#: Which samples of the filter are listed.
SHOWN = ("failing", "beyond", "without", "teaching", "all")
#: Columns of the static table.
COLUMNS = ("sample_id", "question", "score", "cause", "type", "language", "verdict")


def low_samples(session: Session, metric: str, cut: float, *, shown: str = "failing") -> pd.DataFrame:
    """The samples of the session's filter that fail, or that lie on the bad side of ``cut``.

    Parameters
    ----------
    shown
        The ``failing`` ones, by cause; those ``beyond`` the threshold, worst first; those ``without`` a score; the
        ``teaching`` ones, whose verdict would help most to fit the judge, in the order to be labelled; or ``all``.

    Returns
    -------
    DataFrame, index ``sample_id``; ``question, score, state, cause, confidence, type, language, verdict, note``.
    """
    import pandas as pd

    places, scores = filtered_scores(session, metric)
    if shown == "failing":
        places = places[session.causes.failing[places]]
    elif shown == "teaching":
        from workbench.views.panels.fitting import suggested

        proposed = session.samples.index.get_indexer(suggested(session, own_verdicts(session.annotations)))
        places = proposed[np.isin(proposed, places)]
    elif shown != "all":
        places = places[np.isnan(scores) if shown == "without" else beyond(scores, cut, low_is_bad=low_is_bad(metric))]
    scores = session.scores[metric].to_numpy(dtype=float)[places]
    ids = session.samples.index[places]
    known = session.facets.iloc[places]
    notes = [session.annotations.get(name) for name in ids] if session.annotations else [None] * len(ids)
    frame = pd.DataFrame({
        "question": session.samples["question"].to_numpy()[places], "score": scores,
        # States of many samples are costly, and only a missing score needs them.
        "state": "ok" if np.isfinite(scores).all() else session.states[metric].to_numpy()[places],
        "cause": session.causes.primary[places], "confidence": session.causes.confidence[places], "type": known["type"],
        "language": known["language"], "verdict": [note.verdict if note else None for note in notes],
        "note": [note.note if note else "" for note in notes],
    }, index=ids)  # fmt: skip
    if shown == "beyond":
        return frame.sort_values("score", ascending=low_is_bad(metric), kind="stable")
    order = {name: place for place, (name, _, _) in enumerate(cause_counts(session))}
    by_cause = frame["cause"].map(lambda name: order.get(name, len(order)))
    return frame.iloc[np.lexsort((-frame["confidence"].fillna(0), by_cause))] if shown == "failing" else frame


def filtered_scores(session: Session, metric: str) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Positions of the samples of the session's filter, and their scores (NaN where there is none)."""
    places = session.places()
    return places, session.scores[metric].to_numpy(dtype=float)[places]


def cause_counts(session: Session) -> list[tuple[str, int, int]]:
    """Causes over the session's filter, most frequent first: name, samples with it as the main cause, and how many more it
    contributes to."""
    causes, places = session.causes, session.places()
    counts = []
    for name in causes.known:
        main, any_ = causes.primary[places] == name, causes.has(name)[places]
        counts.append((name, int(main.sum()), int((any_ & ~main).sum())))
    return sorted((one for one in counts if one[1] + one[2]), key=lambda one: (-one[1], -one[2]))


def low_counts(session: Session, metric: str, cut: float) -> dict[str, int]:
    """Over the session's filter: ``n_low`` beyond the cut, ``n_scored``, ``n_without`` a score, ``n_all``."""
    _, scores = filtered_scores(session, metric)
    n_low = int(beyond(scores, cut, low_is_bad=low_is_bad(metric)).sum())
    n_scored = int(np.isfinite(scores).sum())
    return {"n_low": n_low, "n_scored": n_scored, "n_without": len(scores) - n_scored, "n_all": len(scores)}


def failing_words(session: Session) -> str:
    """ "32 of 80 samples fail"."""
    places = session.places()
    return _t("panels.low_scores.failing", failing=f"{int(session.causes.failing[places].sum()):,}", n=f"{len(places):,}")


def count_words(metric: str, cut: float, counts: dict[str, int]) -> str:
    """ "23 of 71 scored samples are below 0.70"."""
    key = f"panels.low_scores.{'below' if low_is_bad(metric) else 'above'}"
    return _t(key, low=f"{counts['n_low']:,}", scored=f"{counts['n_scored']:,}", cut=numbers.score(cut))


class LowScores(ListPanel):
    """All failures by cause, or one metric and its threshold: pictures to click, the list, and the evidence card.

    Parameters
    ----------
    metric
        The metric to begin with; by default the first of faithfulness, correctness … that has scores.
    """

    stem = "low_scores"
    ahead = True

    def __init__(self, session: Session, metric: str | None = None) -> None:
        super().__init__(session)
        self.metric: W.Dropdown | None = None
        metrics = offered(session.scores)
        if not metrics:
            self.compose(markup(empty(_t("panels.low_scores.no_scores"))))
            return
        first = metric if metric in metrics else first_choice(metrics, self._has_low)
        self.metric = dropdown(_t("panels.low_scores.metric"), [(metric_title(name), name) for name in metrics], first)
        self.cut = cut_slider("", 0.5, "260px")
        failing = session.causes.failing.any() and metric is None and session.filter.sample_ids is None
        self.shown = dropdown(_t("panels.low_scores.list"), named("panels.low_scores.shown_", SHOWN),
                              "failing" if failing else "beyond" if session.filter.sample_ids is None else "all")  # fmt: skip
        self.filters = FilterBar(self)
        self.on(self.metric, lambda _: self._by_threshold())
        self.on(self.shown, lambda _: self._refresh())
        self.on(self.cut, self._move)
        self.picture.clicked, self.picture.moved = self._click, self._move
        split = self.beside(*self._columns())
        self.compose(row(self.shown, self.metric, self.cut, self.count), self.filters, self.picture, self.bar, split)
        self.begin()

    def _has_low(self, metric: str) -> bool:
        return low_counts(self.session, metric, self.session.thresholds.low_cut(metric))["n_low"] > 0

    @property
    def chosen(self) -> tuple[str, float]:
        """The metric and its threshold."""
        assert self.metric is not None
        return self.metric.value, self.session.thresholds.low_cut(self.metric.value)

    def _follow(self, names: frozenset[str]) -> None:
        if "filter" in names and self.session.filter.sample_ids is not None:
            # Samples chosen elsewhere are shown whatever their score is.
            with self.quietly():
                self.shown.value = "all"
        super()._follow(names)

    def _by_threshold(self) -> None:
        """List what lies beyond the threshold of the metric: the second way in."""
        with self.quietly():
            self.shown.value = "beyond"
        self._refresh()

    def _move(self, value: float) -> None:
        """Another threshold, by the slider or by the line of the picture: what lies beyond it is listed."""
        with self.quietly():
            self.shown.value = "beyond"
        if round(float(value), 6) == self.chosen[1]:
            self._refresh()
        else:
            self.session.set_low_score(self.chosen[0], value)

    def _click(self, key: Any) -> None:
        """A bar of a cause filters by it; a bar of the histogram lists its samples."""
        if key[0] == "cause":
            with self.quietly():
                self.shown.value = "failing"
            own = self.session.filter
            self.session.set_filter(cause=None if own.cause == key[1] else key[1], sample_ids=None, label="")
            return
        _, low, high = key
        places, scores = filtered_scores(self.session, self.chosen[0])
        inside = self.session.samples.index[places[(scores >= low) & (scores < high)]].tolist()
        metric = metric_title(self.chosen[0])
        self.session.show(inside, _t("lists.between", metric=metric, low=numbers.score(low), high=numbers.score(high)))

    def _refresh(self) -> None:
        self._offer()
        (metric, cut), low = self.chosen, low_is_bad(self.chosen[0])
        with self.quietly():
            self.cut.max = max(1.0, float(np.nanmax(self.session.scores[metric].to_numpy(dtype=float))), cut)
            self.cut.value = cut
            self.cut.description = _t(f"panels.low_scores.{'cut_below' if low else 'cut_above'}")
            assert self.metric is not None
            self.metric.tooltip = metric_reading(metric)
        counts = low_counts(self.session, metric, cut)
        n = counts["n_without"]
        without = quiet(" ", _t("panels.low_scores.without", n=f"{n:,}")) if n else None
        show(self.count, h("span", f"{failing_words(self.session)} · {count_words(metric, cut, counts)}", without))
        self.picture.draw(lambda: self.figure("screen"), _t("panels.low_scores.caption"))
        self._list()

    def _columns(self) -> tuple[Column, ...]:
        number = Column("score", metric_title(self.chosen[0]), "number", numbers.score)
        return id_column(), cause_column(), number, question_column()

    def _list(self) -> None:
        assert self.rows is not None
        self.rows.columns = self._columns()
        self.list_samples(low_samples(self.session, *self.chosen, shown=self.shown.value))

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

    def _empty_words(self) -> str:
        metric, cut = self.chosen
        counts = low_counts(self.session, metric, cut)
        if counts["n_all"] == 0:
            return _t("panels.low_scores.empty_filter", filter=self.session.filter.words())
        key = "empty" if self.shown.value == "beyond" else "none_failing" if self.shown.value == "failing" else "empty_list"
        return _t(f"panels.low_scores.{key}", cut=numbers.score(cut), n=counts["n_without"])

    def pin(self) -> None:
        """Save the view: the share of failing samples, or of those beyond the threshold."""
        metric, cut = self.chosen
        counts = low_counts(self.session, metric, cut)
        if self.shown.value == "failing":
            places = self.session.places()
            n, low = len(places), int(self.session.causes.failing[places].sum())
            title = failing_words(self.session)
        else:
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
        assert self._shown is not None
        return self._shown

    def figure(self, theme: str = "print") -> Figure:
        """The causes of failures beside how the scores of the metric are spread, over the session's filter."""
        metric, cut = self.chosen
        _, scores = filtered_scores(self.session, metric)
        titles = failing_words(self.session), count_words(metric, cut, low_counts(self.session, metric, cut))
        return plots.failures(cause_counts(self.session), scores, cut, low_is_bad=low_is_bad(metric), titles=titles,
                              label=metric_title(metric), theme=theme)  # fmt: skip

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
        words = f"{failing_words(self.session)} · {count_words(metric, cut, low_counts(self.session, metric, cut))}"
        return fragment(still(self.figure(), words), table(shown, headings="panels.columns", total=len(listed)),
                        self.still_card())  # fmt: skip
