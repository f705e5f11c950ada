"""The judge's prompts: hand-written texts in English and Chinese, filled in so that a document stays a document.

Each file ``prompts/<language>/<name>.txt`` has a ``#system`` and a ``#user`` part (or one of them). A line may begin
with conditions in brackets, ``[contexts !reference]``: it is left out unless all of them hold. ``{{name}}`` is replaced
once; text that was put in is never looked at again. ``prompt_hash`` covers every file and is in each cache key.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import resources

from workbench.language import LANGUAGES

#: Raised by hand when the meaning of a prompt changes; the hash changes with every character.
PROMPT_VERSION = "1"

NAMES = ("part", "questions", "repair", "rubric", "verify")

Message = dict[str, str]

_CONDITION = re.compile(r"^\[([!a-z ]+)\] ?")
_SLOT = re.compile(r"\{\{(\w+)\}\}")
_TAGS = "question|contexts?|reference|answer|claims?|system|user|assistant"
_OWN_TAG = re.compile(rf"[<＜](?=\s*[/／]?\s*(?:{_TAGS})\b)|<(?=\||｜)", re.IGNORECASE)

LANGUAGE_NAMES = {
    "en": {"zh": "Chinese", "en": "English", "ja": "Japanese", "ko": "Korean", "ru": "Russian", "ar": "Arabic",
           "he": "Hebrew", "th": "Thai", "hi": "Hindi", "el": "Greek", "de": "German", "fr": "French",
           "es": "Spanish", "it": "Italian", "pt": "Portuguese"},
    "zh": {"zh": "中文", "en": "英文"},
}  # fmt: skip


@cache
def template(name: str, language: str) -> str:
    """The text of one prompt file. ``name`` is one of :data:`NAMES`, ``language`` ``"en"`` or ``"zh"``."""
    return resources.files(__package__).joinpath("prompts", language, f"{name}.txt").read_text(encoding="utf-8")


@cache
def prompt_hash() -> str:
    """Twelve hex digits that change with any character of any prompt."""
    digest = hashlib.sha256(PROMPT_VERSION.encode())
    for language in LANGUAGES:
        for name in NAMES:
            digest.update(f"\0{language}/{name}\0{template(name, language)}".encode())
    return digest.hexdigest()[:12]


def render(name: str, language: str, flags: Collection[str], values: Mapping[str, str]) -> list[Message]:
    """The chat messages of prompt ``name``: conditions decided by ``flags``, slots filled from ``values``.

    Raises
    ------
    KeyError
        When the prompt has a slot that ``values`` lacks.
    """
    parts: dict[str, list[str]] = {}
    role = "user"
    for line in template(name, language).splitlines():
        if line in ("#system", "#user"):
            role = line[1:]
        elif (kept := _kept(line, flags)) is not None:
            parts.setdefault(role, []).append(_SLOT.sub(lambda match: values[match[1]], kept))
    return [{"role": role, "content": "\n".join(lines).strip()} for role, lines in parts.items()]


def _kept(line: str, flags: Collection[str]) -> str | None:
    match = _CONDITION.match(line)
    if match is None:
        return line
    wanted = match[1].split()
    holds = all((word[1:] not in flags) if word[0] == "!" else (word in flags) for word in wanted)
    return line[match.end() :] if holds else None


def without_system(messages: Sequence[Message]) -> list[Message]:
    """The same conversation for a model without a system role: its text stands before the first question."""
    system, *rest = messages
    if system["role"] != "system" or not rest:
        return list(messages)
    return [{"role": rest[0]["role"], "content": f"{system['content']}\n\n{rest[0]['content']}"}, *rest[1:]]


def escaped(text: str) -> str:
    """``text`` so that it cannot open or close one of the prompt's own tags; nothing else is changed."""
    return _OWN_TAG.sub("&lt;", text)


def numbered(tag: str, texts: Sequence[str]) -> str:
    """``texts`` between ``<tag id="1">`` … tags, numbered from 1."""
    return "\n".join(f'<{tag} id="{n}">\n{escaped(text)}\n</{tag}>' for n, text in enumerate(texts, start=1))


def prompt_language(text: str) -> str:
    """The language of the prompt for a sample whose question is ``text``: ``"zh"`` for Chinese, else ``"en"``."""
    from workbench.data.text import language

    return "zh" if language(text) == "zh" else "en"


def language_name(code: str, prompt: str) -> str:
    """How the prompt in language ``prompt`` names the language ``code``."""
    if code in LANGUAGE_NAMES[prompt]:
        return LANGUAGE_NAMES[prompt][code]
    return "与回答相同的语言" if prompt == "zh" else "the language of the answer"


# ---------------------------------------------------------------- text that speaks to the judge

_ADDRESSES = re.compile(
    r"""
      \b(?:ignore|disregard|forget|override)\s+(?:all\s+|any\s+|the\s+|your\s+|of\s+|these\s+)*
        (?:previous|prior|above|earlier|preceding|other|system)?\s*(?:instructions?|prompts?|rules|context|guidelines)\b
    | \b(?:you\s+are|act\s+as|as)\s+(?:now\s+)?(?:an?|the)\s+(?:\w+\s+)?(?:judge|grader|evaluator|examiner|rater)\b
    | \b(?:judge|grader|evaluator|model|assistant)s?\s*[:,]?\s+(?:must|should|please|shall)\b[^.\n]{0,60}
        \b(?:supported|relevant|score|verdict|rate|mark|approve)
    | \b(?:mark|rate|score|judge|label|treat|classify)\s+(?:this|the|every|all|each|any)\b[^.\n]{0,50}
        \b(?:as\s+(?:fully\s+)?(?:supported|relevant|correct|true|faithful)|[01](?:\.0)?\s*(?:/|out)|full\s+marks)
    | \b(?:verdict|relevan(?:t|ce)|score)["']?\s*[:=]\s*["']?(?:supported|true|1(?:\.0)?)\b
    | \bsystem\s+prompt\b | <\|im_(?:start|end)\|> | \[/?INST\] | <</?SYS>>
    | (?:忽略|无视|忘记|不要理会|请勿遵守)[^。\n]{0,12}(?:指令|指示|说明|提示词?|要求|规则|内容)
    | (?:评判者|评判模型|评估者|评测模型|裁判模型|打分模型|评分者|评审)[^。\n]{0,20}(?:请|应|必须|务必|注意|判|给)
    | (?:请|务必|必须|应当?)[^。\n]{0,20}(?:判定?为|标记为|评为|视为|认定为|输出)[^。\n]{0,8}
        (?:支持|相关|正确|supported|true|满分|1分)
    | (?:系统提示词|你现在是(?:一[个名位])?(?:评判|裁判|评估|打分))
    """,
    re.VERBOSE | re.IGNORECASE,
)


def addresses_judge(text: str) -> str | None:
    """The first passage of ``text`` that reads like an instruction to a judge, at most 80 characters, or None."""
    match = _ADDRESSES.search(text)
    return " ".join(match[0].split())[:80] if match else None
