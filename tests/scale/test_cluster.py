"""The same examination over a local Dask cluster: equal to doing it here, resumable, and proof against a killed worker."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pandas as pd
import pytest

import workbench as wb
from tests.scripted import random_rows
from workbench.evaluation import load_evaluation
from workbench.scale import open_cluster_run, score_on_cluster

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    rows = random_rows(60)
    paths = [tmp_path / f"part{i}.jsonl" for i in range(3)]
    for i, path in enumerate(paths):
        path.write_text("\n".join(json.dumps(row) for row in rows[i * 20 : i * 20 + 20]), encoding="utf-8")
    return paths


def test_each_part_equals_evaluating_it_here(client, files, tmp_path) -> None:
    run = score_on_cluster(files, tmp_path / "out", client, judge=None)
    for path, part in zip(files, run.parts, strict=True):
        here = wb.evaluate(wb.load_samples(path), judge=None, progress=False)
        there = load_evaluation(part)
        pd.testing.assert_frame_equal(here.scores(), there.scores())
        assert here.failures()["primary_cause"].tolist() == there.failures()["primary_cause"].tolist()


def test_the_summary_is_that_of_all_samples_together(client, files, tmp_path) -> None:
    run = score_on_cluster(files, tmp_path / "out", client, judge=None)
    rows = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    whole = wb.evaluate(rows, judge=None, progress=False).summary()
    pd.testing.assert_frame_equal(whole, run.summary())


def test_a_result_is_opened_by_parts(client, files, tmp_path) -> None:
    score_on_cluster(files, tmp_path / "out", client, judge=None)
    run = open_cluster_run(tmp_path / "out")
    rows = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    whole = wb.evaluate(rows, judge=None, progress=False).failures()
    found = run.failures()
    assert found["part"].tolist() == [0] * 20 + [1] * 20 + [2] * 20 and [len(part) for part in run] == [20, 20, 20]
    assert found["primary_cause"].tolist() == whole["primary_cause"].tolist()
    assert found["confidence"].tolist() == pytest.approx(whole["confidence"].tolist(), nan_ok=True)
    last = str(whole.index[-1])
    assert run.one(last).failures()["primary_cause"].tolist() == whole["primary_cause"].iloc[-1:].tolist()
    with pytest.raises(KeyError):
        run.one("nobody")
    with pytest.raises(wb.InputError, match="no parts"):
        open_cluster_run(tmp_path)


def test_slices_of_all_parts_are_those_of_one_evaluation(tmp_path) -> None:
    rows = [
        {"sample_id": str(at), "question": f"How many days has month {at}?", "must_include": ["5 days"],
         "answer": "It has 7 days." if at % 4 == 0 and at % 8 else "It has 5 days.", "tags": {"team": "ab"[at % 4 == 0]}}
        for at in range(240)
    ]  # fmt: skip
    places = [rows[start : start + 80] for start in range(0, 240, 80)]
    parts = [wb.evaluate(some, judge=None, progress=False).save(tmp_path / f"{at}-part") for at, some in enumerate(places)]
    whole = wb.worst_slices(wb.evaluate(rows, judge=None, progress=False))
    found = open_cluster_run(tmp_path).slices()
    assert open_cluster_run(tmp_path).parts == tuple(parts)
    assert whole["rule"].tolist() and whole["n_failing"].iloc[0] == 30
    pd.testing.assert_frame_equal(found, whole)


@pytest.mark.parametrize("cut", ["the same files", "other files"])
def test_two_runs_are_compared_part_by_part(cut: str, client, files, tmp_path) -> None:
    rows = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    changed = [row | ({"answer": "It is 5."} if at % 3 == 0 else {}) for at, row in enumerate(rows)]
    paths, size = [], 20 if cut == "the same files" else 24
    for part in range(0, 60, size):
        paths.append(tmp_path / f"after{part}.jsonl")
        paths[-1].write_text("\n".join(json.dumps(row) for row in changed[part : part + size]), encoding="utf-8")
    before = score_on_cluster(files, tmp_path / "before", client, judge=None)
    after = score_on_cluster(paths, tmp_path / "after", client, judge=None)
    whole = wb.compare(*(wb.evaluate(some, judge=None, progress=False) for some in (rows, changed))).flips()
    found = after.compare(before)
    assert found["sample_id"].tolist() == [row["sample_id"] for row in changed]
    pd.testing.assert_frame_equal(found, whole, check_dtype=False)


def test_runs_of_other_cases_cannot_be_compared(client, files, tmp_path) -> None:
    before = score_on_cluster(files[:1], tmp_path / "before", client, judge=None)
    after = score_on_cluster(files[1:2], tmp_path / "after", client, judge=None)
    with pytest.raises(wb.InputError, match="no sample in common"):
        after.compare(before)


def test_a_complete_part_is_not_computed_again(client, files, tmp_path) -> None:
    out = tmp_path / "out"
    run = score_on_cluster(files, out, client, judge=None)
    stamps = [os.stat(part / "samples.parquet").st_mtime_ns for part in run.parts]
    again = score_on_cluster(files, out, client, judge=None)
    assert [os.stat(part / "samples.parquet").st_mtime_ns for part in again.parts] == stamps


def test_a_killed_worker_loses_nothing(client, files, tmp_path) -> None:
    def die_once(mark: str) -> None:
        if not os.path.exists(mark):
            Path(mark).touch()
            os._exit(9)

    killer = client.submit(die_once, str(tmp_path / "killed"), pure=False, retries=3)
    run = score_on_cluster(files, tmp_path / "out", client, judge=None)
    killer.result()
    assert (tmp_path / "killed").exists()
    assert [len(load_evaluation(part)) for part in run.parts] == [20, 20, 20]


def test_a_file_that_cannot_be_used_is_named(client, tmp_path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("no samples here", encoding="utf-8")
    with pytest.raises(wb.InputError, match=r"bad\.jsonl"):
        score_on_cluster([bad], tmp_path / "out", client, judge=None)
