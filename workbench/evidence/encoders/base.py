"""Text vectors: what an encoder is, which one to use, and encoding through the cache.

An encoder turns texts into unit vectors. ``resolve_encoder`` finds one by name; ``CachedEncoder`` wraps any of them
so that a text is encoded once and never again. Absolute cosines mean nothing (e5's lie in 0.80–0.92): compare ranks,
or percentiles of :mod:`workbench.evidence.encoders.resolve`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from workbench.data.text.normalise import scrub
from workbench.errors import CancelledError, EncoderError
from workbench.evidence.cache import Cache, content_key
from workbench.language import languages

logger = logging.getLogger(__name__)

Kind = Literal["query", "passage"]
#: ``progress(done, total)`` after each batch.
Progress = Callable[[int, int], None]
#: Vectors (m, d) float32 of a text's tokens, unit rows, and their spans (m, 2): start, end in the text.
TokenVectors = tuple[np.ndarray, np.ndarray]

#: One batch is committed together: at most so many texts, and so many characters.
BATCH_TEXTS = 256
BATCH_CHARACTERS = 32_768
#: On a GPU, which is idle between small batches, so many times as much.
GPU_BATCHES = 16


@runtime_checkable
class Encoder(Protocol):
    """Anything that turns texts into unit vectors.

    Optional further members, used where they are present:

    * ``fingerprint: str`` – what tells two models of one name apart; part of the cache keys,
    * ``max_tokens: int`` – texts longer than this are cut,
    * ``truncated(texts) -> bool array (n,)`` – which texts were cut,
    * ``token_vectors(texts, kind) -> list[TokenVectors]`` – contextual last-layer vectors for each token, unit rows,
      with character offsets in the text as given; tokens beyond ``max_tokens`` are missing,
    * ``encode_with_tokens(texts, kind) -> (vectors, list[TokenVectors])`` – both in one pass,
    * ``reads_chinese: bool`` – False for an English-only model,
    * ``on_gpu: bool`` – True where batches may be large.
    """

    name: str

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        """Unit rows (n, d) float32; the same text gives the same row to 1e-5, whatever it is encoded with."""


def encoder_identity(encoder: Encoder) -> str:
    """Name and fingerprint: what goes into cache keys."""
    fingerprint = getattr(encoder, "fingerprint", "")
    return f"{encoder.name}#{fingerprint}" if fingerprint else encoder.name


class CachedEncoder:
    """An encoder that encodes each text once, ever.

    It is an :class:`Encoder` itself and has the optional members of the one it wraps.

    ``cache``: where vectors are kept; default: the cache of :func:`workbench.evidence.cache.cache_folder`.
    """

    def __init__(self, encoder: Encoder, cache: Cache | None = None) -> None:
        self.inner = encoder.inner if isinstance(encoder, CachedEncoder) else encoder
        self.cache = cache if cache is not None else Cache(name="vectors.sqlite")
        self.encoded = 0
        self._identity = encoder_identity(self.inner)
        self._warned = False

    def __getattr__(self, name: str) -> Any:
        """The optional members of the encoder inside (``token_vectors``, ``truncated``, ``max_tokens`` …)."""
        if name.startswith("__") or name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    @property
    def name(self) -> str:
        """Name of the encoder inside."""
        return self.inner.name

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self.inner.dimension

    def encode(
        self, texts: Sequence[str], kind: Kind = "passage", *, progress: Progress | None = None,
        cancel: Callable[[], bool] | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Unit rows (n, d) float32 of ``texts``, in their order.

        Distinct texts are looked up by content; those missing are encoded in fixed batches sorted by length, each
        committed to the cache when it is done, so that a killed run loses at most one batch.

        Parameters
        ----------
        texts
            Any number, repeated ones included.
        kind
            ``"query"`` or ``"passage"``: the model's own prompt for it is used.
        progress
            Called as ``progress(done, total)`` over the distinct texts, after the look-up and after each batch.
        cancel
            Asked before each batch; e.g. ``threading.Event().is_set``.

        Raises ``CancelledError`` when ``cancel()`` was true; finished batches are kept; ``EncoderError`` when the
        encoder returns another shape or numbers that are not finite.
        """
        keys = {text: content_key("vector", self._identity, kind, text) for text in dict.fromkeys(map(scrub, texts))}
        rows = self.cache.get_vectors("vectors", keys.values())
        missing = [text for text, key in keys.items() if key not in rows]
        self._warn_of_language(missing)
        done, total = len(keys) - len(missing), len(keys)
        tell = progress or (lambda done, total: None)
        tell(done, total)
        for batch in length_batches(missing, *batch_bounds(self.inner)):
            if cancel is not None and cancel():
                raise CancelledError(f"encoding was cancelled after {done} of {total} texts; those are kept")
            vectors = checked_vectors(self.inner.encode(batch, kind), len(batch), self.inner.dimension, self.name)
            fresh = dict(zip((keys[text] for text in batch), vectors, strict=True))
            self.cache.put_vectors("vectors", fresh)
            self.encoded += len(batch)
            rows |= fresh
            done += len(batch)
            tell(done, total)
        if not keys:
            return np.empty((0, self.dimension), dtype=np.float32)
        return np.stack([rows[keys[scrub(text)]] for text in texts]).astype(np.float32, copy=False)

    def _warn_of_language(self, texts: Sequence[str]) -> None:
        """Say once that an English-only model met Chinese: its similarities there are noise."""
        if self._warned or getattr(self.inner, "reads_chinese", True):
            return
        scripts = [item.script for item in languages() if item.script]
        if any(script.search(text) for text in texts for script in scripts):
            self._warned = True
            logger.warning(
                "encoder %s does not know Chinese, yet there are Chinese texts: their similarities mean nothing."
                " Use a multilingual model, e.g. encoder='e5'",
                self.name,
            )


