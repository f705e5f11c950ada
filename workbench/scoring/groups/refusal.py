"""Refusals against what should have happened, and leaks of other tenants' documents."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.scoring.scored import INPUT_ERROR, NOT_APPLICABLE, UNDEFINED, Mask, Scored, with_states
from workbench.scoring.view import Metric, View

PLACES = ("retrieved", "prompted", "cited", "answered")

_refusal = partial(Metric, group="refusal", layer="generation", read_from="texts", binary=True)
_leak = partial(Metric, group="permission", layer="access", read_from="ids and texts", high=float("inf"),
                higher_is_better=False)  # fmt: skip

METRICS = (
    _refusal("refused", "1 if the answer declines and makes no remaining claim that answers the question", ("answer",),
             "no answer", higher_is_better=None),
    _refusal("refusal_correct", "refused, where a refusal is expected", ("answer", "expect_refusal"), "no answer",
             in_report=13),
    _refusal("over_refusal", "1 if an answerable question was refused although its evidence was retrieved", ("answer",),
             "no answer", higher_is_better=False, in_report=14),
    *(_leak(f"leaks{place}", formula=f"distinct foreign documents {where}", needs=("tenant", "contexts"),
             in_report=0 if place else 15, in_overview=not place)
      for place, where in (("", "in any of the four places"), ("_retrieved", "among the contexts"),
                           ("_prompted", "among the prompted contexts"), ("_cited", "that the answer cites"),
                           ("_answered", "whose own words stand in the answer"))),
    _leak("must_not_retrieve_hits", "contexts that match must_not_retrieve", ("must_not_retrieve", "contexts"),
          default=False),
)  # fmt: skip


def compute(view: View) -> dict[str, Scored]:
    """All metrics of this group."""
    return {"refused": view.once(refused), **_outcomes(view), **leaks(view)}


def refused(view: View) -> Scored:
    """1 where the answer declines and makes no remaining claim that answers the question."""
    facts, (declines, residual) = view.facts, declining(view)
    values = ((declines >= view.t.refusal) & ~(residual >= 0.5)).astype(float)
    unreadable = (facts.unreadable("answer"), INPUT_ERROR)
    return with_states(np.where(np.isnan(declines), np.nan, values), unreadable, (~facts.answered, UNDEFINED))


def declining(view: View) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Probabilities that the answer declines, and that it answers all the same: of the judge, else from the texts."""
    number = view.facts.evidence.number
    judged = ((number(f"judge_{name}"), number(f"text_{name}")) for name in ("declines", "residual"))
    declines, residual = (np.where(np.isnan(own), read, own) for own, read in judged)
    return declines, residual


def answerable(view: View) -> NDArray[np.float64]:
    """1 answerable, 0 not, NaN unknown: not ``expect_refusal``, else whether anything is expected."""
    facts = view.facts
    content = facts.referenced | facts.judged | view.has_points
    return np.where(np.isnan(facts.expect_refusal), np.where(content, 1.0, np.nan), 1 - facts.expect_refusal)


def none_retrieved(view: View) -> Mask:
    """Something is to be retrieved and none of it is among the prompted contexts."""
    hits = np.bincount(view.facts.contexts.code, weights=view.expected & view.facts.contexts.prompted, minlength=view.n)
    return view.facts.judged & view.facts.recorded & (hits == 0)


def outcome(view: View) -> NDArray[np.object_]:
    """``right_refusal, wrong_refusal, missing_refusal, answered`` or None where it cannot be told."""
    declined, can = view.once(refused), view.once(answerable)
    yes = declined.values == 1
    no = declined.values == 0
    useless = none_retrieved(view)
    found = np.full(view.n, None, dtype=object)
    found[no & (can == 1)] = "answered"
    found[no & (can == 0)] = "missing_refusal"
    found[yes & (can == 1) & ~useless] = "wrong_refusal"
    found[yes & ((can == 0) | ((can == 1) & useless))] = "right_refusal"
    return found


def _outcomes(view: View) -> dict[str, Scored]:
    facts, results, declined = view.facts, view.once(outcome), view.once(refused)
    expected = facts.expect_refusal == 1
    unknown = np.array([result is None for result in results], dtype=bool) & declined.ok
    conditions = ((facts.unreadable("answer", "expect_refusal"), INPUT_ERROR),)
    silent = (~facts.answered, UNDEFINED)
    return {
        "refusal_correct": with_states(declined.values, *conditions, (~expected, NOT_APPLICABLE), silent),
        "over_refusal": with_states((results == "wrong_refusal").astype(float), *conditions,
                               (expected | unknown, NOT_APPLICABLE), silent),
    }  # fmt: skip


def leaks(view: View) -> dict[str, Scored]:
    """Counts of foreign documents in each place, and hits of ``must_not_retrieve``; no threshold changes them."""
    return view.facts.once("leaks", lambda: _leaks(view))


def _leaks(view: View) -> dict[str, Scored]:
    facts = view.facts
    found = facts.foreign
    conditions = (
        (facts.unreadable("tenant", "contexts"), INPUT_ERROR),
        (~facts.has_tenants | ~facts.recorded, NOT_APPLICABLE),
    )

    def counted(frame: pd.DataFrame) -> Scored:
        return with_states(np.bincount(frame["code"], minlength=view.n), *conditions)

    scores = {f"leaks_{place}": counted(found[found["place"] == place]) for place in PLACES}
    banned = facts.evidence.number("text_must_not_retrieve")
    return {
        "leaks": counted(found.drop_duplicates(["code", "doc"])),
        **scores,
        "must_not_retrieve_hits": with_states(
            banned, (facts.unreadable("must_not_retrieve"), INPUT_ERROR), (np.isnan(banned), NOT_APPLICABLE)
        ),
    }
