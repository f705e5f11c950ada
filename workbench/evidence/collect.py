"""From samples to evidence frames: read the texts, ask the judge, lay everything out as rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from workbench.data.schema import NESTED_FIELDS, Corpus, Sample, SampleSet, to_sample
from workbench.data.text.citations import Citation
from workbench.data.text.points import matcher
from workbench.data.text.refusals import may_decline, refusal, refuses
from workbench.data.text.sentences import sentences
from workbench.errors import CancelledError
from workbench.evidence.cache import Cache
from workbench.evidence.consistency import METRIC, facts_of, sampled_consistencies
from workbench.evidence.corpus_ranks import missed_column
from workbench.evidence.frames import COLUMNS, Evidence, encode, frame_of, plain_columns
from workbench.evidence.judge import Judge, SampleEvidence, failed
from workbench.evidence.observe import ChunkIndex, Observation, observe, without_citations
from workbench.evidence.offline.answers import LEFT_OUT, AnswerRight, answer_right
from workbench.evidence.offline.reading import same
from workbench.evidence.offline.relevance import ADDRESSING_ODDS
from workbench.evidence.run import Examined, Progress, examine

#: The most that an answer can seem to decline which makes a part of what is expected.
TELLS_SOME = 0.3
#: Reasons of what is no matter of saying the same, or that words tell better.
NOT_COMPARED = ("no answer", "declines", "declines alike", "answers where the reference declines", "part missing", LEFT_OUT)
#: What a sample's evidence says when no judge was asked.
NOT_ASKED = "no judge was asked; choose one to fill this in"


def collect(
    samples: SampleSet,
    judge: Judge | None,
    *,
    corpus: Corpus | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
    sampled_by_llm: bool = False,
    rank_encoder: Any = None,
) -> Evidence:
    """The evidence of every sample. ``judge=None`` collects only what the texts show.

    With a corpus, the column ``missed`` says where each expected document that was not retrieved stands in it, by words and
    by ``rank_encoder`` (a name, an object, or None for words alone).

    ``sampled_by_llm``: a language model judges ``sampled_consistency`` too, one more call for each sample that has
    ``sampled_answers``.

    Raises ``CancelledError`` when ``cancelled()`` turned true; judgements made until then are in the cache;
    ``JudgeError`` when the judge cannot go on at all.
    """
    rows = _rows(samples.frame)
    read = [_with_best_reference(to_sample(sample_id, row), row.get("references")) for sample_id, row in rows]
    parsed = [sample for sample, *_ in read]
    chunks = ChunkIndex(corpus) if corpus is not None else None
    if judge is None:
        skipped = {s.sample_id: SampleEvidence(s.sample_id, "skipped", NOT_ASKED) for s in parsed}
        examined = Examined(skipped, 0, 0)
    else:
        examined = examine(parsed, judge, cache=cache, progress=progress, cancelled=cancelled)
    agreement = sampled_consistencies(parsed, judge, cache=cache, use_llm=sampled_by_llm)
    items = []
    for (sample, right, unread_reason), (_, row) in zip(read, rows, strict=True):
        if cancelled is not None and cancelled():
            raise CancelledError("cancelled; what was judged is kept and will not be judged again")
        judged = examined.evidence[sample.sample_id]
        right = _as_read(right, judged)
        # Refusals are read once: where a judge has said whether the answer declines, its words are not read again.
        unread = math.isnan(judged.declines) or math.isnan(judged.residual)
        try:
            seen = observe(sample, row, chunks, read_refusal=unread, right=_likely_right(judged, right))
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - a broken or too large text belongs to its sample alone
            unread_reason = _reason(error)
            seen = Observation(n_tokens=[0] * len(sample.contexts or ()), answer_share=[0.0] * len(sample.contexts or ()))
        if unread_reason:
            judged = failed(sample.sample_id, unread_reason)
        # Agreement with other sampled answers, or why there is none though there are such answers.
        found = agreement.get(sample.sample_id)
        seen.facts |= facts_of(found)
        if found is not None and found.state in ("judge_error", "skipped"):
            judged.missing[METRIC] = (found.state, found.reason)
        _add_right(sample, seen, judged, right)
        items.append(_Item(sample, judged, seen, [_metadata(item) for item in row.get("contexts") or ()]))
    evidence = Evidence(
        samples=_samples(samples, items, corpus),
        contexts=_contexts(items),
        claims=_claims(items),
        support=_support(items),
        questions=_questions(items),
        rejected=frame_of(
            "rejected", {**samples.rejected.to_dict("list"), "sample_id": [None] * len(samples.rejected)}
        ),
        manifest={"judged": {"asked": examined.n_asked, "from_cache": examined.n_cached}},
    )
    if corpus is not None:
        evidence.samples["missed"] = missed_column(evidence, corpus, rank_encoder)
    return evidence


def _reason(error: Exception) -> str:
    """Why a sample's texts could not be read: one that is too large or broken does not end the run."""
    return f"its texts could not be read: {type(error).__name__}: {error}"[:200]


