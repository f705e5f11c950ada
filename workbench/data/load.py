"""Loading samples: ``load_samples`` reads what people have and says what it could not use.

Nothing is lost: the rows read are the rows kept and the rows rejected. A row is rejected only when it has no usable
question or id, or repeats an id; any other field that is there and cannot be read becomes None, stands in
``warnings`` and in ``attributes["input_errors"]`` (field → sample id → reason), and metrics that need it are
``input_error`` for that sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.data.columns import checked_mapping, resolve
from workbench.data.formats.detect import read_source
from workbench.data.formats.records import Records, Remark, excerpt
from workbench.data.formats.tools import unpack
from workbench.data.joining import chosen_run, fill_from_cases
from workbench.data.reading import Fields, read_fields
from workbench.data.refusal import no_question
from workbench.data.schema import AS_RECORDED, REJECTED_COLUMNS, SAMPLE_FIELDS, Corpus, SampleSet, is_derived
from workbench.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


def load_samples(
    source: Any,
    *,
    mapping: Mapping[str, str] | None = None,
    cases: Any = None,
    run: str | None = None,
    corpus: Corpus | Any = None,
    strict: bool = False,
    name: str | None = None,
    format: str | None = None,
) -> SampleSet:
    """Load samples of any known format.

    Parameters
    ----------
    source
        A path (JSON, JSONL, CSV, TSV, Excel, Parquet, each also gzipped; a saved data set; a BEIR folder), a
        DataFrame, a list of dicts, or a Hugging Face Dataset. What it is, is read from its content.
    mapping
        ``{"their column": "our field"}`` where the names are not recognised, or wrongly; either way round.
    cases
        A second source whose fields (question, reference, expected documents, …) fill what the samples lack; joined
        by id, or by question when the samples carry no ids.
    run
        Which run to take when the source has a ``run`` column.
    corpus
        A ``Corpus`` or a source of one: contexts without ids are then matched to it by content.
    strict
        Raise instead of rejecting rows or leaving out values.
    name
        Name of the set; the file's stem when not given.
    format
        One of ``json jsonl csv tsv excel parquet``, when the content leaves a doubt.

    Returns
    -------
    SampleSet
        ``n_read == len(frame) + rejected["row"].nunique()``.

    Raises
    ------
    InputError
        When the source cannot be read or is no sample set; with ``strict``, when anything was wrong with any row.
    """
    if isinstance(source, SampleSet):
        source = source.frame
    records = unpack(read_source(source, format))
    where = short_name(records)
    fields, rejected, has_ids = _read(records, mapping, run, where, needs_question=cases is None)
    if cases is not None:
        others, _, _ = _read(unpack(read_source(cases)), None, None, "the cases", needs_question=True)
        fill_from_cases(fields, others, by_question=not has_ids)
    samples = _assembled(fields, rejected, records, name or records.name)
    if strict:
        _raise_all(samples, where)
    return _matched(samples, corpus)


def short_name(records: Records) -> str:
    """How messages call the source: the end of its file name, or "the data"."""
    return Path(records.source).name[-80:] if records.source else "the data"


def _read(
    records: Records, mapping: Mapping[str, str] | None, run: str | None, where: str, *, needs_question: bool
) -> tuple[Fields, list[Remark], bool]:
    """Columns of our fields, rows rejected so far, and whether the source carried ids."""
    if not records.n_read:
        raise InputError(f"{where}: holds no records; give at least one question")
    columns = resolve(records.columns, "sample", checked_mapping(mapping, records.columns, "sample", where))
    if needs_question and "question" not in columns:
        raise no_question(records, columns, where)
    records = chosen_run(records, columns.pop("run", None), run, where)
    fields = read_fields(records, columns)
    fields.warnings = records.warnings + fields.warnings
    rejected = records.rejected + _name_samples(fields)
    return fields, rejected, "sample_id" in columns


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
                fields.warnings.append(Remark(number, "sample_id", f"is missing; the row is called {value!r}"))
        ids.append(value)
    fields.values["sample_id"] = ids
    return list(unreadable.values())


def _assembled(fields: Fields, rejected: list[Remark], records: Records, name: str) -> SampleSet:
    import pandas as pd

    kept, refused = _kept_rows(fields)
    rejected = sorted(rejected + refused)
    index = pd.Index([fields.values["sample_id"][at] for at in kept], dtype=object, name="sample_id")
    scores = {column: _floats(values, kept) for column, values in fields.scores.items()}
    input_errors, warnings = _input_errors(fields, kept)
    return SampleSet(
        frame=object_frame(_columns(fields, kept), index),
        rejected=remarks_frame(rejected),
        warnings=remarks_frame(sorted(fields.warnings + warnings)),
        n_read=len(kept) + len({remark.row for remark in rejected}),
        recorded_scores=pd.DataFrame(scores, index=index, dtype=float),
        name=name,
        source=records.source,
        attributes={"input_errors": input_errors, "format": records.kind},
    )


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
            reason = "is missing; every row needs a question"
            refused.append(Remark(number, "question", reason, excerpt(fields.column("answer")[at] or sample_id)))
        elif sample_id in first:
            refused.append(
                Remark(number, "sample_id", f"is the id of row {first[sample_id]} already", excerpt(sample_id))
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
        frame[name] = _floats(values, kept) if name == "latency_ms" else objects(picked)
    for name, values in fields.own.items():
        picked = [values[at] for at in kept]
        taken = name in frame or name == "sample_id" or is_derived(name)
        column = f"{name}{AS_RECORDED}" if taken else name
        numeric = (
            picked and all(type(value) in (int, float, bool) for value in picked) and len(set(map(type, picked))) == 1
        )
        frame[column] = pd.array(picked).to_numpy() if numeric and _fits(picked) else objects(picked)
    return frame


def _fits(values: list[Any]) -> bool:
    return all(isinstance(value, float) or abs(value) < 2**53 for value in values)


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
                errors.setdefault(name, {})[ids[at]] = remark.reason
                warnings.append(remark)
    return errors, warnings


def remarks_frame(remarks: list[Remark]) -> pd.DataFrame:
    """``rejected`` and ``warnings`` of a set: columns ``row, field, reason, excerpt``."""
    import pandas as pd

    columns = {name: [remark[at] for remark in remarks] for at, name in enumerate(REJECTED_COLUMNS)}
    return pd.DataFrame(columns, dtype=object).astype({"row": "int64"})


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


def _matched(samples: SampleSet, corpus: Any) -> SampleSet:
    if corpus is None:
        return samples
    from workbench.data.corpus import load_corpus, match_contexts

    return match_contexts(samples, corpus if isinstance(corpus, Corpus) else load_corpus(corpus))
