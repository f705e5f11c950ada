"""Panel 08: can I trust the judge, and where should the cut be?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as W
import numpy as np

from workbench.diagnosis.calibrating import Calibration, calibratable, calibration_table
from workbench.diagnosis.calibration_labels import consensus, load_verdicts, own_verdicts
from workbench.diagnosis.failing import PASSED
from workbench.language import text as _t
from workbench.views import plots
from workbench.views.html import Fragment, Markup, fragment, h, join, picture
from workbench.views.panels import calibration_parts as parts
from workbench.views.panels.card import Card, card_html
from workbench.views.panels.listing import ListPanel
from workbench.views.plots_calibration import calibration_figure
from workbench.views.widgets import Picture, Stepper, button, cut_slider, display, dropdown, markup, row, show

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from workbench.scoring.thresholds import Thresholds
    from workbench.views.session import Session

LISTS = ("disagreements", "labelled", "split", "unlabelled")
TABS = ("confusion", "languages", "rate", "annotators", "noise", "scores")
#: Choices of labels that are no annotator's name.
EVERYBODY, OWN = ("everybody",), ("own",)
#: The order in which samples without a verdict are offered; random, so that the labelled ones stand for all.
_ORDER_SEED = 8


class CalibrationPanel(ListPanel):
    """Score and labels to choose, cut with live counts, ROC, tables, the samples behind them, freezing to a gate file.

    Parameters
    ----------
    session
        The session; its own verdicts count as one annotator's.
    labels
        A file or frame of verdicts (see ``load_verdicts``); rows of other runs are left out.
    freeze
        ``freeze(path, thresholds)`` that writes a rules file and returns its path; without it the row is not shown.
    """

    stem = "calibration"

    def __init__(
        self, session: Session, labels: Any = None, freeze: Callable[[str, Thresholds], Path] | None = None
    ) -> None:
        super().__init__(session)
        self._freezer = freeze
        self._ids: list[str] = []
        self._given = self._read(labels)
        self._sweeps: dict[Any, Calibration] = {}
        names = calibratable(session.evaluation)
        self.found = Calibration(session.evaluation, self._human(EVERYBODY), PASSED)
        self._nothing = len(names) == 1 and not np.isfinite(self.found.judged_all).any()
        if self._nothing:
            self.compose(markup(h("div", _t("calibration.no_scores"), cls="wb-empty")))
            return
        self._build(names)
        session.observe(self.guarded(self._follow, "session"))
        self._refresh()
        self._list()

    def _read(self, labels: Any) -> pd.DataFrame:
        if labels is None:
            return own_verdicts({})
        return load_verdicts(labels, self.session.evaluation.name)

    def _build(self, names: list[str]) -> None:
        self.score = dropdown(_t("calibration.score"), parts.offered(names), (PASSED, "support"))
        self.labels = dropdown(_t("calibration.labels"), self._choices(), EVERYBODY)
        self.cut = cut_slider("", 0.5, "360px")
        self.use = button(_t("calibration.use"), self.guarded(self._use, "use"), "wb-use")
        self.count, self.advice, self.labelling = markup(None, "wb-count"), markup(None, "wb-advice"), markup()
        self.picture = Picture("wb-figure")
        self.pages = {name: markup() for name in TABS}
        self.tabs = W.Tab(list(self.pages.values()))
        self.tabs.titles = tuple(_t(f"calibration.tabs.{name}") for name in TABS)
        self.shown = dropdown(_t("calibration.shown"), [(_t(f"calibration.lists.{n}"), n) for n in LISTS], LISTS[0])
        self.stepper = Stepper(self, self.go)
        self.people = markup(None, "wb-people")
        self.card = Card(self, self._pin, self.ids)
        self._watch()
        gate = self._gate_row()
        self.compose(row(self.score, self.labels), row(self.cut, self.use), self.count, self.advice, self.labelling,
                     self.picture, self.tabs, gate, row(self.shown, self.stepper), self.people, self.card)  # fmt: skip

    def _watch(self) -> None:
        self.on(self.cut, self._cut_moved)
        self.on(self.score, lambda _: self._again())
        self.on(self.labels, lambda _: self._again())
        self.on(self.shown, lambda _: self._list())
        self.tabs.observe(self.guarded(lambda _: self._fill_tab(), "tab"), names="selected_index")

    def _gate_row(self) -> W.Widget:
        self.rules = W.Text(value="gate.toml", description=_t("calibration.file"), layout=W.Layout(width="330px"),
                            style={"description_width": "initial"})  # fmt: skip
        self.freeze = button(_t("calibration.freeze"), self.guarded(self._freeze, "freeze"), "wb-freeze")
        self.frozen = markup(None, "wb-gate-result")
        box = row(self.rules, self.freeze, self.frozen)
        display(box, self._freezer is not None)
        return box

    # -- labels -----------------------------------------------------------------------------------------------------

    def verdicts(self, who: Any = EVERYBODY) -> pd.DataFrame:
        """The verdicts of everybody, of the user, or of one annotator by name."""
        import pandas as pd

        own = own_verdicts(self.session.annotations, _t("calibration.me"))
        if who == OWN:
            return own
        if who != EVERYBODY:
            return self._given[self._given["annotator"] == who]
        return pd.concat([self._given, own], ignore_index=True) if len(own) else self._given

    def _human(self, who: Any) -> pd.Series:
        return consensus(self.verdicts(who))

    def _choices(self) -> list[tuple[str, Any]]:
        counts = self._given["annotator"].value_counts()
        people = [(f"{name[:40]} ({n:,})", name) for name, n in counts.items()]
        n_all, n_own = (self.verdicts(who)["sample_id"].nunique() for who in (EVERYBODY, OWN))
        return [(_t("calibration.labels_all", n=f"{n_all:,}"), EVERYBODY), *people,
                (_t("calibration.labels_own", n=f"{n_own:,}"), OWN)]  # fmt: skip

    # -- following --------------------------------------------------------------------------------------------------

    def _cut_moved(self, value: float) -> None:
        if self._quiet:
            return
        score, threshold = self.score.value
        if score == PASSED:
            change: dict[str, Any] = {threshold: round(float(value), 6)}
            self.session.set_thresholds(**change)
        else:
            self.session.set_low_score(score, value)

    def _follow(self, names: frozenset[str]) -> None:
        if "annotations" in names:
            self._sweeps.clear()
            self._relabel()
        if names & {"annotations", "thresholds"}:
            self._refresh()
        if "thresholds" in names:
            self._list()
        elif names & {"selection", "annotations"}:
            self.draw_card()

    def _relabel(self) -> None:
        """The numbers of verdicts in the choice of labels, without choosing anew."""
        self._quiet = True
        chosen = self.labels.value
        self.labels.options = self._choices()
        self.labels.value = chosen
        self._quiet = False

    def _again(self) -> None:
        if not self._quiet:
            self._refresh()
            self._list()

    def _calibration(self) -> Calibration:
        """The calibration in force; what holds for all cuts is kept while nothing else changes."""
        score, threshold = self.score.value
        t, evaluation = self.session.thresholds, self.session.evaluation
        moved: dict[str, Any] = {threshold: 0.5} if score == PASSED else {"low_scores": {}}
        key = (score, threshold, self.labels.value, str(t.replace(**moved).to_dict()))
        cut = getattr(t, threshold) if score == PASSED else min(max(t.low_cut(score), 0.0), 1.0)
        if key not in self._sweeps:
            self._sweeps[key] = Calibration(evaluation, self._human(self.labels.value), score, threshold, cut)
        kept = self._sweeps[key]
        # Computed here, so that the copies for other cuts share it.
        _ = kept.suggested, kept.area, kept.languages
        return kept.at(cut, evaluation)

    def _refresh(self) -> None:
        self.found = found = self._calibration()
        self._quiet = True
        self.cut.value = found.cut
        self.cut.description = _t(f"calibration.{'cut' if found.low_is_bad else 'cut_above'}")
        self._quiet = False
        self.use.disabled = not abs(found.suggested.value - found.cut) > 1e-9
        show(self.count, h("span", parts.count_words(found)))
        show(self.advice, h("p", parts.advice_words(found), cls="wb-note"))
        notes = parts.label_notes(found, self._other_runs())
        show(self.labelling, join(h("p", line, cls="wb-quiet") for line in notes))
        self.picture.draw(self._figure("screen"), _t("calibration.caption"))
        self._fill_tab()

    def _other_runs(self) -> list[str]:
        return [name for name in self._given.attrs.get("runs", []) if name != self.session.evaluation.name]

    def _fill_tab(self) -> None:
        """Only the tab that is looked at is worked out."""
        name = TABS[self.tabs.selected_index or 0]
        show(self.pages[name], self._tab(name))

    def _tab(self, name: str) -> Markup:
        if name == "scores":
            return parts.scores_part(calibration_table(self.session.evaluation, self._human(self.labels.value)))
        if name == "noise":
            return parts.noise_part(self.session, self.found)
        if name == "annotators":
            return parts.annotators_part(self.verdicts())
        make = {"confusion": parts.confusion_part, "languages": parts.languages_part, "rate": parts.rate_part}[name]
        return make(self.found)

    # -- samples ----------------------------------------------------------------------------------------------------

    def listed(self, name: str) -> list[str]:
        """Ids of one of :data:`LISTS`, in the order shown."""
        found = self.found
        if name == "disagreements":
            return [str(item) for item in found.disagreements().index]
        if name == "labelled":
            return [str(item) for item in found.human.index]
        verdicts, ids = self.verdicts(), self.session.evaluation.evidence.ids
        if name == "split":
            counts = verdicts.groupby("sample_id", sort=False)["verdict"].nunique()
            return [str(item) for item in counts.index[counts > 1] if item in ids]
        order = np.random.default_rng(_ORDER_SEED).permutation(len(ids))
        known = set(verdicts["sample_id"])
        return [name for name in map(str, ids[order]) if name not in known]

    def _list(self) -> None:
        if not len(self.found.human) and self.shown.value == LISTS[0]:
            # Nothing to disagree about yet: begin with what is to be judged.
            self.shown.value = "unlabelled"
            return
        self._ids = self.listed(self.shown.value)
        self.settle()

    def ids(self) -> list[str]:
        """Ids of the chosen one of :data:`LISTS`."""
        return self._ids

    def position(self, at: int, ids: Sequence[str]) -> str:
        """ "3 of 41" and the id."""
        return f"{_t('calibration.position', at=at + 1, n=len(ids))} — {ids[at][:60]}" if ids else _t("calibration.none")

    def empty_words(self) -> str:
        """Why the chosen list is empty."""
        return _t(f"calibration.empty.{self.shown.value}")

    def draw_card(self) -> None:
        """Show the selected sample, its place, and what people said of it."""
        super().draw_card()
        ids, selected = self._ids, self.session.selection
        shown = selected if selected in ids else next(iter(ids), None)
        words = "" if shown is None else parts.people_words(self.found, self.verdicts(), shown)
        show(self.people, h("p", words, cls="wb-note") if words else Markup())

    # -- handing over -----------------------------------------------------------------------------------------------

    def _use(self) -> None:
        self.cut.value = self.found.suggested.value

    def _freeze(self) -> None:
        if self._freezer is None:
            return
        path = self._freezer(self.rules.value, self.session.thresholds)
        score, threshold = self.score.value
        name = threshold if score == PASSED else f"low_scores.{score}"
        words = _t("calibration.frozen", path=path, name=name, cut=f"{self.found.cut:g}")
        show(self.frozen, h("p", words, cls="wb-note"))

    def _pin(self) -> None:
        fixed = self.found.corrected().loc["corrected"]
        known = fixed["share"] == fixed["share"]
        self.session.pin(
            parts.finding_words(self.found), panel="calibration", figure=plots.figure_png(self.figure()),
            table=self.table(), sample_ids=[str(item) for item in self.found.disagreements().index],
            n_total=self.found.counts["n"], value=float(fixed["share"]) if known else None,
            interval=(float(fixed["low"]), float(fixed["high"])) if known else None, snippet=self._snippet(),
        )  # fmt: skip
        self.card.say(_t("panels.card.pinned", n=len(self.session.findings)))

    def _snippet(self) -> str:
        where = str(self.session.evaluation.path or self.session.evaluation.name)
        human = {str(key): str(value) for key, value in self.found.human.items()}
        score, threshold = self.score.value
        call = f"wb.calibrate(evaluation, {human!r}, {score!r}, threshold={threshold!r}, cut={self.found.cut!r})"
        return "\n".join(["import workbench as wb", f"evaluation = wb.open({where!r})", f"{call}.labelled()"])

    def _figure(self, theme: str) -> Figure:
        return calibration_figure(self.found, parts.title_words(self.found), theme=theme)

    def figure(self) -> Figure:
        """ROC and agreement over all cuts, dark on white."""
        return self._figure("print")

    def table(self) -> pd.DataFrame:
        """The labelled samples: ``sample_id, human, judge, value, language, agree``."""
        return self.found.labelled().reset_index()

    def html(self) -> Fragment:
        """Counts, advice, picture, tables, and the card of the selected sample."""
        if self._nothing:
            return fragment(h("div", _t("calibration.no_scores"), cls="wb-empty"))
        found = self.found
        lines = [parts.count_words(found), parts.advice_words(found), *parts.label_notes(found, self._other_runs())]
        tables: list[Any] = []
        for name in TABS[:-1]:
            tables += [h("h4", _t(f"calibration.tabs.{name}")), self._tab(name)]
        shown = picture(plots.figure_png(self.figure()), parts.title_words(found))
        card = card_html(self.session, self.session.selection) if self.session.selection in self._ids else None
        return fragment(*(h("p", line) for line in lines), shown, *tables, card)
