"""Loading samples: ``load_samples`` reads what people have and says what it could not use.

Nothing is lost: the rows read are the rows kept and the rows rejected. A row is rejected only when it has no usable
question or id, or repeats an id; any other field that is there and cannot be read becomes None, stands in
``warnings`` and in ``attributes["input_errors"]`` (field → sample id → reason), and metrics that need it are
``input_error`` for that sample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from workbench.data import fields
from workbench.data.columns import (
    COMPARED,
    alternates,
    checked_mapping,
    coalesce,
    fold,
    is_score,
    near_miss,
    remembered_mapping,
    resolve,
    suggested_mapping,
)
from workbench.data.corpus import expected_by_content, load_corpus, match_contexts, normalise_ids
from workbench.data.fields import Unreadable, contexts, with_parallel
from workbench.data.formats.records import WHOLE_FILE, Records, Remark, excerpt, looks_structured, opened, why
from workbench.data.formats.source import read_source
from workbench.data.formats.tools import unpack
from workbench.data.formats.turns import as_turns
from workbench.data.run_config import recorded_config
from workbench.data.schema import (
    AS_RECORDED,
    OPTIONAL_FIELDS,
    SAMPLE_FIELDS,
    Corpus,
    SampleSet,
    is_derived,
    object_frame,
    objects,
    remarks_frame,
)
from workbench.data.text.normalise import normalise, scrubbed
from workbench.data.text.reasoning import parted
from workbench.errors import InputError
from workbench.language import main_language, suggest_language

# ------------------------------------------------------------------------------
# From records to columns of our fields: each value read by its reader, each failure kept with its row.


#: How each field of the contract is read.
READERS: dict[str, Callable[[Any], Any]] = {
    "sample_id": fields.identifier,
    "question": fields.question,
    "answer": fields.answer,
    "contexts": contexts,
    "reference": fields.references,
    "expected_docs": fields.expected_docs,
    "must_not_retrieve": fields.ids,
    "must_include": fields.phrases,
    "must_not_include": fields.phrases,
    "expect_refusal": fields.boolean,
    "refusal_phrases": fields.flat_phrases,
    "case_type": fields.words,
    "tags": fields.tags,
    "tenant": fields.identifier,
    "citations": fields.ids,
    "refused": fields.boolean,
    "latency_ms": fields.number,
    "usage": fields.usage,
    "error": fields.error_text,
    "sampled_answers": fields.texts,
    "logprobs": fields.logprobs,
    "history": fields.history,
    "rewritten_question": fields.filled_text,
}

_SECONDS = (
    "latency_s", "latency_seconds", "duration_s", "duration_seconds", "elapsed_seconds", "response_time_seconds",
    "completion_time",
)  # fmt: skip

#: Columns that are understood without being a field: never a near miss.
_UNDERSTOOD = {"reference_contexts", "success", "context_trace_id", "span_kind"}


@dataclass
class Fields:
    """Columns of one source, all as long as ``numbers``.

    ``values`` has the fields that the source holds; ``unreadable`` the remarks by field and position; ``own`` the
    columns that are none of our fields; ``scores`` those that another tool computed, as floats or None.
    """

    numbers: list[int]
    values: dict[str, list[Any]]
    own: dict[str, list[Any]]
    scores: dict[str, list[float | None]]
    unreadable: dict[str, dict[int, Remark]] = field(default_factory=dict)
    warnings: list[Remark] = field(default_factory=list)

    def column(self, name: str) -> list[Any]:
        """Values of a field; all None when the source does not hold it."""
        return self.values.get(name) or [None] * len(self.numbers)


def read_fields(records: Records, columns: Mapping[str, str]) -> Fields:
    """Read every field of ``columns`` (field → column of ``records``)."""
    fields = Fields(records.numbers, {}, {}, {})
    rows, used = coalesce(records.rows, columns, alternates(records.columns, columns))
    records = replace(records, rows=rows)
    used |= set(columns.values())
    for name, column in columns.items():
        if name in READERS:
            _read_field(fields, records, name, column)
    used |= _read_parallel(fields, records)
    used |= _read_seconds(fields, records)
    for column in records.columns:
        if column not in used:
            _read_other(fields, records, column, columns)
    return fields


def _read_field(fields: Fields, records: Records, name: str, column: str) -> None:
    reader, failures = READERS[name], fields.unreadable.setdefault(name, {})
    values: list[Any] = []
    for at, row in enumerate(records.rows):
        raw = row.get(column)
        try:
            value = None if raw is None else reader(raw)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            value = None
            reason = error.reason if isinstance(error, Unreadable) else why("unread", error=excerpt(str(error), 250))
            failures[at] = Remark(records.numbers[at], name, reason, excerpt(raw))
        if value is not None and records.may_hold_surrogates and (clean := scrubbed(value)) is not value:
            value = clean
            reason = why("surrogates")
            fields.warnings.append(Remark(records.numbers[at], name, reason, excerpt(value)))
        values.append(value)
    fields.values[name] = values


def _read_parallel(fields: Fields, records: Records) -> set[str]:
    """Ids, scores, … that stand in lists beside the texts of the contexts."""
    beside = resolve(records.columns, "parallel")
    if not beside:
        return set()
    values = fields.column("contexts")
    broken = fields.unreadable.get("contexts", {})
    for at, row in enumerate(records.rows):
        lists = {name: row.get(column) for name, column in beside.items() if row.get(column) is not None}
        if lists and at not in broken:
            values[at], remarks = with_parallel(values[at], lists)
            fields.warnings += [Remark(records.numbers[at], "contexts", remark) for remark in remarks]
    fields.values["contexts"] = values
    return set(beside.values())


def _read_seconds(fields: Fields, records: Records) -> set[str]:
    """A latency in seconds, when there is none in milliseconds."""
    column = next((name for name in records.columns if fold(name) in _SECONDS), None)
    if column is None or "latency_ms" in fields.values:
        return set()
    _read_field(fields, records, "latency_ms", column)
    fields.values["latency_ms"] = [None if value is None else 1000.0 * value for value in fields.values["latency_ms"]]
    return {column}


def _read_other(fields: Fields, records: Records, column: str, columns: Mapping[str, str]) -> None:
    values = [_own(row.get(column)) for row in records.rows]
    if is_score(column) or column in records.score_columns:
        found = [_float(value) for value in values]
        broken = [at for at, (_, wrong) in enumerate(found) if wrong]
        if 2 * len(broken) <= sum(value is not None for value in values):
            fields.scores[column] = [score for score, _ in found]
            reason = why("score_no_number")
            fields.warnings += [Remark(fields.numbers[at], column, reason, excerpt(values[at])) for at in broken]
            return
    fields.own[column] = list(map(scrubbed, values))
    plain_name = fold(column) not in _UNDERSTOOD and len(fields.own) <= COMPARED
    field_name = near_miss(column, taken=columns) if plain_name else None
    if field_name is not None:
        pair = f"{{{column!r}: {field_name!r}}}"
        reason = why("near_miss", field=field_name, pair=pair)
        fields.warnings.append(Remark(WHOLE_FILE, column, reason))


def _own(value: Any) -> Any:
    """A value of a column of the user's own: containers in the form of JSON, anything flat as it is."""
    value = fields.plain(value)
    try:
        return fields.jsonable(value) if isinstance(value, (list, Mapping, int)) else value
    except (ValueError, RecursionError):  # a list that holds itself, a key of more than 4,300 digits
        return excerpt(value)


