"""What the offline judge works out once for each text: words, their rarity, grams, sentences, numbers and names.

An :class:`Analysis` holds arrays, one entry a word or a gram, with offsets in the text as given; everything that
compares two texts is arithmetic on these arrays (:mod:`workbench.evidence.offline.features`).
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from workbench.data.text import markers
from workbench.data.text.kept import kept
from workbench.data.text.normalise import HAN_CHARACTER
from workbench.data.text.quantities import (
    Entity,
    Quantity,
    date_parts,
    entities,
    neighbourhood,
    quantities,
    relation,
    traits,
)
from workbench.data.text.quantity_grammar import grammar
from workbench.data.text.sentences import sentences
from workbench.data.text.words import normalise_with_map, stem, stop_words, tokens
from workbench.evidence.offline.lexicon import lexicon, word_id
from workbench.language import languages, pattern
from workbench.steps import checkpoint

# ------------------------------------------------------------------------------
# The numbers and dates of texts, looked up by what they say.
#
# A claim's number stands in a text when some number there says at least as much. Beside that, a small count may be told in
# other words, and a number may be rounded.


#: Counts up to this may be counted or told in other words ("both", a list of three).
_COUNTED = 12
#: A rounded number lies this near to the one it stands for.
_ROUNDED = 0.1
#: Numbers that something is worked out from, at most; among more than a few nearly every sum can be found.
_RECKONED, _FEW = 12, 4


class Numbers:
    """The distinct numbers and dates of texts and where they stand; a look-up compares with the few that come close.

    Attributes
    ----------
    places
        Each distinct number with the sentences that it stands in, some of them repeatedly.
    """

    def __init__(self, found: Iterable[tuple[Quantity, int]]) -> None:
        self.places: dict[Quantity, list[int]] = {}
        for quantity, place in found:
            self.places.setdefault(said(quantity), []).append(place)
        self._near: dict[Any, list[Quantity]] = {}
        self._coarse: dict[tuple[bool, int], list[Quantity]] = {}
        self._bounds: list[Quantity] = []
        for quantity in self.places:
            for trait in traits(quantity):
                self._near.setdefault(trait, []).append(quantity)
            reach, places = neighbourhood(quantity)
            if reach == "any":
                self._bounds.append(quantity)
            for place in places:
                self._coarse.setdefault((reach == "exact", place), []).append(quantity)

    def near(self, quantity: Quantity) -> list[Quantity]:
        """The distinct numbers that could hold ``quantity`` or be held by it.

        Two exact ones by what they say; where one of them is rounded or a bound, more come into question.
        """
        reach, places = neighbourhood(quantity)
        if reach == "any":
            return list(self.places)
        rounded = (False,) if reach == "exact" else (False, True)
        found = [self._near.get(trait, ()) for trait in traits(quantity)]
        found += [self._coarse.get((exact, place), ()) for exact in rounded for place in places]
        return list(dict.fromkeys(other for group in (*found, self._bounds) for other in group))

    def holding(self, claimed: Quantity) -> list[Quantity]:
        """The distinct numbers that hold ``claimed``, see :func:`holds_quantity`."""
        claimed = said(claimed)
        return [other for other in self.near(claimed) if holds_quantity(other, claimed)]

    def held_by(self, evidence: Quantity) -> list[Quantity]:
        """The distinct numbers that ``evidence`` holds."""
        evidence = said(evidence)
        return [claimed for claimed in self.near(evidence) if holds_quantity(evidence, claimed)]

    def other_limits(self, claimed: Quantity) -> list[int]:
        """The sentences that state another limit on the same side as ``claimed``, which is one."""
        limits = (other for other in self._bounds if other.cue == claimed.cue and claimed.cue in ("<=", ">="))
        return [at for other in limits if relation(claimed, other) == "different" for at in self.places[other]]

    @cached_property
    def years(self) -> dict[int, set[int]]:
        """The years named in each sentence that names one."""
        found: dict[int, set[int]] = {}
        for quantity, places in self.places.items():
            if "y" in (parts := date_parts(quantity)):
                for place in places:
                    found.setdefault(place, set()).add(parts["y"])
        return found

    def on_day(self, month: int, day: int) -> list[int]:
        """The sentences that name a day without its year."""
        near = self._near.get(("d", day), ())
        return [at for other in near if date_parts(other) == {"m": month, "d": day} for at in self.places[other]]


def said(quantity: Quantity) -> Quantity:
    """A number apart from where it stands and, unless a version could be written so, how it is written."""
    text = quantity.text.strip() if quantity.kind == "number" and quantity.unit is None else ""
    q = quantity
    return Quantity(0, 0, text, q.value, q.low, q.high, q.unit, q.kind, q.cue, q.step, q.per, q.also)


def _measure(written: str) -> str:
    """The measure word that a number in Han script ends in."""
    last = written[-1:]
    return last if HAN_CHARACTER.match(last) and last not in grammar().han else ""


@lru_cache(maxsize=65536)
def holds_quantity(evidence: Quantity, claimed: Quantity) -> bool:
    """Whether a number of the evidence says at least what the claimed one says.

    The same number, or one that bears it out (:func:`workbench.data.text.quantities.relation`); a range holds its two ends; a
    unit that only one of them has does not part them (it may stand in the head of a table).
    """
    found = relation(claimed, evidence)
    if found in ("same", "compatible"):
        # A limit is kept by a number of the same things: not "at least 10 台" by "2,000 人".
        kept = claimed.cue in ("<", "<=", ">", ">=") and claimed.value != evidence.value
        return not kept or _measure(claimed.text) == _measure(evidence.text)
    if {claimed.kind, evidence.kind} & {"ordinal", "version", "phone", "date", "time"}:
        return False
    told_apart = claimed.unit == evidence.unit or None not in (claimed.unit, evidence.unit)
    if claimed.cue in ("<", ">") or (found == "different" and told_apart):
        return False
    if claimed.unit != evidence.unit and told_apart:
        return False
    if claimed.value is None:
        return (claimed.low, claimed.high) == (evidence.low, evidence.high)
    return claimed.value in (evidence.value, evidence.low, evidence.high)


def sentences_with(quantity: Quantity, theirs: Numbers, n: int) -> NDArray[np.bool_]:
    """(n,) the sentences that hold a number.

    A date is also held where its day stands without a year and the sentence names no other year (June 19 , 2009).
    """
    found = np.zeros(n, dtype=bool)
    held = theirs.holding(quantity)
    for other in held:
        found[theirs.places[other]] = True
    # The limit of a thing is one number: where another is stated, a value within both bears out neither.
    limits = {at for other in held if other.cue == quantity.cue for at in theirs.places[other]}
    found[[at for at in theirs.other_limits(quantity) if at not in limits]] = False
    mine = date_parts(quantity) if quantity.kind == "date" else {}
    if {"y", "m", "d"} <= mine.keys():
        for at in theirs.on_day(mine["m"], mine["d"]):
            found[at] |= mine["y"] in theirs.years.get(at, {mine["y"]})
    return found


def may_be_counted(claimed: Quantity) -> bool:
    """Whether a number is a small count or ordinal: it may be counted in a text, or told there in other words."""
    bare = claimed.kind in ("number", "ordinal") and claimed.unit in (None, "ordinal")
    return bare and claimed.value is not None and abs(claimed.value) <= _COUNTED


def rounds(claimed: Quantity, exact: Quantity) -> bool:
    """Whether ``claimed`` has fewer digits than ``exact`` and lies near it; years and dates are not rounded."""
    mine, theirs = claimed.value, exact.value
    if mine is None or theirs is None or not mine or date_parts(claimed) or claimed.kind != exact.kind:
        return False
    alike = claimed.unit == exact.unit or claimed.unit is None or exact.unit is None
    return alike and _digits(mine) < _digits(theirs) and abs(mine - theirs) <= _ROUNDED * abs(theirs)


def follows(claimed: Quantity, told: Sequence[Quantity]) -> bool:
    """Whether a number is the difference of two years or the sum, difference or product of two plain numbers told (at
    most :data:`_RECKONED` of them), or one less or more a percentage: what a reader may work out, so that it is not
    simply untold."""
    value = claimed.value
    if value is None or claimed.kind in ("date", "version", "ordinal", "time"):
        return False
    years = sorted({date_parts(other)["y"] for other in told if "y" in date_parts(other)})[:_RECKONED]
    spans = {later - earlier for later in years for earlier in years if later > earlier}
    if value in spans and (claimed.unit is None or claimed.kind == "duration"):
        return True
    plain = [q.value for q in told if q.value is not None and "y" not in date_parts(q) and q.unit == claimed.unit]
    plain = plain[:_RECKONED]
    counts = [q.value for q in told if q.value is not None and q.unit is None and 2 <= q.value <= _COUNTED][:_RECKONED]
    if len(plain) > _FEW:
        return False
    shares = [q.value / 100 for q in told if q.kind == "percent" and q.value is not None][:_FEW]
    reckoned = [made for at, a in enumerate(plain) for b in plain[at + 1 :] for made in (a + b, abs(a - b))]
    reckoned += [a * b for a in plain for b in counts]
    reckoned += [a * part for a in plain for p in shares for part in (p, 1 - p, 1 + p)]
    return any(math.isclose(made, value, rel_tol=1e-9) for made in reckoned)


def _digits(value: float) -> int:
    """Digits that count: 1,200 has two, 39.8 three."""
    return len(f"{abs(value):.12g}".replace(".", "").strip("0"))


# ------------------------------------------------------------------------------


Ints = NDArray[Any]
Floats = NDArray[Any]

#: Rarity of a word that is in no list, and of names and numbers; see ``frequencies.txt`` of a language for the scale.
RAREST = 8.5
#: Kinds of words, as numbers in ``Analysis.kind``.
TERM, NUMBER, NAME, NEGATION, FUNCTION = range(5)

_HAN_LOW, _HAN_HIGH = 0x3400, 0x9FFF


@dataclass(frozen=True, slots=True)
class Analysis:
    """One text in pieces. ``n`` words, ``g`` grams, ``s`` sentences (at least one, unless the text is blank).

    Attributes
    ----------
    ids
        (n,) a 64-bit hash of each word's stem.
    starts, ends
        (n,) offsets of the words in ``text``.
    weight
        (n,) rarity in the language divided by :data:`RAREST`, in [0, 1]; 0 for function words.
    kind
        (n,) :data:`TERM`, :data:`NUMBER`, :data:`NAME`, :data:`NEGATION` or :data:`FUNCTION`.
    sentence
        (n,) number of the sentence that a word stands in.
    bounds
        (s, 2) offsets of the sentences.
    grams, gram_word, gram_sentence
        (g,) hashes of character trigrams (bigrams in Han script), the word each starts in, and its sentence.
    quantities, quantity_sentence, names, name_sentence
        What :mod:`workbench.data.text.quantities` found, and where.
    negation_spans, negations
        (k, 2) offsets of the negations; (s,) how many stand in each sentence.
    table_rows
        Row of a table → the row with its headings, both as numbers of sentences.
    folded
        ``text`` in lower case and simplified characters, with the same offsets.
    han
        Whether the text is mostly in Han script: texts of different scripts share no words.
    """

    text: str
    folded: str
    han: bool
    ids: Ints
    starts: Ints
    ends: Ints
    weight: Floats
    kind: NDArray[np.int8]
    sentence: Ints
    bounds: Ints
    grams: NDArray[np.uint64]
    gram_word: Ints
    gram_sentence: Ints
    quantities: tuple[Quantity, ...]
    quantity_sentence: Ints
    names: tuple[Entity, ...]
    name_sentence: Ints
    negation_spans: Ints
    negations: Ints
    table_rows: dict[int, int]

    def words_between(self, start: int, end: int) -> slice:
        """The words that lie inside ``[start, end)`` as a slice of the word arrays."""
        return slice(int(np.searchsorted(self.starts, start)), int(np.searchsorted(self.ends, end, side="right")))


def run_of(sentences: Ints, number: int) -> slice:
    """Where what stands in sentence ``number`` is, among things in the order of their ``sentences``."""
    low, high = np.searchsorted(sentences, (number, number + 1)).tolist()
    return slice(low, high)


@kept(characters=4_000_000)
def analyse(text: str) -> Analysis:
    """The :class:`Analysis` of ``text``; those of the latest texts are kept."""
    checkpoint()
    folded = fold(text)
    bounds = _bounds(text)
    found = tokens(folded)
    facts = [_word_facts(token.text) for token in found]
    starts = np.array([token.start for token in found], dtype=np.int64)
    ends = np.array([token.end for token in found], dtype=np.int64)
    weight = np.array([fact[1] for fact in facts], dtype=np.float32)
    kind = np.array([fact[2] for fact in facts], dtype=np.int8)
    numbers = tuple(quantities(text))
    names = _names(text, numbers)
    _mark(kind, weight, starts, ends, names, NAME)
    _mark(kind, weight, starts, ends, numbers, NUMBER)
    checkpoint()
    grams, at = _grams(folded)
    negated = _outside(_negations(text, folded, bounds), numbers)
    return Analysis(
        text=text,
        folded=folded,
        han=is_han(folded),
        ids=np.array([fact[0] for fact in facts], dtype=np.int64),
        starts=starts,
        ends=ends,
        weight=weight,
        kind=kind,
        sentence=_sentence_of(bounds, starts),
        bounds=bounds,
        grams=grams,
        gram_word=np.clip(np.searchsorted(starts, at, side="right") - 1, 0, None).astype(np.int64),
        gram_sentence=_sentence_of(bounds, at),
        quantities=numbers,
        quantity_sentence=_sentence_of(bounds, np.array([q.start for q in numbers], dtype=np.int64)),
        names=names,
        name_sentence=_sentence_of(bounds, np.array([n.start for n in names], dtype=np.int64)),
        negation_spans=negated,
        negations=np.bincount(_sentence_of(bounds, negated[:, 0]), minlength=len(bounds)).astype(np.int64),
        table_rows=_table_rows(text, bounds),
    )


def _table_rows(text: str, bounds: Ints) -> dict[int, int]:
    """Each row of a table (cells parted by "|" or tabs), and the first row of its run, which holds the headings."""
    found: dict[int, int] = {}
    if "|" not in text and "\t" not in text:
        return found
    heading, cells = -1, (0, 0)
    for number, (start, end) in enumerate(bounds.tolist()):
        here = text.count("|", start, end), text.count("\t", start, end)
        if not any(here) or here != cells:
            heading, cells = number, here
        elif _TABLE_CELL.search(text, start, end):
            found[number] = heading
    return found


_TABLE_CELL = re.compile(r"\w")


def fold(text: str) -> str:
    """``text`` normalised for matching, each character at its own offset (what folds away is a space)."""
    plain, offsets = normalise_with_map(text)
    if offsets.starts is None:
        return plain
    characters = [" "] * len(text)
    for character, start in zip(plain, offsets.starts, strict=True):
        characters[start] = character
    return "".join(characters)


def is_han(text: str) -> bool:
    """Whether a text is mostly in Han script; a Han character weighs as two Latin letters."""
    han = len(_HAN.findall(text))
    return 2 * han > sum(map(str.isascii, filter(str.isalpha, text))) if han else False


#: A sentence of more characters than the first is cut at spaces into stretches of at most the second: a table, a log.
_LONGEST, _STRETCH = 2000, 400


def _bounds(text: str) -> Ints:
    found: list[tuple[int, int]] = []
    for span in sentences(text):
        start = span.start
        while span.end - start > (_LONGEST if start == span.start else _STRETCH):
            space = text.rfind(" ", start + 1, start + _STRETCH)
            found.append((start, space if space > 0 else start + _STRETCH))
            start = space + 1 if space > 0 else start + _STRETCH
        found.append((start, span.end))
    return np.array(found or [(0, len(text))], dtype=np.int64).reshape(-1, 2)


def _sentence_of(bounds: Ints, positions: Ints) -> Ints:
    return np.clip(np.searchsorted(bounds[:, 0], positions, side="right") - 1, 0, None).astype(np.int64)


def _names(text: str, numbers: tuple[Quantity, ...]) -> tuple[Entity, ...]:
    """Names, titles, quoted terms and identifiers; numbers are kept apart."""
    taken = {(quantity.start, quantity.end) for quantity in numbers}
    kinds = ("name", "title", "quoted", "code")
    found = [e for e in entities(text) if e.kind in kinds and (e.start, e.end) not in taken]
    more = _chinese_names(text)
    ends, starts = (np.array([getattr(e, at) for e in more], dtype=np.int64) for at in ("end", "start"))
    free = _reach([(e.start, e.end) for e in found] + list(taken), ends) <= starts
    more = [e for e, alone in zip(more, free.tolist(), strict=True) if alone]
    return tuple(sorted([*found, *more], key=lambda entity: entity.start))


def _reach(spans: Sequence[tuple[int, int]], places: Ints) -> Ints:
    """How far the spans that begin before each place reach, -1 where none does; in time linear in both."""
    table = np.array(sorted(spans), dtype=np.int64).reshape(-1, 2)
    ends = np.concatenate([[-1], np.maximum.accumulate(table[:, 1])])
    return ends[np.searchsorted(table[:, 0], places)]


def _outside(negated: Ints, numbers: tuple[Quantity, ...]) -> Ints:
    """Negations but those of a bound: "no more than 5" denies nothing."""
    return negated[_reach([quantity.wide for quantity in numbers if quantity.cue], negated[:, 0] + 1) <= negated[:, 0]]


_HAN = re.compile("[\u3400-\u9fff]")
#: What is tagged at once; words do not reach over the end of a sentence.
_PAGE = re.compile("(?s).{1,4000}[^\u3002\\n]*[\u3002\\n]?")


def _chinese_names(text: str) -> list[Entity]:
    """Names of persons, places and bodies as the segmenter tags them; parts joined by ``·`` are one name."""
    tag = _tagger()
    if tag is None or not _HAN.search(text):
        return []
    found: list[Entity] = []
    at = 0
    for word, flag in (tagged for page in _PAGE.findall(text) for tagged in tag(page)):
        checkpoint()
        start = text.find(word, at)
        if start < 0:
            continue
        at = start + len(word)
        if flag.startswith(("nr", "ns", "nt", "nz")) and _HAN.match(word) and len(word) > 1:
            joined = found and text[found[-1].end : start] in ("·", "•", "・")
            begin = found.pop().start if joined else start
            found.append(Entity(begin, at, text[begin:at], "name"))
    return found


@cache
def _tagger() -> Any:
    """rjieba's tagger; None where only jieba is installed, whose tagger is too slow to run on every text."""
    try:
        import rjieba
    except ImportError:
        return None
    return rjieba.tag


