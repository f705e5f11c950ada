"""May it ship? An evaluation checked against a rules file; the same file gives the same verdict everywhere."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.data.files import write_text
from workbench.diagnosis.cause_inputs import PASSED
from workbench.diagnosis.causes import CAUSES
from workbench.diagnosis.comparison import Comparison
from workbench.diagnosis.statistics import mean_interval
from workbench.diagnosis.summary import summarise
from workbench.errors import InputError
from workbench.language import text as _t
from workbench.language.numbers import interval as score_interval
from workbench.language.numbers import p_value, points
from workbench.reports.tables import Case, write_junit
from workbench.scoring.metrics import chosen, definitions
from workbench.scoring.thresholds import Thresholds
from workbench.views.filtering import facets
from workbench.views.wording import cause_title, metric_title

if TYPE_CHECKING:
    import pandas as pd


# ------------------------------------------------------------------------------
# The rules file of the gate: a thresholds file with ``[rules]`` and ``[red_lines]`` added. Reading, checking, freezing.


#: Keys of each table, so that a misspelt rule is an error and not a rule that never fails.
RULES = ("targets", "by", "at_least", "at_most", "slice", "no_regression")
SLICE = ("where", "at_least", "at_most", "by")
REGRESSION = ("metrics", "alpha", "max_drop", "max_broken")
RED_LINES = ("permission_leaks", "must_pass", "causes")
BY = ("mean", "interval")

#: What a new file begins with below its thresholds.
NEW_FILE = """
[rules]
targets = true  # every target above must be met

[red_lines]
permission_leaks = true  # not one, whatever the averages say
must_pass = []  # ids of samples that must pass
"""


@dataclass(frozen=True)
class Limit:
    """One bound on a mean: ``metric`` must be at least or at most ``value`` in the samples where ``where`` holds.

    ``by``: ``mean`` compares the mean, ``interval`` the worse end of its 95 % interval.
    """

    metric: str
    value: float
    least: bool = True
    where: Mapping[str, str] = field(default_factory=dict)
    by: str = "mean"


@dataclass(frozen=True)
class Regression:
    """What may not get worse against a baseline.

    ``metrics``: each is tested on paired samples and fails when it is worse with p < ``alpha``, corrected for how many
    are listed. ``max_drop``: fails when it is worse by more than this, whatever the test says. ``max_broken``: at most so
    many samples that passed may fail.
    """

    metrics: tuple[str, ...] = ()
    alpha: float = 0.05
    max_drop: float | None = None
    max_broken: int | None = None


@dataclass(frozen=True)
class Rules:
    """Everything that a gate checks; see ``sample_data/support/gate.toml`` for the file.

    Attributes
    ----------
    thresholds
        Those of the file, None when it has none: then the evaluation's own hold.
    targets
        Whether every target of the thresholds must be met.
    limits, regression
        Bounds on means, and what may not get worse.
    permission_leaks, must_pass, causes
        Red lines: no leak, ids that must pass, causes that no sample may have.
    """

    thresholds: Thresholds | None = None
    targets: bool = False
    by: str = "mean"
    limits: tuple[Limit, ...] = ()
    regression: Regression | None = None
    permission_leaks: bool = False
    must_pass: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    source: str = "rules"


def load_rules(path: str | Path) -> Rules:
    """Read a rules file.

    Raises
    ------
    InputError
        For a file that cannot be read, invalid TOML, an unknown table, key, metric or cause, or a value out of range;
        the message names file, table, key and what is allowed.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or 'not UTF-8'})") from error
    return read_rules(text, str(path))


