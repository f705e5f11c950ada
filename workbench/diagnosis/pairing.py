"""The samples that two evaluations share, and what of each is the same text in both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.evidence.frames import Evidence

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
        first, second = self.before.plain(name)[self.left], self.after.plain(name)[self.right]
        return np.asarray(first != second, dtype=bool)


def pair(before: Evidence, after: Evidence) -> Pairing:
    """Match the samples of two evaluations by id."""
    position = after.ids.get_indexer(before.ids)
    left = np.flatnonzero(position >= 0)
    matched = np.zeros(len(after), dtype=bool)
    matched[position[left]] = True
    return Pairing(
        before, after, before.ids[left], left, position[left], _texts(before.ids[position < 0]),
        _texts(after.ids[~matched]),
    )  # fmt: skip


def _texts(ids: pd.Index) -> list[str]:
    return [str(item) for item in ids.tolist()]


def _fingerprints(evidence: Evidence) -> NDArray[np.uint64]:
    """(n,) a hash of each sample's contexts, in order; equal contexts give equal hashes."""
    frame = evidence.contexts
    total = np.zeros(len(evidence), dtype=np.uint64)
    if not len(frame):
        return total
    row = np.zeros(len(frame), dtype=np.uint64)
    for place, name in enumerate((*_CONTEXT, "rank")):
        mixed = pd.util.hash_pandas_object(frame[name], index=False).to_numpy(dtype=np.uint64)
        row = _mix(row ^ (mixed + np.uint64(place)))
    np.add.at(total, evidence.codes(frame), row)
    return total


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: every bit of the input moves every bit of the output."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = values ^ (values >> np.uint64(31))
    return mixed
