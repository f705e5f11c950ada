"""Metrics of the retrieved text: relevance, recall of what the reference says, use of what was retrieved, noise."""

from __future__ import annotations

from functools import partial

import numpy as np

from workbench.scoring.scored import (
    JUDGE_ERROR,
    OK,
    SKIPPED,
    UNDEFINED,
    Floats,
    Mask,
    Scored,
    count,
    mean_of,
    ratio,
    with_states,
)
from workbench.scoring.view import SUPPORTED, Metric, View

_RAGAS = "RAGAS (Es et al. 2024)"

_metric = partial(Metric, group="contexts", layer="retrieval")

METRICS = (
    _metric("context_precision", "Σ precision@t · v_t / Σ v_t; 0 if no context is relevant", ("contexts",), "no contexts",
            source=_RAGAS, on_relevance=True),
    _metric("context_relevant_share", "Σ v_t / T", ("contexts",), "no contexts", default=False, on_relevance=True,
            has_level=False),
    _metric("context_relevance", "mean relevance of the contexts", ("contexts",), "no contexts", has_level=False,
            source="TruLens RAG triad", on_relevance=True, in_report=6, in_overview=True),
    _metric("context_sentence_relevance", "relevant sentences / sentences", ("contexts",), "no sentences", has_level=False,
            source="RAGAS context relevancy (Es et al. 2024)", default=False, on_relevance=True),
    _metric("context_recall", "Σ X / m; 0 with a reference and no contexts", ("reference", "contexts"),
            "no reference claims", source=_RAGAS, in_report=5),
    _metric("context_entity_recall", "entities of the reference found in the contexts / of the reference",
            ("reference", "contexts"), "no entities in the reference", source=_RAGAS, read_from="texts"),
    _metric("context_utilization", "Σ X·A / Σ X", ("answer", "reference", "contexts"), "no reference claim was retrieved",
            source="RAGChecker (Ru et al. 2024)", layer="generation"),
    _metric("contexts_used_share", "contexts with entail ≥ support for an answer claim / T", ("answer", "contexts"),
            "no contexts", higher_is_better=None, default=False, layer="generation"),
    _metric("tokens_unused", "tokens of contexts that support no answer claim", ("answer", "contexts"), "no contexts",
            high=float("inf"), higher_is_better=False, default=False, layer="generation"),
    _metric("noise_sensitivity", "#(S and not R) / n", ("answer", "reference", "contexts"), "no claims",
            higher_is_better=False, source="RAGChecker (Ru et al. 2024)", layer="generation"),
    _metric("noise_sensitivity_relevant", "#(S and not R, by a relevant context) / n", ("answer", "reference", "contexts"),
            "no claims", higher_is_better=False, default=False, layer="generation"),
    _metric("noise_sensitivity_irrelevant", "#(S and not R, by an irrelevant context) / n",
            ("answer", "reference", "contexts"), "no claims", higher_is_better=False, default=False, layer="generation"),
)  # fmt: skip


def compute(view: View) -> dict[str, Scored]:
    """All metrics of this group."""
    return {**_relevance(view), **_recall(view), **_use(view), **_noise(view)}


def _relevance(view: View) -> dict[str, Scored]:
    facts = view.facts
    contexts, empty = facts.contexts, facts.n_contexts == 0
    shown = contexts.prompted
    code, relevance = contexts.code[shown], contexts.relevance[shown]
    broken = count(code, np.isnan(relevance), view.n)
    conditions = (*view.fields("contexts"), (empty, UNDEFINED), *view.judged(broken, "relevance"))
    v = view.relevant[shown].astype(float)
    relevant = np.bincount(code, weights=v, minlength=view.n)
    return {
        "context_precision": with_states(_rank_weighted(code, v, view.n), *conditions),
        "context_relevant_share": with_states(ratio(relevant, facts.n_contexts), *conditions),
        "context_relevance": with_states(mean_of(code, relevance, view.n), *conditions),
        "context_sentence_relevance": _sentences(view, code, shown),
    }


def _rank_weighted(code: np.ndarray, v: Floats, n: int) -> Floats:
    """Σ precision@t · v_t / Σ v_t; contexts of a sample stand together in their order."""
    first = np.r_[True, code[1:] != code[:-1]] if len(code) else np.zeros(0, dtype=bool)
    starts = np.flatnonzero(first)
    group = np.cumsum(first) - 1
    running = np.cumsum(v)
    before = (running - v)[starts][group] if len(code) else running
    place = np.arange(len(code)) - starts[group] + 1 if len(code) else running
    precision = (running - before) / place
    hits = np.bincount(code, weights=v, minlength=n)
    weighted = np.bincount(code, weights=precision * v, minlength=n)
    return np.where(hits > 0, ratio(weighted, hits), 0.0)


