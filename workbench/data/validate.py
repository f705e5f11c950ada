"""One value of one field, from whatever was recorded to the form that the data contract states.

Each reader takes a value and returns it in the contract's form, None for missing; it raises :class:`Unreadable` with
the reason when something is there that cannot be used. Missing are None, NaN and pandas' missing values, and nothing
else: the words "null" and "None" are words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.data.formats.literals import looks_structured, parse_literal
from workbench.data.normalising import SURROGATE
from workbench.data.schema import none_if_missing

_TRUE = {"true", "yes", "y", "1", "t", "是", "对", "真", "需要", "应", "应拒答", "拒答", "已拒答", "1.0", "√", "有"}
_FALSE = {
    "false",
    "no",
    "n",
    "0",
    "f",
    "否",
    "不",
    "不是",
    "假",
    "不需要",
    "不应",
    "不应拒答",
    "未拒答",
    "0.0",
    "×",
    "无",
}
_LONGEST_INTEGER = 14_000  # bits; Python writes integers of up to 4,300 digits
_ID_SEPARATORS = re.compile(r"[,;|，；、\n]")
_PHRASE_SEPARATORS = re.compile(r"[;|；\n]")
_NO_NUMBER = {"", "nan", "none", "null", "n/a", "na", "-", "#n/a", "无"}
_HUMAN = {"human", "user", "humanmessage", "用户"}


class Unreadable(ValueError):
    """A value that is there and cannot be used; the message completes "this field …"."""


def plain(value: Any) -> Any:
    """numpy scalars and arrays as Python values, missing values as None."""
    if value is None or type(value) in (str, int, bool, list, dict):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else float(value)
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        value = value.tolist()
        return plain(value) if not isinstance(value, list) else value
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return none_if_missing(value) if not isinstance(value, (Mapping, Sequence)) else value


def jsonable(value: Any) -> Any:
    """``value`` as nested lists, dicts with text keys, text, numbers and None: what JSON can hold.

    Anything else becomes its text. NaN and other missing values become None.
    """
    value = plain(value)
    if isinstance(value, int) and value.bit_length() > _LONGEST_INTEGER:
        return hex(value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {_as_text(key): jsonable(part) for key, part in value.items()}
    if isinstance(value, Sequence):
        return [jsonable(part) for part in value]
    return _as_text(value)


def scrub(text: str) -> str:
    """``text`` with lone surrogates replaced by U+FFFD: no file and no frame can hold them."""
    return text if text.isascii() or not SURROGATE.search(text) else SURROGATE.sub("\ufffd", text)


# ---------------------------------------------------------------- flat values


def text(value: Any) -> str | None:
    """Any single value as text; a mapping or a list is unreadable."""
    value = plain(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (Mapping, Sequence)):
        raise Unreadable("is a list or an object where text is needed")
    return _as_text(value)


def filled_text(value: Any) -> str | None:
    """Text, None when there is nothing but white space in it."""
    found = text(value)
    return found if found and found.strip() else None


def identifier(value: Any) -> str | None:
    """An id as text without white space around it: 7 and 7.0 are "7". None when empty."""
    value = plain(value)
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, (Mapping, Sequence)):
        raise Unreadable("is a list or an object where an id is needed")
    return None if value is None else _as_text(value)


def _as_text(value: Any) -> str:
    try:
        return str(value)
    except (ValueError, RecursionError) as error:
        raise Unreadable("is a number of more than 4,300 digits") from error


def boolean(value: Any) -> bool | None:
    """True or false, also as 1, "yes", "true", 是 and so on; empty text is missing."""
    value = plain(value)
    if value is None or isinstance(value, bool):
        return value
    word = _as_text(value).strip().lower() if isinstance(value, (str, int, float)) else ""
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    if value == "":
        return None
    raise Unreadable("is neither true nor false; write true or false, 是 or 否")


def number(value: Any) -> float | None:
    """A finite number, also written as text; None when empty or one of the words for "no number"."""
    if type(value) is float and math.isfinite(value):
        return value
    value = plain(value)
    if isinstance(value, str):
        if value.strip().lower() in _NO_NUMBER:
            return None
        value = value.strip().removesuffix("ms").replace("_", "x")
    if value is None or (isinstance(value, (Mapping, Sequence)) and not isinstance(value, str)):
        if value is None:
            return None
        raise Unreadable("is a list or an object where a number is needed")
    try:
        found = float(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise Unreadable("is no number") from error
    if math.isinf(found):
        raise Unreadable("is infinite")
    return None if math.isnan(found) else found


def error_text(value: Any) -> str | None:
    """What the service reported as an error, as text; empty and false mean none."""
    value = plain(value)
    if isinstance(value, Mapping):
        value = next((value[key] for key in ("message", "detail", "error", "type") if value.get(key)), value)
    if value is None or value is False or value == "" or (isinstance(value, (list, Mapping)) and not value):
        return None
    return value if isinstance(value, str) else _as_text(value)


# ---------------------------------------------------------------- questions and answers


def question(value: Any) -> str | None:
    """The question; of a conversation (list of messages) the last thing the user said."""
    return _said(value, _HUMAN, ("question", "query", "input", "user_input", "text", "content", "prompt", "问题"))


def answer(value: Any) -> str | None:
    """The answer, kept as recorded; of a conversation the last thing the assistant said."""
    roles = {"ai", "assistant", "aimessage", "model", "助手"}
    return _said(value, roles, ("answer", "output", "response", "result", "text", "content", "generated_text", "回答"))


def reference(value: Any) -> str | None:
    """The ideal answer; several of them are joined by line breaks, empty is missing."""
    value = plain(value)
    if isinstance(value, str) and looks_structured(value) and value.lstrip().startswith(("['", '["', "[]")):
        value = _list_or_text(value)
    if isinstance(value, Mapping):
        return filled_text(_inner(value, ("answer", "text", "output", "response", "reference", "content")))
    if isinstance(value, Sequence) and not isinstance(value, str):
        parts = [part for part in (reference(item) for item in value) if part]
        return "\n".join(dict.fromkeys(parts)) or None
    return filled_text(value)


def _inner(value: Mapping[str, Any], keys: Sequence[str]) -> Any:
    found = next((value[key] for key in keys if value.get(key) is not None), None)
    if found is None:
        texts = [part for part in value.values() if isinstance(part, str)]
        if len(texts) != 1:
            raise Unreadable(f"is an object without a key such as {keys[0]!r}")
        found = texts[0]
    return found


def _said(value: Any, roles: set[str], keys: Sequence[str]) -> str | None:
    value = plain(value)
    if (
        isinstance(value, str)
        and looks_structured(value)
        and re.search(r"""['"](?:role|type|content)['"]\s*:""", value[:400])
    ):
        value = _list_or_text(value)
    if isinstance(value, Mapping):
        messages = value.get("messages")
        return _said(messages if isinstance(messages, list) else _inner(value, keys), roles, keys)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _last_message(value, roles)
    return text(value)