def _mark(kind: NDArray[np.int8], weight: Floats, starts: Ints, ends: Ints, spans: Iterable[Any], value: int) -> None:
    """Give the words inside ``spans`` a kind; names keep their function words as they are."""
    for span in spans:
        low, high = np.searchsorted(starts, span.start), np.searchsorted(ends, span.end, side="right")
        inside = slice(int(low), max(int(high), int(low)))
        keep = kind[inside] != FUNCTION if value == NAME else np.ones(inside.stop - inside.start, dtype=bool)
        kind[inside][keep] = value
        weight[inside][keep] = 1.0


def _negations(text: str, folded: str, bounds: Ints) -> Ints:
    """(k, 2) offsets of the negations; only sentences with what may negate are searched for the listed ones."""
    may_negate = pattern("offline", "«may_negate»")
    found = [
        (start + span.start, start + span.end)
        for start, end in bounds.tolist()
        if may_negate.search(folded, start, end)
        for span in markers.negations(text[start:end])
    ]
    return np.array(sorted(found), dtype=np.int64).reshape(-1, 2)


# ---------------------------------------------------------------- words


@lru_cache(maxsize=131072)
def _word_facts(word: str) -> tuple[int, float, int]:
    """(hash of the stem, weight, kind) of a folded word."""
    # A code is the same with and without its hyphens.
    number = word_id(word.replace("-", "") if _CODE.fullmatch(word) else word)
    if word in stop_words() or word in _weak():
        return number, 0.0, FUNCTION
    return number, min(rarity(word), RAREST) / RAREST, TERM


