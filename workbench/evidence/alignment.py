"""Soft alignment: for each word of a claim, how near the nearest word of the evidence is in an encoder's token space.

A sentence vector blurs one wrong word; the weakest word of an alignment does not. Two kinds are computed: plain (the
nearest word anywhere) and relational (the word must be found near where its neighbours are found: the same words in
another place are no support). Everything is one matrix product for each sample and sums over its sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.evidence.analysis import NAME, NUMBER, Analysis
from workbench.evidence.features import best_sentences
from workbench.evidence.grid import Grid, Windows, in_windows

Floats = NDArray[Any]
Ints = NDArray[Any]

#: What a row of alignment features holds, in order; all are cosines of the encoder's token vectors or means of them.
ALIGNMENT = (
    "worst_name",  # the worst-aligned name or number; the mean of the content words when there is none
    "three_worst",  # mean of the three worst-aligned content words
    "worst_relational",  # the worst relational alignment of a content word
    "three_worst_relational",  # mean of the three worst
    "mean_relational",  # mean over the content words, weighted by rarity
    "mean_alignment",  # the same, plain
    "sentence_alignment",  # in the best-aligned sentence of the window: mean of the three worst content words
    "missing_alignment",  # mean alignment of the content words that do not stand in the window; 1 when all do
)

#: A text longer than this is encoded in blocks of whole sentences; the words and characters of one block.
BLOCK_WORDS = 256
BLOCK_CHARACTERS = 1600
BLOCK_HAN_CHARACTERS = 480

#: Relational alignment: neighbours on each side in the claim (content words) and in the evidence (words).
_CLAIM_REACH = 2
_EVIDENCE_REACH = 6


def blocks(text: Analysis) -> list[tuple[int, int]]:
    """Offsets of the blocks that a text is encoded in: the whole text if it is short, else runs of sentences."""
    limit = BLOCK_HAN_CHARACTERS if text.han else BLOCK_CHARACTERS
    if len(text.text) <= limit and len(text.ids) <= BLOCK_WORDS:
        return [(0, len(text.text))]
    found: list[tuple[int, int]] = []
    start = end = 0
    for low, high in _pieces(text, limit):
        if end > start and (high - start > limit or _n_words(text, start, high) > BLOCK_WORDS):
            found.append((start, end))
            start = low
        end = high
    found.append((start, end))
    return found


def _pieces(text: Analysis, limit: int) -> list[tuple[int, int]]:
    """The sentences; one that is longer than a block is cut."""
    found: list[tuple[int, int]] = []
    for low, high in text.bounds.tolist():
        found.extend((at, min(at + limit, high)) for at in range(low, high, limit))
    return found


def _n_words(text: Analysis, start: int, end: int) -> int:
    words = text.words_between(start, end)
    return words.stop - words.start


def word_vectors(text: Analysis, vectors: Floats, spans: NDArray[np.integer], offset: int = 0) -> Floats:
    """(n, d) unit rows: the mean of the token vectors that touch each word; a row of zeros where no token does.

    Parameters
    ----------
    vectors, spans
        Token vectors (m, d) and their spans (m, 2) in the block that starts at ``offset``.
    """
    result = np.zeros((len(text.ids), vectors.shape[1]), dtype=np.float32)
    if not len(vectors) or not len(text.ids):
        return result
    starts, ends = spans[:, 0] + offset, spans[:, 1] + offset
    first = np.searchsorted(ends, text.starts, side="right")
    last = np.searchsorted(starts, text.ends, side="left")
    totals = np.concatenate([np.zeros((1, vectors.shape[1])), np.cumsum(vectors, axis=0, dtype=np.float64)])
    touched = last > first
    result[touched] = totals[last[touched]] - totals[first[touched]]
    lengths = np.linalg.norm(result, axis=1, keepdims=True)
    return result / np.where(lengths > 0, lengths, 1.0).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Alignment:
    """Cosines of the claims' words (m) with the best word of each evidence sentence (s).

    ``plain`` and ``relational`` are (m, s) float32.
    """

    plain: Floats
    relational: Floats


def align(grid: Grid, claims: Sequence[Floats], evidence: Sequence[Floats]) -> Alignment:
    """Align the words of all claims with those of all evidence texts.

    Parameters
    ----------
    claims, evidence
        Word vectors of each claim and of each evidence text, in the grid's order.
    """
    shape = (len(grid.ids), grid.n_sentences)
    if not shape[0] or not len(grid.word_ids):
        return Alignment(np.zeros(shape, np.float32), np.zeros(shape, np.float32))
    cosines = np.concatenate(claims) @ np.concatenate(evidence).T
    around = _around(cosines, _steps([len(words) for words in evidence]))
    related = np.empty_like(cosines)
    for rows in grid.rows:
        related[rows] = _related(cosines[rows], around[rows], grid.weight[rows] > 0)
    return Alignment(_sentence_best(cosines, grid), _sentence_best(related, grid))


def _steps(lengths: Sequence[int]) -> Ints:
    """Where each column goes when the texts are parted by gaps that no reach can cross."""
    gaps = np.repeat(np.arange(len(lengths)) * _EVIDENCE_REACH, lengths)
    return (np.arange(len(gaps)) + gaps + _EVIDENCE_REACH).astype(np.int64)


def _related(cosines: Floats, around: Floats, content: NDArray[np.bool_]) -> Floats:
    """Mean of each word's cosine at a place and its neighbours' best cosines around that place."""
    places = np.flatnonzero(content)
    if len(places) < 2:
        return cosines
    n = len(places)
    distance = np.abs(np.arange(n)[:, None] - np.arange(n)[None, :])
    near = ((distance > 0) & (distance <= _CLAIM_REACH)).astype(np.float32)
    related = cosines.copy()
    related[places] = (cosines[places] + near @ around[places] / near.sum(axis=1, keepdims=True)) / 2
    return related


def _around(values: Floats, steps: Ints) -> Floats:
    """Highest value within :data:`_EVIDENCE_REACH` columns to each side in the same text, by doubling."""
    best = np.full((len(values), int(steps[-1]) + 1 + _EVIDENCE_REACH), -1.0, dtype=np.float32)
    best[:, steps] = values
    width, reach = 2 * _EVIDENCE_REACH + 1, 1
    while reach < width:
        step = min(reach, width - reach)
        best = np.maximum(best[:, :-step], best[:, step:])
        reach += step
    return best[:, steps - _EVIDENCE_REACH]


def _sentence_best(values: Floats, grid: Grid) -> Floats:
    """(m, s) the highest value of each row inside each sentence; 0 where a sentence has no word."""
    result = np.zeros((len(values), grid.n_sentences), dtype=np.float32)
    sentences, firsts = np.unique(grid.word_sentence, return_index=True)
    result[:, sentences] = np.maximum.reduceat(values, firsts, axis=1)
    return result


def alignment_features(grid: Grid, alignment: Alignment, spans: Windows) -> Floats:
    """(c, w, len(ALIGNMENT)) float32: what each window says about each claim."""
    rows = [_claim_alignment(grid, alignment, number, spans) for number in range(len(grid.claims))]
    return np.stack(rows) if rows else np.zeros((0, len(spans), len(ALIGNMENT)), dtype=np.float32)


def _claim_alignment(grid: Grid, alignment: Alignment, number: int, spans: Windows) -> Floats:
    rows = grid.rows[number]
    keep = np.flatnonzero(grid.weight[rows] > 0)
    if not len(keep):
        keep = np.arange(rows.stop - rows.start)
    out = np.ones((len(spans), len(ALIGNMENT)), dtype=np.float32)
    if not len(keep):
        return out
    weight, kind = grid.weight[rows][keep] + 1e-3, grid.kind[rows][keep]
    sentence_plain = alignment.plain[rows][keep]
    plain = in_windows(sentence_plain, spans)
    related = in_windows(alignment.relational[rows][keep], spans)
    special = (kind == NAME) | (kind == NUMBER)
    best = best_sentences(weight @ sentence_plain / weight.sum(), spans)
    out[:, 5] = weight @ plain / weight.sum()
    out[:, 0] = plain[special].min(axis=0) if special.any() else out[:, 5]
    out[:, 1] = _worst(plain, 3)
    out[:, 2] = related.min(axis=0)
    out[:, 3] = _worst(related, 3)
    out[:, 4] = weight @ related / weight.sum()
    out[:, 6] = _worst(sentence_plain[:, best], 3)
    missing = in_windows(grid.present[rows][keep], spans) < 0.99
    out[:, 7] = np.where(missing.any(axis=0), (plain * missing).sum(axis=0) / np.maximum(missing.sum(axis=0), 1), 1.0)
    return out


def _worst(values: Floats, n: int) -> Floats:
    """(w,) mean of the ``n`` lowest values of each column."""
    n = min(n, len(values))
    return np.partition(values, n - 1, axis=0)[:n].mean(axis=0)