def _last_message(messages: Sequence[Any], roles: set[str]) -> str | None:
    if len(messages) == 1 and isinstance(messages[0], str):
        return messages[0]
    for message in reversed(messages):
        if isinstance(message, Mapping) and _role(message) in roles:
            return text(_message_text(message.get("content")))
    raise Unreadable("is a list without a message of the one who speaks")


def _role(message: Mapping[str, Any]) -> str:
    return str(message.get("role") or message.get("type") or "").lower()


def _message_text(content: Any) -> Any:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) if isinstance(part, Mapping) else str(part) for part in content)
    return content


# ---------------------------------------------------------------- lists


def structure(value: Any) -> Any:
    """``value`` with a list or object that was written as text read back; other text stays as it is."""
    value = plain(value)
    return _list_or_text(value) if isinstance(value, str) and looks_structured(value) else value


def _list_or_text(value: str) -> Any:
    try:
        return parse_literal(value)
    except ValueError as error:
        raise Unreadable(f"{error}; write it as a JSON list") from error


def phrases(value: Any) -> list[Any] | None:
    """A list of texts, an entry may be a list of alternatives. Text is cut at ``;``, ``|`` and line breaks."""
    return _entries(value, _PHRASE_SEPARATORS, _phrase)


def flat_phrases(value: Any) -> list[str] | None:
    """As :func:`phrases`, each alternative an entry of its own."""
    found = phrases(value)
    return None if found is None else [one for entry in found for one in ([entry] if isinstance(entry, str) else entry)]


