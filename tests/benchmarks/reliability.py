"""How often a cause is right that was given with some confidence: injected faults over the sample data and XQuAD.

``python tests/benchmarks/reliability.py FOLDER [SEEDS [N]]`` puts ``N`` faults of each cause and language into answers that
pass (``FOLDER`` holds ``xquad/``) and prints, by cause given and by confidence, how many were given it and how many have it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import pandas as pd

import workbench as wb
from tests.diagnosis import faults

#: Edges of the bins of confidence; 1 is a bin of its own.
EDGES = [0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]


def collected(folder: Path, seed: int, n: int) -> pd.DataFrame:
    """One row an injected fault: ``language, true, given, confidence`` and whether the true cause is among those given."""
    bases = faults.sample_bases()
    for lang in ("en", "zh"):
        bases += faults.xquad_bases(folder / "xquad", lang, 60, seed)
    corpus = wb.load_corpus(faults.corpus_of(bases))
    items = []
    for lang in ("en", "zh"):
        mine = [base for base in bases if faults.language(base["question"]) == lang]
        items += [(cause, {**row, "sample_id": f"{lang}-{row['sample_id']}"}, lang)
                  for cause, row in faults.injected(mine, n, seed)]  # fmt: skip
    with tempfile.TemporaryDirectory() as cache:
        found = wb.evaluate([row for _, row, _ in items], corpus=corpus, cache_dir=cache, progress=False).failures()
    found = found.loc[[row["sample_id"] for _, row, _ in items]]
    true = [cause for cause, _, _ in items]
    return pd.DataFrame({
        "language": [lang for *_, lang in items], "true": true, "given": found["primary_cause"].to_numpy(),
        "confidence": found["confidence"].to_numpy(), "among": [t in c for t, c in zip(true, found["causes"], strict=True)],
    })  # fmt: skip


def main(folder: str, seeds: str = "0", n: str = "12") -> None:
    """Print the tables."""
    frame = pd.concat([collected(Path(folder), int(seed), int(n)) for seed in seeds.split(",")])
    frame["right"] = frame["true"] == frame["given"]
    print(frame.groupby(["true", "language"])["right"].agg(["size", "mean"]).unstack().round(2).to_string())
    given = frame[frame["confidence"].notna()]
    by_cause = given.groupby("given").agg(n=("right", "size"), confidence=("confidence", "mean"), right=("right", "mean"))
    print(by_cause.round(3).to_string())
    doubted = given[given["confidence"] < 1]
    bins = pd.cut(doubted["confidence"], EDGES, right=False)
    table = doubted.groupby(bins, observed=True).agg(
        n=("right", "size"), confidence=("confidence", "mean"), right=("right", "mean")
    )
    exact = given[given["confidence"] >= 1]
    print(table.round(2).to_string(), f"\n1: n {len(exact)} right {exact['right'].mean():.3f}")
    gap = np.abs(table["confidence"] - table["right"]) @ table["n"] / max(table["n"].sum(), 1)
    print(f"mean gap {gap:.3f}; unexplained {(frame['given'] == 'unexplained').mean():.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
