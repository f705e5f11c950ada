"""An encoder for tests: every word has a vector drawn from its spelling, so equal words align and others do not."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

DIMENSION = 48
_PIECE = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")


def vector(piece: str) -> np.ndarray:
    """A unit vector for one piece, the same in every process."""
    seed = int.from_bytes(hashlib.blake2b(piece.lower().encode("utf-8", "replace"), digest_size=8).digest(), "little")
    values = np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)
    return values / np.linalg.norm(values)


class WordEncoder:
    """Token vectors by spelling; a text's vector is their mean. Named like the embedded e5 unless told otherwise."""

    dimension = DIMENSION

    def __init__(self, name: str = "multilingual-e5-small-q4") -> None:
        self.name = name
        self.texts: list[str] = []

    def encode_with_tokens(self, texts: Sequence[str], kind: str = "passage"):
        self.texts += texts
        pieces = [self._tokens(text) for text in texts]
        rows = [vectors.sum(axis=0) if len(vectors) else vector("") for vectors, _ in pieces]
        return np.stack([row / np.linalg.norm(row) for row in rows]).astype(np.float32), pieces

    def encode(self, texts: Sequence[str], kind: str = "passage") -> np.ndarray:
        return self.encode_with_tokens(texts, kind)[0]

    def _tokens(self, text: str):
        found = list(_PIECE.finditer(text))
        vectors = np.stack([vector(match[0]) for match in found]) if found else np.empty((0, DIMENSION), np.float32)
        return vectors, np.array([match.span() for match in found], dtype=np.int32).reshape(-1, 2)


class PlainEncoder:
    """The same without token vectors."""

    dimension = DIMENSION

    def __init__(self, name: str = "some-model") -> None:
        self.name = name
        self._inner = WordEncoder(name)

    def encode(self, texts: Sequence[str], kind: str = "passage") -> np.ndarray:
        return self._inner.encode(texts, kind)
