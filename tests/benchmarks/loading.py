"""Rows a second of loading 100,000 rows each of JSONL, CSV, Parquet and OTLP (one span a row), and 5,000 mutated recordings.

    python -m tests.benchmarks.loading
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import pandas as pd

from tests.data.test_tools import check_mutations, keyed
from workbench.data.load import load_samples

ROWS = 100_000


def write(folder: Path) -> dict[str, Path]:
    """The same rows in four formats: id, question, answer, two contexts with ids and scores, a latency."""
    rows = [{"id": f"q{n}", "question": f"How many units has plan {n}?", "answer": f"It has {n} units.",
             "contexts": [{"doc_id": f"d{n}", "text": f"Plan {n} has {n} units.", "score": 0.5},
                          {"doc_id": "x", "text": "Another plan has none.", "score": 0.25}], "latency_ms": 12.5}
            for n in range(ROWS)]  # fmt: skip
    files = {name: folder / f"rows.{name}" for name in ("jsonl", "csv", "parquet", "otlp")}
    files["jsonl"].write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    pd.DataFrame(rows).assign(contexts=[json.dumps(row["contexts"]) for row in rows]).to_csv(files["csv"], index=False)
    pd.DataFrame(rows).to_parquet(files["parquet"], index=False)
    spans = [{"traceId": row["id"], "spanId": "a", "startTimeUnixNano": str(10**18), "endTimeUnixNano": str(10**18 + 10**9),
              "attributes": keyed({"input.value": row["question"], "output.value": row["answer"],
                                   "retrieval.documents": json.dumps(row["contexts"])})} for row in rows]  # fmt: skip
    lines = ({"resourceSpans": [{"scopeSpans": [{"spans": spans[at : at + 1000]}]}]} for at in range(0, ROWS, 1000))
    files["otlp"].write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return files


def main() -> None:
    """Print rows a second by format, and how many mutated recordings were refused."""
    with tempfile.TemporaryDirectory() as folder:
        for name, path in write(Path(folder)).items():
            started = time.perf_counter(), time.process_time()
            samples = load_samples(path)
            wall, cpu = time.perf_counter() - started[0], time.process_time() - started[1]
            assert len(samples) == samples.n_read == ROWS and samples.frame["contexts"].str.len().eq(2).all()
            started_parsing = time.process_time()
            if name in ("jsonl", "otlp"):
                with path.open(encoding="utf-8") as lines:
                    for line in lines:
                        json.loads(line)
            alone = time.process_time() - started_parsing
            share = f"; json.loads alone {ROWS / alone:,.0f}" if alone > 0.01 else ""
            print(f"{name:8} {ROWS / wall:10,.0f} rows/s  ({ROWS / cpu:,.0f} a CPU second{share})")
    print(f"5,000 mutated recordings: {check_mutations(5000, seed=3)} refused with a line, none crashed")


if __name__ == "__main__":
    main()
