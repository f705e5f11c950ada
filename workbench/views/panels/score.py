"""Panel 01: how good is it?"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as W
from markupsafe import Markup

from workbench.errors import InputError, WorkbenchError
from workbench.evidence.resolve import generator_of, language_model, tell_generator
from workbench.language import listed, numbers
from workbench.language import text as _t
from workbench.views import plots
from workbench.views.data_paths import remember
from workbench.views.html import Fragment, fragment, h, join, notebook_link, quiet, safe, table
from workbench.views.widgets import (
    LABEL,
    Background,
    Panel,
    Picture,
    button,
    display,
    dropdown,
    markup,
    named,
    row,
    show,
    still,
    text_box,
)
from workbench.views.wording import by_layer, direction, level_title, levels_words, metric_reading, metric_title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from workbench.data.schema import SampleSet
    from workbench.evidence.judge import Judge
    from workbench.views.session import Session
    from workbench.views.widgets import WorkProgress


# The judge: which one, what it would cost, how much it may spend, how its samples ended. The address and the key of a
# language model come from the environment alone: no widget asks for them or shows them.

#: Judge in the list → key of its text.
JUDGES = {
    "offline": "panels.score.judge_offline", "none": "panels.score.judge_none", "llm": "panels.score.judge_llm",
    "offline+llm": "judging.judge_cascade",
}  # fmt: skip
#: Notebooks that come next.
NEXT = ("02_low_scores", "06_compare_runs")
WITH_MODEL = ("llm", "offline+llm")
BOUNDS = ("calls", "tokens", "cost")
#: Sample ids that a row of the table of outcomes names.
SHOWN_IDS = 8


@dataclass(frozen=True)
class Wanted:
    """What was chosen when a button was pressed. ``limit`` and ``budget`` are 0 for none."""

    data: str
    kind: str
    model: str
    encoder: str
    limit: int
    budget: float
    bound: str
    generator: str

    @property
    def asks_model(self) -> bool:
        """Whether a language model is asked."""
        return self.kind in WITH_MODEL

    def judge(self) -> Judge | str | None:
        """A new judge with a budget of its own; the name of one that spends nothing, None for none.

        Raises ``InputError`` without the name of a model, or with a budget that cannot be kept.
        """
        if not self.asks_model:
            return None if self.kind == "none" else self.kind
        from workbench.evidence.cache import Cache
        from workbench.evidence.resolve import resolve_judge

        name = self.model.strip().removeprefix("llm:").strip()
        if not name:
            raise InputError(_t("judging.no_model"))
        number = self.budget if self.bound == "cost" else int(self.budget)
        return resolve_judge(
            f"{self.kind}:{name}", encoder=self.encoder, cache=Cache(), generator=self.generator.strip() or None,
            budget={self.bound: number} if self.budget else None,
        )  # fmt: skip

    def of(self, samples: SampleSet) -> SampleSet:
        """The samples, or for a language model as many as were asked for, spread over types and languages."""
        if not self.asks_model or not 0 < self.limit < len(samples):
            return samples
        from workbench.data.schema import stratified

        return dataclasses.replace(samples, frame=stratified(samples.frame, self.limit))


class JudgeChoice(W.VBox):
    """The widgets of a language model, hidden for other judges. ``judge`` and ``model`` stand in the panel's first row."""

    def __init__(self) -> None:
        self.judge = dropdown(_t("panels.score.judge"), [(_t(key), name) for name, key in JUDGES.items()], "offline")
        self.model = text_box(_t("panels.score.model"), width="240px", placeholder=_t("judging.model_hint"))
        self.limit = W.BoundedIntText(value=0, min=0, max=10**7, description=_t("judging.limit"),
                                      layout=W.Layout(width="200px"), style=LABEL)  # fmt: skip
        self.budget = W.BoundedFloatText(value=0, min=0, max=1e12, description=_t("judging.budget"),
                                         layout=W.Layout(width="210px"), style=LABEL)  # fmt: skip
        self.bound = dropdown("", named("judging.", BOUNDS), "calls", width="110px")
        self.generator = text_box(_t("judging.generator"), width="300px", placeholder=_t("judging.generator_hint"))
        self.note = markup()
        self._plan: Any = None
        super().__init__([row(self.limit, self.budget, self.bound, self.generator), self.note],
                         layout=W.Layout(width="100%"))  # fmt: skip
        self.follow()

    def follow(self) -> None:
        """Show what the chosen judge needs."""
        asks = self.judge.value in WITH_MODEL
        display(self.model, asks)
        display(self, asks)
        self.say(None)

    def wanted(self, data: str, encoder: str) -> Wanted:
        """What is chosen now."""
        return Wanted(data, self.judge.value, self.model.value, encoder, self.limit.value, self.budget.value,
                      self.bound.value, self.generator.value)  # fmt: skip

    def warn(self, warnings: Sequence[str]) -> None:
        """Say what the judge warns of, below the plan if there is one."""
        self.say(self._plan, warnings)

    def say(self, plan: Any, warnings: Sequence[str] = ()) -> None:
        """Where address and key come from, then the plan and what the judge warns of."""
        self._plan = plan
        state = _t("judging.key_set" if os.environ.get("OPENAI_API_KEY") else "judging.key_missing")
        lines = [quiet(_t("judging.environment", state=state), tag="p")]
        lines += [] if plan is None else [h("p", line) for line in plan.text().splitlines()]
        lines += [h("p", f"⚠ {warning}", cls="wb-note") for warning in warnings]
        show(self.note, join(lines))


