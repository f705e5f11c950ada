"""What a text says of one thing in one sentence is not said of the thing that another sentence speaks of.

"Meeting rooms can be booked by all staff. The boardroom can only be booked by the assistants." tells nothing of all staff and
the boardroom, though both sentences together hold every word of it.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from workbench.evidence.offline.answer_values import clause_starts
from workbench.evidence.offline.grid import Bools, Grid
from workbench.evidence.offline.polarity import read
from workbench.evidence.offline.words import FUNCTION, NUMBER, Analysis, Ints
from workbench.language import pattern

#: Rarity from which a word tells, and from which it names what a sentence is about; how far a sentence must hold a word, and
#: the share of the claim, by rarity, that the sentence with what is said must hold.
_TELLING, _OWN, _HELD, _MOST = 0.2, 0.35, 0.6, 0.4
#: Rarity that one of the words must have that the sentence lacks.
_RARE = 0.5
#: The most sentences of a text, those of them nearest to the claim that are looked at, and words of a subject where no
#: predicate is known.
_SENTENCES, _NEAR, _WORDS = 60, 3, 3


def of_another_subject(grid: Grid, number: int, text: int) -> tuple[str, str] | None:
    """(what the claim speaks of, what the sentence does) where a text says what a claim says, but of another thing than the
    claim, of which another sentence of it says something else; None where it does not, or where the sentences hang together.

    Parameters
    ----------
    number, text
        Numbers of the claim and of one of the grid's texts.
    """
    low, high = (int(at) for at in grid.offsets[text : text + 2])
    rows = grid.rows[number]
    telling = np.flatnonzero(grid.weight[rows] > _TELLING)
    if not 2 <= high - low <= _SENTENCES or len(telling) < 2 or grid.question is None:
        return None
    weight, held = grid.weight[rows][telling], grid.present[rows][telling, low:high] >= _HELD
    if held.all(axis=0).any():
        return None
    cover = weight @ held / weight.sum()
    near = np.argsort(-cover)[:_NEAR]
    pairs = (_of_another(grid, number, low, at, telling, held) for at in near[cover[near] >= _MOST].tolist())
    return next((pair for pair in pairs if pair is not None), None)


def _of_another(grid: Grid, number: int, low: int, at: int, telling: Ints, held: Bools) -> tuple[str, str] | None:
    """The same for one sentence: ``low + at`` of the grid, which holds the telling words of the claim as ``held`` says."""
    claim, question, missing = grid.claims[number], grid.question, ~held[:, at]
    assert question is not None
    if grid.leaning[low + at] or not missing.any() or missing.all() or _broken(grid.sentence(low + at)):
        return None
    source, first = claim.source, claim.words.start
    lacking = (first + telling[missing]).tolist()
    asked = question.ids.tolist()
    # The claim must speak of what is missing: it begins with that, all of it, or the question names it.
    pronoun = pattern("offline", "(?:«leaning»)").match(source.folded, claim.start) is not None
    whole = not pronoun and lacking == (first + telling[: len(lacking)]).tolist() and not _parts_a_name(source, lacking[-1])
    named = all(int(source.ids[word]) in asked or _han_in(source, word, question.folded) for word in lacking)
    rare = max(float(source.weight[word]) for word in lacking)
    if any(source.kind[word] == NUMBER for word in lacking) or rare < _RARE or not (whole or named):
        return None
    found, sentence = grid.locate(low + at)
    known = source.folded[claim.start : claim.end] + question.folded
    mine = {*source.ids[claim.words].tolist(), *asked}
    own = _subject(found, *_clause_of(found, sentence, mine), sentence)
    own = [word for word in own if found.weight[word] > _OWN and int(found.ids[word]) not in mine]
    own = [word for word in own if found.word(word) not in known and found.kind[word] != NUMBER]
    for other in np.flatnonzero(held[missing].all(axis=0)).tolist():
        text, there = grid.locate(low + other)
        subject = {int(text.ids[word]) for word in _subject_of(text, there)}
        opening = _opening(text, there)
        told = [int(source.ids[word]) in subject or _han_in(source, word, opening) for word in lacking]
        spoken = all(told) or (named and any(told))
        # What the other sentence names as well may be the kind that the thing is of.
        alike = any(found.word(word) in grid.sentence(low + other) for word in own)
        if own and spoken and not alike and held[~missing, other].any():
            return source.shown(lacking[0]), found.shown(own[0])
    return None


def _broken(sentence: str) -> bool:
    """Whether a sentence is the end of one that was cut inside a bracket."""
    return sum(map(sentence.count, ")）]】")) > sum(map(sentence.count, "(（[【"))


def _parts_a_name(text: Analysis, last: int) -> bool:
    """Whether a word and the one after it are parts of one name."""
    return any(name.start <= text.starts[last] and name.end > text.ends[last] for name in text.names)


def _han_in(text: Analysis, word: int, other: str) -> bool:
    """Whether a word in Han script, which may be cut in another way there, stands in another text."""
    written = text.word(word)
    return not written.isascii() and written in other


def _subject_of(text: Analysis, sentence: int) -> list[int]:
    words = text.words_between(*text.bounds[sentence].tolist())
    return _subject(text, words.start, words.stop, sentence)


def _clause_of(text: Analysis, sentence: int, claimed: set[int]) -> tuple[int, int]:
    """The words of the clause of a sentence that says most of what is claimed: "weighing costs 15, and parking 38"."""
    start, end = text.bounds[sentence].tolist()
    cuts = [start, *(at for at in clause_starts(text.text) if start < at < end), end]
    clauses = [text.words_between(low, high) for low, high in pairwise(cuts)]
    told = [sum(float(text.weight[at]) for at in range(c.start, c.stop) if int(text.ids[at]) in claimed) for c in clauses]
    best = clauses[told.index(max(told))]
    return best.start, best.stop


def _opening(text: Analysis, sentence: int) -> str:
    """The folded text of a sentence up to the end of its subject."""
    words = _subject_of(text, sentence)
    return text.folded[int(text.bounds[sentence, 0]) : int(text.ends[words[-1]])] if words else ""


def _subject(text: Analysis, first: int, last: int, sentence: int) -> list[int]:
    """The content words of a sentence up to its predicate, the first ones where none is known."""
    content: Ints = np.flatnonzero(text.kind[first:last] != FUNCTION) + first
    known = [at for at in read(text, sentence).predicates if first < at < last]
    before = [at for at in content.tolist() if not known or at < known[0]]
    return before if known and before else content[:_WORDS].tolist()
