"""Where a quote or a reworded claim stands in the text it was taken from."""

from __future__ import annotations

import html
import re
from functools import cached_property

_ELLIPSIS = re.compile(r"\s*(?:\.{3,}|…+|\[\.{3}\])\s*")
_EDGES = " \t\r\n\"'“”‘’「」『』`.。,，;；"
#: Shorter pieces of a quote prove nothing.
_SHORTEST = 2


def locate(quote: str, text: str) -> tuple[int, int] | None:
    """Offsets of ``quote`` in ``text``: as it is, or after folding width, case, script and white space; None if absent.

    Of a quote with an ellipsis the longest piece is looked for. Entities that the prompt wrote (``&lt;``) are undone.
    """
    for wanted in (quote, html.unescape(quote)):
        at = text.find(wanted) if wanted.strip() else -1
        if at >= 0:
            return at, at + len(wanted)
    pieces = [piece.strip(_EDGES) for piece in _ELLIPSIS.split(html.unescape(quote))]
    longest = max(pieces, key=len, default="")
    return _folded(longest, text) if len(longest) >= _SHORTEST else None


def _folded(wanted: str, text: str) -> tuple[int, int] | None:
    from workbench.data.text import normalise, normalise_with_map

    needle = normalise(wanted)
    haystack, offsets = normalise_with_map(text)
    at = haystack.find(needle) if needle else -1
    return offsets.span(at, at + len(needle)) if at >= 0 else None


class Places:
    """Finds claims in the text that they were made from."""

    def __init__(self, text: str) -> None:
        self._text = text

    def find(self, claim: str) -> tuple[int, int, int]:
        """``(start, end, sentence)`` of a claim.

        A claim in the text's own words gets its own offsets; a reworded one gets the sentence that has the largest part
        of its words, if that is at least half of them; else offsets are -1 and the sentence is the likeliest one.
        """
        place = locate(claim, self._text)
        if place is not None:
            return (*place, self._sentence_at(place[0]))
        if not self._sentences:
            return -1, -1, 0
        shares = [self._share(claim, words) for words in self._words]
        best = max(range(len(shares)), key=lambda n: shares[n])
        if shares[best] < 0.5:
            return -1, -1, best
        span = self._sentences[best]
        return span.start, span.end, best

    def _sentence_at(self, offset: int) -> int:
        return max((n for n, span in enumerate(self._sentences) if span.start <= offset), default=0)

    @cached_property
    def _sentences(self) -> list:
        from workbench.data.sentences import sentences

        return sentences(self._text)

    @cached_property
    def _words(self) -> list[frozenset[str]]:
        from workbench.data.text import words

        return [frozenset(words(span.text)) for span in self._sentences]

    @staticmethod
    def _share(claim: str, words_of_sentence: frozenset[str]) -> float:
        from workbench.data.text import words

        own = set(words(claim))
        return len(own & words_of_sentence) / len(own) if own else 0.0
