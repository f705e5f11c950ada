"""What a text settles about a claim by more than its words: whether it bears the claim out or denies it.

By the order of steps, the values of two things, what is laid down, which way things go, what is left out of a list, what is
granted or refused, a total or a missed limit. Each rule stands in a module of its own; none says anything of other claims.
"""

from __future__ import annotations

import numpy as np

from workbench.evidence.offline.comparisons import other_cause, out_of_order, turned_round
from workbench.evidence.offline.exclusions import left_out
from workbench.evidence.offline.features import sentence_cover, stated_in
from workbench.evidence.offline.granting import granted
from workbench.evidence.offline.grid import Grid
from workbench.evidence.offline.leeway import overrides
from workbench.evidence.offline.measured import measured
from workbench.evidence.offline.reckoning import reckoned
from workbench.evidence.offline.tiers import denied_to_who_asks, of_another_tier, of_the_opposite_tier
from workbench.evidence.offline.words import NUMBER, Analysis, Floats, Numbers

#: Sentences of a text, nearest to the claim and the question, that are looked at.
_NEAREST = 4
#: By how much of the claim the nearest sentence must be ahead.
_BY_FAR = 0.2
#: Rarity from which a word of a claim tells, and how far a sentence must hold it.
_TELLING, _HELD = 0.2, 0.6


def settles(grid: Grid, number: int, at: int, question: Analysis, about: Floats) -> tuple[bool, int] | None:
    """Whether text ``at`` of the grid bears claim ``number`` out, and the sentence that tells, −1 where several do; None where
    it settles nothing.

    ``about``: (s,) how much each sentence of the contexts says of the claim or the question.
    """
    claim = grid.claims[number]
    said = claim.source.text[claim.start : claim.end]
    text = grid.texts[at]
    told = False if out_of_order(said, text.text) else measured(said, text)
    if told is not None:
        return told, -1
    low, high = grid.offsets[at : at + 2].tolist()
    verbatim = claim.source.folded[claim.start : claim.end].strip(" .。!！;；") in text.folded
    best = _rests_on(grid, number, low, high, question)
    if best >= 0 and of_another_tier(claim, question, text, grid.locate(best)[1]):
        return False, best
    worded = _by_words(grid, number, low, high)
    if worded >= 0 and of_the_opposite_tier(claim, text, grid.locate(worded)[1]):
        return False, worded
    for sentence in (low + np.argsort(-about[low:high])[:_NEAREST]).tolist():
        place = grid.locate(sentence)[1]
        if denied_to_who_asks(claim, question, text, place) or (not verbatim and _denies(grid, number, at, question, place)):
            return False, sentence
        told = granted(claim, question, text, place)
        told = reckoned(claim, question, text, place) if told is None else told
        if told is not None:
            return told, sentence
    return None


def _rests_on(grid: Grid, number: int, low: int, high: int, question: Analysis) -> int:
    """The sentence of a text that a claim rests on: of those with all its numbers that the question does not give the nearest;
    without such numbers the nearest of all, by far. −1 where none is."""
    asked = Numbers((quantity, 0) for quantity in question.quantities)
    stated = [one for one in stated_in(grid, grid.rows[number]) if not asked.holding(one.quantity)]
    cover = sentence_cover(grid, number)[low:high]
    if stated:
        cover = np.where(np.logical_and.reduce([one.sentences[low:high] for one in stated]), cover, 0.0)
    order = np.argsort(-cover)
    ahead = len(order) > 0 and (stated or len(order) == 1 or cover[order[0]] - cover[order[1]] >= _BY_FAR)
    return low + int(order[0]) if ahead and cover[order[0]] > 0 else -1


def _by_words(grid: Grid, number: int, low: int, high: int) -> int:
    """The sentence of a text with most of a claim's words, numbers left out; −1 where none has any."""
    rows = grid.rows[number]
    weight = np.where(grid.kind[rows] == NUMBER, 0.0, grid.weight[rows])
    cover = weight @ grid.present[rows, low:high]
    return low + int(np.argmax(cover)) if cover.max(initial=0.0) > 0 else -1


def _denies(grid: Grid, number: int, at: int, question: Analysis, sentence: int) -> bool:
    """Whether a sentence lays down what a claim leaves open, leads the other way, or leaves out a thing that it lists."""
    claim, text = grid.claims[number], grid.texts[at]
    if overrides(claim, question, text, sentence):
        return True
    said, there = claim.source.text[claim.start : claim.end], text.text[slice(*text.bounds[sentence].tolist())]
    if turned_round(said, there) or other_cause(said, question.text, there) is not None:
        return True
    return left_out(claim, text, sentence) != "" and not _stands_in(grid, number, at)


def _stands_in(grid: Grid, number: int, at: int) -> bool:
    """Whether one sentence of a text has every telling word of a claim."""
    rows, there = grid.rows[number], slice(*grid.offsets[at : at + 2].tolist())
    telling = grid.weight[rows] > _TELLING
    return bool((grid.present[rows, there][telling] >= _HELD).all(axis=0).any())
