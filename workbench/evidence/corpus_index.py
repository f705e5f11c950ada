"""A corpus made ready for asking where a document stands: terms, languages, places, vectors, each worked out once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from workbench.data.corpus import document_of
from workbench.data.schema import Corpus, none_if_missing
from workbench.data.text.normalise import HAN_RUN
from workbench.data.text.words import content_words, language, stem, stop_words, words
from workbench.evidence.cache import content_key
from workbench.evidence.encoders.base import CachedEncoder, Encoder, encoder_identity
from workbench.evidence.encoders.resolve import backgrounds_by_language, load_cached
from workbench.language import languages

# ------------------------------------------------------------------------------
# Near-duplicates: documents that say nearly the same in nearly the same words, and so take each other's places.
#
# Two documents are near-duplicates when the Dice coefficient of their sets of index terms is at least :data:`NEAR`. Pages
# for other years, sites or plans made from one template lie above it; different passages of one page lie well below.
# Words decide, not vectors: the cosines of unrelated passages of one topic are as high as those of copies.


#: Smallest Dice coefficient of two near-duplicates.
NEAR = 0.5
#: Documents of fewer terms are near-duplicates only when their terms are the same.
FEW = 5


def dice(one: frozenset[str], other: frozenset[str]) -> float:
    """2 |A ∩ B| / (|A| + |B|) in [0, 1]; 0 when both are empty."""
    total = len(one) + len(other)
    return 2 * len(one & other) / total if total else 0.0


def near(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two documents, as sets of their terms, are near-duplicates."""
    if min(len(one), len(other)) < FEW:
        return bool(one) and one == other
    return dice(one, other) >= NEAR


def copies(ahead: Sequence[frozenset[str]], document: frozenset[str]) -> list[bool]:
    """Which of the documents ``ahead``, in order, are copies: of ``document``, or of one that came earlier.

    Without the copies, ``document`` would stand as many places higher.
    """
    firsts: list[frozenset[str]] = [document]
    found = []
    for terms in ahead:
        copy = any(near(terms, first) for first in firsts)
        found.append(copy)
        if not copy:
            firsts.append(terms)
    return found


# ------------------------------------------------------------------------------
# BM25 over words of our own, Chinese and English alike: what a lexical retriever would have found.
#
# Terms are the normalised content words of ``workbench.data.text.words``; English words in their stem, and for Chinese words
# the pairs of characters inside them as well, so that words which the segmenter cut differently still meet halfway.


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


def idf(n: int, total: int) -> float:
    """BM25's inverse document frequency of a term that stands in ``n`` of ``total`` documents, > 0."""
    return float(np.log(1 + (total - n + 0.5) / (n + 0.5)))


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
        return idf(self.document_counts.get(term, 0), self.n)

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


# ------------------------------------------------------------------------------
# Exact ranks of documents in a whole corpus, by vectors and by words, in bounded memory.
#
# A rank is 1 + the number of documents that come before: those with a higher similarity, and of equally similar ones
# those whose id sorts before. Products run in float32 and in blocks; whatever lies within float32's error of the score
# that decides is compared again in float64, so the result equals a full sort of the float64 similarities, ties included.


Doubles = NDArray[np.float64]

#: Numbers of one block of similarities: 4 million are 16 MB.
BLOCK = 4_000_000
#: Documents of one block at least.
SMALLEST_BLOCK = 256
#: Questions that are compared with all documents at a time.
QUERIES = 1024
#: Pairs that are compared in float64 at a time: 25 MB at 384 dimensions.
ROWS = 4096


@dataclass(frozen=True)
class Neighbours:
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
) -> Neighbours:
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
    return Neighbours(ranks, cosines, nearest, np.concatenate([part.scores for _, part in parts]))


