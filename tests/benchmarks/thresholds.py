"""How long a step takes that moves every threshold and the depth k: new scores, states, causes and failures.

    python tests/benchmarks/thresholds.py [N ...]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks.comparison import tiled
from tests.scripted import ScriptedJudge, random_rows, random_script, sample_set
from workbench.evaluation import Evaluation
from workbench.evidence.collect import collect

#: Samples of synthetic evidence; larger sets repeat them under other ids.
BASE = 5_000


def measure(n: int) -> None:
    """Print the best of five steps that move every threshold and the depth, over ``n`` samples, in CPU seconds."""
    evidence = collect(sample_set(random_rows(min(n, BASE))), ScriptedJudge(random_script()))
    first = Evaluation(tiled(evidence, n // len(evidence)))
    first.scores(), first.states(), first.failures()
    times = []
    for step in range(1, 6):
        cut = 0.4 + 0.02 * step
        moved = first.thresholds.replace(support=cut, contradiction=cut, relevance=cut, refusal=cut, k=3 + step)
        began = time.process_time()
        under = first.with_thresholds(moved)
        under.scores(), under.states()
        scored = time.process_time()
        under.failures()
        times.append((time.process_time() - began, scored - began))
    both, scores = min(times)
    print(f"{len(first):>8,} samples: scores and states {scores:.3f} s, with causes and the table of failures {both:.3f} s")


if __name__ == "__main__":
    for size in [int(argument) for argument in sys.argv[1:]] or [10_000, 100_000]:
        measure(size)
