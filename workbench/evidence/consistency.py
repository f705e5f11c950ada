"""How far an answer agrees with other recorded answers of the same system to the same question (``sampled_answers``).

Three ways, all in [0, 1], higher is better, after SelfCheckGPT (Manakul et al. 2023): what a system makes up differs from
one answer to the next.

``ngram``
    Without a judge: the share of each sentence's pairs of neighbouring words that stand in the other answer, meaned over
    other answers and sentences (a bounded form of SelfCheckGPT-ngram). A sentence of one word counts that word.
``support``
    With the offline judge or a local cross-encoder: the calibrated probability that the other answer supports a claim,
    meaned over other answers and claims (as SelfCheckGPT-NLI).
``llm``
    With a language model, only when the metric is asked for by name, because it takes one more call a sample: see
    ``workbench.evidence.llm.rubric.sampled_consistency``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.data.schema import Context, Sample
from workbench.data.text.sentences import sentences
from workbench.data.text.words import tokens
from workbench.evidence.run import examine

if TYPE_CHECKING:
    from workbench.evidence.cache import Cache
    from workbench.evidence.judge import Judge

METRIC = "sampled_consistency"
NGRAM, SUPPORT, LLM = "ngram", "support", "llm"
_NAN = float("nan")


class Consistency(NamedTuple):
    """``score`` in [0, 1] (NaN without one), how it was found, and for what could not be judged its state and reason."""

    score: float
    method: str
    state: str = "ok"
    reason: str = ""


def ngram_consistency(answer: str, others: Sequence[str]) -> float:
    """The ``ngram`` score of one answer; NaN without words or without other answers."""
    spoken = [_words(span.text) for span in sentences(answer)]
    parts: list[set[tuple[str, ...]]] = [set(pairwise(words)) or {(words[0],)} for words in spoken if words]
    known = [words for text in others if (words := _words(text))]
    if not parts or not known:
        return _NAN
    found: list[set[tuple[str, ...]]] = [{*pairwise(words), *((word,) for word in words)} for words in known]
    return float(np.mean([len(part & there) / len(part) for part in parts for there in found]))


def _words(text: str) -> list[str]:
    return [token.text.casefold() for token in tokens(text)]


def sampled_consistencies(
    samples: Sequence[Sample], judge: Judge | None, *, cache: Cache | None = None, use_llm: bool = False
) -> dict[str, Consistency]:
    """The best of the three ways that ``judge`` allows, by sample id; only samples that have what it takes.

    Raises ``JudgeError`` when the judge cannot go on at all.
    """
    able = [s for s in samples if s.answer and s.answer.strip() and any(text.strip() for text in s.sampled_answers)]
    if not able:
        return {}
    model = getattr(judge, "llm", judge)
    if use_llm and hasattr(model, "batch"):
        return _by_llm(able, model)
    local = getattr(judge, "offline", judge)
    if local is not None and hasattr(local, "coefficients"):
        return _by_support(able, local, cache)
    return {s.sample_id: Consistency(ngram_consistency(s.answer or "", s.sampled_answers), NGRAM) for s in able}


def _by_support(samples: Sequence[Sample], judge: Judge, cache: Cache | None) -> dict[str, Consistency]:
    # The answer is judged against the other answers, nothing else.
    others = [tuple(Context(text) for text in sample.sampled_answers if text.strip()) for sample in samples]
    asked = [
        replace(sample, contexts=contexts, reference=None, sampled_answers=())
        for sample, contexts in zip(samples, others, strict=True)
    ]
    evidence = examine(asked, judge, cache=cache).evidence
    found = {}
    for sample in asked:
        entail = evidence[sample.sample_id].entail
        score = float(np.mean(entail)) if entail is not None and entail.size else _NAN
        found[sample.sample_id] = Consistency(score, f"{SUPPORT}:{getattr(judge, 'method', judge.name)}")
    return found


def _by_llm(samples: Sequence[Sample], judge: Any) -> dict[str, Consistency]:
    from workbench.evidence.llm.rubric import sampled_consistency

    rows: Iterable[Any] = sampled_consistency(judge, samples).itertuples()
    return {row.sample_id: Consistency(row.score, f"{LLM}:{row.method}", row.state, row.reason) for row in rows}


def facts_of(found: Consistency | None) -> dict[str, Any]:
    """Columns of the samples frame: ``text_sampled_consistency`` and how it was found."""
    if found is None:
        return {}
    score = None if math.isnan(found.score) else found.score
    return {f"text_{METRIC}": score, f"text_{METRIC}_method": found.method}
