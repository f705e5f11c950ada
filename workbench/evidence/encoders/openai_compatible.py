"""Vectors from an OpenAI-compatible endpoint (OpenAI, vLLM, Ollama, llama.cpp, text-embeddings-inference …).

``OPENAI_BASE_URL`` names the endpoint and ``OPENAI_API_KEY`` the key, which is sent to the endpoint and goes nowhere
else: no log, no cache key, no message of an error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from workbench.data.validate import scrub
from workbench.errors import EncoderError
from workbench.evidence.embed import Kind, checked_vectors

#: Texts in one request.
REQUEST_TEXTS = 64


class OpenAIEncoder:
    """One embedding model of an endpoint.

    Parameters
    ----------
    model
        The model's name there.
    prompts
        ``{"query": …, "passage": …}`` put before the texts; default none.
    timeout
        Seconds for one request; transport errors, 429 and 5xx are tried again by the client (3 times).

    Raises
    ------
    EncoderError
        When the ``openai`` package, or both endpoint and key, are missing.
    """

    def __init__(self, model: str, *, prompts: Mapping[str, str] | None = None, timeout: float = 60.0) -> None:
        if not model:
            raise EncoderError("encoder 'openai:' names no model; write openai:MODEL")
        self.model = model
        self.name = f"openai:{model}"
        self.prompts = dict(prompts or {})
        self._key = os.environ.get("OPENAI_API_KEY", "")
        self._client = _client(self._key, timeout)
        self.fingerprint = _endpoint(str(self._client.base_url)) + repr(sorted(self.prompts.items()))

    @cached_property
    def dimension(self) -> int:
        """Length of a vector, learnt from one request."""
        return len(self._request(["dimension"])[0])

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        """Unit rows (n, d) float32.

        Raises
        ------
        EncoderError
            When the endpoint refuses, does not answer, or answers with other than one vector for each text.
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
            raise EncoderError(f"encoder {self.name}: {type(error).__name__}: {self._redacted(str(error))}") from None
        data: list[Any] = sorted(answer.data or [], key=lambda item: item.index)
        if [item.index for item in data] != list(range(len(inputs))):
            raise EncoderError(f"encoder {self.name} returned {len(data)} vectors for {len(inputs)} texts")
        return [list(item.embedding) for item in data]

    def _redacted(self, message: str) -> str:
        if self._key:
            message = message.replace(self._key, "…")
        return " ".join(re.sub(r"\bsk-[\w*-]+", "…", message).split())[:200]


def _client(key: str, timeout: float) -> Any:
    try:
        import openai
    except ImportError as error:
        raise EncoderError("package openai is missing; run `pip install openai`") from error
    if not key and not os.environ.get("OPENAI_BASE_URL"):
        raise EncoderError("set OPENAI_API_KEY, or OPENAI_BASE_URL for an endpoint of your own")
    # A local server asks for no key, but the client insists on one.
    return openai.OpenAI(api_key=key or "none", timeout=timeout, max_retries=3)


def _endpoint(url: str) -> str:
    """Host and path alone: user names, passwords and query parameters may be secrets."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.hostname}{port}{parts.path}"
