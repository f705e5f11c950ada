"""What was recorded, value by value, in the form of the data contract: texts, ids, numbers, conversations, contexts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from workbench.data.columns import aliases, first_names, first_of, fold, name_tables, named, names_in
from workbench.data.formats.records import Reason, looks_structured, opened, parse_literal, why
from workbench.data.schema import none_if_missing
from workbench.language import by_languages

# ------------------------------------------------------------------------------
# One value of one field, from whatever was recorded to the form that the data contract states.
#
# Each reader takes a value and returns it in the contract's form, None for missing; it raises :class:`Unreadable` with
# the reason when something is there that cannot be used. Missing are None, NaN and pandas' missing values, and nothing
# else: the words "null" and "None" are words.


_LONGEST_INTEGER = 14_000  # bits; Python writes integers of up to 4,300 digits
_ID_SEPARATORS = re.compile(r"[,;|，；、\n]")
_COMMA = re.compile(r"[+-]?\d*,\d+")
_PHRASE_SEPARATORS = re.compile(r"[;|；\n]")
_MESSAGE = re.compile(r"""['"](?:role|type|content|speaker|from|obj)['"]\s*:""")


class Unreadable(ValueError):
    """A value that is there and cannot be used: a text of ``remarks``, and the ``field`` where the reader knows it."""

    def __init__(self, key: str, /, field: str = "", **values: Any) -> None:
        self.reason, self.field = why(key, **values), field
        super().__init__(key)

    def __str__(self) -> str:
        return str(self.reason)


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


def text(value: Any) -> str | None:
    """Any single value as text; a mapping or a list is unreadable."""
    value = plain(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (Mapping, Sequence)):
        raise Unreadable("not_text")
    return _as_text(value)


def words(value: Any) -> str | None:
    """Text; of a list of words the words with commas between."""
    found = plain(value)
    if isinstance(found, list) and all(isinstance(item, str) for item in found):
        return ", ".join(found) or None
    return text(found)


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
        raise Unreadable("not_id")
    return None if value is None else _as_text(value)


def _as_text(value: Any) -> str:
    try:
        return str(value)
    except (ValueError, RecursionError) as error:
        raise Unreadable("long_number") from error


def boolean(value: Any) -> bool | None:
    """True or false, also as 1, "yes", "true" and the words of other languages; empty text is missing."""
    value = plain(value)
    if value is None or isinstance(value, bool):
        return value
    word = _as_text(value).strip().lower() if isinstance(value, (str, int, float)) else ""
    if word in named("words", "true"):
        return True
    if word in named("words", "false"):
        return False
    if value == "":
        return None
    both = [words for words in name_tables("words") if words.get("true") and words.get("false")]
    raise Unreadable("not_boolean", either=", ".join(f"{words['true'][0]} / {words['false'][0]}" for words in both))


def number(value: Any) -> float | None:
    """A finite number, also written as text; None when empty or one of the words for "no number"."""
    if type(value) is float and math.isfinite(value):
        return value
    value, share = plain(value), 1.0
    if isinstance(value, str):
        if value.strip().lower() in named("words", "no_number"):
            return None
        value, share = _decimal(value.strip().removesuffix("ms").strip())
    elif isinstance(value, (Mapping, Sequence)):
        raise Unreadable("not_number")
    if value is None:
        return None
    try:
        found = float(value) * share
    except (ValueError, TypeError, OverflowError) as error:
        raise Unreadable("no_number") from error
    if math.isinf(found):
        raise Unreadable("infinite")
    return None if math.isnan(found) else found


def _decimal(written: str) -> tuple[str, float]:
    """A number as Python writes it and what to multiply it with: "50%" → ("50", 0.01), "0,5" → ("0.5", 1)."""
    bare = written.rstrip("%％").rstrip()
    if _COMMA.fullmatch(bare):
        whole, _, part = bare.partition(",")
        if len(part) == 3 and whole.lstrip("+-") not in ("", "0"):
            raise Unreadable("comma")
        bare = f"{whole}.{part}"
    return bare.replace("_", "x"), 1.0 if bare == written or not written.endswith(("%", "％")) else 0.01


