"""Checks of what was retrieved: ids that meet nothing, lists too short, texts that are empty, repeated or leaked."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from workbench.data.doctor import Finding, Level, Patient
from workbench.data.normalising import normalise

#: Share of a context that the reference must make up to count as pasted into it.
PASTED = 0.9


def unmatched_ids(patient: Patient) -> Iterator[Finding]:
    """Expected ids that no context and no document has, and context ids that the corpus does not have."""
    known = patient.retrieved_ids | patient.corpus_ids
    wanted = {doc_id for ids in patient.expected for doc_id in ids or ()}
    if wanted and known and not wanted & known:
        values = {"expected": _some(wanted), "found": _some(known)}
        flags = [bool(ids) for ids in patient.expected]
        yield Finding("ids_never_match", "error", patient.where(flags), values=values)
    elif wanted and not patient.retrieved_ids and any(patient.contexts):
        yield Finding("contexts_without_ids", "warning", patient.where(bool(items) for items in patient.contexts))
    if not patient.corpus_ids:
        return
    absent = wanted - patient.corpus_ids
    if absent and wanted & known:
        flags = [bool(absent.intersection(ids or ())) for ids in patient.expected]
        yield Finding("expected_not_in_corpus", "warning", patient.where(flags), values={"ids": _some(absent)})
    unknown = patient.retrieved_ids - patient.corpus_ids
    if unknown:
        flags = [any(item.get("doc_id") in unknown for item in items or ()) for items in patient.contexts]
        yield Finding("retrieved_not_in_corpus", "warning", patient.where(flags), values={"ids": _some(unknown)})


def _some(ids: set[str], limit: int = 3) -> str:
    shown = [one if len(one) <= 40 else one[:39] + "…" for one in sorted(ids)[:limit]]
    return ", ".join(shown) + (", …" if len(ids) > limit else "")


def unknown_citations(patient: Patient) -> Iterator[Finding]:
    """The service reports citing documents that are not among the contexts of the sample."""
    flags = []
    for cited, items in zip(patient.column("citations"), patient.contexts, strict=True):
        known = {item["doc_id"] for item in items or () if item.get("doc_id") is not None}
        numbers = {str(at) for at in range(1, len(items or ()) + 1)}
        flags.append(bool(known) and any(str(one).strip("[]【】") not in known | numbers for one in cited or ()))
    if any(flags):
        yield Finding("unknown_citations", "warning", patient.where(flags))


def short_lists(patient: Patient) -> Iterator[Finding]:
    """Fewer contexts than k: precision@k cannot reach 1."""
    lengths = [len(items) for items in patient.contexts if items is not None]
    if not lengths:
        return
    flags = [items is not None and 0 < len(items) < patient.k for items in patient.contexts]
    if any(flags):
        level: Level = "warning" if max(lengths) < patient.k else "note"
        values = {"k": patient.k, "longest": max(lengths)}
        yield Finding("k_beyond_list", level, patient.where(flags), values=values)
    nothing = [items == [] for items in patient.contexts]
    if any(nothing):
        yield Finding("nothing_retrieved", "note", patient.where(nothing))


def context_texts(patient: Patient) -> Iterator[Finding]:
    """Contexts without text, and the same text twice in one sample."""
    empty = [any(not item["text"].strip() for item in items or ()) for items in patient.contexts]
    if any(empty):
        yield Finding("empty_contexts", "warning", patient.where(empty))
    repeated = [_repeats(items or []) for items in patient.contexts]
    if any(repeated):
        yield Finding("duplicate_contexts", "warning", patient.where(repeated))


def _repeats(items: list[dict[str, Any]]) -> bool:
    ids = [item["doc_id"] for item in items if item.get("doc_id") is not None]
    texts = [item["text"].strip() for item in items if item["text"].strip()]
    return len(set(ids)) < len(ids) or len(set(texts)) < len(texts)


def pasted_references(patient: Patient) -> Iterator[Finding]:
    """The reference itself stands as a context: the retriever was given the answer."""
    flags = [
        isinstance(reference, str) and len(reference) >= 20 and _is_pasted(normalise(reference), items or [])
        for reference, items in zip(patient.column("reference"), patient.contexts, strict=True)
    ]
    if any(flags):
        yield Finding("reference_in_contexts", "warning", patient.where(flags))


def _is_pasted(reference: str, items: list[dict[str, Any]]) -> bool:
    near = [item["text"] for item in items if len(item["text"]) * PASTED <= 2 * len(reference)]
    return any(reference in plain and len(reference) >= PASTED * len(plain) for plain in map(normalise, near))


def score_order(patient: Patient) -> Iterator[Finding]:
    """Scores that rise along the list: the order is not the order of the scores, or they are distances."""
    flags, rising = [], 0
    for items in patient.contexts:
        scores = [item["score"] for item in items or () if item.get("score") is not None]
        pairs = list(itertools.pairwise(scores))
        flags.append(any(later > earlier for earlier, later in pairs))
        rising += bool(pairs) and all(later >= earlier for earlier, later in pairs) and flags[-1]
    if any(flags):
        check = "scores_ascending" if rising == sum(flags) else "scores_not_descending"
        yield Finding(check, "warning", patient.where(flags))


def tenants(patient: Patient) -> Iterator[Finding]:
    """Documents have tenants and samples have none: leaks cannot be seen."""
    if any(value is not None for value in patient.column("tenant")):
        return
    flags = [any(item.get("tenant") is not None for item in items or ()) for items in patient.contexts]
    in_corpus = patient.corpus is not None and bool(patient.corpus.frame["tenant"].notna().any())
    if any(flags) or in_corpus:
        yield Finding("tenant_only_on_documents", "warning", patient.where(flags) or patient.ids)


CHECKS = (
    unmatched_ids,
    short_lists,
    context_texts,
    pasted_references,
    score_order,
    tenants,
    unknown_citations,
)
