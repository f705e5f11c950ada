"""Ranking metrics from ranks: numpy only, no ids, no frames.

The input says where the relevant items stand, never what the other items are: for each query (or sample) the ranks of
the judged hits, their grades, and totals. Sums run in rank order, as trec_eval's do.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from workbench.errors import InputError

BASES = (
    "precision",
    "precision_returned",
    "recall",
    "hit",
    "reciprocal_rank",
    "ndcg",
    "average_precision",
    "holes",
    "duplicate_rate",
)
"""Metric names without their cut-off."""

OTHER_NAMES = {
    "p": "precision",
    "map": "average_precision",
    "ap": "average_precision",
    "mrr": "reciprocal_rank",
    "rr": "reciprocal_rank",
    "recip_rank": "reciprocal_rank",
    "hit_rate": "hit",
    "hits": "hit",
    "success": "hit",
    "ndcg_cut": "ndcg",
    "unj": "holes",
    "dcg": "ndcg",
}
"""Names that other tools use, for the hint in an error message."""


def parse_metric(name: str) -> tuple[str, int | None]:
    """``"ndcg@10"`` → ``("ndcg", 10)``, ``"ndcg"`` → ``("ndcg", None)`` (the whole list).

    Raises :class:`InputError` for an unknown name (with a suggestion), for a cut-off that is not a whole number ≥ 1,
    for ``precision`` without one, and for ``duplicate_rate`` with one.
    """
    if not isinstance(name, str):
        raise InputError(f"a metric is a text such as 'ndcg@10', not {type(name).__name__}")
    base, at, cut = name.partition("@")
    if base not in BASES:
        raise InputError(f"unknown ranking metric {name!r}; {_suggestion(base, at + cut)}")
    if not at:
        if base == "precision":
            raise InputError("metric 'precision' needs a cut-off, such as 'precision@5' (it divides by it)")
        return base, None
    if base == "duplicate_rate":
        raise InputError(f"metric {name!r}: duplicate_rate looks at the whole list; ask for 'duplicate_rate'")
    if not (cut.isascii() and cut.isdigit() and 1 <= int(cut) < 2**31):
        raise InputError(f"metric {name!r}: the cut-off must be a whole number ≥ 1, such as '{base}@5'")
    return base, int(cut)


def _suggestion(base: str, cut: str) -> str:
    key = base.lower().replace("-", "_")
    close = [OTHER_NAMES[key]] if key in OTHER_NAMES else difflib.get_close_matches(key, BASES, n=1)
    return f"did you mean {close[0] + cut!r}?" if close else f"known are {', '.join(BASES)} (with @k)"


def gains(grades: np.ndarray, gain: str) -> np.ndarray:
    """Gain of each grade: the grade itself (``linear``) or 2^grade − 1 (``exponential``); 0 for grades below 0."""
    positive = np.maximum(grades, 0.0)
    if gain == "linear":
        return positive
    if gain != "exponential":
        raise InputError(f"gain must be 'linear' or 'exponential', not {gain!r}")
    if positive.max(initial=0.0) > 1000:
        raise InputError(f"gain='exponential': 2^{positive.max():g} is no number; the grades are too high")
    return np.exp2(positive) - 1.0


def ideal_order(query: np.ndarray, gain: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positive gains in their best order: ``(query, 1-based rank, gain)``."""
    positive = np.flatnonzero(gain > 0)
    query, gain = query[positive], gain[positive]
    step = np.floor(gain.max(initial=0.0)) + 1.0
    if n * step < 2**50 and (gain == np.floor(gain)).all():  # one whole number holds both, and sorts faster
        both = np.sort(query * step - gain)
        query = np.ceil(both / step).astype(np.int64)
        gain = query * step - both
    else:
        order = np.lexsort([-gain, query])
        query, gain = query[order], gain[order]
    return query, np.arange(len(query)) - first_positions(query, n)[query] + 1, gain


def first_positions(query: np.ndarray, n: int) -> np.ndarray:
    """Where each of the ``n`` queries begins in the sorted codes ``query``."""
    count = np.bincount(query, minlength=n)
    return np.cumsum(count) - count


