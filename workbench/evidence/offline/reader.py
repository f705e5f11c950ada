"""A reader of claim and text together: the embedded encoder, trained further with both texts in one window.

Features of :mod:`workbench.evidence.offline.features` compare words; a paraphrase without shared words, a condition that was
dropped or a rule applied to one's own case they cannot see. The reader sees question, claim and text at once, and says how
likely the text bears the claim out, leaves it open or denies it, and whether the claim addresses the question. What it knows
of numbers, units and dates is little: those are compared by meaning elsewhere.

``coefficients/reader_e5.safetensors`` holds what training changed of the encoder's layers, as 8-bit numbers with one scale a
row, and the two layers that follow them. Written by ``python -m workbench.training.reading``.
"""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.data.text.normalise import scrub
from workbench.evidence.encoders.base import Encoder
from workbench.evidence.offline.words import is_han
from workbench.steps import checkpoint

Floats = NDArray[Any]

#: Where the weights stand, and the encoder that they are for.
FILE, ENCODER = "reader_e5.safetensors", "multilingual-e5-small-q4"
#: Tokens of a text, a question and a claim that are read: at most.
TEXT_TOKENS, QUESTION_TOKENS, CLAIM_TOKENS = 180, 40, 72
#: Characters a token, about, in Latin and in Han script.
LATIN, HAN = 4.2, 1.25
#: Padded tokens run through the layers at once; see ``TOKEN_BUDGET`` of the encoder.
BATCH_TOKENS = 768
#: Ids of the tokens that begin and end a text, and that fill up a batch.
_BEGIN, _END, _PADDING = 0, 2, 1
#: What the tokenizer would take for one of them.
_SPECIAL = re.compile(r"</?(?:s|pad|unk|mask)>")


class Pair(NamedTuple):
    """What is read together; ``question`` may be empty."""

    text: str
    question: str
    claim: str


class Reader:
    """The layers of ``encoder`` as trained to read a text, a question and a claim; ``weights`` as in the file."""

    def __init__(self, encoder: Any, weights: dict[str, Any]) -> None:
        import torch

        self._tokenizer, plain = encoder.inside()
        # The embeddings, most of the model, are shared; the layers are a copy of their own.
        shared = {id(weight): weight for weight in plain.embeddings.parameters()}
        self._layers = copy.deepcopy(plain, shared)
        for name, layer in self._layers.encoder.named_modules():
            if f"{name}.change" in weights:
                change = weights[f"{name}.change"].float() * weights[f"{name}.scale"]
                with torch.no_grad():
                    layer.weight += change
                    layer.bias += weights[f"{name}.bias"]
        self._head = [weights[name] for name in ("hidden.weight", "hidden.bias", "out.weight", "out.bias")]

    def read(self, pairs: Sequence[Pair]) -> Floats:
        """(n, 5) float32: the probabilities that the text bears the claim out, leaves it open and denies it, which sum to 1;
        that the claim addresses the question (of no meaning without one); and, of a text that is the reference, that the
        claim says the same."""
        import torch

        rows = token_ids(self._tokenizer, pairs)
        found = np.zeros((len(rows), 5), dtype=np.float32)
        with torch.inference_mode():
            for batch in batches([len(row) for row in rows]):
                checkpoint(sum(len(rows[at]) for at in batch))
                found[batch] = self._batch([rows[at] for at in batch])
        return found

    def _batch(self, rows: Sequence[Sequence[int]]) -> Floats:
        import torch
        from torch.nn.functional import linear

        ids, mask = padded(rows)
        hidden = self._layers(input_ids=ids, attention_mask=mask).last_hidden_state
        share = mask[:, :, None] / mask.sum(dim=1)[:, None, None]
        seen = torch.cat([hidden[:, 0], (hidden * share).sum(dim=1)], dim=1)
        w, b, v, c = self._head
        return probabilities(linear(torch.tanh(linear(seen, w, b)), v, c))


def token_ids(tokenizer: Any, pairs: Sequence[Pair]) -> list[list[int]]:
    """What is read of each pair: the text, the question where there is one, the claim, each cut to its part of the window."""

    def ids(texts: Sequence[str], n: int) -> list[list[int]]:
        plain = [_SPECIAL.sub(" ", scrub(text)[: 32 * n]) for text in texts]
        found: list[list[int]] = tokenizer(plain, add_special_tokens=False, truncation=True, max_length=n)["input_ids"]
        return found

    if not pairs:
        return []
    columns = zip(zip(*pairs, strict=True), (TEXT_TOKENS, QUESTION_TOKENS, CLAIM_TOKENS), strict=True)
    texts, questions, claims = (ids(column, n) for column, n in columns)
    return [
        [_BEGIN, *text, _END, _END, *([*question, _END] if question else []), *claim, _END]
        for text, question, claim in zip(texts, questions, claims, strict=True)
    ]


def padded(rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """Ids and mask (n, longest) as tensors."""
    import torch

    width = max(map(len, rows))
    ids = torch.tensor([[*row, *[_PADDING] * (width - len(row))] for row in rows])
    return ids, torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])


def probabilities(scores: Any) -> Floats:
    """(n, 5) as of :meth:`Reader.read` from the scores of the last layer."""
    import torch

    found = torch.cat([torch.softmax(scores[:, :3], dim=1), torch.sigmoid(scores[:, 3:])], dim=1)
    return np.asarray(found.float().numpy(), dtype=np.float32)


def tokens(text: str) -> float:
    """Tokens of a text, about."""
    return len(text) / (HAN if is_han(text) else LATIN)


def fitting(sentences: Sequence[str], telling: Sequence[float]) -> str:
    """The most telling sentences of a text, in order, as many as fill the window; at least one, all where they fit."""
    lengths = [tokens(s) for s in sentences]
    if sum(lengths) <= TEXT_TOKENS:
        return " ".join(s.strip() for s in sentences)
    kept: list[int] = []
    left = float(TEXT_TOKENS)
    for at in sorted(range(len(sentences)), key=lambda at: (-telling[at], at)):
        if lengths[at] <= left or not kept:
            kept.append(at)
            left -= lengths[at]
    return " ".join(sentences[at].strip() for at in sorted(kept))


def batches(lengths: Sequence[int]) -> list[list[int]]:
    """Positions by length, in batches of at most :data:`BATCH_TOKENS` padded tokens (one at least)."""
    found: list[list[int]] = []
    for at in sorted(range(len(lengths)), key=lengths.__getitem__):
        if not found or lengths[at] * (len(found[-1]) + 1) > BATCH_TOKENS:
            found.append([])
        found[-1].append(at)
    return found


@lru_cache(maxsize=1)
def weights() -> dict[str, Any]:
    """The tensors of the file."""
    from safetensors.torch import load

    return load(_file())


@lru_cache(maxsize=1)
def version() -> str:
    """Changes whenever the weights do."""
    return hashlib.sha256(_file()).hexdigest()[:8]


def _file() -> bytes:
    return resources.files(__package__).joinpath("coefficients", FILE).read_bytes()


def reads(encoder: Encoder | None) -> bool:
    """Whether a reader was trained for an encoder."""
    return encoder is not None and encoder.name == ENCODER and hasattr(encoder, "inside")


def load_reader(encoder: Encoder | None) -> Reader | None:
    """The reader of an encoder; None for an encoder that none was trained for."""
    return Reader(encoder, weights()) if reads(encoder) else None
