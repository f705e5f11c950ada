"""The lists of a text: what things they hold, and how many."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from workbench.data.text.words import stop_words
from workbench.language import languages, pattern

#: Words, or characters where words are not parted, of one thing in a list.
_ITEM_WORDS, _ITEM_CHARACTERS = 5, 12


@lru_cache(maxsize=4096)
def lists_in(text: str) -> tuple[tuple[tuple[int, int], ...], ...]:
    """The lists of a text, each as the offsets of its things: 3 of "in Frankfurt, Dublin and Singapore".

    The first of them reaches back to the beginning of its clause, the last to its end. Commas alone make no list: the last
    thing is joined by a word, or all of them by a mark that only lists have.
    """
    found = []
    for clause in _CLAUSE.finditer(text):
        items: list[tuple[int, int]] = []
        marks: list[str] = []
        start = clause.start()
        for mark in [*_list_mark().finditer(text, *clause.span()), None]:
            end = clause.end() if mark is None else mark.start()
            items.append((start, end))
            if mark is None or (len(items) > 1 and not _is_thing(text[start:end])):
                if marks and marks[-1] != ",":
                    found.append(tuple(items))
                items, marks = [], []
            if mark is not None:
                marks.append(mark[0].strip())
                start = mark.end()
    return tuple(found)


def _is_thing(item: str) -> bool:
    """Whether what stands between two marks of a list may be one thing of it, not a clause or a phrase of place or time."""
    item = item.strip()
    if not item.isascii():
        return len(item) <= _ITEM_CHARACTERS
    words = item.split()
    first = words[0].lower() if words else ""
    return 0 < len(words) <= _ITEM_WORDS and not item.isdigit() and (first in _articles() or first not in stop_words())


@cache
def _articles() -> frozenset[str]:
    return frozenset(word for item in languages() for word in item.table("offline").get("articles", "").split())


def counted(sentence: str) -> frozenset[int]:
    """How many things the lists of a sentence hold."""
    return frozenset(map(len, lists_in(sentence)))


_CLAUSE = re.compile(r"(?:[^。；;:：.（）()]|\.(?!\s|$))+")


@cache
def _list_mark() -> re.Pattern[str]:
    """What parts the things of a list."""
    return pattern("offline", r"\s*(?:«list_mark»)\s*", re.IGNORECASE)
