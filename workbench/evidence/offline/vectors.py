"""Vectors of texts and of their words for the offline judge: each text encoded once, the latest kept in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from workbench.evidence.encoders.base import Encoder, checked_vectors, length_batches
from workbench.evidence.offline.features import blocks, word_vectors
from workbench.evidence.offline.words import Analysis, analyse

Floats = NDArray[Any]
Kind = Literal["query", "passage"]

#: Word vectors kept in memory, in bytes; older ones are worked out again when they are needed again.
KEPT_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class TextVectors:
    """The vector of a text (d,) as a retriever sees it, and those of its words (n, d); None without token vectors."""

    text: Floats
    words: Floats | None

    @property
    def size(self) -> int:
        """Bytes held."""
        return self.text.nbytes + (0 if self.words is None else self.words.nbytes)


class VectorStore:
    """Vectors of texts, worked out in length-sorted batches.

    Parameters
    ----------
    encoder
        Any encoder.
    tokens
        Whether word vectors are wanted; the encoder must then have ``encode_with_tokens`` or ``token_vectors``.
    """

    def __init__(self, encoder: Encoder, *, tokens: bool) -> None:
        self.encoder, self.tokens = encoder, tokens
        self._kept: OrderedDict[tuple[str, Kind], TextVectors] = OrderedDict()
        self._bytes = 0

    def get(self, texts: Iterable[str], kind: Kind) -> dict[str, TextVectors]:
        """The vectors of ``texts``, each distinct one encoded once.

        Raises
        ------
        EncoderError
            When the encoder, which may be anyone's, returns what are no unit rows of its dimension.
        """
        wanted = list(dict.fromkeys(texts))
        found = {text: self._kept[text, kind] for text in wanted if (text, kind) in self._kept}
        for text in found:
            self._kept.move_to_end((text, kind))
        missing = [text for text in wanted if text not in found]
        for batch in length_batches(missing):
            fresh = self._encode(batch, kind)
            found |= fresh
            self._keep(fresh, kind)
        return found

    def _keep(self, fresh: dict[str, TextVectors], kind: Kind) -> None:
        for text, vectors in fresh.items():
            self._kept[text, kind] = vectors
            self._bytes += vectors.size
        while self._bytes > KEPT_BYTES and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1].size

    def _encode(self, texts: Sequence[str], kind: Kind) -> dict[str, TextVectors]:
        if not self.tokens:
            rows = _encode(self.encoder, texts, kind)
            return {text: TextVectors(row, None) for text, row in zip(texts, rows, strict=True)}
        cut = [(text, start, end) for text in texts for start, end in blocks(analyse(text))]
        rows, pieces = _encode_with_tokens(self.encoder, [text[start:end] for text, start, end in cut], kind)
        words: dict[str, Floats] = {}
        for (text, start, _), (vectors, spans) in zip(cut, pieces, strict=True):
            part = word_vectors(analyse(text), vectors, spans, start)
            words[text] = words[text] + part if text in words else part
        whole = {text: row for (text, start, end), row in zip(cut, rows, strict=True) if end - start == len(text)}
        long = [text for text in texts if text not in whole]
        if long:
            whole |= zip(long, _encode(self.encoder, long, kind), strict=True)
        return {text: TextVectors(whole[text], words[text]) for text in texts}


def _encode_with_tokens(encoder: Any, texts: Sequence[str], kind: Kind) -> tuple[Floats, list[tuple[Floats, Any]]]:
    """Text and token vectors in one pass where the encoder offers that, else in two."""
    if hasattr(encoder, "encode_with_tokens"):
        rows, pieces = encoder.encode_with_tokens(texts, kind)
        return checked_vectors(rows, len(texts), encoder.dimension, encoder.name), pieces
    return _encode(encoder, texts, kind), encoder.token_vectors(texts, kind)


def _encode(encoder: Encoder, texts: Sequence[str], kind: Kind) -> Floats:
    return checked_vectors(encoder.encode(texts, kind), len(texts), encoder.dimension, encoder.name)


def sentence_vectors(analysed: Analysis, words: Floats) -> Floats:
    """(s, d) unit rows: the mean of the word vectors of each sentence; zeros for one without words."""
    sums = np.zeros((len(analysed.bounds), words.shape[1]), dtype=np.float32)
    if len(words):
        sentences, firsts = np.unique(analysed.sentence, return_index=True)
        sums[sentences] = np.add.reduceat(words, firsts, axis=0)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return sums / np.where(lengths > 0, lengths, 1.0).astype(np.float32)
