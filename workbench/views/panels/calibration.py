"""Panel 08: can I trust the judge, and where should the cut be?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as W
import numpy as np

from workbench.diagnosis.calibration import (
    EACH,
    MOVES,
    NEEDED,
    Calibration,
    annotator_agreement,
    annotator_pairs,
    calibratable,
    calibration_table,
    consensus,
    load_verdicts,
    own_verdicts,
    repeat_noise,
)
from workbench.diagnosis.cause_inputs import PASSED
from workbench.errors import InputError
from workbench.evaluation import load_evaluation
from workbench.language import has_text, numbers
from workbench.language import text as _t
from workbench.views.html import Fragment, Markup, empty, fragment, h, join, quiet, table
from workbench.views.list_panel import ListPanel
from workbench.views.panels.compare import found_runs
from workbench.views.panels.fitting import FittingBox
from workbench.views.plots import calibration_figure
from workbench.views.widgets import button, cut_slider, display, dropdown, markup, named, row, show, still, text_box
from workbench.views.wording import metric_title, verdict_title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from workbench.scoring.thresholds import Thresholds
    from workbench.views.session import Session


# What is said in words and tables: plain functions of a calibration.

#: Evaluations beside the session's that are looked at for the same texts.
MOST_REPEATS = 10


def score_title(score: str, threshold: str) -> str:
    """How a score is called in this panel; ``passed`` names the threshold that moves it."""
    return _t(f"calibration.moves.{threshold}") if score == PASSED else metric_title(score)


def _bracketed(low: Any, high: Any, *, rate: bool = False) -> str:
    words = numbers.interval(low, high, rate=rate)
    return f" ({words})" if words else ""


def count_words(found: Calibration) -> str:
    """The confusion at the cut and kappa, in one sentence."""
    table, kappa = found.confusion(), found.agreement()
    right, wrong = (int(table.loc[name, ["right", "wrong"]].sum()) for name in ("right", "wrong"))
    agree = int(table.loc["right", "right"] + table.loc["wrong", "wrong"])
    if not right + wrong:
        return _t("calibration.counts_none", cut=f"{found.cut:.2f}")
    interval = numbers.interval(kappa["kappa_low"], kappa["kappa_high"])
    words = _t("calibration.counts", cut=f"{found.cut:.2f}", agree=agree, n=right + wrong, right=right, wrong=wrong,
               kappa=numbers.score(kappa["kappa"]), interval=f", {interval}" if interval else "",
               found=int(table.loc["wrong", "wrong"]), blamed=int(table.loc["right", "wrong"]))  # fmt: skip
    none = int(table["none"].sum())
    return words + (_t("calibration.without", n=none) if none else "")


def advice_words(found: Calibration) -> str:
    """Where the cut should be, or how many labels are missing."""
    if not found.enough:
        lacking = [_t(f"calibration.lack_{name}", n=n) for name, n in found.lacking.items() if n]
        n, words = found.counts, _t("calibration.joiner").join(lacking)
        return _t("calibration.few", n=n["n"], right=n["right"], wrong=n["wrong"], needed=NEEDED, each=EACH, lacking=words)
    cut, (area, interval) = found.suggested, found.area
    scale = _t("calibration.area", area=numbers.score(area), interval=_bracketed(interval.low, interval.high))
    if np.isnan(cut.value):
        return _t("calibration.no_cut") + scale
    words = _t("calibration.suggested", cut=f"{cut.value:.2f}", low=f"{cut.low:.2f}", high=f"{cut.high:.2f}",
               kappa=numbers.score(cut.kappa))  # fmt: skip
    words += _t(f"calibration.{'keep' if cut.low - 1e-9 <= found.cut <= cut.high + 1e-9 else 'change'}")
    return words + scale + (_t("calibration.chance") if interval.low <= 0.5 else "")


def title_words(found: Calibration) -> str:
    """The title of the picture."""
    return _t("calibration.title", score=score_title(found.score, found.threshold), area=numbers.score(found.area[0]),
              n=found.counts["n"])  # fmt: skip


def finding_words(found: Calibration) -> str:
    """One sentence to hand over: agreement, and the pass rate before and after correction."""
    kappa, rates = found.agreement(), found.corrected()
    fixed = rates.loc["corrected"]
    return _t("calibration.words", score=score_title(found.score, found.threshold), cut=f"{found.cut:.2f}",
              kappa=numbers.score(kappa["kappa"]), interval=_bracketed(kappa["kappa_low"], kappa["kappa_high"]),
              n=found.counts["n"], share=numbers.percent(fixed["share"]), naive=numbers.percent(rates.loc["judge", "share"]),
              share_interval=_bracketed(fixed["low"], fixed["high"], rate=True))  # fmt: skip


def label_notes(found: Calibration, other_runs: list[str]) -> list[str]:
    """What is to be said about the labels: none, of other runs, of other samples, split."""
    notes = []
    if not found.counts["n"] and not len(found.human):
        line = _t("calibration.no_labels", run=found.evaluation.name)
        notes.append(line + (_t("calibration.other_runs", runs=", ".join(other_runs[:10])) if other_runs else ""))
    if found.n_elsewhere:
        notes.append(_t("calibration.elsewhere", n=found.n_elsewhere))
    if found.n_split:
        notes.append(_t("calibration.split", n=found.n_split))
    return notes


def _shown(frame: pd.DataFrame) -> Markup:
    return table(frame, headings="calibration.columns")


def _with_intervals(frame: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Each of ``names`` with its ``_low`` and ``_high`` as one text."""
    shown = frame.copy()
    for name in names:
        ends = zip(frame[name], frame[f"{name}_low"], frame[f"{name}_high"], strict=True)
        shown[name] = [numbers.score(value) + _bracketed(low, high) for value, low, high in ends]
        shown = shown.drop(columns=[f"{name}_low", f"{name}_high"])
    return shown