def _float(value: Any) -> tuple[float | None, bool]:
    """A score, and whether something is there that is no number."""
    value = opened(value)
    if isinstance(value, list) and len(value) == 1:  # Langfuse exports a score as the list of its values
        value = value[0]
    try:
        if isinstance(value, str) and value.strip().lower() in ("true", "false", "yes", "no"):
            value = fields.boolean(value)
        return float(value) if isinstance(value, bool) else fields.number(value), False
    except Unreadable:
        return None, True


# ------------------------------------------------------------------------------
# One run out of a file of several, and case fields joined to a recording.


#: Fields that are recorded with an answer and never come from the cases.
RECORDED = (
    *OPTIONAL_FIELDS, "answer", "contexts", "citations", "refused", "latency_ms", "usage", "error", "sampled_answers",
    "logprobs",
)  # fmt: skip


def chosen_run(records: Records, column: str | None, run: str | None, where: str) -> Records:
    """The rows of ``run``; all of them when the source has no such column, or only one run in it.

    Raises ``InputError`` when there are several runs and none is chosen, or the chosen one is not there: it names the
    runs.
    """
    if column is None:
        if run is not None:
            raise InputError(f"{where}: run={run!r} is asked for and there is no column named run; leave run= out")
        return records
    labels = [_label(row.get(column)) for row in records.rows]
    names = list(dict.fromkeys(label for label in labels if label is not None))
    shown = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
    if run is None and len(names) <= 1:
        return records
    if run is None:
        raise InputError(f"{where}: holds {len(names)} runs ({shown}); choose one with run={names[0]!r}")
    if str(run) not in names:
        raise InputError(f"{where}: there is no run {run!r}; it holds {shown or 'none'}")
    kept = [at for at, label in enumerate(labels) if label == str(run)]
    warnings = list(records.warnings)
    if n_without := labels.count(None):
        reason = why("no_run", n=n_without)
        warnings.append(Remark(WHOLE_FILE, "run", reason))
    rows, numbers = [records.rows[at] for at in kept], [records.numbers[at] for at in kept]
    return replace(records, rows=rows, numbers=numbers, warnings=warnings)


