"""One sample out of a large evaluation: its rows of every frame, without computing those of all the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

#: Methods of an evaluation whose frames have several rows a sample.
FRAMES = ("claims", "contexts", "support", "spans", "errors")
_EVIDENCE = ("contexts", "claims", "support", "questions")


def records(frame: pd.DataFrame) -> Iterator[Any]:
    """The rows of a frame as named tuples."""
    return iter(frame.itertuples())


class Slices:
    """Rows of single samples of one evaluation. The sample asked for last is kept ready."""

    def __init__(self, evaluation: Any) -> None:
        self._evaluation = evaluation
        self._sample_id: str | None = None
        self._small: Any = evaluation
        self._frames: dict[str, pd.DataFrame] = {}

    def rows(self, name: str, sample_id: str) -> pd.DataFrame:
        """The rows of one sample in the frame ``name``, one of :data:`FRAMES`; empty when it has none."""
        small = self.small(sample_id)
        if name not in self._frames:
            self._frames[name] = getattr(small, name)()
        frame = self._frames[name]
        return frame[(frame["sample_id"] == sample_id).to_numpy(dtype=bool)]

    def sample(self, sample_id: str) -> dict[str, Any]:
        """One sample as loaded, every field: field → value."""
        frame = self.small(sample_id).samples.frame
        return dict(zip(frame.columns, frame.loc[sample_id].tolist(), strict=True))

    def small(self, sample_id: str) -> Any:
        """An evaluation of this sample (and of companions that a cause asks for); the whole one where the evidence
        cannot be cut."""
        if sample_id != self._sample_id:
            self._sample_id = sample_id
            if hasattr(self._evaluation, "evidence"):
                self._small, self._frames = _cut(self._evaluation, sample_id), {}
        return self._small


def _cut(evaluation: Any, sample_id: str) -> Any:
    from workbench.evaluation import Evaluation
    from workbench.evidence.frames import Evidence

    evidence = evaluation.evidence
    ids = [sample_id, *_companions(evidence, sample_id)]
    parts = {name: _rows_of(getattr(evidence, name), ids) for name in _EVIDENCE}
    small = Evidence(
        evidence.samples.loc[ids], rejected=evidence.rejected.iloc[:0], manifest=evidence.manifest, **parts
    )
    return Evaluation(small, evaluation.thresholds, name=evaluation.name, metrics=evaluation.metrics)


def _companions(evidence: Any, sample_id: str) -> list[str]:
    """One sample with an answer and one with an error: whether the set has any decides what a missing answer means."""
    found: dict[str, None] = {}
    for name in ("answer", "error"):
        if name in evidence.samples:
            there: NDArray[np.bool_] = evidence.samples[name].notna().to_numpy()
            found.update(dict.fromkeys(str(evidence.ids[code]) for code in there.nonzero()[0][:1]))
    found.pop(sample_id, None)
    return list(found)


def _rows_of(frame: pd.DataFrame, ids: list[str]) -> pd.DataFrame:
    column = frame["sample_id"]
    if column.dtype != "category":
        return frame[column.isin(ids).to_numpy()]
    codes = column.cat.categories.get_indexer(ids)
    own = frame.iloc[np.flatnonzero(np.isin(column.cat.codes.to_numpy(), codes[codes >= 0]))]
    return own.assign(sample_id=own["sample_id"].cat.remove_unused_categories())
