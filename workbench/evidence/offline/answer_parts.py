"""Answers that are asked for several things: the things of a list, an answer to each part of a question.

A reference that lists things needs all of them, unless the question asks for any one; where a question has several parts,
what the reference says to each is needed. Who tells some of it and not the rest has left a part out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

from workbench.data.text.normalise import HAN_CHARACTER
from workbench.data.text.quantities import same_quantity
from workbench.evidence.offline.answer_features import AT, STATEMENT, compared, new_words
from workbench.evidence.offline.answer_reading import Reading, any_of, cut_clauses, listed, plain, read
from workbench.evidence.offline.answer_values import says
from workbench.evidence.offline.answer_variants import asked_kind, is_beside, tells
from workbench.evidence.offline.asked import asks_for_several, asks_for_things, enough_of, points_asked
from workbench.evidence.offline.claims import bare_values
from workbench.evidence.offline.lists import lists_in
from workbench.evidence.offline.relevance import sentence_fits, wanted
from workbench.evidence.offline.words import analyse
from workbench.language import pattern

#: What is left where an answer leaves out a part of what was asked, and the recall from which a part is told.
PART_LEFT_OUT, PART_TOLD = 0.3, 0.3
#: The least probability from which it is looked for what was dropped.
UNDECIDED = 0.2
#: The probability from which no single sentence has to decide.
SURE = 0.9
#: The probability of the value that is asked for, given alone where the reference gives no other.
VALUE_TOLD = 0.8
#: Words, or characters of Han script, of a thing that a word joins to another.
_WORDS, _CHARACTERS = 5, 12
#: The kinds of values of which one sentence tells; how many sentences a reference has at most in which one is looked for; the
#: share of the question that it says, and by how much more than another one.
_VALUES, _SENTENCES, _ABOUT, _BY_FAR = ("duration", "count", "time", "place", "person"), 3, 0.4, 0.2
#: A piece of so few characters of Han script is no clause.
_SHORT = 8


@dataclass(frozen=True, slots=True)
class Parted:
    """The probability that an answer is right, its parts considered, and whether it tells one and leaves out another."""

    probability: float
    left_out: bool = False


def by_parts(question: str, said: str, reference: str, probability: float, told: Callable[[str], float]) -> Parted:
    """The probability that an answer makes the point of a reference, given that of the reference as a whole.

    Parameters
    ----------
    told
        The probability that the answer makes the point of a part.
    """
    if probability >= 0.5 and read(said).holds_squashed(read(reference).squashed):
        return Parted(probability)  # word for word
    parts, sure = things(question, reference)
    if len(parts) > 1:
        enough = enough_of(question)
        if enough and enough < len(parts):
            return Parted(max(probability, sorted(map(told, parts))[-enough]))
        likely = [told(part) for part in parts]
        if sure and min(likely) < 0.5:
            pairs = zip(parts, likely, strict=True)
            return Parted(min(probability, *likely), any(one >= 0.5 and _stands(question, said, part) for part, one in pairs))
        if _some_untold(question, said, parts, likely):
            return Parted(min(probability, PART_LEFT_OUT), True)
        if sure:
            return Parted(min(probability, *likely))
    if _is_the_value(question, said, reference):
        return Parted(max(probability, VALUE_TOLD))
    sentence = deciding(question, reference)
    if sentence is not None:
        made = told(sentence)
        if made >= 0.5:
            return Parted(max(probability, made))
        if probability < SURE and _is_untold(question, said, sentence):
            return Parted(min(probability, PART_LEFT_OUT), probability >= 0.5)
    dropped = probability >= UNDECIDED and (
        _without_value(question, said, reference) or _drops_one(question, said, reference)
    )
    if dropped or _leaves_out(question, said, reference):
        return Parted(min(probability, PART_LEFT_OUT), True)
    return Parted(probability)


# ---------------------------------------------------------------- the things of a list


def things(question: str, reference: str) -> tuple[list[str], bool]:
    """The things that a reference lists, and whether it is nothing but such a list; none, where it is no list.

    Two that a comma parts may be one (a town and its country), and so may two that a word joins (health and safety) or
    parts (2 or 3).
    """
    if any_of(("wrapping", "either")).search(reference.lower()) and not asks_for_several(question):
        return [], False  # one of them is enough
    values = [reference[start:end] for start, end in bare_values(reference)]
    if not values and len(halves := joins().split(reference)) == 2 and all(map(bare_values, halves)):
        values = halves
    parts = [part.strip() for value in values for part in joins().split(value) if part.strip()]
    named = [part for part in parts if not is_beside(part)]
    parts = named if len(named) > 1 else parts
    # Bare quantities, unless they are one together (1 hour and 30 minutes).
    counted = 1 < len(parts) <= len(read(reference).numbers) and all(read(part).numbers for part in parts)
    counted = counted and not any(new_words(read(""), read(part))[0] for part in parts)
    pair = len(parts) == 2 and not re.search(r"[,，;；、]", reference)
    counted |= pair and (_two_names(parts) or any(n.value == 2 for n in read(question).numbers))
    if any(re.split(r"\s", value.lower())[0] in listed("asked", "adds") for value in values[1:]):
        return [], False  # what is said about the one before is no thing of its own
    if counted or len(values) > 2 or (len(values) == 2 and re.search("[;；、]", reference)):
        return parts, True
    whole = reference.strip()
    if whole.endswith((".", "。")) and not whole.endswith(("etc.", "...")):
        return [], False
    marks = [match[0] for match in _marks().finditer(whole)]
    pieces = [piece.strip() for piece in _marks().split(whole)]
    pieces = parts if len(parts) > len(pieces) else pieces
    joined = len(marks) == 1 and marks[0].strip() != "&" and joins().search(marks[0].lower()) is not None
    several = len(pieces) > 2 or (len(pieces) == 2 and joined)
    one = any(_marks().search(number.text) for number in read(whole).numbers)  # between 10 and 20
    most = _WORDS if len(pieces) == 2 else 2 * _WORDS
    if one or not several or any(_leaves_a_choice(question, mark) for mark in marks):
        return [], False
    return (pieces, False) if all(_is_thing(piece, most) for piece in pieces) else ([], False)


def _leaves_a_choice(question: str, mark: str) -> bool:
    """Whether what joins two things leaves a choice: an "or", unless several are asked for."""
    words = mark.strip(" ,，").lower()
    return words in listed("wrapping", "either") and not asks_for_several(question)


def _is_thing(piece: str, most: int = _WORDS) -> bool:
    """Whether a piece of a list may be one thing: of ``most`` words, and no clause."""
    if HAN_CHARACTER.search(piece):
        # A single character of a verb may stand in any word.
        return 1 < len(piece) <= _SHORT or (len(piece) <= _CHARACTERS and not _states(piece))
    return len(piece) > 1 and len(piece.split()) <= most and not _states(piece)


def _states(piece: str) -> bool:
    return pattern("offline", "«statement»").search(piece.lower()) is not None


@cache
def joins() -> re.Pattern[str]:
    """What joins the last of several values."""
    return re.compile(any_of(("wrapping", "joins")).pattern + r"|(?<=\s)&(?=\s)")


@cache
def _marks() -> re.Pattern[str]:
    """What parts the things of a list."""
    return pattern("offline", r"\s*(?:[;；]|«list_mark»|\s&\s)\s*", re.IGNORECASE)


def _two_names(parts: Sequence[str]) -> bool:
    """Whether two parts are names, of two to four Han characters or of two words and more: both are asked for.

    The first may leave out the last word of the second (Ada and Carl Dane).
    """
    if all(len(part) in (2, 3, 4) and all(map(HAN_CHARACTER.match, part)) for part in parts):
        return True
    named = all(word[:1].isupper() for part in parts for word in part.split())
    return named and len(read(parts[-1]).words) > 1


def _some_untold(question: str, said: str, parts: Sequence[str], likely: Sequence[float]) -> bool:
    """Whether an answer tells half of the things of a list or more, and of another nothing of its own at all."""
    readings = [read(part) for part in parts]
    shares = _shares(question, said, readings, [slice(None)] * len(parts))
    if len(shares) < len(parts):
        return False
    # What makes a thing likely may be a word that it shares with another one (the source and the target address).
    common = [any(w in other.at for w in one.at for other in readings if other is not one) for one in readings]
    if not any(share == 0 and (one < 0.5 or of_two) for share, one, of_two in zip(shares, likely, common, strict=True)):
        return False
    told = sum(share == 1 or (share > 0 and one >= 0.5) for share, one in zip(shares, likely, strict=True))
    return 2 * told >= len(parts)


def _stands(question: str, said: str, part: str) -> bool:
    """Whether anything of a part stands in an answer: to say little of anything makes none of the parts."""
    return any(row[AT["recall"]] > 0 or row[AT["squashed"]] > 0 for row in compared(question, said, [part])[0])


def _shares(question: str, said: str, parts: Sequence[Reading], chosen: Sequence[slice]) -> list[float]:
    """The share of each part's own words and numbers that an answer has; those that question or another part have as well are
    no part's own, and a part without any of its own is left out."""
    asked, answer = read(question), read(said)
    shares = []
    for n, (part, kept) in enumerate(zip(parts, chosen, strict=True)):
        others = [other for m, other in enumerate(parts) if m != n]
        words, numbers = new_words(asked, part)
        own = [i for i in words if not any(other.holds(part.words[i], part.stems[i]) for other in others)]
        has = [(part.offsets[i], _has(answer, part, i)) for i in own]
        has += [(number.start, any(says(number, one) for one in answer.numbers)) for number in numbers]
        if has := sorted(has)[kept]:
            shares.append(sum(found for _, found in has) / len(has))
    return shares


