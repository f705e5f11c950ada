"""CPU time and memory of ``evaluate_rankings`` beside pytrec_eval, ranx and one Arrow look-up of the document ids.

    python tests/benchmarks/ranking.py --peers ~/.cache/workbench-peers

makes an environment for each peer below that folder (once), writes the same seeded frames for all, runs each in a
process of its own and prints CPU seconds (user + system, best of 3), peak extra memory, and the largest difference from
our values over all queries. From frames to numbers a peer needs ``convert`` (its own structures from the frames) and
``evaluate``; we need ``evaluate``. ranx is compiled before it is timed. Without ``--peers`` only ours are printed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

DEPTH, JUDGED, CORPUS = 50, 10, 1_000_000
NAMES = {
    "ndcg@10": ("ndcg_cut_10", "ndcg@10"),
    "recall@10": ("recall_10", "recall@10"),
    "precision@5": ("P_5", "precision@5"),
    "reciprocal_rank": ("recip_rank", "mrr"),
    "average_precision": ("map", "map"),
}
"""Our name → (pytrec_eval's, ranx's)."""
PEERS = {"pytrec_eval": ["pytrec-eval-terrier", "pandas", "pyarrow"], "ranx": ["ranx", "pyarrow"]}


def make_frames(n_queries: int, folder: Path) -> None:
    """Seeded qrels and runs: of 10 judged documents 6 are among the 50 retrieved; no two scores are equal."""
    rng = np.random.default_rng(20)
    documents = (rng.integers(0, CORPUS, n_queries)[:, None] + np.arange(DEPTH + 4) * 7919) % CORPUS
    judged = np.argsort(rng.random((n_queries, DEPTH)), axis=1)[:, :JUDGED]
    judged[:, 6:] = np.arange(DEPTH, DEPTH + 4)  # four judged documents that were not retrieved
    pairs = np.take_along_axis(documents, judged, axis=1)
    queries = pd.Series(np.arange(n_queries)).astype("str").radd("query-")
    names = pd.Series(np.arange(CORPUS)).astype("str").radd("doc-")
    qrels = _frame(queries, names, pairs, "relevance", rng.integers(0, 4, pairs.size))
    # Whole numbers below 2**24: older tools keep scores as float32 and would see ties in random float64.
    scores = np.arange(DEPTH, 0, -1) * 1000.0 + rng.integers(0, 1000, (n_queries, DEPTH))
    run = _frame(queries, names, documents[:, :DEPTH], "score", scores.ravel())
    qrels.to_parquet(folder / "qrels.parquet")
    run.to_parquet(folder / "grouped.parquet")
    run.sample(frac=1, random_state=1).reset_index(drop=True).to_parquet(folder / "shuffled.parquet")


def _frame(
    queries: pd.Series, names: pd.Series, documents: np.ndarray, column: str, values: np.ndarray
) -> pd.DataFrame:
    ids = queries.take(np.repeat(np.arange(len(documents)), documents.shape[1])).array
    return pd.DataFrame({"query_id": ids, "doc_id": names.take(documents.ravel()).array, column: values})


def measure(work: Callable[[], Any], repeat: int = 3) -> tuple[float, float, Any]:
    """CPU seconds (best of ``repeat``), peak extra memory in MB (NaN where the system cannot tell), last result."""
    best, extra, result = np.inf, np.nan, None
    for _ in range(repeat):
        result = None
        before = _reset_peak()
        start = time.process_time()  # user + system, all threads
        result = work()
        best = min(best, time.process_time() - start)
        extra = _status("VmHWM") - before
    return best, extra, result


def _reset_peak() -> float:
    """Resident memory now; the kernel's high-water mark starts again from here."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return np.nan
    return _status("VmRSS")


def _status(name: str) -> float:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return np.nan
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def contest_workbench(qrels: pd.DataFrame, run: pd.DataFrame) -> dict[str, Any]:
    from workbench.scoring.ranking import evaluate_rankings

    seconds, extra, result = measure(lambda: evaluate_rankings(qrels, run, list(NAMES)))
    return {"evaluate": seconds, "extra_mb": extra, "values": result[["query_id", *NAMES]]}


def contest_index_in(qrels: pd.DataFrame, run: pd.DataFrame) -> dict[str, Any]:
    """The run's document ids looked up among the distinct ones of the qrels, found beforehand: the look-up alone."""
    import pyarrow as pa
    import pyarrow.compute as pc

    documents, judged = pa.Array.from_pandas(run["doc_id"]), pc.unique(pa.Array.from_pandas(qrels["doc_id"]))
    seconds, extra, _ = measure(lambda: pc.index_in(documents, value_set=judged))
    return {"evaluate": seconds, "extra_mb": extra}


