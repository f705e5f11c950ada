"""``evaluate_rankings``: the numbers of trec_eval for a whole query log, from frames to a frame.

Conventions are those of trec_eval 10 (https://github.com/usnistgov/trec_eval): score descending, ties by document id
descending as UTF-8 bytes; linear gain; the ideal order over all judged documents; precision divides by k, recall and
average precision by all relevant documents; every query of the qrels counts, and one that the run lacks scores 0.
"""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.errors import InputError
from workbench.scoring.ranking_kernels import BASES, Hits, gains, ideal_order, list_metrics, parse_metric

# ------------------------------------------------------------------------------
# Columns of ranking frames as Arrow strings and numpy numbers, 64-bit fingerprints of strings, byte order.
#
# Nothing here knows about metrics. Strings stay in their Arrow buffers: a fingerprint is read from the bytes with
# numpy, eight at a time, so that five million ids cost a few hundredths of a second and no Python object.


MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)
"""The first n bytes of a little-endian word."""

BLOCK = 1 << 15
"""Rows handled at once: temporary arrays of this length stay in the processor's cache."""


def id_column(frame: pd.DataFrame, name: str, owner: str) -> pa.ChunkedArray:
    """The ids of one column as Arrow ``large_string``, numbers written out as text.

    Accepts pandas ``str``, object, categorical and integer columns. Raises :class:`InputError`, naming the row, for
    missing ids and for ids that are neither text nor whole numbers.
    """
    series = _column(frame, name, owner)
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(series.cat.categories.dtype)
    if pd.api.types.is_integer_dtype(series.dtype):
        series = series.astype("str")
    column = _as_strings(series, name, owner)
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise InputError(f"{owner}, row {row}: {name!r} is missing; every row needs a text id")
    return column


def number_column(frame: pd.DataFrame, name: str, owner: str) -> np.ndarray:
    """One column as float64, missing as NaN. Raises :class:`InputError` when it holds anything but numbers."""
    series = _column(frame, name, owner)
    if pd.api.types.is_bool_dtype(series.dtype) or not pd.api.types.is_numeric_dtype(series.dtype):
        series = _from_objects(series, name, owner)
    if pd.api.types.is_complex_dtype(series.dtype):
        raise InputError(f"{owner}: column {name!r} holds complex numbers; give plain numbers")
    return series.to_numpy(dtype=np.float64, na_value=np.nan)


def _column(frame: pd.DataFrame, name: str, owner: str) -> pd.Series:
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"{owner} is a {type(frame).__name__}, not a pandas DataFrame; wb.load_trec reads TREC files")
    if name not in frame.columns:
        names = ", ".join(map(str, frame.columns[:8])) or "none"
        raise InputError(f"{owner} has no column {name!r} (it has: {names}); rename the column that holds it")
    column = frame[name]
    if isinstance(column, pd.DataFrame):
        raise InputError(f"{owner} has {column.shape[1]} columns named {name!r}; keep one")
    return column


def _as_strings(series: pd.Series, name: str, owner: str) -> pa.ChunkedArray:
    if series.dtype == object:
        series = _texts(series, name, owner)
    try:
        array = pa.Array.from_pandas(series)
        column = array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
    except UnicodeEncodeError:
        raise InputError(f"{owner}: {name!r} holds a lone surrogate, which no file can hold; replace it") from None
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    known = pa.types.is_string, pa.types.is_large_string, pa.types.is_null
    if len(column) and not any(is_kind(column.type) for is_kind in known):
        raise InputError(f"{owner}: column {name!r} is {series.dtype}; ids are text (7.0 is not the id 7)")
    return column.cast(pa.large_string())


def _texts(series: pd.Series, name: str, owner: str) -> pd.Series:
    """An object column with whole numbers written out; anything else but text and missing values is refused."""
    kind = pd.api.types.infer_dtype(series, skipna=True)
    if kind in ("string", "empty"):
        return series
    for row, value in enumerate(series):
        missing = value is None or value is pd.NA or (isinstance(value, float) and value != value)
        if not missing and (isinstance(value, bool) or not isinstance(value, str | int | np.integer)):
            raise InputError(f"{owner}, row {row}: {name!r} is a {type(value).__name__}, not a text id")
    return series.map(str, na_action="ignore")


