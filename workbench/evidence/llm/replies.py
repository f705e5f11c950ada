"""From the text of a reply to claims, verdicts and flags, with a list of everything that was wrong with it.

Nothing here guesses: a verdict, flag or score that cannot be read is absent, and a :class:`Problem` says so. Verdicts
are matched to contexts and claims by number; what a reply leaves out is missing, what it adds is ignored. Of several
answers in one reply the last one counts.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from workbench.data.text import reasoning
from workbench.evidence.judge import MAX_CLAIMS
from workbench.evidence.llm.last_object import ECHOES, load_object, text_of
from workbench.language import by_languages, languages

# ---------------------------------------------------------------- single words and numbers: whole tokens, never a guess

_EDGES = " \t\r\n\"'“”‘’`*_#.!,;[]()"
_FENCE = re.compile(r"```(?:json|text|txt)?\s|```")


@by_languages(maxsize=32)
def _words(table: str) -> dict[str, str]:
    """Word → what it means, from one table of every language's ``replies.toml``."""
    tables = [item.table("replies").get(table, {}) for item in reversed(languages())]
    return {word: meaning for lists in tables for meaning, words in lists.items() for word in words}


class _Marks(NamedTuple):
    """What stands around words and numbers, in all languages together."""

    edges: str
    number: re.Pattern[str]
    score: re.Pattern[str]
    item: re.Pattern[str]
    taken_back: re.Pattern[str]


@by_languages(maxsize=8)
def _marks() -> _Marks:
    tables = [item.table("replies").get("marks", {}) for item in languages()]

    def characters(name: str) -> str:
        return "".join(str(table.get(name, "")) for table in tables)

    def either(name: str) -> str:
        return "|".join(re.escape(word) for table in tables for word in table.get(name, ())) or "(?!)"

    edges = _EDGES + characters("edges")
    around = f"[{re.escape(edges)}]*"
    openers, closers = re.escape("(" + characters("item_openers")), re.escape(".)" + characters("item_closers"))
    colons = re.escape(":." + characters("colons"))
    return _Marks(
        edges,
        re.compile(rf"(?:{either('before_number')})?{around}(\d{{1,6}}){around}(?:{either('after_number')})?", re.I),
        re.compile(rf"([+-]?(?:\d+(?:\.\d+)?|\.\d+))\s*(?:{either('after_score')})?"),
        re.compile(
            rf"^\s*(?:[-*+•·●◦▪–—]\s+|[{openers}]?\d{{1,3}}[{closers}](?!\d)\s*|[①-⑳]\s*"
            rf"|(?:{either('before_claim')})\s*\d{{1,3}}\s*[{colons}]\s*)+",
            re.IGNORECASE,
        ),
        re.compile(either("taken_back"), re.IGNORECASE),
    )


def edges() -> str:
    """Characters that may stand around a word or a quote without being part of it."""
    return _marks().edges


def token(value: str) -> str:
    """``value`` as one lower-case token: NFKC, without fences, quotes, punctuation and a neutral label before ":"."""
    text = unicodedata.normalize("NFKC", _FENCE.sub(" ", value)).strip(edges()).casefold()
    label, colon, rest = text.partition(":")
    return _joined(rest if colon and _joined(label) in _words("label") else text)


def _joined(text: str) -> str:
    return re.sub(r"[\s_-]+", "_", text.strip(edges())).strip("_")


def read_verdict(value: Any) -> str:
    """One of the three verdicts.

    Raises ``ValueError`` for anything but a known word or true / false: numbers, an echo of the options, a sentence,
    nothing.
    """
    if isinstance(value, bool):
        return "supported" if value else "not_mentioned"
    if isinstance(value, str) and (verdict := _words("verdict").get(token(value))) is not None:
        return verdict
    raise ValueError(f"unknown verdict {shown(value)}")


