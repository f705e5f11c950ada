"""The last complete JSON object of a reply: past reasoning, drafts and echoes, and as far as one that breaks off is whole."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from workbench.data.text import reasoning

_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_CLOSING = {"{": "}", "[": "]"}
#: Deeper nesting than any reply of ours has; the parser is never asked to recurse further.
_MAX_DEPTH = 50
#: Brackets that never close are looked behind at most so often.
_MOST_OPEN = 20
ECHOES = ("…", "...")


@dataclass(frozen=True, slots=True)
class Loaded:
    """``value``: the JSON object, or None. ``cut``: the list that broke off, "" between members, None if whole.

    ``n_answers``: different objects of the shape asked for, of which it is the last; ``more``: the words that follow it.
    """

    value: dict[str, Any] | None
    cut: str | None = None
    n_answers: int = 1
    more: str = ""


def load_object(text: str, wanted: Collection[str] = ()) -> Loaded:
    """The last JSON object after all reasoning, of those that have one of the members ``wanted``.

    Drafts and echoes of the shape before it are passed over. An answer that breaks off after a complete one takes its
    place. Python's literals are read where they can only mean one thing. Never raises; nan and inf come back as text.
    """
    text = text.replace("\ufeff", "")
    if text.strip()[:2] == '"{' and isinstance(inner := _parsed(text.strip()), str):
        text = inner
    quoted = reasoning.marks(text)
    start = text.find("{")
    if quoted and 0 <= start < quoted[0] and (end := _end_of_value(text, start) or 0) > quoted[1]:
        # The marks stand inside the answer: it quotes a text that has them.
        value = _loads(text[start:end])
        if value is not None:
            return Loaded(value)
    return _last_answer(reasoning.final_words(text), wanted)


def _last_answer(text: str, wanted: Collection[str]) -> Loaded:
    found, unclosed = _objects(text)
    outer = [item for item in found if not unclosed or item.start < unclosed[0]]
    named = [item._replace(value=_inside(item.value, wanted) or {}) for item in found] if wanted else outer
    answers = [item for item in named if item.value]
    answers = [item for item in answers if not _is_example(item.value)] or answers
    last = answers[-1] if answers else None
    for start in unclosed if wanted or last is None else ():
        broken = text[start:].rstrip()
        if last is not None and (start < last.end or text[last.start :].startswith(broken)):
            continue
        if last is None or any(f"{quote}{name}{quote}" in broken for name in wanted for quote in "\"'"):
            salvaged = _salvaged(broken)
            if salvaged.value:
                return salvaged
    if last is None and not outer:
        return _salvaged(text[unclosed[0] :]) if unclosed else Loaded(None)
    if last is None:
        return Loaded(outer[-1].value)
    rest = text[last.end :].strip().strip("`").strip()
    more = "" if text[last.start :].startswith(rest) else rest
    different = {json.dumps(item.value, sort_keys=True, default=str) for item in answers}
    return Loaded(last.value, n_answers=len(different), more=more)


#: Members of a wrapper that hold what a model only thought.
_THOUGHT = re.compile("think|thought|reason|draft|analysis|scratch", re.IGNORECASE)


def _inside(value: Any, wanted: Collection[str]) -> dict[str, Any] | None:
    """``value``, or the one object within it that has a member of ``wanted``: the argument of a tool's call, or in a wrapper.

    Also where it is written as a text; None for several that differ.
    """
    if isinstance(value, str):
        value = _loads(value) if value.lstrip()[:1] == "{" else None
    if not isinstance(value, dict) or any(name in value for name in wanted):
        return value if isinstance(value, dict) else None
    found = [one for name, part in value.items() if not _THOUGHT.search(name) and (one := _inside(part, wanted)) is not None]
    return found[0] if found and all(one == found[0] for one in found) else None


class _Found(NamedTuple):
    start: int
    end: int
    value: dict[str, Any]


def _objects(text: str) -> tuple[list[_Found], list[int]]:
    """Complete objects in ``text``, none inside another, and where brackets open that never close."""
    found: list[_Found] = []
    unclosed: list[int] = []
    at = 0
    while (start := text.find("{", at)) >= 0 and len(unclosed) < _MOST_OPEN:
        end = _end_of_value(text, start)
        if end is None:
            unclosed.append(start)
            at = start + 1
            continue
        value = _loads(text[start:end])
        if value is not None:
            found.append(_Found(start, end, value))
        at = end
    return found, unclosed


def _is_example(value: dict[str, Any]) -> bool:
    """Whether a text is the "…" that stands in its place in the shape that the prompt shows."""
    parts = [item for part in value.values() for item in (part if isinstance(part, list) else [part])]
    return any(text_of(item).strip() in ECHOES for item in parts)


def _end_of_value(text: str, start: int) -> int | None:
    """Where the bracket at ``start`` closes; None when it never does."""
    depth = 0
    for at, character in _structure(text, start):
        depth += (character in "{[") - (character in "}]")
        if depth == 0:
            return at + 1
    return None


_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\],:]', re.DOTALL)
_PYTHON_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*"?|\'(?:[^\'\\]|\\.)*\'?|[{}\[\],:]', re.DOTALL)
_PYTHON = re.compile(r"\{\s*'")
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_JSON_WORD = re.compile(r'("(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\')|\b(true|false|null)\b', re.DOTALL)
_PYTHON_WORDS = {"true": "True", "false": "False", "null": "None"}


def _structure(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Brackets, commas and colons outside strings, with their positions."""
    pattern = _PYTHON_STRUCTURE if _PYTHON.match(text, start) else _STRUCTURE
    for match in pattern.finditer(text, start):
        if match[0][0] not in "\"'":
            yield match.start(), match[0]