def _label(value: Any) -> str | None:
    try:
        return fields.identifier(value)
    except Unreadable:
        return None


def fill_from_cases(fields: Fields, cases: Fields, *, by_question: bool) -> None:
    """Fill what ``fields`` lacks from the case with the same id (or question); what was recorded stays.

    Samples without a case and cases without a sample are warnings.
    """
    positions: dict[str, int] = {}
    for at, key in enumerate(_keys(cases, by_question)):
        if key is not None:
            positions.setdefault(key, at)
    keys = _keys(fields, by_question)
    matches = [None if key is None else positions.get(key) for key in keys]
    for name in cases.values:
        if name != "sample_id" and name not in RECORDED:
            fields.values[name] = _filled(fields.column(name), cases.values[name], matches)
    if by_question:
        theirs = cases.values["sample_id"]
        pairs = zip(fields.values["sample_id"], matches, strict=True)
        fields.values["sample_id"] = [own if at is None else theirs[at] for own, at in pairs]
    for name, values in cases.own.items():
        fields.own[name] = _filled(fields.own.get(name, [None] * len(matches)), values, matches)
    fields.warnings += [
        Remark(number, "sample_id", why("no_case_question" if by_question else "no_case_id"))
        for number, at in zip(fields.numbers, matches, strict=True)
        if at is None
    ]
    unused = len(cases.numbers) - len({at for at in matches if at is not None})
    if unused:
        fields.warnings.append(Remark(WHOLE_FILE, "sample_id", why("unused_cases", n=unused)))


def _filled(values: list[Any], theirs: list[Any], matches: list[int | None]) -> list[Any]:
    return [
        theirs[at] if value is None and at is not None else value for value, at in zip(values, matches, strict=True)
    ]


def _keys(fields: Fields, by_question: bool) -> list[str | None]:
    if not by_question:
        return fields.values["sample_id"]
    return [None if question is None else normalise(question) for question in fields.column("question")]


