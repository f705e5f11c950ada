"""Documents put together again from their chunks, and cut anew: what another chunking would have put into the index."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from workbench.data.corpus import chunk_place, load_corpus
from workbench.data.schema import CORPUS_FIELDS, Corpus, none_if_missing, object_frame, objects, remarks_frame
from workbench.data.text.points import stitch
from workbench.data.text.sentences import sentences
from workbench.errors import InputError
from workbench.evidence.llm.budget import estimate_tokens

#: Characters from which the end of a chunk and the beginning of the next are taken to be an overlap.
OVERLAP = 20
_HEADING = re.compile(r"^#{1,6} \S", re.MULTILINE)


class Passage(NamedTuple):
    """A text that can be retrieved, and where it stands: characters ``start`` to ``end`` of ``document`` ("" = unknown)."""

    doc_id: str | None
    text: str
    title: str | None = None
    tenant: str | None = None
    source: str | None = None
    position: int | None = None
    document: str = ""
    start: int = 0
    end: int = 0


def passages_of(corpus: Corpus) -> list[Passage]:
    """The documents of a corpus in order."""
    columns = [corpus.frame[name].tolist() for name in CORPUS_FIELDS]
    found = []
    for doc_id, *values in zip(corpus.frame.index.tolist(), *columns, strict=True):
        text, title, tenant, position, source = map(none_if_missing, values)
        found.append(Passage(str(doc_id), text, title, tenant, source, None if position is None else int(position)))
    return found


def corpus_of(passages: Sequence[Passage]) -> Corpus:
    """A corpus of these passages."""
    columns = {name: objects([getattr(passage, name) for passage in passages]) for name in CORPUS_FIELDS}
    frame = object_frame(columns, pd.Index([passage.doc_id for passage in passages], dtype=object, name="doc_id"))
    return Corpus(frame, remarks_frame([]), len(frame))


class Documents:
    """Whole documents and where each chunk stands in them.

    Parameters
    ----------
    chunks
        What is in the index. Chunks of one ``source`` (or of one id before the last ``#``) are joined in the order of
        their positions; an overlap of at least :data:`OVERLAP` characters is kept once. A chunk without a place is a
        document of its own.
    whole
        The documents as they were before they were cut, where they are at hand; one in which all its chunks are found
        wins over what is put together.
    """

    def __init__(self, chunks: Sequence[Passage], whole: Iterable[Passage] = ()) -> None:
        groups: dict[str, list[tuple[int, Passage]]] = {}
        for chunk in chunks:
            place = chunk_place(chunk.doc_id, chunk.source, chunk.position)
            name, position = place or (str(chunk.doc_id), 0)
            groups.setdefault(name, []).append((position, chunk))
        #: Whole documents by their names, which are their ids too.
        self.documents: dict[str, Passage] = {}
        #: Where each chunk stands: document, start, end.
        self.spans: dict[str, tuple[str, int, int]] = {}
        given = {str(item.source or item.doc_id): item for item in whole}
        for name, members in groups.items():
            ordered = [chunk for _, chunk in sorted(members, key=lambda pair: pair[0])]
            self._add(name, ordered, given.pop(name, None))
        for name, item in given.items():
            self.documents[name] = item._replace(doc_id=name)

    def _add(self, name: str, chunks: Sequence[Passage], whole: Passage | None) -> None:
        text, first = "", chunks[0]
        places = [whole.text.find(chunk.text) for chunk in chunks] if whole is not None else [-1]
        if whole is not None and min(places) >= 0:
            text = whole.text
            self.spans |= {str(c.doc_id): (name, at, at + len(c.text)) for c, at in zip(chunks, places, strict=True)}
        else:
            for chunk in chunks:
                start = len(text) - _shared(text, chunk.text)
                text = text[:start] + chunk.text if start < len(text) else stitch(text, chunk.text)
                self.spans[str(chunk.doc_id)] = (name, len(text) - len(chunk.text), len(text))
        self.documents[name] = Passage(name, text, first.title, first.tenant, first.source or name)


def _shared(left: str, right: str) -> int:
    """Length of the end of ``left`` that is the beginning of ``right``; 0 below :data:`OVERLAP`."""
    head, at = right[:OVERLAP], max(len(left) - len(right), 0) - 1
    while len(head) == OVERLAP and (at := left.find(head, at + 1)) >= 0:
        if right.startswith(left[at:]):
            return len(left) - at
    return 0


def load_documents(source: Any) -> list[Passage]:
    """Whole documents: a folder of ``.md`` and ``.txt`` files (named by their stems), a list of such files, or what
    ``load_corpus`` reads.

    Raises ``InputError`` for a folder without such files, or anything that cannot be read.
    """
    if isinstance(source, (list, tuple)) and source and all(isinstance(item, (str, Path)) for item in source):
        return [_file(Path(item)) for item in source]
    if isinstance(source, (str, Path)) and Path(source).is_dir():
        files = sorted(path for path in Path(source).rglob("*") if path.suffix in (".md", ".txt"))
        if not files:
            raise InputError(f"{source}: holds no .md or .txt files; give a folder of documents, or records with texts")
        return [_file(path) for path in files]
    return passages_of(load_corpus(source))


def _file(path: Path) -> Passage:
    """A file; ``key: value`` lines between two ``---`` at its beginning give title and tenant."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text ({error}); save it as UTF-8") from error
    facts: Mapping[str, str] = {}
    if text.startswith("---\n") and "\n---\n" in text[4:]:
        head, _, text = text[4:].partition("\n---\n")
        facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in head.splitlines())}
    tenant = facts.get("tenant")
    return Passage(path.stem, text.strip(), facts.get("title"), None if tenant in (None, "", "null") else tenant, path.stem)


