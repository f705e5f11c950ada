"""Why a sample failed: one chain of rules, the first that holds is the primary cause.

Each rule is one entry of :data:`RULES`: a name, what it needs (so that it can say what it could not check), the condition
over all samples at once, and how sure the deciding evidence is. What is said about one sample is in ``explain.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from workbench.diagnosis.failing import Failing, failing, no_answer, serious
from workbench.scoring.facts import Claims
from workbench.scoring.groups.answer import cited_support
from workbench.scoring.groups.joint import any_answers
from workbench.scoring.groups.refusal import answerable, outcome
from workbench.scoring.metric import View
from workbench.scoring.metrics import score
from workbench.scoring.scored import Floats, Mask, count
from workbench.scoring.verdicts import CONTRADICTED, NOT_MENTIONED, SUPPORTED, UNSURE

PASS = "pass"
NOT_CHECKED = "not_checked"
UNEXPLAINED = "unexplained"


class Chain:
    """What the rules look at: a view, and the links that several rules share. Masks are over samples unless said."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.facts = view.facts
        self.n = view.n

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
    def refused(self) -> Mask:
        """The answer is a refusal."""
        return score(self.view, "refused").values == 1

    @cached_property
    def outcome(self) -> np.ndarray:
        """Refusal outcomes."""
        return outcome(self.view)

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
    def has_points(self) -> Mask:
        """There are key points."""
        return np.bincount(self.view.points.code, minlength=self.n) > 0

    @cached_property
    def elsewhere(self) -> np.ndarray:
        """Where each key point stands that no context has: ``split``, ``missed`` or empty (per point)."""
        column = self.facts.evidence.claims["elsewhere"]
        values = column.to_numpy(dtype=object)[self.view.points.row]
        return np.array([v.partition(":")[0] if isinstance(v, str) else "" for v in values], dtype=object)

    @cached_property
    def unmade_points(self) -> Mask:
        """Per point: the answer does not make it."""
        return ~(self.view.points.other_entail >= 0.5)

    @cached_property
    def unmade_claims(self) -> Mask:
        """Per reference claim: the answer does not make it, in samples without key points."""
        free = ~self.has_points[self.view.reference.code]
        return free & np.isin(self.view.reference_other, (NOT_MENTIONED, CONTRADICTED))

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
        return unjudged & np.where(self.has_points, lost_point, lost_claim)

    # -- the answer -------------------------------------------------------------------------------------------------

    @cached_property
    def on_topic(self) -> Mask:
        """The answer makes one of the points, or is about what was asked (not judged counts as yes).

        An answer that resembles neither the reference nor an expected context is about something else, however
        well it would fit the question.
        """
        relevancy = score(self.view, "answer_relevancy")
        addresses = ~(relevancy.values < self.view.t.low_cut("answer_relevancy"))
        return self.makes_a_point | (addresses & self.resembles_expected)

    @cached_property
    def resembles_expected(self) -> Mask:
        """A claim says what the reference or an expected context says, or the opposite; True without either."""
        claims, support = self.view.answer, self.facts.support("answer")
        expected = self.view.expected[support.context]
        known = count(claims.code[support.claim], expected, self.n)
        known += count(claims.code, ~np.isnan(claims.other_entail), self.n)
        likeness = np.fmax(np.nan_to_num(claims.other_entail), np.nan_to_num(claims.other_contradict))
        cells = np.fmax(np.nan_to_num(support.entail), np.nan_to_num(support.contradict))
        np.fmax.at(likeness, support.claim[expected], cells[expected])
        alike = likeness >= self.view.t.support - self.view.t.unsure_band
        return (known == 0) | self.any_of(claims, alike)

    @cached_property
    def missed_point(self) -> Mask:
        """The answer is wrong: it drops a point (or without key points a reference claim), or contradicts the reference."""
        wrong = score(self.view, "end_to_end_correct").values == 0
        dropped = self.any_of(self.view.points, self.unmade_points) | self.any_of(
            self.view.reference, self.unmade_claims
        )
        return wrong & (dropped | self.against_reference) & ~self.refused & self.facts.answered

    @cached_property
    def against_reference(self) -> Mask:
        """A claim of the answer contradicts the reference."""
        return self.any_of(self.view.answer, self.view.answer_other == CONTRADICTED)

    @cached_property
    def makes_a_point(self) -> Mask:
        """The answer makes at least one key point, or without key points one reference claim."""
        reference = self.view.reference
        made = (self.view.reference_other == SUPPORTED) & ~self.has_points[reference.code]
        return self.any_of(self.view.points, ~self.unmade_points) | self.any_of(reference, made)

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
    def left_out(self) -> Mask:
        """A key point or reference claim stands in the contexts and not in the answer."""
        points = self.view.points
        there = self.unmade_points & (points.own_entail >= 0.5)
        said = self.unmade_claims & (self.view.reference_verdicts == SUPPORTED) & ~self.split_claims
        return (
            (self.any_of(points, there) | self.any_of(self.view.reference, said)) & self.facts.answered & ~self.refused
        )

    @cached_property
    def point_nowhere(self) -> Mask:
        """A point (or without key points, a reference claim) is not made and stands in no context either."""
        points = self.view.points
        lost = self.unmade_points & (points.entail < 0.5) & (self.elsewhere != "split")
        free = ~self.has_points[self.view.reference.code]
        refuted = free & self.against_reference[self.view.reference.code]
        unsaid = (self.unmade_claims | refuted) & (self.view.reference_verdicts != SUPPORTED)
        return self.any_of(points, lost) | self.any_of(self.view.reference, unsaid)

    @cached_property
    def is_off_topic(self) -> Mask:
        """Reading 1: grounded, makes none of the points, and is about something else."""
        return (
            self.facts.answered
            & ~self.refused
            & ~self.on_topic
            & ~self.any_of(self.view.answer, serious(self.view))
        )

    @cached_property
    def bad_citations(self) -> Mask:
        """A citation resolves to nothing or does not support its sentence."""
        pair, _ = cited_support(self.view)
        judged = ~self.facts.skipped("support") & ~self.facts.failed("support")
        cited = self.facts.citations
        code = cited["code"].to_numpy(dtype=np.int64)
        lost = cited["cited"].to_numpy(dtype=np.int64) < 0
        return count(code, lost | ((pair == 0) & judged[code]), self.n) > 0