# ------------------------------------------------------------------------------
# What a source looks like that is no sample set, and what to do: one line for the error.


def no_question(records: Records, columns: Mapping[str, str], where: str) -> InputError:
    """The error for ``records`` in which no column holds the questions."""
    names = [name for name in records.columns if name]
    suggest_language(main_language(names))
    pairs = suggested_mapping([name for name in names if name not in columns.values()], columns)
    near = next((name for name, field in pairs.items() if field == "question"), None)
    if near is not None:
        said = f"no column of questions; is it {near!r}? Then pass mapping={pairs} (--map 'question={near}')"
        return InputError(f"{where}: {said}", key="near_question", where=where, near=near, mapping=pairs)
    looks = _looks_like(records, columns, names)
    key = "no_question" if looks.startswith("no column") else ""
    return InputError(f"{where}: {looks}", key=key, where=where, names=excerpt(", ".join(names), 110), mapping=pairs)


def _looks_like(records: Records, columns: Mapping[str, str], names: list[str]) -> str:
    shown = excerpt(", ".join(names), 110)
    if _is_transposed(records, names):
        return f"looks like a transposed table (fields stand in rows: {shown}); transpose it, one row for each question"
    first = [row.get(names[0]) for row in records.rows[:50]] if names else []
    if any(isinstance(value, str) and is_score(value) for value in first):
        return f"looks like a table of aggregate scores ({shown}); give the file with one record for each question"
    if names and all(is_score(name) for name in names):
        return f"holds scores without questions ({shown}); give the file that has question and answer beside them"
    if names and all(name.isdigit() for name in names):
        inner = next(iter(records.rows[0].values()), None)
        keys = excerpt(", ".join(map(str, inner)), 60) if isinstance(inner, Mapping) else excerpt(inner, 60)
        return f"looks like a table of scores by number without questions ({keys}); give the file that has the questions"
    if "text" in resolve(names, "corpus") and "answer" not in columns:
        return f"looks like a corpus ({shown}); read it with load_corpus, and give load_samples the questions"
    hint = "name it with mapping={'your column': 'question'}"
    return f"no column of questions among {shown}; {hint}" if names else "holds no columns; give one with questions"


def _is_transposed(records: Records, names: list[str]) -> bool:
    """Whether the names of our fields stand in the first column, or as the rows of numbered columns."""
    if not records.rows or not names:
        return False
    first = [row.get(names[0]) for row in records.rows[:50]]
    known = resolve([value for value in first if isinstance(value, str) and len(value) < 60], "sample")
    return len(known) >= 2 and ("question" in known or fold(names[0]) == "question")


# ------------------------------------------------------------------------------
# From a source to samples.


