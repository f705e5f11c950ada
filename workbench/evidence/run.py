"""Running a judge over samples: what was judged before comes from the cache, what is judged now goes there at once."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from workbench.data.schema import Sample
from workbench.errors import CancelledError, JudgeError, WorkbenchError
from workbench.evidence.cache import Cache, content_key
from workbench.evidence.checking import checked
from workbench.evidence.judge import Judge, SampleEvidence, failed
from workbench.evidence.serial import from_text, to_text

NAMESPACE = "judgements"

#: Judgements are committed in groups of at most this many, and at least once a second.
COMMIT_EVERY = 64

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


def judgement_key(judge_name: str, sample: Sample) -> str:
    """The content key of one judgement: the judge and every part of the sample that it may look at, not its id."""
    contexts = None if sample.contexts is None else [
        [c.text, c.doc_id, c.title, c.source, c.position, c.prompted] for c in sample.contexts
    ]  # fmt: skip
    return content_key(
        judge_name, sample.question, sample.answer, contexts, sample.reference, list(sample.refusal_phrases),
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

    Judge errors are not cached, so that the next run tries those samples again.

    Raises
    ------
    CancelledError
        When ``cancelled()`` turns true; all that was judged until then is in the cache.
    JudgeError
        When the judge cannot go on at all.
    """
    keys = [judgement_key(judge.name, sample) for sample in samples]
    found = _cached(keys, cache)
    pending = {key: sample for key, sample in zip(keys, samples, strict=True) if key not in found}
    n_cached = sum(key in found for key in keys)
    report = progress or (lambda done, total, cached: None)
    report(n_cached, len(samples), n_cached)
    copies = {sample.sample_id: key for key, sample in pending.items()}
    done = n_cached
    for items in _groups(_yielded(judge, list(pending.values())), cancelled):
        group = [checked(item, pending[copies[item.sample_id]]) for item in items if _asked_for(item, copies)]
        fresh = {copies[item.sample_id]: to_text(item) for item in group}
        found.update(fresh)
        good = {copies[item.sample_id]: fresh[copies[item.sample_id]] for item in group if _keepable(item)}
        if cache is not None and good:
            cache.put_many(NAMESPACE, good)
        done = min(done + len(group), len(samples))
        report(done, len(samples), n_cached)
    report(len(samples), len(samples), n_cached)
    evidence = {
        sample.sample_id: from_text(found[key], sample.sample_id)
        if key in found
        else failed(sample.sample_id, "the judge gave no evidence for this sample")
        for key, sample in zip(keys, samples, strict=True)
    }
    return Examined(evidence, n_cached, len(pending))


def _keepable(item: SampleEvidence) -> bool:
    return item.state == "ok" and not any(state == "judge_error" for state, _ in item.missing.values())


def _cached(keys: Sequence[str], cache: Cache | None) -> dict[str, str]:
    if cache is None:
        return {}
    found = cache.get_many(NAMESPACE, list(dict.fromkeys(keys)))
    return {key: text for key, text in found.items() if _readable(text)}


def _readable(text: str) -> bool:
    try:
        from_text(text, "")
    except (ValueError, KeyError, TypeError) as error:
        _log.warning("a cached judgement cannot be read and is made anew: %s", error)
        return False
    return True


def _yielded(judge: Judge, samples: Sequence[Sample]) -> Iterator[SampleEvidence]:
    """What the judge yields; whatever else it raises is an error of this judge."""
    try:
        yield from judge.examine(samples)
    except WorkbenchError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise JudgeError(f"judge {judge.name[:80]} failed ({reason}); what it judged before is kept") from error


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