def _has(answer: Reading, part: Reading, i: int) -> bool:
    """Whether an answer has a word of a part, or one that means the same or is spelt alike; of a long Han word half."""
    word = part.words[i]
    if answer.holds(word, part.stems[i]) or answer.synonym(word) is not None or answer.holds_squashed(word):
        return True
    if HAN_CHARACTER.match(word):
        pairs = [word[at : at + 2] for at in range(len(word) - 1)]
        return 2 * sum(pair in answer.folded for pair in pairs) > len(pairs)
    return len(word) > 3 and answer.alike(word, name=part.capital[i]) is not None


# ---------------------------------------------------------------- the sentence that answers


def _is_the_value(question: str, said: str, reference: str) -> bool:
    """Whether a bare value is all the numbers that a statement adds to a question when, how many or how long."""
    if wanted(question) not in ("time", "count", "duration") or not bare_values(said.strip(" .。")):
        return False
    answer, statement = read(said), read(reference)
    told, given = new_words(read(question), answer)[1], new_words(read(question), statement)[1]
    return bool(told) and bool(given) and not answer.words and all(any(says(n, one) for one in told) for n in given)


@lru_cache(maxsize=4096)
def deciding(question: str, reference: str) -> str | None:
    """The sentence of a reference of two or three that answers a question for one value, what the others add not being asked.

    It says most of the question, by far, and has a value of the kind which is asked for."""
    text, asked = analyse(reference), analyse(question)
    one_value = wanted(question) in _VALUES and points_asked(question) == 1 and not asks_for_several(question)
    if not one_value or not 2 <= len(text.bounds) <= _SENTENCES:
        return None
    words = read(question)
    total = sum(words.weights)
    sentences = [reference[start:end] for start, end in text.bounds.tolist()]
    shares = [_share_of(words, sentence) / total if total else 0.0 for sentence in sentences]
    fits = [sentence_fits(asked, text, n) for n in range(len(sentences))]
    best = max(range(len(sentences)), key=lambda n: (fits[n], shares[n]))
    others = [share for n, share in enumerate(shares) if n != best]
    if not fits[best] or shares[best] < _ABOUT or max(others) > shares[best] - _BY_FAR:
        return None
    return sentences[best]