def load_samples(
    source: Any,
    *,
    mapping: Mapping[str, str] | None = None,
    cases: Any = None,
    run: str | None = None,
    corpus: Corpus | Any = None,
    turns: str = "last",
    separator: str | None = None,
    normalize_ids: bool | Sequence[str] = False,
    strict: bool = False,
    name: str | None = None,
    format: str | None = None,
    encoding: str | None = None,
) -> SampleSet:
    """Load samples of any known format.

    Parameters
    ----------
    source
        A path (JSON, JSONL, CSV, TSV, Excel, Parquet, each also gzipped; a saved data set; a BEIR folder), a
        DataFrame, a list of dicts, or a Hugging Face Dataset. What it is, is read from its content.
    mapping
        ``{"their column": "our field"}`` where the names are not recognised, or wrongly; either way round.
        Without one, the mapping that was chosen for this file in a notebook or with ``--map`` holds.
    cases
        A second source whose fields (question, reference, expected documents, …) fill what the samples lack; joined
        by id, or by question when the samples carry no ids.
    run
        Which run to take when the source has a ``run`` column.
    corpus
        A ``Corpus`` or a source of one: contexts without ids are then matched to it by content.
    turns
        Of a conversation, which turns are samples: ``"last"`` or ``"all"``; each keeps what was said before it in a
        column ``history``.
    separator
        What parts several contexts that stand in one text (``"|"``, ``"\\n\\n"``). Never guessed: a warning asks.
    normalize_ids
        Match ids that differ only in form: True, or some of ``unicode case percent path suffix chunk`` (``check`` says which).
    strict
        Raise instead of rejecting rows or leaving out values.
    name
        Name of the set; the file's stem when not given.
    format
        One of ``json jsonl csv tsv excel parquet``, when the content leaves a doubt.
    encoding
        How a text file is encoded (``"shift_jis"``, ``"gb18030"``, …), when the warning shows that it was read wrongly.

    Returns
    -------
    SampleSet
        ``n_read == len(frame) + rejected["row"].nunique()``.

    Raises
    ------
    InputError
        When the source cannot be read or is no sample set; with ``strict``, when anything was wrong with any row.

    Examples
    --------
    >>> samples = wb.load_samples("runs/baseline.jsonl")
    >>> len(samples), samples.n_read
    (80, 80)
    """
    if isinstance(source, SampleSet):
        source = source.frame
    records = as_turns(unpack(read_source(source, format, encoding)), turns, _asked(mapping))
    where = short_name(records)
    if not mapping and (mapping := remembered_mapping(source, records.columns)):
        pairs = ", ".join(f"{column} → {field}" for column, field in mapping.items())
        records.warnings.append(Remark(WHOLE_FILE, "columns", why("remembered", pairs=pairs)))
    fields, rejected, has_ids = _read(records, mapping, run, where, needs_question=cases is None, separator=separator)
    if cases is not None:
        others, _, _ = _read(unpack(read_source(cases)), None, None, "the cases", needs_question=True)
        fill_from_cases(fields, others, by_question=not has_ids)
    # Remarks are put into words from here on, in the language of the data unless another was chosen.
    suggest_language(main_language(fields.column("question")))
    samples = expected_by_content(_assembled(fields, rejected, records, name or records.name))
    if strict:
        _raise_all(samples, where)

    base = None if corpus is None else load_corpus(corpus)
    samples = samples if base is None else match_contexts(samples, base)
    return normalise_ids(samples, normalize_ids, base) if normalize_ids else samples


def _asked(mapping: Mapping[str, str] | None) -> str | None:
    """The column that the user's mapping calls the question."""
    pairs = [pair for pair in (mapping or {}).items() if "question" in pair]
    return next((left if right == "question" else right for left, right in pairs), None)


def short_name(records: Records) -> str:
    """How messages call the source: the end of its file name, or "the data"."""
    return Path(records.source).name[-80:] if records.source else "the data"


def _read(
    records: Records, mapping: Mapping[str, str] | None, run: str | None, where: str, *, needs_question: bool,
    separator: str | None = None,
) -> tuple[Fields, list[Remark], bool]:
    """Columns of our fields, rows rejected so far, and whether the source carried ids."""
    if not records.n_read:
        raise InputError(f"{where}: holds no records; give at least one question", key="empty", where=where)
    columns = resolve(records.columns, "sample", checked_mapping(mapping, records.columns, "sample", where))
    if needs_question and "question" not in columns:
        raise no_question(records, columns, where)
    records = chosen_run(records, columns.pop("run", None), run, where)
    if "contexts" in columns:
        records = _parted(records, columns["contexts"], separator)
    fields = read_fields(records, columns)
    fields.warnings = records.warnings + fields.warnings
    rejected = records.rejected + _name_samples(fields)
    return fields, rejected, "sample_id" in columns


#: What may part several contexts in one text, most telling first.
_SEPARATORS = ("|", "\n---\n", "\n\n")


