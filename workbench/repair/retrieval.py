"""Retrievers as values, and carrying one out over a corpus: the contexts that every sample would have got.

What a retriever adds is always something that the asker's tenant may see; only recorded contexts can be foreign.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from workbench.data.corpus import document_of
from workbench.data.schema import Sample, judgements, none_if_missing
from workbench.data.text.normalise import normalise
from workbench.diagnosis.synonyms import SynonymTable, expanded
from workbench.diagnosis.whatif import RRF, Weighted
from workbench.errors import CancelledError, EncoderError, InputError
from workbench.evaluation import Evaluation, load_evaluation
from workbench.evidence.corpus_index import CorpusIndex, Floats, Ints, id_order, near, search, terms
from workbench.evidence.corpus_ranks import as_corpus, with_ids
from workbench.evidence.encoders.base import Encoder
from workbench.evidence.encoders.resolve import load_cached
from workbench.evidence.frames import plain_columns
from workbench.language import main_language, suggest_language
from workbench.repair.documents import Chunking, Documents, Passage, corpus_of, load_documents, passages_of, rechunked
from workbench.repair.needs import Reader, needs_of, term_set

#: Documents of a ranking that are kept, and that a fusion or a reranker looks at.
DEPTH, RERANKED = 100, 50
#: Share of the recorded lists from which a ranking is taken to be the recorded one.
ALIKE = 0.8
RANKINGS = ("recorded", "bm25", "dense", "rrf", "weighted")
#: ``progress(done, total)``.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Retrieval:
    """How contexts are found.

    Attributes
    ----------
    ranking
        ``recorded``: the lists as they came, continued where more is wanted by the ranking that is most like them;
        ``bm25``, ``dense`` (cosine of the encoder), ``rrf`` (both by reciprocal rank, the first 100 of each),
        ``weighted`` (``weight`` · cosine + (1 − weight) · BM25, each scaled to [0, 1] over these).
    k
        Contexts a question; 0 = as many as were prompted.
    title, section
        Weights of the title and of the neighbouring chunks in BM25.
    synonyms
        Questions are expanded by the accepted synonyms in BM25.
    tenants
        Recorded contexts of other tenants are left out.
    once
        Of near-duplicates in a list the first one stays.
    retired, added, current
        Outdated twins are not in the index; missing documents are; recorded texts are replaced by the corpus's.
    rerank
        Of the first 50: ``relevance`` (the judge's own model of words), or the folder of a cross-encoder.
    chunking
        The documents cut anew; None = as they are.
    """

    ranking: str = "recorded"
    k: int = 0
    weight: float = 0.5
    title: float = 0.0
    section: float = 0.0
    synonyms: bool = False
    tenants: bool = False
    once: bool = False
    retired: bool = False
    added: bool = False
    current: bool = False
    rerank: str = ""
    chunking: Chunking | None = None

    def __post_init__(self) -> None:
        if self.ranking not in RANKINGS:
            raise InputError(f"ranking {self.ranking!r} is not known; use one of {', '.join(RANKINGS)}")
        if self.k < 0 or not 0 <= self.weight <= 1:
            raise InputError(f"retrieval: k {self.k} must not be negative, weight {self.weight} lie in 0–1")


@dataclass
class Store:
    """What can be retrieved: passages, their index, and what the prompt gets for each."""

    passages: list[Passage]
    given: list[Passage]
    index: CorpusIndex

    @cached_property
    def weighted(self) -> Weighted:
        """BM25 with titles and sections."""
        return Weighted(self.index)

    @cached_property
    def by_id(self) -> dict[str, int]:
        """Place of each id."""
        return {str(passage.doc_id): at for at, passage in enumerate(self.passages)}


class Simulator:
    """Carries retrievers out for the samples of an evaluation; what two of them share is worked out once.

    Parameters
    ----------
    base
        The index as it is.
    missing, outdated
        Documents that could be added; ids of the corpus that could be retired.
    documents
        Whole documents for chunking; by default they are put together from the chunks.
    """

    def __init__(
        self, evaluation: Any, base: CorpusIndex, corpus: Any, *, missing: Sequence[Passage] = (),
        outdated: Iterable[str] = (), whole: Sequence[Passage] = (), synonyms: SynonymTable | None = None,
        cancel: Callable[[], bool] | None = None,
    ) -> None:  # fmt: skip
        self.evaluation, self.missing, self.outdated = evaluation, list(missing), frozenset(outdated)
        self.synonyms, self.cancel, self.whole = synonyms, cancel, whole
        evidence = with_ids(evaluation.evidence, base)
        self.questions = [str(question) for question in evidence.plain("question")]
        self.tenants = [none_if_missing(tenant) for tenant in evidence.plain("tenant")]
        passages = passages_of(corpus)
        self.base = Store(passages, passages, base)
        self._stores: dict[Any, Store] = {(False, False, None): self.base}
        self._scores: dict[str, dict[tuple[str, str], float]] = {}
        self._joined: dict[tuple[bool, bool], Documents] = {}
        self._ranked: dict[Any, list[Ints]] = {}
        self._vectors: dict[str, Floats] = {}
        self._rows: dict[str, Floats] = {}
        self.recorded, self.n_prompted = self._recorded(evidence)
        filled = [n for n in self.n_prompted if n]
        #: Contexts that a question usually gets.
        self.usual = int(np.median(filled)) if filled else evaluation.thresholds.k

    def _recorded(self, evidence: Any) -> tuple[list[list[Passage] | None], list[int]]:
        frame = evidence.contexts
        lists: list[list[Passage] | None] = [[] if there is True else None for there in evidence.plain("contexts_recorded")]
        prompted = [0] * len(lists)
        names = ("doc_id", "text", "title", "tenant", "source", "position", "prompted")
        columns = plain_columns(frame, names)
        # A context that was retrieved and kept out of the prompt stands behind those that were not.
        for wanted in (True, False):
            for code, *values, shown in zip(evidence.codes(frame).tolist(), *columns, strict=True):
                here = lists[code]
                if here is not None and shown is wanted:
                    *fields, place = values
                    here.append(Passage(*fields)._replace(position=None if place is None else int(place)))
                    prompted[code] += wanted
        return lists, prompted

    @cached_property
    def known(self) -> dict[str, Passage]:
        """Every document by its id; without the corpus's own, its text is the one that was recorded."""
        recorded = (context for came in self.recorded for context in came or ())
        return {str(p.doc_id): p for p in (*recorded, *self.base.passages, *self.missing) if p.doc_id is not None}

    # -- indexes ----------------------------------------------------------------------------------------------------

    @cached_property
    def documents(self) -> Documents:
        """Whole documents of the corpus, with the missing ones."""
        return Documents([*self.base.passages, *self.missing], self.whole)

    def store(self, retrieval: Retrieval) -> Store:
        """The index that a retriever searches."""
        key = (retrieval.retired, retrieval.added, retrieval.chunking)
        if key not in self._stores:
            passages = [p for p in self.base.passages if not (retrieval.retired and p.doc_id in self.outdated)]
            passages += self.missing if retrieval.added else []
            given = passages
            if retrieval.chunking is not None:
                joined = self._joined.get(key[:2]) or Documents(passages, self._whole_of(passages))
                self._joined[key[:2]] = joined
                passages, given = rechunked(joined, retrieval.chunking)
            index = CorpusIndex(corpus_of(passages), cast(Any, self.base.index.encoder), progress=self.base.index.progress,
                                cancel=self.cancel)  # fmt: skip
            known = dict(zip(self.base.index.texts, self.base.index.terms, strict=True))
            index.__dict__["terms"] = [known.get(text) or terms(text) for text in index.texts]
            self._stores[key] = Store(passages, given, index)
        return self._stores[key]

    def _whole_of(self, passages: Sequence[Passage]) -> list[Passage]:
        names = {str(passage.source) for passage in passages}
        return [item for item in self.whole if str(item.source or item.doc_id) in names]

    # -- rankings ---------------------------------------------------------------------------------------------------

    def ranked(self, retrieval: Retrieval) -> list[Ints]:
        """For each sample places in the store, best first, at most :data:`DEPTH`; what its tenant may not see is absent."""
        store, r = self.store(retrieval), retrieval
        words = (r.title, r.section, r.synonyms)
        key = (id(store), r.ranking, words if r.ranking != "dense" else (), r.weight if r.ranking == "weighted" else 0)
        if key not in self._ranked:
            if not store.passages:
                self._ranked[key] = [np.empty(0, np.int64)] * len(self.questions)
            elif r.ranking == "bm25":
                self._ranked[key] = [self._by_words(store, code, r)[0] for code in self._codes()]
            elif r.ranking == "dense":
                self._ranked[key] = self._by_vectors(store)
            else:
                parts = [self.ranked(dataclasses.replace(r, ranking=name)) for name in ("dense", "bm25")]
                self._ranked[key] = [
                    self._fused(store, code, r, *both) for code, *both in zip(self._codes(), *parts, strict=True)
                ]
        return self._ranked[key]

    def _codes(self) -> Iterable[int]:
        for code in range(len(self.questions)):
            if self.cancel is not None and self.cancel():
                raise CancelledError("the repair plan was cancelled; vectors that were encoded are kept")
            yield code

    def _allowed(self, store: Store, tenant: str | None) -> np.ndarray | None:
        """Which passages a tenant may see; None = all."""
        if tenant is None or all(own is None for own in store.index.tenants):
            return None
        return np.array([own is None or own == tenant for own in store.index.tenants])

    def _by_words(self, store: Store, code: int, r: Retrieval) -> tuple[Ints, Floats]:
        question = self.questions[code]
        query = terms(question)
        if r.synonyms and self.synonyms is not None:
            query = expanded(question, self.synonyms.groups())
        scores = store.weighted.scores_of(query, r.title, r.section)
        allowed = self._allowed(store, self.tenants[code])
        if allowed is not None:
            scores = np.where(allowed, scores, np.float32(0))
        return store.index.lexical.best(scores, DEPTH), scores

    def _passage_vectors(self, store: Store) -> Floats:
        key = str(id(store))
        if key not in self._rows:
            fresh = [text for text in dict.fromkeys(store.index.texts) if text not in self._vectors]
            self._vectors.update(zip(fresh, store.index.encode(fresh, "passage"), strict=True))
            self._rows[key] = np.stack([self._vectors[text] for text in store.index.texts])
        return self._rows[key]

    @cached_property
    def _question_vectors(self) -> Floats:
        return self.base.index.encode(self.questions, "query")

    def _by_vectors(self, store: Store) -> list[Ints]:
        found: list[Ints] = [np.empty(0, np.int64)] * len(self.questions)
        groups: dict[str | None, list[int]] = {}
        for code, tenant in enumerate(self.tenants):
            groups.setdefault(tenant, []).append(code)
        vectors = self._passage_vectors(store)
        for tenant, codes in groups.items():
            allowed = self._allowed(store, tenant)
            places = np.arange(len(vectors)) if allowed is None else np.flatnonzero(allowed)
            order = id_order([store.index.ids[place] for place in places]) if allowed is not None else store.index.order
            mine = vectors if allowed is None else vectors[places]
            nearest = search(self._question_vectors[codes], mine, order, k=DEPTH, stop=self.cancel).nearest
            for code, row in zip(codes, nearest, strict=True):
                found[code] = places[row]
        return found

    def _fused(self, store: Store, code: int, r: Retrieval, dense: Ints, bm25: Ints) -> Ints:
        union = np.unique(np.concatenate([dense, bm25]))
        if r.ranking == "rrf":
            scores = np.zeros(len(union))
            for ranking in (dense, bm25):
                scores[np.searchsorted(union, ranking)] += 1 / (RRF + 1 + np.arange(len(ranking)))
        else:
            cosines = self._passage_vectors(store)[union] @ self._question_vectors[code]
            words = self._by_words(store, code, r)[1][union]
            scores = r.weight * _scaled(cosines) + (1 - r.weight) * _scaled(words)
        return union[np.lexsort((store.index.order[union], -scores))][:DEPTH]

    # -- the ranking that is most like the recording ---------------------------------------------------------------

    @cached_property
    def likeness(self) -> dict[str, float]:
        """How much of the recorded lists each ranking has in as many first places, mean over samples in [0, 1]."""
        names = ["bm25"] if not self.base.passages or self.base.index.encoder is None else ["bm25", "dense", "rrf"]
        found = {}
        for name in names:
            shares = []
            for came, places in zip(self.recorded, self.ranked(Retrieval(name)), strict=True):
                ids = {c.doc_id for c in came or () if c.doc_id in self.base.by_id}
                if came and ids:
                    first = {self.base.index.ids[place] for place in places[: len(came)]}
                    shares.append(len(ids & first) / len(ids))
            found[name] = float(np.mean(shares)) if shares else 0.0
        return found

    @cached_property
    def nearest(self) -> str:
        """The ranking that is most like the recording."""
        return max(self.likeness, key=lambda name: self.likeness[name])

    @cached_property
    def stale(self) -> tuple[str, ...]:
        """Documents that were recorded with another text than the corpus has (a part of it is no other text)."""
        found: dict[str, None] = {}
        for context in (context for came in self.recorded for context in came or ()):
            place = self.base.by_id.get(context.doc_id or "")
            if place is not None and context.text != self.base.passages[place].text:
                mine, theirs = normalise(context.text), normalise(self.base.passages[place].text)
                if mine not in theirs and theirs not in mine:
                    found[str(context.doc_id)] = None
        return tuple(found)

    def unencoded(self, limit: int) -> int:
        """How many new texts another chunking would have to encode, where that is more than ``limit``; else 0."""
        if self.nearest == "bm25" or len(self.documents.documents) >= len(self.base.passages):
            return 0
        new = sum(len(p.text) for p in self.base.passages) // 500  # pieces of some 128 tokens
        return new if new > limit else 0

    @cached_property
    def alike(self) -> list[bool]:
        """Whether the recorded list of each sample is exactly what the nearest ranking gives, and by no chance: most are."""
        if self.likeness[self.nearest] < ALIKE:
            return [False] * len(self.recorded)
        ranked = self.ranked(Retrieval(self.nearest))
        return [
            came is not None and (bool(came) or not len(places))
            and [c.doc_id for c in came] == [self.base.index.ids[p] for p in places[: len(came)]]
            for came, places in zip(self.recorded, ranked, strict=True)
        ]

    # -- contexts ---------------------------------------------------------------------------------------------------

    def contexts(self, retrieval: Retrieval) -> list[list[Passage] | None]:
        """The contexts of every sample, best first; None where a recording is asked for that was not made."""
        if retrieval == Retrieval():
            return [None if c is None else c[:n] for c, n in zip(self.recorded, self.n_prompted, strict=True)]
        store = self.store(retrieval)
        kept = retrieval.ranking == "recorded" and retrieval.chunking is None
        ranking = self.nearest if retrieval.ranking == "recorded" else retrieval.ranking
        ranked = self.ranked(dataclasses.replace(retrieval, ranking=ranking))
        found: list[list[Passage] | None] = []
        for code in self._codes():
            came, own = self.recorded[code], store.given
            if kept and came is None:
                found.append(None)
                continue
            room = self._room(code, retrieval)
            deep = max(room, RERANKED) if retrieval.rerank else room
            if kept:
                items = self._continued(store, code, ranked[code], retrieval)
            else:
                items = [(store.passages[place], own[place]) for place in ranked[code]]
            chosen = _first(items, deep, retrieval.once)
            found.append(chosen if retrieval.rerank else chosen[:room])
        if not retrieval.rerank:
            return found
        rooms = [self._room(code, retrieval) for code in range(len(found))]
        return self._reranked(found, retrieval.rerank, rooms)

    def _room(self, code: int, r: Retrieval) -> int:
        """How many contexts a sample gets."""
        if r.k or r.ranking != "recorded" or r.chunking is not None:
            return r.k or self.usual
        # A list that ended because the ranking had no more may grow with the index.
        ended = r.added and self.alike[code] and len(self.ranked(Retrieval(self.nearest))[code]) <= self.n_prompted[code]
        return max(self.usual, self.n_prompted[code]) if ended else self.n_prompted[code]

    def _continued(self, store: Store, code: int, ranked: Ints, r: Retrieval) -> list[tuple[Passage, Passage]]:
        """The recorded list under the changes of a retriever, then what the ranking has beside it."""
        came, tenant, items = self.recorded[code] or [], self.tenants[code], []
        if (r.added or r.retired) and self.alike[code]:
            # Another index has other frequencies of words: a list that the ranking gives exactly is ranked anew.
            own = {} if r.current else {context.doc_id: context for context in came}
            found = [store.passages[place] for place in ranked]
            return [(item, item) for item in (own.get(passage.doc_id, passage) for passage in found)]
        for context in came:
            foreign = context.tenant is not None and tenant is not None and context.tenant != tenant
            if (r.retired and context.doc_id in self.outdated) or (r.tenants and foreign):
                continue
            place = self.base.by_id.get(context.doc_id or "") if r.current else None
            items.append(context if place is None else self.base.passages[place])
        if r.added:
            # A document that joins the index takes the place that the ranking gives it.
            new = {passage.doc_id for passage in self.missing}
            for rank, place in enumerate(ranked.tolist()):
                if store.passages[place].doc_id in new and rank <= len(items):
                    items.insert(rank, store.passages[place])
        known = {context.doc_id for context in came} | {item.doc_id for item in items}
        items += [store.passages[place] for place in ranked if store.passages[place].doc_id not in known]
        return [(item, item) for item in items]

    # -- reranking --------------------------------------------------------------------------------------------------

    def _reranked(self, lists: list[list[Passage] | None], model: str, rooms: Sequence[int]) -> list[list[Passage] | None]:
        known = self._scores.setdefault(model, {})  # a text has one score for a question, whatever stands beside it
        fresh: dict[str, dict[str, None]] = {}
        for question, contexts in zip(self.questions, lists, strict=True):
            new = {c.text: None for c in contexts or () if (question, c.text) not in known}
            fresh.setdefault(question, {}).update(new)
        asked = [(question, list(texts)) for question, texts in fresh.items() if texts]
        for (question, texts), scores in zip(asked, reranker(model)(asked, self.cancel), strict=True):
            known.update(zip(((question, text) for text in texts), scores.tolist(), strict=True))
        found: list[list[Passage] | None] = []
        for question, contexts, room in zip(self.questions, lists, rooms, strict=True):
            order = np.argsort([-known[question, c.text] for c in contexts or ()], kind="stable")[:room]
            found.append(None if contexts is None else [contexts[at] for at in order])
        return found


def _scaled(values: np.ndarray) -> np.ndarray:
    """Scaled to [0, 1]; zeros where all are the same."""
    spread = float(np.ptp(values)) if len(values) else 0.0
    return (values - values.min()) / spread if spread else np.zeros(len(values))


def _first(items: Sequence[tuple[Passage, Passage]], n: int, once: bool) -> list[Passage]:
    """The first ``n`` to be given, each once; near-duplicates of an earlier one left out where wanted."""
    chosen: dict[tuple[str | None, str], Passage] = {}
    kept: list[frozenset[str]] = []
    for found, given in items:
        if len(chosen) >= n:
            break
        if once:
            mine = term_set(found.text)
            if any(near(mine, other) for other in kept):
                continue
            kept.append(mine)
        chosen.setdefault((given.doc_id, given.text), given)
    return list(chosen.values())


Reranker = Callable[[Sequence[tuple[str, list[str]]], Callable[[], bool] | None], list[np.ndarray]]


def reranker(model: str) -> Reranker:
    """A function from questions with their texts to a score for each text.

    ``relevance``: the offline judge's model of how far a text helps to answer, by words alone; otherwise the folder of a
    cross-encoder with one output.
    """
    return _by_relevance if model == "relevance" else _by_cross_encoder(model)


def _by_relevance(asked: Sequence[tuple[str, list[str]]], cancel: Callable[[], bool] | None) -> list[np.ndarray]:
    from workbench.data.schema import Context
    from workbench.evidence.offline.judge import OfflineJudge

    judge = OfflineJudge("none")
    samples = [Sample(str(at), q, contexts=tuple(Context(text) for text in texts)) for at, (q, texts) in enumerate(asked)]
    scores = []
    for found in judge.examine(samples):
        if cancel is not None and cancel():
            raise CancelledError("reranking was cancelled")
        scores.append(np.asarray(found.relevance, dtype=float))
    return scores


def _by_cross_encoder(model: str) -> Reranker:
    from sentence_transformers import CrossEncoder

    try:
        loaded = CrossEncoder(model, max_length=512)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise InputError(f"reranker {model}: cannot be loaded ({reason}); give the folder of a cross-encoder") from error
    if loaded.num_labels != 1:
        raise InputError(f"reranker {model}: has {loaded.num_labels} outputs; a cross-encoder that ranks has one")

    def score(asked: Sequence[tuple[str, list[str]]], cancel: Callable[[], bool] | None) -> list[np.ndarray]:
        """One array of scores a question, in the order of its texts."""
        scores = []
        for question, texts in asked:
            if cancel is not None and cancel():
                raise CancelledError("reranking was cancelled")
            pairs = [(question, text) for text in texts]
            scores.append(np.asarray(loaded.predict(pairs, show_progress_bar=False)) if pairs else np.empty(0))
        return scores

    return score


_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
#: Documents most like one in words that are looked at for a newer twin.
NEIGHBOURS = 12


def outdated_twins(index: CorpusIndex) -> dict[str, str]:
    """Documents that a newer near-duplicate of another source replaces: outdated id → id of the newer one.

    Of two near-duplicates of one tenant, the one whose id or title names an earlier year than the other's, or a year where
    the other's names none. Years in the texts say nothing: pages of two sites were opened in different years.
    """
    found: dict[str, str] = {}
    years = [
        max((int(year) for year in _YEAR.findall(f"{doc_id} {title}")), default=0)
        for doc_id, title in zip(index.ids, index.titles, strict=True)
    ]
    for place, year in enumerate(years):
        if not year:
            continue
        mine = index.term_sets[place]
        for other in index.lexical.best(index.lexical.scores(sorted(mine)), NEIGHBOURS).tolist():
            apart = index.sources[other] != index.sources[place] or index.sources[place] is None
            newer = years[other] > year or not years[other]
            same = other != place and apart and newer and index.tenants[other] == index.tenants[place]
            if same and near(index.term_sets[other], mine):
                found[index.ids[place]] = index.ids[other]
                break
    return found


def prepared(
    result: Any, corpus: Any, *, encoder: Any, documents: Any, synonyms: SynonymTable | None = None, cancel: Any = None,
    progress: Progress | None = None,
) -> tuple[Simulator, Reader]:  # fmt: skip
    """What carries retrievers out, and what reads their contexts, for the arguments of :func:`repair_plan`."""
    evaluation = result if isinstance(result, Evaluation) else load_evaluation(result)
    suggest_language(main_language(evaluation.evidence.plain("question")))
    base = corpus_of([]) if corpus is None else as_corpus(corpus)
    index = CorpusIndex(base, _encoder("none" if corpus is None else encoder), cancel=cancel, progress=progress)
    whole = [] if documents is None else load_documents(documents)
    missing = _missing(evaluation, passages_of(base), whole)
    simulator = Simulator(evaluation, index, base, missing=missing, outdated=outdated_twins(index), whole=whole,
                          synonyms=synonyms, cancel=cancel)  # fmt: skip
    return simulator, Reader(needs_of(evaluation, simulator.known), simulator.documents, evaluation.thresholds.match)


def _encoder(wanted: str | Encoder | None) -> str | Encoder | None:
    """The encoder; words alone when nothing was named and the embedded one cannot be loaded."""
    if wanted is not None:
        return wanted
    try:
        return cast(Encoder, load_cached("auto"))
    except EncoderError:
        return "none"


def _missing(evaluation: Evaluation, corpus: Sequence[Passage], whole: Sequence[Passage]) -> list[Passage]:
    """Of the given documents those that a sample expects and the corpus lacks: one that is expected by its own id as it
    is, one whose chunks are expected (``name#1``) cut by paragraph."""
    judged = (judgement for value in evaluation.evidence.nested("expected_docs") for judgement in judgements(value) or ())
    expected = {doc_id for judgement in judged for doc_id in judgement.doc_ids}
    ids, known = {p.doc_id for p in corpus}, {str(p.source) for p in corpus if p.source}
    stems, found = {document_of(doc_id) for doc_id in expected}, []
    for item in whole if corpus else ():
        name = str(item.source or item.doc_id)
        if item.doc_id in expected and item.doc_id not in ids:
            found.append(item)
        elif name in stems and name not in known and item.doc_id not in ids:
            parts = [part.strip() for part in item.text.split("\n\n") if part.strip()]
            found += [Passage(f"{name}#{at}", part, item.title, item.tenant, name, at) for at, part in enumerate(parts, 1)]
    return found