def confusion_part(found: Calibration) -> Markup:
    """The confusion at the cut."""
    frame = found.confusion().reset_index()
    frame["human"] = frame["human"].map(verdict_title)
    return _shown(frame)


def languages_part(found: Calibration) -> Markup:
    """One row a language."""
    frame = _with_intervals(found.by_language(), "kappa", "auroc", "cut").reset_index()
    named = [_t(f"calibration.languages.{own}") if has_text(f"calibration.languages.{own}") else own
             for own in frame["language"]]  # fmt: skip
    frame = frame.assign(language=named, accuracy=frame["accuracy"].map(numbers.percent))
    note = quiet(_t("calibration.per_language", needed=NEEDED, each=EACH), tag="p")
    return join([_shown(frame.rename(columns={"cut": "suggested"})), note])


def rate_part(found: Calibration) -> Markup:
    """The pass rate as judged, of the labelled samples, and corrected."""
    frame = found.corrected()
    shown = frame.reset_index(names="way")
    shown["way"] = [_t(f"calibration.ways.{name}") for name in shown["way"]]
    shown["share"] = shown["share"].map(numbers.percent)
    ends = zip(frame["low"], frame["high"], strict=True)
    shown["interval"] = [numbers.interval(low, high, rate=True) or "–" for low, high in ends]
    shown = shown[["way", "share", "interval", "n"]].rename(columns={"n": "samples"})
    words = _t("calibration.random")
    n = int((~np.isnan(found.judged)).sum())
    if n and found.confusion().loc["right", "wrong"] + found.confusion().loc["wrong", "right"] == 0:
        # None wrong among n: 95 % sure of at most 1 − 0.05^(1/n).
        words += _t("calibration.perfect", n=n, bound=numbers.percent(1 - 0.05 ** (1 / n)))
    return join([_shown(shown), quiet(words, tag="p")])


def annotators_part(verdicts: pd.DataFrame) -> Markup:
    """How far people agree with each other."""
    found = annotator_agreement(verdicts)
    if not found["n"]:
        return empty(_t("calibration.alone"))
    words = _t(
        "calibration.alpha", alpha=numbers.score(found["alpha"]), n=int(found["n"]), people=int(found["n_annotators"]),
        interval=_bracketed(found["alpha_low"], found["alpha_high"]), agreement=numbers.percent(found["agreement"]),
    )  # fmt: skip
    pairs = annotator_pairs(verdicts)
    pairs = _with_intervals(pairs[pairs["n"] > 0].astype({"n": int}), "kappa")
    pairs["accuracy"] = pairs["accuracy"].map(numbers.percent)
    return join([h("p", words), _shown(pairs)])


def scores_part(frame: pd.DataFrame) -> Markup:
    """Every score against the same labels, from ``calibration_table``."""
    shown = _with_intervals(frame, "auroc", "suggested").reset_index()
    shown["score"] = [score_title(str(name), "support") for name in shown["score"]]
    return _shown(shown[["score", "n", "auroc", "cut", "kappa", "suggested"]])