def read_flag(value: Any) -> bool:
    """True or false, or a word for one of them in any language; ``ValueError`` for numbers and any other word."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and (meaning := _words("flag").get(token(value))) is not None:
        return meaning == "true"
    raise ValueError(f"neither true nor false: {shown(value)}")


def read_number(value: Any) -> int:
    """A number from 1 on; ``"1"``, ``"[1]"`` and ``1.0`` are 1; ``ValueError`` for anything else."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str) and (match := _marks().number.fullmatch(value.strip())):
        value = int(match[1])
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"not a number from 1 on: {shown(value)}")
    return value


def read_score(value: Any) -> float:
    """A finite number in [0, 1]; ``"0.8"`` is .8; ``ValueError`` for 85, -1, nan, inf, true, and for any other text."""
    if isinstance(value, str):
        match = _marks().score.fullmatch(unicodedata.normalize("NFKC", value).strip(" \t\r\n\"'"))
        value = float(match[1]) if match else value
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= 1:
        raise ValueError(f"not a number from 0 to 1: {shown(value)}")
    return float(value)


def shown(value: Any, limit: int = 40) -> str:
    """``value`` for a message: one line, cut."""
    text = " ".join(repr(value).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


# ---------------------------------------------------------------- what a reply looks like
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


def read_better(value: Any) -> str:
    """``first``, ``second`` or ``tie``; ``ValueError`` for anything else."""
    word = token(value) if isinstance(value, str) else value
    if word not in BETTER:
        raise ValueError(f"neither of {', '.join(BETTER)}: {shown(value)}")
    return str(word)


#: Which of two answers is better.
BETTER = ("first", "second", "tie")


class PreferReply(_Item):
    """Which of two answers is better and why."""

    reasoning: str
    better: Annotated[str, BeforeValidator(read_better)]


_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}
_FLAG = {"type": "boolean"}
_VERDICT = {"type": "string", "enum": list(VERDICTS)}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    required = {"required": list(properties), "additionalProperties": False}
    return {"type": "object", "properties": properties, **required}


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
    verdicts = {"verdicts": _VERDICT_LIST} if "contexts" in flags else {}
    return {"text": _TEXT, **verdicts, **({field: _VERDICT} if other in flags else {})}


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


def prefer_schema() -> dict[str, Any]:
    """Schema of a comparison of two answers."""
    return _object({"reasoning": _TEXT, "better": {"type": "string", "enum": list(BETTER)}})


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


# ---------------------------------------------------------------- what could be read of a reply

Item = TypeVar("Item", bound=BaseModel)

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
    preferred: PreferReply | None = None
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def fatal(self) -> Problem | None:
        """The problem that makes the reply unusable, or None."""
        return next((problem for problem in self.ordered() if problem.fatal), None)

    @property
    def claims(self) -> list[ReadClaim]:
        """The claims of both sides, the answer's first."""
        return [*(self.answer_claims or ()), *(self.reference_claims or ())]

    def strict(self) -> Reply:
        """The same reply, every problem of it fatal: for readings that have no use for a part."""
        self.problems = [Problem(p.code, p.detail, p.part, fatal=True) for p in self.problems]
        return self

    def ordered(self) -> list[Problem]:
        """The problems, the most telling first."""
        return sorted(self.problems, key=lambda problem: (not problem.fatal, CODES.index(problem.code)))


def read_verification(text: str, flags: Collection[str], n_contexts: int, *, cut_off: bool = False) -> Reply:
    """The first reply: claims of both sides with verdicts, relevance, refusal, conflicts.

    ``flags``: which of ``contexts, answer, reference`` were asked about; contexts are numbered 1 … ``n_contexts`` in the
    prompt; ``cut_off``: the endpoint said that the reply reached its length limit.
    """
    reader = _Reader(text, cut_off, verify_schema(frozenset(flags)))
    reply, n_judged = reader.reply, n_contexts if "contexts" in flags else 0
    if reader.value is None:
        return reply
    if "contexts" in flags:
        reader.relevance(n_contexts)
    if "answer" in flags:
        reader.refusal()
        reply.answer_claims = reader.claims(
            "answer_claims", n_judged, "reference_verdict" if "reference" in flags else ""
        )
        reader.conflicts()
    if "reference" in flags:
        reply.reference_claims = reader.claims(
            "reference_claims", n_judged, "answer_verdict" if "answer" in flags else ""
        )
    if n_judged:
        reader.refuse_unread(reply.claims, "answer_claims")
    return reply