_CODE = re.compile(r"(?=.*\d)(?=.*[a-z])[a-z0-9]+(?:-[a-z0-9]+)+")


@cache
def _weak() -> frozenset[str]:
    """Negations and auxiliaries are compared as negations, not as content."""
    return frozenset(word for item in languages() for word in item.table("offline").get("weak", "").split())


def rarity(word: str) -> float:
    """How rare a folded word is in its language, from 0 (in every passage) to :data:`RAREST` (in no list)."""
    known = _rarities()
    found = known.get(word)
    if found is None:
        found = known.get(stem(word), RAREST)
    return found


@cache
def _rarities() -> dict[str, float]:
    """Word (and, for English, stem) → rarity; the commonest form of a stem counts."""
    known: dict[str, float] = {}
    for item in languages():
        for line in (item.file("frequencies.txt") or "").splitlines():
            value, _, listed = line.partition(" ")
            if value == "#":
                continue
            for word in listed.split():
                known.setdefault(word, float(value))
                known.setdefault(stem(word), float(value))
    return known


# ---------------------------------------------------------------- grams

_FACTORS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9))


def _grams(folded: str) -> tuple[NDArray[np.uint64], Ints]:
    """Hashes and offsets of the grams: Han bigrams; other trigrams that start and end in a word character."""
    points = np.frombuffer(f"{folded}  ".encode("utf-32-le", "replace"), dtype="<u4").astype(np.uint64)
    if len(points) < 3:
        return np.empty(0, np.uint64), np.empty(0, np.int64)
    word = np.fromiter((c.isalnum() for c in f"{folded}  "), dtype=bool, count=len(points))
    han = (points >= _HAN_LOW) & (points <= _HAN_HIGH)
    two = word[:-2] & word[1:-1] & (han[:-2] | han[1:-1])
    three = word[:-2] & word[1:-1] & ~(han[:-2] | han[1:-1] | han[2:])
    pair = points[:-2] * _FACTORS[0] ^ (points[1:-1] + np.uint64(7)) * _FACTORS[1]
    last = np.where(word[2:], points[2:], np.uint64(32))
    triple = pair * _FACTORS[2] ^ (last + np.uint64(11)) * _FACTORS[0]
    at = np.flatnonzero(two | three).astype(np.int64)
    hashes = np.where(two, pair, triple)[at]
    return hashes ^ (hashes >> np.uint64(31)), at


