"""The documents that were missed: where each stands in the whole corpus, what came instead, and why.

``missed_documents`` is the table; ``examine`` gives the same with everything around it, for pictures and what-ifs.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.data.schema import Corpus
from workbench.diagnosis.autopsy import Autopsy, Found, examine_misses, near_duplicates
from workbench.diagnosis.misses import find_misses
from workbench.diagnosis.shelf import Progress, Shelf
from workbench.diagnosis.subcauses import ranks, sub_cause
from workbench.errors import EncoderError
from workbench.evidence.embed import Encoder
from workbench.evidence.frames import Evidence, encode
from workbench.scoring.metric import View

if TYPE_CHECKING:
    import pandas as pd

_log = logging.getLogger(__name__)

COLUMNS = (
    "sample_id", "doc_id", "dense_rank", "bm25_rank", "n_documents", "gap", "percentile", "smallest_k", "rivals",
    "near_duplicates", "sub_cause",
)  # fmt: skip
#: Rivals that are named.
RIVALS = 10
#: A corpus of more documents is not encoded while an evaluation is made; ``missed_documents`` encodes any.
AT_EVALUATION = 5000


@dataclass(frozen=True)
class Examined:
    """An autopsy of every relevant expected document of an evaluation, retrieved ones included.

    ``found`` in the order of samples and judgements. Depth k only chooses among them, see :meth:`at`. ``shelf`` is None
    when there is no corpus at hand, see :func:`from_stored`.
    """

    found: tuple[Found, ...]
    shelf: Shelf | None

    def at(self, k: int) -> list[Found]:
        """Those that are missed at depth ``k``: outside the first k contexts, like all alternatives of their entry."""
        came = {entry_of(item) for item in self.found if item.miss.rank is not None and item.miss.rank <= k}
        return [item for item in self.found if entry_of(item) not in came]


def entry_of(item: Found) -> tuple[int, int]:
    """Which judgement a document belongs to: sample and entry."""
    return item.miss.code, item.miss.entry


def missed_documents(evaluation: Any, corpus: Any, encoder: str | Encoder | None = None) -> pd.DataFrame:
    """One row per expected document not among the first k contexts, k being the evaluation's threshold.

    Parameters
    ----------
    evaluation
        An ``Evaluation``; answers are not needed, contexts and expected documents are.
    corpus
        The knowledge base, or anything that ``load_corpus`` reads.
    encoder
        A name, an object of the protocol (precomputed vectors among them), ``"none"`` for words alone; None = the
        embedded default. Vectors are kept in the cache, texts are encoded once; those of an object without a
        ``fingerprint`` only as long as the object lives.

    Returns
    -------
    DataFrame
        ``sample_id, doc_id``; ``dense_rank, bm25_rank`` in the whole corpus, 1-based, ties by document id, missing when
        the document is not indexed (``dense_rank`` also without an encoder); a document that shares no term with the
        question is never returned by BM25 and has its last place; ``n_documents`` in the corpus; ``gap``: how far the
        cosine lies below that of the k-th nearest document (negative: above); ``percentile`` 0–100 of the cosine among
        random pairs of the same languages; ``smallest_k`` that fetches it by the encoder (by BM25 without one);
        ``rivals``: ids of the contexts that came instead, in their order, then of documents before it by BM25 and by
        the encoder in turn, 10 in all; ``near_duplicates``: ids; ``sub_cause``, see
        :mod:`workbench.diagnosis.subcauses`, None when not indexed.

    Raises
    ------
    EncoderError
        When the encoder cannot be loaded or lacks vectors.
    InputError
        When the corpus cannot be read.
    """
    k = evaluation.thresholds.k
    shelf = Shelf(as_corpus(corpus), "auto" if encoder is None else encoder)
    evidence = with_ids(evaluation.evidence, shelf)
    misses = find_misses(evidence, k, evaluation.thresholds.match)
    found = examine_misses(misses, shelf, questions_of(evidence), match=evaluation.thresholds.match)
    return missed_table(found, shelf, k)


def examine(
    evaluation: Any,
    corpus: Any,
    encoder: str | Encoder | None = None,
    *,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Examined:
    """What :func:`missed_documents` rests on, for any k. ``progress(done, total)`` while texts are encoded.

    Raises
    ------
    CancelledError
        When ``cancel()`` turned true; vectors made until then are kept.
    EncoderError
        When the encoder cannot be loaded or lacks vectors.
    """
    shelf = Shelf(as_corpus(corpus), "auto" if encoder is None else encoder, progress=progress, cancel=cancel)
    evidence, match = with_ids(evaluation.evidence, shelf), evaluation.thresholds.match
    misses = find_misses(evidence, 0, match)
    return Examined(tuple(examine_misses(misses, shelf, questions_of(evidence), match=match, cancel=cancel)), shelf)


def missed_table(found: Sequence[Found], shelf: Shelf | None, k: int) -> pd.DataFrame:
    """The columns of :func:`missed_documents` for autopsies that were made."""
    import pandas as pd

    rows = [_row(item, shelf, k) for item in found]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    numbers = ("dense_rank", "bm25_rank", "gap", "percentile", "smallest_k")
    for name in numbers:
        frame[name] = pd.to_numeric(frame[name])
    return frame.astype({"sample_id": "str", "doc_id": "str", "n_documents": "int64"})


def _row(item: Found, shelf: Shelf | None, k: int) -> tuple[Any, ...]:
    known = item.autopsy
    return (
        item.miss.sample_id, item.miss.doc_id, known.dense_rank, known.bm25_rank, known.n_documents,
        known.gap(k), known.percentile, next(iter(ranks(known)), None), rivals(item, shelf, k),
        near_duplicates(item.place, shelf) if shelf is not None and item.place >= 0 else [], sub_cause(known, k),
    )  # fmt: skip


def rivals(item: Found, shelf: Shelf | None, k: int) -> list[str]:
    """Ids of what came instead, then of what stands before the document by BM25 and by the encoder, 10 in all."""
    came = [doc_id for rank, doc_id, _ in item.miss.came if rank <= k and doc_id is not None]
    if shelf is None:
        return list(dict.fromkeys(came))[:RIVALS]
    bm25, dense = item.before_bm25.tolist(), item.before_dense.tolist()
    turns = [places[at] for at in range(max(len(bm25), len(dense))) for places in (bm25, dense) if at < len(places)]
    before = [shelf.ids[place] for place in turns if shelf.ids[place] not in item.miss.expected]
    return list(dict.fromkeys([*came, *before]))[:RIVALS]


# ---------------------------------------------------------------- stored with an evaluation


def autopsy_column(evidence: Evidence, corpus: Corpus, encoder: str | Encoder | None) -> list[str | None]:
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
        found = examine_misses(misses, Shelf(corpus, encoder), questions)
    except EncoderError as error:
        _log.warning("missed documents are ranked by words alone: %s", error)
        found = examine_misses(misses, Shelf(corpus, None), questions)
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
    """What :func:`autopsy_column` kept, by sample code; empty for an evaluation without a corpus."""
    return {
        code: [Autopsy.from_dict(item) for item in items]
        for code, items in enumerate(evidence.nested("missed"))
        if items
    }


def from_stored(evaluation: Any) -> Examined:
    """What was kept with an evaluation, without its corpus: ranks and sub-causes of what the prompt lacked."""
    import numpy as np

    none = np.empty(0, np.int64)
    stored = stored_autopsies(evaluation.evidence)
    known = {(code, item.doc_id): item for code, items in stored.items() for item in items}
    misses = find_misses(evaluation.evidence, None)
    pairs = [(miss, known[miss.code, miss.doc_id]) for miss in misses if (miss.code, miss.doc_id) in known]
    return Examined(tuple(Found(miss, item, -1, none, none, none, none) for miss, item in pairs), None)


def first_sub_causes(view: View) -> Mapping[int, str]:
    """Sub-cause by sample code: that of the first missed document; of alternatives, the best placed one."""
    stored: Mapping[int, list[Autopsy]] = view.facts.once("missed", lambda: stored_autopsies(view.facts.evidence))
    found = {}
    for code, items in stored.items():
        indexed = [item for item in items if item.indexed]
        if indexed:
            entry = min(item.entry for item in indexed)
            first = min((item for item in indexed if item.entry == entry), key=lambda item: min(ranks(item)))
            cause = sub_cause(first, view.t.k)
            if cause is not None:
                found[code] = cause
    return found


# ---------------------------------------------------------------- helpers


def as_corpus(corpus: Any) -> Corpus:
    """A corpus, or what ``load_corpus`` makes of it."""
    from workbench.data.corpus import load_corpus

    return corpus if isinstance(corpus, Corpus) else load_corpus(corpus)


def questions_of(evidence: Evidence) -> list[str]:
    """All questions of a set."""
    return [str(question) for question in evidence.plain("question")]


def with_ids(evidence: Evidence, shelf: Shelf) -> Evidence:
    """The evidence with contexts that were recorded as texts alone named after the corpus document that they are."""
    frame = evidence.contexts
    unnamed = frame["doc_id"].isna().to_numpy()
    if not unnamed.any():
        return evidence
    from workbench.data.matching import TextIndex

    index = TextIndex(shelf.texts)
    names = frame["doc_id"].astype(object).tolist()
    texts = frame["text"].tolist()
    for at in unnamed.nonzero()[0].tolist():
        place, _ = index.find(str(texts[at]))
        names[at] = None if place is None else shelf.ids[place]
    return dataclasses.replace(evidence, contexts=frame.assign(doc_id=names).astype({"doc_id": "str"}))
