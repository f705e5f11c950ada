"""Rows of features for training: each labelled example examined just as the judge examines a sample."""

from __future__ import annotations

import csv
import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.schema import Context, Sample
from workbench.data.text.refusals import claims
from workbench.data.text.sentences import sentences
from workbench.errors import InputError
from workbench.evidence.encoders.base import Encoder
from workbench.evidence.offline import relevance
from workbench.evidence.offline.claim_parts import SPAN, span_features
from workbench.evidence.offline.examination import Examination
from workbench.evidence.offline.features import untold
from workbench.evidence.offline.models import Coefficients, Logistic, excess
from workbench.evidence.offline.vectors import TextVectors, VectorStore
from workbench.evidence.offline.words import FUNCTION, NUMBER, analyse
from workbench.training.kept_vectors import KeptVectors
from workbench.training.perturb import CHANGES, MORE_CHANGES, Statement, statements

# ------------------------------------------------------------------------------
# The human-labelled sets that the offline judge is trained on, read into one form.
#
# The sets are no part of the package: ``folder`` is where they were downloaded to (``wice/oracle_claim_dev.jsonl``,
# ``begin_wow/begin_dev_wow.tsv``, ``clapnq/clapnq_dev_answerable.jsonl``, ``xquad/xquad.en.json`` and ``.zh.json``).

#: Pairs taken of each file of ``nli/``; several files repeat a handful of patterns.
PER_FILE = 420
#: One group in so many is kept apart.
APART = 5


@dataclass(frozen=True, slots=True)
class Example:
    """A claim and a text, and whether people (or how it was made) say that the text supports it.

    ``source`` is the set with its language (``wice-en``), ``group`` what must not be parted between folds, ``change``
    the label or the kind of change, ``[start, end)`` the changed span of a perturbation.
    """

    claim: str
    evidence: str
    supported: bool
    source: str
    group: str
    change: str
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, a text that answers it (its own passage), an answer, and the sentences people chose as evidence."""

    question: str
    passage: str
    answer: str
    source: str
    sentences: tuple[str, ...] = ()


def apart(example: Example) -> bool:
    """Whether an example is of the fifth that nothing is chosen by."""
    digest = hashlib.blake2b(f"apart {example.group}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little") % APART == 0


def wice(folder: Path) -> list[Example]:
    """Claims of an encyclopedia and the web pages they cite; supported, or partly or not supported."""
    return [
        Example(r["claim"], " ".join(r["evidence"]), r["label"] == "supported", "wice-en", r["claim"], r["label"])
        for r in _json_lines(folder / "wice" / "oracle_claim_dev.jsonl")
    ]


def begin(folder: Path) -> list[Example]:
    """Replies of dialogue models and the sentence of knowledge that they were given."""
    path = _existing(folder / "begin_wow" / "begin_dev_wow.tsv")
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Example(r["response"], r["knowledge"], r["begin_label"] == "Fully attributable", "begin-en", r["knowledge"],
                    r["begin_label"])
            for r in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]  # fmt: skip


def nli(folder: Path, per_file: int) -> list[Example]:
    """Pairs by phenomenon, at most ``per_file`` of each file of ``nli/``: as many of each label and phenomenon as there are.

    ``source`` is ``nli-<file>``, ``change`` the label, ``group`` the premise.
    """
    found = []
    for path in sorted((folder / "nli").glob("*.jsonl")):
        found += [
            Example(r["claim"], r["premise"], r["label"] == "supported", f"nli-{path.stem}", r["premise"][:400],
                    r["label"])
            for r in _evenly(list(_json_lines(path)), per_file)
        ]  # fmt: skip
    return found


def _evenly(rows: list[dict[str, Any]], n: int) -> list[dict[str, Any]]:
    """About ``n`` of the rows, the (phenomenon, label) classes in turn, the same in every run; in the order given."""
    classes: dict[tuple[str, str], list[int]] = {}
    for at, r in enumerate(rows):
        classes.setdefault((r["phenomenon"].split("+")[0], r["label"]), []).append(at)
    chance = random.Random(0)
    queues = [chance.sample(members, len(members)) for members in classes.values()]
    chosen: list[int] = []
    while len(chosen) < n and any(queues):
        chosen.extend(queue.pop() for queue in queues if queue)
    return [rows[at] for at in sorted(chosen[:n])]


def clapnq(folder: Path) -> list[Asked]:
    """Questions with a passage and an answer in a person's own words."""
    return [
        Asked(r["input"], r["passages"][0]["text"], output["answer"], "clapnq-en", tuple(output["selected_sentences"]))
        for r in _json_lines(folder / "clapnq" / "clapnq_dev_answerable.jsonl")
        for output in r["output"][:1]
        if output["answer"].strip()
    ]


