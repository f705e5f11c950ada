"""A judge that says what a test tells it to, and synthetic sets of any size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from workbench.data.schema import SAMPLE_FIELDS, Sample, SampleSet
from workbench.evidence.judge import Claim, SampleEvidence


class ScriptedJudge:
    """Yields the evidence made by ``script(sample)``, and counts what it was asked."""

    def __init__(self, script: Any, name: str = "scripted") -> None:
        self.name = name
        self.script = script
        self.asked: list[str] = []

    def examine(self, samples: Sequence[Sample]) -> Iterator[SampleEvidence]:
        for sample in samples:
            self.asked.append(sample.sample_id)
            yield self.script(sample)


def sample_set(rows: Sequence[Mapping[str, Any]], name: str = "test") -> SampleSet:
    """A sample set from plain rows, past the loader."""
    frame = pd.DataFrame({f: pd.Series([r.get(f) for r in rows], dtype=object) for f in SAMPLE_FIELDS})
    frame.index = pd.Index([str(r.get("sample_id", i)) for i, r in enumerate(rows)], name="sample_id", dtype="str")
    for extra in {k for r in rows for k in r} - {*SAMPLE_FIELDS, "sample_id"}:
        frame[extra] = [r.get(extra) for r in rows]
    empty = pd.DataFrame(columns=["row", "field", "reason", "excerpt"])
    return SampleSet(frame, empty, empty, len(rows), pd.DataFrame(index=frame.index), name=name)


def evidence(
    sample: Sample,
    answer: Sequence[Mapping[str, Any]] = (),
    reference: Sequence[Mapping[str, Any]] = (),
    relevance: Sequence[float] | None = None,
    **fields: Any,
) -> SampleEvidence:
    """Evidence from claims given as ``{text, entail: [per context], contradict: [per context], other, other_contradict}``."""
    contexts = len(sample.contexts or ())
    claims, entail, contradict = [], [], []
    for side, given in (("answer", answer), ("reference", reference)):
        for place, item in enumerate(given):
            claims.append(Claim(side, item.get("text", f"{side} {place}"), sentence=item.get("sentence", place),
                                other_entail=item.get("other", 0.0), other_contradict=item.get("other_contradict", 0.0),
                                kinds=tuple(item.get("kinds", ()))))  # fmt: skip
            entail.append(item.get("entail", [0.0] * contexts))
            contradict.append(item.get("contradict", [0.0] * contexts))
    shape = (len(claims), contexts)
    return SampleEvidence(
        sample_id=sample.sample_id, method="scripted", claims=claims,
        entail=np.array(entail, dtype=np.float32).reshape(shape),
        contradict=np.array(contradict, dtype=np.float32).reshape(shape),
        relevance=np.array(relevance if relevance is not None else [1.0] * contexts, dtype=np.float32),
        relevance_basis="reference" if sample.reference else "question",
        relevant_sentences=np.ones(contexts, dtype=np.float32), n_sentences=np.ones(contexts, dtype=np.float32),
        similarity=np.full(contexts, 0.5, dtype=np.float32),
        **{"relevancy": 0.9, "answer_similarity": 0.8, **fields},
    )  # fmt: skip


def random_script(seed: int = 0) -> Any:
    """A script of random evidence: 3 answer claims, 2 reference claims."""
    rng = np.random.default_rng(seed)

    def script(sample: Sample) -> SampleEvidence:
        contexts = len(sample.contexts or ())

        def claim() -> dict[str, Any]:
            return {"entail": rng.random(contexts) ** 0.5, "contradict": rng.random(contexts) ** 6, "other": rng.random(),
                    "other_contradict": rng.random() ** 5, "kinds": rng.choice(["number", "entity", ""], 1)}  # fmt: skip

        return evidence(sample, [claim() for _ in range(3)], [claim() for _ in range(2)], rng.random(contexts),
                        relevancy=float(rng.random()))  # fmt: skip

    return script


def random_rows(n: int, contexts: int = 5, seed: int = 0) -> list[dict[str, Any]]:
    """Rows with contexts, expected documents, key points, citations, tenants; every answer short."""
    rng = np.random.default_rng(seed)
    return [
        {
            "sample_id": f"s{i:06d}",
            "question": f"How many units does plan {i % 97} have?",
            "answer": f"Plan {i % 97} has {int(rng.integers(1, 9))} units. [1]",
            "contexts": [{"doc_id": f"d{(i + j) % 500}", "text": f"Plan {i % 97} has {j} units.", "tenant": "a"}
                         for j in range(contexts)],
            "reference": f"{i % 9} units",
            "expected_docs": [f"d{(i + int(rng.integers(0, 8))) % 500}"],
            "must_include": [str(i % 9)],
            "expect_refusal": False,
            "tenant": "a" if i % 50 else "b",
            "case_type": ["fact", "policy"][i % 2],
        }
        for i in range(n)
    ]  # fmt: skip
