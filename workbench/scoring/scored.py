"""A metric's values with their states, and the small arithmetic that every metric shares."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# The state of a score. No number without one: a score is NaN if and only if its state is not ``ok``.

OK = "ok"
NOT_APPLICABLE = "not_applicable"
UNDEFINED = "undefined"
JUDGE_ERROR = "judge_error"
INPUT_ERROR = "input_error"
SKIPPED = "skipped"

#: All states, in the order in which they are counted and shown. The position is the code in state arrays.
STATES = (OK, NOT_APPLICABLE, UNDEFINED, JUDGE_ERROR, INPUT_ERROR, SKIPPED)

CODES = {state: code for code, state in enumerate(STATES)}

States = NDArray[np.int8]


def names(codes: States) -> NDArray[np.object_]:
    """State names of an array of codes."""
    return np.asarray(STATES, dtype=object)[codes]


Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Scored(NamedTuple):
    """One metric over all samples: ``values`` (n,) float64, NaN if and only if ``states`` (n,) int8 is not ``ok``."""

    values: Floats
    states: States

    @property
    def ok(self) -> Mask:
        """Where there is a score."""
        return self.states == CODES[OK]


def with_states(values: NDArray[Any], *conditions: tuple[Mask, str]) -> Scored:
    """Give each sample its state: the first condition that holds, else ``ok``; a value that is not finite is undefined."""
    values = np.asarray(values, dtype=float)
    states = np.where(np.isfinite(values), CODES[OK], CODES[UNDEFINED]).astype(np.int8)
    for mask, state in reversed(conditions):
        states[mask] = CODES[state]
    return Scored(np.where(states == CODES[OK], values, np.nan), states)


def ratio(part: NDArray[Any], whole: NDArray[Any]) -> Floats:
    """``part / whole``, NaN where ``whole`` is 0."""
    part, whole = np.asarray(part, dtype=float), np.asarray(whole, dtype=float)
    return np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0)


def count(codes: NDArray, mask: Mask, n: int) -> Floats:
    """Rows of each sample for which ``mask`` holds, as floats."""
    return np.bincount(codes[mask], minlength=n).astype(float)


def mean_of(codes: NDArray, values: Floats, n: int) -> Floats:
    """Mean of ``values`` over the rows of each sample; NaN without rows or when one value is NaN."""
    return ratio(np.bincount(codes, weights=values, minlength=n), np.bincount(codes, minlength=n))
