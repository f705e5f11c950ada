"""Which expected documents were missed: by whom, for which question, what came instead."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from workbench.data.schema import alternatives, judgements
from workbench.diagnosis.shelf import stem
from workbench.evidence.frames import Evidence

_log = logging.getLogger(__name__)


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
        documents = {self.source, None if self.doc_id is None else stem(self.doc_id)} - {None}
        if match == "document":
            return stem(doc_id) in documents or doc_id in documents
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
