"""Keeping a golden set, and samples that only recorded scores test."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from workbench.cli import main
from workbench.data.doctor import over_reach_cases
from workbench.diagnosis import golden
from workbench.diagnosis.series import Series, config_frame


@pytest.fixture(autouse=True)
def english():
    wb.set_language("en")
    yield
    wb.set_language(None)


CASES = pd.DataFrame(
    {
        "question": ["How do I reset my password?", "How do I reset my password", "发票在哪里下载？", "What is plan A?"],
        "case_type": ["fact", "fact", "policy", None],
    },
    index=pd.Index(["a", "b", "c", "d"], name="sample_id"),
)


def test_how_many_cases_are_missing_by_hand():
    found = golden.missing_cases(CASES).set_index("case_type")
    assert found.loc["", ["n", "needed", "missing"]].tolist() == [4, 471, 467], "(1.96 + 0.842)² · 0.15 / 0.05² = 470.9"
    assert found["n"].to_dict() == {"": 4, "fact": 2, "policy": 1}
    outcome = np.array([[1, 1, 1, 1], [0, 1, 1, 1]], dtype=float)
    series = Series(("r", "s"), CASES.index, outcome, config_frame([{}, {}]))
    assert golden.missing_cases(CASES, series=series).loc[0, "flipping"] == 0.25


def test_cases_that_never_tell_runs_apart():
    outcome = np.array([[1, 0, 1], [1, 1, np.nan], [1, 0, 1]], dtype=float)
    series = Series(("r", "s", "t"), pd.Index(["a", "b", "c"]), outcome, config_frame([{}, {}, {}]))
    assert golden.silent_cases(series).values.tolist() == [["a", 1.0, 3]], "c was in two runs only"


def test_near_duplicates_in_both_languages():
    more = pd.concat([CASES, pd.DataFrame({"question": ["发票在哪里下载"]}, index=["e"])])
    found = golden.near_duplicates(more)
    assert found[["sample_id", "other_id"]].values.tolist() == [["a", "b"], ["c", "e"]]


def test_new_kinds_of_requests_become_cases_in_the_layered_format(tmp_path):
    asked = ["How do I reset the password?", *["How many vacation days are there?"] * 5, "VPN 连不上怎么办？"]
    log = pd.DataFrame({"question": asked})
    found = golden.proposed_cases(log, CASES, n=2)
    assert found[["question", "n_requests"]].values.tolist() == [[asked[1], 5], [asked[-1], 1]]
    path = golden.export_cases(found, tmp_path / "cases.json")
    assert wb.load_samples(path).frame["question"].tolist() == found["question"].tolist()


@pytest.mark.parametrize(("language", "said"), [("en", "all cases: 4 cases"), ("zh", "全部用例：4 个用例")])
def test_the_command_says_what_the_set_lacks_and_writes_what_a_log_adds(tmp_path, capsys, language, said):
    cases, log, out = tmp_path / "cases.jsonl", tmp_path / "log.jsonl", tmp_path / "new.json"
    cases.write_text("\n".join(json.dumps({"id": i, "question": q}) for i, q in CASES["question"].items()), encoding="utf-8")
    asked = ["How many vacation days are there?"] * 3
    log.write_text("\n".join(json.dumps({"question": q, "latency_ms": 5}) for q in asked), encoding="utf-8")
    assert main(["golden", str(cases), "--log", str(log), "--out", str(out), "--language", language]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(said) and "467" in lines[0] and "  a = b: How do I reset my password?" in lines
    assert f"  3 × {asked[0]}" in lines and wb.load_samples(out).frame["question"].tolist() == [asked[0]]
    assert main(["golden", str(cases), "--out", str(out)]) == 2 and "--log" in capsys.readouterr().err


def test_over_reach_cases_ask_across_tenants(tmp_path):
    rows = [{"doc_id": f"{tenant}{at}", "text": "Secret terms.", "title": f"Page {at}", "tenant": tenant}
            for tenant in ("x", "y") for at in range(2)]  # fmt: skip
    corpus = wb.load_corpus([*rows, {"doc_id": "shared", "text": "Open.", "tenant": None}])
    found = over_reach_cases(corpus, 3)
    pairs = [(case["tenant"], case["must_not_retrieve"][0]) for case in found]
    assert pairs == [("y", "x0"), ("x", "y0"), ("y", "x1")]
    assert found[0]["question"] == "What does “Page 0” of x say?" and found[0]["expect_refusal"] is True
    loaded = wb.load_samples(golden.export_cases(found, tmp_path / "over.json")).frame
    assert loaded["must_not_retrieve"].tolist() == [["x0"], ["y0"], ["x1"]]
    samples = wb.load_samples([{"question": "Q?", "answer": "A."}])
    assert "no_over_reach_cases" in wb.check(samples, corpus)["check"].tolist()
    assert over_reach_cases(wb.load_corpus([{"doc_id": "a", "text": "b", "tenant": "x"}])) == []


LOG = [
    {"query": "How do I reset my password?", "precision@5": 0.2}, {"query": "How many seats?", "precision@5": 0.8},
    {"query": "Where is the invoice?", "precision@5": 0.0, "faithfulness": 0.9}, {"query": "Why?", "faithfulness": 0.5},
]  # fmt: skip


def test_recorded_scores_alone_say_what_fails_and_why():
    result = wb.evaluate(LOG, judge=None, progress=False)
    found = result.failures()
    assert found["primary_cause"].tolist() == ["retrieval_miss", "pass", "retrieval_miss", "hallucination"]
    assert found.loc["1", "evidence"] == "Nothing but recorded scores says so: precision@5 0.20 (low: 0.50)."
    assert found["confidence"].isna().all()
    strict = result.with_thresholds(result.thresholds.replace(low_score=0.9))
    assert strict.failures()["passed"].tolist() == [False, False, False, False]
    assert wb.query_types(result).shape[0] == 4 and len(wb.breakdown(result, "question_type", min_n=1))


def test_what_its_own_texts_test_is_not_tested_by_recorded_scores():
    rows = [{"question": "How many?", "answer": "It is 5.", "must_include": ["5"], "faithfulness": 0.0}]
    assert wb.evaluate(rows, judge=None, progress=False).failures()["passed"].tolist() == [True]


def test_requests_worth_a_look():
    rows = [{"query": f"Question number {at}?", "precision@5": value} for at, value in enumerate([0.0, 0.48, 0.9, 1.0, 0.55])]
    found = golden.worth_labelling(wb.evaluate(rows, judge=None, progress=False), 3)
    assert found["reason"].tolist() == ["failing", "near_threshold", "near_threshold"]
    assert found.index.tolist() == ["1", "2", "5"] and found.loc["5", "detail"] == "precision@5 0.55"


def test_names_of_the_tables_are_accepted(tmp_path, capsys):
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps({"question": "Q?", "answer": "5", "must_include": ["5"]}), encoding="utf-8")
    command = ["score", str(path), "--judge", "none", "--quiet", "--out", str(tmp_path / "out"), "--language", "en"]
    assert main([*command, "--metrics", "precision@k,key_point_coverage", "--k", "3"]) == 0
    assert list(wb.load_evaluation(tmp_path / "out").metrics) == ["precision@3", "key_point_coverage"]
