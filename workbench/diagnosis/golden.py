"""Keeping a golden set: what is missing for a change to be seen, what tells nothing, what is there twice, what to add.

Questions are compared by TF-IDF over their characters (2 to 4 in a row), which needs no model and no word boundaries.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workbench.data.files import write_text
from workbench.data.schema import none_if_missing
from workbench.data.text.normalise import normalise
from workbench.diagnosis.series import Series
from workbench.diagnosis.statistics import Z
from workbench.errors import InputError
from workbench.language import text as _t
from workbench.language.numbers import points

_Z_POWER = 0.8416212335729143
#: Share of samples that differ between two runs where no history says it.
USUAL_FLIPPING = 0.15
#: Cosine from which two questions are the same in other words, and below which a request is of a new kind.
TWIN, KIN = 0.9, 0.35
#: Requests that are clustered at most, an even sample of more.
MOST_REQUESTS = 20_000


def missing_cases(cases: Any, change: float = 0.05, *, series: Series | None = None) -> pd.DataFrame:
    """How many cases of which type are missing for a change to show in 4 of 5 comparisons (paired, two-sided 5 %).

    Parameters
    ----------
    cases
        A sample set or its frame.
    series
        A history: how many samples differ between two runs is taken from it, else :data:`USUAL_FLIPPING`.

    Returns
    -------
    DataFrame, one row all together and one a ``case_type``: ``case_type`` ("" = all)``, n, flipping, needed, missing,
    detectable`` (the change that n cases show).
    """
    if not 0 < change < 1:
        raise InputError(f"change {change!r} is not between 0 and 1")
    frame = getattr(cases, "frame", cases)
    named = frame["case_type"].tolist() if "case_type" in frame else [None] * len(frame)
    kinds = np.array([none_if_missing(own) or "" for own in named], dtype=object)
    rows = []
    for kind in ["", *sorted({str(own) for own in kinds if own})]:
        own = np.ones(len(frame), dtype=bool) if kind == "" else kinds == kind
        flipping = _flipping(series, frame.index[own])
        factor = (Z + _Z_POWER) ** 2 * max(flipping, change)
        needed, n = math.ceil(factor / change**2), int(own.sum())
        rows.append((kind, n, flipping, needed, max(0, needed - n), math.sqrt(factor / n) if n else math.nan))
    return pd.DataFrame(rows, columns=["case_type", "n", "flipping", "needed", "missing", "detectable"])


def _flipping(series: Series | None, ids: pd.Index) -> float:
    """Mean share of these samples that differ between one run and the next."""
    if series is None or len(series) < 2:
        return USUAL_FLIPPING
    moved = np.abs(np.diff(series.outcome[:, series.ids.isin(ids)], axis=0))
    known = moved[np.isfinite(moved)]
    return float(known.mean()) if len(known) else USUAL_FLIPPING


def silent_cases(series: Series) -> pd.DataFrame:
    """Cases that never told two runs apart: ``sample_id, outcome, n_runs``; those of at least three runs with one outcome."""
    known = np.isfinite(series.outcome)
    n_runs = known.sum(axis=0)
    low = np.where(known, series.outcome, np.inf).min(axis=0)
    high = np.where(known, series.outcome, -np.inf).max(axis=0)
    chosen = (n_runs >= 3) & (low == high)
    return pd.DataFrame({"sample_id": series.ids[chosen].astype("str"), "outcome": low[chosen], "n_runs": n_runs[chosen]})


def _vectors(texts: Sequence[str], known: Sequence[str] = ()) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True, min_df=1)
    words = [re.sub(r"[\W_]+", " ", normalise(text)).strip() for text in (*texts, *known)]
    return vectorizer.fit_transform([text or "–" for text in words])


def near_duplicates(cases: Any, least: float = TWIN) -> pd.DataFrame:
    """Pairs of cases of one tenant whose questions are nearly the same: ``sample_id, other_id, similarity, question,
    other_question``, the most alike first. ``similarity``: cosine in [0, 1]."""
    frame = getattr(cases, "frame", cases)
    texts = [str(text) for text in frame["question"]]
    tenants = [none_if_missing(own) for own in frame["tenant"]] if "tenant" in frame else [None] * len(frame)
    rows = []
    vectors = _vectors(texts)
    for start in range(0, len(texts), 500):
        block = (vectors[start : start + 500] @ vectors.T).tocoo()
        for row, column, value in zip(block.row.tolist(), block.col.tolist(), block.data.tolist(), strict=True):
            at = start + row
            if column > at and value >= least and tenants[at] == tenants[column]:
                rows.append((str(frame.index[at]), str(frame.index[column]), min(value, 1.0), texts[at], texts[column]))
    found = pd.DataFrame(rows, columns=["sample_id", "other_id", "similarity", "question", "other_question"])
    return found.sort_values("similarity", ascending=False, kind="stable").reset_index(drop=True)


def proposed_cases(log: Any, cases: Any, n: int = 20) -> pd.DataFrame:
    """Requests of a log that the set has nothing like, one a cluster, the largest cluster first.

    Parameters
    ----------
    log, cases
        Sample sets or frames with ``question``; the log may have ``tenant``.

    Returns
    -------
    DataFrame: ``question, tenant, n_requests`` (of its cluster)``, similarity`` (to the nearest case)``, nearest_id``.
    """
    requests = getattr(log, "frame", log)
    known = getattr(cases, "frame", cases)
    if len(requests) > MOST_REQUESTS:
        requests = requests.iloc[np.linspace(0, len(requests) - 1, MOST_REQUESTS).astype(int)]
    counts = requests["question"].astype(str).map(normalise).value_counts()
    first = requests.assign(_key=requests["question"].astype(str).map(normalise)).drop_duplicates("_key")
    texts = first["question"].astype(str).tolist()
    vectors = _vectors(texts, [str(text) for text in known["question"]])
    near = (vectors[: len(texts)] @ vectors[len(texts) :].T).toarray() if len(known) else np.zeros((len(texts), 1))
    nearest, similarity = near.argmax(axis=1), near.max(axis=1)
    new = np.flatnonzero(similarity < KIN)
    rows = []
    if len(new):
        from sklearn.cluster import MiniBatchKMeans

        groups = min(n, len(new))
        clusters = MiniBatchKMeans(groups, random_state=0, n_init=3).fit(vectors[new])
        for cluster in range(groups):
            own = new[clusters.labels_ == cluster]
            if not len(own):
                continue
            centre = own[np.argmax(vectors[own] @ clusters.cluster_centers_[cluster])]
            size = int(sum(counts[first["_key"].iloc[at]] for at in own))
            tenant = none_if_missing(first["tenant"].iloc[centre]) if "tenant" in first else None
            nearest_id = str(known.index[nearest[centre]]) if len(known) else None
            rows.append((texts[centre], tenant, size, float(similarity[centre]), nearest_id))
    found = pd.DataFrame(rows, columns=["question", "tenant", "n_requests", "similarity", "nearest_id"])
    return found.sort_values("n_requests", ascending=False, kind="stable").reset_index(drop=True)


def questions_of(log: Any) -> Any:
    """The requests of a query log as a sample set; None when it holds no questions, as a log of numbers alone does."""
    from workbench.data.load import load_samples

    try:
        return load_samples(log)
    except InputError:
        return None


def worth_labelling(evaluation: Any, n: int = 50, *, cases: Any = None) -> pd.DataFrame:
    """Requests worth a human look: a third that fail, a third near a threshold, a third of kinds that the set lacks.

    Parameters
    ----------
    evaluation
        Of a log with recorded scores, or of any recording.
    cases
        The golden set that new kinds are told by; without one there are none.

    Returns
    -------
    DataFrame, index ``sample_id``: ``question, reason`` (failing, near_threshold, new_kind)``, detail``. A reason without
    enough requests leaves its place to the others.
    """
    ids = evaluation.evidence.ids
    questions = pd.Series(evaluation.evidence.plain("question"), index=ids)
    causes = evaluation.causes
    failing = np.flatnonzero(causes.primary >= 0)
    detail = {int(at): str(name) for at, name in zip(failing, causes.names()[failing], strict=True)}
    margin, what = _margins(evaluation)
    near = [int(at) for at in np.argsort(margin, kind="stable") if np.isfinite(margin[at]) and margin[at] <= 0.15]
    pools: dict[str, list[int]] = {"failing": _spread(failing, causes.primary), "near_threshold": near, "new_kind": []}
    if cases is not None:
        found = proposed_cases(pd.DataFrame({"question": questions}), cases, n)
        place = {text: at for at, text in reversed(list(enumerate(questions)))}
        pools["new_kind"] = [place[text] for text in found["question"]]
    chosen: dict[int, str] = {}
    while len(chosen) < min(n, len(ids)) and any(pools.values()):
        for reason, pool in pools.items():
            while pool and pool[0] in chosen:
                pool.pop(0)
            if pool and len(chosen) < n:
                chosen[pool.pop(0)] = reason
    words = {"failing": lambda at: detail[at], "near_threshold": lambda at: what[at], "new_kind": lambda at: ""}
    said = [words[reason](at) for at, reason in chosen.items()]
    places = list(chosen)
    return pd.DataFrame({"question": questions.iloc[places].tolist(), "reason": list(chosen.values()), "detail": said},
                        index=ids[places].rename("sample_id"))  # fmt: skip


#: Lines of one kind that :func:`upkeep_lines` gives.
_SHOWN = 10


def upkeep_lines(cases: Any, *, series: Series | None = None, proposed: pd.DataFrame | None = None,
                 change: float = 0.05) -> list[str]:  # fmt: skip
    """What a golden set lacks and could do without, as sentences in the language in force.

    ``series`` adds cases that never tell runs apart, ``proposed`` what :func:`proposed_cases` found in a log.
    """
    lines = []
    for row in missing_cases(cases, change, series=series).to_dict("records"):
        kind = row["case_type"] or _t("logs.golden.all")
        figures = {"n": f"{row['n']:,}", "needed": f"{row['needed']:,}", "missing": f"{row['missing']:,}",
                   "change": points(change, signed=False), "detectable": points(row["detectable"], signed=False)}  # fmt: skip
        lines.append(_t("logs.golden.enough" if not row["missing"] else "logs.golden.missing", kind=kind, **figures))
    twins = near_duplicates(cases)
    silent = None if series is None else silent_cases(series)
    for key, frame, texts in (
        ("twins", twins, lambda row: f"{row['sample_id']} = {row['other_id']}: {row['question']}"),
        ("silent", silent, lambda row: str(row["sample_id"])),
        ("proposed", proposed, lambda row: f"{row['n_requests']:,} × {row['question']}"),
    ):
        if frame is not None:
            lines.append(_t(f"logs.golden.{key}", n=f"{len(frame):,}"))
            lines += [f"  {texts(row)}" for row in frame.head(_SHOWN).to_dict("records")]
    return lines


def _spread(failing: Any, primary: Any) -> list[int]:
    """Failing samples, one of each cause after the other."""
    turn: dict[int, int] = {}
    order = []
    for at in failing.tolist():
        turn[primary[at]] = turn.get(primary[at], 0) + 1
        order.append((turn[primary[at]], at))
    return [at for _, at in sorted(order)]


def _margins(evaluation: Any) -> tuple[np.ndarray, list[str]]:
    """(n,) distance of the score that is nearest to its cut, and which score that is; inf without any."""
    from workbench.diagnosis.cause_inputs import low_failing

    view = evaluation.view
    recorded = evaluation.causes.inputs.recorded
    scores = [(name, evaluation.metric(name).values, view.t.low_cut(name)) for name in low_failing(view)]
    scores += list(zip(recorded.names, recorded.values, recorded.cuts, strict=True))
    margin, what = np.full(len(evaluation), np.inf), [""] * len(evaluation)
    for name, values, cut in scores:
        distance = np.abs(np.nan_to_num(values, nan=np.inf) - cut)
        for at in np.flatnonzero(distance < margin):
            what[at] = f"{name} {values[at]:.2f}"
        margin = np.minimum(margin, distance)
    return margin, what


def export_cases(cases: pd.DataFrame | Sequence[Mapping[str, Any]], path: str | Path) -> Path:
    """Write proposed cases in the layered format, to be completed by hand: expected documents, key points, refusal.

    ``cases``: what :func:`proposed_cases`, :func:`worth_labelling` or ``workbench.data.doctor.over_reach_cases`` gave.
    """
    rows = cases.reset_index(names="sample_id").to_dict("records") if isinstance(cases, pd.DataFrame) else list(cases)
    layered = []
    for number, row in enumerate(rows, start=1):
        if "expected_doc_ids" in row:
            layered.append(dict(row))
            continue
        own = str(row["sample_id"]) if "reason" in row else f"log-{number:03}"
        entry = {"id": own, "type": "fact", "question": str(row["question"]), "expected_doc_ids": [], "must_include": [],
                 "must_not_include": [], "expect_refusal": False, "refusal_phrases": []}  # fmt: skip
        if (tenant := none_if_missing(row.get("tenant"))) is not None:
            entry["tenant"] = tenant
        layered.append(entry)
    return write_text(path, json.dumps({"cases": layered}, ensure_ascii=False, indent=1) + "\n")