def planned(wanted: Wanted, samples: SampleSet) -> tuple[Any, list[str]]:
    """The plan of judging, and what the judge warns of; nothing is sent.

    Raises ``InputError`` as :meth:`Wanted.judge` does.
    """
    from workbench.data.schema import iter_samples

    judge: Any = wanted.judge()
    warnings = tell_generator(judge, generator_of(samples))
    return judge.plan(list(iter_samples(wanted.of(samples).frame))), warnings


def so_far(judge: Any) -> str:
    """Calls and cost so far; empty for a judge that spends nothing."""
    model = language_model(judge)
    if model is None:
        return ""
    spent = model.spending
    return _t("judging.so_far", calls=f"{spent.calls:,}", cached=f"{spent.cached:,}", cost=_cost(spent.cost))


def _cost(dollars: float | None) -> str:
    return _t("judging.unknown_price") if dollars is None else f"${dollars:.4f}"


def ended(judge: Any, manifest: Mapping[str, Any]) -> Markup:
    """What was spent and saved, and the table of outcomes by cause."""
    model = language_model(judge)
    if model is None:
        return Markup()
    spent = model.spending.to_dict()
    figures = {name: f"{spent[name]:,}" for name in ("calls", "sent", "received")}
    lines = [h("p", _t("judging.spent", **figures, cost=_cost(spent["cost"])))]
    if cascade := manifest.get("cascade"):
        lines.append(h("p", _t(
            "judging.saved", asked=cascade["n_asked"], samples=cascade["n_samples"], saved=cascade["calls_saved"],
            full=cascade["calls_full"], disagreed=cascade["n_disagreed"], compared=cascade["n_compared"],
        )))  # fmt: skip
    frame = model.outcomes.frame()

    def some(ids: list[str]) -> str:
        more = f" {_t('judging.more', n=len(ids) - SHOWN_IDS)}" if len(ids) > SHOWN_IDS else ""
        return ", ".join(ids[:SHOWN_IDS]) + more

    if len(frame):
        shown = frame[["meaning", "n", "sample_ids", "outcome"]]
        lines.append(quiet(_t("judging.outcomes"), tag="p"))
        lines.append(table(shown, headings="judging.column", formats={"sample_ids": some}))
    return join(lines)


# The table, the picture and how to read them.

COUNTS = ("n_ok", "n_not_applicable", "n_undefined", "n_error", "n_skipped", "n_total")
#: An interval at least this wide is pointed out.
WIDE = 0.3


def score_table(session: Session) -> pd.DataFrame:
    """The summary of the session's evaluation: index ``metric``, as ``Evaluation.summary``; metrics without any
    applicable sample come last."""
    summary: pd.DataFrame = session.evaluation.summary(spread=True)
    empty = (summary["n_not_applicable"] + summary["n_skipped"]) == summary["n_total"]
    return summary.loc[[*summary.index[~empty], *summary.index[empty]]]


