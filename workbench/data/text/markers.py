"""Words that hedge, that claim everything, that negate.

Markers are found by the longest entry at each place, so "possible" is not found in "impossible" nor "always" in "not
always", and no place counts twice. Spans index the original text.
"""

from __future__ import annotations

import re

from workbench.data.text.normalise import LATIN
from workbench.data.text.words import Span, normalise_with_map
from workbench.language import by_languages, languages


def hedges(text: str) -> list[Span]:
    """Expressions of doubt (perhaps, might, to some extent); "not possible" is none. A capitalised May is the month."""
    return [span for span in _markers(text, "hedge") if span.text != "May"]


def absolutes(text: str) -> list[Span]:
    """Expressions that allow no exception (always, all, only); "not always" and "not all" are none."""
    return _markers(text, "absolute")


def negations(text: str) -> list[Span]:
    """Negating words (not, never, can't); "not only" is none."""
    return _markers(text, "negation")


def _markers(text: str, kind: str) -> list[Span]:
    folded, offsets = normalise_with_map(text)
    wanted, pattern = _marker_pattern(kind)
    places = (offsets.span(*match.span()) for match in pattern.finditer(folded) if match[0] in wanted)
    return [Span(start, end, text[start:end]) for start, end in places]


@by_languages(maxsize=32)
def _marker_pattern(kind: str) -> tuple[frozenset[str], re.Pattern[str]]:
    """The wanted markers, and one pattern over them and the longer words that only contain one."""
    wanted, other = (
        {entry for language in languages() for entry in language.table("markers").get(name, "").split("|") if entry}
        for name in (kind, f"not_{kind}")
    )
    longest_first = sorted({*wanted, *other}, key=lambda entry: (-len(entry), entry))
    return frozenset(wanted - other), re.compile("|".join(map(_bounded_entry, longest_first)))


def _bounded_entry(entry: str) -> str:
    """The entry as a pattern, with word boundaries where it begins or ends with a Latin letter or digit."""
    left = f"(?<![{LATIN}])" if entry[0].isascii() else ""
    right = f"(?![{LATIN}'])" if entry[-1].isascii() and entry[-1].isalnum() else ""
    return left + re.escape(entry) + right
