"""From two frames of ids to ranks: which rows of a run are judged, and where they stand in their query.

The order is trec_eval's: score descending, ties by document id descending (as UTF-8 bytes). Only what can matter is
touched: rows that come sorted are left where they are, ids are compared only inside ties, and a document is looked up
only when a bit table over (query, fingerprint) lets it through. All looked-up rows are then compared as text.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from workbench.scoring.ranking_columns import BLOCK, descending_bytes, fingerprints

FILTER_BITS = 27
"""The bit table has at most 2**27 cells (128 MB), reached beyond four million judgements."""


@dataclass(frozen=True)
class Segments:
    """Rows of a run by query: ``code`` (n,) int32; ``grouped``: each query is one block, in the order of ``order``."""

    code: np.ndarray
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


def query_codes(queries: pa.ChunkedArray, known: pa.LargeStringArray) -> tuple[np.ndarray, np.ndarray | None]:
    """Codes of the rows' queries in ``known`` (-1: not there), and the codes run by run when rows come in runs."""
    head = queries.slice(0, 4096)
    if len(head) > 64 and _n_runs(head) > len(head) // 2:
        return _lookup(queries, known), None
    codes, lengths = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.int64)]
    for chunk in queries.chunks:
        if len(chunk):
            runs = pc.run_end_encode(chunk, run_end_type=pa.int64())
            codes.append(_lookup(runs.values, known))
            lengths.append(np.diff(runs.run_ends.to_numpy(), prepend=0))
    by_run = np.concatenate(codes)
    return np.repeat(by_run, np.concatenate(lengths)), by_run[np.r_[True, by_run[1:] != by_run[:-1]]]


def _n_runs(column: pa.ChunkedArray) -> int:
    return sum(len(pc.run_end_encode(chunk).values) for chunk in column.chunks if len(chunk))


def _lookup(values: pa.Array | pa.ChunkedArray, known: pa.LargeStringArray) -> np.ndarray:
    found = pc.fill_null(pc.index_in(values, value_set=known), -1)
    return np.asarray(found.to_numpy()).astype(np.int32, copy=False)


def segments(code: np.ndarray, by_run: np.ndarray | None, n_queries: int) -> Segments:
    """How the rows fall into queries; ``by_run`` as :func:`query_codes` returns it, without unknown queries."""
    count = np.bincount(code, minlength=n_queries)
    if by_run is not None and len(by_run) == np.count_nonzero(count):
        return Segments(code, count, by_run, grouped=True)
    return Segments(code, count, np.flatnonzero(count), grouped=False)


def pair_keys(code: np.ndarray, column: pa.ChunkedArray, n_queries: int, seed: int) -> np.ndarray:
    """One 64-bit key for each (query, document): the query's code in the high bits, the fingerprint below."""
    bits = code_bits(n_queries)
    keys = fingerprints(column, seed)
    for start in range(0, len(keys), BLOCK):
        part = keys[start : start + BLOCK]
        part >>= np.uint64(bits)
        part |= code[start : start + BLOCK].astype(np.uint64) << np.uint64(64 - bits)
    return keys


def code_bits(n_queries: int) -> int:
    """Bits that hold a query's code."""
    return max(1, (n_queries - 1).bit_length())


