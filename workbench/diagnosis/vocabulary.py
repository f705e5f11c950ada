"""Words that never meet: which terms of a question stand in the missed document, and what that document says instead.

A question's *content terms* are its words without function words, normalised (width, case, traditional or simplified).
A term stands in a document when it is one of its words, or, for Chinese, a stretch of its text: the segmenter cuts the
same characters differently in different sentences. Its weight is BM25's inverse document frequency; a term that stands
in no document of the corpus has the highest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.data.normalising import HAN_RUN, normalise
from workbench.data.text import content_words, words
from workbench.diagnosis.missed import as_corpus, with_ids
from workbench.diagnosis.misses import Miss, find_misses
from workbench.diagnosis.neighbours import TermVectors
from workbench.diagnosis.shelf import Shelf
from workbench.diagnosis.variants import Candidate, by_form, phrases
from workbench.evidence.embed import Encoder

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("sample_id", "doc_id", "coverage", "coverage_retrieved", "missing_terms", "candidates")
#: Below this coverage a miss is called a vocabulary gap unless the reader moves the cut.
GAP = 0.4
#: Candidates that are named for one missing term.
CANDIDATES = 3

#: A number on its own names nothing.
_NUMBER = re.compile(r"(?:^|\s)[\d.,%]+(?:\s|$)")


def content_terms(question: str) -> list[str]:
    """Distinct content terms in order; all words of a question that has only function words."""
    return list(dict.fromkeys(content_words(question) or words(question)))


@dataclass(frozen=True)
class Gap:
    """One missed document seen through the words of its question.

    Attributes
    ----------
    terms, weights
        Content terms of the question and their inverse document frequencies.
    has, came
        Which terms stand in the missed document, and in each context that came instead (rank, id, flags).
    """

    miss: Miss
    place: int
    terms: tuple[str, ...]
    weights: tuple[float, ...]
    has: tuple[bool, ...]
    came: tuple[tuple[int, str | None, tuple[bool, ...]], ...]

    @property
    def coverage(self) -> float:
        """IDF-weighted share of the terms that stand in the missed document; NaN without terms or document."""
        return float("nan") if self.place < 0 else covered(self.weights, self.has)

    @property
    def coverage_retrieved(self) -> float:
        """The highest such share among the contexts that came instead; NaN when none came."""
        return max((covered(self.weights, flags) for _, _, flags in self.came), default=float("nan"))

    @property
    def missing(self) -> list[str]:
        """Terms that the document lacks, weightiest first."""
        lacking = [(-weight, at) for at, weight in enumerate(self.weights) if not self.has[at]]
        return [self.terms[at] for _, at in sorted(lacking)]


def covered(weights: Sequence[float], flags: Sequence[bool]) -> float:
    """Share of ``weights`` whose flag is set, in [0, 1]; NaN when there are none."""
    total = sum(weights)
    return sum(w for w, flag in zip(weights, flags, strict=True) if flag) / total if total else float("nan")


class Vocabulary:
    """Terms of the documents of one corpus."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self._counts: dict[str, int] = {}

    @cached_property
    def _words(self) -> list[frozenset[str]]:
        return [frozenset(words(text)) for text in self.shelf.texts]

    @cached_property
    def _texts(self) -> list[str]:
        return [normalise(text) for text in self.shelf.texts]

    @cached_property
    def _by_word(self) -> Mapping[str, int]:
        from collections import Counter

        return Counter(word for mine in self._words for word in mine)

    def stands_in(self, term: str, place: int) -> bool:
        """Whether a term stands in the document at ``place``."""
        return stands(term, self._words[place], self._texts[place])

    def count(self, term: str) -> int:
        """In how many documents a term stands."""
        if term not in self._counts:
            chinese = HAN_RUN.fullmatch(term) is not None
            found = sum(term in text for text in self._texts) if chinese else self._by_word.get(term, 0)
            self._counts[term] = found
        return self._counts[term]

    def idf(self, term: str) -> float:
        """ln(1 + (N − n + ½) / (n + ½)) > 0, n of the N documents holding the term."""
        n, total = self.count(term), len(self.shelf)
        return float(np.log(1 + (total - n + 0.5) / (n + 0.5)))


def stands(term: str, found: frozenset[str], text: str) -> bool:
    """Whether ``term`` is one of the words ``found`` of a document, or a stretch of its normalised Chinese ``text``."""
    return term in found or (HAN_RUN.fullmatch(term) is not None and term in text)


def find_gaps(misses: Sequence[Miss], vocabulary: Vocabulary, k: int, match: str = "chunk") -> list[Gap]:
    """Each miss through the words of its question, in order; of what came, ``k`` contexts are looked at."""
    return [_gap(miss, vocabulary, k, match) for miss in misses]


