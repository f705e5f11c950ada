"""Lexical evidence for claims in texts, all claims of a sample against all its texts at once.

A :class:`Grid` lays the words of all claims against the sentences of all evidence texts: which word stands in which
sentence, how much of its spelling, which number and name. What a window of sentences holds is then a matter of sums.
:func:`lexical_features` reduces that to one row of :data:`LEXICAL` for each claim and window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.quantities import Entity, Quantity, same_quantity
from workbench.evidence.analysis import FUNCTION, NAME, NUMBER, Analysis

Floats = NDArray[Any]
Bools = NDArray[np.bool_]
Ints = NDArray[Any]

#: What a row of lexical features holds, in order. Shares are in [0, 1].
LEXICAL = (
    "token_cover",  # share of its distinct words, function words included, that the window holds
    "gram_cover",  # share of the claim's character grams that the window holds
    "word_cover",  # share of its content words, weighted by rarity, words spelt nearly alike count in part
    "sentence_cover",  # the same in the one best sentence of the window
    "missing_mass",  # log(1 + rarity mass of the missing words): not divided by length
    "worst_word",  # presence of its rarest missing word: 1 - the highest rarity weight that is missing
    "name_cover",  # share of its names and numbers, 1 without any
    "number_missing",  # numbers, dates that the window does not hold, at most 2
    "name_missing",  # names that it does not hold, at most 3
    "number_altered",  # token_cover where a number is missing, else 0: all the rest stands there
    "name_altered",  # the same for a name
    "pair_cover",  # share of neighbouring content words that stand in one sentence together
    "negation_gap",  # negated in one, not in the other (claim, best sentence) x sentence_cover
    "antonym",  # the opposite of a word of the claim in the best sentence x sentence_cover
    "sentence_worst",  # 1 - the highest rarity weight that the best sentence misses
    "sentence_missing",  # log(1 + rarity mass that the best sentence misses)
)

#: Words whose spelling is found to this share count in part.
_NEARLY = 0.6
#: Numbers that say too little to be missed.
_LIGHT = frozenset(["first", "one"])


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
        self.quantity_present = self._quantity_presence()
        self.present = self._word_presence()

    def _gram_presence(self) -> Bools:
        mine = _joined([claim.source.grams[claim.grams] for claim in self.claims], np.uint64)
        theirs = _joined([text.grams for text in self.texts], np.uint64)
        at = _joined([t.gram_sentence + o for t, o in zip(self.texts, self.offsets, strict=False)], np.int64)
        return presence(mine, theirs, at, self.n_sentences)

    def _word_presence(self) -> Floats:
        spelt = self.spelt = self._spelling()
        present = np.where(self.exact, 1.0, np.where(spelt >= _NEARLY, spelt * 0.8, 0.0)).astype(np.float32)
        self._find_inside(present, spelt)
        for row, found, _ in self.quantity_present:
            present[row] = found
        return present

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

    def locate(self, number: int) -> tuple[Analysis, int]:
        """The text that sentence ``number`` of the grid stands in, and its number there."""
        owner = int(np.searchsorted(self.offsets, number, side="right")) - 1
        return self.texts[owner], number - int(self.offsets[owner])

    def sentence(self, number: int) -> str:
        """The folded text of sentence ``number``."""
        text, at = self.locate(number)
        start, end = text.bounds[at]
        return text.folded[start:end]

    def sentence_ids(self, number: int) -> frozenset[int]:
        """The ids of the words of sentence ``number``."""
        low, high = np.searchsorted(self.word_sentence, [number, number + 1])
        return frozenset(self.word_ids[low:high].tolist())

    def _quantity_presence(self) -> list[tuple[slice, Bools, str]]:
        """For each number of a claim its rows on the word axis, the sentences (s,) that hold it, and its text."""
        theirs = [
            (quantity, int(at + offset))
            for text, offset in zip(self.texts, self.offsets, strict=False)
            for quantity, at in zip(text.quantities, text.quantity_sentence, strict=True)
        ]
        known: dict[Quantity, Bools] = {}
        result = []
        for claim, rows in zip(self.claims, self.rows, strict=True):
            for quantity in quantities_of(claim):
                if quantity not in known:
                    known[quantity] = _sentences_with(quantity, theirs, self.n_sentences)
                where = _word_rows(claim, rows, quantity.start, quantity.end)
                result.append((where, known[quantity], quantity.text.lower()))
        return result


def quantities_of(claim: ClaimWords) -> list[Quantity]:
    """The numbers and dates that stand inside a claim."""
    return [q for q in claim.source.quantities if q.start >= claim.start and q.end <= claim.end]


def names_of(claim: ClaimWords) -> list[Entity]:
    """The names, titles, quoted terms and identifiers that stand inside a claim."""
    return [n for n in claim.source.names if n.start >= claim.start and n.end <= claim.end]


def holds_quantity(evidence: Quantity, claimed: Quantity) -> bool:
    """Whether a number of the evidence says at least what the claimed one says.

    The same number; a fuller date (2014-05-01 holds 2014); a range holds its two ends; a unit that only one of them has
    does not part them (it may stand in the head of a table).
    """
    if same_quantity(evidence, claimed):
        return True
    if evidence.kind == "date" and claimed.kind in ("date", "number"):
        return _fuller_date(evidence, claimed)
    if {claimed.kind, evidence.kind} & {"ordinal", "version", "date", "time"}:
        return False
    if claimed.unit != evidence.unit and claimed.unit is not None and evidence.unit is not None:
        return False
    if claimed.value is None:
        return (claimed.low, claimed.high) == (evidence.low, evidence.high)
    return claimed.value in (evidence.value, evidence.low, evidence.high)


def _fuller_date(evidence: Quantity, claimed: Quantity) -> bool:
    mine, theirs = date_parts(claimed), date_parts(evidence)
    return bool(mine) and all(theirs.get(part) == value for part, value in mine.items())


def date_parts(date: Quantity) -> dict[str, int]:
    """``{"y": 2014, "m": 5, "d": 1}`` of a date; a bare number that looks like a year is one, others have no parts."""
    rest = int(date.value or 0)
    if date.kind != "date":
        return {"y": rest} if date.unit is None and 1000 <= rest <= 2999 else {}
    parts: dict[str, int] = {}
    for part in reversed(date.unit or ""):
        rest, parts[part] = (rest, rest) if part == "y" else divmod(rest, 100)
    return parts


def _sentences_with(quantity: Quantity, theirs: Sequence[tuple[Quantity, int]], n: int) -> Bools:
    """(n,) the sentences that hold a number.

    A date is also held where its day stands without a year and the sentence names no other year (June 19 , 2009).
    """
    found = np.zeros(n, dtype=bool)
    found[[at for other, at in theirs if holds_quantity(other, quantity)]] = True
    mine = date_parts(quantity) if quantity.kind == "date" else {}
    if {"y", "m", "d"} <= mine.keys():
        years = [(at, date_parts(other)["y"]) for other, at in theirs if "y" in date_parts(other)]
        for other, at in theirs:
            same_day = date_parts(other) == {"m": mine["m"], "d": mine["d"]}
            here = [year for place, year in years if place == at]
            if same_day and (not here or mine["y"] in here):
                found[at] = True
    return found


def _word_rows(claim: ClaimWords, rows: slice, start: int, end: int) -> slice:
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
    padded = np.concatenate([flags.astype(np.float32), np.full((len(flags), 1), -np.inf, np.float32)], axis=1)
    edges = np.stack([spans.first, spans.last], axis=1).ravel()
    return np.maximum.reduceat(padded, edges, axis=1)[:, ::2]


def lexical_features(grid: Grid, spans: Windows) -> Floats:
    """(c, w, len(LEXICAL)) float32: what each window says about each claim."""
    rows = [_claim_features(grid, number, spans) for number in range(len(grid.claims))]
    return np.stack(rows) if rows else np.zeros((0, len(spans), len(LEXICAL)), dtype=np.float32)


def best_sentences(cover: Floats, spans: Windows) -> Ints:
    """(w,) the first sentence with the highest value of ``cover`` (s,) in each window."""
    return np.array([f + int(np.argmax(cover[f:t])) for f, t in zip(spans.first, spans.last, strict=True)], np.int64)


def sentence_cover(grid: Grid, number: int) -> Floats:
    """(s,) rarity-weighted share of the claim's content words that each sentence holds."""
    rows = grid.rows[number]
    weight = grid.weight[rows]
    return (weight @ grid.present[rows]) / max(float(weight.sum()), 1e-6)