def _from_objects(series: pd.Series, name: str, owner: str) -> pd.Series:
    if series.dtype == object and pd.api.types.infer_dtype(series, skipna=True) in (
        "integer",
        "floating",
        "mixed-integer-float",
        "decimal",
        "empty",
    ):
        return series.astype("float64")
    raise InputError(f"{owner}: column {name!r} is {series.dtype}, not numbers; convert it with pandas.to_numeric")


def fingerprints(column: pa.ChunkedArray, seed: int) -> np.ndarray:
    """A 64-bit hash for each string, shape ``(n,)`` uint64; equal strings have equal ones, every byte counts."""
    result = np.empty(len(column), dtype=np.uint64)
    factors = _odd_factors(seed)
    at = 0
    for chunk in column.chunks:
        for start in range(0, len(chunk), BLOCK):
            part = chunk.slice(start, BLOCK)
            result[at : at + len(part)] = _fingerprint_block(part, factors)
            at += len(part)
    return result


@functools.cache
def _odd_factors(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**63, size=64, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def _fingerprint_block(part: pa.Array, factors: np.ndarray) -> np.ndarray:
    """Σ word · odd factor over the first eight bytes, the last eight, what lies between, and the length (mod 2^64).

    Two strings (of up to 500 bytes) that differ in one word never meet, any others with a probability of at most 2^-32:
    all words but the first are folded, so that a difference in their highest byte alone reaches low bits, too.
    """
    offsets, words = _words(part)
    start, end = offsets[:-1], offsets[1:]
    length = end - start
    mixed = _first_word(words, start, length)
    mixed *= factors[0]
    mixed += length.view(np.uint64) * factors[1]
    longest = int(length.max(initial=0))
    if longest > 8:
        last = _folded(words[np.maximum(end - 8, 0)])
        last *= length > 8  # shorter ones are in already
        mixed += last * factors[2]
    for i, shift in enumerate(range(8, longest - 8, 8)):
        rows = np.flatnonzero(length > shift + 8)
        factor = factors[3 + i % 61] * np.uint64(2 * (i // 61) + 1)
        mixed[rows] += _folded(words[start[rows] + shift]) * factor
    return mixed


def _folded(words: np.ndarray) -> np.ndarray:
    words ^= words >> np.uint64(32)
    return words


def _words(part: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Offsets of the strings and, for each byte position, the eight bytes that begin there (little-endian)."""
    _, offset_buffer, data = part.buffers()
    offsets = np.frombuffer(offset_buffer, dtype=np.int64, count=len(part) + 1, offset=8 * part.offset)
    size = int(offsets[-1])
    if data is None or size < 8 or data.size < 8:
        padded = (data.to_pybytes()[:size] if data is not None else b"") + bytes(8)
        return offsets, np.ndarray((len(padded) - 7,), dtype="<u8", buffer=padded, strides=(1,))
    return offsets, np.ndarray((data.size - 7,), dtype="<u8", buffer=data, strides=(1,))


def _first_word(words: np.ndarray, start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """The first eight bytes of each string, shorter strings filled with zeros."""
    end_of_data = len(words) - 1
    value = words[np.minimum(start, end_of_data)]
    late = slice(int(np.searchsorted(start, end_of_data, side="right")), None)  # fewer than eight bytes follow
    value[late] >>= (8 * np.minimum(start[late] - end_of_data, 7)).astype(np.uint64)
    value &= MASKS.take(length, mode="clip")
    return value


def descending_bytes(texts: pa.LargeStringArray) -> list[np.ndarray]:
    """Sort keys (least significant first, for ``numpy.lexsort``) that order texts descending as UTF-8 bytes."""
    data = texts.buffers()[2]
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int64, count=len(texts) + 1, offset=8 * texts.offset)
    raw = (data.to_pybytes() if data is not None else b"") + bytes(8)
    words = np.ndarray((len(raw) - 7,), dtype="<u8", buffer=raw, strides=(1,))
    return list(_descending_words(words, offsets))[::-1]


def _descending_words(words: np.ndarray, offsets: np.ndarray) -> Iterator[np.ndarray]:
    start, length = offsets[:-1], np.diff(offsets)
    for shift in range(0, int(length.max(initial=0)), 8):
        inside = np.clip(length - shift, 0, 8)
        value = words[np.where(inside > 0, start + shift, 0)].byteswap()
        # Bytes beyond the end count as zero; a shift by 64 is not defined, hence the where.
        value >>= np.where(inside > 0, 64 - 8 * inside, 0).astype(np.uint64)
        value <<= np.where(inside > 0, 64 - 8 * inside, 0).astype(np.uint64)
        value[inside == 0] = 0
        yield ~value
    yield -length  # only texts that end in zero bytes differ in nothing else


def runs(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, np.ndarray | None]:
    """Texts of the runs of equal rows and how long each is; in shuffled rows every row is one (lengths: None)."""
    head = column.slice(0, 4096).combine_chunks()
    if len(_run_starts(head)) > max(64, len(head) // 2):
        return column, None
    starts = [_run_starts(chunk) for chunk in column.chunks]
    texts = [chunk.take(pa.array(first)) for chunk, first in zip(column.chunks, starts, strict=True)]
    lengths = [np.diff(first, append=len(chunk)) for chunk, first in zip(column.chunks, starts, strict=True)]
    return pa.chunked_array(texts, column.type), np.concatenate(lengths)


def _run_starts(chunk: pa.LargeStringArray) -> np.ndarray:
    """First row of each run of equal texts."""
    changes = pc.not_equal(chunk[1:], chunk[:-1]).to_numpy(zero_copy_only=False)
    return np.flatnonzero(np.r_[len(chunk) > 0, changes])


def take_rows(column: pa.ChunkedArray, rows: np.ndarray) -> pa.ChunkedArray:
    """The texts of ``rows`` (ascending), chunk by chunk: Arrow would look for each row among the chunks."""
    edges = np.cumsum([0, *map(len, column.chunks)])
    cuts = np.searchsorted(rows, edges)
    parts = zip(column.chunks, edges[:-1], cuts[:-1], cuts[1:], strict=True)
    return pa.chunked_array([chunk.take(pa.array(rows[a:b] - edge)) for chunk, edge, a, b in parts], column.type)


def sorted_codes(texts: pa.ChunkedArray) -> tuple[pa.LargeStringArray, np.ndarray]:
    """The distinct texts in the order of their UTF-8 bytes, and for each text its place there, int32."""
    encoded = texts.combine_chunks().dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)
    place = np.empty(len(order), dtype=np.int32)
    place[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
    return encoded.dictionary.take(order), place[encoded.indices.to_numpy()]


def lookup(texts: pa.ChunkedArray, known: pa.LargeStringArray) -> np.ndarray:
    """The place of each text in ``known``, int32, -1 where it is not there."""
    found = pc.fill_null(pc.index_in(texts, value_set=known), -1)
    return np.asarray(found.to_numpy()).astype(np.int32, copy=False)


# ------------------------------------------------------------------------------
# From two frames of ids to ranks: which rows of a run are judged, and where they stand in their query.
#
# The order is trec_eval's: score descending, ties by document id descending (as UTF-8 bytes). Only what can matter is
# touched: rows that come sorted are left where they are, ids are compared only inside ties, and a document is looked up
# only when a table over (query, fingerprint) lets it through. All looked-up rows are then compared as text.


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
        own, step = starts[sizes == length], max(1, BLOCK // max(1, int(length)))
        for block in (own[i : i + step] for i in range(0, len(own), step)):
            rows = block[:, None] + np.arange(length)
            order[rows] = block[:, None] + np.argsort(-scores[rows], axis=1)
    return order


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


# ------------------------------------------------------------------------------


__all__ = ["BASES", "RankingWarning", "evaluate_rankings", "list_metrics", "parse_metric"]

EXAMPLES = 5
"""Ids named in the report for each finding."""


ATTEMPTS = 16
"""Fingerprints tried; that one fails by chance has a probability below one in a million for ten million ids."""


class RankingWarning(UserWarning):
    """Something in the run or the qrels was settled by a rule that the reader should know of.

    One warning a call lists all findings; ``result.attrs["report"]`` has them as numbers with examples.
    """


def evaluate_rankings(
    qrels: pd.DataFrame, run: pd.DataFrame, metrics: Sequence[str], *, gain: str = "linear", precision: str = "float64",
    relevance_level: float = 1.0,
) -> pd.DataFrame:  # fmt: skip
    """Ranking metrics of every judged query, exactly as trec_eval computes them (``trec_eval -c``).

    Parameters
    ----------
    qrels : frame with ``query_id, doc_id, relevance``
        Judgements, in any row order. A grade of at least ``relevance_level`` is relevant; a negative grade is not
        relevant, and unjudged for ``holes`` (trec_eval's -1: in the pool, not judged). Fractional grades are used as
        they are, and reported.
    run : frame with ``query_id, doc_id, score``
        What was retrieved, in any row order. A missing or NaN score ranks last (as minus infinity) and is reported. A
        document returned twice keeps its first rank; the later row is left out, counted and reported.
    metrics : names such as ``"ndcg@10"``
        ``precision@k, precision_returned@k, recall@k, hit@k, reciprocal_rank@k, ndcg@k, average_precision@k,
        holes@k``; all but ``precision`` also without ``@k`` for the whole list; ``duplicate_rate``.
    gain : "linear" (the grade) or "exponential" (2^grade − 1)
    precision : "float64", or "float32" to reproduce older tools, which rounded scores and so made ties
    relevance_level : trec_eval's ``-l``

    Returns
    -------
    DataFrame, one row for each query of the qrels, sorted by ``query_id`` as UTF-8 bytes
        ``query_id`` (str), one float64 column in [0, 1] under each name asked for, ``in_run`` (bool: the run has this
        query) and ``duplicates`` (int: rows left out). A query without relevant documents scores 0, one missing
        from the run too. ``.attrs["gain"]``, ``["precision"]``, ``["relevance_level"]`` say how; ``.attrs["report"]``
        is a dict of findings, each ``{"count": n, "examples": [...]}``: ``queries_missing_from_run``,
        ``queries_not_judged``, ``duplicate_documents``, ``duplicate_judgements``, ``nan_scores``,
        ``fractional_grades``, ``negative_grades``, ``ties_across_the_cut`` (queries in which documents of equal score
        stand on both sides of a cut-off asked for), ``unjudged_documents``. All but the negative grades and the
        unjudged documents (see ``holes``) are also said in a :class:`RankingWarning`.

    Raises
    ------
    InputError
        For no rows, missing columns, ids or grades that are missing or of the wrong type, two different grades for one
        document, an unknown metric, k < 1, an unknown ``gain`` or ``precision``.

    Examples
    --------
    >>> qrels = pd.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "relevance": [1, 1]})
    >>> run = pd.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "x"], "score": [2.0, 1.0]})
    >>> wb.evaluate_rankings(qrels, run, ["recall@5"])["recall@5"].item()
    0.5
    """
    wanted = _wanted(metrics)
    if precision not in ("float64", "float32"):
        raise InputError(f"precision must be 'float64' or 'float32', not {precision!r}")
    gains(np.zeros(0), gain)
    judgements = _read_qrels(qrels)
    found = _read_run(run, judgements, precision)
    ranking = _match(judgements, found)
    hits = _hits(judgements, ranking, gain, relevance_level)
    report = _report(judgements, found, ranking, {k for _, k in wanted.values() if k is not None})
    result = pd.DataFrame(
        {
            "query_id": pd.array(judgements.queries, dtype="str"),
            **{name: hits.compute(base, k) for name, (base, k) in wanted.items()},
            "in_run": (hits.n_returned > 0),
            "duplicates": hits.n_duplicates,
        }
    )
    result.attrs.update(report=report, gain=gain, precision=precision, relevance_level=relevance_level)
    _warn(report)
    return result


def _wanted(metrics: Sequence[str]) -> dict[str, tuple[str, int | None]]:
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    if not names:
        raise InputError("no metrics asked for; give names such as ['ndcg@10', 'recall@5']")
    return {name: parse_metric(name) for name in names}


@dataclass(frozen=True)
class _Judgements:
    """The qrels: distinct queries (sorted), and for each judgement its query's code, document and grade."""

    queries: pa.LargeStringArray
    code: np.ndarray
    documents: pa.ChunkedArray
    grade: np.ndarray


