"""The gate: an evaluation checked against a rules file; the same file gives the same verdict everywhere.

What cannot be tested never passes: a red line that no sample could break, a limit on a metric without a score, a
baseline rule without a baseline fail and say why. Only a target that the data cannot reach is said and left open.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo

from workbench.data.files import parsed_toml, read_text, write_text
from workbench.data.run_config import change_words, config_changes, config_words
from workbench.diagnosis.cause_inputs import PASSED
from workbench.diagnosis.causes import cause_names, lacking
from workbench.diagnosis.comparison import Comparison, compared, named_ids
from workbench.diagnosis.statistics import mean_interval
from workbench.diagnosis.summary import summarise
from workbench.errors import InputError
from workbench.language import text as _t
from workbench.language.numbers import interval as score_interval
from workbench.language.numbers import p_value, points, score
from workbench.reports.tables import Case, write_junit
from workbench.scoring.metrics import chosen, definitions
from workbench.scoring.thresholds import Thresholds
from workbench.views.filtering import facets
from workbench.views.wording import cause_title, metric_title

if TYPE_CHECKING:
    import pandas as pd


# ---------------------------------------------------------------- the rules file


def _metric(name: str, info: ValidationInfo) -> str:
    """The name of a metric with its cut-off, or ``passed``."""
    return name if name == PASSED else chosen([name], int(info.context or 5))[0]


def _comparable(name: str, info: ValidationInfo) -> str:
    if name != PASSED and definitions(int(info.context or 5))[name].higher_is_better is None:
        raise InputError(f"{name!r} is neither better high nor low; leave it out")
    return name


def _cause(name: str) -> str:
    if name not in cause_names():
        raise InputError(f"unknown cause {name!r}; known are {', '.join(cause_names())}")
    return name


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


Text = Annotated[str, BeforeValidator(_as_text)]
Name = Annotated[str, AfterValidator(_metric)]
Bound = Annotated[float, Field(ge=0, allow_inf_nan=False)]
By = Literal["mean", "interval"]


class _Table(BaseModel):
    """A table of the file: a misspelt key is an error and not a rule that never fails."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Slice(_Table):
    """``[[rules.slice]]``: bounds on means where every condition of ``where`` holds."""

    where: dict[str, Text] = Field(min_length=1)
    at_least: dict[Name, Bound] = {}
    at_most: dict[Name, Bound] = {}
    by: By | None = None


class Regression(_Table):
    """``[rules.no_regression]``: what may not get worse against a baseline.

    ``metrics``: each is tested on paired samples and fails when it is worse with p < ``alpha``, corrected for how many
    are listed. ``max_drop``: fails when it is worse by more than this, whatever the test says. ``max_broken``: at most so
    many samples that passed may fail. ``require_baseline``: without a baseline these rules fail; false leaves them out.
    """

    metrics: list[Annotated[Name, AfterValidator(_comparable)]] = [PASSED]
    alpha: Annotated[float, Field(ge=0, le=1)] = 0.05
    max_drop: Bound | None = None
    max_broken: Annotated[int, Field(ge=0)] | None = None
    require_baseline: bool = True


class Limits(_Table):
    """``[rules]``: targets that must be met, bounds on means, slices, regressions.

    ``by``: ``mean`` holds the mean against a bound, ``interval`` the worse end of its 95 % interval.
    """

    targets: bool = False
    by: By = "mean"
    at_least: dict[Name, Bound] = {}
    at_most: dict[Name, Bound] = {}
    slice: list[Slice] = []
    no_regression: Regression | None = None


class RedLines(_Table):
    """``[red_lines]``: no leak, samples that must pass, causes that no sample may have."""

    permission_leaks: bool = False
    must_pass: list[Text] = []
    causes: list[Annotated[str, AfterValidator(_cause)]] = []


