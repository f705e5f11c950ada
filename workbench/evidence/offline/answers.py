"""Whether an answer makes the point of its reference, as a calibrated probability, from the texts alone.

An answer and one alternative of its reference are compared by some forty readable values: how much of what is *new* in
the reference (what the question does not say already) stands in the answer, word for word, alike, or as the same
quantity; what stands there instead; whether both say yes, both deny, both decline. A logistic model for each language
weighs them; its coefficients, with the figures that they were checked by, stand in ``answer_right.json`` and are
written by :mod:`workbench.training.answers`.

One alternative is enough: the probability of an answer is that of the alternative which fits it best, so a further
alternative never lowers it, and neither their order nor their number counts by itself.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.text.normalise import HAN, HAN_CHARACTER
from workbench.data.text.quantities import Quantity, date_parts, same_quantity
from workbench.data.text.refusals import may_decline, refusal
from workbench.data.text.sentences import denied
from workbench.data.text.words import content_words, normalise, stem, stop_words
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
from workbench.evidence.offline.examination import bare_values
from workbench.evidence.offline.features import opposite_words
from workbench.language import languages, pattern

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
_AT = {name: i for i, name in enumerate(FEATURES)}
#: The last value says which weights count: a span is to be found, a statement to be told as a whole.
SHAPES = ("span", "statement")
#: A reference of so many new words and numbers, or of so many parts, is a statement.
STATEMENT, PARTS = 6, 3

#: Rarity from which a word is telling: another one in its place says something else. Chinese words have too many others
#: for that, Latin ones among them do not.
TELLING = 0.6

#: The most that an answer without any number can reach where a number is asked for.
UNCOUNTED = 0.1
#: What is left where an answer leaves out a part of what was asked, and the recall from which a part is told.
PART_LEFT_OUT, PART_TOLD = 0.3, 0.3

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class AnswerRight:
    """How likely an answer makes the point of its reference.

    ``probability`` in [0, 1]. ``alternative``: index of the alternative that fits best, −1 without any. ``reason``: what
    decided, one of ``makes the point``, ``declines alike``, ``answers where the reference declines``, ``declines``, ``other
    polarity``, ``denies``, ``other number``, ``other value`` (the number stands there for something else), ``opposite``,
    ``other name``, ``other word``, ``part missing``, ``differs``, ``no answer``, ``no reference``. ``close_call``: the
    probability lies in the band around one half that holds a tenth of the labelled pairs. ``features``: the values by
    name, of the best alternative.
    """

    probability: float
    alternative: int
    reason: str
    close_call: bool = False
    features: Mapping[str, float] = field(default_factory=dict)


def answer_right(question: str, answer: str | None, references: str | Sequence[str]) -> AnswerRight:
    """Whether ``answer`` makes the point of one of ``references``, given the ``question`` (may be empty).

    >>> answer_right("Who wrote Emma?", "It was written by Jane Austen.", ["Austen"]).probability > 0.5
    True
    """
    alternatives = [references] if isinstance(references, str) else list(references)
    usable = [i for i, alternative in enumerate(alternatives) if alternative and alternative.strip()]
    if not usable:
        return AnswerRight(0.0, -1, "no reference")
    said = cleaned(answer or "")
    if not re.search(r"\w", said):
        return AnswerRight(0.0, usable[0], "no answer")
    rows, owners = compared(question, said, [alternatives[i] for i in usable])
    model = coefficients(language_of(question, said))
    scores = model.probabilities(np.array(rows))
    for row, owner in enumerate(owners):
        scores[row] = min([scores[row], *_of_items(question, said, alternatives[usable[owner]], model)])
        if scores[row] >= 0.5 and _leaves_out(question, said, alternatives[usable[owner]]):
            scores[row] = PART_LEFT_OUT
    if pattern("offline", "«count»").search(normalise(question)):
        # Who is asked how many and gives none of the numbers has not answered, however much else is the same.
        missing = np.array(rows)[:, [_AT["number_wanted"], _AT["number_missing"]]].min(axis=1) == 1.0
        scores = np.where(missing, np.minimum(scores, UNCOUNTED), scores)
    for row, owner in enumerate(owners):
        # "I could not find this" makes no point, where the reference is a word like "this" alone.
        if rows[row][_AT["refused"]] > 0.5 and not content_words(alternatives[usable[owner]]):
            scores[row] = min(scores[row], 1 - rows[row][_AT["refused"]])
    inner = _denied(said)
    if inner is not None:
        # Who denies what the reference says is as wrong as who says it would be right.
        for row, owner in enumerate(owners):
            reference = alternatives[usable[owner]]
            if not _denied(reference) and not declines_itself(reference) and not is_negative(plain(reference)):
                told = model.probabilities(np.array(compared(question, inner, [reference])[0])).max()
                scores[row] = min(scores[row], 1 - told)
    best = int(np.argmax(scores))
    probability = float(scores[best])
    low, high = close_band()
    values = dict(zip(FEATURES, rows[best], strict=True))
    return AnswerRight(
        probability, usable[owners[best]], _reason(values, probability), low <= probability <= high, values
    )


def _denied(text: str) -> str | None:
    """The statement that the first sentence of a text denies."""
    start, end = read(text).statements[0]
    found = denied(text.lower(), start, end)
    return None if found is None else text[slice(*found)]


def _of_items(question: str, said: str, reference: str, model: Coefficients) -> list[float]:
    """The probability of each value of a reference that lists several: all of them are needed.

    Two that a comma parts may be one (a town and its country).
    """
    values = [reference[start:end] for start, end in bare_values(reference)]
    joins = _joins()
    parts = [part.strip() for value in values for part in joins.split(value) if part.strip()]
    # Bare quantities, unless they are one together (1 hour and 30 minutes).
    counted = 1 < len(parts) <= len(read(reference).numbers) and all(read(part).numbers for part in parts)
    counted = counted and not any(_new(read(""), read(part))[0] for part in parts)
    if not counted and len(parts) == 2 and not re.search(r"[,，;；、]", reference) and _two_names(parts):
        counted = True
    if not counted and (len(values) < 2 or (len(values) == 2 and not re.search("[;；、]", reference))):
        return []
    found = []
    for part in parts:
        rows = np.array(compared(question, said, [part])[0])
        rows[:, _AT["asked_other"]] = 0.0  # the other values stand there as well
        found.append(float(model.probabilities(rows).max()))
    return found


def _leaves_out(question: str, said: str, reference: str) -> bool:
    """Whether an answer leaves out what the reference says to one part of a question that asks for several things."""
    asked = normalise(question)
    if len(pattern("offline", "(?:«interrogative»)").findall(asked)) < 2:
        return False
    parts = [part for clause in cut_clauses(plain(reference)) for part in _joins().split(clause)]
    rows = [compared(question, said, [part])[0][0] for part in parts if any(_new(read(question), read(part)))]
    told = [row[_AT["number_missing"]] < 1 and row[_AT["recall"]] >= PART_TOLD for row in rows]
    return len(told) > 1 and not all(told) and any(told)


@cache
def _joins() -> re.Pattern[str]:
    return re.compile(any_of(("wrapping", "joins")).pattern + r"|(?<=\s)&(?=\s)")


def _two_names(parts: Sequence[str]) -> bool:
    """Whether two parts are names, of two to four Han characters or of two words and more: both are asked for.

    The first may leave out the last word of the second (Ada and Carl Dane).
    """
    if all(len(part) in (2, 3, 4) and all(map(HAN_CHARACTER.match, part)) for part in parts):
        return True
    named = all(word[:1].isupper() for part in parts for word in part.split())
    return named and len(read(parts[-1]).words) > 1


#: What is said of an answer that fails, by the first value that holds; the bound is what the value must exceed.
_REASONS = (
    ("declines_not", 0.5, "answers where the reference declines"), ("refused", 0.5, "declines"),
    ("polarity_differs", 0.5, "other polarity"), ("denial_differs", 0.5, "denies"), ("negated", 0.5, "denies"),
    ("number_other", 0.5, "other number"), ("asked_other", 0.5, "other value"),
    ("opposite", 0.5, "opposite"), ("name_other", 0.5, "other name"),
    ("substituted", 0.5, "other word"), ("recall", 0.25, "part missing"),
)  # fmt: skip


def _reason(values: Mapping[str, float], probability: float) -> str:
    if probability >= 0.5:
        return "declines alike" if values["declines_alike"] else "makes the point"
    return next((reason for name, bound, reason in _REASONS if values[name] > bound), "differs")


# ---------------------------------------------------------------- the model


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Two logistic models over :data:`FEATURES`, for spans and for statements: ``weights`` (2, n), ``intercepts`` (2,)."""

    weights: Floats
    intercepts: Floats

    def log_odds(self, rows: Floats) -> Floats:
        """(m,) log-odds of (m, n) rows."""
        shape = rows[:, -1].astype(np.int64)
        return np.einsum("ij,ij->i", rows, self.weights[shape]) + self.intercepts[shape]

    def probabilities(self, rows: Floats) -> Floats:
        """(m,) probabilities of (m, n) rows."""
        return 1 / (1 + np.exp(-np.clip(self.log_odds(rows), -30, 30)))


