"""A series of runs of the same cases: where it broke, which change of the configuration did it, and what is only noise.

Everything is read from one matrix, runs × samples, of outcomes in [0, 1], and one table, runs × keys of the configuration.

**Where.** A *segment* is a stretch of runs with one configuration; each run that begins one, and each repeat within one, is a
*step* that is tested: per sample the mean after it minus the mean before it, by signs (McNemar's mid-p where all differences
have one size, every assignment of signs up to 12, the normal limit beyond). Samples whose answer and contexts stayed the
same cannot have changed: their verdicts are averaged over the runs that share the text, so a judge's second thoughts count
for nothing.

**Looking after every run** keeps the stated rate: of it one tenth goes to a slow drift and the rest to the steps, the j-th a
share in proportion to (j + 2)^−1.5; a step that gathers repeats is looked at when there are 1, 2, 4, 8 … runs after it, the
l-th look at a share of 1 / l(l + 1). As the shares add up to one, the chance of any false regression in a series without one
is at most ``alpha`` (union bound), however often one looks.

**Which change.** Where one key changed, it is that key. Where several did, each is measured over the run pairs of the whole
series that differ in that key alone, else by a regression over the others (least squares, one level a value); what neither
can part is said, with the runs that would tell. Keys at one step are corrected for their number (Holm).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.data.run_config import COMMITS, TIMES, change_words, config_changes
from workbench.diagnosis.statistics import Z, adjusted, permutation_p, wilson
from workbench.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Share of the error rate that a slow drift may spend.
_DRIFT_SHARE = 0.1
#: Level at which one of several keys that changed together is blamed: a wrong name is worse than none.
_BLAME = 0.01
#: Σ (j + 2)^−1.5 over j from 1 on: ζ(1.5) − 1 − 2^−1.5.
_SHARES = 2.6123753486854883 - 1 - 2**-1.5
#: Keys that describe how was measured, not what: they are read from the manifest.
MEASURED = ("judge", "judge_prompt", "encoder", "thresholds")
STEPS = (
    "step", "run", "before", "n", "rate_before", "rate_after", "delta", "low", "high", "p_value", "p_adjusted", "change",
    "keys", "blamed", "verdict", "standing",
)  # fmt: skip
KEYS = (
    "key", "value_before", "value_after", "method", "n_pairs", "n", "delta", "low", "high", "p_value", "p_adjusted", "verdict",
    "together",
)  # fmt: skip
SAMPLES = (
    "sample_id", "state", "broke_in", "passed_in", "changed", "cause", "output_changed", "n_flips", "flaky",
)  # fmt: skip


class Effect(NamedTuple):
    """A paired difference: mean with its 95 % interval, two-sided p, and over how many samples."""

    delta: float
    low: float
    high: float
    p: float
    n: int


def effect(differences: Floats) -> Effect:
    """The mean of per-sample differences, shape (n,), NaN left out; p by random signs, see the module."""
    values = differences[np.isfinite(differences)]
    if not len(values):
        return Effect(math.nan, math.nan, math.nan, math.nan, 0)
    mean = float(values.mean())
    half = Z * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return Effect(mean, mean - half, mean + half, permutation_p(np.round(values, 9), flips=0), len(values))


def share_of_step(number: int) -> float:
    """Share of the steps' error rate for step ``number``, from 1 on; all of them add up to 1."""
    return float((number + 2) ** -1.5 / _SHARES)


def share_of_look(n_runs: int) -> tuple[int, float]:
    """How many of ``n_runs`` repeats are used (a power of two), and the share of that look."""
    look = int(math.log2(n_runs)) + 1
    return 2 ** (look - 1), 1 / (look * (look + 1))


