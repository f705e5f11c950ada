"""Cutting an answer into the clauses that each decline, fill or state."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.data.sentences import sentences
from workbench.data.text import HAN, Span

_ENGLISH_CUT = re.compile(
    r";\s*|,?\s+(?:but|however|though|although|yet|because|since|nevertheless|nonetheless)\b,?\s*(?=\S)"
    r"|,\s+(?:and|so|while|as)\s+(?=\S)|:\s+|\s+[-–—]+\s+",
    re.IGNORECASE,
)
_LEADING_CLAUSE = re.compile(r"^(?:although|while|though|even though|since|because|as)\b[^,]{3,200},\s*", re.IGNORECASE)
_CHINESE_CUT = re.compile(r"[，；;：]\s*|(?:(?<!\d)[,:]|[,:](?!\d))\s*")
_HAN_TEXT = re.compile(f"[{HAN}]")
_LATIN_TEXT = re.compile(r"[A-Za-z]{2}")


def segments(text: str) -> list[tuple[Span, int]]:
    """The clauses of ``text`` in order (in Chinese what stands between commas), each with the number of its sentence."""
    return [(span, i) for i, sentence in enumerate(sentences(text)) for span in _segments(text, sentence)]


def _segments(text: str, sentence: Span) -> Iterator[Span]:
    """The segments of a sentence, without empty ones."""
    cut = _CHINESE_CUT if _HAN_TEXT.search(sentence.text) and not _mostly_latin(sentence.text) else _ENGLISH_CUT
    start = sentence.start
    leading = _LEADING_CLAUSE.match(sentence.text) if cut is _ENGLISH_CUT else None
    cuts = [match.span() for match in cut.finditer(text, sentence.start, sentence.end)]
    if leading:
        edge = sentence.start + leading.end()
        cuts = sorted({(edge, edge), *cuts})
    for begin, stop in [*cuts, (sentence.end, sentence.end)]:
        piece = text[start:begin]
        if re.search(r"\w", piece):
            lead = len(piece) - len(piece.lstrip())
            yield Span(start + lead, start + len(piece.rstrip()), piece.strip())
        start = stop


def _mostly_latin(sentence: str) -> bool:
    return len(_LATIN_TEXT.findall(sentence)) > len(_HAN_TEXT.findall(sentence))