# ------------------------------------------------------------------------------
# The grid: the words of all claims of a sample against the sentences of all its texts.
#
# Which word stands in which sentence, how much of its spelling, which number and name. What a window of sentences holds
# is then a matter of sums and maxima.


Bools = NDArray[np.bool_]
_Span = TypeVar("_Span", Quantity, Entity)

#: Words whose spelling is found to this share count in part.
_NEARLY = 0.6
#: How far a long Han word counts of which a part is found.
_PARTLY = 0.7
#: How far a sentence holds a compound whose two parts stand in it, each for itself.
_COMPOUND = 0.9
#: How far a word of the same meaning counts as the word.
_ALIKE = 0.9


@dataclass(frozen=True, slots=True)
class ClaimWords:
    """A claim: words ``words`` and grams ``grams`` of the analysis of the text it stands in."""

    source: Analysis
    words: slice
    grams: slice
    start: int
    end: int

    @property
    def n_words(self) -> int:
        """Number of words."""
        return self.words.stop - self.words.start


def claim_words(source: Analysis, start: int, end: int) -> ClaimWords:
    """The words and grams of ``source`` between two offsets."""
    words = source.words_between(start, end)
    words = slice(words.start, max(words.start, words.stop))
    low, high = np.searchsorted(source.gram_word, [words.start, words.stop]).tolist()
    return ClaimWords(source, words, slice(low, max(low, high)), start, end)


