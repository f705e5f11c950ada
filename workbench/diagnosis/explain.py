"""What can be said of one failing sample: its documents, claims and marks as words, each prepared once for all samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from workbench.diagnosis.cause_inputs import CauseInputs, serious
from workbench.scoring.facts import Claims
from workbench.scoring.scored import Mask
from workbench.scoring.tables import best_contexts
from workbench.scoring.view import CONTRADICTED, NOT_MENTIONED, SUPPORTED, UNSURE, View

#: Longest quotation in an evidence sentence, in characters.
QUOTE = 120


class Explainer:
    """Pieces of evidence sentences. ``code`` is the position of a sample, ``row`` that of a claim."""

    def __init__(self, inputs: CauseInputs) -> None:
        self.inputs = inputs
        self.view: View = inputs.view
        self.facts = inputs.facts

    @cached_property
    def sub_causes(self) -> Mapping[int, str]:
        """Why the document that a retrieval miss lacks did not come, by sample."""
        from workbench.diagnosis.missed import first_sub_causes

        return first_sub_causes(self.view)

    # -- by sample, prepared once -----------------------------------------------------------------------------------

    @cached_property
    def foreign(self) -> dict[int, list[tuple[str, str]]]:
        """Foreign documents of each sample: ``(document, place)``."""
        frame = self.facts.foreign
        return _grouped(frame["code"].tolist(), zip(frame["doc"].tolist(), frame["place"].tolist(), strict=True))

    @cached_property
    def lost_documents(self) -> dict[int, list[str]]:
        """Expected documents that are not among the prompted contexts."""
        entries, names = self.inputs.entries, self.facts.entries
        lost = names[names["entry"].isin(entries.loc[~entries["found"], "entry"])]
        return _grouped(lost["code"].tolist(), lost["doc_id"].tolist())

    @cached_property
    def bad_marks(self) -> dict[int, tuple[list[str], list[str]]]:
        """Citations of each sample that resolve to nothing, and those that do not support their sentence."""
        cited, (pair, _) = self.facts.citations, self.view.cited
        frame = self.facts.evidence.claims
        marks = frame["text"].to_numpy(dtype=object)[(frame["side"] == "citation").to_numpy()]
        found: dict[int, tuple[list[str], list[str]]] = {}
        rows = zip(cited["code"].tolist(), cited["cited"].tolist(), pair.tolist(), marks.tolist(), strict=True)
        for code, target, supported, mark in rows:
            if target < 0 or supported == 0:
                found.setdefault(code, ([], []))[0 if target < 0 else 1].append(mark)
        return found

    # -- pieces -----------------------------------------------------------------------------------------------------

    @cached_property
    def _texts(self) -> np.ndarray:
        return self.facts.evidence.claims["text"].to_numpy(dtype=object)

    @cached_property
    def _documents(self) -> np.ndarray:
        frame = self.facts.evidence.contexts
        names = frame["doc_id"].astype(object)
        return names.where(names.notna(), "#" + frame["rank"].astype("str")).to_numpy(dtype=object)

    @cached_property
    def _best(self) -> np.ndarray:
        return best_contexts(self.view, "answer", self.view.answer_verdicts)

    @cached_property
    def masks(self) -> dict[str, Mask]:
        """Claims that decide causes, by cause."""
        view, inputs = self.view, self.inputs
        verdicts = view.answer_verdicts
        return {
            "contradicting": inputs.contradicting_claims,
            "invented": serious(view) & (verdicts == NOT_MENTIONED),
            "unsupported": np.isin(verdicts, (NOT_MENTIONED, CONTRADICTED)),
            "held": np.isin(verdicts, (SUPPORTED, UNSURE)),
            "against_reference": (verdicts == SUPPORTED) & (view.answer_other == CONTRADICTED),
            "dropped_points": inputs.unmade_points & (view.points.own_entail >= 0.5),
            "dropped_claims": inputs.unmade_claims & (view.reference_verdicts == SUPPORTED),
            "absent_points": view.points.entail < 0.5,
            "absent_claims": view.reference_verdicts == NOT_MENTIONED,
        }

    def rows(self, claims: Claims, code: int, mask: Mask) -> np.ndarray:
        """Rows of ``claims`` of one sample for which ``mask`` holds."""
        first, last = np.searchsorted(claims.code, [code, code + 1])
        return first + np.flatnonzero(mask[first:last])

    def quote(self, claims: Claims, row: int) -> str:
        """The words of a claim, cut."""
        words = " ".join(str(self._texts[claims.row[row]]).split())
        return words if len(words) <= QUOTE else words[: QUOTE - 1] + "…"

    def where(self, row: int) -> dict[str, object]:
        """Document and rank of the context that decides an answer claim."""
        context = self._best[row]
        if context < 0:
            return {"doc": "–", "rank": "–"}
        return {"doc": self._documents[context], "rank": int(self.facts.contexts.rank[context])}

    def place(self, side: str, row: int) -> dict[str, object]:
        """Document and rank of the context that supports a key point or reference claim best."""
        support = self.facts.support(side)
        cells = self._cells(side, row)
        if not len(cells):
            return {"doc": "–", "rank": "–"}
        context = support.context[cells[np.argmax(np.nan_to_num(support.entail[cells]))]]
        return {"doc": self._documents[context], "rank": int(self.facts.contexts.rank[context])}

    def _cells(self, side: str, row: int) -> np.ndarray:
        claim = self.facts.support(side).claim
        first, last = np.searchsorted(claim, [row, row + 1])
        return np.arange(first, last)


def _grouped(codes: Sequence[int], values: Iterable[Any]) -> dict[int, list[Any]]:
    groups: dict[int, list[Any]] = {}
    for code, value in zip(codes, values, strict=True):
        groups.setdefault(code, []).append(value)
    return groups