@cache
def _fitted() -> Mapping[str, Any]:
    return json.loads(resources.files(__package__).joinpath("answer_right.json").read_text(encoding="utf-8"))


@cache
def coefficients(language: str) -> Coefficients:
    """The models of a language, the English ones where it has none of its own."""
    models = _fitted()["models"]
    found = [models.get(language, models["en"])[shape] for shape in SHAPES]
    weights = np.array([[model["weights"][name] for name in FEATURES] for model in found])
    return Coefficients(weights, np.array([model["intercept"] for model in found]))


def close_band() -> tuple[float, float]:
    """The lowest and the highest probability that is a close call: a tenth of the labelled pairs lies between."""
    low, high = _fitted()["close_call"]
    return low, high


def language_of(question: str, answer: str) -> str:
    """Which model judges: that of the language without spaces where Han script prevails, else the English one."""
    unspaced = (item.code for item in languages() if not item.facts["spaced"])
    return next(unspaced, "en") if is_han(question + answer[:500]) else "en"


# ---------------------------------------------------------------- one answer against one alternative


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
    if match is None:
        return ()
    value = reference[: match.start()].strip()
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
        row[_AT[name]] = float(value)

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


_Put = Callable[[str, float], None]


def _denials(asked: Reading, said: Reading, wanted: Reading, put: _Put) -> None:
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