def _search(
    queries: Floats,
    documents: Floats,
    order: Ints,
    k: int,
    query: Ints,
    document: Ints,
    stop: Callable[[], bool] | None,
) -> Neighbours:
    """One group of queries against all documents, a block at a time."""
    counter = _Counter(queries, documents, order, query, document)
    best = _Best(queries, documents, order, min(k, len(documents)))
    for start, scores in _blocks(queries, documents, stop):
        counter.add(start, scores)
        best.add(start, scores)
    return Neighbours(counter.ranks, counter.exact, *best.result())


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
            self._compare_exactly(pair, column + start)

    def _compare_exactly(self, pair: Ints, document: Ints) -> None:
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


# ------------------------------------------------------------------------------


#: Tokens of a window that a prompt and special signs may take.
PROMPT = 16
#: Share of function words from which on a Latin text is English.
ENGLISH = 0.15
#: What is told by its script, beside the languages that are known.
_BY_SCRIPT = frozenset(("ja", "ko", "ru", "ar", "he", "th", "hi", "el", "other"))

#: ``progress(done, total)`` while texts are encoded.
Progress = Callable[[int, int], None]


class CorpusIndex:
    """One corpus under one encoder.

    Parameters
    ----------
    corpus
        What is searched.
    encoder
        A name, an object of the protocol, or None (or ``"none"``) for words alone.
    progress, cancel
        Told of, and asked between, batches of texts that are encoded.

    Attributes
    ----------
    ids, texts
        Of the documents in order; a document's *place* is its position here.
    order
        Place of each document in the sorted order of ids, which breaks ties.
    """

    def __init__(
        self,
        corpus: Corpus,
        encoder: str | Encoder | None = "auto",
        *,
        progress: Progress | None = None,
        cancel: Callable[[], bool] | None = None,
    ) -> None:
        frame = corpus.frame
        self.ids: list[str] = [str(name) for name in frame.index]
        self.texts: list[str] = [str(text) for text in frame["text"].tolist()]
        self.titles: list[str] = [str(none_if_missing(title) or "") for title in frame["title"].tolist()]
        self.tenants: list[str | None] = [none_if_missing(tenant) for tenant in frame["tenant"].tolist()]
        self.sources: list[str | None] = [none_if_missing(source) for source in frame["source"].tolist()]
        self.positions: list[Any] = [none_if_missing(position) for position in frame["position"].tolist()]
        self.order: Ints = id_order(self.ids)
        self._wanted = encoder
        self.progress, self.cancel = progress, cancel

    def __len__(self) -> int:
        return len(self.ids)

    # -- which document an expectation means ----------------------------------------------------------------------

    @cached_property
    def _at(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.ids)}

    @cached_property
    def _chunks(self) -> dict[str, list[int]]:
        """Chunks of each document, by ``source`` and by the id before the last ``#``."""
        found: dict[str, list[int]] = {}
        for place, (name, source) in enumerate(zip(self.ids, self.sources, strict=True)):
            for document in {str(source) if source is not None else None, document_of(name)} - {None, name}:
                found.setdefault(str(document), []).append(place)
        return found

    def places(self, doc_id: str, match: str = "chunk") -> list[int]:
        """Where the document of a label stands: its chunk, or all its chunks when the label names a document."""
        at = self._at.get(doc_id)
        if at is not None and match == "chunk":
            return [at]
        document = doc_id if doc_id in self._chunks else document_of(doc_id)
        return self._chunks.get(document, [] if at is None else [at])

    # -- words ----------------------------------------------------------------------------------------------------

    @cached_property
    def terms(self) -> list[list[str]]:
        """Index terms of every document."""
        return [terms(text) for text in self.texts]

    @cached_property
    def term_sets(self) -> list[frozenset[str]]:
        """The same as sets."""
        return [frozenset(found) for found in self.terms]

    @cached_property
    def lexical(self) -> Lexical:
        """BM25 over the texts."""
        return Lexical(self.terms, self.order)

    @cached_property
    def languages(self) -> list[str]:
        """Language of every document."""
        return [spoken(text) for text in self.texts]

    # -- vectors --------------------------------------------------------------------------------------------------

    @cached_property
    def encoder(self) -> CachedEncoder | None:
        """The encoder behind its cache, found when it is first needed; None for words alone."""
        return as_cached(self._wanted)

    @cached_property
    def vectors(self) -> Floats:
        """(n, d) unit rows; raises ``EncoderError`` without an encoder that can make them."""
        return self.encode(self.texts, "passage")

    def encode(self, texts: Sequence[str], kind: Any) -> Floats:
        """Vectors of texts through the cache."""
        assert self.encoder is not None
        return self.encoder.encode(texts, kind, progress=self.progress, cancel=self.cancel)

    def is_cut(self, places: Iterable[int]) -> list[bool | None]:
        """Which documents are longer than the encoder's window; None where the encoder does not tell.

        A text of fewer characters than the window has tokens is not, which needs no encoder to be loaded.
        """
        wanted = list(places)
        if self.encoder is None or not hasattr(self.encoder, "truncated"):
            return [None] * len(wanted)
        room = int(getattr(self.encoder, "max_tokens", None) or 0) - PROMPT
        return [len(self.texts[place]) > room and self._window(place)["cut"] for place in wanted]

    def window_end(self, place: int) -> int | None:
        """Where the encoder's window ends in a document that is cut, in characters; None where it cannot be told."""
        return self._window(place)["end"] if self.encoder is not None else None

    def _window(self, place: int) -> dict[str, Any]:
        """``cut`` and ``end`` of one document, kept in the cache."""
        assert self.encoder is not None
        text, cache = self.texts[place], self.encoder.cache
        key = content_key("window", encoder_identity(self.encoder.inner), text)
        known = cache.get_many("windows", [key]).get(key)
        if known is not None:
            found: dict[str, Any] = json.loads(known)
            return found
        fresh = _look_at_window(self.encoder, text)
        cache.put_many("windows", {key: json.dumps(fresh)})
        return fresh

    def backgrounds(self, questions: Sequence[str], pairs: set[tuple[str, str]]) -> dict[tuple[str, str], np.ndarray]:
        """Similarities of random questions and documents for each wanted pair of languages, ascending."""
        assert self.encoder is not None
        found: dict[tuple[str, str], np.ndarray] = {}
        languages = [spoken(question) for question in questions]
        for asked, written in sorted(pairs):
            left = [text for text, name in zip(questions, languages, strict=True) if name == asked]
            right = [text for text, name in zip(self.texts, self.languages, strict=True) if name == written]
            found |= backgrounds_by_language(
                cast(Encoder, self.encoder), left, [asked] * len(left),
                others=right, other_languages=[written] * len(right), kind="query", other_kind="passage",
            )  # fmt: skip
        return found


