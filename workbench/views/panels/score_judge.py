"""Panel 01, the judge: which one, what it would cost, how much it may spend, how its samples ended.

The address and the key of a language model come from the environment alone: no widget asks for them or shows them.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ipywidgets as W
from markupsafe import Markup

from workbench.errors import InputError
from workbench.evidence.actuals import generator_of, language_model, tell_generator
from workbench.language import text as _t
from workbench.views.html import h, join, table
from workbench.views.widgets import display, dropdown, markup, row, show

if TYPE_CHECKING:
    from workbench.data.schema import SampleSet
    from workbench.evidence.judge import Judge

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
        from workbench.data.sampling import stratified

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
