"""Metrics of the answer: grounding, correctness against the reference, relevancy, key points, numbers, citations."""

from __future__ import annotations

from functools import partial

import numpy as np

from workbench.scoring.groups.refusal import outcome, refused
from workbench.scoring.scored import INPUT_ERROR, NOT_APPLICABLE, UNDEFINED, Floats, Scored, count, ratio, with_states
from workbench.scoring.view import CONTRADICTED, NOT_MENTIONED, SUPPORTED, UNSURE, Metric, View

_GROUNDED = ("answer", "contexts")
_COMPARED = ("answer", "reference")

_metric = partial(Metric, group="answer", layer="generation")

METRICS = (
    _metric("faithfulness", "supported / D", _GROUNDED, "no answer, no claims, or all unsure",
            source="RAGAS (Es et al. 2024); FActScore (Min et al. 2023)", target=0.9, low_score=0.7, low_fails=True,
            in_report=7, in_overview=True, begin_with=1),
    _metric("sentence_faithfulness", "sentences whose claims are all supported / sentences with claims", _GROUNDED,
            "no answer or no claims"),
    _metric("hallucination_rate", "(contradicted + not mentioned) / D", _GROUNDED, "no answer, no claims, or all unsure",
            higher_is_better=False, in_report=8),
    _metric("contradiction_rate", "contradicted / D", _GROUNDED, "no answer, no claims, or all unsure",
            higher_is_better=False, in_report=9),
    _metric("not_mentioned_rate", "not mentioned / D", _GROUNDED, "no answer, no claims, or all unsure",
            higher_is_better=False, default=False),
    _metric("unsure_share", "unsure / n", _GROUNDED, "no answer or no claims", higher_is_better=None, default=False),
    _metric("self_knowledge", "#(R and not S) / n", ("answer", "reference", "contexts"), "no answer or no claims",
            higher_is_better=None, source="RAGChecker (Ru et al. 2024)", default=False),
    _metric("answer_relevancy", "mean similarity of questions made from the answer alone to the question", ("answer",),
            "no answer, or a refusal", source="RAGAS (Es et al. 2024)", target=0.8, low_fails=True, in_report=10),
    _metric("answer_right", "probability that the answer makes the point of its reference, of the alternative that fits best",
            _COMPARED, "no answer", source="EVOUNA (Wang et al. 2023), see README", read_from="texts", in_report=2),
    _metric("answer_correctness", "F1 of P = Σ R / n and Q = Σ A / m", _COMPARED, "no answer or no claims",
            source="RAGAS; RAGChecker overall F1", in_overview=True, begin_with=2),
    _metric("answer_correctness_precision", "Σ R / n", _COMPARED, "no answer or no claims", default=False),
    _metric("answer_correctness_recall", "Σ A / m", _COMPARED, "no answer or no claims", default=False),
    _metric("answer_similarity", "similarity of answer and reference, percentile of random pairs", _COMPARED, "no answer"),
    _metric("completeness", "key_point_coverage where there are key points, else Σ A / m", ("answer",),
            "no answer or no claims", in_report=11),
    _metric("key_point_coverage", "points made in the answer / points", ("answer", "must_include"), "no answer",
            read_from="texts", begin_with=5),
    _metric("key_point_grounding", "points in answer and contexts / points in the answer",
            ("answer", "must_include", "contexts"), "no answer, or no point made", read_from="texts"),
    _metric("forbidden_hits", "forbidden contents in the answer", ("answer", "must_not_include"), "no answer",
            high=float("inf"), higher_is_better=False, read_from="texts"),
    _metric("number_accuracy", "numbers of the answer (not in the question) found in the contexts / such numbers",
            _GROUNDED, "no answer, or no numbers", read_from="texts"),
    _metric("entity_precision", "entities of the answer found in the contexts / of the answer", _GROUNDED,
            "no answer, or no entities", default=False, read_from="texts"),
    _metric("citation_validity", "citations that resolve to a context / citations", _GROUNDED, "no answer, or no citations",
            read_from="texts", low_fails=True),
    _metric("citation_precision", "(sentence, cited document) pairs supported / pairs", _GROUNDED,
            "no answer, or no citations", source="ALCE (Gao et al. 2023)", low_fails=True, in_report=12),
    _metric("citation_recall", "claims with a supporting citation / claims", _GROUNDED,
            "no answer, no citations or no claims", source="ALCE (Gao et al. 2023)"),
    _metric("answer_perplexity", "exp(−mean log-probability)", ("logprobs",), "no tokens", low=1.0, high=float("inf"),
            higher_is_better=None, default=False, read_from="texts"),
)  # fmt: skip


