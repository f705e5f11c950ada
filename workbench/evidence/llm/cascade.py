"""The offline judge for everything, the model only where that is in doubt.

Each sample gets an uncertainty from its offline evidence: the probability that at least one of its verdicts is wrong,
taking the calibrated probabilities at their word. The model is asked about a random tenth (an audit, drawn by content:
how often the two judges differ) and about the most uncertain samples, within a share of the calls that asking about
everything would take. Reverse questions are not asked for: answer relevancy is the offline judge's for every sample, so
that one mean never holds two kinds of number.

What is left to the offline judge has the model's own noise left out of it, so the means lean to the better side by about
a fifth of that noise. Choosing the samples so that what is left cancels in the means was tried: it halves the lean where
the offline judge is calibrated, and costs more than it gains where it is not, which real ones are not.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from workbench.data.schema import Sample
from workbench.errors import InputError
from workbench.evidence.cache import content_key
from workbench.evidence.judge import Judge, SampleEvidence

NAMESPACE = "cascade"
#: Samples with a lower probability of any wrong verdict are left to the offline judge.
DOUBT = 0.05
#: This share of the calls goes to samples drawn at random, to see whether the offline judge deserves the trust.
AUDIT_SHARE = 0.1
#: Where a claim counts as supported, a context as relevant, an answer as declining.
CUT = 0.5
#: What the model does not say and the offline judge does.
_ADDED = ("relevancy", "answer_similarity", "similarity", "relevant_sentences", "n_sentences")


class CascadeJudge:
    """``offline+llm:MODEL``: one judge made of two.

    Parameters
    ----------
    offline, llm
        One judges every sample, and its probabilities should be calibrated; the other the doubtful ones: an
        :class:`LLMJudge`, or any judge (then one call a sample is assumed).
    share, doubt
        At most this share, in (0, 1], of the calls that ``llm`` alone would take; uncertainty from which a sample is
        doubtful, in [0, 1].

    Which samples are asked about is kept in the model's cache, so that a run that was killed goes on with the same
    choice. Every item of evidence has the method ``offline+llm:MODEL``; its first note says who judged it.
    """

    def __init__(self, offline: Judge, llm: Any, *, share: float = 0.4, doubt: float = DOUBT) -> None:
        if not 0 < share <= 1 or not 0 <= doubt <= 1:
            raise InputError(
                f"offline+llm: share is {share!r}, doubt is {doubt!r}; use a share in (0, 1], a doubt in [0, 1]"
            )
        self.offline, self.llm, self.share, self.doubt = offline, llm, share, doubt
        self._counts: Counter[str] = Counter()

    @property
    def name(self) -> str:
        """Both names and what decides between them."""
        return f"offline+{self.llm.name} over {self.offline.name} share={self.share:g} doubt={self.doubt:g}"

    @property
    def method(self) -> str:
        """``offline+llm:MODEL``."""
        return f"offline+{getattr(self.llm, 'method', self.llm.name)}"

    @property
    def warnings(self) -> list[str]:
        """The model's warnings."""
        return list(getattr(self.llm, "warnings", []))

    def examine(self, samples: Sequence[Sample]) -> Iterator[SampleEvidence]:
        """Yield the evidence of every sample, those judged offline first.

        Raises ``JudgeError`` as the model's ``examine`` does.
        """
        samples = list(samples)
        if samples and hasattr(self.llm, "check_ready"):
            self.llm.check_ready()
        first = {item.sample_id: item for item in self.offline.examine(samples)}
        reasons = self._chosen(samples, first)
        costs, full = self._costs(samples)
        calls = sum(costs[sample_id] for sample_id in reasons)
        self._counts.update(n_samples=len(samples), n_asked=len(reasons), calls=calls, calls_full=full)
        for sample in samples:
            if sample.sample_id not in reasons:
                yield self._signed(first[sample.sample_id], "judged offline: no doubt, or beyond the share of calls")
        asked = [sample for sample in samples if sample.sample_id in reasons]
        for item in self._asking().examine(asked) if asked else ():
            before = first[item.sample_id]
            if before.state == item.state == "ok":
                differ = int(_outcome(before) != _outcome(item))
                self._counts.update(n_compared=1, n_disagreed=differ)
                if reasons[item.sample_id] == "audit":
                    self._counts.update(audit_compared=1, audit_disagreed=differ)
            yield self._signed(_completed(item, before), f"judged by the model: {reasons[item.sample_id]}")

    def plan(self, samples: Sequence[Sample]) -> Any:
        """The model's plan for the samples that would be asked about; the offline judge runs to find them."""
        samples = list(samples)
        first = {item.sample_id: item for item in self.offline.examine(samples)}
        reasons = self._chosen(samples, first)
        return self._asking().plan([sample for sample in samples if sample.sample_id in reasons])

    def cancel(self) -> None:
        """Stop asking; see :meth:`LLMJudge.cancel`."""
        if hasattr(self.llm, "cancel"):
            self.llm.cancel()

    def report(self) -> dict[str, Any]:
        """What was saved and how often the two disagreed, over all runs of this object.

        ``n_samples, n_asked, calls, calls_full`` (what asking about everything takes)``, calls_saved, share, n_compared,
        n_disagreed, disagreement`` (NaN when nothing was compared)``, audit_compared, audit_disagreed``. Two judges
        disagree on a sample when one finds a claim that no context supports, or a refusal, and the other does not.
        """
        n = self._counts
        compared, full = n["n_compared"], n["calls_full"]
        return {
            "n_samples": n["n_samples"], "n_asked": n["n_asked"], "calls": n["calls"], "calls_full": full,
            "calls_saved": full - n["calls"], "share": n["calls"] / full if full else 0.0,
            "n_compared": compared, "n_disagreed": n["n_disagreed"],
            "disagreement": n["n_disagreed"] / compared if compared else float("nan"),
            "audit_compared": n["audit_compared"], "audit_disagreed": n["audit_disagreed"],
        }  # fmt: skip

    def _asking(self) -> Any:
        return self.llm.with_options(questions=0) if hasattr(self.llm, "with_options") else self.llm

    def _costs(self, samples: Sequence[Sample]) -> tuple[dict[str, int], int]:
        """Calls for each sample in the cascade, and calls for all of them by the model alone."""
        if not hasattr(self.llm, "plan"):
            return {sample.sample_id: 1 for sample in samples}, len(samples)
        own = {row["sample_id"]: row["calls"] + row["cached"] for row in self._asking().plan(samples).rows}
        return own, sum(row["calls"] + row["cached"] for row in self.llm.plan(samples).rows)

    def _chosen(self, samples: Sequence[Sample], first: dict[str, SampleEvidence]) -> dict[str, str]:
        """Samples to ask about, with the reason."""
        keys = {sample.sample_id: _key(self.name, sample) for sample in samples}
        cache = getattr(self.llm, "cache", None)
        found = cache.get_many(NAMESPACE, list(keys.values())) if cache is not None else {}
        kept = {sample_id: json.loads(found[key]) for sample_id, key in keys.items() if key in found}
        new = [sample for sample in samples if sample.sample_id not in kept]
        fresh = self._decide(new, {s.sample_id: uncertainty(first[s.sample_id]) for s in new}, keys)
        if cache is not None and new:
            reasons = {keys[s.sample_id]: json.dumps(fresh.get(s.sample_id, "")) for s in new}
            cache.put_many(NAMESPACE, reasons)
        return {key: reason for key, reason in (kept | fresh).items() if reason}

    def _decide(self, samples: Sequence[Sample], doubt: dict[str, float], keys: dict[str, str]) -> dict[str, str]:
        """The audit, then the most doubtful, while calls are left."""
        costs, full = self._costs(samples)
        left = math.floor(self.share * full + 1e-9)
        chosen: dict[str, str] = {}
        spare = AUDIT_SHARE * left
        for key in sorted(doubt, key=lambda key: keys[key]):
            spare -= costs[key]
            if spare < -1e-9:
                break
            chosen[key], left = "audit", left - costs[key]
        for key in sorted(doubt, key=lambda key: (-doubt[key], keys[key])):
            if key not in chosen and doubt[key] >= self.doubt and costs[key] <= left:
                chosen[key], left = "doubtful", left - costs[key]
        return chosen

    def _signed(self, evidence: SampleEvidence, note: str) -> SampleEvidence:
        evidence.method = self.method
        evidence.notes = [note, *evidence.notes]
        return evidence


