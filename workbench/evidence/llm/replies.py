"""From the text of a reply to claims, verdicts and flags, with a list of everything that was wrong with it.

Nothing here guesses: a verdict, flag or score that cannot be read is absent, and a :class:`Problem` says so. Verdicts
are matched to contexts and claims by number; what a reply leaves out is missing, what it adds is ignored.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from workbench.evidence.judge import MAX_CLAIMS

# ------------------------------------------------------------------------------
# JSON out of a chat reply: past fences, preambles and thoughts, and what is whole when the rest was cut off.


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


# ------------------------------------------------------------------------------
# Reading single words and numbers of a reply: whole tokens only, and anything unknown is an error, never a guess.


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


# ------------------------------------------------------------------------------
# What a reply of the judge looks like: the strict JSON schemas sent, their short form for the prompt, the items read.
#
# Field names are those of the contract: ``context`` and ``claim`` are numbers from 1, lists of claims are named for what
# they hold, verdicts are plain words. Items are validated one by one, so that one bad verdict does not cost the others.


Verdict = Literal["supported", "contradicted", "not_mentioned"]
VERDICTS: tuple[Verdict, ...] = ("supported", "contradicted", "not_mentioned")

Number = Annotated[int, BeforeValidator(read_number)]
Flag = Annotated[bool, BeforeValidator(read_flag)]
VerdictWord = Annotated[Verdict, BeforeValidator(read_verdict)]


class _Item(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class ContextItem(_Item):
    """Whether one context is relevant."""

    context: Number
    relevant: Flag


class VerdictItem(_Item):
    """What one context says about one claim. ``quote`` is the passage it rests on, empty when there is none."""

    context: Number
    verdict: VerdictWord
    quote: Annotated[str, BeforeValidator(lambda value: value if isinstance(value, str) else "")] = ""


class RefusalItem(_Item):
    """Whether the answer declines, and whether it states something that answers the question anyway."""

    declines: Flag
    answers_anyway: Flag


class ConflictItem(_Item):
    """Two answer claims that cannot both be true, by number."""

    claim: Number
    other_claim: Number


class RubricReply(_Item):
    """A rating in [0, 1] and why."""

    reasoning: str
    score: Annotated[float, BeforeValidator(read_score)]


# ---------------------------------------------------------------- schemas

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}
_FLAG = {"type": "boolean"}
_VERDICT = {"type": "string", "enum": list(VERDICTS)}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": _object(properties)}


_VERDICT_LIST = _list({"context": _NUMBER, "verdict": _VERDICT, "quote": _TEXT})


@cache
def verify_schema(flags: frozenset[str]) -> dict[str, Any]:
    """Schema of the first reply; ``flags``: which of ``contexts, answer, reference`` the sample has. Not to be changed.

    Short parts come first, so that a reply that is cut off loses as little as possible.
    """
    parts: dict[str, Any] = {}
    if "contexts" in flags:
        parts["contexts"] = _list({"context": _NUMBER, "relevant": _FLAG})
    if "answer" in flags:
        parts["refusal"] = _object({"declines": _FLAG, "answers_anyway": _FLAG})
        parts["answer_claims"] = _list(_claim_schema(flags, "reference", "reference_verdict"))
    if "reference" in flags:
        parts["reference_claims"] = _list(_claim_schema(flags, "answer", "answer_verdict"))
    if "answer" in flags:
        parts["conflicts"] = _list({"claim": _NUMBER, "other_claim": _NUMBER})
    return _object(parts)


def _claim_schema(flags: Collection[str], other: str, field: str) -> dict[str, Any]:
    properties: dict[str, Any] = {"text": _TEXT}
    if "contexts" in flags:
        properties["verdicts"] = _VERDICT_LIST
    if other in flags:
        properties[field] = _VERDICT
    return properties


@cache
def part_schema(relevance: bool = True) -> dict[str, Any]:
    """Schema of a reply about numbered claims over further contexts."""
    claims = _list({"claim": _NUMBER, "verdicts": _VERDICT_LIST})
    if not relevance:
        return _object({"claims": claims})
    return _object({"contexts": _list({"context": _NUMBER, "relevant": _FLAG}), "claims": claims})


@cache
def questions_schema() -> dict[str, Any]:
    """Schema of the reply that holds reverse questions."""
    return _object({"questions": {"type": "array", "items": _TEXT}})


@cache
def rubric_schema() -> dict[str, Any]:
    """Schema of a rating."""
    return _object({"reasoning": _TEXT, "score": {"type": "number"}})


def sized(schema: dict[str, Any], sizes: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """``schema`` with (least, most) items, characters or values for the lists, texts and numbers named in ``sizes``.

    For servers that make a grammar of it: a small model else lists contexts that do not exist, or says one sentence
    again and again, until its tokens are used up. Not for hosted models, which refuse such bounds or compile each
    schema that they have not seen. ``items`` is the name of what a list without named parts holds.
    """
    changed = dict(schema)
    if schema["type"] == "array":
        changed["items"] = sized(schema["items"], sizes) | _bounds(schema["items"], sizes.get("items"))
    elif schema["type"] == "object":
        changed["properties"] = {
            name: sized(node, sizes) | _bounds(node, sizes.get(name)) for name, node in schema["properties"].items()
        }
    return changed


def _bounds(node: dict[str, Any], size: tuple[int, int] | None) -> dict[str, Any]:
    if size is None or node["type"] not in ("array", "string", "integer"):
        return {}
    if node["type"] == "integer":
        return {"enum": list(range(size[0], size[1] + 1))}
    what = "Items" if node["type"] == "array" else "Length"
    return {f"min{what}": size[0], f"max{what}": size[1]}


def shape(schema: dict[str, Any]) -> str:
    """``schema`` in the short form that the prompt shows: ``{"context": integer, …}``."""
    return _shape_of(json.dumps(schema))


@cache
def _shape_of(schema: str) -> str:
    return _shape(json.loads(schema))


def _shape(node: dict[str, Any]) -> str:
    if node["type"] == "object":
        return "{" + ", ".join(f"{json.dumps(key)}: {_shape(value)}" for key, value in node["properties"].items()) + "}"
    if node["type"] == "array":
        return f"[{_shape(node['items'])}, …]"
    if "enum" in node:
        return " | ".join(json.dumps(word) for word in node["enum"])
    return {"boolean": "true | false", "string": '"…"'}.get(node["type"], node["type"])


# ------------------------------------------------------------------------------


Item = TypeVar("Item", bound=BaseModel)

_MARKER = re.compile(
    r"^\s*(?:[-*+•·●◦▪–—]\s+|\(?\d{1,3}[.)、．）](?!\d)\s*|[（(]\d{1,3}[)）]\s*|[①-⑳]\s*|(?:claim|声明|陈述)\s*\d{1,3}\s*[:：.]\s*)+",
    re.IGNORECASE,
)

#: Reasons in the order in which one of several is named.
CODES = ("empty_reply", "not_json", "truncated", "wrong_shape", "unknown_verdict", "missing_verdict", "wrong_language")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a reply. ``code`` is one of :data:`CODES`; ``fatal``: nothing of ``part`` can be used."""

    code: str
    detail: str
    part: str = ""
    fatal: bool = False

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}"