class Rules(_Table):
    """Everything that a gate checks; see ``sample_data/support/gate.toml`` for the file.

    ``thresholds`` are those of the file, None when it has none: then the evaluation's own hold.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    thresholds: Thresholds | None = None
    rules: Limits = Limits()
    red_lines: RedLines = RedLines()
    source: str = "rules"


def load_rules(path: str | Path) -> Rules:
    """Read a rules file.

    Raises ``InputError`` for a file that cannot be read, invalid TOML, an unknown table, key, metric or cause, or a
    value out of range; the message names file, table, key and what is allowed.
    """
    return read_rules(read_text(path), str(path))


def read_rules(text: str, source: str = "rules") -> Rules:
    """Read the text of a rules file; see :func:`load_rules`."""
    tables = parsed_toml(text, source)
    try:
        thresholds = Thresholds.from_toml(text + "\n") if "thresholds" in tables else None
        given = {**tables, "thresholds": thresholds, "source": source}
        rules = Rules.model_validate(given, context=(thresholds or Thresholds()).k)
    except ValidationError as error:
        raise InputError(f"{source}: {_problem(error)}") from error
    except InputError as error:
        raise InputError(f"{source}: {error}") from error
    for number, item in enumerate(rules.rules.slice, start=1):
        if not item.at_least and not item.at_most:
            raise InputError(f"{source}: [[rules.slice]] {number}: has neither at_least nor at_most")
    return rules


#: What a new file begins with below its thresholds.
NEW_FILE = """
[rules]
targets = true  # every target above must be met

[red_lines]
permission_leaks = true  # not one, whatever the averages say
must_pass = []  # ids of samples that must pass
"""

#: What to do about each kind of problem that pydantic finds.
_REMEDIES = {
    "bool_type": "use true or false", "literal_error": "use {expected}", "model_type": "must be a table",
    "model_attributes_type": "must be a table", "dict_type": "must be a table", "string_type": "must be a text",
    "float_type": "use a number from 0", "finite_number": "use a number from 0", "int_type": "use a whole number from 0",
    "greater_than_equal": "use a number from {ge:g}", "less_than_equal": "use a number from 0 to {le:g}",
    "missing": 'needs where = {{ case_type = "policy" }} or another condition', "too_short": "needs a condition",
}  # fmt: skip


def _problem(error: ValidationError) -> str:
    """The first problem: where it is, what is there, what to do."""
    first = error.errors()[0]
    path = [str(part) for part in first["loc"] if part != "[key]"]
    place, kind = ".".join(path), first["type"]
    if kind == "extra_forbidden":
        return f"{'.'.join(path[:-1]) or 'the file'}: unknown key {path[-1]!r}; known are {', '.join(_known(path[:-1]))}"
    if kind == "list_type":
        wanted = "write [[rules.slice]], one for each slice" if path[-1] == "slice" else "must be a list of texts"
        return f"{place}: {wanted}"
    if kind in _REMEDIES:
        found = "" if kind == "missing" else f"is {first['input']!r}; "
        return f"{place}: {found}{_REMEDIES[kind].format(**first.get('ctx', {}))}"
    return f"{place}: {first['msg'].removeprefix('Value error, ')}"


def _known(path: Sequence[str]) -> list[str]:
    tables: dict[str, type[BaseModel]] = {"rules": Limits, "red_lines": RedLines, "slice": Slice, "no_regression": Regression}
    model: type[BaseModel] = next((tables[part] for part in reversed(path) if part in tables), Rules)
    return [name for name in model.model_fields if name != "source"]


def freeze(path: str | Path, thresholds: Thresholds) -> Path:
    """Put ``thresholds`` into the rules file ``path``; its rules, red lines and their comments stay as they are.

    A new file also asks for the targets and for no permission leak. Written whole or not at all.

    Raises ``InputError`` when an existing file is not a valid rules file, or the place cannot be written.
    """
    import tomlkit

    target = Path(path)
    text = read_text(target) if target.is_file() else ""
    if not text.strip():
        return write_text(target, thresholds.to_toml() + NEW_FILE)
    read_rules(text, str(target))
    document, new = tomlkit.parse(text), tomlkit.parse(thresholds.to_toml())["thresholds"]
    if "thresholds" in document:
        # What follows the last value of the old table, such as a comment above the next one, stays behind the new one.
        old, last = (_last_table(table) for table in (document["thresholds"], new))
        for item in reversed(list(itertools.takewhile(lambda item: item[0] is None, reversed(old.value.body)))):
            last.add(item[1])
        document["thresholds"] = new
        return write_text(target, tomlkit.dumps(document))
    return write_text(target, f"{text.rstrip()}\n\n{thresholds.to_toml()}")


def _last_table(table: Any) -> Any:
    """The last table inside ``table``, or itself."""
    inner = [value for value in table.values() if hasattr(value, "value") and hasattr(value.value, "body")]
    return _last_table(inner[-1]) if inner else table


# ---------------------------------------------------------------- the result


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
        ``passed``; ``failed``, also when nothing could be checked; ``skipped``: a target out of reach, a flaky sample, or a
        rule against a baseline that the file allows to be missing.
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
        What makes run and baseline hard to compare, and what their configurations differ in; read before any number.
    config
        The configuration of the run, in words; empty when none was recorded.
    """

    run: str
    baseline: str | None
    checks: tuple[Check, ...]
    warnings: tuple[str, ...] = ()
    source: str = "rules"
    config: str = ""

    @property
    def passed(self) -> bool:
        """There were rules, and none failed."""
        return bool(self.checks) and not self.failed

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
        properties = {"run": self.run, "baseline": self.baseline or "", "rules": Path(self.source).name, "config": self.config}
        return write_junit(path, f"gate {self.run}", self.cases(), properties)


