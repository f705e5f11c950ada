"""The data doctor: what is wrong with a set of samples before anything is scored.

Each check is a function from a :class:`Patient` to its findings; ``check`` runs them all and puts the findings into
words. A check says nothing when it has nothing to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from workbench.data.normalising import normalise
from workbench.data.schema import Corpus, SampleSet, judgements
from workbench.errors import InputError
from workbench.language import text

if TYPE_CHECKING:
    import pandas as pd

Level = Literal["error", "warning", "note"]

LEVELS: tuple[Level, ...] = ("error", "warning", "note")

#: Columns of the frame that ``check`` returns.
COLUMNS = ("check", "level", "n", "sample_ids", "message", "remedy")


@dataclass(frozen=True)
class Finding:
    """One thing found. ``values`` fill the text of the check; ``n`` is how many samples (or rows) it concerns."""

    check: str
    level: Level
    sample_ids: Sequence[str] = ()
    n: int | None = None
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Patient:
    """A set as the checks see it: its columns as lists, all as long as ``ids``."""

    samples: SampleSet
    corpus: Corpus | None
    others: tuple[SampleSet, ...]
    k: int

    @cached_property
    def ids(self) -> list[str]:
        """Sample ids in order."""
        return self.samples.frame.index.tolist()

    def column(self, name: str) -> list[Any]:
        """Values of one field."""
        return self.samples.frame[name].tolist()

    @cached_property
    def questions(self) -> list[str]:
        """Normalised questions."""
        return [normalise(question) for question in self.column("question")]

    @cached_property
    def contexts(self) -> list[list[dict[str, Any]] | None]:
        """Contexts, None where not recorded."""
        return [value if isinstance(value, list) else None for value in self.column("contexts")]

    @cached_property
    def expected(self) -> list[set[str] | None]:
        """Ids of the relevant documents, None where not judged."""
        return [
            None if entries is None else {one for entry in entries if entry.grade >= 1 for one in entry.doc_ids}
            for entries in map(judgements, self.column("expected_docs"))
        ]

    @cached_property
    def retrieved_ids(self) -> set[str]:
        """Every document id among the contexts."""
        return {item["doc_id"] for items in self.contexts for item in items or () if item.get("doc_id") is not None}

    @cached_property
    def corpus_ids(self) -> set[str]:
        """Every document id of the corpus; empty without one."""
        return set() if self.corpus is None else set(self.corpus.frame.index.tolist())

    def where(self, flags: Iterable[bool]) -> list[str]:
        """Ids of the samples whose flag is set."""
        return [sample_id for sample_id, flag in zip(self.ids, flags, strict=True) if flag]


Check = Callable[[Patient], Iterator[Finding]]


def check(
    samples: SampleSet, corpus: Corpus | None = None, others: Sequence[SampleSet] = (), *, k: int = 5
) -> pd.DataFrame:
    """Examine a set of samples.

    Parameters
    ----------
    samples, corpus
        The set, and the knowledge base when there is one.
    others
        Further recordings of the same cases: what differs between the sets is reported.
    k
        The cut-off that ranking metrics will use.

    Returns
    -------
    DataFrame
        One row a finding, errors first: ``check`` (its name), ``level`` (error | warning | note), ``n`` (how many
        samples or rows), ``sample_ids`` (list), ``message`` and ``remedy`` in the language in force. Empty when there
        is nothing to say.

    Raises
    ------
    InputError
        When ``k`` < 1.
    """
    if k < 1:
        raise InputError(f"k={k}: must be 1 or more")
    patient = Patient(samples, corpus, tuple([others] if isinstance(others, SampleSet) else others), k)
    findings = [finding for examine in _all_checks() for finding in examine(patient)]
    findings.sort(key=lambda finding: LEVELS.index(finding.level))
    return _frame(findings)


def _all_checks() -> tuple[Check, ...]:
    from workbench.data import doctor_contexts, doctor_labels, doctor_sets

    return (*doctor_sets.CHECKS, *doctor_labels.CHECKS, *doctor_contexts.CHECKS, *doctor_sets.NOTES)


def _frame(findings: list[Finding]) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for finding in findings:
        n = len(finding.sample_ids) if finding.n is None else finding.n
        values = {"n": n, "examples": _examples(finding.sample_ids), **finding.values}
        message = text(f"doctor.{finding.check}.message", **values)
        remedy = text(f"doctor.{finding.check}.remedy", **values)
        rows.append((finding.check, finding.level, n, list(finding.sample_ids), message, remedy))
    columns = {name: [row[at] for row in rows] for at, name in enumerate(COLUMNS)}
    return pd.DataFrame(columns, dtype=object).astype({"n": "int64"})


def _examples(ids: Sequence[str], limit: int = 5) -> str:
    shown = ", ".join(one if len(one) <= 40 else one[:39] + "…" for one in ids[:limit])
    return shown + (", …" if len(ids) > limit else "")