def batch_bounds(encoder: Encoder) -> tuple[int, int]:
    """Texts and characters that ``encoder`` is given at once."""
    times = GPU_BATCHES if getattr(encoder, "on_gpu", False) else 1
    return BATCH_TEXTS * times, BATCH_CHARACTERS * times


def length_batches(
    texts: Sequence[str], max_texts: int = BATCH_TEXTS, max_characters: int = BATCH_CHARACTERS
) -> Iterator[list[str]]:
    """Distinct ``texts`` sorted by length (then by text), in batches within both bounds; one text at least."""
    batch: list[str] = []
    size = 0
    for text in sorted(texts, key=lambda text: (len(text), text)):
        if batch and (len(batch) == max_texts or size + len(text) > max_characters):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch


def checked_vectors(vectors: Any, n: int, dimension: int, name: str) -> np.ndarray:
    """``vectors`` as unit rows (n, d) float32; a row of zeros stays one.

    Raises ``EncoderError`` for another shape, values that are no real numbers, or numbers that are not finite.
    """
    try:
        found = np.asarray(vectors)
        if np.iscomplexobj(found):
            raise TypeError("complex numbers")
        with np.errstate(over="ignore"):  # what is too large is infinite, and said to be
            rows = found.astype(np.float32)
    except (TypeError, ValueError) as error:
        raise EncoderError(f"encoder {name} returned no table of real numbers ({error})") from error
    if rows.shape != (n, dimension):
        raise EncoderError(f"encoder {name} returned shape {rows.shape} for {n} texts, expected {(n, dimension)}")
    if not np.isfinite(rows).all():
        bad = int((~np.isfinite(rows).all(axis=1)).sum())
        raise EncoderError(f"encoder {name} returned {bad} of {n} vectors with NaN or infinite numbers")
    return unit_rows(rows)


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """Rows divided by their length, float32; rows of zeros stay zero."""
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
