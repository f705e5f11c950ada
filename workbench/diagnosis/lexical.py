"""BM25 over words of our own, Chinese and English alike: what a lexical retriever would have found.

Terms are the normalised content words of ``workbench.data.text``; English words in their stem, and for Chinese words
the pairs of characters inside them as well, so that words which the segmenter cut differently still meet halfway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.normalising import HAN_RUN
from workbench.data.text import content_words, stem, words

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

K1, B = 1.2, 0.75


@lru_cache(maxsize=65536)
def word_terms(word: str) -> tuple[str, ...]:
    """The index terms of one normalised word."""
    if HAN_RUN.fullmatch(word) and len(word) > 2:
        return (word, *(word[i : i + 2] for i in range(len(word) - 1)))
    return (stem(word),)


def terms(text: str) -> list[str]:
    """Index terms of a text in order, repetitions kept; of its function words when it has no others."""
    return [term for word in content_words(text) or words(text) for term in word_terms(word)]


class Lexical:
    """A BM25 index (Lucene's formula, k1 1.2, b 0.75).

    Parameters
    ----------
    documents
        Terms of each document, see :func:`terms`.
    order
        Place of each document in the order of ids, (n,), which breaks ties.
    """

    def __init__(self, documents: Sequence[Sequence[str]], order: Ints) -> None:
        self.n = len(documents)
        self._order = order
        self._documents = documents

    @cached_property
    def _index(self) -> Any:
        import logging

        from bm25s import BM25

        # The library sets its own logger to DEBUG.
        logging.getLogger("bm25s").setLevel(logging.WARNING)

        index = BM25(k1=K1, b=B, method="lucene")
        index.index([list(found) or [""] for found in self._documents], create_empty_token=False, show_progress=False)
        return index

    @cached_property
    def document_counts(self) -> Mapping[str, int]:
        """In how many documents each term stands."""
        return Counter(term for found in self._documents for term in set(found))

    def idf(self, term: str) -> float:
        """BM25's inverse document frequency, > 0; highest for a term that stands in no document."""
        n = self.document_counts.get(term, 0)
        return float(np.log(1 + (self.n - n + 0.5) / (n + 0.5)))

    def scores(self, query: Iterable[str]) -> Floats:
        """BM25 score (n,) of every document, 0 where it shares no term with the query."""
        known = [term for term in query if term in self.document_counts and term]
        if not known:
            return np.zeros(self.n, dtype=np.float32)
        return np.asarray(self._index.get_scores(known), dtype=np.float32)

    def best(self, scores: Floats, k: int) -> Ints:
        """Positions of the first ``k`` documents, best first; those that score 0 are left out."""
        found = np.flatnonzero(scores > 0)
        if len(found) > 4 * k:
            cut = np.partition(scores[found], len(found) - k)[len(found) - k]
            found = found[scores[found] >= cut]
        return found[np.lexsort((self._order[found], -scores[found]))][:k]

    def rank(self, scores: Floats, document: int) -> int:
        """Rank of one document from 1 on; one that shares no term is never returned and has the last place, n."""
        mine = scores[document]
        if mine <= 0:
            return self.n
        tied = (scores == mine) & (self._order < self._order[document])
        return 1 + int(np.count_nonzero(scores > mine) + np.count_nonzero(tied))
