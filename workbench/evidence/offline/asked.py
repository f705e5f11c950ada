"""How many things a question asks for, and of what sort: one value, several things, any of them."""

from __future__ import annotations

import re
from functools import lru_cache

from workbench.data.text.words import normalise
from workbench.evidence.offline.answer_reading import any_of
from workbench.language import pattern


@lru_cache(maxsize=4096)
def enough_of(question: str) -> int:
    """How many of the things of a list are enough where a question asks for any of them, and nothing else, else 0."""
    asked = normalise(question)
    if points_asked(question) > 1:
        return 0
    if any_of(("asked", "any"), ("asked", "any_listed")).search(asked):
        return 1
    return 2 if any_of(("asked", "any_two")).search(asked) else 0


@lru_cache(maxsize=4096)
def points_asked(question: str) -> int:
    """How many things a question asks: its parts that have a word that asks."""
    asks, within = pattern("offline", "(?:«interrogative»)"), pattern("offline", "(?:«interrogative_within»)")
    parts = [part.strip() for part in re.split(r"[?？;；]", normalise(question)) if re.search(r"\w", part)]
    return sum(max(len(asks.findall(part)), within.search(part) is not None) for part in parts)


def asks_for_several(question: str) -> bool:
    """Whether a question asks for several things of one kind: which ones, the two, both."""
    return pattern("offline", "«asks_several»").search(normalise(question)) is not None


def asks_for_things(question: str) -> bool:
    """Whether a question asks what or who, which a list may answer, and not for one value, a reason, a way, yes or no."""
    asked = normalise(question)
    if asks_for_several(question):
        return True
    kinds = "«asks_time»|«asks_count»|«asks_duration»|«asks_length»|«asks_reason»|«asks_way»|«asks_polar»|«asks_place»"
    return pattern("offline", "«asks_thing»").search(asked) is not None and pattern("offline", kinds).search(asked) is None