def noise_part(session: Session, found: Calibration) -> Markup:
    """The judge's verdicts beside those of other evaluations of the same texts, saved in the same folder."""
    import pandas as pd

    rows, unreadable = [], []
    for name, folder in list(found_runs(session, None).items())[:MOST_REPEATS]:
        try:
            other = load_evaluation(folder, thresholds=session.thresholds)
        except InputError:
            unreadable.append(name)
            continue
        noise = repeat_noise([found.evaluation, other], found.score)
        if noise["n"]:
            rate = numbers.percent(noise["rate"]) + _bracketed(noise["low"], noise["high"], rate=True)
            judge = str(other.manifest.get("judge", "–"))
            rows.append([name, judge, int(noise["n"]), int(noise["n_flips"]), rate, noise["sd"]])
    said = _t("calibration.unreadable", names=", ".join(unreadable)) if unreadable else ""
    if not rows:
        return empty(_t("calibration.no_noise") + said)
    frame = pd.DataFrame(rows, columns=["run", "judge", "same", "flips", "rate", "sd"])
    return join([_shown(frame), quiet(_t("calibration.noise") + said, tag="p")])


def people_words(found: Calibration, verdicts: pd.DataFrame, sample_id: str) -> str:
    """What each person and the judge said about one sample."""
    own = verdicts[verdicts["sample_id"] == sample_id]
    said = [f"{who}: {verdict_title(what)}" + (f" – {note}" if note else "")
            for who, what, note in zip(own["annotator"], own["verdict"], own["note"], strict=True)]  # fmt: skip
    place = int(found.evaluation.evidence.ids.get_loc(sample_id))
    judged = found.judged_all[place]
    judge = "–" if np.isnan(judged) else verdict_title("right" if judged == 1 else "wrong")
    return _t("calibration.said", people="; ".join(said) or _t("calibration.nobody"), judge=judge)


# The panel.