def error_text(value: Any) -> str | None:
    """What the service reported as an error, as text; empty and false mean none."""
    value = plain(value)
    if isinstance(value, Mapping):
        value = next((value[key] for key in ("message", "detail", "error", "type") if value.get(key)), value)
    if value is None or value is False or value == "" or (isinstance(value, (list, Mapping)) and not value):
        return None
    return value if isinstance(value, str) else _as_text(value)


def question(value: Any) -> str | None:
    """The question; of a conversation (list of messages) the last thing the user said."""
    return _said(value, "user", "question")


def answer(value: Any) -> str | None:
    """The answer, kept as recorded; of a conversation the last thing the assistant said."""
    return _said(value, "assistant", "answer")


def references(value: Any) -> list[str] | None:
    """The ideal answers: alternatives, of which one is enough. Empty strings and nulls are dropped, none left is missing.

    A SQuAD object ``{"text": [...]}`` is such a list.
    """
    value = plain(value)
    if isinstance(value, str) and looks_structured(value) and value.lstrip().startswith(("['", '["', "[]")):
        value = _list_or_text(value)
    if isinstance(value, Mapping):
        value = _inner(value, ("answer", "text", "output", "response", "reference", "content"))
    if isinstance(value, Sequence) and not isinstance(value, str):
        parts = [part for item in value for part in references(item) or ()]
    else:
        parts = [part] if (part := filled_text(value)) else []
    return list(dict.fromkeys(parts)) or None


def _inner(value: Mapping[str, Any], keys: Sequence[str]) -> Any:
    found = next((value[key] for key in keys if value.get(key) is not None), None)
    if found is None:
        texts = [part for part in value.values() if isinstance(part, str)]
        if len(texts) != 1:
            raise Unreadable("no_key", key=repr(keys[0]))
        found = texts[0]
    return found


class Message(NamedTuple):
    """One message of a conversation: who speaks (user, assistant, tool, system or ""), what, and the message as recorded."""

    role: str
    text: str | None
    item: Mapping[str, Any]


_ROLE_KEYS = ("role", "speaker", "from", "sender", "obj", "message.role", "type", "id", "_type")
_SAID_KEYS = ("content", "text", "value", "parts", "message.content", "output_text", "response", "contents", "output")
#: Keys under which a conversation stands.
TALKS = ("messages", "conversation", "conversations", "turns", "traj", "dialogue", "chat_history", "contents")
#: Keys under which services nest the message that is the answer; the last choice of an agent's output list counts.
_REPLY_KEYS = ("choices", "generations", "candidates", "message", "output", "outputs", "kwargs", "response", "update", "body")
#: Content blocks that say nothing to the user.
_SILENT = ("tool_call", "tool_use", "function_call", "image_url", "image", "thinking", "reasoning", "input_audio")


def role_of(word: Any) -> str:
    """user, assistant, tool or system for what tools call them; "" for any other word."""
    if isinstance(word, list):  # LangChain's id: ["langchain", "schema", "messages", "HumanMessage"]
        word = word[-1] if word else None
    if isinstance(word, Mapping):
        word = word.get("role")
    return _roles().get(word.strip().lower(), "") if isinstance(word, str) and len(word) < 40 else ""


@by_languages(maxsize=8)
def _roles() -> dict[str, str]:
    words = names_in("words")
    return {word: role for role in ("system", "tool", "assistant", "user") for word in words.get(role, ())}


