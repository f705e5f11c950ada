"""Signs that an answer is broken in form: cut off, raw JSON or a tool call, an echo of the prompt, the wrong language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from workbench.data.schema import Sample
from workbench.data.text import language, normalise
from workbench.data.wrapping import PROMPT_LINE, calls, json_body

_OPEN_END = re.compile(
    r"[,，、:：;；(（\[【“‘—-]$|(?<!\S)[\"']$"
    r"|(?:以及|并且|而且|或者|因为|由于|如果|但是|例如|包括|以便|为了|根据|关于|对于|但|而|或)$"
    r"|(?<!\S)(?:and|or|the|a|an|of|to|with|for|in|is|are|that|which|by|from|at|as|but)$",
    re.IGNORECASE,
)
_LAST_WORD = re.compile(r"\w$")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_WORD = re.compile(r"(?<![\w-])[A-Za-z]{2,}(?![\w-])")
#: What :func:`format_sign` can say.
SIGNS = ("cut_off", "raw_json", "tool_call", "prompt_echo", "wrong_language")

_CUT_REASONS = ("length", "max_tokens", "max_output_tokens", "token_limit")


def format_sign(sample: Sample, row: Mapping[str, Any]) -> str | None:
    """Which sign of a broken format an answer shows: ``cut_off, raw_json, tool_call, prompt_echo, wrong_language``."""
    answer = (sample.answer or "").strip()
    if not answer:
        return None
    if calls(answer):
        return "tool_call"
    if json_body(answer) is not None and not _asks_for_json(sample.question):
        return "raw_json"
    if PROMPT_LINE.search(answer) and not PROMPT_LINE.search(sample.question):
        return "prompt_echo"
    if _cut_off(answer, row):
        return "cut_off"
    return "wrong_language" if _wrong_language(sample.question, answer) else None


def _asks_for_json(question: str) -> bool:
    return "json" in normalise(question)


def _cut_off(answer: str, row: Mapping[str, Any]) -> bool:
    usage = row.get("usage")
    reason = usage.get("finish_reason") if isinstance(usage, Mapping) else None
    if reason in _CUT_REASONS:
        return True
    if answer.count("```") % 2:
        return True
    last = answer.splitlines()[-1].strip()
    if _OPEN_END.search(last):
        return True
    # A longer text whose other sentences end in a stop, and whose last one does not.
    ended = re.search(r"[。！？.!?]", answer[:-1]) is not None
    listed = re.match(r"[-*•\d|]", last) is not None or "\n" in answer
    long = len(answer) > (20 if _HAN.search(answer) else 60)
    return ended and long and not listed and _LAST_WORD.search(last) is not None and not _ends_as_unit(last)


def _ends_as_unit(last: str) -> bool:
    """The last words look like a value, a link or an identifier rather than a broken sentence."""
    return re.search(r"(?:https?://\S+|\S*[\d@/_#]\S*)$", last) is not None


def _wrong_language(question: str, answer: str) -> bool:
    """Chinese asked and answered without Chinese, or the reverse; bare keywords and other languages tell nothing."""
    asked, given = language(question), language(answer)
    if asked == given or {asked, given} != {"zh", "en"}:
        return False
    if asked == "zh":
        return not _HAN.search(answer) and len(_WORD.findall(answer)) >= 6
    return len(_WORD.findall(question)) >= 3 and len(_HAN.findall(answer)) >= 8
