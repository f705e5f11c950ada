"""Ranking metrics of lists whose order is given: the contexts of a sample, in the order retrieved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.errors import InputError
from workbench.scoring.ranking_kernels import Hits, first_positions, gains, ideal_order, parse_metric

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
    wanted = {name: parse_metric(name) for name in metrics}
    items = _checked(sample=sample, rank=rank, document=document, entry=entry)
    judged = items["entry"] >= 0 if judged is None else np.asarray(judged, dtype=bool)
    entries = _checked(entry_sample=entry_sample, entry_grade=entry_grade)
    hits, has_entry = _hits(items, judged, entries, n_samples, gain)
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
    _, first = np.unique(entry[rows], return_index=True)  # rows are in rank order: the first document of an entry
    rows = rows[np.sort(first)]
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
