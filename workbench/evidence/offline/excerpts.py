"""Which parts of a long text are read: those that can support or contradict a claim, or answer the question.

Encoding costs seconds for a page and most of a long text never matters, so words decide first, at a hundredth of the
cost. A text is laid out in pieces of whole sentences that depend on nothing but the text, so that samples which share it
share what was encoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.evidence.offline.alignment import blocks
from workbench.evidence.offline.grid import ClaimWords, presence, quantities_of
from workbench.evidence.offline.lexicon import lexicon
from workbench.evidence.offline.words import NUMBER, Analysis, Numbers, analyse, sentences_with

Floats = NDArray[Any]
Ints = NDArray[Any]

#: Texts of so many characters are read in parts; shorter ones as a whole.
LONG = 2000
#: Characters of a piece, in Latin and in Han script; a longer sentence is one piece.
PIECE, HAN_PIECE = 400, 140
#: Part of a text that is read beyond the best piece of each claim, and the most characters of that.
SHARE, MOST = 8, 6000
#: A text in another script than a claim shares no words with it: so many characters of it are read, evenly spread.
ACROSS = 8000
#: Numbers of a claim that are looked up; more of them are a list.
_MANY = 30


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The pieces of a text that are read, in order: (p, 4) their offsets, and the sentences [first, last) of each."""

    text: Analysis
    pieces: Ints

    @property
    def strings(self) -> list[str]:
        """The pieces."""
        return [self.text.text[start:end] for start, end in self.pieces[:, :2].tolist()]

    @property
    def sentences(self) -> Ints:
        """Numbers of the sentences that are read, ascending."""
        return np.concatenate([np.arange(first, last) for first, last in self.pieces[:, 2:].tolist()])


@dataclass(frozen=True, slots=True)
class _Pieces:
    """The pieces of a text as in :class:`Excerpt`, the piece of each sentence, and the numbers told in each piece."""

    spans: Ints
    of_sentence: Ints
    numbers: Numbers


def is_long(text: str) -> bool:
    """Whether a text is read in parts."""
    return len(text) >= LONG


