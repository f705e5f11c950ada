"""Panel 06: what got worse, and is it real? Two runs, their flow of causes, and samples side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as W
import numpy as np
from markupsafe import Markup

from workbench.api import open_evaluation
from workbench.data.schema import none_if_missing
from workbench.diagnosis.cause_inputs import PASSED
from workbench.diagnosis.comparison import TESTS, Comparison, change_title, compared, layer_title, runs_table
from workbench.errors import InputError
from workbench.evaluation import Evaluation
from workbench.language import numbers
from workbench.language import text as _t
from workbench.language.numbers import chance, p_value, points, score
from workbench.views import plots
from workbench.views.card import cause_mark, claim_marks, document_name
from workbench.views.filtering import Slices, explained
from workbench.views.flow import flow
from workbench.views.history import history_parts
from workbench.views.html import Fragment, empty, excerpt, fragment, h, join, marked, quiet, table, text_differences
from workbench.views.list_panel import ANY, FilterBar, ListPanel, cause_column, id_column, question_column
from workbench.views.panels.history import SeriesOfRuns
from workbench.views.widgets import (
    Column,
    Picture,
    button,
    cut_slider,
    display,
    dropdown,
    markup,
    named,
    row,
    show,
    still,
    text_box,
)
from workbench.views.wording import cause_title, metric_title, verdict_title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from workbench.views.session import Session


# Which runs there are to compare, and which samples of two runs are listed.

#: What the list can be narrowed to: one kind of change, or a group of them.
SHOWN = ("flipped", "broken", "fixed", "still_failing", "still_passing", "moved", "changed", "noise", "all")
COLUMNS = ("question", "change", "cause_before", "cause_after", "answer_changed", "contexts_changed", "contrast")
#: Other evaluations that are looked for beside the session's.
MOST_RUNS = 50
#: Up to this many samples slices are looked for, and every metric is tested, while a notebook waits.
TESTED_AT_ONCE = 2_000


def changed_samples(
    session: Session, comparison: Comparison, *, shown: str = "flipped", cause: str | None = None
) -> pd.DataFrame:
    """The matched samples of the session's filter, by how much they changed, the worst change first.

    Parameters
    ----------
    comparison
        One whose run after is the session's evaluation.
    shown
        ``broken``, ``fixed``, ``still_failing``, ``still_passing``; ``flipped`` (broken or fixed), ``moved`` (another
        cause), ``changed`` (another answer or other contexts), ``noise`` (verdict moved on identical text), ``all``.
    cause
        Only samples with this primary cause before or after.

    Returns
    -------
    DataFrame, index ``sample_id``; ``question, change, cause_before, cause_after, answer_changed, contexts_changed,
    contrast``.
    """
    pairs = comparison.pairing
    groups: dict[str, Any] = {
        "flipped": lambda: comparison.changed_to("broken", "fixed"), "moved": lambda: comparison.moved,
        "changed": lambda: pairs.answer_changed | pairs.contexts_changed, "noise": lambda: comparison.noisy,
        "all": lambda: np.ones(len(comparison), dtype=bool),
    }  # fmt: skip
    passing = np.zeros(len(session.samples), dtype=bool)
    passing[session.places()] = True
    keep = groups.get(shown, lambda: comparison.changed_to(shown))() & passing[pairs.right]
    if cause:
        keep = keep & comparison.has_cause(cause)
    found = comparison.flips(keep).set_index("sample_id")
    found.insert(0, "question", session.samples["question"].to_numpy()[pairs.right[keep]])
    return found[list(COLUMNS)].sort_values("contrast", kind="stable")


def found_runs(session: Session, given: Any) -> dict[str, Any]:
    """Name → evaluation or folder of the runs to choose from: those given, and those saved beside the session's own."""
    if given is None or isinstance(given, (str, Path, Evaluation)):
        given = [] if given is None else [given]
    items = given.items() if isinstance(given, Mapping) else [(None, item) for item in given]
    runs: dict[str, Any] = {}
    for name, run in items:
        runs[free_name(name or (run.name if isinstance(run, Evaluation) else Path(run).name), runs)] = run
    if session.evaluation.path is None:
        return runs
    own = Path(session.evaluation.path).resolve()
    paths = [run if isinstance(run, (str, Path)) else run.path for run in runs.values()]
    known = {own, *(Path(path).resolve() for path in paths if path)}
    beside = sorted(path.parent for path in own.parent.glob("*/samples.parquet"))
    for folder in beside[:MOST_RUNS]:
        if folder not in known:
            runs[free_name(folder.name, runs)] = folder
    return runs


