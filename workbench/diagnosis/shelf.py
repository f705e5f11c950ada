"""A corpus made ready for asking where a document stands: terms, languages, places, vectors, each worked out once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np

from workbench.data.schema import Corpus, none_if_missing
from workbench.data.text import language, stop_words, words
from workbench.diagnosis.lexical import Lexical, terms
from workbench.diagnosis.ranks import Floats, Ints, id_order
from workbench.evidence.background import backgrounds_by_language
from workbench.evidence.cache import content_key
from workbench.evidence.embed import CachedEncoder, Encoder, encoder_identity
from workbench.evidence.lazy import load_cached

#: Tokens of a window that a prompt and special signs may take.
PROMPT = 16
#: Share of function words from which on a Latin text is English.
ENGLISH = 0.15
_BY_SCRIPT = frozenset(("zh", "ja", "ko", "ru", "ar", "he", "th", "hi", "el", "other"))

#: ``progress(done, total)`` while texts are encoded.
Progress = Callable[[int, int], None]


class Shelf:
    """One corpus under one encoder.

    Parameters
    ----------
    corpus
        What is searched.
    encoder
        A name, an object of the protocol, or None (or ``"none"``) for words alone.
    progress, cancel
        Told of, and asked between, batches of texts that are encoded.

    Attributes
    ----------
    ids, texts
        Of the documents in order; a document's *place* is its position here.
    order
        Place of each document in the sorted order of ids, which breaks ties.
    """

    def __init__(
        self,
        corpus: Corpus,
        encoder: str | Encoder | None = "auto",
        *,
        progress: Progress | None = None,
        cancel: Callable[[], bool] | None = None,
    ) -> None:
        frame = corpus.frame
        self.ids: list[str] = [str(name) for name in frame.index]
        self.texts: list[str] = [str(text) for text in frame["text"].tolist()]
        self.titles: list[str] = [str(none_if_missing(title) or "") for title in frame["title"].tolist()]
        self.tenants: list[str | None] = [none_if_missing(tenant) for tenant in frame["tenant"].tolist()]
        self.sources: list[str | None] = [none_if_missing(source) for source in frame["source"].tolist()]
        self.positions: list[Any] = [none_if_missing(position) for position in frame["position"].tolist()]
        self.order: Ints = id_order(self.ids)
        self._wanted = encoder
        self.progress, self.cancel = progress, cancel

    def __len__(self) -> int:
        return len(self.ids)

    # -- which document an expectation means ----------------------------------------------------------------------

    @cached_property
    def _at(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.ids)}

    @cached_property
    def _chunks(self) -> dict[str, list[int]]:
        """Chunks of each document, by ``source`` and by the id before the last ``#``."""
        found: dict[str, list[int]] = {}
        for place, (name, source) in enumerate(zip(self.ids, self.sources, strict=True)):
            for document in {str(source) if source is not None else None, stem(name)} - {None, name}:
                found.setdefault(str(document), []).append(place)
        return found

    def places(self, doc_id: str, match: str = "chunk") -> list[int]:
        """Where the document of a label stands: its chunk, or all its chunks when the label names a document."""
        at = self._at.get(doc_id)
        if at is not None and match == "chunk":
            return [at]
        document = doc_id if doc_id in self._chunks else stem(doc_id)
        return self._chunks.get(document, [] if at is None else [at])

    # -- words ----------------------------------------------------------------------------------------------------

    @cached_property
    def terms(self) -> list[list[str]]:
        """Index terms of every document."""
        return [terms(text) for text in self.texts]

    @cached_property
    def term_sets(self) -> list[frozenset[str]]:
        """The same as sets."""
        return [frozenset(found) for found in self.terms]

    @cached_property
    def lexical(self) -> Lexical:
        """BM25 over the texts."""
        return Lexical(self.terms, self.order)

    @cached_property
    def languages(self) -> list[str]:
        """Language of every document."""
        return [spoken(text) for text in self.texts]

    # -- vectors --------------------------------------------------------------------------------------------------

    @cached_property
    def encoder(self) -> CachedEncoder | None:
        """The encoder behind its cache, found when it is first needed; None for words alone."""
        return as_cached(self._wanted)

    @cached_property
    def vectors(self) -> Floats:
        """(n, d) unit rows; raises ``EncoderError`` without an encoder that can make them."""
        return self.encode(self.texts, "passage")

    def encode(self, texts: Sequence[str], kind: Any) -> Floats:
        """Vectors of texts through the cache."""
        assert self.encoder is not None
        return self.encoder.encode(texts, kind, progress=self.progress, cancel=self.cancel)

    def is_cut(self, places: Iterable[int]) -> list[bool | None]:
        """Which documents are longer than the encoder's window; None where the encoder does not tell.

        A text of fewer characters than the window has tokens is not, which needs no encoder to be loaded.
        """
        wanted = list(places)
        if self.encoder is None or not hasattr(self.encoder, "truncated"):
            return [None] * len(wanted)
        room = int(getattr(self.encoder, "max_tokens", None) or 0) - PROMPT
        return [len(self.texts[place]) > room and self._window(place)["cut"] for place in wanted]

    def window_end(self, place: int) -> int | None:
        """Where the encoder's window ends in a document that is cut, in characters; None where it cannot be told."""
        return self._window(place)["end"] if self.encoder is not None else None

    def _window(self, place: int) -> dict[str, Any]:
        """``cut`` and ``end`` of one document, kept in the cache."""
        assert self.encoder is not None
        text, cache = self.texts[place], self.encoder.cache
        key = content_key("window", encoder_identity(self.encoder.inner), text)
        known = cache.get_many("windows", [key]).get(key)
        if known is not None:
            found: dict[str, Any] = json.loads(known)
            return found
        fresh = _look_at_window(self.encoder, text)
        cache.put_many("windows", {key: json.dumps(fresh)})
        return fresh

    def backgrounds(self, questions: Sequence[str], pairs: set[tuple[str, str]]) -> dict[tuple[str, str], np.ndarray]:
        """Similarities of random questions and documents for each wanted pair of languages, ascending."""
        assert self.encoder is not None
        found: dict[tuple[str, str], np.ndarray] = {}
        languages = [spoken(question) for question in questions]
        for asked, written in sorted(pairs):
            left = [text for text, name in zip(questions, languages, strict=True) if name == asked]
            right = [text for text, name in zip(self.texts, self.languages, strict=True) if name == written]
            found |= backgrounds_by_language(
                cast(Encoder, self.encoder), left, [asked] * len(left),
                others=right, other_languages=[written] * len(right), kind="query", other_kind="passage",
            )  # fmt: skip
        return found