# ------------------------------------------------------------------------------
# Cutting anew.


@dataclass(frozen=True)
class Chunking:
    """How documents are cut.

    Attributes
    ----------
    by
        ``size``: every so many tokens; ``sentence``: whole sentences up to the size; ``heading``: at Markdown headings,
        sections longer than the size as by sentence; ``parent``: sentences of the size are searched, and the piece of
        ``parent`` tokens around each is what the prompt gets.
    size, overlap, parent
        In estimated tokens, ``overlap`` < ``size`` ≤ ``parent``.

    Raises
    ------
    InputError
        For other values.
    """

    by: str = "sentence"
    size: int = 256
    overlap: int = 0
    parent: int = 1024

    def __post_init__(self) -> None:
        if self.by not in ("size", "sentence", "heading", "parent"):
            raise InputError(f"chunking by {self.by!r} is not known; use size, sentence, heading or parent")
        if not 0 <= self.overlap < self.size or (self.by == "parent" and self.parent < self.size):
            raise InputError(f"chunking: overlap {self.overlap} < size {self.size} ≤ parent {self.parent} does not hold")

    def __str__(self) -> str:
        return f"{self.by} {self.size}" + (f"+{self.overlap}" if self.overlap else "")

    def cut(self, text: str) -> list[tuple[int, int]]:
        """Spans of the chunks of a text, in order; together they hold all of it but space at the edges."""
        if self.by == "size":
            found = list(_windows(text, self.size, self.overlap))
        else:
            edges = [0, *(match.start() for match in _HEADING.finditer(text) if match.start()), len(text)]
            sections = list(pairwise(edges)) if self.by == "heading" else [(0, len(text))]
            found = [span for section in sections for span in _packed(text, *section, self.size, self.overlap)]
        trimmed = (_trimmed(text, *span) for span in found)
        return [span for span in trimmed if span[0] < span[1]]


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())


def _windows(text: str, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Windows of so many tokens that end between words where there is space."""
    start, before = 0, 0
    while start < len(text):
        end = _after(text, start, size)
        gap = max(text.rfind(" ", start, end), text.rfind("\n", start, end)) if end < len(text) else -1
        end = gap if gap > max(before, start + (end - start) // 2) else end
        yield start, end
        if end >= len(text):
            return
        back = end
        while overlap and back > start + 1 and estimate_tokens(text[back - 1 : end]) <= overlap:
            back -= 1
        start, before = back, end


def _after(text: str, start: int, size: int) -> int:
    """Where ``size`` tokens from ``start`` on end."""
    low, high = start + 1, min(len(text), start + 4 * size + 4)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate_tokens(text[start:middle]) <= size else (low, middle - 1)
    return low


def _packed(text: str, start: int, end: int, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Whole sentences together up to the size; a longer one stands alone."""
    starts = [start, *(start + span.start for span in sentences(text[start:end])[1:]), end]
    weights = [estimate_tokens(text[a:b]) for a, b in pairwise(starts)]
    at = 0
    while at < len(weights):
        last, total = at + 1, weights[at]
        while last < len(weights) and total + weights[last] <= size:
            total += weights[last]
            last += 1
        yield starts[at], starts[last]
        back, shared = last, 0
        while last < len(weights) and back - 1 > at and shared + weights[back - 1] <= overlap:
            back -= 1
            shared += weights[back]
        at = back if last < len(weights) else last


def rechunked(documents: Documents, chunking: Chunking) -> tuple[list[Passage], list[Passage]]:
    """The new chunks, and for each what the prompt gets for it (itself, or its parent)."""
    found, given = [], []
    for document in documents.documents.values():
        spans = _cut(chunking, document.text)
        pieces = [_piece(document, span, number, chunking.by[0]) for number, span in enumerate(spans)]
        found += pieces
        if chunking.by != "parent":
            given += pieces
            continue
        wide = Chunking("sentence", chunking.parent).cut(document.text)
        parents = [_piece(document, span, number, "P") for number, span in enumerate(wide)]
        starts = [parent.start for parent in parents]
        given += [parents[max(bisect_right(starts, piece.start) - 1, 0)] for piece in pieces]
    return found, given


@lru_cache(maxsize=1 << 16)
def _cut(chunking: Chunking, text: str) -> list[tuple[int, int]]:
    return chunking.cut(text)


def _piece(document: Passage, span: tuple[int, int], number: int, kind: str) -> Passage:
    start, end = span
    return document._replace(doc_id=f"{document.doc_id}#{kind}{number}", text=document.text[start:end], position=number,
                             document=str(document.doc_id), start=start, end=end)  # fmt: skip
