"""Keys never reach a report, whatever text they hide in."""

from __future__ import annotations

import os

from workbench.data.redact import HIDDEN

#: Environment variables whose value is a key.
KEYS = ("OPENAI_API_KEY",)
#: A shorter value is no key, and replacing it would harm ordinary words.
_SHORTEST = 8


def without_keys(text: str) -> str:
    """``text`` without the keys that this process knows."""
    for name in KEYS:
        key = os.environ.get(name, "")
        if len(key) >= _SHORTEST:
            text = text.replace(key, HIDDEN)
    return text
