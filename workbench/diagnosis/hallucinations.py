"""What was made up, and how serious it is: claims without support, the words that are wrong, citations, signs."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from workbench.scoring.groups.joint import RISK_PARTS
from workbench.scoring.metrics import score

#: Verdicts that are listed, worst first, and severities, worst first.
VERDICTS = ("contradicted", "not_mentioned", "unsure")
SEVERITIES = ("high", "medium", "low")

#: Reference-free signs, one column each.
SIGNS = (*RISK_PARTS, "reference_free_risk")


def hallucinated_claims(evaluation: Any) -> pd.DataFrame:
    """Answer claims that the contexts do not support, worst first.

    Returns
    -------
    DataFrame
        ``sample_id, claim_id, text, verdict`` (contradicted, not_mentioned, unsure)``, severity, support, contradiction,
        best_doc_id, wrong`` (the parts of the claim with the least support, a list of texts)``, reason``. Unsure claims
        have no severity: they count as nothing.

    Examples
    --------
    >>> wb.hallucinated_claims(wb.load_evaluation("evaluations/baseline"))["verdict"].iloc[0]
    'contradicted'
    """
    claims = evaluation.claims()
    chosen = claims[(claims["side"] == "answer") & claims["verdict"].isin(VERDICTS)].copy()
    wrong = _wrong_parts(evaluation)
    keys = zip(chosen["sample_id"], chosen["claim_id"], strict=True)
    chosen["wrong"] = [wrong.get((str(sample_id), int(claim_id)), []) for sample_id, claim_id in keys]
    levels = {name: place for place, name in enumerate(SEVERITIES)}
    order = chosen["severity"].map(levels).fillna(len(SEVERITIES))
    chosen = chosen.assign(_order=order).sort_values(["_order", "support"], kind="stable").drop(columns="_order")
    first = ["sample_id", "claim_id", "text", "verdict", "severity"]
    names = [*first, "support", "contradiction", "best_doc_id", "wrong", "reason"]
    return chosen[names].reset_index(drop=True)


def _wrong_parts(evaluation: Any, below: float = 0.5) -> dict[tuple[str, int], list[str]]:
    """Parts of each answer claim whose own support is below ``below``, numbers, dates and names first."""
    spans = evaluation.spans()
    spans = spans[(spans["side"] == "answer") & (spans["support"] < below)]
    rank = {"number": 0, "date": 0, "entity": 1, "negation": 2}
    spans = spans.assign(_rank=spans["kind"].map(rank).fillna(3)).sort_values(["_rank", "support"], kind="stable")
    found: dict[tuple[str, int], list[str]] = {}
    for sample_id, claim_id, text in zip(spans["sample_id"], spans["claim_id"], spans["text"], strict=True):
        found.setdefault((str(sample_id), int(claim_id)), []).append(str(text))
    return {key: list(dict.fromkeys(texts))[:5] for key, texts in found.items()}


def verdict_counts(evaluation: Any) -> pd.DataFrame:
    """Answer claims by verdict: index verdict (supported first), ``n`` and ``share`` of the judged ones, and for those
    without support ``high, medium, low``."""
    claims = evaluation.claims()
    answer = claims[(claims["side"] == "answer") & claims["verdict"].notna()]
    order = ["supported", *VERDICTS]
    counts = answer["verdict"].value_counts().reindex(order, fill_value=0)
    levels = pd.crosstab(answer["verdict"], answer["severity"]).reindex(
        index=order, columns=list(SEVERITIES), fill_value=0
    )
    total = int(counts.sum())
    return pd.DataFrame({"n": counts, "share": counts / total if total else math.nan, **levels}).rename_axis("verdict")


def citation_rows(evaluation: Any) -> pd.DataFrame:
    """``sample_id, mark, doc_id, state``: resolved and supporting, not_supporting, unresolved, or without_claim (its
    sentence states nothing). Worst first."""
    view = evaluation.view
    cited, (pair, _) = view.facts.citations, view.cited
    frame = view.facts.evidence.claims
    marks = frame[(frame["side"] == "citation").to_numpy()]
    judged = ~(view.facts.skipped("support") | view.facts.failed("support"))[cited["code"].to_numpy(dtype=int)]
    states = [
        "unresolved" if target < 0 else "not_judged" if not known else "without_claim" if value != value
        else "supporting" if value else "not_supporting"
        for target, value, known in zip(cited["cited"], pair, judged, strict=True)
    ]  # fmt: skip
    order = ["unresolved", "not_supporting", "without_claim", "not_judged", "supporting"]
    rows = pd.DataFrame({
        "sample_id": marks["sample_id"].astype("str").to_numpy(), "mark": marks["text"].to_numpy(),
        "doc_id": marks["cited_doc"].to_numpy(), "state": states,
    })  # fmt: skip
    return rows.sort_values("state", key=lambda column: column.map(order.index), kind="stable").reset_index(drop=True)


def sign_rows(evaluation: Any) -> pd.DataFrame:
    """Reference-free signs of each answer, index ``sample_id``, columns :data:`SIGNS`; riskiest first."""
    scored = {name: score(evaluation.view, name).values for name in SIGNS}
    frame = pd.DataFrame(scored, index=evaluation.evidence.ids)
    return frame.dropna(how="all").sort_values("reference_free_risk", ascending=False, kind="stable")


def clean_bound(n_clean: int) -> float:
    """The highest rate that ``n_clean`` samples without a single leak still allow (95 %, one-sided, exact): what "no leak
    found" means. NaN for none."""
    return 1 - 0.05 ** (1 / n_clean) if n_clean > 0 else math.nan
