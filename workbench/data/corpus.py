"""The knowledge base, and contexts matched to it by content."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np

from workbench.data import fields
from workbench.data.columns import alternates, checked_mapping, coalesce, resolve
from workbench.data.fields import Unreadable
from workbench.data.formats.records import WHOLE_FILE, Records, Remark, excerpt, why
from workbench.data.formats.source import read_source
from workbench.data.schema import (
    CORPUS_FIELDS,
    Context,
    Corpus,
    SampleSet,
    judgements,
    none_if_missing,
    object_frame,
    objects,
    remarks_frame,
)
from workbench.data.text.normalise import normalise, scrubbed
from workbench.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


# ------------------------------------------------------------------------------
# Where a chunk stands in its document, and which one comes next.


_CHUNK_ID = re.compile(r"(?P<document>.*)#(?:chunk)?[-_]?(?P<position>\d{1,9})", re.DOTALL)


def document_of(doc_id: str) -> str:
    """The document that a chunk's id names: the part before the last ``#``."""
    return doc_id.rsplit("#", 1)[0]


def chunk_place(doc_id: str | None, source: str | None = None, position: float | None = None) -> tuple[str, int] | None:
    """Document and place in it, as recorded or else as the id says (``doc#3``, ``doc#chunk-3``); None when not known."""
    named = _CHUNK_ID.fullmatch(doc_id or "")
    document = source or (named["document"] if named else None)
    place = position if position is not None else (named["position"] if named else None)
    return (document, int(place)) if document and place is not None else None


def chunk_order(contexts: Sequence[Context]) -> list[int]:
    """For each context the index of the next chunk of its document among the prompted ones, −1 without."""
    places = [chunk_place(c.doc_id, c.source, c.position) if c.prompted else None for c in contexts]
    at = {place: i for i, place in reversed(list(enumerate(places)))}
    return [-1 if place is None else at.get((place[0], place[1] + 1), -1) for place in places]


# ------------------------------------------------------------------------------
# Which document of a corpus a text is: the same text after normalisation, or one that contains the other.
#
# Containment is found through 16-character shingles of the normalised texts, so that a chunk cut elsewhere than the
# corpus's still meets its document. In a corpus of more than ``MAX_SHINGLES`` characters candidates are found through a
# sample of the shingles (chosen by content, the same on both sides) and then compared in full.


#: Length of a shingle in characters, a power of two.
SHINGLE = 16
#: Smallest share of the shorter text's shingles that the other must hold.
NEAR = 0.8
#: Most shingles that the index of a corpus keeps.
MAX_SHINGLES = 8_000_000

_CANDIDATES = 5
_MULTIPLIER = 0x9E3779B97F4A7C15
_WORD = 2**64


class TextIndex:
    """Documents to be found by content. ``texts`` in order; the first of identical ones wins."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [normalise(text) for text in texts]
        self._exact: dict[str, int] = {}
        for at, text in enumerate(self._texts):
            if text:
                self._exact.setdefault(text, at)
        self._rate = 1 + sum(map(len, self._texts)) // MAX_SHINGLES
        self._index: tuple[NDArray[Any], NDArray[Any]] | None = None

    def find(self, text: str) -> tuple[int | None, str]:
        """Position of the document that ``text`` is, and how it was found: ``"exact"``, ``"near"`` or ``""``."""
        plain = normalise(text)
        at = self._exact.get(plain)
        if at is not None:
            return at, "exact"
        near = self._near(plain) if len(plain) >= SHINGLE else None
        return near, "near" if near is not None else ""

    def _near(self, plain: str) -> int | None:
        """The candidate with the largest share, then the most shared shingles, then the first."""
        mine = shingles(plain)
        best: tuple[float, int, int] | None = None
        for at in self._candidates(mine):
            theirs = shingles(self._texts[at])
            shared = len(np.intersect1d(mine, theirs, assume_unique=True))
            share = shared / min(len(mine), len(theirs))
            if share >= NEAR and (best is None or (share, shared, -at) > best):
                best = (share, shared, -at)
        return None if best is None else -best[2]

    def _candidates(self, mine: NDArray[Any]) -> list[int]:
        """Documents that share most sampled shingles with ``mine``."""
        hashes, places = self._sorted()
        sampled = mine[mine % np.uint64(self._rate) == 0] if self._rate > 1 else mine
        low, high = np.searchsorted(hashes, sampled, "left"), np.searchsorted(hashes, sampled, "right")
        found = [places[start:end] for start, end in zip(low, high, strict=True) if end > start]
        if not found:
            return []
        documents, votes = np.unique(np.concatenate(found), return_counts=True)
        return documents[np.argsort(-votes, kind="stable")[:_CANDIDATES]].tolist()

    def _sorted(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Sampled shingles of all documents in ascending order, and the document of each."""
        if self._index is None:
            found = [shingles(text) for text in self._texts]
            if self._rate > 1:
                found = [part[part % np.uint64(self._rate) == 0] for part in found]
            hashes = np.concatenate(found) if found else np.empty(0, dtype=np.uint64)
            places = np.repeat(np.arange(len(found), dtype=np.int32), [len(part) for part in found])
            order = np.argsort(hashes, kind="stable")
            self._index = hashes[order], places[order]
        return self._index


