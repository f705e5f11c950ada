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
from workbench.scale import score_on_cluster

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


def test_the_folder_opens_as_one_evaluation(client, files, tmp_path) -> None:
    run = score_on_cluster(files, tmp_path / "out", client, judge=None)
    opened = wb.open(tmp_path / "out", progress=False)
    assert opened.parts == run.parts and len(opened) == 60 and opened.name == "out"
    pd.testing.assert_frame_equal(opened.scores(), run.scores())
    assert opened.one("s000045").failures()["primary_cause"].tolist() == run.failures()["primary_cause"][45:46].tolist()


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