def _look_at_window(encoder: Any, text: str) -> dict[str, Any]:
    cut = bool(encoder.truncated([text])[0]) if hasattr(encoder, "truncated") else None
    if not cut or not hasattr(encoder, "token_vectors"):
        return {"cut": cut, "end": None}
    _, spans = encoder.token_vectors([text], "passage")[0]
    return {"cut": cut, "end": int(np.asarray(spans)[:, 1].max()) if len(spans) else None}


def spoken(text: str) -> str:
    """Language of a question or document, for telling whether the two can share words at all.

    The language model errs on short Latin texts full of names; a text with English function words is English. A bare
    identifier such as an error code has no language (``"other"``).
    """
    found = language(text)
    if found in _BY_SCRIPT:
        return found
    mine = words(text[:2000])
    if not any(word.isalpha() and len(word) > 1 for word in mine):
        return "other"
    return "en" if found == "en" or sum(word in stop_words() for word in mine) >= ENGLISH * max(len(mine), 1) else found


def stem(doc_id: str) -> str:
    """The document that a chunk's id names: the part before the last ``#``."""
    return doc_id.rsplit("#", 1)[0]


def as_cached(encoder: str | Encoder | None) -> CachedEncoder | None:
    """The encoder behind its cache; None for None and ``"none"``."""
    if encoder is None or (isinstance(encoder, str) and encoder == "none"):
        return None
    return encoder if isinstance(encoder, CachedEncoder) else load_cached(encoder)