def check(
    evaluation: Any, rules: Rules | str | Path, baseline: Any = None, *, flaky: Collection[str] = ()
) -> GateResult:
    """Check an evaluation, and what may not get worse against ``baseline``, under the thresholds of the rules.

    Parameters
    ----------
    evaluation, baseline
        Evaluations; both are put under the thresholds of the file when it has any.
    rules
        What :func:`load_rules` read, or the path of a rules file.
    flaky
        Samples that flip without a change: they break no red line (but that of leaks) and do not count as broken, and
        the result says so.

    Raises
    ------
    InputError
        For a file that is no valid rules file, or a slice by something that no sample has.
    """
    file = rules if isinstance(rules, Rules) else load_rules(rules)
    if file.thresholds is not None:
        evaluation = evaluation.with_thresholds(file.thresholds)
        baseline = None if baseline is None else baseline.with_thresholds(file.thresholds)
    comparison = None if baseline is None else compared(baseline, evaluation)
    limits, regression = file.rules, file.rules.no_regression
    checks = [*_red_lines(evaluation, file.red_lines, frozenset(flaky)), *_targets(evaluation, limits)]
    parts: list[Limits | Slice] = [limits, *limits.slice]
    for part in parts:
        where = part.where if isinstance(part, Slice) else {}
        keep, by = _slice(evaluation, where, file.source), part.by or limits.by
        for least, bounds in ((True, part.at_least), (False, part.at_most)):
            checks += [_limit(evaluation, name, value, least, by, keep, where) for name, value in bounds.items()]
    if regression is not None:
        checks += list(_regressions(comparison, regression, frozenset(flaky)))
    warnings = () if comparison is None or regression is None else tuple(comparison.warnings)
    changed = {} if baseline is None else config_changes(*(run.manifest.get("config") or {} for run in (baseline, evaluation)))
    if changed:
        warnings += (_t("compare.note.config", changes=change_words(changed)),)
    config = config_words(evaluation.manifest.get("config") or {})
    return GateResult(evaluation.name, baseline and baseline.name, tuple(checks), warnings, file.source, config)


# ---------------------------------------------------------------- red lines


def _red_lines(evaluation: Any, red: RedLines, flaky: frozenset[str]) -> Iterator[Check]:
    for cause in dict.fromkeys([*(["permission_leak"] if red.permission_leaks else []), *red.causes]):
        yield _no_cause(evaluation, cause, flaky if cause != "permission_leak" else frozenset())
    for sample_id in red.must_pass:
        yield _must_pass(evaluation, sample_id, flaky)


