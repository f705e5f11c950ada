"""One recording under every tool's definition of a metric, side by side.

Tools give one name to different figures. Each definition here is computed from the same verdicts (claims against contexts,
relevance of contexts), so that a difference between two tools' numbers can be told from a difference between two systems.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("metric", "tool", "formula", "value", "n", "n_total")


class Definition(NamedTuple):
    """How a tool computes what it calls ``metric`` for one sample; ``of`` gives NaN where it is not defined."""

    metric: str
    tool: str
    formula: str
    of: Callable[[Any, Any], float]


def _share(flags: Any) -> float:
    return float(np.mean(flags)) if len(flags) else float("nan")


def _average_precision(relevant: Any) -> float:
    v = np.asarray(relevant, dtype=float)
    if not len(v):
        return float("nan")
    return float((v * np.cumsum(v) / np.arange(1, len(v) + 1)).sum() / v.sum()) if v.sum() else 0.0


def _side(claims: Any, side: str) -> Any:
    return claims[(claims["side"] == side) & claims["verdict"].notna()]


def _supported(side: str) -> Callable[[Any, Any], float]:
    return lambda claims, contexts: _share((_side(claims, side)["verdict"] == "supported").to_numpy())


def _mean_support(claims: Any, contexts: Any) -> float:
    values = _side(claims, "answer")["support"].dropna().to_numpy(dtype=float)
    return float(values.mean()) if len(values) else float("nan")


def _any_unsupported(claims: Any, contexts: Any) -> float:
    share = _supported("answer")(claims, contexts)
    return float(share < 1) if share == share else float("nan")


def _relevant(contexts: Any) -> Any:
    return contexts["relevant"].to_numpy(dtype=bool)


#: Formulas: v_k is 1 when the k-th context is relevant, r_k its relevance in [0, 1], K the number of contexts.
DEFINITIONS = (
    Definition("context precision", "ragas", "Σ v_k·P@k / Σ v_k", lambda q, c: _average_precision(_relevant(c))),
    Definition("context precision", "DeepEval", "Σ v_k·P@k / Σ v_k", lambda q, c: _average_precision(_relevant(c))),
    Definition("context precision", "RAGChecker", "Σ v_k / K", lambda q, c: _share(_relevant(c))),
    Definition("context relevance", "TruLens", "Σ r_k / K", lambda q, c: _share(c["relevance"].to_numpy(dtype=float))),
    Definition("context recall", "ragas", "reference claims supported / all", _supported("reference")),
    Definition("claim recall", "RAGChecker", "reference claims supported / all", _supported("reference")),
    Definition("faithfulness", "ragas", "answer claims supported / all", _supported("answer")),
    Definition("faithfulness", "RAGChecker", "answer claims supported / all", _supported("answer")),
    Definition("faithfulness", "DeepEval", "answer claims not contradicted / all",
               lambda q, c: _share((_side(q, "answer")["verdict"] != "contradicted").to_numpy())),
    Definition("groundedness", "TruLens", "Σ support of answer claims / all", _mean_support),
    Definition("hallucination", "Phoenix", "1 when an answer claim is not supported, else 0", _any_unsupported),
)  # fmt: skip


def under_definitions(result: Any) -> pd.DataFrame:
    """Means of one evaluation under the definitions that ragas, DeepEval, TruLens, RAGChecker and Phoenix give.

    Parameters
    ----------
    result
        An ``Evaluation``.

    Returns
    -------
    DataFrame, one row a definition: ``metric, tool, formula`` (v_k: the k-th context is relevant, r_k: its relevance,
    K: number of contexts), ``value`` (mean in [0, 1], NaN when no sample has it), ``n`` (samples with a value),
    ``n_total``. Contexts that the generator did not see, and samples in which the relevance of a context or the verdict
    of a claim is not known, are left out.

    Examples
    --------
    >>> table = wb.under_definitions(wb.load_evaluation("evaluations/baseline"))
    >>> table.columns.tolist()
    ['metric', 'tool', 'formula', 'value', 'n', 'n_total']
    """
    import pandas as pd

    contexts, claims = result.contexts(), result.claims()
    contexts = contexts[contexts["prompted"].astype(bool)]
    contexts = contexts.assign(relevant=contexts["relevance"] >= result.thresholds.relevance)
    ids = result.evidence.ids
    by_sample = [dict(tuple(frame.groupby("sample_id", observed=True))) for frame in (claims, contexts)]
    none = claims.iloc[:0], contexts.iloc[:0]
    pairs = [[parts.get(one, empty) for parts, empty in zip(by_sample, none, strict=True)] for one in ids]
    rows = []
    for metric, tool, formula, of in DEFINITIONS:
        known = [np.nan if c["relevance"].isna().any() else of(q, c) for q, c in pairs]
        values = np.array(known, dtype=float)
        there = values[~np.isnan(values)]
        rows.append((metric, tool, formula, float(there.mean()) if len(there) else np.nan, len(there), len(ids)))
    return pd.DataFrame(rows, columns=list(COLUMNS))