def compute(view: View) -> dict[str, Scored]:
    """All metrics of this group."""
    return {
        **_grounding(view), **view.once(correctness), **_relevancy(view), **view.once(key_points), **_numbers(view),
        **_citations(view), "answer_perplexity": _perplexity(view),
    }  # fmt: skip


def _grounding(view: View) -> dict[str, Scored]:
    claims, found, n = view.answer, view.answer_verdicts, view.n
    conditions = (
        *view.fields("answer", "contexts"),
        *view.judged(count(claims.code, claims.incomplete, n), "claims", "support"),
    )
    total = np.bincount(claims.code, minlength=n).astype(float)
    of = {code: count(claims.code, found == code, n) for code in (SUPPORTED, CONTRADICTED, UNSURE, NOT_MENTIONED)}
    decided = total - of[UNSURE]
    return {
        "faithfulness": with_states(ratio(of[SUPPORTED], decided), *conditions),
        "sentence_faithfulness": with_states(_by_sentence(view), *conditions),
        "hallucination_rate": with_states(ratio(of[CONTRADICTED] + of[NOT_MENTIONED], decided), *conditions),
        "contradiction_rate": with_states(ratio(of[CONTRADICTED], decided), *conditions),
        "not_mentioned_rate": with_states(ratio(of[NOT_MENTIONED], decided), *conditions),
        "unsure_share": with_states(ratio(of[UNSURE], total), *conditions),
        "self_knowledge": _self_knowledge(view, total),
    }


def _self_knowledge(view: View, total: Floats) -> Scored:
    claims = view.answer
    broken = count(claims.code, claims.incomplete | np.isnan(claims.other_entail), view.n)
    known = (view.answer_other == SUPPORTED) & (view.answer_verdicts != SUPPORTED)
    return with_states(
        ratio(count(claims.code, known, view.n), total),
        *view.fields("answer", "reference", "contexts"),
        *view.judged(broken, "claims", "support", "reference"),
    )


def _by_sentence(view: View) -> Floats:
    claims = view.answer
    key = claims.code * (1 << 20) + claims.sentence
    sentence = view.facts.once("sentences of claims", lambda: np.unique(key, return_inverse=True)[1])
    n_sentences = int(sentence.max()) + 1 if len(sentence) else 0
    faulty = np.bincount(sentence, weights=view.answer_verdicts != SUPPORTED, minlength=n_sentences)
    owner = np.zeros(n_sentences, dtype=np.int64)
    owner[sentence] = claims.code
    return ratio(count(owner, faulty == 0, view.n), np.bincount(owner, minlength=view.n))


def correctness(view: View) -> dict[str, Scored]:
    """Claims of answer and reference against each other."""
    facts, answer, reference, n = view.facts, view.answer, view.reference, view.n
    precision = ratio(count(answer.code, view.answer_other == SUPPORTED, n), np.bincount(answer.code, minlength=n))
    recall = ratio(
        count(reference.code, view.reference_other == SUPPORTED, n), np.bincount(reference.code, minlength=n)
    )
    broken = count(answer.code, np.isnan(answer.other_entail), n) + count(
        reference.code, np.isnan(reference.other_entail), n
    )
    fields = view.fields("answer", "reference")
    conditions = (*fields[:2], (view.once(outcome) == "right_refusal", NOT_APPLICABLE), fields[2])
    judged = view.judged(broken, "claims", "reference")
    total = precision + recall
    f1 = np.where(total > 0, ratio(2 * precision * recall, total), np.where(total == 0, 0.0, np.nan))
    similarity = facts.evidence.number("judge_answer_similarity")
    right = (*conditions[:2], (facts.expect_refusal == 1, NOT_APPLICABLE), *conditions[2:])
    return {
        "answer_right": with_states(facts.right, *right),
        "answer_correctness": with_states(f1, *conditions, *judged),
        "answer_correctness_precision": with_states(precision, *conditions, *judged),
        "answer_correctness_recall": with_states(recall, *conditions, *judged),
        "answer_similarity": with_states(similarity, *fields, *view.judged(np.isnan(similarity), "similarity")),
    }