def _gap(miss: Miss, vocabulary: Vocabulary, k: int, match: str) -> Gap:
    terms = content_terms(miss.question)
    flags = [
        (place, tuple(vocabulary.stands_in(term, place) for term in terms))
        for place in vocabulary.shelf.places(miss.doc_id, match)
    ]
    weights = tuple(vocabulary.idf(term) for term in terms)
    place, has = max(flags, key=lambda item: covered(weights, item[1]), default=(-1, (False,) * len(terms)))
    came = tuple((rank, doc_id, _flags(terms, text)) for rank, doc_id, text in miss.came if rank <= k)
    return Gap(miss, place, tuple(terms), weights, has, came)


def _flags(terms: Sequence[str], text: str) -> tuple[bool, ...]:
    found, plain = frozenset(words(text)), normalise(text)
    return tuple(stands(term, found, plain) for term in terms)


def candidates(gap: Gap, shelf: Shelf, vectors: TermVectors | None = None) -> dict[str, list[Candidate]]:
    """For each missing term what the document may call it, best first; terms without a candidate have an empty list.

    By form first (word forms, identifiers, abbreviations, shared characters), then by meaning where ``vectors`` know
    the words: the nearest words of the document, in any language, that are nearer than 95 % of random pairs.
    """
    if gap.place < 0:
        return {term: [] for term in gap.missing}
    options = [o for o in phrases(shelf.texts[gap.place]) if o not in gap.terms and not _NUMBER.search(o)]
    found = {}
    for term in gap.missing:
        mine = by_form(term, options)
        if vectors is not None:
            known = {candidate.text for candidate in mine}
            mine += [item for item in vectors.nearest(term, options) if item.text not in known]
        found[term] = _distinct(mine)[:CANDIDATES]
    return found


def _distinct(found: Sequence[Candidate]) -> list[Candidate]:
    """Without candidates that only add words to a better one."""
    kept: list[Candidate] = []
    for candidate in found:
        if not any(better.text in candidate.text for better in kept):
            kept.append(candidate)
    return kept


def vocabulary_gaps(
    evaluation: Any, corpus: Any, encoder: str | Encoder | None = None, *, max_words: int = 4000
) -> pd.DataFrame:
    """One row per missed document, the same rows as ``missed_documents``, seen through the question's words.

    Parameters
    ----------
    evaluation, corpus
        As for ``missed_documents``.
    encoder
        For candidates by meaning; None = the embedded default, ``"none"`` = by form alone.
    max_words
        Words that are encoded at most; rows beyond have candidates by form alone.

    Returns
    -------
    DataFrame
        ``sample_id, doc_id``; ``coverage``: IDF-weighted share in [0, 1] of the question's content terms that stand
        literally (normalised) in the document, NaN when it is not in the corpus; ``coverage_retrieved``: the highest
        such share of a context that came instead; ``missing_terms``: list, weightiest first; ``candidates``: term →
        list of what the document may call it, best first.

    Raises
    ------
    EncoderError, InputError
        As for ``missed_documents``.
    """
    import pandas as pd

    shelf = Shelf(as_corpus(corpus), "auto" if encoder is None else encoder)
    k, match = evaluation.thresholds.k, evaluation.thresholds.match
    misses = find_misses(with_ids(evaluation.evidence, shelf), k, match)
    gaps = find_gaps(misses, Vocabulary(shelf), k, match)
    vectors = term_vectors(gaps, shelf, max_words)
    rows = [
        (gap.miss.sample_id, gap.miss.doc_id, gap.coverage, gap.coverage_retrieved, gap.missing,
         {term: [item.text for item in mine] for term, mine in candidates(gap, shelf, vectors).items()})
        for gap in gaps
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype({"sample_id": "str", "doc_id": "str", "coverage": "float", "coverage_retrieved": "float"})


def term_vectors(gaps: Sequence[Gap], shelf: Shelf, max_words: int) -> TermVectors | None:
    """Vectors of the missing terms and of the words of the missed documents, row by row until ``max_words``."""
    if not gaps or shelf.encoder is None:
        return None
    wanted: dict[str, None] = {}
    for gap in gaps:
        if gap.place < 0 or not gap.missing:
            continue
        options = (option for option in phrases(shelf.texts[gap.place]) if not _NUMBER.search(option))
        mine = dict.fromkeys([*gap.missing, *options])
        if len(wanted | mine) <= max_words:
            wanted |= mine
    return TermVectors(list(wanted), shelf.encode(list(wanted), "query")) if wanted else None
