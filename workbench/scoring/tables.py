"""Evidence as the public tables of an evaluation: claims, contexts, support, spans, errors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import InputError
from workbench.evidence.frames import Evidence
from workbench.scoring.facts import Claims
from workbench.scoring.scored import INPUT_ERROR, JUDGE_ERROR, OK
from workbench.scoring.view import CONTRADICTED, SEVERITIES, VERDICTS, Verdicts, View, severity

if TYPE_CHECKING:
    import pandas as pd

SIDES = ("answer", "reference")
_SPAN = ("start", "end", "text", "kind", "support")


def claim_rows(view: View) -> pd.DataFrame:
    """``sample_id, side, claim_id, text, start, end, verdict, support, contradiction, best_doc_id, other_verdict,
    other_support, other_contradiction, severity, state, reason``; a verdict is null where its evidence is missing."""
    import pandas as pd

    parts = [
        _claims(view, "answer", view.answer, view.answer_verdicts, view.answer_other),
        _claims(view, "reference", view.reference, view.reference_verdicts, view.reference_other),
    ]
    return pd.concat(parts, ignore_index=True)


def _claims(view: View, side: str, claims: Claims, against: Verdicts, other: Verdicts) -> pd.DataFrame:
    import pandas as pd

    rows = view.facts.evidence.claims.iloc[claims.row]
    unread = claims.incomplete | ~view.facts.recorded[claims.code]
    verdicts = np.asarray([*VERDICTS[:4], None], dtype=object)
    levels = np.asarray([*SEVERITIES, None], dtype=object)
    level = severity(claims, against) if side == "answer" else np.full(len(claims), -1)
    return pd.DataFrame({
        "sample_id": rows["sample_id"].astype("str").to_numpy(),
        "side": side,
        "claim_id": rows["claim_id"].to_numpy(),
        "text": rows["text"].to_numpy(),
        "start": rows["start"].to_numpy(),
        "end": rows["end"].to_numpy(),
        "verdict": _blanked(verdicts[against], unread),
        "support": np.where(unread, np.nan, claims.entail),
        "contradiction": np.where(unread, np.nan, claims.contradict),
        "best_doc_id": _best_documents(view, side, against),
        "other_verdict": verdicts[other],
        "other_support": claims.other_entail,
        "other_contradiction": claims.other_contradict,
        "severity": _blanked(levels[level], unread),
        "state": np.where(claims.incomplete, JUDGE_ERROR, OK),
        "reason": rows["reason"].to_numpy(),
    })  # fmt: skip


def _blanked(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    """``values`` (objects) with None where ``where`` holds."""
    result = values.copy()
    result[where] = None
    return result


def best_contexts(view: View, side: str, against: Verdicts) -> np.ndarray:
    """Per claim, the row of the context that decides its verdict (contradicts it, else supports it best), −1 without."""
    support = view.facts.support(side)
    n = len(against)
    contradicted = against[support.claim] == CONTRADICTED
    value = np.where(contradicted, support.contradict, np.fmax(support.entail, support.stitched))
    order = np.lexsort([-view.facts.contexts.rank[support.context], np.nan_to_num(value), support.claim])
    best = np.full(n, -1, dtype=np.int64)
    best[support.claim[order]] = support.context[order]
    return best


def _best_documents(view: View, side: str, against: Verdicts) -> np.ndarray:
    names = view.facts.evidence.contexts["doc_id"].astype(object)
    documents = [*names.where(names.notna(), None).tolist(), None]
    return np.array(documents, dtype=object)[best_contexts(view, side, against)]


def context_rows(view: View) -> pd.DataFrame:
    """``sample_id, rank, doc_id, relevance, similarity, expected, leaked, used, state``, then what was recorded of each:
    ``text, title, score, tenant, source, position, prompted, reason``."""
    import pandas as pd

    frame, facts = view.facts.evidence.contexts, view.facts
    support = facts.support("answer")
    used = np.zeros(len(frame), dtype=bool)
    used[support.context[np.fmax(support.entail, support.stitched) >= view.t.support]] = True
    front = pd.DataFrame({
        "sample_id": frame["sample_id"].astype("str"), "rank": frame["rank"], "doc_id": frame["doc_id"],
        "relevance": frame["relevance"], "similarity": frame["similarity"],
    })  # fmt: skip
    marks = {"expected": view.expected, "leaked": facts.contexts.foreign, "used": used, "state": frame["state"]}
    rest = frame[["text", "title", "score", "tenant", "source", "position", "prompted", "reason"]]
    return pd.concat([front.assign(**marks), rest], axis=1)


def support_rows(view: View) -> pd.DataFrame:
    """``sample_id, side, claim_id, rank, entail, contradict, span_start, span_end, state`` and the stitched values."""
    frame = view.facts.evidence.support
    chosen = frame[frame["side"].isin(SIDES)]
    first = ["sample_id", "side", "claim_id", "rank", "entail", "contradict", "span_start", "span_end", "state"]
    table = chosen[[*first, "stitched_entail", "stitched_contradict"]].reset_index(drop=True)
    return table.astype({"sample_id": "str", "side": "str", "state": "str"})


def span_rows(view: View) -> pd.DataFrame:
    """``sample_id, side, claim_id, start, end, text, kind, support``.

    Raises
    ------
    InputError
        When the column ``spans`` of a saved evaluation is damaged.
    """
    import pandas as pd

    frame = view.facts.evidence.claims
    chosen = frame[frame["side"].isin(SIDES) & frame["spans"].notna()]
    columns = (chosen["sample_id"].astype("str"), chosen["side"].astype("str"), chosen["claim_id"], chosen["spans"])
    rows = [
        (sample_id, side, claim_id, *span)
        for sample_id, side, claim_id, spans in zip(*(column.tolist() for column in columns), strict=True)
        for span in _spans_of(spans)
    ]
    return pd.DataFrame(rows, columns=["sample_id", "side", "claim_id", *_SPAN])


def _spans_of(text: str) -> list[tuple[Any, ...]]:
    try:
        return [tuple(span[name] for name in _SPAN) for span in json.loads(text)]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(f"claims.parquet: column spans is damaged ({error}); score the recording again") from error


def error_rows(evidence: Evidence) -> pd.DataFrame:
    """``sample_id, state, reason`` of everything that could not be read or judged."""
    import pandas as pd

    rows: list[tuple[str, str, str]] = []
    states, reasons = evidence.plain("judge_state"), evidence.plain("judge_reason")
    missing, unread = evidence.nested("judge_missing"), evidence.nested("input_errors")
    for code, sample_id in enumerate(evidence.ids.tolist()):
        if states[code] in (JUDGE_ERROR, INPUT_ERROR):
            rows.append((sample_id, states[code], reasons[code] or "the judge gave no reason"))
        found = {why: state for state, why in (missing[code] or {}).values() if state in (JUDGE_ERROR, INPUT_ERROR)}
        rows += [(sample_id, state, why) for why, state in found.items()]
        rows += [(sample_id, INPUT_ERROR, f"{name}: {why}") for name, why in (unread[code] or {}).items()]
    return pd.DataFrame(rows, columns=["sample_id", "state", "reason"], dtype="str")
