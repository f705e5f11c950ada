"""Panel 05: which kinds of question fail?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import ipywidgets as W
import numpy as np

from workbench.diagnosis.causes import NOT_CHECKED
from workbench.diagnosis.queries import LEARNT, Dimensions, Group, SampleOutcomes, dimension_title, grouped, value_title
from workbench.diagnosis.slices import slices_of
from workbench.diagnosis.statistics import wilson
from workbench.diagnosis.vocabulary import failing_terms
from workbench.language import numbers
from workbench.language import text as _t
from workbench.views.html import Fragment, Markup, fragment, h, join, quiet, table
from workbench.views.list_panel import FilterNote, ListPanel, cause_column, id_column, question_column
from workbench.views.plots import MOST_BARS, SCREEN_BARS, cut_words, rate_bars, rate_grid
from workbench.views.widgets import LABEL, Column, RowList, button, display, dropdown, markup, row, show, still
from workbench.views.wording import cause_title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from workbench.views.session import Session


# What is shown, as plain functions: pictures and tables of a breakdown, of slices, of words.

#: Rows of the tables of the panel.
ROWS = 30


def say(key: str, **values: Any) -> str:
    """A text of the panel in the language in force."""
    return _t(f"queries.panel.{key}", **values)


def group_title(names: Sequence[str], group: Group) -> str:
    """A group for a reader: its values, translated where they are ours; folded groups say how many they are."""
    if group.values is None:
        return group.label
    return " × ".join(value_title(name, value) for name, value in zip(names, group.values, strict=True))


def causes_words(causes: dict[str, int], most: int = 3) -> str:
    """ "omission 5 · retrieval miss 3", the most frequent ones."""
    return " · ".join(f"{cause_title(name)} {count}" for name, count in list(causes.items())[:most])


def breakdown_figure(frame: pd.DataFrame, rows: Sequence[Group], base: float, *, theme: str = "print") -> Figure:
    """A breakdown (see ``wb.breakdown``) as bars, or as a grid for two dimensions; ``base``: the rate of all."""
    names = frame.attrs["by"]
    titles = [group_title(names, group) for group in rows]
    # What to see: the group that fails most often beyond doubt, or that there is none.
    out = frame[(frame["folded"] == 0) & (frame["low"] > base)]
    if out.empty:
        title = say("title_none", dimension=" × ".join(map(dimension_title, names)), base=numbers.percent(base))
    else:
        at = out["low"].astype(float).idxmax()
        worst = frame.loc[at]
        title = say("title_out", value=titles[int(at)], failing=f"{worst['n_failing']:,}", n=f"{worst['n']:,}",
                    rate=numbers.percent(worst["rate"]), base=numbers.percent(base))  # fmt: skip
    if len(names) == 2:
        return _grid(frame, rows, title, theme)
    notes = [f"{rate_words(line)}  {causes_words(line.causes, 2)}" for line in frame.itertuples()]
    return rate_bars(titles, frame["rate"], frame["low"], frame["high"], base, notes=notes, title=title, theme=theme)


def rate_words(line: Any) -> str:
    """ "5 of 12 · 42 % (19 – 68 %)" of a group or a slice."""
    rate, interval = numbers.percent(line.rate), numbers.interval(*wilson(line.n_failing, line.n)[:2], rate=True)
    return say("note", failing=f"{line.n_failing:,}", n=f"{line.n:,}", rate=rate, interval=interval)


def _grid(frame: pd.DataFrame, rows: Sequence[Group], title: str, theme: str) -> Figure:
    cells = {group.values: at for at, group in enumerate(rows) if group.values is not None and not group.folded}
    across = [list(dict.fromkeys(values[place] for values in cells)) for place in (0, 1)]
    grids = {name: np.full((len(across[0]), len(across[1])), np.nan) for name in ("rate", "n", "n_failing")}
    for values, at in cells.items():
        place = across[0].index(values[0]), across[1].index(values[1])
        for name, grid in grids.items():
            grid[place] = frame[name].iloc[at]
    left, top = ([value_title(name, value) for value in found]
                 for name, found in zip(frame.attrs["by"], across, strict=True))  # fmt: skip
    keys = {(across[0].index(one), across[1].index(other)): at for (one, other), at in cells.items()}
    return rate_grid(left, top, grids["rate"], grids["n"], grids["n_failing"], keys=keys, title=title, theme=theme)


def breakdown_rows(frame: pd.DataFrame, rows: Sequence[Group]) -> pd.DataFrame:
    """A breakdown as a reader wants it: ``value, n, n_failing, rate, interval, causes`` in words."""
    import pandas as pd

    return pd.DataFrame({
        "value": [group_title(frame.attrs["by"], group) for group in rows[: len(frame)]],
        "n": frame["n"].tolist(), "n_failing": frame["n_failing"].tolist(),
        "rate": [numbers.percent(value) for value in frame["rate"]],
        "interval": [numbers.interval(a, b, rate=True) for a, b in zip(frame["low"], frame["high"], strict=True)],
        "causes": [causes_words(causes) for causes in frame["causes"]],
    })  # fmt: skip


def breakdown_table(frame: pd.DataFrame, rows: Sequence[Group], most: int = ROWS) -> Markup:
    """The first groups as a table."""
    return table(breakdown_rows(frame.head(most), rows), headings="queries.columns", total=len(frame))


def slice_rows(slices: pd.DataFrame) -> pd.DataFrame:
    """Slices as a reader wants them: ``rule, n, n_failing, rate, lift, q_value`` in words."""
    import pandas as pd

    return pd.DataFrame({
        "rule": slices["rule"].tolist(), "n": slices["n"].tolist(), "n_failing": slices["n_failing"].tolist(),
        "rate": [numbers.percent(value) for value in slices["rate"]],
        "lift": [numbers.score(value) for value in slices["lift"]],
        "q_value": [f"{value:.3f}" if value >= 0.001 else "< 0.001" for value in slices["q_value"]],
    })  # fmt: skip


def slices_notes(slices: pd.DataFrame) -> Markup:
    """That there are no slices, or which rules choose the same samples."""
    if slices.empty:
        return h("p", say("no_slices", tried=f"{slices.attrs.get('n_tried', 0):,}"), cls="wb-empty")
    return join(
        h("p", f"{rule}: ", say("same", rules="; ".join(rules[:3])), cls="wb-quiet")
        for rule, rules in zip(slices["rule"], slices["same_samples"], strict=True) if rules
    )  # fmt: skip


def slices_table(slices: pd.DataFrame) -> Markup:
    """The worst slices, or the sentence that there are none."""
    if slices.empty:
        return slices_notes(slices)
    body = table(slice_rows(slices), headings="queries.columns", formats={"rule": str})
    return h("div", h("h4", say("slices", tried=f"{slices.attrs.get('n_tried', 0):,}")), body, slices_notes(slices))


def terms_table(terms: pd.DataFrame) -> Markup:
    """Words that lean to failing questions with their base rates; those whose interval leaves 0 first."""
    import pandas as pd

    sure = terms[terms["low"] > 0]
    if sure.empty:
        return h("div", h("h4", say("terms")), h("p", say("no_terms"), cls="wb-quiet"))
    columns = {
        "term": sure["term"].tolist(), "n": sure["n"].tolist(), "n_failing": sure["n_failing"].tolist(),
        "shares": [f"{numbers.percent(a)} / {numbers.percent(b)}"
                   for a, b in zip(sure["share_failing"], sure["share_passing"], strict=True)],
        "log_odds": [f"{v:.2f} ({numbers.interval(a, b)})"
                     for v, a, b in zip(sure["log_odds"], sure["low"], sure["high"], strict=True)],
    }  # fmt: skip
    body = table(pd.DataFrame(columns), headings="queries.columns")
    return h("div", h("h4", say("terms")), body)


# The panel.

#: With more samples the worst slices are looked for only when asked.
AT_ONCE = 20_000
#: Words that are shown.
TERMS = 8


class QueryTypes(ListPanel):
    """Dimensions, bars or grid, worst slices, words; a choice filters the session and the card shows its samples.

    Parameters
    ----------
    by, other
        The dimensions to begin with; by default question types alone.
    min_n
        Groups with fewer samples are folded together.
    """

    stem = "query_types"

    def __init__(self, session: Session, by: str | None = None, other: str | None = None, min_n: int = 5) -> None:
        super().__init__(session)
        self._rows: list[Group] = []
        self._frame: pd.DataFrame | None = None
        self._slices: pd.DataFrame | None = None
        self._terms: pd.DataFrame | None = None
        self._chosen: tuple[str, int] | None = None
        self._samples = session.samples
        self._dimensions = Dimensions(session.evaluation)
        names = self._dimensions.names()
        # Question types; for very many samples what is recorded, since reading their questions takes a while.
        quick = [name for name in ("case_type", "tenant") if name in names and self._dimensions.n > AT_ONCE]
        first = self._dimensions.resolve(by) if by else (quick or names)[0]
        second = self._dimensions.resolve(other) if other else ""
        offered = [name for own in names for name in ((own, LEARNT) if own == "query_type" else (own,))]
        options = [(dimension_title(name), name) for name in dict.fromkeys((*offered, first, second)) if name]
        self.by = dropdown(say("by"), options, first)
        self.other = dropdown(say("other"), [(say("nothing"), ""), *options], second)
        self.min_n = W.BoundedIntText(value=min_n, min=1, max=100_000, description=say("min_n"),
                                      layout=W.Layout(width="150px"), style=LABEL)  # fmt: skip
        self.only_failing = W.Checkbox(value=True, description=say("only_failing"), indent=False,
                                       layout=W.Layout(width="auto"))  # fmt: skip
        self.groups = self._choices("group", "value", "n_failing", "n", "rate", "interval", "causes")
        self.found = self._choices("slice", "rule", "n_failing", "n", "rate", "lift", "q_value")
        self.groups.add_class("wb-groups"), self.found.add_class("wb-slices")
        self.find = button(say("find"), self.guarded(self._find, "find"))
        self.slices, self.terms, self.find_note = (markup() for _ in range(3))
        self.picture.clicked = lambda at: self._choose("group", at)
        self.tabs = W.Tab([
            self.picture, self.groups, W.VBox([row(self.find, self.find_note), self.found, self.slices]), self.terms,
        ])  # fmt: skip
        self.tabs.titles = tuple(say(f"tab_{name}") for name in ("picture", "groups", "slices", "terms"))
        self.tabs.add_class("wb-tabs")
        self.filters = self.filtered = FilterNote(self, self._show_everything)
        for widget in (self.by, self.other, self.min_n):
            self.on(widget, lambda _: self._regroup())
        self.on(self.only_failing, lambda _: self._choose(*self._chosen) if self._chosen else self._list())
        split = self.beside(id_column(), cause_column(), question_column())
        self.compose(row(self.by, self.other, self.min_n, self.only_failing), row(self.count, self.filtered),
                     self.tabs, self.bar, split)  # fmt: skip
        self.begin()

    def _choices(self, kind: str, first: str, *numbers_of: str) -> RowList:
        """Groups or slices as rows; a click filters the session by one."""
        kinds = {first: "text", "causes": "text"}
        columns = [Column(name, _t(f"queries.columns.{name}"), kinds.get(name, "number")) for name in (first, *numbers_of)]
        return RowList(columns, self.guarded, lambda at: self._choose(kind, at), self._point, rows=8)

    def _point(self) -> None:
        """Point out the group or slice that was chosen."""
        for kind, rows in (("group", self.groups), ("slice", self.found)):
            rows.point(self._chosen[1] if self._chosen and self._chosen[0] == kind else -1)

    # What is computed.

    @property
    def chosen(self) -> list[str]:
        """The dimensions in force."""
        return [self.by.value] + ([self.other.value] if self.other.value not in ("", self.by.value) else [])

    @property
    def outcomes(self) -> SampleOutcomes:
        """What became of every sample under the thresholds in force."""
        causes = self.session.causes
        return SampleOutcomes(causes.failing, causes.primary != NOT_CHECKED, causes.primary)

    def _refresh(self) -> None:
        """Everything anew: at the beginning and when thresholds move."""
        if self._samples is not self.session.samples:
            self._samples, self._dimensions = self.session.samples, Dimensions(self.session.evaluation)
        self._dimensions.learn_from(self.outcomes)
        self._chosen, self._slices, self._terms = None, None, None
        self._regroup()
        small = self._dimensions.n <= AT_ONCE
        display(self.find, not small)
        show(self.find_note, quiet("" if small else say("find_note", n=f"{self._dimensions.n:,}")))
        if small:
            self._find()
        else:
            for part in (self.slices, self.terms):
                show(part, Markup())
            display(self.found, False)
        self._list()

    def _regroup(self) -> None:
        self._frame, self._rows = grouped(self._dimensions, self.outcomes, self.chosen, self.min_n.value)
        show(self.count, self._count_markup())
        self.picture.draw(lambda: self.figure(theme="screen"), self._caption(SCREEN_BARS))
        if self._chosen and self._chosen[0] == "group":
            self._chosen = None
        self.groups.set(breakdown_rows(self._frame, self._rows))
        self._point()

    def _find(self) -> None:
        found = self.outcomes
        self._slices = slices_of(self._dimensions, found.failed, found.tested, min_n=max(self.min_n.value, 2))
        self.found.set(slice_rows(self._slices))
        display(self.found, len(self._slices) > 0)
        show(self.slices, slices_notes(self._slices))
        self._point()
        self._terms = failing_terms(self.session.evaluation, top=TERMS)
        show(self.terms, terms_table(self._terms))

    def _count_markup(self) -> Markup:
        found = self.outcomes
        failing, n = int(found.failed.sum()), int(found.tested.sum())
        if n == 0:
            return h("span", say("no_samples"))
        words = say("count", failing=f"{failing:,}", n=f"{n:,}", rate=numbers.percent(failing / n))
        more = [say("not_checked", n=f"{len(found.tested) - n:,}")] if n < len(found.tested) else []
        if self._frame is not None and self._frame.attrs["multiple"]:
            more.append(say("multiple"))
        if LEARNT in self.chosen:
            found_kinds = self._dimensions.learnt
            more.append(say("learnt" if found_kinds.kinds else "none_learnt", n=f"{found_kinds.n:,}",
                            tried=f"{found_kinds.tried:,}"))  # fmt: skip
        if lacking := self._dimensions.lacking():
            more.append(say("lacks", fields=", ".join(lacking)))
        return h("span", h("span", words), quiet(*(f" · {item}" for item in more)))

    def _caption(self, most: int = MOST_BARS) -> str:
        names = [dimension_title(name) for name in self.chosen]
        if len(names) == 2:
            return say("caption_pivot", dimension=names[0], other=names[1], min_n=self.min_n.value)
        return f"{say('caption', dimension=names[0])} {cut_words(most, len(self.table()))}".strip()

    # Click-through.

    def _choose(self, kind: str, at: int) -> None:
        """Filter the session to the samples of a group or a slice."""
        ids, label, _ = self._samples_of(kind, at)
        if self.only_failing.value:
            ids, label = self._failing(ids), say("failing_of", label=label)
        self._chosen = (kind, at)
        self._point()
        self.session.show(ids, label)

    def _samples_of(self, kind: str, at: int) -> tuple[list[str], str, Any]:
        """Ids of a group or a slice, what it is called, and its row."""
        if kind == "slice":
            assert self._slices is not None
            line = self._slices.iloc[at]
            return list(line["sample_ids"]), str(line["rule"]), line
        group = self._rows[at]
        ids = [str(name) for name in self.session.samples.index[np.sort(group.rows)]]
        return ids, f"{self._by_words()} = {group_title(self.chosen, group)}", self.table().iloc[at]

    def _by_words(self) -> str:
        return " × ".join(dimension_title(name) for name in self.chosen)

    def _failing(self, ids: Sequence[str]) -> list[str]:
        failing = set(self.session.samples.index[self.outcomes.failed])
        return [name for name in ids if name in failing]

    def _show_everything(self) -> None:
        self._chosen = None
        self._point()
        self.session.clear_filter()

    def _follow(self, names: frozenset[str]) -> None:
        if "filter" in names and "thresholds" not in names:
            self._list()
        else:
            super()._follow(names)

    def _list(self) -> None:
        """The samples of the session's filter: the failing ones, or all with the failing ones first."""
        import pandas as pd

        ids = self.session.matching()
        failed = self.outcomes.failed[self.session.samples.index.get_indexer(ids)]
        order = np.flatnonzero(failed) if self.only_failing.value else np.argsort(~failed, kind="stable")
        places = self.session.samples.index.get_indexer(ids[order])
        frame = pd.DataFrame({"cause": self.outcomes.causes[places],
                              "question": self.session.samples["question"].iloc[places]}, index=ids[order])  # fmt: skip
        self.filtered.fill()
        self.list_samples(frame)

    def _empty_words(self) -> str:
        return say("empty")

    # Handing over.

    def pin(self) -> None:
        """Keep the view, with the numbers of the group or slice that was chosen, or of everything."""
        if self._chosen is None:
            found = self.outcomes
            ids, n, bad = list(self.session.samples.index), int(found.tested.sum()), int(found.failed.sum())
            title = say("pin_title", dimension=self._by_words())
        else:
            ids, label, line = self._samples_of(*self._chosen)
            n, bad = int(line["n"]), int(line["n_failing"])
            title = f"{label}: {rate_words(line)}"
        frame = self.table()
        frame = frame.assign(causes=[causes_words(causes, 20) for causes in frame["causes"]])
        self.card.keep(title, note="", table=frame, sample_ids=self._failing(ids), n_total=n,
                       value=bad / n if n else None, interval=wilson(bad, n)[:2] if n else None)  # fmt: skip

    def _snippet(self) -> str:
        by = self.chosen if len(self.chosen) == 2 else self.chosen[0]
        return self.script(f"wb.breakdown(evaluation, {by!r}, min_n={self.min_n.value})", "wb.worst_slices(evaluation)",
                           opened="evaluation")  # fmt: skip

    def table(self) -> pd.DataFrame:
        """The breakdown that is shown, see ``wb.breakdown``."""
        assert self._frame is not None
        return self._frame

    def slices_found(self) -> pd.DataFrame:
        """The worst slices, see ``wb.worst_slices``; looks for them where that was not done yet."""
        if self._slices is None:
            self._find()
        assert self._slices is not None
        return self._slices

    def figure(self, theme: str = "print") -> Figure:
        """Bars, or the grid of two dimensions."""
        found = self.outcomes
        base = float(found.failed.sum() / found.tested.sum()) if found.tested.any() else float("nan")
        return breakdown_figure(self.table(), self._rows, base, theme=theme)

    def html(self) -> Fragment:
        """Picture, table, worst slices, words and the card of the selected sample."""
        found = self.slices_found()
        assert self._terms is not None
        return fragment(
            h("p", self._count_markup()), still(self.figure(), self._caption()), breakdown_table(self.table(), self._rows),
            slices_table(found), terms_table(self._terms), self.still_card(),
        )  # fmt: skip
