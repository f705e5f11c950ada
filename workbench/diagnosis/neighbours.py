"""Words near each other in meaning, by the vectors of an encoder; works across languages where the encoder does."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from workbench.data.normalising import HAN_CHARACTER
from workbench.diagnosis.ranks import Floats
from workbench.diagnosis.variants import Candidate
from workbench.evidence.background import percentile

#: Percentile among random pairs of words from which on a word is a candidate.
NEAR = 97.5
#: Random pairs that make the yardstick.
PAIRS = 4000


class TermVectors:
    """Vectors of words and phrases.

    Parameters
    ----------
    names, rows
        The words, and their unit vectors (n, d).
    """

    def __init__(self, names: Sequence[str], rows: Floats) -> None:
        self._at = {name: row for row, name in enumerate(names)}
        self._rows = rows
        self._chinese = np.array([HAN_CHARACTER.search(name) is not None for name in names], dtype=bool)

    @cached_property
    def _backgrounds(self) -> dict[tuple[bool, bool], np.ndarray]:
        """Similarities of random pairs within and across the two scripts, ascending."""
        random = np.random.default_rng(0)
        sides = {chinese: np.flatnonzero(self._chinese == chinese) for chinese in (False, True)}
        found = {}
        for one in sides:
            for other in sides:
                if len(sides[one]) < 2 or len(sides[other]) < 2:
                    continue
                left, right = random.choice(sides[one], PAIRS), random.choice(sides[other], PAIRS)
                keep = left != right
                found[one, other] = np.sort(np.einsum("ij,ij->i", self._rows[left[keep]], self._rows[right[keep]]))
        return found

    def nearest(self, term: str, options: Sequence[str], most: int = 5) -> list[Candidate]:
        """The words among ``options`` nearest to ``term``, best first; ``score`` = percentile / 100."""
        known = [option for option in options if option in self._at and option != term]
        if term not in self._at or not known:
            return []
        at = np.array([self._at[option] for option in known])
        cosines = self._rows[at] @ self._rows[self._at[term]]
        best = np.argsort(-cosines, kind="stable")[:most]
        found = [Candidate(known[i], self._score(term, int(at[i]), float(cosines[i])), "meaning") for i in best]
        return [candidate for candidate in found if candidate.score >= NEAR / 100]

    def _score(self, term: str, other: int, cosine: float) -> float:
        pair = bool(self._chinese[self._at[term]]), bool(self._chinese[other])
        background = self._backgrounds.get(pair)
        return 0.0 if background is None else round(percentile(cosine, background) / 100, 4)
