"""Expected documents that did not come: where each stands in the whole corpus, by words and by vectors.

Evidence like any other: no threshold changes it. ``workbench.diagnosis.missed`` reads the reason from it.
"""

from __future__ import annotations

import dataclasses
import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.data.corpus import TextIndex, document_of
from workbench.data.schema import Corpus, alternatives, judgements
from workbench.data.text.points import matcher
from workbench.errors import EncoderError
from workbench.evidence.corpus_index import CorpusIndex, Floats, Ints, copies, near, search, spoken, terms
from workbench.evidence.encoders.base import Encoder
from workbench.evidence.encoders.resolve import percentile
from workbench.evidence.frames import Evidence, encode

if TYPE_CHECKING:
    pass


# ------------------------------------------------------------------------------
# Which expected documents were missed: by whom, for which question, what came instead.


@dataclass(frozen=True)
class Miss:
    """One expected document that is not among the first contexts of its sample.

    ``entry`` numbers the sample's judgements: documents of one entry are alternatives. ``rank``: where it was recorded
    after all, None = nowhere. ``came`` are the recorded contexts that are not expected: ``(rank, doc_id, text)``.
    """

    code: int
    sample_id: str
    question: str
    doc_id: str
    entry: int
    rank: int | None
    tenant: str | None
    points: tuple[tuple[str, ...], ...] = ()
    came: tuple[tuple[int, str | None, str], ...] = ()
    expected: frozenset[str] = field(default_factory=frozenset)


def find_misses(evidence: Evidence, k: int | None, match: str = "chunk") -> list[Miss]:
    """Relevant expected documents outside the first ``k`` contexts (None: outside the prompted ones), by sample.

    An entry of alternatives is missed when none of them came; then each of them is listed. Samples whose contexts were
    not recorded, or recorded without ids, have no misses: nothing is known of their retrieval.
    """
    contexts = _contexts_by_sample(evidence)
    expected = evidence.nested("expected_docs")
    if all(value is None for value in expected):
        _log.warning("no sample says which documents it expects: fill expected_docs to see which were missed")
    return [
        miss
        for code, value in enumerate(expected)
        for miss in _missed(evidence, code, value, contexts.get(code, []), k, match)
    ]  # fmt: skip


@dataclass(frozen=True)
class _Recorded:
    rank: int
    doc_id: str | None
    source: str | None
    text: str
    prompted: bool

    def is_(self, doc_id: str, match: str) -> bool:
        """Whether this context is the document, or one of its chunks where documents are compared or were named."""
        documents = {self.source, None if self.doc_id is None else document_of(self.doc_id)} - {None}
        if match == "document":
            return document_of(doc_id) in documents or doc_id in documents
        return self.doc_id == doc_id


def _contexts_by_sample(evidence: Evidence) -> dict[int, list[_Recorded]]:
    frame = evidence.contexts
    columns = [frame[name].to_numpy(dtype=object).tolist() for name in ("rank", "doc_id", "source", "text", "prompted")]
    found: dict[int, list[_Recorded]] = {}
    for code, rank, doc_id, source, text, prompted in zip(evidence.codes(frame).tolist(), *columns, strict=True):
        context = _Recorded(int(rank), _known(doc_id), _known(source), str(text), bool(prompted))
        found.setdefault(code, []).append(context)
    return found


