"""What changed between two evaluations of the same cases, and whether it is real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from workbench.diagnosis import changes, paired
from workbench.diagnosis.attribution import CAUSES, NOT_CHECKED, PASS
from workbench.diagnosis.failing import PASSED
from workbench.diagnosis.layers import LAYERS, layer
from workbench.diagnosis.pairing import Mask, Pairing, pair
from workbench.scoring.metrics import definitions
from workbench.scoring.overall import OVERALL, formulas
from workbench.scoring.scored import Floats, Scored

if TYPE_CHECKING:
    from workbench.scoring.metric import Metric

#: What a pair of outcomes is called; see :meth:`Comparison.flips`.
CHANGES = ("broken", "fixed", "still_failing", "still_passing", "not_comparable")
BROKEN, FIXED, STILL_FAILING, STILL_PASSING, NOT_COMPARABLE = range(5)

TESTS = (
    "metric", "n_pairs", "before", "after", "delta", "low", "high", "p_value", "p_adjusted", "smallest_detectable",
    "test", "method", "better",
)  # fmt: skip


class Counts(NamedTuple):
    """How many matched samples changed in which way; the five add up to ``n``."""

    n: int
    fixed: int
    broken: int
    still_failing: int
    still_passing: int
    not_comparable: int
    noise: int


class Comparison:
    """Two evaluations side by side, samples matched by id. Everything is computed when it is first asked for.

    Swapping the two mirrors every figure. Samples whose answer and contexts are the same in both never count as
    changed: a verdict that moved there all the same is the judge's noise (or that of thresholds), see :meth:`noise`.

    Parameters
    ----------
    before, after
        Evaluations; each is taken under its own thresholds.
    correction
        How :meth:`tests` corrects for the number of metrics looked at: ``"holm"`` or ``"bh"``.
    pairing
        Of a comparison of the same evidence under other thresholds, which do not change it.
    """

    def __init__(
        self, before: Any, after: Any, *, correction: str = "holm", pairing: Pairing | None = None
    ) -> None:  # fmt: skip
        self.before, self.after = before, after
        self.correction = correction
        self.pairing = pair(before.evidence, after.evidence) if pairing is None else pairing
        self._tests: dict[tuple[str, ...] | None, pd.DataFrame] = {}

    def __len__(self) -> int:
        """How many samples are matched."""
        return len(self.pairing)

    def __repr__(self) -> str:
        return f"Comparison({self.before.name!r} → {self.after.name!r}, {len(self):,} matched)"

    def __str__(self) -> str:
        return "\n".join([*self.warnings, *self.notes, self.verdict])

    @property
    def only_before(self) -> list[str]:
        """Ids that only the first run has; they take no part."""
        return self.pairing.only_before

    @property
    def only_after(self) -> list[str]:
        """Ids that only the second run has; they take no part."""
        return self.pairing.only_after

    # -- in words ---------------------------------------------------------------------------------------------------

    @property
    def warnings(self) -> list[str]:
        """What makes the two hard to compare (judge, thresholds, k, cases …), to be read before any number."""
        from workbench.diagnosis.comparing_words import warnings

        return warnings(self)

    @property
    def notes(self) -> list[str]:
        """What to know beside: unmatched ids, how much of the recordings is the same."""
        from workbench.diagnosis.comparing_words import notes

        return notes(self)

    @property
    def verdict(self) -> str:
        """The outcome in one sentence or two, in the language in force."""
        from workbench.diagnosis.comparing_words import verdict

        return verdict(self)

    # -- pass and fail ----------------------------------------------------------------------------------------------

    @cached_property
    def _primary(self) -> tuple[np.ndarray, np.ndarray]:
        """Codes of the primary cause of the matched samples in either run: −1 passes, −2 not checked."""
        return self.before.causes.primary[self.pairing.left], self.after.causes.primary[self.pairing.right]

    @cached_property
    def noisy(self) -> Mask:
        """(n,) the verdict moved although the system did exactly the same."""
        first, second = self._primary
        return self.pairing.identical & ((first >= 0) != (second >= 0)) & (first != -2) & (second != -2)

    @cached_property
    def change(self) -> np.ndarray:
        """(n,) code in :data:`CHANGES` of each matched sample."""
        first, second = self._primary
        failed, fails = first >= 0, second >= 0
        code = np.where(failed, np.where(fails, STILL_FAILING, FIXED), np.where(fails, BROKEN, STILL_PASSING))
        return np.where((first == -2) | (second == -2) | self.noisy, NOT_COMPARABLE, code)

    @cached_property
    def counts(self) -> Counts:
        """The changes, counted."""
        n = np.bincount(self.change, minlength=len(CHANGES)).tolist()
        return Counts(len(self), n[FIXED], n[BROKEN], n[STILL_FAILING], n[STILL_PASSING], n[NOT_COMPARABLE],
                      int(self.noisy.sum()))  # fmt: skip

    def flips(self) -> pd.DataFrame:
        """One row a matched sample, in the order of the first run: ``sample_id, change, cause_before, cause_after,
        answer_changed, contexts_changed``, then ``case_changed, judge_noise, contrast``.

        ``change``: fixed, broken, still_failing, still_passing, or not_comparable when nothing could be tested in one of
        the runs or the verdict moved on identical text (``judge_noise``). ``contrast`` in [−2, 2]: how much better the
        sample became, ±1 for a flip plus the mean difference of its scores.
        """
        return self._flips.copy()

    @cached_property
    def _flips(self) -> pd.DataFrame:
        first, second = self._primary
        return pd.DataFrame({
            "sample_id": self.pairing.ids.astype("str"), "change": np.array(CHANGES)[self.change],
            "cause_before": _names(first), "cause_after": _names(second),
            "answer_changed": self.pairing.answer_changed, "contexts_changed": self.pairing.contexts_changed,
            "case_changed": self.pairing.case_changed, "judge_noise": self.noisy, "contrast": self.contrast,
        })  # fmt: skip

    def ledger(self) -> pd.DataFrame:
        """``cause_before, cause_after, n, sample_ids``, then ``n_noise, layer_before, layer_after``: where every matched
        sample came from and went to. The n add up to all matched samples; by ``cause_before`` to the first run's
        causes, by ``cause_after`` to the second's. Changes first, the most frequent first. ``n_noise`` of the n moved
        on identical text.
        """
        first, second = self._primary
        width = len(CAUSES) + 2
        cells, cell = np.unique((first + 2) * width + second + 2, return_inverse=True)
        order = np.argsort(cell, kind="stable")
        groups = np.split(order, np.cumsum(np.bincount(cell, minlength=len(cells)))[:-1]) if len(cells) else []
        ids = self.pairing.ids.to_numpy(dtype=object)
        before, after = _names(cells // width - 2), _names(cells % width - 2)
        frame = pd.DataFrame({
            "cause_before": before, "cause_after": after, "n": [len(group) for group in groups],
            "sample_ids": [ids[group].tolist() for group in groups],
            "n_noise": [int(self.noisy[group].sum()) for group in groups],
            "layer_before": [layer(name) for name in before], "layer_after": [layer(name) for name in after],
        })  # fmt: skip
        rank = pd.DataFrame({"same": before == after, "n": -frame["n"]})
        return frame.loc[rank.sort_values(["same", "n"], kind="stable").index].reset_index(drop=True)

    def causes(self) -> pd.DataFrame:
        """Index ``cause``; ``layer, before, after, change``: samples with that primary cause; changes add up to 0."""
        first, second = self._primary
        width = len(CAUSES) + 2
        counted = [np.roll(np.bincount(codes + 2, minlength=width), -2) for codes in (first, second)]
        names = [*CAUSES, NOT_CHECKED, PASS]
        frame = pd.DataFrame({
            "layer": [layer(name) for name in names], "before": counted[0], "after": counted[1],
            "change": counted[1] - counted[0],
        }, index=pd.Index(names, name="cause"))  # fmt: skip
        return frame[(frame["before"] > 0) | (frame["after"] > 0)]

    def layers(self) -> pd.DataFrame:
        """Index ``layer``; ``before, after, change``: failing samples by layer; changes add up to that of all failures."""
        causes = self.causes()
        found = causes[causes["layer"] != ""].groupby("layer")[["before", "after", "change"]].sum()
        return found.reindex([name for name in LAYERS if name in found.index])

    def noise(self) -> pd.DataFrame:
        """Verdicts that moved although answer and contexts are the same: ``sample_id, cause_before, cause_after,
        reason`` (judge, thresholds or case: what else differs between the two)."""
        first, second = self._primary
        chosen = self.noisy
        other = "thresholds" if self.before.thresholds != self.after.thresholds else "judge"
        return pd.DataFrame({
            "sample_id": self.pairing.ids[chosen].astype("str"), "cause_before": _names(first[chosen]),
            "cause_after": _names(second[chosen]),
            "reason": np.where(self.pairing.case_changed[chosen], "case", other),
        })  # fmt: skip

    # -- tests ------------------------------------------------------------------------------------------------------

    @cached_property
    def known(self) -> dict[str, Metric]:
        """Every metric that both runs can be scored by under the same name, whether or not it was chosen."""
        first, second = definitions(self.before.thresholds.k), definitions(self.after.thresholds.k)
        return {name: metric for name, metric in first.items() if name in second}

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """The metrics that were chosen in both runs, by name."""
        both = set(self.before.metrics) & set(self.after.metrics)
        return {name: metric for name, metric in self.known.items() if name in both}

    def scored(self, name: str) -> tuple[Scored, Scored]:
        """A metric of the matched samples in either run."""
        first, second = self.before.metric(name), self.after.metric(name)
        return (Scored(first.values[self.pairing.left], first.states[self.pairing.left]),
                Scored(second.values[self.pairing.right], second.states[self.pairing.right]))  # fmt: skip

    def tests(self, metrics: Sequence[str] | None = None) -> pd.DataFrame:
        """One row for pass / fail (``passed``) and each metric: ``metric, n_pairs, before, after, delta, low, high,
        p_value, p_adjusted, smallest_detectable``, then ``test, method, better``.

        Over the samples that have a score in both runs. ``low``, ``high``: 95 % bootstrap interval of the paired
        difference. ``p_value``: McNemar's mid-p for 0/1 scores, else a permutation test. ``p_adjusted``: pass / fail is
        the question asked and stands alone; the metrics are corrected for how many were looked at.
        ``metrics`` asks for some, among them ones that were not chosen; by default all that both have.
        ``smallest_detectable``: see :func:`workbench.diagnosis.paired.smallest_detectable`. ``better``: whether the
        change is to the better, None when it is zero or neither direction is good.
        """
        key = None if metrics is None else tuple(metrics)
        if key not in self._tests:
            self._tests[key] = self._tested(key)
        return self._tests[key].copy()

    def _tested(self, chosen: tuple[str, ...] | None) -> pd.DataFrame:
        names = [name for name in self.known if (name in self.metrics if chosen is None else name in chosen)]
        rows = [] if chosen is not None and PASSED not in chosen else [self.passing]
        rows += [self._test(name) for name in names]
        frame = pd.DataFrame(rows, columns=list(TESTS))
        own = (frame["metric"] != PASSED).to_numpy()
        corrected = frame["p_value"].to_numpy(dtype=float, copy=True)
        corrected[own] = paired.adjusted(corrected[own].tolist(), self.correction)
        return frame.assign(p_adjusted=corrected)[list(TESTS)]

    @cached_property
    def passing(self) -> Mapping[str, Any]:
        """The row of :meth:`tests` on pass / fail: over the comparable samples, fixed against broken."""
        kept = self.change != NOT_COMPARABLE
        first, second = ((codes[kept] < 0).astype(float) for codes in self._primary)
        return _row(PASSED, first, second, binary=True, method=self._method(judged=True), higher=True)

    def _test(self, name: str) -> Mapping[str, Any]:
        metric = self.known[name]
        first, second = self.scored(name)
        both = first.ok & second.ok & self._one_formula(name, first.ok & second.ok)
        judged = metric.group not in ("ranking", "permission")
        return _row(name, first.values[both], second.values[both], binary=metric.binary, method=self._method(judged),
                    higher=metric.higher_is_better)  # fmt: skip

    def _one_formula(self, name: str, both: Mask) -> bool:
        """Whether every pair was scored by the same formula: ``overall`` over several of them is a mean of nothing."""
        if name != OVERALL.name:
            return True
        sides = ((self.before, self.pairing.left), (self.after, self.pairing.right))
        used = {f for run, rows in sides for f in np.array(formulas(run.view), dtype=object)[rows][both]}
        return len(used) < 2

    def _method(self, judged: bool) -> str:
        """Which judge, and both when they differ: values of two methods are never compared without saying so."""
        if not judged:
            return "ids"
        first, second = (str(run.manifest.get("judge", "")) for run in (self.before, self.after))
        return first if first == second else f"{first} ≠ {second}"

    def slices(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """The slices in which the two runs differ most, corrected for how many were tried; see ``wb.worst_slices``."""
        from workbench.diagnosis.slices import worst_slices

        return worst_slices(self.after, columns, before=self.before)

    @cached_property
    def contrast(self) -> Floats:
        """(n,) how much better each sample became, in [−2, 2]: ±1 for a flip plus the mean difference of its scores."""
        flip = np.select([self.change == FIXED, self.change == BROKEN], [1.0, -1.0], 0.0)
        total, seen = np.zeros(len(self)), np.zeros(len(self))
        for name, metric in self.metrics.items():
            if metric.higher_is_better is None or not np.isfinite(metric.high):
                continue
            first, second = self.scored(name)
            both = first.ok & second.ok
            scale = (1 if metric.higher_is_better else -1) / (metric.high - metric.low)
            total[both] += scale * (second.values[both] - first.values[both])
            seen[both] += 1
        moved = np.divide(total, seen, out=np.zeros(len(self)), where=seen > 0)
        return flip + np.where(self.pairing.identical, 0.0, moved)

    # -- in detail --------------------------------------------------------------------------------------------------

    def rank_moves(self) -> pd.DataFrame:
        """Expected documents of matched samples: ``sample_id, doc_id, rank_before, rank_after, move`` (gained, lost,
        up, down, same, absent); ranks from 1, missing where it was not retrieved."""
        return changes.rank_moves(self)

    def contexts(self) -> pd.DataFrame:
        """Contexts that one run has and the other has not: ``sample_id, change`` (gained, lost)``, doc_id, rank,
        expected, leaked, text``."""
        return changes.contexts(self)

    def claims(self) -> pd.DataFrame:
        """Answer claims compared: ``sample_id, change, text_before, text_after, verdict_before, verdict_after``, with
        ``claim_before, claim_after`` (ids) and ``newly_unsupported``. ``change``: kept, verdict (same words, another
        verdict), number (same words, another number), gained, lost."""
        return changes.claims(self)

    def split(self) -> pd.DataFrame:
        """The change of the share of right answers split between retriever and generator; descriptive, see
        :func:`workbench.diagnosis.shapley.split`."""
        from workbench.diagnosis.shapley import split

        return split(self)

    def red_lines(self) -> pd.DataFrame:
        """Samples with a permission leak in either run: ``sample_id, change`` (new, gone, still)."""
        leak = CAUSES.index("permission_leak")
        first = self.before.causes.holds[self.pairing.left, leak]
        second = self.after.causes.holds[self.pairing.right, leak]
        either = first | second
        names = np.select([~first & second, first & ~second], ["new", "gone"], "still")
        return pd.DataFrame({"sample_id": self.pairing.ids[either].astype("str"), "change": names[either]})


def _names(codes: np.ndarray) -> np.ndarray:
    return np.array([*CAUSES, NOT_CHECKED, PASS], dtype=object)[codes]


def _row(name: str, first: Floats, second: Floats, *, binary: bool, method: str, higher: bool | None) -> dict[str, Any]:
    """One row of :meth:`Comparison.tests`."""
    differences = second - first
    delta = paired.exact_mean(differences)
    low, high, interval = paired.difference_interval(differences)
    if binary:
        test = "McNemar mid-p"
        p = paired.mcnemar_mid_p(int((differences > 0).sum()), int((differences < 0).sum()))
    else:
        test, p = "permutation", paired.permutation_p(differences)
    return {
        "metric": name, "n_pairs": len(first), "before": paired.exact_mean(first), "after": paired.exact_mean(second),
        "delta": delta, "low": low, "high": high, "p_value": p if len(first) else np.nan,
        "smallest_detectable": paired.smallest_detectable(differences, binary=binary),
        "test": "; ".join(part for part in (test, interval) if part), "method": method,
        "better": None if higher is None or not delta or np.isnan(delta) else bool((delta > 0) == higher),
    }  # fmt: skip