def score_figure(summary: pd.DataFrame, *, theme: str = "print") -> Figure:
    """Means in [0, 1] with their intervals and targets."""
    shown = summary[(summary["n_ok"] > 0) & summary["mean"].between(0, 1)]
    shown = shown.loc[[name for _, own in by_layer(str(name) for name in shown.index) for name in own]]
    names = [metric_title(str(name)) for name in shown.index]
    return plots.intervals(names, shown["mean"], shown["low"], shown["high"], targets=shown["target"],
                           title=_t("panels.score.figure_title", n=len(shown)), theme=theme)  # fmt: skip


def score_html(session: Session, summary: pd.DataFrame) -> Markup:
    """The table as a reader wants it, by layer: mean, interval, target met or missed, all states, spread."""
    groups = by_layer(str(name) for name in summary.index[summary["n_ok"] > 0])
    shown = summary.loc[[name for _, names in groups for name in names]]
    rows = {
        "layer": [h("span", title if at == 0 else "", cls="wb-name") for title, names in groups for at in range(len(names))],
        "metric": [h("span", f"{metric_title(str(name))} ", quiet(direction(str(name))), title=metric_reading(str(name)),
                     cls="wb-name")
                   for name in shown.index],
        "mean": [h("span", h("strong", numbers.score(line.mean)), quiet(" ", level_title(line.level)), cls="wb-name")
                 for line in shown.itertuples()],
        "interval": [h("span", numbers.interval(a, b), cls="wb-light")
                     for a, b in zip(shown["low"], shown["high"], strict=True)],
        "target": [_target(line) for line in shown.itertuples()],
        # States that no sample has take no column.
        **{name: shown[name].to_numpy() for name in COUNTS if shown[name].any()},
        "spread": [plots.spark(session.scores[name]) for name in shown.index],
    }  # fmt: skip
    import pandas as pd

    formats: Mapping[str, Callable[[Any], Any]] = dict.fromkeys(
        ("layer", "metric", "mean", "interval", "target", "spread"), safe
    )
    parts = [table(pd.DataFrame(rows, dtype=object), headings="panels.columns", formats=formats)]
    # Metrics without a single score, named with what they lack.
    none = summary[summary["n_ok"] == 0]
    lines = []
    for name, line in none.iterrows():
        n, lacking = max((int(line[name]), name) for name in COUNTS[1:-1])
        lines.append(h("p", metric_title(str(name)), quiet(f" – {_t(f'panels.columns.{lacking}')} {n}")))
    parts.append(quiet(levels_words(session.thresholds), tag="p"))
    if lines:
        parts.append(h("details", h("summary", _t("panels.score.nothing", n=len(none)), cls="wb-quiet"), *lines))
    return join(parts)


def _target(line: Any) -> Markup:
    if line.target is None or line.target != line.target:
        return safe("–")
    beyond = line.attainable == line.attainable and line.target > line.attainable
    words = f" ({_t('panels.score.attainable', value=numbers.score(line.attainable))})" if beyond else ""
    met = line.meets_target
    sign = "" if met is None else " ✓" if met else " ✗"
    return h("span", numbers.score(line.target), words, h("span", sign, cls="wb-good" if met else "wb-bad"))


def reading(summary: pd.DataFrame) -> list[str]:
    """Sentences on how to read the table: the verdict, the targets, the interval that is too wide, errors."""
    rows = {str(name): line for name, line in summary.to_dict("index").items()}
    lines = []
    own = rows.get("end_to_end_correct")
    if own is not None and own["n_ok"]:
        low, high = numbers.percent(own["low"]), numbers.percent(own["high"])
        lines.append(_t("panels.score.end_to_end", rate=numbers.percent(own["mean"]), low=low, high=high, n=int(own["n_ok"])))
    judged = {name: bool(line["meets_target"]) for name, line in rows.items() if line["meets_target"] is not None}
    if judged:
        missed = [metric_title(name) for name, met in judged.items() if not met]
        key = f"panels.score.{'targets' if missed else 'targets_all'}"
        lines.append(_t(key, met=len(judged) - len(missed), n=len(judged), missed=listed(missed)))
    widths = {name: line["high"] - line["low"] for name, line in rows.items() if 0 <= line["mean"] <= 1}
    widths = {name: width for name, width in widths.items() if width >= WIDE}
    if widths:
        name = max(widths, key=lambda key: widths[key])
        low, high = numbers.score(rows[name]["low"]), numbers.score(rows[name]["high"])
        n = int(rows[name]["n_ok"])
        lines.append(_t("panels.score.wide", metric=metric_title(name), low=low, high=high, n=n))
    if errors := sum(int(line["n_error"]) for line in rows.values()):
        lines.append(_t("panels.score.errors", n=errors))
    return lines


