"""The part of panel 08 in which the judge is fitted to the user's own verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.diagnosis.fitting import (
    NEEDED,
    FittedJudge,
    fit,
    fitted_in,
    load_judge,
    refusal_words,
    right_rate,
    suggest,
)
from workbench.errors import InputError
from workbench.language import numbers
from workbench.language import text as _t
from workbench.views.html import Markup, h, join, quiet, table
from workbench.views.widgets import LABEL, button, display, markup, row, show, text_box

if TYPE_CHECKING:
    import pandas as pd

    from workbench.views.session import Session
    from workbench.views.widgets import Panel

#: How many samples are proposed at once.
PROPOSED = 20


def fitted_part(fitted: FittedJudge) -> Markup:
    """What was fitted and what it is worth: a table of the parts, and why others were refused."""
    frame = fitted.summary()
    frame = frame[frame["n"].notna()].reset_index()
    shown = frame[["part", "used", "n", "n_wrong", "before", "after", "told", "told_error"]].copy()
    shown["part"] = [_t(f"fitting.parts.{name}") for name in shown["part"]]
    shown["used"] = [_t(f"fitting.states.{'used' if used else 'refused'}") for used in shown["used"]]
    for name in ("n", "n_wrong"):
        shown[name] = shown[name].astype(int)
    for name in ("before", "after", "told", "told_error"):
        shown[name] = shown[name].map(numbers.percent)
    head, *lines = fitted.words()
    refused = [quiet(refusal_words(name, reason), tag="p") for name, reason in fitted.refused.items()]
    # The table says it all of a part that is used and has a band.
    told = [line for line, part in zip(lines, fitted.parts.values(), strict=False) if part.reason or math.isnan(part.doubt)]
    body = [table(shown, headings="fitting.columns"), *(h("p", line) for line in told)] if len(shown) else []
    return join([h("p", head, cls="wb-note"), *body, *refused])


def rate_words(evaluation: Any, labels: pd.DataFrame, fitted: FittedJudge | None) -> str:
    """The corrected rate of right answers in one sentence; empty with fewer than two labels."""
    found = right_rate(evaluation, labels, fitted)
    share, low, high = (float(found.loc["corrected", name]) for name in ("share", "low", "high"))
    if share != share:
        return ""
    return _t("fitting.rate_words", share=numbers.percent(share), n=int(found.loc["corrected", "n"]),
              interval=f" ({numbers.interval(low, high, rate=True)})", labels=int(found.loc["people", "n"]),
              naive=numbers.percent(found.loc["judge", "share"]))  # fmt: skip


def suggested(session: Session, labels: pd.DataFrame, fitted: FittedJudge | None = None) -> list[str]:
    """Ids of the samples whose verdict would teach most, in order; none under a fitted judge, which is not fitted again."""
    if fitted_in(session.evaluation.manifest) is not None:
        return []
    return [str(item) for item in suggest(session.evaluation, labels, PROPOSED, fitted).index]


class FittingBox(W.VBox):
    """Error rate, file and button; what was fitted; how many right answers there are with it.

    ``labels`` gives the verdicts in force; ``fitted`` is the fitted judge or None. One that was fitted before is read from
    the evaluation's session.
    """

    def __init__(self, panel: Panel, labels: Callable[[], pd.DataFrame], changed: Callable[[], None]) -> None:
        assert panel.session is not None
        self._session, self._labels, self._changed = panel.session, labels, changed
        self.fitted: FittedJudge | None = None
        self.rate = W.BoundedFloatText(value=0.1, min=0.01, max=0.5, step=0.01, description=_t("fitting.rate"),
                                       style=LABEL, layout=W.Layout(width="250px"))  # fmt: skip
        default = (self._session.folder or Path()) / "judge.toml"
        self.file = text_box(_t("fitting.file"), str(default), "460px")
        self.button = button(_t("fitting.button"), panel.guarded(self._fit, "fit"), "wb-fit")
        self.said = markup(None, "wb-fitted")
        self.intro = markup()
        controls = row(self.rate, self.button, self.file)
        super().__init__([self.intro, controls, self.said])
        if (known := fitted_in(self._session.evaluation.manifest)) is not None:
            display(controls, False)
            show(self.intro, h("p", _t("fitting.already"), cls="wb-note"))
            show(self.said, fitted_part(known))
            return
        if default.is_file():
            try:
                self._take(load_judge(default))
            except InputError as error:
                show(self.said, h("p", str(error), cls="wb-note"))
        self.count()

    def count(self) -> None:
        """Say how many verdicts there are."""
        if fitted_in(self._session.evaluation.manifest) is None:
            n = self._labels()["sample_id"].nunique()
            show(self.intro, h("p", _t("fitting.intro", n=n, needed=NEEDED)))

    def _fit(self) -> None:
        try:
            found = fit(self._session.evaluation, self._labels(), error_rate=float(self.rate.value), out=self.file.value)
        except InputError as error:
            show(self.said, h("p", _t("fitting.error", reason=error), cls="wb-note"))
            return
        self._take(found, h("p", _t("fitting.written", path=self.file.value), cls="wb-note"))
        self._changed()

    def _take(self, fitted: FittedJudge, *more: Markup) -> None:
        fitted.check(self._session.evaluation.manifest)
        self.fitted = fitted
        words = [rate_words(self._session.evaluation, self._labels(), fitted)]
        if unsure := self.unsure():
            words.append(_t("fitting.unsure", n=len(unsure), total=len(self._session.samples)))
        show(self.said, join([*more, fitted_part(fitted), *(h("p", line) for line in words if line)]))

    def unsure(self) -> list[str]:
        """Ids of the samples that are unsure for the fitted judge, the closest first."""
        if self.fitted is None or "verdict" not in self.fitted.parts:
            return []
        found = self.fitted.verdicts(self._session.evaluation)
        found = found[found["verdict"] == "unsure"]
        return [str(item) for item in (found["probability"] - 0.5).abs().sort_values(kind="stable").index]

    def suggested(self) -> list[str]:
        """Ids of the samples whose verdict would teach most, in order."""
        return suggested(self._session, self._labels(), self.fitted)
