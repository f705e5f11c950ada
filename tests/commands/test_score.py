"""``score`` from the shell: what it writes, exit codes, killed and started again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from tests import shell
from tests.scripted import random_rows
from workbench.evaluation import load_evaluation
from workbench.evidence.cache import Cache
from workbench.evidence.run import COMMIT_EVERY, NAMESPACE

ROOT = Path(__file__).resolve().parents[2]


def command(*arguments: object, cache: Path) -> list[str]:
    return [sys.executable, "-m", "workbench", *map(str, arguments)]


def environment(cache: Path) -> dict[str, str]:
    return {**os.environ, "WORKBENCH_CACHE": str(cache), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def workbench(*arguments: object, cache: Path) -> subprocess.CompletedProcess:
    full = command(*arguments, cache=cache)
    return subprocess.run(full, env=environment(cache), capture_output=True, text=True, check=False)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in random_rows(40)), encoding="utf-8")
    return path


def test_score_writes_a_whole_evaluation(recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = workbench("score", recording, "--judge", "none", "--k", 3, "--out", out, cache=tmp_path / "cache")
    assert done.returncode == 0, done.stderr
    names = {"manifest.json", "thresholds.toml"} | {f"{n}.csv" for n in ("scores", "states", "failures", "summary", "errors")}
    names |= {f"{n}.parquet" for n in ("samples", "contexts", "claims", "support", "questions", "rejected")}
    assert names <= {path.name for path in out.iterdir()}
    scores = pd.read_csv(out / "scores.csv", index_col="sample_id")
    assert len(scores) == 40
    assert "recall@3" in scores
    again = shell.workbench("score", recording, "--judge", "none", "--out", out, WORKBENCH_CACHE=str(tmp_path / "cache"))
    assert again.returncode == 0, "scoring into a complete folder is fine"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["score", "absent.csv", "--out", "x"], "absent.csv"),
        (["score", "{run}", "--judge", "oracle", "--out", "x"], "oracle"),
        (["score", "{run}", "--judge", "none", "--metrics", "faithfullness", "--out", "x"], "faithfulness"),
        (["score", "{run}", "--out", "{folder}"], "holds other files"),
        (["nonsense"], "nonsense"),
        (["score", "{run}", "--k", "0", "--out", "x"], "--k"),
    ],
)
def test_bad_usage_is_exit_2_and_one_clear_line(recording: Path, tmp_path: Path, arguments: list[str], says: str) -> None:
    full = [a.format(run=recording, folder=tmp_path) for a in arguments]
    done = shell.workbench(*full, WORKBENCH_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_killed_and_started_again_repeats_nothing(tmp_path: Path) -> None:
    """kill -9 in the middle: what was committed is not judged again, and at most one batch was lost."""
    recording, cache, out = tmp_path / "run.jsonl", tmp_path / "cache", tmp_path / "out"
    rows = [{**row, "question": f"{row['question']} ({i})"} for i, row in enumerate(random_rows(600))]
    recording.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    arguments = ("score", recording, "--judge", "offline", "--encoder", "none", "--out", out)
    process = subprocess.Popen(command(*arguments, cache=cache), env=environment(cache), stdout=subprocess.DEVNULL)
    committed = 0
    deadline = time.monotonic() + 120
    while committed < COMMIT_EVERY and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
        committed = Cache(cache).count(NAMESPACE) if (cache / "cache.sqlite").exists() else 0
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not out.exists(), "no half-written evaluation under its name"
    committed = Cache(cache).count(NAMESPACE)
    assert 0 < committed < 600
    done = workbench(*arguments, cache=cache)
    assert done.returncode == 0, done.stderr
    asked, known = map(int, re.search(r"(\d+) samples judged now, (\d+) known", done.stdout).groups())
    assert (asked, known) == (600 - committed, committed)
    assert len(load_evaluation(out)) == 600
    third = shell.workbench(*arguments, WORKBENCH_CACHE=str(cache))
    assert "0 samples judged now, 600 known" in third.stdout
