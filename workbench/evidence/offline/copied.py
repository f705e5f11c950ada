"""A claim that copies a sentence word by word with one value or name replaced.

Where all else is the same and in the same order, what was put in the place of a number or of a name is another one, wherever
else in the text that stands: no other sign has to be weighed. Paraphrases are none of this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

from workbench.data.text.normalise import HAN_CHARACTER
from workbench.data.text.quantities import relation as quantity_relation
from workbench.data.text.words import stop_words
from workbench.evidence.offline.answer_reading import listed
from workbench.evidence.offline.grid import ClaimWords
from workbench.evidence.offline.words import NAME, RAREST, Analysis, rarity, run_of
from workbench.language import pattern

#: Words (characters of Han script) that are the same, at least, and their share of the claim; of the replaced run at most.
SAME, SAME_HAN, SHARE = 5, 8, 0.6
RUN, RUN_HAN = 6, 16
#: Words, or characters, by which the beginning or the end of a claim is found in a sentence.
_ANCHOR, _ANCHOR_HAN = 2, 3

_BREAKS = re.compile(r"[,，;；:：。.!?！？()（）“”\"—]")


@dataclass(frozen=True, slots=True)
class Replaced:
    """What stands in a claim in the place of what in a sentence, and whether a ``number`` or a ``name``."""

    kind: str
    claimed: str
    found: str


@dataclass(frozen=True, slots=True)
class _Units:
    """Words, or characters of Han script, with their offsets."""

    text: Analysis
    keys: Sequence[int | str]
    starts: Sequence[int]
    ends: Sequence[int]

    def span(self, first: int, last: int) -> tuple[int, int]:
        return self.starts[first], self.ends[last - 1]


def replaced(claim: ClaimWords, text: Analysis, sentence: int) -> Replaced | None:
    """What a claim says instead, if it copies the sentence but for one number or name."""
    han = claim.source.han and text.han
    if claim.source.han != text.han:
        return None
    start, end = text.bounds[sentence].tolist()
    mine, other = _units(claim.source, claim.start, claim.end, han), _units(text, start, end, han)
    for low, high, theirs_low, theirs_high in _runs(mine, other, han):
        if low == high or theirs_low == theirs_high:
            longer, span = (mine, (low, high)) if low < high else (other, (theirs_low, theirs_high))
            found = _negations(claim, text, sentence, longer.text, longer.span(*span))
        else:
            said, told = mine.span(low, high), other.span(theirs_low, theirs_high)
            found = _numbers(claim, text, sentence, said, told) or _names(claim, text, sentence, said, told)
        if found is not None:
            return found
    return None


def _units(text: Analysis, start: int, end: int, han: bool) -> _Units:
    if han:
        at = [i for i in range(start, end) if text.folded[i].isalnum()]
        return _Units(text, [text.folded[i] for i in at], at, [i + 1 for i in at])
    words = text.words_between(start, end)
    return _Units(text, text.ids[words].tolist(), text.starts[words].tolist(), text.ends[words].tolist())


def _runs(mine: _Units, other: _Units, han: bool) -> Iterator[tuple[int, int, int, int]]:
    """The run of a claim that is all that differs, and what stands in its place: (from, to, from, to); one may be empty."""
    n, anchor, most = len(mine.keys), _ANCHOR_HAN if han else _ANCHOR, RUN_HAN if han else RUN
    least = max(SAME_HAN if han else SAME, SHARE * n)
    if n < least:
        return
    # Where the claim begins and ends in the sentence; −1 where that is what differs.
    begins = _found(mine.keys[:anchor], other.keys) or [-1]
    stops = [place + anchor for place in _found(mine.keys[-anchor:], other.keys)] or [-1]
    for begin, stop in product(begins, stops):
        before = 0 if begin < 0 else _common(mine.keys, other.keys, 0, begin, 1)
        after = 0 if stop < 0 else min(_common(mine.keys, other.keys, n - 1, stop - 1, -1), n - before)
        if begin >= 0 and stop >= 0:
            after = min(after, stop - begin - before)  # what stands twice in a row counts once
        if after < 0 or before + after < least or n - before - after > most:
            continue
        low = begin + before if begin >= 0 else _clause_edge(other, stop - after, -1, most)
        high = stop - after if stop >= 0 else _clause_edge(other, low, 1, most)
        if 0 <= high - low <= most and (high > low or n > before + after):
            yield before, n - after, low, high


def _found(anchor: Sequence[int | str], keys: Sequence[int | str]) -> list[int]:
    size = len(anchor)
    return [at for at in range(len(keys) - size + 1) if keys[at : at + size] == anchor][:4]


def _common(mine: Sequence[int | str], other: Sequence[int | str], at: int, place: int, step: int) -> int:
    """How many units are the same from two places on, forwards or backwards."""
    n = 0
    while 0 <= at < len(mine) and 0 <= place < len(other) and mine[at] == other[place]:
        n, at, place = n + 1, at + step, place + step
    return n


def _clause_edge(other: _Units, at: int, step: int, most: int) -> int:
    """Where the clause ends that the units beside ``at`` stand in: the number of its first, or of the one after its last."""
    n = at
    while 0 <= (n - 1 if step < 0 else n) < len(other.keys) and abs(n - at) <= most:
        if 0 < n < len(other.keys) and n != at and _BREAKS.search(other.text.text[other.ends[n - 1] : other.starts[n]]):
            break
        n += step
    return n


def _numbers(
    claim: ClaimWords, text: Analysis, sentence: int, said: tuple[int, int], told: tuple[int, int]
) -> Replaced | None:
    """Two numbers in the same place that cannot both be meant."""
    mine = [q for q in claim.source.quantities if q.start < said[1] and q.end > said[0]]
    others = [q for q in text.quantities[run_of(text.quantity_sentence, sentence)] if q.start < told[1] and q.end > told[0]]
    if not mine or len(mine) != len(others):
        return None
    before = claim.source.folded[claim.start : said[0]].split()[-1:]
    if not set(listed("wrapping", "either")).isdisjoint([*before, *claim.source.folded[slice(*said)].split()]):
        return None  # in the 18th or 19th century
    counted = all(re.fullmatch(r"[\d.,]+", of.text[slice(*span)]) for of, span in ((claim.source, said), (text, told)))
    for one, other in zip(mine, others, strict=True):
        related = quantity_relation(one, other)
        # Of two numbers alone what stands beside them is the same, whatever unit it is.
        if related == "different" or (counted and related != "same" and one.value != other.value):
            return Replaced("number", one.text, other.text)
    return None


def _negations(
    claim: ClaimWords, text: Analysis, sentence: int, longer: Analysis, span: tuple[int, int]
) -> Replaced | None:
    """A word that denies and stands in one of the two alone; not one that only seems to."""
    if longer.folded[slice(*span)].strip() not in listed("polarity", "negates"):
        return None
    mine = claim.source.negations[claim.source.sentence[claim.words]].max(initial=0)
    if mine + text.negations[sentence] > 1:
        return None  # something else is denied there
    around = longer.folded[max(0, span[0] - 3) : span[1] + 3]
    if any(entry in around for entry in listed("polarity", "harmless") if entry):
        return None
    start, end = text.bounds[sentence].tolist()
    return Replaced("negation", claim.source.text[claim.start : claim.end][:80], text.text[start:end][:80])


def _names(
    claim: ClaimWords, text: Analysis, sentence: int, said: tuple[int, int], told: tuple[int, int]
) -> Replaced | None:
    """Two names in the same place that have nothing in common; not one that the sentence has beside the other."""
    mine, other = claim.source.text[slice(*said)], text.text[slice(*told)]
    if claim.source.folded[slice(*said)] in text.folded[slice(*text.bounds[sentence].tolist())]:
        return None
    if not _is_name(claim.source, said) or not _is_name(text, told) or _of_one(mine, other):
        return None
    return Replaced("name", mine, other)


def _is_name(text: Analysis, span: tuple[int, int]) -> bool:
    """Whether a run is a name: of words with a capital, not by their place alone; in Han script one that is transcribed."""
    written = text.text[slice(*span)]
    if HAN_CHARACTER.search(written):
        return re.search(r"[·•]", written) is not None and _BREAKS.search(written) is None
    if pattern("offline", "\\b(?:«pronoun»)").search(written.lower()):
        return False
    words = text.words_between(*span)
    spelt = [text.text[a:b] for a, b in zip(text.starts[words].tolist(), text.ends[words].tolist(), strict=True)]
    telling = [word for word in spelt if word.lower() not in stop_words()]
    if not telling or not all(word[:1].isupper() for word in telling) or any(word.lower() in _titles() for word in spelt):
        return False
    if len(telling) < min(len(spelt), 2):
        return False  # "the city" of a text without capitals, or "The City" that opens a sentence
    known = bool((text.kind[words] == NAME).any())
    return known or len(telling) > 1 or span[0] not in text.bounds[:, 0] or _named_elsewhere(text, telling[0])


def _named_elsewhere(text: Analysis, word: str) -> bool:
    """Whether a word that opens a sentence has its capital inside of one, too; a rare word may be a name anyway."""
    places = [match.start() for match in re.finditer(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text.text)]
    begins = set(text.bounds[:, 0].tolist())
    return any(place not in begins for place in places) or rarity(word.lower()) >= RAREST


@cache
def _titles() -> frozenset[str]:
    """Titles, which stand beside a name with a capital and are none."""
    return frozenset(word.strip(".") for name in ("titles", "after") for word in listed("names", name))


def _of_one(mine: str, other: str) -> bool:
    """Whether two names may be one: they share a word or a part, or one is made of the initials of the other."""
    words = [set(re.findall(r"\w{2,}", name.lower())) for name in (mine, other)]
    if words[0] & words[1]:
        return True
    if any(HAN_CHARACTER.search(name) for name in (mine, other)):
        return any(part in other for part in re.split(r"[·•\s]", mine) if len(part) > 1)
    short, long = sorted((mine, other), key=len)
    initials = "".join(word[0] for word in re.findall(r"\w+", long) if word[0].isupper())
    return re.sub(r"\W", "", short).upper() == initials.upper() or long.lower().startswith(short.lower()[:4])
