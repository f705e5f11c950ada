"""What stands in an answer in the place of a word of the reference that is missing, and what an answer sets aside."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from workbench.data.text.quantities import Quantity
from workbench.data.text.words import stem
from workbench.evidence.offline.answer_reading import Reading, any_of, bounded, listed, negations
from workbench.evidence.offline.answer_values import Put, says
from workbench.evidence.offline.contradiction import opposite_words
from workbench.evidence.offline.lexicon import lexicon, word_id

#: Rarity from which a word is telling: another one in its place says something else. Chinese words have too many others
#: for that, Latin ones among them do not.
TELLING = 0.6


@dataclass(slots=True)
class Found:
    """The new words of a reference, one entry each: index in the reference, credit in [0, 1], exact, place in the answer."""

    index: list[int]
    credit: list[float]
    exact: list[bool]
    place: list[int | None]


def in_place_of_missing(asked: Reading, said: Reading, wanted: Reading, missing: Sequence[int], put: Put) -> None:
    """Whether the neighbours of a missing word stand in the answer with another word between or beside them."""
    substituted = other = beside = False
    for i in missing:
        left = _place(wanted, i - 1, said)
        right = _place(wanted, i + 1, said)
        both = left is not None and right is not None and abs(left - right) in (1, 2, 3)
        for p, step in ((left, 1), (right, -1)):
            if p is None or not 0 <= p + step < len(said.words) or said.statement[p] != said.statement[p + step]:
                continue
            word, root = said.words[p + step], said.stems[p + step]
            if wanted.holds(word, root) or asked.holds(word, root):
                continue
            telling = wanted.foreign[i] or wanted.code[i] if wanted.han else wanted.weights[i] >= TELLING
            substituted |= both and telling
            named = wanted.capital[i] and said.capital[p] and said.capital[p + step] and word not in no_names()
            other |= named and _adjacent(said, p, p + step)
            other |= both and wanted.han and len(wanted.words) <= 4 and wanted.weights[i] >= 0.5
            # Ice hockey and field hockey: a word is joined to the same one as that of the reference is.
            short = said.length <= wanted.length + 4 or len(said.words) <= len(wanted.words) + 1
            beside |= not wanted.han and short and _joined(said, p, p + step) and _joined(wanted, i, i - step)
    put("substituted", substituted)
    put("name_other", other)
    put("word_beside", beside)


@cache
def no_names() -> frozenset[str]:
    """Words that stand beside a name with a capital and are none."""
    return frozenset(word.strip(".") for name in ("titles", "after") for word in listed("names", name))


def _place(wanted: Reading, i: int, said: Reading) -> int | None:
    if not 0 <= i < len(wanted.words):
        return None
    places = said.at.get(wanted.words[i]) or said.at.get(wanted.stems[i])
    return places[0] if places else None


def _adjacent(text: Reading, p: int, q: int) -> bool:
    p, q = min(p, q), max(p, q)
    between = text.text[text.offsets[p] + len(text.words[p]) : text.offsets[q]]
    initial = len(text.words[p]) == 1 and between.startswith(".")
    if re.fullmatch(r"-(?:[a-z]+-)?", between):
        return True
    return len(between) <= 2 and not re.search(r"[,;.!?()]", between[initial:])


def _joined(text: Reading, p: int, q: int) -> bool:
    """Whether nothing but a space or function words stands between two words that are neighbours among the content words."""
    p, q = min(p, q), max(p, q)
    if p < 0 or q >= len(text.words):
        return False
    between = text.text[text.offsets[p] + len(text.words[p]) : text.offsets[q]]
    return re.fullmatch(r"[\s-]*(?:[a-z]+\s+){0,2}", between) is not None


def opposite(asked: Reading, said: Reading, wanted: Reading) -> bool:
    """Whether the answer has an opposite of a word of the reference instead of the word."""
    for word in wanted.vocabulary - said.vocabulary:
        if stem(word) in said.vocabulary:
            continue
        for other in opposite_words(word):
            other = stem(other)
            if other in said.vocabulary and other not in wanted.vocabulary and other not in asked.vocabulary:
                return True
    if _sided(wanted) * _sided(said) < 0 and not _sided(asked):
        return True
    return _direction(wanted, asked) * _direction(said, asked) < 0


def rival_word(asked: Reading, said: Reading, wanted: Reading, missing: Sequence[int]) -> bool:
    """Whether the answer has, instead of a missing word, another one of a list whose members exclude each other."""
    known = {word_id(word) for text in (asked, wanted) for word in text.words}
    theirs = {word_id(word) for word in said.words} - known
    return any(theirs & lexicon().rivals.get(word_id(wanted.words[i]), frozenset()) for i in missing)


def _sided(text: Reading) -> int:
    """1 where a text puts something after a time, −1 before one, 0 where it does neither or both."""
    after, before = (any_of(("sides", name)).search(text.folded) is not None for name in ("after", "before"))
    return after - before


def _direction(text: Reading, asked: Reading) -> int:
    """1 where a text speaks of an increase, −1 of a decrease, 0 of neither or both; words of the question do not count."""
    found = {
        sign
        for name, sign in (("up", 1), ("down", -1))
        for match in any_of(("direction", name), ("polarity", "harmless")).finditer(text.folded)
        if match[0] in listed("direction", name) and match[0] not in asked.folded
    }
    return found.pop() if len(found) == 1 else 0


def only_negated(
    asked: Reading, said: Reading, wanted: Reading, found: Found, numbers: Sequence[Quantity]
) -> bool:
    """Whether each place where the reference, its rarest new word or else its number stands is set aside (rather than)."""
    # "What did they not have?": what is asked for is what is not so.
    if negations(wanted.folded) or negations(asked.folded) or any_of(("contrast", "lacking")).search(asked.folded):
        return False
    literal = wanted.text.strip(" .。").lower()
    starts = [match.start() for match in re.finditer(re.escape(literal), said.text.lower())] if len(literal) > 1 else []
    placed = [(wanted.weights[i], p) for i, p in zip(found.index, found.place, strict=True) if p is not None]
    if not starts and placed:
        _, place = max(placed)
        told = {p for _, p in placed}
        for p in said.at[said.words[place]]:
            while p - 1 in told and _joined(said, p - 1, p):
                p -= 1  # the name begins before its rarest word
            starts.append(said.offsets[p])
    if not starts and not found.index:
        starts = [told.start for told in said.numbers if any(says(number, told) for number in numbers)]
    return bool(starts) and all(_put_aside(said, at, asked, wanted) for at in starts)


def _put_aside(said: Reading, at: int, asked: Reading, wanted: Reading) -> bool:
    """Whether what stands at an offset of the answer is set aside by the words before it."""
    before = said.text[max(0, at - 48) : at].lower()
    if re.search(rf"(?:{any_of(('polarity', 'harmless')).pattern})\s*$", before):
        return False  # whether or not it is so
    found = _set_aside().search(before[-20:]) or _replaced().search(before)
    if found and not any(stem(word) in asked.vocabulary for word in re.findall(r"[a-z]{4,}|[^\W\d_a-z]+", found[0])):
        return True
    kin = any_of(("contrast", "kin"))
    # Of a sentence that opens with "he" or with who was asked about, what it tells is the answer (the son of King Osric).
    earlier = (p for p, start in enumerate(said.offsets) if start < at and said.capital[p])
    others = any(not asked.holds(word, word) and not wanted.holds(word, word) for word in map(said.words.__getitem__, earlier))
    if said.han or others or not before.strip():
        after = said.text[at : at + 40].lower()
        possessive = rf"[\w\s.-]{{1,24}}?(?:{any_of(('contrast', 'of')).pattern})\s*(?:{kin.pattern})"
        if re.search(rf"(?:{kin.pattern})\s+of\s+(?:[a-z]+\s)?$", before) or re.match(possessive, after):
            return True  # the sister of the one who is meant
    scope = _in_scope().search(before)
    after = re.split(r"[.;!?。；！？]", said.text[at : at + 60].lower())[0]
    return scope is not None and any_of(("contrast", "after_all")).search(after) is not None


@cache
def _set_aside() -> re.Pattern[str]:
    before = "|".join(map(bounded, listed("contrast", "before")))
    return re.compile(rf"(?:{before})\W*(?:[a-z]+\W+n?or\W+)?(?:(?:a|an|the)\W+)?$")


@cache
def _replaced() -> re.Pattern[str]:
    """Says that another has come in the place of what follows."""
    return re.compile(rf"(?:{'|'.join(map(bounded, listed('contrast', 'replaced')))})\W*(?:[a-z]+\W+)?$")


@cache
def _in_scope() -> re.Pattern[str]:
    """A negation of the same clause, up to four words before."""
    return re.compile(rf"(?:{'|'.join(map(bounded, listed('contrast', 'scope')))})(?:\s+[a-z]+){{0,4}}\s*$")
