"""Lexical evidence for claims in texts, all claims of a sample against all its texts at once.

:func:`lexical_features` reduces a :class:`~workbench.evidence.grid.Grid` to one row of :data:`LEXICAL` for each claim
and window.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.evidence.analysis import NAME, NUMBER, Analysis, Ints
from workbench.evidence.grid import ClaimWords, Grid, Stated, Windows, in_windows, names_of, word_rows
from workbench.evidence.numbers import Numbers, may_be_counted, rounds

Floats = NDArray[Any]

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

#: Numbers that say too little to be missed.
_LIGHT = frozenset(["first", "one"])
#: Numbers of a claim that are looked up one by one; more of them are a list.
_MANY = 100


def lexical_features(grid: Grid, spans: Windows) -> Floats:
    """(c, w, len(LEXICAL)) float32: what each window says about each claim."""
    rows = [_claim_features(grid, number, spans) for number in range(len(grid.claims))]
    return np.stack(rows) if rows else np.zeros((0, len(spans), len(LEXICAL)), dtype=np.float32)


def best_sentences(cover: Floats, spans: Windows) -> Ints:
    """(w,) the first sentence with the highest value of ``cover`` (s,) in each window."""
    widest = int((spans.last - spans.first).max(initial=0))
    if len(spans) <= widest:
        return np.array(
            [f + int(np.argmax(cover[f:t])) for f, t in zip(spans.first, spans.last, strict=True)], np.int64
        )
    best = spans.first.copy()
    for step in range(1, widest):
        at = np.minimum(spans.first + step, spans.last - 1)
        best = np.where(cover[at] > cover[best], at, best)
    return best


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
    mine = [s.sentences for s in _stated(grid, rows) if s.quantity.text.lower() not in _LIGHT]
    if not mine:
        return np.zeros(len(spans), dtype=np.float32)
    return np.minimum((1.0 - in_windows(np.stack(mine), spans)).sum(axis=0), 2.0)


def _stated(grid: Grid, rows: slice) -> Iterator[Stated]:
    """The numbers of the claim that has these rows."""
    return (stated for stated in grid.stated if rows.start <= stated.rows.start < rows.stop)


def untold(grid: Grid, number: int, question: Analysis | None) -> NDArray[np.bool_]:
    """(texts,) whether a number or code of the claim stands nowhere in a text: not rounded, and not to be counted there.

    What stands in the ``question`` needs no evidence: an answer repeats it. Of a claim with more than :data:`_MANY`
    numbers or codes the first are looked at.
    """
    asked = Numbers((quantity, 0) for quantity in (question.quantities if question else ()))
    found = np.zeros(len(grid.texts), dtype=bool)
    for stated in islice(_stated(grid, grid.rows[number]), _MANY):
        if not may_be_counted(stated.quantity) and not asked.holding(stated.quantity):
            held = np.diff(np.concatenate([[0], np.cumsum(stated.sentences)])[grid.offsets]) > 0
            for at in np.flatnonzero(~held & ~found).tolist():
                found[at] = not any(rounds(stated.quantity, other) for other in grid.texts[at].quantities)
    for code in islice(_codes(grid.claims[number]), _MANY):
        if question is None or not holds_code(question.folded, code):
            found |= [not holds_code(text.folded, code) for text in grid.texts]
    return found


def holds_code(text: str, code: str) -> bool:
    """Whether a folded text holds an identifier, with or without its hyphens: XR-250 = XR250."""
    return code in text or _code_pattern(code).search(text) is not None


@lru_cache(maxsize=4096)
def _code_pattern(code: str) -> re.Pattern[str]:
    runs = re.findall(r"[^\W\d_]+|\d+", code)
    return re.compile(r"(?<![^\W_])" + r"[-_ ./]?".join(map(re.escape, runs)) + r"(?![^\W_])")


def _codes(claim: ClaimWords) -> Iterator[str]:
    """The identifiers with digits of a claim, folded: E-1207, DVB-S2."""
    for name in names_of(claim):
        if name.kind == "code" and any(letter.isdigit() for letter in name.text):
            yield claim.source.folded[name.start : name.end]


def _names_missing(grid: Grid, number: int, present: Floats) -> Floats:
    """Names of the claim less than half of whose words the window holds, at most 3."""
    claim, rows = grid.claims[number], grid.rows[number]
    missing = np.zeros(present.shape[1], dtype=np.float32)
    for name in names_of(claim):
        words = word_rows(claim, rows, name.start, name.end)
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
    for at, others in opposites(claim):
        row = rows.start + at - claim.words.start
        opposed = np.zeros(grid.n_sentences, dtype=bool)
        opposed[grid.word_sentence[np.isin(grid.word_ids, list(others))]] = True
        found[opposed[best] & ~grid.exact[row, best]] = 1.0
    return found