def _content(asked: Reading, said: Reading, wanted: Reading, put: _Put) -> None:
    """What is new in the reference, and how much of it stands in the answer."""
    new, numbers = _new(asked, wanted)
    shortened = _as_acronym(asked, wanted, said)
    found = _Found(new, [], [], [])
    phrased = _phrased(wanted, said)
    for i in new:
        credit, exact, place = (1.0, True, None) if shortened else phrased.get(i) or _find(asked, wanted, i, said)
        found.credit.append(credit)
        found.exact.append(exact)
        found.place.append(place)
    weights = [wanted.weights[i] for i in new]
    same = [any(_says(number, other) for other in said.numbers) for number in numbers]
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
    _numbers_told(asked, said, numbers, same, put)
    if asked.words and not told_at_length:
        put("asked_other", _asked_other(asked, said, numbers) if any(same) else _told_of_another(asked, said, wanted, new))
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


def _new(asked: Reading, wanted: Reading) -> tuple[list[int], list[Quantity]]:
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


# ---------------------------------------------------------------- numbers


def _says(wanted: Quantity, found: Quantity) -> bool:
    """Whether ``found`` says at least as much as ``wanted``: the same, a date with more parts, a number without its unit.

    A limit is said by that limit, with its word or without, not by a number that keeps it.
    """
    if wanted.cue in ("<", "<=", ">", ">=") and math.isfinite(found.low) and math.isfinite(found.high) and wanted.value:
        return _says(replace(wanted, low=wanted.value, high=wanted.value, cue=""), found)
    if same_quantity(wanted, found):
        return True
    if "date" in (wanted.kind, found.kind):
        mine, theirs = _parts_of_any(wanted), _parts_of_any(found)
        if mine and mine == theirs:
            return True
        if wanted.kind == found.kind:
            return bool(mine) and all(theirs.get(part) == value for part, value in mine.items())
    if wanted.unit is None or found.unit is None:
        if (math.isinf(wanted.low) and math.isinf(found.high)) or (math.isinf(wanted.high) and math.isinf(found.low)):
            return False  # at most three is not at least three
        return wanted.value is not None and wanted.value == found.value and "date" not in (wanted.kind, found.kind)
    return False