def free_name(name: str, taken: Mapping[str, Any]) -> str:
    """``name``, numbered when another run is called that already."""
    number = sum(key == name or key.startswith(f"{name} (") for key in taken)
    return f"{name} ({number + 1})" if number else name


# The comparison as words, pictures and tables: plain functions.

#: Metrics that the picture of differences shows at most; the table has all.
DRAWN = 14


def headline(comparison: Comparison) -> Markup:
    """What to know before any number, then the verdict in words."""
    warnings = [h("p", "⚠ ", line, cls="wb-note wb-warning") for line in comparison.warnings]
    notes = quiet(" ".join(comparison.notes), tag="p") if comparison.notes else None
    verdict = h("p", comparison.verdict, cls="wb-verdict")
    if comparison.right:
        verdict = join([h("p", comparison.right, cls="wb-verdict"),
                        h("p", quiet(_t("compare.verdict.beyond"), " "), comparison.verdict)])  # fmt: skip
    return h("div", *warnings, notes, verdict)


def counts_markup(comparison: Comparison) -> Markup:
    """ "fixed 16  broken 3 …" and the smallest change that this set can show."""
    counts, chips = comparison.counts, []
    for name in ("fixed", "broken", "still_failing", "still_passing", "not_comparable"):
        n, (words, kind) = getattr(counts, name), _change(name)
        if n or name != "not_comparable":
            chips.append(h("span", f"{words} ", h("strong", f"{n:,}"), cls=f"wb-chip {kind}"))
    least = comparison.passing["smallest_detectable"]
    if least == least:
        chips.append(quiet(_t("compare.panel.detectable", points=points(least, signed=False))))
    return h("div", *chips)


def lines_markup(comparison: Comparison) -> Markup:
    """Failing samples by layer, before → after, which add up to the change of all; and that change split between
    retriever and generator."""
    layers, split = comparison.layers(), comparison.split()
    parts = [
        (f"{layer_title(str(name))} {line['before']} → {line['after']} ", int(line["change"]))
        for name, line in layers.iterrows()
    ]  # fmt: skip
    chips = [
        h("span", words, h("strong", f"{n:+,}".replace("-", "−") if n else "0", cls=gain_class(-n)), cls="wb-chip")
        for words, n in [*parts, ("= ", sum(n for _, n in parts))]
    ]
    lines = [h("p", quiet(_t("compare.panel.layers"), " "), *chips)]
    if not parts:
        lines = [quiet(_t("compare.panel.no_failures"), tag="p")]
    if len(split) and split.loc["total", "points"]:
        named_points = {name: points(split.loc[name, "points"]) for name in split.index}
        n = f"{int(split.loc['total', 'n']):,}"
        lines.append(quiet(_t("compare.panel.split", n=n, **named_points), tag="p"))
    return join(lines)


def gain_class(gain: float) -> str:
    """The style of a difference: good when it helps, bad when it harms."""
    return "wb-good" if gain > 0 else "wb-bad" if gain < 0 else ""


def flow_figure(comparison: Comparison, theme: str = "print") -> Figure:
    """Causes before → after."""
    moved = int((comparison.ledger().query("cause_before != cause_after")["n"]).sum())
    title = _t("compare.panel.flow_title", moved=f"{moved:,}", n=f"{len(comparison):,}")
    names = (comparison.before.name, comparison.after.name)
    return flow(comparison.ledger(), names=names, title=title, theme=theme)