def _sentences(view: View, code: np.ndarray, shown: Mask) -> Scored:
    facts, frame = view.facts, view.facts.evidence.contexts
    relevant = frame["relevant_sentences"].to_numpy(dtype=float)[shown]
    total = frame["n_sentences"].to_numpy(dtype=float)[shown]
    values = ratio(
        np.bincount(code, weights=relevant, minlength=view.n), np.bincount(code, weights=total, minlength=view.n)
    )
    empty = (facts.n_contexts == 0, UNDEFINED)
    return with_states(values, *view.fields("contexts"), empty, *view.judged(np.zeros(view.n), "sentences"))


def _recall(view: View) -> dict[str, Scored]:
    facts, claims = view.facts, view.reference
    fields = view.fields("reference", "contexts")
    nothing = facts.n_contexts == 0
    supported = count(claims.code, view.reference_verdicts == SUPPORTED, view.n)
    total = np.bincount(claims.code, minlength=view.n)
    judged = view.judged(count(claims.code, claims.incomplete, view.n), "claims", "support")
    recall = with_states(np.where(nothing, 0.0, ratio(supported, total)), *fields, (nothing, OK), *judged)
    found, entities = facts.evidence.number("text_entities_found"), facts.evidence.number("text_entities")
    return {"context_recall": recall, "context_entity_recall": with_states(ratio(found, entities), *fields)}


def _use(view: View) -> dict[str, Scored]:
    claims = view.reference
    retrieved = view.reference_verdicts == SUPPORTED
    used = retrieved & (view.reference_other == SUPPORTED)
    broken = claims.incomplete | (retrieved & np.isnan(claims.other_entail))
    utilization = with_states(
        ratio(count(claims.code, used, view.n), count(claims.code, retrieved, view.n)),
        *view.fields("answer", "reference", "contexts"),
        *view.judged(count(claims.code, broken, view.n), "claims", "support", "reference"),
    )
    return {"context_utilization": utilization, **_shares(view)}


def _shares(view: View) -> dict[str, Scored]:
    facts, support, contexts = view.facts, view.facts.support("answer"), view.facts.contexts
    used, unread = np.zeros(len(contexts.code), dtype=bool), np.zeros(len(contexts.code), dtype=bool)
    entail = np.fmax(support.entail, support.stitched)
    used[support.context[entail >= view.t.support]] = True
    unread[support.context[np.isnan(entail)]] = True
    idle = contexts.prompted & ~used
    tokens = np.where(idle, facts.evidence.contexts["n_tokens"].to_numpy(dtype=float), 0.0)
    conditions = (
        *view.fields("answer", "contexts"),
        (facts.n_contexts == 0, UNDEFINED),
        *view.judged(count(contexts.code, unread & ~used, view.n), "claims", "support"),
    )
    return {
        "contexts_used_share": with_states(ratio(count(contexts.code, used, view.n), facts.n_contexts), *conditions),
        "tokens_unused": with_states(np.bincount(contexts.code, weights=tokens, minlength=view.n), *conditions),
    }


def _noise(view: View) -> dict[str, Scored]:
    claims = view.answer
    noise = (view.answer_verdicts == SUPPORTED) & (view.answer_other != SUPPORTED)
    broken = claims.incomplete | np.isnan(claims.other_entail)
    conditions = (
        *view.fields("answer", "reference", "contexts"),
        *view.judged(count(claims.code, broken, view.n), "claims", "support", "reference"),
    )
    total = np.bincount(claims.code, minlength=view.n)
    by_relevant = noise & _supported_by_relevant(view)
    parts = {"": noise, "_relevant": by_relevant, "_irrelevant": noise & ~by_relevant}
    return {
        f"noise_sensitivity{name}": with_states(
            ratio(count(claims.code, mask, view.n), total), *conditions, *(relevance_known(view) if name else ())
        )
        for name, mask in parts.items()
    }


def relevance_known(view: View) -> tuple[tuple[Mask, str], ...]:
    """Conditions of a metric that needs the relevance of the contexts, where there are any."""
    facts, contexts = view.facts, view.facts.contexts
    missing = count(contexts.code, contexts.prompted & np.isnan(contexts.relevance), view.n) > 0
    there = facts.n_contexts > 0
    return ((there & facts.skipped("relevance"), SKIPPED), (there & (facts.failed("relevance") | missing), JUDGE_ERROR))


def _supported_by_relevant(view: View) -> Mask:
    """Answer claims with a supporting context that is relevant."""
    support = view.facts.support("answer")
    hit = (np.fmax(support.entail, support.stitched) >= view.t.support) & view.relevant[support.context]
    mask = np.zeros(len(view.answer), dtype=bool)
    mask[support.claim[hit]] = True
    return mask
