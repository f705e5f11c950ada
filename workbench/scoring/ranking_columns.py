"""Columns of ranking frames as Arrow strings and numpy numbers, 64-bit fingerprints of strings, byte order.

Nothing here knows about metrics. Strings stay in their Arrow buffers: a fingerprint is read from the bytes with
numpy, eight at a time, so that five million ids cost a few hundredths of a second and no Python object.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.errors import InputError

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
        column = _chunks(series)
    except UnicodeEncodeError:
        raise InputError(f"{owner}: {name!r} holds a lone surrogate, which no file can hold; replace it") from None
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    known = pa.types.is_string, pa.types.is_large_string, pa.types.is_null
    if len(column) and not any(is_kind(column.type) for is_kind in known):
        raise InputError(f"{owner}: column {name!r} is {series.dtype}; ids are text (7.0 is not the id 7)")
    return column.cast(pa.large_string())


def _chunks(series: pd.Series) -> pa.ChunkedArray:
    array = pa.Array.from_pandas(series)
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _texts(series: pd.Series, name: str, owner: str) -> pd.Series:
    """An object column with whole numbers written out; anything else but text and missing values is refused."""
    kind = pd.api.types.infer_dtype(series, skipna=True)
    if kind in ("string", "empty"):
        return series
    for row, value in enumerate(series):
        if not (isinstance(value, str | int | np.integer) and not isinstance(value, bool)) and not _missing(value):
            raise InputError(f"{owner}, row {row}: {name!r} is a {type(value).__name__}, not a text id")
    return series.map(str, na_action="ignore")


def _missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and value != value)


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
