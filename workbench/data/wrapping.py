"""What surrounds an answer by mistake: tool calls, control tokens, an echo of the prompt, a JSON envelope."""

from __future__ import annotations

import re

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
_JSON_START = re.compile(r'[\[{\s]*"(?:[^"\\]|\\.)*+"\s*:')
_SENTENCE = re.compile(r"\s\S|[\u4e00-\u9fff]{2}")


def spoken(text: str) -> list[tuple[int, int]]:
    """The parts of ``text`` that speak to the reader, as offsets: without tool calls, control tokens and lines of a
    prompt; of a text that is raw JSON, the string values that are sentences."""
    body = text.strip()
    if body[:1] in ("{", "[") and body[-1:] in ("}", "]") and _JSON_START.match(body):
        values = [match.span(1) for match in _JSON_STRING.finditer(text) if match.group(2) is None]
        return [(start, end) for start, end in values if _SENTENCE.search(text[start:end])]
    removed = sorted(match.span() for pattern in (TOOL_CALL, PROMPT_LINE) for match in pattern.finditer(text))
    parts, at = [], 0
    for start, end in removed:
        if start > at:
            parts.append((at, start))
        at = max(at, end)
    return [*parts, (at, len(text))] if at < len(text) else parts