def read_of(length: int) -> float:
    """Characters that are encoded of a text of this length, about: its own vector of its beginning, and what is read."""
    return length if length < LONG else min(length, LONG) + min(length // SHARE, MOST) + PIECE


def excerpt(text: Analysis, rows: Sequence[ClaimWords]) -> Excerpt | None:
    """What is read of ``text`` for these claims (and question); None for all of it, which is so of a short text.

    Each row has the piece that holds most of it, by the rarity of its words and by their spelling; then, while no more
    than a share of the text is read, what holds the words that are still missing, and the neighbours.
    """
    if not is_long(text.text):
        return None
    pieces = _pieces(text.text)
    with_words = [row for row in rows if row.n_words]
    alike = [row for row in with_words if row.source.han == text.han or _stands(row, text)]
    chosen = _by_words(text, pieces, alike) if alike else {0}
    if len(alike) < len(with_words):
        n = max(1, ACROSS * len(pieces.spans) // len(text.text))
        chosen |= set(np.linspace(0, len(pieces.spans) - 1, min(n, len(pieces.spans))).astype(int).tolist())
    return Excerpt(text, pieces.spans[sorted(chosen)])


def _stands(row: ClaimWords, text: Analysis) -> bool:
    """Whether words can be compared although the scripts differ: numbers are the same in all, and a name may stand there."""
    kinds, ids = row.source.kind[row.words], row.source.ids[row.words]
    return bool(((kinds == NUMBER) | np.isin(ids, text.ids)).all())


def _by_words(text: Analysis, pieces: _Pieces, rows: Sequence[ClaimWords]) -> set[int]:
    there, weights = _words(text, pieces, rows)
    total = np.maximum(weights.sum(axis=1), 1e-6)
    score = 0.6 * (weights @ there) / total[:, None] + 0.4 * _spelling(text, pieces, rows)
    sizes = pieces.spans[:, 1] - pieces.spans[:, 0]
    best = score.argmax(axis=1)
    chosen = set(best.tolist())
    room = min(len(text.text) // SHARE, MOST) - int(sizes[list(chosen)].sum())
    for more in (_missing(there, weights / total[:, None], best), _beside(score, best), _next_best(score, best)):
        for piece in more:
            if piece not in chosen and sizes[piece] <= room:
                chosen.add(piece)
                room -= int(sizes[piece])
    return chosen


def _missing(there: Floats, share: Floats, best: Ints) -> list[int]:
    """For each row the piece that holds most of what its best one lacks, the most telling first."""
    gains = [(share[row] * (1.0 - there[:, at])) @ there for row, at in enumerate(best)]
    order = sorted(range(len(gains)), key=lambda row: -float(gains[row].max()))
    return [int(gains[row].argmax()) for row in order if gains[row].max() > 0.05]


def _beside(score: Floats, best: Ints) -> list[int]:
    """The better neighbour of the best piece of each row, the most like it first."""
    last = score.shape[1] - 1
    sides = [max((max(at - 1, 0), min(at + 1, last)), key=lambda p: float(score[row, p])) for row, at in enumerate(best)]
    return [sides[row] for row in sorted(range(len(sides)), key=lambda row: -float(score[row, sides[row]]))]


def _next_best(score: Floats, best: Ints) -> list[int]:
    rest = score.copy()
    rest[np.arange(len(best)), best] = 0.0
    return [int(rest[row].argmax()) for row in np.argsort(-rest.max(axis=1), kind="stable")]


def _words(text: Analysis, pieces: _Pieces, rows: Sequence[ClaimWords]) -> tuple[Floats, Floats]:
    """(k, p) which of the k distinct words and numbers of all rows each piece holds, and (r, k) their rarity in each."""
    ids = [row.source.ids[row.words] for row in rows]
    rarity = [row.source.weight[row.words] for row in rows]
    known = np.unique(np.concatenate(ids))
    weights = np.zeros((len(rows), len(known)), dtype=np.float32)
    for at, (mine, weight) in enumerate(zip(ids, rarity, strict=True)):
        weights[at, np.searchsorted(known, mine)] = weight
    places = pieces.of_sentence[text.sentence]
    there = presence(known, text.ids, places, len(pieces.spans)).astype(np.float32)
    others = [(at, other) for at, word in enumerate(known.tolist()) for other in lexicon().alike(word)]
    if others:
        hits = presence(np.array([other for _, other in others], np.int64), text.ids, places, len(pieces.spans))
        np.maximum.at(there, [at for at, _ in others], 0.9 * hits.astype(np.float32))
    told = [
        (at, sentences_with(quantity, pieces.numbers, len(pieces.spans)))
        for at, row in enumerate(rows)
        for quantity in quantities_of(row)[:_MANY]
    ]
    more = np.zeros((len(rows), len(told)), dtype=np.float32)
    more[[at for at, _ in told], np.arange(len(told))] = 1.0
    stated = [found.astype(np.float32)[None] for _, found in told]
    return np.concatenate([there, *stated]), np.concatenate([weights, more], axis=1)


def _spelling(text: Analysis, pieces: _Pieces, rows: Sequence[ClaimWords]) -> Floats:
    """(r, p) the share of the character grams of each row that each piece holds."""
    grams = [np.unique(row.source.grams[row.grams]) for row in rows]
    known = np.unique(np.concatenate(grams))
    there = presence(known, text.grams, pieces.of_sentence[text.gram_sentence], len(pieces.spans)).astype(np.float32)
    return np.stack([there[np.searchsorted(known, mine)].sum(axis=0) / max(len(mine), 1) for mine in grams])


@lru_cache(maxsize=64)
def _pieces(string: str) -> _Pieces:
    text = analyse(string)
    spans = np.array(blocks(text, HAN_PIECE if text.han else PIECE, cut=False), dtype=np.int64)
    of_sentence = np.searchsorted(spans[:, 0], text.bounds[:, 0], side="right") - 1
    ends = np.searchsorted(of_sentence, np.arange(len(spans)), side="right")
    spans = np.column_stack([spans, np.concatenate([[0], ends[:-1]]), ends])
    of_quantity = of_sentence[text.quantity_sentence].tolist()
    return _Pieces(spans, of_sentence, Numbers(zip(text.quantities, of_quantity, strict=True)))