# The panel.


class Score(Panel):
    """Data, judge, encoder and k; score and cancel with progress; the table, the picture and how to read them.

    A language model as judge has a plan before anything is sent, a limit and a budget, and afterwards its outcomes by
    cause with a button that asks again about those without a judgement.

    Parameters
    ----------
    session
        Its evaluation is shown at once; scoring gives the session a new one.
    data
        Names and paths that can be chosen besides the session's own samples.
    evaluate
        ``evaluate(samples, judge=…, encoder=…, thresholds=…, progress=…, cancelled=…)`` → Evaluation; by default
        ``wb.open``, which keeps the result in the cache folder.
    out
        Folder to save a new evaluation to as well.
    """

    stem = "score"

    def __init__(self, session: Session, data: Mapping[str, str | Path] | None = None,
                 evaluate: Callable[..., Any] | None = None, out: str | Path | None = None) -> None:  # fmt: skip
        super().__init__(session)
        self.session: Session = session
        self._evaluate, self._out = evaluate, out
        self._wanted: Wanted | None = None
        # A limit gives the session fewer samples; the next scoring is of all again.
        self._source = session.evaluation
        self._judge: Any = None
        self._summary = score_table(session)
        sources = [(session.evaluation.name, ""), *((name, str(path)) for name, path in (data or {}).items())]
        self.data = dropdown(_t("panels.score.data"), sources, "")
        self.choice = JudgeChoice()
        self.judge, self.model = self.choice.judge, self.choice.model
        encoders = named("panels.score.encoder_", ("auto", "ngram"))
        self.encoder = dropdown(_t("panels.score.encoder"), encoders, "auto")
        self.k = W.BoundedIntText(value=session.thresholds.k, min=1, max=1000, description="k",
                                  layout=W.Layout(width="110px"), style=LABEL)  # fmt: skip
        self.start = button(_t("panels.score.score"), self.guarded(self.score, "score"), button_style="primary")
        self.plan = button(_t("judging.plan"), self.guarded(self.show_plan, "plan"))
        self.retry = button("", self.guarded(self.score_again, "retry"))
        self.use = button(_t("panels.score.use"), self.guarded(self._use, "use"))
        self.next = markup()
        display(self.use, False)
        self.work = Background(self, "panels.score", self._progress_words, on_busy=self._busy, on_cancel=self._cancelled)
        self.stop, self.message = self.work.cancel_button, self.work.message
        self.body, self.picture, self.outcomes = markup(), Picture("wb-figure", guarded=self.guarded), markup()
        self.on(self.judge, lambda _: self._follow_judge())
        self.on(self.k, lambda k: session.set_thresholds(k=int(k)))
        self._follow_judge()
        display(self.retry, False)
        self.compose(row(self.data, self.judge, self.model, self.encoder, self.k, self.plan, self.start),
                     self.choice, self.work, self.outcomes, self.retry, self.next, row(self.use), self.body,
                     self.picture)  # fmt: skip
        session.observe(self.guarded(self._follow, "session"))
        self._draw()

    # Scoring.

    def score(self) -> None:
        """Begin to score what is chosen, in a thread of its own."""
        self._score(self.choice.wanted(self.data.value, self.encoder.value))

    def score_again(self) -> None:
        """Score what was scored last: only samples that have no judgement yet are asked about, with a new budget."""
        if self._wanted is not None:
            self._score(self._wanted)

    def _score(self, wanted: Wanted) -> None:
        if self.work.running:
            return
        try:
            judge = wanted.judge()
        except WorkbenchError as error:
            self.work.say_failure(error)
            return
        self._wanted, self._judge = wanted, judge
        options = {"judge": judge, "encoder": wanted.encoder, "thresholds": self.session.thresholds}
        function = self._evaluator(wanted)

        def run(**reports: Any) -> Any:
            samples = wanted.of(self._samples(wanted))
            self.choice.warn(tell_generator(judge, generator_of(samples)))
            result = function(samples, **options, **reports)
            if self._out is not None:
                result.save(self._out)
            return result

        show(self.outcomes, Markup())
        display(self.retry, False)
        self.work.start(run, self._scored, failed=lambda _: self._tell_outcomes({}), words=_t("panels.score.starting"))

    def show_plan(self) -> None:
        """Say calls, tokens, time and price of judging what is chosen, without sending anything; in a thread of its own."""
        wanted = self.choice.wanted(self.data.value, self.encoder.value)
        if not self.work.running:
            self.work.start(lambda **_: planned(wanted, self._samples(wanted)), lambda found: self.choice.say(*found),
                            words=_t("judging.planning"), stoppable=False)  # fmt: skip

    def _samples(self, wanted: Wanted) -> Any:
        from workbench.views.panels.dataset import samples_of

        return samples_of(wanted.data) if wanted.data else self._source.samples

    def _cancelled(self) -> None:
        if hasattr(self._judge, "cancel"):
            self._judge.cancel()
        self.work.say(_t("panels.score.cancelling"))

    def _evaluator(self, wanted: Wanted) -> Callable[..., Any]:
        if self._evaluate is not None:
            return self._evaluate
        from workbench.api import open_evaluation

        # An evaluation that is kept may hold errors of a service: with a model it is made again, from the judgements kept.
        return partial(open_evaluation, again=True) if wanted.asks_model else open_evaluation

    def _busy(self, busy: bool) -> None:
        self.start.disabled = self.plan.disabled = self.retry.disabled = busy

    def _follow_judge(self) -> None:
        self.choice.follow()
        display(self.plan, self.judge.value in WITH_MODEL)

    def _progress_words(self, progress: WorkProgress) -> str:
        words = f"{progress.done:,} / {progress.total:,}"
        if progress.left is not None:
            words = _t("panels.score.progress", done=f"{progress.done:,}", total=f"{progress.total:,}",
                       rate=f"{progress.rate:.1f}", left=f"{progress.left:.0f}")  # fmt: skip
        cost = so_far(self._judge)
        return f"{words} · {_t('panels.score.hits', n=f'{progress.cached:,}')}{f' · {cost}' if cost else ''}"

    def _tell_outcomes(self, manifest: Mapping[str, Any]) -> None:
        show(self.outcomes, ended(self._judge, manifest))
        model = language_model(self._judge)
        left = 0 if model is None else len(model.outcomes.ids())
        self.retry.description = _t("judging.retry", n=left)
        display(self.retry, left > 0)

    def _scored(self, result: Any) -> None:
        self._tell_outcomes(getattr(result, "manifest", None) or {})
        self.session.use(result)
        words = _t("panels.score.finished", n=f"{len(self.session.samples):,}")
        self.work.say(f"{words} {_t('panels.score.saved', path=result.path) if result.path else ''}")
        links = join([notebook_link(name) for name in NEXT], " · ")
        show(self.next, h("p", _t("panels.score.next"), " ", links))
        display(self.use, result.path is not None)

    def _use(self) -> None:
        """Let the notebooks in this folder open what was scored, where their ``DATA`` is None."""
        remember(self.session.evaluation.path)
        display(self.use, False)
        self.work.say(_t("panels.dataset.chosen", path=self.session.evaluation.name))

    # What is shown.

    def _follow(self, names: frozenset[str]) -> None:
        if "thresholds" in names:
            self._summary = score_table(self.session)
            self.k.value = self.session.thresholds.k
            self._draw()

    def _draw(self) -> None:
        lines = [h("p", line, cls="wb-reading") for line in reading(self._summary)]
        states = quiet(_t("panels.score.states"), tag="p")
        show(self.body, join([*lines, score_html(self.session, self._summary), states]))
        self.picture.draw(lambda: score_figure(self._summary, theme="screen"), _t("panels.score.caption"))

    def table(self) -> pd.DataFrame:
        """The summary, see :func:`score_table`."""
        return self._summary

    def figure(self) -> Figure:
        """Means with intervals and targets, dark on white."""
        return score_figure(self._summary)

    def html(self) -> Fragment:
        """Reading sentences, table and picture."""
        lines = [h("p", line, cls="wb-reading") for line in reading(self._summary)]
        drawn = still(self.figure(), _t("panels.score.caption"))
        return fragment(*lines, score_html(self.session, self._summary), drawn)