@dataclass(frozen=True)
class _Run:
    """The run's rows whose query is judged, with codes into the qrels' queries."""

    parts: Segments
    documents: pa.ChunkedArray
    scores: np.ndarray
    unknown: list[str]
    nan: tuple[int, list[str]]


@dataclass(frozen=True)
class _Ranking:
    """Ranks of the run, and its judged rows: query code, rank, grade, sorted by both."""

    ranked: Ranked
    code: np.ndarray
    rank: np.ndarray
    grade: np.ndarray
    judgements: np.ndarray
    repeated_judgements: int


def _read_qrels(qrels: pd.DataFrame) -> _Judgements:
    ids = id_column(qrels, "query_id", "qrels")
    documents = id_column(qrels, "doc_id", "qrels")
    grade = number_column(qrels, "relevance", "qrels")
    if not len(grade):
        raise InputError("qrels has no rows; give at least one judgement (query_id, doc_id, relevance)")
    bad = np.flatnonzero(~np.isfinite(grade))
    if len(bad):
        raise InputError(f"qrels, row {bad[0]}: 'relevance' is {grade[bad[0]]}; every judgement needs a grade")
    texts, lengths = runs(ids)
    queries, code = sorted_codes(texts)
    if lengths is not None:
        code = np.repeat(code, lengths)
    return _Judgements(queries, code, documents, grade)


