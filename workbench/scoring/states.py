"""The state of a score. No number without one: a score is NaN if and only if its state is not ``ok``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