@dataclass(frozen=True)
class Hits:
    """What the metrics of ``n`` queries are computed from.

    ``query``, ``rank``, ``gain``, ``relevant``: one element for each hit, sorted by query, then rank (1-based; equal
    ranks = one item that satisfies several entries). ``judged_query``, ``judged_rank``: items with any judgement.
    ``ideal``: as :func:`ideal_order` returns it. ``n_relevant``, ``n_returned``, ``n_duplicates``: per query,
    returned without the duplicates.
    """

    n: int
    query: np.ndarray
    rank: np.ndarray
    gain: np.ndarray
    relevant: np.ndarray
    judged_query: np.ndarray
    judged_rank: np.ndarray
    ideal: tuple[np.ndarray, np.ndarray, np.ndarray]
    n_relevant: np.ndarray
    n_returned: np.ndarray
    n_duplicates: np.ndarray

    @cached_property
    def found(self) -> tuple[np.ndarray, np.ndarray]:
        """Query and rank of the relevant hits."""
        rows = np.flatnonzero(self.relevant)
        return self.query[rows], self.rank[rows]

    @cached_property
    def found_items(self) -> tuple[np.ndarray, np.ndarray]:
        """As :attr:`found`, one for each item: an item that satisfies two entries is one relevant item."""
        query, rank = self.found
        again = (query[1:] == query[:-1]) & (rank[1:] == rank[:-1])
        return (query, rank) if not again.any() else (query[np.r_[True, ~again]], rank[np.r_[True, ~again]])

    @cached_property
    def precision_at_found(self) -> np.ndarray:
        """Relevant hits up to and including each relevant hit's rank, divided by that rank."""
        query, rank = self.found
        last = np.arange(1, len(query) + 1)
        same = (query[1:] == query[:-1]) & (rank[1:] == rank[:-1])
        if same.any():  # entries satisfied by the same item count together
            ends = np.flatnonzero(~np.r_[same, False])
            last = np.repeat(ends + 1, np.diff(np.r_[-1, ends]))
        seen = last - first_positions(query, self.n)[query]
        return np.minimum(seen, rank) / rank

    def compute(self, base: str, k: int | None) -> np.ndarray:
        """One metric for all queries, float64 ``(n,)`` in [0, 1]; 0 where its denominator is empty."""
        return np.minimum(METRICS[base](self, k), 1.0)


def _count(query: np.ndarray, rank: np.ndarray, k: int | None, n: int) -> np.ndarray:
    return np.bincount(query if k is None else query[rank <= k], minlength=n)


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    return np.divide(numerator, denominator, out=np.zeros(len(numerator)), where=denominator > 0)


def _precision(hits: Hits, k: int | None) -> np.ndarray:
    """trec_eval's ``P_k``: relevant items in the first k, divided by k."""
    assert k is not None  # parse_metric requires it
    return _count(*hits.found_items, k, hits.n) / k


def _precision_returned(hits: Hits, k: int | None) -> np.ndarray:
    """Relevant items in the first k, divided by the items that came back there."""
    return _ratio(_count(*hits.found_items, k, hits.n), _cut(hits.n_returned, k))


def _cut(count: np.ndarray, k: int | None) -> np.ndarray:
    return count if k is None else np.minimum(count, k)


def _recall(hits: Hits, k: int | None) -> np.ndarray:
    """trec_eval's ``recall_k``: relevant in the first k, divided by all relevant."""
    return _ratio(_count(*hits.found, k, hits.n), hits.n_relevant)


def _hit(hits: Hits, k: int | None) -> np.ndarray:
    """trec_eval's ``success_k``: 1 when anything relevant stands in the first k."""
    return (_count(*hits.found, k, hits.n) > 0).astype(np.float64)


def _reciprocal_rank(hits: Hits, k: int | None) -> np.ndarray:
    """trec_eval's ``recip_rank``: 1 / rank of the first relevant item, 0 when it stands below k."""
    query, rank = hits.found
    first = np.r_[True, query[1:] != query[:-1]] if len(query) else np.zeros(0, dtype=bool)
    if k is not None:
        first = first & (rank <= k)
    result = np.zeros(hits.n)
    result[query[first]] = 1.0 / rank[first]
    return result


def _ndcg(hits: Hits, k: int | None) -> np.ndarray:
    """trec_eval's ``ndcg_cut_k``: Σ gain / log2(rank + 1), divided by the same sum over the ideal order."""
    ours = _discounted(hits.query, hits.rank, hits.gain, k, hits.n)
    return _ratio(ours, _discounted(*hits.ideal, k, hits.n))