def uncertainty(evidence: SampleEvidence) -> float:
    """Probability that at least one verdict of a sample is wrong, in [0, 1].

    1 − Π (1 − wrong_i) with wrong_i = min(p, 1 − p), p being the calibrated probability of verdict i.

    Verdicts are: each claim against the contexts (contradiction and support), each claim against the other text, and
    the refusal. Relevance of contexts adds a tenth of its mean error, enough to order equals. 1 if nothing was judged.
    """
    if evidence.state != "ok":
        return 1.0
    support, contradiction = best_support(evidence)
    # A claim is judged wrongly when support is, or when a contradiction is claimed or missed on top of it.
    errors = [max(min(e, 1 - e), min(c, 1 - c)) for e, c in zip(support, contradiction, strict=True)]
    errors += _error_of([claim.other_entail for claim in evidence.claims])
    errors += _error_of([evidence.declines])
    if evidence.declines >= CUT - 0.3:
        errors += _error_of([evidence.residual])
    relevance = _error_of([] if evidence.relevance is None else evidence.relevance.tolist())
    wrong = 1 - math.prod(1 - error for error in errors)
    return min(1.0, wrong + 0.1 * (sum(relevance) / len(relevance) if relevance else 0.0))


def _error_of(values: Sequence[float]) -> list[float]:
    """min(p, 1 − p) of those values that there are."""
    return [min(p, 1 - p) for p in values if not math.isnan(p)]


