"""The documents that were missed: why each was, what came instead.

``missed_documents`` is the table; ``examine`` gives the same with everything around it, for pictures and what-ifs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from workbench.evidence.corpus_index import CorpusIndex, Progress
from workbench.evidence.corpus_ranks import (
    Autopsy,
    Found,
    as_corpus,
    examine_misses,
    find_misses,
    near_copies,
    questions_of,
    stored_autopsies,
    with_ids,
)
from workbench.evidence.encoders.base import Encoder
from workbench.scoring.view import View

# ------------------------------------------------------------------------------
# Why a document that is in the corpus was missed: one of seven sub-causes, from its autopsy and the depth k.
#
# The rules, in this order; the first that holds decides.
#
# ``filtered``       every ranking we have places it within k, yet it was not recorded: an index, filter or ANN fault; or
#                    it was recorded within k and kept out of the prompt
# ``language_gap``   question and document are in different languages and words do not find it (BM25 rank > k)
# ``truncated``      the encoder cuts the document, what is needed stands beyond the cut, vectors do not find it
# ``just_below_k``   the recording itself has it beyond k and within 2 k
# ``crowded_out``    near-duplicates of it, or of one another, hold the places: without the copies it would be within k
# ``just_below_k``   a ranking places it beyond k and within 2 k: a larger k would fetch it
# ``lexical_gap``    meaning finds it, words do not; or neither does and it has less than half of the question's terms
# ``semantic_gap``   it has the words, and its vector lies elsewhere

SUB_CAUSES = (
    "filtered", "just_below_k", "crowded_out", "lexical_gap", "semantic_gap", "language_gap", "truncated",
)  # fmt: skip


#: A document has the question's words from this IDF-weighted share on.
COVERED = 0.5


#: Just below k reaches down to this multiple of k.
REACH = 2


def sub_cause(found: Autopsy, k: int) -> str | None:
    """The sub-cause of one missed document at depth ``k``; None when it is not in the corpus."""
    if not found.indexed or found.bm25_rank is None:
        return None
    if all(rank <= k for rank in ranks(found)) or (found.rank is not None and found.rank <= k):
        return "filtered"
    if speaks_another_language(found) and found.bm25_rank > k:
        return "language_gap"
    if is_truncated(found, k):
        return "truncated"
    if found.rank is not None and found.rank <= REACH * k:
        return "just_below_k"
    return "crowded_out" if is_crowded_out(found, k) else _by_ranks(found, k)


def ranks(found: Autopsy) -> list[int]:
    """The ranks that are known, the encoder's first."""
    return [rank for rank in (found.dense_rank, found.bm25_rank) if rank is not None]


def speaks_another_language(found: Autopsy) -> bool:
    """Question and document are in different languages; texts without letters have none."""
    asked, written = found.languages
    return asked != written and "other" not in (asked, written)


def is_truncated(found: Autopsy, k: int) -> bool:
    """The window of the encoder ends before what is needed, and its vector does not find the document."""
    return bool(found.cut and found.beyond is not False and (found.dense_rank or 0) > k)


