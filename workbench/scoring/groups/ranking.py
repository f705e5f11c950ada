"""Ranking metrics of the recorded lists against relevance judgements; the order of the list decides."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from workbench.scoring.ranking_kernels import list_hits, metrics_of
from workbench.scoring.scored import INPUT_ERROR, NOT_APPLICABLE, UNDEFINED, Mask, Scored, with_states
from workbench.scoring.view import Metric, View

_NEEDS = ("expected_docs", "contexts")
_TREC = "trec_eval 10"

_metric = partial(Metric, group="ranking", layer="retrieval", read_from="ids")

METRICS = (
    _metric("precision@{k}", "relevant in the first k / k", _NEEDS, source=_TREC, bounded="depth", in_report=4),
    _metric("precision_returned@{k}", "relevant in the first k / returned in the first k", _NEEDS, "nothing returned",
            default=False, has_level=False),
    _metric("recall@{k}", "relevant in the first k / relevant", _NEEDS, source=_TREC, bounded="relevant", target=0.8,
            in_report=2, in_overview=True, begin_with=3),
    _metric("hit@{k}", "1 if a relevant document is in the first k", _NEEDS, binary=True, source=_TREC),
    _metric("reciprocal_rank@{k}", "1 / rank of the first relevant document in the first k, else 0", _NEEDS, source=_TREC),
    _metric("ndcg@{k}", "Σ grade / log2(rank + 1) over the first k / the same of the ideal order", _NEEDS,
            source="Järvelin & Kekäläinen 2002; " + _TREC, bounded="ideal", target=0.7, in_report=3),
    _metric("average_precision@{k}", "Σ precision at each relevant document in the first k / relevant", _NEEDS,
            source=_TREC, bounded="relevant"),
    _metric("duplicate_rate", "repeated documents / returned", ("contexts",), "nothing returned", higher_is_better=False,
            default=False),
    _metric("holes@{k}", "documents in the first k without any judgement / k", _NEEDS, higher_is_better=False,
            default=False),
)  # fmt: skip


def compute(view: View) -> dict[str, Scored]:
    """All metrics of this group at the depth in force; only depth and matching change them."""
    return view.facts.once(("ranking", view.t.k, view.t.match), lambda: _compute(view))


def _compute(view: View) -> dict[str, Scored]:
    facts, k = view.facts, view.t.k
    known = {metric.name.format(k=k): metric for metric in METRICS}
    hits = facts.once(("hits", view.t.match), lambda: list_hits(view.n, **_arrays(view)))
    values = metrics_of(list(known), *hits)
    unreadable = (facts.unreadable("expected_docs", "contexts"), INPUT_ERROR)
    absent = (~facts.recorded | ~facts.judged | _without_ids(view), NOT_APPLICABLE)
    # Silver labels know only what was retrieved: nothing that divides by all relevant documents has a meaning.
    silver = view.facts.evidence.plain("silver") == True  # noqa: E712 - elementwise
    without = {"relevant": absent[0] | silver, "ideal": absent[0] | silver}
    scores = {
        name: with_states(values[name], unreadable, (without.get(metric.bounded, absent[0]), NOT_APPLICABLE))
        for name, metric in known.items()
    }
    scores["duplicate_rate"] = with_states(
        values["duplicate_rate"],
        (facts.unreadable("contexts"), INPUT_ERROR),
        (~facts.recorded | _without_ids(view), NOT_APPLICABLE),
        (np.bincount(facts.contexts.code, minlength=view.n) == 0, UNDEFINED),
    )
    return scores


def _without_ids(view: View) -> Mask:
    """Contexts were recorded as texts alone, so that nothing can be matched."""
    contexts = view.facts.contexts
    total = np.bincount(contexts.code, minlength=view.n)
    named = (
        view.facts.evidence.contexts["doc_id"].notna().to_numpy()
        | view.facts.evidence.contexts["source"].notna().to_numpy()
    )
    return (total > 0) & (np.bincount(contexts.code, weights=named, minlength=view.n) == 0)


def _arrays(view: View) -> dict[str, Any]:
    contexts = view.facts.contexts
    codes = pd.factorize(view.facts.evidence.contexts["doc_id"])[0]
    # Texts without an id are no duplicates of each other.
    codes = np.where(codes < 0, np.arange(len(codes)) + int(codes.max(initial=0)) + 1, codes)
    found = view.facts.matches(view.t.match)
    rows = found["context"].to_numpy(dtype=np.int64)
    plain = np.flatnonzero(np.bincount(rows, minlength=len(codes)) == 0)
    every = np.concatenate([rows, plain])
    entry = np.concatenate([found["entry"].to_numpy(dtype=np.int64), np.full(len(plain), -1, dtype=np.int64)])
    entries = view.facts.entries.drop_duplicates("entry").sort_values("entry")
    return {
        "sample": contexts.code[every],
        "rank": contexts.rank[every],
        "document": codes[every],
        "entry": entry,
        "entry_sample": entries["code"].to_numpy(dtype=np.int64),
        "entry_grade": entries["grade"].to_numpy(dtype=float),
    }