@dataclass(frozen=True, slots=True)
class Windows:
    """``w`` windows: sentences ``[first, last)`` of all texts laid end to end, and the text ``owner`` of each."""

    first: Ints
    last: Ints
    owner: Ints

    def __len__(self) -> int:
        return len(self.first)


def windows(texts: Sequence[Analysis], limit: int = 256, read: Read = ()) -> Windows:
    """Windows of at most ``limit`` words, stride one sentence, a text of fewer words being one window.

    A sentence that is longer by itself is one window. Where only some sentences are ``read``, as in :class:`Grid`, a
    window reaches no further than it would over all of them.
    """
    found: list[tuple[int, int, int]] = []
    base = 0
    for number, (text, sentences_read) in enumerate(zip(texts, _read_of(texts, read), strict=True)):
        total = np.concatenate([[0], np.cumsum(np.bincount(text.sentence, minlength=len(text.bounds)))])
        for first, last in _window_ends(total[sentences_read], total[sentences_read + 1], limit):
            found.append((base + first, base + last, number))
        base += len(sentences_read)
    table = np.array(found, dtype=np.int64).reshape(-1, 3)
    return Windows(table[:, 0], table[:, 1], table[:, 2])


def _window_ends(starts: Ints, stops: Ints, limit: int) -> list[tuple[int, int]]:
    """Runs of sentences that start and stop at these words of their text."""
    lasts = np.maximum(np.searchsorted(stops, starts + limit, side="right"), np.arange(len(starts)) + 1)
    # A window inside the one before it says nothing new.
    new = np.flatnonzero(np.diff(lasts, prepend=0) > 0)
    return list(zip(new.tolist(), lasts[new].tolist(), strict=True))


#: For each text the numbers of the sentences that are read, ascending; None, or nothing at all, for all of them.
Read = Sequence["Ints | None"]


def _read_of(texts: Sequence[Analysis], read: Read) -> list[Ints]:
    chosen = read or [None] * len(texts)
    return [np.arange(len(t.bounds)) if some is None else some for t, some in zip(texts, chosen, strict=True)]


@dataclass(frozen=True, slots=True)
class Stated:
    """A number of a claim: its ``rows`` on the word axis, and the ``sentences`` (s,) bool that hold it."""

    rows: slice
    sentences: Bools
    quantity: Quantity


