"""The rules file of the gate: a thresholds file with ``[rules]`` and ``[red_lines]`` added. Reading, checking, freezing."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from workbench.data.files import write_text
from workbench.diagnosis.attribution import CAUSES
from workbench.diagnosis.failing import PASSED
from workbench.errors import InputError
from workbench.scoring.metrics import chosen, definitions
from workbench.scoring.thresholds import Thresholds

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