@dataclass(frozen=True)
class Rule:
    """One link of the chain.

    ``needs``: fields or evidence without which it cannot be checked. ``holds``: the samples for which it holds, failing
    or not. ``confidence``: probability in [0, 1] behind the deciding evidence; None = an exact fact (1).
    """

    name: str
    needs: tuple[str, ...]
    holds: Callable[[Chain], Mask]
    confidence: Callable[[Chain], Floats] | None = None


def _permission_leak(c: Chain) -> Mask:
    banned = score(c.view, "must_not_retrieve_hits").values
    return (np.nan_to_num(score(c.view, "leaks").values) > 0) | (np.nan_to_num(banned) > 0)


def _not_indexed(c: Chain) -> Mask:
    outside = c.facts.evidence.nested("not_in_corpus")
    total = np.bincount(c.facts.entries["code"].to_numpy(dtype=np.int64), minlength=c.n)
    lost = np.array([-1 if value is None else len(value) for value in outside])
    # A document that was retrieved is indexed, whatever the corpus at hand says.
    return c.nothing_retrieved & (lost > 0) & (lost >= total)


def _retrieval_miss(c: Chain) -> Mask:
    missing = (c.missing_entries & ~c.only_split) | c.unsupported_needs
    return missing & ~c.wants_refusal


def _retrieval_confidence(c: Chain) -> Floats:
    reference = c.view.reference
    unsupported = 1 - c.highest(reference, -reference.entail, np.ones(len(reference), dtype=bool)) * -1
    return np.where(c.missing_entries | c.has_points, 1.0, np.nan_to_num(unsupported, nan=1.0))


def _distracted(c: Chain) -> Mask:
    there = c.facts.judged & c.facts.recorded & ~c.missing_entries
    refuted = c.against_expected | (c.view.answer_other == CONTRADICTED)
    wholly = c.any_of(c.view.answer, c.misled_claims) & ~c.any_of(c.view.answer, c.well_founded_claims)
    misled = wholly | c.any_of(c.view.answer, c.misled_claims & refuted)
    return there & c.missed_point & misled & ~c.is_off_topic


def _contradiction(c: Chain) -> Mask:
    return c.any_of(c.view.answer, c.contradicting_claims)


def _contradiction_confidence(c: Chain) -> Floats:
    answer = c.view.answer
    direct = c.highest(answer, answer.contradict, c.view.answer_verdicts == CONTRADICTED)
    through = c.highest(answer, answer.other_contradict, c.contradicting_claims)
    return np.where(np.isnan(direct), through, direct)


def _hallucination(c: Chain) -> Mask:
    invented = c.any_of(c.view.answer, serious(c.view) & (c.view.answer_verdicts == NOT_MENTIONED))
    faithfulness = score(c.view, "faithfulness").values
    return invented | (faithfulness < c.view.t.low_cut("faithfulness"))


def _hallucination_confidence(c: Chain) -> Floats:
    claims = c.view.answer
    doubt = 1 - np.fmax(claims.entail, claims.contradict)
    return c.highest(claims, doubt, c.view.answer_verdicts == NOT_MENTIONED)


def _faithful_but_wrong(c: Chain) -> Mask:
    return c.missed_point & c.on_topic & c.grounded & c.point_nowhere


def _off_topic_confidence(c: Chain) -> Floats:
    return 1 - score(c.view, "answer_relevancy").values


