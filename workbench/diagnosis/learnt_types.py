"""Kinds of question that are learnt from a set: what in the wording separates failing questions from passing ones.

A short list of cues, each a type of question, a word, or two words in a row; a question belongs to the first that it
shows. Each step takes the cue that separates best among the questions that are left. Its strength is held against
that of the strongest of all cues when failing is dealt out at random (Westfall & Young 1993), so that a set in which the
wording says nothing yields a kind in at most 5 % of cases. The rates of the kinds are those of the questions that they were
learnt from: a little too far apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.data.text.normalise import unspaced
from workbench.data.text.words import stop_words, words
from workbench.diagnosis.statistics import SEED, Totals, strength

Masks = NDArray[np.bool_]

#: The value of questions that show none of the cues, and what a type of question begins with among the values.
REST, TYPE = "rest", "type:"
#: Kinds, cues that are tried (the most frequent ones), and draws of the permutation distribution, at most.
MOST_KINDS, MOST_CUES, DRAWS = 6, 600, 399
#: Words of a question that are looked at.
MOST_WORDS = 200


class Cue(NamedTuple):
    """``TYPE`` and a type of question, or one or two words as they stand in normalised questions; (n,) where it holds."""

    name: str
    holds: Masks


@dataclass(frozen=True)
class LearntTypes:
    """What was learnt.

    Attributes
    ----------
    kinds
        The cues by which questions are parted, in the order in which they are asked.
    values
        (n,) the kind of each question, :data:`REST` where no cue holds.
    n, tried
        Tested questions that it was learnt from, and cues that were tried.
    """

    kinds: tuple[str, ...]
    values: tuple[str, ...]
    n: int
    tried: int


def learnt_types(
    questions: Sequence[str], types: Masks, type_names: Sequence[str], failed: Masks, tested: Masks, *, min_n: int = 5,
    alpha: float = 0.05,
) -> LearntTypes:  # fmt: skip
    """Learn the kinds of a set of questions.

    Parameters
    ----------
    questions, failed, tested
        (n,) texts, and what became of each; only those tested are learnt from.
    types, type_names
        (n, t) which types each question has, and their names.
    min_n
        Tested questions that a kind and its opposite have at least.
    """
    cues = _cues(questions, types, type_names, tested, min_n)
    left, rng = tested.copy(), np.random.default_rng(SEED)
    values = np.full(len(questions), REST, dtype=object)
    kinds: list[str] = []
    while len(kinds) < MOST_KINDS and (best := _best(cues, failed, left, min_n, alpha, rng)) is not None:
        kinds.append(best.name)
        values[best.holds & (values == REST)] = best.name
        left &= ~best.holds
    return LearntTypes(tuple(kinds), tuple(values), int(tested.sum()), len(cues))


def _cues(questions: Sequence[str], types: Masks, names: Sequence[str], tested: Masks, min_n: int) -> list[Cue]:
    """What parts the questions at all: types first, then words, then two in a row; of those that hold alike the first."""
    run, stop = re.compile(f"[{unspaced()}]+"), stop_words()
    held: dict[str, list[int]] = {}
    pairs: dict[str, list[int]] = {}
    for at, question in enumerate(questions):
        found = words(question)[:MOST_WORDS]
        for word in dict.fromkeys(word for word in found if word not in stop):
            held.setdefault(word, []).append(at)
        for first, second in dict.fromkeys(pairwise(found)):
            joined = "" if run.fullmatch(first[-1]) and run.fullmatch(second[0]) else " "
            pairs.setdefault(f"{first}{joined}{second}", []).append(at)
    some = [Cue(f"{TYPE}{name}", types[:, at]) for at, name in enumerate(names)]
    for group in (held, pairs):
        for name in sorted(group, key=lambda name: -len(group[name]))[: MOST_CUES // 2]:
            mask = np.zeros(len(questions), dtype=bool)
            mask[group[name]] = True
            some.append(Cue(name, mask))
    n = int(tested.sum())
    different: dict[bytes, Cue] = {}
    for cue in some:
        if min_n <= int((cue.holds & tested).sum()) <= n - min_n:
            different.setdefault((cue.holds & tested).tobytes(), cue)
    return list(different.values())


def _best(
    cues: Sequence[Cue], failed: Masks, left: Masks, min_n: int, alpha: float, rng: np.random.Generator
) -> Cue | None:
    """The cue that separates best among the questions that are left; None where chance separates as well."""
    totals = Totals(int(left.sum()), int(failed[left].sum()))
    if not 0 < totals.failing_all < totals.n_all:
        return None
    rows = np.array([cue.holds[left] for cue in cues], dtype=np.float32).reshape(len(cues), totals.n_all)
    n = np.rint(rows.sum(axis=1)).astype(np.int64)
    fit = np.flatnonzero((n >= min_n) & (n <= totals.n_all - min_n))
    if not len(fit):
        return None
    rows, n = rows[fit], n[fit]
    outcome = failed[left].astype(np.float32)
    power = _separation(n, rows @ outcome, totals)
    place = int(np.argmax(np.round(power, 6)))
    beaten = 0
    for _ in range(DRAWS):
        beaten += bool(_separation(n, rows @ rng.permutation(outcome), totals).max() >= power[place] - 1e-6)
        if (beaten + 1) / (DRAWS + 1) > alpha:
            return None
    return cues[int(fit[place])]


def _separation(n: NDArray[np.int64], failing: NDArray[np.float32], totals: Totals) -> NDArray[np.float64]:
    """The likelihood ratio of "fails more often, or less often, than the others"."""
    x = np.rint(failing).astype(np.int64)
    spared = Totals(totals.n_all, totals.n_all - totals.failing_all)
    return np.maximum(strength(n, x, totals), strength(n, n - x, spared))
