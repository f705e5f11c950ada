"""From two frames of ids to ranks: which rows of a run are judged, and where they stand in their query.

The order is trec_eval's: score descending, ties by document id descending (as UTF-8 bytes). Only what can matter is
touched: rows that come sorted are left where they are, ids are compared only inside ties, and a document is looked up
only when a table over (query, fingerprint) lets it through. All looked-up rows are then compared as text.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from workbench.scoring.ranking_columns import BLOCK, descending_bytes, fingerprints, take_rows

TABLE_BITS = 25
"""The table of judgements has at most 2**25 cells (128 MB), reached beyond two million judgements."""


@dataclass(frozen=True)
class Segments:
    """Rows of a run by query: the query's code for each run of rows, the length of each (None: 1), ``count`` of each
    query; ``grouped``: each query is one block, in the order of ``order``."""

    by_run: np.ndarray
    lengths: np.ndarray | None
    count: np.ndarray
    order: np.ndarray
    grouped: bool

    def starts(self, count: np.ndarray) -> np.ndarray:
        """First position of each query when its rows stand one after the other in ``order``, ``count`` of each."""
        sizes = count[self.order]
        starts = np.zeros(len(count), dtype=np.int64)
        starts[self.order] = np.cumsum(sizes) - sizes
        return starts


@dataclass(frozen=True)
class Ranked:
    """Ranks of the run's distinct documents.

    ``order`` (positions → rows; None when the rows already stand in order), ``starts`` and ``count`` per query,
    ``duplicates`` per query, ``dropped`` the rows left out (a document that came before in its query).
    """

    order: np.ndarray | None
    starts: np.ndarray
    count: np.ndarray
    duplicates: np.ndarray
    dropped: np.ndarray

    def rank_of(self, rows: np.ndarray, codes: np.ndarray, n_rows: int) -> np.ndarray:
        """1-based ranks of ``rows``, 0 for rows left out."""
        if self.order is None:
            return rows - self.starts[codes] + 1
        position = np.full(n_rows, -1, dtype=np.int32)
        position[self.order] = np.arange(len(self.order), dtype=np.int32)
        at = position[rows].astype(np.int64)
        return np.where(at < 0, 0, at - self.starts[codes] + 1)


def segments(by_run: np.ndarray, lengths: np.ndarray | None, n_queries: int) -> Segments:
    """How the rows fall into queries, from the code of each run of rows and their lengths."""
    count = np.bincount(by_run, weights=lengths, minlength=n_queries).astype(np.int64, copy=False)
    order = by_run[np.flatnonzero(np.diff(by_run, prepend=-1))]
    grouped = len(order) == np.count_nonzero(count)
    return Segments(by_run, lengths, count, order if grouped else np.flatnonzero(count), grouped)


def pair_keys(
    by_run: np.ndarray, lengths: np.ndarray | None, column: pa.ChunkedArray, n_queries: int, seed: int
) -> np.ndarray:
    """One 64-bit key for each (query, document): the query's code in the high bits, the fingerprint below."""
    bits = code_bits(n_queries)
    keys = by_run.astype(np.uint64)
    keys <<= np.uint64(64 - bits)
    keys = keys if lengths is None else np.repeat(keys, lengths)
    for start in range(0, len(keys), BLOCK):
        keys[start : start + BLOCK] |= fingerprints(column.slice(start, BLOCK), seed) >> np.uint64(bits)
    return keys


def query_of(keys: np.ndarray, n_queries: int) -> np.ndarray:
    """The query's code of each key, int64."""
    return (keys >> np.uint64(64 - code_bits(n_queries))).view(np.int64)


def code_bits(n_queries: int) -> int:
    """Bits that hold a query's code."""
    return max(1, (n_queries - 1).bit_length())


