"""From evidence frames back to the samples that were loaded."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.data.load import object_frame
from workbench.data.schema import NESTED_FIELDS, REJECTED_COLUMNS, SAMPLE_FIELDS, SampleSet, is_derived
from workbench.evidence.frames import Evidence


def restore(evidence: Evidence, name: str) -> SampleSet:
    """The sample set behind ``evidence``; rejected rows as they were, warnings are not kept."""
    import pandas as pd

    own = own_columns(evidence)
    columns = {c: evidence.nested(c) if c in NESTED_FIELDS else evidence.plain(c) for c in own}
    columns["contexts"] = context_lists(evidence)
    order = [f for f in SAMPLE_FIELDS if f in columns] + [c for c in own if c not in SAMPLE_FIELDS]
    frame = object_frame({c: _objects(columns[c]) for c in order}, evidence.ids)
    scores = {c.removeprefix("recorded:"): evidence.number(c) for c in evidence.samples if _is_score(c)}
    rejected = evidence.rejected[list(REJECTED_COLUMNS)]
    return SampleSet(
        frame=frame,
        rejected=rejected,
        warnings=rejected.iloc[:0],
        n_read=len(frame) + rejected["row"].nunique(),
        recorded_scores=pd.DataFrame(scores, index=evidence.ids),
        name=name,
    )


def _is_score(column: str) -> bool:
    return column.startswith("recorded:") and is_derived(column)


def own_columns(evidence: Evidence) -> list[str]:
    """Columns of ``evidence.samples`` that were recorded: the fields of a sample and the user's own."""
    return [str(c) for c in evidence.samples.columns if not is_derived(str(c))]


def context_lists(evidence: Evidence) -> list[list[dict[str, Any]] | None]:
    """``contexts`` of each sample as lists of mappings; None where none were recorded."""
    import json

    frame = evidence.contexts
    names = ("doc_id", "text", "score", "title", "tenant", "position", "prompted", "metadata")
    columns = [frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in names]
    recorded = evidence.plain("contexts_recorded")
    lists: list[list[dict[str, Any]] | None] = [[] if there is True else None for there in recorded]
    for code, *values in zip(evidence.codes(frame).tolist(), *columns, strict=True):
        item = dict(zip(names, values, strict=True))
        item["metadata"] = json.loads(item["metadata"]) if item["metadata"] else None
        item["position"] = None if item["position"] is None else int(item["position"])
        here = lists[code]
        if here is not None:
            here.append(item)
    return lists


def _objects(values: Any) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values if isinstance(values, np.ndarray) else [None] * len(values)
    if not isinstance(values, np.ndarray):
        for place, value in enumerate(values):
            array[place] = value
    return array
