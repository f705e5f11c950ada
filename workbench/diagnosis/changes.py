"""What moved inside the samples of a comparison: ranks of expected documents, contexts, claims."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.data.text.normalise import normalise
from workbench.data.text.quantities import contains_quantity, quantities
from workbench.diagnosis.statistics import exact_mean
from workbench.evidence.frames import Evidence
from workbench.language import languages

# ------------------------------------------------------------------------------
# The samples that two evaluations share, and what of each is the same text in both.


Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

#: What a case consists of; a verdict can only be compared when it was judged by the same case.
CASE = (
    "question", "reference", "expected_docs", "must_not_retrieve", "must_include", "must_not_include", "expect_refusal",
    "refusal_phrases", "tenant",
)  # fmt: skip
#: What a run records beside answer and contexts that a verdict may depend on.
RECORDED = ("citations", "refused", "error", "sampled_answers", "logprobs")
#: Columns of a context that make it another one; scores of the retriever may differ.
_CONTEXT = ("doc_id", "text", "tenant", "prompted")


@dataclass(frozen=True)
class Pairing:
    """Samples matched by id, in the order of the first evaluation.

    Attributes
    ----------
    before, after
        The two sets of evidence.
    ids
        Ids that are in both.
    left, right
        (n,) their positions in either.
    only_before, only_after
        Ids without a partner.
    """

    before: Evidence
    after: Evidence
    ids: pd.Index
    left: Ints
    right: Ints
    only_before: list[str]
    only_after: list[str]

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def answer_changed(self) -> Mask:
        """The answers differ."""
        return self._differs("answer")

    @cached_property
    def contexts_changed(self) -> Mask:
        """The contexts differ in id, text, tenant, order, or in which of them the generator saw."""
        fingerprints = _fingerprints(self.before)[self.left] != _fingerprints(self.after)[self.right]
        return fingerprints | self._differs("contexts_recorded")

    @cached_property
    def case_changed(self) -> Mask:
        """Question, reference, expected documents or another part of the case differ."""
        return np.logical_or.reduce([self._differs(name) for name in CASE])

    @cached_property
    def identical(self) -> Mask:
        """The system did exactly the same: no verdict about it can have changed, whatever a judge says."""
        others = np.logical_or.reduce([self._differs(name) for name in RECORDED])
        return ~(self.answer_changed | self.contexts_changed | others)

    def _differs(self, name: str) -> Mask:
        if self.before.in_parts or self.after.in_parts:  # whose texts are not all in memory
            first, second = (_hashes(evidence, (name,)) for evidence in (self.before, self.after))
        else:
            first, second = self.before.plain(name), self.after.plain(name)
        return np.asarray(first[self.left] != second[self.right], dtype=bool)


def pair(before: Evidence, after: Evidence) -> Pairing:
    """Match the samples of two evaluations by id."""
    position = after.ids.get_indexer(before.ids)
    left = np.flatnonzero(position >= 0)
    others = after.ids.delete(position[left])
    return Pairing(before, after, before.ids[left], left, position[left],
                   before.ids[position < 0].astype("str").tolist(), others.astype("str").tolist())  # fmt: skip


#: Likeness of two questions from which one is an edit of the other, as ``difflib`` measures it.
EDITED = 0.6


def same_questions(kept: Evidence, other: Evidence) -> dict[str, str]:
    """Names of samples of ``other`` under which they pair with those of ``kept`` that ask the same: old id → new id.

    An id with the same question pairs; then, in runs without ids of their own, what is left by question, repeated ones
    in order; then an id whose question was edited. An id that was reused for another question gets another
    name, so that it pairs with nothing. Empty when the ids do.
    """
    if kept.ids.equals(other.ids) and not pair(other, kept)._differs("question").any():
        return {}
    asked = [
        dict(zip(evidence.ids.astype(str), (normalise(str(text)) for text in evidence.plain("question")), strict=True))
        for evidence in (kept, other)
    ]
    first, second = asked
    paired = {name for name, question in second.items() if first.get(name) == question}
    free: dict[str, list[str]] = {}
    # Row numbers, and ids of which the runs share none (of traces, say), name no case.
    nameless = not first.keys() & second.keys() or all(map(str.isdigit, (*first, *second)))
    for name, question in first.items() if nameless else ():
        if name not in paired:
            free.setdefault(question, []).append(name)
    names = {
        name: free[question].pop(0) for name, question in second.items() if name not in paired and free.get(question)
    }
    gone = {*paired, *names.values()}
    taken = {*first, *second}
    for name, question in second.items():
        reused = name in first and name not in paired and name not in names
        if reused and (name in gone or not _alike(first[name], question)):
            names[name] = next(new for n in itertools.count(2) if (new := f"{name} ({n})") not in taken)
            taken.add(names[name])
    return {old: new for old, new in names.items() if old != new}


def _alike(one: str, other: str) -> bool:
    return one == other or SequenceMatcher(None, one, other, autojunk=False).ratio() >= EDITED


def _fingerprints(evidence: Evidence) -> NDArray[np.uint64]:
    """(n,) a hash of each sample's contexts, in order; equal contexts give equal hashes."""
    return np.concatenate([_fingerprints_of(piece) for piece in evidence.pieces(())])