def _look_at_window(encoder: Any, text: str) -> dict[str, Any]:
    cut = bool(encoder.truncated([text])[0]) if hasattr(encoder, "truncated") else None
    if not cut or not hasattr(encoder, "token_vectors"):
        return {"cut": cut, "end": None}
    _, spans = encoder.token_vectors([text], "passage")[0]
    return {"cut": cut, "end": int(np.asarray(spans)[:, 1].max()) if len(spans) else None}


def spoken(text: str) -> str:
    """Language of a question or document, for telling whether the two can share words at all.

    The language model errs on short Latin texts full of names; a text with English function words is English. A bare
    identifier such as an error code has no language (``"other"``).
    """
    found = language(text)
    if found in _BY_SCRIPT or any(item.script and item.code == found for item in languages()):
        return found
    mine = words(text[:2000])
    if not any(word.isalpha() and len(word) > 1 for word in mine):
        return "other"
    return "en" if found == "en" or sum(word in stop_words() for word in mine) >= ENGLISH * max(len(mine), 1) else found


def as_cached(encoder: str | Encoder | None) -> CachedEncoder | None:
    """The encoder behind its cache; None for None and ``"none"``."""
    if encoder is None or (isinstance(encoder, str) and encoder == "none"):
        return None
    return encoder if isinstance(encoder, CachedEncoder) else load_cached(encoder)
