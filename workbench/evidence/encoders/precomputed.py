"""Vectors that exist already: exported from a vector store, or made by a model that cannot run here."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.errors import EncoderError
from workbench.evidence.embed import Kind, checked_vectors


class PrecomputedEncoder:
    """Looks vectors up by their text; a text without one is an error, never a vector from elsewhere.

    Parameters
    ----------
    passages
        Text → vector (d,) of documents, contexts, answers.
    queries
        Text → vector (d,) of questions, where the model treats them differently; looked up first for ``"query"``.
    name
        The model's name; part of the cache keys.

    Raises
    ------
    EncoderError
        When there is no vector, or they differ in length.
    """

    def __init__(
        self,
        passages: Mapping[str, Any],
        queries: Mapping[str, Any] | None = None,
        *,
        name: str = "precomputed",
    ) -> None:
        self.name = name
        self._rows: dict[str, dict[str, np.ndarray]] = {}
        self.dimension = _common_length([*passages.values(), *(queries or {}).values()])
        self._rows["passage"] = self._table(passages)
        self._rows["query"] = self._table(queries or {})
        self.fingerprint = self._digest()

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        """Unit rows (n, d) float32.

        Raises
        ------
        EncoderError
            When a text has no vector; the message names the first and how many there are.
        """
        found = [self._find(text, kind) for text in texts]
        missing = [text for text, row in zip(texts, found, strict=True) if row is None]
        if missing:
            raise EncoderError(
                f"encoder {self.name} has no {kind} vector for {len(missing)} of {len(texts)} texts, the first being"
                f" {missing[0][:60]!r}; add it, or use an encoder that can make it"
            )
        return np.array(found, dtype=np.float32).reshape(len(texts), self.dimension)

    def _find(self, text: str, kind: Kind) -> np.ndarray | None:
        row = self._rows[kind].get(text)
        return row if row is not None else self._rows["passage" if kind == "query" else "query"].get(text)

    def _table(self, vectors: Mapping[str, Any]) -> dict[str, np.ndarray]:
        if not vectors:
            return {}
        rows = checked_vectors(list(vectors.values()), len(vectors), self.dimension, self.name)
        return dict(zip(vectors, rows, strict=True))

    def _digest(self) -> str:
        digest = hashlib.sha256()
        for kind, table in self._rows.items():
            for text in sorted(table):
                digest.update(f"{kind}{len(text)}:{text}".encode("utf-8", "surrogatepass") + table[text].tobytes())
        return digest.hexdigest()[:12]


def _common_length(vectors: Sequence[Any]) -> int:
    lengths = sorted({len(vector) for vector in vectors})
    if len(lengths) != 1 or lengths[0] == 0:
        raise EncoderError(f"precomputed vectors need one common length, these have {lengths or 'no vectors'}")
    return lengths[0]
