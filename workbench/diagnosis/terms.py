"""Words that stand in failing questions more often than in passing ones, against their base rates.

A word's log-odds in one group against another, with a prior that pulls rare words to what both groups have in common
(Monroe, Colaresi & Quinn 2008, "Fightin' Words", with the overall share of each word as informative prior). A question
counts once for a word, so the multinomial of the paper is a binomial per word and the Dirichlet prior a beta.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.data.text import content_words
from workbench.diagnosis.breakdown import outcomes
from workbench.diagnosis.queries import questions_of, sample_frame
from workbench.diagnosis.statistics import Z

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

COLUMNS = ("term", "n", "n_failing", "rate", "base_rate", "share_failing", "share_passing", "log_odds", "low", "high",
           "p_value", "q_value")  # fmt: skip
#: Weight of the prior, in questions on each side.
PRIOR = 10.0
_QUESTION_CUT = 2000


class LogOdds(NamedTuple):
    """Per term: log-odds ratio (positive = more in the first group), its 95 % interval, and z."""

    value: Floats
    low: Floats
    high: Floats
    z: Floats


def log_odds(first: Any, second: Any, n_first: int, n_second: int, prior: float = PRIOR) -> LogOdds:
    """Log-odds ratios of terms in two groups, with an informative prior.

    δ = ln((y₁ + α) / (n₁ + α₀ − y₁ − α)) − the same of the second group, α = α₀ · (y₁ + y₂) / (n₁ + n₂);
    var δ ≈ the sum of the four reciprocals.

    Parameters
    ----------
    first, second
        (t,) texts of each group that have the term.
    n_first, n_second
        Texts in each group.
    prior
        α₀, above 0.

    Returns
    -------
    Arrays of shape (t,); NaN for a term that every text has or none.
    """
    y1, y2 = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    share = (y1 + y2) / max(n_first + n_second, 1)
    alpha = np.where((share > 0) & (share < 1), prior * share, np.nan)
    cells = (y1 + alpha, n_first + prior - y1 - alpha, y2 + alpha, n_second + prior - y2 - alpha)
    value = np.log(cells[0] / cells[1]) - np.log(cells[2] / cells[3])
    spread = np.sqrt(sum(1 / cell for cell in cells))
    return LogOdds(value, value - Z * spread, value + Z * spread, value / spread)


def term_counts(texts: Iterable[Sequence[str]], failed: Sequence[bool] | NDArray[np.bool_]) -> dict[str, list[int]]:
    """Term → how many passing and how many failing texts have it."""
    counts: dict[str, list[int]] = {}
    for words, bad in zip(texts, failed, strict=True):
        for word in set(words):
            counts.setdefault(word, [0, 0])[int(bad)] += 1
    return counts


def failing_terms(evaluation: Any, *, min_n: int = 3, top: int = 30) -> pd.DataFrame:
    """Content words that are over-represented in the questions of failing samples.

    Parameters
    ----------
    min_n
        Tested questions that a word stands in at least.
    top
        Rows at most.

    Returns
    -------
    DataFrame, the surest first (by the lower end of the interval): ``term`` (normalised), ``n`` tested questions with it,
    ``n_failing``, ``rate`` failing among them, ``base_rate`` failing among all, ``share_failing`` and ``share_passing`` =
    share of failing and of passing questions that have it, ``log_odds`` with its 95 % interval ``low, high``, one-sided
    ``p_value`` and ``q_value`` (Benjamini–Hochberg over all words). Only words that lean to failing (log-odds above 0).
    """
    found = outcomes(evaluation)
    questions = questions_of(sample_frame(evaluation))
    kept = np.flatnonzero(found.tested)
    words = [content_words(questions[at][:_QUESTION_CUT]) for at in kept]
    return terms_of(words, found.failed[kept], min_n=min_n, top=top)


def terms_of(
    texts: Sequence[Sequence[str]], failed: NDArray[np.bool_], *, min_n: int = 3, top: int = 30
) -> pd.DataFrame:
    """:func:`failing_terms` over words of texts and whether each failed."""
    import pandas as pd
    from scipy.stats import false_discovery_control, norm

    counts = term_counts(texts, failed)
    terms = sorted(term for term, (passing, failing) in counts.items() if passing + failing >= min_n)
    n_failing, n = int(np.sum(failed)), len(texts)
    if not terms or not 0 < n_failing < n:
        return pd.DataFrame(columns=list(COLUMNS))
    table = np.array([counts[term] for term in terms], dtype=float)
    odds = log_odds(table[:, 1], table[:, 0], n_failing, n - n_failing)
    p = np.nan_to_num(norm.sf(odds.z), nan=1.0)
    both = table.sum(axis=1)
    frame = pd.DataFrame({
        "term": terms, "n": both.astype(int), "n_failing": table[:, 1].astype(int), "rate": table[:, 1] / both,
        "base_rate": n_failing / n, "share_failing": table[:, 1] / n_failing,
        "share_passing": table[:, 0] / (n - n_failing), "log_odds": odds.value, "low": odds.low, "high": odds.high,
        "p_value": p, "q_value": false_discovery_control(p),
    })  # fmt: skip
    leaning = frame[frame["log_odds"] > 0].sort_values(["low", "n"], ascending=[False, False], kind="stable")
    return leaning.head(top).reset_index(drop=True)
