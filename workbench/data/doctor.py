"""The data doctor: what is wrong with a set of samples before anything is scored.

Each check is a function from a :class:`CheckInputs` to its findings; ``check`` runs them all and puts the findings into
words. A check says nothing when it has nothing to say.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from workbench.data.columns import named
from workbench.data.corpus import matching_form
from workbench.data.schema import Corpus, SampleSet, alternatives, judgements, none_if_missing
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
class Notice:
    """One thing found. ``values`` fill the text of the check; ``n`` is how many samples (or rows) it concerns."""

    check: str
    level: Level
    sample_ids: Sequence[str] = ()
    n: int | None = None
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CheckInputs:
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


    def flagged(self, check: str, level: Level, flags: Iterable[bool], **values: Any) -> Iterator[Notice]:
        """A finding about the samples whose flag is set; none when there are none."""
        ids = self.where(flags)
        if ids:
            yield Notice(check, level, ids, values=values)


Check = Callable[[CheckInputs], Iterator[Notice]]


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

    Examples
    --------
    >>> found = wb.check(wb.load_samples("runs/baseline.jsonl"))
    >>> "level" in found.columns
    True
    """
    if k < 1:
        raise InputError(f"k={k}: must be 1 or more")
    data = CheckInputs(samples, corpus, tuple([others] if isinstance(others, SampleSet) else others), k)
    findings = [finding for examine in CHECKS for finding in examine(data)]
    findings.sort(key=lambda finding: LEVELS.index(finding.level))
    return _frame(findings)


def _frame(findings: list[Notice]) -> pd.DataFrame:
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


def unmatched_ids(data: CheckInputs) -> Iterator[Notice]:
    """Expected ids that no context and no document has, and context ids that the corpus does not have."""
    known = data.retrieved_ids | data.corpus_ids
    wanted = {doc_id for ids in data.expected for doc_id in ids or ()}
    if wanted and known and not wanted & known:
        values = {"expected": _examples(sorted(wanted), 3), "found": _examples(sorted(known), 3)}
        yield from data.flagged("ids_never_match", "error", map(bool, data.expected), **values)
    elif wanted and not data.retrieved_ids and any(data.contexts):
        yield from data.flagged("contexts_without_ids", "warning", map(bool, data.contexts))
    names, n = matching_form(wanted, data.corpus_ids or data.retrieved_ids)
    if names:
        flags = [bool((ids or set()) - known) for ids in data.expected]
        yield from data.flagged("ids_differ_in_form", "warning", flags, found=n, forms=", ".join(names), names=list(names))
    if not data.corpus_ids:
        return
    absent = wanted - data.corpus_ids
    if absent and wanted & known:
        flags = [bool(absent.intersection(ids or ())) for ids in data.expected]
        yield from data.flagged("expected_not_in_corpus", "warning", flags, ids=_examples(sorted(absent), 3))
    unknown = data.retrieved_ids - data.corpus_ids
    if unknown:
        flags = [any(item.get("doc_id") in unknown for item in items or ()) for items in data.contexts]
        yield from data.flagged("retrieved_not_in_corpus", "warning", flags, ids=_examples(sorted(unknown), 3))


def unknown_citations(data: CheckInputs) -> Iterator[Notice]:
    """The service reports citing documents that are not among the contexts of the sample."""
    flags = []
    for cited, items in zip(data.column("citations"), data.contexts, strict=True):
        known = {item["doc_id"] for item in items or () if item.get("doc_id") is not None}
        numbers = {str(at) for at in range(1, len(items or ()) + 1)}
        flags.append(bool(known) and any(str(one).strip("[]【】") not in known | numbers for one in cited or ()))
    yield from data.flagged("unknown_citations", "warning", flags)


def short_lists(data: CheckInputs) -> Iterator[Notice]:
    """Fewer contexts than k: precision@k cannot reach 1."""
    lengths = [len(items) for items in data.contexts if items is not None]
    if not lengths:
        return
    flags = [items is not None and 0 < len(items) < data.k for items in data.contexts]
    level: Level = "warning" if max(lengths) < data.k else "note"
    yield from data.flagged("k_beyond_list", level, flags, k=data.k, longest=max(lengths))
    yield from data.flagged("nothing_retrieved", "note", [items == [] for items in data.contexts])