def best_support(evidence: SampleEvidence) -> tuple[list[float], list[float]]:
    """For each claim the highest entail (stitched neighbours included) and the highest contradict over the contexts."""
    if evidence.entail is None or not evidence.entail.size or evidence.contradict is None:
        return [], []
    grids = [evidence.entail] + ([] if evidence.stitched_entail is None else [evidence.stitched_entail])
    support = np.nan_to_num(np.concatenate(grids, axis=1)).max(axis=1)
    return support.tolist(), np.nan_to_num(evidence.contradict).max(axis=1).tolist()


def _key(name: str, sample: Sample) -> str:
    contexts = None if sample.contexts is None else [[c.text, c.doc_id, c.prompted] for c in sample.contexts]
    return content_key(name, sample.conversation, sample.answer, contexts, sample.reference, list(sample.refusal_phrases))


def _completed(evidence: SampleEvidence, offline: SampleEvidence) -> SampleEvidence:
    """The model's evidence with what only the offline judge gives."""
    if evidence.state != "ok" or offline.state != "ok":
        return evidence
    for name in _ADDED:
        setattr(evidence, name, getattr(offline, name))
    for part in ("relevancy", "similarity", "sentences"):
        evidence.missing.pop(part, None)
        if part in offline.missing:
            evidence.missing[part] = offline.missing[part]
    return evidence


def _outcome(evidence: SampleEvidence) -> tuple[bool, bool]:
    """Whether an answer claim is unsupported, and whether the answer declines."""
    support, _ = best_support(evidence)
    answer = [e for e, claim in zip(support, evidence.claims, strict=False) if claim.side == "answer"]
    return any(e < CUT for e in answer), evidence.declines >= CUT
