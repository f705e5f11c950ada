"""Exact ranks of documents in a whole corpus, by vectors and by words, in bounded memory.

A rank is 1 + the number of documents that come before: those with a higher similarity, and of equally similar ones
those whose id sorts before. Products run in float32 and in blocks; whatever lies within float32's error of the score
that decides is compared again in float64, so the result equals a full sort of the float64 similarities, ties included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Numbers of one block of similarities: 4 million are 16 MB.
BLOCK = 4_000_000
#: Documents of one block at least.
SMALLEST_BLOCK = 256
#: Questions that are compared with all documents at a time.
QUERIES = 1024
#: Pairs that are compared in float64 at a time: 25 MB at 384 dimensions.
ROWS = 4096


@dataclass(frozen=True)
class Ranked:
    """What a search found.

    Attributes
    ----------
    ranks, similarities
        Of the pairs asked for, (p,): rank from 1 on, and cosine in float64.
    nearest, scores
        (m, k): positions of the first documents of each query in order, and their cosines; k is at most the number of
        documents.
    """

    ranks: Ints
    similarities: Doubles
    nearest: Ints
    scores: Doubles


def id_order(ids: Sequence[str]) -> Ints:
    """The place (n,) of each id in the sorted order of all ids: what breaks ties."""
    order = np.empty(len(ids), dtype=np.int64)
    order[sorted(range(len(ids)), key=lambda at: ids[at])] = np.arange(len(ids))
    return order


def similarities(left: NDArray[np.floating], right: NDArray[np.floating]) -> Doubles:
    """Row by row cosines (p,) of unit rows in float64; equal rows give equal numbers wherever they stand."""
    return np.asarray((left.astype(np.float64) * right.astype(np.float64)).sum(axis=1))


def search(
    queries: Floats,
    documents: Floats,
    order: Ints,
    *,
    k: int = 0,
    pairs: tuple[Ints, Ints] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Ranked:
    """Ranks of chosen documents and the ``k`` nearest documents of each query.

    Parameters
    ----------
    queries, documents
        Unit rows (m, d) and (n, d), float32.
    order
        (n,) from :func:`id_order`.
    k
        How many nearest documents are wanted.
    pairs
        ``(query, document)``, two arrays (p,) of positions whose ranks are wanted.
    stop
        Asked before each block.

    Raises
    ------
    CancelledError
        When ``stop()`` was true.
    """
    query, document = pairs if pairs is not None else (np.empty(0, np.int64), np.empty(0, np.int64))
    parts = []
    for first in range(0, max(len(queries), 1), QUERIES):
        mine = np.flatnonzero((query >= first) & (query < first + QUERIES))
        part = _search(queries[first : first + QUERIES], documents, order, k, query[mine] - first, document[mine], stop)
        parts.append((mine, part))
    ranks, cosines = np.zeros(len(query), np.int64), np.zeros(len(query))
    for mine, part in parts:
        ranks[mine], cosines[mine] = part.ranks, part.similarities
    nearest = np.concatenate([part.nearest for _, part in parts])
    return Ranked(ranks, cosines, nearest, np.concatenate([part.scores for _, part in parts]))


def _search(
    queries: Floats,
    documents: Floats,
    order: Ints,
    k: int,
    query: Ints,
    document: Ints,
    stop: Callable[[], bool] | None,
) -> Ranked:
    """One group of queries against all documents, a block at a time."""
    counter = _Counter(queries, documents, order, query, document)
    best = _Best(queries, documents, order, min(k, len(documents)))
    for start, scores in _blocks(queries, documents, stop):
        counter.add(start, scores)
        best.add(start, scores)
    return Ranked(counter.ranks, counter.exact, *best.result())


def _blocks(queries: Floats, documents: Floats, stop: Callable[[], bool] | None) -> Iterator[tuple[int, Floats]]:
    from workbench.errors import CancelledError

    size = max(BLOCK // max(len(queries), 1), SMALLEST_BLOCK)
    for start in range(0, len(documents), size):
        if stop is not None and stop():
            raise CancelledError("ranking was cancelled; vectors that were encoded are kept")
        yield start, queries @ documents[start : start + size].T


def _error_bound(dimension: int) -> float:
    """How far a float32 product of unit rows may lie from the true cosine, whatever the order of its sums.

    Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1: n u / (1 - n u), u = 2^-24.
    """
    return (dimension + 4) * 2.0**-24 / (1 - (dimension + 4) * 2.0**-24)


class _Counter:
    """Counts, for each pair, the documents that come before."""

    def __init__(self, queries: Floats, documents: Floats, order: Ints, query: Ints, document: Ints) -> None:
        self._queries, self._documents, self._order = queries, documents, order
        self._query, self._document = query, document
        self.exact = similarities(queries[query], documents[document]) if len(query) else np.empty(0)
        self.ranks = np.ones(len(query), dtype=np.int64)
        bound = _error_bound(queries.shape[1])
        self._low = (self.exact - bound).astype(np.float32)[:, None]
        self._high = (self.exact + bound).astype(np.float32)[:, None]
        self._all = len(query) == len(queries) and np.array_equal(query, np.arange(len(queries)))

    def add(self, start: int, scores: Floats) -> None:
        """Count the documents of one block."""
        if not len(self._query):
            return
        mine = scores if self._all else scores[self._query]
        surely = mine > self._high
        # Summing the bytes of the mask is four times as fast as counting along an axis.
        self.ranks += np.add.reduce(surely.view(np.uint8), axis=1, dtype=np.uint32)
        close = np.flatnonzero(np.logical_xor(mine >= self._low, surely, out=surely))
        for at in range(0, len(close), ROWS):
            pair, column = np.divmod(close[at : at + ROWS], mine.shape[1])
            self._settle(pair, column + start)

    def _settle(self, pair: Ints, document: Ints) -> None:
        """Compare again, in float64, what float32 cannot tell apart."""
        exact = similarities(self._queries[self._query[pair]], self._documents[document])
        mine = self.exact[pair]
        tied = (exact == mine) & (self._order[document] < self._order[self._document[pair]])
        np.add.at(self.ranks, pair[(exact > mine) | tied], 1)


class _Best:
    """Keeps the documents that may be among the first ``k`` of each query."""

    def __init__(self, queries: Floats, documents: Floats, order: Ints, k: int) -> None:
        self._queries, self._documents, self._order, self._k = queries, documents, order, k
        self._bound = np.float32(2 * _error_bound(queries.shape[1]))
        self._cut = np.full((len(queries), 1), -np.inf, dtype=np.float32)
        self._row, self._column = np.empty(0, np.int64), np.empty(0, np.int64)
        self._score = np.empty(0, np.float32)
        self._first = True

    def add(self, start: int, scores: Floats) -> None:
        """Take over what a block has above the cut so far."""
        if not self._k:
            return
        cut = self._cut
        if self._first and scores.shape[1] > self._k:
            cut = np.partition(scores, -self._k, axis=1)[:, -self._k, None] - self._bound
        row, column = np.divmod(np.flatnonzero(scores >= cut), scores.shape[1])
        self._row = np.concatenate([self._row, row])
        self._column = np.concatenate([self._column, column + start])
        self._score = np.concatenate([self._score, scores[row, column]])
        if self._first or len(self._row) > 1.5 * self._k * len(self._queries):
            self._prune()
        self._first = False

    def _prune(self) -> None:
        """Drop what lies more than the error below the k-th of its query."""
        chosen = np.lexsort((-self._score, self._row))
        row, score = self._row[chosen], self._score[chosen]
        first = np.searchsorted(row, np.arange(len(self._queries)))
        full = np.bincount(row, minlength=len(self._queries)) >= self._k
        self._cut[full, 0] = score[first[full] + self._k - 1] - self._bound
        keep = chosen[score >= self._cut[row, 0]]
        self._row, self._column, self._score = self._row[keep], self._column[keep], self._score[keep]

    def result(self) -> tuple[Ints, Doubles]:
        """Positions and cosines (m, k) of the nearest documents, in order."""
        m, k = len(self._queries), self._k
        if not k or not m:
            return np.empty((m, k), np.int64), np.empty((m, k))
        exact = np.concatenate([
            similarities(self._queries[self._row[at : at + ROWS]], self._documents[self._column[at : at + ROWS]])
            for at in range(0, len(self._row), ROWS)
        ])  # fmt: skip
        chosen = np.lexsort((self._order[self._column], -exact, self._row))
        first = np.searchsorted(self._row[chosen], np.arange(m))
        places = chosen[first[:, None] + np.arange(k)]
        return self._column[places], exact[places]
