"""Terms over a whole set: tied to failing questions, absent from the corpus, shared by documents that do not answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from workbench.diagnosis.vocabulary import Gap, Vocabulary, content_terms, covered

if TYPE_CHECKING:
    import pandas as pd

#: z of a two-sided 95 % interval.
Z95 = 1.959964


def failing_terms(questions: Sequence[str], failing: Sequence[bool], least: int = 2) -> pd.DataFrame:
    """Terms that failing questions have more often than others: log-odds with a 95 % interval.

    ``log_odds`` = ln((a + ½)/(b + ½)) − ln((c + ½)/(d + ½)): a of the failing questions have the term and b have not, c
    and d likewise of the others (Haldane–Anscombe correction). Terms of fewer than ``least`` questions are left out.

    Returns
    -------
    DataFrame
        Index ``term``; ``n_failing, n_passing, rate`` (failing share of the questions with the term), ``base_rate`` (of
        all), ``log_odds, low, high``; highest ``low`` first.
    """
    import pandas as pd

    bad = np.asarray(failing, dtype=bool)
    counts: dict[str, list[int]] = {}
    for question, failed in zip(questions, bad, strict=True):
        for term in content_terms(question):
            counts.setdefault(term, [0, 0])[0 if failed else 1] += 1
    table = pd.DataFrame.from_dict(counts, orient="index", columns=["n_failing", "n_passing"]).astype("int64")
    table = table[table.sum(axis=1) >= least].rename_axis("term")
    a, c = table["n_failing"] + 0.5, table["n_passing"] + 0.5
    b, d = bad.sum() - table["n_failing"] + 0.5, (~bad).sum() - table["n_passing"] + 0.5
    error = np.sqrt(1 / a + 1 / b + 1 / c + 1 / d)
    table["rate"] = table["n_failing"] / (table["n_failing"] + table["n_passing"])
    table["base_rate"] = float(bad.mean()) if len(bad) else np.nan
    table["log_odds"] = np.log(a / b) - np.log(c / d)
    table["low"], table["high"] = table["log_odds"] - Z95 * error, table["log_odds"] + Z95 * error
    return table.sort_values(["low", "n_failing"], ascending=False, kind="stable")


def absent_terms(questions: Sequence[str], failing: Sequence[bool], vocabulary: Vocabulary) -> pd.DataFrame:
    """Content terms of questions that stand in no document of the corpus: index ``term``; ``n, n_failing``."""
    import pandas as pd

    counts: dict[str, list[int]] = {}
    for question, failed in zip(questions, failing, strict=True):
        for term in content_terms(question):
            if vocabulary.count(term) == 0:
                mine = counts.setdefault(term, [0, 0])
                mine[0] += 1
                mine[1] += bool(failed)
    table = pd.DataFrame.from_dict(counts, orient="index", columns=["n", "n_failing"]).astype("int64")
    return table.rename_axis("term").sort_values(["n_failing", "n"], ascending=False, kind="stable")


def lures(gaps: Sequence[Gap]) -> pd.DataFrame:
    """Contexts that came instead and share more of the question's words than the missed document does.

    Returns
    -------
    DataFrame, one row a context: ``sample_id, doc_id, rank, coverage, missed, coverage_missed, shared`` (terms).
    """
    import pandas as pd

    rows = [
        (gap.miss.sample_id, doc_id, rank, covered(gap.weights, flags), gap.miss.doc_id, gap.coverage,
         [term for term, there in zip(gap.terms, flags, strict=True) if there])
        for gap in gaps for rank, doc_id, flags in gap.came
        if covered(gap.weights, flags) > gap.coverage
    ]  # fmt: skip
    names = ["sample_id", "doc_id", "rank", "coverage", "missed", "coverage_missed", "shared"]
    return pd.DataFrame(rows, columns=names)


def heat(gap: Gap) -> tuple[list[str], list[str], np.ndarray]:
    """Which term stands in which document, for one missed document and what came instead.

    Returns
    -------
    terms (rows), names of the documents (columns; the missed one first), and their weights (rows, columns): the term's
    IDF where it stands, 0 where it does not.
    """
    names = [gap.miss.doc_id, *(doc_id or f"#{rank}" for rank, doc_id, _ in gap.came)]
    flags = np.array([gap.has, *(there for _, _, there in gap.came)], dtype=float).T.reshape(len(gap.terms), len(names))
    return list(gap.terms), names, flags * np.array(gap.weights)[:, None]
