"""What a history of runs finds: planted breaks, null series, two arms under peeking, and how long large ones take.

    python tests/benchmarks/history.py [--seeds 200] [--only NAME]

Prints one line a trial with the share that must hold; exit 1 when one does not.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from workbench.diagnosis.experiment import LEAST, anytime_p, compare_arms, fixed_size, mixture
from workbench.diagnosis.monitoring import watch_log
from workbench.diagnosis.query_log import load_log
from workbench.diagnosis.series import Series, config_frame

RUNS, SAMPLES = 20, 400
KEYS = ("model", "prompt", "k", "chunking", "retriever")


@dataclass
class Plan:
    """Configurations of a series, and which samples a change breaks."""

    configs: list[dict[str, int]]
    broken: dict[str, tuple[int, float]]  # key → from which value on it is worse, share of samples


def outcomes(plan: Plan, rng: np.random.Generator, *, flaky: float = 0.05, drift: float = 0.0) -> np.ndarray:
    """(runs, samples): 80 % pass; flaky samples toss a coin in each run; a drifting judge fails more and more right ones."""
    right = rng.random(SAMPLES) < 0.8
    tosses = rng.random(SAMPLES) < flaky
    severity = rng.random(SAMPLES)
    hit = {key: rng.permutation(SAMPLES) < share * SAMPLES / 0.8 for key, (_, share) in plan.broken.items()}
    rows = []
    for at, config in enumerate(plan.configs):
        own = right.copy()
        for key, (value, _) in plan.broken.items():
            if config[key] >= value:
                own &= ~hit[key]
        own &= severity >= drift * at / (len(plan.configs) - 1) / 0.8
        rows.append(np.where(tosses, rng.random(SAMPLES) < 0.5, own))
    return np.array(rows, dtype=float)


def series(plan: Plan, rng: np.random.Generator, **options: float) -> Series:
    """A series of the plan; every run answers in other words, so that nothing is known to be the same."""
    return Series(tuple(f"run {at:02}" for at in range(len(plan.configs))), pd.Index([f"s{i}" for i in range(SAMPLES)]),
                  outcomes(plan, rng, **options), config_frame(plan.configs))  # fmt: skip


def schedule(rng: np.random.Generator, together: tuple[str, ...] = (), parted: bool = False) -> tuple[Plan, int, str]:
    """Half of the steps change one key to a new value; one step in the middle changes the guilty key (with ``together``).

    ``parted``: two of the runs after it go back to the old value of the others, so that the data can tell.
    """
    guilty = str(rng.choice(KEYS)) if not together else together[0]
    at = int(rng.integers(5, 14))
    config = dict.fromkeys(KEYS, 0)
    configs = []
    for run in range(RUNS):
        if run == at:
            for key in (guilty, *together[1:]):
                config[key] += 1
        elif run and rng.random() < 0.5 and not at <= run <= at + 3:
            free = [key for key in KEYS if key != guilty and key not in together]
            config[str(rng.choice(free))] += 1
        configs.append(dict(config))
    if parted:
        for run in (at + 1, at + 2):
            for key in together[1:]:
                configs[run] = configs[run] | {key: configs[run][key] - 1}
    return Plan(configs, {guilty: (1, 0.08)}), at, guilty


def found(result: Series) -> list[tuple[int, list[str]]]:
    """Steps said to have broken it, with the keys blamed."""
    steps = result.steps()
    worse = steps[steps["verdict"] == "broke"]
    return list(zip(worse["step"].tolist(), worse["blamed"].tolist(), strict=True))


def one_key(rng: np.random.Generator) -> bool:
    plan, at, key = schedule(rng)
    return (at, [key]) in found(series(plan, rng))


def two_parted(rng: np.random.Generator) -> bool:
    """Two keys at once, one of them guilty; a run that goes back with the other tells."""
    plan, at, key = schedule(rng, together=tuple(rng.permutation(KEYS)[:2]), parted=True)
    return (at, [key]) in found(series(plan, rng))


def two_together(rng: np.random.Generator) -> bool:
    """Two keys at once and never apart: the run, no key, and the runs to record."""
    plan, at, _ = schedule(rng, together=tuple(rng.permutation(KEYS)[:2]))
    result = series(plan, rng)
    return (at, []) in found(result) and len(result.to_record(at)) == 2


def two_breaks(rng: np.random.Generator) -> bool:
    """Two keys break it in two different runs."""
    plan, at, key = schedule(rng)
    other = next(name for name in KEYS if name != key)
    for run in range(RUNS):
        plan.configs[run] = plan.configs[run] | {other: int(run >= at + 3)}
    plan.broken[other] = (1, 0.08)
    said = found(series(plan, rng))
    return (at, [key]) in said and any(step == at + 3 and other in blamed for step, blamed in said)


def drifting_judge(rng: np.random.Generator) -> bool:
    """A judge that fails 6 points more from first run to last, and a key that breaks it by 10: what a drift leaves to see."""
    plan, at, key = schedule(rng)
    plan.broken[key] = (1, 0.10)
    said = found(series(plan, rng, drift=0.06))
    return said == [(at, [key])]


def drift_alone(rng: np.random.Generator) -> bool:
    """Nothing but the judge: no key is blamed."""
    plan, _, _ = schedule(rng)
    plan.broken.clear()
    return not any(blamed for _, blamed in found(series(plan, rng, drift=0.06)))


def unrecorded(rng: np.random.Generator) -> bool:
    """Something breaks between two runs of one configuration: the run is named and no key."""
    plan, at, key = schedule(rng)
    result = series(plan, rng)
    hidden = result.config.assign(**{key: 0})
    return (at, []) in found(Series(result.runs, result.ids, result.outcome, hidden))


def null(rng: np.random.Generator) -> bool:
    """No break; looked at after every run."""
    plan, _, _ = schedule(rng)
    plan.broken.clear()
    whole = series(plan, rng)
    for n in range(2, RUNS + 1):
        part = Series(whole.runs[:n], whole.ids, whole.outcome[:n], whole.config.iloc[:n])
        if found(part) or part.drift()["sure"]:
            return False
    return True


TRIALS: dict[str, tuple[Callable[[np.random.Generator], bool], float]] = {
    "one key": (one_key, 0.95), "two keys at once, parted later": (two_parted, 0.95),
    "two keys at once, never apart: cannot tell": (two_together, 0.95), "two breaks": (two_breaks, 0.95),
    "a key and a drifting judge": (drifting_judge, 0.95), "a drifting judge alone: no key": (drift_alone, 0.95),
    "a change that nobody recorded": (unrecorded, 0.95), "no change, looked at after every run": (null, 0.95),
}  # fmt: skip


def _alarms(rng: np.random.Generator, rates: tuple[float, float], n: int) -> bool:
    """Whether the second arm was ever called worse, looked at after every 20 requests an arm."""
    arms = [(rng.random(n) < rate).cumsum() for rate in rates]
    for size in range(LEAST, n + 1, 20):
        means = [own[size - 1] / size for own in arms]
        error = max(sum(mean * (1 - mean) for mean in means) / (size - 1), 1e-12)
        p = anytime_p((means[1] - means[0]) / error**0.5, mixture(0.05) / error)
        if means[1] < means[0] and p / 2 < 0.05:
            return True
    return False


#: A fall of five points within twice the requests of a single look; no alarm without one, over ten times as many.
ARMS: dict[str, tuple[Callable[[np.random.Generator], bool], float]] = {
    "a fall of 5 points is found": (lambda rng: _alarms(rng, (0.8, 0.75), 2 * fixed_size(0.05, 0.175)), 0.8),
    "no fall, looked at every 20 requests": (lambda rng: not _alarms(rng, (0.8, 0.8), 11_000), 0.95),
    "no fall at 97 %": (lambda rng: not _alarms(rng, (0.97, 0.97), 11_000), 0.95),
}


def times() -> Iterator[tuple[str, float, float]]:
    """Name, CPU seconds, and the most that it may take."""
    rng = np.random.default_rng(0)
    runs, n = 50, 10_000
    outcome = np.where(rng.random((runs, n)) < 0.03, rng.random((runs, n)) < 0.5, rng.random(n) < 0.8).astype(float)
    outcome[30:, :800] = 0
    cause = np.where(outcome > 0, -1, rng.integers(0, 15, (runs, n))).astype(np.int16)
    configs = config_frame([{"k": 5 + (at >= 30), "model": at // 7} for at in range(runs)])
    large = Series(tuple(f"run {at:02}" for at in range(runs)), pd.Index([f"s{at}" for at in range(n)]), outcome, configs,
                   tuple(f"cause {at}" for at in range(15)), cause, rng.integers(1, 2**62, (runs, n)).astype(np.uint64),
                   np.ones((runs, n), dtype=np.uint64))  # fmt: skip
    started = time.process_time()
    matrix, states = large.matrix(), large.samples().set_index("sample_id")["state"]
    large.steps()
    yield f"matrix, steps, samples: {runs} runs × {n:,} samples", time.process_time() - started, 3
    started = time.process_time()
    assert len(matrix[matrix.index.isin(states.index[states == "broken"])])
    yield "one filter of the matrix", time.process_time() - started, 0.3
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for at in range(1_000_000):
                entry = {"time": 1_749_000_000 + at, "latency_ms": round(float(rng.lognormal(6, 0.5)), 1),
                         "score": at % 97 / 97, "refused": at % 11 == 0, "question": f"how do I reset {at % 1000}",
                         "release": f"r{at % 2}"}  # fmt: skip
                file.write(json.dumps(entry) + "\n")
        started = time.process_time()
        log = load_log(path, groups=["release"])
        assert watch_log(log).events is not None
        compare_arms(log, "release")
        yield "1,000,000 log rows read, watched, arms compared", time.process_time() - started, 20


def shares(seeds: int, only: str = "") -> Iterator[tuple[str, float, float]]:
    """Name, share of seeds in which the right thing was said, and the share that must hold."""
    for name, (trial, least) in {**TRIALS, **ARMS}.items():
        if only in name:
            yield name, float(np.mean([trial(np.random.default_rng(seed)) for seed in range(seeds)])), least


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    failed = False
    for name, seconds, most in () if options.only else times():
        failed |= seconds > most
        print(f"{name:48} {seconds:6.2f} CPU s  must be at most {most:g} s")
    for name, share, least in shares(options.seeds, options.only):
        failed |= share < least
        print(f"{name:48} {share:6.1%}  of {options.seeds} seeds, must be {least:.0%}")
    sys.exit(failed)
