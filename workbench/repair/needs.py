"""What each sample needs of its contexts, and how much of it a list of contexts holds: computed, never estimated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from workbench.data.corpus import chunk_place, document_of
from workbench.data.schema import alternatives, judgements
from workbench.data.text.points import find_across, matcher
from workbench.data.text.sentences import sentences
from workbench.evidence.corpus_index import near, terms
from workbench.evidence.frames import Evidence
from workbench.evidence.llm.budget import estimate_tokens
from workbench.repair.documents import Documents, Passage

#: Share of an expected chunk that new chunks must cover where nothing says which part of it is needed.
COVERED = 0.5
#: Columns of :func:`held`.
COLUMNS = (
    "n_contexts", "recall", "context_recall", "split", "complete", "worst_rank", "distractors", "copies", "leaks",
    "misled", "tokens", "sound",
)  # fmt: skip


@dataclass(frozen=True)
class Need:
    """What one sample needs: of each entry one document, every point; and what it must not get.

    ``nothing``: it is to be refused, or nothing is to be retrieved. ``misleading``: documents that its wrong answer of
    today rests on, though they are not expected. ``texts``: of the expected documents, as the corpus has them.
    """

    sample_id: str
    question: str
    tenant: str | None
    entries: tuple[tuple[str, ...], ...]
    points: tuple[tuple[str, ...], ...]
    reference: str | None
    banned: tuple[str, ...]
    nothing: bool
    misleading: frozenset[str]
    texts: Mapping[str, str]

    @property
    def told(self) -> bool:
        """Whether it can be told if contexts suffice."""
        return self.nothing or bool(self.entries or self.points)

    @property
    def expected(self) -> frozenset[str]:
        """Every document that is named as relevant."""
        return frozenset(doc_id for entry in self.entries for doc_id in entry)


def needs_of(evaluation: Any, documents: Mapping[str, Passage]) -> list[Need]:
    """The needs of every sample. ``documents``: the corpus (and what could be added to it) by id.

    A key point that stands in no expected document (not across the edge of its neighbours either) is one to be
    concluded, and no retrieval is blamed for it.
    """
    evidence: Evidence = evaluation.evidence
    facts, misled = evaluation.view.facts, _misleading(evaluation)
    plain = {name: evidence.plain(name) for name in ("question", "tenant", "reference")}
    nested = {name: evidence.nested(name) for name in ("expected_docs", "must_include", "must_not_retrieve")}
    wants_nothing = facts.expects_nothing | (facts.expect_refusal == 1)
    found = []
    for code, sample_id in enumerate(evidence.ids):
        entries = tuple(j.doc_ids for j in judgements(nested["expected_docs"][code]) or () if j.grade >= 1)
        wanted = {doc_id for entry in entries for doc_id in entry}
        texts = {doc_id: documents[doc_id].text for doc_id in wanted if doc_id in documents}
        around = [documents[doc_id] for doc_id in texts]
        points = tuple(alternatives(item) for item in nested["must_include"][code] or ())
        if entries:
            points = tuple(p for p in points if any(stands(p, text) for text in texts.values()) or _split(p, around))
        found.append(Need(
            str(sample_id), str(plain["question"][code]), plain["tenant"][code], entries, points, plain["reference"][code],
            tuple(str(p) for item in nested["must_not_retrieve"][code] or () for p in alternatives(item)),
            bool(wants_nothing[code]), misled.get(code, frozenset()), texts,
        ))  # fmt: skip
    return found


def _misleading(evaluation: Any) -> dict[int, frozenset[str]]:
    """For each sample whose answer rests on a context that is not expected: those documents."""
    causes = evaluation.causes
    inputs, view = causes.inputs, evaluation.view
    support = view.facts.support("answer")
    strong = np.nan_to_num(support.entail) >= view.t.support
    rows = support.context[strong & inputs.misled_claims[support.claim] & ~view.expected[support.context]]
    frame = evaluation.evidence.contexts
    found: dict[int, frozenset[str]] = {}
    failing = causes.has("distracted")
    for row in np.unique(rows).tolist():
        code, doc_id = int(view.facts.contexts.code[row]), frame["doc_id"].iloc[row]
        if failing[code] and isinstance(doc_id, str):
            found[code] = found.get(code, frozenset()) | {doc_id}
    return found


@lru_cache(maxsize=1 << 18)
def stands(point: tuple[str, ...], text: str) -> bool:
    """Whether an alternative of a key point stands in a text."""
    prepared = matcher(text)
    return any(prepared.find(option) is not None for option in point)


def _split(point: tuple[str, ...], contexts: Sequence[Passage]) -> bool:
    """Whether a key point stands across the edge of two neighbouring chunks."""
    places = [chunk_place(c.doc_id, c.source, c.position) for c in contexts]
    at = {place: c for place, c in zip(places, contexts, strict=True) if place is not None}
    return any(
        (after := at.get((document, position + 1))) is not None
        and any(find_across(option, before.text, after.text) is not None for option in point)
        for (document, position), before in at.items()
    )


@lru_cache(maxsize=1 << 16)
def term_set(text: str) -> frozenset[str]:
    """The index terms of a text, each once."""
    return frozenset(terms(text))


class Reader:
    """Reads lists of contexts for what samples need.

    Parameters
    ----------
    documents
        Where chunks stand in their documents, for contexts that were cut anew.
    match
        ``chunk`` or ``document``: what an expected id is compared with.
    """

    def __init__(self, needs: Sequence[Need], documents: Documents | None, match: str = "chunk") -> None:
        self.needs, self.documents, self.match = needs, documents, match
        self._wanted: dict[tuple[int, str], Wanted] = {}

    def held(self, lists: Sequence[Sequence[Passage] | None]) -> pd.DataFrame:
        """One row a sample in order (:data:`COLUMNS`), floats; NaN where it cannot be told.

        ``recall``: entries found / entries; ``context_recall``: key points that stand whole in one context / points;
        ``split``: a point stands across a chunk edge only; ``complete``: everything needed is there and whole (1 or 0);
        ``worst_rank``: by which all of it has come; ``distractors``: contexts that hold none of it; ``copies``: of these,
        near-duplicates of an expected document; ``leaks``: documents of others, or banned; ``misled``: one that today's
        wrong answer rests on; ``sound``: complete, or nothing is needed, without leak and what misleads.
        """
        pairs = enumerate(zip(self.needs, lists, strict=True))
        rows = [self._one(code, need, contexts) for code, (need, contexts) in pairs]
        index = pd.Index([need.sample_id for need in self.needs], name="sample_id")
        return pd.DataFrame(rows, columns=list(COLUMNS), index=index, dtype=float)

    def _one(self, code: int, need: Need, contexts: Sequence[Passage] | None) -> tuple[float, ...]:
        if contexts is None:
            return (np.nan,) * len(COLUMNS)
        ranks, points = self._entries(code, need, contexts), []
        split = False
        for point in need.points:
            rank = next((at for at, c in enumerate(contexts, 1) if stands(point, c.text)), None)
            split |= rank is None and _split(point, contexts)
            points.append(rank)
        hits = {at for found in ranks for at in found} | {rank for rank in points if rank}
        firsts = [min(found, default=None) for found in ranks] + points
        leaks = sum(self._leaks(need, c) for c in contexts)
        misled = float(any(c.doc_id in need.misleading for c in contexts))
        # Without expected documents, only a point says what is a distractor.
        plain = [c for at, c in enumerate(contexts, 1) if at not in hits]
        copies = sum(any(near(term_set(c.text), term_set(text)) for text in need.texts.values()) for c in plain)
        complete = float(all(firsts)) if need.told and not need.nothing else np.nan
        sound = np.nan if not need.told else float((need.nothing or complete == 1) and not leaks and not misled)
        return (
            len(contexts), _share([bool(found) for found in ranks]), _share([bool(rank) for rank in points]), float(split),
            complete, max((rank for rank in firsts if rank), default=np.nan) if complete == 1 else np.nan, len(plain),
            copies, leaks, misled, sum(_tokens(c.text) for c in contexts), sound,
        )  # fmt: skip

    def needed(self, code: int) -> Callable[[Passage], bool]:
        """Whether a context holds something that the sample ``code`` needs."""
        need = self.needs[code]

        def holds(context: Passage) -> bool:
            return any(self._entries(code, need, [context])) or any(stands(point, context.text) for point in need.points)

        return holds

    def _leaks(self, need: Need, context: Passage) -> bool:
        foreign = context.tenant is not None and need.tenant is not None and context.tenant != need.tenant
        return foreign or any(fnmatchcase(context.doc_id or "", pattern) for pattern in need.banned)

    def _entries(self, code: int, need: Need, contexts: Sequence[Passage]) -> list[list[int]]:
        """For each entry the ranks of the contexts that satisfy it."""
        names = [self._names(context) for context in contexts]
        found = []
        for entry in need.entries:
            wanted = {document_of(d) for d in entry} if self.match == "document" else set(entry)
            here = [at for at, own in enumerate(names, 1) if own & wanted]
            found.append(here or [at for doc_id in entry for at in self._in_pieces(code, need, doc_id, contexts)])
        return found

    def _names(self, context: Passage) -> set[str | None]:
        if context.document:
            return set()  # cut anew: its id says nothing
        if self.match == "chunk":
            return {context.doc_id}
        return {context.source, document_of(context.doc_id) if context.doc_id else None} - {None}

    def _in_pieces(self, code: int, need: Need, doc_id: str, contexts: Sequence[Passage]) -> list[int]:
        """Ranks of the new chunks that hold what is needed of an old one; empty unless they hold all of it."""
        span = self.documents.spans.get(doc_id) if self.documents is not None else None
        pieces = [(at, c) for at, c in enumerate(contexts, 1) if c.document and span is not None and c.document == span[0]]
        if span is None or not pieces:
            return []
        if (code, doc_id) not in self._wanted:
            self._wanted[code, doc_id] = wanted_of(need, self.documents.documents[span[0]].text, span)  # type: ignore[union-attr]
        points, sentence = self._wanted[code, doc_id]
        ranks = [next((at for at, c in pieces if stands(point, c.text)), 0) for point in points]
        if sentence is not None:
            ranks.append(next((at for at, c in pieces if c.start <= sentence[0] and sentence[1] <= c.end), 0))
        if ranks:
            return ranks if all(ranks) else []
        covered = np.zeros(span[2] - span[1], dtype=bool)
        for at, c in pieces:
            covered[max(c.start - span[1], 0) : max(c.end - span[1], 0)] = True
            if covered.mean() >= COVERED:
                return [at]
        return []


Wanted = tuple[tuple[tuple[str, ...], ...], tuple[int, int] | None]


def wanted_of(need: Need, document: str, span: tuple[str, int, int]) -> Wanted:
    """What is needed of a chunk: its key points (else the reference, where it stands there), or the span in its document
    of the sentence that shares most of the reference's words; neither where nothing says it."""
    _, start, end = span
    text = document[start:end]
    options = need.points or (((need.reference,),) if need.reference else ())
    points = tuple(point for point in options if stands(point, text))
    if points or not need.reference:
        return points, None
    wanted = term_set(need.reference)
    shared = [(len(wanted & term_set(text[s.start : s.end])), s) for s in sentences(text)]
    most, best = max(shared, key=lambda pair: pair[0], default=(0, None))
    return (), (start + best.start, start + best.end) if best is not None and most else None


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags) if flags else np.nan


@lru_cache(maxsize=1 << 16)
def _tokens(text: str) -> int:
    return estimate_tokens(text)
