"""Hashed character n-grams: an encoder that needs no model, no network and no training, and always works.

It sees spelling, not meaning: two texts are close when they share pieces of words. Grams of 1–3 characters are taken
inside runs of Chinese, Japanese and Korean script, of 3–5 characters inside other words padded with a space on both
sides. Each gram adds ±(1 + ln count) to one of ``dimension`` buckets (signed feature hashing, Weinberger et al.
2009); the sum is scaled to unit length. The hash is a fixed polynomial in 64-bit arithmetic, so vectors are equal on
every machine and in every process.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from workbench.data.validate import scrub
from workbench.evidence.embed import Kind, unit_rows

#: Radicals, kana, Hangul and ideographs, the rare planes included.
_CJK = (
    r"\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_CJK_RUN = re.compile(f"([{_CJK}]+)")
_CJK_CHARACTER = re.compile(f"[{_CJK}]")
_NO_WORD = re.compile(r"[\W_]+")
_SPACE = 0x20
_PRIME = np.uint64(1_099_511_628_211)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class NgramEncoder:
    """Character n-grams hashed into ``dimension`` buckets; queries and passages are treated alike.

    A text without letters and digits is described by its other characters; an empty one has a vector of its own.
    """

    reads_chinese = True
    fingerprint = "v1"

    def __init__(self, dimension: int = 512) -> None:
        self.dimension = dimension
        self.name = f"char-ngram-{dimension}"

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        """Unit rows (n, dimension) float32."""
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:] = self._vector(text)
        return unit_rows(rows)

    def _vector(self, text: str) -> np.ndarray:
        grams, counts = np.unique(_grams(text), return_counts=True)
        weights = 1.0 + np.log(counts)
        signs = np.where(grams >> np.uint64(63), -1.0, 1.0)
        buckets = (grams % np.uint64(self.dimension)).astype(np.int64)
        vector = np.bincount(buckets, weights=signs * weights, minlength=self.dimension)
        if not vector.any():
            # Grams that cancel each other exactly: keep the row a unit vector.
            vector[buckets[0]] = 1.0
        return vector


def _grams(text: str) -> np.ndarray:
    """Hashes (uint64) of all grams of ``text``, at least one."""
    folded = unicodedata.normalize("NFKC", scrub(text)).casefold()
    words = _NO_WORD.sub(" ", folded)
    if words.strip():
        parted = " " + _CJK_RUN.sub(r" \1 ", words) + " "
        return _word_grams(re.sub(" {2,}", " ", parted))
    return _hashes(_code_points(folded or " "), 1)


def _word_grams(text: str) -> np.ndarray:
    """Grams of words parted (and padded) by single spaces."""
    points = _code_points(text)
    cjk = np.fromiter((_CJK_CHARACTER.match(c) is not None for c in text), dtype=bool, count=len(text))
    space = points == _SPACE
    parts = []
    for size in range(1, min(5, len(points)) + 1):
        keep = np.zeros(len(points) - size + 1, dtype=bool)
        if size <= 3:
            keep |= _windows(cjk, size).all(axis=1)
        if size >= 3:
            inner_space = _windows(space, size)[:, 1:-1].any(axis=1)
            keep |= ~inner_space & ~_windows(cjk, size).any(axis=1)
        parts.append(_hashes(points, size)[keep])
    return np.concatenate(parts)


def _windows(values: np.ndarray, size: int) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(values, size)


def _code_points(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le"), dtype="<u4").astype(np.uint64)


def _hashes(points: np.ndarray, size: int) -> np.ndarray:
    """A 64-bit hash of each window of ``size`` code points; wraps around, as meant."""
    value = np.full(len(points) - size + 1, size, dtype=np.uint64)
    for offset in range(size):
        value = (value ^ points[offset : len(points) - size + 1 + offset]) * _PRIME
    for multiplier, shift in zip(_MIX, (30, 27), strict=True):
        value = (value ^ (value >> np.uint64(shift))) * multiplier
    return value ^ (value >> np.uint64(31))
