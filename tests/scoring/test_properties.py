"""Properties that hold for every metric: range, states that add up, order and names of ids that do not matter."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.scripted import ScriptedJudge, random_rows, random_script, sample_set
from workbench.evaluation import Evaluation
from workbench.evidence.collect import collect
from workbench.scoring.metrics import definitions
from workbench.scoring.thresholds import Thresholds

N = 60


def evaluation(rows: list[dict], cut: float = 0.5) -> Evaluation:
    # Evidence depends on the question alone, so that the same sample gets the same evidence wherever it stands.
    script = lambda sample: random_script(sum(map(ord, sample.question + (sample.answer or ""))))(sample)  # noqa: E731
    return Evaluation(collect(sample_set(rows), ScriptedJudge(script)), Thresholds(support=cut), metrics="all")


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    rows = random_rows(N)
    rows[3]["answer"], rows[4]["contexts"], rows[5]["reference"], rows[6]["expected_docs"] = None, None, None, []
    rows[7]["contexts"] = []
    return rows


@pytest.mark.parametrize("cut", [0.05, 0.5, 0.95])
def test_scores_stay_in_range_and_are_missing_exactly_where_the_state_says_so(rows: list[dict], cut: float) -> None:
    result = evaluation(rows, cut)
    scores, states = result.scores(), result.states()
    assert ((states == "ok") == scores.notna()).all().all()
    for name, metric in definitions(5).items():
        if name in scores:
            values = scores[name].dropna()
            assert ((values >= metric.low - 1e-9) & (values <= metric.high + 1e-9)).all(), name


def test_states_add_up(rows: list[dict]) -> None:
    summary = evaluation(rows).summary(intervals=False)
    parts = summary[["n_ok", "n_not_applicable", "n_undefined", "n_error", "n_skipped"]].sum(axis=1)
    assert (parts == summary["n_total"]).all()
    assert (summary["n_total"] == N).all()


def test_row_order_does_not_matter(rows: list[dict]) -> None:
    shuffled = [rows[i] for i in np.random.default_rng(1).permutation(N)]
    a, b = evaluation(rows), evaluation(shuffled)
    pd.testing.assert_frame_equal(a.scores(), b.scores().loc[a.scores().index])
    pd.testing.assert_frame_equal(a.failures(), b.failures().loc[a.failures().index])


def test_order_preserving_renaming_of_ids_does_not_matter(rows: list[dict]) -> None:
    def renamed(row: dict) -> dict:
        contexts = row["contexts"] and [{**c, "doc_id": "x" + c["doc_id"]} for c in row["contexts"]]
        return {**row, "sample_id": "z" + row["sample_id"], "contexts": contexts,
                "expected_docs": ["x" + d for d in row["expected_docs"]]}  # fmt: skip

    a, b = evaluation(rows), evaluation([renamed(row) for row in rows])
    np.testing.assert_array_equal(a.scores().to_numpy(), b.scores().to_numpy())
    assert a.failures()["primary_cause"].tolist() == b.failures()["primary_cause"].tolist()


def test_every_sample_passes_fails_or_was_not_checked(rows: list[dict]) -> None:
    failures = evaluation(rows).failures()
    assert len(failures) == N
    passing = failures["primary_cause"] == "pass"
    assert (failures.loc[passing, "causes"].map(len) == 0).all()
    assert all(cause in causes for cause, causes in zip(failures.loc[~passing, "primary_cause"],
                                                        failures.loc[~passing, "causes"], strict=True))  # fmt: skip


def test_a_saved_evaluation_opens_equal(rows: list[dict], tmp_path) -> None:
    from workbench.evaluation import load_evaluation

    before = evaluation(rows)
    before.save(tmp_path / "run")
    after = load_evaluation(tmp_path / "run")
    for table in ("scores", "states", "failures", "claims", "contexts", "support", "spans", "errors", "summary"):
        pd.testing.assert_frame_equal(getattr(before, table)(), getattr(after, table)(), check_dtype=False)


def test_folders_put_together_open_as_one(rows: list[dict], tmp_path) -> None:
    from workbench.evaluation import load_evaluation

    evaluation(rows[:30]).save(tmp_path / "a")
    evaluation(rows[30:]).save(tmp_path / "b")
    (tmp_path / "both").mkdir()
    for file in (tmp_path / "a").glob("*.parquet"):
        parts = [pd.read_parquet(tmp_path / name / file.name) for name in ("a", "b")]
        pd.concat(parts, ignore_index=True).to_parquet(tmp_path / "both" / file.name)
    whole, joined = evaluation(rows), load_evaluation(tmp_path / "both", metrics="all")
    pd.testing.assert_frame_equal(whole.scores(), joined.scores())
    assert whole.failures()["primary_cause"].tolist() == joined.failures()["primary_cause"].tolist()
