"""The data doctor: what is wrong with a set of samples before anything is scored.

Each check is a function from a :class:`Patient` to its findings; ``check`` runs them all and puts the findings into
words. A check says nothing when it has nothing to say.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from workbench.data.fields import named
from workbench.data.schema import Corpus, SampleSet, alternatives, judgements
from workbench.data.text.normalise import normalise
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

    return (*SET_CHECKS, *LABEL_CHECKS, *CONTEXT_CHECKS, *NOTES)


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


# ------------------------------------------------------------------------------
# Checks of what was retrieved: ids that meet nothing, lists too short, texts that are empty, repeated or leaked.


#: Share of a context that the reference must make up to count as pasted into it.
PASTED = 0.9


def unmatched_ids(patient: Patient) -> Iterator[Finding]:
    """Expected ids that no context and no document has, and context ids that the corpus does not have."""
    known = patient.retrieved_ids | patient.corpus_ids
    wanted = {doc_id for ids in patient.expected for doc_id in ids or ()}
    if wanted and known and not wanted & known:
        values = {"expected": _some(wanted), "found": _some(known)}
        flags = [bool(ids) for ids in patient.expected]
        yield Finding("ids_never_match", "error", patient.where(flags), values=values)
    elif wanted and not patient.retrieved_ids and any(patient.contexts):
        yield Finding("contexts_without_ids", "warning", patient.where(bool(items) for items in patient.contexts))
    if not patient.corpus_ids:
        return
    absent = wanted - patient.corpus_ids
    if absent and wanted & known:
        flags = [bool(absent.intersection(ids or ())) for ids in patient.expected]
        yield Finding("expected_not_in_corpus", "warning", patient.where(flags), values={"ids": _some(absent)})
    unknown = patient.retrieved_ids - patient.corpus_ids
    if unknown:
        flags = [any(item.get("doc_id") in unknown for item in items or ()) for items in patient.contexts]
        yield Finding("retrieved_not_in_corpus", "warning", patient.where(flags), values={"ids": _some(unknown)})


def _some(ids: set[str], limit: int = 3) -> str:
    shown = [one if len(one) <= 40 else one[:39] + "…" for one in sorted(ids)[:limit]]
    return ", ".join(shown) + (", …" if len(ids) > limit else "")


def unknown_citations(patient: Patient) -> Iterator[Finding]:
    """The service reports citing documents that are not among the contexts of the sample."""
    flags = []
    for cited, items in zip(patient.column("citations"), patient.contexts, strict=True):
        known = {item["doc_id"] for item in items or () if item.get("doc_id") is not None}
        numbers = {str(at) for at in range(1, len(items or ()) + 1)}
        flags.append(bool(known) and any(str(one).strip("[]【】") not in known | numbers for one in cited or ()))
    if any(flags):
        yield Finding("unknown_citations", "warning", patient.where(flags))


def short_lists(patient: Patient) -> Iterator[Finding]:
    """Fewer contexts than k: precision@k cannot reach 1."""
    lengths = [len(items) for items in patient.contexts if items is not None]
    if not lengths:
        return
    flags = [items is not None and 0 < len(items) < patient.k for items in patient.contexts]
    if any(flags):
        level: Level = "warning" if max(lengths) < patient.k else "note"
        values = {"k": patient.k, "longest": max(lengths)}
        yield Finding("k_beyond_list", level, patient.where(flags), values=values)
    nothing = [items == [] for items in patient.contexts]
    if any(nothing):
        yield Finding("nothing_retrieved", "note", patient.where(nothing))


def context_texts(patient: Patient) -> Iterator[Finding]:
    """Contexts without text, and the same text twice in one sample."""
    empty = [any(not item["text"].strip() for item in items or ()) for items in patient.contexts]
    if any(empty):
        yield Finding("empty_contexts", "warning", patient.where(empty))
    repeated = [_repeats(items or []) for items in patient.contexts]
    if any(repeated):
        yield Finding("duplicate_contexts", "warning", patient.where(repeated))


def _repeats(items: list[dict[str, Any]]) -> bool:
    ids = [item["doc_id"] for item in items if item.get("doc_id") is not None]
    texts = [item["text"].strip() for item in items if item["text"].strip()]
    return len(set(ids)) < len(ids) or len(set(texts)) < len(texts)


def pasted_references(patient: Patient) -> Iterator[Finding]:
    """The reference itself stands as a context: the retriever was given the answer."""
    flags = [
        isinstance(reference, str) and len(reference) >= 20 and _is_pasted(normalise(reference), items or [])
        for reference, items in zip(patient.column("reference"), patient.contexts, strict=True)
    ]
    if any(flags):
        yield Finding("reference_in_contexts", "warning", patient.where(flags))


def _is_pasted(reference: str, items: list[dict[str, Any]]) -> bool:
    near = [item["text"] for item in items if len(item["text"]) * PASTED <= 2 * len(reference)]
    return any(reference in plain and len(reference) >= PASTED * len(plain) for plain in map(normalise, near))


def score_order(patient: Patient) -> Iterator[Finding]:
    """Scores that rise along the list: the order is not the order of the scores, or they are distances."""
    flags, rising = [], 0
    for items in patient.contexts:
        scores = [item["score"] for item in items or () if item.get("score") is not None]
        pairs = list(itertools.pairwise(scores))
        flags.append(any(later > earlier for earlier, later in pairs))
        rising += bool(pairs) and all(later >= earlier for earlier, later in pairs) and flags[-1]
    if any(flags):
        check = "scores_ascending" if rising == sum(flags) else "scores_not_descending"
        yield Finding(check, "warning", patient.where(flags))


def tenants(patient: Patient) -> Iterator[Finding]:
    """Documents have tenants and samples have none: leaks cannot be seen."""
    if any(value is not None for value in patient.column("tenant")):
        return
    flags = [any(item.get("tenant") is not None for item in items or ()) for items in patient.contexts]
    in_corpus = patient.corpus is not None and bool(patient.corpus.frame["tenant"].notna().any())
    if any(flags) or in_corpus:
        yield Finding("tenant_only_on_documents", "warning", patient.where(flags) or patient.ids)


CONTEXT_CHECKS = (
    unmatched_ids,
    short_lists,
    context_texts,
    pasted_references,
    score_order,
    tenants,
    unknown_citations,
)


# ------------------------------------------------------------------------------
# Checks of what the cases expect: duplicates, contradictions, cases that assert nothing.


#: Any of these makes a case one that can be failed.
EXPECTATIONS = (
    "reference", "expected_docs", "must_not_retrieve", "must_include", "must_not_include", "expect_refusal",
)  # fmt: skip


def duplicate_questions(patient: Patient) -> Iterator[Finding]:
    """The same question in several samples: as a plain duplicate, or with other expectations."""
    same: list[int] = []
    contradicting: list[int] = []
    for places in _groups(patient):
        kept = (same, contradicting)[len({_expectation(patient, at) for at in places}) > 1]
        kept.extend(places)
    if same:
        yield Finding("duplicate_questions", "warning", [patient.ids[at] for at in sorted(same)])
    if contradicting:
        yield Finding("contradictory_labels", "error", [patient.ids[at] for at in sorted(contradicting)])


def _groups(patient: Patient) -> list[list[int]]:
    """Positions of samples that ask the same for the same tenant, where there are several."""
    groups: dict[tuple[str, Any], list[int]] = {}
    for at, (question, tenant) in enumerate(zip(patient.questions, patient.column("tenant"), strict=True)):
        groups.setdefault((question, tenant), []).append(at)
    return [places for places in groups.values() if len(places) > 1]


def _expectation(patient: Patient, at: int) -> tuple[Any, ...]:
    row = patient.samples.frame.iloc[at]
    expected = patient.expected[at]
    reference = row["reference"]
    return (
        None if reference is None else normalise(reference),
        None if expected is None else frozenset(expected),
        bool(row["expect_refusal"]) if row["expect_refusal"] is not None else None,
        repr(row["must_include"]),
        repr(row["must_not_include"]),
    )


def included_and_forbidden(patient: Patient) -> Iterator[Finding]:
    """A key point that is also forbidden, or that holds what is forbidden: no answer can pass."""
    flags = [_clash(wanted, banned) for wanted, banned in _pairs(patient, "must_include", "must_not_include")]
    if any(flags):
        yield Finding("included_and_forbidden", "error", patient.where(flags))


def _pairs(patient: Patient, left: str, right: str) -> list[tuple[Any, Any]]:
    return list(zip(patient.column(left), patient.column(right), strict=True))


def _clash(wanted: Any, banned: Any) -> bool:
    """Whether every alternative of some point holds a forbidden text."""
    forbidden = [normalise(one) for entry in banned or () for one in alternatives(entry)]
    points = [[normalise(one) for one in alternatives(entry)] for entry in wanted or ()]
    return any(point and all(any(ban and ban in one for ban in forbidden) for one in point) for point in points)


def refusal_with_points(patient: Patient) -> Iterator[Finding]:
    """A refusal is expected, and key points of an answer as well."""
    flags = [refusal is True and bool(points) for refusal, points in _pairs(patient, "expect_refusal", "must_include")]
    if any(flags):
        yield Finding("refusal_with_points", "error", patient.where(flags))


def expected_and_banned_documents(patient: Patient) -> Iterator[Finding]:
    """A document that is expected and must not be retrieved; patterns are globs."""
    flags = [
        any(fnmatchcase(doc_id, pattern) for doc_id in expected or () for pattern in _patterns(banned))
        for expected, banned in zip(patient.expected, patient.column("must_not_retrieve"), strict=True)
    ]
    if any(flags):
        yield Finding("expected_and_banned_documents", "error", patient.where(flags))


def _patterns(banned: Any) -> list[str]:
    return [one for entry in banned or () for one in alternatives(entry)]


def vacuous_cases(patient: Patient) -> Iterator[Finding]:
    """A case that expects nothing: whatever the system does, it cannot fail."""
    columns = [patient.column(name) for name in EXPECTATIONS]
    flags = [all(_says_nothing(value) for value in row) for row in zip(*columns, strict=True)]
    if any(flags):
        level: Level = "note" if all(flags) else "warning"
        yield Finding("vacuous_cases", level, patient.where(flags))


def _says_nothing(value: Any) -> bool:
    """None, or a list that asserts nothing; ``expected_docs == []`` asserts that nothing is to be retrieved."""
    return value is None


def missing_kinds(patient: Patient) -> Iterator[Finding]:
    """No case that should be refused; no case about what must not be seen."""
    if not patient.ids:
        return
    if not any(value is True for value in patient.column("expect_refusal")):
        yield Finding("no_refusal_cases", "note", n=0)
    has_permission = any(value for value in patient.column("must_not_retrieve")) or any(
        any(word in str(value or "").lower() for word in named("words", "permission"))
        for value in patient.column("case_type")
    )
    if not has_permission:
        yield Finding("no_permission_cases", "note", n=0)


def unbalanced_types(patient: Patient) -> Iterator[Finding]:
    """Types with so few samples that a rate over them says little, or that drown beside the largest."""
    sizes: dict[str, int] = {}
    types = patient.column("case_type")
    for value in types:
        if value is not None:
            sizes[value] = sizes.get(value, 0) + 1
    if len(sizes) < 2:
        return
    largest = max(sizes.values())
    small = {name for name, size in sizes.items() if size < 5 or size * 10 < largest}
    if small and len(small) < len(sizes):
        shown = ", ".join(f"{name} ({sizes[name]})" for name in sorted(small, key=sizes.__getitem__)[:6])
        ids = patient.where(value in small for value in types)
        yield Finding("unbalanced_types", "note", ids, values={"types": shown, "largest": largest})


def answers(patient: Patient) -> Iterator[Finding]:
    """Answers that are missing or blank; answers that are the reference word for word."""
    values = patient.column("answer")
    missing = [value is None for value in values]
    if values and all(missing):
        yield Finding("no_answers", "note", n=len(values))
    elif any(missing):
        yield Finding("missing_answers", "warning", patient.where(missing))
    blank = [value is not None and not value.strip() for value in values]
    if any(blank):
        yield Finding("empty_answers", "warning", patient.where(blank))
    copied = [
        bool(answer and reference) and len(reference) >= 20 and normalise(answer) == normalise(reference)
        for answer, reference in zip(values, patient.column("reference"), strict=True)
    ]
    if sum(copied) * 2 > len(copied) and len(copied) >= 3:
        yield Finding("answer_is_reference", "warning", patient.where(copied))


def languages(patient: Patient) -> Iterator[Finding]:
    """Questions in several languages; answers in another language than their question."""
    from workbench.data.text.words import language

    asked = [language(question) for question in patient.column("question")]
    counts: Mapping[str, int] = {name: asked.count(name) for name in dict.fromkeys(asked) if name != "other"}
    if len(counts) > 1:
        shown = ", ".join(f"{name} {n}" for name, n in sorted(counts.items(), key=lambda item: -item[1]))
        yield Finding("language_mix", "note", n=len(asked), values={"languages": shown})
    flags = [
        bool(answer) and len(answer) >= 20 and name != "other" and language(answer) not in (name, "other")
        for name, answer in zip(asked, patient.column("answer"), strict=True)
    ]
    if any(flags):
        yield Finding("answer_in_other_language", "note", patient.where(flags))


LABEL_CHECKS = (
    duplicate_questions,
    included_and_forbidden,
    refusal_with_points,
    expected_and_banned_documents,
    vacuous_cases,
    answers,
    unbalanced_types,
    missing_kinds,
    languages,
)


# ------------------------------------------------------------------------------
# Checks of the set as a whole: what loading left out, how it differs from other sets, what would unlock more.


def loading(patient: Patient) -> Iterator[Finding]:
    """Rows that were rejected, and values that could not be read."""
    rejected = patient.samples.rejected
    if len(rejected):
        rows = rejected["row"].drop_duplicates()
        shown = ", ".join(map(str, rows[:5])) + (", …" if len(rows) > 5 else "")
        yield Finding(
            "rejected_rows", "error", n=len(rows), values={"rows": shown, "reason": rejected["reason"].iloc[0]}
        )
    for name, reasons in patient.samples.attributes.get("input_errors", {}).items():
        values = {"field": name, "reason": next(iter(reasons.values()))}
        yield Finding("unreadable_values", "error", list(reasons), values=values)


def other_sets(patient: Patient) -> Iterator[Finding]:
    """Samples that only one of the sets has, and ids that mean different cases in them."""
    mine = dict(zip(patient.ids, patient.questions, strict=True))
    for other in patient.others:
        theirs = dict(zip(other.frame.index.tolist(), map(normalise, other.frame["question"]), strict=True))
        here, there = [one for one in mine if one not in theirs], [one for one in theirs if one not in mine]
        values = {"other": other.name, "here": len(here), "there": len(there), "shared": len(mine) - len(here)}
        if here or there:
            level: Level = "error" if not values["shared"] else "warning"
            yield Finding("different_samples", level, here + there, values=values)
        differing = [one for one in mine if one in theirs and mine[one] != theirs[one]]
        if differing:
            yield Finding("different_questions", "error", differing, values=values)
        relabelled = _relabelled(
            patient,
            dict(zip(other.frame.index.tolist(), other.frame["reference"].tolist(), strict=True)),
            set(differing),
        )
        if relabelled:
            yield Finding("different_references", "warning", relabelled, values=values)


def _relabelled(patient: Patient, theirs: dict[str, str | None], differing: set[str]) -> list[str]:
    """Ids of shared samples with the same question whose references differ."""
    return [
        one
        for one, reference in zip(patient.ids, patient.column("reference"), strict=True)
        if one in theirs and one not in differing and reference and theirs[one] and reference != theirs[one]
    ]


def _any(name: str) -> Callable[[Patient], bool]:
    return lambda patient: any(value is not None for value in patient.column(name))


#: What a set may lack, and whether it has it. What it would unlock is in the texts.
UNLOCKS: dict[str, Callable[[Patient], bool]] = {
    "answer": _any("answer"),
    "contexts": _any("contexts"),
    "reference": _any("reference"),
    "expected_docs": _any("expected_docs"),
    "doc_id": lambda patient: bool(patient.retrieved_ids) or not any(patient.contexts),
    "corpus": lambda patient: patient.corpus is not None,
    "must_include": _any("must_include"),
    "expect_refusal": _any("expect_refusal"),
    "tenant": _any("tenant"),
    "case_type": _any("case_type"),
    "latency_ms": lambda patient: bool(patient.samples.frame["latency_ms"].notna().any()),
}


def unlocks(patient: Patient) -> Iterator[Finding]:
    """Columns that are not there, and what they would make possible."""
    for name, has in UNLOCKS.items():
        if patient.ids and not has(patient):
            yield Finding(f"unlock_{name}", "note", n=len(patient.ids))


SET_CHECKS = (loading, other_sets)
NOTES = (unlocks,)