def messages(value: Any) -> list[Message] | None:
    """The messages of a conversation in any tool's form, also as JSON text or under a key; None when it is none."""
    value = plain(value)
    if isinstance(value, str):
        if not (looks_structured(value) and _MESSAGE.search(value[:4000])):
            return None
        try:
            value = parse_literal(value)
        except ValueError:
            return None
    if isinstance(value, Mapping):
        if isinstance(value.get("body"), Mapping):  # of a request
            value = value["body"]
        talk = next((value[key] for key in TALKS if isinstance(value.get(key), (list, tuple))), None)
        return None if talk is None else messages(talk)
    if not isinstance(value, (list, tuple)) or not value:
        return None
    if len(value) == 1 and isinstance(value[0], (list, tuple)):
        return messages(value[0])
    if all(isinstance(item, (list, tuple)) and len(item) == 2 and role_of(item[0]) for item in value):
        value = [{"role": role, "content": content} for role, content in value]
    if not all(isinstance(item, Mapping) for item in value):
        return None
    found = [_message(item) for item in value]
    return found if any(one.role in ("user", "assistant") for one in found) else None


def _message(item: Mapping[str, Any]) -> Message:
    if isinstance(item.get("kwargs"), Mapping) or isinstance(item.get("message"), Mapping):
        inner = item.get("kwargs") or item["message"]
        item = {**item, **inner, "type": inner.get("type") or item.get("id") or item.get("type")}
    role = next((role for key in _ROLE_KEYS if (role := role_of(item.get(key)))), "")
    data = item.get("data")
    said = next((found for key in _SAID_KEYS if (found := _blocks(item.get(key))) is not None), None)
    return Message(role, _blocks(data) if said is None and isinstance(data, Mapping) else said, item)


def _blocks(value: Any, depth: int = 0) -> str | None:
    """The text of a message's content: itself, or what its blocks say; None when it says nothing."""
    if value is None or isinstance(value, str):
        return value or None
    if depth > 4:
        return None
    if isinstance(value, Mapping):
        if value.get("type") in _SILENT:
            return None
        return next((said for key in _SAID_KEYS if (said := _blocks(value.get(key), depth + 1)) is not None), None)
    if isinstance(value, (list, tuple)):
        return "\n".join(said for part in value if (said := _blocks(part, depth + 1)) is not None) or None
    return None


def _said(value: Any, role: str, field: str, depth: int = 0) -> str | None:
    """What ``role`` said last in a conversation, the message in what a service sent, or the text itself."""
    value = plain(value)
    if isinstance(value, str) and looks_structured(value) and _MESSAGE.search(value[:400]):
        value = _list_or_text(value)
    if value is None or isinstance(value, str) or depth > 8:
        return text(value)
    talk = messages(value)
    if talk is not None:
        said = [one.text for one in talk if one.role == role]
        if not said:
            raise Unreadable("no_message")
        return said[-1]
    if isinstance(value, Mapping):
        return _said_by_object(value, role, field, depth)
    if not isinstance(value, Sequence):
        return text(value)
    if len(value) == 1 and not isinstance(value[0], (Mapping, Sequence)):
        return text(value[0])
    whole = [item for item in value if isinstance(item, (Mapping, Sequence)) and not isinstance(item, str)]
    if not whole or len(whole) < len(value):
        raise Unreadable("no_message")
    if all(isinstance(item, Mapping) and "type" in item and item.keys() & {"text", "content"} for item in whole):
        return _blocks(value)
    return _said(whole[0], role, field, depth + 1)


def _said_by_object(value: Mapping[str, Any], role: str, field: str, depth: int) -> str | None:
    for key in named("keys", field):
        if isinstance(value.get(key), str):
            return value[key]
    for key in _REPLY_KEYS:
        if isinstance(value.get(key), (list, tuple, Mapping)) and value[key]:
            return _said(value[key], role, field, depth + 1)
    if value.get("content") is None and isinstance(value.get("refusal"), str):
        return value["refusal"]
    if value.keys() & {"content", "parts"} and (value.get("content") is None or _blocks(value["content"]) is not None):
        return _blocks(value.get("content") or value.get("parts"))
    return _said(_inner(value, named("keys", field)), role, field, depth + 1)


def history(value: Any) -> list[dict[str, str]] | None:
    """What was said before the question: ``[{"role", "content"}]``; None when nothing was."""
    talk = messages(value)
    if talk is None:
        value = structure(value)
        if value in (None, "", [], {}):
            return None
        if isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value):
            talk = [
                Message(role, part, {})
                for pair in value
                for role, part in zip(("user", "assistant"), pair, strict=True)
            ]
        elif isinstance(value, str):
            talk = [Message("user", value, {})]
        else:
            raise Unreadable("no_messages")
    return as_history(talk) or None


