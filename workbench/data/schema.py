"""The data contract: what one sample is, and the frames that hold many.

A :class:`SampleSet` is what loading returns; :class:`Sample` is one of its rows as a judge sees it. All ids are
text. ``None`` means "not recorded" or "not judged" and is never the same as an empty list.
"""

from __future__ import annotations

import operator
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self, TypeVar, cast, overload

from workbench.data.text.words import content_words, language

if TYPE_CHECKING:
    import pandas as pd

    from workbench.data.formats.records import Remark


# ------------------------------------------------------------------------------
# A smaller set that looks like the whole one.


def stratified(frame: pd.DataFrame, n: int) -> pd.DataFrame:
    """``n`` rows of a sample frame, in their order, spread over case type, language and expected refusal.

    Every stratum gets its share, small ones at least one row while there is room; within a stratum rows are taken evenly.
    """
    if n >= len(frame):
        return frame
    strata: dict[tuple[str, ...], list[int]] = {}
    kinds = zip(frame["case_type"].tolist(), frame["question"].tolist(), frame["expect_refusal"].tolist(), strict=True)
    for place, (case_type, question, refusal) in enumerate(kinds):
        strata.setdefault((str(case_type), language(question), str(refusal)), []).append(place)
    order = sorted(
        ((rank + 0.5) / len(rows), -len(rows), row) for rows in strata.values() for rank, row in enumerate(_spread(rows))
    )
    firsts = sorted((rows[0] for rows in strata.values()), key=lambda row: row)[:n]
    chosen = dict.fromkeys(firsts)
    for *_, row in order:
        if len(chosen) >= n:
            break
        chosen[row] = None
    return frame.iloc[sorted(chosen)]


def _spread(rows: list[int]) -> list[int]:
    """Rows reordered so that every prefix is spread evenly over them."""
    places: dict[int, None] = {}
    step = len(rows)
    while step >= 1:
        places |= dict.fromkeys(range(0, len(rows), step))
        step //= 2
    return [rows[place] for place in places]


# ------------------------------------------------------------------------------
# One sample, and many.


#: Columns of ``SampleSet.frame`` in order; DESIGN's data contract. The index is ``sample_id``. Where a sample has several
#: reference answers, ``references`` holds these alternatives and ``reference`` one of them: the first, and in an evaluation
#: the one that fits best.
SAMPLE_FIELDS = (
    "question", "answer", "contexts", "reference", "expected_docs", "must_not_retrieve", "must_include",
    "must_not_include", "expect_refusal", "refusal_phrases", "case_type", "tags", "tenant", "citations", "refused",
    "latency_ms", "usage", "error", "sampled_answers", "logprobs",
)  # fmt: skip

#: Fields whose values are lists or mappings; they are stored as JSON text in Parquet.
NESTED_FIELDS = (
    "contexts", "expected_docs", "must_not_retrieve", "must_include", "must_not_include", "refusal_phrases", "tags",
    "citations", "usage", "sampled_answers", "logprobs", "references", "history",
)  # fmt: skip

#: Columns that a frame has only where something was recorded: ``history`` (what was said before the question, as
#: ``[{"role", "content"}]``) and the question as the service rewrote it.
OPTIONAL_FIELDS = ("history", "rewritten_question")

CORPUS_FIELDS = ("text", "title", "tenant", "position", "source")

#: Names beside the fields that an evaluation gives to what it found, by their beginning and whole.
DERIVED_PREFIXES = ("judge_", "text_", "recorded:")
DERIVED_COLUMNS = ("contexts_recorded", "input_errors", "not_in_corpus", "missed", "silver")

#: Ends the name of a user's own column that would be taken for one of ours.
AS_RECORDED = " (as recorded)"

REJECTED_COLUMNS = ("row", "field", "reason", "excerpt")


def is_derived(column: str) -> bool:
    """Whether a column of the samples is what an evaluation found, not a field nor a column of the user's own."""
    return not column.endswith(AS_RECORDED) and (column.startswith(DERIVED_PREFIXES) or column in DERIVED_COLUMNS)


