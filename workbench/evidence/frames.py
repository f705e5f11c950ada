"""Evidence as tidy frames, the form in which it is stored, joined and derived from.

Every frame has ``sample_id``; other ids are unique within their sample. Nested values (lists, mappings) are JSON text,
so that a frame in memory is the frame on disk.

``samples``   one row a sample: the fields as recorded, what a judge said of it (``judge_…``), what its texts show
              without any judge (``text_…``), scores of other tools (``recorded:…``)
``contexts``  one row a recorded context, ``rank`` from 1 in the order recorded
``claims``    one row a claim (``side`` answer, reference), key point (point), forbidden content (forbidden) or citation
              (citation); the last three are read from the texts
``support``   one row for each claim or key point and context
``questions`` reverse questions
``rejected``  rows of the source that could not be used
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

FRAMES = ("samples", "contexts", "claims", "support", "questions", "rejected")

#: Columns of each frame and their types; ``samples`` may have more (the user's own, facts of the texts).
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "samples": {"sample_id": "str"},
    "contexts": {
        "sample_id": "category", "rank": "int32", "doc_id": "str", "text": "str", "score": "float64", "title": "str",
        "tenant": "str", "position": "float64", "source": "str", "prompted": "bool", "metadata": "str",
        "relevance": "float64", "similarity": "float64", "relevant_sentences": "float64", "n_sentences": "float64",
        "n_tokens": "float64", "answer_share": "float64", "state": "str", "reason": "str",
    },
    "claims": {
        "sample_id": "category", "side": "category", "claim_id": "int32", "text": "str", "start": "int32", "end": "int32",
        "sentence": "int32", "other_entail": "float64", "other_contradict": "float64", "conflict": "float64",
        "kinds": "str", "spans": "str", "cited_rank": "int32", "cited_doc": "str", "elsewhere": "str", "state": "str",
        "reason": "str",
    },
    "support": {
        "sample_id": "category", "side": "category", "claim_id": "int32", "rank": "int32", "entail": "float32",
        "contradict": "float32", "stitched_entail": "float32", "stitched_contradict": "float32", "span_start": "int32",
        "span_end": "int32", "state": "category",
    },
    "questions": {"sample_id": "category", "number": "int32", "text": "str", "similarity": "float64"},
    "rejected": {"sample_id": "str", "row": "int64", "field": "str", "reason": "str", "excerpt": "str"},
}  # fmt: skip

SIDES = ("answer", "reference", "point", "forbidden", "citation")


@dataclass
class Evidence:
    """The frames of one evaluation and the manifest that says how they came about.

    Attributes
    ----------
    samples
        Index ``sample_id``, see the module's docstring.
    manifest
        For people: judge, model, prompt hash, encoder, data hash, library versions, times, counts.
    """

    samples: pd.DataFrame
    contexts: pd.DataFrame
    claims: pd.DataFrame
    support: pd.DataFrame
    questions: pd.DataFrame
    rejected: pd.DataFrame
    manifest: dict[str, Any] = field(default_factory=dict)
    _read: dict[tuple[str, str], Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.samples)

    @cached_property
    def ids(self) -> pd.Index:
        """The sample ids in order; a sample's position here is its code everywhere."""
        return self.samples.index

    def codes(self, frame: pd.DataFrame) -> np.ndarray:
        """Position in ``ids`` of the sample of each row of ``frame``; a row of an unknown sample raises KeyError."""
        column = frame["sample_id"]
        if column.dtype == "category":
            positions = np.append(self.ids.get_indexer(column.cat.categories), -1)  # the code -1 is a missing id
            found = positions[column.cat.codes.to_numpy()]
        else:
            found = self.ids.get_indexer(column)
        if (found < 0).any():
            raise KeyError(f"sample_id {column.iloc[int(np.argmax(found < 0))]!r} stands in no row of samples")
        return found

    def nested(self, name: str) -> list[Any]:
        """A nested column of ``samples``, decoded; None where nothing was recorded or the column is absent."""
        return self._once("nested", name, self._decoded)

    def plain(self, name: str) -> np.ndarray:
        """A plain column of ``samples`` as objects, missing values None. Not to be written to."""
        return self._once("plain", name, self._objects)

    def number(self, name: str) -> np.ndarray:
        """A numeric column of ``samples`` as float64, NaN where missing or absent. Not to be written to."""
        return self._once("number", name, self._floats)

    def _once(self, kind: str, name: str, read: Callable[[str], Any]) -> Any:
        if (kind, name) not in self._read:
            self._read[kind, name] = read(name) if name in self.samples else read("")
        return self._read[kind, name]

    def _decoded(self, name: str) -> list[Any]:
        column = self.samples[name].tolist() if name else [None] * len(self.samples)
        try:
            return [json.loads(item) if isinstance(item, str) else None for item in column]
        except (ValueError, RecursionError) as error:
            raise InputError(f"samples: column {name} holds no JSON ({error}); score the recording again") from error

    def _objects(self, name: str) -> np.ndarray:
        if not name:
            return np.full(len(self.samples), None, dtype=object)
        values = self.samples[name].to_numpy(dtype=object, copy=True)
        values[self.samples[name].isna().to_numpy()] = None
        return values

    def _floats(self, name: str) -> np.ndarray:
        import pandas as pd

        if not name:
            return np.full(len(self.samples), np.nan)
        return pd.to_numeric(self.samples[name], errors="coerce").to_numpy(dtype=float, na_value=np.nan)


def encode(value: Any) -> str | None:
    """A nested value as JSON text; None stays None."""
    return None if value is None else json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    """JSON's fallback: numpy and pandas scalars, tuples, mappings; anything else as text."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (Sequence, set, frozenset, np.ndarray)):
        return list(value)
    return value.item() if isinstance(value, np.generic) else str(value)


def frame_of(name: str, rows: Mapping[str, Sequence[Any] | np.ndarray]) -> pd.DataFrame:
    """A frame with the columns and types of :data:`COLUMNS`; columns that are not given are missing values."""
    import pandas as pd

    length = max((len(values) for values in rows.values()), default=0)
    return pd.DataFrame(
        {
            column: _typed(rows[column] if column in rows else [None] * length, dtype)
            for column, dtype in COLUMNS[name].items()
        }
    )


def conform(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """``frame`` with every column of :data:`COLUMNS` in its type, others left out (kept for ``samples``)."""
    if name == "samples":
        return frame
    return frame_of(name, {column: frame[column] for column in COLUMNS[name] if column in frame})


def _typed(values: Any, dtype: str) -> Any:
    import pandas as pd

    if dtype == "category":
        return values if getattr(values, "dtype", None) == "category" else pd.Categorical(values)
    if dtype.startswith("int"):
        return pd.to_numeric(pd.Series(np.asarray(values))).fillna(-1).astype(dtype).to_numpy()
    if dtype == "bool":
        return pd.Series(np.asarray(values, dtype=object)).fillna(True).astype(bool).to_numpy()
    series = (
        pd.Series(values).reset_index(drop=True) if not isinstance(values, pd.Series) else values.reset_index(drop=True)
    )
    return series.astype(dtype)


def concatenate(name: str, frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Rows of several frames one after the other, categories united."""
    import pandas as pd
    from pandas.api.types import union_categoricals

    parts = list(frames)
    if len(parts) == 1:
        return parts[0]
    joined = {
        column: union_categoricals([part[column] for part in parts])
        if dtype == "category"
        else pd.concat([part[column] for part in parts], ignore_index=True)
        for column, dtype in COLUMNS[name].items()
    }
    return pd.DataFrame(joined)
