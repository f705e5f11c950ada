"""Which samples fail, and which could not be tested at all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.scoring.groups.joint import any_answers
from workbench.scoring.metric import View
from workbench.scoring.metrics import score
from workbench.scoring.scored import Mask, count
from workbench.scoring.verdicts import CONTRADICTED, NOT_MENTIONED, severity

#: The name under which pass / fail itself is compared, tested and calibrated, beside the metrics.
PASSED = "passed"
#: Metrics whose low scores fail a sample.
LOW_FAILS = ("faithfulness", "answer_relevancy", "citation_validity", "citation_precision")


class Failing(NamedTuple):
    """Per sample: ``failed``, and ``tested`` (False = nothing could be tested, neither passed nor failed)."""

    failed: Mask
    tested: Mask


def failing(view: View) -> Failing:
    """Apply the definition of failure to every sample."""
    if not any_answers(view):
        return _by_retrieval(view)
    facts = view.facts
    end_to_end, leaks = score(view, "end_to_end_correct"), score(view, "leaks")
    banned = score(view, "must_not_retrieve_hits")
    low = [(scored := score(view, name)).values < view.t.low_cut(name) for name in LOW_FAILS]
    unanswered = no_answer(view)
    failed = np.logical_or.reduce([
        end_to_end.values == 0, leaks.values > 0, banned.values > 0, unanswered, serious_claims(view), *low,
        facts.format_signs,
    ])  # fmt: skip
    judged = [score(view, name).ok for name in LOW_FAILS]
    scored = np.logical_or.reduce([end_to_end.ok, leaks.ok, banned.ok, *judged])
    claimed = (np.bincount(view.answer.code, minlength=view.n) > 0) & facts.recorded
    return Failing(failed, failed | scored | claimed)


def _by_retrieval(view: View) -> Failing:
    """A set without answers: recall@k below its low score."""
    name = f"recall@{view.t.k}"
    recall, leaks, banned = score(view, name), score(view, "leaks"), score(view, "must_not_retrieve_hits")
    failed = (recall.values < view.t.low_cut(name)) | (leaks.values > 0) | (banned.values > 0)
    return Failing(failed, recall.ok | leaks.ok | banned.ok)


def no_answer(view: View) -> Mask:
    """The answer is missing while other samples of the set have one, or the service reported an error."""
    facts = view.facts
    return facts.errors | (~facts.answered if facts.answered.any() else np.zeros(view.n, dtype=bool))


def serious_claims(view: View) -> Mask:
    """A claim is contradicted by the contexts, or not mentioned there with severity medium or more."""
    if not len(view.answer):
        return np.zeros(view.n, dtype=bool)
    return count(view.answer.code, serious(view), view.n) > 0


def serious(view: View) -> Mask:
    """The claims of which :func:`serious_claims` speaks; only where contexts were recorded and nothing is missing."""
    verdicts = view.answer_verdicts
    known = view.facts.recorded[view.answer.code] & ~view.answer.incomplete
    bad = (verdicts == CONTRADICTED) | ((verdicts == NOT_MENTIONED) & (severity(view.answer, verdicts) >= 1))
    return bad & known
