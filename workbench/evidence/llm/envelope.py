"""What stands in the body of a chat completion, whatever the server made of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Completion:
    """A completed call. ``problem`` says what was wrong with the envelope when ``text`` could not be found in it."""

    text: str
    finish: str = ""
    sent: int = 0
    received: int = 0
    problem: str = ""

    @property
    def cut_off(self) -> bool:
        """Whether the endpoint stopped at its length limit."""
        return self.finish in ("length", "max_tokens")


def completion_in(content: bytes) -> Completion:
    """What stands in the body of a chat completion. Never raises."""
    try:
        body = json.loads(content)
        choice = body["choices"][0]
        message = choice["message"]
        usage = body["usage"] if isinstance(body.get("usage"), dict) else {}
        text = message.get("content")
        refusal = message.get("refusal")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return Completion("", problem="the endpoint's reply is no chat completion")
    if isinstance(text, list):
        text = "".join(str(part.get("text", "")) for part in text if isinstance(part, dict))
    finish = str(choice.get("finish_reason") or "")
    problem = "" if text else _why_empty(refusal, finish)
    sent, received = (_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens"))
    return Completion(text if isinstance(text, str) else "", finish, sent, received, problem)


def _why_empty(refusal: Any, finish: str) -> str:
    if refusal:
        return f"the model declined: {refusal}"[:200]
    return "the endpoint's content filter stopped the reply" if finish == "content_filter" else ""


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
