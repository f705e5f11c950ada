"""Things that a claim lists of which a text leaves one out: it denies that one, or says that only another may.

"Includes the textbook, the app and excursions" where another sentence says that excursions are not included; "administrators
and developers can delete a key" where only administrators can. Each thing of a list is stated by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.evidence.offline.grid import ClaimWords
from workbench.evidence.offline.lists import lists_in
from workbench.evidence.offline.polarity import Reading, read
from workbench.evidence.offline.words import FUNCTION, NUMBER, Analysis

#: Rarity from which a word tells what is meant.
_TELLING = 0.3


def left_out(claim: ClaimWords, text: Analysis, sentence: int) -> str:
    """The thing of a claim's list that a sentence denies or leaves to another one; empty without one."""
    found = read(text, sentence)
    if not (found.operators or found.only):
        return ""
    mine = read(claim.source, int(claim.source.sentence[claim.words.start])) if claim.n_words else None
    if mine is None or mine.operators or mine.only:
        return ""
    for items in _items(claim):
        for at, item in enumerate(items):
            others = [word for other in (*items[:at], *items[at + 1 :]) for word in other]
            rest = [word for word in _telling(claim.source, claim.words.start, claim.words.stop) if word not in item]
            if _denied(claim, text, found, item, others, rest) or _left_to_others(claim, text, found, item, others, rest):
                source = claim.source
                return source.text[int(source.starts[item[0]]) : int(source.ends[item[-1]])]
    return ""


def _items(claim: ClaimWords) -> Iterator[list[list[int]]]:
    """The telling words of each thing of each list; the first and the last stand at one end of their stretch."""
    source, shift = claim.source, claim.start
    for spans in lists_in(source.text[claim.start : claim.end]):
        words = [source.words_between(shift + start, shift + end) for start, end in spans]
        items = [_telling(source, some.start, some.stop) for some in words]
        if len(items) > 1 and all(items):
            yield [items[0][-1:], *items[1:-1], items[-1][:2]]


def _telling(text: Analysis, first: int, last: int) -> list[int]:
    return [at for at in range(first, last) if text.weight[at] > _TELLING and text.kind[at] not in (FUNCTION, NUMBER)]


def _places(claim: ClaimWords, text: Analysis, words: list[int], among: list[int]) -> list[int]:
    """Where words of a claim stand among some of a sentence."""
    ids = {int(text.ids[at]): at for at in among}
    return [ids[int(claim.source.ids[word])] for word in words if int(claim.source.ids[word]) in ids]


def _denied(claim: ClaimWords, text: Analysis, found: Reading, item: list[int], others: list[int], rest: list[int]) -> bool:
    """Whether the sentence denies the thing, all of its words, none of the other things, and speaks of what is listed."""
    for operator in found.operators:
        scope = list(operator.scope)
        if operator.unless or len(_places(claim, text, item, scope)) < len(item) or _places(claim, text, others, scope):
            continue
        shared = [word for word in rest if word not in others]
        if _places(claim, text, shared, found.content):
            return True
    return False


def _left_to_others(
    claim: ClaimWords, text: Analysis, found: Reading, item: list[int], others: list[int], rest: list[int]
) -> bool:
    """Whether the sentence says that only another thing of the list may what the claim says of all."""
    if not found.only or _places(claim, text, item, found.content):
        return False
    content = found.content
    allowed = _places(claim, text, others, content)
    shared = _places(claim, text, [word for word in rest if word not in others], content)
    telling = [at for at in content if text.weight[at] > _TELLING and at not in allowed]
    return bool(allowed) and bool(telling) and 2 * len(set(shared)) >= len(telling)