def context_texts(data: CheckInputs) -> Iterator[Notice]:
    """Contexts without text, and the same text twice in one sample."""
    empty, repeated = [], []
    for items in data.contexts:
        ids = [item["doc_id"] for item in items or () if item.get("doc_id") is not None]
        texts = [item["text"].strip() for item in items or ()]
        filled = [text for text in texts if text]
        empty.append(not all(texts))
        repeated.append(len(set(ids)) < len(ids) or len(set(filled)) < len(filled))
    yield from data.flagged("empty_contexts", "warning", empty)
    yield from data.flagged("duplicate_contexts", "warning", repeated)


def pasted_references(data: CheckInputs) -> Iterator[Notice]:
    """The reference itself stands as a context: the retriever was given the answer."""
    flags = [
        isinstance(reference, str) and len(reference) >= 20 and _is_pasted(normalise(reference), items or [])
        for reference, items in zip(data.column("reference"), data.contexts, strict=True)
    ]
    yield from data.flagged("reference_in_contexts", "warning", flags)


def _is_pasted(reference: str, items: list[dict[str, Any]]) -> bool:
    near = [item["text"] for item in items if len(item["text"]) * PASTED <= 2 * len(reference)]
    return any(reference in plain and len(reference) >= PASTED * len(plain) for plain in map(normalise, near))


def score_order(data: CheckInputs) -> Iterator[Notice]:
    """Scores that rise along the list: the order is not the order of the scores, or they are distances."""
    flags, rising = [], 0
    for items in data.contexts:
        scores = [item["score"] for item in items or () if item.get("score") is not None]
        pairs = list(itertools.pairwise(scores))
        flags.append(any(later > earlier for earlier, later in pairs))
        rising += bool(pairs) and all(later >= earlier for earlier, later in pairs) and flags[-1]
    check = "scores_ascending" if rising == sum(flags) else "scores_not_descending"
    yield from data.flagged(check, "warning", flags)


def over_reach_cases(corpus: Corpus, n: int = 20) -> list[dict[str, Any]]:
    """Cases that ask, as one tenant, for a document of another: the right answer declines, and nothing of it may be retrieved.

    In the layered case format, spread over the pairs of tenants; none when the corpus has fewer than two. The question names
    the document's title, or its first words: read them before use.
    """
    owned: dict[str, list[Any]] = {}
    for row in corpus.frame.itertuples():
        if (tenant := none_if_missing(row.tenant)) is not None:
            owned.setdefault(str(tenant), []).append(row)
    pairs = [(owner, asker) for owner in sorted(owned) for asker in sorted(owned) if owner != asker]
    longest = max(map(len, owned.values()), default=0)
    turns = itertools.product(range(longest), pairs)
    asked = ((*pair, owned[pair[0]][turn]) for turn, pair in turns if turn < len(owned[pair[0]]))
    found = []
    for number, (owner, asker, row) in enumerate(itertools.islice(asked, n), start=1):
        title = none_if_missing(row.title) or " ".join(row.text.split())[:60]
        found.append({
            "id": f"over-reach-{number:03}", "type": "permission", "tenant": asker, "expected_doc_ids": [],
            "question": text("logs.golden.over_reach", owner=owner, title=title), "must_include": [], "must_not_include": [],
            "expect_refusal": True, "refusal_phrases": [], "must_not_retrieve": [str(row.Index)],
        })  # fmt: skip
    return found


def tenants(data: CheckInputs) -> Iterator[Notice]:
    """Documents have tenants and samples have none: leaks cannot be seen."""
    if any(value is not None for value in data.column("tenant")):
        return
    flags = [any(item.get("tenant") is not None for item in items or ()) for items in data.contexts]
    in_corpus = data.corpus is not None and bool(data.corpus.frame["tenant"].notna().any())
    if any(flags) or in_corpus:
        yield Notice("tenant_only_on_documents", "warning", data.where(flags) or data.ids)


# ------------------------------------------------------------------------------
# Checks of what the cases expect: duplicates, contradictions, cases that assert nothing.


#: Any of these makes a case one that can be failed.
EXPECTATIONS = (
    "reference", "expected_docs", "must_not_retrieve", "must_include", "must_not_include", "expect_refusal",
)  # fmt: skip


def duplicate_questions(data: CheckInputs) -> Iterator[Notice]:
    """The same question in several samples: as a plain duplicate, or with other expectations."""
    groups: dict[tuple[str, Any], list[int]] = {}
    for at, (question, tenant) in enumerate(zip(data.questions, data.column("tenant"), strict=True)):
        groups.setdefault((question, tenant), []).append(at)
    same, contradicting = [False] * len(data.ids), [False] * len(data.ids)
    for places in groups.values():
        kept = contradicting if len({_expectation(data, at) for at in places}) > 1 else same
        for at in places if len(places) > 1 else ():
            kept[at] = True
    yield from data.flagged("duplicate_questions", "warning", same)
    yield from data.flagged("contradictory_labels", "error", contradicting)


