"""A metric's values with their states, the small arithmetic that every metric shares, and texts made when looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pandas.arrays import ArrowStringArray

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


# A column of texts that are worked out when they are looked at: of a hundred thousand rows a reader sees a page.

_TEXT = pd.StringDtype("pyarrow", na_value=np.nan)


class LazyTexts(ArrowStringArray):
    """Strings like pandas' own, of the same dtype; rows taken from it stay unmade, whatever else is asked makes them.

    ``rows`` are the numbers that ``make`` is called with.
    """

    _made: pa.ChunkedArray | None = None

    @classmethod
    def of(cls, rows: Any, make: Callable[[int], str]) -> LazyTexts:
        """The texts of ``rows``."""
        new = cls.__new__(cls)
        new._rows, new._make, new._dtype = np.asarray(rows), make, _TEXT
        return new

    @property
    def _pa_array(self) -> pa.ChunkedArray:
        if self._made is None:
            self._made = pa.chunked_array([pa.array([self._make(row) for row in self._rows.tolist()], pa.large_string())])
        return self._made

    @_pa_array.setter
    def _pa_array(self, values: pa.ChunkedArray) -> None:
        self._made = values

    def __len__(self) -> int:
        return len(self._rows) if self._made is None else len(self._made)

    def __getitem__(self, item: Any) -> Any:
        if self._made is None and isinstance(item, (int, np.integer)):
            return self._make(int(self._rows[item]))
        if self._made is None and isinstance(item, (slice, np.ndarray)):
            return LazyTexts.of(self._rows[item], self._make)
        return super().__getitem__(item)

    def take(self, indices: Any, allow_fill: bool = False, fill_value: Any = None) -> Any:
        """Rows by their places."""
        places = np.asarray(indices, dtype=np.intp)
        if self._made is None and not (allow_fill and (places < 0).any()):
            return LazyTexts.of(self._rows[places], self._make)
        return super().take(indices, allow_fill=allow_fill, fill_value=fill_value)

    def copy(self) -> Any:
        """The same texts."""
        return LazyTexts.of(self._rows, self._make) if self._made is None else super().copy()

    view = copy

    def __reduce__(self) -> tuple[Any, ...]:
        return pd.array, (self.tolist(), _TEXT)


def repeated(values: Sequence[str], codes: Any) -> ArrowStringArray:
    """``values[codes]`` as pandas' strings, without a Python object a row."""
    return ArrowStringArray(pa.array(values, pa.large_string()).take(pa.array(codes)), dtype=_TEXT)


def state_names(codes: Any) -> ArrowStringArray:
    """Names of states by code."""
    return repeated(STATES, codes)