def _read_run(run: pd.DataFrame, judgements: _Judgements, precision: str) -> _Run:
    ids = id_column(run, "query_id", "run")
    documents = id_column(run, "doc_id", "run")
    scores = number_column(run, "score", "run")
    if not len(scores):
        raise InputError("run has no rows; give at least one retrieved document (query_id, doc_id, score)")
    nan = np.isnan(scores)
    n_nan = int(np.count_nonzero(nan))
    nan_queries = pc.unique(ids.take(pa.array(np.flatnonzero(nan)[: 100 * EXAMPLES]))).to_pylist()[:EXAMPLES] if n_nan else []
    scores = np.where(nan, -np.inf, scores) if n_nan else scores
    if precision == "float32":
        with np.errstate(over="ignore"):
            scores = scores.astype(np.float32).astype(np.float64)
    texts, lengths = runs(ids)
    code = lookup(texts, judgements.queries)
    known = code >= 0
    unknown: list[str] = []
    if not known.all():
        unknown = sorted(pc.unique(texts.filter(pa.array(~known))).to_pylist())
        rows = known if lengths is None else np.repeat(known, lengths)
        scores, documents = scores[rows], documents.filter(pa.array(rows))
        code, lengths = code[known], None if lengths is None else lengths[known]
    parts = segments(code, lengths, len(judgements.queries))
    return _Run(parts, documents, scores, unknown, (n_nan, nan_queries))