def _claim_features(grid: Grid, number: int, spans: Windows) -> Floats:
    rows, gram_rows = grid.rows[number], grid.gram_rows[number]
    weight, kind = grid.weight[rows], grid.kind[rows]
    present = in_windows(grid.present[rows], spans)
    grams = in_windows(grid.gram_present[gram_rows], spans)
    cover = sentence_cover(grid, number)
    best = best_sentences(cover, spans)
    top = cover[best]
    total = max(float(weight.sum()), 1e-6)
    missing = weight[:, None] * (1.0 - present)
    special = (kind == NAME) | (kind == NUMBER)
    out = np.empty((len(spans), len(LEXICAL)), dtype=np.float32)
    out[:, 0] = _token_cover(grid, rows, present)
    out[:, 1] = _mean(grams, 1.0)
    out[:, 2] = (weight @ present) / total
    out[:, 3] = top
    out[:, 4] = np.log1p(missing.sum(axis=0))
    out[:, 5] = 1.0 - missing.max(axis=0, initial=0.0)
    out[:, 6] = _mean(present[special], 1.0)
    out[:, 7] = _numbers_missing(grid, number, spans)
    out[:, 8] = _names_missing(grid, number, present)
    out[:, 9] = np.where(out[:, 7] > 0, out[:, 0], 0.0)
    out[:, 10] = np.where(out[:, 8] > 0, out[:, 0], 0.0)
    out[:, 11] = _pair_cover(grid, rows, weight, spans)
    out[:, 12] = _negation_gap(grid, number, best) * top
    out[:, 13] = _antonyms(grid, number, best) * top
    lacking = weight[:, None] * (1.0 - grid.present[rows][:, best])
    out[:, 14] = 1.0 - lacking.max(axis=0, initial=0.0)
    out[:, 15] = np.log1p(lacking.sum(axis=0))
    return out