def as_history(talk: Iterable[Message]) -> list[dict[str, str]]:
    """What user and assistant said, as ``[{"role", "content"}]``."""
    return [{"role": one.role, "content": one.text} for one in talk if one.role in ("user", "assistant") and one.text]


def structure(value: Any) -> Any:
    """``value`` with a list or object that was written as text read back; other text stays as it is."""
    value = plain(value)
    return _list_or_text(value) if isinstance(value, str) and looks_structured(value) else value


def _list_or_text(value: str) -> Any:
    try:
        return parse_literal(value)
    except ValueError as error:
        raise Unreadable("no_literal", error=str(error)) from error


def phrases(value: Any) -> list[Any] | None:
    """A list of texts, an entry may be a list of alternatives. Text is cut at ``;``, ``|`` and line breaks."""
    return _entries(value, _PHRASE_SEPARATORS, lambda item: (filled_text(item) or "").strip() or None)


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
            found += [options] if len(options) > 1 else options
        elif (one := entry(item)) is not None:
            found.append(one)
    return found


def _identifier_of(item: Any) -> str | None:
    item = plain(item)
    if isinstance(item, Mapping):
        item = next((item[key] for key in _ID_KEYS if item.get(key) is not None), None)
        if item is None:
            raise Unreadable("no_doc_id")
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
        raise Unreadable("no_grade")
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
        raise Unreadable("no_list")
    return [found for item in value if (found := text(item)) is not None]


def logprobs(value: Any) -> list[float] | None:
    """Log-probabilities of the answer's tokens; items may be objects with a ``logprob``."""
    value = structure(value)
    if isinstance(value, Mapping):
        value = value.get("content", value.get("token_logprobs"))
    if value is None:
        return None
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise Unreadable("no_numbers")
    found = [number(item.get("logprob") if isinstance(item, Mapping) else item) for item in value]
    return [item for item in found if item is not None]


# ------------------------------------------------------------------------------
# The retrieved fragments of one sample, from whatever a tool recorded to the contract's list of dicts.


_INNER = ("node", "document", "doc", "retrieved_context")


def contexts(value: Any) -> list[dict[str, Any]] | None:
    """The contract's ``contexts``: a list of dicts, each with a ``text`` string and only the keys that were recorded.

    Accepts a list of texts or of objects under many names of keys, ``{doc_id: text}``, and each of these written as
    text. A single text is one context. When every item has a rank, the ranks give the order.

    Raises ``Unreadable`` when it is none of these.
    """
    value = structure(value)
    if value is None:
        return None
    if isinstance(value, str):
        return [{"text": value}] if value.strip() else []
    if isinstance(value, Mapping):
        value = _from_mapping(value)
    if not isinstance(value, Sequence):
        raise Unreadable("no_texts")
    pairs = [pair for at, item in enumerate(value, 1) for pair in _contexts_of(item, at)]
    if pairs and all(rank is not None for _, rank in pairs):
        pairs.sort(key=lambda pair: pair[1] or 0.0)
    return [item for item, _ in pairs]


def retrieved_in(value: Any, depth: int = 0) -> list[Any]:
    """What was retrieved, from anywhere in what a service answered, under the names that services give to it; [] without."""
    value = opened(value)
    if depth > 6 or not isinstance(value, (Mapping, list)):
        return []
    if isinstance(value, list):
        found = [item for part in value[:1000] for item in retrieved_in(part, depth + 1)]
        return [item for at, item in enumerate(found) if item not in found[:at]]
    names = {*aliases("sample")["contexts"], *aliases("keys")["retrieved"]}
    for key, part in value.items():
        if fold(str(key)) in names:
            try:
                listed = contexts(part) if isinstance(part, (list, Mapping)) and part else None
            except (Unreadable, ValueError):
                listed = None
            # Names of files are no texts: of a list of words only that which is called contexts counts.
            objects = isinstance(part, Mapping) or (isinstance(part, list) and bool(part) and isinstance(part[0], Mapping))
            objects = objects or fold(str(key)) in aliases("sample")["contexts"]
            if objects and listed and all(item["text"] for item in listed):
                return part if isinstance(part, list) else listed
    return next((found for part in value.values() if (found := retrieved_in(part, depth + 1))), [])


