"""Vectors of texts and of their words for the offline judge: each text encoded once, the latest kept in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from workbench.data.text.normalise import scrub
from workbench.evidence.cache import Cache, content_key
from workbench.evidence.encoders.base import Encoder, checked_vectors, encoder_identity, length_batches
from workbench.evidence.encoders.resolve import load_cached
from workbench.evidence.offline.alignment import blocks, word_vectors
from workbench.evidence.offline.excerpts import Excerpt
from workbench.evidence.offline.words import analyse

Floats = NDArray[Any]
Kind = Literal["query", "passage"]

#: Word vectors kept in memory, in bytes; older ones are worked out again when they are needed again.
KEPT_BYTES = 256 * 1024 * 1024
#: Bytes of the file that word vectors are kept in, some 8,000 chunks.
KEPT_ON_DISK = 2 * 1024**3
#: Characters of a sentence that are encoded once more where the encoder's window ends inside it.
BEFORE = 200
#: Raised when word vectors of the same text and encoder become others.
_LAYOUT = 2


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
    cache
        Where word vectors of passages are kept for other processes and later runs, up to :data:`KEPT_ON_DISK`; an
        encoder without a fingerprint could not be told from another, so that nothing of it is kept.
    """

    def __init__(self, encoder: Encoder, *, tokens: bool, cache: Cache | None = None) -> None:
        self.encoder, self.tokens = encoder, tokens
        told_apart = bool(getattr(encoder, "fingerprint", ""))
        self.cache = cache if tokens and told_apart else None
        if self.cache is not None and _size(self.cache) > KEPT_ON_DISK:
            self.cache.discard()  # what is in use now comes back; the oldest would never go otherwise
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
            fresh = self._from_disk(batch, kind)
            made = self._encode([text for text in batch if text not in fresh], kind)
            self._to_disk(made, kind)
            found |= (fresh := fresh | made)
            self._keep(fresh, kind)
        return found

    def as_retrieved(self, texts: Iterable[str]) -> dict[str, Floats]:
        """One vector (d,) a text, of its beginning where the encoder's window ends, as a retriever has it.

        They are kept where those of ranks in a corpus are, so that a text of the corpus is encoded once for both.
        """
        wanted = list(dict.fromkeys(texts))
        return dict(zip(wanted, load_cached(self.encoder).encode(wanted), strict=True)) if wanted else {}

    @property
    def _namespace(self) -> str:
        return f"words {_LAYOUT} {encoder_identity(self.encoder)}"

    def _from_disk(self, texts: Sequence[str], kind: Kind) -> dict[str, TextVectors]:
        if self.cache is None or kind != "passage":
            return {}
        keys = {content_key(scrub(text)): text for text in texts}
        found = {}
        for key, values in self.cache.get_vectors(self._namespace, keys).items():
            rows = values.reshape(-1, self.encoder.dimension) if values.size % self.encoder.dimension == 0 else values
            # Words are cut by the segmenter that is installed: with another number of them it was another.
            if len(rows) == len(analyse(keys[key]).ids) + 1:
                found[keys[key]] = TextVectors(rows[0], rows[1:])
        return found

    def _to_disk(self, made: Mapping[str, TextVectors], kind: Kind) -> None:
        if self.cache is None or kind != "passage" or not made or _size(self.cache) > KEPT_ON_DISK:
            return
        rows = {content_key(scrub(text)): np.concatenate([v.text[None], v.words]).ravel() for text, v in made.items()}
        self.cache.put_vectors(self._namespace, rows)

    def _keep(self, fresh: dict[str, TextVectors], kind: Kind) -> None:
        for text, vectors in fresh.items():
            self._kept[text, kind] = vectors
            self._bytes += vectors.size
        while self._bytes > KEPT_BYTES and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1].size

    def _encode(self, texts: Sequence[str], kind: Kind) -> dict[str, TextVectors]:
        if not texts:
            return {}
        if not self.tokens:
            rows = _encode(self.encoder, texts, kind)
            return {text: TextVectors(row, None) for text, row in zip(texts, rows, strict=True)}
        # What the encoder's window holds of a text gives the vector that a retriever has and those of the words at once.
        rows, begun = _encode_with_tokens(self.encoder, texts, kind)
        words: dict[str, Floats] = {}
        cut: list[tuple[str, int, int, int]] = []
        for text, (vectors, spans) in zip(texts, begun, strict=True):
            mine = analyse(text)
            words[text] = word_vectors(mine, vectors, spans)
            reach = int(spans[-1, 1]) if len(spans) else 0
            beyond = int(np.searchsorted(mine.ends, reach, side="right"))
            if beyond < len(mine.ids):
                begins = max(int(mine.bounds[mine.sentence[beyond], 0]), int(mine.starts[beyond]) - BEFORE)
                cut += [(text, beyond, max(start, begins), end) for start, end in blocks(mine) if end > mine.starts[beyond]]
                words[text][beyond:] = 0.0
        pieces = _encode_with_tokens(self.encoder, [text[start:end] for text, _, start, end in cut], kind)[1] if cut else []
        for (text, beyond, start, end), (vectors, spans) in zip(cut, pieces, strict=True):
            starts, ends = analyse(text).starts, analyse(text).ends
            first = max(beyond, int(np.searchsorted(ends, start, side="right")))
            inside = slice(first, max(first, int(np.searchsorted(starts, end))))
            words[text][inside] += word_vectors(analyse(text), vectors, spans, start, inside)
        return {text: TextVectors(row, words[text]) for text, row in zip(texts, rows, strict=True)}


def _size(cache: Cache) -> int:
    return cache.path.stat().st_size if cache.path.is_file() else 0


def vectors_of(read: Excerpt, pieces: Mapping[str, TextVectors], whole: Floats) -> TextVectors:
    """The vectors of the words that are read of a text, from those of its pieces; ``whole`` is the text's own."""
    parts = []
    for (start, _, first, last), piece in zip(read.pieces.tolist(), read.strings, strict=True):
        inside = slice(*np.searchsorted(read.text.sentence, [first, last]).tolist())
        own, vectors = analyse(piece), pieces[piece]
        assert vectors.words is not None
        parts.append(word_vectors(read.text, vectors.words, np.column_stack([own.starts, own.ends]), start, inside))
    return TextVectors(whole, np.concatenate(parts))


def _encode_with_tokens(encoder: Any, texts: Sequence[str], kind: Kind) -> tuple[Floats, list[tuple[Floats, Any]]]:
    """Text and token vectors in one pass where the encoder offers that, else in two."""
    if hasattr(encoder, "encode_with_tokens"):
        rows, pieces = encoder.encode_with_tokens(texts, kind)
        return checked_vectors(rows, len(texts), encoder.dimension, encoder.name), pieces
    return _encode(encoder, texts, kind), encoder.token_vectors(texts, kind)


def _encode(encoder: Encoder, texts: Sequence[str], kind: Kind) -> Floats:
    return checked_vectors(encoder.encode(texts, kind), len(texts), encoder.dimension, encoder.name)


def sentence_vectors(sentence: NDArray[np.integer], n: int, words: Floats) -> Floats:
    """(n, d) unit rows: the mean of the word vectors of each sentence; zeros for one without words.

    ``sentence``: ascending, the sentence that each word stands in.
    """
    sums = np.zeros((n, words.shape[1]), dtype=np.float32)
    if len(words):
        sentences, firsts = np.unique(sentence, return_index=True)
        sums[sentences] = np.add.reduceat(words, firsts, axis=0)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return sums / np.where(lengths > 0, lengths, 1.0).astype(np.float32)
