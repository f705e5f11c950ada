"""What large sets cost, in processor seconds and memory: a saved evaluation opened and looked through, two compared, and a
set that no process holds scored over a cluster while a worker is killed.

    python tests/benchmarks/scale.py views [SAMPLES]
    python tests/benchmarks/scale.py cluster [SAMPLES] [SAMPLES A FILE]

Samples are made up; ``views`` repeats 2,000 of them under other ids. The cluster scores without a judge: what is measured
is the way around it. Not collected by pytest.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "benchmarks")]

from comparison import tiled  # noqa: E402
from scripted import ScriptedJudge, random_rows, random_script, sample_set  # noqa: E402

import workbench as wb  # noqa: E402
from workbench.evidence.collect import collect  # noqa: E402

BASE = 2_000


def told(what: str, function: Callable[[], Any], wanted: float, times: int = 1) -> Any:
    """What ``function`` returns; its processor time (best of ``times``) is said beside what is wanted."""
    found, best = None, float("inf")
    for _ in range(times):
        began = time.process_time()
        found = function()
        best = min(best, time.process_time() - began)
    print(f"  {what}: {best:.3f} s (wanted {wanted:g})", flush=True)
    return found


def memory(who: int = resource.RUSAGE_SELF) -> float:
    """The most memory held so far, in GB."""
    return resource.getrusage(who).ru_maxrss / 1e6


def views(folder: Path, n: int) -> None:
    """Save two evaluations of ``n`` samples; open, filter, sort, move thresholds, look at a card and compare in a child."""
    for seed in (1, 2):
        small = collect(sample_set(random_rows(BASE, seed=seed)), ScriptedJudge(random_script(seed)))
        wb.Evaluation(tiled(small, n // BASE), name=f"run {seed}").save(folder / f"run{seed}")
        del small
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, __file__, "look", str(folder), str(n)])
    _, status = os.wait()
    if status:
        raise SystemExit(1)


def look(folder: Path, n: int) -> None:
    """The child of :func:`views`."""
    from workbench.views.card import card_html
    from workbench.views.session import Session

    print(f"{n:,} samples", flush=True)
    result = told("open, with scores and causes", lambda: _opened(folder / "run1"), 3.0)
    session = told("a session over it", lambda: Session(result, path=folder / "session"), 3.0)
    told("facets and slices, once", lambda: (session.facets, session.slices), 3.0)
    names = [name for name in session.scores.columns if session.scores[name].notna().any()]
    told("filter by cause", lambda: (session.set_filter(cause="retrieval_miss"), session.matching), 0.5)
    told("filter by words", lambda: (session.set_filter(cause=None, text="5 days"), session.matching), 0.5)
    session.clear_filter()
    told("sort by a metric", lambda: session.scores[names[0]].sort_values(kind="stable").index, 0.5, 3)
    cuts = iter((0.35, 0.45, 0.55, 0.65))

    def moved_alone() -> Any:
        session.set_thresholds(support=next(cuts))
        return session.scores, session.causes.counts(), session.matching

    told("a threshold moved: scores, causes, counts", moved_alone, 0.5, 3)
    ids = iter(str(x) for x in result.evidence.ids[[7, 1207, 3, 55]])
    told("a card", lambda: card_html(session, next(ids)), 0.15, 3)
    print(f"  memory: {memory():.2f} GB (wanted 2)", flush=True)
    other = _opened(folder / "run2")
    comparison = told("compare two", lambda: _compared(result, other), 2.0)
    print(f"  {comparison.counts}; memory with both: {memory():.2f} GB", flush=True)
    cuts = iter((0.35, 0.45, 0.55, 0.65))

    def moved() -> Any:
        t = result.thresholds.replace(support=next(cuts))
        return _compared(result.with_thresholds(t), other.with_thresholds(t), comparison)

    told("the slider of a comparison", moved, 0.3 if n <= 10_000 else 3.0, 3)


def _opened(folder: Path) -> Any:
    result = wb.load_evaluation(folder)
    result.scores(), result.failures()
    return result


def _compared(before: Any, after: Any, like: Any = None) -> Any:
    """As notebook 06 has it: the pairs are found once; counts, causes and the flow follow the thresholds."""
    from workbench.diagnosis.comparison import compared

    comparison = compared(before, after, like=like)
    _ = comparison.counts, comparison.causes(), comparison.ledger()
    return comparison


def cluster(folder: Path, n: int, each: int) -> None:
    """Score ``n`` samples in files of ``each`` over two workers, one of which is killed; open the result part by part."""
    import distributed

    paths = []
    rows = random_rows(min(each, n), seed=3)
    for part in range(-(-n // each)):
        path = folder / f"part{part:04d}.jsonl"
        path.write_text("\n".join(json.dumps({**row, "sample_id": f"{part}-{at}"}) for at, row in enumerate(rows)), "utf-8")
        paths.append(path)
    total = len(rows) * len(paths)
    options = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    began = time.monotonic()
    with distributed.LocalCluster(**options) as started, distributed.Client(started) as client:
        mark = folder / "killed"

        def die_once() -> None:
            if not mark.exists():
                mark.touch()
                os._exit(9)

        killer = client.submit(die_once, pure=False, retries=3)
        run = wb.score_on_cluster(paths, folder / "out", client, judge=None)
        killer.result()
        most = max(client.run(memory).values())
    print(f"{total:,} samples in {len(paths)} files over two workers, one killed: {time.monotonic() - began:.0f} s, "
          f"at most {most:.2f} GB a worker", flush=True)  # fmt: skip
    summary = told("summary over all parts", run.summary, float("inf"))
    failures = told("failures of all parts", run.failures, float("inf"))
    assert len(failures) == total == int(summary["n_total"].iloc[0]) and failures.index.is_unique
    told("one sample", lambda: run.one(str(failures.index[-1])), float("inf"))
    here = wb.evaluate(wb.load_samples(paths[0]), judge=None, progress=False)
    assert failures["primary_cause"].iloc[: len(here)].tolist() == here.failures()["primary_cause"].tolist()
    print(f"  complete and, for the first file, equal to scoring it here; memory {memory():.2f} GB", flush=True)


if __name__ == "__main__":
    what, numbers = (sys.argv[1:2] or ["views"])[0], [int(number) for number in sys.argv[2:] if number.isdigit()]
    if what == "look":
        look(Path(sys.argv[2]), numbers[0])
    else:
        with tempfile.TemporaryDirectory() as name:
            os.environ["WORKBENCH_CACHE"] = str(Path(name) / "cache")
            if what == "views":
                views(Path(name), *(numbers or [100_000]))
            else:
                cluster(Path(name), *(numbers + [100_000, 10_000][len(numbers) :]))