def _no_cause(evaluation: Any, cause: str, flaky: frozenset[str]) -> Check:
    """No sample has ``cause``; how many could have had it is said, and none is no tick."""
    causes, total = evaluation.causes, len(evaluation)
    rule = _t("gate.rule.no_cause", cause=cause_title(cause))
    having = list(map(str, evaluation.evidence.ids[causes.has(cause)].tolist()))
    ids, left_out = tuple(i for i in having if i not in flaky), [i for i in having if i in flaky]
    lacks = lacking(causes, cause)
    n = sum(not names for names in lacks)
    if ids:
        found = _t("gate.found.ids", n=len(ids), ids=named_ids(ids, NAMED))
        return Check("red_line", rule, "failed", found, len(ids), 0, n, ids)
    missing = Counter(name for names in lacks for name in names).most_common(1)
    what = _t(f"report.lacks.{missing[0][0]}.what") if missing else ""
    if not n:
        return Check("red_line", rule, "failed", _t("gate.found.untested", total=total, what=what), limit=0)
    rest = _t("gate.found.partly", n=total - n, total=total, what=what) if n < total else ""
    rest += _t("gate.found.but_flaky", ids=named_ids(left_out, NAMED)) if left_out else ""
    return Check("red_line", rule, "passed", _t("gate.found.none", n=n) + rest, 0, 0, n)


def _must_pass(evaluation: Any, sample_id: str, flaky: frozenset[str]) -> Check:
    rule = _t("gate.rule.must_pass", id=sample_id)
    place = int(evaluation.evidence.ids.get_indexer([sample_id])[0])
    if place < 0:
        return Check("red_line", rule, "failed", _t("gate.found.absent", id=sample_id), sample_ids=(sample_id,))
    passes = int(evaluation.causes.primary[place]) == -1
    cause = cause_title(str(evaluation.causes.names()[place]))
    if not passes and sample_id in flaky:
        return Check("red_line", rule, "skipped", _t("gate.found.flaky", n=len(flaky)), n=1, sample_ids=(sample_id,))
    message = _t("gate.found.passes") if passes else _t("gate.found.fails", cause=cause)
    return Check("red_line", rule, _state(passes), message, n=1, sample_ids=() if passes else (sample_id,))


# ---------------------------------------------------------------- means


def _targets(evaluation: Any, limits: Limits) -> Iterator[Check]:
    """Every target; one that is out of reach of the data is said with the highest value they allow, and left open."""
    known = definitions(evaluation.thresholds.k)
    everywhere = np.ones(len(evaluation), dtype=bool)
    for name, target in evaluation.thresholds.targets.items() if limits.targets else ():
        rule = _t("gate.rule.target", metric=metric_title(name), value=f"{target:g}")
        if name not in known:
            yield Check("target", rule, "failed", _t("gate.found.other_k", k=evaluation.thresholds.k), limit=target)
            continue
        summary = summarise(evaluation.view, {name: evaluation.metric(name)}, known, intervals=False).loc[name]
        least = known[name].higher_is_better is not False
        if least and summary["attainable"] < target - 1e-12:
            message = _t("gate.found.attainable", value=score(summary["mean"], decimals=3),
                         highest=score(summary["attainable"], decimals=3))  # fmt: skip
            yield Check("target", rule, "skipped", message, float(summary["mean"]), target, int(summary["n_ok"]))
            continue
        found = _limit(evaluation, name, target, least, limits.by, everywhere, {})
        yield replace(found, kind="target", rule=rule)