def read_part(text: str, n_claims: int, n_contexts: int, *, relevance: bool = True, cut_off: bool = False) -> Reply:
    """A reply about claims numbered 1 … ``n_claims`` over ``n_contexts`` further contexts: ``by_number``."""
    reader = _Reader(text, cut_off, part_schema(relevance))
    if reader.value is None:
        return reader.reply
    if relevance:
        reader.relevance(n_contexts)
    by_number = reader.reply.by_number
    for n, value in enumerate(reader.items("claims") or [], start=1):
        fields = value if isinstance(value, dict) else {}
        try:
            number = read_number(fields.get("claim"))
        except ValueError as error:
            reader.problem("wrong_shape", f"claims item {n}: claim: {error}", "claims")
            continue
        claim = ReadClaim("")
        reader.verdicts(claim, fields.get("verdicts"), f"claims item {n}", n_contexts)
        if number > n_claims:
            reader.note(f"verdicts on claim {number}, which does not exist, were ignored")
        elif by_number.setdefault(number, claim) is not claim:
            reader.problem("wrong_shape", f"claim {number} is judged twice", "claims")
    for number in range(1, n_claims + 1):
        if number not in by_number and reader.reply.fatal is None:
            reader.problem("missing_verdict", f"claim {number} has no verdicts", "claims")
    if n_claims:
        reader.refuse_unread([*by_number.values()] or [ReadClaim("")], "claims")
    return reader.reply


def read_questions(text: str, *, cut_off: bool = False, limit: int = 10) -> Reply:
    """The reply that holds reverse questions."""
    reader = _Reader(text, cut_off, questions_schema())
    found = reader.items("questions")
    if found is None:
        return reader.reply
    reader.reply.questions = [item for item in map(_clean, map(text_of, found)) if item][:limit]
    if not reader.reply.questions:
        reader.problem("wrong_shape", "questions has no text in it", "questions", fatal=True)
    return reader.reply


def read_rating(text: str, *, cut_off: bool = False) -> Reply:
    """A rating by a rubric."""
    reader = _Reader(text, cut_off, rubric_schema())
    if reader.value is not None:
        reader.reply.rating = reader.item(RubricReply, reader.value, "rating", fatal=True)
    return reader.reply


def read_preference(text: str, *, cut_off: bool = False) -> Reply:
    """Which of two answers is better."""
    reader = _Reader(text, cut_off, prefer_schema())
    if reader.value is not None:
        reader.reply.preferred = reader.item(PreferReply, reader.value, "preference", fatal=True)
    return reader.reply