LISTS = ("disagreements", "labelled", "split", "unlabelled", "suggested", "unsure")
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
        self._given = own_verdicts({}) if labels is None else load_verdicts(labels, session.evaluation.name)
        self._sweeps: dict[Any, Calibration] = {}
        names = calibratable(session.evaluation)
        self.found = Calibration(session.evaluation, self._human(EVERYBODY), PASSED)
        self._nothing = len(names) == 1 and not np.isfinite(self.found.judged_all).any()
        if self._nothing:
            self.compose(markup(empty(_t("calibration.no_scores"))))
            return
        scores = [*((PASSED, threshold) for threshold in MOVES), *((name, "support") for name in names if name != PASSED)]
        options = [(score_title(*item), item) for item in scores]
        self.score = dropdown(_t("calibration.score"), options, (PASSED, "support"))
        self.labels = dropdown(_t("calibration.labels"), self._choices(), EVERYBODY)
        self.cut = cut_slider("", 0.5, "360px")
        self.use = button(_t("calibration.use"), self.guarded(self._use, "use"), "wb-use")
        self.advice, self.labelling, self.people = markup(None, "wb-advice"), markup(), markup(None, "wb-people")
        self.pages = {name: markup() for name in TABS}
        self.tabs = W.Tab(list(self.pages.values()))
        self.shown = dropdown(_t("calibration.shown"), named("calibration.lists.", LISTS), LISTS[0])
        self.rules = text_box(_t("calibration.file"), "gate.toml")
        self.freeze = button(_t("calibration.freeze"), self.guarded(self._freeze, "freeze"), "wb-freeze")
        self.frozen = markup(None, "wb-gate-result")
        gate = row(self.rules, self.freeze, self.frozen)
        self.fitting = FittingBox(self, self.verdicts, self._list)
        display(gate, freeze is not None)
        self.tabs.children = (*self.tabs.children, self.fitting)
        self.tabs.titles = (*(_t(f"calibration.tabs.{name}") for name in TABS), _t("fitting.title"))
        self.on(self.cut, self._cut_moved)
        for widget in (self.score, self.labels):
            self.on(widget, lambda _: self._refresh())
        self.on(self.shown, lambda _: self._list())
        self.tabs.observe(self.guarded(lambda _: self._fill_tab(), "tab"), names="selected_index")
        self.compose(row(self.score, self.labels), row(self.cut, self.use), self.count, self.advice, self.labelling,
                     self.picture, self.tabs, gate, row(self.shown), self.bar, self.people, self.card)  # fmt: skip
        self.picture.clicked = self.picture.moved = self._cut_moved
        self.begin()

    # Labels.

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

    # Following the session.

    def _cut_moved(self, value: float) -> None:
        score, threshold = self.score.value
        if score == PASSED:
            change: dict[str, Any] = {threshold: round(float(value), 6)}
            self.session.set_thresholds(**change)
        else:
            self.session.set_low_score(score, value)

    def _follow(self, names: frozenset[str]) -> None:
        if "annotations" in names:
            # The numbers of verdicts in the choice of labels, without choosing anew.
            self._sweeps.clear()
            with self.quietly():
                chosen = self.labels.value
                self.labels.options = self._choices()
                self.labels.value = chosen
        if "thresholds" in names:
            self._refresh()
        elif names & {"selection", "annotations"}:
            self.draw_card()  # first: who labels waits for the next sample, not for the figures
        if "annotations" in names and "thresholds" not in names:
            self._measure()
            self.draw_people()

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
        self._measure()
        self._list()

    def _measure(self) -> None:
        self.found = found = self._calibration()
        with self.quietly():
            self.cut.value = found.cut
            self.cut.description = _t(f"calibration.{'cut' if found.low_is_bad else 'cut_above'}")
        self.use.disabled = not abs(found.suggested.value - found.cut) > 1e-9
        show(self.count, h("span", count_words(found)))
        show(self.advice, h("p", advice_words(found), cls="wb-note"))
        show(self.labelling, join(quiet(line, tag="p") for line in label_notes(found, self._other_runs())))
        self.picture.draw(lambda: self.figure("screen"), _t("calibration.caption"))
        self._fill_tab()

    def _other_runs(self) -> list[str]:
        return [name for name in self._given.attrs.get("runs", []) if name != self.session.evaluation.name]

    def _fill_tab(self) -> None:
        """Only the tab that is looked at is worked out."""
        at = self.tabs.selected_index or 0
        if at < len(TABS):
            show(self.pages[TABS[at]], self._tab(TABS[at]))
        else:
            self.fitting.count()

    def _tab(self, name: str) -> Markup:
        make: dict[str, Callable[[], Markup]] = {
            "confusion": lambda: confusion_part(self.found), "languages": lambda: languages_part(self.found),
            "rate": lambda: rate_part(self.found), "annotators": lambda: annotators_part(self.verdicts()),
            "noise": lambda: noise_part(self.session, self.found),
            "scores": lambda: scores_part(calibration_table(self.session.evaluation, self._human(self.labels.value))),
        }  # fmt: skip
        return make[name]()

    # Samples.

    def listed(self, name: str) -> list[str]:
        """Ids of one of :data:`LISTS`, in the order shown."""
        found = self.found
        if name == "disagreements":
            return [str(item) for item in found.disagreements().index]
        if name == "labelled":
            return [str(item) for item in found.human.index]
        if name in ("suggested", "unsure"):
            return self.fitting.suggested() if name == "suggested" else self.fitting.unsure()
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
        self.keep_selection()

    def _empty_words(self) -> str:
        sure = self.shown.value == "unsure" and self.fitting.fitted is not None
        return _t(f"calibration.empty.{'all_sure' if sure else self.shown.value}")

    def draw_card(self) -> None:
        """Show the selected sample, its place, and what was said of it."""
        super().draw_card()
        self.draw_people()

    def draw_people(self) -> None:
        """Say what people and the judge said of the selected sample."""
        shown = self.shown_id
        words = "" if shown is None else people_words(self.found, self.verdicts(), shown)
        show(self.people, h("p", words, cls="wb-note") if words else Markup())

    # Handing over.

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

    def pin(self) -> None:
        """Keep the corrected pass rate as a finding."""
        share, low, high = self.found.corrected().loc["corrected", ["share", "low", "high"]].astype(float)
        known = share == share
        self.card.keep(
            finding_words(self.found), note="", sample_ids=[str(item) for item in self.found.disagreements().index],
            n_total=self.found.counts["n"], value=share if known else None, interval=(low, high) if known else None,
        )  # fmt: skip

    def _snippet(self) -> str:
        human = {str(key): str(value) for key, value in self.found.human.items()}
        score, threshold = self.score.value
        call = f"wb.calibrate(evaluation, {human!r}, {score!r}, threshold={threshold!r}, cut={self.found.cut!r})"
        return self.script(f"{call}.labelled()", opened="evaluation")

    def figure(self, theme: str = "print") -> Figure:
        """ROC and agreement over all cuts, dark on white."""
        return calibration_figure(self.found, title_words(self.found), theme=theme)

    def table(self) -> pd.DataFrame:
        """The labelled samples: ``sample_id, human, judge, value, language, agree``."""
        return self.found.labelled().reset_index()

    def html(self) -> Fragment:
        """Counts, advice, picture, tables, and the card of the selected sample."""
        if self._nothing:
            return fragment(empty(_t("calibration.no_scores")))
        found = self.found
        lines = [count_words(found), advice_words(found), *label_notes(found, self._other_runs())]
        tables = [(h("h4", _t(f"calibration.tabs.{name}")), self._tab(name)) for name in TABS[:-1]]
        return fragment(*(h("p", line) for line in lines), still(self.figure(), title_words(found)),
                        *(part for pair in tables for part in pair), self.still_card())  # fmt: skip