def differences_figure(comparison: Comparison, theme: str = "print") -> Figure:
    """Differences of the metrics in [0, 1] that moved most, surest first."""
    tests = comparison.tests()
    known = {name: metric.high <= 1 for name, metric in comparison.known.items()} | {PASSED: True}
    shown = tests[tests["metric"].map(known).fillna(False) & tests["low"].notna() & (tests["delta"] != 0)]
    order = shown["p_value"].where(shown["metric"] != PASSED, -1.0).sort_values(kind="stable").index
    shown = shown.loc[order].head(DRAWN)
    sure = (shown["p_adjusted"] < 0.05).tolist()
    n_tested = int(tests["p_value"].notna().sum()) - 1
    title = _t("compare.panel.differences_title", n=sum(sure), tested=n_tested)
    return plots.differences(
        [metric_words(name) for name in shown["metric"]], shown["delta"], shown["low"], shown["high"],
        better=[None if value is None else bool(value) for value in shown["better"]], sure=sure,
        notes=[f"{score(line.before)} → {score(line.after)}   {p_value(line.p_adjusted)}   n {line.n_pairs:,}"
               for line in shown.itertuples()], title=title, theme=theme,
    )  # fmt: skip


def metric_words(metric: str) -> str:
    """A row of the tests as a reader calls it."""
    return _t("compare.panel.passed") if metric == PASSED else metric_title(metric)


def tests_table(comparison: Comparison, metrics: Sequence[str] | None = None) -> Markup:
    """The paired tests as a table; metrics without a pair are left out and counted."""
    import pandas as pd

    tests = comparison.tests(metrics)
    shown = tests[tests["n_pairs"] > 0]
    text = [{
        "metric": metric_words(line.metric), "n_pairs": f"{line.n_pairs:,}", "before": numbers.score(line.before),
        "after": numbers.score(line.after), "delta": _delta(line.delta),
        "interval": f"{_delta(line.low)} … {_delta(line.high)}", "p": chance(line.p_adjusted),
        "detectable": numbers.score(line.smallest_detectable),
    } for line in shown.itertuples()]  # fmt: skip
    frame = pd.DataFrame(text, columns=["metric", "n_pairs", "before", "after", "delta", "interval", "p", "detectable"])
    left_out = len(tests) - len(shown)
    note = quiet(_t("compare.panel.no_pairs", n=left_out), tag="p") if left_out else None
    return h("div", table(frame, headings="compare.column"), note)


def _delta(value: float) -> str:
    return score(value, signed=True)


def _change(name: str) -> tuple[str, str]:
    signs = {"fixed": ("✓ ", "wb-good"), "broken": ("✗ ", "wb-bad")}
    sign, kind = signs.get(name, ("", ""))
    return f"{sign}{change_title(name)}", kind


#: How columns of causes, changes and contrasts are shown.
_TITLES: Mapping[str, Callable[[Any], Any]] = {
    "cause_before": cause_title, "cause_after": cause_title, "change": change_title, "contrast": _delta,
}  # fmt: skip


def ledger_table(comparison: Comparison, rows: int = 30) -> Markup:
    """The flows that moved, with the first ids of each."""
    moved = comparison.ledger().query("cause_before != cause_after")
    shown = moved.head(rows)[["cause_before", "cause_after", "n", "sample_ids"]]
    return table(shown, headings="compare.column", formats=_TITLES, total=len(moved))


def slices_markup(comparison: Comparison) -> Markup:
    """Where samples broke more often than elsewhere, corrected for how many slices were tried; or that nothing stands out."""
    frame = comparison.slices()
    tried = f"{int(frame.attrs.get('n_tried', 0)):,}"
    if not len(frame):
        return quiet(_t("compare.panel.no_slices", tried=tried), tag="p")
    shown = frame[["rule", "n", "n_failing", "lift", "q_value"]].add_prefix("slice_")
    return table(shown, headings="compare.column", caption=_t("compare.panel.slices", tried=tried))


def listed_table(rows: pd.DataFrame, total: int, current: Any = None) -> Markup:
    """Samples of the list (see :func:`changed_samples`) as a table."""
    names = ["sample_id", "question", "change", "cause_before", "cause_after", "contrast"]
    shown = rows.assign(sample_id=rows.index)[names]
    return table(shown, headings="compare.column", formats=_TITLES, total=total, current=current)


