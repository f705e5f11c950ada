"""The rows of one sample, found quickly in the frames of a whole evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

#: Methods of an evaluation whose frames have several rows a sample.
FRAMES = ("claims", "contexts", "support", "spans", "errors")
#: Those that are the same under any thresholds.
FIXED = ("support", "spans", "errors")


def records(frame: pd.DataFrame) -> Iterator[Any]:
    """The rows of a frame as named tuples."""
    return iter(frame.itertuples())


class Slices:
    """Frames of one evaluation, computed when first asked for."""

    def __init__(self, evaluation: Any, before: Slices | None = None) -> None:
        """Take over from ``before``, the slices of the same evidence, what the change of thresholds leaves alone."""
        t = evaluation.thresholds
        self._cuts = (t.support, t.contradiction, t.unsure_band, t.relevance, t.refusal, t.match)
        self._evaluation = evaluation
        known = before._frames if before is not None else {}
        same = FRAMES if before is not None and before._cuts == self._cuts else FIXED
        self._frames: dict[str, pd.DataFrame] = {name: known[name] for name in same if name in known}

    def frame(self, name: str) -> pd.DataFrame:
        """The whole frame ``name``, one of :data:`FRAMES`."""
        if name not in self._frames:
            self._frames[name] = getattr(self._evaluation, name)()
        return self._frames[name]

    def rows(self, name: str, sample_id: str) -> pd.DataFrame:
        """The rows of one sample in the frame ``name``; empty when it has none."""
        frame = self.frame(name)
        return frame[(frame["sample_id"] == sample_id).to_numpy(dtype=bool)]
