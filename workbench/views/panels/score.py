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

from workbench.errors import CancelledError, InputError, WorkbenchError
from workbench.evidence.resolve import generator_of, language_model, tell_generator
from workbench.language import listed
from workbench.language import text as _t
from workbench.views import plots
from workbench.views.filtering import records
from workbench.views.html import Fragment, fragment, h, join, safe, table
from workbench.views.widgets import Panel, Picture, Progress, Work, button, display, dropdown, markup, row, show
from workbench.views.wording import interval_text, metric_reading, metric_title, rate_text, score_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from workbench.data.schema import SampleSet
    from workbench.evidence.judge import Judge
    from workbench.views.session import Session


# ------------------------------------------------------------------------------
# Panel 01, the judge: which one, what it would cost, how much it may spend, how its samples ended.
#
# The address and the key of a language model come from the environment alone: no widget asks for them or shows them.


#: Judge in the list → key of its text.
JUDGES = {
    "offline": "panels.score.judge_offline", "none": "panels.score.judge_none", "llm": "panels.score.judge_llm",
    "offline+llm": "judging.judge_cascade",
}  # fmt: skip
WITH_MODEL = ("llm", "offline+llm")
BOUNDS = ("calls", "tokens", "cost")
#: Sample ids that a row of the table of outcomes names.
SHOWN_IDS = 8
_LABEL = {"description_width": "initial"}


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

        Raises
        ------
        InputError
            Without the name of a model, or with a budget that cannot be kept.
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
        self.model = W.Text(description=_t("panels.score.model"), placeholder=_t("judging.model_hint"),
                            layout=W.Layout(width="240px"))  # fmt: skip
        self.limit = W.BoundedIntText(value=0, min=0, max=10**7, description=_t("judging.limit"),
                                      layout=W.Layout(width="200px"), style=_LABEL)  # fmt: skip
        self.budget = W.BoundedFloatText(value=0, min=0, max=1e12, description=_t("judging.budget"),
                                         layout=W.Layout(width="210px"), style=_LABEL)  # fmt: skip
        self.bound = dropdown("", [(_t(f"judging.{name}"), name) for name in BOUNDS], "calls", width="110px")
        self.generator = W.Text(description=_t("judging.generator"), placeholder=_t("judging.generator_hint"),
                                layout=W.Layout(width="300px"), style=_LABEL)  # fmt: skip
        self.spending = row(self.limit, self.budget, self.bound, self.generator)
        self.note = markup()
        self._plan: Any = None
        super().__init__([self.spending, self.note], layout=W.Layout(width="100%"))
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

    def warn(self, warnings: list[str]) -> None:
        """Say what the judge warns of, below the plan if there is one."""
        self.say(self._plan, warnings)

    def say(self, plan: Any, warnings: list[str] | None = None) -> None:
        """Where address and key come from, then the plan and what the judge warns of."""
        self._plan = plan
        state = _t("judging.key_set" if os.environ.get("OPENAI_API_KEY") else "judging.key_missing")
        lines = [h("p", _t("judging.environment", state=state), cls="wb-quiet")]
        lines += [] if plan is None else [h("p", line) for line in plan.text().splitlines()]
        lines += [h("p", f"⚠ {warning}", cls="wb-note") for warning in warnings or ()]
        show(self.note, join(lines))