def _near(wanted: Quantity, found: Quantity) -> bool:
    """Whether ``found`` is a part of the date ``wanted``, or a number that lies close and may be a rounded one."""
    if wanted.kind == "date" or found.kind == "date":
        mine, theirs = _parts_of_any(wanted), _parts_of_any(found)
        return bool(theirs) and len(theirs) < len(mine) and all(mine.get(k) == v for k, v in theirs.items())
    if wanted.kind != found.kind and None not in (wanted.unit, found.unit):
        return False
    if wanted.value is None and found.value is not None:
        return wanted.low <= found.value <= wanted.high
    if found.value is None or wanted.value is None:
        return found.value is None and wanted.value is not None and found.low <= wanted.value <= found.high
    return _rounds_to(wanted.value, found.value) or _rounds_to(found.value, wanted.value)


def _rounds_to(exact: float, rounded: float) -> bool:
    """Whether ``rounded``, of at least 100 and with zeros at its end, is ``exact`` in fewer digits."""
    if not 100 <= abs(rounded) < 1e15 or rounded != int(rounded):
        return False
    digits = str(abs(int(rounded)))
    zeros = len(digits) - len(digits.rstrip("0"))
    near = abs(exact - rounded) <= 0.025 * abs(exact)
    return near and zeros > 0 and exact != rounded and round(exact, -zeros) == rounded


