"""What changed between two evaluations of the same cases, and whether it is real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from workbench.data.run_config import change_words, config_changes
from workbench.diagnosis import changes, statistics
from workbench.diagnosis.cause_inputs import PASSED
from workbench.diagnosis.causes import LAYERS, NOT_CHECKED, PASS, cause_names, layer, rules
from workbench.diagnosis.changes import Mask, Pairing, pair, same_questions
from workbench.diagnosis.statistics import mean_interval
from workbench.errors import InputError
from workbench.language import sentences
from workbench.language import text as _t
from workbench.language.numbers import p_value, percent, points
from workbench.scoring.metrics import HEADLINE, OVERALL, definition, definitions
from workbench.scoring.scored import Floats, Scored
from workbench.scoring.thresholds import Thresholds

if TYPE_CHECKING:
    from workbench.scoring.view import Metric


# ------------------------------------------------------------------------------
# A comparison in words: what to know before any number, and the outcome in a sentence.


#: Parts of the manifest that must agree for two verdicts to mean the same, by the name of their text.
_SAME = ("judge", "prompt_hash", "encoder")
#: Ids that a sentence names at most.
NAMED = 5


def _thresholds(comparison: Comparison) -> list[str]:
    first, second = comparison.before.thresholds, comparison.after.thresholds
    lines = []
    if first.k != second.k:
        lines.append(_t("compare.warning.k", before=first.k, after=second.k))
    if first.match != second.match:
        lines.append(_t("compare.warning.match", before=first.match, after=second.match))
    if changed := _differing(first, second):
        lines.append(_t("compare.warning.thresholds", changes="; ".join(changed)))
    return lines


def _differing(first: Thresholds, second: Thresholds) -> list[str]:
    """The cut-offs that differ, but k, matching and targets (which move no verdict), as "name 0.5 → 0.6"."""
    one, other = first.to_dict(), second.to_dict()
    flat = [{**plain, **{f"low score of {m}": cut for m, cut in plain["low_scores"].items()}} for plain in (one, other)]
    left_out = ("k", "match", "targets", "low_scores")
    names = [name for name in dict.fromkeys([*flat[0], *flat[1]]) if name not in left_out]
    return [f"{name} {flat[0].get(name, '–')} → {flat[1].get(name, '–')}" for name in names
            if flat[0].get(name) != flat[1].get(name)]  # fmt: skip


def _judges(comparison: Comparison) -> list[str]:
    first, second = comparison.before.manifest, comparison.after.manifest
    lines = [
        _t(f"compare.warning.{name}", before=first.get(name) or "–", after=second.get(name) or "–")
        for name in _SAME
        if first.get(name) != second.get(name)
    ]
    plain = [run.evidence.plain("judge_method") for run in (comparison.before, comparison.after)]
    methods = [sorted({str(method) for method in column if method is not None}) for column in plain]
    if methods[0] != methods[1] and first.get("judge") == second.get("judge"):
        lines.append(
            _t("compare.warning.methods", before=", ".join(methods[0]) or "–", after=", ".join(methods[1]) or "–")
        )
    return lines


def _data(comparison: Comparison) -> list[str]:
    pairing, lines = comparison.pairing, []
    edited = pairing.case_changed
    if edited.any():
        ids = named_ids([str(item) for item in pairing.ids[edited]])
        lines.append(_t("compare.warning.cases", n=f"{int(edited.sum()):,}", ids=ids))
    corpora = [(run.manifest.get("corpus") or {}).get("hash") for run in (comparison.before, comparison.after)]
    if corpora[0] != corpora[1]:
        lines.append(_t("compare.warning.corpus"))
    fewer = min(len(comparison.before.evidence), len(comparison.after.evidence))
    if fewer and len(pairing) < fewer / 2:
        lines.append(_t("compare.warning.overlap", n=f"{len(pairing):,}", total=f"{fewer:,}"))
    return lines


def _notes(comparison: Comparison) -> list[str]:
    pairing = comparison.pairing
    lines = [_t("compare.note.matched", n=f"{len(pairing):,}", before=f"{len(pairing.only_before):,}",
                after=f"{len(pairing.only_after):,}")]  # fmt: skip
    shared = set(pairing.ids)
    if by_question := sum(new in shared for new in comparison.renamed.values()):
        lines.append(_t("compare.note.by_question", n=f"{by_question:,}"))
    if reused := len(comparison.renamed) - by_question:
        lines.append(_t("compare.note.reused", n=f"{reused:,}"))
    hashes = [run.manifest.get("data_hash") for run in (comparison.before, comparison.after)]
    if hashes[0] != hashes[1]:
        lines.append(_t("compare.note.data", before=str(hashes[0] or "–")[:8], after=str(hashes[1] or "–")[:8],
                        same=f"{int(pairing.identical.sum()):,}", n=f"{len(pairing):,}"))  # fmt: skip
    configs = [run.manifest.get("config") or {} for run in (comparison.before, comparison.after)]
    if changed := config_changes(*configs):
        lines.append(_t("compare.note.config", changes=change_words(changed)))
    if noise := comparison.counts.noise:
        ids = named_ids(comparison.noise()["sample_id"].tolist())
        lines.append(_t("compare.note.noise", n=f"{noise:,}", same=f"{int(pairing.identical.sum()):,}", ids=ids))
    return lines


def _verdict(comparison: Comparison) -> str:
    counts, row = comparison.counts, comparison.passing
    levels = {name: percent(row[name]) for name in ("before", "after")}
    if not counts.n:
        return _t("compare.verdict.no_ids")
    n = row["n_pairs"]
    if not n:
        return _t("compare.verdict.untested", n=f"{counts.n:,}")
    if counts.fixed == counts.broken == 0:
        unmoved = not comparison.pairing.answer_changed.any() and not comparison.pairing.contexts_changed.any()
        first = _t("compare.verdict.same" if unmoved else "compare.verdict.no_flip", n=f"{n:,}", **levels)
    else:
        figures = {
            "n": f"{n:,}", "points": points(abs(row["delta"]), signed=False), "low": points(row["low"]),
            "high": points(row["high"]), "p": p_value(row["p_value"]),
            "detectable": points(row["smallest_detectable"], signed=False),
        }  # fmt: skip
        way = "even" if row["delta"] == 0 else "better" if row["delta"] > 0 else "worse"
        sure = "" if way == "even" else "_real" if row["p_value"] < 0.05 else "_noise"
        first = _t(f"compare.verdict.{way}{sure}", **figures, **levels)
    return sentences([first, *_red(comparison)])


def right_words(before: float, after: float, delta: float, interval: tuple[float, float], n: int, p: float) -> str:
    """How the share of answers that are right end to end moved; that nothing can be shown is said before how much."""
    low, high = (points(end) for end in interval)
    said = "" if np.isnan(interval[0]) else _t("compare.verdict.right_interval", low=low, high=high)
    kind = "same" if delta == 0 else "real" if p < 0.05 else "noise"
    return _t(f"compare.verdict.right_{kind}", before=percent(before), after=percent(after), delta=points(delta),
              interval=said, n=f"{n:,}")  # fmt: skip


def _red(comparison: Comparison) -> list[str]:
    """New and vanished permission leaks, and how many samples broke."""
    red = comparison.red_lines()
    new, gone = (red.loc[red["change"] == name, "sample_id"].tolist() for name in ("new", "gone"))
    lines = (
        [_t(f"compare.verdict.leaks_{'one' if len(new) == 1 else 'new'}", n=len(new), ids=named_ids(new))] if new else []
    )
    if broken := comparison.counts.broken:
        key = "broken_one" if broken == 1 else "broken"
        lines.append(_t(f"compare.verdict.{key}", n=f"{broken:,}"))
    if gone:
        lines.append(_t(f"compare.verdict.leaks_gone{'_one' if len(gone) == 1 else ''}", n=len(gone)))
    return lines


def named_ids(ids: Sequence[str], most: int = NAMED) -> str:
    """The first of them, each cut at 40 characters, and how many more there are: "a, b … (+3)"."""
    shown = ", ".join(item[:40] for item in ids[:most])
    return shown + (f" … (+{len(ids) - most:,})" if len(ids) > most else "")


def change_title(change: str) -> str:
    """``broken`` … as a reader calls it."""
    return _t(f"compare.change.{change}.name")


def layer_title(layer: str) -> str:
    """``retrieval`` … as a reader calls it."""
    return _t(f"compare.layer.{layer}.name")


# ------------------------------------------------------------------------------
# More than two runs: one table over all of them, on the samples that every one has.


COLUMNS = ("run", "metric", "n", "mean", "low", "high", "delta", "delta_low", "delta_high", "p_value")


def runs_table(
    runs: Sequence[Any], names: Sequence[str] | None = None, *, metrics: Sequence[str] | None = None
) -> pd.DataFrame:
    """Means over the samples that all runs share, and each run's paired difference to the first.

    Parameters
    ----------
    runs
        Evaluations, in the order in which they are shown (oldest first).
    names
        What to call them; by default their own names, numbered where two are the same.
    metrics
        Metric names, ``passed`` for pass / fail; by default a few of each layer.

    Returns
    -------
    DataFrame, one row a metric and run: ``run, metric, n, mean, low, high, delta, delta_low, delta_high, p_value``. Each
    metric is over the samples with a score in every run (``n``), so that the means can be compared; ``low``, ``high``
    are the 95 % interval of the mean, ``delta…`` the paired difference to the first run (missing for itself).

    Raises
    ------
    InputError
        For fewer than two runs.
    """
    if len(runs) < 2:
        raise InputError("comparing runs needs at least two evaluations")
    own = [str(run.name) for run in runs]
    numbered = [name if own.count(name) == 1 else f"{name} {own[: i + 1].count(name)}" for i, name in enumerate(own)]
    titles = numbered if names is None else list(names)
    ids = runs[0].evidence.ids
    for run in runs[1:]:
        ids = ids[ids.isin(run.evidence.ids)]
    rows: list[tuple[Any, ...]] = []
    for metric in _chosen(runs, metrics):
        rows += _rows(metric, titles, [_values(run, metric, ids) for run in runs])
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _chosen(runs: Sequence[Any], metrics: Sequence[str] | None) -> list[str]:
    shared = [name for name in runs[0].metrics if all(name in run.metrics for run in runs)]
    if metrics is None:
        return [PASSED, *(name for name in shared if (known := definition(name)) and known.in_overview)]
    return [name for name in metrics if name == PASSED or name in shared]


def _values(run: Any, metric: str, ids: pd.Index) -> np.ndarray:
    """(n,) scores of one run on the shared samples, NaN where there is none."""
    codes = run.evidence.ids.get_indexer(ids)
    if metric == PASSED:
        return np.asarray(run.causes.inputs.failing.passed[codes], dtype=float)
    values: np.ndarray = run.metric(metric).values[codes]
    return values


def _rows(metric: str, titles: Sequence[str], values: Sequence[np.ndarray]) -> list[tuple[Any, ...]]:
    known = np.isfinite(np.stack(values)).all(axis=0)
    declared = definition(metric)
    binary = metric == PASSED or bool(declared and declared.binary)
    rows = []
    for place, (title, own) in enumerate(zip(titles, (v[known] for v in values), strict=True)):
        low, high, _ = mean_interval(own, binary=binary) if len(own) else (np.nan, np.nan, "")
        delta: tuple[float, ...] = (np.nan,) * 4
        if place:
            delta = _difference(own - values[0][known], binary)[:4]
        rows.append((title, metric, len(own), statistics.exact_mean(own), low, high, *delta))
    return rows


class _Difference(NamedTuple):
    """A paired difference: mean, 95 % interval, p-value, and the names of test and interval."""

    mean: float
    low: float
    high: float
    p: float
    test: str


def _difference(differences: np.ndarray, binary: bool) -> _Difference:
    low, high, method = statistics.difference_interval(differences)
    if binary:
        p = statistics.mcnemar_mid_p(int((differences > 0).sum()), int((differences < 0).sum()))
    else:
        p = statistics.permutation_p(differences)
    names = ["McNemar mid-p" if binary else "permutation", *([method] if method else [])]
    return _Difference(statistics.exact_mean(differences), low, high, p if len(differences) else np.nan, "; ".join(names))


# ------------------------------------------------------------------------------
# The comparison itself.


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


def compared(before: Any, after: Any, *, correction: str = "holm", like: Comparison | None = None) -> Comparison:
    """The comparison of two evaluations; what has no shared ids is paired by question, see :func:`same_questions`.

    ``like``: an earlier one, whose pairs are taken where it is of the same evidence under other thresholds.
    """
    if like is not None and like.given[0] is before.evidence and like.given[1] is after.evidence:
        own = like.before.with_thresholds(before.thresholds) if like.renamed else before
        found, names = Comparison(own, after, correction=correction, pairing=like.pairing), like.renamed
    else:
        names = same_questions(after.evidence, before.evidence)
        found = Comparison(before.renamed(names) if names else before, after, correction=correction)
    found.renamed, found.given = names, (before.evidence, after.evidence)
    return found


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
        self.renamed: dict[str, str] = {}
        self.before, self.after = before, after
        self.given = before.evidence, after.evidence
        self.correction = correction
        self.pairing = pair(self.before.evidence, self.after.evidence) if pairing is None else pairing
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

    @property
    def warnings(self) -> list[str]:
        """What makes the two hard to compare (judge, thresholds, k, cases …), to be read before any number."""
        return [*_thresholds(self), *_judges(self), *_data(self)]

    @property
    def notes(self) -> list[str]:
        """What to know beside: unmatched ids, how much of the recordings is the same."""
        return _notes(self)

    @property
    def verdict(self) -> str:
        """The outcome in one sentence or two, in the language in force."""
        return _verdict(self)

    @cached_property
    def right(self) -> str:
        """How many are right end to end, before and after, in one sentence; empty where it is known of no pair."""
        if HEADLINE not in self.known:
            return ""
        row = self._test(HEADLINE)
        figures = (row["before"], row["after"], row["delta"], (row["low"], row["high"]), row["n_pairs"], row["p_value"])
        return right_words(*figures) if row["n_pairs"] else ""

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

    def flips(self, rows: Any = None) -> pd.DataFrame:
        """One row a matched sample, in the order of the first run: ``sample_id, change, cause_before, cause_after,
        answer_changed, contexts_changed``, then ``case_changed, judge_noise, contrast``. ``rows``: places of some, or a mask.

        ``change``: fixed, broken, still_failing, still_passing, or not_comparable when nothing could be tested in one of
        the runs or the verdict moved on identical text (``judge_noise``). ``contrast`` in [−2, 2]: how much better the
        sample became, ±1 for a flip plus the mean difference of its scores.
        """
        return self._flips_of(rows) if rows is not None else self._flips.copy()

    @cached_property
    def _flips(self) -> pd.DataFrame:
        return self._flips_of(slice(None))

    def _flips_of(self, rows: Any) -> pd.DataFrame:
        (first, second), pairs = self._primary, self.pairing
        return pd.DataFrame({
            "sample_id": pairs.ids[rows].astype("str"), "change": np.array(CHANGES)[self.change[rows]],
            "cause_before": _names(first[rows]), "cause_after": _names(second[rows]),
            "answer_changed": pairs.answer_changed[rows], "contexts_changed": pairs.contexts_changed[rows],
            "case_changed": pairs.case_changed[rows], "judge_noise": self.noisy[rows], "contrast": self.contrast[rows],
        })  # fmt: skip

    def changed_to(self, *names: str) -> Mask:
        """(n,) whether the change of a matched sample is one of ``names``."""
        return np.isin(self.change, [CHANGES.index(name) for name in names])

    def has_cause(self, cause: str) -> Mask:
        """(n,) whether a matched sample has this primary cause in either run."""
        code = {NOT_CHECKED: -2, PASS: -1}.get(cause)
        code = list(cause_names()).index(cause) if code is None else code
        return (self._primary[0] == code) | (self._primary[1] == code)

    @cached_property
    def moved(self) -> Mask:
        """(n,) whether the primary cause is another one."""
        return np.asarray(self._primary[0] != self._primary[1])

    def ledger(self) -> pd.DataFrame:
        """``cause_before, cause_after, n, sample_ids``, then ``n_noise, layer_before, layer_after``: where every matched
        sample came from and went to. The n add up to all matched samples; by ``cause_before`` to the first run's
        causes, by ``cause_after`` to the second's. Changes first, the most frequent first. ``n_noise`` of the n moved
        on identical text.
        """
        first, second = self._primary
        width = len(cause_names()) + 2
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
        width = len(cause_names()) + 2
        counted = [np.roll(np.bincount(codes + 2, minlength=width), -2) for codes in (first, second)]
        names = [*cause_names(), NOT_CHECKED, PASS]
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
        ``smallest_detectable``: see :func:`workbench.diagnosis.statistics.smallest_detectable`. ``better``: whether the
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
        corrected[own] = statistics.adjusted(corrected[own].tolist(), self.correction)
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
        judged = not metric.read_from.startswith("ids")
        return _row(name, first.values[both], second.values[both], binary=metric.binary, method=self._method(judged),
                    higher=metric.higher_is_better)  # fmt: skip

    def _one_formula(self, name: str, both: Mask) -> bool:
        """Whether every pair was scored by the same formula: ``overall`` over several of them is a mean of nothing."""
        if name != OVERALL.name:
            return True
        sides = ((self.before, self.pairing.left), (self.after, self.pairing.right))
        used = {f for run, rows in sides for f in run.formulas()[rows][both]}
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
        :func:`workbench.diagnosis.changes.split`."""
        return changes.split(self)

    def red_lines(self) -> pd.DataFrame:
        """Samples with a red line, such as a permission leak, in either run: ``sample_id, change`` (new, gone, still)."""
        red = [at for at, rule in enumerate(rules()) if rule.red_line]
        first = self.before.causes.holds[self.pairing.left][:, red].any(axis=1)
        second = self.after.causes.holds[self.pairing.right][:, red].any(axis=1)
        either = first | second
        names = np.select([~first & second, first & ~second], ["new", "gone"], "still")
        return pd.DataFrame({"sample_id": self.pairing.ids[either].astype("str"), "change": names[either]})


def _names(codes: np.ndarray) -> np.ndarray:
    return np.array([*cause_names(), NOT_CHECKED, PASS], dtype=object)[codes]


def _row(name: str, first: Floats, second: Floats, *, binary: bool, method: str, higher: bool | None) -> dict[str, Any]:
    """One row of :meth:`Comparison.tests`."""
    differences = second - first
    delta = _difference(differences, binary)
    return {
        "metric": name, "n_pairs": len(first), "before": statistics.exact_mean(first), "after": statistics.exact_mean(second),
        "delta": delta.mean, "low": delta.low, "high": delta.high, "p_value": delta.p,
        "smallest_detectable": statistics.smallest_detectable(differences, binary=binary), "test": delta.test,
        "method": method,
        "better": None if higher is None or not delta.mean or np.isnan(delta.mean) else bool((delta.mean > 0) == higher),
    }  # fmt: skip
