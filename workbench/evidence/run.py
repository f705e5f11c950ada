"""Running a judge over samples: what was judged before comes from the cache, what is judged now goes there at once."""

from __future__ import annotations

import base64
import dataclasses
import json
import logging
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from workbench.data.schema import Sample
from workbench.data.text.normalise import scrub
from workbench.errors import CancelledError, JudgeError, WorkbenchError
from workbench.evidence.cache import Cache, content_key
from workbench.evidence.judge import Claim, Judge, ReverseQuestion, SampleEvidence, failed
from workbench.steps import ByText, watched

# ---------------------------------------------------------------- what a judge yielded, before it is kept or counted
#
# A judge may be anyone's. Evidence of the wrong shape or outside its range must neither end a run nor become a score, so
# such a sample is ``judge_error`` with the part that is wrong as its reason, and is asked for again in the next run.


#: Rounding of float32 that a probability may show.
_SLACK = 1e-4

_STATES = ("ok", "judge_error", "skipped")
_GRIDS = ("entail", "contradict", "stitched_entail", "stitched_contradict")
_PER_CONTEXT = ("relevance", "similarity", "relevant_sentences", "n_sentences")
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
    for name in _GRIDS:
        yield from _array(name, getattr(item, name), (n, contexts))
    for name in _PER_CONTEXT:
        yield from _array(name, getattr(item, name), (contexts,), unit=name == "relevance")
    yield from _array("spans", item.spans, (n, contexts, 2), unit=False)
    for name in ("declines", "residual", "relevancy", "answer_similarity", "answer_right", "same"):
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


# ---------------------------------------------------------------- one sample's evidence as JSON text and back
#
# This is what the cache of judgements holds. Arrays are base64 of their bytes.

_ARRAYS = {"spans": np.int32, **dict.fromkeys((*_GRIDS, *_PER_CONTEXT), np.float32)}


def to_text(evidence: SampleEvidence) -> str:
    """``evidence`` without its sample id as JSON text; half characters that a model wrote become U+FFFD."""
    fields = {item.name: getattr(evidence, item.name) for item in dataclasses.fields(evidence)}
    del fields["sample_id"]
    for name, kind in _ARRAYS.items():
        if fields[name] is not None:
            array = np.ascontiguousarray(fields[name], dtype=kind)
            fields[name] = [list(array.shape), base64.b64encode(array.tobytes()).decode("ascii")]
    fields["claims"] = [dataclasses.asdict(claim) for claim in evidence.claims]
    fields["questions"] = [dataclasses.asdict(question) for question in evidence.questions]
    return scrub(json.dumps(fields, ensure_ascii=False, default=float))


def from_text(text: str, sample_id: str) -> SampleEvidence:
    """The inverse of :func:`to_text`, for the sample ``sample_id``.

    Raises ``ValueError``, ``KeyError`` or ``TypeError`` when the text was not written by this version.
    """
    fields = json.loads(text)
    for name, kind in _ARRAYS.items():
        if fields[name] is not None:
            shape, data = fields[name]
            fields[name] = np.frombuffer(base64.b64decode(data), dtype=kind).reshape(shape).copy()
    fields["claims"] = [Claim(**{**claim, "kinds": tuple(claim["kinds"])}) for claim in fields["claims"]]
    fields["questions"] = [ReverseQuestion(**question) for question in fields["questions"]]
    fields["conflicts"] = [(int(a), int(b), float(p)) for a, b, p in fields["conflicts"]]
    fields["missing"] = {part: (state, reason) for part, (state, reason) in fields["missing"].items()}
    return SampleEvidence(sample_id=sample_id, **fields)


# ---------------------------------------------------------------- examining samples

NAMESPACE = "judgements"

#: Judgements are committed in groups of at most this many, and at least once a second.
COMMIT_EVERY = 64

#: Samples that a judge may fail on one after another until it counts as unusable.
MOST_IN_A_ROW = 8
#: Samples among which the one that a judge fails on is looked for.
_TOGETHER = 64

