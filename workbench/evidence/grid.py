"""The grid: the words of all claims of a sample against the sentences of all its texts.

Which word stands in which sentence, how much of its spelling, which number and name. What a window of sentences holds
is then a matter of sums and maxima.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from workbench.data.quantities import Entity, Quantity
from workbench.evidence.analysis import FUNCTION, Analysis
from workbench.evidence.numbers import Numbers, said, sentences_with

Floats = NDArray[Any]
Bools = NDArray[np.bool_]
Ints = NDArray[Any]
_Span = TypeVar("_Span", Quantity, Entity)

#: What a sentence begins with that goes on about the one before.
_LEANING = re.compile(r"(?:it|they|this|these|that|those|he|she|its|their)\b|[它其该此他她]|这")
#: Words whose spelling is found to this share count in part.
_NEARLY = 0.6


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

    @property
    def id_set(self) -> frozenset[int]:
        """Ids of its words."""
        return frozenset(self.source.ids[self.words].tolist())


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


def windows(texts: Sequence[Analysis], limit: int = 256) -> Windows:
    """Windows of at most ``limit`` words, stride one sentence, a text of fewer words being one window.

    A sentence that is longer by itself is one window.
    """
    found: list[tuple[int, int, int]] = []
    base = 0
    for number, text in enumerate(texts):
        n = len(text.bounds)
        for first, last in _window_ends(np.bincount(text.sentence, minlength=n), limit):
            found.append((base + first, base + last, number))
        base += n
    table = np.array(found, dtype=np.int64).reshape(-1, 3)
    return Windows(table[:, 0], table[:, 1], table[:, 2])


def _window_ends(lengths: Ints, limit: int) -> list[tuple[int, int]]:
    total = np.concatenate([[0], np.cumsum(lengths)])
    n = len(lengths)
    if total[-1] <= limit:
        return [(0, n)]
    lasts = np.maximum(np.searchsorted(total, total[:-1] + limit, side="right") - 1, np.arange(n) + 1)
    ends = [(first, int(last)) for first, last in enumerate(lasts)]
    # A window inside the one before it says nothing new.
    return [pair for at, pair in enumerate(ends) if at == 0 or pair[1] > ends[at - 1][1]]


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
    """

    def __init__(self, claims: Sequence[ClaimWords], texts: Sequence[Analysis]) -> None:
        self.claims, self.texts = claims, texts
        self.offsets = np.concatenate([[0], np.cumsum([len(text.bounds) for text in texts])]).astype(np.int64)
        self.n_sentences = int(self.offsets[-1])
        self.rows = _slices([claim.n_words for claim in claims])
        self.gram_rows = _slices([claim.grams.stop - claim.grams.start for claim in claims])
        self.weight = _joined([claim.source.weight[claim.words] for claim in claims], np.float32)
        self.kind = _joined([claim.source.kind[claim.words] for claim in claims], np.int8)
        self.ids = _joined([claim.source.ids[claim.words] for claim in claims], np.int64)
        sentence = _joined([t.sentence + o for t, o in zip(texts, self.offsets, strict=False)], np.int64)
        self.lengths = np.bincount(sentence, minlength=self.n_sentences)
        self.negations = _joined([text.negations for text in texts], np.int64)
        self.word_ids = _joined([text.ids for text in texts], np.int64)
        self.word_sentence = sentence
        self.exact = presence(self.ids, self.word_ids, sentence, self.n_sentences)
        self.gram_present = self._gram_presence()
        self.stated = self._quantity_presence()
        self.present = self._word_presence()

    def _gram_presence(self) -> Bools:
        mine = _joined([claim.source.grams[claim.grams] for claim in self.claims], np.uint64)
        theirs = _joined([text.grams for text in self.texts], np.uint64)
        at = _joined([t.gram_sentence + o for t, o in zip(self.texts, self.offsets, strict=False)], np.int64)
        return presence(mine, theirs, at, self.n_sentences)

    def _word_presence(self) -> Floats:
        spelt = self.spelt = self._spelling()
        nearly = (spelt >= _NEARLY) & ~self._with_digits()[:, None]
        present = np.where(self.exact, 1.0, np.where(nearly, spelt * 0.8, 0.0)).astype(np.float32)
        self._find_inside(present, spelt)
        for stated in self.stated:
            present[stated.rows] = stated.sentences
        return present

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
            sums[owner[firsts]] = np.add.reduceat(self.gram_present.astype(np.float32), firsts, axis=0)
        return (sums / np.maximum(total, 1.0)[:, None]).astype(np.float32)

    def _find_inside(self, present: Floats, spelt: Floats) -> None:
        """A Han word that the segmenter cut another way is found as a substring; numbers are never."""
        for claim, rows in zip(self.claims, self.rows, strict=True):
            for at in range(rows.start, rows.stop):
                word = claim.words.start + at - rows.start
                start, end = int(claim.source.starts[word]), int(claim.source.ends[word])
                piece = claim.source.folded[start:end]
                if not piece or not "\u3400" <= piece[0] <= "\u9fff" or claim.source.kind[word] == FUNCTION:
                    continue
                for sentence in np.flatnonzero((present[at] < 1.0) & (spelt[at] > 0.3)):
                    if piece in self.sentence(int(sentence)):
                        present[at, sentence] = 1.0

    @cached_property
    def leaning(self) -> Bools:
        """(s,) sentences that begin with a pronoun for what the sentence before in the same text is about."""
        found = [
            at > 0 and _LEANING.match(text.folded, int(start)) is not None
            for text in self.texts
            for at, (start, _) in enumerate(text.bounds)
        ]
        return np.array(found, dtype=bool)

    def locate(self, number: int) -> tuple[Analysis, int]:
        """The text that sentence ``number`` of the grid stands in, and its number there."""
        owner = int(np.searchsorted(self.offsets, number, side="right")) - 1
        return self.texts[owner], number - int(self.offsets[owner])

    def sentence(self, number: int) -> str:
        """The folded text of sentence ``number``."""
        text, at = self.locate(number)
        start, end = text.bounds[at]
        return text.folded[start:end]

    def _quantity_presence(self) -> list[Stated]:
        theirs = Numbers(
            (quantity, int(at + offset))
            for text, offset in zip(self.texts, self.offsets, strict=False)
            for quantity, at in zip(text.quantities, text.quantity_sentence, strict=True)
        )
        known: dict[Quantity, Bools] = {}
        result: list[Stated] = []
        for claim, rows in zip(self.claims, self.rows, strict=True):
            for quantity in quantities_of(claim):
                alike = said(quantity)
                if alike not in known:
                    known[alike] = sentences_with(alike, theirs, self.n_sentences)
                where = word_rows(claim, rows, quantity.start, quantity.end)
                result.append(Stated(where, known[alike], quantity))
        return result


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