def _from_mapping(value: Mapping[str, Any]) -> list[Any]:
    """One context, columns of contexts, a list under a name, or ``{doc_id: text}``."""
    names = {fold(str(key)): key for key in value}
    text_key = next((names[name] for name in aliases("context")["text"] if name in names), None)
    if text_key is not None and isinstance(value[text_key], str):
        return [value]
    lists = [part for part in value.values() if isinstance(part, list)]
    if text_key is not None and lists and len({len(part) for part in lists}) == 1 and len(lists) == len(value):
        return [dict(zip(value, row, strict=True)) for row in zip(*lists, strict=True)]
    if len(lists) == 1:
        return lists[0]
    if all(isinstance(part, str) for part in value.values()):
        return [{"doc_id": key, "text": part} for key, part in value.items()]
    raise Unreadable("no_text_list")


def _contexts_of(item: Any, at: int) -> list[tuple[dict[str, Any], float | None]]:
    """The contexts in one item of a list: itself, or the parts of a list that is neither a pair nor a triple."""
    item = plain(item)
    if not isinstance(item, list) or len(item) < 2 or _is_row(item):
        return [_context(item, at)]
    return [_context(part, at) for part in item]


def _is_row(item: list[Any]) -> bool:
    """Whether a list is one context: text and score, id, text and score, or a title with its sentences."""
    return any(isinstance(part, (int, float)) for part in item[1:]) or (
        len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], list)
    )


def _context(item: Any, at: int) -> tuple[dict[str, Any], float | None]:
    """One context, and its rank when recorded."""
    if _is_in_form(item):
        return dict(item), None
    item = plain(item)
    if isinstance(item, Mapping):
        return _from_object(item, at)
    if isinstance(item, list):
        return _from_pair(item, at), None
    return {"text": text(item) or ""}, None


def _is_in_form(item: Any) -> bool:
    """Whether ``item`` is a context as the contract has it already; most recordings of our own are."""
    return (
        type(item) is dict
        and type(item.get("text")) is str
        and all(key in _FORMS and _FORMS[key](value) for key, value in item.items())
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _from_pair(item: list[Any], at: int) -> dict[str, Any]:
    """``[text]``, ``[text, score]``, ``[id, text, score]`` or ``[title, [sentences]]``."""
    if item and isinstance(item[0], Mapping):
        found, _ = _from_object(item[0], at)
    elif len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], list) and all(map(_is_text, item[1])):
        found = {"text": "".join(item[1]), "doc_id": item[0], "title": item[0]}
    elif len(item) == 3 and _is_text(item[1]) and isinstance(item[2], (int, float)):
        return {"text": item[1], "doc_id": identifier(item[0]) or "", "score": float(item[2])}
    elif item and isinstance(item[0], str):
        found = {"text": item[0]}
    else:
        raise Unreadable("item_no_text", at=at)
    if len(item) == 2 and isinstance(item[1], (int, float)):
        found["score"] = float(item[1])
    return found


def _from_object(item: Mapping[str, Any], at: int) -> tuple[dict[str, Any], float | None]:
    values = {fold(str(key)): plain(value) for key, value in item.items()}
    inner = next((values.pop(name) for name in _INNER if isinstance(values.get(name), Mapping)), None)
    if inner is not None:
        values = {**{fold(str(key)): plain(value) for key, value in inner.items()}, **values}
    taken = first_names(values, "context")
    used = set(taken.values())
    found = {field: values[name] for field, name in taken.items()}
    given = structure(found.pop("metadata", None))
    metadata = {str(key): part for key, part in given.items()} if isinstance(given, Mapping) else {}
    metadata |= {key: value for key, value in values.items() if key not in used and value is not None}
    try:
        rank = number(found.pop("rank", None))
    except Unreadable:
        rank = None
    return _checked(found, metadata, at), rank