def judged_rows(keys: np.ndarray, judged_keys: np.ndarray, n_queries: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the run that have the key of a judgement, ascending, and the place of each in the sorted keys."""
    bits = min(max(code_bits(n_queries) + 3, (8 * len(judged_keys)).bit_length()), TABLE_BITS)
    shift = np.uint64(64 - bits)
    cells = (judged_keys >> shift).view(np.int64)
    table = np.zeros(1 << bits, dtype=np.int32)  # 0: no judgement, i + 1: the i-th, -1: several
    table[cells] = np.arange(1, len(cells) + 1)
    table[cells[1:][cells[1:] == cells[:-1]]] = -1
    rows, places = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for start in range(0, len(keys), BLOCK):
        part = keys[start : start + BLOCK]
        cell = table[(part >> shift).view(np.int64)]
        candidates = np.flatnonzero(cell != 0)
        place, wanted = cell[candidates].astype(np.int64) - 1, part[candidates]
        several = np.flatnonzero(place < 0)
        place[several] = np.minimum(np.searchsorted(judged_keys, wanted[several]), len(judged_keys) - 1)
        found = np.flatnonzero(judged_keys[place] == wanted)
        rows.append(candidates[found] + start)
        places.append(place[found])
    return np.concatenate(rows), np.concatenate(places)


def same_text(ours: pa.ChunkedArray, rows: np.ndarray, theirs: pa.ChunkedArray, places: np.ndarray) -> np.ndarray:
    """Which pairs have equal texts, bool: a fingerprint alone decides nothing. ``rows`` ascend."""
    return np.asarray(pc.equal(take_rows(ours, rows), theirs.take(pa.array(places))).to_numpy(), dtype=bool)


def rank_rows(
    parts: Segments, scores: np.ndarray, documents: pa.ChunkedArray, keys: np.ndarray, judged: np.ndarray
) -> Ranked:
    """Order the rows of each query and leave out repeated documents, keeping the first rank of each.

    Only the ranks of the rows ``judged`` are exact: a tie among documents that nobody judged is not broken, since no
    metric depends on it.
    """
    order = None if parts.grouped and _in_order(parts, scores) else _order(parts, scores, documents, keys, judged)
    dropped = _repeated(order, parts, documents, keys)
    if not len(dropped):
        return Ranked(order, parts.starts(parts.count), parts.count, np.zeros_like(parts.count), dropped)
    duplicates = np.bincount(query_of(keys[dropped], len(parts.count)), minlength=len(parts.count))
    keep = np.ones(len(scores), dtype=bool)
    keep[dropped] = False
    order = np.flatnonzero(keep) if order is None else order[keep[order]]
    count = parts.count - duplicates
    return Ranked(order, parts.starts(count), count, duplicates, dropped)


def _in_order(parts: Segments, scores: np.ndarray) -> bool:
    """True when scores fall strictly within each (grouped) query: nothing to sort, no tie."""
    rises = np.flatnonzero(~(scores[1:] < scores[:-1])) + 1
    ends = np.cumsum(parts.count[parts.order])
    return len(rises) < len(ends) and bool(np.isin(rises, ends, assume_unique=True).all())


def _order(
    parts: Segments, scores: np.ndarray, documents: pa.ChunkedArray, keys: np.ndarray, judged: np.ndarray
) -> np.ndarray:
    lengths = np.unique(parts.count[parts.order])
    if parts.grouped and len(lengths) <= 256:
        order = _order_blocks(parts, scores, lengths)
        level = scores[order]
    else:
        coarse = _coarse_keys(parts, scores, keys)
        order = np.argsort(coarse)
        level = coarse[order]
        del coarse
    tied = level[1:] == level[:-1]
    del level
    query = query_of(keys[order], len(parts.count))
    tied &= query[1:] == query[:-1]
    del query
    if tied.any():
        _repair_ties(order, tied, scores, documents, judged)
    return order


def _order_blocks(parts: Segments, scores: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Sort grouped rows as matrices, all queries with the same number of rows at once."""
    order = np.empty(len(scores), dtype=np.int64)
    starts = parts.starts(parts.count)[parts.order]
    sizes = parts.count[parts.order]
    for length in lengths:
        for block in _blocks(starts[sizes == length], int(length)):
            rows = block[:, None] + np.arange(length)
            order[rows] = block[:, None] + np.argsort(-scores[rows], axis=1)
    return order


def _blocks(starts: np.ndarray, length: int) -> list[np.ndarray]:
    step = max(1, BLOCK // max(1, length))
    return [starts[i : i + step] for i in range(0, len(starts), step)]


def _coarse_keys(parts: Segments, scores: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """64-bit keys that sort by query, then by score descending as far as the bits reach (near ties are repaired)."""
    bits = np.uint64(code_bits(len(parts.count)))
    keys = np.empty(len(scores), dtype=np.uint64)
    sign = np.uint64(1 << 63)
    for start in range(0, len(scores), BLOCK):
        raw = (scores[start : start + BLOCK] + 0.0).view(np.uint64)  # + 0.0 makes -0.0 equal to 0.0
        descending = np.where(raw & sign, raw, ~(raw ^ sign))
        code = pairs[start : start + BLOCK] >> (np.uint64(64) - bits)
        keys[start : start + BLOCK] = (code << (np.uint64(64) - bits)) | (descending >> bits)
    return keys


def _repair_ties(
    order: np.ndarray, tied: np.ndarray, scores: np.ndarray, documents: pa.ChunkedArray, judged: np.ndarray
) -> None:
    """Sort each run of tied positions with a judged row by score, then document id, both descending, in place."""
    matters = np.zeros(len(order), dtype=bool)
    matters[judged] = True
    member = np.zeros(len(order), dtype=bool)
    member[1:] |= tied
    member[:-1] |= tied
    places = np.flatnonzero(member)
    group = np.cumsum(~np.r_[False, tied][places]) - 1
    keep = (np.bincount(group, weights=matters[order[places]]) > 0)[group]
    places, group = places[keep], group[keep]
    if not len(places):
        return
    rows = order[places]
    texts = documents.take(pa.array(rows)).combine_chunks()
    order[places] = rows[np.lexsort([*descending_bytes(texts), -scores[rows], group])]


def _repeated(order: np.ndarray | None, parts: Segments, documents: pa.ChunkedArray, keys: np.ndarray) -> np.ndarray:
    """Rows whose document stands higher in the same query already."""
    twice = _twice(parts, keys)
    if not len(twice):
        return np.zeros(0, dtype=np.int64)
    rows = np.flatnonzero(np.isin(keys, twice))
    if order is not None:
        position = np.empty(len(order), dtype=np.int32)
        position[order] = np.arange(len(order), dtype=np.int32)
        rows = rows[np.argsort(position[rows])]
    names = pc.rank(documents.take(pa.array(rows)), tiebreaker="dense").to_numpy().astype(np.int64)
    pair = query_of(keys[rows], len(parts.count)) * (names.max() + 1) + names
    _, first = np.unique(pair, return_index=True)
    return np.delete(rows, first)


def _twice(parts: Segments, keys: np.ndarray) -> np.ndarray:
    """Keys that occur more than once; grouped rows are sorted a few queries at a time, in the processor's cache."""
    ends = np.cumsum(parts.count[parts.order]) if parts.grouped else np.array([len(keys)])
    edges = np.r_[0, ends[np.searchsorted(ends, np.arange(BLOCK, len(keys), BLOCK))], len(keys)]
    depth = np.diff(ends, prepend=0)
    width = int(depth[0]) if len(depth) and (depth == depth[0]).all() else 0
    twice = [np.zeros(0, dtype=np.uint64)]
    for start, end in itertools.pairwise(np.unique(edges)):
        ordered = np.sort(keys[start:end].reshape(-1, width or end - start), axis=1).ravel()
        twice.append(ordered[1:][ordered[1:] == ordered[:-1]])
    return np.unique(np.concatenate(twice))