def _metadata(item: Mapping[str, Any]) -> Any:
    """Metadata of a context, its kind among them."""
    return item.get("metadata") if item.get("kind") is None else {**(item.get("metadata") or {}), "kind": item["kind"]}


def _with_best_reference(
    sample: Sample, references: Sequence[str] | None
) -> tuple[Sample, AnswerRight | None, str]:
    """The sample with the one alternative of its reference that counts, whether the answer makes its point, and why that
    could not be told.

    The alternative that counts is the one which the answer makes; if it makes none, the first that a context has, so that
    a wrong answer is not put down to retrieval for a wording; else the one that comes closest.
    """
    if not sample.reference:
        return sample, None, ""
    alternatives = list(references or [sample.reference])
    try:
        right = answer_right(sample.question, sample.answer, alternatives)
    except CancelledError:
        raise
    except Exception as error:  # noqa: BLE001 - as for ``observe``
        return sample, None, _reason(error)
    if len(alternatives) == 1:
        return sample, right, ""
    chosen = max(right.alternative, 0)
    if right.probability < 0.5:
        contexts = [matcher(c.text) for c in sample.contexts or () if c.prompted]
        there = (at for at, text in enumerate(alternatives) if any(c.find(text) for c in contexts))
        chosen = next(there, chosen)
    return replace(sample, reference=alternatives[chosen]), right, ""


def _as_read(right: AnswerRight | None, judged: SampleEvidence) -> AnswerRight | None:
    """What the texts show of an answer, with what a judge says that read answer and reference together."""
    if right is None or math.isnan(judged.same) or right.reason in NOT_COMPARED:
        return right
    probability = same(right.probability, judged.same)
    changed = (probability >= 0.5) != (right.probability >= 0.5)
    reason = right.reason if not changed else "makes the point" if probability >= 0.5 else "differs"
    return replace(right, probability=probability, reason=reason)


def _likely_right(judged: SampleEvidence, right: AnswerRight | None) -> bool:
    """Whether the answer makes the point of its reference, by the judge where it says so."""
    likely = judged.answer_right
    return (right.probability if math.isnan(likely) and right is not None else likely) >= 0.5


def _add_right(sample: Sample, seen: Observation, judged: SampleEvidence, right: AnswerRight | None) -> None:
    """Whether the answer is right and what decided; verdicts of the offline judge that follow from it agree with it."""
    if judged.method.startswith("offline") and not math.isnan(judged.relevancy):
        judged.relevancy = _addressing(judged.relevancy, seen, right)
    if _tells_some(sample, seen, right):
        _not_declined(seen, judged, TELLS_SOME)
        if judged.method.startswith("offline"):  # what a model says of it stands
            judged.relevancy = max(judged.relevancy, 1 - TELLS_SOME)  # it makes a point, NaN stays
    if right is None or right.reason == "no answer":
        return
    if not math.isnan(judged.answer_right):
        seen.facts["text_right"] = judged.answer_right
        return
    seen.facts |= {"text_right": right.probability, "text_right_reason": right.reason}
    claims = [claim for claim in judged.claims if claim.side == "reference"]
    if len(claims) == 1 and judged.method.startswith("offline"):
        claims[0].other_entail = right.probability
        claims[0].other_contradict = min(claims[0].other_contradict, 1 - right.probability)
    declining = sample.expect_refusal or right.reason == "declines alike" or refuses(sample.reference or "")
    if right.probability >= 0.5 and not declining:
        # Who makes the point of the reference has not declined, however short the answer is.
        _not_declined(seen, judged, 1 - right.probability)


def _not_declined(seen: Observation, judged: SampleEvidence, declines: float) -> None:
    """Bound the probability that an answer declines, as read from its texts."""
    if judged.method.startswith("offline"):
        judged.declines = min(judged.declines, declines)
    if "text_declines" in seen.facts:
        seen.facts["text_declines"] = min(seen.facts["text_declines"], declines)