@dataclass(slots=True)
class ReadClaim:
    """A claim as the judge wrote it; ``verdicts`` and ``quotes`` by context number, ``other`` on the other text."""

    text: str
    verdicts: dict[int, Verdict] = field(default_factory=dict)
    quotes: dict[int, str] = field(default_factory=dict)
    other: Verdict | None = None


@dataclass(slots=True)
class Reply:
    """What could be read. A part that could not be is None (lists, flags) or absent (numbers)."""

    relevant: dict[int, bool] = field(default_factory=dict)
    refusal: tuple[bool, bool] | None = None
    answer_claims: list[ReadClaim] | None = None
    reference_claims: list[ReadClaim] | None = None
    conflicts: list[tuple[int, int]] | None = None
    by_number: dict[int, ReadClaim] = field(default_factory=dict)
    questions: list[str] = field(default_factory=list)
    rating: RubricReply | None = None
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def fatal(self) -> Problem | None:
        """The problem that makes the reply unusable, or None."""
        return next((problem for problem in self.ordered() if problem.fatal), None)

    def strict(self) -> Reply:
        """The same reply, every problem of it fatal: for readings that have no use for a part."""
        self.problems = [Problem(p.code, p.detail, p.part, fatal=True) for p in self.problems]
        return self

    def ordered(self) -> list[Problem]:
        """The problems, the most telling first."""
        return sorted(self.problems, key=lambda problem: (not problem.fatal, CODES.index(problem.code)))


