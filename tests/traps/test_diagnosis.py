"""Traps of diagnosis and statistics that no other test shows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.two_runs import WRONG, case, run
from workbench.evidence.encoders.resolve import percentile


def test_a_similarity_is_read_against_random_pairs_and_not_against_one_half() -> None:
    """A model whose random pairs lie near 0.8: 0.75 is far, though above every fixed cut of 0.5."""
    background = np.linspace(0.78, 0.86, 101)
    assert percentile(0.75, background) == 0
    assert percentile(0.9, background) == 100


def test_a_document_that_was_retrieved_is_never_listed_as_missed() -> None:
    corpus = wb.load_corpus([{"doc_id": d, "text": f"plan {d} has units"} for d in ("good", "other", "third")])
    found = wb.missed_documents(run([case("a"), case("b", found=False)]), corpus, encoder="none")
    assert found[["sample_id", "doc_id"]].to_numpy().tolist() == [["b", "good"]]
    assert found["n_documents"].tolist() == [3]
    assert 1 <= found["bm25_rank"].iloc[0] <= 3


def test_13_and_15_cases_prove_nothing_and_the_smallest_visible_change_is_printed() -> None:
    """8 of 13 and 13 of 15 pass: only the 13 cases that both have are compared."""
    before = run([case(f"s{i}", *([] if i < 8 else [WRONG])) for i in range(13)], "before")
    after = run([case(f"s{i}", *([] if i < 11 or i > 12 else [WRONG])) for i in range(15)], "after")
    comparison = wb.compare(before, after)
    tests = comparison.tests()
    assert tests["n_pairs"].max() == 13
    row = tests.set_index("metric").loc["end_to_end_correct"]
    assert row["delta"] == pytest.approx(3 / 13)
    assert row["p_value"] > 0.05 and row["p_adjusted"] >= row["p_value"]
    assert row["low"] <= 0.01 and row["smallest_detectable"] > 0.2
    assert sorted(comparison.only_after) == ["s13", "s14"]


def test_the_same_answers_never_count_as_changed() -> None:
    a, b = run([case("a"), case("b", WRONG)]), run([case("b", WRONG), case("a")])
    comparison = wb.compare(a, b)
    assert set(comparison.flips()["change"]) == {"still_passing", "still_failing"}
    tests = comparison.tests()
    assert (tests[["delta", "low", "high"]].fillna(0) == 0).all(axis=None)
    assert ((tests["p_value"] == 1) | tests["p_value"].isna()).all()


def test_a_slice_that_chance_alone_makes_is_not_shown_as_found() -> None:
    """Many conditions are tried: the corrected value stays above the uncorrected one."""
    rows = [
        case(f"s{i:02d}", *([WRONG] if i % 3 == 0 else []), case_type="ab"[i % 2], tags={"t": str(i % 5)})
        for i in range(40)
    ]
    slices = wb.worst_slices(run(rows))
    assert {"rule", "n", "n_failing", "rate", "lift", "p_value", "q_value"} <= set(slices.columns)
    assert (slices["q_value"] >= slices["p_value"]).all()


def test_results_are_saved_as_numbers_and_whole(tmp_path) -> None:
    long = "Plan A has 9 units. " * 400
    evaluation = run([case(f"s{i}", long) for i in range(30)])
    evaluation.save(tmp_path / "run")
    samples = pd.read_parquet(tmp_path / "run" / "samples.parquet")
    assert (samples["answer"] == long).all() and len(samples) == 30
    scores = pd.read_csv(tmp_path / "run" / "scores.csv", index_col="sample_id")
    assert len(scores) == 30 and all(pd.api.types.is_numeric_dtype(kind) for kind in scores.dtypes)
    assert len(pd.read_csv(tmp_path / "run" / "failures.csv")) == 30
    assert (tmp_path / "run" / "manifest.json").is_file()