def _expectation(data: CheckInputs, at: int) -> tuple[Any, ...]:
    row = data.samples.frame.iloc[at]
    expected = data.expected[at]
    reference = row["reference"]
    return (
        None if reference is None else normalise(reference),
        None if expected is None else frozenset(expected),
        bool(row["expect_refusal"]) if row["expect_refusal"] is not None else None,
        repr(row["must_include"]),
        repr(row["must_not_include"]),
    )


def included_and_forbidden(data: CheckInputs) -> Iterator[Notice]:
    """A key point that is also forbidden, or that holds what is forbidden: no answer can pass."""
    flags = map(_clash, data.column("must_include"), data.column("must_not_include"))
    yield from data.flagged("included_and_forbidden", "error", flags)


def _clash(wanted: Any, banned: Any) -> bool:
    """Whether every alternative of some point holds a forbidden text."""
    forbidden = [normalise(one) for entry in banned or () for one in alternatives(entry)]
    points = [[normalise(one) for one in alternatives(entry)] for entry in wanted or ()]
    return any(point and all(any(ban and ban in one for ban in forbidden) for one in point) for point in points)


def refusal_with_points(data: CheckInputs) -> Iterator[Notice]:
    """A refusal is expected, and key points of an answer as well."""
    both = zip(data.column("expect_refusal"), data.column("must_include"), strict=True)
    yield from data.flagged("refusal_with_points", "error", (refused is True and bool(points) for refused, points in both))


def expected_and_banned_documents(data: CheckInputs) -> Iterator[Notice]:
    """A document that is expected and must not be retrieved; patterns are globs."""
    flags = [
        any(fnmatchcase(doc_id, one) for doc_id in expected or () for entry in banned or () for one in alternatives(entry))
        for expected, banned in zip(data.expected, data.column("must_not_retrieve"), strict=True)
    ]
    yield from data.flagged("expected_and_banned_documents", "error", flags)


def vacuous_cases(data: CheckInputs) -> Iterator[Notice]:
    """A case that expects nothing: whatever the system does, it cannot fail.

    An empty ``expected_docs`` does expect something: that nothing is retrieved.
    """
    columns = [data.column(name) for name in EXPECTATIONS]
    flags = [all(value is None for value in row) for row in zip(*columns, strict=True)]
    yield from data.flagged("vacuous_cases", "note" if all(flags) else "warning", flags)


def missing_kinds(data: CheckInputs) -> Iterator[Notice]:
    """No case that should be refused; no case about what must not be seen."""
    if not data.ids:
        return
    if not any(value is True for value in data.column("expect_refusal")):
        yield Notice("no_refusal_cases", "note", n=0)
    has_permission = any(value for value in data.column("must_not_retrieve")) or any(
        any(word in str(value or "").lower() for word in named("words", "permission"))
        for value in data.column("case_type")
    )
    if not has_permission:
        proposed = [] if data.corpus is None else over_reach_cases(data.corpus)
        if proposed:
            yield Notice("no_over_reach_cases", "warning", n=len(proposed), values={"example": proposed[0]["question"]})
        else:
            yield Notice("no_permission_cases", "note", n=0)


def unbalanced_types(data: CheckInputs) -> Iterator[Notice]:
    """Types with so few samples that a rate over them says little, or that drown beside the largest."""
    sizes: dict[str, int] = {}
    types = data.column("case_type")
    for value in types:
        if value is not None:
            sizes[value] = sizes.get(value, 0) + 1
    if len(sizes) < 2:
        return
    largest = max(sizes.values())
    small = {name for name, size in sizes.items() if size < 5 or size * 10 < largest}
    if small and len(small) < len(sizes):
        shown = ", ".join(f"{name} ({sizes[name]})" for name in sorted(small, key=sizes.__getitem__)[:6])
        ids = data.where(value in small for value in types)
        yield Notice("unbalanced_types", "note", ids, values={"types": shown, "largest": largest})


def answers(data: CheckInputs) -> Iterator[Notice]:
    """Answers that are missing or blank; answers that are the reference word for word."""
    values = data.column("answer")
    missing = [value is None for value in values]
    if values and all(missing):
        yield Notice("no_answers", "note", n=len(values))
    else:
        yield from data.flagged("missing_answers", "warning", missing)
    yield from data.flagged("empty_answers", "warning", [value is not None and not value.strip() for value in values])
    copied = [
        bool(answer and reference) and len(reference) >= 20 and normalise(answer) == normalise(reference)
        for answer, reference in zip(values, data.column("reference"), strict=True)
    ]
    if sum(copied) * 2 > len(copied) and len(copied) >= 3:
        yield from data.flagged("answer_is_reference", "warning", copied)


