"""The content of a report: one structured object that every format writes out.

Nothing here knows about HTML, Markdown or Excel; numbers stay numbers, and every one of them has its n beside it. Texts
are in the language that the report was asked for.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.views.session import Finding

if TYPE_CHECKING:
    import pandas as pd


#: A finding about at most so many samples shows each of them whole.
CARDS = 3


@dataclass(frozen=True)
class Measure:
    """One metric: its mean with interval, and beside it the same of the baseline where both runs have a score.

    ``before, after, delta, delta_low, delta_high, p`` are over the ``n_pairs`` samples that both runs scored; ``p`` is
    corrected for how many metrics were looked at, but for the headline; None without a baseline. ``states``: how many
    samples have no score, by state. ``shown``: whether it stands in the first table (the others are in the appendix).
    ``level``: the mean in one word, see ``Thresholds.levels``; None where it has none.
    """

    metric: str
    title: str
    reading: str
    mean: float
    low: float
    high: float
    n_ok: int
    n_total: int
    states: Mapping[str, int]
    low_bound: float
    high_bound: float
    target: float
    attainable: float
    meets_target: bool | None
    method: str
    shown: bool
    before: float | None = None
    after: float | None = None
    delta: float | None = None
    delta_low: float | None = None
    delta_high: float | None = None
    p: float | None = None
    n_pairs: int | None = None
    level: str | None = None


@dataclass(frozen=True)
class Step:
    """One step of the oracle ladder: a rate in [0, 1] with interval over ``n`` samples."""

    step: str
    title: str
    rate: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Stretch:
    """What is wrong in a text: ``[start, end)`` and the kind of fault (a verdict)."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True)
class Example:
    """A real failing sample: what was asked, what was said, which stretch of it is wrong, what was expected."""

    sample_id: str
    question: str
    answer: str | None
    wrong: tuple[Stretch, ...]
    expected: str
    evidence: str
    confidence: float


@dataclass(frozen=True)
class CauseBlock:
    """A cause of failure: ``n`` samples of ``n_total`` have it as their primary cause, ``n_any`` among others."""

    cause: str
    title: str
    layer: str
    layer_title: str
    n: int
    n_any: int
    n_total: int
    low: float
    high: float
    sub_causes: Mapping[str, int]
    advice: str
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class SliceRow:
    """A part of the samples: ``n_failing`` of ``n`` fail; ``lift`` and ``q_value`` for the worst slices only."""

    value: str
    n: int
    n_failing: int
    rate: float
    low: float
    high: float
    causes: str = ""
    lift: float | None = None
    q_value: float | None = None


@dataclass(frozen=True)
class Breakdown:
    """The parts of one dimension, or the worst slices; ``reason`` says why it is empty or what was left out."""

    name: str
    title: str
    rows: tuple[SliceRow, ...]
    reason: str = ""


@dataclass(frozen=True)
class Moved:
    """A sample whose outcome differs between the runs."""

    sample_id: str
    question: str
    change: str
    cause_before: str
    cause_after: str
    answer_changed: bool


@dataclass(frozen=True)
class Flow:
    """How many samples went from one cause to another (``moved`` False: it stayed the same)."""

    cause_before: str
    cause_after: str
    n: int
    sample_ids: tuple[str, ...]
    moved: bool


@dataclass(frozen=True)
class BrokenPair:
    """A sample that broke, before and after: ``gone`` is what only the answer before has, ``new`` what only the one after
    has, ``wrong`` what is wrong in the one after. ``documents``: ids retrieved only before (−) and only after (+)."""

    sample_id: str
    question: str
    cause_before: str
    cause_after: str
    before: str | None
    after: str | None
    gone: tuple[Stretch, ...]
    new: tuple[Stretch, ...]
    wrong: tuple[Stretch, ...]
    expected: str
    evidence: str
    documents: tuple[str, ...]


@dataclass(frozen=True)
class Changes:
    """What changed against the baseline.

    ``counts``: change → number of samples, of ``n_pairs`` matched ones; ``flipped``: the broken and fixed ones whose
    answer differs; ``same_answer``: those whose answer is the same and whose contexts are not; ``noise``: verdicts that
    moved on identical text, which count as neither; ``red_lines``: samples with a permission leak, by new, gone, still;
    ``smallest``: the smallest change of the pass rate that this many pairs could show; ``warnings``: what makes the two
    runs hard to compare; ``pairs``: every broken sample, before and after.
    """

    counts: Mapping[str, int]
    n_pairs: int
    flows: tuple[Flow, ...]
    flipped: tuple[Moved, ...]
    same_answer: tuple[Moved, ...]
    noise: tuple[Moved, ...]
    red_lines: Mapping[str, int]
    smallest: float | None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    pairs: tuple[BrokenPair, ...] = ()


@dataclass(frozen=True)
class Action:
    """What to do next: in one layer, touching ``n`` of ``n_failing`` failing samples."""

    layer: str
    title: str
    n: int
    n_failing: int
    causes: tuple[tuple[str, int], ...]
    advice: tuple[str, ...]
    red_line: bool


@dataclass(frozen=True)
class Measured:
    """How it was measured: labelled facts, how far to trust the judge, what could not be checked."""

    facts: tuple[tuple[str, str], ...]
    trust: tuple[str, ...]
    trust_table: tuple[tuple[str, ...], ...]
    unchecked: tuple[tuple[str, int, str], ...]
    n_total: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class FailingSample:
    """One failing sample of the appendix."""

    sample_id: str
    question: str
    answer: str | None
    cause: str
    cause_title: str
    sub_cause: str | None
    confidence: float
    evidence: str
    advice: str
    verdict: str
    note: str


@dataclass(frozen=True)
class Report:
    """Everything that a report says; see the module. ``evaluation``, ``baseline`` and ``repair`` (a repair plan) are the
    objects themselves, ``failures`` the table of all samples as it is told, ``cards`` finding id → its samples, for findings
    about a few, ``gate`` what a gate said (``reports.gate.GateResult``), None without rules."""

    title: str
    subtitle: str
    language: str
    date: datetime.date
    verdict: tuple[str, ...]
    measures: tuple[Measure, ...]
    ladder: tuple[Step, ...]
    causes: tuple[CauseBlock, ...]
    places: tuple[Breakdown, ...]
    changes: Changes | None
    findings: tuple[Finding, ...]
    actions: tuple[Action, ...]
    measured: Measured
    failing: tuple[FailingSample, ...]
    n_total: int
    failures: pd.DataFrame = field(repr=False)
    evaluation: Any = field(repr=False)
    baseline: Any = field(default=None, repr=False)
    cards: Mapping[str, tuple[Example, ...]] = field(default_factory=dict, repr=False)
    gate: Any = None
    repair: Any = field(default=None, repr=False)

    @property
    def n_failing(self) -> int:
        """FailingSample samples."""
        return len(self.failing)


@dataclass
class Material:
    """What the parts of a report are made from, computed once."""

    evaluation: Any
    baseline: Any
    failures: pd.DataFrame
    samples: pd.DataFrame
    summary: pd.DataFrame
    comparison: Any
    annotations: Mapping[str, Any]

    @property
    def failing(self) -> pd.DataFrame:
        """The rows of ``failures`` that fail."""
        return self.failures[self.failures["passed"].eq(False)]

    @property
    def n(self) -> int:
        """Samples."""
        return len(self.failures)