@dataclass(frozen=True)
class Series:
    """Runs of the same cases, oldest first.

    Attributes
    ----------
    runs
        Names, unique.
    ids
        Sample ids, unique: those of any run.
    outcome
        (runs, samples) in [0, 1], 1 = passes; NaN where a run has no such sample or could not test it.
    config
        One row a run, one column a key; None where a key is not recorded.
    causes, cause
        Names, and (runs, samples) their codes; −1 passes, −2 not checked or not there.
    output, case
        (runs, samples) hashes of what the system returned and of what was asked and expected; 0 = not known.
    alpha
        Rate of false regressions over the whole series.
    left_out
        Samples that take no part in tests (flaky ones, when they are to be left out).
    """

    runs: tuple[str, ...]
    ids: pd.Index
    outcome: Floats
    config: pd.DataFrame
    causes: tuple[str, ...] = ()
    cause: NDArray[np.int16] | None = None
    output: NDArray[np.uint64] | None = None
    case: NDArray[np.uint64] | None = None
    alpha: float = 0.05
    left_out: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.runs)

    def place(self, run: str) -> int:
        """The position of a run. Raises ``InputError`` for an unknown name."""
        if run not in self.runs:
            shown = ", ".join(self.runs[:8]) + (" …" if len(self.runs) > 8 else "")
            raise InputError(f"no run {run!r} in this history; there are {shown}")
        return self.runs.index(run)

    # -- what is compared ---------------------------------------------------------------------------------------------

    @cached_property
    def keys(self) -> list[str]:
        """Keys with more than one value that set a run up: neither times nor commits."""
        varies = [key for key in self.config if self.config[key].map(str).nunique() > 1]
        return [key for key in varies if key.lower() not in TIMES | COMMITS]

    @cached_property
    def _levels(self) -> Ints:
        """(runs, keys) codes of the values of :attr:`keys`."""
        columns = [pd.factorize(self.config[key].map(repr))[0] for key in self.keys]
        return np.array(columns, dtype=np.int64).reshape(len(self.keys), len(self)).T

    @cached_property
    def commits(self) -> list[str]:
        """Keys that stand for what no other key says."""
        return [key for key in self.config if key.lower() in COMMITS and self.config[key].map(str).nunique() > 1]

    @cached_property
    def recorded(self) -> NDArray[np.bool_]:
        """(runs,) whether anything of the configuration is known beside times and what measured it."""
        own = [key for key in self.config if key not in (*MEASURED, "corpus") and key.lower() not in TIMES]
        return np.asarray(self.config[own].notna().any(axis=1), dtype=bool) if own else np.zeros(len(self), dtype=bool)

    @cached_property
    def _setup(self) -> Ints:
        """(runs,) a number for each configuration, commits among it; one that is not recorded is like no other."""
        columns = [*self._levels.T, *(pd.factorize(self.config[key].map(repr))[0] for key in self.commits)]
        columns.append(np.where(self.recorded, -1, np.arange(len(self))))
        rows = list(zip(*columns, strict=True)) if columns else [()] * len(self)
        return np.asarray(pd.factorize(pd.Series(rows, dtype=object))[0], dtype=np.int64)

    @cached_property
    def settled(self) -> Floats:
        """Outcomes, averaged over the runs in which a sample's case, output and way of measuring are the same.

        Samples in ``left_out`` are NaN.
        """
        outcome = self.outcome.copy()
        outcome[:, self.ids.isin(list(self.left_out))] = np.nan
        if self.output is None:
            return outcome
        measured = [pd.factorize(self.config[key].map(repr))[0] for key in MEASURED if key in self.config]
        rows = list(zip(*measured, strict=True)) if measured else [()] * len(self)
        way = pd.factorize(pd.Series(rows, dtype=object))[0].astype(np.uint64)
        known = np.isfinite(outcome) & (self.output != 0)
        # One number for sample, output, case and way of measuring; equal texts fall together.
        run, sample = np.nonzero(known)
        parts = pd.DataFrame({"s": sample, "o": self.output[known], "w": way[run]})
        if self.case is not None:
            parts["c"] = self.case[known]
        group = pd.util.hash_pandas_object(parts, index=False).to_numpy()
        codes = pd.factorize(group)[0]
        sums = np.bincount(codes, outcome[known])
        outcome[known] = (sums / np.bincount(codes))[codes]
        return outcome

    @cached_property
    def judge_moves(self) -> pd.DataFrame:
        """Verdicts that moved from one run to the next on identical output: ``run, n_same, up, down``."""
        rows = []
        for at in range(1, len(self)):
            if self.output is None:
                break
            same = (self.output[at] == self.output[at - 1]) & (self.output[at] != 0)
            moved = self.outcome[at] - self.outcome[at - 1]
            rows.append((self.runs[at], int((same & np.isfinite(moved)).sum()), int((same & (moved > 0)).sum()),
                         int((same & (moved < 0)).sum())))  # fmt: skip
        return pd.DataFrame(rows, columns=["run", "n_same", "up", "down"])

    def _difference(self, weights: Floats) -> Floats:
        """(samples,) Σ weight · outcome over runs; NaN where a run with a weight lacks the sample or asked another case."""
        used = np.flatnonzero(np.abs(weights) > 1e-12)
        found = weights[used] @ self.settled[used]
        return np.where(self._other_case(used), np.nan, found)

    def _other_case(self, used: Ints) -> NDArray[np.bool_]:
        if self.case is None or not len(used):
            return np.zeros(len(self.ids), dtype=bool)
        return np.asarray((self.case[used] != self.case[used[0]]).any(axis=0))

    def _means(self, before: Ints, after: Ints) -> Floats:
        """(samples,) mean over the runs ``after`` minus mean over ``before``, of the runs that have the sample."""
        with np.errstate(invalid="ignore"):
            sides = [_mean_known(self.settled[rows]) for rows in (before, after)]
        return np.where(self._other_case(np.concatenate([before, after])), np.nan, sides[1] - sides[0])

    # -- noise --------------------------------------------------------------------------------------------------------

    @cached_property
    def _eras(self) -> Ints:
        """(runs,) rises at each step without a change of the configuration at which something happened all the same."""
        found = np.zeros(len(self), dtype=np.int64)
        for row in self._tested:
            if row["change"] == "none" and row["verdict"] in ("broke", "improved"):
                found[row["step"] :] += 1
        return found

    @cached_property
    def _repeats(self) -> list[Ints]:
        """Runs of one configuration, within one era; groups of two or more."""
        pairs = pd.Series(list(zip(self._setup.tolist(), self._eras.tolist(), strict=True)), dtype=object)
        codes = pd.factorize(pairs)[0]
        return [np.flatnonzero(codes == code) for code in range(codes.max() + 1) if (codes == code).sum() > 1]

    @cached_property
    def flaky(self) -> NDArray[np.bool_]:
        """(samples,) the verdict flips among repeats of one configuration."""
        found = np.zeros(len(self.ids), dtype=bool)
        for rows in self._repeats:
            values = self.outcome[rows]
            with np.errstate(invalid="ignore"):
                found |= np.nanmax(np.where(np.isfinite(values), values, -np.inf), axis=0) - np.nanmin(
                    np.where(np.isfinite(values), values, np.inf), axis=0) > 0.5  # fmt: skip
        return found

    def noise(self) -> pd.DataFrame:
        """One row a repeated configuration: ``runs, n_runs, n, rate, spread, flipping, floor``.

        ``spread``: standard deviation of the rate over the repeats; ``flipping``: share of samples that flip from one repeat
        to the next; ``floor``: the difference between two single runs that noise exceeds once in twenty (1.96 · √(flipping /
        n)).
        """
        rows = []
        for group in self._repeats:
            values = self.outcome[group]
            rates = _mean_known(values.T)
            moved = np.abs(np.diff(values, axis=0))
            n = int(np.isfinite(values).all(axis=0).sum())
            flipping = float(np.nanmean(moved)) if np.isfinite(moved).any() else math.nan
            names = [self.runs[at] for at in group]
            rows.append((names, len(group), n, float(np.mean(rates)), float(np.std(rates, ddof=1)), flipping,
                         Z * math.sqrt(flipping / n) if n else math.nan))  # fmt: skip
        return pd.DataFrame(rows, columns=["runs", "n_runs", "n", "rate", "spread", "flipping", "floor"])

    # -- where it broke -----------------------------------------------------------------------------------------------

    def _segment(self, at: int, step: int) -> int:
        """The last run, going by ``step`` from ``at``, with the configuration of ``at``."""
        while 0 <= at + step < len(self) and self._setup[at + step] == self._setup[at]:
            at += step
        return at

    @property
    def _starts(self) -> list[int]:
        """The first run of each segment."""
        return [at for at in range(len(self)) if at == 0 or self._setup[at] != self._setup[at - 1]]

    @cached_property
    def _tested(self) -> list[dict[str, Any]]:
        """One dict a step, without the keys to blame."""
        found = []
        for step in range(1, len(self)):
            before = np.arange(self._segment(step - 1, -1), step)
            n_after = self._segment(step, 1) - step + 1
            used, look = share_of_look(n_after)
            after = np.arange(step, step + used)
            differences = self._means(before, after)
            if self._slope is not None:
                differences = differences - self._slope * (after.mean() - before.mean())
            result = effect(differences)
            share = (1 - _DRIFT_SHARE) * share_of_step(step) * look
            p_adjusted = min(1.0, result.p / 2 / share) if result.n else math.nan
            sure = p_adjusted < self.alpha
            changed = self._changed(step)
            own = [key for key in self.keys if key in changed]
            keys = own or [key for key in self.commits if key in changed]
            kept = np.isfinite(differences)
            found.append({
                "step": step, "run": self.runs[step], "before": self.runs[step - 1], "n": result.n,
                "rate_before": float(_mean_known(self.settled[before])[kept].mean()) if kept.any() else math.nan,
                "rate_after": float(_mean_known(self.settled[after])[kept].mean()) if kept.any() else math.nan,
                "delta": result.delta, "low": result.low, "high": result.high, "p_value": result.p, "p_adjusted": p_adjusted,
                "change": self._kind(step, own, keys), "keys": keys,
                "verdict": ("broke" if result.delta < 0 else "improved") if sure else "noise",
            })  # fmt: skip
        return found

    def _kind(self, step: int, own: Sequence[str], keys: Sequence[str]) -> str:
        if own:
            return "key"
        return "unknown" if not self.recorded[[step - 1, step]].all() else "commit" if keys else "none"

    def _changed(self, step: int) -> dict[str, tuple[Any, Any]]:
        before, after = (self.config.iloc[at].to_dict() for at in (step - 1, step))
        return config_changes(before, after)

    def steps(self) -> pd.DataFrame:
        """One row a step from one run to the next; see the module for how it is tested.

        ``step`` (position of the run after it), ``run, before, n, rate_before, rate_after, delta, low, high`` (95 %, not
        corrected)``, p_value`` (two-sided)``, p_adjusted`` (one-sided, over its share of the error rate: compare with
        ``alpha``)``, change`` (key, commit, none, unknown: not recorded)``, keys`` (what changed)``, blamed`` (keys that did
        it; empty when it cannot be told)``, verdict`` (broke, improved, noise)``, standing`` (not recovered).
        """
        rows = [{**row, "blamed": self._blamed(row), "standing": self._standing(row)} for row in self._tested]
        return pd.DataFrame(rows, columns=list(STEPS))

    def _standing(self, row: Mapping[str, Any]) -> bool:
        """Whether the last runs are still worse than those before the step, one-sided 5 %."""
        if row["verdict"] != "broke":
            return False
        before = np.arange(self._segment(row["step"] - 1, -1), row["step"])
        last = np.arange(self._segment(len(self) - 1, -1), len(self))
        now = effect(self._means(before, last[(last >= row["step"]) & (self._eras[last] == self._eras[-1])]))
        return bool(now.delta < 0 and now.p / 2 < 0.05)

    def _blamed(self, row: Mapping[str, Any]) -> list[str]:
        """The keys of a step that did it; none when nothing sure happened or they cannot be told apart."""
        if row["verdict"] == "noise" or len(row["keys"]) < 2:
            return list(row["keys"]) if row["verdict"] != "noise" else []
        worse = row["verdict"] == "broke"
        changed, found = self._changed(row["step"]), {}
        for key in row["keys"]:
            contrast = self._contrast(key, *changed[key])
            if contrast is None:
                return []
            result = effect(self._difference(contrast.weights))
            in_way = (result.delta < 0) == worse
            found[key] = result.p / 2 if in_way else 1 - result.p / 2
        corrected = adjusted(list(found.values()))
        return [key for key, p in zip(found, corrected, strict=True) if p < _BLAME]

    # -- which change -------------------------------------------------------------------------------------------------

    def _contrast(self, key: str, before: Any, after: Any) -> _Contrast | None:
        """Weights over runs that measure ``key`` going from one value to another, all else equal; None when none do."""
        column = self.keys.index(key) if key in self.keys else None
        if column is None:
            return None
        values = self.config[key].map(repr).to_numpy()
        first, second = values == repr(before), values == repr(after)
        others = np.delete(self._levels, column, axis=1)
        rows = list(zip(*others.T.tolist(), self._eras.tolist(), strict=True))
        background = pd.factorize(pd.Series(rows, dtype=object))[0]
        weights, pairs = np.zeros(len(self)), 0
        for code in range(background.max() + 1):
            a, b = (np.flatnonzero((background == code) & side) for side in (first, second))
            if len(a) and len(b):
                pairs += len(a) * len(b)
                size = len(a) * len(b) / (len(a) + len(b))
                weights[b] += size / len(b)
                weights[a] -= size / len(a)
        if pairs:
            return _Contrast(self._steady(weights / weights[weights > 0].sum()), "pairs", pairs)
        return self._regression(column, first, second)

    def _regression(self, column: int, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> _Contrast | None:
        """Least squares over one level a value of every key; None when the runs do not part this key from the others."""
        blocks = [(self._levels[:, [at]] == np.arange(1, self._levels[:, at].max() + 1)).astype(float)
                  for at in range(self._levels.shape[1])]  # fmt: skip
        eras = (self._eras[:, None] == np.arange(1, self._eras.max() + 1)).astype(float)
        design = np.hstack([np.ones((len(self), 1)), *blocks, eras])
        start = 1 + sum(block.shape[1] for block in blocks[:column])
        wanted = np.zeros(design.shape[1])
        for side, sign in ((second, 1.0), (first, -1.0)):
            level = int(self._levels[np.flatnonzero(side)[0], column])
            if level:
                wanted[start + level - 1] += sign
        weights = wanted @ np.linalg.pinv(design)
        if not np.allclose(weights @ design, wanted, atol=1e-8):
            return None
        return _Contrast(self._steady(weights), "regression", 0)

    def _steady(self, weights: Floats) -> Floats:
        """Weights with a slow drift taken out, where there is one."""
        if self._drift_weights is None or self._slope is None:
            return weights
        return weights - float(weights @ np.arange(len(self))) * self._drift_weights

    def key_effects(self) -> pd.DataFrame:
        """One row a key and change of value that the series made, in the order of the first.

        ``key, value_before, value_after, method`` (pairs: runs that differ in this key alone; regression: over the others;
        none)``, n_pairs, n, delta, low, high, p_value, p_adjusted`` (Holm over all rows)``, verdict`` (worse, better, noise,
        cannot_tell)``, together`` (the keys that it always changed with, where no run tells them apart).
        """
        seen: dict[tuple[str, str, str], dict[str, Any]] = {}
        for step in range(1, len(self)):
            changed = self._changed(step)
            for key in (key for key in self.keys if key in changed):
                before, after = changed[key]
                first, second = sorted((repr(before), repr(after)))
                if (key, first, second) in seen:
                    continue
                contrast = self._contrast(key, before, after)
                result = effect(np.full(1, np.nan) if contrast is None else self._difference(contrast.weights))
                seen[key, first, second] = {
                    "key": key, "value_before": before, "value_after": after, **result._asdict(), "p_value": result.p,
                    "method": contrast.method if contrast else "none", "n_pairs": contrast.n_pairs if contrast else 0,
                    "together": [] if contrast else [other for other in self.keys if other in changed and other != key],
                }  # fmt: skip
        frame = pd.DataFrame(
            list(seen.values()), columns=[name for name in KEYS if name not in ("p_adjusted", "verdict")]
        )
        corrected = adjusted(frame["p_value"].tolist())
        sure, worse = corrected < self.alpha, frame["delta"].to_numpy(dtype=float) < 0
        verdict = np.where(sure, np.where(worse, "worse", "better"), "noise").astype(object)
        verdict[frame["p_value"].isna().to_numpy()] = "cannot_tell"
        return frame.assign(p_adjusted=corrected, verdict=verdict)[list(KEYS)]

    def to_record(self, step: int) -> list[dict[str, Any]]:
        """Configurations whose recording would tell the keys of a step apart: the one before it with each key changed alone
        (all but the last, whose share is then the rest); empty when one key changed or the runs tell already."""
        changed = self._changed(step)
        keys = [key for key in self.keys if key in changed]
        if len(keys) < 2 or all(self._contrast(key, *changed[key]) is not None for key in keys):
            return []
        base = self._plain(step - 1)
        return [base | {key: changed[key][1]} for key in (keys if len(keys) == 2 else keys[:-1])]

    def _plain(self, at: int) -> dict[str, Any]:
        """A configuration without times, commits, what measured it, and what is not recorded."""
        left_out = TIMES | COMMITS | set(MEASURED)
        return {key: value for key, value in self.config.iloc[at].to_dict().items()
                if value is not None and key.lower() not in left_out}  # fmt: skip

    def bisect(self, good: str, bad: str) -> Bisection:
        """Which of the keys that two runs differ in made the second one worse, or which run to record next.

        Runs that have the configuration of ``good`` with some of the keys changed are used: each counts as good or bad by
        which of the two its rate is nearer to. One key is taken to be at fault.

        Raises ``InputError`` for an unknown run, or one whose configuration is the same.
        """
        first, last = self.place(good), self.place(bad)
        changed = {key: pair for key, pair in config_changes(*(self.config.iloc[at].to_dict() for at in (first, last))).items()
                   if key in self.keys}  # fmt: skip
        if not changed:
            raise InputError(f"{good} and {bad} have the same configuration; nothing recorded parts them")
        suspects = list(changed)
        base, end = self._levels[first], self._levels[last]
        used: list[tuple[str, str]] = []
        for at in range(len(self)):
            level = self._levels[at]
            moved = [key for key in changed if level[self.keys.index(key)] == end[self.keys.index(key)]]
            fits = all(level[i] == (end[i] if key in moved else base[i]) for i, key in enumerate(self.keys))
            if not fits or not 0 < len(moved) < len(changed):
                continue
            # Whether a run is nearer to the bad one, on the samples that all three have.
            known = np.isfinite(self.settled[[at, first, last]]).all(axis=0)
            own, high, low = (float(self.settled[row][known].mean()) for row in (at, first, last))
            is_bad = abs(own - low) < abs(own - high)
            used.append((self.runs[at], "bad" if is_bad else "good"))
            suspects = [key for key in suspects if (key in moved) == is_bad]
        half = suspects[: (len(suspects) + 1) // 2]
        wanted = self._plain(first) | {key: changed[key][1] for key in half} if len(suspects) > 1 else None
        return Bisection(tuple(suspects), wanted, tuple(used), {key: changed[key] for key in changed})

    # -- a slow drift -------------------------------------------------------------------------------------------------

    @cached_property
    def _drift_weights(self) -> Floats | None:
        """(runs,) weights of the least-squares slope within segments; None without a segment of three runs."""
        weights = np.zeros(len(self))
        for at in self._starts:
            end = self._segment(at, 1) + 1
            if end - at >= 3:
                weights[at:end] = np.arange(at, end) - (at + end - 1) / 2
        total = float((weights**2).sum())
        return weights / total if total else None

    @cached_property
    def _slope(self) -> Floats | None:
        """(samples,) change a run within segments, when all together drift rather than step; else None."""
        weights = self._drift_weights
        if weights is None:
            return None
        slopes = self._difference(weights)
        return np.nan_to_num(slopes) if effect(slopes).p < 0.1 and not self._steps_better(weights) else None

    def _steps_better(self, weights: Floats) -> bool:
        """Whether one jump within a segment fits the rates better than one slope in all of them."""
        rates = _mean_known(self.settled.T)
        times = weights / float((weights**2).sum())
        groups = [np.arange(first, self._segment(first, 1) + 1) for first in self._starts if weights[first]]
        centred = {group[0]: rates[group] - rates[group].mean() for group in groups}
        slope = float(weights @ rates)
        line = sum(
            float(((own - slope * times[first : first + len(own)]) ** 2).sum()) for first, own in centred.items()
        )
        flat = {first: float((own**2).sum()) for first, own in centred.items()}
        jumps = [
            sum(flat.values())
            - flat[first]
            + sum(float(((part - part.mean()) ** 2).sum()) for part in (own[:cut], own[cut:]))
            for first, own in centred.items()
            for cut in range(1, len(own))
        ]
        return min(jumps) < line

    def drift(self) -> Mapping[str, Any]:
        """A slow change while the configuration stays: ``per_run, low, high, p_value, p_adjusted, n_runs, sure``, as a
        difference of the rate a run; NaN without three runs of one configuration in a row."""
        weights = self._drift_weights
        if weights is None:
            return {"per_run": math.nan, "low": math.nan, "high": math.nan, "p_value": math.nan, "p_adjusted": math.nan,
                    "n_runs": 0, "sure": False}  # fmt: skip
        result = effect(self._difference(weights))
        n_runs = int((weights != 0).sum())
        look = int(math.log2(n_runs)) + 1
        p = min(1.0, result.p / 2 * look * (look + 1) / _DRIFT_SHARE)
        return {"per_run": result.delta, "low": result.low, "high": result.high, "p_value": result.p, "p_adjusted": p,
                "n_runs": n_runs, "sure": bool(p < self.alpha and self._slope is not None)}  # fmt: skip

    # -- samples ------------------------------------------------------------------------------------------------------

    def rates(self) -> pd.DataFrame:
        """One row a run: ``run, n, rate, low, high`` (95 %, Wilson)."""
        rows = []
        for at, name in enumerate(self.runs):
            known = self.outcome[at][np.isfinite(self.outcome[at])]
            found = wilson(float(known.sum()), len(known))
            rows.append((name, len(known), float(known.mean()) if len(known) else math.nan, found.low, found.high))
        return pd.DataFrame(rows, columns=["run", "n", "rate", "low", "high"])

    def cause_counts(self) -> pd.DataFrame:
        """Index run, one column a primary cause that occurs, the most frequent first: failing samples."""
        if self.cause is None:
            return pd.DataFrame(index=pd.Index(self.runs, name="run"))
        counts = np.stack([np.bincount(row[row >= 0], minlength=len(self.causes)) for row in self.cause])
        frame = pd.DataFrame(counts, index=pd.Index(self.runs, name="run"), columns=list(self.causes))
        there = frame.loc[:, frame.sum() > 0]
        return there[there.sum().sort_values(ascending=False, kind="stable").index]

    def samples(self) -> pd.DataFrame:
        """One row a sample: ``sample_id, state, broke_in, passed_in, changed, cause, output_changed, n_flips, flaky``.

        ``state``: broken (it passed once), failing (it never did), fixed, passing, unknown. ``broke_in``: the run in which the
        present failing began, ``passed_in`` the last one before it in which it passed; ``changed``: what changed between the
        two; ``cause``: now; ``output_changed``: whether answer or contexts differ between the two.
        """
        known = np.isfinite(self.outcome)
        passes = self.outcome > 0.5
        runs = np.arange(len(self))[:, None]
        last = np.where(known, runs, -1).max(axis=0)
        last_fail = np.where(known & ~passes, runs, -1).max(axis=0)
        broke, last_pass = _breaks(known, passes)
        state = np.select(
            [last < 0, broke >= 0, last == last_fail, last_fail >= 0],
            ["unknown", "broken", "failing", "fixed"],
            "passing",
        )
        flips = self._flips(known, passes)
        words: dict[tuple[int, int], str] = {}
        changed: list[str] = []
        output_changed: list[bool | None] = []
        for sample, (at, was) in enumerate(zip(broke.tolist(), last_pass.tolist(), strict=True)):
            if at < 0:
                changed.append("")
                output_changed.append(None)
                continue
            if (was, at) not in words:
                words[was, at] = self.changes_between(was, at)
            changed.append(words[was, at])
            same = None if self.output is None else bool(self.output[at, sample] != self.output[was, sample])
            output_changed.append(same)
        names = np.array([*self.runs, None], dtype=object)
        cause = [None] * len(self.ids)
        if self.cause is not None:
            table = np.array([*self.causes, None, None], dtype=object)
            cause = table[self.cause[last, np.arange(len(self.ids))]].tolist()
        return pd.DataFrame({
            "sample_id": self.ids.astype("str"), "state": state, "broke_in": names[broke],
            "passed_in": names[np.where(broke >= 0, last_pass, -1)], "changed": changed, "cause": cause,
            "output_changed": output_changed, "n_flips": flips, "flaky": self.flaky,
        })[list(SAMPLES)]  # fmt: skip

    def changes_between(self, before: int, after: int) -> str:
        """ "k 5 → 8; model a → b" between two runs; commits only where nothing else changed."""
        both = config_changes(*(self.config.iloc[at].to_dict() for at in (before, after)))
        own = {key: pair for key, pair in both.items() if key in self.keys} or both
        return change_words(own)

    @staticmethod
    def _flips(known: NDArray[np.bool_], passes: NDArray[np.bool_]) -> Ints:
        """(samples,) how often the verdict turned, over the runs that have one."""
        state, flips = np.full(known.shape[1], -1), np.zeros(known.shape[1], dtype=np.int64)
        for there, own in zip(known, passes, strict=True):
            flips += there & (state >= 0) & (state != own)
            state = np.where(there, own, state)
        return flips

    def matrix(self, *, differing: bool = True) -> pd.DataFrame:
        """Sample × run: the primary cause by name, ``pass`` or ``not_checked``; "" where a run has no such sample.

        Index ``sample_id``. ``differing``: only samples whose verdict or cause is not the same in all runs. Those that broke
        last stand first, then the fixed ones; samples that broke in the same run stand together, by cause.
        """
        codes = self._cause_codes
        there = np.isfinite(self.outcome)
        shown = np.where(there | (codes == -2), codes, -3)
        keep = np.ones(len(self.ids), dtype=bool)
        if differing:
            keep = (shown != shown[0]).any(axis=0)
        known, passes = there[:, keep], self.outcome[:, keep] > 0.5
        broke, _ = _breaks(known, passes)
        chosen = shown[:, keep]
        order = np.lexsort((chosen[-1], -broke)) if chosen.size else np.arange(chosen.shape[1])
        names = np.array([*self.causes, "", "not_checked", "pass"], dtype=object)
        return pd.DataFrame(
            names[chosen[:, order].T], index=self.ids[keep][order].rename("sample_id"), columns=list(self.runs)
        )

    @cached_property
    def _cause_codes(self) -> NDArray[np.int16]:
        if self.cause is not None:
            return self.cause
        return np.where(np.isfinite(self.outcome), np.where(self.outcome > 0.5, -1, 0), -2).astype(np.int16)


def _breaks(known: NDArray[np.bool_], passes: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """The run (samples,) in which the present failing of each began, -1 where it passes or never did; where it last passed."""
    runs = np.arange(len(known))[:, None]
    last_pass = np.where(known & passes, runs, -1).max(axis=0, initial=-1)
    fails_now = known & ~passes & (runs > last_pass)
    return np.where(fails_now.any(axis=0) & (last_pass >= 0), fails_now.argmax(axis=0), -1), last_pass


class _Contrast(NamedTuple):
    """Weights over runs, how they came about, and over how many pairs of runs."""

    weights: Floats
    method: str
    n_pairs: int


class Bisection(NamedTuple):
    """``suspects``: keys that may be at fault (one: found); ``record``: the configuration to record next, None when found;
    ``used``: runs that narrowed it down, each ``(run, good or bad)``; ``changed``: key → (good, bad)."""

    suspects: tuple[str, ...]
    record: dict[str, Any] | None
    used: tuple[tuple[str, str], ...]
    changed: dict[str, tuple[Any, Any]]


def _mean_known(values: Floats) -> Floats:
    """(columns,) means over the rows that have a value; NaN where none has."""
    known = np.isfinite(values)
    n = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.divide(total, n, out=np.full(values.shape[1:], np.nan), where=n > 0)


def config_frame(configs: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Configurations as a table, one row a run; None where a key is not recorded."""
    keys = dict.fromkeys(key for config in configs for key in config)
    return pd.DataFrame({key: pd.Series([config.get(key) for config in configs], dtype=object) for key in keys},
                        index=range(len(configs)))  # fmt: skip
