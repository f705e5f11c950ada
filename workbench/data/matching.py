"""Which document of a corpus a text is: the same text after normalisation, or one that contains the other.

Containment is found through 16-character shingles of the normalised texts, so that a chunk cut elsewhere than the
corpus's still meets its document. In a corpus of more than ``MAX_SHINGLES`` characters candidates are found through a
sample of the shingles (chosen by content, the same on both sides) and then compared in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.data.normalising import normalise

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Length of a shingle in characters, a power of two.
SHINGLE = 16
#: Smallest share of the shorter text's shingles that the other must hold.
NEAR = 0.8
#: Most shingles that the index of a corpus keeps.
MAX_SHINGLES = 8_000_000

_CANDIDATES = 5
_MULTIPLIER = 0x9E3779B97F4A7C15
_WORD = 2**64


class TextIndex:
    """Documents to be found by content. ``texts`` in order; the first of identical ones wins."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [normalise(text) for text in texts]
        self._exact: dict[str, int] = {}
        for at, text in enumerate(self._texts):
            if text:
                self._exact.setdefault(text, at)
        self._rate = 1 + sum(map(len, self._texts)) // MAX_SHINGLES
        self._index: tuple[NDArray[Any], NDArray[Any]] | None = None

    def find(self, text: str) -> tuple[int | None, str]:
        """Position of the document that ``text`` is, and how it was found: ``"exact"``, ``"near"`` or ``""``."""
        plain = normalise(text)
        at = self._exact.get(plain)
        if at is not None:
            return at, "exact"
        near = self._near(plain) if len(plain) >= SHINGLE else None
        return near, "near" if near is not None else ""

    def _near(self, plain: str) -> int | None:
        """The candidate with the largest share, then the most shared shingles, then the first."""
        mine = shingles(plain)
        best: tuple[float, int, int] | None = None
        for at in self._candidates(mine):
            theirs = shingles(self._texts[at])
            shared = len(np.intersect1d(mine, theirs, assume_unique=True))
            share = shared / min(len(mine), len(theirs))
            if share >= NEAR and (best is None or (share, shared, -at) > best):
                best = (share, shared, -at)
        return None if best is None else -best[2]

    def _candidates(self, mine: NDArray[Any]) -> list[int]:
        """Documents that share most sampled shingles with ``mine``."""
        hashes, places = self._sorted()
        sampled = mine[mine % np.uint64(self._rate) == 0] if self._rate > 1 else mine
        low, high = np.searchsorted(hashes, sampled, "left"), np.searchsorted(hashes, sampled, "right")
        found = [places[start:end] for start, end in zip(low, high, strict=True) if end > start]
        if not found:
            return []
        documents, votes = np.unique(np.concatenate(found), return_counts=True)
        return documents[np.argsort(-votes, kind="stable")[:_CANDIDATES]].tolist()

    def _sorted(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Sampled shingles of all documents in ascending order, and the document of each."""
        if self._index is None:
            found = [shingles(text) for text in self._texts]
            if self._rate > 1:
                found = [part[part % np.uint64(self._rate) == 0] for part in found]
            hashes = np.concatenate(found) if found else np.empty(0, dtype=np.uint64)
            places = np.repeat(np.arange(len(found), dtype=np.int32), [len(part) for part in found])
            order = np.argsort(hashes, kind="stable")
            self._index = hashes[order], places[order]
        return self._index


def shingles(text: str) -> NDArray[np.uint64]:
    """Hashes of the shingles of a normalised text, ascending, each once; empty when it is shorter than one."""
    if len(text) < SHINGLE:
        return np.empty(0, dtype=np.uint64)
    encoded = text.encode("utf-32-le", "surrogatepass")
    hashes: NDArray[np.uint64] = np.frombuffer(encoded, dtype="<u4").astype(np.uint64)
    step, power = 1, _MULTIPLIER
    while step < SHINGLE:
        hashes = hashes[:-step] + np.uint64(power) * hashes[step:]
        step, power = 2 * step, power * power % _WORD
    mixed = (hashes ^ (hashes >> np.uint64(29))) * np.uint64(_MULTIPLIER)
    return np.unique(mixed ^ (mixed >> np.uint64(32)))