def _parted(records: Records, column: str, separator: str | None) -> Records:
    """Contexts that stand in one text cut at ``separator``; without one, a warning where a text looks like several."""
    singles = [row[column] for row in records.rows if isinstance(row.get(column), str) and not looks_structured(row[column])]
    if separator is not None:
        def cut(row: Mapping[str, Any]) -> Mapping[str, Any]:
            whole = row.get(column)
            joined = isinstance(whole, str) and not looks_structured(whole)
            return {**row, column: [part for part in str(whole).split(separator) if part.strip()]} if joined else row

        return replace(records, rows=[cut(row) for row in records.rows])
    for mark in _SEPARATORS:
        several = sum(sum(len(part.strip()) > 7 for part in whole.split(mark)) > 1 for whole in singles if mark in whole)
        if several and 2 * several >= len(singles):
            reason = why("separator", mark=repr(mark), n=several)
            return replace(records, warnings=[*records.warnings, Remark(WHOLE_FILE, column, reason)])
    return records


def _name_samples(fields: Fields) -> list[Remark]:
    """Fill missing ids from row numbers; report ids that cannot be read."""
    given = fields.values.get("sample_id")
    unreadable = fields.unreadable.pop("sample_id", {})
    taken = set(given or ())
    ids: list[Any] = []
    for at, number in enumerate(fields.numbers):
        value = given[at] if given else None
        if value is None and at not in unreadable:
            value = str(number) if str(number) not in taken else f"row-{number}"
            if given:
                fields.warnings.append(Remark(number, "sample_id", why("unnamed", name=repr(value))))
        ids.append(value)
    fields.values["sample_id"] = ids
    return list(unreadable.values())


def _assembled(fields: Fields, rejected: list[Remark], records: Records, name: str) -> SampleSet:
    import pandas as pd

    kept, refused = _kept_rows(fields)
    rejected = sorted(rejected + refused, key=_place)
    index = pd.Index([fields.values["sample_id"][at] for at in kept], dtype=object, name="sample_id")
    scores = {column: _floats(values, kept) for column, values in fields.scores.items()}
    input_errors, warnings = _input_errors(fields, kept)
    return SampleSet(
        frame=object_frame(_columns(fields, kept), index),
        rejected=remarks_frame(rejected),
        warnings=remarks_frame(sorted(fields.warnings + warnings, key=_place)),
        n_read=len(kept) + len({remark.row for remark in rejected}),
        recorded_scores=pd.DataFrame(scores, index=index, dtype=float),
        name=name,
        source=records.source,
        attributes={"input_errors": input_errors, "format": records.kind,
                    "config": recorded_config(records.source, fields.own.get("config", ()))},
    )


def _place(remark: Remark) -> tuple[int, str, str]:
    return remark.row, remark.field, str(remark.reason)


def _kept_rows(fields: Fields) -> tuple[list[int], list[Remark]]:
    """Positions of the rows that are kept, and why the others are not."""
    kept, refused = [], []
    first: dict[str, int] = {}
    questions, broken = fields.column("question"), fields.unreadable.get("question", {})
    for at, (number, sample_id) in enumerate(zip(fields.numbers, fields.values["sample_id"], strict=True)):
        if sample_id is None:
            continue  # rejected before: its id could not be read
        question = questions[at]
        if at in broken:
            refused.append(broken[at])
        elif question is None or not question.strip():
            reason = why("no_question")
            refused.append(Remark(number, "question", reason, excerpt(fields.column("answer")[at] or sample_id)))
        elif sample_id in first:
            refused.append(
                Remark(number, "sample_id", why("same_id", row=first[sample_id]), excerpt(sample_id))
            )
        else:
            first[sample_id] = number
            kept.append(at)
    return kept, refused


