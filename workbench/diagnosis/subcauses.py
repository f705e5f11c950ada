"""Why a document that is in the corpus was missed: one of seven sub-causes, from its autopsy and the depth k.

The rules, in this order; the first that holds decides.

``filtered``       every ranking we have places it within k, yet it was not recorded: an index, filter or ANN fault; or
                   it was recorded within k and kept out of the prompt
``language_gap``   question and document are in different languages and words do not find it (BM25 rank > k)
``truncated``      the encoder cuts the document, what is needed stands beyond the cut, vectors do not find it
``just_below_k``   the recording itself has it beyond k and within 2 k
``crowded_out``    near-duplicates of it, or of one another, hold the places: without the copies it would be within k
``just_below_k``   a ranking places it beyond k and within 2 k: a larger k would fetch it
``lexical_gap``    meaning finds it, words do not; or neither does and it has less than half of the question's terms
``semantic_gap``   it has the words, and its vector lies elsewhere
"""

from __future__ import annotations

from workbench.diagnosis.autopsy import Autopsy

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
