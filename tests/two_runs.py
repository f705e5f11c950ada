"""Two small runs of the same cases, with a judge that can be checked by hand."""

from __future__ import annotations

from typing import Any

import workbench as wb
from tests.scripted import ScriptedJudge, evidence, sample_set
from workbench.evidence.collect import collect

RIGHT, WRONG = "Plan A has 5 units.", "Plan A has 9 units."


def script(sample):
    """Supported and right when the answer has the reference's number, else contradicted."""
    right = (sample.answer or "") == RIGHT
    there = [0.6 * ("5 units" in context.text) for context in sample.contexts or ()]
    claim = {"text": sample.answer or "", "entail": there if right else [0.0] * len(there),
             "contradict": [0.0] * len(there) if right else there, "other": float(right),
             "other_contradict": float(not right), "kinds": ["number"]}  # fmt: skip
    reference = {"text": sample.reference, "entail": there, "other": float(right)}
    return evidence(sample, [claim] if sample.answer else [], [reference])


def case(name, answer=RIGHT, found=True, **fields):
    """One row: the expected document is among the contexts unless ``found`` is false."""
    contexts = [{"doc_id": "other", "text": "Plan B is blue.", "tenant": None}]
    contexts += [{"doc_id": "good", "text": "Plan A has 5 units.", "tenant": None}] if found else []
    return {"sample_id": name, "question": "How many units has plan A?", "answer": answer, "contexts": contexts,
            "reference": "5 units", "expected_docs": ["good"], "must_include": ["5"], "expect_refusal": False,
            **fields}  # fmt: skip


def run(rows, name="run", judge=script, **manifest):
    examined = collect(sample_set(rows), ScriptedJudge(judge))
    examined.manifest.update(judge="scripted", **manifest)
    return wb.Evaluation(examined, name=name)


def two_runs() -> tuple[Any, Any]:
    """Fixed a; broken b (retrieval) and c (answer); d still failing; e, f still passing; g and h without a partner."""
    before = [case("a", WRONG), case("b"), case("c"), case("d", WRONG), case("e"), case("f"), case("g")]
    after = [case("f"), case("a"), case("b", WRONG, found=False), case("c", WRONG), case("d", WRONG, found=False),
             case("e"), case("h")]  # fmt: skip
    return run(before, "before"), run(after, "after")