def _parts_of_any(quantity: Quantity) -> dict[str, int]:
    """The parts of a date; of a number without a unit that may be a year, that year."""
    parts = date_parts(quantity)
    decade = quantity.kind == "date" and quantity.unit == "y" and quantity.value is not None
    return parts | {"decade": int(quantity.value or 0) // 10 * 10} if decade else parts


def _numbers_told(asked: Reading, said: Reading, numbers: Sequence[Quantity], same: Sequence[bool], put: _Put) -> None:
    if not numbers:
        return
    put("number_wanted", 1.0)
    missing = [number for number, found in zip(numbers, same, strict=True) if not found]
    put("number_missing", len(missing) / len(numbers))
    if missing:
        offered = [n for n in said.numbers if not any(same_quantity(n, other) for other in asked.numbers)]
        offered = [n for n in offered if not any(same_quantity(n, other) for other in numbers)]
        put("number_other", any(_kind(m) == _kind(o) for m in missing for o in offered))
        put("number_near", any(_near(m, o) for m in missing for o in offered))


def _kind(quantity: Quantity) -> str:
    """Numbers of one kind compete for the same place: plain numbers and years do, with each other."""
    bare = quantity.kind == "number" or (quantity.kind == "date" and quantity.unit == "y")
    return "number" if bare else quantity.kind


# ---------------------------------------------------------------- which of several values was asked for


#: How much a word beside a value that the question does not have counts against the value.
STRANGE = 0.3


def _asked_other(asked: Reading, said: Reading, numbers: Sequence[Quantity]) -> float:
    """How much more of the question stands by another value of the answer than by that of the reference, in [0, 1].

    Only for numbers: each word of the question that the answer repeats belongs to the nearest number of its clause. Names
    that stand in an answer beside the one that was asked are mostly what is told about it.
    """
    kinds = {_kind(number) for number in numbers}
    values = [
        (n.start, n.end, any(_says(number, n) for number in numbers))
        for n in said.numbers
        if _kind(n) in kinds and not any(same_quantity(n, other) for other in asked.numbers)
    ]
    if len(values) < 2 or len({mine for _, _, mine in values}) < 2:
        return 0.0
    cuts = _clause_starts(said.text)
    clauses: dict[int, list[int]] = {}
    for i, (start, _, _) in enumerate(values):
        clauses.setdefault(bisect_right(cuts, start), []).append(i)
    told: list[set[str]] = [set() for _ in values]
    strange = [0.0] * len(values)
    for at, length, word, weight in _repeated(asked, said):
        near = clauses.get(bisect_right(cuts, at))
        if near is None or any(values[i][0] <= at < values[i][1] for i in near):
            continue
        i = near[0] if len(near) == 1 else min(near, key=lambda j: _gap(values[j], at, length))
        if word:
            told[i].add(word)
        else:
            strange[i] = max(strange[i], weight)
    common = set.intersection(*told)
    counts = _asked_weights(asked)
    if not counts:
        return 0.0
    scores = [sum(counts[word] for word in words - common) for words in told]
    # What a value is said of that the question does not name counts a little against it.
    scores = [score - STRANGE * other for score, other in zip(scores, strange, strict=True)]
    by_score = sorted(range(len(values)), key=lambda i: -scores[i])
    mine = next(i for i in by_score if values[i][2])
    other = next(i for i in by_score if not values[i][2])
    begins = [start for start, _ in said.statements]
    together = bisect_right(begins, values[mine][0]) == bisect_right(begins, values[other][0])
    if together and values[other][0] < values[mine][0] and told[mine] - told[other]:
        return 0.0  # what is said first of both (its subject) is not said again of the second
    return min(1.0, max(0.0, 4 * (scores[other] - scores[mine]) / sum(counts.values())))


def _told_of_another(asked: Reading, said: Reading, wanted: Reading, new: Sequence[int]) -> bool:
    """Whether one sentence says of another name what was asked, and of the name of the reference something else alone.

    The clauses that repeat most of the question name others; those that hold the name repeat nothing of it.
    """
    named_alone = bool(new) and not wanted.numbers and all(wanted.capital[i] for i in new)
    if said.han or not named_alone or re.search(r"[.!?\n]\s+\S", said.text):
        return False
    cuts = _clause_starts(said.text)
    clauses: dict[int, list[int]] = {}
    for p, at in enumerate(said.offsets):
        clauses.setdefault(bisect_right(cuts, at), []).append(p)
    named = {p for i in new for p in said.at.get(wanted.words[i], ())}
    repeated = {p for p, (word, root) in enumerate(zip(said.words, said.stems, strict=True)) if asked.holds(word, root)}
    plainly = {p for p in repeated if not said.capital[p]}
    told = {at: sum(said.weights[p] for p in plainly.intersection(places)) for at, places in clauses.items()}
    mine = [at for at, places in clauses.items() if named.intersection(places)]
    # Its own clause begins with the name and goes on to say something.
    own = all(clauses[at][0] in named and any(not said.capital[p] for p in clauses[at]) and not told[at] for at in mine)
    most = max(told.values(), default=0.0)
    # What opens a clause has a capital anyway.
    others = {p for p in range(len(said.words)) if said.capital[p] and said.offsets[p] not in cuts} - repeated - named
    best = (places for at, places in clauses.items() if told[at] == most)
    return most >= STRANGE and bool(mine) and own and all(others.intersection(places) for places in best)


@lru_cache(maxsize=4096)
def _asked_weights(asked: Reading) -> Mapping[str, float]:
    """How much each word of a question counts, by its stem: the rare ones most, and twice the one beside "which"."""
    match = any_of(("asked", "beside")).search(asked.folded)
    beside: set[str | None]
    if asked.han:
        pairs = {at: asked.folded[at : at + 2] for at in range(len(asked.folded) - 1)}
        empty = _empty_characters()
        weight = {pair: 1.0 for pair in pairs.values() if not set(pair) <= empty and HAN_CHARACTER.match(pair[1])}
        # What stands before an amount that is asked for says what it is; before other words that ask, only the subject.
        before = -1 if match is None or len(match[0]) == 1 else match.start() - 2
        beside = set() if match is None else {pairs.get(before), pairs.get(match.end())}
    else:
        weight = {root: rare**2 for root, rare in zip(asked.stems, asked.weights, strict=True)}
        after = () if match is None else [i for i, at in enumerate(asked.offsets) if at >= match.end()]
        beside = {asked.stems[i] for i in after[:1]}
    return {key: 2 * value if key in beside else value for key, value in weight.items()}


@cache
def _empty_characters() -> frozenset[str]:
    """Han characters that ask or only join others."""
    asking = "".join(entry for name in ("value", "beside") for entry in listed("asked", name) if not entry.isascii())
    return frozenset(asking) | {word for word in stop_words() if len(word) == 1 and HAN_CHARACTER.match(word)}


def _repeated(asked: Reading, said: Reading) -> Iterator[tuple[int, int, str, float]]:
    """The words of the answer by what they are to the question: offset, length, the key of the word there or "", weight.

    Text in Han script is compared by pairs of characters: question and answer are often segmented in other ways.
    """
    if said.han and asked.han:
        keys = _asked_weights(asked)
        for at in range(len(said.folded) - 1):
            if (pair := said.folded[at : at + 2]) in keys:
                yield at, 2, pair, 0.0
        return
    for word, root, at, rare in zip(said.words, said.stems, said.offsets, said.weights, strict=True):
        places = asked.at.get(root) or asked.at.get(word)
        yield at, len(word), asked.stems[places[0]] if places else "", rare**2


def _gap(value: tuple[int, int, bool], at: int, length: int) -> int:
    start, end, _ = value
    return start - at - length if at < start else at - end


@lru_cache(maxsize=4096)
def _clause_starts(text: str) -> list[int]:
    """Where the clauses of a text begin; "and" and "while" part them too."""
    return sorted({0, *(match.end() for match in _cut().finditer(text.lower()) if match.end() < len(text))})


# ---------------------------------------------------------------- words in the place of others


def _in_place_of_missing(asked: Reading, said: Reading, wanted: Reading, missing: Sequence[int], put: _Put) -> None:
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
    return len(between) <= 2 and not re.search(r"[,;.!?]", between[initial:])


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
    total: float, recall: float, put: _Put,
) -> None:  # fmt: skip
    """What the first statement of the answer says that is new, and what of the reference stands in it."""
    known = [p for p in first.words if _told(wanted, said, p, found)]
    same = sum(any(_says(n, other) for other in wanted.numbers) for n in first.numbers)
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
        held += sum(any(_says(n, other) for other in first.told) for n in numbers)
        put("recall_lead", held / total if total else 0.0)


def _points(wanted: Reading, found: _Found, numbers: Sequence[Quantity], same: Sequence[bool], put: _Put) -> None:
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
    return tuple(match.end() for match in _cut().finditer(text.lower()) if match.end() < len(text))


@lru_cache(maxsize=16384)
def _items(text: str) -> int:
    """How many items a list has; 1 where it is none."""
    return 1 + sum(1 for _ in _between().finditer(text.lower().strip(" .;,。；，")))


@cache
def _between() -> re.Pattern[str]:
    """What parts the items of a list; a comma with its "and" parts once."""
    words = any_of(("joining", "between")).pattern
    return re.compile(rf"(?:[;；、\n]+|[,，](?!\d))\s*(?:{words})?|{words}")


@cache
def _cut() -> re.Pattern[str]:
    words = any_of(("joining", "between"), ("joining", "clause")).pattern
    return re.compile(rf"[;；。、!?！？\n]+|[,，.:：](?!\d)|{words}")
