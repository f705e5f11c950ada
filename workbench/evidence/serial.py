"""One sample's evidence as JSON text and back: what the cache of judgements holds. Arrays are base64 of their bytes."""

from __future__ import annotations

import base64
import dataclasses
import json
from typing import Any

import numpy as np

from workbench.data.validate import scrub
from workbench.evidence.judge import Claim, ReverseQuestion, SampleEvidence

_ARRAYS = {
    item.name: np.int32 if item.name == "spans" else np.float32
    for item in dataclasses.fields(SampleEvidence)
    if item.name in (
        "entail", "contradict", "stitched_entail", "stitched_contradict", "spans", "relevance", "similarity",
        "relevant_sentences", "n_sentences",
    )
}  # fmt: skip


def to_text(evidence: SampleEvidence) -> str:
    """``evidence`` without its sample id as JSON text; half characters that a model wrote become U+FFFD."""
    fields = {item.name: getattr(evidence, item.name) for item in dataclasses.fields(evidence)}
    del fields["sample_id"]
    for name, kind in _ARRAYS.items():
        fields[name] = None if fields[name] is None else _packed(np.asarray(fields[name], dtype=kind))
    fields["claims"] = [dataclasses.asdict(claim) for claim in evidence.claims]
    fields["questions"] = [dataclasses.asdict(question) for question in evidence.questions]
    return scrub(json.dumps(fields, ensure_ascii=False, default=float))


def from_text(text: str, sample_id: str) -> SampleEvidence:
    """The inverse of :func:`to_text`, for the sample ``sample_id``.

    Raises
    ------
    ValueError, KeyError, TypeError
        When the text was not written by this version.
    """
    fields = json.loads(text)
    for name, kind in _ARRAYS.items():
        fields[name] = None if fields[name] is None else _unpacked(fields[name], kind)
    fields["claims"] = [Claim(**{**claim, "kinds": tuple(claim["kinds"])}) for claim in fields["claims"]]
    fields["questions"] = [ReverseQuestion(**question) for question in fields["questions"]]
    fields["conflicts"] = [(int(a), int(b), float(p)) for a, b, p in fields["conflicts"]]
    fields["missing"] = {part: (state, reason) for part, (state, reason) in fields["missing"].items()}
    return SampleEvidence(sample_id=sample_id, **fields)


def _packed(array: np.ndarray) -> list[Any]:
    return [list(array.shape), base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")]


def _unpacked(packed: list[Any], kind: type) -> np.ndarray:
    shape, data = packed
    return np.frombuffer(base64.b64decode(data), dtype=kind).reshape(shape).copy()
