"""Citations of an answer: ``[1]``, ``[1, 2]``, ``[1-3]``, ``【3】``, ``[doc-a#1]``, ``[text](doc-a)``, and the service's list.

A bracketed token counts when it is a number or shaped like the ids at hand, known or not (``[n999]``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from workbench.data.corpus import document_of
from workbench.data.text.sentences import spoken
from workbench.language import pattern

_BRACKETED = re.compile(r"\[\^?([^\[\]\n]{1,80})\](?:\(([^()\s]{1,200})\))?|【([^【】\n]{1,80})】")
_NUMBERS = re.compile(r"\s*\d{1,4}(?:\s*[,，、;；–~-]\s*\d{1,4})*\s*")
_RANGE = re.compile(r"(\d{1,4})\s*[–~-]\s*(\d{1,4})")

#: A range of citations may name at most this many.
_LONGEST_RANGE = 20


@dataclass(frozen=True, slots=True)
class Citation:
    """One cited thing: ``number`` (from 1) or ``doc_id``; ``start``, ``end`` of its mark, −1 in the service's list."""

    text: str
    start: int = -1
    end: int = -1
    number: int | None = None
    doc_id: str | None = None


def find_citations(answer: str, known: Sequence[str] = ()) -> list[Citation]:
    """Citations marked in ``answer``, in order; a mark that names several gives one each.

    Lists inside JSON and tool calls are no marks. ``known`` are the document ids at hand: a bracketed token is a
    citation when it has the shape of one of them.
    """
    shapes = _shapes(tuple(known)) if known else frozenset()
    found: list[Citation] = []
    speaking = spoken(answer) if "{" in answer else [(0, len(answer))]
    for match in _BRACKETED.finditer(answer):
        if not any(start <= match.start() < end for start, end in speaking):
            continue
        inner, link, wide = match.groups()
        content = (inner or wide or "").strip()
        found += [
            Citation(match.group(), match.start(), match.end(), number, doc_id)
            for number, doc_id in _named(content, link, shapes)
        ]
    return found


def _named(content: str, link: str | None, shapes: frozenset[str]) -> list[tuple[int | None, str | None]]:
    def spelled_out(match: re.Match[str]) -> str:
        """ "2-4" as "2,3,4"; a range that is too long as its ends."""
        first, last = int(match[1]), int(match[2])
        return ",".join(map(str, range(first, last + 1) if first <= last < first + _LONGEST_RANGE else (first, last)))

    if link is not None and (_shape(link) in shapes):
        return [(None, link)]
    content = pattern("citations", r"^(?:«prefix»)\s*[:：]\s*", re.IGNORECASE).sub("", content)
    if _NUMBERS.fullmatch(content):
        spread = _RANGE.sub(spelled_out, content)
        return [(int(number), str(int(number))) for number in re.findall(r"\d+", spread)]
    parts = [part.strip() for part in re.split(r"[,，;；、]", content)]
    return [(None, part) for part in parts if part and _shape(part) in shapes]


@lru_cache(maxsize=64)
def _shapes(known: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(_shape, known)) | frozenset(_shape(document_of(doc_id)) for doc_id in known)


@lru_cache(maxsize=65536)
def _shape(token: str) -> str:
    """Runs of letters and digits by kind, separators kept: ``doc-a#12`` → ``a-a#0``."""
    if " " in token:
        return "\n"
    return re.sub(r"\d+", "0", re.sub(r"[^\W\d_]+", "a", token))


def cited_documents(recorded: Any) -> list[Citation]:
    """The service's own list: ids, numbers, or mappings with an id."""
    if not isinstance(recorded, (list, tuple)):
        return []
    return [citation for item in recorded if (citation := _cited(item)) is not None]


def _cited(item: Any) -> Citation | None:
    if isinstance(item, Mapping):
        keys = ("doc_id", "id", "document_id", "source", "chunk_id")
        item = next((item[key] for key in keys if item.get(key) is not None), None)
    if item is None:
        return None
    named = str(item).strip().strip("[]【】")
    number = int(named) if re.fullmatch(r"\d{1,4}", named) else None
    return Citation(named, number=number, doc_id=named)