def _relevancy(view: View) -> dict[str, Scored]:
    facts = view.facts
    asked = facts.evidence.questions
    code = facts.evidence.codes(asked)
    similarity = asked["similarity"].to_numpy(dtype=float)
    from_questions = ratio(np.bincount(code, weights=similarity, minlength=view.n), np.bincount(code, minlength=view.n))
    direct = facts.evidence.number("judge_relevancy")
    values = np.where(np.isnan(direct), from_questions, direct)
    declined = view.once(refused).values == 1
    score = with_states(values, *view.fields("answer"), (declined, UNDEFINED), *view.judged(np.isnan(values), "relevancy"))
    return {"answer_relevancy": score}


def key_points(view: View) -> dict[str, Scored]:
    """Key points made and grounded, forbidden content."""
    facts, points, n = view.facts, view.points, view.n
    total = np.bincount(points.code, minlength=n).astype(float)
    made = points.other_entail >= 0.5
    both = made & (points.entail >= 0.5)
    forbidden = facts.claims("forbidden")
    asked, banned = total > 0, np.bincount(forbidden.code, minlength=n) > 0
    unreadable = (facts.unreadable("answer", "must_include"), INPUT_ERROR)
    silent = (~facts.answered, UNDEFINED)
    coverage = ratio(count(points.code, made, n), total)
    recall = view.once(correctness)["answer_correctness_recall"]
    return {
        "key_point_coverage": with_states(coverage, unreadable, (~asked, NOT_APPLICABLE), silent),
        "key_point_grounding": with_states(
            ratio(count(points.code, both, n), count(points.code, made, n)),
            unreadable, (facts.unreadable("contexts"), INPUT_ERROR), (~asked | ~facts.recorded, NOT_APPLICABLE), silent,
        ),
        "completeness": Scored(
            np.where(asked, np.where(facts.answered, coverage, np.nan), recall.values),
            np.where(asked, with_states(coverage, unreadable, silent).states, recall.states).astype(np.int8),
        ),
        "forbidden_hits": with_states(
            count(forbidden.code, forbidden.other_entail >= 0.5, n),
            (facts.unreadable("answer", "must_not_include"), INPUT_ERROR), (~banned, NOT_APPLICABLE), silent,
        ),
    }  # fmt: skip


def _numbers(view: View) -> dict[str, Scored]:
    number = view.facts.evidence.number
    fields = view.fields("answer", "contexts")
    return {
        "number_accuracy": with_states(ratio(number("text_numbers_found"), number("text_numbers")), *fields),
        "entity_precision": with_states(
            ratio(number("text_answer_entities_found"), number("text_answer_entities")), *fields
        ),
    }


def _citations(view: View) -> dict[str, Scored]:
    facts, n = view.facts, view.n
    cited = facts.citations
    code = cited["code"].to_numpy(dtype=np.int64)
    total = np.bincount(code, minlength=n).astype(float)
    resolved = cited["cited"].to_numpy(dtype=np.int64) >= 0
    pair, claim_cited = view.cited
    fields = view.fields("answer", "contexts")
    claims = view.answer
    judged = view.judged(count(claims.code, claims.incomplete, n) + unread_citations(view), "claims", "support")
    usable = ~np.isnan(pair)
    claimed = np.where(total > 0, np.bincount(claims.code, minlength=n), 0)
    return {
        "citation_validity": with_states(ratio(count(code, resolved, n), total), *fields),
        "citation_precision": with_states(ratio(count(code, pair == 1, n), count(code, usable, n)), *fields,
                                     (total == 0, UNDEFINED), *judged),
        "citation_recall": with_states(ratio(count(claims.code, claim_cited, n), claimed), *fields,
                                  (total == 0, UNDEFINED), *judged),
    }  # fmt: skip


def unread_citations(view: View) -> Floats:
    """Per sample, pairs of citation and claim whose verdict is missing, so that nothing can be said of its citations."""
    pairs, cited = view.facts.cited_claims, view.facts.citations["code"].to_numpy(dtype=np.int64)
    code = cited[pairs["citation"].to_numpy(dtype=np.int64)]
    return count(code, np.isnan(pairs["entail"].to_numpy(dtype=float)), view.n)


def _perplexity(view: View) -> Scored:
    recorded = view.facts.evidence.nested("logprobs")
    values = np.full(view.n, np.nan)
    for code, logprobs in enumerate(recorded):
        if logprobs:
            values[code] = np.exp(-np.mean(np.asarray(logprobs, dtype=float)))
    missing = np.array([value is None for value in recorded], dtype=bool)
    return with_states(values, (view.facts.unreadable("logprobs"), INPUT_ERROR), (missing, NOT_APPLICABLE))
