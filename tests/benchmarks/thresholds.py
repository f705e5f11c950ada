"""How long a threshold change takes: new scores, states and causes over synthetic evidence of 10k and 100k samples.

    python tests/benchmarks/thresholds.py [N ...]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.scripted import ScriptedJudge, random_rows, random_script, sample_set
from workbench.evaluation import Evaluation
from workbench.evidence.collect import collect


def measure(n: int) -> None:
    """Print the best of five threshold changes over ``n`` samples."""
    evidence = collect(sample_set(random_rows(n)), ScriptedJudge(random_script()))
    first = Evaluation(evidence)
    first.scores(), first.states(), first.causes.names()
    times = []
    for cut in (0.4, 0.45, 0.55, 0.6, 0.65):
        began = time.perf_counter()
        moved = first.with_thresholds(first.thresholds.replace(support=cut))
        moved.scores(), moved.states(), moved.causes.names()
        times.append(time.perf_counter() - began)
    began = time.perf_counter()
    moved.failures()
    taken = time.perf_counter() - began
    print(f"{n:>8,} samples: threshold change {min(times) * 1000:.0f} ms, table of failures {taken:.2f} s")


if __name__ == "__main__":
    for size in [int(argument) for argument in sys.argv[1:]] or [10_000, 100_000]:
        measure(size)