def languages(data: CheckInputs) -> Iterator[Notice]:
    """Questions in several languages; answers in another language than their question."""
    from workbench.data.text.words import language

    asked = [language(question) for question in data.column("question")]
    counts: Mapping[str, int] = {name: asked.count(name) for name in dict.fromkeys(asked) if name != "other"}
    if len(counts) > 1:
        shown = ", ".join(f"{name} {n}" for name, n in sorted(counts.items(), key=lambda item: -item[1]))
        yield Notice("language_mix", "note", n=len(asked), values={"languages": shown})
    flags = [
        bool(answer) and len(answer) >= 20 and name != "other" and language(answer) not in (name, "other")
        for name, answer in zip(asked, data.column("answer"), strict=True)
    ]
    yield from data.flagged("answer_in_other_language", "note", flags)


# ------------------------------------------------------------------------------
# Checks of the set as a whole: what loading left out, how it differs from other sets, what would unlock more.


def loading(data: CheckInputs) -> Iterator[Notice]:
    """Rows that were rejected, and values that could not be read."""
    rejected = data.samples.rejected
    if len(rejected):
        rows = rejected["row"].drop_duplicates()
        shown = ", ".join(map(str, rows[:5])) + (", …" if len(rows) > 5 else "")
        yield Notice(
            "rejected_rows", "error", n=len(rows), values={"rows": shown, "reason": rejected["reason"].iloc[0]}
        )
    for name, reasons in data.samples.attributes.get("input_errors", {}).items():
        values = {"field": name, "reason": next(iter(reasons.values()))}
        yield Notice("unreadable_values", "error", list(reasons), values=values)


def other_sets(data: CheckInputs) -> Iterator[Notice]:
    """Samples that only one of the sets has, and ids that mean different cases in them."""
    mine = dict(zip(data.ids, data.questions, strict=True))
    for other in data.others:
        theirs = dict(zip(other.frame.index.tolist(), map(normalise, other.frame["question"]), strict=True))
        here, there = [one for one in mine if one not in theirs], [one for one in theirs if one not in mine]
        values = {"other": other.name, "here": len(here), "there": len(there), "shared": len(mine) - len(here)}
        if here or there:
            level: Level = "error" if not values["shared"] else "warning"
            yield Notice("different_samples", level, here + there, values=values)
        differing = [one for one in mine if one in theirs and mine[one] != theirs[one]]
        if differing:
            yield Notice("different_questions", "error", differing, values=values)
        references = dict(zip(other.frame.index.tolist(), other.frame["reference"].tolist(), strict=True))
        relabelled = [
            bool(own and references.get(one) and own != references[one]) and one not in differing
            for one, own in zip(data.ids, data.column("reference"), strict=True)
        ]
        yield from data.flagged("different_references", "warning", relabelled, **values)


#: What a set may lack (what it would unlock is in the texts), and whether it has it where a filled column does not say it.
UNLOCKS: dict[str, Callable[[CheckInputs], bool] | None] = {
    "answer": None, "contexts": None, "reference": None, "expected_docs": None,
    "doc_id": lambda data: bool(data.retrieved_ids) or not any(data.contexts),
    "corpus": lambda data: data.corpus is not None,
    "must_include": None, "expect_refusal": None, "tenant": None, "case_type": None,
    "latency_ms": lambda data: bool(data.samples.frame["latency_ms"].notna().any()),
}  # fmt: skip


def unlocks(data: CheckInputs) -> Iterator[Notice]:
    """Columns that are not there, and what they would make possible."""
    for name, has in UNLOCKS.items():
        there = any(value is not None for value in data.column(name)) if has is None else has(data)
        if data.ids and not there:
            yield Notice(f"unlock_{name}", "note", n=len(data.ids))


#: Every check, in the order of its findings.
CHECKS: tuple[Check, ...] = (
    loading, other_sets, duplicate_questions, included_and_forbidden, refusal_with_points, expected_and_banned_documents,
    vacuous_cases, answers, unbalanced_types, missing_kinds, languages, unmatched_ids, short_lists, context_texts,
    pasted_references, score_order, tenants, unknown_citations, unlocks,
)  # fmt: skip