class _Reader:
    """Reads the parts of one JSON object and gathers problems."""

    def __init__(self, text: str, cut_off: bool) -> None:
        loaded = load_object(text)
        self.reply = Reply()
        self.value = loaded.value
        self.cut = loaded.cut
        if not text.strip():
            self.problem("empty_reply", "the reply is empty", fatal=True)
        elif loaded.value is None:
            code = "truncated" if cut_off else "not_json"
            self.problem(code, f"no JSON object in {shown(text.strip())}", fatal=True)
        elif cut_off and self.cut is None:
            self.reply.notes.append("the endpoint says that the reply was cut off, yet it is whole")

    def problem(self, code: str, detail: str, part: str = "", fatal: bool = False) -> None:
        """Note a problem of the reply; a fatal one makes ``part`` unusable."""
        self.reply.problems.append(Problem(code, detail, part, fatal))

    def items(self, part: str, *, fatal: bool = True) -> list[Any] | None:
        """The list ``part``; None, with a problem, when it is absent, cut off or no list."""
        if self.value is None:
            return None
        found = self.value.get(part)
        if not isinstance(found, list):
            code = "truncated" if self.cut is not None else "wrong_shape"
            what = "is missing" if part not in self.value else f"is no list but {shown(found)}"
            self.problem(code, f"{part} {what}", part, fatal)
            return None
        if self.cut == part:
            self.problem("truncated", f"the reply breaks off in {part} after {len(found)} items", part, fatal)
            return None
        return found

    def item(self, model: type[Item], value: Any, where: str) -> Item | None:
        """``value`` as ``model``; None, with a problem that names ``where``, when it does not fit."""
        try:
            return model.model_validate(value)
        except ValidationError as error:
            self.problem(*_explained(error, where), where.split(" ")[0])
            return None


def _explained(error: ValidationError, where: str) -> tuple[str, str]:
    first = error.errors(include_url=False)[0]
    message = first["msg"].removeprefix("Value error, ")
    code = "unknown_verdict" if message.startswith("unknown verdict") else "wrong_shape"
    place = ".".join(str(part) for part in first["loc"])
    return code, f"{where}: {place}: {message}" if place else f"{where}: {message}"


# ---------------------------------------------------------------- the replies


def read_verification(text: str, flags: Collection[str], n_contexts: int, *, cut_off: bool = False) -> Reply:
    """The first reply: claims of both sides with verdicts, relevance, refusal, conflicts.

    Parameters
    ----------
    flags
        Which of ``contexts, answer, reference`` were asked about.
    n_contexts
        Contexts numbered 1 … n in the prompt.
    cut_off
        Whether the endpoint said that the reply reached its length limit.
    """
    reader = _Reader(text, cut_off)
    if reader.value is None:
        return reader.reply
    if "contexts" in flags:
        _read_relevance(reader, n_contexts)
    n_judged = n_contexts if "contexts" in flags else 0
    if "answer" in flags:
        _read_refusal(reader)
        other = "reference_verdict" if "reference" in flags else ""
        reader.reply.answer_claims = _read_claims(reader, "answer_claims", n_judged, other)
        _read_conflicts(reader)
    if "reference" in flags:
        other = "answer_verdict" if "answer" in flags else ""
        reader.reply.reference_claims = _read_claims(reader, "reference_claims", n_judged, other)
    _all_unread(reader, n_judged)
    return reader.reply


def read_part(text: str, n_claims: int, n_contexts: int, *, relevance: bool = True, cut_off: bool = False) -> Reply:
    """A reply about claims numbered 1 … ``n_claims`` over ``n_contexts`` further contexts: ``by_number``."""
    reader = _Reader(text, cut_off)
    if reader.value is None:
        return reader.reply
    if relevance:
        _read_relevance(reader, n_contexts)
    for n, value in enumerate(reader.items("claims") or [], start=1):
        claim = _numbered_claim(reader, value, n, n_contexts)
        if claim is not None:
            _keep_numbered(reader, *claim, n_claims)
    for number in range(1, n_claims + 1):
        if number not in reader.reply.by_number and reader.reply.fatal is None:
            reader.problem("missing_verdict", f"claim {number} has no verdicts", "claims")
    if n_claims and reader.reply.fatal is None and not any(c.verdicts for c in reader.reply.by_number.values()):
        first = reader.reply.ordered()[0]
        reader.problem(first.code, first.detail, "claims", fatal=True)
    return reader.reply