def _match(judgements: _Judgements, run: _Run) -> _Ranking:
    n = len(judgements.queries)
    for seed in range(ATTEMPTS):
        judged_keys = pair_keys(judgements.code, None, judgements.documents, n, seed)
        distinct = _distinct(judgements, judged_keys)
        if distinct is not None:
            break  # otherwise two documents share a fingerprint: other factors tell them apart
    else:
        raise InputError("qrels: document ids that no fingerprint tells apart; please report this with the file")
    judged_keys = judged_keys[distinct]
    keys = pair_keys(run.parts.by_run, run.parts.lengths, run.documents, n, seed)
    rows, places = judged_rows(keys, judged_keys, n)
    judged = distinct[places]
    same = same_text(run.documents, rows, judgements.documents, judged)
    if not same.all():
        rows, judged = rows[same], judged[same]
    ranked = rank_rows(run.parts, run.scores, run.documents, keys, rows)
    code = query_of(keys[rows], n)
    rank = ranked.rank_of(rows, code, len(keys))
    grade = judgements.grade[judged]
    order = np.argsort((code << 32) | rank, kind="stable")
    if len(ranked.dropped):
        order = order[rank[order] > 0]
    repeated = len(judgements.code) - len(distinct)
    return _Ranking(ranked, code[order], rank[order], grade[order], distinct, repeated)


def _distinct(judgements: _Judgements, keys: np.ndarray) -> np.ndarray | None:
    """Judgements sorted by key, repeated ones once; None when different documents have the same key."""
    order = np.argsort(keys)
    keys = keys[order]
    again = np.flatnonzero(keys[1:] == keys[:-1])
    if not len(again):
        return order
    first, second = order[again], order[again + 1]
    texts = judgements.documents.take(pa.array(first)), judgements.documents.take(pa.array(second))
    if not pc.all(pc.equal(*texts)).as_py():
        return None
    clash = np.flatnonzero(judgements.grade[first] != judgements.grade[second])
    if len(clash):
        a, b = sorted((int(first[clash[0]]), int(second[clash[0]])))
        raise InputError(
            f"qrels, rows {a} and {b}: document {judgements.documents[a].as_py()!r} of query "
            f"{judgements.queries[int(judgements.code[a])].as_py()!r} has grades {judgements.grade[a]:g} and "
            f"{judgements.grade[b]:g}; keep one"
        )
    return np.delete(order, again + 1)


