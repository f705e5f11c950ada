"""What the offline judge works out once for each text: words, their rarity, grams, sentences, numbers and names.

An :class:`Analysis` holds arrays, one entry a word or a gram, with offsets in the text as given; everything that
compares two texts is arithmetic on these arrays (:mod:`workbench.evidence.offline.features`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

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
from workbench.data.text.words import Token, normalise_with_map, stem, stop_words, tokens
from workbench.evidence.offline.lexicon import word_id
from workbench.language import languages, pattern
from workbench.steps import checkpoint

# ------------------------------------------------------------------------------
# The numbers and dates of texts, looked up by what they say.
#
# A claim's number stands in a text when some number there says at least as much. Beside that, a small count may be told in
# other words, and a number may be rounded.


#: Kinds of quantities that are days and times of day.
DATES = ("date", "time")
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
        kept = claimed.cue in ("<", "<=", ">", ">=") and claimed.value != evidence.value and claimed.unit is None
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

    def word_span(self, at: int) -> tuple[int, int]:
        """Offsets of word ``at``."""
        return int(self.starts[at]), int(self.ends[at])

    def word(self, at: int) -> str:
        """Word ``at``, folded."""
        return self.folded[slice(*self.word_span(at))]

    def shown(self, at: int) -> str:
        """Word ``at`` as it is written."""
        return self.text[slice(*self.word_span(at))]

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
    numbers = tuple(quantities(text))
    names = _names(text, numbers)
    found = _recut(tokens(folded), folded, names)
    facts = [_word_facts(token.text) for token in found]
    starts = np.array([token.start for token in found], dtype=np.int64)
    ends = np.array([token.end for token in found], dtype=np.int64)
    weight = np.array([fact[1] for fact in facts], dtype=np.float32)
    kind = np.array([fact[2] for fact in facts], dtype=np.int8)
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


def _recut(found: list[Token], folded: str, names: Sequence[Entity]) -> list[Token]:
    """The words of a text with the names of persons in Han script as one word each: the segmenter may part a family name from
    the name, or glue it to the word before."""
    whole = [name for name in names if name.kind == "name" and len(name.text) == 3 and _is_family(name.text[0])]
    if not whole:
        return found
    cut: list[Token] = []
    at = 0
    for token in found:
        while at < len(whole) and whole[at].end <= token.start:
            at += 1
        name = whole[at] if at < len(whole) and whole[at].start < token.end else None
        if name is None:
            cut.append(token)
            continue
        if token.start < name.start:
            cut.append(Token(folded[token.start : name.start], token.start, name.start))
        if not cut or cut[-1].end <= name.start:
            cut.append(Token(folded[name.start : name.end], name.start, name.end))
        if token.end > name.end:
            cut.append(Token(folded[name.end : token.end], name.end, token.end))
    return cut


def _is_family(character: str) -> bool:
    return pattern("offline", "«family_name»").fullmatch(character) is not None


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
            # The segmenter may part a family name from the name, or glue it to the word before.
            if flag.startswith("nr") and not joined and len(word) == 2 and start > 0:
                begin -= _is_family(text[start - 1])
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
    if word in stop_words() or word in _weak() or _helps(word):
        return number, 0.0, FUNCTION
    return number, min(rarity(word), RAREST) / RAREST, TERM


def _helps(word: str) -> bool:
    """Whether an unlisted word is put together from helping words alone: unspaced texts are cut into such pieces (仍为)."""
    pieces = stop_words() | _weak()
    return 1 < len(word) <= 3 and HAN_CHARACTER.match(word) is not None and word not in _rarities() and pieces.issuperset(word)


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
