"""Make the sample data from the pages in ``source/`` and the plan in ``plan/``.

Run ``python sample_data/support/build.py`` from anywhere; the files beside this script are rewritten and come
out the same, byte for byte, each time. Only the standard library is used, and nothing of the package that the
data is meant to show: a fault is planted by what is done to the recording (a document taken out of the
contexts, an older text put into one, another answer recorded), never by what our own code would measure.

The steps, each in a module of ``making/``: pages to chunks, chunks to a small lexical retriever, cases, two
recorded runs with their labels, verdicts of two annotators, a query log, and the same cases in other layouts.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from making import cases, exports, log, pages, runs, verdicts
from making.files import write_csv, write_json, write_jsonl

HERE = Path(__file__).resolve().parent
LOGGER = logging.getLogger("sample_data")


def build(source: Path, target: Path) -> dict[str, int]:
    """Write every file of the sample data below ``target``; return the number of records in each."""
    chunks = pages.read_chunks(source / "source")
    corpus = [chunk for chunk in chunks if chunk["doc_id"] not in pages.unindexed(source / "source")]
    plan = cases.read_plan(source / "plan")
    listed = cases.case_rows(plan)
    recorded = {name: runs.record(name, plan, listed, corpus, chunks) for name in runs.RUNS}
    tables = {
        "corpus.jsonl": corpus,
        "cases.jsonl": listed,
        "ragas/baseline.jsonl": exports.ragas_new(recorded["baseline"]),
        "ragas/improved.jsonl": exports.ragas_old(recorded["improved"]),
        "query_log.jsonl": log.requests(plan, recorded),
    }
    tables |= {f"runs/{name}.jsonl": rows for name, rows in recorded.items()}
    for name, rows in tables.items():
        write_jsonl(target / name, rows)
    labels = runs.labels(plan)
    judged = verdicts.rows(source / "plan" / "verdicts.toml", labels)
    write_csv(target / "labels.csv", labels)
    write_csv(target / "verdicts.csv", judged)
    layered = exports.layered(listed)
    write_json(target / "cases_layered.json", layered)
    counts = {name: len(rows) for name, rows in tables.items()}
    counts["cases_layered.json"] = len(layered["cases"])
    return counts | {"labels.csv": len(labels), "verdicts.csv": len(judged)}


def main() -> None:
    """Build in place, or below another folder with ``--out``."""
    parser = argparse.ArgumentParser(description="Make the sample data from its hand-written sources.")
    parser.add_argument("--out", type=Path, default=HERE, help="folder to write to (default: beside this script)")
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    counts = build(HERE, parser.parse_args().out)
    LOGGER.info(", ".join(f"{name}: {count}" for name, count in counts.items()))


if __name__ == "__main__":
    main()
