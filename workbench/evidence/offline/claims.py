"""What a sample claims: the statements of an answer and a reference, bare values, and chunks joined at their edge."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from workbench.data.corpus import chunk_order
from workbench.data.schema import Context
from workbench.data.text.normalise import unspaced
from workbench.data.text.points import stitch
from workbench.data.text.quantities import quantities
from workbench.data.text.refusals import claims as find_claims
from workbench.data.text.sentences import denied
from workbench.data.text.words import Span
from workbench.evidence.judge import MAX_CLAIMS, Side
from workbench.evidence.offline.words import analyse
from workbench.language import pattern

#: A comma parts values too, but not the digits of a number nor a date from its year.
_VALUES = re.compile(r"\s*(?:[;；、]|[,，](?!\d)(?!\s*\d{4}\b))\s*")


@lru_cache(maxsize=8192)
def bare_values(reference: str) -> tuple[tuple[int, int], ...]:
    """Offsets of the values of a reference that is a bare value or values parted by ``; ； 、 ,``; empty otherwise.

    A value is a short phrase: a number with its unit, a name, a date; what has a verb or a full stop is a statement.
    Punctuation alone is neither.
    """
    spans = []
    at = 0
    for match in [*_VALUES.finditer(reference), None]:
        end = match.start() if match else len(reference)
        piece = reference[at:end].strip()
        if piece and not all(unicodedata.category(character)[0] in "PZC" for character in piece):
            start = reference.index(piece, at)
            spans.append((start, start + len(piece)))
        at = match.end() if match else end
    if spans and all(_is_value(reference[start:end]) for start, end in spans):
        return tuple(spans)
    return ()


_STATEMENT = re.compile(r"[。！？!?，,：:]|\.\s|\.$")


def _is_value(piece: str) -> bool:
    found = quantities(piece)
    if len(found) == 1 and len(found[0].text) >= 0.6 * len(piece):
        return True
    if _STATEMENT.search(piece.rstrip(".。")) or pattern("offline", "«statement»").search(piece):
        return False
    return len(piece) <= 10 if re.search(f"[{unspaced()}]", piece) else len(piece.split()) <= 5


#: Words of each of two neighbouring chunks that are joined at their edge.
EDGE_WORDS = 120
_MATH = re.compile(r"\$[^$]+\$|\\\(.+?\\\)|\\\[.+?\\\]", re.DOTALL)
_SYMBOL = re.compile(r"[{}()\[\]=<>;\\$_|&*+^~]")
_PLAIN_WORD = re.compile(r"(?<![\w.$-])[a-z]{2,}(?![\w(=.-])|[\u4e00-\u9fff]{2}", re.IGNORECASE)


def is_code(text: str) -> bool:
    """Whether a claim is a line of code or a formula rather than a sentence: many symbols and hardly a plain word."""
    plain = _MATH.sub(" ", text)
    solid = "".join(plain.split())
    if not solid or (solid == "".join(text.split()) and not _SYMBOL.search(solid)):
        return False
    words = len(_PLAIN_WORD.findall(plain))
    return words < 3 and (len(_SYMBOL.findall(solid)) >= 0.12 * len(solid) or (plain != text and words < 1))


@dataclass(frozen=True, slots=True)
class ClaimSpan:
    """Where a claim stands, its sentence, and whether it is a bare value of the reference."""

    side: Side
    start: int
    end: int
    sentence: int
    value: bool = False


@dataclass(frozen=True, slots=True)
class Joint:
    """Two neighbouring chunks of one document joined: contexts ``left`` and ``right``, and the text across the edge."""

    left: int
    right: int
    text: str


def claims_of(text: str | None, side: Side, declined: Sequence[Span] = ()) -> tuple[list[ClaimSpan], bool]:
    """The claims of an answer or a reference, and whether more than :data:`MAX_CLAIMS` were found.

    ``declined``: parts of the text that decline to answer; they claim nothing.
    """
    if not text or not text.strip():
        return [], False
    if side == "reference":
        values = [ClaimSpan(side, start, end, 0, True) for start, end in bare_values(text)]
        if values:
            return values[:MAX_CLAIMS], len(values) > MAX_CLAIMS
    found = find_claims(text)
    bounds = analyse(text).bounds
    numbers = np.clip(np.searchsorted(bounds[:, 0], [c.start for c in found.spans], side="right") - 1, 0, None)
    spans = [
        ClaimSpan(side, c.start, c.end, int(at))
        for c, at in zip(found.spans, numbers, strict=True)
        if not _mostly_within(c, declined) or denied(analyse(text).folded, c.start, c.end)
    ]
    return spans[:MAX_CLAIMS], found.capped or len(spans) > MAX_CLAIMS


def _mostly_within(claim: Span, parts: Sequence[Span]) -> bool:
    """Whether half of a claim or more lies within the parts, which do not overlap."""
    inside = sum(max(0, min(claim.end, part.end) - max(claim.start, part.start)) for part in parts)
    return 2 * inside >= claim.end - claim.start and inside > 0


def joints(contexts: Sequence[Context]) -> list[Joint]:
    """Neighbouring chunks of one document, both prompted; twice where the edge may lie inside a word or a number."""
    return [
        Joint(left, right, text)
        for left, right in enumerate(chunk_order(contexts))
        if right >= 0
        for text in _across(contexts[left].text, contexts[right].text)
    ]


def _across(left: str, right: str) -> Iterator[str]:
    """The end of one chunk and the beginning of the next as one text, parted and unparted where both are letters or digits."""
    tail, head = analyse(left), analyse(right)
    start = int(tail.starts[-EDGE_WORDS]) if len(tail.starts) > EDGE_WORDS else 0
    end = int(head.ends[EDGE_WORDS - 1]) if len(head.ends) > EDGE_WORDS else len(right)
    joined = [stitch(left[start:], right[:end])]
    if left[-1:].isalnum() and right[:1].isalnum():
        joined.append(left[start:] + right[:end])
    yield from dict.fromkeys(joined)


