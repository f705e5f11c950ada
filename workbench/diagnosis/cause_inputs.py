"""What the rules of causes look at: which samples fail, and the links between claims, contexts and expectations."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from workbench.evidence.frames import Evidence
from workbench.evidence.offline.answers import LEFT_OUT
from workbench.scoring.facts import Claims
from workbench.scoring.groups.joint import expectation
from workbench.scoring.groups.refusal import outcome
from workbench.scoring.metrics import HEADLINE, definition, definitions, every_metric, score
from workbench.scoring.scored import Floats, Mask, count
from workbench.scoring.view import CONTRADICTED, MISSING, NOT_MENTIONED, SUPPORTED, UNSURE, View, severity

#: The name under which pass / fail itself is compared, tested and calibrated, beside the metrics.
PASSED = "passed"


# ---------------------------------------------------------------- which samples fail, and which could not be tested


class Failing(NamedTuple):
    """Per sample: ``failed``, and ``tested`` (False = nothing could be tested, neither passed nor failed)."""

    failed: Mask
    tested: Mask

    @property
    def passed(self) -> Floats:
        """(n,) 1 passes, 0 fails, NaN where nothing could be tested."""
        return np.where(self.failed, 0.0, np.where(self.tested, 1.0, np.nan))


def failing(view: View) -> Failing:
    """Apply the definition of failure to every sample. One that nothing of its own tests is tested by recorded scores."""
    failed, tested = _failing(view)
    recorded = recorded_scores(view)
    if not recorded.names:
        return Failing(failed, tested)
    scored = np.isfinite(recorded.values).any(axis=0) & ~tested
    return Failing(failed | (recorded.low.any(axis=0) & scored), tested | scored)


def _failing(view: View) -> Failing:
    """A set without answers is judged by recall@k alone."""
    leaks, banned = score(view, "leaks"), score(view, "must_not_retrieve_hits")
    foreign = (leaks.values > 0) | (banned.values > 0)
    if not view.facts.set_has_outcomes:
        recall = f"recall@{view.t.k}"
        return Failing(is_low(view, recall) | foreign, score(view, recall).ok | leaks.ok | banned.ok)
    right, low = score(view, HEADLINE), low_failing(view)
    failed = np.logical_or.reduce([
        right.values == 0, foreign, no_answer(view), serious_claims(view), view.facts.format_signs,
        count(view.answer.code, conflicting(view) > 0, view.n) > 0,
        *(is_low(view, name) for name in low),
    ])  # fmt: skip
    scored = np.logical_or.reduce([right.ok, leaks.ok, banned.ok, *(score(view, name).ok for name in low)])
    # Of what its own texts show: with question and answer alone, or claims that are all unsure, nothing says that it is right.
    read = view.facts.recorded & (count(view.answer.code, ~np.isin(view.answer_verdicts, (UNSURE, MISSING)), view.n) > 0)
    return Failing(failed, failed | read | (view.once(expectation) & scored))


class RecordedScores(NamedTuple):
    """What another tool scored: ``values`` (metrics, n) with NaN, ``low`` of the same shape, the ``names`` and ``cuts``."""

    values: Floats
    low: Mask
    names: tuple[str, ...]
    cuts: tuple[float, ...]


def recorded_scores(view: View) -> RecordedScores:
    """The recorded scores of metrics that are known, in [0, 1] and with a good direction, against the low scores in force."""
    found: list[tuple[str, Floats, float, bool]] = []
    for column in view.facts.evidence.samples.columns:
        name = str(column).removeprefix("recorded:")
        known = definition(name)
        values = view.facts.evidence.number(column) if name != column else np.empty(0)
        finite = values[np.isfinite(values)]
        if known is None or known.higher_is_better is None or not len(finite) or finite.min() < 0 or finite.max() > 1:
            continue
        found.append((name, values, view.t.low_cut(name), known.higher_is_better))
    values = np.array([own for _, own, _, _ in found]).reshape(len(found), view.n)
    low = [own < cut if high else own > cut for _, own, cut, high in found]
    return RecordedScores(values, np.array(low, dtype=bool).reshape(len(found), view.n), tuple(name for name, *_ in found),
                          tuple(cut for _, _, cut, _ in found))  # fmt: skip


#: What a low recorded score says where nothing else is known, by the metric; any other of retrieval is a miss.
_RECORDED_CAUSES = {
    "faithfulness": "hallucination", "hallucination_rate": "hallucination", "contradiction_rate": "contradiction",
    "answer_relevancy": "off_topic", "over_refusal": "wrong_refusal", "refusal_correct": "missing_refusal",
    "completeness": "omission", "key_point_coverage": "omission",
}  # fmt: skip


def low_failing(view: View) -> list[str]:
    """The metrics whose low scores fail a sample."""
    return [item.name.format(k=view.t.k) for item in every_metric() if item.low_fails]


def is_low(view: View, name: str) -> Mask:
    """The samples whose score of this metric is on the bad side of its cut."""
    values, cut = score(view, name).values, view.t.low_cut(name)
    return values > cut if definitions(view.t.k)[name].higher_is_better is False else values < cut


def no_answer(view: View) -> Mask:
    """The answer is missing while other samples of the set have one, or the service reported an error."""
    facts = view.facts
    return facts.errors | (~facts.answered & facts.set_has_answers)


def serious_claims(view: View) -> Mask:
    """A claim is contradicted by the contexts, or not mentioned there with severity medium or more."""
    return count(view.answer.code, serious(view), view.n) > 0


#: A claim that contradicts another of its answer counts from this probability on.
CONFLICT = 0.8


def conflicting(view: View) -> Floats:
    """Per answer claim: the probability that it contradicts another claim of the same answer, 0 below :data:`CONFLICT` and
    where the contexts support it (then they contradict each other)."""
    found = view.facts.evidence.claims["conflict"].to_numpy(dtype=float)[view.answer.row]
    return np.where((found >= CONFLICT) & (view.answer_verdicts != SUPPORTED), found, 0.0)


def serious(view: View) -> Mask:
    """The claims of which :func:`serious_claims` speaks; only where contexts were recorded and nothing is missing."""
    verdicts = view.answer_verdicts
    known = view.facts.recorded[view.answer.code] & ~view.answer.incomplete
    bad = (verdicts == CONTRADICTED) | ((verdicts == NOT_MENTIONED) & (severity(view.answer, verdicts) >= 1))
    return bad & known


# ---------------------------------------------------------------- the links


class CauseInputs:
    """What rules look at: a view, and the links that several rules share. Masks are over samples unless said."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.facts = view.facts
        self.n = view.n

    @property
    def evidence(self) -> Evidence:
        """The frames; a column of ``samples`` by ``evidence.plain(name)`` or ``evidence.number(name)``."""
        return self.facts.evidence

    def score(self, name: str) -> Floats:
        """The values of a metric, NaN where there is none."""
        return score(self.view, name).values

    def any_of(self, claims: Claims, mask: Mask) -> Mask:
        """Samples with a claim for which ``mask`` holds."""
        return count(claims.code, mask, self.n) > 0

    def highest(self, claims: Claims, values: Floats, mask: Mask) -> Floats:
        """Highest of ``values`` over the claims of each sample for which ``mask`` holds; NaN without any."""
        best = np.full(self.n, np.nan)
        np.fmax.at(best, claims.code[mask], values[mask])
        return best

    @cached_property
    def failing(self) -> Failing:
        """Failed and tested samples."""
        return failing(self.view)

    @cached_property
    def by_recorded(self) -> Mask:
        """Samples that nothing but recorded scores tests, such as those of a query log."""
        if not self.recorded.names:
            return np.zeros(self.n, dtype=bool)
        return ~_failing(self.view).tested & self.failing.tested

    @cached_property
    def recorded(self) -> RecordedScores:
        """What another tool scored."""
        return recorded_scores(self.view)

    def recorded_cause(self, cause: str) -> Mask:
        """Samples tested by recorded scores alone of which one that is low points to ``cause``."""
        found = np.zeros(self.n, dtype=bool)
        for name, low in zip(self.recorded.names, self.recorded.low, strict=True):
            known = definition(name)
            usual = "retrieval_miss" if known and known.layer == "retrieval" else "wrong_answer" if known else ""
            if _RECORDED_CAUSES.get(name.partition("@")[0], usual) == cause:
                found |= low
        return found & self.by_recorded

    @cached_property
    def refused(self) -> Mask:
        """The answer is a refusal."""
        return self.score("refused") == 1

    @cached_property
    def outcome(self) -> np.ndarray:
        """Refusal outcomes."""
        return self.view.once(outcome)

    @cached_property
    def wants_refusal(self) -> Mask:
        """A refusal is expected, or nothing is to be retrieved."""
        return (self.facts.expect_refusal == 1) | self.facts.expects_nothing

    # -- retrieval --------------------------------------------------------------------------------------------------

    @cached_property
    def entries(self) -> pd.DataFrame:
        """Relevant expected entries: ``code, entry, found`` (an alternative is among the prompted contexts)."""
        relevant = self.facts.entries[self.facts.entries["grade"] >= 1]
        found = self.facts.matches(self.view.t.match)
        prompted = self.facts.contexts.prompted[found["context"].to_numpy(dtype=np.int64)]
        hit = set(found["entry"].to_numpy()[prompted].tolist())
        frame = relevant[["code", "entry"]].drop_duplicates()
        return frame.assign(found=frame["entry"].isin(hit))

    @cached_property
    def missing_entries(self) -> Mask:
        """A needed expected document is not among the prompted contexts."""
        missing = self.entries.loc[~self.entries["found"], "code"].to_numpy(dtype=np.int64)
        return (np.bincount(missing, minlength=self.n) > 0) & self.facts.recorded

    @cached_property
    def elsewhere(self) -> np.ndarray:
        """Where each key point stands that no context has: ``split``, ``missed`` or empty (per point)."""
        column = self.evidence.claims["elsewhere"]
        values = column.to_numpy(dtype=object)[self.view.points.row]
        return np.array([v.partition(":")[0] if isinstance(v, str) else "" for v in values], dtype=object)

    @cached_property
    def unmade_points(self) -> Mask:
        """Per point: the answer does not make it."""
        return ~(self.view.points.other_entail >= 0.5)

    @cached_property
    def unmade_claims(self) -> Mask:
        """Per reference claim: the answer does not make it, in samples without key points.

        A wrong answer that leaves none plainly unmade does not make those of which it is unsure; one that tells a part and
        not the rest does not make the claim that it comes least near to."""
        reference, free = self.view.reference, ~self.view.has_points[self.view.reference.code]
        unmade = free & np.isin(self.view.reference_other, (NOT_MENTIONED, CONTRADICTED))
        wrong = self.judged_wrong & ~self.any_of(reference, unmade)
        unsure = free & (self.view.reference_other == UNSURE) & wrong[reference.code]
        partly = wrong & self.tells_a_part & ~self.any_of(reference, unsure)
        furthest = -self.highest(reference, -reference.other_entail, free)
        return unmade | unsure | (free & partly[reference.code] & (reference.other_entail <= furthest[reference.code]))

    @cached_property
    def tells_a_part(self) -> Mask:
        """The answer tells one of the things that are asked and leaves out another."""
        return np.array([reason == LEFT_OUT for reason in self.evidence.plain("text_right_reason")], dtype=bool)

    @cached_property
    def split_points(self) -> Mask:
        """Per point: not made, in no single context, but across a chunk edge."""
        points = self.view.points
        across = (points.entail >= 0.5) | (self.elsewhere == "split")
        return self.unmade_points & (points.own_entail < 0.5) & across

    @cached_property
    def split_claims(self) -> Mask:
        """Per reference claim (no key points): not made, supported only across a chunk edge."""
        reference, support = self.view.reference, self.view.t.support
        only_stitched = (self.view.reference_verdicts == SUPPORTED) & (reference.own_entail < support)
        return self.unmade_claims & only_stitched

    @cached_property
    def only_split(self) -> Mask:
        """All that is missing from the contexts is the other side of a chunk edge."""
        points = self.view.points
        split = self.any_of(points, self.split_points)
        absent = self.unmade_points & (points.own_entail < 0.5) & ~self.split_points
        return split & ~self.any_of(points, absent) & ~self.nothing_retrieved

    @cached_property
    def nothing_retrieved(self) -> Mask:
        """None of the needed expected documents is among the prompted contexts."""
        found = np.bincount(self.entries.loc[self.entries["found"], "code"].to_numpy(dtype=np.int64), minlength=self.n)
        return self.facts.judged & (found == 0)

    @cached_property
    def unsupported_needs(self) -> Mask:
        """Without relevance judgements: a key point, or else a reference claim, stands in no prompted context."""
        points, reference = self.view.points, self.view.reference
        lost_point = self.any_of(points, (points.entail < 0.5) & (self.elsewhere != "split"))
        known = ~reference.incomplete & ~self.facts.skipped("support")[reference.code]
        lost_claim = self.any_of(reference, (self.view.reference_verdicts == NOT_MENTIONED) & known)
        unjudged = ~self.facts.judged & ~self.facts.expects_nothing & self.facts.recorded
        return unjudged & np.where(self.view.has_points, lost_point, lost_claim)

    # -- the answer -------------------------------------------------------------------------------------------------

    @cached_property
    def on_topic(self) -> Mask:
        """The answer makes one of the points, or is about what was asked (not judged counts as yes)."""
        return self.makes_a_point | ~is_low(self.view, "answer_relevancy")

    @cached_property
    def missed_point(self) -> Mask:
        """The answer is wrong: it drops a point (or without key points a reference claim), or contradicts the reference."""
        wrong = (self.score(HEADLINE) == 0) & ~self.refused & self.facts.answered
        dropped = self.any_of(self.view.points, self.unmade_points) | (self.judged_wrong & ~self.view.has_points)
        return wrong & (dropped | self.against_reference)

    @cached_property
    def judged_wrong(self) -> Mask:
        """The answer does not make the point of its reference."""
        return self.facts.right < self.view.t.answer_right

    @cached_property
    def against_reference(self) -> Mask:
        """A claim of the answer contradicts the reference."""
        return self.any_of(self.view.answer, self.view.answer_other == CONTRADICTED)

    @cached_property
    def makes_a_point(self) -> Mask:
        """The answer makes at least one key point, or without key points one reference claim or a part of one."""
        reference = self.view.reference
        made = (self.view.reference_other == SUPPORTED) & ~self.view.has_points[reference.code]
        partly = self.tells_a_part & ~self.view.has_points
        return self.any_of(self.view.points, ~self.unmade_points) | self.any_of(reference, made) | partly

    @cached_property
    def grounded(self) -> Mask:
        """No claim of the answer is a serious invention, and the contexts support one; or they leave it unsure, and
        contradict the reference instead."""
        answer, verdicts = self.view.answer, self.view.answer_verdicts
        altered = self.any_of(self.view.reference, self.view.reference_verdicts == CONTRADICTED)
        held = self.any_of(answer, verdicts == SUPPORTED) | (self.any_of(answer, verdicts == UNSURE) & altered)
        return held & ~self.any_of(answer, serious(self.view))

    @cached_property
    def rests(self) -> tuple[Floats, Floats]:
        """Per answer claim: the highest support by an expected and by another prompted context."""
        support, claims = self.facts.support("answer"), self.view.answer
        expected = self.view.expected[support.context]
        value = np.where(support.contradict > support.entail, 0.0, np.nan_to_num(support.entail))
        best = np.zeros(len(claims)), np.zeros(len(claims))
        np.fmax.at(best[0], support.claim[expected], value[expected])
        np.fmax.at(best[1], support.claim[~expected], value[~expected])
        return best

    @cached_property
    def against_expected(self) -> Mask:
        """Per answer claim: an expected context contradicts it."""
        support = self.facts.support("answer")
        strong = np.nan_to_num(support.contradict) >= self.view.t.contradiction
        against = np.zeros(len(self.view.answer), dtype=bool)
        against[support.claim[strong & self.view.expected[support.context]]] = True
        return against

    @cached_property
    def misled_claims(self) -> Mask:
        """Per answer claim: some context supports it, but none that is expected, whatever the expected ones say."""
        by_expected, by_other = self.rests
        return (by_other >= self.view.t.support) & (by_expected < self.view.t.support)

    @cached_property
    def misled(self) -> Mask:
        """The answer rests on a context that is not expected: all that is supported, or what is refuted elsewhere."""
        claims, there = self.view.answer, self.facts.judged & self.facts.recorded & ~self.missing_entries
        refuted = self.against_expected | (self.view.answer_other == CONTRADICTED)
        wholly = self.any_of(claims, self.misled_claims) & ~self.any_of(claims, self.well_founded_claims)
        return there & (wholly | self.any_of(claims, self.misled_claims & refuted))

    @cached_property
    def well_founded_claims(self) -> Mask:
        """Per answer claim: supported by an expected context clearly better than by any other."""
        by_expected, by_other = self.rests
        return (self.view.answer_verdicts == SUPPORTED) & (by_expected > by_other + 0.05)

    @cached_property
    def contradicting_claims(self) -> Mask:
        """Per answer claim: the contexts contradict it; or the reference does, where the contexts support the reference
        in that and do not support the claim."""
        verdicts, other = self.view.answer_verdicts, self.view.answer_other
        upheld = (self.view.reference_verdicts == SUPPORTED) & (self.view.reference_other == CONTRADICTED)
        sided = self.any_of(self.view.reference, upheld)[self.view.answer.code]
        through = (other == CONTRADICTED) & np.isin(verdicts, (UNSURE, NOT_MENTIONED)) & sided
        return (serious(self.view) & (verdicts == CONTRADICTED)) | through

    @cached_property
    def dropped_claims(self) -> Mask:
        """Per reference claim: not made, though the contexts say it; of an answer that tells a part of the point the contexts
        need not say the whole of it in one place."""
        verdicts, code = self.view.reference_verdicts, self.view.reference.code
        said = (verdicts == SUPPORTED) & ~self.split_claims
        return self.unmade_claims & (said | (self.tells_a_part[code] & (verdicts != CONTRADICTED)))

    @cached_property
    def left_out(self) -> Mask:
        """A key point or reference claim stands in the contexts and not in the answer."""
        points = self.view.points
        there = self.unmade_points & (points.own_entail >= 0.5)
        said = self.dropped_claims & self.judged_wrong[self.view.reference.code]
        return (
            (self.any_of(points, there) | self.any_of(self.view.reference, said)) & self.facts.answered & ~self.refused
        )

    @cached_property
    def point_nowhere(self) -> Mask:
        """A point (or without key points, a reference claim) is not made and stands in no context either."""
        points = self.view.points
        lost = self.unmade_points & (points.entail < 0.5) & (self.elsewhere != "split")
        free = ~self.view.has_points[self.view.reference.code]
        refuted = free & self.against_reference[self.view.reference.code]
        unsaid = (self.unmade_claims | refuted) & (self.view.reference_verdicts != SUPPORTED)
        return self.any_of(points, lost) | self.any_of(self.view.reference, unsaid)

    @cached_property
    def is_off_topic(self) -> Mask:
        """Reading 1: about something else than the question, and rests on the expected documents or on none."""
        elsewhere = self.facts.answered & ~self.refused & ~self.on_topic
        return elsewhere & ~self.any_of(self.view.answer, serious(self.view)) & ~(self.misled & self.missed_point)

    @cached_property
    def bad_citations(self) -> Mask:
        """A citation resolves to nothing or does not support its sentence."""
        pair, _ = self.view.cited
        judged = ~self.facts.skipped("support") & ~self.facts.failed("support")
        cited = self.facts.citations
        code = cited["code"].to_numpy(dtype=np.int64)
        lost = cited["cited"].to_numpy(dtype=np.int64) < 0
        return count(code, lost | ((pair == 0) & judged[code]), self.n) > 0