class Grid:
    """The words of ``c`` claims (m in all) against the ``s`` sentences of the evidence texts.

    Attributes
    ----------
    present
        (m, s) float32 in [0, 1]: how far the sentence holds the word; names and numbers are judged as wholes.
    exact
        (m, s) bool: the word itself stands there.
    spelt
        (m, s) float32: the share of the word's character grams that the sentence holds.
    gram_present
        (g, s) bool for the grams of all claims.
    rows, gram_rows
        For each claim its slice of the word axis and of the gram axis.
    negations, lengths
        (s,) negations and words of each sentence.
    read
        For each text the numbers of its sentences that are in the grid: all but in long texts.
    """

    def __init__(self, claims: Sequence[ClaimWords], texts: Sequence[Analysis], read: Read = ()) -> None:
        self.claims, self.texts, self.read = claims, texts, _read_of(texts, read)
        #: Relations worked out so far by (claim, sentence), and how many of the claims need any (not the question).
        self.relations: dict[tuple[int, int], Any] = {}
        self.n_related = len(claims)
        self.offsets = np.concatenate([[0], np.cumsum([len(some) for some in self.read])]).astype(np.int64)
        self.n_sentences = int(self.offsets[-1])
        self.rows = _slices([claim.n_words for claim in claims])
        self.gram_rows = _slices([claim.grams.stop - claim.grams.start for claim in claims])
        self.weight = _joined([claim.source.weight[claim.words] for claim in claims], np.float32)
        self.kind = _joined([claim.source.kind[claim.words] for claim in claims], np.int8)
        self.ids = _joined([claim.source.ids[claim.words] for claim in claims], np.int64)
        words, sentence = self._columns([text.sentence for text in texts])
        self.lengths = np.bincount(sentence, minlength=self.n_sentences)
        self.negations = _joined([text.negations[some] for text, some in zip(texts, self.read, strict=True)], np.int64)
        self.word_ids = _joined([text.ids[at] for text, at in zip(texts, words, strict=True)], np.int64)
        #: For each text which of its words are in the grid; the sentence of the grid that each of them stands in.
        self.words, self.word_sentence = words, sentence
        self.exact = presence(self.ids, self.word_ids, sentence, self.n_sentences)
        self.gram_present = self._gram_presence()
        self.stated = self._quantity_presence()
        #: Rows that the initials of their words (or the words of their initials) stand for in a sentence.
        self.initials: list[tuple[slice, int]] = []
        self.present = self._word_presence()

    def _columns(self, sentences: Sequence[Ints]) -> tuple[list[Any], Ints]:
        """Of things that stand in ``sentences`` of each text: which are in the grid, and the sentence of the grid."""
        kept: list[Any] = []
        columns = []
        for theirs, some, text, offset in zip(sentences, self.read, self.texts, self.offsets, strict=False):
            whole = len(some) == len(text.bounds)
            kept.append(slice(None) if whole else np.flatnonzero(np.isin(theirs, some)))
            columns.append((theirs if whole else np.searchsorted(some, theirs[kept[-1]])) + offset)
        return kept, _joined(columns, np.int64)

    def _gram_presence(self) -> Bools:
        mine = _joined([claim.source.grams[claim.grams] for claim in self.claims], np.uint64)
        kept, at = self._columns([text.gram_sentence for text in self.texts])
        theirs = _joined([text.grams[some] for text, some in zip(self.texts, kept, strict=True)], np.uint64)
        return presence(mine, theirs, at, self.n_sentences)

    def _word_presence(self) -> Floats:
        spelt = self.spelt = self._spelling()
        nearly = (spelt >= _NEARLY) & ~self._with_digits()[:, None]
        present = np.where(self.exact, 1.0, np.where(nearly, spelt * 0.8, 0.0)).astype(np.float32)
        self._find_inside(present, spelt)
        self._find_alike(present)
        self._find_initials(present)
        self._find_headings(present)
        for stated in self.stated:
            present[stated.rows] = stated.sentences
        return present

    def _find_headings(self, present: Floats) -> None:
        """A row of a table is read under its headings, the first of the rows with as many cells that follow one another."""
        for owner, (text, some) in enumerate(zip(self.texts, self.read, strict=True)):
            if text.table_rows:
                offset = int(self.offsets[owner])
                at = {int(sentence): offset + column for column, sentence in enumerate(some.tolist())}
                for row, heading in text.table_rows.items():
                    if row in at and heading in at:
                        np.maximum(present[:, at[row]], present[:, at[heading]], out=present[:, at[row]])

    def _with_digits(self) -> Bools:
        """(m,) words with a digit: E-1207 is not nearly E-1208."""
        words = [
            claim.source.folded[int(claim.source.starts[at]) : int(claim.source.ends[at])]
            for claim in self.claims
            for at in range(claim.words.start, claim.words.stop)
        ]
        return np.array([any(letter.isdigit() for letter in word) for word in words], dtype=bool)

    def _spelling(self) -> Floats:
        """(m, s): the share of each word's grams that the sentence holds."""
        owner = _joined(
            [
                claim.source.gram_word[claim.grams] - claim.words.start + rows.start
                for claim, rows in zip(self.claims, self.rows, strict=True)
            ],
            np.int64,
        )
        total = np.bincount(owner, minlength=len(self.ids)).astype(np.float32)
        sums = np.zeros((len(self.ids), self.n_sentences), dtype=np.float32)
        if len(owner):
            firsts = np.flatnonzero(np.concatenate([[True], owner[1:] != owner[:-1]]))
            sums[owner[firsts]] = np.add.reduceat(self.gram_present, firsts, axis=0, dtype=np.float32)
        return (sums / np.maximum(total, 1.0)[:, None]).astype(np.float32)

    def _find_inside(self, present: Floats, spelt: Floats) -> None:
        """A Han word that the segmenter cut another way is found as a substring, and the longer part of a long one in
        part; numbers are never."""
        for claim, rows in zip(self.claims, self.rows, strict=True):
            for at in range(rows.start, rows.stop):
                checkpoint()
                word = claim.words.start + at - rows.start
                start, end = int(claim.source.starts[word]), int(claim.source.ends[word])
                piece = claim.source.folded[start:end]
                if not piece or not "\u3400" <= piece[0] <= "\u9fff" or claim.source.kind[word] in (FUNCTION, NUMBER):
                    continue
                for sentence in np.flatnonzero((present[at] < 1.0) & ((spelt[at] > 0.2) | (len(piece) == 1))):
                    told = self.sentence(int(sentence))
                    if len(piece) > 1 or _with_neighbour(claim.source.folded, start, told):
                        present[at, sentence] = max(present[at, sentence], _inside_share(piece, told))

    def _find_alike(self, present: Floats) -> None:
        """A word of the same meaning, or a member of the kind that the claim names, counts nearly like the word."""
        alike = lexicon().alike
        pairs = [(row, other) for row, word in enumerate(self.ids.tolist()) for other in alike(word)]
        if not pairs or not len(self.word_ids):
            return
        rows = np.array([row for row, _ in pairs], dtype=np.int64)
        hits = presence(np.array([o for _, o in pairs], np.int64), self.word_ids, self.word_sentence, self.n_sentences)
        firsts = np.flatnonzero(np.diff(rows, prepend=-1))
        found = np.maximum.reduceat(hits.astype(np.float32), firsts, axis=0) * _ALIKE
        present[rows[firsts]] = np.maximum(present[rows[firsts]], found)

    def _find_initials(self, present: Floats) -> None:
        """Words count nearly like their initials (SSO, single sign-on), and those like the words, where the other side has
        nothing else for them."""
        for claim, rows, grams in zip(self.claims, self.rows, self.gram_rows, strict=True):
            mine = [(short, at) for short, at in _initials(claim.source.text) if claim.start <= at < claim.end]
            for owner, text in enumerate(self.texts):
                if text is claim.source:
                    continue
                pairs = [(at, at + len(short), told) for short, at in mine for told, _ in _spelt_out(text, short)]
                pairs += [(*span, at) for short, at in _initials(text.text) for span in _spelt_out(claim.source, short)]
                for start, end, told in pairs:
                    where = word_rows(claim, rows, start, end)
                    sentence = max(int(np.searchsorted(text.bounds[:, 0], told, side="right")) - 1, 0)
                    column = self.column(owner, sentence)
                    if column >= 0 and claim.start <= start and end <= claim.end and where.stop > where.start:
                        present[where, column] = np.maximum(present[where, column], _ALIKE)
                        word = claim.source.gram_word[claim.grams] - claim.words.start + rows.start
                        inside = np.flatnonzero((where.start <= word) & (word < where.stop))
                        self.gram_present[grams.start + inside, column] = True
                        self.initials.append((where, column))

    @cached_property
    def leaning(self) -> Bools:
        """(s,) sentences that begin with a pronoun for what the sentence before in the same text is about."""
        leaning = pattern("offline", "(?:«leaning»)")
        found = [
            follows and leaning.match(text.folded, int(text.bounds[at, 0])) is not None
            for text, some in zip(self.texts, self.read, strict=True)
            for at, follows in zip(some, np.diff(some, prepend=-2) == 1, strict=True)
        ]
        return np.array(found, dtype=bool)

    def locate(self, number: int) -> tuple[Analysis, int]:
        """The text that sentence ``number`` of the grid stands in, and its number there."""
        owner = int(np.searchsorted(self.offsets, number, side="right")) - 1
        return self.texts[owner], int(self.read[owner][number - int(self.offsets[owner])])

    def column(self, owner: int, sentence: int) -> int:
        """The inverse of :meth:`locate`: where a sentence of a text is in the grid, -1 where it is not read."""
        at = int(np.searchsorted(self.read[owner], sentence))
        there = at < len(self.read[owner]) and int(self.read[owner][at]) == sentence
        return int(self.offsets[owner]) + at if there else -1

    def sentence(self, number: int) -> str:
        """The folded text of sentence ``number``."""
        text, at = self.locate(number)
        start, end = text.bounds[at]
        return text.folded[start:end]

    def _quantity_presence(self) -> list[Stated]:
        kept, at = self._columns([text.quantity_sentence for text in self.texts])
        told = (q for text, some in zip(self.texts, kept, strict=True) for q in _some(text.quantities, some))
        theirs = Numbers(zip(told, at.tolist(), strict=True))
        known: dict[Quantity, Bools] = {}
        result: list[Stated] = []
        for claim, rows in zip(self.claims, self.rows, strict=True):
            for quantity in quantities_of(claim):
                alike = said(quantity)
                if alike not in known:
                    known[alike] = sentences_with(alike, theirs, self.n_sentences)
                where = word_rows(claim, rows, max(quantity.wide[0], claim.start), min(quantity.wide[1], claim.end))
                result.append(Stated(where, known[alike], quantity))
        return result