def shingles(text: str) -> NDArray[np.uint64]:
    """Hashes of the shingles of a normalised text, ascending, each once; empty when it is shorter than one."""
    if len(text) < SHINGLE:
        return np.empty(0, dtype=np.uint64)
    encoded = text.encode("utf-32-le", "surrogatepass")
    hashes: NDArray[np.uint64] = np.frombuffer(encoded, dtype="<u4").astype(np.uint64)
    step, power = 1, _MULTIPLIER
    while step < SHINGLE:
        hashes = hashes[:-step] + np.uint64(power) * hashes[step:]
        step, power = 2 * step, power * power % _WORD
    mixed = (hashes ^ (hashes >> np.uint64(29))) * np.uint64(_MULTIPLIER)
    return np.unique(mixed ^ (mixed >> np.uint64(32)))


# ------------------------------------------------------------------------------
# Loading a corpus.


_READERS = {
    "doc_id": fields.identifier,
    "text": fields.text,
    "title": fields.text,
    "tenant": fields.identifier,
    "position": fields.number,
    "source": fields.text,
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

    Examples
    --------
    >>> len(wb.load_corpus("corpus.jsonl"))
    320
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
            rejected.append(Remark(number, error.field, error.reason, excerpt(row.get(columns["text"]))))
            continue
        if item["doc_id"] in first:
            reason = why("same_id", row=first[item["doc_id"]])
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
                error.field = name
                raise
            value = None
        item[name] = scrubbed(value)
    if not (item["text"] or "").strip():
        raise Unreadable("no_text", field="text")
    _fill_from_metadata(item, row.get(columns["metadata"]) if "metadata" in columns else None)
    item["doc_id"] = item["doc_id"] or str(number)
    return item


def _fill_from_metadata(item: dict[str, Any], metadata: Any) -> None:
    try:
        metadata = fields.structure(metadata)
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
    import pandas as pd

    columns = {name: objects([item[name] for item in kept]) for name in CORPUS_FIELDS}
    columns["position"] = np.array([np.nan if item["position"] is None else item["position"] for item in kept], float)
    for column in records.columns:
        if column not in used and column not in columns:
            columns[column] = objects([fields.plain(records.rows[item["at"]].get(column)) for item in kept])
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
    import pandas as pd

    index: TextIndex | None = None
    known = _Documents(corpus)
    counts = {"exact": 0, "near": 0, "unmatched": 0, "with_id": 0}
    column: list[Any] = []
    for items in samples.frame["contexts"].tolist():
        done = []
        for item in items if isinstance(items, list) else ():
            if not (item.get("doc_id") or BY_TEXT).startswith(BY_TEXT):
                counts["with_id"] += 1
            else:
                index = index or TextIndex(corpus.frame["text"].tolist())
                at, how = index.find(item["text"])
                counts[how or "unmatched"] += 1
                if at is not None:
                    matched = {"matched_by": "content" if how == "exact" else "similar content"}
                    metadata = {**item.get("metadata", {}), **matched}
                    item = {**item, "doc_id": corpus.frame.index[at], "metadata": metadata}
            done.append(known.completed(item))
        column.append(done if isinstance(items, list) else items)
    frame = samples.frame.copy(deep=False)
    frame["contexts"] = pd.Series(objects(column), index=frame.index, dtype=object)
    warnings = samples.warnings
    if without := counts["exact"] + counts["near"] + counts["unmatched"]:
        reason = why("without_ids", n=without, **{how: counts[how] for how in ("exact", "near", "unmatched")})
        warnings = pd.concat([remarks_frame([Remark(WHOLE_FILE, "contexts", reason)]), warnings], ignore_index=True)
    if "reference_contexts" in frame:
        frame["expected_docs"] = _expected(frame, index or TextIndex(corpus.frame["text"].tolist()), corpus)
    attributes = {**samples.attributes, "matched_contexts": counts}
    return replace(samples, frame=frame, warnings=warnings, attributes=attributes)


# ------------------------------------------------------------------------------
# Ids that differ only in how they are written.


#: What may differ between two spellings of one id, and how it is taken away; tried in this order, alone and together.
ID_FORMS: dict[str, Callable[[str], str]] = {
    "unicode": lambda text: unicodedata.normalize("NFKC", text),
    "case": str.casefold,
    "percent": unquote,
    "path": lambda text: re.split(r"[/\\]", text.rstrip("/\\"))[-1],
    "suffix": lambda text: re.sub(r"\.[A-Za-z][A-Za-z0-9]{0,4}$", "", text),
    "chunk": document_of,
}


def id_form(text: str, names: Iterable[str]) -> str:
    """``text`` without the differences that ``names`` of :data:`ID_FORMS` take away."""
    for name in (name for name in ID_FORMS if name in set(names)):
        text = ID_FORMS[name](text)
    return text.strip()


def matching_form(wanted: Iterable[str], known: Iterable[str]) -> tuple[tuple[str, ...], int]:
    """The smallest set of forms under which most of ``wanted`` meet one of ``known`` and no two of ``known`` fall together.

    Returns the names and how many of ``wanted`` that are not among ``known`` then are; ``((), 0)`` when none helps.
    """
    known = set(known)
    lost = set(wanted) - known
    best: tuple[tuple[str, ...], int] = ((), 0)
    for size in range(1, len(ID_FORMS) + 1 if lost and known else 0):
        for names in combinations(ID_FORMS, size):
            forms = {id_form(one, names) for one in known}
            found = sum(id_form(one, names) in forms for one in lost)
            if found > best[1] and (len(forms) == len(known) or "chunk" in names):
                best = names, found
        if best[1] == len(lost):
            break
    return best


def ids_of(samples: SampleSet) -> tuple[set[str], set[str]]:
    """Ids of the expected documents and of the contexts of a set."""
    wanted = {
        one
        for entries in samples.frame["expected_docs"]
        for judged in judgements(entries) or ()
        for one in judged.doc_ids
    }
    lists = (items for items in samples.frame["contexts"] if isinstance(items, list))
    return wanted, {item["doc_id"] for items in lists for item in items if item.get("doc_id")}


def normalise_ids(samples: SampleSet, how: bool | Sequence[str] = True, corpus: Corpus | None = None) -> SampleSet:
    """Expected documents under the ids that the corpus (without one, the contexts) has for them.

    ``how``: names of :data:`ID_FORMS`; True chooses what matches. Contexts take the corpus's spelling too. A line in
    ``warnings`` says what was done.

    Raises ``InputError`` for a name that is none of :data:`ID_FORMS`.
    """
    wanted, retrieved = ids_of(samples)
    known = set(map(str, corpus.frame.index)) if corpus is not None else retrieved
    names = (
        matching_form(wanted | retrieved if corpus is not None else wanted, known)[0]
        if how is True
        else tuple(how or ())
    )
    if unknown := [name for name in names if name not in ID_FORMS]:
        raise InputError(f"normalize_ids: {unknown[0]!r} is not known; use True or some of {', '.join(ID_FORMS)}")
    if not names:
        return samples
    spelling: dict[str, str] = {}
    for one in sorted(known):
        spelling.setdefault(id_form(one, names), one)

    def own(value: Any) -> Any:
        """The ids in a field as they are spelled in the corpus; ids that meet none stay."""
        if isinstance(value, Mapping):
            return {own(name): grade for name, grade in value.items()}
        if isinstance(value, (list, tuple)):
            return [own(part) for part in value]
        return value if value is None or value in known else spelling.get(id_form(str(value), names), value)

    frame = samples.frame.copy(deep=False)
    for name in ("expected_docs", "must_not_retrieve", "citations"):
        frame[name] = objects([own(value) for value in frame[name].tolist()])

    def respelled(item: dict[str, Any]) -> dict[str, Any]:
        return {**item, "doc_id": own(item["doc_id"])} if item.get("doc_id") else item

    lists = frame["contexts"].tolist()
    frame["contexts"] = objects([list(map(respelled, one)) if isinstance(one, list) else None for one in lists])
    reason = why("normalised_ids", forms=", ".join(names))
    warnings = _joined([remarks_frame([Remark(WHOLE_FILE, "expected_docs", reason)]), samples.warnings])
    return replace(samples, frame=frame, warnings=warnings)


#: Begins the id of an expected document that was given as a text.
BY_TEXT = "text:"


def expected_by_content(samples: SampleSet) -> SampleSet:
    """Expected documents that were given as texts, matched to the contexts by content.

    A text that is a context (see :func:`match_contexts`) is the expected document of that context's id; contexts without
    an id, and texts that were not retrieved, get one made of the text (``text:…``). The texts are kept in
    ``reference_contexts``, by which a corpus finds its documents. The same set where ids were given.
    """
    columns = [samples.frame[name].tolist() for name in ("expected_docs", "contexts")]
    given = [list(entries) for entries in columns[0] if entries]
    flat = [one for entries in given for entry in entries for one in ([entry] if isinstance(entry, str) else entry)]
    if not flat or 2 * sum(_is_text(one) for one in flat) < len(flat):
        return samples
    frame = samples.frame.copy(deep=False)
    expected, contexts = [], []
    for entries, items in zip(*columns, strict=True):
        items = [dict(item) for item in items] if isinstance(items, list) else items
        index = TextIndex([item["text"] for item in items]) if items else None

        def named(text: str, index: Any = index, items: Any = items) -> str:
            """The id under which a text stands: of the context that it is, else one made of the text."""
            at = index.find(text)[0] if index is not None else None
            own = BY_TEXT + hashlib.sha256(normalise(text).encode("utf-8", "replace")).hexdigest()[:12]
            return own if at is None else items[at].setdefault("doc_id", own)

        ids = [[named(one) for one in ([entry] if isinstance(entry, str) else entry)] for entry in entries or ()]
        expected.append([entry[0] if len(entry) == 1 else entry for entry in ids] if entries is not None else None)
        contexts.append(items)
    frame["expected_docs"], frame["contexts"] = objects(expected), objects(contexts)
    if "reference_contexts" not in frame:
        frame["reference_contexts"] = objects([list(entries) if entries else None for entries in columns[0]])
    reason = why("by_content")
    warnings = [remarks_frame([Remark(WHOLE_FILE, "expected_docs", reason)]), samples.warnings]
    return replace(samples, frame=frame, warnings=_joined(warnings))


def _is_text(entry: str) -> bool:
    """Whether an expected document is written out rather than named: several words, or a long run of Chinese."""
    return len(entry.split()) > 4 or (not entry.isascii() and len(entry) > 24)


def _joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    return pd.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)


def _expected(frame: pd.DataFrame, index: TextIndex, corpus: Corpus) -> pd.Series:
    """Expected documents, from the ideal contexts (``reference_contexts``) in cases that name none."""
    import pandas as pd

    column = frame["expected_docs"].tolist()
    for row, ideal in enumerate(frame["reference_contexts"].tolist()):
        named = column[row] is not None and not all(str(one).startswith(BY_TEXT) for one in column[row])
        if not named and ideal is not None:
            try:
                found = [index.find(text)[0] for text in fields.texts(ideal) or []]
            except Unreadable:
                continue
            column[row] = list(dict.fromkeys(corpus.frame.index[at] for at in found if at is not None)) or column[row]
    return pd.Series(objects(column), index=frame.index, dtype=object)


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