def ids(value: Any) -> list[Any] | None:
    """A list of ids, an entry may be a list of alternatives. Text is cut at commas, ``;``, ``|`` and line breaks."""
    return _entries(value, _ID_SEPARATORS, _identifier_of)


def _entries(value: Any, separators: re.Pattern[str], entry: Callable[[Any], str | None]) -> list[Any] | None:
    value = structure(value)
    if value is None:
        return None
    if isinstance(value, str):
        value = separators.split(value)
    elif isinstance(value, Mapping):
        value = list(value)
    elif not isinstance(value, Sequence):
        value = [value]
    found: list[Any] = []
    for item in value:
        item = plain(item)
        if isinstance(item, Sequence) and not isinstance(item, str):
            options = [one for one in map(entry, item) if one]
            found += [options] if options else []
        elif (one := entry(item)) is not None:
            found.append(one)
    return found


def _phrase(item: Any) -> str | None:
    found = filled_text(item)
    return found.strip() if found else None


def _identifier_of(item: Any) -> str | None:
    item = plain(item)
    if isinstance(item, Mapping):
        item = next((item[key] for key in _ID_KEYS if item.get(key) is not None), None)
        if item is None:
            raise Unreadable("holds an object without a doc_id")
    return identifier(item)


_ID_KEYS = ("doc_id", "document_id", "id", "_id", "chunk_id", "docid", "source")
_GRADE_KEYS = ("grade", "relevance", "score", "rel")


def expected_docs(value: Any) -> dict[str, float] | list[Any] | None:
    """Relevance judgements: ``{doc_id: grade}`` or a list of ids; see the data contract.

    A list of objects with an id and a grade becomes a mapping.
    """
    value = structure(value)
    if isinstance(value, Mapping):
        return {key: _grade(grade) for name, grade in value.items() if (key := identifier(name))}
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        graded = [next((item[key] for key in _GRADE_KEYS if item.get(key) is not None), None) for item in value]
        if all(grade is not None for grade in graded):
            named = [_identifier_of(item) for item in value]
            return {name: _grade(grade) for name, grade in zip(named, graded, strict=True) if name}
    return ids(value)


def _grade(value: Any) -> float:
    if isinstance(value, bool):
        return float(value)
    found = number(value)
    if found is None:
        raise Unreadable("holds a document without a grade; write a number, 0 for not relevant")
    return found


def tags(value: Any) -> dict[str, Any] | None:
    """``{name: value}``; a list of words becomes ``{word: True}``."""
    value = structure(value)
    if value is None or isinstance(value, Mapping):
        return None if value is None else jsonable(value)
    return {str(name): True for name in ids(value) or [] if isinstance(name, str)}


def usage(value: Any) -> dict[str, Any] | None:
    """Token counts as recorded; a single number is ``total_tokens``."""
    value = structure(value)
    if value is None or isinstance(value, Mapping):
        return None if value is None else jsonable(value)
    total = number(value)
    return None if total is None else {"total_tokens": total}


def texts(value: Any) -> list[str] | None:
    """A list of texts, taken whole; empty ones are kept, a single text is a list of one."""
    value = structure(value)
    if value is None or isinstance(value, str):
        return None if value is None else [value]
    if not isinstance(value, Sequence):
        raise Unreadable("is no list")
    return [found for item in value if (found := text(item)) is not None]


def logprobs(value: Any) -> list[float] | None:
    """Log-probabilities of the answer's tokens; items may be objects with a ``logprob``."""
    value = structure(value)
    if isinstance(value, Mapping):
        value = value.get("content", value.get("token_logprobs"))
    if value is None:
        return None
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise Unreadable("is no list of numbers")
    found = [number(item.get("logprob") if isinstance(item, Mapping) else item) for item in value]
    return [item for item in found if item is not None]