#: Initials of three letters or more: of fewer too many words have them. A text with more of them is a list of codes.
_FEW_INITIALS = 40
_LARGE = re.compile(r"(?<![A-Za-z0-9])[A-Z]{3,6}(?![A-Za-z0-9])")
_SPELT = re.compile(r"[a-z]+")


@lru_cache(maxsize=4096)
def _initials(text: str) -> tuple[tuple[str, int], ...]:
    """The words of a text that look like initials, once each, with where they first stand; a text all in capitals has none."""
    found: dict[str, int] = {}
    for match in _LARGE.finditer(text):
        found.setdefault(match[0], match.start())
    return tuple(found.items()) if len(found) <= _FEW_INITIALS and not text.isupper() else ()


@lru_cache(maxsize=64)
def _runs(folded: str) -> tuple[tuple[str, tuple[tuple[int, int], ...]], ...]:
    """Runs of words parted by a space or hyphen alone: their first letters, and where each word stands."""
    runs: list[tuple[list[str], list[tuple[int, int]]]] = []
    end = -9
    for match in _SPELT.finditer(folded):
        if match.start() != end + 1 or folded[end] not in " -":
            runs.append(([], []))
        runs[-1][0].append(match[0][0])
        runs[-1][1].append(match.span())
        end = match.end()
    return tuple(("".join(letters), tuple(spans)) for letters, spans in runs if len(letters) >= 3)