def _share_of(asked: Reading, sentence: str) -> float:
    """How much of a question a sentence says, by rarity."""
    part = read(sentence)
    return sum(
        weight
        for word, root, weight in zip(asked.words, asked.stems, asked.weights, strict=True)
        if part.holds(word, root) or part.synonym(word) is not None
    )


def _is_untold(question: str, said: str, sentence: str) -> bool:
    """Whether an answer has none of the numbers that a sentence adds to a question, or where it adds none, next to no word."""
    rows = compared(question, said, [sentence])[0]
    return all(
        row[AT["number_missing"]] == 1 if row[AT["number_wanted"]] else row[AT["recall"]] < PART_TOLD for row in rows
    )


# ---------------------------------------------------------------- the value that is asked for


def lacks_value(question: str, said: str, reference: str) -> bool:
    """Whether a long reference tells the time or the name that a question asks for, and the answer tells none.

    A name in Han script may be one that the segmentation does not know: what the answer shares with the sentences that
    tell it counts as well.
    """
    kind, asked, told = asked_kind(question), read(question), read(said)
    whole = read(reference)
    long = len(whole.words) + len(whole.numbers) >= STATEMENT or len(whole.statements) > 1
    if not kind or not long or not tells(kind, reference, asked):
        return False
    if tells(kind, said, asked) or (kind != "time" and told.length <= 3):
        return False
    if kind == "time":
        found = pattern("offline", "«tells_time»").finditer(told.folded)
        return all(match[0] in asked.folded for match in found)
    sentences = [reference[start:end] for start, end in whole.statements]
    tell = [read(sentence) for sentence in sentences if tells(kind, sentence, asked)]
    rest = read(" ".join(sentence for sentence in sentences if not tells(kind, sentence, asked)))
    new = (word for part in tell for word, root in zip(part.words, part.stems, strict=True)
           if not asked.holds(word, root) and not rest.holds(word, root))  # fmt: skip
    return not any(told.holds(word, word) for word in new)