def comparison_html(comparison: Comparison) -> Fragment:
    """The whole comparison as a static piece of HTML, without a session: words, pictures, tables."""
    flips = comparison.flips().set_index("sample_id")
    flips["question"] = comparison.after.evidence.samples["question"].reindex(flips.index)
    flipped = flips[flips["change"].isin(["broken", "fixed"])].sort_values("contrast", kind="stable")
    return fragment(
        *top_html(comparison), listed_table(flipped.head(50), len(flipped)), ledger_table(comparison),
        slices_markup(comparison), tests_table(comparison),
    )  # fmt: skip


def top_html(comparison: Comparison, differences: bool = True) -> list[Markup]:
    """Verdict, counts, both pictures with their captions (none without a matched sample), and the lines below."""
    pictures = []
    if len(comparison):
        pictures = [still(flow_figure(comparison), _t("compare.panel.flow_caption"))]
        if differences:
            pictures.append(still(differences_figure(comparison), _t("compare.panel.differences_caption")))
    return [headline(comparison), counts_markup(comparison), *pictures, lines_markup(comparison)]


# One sample in two runs, side by side, with the differences marked in answers, contexts and claims.


class Side:
    """One run as the parts of a card need it: single samples, their rows of every frame, thresholds."""

    def __init__(self, evaluation: Any) -> None:
        self.evaluation = evaluation
        self.thresholds = evaluation.thresholds
        self.slices = Slices(evaluation)


def pair_html(comparison: Comparison, sides: tuple[Side, Side], sample_id: str) -> Markup:
    """One sample in both runs, side by side, with the differences marked in answers, contexts and claims."""
    rows = [side.slices.sample(sample_id) for side in sides]
    flip = comparison.flips(comparison.pairing.ids.get_indexer([sample_id])).iloc[0]
    sign, kind = {"fixed": ("✓ ", "wb-pass"), "broken": ("✗ ", "wb-fail")}.get(flip["change"], ("", ""))
    causes = f"{cause_title(flip['cause_before'])} → {cause_title(flip['cause_after'])}"
    outcome = h("span", f"{sign}{change_title(flip['change'])} ", h("span", causes, cls="wb-light"), cls=f"wb-cause {kind}")
    columns = []
    for place, (name, side) in enumerate(zip(("before", "after"), sides, strict=True)):
        found = explained(side.slices, sample_id)
        why = h("p", cause_mark(found), f" {found['evidence']}" if found.get("evidence") else None)
        columns.append(h("div", h("h4", f"{_t(f'compare.panel.{name}')} · {side.evaluation.name}"), why,
                         _answer(side, sample_id, rows, place), _contexts(side, sample_id, rows, place)))  # fmt: skip
    reference = none_if_missing(rows[1].get("reference")) or none_if_missing(rows[0].get("reference"))
    return h(
        "div", h("div", h("h3", marked(str(rows[1]["question"]), shown=600)), outcome, cls="wb-head"),
        _differences(sides, sample_id, flip), h("div", *columns, cls="wb-sides"),
        h("p", h("strong", _t("panels.card.reference"), " "), marked(str(reference))) if reference else None,
        _scores(comparison, sample_id), cls="wb-cardbody",
    )  # fmt: skip


def _answer(side: Side, sample_id: str, rows: Sequence[Mapping[str, Any]], place: int) -> Markup:
    """The answer with its claims marked, and what the other run has not underlined."""
    own, other = none_if_missing(rows[place].get("answer")), none_if_missing(rows[1 - place].get("answer"))
    if own is None:
        return h("p", quiet(_t("panels.card.no_answer"), tag="em"))
    claims, spans = side.slices.rows("claims", sample_id), side.slices.rows("spans", sample_id)
    marks = claim_marks(claims[claims["side"] == "answer"] if len(claims) else claims, spans)
    if isinstance(other, str) and other != own:
        marks += text_differences(own, other, "new" if place else "gone")
    return h("p", marked(own, marks))


