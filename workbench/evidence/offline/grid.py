"""The grid: the words of all claims of a sample against the sentences of all its texts.

Which word stands in which sentence, how much of its spelling, which number and name. What a window of sentences holds
is then a matter of sums and maxima.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from workbench.data.text.quantities import (
    Entity,
    Quantity,
    same_quantity,
)
from workbench.evidence.offline.arithmetic import worked_out
from workbench.evidence.offline.lexicon import lexicon
from workbench.evidence.offline.lists import counted
from workbench.evidence.offline.words import (
    FUNCTION,
    NAME,
    NUMBER,
    Analysis,
    Floats,
    Ints,
    Numbers,
    may_be_counted,
    run_of,
    said,
    sentences_with,
)
from workbench.language import pattern
from workbench.steps import checkpoint

Bools = NDArray[np.bool_]
_Span = TypeVar("_Span", Quantity, Entity)

#: Words of a heading.
_HEADING = 6
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
    """A number of a claim: its ``rows`` on the word axis, and the ``sentences`` (s,) bool that hold it or, where it stands in
    none and can be worked out (``worked_out``), that hold what it is worked out from."""

    rows: slice
    sentences: Bools
    quantity: Quantity
    worked_out: bool = False


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

    def __init__(
        self,
        claims: Sequence[ClaimWords],
        texts: Sequence[Analysis],
        read: Read = (),
        question: Analysis | None = None,
        n_evidence: int | None = None,
    ) -> None:
        self.question = question
        self.claims, self.texts, self.read = claims, texts, _read_of(texts, read)
        #: Relations worked out so far by (claim, sentence), and how many of the claims need any (not the question).
        self.relations: dict[tuple[int, int], Any] = {}
        self.n_related = len(claims)
        self.offsets = np.concatenate([[0], np.cumsum([len(some) for some in self.read])]).astype(np.int64)
        self.n_sentences = int(self.offsets[-1])
        #: Sentences of the first ``n_evidence`` texts, which are evidence; the sample's own answer and reference follow.
        self.n_told = int(self.offsets[len(texts) if n_evidence is None else n_evidence])
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
                    if claim.source.kind[word] == NAME and piece not in told and self._names_another(piece, int(sentence)):
                        present[at, sentence] = 0.0
                        continue
                    if len(piece) > 1 or _with_neighbour(claim.source.folded, start, told):
                        present[at, sentence] = max(present[at, sentence], _inside_share(piece, told))

    def _names_another(self, name: str, sentence: int) -> bool:
        """Whether a sentence has another name of as many characters, half of them the same: another person, not a part."""
        text, at = self.locate(sentence)
        others = text.names[run_of(text.name_sentence, at)]
        return any(other.kind == "name" and of_as_many(name, other.text) for other in others)

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

    @cached_property
    def before(self) -> Ints:
        """(s,) the sentence that each one continues: the one before that it leans on, else the heading of its text, a first
        sentence of a few words; −1 where it stands alone."""
        found = np.full(self.n_sentences, -1, dtype=np.int64)
        for owner, (text, some) in enumerate(zip(self.texts, self.read, strict=True)):
            first = int(self.offsets[owner])
            short = len(some) > 1 and int(some[0]) == 0 and (text.sentence == 0).sum() <= _HEADING
            if short and pattern("offline", "«statement»").search(text.text[slice(*text.bounds[0].tolist())]) is None:
                found[first + 1 : first + len(some)] = first
        return np.where(self.leaning, np.arange(self.n_sentences) - 1, found)

    def owners(self, sentences: Any) -> Ints:
        """For sentences of the grid the numbers of the texts that they stand in."""
        return np.searchsorted(self.offsets, sentences, side="right") - 1

    def locate(self, number: int) -> tuple[Analysis, int]:
        """The text that sentence ``number`` of the grid stands in, and its number there."""
        owner = int(self.owners(number))
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

    def _written(self, number: int) -> str:
        text, at = self.locate(number)
        return text.text[slice(*text.bounds[at].tolist())]

    def _quantity_presence(self) -> list[Stated]:
        kept, at = self._columns([text.quantity_sentence for text in self.texts])
        found = (q for text, some in zip(self.texts, kept, strict=True) for q in _some(text.quantities, some))
        theirs = Numbers(zip(found, at.tolist(), strict=True))
        known: dict[Quantity, Bools] = {}
        by_claim: list[list[Stated]] = []
        told = [quantity for quantity, places in theirs.places.items() if min(places) < self.n_told]
        for claim, rows in zip(self.claims, self.rows, strict=True):
            mine = []
            for quantity in quantities_of(claim):
                alike = said(quantity)
                if alike not in known:
                    known[alike] = sentences_with(alike, theirs, self.n_sentences)
                where = word_rows(claim, rows, max(quantity.wide[0], claim.start), min(quantity.wide[1], claim.end))
                mine.append(Stated(where, known[alike], quantity))
            by_claim.append(mine)
        if self.question is not None:
            for source in {id(claim.source): claim.source for claim in self.claims}.values():
                if source is not self.question:
                    self._work_out([mine for claim, mine in zip(self.claims, by_claim, strict=True) if claim.source is source],
                                   self.question, told, theirs)  # fmt: skip
        return [one for mine in by_claim for one in mine]

    def _work_out(
        self, of_claims: Sequence[list[Stated]], question: Analysis, told: Sequence[Quantity], theirs: Numbers
    ) -> None:
        """Give those numbers of a text's claims that the evidence has nowhere, but that can be worked out or counted there,
        the sentences that they rest on (in place)."""
        asks_count = pattern("offline", "«asks_count»").search(question.folded) is not None
        given = list(question.quantities)
        missing = []
        for mine in of_claims:
            for at, one in enumerate(mine):
                if one.sentences[: self.n_told].any():
                    given.append(one.quantity)
                else:
                    missing.append((mine, at))
        # What is worked out may be what another number is worked out from, before it or after it.
        for mine, at in (*missing, *missing):
            one = mine[at]
            if one.worked_out:
                continue
            rests = np.zeros(self.n_sentences, dtype=bool)
            operands = worked_out(one.quantity, [q for q in dict.fromkeys(given) if q is not one.quantity], told)
            for operand in operands:
                rests |= sentences_with(said(operand), theirs, self.n_sentences)
            if asks_count and may_be_counted(one.quantity):
                n = min(self.n_told, _LOOKED_THROUGH)
                rests[:n] |= np.array([one.quantity.value in counted(self._written(s)) for s in range(n)], dtype=bool)
            rests[self.n_told :] = False
            if not rests.any():
                continue
            mine[at] = Stated(one.rows, rests | one.sentences, one.quantity, True)
            given.append(one.quantity)
            for step, other in enumerate(mine):
                # What the question gives for it ("for four days") needs no evidence either.
                if not other.sentences[: self.n_told].any() and any(same_quantity(other.quantity, q) for q in operands):
                    mine[step] = Stated(other.rows, rests | other.sentences, other.quantity, True)


#: Sentences that are looked through for lists of things to count.
_LOOKED_THROUGH = 1000
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


def of_as_many(name: str, other: str) -> bool:
    """Whether two names in Han script have as many characters, three or four, of which half or more are the same, not all."""
    shared = sum(a == b for a, b in zip(name, other, strict=False))
    return len(name) == len(other) and len(name) in (3, 4) and len(name) / 2 <= shared < len(name)


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