def _discounted(query: np.ndarray, rank: np.ndarray, gain: np.ndarray, k: int | None, n: int) -> np.ndarray:
    if k is not None:
        inside = rank <= k
        query, rank, gain = query[inside], rank[inside], gain[inside]
    discount = np.log2(np.arange(rank.max(initial=0) + 1) + 1.0)
    return np.bincount(query, weights=gain / discount[rank], minlength=n)


def _average_precision(hits: Hits, k: int | None) -> np.ndarray:
    """trec_eval's ``map_cut_k``: Σ precision at each relevant item in the first k, divided by all relevant."""
    query, rank = hits.found
    value = hits.precision_at_found
    if k is not None:
        query, value = query[rank <= k], value[rank <= k]
    return _ratio(np.bincount(query, weights=value, minlength=hits.n), hits.n_relevant)


def _holes(hits: Hits, k: int | None) -> np.ndarray:
    """trec_eval's ``unj_k``: items in the first k without any judgement, divided by k (whole list: by its length)."""
    judged = _count(hits.judged_query, hits.judged_rank, k, hits.n)
    unjudged = _cut(hits.n_returned, k) - judged
    return unjudged / k if k is not None else _ratio(unjudged, hits.n_returned)


def _duplicate_rate(hits: Hits, k: int | None) -> np.ndarray:
    """Rows left out as repeated, divided by all rows of the query."""
    return _ratio(hits.n_duplicates, hits.n_duplicates + hits.n_returned)


METRICS: dict[str, Callable[[Hits, int | None], np.ndarray]] = {
    "precision": _precision,
    "precision_returned": _precision_returned,
    "recall": _recall,
    "hit": _hit,
    "reciprocal_rank": _reciprocal_rank,
    "ndcg": _ndcg,
    "average_precision": _average_precision,
    "holes": _holes,
    "duplicate_rate": _duplicate_rate,
}
"""The kernel of each name in :data:`BASES`."""


# ------------------------------------------------------------------------------
# Ranking metrics of lists whose order is given: the contexts of a sample, in the order retrieved.


RELEVANT = 1.0
"""An entry with this grade or more is relevant."""


def list_metrics(
    metrics: Sequence[str],
    *,
    n_samples: int,
    sample: np.ndarray,
    rank: np.ndarray,
    document: np.ndarray,
    entry: np.ndarray,
    judged: np.ndarray | None = None,
    entry_sample: np.ndarray,
    entry_grade: np.ndarray,
    gain: str = "linear",
) -> dict[str, np.ndarray]:
    """Ranking metrics of ``n_samples`` lists, one float64 array ``(n_samples,)`` for each name in ``metrics``.

    Parallel arrays, one element for each retrieved item, in any order (an item that satisfies several expected
    entries is given once for each, with the same rank and document):

    * ``sample``: 0 … n_samples − 1; ``rank``: place in the list, any increasing numbers
    * ``document``: a code; two items of a sample with equal codes are one document, of which the first is kept and the
      later ones are left out, so that what follows moves up
    * ``entry``: index of the expected entry that the item satisfies, −1 for none
    * ``judged``: the item has any judgement (default: it satisfies an entry)

    and one element for each expected entry: ``entry_sample``, ``entry_grade`` (≥ 1 is relevant; the ideal order is
    made of all positive grades). An entry may have several documents that satisfy it; the first one counts and
    the others are items without relevance, so every value stays in [0, 1].

    NaN where a metric has no meaning: no relevant entry (holes: no entry at all), and for ``duplicate_rate`` and
    ``precision_returned`` also an empty list; the caller decides on the state. Raises :class:`InputError` for an
    unknown metric, a cut-off below 1 or arrays of different lengths.
    """
    items = _checked(sample=sample, rank=rank, document=document, entry=entry)
    judged = items["entry"] >= 0 if judged is None else np.asarray(judged, dtype=bool)
    entries = _checked(entry_sample=entry_sample, entry_grade=entry_grade)
    return metrics_of(metrics, *_hits(items, judged, entries, n_samples, gain))


