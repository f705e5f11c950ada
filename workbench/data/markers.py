"""Words that hedge, that claim everything, that negate; and answers that decline.

Markers are found by the longest entry at each place, so 可能 is not found in 不可能 nor 一定 in 一定程度, and no place
counts twice. Spans index the original text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources

from workbench.data.sentences import claims, clauses, sentences
from workbench.data.text import Span, normalise, normalise_with_map


def hedges(text: str) -> list[Span]:
    """Expressions of doubt (可能, 一定程度上, perhaps, might). 不可能 is none, 不一定 and 不肯定 are."""
    return _markers(text, "hedge")


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


# ---------------------------------------------------------------- refusals


@dataclass(frozen=True, slots=True)
class Refusal:
    """How far an answer declines.

    ``probability`` in [0, 1]: that the answer as a whole is a refusal. ``declines``: sentences that decline.
    ``residual``: claims that it still makes; with any of them the answer is no refusal.
    """

    probability: float
    declines: list[Span]
    residual: list[Span]


@cache
def _refusal_patterns() -> tuple[re.Pattern[str], ...]:
    table = tomllib.loads(resources.files(__package__).joinpath("refusals.toml").read_text(encoding="utf-8"))
    return tuple(
        re.compile("|".join(f"(?:{p})" for p in table[name]["patterns"])) for name in ("declines", "fillers")
    )


@lru_cache(maxsize=16384)
def declines(text: str) -> bool:
    """Whether one sentence or clause declines to answer or says that the answer is not to be found."""
    return _refusal_patterns()[0].search(normalise(text)) is not None


def _is_filler(text: str) -> bool:
    """Whether a sentence only redirects, apologises or offers help."""
    return _refusal_patterns()[1].search(normalise(text)) is not None


def refusal(text: str, extra_phrases: Sequence[str] = ()) -> Refusal:
    """Whether ``text`` declines, and what it still claims.

    ``extra_phrases`` are further wordings of declining, matched on normalised text. An empty text declines nothing.
    """
    phrases = tuple(normalise(phrase) for phrase in extra_phrases if phrase.strip())
    found, rest = [], []
    for sentence in sentences(text):
        for clause in clauses(sentence.text):
            span = Span(sentence.start + clause.start, sentence.start + clause.end, clause.text)
            folded = normalise(clause.text)
            if declines(clause.text) or any(phrase in folded for phrase in phrases):
                found.append(span)
            elif not _is_filler(clause.text):
                rest.append(span)
    if not found:
        return Refusal(0.02, [], [])
    residual = [claim for span in rest for claim in _shifted(span)]
    return Refusal(0.1 if residual else 0.97, found, residual)


def _shifted(span: Span) -> list[Span]:
    return [Span(span.start + c.start, span.start + c.end, c.text) for c in claims(span.text).spans]