def _fingerprints_of(evidence: Evidence) -> NDArray[np.uint64]:
    frame = evidence.contexts
    total = np.zeros(len(evidence), dtype=np.uint64)
    rows = pd.util.hash_pandas_object(frame[[*_CONTEXT, "rank"]], index=False).to_numpy(dtype=np.uint64)
    np.add.at(total, evidence.codes(frame), rows)
    return total


def output_hashes(evidence: Evidence) -> NDArray[np.uint64]:
    """(n,) a hash of what the system returned for each sample, the same in every process; equal outputs give equal hashes."""
    return _fingerprints(evidence) + _hashes(evidence, ("answer", "contexts_recorded", *RECORDED))


def case_hashes(evidence: Evidence) -> NDArray[np.uint64]:
    """(n,) a hash of each case: question, reference, expectations."""
    return _hashes(evidence, CASE)


def _hashes(evidence: Evidence, names: Sequence[str]) -> NDArray[np.uint64]:
    columns = (
        pd.DataFrame({name: [repr(value) for value in piece.plain(name)] for name in names})
        for piece in evidence.pieces(names, contexts=False)
    )
    return np.concatenate([pd.util.hash_pandas_object(own, index=False).to_numpy(dtype=np.uint64) for own in columns])


# ------------------------------------------------------------------------------
# Whose doing was it? The change of the share of right answers, split between retriever and generator.