def _checked(found: dict[str, Any], metadata: dict[str, Any], at: int) -> dict[str, Any]:
    """Types of the contract; what the item lacks is looked for in its metadata."""
    if not found.keys() & {"text", "doc_id"}:
        raise Unreadable("item_bare", at=at, keys=", ".join(list(metadata)[:6])[:200])
    for field in ("doc_id", "title", "tenant", "position", "score"):
        if field not in found and metadata.get(field) is not None and not isinstance(metadata[field], (Mapping, list)):
            found[field] = metadata[field]
    if "doc_id" not in found:
        name, value = first_of(metadata, ("document_id", "chunk_id", "id", "_id"))
        if name and not isinstance(value, (Mapping, list)):
            found["doc_id"] = value
    body = found.get("text")
    if isinstance(body, Mapping):
        inner = (body[key] for key in ("text", "content", "page_content") if isinstance(body.get(key), str))
        body = next(inner, body)
    if isinstance(found.get("score"), list):  # FastGPT: [{"type": "reRank", "value": 0.9}, …], the last stage first
        values = (part.get("value") for part in found["score"] if isinstance(part, Mapping))
        found["score"] = next((value for value in values if isinstance(value, (int, float))), None)
    result: dict[str, Any] = {"text": _read(text, body, "text", at) or ""}
    for field, reader in _READERS.items():
        if field in found and (value := _read(reader, found[field], field, at)) is not None:
            result[field] = value
    if metadata:
        result["metadata"] = jsonable(metadata)
    return result


_READERS: dict[str, Callable[[Any], Any]] = {
    "doc_id": identifier,
    "score": number,
    "title": text,
    "tenant": identifier,
    "position": lambda value: None if (found := number(value)) is None else int(found),
    "prompted": boolean,
    "kind": text,
}


def _is_name(value: Any) -> bool:
    return type(value) is str and value != "" and not value[0].isspace() and not value[-1].isspace()


_LOOKED_FOR = {"doc_id", "title", "tenant", "position", "score", "document_id", "chunk_id", "id", "_id"}
_FORMS: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: type(value) is str,
    "doc_id": _is_name,
    "title": lambda value: type(value) is str,
    "tenant": _is_name,
    "score": lambda value: type(value) is float and math.isfinite(value),
    "position": lambda value: type(value) is int,
    "prompted": lambda value: type(value) is bool,
    "kind": lambda value: type(value) is str,
    "metadata": lambda value: type(value) is dict and not value.keys() & _LOOKED_FOR,
}


def _read(reader: Any, value: Any, field: str, at: int) -> Any:
    try:
        return reader(value)
    except Unreadable as error:
        raise Unreadable("item", at=at, name=field, error=error.reason) from error


def with_parallel(
    items: list[dict[str, Any]] | None, lists: Mapping[str, Any]
) -> tuple[list[dict[str, Any]] | None, list[Reason]]:
    """``items`` with what stands in lists beside them (``doc_id``, ``score``, …), and what did not fit.

    Without texts, ids alone make contexts with an empty text.
    """
    remarks: list[Reason] = []
    for field, value in lists.items():
        try:
            value = structure(value)
            if isinstance(value, Mapping):
                continue  # scores by name are no list beside the contexts
            listed = list(value) if isinstance(value, list) else ids(value)
            if listed is None:
                continue
            if items is None and field == "doc_id":
                items = [{"text": ""} for _ in listed]
            if items is None or len(items) != len(listed):
                remarks.append(why("beside_count", n=len(listed), name=field, contexts=len(items or ())))
                continue
            values = [_read(_READERS[field], one, field, at) for at, one in enumerate(listed, 1)]
            items = [item if one is None or item.get(field) is not None else {**item, field: one}
                     for item, one in zip(items, values, strict=True)]  # fmt: skip
        except Unreadable as error:
            remarks.append(why("beside_unread", name=field, error=error.reason))
    return items, remarks
