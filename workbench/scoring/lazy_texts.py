"""A column of texts that are worked out when they are looked at: of a hundred thousand rows a reader sees a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.arrays import ArrowStringArray

from workbench.scoring.scored import STATES

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
