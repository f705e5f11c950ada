"""What a judge yielded, held against what :class:`SampleEvidence` promises, before it is kept or counted.

A judge may be anyone's. Evidence of the wrong shape or outside its range must neither end a run nor become a score, so
such a sample is ``judge_error`` with the part that is wrong as its reason, and is asked for again in the next run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from workbench.data.schema import Sample
from workbench.evidence.judge import Claim, SampleEvidence, failed

#: Rounding of float32 that a probability may show.
_SLACK = 1e-4

_STATES = ("ok", "judge_error", "skipped")
_SPAN = {"start", "end", "text", "kind", "support"}


def checked(item: SampleEvidence, sample: Sample) -> SampleEvidence:
    """``item`` itself when it is what a judge promises for ``sample``, else a ``judge_error`` that says what is not."""
    try:
        wrong = next(_faults(item, sample), None)
    except (TypeError, ValueError, AttributeError, KeyError, IndexError, OverflowError) as error:
        wrong = f"a value of the wrong kind ({type(error).__name__}: {error})"
    if wrong is None:
        return item
    return failed(item.sample_id, f"the judge's evidence cannot be used: {wrong}")


def _faults(item: SampleEvidence, sample: Sample) -> Iterator[str]:
    if item.state not in _STATES:
        yield f"state {item.state!r} is none of {', '.join(_STATES)}"
    n, contexts = len(item.claims), len(sample.contexts or ())
    for name in ("entail", "contradict", "stitched_entail", "stitched_contradict"):
        yield from _array(name, getattr(item, name), (n, contexts))
    for name in ("relevance", "similarity", "relevant_sentences", "n_sentences"):
        yield from _array(name, getattr(item, name), (contexts,), unit=name == "relevance")
    yield from _array("spans", item.spans, (n, contexts, 2), unit=False)
    for name in ("declines", "residual", "relevancy", "answer_similarity"):
        yield from _unit(name, getattr(item, name))
    for question in item.questions:
        yield from _unit("the similarity of a question", question.similarity)
    for claim in item.claims:
        yield from _claim(claim, sample)
    for first, second, probability in item.conflicts:
        if not (0 <= first < n and 0 <= second < n):
            yield f"conflict ({first}, {second}) of {n} claims"
        yield from _unit("a conflict", probability)
    for part, (state, _) in item.missing.items():
        if not isinstance(state, str):
            yield f"missing part {part!r} without a state"


def _array(name: str, values: Any, shape: tuple[int, ...], unit: bool = True) -> Iterator[str]:
    if values is None:
        return
    found = np.asarray(values, dtype=float)
    if found.shape != shape and not (found.size == 0 and 0 in shape):
        yield f"{name} has shape {found.shape} where {shape} is needed"
    elif np.isinf(found).any() or (unit and ((found < -_SLACK) | (found > 1 + _SLACK)).any()):
        yield f"{name} holds values outside {'[0, 1]' if unit else 'any range'}"


def _unit(name: str, value: float) -> Iterator[str]:
    if not np.isnan(value) and not -_SLACK <= value <= 1 + _SLACK:
        yield f"{name} is {value:g}, outside [0, 1]"


def _claim(claim: Claim, sample: Sample) -> Iterator[str]:
    if claim.side not in ("answer", "reference"):
        yield f"side {claim.side!r} of a claim is neither answer nor reference"
    text = (sample.answer if claim.side == "answer" else sample.reference) or ""
    if claim.start >= 0 and not claim.start <= claim.end <= len(text):
        yield f"a claim at {claim.start}–{claim.end} of a text of {len(text)} characters"
    yield from _unit("other_entail", claim.other_entail)
    yield from _unit("other_contradict", claim.other_contradict)
    for span in claim.spans:
        if not isinstance(span, Mapping) or _SPAN - span.keys():
            yield f"a part of a claim lacks {', '.join(sorted(_SPAN - dict(span).keys()))}"
        else:
            yield from _unit("the support of a part", span["support"])
