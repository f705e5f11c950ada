"""Where the words of a question stand in a text, as marks to point out."""

from __future__ import annotations

import re
from collections.abc import Iterable

from workbench.data.normalising import HAN_RUN, normalise_with_map
from workbench.views.html import Mark


def term_marks(text: str, terms: Iterable[str], kind: str = "word") -> list[Mark]:
    """A mark for each place where a normalised term stands in ``text`` as a whole word (Chinese: as a stretch)."""
    folded, offsets = normalise_with_map(text)
    marks = []
    for term in dict.fromkeys(terms):
        pattern = re.escape(term) if HAN_RUN.fullmatch(term) else rf"(?<!\w){re.escape(term)}(?!\w)"
        for match in re.finditer(pattern, folded):
            start, end = offsets.span(match.start(), match.end())
            marks.append(Mark(start, end, kind))
    return marks
