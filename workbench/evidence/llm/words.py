"""Reading single words and numbers of a reply: whole tokens only, and anything unknown is an error, never a guess."""

from __future__ import annotations

import math
import re
import tomllib
import unicodedata
from functools import cache
from importlib import resources
from typing import Any

_EDGES = " \t\r\n\"'`“”‘’「」『』《》【】[]()（）*_#.。!！,，;；、"
_FENCE = re.compile(r"```(?:json|text|txt)?\s|```")
_INTEGER = re.compile(
    r"(?:context|claim|上下文|声明|no\.?|#|第)?\s*[\[(【（]?\s*(\d{1,6})\s*[\])】）]?\s*(?:条|个|号)?", re.IGNORECASE
)
_SCORE = re.compile(r"([+-]?(?:\d+(?:\.\d+)?|\.\d+))\s*分?")


@cache
def _words(table: str) -> dict[str, str]:
    """Word → what it means, from one table of ``words.toml``."""
    lists = tomllib.loads(resources.files(__package__).joinpath("words.toml").read_text(encoding="utf-8"))[table]
    return {word: meaning for meaning, words in lists.items() for word in words}


def token(value: str) -> str:
    """``value`` as one lower-case token: NFKC, without fences, quotes, punctuation and a neutral label before ":"."""
    text = unicodedata.normalize("NFKC", _FENCE.sub(" ", value)).strip(_EDGES).casefold()
    label, colon, rest = text.partition(":")
    if colon and _joined(label) in _words("label"):
        text = rest
    return _joined(text)


def _joined(text: str) -> str:
    return re.sub(r"[\s_-]+", "_", text.strip(_EDGES)).strip("_")


def read_verdict(value: Any) -> str:
    """One of the three verdicts.

    Raises
    ------
    ValueError
        For anything but a known word or true / false: numbers, an echo of the options, a sentence, nothing.
    """
    if isinstance(value, bool):
        return "supported" if value else "not_mentioned"
    if isinstance(value, str) and (verdict := _words("verdict").get(token(value))) is not None:
        return verdict
    raise ValueError(f"unknown verdict {shown(value)}")


def read_flag(value: Any) -> bool:
    """True or false; words in either language are known.

    Raises
    ------
    ValueError
        For numbers and for any other word.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and (meaning := _words("flag").get(token(value))) is not None:
        return meaning == "true"
    raise ValueError(f"neither true nor false: {shown(value)}")


def read_number(value: Any) -> int:
    """A number from 1 on; ``"1"``, ``"[1]"`` and ``1.0`` are 1.

    Raises
    ------
    ValueError
        For anything else.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str) and (match := _INTEGER.fullmatch(value.strip())):
        value = int(match[1])
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"not a number from 1 on: {shown(value)}")
    return value


def read_score(value: Any) -> float:
    """A finite number in [0, 1]; ``"0.8"`` and ``"0.8分"`` are .8.

    Raises
    ------
    ValueError
        For 85, -1, nan, inf, true, and for any other text.
    """
    if isinstance(value, str) and (match := _SCORE.fullmatch(unicodedata.normalize("NFKC", value).strip(_EDGES[:6]))):
        value = float(match[1])
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= 1:
        raise ValueError(f"not a number from 0 to 1: {shown(value)}")
    return float(value)


def shown(value: Any, limit: int = 40) -> str:
    """``value`` for a message: one line, cut."""
    text = " ".join(repr(value).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