def read_questions(text: str, *, cut_off: bool = False, limit: int = 10) -> Reply:
    """The reply that holds reverse questions."""
    reader = _Reader(text, cut_off)
    found = reader.items("questions")
    if found is None:
        return reader.reply
    texts = [_clean(item) if isinstance(item, str) else _clean(_text_of(item)) for item in found]
    reader.reply.questions = [item for item in texts if item][:limit]
    if not reader.reply.questions:
        reader.problem("wrong_shape", "questions has no text in it", "questions", fatal=True)
    return reader.reply


def read_rating(text: str, *, cut_off: bool = False) -> Reply:
    """A rating by a rubric."""
    reader = _Reader(text, cut_off)
    if reader.value is not None:
        try:
            reader.reply.rating = RubricReply.model_validate(reader.value)
        except ValidationError as error:
            code, detail = _explained(error, "rating")
            reader.problem(code, detail, "rating", fatal=True)
    return reader.reply


# ---------------------------------------------------------------- parts


def _read_relevance(reader: _Reader, n_contexts: int) -> None:
    for n, value in enumerate(reader.items("contexts", fatal=False) or [], start=1):
        item = reader.item(ContextItem, value, f"contexts item {n}")
        if item is None:
            continue
        if item.context > n_contexts:
            reader.reply.notes.append(f"relevance of context {item.context}, which does not exist, was ignored")
        elif reader.reply.relevant.setdefault(item.context, item.relevant) != item.relevant:
            reader.problem("wrong_shape", f"context {item.context} is called relevant and not relevant", "contexts")
    missing = [n for n in range(1, n_contexts + 1) if n not in reader.reply.relevant]
    if missing and not any(problem.part == "contexts" for problem in reader.reply.problems):
        reader.problem("missing_verdict", f"no relevance for context {_numbers(missing)}", "contexts")


def _read_refusal(reader: _Reader) -> None:
    value = (reader.value or {}).get("refusal")
    if value is None:
        code = "truncated" if reader.cut is not None else "wrong_shape"
        reader.problem(code, "refusal is missing", "refusal")
        return
    item = reader.item(RefusalItem, value, "refusal")
    reader.reply.refusal = None if item is None else (item.declines, item.answers_anyway)


def _read_conflicts(reader: _Reader) -> None:
    """Conflicts are one metric of many: what is wrong with them is a note and not worth another call."""
    found = (reader.value or {}).get("conflicts")
    if not isinstance(found, list) or reader.cut == "conflicts":
        return
    n_claims = len(reader.reply.answer_claims or [])
    pairs: list[tuple[int, int]] = []
    for value in found:
        try:
            item = ConflictItem.model_validate(value)
        except ValidationError as error:
            reader.reply.notes.append(f"the conflicts were ignored: {_explained(error, 'conflicts')[1]}")
            return
        if item.claim == item.other_claim or max(item.claim, item.other_claim) > n_claims:
            reader.reply.notes.append(f"a conflict between claims {item.claim} and {item.other_claim} was ignored")
            continue
        pairs.append((min(item.claim, item.other_claim), max(item.claim, item.other_claim)))
    reader.reply.conflicts = sorted(set(pairs))


def _read_claims(reader: _Reader, part: str, n_contexts: int, other: str) -> list[ReadClaim] | None:
    found = reader.items(part)
    if found is None:
        return None
    claims = []
    for n, value in enumerate(found, start=1):
        claim = _claim(reader, value, f"{part} item {n}", n_contexts, other)
        if claim is not None:
            claims.append(claim)
    if len(claims) > MAX_CLAIMS:
        reader.reply.notes.append(f"{len(claims)} {part}, of which the first {MAX_CLAIMS} are kept")
    return claims[:MAX_CLAIMS]


def _claim(reader: _Reader, value: Any, where: str, n_contexts: int, other: str) -> ReadClaim | None:
    written = _text_of(value)
    text = "" if _is_echo(written) else _clean(written)
    if not text:
        if isinstance(value, dict) and isinstance(value.get("text"), str) and not _is_echo(written):
            return None
        reader.problem("wrong_shape", f"{where} has no text", where.split(" ")[0], fatal=True)
        return None
    claim = ReadClaim(text)
    fields = value if isinstance(value, dict) else {}
    if n_contexts:
        _read_verdicts(reader, claim, fields.get("verdicts"), where, n_contexts)
    if other:
        claim.other = _other_verdict(reader, fields.get(other), f"{where}: {other}")
    return claim