def _known(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _missed(
    evidence: Evidence, code: int, value: Any, contexts: list[_Recorded], k: int | None, match: str
) -> Iterator[Miss]:
    wanted = [item.doc_ids for item in judgements(value) or () if item.grade >= 1]
    if not wanted or not _recorded(evidence, code) or _nameless(contexts):
        return
    expected = frozenset(doc_id for ids in wanted for doc_id in ids)
    first = _first_contexts(contexts, k)
    came = tuple((c.rank, c.doc_id, c.text) for c in contexts if not any(c.is_(doc_id, match) for doc_id in expected))
    for entry, ids in enumerate(wanted):
        if any(context.is_(doc_id, match) for context in first for doc_id in ids):
            continue
        for doc_id in ids:
            rank = next((c.rank for c in contexts if c.is_(doc_id, match)), None)
            yield Miss(
                code, str(evidence.ids[code]), str(evidence.plain("question")[code]), doc_id, entry, rank,
                evidence.plain("tenant")[code], _points(evidence, code), came, expected,
            )  # fmt: skip


def _recorded(evidence: Evidence, code: int) -> bool:
    return evidence.plain("contexts_recorded")[code] is True


def _nameless(contexts: list[_Recorded]) -> bool:
    """Contexts are texts alone, so that no document can be said to be missing."""
    return bool(contexts) and all(c.doc_id is None and c.source is None for c in contexts)


def _first_contexts(contexts: list[_Recorded], k: int | None) -> list[_Recorded]:
    """The first ``k`` contexts in the order recorded, or the prompted ones."""
    if k is None:
        return [context for context in contexts if context.prompted]
    return [context for context in contexts if context.rank <= k]


def _points(evidence: Evidence, code: int) -> tuple[tuple[str, ...], ...]:
    """What the document should have given: key points, each with its alternatives."""
    return tuple(alternatives(entry) for entry in evidence.nested("must_include")[code] or ())


# ------------------------------------------------------------------------------
# Where each missed document stands in the whole corpus, and everything from which its sub-cause follows.
#
# An :class:`Autopsy` holds what no threshold changes, as JSON-able values; ``workbench.diagnosis.missed`` reads it
# under a depth k. Ranks are over the whole corpus, other tenants' documents included.


#: Documents before the missed one that are looked at for near-duplicates, and listed as rivals.
AHEAD = 50
#: Nearest similarities that are kept, so that the gap to the k-th can be told for any k up to it.
KEPT = 50


@dataclass(frozen=True)
class Autopsy:
    """What is known of one missed document.

    Attributes
    ----------
    indexed
        It is in the corpus; without it every rank is None.
    dense_rank, bm25_rank
        From 1 on; ``dense_rank`` is None without an encoder. A document that shares no term with the question has
        BM25's last place, ``n_documents``.
    similarity, nearest
        Its cosine, and those of the nearest documents in order (at most ``KEPT``).
    percentile
        Of its similarity among random questions and documents of the same languages, 0–100.
    coverage
        IDF-weighted share of the question's index terms that it has, in [0, 1]; None when the question has none.
    cut, beyond
        It is longer than the encoder's window; what the question needs stands beyond that window. None: cannot be told.
    dense_copies, bm25_copies, came_copies
        Which of the documents before it (in each ranking, at most ``AHEAD``), and of the contexts that came, are
        near-duplicates of it or of one before: one ``1`` or ``0`` each, in order.
    dense_agree, bm25_agree
        How many of the contexts that came stand among as many first documents of each ranking.
    """

    doc_id: str
    entry: int
    rank: int | None
    indexed: bool
    n_documents: int
    dense_rank: int | None = None
    bm25_rank: int | None = None
    similarity: float | None = None
    nearest: tuple[float, ...] = ()
    percentile: float | None = None
    coverage: float | None = None
    languages: tuple[str, str] = ("other", "other")
    foreign: bool = False
    cut: bool | None = None
    beyond: bool | None = None
    at_edge: bool = False
    dense_copies: str = ""
    bm25_copies: str = ""
    came_copies: str = ""
    dense_agree: int = 0
    bm25_agree: int = 0

    def to_dict(self) -> dict[str, Any]:
        """JSON-able, without what is at its default."""
        plain = dataclasses.asdict(self)
        defaults = {item.name: item.default for item in dataclasses.fields(self)}
        return {name: value for name, value in plain.items() if value != defaults[name]}

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Autopsy:
        """Read :meth:`to_dict` back; unknown names are left out."""
        known = {item.name for item in dataclasses.fields(cls)}
        values = {name: value for name, value in found.items() if name in known}
        for name in ("nearest", "languages"):
            if name in values:
                values[name] = tuple(values[name])
        return cls(**values)

    def gap(self, k: int) -> float:
        """How far its similarity lies below that of the k-th nearest document (negative: above); NaN if unknown."""
        if self.similarity is None or not self.nearest:
            return math.nan
        at = min(k, len(self.nearest)) - 1
        return self.nearest[at] - self.similarity if k <= len(self.nearest) or self.n_documents <= k else math.nan


@dataclass(frozen=True)
class Found:
    """An autopsy with the documents around it: places in the corpus, best first.

    ``place``: of the missed document, −1 when it is not indexed. ``dense``, ``bm25``: the first documents of either
    ranking. ``before_dense``, ``before_bm25``: those of them that come before the missed one.
    """

    miss: Miss
    autopsy: Autopsy
    place: int
    dense: Ints
    bm25: Ints
    before_dense: Ints
    before_bm25: Ints


def examine_misses(
    misses: Sequence[Miss],
    index: CorpusIndex,
    questions: Sequence[str],
    *,
    match: str = "chunk",
    cancel: Callable[[], bool] | None = None,
) -> list[Found]:
    """An autopsy of each miss, in order. ``questions``: all of the set, for the yardstick of random pairs."""
    if not misses:
        return []
    asked = list(dict.fromkeys(miss.question for miss in misses))
    row = {question: at for at, question in enumerate(asked)}
    places = [index.places(miss.doc_id, match) for miss in misses]
    dense = _dense(asked, [(row[m.question], p) for m, p in zip(misses, places, strict=True)], index, cancel)
    lexical = [_Lexical(question, index) for question in asked]
    found = [
        _one(miss, mine, lexical[row[miss.question]], near_by, index)
        for miss, mine, near_by in zip(misses, places, dense, strict=True)
    ]
    return _with_percentiles(found, index, questions)


@dataclass(frozen=True)
class _Dense:
    """Of one miss: the best placed of its documents, its rank and similarity, the nearest documents of its question."""

    place: int
    rank: int | None
    similarity: float | None
    nearest: Ints
    scores: tuple[float, ...]


def _dense(
    asked: list[str], wanted: list[tuple[int, list[int]]], index: CorpusIndex, cancel: Callable[[], bool] | None
) -> list[_Dense]:
    nothing = np.empty(0, np.int64)
    if index.encoder is None or not any(places for _, places in wanted):
        return [_Dense(places[0] if places else -1, None, None, nothing, ()) for _, places in wanted]
    pairs = [(query, place) for query, places in wanted for place in places]
    columns = (np.array([q for q, _ in pairs], dtype=np.int64), np.array([p for _, p in pairs], dtype=np.int64))
    questions = index.encode(asked, "query")
    ranked = search(questions, index.vectors, index.order, k=max(KEPT, AHEAD), pairs=columns, stop=cancel)
    found, at = [], 0
    for query, places in wanted:
        mine = slice(at, at + len(places))
        at += len(places)
        near_by, scores = ranked.nearest[query], tuple(np.round(ranked.scores[query, :KEPT], 6).tolist())
        if not places:
            found.append(_Dense(-1, None, None, near_by, scores))
            continue
        best = int(np.argmin(ranked.ranks[mine]))
        rank, cosine = int(ranked.ranks[mine][best]), float(ranked.similarities[mine][best])
        found.append(_Dense(places[best], rank, cosine, near_by, scores))
    return found


class _Lexical:
    """The words of one question against the corpus."""

    def __init__(self, question: str, index: CorpusIndex) -> None:
        self.terms = terms(question)
        self.scores: Floats = index.lexical.scores(self.terms)
        self.best = index.lexical.best(self.scores, AHEAD)
        weights = {term: index.lexical.idf(term) for term in self.terms}
        self._weights, self._total = weights, sum(weights.values())

    def rank(self, place: int, index: CorpusIndex) -> int:
        """BM25 rank of a document."""
        return index.lexical.rank(self.scores, place)

    def coverage(self, have: frozenset[str]) -> float | None:
        """IDF-weighted share of the question's terms among ``have``."""
        if not self._total:
            return None
        return sum(weight for term, weight in self._weights.items() if term in have) / self._total


def _one(miss: Miss, places: list[int], words: _Lexical, dense: _Dense, index: CorpusIndex) -> Found:
    n = len(index)
    if not places:
        none = np.empty(0, np.int64)
        gone = Autopsy(miss.doc_id, miss.entry, miss.rank, indexed=False, n_documents=n)
        return Found(miss, gone, -1, dense.nearest, words.best, none, none)
    ranks = [words.rank(place, index) for place in places]
    place = dense.place if dense.rank is not None else places[int(np.argmin(ranks))]
    bm25_rank = min(ranks)
    before_bm25 = words.best[: min(bm25_rank - 1, AHEAD)]
    before_dense = dense.nearest[: min((dense.rank or 1) - 1, AHEAD)]
    mine, came = index.term_sets[place], [text for _, _, text in miss.came]
    cut = index.is_cut([place])[0]
    autopsy = Autopsy(
        miss.doc_id, miss.entry, miss.rank, True, n, dense.rank, bm25_rank,
        None if dense.similarity is None else round(dense.similarity, 6), dense.scores, None,
        _rounded(words.coverage(mine)), (spoken(miss.question), index.languages[place]), _foreign(miss, place, index),
        cut, _beyond(miss, place, dense, index) if cut else None, _at_edge(miss, place, index),
        _flags([index.term_sets[p] for p in before_dense], mine),
        _flags([index.term_sets[p] for p in before_bm25], mine),
        _flags([frozenset(terms(text)) for text in came], mine), _agree(miss, dense.nearest, index),
        _agree(miss, words.best, index),
    )  # fmt: skip
    return Found(miss, autopsy, place, dense.nearest, words.best, before_dense, before_bm25)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _flags(ahead: list[frozenset[str]], mine: frozenset[str]) -> str:
    return "".join("1" if copy else "0" for copy in copies(ahead, mine))


def _foreign(miss: Miss, place: int, index: CorpusIndex) -> bool:
    """The expected document belongs to another tenant than the one who asks."""
    tenant = index.tenants[place]
    return tenant is not None and miss.tenant is not None and tenant != miss.tenant


def _agree(miss: Miss, ranking: Ints, index: CorpusIndex) -> int:
    """How many of the contexts that came are among as many first documents of ``ranking``."""
    came = {doc_id for _, doc_id, _ in miss.came if doc_id is not None}
    return len(came & {index.ids[place] for place in ranking[: len(miss.came)]})


def _beyond(miss: Miss, place: int, dense: _Dense, index: CorpusIndex) -> bool | None:
    """Whether what is needed stands beyond the encoder's window: the key points, else what is like the question."""
    end = index.window_end(place)
    if end is None:
        return None
    text = matcher(index.texts[place])
    spans = [span for entry in miss.points for option in entry if (span := text.find(option)) is not None]
    if spans:
        return all(span.end > end for span in spans)
    rest = index.texts[place][end:].strip()
    if not rest or dense.similarity is None:
        return None
    question, passage = index.encode([miss.question], "query"), index.encode([rest], "passage")
    return bool(float(question[0] @ passage[0]) > dense.similarity)


def _at_edge(miss: Miss, place: int, index: CorpusIndex) -> bool:
    """Whether a neighbouring chunk of the document came: the cut between the two parted what belongs together."""
    source, position = index.sources[place], index.positions[place]
    if source is None or position is None:
        return False
    came = {doc_id for _, doc_id, _ in miss.came}
    neighbours = {
        index.ids[p] for p in index.places(str(source), "document")
        if index.positions[p] is not None and abs(int(index.positions[p]) - int(position)) == 1
    }  # fmt: skip
    return bool(neighbours & came)


def near_copies(place: int, index: CorpusIndex, most: int = 20) -> list[str]:
    """Ids of the near-duplicates of a document, most similar words first."""
    mine = index.term_sets[place]
    scores = index.lexical.scores(sorted(mine))
    close = index.lexical.best(scores, most + 1)
    return [index.ids[p] for p in close.tolist() if p != place and near(index.term_sets[p], mine)]


def _with_percentiles(found: list[Found], index: CorpusIndex, questions: Sequence[str]) -> list[Found]:
    """Add the percentile of each similarity among random pairs of the same languages."""
    wanted = {item.autopsy.languages for item in found if item.autopsy.similarity is not None}
    if not wanted:
        return found
    backgrounds = index.backgrounds(questions, wanted)
    result = []
    for item in found:
        background = backgrounds.get(item.autopsy.languages)
        if background is not None and item.autopsy.similarity is not None:
            value = round(percentile(item.autopsy.similarity, background), 2)
            item = dataclasses.replace(item, autopsy=dataclasses.replace(item.autopsy, percentile=value))
        result.append(item)
    return result


# ------------------------------------------------------------------------------
# What an evaluation keeps of it.


_log = logging.getLogger(__name__)

#: A corpus of more documents is not encoded while an evaluation is made; ``missed_documents`` encodes any.
AT_EVALUATION = 5000


def missed_column(evidence: Evidence, corpus: Corpus, encoder: str | Encoder | None) -> list[str | None]:
    """The column ``missed`` of ``samples``: JSON text, one object a missed document, None where nothing was missed.

    A document is missed here when it is not among the prompted contexts. Without an encoder, with one that cannot be
    used, or over more than ``AT_EVALUATION`` documents, words alone are ranked; ``missed_documents`` has no such limit.
    """
    misses = find_misses(evidence, None)
    column: list[str | None] = [None] * len(evidence)
    if not misses:
        return column
    if len(corpus) > AT_EVALUATION:
        _log.info("a corpus of %d documents is not encoded for sub-causes; see missed_documents", len(corpus))
        encoder = None
    questions = questions_of(evidence)
    try:
        found = examine_misses(misses, CorpusIndex(corpus, encoder), questions)
    except EncoderError as error:
        _log.warning("missed documents are ranked by words alone: %s", error)
        found = examine_misses(misses, CorpusIndex(corpus, None), questions)
    by_sample: dict[int, list[dict[str, Any]]] = {}
    for item in found:
        by_sample.setdefault(item.miss.code, []).append(_compact(item.autopsy))
    for code, items in by_sample.items():
        column[code] = encode(items)
    return column


def _compact(found: Autopsy) -> dict[str, Any]:
    """An autopsy as it is stored: the similarities that the gap needs for k up to 20."""
    return dataclasses.replace(found, nearest=found.nearest[:20]).to_dict()


def stored_autopsies(evidence: Evidence) -> dict[int, list[Autopsy]]:
    """What :func:`missed_column` kept, by sample code; empty for an evaluation without a corpus."""
    return {
        code: [Autopsy.from_dict(item) for item in items]
        for code, items in enumerate(evidence.nested("missed"))
        if items
    }


# ---------------------------------------------------------------- helpers


def as_corpus(corpus: Any) -> Corpus:
    """A corpus, or what ``load_corpus`` makes of it."""
    from workbench.data.corpus import load_corpus

    return corpus if isinstance(corpus, Corpus) else load_corpus(corpus)


def questions_of(evidence: Evidence) -> list[str]:
    """All questions of a set."""
    return [str(question) for question in evidence.plain("question")]


def with_ids(evidence: Evidence, index: CorpusIndex) -> Evidence:
    """The evidence with contexts that were recorded as texts alone named after the corpus document that they are."""
    frame = evidence.contexts
    unnamed = frame["doc_id"].isna().to_numpy()
    if not unnamed.any():
        return evidence
    known = TextIndex(index.texts)
    names = frame["doc_id"].astype(object).tolist()
    texts = frame["text"].tolist()
    for at in unnamed.nonzero()[0].tolist():
        place, _ = known.find(str(texts[at]))
        names[at] = None if place is None else index.ids[place]
    return dataclasses.replace(evidence, contexts=frame.assign(doc_id=names).astype({"doc_id": "str"}))