@dataclass(frozen=True, slots=True)
class Context:
    """One retrieved fragment. ``doc_id`` is None when only the text was recorded; ``source`` is its document.

    ``kind`` is ``"tool"`` for what a tool returned.
    """

    text: str
    doc_id: str | None = None
    score: float | None = None
    title: str | None = None
    tenant: str | None = None
    position: int | None = None
    prompted: bool = True
    source: str | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample as a judge or a user's metric sees it; fields as in DESIGN's data contract.

    ``contexts`` holds all recorded ones in order (judged metrics use the prompted ones), or None when not recorded.
    ``must_include`` and ``must_not_include`` entries are tuples of alternatives.
    """

    sample_id: str
    question: str
    answer: str | None = None
    contexts: tuple[Context, ...] | None = None
    reference: str | None = None
    must_include: tuple[tuple[str, ...], ...] = ()
    must_not_include: tuple[tuple[str, ...], ...] = ()
    expect_refusal: bool | None = None
    refusal_phrases: tuple[str, ...] = ()
    tenant: str | None = None
    sampled_answers: tuple[str, ...] = ()
    history: tuple[tuple[str, str], ...] = ()
    rewritten_question: str | None = None

    @property
    def asked(self) -> str:
        """The question as it stands for itself, see :func:`asked`."""
        return asked(self.question, [text for role, text in self.history if role == "user"], self.rewritten_question)

    @property
    def conversation(self) -> str:
        """The question with the last turns before it, one a line; the question alone without any."""
        said = [f"{role}: {text if len(text) <= _SHOWN else text[:_SHOWN] + '…'}" for role, text in self.history[-TURNS:]]
        return "\n".join([*said, f"user: {self.question}"]) if said else self.question


#: Earlier messages that a judge is shown, and characters of each; words of a question that cannot stand alone.
TURNS, _SHOWN, _ELLIPTIC = 6, 1000, 3


def asked(question: str, earlier: Sequence[str], rewritten: str | None = None) -> str:
    """A question as it stands for itself: as the service rewrote it; a short one after the user's ``earlier`` one; itself."""
    if rewritten:
        return rewritten
    return f"{earlier[-1]}\n{question}" if earlier and len(content_words(question)) <= _ELLIPTIC else question


class Judgement(NamedTuple):
    """One entry of the relevance judgements: any of ``doc_ids`` satisfies it; relevant when ``grade`` ≥ 1."""

    doc_ids: tuple[str, ...]
    grade: float


def judgements(expected: Any) -> tuple[Judgement, ...] | None:
    """Relevance judgements of one sample in their one normal form.

    Parameters
    ----------
    expected
        ``{doc_id: grade}``, or a list whose entries are an id or a list of alternative ids; None = not judged.

    Returns
    -------
    tuple of Judgement, or None when not judged. Repeated entries are kept once (the highest grade wins).
    """
    if expected is None:
        return None
    pairs = (
        [((str(key),), float(grade)) for key, grade in expected.items()]
        if isinstance(expected, Mapping)
        else [(alternatives(entry), 1.0) for entry in expected]
    )
    best: dict[tuple[str, ...], float] = {}
    for ids, grade in pairs:
        best[ids] = max(grade, best.get(ids, grade))
    return tuple(Judgement(ids, grade) for ids, grade in best.items())


def alternatives(entry: Any) -> tuple[str, ...]:
    """An entry of a list field as a tuple of alternatives: ``"a"`` → ``("a",)``, ``["a", "b"]`` → ``("a", "b")``."""
    if isinstance(entry, str) or not isinstance(entry, Sequence):
        return (str(entry),)
    return tuple(dict.fromkeys(str(item) for item in entry))


Row = TypeVar("Row")

#: Rows that ``head`` takes and a notebook shows, and characters of a cell.
HEAD, _CELL = 5, 120