def _limit(
    evaluation: Any, metric: str, bound: float, least: bool, by: str, keep: np.ndarray, where: Mapping[str, str]
) -> Check:
    values, binary = _values(evaluation, metric)
    own = values[keep & np.isfinite(values)]
    words = _t("gate.where", where=", ".join(f"{name} = {value}" for name, value in where.items())) if where else ""
    rule = _t(f"gate.rule.{'at_least' if least else 'at_most'}", metric=_title(metric), where=words, value=f"{bound:g}")
    kind = "slice" if where else "limit"
    if not len(own):
        return Check(kind, rule, "failed", _t("gate.found.no_score", n=int(keep.sum())), limit=bound)
    interval, mean = mean_interval(own, binary=binary), float(own.mean())
    end = interval.low if least else interval.high
    value = end if by == "interval" and np.isfinite(end) else mean
    good = value >= bound - 1e-12 if least else value <= bound + 1e-12
    between = f" ({score_interval(interval.low, interval.high)})" if np.isfinite(interval.low) else ""
    message = _t(f"gate.found.{by}", value=score(mean, decimals=3), interval=between, n=len(own), total=int(keep.sum()))
    return Check(kind, rule, _state(good), message, value, bound, len(own))


def _values(evaluation: Any, metric: str) -> tuple[np.ndarray, bool]:
    """(n,) scores with NaN where there is none, and whether they are 0 or 1."""
    if metric == PASSED:
        return evaluation.causes.inputs.failing.passed, True
    return evaluation.metric(metric).values, definitions(evaluation.thresholds.k)[metric].binary


def _slice(evaluation: Any, where: Mapping[str, str], source: str) -> np.ndarray:
    """(n,) the samples for which every condition holds, on ``case_type`` (or ``type``), ``language``, ``tenant``, a tag."""
    keep = np.ones(len(evaluation), dtype=bool)
    frame = evaluation.samples.frame
    known = facets(frame) if where else {}
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


def _regressions(comparison: Comparison | None, wanted: Regression, flaky: frozenset[str]) -> Iterator[Check]:
    broken_rule = _t("gate.rule.max_broken", n=wanted.max_broken)
    if comparison is None:
        rules = [_t("gate.rule.no_regression", metric=_title(name)) for name in wanted.metrics]
        key = "baseline_needed" if wanted.require_baseline else "no_baseline"
        for rule in [*rules, *([broken_rule] if wanted.max_broken is not None else [])]:
            yield Check("regression", rule, "failed" if wanted.require_baseline else "skipped", _t(f"gate.found.{key}"))
        return
    tests = comparison.tests(wanted.metrics).set_index("metric")
    for name in wanted.metrics:
        yield _regression(name, tests.loc[name], wanted)
    if wanted.max_broken is not None:
        flips = comparison.flips()
        n = int(flips["change"].ne("not_comparable").sum())
        having = flips.loc[flips["change"] == "broken", "sample_id"].tolist()
        ids, left_out = tuple(i for i in having if i not in flaky), [i for i in having if i in flaky]
        found = _t("gate.found.ids", n=len(ids), ids=named_ids(ids, NAMED)) if ids else _t("gate.found.none", n=n)
        found += _t("gate.found.but_flaky", ids=named_ids(left_out, NAMED)) if left_out else ""
        good = n > 0 and len(ids) <= wanted.max_broken
        yield Check("regression", broken_rule, _state(good), found if n else _t("gate.found.no_pairs"), len(ids),
                    wanted.max_broken, n, ids)  # fmt: skip


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
    unit: Callable[[float], str] = points if name == PASSED else lambda value: score(value, decimals=3, signed=True)
    message = _t(f"gate.found.{key}", delta=unit(row["delta"]), low=unit(row["low"]), high=unit(row["high"]),
                 p=p_value(row["p_adjusted"]), n=n, limit=f"{wanted.max_drop or 0:g}",
                 before=score(row["before"], decimals=3), after=score(row["after"], decimals=3))  # fmt: skip
    return Check("regression", rule, _state(not (significant or too_far)), message, float(row["delta"]),
                 -(wanted.max_drop or 0.0), n)  # fmt: skip


# ---------------------------------------------------------------- words


def _state(good: bool) -> str:
    return "passed" if good else "failed"


def _title(metric: str) -> str:
    return _t("gate.passed") if metric == PASSED else metric_title(metric)
