"""``evaluate_rankings``: the numbers of trec_eval for a whole query log, from frames to a frame.

Conventions are those of trec_eval 10 (https://github.com/usnistgov/trec_eval): score descending, ties by document id
descending as UTF-8 bytes; linear gain; the ideal order over all judged documents; precision divides by k, recall and
average precision by all relevant documents; every query of the qrels counts, and one that the run lacks scores 0.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.errors import InputError
from workbench.scoring import ranking_columns as columns
from workbench.scoring import ranking_order as ordering
from workbench.scoring.ranking_kernels import BASES, Hits, gains, ideal_order, parse_metric
from workbench.scoring.ranking_lists import list_metrics

__all__ = ["BASES", "RankingWarning", "evaluate_rankings", "list_metrics", "parse_metric"]

EXAMPLES = 5
"""Ids named in the report for each finding."""


ATTEMPTS = 16
"""Fingerprints tried; that one fails by chance has a probability below one in a million for ten million ids."""


class RankingWarning(UserWarning):
    """Something in the run or the qrels was settled by a rule that the reader should know of.

    One warning a call lists all findings; ``result.attrs["report"]`` has them as numbers with examples.
    """


def evaluate_rankings(
    qrels: pd.DataFrame, run: pd.DataFrame, metrics: Sequence[str], *, gain: str = "linear", precision: str = "float64",
    relevance_level: float = 1.0,
) -> pd.DataFrame:  # fmt: skip
    """Ranking metrics of every judged query, exactly as trec_eval computes them (``trec_eval -c``).

    Parameters
    ----------
    qrels : frame with ``query_id, doc_id, relevance``
        Judgements, in any row order. A grade of at least ``relevance_level`` is relevant; a negative grade is not
        relevant, and unjudged for ``holes`` (trec_eval's -1: in the pool, not judged). Fractional grades are used as
        they are, and reported.
    run : frame with ``query_id, doc_id, score``
        What was retrieved, in any row order. A missing or NaN score ranks last (as minus infinity) and is reported. A
        document returned twice keeps its first rank; the later row is left out, counted and reported.
    metrics : names such as ``"ndcg@10"``
        ``precision@k, precision_returned@k, recall@k, hit@k, reciprocal_rank@k, ndcg@k, average_precision@k,
        holes@k``; all but ``precision`` also without ``@k`` for the whole list; ``duplicate_rate``.
    gain : "linear" (the grade) or "exponential" (2^grade − 1)
    precision : "float64", or "float32" to reproduce older tools, which rounded scores and so made ties
    relevance_level : trec_eval's ``-l``

    Returns
    -------
    DataFrame, one row for each query of the qrels, sorted by ``query_id`` as UTF-8 bytes
        ``query_id`` (str), one float64 column in [0, 1] under each name asked for, ``in_run`` (bool: the run has this
        query) and ``duplicates`` (int: rows left out). A query without relevant documents scores 0, one missing
        from the run too. ``.attrs["gain"]``, ``["precision"]``, ``["relevance_level"]`` say how; ``.attrs["report"]``
        is a dict of findings, each ``{"count": n, "examples": [...]}``: ``queries_missing_from_run``,
        ``queries_not_judged``, ``duplicate_documents``, ``duplicate_judgements``, ``nan_scores``,
        ``fractional_grades``, ``negative_grades``, ``ties_across_the_cut`` (queries in which documents of equal score
        stand on both sides of a cut-off asked for), ``unjudged_documents``. All but the negative grades and the
        unjudged documents (see ``holes``) are also said in a :class:`RankingWarning`.

    Raises
    ------
    InputError
        For no rows, missing columns, ids or grades that are missing or of the wrong type, two different grades for one
        document, an unknown metric, k < 1, an unknown ``gain`` or ``precision``.
    """
    wanted = _wanted(metrics)
    if precision not in ("float64", "float32"):
        raise InputError(f"precision must be 'float64' or 'float32', not {precision!r}")
    gains(np.zeros(0), gain)
    judgements = _read_qrels(qrels)
    found = _read_run(run, judgements, precision)
    ranking = _match(judgements, found)
    hits = _hits(judgements, ranking, gain, relevance_level)
    report = _report(judgements, found, ranking, {k for _, k in wanted.values() if k is not None})
    result = pd.DataFrame(
        {
            "query_id": pd.array(judgements.queries, dtype="str"),
            **{name: hits.compute(base, k) for name, (base, k) in wanted.items()},
            "in_run": (hits.n_returned > 0),
            "duplicates": hits.n_duplicates,
        }
    )
    result.attrs.update(report=report, gain=gain, precision=precision, relevance_level=relevance_level)
    _warn(report)
    return result


def _wanted(metrics: Sequence[str]) -> dict[str, tuple[str, int | None]]:
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    if not names:
        raise InputError("no metrics asked for; give names such as ['ndcg@10', 'recall@5']")
    return {name: parse_metric(name) for name in names}


@dataclass(frozen=True)
class _Judgements:
    """The qrels: distinct queries (sorted), and for each judgement its query's code, document and grade."""

    queries: pa.LargeStringArray
    code: np.ndarray
    documents: pa.ChunkedArray
    grade: np.ndarray


@dataclass(frozen=True)
class _Run:
    """The run's rows whose query is judged, with codes into the qrels' queries."""

    parts: ordering.Segments
    documents: pa.ChunkedArray
    scores: np.ndarray
    unknown: list[str]
    nan: tuple[int, list[str]]


@dataclass(frozen=True)
class _Ranking:
    """Ranks of the run, and its judged rows: query code, rank, grade, sorted by both."""

    ranked: ordering.Ranked
    code: np.ndarray
    rank: np.ndarray
    grade: np.ndarray
    judgements: np.ndarray
    repeated_judgements: int


def _read_qrels(qrels: pd.DataFrame) -> _Judgements:
    ids = columns.id_column(qrels, "query_id", "qrels")
    documents = columns.id_column(qrels, "doc_id", "qrels")
    grade = columns.number_column(qrels, "relevance", "qrels")
    if not len(grade):
        raise InputError("qrels has no rows; give at least one judgement (query_id, doc_id, relevance)")
    bad = np.flatnonzero(~np.isfinite(grade))
    if len(bad):
        raise InputError(f"qrels, row {bad[0]}: 'relevance' is {grade[bad[0]]}; every judgement needs a grade")
    texts, lengths = columns.runs(ids)
    queries, code = columns.sorted_codes(texts)
    if lengths is not None:
        code = np.repeat(code, lengths)
    return _Judgements(queries, code, documents, grade)


def _read_run(run: pd.DataFrame, judgements: _Judgements, precision: str) -> _Run:
    ids = columns.id_column(run, "query_id", "run")
    documents = columns.id_column(run, "doc_id", "run")
    scores = columns.number_column(run, "score", "run")
    if not len(scores):
        raise InputError("run has no rows; give at least one retrieved document (query_id, doc_id, score)")
    nan = np.isnan(scores)
    n_nan = int(np.count_nonzero(nan))
    nan_queries = _examples(ids.take(pa.array(np.flatnonzero(nan)[: 100 * EXAMPLES]))) if n_nan else []
    scores = np.where(nan, -np.inf, scores) if n_nan else scores
    if precision == "float32":
        with np.errstate(over="ignore"):
            scores = scores.astype(np.float32).astype(np.float64)
    texts, lengths = columns.runs(ids)
    code = columns.lookup(texts, judgements.queries)
    known = code >= 0
    unknown: list[str] = []
    if not known.all():
        unknown = sorted(pc.unique(texts.filter(pa.array(~known))).to_pylist())
        rows = known if lengths is None else np.repeat(known, lengths)
        scores, documents = scores[rows], documents.filter(pa.array(rows))
        code, lengths = code[known], None if lengths is None else lengths[known]
    parts = ordering.segments(code, lengths, len(judgements.queries))
    return _Run(parts, documents, scores, unknown, (n_nan, nan_queries))


def _examples(values: pa.ChunkedArray) -> list[str]:
    return pc.unique(values).to_pylist()[:EXAMPLES]


def _match(judgements: _Judgements, run: _Run) -> _Ranking:
    n = len(judgements.queries)
    for seed in range(ATTEMPTS):
        judged_keys = ordering.pair_keys(judgements.code, None, judgements.documents, n, seed)
        distinct = _distinct(judgements, judged_keys)
        if distinct is not None:
            break  # otherwise two documents share a fingerprint: other factors tell them apart
    else:
        raise InputError("qrels: document ids that no fingerprint tells apart; please report this with the file")
    judged_keys = judged_keys[distinct]
    keys = ordering.pair_keys(run.parts.by_run, run.parts.lengths, run.documents, n, seed)
    rows, places = ordering.judged_rows(keys, judged_keys, n)
    judged = distinct[places]
    same = ordering.same_text(run.documents, rows, judgements.documents, judged)
    if not same.all():
        rows, judged = rows[same], judged[same]
    ranked = ordering.rank_rows(run.parts, run.scores, run.documents, keys, rows)
    code = ordering.query_of(keys[rows], n)
    rank = ranked.rank_of(rows, code, len(keys))
    grade = judgements.grade[judged]
    order = np.argsort((code << 32) | rank, kind="stable")
    if len(ranked.dropped):
        order = order[rank[order] > 0]
    repeated = len(judgements.code) - len(distinct)
    return _Ranking(ranked, code[order], rank[order], grade[order], distinct, repeated)


def _distinct(judgements: _Judgements, keys: np.ndarray) -> np.ndarray | None:
    """Judgements sorted by key, repeated ones once; None when different documents have the same key."""
    order = np.argsort(keys)
    keys = keys[order]
    again = np.flatnonzero(keys[1:] == keys[:-1])
    if not len(again):
        return order
    first, second = order[again], order[again + 1]
    texts = judgements.documents.take(pa.array(first)), judgements.documents.take(pa.array(second))
    if not pc.all(pc.equal(*texts)).as_py():
        return None
    clash = np.flatnonzero(judgements.grade[first] != judgements.grade[second])
    if len(clash):
        a, b = sorted((int(first[clash[0]]), int(second[clash[0]])))
        raise InputError(
            f"qrels, rows {a} and {b}: document {judgements.documents[a].as_py()!r} of query "
            f"{judgements.queries[int(judgements.code[a])].as_py()!r} has grades {judgements.grade[a]:g} and "
            f"{judgements.grade[b]:g}; keep one"
        )
    return np.delete(order, again + 1)


def _hits(judgements: _Judgements, ranking: _Ranking, gain: str, level: float) -> Hits:
    n = len(judgements.queries)
    code, grade = judgements.code, judgements.grade
    if ranking.repeated_judgements:
        code, grade = code[ranking.judgements], grade[ranking.judgements]
    return Hits(
        n=n,
        query=ranking.code,
        rank=ranking.rank,
        gain=gains(ranking.grade, gain),
        relevant=ranking.grade >= level,
        judged_query=ranking.code[ranking.grade >= 0],
        judged_rank=ranking.rank[ranking.grade >= 0],
        ideal=ideal_order(code, gains(grade, gain), n),
        n_relevant=np.bincount(code[grade >= level], minlength=n),
        n_returned=ranking.ranked.count,
        n_duplicates=ranking.ranked.duplicates,
    )


def _report(judgements: _Judgements, run: _Run, ranking: _Ranking, cuts: set[int]) -> dict[str, Any]:
    """Findings as plain numbers and texts, so that the frame can still be written to Parquet."""
    ranked, names = ranking.ranked, judgements.queries
    judged = np.bincount(ranking.code[ranking.grade >= 0], minlength=len(names))

    def per_query(which: np.ndarray) -> np.ndarray:
        return np.bincount(judgements.code[which], minlength=len(names))

    def finding(count: np.ndarray) -> dict[str, Any]:
        some = np.flatnonzero(count)[:EXAMPLES]
        return {"count": int(count.sum()), "examples": names.take(some).to_pylist()}

    return {
        "queries_missing_from_run": finding(ranked.count == 0),
        "queries_not_judged": {"count": len(run.unknown), "examples": run.unknown[:EXAMPLES]},
        "duplicate_documents": finding(ranked.duplicates),
        "duplicate_judgements": {"count": ranking.repeated_judgements, "examples": []},
        "nan_scores": {"count": run.nan[0], "examples": run.nan[1]},
        "fractional_grades": finding(per_query(judgements.grade != np.floor(judgements.grade))),
        "negative_grades": finding(per_query(judgements.grade < 0)),
        "ties_across_the_cut": finding(_tied_at(ranked, run.scores, cuts)),
        "unjudged_documents": finding(ranked.count - judged),
    }


def _tied_at(ranked: ordering.Ranked, scores: np.ndarray, cuts: set[int]) -> np.ndarray:
    """True for queries in which rank k and rank k + 1 have the same score, for any k asked for."""
    tied = np.zeros(len(ranked.count), dtype=bool)
    if ranked.order is None:  # scores fall everywhere
        return tied
    for k in sorted(cuts):
        longer = np.flatnonzero(ranked.count > k)
        last = ranked.starts[longer] + k - 1
        tied[longer] |= scores[ranked.order[last]] == scores[ranked.order[last + 1]]
    return tied


SAID = {
    "queries_missing_from_run": "{} queries of the qrels are not in the run (they score 0)",
    "queries_not_judged": "{} queries of the run are not in the qrels (left out)",
    "duplicate_documents": "{} rows repeat a document of their query (first rank kept)",
    "duplicate_judgements": "{} judgements are repeated with the same grade (counted once)",
    "nan_scores": "{} scores are NaN (ranked last)",
    "fractional_grades": "{} grades are fractions (used as they are; trec_eval would cut them to whole numbers)",
    "ties_across_the_cut": "in {} queries equal scores stand on both sides of a cut-off (order by document id)",
}
"""Findings that a :class:`RankingWarning` mentions."""


def _warn(report: dict[str, Any]) -> None:
    said = []
    for name, sentence in SAID.items():
        if report[name]["count"]:
            examples = ", ".join(map(repr, report[name]["examples"]))
            said.append(sentence.format(report[name]["count"]) + (f", e.g. query {examples}" if examples else ""))
    if said:
        warnings.warn("; ".join(said) + ". All numbers: result.attrs['report']", RankingWarning, stacklevel=3)
