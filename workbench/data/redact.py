"""Keeping keys out of everything that is written: messages, logs, caches, manifests."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit, urlunsplit

HIDDEN = "***"

_KEY_SHAPED = re.compile(
    r"\b(?:sk|pk|rk|key|tok|ghp|gsk|xai|hf)[-_][A-Za-z0-9_-]{8,}|(?i:bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}"
)
_SHORTEST = 4


class Secret:
    """A value that does not show itself: ``repr`` and ``str`` are ``***``; it takes no part in pickles.

    ``value`` reads it. Another process has to get its key from its own environment.
    """

    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value = value

    def __repr__(self) -> str:
        return HIDDEN

    __str__ = __repr__

    def __bool__(self) -> bool:
        return bool(self.value)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Secret, ("",))


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """``text`` without the given secrets and without anything that looks like a key or an Authorization value."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, HIDDEN)
    return _KEY_SHAPED.sub(HIDDEN, text)


def public_url(url: str) -> str:
    """``url`` without user, password, query and fragment, so that it can be shown and kept."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit((parts.scheme, host + port, parts.path.rstrip("/"), "", ""))


class RedactingFilter(logging.Filter):
    """A logging filter that removes the given secrets from each record's message, arguments and traceback."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        self._secrets = tuple(secrets)

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record; every record passes."""
        record.msg, record.args = redacted(record.getMessage(), self._secrets), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = redacted(record.exc_text, self._secrets)
        return True


#: Loggers of the client and of what it sends with; their debug records hold requests with headers.
CLIENT_LOGGERS = (
    "openai", "openai._base_client", "openai._response", "openai._legacy_response", "httpx", "httpx2", "httpcore",
    "httpcore.connection", "httpcore.http11", "httpcore2", "httpcore2.connection", "httpcore2.http11",
)  # fmt: skip


def guard_client_loggers(secrets: Iterable[str]) -> None:
    """Put a redacting filter for ``secrets`` on the client's loggers, once for each set of secrets."""
    wanted = tuple(secret for secret in secrets if len(secret) >= _SHORTEST)
    for name in CLIENT_LOGGERS if wanted else ():
        logger = logging.getLogger(name)
        if not any(isinstance(item, RedactingFilter) and item._secrets == wanted for item in logger.filters):
            logger.addFilter(RedactingFilter(wanted))
