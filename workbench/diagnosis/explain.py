"""What is said about one failing sample: the evidence of each cause, advice for that layer, what could not be checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.diagnosis.cause_inputs import LOW_FAILS, serious
from workbench.diagnosis.causes import CAUSES, Causes, unchecked
from workbench.language import listed, text
from workbench.scoring.facts import Claims
from workbench.scoring.groups.answer import cited_support
from workbench.scoring.metrics import score
from workbench.scoring.scored import Mask
from workbench.scoring.tables import best_contexts
from workbench.scoring.view import CONTRADICTED, NOT_MENTIONED, SUPPORTED, UNSURE, View

if TYPE_CHECKING:
    import pandas as pd

#: Longest quotation in an evidence sentence, in characters.
QUOTE = 120


def failure_rows(causes: Causes) -> pd.DataFrame:
    """The table of failures; see ``Evaluation.failures``."""
    import pandas as pd

    chain = causes.chain
    explainer = Explainer(causes)
    primary = causes.names()
    passed = np.where(causes.primary == -2, None, causes.primary == -1)
    names = np.array(CAUSES, dtype=object)
    failing = causes.primary >= 0
    advices = {cause: "" if cause == "pass" else advice(cause) for cause in set(primary.tolist())}
    rows = {
        "passed": passed,
        "primary_cause": primary,
        "sub_cause": [explainer.sub_cause(code) if failing[code] else None for code in range(chain.n)],
        "causes": [names[row].tolist() for row in causes.holds],
        "confidence": causes.confidence,
        "evidence": [explainer.evidence(primary[c], c) if failing[c] else "" for c in range(chain.n)],
        "advice": [advices[cause] for cause in primary],
        "refusal_outcome": chain.outcome,
        "unchecked": unchecked(chain),
    }
    frame = pd.DataFrame(rows, index=chain.facts.evidence.ids)
    return frame.astype({"primary_cause": "str"})


def advice(cause: str) -> str:
    """What to try for a cause, in the language in force."""
    return text(f"causes.{cause}.advice")


class Explainer:
    """Evidence sentences of single samples, in the language in force."""

    def __init__(self, causes: Causes) -> None:
        self.causes = causes
        self.chain = causes.chain
        self.view: View = causes.chain.view
        self.facts = causes.chain.facts

    def evidence(self, cause: str, code: int) -> str:
        """The sentence that says why ``cause`` holds for the sample ``code``."""
        found = _EVIDENCE.get(cause, lambda explainer, sample: {})(self, code)
        variant = found.pop("variant", "evidence")
        return text(f"causes.{cause}.{variant}", **found) if found else text(f"causes.{cause}.{variant}")

    def all_evidence(self, code: int) -> dict[str, str]:
        """Every contributing cause of a sample with its evidence, in the order of the chain."""
        return {
            name: self.evidence(name, code)
            for name, holds in zip(CAUSES, self.causes.holds[code], strict=True)
            if holds
        }

    def sub_cause(self, code: int) -> str | None:
        """Sub-cause of the primary cause: from the autopsy of a retrieval miss, or the sign of a broken format."""
        primary = CAUSES[self.causes.primary[code]]
        if primary == "format":
            return self._plain("text_format")[code]
        if primary == "retrieval_miss":
            return self._sub_causes.get(code)
        return None

    @cached_property
    def _sub_causes(self) -> Mapping[int, str]:
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
        entries, names = self.chain.entries, self.facts.entries
        lost = names[names["entry"].isin(entries.loc[~entries["found"], "entry"])]
        return _grouped(lost["code"].tolist(), lost["doc_id"].tolist())

    @cached_property
    def bad_marks(self) -> dict[int, tuple[list[str], list[str]]]:
        """Citations of each sample that resolve to nothing, and those that do not support their sentence."""
        cited, (pair, _) = self.facts.citations, cited_support(self.view)
        frame = self.facts.evidence.claims
        marks = frame["text"].to_numpy(dtype=object)[(frame["side"] == "citation").to_numpy()]
        found: dict[int, tuple[list[str], list[str]]] = {}
        rows = zip(cited["code"].tolist(), cited["cited"].tolist(), pair.tolist(), marks.tolist(), strict=True)
        for code, target, supported, mark in rows:
            if target < 0 or supported == 0:
                found.setdefault(code, ([], []))[0 if target < 0 else 1].append(mark)
        return found

    @cached_property
    def relevancy(self) -> np.ndarray:
        """Answer relevancy of each sample."""
        return score(self.view, "answer_relevancy").values

    # -- pieces -----------------------------------------------------------------------------------------------------

    def _plain(self, name: str) -> np.ndarray:
        if name not in self._columns:
            self._columns[name] = self.facts.evidence.plain(name)
        return self._columns[name]

    @cached_property
    def _columns(self) -> dict[str, np.ndarray]:
        return {}

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
        view, chain = self.view, self.chain
        verdicts = view.answer_verdicts
        return {
            "contradicting": chain.contradicting_claims,
            "invented": serious(view) & (verdicts == NOT_MENTIONED),
            "unsupported": np.isin(verdicts, (NOT_MENTIONED, CONTRADICTED)),
            "held": np.isin(verdicts, (SUPPORTED, UNSURE)),
            "against_reference": (verdicts == SUPPORTED) & (view.answer_other == CONTRADICTED),
            "dropped_points": chain.unmade_points & (view.points.own_entail >= 0.5),
            "dropped_claims": chain.unmade_claims & (view.reference_verdicts == SUPPORTED),
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


Found = dict[str, object]


def _leak(e: Explainer, code: int) -> Found:
    mine = e.foreign.get(code)
    if not mine:
        return {"variant": "banned"}
    places = ", ".join(text(f"causes.place.{place}") for place in dict.fromkeys(place for _, place in mine))
    return {"docs": _listed(dict.fromkeys(doc for doc, _ in mine)), "places": places}


def _listed(names: Iterable[object], most: int = 3) -> str:
    shown = [str(name) for name in names]
    return ", ".join(shown[:most]) + (f" … ({len(shown)})" if len(shown) > most else "")


def _no_answer(e: Explainer, code: int) -> Found:
    error = e._plain("error")[code]
    return {"variant": "error", "error": str(error)[:QUOTE]} if error else {}


def _missing(e: Explainer, code: int) -> Found:
    lost = e.lost_documents.get(code)
    if not lost:
        return _unsupported(e, code)
    return {"docs": _listed(lost), "n": int(e.facts.n_contexts[code])}


def _unsupported(e: Explainer, code: int) -> Found:
    points, reference = e.view.points, e.view.reference
    rows = e.rows(points, code, e.masks["absent_points"])
    if len(rows):
        return {"variant": "point", "point": e.quote(points, rows[0])}
    rows = e.rows(reference, code, e.masks["absent_claims"])
    return {"variant": "point", "point": e.quote(reference, rows[0]) if len(rows) else "–"}


def _not_indexed(e: Explainer, code: int) -> Found:
    return {"docs": _listed(e.facts.evidence.nested("not_in_corpus")[code])}


def _split(e: Explainer, code: int) -> Found:
    rows = e.rows(e.view.points, code, e.chain.split_points)
    if len(rows):
        return {"point": e.quote(e.view.points, rows[0])}
    rows = e.rows(e.view.reference, code, e.chain.split_claims)
    return {"point": e.quote(e.view.reference, rows[0])}


def _distracted(e: Explainer, code: int) -> Found:
    rows = e.rows(e.view.answer, code, e.chain.misled_claims)
    return {"claim": e.quote(e.view.answer, rows[0]), **e.where(rows[0])}


def _contradiction(e: Explainer, code: int) -> Found:
    rows = e.rows(e.view.answer, code, e.masks["contradicting"])
    row = rows[np.argmax(e.view.answer.contradict[rows])]
    return {"claim": e.quote(e.view.answer, row), **e.where(row)}


def _hallucination(e: Explainer, code: int) -> Found:
    rows = e.rows(e.view.answer, code, e.masks["invented"])
    if not len(rows):
        rows = e.rows(e.view.answer, code, e.masks["unsupported"])
    row = rows[np.argmin(e.view.answer.entail[rows])]
    return {"claim": e.quote(e.view.answer, row), "n": len(rows)}


def _omission(e: Explainer, code: int) -> Found:
    points, reference = e.view.points, e.view.reference
    rows = e.rows(points, code, e.masks["dropped_points"])
    if len(rows):
        return {"point": e.quote(points, rows[0]), **e.place("point", rows[0])}
    rows = e.rows(reference, code, e.masks["dropped_claims"])
    return {"point": e.quote(reference, rows[0]), **e.place("reference", rows[0])}


def _faithful(e: Explainer, code: int) -> Found:
    answer = e.view.answer
    rows = e.rows(answer, code, e.masks["against_reference"])
    if not len(rows):
        rows = e.rows(answer, code, e.masks["held"])
    return {"claim": e.quote(answer, rows[0]), **e.where(rows[0])}


def _off_topic(e: Explainer, code: int) -> Found:
    return {"relevancy": f"{e.relevancy[code]:.2f}"}


def _citation(e: Explainer, code: int) -> Found:
    lost, bad = e.bad_marks.get(code, ([], []))
    if lost:
        return {"mark": str(lost[0])[:QUOTE]}
    return {"variant": "unsupported", "mark": str(bad[0])[:QUOTE]}


def _format(e: Explainer, code: int) -> Found:
    return {"sign": text(f"causes.sign.{e._plain('text_format')[code]}")}


def _unexplained(e: Explainer, code: int) -> Found:
    """The tests that the sample fails."""
    low = [
        f"{_title(name)} {values[code]:.2f} < {cut:.2f}"
        for name in (*LOW_FAILS, f"recall@{e.view.t.k}")
        for values, cut in [(score(e.view, name).values, e.view.t.low_cut(name))]
        if values[code] < cut
    ]
    wrong = [f"{_title('end_to_end_correct')} 0"] if score(e.view, "end_to_end_correct").values[code] == 0 else []
    return {"tests": listed([*wrong, *low]) or "–"}


def _title(metric: str) -> str:
    base, at, depth = metric.partition("@")
    return text(f"metrics.{base}.name") + at + depth


_EVIDENCE: dict[str, Callable[[Explainer, int], Found]] = {
    "permission_leak": _leak,
    "no_answer": _no_answer,
    "not_indexed": _not_indexed,
    "retrieval_miss": _missing,
    "split_evidence": _split,
    "distracted": _distracted,
    "contradiction": _contradiction,
    "hallucination": _hallucination,
    "omission": _omission,
    "faithful_but_wrong": _faithful,
    "off_topic": _off_topic,
    "bad_citation": _citation,
    "format": _format,
    "unexplained": _unexplained,
}
