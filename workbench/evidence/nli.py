"""Judge support with a local cross-encoder: an NLI model, a detector with one score (HHEM) or one that marks tokens.

Claims, relevance, refusals and parts of claims are those of the offline judge; only whether a context supports or
contradicts a claim is asked of the model. Nothing is fetched unless the model is named by its hub name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from workbench.errors import JudgeError
from workbench.evidence.cache import Cache
from workbench.evidence.encoders.base import Encoder
from workbench.evidence.offline.examination import BASE_RATE, Examination
from workbench.evidence.offline.judge import OfflineJudge

Floats = NDArray[Any]
Pair = tuple[str, str]
Kind = Literal["nli", "score", "tokens"]

#: Pairs run through the model at once, sorted by length.
PAIRS = 32

_ENTAIL = ("entail", "support", "consistent", "faithful", "factual")
_CONTRADICT = ("contradict", "refute", "inconsistent", "hallucinat", "unsupport", "unfaithful")
_NEITHER = ("not_entail", "non_entail", "not entail", "neutral", "not_mentioned", "not enough", "unknown")


class CrossModel:
    """A cross-encoder that reads (premise, hypothesis) and says how far one supports the other.

    ``model``: a folder of a transformers model, or its name on the hub; ``labels``: what its outputs mean, in order
    (``entailment``, ``neutral``, ``contradiction`` …), default: the model's own ``id2label``. ``JudgeError`` when it cannot
    be loaded, or its labels say nothing about support.
    """

    def __init__(self, model: str | Path, labels: Sequence[str] | None = None) -> None:
        self.name = Path(str(model)).name
        config = _loaded("AutoConfig", model)
        tokens = any("TokenClassification" in name for name in getattr(config, "architectures", None) or ())
        self.kind: Kind = "tokens" if tokens else "score" if config.num_labels == 1 else "nli"
        auto = "AutoModelForTokenClassification" if self.kind == "tokens" else "AutoModelForSequenceClassification"
        self._tokenizer, self._model = _loaded("AutoTokenizer", model), _loaded(auto, model)
        self._model.eval()
        names = list(labels or (config.id2label[at] for at in range(config.num_labels)))
        self.entail_at, self.contradict_at = label_places(names, self.kind, self.name)
        self.fingerprint = _fingerprint(self._model)
        self.max_tokens = min(int(getattr(config, "max_position_embeddings", 512) or 512), 512)

    def scores(self, pairs: Sequence[Pair]) -> tuple[Floats, Floats]:
        """(p,) entailment and (p,) contradiction in [0, 1]; contradiction is NaN when the model does not tell it."""
        entail = np.zeros(len(pairs), dtype=np.float32)
        contradict = np.full(len(pairs), np.nan, dtype=np.float32)
        order = sorted(range(len(pairs)), key=lambda at: (len(pairs[at][0]) + len(pairs[at][1]), at))
        for start in range(0, len(order), PAIRS):
            batch = order[start : start + PAIRS]
            entail[batch], contradict[batch] = self._batch([pairs[at] for at in batch])
        return entail, contradict

    def _batch(self, pairs: Sequence[Pair]) -> tuple[Floats, Floats]:
        import torch

        premises, hypotheses = (list(side) for side in zip(*pairs, strict=True))
        encoded = self._tokenizer(
            premises, hypotheses, truncation="only_first", max_length=self.max_tokens, padding=True, return_tensors="pt"
        )
        with torch.inference_mode():
            logits = self._model(**encoded).logits.float().numpy()
        if self.kind == "tokens":
            return self._from_tokens(logits, [encoded.sequence_ids(at) for at in range(len(pairs))])
        if self.kind == "score":
            return expit(np.clip(logits[:, 0], -30, 30)).astype(np.float32), np.full(
                len(pairs), np.nan, dtype=np.float32
            )
        chances = softmax(logits, axis=-1)
        contradict = chances[:, self.contradict_at] if self.contradict_at >= 0 else np.full(len(pairs), np.nan)
        entail = chances[:, self.entail_at] if self.entail_at >= 0 else 1.0 - contradict
        return entail.astype(np.float32), contradict.astype(np.float32)

    def _from_tokens(self, logits: Floats, sequences: Sequence[Sequence[int | None]]) -> tuple[Floats, Floats]:
        """A claim is as well supported as its worst token; such a model does not tell contradiction from invention."""
        chances = softmax(logits, axis=-1)
        wrong = chances[..., self.contradict_at] if self.contradict_at >= 0 else 1.0 - chances[..., self.entail_at]
        worst = [
            max((float(row[at]) for at, part in enumerate(parts) if part == 1), default=1.0)
            for row, parts in zip(wrong, sequences, strict=True)
        ]
        return 1.0 - np.array(worst, dtype=np.float32), np.full(len(worst), np.nan, dtype=np.float32)


def label_places(names: Sequence[str], kind: Kind, model: str) -> tuple[int, int]:
    """(place of entailment, place of contradiction) among a model's labels, -1 for one that it does not have.

    Raises ``JudgeError`` when neither is found; the message says how to name them.
    """
    if kind == "score":
        return 0, -1
    found = {"entail": -1, "contradict": -1}
    for at, name in enumerate(names):
        plain = name.lower().replace("-", "_")
        if any(word in plain for word in _NEITHER):
            continue
        if any(word in plain for word in _CONTRADICT):
            found["contradict"] = at
        elif any(word in plain for word in _ENTAIL):
            found["entail"] = at
    if max(found.values()) < 0:
        raise JudgeError(
            f"model {model} has labels {', '.join(names)}, which do not say what supports a claim; pass them in its"
            " order, e.g. labels=('contradiction', 'entailment', 'neutral')"
        )
    return found["entail"], found["contradict"]


class NliJudge(OfflineJudge):
    """The offline judge with support and contradiction by a local cross-encoder.

    ``model``: a folder, a hub name (then with ``labels`` as for :class:`CrossModel`), or anything with ``name``,
    ``fingerprint`` and ``scores(pairs)`` as that; ``encoder, cache`` as for the offline judge.
    """

    def __init__(
        self, model: str | Path | CrossModel, encoder: str | Encoder | None = "auto", cache: Cache | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(encoder, cache)
        self.model = CrossModel(model, labels) if isinstance(model, (str, Path)) else model

    @property
    def method(self) -> str:
        """``nli-<model>``."""
        return f"nli-{self.model.name}"

    @cached_property
    def name(self) -> str:
        """The offline judge's name with the model's fingerprint."""
        return f"{self.method}#{self.model.fingerprint}/{super().name}"

    @property
    def _reads(self) -> bool:
        return False  # the model reads instead

    def _support(self, seen: Examination) -> tuple[Floats, Floats]:
        """(n, texts) by the model, the highest over the windows of each text; bare values as the offline judge."""
        offline_entail, offline_contradict = seen.by_text
        claims = [at for at, span in enumerate(seen.spans) if not span.value]
        if not claims or not len(seen.windows):
            return offline_entail, offline_contradict
        premises = [seen.window_text(at) for at in range(len(seen.windows))]
        pairs = [(premise, seen.claim_text(at)) for at in claims for premise in premises]
        firsts = np.flatnonzero(np.diff(seen.windows.owner, prepend=-1))
        owners = seen.windows.owner[firsts]
        place = np.ix_(np.array(claims), owners)
        entail, contradict = offline_entail.copy(), offline_contradict.copy()
        by_window = [scores.reshape(len(claims), len(premises)) for scores in self.model.scores(pairs)]
        best, told = (np.maximum.reduceat(scores, firsts, axis=1) for scores in by_window)
        # A model that does not tell contradiction leaves it to the narrow signs.
        signs = np.where(contradict[place] >= 0.5, contradict[place], BASE_RATE * (1.0 - best))
        entail[place], contradict[place] = best, np.where(np.isnan(told), signs, told)
        return entail, contradict


def _loaded(auto: str, model: str | Path) -> Any:
    """``transformers.<auto>.from_pretrained(model)``; remote code is never run."""
    try:
        import transformers

        return getattr(transformers, auto).from_pretrained(str(model), trust_remote_code=False)
    except (ImportError, OSError, ValueError, KeyError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise JudgeError(f"the model {model} cannot be loaded as a cross-encoder: {reason}") from error


def _fingerprint(model: Any) -> str:
    """12 hex digits of samples of all weights."""
    import hashlib

    digest = hashlib.sha256()
    state: Mapping[str, Any] = model.state_dict()
    for key, value in sorted(state.items()):
        flat = value.detach().reshape(-1)
        digest.update(key.encode() + flat[:: max(1, len(flat) // 64)].float().cpu().numpy().astype("<f4").tobytes())
    return digest.hexdigest()[:12]