def _tells_some(sample: Sample, seen: Observation, right: AnswerRight | None) -> bool:
    """Whether an answer that declines something makes a key point, or a part of the point of its reference, beside it; or its
    reference says itself what seems to decline ("the origin is unknown, although …").

    What the question says already is no point, nor is what stands in the words that decline."""
    points = [point for point in seen.points if point.side == "point"]
    partly = right is not None and right.reason == LEFT_OUT
    answer, reference = sample.answer or "", matcher(sample.reference or "")
    if sample.expect_refusal or not answer:
        return False
    if not may_decline(answer):  # without a word that declines, however it is read ("The answer is: clay.")
        return partly or any(point.start >= 0 for point in points)
    declined = refusal(answer, sample.refusal_phrases, sample.asked).spans
    if not declined:
        return False
    if refusal(sample.reference or "").probability < 0.5 and all(reference.find(span.text) is not None for span in declined):
        return True
    asked = matcher(sample.asked)
    made = (p for p in points if p.start >= 0 and not any(s.start <= p.start < s.end for s in declined))
    if any(all(asked.find(option) is None for option in point.text.split(" | ")) for point in made):
        return True
    rest = "".join(" " if any(s.start <= at < s.end for s in declined) else c for at, c in enumerate(answer))
    return partly and answer_right(sample.question, rest, sample.reference or "").reason == LEFT_OUT


def _addressing(relevancy: float, seen: Observation, right: AnswerRight | None) -> float:
    """The probability that an answer addresses its question, knowing how likely it is right: who is right has addressed it,
    and of wrong answers as many are about something else as not."""
    points = [point for point in seen.points if point.side == "point"]
    if right is None and not points:
        return relevancy
    likely = max(float(any(point.start >= 0 for point in points)), 0.0 if right is None else right.probability)
    even = relevancy / (relevancy + ADDRESSING_ODDS * (1 - relevancy))
    return float(likely + (1 - likely) * even)


@dataclass(slots=True)
class _Item:
    sample: Sample
    judged: SampleEvidence
    seen: Observation
    metadata: list[Any]


def _rows(frame: pd.DataFrame) -> list[tuple[str, dict[str, Any]]]:
    names = list(frame.columns)
    rows = zip(frame.index.tolist(), *plain_columns(frame, names), strict=True)
    return [(str(sample_id), dict(zip(names, values, strict=True))) for sample_id, *values in rows]


# ---------------------------------------------------------------- samples


#: Column ``judge_…`` → attribute of the evidence.
_JUDGED = {
    "state": "state", "reason": "reason", "method": "method", "declines": "declines", "residual": "residual",
    "relevancy": "relevancy", "answer_similarity": "answer_similarity", "basis": "relevance_basis",
}  # fmt: skip


def _samples(samples: SampleSet, items: Sequence[_Item], corpus: Corpus | None) -> pd.DataFrame:
    frame = samples.frame.drop(columns="contexts", errors="ignore").copy()
    frame.index = frame.index.astype("str")
    frame["reference"] = pd.Series([item.sample.reference for item in items], index=frame.index, dtype=object)
    for name in frame.columns:
        if name in NESTED_FIELDS or frame[name].dtype == object:
            values = frame[name].tolist()
            if name in NESTED_FIELDS or any(isinstance(v, (list, tuple, dict)) for v in values):
                texts = [None if isinstance(v, float) and math.isnan(v) else encode(v) for v in values]
                frame[name] = pd.Series(texts, index=frame.index, dtype="object")
    added: dict[str, list[Any]] = {
        "contexts_recorded": [item.sample.contexts is not None for item in items],
        "input_errors": _input_errors(samples),
    }
    for name, field in _JUDGED.items():
        added[f"judge_{name}"] = [getattr(item.judged, field) for item in items]
    for name in ("reason", "method", "basis"):
        added[f"judge_{name}"] = [value or None for value in added[f"judge_{name}"]]
    for name in ("missing", "conflicts", "notes"):
        added[f"judge_{name}"] = [encode(getattr(item.judged, name) or None) for item in items]
    added["not_in_corpus"] = _outside(samples, corpus)
    for name in sorted({name for item in items for name in item.seen.facts}):
        values = [item.seen.facts.get(name) for item in items]
        added[name] = [encode(v) if isinstance(v, list) else v for v in values]
    extra = pd.DataFrame(
        {name: pd.Series(values, index=frame.index) for name, values in added.items()}, index=frame.index
    )
    for name in samples.recorded_scores.columns:
        extra[f"recorded:{name}"] = samples.recorded_scores[name].to_numpy()
    clash = frame.columns.intersection(extra.columns)
    return pd.concat([frame.drop(columns=clash), extra], axis=1)


