"""May it ship? An evaluation checked against a rules file; the same file gives the same verdict everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.diagnosis.attribution import CAUSES
from workbench.diagnosis.comparing_words import p_text, points
from workbench.diagnosis.comparison import Comparison
from workbench.diagnosis.failing import PASSED
from workbench.diagnosis.statistics import mean_interval
from workbench.diagnosis.summary import summarise
from workbench.errors import InputError
from workbench.language import text as _t
from workbench.reports.junit import Case, write_junit
from workbench.reports.rules import Limit, Regression, Rules, freeze, load_rules, read_rules
from workbench.scoring.metrics import definitions
from workbench.views.filtering import facets
from workbench.views.names import cause_title, metric_title

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Check", "GateResult", "Rules", "check", "freeze", "load_rules", "read_rules"]

#: Ids that a message names at most; the frame has them all.
NAMED = 10


@dataclass(frozen=True)
class Check:
    """One rule and how it went.

    Attributes
    ----------
    kind
        ``red_line``, ``target``, ``limit``, ``slice`` or ``regression``.
    rule
        The rule in words.
    state
        ``passed``, ``failed``, or ``skipped`` when it needs a baseline and there is none.
    message
        What was found, in words.
    value, limit, n
        The number found, the one asked for, and over how many samples; NaN and 0 where there is none.
    sample_ids
        The samples at fault, for red lines and regressions.
    """

    kind: str
    rule: str
    state: str
    message: str
    value: float = float("nan")
    limit: float = float("nan")
    n: int = 0
    sample_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class GateResult:
    """All checks of one gate, red lines first.

    Attributes
    ----------
    run, baseline
        Names of the evaluations; baseline is None without one.
    checks
        One for each rule.
    warnings
        What makes run and baseline hard to compare; read before any number.
    """

    run: str
    baseline: str | None
    checks: tuple[Check, ...]
    warnings: tuple[str, ...] = ()
    source: str = "rules"

    @property
    def passed(self) -> bool:
        """No rule failed (a gate without any rule passes)."""
        return not self.failed

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(item for item in self.checks if item.state == "failed")

    def frame(self) -> pd.DataFrame:
        """One row a check: ``kind, rule, state, message, value, limit, n, sample_ids``."""
        import pandas as pd

        names = ("kind", "rule", "state", "message", "value", "limit", "n", "sample_ids")
        return pd.DataFrame([[getattr(item, name) for name in names] for item in self.checks], columns=list(names))

    def words(self) -> list[str]:
        """The result line by line: warnings, every rule with its mark, and the verdict."""
        marks = {"passed": "✓", "failed": "✗", "skipped": "○"}
        lines = [*self.warnings, *(f"{marks[item.state]} {item.rule}: {item.message}" for item in self.checks)]
        return [*lines, self.verdict]

    @property
    def verdict(self) -> str:
        """One sentence."""
        skipped = sum(item.state == "skipped" for item in self.checks)
        if not self.checks:
            return _t("gate.no_rules")
        key = "passes" if self.passed else "blocked"
        line = _t(f"gate.{key}", n=len(self.checks), failed=len(self.failed), run=self.run)
        return line + (" " + _t("gate.some_skipped", n=skipped) if skipped else "")

    def cases(self) -> list[Case]:
        """The checks as JUnit cases, one suite for each kind of rule."""
        return [
            Case(_t(f"gate.kind.{item.kind}"), item.rule, item.state, item.message, ", ".join(item.sample_ids))
            for item in self.checks
        ]

    def junit(self, path: str | Path) -> Path:
        """Write the checks as JUnit XML. Raises ``InputError`` when it cannot be written."""
        properties = {"run": self.run, "baseline": self.baseline or "", "rules": Path(self.source).name}
        return write_junit(path, f"gate {self.run}", self.cases(), properties)


def check(evaluation: Any, rules: Rules | str | Path, baseline: Any = None) -> GateResult:
    """Check an evaluation, and what may not get worse against ``baseline``, under the thresholds of the rules.

    Parameters
    ----------
    evaluation, baseline
        Evaluations; both are put under the thresholds of the file when it has any.
    rules
        What :func:`workbench.reports.rules.load_rules` read, or the path of a rules file.

    Raises
    ------
    InputError
        For a file that is no valid rules file, or a slice by something that no sample has.
    """
    loaded = rules if isinstance(rules, Rules) else load_rules(rules)
    if loaded.thresholds is not None:
        evaluation = evaluation.with_thresholds(loaded.thresholds)
        baseline = None if baseline is None else baseline.with_thresholds(loaded.thresholds)
    comparison = None if baseline is None else Comparison(baseline, evaluation)
    checks = [*_red_lines(evaluation, loaded), *_targets(evaluation, loaded)]
    checks += [_limit(evaluation, item, loaded.source) for item in loaded.limits]
    checks += list(_regressions(comparison, loaded.regression)) if loaded.regression is not None else []
    warnings = () if comparison is None or loaded.regression is None else tuple(comparison.warnings)
    return GateResult(evaluation.name, baseline and baseline.name, tuple(checks), warnings, loaded.source)


# ---------------------------------------------------------------- red lines


def _red_lines(evaluation: Any, rules: Rules) -> Iterator[Check]:
    wanted = [*(["permission_leak"] if rules.permission_leaks else []), *rules.causes]
    for cause in dict.fromkeys(wanted):
        holds = evaluation.causes.holds[:, CAUSES.index(cause)]
        ids = _ids(evaluation.evidence.ids[holds])
        rule = _t("gate.rule.no_cause", cause=cause_title(cause))
        message = _t("gate.found.ids", n=len(ids), ids=_named(ids)) if ids else _t("gate.found.none", n=len(evaluation))
        yield Check("red_line", rule, _state(not ids), message, len(ids), 0, len(evaluation), ids)
    for sample_id in rules.must_pass:
        yield _must_pass(evaluation, sample_id)


def _must_pass(evaluation: Any, sample_id: str) -> Check:
    rule = _t("gate.rule.must_pass", id=sample_id)
    place = int(evaluation.evidence.ids.get_indexer([sample_id])[0])
    if place < 0:
        return Check("red_line", rule, "failed", _t("gate.found.absent", id=sample_id), sample_ids=(sample_id,))
    primary = int(evaluation.causes.primary[place])
    cause = cause_title(str(evaluation.causes.names()[place]))
    message = _t("gate.found.passes") if primary == -1 else _t("gate.found.fails", cause=cause)
    return Check(
        "red_line", rule, _state(primary == -1), message, n=1, sample_ids=() if primary == -1 else (sample_id,)
    )


# ---------------------------------------------------------------- means


def _targets(evaluation: Any, rules: Rules) -> Iterator[Check]:
    """Every target; one that the data cannot reach is judged against what they allow, as in the summary."""
    if not rules.targets:
        return
    known = definitions(evaluation.thresholds.k)
    for name, target in evaluation.thresholds.targets.items():
        if name not in known:
            rule = _t("gate.rule.target", metric=metric_title(name), value=f"{target:g}")
            yield Check("target", rule, "skipped", _t("gate.found.other_k", k=evaluation.thresholds.k), limit=target)
            continue
        summary = summarise(evaluation.view, {name: evaluation.metric(name)}, known, intervals=False)
        row = summary.loc[name]
        reachable = min(target, row["attainable"]) if known[name].higher_is_better is not False else target
        limit = Limit(name, float(reachable if np.isfinite(reachable) else target),
                      known[name].higher_is_better is not False, by=rules.by)  # fmt: skip
        found = _limit(evaluation, limit, rules.source)
        note = _t("gate.found.attainable", target=f"{target:g}") if limit.value < target else ""
        yield Check("target", found.rule, found.state, found.message + note, found.value, target, found.n)


def _limit(evaluation: Any, limit: Limit, source: str) -> Check:
    keep = _slice(evaluation, limit.where, source)
    values, binary = _values(evaluation, limit.metric)
    own = values[keep & np.isfinite(values)]
    words = _where_words(limit.where)
    rule = _t(f"gate.rule.{'at_least' if limit.least else 'at_most'}", metric=_title(limit.metric), where=words,
              value=f"{limit.value:g}")  # fmt: skip
    kind = "slice" if limit.where else "limit"
    if not len(own):
        return Check(kind, rule, "failed", _t("gate.found.no_score", n=int(keep.sum())), limit=limit.value)
    interval = mean_interval(own, binary=binary)
    mean = float(own.mean())
    end = interval.low if limit.least else interval.high
    value = end if limit.by == "interval" and np.isfinite(end) else mean
    good = value >= limit.value - 1e-12 if limit.least else value <= limit.value + 1e-12
    between = f" ({interval.low:.2f} – {interval.high:.2f})" if np.isfinite(interval.low) else ""
    key = "mean" if limit.by == "mean" else "interval"
    message = _t(f"gate.found.{key}", value=f"{mean:.3f}", interval=between, n=len(own), total=int(keep.sum()))
    return Check(kind, rule, _state(good), message, value, limit.value, len(own))


def _values(evaluation: Any, metric: str) -> tuple[np.ndarray, bool]:
    """(n,) scores with NaN where there is none, and whether they are 0 or 1."""
    if metric == PASSED:
        primary = evaluation.causes.primary
        return np.where(primary == -2, np.nan, (primary == -1).astype(float)), True
    return evaluation.metric(metric).values, definitions(evaluation.thresholds.k)[metric].binary


def _slice(evaluation: Any, where: Mapping[str, str], source: str) -> np.ndarray:
    """(n,) the samples for which every condition holds.

    A condition is on ``case_type`` (or ``type``), ``language``, ``tenant``, or the name of a tag.
    """
    keep = np.ones(len(evaluation), dtype=bool)
    if not where:
        return keep
    frame = evaluation.samples.frame
    known = facets(frame)
    for name, value in where.items():
        own: Sequence[Any]
        if name in ("case_type", "type", "language"):
            own = known["type" if name == "case_type" else name].tolist()
        elif name == "tenant":
            own = frame["tenant"].tolist()
        else:
            own = [tags.get(name) if isinstance(tags, Mapping) else None for tags in frame["tags"].tolist()]
        if not any(isinstance(item, (str, int, float)) and item == item for item in own):
            raise InputError(
                f"{source}: where {name} = {value!r}: no sample has a {name}; use case_type, language, tenant or a tag"
            )
        keep &= np.array([str(item) == value for item in own], dtype=bool)
    return keep


# ---------------------------------------------------------------- against the baseline


def _regressions(comparison: Comparison | None, wanted: Regression) -> Iterator[Check]:
    if comparison is None:
        for name in wanted.metrics:
            rule = _t("gate.rule.no_regression", metric=_title(name))
            yield Check("regression", rule, "skipped", _t("gate.found.no_baseline"))
        if wanted.max_broken is not None:
            rule = _t("gate.rule.max_broken", n=wanted.max_broken)
            yield Check("regression", rule, "skipped", _t("gate.found.no_baseline"), limit=wanted.max_broken)
        return
    tests = comparison.tests(wanted.metrics).set_index("metric")
    for name in wanted.metrics:
        yield _regression(name, tests.loc[name], wanted)
    if wanted.max_broken is not None:
        flips = comparison.flips()
        ids = tuple(flips.loc[flips["change"] == "broken", "sample_id"].tolist())
        rule = _t("gate.rule.max_broken", n=wanted.max_broken)
        message = _t("gate.found.ids", n=len(ids), ids=_named(ids)) if ids else _t("gate.found.none", n=len(comparison))
        yield Check("regression", rule, _state(len(ids) <= wanted.max_broken), message, len(ids), wanted.max_broken,
                    len(comparison), ids)  # fmt: skip


def _regression(name: str, row: Any, wanted: Regression) -> Check:
    """One metric against the baseline: worse and significant, or worse by more than is allowed."""
    rule = _t("gate.rule.no_regression", metric=_title(name))
    n = int(row["n_pairs"])
    if not n:
        return Check("regression", rule, "failed", _t("gate.found.no_pairs"))
    worse = row["better"] is False or row["better"] == False  # noqa: E712 - a numpy bool is not the object False
    significant = bool(worse and row["p_adjusted"] < wanted.alpha)
    too_far = bool(worse and wanted.max_drop is not None and abs(row["delta"]) > wanted.max_drop + 1e-12)
    key = "significant" if significant else "too_far" if too_far else "worse_noise" if worse else "not_worse"
    unit: Callable[[float], str] = points if name == PASSED else lambda value: f"{value:+.3f}".replace("-", "−")
    message = _t(f"gate.found.{key}", delta=unit(row["delta"]), low=unit(row["low"]), high=unit(row["high"]),
                 p=p_text(row["p_adjusted"]), n=n, limit=f"{wanted.max_drop or 0:g}",
                 before=f"{row['before']:.3f}", after=f"{row['after']:.3f}")  # fmt: skip
    return Check("regression", rule, _state(not (significant or too_far)), message, float(row["delta"]),
                 -(wanted.max_drop or 0.0), n)  # fmt: skip


# ---------------------------------------------------------------- words


def _state(good: bool) -> str:
    return "passed" if good else "failed"


def _title(metric: str) -> str:
    return _t("gate.passed") if metric == PASSED else metric_title(metric)


def _where_words(where: Mapping[str, str]) -> str:
    return _t("gate.where", where=", ".join(f"{name} = {value}" for name, value in where.items())) if where else ""


def _ids(index: Any) -> tuple[str, ...]:
    return tuple(str(item) for item in index.tolist())


def _named(ids: Sequence[str]) -> str:
    return ", ".join(ids[:NAMED]) + (f" … (+{len(ids) - NAMED:,})" if len(ids) > NAMED else "")