def list_hits(n_samples: int, entry: np.ndarray, **arrays: np.ndarray) -> tuple[Hits, np.ndarray]:
    """What :func:`list_metrics` works out of the lists whatever the metrics and depths, for :func:`metrics_of`."""
    graded = {name: arrays.pop(name) for name in ("entry_sample", "entry_grade")}
    return _hits(_checked(entry=entry, **arrays), np.asarray(entry) >= 0, _checked(**graded), n_samples, "linear")


def metrics_of(metrics: Sequence[str], hits: Hits, has_entry: np.ndarray) -> dict[str, np.ndarray]:
    """The metrics of :func:`list_metrics` from its hits."""
    wanted = {name: parse_metric(name) for name in metrics}
    return {name: _masked(hits, has_entry, base, k) for name, (base, k) in wanted.items()}


def _checked(**arrays: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays, codes as int64; all must be equally long."""
    result = {
        name: np.asarray(values, dtype=np.float64 if name == "entry_grade" else np.int64)
        for name, values in arrays.items()
    }
    lengths = {name: len(values) for name, values in result.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"list_metrics: arrays of different lengths: {lengths}")
    return result


def _hits(
    items: dict[str, np.ndarray], judged: np.ndarray, entries: dict[str, np.ndarray], n: int, gain: str
) -> tuple[Hits, np.ndarray]:
    order = np.lexsort([items["rank"], items["sample"]])
    sample, entry, judged = items["sample"][order], items["entry"][order], judged[order]
    place, duplicate, leads = _places(sample, items["rank"][order], items["document"][order], n)
    entry_gain = gains(entries["entry_grade"], gain)
    rows = np.flatnonzero((entry >= 0) & ~duplicate)
    first = np.full(len(entries["entry_grade"]), len(rows), dtype=np.int64)
    np.minimum.at(first, entry[rows], np.arange(len(rows)))  # rows are in rank order: the first document of an entry
    rows = rows[np.sort(first[first < len(rows)])]
    relevant = entries["entry_grade"] >= RELEVANT
    single = leads & ~duplicate
    seen = np.flatnonzero(_any_by_item(judged, leads)[np.cumsum(leads) - 1] & single) if len(sample) else rows
    hits = Hits(
        n=n,
        query=sample[rows],
        rank=place[rows],
        gain=entry_gain[entry[rows]],
        relevant=relevant[entry[rows]],
        judged_query=sample[seen],
        judged_rank=place[seen],
        ideal=ideal_order(entries["entry_sample"], entry_gain, n),
        n_relevant=np.bincount(entries["entry_sample"][relevant], minlength=n),
        n_returned=np.bincount(sample[single], minlength=n),
        n_duplicates=np.bincount(sample[leads & duplicate], minlength=n),
    )
    return hits, np.bincount(entries["entry_sample"], minlength=n) > 0


def _any_by_item(flag: np.ndarray, leads: np.ndarray) -> np.ndarray:
    return np.logical_or.reduceat(flag, np.flatnonzero(leads))


def _places(
    sample: np.ndarray, rank: np.ndarray, document: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """1-based places without the duplicates, which rows are duplicates, and the first row of each item."""
    leads = np.ones(len(sample), dtype=bool)
    leads[1:] = (sample[1:] != sample[:-1]) | (rank[1:] != rank[:-1]) | (document[1:] != document[:-1])
    item = np.cumsum(leads) - 1
    heads = np.flatnonzero(leads)
    by_document = np.lexsort([heads, document[heads], sample[heads]])
    s, d = sample[heads][by_document], document[heads][by_document]
    repeated = np.zeros(len(heads), dtype=bool)
    repeated[by_document[1:]] = (s[1:] == s[:-1]) & (d[1:] == d[:-1])
    kept = np.cumsum(~repeated)
    before = np.r_[0, kept][first_positions(sample[heads], n)]
    return (kept - before[sample[heads]])[item], repeated[item], leads


def _masked(hits: Hits, has_entry: np.ndarray, base: str, k: int | None) -> np.ndarray:
    """The metric with NaN where it has no meaning."""
    values = hits.compute(base, k).astype(np.float64)
    meaningful = {"holes": has_entry, "duplicate_rate": np.ones(hits.n, dtype=bool)}.get(base, hits.n_relevant > 0)
    if base in ("duplicate_rate", "precision_returned"):
        meaningful = meaningful & (hits.n_returned > 0)
    return np.where(meaningful, values, np.nan)
