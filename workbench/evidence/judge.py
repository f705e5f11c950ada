"""What a judge is: one method that turns samples into evidence.

A judge never scores. It says, for each claim and each context, how far the context entails or contradicts the claim,
how relevant each context is, and what else it saw. Scores, verdicts and causes are derived from that and the thresholds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from workbench.data.schema import Sample

Side = Literal["answer", "reference"]
Floats = NDArray[np.float32]

#: Claims kept on one side; more are left out and the cap is said in ``reason``.
MAX_CLAIMS = 200


@dataclass(slots=True)
class Claim:
    """One statement of an answer or a reference.

    Attributes
    ----------
    start, end
        Offsets in the text it stands in; -1 when a judge reworded it and it cannot be located.
    sentence
        Number of the sentence it belongs to, from 0; claims of one sentence share it.
    other_entail, other_contradict
        In [0, 1]: an answer claim against the reference, a reference claim against the answer. NaN = not judged.
    spans
        Parts that are judged by themselves: ``{"start", "end", "text", "kind", "support"}``, offsets in the same text
        as ``start``; kind is number, date, entity, negation or term.
    kinds
        What makes an unsupported claim serious: any of ``number, date, absolute, entity``.
    reason
        Why a value is missing, or what to know about it (cap, unverified quote).
    """

    side: Side
    text: str
    start: int = -1
    end: int = -1
    sentence: int = 0
    other_entail: float = float("nan")
    other_contradict: float = float("nan")
    spans: list[dict[str, Any]] = field(default_factory=list)
    kinds: tuple[str, ...] = ()
    reason: str = ""


@dataclass(slots=True)
class ReverseQuestion:
    """A question made from the answer alone, and its similarity to the real one in [0, 1] (NaN = not computed)."""

    text: str
    similarity: float = float("nan")


@dataclass(slots=True)
class SampleEvidence:
    """Everything a judge says about one sample. ``n`` claims (both sides), ``T`` contexts (all recorded ones).

    Attributes
    ----------
    state, reason
        ``ok``; ``judge_error`` when nothing could be judged; ``skipped`` when it was left out (budget, cancel).
    entail, contradict
        (n, T) in [0, 1], rows as ``claims``; NaN = that verdict is missing (an error when ``state`` is ok).
    stitched_entail, stitched_contradict
        (n, T): the claim against context t joined with the next chunk of the same document; NaN where there is none.
    spans
        (n, T, 2) int32: the best evidence in the context text; -1 where there is none.
    relevance
        (T,) in [0, 1]: how far the context helps to produce the reference, or without one, to answer the question.
    relevance_basis
        ``reference`` or ``question``.
    similarity
        (T,): the encoder's similarity of question and context, NaN when there is no encoder.
    relevant_sentences, n_sentences
        (T,): relevant sentences of each context, and all of them; NaN when not judged.
    declines
        Probability that the answer declines; NaN = not judged.
    residual
        Probability that the answer, beside declining, makes a claim that answers the question; NaN = not judged.
    relevancy
        In [0, 1], judges that estimate answer relevancy directly; NaN when it comes from ``questions``.
    answer_similarity
        Similarity of answer and reference as a percentile in [0, 1]; NaN when not computed.
    answer_right
        Probability that the answer makes the point of the reference; NaN: the texts are compared as for every judge.
    same
        Probability that answer and reference say the same, as read together, beside what their texts show; NaN = not read.
    conflicts
        Pairs of answer claims (indices into ``claims``) that contradict each other, with probability.
    missing
        Parts that this judge does not produce or failed to, ``{part: (state, reason)}``; parts are ``claims,
        support, reference, relevance, sentences, refusal, relevancy, similarity, conflicts, sampled_consistency``.
    notes
        Findings for people: text that addresses the judge, a budget that cut contexts, a repaired reply.
    """

    sample_id: str
    state: str = "ok"
    reason: str = ""
    method: str = ""
    claims: list[Claim] = field(default_factory=list)
    entail: Floats | None = None
    contradict: Floats | None = None
    stitched_entail: Floats | None = None
    stitched_contradict: Floats | None = None
    spans: NDArray[np.int32] | None = None
    relevance: Floats | None = None
    relevance_basis: str = ""
    similarity: Floats | None = None
    relevant_sentences: Floats | None = None
    n_sentences: Floats | None = None
    questions: list[ReverseQuestion] = field(default_factory=list)
    declines: float = float("nan")
    residual: float = float("nan")
    relevancy: float = float("nan")
    answer_similarity: float = float("nan")
    answer_right: float = float("nan")
    same: float = float("nan")
    conflicts: list[tuple[int, int, float]] = field(default_factory=list)
    missing: dict[str, tuple[str, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@runtime_checkable
class Judge(Protocol):
    """Anything with a name and ``examine``.

    Attributes
    ----------
    name
        Goes into cache keys and manifests, with everything that changes a verdict: version, model, prompt hash.
    """

    name: str

    def examine(self, samples: Sequence[Sample]) -> Iterator[SampleEvidence]:
        """Yield the evidence of each sample as it is ready, in any order, one item a sample.

        A sample that cannot be judged is yielded with ``state="judge_error"`` and a reason; only what makes going on
        pointless (a rejected key, an unusable model) raises :class:`~workbench.errors.JudgeError`.
        """
        ...


def failed(sample_id: str, reason: str, state: str = "judge_error") -> SampleEvidence:
    """The evidence of a sample that could not be judged."""
    return SampleEvidence(sample_id=sample_id, state=state, reason=reason)
