"""How long 100,000 samples take to compare: flips, ledger and all tests.

Run by hand: ``python tests/benchmarks/comparison.py [samples]``. Not collected by pytest.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from scripted import ScriptedJudge, random_rows, random_script, sample_set  # noqa: E402

import workbench as wb  # noqa: E402
from workbench.evidence.collect import collect  # noqa: E402
from workbench.evidence.frames import Evidence  # noqa: E402


def tiled(evidence: Evidence, times: int) -> Evidence:
    """The same evidence ``times`` over, under new ids."""
    frames = {}
    for name in ("contexts", "claims", "support", "questions"):
        frame = getattr(evidence, name)
        codes = frame["sample_id"].cat.codes.to_numpy().astype(np.int64)
        names = frame["sample_id"].cat.categories
        ids = pd.Categorical.from_codes(
            np.concatenate([codes + i * len(names) for i in range(times)]),
            [f"{item}-{i}" for i in range(times) for item in names],
        )
        frames[name] = pd.concat([frame] * times, ignore_index=True).assign(sample_id=ids)
    samples = pd.concat([evidence.samples] * times)
    samples.index = pd.Index([f"{x}-{i}" for i in range(times) for x in evidence.samples.index], name="sample_id")
    return Evidence(samples=samples, rejected=evidence.rejected, manifest=dict(evidence.manifest), **frames)


def main(n: int) -> None:
    runs = []
    base = 2000
    for seed in (1, 2):
        small = collect(sample_set(random_rows(base, seed=seed)), ScriptedJudge(random_script(seed)))
        runs.append(wb.Evaluation(tiled(small, n // base), name=f"run {seed}"))
    for run in runs:
        start = time.perf_counter()
        run.scores(), run.causes
        print(f"scores and causes of {len(run):,} samples, a part of opening it: {time.perf_counter() - start:.2f} s")
    start = time.perf_counter()
    comparison = wb.compare(*runs)
    for name in ("flips", "ledger", "tests"):
        before = time.perf_counter()
        getattr(comparison, name)()
        print(f"{name}: {time.perf_counter() - before:.2f} s")
    print(f"compared in {time.perf_counter() - start:.2f} s; {comparison.counts}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
