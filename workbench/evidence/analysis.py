"""What the offline judge works out once for each text: words, their rarity, grams, sentences, numbers and names.

An :class:`Analysis` holds arrays, one entry a word or a gram, with offsets in the text as given; everything that
compares two texts is arithmetic on these arrays (:mod:`workbench.evidence.features`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data import markers
from workbench.data.quantities import Entity, Quantity, entities, quantities
from workbench.data.sentences import sentences
from workbench.data.text import normalise_with_map, stem, stop_words, tokens

Ints = NDArray[Any]
Floats = NDArray[Any]

#: Rarity of a word that is in no list, and of names and numbers; see ``frequencies/*.txt`` for the scale.
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
        What :mod:`workbench.data.quantities` found, and where.
    negation_spans, negations
        (k, 2) offsets of the negations; (s,) how many stand in each sentence.
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

    def words_between(self, start: int, end: int) -> slice:
        """The words that lie inside ``[start, end)`` as a slice of the word arrays."""
        return slice(int(np.searchsorted(self.starts, start)), int(np.searchsorted(self.ends, end, side="right")))


@lru_cache(maxsize=4096)
def analyse(text: str) -> Analysis:
    """The :class:`Analysis` of ``text``; the latest few thousand are kept."""
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
    grams, at = _grams(folded)
    negated = _negations(text, folded, bounds)
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
    )


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


def _bounds(text: str) -> Ints:
    found = [(span.start, span.end) for span in sentences(text)]
    return np.array(found or [(0, len(text))], dtype=np.int64).reshape(-1, 2)


def _sentence_of(bounds: Ints, positions: Ints) -> Ints:
    return np.clip(np.searchsorted(bounds[:, 0], positions, side="right") - 1, 0, None).astype(np.int64)


def _names(text: str, numbers: tuple[Quantity, ...]) -> tuple[Entity, ...]:
    """Names, titles, quoted terms and identifiers; numbers are kept apart."""
    taken = {(quantity.start, quantity.end) for quantity in numbers}
    kinds = ("name", "title", "quoted", "code")
    found = [e for e in entities(text) if e.kind in kinds and (e.start, e.end) not in taken]
    spans = [(e.start, e.end) for e in found] + list(taken)
    more = [e for e in _chinese_names(text) if not any(s < e.end and e.start < t for s, t in spans)]
    return tuple(sorted([*found, *more], key=lambda entity: entity.start))


_HAN = re.compile("[\u3400-\u9fff]")


def _chinese_names(text: str) -> list[Entity]:
    """Names of persons, places and bodies as the segmenter tags them; parts joined by ``·`` are one name."""
    tag = _tagger()
    if tag is None or not _HAN.search(text):
        return []
    found: list[Entity] = []
    at = 0
    for word, flag in tag(text):
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


#: A sentence without any of these has no negation; only the others are searched for the listed ones.
_MAY_NEGATE = re.compile(r"n[o\u2019'e]|lack|fail|unable|impossible|without|[不没无未非别勿莫禁]")


def _negations(text: str, folded: str, bounds: Ints) -> Ints:
    """(k, 2) offsets of the negations."""
    found = [
        (start + span.start, start + span.end)
        for start, end in bounds.tolist()
        if _MAY_NEGATE.search(folded, start, end)
        for span in markers.negations(text[start:end])
    ]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


# ---------------------------------------------------------------- words


@lru_cache(maxsize=131072)
def _word_facts(word: str) -> tuple[int, float, int]:
    """(hash of the stem, weight, kind) of a folded word."""
    number = word_id(word)
    if word in stop_words() or word in _WEAK:
        return number, 0.0, FUNCTION
    return number, min(rarity(word), RAREST) / RAREST, TERM


def word_id(word: str) -> int:
    """A 64-bit hash of the stem of a folded word, equal in every process."""
    digest = hashlib.blake2b(stem(word.replace(",", "")).encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


#: Negations and auxiliaries are compared as negations, not as content.
_WEAK = frozenset(
    re.split(
        " +",
        "not no nor never n't don't doesn't didn't isn't aren't wasn't weren't can't cannot couldn't won't wouldn't"
        " shouldn't hasn't haven't hadn't without 不 没 没有 未 无 非 别 勿 并非 不是",
    )
)


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
    for name in ("en", "zh"):
        source = resources.files(__package__).joinpath("frequencies", f"{name}.txt").read_text(encoding="utf-8")
        for line in source.splitlines():
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