def read_rules(text: str, source: str = "rules") -> Rules:
    """Read the text of a rules file; see :func:`load_rules`."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source}: not valid TOML ({error})") from error
    reader = _Reader(source)
    reader.keys(tables, ("thresholds", "rules", "red_lines"), "the file")
    thresholds = reader.thresholds(tables.get("thresholds"), text)
    reader.k = (thresholds or Thresholds()).k
    rules, red = reader.table(tables, "rules", RULES), reader.table(tables, "red_lines", RED_LINES)
    return Rules(
        thresholds, reader.flag(rules, "targets", "[rules]"), reader.by(rules, "[rules]"), reader.limits(rules),
        reader.regression(rules), reader.flag(red, "permission_leaks", "[red_lines]"),
        reader.names(red, "must_pass", "[red_lines]"), reader.causes(red), source,
    )  # fmt: skip


class _Reader:
    """Checks of one file; every message begins with its name."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.k = 5

    def fail(self, place: str, problem: str) -> InputError:
        """The error to raise: file, place, problem."""
        return InputError(f"{self.source}: {place}: {problem}")

    def keys(self, table: Mapping[str, Any], known: Sequence[str], place: str) -> None:
        """Check that ``table`` has no key but ``known``."""
        if unknown := [key for key in table if key not in known]:
            raise self.fail(place, f"unknown key {unknown[0]!r}; known are {', '.join(known)}")

    def table(self, tables: Mapping[str, Any], name: str, known: Sequence[str]) -> Mapping[str, Any]:
        """The table ``name`` with its keys checked; empty when the file has none."""
        table = tables.get(name, {})
        if not isinstance(table, Mapping):
            raise self.fail(f"[{name}]", "must be a table")
        self.keys(table, known, f"[{name}]")
        return table

    def thresholds(self, table: Any, text: str) -> Thresholds | None:
        """The thresholds of the file; None when it has none."""
        if table is None:
            return None
        try:
            return Thresholds.from_toml(text + "\n")
        except InputError as error:
            raise InputError(f"{self.source}: {error}") from error

    def flag(self, table: Mapping[str, Any], key: str, place: str) -> bool:
        """A true or false, false when absent."""
        value = table.get(key, False)
        if not isinstance(value, bool):
            raise self.fail(f"{place} {key}", f"is {value!r}; use true or false")
        return value

    def by(self, table: Mapping[str, Any], place: str) -> str:
        """What a bound is held against, one of :data:`BY`."""
        value = table.get("by", "mean")
        if value not in BY:
            raise self.fail(f"{place} by", f"is {value!r}; use {' or '.join(map(repr, BY))}")
        return str(value)

    def names(self, table: Mapping[str, Any], key: str, place: str) -> tuple[str, ...]:
        """A list of texts, empty when absent."""
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, (str, int)) for item in value):
            raise self.fail(f"{place} {key}", "must be a list of texts")
        return tuple(str(item) for item in value)

    def causes(self, table: Mapping[str, Any]) -> tuple[str, ...]:
        """Causes that no sample may have."""
        names = self.names(table, "causes", "[red_lines]")
        if unknown := [name for name in names if name not in CAUSES]:
            raise self.fail("[red_lines] causes", f"unknown cause {unknown[0]!r}; known are {', '.join(CAUSES)}")
        return names

    def metric(self, name: str, place: str) -> str:
        """The name of a metric with its cut-off, or ``passed``."""
        if name == PASSED:
            return name
        try:
            return chosen([name], self.k)[0]
        except InputError as error:
            raise self.fail(place, str(error)) from error

    def number(self, value: Any, place: str, low: float = 0.0, high: float = float("inf")) -> float:
        """A number in [``low``, ``high``]."""
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise self.fail(place, f"is {value!r}; use a number from {low:g} to {high:g}")
        return float(value)

    def limits(self, rules: Mapping[str, Any]) -> tuple[Limit, ...]:
        """Bounds of ``[rules]`` and of every ``[[rules.slice]]``."""
        found = self.bounds(rules, {}, self.by(rules, "[rules]"), "[rules")
        slices = rules.get("slice", [])
        if not isinstance(slices, list):
            raise self.fail("[rules.slice]", "write [[rules.slice]], one for each slice")
        for number, item in enumerate(slices, start=1):
            place = f"[[rules.slice]] {number}"
            self.keys(item, SLICE, place)
            where = item.get("where")
            if not isinstance(where, Mapping) or not where:
                raise self.fail(place, 'needs where = { language = "zh" } or another condition')
            condition = {str(key): str(value) for key, value in where.items()}
            own = self.bounds(
                item, condition, self.by(item, place) if "by" in item else self.by(rules, "[rules]"), place
            )
            if not own:
                raise self.fail(place, "has neither at_least nor at_most")
            found += own
        return tuple(found)

    def bounds(self, table: Mapping[str, Any], where: Mapping[str, str], by: str, place: str) -> list[Limit]:
        """The ``at_least`` and ``at_most`` of one table."""
        found = []
        for key in ("at_least", "at_most"):
            bounds = table.get(key, {})
            if not isinstance(bounds, Mapping):
                raise self.fail(f"{place}.{key}]", "must be a table of metric = number")
            for name, value in bounds.items():
                spot = f"{place}.{key}] {name}"
                limit = self.number(value, spot)
                found.append(Limit(self.metric(name, spot), limit, key == "at_least", where, by))
        return found

    def regression(self, rules: Mapping[str, Any]) -> Regression | None:
        """What may not get worse; None when the file does not ask."""
        if "no_regression" not in rules:
            return None
        place = "[rules.no_regression]"
        table = rules["no_regression"]
        if not isinstance(table, Mapping):
            raise self.fail(place, "must be a table")
        self.keys(table, REGRESSION, place)
        names = tuple(
            self.metric(name, f"{place} metrics") for name in self.names(table, "metrics", place) or (PASSED,)
        )
        for name in names:
            if name != PASSED and definitions(self.k)[name].higher_is_better is None:
                raise self.fail(f"{place} metrics", f"{name!r} is neither better high nor low; leave it out")
        drop, broken = table.get("max_drop"), table.get("max_broken")
        return Regression(
            names, self.number(table.get("alpha", 0.05), f"{place} alpha", 0, 1),
            None if drop is None else self.number(drop, f"{place} max_drop"),
            None if broken is None else int(self.number(broken, f"{place} max_broken")),
        )  # fmt: skip


