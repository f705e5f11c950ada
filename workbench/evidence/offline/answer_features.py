"""What one answer and one alternative of the reference are compared by: the values that the model weighs."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from workbench.data.text.normalise import HAN, HAN_CHARACTER
from workbench.data.text.quantities import Quantity, same_quantity
from workbench.data.text.refusals import may_decline, refusal
from workbench.data.text.words import normalise, stem
from workbench.evidence.offline.answer_reading import (
    Reading,
    any_of,
    asks_yes_or_no,
    bounded,
    cleaned,
    cut_clauses,
    declines_itself,
    denies,
    is_han,
    is_negative,
    listed,
    negations,
    plain,
    polarity,
    polarity_lead,
    read,
    says_nothing,
)
from workbench.evidence.offline.answer_values import Put, asked_other, clause_end, numbers_told, says, told_of_another
from workbench.evidence.offline.claims import bare_values
from workbench.evidence.offline.contradiction import opposite_words

#: The values that one answer and one alternative are compared by, in the order of the coefficients.
FEATURES: dict[str, str] = {
    "recall": "share, by rarity, of what is new in the reference that stands in the answer: words or alike, quantities",
    "recall_exact": "the same, word for word",
    "all_found": "1 where nothing new is missing",
    "half_missing": "by how much the recall stays below one half, doubled",
    "grams": "share of the character grams of what is new that the answer holds",
    "some_grams": "1 from a quarter of these grams on, less in proportion: other wording keeps few of them",
    "squashed": "1 where the reference stands in the answer, spaces and signs left out, or is a quantity that it gives",
    "recall_lead": "the recall in the first statement of the answer alone",
    "covered": "share, by rarity, of what is new in the first statement that the reference says too",
    "within": "1 where a short answer is a part of the reference",
    "surname": "1 where the last word of a name stands in the answer",
    "rarest_missing": "rarity of the rarest word of the reference that is missing",
    "number_wanted": "1 where the reference gives a quantity that the question does not",
    "number_missing": "share of those quantities that are missing",
    "number_other": "1 where one is missing and the answer gives another of its kind",
    "number_near": "1 where one is missing and the answer gives one that lies close or is a part of it",
    "substituted": "1 where another word stands in the place of a missing one",
    "asked_other": "1 where words of the question stand by another value of the answer rather than by the one found",
    "name_other": "1 where a name stands beside the part of a name that is found, and the reference has another there",
    "opposite": "1 where the answer has a listed opposite of a missing word, or says less where the reference says more",
    "flipped": "1 where a clause of the reference stands in the answer and exactly one of the two is negative",
    "code_missing": "share of the identifiers of the reference that are missing",
    "names_missing": "share of the capitalised words of the reference that are missing, in Han script of the Latin ones",
    "rival_names": "1 - 1/(1 + names of the first statement that question and reference lack), where not all is found",
    "negated": "1 where the answer names what is new only to say that it is not so",
    "refused": "probability that the answer declines although the reference does not",
    "polarity_agrees": "1 where both answer the question with yes, or both with no",
    "polarity_differs": "1 where one says yes and the other no",
    "both_deny": "1 where both deny what was supposed, or cannot say",
    "both_negate": "1 where both hold a negation",
    "denial_differs": "1 where exactly one denies",
    "worst_point": "1 - recall of the point of the reference that the answer makes least, of several",
    "best_point": "recall of the point that it makes best, of several",
    "apart": "how far apart in the answer the words stand that the reference has together",
    "size": "logarithm of the number of new words of the reference",
    "length": "logarithm of the number of words of the answer",
    "declines_alike": "1 where the reference says that nothing is said about it and the answer does so too",
    "declines_not": "1 where the reference says so and the answer does not",
    "statement": "1 where the reference is a statement or a list, which has weights of its own, and no short span",
}  # fmt: skip
AT = {name: i for i, name in enumerate(FEATURES)}
#: A reference of so many new words and numbers, or of so many parts, is a statement.
STATEMENT, PARTS = 6, 3

#: Rarity from which a word is telling: another one in its place says something else. Chinese words have too many others
#: for that, Latin ones among them do not.
TELLING = 0.6


def compared(question: str, answer: str, references: Sequence[str]) -> tuple[list[list[float]], list[int]]:
    """The rows of values (each of ``len(FEATURES)``) of every way to read a reference, and the index of the reference.

    ``answer`` is :func:`cleaned`. A reference is read in each of its :func:`_variants`.
    """
    asked, said = read(question), read(answer)
    refused = _refused(question, answer)
    rows: list[list[float]] = []
    owners: list[int] = []
    for owner, reference in enumerate(references):
        for variant in _variants(question, reference):
            rows.append(_compare(asked, said, variant, refused))
            owners.append(owner)
    return rows, owners


_BRACKETS = re.compile(r"\s*[（(\[][^（()）\[\]]*[)）\]]\s*")


def _variants(question: str, reference: str) -> list[str]:
    """The ways to read a reference: as it is, and what is left of it without what its point does not need.

    That is what stands in brackets, a title, the clause that says more of the value that the question asks for; a name
    that has another form is read in that, too.
    """
    found = list(_plain_variants(reference))
    asks = _asks_for(question)
    return found + [value for value in (_value_alone(reference) if asks else ()) if asks == "value" or _is_named(value)]


@lru_cache(maxsize=16384)
def _plain_variants(reference: str) -> tuple[str, ...]:
    whole = cleaned(reference) or reference
    plain = _BRACKETS.sub(" ", whole).strip()
    found = [whole, plain, *(_untitled().sub("", text).strip() for text in (whole, plain))]
    for text in (whole, plain):
        for name, others in _other_names().items():
            pattern = _name_pattern(name)
            if name in text.lower() and pattern.search(text):
                found += [pattern.sub(other.title(), text) for other in others]
    if "·" in plain and all(HAN_CHARACTER.match(c) or c == "·" for c in plain):
        found.append(plain.rpartition("·")[2])  # the family name of a transcribed name
    return tuple(text for text in dict.fromkeys(found) if text == whole or re.search(r"\w", text))


@cache
def _untitled() -> re.Pattern[str]:
    """Titles before a name, or in Han script after one of two characters or more."""
    before = "|".join(map(re.escape, filter(None, listed("names", "titles"))))
    after = "|".join(map(re.escape, filter(None, listed("names", "after"))))
    return re.compile(rf"^(?:(?:{before})\s+)+(?=[^\W\d_])|(?<=^[{HAN}]{{2}})(?:{after})$|(?<=^[{HAN}]{{3}})(?:{after})$"
                      rf"|(?<=^[{HAN}]{{4}})(?:{after})$", re.IGNORECASE)  # fmt: skip


@cache
def _other_names() -> Mapping[str, tuple[str, ...]]:
    groups = [tuple(group.split("=")) for group in listed("names", "same")]
    return {name: tuple(other for other in group if other != name) for group in groups for name in group}


@cache
def _name_pattern(name: str) -> re.Pattern[str]:
    return re.compile(bounded(name) if name[-1] != "." else bounded(name[:-1]) + r"\.", re.IGNORECASE)


#: A value of so many characters (of Han script: half as many) may have something added to it.
SHORT_VALUE = 60


@lru_cache(maxsize=16384)
def _value_alone(reference: str) -> tuple[str, ...]:
    """The value that a reference begins with, where it goes on to say something about it."""
    match = _added().search(reference)
    counted = re.match(r"[^:：]{1,30}(?=[:：])", reference)
    if counted and read(counted[0]).numbers:
        match = re.compile("[:：]").search(reference)  # "Three: Rome, Milan and Turin"
    if match is None:
        return ()
    value = reference[: match.start()].strip()
    if match[0].strip() in (".", "。") and not bare_values(value):
        return ()  # a statement, after which another one follows
    if not re.search(r"\w", value) or len(value) * (2 if is_han(value) else 1) > SHORT_VALUE:
        return ()
    return (value,)


@cache
def _added() -> re.Pattern[str]:
    """A relative clause, or a sentence of its own."""
    adds = [entry for entry in listed("asked", "adds") if entry]
    latin = "|".join(re.escape(entry) for entry in adds if entry[0].isascii())
    other = "|".join(re.escape(entry) for entry in adds if not entry[0].isascii())
    return re.compile(rf",\s+(?:{latin})\b|[，,](?:{other})|(?<=[^\W\d_]{{3}})\.\s+(?=[A-Z])|。(?=.)")


@lru_cache(maxsize=4096)
def _asks_for(question: str) -> str:
    """``value`` where a question asks for one value (a person, a place, a time, a number), ``thing`` where it asks which or
    what one thing is, which its name tells; else empty."""
    folded = normalise(question)
    if any_of(("asked", "more")).search(folded):
        return ""
    values = {match.start() for match in any_of(("asked", "value")).finditer(folded)}
    things = {match.start() for match in any_of(("asked", "beside")).finditer(folded)}
    return "value" if len(values) == 1 else "thing" if not values and len(things) == 1 else ""


def _is_named(value: str) -> bool:
    """Whether a value is a name or a quantity alone."""
    told = read(value)
    return all(told.capital) and all(word[0].isalnum() for word in told.words)


@lru_cache(maxsize=4096)
def _refused(question: str, answer: str) -> float:
    """The probability that an answer declines; 0 without a word that declining needs."""
    return refusal(answer, question=question).probability if may_decline(answer) else 0.0


def _compare(asked: Reading, said: Reading, reference: str, refused: float) -> list[float]:
    """The values of one alternative."""
    row = [0.0] * len(FEATURES)

    def put(name: str, value: float) -> None:
        row[AT[name]] = float(value)

    put("length", math.log1p(said.length))
    if declines_itself(reference):
        alike = says_nothing(said, refused)
        put("declines_alike", alike)
        put("declines_not", not alike)
        return row
    if refused and any(group.search(said.folded) and group.search(plain(reference)) for group in _phrases()):
        refused = 0.0
    declined = refused >= 0.5
    if declined and refusal(reference).probability >= 0.5:
        put("both_deny", 1.0)
        refused = 0.0
    put("refused", refused)
    told, body = polarity_lead(reference)
    of_yes_or_no = bool(told) or asks_yes_or_no(asked)
    if of_yes_or_no:
        mine = told or polarity(read(reference), asked, sure=True)
        theirs = 0 if declined else polarity(said, asked)
        put("polarity_agrees", mine * theirs > 0)
        put("polarity_differs", mine * theirs < 0)
        if declined and mine:
            put("half_missing", 1.0)  # to decline is neither yes nor no, whatever words of the question come with it
            return row
        if told and not body:
            for name in ("recall", "recall_exact", "all_found", "grams", "some_grams", "squashed", "recall_lead", "covered"):
                put(name, mine * theirs > 0)
            put("half_missing", mine * theirs <= 0)
            return row
    wanted = read(body or reference)
    if not declined:
        _denials(asked, said, read(reference), put)
    _content(asked, said, wanted, put)
    return row




def _denials(asked: Reading, said: Reading, wanted: Reading, put: Put) -> None:
    """Whether both deny what the question supposes. A short reference denies nothing."""
    if len(wanted.squashed) < (8 if wanted.han else 24):
        return
    put("flipped", _flipped(wanted, said))
    mine, theirs = denies(wanted, asked), denies(said, asked)
    put("both_deny", mine and theirs)
    put("denial_differs", mine != theirs)
    put("both_negate", bool(negations(wanted.folded)) and bool(negations(said.folded)))


def _flipped(wanted: Reading, said: Reading) -> bool:
    """Whether a clause of the reference is told in a clause of the answer and exactly one of them is negative."""
    theirs = [(read(clause), is_negative(clause)) for clause in cut_clauses(said.folded)]
    for clause in cut_clauses(wanted.folded):
        mine, negative = read(clause), is_negative(clause)
        weight = sum(mine.weights)
        if len(mine.words) < 3:
            continue
        best, differs = 0.6 * weight, False
        for other, other_negative in theirs:
            pairs = zip(mine.weights, mine.words, mine.stems, strict=True)
            shared = sum(w for w, word, root in pairs if other.holds(word, root))
            if shared > best:
                best, differs = shared, negative != other_negative
        if differs:
            return True
    return False


@dataclass(slots=True)
class _Found:
    """The new words of a reference, one entry each: index in the reference, credit in [0, 1], exact, place in the answer."""

    index: list[int]
    credit: list[float]
    exact: list[bool]
    place: list[int | None]


def _content(asked: Reading, said: Reading, wanted: Reading, put: Put) -> None:
    """What is new in the reference, and how much of it stands in the answer."""
    new, numbers = new_words(asked, wanted)
    shortened = _as_acronym(asked, wanted, said)
    found = _Found(new, [], [], [])
    phrased = _phrased(wanted, said)
    for i in new:
        credit, exact, place = (1.0, True, None) if shortened else phrased.get(i) or _find(asked, wanted, i, said)
        found.credit.append(credit)
        found.exact.append(exact)
        found.place.append(place)
    weights = [wanted.weights[i] for i in new]
    same = [any(says(number, other) for other in said.numbers) for number in numbers]
    total = sum(weights) + len(numbers)
    recall = (sum(w * c for w, c in zip(weights, found.credit, strict=True)) + sum(same)) / total if total else 0.0
    literal = sum(w for w, e in zip(weights, found.exact, strict=True) if e) + sum(same)
    put("recall", recall)
    put("recall_exact", literal / total if total else 0.0)
    put("all_found", recall >= 0.99)
    put("half_missing", max(0.0, 1 - 2 * recall))
    # A bare quantity stands in the answer however it is written (ten days, 10 days), in either script.
    squashed = shortened or said.holds_squashed(wanted.squashed) or (not new and bool(numbers) and all(same))
    put("squashed", squashed)
    told_otherwise = zip(new, found.credit, found.place, strict=True)
    meant = [wanted.words[i] for i, credit, p in told_otherwise if credit >= 0.99 and (p is None or p < 0)]
    found.place = [None if p is None else p if p >= 0 else -1 - p for p in found.place]
    grams = 1.0 if squashed else _gram_recall(asked, said, wanted, meant)
    put("grams", grams)
    put("some_grams", min(1.0, 4 * grams))
    put("size", math.log1p(len(new) + len(numbers)))
    missing = [i for i, credit in zip(new, found.credit, strict=True) if credit < 0.5]
    nothing = recall == 0 and not squashed
    if not squashed and len(wanted.words) > len(missing):
        _in_place_of_missing(asked, said, wanted, missing, put)
    put("rarest_missing", 0.0 if squashed else max((wanted.weights[i] for i in missing), default=0.0))
    told_at_length = len(new) + len(numbers) >= STATEMENT or (len(wanted.statements) > 1 and wanted.length > STATEMENT)
    clauses = len(cut_clauses(wanted.folded)) if wanted.han else 1
    put("statement", told_at_length or clauses > 1 or _items(wanted.text) >= PARTS)
    for name, special in (("code_missing", wanted.code), ("names_missing", wanted.foreign if wanted.han else wanted.capital)):
        of = [i for i in new if special[i]]
        put(name, sum(i in missing for i in of) / len(of) if of else 0.0)
    numbers_told(asked, said, numbers, same, put)
    if asked.words and not told_at_length and not (len(numbers) > 1 and all(same)):
        # Several numbers that are all told are told together.
        put("asked_other", asked_other(asked, said, numbers) if any(same) else told_of_another(asked, said, wanted, new))
    first = _first_statement(asked, said)
    if recall < 0.99:
        rivals = len({said.words[p] for p in first.words if said.capital[p] and not _told(wanted, said, p, found)})
        put("rival_names", 1 - 1 / (1 + rivals))
    _points(wanted, found, numbers, same, put)
    if nothing:
        return
    _lead(asked, first, said, wanted, found, numbers, total, recall, put)
    put("surname", _surname(wanted, found))
    put("apart", _apart(found))
    put("negated", _only_negated(said, wanted, found))
    put("opposite", _opposite(asked, said, wanted))


def new_words(asked: Reading, wanted: Reading) -> tuple[list[int], list[Quantity]]:
    """The words (as indices) and quantities of the reference that the question does not have; all, if it has them all."""
    words = [i for i in range(len(wanted.words)) if not asked.holds(wanted.words[i], wanted.stems[i])]
    numbers = [n for n in wanted.numbers if not any(same_quantity(n, other) for other in asked.numbers)]
    if words or numbers:
        return words, numbers
    return list(range(len(wanted.words))), list(wanted.numbers)


def _as_acronym(asked: Reading, wanted: Reading, said: Reading) -> bool:
    """Whether the answer gives the initials of the whole reference (United Kingdom → UK), or its short form in Han script."""
    if wanted.numbers or negations(wanted.folded):
        return False  # a form that leaves out a negation is no short form
    if wanted.han or not 1 < wanted.length <= 8:
        return wanted.han and _short_form(wanted.squashed, said)
    initials = set(wanted.acronyms) if len(wanted.acronyms) == 1 and all(wanted.capital) else set()
    if len(wanted.words) > 2:
        initials.add("".join(word[0] for word in wanted.words))
    initials = {one for one in initials if one not in asked.at}
    return any(said.written_large(i) for one in initials for i in said.at.get(one, ()) if said.words[i] == one)


def _short_form(name: str, said: Reading) -> bool:
    """Whether a name of four Han characters or more stands in the answer in a form that leaves some of them out.

    The form keeps the first character and the order, and has one of each word; one of two characters is made of the first
    of each half.
    """
    if not 4 <= len(name) <= 16 or not all(map(HAN_CHARACTER.match, name)):
        return False
    if len(name) == 4 and name[0] + name[2] in said.vocabulary:
        return True
    start = said.squashed.find(name[0])
    while start >= 0:
        at, end, last = 0, start, -1
        while end < len(said.squashed) and (last := name.find(said.squashed[end], at)) >= 0:
            at, end = last + 1, end + 1
        if end - start >= 3 and at == len(name) and _pairs_told(name, said.squashed[start:end]):
            return True
        start = said.squashed.find(name[0], start + 1)
    return False


def _pairs_told(name: str, form: str) -> bool:
    """Whether the form has a character of every word of the name."""
    return all(any(c in form for c in word) for word in read(name).words)


@cache
def _phrases() -> tuple[re.Pattern[str], ...]:
    """Phrases that say the same, one pattern a group."""
    return tuple(re.compile("|".join(map(bounded, group.split("=")))) for group in listed("wording", "same"))


def _phrased(wanted: Reading, said: Reading) -> dict[int, tuple[float, bool, int | None]]:
    """What :func:`_find` says of the words of the reference that stand in such a phrase: they are told by one of its group."""
    found: dict[int, tuple[float, bool, int | None]] = {}
    for group in _phrases():
        for match in group.finditer(wanted.folded):
            told = group.search(said.folded) is not None
            inside = (i for i, at in enumerate(wanted.offsets) if match.start() <= at < match.end())
            found |= dict.fromkeys(inside, (float(told), told, None))
    return found


def _find(asked: Reading, wanted: Reading, i: int, said: Reading) -> tuple[float, bool, int | None]:
    """(credit, exact, place) of one word of the reference in the answer; −1 − place where it is said in another word."""
    word, root = wanted.words[i], wanted.stems[i]
    places = said.at.get(word) or (None if wanted.code[i] else said.at.get(root))
    if places:
        return 1.0, True, places[0]
    if wanted.code[i]:
        held = _bounded_in(word, said.folded)
        if not held and _PART_NUMBER.fullmatch(word):
            held = said.holds_squashed(word.replace("-", ""))
        return (1.0, True, None) if held else (0.0, False, None)
    if HAN_CHARACTER.match(word):
        credit, exact, place = _find_han(asked, word, said)
    else:
        credit, exact, place = _find_latin(asked, wanted, i, word, said)
    if credit < 1 and not wanted.capital[i] and (place := said.synonym(word)) is not None:
        return 1.0, False, -1 - place
    return credit, exact, place


def _find_latin(asked: Reading, wanted: Reading, i: int, word: str, said: Reading) -> tuple[float, bool, int | None]:
    if wanted.capital[i] and len(word) > 1 and word in said.acronyms:
        return 1.0, True, None
    initials = wanted.initials_at.get(wanted.offsets[i], "")
    if len(initials) > 2 and initials not in asked.at and any(map(said.written_large, said.at.get(initials, ()))):
        return 1.0, True, -1 - said.at[initials][0]
    if wanted.written_large(i) and len(word) > 2 and (place := said.initials_of(word)) >= 0:
        return 1.0, True, -1 - place
    if len(word) == 1 or (len(word) < 4 and wanted.written_large(i) and wanted.words[-1] != word):
        named = next((p for p, w in enumerate(said.words) if w[0] == word[0] and said.capital[p] and len(w) > 3), None)
        if named is not None or len(word) == 1:
            return (0.0, False, None) if named is None else (1.0, False, named)
    if wanted.capital[i] and (short := _short_name(wanted, i, word, said)) is not None:
        return 1.0, False, -1 - short
    if len(word) < 4 or word.isdigit():
        return 0.0, False, None
    nearest = said.alike(word, name=wanted.capital[i])
    return (0.0, False, None) if nearest is None else (1.0, False, nearest)


def _short_name(wanted: Reading, i: int, word: str, said: Reading) -> int | None:
    """The place of the short form of a first name (James → Jim), or of its initial before the next word of the name."""
    for other in _first_names().get(word, ()):
        if (places := said.at.get(other)) and said.capital[places[0]]:
            return places[0]
    last = wanted.words[-1]
    if i == len(wanted.words) - 1 or last not in said.at:
        return None
    before = said.at[last][0] - 1
    initials = before >= 0 and said.written_large(before) and len(said.words[before]) < 4
    return before if initials and said.words[before][0] == word[0] else None


@cache
def _first_names() -> Mapping[str, tuple[str, ...]]:
    groups = [tuple(group.split("=")) for group in listed("names", "first")]
    found: dict[str, tuple[str, ...]] = {}
    for group in groups:
        for name in group:
            found[name] = found.get(name, ()) + tuple(other for other in group if other != name)
    return found


#: A series and its number, which is one with and without its hyphen.
_PART_NUMBER = re.compile(r"[a-z]{1,4}-?\d+[a-z]{0,2}")


def _bounded_in(word: str, folded: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", folded) is not None


def _find_han(asked: Reading, word: str, said: Reading) -> tuple[float, bool, int | None]:
    """A Han word may be segmented otherwise in the answer; of a long one a part may stand there."""
    if word in said.folded:
        return 1.0, True, None
    if len(word) > 1 and word[-1] in listed("names", "kind"):
        name = word[:-1]  # a colour by its first character; not where only a word of the question holds it
        if said.folded.count(name) > asked.folded.count(name):
            return 1.0, False, None
    if len(word) < 3:
        return 0.0, False, None
    pairs = [word[i : i + 2] for i in range(len(word) - 1)]
    share = sum(pair in said.folded for pair in pairs) / len(pairs)
    return share, False, None


def _gram_recall(asked: Reading, said: Reading, wanted: Reading, meant: Sequence[str]) -> float:
    """Share of the grams of what is new that the answer holds; a word told in another one counts as told."""
    new = wanted.grams() - asked.grams() or wanted.grams()
    held = new & said.grams()
    for word in meant:
        held |= new & read(word).grams()
    return len(held) / len(new) if new else 0.0


# ---------------------------------------------------------------- words in the place of others


def _in_place_of_missing(asked: Reading, said: Reading, wanted: Reading, missing: Sequence[int], put: Put) -> None:
    """Whether the neighbours of a missing word stand in the answer with another word between or beside them."""
    substituted = other = False
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
            named = wanted.capital[i] and said.capital[p] and said.capital[p + step] and word not in _no_names()
            other |= named and _adjacent(said, p, p + step)
            other |= both and wanted.han and len(wanted.words) <= 4 and wanted.weights[i] >= 0.5
    put("substituted", substituted)
    put("name_other", other)


@cache
def _no_names() -> frozenset[str]:
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
    return len(between) <= 2 and not re.search(r"[,;.!?()]", between[initial:])


def _opposite(asked: Reading, said: Reading, wanted: Reading) -> bool:
    """Whether the answer has an opposite of a word of the reference instead of the word."""
    for word in wanted.vocabulary - said.vocabulary:
        if stem(word) in said.vocabulary:
            continue
        for other in opposite_words(word):
            other = stem(other)
            if other in said.vocabulary and other not in wanted.vocabulary and other not in asked.vocabulary:
                return True
    return _direction(wanted, asked) * _direction(said, asked) < 0


def _direction(text: Reading, asked: Reading) -> int:
    """1 where a text speaks of an increase, −1 of a decrease, 0 of neither or both; words of the question do not count."""
    found = {
        sign
        for name, sign in (("up", 1), ("down", -1))
        for match in any_of(("direction", name), ("polarity", "harmless")).finditer(text.folded)
        if match[0] in listed("direction", name) and match[0] not in asked.folded
    }
    return found.pop() if len(found) == 1 else 0


def _only_negated(said: Reading, wanted: Reading, found: _Found) -> bool:
    """Whether each place where the rarest new word stands follows words that set it aside (not, rather than)."""
    if negations(wanted.folded):
        return False
    placed = [(wanted.weights[i], p) for i, p in zip(found.index, found.place, strict=True) if p is not None]
    if not placed:
        return False
    _, place = max(placed)
    before = [said.text[max(0, said.offsets[p] - 16) : said.offsets[p]].lower() for p in said.at[said.words[place]]]
    return all(_set_aside().search(text) for text in before)


@cache
def _set_aside() -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(map(bounded, listed('contrast', 'before')))})\W*(?:(?:a|an|the)\W+)?$")


def _surname(wanted: Reading, found: _Found) -> bool:
    """Whether the last word of a name of two to four words stands in the answer."""
    if not 2 <= len(wanted.words) <= 4 or not all(wanted.capital) or wanted.numbers or not found.index:
        return False
    return found.index[-1] == len(wanted.words) - 1 and found.exact[-1]


def _apart(found: _Found) -> float:
    """0 where the words stand side by side, towards 1 as they are strewn over the answer."""
    placed = sorted({p for p in found.place if p is not None})
    if len(placed) < 2:
        return 0.0
    return 1 - math.exp(-(placed[-1] - placed[0] + 1 - len(placed)) / 6)


# ---------------------------------------------------------------- statements and points


@dataclass(frozen=True, slots=True)
class _First:
    """What the first statement of an answer says that the question does not: places of words, quantities; all quantities."""

    words: tuple[int, ...]
    numbers: tuple[Quantity, ...]
    told: tuple[Quantity, ...]


@lru_cache(maxsize=4096)
def _first_statement(asked: Reading, said: Reading) -> _First:
    mine = (p for p, statement in enumerate(said.statement) if statement == 0)
    told = tuple(n for n, statement in zip(said.numbers, said.number_statement, strict=True) if statement == 0)
    fresh = tuple(p for p in mine if not asked.holds(said.words[p], said.stems[p]))
    return _First(fresh, tuple(n for n in told if not any(same_quantity(n, other) for other in asked.numbers)), told)


def _told(wanted: Reading, said: Reading, p: int, found: _Found) -> bool:
    """Whether word ``p`` of the answer stands for one of the reference."""
    return wanted.holds(said.words[p], said.stems[p]) or p in found.place


def _lead(
    asked: Reading, first: _First, said: Reading, wanted: Reading, found: _Found, numbers: Sequence[Quantity],
    total: float, recall: float, put: Put,
) -> None:  # fmt: skip
    """What the first statement of the answer says that is new, and what of the reference stands in it."""
    known = [p for p in first.words if _told(wanted, said, p, found)]
    same = sum(any(says(n, other) for other in wanted.numbers) for n in first.numbers)
    size = sum(said.weights[p] for p in first.words) + len(first.numbers)
    put("covered", (sum(said.weights[p] for p in known) + same) / size if size else 0.0)
    nothing_else = len(known) == len(first.words) and same == len(first.numbers) and size > 0
    put("within", nothing_else and len(said.statements) == 1 and said.length <= wanted.length)
    if len(said.statements) == 1:
        put("recall_lead", recall)
    else:
        start, end = said.statements[0]
        part = read(said.text[start:end])
        held = sum(wanted.weights[i] * _find(asked, wanted, i, part)[0] for i in found.index)
        held += sum(any(says(n, other) for other in first.told) for n in numbers)
        put("recall_lead", held / total if total else 0.0)


def _points(wanted: Reading, found: _Found, numbers: Sequence[Quantity], same: Sequence[bool], put: Put) -> None:
    """The recall of the parts of the reference that are points of their own: clauses, items of a list."""
    cuts = _cuts(wanted.text)
    if not cuts:
        return
    held: dict[int, list[float]] = {}
    for i, credit in zip(found.index, found.credit, strict=True):
        part = held.setdefault(bisect_right(cuts, wanted.offsets[i]), [0.0, 0.0])
        part[0] += wanted.weights[i] * credit
        part[1] += wanted.weights[i]
    for number, told in zip(numbers, same, strict=True):
        part = held.setdefault(bisect_right(cuts, number.start), [0.0, 0.0])
        part[0] += told
        part[1] += 1.0
    shares = [made / all_of for made, all_of in held.values() if all_of > 0]
    if len(shares) > 1:
        put("worst_point", 1 - min(shares))
        put("best_point", max(shares))


@lru_cache(maxsize=16384)
def _cuts(text: str) -> tuple[int, ...]:
    """Where the parts of a reference end."""
    return tuple(match.end() for match in clause_end().finditer(text.lower()) if match.end() < len(text))


@lru_cache(maxsize=16384)
def _items(text: str) -> int:
    """How many items a list has; 1 where it is none."""
    return 1 + sum(1 for _ in _between().finditer(text.lower().strip(" .;,。；，")))


@cache
def _between() -> re.Pattern[str]:
    """What parts the items of a list; a comma with its "and" parts once."""
    words = any_of(("joining", "between")).pattern
    return re.compile(rf"(?:[;；、\n]+|[,，](?!\d))\s*(?:{words})?|{words}")
