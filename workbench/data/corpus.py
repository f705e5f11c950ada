"""The knowledge base, and contexts matched to it by content."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.data import validate
from workbench.data.columns import alternates, checked_mapping, coalesce, resolve
from workbench.data.formats.detect import read_source
from workbench.data.formats.records import WHOLE_FILE, Records, Remark, excerpt
from workbench.data.matching import TextIndex
from workbench.data.reading import has_surrogate, scrubbed
from workbench.data.schema import CORPUS_FIELDS, Corpus, SampleSet, none_if_missing
from workbench.data.validate import Unreadable
from workbench.errors import InputError

_READERS = {
    "doc_id": validate.identifier,
    "text": validate.text,
    "title": validate.text,
    "tenant": validate.identifier,
    "position": validate.number,
    "source": validate.text,
}


def load_corpus(source: Any, *, mapping: Mapping[str, str] | None = None) -> Corpus:
    """Load a knowledge base of any format that ``load_samples`` knows.

    Parameters
    ----------
    source
        Records with a text and, best, an id, title, tenant, position, source (also inside ``metadata``).
    mapping
        ``{"their column": "our field"}``, either way round.

    Returns
    -------
    Corpus
        Index ``doc_id``; rows without text or with a repeated id are in ``rejected``.

    Raises
    ------
    InputError
        When the source cannot be read or has no column of texts.
    """
    if isinstance(source, Corpus):
        return source
    records = read_source(_file_of(source))
    where = records.source or "the corpus"
    columns = resolve(records.columns, "corpus", checked_mapping(mapping, records.columns, "corpus", where))
    if "text" not in columns:
        names = excerpt(", ".join(records.columns), 110)
        raise InputError(f"{where}: no column of texts among {names}; name it with mapping={{'your column': 'text'}}")
    rows, used = coalesce(records.rows, columns, alternates(records.columns, columns, "corpus"))
    records = replace(records, rows=rows)
    kept, rejected = _read(records, columns)
    return _assembled(kept, rejected, records, used | set(columns.values()))


def _file_of(source: Any) -> Any:
    """The corpus file of a BEIR folder, ``{doc_id: text}`` as records; any other source as it is."""
    if isinstance(source, Mapping) and source and all(isinstance(value, str) for value in source.values()):
        return [{"doc_id": key, "text": value} for key, value in source.items()]
    if isinstance(source, (str, os.PathLike)):
        for name in ("corpus.jsonl", "corpus.jsonl.gz"):
            if os.path.isfile(os.path.join(source, name)):
                return os.path.join(source, name)
    return source


def _read(records: Records, columns: Mapping[str, str]) -> tuple[list[dict[str, Any]], list[Remark]]:
    """One dict for each usable row, with its ``at``, and why the others are not."""
    kept, rejected = [], list(records.rejected)
    first: dict[str, int] = {}
    for at, (number, row) in enumerate(zip(records.numbers, records.rows, strict=True)):
        try:
            item = _document(row, columns, number)
        except Unreadable as error:
            rejected.append(Remark(number, str(error.args[1]), str(error.args[0]), excerpt(row.get(columns["text"]))))
            continue
        if item["doc_id"] in first:
            reason = f"is the id of row {first[item['doc_id']]} already"
            rejected.append(Remark(number, "doc_id", reason, excerpt(item["doc_id"])))
            continue
        first[item["doc_id"]] = number
        kept.append({"at": at, **item})
    return kept, rejected


def _document(row: Mapping[str, Any], columns: Mapping[str, str], number: int) -> dict[str, Any]:
    item: dict[str, Any] = {}
    for name, reader in _READERS.items():
        raw = row.get(columns[name]) if name in columns else None
        try:
            value = None if raw is None else reader(raw)
        except Unreadable as error:
            if name in ("doc_id", "text"):
                raise Unreadable(str(error), name) from error
            value = None
        item[name] = scrubbed(value) if has_surrogate(value) else value
    if not (item["text"] or "").strip():
        raise Unreadable("is missing; every document needs a text", "text")
    _fill_from_metadata(item, row.get(columns["metadata"]) if "metadata" in columns else None)
    item["doc_id"] = item["doc_id"] or str(number)
    return item


def _fill_from_metadata(item: dict[str, Any], metadata: Any) -> None:
    try:
        metadata = validate.structure(metadata)
    except Unreadable:
        return  # the column itself stays in the frame as it was given
    if not isinstance(metadata, Mapping):
        return
    for name, reader in _READERS.items():
        if item[name] is None and metadata.get(name) is not None:
            try:
                item[name] = reader(metadata[name])
            except Unreadable:
                continue  # metadata only fills what is missing; a value that is no text or number fills nothing


def _assembled(kept: list[dict[str, Any]], rejected: list[Remark], records: Records, used: set[str]) -> Corpus:
    import numpy as np
    import pandas as pd

    from workbench.data.load import object_frame, objects, remarks_frame

    columns = {name: objects([item[name] for item in kept]) for name in CORPUS_FIELDS}
    columns["position"] = np.array([np.nan if item["position"] is None else item["position"] for item in kept], float)
    for column in records.columns:
        if column not in used and column not in columns:
            columns[column] = objects([validate.plain(records.rows[item["at"]].get(column)) for item in kept])
    frame = object_frame(columns, pd.Index([item["doc_id"] for item in kept], dtype=object, name="doc_id"))
    rejected = sorted(rejected)
    n_read = len(kept) + len({remark.row for remark in rejected})
    return Corpus(frame, remarks_frame(rejected), n_read, records.name if records.name != "samples" else "corpus")


def match_contexts(samples: SampleSet, corpus: Corpus) -> SampleSet:
    """Give contexts without id the id of the corpus document that they are, by content.

    A text equal to a document after normalisation is that document; else the one with which it shares most, when one
    contains the other (at least 80 % of the shorter one's shingles). Such contexts carry
    ``metadata["matched_by"]`` = ``"content"`` or ``"similar content"``. A context with a known id takes the text,
    title, tenant, position and source that it lacks from the corpus.

    Returns
    -------
    SampleSet
        A new set. ``attributes["matched_contexts"]`` counts ``exact``, ``near``, ``unmatched``, ``with_id``; a line in
        ``warnings`` says the same when any context came without an id.
    """
    index: TextIndex | None = None
    ids = corpus.frame.index.tolist()
    known = _Documents(corpus)
    counts = {"exact": 0, "near": 0, "unmatched": 0, "with_id": 0}
    column: list[Any] = []
    for items in samples.frame["contexts"].tolist():
        if not isinstance(items, list):
            column.append(items)
            continue
        done = []
        for item in items:
            if item.get("doc_id") is None and index is None:
                index = TextIndex(corpus.frame["text"].tolist())
            done.append(known.completed(_identified(item, index, ids, counts)))
        column.append(done)
    matched = _with_contexts(samples, column, counts)
    return _with_expected(matched, corpus) if "reference_contexts" in samples.frame else matched


def _with_expected(samples: SampleSet, corpus: Corpus) -> SampleSet:
    """Expected documents from the ideal contexts (``reference_contexts``) of cases that name none."""
    import pandas as pd

    from workbench.data.load import objects

    index, ids = TextIndex(corpus.frame["text"].tolist()), corpus.frame.index.tolist()
    frame = samples.frame.copy(deep=False)
    column = frame["expected_docs"].tolist()
    for row, ideal in enumerate(frame["reference_contexts"].tolist()):
        if column[row] is None and ideal is not None:
            found = [index.find(text)[0] for text in _ideal_texts(ideal)]
            column[row] = list(dict.fromkeys(ids[at] for at in found if at is not None)) or None
    frame["expected_docs"] = pd.Series(objects(column), index=frame.index, dtype=object)
    return replace(samples, frame=frame)


def _ideal_texts(value: Any) -> list[str]:
    try:
        return validate.texts(value) or []
    except Unreadable:
        return []


def _identified(
    item: dict[str, Any], index: TextIndex | None, ids: list[str], counts: dict[str, int]
) -> dict[str, Any]:
    if item.get("doc_id") is not None or index is None:
        counts["with_id"] += 1
        return item
    at, how = index.find(item["text"])
    counts[how or "unmatched"] += 1
    if at is None:
        return item
    metadata = {**item.get("metadata", {}), "matched_by": "content" if how == "exact" else "similar content"}
    return {**item, "doc_id": ids[at], "metadata": metadata}


class _Documents:
    """What the corpus says about a document, to complete a context that lacks it."""

    def __init__(self, corpus: Corpus) -> None:
        frame = corpus.frame
        self._places = {doc_id: at for at, doc_id in enumerate(frame.index.tolist())}
        self._columns = {name: frame[name].tolist() for name in CORPUS_FIELDS}

    def completed(self, item: dict[str, Any]) -> dict[str, Any]:
        """``item`` with what it lacks; the same object when it lacks nothing."""
        at = self._places.get(item.get("doc_id") or "")
        if at is None:
            return item
        added: dict[str, Any] = {} if item["text"] else {"text": self._columns["text"][at]}
        for name in ("title", "tenant", "position"):
            value = none_if_missing(self._columns[name][at])
            if item.get(name) is None and value is not None:
                added[name] = int(value) if name == "position" else value
        source = self._columns["source"][at]
        metadata = item.get("metadata", {})
        if source is not None and "source" not in metadata:
            added["metadata"] = {**metadata, "source": source}
        return {**item, **added} if added else item


def _with_contexts(samples: SampleSet, column: list[Any], counts: dict[str, int]) -> SampleSet:
    import pandas as pd

    from workbench.data.load import objects, remarks_frame

    frame = samples.frame.copy(deep=False)
    frame["contexts"] = pd.Series(objects(column), index=frame.index, dtype=object)
    warnings = samples.warnings
    without = counts["exact"] + counts["near"] + counts["unmatched"]
    if without:
        reason = (
            f"{without} contexts came without ids: {counts['exact']} are documents of the corpus, {counts['near']} "
            f"nearly so, {counts['unmatched']} were not found in it"
        )
        warnings = pd.concat([remarks_frame([Remark(WHOLE_FILE, "contexts", reason)]), warnings], ignore_index=True)
    attributes = {**samples.attributes, "matched_contexts": counts}
    return replace(samples, frame=frame, warnings=warnings, attributes=attributes)