# ---------------------------------------------------------------- freezing


def freeze(path: str | Path, thresholds: Thresholds) -> Path:
    """Put ``thresholds`` into the rules file ``path``; its rules, red lines and their comments stay as they are.

    A new file also asks for the targets and for no permission leak. Written whole or not at all.

    Raises
    ------
    InputError
        When an existing file is not a valid rules file, or the place cannot be written.
    """
    target = Path(path)
    before, after = "", NEW_FILE
    if target.is_file() and (text := target.read_text(encoding="utf-8-sig")).strip():
        old = read_rules(text, str(target))
        before, after = _around_thresholds(text)
        new = read_rules(before + thresholds.to_toml() + after, str(target))
        if replace(old, thresholds=None) != replace(new, thresholds=None):
            raise InputError(f"{target}: its tables are not laid out plainly; put [thresholds] in by hand")
    return write_text(target, before + thresholds.to_toml() + after)


_HEADER = re.compile(r"^\s*\[{1,2}\s*([^\]]+?)\s*\]{1,2}\s*(#.*)?$")


def _around_thresholds(text: str) -> tuple[str, str]:
    """What stands before and after ``[thresholds]`` and the tables below it; comments right above a table stay with it."""
    parts: tuple[list[str], list[str]] = ([], [])
    comments: list[str] = []
    dropping, seen = False, "[thresholds" not in text.replace(" ", "")
    for line in text.splitlines():
        if header := _HEADER.match(line):
            name = header.group(1).replace(" ", "").replace('"', "")
            dropping = name == "thresholds" or name.startswith("thresholds.")
            seen = seen or dropping
            parts[seen].extend([] if dropping else [*comments, line])
            comments = []
        elif not dropping:
            parts[seen].append(line)
        else:
            comments = [*comments, line] if line.lstrip().startswith("#") else [] if line.strip() else comments
    before, after = ("\n".join(part).strip("\n") for part in parts)
    return (f"{before}\n\n" if before else ""), (f"\n{after}\n" if after else "")


# ------------------------------------------------------------------------------


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
        What :func:`workbench.reports.gate.load_rules` read, or the path of a rules file.

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
    between = f" ({score_interval(interval.low, interval.high)})" if np.isfinite(interval.low) else ""
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
                 p=p_value(row["p_adjusted"]), n=n, limit=f"{wanted.max_drop or 0:g}",
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
