"""Reference-free signs within one answer: contradictions with itself, hedging, absolutes, quantities that disagree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.scoring.metric import Metric, View
from workbench.scoring.scored import Floats, Scored, ratio, settle
from workbench.scoring.states import INPUT_ERROR, JUDGE_ERROR, NOT_APPLICABLE, SKIPPED, UNDEFINED

#: Hedges or absolutes per 100 tokens that count as full risk.
FULL_RATE = 10.0

METRICS = (
    Metric("self_consistency", "signs", "1 − contradicting pairs of claims / pairs", ("answer",),
           "no answer, or fewer than two claims"),
    Metric("hedging", "signs", "hedges per 100 tokens", ("answer",), "no answer", high=100.0, higher_is_better=None,
           default=False),
    Metric("overconfidence", "signs", "absolutes per 100 tokens", ("answer",), "no answer", high=100.0,
           higher_is_better=False, default=False),
    Metric("numeric_consistency", "signs", "1 − quantities given two values / quantities", ("answer",),
           "no answer, or no quantities", default=False),
    Metric("reference_free_risk", "signs",
           "mean of 1 − self_consistency, 1 − numeric_consistency, min(1, hedging / 10), min(1, overconfidence / 10) "
           "over those that have a value", ("answer",), "no answer", higher_is_better=False, default=False),
    Metric("sampled_consistency", "signs",
           "mean support of the answer's claims by its sampled_answers: judged, or shared word pairs",
           ("answer", "sampled_answers"), "no answer or no sentences", source="SelfCheckGPT (Manakul et al. 2023)",
           default=False),
)  # fmt: skip


def compute(view: View) -> dict[str, Scored]:
    """All metrics of this group."""
    facts, number = view.facts, view.facts.evidence.number
    fields = ((facts.unreadable("answer"), INPUT_ERROR), (~facts.answered, UNDEFINED))
    tokens = number("text_tokens")
    found = {
        "self_consistency": settle(
            _pairs(view), *fields, (facts.skipped("claims", "conflicts"), SKIPPED),
            (facts.failed("claims", "conflicts"), JUDGE_ERROR),
        ),
        "hedging": settle(100 * ratio(number("text_hedges"), tokens), *fields),
        "overconfidence": settle(100 * ratio(number("text_absolutes"), tokens), *fields),
        "numeric_consistency": settle(1 - ratio(number("text_quantities_disagreeing"), number("text_quantities")), *fields),
    }  # fmt: skip
    sampled = number("text_sampled_consistency")
    absent = np.array([not value for value in facts.evidence.nested("sampled_answers")], dtype=bool)
    return {
        **found,
        "reference_free_risk": settle(_risk(found), *fields),
        "sampled_consistency": settle(
            sampled, fields[0], (absent, NOT_APPLICABLE), fields[1], *_unjudged(view, np.isnan(sampled)),
        ),
    }


def _unjudged(view: View, without: NDArray[np.bool_]) -> tuple[tuple[NDArray[np.bool_], str], ...]:
    """Where a language model was asked about sampled answers in vain."""
    part = "sampled_consistency"
    return ((without & view.facts.skipped(part), SKIPPED), (without & view.facts.failed(part), JUDGE_ERROR))


def _pairs(view: View) -> Floats:
    n = np.bincount(view.answer.code, minlength=view.n).astype(float)
    clashes = np.array([
        sum(p >= view.t.contradiction for *_, p in pairs or ()) for pairs in view.facts.evidence.nested("judge_conflicts")
    ], dtype=float)  # fmt: skip
    return 1 - ratio(clashes, n * (n - 1) / 2)


def _risk(found: dict[str, Scored]) -> Floats:
    parts = np.stack(
        [
            1 - found["self_consistency"].values,
            1 - found["numeric_consistency"].values,
            np.minimum(1, found["hedging"].values / FULL_RATE),
            np.minimum(1, found["overconfidence"].values / FULL_RATE),
        ]
    )
    known = ~np.isnan(parts)
    return ratio(np.where(known, parts, 0).sum(axis=0), known.sum(axis=0))
