"""What a reasoning model says, told from what it thinks aloud before.

Known are the marks of DeepSeek-R1, Qwen, GLM, MiniMax and their kin (``<think>``), Magistral (``[THINK]``), Kimi
(``◁think▷``), Cohere (``<|START_THINKING|>``) and gpt-oss (harmony channels), closed, never closed, or without the opening
mark, which many chat templates write themselves.
"""

from __future__ import annotations

import re

_NAMES = r"(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad)"
_OPEN = re.compile(rf"<\s*{_NAMES}\s*>|\[THINK\]|◁\s*think\s*▷|<\|START_THINKING\|>", re.IGNORECASE)
_CLOSE = re.compile(rf"<\s*/\s*{_NAMES}\s*>|\[/THINK\]|◁\s*/\s*think\s*▷|<\|END_THINKING\|>", re.IGNORECASE)
_CHANNEL = re.compile(
    r"<\|channel\|>\s*(\w+)(?:(?!<\|(?:message|channel)\|>).)*<\|message\|>(.*?)"
    r"(?=<\|(?:end|return|call|start|channel)\|>|\Z)",
    re.DOTALL,
)
#: Harmony whose special tokens a server left out: "analysisThe user … assistantfinal{…}".
_BARE_CHANNEL = re.compile(r"\s*(?:assistant)?(?:analysis|commentary)(?=\w|[\"'{])")


def final_words(text: str) -> str:
    """What stands after all reasoning; nothing where the reasoning never ends."""
    if text.lstrip().startswith("<|") and "<|channel|>" in text:
        said = [content for channel, content in _CHANNEL.findall(text) if channel == "final"]
        text = said[-1] if said else ""
    elif _BARE_CHANNEL.match(text):
        text = text.rpartition("assistantfinal")[2] if "assistantfinal" in text else ""
    closed = [match.end() for match in _CLOSE.finditer(text)]
    rest = text[closed[-1] :] if closed else text
    return "" if _OPEN.search(rest) else rest


def parted(text: str) -> tuple[str, str]:
    """What an answer says, and what was thought aloud before it; the latter is empty for an answer without reasoning.

    A mark in the middle of an answer that does not begin with one may be what it is about, and is left alone.
    """
    harmony = text.lstrip().startswith("<|") and "<|channel|>" in text
    closed, opened = _CLOSE.search(text), _OPEN.search(text)
    unopened = closed is not None and (opened is None or closed.start() < opened.start())
    if not (harmony or unopened or _OPEN.match(text.lstrip())):
        return text, ""
    said = final_words(text).strip()
    return said, (text[: text.rindex(said)] if said else text).strip()


def marks(text: str) -> tuple[int, int] | None:
    """Where the first mark of reasoning begins and the last one ends; None without any."""
    found = [match.span() for pattern in (_OPEN, _CLOSE) for match in pattern.finditer(text)]
    return (min(start for start, _ in found), max(end for _, end in found)) if found else None
