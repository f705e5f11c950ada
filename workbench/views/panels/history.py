"""The series of panel 06: all runs, where it broke and by which change, and samples through time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.errors import CancelledError
from workbench.evaluation import Evaluation
from workbench.language import text as _t
from workbench.runs import History, history
from workbench.views.history import (
    DRAWN,
    history_tables,
    matrix_caption,
    matrix_figure,
    series_figure,
    through_time,
    verdict_markup,
)
from workbench.views.html import empty, h, join, quiet
from workbench.views.widgets import Background, Picture, dropdown, markup, named, row, show, text_box
from workbench.views.widgets import display as shown_if

if TYPE_CHECKING:
    import pandas as pd

    from workbench.views.widgets import Panel

#: Which of the differing samples the matrix shows.
STATES = ("all", "broken", "fixed", "failing_now", "flaky")
_STATE = {"broken": "broken", "fixed": "fixed", "failing_now": "failing"}
#: Up to this many runs the first sample is shown at once: each run that it moved in is opened for that.
READ_AT_ONCE = 8
#: Samples that the list to choose from holds.
LISTED = 500


class SeriesOfRuns(W.VBox):
    """All runs that lie beside the session's: the course of the rate, which change broke it, and the matrix sample × run.

    Parameters
    ----------
    panel
        The panel that it stands in.
    runs
        Name → evaluation or folder, the session's own among them.
    use_pair
        Called with the names of the two runs to compare.
    """

    def __init__(self, panel: Panel, runs: Mapping[str, Any], use_pair: Callable[[str, str], None]) -> None:
        self._panel, self._use_pair = panel, use_pair
        # As it was saved: the session's sliders are no change of the system.
        self._runs = {name: getattr(run, "path", None) or run for name, run in runs.items()}
        self.history: History | None = None
        self._opened: dict[str, Evaluation] = {name: run for name, run in self._runs.items() if isinstance(run, Evaluation)}
        self._matrix: pd.DataFrame | None = None
        self._states: Any = None
        self._first: str | None = None
        self.words, self.tables, self.card = markup(), markup(), markup()
        self.picture, self.cells = (Picture(name, guarded=panel.guarded) for name in ("wb-series", "wb-matrix"))
        self.picture.clicked = lambda key: self.click_run(key[1])
        self.cells.clicked = lambda key: self.choose(key[1])
        self.chosen = markup()
        self.state = dropdown(_t("history.panel.state"), named("history.panel.", STATES), "all")
        self.find = text_box(_t("history.panel.find"), width="220px")
        self.sample = dropdown(_t("history.panel.sample"), [("–", None)], None, "220px")
        self.work = Background(panel, "history.panel", lambda told: _t("history.panel.working", done=told.done,
                                                                       total=told.total))  # fmt: skip
        # A cell of the matrix and the sample that it stands for are seen at once.
        beside = W.Box([W.VBox([self.cells]), W.VBox([self.card])])
        beside.add_class("wb-split"), beside.add_class("wb-through")
        self.body = W.VBox([self.chosen, self.picture, row(self.state, self.find, self.sample), beside, self.tables],
                           layout=W.Layout(width="100%"))  # fmt: skip
        panel.on(self.state, lambda _: self._filter())
        panel.on(self.find, lambda _: self._filter())
        panel.on(self.sample, self._tell)
        shown_if(self.body, False)
        super().__init__([self.words, self.work, self.body], layout=W.Layout(width="100%"))

    def begin(self) -> None:
        """Read the runs, those that the index does not know yet beside the notebook."""
        if len(self._runs) < 2:
            return  # the panel says what is missing

        def read(progress: Callable[[int, int], None], cancelled: Callable[[], bool]) -> History:
            def tell(done: int, total: int) -> None:
                progress(done, total)
                if cancelled():
                    raise CancelledError(_t("history.panel.cancelled"))

            return history(self._runs, by_date=True, progress=tell)

        # Of two runs the comparison says it all: nothing waits for their series.
        self.work.start(read, self._read, patience=3.0 if len(self._runs) > 2 else 0.0)

    def _read(self, found: History) -> None:
        self.history = found
        self._states = found.series.samples().set_index("sample_id")["state"]
        show(self.words, join(verdict_markup(found)))
        self.picture.draw(lambda: series_figure(found, "screen"), _t("history.panel.caption"))
        show(self.chosen, quiet(_t("history.panel.click"), tag="p"))
        older = quiet(_t("history.panel.older", n=len(found) - DRAWN), tag="p") if len(found) > DRAWN else None
        title = h("summary", " · ".join(_t(f"history.panel.{name}") for name in ("steps", "keys", "runs")))
        under = quiet(_t("history.panel.under"), tag="p")
        show(self.tables, join([older, h("details", title, *history_tables(found)), under]))
        shown_if(self.body, True)
        self._filter()

    def choose(self, sample_id: str) -> None:
        """A cell of the matrix was clicked: show its sample through time."""
        self.sample.value = sample_id

    def click_run(self, run: str) -> None:
        """A point was clicked: the first one waits for a second, the two are compared, the older one as the run before."""
        assert self.history is not None
        if self._first is None or self._first == run:
            self._first = run
            show(self.chosen, quiet(_t("history.panel.first", run=run), tag="p"))
            return
        first, second = sorted((self._first, run), key=self.history.series.place)
        self._first = None
        show(self.chosen, quiet(_t("history.panel.pair", before=first, after=second), tag="p"))
        self._use_pair(first, second)

    # The matrix and one sample.

    def matrix(self) -> pd.DataFrame:
        """Sample × run of the samples that are listed."""
        assert self.history is not None
        series = self.history.series
        if self._matrix is None:
            self._matrix = series.matrix()
        found = self._matrix
        if self.state.value == "flaky":
            found = found[found.index.isin(series.ids[series.flaky])]
        elif self.state.value in _STATE:
            states = self._states
            found = found[found.index.isin(states.index[states == _STATE[self.state.value]])]
        wanted = self.find.value.strip().lower()
        return found[[wanted in str(name).lower() for name in found.index]] if wanted else found

    def _filter(self) -> None:
        if self.history is None:
            return
        found = self.matrix()
        with self._panel.quietly():
            names = [str(name) for name in found.index[:LISTED]]
            self.sample.options = [("–", None), *((name[:60], name) for name in names)]
            self.sample.value = None
        show(self.card, h("span"))
        shown_if(self.cells, len(found) > 0)
        if not len(found):
            show(self.card, empty(_t("history.panel.no_matrix")))
            return
        whole = self.history
        self.cells.draw(lambda: matrix_figure(whole, found, "screen"), matrix_caption(whole, found))
        if len(whole) <= READ_AT_ONCE:
            self.sample.value = names[0]

    def _tell(self, sample_id: str | None) -> None:
        """Show one sample through the runs in which something about it changed."""
        if sample_id is None or self.history is None:
            show(self.card, h("span"))
            return
        series = self.history.series
        at = int(series.ids.get_indexer([sample_id])[0])
        wanted = [run for place, run in enumerate(series.runs) if self._moved(place, at)]
        for run in wanted:
            if run not in self._opened:
                self._opened[run] = self.history.open(run)
        show(self.card, through_time(self.history, sample_id, {run: self._opened[run] for run in wanted}))

    def _moved(self, place: int, at: int) -> bool:
        """Whether output or cause of a sample is another than in the run before; the first and last run always count."""
        assert self.history is not None
        series = self.history.series
        if place in (0, len(series) - 1):
            return True
        return any(
            part is not None and part[place, at] != part[place - 1, at] for part in (series.output, series.cause)
        )