def _input_errors(samples: SampleSet) -> list[str | None]:
    by_field = samples.attributes.get("input_errors", {})
    by_sample: dict[str, dict[str, str]] = {}
    for name, reasons in by_field.items():
        for sample_id, reason in reasons.items():
            by_sample.setdefault(str(sample_id), {})[name] = reason
    return [encode(by_sample.get(str(sample_id))) for sample_id in samples.frame.index]


def _outside(samples: SampleSet, corpus: Corpus | None) -> list[str | None]:
    """Expected ids that the corpus does not have, as JSON (``[]`` = all are there), None where nothing is expected."""
    if corpus is None:
        return [None] * len(samples)
    known = set(corpus.frame.index.astype(str)) | set(corpus.frame["source"].dropna().astype(str))
    expected = [e if isinstance(e, (list, tuple, dict)) else None for e in samples.frame["expected_docs"].tolist()]
    ids = [
        None if value is None else [str(i) for e in value for i in (e if isinstance(e, (list, tuple)) else (e,))]
        for value in expected
    ]
    return [None if value is None else encode([i for i in value if i not in known]) for value in ids]


# ---------------------------------------------------------------- contexts and claims


def _contexts(items: Sequence[_Item]) -> pd.DataFrame:
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS["contexts"]}
    for item in items:
        contexts, judged = item.sample.contexts or (), item.judged
        n = len(contexts)
        relevance = _per_context(judged.relevance, n)
        state, reason = judged.state, judged.reason
        if state == "ok":
            state, reason = judged.missing.get("relevance", (state, reason))
        columns["sample_id"] += [item.sample.sample_id] * n
        columns["rank"] += range(1, n + 1)
        for name in ("doc_id", "text", "score", "title", "tenant", "position", "source", "prompted"):
            columns[name] += [getattr(c, name) for c in contexts]
        columns["metadata"] += [encode(m) for m in item.metadata]
        columns["relevance"] += relevance
        for name in ("similarity", "relevant_sentences", "n_sentences"):
            columns[name] += _per_context(getattr(judged, name), n)
        columns["n_tokens"] += item.seen.n_tokens
        columns["answer_share"] += item.seen.answer_share
        missing = state if state != "ok" else "judge_error"
        columns["state"] += ["ok" if math.isfinite(v) else missing for v in relevance]
        columns["reason"] += [None if math.isfinite(v) else reason or "the judge gave no relevance" for v in relevance]
    return frame_of("contexts", columns)


def _per_context(values: np.ndarray | None, n: int) -> list[float]:
    return [math.nan] * n if values is None else np.asarray(values, dtype=float).tolist()


def _claims(items: Sequence[_Item]) -> pd.DataFrame:
    rows = [row for item in items for row in (*_judged_claims(item), *_points(item), *_citations(item))]
    return _frame("claims", rows)


def _frame(name: str, rows: Sequence[tuple[Any, ...]]) -> pd.DataFrame:
    """Rows in the order of the frame's columns."""
    columns = zip(*rows, strict=True) if rows else [()] * len(COLUMNS[name])
    return frame_of(name, dict(zip(COLUMNS[name], map(list, columns), strict=True)))


def _judged_claims(item: _Item) -> Iterable[tuple[Any, ...]]:
    judged = item.judged
    conflict = [0.0] * len(judged.claims)
    for a, b, p in judged.conflicts:
        conflict[a], conflict[b] = max(conflict[a], p), max(conflict[b], p)
    starts = [s.start for s in sentences(item.sample.answer or "")]
    numbers = {"answer": 0, "reference": 0}
    for claim, clash in zip(judged.claims, conflict, strict=True):
        number = numbers[claim.side]
        numbers[claim.side] += 1
        sentence = _sentence(starts, claim.start) if claim.side == "answer" and claim.start >= 0 else claim.sentence
        yield (item.sample.sample_id, claim.side, number, claim.text, claim.start, claim.end, sentence,
               claim.other_entail, claim.other_contradict, clash, ",".join(claim.kinds), encode(claim.spans or None),
               -1, None, None, "ok", claim.reason or None)  # fmt: skip


def _sentence(starts: Sequence[int], offset: int) -> int:
    """Number of the sentence that ``offset`` lies in."""
    return max(0, int(np.searchsorted(starts, offset, side="right")) - 1)


def _points(item: _Item) -> Iterable[tuple[Any, ...]]:
    answered = bool(item.sample.answer and item.sample.answer.strip())
    for point in item.seen.points:
        made = float(point.start >= 0) if answered else math.nan
        yield (item.sample.sample_id, point.side, point.number, point.text, point.start, point.end, -1, made, math.nan,
               math.nan, "", None, -1, None, point.elsewhere or None, "ok", None)  # fmt: skip