def _without_value(question: str, said: str, reference: str) -> bool:
    """Whether a question when, how many or how long is answered without any number, where several sentences give some."""
    if wanted(question) not in ("time", "count", "duration") or len(analyse(reference).bounds) < 2:
        return False
    asked, answer = read(question), read(said)
    rows = compared(question, said, [reference])[0]
    missing = all(row[AT["number_wanted"]] and row[AT["number_missing"]] == 1 for row in rows)
    return missing and all(any(same_quantity(number, one) for one in asked.numbers) for number in answer.numbers)


# ---------------------------------------------------------------- what is left out


def _leaves_out(question: str, said: str, reference: str) -> bool:
    """Whether an answer leaves out what the reference says to one part of a question that asks for several things."""
    if points_asked(question) < 2:
        return False
    parts = [part for clause in cut_clauses(plain(reference)) for part in joins().split(clause)]
    rows = [compared(question, said, [part])[0][0] for part in parts if any(new_words(read(question), read(part)))]
    told = [row[AT["number_missing"]] < 1 and row[AT["recall"]] >= PART_TOLD for row in rows]
    return len(told) > 1 and not all(told) and any(told)


def _drops_one(question: str, said: str, reference: str) -> bool:
    """Whether an answer has some of the things of a list in the reference, and of another nothing; only where the question
    asks for things."""
    if not asks_for_things(question) or enough_of(question):
        return False
    for items in _lists(reference):
        marks = [reference[one[1] : other[0]] for one, other in pairwise(items)]
        pieces = [reference[start:end].strip() for start, end in items]
        # The first reaches back to the beginning of its clause, the last to its end.
        pieces[-1] = re.split(r"[,，](?!\d)", pieces[-1])[0].strip()
        # In Chinese these marks join no clauses, and who asks for several things asks for the list.
        clause = _states(pieces[-1]) and not HAN_CHARACTER.search(pieces[-1]) and not asks_for_several(question)
        if clause or not all(map(_is_thing, pieces[1:-1])) or any(_leaves_a_choice(question, mark) for mark in marks):
            continue
        chosen = [slice(-1, None), *[slice(None)] * (len(items) - 2), slice(0, 1)]
        shares = _shares(question, said, [read(piece) for piece in pieces], chosen)
        if len(shares) > 1 and min(shares) == 0 and max(shares) == 1:
            return True
    return False


def _lists(reference: str) -> Iterator[tuple[tuple[int, int], ...]]:
    """The lists of a reference; one of which a single thing is left begins with what stands before its mark."""
    for items in lists_in(reference):
        before = reference[: items[0][0]]
        marks = [match.span() for match in _marks().finditer(before)]
        if len(items) > 1:
            yield items
        elif marks and marks[-1][1] == len(before):
            yield (marks[-2][1] if len(marks) > 1 else 0, marks[-1][0]), *items