class _Reader:
    """Reads the parts of one JSON object and gathers problems."""

    def __init__(self, text: str, cut_off: bool, schema: dict[str, Any]) -> None:
        loaded = load_object(text, schema["required"])
        self.reply = Reply()
        self.value, self.cut = loaded.value, loaded.cut
        if not text.strip():
            self.problem("empty_reply", "the reply is empty", fatal=True)
        elif loaded.value is None:
            said = reasoning.final_words(text).strip()
            what = f"no JSON object in {shown(said)}" if said else "the reply holds reasoning and no answer"
            self.problem("truncated" if cut_off else "not_json", what, fatal=True)
        elif cut_off and loaded.more:
            self.problem("truncated", "the reply goes on after its answer and breaks off", fatal=True)
        elif (taken := _marks().taken_back.search(loaded.more)) is not None:
            self.problem("wrong_shape", f"the reply takes its answer back: {shown(loaded.more[taken.start() :])}", fatal=True)
        elif (told := loaded.value.get("error")) and not loaded.value.keys() & {*schema["required"]}:
            self.problem("wrong_shape", f"the reply tells an error: {shown(told, 150)}", fatal=True)
        elif cut_off and self.cut is None:
            self.note("the endpoint says that the reply was cut off, yet it is whole")
        if loaded.n_answers > 1:
            self.note(f"the reply holds {loaded.n_answers} answers, of which the last counts")

    def note(self, text: str) -> None:
        """Something to know that costs nothing."""
        self.reply.notes.append(text)

    def problem(self, code: str, detail: str, part: str = "", fatal: bool = False) -> None:
        """Note a problem of the reply; a fatal one makes ``part`` unusable."""
        self.reply.problems.append(Problem(code, detail, part, fatal))

    def items(self, part: str, *, fatal: bool = True) -> list[Any] | None:
        """The list ``part``; None, with a problem, when it is absent, cut off or no list."""
        if self.value is None:
            return None
        found = self.value.get(part)
        if not isinstance(found, list):
            what = "is missing" if part not in self.value else f"is no list but {shown(found)}"
            self.problem("truncated" if self.cut is not None else "wrong_shape", f"{part} {what}", part, fatal)
            return None
        if self.cut == part:
            self.problem("truncated", f"the reply breaks off in {part} after {len(found)} items", part, fatal)
            return None
        return found

    def item(self, model: type[Item], value: Any, where: str, fatal: bool = False) -> Item | None:
        """``value`` as ``model``; None, with a problem that names ``where``, when it does not fit."""
        try:
            return model.model_validate(value)
        except ValidationError as error:
            code, detail = _explained(error, where)
            self.problem(code, detail, where.split(" ")[0], fatal)
            return None

    def relevance(self, n_contexts: int) -> None:
        """Which contexts are relevant."""
        relevant, before = self.reply.relevant, len(self.reply.problems)
        for n, value in enumerate(self.items("contexts", fatal=False) or [], start=1):
            item = self.item(ContextItem, value, f"contexts item {n}")
            if item is not None and item.context > n_contexts:
                self.note(f"relevance of context {item.context}, which does not exist, was ignored")
            elif item is not None and relevant.setdefault(item.context, item.relevant) != item.relevant:
                self.problem("wrong_shape", f"context {item.context} is called relevant and not relevant", "contexts")
        missing = [n for n in range(1, n_contexts + 1) if n not in relevant]
        if missing and len(self.reply.problems) == before:
            self.problem("missing_verdict", f"no relevance for context {_numbers(missing)}", "contexts")

    def refusal(self) -> None:
        """Whether the answer declines, and whether it answers anyway."""
        value = (self.value or {}).get("refusal")
        if value is None:
            code = "truncated" if self.cut is not None else "wrong_shape"
            self.problem(code, "refusal is missing", "refusal")
        elif (item := self.item(RefusalItem, value, "refusal")) is not None:
            self.reply.refusal = (item.declines, item.answers_anyway)

    def conflicts(self) -> None:
        """Conflicts are one metric of many: what is wrong with them is a note and not worth another call."""
        found = (self.value or {}).get("conflicts", "none told")
        found = [] if found is None else found
        if not isinstance(found, list) or self.cut == "conflicts":
            return
        n_claims = len(self.reply.answer_claims or [])
        pairs: set[tuple[int, int]] = set()
        for value in found:
            try:
                item = ConflictItem.model_validate(value)
            except ValidationError as error:
                self.note(f"the conflicts were ignored: {_explained(error, 'conflicts')[1]}")
                return
            low, high = sorted((item.claim, item.other_claim))
            if low == high or high > n_claims:
                self.note(f"a conflict between claims {item.claim} and {item.other_claim} was ignored")
            else:
                pairs.add((low, high))
        self.reply.conflicts = sorted(pairs)

    def claims(self, part: str, n_contexts: int, other: str) -> list[ReadClaim] | None:
        """The claims of one side; ``other`` is the field of their verdict against the other text, if there is one."""
        found = self.items(part)
        if found is None:
            return None
        claims = []
        for n, value in enumerate(found, start=1):
            where, fields = f"{part} item {n}", value if isinstance(value, dict) else {}
            written = text_of(value)
            # An echo of the shape that the prompt shows is no claim: its "…", or a verdict's name, in place of a text.
            echo = written.strip() in (*ECHOES, *VERDICTS)
            claim = ReadClaim("" if echo else _clean(written))
            if not claim.text:
                if echo or not isinstance(fields.get("text"), str):
                    self.problem("wrong_shape", f"{where} has no text", part, fatal=True)
                continue
            if n_contexts:
                self.verdicts(claim, fields.get("verdicts"), where, n_contexts)
            if other:
                claim.other = self._other_verdict(fields.get(other), f"{where}: {other}", part)
            claims.append(claim)
        if len(claims) > MAX_CLAIMS:
            self.note(f"{len(claims)} {part}, of which the first {MAX_CLAIMS} are kept")
        return claims[:MAX_CLAIMS]

    def _other_verdict(self, value: Any, where: str, part: str) -> Verdict | None:
        if value is None:
            self.problem("missing_verdict", f"{where} is missing", part)
            return None
        try:
            return read_verdict(value)  # type: ignore[return-value]
        except ValueError as error:
            self.problem("unknown_verdict", f"{where}: {error}", part)
            return None

    def verdicts(self, claim: ReadClaim, found: Any, where: str, n_contexts: int) -> None:
        """Put the verdicts of every context on ``claim``; one that is given twice in two ways is missing."""
        part = where.split(" ")[0]
        if not isinstance(found, list):
            self.problem("wrong_shape", f"{where}: verdicts is no list but {shown(found)}", part)
            return
        disputed: set[int] = set()
        before = len(self.reply.problems)
        for value in found:
            item = self.item(VerdictItem, value, where)
            if item is None:
                continue
            number = item.context
            if number > n_contexts:
                self.note(f"{where}: a verdict on context {number}, which does not exist, was ignored")
            elif number in disputed or claim.verdicts.get(number, item.verdict) != item.verdict:
                disputed.add(number)
                claim.verdicts.pop(number, None)
                self.problem("wrong_shape", f"{where}: two verdicts for context {number}", part)
            else:
                claim.verdicts[number] = item.verdict
                if item.quote.strip():
                    claim.quotes.setdefault(number, item.quote)
        missing = [n for n in range(1, n_contexts + 1) if n not in claim.verdicts]
        if missing and len(self.reply.problems) == before:
            self.problem("missing_verdict", f"{where}: no verdict for context {_numbers(missing)}", part)

    def refuse_unread(self, claims: Sequence[ReadClaim], part: str) -> None:
        """A reply none of whose verdicts can be read is not a judgement of anything."""
        if claims and not any(claim.verdicts for claim in claims) and self.reply.fatal is None:
            first = self.reply.ordered()[0]
            self.problem(first.code, first.detail, part, fatal=True)


def _explained(error: ValidationError, where: str) -> tuple[str, str]:
    first = error.errors(include_url=False)[0]
    message = first["msg"].removeprefix("Value error, ")
    code = "unknown_verdict" if message.startswith("unknown verdict") else "wrong_shape"
    place = ".".join(str(part) for part in first["loc"])
    return code, f"{where}: {place}: {message}" if place else f"{where}: {message}"


def _clean(text: str) -> str:
    """``text`` on one line without a list marker; nothing where no letter or digit is left."""
    found = _marks().item.sub("", " ".join(text.split())).strip()
    return found if any(character.isalnum() for character in found) else ""


def _numbers(numbers: Sequence[int]) -> str:
    few = ", ".join(str(n) for n in numbers[:5])
    return few if len(numbers) <= 5 else f"{few} and {len(numbers) - 5} more"