class Rows(ABC, Generic[Row]):
    """A set that behaves as people expect: ``len``, iterating, ``id in``, ``[id]``, ``[position]``, ``[from:to]``, ``head``, a
    table in a notebook.

    ``frame`` has a row for each, its index the ids.
    """

    frame: pd.DataFrame
    rejected: pd.DataFrame
    n_read: int
    _shown: ClassVar[tuple[str, ...]] = ()
    #: Attributes with a row for each.
    _by_row: ClassVar[tuple[str, ...]] = ("frame",)

    def __len__(self) -> int:
        return len(self.frame)

    def __iter__(self) -> Iterator[Row]:
        return self._rows(self.frame)

    def __contains__(self, key: object) -> bool:
        return key in self.frame.index if isinstance(key, str) else any(key == row for row in self)

    @overload
    def __getitem__(self, key: str | int) -> Row: ...

    @overload
    def __getitem__(self, key: slice) -> Self: ...

    def __getitem__(self, key: str | int | slice) -> Row | Self:
        """The one with that id (text), or at that position (a whole number, from the end when negative); a slice of positions
        is a set, with which what was rejected stays."""
        if isinstance(key, slice):
            kept = {name: getattr(self, name).iloc[key] for name in self._by_row}
            n_read = len(kept["frame"]) + self.rejected["row"].nunique()
            return cast(Self, replace(cast(Any, self), n_read=n_read, **kept))
        if isinstance(key, str):
            if key not in self.frame.index:
                raise KeyError(f"{self!r} holds no {self.frame.index.name} {key!r}")
            return next(self._rows(self.frame.loc[[key]]))
        place = operator.index(key)
        if not -len(self) <= place < len(self):
            raise IndexError(f"position {place} is outside of {self!r}")
        return next(self._rows(self.frame.iloc[[place]]))

    def head(self, n: int = HEAD) -> Self:
        """The first ``n`` as a set."""
        return self[: max(n, 0)]

    @abstractmethod
    def _rows(self, frame: pd.DataFrame) -> Iterator[Row]:
        """Each row of ``frame`` as what the set is of."""

    def _repr_html_(self) -> str:
        shown = self.frame.loc[:, [name for name in self._shown if name in self.frame.columns]].head(HEAD)
        cells = {name: [_cell(value) for value in shown[name].tolist()] for name in shown.columns}
        table = object_frame({name: objects(values) for name, values in cells.items()}, shown.index.map(_cell))
        return f"<p>{escape(_cell(repr(self)))}</p>{table.to_html(escape=True)}"


def _cell(value: Any) -> str:
    """A value as it is shown in a table: one short line without control characters and changes of direction."""
    if none_if_missing(value) is None:
        return "–"
    text = f"{len(value)} ×" if isinstance(value, (list, tuple)) else str(value)
    plain = " ".join("".join(c if unicodedata.category(c)[0] != "C" else " " for c in text[: 2 * _CELL]).split())
    return plain if len(plain) <= _CELL else plain[: _CELL - 1] + "…"


@dataclass(frozen=True, repr=False)
class SampleSet(Rows[Sample]):
    """Samples that were kept, and everything that was not.

    Attributes
    ----------
    frame
        One row a sample, index ``sample_id`` (unique text), columns :data:`SAMPLE_FIELDS` first, then the user's own.
    rejected, warnings
        ``row`` (as numbered in the file, the first record is 1), ``field``, ``reason``, ``excerpt``.
    n_read
        Records in the file: ``len(frame) + rejected["row"].nunique()``.
    recorded_scores
        Index ``sample_id``, a float column for each metric that another tool had computed.
    name, source
        File stem (or as given) and what was read, for messages.
    """

    frame: pd.DataFrame
    rejected: pd.DataFrame
    warnings: pd.DataFrame
    n_read: int
    recorded_scores: pd.DataFrame
    name: str = "samples"
    source: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    _shown = ("question", "answer", "contexts", "reference", "case_type")
    _by_row = ("frame", "recorded_scores")

    def __repr__(self) -> str:
        rejected = self.rejected["row"].nunique()
        return f"SampleSet({self.name!r}: {self.n_read:,} rows read = {len(self):,} kept + {rejected:,} rejected)"

    def samples(self) -> list[Sample]:
        """The rows as :class:`Sample` objects, in order."""
        return list(self)

    def _rows(self, frame: pd.DataFrame) -> Iterator[Sample]:
        return iter_samples(frame)