def _contexts(side: Side, sample_id: str, rows: Sequence[Mapping[str, Any]], place: int) -> Markup:
    """The contexts in order: = in both, − only before, + only after, ~ the same id with another text."""
    contexts = rows[place].get("contexts")
    if not isinstance(contexts, list):
        return quiet(_t("panels.card.no_contexts"), tag="p")
    others = {_key(item): item["text"] for item in rows[1 - place].get("contexts") or []}
    facts = side.slices.rows("contexts", sample_id).set_index("rank")
    lines = []
    for rank, item in enumerate(contexts[:30], start=1):
        known = _key(item) in others
        altered = known and others[_key(item)] != item["text"]
        only = ("+", "wb-good") if place else ("−", "wb-bad")
        sign, kind = ("~", "wb-altered") if altered else ("=", "wb-quiet") if known else only
        marks = text_differences(item["text"], others[_key(item)], "new" if place else "gone") if altered else []
        name = document_name(item, facts.loc[rank] if rank in facts.index else {})
        head = h("summary", h("span", f"{sign} ", cls=kind), f"{rank} ", name)
        lines.append(h("details", head, h("div", marked(item["text"], marks), cls="wb-body")))
    return h("div", h("h4", _t("panels.card.contexts")), *(lines or [h("em", _t("panels.card.empty_contexts"))]))


def _key(item: Mapping[str, Any]) -> str:
    return str(none_if_missing(item.get("doc_id")) or item["text"])


def _differences(sides: tuple[Side, Side], sample_id: str, flip: Any) -> Markup:
    """In words: what is the same, which documents moved, which claims changed."""
    if flip["judge_noise"]:
        return h("p", "⚠ ", _t("compare.panel.noise"), cls="wb-note")
    small = Comparison(sides[0].slices.small(sample_id), sides[1].slices.small(sample_id))
    same = [name for name in ("answer", "contexts") if not flip[f"{name}_changed"]]
    lines: list[Any] = [_t(f"compare.panel.same_{'both' if len(same) == 2 else same[0]}")] if same else []
    lines += [_t("compare.panel.case_changed")] if flip["case_changed"] else []
    if flip["contexts_changed"] or flip["case_changed"]:
        lines += _rank_lines(small.rank_moves(), sample_id)
    lines += _claim_lines(small.claims(), sample_id)
    return h("ul", *(h("li", line) for line in lines)) if lines else h("span")


def _rank_lines(moves: pd.DataFrame, sample_id: str) -> list[Markup]:
    own = moves[(moves["sample_id"] == sample_id) & moves["move"].isin(["gained", "lost", "up", "down"])]
    lines = []
    for move in own.itertuples():
        ranks = [_t("panels.card.not_retrieved") if rank != rank else f"{rank:.0f}"
                 for rank in (move.rank_before, move.rank_after)]  # fmt: skip
        kind = "wb-good" if move.move in ("gained", "up") else "wb-bad"
        lines.append(join([h("span", f"★ {move.doc_id}", cls="wb-expected"), " ", h("span", " → ".join(ranks), cls=kind)]))
    return lines


def _claim_lines(claims: pd.DataFrame, sample_id: str) -> list[Markup]:
    own = claims[(claims["sample_id"] == sample_id) & (claims["change"] != "kept")]
    lines = []
    for claim in own.head(8).itertuples():
        texts = [excerpt(text, 90) for text in (claim.text_before, claim.text_after) if isinstance(text, str)]
        verdicts = [verdict_title(v) for v in (claim.verdict_before, claim.verdict_after) if isinstance(v, str)]
        said = join(["“", join(texts if claim.change != "verdict" else texts[:1], "” → “"), "”"])
        bad = h("span", " ✗ ", _t("compare.panel.newly_unsupported"), cls="wb-bad") if claim.newly_unsupported else ""
        moved = quiet(" ", " → ".join(dict.fromkeys(verdicts)))
        lines.append(join([_t(f"compare.claim.{claim.change}"), " ", said, moved, bad]))
    return lines


def _scores(comparison: Comparison, sample_id: str) -> Markup | None:
    """The scores that moved, before → after."""
    pairing, chips = comparison.pairing, []
    place = int(pairing.ids.get_loc(sample_id))
    for name, metric in comparison.metrics.items():
        first = float(comparison.before.metric(name).values[pairing.left[place]])
        second = float(comparison.after.metric(name).values[pairing.right[place]])
        if numbers.score(first) == numbers.score(second):
            continue
        gain = 0.0 if metric.higher_is_better is None else (second - first) * (1 if metric.higher_is_better else -1)
        moved = h("strong", f"{numbers.score(first)} → {numbers.score(second)}", cls=gain_class(gain))
        chips.append(h("span", f"{metric_title(name)} ", moved, cls="wb-chip"))
    return h("p", quiet(_t("panels.card.scores"), " "), *chips) if chips else None


