"""Why a sample failed: one chain of rules, the first that holds is the primary cause.

Each rule is one entry of :data:`RULES`: a name, what it needs (so that it can say what it could not check), the condition
over all samples at once, and how sure the deciding evidence is. What is said about one sample is in ``explain.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from workbench.diagnosis.cause_inputs import Chain, no_answer, serious
from workbench.scoring.groups.joint import any_answers
from workbench.scoring.groups.refusal import answerable
from workbench.scoring.metrics import score
from workbench.scoring.scored import Floats, Mask
from workbench.scoring.view import CONTRADICTED, NOT_MENTIONED, SUPPORTED, View

# ------------------------------------------------------------------------------
# Which part of a retrieval-augmented system each cause of failure belongs to.


#: Layers in the order in which a question passes them.
LAYERS = ("access", "index", "retrieval", "generation", "service", "unknown")

#: Cause → layer; ``pass`` and ``not_checked`` have none.
LAYER_OF: Mapping[str, str] = {
    "permission_leak": "access",
    "no_answer": "service",
    "not_indexed": "index",
    "retrieval_miss": "retrieval",
    "split_evidence": "index",
    "missing_refusal": "generation",
    "wrong_refusal": "generation",
    "distracted": "generation",
    "contradiction": "generation",
    "hallucination": "generation",
    "omission": "generation",
    "faithful_but_wrong": "index",
    "off_topic": "generation",
    "bad_citation": "generation",
    "format": "service",
    "unexplained": "unknown",
}


def layer(cause: str) -> str:
    """The layer of a cause; empty for ``pass`` and ``not_checked``."""
    return LAYER_OF.get(cause, "")


# ------------------------------------------------------------------------------


PASS = "pass"
NOT_CHECKED = "not_checked"
UNEXPLAINED = "unexplained"


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
    unsupported = 1 + c.highest(reference, -reference.entail, np.ones(len(reference), dtype=bool))
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
    Rule("no_answer", ("answer",), lambda c: no_answer(c.view)),
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


def lacking(causes: Causes, cause: str) -> list[list[str]]:
    """What each sample lacks so that ``cause`` could not be told if it were there; an empty list: it could."""
    needs = [need.split(" or ") for rule in RULES if rule.name == cause for need in rule.needs]
    known = {"answer": "answers", "expect_refusal": "expectation"}
    named = [[known.get(name, name) for name in alternatives] for alternatives in needs]
    return [[group[0] for group in named if all(name in row for name in group)] for row in unchecked(causes.chain)]