@dataclass(frozen=True, repr=False)
class Corpus(Rows[Context]):
    """A knowledge base. ``frame``: index ``doc_id`` (unique text), columns :data:`CORPUS_FIELDS`."""

    frame: pd.DataFrame
    rejected: pd.DataFrame
    n_read: int
    name: str = "corpus"
    _shown = CORPUS_FIELDS

    def __repr__(self) -> str:
        return f"Corpus({self.name!r}: {len(self):,} documents of {self.n_read:,} rows read)"

    def _rows(self, frame: pd.DataFrame) -> Iterator[Context]:
        columns = (frame[name].tolist() for name in CORPUS_FIELDS)
        for doc_id, text, title, tenant, position, source in zip(frame.index.tolist(), *columns, strict=True):
            found = {"text": text, "doc_id": doc_id, "title": title, "tenant": tenant, "position": position}
            yield to_context({**found, "metadata": {"source": source}})


def iter_samples(frame: pd.DataFrame) -> Iterator[Sample]:
    """Yield each row of a sample frame as a :class:`Sample`."""
    wanted = [name for name in Sample.__dataclass_fields__ if name != "sample_id" and name in frame.columns]
    columns = [frame[name].tolist() for name in wanted]
    for sample_id, *values in zip(frame.index.tolist(), *columns, strict=True):
        yield to_sample(str(sample_id), dict(zip(wanted, values, strict=True)))


def to_sample(sample_id: str, row: Mapping[str, Any]) -> Sample:
    """One row (field → value, missing values None) as a :class:`Sample`."""
    contexts = row.get("contexts")
    return Sample(
        sample_id=sample_id,
        question=row["question"],
        answer=none_if_missing(row.get("answer")),
        contexts=None if not isinstance(contexts, Sequence) else tuple(to_context(item) for item in contexts),
        reference=none_if_missing(row.get("reference")),
        must_include=_entries(row.get("must_include")),
        must_not_include=_entries(row.get("must_not_include")),
        expect_refusal=none_if_missing(row.get("expect_refusal")),
        refusal_phrases=tuple(_listed(row.get("refusal_phrases"))),
        tenant=none_if_missing(row.get("tenant")),
        sampled_answers=tuple(_listed(row.get("sampled_answers"))),
        history=tuple((item["role"], item["content"]) for item in _listed(row.get("history"))),
        rewritten_question=none_if_missing(row.get("rewritten_question")),
    )


def to_context(item: Mapping[str, Any]) -> Context:
    """One item of a ``contexts`` list as a :class:`Context`."""
    metadata = item.get("metadata")
    source = metadata.get("source") if isinstance(metadata, Mapping) else None
    position = none_if_missing(item.get("position"))
    return Context(
        text=item["text"],
        doc_id=none_if_missing(item.get("doc_id")),
        score=none_if_missing(item.get("score")),
        title=none_if_missing(item.get("title")),
        tenant=none_if_missing(item.get("tenant")),
        position=None if position is None else int(position),
        prompted=item.get("prompted") is not False,
        source=None if source is None else str(source),
        kind=none_if_missing(item.get("kind")),
    )


def none_if_missing(value: Any) -> Any:
    """None for None, NaN and pandas' missing values; everything else as it is."""
    return None if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value else value


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _entries(value: Any) -> tuple[tuple[str, ...], ...]:
    return tuple(alternatives(entry) for entry in _listed(value))


def object_frame(columns: Mapping[str, Any], index: pd.Index) -> pd.DataFrame:
    """A frame of object columns, so that None stays None; arrays of numbers and booleans keep their type."""
    import pandas as pd

    frame = pd.DataFrame(columns, index=index, dtype=object)
    return frame.astype({name: values.dtype for name, values in columns.items() if values.dtype != object})


def objects(values: list[Any]) -> Any:
    """A one-dimensional object array; lists stay lists."""
    import numpy as np

    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def remarks_frame(remarks: list[Remark]) -> pd.DataFrame:
    """``rejected`` and ``warnings`` of a set: columns ``row, field, reason, excerpt``."""
    import pandas as pd

    columns = {name: [remark[at] for remark in remarks] for at, name in enumerate(REJECTED_COLUMNS)}
    columns["reason"] = list(map(str, columns["reason"]))
    return pd.DataFrame(columns, dtype=object).astype({"row": "int64"})
