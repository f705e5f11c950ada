"""The numbers of an answer against those of its reference, and which of several values was asked for."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache

from workbench.data.text.normalise import HAN_CHARACTER
from workbench.data.text.quantities import Quantity, date_parts, same_quantity
from workbench.data.text.words import stop_words
from workbench.evidence.offline.answer_reading import Reading, any_of, listed
from workbench.language import pattern

#: Takes the name of a feature and its value.
Put = Callable[[str, float], None]


def one_within(asked: Reading, said: Reading, wanted: Reading) -> bool | None:
    """Whether an answer keeps within the range that a reference is, where any one value is asked for; None elsewhere."""
    if any_of(("asked", "any")).search(asked.folded) is None or len(wanted.numbers) != 1 or wanted.words:
        return None
    limits = wanted.numbers[0]
    if limits.value is not None or not math.isfinite(limits.low + limits.high):
        return None
    told = [n for n in said.numbers if not any(same_quantity(n, other) for other in asked.numbers)]
    return any(limits.low <= n.low and n.high <= limits.high for n in told)


def says(wanted: Quantity, found: Quantity) -> bool:
    """Whether ``found`` says at least as much as ``wanted``: the same, a date with more parts, a number without its unit.

    A limit is said by that limit, with its word or without, not by a number that keeps it.
    """
    if wanted.cue in ("<", "<=", ">", ">=") and math.isfinite(found.low) and math.isfinite(found.high) and wanted.value:
        return says(replace(wanted, low=wanted.value, high=wanted.value, cue=""), found)
    if same_quantity(wanted, found) or (found.cue == "~" and same_quantity(found, wanted)):
        return True
    if (period := _period(wanted)) is not None and period == _period(found):
        return True
    if {wanted.unit, found.unit} == {"century", "ordinal"}:
        return wanted.value == found.value  # in the 12th, where the century is asked for
    if "date" in (wanted.kind, found.kind):
        early = wanted.value is not None and 100 <= wanted.value < 1000
        if early and {wanted.unit, found.unit} == {"y", None} and wanted.value == found.value:
            return True
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
    if all(re.fullmatch(r"1\d{3}|20\d{2}", n.text) for n in (wanted, found)):
        return False  # a year is not rounded
    if found.cue in (">", ">=") and 0 < found.value < wanted.value <= 1.1 * found.value and wanted.value > 20:
        return True  # over 21,000 for 21,196
    return _rounds_to(wanted.value, found.value) or _rounds_to(found.value, wanted.value)


def _period(quantity: Quantity) -> tuple[float, float] | None:
    """The first and the last year of a decade, a century or a range of years; of a century its second year and its last."""
    if quantity.unit in ("decade", "century") and quantity.value is not None:
        value = quantity.value
        if quantity.unit == "century":
            return 100 * value - 100, 100 * value - 1
        return value, value + (99 if value % 100 == 0 and quantity.text.endswith("00s") else 9)
    if quantity.value is None and 1000 <= quantity.low < quantity.high <= 2100 and quantity.unit in (None, "y"):
        start, end = quantity.low, quantity.high
        if (end - start, start % 10) in ((9, 1), (10, 0)) or (end - start, start % 100) in ((99, 1), (100, 0)):
            start, end = start // 10 * 10, start // 10 * 10 + (99 if end - start > 10 else 9)
        return start, end
    return None


def _rounds_to(exact: float, rounded: float) -> bool:
    """Whether ``rounded``, of at least 100 and with zeros at its end or without the digits after the point of a number from
    ten up, is ``exact`` in fewer digits."""
    if 10 <= abs(rounded) < 1e9 and exact != rounded and exact != int(exact):
        places = len(f"{rounded:.6f}".rstrip("0").rpartition(".")[2])
        return round(exact, places) == rounded and abs(exact - rounded) <= 0.05 * abs(exact)
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


def numbers_told(asked: Reading, said: Reading, numbers: Sequence[Quantity], same: Sequence[bool], put: Put) -> None:
    """Put whether a number is wanted, told, near or missing."""
    if not numbers:
        return
    put("number_wanted", 1.0)
    missing = [number for number, found in zip(numbers, same, strict=True) if not found]
    put("number_missing", len(missing) / len(numbers))
    if missing:
        offered = [n for n in said.numbers if not any(same_quantity(n, other) for other in asked.numbers)]
        close = [n for n in offered if any(_near(m, n) for m in missing)]  # over 21,000 is true of 21,196
        offered = [n for n in offered if n not in close and not any(same_quantity(n, other) for other in numbers)]
        if not any(map(_may_be_year, numbers)):
            offered = [n for n in offered if not _dates(said, n)]
        put("number_other", any(_kind(m) == _kind(o) for m in missing for o in offered))
        put("number_near", bool(close))


def _may_be_year(quantity: Quantity) -> bool:
    return quantity.kind == "date" or (quantity.value is not None and 1000 <= quantity.value <= 2100)


def _dates(said: Reading, quantity: Quantity) -> bool:
    """Whether a number of the answer is a year that only says when something was."""
    if not _may_be_year(quantity):
        return False
    before = said.text[max(0, quantity.start - 16) : quantity.start].lower()
    return quantity.kind == "date" or pattern("offline", "(?:«before_year»)$").search(before) is not None


def _kind(quantity: Quantity) -> str:
    """Numbers of one kind compete for the same place: plain numbers and years do, with each other."""
    bare = quantity.kind == "number" or (quantity.kind == "date" and quantity.unit == "y")
    return "number" if bare else quantity.kind


# ---------------------------------------------------------------- which of several values was asked for


#: How much a word beside a value that the question does not have counts against the value.
STRANGE = 0.3


def asked_other(asked: Reading, said: Reading, numbers: Sequence[Quantity]) -> float:
    """How much more of the question stands by another value of the answer than by that of the reference, in [0, 1].

    Only for numbers: each word of the question that the answer repeats belongs to the nearest number of its clause. Names
    that stand in an answer beside the one that was asked are mostly what is told about it.
    """
    kinds = {_kind(number) for number in numbers}
    timeless = not any(map(_may_be_year, numbers))
    values = [
        (n.start, n.end, any(says(number, n) for number in numbers))
        for n in said.numbers
        if _kind(n) in kinds and not any(same_quantity(n, other) for other in asked.numbers)
        and not (timeless and _dates(said, n))
    ]  # fmt: skip
    if len(values) < 2 or len({mine for _, _, mine in values}) < 2:
        return 0.0
    cuts = clause_starts(said.text)
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


def told_of_another(asked: Reading, said: Reading, wanted: Reading, new: Sequence[int]) -> bool:
    """Whether one sentence says of another name what was asked, and of the name of the reference something else alone.

    The clauses that repeat most of the question name others; those that hold the name repeat nothing of it.
    """
    named_alone = bool(new) and not wanted.numbers and all(wanted.capital[i] for i in new)
    if said.han or not named_alone or re.search(r"[.!?\n]\s+\S", said.text):
        return False
    cuts = clause_starts(said.text)
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
        empty = empty_characters()
        weight = {pair: 1.0 for pair in pairs.values() if not set(pair) <= empty and HAN_CHARACTER.match(pair[1])}
        # What stands before an amount that is asked for says what it is; before other words that ask, only the subject.
        before = -1 if match is None or len(match[0]) == 1 else match.start() - 2
        beside = set() if match is None else {pairs.get(before), pairs.get(match.end())}
    else:
        # Every value is one of the kind that is asked for.
        told = zip(asked.words, asked.stems, asked.weights, strict=True)
        weight = {root: rare**2 for word, root, rare in told if word not in listed("asked", "kinds")}
        after = () if match is None else [i for i, at in enumerate(asked.offsets) if at >= match.end()]
        beside = {asked.stems[i] for i in after[:1] if asked.stems[i] in weight}
    return {key: 2 * value if key in beside else value for key, value in weight.items()}


@cache
def empty_characters() -> frozenset[str]:
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
    counted = _asked_weights(asked)
    for word, root, at, rare in zip(said.words, said.stems, said.offsets, said.weights, strict=True):
        places = asked.at.get(root) or asked.at.get(word)
        key = asked.stems[places[0]] if places else ""
        yield at, len(word), key if key in counted else "", 0.0 if places else rare**2


def _gap(value: tuple[int, int, bool], at: int, length: int) -> int:
    start, end, _ = value
    return start - at - length if at < start else at - end


@lru_cache(maxsize=4096)
def clause_starts(text: str) -> list[int]:
    """Where the clauses of a text begin; "and" and "while" part them too."""
    return sorted({0, *(match.end() for match in clause_end().finditer(text.lower()) if match.end() < len(text))})


@cache
def clause_end() -> re.Pattern[str]:
    """What ends a clause of an answer; "and" and "while" do too."""
    words = any_of(("joining", "between"), ("joining", "clause")).pattern
    return re.compile(rf"[;；。、!?！？\n]+|[,，.:：](?!\d)|{words}")
