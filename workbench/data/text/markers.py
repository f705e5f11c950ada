"""Words that hedge, that claim everything, that negate.

Markers are found by the longest entry at each place, so 可能 is not found in 不可能 nor 一定 in 一定程度, and no place
counts twice. Spans index the original text.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources

from workbench.data.text.refusals import Refusal, declines, refusal
from workbench.data.text.words import Span, normalise_with_map

__all__ = ["Refusal", "absolutes", "declines", "hedges", "negations", "refusal"]


def hedges(text: str) -> list[Span]:
    """Expressions of doubt (可能, 一定程度上, perhaps, might). 不可能 is none, 不一定 and 不肯定 are.

    A capitalised May is the month.
    """
    return [span for span in _markers(text, "hedge") if span.text != "May"]


def absolutes(text: str) -> list[Span]:
    """Expressions that allow no exception (一定, 所有, always, only). 不一定, 并非所有 and "not always" are none."""
    return _markers(text, "absolute")


def negations(text: str) -> list[Span]:
    """Negating words (不, 没有, not, never, can't). 不仅, 非常, 不断 and "not only" are none."""
    return _markers(text, "negation")


def _markers(text: str, kind: str) -> list[Span]:
    folded, offsets = normalise_with_map(text)
    wanted, pattern = _marker_pattern(kind)
    found = []
    for match in pattern.finditer(folded):
        if match[0] in wanted:
            start, end = offsets.span(*match.span())
            found.append(Span(start, end, text[start:end]))
    return found


@cache
def _marker_pattern(kind: str) -> tuple[frozenset[str], re.Pattern[str]]:
    """The wanted markers, and one pattern over them and the longer words that only contain one."""
    tables = _tables()
    wanted = _entries(tables[kind])
    other = _entries(tables[f"not_{kind}"])
    longest_first = sorted({*wanted, *other}, key=len, reverse=True)
    return frozenset(wanted) - frozenset(other), re.compile("|".join(map(_bounded_entry, longest_first)))


def _entries(table: dict[str, str]) -> list[str]:
    return [entry for value in table.values() for entry in value.split("|")]


def _bounded_entry(entry: str) -> str:
    """The entry as a pattern, with word boundaries where it begins or ends with a Latin letter or digit."""
    left = r"(?<![a-z0-9_])" if entry[0].isascii() else ""
    right = r"(?![a-z0-9_'])" if entry[-1].isascii() and entry[-1].isalnum() else ""
    return left + re.escape(entry) + right


@cache
def _tables() -> dict[str, dict[str, str]]:
    return tomllib.loads(resources.files(__package__).joinpath("markers.toml").read_text(encoding="utf-8"))
