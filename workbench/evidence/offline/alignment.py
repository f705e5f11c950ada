"""Soft alignment: for each word of a claim, how near the nearest word of the evidence is in an encoder's token space.

A sentence vector blurs one wrong word; the weakest word of an alignment does not. Two kinds are computed: plain (the
nearest word anywhere) and relational (the word must be found near where its neighbours are found: the same words in
another place are no support). Everything is one matrix product for each sample and sums over its sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.evidence.offline.features import Floats, best_sentences, sentence_cover
from workbench.evidence.offline.grid import Grid, Windows, in_windows
from workbench.evidence.offline.words import NAME, NUMBER, Analysis, Ints

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
#: The alignment of a word that has no counterpart.
_UNFOUND = 0.8
#: The alignment (e5, median of WiCE) of a content word that is absent from a sentence, and of one that is present.
_COMMON, _COMMON_PLAIN, _COMMON_RELATIONAL = (np.float32(value) for value in (0.70, 0.88, 0.83))
#: Cells of the matrix of words against words that are worked out at once: what bounds memory.
_CELLS = 4_000_000


def blocks(text: Analysis, limit: int = 0, *, cut: bool = True) -> list[tuple[int, int]]:
    """Offsets of the blocks that a text is encoded in: the whole text if it is short, else runs of sentences.

    ``limit``: characters of a block, by default what is encoded at once; longer sentences are ``cut``.
    """
    limit = limit or (BLOCK_HAN_CHARACTERS if text.han else BLOCK_CHARACTERS)
    if len(text.text) <= limit and len(text.ids) <= BLOCK_WORDS:
        return [(0, len(text.text))]
    found: list[tuple[int, int]] = []
    start = end = 0
    for low, high in _pieces(text, limit) if cut else text.bounds.tolist():
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


def word_vectors(
    text: Analysis, vectors: Floats, spans: NDArray[np.integer], offset: int = 0, words: slice = slice(None)
) -> Floats:
    """(n, d) unit rows: the mean of the token vectors that touch each word; a row of zeros where no token does.

    Parameters
    ----------
    vectors, spans
        Token vectors (m, d) and their spans (m, 2) in the block that starts at ``offset``.
    words
        The words that are asked for, by default all.
    """
    begins, stops = text.starts[words], text.ends[words]
    result = np.zeros((len(begins), vectors.shape[1]), dtype=np.float32)
    if not len(vectors) or not len(begins):
        return result
    starts, ends = spans[:, 0] + offset, spans[:, 1] + offset
    first = np.searchsorted(ends, begins, side="right")
    last = np.searchsorted(starts, stops, side="left")
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


def align(
    grid: Grid, claims: Sequence[Floats], evidence: Sequence[Floats], read: NDArray[np.bool_] | None = None
) -> Alignment:
    """Align the words of all claims with those of all evidence texts.

    Parameters
    ----------
    claims, evidence
        Word vectors of each claim and of the words of each evidence text that are read, in the grid's order.
    read
        (s,) the sentences of the grid whose words have vectors, by default all. For the others stands what words of
        which as much is present commonly have.
    """
    there = np.ones(grid.n_sentences, dtype=bool) if read is None else read
    known = grid.word_sentence[there[grid.word_sentence]]
    plain, relational = (_COMMON + (most - _COMMON) * grid.present for most in (_COMMON_PLAIN, _COMMON_RELATIONAL))
    for values in (plain, relational):
        values[:, there] = 0.0
    if len(grid.ids) and len(known):
        theirs, steps = np.concatenate(evidence).T, _steps(_runs(grid, there))
        for numbers in _groups(grid, len(known)):
            first = grid.rows[numbers[0]].start
            cosines = np.concatenate([claims[number] for number in numbers]) @ theirs
            around, related = _around(cosines, steps), np.empty_like(cosines)
            for number in numbers:
                rows = grid.rows[number]
                mine = slice(rows.start - first, rows.stop - first)
                related[mine] = _related(cosines[mine], around[mine], grid.weight[rows] > 0)
            sentences, firsts = np.unique(known, return_index=True)
            for values, found in ((plain, cosines), (relational, related)):
                values[first : first + len(found), sentences] = np.maximum.reduceat(found, firsts, axis=1)
    for where, sentence in grid.initials:
        # The vector of "SSO" is nowhere near those of the words that it stands for.
        for values, most in ((plain, _COMMON_PLAIN), (relational, _COMMON_RELATIONAL)):
            values[where, sentence] = np.maximum(values[where, sentence], most)
    return Alignment(plain, relational)


def _groups(grid: Grid, width: int) -> Iterator[range]:
    """Claims in runs whose words make at most :data:`_CELLS` cells with ``width`` columns; one claim at least."""
    start = 0
    for end in range(1, len(grid.claims) + 1):
        last = end == len(grid.claims)
        if last or (grid.rows[end].stop - grid.rows[start].start) * width > _CELLS:
            yield range(start, end)
            start = end


def _runs(grid: Grid, there: NDArray[np.bool_]) -> Ints:
    """Words of each run of sentences that are read one after the other in one text."""
    follows = np.concatenate([np.diff(some, prepend=-2) == 1 for some in grid.read])
    begins = ~follows | ~np.concatenate([[False], there[:-1]])
    return np.bincount((np.cumsum(begins) - 1)[grid.word_sentence[there[grid.word_sentence]]])


def _steps(lengths: Sequence[int] | Ints) -> Ints:
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
    lost = _alignment_shift(grid, number, spans, keep, plain, related)
    best = best_sentences(weight @ sentence_plain / weight.sum(), spans)
    out[:, 5] = weight @ plain / weight.sum()
    out[:, 0] = plain[special].min(axis=0) if special.any() else out[:, 5]
    out[:, 1] = _worst(np.concatenate([plain, lost]), 3)
    out[:, 2] = np.concatenate([related, lost]).min(axis=0)
    out[:, 3] = _worst(np.concatenate([related, lost]), 3)
    out[:, 4] = weight @ related / weight.sum()
    out[:, 6] = _worst(sentence_plain[:, best], 3)
    missing = in_windows(grid.present[rows][keep], spans) < 0.99
    out[:, 7] = np.where(missing.any(axis=0), (plain * missing).sum(axis=0) / np.maximum(missing.sum(axis=0), 1), 1.0)
    return out


def _alignment_shift(grid: Grid, number: int, spans: Windows, keep: Ints, plain: Floats, related: Floats) -> Floats:
    """Count the words that need no evidence as found (in place); (0 or 3, w) alignments for words that are lost."""
    claim = grid.claims[number]
    shifting = {s: r for (row, s), r in grid.relations.items() if row == number and r.shifts}
    if not shifting:
        return np.empty((0, len(spans)), dtype=np.float32)
    best = best_sentences(sentence_cover(grid, number), spans)
    lost = np.ones((3, len(spans)), dtype=np.float32)
    for sentence, relation in shifting.items():
        at = np.flatnonzero(best == sentence)
        harmless = np.isin(keep + claim.words.start, relation.harmless)
        for values in (plain, related):
            values[np.flatnonzero(harmless)[:, None], at] = 1.0
        lost[: len(relation.lost), at] = _UNFOUND
    return lost


def _worst(values: Floats, n: int) -> Floats:
    """(w,) mean of the ``n`` lowest values of each column."""
    n = min(n, len(values))
    return np.partition(values, n - 1, axis=0)[:n].mean(axis=0)