def xquad(folder: Path, language: str) -> list[Asked]:
    """Questions with a paragraph and a short answer; ``language`` is en or zh, the same questions in both."""
    data = json.loads(_existing(folder / "xquad" / f"xquad.{language}.json").read_text(encoding="utf-8"))["data"]
    return [
        Asked(qa["question"], paragraph["context"], qa["answers"][0]["text"], f"xquad-{language}")
        for article in data
        for paragraph in article["paragraphs"]
        for qa in paragraph["qas"]
    ]


def perturbed(folder: Path, language: str, seed: int = 0, per_paragraph: int = 3) -> list[Example]:
    """Statements made from the paragraphs, as they are and with one thing changed."""
    made = statements(paragraphs(folder, language), seed, per_paragraph, CHANGES)
    return [_example(statement, f"xquad-{language}") for statement in made]


def perturbed_more(folder: Path, language: str) -> list[Example]:
    """Statements as of :func:`perturbed` with further kinds of change, from other sentences."""
    made = statements(paragraphs(folder, language), 3, 2, MORE_CHANGES)
    return [_example(statement, f"made-{language}") for statement in made]


def _example(s: Statement, source: str) -> Example:
    return Example(s.text, s.evidence, s.supported, source, f"xquad-{source[-2:]}{s.group}", s.change, s.start, s.end)


def own_and_other(asked: list[Asked]) -> list[Example]:
    """Each claim of each answer over the answer's own passage (supported) and over that of the next question (not)."""
    found = []
    for at, item in enumerate(asked):
        other = next(a for a in [*asked[at + 1 :], *asked] if a.passage != item.passage)
        for claim in claims(item.answer).spans:
            found.append(Example(claim.text, item.passage, True, item.source, item.passage, "own"))
            found.append(Example(claim.text, other.passage, False, item.source, item.passage, "other"))
    return found


def paragraphs(folder: Path, language: str) -> list[str]:
    """The distinct paragraphs of XQuAD in one language, in order: those of two languages correspond."""
    return list(dict.fromkeys(asked.passage for asked in xquad(folder, language)))


def across(folder: Path) -> list[Example]:
    """Statements of one language over the paragraph in the other language, and over the next paragraph (not)."""
    found = []
    for mine, other in (("en", "zh"), ("zh", "en")):
        texts = paragraphs(folder, other)
        for statement in statements(paragraphs(folder, mine), 1, 1, ("number", "date", "name_foreign", "term_foreign")):
            number, source = statement.group, f"{mine}-{other}"
            own, following = texts[number], texts[(number + 1) % len(texts)]
            found.append(Example(statement.text, own, statement.supported, source, str(number), statement.change))
            if statement.supported:
                found.append(Example(statement.text, following, False, source, str(number), "other"))
    return found


def xquad_across(folder: Path, language: str) -> list[Asked]:
    """Questions and answers of one language with the paragraph of the other."""
    english, chinese = xquad(folder, "en"), xquad(folder, "zh")
    pairs = zip(english, chinese, strict=True) if language == "en" else zip(chinese, english, strict=True)
    return [Asked(mine.question, other.passage, mine.answer, f"across-{language}") for mine, other in pairs]