def _spelt_out(text: Analysis, short: str) -> list[tuple[int, int]]:
    """Where words with these initials follow one another in a text that does not have the initials themselves."""
    return _spelt(text.text, text.folded, short)


@lru_cache(maxsize=4096)
def _spelt(text: str, folded: str, short: str) -> list[tuple[int, int]]:
    if re.search(rf"\b{short}\b", text):
        return []
    wanted, found = short.lower(), []
    for letters, spans in _runs(folded):
        at = letters.find(wanted)
        if at >= 0:
            found.append((spans[at][0], spans[at + len(wanted) - 1][1]))
    return found


def _some(values: Sequence[_Span], at: Any) -> Iterable[_Span]:
    return values if isinstance(at, slice) else (values[number] for number in at)


def _with_neighbour(folded: str, at: int, sentence: str) -> bool:
    """Whether one character stands in the sentence with one of its neighbours, as part of the same word."""
    pairs = (folded[at - 1 : at + 1] if at else "", folded[at : at + 2])
    return any(len(pair.strip()) == 2 and pair in sentence for pair in pairs)


def _inside_share(piece: str, sentence: str) -> float:
    """1 for a word that stands in the sentence, nearly so for a compound whose two parts do; else how far its longer part
    does, in part; 0 where none does."""
    if piece in sentence:
        return 1.0
    if len(piece) < 4 and not (len(piece) == 3 and (piece[:2] in sentence or piece[1:] in sentence)):
        return 0.0
    if any(piece[:n] in sentence and piece[n:] in sentence for n in range(2, len(piece) - 1)):
        return _COMPOUND
    longest = next((n for n in range(len(piece) - 1, 1, -1) if piece[:n] in sentence or piece[-n:] in sentence), 0)
    return _PARTLY * longest / len(piece)


def quantities_of(claim: ClaimWords) -> list[Quantity]:
    """The numbers and dates that stand inside a claim."""
    return _inside(claim, claim.source.quantities)


def names_of(claim: ClaimWords) -> list[Entity]:
    """The names, titles, quoted terms and identifiers that stand inside a claim."""
    return _inside(claim, claim.source.names)


def _inside(claim: ClaimWords, found: Sequence[_Span]) -> list[_Span]:
    """Those of ``found``, which stand in order of their starts, that lie inside the claim."""
    first = bisect_left(found, claim.start, key=lambda span: span.start)
    last = bisect_left(found, claim.end, key=lambda span: span.start, lo=first)
    return [span for span in found[first:last] if span.end <= claim.end]


def word_rows(claim: ClaimWords, rows: slice, start: int, end: int) -> slice:
    """The rows of the grid that hold the words of a claim between two offsets."""
    words = claim.source.words_between(start, end)
    shift = rows.start - claim.words.start
    return slice(words.start + shift, max(words.start, words.stop) + shift)


def presence(mine: NDArray[Any], theirs: NDArray[Any], at: Ints, n: int) -> Bools:
    """(len(mine), n) bool: whether each of ``mine`` is among those of ``theirs`` that stand at that place."""
    known, inverse = np.unique(mine, return_inverse=True)
    table = np.zeros((len(known) + 1, n), dtype=bool)
    if len(known) and len(theirs):
        place = np.minimum(np.searchsorted(known, theirs), len(known) - 1)
        hit = known[place] == theirs
        table[place[hit], at[hit]] = True
    return table[inverse]


def in_windows(flags: NDArray[Any], spans: Windows) -> Floats:
    """Highest value in each window: (m, s) → (m, w). Windows hold at least one sentence."""
    if flags.shape[0] == 0 or len(spans) == 0:
        return np.zeros((flags.shape[0], len(spans)), dtype=np.float32)
    level = np.log2(np.maximum(spans.last - spans.first, 1)).astype(np.int64)
    result = np.empty((flags.shape[0], len(spans)), dtype=np.float32)
    runs = flags.astype(np.float32)  # highest of 1, then 2, 4, 8 … sentences: two of them cover any window
    for step in range(int(level.max()) + 1):
        at = np.flatnonzero(level == step)
        result[:, at] = np.maximum(runs[:, spans.first[at]], runs[:, spans.last[at] - 2**step])
        runs = np.maximum(runs[:, : -(2**step)], runs[:, 2**step :])
    return result


def _slices(lengths: Sequence[int]) -> list[slice]:
    ends = np.cumsum(np.array(lengths, dtype=np.int64)) if lengths else np.empty(0, np.int64)
    return [slice(int(end) - n, int(end)) for end, n in zip(ends, lengths, strict=True)]


def _joined(arrays: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=dtype)