RULES: tuple[Rule, ...] = (
    Rule("permission_leak", ("tenant", "contexts"), _permission_leak),
    Rule("no_answer", (), lambda c: no_answer(c.view)),
    Rule("not_indexed", ("expected_docs", "corpus"), _not_indexed),
    Rule("retrieval_miss", ("contexts", "expected_docs or reference"), _retrieval_miss, _retrieval_confidence),
    Rule(
        "split_evidence",
        ("contexts", "must_include or reference", "position"),
        lambda c: c.any_of(c.view.points, c.split_points) | c.any_of(c.view.reference, c.split_claims),
    ),
    Rule("missing_refusal", ("answer", "expect_refusal"), lambda c: c.outcome == "missing_refusal"),
    Rule("wrong_refusal", ("answer",), lambda c: c.outcome == "wrong_refusal"),
    Rule(
        "distracted",
        ("expected_docs", "contexts", "claims"),
        _distracted,
        lambda c: c.highest(c.view.answer, c.rests[1], c.misled_claims),
    ),
    Rule(
        "contradiction",
        ("contexts", "claims"),
        _contradiction,
        _contradiction_confidence,
    ),
    Rule("hallucination", ("contexts", "claims"), _hallucination, _hallucination_confidence),
    Rule("omission", ("contexts", "must_include or reference"), lambda c: c.left_out & ~c.is_off_topic),
    Rule(
        "faithful_but_wrong",
        ("contexts", "reference or must_include", "claims"),
        _faithful_but_wrong,
        lambda c: c.highest(c.view.answer, c.view.answer.entail, c.view.answer_verdicts == SUPPORTED),
    ),
    Rule("off_topic", ("answer", "claims"), lambda c: c.is_off_topic, _off_topic_confidence),
    Rule("bad_citation", ("contexts", "citations"), lambda c: c.bad_citations),
    Rule("format", ("answer",), lambda c: c.facts.format_signs),
)

#: Cause names in the order of the chain; ``unexplained`` closes it.
CAUSES = (*(rule.name for rule in RULES), UNEXPLAINED)


@dataclass(frozen=True)
class Causes:
    """Causes of every sample.

    Attributes
    ----------
    primary
        (n,) code of the primary cause in :data:`CAUSES`; −1 passes, −2 could not be checked.
    holds
        (n, len(CAUSES)) which causes contribute; all False for samples that do not fail.
    confidence
        (n,) in [0, 1] of the primary cause, NaN where there is none.
    """

    primary: np.ndarray
    holds: np.ndarray
    confidence: Floats
    chain: Chain

    def names(self) -> np.ndarray:
        """Primary cause of each sample by name, ``pass`` and ``not_checked`` included."""
        return np.array([*CAUSES, NOT_CHECKED, PASS], dtype=object)[self.primary]


def attribute(view: View) -> Causes:
    """Walk the chain for every sample at once."""
    chain = Chain(view)
    failed, tested = chain.failing
    holds = np.zeros((view.n, len(CAUSES)), dtype=bool)
    for place, rule in enumerate(RULES):
        holds[:, place] = np.asarray(rule.holds(chain), dtype=bool) & failed
    holds[:, -1] = failed & ~holds.any(axis=1)
    primary = np.where(failed, holds.argmax(axis=1), np.where(tested, -1, -2))
    return Causes(primary, holds, _confidence(chain, primary), chain)


def _confidence(chain: Chain, primary: np.ndarray) -> Floats:
    values = np.where(primary >= 0, 1.0, np.nan)
    for place, rule in enumerate(RULES):
        mine = primary == place
        if rule.confidence is not None and mine.any():
            values[mine] = np.clip(np.nan_to_num(rule.confidence(chain)[mine], nan=1.0), 0, 1)
    values[primary == len(RULES)] = 0.0
    return values


def unchecked(chain: Chain) -> list[list[str]]:
    """What each sample lacks, so that some rules could not be checked: names of fields and evidence."""
    facts = chain.facts
    everywhere = np.ones(chain.n, dtype=bool)
    lacks = {
        "contexts": ~facts.recorded,
        "expected_docs": ~(facts.judged | facts.expects_nothing),
        "reference": ~facts.referenced,
        "must_include": ~chain.has_points,
        "tenant": ~facts.has_tenants,
        "claims": facts.skipped("claims", "support") | facts.failed("claims", "support"),
        "corpus": np.array([value is None for value in facts.evidence.nested("not_in_corpus")], dtype=bool),
        "answers": everywhere & (not any_answers(chain.view)),
        "expectation": np.isnan(answerable(chain.view)),
    }
    names = np.array(list(lacks), dtype=object)
    patterns, which = np.unique(np.stack(list(lacks.values()), axis=1), axis=0, return_inverse=True)
    lists = [names[pattern].tolist() for pattern in patterns]
    return [lists[place] for place in which.ravel()]