def _numbered_claim(reader: _Reader, value: Any, n: int, n_contexts: int) -> tuple[int, ReadClaim] | None:
    fields = value if isinstance(value, dict) else {}
    try:
        number = read_number(fields.get("claim"))
    except ValueError as error:
        reader.problem("wrong_shape", f"claims item {n}: claim: {error}", "claims")
        return None
    claim = ReadClaim("")
    _read_verdicts(reader, claim, fields.get("verdicts"), f"claims item {n}", n_contexts)
    return number, claim


def _keep_numbered(reader: _Reader, number: int, claim: ReadClaim, n_claims: int) -> None:
    if number > n_claims:
        reader.reply.notes.append(f"verdicts on claim {number}, which does not exist, were ignored")
    elif number in reader.reply.by_number:
        reader.problem("wrong_shape", f"claim {number} is judged twice", "claims")
    else:
        reader.reply.by_number[number] = claim


def _read_verdicts(reader: _Reader, claim: ReadClaim, found: Any, where: str, n_contexts: int) -> None:
    if not isinstance(found, list):
        reader.problem("wrong_shape", f"{where}: verdicts is no list but {shown(found)}", where.split(" ")[0])
        return
    disputed: set[int] = set()
    before = len(reader.reply.problems)
    for value in found:
        item = reader.item(VerdictItem, value, where)
        if item is not None:
            _keep_verdict(reader, claim, item, n_contexts, disputed, where)
    missing = [n for n in range(1, n_contexts + 1) if n not in claim.verdicts]
    if missing and len(reader.reply.problems) == before:
        part = where.split(" ")[0]
        reader.problem("missing_verdict", f"{where}: no verdict for context {_numbers(missing)}", part)


def _keep_verdict(
    reader: _Reader, claim: ReadClaim, item: VerdictItem, n_contexts: int, disputed: set[int], where: str
) -> None:
    number = item.context
    if number > n_contexts:
        reader.reply.notes.append(f"{where}: a verdict on context {number}, which does not exist, was ignored")
    elif number in disputed or claim.verdicts.get(number, item.verdict) != item.verdict:
        disputed.add(number)
        claim.verdicts.pop(number, None)
        reader.problem("wrong_shape", f"{where}: two verdicts for context {number}", where.split(" ")[0])
    else:
        claim.verdicts[number] = item.verdict
        if item.quote.strip():
            claim.quotes.setdefault(number, item.quote)


def _other_verdict(reader: _Reader, value: Any, where: str) -> Verdict | None:
    part = where.split(" ")[0]
    if value is None:
        reader.problem("missing_verdict", f"{where} is missing", part)
        return None
    try:
        return read_verdict(value)  # type: ignore[return-value]
    except ValueError as error:
        reader.problem("unknown_verdict", f"{where}: {error}", part)
        return None


def _all_unread(reader: _Reader, n_contexts: int) -> None:
    """A reply none of whose verdicts can be read is not a judgement of anything."""
    claims = [*(reader.reply.answer_claims or []), *(reader.reply.reference_claims or [])]
    if n_contexts and claims and not any(claim.verdicts for claim in claims) and reader.reply.fatal is None:
        first = reader.reply.ordered()[0]
        reader.problem(first.code, first.detail, "answer_claims", fatal=True)


def _text_of(value: Any) -> str:
    if isinstance(value, str):
        return value
    text = value.get("text") if isinstance(value, dict) else None
    return text if isinstance(text, str) else ""


def _clean(text: str) -> str:
    """``text`` on one line without a list marker; nothing where no letter or digit is left."""
    found = _MARKER.sub("", " ".join(text.split())).strip()
    return found if any(character.isalnum() for character in found) else ""


def _is_echo(text: str) -> bool:
    """Whether ``text`` is copied from the shape that the prompt shows: the "…" in place of a text, or a verdict's name."""
    return text.strip() in ("…", "...", *VERDICTS)


def _numbers(numbers: Sequence[int]) -> str:
    few = ", ".join(str(n) for n in numbers[:5])
    return few if len(numbers) <= 5 else f"{few} and {len(numbers) - 5} more"