_log = logging.getLogger(__name__)


class Progress(Protocol):
    """Called as samples are finished, from the thread that runs the judge."""

    def __call__(self, done: int, total: int, cached: int) -> None:
        """``done`` of ``total`` samples are finished, ``cached`` of them without asking the judge."""
        ...


class Examined(NamedTuple):
    """Evidence by sample id; samples that came from the cache, and distinct ones that the judge was asked for."""

    evidence: dict[str, SampleEvidence]
    n_cached: int
    n_asked: int


def _asked(sample: Sample) -> str:
    """The question with everything before it that a judge may look at; the question itself where nothing was."""
    return "\n".join([sample.conversation, *([sample.rewritten_question] if sample.rewritten_question else [])])


def judgement_key(judge_name: str, sample: Sample) -> str:
    """The content key of one judgement: the judge and every part of the sample that it may look at, not its id."""
    contexts = None if sample.contexts is None else [
        [c.text, c.doc_id, c.title, c.source, c.position, c.prompted] for c in sample.contexts
    ]  # fmt: skip
    return content_key(
        judge_name, _asked(sample), sample.answer, contexts, sample.reference, list(sample.refusal_phrases),
        list(sample.sampled_answers),
    )  # fmt: skip


def examine(
    samples: Sequence[Sample],
    judge: Judge,
    *,
    cache: Cache | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Examined:
    """Evidence of every sample; samples of equal content are judged once.

    Raises ``CancelledError`` when ``cancelled()`` turns true; all that was judged until then is in the cache;
    ``JudgeError`` when the judge cannot go on at all.
    """
    keys = [judgement_key(judge.name, sample) for sample in samples]
    found = _cached(keys, cache)
    pending = {key: sample for key, sample in zip(keys, samples, strict=True) if key not in found}
    n_cached = sum(key in found for key in keys)
    tally = _Tally(progress, judge, pending, len(samples), n_cached)
    copies = {sample.sample_id: key for key, sample in pending.items()}
    with watched(cancelled, tally.encoded):
        for items in _groups(_yielded(judge, list(pending.values())), cancelled):
            group = {copies[item.sample_id]: item for item in items if _asked_for(item, copies)}
            group = {key: checked(item, pending[key]) for key, item in group.items()}
            fresh = {key: to_text(item) for key, item in group.items()}
            found.update(fresh)
            # Errors are not kept, so that the next run tries those samples again.
            if cache is not None and (good := {key: fresh[key] for key, item in group.items() if _whole(item)}):
                cache.put_many(NAMESPACE, good)
            tally.judged(group)
    tally.ended()
    evidence = {
        sample.sample_id: from_text(found[key], sample.sample_id)
        if key in found
        else failed(sample.sample_id, "the judge gave no evidence for this sample")
        for key, sample in zip(keys, samples, strict=True)
    }
    return Examined(evidence, n_cached, len(pending))


class _Tally:
    """Tells a progress callback what is done: samples, and where it is a :class:`ByText` the share of the text.

    A judge whose time goes by the length of texts says with ``efforts(samples)`` how many characters it will encode for
    each; for others every sample counts the same.
    """

    #: Of the time for a text, what its encoding takes.
    ENCODING = 0.9

    def __init__(
        self, progress: Progress | None, judge: Judge, pending: Mapping[str, Sample], total: int, cached: int
    ) -> None:
        efforts = getattr(judge, "efforts", lambda samples: [1.0] * len(samples))(list(pending.values()))
        self._efforts = dict(zip(pending, efforts, strict=True))
        self._progress, self._total, self._cached, self._done = progress, total, cached, cached
        self._all, self._finished, self._encoded = sum(efforts), 0.0, 0.0
        self._tell()

    def encoded(self, characters: int) -> None:
        """So many more were encoded, of samples that are not finished yet."""
        self._encoded += self.ENCODING * characters
        self._tell()

    def judged(self, keys: Iterable[str]) -> None:
        """These samples are finished."""
        for key in keys:
            self._finished += self._efforts[key]
            self._done = min(self._done + 1, self._total)
        self._tell()

    def ended(self) -> None:
        """All are."""
        self._done, self._finished = self._total, self._all
        self._tell()

    def _tell(self) -> None:
        if isinstance(self._progress, ByText) and self._all:
            # What was encoded before it was expected to be, and less than expected, both right themselves.
            share = min(max(self._finished, min(self._encoded, self._all * self.ENCODING)) / self._all, 1.0)
            self._progress.share = max(share, self._progress.share or 0.0)
        if self._progress is not None:
            self._progress(self._done, self._total, self._cached)


def _whole(item: SampleEvidence) -> bool:
    return item.state == "ok" and not any(state == "judge_error" for state, _ in item.missing.values())


def _cached(keys: Sequence[str], cache: Cache | None) -> dict[str, str]:
    """What the cache has and this version can read."""
    found = {} if cache is None else cache.get_many(NAMESPACE, list(dict.fromkeys(keys)))
    for key, text in tuple(found.items()):
        try:
            from_text(text, "")
        except (ValueError, KeyError, TypeError) as error:
            _log.warning("a cached judgement cannot be read and is made anew: %s", error)
            del found[key]
    return found


def _yielded(judge: Judge, samples: Sequence[Sample]) -> Iterator[SampleEvidence]:
    """What the judge yields. A sample that it raises on is a ``judge_error`` with the reason, and the others are asked for
    again; a judge that raises on all of them, or on :data:`MOST_IN_A_ROW` one after another, cannot be used."""
    groups, failures, any_good = [list(samples)], 0, False
    while groups:
        waiting = {sample.sample_id: sample for sample in groups.pop()}
        try:
            for item in judge.examine(list(waiting.values())):
                if isinstance(item, SampleEvidence) and waiting.pop(item.sample_id, None) is not None:
                    failures, any_good = 0, True
                yield item
        except WorkbenchError:
            raise
        except Exception as error:
            left = list(waiting.values())
            if len(left) > 1:
                # The cause is one of the next few, where judges work in groups: it is looked for by halves.
                cut = _TOGETHER if len(left) > _TOGETHER else len(left) // 2
                groups += [left[cut:], left[:cut]]
                continue
            reason = f"{type(error).__name__}: {error}"[:200]
            failures += 1
            if failures == MOST_IN_A_ROW or not (any_good or groups):
                raise JudgeError(f"judge {judge.name[:80]} failed ({reason}); what it judged before is kept") from error
            for sample in left:
                yield failed(sample.sample_id, f"the judge failed on this sample: {reason}")


def _asked_for(item: Any, copies: Mapping[str, str]) -> bool:
    """Whether a judge was asked for this; what it invents is left out, and said."""
    known = isinstance(item, SampleEvidence) and item.sample_id in copies
    if not known:
        _log.warning("the judge yielded something it was not asked for (%s); it is left out", type(item).__name__)
    return known


def _groups(evidence: Iterator[SampleEvidence], cancelled: Callable[[], bool] | None) -> Iterator[list[SampleEvidence]]:
    """Gather what the judge yields until there are enough or a second has passed; commit before cancelling."""
    group: list[SampleEvidence] = []
    started = time.monotonic()
    try:
        for item in evidence:
            group.append(item)
            stop = cancelled is not None and cancelled()
            if stop or len(group) >= COMMIT_EVERY or time.monotonic() - started > 1:
                yield group
                group, started = [], time.monotonic()
            if stop:
                raise CancelledError("cancelled; what was judged is kept and will not be judged again")
    except WorkbenchError:
        if group:
            yield group
        raise
    else:
        if group:
            yield group
    finally:
        # A judge that works in a thread of its own stops now, not when the traceback that holds it is forgotten.
        if isinstance(evidence, Generator):
            evidence.close()