def judged_rows(
    keys: np.ndarray, documents: pa.ChunkedArray, judged_keys: np.ndarray, judged: pa.Array, n_queries: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the run that are judged, and the judgement of each; ``judged_keys`` sorted, each key one document."""
    bits = min(max(code_bits(n_queries) + 3, (16 * len(judged_keys)).bit_length()), FILTER_BITS, 64)
    shift = np.uint64(64 - bits)
    table = np.zeros(1 << bits, dtype=bool)
    table[(judged_keys >> shift).view(np.int64)] = True
    rows, places = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for start in range(0, len(keys), BLOCK):
        part = keys[start : start + BLOCK]
        candidates = np.flatnonzero(table[(part >> shift).view(np.int64)])
        wanted = part[candidates]
        place = np.minimum(np.searchsorted(judged_keys, wanted), len(judged_keys) - 1)
        found = judged_keys[place] == wanted
        rows.append(candidates[found] + start)
        places.append(place[found])
    return _same_text(documents, judged, np.concatenate(rows), np.concatenate(places))


def _same_text(
    documents: pa.ChunkedArray, judged: pa.Array, rows: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Keep the pairs whose texts are equal: a fingerprint alone decides nothing."""
    keep = [np.zeros(0, dtype=bool)]
    for start in range(0, len(rows), BLOCK):
        ours = documents.take(pa.array(rows[start : start + BLOCK]))
        theirs = judged.take(pa.array(places[start : start + BLOCK]))
        keep.append(np.asarray(pc.equal(ours, theirs).to_numpy(), dtype=bool))
    same = np.concatenate(keep)
    return (rows, places) if same.all() else (rows[same], places[same])


def rank_rows(
    parts: Segments, scores: np.ndarray, documents: pa.ChunkedArray, keys: np.ndarray, judged: np.ndarray
) -> Ranked:
    """Order the rows of each query and leave out repeated documents, keeping the first rank of each.

    Only the ranks of the rows ``judged`` are exact: a tie among documents that nobody judged is not broken, since no
    metric depends on it.
    """
    order = None if parts.grouped and _in_order(parts, scores) else _order(parts, scores, documents, judged)
    dropped = _repeated(order, parts.code, documents, keys)
    if not len(dropped):
        return Ranked(order, parts.starts(parts.count), parts.count, np.zeros_like(parts.count), dropped)
    duplicates = np.bincount(parts.code[dropped], minlength=len(parts.count))
    keep = np.ones(len(scores), dtype=bool)
    keep[dropped] = False
    order = np.flatnonzero(keep) if order is None else order[keep[order]]
    count = parts.count - duplicates
    return Ranked(order, parts.starts(count), count, duplicates, dropped)


def _in_order(parts: Segments, scores: np.ndarray) -> bool:
    """True when scores fall strictly within each query: nothing to sort, no tie."""
    falls = scores[1:] < scores[:-1]
    if falls.all():
        return True
    rest = np.flatnonzero(~falls)
    return bool((parts.code[rest] != parts.code[rest + 1]).all())


def _order(parts: Segments, scores: np.ndarray, documents: pa.ChunkedArray, judged: np.ndarray) -> np.ndarray:
    lengths = np.unique(parts.count[parts.order])
    if parts.grouped and len(lengths) <= 256:
        order = _order_blocks(parts, scores, lengths)
        level = scores[order]
    else:
        coarse = _coarse_keys(parts, scores)
        order = np.argsort(coarse)
        level = coarse[order]
        del coarse
    tied = level[1:] == level[:-1]
    del level
    tied &= parts.code[order[1:]] == parts.code[order[:-1]]
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


def _coarse_keys(parts: Segments, scores: np.ndarray) -> np.ndarray:
    """64-bit keys that sort by query, then by score descending as far as the bits reach (near ties are repaired)."""
    bits = np.uint64(code_bits(len(parts.count)))
    keys = np.empty(len(scores), dtype=np.uint64)
    sign = np.uint64(1 << 63)
    for start in range(0, len(scores), BLOCK):
        raw = (scores[start : start + BLOCK] + 0.0).view(np.uint64)  # + 0.0 makes -0.0 equal to 0.0
        descending = np.where(raw & sign, raw, ~(raw ^ sign))
        code = parts.code[start : start + BLOCK].astype(np.uint64)
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


def _repeated(order: np.ndarray | None, code: np.ndarray, documents: pa.ChunkedArray, keys: np.ndarray) -> np.ndarray:
    """Rows whose document stands higher in the same query already."""
    ordered = np.sort(keys)
    twice = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    del ordered
    if not len(twice):
        return np.zeros(0, dtype=np.int64)
    rows = np.flatnonzero(np.isin(keys, twice))
    if order is not None:
        position = np.empty(len(order), dtype=np.int32)
        position[order] = np.arange(len(order), dtype=np.int32)
        rows = rows[np.argsort(position[rows])]
    names = pc.rank(documents.take(pa.array(rows)), tiebreaker="dense").to_numpy().astype(np.int64)
    pair = code[rows] * (np.int64(names.max()) + 1) + names
    _, first = np.unique(pair, return_index=True)
    return np.delete(rows, first)