def _citations(item: _Item) -> Iterable[tuple[Any, ...]]:
    parts = sentences(item.sample.answer or "") if item.seen.citations else []
    for number, (mark, rank, doc_id) in enumerate(item.seen.citations):
        sentence = _cited_sentence(item.sample.answer or "", [s.start for s in parts], mark) if mark.start >= 0 else -1
        yield (item.sample.sample_id, "citation", number, mark.text, mark.start, mark.end, sentence, math.nan, math.nan,
               math.nan, "", None, rank, doc_id or None, None, "ok", None)  # fmt: skip


#: Characters before a mark that are looked at for words of its own sentence.
_BEFORE_MARK = 1_000


def _cited_sentence(answer: str, starts: Sequence[int], mark: Citation) -> int:
    """The sentence that a mark belongs to: its own, or the one before when nothing but marks stands before it."""
    own = _sentence(starts, mark.start)
    before = without_citations(answer[max(starts[own], mark.start - _BEFORE_MARK) : mark.start]) if starts else ""
    return own - 1 if own > 0 and not any(c.isalnum() for c in before) else own


# ---------------------------------------------------------------- support


def _support(items: Sequence[_Item]) -> pd.DataFrame:
    blocks = [block for item in items for block in (*_judged_cells(item), *_point_cells(item))]
    lengths = [len(block[3]) for block in blocks]
    if not sum(lengths):
        return frame_of("support", {})
    owner = np.repeat(np.arange(len(blocks)), lengths)
    order: dict[str, int] = {item.sample.sample_id: i for i, item in enumerate(items)}
    sample = np.array([order[block[0]] for block in blocks])[owner]
    sides = ("answer", "reference", "point")
    columns = {
        "sample_id": pd.Categorical.from_codes(sample, categories=pd.Index(list(order), dtype="str")),
        "side": pd.Categorical.from_codes(np.array([sides.index(b[1]) for b in blocks])[owner], categories=list(sides)),
        "claim_id": np.array([b[2] for b in blocks])[owner],
        "rank": np.concatenate([np.arange(1, n + 1) for n in lengths]),
    }
    names = ("entail", "contradict", "stitched_entail", "stitched_contradict", "span_start", "span_end")
    columns |= {name: np.concatenate([b[3 + i] for b in blocks]) for i, name in enumerate(names)}
    missing = np.isnan(columns["entail"]) | np.isnan(columns["contradict"])
    columns["state"] = pd.Categorical.from_codes(missing.astype(np.int8), categories=["ok", "judge_error"])
    return frame_of("support", columns)


def _judged_cells(item: _Item) -> Iterable[tuple[Any, ...]]:
    judged, n = item.judged, len(item.sample.contexts or ())
    if judged.entail is None or not n:
        return
    empty = np.full(n, np.nan, dtype=np.float32)
    nowhere = np.full((n, 2), -1, dtype=np.int32)
    numbers = {"answer": 0, "reference": 0}
    for i, claim in enumerate(judged.claims):
        span = nowhere if judged.spans is None else judged.spans[i]
        yield (item.sample.sample_id, claim.side, numbers[claim.side], judged.entail[i],
               empty if judged.contradict is None else judged.contradict[i],
               empty if judged.stitched_entail is None else judged.stitched_entail[i],
               empty if judged.stitched_contradict is None else judged.stitched_contradict[i],
               span[:, 0], span[:, 1])  # fmt: skip
        numbers[claim.side] += 1


def _point_cells(item: _Item) -> Iterable[tuple[Any, ...]]:
    contexts = item.sample.contexts or ()
    for point in item.seen.points:
        if point.side == "point" and contexts:
            # Alone and stitched with the next chunk: 1 where the point stands, else 0 or missing.
            inside = np.array([float(start >= 0) for start, _ in point.inside], dtype=np.float32)
            across = np.array([1.0 if there else np.nan for there in point.across], dtype=np.float32)
            starts, ends = np.array(point.inside, dtype=np.int32).T
            zeros = np.zeros(len(contexts), dtype=np.float32)
            yield item.sample.sample_id, "point", point.number, inside, zeros, across, zeros, starts, ends


def _questions(items: Sequence[_Item]) -> pd.DataFrame:
    rows = [
        (item.sample.sample_id, number, question.text, question.similarity)
        for item in items
        for number, question in enumerate(item.judged.questions)
    ]
    return _frame("questions", rows)