def some(asked: list[Asked], n: int) -> list[Asked]:
    """``n`` of the questions, evenly spread."""
    step = max(1, len(asked) // n)
    return asked[::step][:n]


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    with _existing(path).open(encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"{path.name} is not in {path.parent.parent}: give the folder that holds {path.parent.name}/")
    return path


# ------------------------------------------------------------------------------


Floats = NDArray[Any]

#: Weight of one set of perturbations, and of one set of pairs by phenomenon, against one set of real texts: either alone
#: would teach a model how the pairs were made.
MADE_SHARE, NLI_SHARE = 0.05, 0.1
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
    """Examinations of pairs of texts, their vectors kept; in the folder ``cache`` those of passages, where one is given."""

    def __init__(self, encoder: Encoder | None, cache: Path | None = None) -> None:
        self.store: VectorStore | None = None
        if encoder is not None:
            self.store = VectorStore(encoder, tokens=True) if cache is None else KeptVectors(cache, encoder)
        self.models: dict[str, Logistic] = {}

    @property
    def coefficients(self) -> Coefficients:
        """The models trained so far."""
        return Coefficients("training", self.store is not None, self.models, "0", {})

    def keep(self, passages: Sequence[str], queries: Sequence[str]) -> None:
        """Encode what the folder of kept encodings lacks; nothing without such a folder."""
        if isinstance(self.store, KeptVectors):
            self.store.add(passages, "passage")
            self.store.add(queries, "query")

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
    features.keep([text for e in examples for text in (e.claim, e.evidence)], ["?"])
    rows, spans = [], []
    names: tuple[str, ...] = ()
    for seen in features.examinations(samples):
        seen.relates_all = True
        names, row = (*seen.names, "untold"), len(seen.rows) - 1
        among = np.flatnonzero(seen.windows.owner == 0)
        window = int(among[np.argmax(seen.features[row, among, seen.names.index("word_cover")])])
        rows.append(np.append(seen.features[row, window], untold(seen.grid, row, None)[0]))
        spans.append(span_features(seen.grid, seen.alignment, row, seen.windows, window))
    weights = _weights([e.source for e in examples], [e.supported for e in examples])
    return _table(names, rows, [e.supported for e in examples], examples, weights), spans


def _table(
    names: Sequence[str], rows: Sequence[Floats], labels: Sequence[bool], examples: Sequence[Any], weights: Any
) -> Table:
    source, group, change = (np.array([getattr(e, name) for e in examples]) for name in ("source", "group", "change"))
    kept = np.asarray(weights, dtype=np.float64)
    return Table(tuple(names), np.stack(rows), np.array(labels), source, group, change, kept)


def _weights(sources: Sequence[str], labels: Sequence[bool]) -> NDArray[np.float64]:
    """Each set by its :func:`share`, and within it the supported rows as much as the others, so that .5 is a cut of use.

    1 a row on average over the sets of real texts.
    """
    names, supported = np.array(sources), np.array(labels)
    weights = np.zeros(len(names))
    real = [source for source in np.unique(names) if share(source) == 1.0]
    unit = np.isin(names, real).sum() / max(len(real), 1) or 1.0
    for source in np.unique(names):
        classes = [kept for kept in ((names == source) & (supported == way) for way in (True, False)) if kept.any()]
        for kept in classes:
            weights[kept] = share(source) * unit / len(classes) / kept.sum()
    return weights


def share(source: str) -> float:
    """What a set weighs against a set of real texts with human labels."""
    if source.startswith("nli-"):
        return NLI_SHARE
    return MADE_SHARE if source.startswith(("xquad", "made")) else 1.0


def span_table(examples: Sequence[Example], spans: Sequence[Floats]) -> Table:
    """Content words: the changed ones of perturbed statements are unsupported, the others and those of claims that
    people call supported are supported, whether they stand in the text or not."""
    rows, labels, of = [], [], []
    for example, words in zip(examples, spans, strict=True):
        made = example.source.startswith("xquad")
        if example.source.startswith(("nli-", "made-")):
            continue
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
        rows = np.stack([seen.passages[seen.sample.answer or ""].text for seen in self.seen])
        references = np.einsum("ij,ij->i", rows, np.roll(rows, 7, axis=0))
        found = {
            "question_passage": passages,
            "question_sentence": sentences,
            "answer_reference": references,
        }
        return {key: np.nanquantile(values, levels) for key, values in found.items()}

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


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer to a question over contexts, and whether it addresses the question; ``change``: how it was made."""

    question: str
    answer: str
    contexts: tuple[str, ...]
    addresses: bool
    source: str
    group: str
    change: str


def replies(asked: Sequence[Asked], seed: int = 0) -> list[Reply]:
    """Answers that address their question (the span, the sentence that holds it, a person's answer, the sentence with another
    value) and that do not: sentences of the same and of other passages, values of another kind.

    A quarter has no contexts. Passages of which :func:`apart_passage` holds are left out.
    """
    chance = random.Random(seed)
    told = {item.question: _told(item) for item in asked}
    passages = list(dict.fromkeys(item.passage for item in asked))
    sharing: dict[str, list[Asked]] = {}
    for item in asked:
        sharing.setdefault(item.passage, []).append(item)
    alike_kinds: dict[str, list[Asked]] = {}
    for item in asked:
        alike_kinds.setdefault(relevance.wanted(item.question), []).append(item)
    found: list[Reply] = []
    for item in asked:
        if apart_passage(item.passage):
            continue
        statement, other = told[item.question], chance.choice(asked)
        alike = chance.choice(alike_kinds[relevance.wanted(item.question)])
        contexts = (item.passage, *chance.sample([p for p in passages if p != item.passage], 2)) * (chance.random() > 0.25)
        same = [a for a in sharing[item.passage] if item.answer not in told[a.question] and told[a.question] != statement]
        beside = _silent(item)
        made = [("own", item.answer, True)]
        if statement != item.answer:
            altered = statement.replace(item.answer, alike.answer)
            made += [("statement", statement, True), ("altered", altered, True)]
        if other.passage != item.passage:
            made.append(("other", told[other.question], False))
            if relevance.wanted(other.question) != relevance.wanted(item.question):
                made.append(("other span", other.answer, False))
        made += [("same passage", told[chance.choice(same).question], False)] if same else []
        made += [("beside", chance.choice(beside), False)] if beside else []
        for change, answer, addresses in dict.fromkeys(made):
            found.append(Reply(item.question, answer, contexts, addresses, item.source, item.passage, change))
    return found


def _silent(item: Asked) -> list[str]:
    """The sentences of the passage that say nothing of the answer and stand apart from those that give it."""
    found = [sentence.text for sentence in sentences(item.passage)]
    telling = [at for at, text in enumerate(found) if _chosen(text, item)]
    return [text for at, text in enumerate(found) if telling and min(abs(at - place) for place in telling) > 1]


def apart_passage(passage: str) -> bool:
    """Whether a passage is of the fifth that the model of relevancy is measured on."""
    return apart(Example("", passage, True, "", passage, ""))


def _told(item: Asked) -> str:
    """The sentence of the passage that holds a short answer; the answer itself where none does."""
    return next((s.text for s in sentences(item.passage) if item.answer in s.text), item.answer)


def replies_table(features: Features, made: Sequence[Reply]) -> tuple[Table, dict[str, NDArray[np.float64]]]:
    """Rows of :data:`relevance.RELEVANCY`, and quantiles of the cosines of question and unrelated sentence by script."""
    samples = [Sample("", r.question, r.answer, tuple(map(Context, r.contexts))) for r in made]
    rows, cosines = [], []
    for seen in features.examinations(samples):
        rows.append(relevance.relevancy_features(seen, 0.0))
        cosines.append((seen.question.han, seen.answer_cosine()))
    han, cosine = np.array([h for h, _ in cosines], dtype=bool), np.array([c for _, c in cosines], dtype=np.float64)
    pairs: dict[str, NDArray[np.float64]] = {}
    values = np.stack(rows)
    if features.store is not None:
        base, unrelated = relevance.RELEVANCY.index("similarity"), np.array([r.change == "other" for r in made])
        for key, mine in (("question_answer", ~han), ("question_answer_han", han)):
            pairs[key] = np.nanquantile(cosine[mine & unrelated], np.linspace(0.0, 1.0, 21))
            similar = excess(cosine[mine], pairs[key])
            for at in range(base, len(relevance.RELEVANCY), len(relevance.RELEVANCY) // 3):
                applies = values[mine][:, at - base + relevance.RELEVANCY.index("length")] > 0 if at > base else True
                values[mine, at] = np.where(applies, similar, 0.0)
    kinds = np.array([f"{r.source} {r.change}" for r in made])
    labels = np.array([r.addresses for r in made])
    weights = np.zeros(len(made))
    for kind in np.unique(kinds):
        weights[kinds == kind] = 1.0 / (kinds == kind).sum()
    for way in (True, False):
        weights[labels == way] *= len(made) / 2 / weights[labels == way].sum()
    return _table(relevance.RELEVANCY, list(values), list(labels), made, weights), pairs


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