def split(comparison: Any) -> pd.DataFrame:
    """Shapley values of the two players over "evidence in the contexts" × "correct" (Shapley 1953).

    Share of right answers = P(evidence) · P(right | evidence) + P(no evidence) · P(right | no evidence). The retriever
    owns the first factor, the generator the two conditional rates; each gets its change averaged over both orders of
    replacing them. Descriptive: it adds up exactly, and it says nothing about a cause that moves both.

    Returns
    -------
    DataFrame, index ``part`` (retriever, generator, total); ``points, before, after, n``: change in points of the share
    (in [−1, 1]); the part's own rate in either run (the generator's: right answers where the evidence was there); the
    number of samples where all of it is known. Empty when there is none.
    """
    right, there = comparison.scored("end_to_end_correct"), comparison.scored("evidence_retrieved")
    known = right[0].ok & right[1].ok & there[0].ok & there[1].ok
    n = int(known.sum())
    if not n:
        return pd.DataFrame(columns=["points", "before", "after", "n"], index=pd.Index([], name="part"))
    first, second = (_rates(right[run].values[known], there[run].values[known]) for run in (0, 1))
    # A rate over no sample is taken from the other run, so that it takes no part in the change; 0 when both lack it.
    filled = [np.nan_to_num(np.where(np.isnan(own), other, own)) for own, other in ((first, second), (second, first))]
    base, only_generator, only_retriever, both = (_right(r, g) for r in filled for g in filled)
    retriever = ((only_retriever - base) + (both - only_generator)) / 2
    generator = ((only_generator - base) + (both - only_retriever)) / 2
    rows = {
        "retriever": (retriever, filled[0][0], filled[1][0], n),
        "generator": (generator, filled[0][1], filled[1][1], n),
        "total": (both - base, base, both, n),
    }
    columns = ["points", "before", "after", "n"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("part")


def _rates(right: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Share of samples with all evidence in the contexts, and of right ones with and without it."""
    return np.array([exact_mean(there), exact_mean(right[there == 1]), exact_mean(right[there == 0])])


def _right(retriever: np.ndarray, generator: np.ndarray) -> float:
    """Share of right answers with the evidence of one run and the conditional rates of another."""
    return float(retriever[0] * generator[1] + (1 - retriever[0]) * generator[2])


# ------------------------------------------------------------------------------
# Inside the samples: ranks, contexts, claims.


CONTEXTS = ("sample_id", "change", "doc_id", "rank", "expected", "leaked", "text")
CLAIMS = (
    "sample_id", "change", "text_before", "text_after", "verdict_before", "verdict_after", "claim_before", "claim_after",
    "newly_unsupported",
)  # fmt: skip
#: Claims that share at least this much of their text are the same claim in other words.
ALIKE = 0.7
#: Claims a sample up to which other words are looked for; beyond, claims are only gained or lost.
MOST_CLAIMS = 60
_BAD = ("contradicted", "not_mentioned")


def rank_moves(comparison: Any) -> pd.DataFrame:
    """See :meth:`workbench.diagnosis.comparison.Comparison.rank_moves`."""
    ids = comparison.pairing.ids
    first, second = (_ranks(run, ids) for run in (comparison.before, comparison.after))
    both = first.merge(second, on=["sample_id", "doc_id"], suffixes=("_before", "_after"))
    before, after = both["rank_before"].to_numpy(dtype=float), both["rank_after"].to_numpy(dtype=float)
    moves = np.select(
        [np.isnan(before) & np.isnan(after), np.isnan(before), np.isnan(after), after < before, after > before],
        ["absent", "gained", "lost", "up", "down"], "same",
    )  # fmt: skip
    return both.assign(move=moves)


def _ranks(run: Any, ids: pd.Index) -> pd.DataFrame:
    """``sample_id, doc_id, rank`` of every relevant expected entry; alternatives are written as one."""
    view = run.view
    entries = view.facts.entries
    relevant = entries[entries["grade"] >= 1]
    found = view.facts.matches(view.t.match)
    ranks = found.groupby("entry")["rank"].min()
    names = relevant.groupby("entry", sort=True)["doc_id"].agg(" / ".join)
    codes = relevant.groupby("entry", sort=True)["code"].first()
    frame = pd.DataFrame({
        "sample_id": run.evidence.ids[codes.to_numpy(dtype=np.int64)].astype("str"), "doc_id": names.to_numpy(),
        "rank": ranks.reindex(names.index).to_numpy(dtype=float),
    })  # fmt: skip
    return frame[frame["sample_id"].isin(ids)].drop_duplicates(["sample_id", "doc_id"])


def contexts(comparison: Any) -> pd.DataFrame:
    """See :meth:`workbench.diagnosis.comparison.Comparison.contexts`."""
    ids = comparison.pairing.ids[comparison.pairing.contexts_changed]
    first, second = (_named_contexts(run, ids) for run in (comparison.before, comparison.after))
    keys = ["sample_id", "key"]
    here, there = (pd.MultiIndex.from_frame(frame[keys]) for frame in (first, second))
    lost = first[~here.isin(there)].assign(change="lost")
    gained = second[~there.isin(here)].assign(change="gained")
    frame = pd.concat([lost, gained], ignore_index=True)
    place = ids.get_indexer(frame["sample_id"])
    order = np.lexsort([frame["rank"], frame["change"].to_numpy(dtype=object) == "gained", place])
    return frame.iloc[order][list(CONTEXTS)].reset_index(drop=True)


def _named_contexts(run: Any, ids: pd.Index) -> pd.DataFrame:
    """Contexts of the given samples, each document once; ``key`` is the id, or the text where none was recorded."""
    frame = run.contexts()
    frame = frame[frame["sample_id"].isin(ids)]
    return frame.assign(key=frame["doc_id"].fillna(frame["text"])).drop_duplicates(["sample_id", "key"])


def claims(comparison: Any) -> pd.DataFrame:
    """See :meth:`workbench.diagnosis.comparison.Comparison.claims`."""
    ids = comparison.pairing.ids
    first, second = (_answer_claims(run, ids) for run in (comparison.before, comparison.after))
    same = first.merge(second, on=["sample_id", "text", "again"], suffixes=("_before", "_after"))
    moved = (same["verdict_before"] != same["verdict_after"]) & ~(
        same["verdict_before"].isna() & same["verdict_after"].isna()
    )
    same = same.assign(text_before=same["text"], text_after=same["text"], change=np.where(moved, "verdict", "kept"))
    left = first[~first["row"].isin(same["row_before"])]
    right = second[~second["row"].isin(same["row_after"])]
    frame = pd.concat([same, _reworded(left, right)], ignore_index=True)
    bad = frame["verdict_after"].isin(_BAD) & ~frame["verdict_before"].isin(_BAD)
    frame = frame.assign(newly_unsupported=bad.to_numpy(dtype=bool))
    order = np.lexsort([frame["claim_after"].fillna(1e9), ids.get_indexer(frame["sample_id"])])
    return frame.iloc[order][list(CLAIMS)].reset_index(drop=True)


def _answer_claims(run: Any, ids: pd.Index) -> pd.DataFrame:
    frame = run.claims()
    frame = frame[(frame["side"] == "answer") & frame["sample_id"].isin(ids)]
    frame = frame[["sample_id", "claim_id", "text", "verdict"]].rename(columns={"claim_id": "claim"})
    again = frame.groupby(["sample_id", "text"]).cumcount()
    return frame.assign(again=again, row=np.arange(len(frame)))


def _reworded(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    """Claims without a partner of the same words: paired with the most similar one of their sample, or alone."""
    after = {sample_id: group.to_dict("records") for sample_id, group in right.groupby("sample_id")}
    before = {sample_id: group.to_dict("records") for sample_id, group in left.groupby("sample_id")}
    rows: list[dict[str, Any]] = []
    for sample_id in dict.fromkeys([*before, *after]):
        rows += _pair_claims(before.get(sample_id, []), after.get(sample_id, []))
    columns = [name for name in CLAIMS if name != "newly_unsupported"]
    return pd.DataFrame(rows, columns=columns)


def _pair_claims(left: Sequence[dict[str, Any]], right: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    rows, used_left, used_right = [], set(), set()
    for _, i, j in _similar(left, right):
        if i in used_left or j in used_right:
            continue
        used_left.add(i)
        used_right.add(j)
        change = "number" if _other_number(left[i]["text"], right[j]["text"]) else "reworded"
        rows.append(_claim_row(change, left[i], right[j]))
    rows += [_claim_row("lost", claim, None) for i, claim in enumerate(left) if i not in used_left]
    rows += [_claim_row("gained", None, claim) for j, claim in enumerate(right) if j not in used_right]
    return rows


def _similar(left: Sequence[dict[str, Any]], right: Sequence[dict[str, Any]]) -> list[tuple[float, int, int]]:
    """Pairs that are alike, the most similar first; numbers count as equal."""
    if not left or not right or len(left) > MOST_CLAIMS or len(right) > MOST_CLAIMS:
        return []
    numerals = [f"[{item.facts['numerals']}]+" for item in languages() if "numerals" in item.facts]
    number = re.compile("|".join([r"\d+(?:[.,:/-]\d+)*", *numerals]))
    masked = [[number.sub("0", claim["text"])[:400] for claim in side] for side in (left, right)]
    pairs = []
    for i, one in enumerate(masked[0]):
        for j, other in enumerate(masked[1]):
            matcher = SequenceMatcher(None, one, other, autojunk=False)
            if matcher.quick_ratio() >= ALIKE and (ratio := matcher.ratio()) >= ALIKE:
                pairs.append((ratio, i, j))
    return sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2]))


def _other_number(first: str, second: str) -> bool:
    """Each text has a number that the other has not: one was exchanged, not just added or left out."""
    one, other = quantities(first), quantities(second)
    missing = (any(not contains_quantity(there, item) for item in here) for here, there in ((one, other), (other, one)))
    return all(missing)


def _claim_row(change: str, first: dict[str, Any] | None, second: dict[str, Any] | None) -> dict[str, Any]:
    one, other = first or {}, second or {}
    return {
        "sample_id": (first or second or {})["sample_id"], "change": change,
        "text_before": one.get("text"), "text_after": other.get("text"), "verdict_before": one.get("verdict"),
        "verdict_after": other.get("verdict"), "claim_before": one.get("claim"), "claim_after": other.get("claim"),
    }  # fmt: skip