# The panel, and its row that freezes thresholds into a rules file and says whether the run may ship.


class GateRow(W.VBox):
    """A rules file, a button that freezes the session's thresholds into it, and one that checks the run against it.

    Parameters
    ----------
    panel
        The panel that it stands in.
    gate
        ``freeze(path, thresholds)`` and ``check(evaluation, path, baseline)``, what the command line uses as well; without
        it the row is not shown.
    """

    def __init__(self, panel: Compare, gate: Any) -> None:
        self._panel, self._gate = panel, gate
        self.rules = text_box(_t("compare.gate.file"), "gate.toml")
        self.freeze = button(_t("compare.gate.freeze"), panel.guarded(self._freeze, "freeze"), "wb-freeze")
        self.check = button(_t("compare.gate.check"), panel.guarded(self._check, "check"), "wb-gate")
        self.result = markup(None, "wb-gate-result")
        super().__init__([row(self.rules, self.freeze, self.check), self.result], layout=W.Layout(width="100%"))
        display(self, gate is not None)

    def _freeze(self) -> None:
        path = self._gate.freeze(self.rules.value, self._panel.session.thresholds)
        show(self.result, h("p", _t("compare.gate.frozen", path=path), cls="wb-note"))

    def _check(self) -> None:
        """The verdict of the rules file, the same as the command line gives."""
        if not Path(self.rules.value).is_file():
            raise InputError(_t("compare.gate.absent", path=self.rules.value))
        result = self._gate.check(self._panel.session.evaluation, self.rules.value, self._panel.baseline)
        lines = [h("p", line) for line in result.words()[:-1]]
        kind = "wb-good" if result.passed else "wb-bad"
        show(self.result, h("div", h("p", result.verdict, cls=kind), *lines, cls="wb-note"))


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
    ahead = True

    def __init__(self, session: Session, before: Any = None, gate: Any = None) -> None:
        super().__init__(session)
        self._runs = found_runs(session, before)
        self._own = free_name(session.evaluation.name, self._runs)
        self._opened: dict[str, Any] = {}
        self._comparison: Comparison | None = None
        self._sides: tuple[Side, Side] | None = None
        self.gate = GateRow(self, gate)
        self.before = dropdown(_t("compare.panel.before"), [], None)
        self.after = dropdown(_t("compare.panel.after"), [], None)
        self._offer_runs(next(iter(self._runs), None))
        self.head, self.lines, self.tests_box, self.empty = (markup() for _ in range(4))
        self.cut = cut_slider(_t("compare.panel.support"), session.thresholds.support)
        self.chart = Picture(guarded=self.guarded)
        self.picture.clicked = self._click
        self.by_metric = W.ToggleButton(description=_t("compare.panel.by_metric"), layout=W.Layout(width="auto"))
        self.filters = FilterBar(self)
        self.shown = dropdown(_t("compare.panel.show"), named("compare.shown.", SHOWN), "flipped")
        self.cause = dropdown(_t("compare.panel.cause"), [(_t("panels.filters.any"), ANY)], ANY, "230px")
        self.series = SeriesOfRuns(self, {**self._runs, self._own: session.evaluation}, self._use_pair)
        self.on(self.before, lambda _: self._follow(frozenset(("thresholds", "filter"))))
        self.on(self.after, self._use)
        self.on(self.cut, lambda value: session.set_thresholds(support=round(float(value), 6)))
        self.on(self.by_metric, lambda _: self._draw_metrics())
        for widget in (self.shown, self.cause):
            self.on(widget, lambda _: self._list())
        title = {name: _t(f"compare.column.{name}") for name in ("change", "cause_before", "cause_after", "contrast")}
        split = self.beside(
            id_column(), Column("change", title["change"], "short", _change),
            cause_column("cause_before", title["cause_before"]), cause_column("cause_after", title["cause_after"]),
            Column("contrast", title["contrast"], "number", _delta), question_column(),
        )  # fmt: skip
        split.add_class("wb-wide")
        self.both = W.VBox([
            self.head, row(self.cut, self.count), self.filters, self.picture, self.bar, split, self.lines, row(self.by_metric),
            self.chart, self.tests_box,
        ])  # fmt: skip
        #: Two of the runs, and all of them; what is clicked in the series is answered on one screen.
        self.tabs = W.Tab([self.both, self.series], selected_index=int(len(self._runs) > 1))
        self.tabs.titles = (_t("compare.panel.tab_pair"), _t("compare.panel.tab_series", n=len(self._runs) + 1))
        self.tabs.add_class("wb-tabs")
        choices = row(self.before, self.after, self.shown, self.cause)
        self.compose(choices, self.empty, self.tabs, self.gate)
        self.guarded(self.series.begin, "series")()
        self.guarded(self.begin, "start")()

    # The two runs.

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
        names = [(name[:60], name) for name in self._runs]
        with self.quietly():
            self.before.options = names or [(_t("compare.panel.none"), None)]
            self.before.value = before
            self.after.options = [(self._own[:60], self._own), *names]
            self.after.value = self._own

    def _use(self, name: str) -> None:
        """Look at another run as the one after; the one looked at so far stays in the list."""
        if name == self._own:
            return
        chosen, before = self._open(name), self.before.value
        previous, self._own = self._own, name
        self._runs = {previous: self.session.evaluation, **{key: run for key, run in self._runs.items() if key != name}}
        self._opened.pop(previous, None)
        self._offer_runs(previous if before == name else before)
        self.session.use(chosen)

    def _use_pair(self, before: str, after: str) -> None:
        """Compare two runs of the series."""
        if after != self._own:
            self.after.value = after
        self.before.value = before
        self.tabs.selected_index = 0

    def _follow(self, names: frozenset[str]) -> None:
        if "thresholds" in names:
            self._put_together()
        if self._comparison is not None:
            super()._follow(names)

    def _put_together(self) -> None:
        """Compare the chosen runs under the thresholds in force, and show what does not depend on the list."""
        name = self.before.value
        display(self.tabs, name is not None)
        display(self.empty, name is None)
        if name is None:
            show(self.empty, empty(_t("compare.panel.only_one")))
            return
        after = self.session.evaluation
        self._comparison = found = compared(self.run(name), after, like=self._comparison)
        # What a moved slider is watched for comes first: the page shows each part as it arrives.
        show(self.count, counts_markup(found))
        if len(found):
            self.picture.draw(lambda: flow_figure(found, "screen"), _t("compare.panel.flow_caption"))
        self._sides = Side(found.before), Side(after)
        with self.quietly():
            self.cut.value = self.session.thresholds.support
            options = [(f"{cause_title(cause)} ({n['before']} → {n['after']})", str(cause))
                       for cause, n in found.causes().iterrows()]  # fmt: skip
            kept = self.cause.value if self.cause.value in [cause for _, cause in options] else ANY
            self.cause.options = [(_t("panels.filters.any"), ANY), *options]
            self.cause.value = kept
        show(self.head, headline(found))
        for widget in (self.picture, self.lines, self.by_metric):
            display(widget, len(found) > 0)
        self._draw_metrics()
        if len(found):
            show(self.lines, lines_markup(found))

    def _draw_metrics(self) -> None:
        """The differences by metric, when asked for: their intervals are what takes longest under a slider."""
        comparison = self._comparison
        shown = self.by_metric.value and comparison is not None and len(comparison) > 0
        display(self.chart, shown)
        display(self.tests_box, shown)
        if comparison is None or not shown:
            return
        self.chart.draw(lambda: differences_figure(comparison, "screen"), _t("compare.panel.differences_caption"))
        tests = h("details", h("summary", _t("compare.panel.all_tests")), tests_table(comparison))
        show(self.tests_box, join([slices_markup(comparison), tests]))

    # The list and the card.

    def _refresh(self) -> None:
        self._list()

    def _list(self) -> None:
        if self._comparison is not None:
            cause = self.cause.value or None
            self.list_samples(changed_samples(self.session, self._comparison, shown=self.shown.value, cause=cause))

    def _click(self, key: Any) -> None:
        """A band lists the samples that went that way, the end of one those of that cause."""
        assert self._comparison is not None
        ledger = self._comparison.ledger()
        chosen = np.ones(len(ledger), dtype=bool)
        for side, cause in key.items():
            chosen &= (ledger[f"cause_{side}"] == cause).to_numpy()
        ids = [name for own in ledger.loc[chosen, "sample_ids"] for name in own]
        label = " → ".join(cause_title(key[side]) if side in key else "…" for side in ("before", "after"))
        with self.quietly():
            self.shown.value, self.cause.value = "all", ANY
        self.session.show(ids, label)

    def _empty_words(self) -> str:
        filtered = self.session.filter.words()
        what = _t(f"compare.shown.{self.shown.value}")
        return _t("compare.panel.empty_filter" if filtered else "compare.panel.empty", shown=what, filter=filtered)

    def body(self, sample_id: str) -> Markup:
        """One sample in both runs; words when the other run has it not."""
        assert self._comparison is not None and self._sides is not None
        if sample_id not in self._comparison.pairing.ids:
            return empty(_t("compare.panel.unmatched", id=sample_id))
        return pair_html(self._comparison, self._sides, sample_id)

    # More than two runs.

    def runs_table(self, metrics: Sequence[str] | None = None) -> pd.DataFrame:
        """All runs of the choice and the session's own, see :func:`workbench.diagnosis.comparison.runs_table`.

        Raises
        ------
        InputError
            When there is only one.
        """
        own = self.session.evaluation
        return runs_table([*map(self.run, self._runs), own], [*self._runs, own.name], metrics=metrics)

    # Handing over.

    def pin(self) -> None:
        """Keep what is shown as a finding."""
        if self._comparison is None:
            return
        comparison, passing = self._comparison, self._comparison.passing
        known = passing["n_pairs"] > 0
        title = comparison.verdict + (f" ({words})" if (words := self.session.filter.words()) else "")
        self.card.keep(
            title, n_total=len(comparison), runs=(comparison.before.name, comparison.after.name),
            value=passing["delta"] if known else None, interval=(passing["low"], passing["high"]) if known else None,
        )  # fmt: skip

    def _snippet(self) -> str:
        assert self._comparison is not None
        before = str(self._comparison.before.path or self._comparison.before.name)
        cause = [f"panel.cause.value = {self.cause.value!r}"] if self.cause.value else []
        return self.script(f"panel = wb.panels.compare(session, before={before!r})",
                           f"panel.shown.value = {self.shown.value!r}", *cause, "panel.table()")  # fmt: skip

    def table(self) -> pd.DataFrame:
        """The listed samples, see :func:`changed_samples`; empty with one run only."""
        import pandas as pd

        if self._shown is None:
            return pd.DataFrame(columns=list(COLUMNS), index=pd.Index([], name="sample_id"))
        return self._shown.copy()

    def tests(self) -> pd.DataFrame:
        """The paired tests of the two runs, see :meth:`Comparison.tests`; empty with one run only."""
        import pandas as pd

        if self._comparison is None:
            return pd.DataFrame(columns=list(TESTS))
        return self._comparison.tests()

    def figure(self) -> Figure | None:
        """The flow of causes, dark on white; None with one run only."""
        return None if self._comparison is None or not len(self._comparison) else flow_figure(self._comparison)

    def page(self) -> Fragment:
        """:meth:`html`, of many samples without slices and tests by metric, which take longer than everything else."""
        return self.html(tests=len(self._comparison or ()) <= TESTED_AT_ONCE)

    def html(self, rows: int = 15, tests: bool = True) -> Fragment:
        """Verdict, counts, both pictures, the tests, the first ``rows`` samples and the selected one side by side."""
        comparison = self._comparison
        if comparison is None:
            return fragment(empty(_t("compare.panel.only_one")))
        listed = self.table()
        found = self.series.history
        return fragment(
            *(history_parts(found) if found is not None and len(found) > 2 else ()), *top_html(comparison, tests),
            listed_table(listed.head(rows), len(listed), self.session.selection), self.still_card(),
            slices_markup(comparison) if tests and len(comparison) else None, tests_table(comparison) if tests else None,
        )  # fmt: skip
