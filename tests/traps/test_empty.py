"""Traps of what is empty, missing or undefined."""

from __future__ import annotations

import ast
import math
from pathlib import Path

import pandas as pd

from tests.scoring.test_metrics import SUPPORTED, scored
from tests.scripted import ScriptedJudge, evidence, sample_set
from workbench.evaluation import Evaluation
from workbench.evidence.collect import collect
from workbench.evidence.judge import failed

PACKAGE = Path(__file__).resolve().parents[2] / "workbench"
ROW = {"question": "q", "answer": "a b c", "contexts": [{"doc_id": "d", "text": "t"}], "reference": "r"}


def test_no_claims_is_neither_1_nor_0() -> None:
    scores, states = scored({}, answer=[])
    for name in ("faithfulness", "hallucination_rate", "citation_recall", "noise_sensitivity"):
        assert states[name] == "undefined", name
        assert math.isnan(scores[name]), name


def test_no_reference_is_no_zero() -> None:
    scores, states = scored({"reference": None}, answer=[SUPPORTED])
    for name in ("answer_correctness", "answer_similarity", "context_recall", "context_utilization"):
        assert (states[name], math.isnan(scores[name])) == ("not_applicable", True), name


def test_questions_with_nothing_to_retrieve_do_not_pull_the_mean_down() -> None:
    rows = [{**ROW, "expected_docs": ["d"]}, {**ROW, "sample_id": "r", "question": "secret?", "expected_docs": []}]
    row = Evaluation(collect(sample_set(rows), None)).summary().loc["recall@5"]
    assert (row["mean"], row["n_ok"], row["n_not_applicable"]) == (1, 1, 1)


def test_an_unjudged_sample_is_neither_healthy_nor_low() -> None:
    judge = ScriptedJudge(lambda sample: failed(sample.sample_id, "no reply"))
    row = {key: value for key, value in ROW.items() if key != "reference"}
    failures = Evaluation(collect(sample_set([row]), judge)).failures().iloc[0]
    assert failures["passed"] is None
    assert failures["primary_cause"] == "not_checked"


def test_a_failed_sample_stays_in_every_denominator() -> None:
    rows = [{**ROW, "sample_id": name, "question": name} for name in "ab"]
    script = lambda s: failed(s.sample_id, "x") if s.sample_id == "b" else evidence(s, [SUPPORTED_ONE])  # noqa: E731
    summary = Evaluation(collect(sample_set(rows), ScriptedJudge(script))).summary()
    assert (summary["n_total"] == 2).all()
    row = summary.loc["faithfulness"]
    assert (row["mean"], row["n_ok"], row["n_error"]) == (1, 1, 1)
    assert (row["low_bound"], row["high_bound"]) == (0.5, 1)


SUPPORTED_ONE = {"entail": [0.9]}


def test_an_empty_set_has_no_numbers() -> None:
    summary = Evaluation(collect(sample_set([]), None)).summary()
    assert (summary["n_total"] == 0).all()
    assert summary[["mean", "low", "high", "low_bound", "high_bound"]].isna().all(axis=None)
    assert summary["meets_target"].isna().all()


def test_missing_scores_are_empty_cells_and_no_zeros(tmp_path: Path) -> None:
    rows = [{**ROW, "reference": None}]
    Evaluation(collect(sample_set(rows), None)).save(tmp_path / "run")
    saved = pd.read_csv(tmp_path / "run" / "scores.csv", keep_default_na=False, dtype=str)
    assert saved.loc[0, "faithfulness"] == ""
    states = pd.read_csv(tmp_path / "run" / "states.csv")
    assert states.loc[0, "faithfulness"] == "skipped"


def test_no_handler_takes_every_error_and_says_nothing() -> None:
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        handlers = [
            n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.ExceptHandler)
        ]
        for node in handlers:
            broad = node.type is None or ast.unparse(node.type) in ("Exception", "BaseException")
            silent = all(isinstance(step, ast.Pass | ast.Continue) for step in node.body)
            wrong += [f"{path.name}:{node.lineno}"] if node.type is None or (broad and silent) else []
    assert wrong == []
