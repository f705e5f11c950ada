"""What surrounds an answer by mistake: tool calls, control tokens, an echo of the prompt, a JSON envelope."""

from __future__ import annotations

import json
import re
from itertools import islice

#: Markup of a tool call or a control token, to its end where it has one.
TOOL_CALL = re.compile(
    r"<(tool_call|function_call|tool|invoke)\b[^>]*>.*?(?:</\1>|\Z)|</?(?:tool_call|function_call|invoke)\b[^>]*>"
    r"|\"(?:tool_calls?|function_call|tool_name)\"\s*:|<\|[a-z_]+\|>",
    re.IGNORECASE | re.DOTALL,
)

#: A line of a prompt: a role or part with a colon, or the instruction to answer from the context.
PROMPT_LINE = re.compile(
    r"^[ \t]*(?:(?:system|user|assistant|human|context|question|instructions?|系统|用户|上下文|问题|指令)[ \t]*[:：][ \t]*\S.*"
    r"|you are an? (?:helpful|ai|expert)\b.*"
    r"|(?:please )?answer (?:the (?:following )?question )?(?:only )?(?:using|based on|from) (?:only )?the "
    r"(?:following |provided |given )?context.*"
    r"|(?:请)?(?:仅|只)?根据(?:以下|上述|下列|给定的?)(?:上下文|资料|内容|片段)(?:来)?回答.*)$",
    re.IGNORECASE | re.MULTILINE,
)

_JSON_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)"(\s*:)?')
_JSON_OPENING = re.compile(r"\{\s*[\"'}]|\[\s*\{")
_FENCE = re.compile(r"\s*```\w*\s*(.*?)\s*(?:```)?\s*", re.DOTALL)
_SENTENCE = re.compile(r"\s\S|[\u4e00-\u9fff]{2}")
_CALL_KEYS = re.compile(
    r"\"(?:tool_calls?|function_call|tool_name)\"\s*:|\"function\"\s*:\s*\{"
    r"|\"name\"\s*:\s*\"[^\"\n]*\"\s*,\s*\"(?:arguments|parameters)\"\s*:"
)
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
#: Objects of JSON that are looked for in one text.
_MANY = 50


def json_body(text: str) -> tuple[int, int] | None:
    """Where the JSON object (or list of objects) stands that ``text`` is as a whole, in a code fence or bare; else None.

    A fence or an object that breaks off counts as well.
    """
    fenced = _FENCE.fullmatch(text) if "```" in text else None
    start, end = fenced.span(1) if fenced else (len(text) - len(text.lstrip()), len(text.rstrip()))
    opening = _JSON_OPENING.match(text, start, end)
    if opening is None:
        return None
    ending = _json_end(text[start:end])
    whole = ending == end - start if ending is not None else _JSON_STRING.search(text, start, end) is not None
    return (start, end) if whole else None


def _json_end(text: str) -> int | None:
    """Where the JSON value at the start of ``text`` ends; None where it is none."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text)[1]
    except (ValueError, RecursionError):
        return None


def calls(text: str) -> list[tuple[int, int]]:
    """Where tool calls and control tokens stand in ``text``: marked up, or as objects of JSON."""
    found = [match.span() for match in TOOL_CALL.finditer(text)]
    at = 0
    for opening in islice(_JSON_OPENING.finditer(text), _MANY):
        if opening.start() < at or not _CALL_KEYS.search(text, opening.start()):
            continue
        length = _json_end(text[opening.start() :])
        at = len(text) if length is None else opening.start() + length
        if _CALL_KEYS.search(text, opening.start(), at):
            found.append((opening.start(), at))
    return sorted(found)


def spoken(text: str) -> list[tuple[int, int]]:
    """The parts of ``text`` that speak to the reader, as offsets: without tool calls, control tokens, code blocks and
    lines of a prompt; of a text that is JSON as a whole, the string values that are sentences."""
    body = json_body(text)
    removed = calls(text)
    if body is not None:
        values = [match.span(1) for match in _JSON_STRING.finditer(text, *body) if match.group(2) is None]
        inside = [(start, end) for start, end in values if _SENTENCE.search(text[start:end])]
        return [(s, e) for s, e in inside if not any(low <= s and e <= high for low, high in removed)]
    removed += [match.span() for pattern in (_CODE, PROMPT_LINE) for match in pattern.finditer(text)]
    parts, at = [], 0
    for start, end in sorted(removed):
        if start > at:
            parts.append((at, start))
        at = max(at, end)
    return [*parts, (at, len(text))] if at < len(text) else parts