def _hits(judgements: _Judgements, ranking: _Ranking, gain: str, level: float) -> Hits:
    n = len(judgements.queries)
    code, grade = judgements.code, judgements.grade
    if ranking.repeated_judgements:
        code, grade = code[ranking.judgements], grade[ranking.judgements]
    return Hits(
        n=n,
        query=ranking.code,
        rank=ranking.rank,
        gain=gains(ranking.grade, gain),
        relevant=ranking.grade >= level,
        judged_query=ranking.code[ranking.grade >= 0],
        judged_rank=ranking.rank[ranking.grade >= 0],
        ideal=ideal_order(code, gains(grade, gain), n),
        n_relevant=np.bincount(code[grade >= level], minlength=n),
        n_returned=ranking.ranked.count,
        n_duplicates=ranking.ranked.duplicates,
    )


def _report(judgements: _Judgements, run: _Run, ranking: _Ranking, cuts: set[int]) -> dict[str, Any]:
    """Findings as plain numbers and texts, so that the frame can still be written to Parquet."""
    ranked, names = ranking.ranked, judgements.queries
    judged = np.bincount(ranking.code[ranking.grade >= 0], minlength=len(names))

    def per_query(which: np.ndarray) -> np.ndarray:
        return np.bincount(judgements.code[which], minlength=len(names))

    def finding(count: np.ndarray) -> dict[str, Any]:
        some = np.flatnonzero(count)[:EXAMPLES]
        return {"count": int(count.sum()), "examples": names.take(some).to_pylist()}

    return {
        "queries_missing_from_run": finding(ranked.count == 0),
        "queries_not_judged": {"count": len(run.unknown), "examples": run.unknown[:EXAMPLES]},
        "duplicate_documents": finding(ranked.duplicates),
        "duplicate_judgements": {"count": ranking.repeated_judgements, "examples": []},
        "nan_scores": {"count": run.nan[0], "examples": run.nan[1]},
        "fractional_grades": finding(per_query(judgements.grade != np.floor(judgements.grade))),
        "negative_grades": finding(per_query(judgements.grade < 0)),
        "ties_across_the_cut": finding(_tied_at(ranked, run.scores, cuts)),
        "unjudged_documents": finding(ranked.count - judged),
    }


def _tied_at(ranked: Ranked, scores: np.ndarray, cuts: set[int]) -> np.ndarray:
    """True for queries in which rank k and rank k + 1 have the same score, for any k asked for."""
    tied = np.zeros(len(ranked.count), dtype=bool)
    if ranked.order is None:  # scores fall everywhere
        return tied
    for k in sorted(cuts):
        longer = np.flatnonzero(ranked.count > k)
        last = ranked.starts[longer] + k - 1
        tied[longer] |= scores[ranked.order[last]] == scores[ranked.order[last + 1]]
    return tied


SAID = {
    "queries_missing_from_run": "{} queries of the qrels are not in the run (they score 0)",
    "queries_not_judged": "{} queries of the run are not in the qrels (left out)",
    "duplicate_documents": "{} rows repeat a document of their query (first rank kept)",
    "duplicate_judgements": "{} judgements are repeated with the same grade (counted once)",
    "nan_scores": "{} scores are NaN (ranked last)",
    "fractional_grades": "{} grades are fractions (used as they are; trec_eval would cut them to whole numbers)",
    "ties_across_the_cut": "in {} queries equal scores stand on both sides of a cut-off (order by document id)",
}
"""Findings that a :class:`RankingWarning` mentions."""


def _warn(report: dict[str, Any]) -> None:
    said = []
    for name, sentence in SAID.items():
        if report[name]["count"]:
            examples = ", ".join(map(repr, report[name]["examples"]))
            said.append(sentence.format(report[name]["count"]) + (f", e.g. query {examples}" if examples else ""))
    if said:
        warnings.warn("; ".join(said) + ". All numbers: result.attrs['report']", RankingWarning, stacklevel=3)
