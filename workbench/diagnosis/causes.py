"""Why a sample failed: one chain of rules, the first that holds is the primary cause.

Everything about a cause stands in its :class:`CauseRule`: the layer that is at fault, what it needs (so that it can say
what it could not check), the condition over all samples at once, how sure the deciding evidence is, and what is said about
one sample. Its name, evidence sentence and advice in each language stand in ``texts/causes.toml``. A new cause is a rule in
:data:`RULES` and its texts; one of the user's own is registered by :func:`cause`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.diagnosis.cause_inputs import CauseInputs, conflicting, is_low, low_failing, no_answer, serious
from workbench.errors import InputError
from workbench.language import get_language, has_text, listed, numbers, speaking, text
from workbench.scoring.facts import Claims, Facts
from workbench.scoring.groups.refusal import answerable
from workbench.scoring.metrics import HEADLINE, definitions
from workbench.scoring.metrics import title as metric_title
from workbench.scoring.scored import Floats, Mask
from workbench.scoring.view import CONTRADICTED, NOT_MENTIONED, SUPPORTED, UNSURE, View, best_contexts

if TYPE_CHECKING:
    import pandas as pd

#: Longest quotation in an evidence sentence, in characters.
QUOTE = 120

#: Layers in the order in which a question passes them.
LAYERS = ("access", "index", "retrieval", "generation", "service", "unknown")

PASS = "pass"
NOT_CHECKED = "not_checked"
UNEXPLAINED = "unexplained"

#: Primary causes of samples that do not fail.
NOT_FAILING = (PASS, NOT_CHECKED)

#: What fills the gaps of an evidence sentence; ``variant`` names another sentence than ``evidence``.
Found = dict[str, Any]


@dataclass(frozen=True)
class CauseRule:
    """One cause: a link of the chain.

    Attributes
    ----------
    name
        As in ``failures()``.
    layer
        The part of the system that is at fault, one of :data:`LAYERS`.
    needs
        Fields or evidence without which it cannot be checked.
    holds
        The samples for which it holds, failing or not, as a mask.
    explain
        What its evidence sentence says of one sample.
    confidence
        Probability in [0, 1] behind the deciding evidence; None = an exact fact (1).
    sub_cause
        The sub-cause of one sample, where there are any.
    red_line
        Blocks a release whatever the averages say.
    retriever_at_fault
        Better retrieval would have prevented it.
    last_resort
        Holds only where no rule before it does.
    marks
        What a reader is shown as wrong in the answer: ``claims``, the whole ``answer``, or the ``citations`` that the
        evidence names.
    quotes_service
        Its evidence repeats what a service said, which may hold the key that it was called with.
    title, evidence, advice
        Texts of a cause of the user's own, instead of those in the language's folder.
    """

    name: str
    layer: str
    needs: tuple[str, ...]
    holds: Callable[[CauseInputs], Mask]
    explain: Callable[[Explainer, int], Found] = lambda _, __: {}
    confidence: Callable[[CauseInputs], Floats] | None = None
    sub_cause: Callable[[Explainer, int], str | None] | None = None
    red_line: bool = False
    retriever_at_fault: bool = False
    last_resort: bool = False
    marks: str = "claims"
    quotes_service: bool = False
    title: str = ""
    evidence: str = ""
    advice: str = ""


# ---------------------------------------------------------------- the conditions, and what is said of a sample


def _say_leak(e: Explainer, code: int) -> Found:
    mine = e.foreign.get(code)
    if not mine:
        return {"variant": "banned"}
    places = ", ".join(text(f"causes.place.{place}") for place in dict.fromkeys(place for _, place in mine))
    return {"docs": _listed(dict.fromkeys(doc for doc, _ in mine)), "places": places}


def _listed(names: Iterable[object], most: int = 3) -> str:
    shown = [str(name) for name in names]
    return ", ".join(shown[:most]) + (f" … ({len(shown)})" if len(shown) > most else "")


def _say_no_answer(e: Explainer, code: int) -> Found:
    error = e.inputs.evidence.plain("error")[code]
    return {"variant": "error", "error": str(error)[:QUOTE]} if error else {}


def _not_indexed(c: CauseInputs) -> Mask:
    outside = c.evidence.nested("not_in_corpus")
    total = np.bincount(c.facts.entries["code"].to_numpy(dtype=np.int64), minlength=c.n)
    lost = np.array([-1 if value is None else len(value) for value in outside])
    # A document that was retrieved is indexed, whatever the corpus at hand says.
    return c.nothing_retrieved & (lost > 0) & (lost >= total)


def _retrieval_confidence(c: CauseInputs) -> Floats:
    reference = c.view.reference
    unsupported = 1 + c.highest(reference, -reference.entail, np.ones(len(reference), dtype=bool))
    return np.where(c.missing_entries | c.view.has_points, 1.0, np.nan_to_num(unsupported, nan=1.0))


def _say_missing(e: Explainer, code: int) -> Found:
    lost = e.lost_documents.get(code)
    if not lost:
        return _say_unsupported(e, code)
    return {"docs": _listed(lost), "n": int(e.facts.n_contexts[code])}


def _say_unsupported(e: Explainer, code: int) -> Found:
    points, reference = e.view.points, e.view.reference
    rows = e.rows(points, code, e.masks["absent_points"])
    if len(rows):
        return {"variant": "point", "point": e.quote(points, rows[0])}
    rows = e.rows(reference, code, e.masks["absent_claims"])
    return {"variant": "point", "point": e.quote(reference, rows[0]) if len(rows) else "–"}


def _say_split(e: Explainer, code: int) -> Found:
    rows = e.rows(e.view.points, code, e.inputs.split_points)
    if len(rows):
        return {"point": e.quote(e.view.points, rows[0])}
    rows = e.rows(e.view.reference, code, e.inputs.split_claims)
    return {"point": e.quote(e.view.reference, rows[0])}


def _say_distracted(e: Explainer, code: int) -> Found:
    rows = e.rows(e.view.answer, code, e.inputs.misled_claims)
    return {"claim": e.quote(e.view.answer, rows[0]), **e.where(rows[0])}


def _contradiction_confidence(c: CauseInputs) -> Floats:
    answer = c.view.answer
    direct = c.highest(answer, answer.contradict, c.view.answer_verdicts == CONTRADICTED)
    through = c.highest(answer, answer.other_contradict, c.contradicting_claims)
    itself = c.highest(answer, conflicting(c.view), conflicting(c.view) > 0)
    return np.where(np.isnan(direct), np.where(np.isnan(through), itself, through), direct)


def _say_contradiction(e: Explainer, code: int) -> Found:
    rows = e.rows(e.view.answer, code, e.masks["contradicting"])
    if not len(rows):
        rows = e.rows(e.view.answer, code, conflicting(e.view) > 0)
        return {"variant": "itself", "claim": e.quote(e.view.answer, rows[0]), "other": e.quote(e.view.answer, rows[-1])}
    row = rows[np.argmax(e.view.answer.contradict[rows])]
    return {"claim": e.quote(e.view.answer, row), **e.where(row)}


def _hallucination_confidence(c: CauseInputs) -> Floats:
    claims = c.view.answer
    doubt = 1 - np.fmax(claims.entail, claims.contradict)
    return c.highest(claims, doubt, c.view.answer_verdicts == NOT_MENTIONED)


def _say_hallucination(e: Explainer, code: int) -> Found:
    rows = e.rows(e.view.answer, code, e.masks["invented"])
    if not len(rows):
        rows = e.rows(e.view.answer, code, e.masks["unsupported"])
    row = rows[np.argmin(e.view.answer.entail[rows])]
    return {"claim": e.quote(e.view.answer, row), "n": len(rows)}


def _declining(c: CauseInputs) -> Floats:
    """The probability that the answer declines."""
    judged = c.evidence.number("judge_declines")
    return np.where(np.isnan(judged), c.evidence.number("text_declines"), judged)


def _omission_confidence(c: CauseInputs) -> Floats:
    """1 for key points, which are compared as texts; else how sure it is that the contexts say it and the answer is wrong."""
    points, reference = c.view.points, c.view.reference
    there = c.highest(reference, reference.entail, c.dropped_claims)
    exact = c.any_of(points, c.unmade_points & (points.own_entail >= 0.5))
    return np.where(exact, 1.0, there * (1 - np.nan_to_num(c.facts.right)))


def _citation_confidence(c: CauseInputs) -> Floats:
    """1 for a mark that resolves to nothing; else how sure it is that a cited document does not support its sentence."""
    cited, pairs = c.facts.citations, c.facts.cited_claims
    code = cited["code"].to_numpy(dtype=np.int64)
    best = pairs.groupby("citation")["entail"].max().reindex(range(len(cited))).to_numpy(dtype=float)
    doubt = np.where(cited["cited"].to_numpy(dtype=np.int64) < 0, 1.0, np.where(c.view.cited[0] == 0, 1 - best, np.nan))
    found = np.full(c.n, np.nan)
    np.fmax.at(found, code, doubt)
    return found


def _say_omission(e: Explainer, code: int) -> Found:
    points, reference = e.view.points, e.view.reference
    rows = e.rows(points, code, e.masks["dropped_points"])
    if len(rows):
        return {"point": e.quote(points, rows[0]), **e.place("point", rows[0])}
    rows = e.rows(reference, code, e.masks["dropped_claims"])
    return {"point": e.quote(reference, rows[0]), **e.place("reference", rows[0])}


def _say_faithful(e: Explainer, code: int) -> Found:
    answer = e.view.answer
    rows = e.rows(answer, code, e.masks["against_reference"])
    if not len(rows):
        rows = e.rows(answer, code, e.masks["held"])
    return {"claim": e.quote(answer, rows[0]), **e.where(rows[0])}


def _say_wrong(e: Explainer, code: int) -> Found:
    rows = e.rows(e.view.points, code, e.inputs.unmade_points)
    if len(rows):
        return {"variant": "point", "point": e.quote(e.view.points, rows[0])}
    reference = str(e.inputs.evidence.plain("reference")[code] or "–")
    return {"reference": reference[:QUOTE], "right": numbers.score(e.facts.right[code])}


def _say_citation(e: Explainer, code: int) -> Found:
    lost, bad = e.bad_marks.get(code, ([], []))
    if lost:
        return {"mark": str(lost[0])[:QUOTE]}
    return {"variant": "unsupported", "mark": str(bad[0])[:QUOTE]}


def _say_tests(e: Explainer, code: int) -> Found:
    """The tests that the sample fails."""
    known = definitions(e.view.t.k)
    low = [
        f"{metric_title(name)} {numbers.score(e.inputs.score(name)[code])} "
        f"{'>' if known[name].higher_is_better is False else '<'} {numbers.score(e.view.t.low_cut(name))}"
        for name in (*low_failing(e.view), f"recall@{e.view.t.k}")
        if is_low(e.view, name)[code]
    ]
    wrong = [f"{metric_title(HEADLINE)} 0"] if e.inputs.score(HEADLINE)[code] == 0 else []
    return {"tests": listed([*wrong, *low]) or "–"}

# ---------------------------------------------------------------- the chain

#: The built-in causes in their order.
RULES: tuple[CauseRule, ...] = (
    CauseRule(
        "permission_leak", "access", ("tenant", "contexts"),
        lambda c: (np.nan_to_num(c.score("leaks")) > 0) | (np.nan_to_num(c.score("must_not_retrieve_hits")) > 0), _say_leak,
        red_line=True,
    ),
    CauseRule("no_answer", "service", ("answer",), lambda c: no_answer(c.view), _say_no_answer, quotes_service=True),
    CauseRule(
        "not_indexed", "index", ("expected_docs", "corpus"), _not_indexed,
        lambda e, code: {"docs": _listed(e.facts.evidence.nested("not_in_corpus")[code])}, retriever_at_fault=True,
    ),
    CauseRule(
        "retrieval_miss", "retrieval", ("contexts", "expected_docs or reference"),
        lambda c: ((c.missing_entries & ~c.only_split) | c.unsupported_needs) & ~c.wants_refusal, _say_missing,
        _retrieval_confidence, lambda e, code: e.sub_causes.get(code), retriever_at_fault=True,
    ),
    CauseRule(
        "split_evidence", "index", ("contexts", "must_include or reference", "position"),
        lambda c: c.any_of(c.view.points, c.split_points) | c.any_of(c.view.reference, c.split_claims), _say_split,
        lambda c: np.where(c.any_of(c.view.points, c.split_points), 1.0,
                           c.highest(c.view.reference, c.view.reference.entail, c.split_claims)),
        retriever_at_fault=True,
    ),
    CauseRule(
        "missing_refusal", "generation", ("answer", "expect_refusal"), lambda c: c.outcome == "missing_refusal",
        confidence=lambda c: 1 - _declining(c), marks="answer",
    ),
    CauseRule(
        "wrong_refusal", "generation", ("answer",), lambda c: c.outcome == "wrong_refusal", confidence=_declining,
        marks="answer",
    ),
    CauseRule(
        "distracted", "generation", ("expected_docs", "contexts", "claims"), lambda c: c.misled & c.missed_point,
        _say_distracted,
        lambda c: c.highest(c.view.answer, c.rests[1], c.misled_claims),
    ),
    CauseRule(
        "contradiction", "generation", ("contexts", "claims"),
        lambda c: c.any_of(c.view.answer, c.contradicting_claims | (conflicting(c.view) > 0)), _say_contradiction,
        _contradiction_confidence,
    ),
    CauseRule(
        "hallucination", "generation", ("contexts", "claims"),
        lambda c: c.any_of(c.view.answer, serious(c.view) & (c.view.answer_verdicts == NOT_MENTIONED))
        | is_low(c.view, "faithfulness"), _say_hallucination, _hallucination_confidence,
    ),
    CauseRule(
        "omission", "generation", ("contexts", "must_include or reference"), lambda c: c.left_out & ~c.is_off_topic,
        _say_omission, _omission_confidence,
    ),
    CauseRule(
        "faithful_but_wrong", "index", ("contexts", "reference or must_include", "claims"),
        lambda c: c.missed_point & c.on_topic & c.grounded & c.point_nowhere, _say_faithful,
        lambda c: c.highest(c.view.answer, c.view.answer.entail, c.view.answer_verdicts == SUPPORTED),
    ),
    CauseRule(
        "wrong_answer", "generation", ("answer", "reference or must_include"), lambda c: c.missed_point & ~c.is_off_topic,
        _say_wrong, lambda c: np.where(c.view.has_points, 1.0, 1 - np.nan_to_num(c.facts.right)), marks="answer",
        last_resort=True,
    ),
    CauseRule(
        "off_topic", "generation", ("answer", "claims"), lambda c: c.is_off_topic,
        lambda e, code: {"relevancy": numbers.score(e.inputs.score("answer_relevancy")[code])},
        lambda c: 1 - c.score("answer_relevancy"), marks="answer",
    ),
    CauseRule(
        "bad_citation", "generation", ("contexts", "citations"), lambda c: c.bad_citations, _say_citation,
        _citation_confidence, marks="citations",
    ),
    CauseRule(
        "format", "service", ("answer",), lambda c: c.facts.format_signs,
        lambda e, code: {"sign": text(f"causes.sign.{e.inputs.evidence.plain('text_format')[code]}")},
        sub_cause=lambda e, code: e.inputs.evidence.plain("text_format")[code], marks="answer",
    ),
    # Closes the chain: it holds for what fails and no other rule explains.
    CauseRule(UNEXPLAINED, "unknown", (), lambda c: c.failing.failed, _say_tests, lambda c: np.zeros(c.n)),
)  # fmt: skip

#: Causes of the user's own: the rule, and the name of the one that it stands before.
_own: dict[str, tuple[CauseRule, str]] = {}


def rules() -> tuple[CauseRule, ...]:
    """Every rule in the order of the chain, registered ones included."""
    found = list(RULES)
    for rule, before in _own.values():
        found.insert(next((at for at, item in enumerate(found) if item.name == before), len(found) - 1), rule)
    return tuple(found)


def cause_names() -> tuple[str, ...]:
    """The names of :func:`rules`: the code of a cause is its position."""
    return tuple(rule.name for rule in rules())


def rule_of(cause: str) -> CauseRule | None:
    """The rule of a cause; None for ``pass``, ``not_checked`` and unknown ones."""
    return next((rule for rule in rules() if rule.name == cause), None)


def layer(cause: str) -> str:
    """The layer of a cause; empty for ``pass`` and ``not_checked``."""
    rule = rule_of(cause)
    return rule.layer if rule else ""


def title(cause: str) -> str:
    """What a reader calls a cause, in the language in force."""
    rule, key = rule_of(cause), f"causes.{cause}.name"
    return rule.title if rule and rule.title else text(key) if has_text(key) else str(cause)


def advice(cause: str) -> str:
    """What to try for a cause, in the language in force."""
    rule, key = rule_of(cause), f"causes.{cause}.advice"
    return rule.advice if rule and rule.advice else text(key) if has_text(key) else ""


def sign(cause: str) -> str:
    """✗ for a cause of failure, ✓ for ``pass``, ○ for ``not_checked``."""
    return {PASS: "✓", NOT_CHECKED: "○"}.get(cause, "✗")


def cause(
    name: str,
    holds: Callable[[CauseInputs], Any] | None = None,
    *,
    layer: str = "generation",
    needs: tuple[str, ...] = (),
    before: str = UNEXPLAINED,
    title: str = "",
    evidence: str = "",
    advice: str = "",
    **more: Any,
) -> Any:
    """Register a cause of failure; also usable as a decorator. It then stands in failures, panels, reports and the gate.

    Parameters
    ----------
    name
        As in ``failures()``; must not be a built-in one.
    holds
        Takes :class:`workbench.diagnosis.cause_inputs.CauseInputs` (``.score(metric)``, ``.evidence`` with its frames) and
        returns a mask over all samples. Only samples that fail are given causes; ``wb.metric(…, low_fails=True)`` makes
        low scores of a metric fail.
    layer
        One of access, index, retrieval, generation, service.
    before
        The cause that it goes before in the chain: the first that holds is the primary one.
    needs
        Fields without which it cannot be checked.
    title, evidence, advice
        What a reader is told: its name, one sentence on why, and what to try.
    more
        Further attributes of :class:`CauseRule`: ``confidence``, ``explain``, ``red_line``, ``marks`` …

    Raises
    ------
    InputError
        For a name that is taken, an unknown layer, neighbour or attribute.

    Examples
    --------
    >>> @wb.cause("too_short", title="too short", advice="Ask for full sentences.", before="omission")
    ... def too_short(inputs):
    ...     return [len(answer or "") < 10 for answer in inputs.evidence.plain("answer")]
    """
    if not isinstance(name, str) or not name or name in {*(rule.name for rule in RULES), *NOT_FAILING}:
        raise InputError(f"cause name {name!r} is taken; choose another")
    if layer not in LAYERS:
        raise InputError(f"cause {name!r}: layer {layer!r} is not known; use one of {', '.join(LAYERS)}")
    if before not in cause_names():
        raise InputError(f"cause {name!r}: before {before!r}, which is no cause; known are {', '.join(cause_names())}")

    def register(chosen: Callable[[CauseInputs], Any]) -> Callable[[CauseInputs], Any]:
        try:
            rule = CauseRule(name, layer, needs, chosen, title=title, evidence=evidence, advice=advice, **more)
        except TypeError as error:
            raise InputError(f"cause {name!r}: {error}; see workbench.diagnosis.causes.CauseRule") from error
        _own[name] = (rule, before)
        return chosen

    return register if holds is None else register(holds)


def unregister(name: str) -> None:
    """Forget a registered cause; unknown names are ignored."""
    _own.pop(name, None)


# ---------------------------------------------------------------- the causes of a set


@dataclass(frozen=True)
class Causes:
    """Causes of every sample.

    Attributes
    ----------
    primary
        (n,) code of the primary cause, its place in ``rules``; −1 passes, −2 could not be checked.
    holds
        (n, len(rules)) which causes contribute; all False for samples that do not fail.
    confidence
        (n,) in [0, 1] of the primary cause, NaN where there is none.
    """

    primary: np.ndarray
    holds: np.ndarray
    confidence: Floats
    inputs: CauseInputs
    rules: tuple[CauseRule, ...] = field(default_factory=rules)

    def one(self, code: int, view: View) -> Causes:
        """The causes of one sample, whose own ``view`` explains them; the chain is not walked again."""
        mine = slice(code, code + 1)
        return Causes(self.primary[mine], self.holds[mine], self.confidence[mine], CauseInputs(view), self.rules)

    def names(self) -> np.ndarray:
        """Primary cause of each sample by name, ``pass`` and ``not_checked`` included."""
        return np.array([*(rule.name for rule in self.rules), NOT_CHECKED, PASS], dtype=object)[self.primary]

    def has(self, cause: str) -> Mask:
        """(n,) whether ``cause`` contributes."""
        return np.asarray(self.holds[:, [rule.name for rule in self.rules].index(cause)], dtype=bool)

    @cached_property
    def explainer(self) -> Explainer:
        """The pieces of evidence sentences."""
        return Explainer(self.inputs)

    def evidence(self, rule: CauseRule, code: int) -> str:
        """The sentence that says why a cause holds for the sample ``code``, in the language in force."""
        if self.inputs.by_recorded[code]:
            return _say_recorded(self.inputs, code)
        found = dict(rule.explain(self.explainer, code))
        variant = found.pop("variant", "evidence")
        if rule.evidence or not has_text(f"causes.{rule.name}.{variant}"):
            return rule.evidence.format(**found)
        return text(f"causes.{rule.name}.{variant}", **found)

    def explanations(self, code: int) -> dict[str, str]:
        """Every contributing cause of a sample with its evidence, in the order of the chain."""
        mine = zip(self.rules, self.holds[code], strict=True)
        return {rule.name: self.evidence(rule, code) for rule, holds in mine if holds}

    def sub_cause(self, code: int) -> str | None:
        """The sub-cause of the primary cause of a failing sample: of a missed document, or the sign of a broken format."""
        find = self.rules[self.primary[code]].sub_cause
        return None if find is None or self.inputs.by_recorded[code] else find(self.explainer, code)


def _say_recorded(inputs: CauseInputs, code: int) -> str:
    """Which recorded scores of a sample are low."""
    found = inputs.recorded
    parts = [
        text("logs.recorded.one", metric=metric_title(name), value=numbers.score(own[code]), cut=numbers.score(cut))
        for name, own, low, cut in zip(found.names, found.values, found.low, found.cuts, strict=True)
        if low[code]
    ]
    return text("logs.recorded.evidence", scores=listed(parts))


def attribute(view: View) -> Causes:
    """Walk the chain for every sample at once."""
    inputs, chain = CauseInputs(view), rules()
    failed, tested = inputs.failing
    holds, by_recorded = np.zeros((view.n, len(chain)), dtype=bool), inputs.by_recorded
    for place, rule in enumerate(chain[:-1]):
        free = ~holds[:, :place].any(axis=1) if rule.last_resort else True
        own = np.asarray(rule.holds(inputs), dtype=bool) & ~by_recorded
        holds[:, place] = (own | inputs.recorded_cause(rule.name)) & failed & free
    holds[:, -1] = failed & ~holds.any(axis=1)
    primary = np.where(failed, holds.argmax(axis=1), np.where(tested, -1, -2))
    confidence = np.where(primary >= 0, 1.0, np.nan)
    for place, rule in enumerate(chain):
        mine = primary == place
        if rule.confidence is not None and mine.any():
            confidence[mine] = np.clip(np.nan_to_num(np.asarray(rule.confidence(inputs))[mine], nan=1.0), 0, 1)
    confidence[by_recorded] = np.nan  # what another tool's score is worth is not known here
    return Causes(primary, holds, confidence, inputs, chain)


def failure_rows(causes: Causes) -> pd.DataFrame:
    """The table of failures; see ``Evaluation.failures``."""
    import pandas as pd

    from workbench.scoring.scored import LazyTexts, repeated

    inputs, n, chain, language = causes.inputs, causes.inputs.n, causes.rules, get_language()
    names = [*(rule.name for rule in chain), NOT_CHECKED, PASS]
    subs = np.full(n, None, dtype=object)
    for place, rule in enumerate(chain):
        if rule.sub_cause is not None:
            for code in np.flatnonzero((causes.primary == place) & ~inputs.by_recorded).tolist():
                subs[code] = rule.sub_cause(causes.explainer, code)

    def said(code: int) -> str:
        """The evidence sentence, worked out when it is read, in the language that was in force when the table was made."""
        with speaking(language):
            return causes.evidence(chain[causes.primary[code]], code) if causes.primary[code] >= 0 else ""

    rows = {
        "passed": np.where(causes.primary == -2, None, causes.primary == -1),
        "primary_cause": repeated(names, causes.primary % len(names)),
        "sub_cause": subs,
        "causes": _distinct(causes.holds, names),
        "confidence": causes.confidence,
        "evidence": LazyTexts.of(np.arange(n), said),
        "advice": repeated(["" if name == PASS else advice(name) for name in names], causes.primary % len(names)),
        "refusal_outcome": inputs.outcome,
        "unchecked": unchecked(inputs),
    }
    return pd.DataFrame(rows, index=inputs.evidence.ids)


def _distinct(flags: Mask, names: list[str]) -> np.ndarray:
    """For each row of ``flags`` the names whose flag is set; rows with the same flags share one list."""
    _, first, which = np.unique(flags @ (1 << np.arange(flags.shape[1])), return_index=True, return_inverse=True)
    lists = np.empty(len(first), dtype=object)
    for place, row in enumerate(first):
        lists[place] = [names[at] for at in np.flatnonzero(flags[row])]
    return lists[which]


def unchecked(inputs: CauseInputs) -> list[list[str]]:
    """What each sample lacks, so that some rules could not be checked: names of fields and evidence."""
    facts = inputs.facts
    lacks = {
        "contexts": ~facts.recorded,
        "expected_docs": ~(facts.judged | facts.expects_nothing),
        "reference": ~facts.referenced,
        "must_include": ~inputs.view.has_points,
        "tenant": ~facts.has_tenants,
        "claims": facts.skipped("claims", "support") | facts.failed("claims", "support"),
        "corpus": np.array([value is None for value in facts.evidence.nested("not_in_corpus")], dtype=bool),
        "answers": np.full(inputs.n, not facts.set_has_outcomes),
        "expectation": np.isnan(inputs.view.once(answerable)),
    }
    return _distinct(np.stack(list(lacks.values()), axis=1), list(lacks)).tolist()


def lacking(causes: Causes, cause: str) -> list[list[str]]:
    """What each sample lacks so that ``cause`` could not be told if it were there; an empty list: it could."""
    needs = [need.split(" or ") for rule in causes.rules if rule.name == cause for need in rule.needs]
    known = {"answer": "answers", "expect_refusal": "expectation"}
    named = [[known.get(name, name) for name in alternatives] for alternatives in needs]
    return [[group[0] for group in named if all(name in row for name in group)] for row in unchecked(causes.inputs)]


# ---------------------------------------------------------------- what can be said of one failing sample


class Explainer:
    """Pieces of evidence sentences. ``code`` is the position of a sample, ``row`` that of a claim."""

    def __init__(self, inputs: CauseInputs) -> None:
        self.inputs: CauseInputs = inputs
        self.view: View = inputs.view
        self.facts: Facts = inputs.facts

    @cached_property
    def sub_causes(self) -> Mapping[int, str]:
        """Why the document that a retrieval miss lacks did not come, by sample."""
        from workbench.diagnosis.missed import first_sub_causes

        return first_sub_causes(self.view)

    # -- by sample, prepared once -----------------------------------------------------------------------------------

    @cached_property
    def foreign(self) -> dict[int, list[tuple[str, str]]]:
        """Foreign documents of each sample: ``(document, place)``."""
        frame = self.facts.foreign
        return _grouped(frame["code"].tolist(), zip(frame["doc"].tolist(), frame["place"].tolist(), strict=True))

    @cached_property
    def lost_documents(self) -> dict[int, list[str]]:
        """Expected documents that are not among the prompted contexts."""
        entries, names = self.inputs.entries, self.facts.entries
        lost = names[names["entry"].isin(entries.loc[~entries["found"], "entry"])]
        return _grouped(lost["code"].tolist(), lost["doc_id"].tolist())

    @cached_property
    def bad_marks(self) -> dict[int, tuple[list[str], list[str]]]:
        """Citations of each sample that resolve to nothing, and those that do not support their sentence."""
        cited, (pair, _) = self.facts.citations, self.view.cited
        frame = self.facts.evidence.claims
        marks = frame["text"].to_numpy(dtype=object)[(frame["side"] == "citation").to_numpy()]
        found: dict[int, tuple[list[str], list[str]]] = {}
        rows = zip(cited["code"].tolist(), cited["cited"].tolist(), pair.tolist(), marks.tolist(), strict=True)
        for code, target, supported, mark in rows:
            if target < 0 or supported == 0:
                found.setdefault(code, ([], []))[0 if target < 0 else 1].append(mark)
        return found

    # -- pieces -----------------------------------------------------------------------------------------------------

    @cached_property
    def _texts(self) -> np.ndarray:
        return self.facts.evidence.claims["text"].to_numpy(dtype=object)

    @cached_property
    def _documents(self) -> np.ndarray:
        frame = self.facts.evidence.contexts
        names = frame["doc_id"].astype(object)
        return names.where(names.notna(), "#" + frame["rank"].astype("str")).to_numpy(dtype=object)

    @cached_property
    def _best(self) -> np.ndarray:
        return best_contexts(self.view, "answer", self.view.answer_verdicts)

    @cached_property
    def masks(self) -> dict[str, Mask]:
        """Claims that decide causes, by cause."""
        view, inputs = self.view, self.inputs
        verdicts = view.answer_verdicts
        return {
            "contradicting": inputs.contradicting_claims,
            "invented": serious(view) & (verdicts == NOT_MENTIONED),
            "unsupported": np.isin(verdicts, (NOT_MENTIONED, CONTRADICTED)),
            "held": np.isin(verdicts, (SUPPORTED, UNSURE)),
            "against_reference": (verdicts == SUPPORTED) & (view.answer_other == CONTRADICTED),
            "dropped_points": inputs.unmade_points & (view.points.own_entail >= 0.5),
            "dropped_claims": inputs.dropped_claims,
            "absent_points": view.points.entail < 0.5,
            "absent_claims": view.reference_verdicts == NOT_MENTIONED,
        }

    def rows(self, claims: Claims, code: int, mask: Mask) -> np.ndarray:
        """Rows of ``claims`` of one sample for which ``mask`` holds."""
        first, last = np.searchsorted(claims.code, [code, code + 1])
        return first + np.flatnonzero(mask[first:last])

    def quote(self, claims: Claims, row: int) -> str:
        """The words of a claim, cut."""
        words = " ".join(str(self._texts[claims.row[row]]).split())
        return words if len(words) <= QUOTE else words[: QUOTE - 1] + "…"

    def where(self, row: int) -> dict[str, object]:
        """Document and rank of the context that decides an answer claim."""
        context = self._best[row]
        if context < 0:
            return {"doc": "–", "rank": "–"}
        return {"doc": self._documents[context], "rank": int(self.facts.contexts.rank[context])}

    def place(self, side: str, row: int) -> dict[str, object]:
        """Document and rank of the context that supports a key point or reference claim best."""
        support = self.facts.support(side)
        cells = self._cells(side, row)
        if not len(cells):
            return {"doc": "–", "rank": "–"}
        context = support.context[cells[np.argmax(np.nan_to_num(support.entail[cells]))]]
        return {"doc": self._documents[context], "rank": int(self.facts.contexts.rank[context])}

    def _cells(self, side: str, row: int) -> np.ndarray:
        claim = self.facts.support(side).claim
        first, last = np.searchsorted(claim, [row, row + 1])
        return np.arange(first, last)


def _grouped(codes: Sequence[int], values: Iterable[Any]) -> dict[int, list[Any]]:
    groups: dict[int, list[Any]] = {}
    for code, value in zip(codes, values, strict=True):
        groups.setdefault(code, []).append(value)
    return groups