def planned(wanted: Wanted, samples: SampleSet) -> tuple[Any, list[str]]:
    """The plan of judging, and what the judge warns of; nothing is sent.

    Raises
    ------
    InputError
        As :meth:`Wanted.judge` does.
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
        return join([])
    spent = model.spending.to_dict()
    figures = {name: f"{spent[name]:,}" for name in ("calls", "sent", "received")}
    lines = [h("p", _t("judging.spent", **figures, cost=_cost(spent["cost"])))]
    if cascade := manifest.get("cascade"):
        lines.append(h("p", _t(
            "judging.saved", asked=cascade["n_asked"], samples=cascade["n_samples"], saved=cascade["calls_saved"],
            full=cascade["calls_full"], disagreed=cascade["n_disagreed"], compared=cascade["n_compared"],
        )))  # fmt: skip
    frame = model.outcomes.frame()
    if len(frame):
        shown = frame.assign(sample_ids=[_named(ids) for ids in frame["sample_ids"]])
        shown = shown[["meaning", "n", "sample_ids", "outcome"]]
        headings = {name: _t(f"judging.column.{name}") for name in shown.columns}
        lines += [h("p", _t("judging.outcomes"), cls="wb-quiet"), table(shown, headings=headings)]
    return join(lines)


def _named(ids: list[str]) -> str:
    more = len(ids) - SHOWN_IDS
    words = ", ".join(ids[:SHOWN_IDS])
    return words if more <= 0 else f"{words} {_t('judging.more', n=more)}"


def to_retry(judge: Any) -> int:
    """Samples that ended without a whole judgement."""
    model = language_model(judge)
    return 0 if model is None else len(model.outcomes.ids())


# ------------------------------------------------------------------------------


COUNTS = ("n_ok", "n_not_applicable", "n_undefined", "n_error", "n_skipped", "n_total")
#: An interval at least this wide is pointed out.
WIDE = 0.3


def score_table(session: Session) -> pd.DataFrame:
    """The summary of the session's evaluation: index ``metric``, as ``Evaluation.summary``; metrics without any
    applicable sample come last."""
    summary: pd.DataFrame = session.evaluation.summary()
    empty = (summary["n_not_applicable"] + summary["n_skipped"]) == summary["n_total"]
    return summary.loc[[*summary.index[~empty], *summary.index[empty]]]


def score_figure(summary: pd.DataFrame, *, theme: str = "print") -> Figure:
    """Means in [0, 1] with their intervals and targets."""
    shown = summary[(summary["n_ok"] > 0) & summary["mean"].between(0, 1)]
    names = [metric_title(str(name)) for name in shown.index]
    return plots.intervals(names, shown["mean"], shown["low"], shown["high"], targets=shown["target"],
                           title=_t("panels.score.figure_title", n=len(shown)), theme=theme)  # fmt: skip


def score_html(session: Session, summary: pd.DataFrame) -> Markup:
    """The table as a reader wants it: mean, interval, target met or missed, all states, spread."""
    shown = summary[summary["n_ok"] > 0]
    rows = {
        "metric": [h("span", metric_title(str(name)), title=metric_reading(str(name))) for name in shown.index],
        "mean": [h("strong", score_text(value)) for value in shown["mean"]],
        "interval": [h("span", interval_text(a, b), cls="wb-light")
                     for a, b in zip(shown["low"], shown["high"], strict=True)],
        "target": [_target(line) for line in records(shown)],
        **{name: shown[name].to_numpy() for name in COUNTS},
        "spread": [plots.spark(session.scores[name]) for name in shown.index],
    }  # fmt: skip
    import pandas as pd

    headings = {name: _t(f"panels.columns.{name}") for name in rows}
    formats: Mapping[str, Callable[[Any], Any]] = dict.fromkeys(
        ("metric", "mean", "interval", "target", "spread"), safe
    )
    return join([table(pd.DataFrame(rows, dtype=object), headings=headings, formats=formats), _nothing(summary)])


def _target(line: Any) -> Markup:
    if line.target is None or line.target != line.target:
        return safe("–")
    beyond = line.attainable == line.attainable and line.target > line.attainable
    words = f" ({_t('panels.score.attainable', value=score_text(line.attainable))})" if beyond else ""
    met = line.meets_target
    sign = "" if met is None else " ✓" if met else " ✗"
    return h("span", score_text(line.target), words, h("span", sign, cls="wb-good" if met else "wb-bad"))


def _nothing(summary: pd.DataFrame) -> Markup | None:
    """Metrics without a single score, named with what they lack."""
    none = summary[summary["n_ok"] == 0]
    if not len(none):
        return None
    lines = [
        h("p", metric_title(str(name)), h("span", f" – {_lack(line)}", cls="wb-quiet"))
        for name, line in none.iterrows()
    ]
    return h("details", h("summary", _t("panels.score.nothing", n=len(none)), cls="wb-quiet"), *lines)


def _lack(line: Any) -> str:
    counts = [(int(line[name]), name) for name in COUNTS[1:-1]]
    n, name = max(counts)
    return f"{_t('panels.columns.' + name)} {n}"


def reading(summary: pd.DataFrame) -> list[str]:
    """Sentences on how to read the table: the verdict, the targets, the interval that is too wide, errors."""
    rows = {str(name): line for name, line in summary.to_dict("index").items()}
    lines = [_end_to_end(rows), _targets(rows), _widest(rows)]
    if errors := sum(int(line["n_error"]) for line in rows.values()):
        lines.append(_t("panels.score.errors", n=errors))
    return [line for line in lines if line]


def _end_to_end(rows: Mapping[str, Any]) -> str:
    own = rows.get("end_to_end_correct")
    if own is None or not own["n_ok"]:
        return ""
    low, high = rate_text(own["low"]), rate_text(own["high"])
    return _t("panels.score.end_to_end", rate=rate_text(own["mean"]), low=low, high=high, n=int(own["n_ok"]))


def _targets(rows: Mapping[str, Any]) -> str:
    judged = {name: bool(line["meets_target"]) for name, line in rows.items() if line["meets_target"] is not None}
    missed = [metric_title(name) for name, met in judged.items() if not met]
    if not judged:
        return ""
    key = "targets" if missed else "targets_all"
    return _t(f"panels.score.{key}", met=len(judged) - len(missed), n=len(judged), missed=listed(missed))


def _widest(rows: Mapping[str, Any]) -> str:
    """A warning about the widest interval of a rate, when it is wide."""
    widths = {name: line["high"] - line["low"] for name, line in rows.items() if 0 <= line["mean"] <= 1}
    widths = {name: width for name, width in widths.items() if width >= WIDE}
    if not widths:
        return ""
    name = max(widths, key=lambda key: widths[key])
    line = rows[name]
    low, high = score_text(line["low"]), score_text(line["high"])
    return _t("panels.score.wide", metric=metric_title(name), low=low, high=high, n=int(line["n_ok"]))


class _Nothing:
    """There is no judge, not even none."""


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
        self._work: Work | None = None
        self._wanted: Wanted | None = None
        # A limit gives the session fewer samples; the next scoring is of all again.
        self._source = session.evaluation
        self._judge: Any = None
        self._summary = score_table(session)
        own = [(session.evaluation.name, "")]
        self.data = dropdown(_t("panels.score.data"), [*own, *((n, str(p)) for n, p in (data or {}).items())], "")
        self.choice = JudgeChoice()
        self.judge, self.model = self.choice.judge, self.choice.model
        encoders = [(_t("panels.score.encoder_auto"), "auto"), (_t("panels.score.encoder_ngram"), "ngram")]
        self.encoder = dropdown(_t("panels.score.encoder"), encoders, "auto")
        self.k = W.BoundedIntText(value=session.thresholds.k, min=1, max=1000, description="k",
                                  layout=W.Layout(width="110px"), style={"description_width": "initial"})  # fmt: skip
        self.start = button(_t("panels.score.score"), self.guarded(self.score, "score"), button_style="primary")
        self.stop = button(_t("panels.score.cancel"), self.guarded(self.cancel, "cancel"), disabled=True)
        self.plan = button(_t("judging.plan"), self.guarded(self.show_plan, "plan"))
        self.retry = button("", self.guarded(self.score_again, "retry"))
        self.bar = W.IntProgress(min=0, max=1, layout=W.Layout(width="380px"))
        self.message, self.body, self.picture = markup(), markup(), Picture("wb-figure")
        self.outcomes = markup()
        self._progress_row = row(self.bar, self.message)
        self.on(self.judge, lambda _: self._follow_judge())
        self.on(self.k, lambda k: session.set_thresholds(k=int(k)))
        self._follow_judge()
        display(self.bar, False)
        display(self.retry, False)
        self.compose(row(self.data, self.judge, self.model, self.encoder, self.k, self.plan, self.start, self.stop),
                     self.choice, self._progress_row, self.outcomes, self.retry, self.body, self.picture)  # fmt: skip
        session.observe(self.guarded(self._follow, "session"))
        self._draw()

    # ------------------------------------------------------------ scoring

    def score(self) -> None:
        """Begin to score what is chosen, in a thread of its own."""
        self._score(self.choice.wanted(self.data.value, self.encoder.value))

    def score_again(self) -> None:
        """Score what was scored last: only samples that have no judgement yet are asked about, with a new budget."""
        if self._wanted is not None:
            self._score(self._wanted)

    def _score(self, wanted: Wanted) -> None:
        if self._working():
            return
        judge = self._said(wanted.judge)
        if isinstance(judge, _Nothing):
            return
        self._wanted, self._judge = wanted, judge
        options = {"judge": judge, "encoder": wanted.encoder, "thresholds": self.session.thresholds}
        function = self._evaluator(wanted)

        def run(**reports: Any) -> Any:
            """Evaluate, and save where asked to."""
            samples = wanted.of(self._samples(wanted))
            self.choice.warn(tell_generator(judge, generator_of(samples)))
            result = function(samples, **options, **reports)
            if self._out is not None:
                result.save(self._out)
            return result

        show(self.outcomes, join([]))
        display(self.retry, False)
        self._begin(Work(run, self._on_progress, self.guarded_end), _t("panels.score.starting"))

    def show_plan(self) -> None:
        """Say calls, tokens, time and price of judging what is chosen, without sending anything; in a thread of its own."""
        if self._working():
            return
        wanted = self.choice.wanted(self.data.value, self.encoder.value)

        def run(**_: Any) -> Any:
            return planned(wanted, self._samples(wanted))

        work = Work(run, self._on_progress, self.guarded(self._planned, "planned"))
        self._begin(work, _t("judging.planning"), stoppable=False)

    def _planned(self, found: Any, error: BaseException | None) -> None:
        self._busy(False)
        if error is not None:
            self._fail(error)
            return
        self.choice.say(*found)
        self._say("")

    def _samples(self, wanted: Wanted) -> Any:
        from workbench.views.panels.dataset import samples_of

        return samples_of(wanted.data) if wanted.data else self._source.samples

    def _said(self, action: Callable[[], Any]) -> Any:
        """What ``action`` returns; an error of use is said, and nothing returned."""
        try:
            return action()
        except WorkbenchError as error:
            self._fail(error)
            return _Nothing()

    def _working(self) -> bool:
        return self._work is not None and self._work.running

    def _begin(self, work: Work, words: str, *, stoppable: bool = True) -> None:
        self._busy(True)
        self.stop.disabled = not stoppable
        self._say(words)
        self._work = work
        work.start()

    def cancel(self) -> None:
        """Ask the scoring to stop; what was judged is in the cache."""
        if self._work is not None:
            self._work.cancel()
            if hasattr(self._judge, "cancel"):
                self._judge.cancel()
            self._say(_t("panels.score.cancelling"))

    def join(self, timeout: float | None = None) -> None:
        """Wait until the scoring has ended (for scripts)."""
        if self._work is not None:
            self._work.join(timeout)

    def _evaluator(self, wanted: Wanted) -> Callable[..., Any]:
        if self._evaluate is not None:
            return self._evaluate
        from workbench.api import open_evaluation

        # An evaluation that is kept may hold errors of a service: with a model it is made again, from the judgements kept.
        return partial(open_evaluation, again=True) if wanted.asks_model else open_evaluation

    def _busy(self, busy: bool) -> None:
        self.start.disabled = self.plan.disabled = self.retry.disabled = busy
        self.stop.disabled = not busy
        display(self.bar, busy)
        if busy:
            self.bar.value, self.bar.max = 0, 1

    def _follow_judge(self) -> None:
        self.choice.follow()
        display(self.plan, self.judge.value in WITH_MODEL)

    def _on_progress(self, progress: Progress) -> None:
        self.bar.max, self.bar.value = max(progress.total, 1), progress.done
        words = f"{progress.done:,} / {progress.total:,}"
        if progress.left is not None:
            words = _t("panels.score.progress", done=f"{progress.done:,}", total=f"{progress.total:,}",
                       rate=f"{progress.rate:.1f}", left=f"{progress.left:.0f}")  # fmt: skip
        cost = so_far(self._judge)
        self._say(f"{words} · {_t('panels.score.hits', n=f'{progress.cached:,}')}{f' · {cost}' if cost else ''}")

    def guarded_end(self, result: Any, error: BaseException | None) -> None:
        """Show the end of the scoring, in the thread that worked; a fault of ours is the red line."""
        self.guarded(self._end, "end")(result, error)

    def _end(self, result: Any, error: BaseException | None) -> None:
        self._busy(False)
        show(self.outcomes, ended(self._judge, getattr(result, "manifest", None) or {}))
        left = to_retry(self._judge)
        self.retry.description = _t("judging.retry", n=left)
        display(self.retry, left > 0)
        if error is not None:
            self._fail(error)
        else:
            self.session.use(result)
            words = _t("panels.score.finished", n=f"{len(self.session.samples):,}")
            self._say(f"{words} {_t('panels.score.saved', path=result.path) if result.path else ''}")

    def _fail(self, error: BaseException) -> None:
        """Say why the work ended; a fault of ours is raised as well."""
        if isinstance(error, CancelledError):
            self._say(_t("panels.score.cancelled"))
        elif isinstance(error, WorkbenchError):
            self._say(_t("panels.score.failed", reason=error))
        else:
            self._say(_t("panels.score.failed", reason=type(error).__name__))
            raise error

    def _say(self, words: str) -> None:
        show(self.message, h("span", words))

    # ------------------------------------------------------------ what is shown

    def _follow(self, names: frozenset[str]) -> None:
        if "thresholds" in names:
            self._summary = score_table(self.session)
            self.k.value = self.session.thresholds.k
            self._draw()

    def _draw(self) -> None:
        lines = [h("p", line, cls="wb-reading") for line in reading(self._summary)]
        states = h("p", _t("panels.score.states"), cls="wb-quiet")
        show(self.body, join([*lines, score_html(self.session, self._summary), states]))
        self.picture.draw(score_figure(self._summary, theme="screen"), _t("panels.score.caption"))

    def table(self) -> pd.DataFrame:
        """The summary, see :func:`score_table`."""
        return self._summary

    def figure(self) -> Figure:
        """Means with intervals and targets, dark on white."""
        return score_figure(self._summary)

    def html(self) -> Fragment:
        """Reading sentences, table and picture."""
        from workbench.views.html import picture

        lines: Sequence[Markup] = [h("p", line, cls="wb-reading") for line in reading(self._summary)]
        drawn = picture(plots.figure_png(self.figure()), _t("panels.score.caption"))
        return fragment(*lines, score_html(self.session, self._summary), drawn)
