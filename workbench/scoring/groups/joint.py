"""Metrics that join retrieval and generation: right end to end, support from the right documents, the oracle ladder."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from workbench.scoring.groups.answer import key_points
from workbench.scoring.groups.contexts import relevance_known
from workbench.scoring.groups.refusal import leaks, refused
from workbench.scoring.scored import (
    INPUT_ERROR,
    JUDGE_ERROR,
    NOT_APPLICABLE,
    OK,
    SKIPPED,
    UNDEFINED,
    Floats,
    Mask,
    Scored,
    count,
    ratio,
    with_states,
)
from workbench.scoring.view import CONTRADICTED, SUPPORTED, Metric, View

# ------------------------------------------------------------------------------
# Reference-free signs within one answer: contradictions with itself, hedging, absolutes, quantities that disagree.


#: Hedges or absolutes per 100 tokens that count as full risk.
FULL_RATE = 10.0
#: What ``reference_free_risk`` is made of.
RISK_PARTS = ("self_consistency", "numeric_consistency", "hedging", "overconfidence")

_sign = partial(Metric, group="signs", layer="generation")

SIGN_METRICS = (
    _sign("self_consistency", "1 − contradicting pairs of claims / pairs", ("answer",),
          "no answer, or fewer than two claims"),
    _sign("hedging", "hedges per 100 tokens", ("answer",), "no answer", high=100.0, higher_is_better=None, default=False,
          read_from="texts"),
    _sign("overconfidence", "absolutes per 100 tokens", ("answer",), "no answer", high=100.0, higher_is_better=False,
          default=False, read_from="texts"),
    _sign("numeric_consistency", "1 − quantities given two values / quantities", ("answer",), "no answer, or no quantities",
          default=False, read_from="texts"),
    _sign("reference_free_risk",
          "mean of 1 − self_consistency, 1 − numeric_consistency, min(1, hedging / 10), min(1, overconfidence / 10) "
           "over those that have a value", ("answer",), "no answer", higher_is_better=False, default=False),
    _sign("sampled_consistency", "mean support of the answer's claims by its sampled_answers: judged, or shared word pairs",
          ("answer", "sampled_answers"), "no answer or no sentences", source="SelfCheckGPT (Manakul et al. 2023)",
          default=False, read_from="texts"),
)  # fmt: skip


def compute_signs(view: View) -> dict[str, Scored]:
    """All metrics of this group."""
    facts, number = view.facts, view.facts.evidence.number
    fields = view.fields("answer")
    tokens = number("text_tokens")
    found = {
        "self_consistency": with_states(
            _pairs(view), *fields, *view.judged(np.zeros(view.n), "claims", "conflicts")
        ),
        "hedging": with_states(100 * ratio(number("text_hedges"), tokens), *fields),
        "overconfidence": with_states(100 * ratio(number("text_absolutes"), tokens), *fields),
        "numeric_consistency": with_states(
            1 - ratio(number("text_quantities_disagreeing"), number("text_quantities")), *fields
        ),
    }  # fmt: skip
    sampled = number("text_sampled_consistency")
    absent = np.array([not value for value in facts.evidence.nested("sampled_answers")], dtype=bool)
    return {
        **found,
        "reference_free_risk": with_states(_risk(found), *fields),
        "sampled_consistency": with_states(
            sampled, fields[0], (absent, NOT_APPLICABLE), fields[1], *_no_sign_read(view, np.isnan(sampled)),
        ),
    }


def _no_sign_read(view: View, without: NDArray[np.bool_]) -> tuple[tuple[NDArray[np.bool_], str], ...]:
    """Where a language model was asked about sampled answers in vain."""
    part = "sampled_consistency"
    return ((without & view.facts.skipped(part), SKIPPED), (without & view.facts.failed(part), JUDGE_ERROR))


def _pairs(view: View) -> Floats:
    n = np.bincount(view.answer.code, minlength=view.n).astype(float)
    codes, values = view.facts.once("conflicts", lambda: _conflicts(view))
    clashes = count(codes, values >= view.t.contradiction, view.n)
    return 1 - ratio(clashes, n * (n - 1) / 2)


def _conflicts(view: View) -> tuple[NDArray[np.int64], Floats]:
    """The sample and the probability of each pair of claims that contradict each other."""
    told = enumerate(view.facts.evidence.nested("judge_conflicts"))
    found = [(code, p) for code, pairs in told for *_, p in pairs or ()]
    return np.array([code for code, _ in found], dtype=np.int64), np.array([p for _, p in found], dtype=float)


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


# ------------------------------------------------------------------------------


_joint = partial(Metric, group="joint")

METRICS = (
    _joint("end_to_end_correct",
           "1 iff answered, no leak, and: refused where expected; else not refused, all key points made, nothing "
           "forbidden, and with a reference and no key points answer_right ≥ its threshold and no claim contradicts it",
           ("answer", "an expectation"), "", binary=True, in_report=1, in_overview=True, begin_with=4),
    _joint("fitted_right", "probability that people would call the answer right, by the judge that was fitted to theirs",
           ("a fitted judge",), "", default=False),
    _joint("retrieval_generation_consistency",
           "supported claims with a supporting context that is expected (else relevant) / supported claims",
           ("answer", "contexts"), "no answer, or no supported claim"),
    _joint("evidence_retrieved", "1 iff all key points (else reference claims) stand in the contexts",
           ("contexts", "key points or reference"), "no reference claims", binary=True, default=False, layer="retrieval"),
)  # fmt: skip


def compute(view: View) -> dict[str, Scored]:
    """All metrics of this group."""
    return {
        "end_to_end_correct": end_to_end(view),
        "fitted_right": _by_fitted(view),
        "retrieval_generation_consistency": _consistency(view),
        "evidence_retrieved": evidence_retrieved(view),
    }


def expectation(view: View) -> Mask:
    """There is a content expectation: key points, forbidden content, an expected refusal or a reference."""
    facts = view.facts
    forbidden = np.bincount(facts.claims("forbidden").code, minlength=view.n) > 0
    return view.has_points | forbidden | (facts.expect_refusal == 1) | facts.referenced


def by_reference(view: View) -> Mask:
    """The reference decides: there is one, no key points, and no refusal is expected."""
    return view.facts.referenced & ~view.has_points & (view.facts.expect_refusal != 1)


def end_to_end(view: View) -> Scored:
    """Right from question to answer, as a user would see it."""
    facts, n = view.facts, view.n
    scores = view.once(key_points)
    leaked = np.nan_to_num(leaks(view)["leaks"].values) > 0
    declined = view.once(refused).values == 1
    wants_refusal = facts.expect_refusal == 1
    dropped = np.nan_to_num(scores["key_point_coverage"].values, nan=1.0) < 1
    banned = np.nan_to_num(scores["forbidden_hits"].values) > 0
    settled_wrong = ~facts.answered | leaked | np.where(wants_refusal, ~declined, declined | dropped | banned)
    judged = by_reference(view) & ~settled_wrong
    contradicts = count(view.answer.code, view.answer_other == CONTRADICTED, n) > 0
    agrees = ~contradicts & (np.nan_to_num(facts.right) >= view.t.answer_right)
    values = np.where(settled_wrong, 0.0, np.where(judged, agrees, 1.0))
    absent = ~expectation(view) | (not facts.set_has_outcomes)
    return with_states(
        values,
        (facts.unreadable("answer", "reference", "must_include", "must_not_include", "expect_refusal"), INPUT_ERROR),
        (absent, NOT_APPLICABLE),
        (~judged, OK),
        (facts.skipped("claims", "reference"), SKIPPED),
        (facts.failed("claims", "reference") | _unjudged(view), JUDGE_ERROR),
    )


def _by_fitted(view: View) -> Scored:
    values = view.facts.evidence.number("judge_fitted_right")
    absent = np.full(view.n, "judge_fitted_right" not in view.facts.evidence.samples)
    return with_states(values, (absent, SKIPPED), (np.isnan(values), UNDEFINED))


def _unjudged(view: View) -> Mask:
    answer, reference = view.answer, view.reference
    missing = count(answer.code, np.isnan(answer.other_entail), view.n)
    return missing + count(reference.code, np.isnan(reference.other_entail), view.n) > 0


def _consistency(view: View) -> Scored:
    facts, claims, support = view.facts, view.answer, view.facts.support("answer")
    supported = view.answer_verdicts == SUPPORTED
    wanted = np.where(facts.judged[facts.contexts.code], view.expected, view.relevant)
    entail = np.fmax(support.entail, support.stitched)
    hit = (entail >= view.t.support) & wanted[support.context]
    right, unread = np.zeros(len(claims), dtype=bool), np.zeros(len(claims), dtype=bool)
    right[support.claim[hit]] = True
    unread[support.claim[np.isnan(entail) & wanted[support.context]]] = True
    broken = claims.incomplete | (supported & ~right & unread)
    by_relevance = [(mask & ~facts.judged, state) for mask, state in relevance_known(view)]
    return with_states(
        ratio(count(claims.code, supported & right, view.n), count(claims.code, supported, view.n)),
        *view.fields("answer", "contexts"),
        *view.judged(count(claims.code, broken, view.n), "claims", "support"),
        *by_relevance,
    )


def evidence_retrieved(view: View) -> Scored:
    """1 where everything the answer needs stands in the contexts: key points, else reference claims."""
    facts, points, n = view.facts, view.points, view.n
    point_there = count(points.code, points.entail < 0.5, n) == 0
    claims = view.reference
    claim_there = count(claims.code, view.reference_verdicts != SUPPORTED, n) == 0
    values: Floats = np.where(view.has_points, point_there, claim_there).astype(float)
    by_claims = ~view.has_points
    return with_states(
        values,
        (facts.unreadable("contexts", "must_include", "reference"), INPUT_ERROR),
        (~facts.recorded | ~(view.has_points | facts.referenced) | (facts.expect_refusal == 1), NOT_APPLICABLE),
        (by_claims & facts.skipped("claims", "support"), SKIPPED),
        (by_claims & (facts.failed("claims", "support") | (count(claims.code, claims.incomplete, n) > 0)), JUDGE_ERROR),
        (by_claims & (np.bincount(claims.code, minlength=n) == 0), UNDEFINED),
    )