def _loads(text: str) -> dict[str, Any] | None:
    depth = deepest = 0
    for _, character in _structure(text, 0):
        depth += (character in "{[") - (character in "}]")
        deepest = max(deepest, depth)
    value = None if deepest > _MAX_DEPTH else _parsed(text)
    return value if isinstance(value, dict) else None


def _parsed(text: str) -> Any:
    """JSON, with comments or a comma too many, or as Python writes it, also with the words of JSON; None for anything else."""
    bare = _COMMENT.sub(lambda found: found[1] or "", text)
    for attempt in (text, _TRAILING_COMMA.sub("", bare)):
        try:
            return json.loads(attempt, parse_constant=str, strict=False)
        except ValueError:
            continue
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(_JSON_WORD.sub(lambda found: found[1] or _PYTHON_WORDS[found[2]], text))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _salvaged(text: str) -> Loaded:
    """The whole members and whole list items of an object that never closes.

    Of the outermost list that is still open its complete items are kept; an item that was begun is dropped with all it
    holds, because half a list of verdicts would read like a whole one.
    """
    stack: list[str] = []
    #: For each bracket that is open at the end where its last complete member ends.
    good: list[int] = []
    for at, character in _structure(text, 0):
        if character in "{[":
            stack.append(character)
            good.append(at + 1)
        elif character in "}]":
            stack.pop()
            good.pop()
            if not stack:
                return Loaded(None)
            good[-1] = at + 1
        elif character == "," and stack:
            good[-1] = at
    if not stack or len(stack) > _MAX_DEPTH:
        return Loaded(None)
    level = next((n for n, bracket in enumerate(stack) if bracket == "["), 0)
    value = _loads(text[: good[level]] + "".join(_CLOSING[bracket] for bracket in reversed(stack[: level + 1])))
    if value is None:
        return Loaded(None)
    return Loaded(value, cut=next(reversed(value), "") if level else "")


def text_of(value: Any) -> str:
    """The text of an item, which may be a text or stand under that name; empty for anything else."""
    text = value.get("text") if isinstance(value, dict) else value
    return text if isinstance(text, str) else ""
