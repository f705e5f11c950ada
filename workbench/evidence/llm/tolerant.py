"""JSON out of a chat reply: past fences, preambles and thoughts, and what is whole when the rest was cut off."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_THOUGHTS = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_FENCED = re.compile(r"```[a-zA-Z0-9]*\s*\n?(.*?)```", re.DOTALL)
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_CLOSING = {"{": "}", "[": "]"}
#: Deeper nesting than any reply of ours has; the parser is never asked to recurse further.
_MAX_DEPTH = 50


@dataclass(frozen=True, slots=True)
class Loaded:
    """``value``: the JSON object, or None. ``cut``: the list that broke off, "" between members, None if whole."""

    value: dict[str, Any] | None
    cut: str | None = None


def load_object(text: str) -> Loaded:
    """The JSON object that ``text`` holds. Never raises; nan and inf come back as text, so that they are no numbers."""
    text = _THOUGHTS.sub(" ", text.replace("\ufeff", ""))
    candidates = [*(match[1] for match in _FENCED.finditer(text)), text]
    for candidate in candidates:
        value = _whole(candidate)
        if value is not None:
            return Loaded(value)
    return _salvaged(text)


def _whole(text: str) -> dict[str, Any] | None:
    """The largest complete JSON object in ``text``."""
    best: dict[str, Any] | None = None
    best_length = at = 0
    while (start := text.find("{", at)) >= 0:
        end = _end_of_value(text, start)
        if end is None:
            return best
        value = _loads(text[start:end])
        if value is not None and end - start > best_length:
            best, best_length = value, end - start
        at = end
    return best


def _end_of_value(text: str, start: int) -> int | None:
    """Where the bracket at ``start`` closes; None when it never does."""
    depth = 0
    for at, character in _structure(text, start):
        if character in "{[":
            depth += 1
        elif character in "}]":
            depth -= 1
            if depth == 0:
                return at + 1
    return None


_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\],:]', re.DOTALL)


def _structure(text: str, start: int) -> Any:
    """Brackets, commas and colons outside strings, with their positions."""
    for match in _STRUCTURE.finditer(text, start):
        if match[0][0] != '"':
            yield match.start(), match[0]


def _loads(text: str) -> dict[str, Any] | None:
    if _depth(text) > _MAX_DEPTH:
        return None
    for attempt in (text, _TRAILING_COMMA.sub("", text)):
        try:
            value = json.loads(attempt, parse_constant=str, strict=False)
        except ValueError:
            continue
        return value if isinstance(value, dict) else None
    return None


def _depth(text: str) -> int:
    depth = deepest = 0
    for _, character in _structure(text, 0):
        depth += (character in "{[") - (character in "}]")
        deepest = max(deepest, depth)
    return deepest


# ---------------------------------------------------------------- a reply that was cut off


def _salvaged(text: str) -> Loaded:
    """The whole members and whole list items of an object that never closes.

    Of the outermost list that is still open its complete items are kept; an item that was begun is dropped with all it
    holds, because half a list of verdicts would read like a whole one.
    """
    start = text.find("{")
    if start < 0:
        return Loaded(None)
    stack, good = _open_brackets(text, start)
    if not stack or len(stack) > _MAX_DEPTH:
        return Loaded(None)
    level = next((n for n, bracket in enumerate(stack) if bracket == "["), 0)
    body = text[start : good[level]]
    value = _loads(body + "".join(_CLOSING[bracket] for bracket in reversed(stack[: level + 1])))
    if value is None:
        return Loaded(None)
    return Loaded(value, cut=next(reversed(value), "") if level else "")


def _open_brackets(text: str, start: int) -> tuple[list[str], list[int]]:
    """The brackets left open at the end, and for each where its last complete member ends."""
    stack: list[str] = []
    good: list[int] = []
    for at, character in _structure(text, start):
        if character in "{[":
            stack.append(character)
            good.append(at + 1)
        elif character in "}]":
            stack.pop()
            good.pop()
            if not stack:
                break
            good[-1] = at + 1
        elif character == "," and stack:
            good[-1] = at
    return stack, good
