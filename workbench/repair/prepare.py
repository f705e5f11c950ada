"""From a result, a corpus and documents to what carries retrievers out and reads their contexts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from workbench.data.corpus import document_of
from workbench.data.schema import judgements
from workbench.diagnosis.synonyms import SynonymTable
from workbench.errors import EncoderError
from workbench.evaluation import Evaluation, load_evaluation
from workbench.evidence.corpus_index import CorpusIndex
from workbench.evidence.corpus_ranks import as_corpus
from workbench.evidence.encoders.base import Encoder
from workbench.evidence.encoders.resolve import load_cached
from workbench.repair.documents import Passage, corpus_of, load_documents, passages_of
from workbench.repair.needs import Reader, needs_of
from workbench.repair.retrieval import Progress, Simulator, outdated_twins


def prepared(
    result: Any, corpus: Any, *, encoder: Any, documents: Any, synonyms: SynonymTable | None = None, cancel: Any = None,
    progress: Progress | None = None,
) -> tuple[Simulator, Reader]:  # fmt: skip
    """What carries retrievers out, and what reads their contexts, for the arguments of :func:`repair_plan`."""
    evaluation = result if isinstance(result, Evaluation) else load_evaluation(result)
    base = corpus_of([]) if corpus is None else as_corpus(corpus)
    index = CorpusIndex(base, _encoder("none" if corpus is None else encoder), cancel=cancel, progress=progress)
    whole = [] if documents is None else load_documents(documents)
    missing = _missing(evaluation, passages_of(base), whole)
    simulator = Simulator(evaluation, index, base, missing=missing, outdated=outdated_twins(index), whole=whole,
                          synonyms=synonyms, cancel=cancel)  # fmt: skip
    # Without the corpus's own, the text of an expected document is the one that was recorded.
    recorded = (context for came in simulator.recorded for context in came or ())
    known = {str(p.doc_id): p for p in (*recorded, *simulator.base.passages, *missing) if p.doc_id is not None}
    return simulator, Reader(needs_of(evaluation, known), simulator.documents, evaluation.thresholds.match)


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
