"""A hand-made evaluation for tests of the view layer: small frames in both languages, no judge, no files."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from workbench.data.schema import SAMPLE_FIELDS, SampleSet
from workbench.diagnosis.causes import cause_names, rules
from workbench.evidence.collect import collect
from workbench.evidence.frames import Evidence
from workbench.scoring.thresholds import Thresholds

METRICS = (
    "recall@5",
    "faithfulness",
    "answer_correctness",
    "end_to_end_correct",
    "hallucination_rate",
    "forbidden_hits",
)

ZH = {
    "question": "企业版套餐支持多少并发会话？",
    "answer": "企业版支持并发会话。不限量使用。",
    "reference": "企业版最多支持 500 个并发会话。",
    "contexts": ["企业版包含单点登录。", "企业版最多支持 500 个并发会话，超出后排队。"],
    "points": ["500"], "forbidden": ["不限量"], "type": "fact", "tags": {"area": "pricing"},
}  # fmt: skip
EN = {
    "question": "How long are audit logs kept?",
    "answer": "Audit logs are kept for 90 days.",
    "reference": "Audit logs are kept for 90 days.",
    "contexts": ["Audit logs are kept for 90 days.", "Exports are limited to 10 MB."],
    "points": ["90 days"], "forbidden": [], "type": "policy", "tags": {"area": "security"},
}  # fmt: skip


def sample_frame(n: int) -> pd.DataFrame:
    """``n`` samples, by turns Chinese and failing, English and passing."""
    rows = []
    for i in range(n):
        base = ZH if i % 2 == 0 else EN
        contexts = [{"doc_id": f"doc-{i % 7}#{rank}", "text": text, "score": 0.9 - rank / 10}
                    for rank, text in enumerate(base["contexts"], start=1)]  # fmt: skip
        rows.append({
            "question": base["question"], "answer": base["answer"], "contexts": contexts,
            "reference": base["reference"],
            "expected_docs": [f"doc-{i % 7}#2" if i % 2 == 0 else f"doc-{i % 7}#1"], "must_include": base["points"],
            "must_not_include": base["forbidden"], "expect_refusal": None, "case_type": base["type"],
            "tags": base["tags"], "tenant": None,
        })  # fmt: skip
    index = pd.Index([f"s-{i:05d}" for i in range(n)], name="sample_id")
    return pd.DataFrame([{**dict.fromkeys(SAMPLE_FIELDS), **row} for row in rows], index=index, dtype=object)


@dataclass
class FakeEvaluation:
    """Answers like an ``Evaluation``; scores are fixed, verdicts and causes follow the thresholds."""

    n: int = 24
    path: Path | None = None
    thresholds: Thresholds = field(default_factory=Thresholds)
    name: str = "fake"
    frame: pd.DataFrame | None = None
    no_score: tuple[int, ...] = (3,)
    kept: dict[str, pd.DataFrame] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.frame = sample_frame(self.n) if self.frame is None else self.frame
        recorded = pd.DataFrame({"ragas_faithfulness": np.linspace(0, 1, self.n)}, index=self.frame.index)
        nothing = pd.DataFrame(columns=["row", "field", "reason", "excerpt"])
        self.samples = SampleSet(self.frame, nothing, nothing, self.n, recorded, self.name)
        self.manifest: dict[str, Any] = {"judge": "offline", "encoder": "embedded"}

    def with_thresholds(self, thresholds: Thresholds) -> FakeEvaluation:
        return FakeEvaluation(self.n, self.path, thresholds, self.name, self.frame, self.no_score, self.kept)

    @cached_property
    def evidence(self) -> Evidence:
        """The fields as recorded, and the key points; nobody judged."""
        found = collect(self.samples, None)
        return Evidence(found.samples, found.contexts, self.points(), found.support, found.questions, found.rejected,
                        self.manifest)  # fmt: skip

    @cached_property
    def causes(self) -> SimpleNamespace:
        full, known = self.failures(), cause_names()
        names = full["primary_cause"].to_numpy(dtype=object)
        holds = np.array([[name in own for name in known] for own in full["causes"]], dtype=bool).reshape(self.n, len(known))
        codes = np.array([{"pass": -1, "not_checked": -2}.get(name, 0) for name in names], dtype=int)
        return SimpleNamespace(names=lambda: names, primary=codes, confidence=full["confidence"].to_numpy(dtype=float),
                               holds=holds, rules=rules())  # fmt: skip

    def one(self, sample_id: str) -> One:
        return One(self, sample_id)

    def scores(self) -> pd.DataFrame:
        bad = np.arange(self.n) % 2 == 0
        spread = np.linspace(0, 0.49, self.n)
        values = {
            "recall@5": np.ones(self.n), "faithfulness": np.where(bad, spread, 1 - spread),
            "answer_correctness": np.where(bad, 0.4, 1.0), "end_to_end_correct": np.where(bad, 0.0, 1.0),
            "hallucination_rate": np.where(bad, 0.5, 0.0), "forbidden_hits": np.where(bad, 1.0, 0.0),
        }  # fmt: skip
        scores = pd.DataFrame(values, index=self.frame.index)
        scores.iloc[[i for i in self.no_score if i < self.n], 1] = np.nan
        return scores

    def states(self) -> pd.DataFrame:
        return self.scores().notna().replace({True: "ok", False: "undefined"}).astype(str)

    def failures(self) -> pd.DataFrame:
        scores = self.scores()
        failing = (scores["end_to_end_correct"] == 0) | (
            scores["faithfulness"] < self.thresholds.low_cut("faithfulness")
        )
        cause = np.where(scores["end_to_end_correct"] == 0, "omission", np.where(failing, "hallucination", "pass"))
        return pd.DataFrame({
            "sample_id": self.frame.index, "passed": ~failing.to_numpy(), "primary_cause": cause, "sub_cause": None,
            "causes": [[] if c == "pass" else [c, "contradiction"] if c == "omission" else [c] for c in cause],
            "confidence": 0.86, "evidence": np.where(failing, "the key point “500” stands in doc-0#2 (rank 2)", ""),
            "advice": np.where(failing, "ask the generator to use every cited fragment", ""),
            "refusal_outcome": "answered",
        }).set_index("sample_id")  # fmt: skip

    def summary(self, intervals: bool = True, spread: bool = False) -> pd.DataFrame:
        scores, states = self.scores(), self.states()
        rows = []
        for metric in scores:
            ok = int((states[metric] == "ok").sum())
            mean = scores[metric].mean()
            target = self.thresholds.targets.get(metric, np.nan)
            rows.append({
                "metric": metric, "mean": mean, "low": mean - 0.05, "high": mean + 0.05, "n_ok": ok,
                "n_not_applicable": 0,
                "n_undefined": self.n - ok, "n_error": 0, "n_skipped": 0, "n_total": self.n, "low_bound": mean,
                "high_bound": mean, "target": target, "attainable": 1.0,
                "meets_target": bool(mean >= target) if target == target else None, "method": "bootstrap", "level": "good",
            })  # fmt: skip
        return pd.DataFrame(rows).set_index("metric")

    def claims(self) -> pd.DataFrame:
        if "claims" not in self.kept:
            self.kept["claims"] = self._claims()
        return self.kept["claims"]

    def _claims(self) -> pd.DataFrame:
        rows = []
        for sample_id, row in self.frame.iterrows():
            at = 0
            for claim_id, (text, kind) in enumerate(self._sentences(row)):
                start = (row["answer"] or "").index(text, at)
                at = start + len(text)
                rows.append({
                    "sample_id": sample_id, "side": "answer", "claim_id": claim_id, "text": text, "start": start,
                    "end": at,
                    "verdict": kind, "support": 0.9 if kind == "supported" else 0.1,
                    "contradiction": 0.8 if kind == "contradicted" else 0.0, "best_doc_id": "doc-0#2",
                    "other_verdict": kind, "other_support": 0.5, "other_contradiction": 0.0,
                    "severity": None if kind == "supported" else "high", "state": "ok", "reason": "",
                })  # fmt: skip
        return pd.DataFrame(rows)

    @staticmethod
    def _sentences(row: pd.Series) -> list[tuple[str, str]]:
        if row["answer"] == ZH["answer"]:
            return [("企业版支持并发会话。", "supported"), ("不限量使用。", "contradicted")]
        return [(row["answer"], "supported")] if isinstance(row["answer"], str) else []

    def points(self) -> pd.DataFrame:
        """Key points and forbidden contents, as the evidence of an evaluation holds them."""
        rows = [
            {"sample_id": sample_id, "side": side, "claim_id": at, "start": (row["answer"] or "").find(text)}
            for sample_id, row in self.frame.iterrows()
            for side, field in (("point", "must_include"), ("forbidden", "must_not_include"))
            for at, text in enumerate(row[field] or [])
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=["sample_id", "side", "claim_id", "start"])

    def contexts(self) -> pd.DataFrame:
        if "contexts" not in self.kept:
            self.kept["contexts"] = self._contexts()
        return self.kept["contexts"]

    def _contexts(self) -> pd.DataFrame:
        rows = [
            {"sample_id": sample_id, "rank": rank, "doc_id": item.get("doc_id"), "relevance": 0.8, "similarity": 0.88,
             "expected": item.get("doc_id") in row["expected_docs"], "leaked": False, "used": rank == 2, "state": "ok"}
            for sample_id, row in self.frame.iterrows()
            for rank, item in enumerate(row["contexts"] or [], start=1)
        ]  # fmt: skip
        return pd.DataFrame(rows)

    def support(self) -> pd.DataFrame:
        if "support" not in self.kept:
            self.kept["support"] = self._support()
        return self.kept["support"]

    def _support(self) -> pd.DataFrame:
        rows = []
        for sample_id, row in self.frame.iterrows():
            for claim_id, (_, kind) in enumerate(self._sentences(row)):
                for rank, item in enumerate(row["contexts"] or [], start=1):
                    hit = rank == 2
                    rows.append({
                        "sample_id": sample_id, "side": "answer", "claim_id": claim_id, "rank": rank,
                        "entail": 0.9 if hit and kind == "supported" else 0.05,
                        "contradict": 0.8 if hit and kind == "contradicted" else 0.0, "span_start": 0,
                        "span_end": min(16, len(item["text"])), "state": "ok",
                    })  # fmt: skip
        return pd.DataFrame(rows)

    def spans(self) -> pd.DataFrame:
        if "spans" not in self.kept:
            self.kept["spans"] = self._spans()
        return self.kept["spans"]

    def _spans(self) -> pd.DataFrame:
        rows = [
            {"sample_id": sample_id, "side": "answer", "claim_id": 1, "start": 10, "end": 13, "text": "不限量",
             "kind": "term", "support": 0.1}
            for sample_id, row in self.frame.iterrows() if row["answer"] == ZH["answer"]
        ]  # fmt: skip
        columns = ["sample_id", "side", "claim_id", "start", "end", "text", "kind", "support"]
        return pd.DataFrame(rows, columns=columns)

    def errors(self) -> pd.DataFrame:
        return pd.DataFrame(columns=["sample_id", "state", "reason"])


class One:
    """One sample cut out of the evaluation: every frame with its rows alone."""

    def __init__(self, whole: FakeEvaluation, sample_id: str) -> None:
        self.whole, self.sample_id = whole, sample_id
        self.evidence = whole.evidence.one(int(whole.evidence.ids.get_loc(sample_id)))
        self.causes = SimpleNamespace(explanations=lambda at: dict.fromkeys(self.failures()["causes"].iloc[at], ""))

    def __getattr__(self, name: str) -> Any:
        def rows() -> pd.DataFrame:
            frame = getattr(self.whole, name)()
            ids = frame.index if frame.index.name == "sample_id" else frame["sample_id"]
            return frame[np.asarray(ids == self.sample_id)]

        return rows