def _token_cover(grid: Grid, rows: slice, present: Floats) -> Floats | float:
    """(w,) share of the distinct words that the window holds, each by its first place in the claim."""
    if not len(present):
        return 1.0
    _, firsts = np.unique(grid.ids[rows], return_index=True)
    return present[firsts].mean(axis=0)


def _mean(values: NDArray[Any], empty: float) -> Floats | float:
    return values.mean(axis=0) if len(values) else empty


def _numbers_missing(grid: Grid, number: int, spans: Windows) -> Floats:
    rows = grid.rows[number]
    mine = [
        found
        for where, found, text in grid.quantity_present
        if rows.start <= where.start < rows.stop and text not in _LIGHT
    ]
    if not mine:
        return np.zeros(len(spans), dtype=np.float32)
    return np.minimum((1.0 - in_windows(np.stack(mine), spans)).sum(axis=0), 2.0)


def _names_missing(grid: Grid, number: int, present: Floats) -> Floats:
    """Names of the claim less than half of whose words the window holds, at most 3."""
    claim, rows = grid.claims[number], grid.rows[number]
    missing = np.zeros(present.shape[1], dtype=np.float32)
    for name in names_of(claim):
        words = _word_rows(claim, rows, name.start, name.end)
        inside = present[words.start - rows.start : words.stop - rows.start]
        missing += (inside.mean(axis=0) < 0.5) if len(inside) else 0.0
    return np.minimum(missing, 3.0)


def _content_pairs(weight: Floats) -> tuple[Ints, Ints]:
    content = np.flatnonzero(weight > 0)
    return content[:-1], content[1:]


def _pair_cover(grid: Grid, rows: slice, weight: Floats, spans: Windows) -> Floats | float:
    left, right = _content_pairs(weight)
    if not len(left):
        return 1.0
    together = np.minimum(grid.present[rows][left], grid.present[rows][right])
    share = weight[left] + weight[right]
    return (share @ in_windows(together, spans)) / share.sum()


def claim_negations(claim: ClaimWords) -> Ints:
    """Offsets of the negations inside the claim."""
    starts = claim.source.negation_spans[:, 0]
    return starts[(starts >= claim.start) & (starts < claim.end)]


def _negation_gap(grid: Grid, number: int, best: Ints) -> Floats:
    mine = len(claim_negations(grid.claims[number])) % 2
    return (grid.negations[best] % 2 != mine).astype(np.float32)


def _antonyms(grid: Grid, number: int, best: Ints) -> Floats:
    """Whether a word of the claim is missing in the best sentence and its listed opposite stands there."""
    from workbench.evidence.contradiction import opposites

    found = np.zeros(len(best), dtype=np.float32)
    claim, rows = grid.claims[number], grid.rows[number]
    pairs = opposites(claim)
    for at, others in pairs:
        row = rows.start + at - claim.words.start
        for place, sentence in enumerate(best):
            if not grid.exact[row, sentence] and others & grid.sentence_ids(int(sentence)):
                found[place] = 1.0
    return found


def _slices(lengths: Sequence[int]) -> list[slice]:
    ends = np.cumsum(np.array(lengths, dtype=np.int64)) if lengths else np.empty(0, np.int64)
    return [slice(int(end) - n, int(end)) for end, n in zip(ends, lengths, strict=True)]


def _joined(arrays: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=dtype)
