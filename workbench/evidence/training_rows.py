"""Rows of features for training: each labelled example examined just as the judge examines a sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.schema import Context, Sample
from workbench.evidence import relevance
from workbench.evidence.analysis import FUNCTION, NUMBER, analyse
from workbench.evidence.embed import Encoder
from workbench.evidence.examination import Examination
from workbench.evidence.features import untold
from workbench.evidence.grid import claim_words
from workbench.evidence.labelled import Asked, Example
from workbench.evidence.parts import SPAN, span_features
from workbench.evidence.support import Coefficients, Logistic, excess
from workbench.evidence.vectors import TextVectors, VectorStore

Floats = NDArray[Any]

#: Weight of all real data against that of all perturbations.
RATIO = 15.0
#: A changed word weighs so many unchanged ones: about one word in eight of a changed statement is changed.
SPAN_WEIGHT = 4.0
#: Changes that are no change of one content word.
SKIPPED_CHANGES = ("negation",)


@dataclass(frozen=True)
class Table:
    """Rows to train one model on: ``values`` (n, f) named ``names``, and what is known of each row."""

    names: tuple[str, ...]
    values: Floats
    labels: NDArray[np.bool_]
    sources: NDArray[Any]
    groups: NDArray[Any]
    changes: NDArray[Any]
    weights: NDArray[np.float64]


class Features:
    """Examinations of pairs of texts, their vectors kept."""

    def __init__(self, encoder: Encoder | None) -> None:
        self.store = VectorStore(encoder, tokens=True) if encoder is not None else None
        self.models: dict[str, Logistic] = {}

    @property
    def coefficients(self) -> Coefficients:
        """The models trained so far."""
        return Coefficients("training", self.store is not None, self.models, "0", {})

    def examinations(self, samples: Sequence[Sample], batch: int = 64) -> Iterator[Examination]:
        """Yield the :class:`Examination` of each sample."""
        for start in range(0, len(samples), batch):
            part = samples[start : start + batch]
            passages: dict[str, TextVectors] = {}
            queries: dict[str, TextVectors] = {}
            if self.store is not None:
                passages = self.store.get([t for s in part for t in _texts(s)], "passage")
                queries = self.store.get([s.question for s in part], "query")
            for sample in part:
                yield Examination(sample, self.coefficients, passages, queries)


def _texts(sample: Sample) -> list[str]:
    return [*(c.text for c in sample.contexts or ()), *(t for t in (sample.answer, sample.reference) if t)]


def support_table(examples: Sequence[Example], features: Features) -> tuple[Table, list[Floats]]:
    """Rows for the support model, one an example, and the features of the words of each claim.

    The claim is laid out as a whole reference is: as one row, read with the prompt of a passage. The last column,
    ``untold``, is no feature of a model: it says where the judge lowers what the model says.
    """
    samples = [Sample("", "?", contexts=(Context(e.evidence),), reference=e.claim) for e in examples]
    rows, spans = [], []
    names: tuple[str, ...] = ()
    for seen in features.examinations(samples):
        names, row = (*seen.names, "untold"), len(seen.rows) - 1
        among = np.flatnonzero(seen.windows.owner == 0)
        window = int(among[np.argmax(seen.features[row, among, seen.names.index("word_cover")])])
        rows.append(np.append(seen.features[row, window], untold(seen.grid, row, None)[0]))
        spans.append(span_features(seen.grid, seen.alignment, row, seen.windows, window))
    weights = _weights([e.source for e in examples])
    return _table(names, rows, [e.supported for e in examples], examples, weights), spans


def _table(
    names: Sequence[str], rows: Sequence[Floats], labels: Sequence[bool], examples: Sequence[Any], weights: Any
) -> Table:
    source, group, change = (np.array([getattr(e, name) for e in examples]) for name in ("source", "group", "change"))
    kept = np.asarray(weights, dtype=np.float64)
    return Table(tuple(names), np.stack(rows), np.array(labels), source, group, change, kept)


def _weights(sources: Sequence[str]) -> NDArray[np.float64]:
    """Real sets weigh the same, 1 a row on average; those made from paragraphs share a :data:`RATIO` th of that."""
    names = np.array(sources)
    made = np.char.startswith(names, "xquad")
    weights = np.ones(len(names))
    for group, share in ((~made, 1.0), (made, 1.0 / RATIO)):
        kinds = np.unique(names[group])
        for source in kinds:
            weights[names == source] = (~made).sum() * share / len(kinds) / (names == source).sum()
    return weights


def span_table(examples: Sequence[Example], spans: Sequence[Floats]) -> Table:
    """Content words: the changed ones of perturbed statements are unsupported, the others and those of claims that
    people call supported are supported, whether they stand in the text or not."""
    rows, labels, of = [], [], []
    for example, words in zip(examples, spans, strict=True):
        made = example.source.startswith("xquad")
        if example.change in SKIPPED_CHANGES or not (made or example.supported):
            continue
        text = analyse(example.claim)
        content = np.flatnonzero((text.kind != FUNCTION) & (text.kind != NUMBER))
        changed = (text.starts < example.end) & (text.ends > example.start) & (not example.supported)
        rows.append(words[content])
        labels.append(~changed[content])
        of.extend([example] * len(content))
    kept = np.concatenate(labels)
    return _table(SPAN, list(np.concatenate(rows)), list(kept), of, np.where(kept, 1.0, SPAN_WEIGHT))


# ---------------------------------------------------------------- relevance


@dataclass(frozen=True, slots=True)
class _Row:
    """One labelled row of a relevance model, with the fields that :func:`_table` reads."""

    values: Floats
    label: bool
    source: str
    group: str
    change: str
    weight: float = 1.0


class AskedRows:
    """Rows for the models of relevance, from questions with their passages and answers.

    Each question is laid over its own passage and two others: the nearest by words (hard) and one at random (easy).
    """

    def __init__(self, features: Features, asked: Sequence[Asked], seed: int = 0) -> None:
        self.features, self.asked = features, asked
        self.chance = np.random.default_rng(seed)
        self.passages = list(dict.fromkeys(item.passage for item in asked))
        self.answers = [item.answer for item in asked]
        self.seen = list(features.examinations([self._sample(item) for item in asked]))

    def _sample(self, item: Asked) -> Sample:
        texts = [item.passage, *self._others(item)]
        return Sample("", item.question, item.answer, tuple(Context(text) for text in texts), item.answer)

    def _others(self, item: Asked) -> list[str]:
        others = [text for text in self.passages if text != item.passage]
        question = analyse(item.question)
        ids, weight = question.ids, question.weight
        scores = [float(weight @ np.isin(ids, analyse(text).ids)) for text in others]
        return [others[int(np.argmax(scores))], others[int(self.chance.integers(len(others)))]]

    def random_pairs(self) -> dict[str, NDArray[np.float64]]:
        """Quantiles of the cosines of unrelated pairs by kind of pair; empty without an encoder."""
        if self.features.store is None:
            return {}
        levels = np.linspace(0.0, 1.0, 21)
        passages = np.array([seen.similarities()[2] for seen in self.seen])
        sentences = np.concatenate(
            [seen.sentence_similarities()[seen.grid.offsets[2] : seen.grid.offsets[3]] for seen in self.seen]
        )
        answers = np.array([self._cosine(at, (at + 1) % len(self.seen)) for at in range(len(self.seen))])
        rows = np.stack([seen.passages[seen.sample.answer or ""].text for seen in self.seen])
        references = np.einsum("ij,ij->i", rows, np.roll(rows, 7, axis=0))
        found = {
            "question_passage": passages,
            "question_sentence": sentences,
            "question_answer": answers,
            "answer_reference": references,
        }
        return {key: np.nanquantile(values, levels) for key, values in found.items()}

    def _cosine(self, question: int, answer: int) -> float:
        """Cosine of one item's question and another's answer."""
        mine, other = self.seen[question], self.seen[answer]
        vectors = other.passages.get(other.sample.answer or "")
        words = None if vectors is None else vectors.words
        if words is None or not len(words):
            return float("nan")
        mean = words.sum(axis=0)
        return float(mean @ mine.queries[mine.sample.question].text / max(float(np.linalg.norm(mean)), 1e-9))

    def contexts(self, pairs: dict[str, NDArray[np.float64]]) -> Table:
        """Rows of :data:`relevance.REFERENCE`; the own passage is relevant, the others are not."""
        rows = []
        for item, seen in zip(self.asked, self.seen, strict=True):
            values = relevance.features_of(seen, excess(seen.similarities(), pairs.get("question_passage")))
            rows += [
                _Row(value, at == 0, item.source, item.passage, ("own", "hard", "random")[at])
                for at, value in enumerate(values)
            ]
        return _rows_table(relevance.REFERENCE, rows)

    def sentences(self, pairs: dict[str, NDArray[np.float64]]) -> Table:
        """Rows of :data:`relevance.SENTENCE` for the own passage; relevant: those chosen, or those with the answer."""
        rows = []
        for item, seen in zip(self.asked, self.seen, strict=True):
            similarity = excess(seen.sentence_similarities(), pairs.get("question_sentence"))
            values = relevance.sentence_features_of(seen, similarity)
            text = seen.texts[0]
            for at, (start, end) in enumerate(text.bounds.tolist()):
                chosen = _chosen(text.text[start:end], item)
                rows.append(_Row(values[at], chosen, item.source, item.passage, "sentence"))
        return _rows_table(relevance.SENTENCE, rows)

    def answers_table(self, pairs: dict[str, NDArray[np.float64]]) -> Table:
        """Rows of :data:`relevance.RELEVANCY`: the own answer addresses the question, those of others do not."""
        rows = []
        n = len(self.seen)
        for at, (item, seen) in enumerate(zip(self.asked, self.seen, strict=True)):
            question = claim_words(seen.question, 0, len(item.question))
            for other, change in ((at, "own"), (int(self.chance.integers(n)), "random"), ((at + 1) % n, "next")):
                own = self.asked[other].question == item.question or self.answers[other] == item.answer
                if change != "own" and own:
                    continue
                similarity = excess(np.array([self._cosine(at, other)], np.float32), pairs.get("question_answer"))
                values = relevance.relevancy_features(question, analyse(self.answers[other]), float(similarity[0]))
                rows.append(_Row(values, own, item.source, item.passage, change, 3.0 if own else 0.5))
        return _rows_table(relevance.RELEVANCY, rows)


def _chosen(sentence: str, item: Asked) -> bool:
    """Whether people chose a sentence as evidence, or, without a choice, whether it holds the short answer."""
    if not item.sentences:
        return item.answer in sentence
    mine = set(sentence.split())
    return any(len(mine & set(other.split())) >= 0.8 * len(mine) for other in item.sentences)


def _rows_table(names: Sequence[str], rows: Sequence[_Row]) -> Table:
    return _table(names, [r.values for r in rows], [r.label for r in rows], rows, [r.weight for r in rows])


def joined(tables: Sequence[Table]) -> Table:
    """Tables of one model as one; each weighs the same as a whole."""
    total = sum(float(t.weights.sum()) for t in tables) / len(tables)
    weights = np.concatenate([t.weights * total / t.weights.sum() for t in tables])
    columns = {
        name: np.concatenate([getattr(t, name) for t in tables])
        for name in ("values", "labels", "sources", "groups", "changes")
    }
    return Table(tables[0].names, weights=weights, **columns)