def _columns(fields: Fields, kept: list[int]) -> dict[str, Any]:
    import pandas as pd

    frame: dict[str, Any] = {}
    for name in SAMPLE_FIELDS:
        values = fields.column(name)
        picked = [values[at] for at in kept]
        if name == "answer":
            both = [parted(value) if isinstance(value, str) else (value, "") for value in picked]
            picked = [(said or None) if thought else said for said, thought in both]
            reasoning = [thought for _, thought in both]
        if name == "reference":
            several = [value if value and len(value) > 1 else None for value in picked]
            picked = [value[0] if value else None for value in picked]
            if any(several):
                frame["references"] = objects(several)
        frame[name] = _floats(values, kept) if name == "latency_ms" else objects(picked)
    for name in OPTIONAL_FIELDS:
        values = [fields.column(name)[at] for at in kept] if name in fields.values else []
        if any(value is not None for value in values):
            frame[name] = objects(values)
    if any(reasoning):
        recorded = [fields.own.get("metadata", [None] * len(fields.numbers))[at] for at in kept]
        own = [dict(value) if isinstance(value, Mapping) else {} for value in recorded]
        frame["metadata"] = objects([known | ({"reasoning": thought} if thought else {}) or None
                                     for known, thought in zip(own, reasoning, strict=True)])  # fmt: skip
    for name, values in fields.own.items():
        if name == "metadata" and name in frame:
            continue
        picked = [values[at] for at in kept]
        taken = name in frame or name == "sample_id" or is_derived(name)
        column = f"{name}{AS_RECORDED}" if taken else name
        numeric = len(set(map(type, picked))) == 1 and type(picked[0]) in (int, float, bool)
        fits = numeric and all(isinstance(value, float) or abs(value) < 2**53 for value in picked)
        frame[column] = pd.array(picked).to_numpy() if fits else objects(picked)
    return frame


def _floats(values: list[Any], kept: list[int]) -> Any:
    import numpy as np

    return np.array([np.nan if values[at] is None else values[at] for at in kept], dtype=float)


def _input_errors(fields: Fields, kept: list[int]) -> tuple[dict[str, dict[str, str]], list[Remark]]:
    """Values that were there and could not be read, by field and sample, and the warnings that say so."""
    ids, alive = fields.values["sample_id"], set(kept)
    errors: dict[str, dict[str, str]] = {}
    warnings = []
    for name, failures in fields.unreadable.items():
        for at, remark in failures.items():
            if at in alive:
                errors.setdefault(name, {})[ids[at]] = str(remark.reason)
                warnings.append(remark)
    return errors, warnings


def _raise_all(samples: SampleSet, where: str) -> None:
    """One error for everything that a strict load does not accept."""
    import pandas as pd

    errors = samples.attributes["input_errors"]
    left_out = samples.warnings[samples.warnings["field"].isin(list(errors))]
    found = pd.concat([samples.rejected, left_out], ignore_index=True).sort_values("row", kind="stable")
    if not len(found):
        return
    columns = (found["row"], found["field"], found["reason"])
    lines = [f"row {row}, {field or 'record'} {reason}" for row, field, reason in zip(*columns, strict=True)]
    shown = "; ".join(lines[:3])
    more = f"; and {len(lines) - 3} more" if len(lines) > 3 else ""
    raise InputError(f"{where}: {len(lines)} problems: {shown}{more}. Load without strict to see all")


# ------------------------------------------------------------------------------
# What a file offers, before it is loaded.


@dataclass(frozen=True)
class Columns:
    """What a file offers: its columns, its first rows, and field → column as it is read now and as it may be meant."""

    names: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    known: Mapping[str, str]
    suggested: Mapping[str, str]


def columns_of(source: Any, shown: int = 3) -> Columns:
    """The columns of a recording with its first ``shown`` rows.

    Raises ``InputError`` when the source cannot be read at all.
    """
    records = unpack(read_source(source))
    known = resolve(records.columns, "sample", remembered_mapping(source, records.columns))
    free = [name for name in records.columns if name not in known.values()]
    suggested = {field: column for column, field in suggested_mapping(free, known).items()}
    return Columns(tuple(records.columns), tuple(records.rows[:shown]), known, suggested)