def contest_pytrec_eval(qrels: pd.DataFrame, run: pd.DataFrame) -> dict[str, Any]:
    import pytrec_eval

    def convert() -> tuple[dict, dict]:
        return _nested(qrels, "relevance"), _nested(run, "score")

    converting, _, (judged, retrieved) = measure(convert)
    measures = {trec for trec, _ in NAMES.values()}

    def evaluate() -> dict:
        return pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(retrieved)

    seconds, extra, result = measure(evaluate)
    values = pd.DataFrame({ours: [row[trec] for row in result.values()] for ours, (trec, _) in NAMES.items()})
    return {
        "convert": converting, "evaluate": seconds, "extra_mb": extra,
        "values": values.assign(query_id=list(result)),
    }  # fmt: skip


def _nested(frame: pd.DataFrame, column: str) -> dict[str, dict[str, float]]:
    nested: dict[str, dict[str, float]] = {}
    for query, document, value in zip(
        frame["query_id"].tolist(), frame["doc_id"].tolist(), frame[column].tolist(), strict=True
    ):
        nested.setdefault(query, {})[document] = value
    return nested


def contest_ranx(qrels: pd.DataFrame, run: pd.DataFrame) -> dict[str, Any]:
    from ranx import Qrels, Run, evaluate

    metrics = [name for _, name in NAMES.values()]
    qrels, run = (frame.astype({"query_id": object, "doc_id": object}) for frame in (qrels, run))

    def read(judged: pd.DataFrame, retrieved: pd.DataFrame) -> tuple[Any, Any]:
        return (
            Qrels.from_df(judged, q_id_col="query_id", doc_id_col="doc_id", score_col="relevance"),
            Run.from_df(retrieved, q_id_col="query_id", doc_id_col="doc_id", score_col="score"),
        )

    few = set(qrels["query_id"].head(100))
    small = [frame[frame["query_id"].isin(few)] for frame in (qrels, run)]
    evaluate(*read(*small), metrics, make_comparable=True)  # compiles
    converting, _, (judged, retrieved) = measure(lambda: read(qrels, run))
    seconds, extra, result = measure(
        lambda: evaluate(judged, retrieved, metrics, return_mean=False, make_comparable=True)
    )
    values = pd.DataFrame({ours: result[name] for ours, (_, name) in NAMES.items()})
    values["query_id"] = list(judged.keys())
    return {"convert": converting, "evaluate": seconds, "extra_mb": extra, "values": values}


def contest(name: str, folder: Path, rows: str) -> None:
    """Run one contestant in this process; print its figures as JSON and leave its values beside the frames."""
    warnings.simplefilter("ignore")
    qrels, run = pd.read_parquet(folder / "qrels.parquet"), pd.read_parquet(folder / f"{rows}.parquet")
    figures = globals()[f"contest_{name}"](qrels, run)
    if "values" in figures:
        figures.pop("values").to_parquet(folder / f"{name}.{rows}.values.parquet")
    print(json.dumps(figures))


def peer_python(name: str, peers: Path) -> Path:
    """The interpreter of a peer's environment, which is made when it is not there."""
    python = peers / name / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        venv.create(peers / name, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PEERS[name]], check=True)
    return python


def run_contest(python: Path, name: str, folder: Path, rows: str) -> dict[str, float]:
    command = [str(python), __file__, "--contest", name, "--folder", str(folder), "--rows", rows]
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    if name in ("workbench", "index_in"):
        environment["PYTHONPATH"] = root
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def difference(name: str, folder: Path, rows: str) -> float:
    """Largest difference of any metric of any query between a peer and us."""
    ours, theirs = (
        pd.read_parquet(folder / f"{who}.{rows}.values.parquet").set_index("query_id").sort_index()
        for who in ("workbench", name)
    )
    theirs = theirs.set_index(theirs.index.astype("str")).loc[ours.index]
    return float(np.abs(ours[list(NAMES)].to_numpy() - theirs[list(NAMES)].to_numpy()).max())


def compare(n_queries: int, peers: Path | None) -> None:
    pythons = {"index_in": Path(sys.executable), "workbench": Path(sys.executable)}
    if peers is not None:
        pythons |= {name: peer_python(name, peers) for name in PEERS}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make_frames(n_queries, folder)
        for rows in ("grouped", "shuffled"):
            print(f"\n{n_queries:,} queries × {DEPTH}, {rows} rows")
            for name, python in pythons.items():
                figures = run_contest(python, name, folder, rows)
                if name in PEERS:
                    figures["difference"] = difference(name, folder, rows)
                print(f"  {name:12}", "  ".join(f"{key} {value:.3g}" for key, value in figures.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--peers", type=Path, help="folder for the peers' environments")
    parser.add_argument("--contest", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--rows", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contest:
        contest(options.contest, options.folder, options.rows)
        return
    for n_queries in options.queries:
        compare(n_queries, options.peers)


if __name__ == "__main__":
    main()