def is_crowded_out(found: Autopsy, k: int) -> bool:
    """Copies hold at least half of the first k places (two at least), and without them it would be within k."""
    if found.came_copies[:k].count("1") < max(2, k // 2):
        return False
    rankings = ((found.dense_rank, found.dense_copies), (found.bm25_rank, found.bm25_copies))
    return any(rank is not None and rank > k >= rank - flags.count("1") for rank, flags in rankings)


def _by_ranks(found: Autopsy, k: int) -> str:
    """At least one ranking places it beyond k."""
    dense, bm25 = found.dense_rank, found.bm25_rank
    assert bm25 is not None
    covered = found.coverage is None or found.coverage >= COVERED
    if dense is None:
        return "just_below_k" if bm25 <= REACH * k and covered else "semantic_gap" if covered else "lexical_gap"
    if dense <= k:
        return "just_below_k" if bm25 <= REACH * k and covered else "lexical_gap"
    if dense <= REACH * k:
        return "just_below_k"
    if bm25 <= k:
        return "semantic_gap"
    if not covered:
        return "lexical_gap"
    return "just_below_k" if bm25 <= REACH * k and found.bm25_agree > found.dense_agree else "semantic_gap"


# ------------------------------------------------------------------------------
# The table of missed documents, and everything it rests on.


COLUMNS = (
    "sample_id", "doc_id", "dense_rank", "bm25_rank", "n_documents", "gap", "percentile", "smallest_k", "rivals",
    "near_duplicates", "sub_cause",
)  # fmt: skip


#: Rivals that are named.
RIVALS = 10


@dataclass(frozen=True)
class ExaminedMisses:
    """An autopsy of every relevant expected document of an evaluation, retrieved ones included.

    ``found`` in the order of samples and judgements. Depth k only chooses among them, see :meth:`at`. ``index`` is None
    when there is no corpus at hand, see :func:`from_stored`.
    """

    found: tuple[Found, ...]
    index: CorpusIndex | None

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
        :mod:`workbench.diagnosis.missed`, None when not indexed.

    Raises
    ------
    EncoderError
        When the encoder cannot be loaded or lacks vectors.
    InputError
        When the corpus cannot be read.

    Examples
    --------
    >>> missed = wb.missed_documents(wb.load_evaluation("evaluations/baseline"), "corpus.jsonl", "none")
    >>> missed.columns[:2].tolist()
    ['sample_id', 'doc_id']
    """
    k = evaluation.thresholds.k
    index = CorpusIndex(as_corpus(corpus), "auto" if encoder is None else encoder)
    evidence = with_ids(evaluation.evidence, index)
    misses = find_misses(evidence, k, evaluation.thresholds.match)
    found = examine_misses(misses, index, questions_of(evidence), match=evaluation.thresholds.match)
    return missed_table(found, index, k)


def examine(
    evaluation: Any,
    corpus: Any,
    encoder: str | Encoder | None = None,
    *,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
) -> ExaminedMisses:
    """What :func:`missed_documents` rests on, for any k. ``progress(done, total)`` while texts are encoded.

    Raises
    ------
    CancelledError
        When ``cancel()`` turned true; vectors made until then are kept.
    EncoderError
        When the encoder cannot be loaded or lacks vectors.
    """
    index = CorpusIndex(as_corpus(corpus), "auto" if encoder is None else encoder, progress=progress, cancel=cancel)
    evidence, match = with_ids(evaluation.evidence, index), evaluation.thresholds.match
    misses = find_misses(evidence, 0, match)
    return ExaminedMisses(tuple(examine_misses(misses, index, questions_of(evidence), match=match, cancel=cancel)), index)


def missed_table(found: Sequence[Found], index: CorpusIndex | None, k: int) -> pd.DataFrame:
    """The columns of :func:`missed_documents` for autopsies that were made."""
    rows = [_row(item, index, k) for item in found]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    numbers = ("dense_rank", "bm25_rank", "gap", "percentile", "smallest_k")
    for name in numbers:
        frame[name] = pd.to_numeric(frame[name])
    return frame.astype({"sample_id": "str", "doc_id": "str", "n_documents": "int64"})


def _row(item: Found, index: CorpusIndex | None, k: int) -> tuple[Any, ...]:
    known = item.autopsy
    return (
        item.miss.sample_id, item.miss.doc_id, known.dense_rank, known.bm25_rank, known.n_documents,
        known.gap(k), known.percentile, next(iter(ranks(known)), None), rivals(item, index, k),
        near_copies(item.place, index) if index is not None and item.place >= 0 else [], sub_cause(known, k),
    )  # fmt: skip


def rivals(item: Found, index: CorpusIndex | None, k: int) -> list[str]:
    """Ids of what came instead, then of what stands before the document by BM25 and by the encoder, 10 in all."""
    came = [doc_id for rank, doc_id, _ in item.miss.came if rank <= k and doc_id is not None]
    if index is None:
        return list(dict.fromkeys(came))[:RIVALS]
    bm25, dense = item.before_bm25.tolist(), item.before_dense.tolist()
    turns = [places[at] for at in range(max(len(bm25), len(dense))) for places in (bm25, dense) if at < len(places)]
    before = [index.ids[place] for place in turns if index.ids[place] not in item.miss.expected]
    return list(dict.fromkeys([*came, *before]))[:RIVALS]


def from_stored(evaluation: Any) -> ExaminedMisses:
    """What was kept with an evaluation, without its corpus: ranks and sub-causes of what the prompt lacked."""
    none = np.empty(0, np.int64)
    stored = stored_autopsies(evaluation.evidence)
    known = {(code, item.doc_id): item for code, items in stored.items() for item in items}
    misses = find_misses(evaluation.evidence, None)
    pairs = [(miss, known[miss.code, miss.doc_id]) for miss in misses if (miss.code, miss.doc_id) in known]
    return ExaminedMisses(tuple(Found(miss, item, -1, none, none, none, none) for miss, item in pairs), None)


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
