"""What large sets cost, in processor seconds and memory: a saved evaluation opened and looked through, two compared, and a
set that no process holds scored over a cluster while a worker is killed.

    python tests/benchmarks/scale.py views [SAMPLES]
    python tests/benchmarks/scale.py parts FOLDER [FOLDER]
    python tests/benchmarks/scale.py cluster [SAMPLES] [SAMPLES A FILE] [--judge none|offline] [--rankings] [--out FOLDER]

Samples are made up; ``views`` repeats 2,000 of them under other ids, those of the cluster are all different. Over the
cluster ``offline`` is the judge that reads words alone; ``--rankings`` leaves out answers and references, so that only what
was retrieved is scored; ``--out`` keeps the result, which ``parts`` opens as the notebooks do (and compares with the first
of two). Not collected by pytest.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "benchmarks")]

import pandas as pd  # noqa: E402
from comparison import tiled  # noqa: E402
from scoring import WHAT, WHO  # noqa: E402
from scripted import ScriptedJudge, random_rows, random_script, sample_set  # noqa: E402

import workbench as wb  # noqa: E402
from workbench.evidence.collect import collect  # noqa: E402

BASE = 2_000
CLUSTER: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}


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


def parts(folder: Path, after: Path | None) -> None:
    """Panels 01, 02 and 05 over a result in parts, a threshold moved, a card; panel 06 over two."""
    from workbench.views.session import Session

    result = told("open, with scores and causes of all", lambda: wb.open(folder, progress=False), float("inf"))
    print(f"  {len(result):,} samples in {len(result.parts)} parts; memory {memory():.2f} GB", flush=True)
    with tempfile.TemporaryDirectory() as name:
        session = told("a session over it", lambda: Session(result, path=Path(name)), float("inf"))
        told("panel 01", lambda: wb.panels.score(session), float("inf"))
        panel = told("panel 02", lambda: wb.panels.low_scores(session), float("inf"))
        told("panel 05", lambda: wb.panels.query_types(session), float("inf"))
        told("worst slices", lambda: wb.worst_slices(result), float("inf"))
        print(f"  memory {memory():.2f} GB", flush=True)
        ids = iter(panel.ids()[:: max(1, len(panel.ids()) // 4)])
        told("a card of a part that is not open", lambda: session.select(next(ids)), float("inf"))
        told("filter by words", lambda: session.set_filter(text="when 12"), float("inf"))
        session.clear_filter()
        told("a threshold moved, with three panels", lambda: session.set_thresholds(support=0.55), float("inf"))
        print(f"  memory {memory():.2f} GB (wanted 2)", flush=True)
        if after is not None:
            del panel, session
            other = told("open another", lambda: wb.open(after, progress=False), float("inf"))
            second = Session(other, path=Path(name) / "after")
            found = told("panel 06 over both", lambda: wb.panels.compare(second, before=result), float("inf"))
            print(f"  {found.comparison.counts}; memory {memory():.2f} GB", flush=True)


def recorded(part: int, n: int, rankings: bool) -> list[dict[str, Any]]:
    """Rows that no other part has: two or three facts a context, an answer that repeats one, a third of them wrong."""
    chosen, rows = random.Random(part), []
    for at in range(n):
        facts = [(f"house {part * n + at}-{i}", chosen.choice(WHO), chosen.choice(WHAT), chosen.randrange(1900, 2025))
                 for i in range(6)]  # fmt: skip
        told = [f"The {who} of {house} was {what} in {year} by a firm from the district." for house, who, what, year in facts]
        contexts = [{"doc_id": f"doc {chosen.randrange(10**6)}", "text": " ".join(told[i : i + 2])} for i in (0, 2, 4)]
        house, who, what, year = facts[0]
        row = {"sample_id": f"{part}-{at}", "question": f"When was the {who} of {house} {what}?", "contexts": contexts,
               "expected_docs": [contexts[0]["doc_id"] if at % 4 else f"doc {at}"],
               "case_type": chosen.choice(["fact", "date"]), "tags": {"team": "abcde"[at % 5]}}  # fmt: skip
        if not rankings:
            said = year if at % 3 else year + 1
            row |= {"answer": f"The {who} of {house} was {what} in {said}.", "reference": f"It was {what} in {year}."}
        rows.append(row)
    return rows


def cluster(folder: Path, n: int, each: int, judge: str | None, rankings: bool) -> None:
    """Score ``n`` samples in files of ``each`` over two workers, one of which is killed at its work; open the result part by
    part, and hold the first, a middle and the last part against scoring them here."""
    import distributed

    paths = []
    for part in range(-(-n // each)):
        path = folder / f"part{part:04d}.jsonl"
        path.write_text("\n".join(json.dumps(row) for row in recorded(part, each, rankings)), "utf-8")
        paths.append(path)
    total = each * len(paths)
    options: dict[str, Any] = {"judge": judge, "encoder": "none"}
    out, began = folder / "out", time.monotonic()
    with distributed.LocalCluster(**CLUSTER) as started, distributed.Client(started) as client:
        killed: list[int] = []
        victim = client.run(os.getpid).popitem()[1]

        def kill() -> None:
            """Kill a worker when a fifth is done."""
            while len(list(out.glob("*/content.txt"))) < len(paths) / 5:
                time.sleep(0.2)
            os.kill(victim, signal.SIGKILL)
            killed.append(len(list(out.glob("*/content.txt"))))

        threading.Thread(target=kill, daemon=True).start()
        run = wb.score_on_cluster(paths, out, client, **options)
        most = max(client.run(memory).values())
        assert victim not in client.run(os.getpid).values()
    print(f"{total:,} samples in {len(paths)} files over two workers, one killed after {killed[0]} of them: "
          f"{time.monotonic() - began:.0f} s, {1000 * processor_seconds() / total:.2f} CPU s for 1,000, "
          f"at most {most:.2f} GB a worker", flush=True)  # fmt: skip
    summary = told("summary over all parts", run.summary, float("inf"))
    failures = told("failures of all parts", run.failures, float("inf"))
    assert len(failures) == total == int(summary["n_total"].iloc[0]) and failures.index.is_unique
    told("one sample", lambda: run.one(str(failures.index[-1])), float("inf"))
    print(f"  memory here {memory():.2f} GB", flush=True)
    for place in {0, len(paths) // 2, len(paths) - 1}:
        os.environ["WORKBENCH_CACHE"] = str(folder / f"cache of {place}")
        here = wb.evaluate(wb.load_samples(paths[place]), progress=False, **options)
        there = wb.load_evaluation(run.parts[place])
        pd.testing.assert_frame_equal(here.scores(), there.scores())
        pd.testing.assert_frame_equal(here.failures(), there.failures())
        print(f"  complete; part {place} has the scores and causes of scoring it here", flush=True)


def processor_seconds() -> float:
    """Processor seconds of all processes that this one started and that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("views", "parts", "cluster", "look"), nargs="?", default="views")
    parser.add_argument("numbers", nargs="*", metavar="SAMPLES")
    parser.add_argument("--judge", choices=("none", "offline"), default="none")
    parser.add_argument("--rankings", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.what == "look":
        look(Path(given.numbers[0]), int(given.numbers[1]))
        return
    if given.what == "parts":
        parts(Path(given.numbers[0]), Path(given.numbers[1]) if given.numbers[1:] else None)
        return
    numbers = [int(number) for number in given.numbers]
    with tempfile.TemporaryDirectory() as name:
        folder = given.out or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        os.environ["WORKBENCH_CACHE"] = str(Path(name) / "cache")
        if given.what == "views":
            views(folder, *(numbers or [100_000]))
        else:
            n, each = numbers + [100_000, 5_000][len(numbers) :]
            cluster(folder, n, each, None if given.judge == "none" else given.judge, given.rankings)


if __name__ == "__main__":
    main()
