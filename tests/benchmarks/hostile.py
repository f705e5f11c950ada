"""What texts made to fill time or memory cost, in CPU seconds and memory, and that they leave other samples alone.

    python tests/benchmarks/hostile.py [CHARACTERS] [--encoder none|auto] [--only FIELD]

One hostile sample stands among four good ones, at half of CHARACTERS (1,000,000) and at all of it: what grows as the text
takes twice as much. Each is scored in a process of its own. Not collected by pytest.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import pandas as pd

import workbench as wb
from tests.robustness.test_hostile_samples import GOOD, HOSTILE, hostile_sample

FIELDS = ("answer", "contexts", "question", "reference")


def run(name: str, field: str, size: int, encoder: str) -> None:
    """The child: score, compare, and print seconds and memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bad = hostile_sample(name, field, size)
    options: dict[str, Any] = {"encoder": encoder, "progress": False}
    with tempfile.TemporaryDirectory() as folder:
        alone = wb.evaluate(GOOD, cache_dir=Path(folder, "alone"), **options).scores()
        began = time.process_time()
        result = wb.evaluate([*GOOD[:2], bad, *GOOD[2:]], cache_dir=Path(folder, "all"), **options)
        seconds = time.process_time() - began
        pd.testing.assert_frame_equal(result.scores().loc[alone.index], alone[result.scores().columns], rtol=0, atol=1e-5)
    state = result.evidence.samples.loc["bad", "judge_state"]
    reasons = result.errors().query("sample_id == 'bad'")["reason"].tolist()
    assert state == "ok" or reasons
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(seconds, after / 1e6, before / 1e6, state, *reasons[:1], sep="\t")


def main() -> None:
    """Print a line for each kind of text and field."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("characters", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--encoder", default="none")
    parser.add_argument("--only", choices=FIELDS)
    parser.add_argument("--child", nargs=2)
    given = parser.parse_args()
    if given.child:
        run(*given.child, given.characters, given.encoder)
        return
    import subprocess

    for name in HOSTILE:
        for field in FIELDS if given.only is None else (given.only,):
            told = []
            for size in (given.characters // 2, given.characters):
                command = [sys.executable, __file__, str(size), "--encoder", given.encoder, "--child", name, field]
                done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
                failed = ["nan", "nan", "nan", done.stderr[-200:]]
                told.append(failed if done.returncode else done.stdout.strip().split("\t"))
            half, whole = told
            print(f"{name}, {field}: {float(half[0]):.1f} → {float(whole[0]):.1f} s, {float(half[1]):.2f} → "
                  f"{float(whole[1]):.2f} GB; {' '.join(whole[3:])}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
