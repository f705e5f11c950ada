"""Panel 06: what got worse, and is it real? Two runs, their flow of causes, and samples side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.diagnosis.comparison import TESTS, Comparison
from workbench.evaluation import Evaluation
from workbench.language import text as _t
from workbench.running import open_evaluation
from workbench.views.filtering import Filter
from workbench.views.html import Fragment, fragment, h, join
from workbench.views.names import cause_title
from workbench.views.panels import compare_parts as parts
from workbench.views.panels.card import Card
from workbench.views.panels.compare_gate import GateRow
from workbench.views.panels.compare_list import COLUMNS, SHOWN, SORTS, changed_samples, found_runs, free_name
from workbench.views.panels.compare_pair import Side, pair_html
from workbench.views.panels.filters import FilterBar
from workbench.views.panels.listing import ListPanel
from workbench.views.widgets import Picture, Stepper, button, cut_slider, display, dropdown, markup, row, show

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from workbench.views.session import Session


class Compare(ListPanel):
    """Two runs: verdict, flow of causes, and the samples that changed, side by side.

    The session's evaluation is the run *after*; its thresholds, filter, selection, verdicts and pins are shared with the
    other panels, and both runs are put under the session's thresholds.

    Parameters
    ----------
    before
        The run to compare with: an evaluation, a folder, a list or a mapping of names to them. Evaluations that are
        saved beside the session's can be chosen as well.
    gate
        What checks and freezes rules files: ``freeze(path, thresholds)`` and ``check(evaluation, path, baseline)``.
    """

    stem = "compare"

    def __init__(self, session: Session, before: Any = None, gate: Any = None) -> None:
        super().__init__(session)
        self.gate = GateRow(self, gate)
        self._runs = found_runs(session, before)
        self._own = free_name(session.evaluation.name, self._runs)
        self._opened: dict[str, Any] = {}
        self._comparison: Comparison | None = None
        self._sides: tuple[Side, Side] | None = None
        self._rows: pd.DataFrame | None = None
        self._build()
        session.observe(self.guarded(self._follow, "session"))
        self.guarded(lambda: self._follow(frozenset(("filter", "thresholds"))), "start")()

    def _build(self) -> None:
        self.before = dropdown(_t("compare.panel.before"), [], None)
        self.after = dropdown(_t("compare.panel.after"), [], None)
        self._offer_runs(next(iter(self._runs), None))
        self.head, self.count, self.lines = markup(), markup(None, "wb-count"), markup()
        self.cut = cut_slider(_t("compare.panel.support"), self.session.thresholds.support)
        self.picture, self.chart = Picture("wb-figure"), Picture()
        self.by_metric = W.ToggleButton(description=_t("compare.panel.by_metric"), layout=W.Layout(width="auto"))
        self.tests_box = markup()
        self.filters = FilterBar(self)
        self.shown = dropdown(
            _t("compare.panel.show"), [(_t(f"compare.shown.{name}"), name) for name in SHOWN], "flipped"
        )
        self.cause = dropdown(_t("compare.panel.cause"), [(_t("panels.filters.any"), "")], "", "230px")
        self.sort = dropdown(
            _t("panels.low_scores.sort"), [(_t(f"compare.sort.{name}"), name) for name in SORTS], "worst"
        )
        self.stepper = Stepper(self, self.go)
        self.list = markup()
        self.card = Card(self, self.pin, self.ids, self.pair)
        self.trend_button = button(_t("compare.panel.trend"), self.guarded(self._show_trend, "trend"))
        self.trend, self.trend_table = Picture(), markup()
        display(self.trend, False)
        self._wire()

    def _wire(self) -> None:
        self.on(self.before, lambda _: self._chosen())
        self.on(self.after, self._use)
        self.on(self.cut, self._cut_moved)
        self.on(self.by_metric, lambda _: self._draw_metrics())
        for widget in (self.shown, self.cause, self.sort):
            self.on(widget, lambda _: None if self._quiet else self._refresh_list())
        self.body = W.VBox([
            self.head, row(self.count, self.cut), self.picture, self.lines, row(self.by_metric), self.chart, self.tests_box,
            self.filters,
            row(self.shown, self.cause, self.sort, self.stepper), self.card, self.list,
        ])  # fmt: skip
        self.empty = markup()
        self.compose(row(self.before, self.after, self.trend_button), self.trend, self.trend_table, self.empty, self.body,
                     self.gate)  # fmt: skip

    # ------------------------------------------------------------ the two runs

    @property
    def baseline(self) -> Any:
        """The run before, under the session's thresholds; None while there is only one run."""
        return None if self.before.value is None else self.run(self.before.value)

    @property
    def comparison(self) -> Comparison | None:
        """The comparison that is shown; None while there is only one run."""
        return self._comparison

    def run(self, name: str) -> Any:
        """An evaluation of the choice, opened once, under the session's thresholds."""
        opened = self._open(name)
        same = opened.thresholds == self.session.thresholds
        return opened if same else opened.with_thresholds(self.session.thresholds)

    def _open(self, name: str) -> Any:
        """An evaluation of the choice as it was saved, opened once."""
        if name not in self._opened:
            found = self._runs[name]
            self._opened[name] = found if isinstance(found, Evaluation) else open_evaluation(found)
        return self._opened[name]

    def _offer_runs(self, before: str | None) -> None:
        """Fill both lists: before is any run but the session's own, after any run."""
        self._quiet = True
        names = [(name[:60], name) for name in self._runs]
        self.before.options = names or [(_t("compare.panel.none"), None)]
        self.before.value = before
        self.after.options = [(self._own[:60], self._own), *names]
        self.after.value = self._own
        self._quiet = False

    def _use(self, name: str) -> None:
        """Look at another run as the one after; the one looked at so far stays in the list."""
        if self._quiet or name == self._own:
            return
        chosen, before = self._open(name), self.before.value
        previous, self._own = self._own, name
        self._runs = {previous: self.session.evaluation, **{key: run for key, run in self._runs.items() if key != name}}
        self._opened.pop(previous, None)
        self._offer_runs(previous if before == name else before)
        self.session.use(chosen)

    def _chosen(self) -> None:
        if not self._quiet:
            self._follow(frozenset(("thresholds", "filter")))

    def _cut_moved(self, value: float) -> None:
        if not self._quiet:
            self.session.set_thresholds(support=round(float(value), 6))

    def _follow(self, names: frozenset[str]) -> None:
        if "thresholds" in names:
            self._put_together()
        if self._comparison is None:
            return
        if "filter" in names:
            self.filters.fill()
        if names & {"filter", "thresholds"}:
            self._refresh_list()
        elif "selection" in names:
            self.draw_card()

    def _put_together(self) -> None:
        """Compare the chosen runs under the thresholds in force, and show what does not depend on the list."""
        name = self.before.value
        display(self.body, name is not None)
        display(self.empty, name is None)
        display(self.trend_button, len(self._runs) > 1)
        if name is None:
            show(self.empty, h("div", _t("compare.panel.only_one"), cls="wb-empty"))
            return
        before, after = self.run(name), self.session.evaluation
        old = self._comparison
        same = old is not None and old.before.evidence is before.evidence and old.after.evidence is after.evidence
        self._comparison = Comparison(before, after, pairing=old.pairing if same and old else None)
        self._sides = Side(before), Side(after)
        self._quiet = True
        self.cut.value = self.session.thresholds.support
        self._offer_causes()
        self._quiet = False
        self._draw_whole(self._comparison)

    def _offer_causes(self) -> None:
        assert self._comparison is not None
        causes = self._comparison.causes()
        options = [(_t("panels.filters.any"), "")]
        options += [
            (f"{cause_title(name)} ({row['before']} → {row['after']})", str(name)) for name, row in causes.iterrows()
        ]
        kept = self.cause.value if self.cause.value in [value for _, value in options] else ""
        self.cause.options = options
        self.cause.value = kept

    def _draw_whole(self, comparison: Comparison) -> None:
        show(self.head, parts.headline(comparison))
        show(self.count, parts.counts_markup(comparison))
        for widget in (self.picture, self.lines, self.by_metric):
            display(widget, len(comparison) > 0)
        self._draw_metrics()
        if not len(comparison):
            return
        self.picture.draw(parts.flow_figure(comparison, "screen"), _t("compare.panel.flow_caption"))
        show(self.lines, join([parts.layers_line(comparison), parts.split_line(comparison)]))

    def _draw_metrics(self) -> None:
        """The differences by metric, when asked for: their intervals are what takes longest under a slider."""
        comparison = self._comparison
        shown = self.by_metric.value and comparison is not None and len(comparison) > 0
        display(self.chart, shown)
        display(self.tests_box, shown)
        if comparison is None or not shown:
            return
        self.chart.draw(parts.differences_figure(comparison, "screen"), _t("compare.panel.differences_caption"))
        tests = h("details", h("summary", _t("compare.panel.all_tests")), parts.tests_table(comparison))
        show(self.tests_box, join([parts.slices_markup(comparison), tests]))

    # ------------------------------------------------------------ the list and the card

    def _refresh_list(self) -> None:
        if self._comparison is None:
            return
        self._rows = changed_samples(self.session, self._comparison, shown=self.shown.value, cause=self.cause.value or None,
                                     sort=self.sort.value)  # fmt: skip
        self.settle()

    def ids(self) -> list[str]:
        """Ids of the list, in its order."""
        return [] if self._rows is None else [str(name) for name in self._rows.index]

    def draw_card(self) -> None:
        """Show the selected sample in both runs, its place, and the rows of the list around it."""
        super().draw_card()
        assert self._rows is not None
        ids, selected = self.ids(), self.session.selection
        at = ids.index(selected) if selected in ids else 0
        first = max(0, min(at - 4, len(ids) - 10))
        page = self._rows.iloc[first : first + 10]
        show(self.list, parts.listed_table(page, len(ids), ids[at] if ids else None) if ids else h("span"))

    def position(self, at: int, ids: Sequence[str]) -> str:
        """ "3 of 41" and the id."""
        if not ids:
            return _t("panels.low_scores.none")
        return f"{_t('panels.low_scores.position', at=at + 1, n=len(ids))}   {ids[at][:60]}"

    def empty_words(self) -> str:
        """Why nothing is listed: the filter, or what is to be shown."""
        filtered = self.session.filter.words()
        what = _t(f"compare.shown.{self.shown.value}")
        return _t("compare.panel.empty_filter" if filtered else "compare.panel.empty", shown=what, filter=filtered)

    def pair(self, sample_id: str) -> Any:
        """The markup of one sample in both runs; empty words when the other run has it not."""
        assert self._comparison is not None and self._sides is not None
        if sample_id not in self._comparison.pairing.ids:
            return h("div", _t("compare.panel.unmatched", id=sample_id), cls="wb-empty")
        return pair_html(self._comparison, self._sides, sample_id)

    # ------------------------------------------------------------ more than two runs

    def runs_table(self, metrics: Sequence[str] | None = None) -> pd.DataFrame:
        """All runs of the choice and the session's own, see :func:`workbench.diagnosis.many_runs.runs_table`.

        Raises
        ------
        InputError
            When there is only one.
        """
        from workbench.diagnosis.many_runs import runs_table

        own = self.session.evaluation
        return runs_table([*map(self.run, self._runs), own], [*self._runs, own.name], metrics=metrics)

    def trend_figure(self, theme: str = "print") -> Figure:
        """Means over all runs."""
        from workbench.views.plots_compare import trend

        frame = self.runs_table()
        frame = frame[~frame["metric"].str.startswith("leaks")]
        return trend(frame, {name: parts.metric_words(name) for name in frame["metric"].unique()}, theme=theme)

    def _show_trend(self) -> None:
        self.trend.draw(self.trend_figure("screen"), _t("compare.panel.trend_caption"))
        show(self.trend_table, parts.runs_markup(self.runs_table()))
        display(self.trend, True)

    # ------------------------------------------------------------ handing over

    def pin(self) -> None:
        """Keep what is shown as a finding."""
        if self._comparison is None:
            return
        comparison, passing = self._comparison, self._comparison.passing
        known = passing["n_pairs"] > 0
        title = comparison.verdict + (f" ({words})" if (words := self.session.filter.words()) else "")
        self.card.keep(
            title, snippet=self.snippet(), n_total=len(comparison), runs=(comparison.before.name, comparison.after.name),
            value=passing["delta"] if known else None, interval=(passing["low"], passing["high"]) if known else None,
        )  # fmt: skip

    def snippet(self) -> str:
        """Lines of Python that give the same table."""
        assert self._comparison is not None
        before, after = (str(run.path or run.name) for run in (self._comparison.before, self._comparison.after))
        lines = ["import workbench as wb", f"session = wb.Session(wb.open({after!r}))"]
        if self.session.filter != Filter():
            lines.append(f"session.set_filter(**{self.session.filter.to_dict()!r})")
        lines += [f"panel = wb.panels.compare(session, before={before!r})", f"panel.shown.value = {self.shown.value!r}"]
        if self.cause.value:
            lines.append(f"panel.cause.value = {self.cause.value!r}")
        return "\n".join([*lines, "panel.table()"])

    def table(self) -> pd.DataFrame:
        """The listed samples, see :func:`changed_samples`; empty with one run only."""
        import pandas as pd

        if self._rows is None:
            return pd.DataFrame(columns=list(COLUMNS), index=pd.Index([], name="sample_id"))
        return self._rows.copy()

    def tests(self) -> pd.DataFrame:
        """The paired tests of the two runs, see :meth:`Comparison.tests`; empty with one run only."""
        import pandas as pd

        if self._comparison is None:
            return pd.DataFrame(columns=list(TESTS))
        return self._comparison.tests()

    def figure(self) -> Figure | None:
        """The flow of causes, dark on white; None with one run only."""
        return None if self._comparison is None or not len(self._comparison) else parts.flow_figure(self._comparison)

    def html(self, rows: int = 15) -> Fragment:
        """Verdict, counts, both pictures, the tests, the first ``rows`` samples and the selected one side by side."""
        comparison = self._comparison
        if comparison is None:
            return fragment(h("div", _t("compare.panel.only_one"), cls="wb-empty"))
        listed = self.table()
        selected = self.session.selection
        card = self.pair(selected) if selected is not None and selected in listed.index else None
        return fragment(
            parts.headline(comparison), parts.counts_markup(comparison), *parts.figures_html(comparison),
            parts.layers_line(comparison), parts.split_line(comparison),
            parts.listed_table(listed.head(rows), len(listed), selected), card,
            parts.slices_markup(comparison) if len(comparison) else None, parts.tests_table(comparison),
        )  # fmt: skip
