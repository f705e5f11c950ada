"""From the text of a reply to claims, verdicts and flags, with a list of everything that was wrong with it.

Nothing here guesses: a verdict, flag or score that cannot be read is absent, and a :class:`Problem` says so. Verdicts
are matched to contexts and claims by number; what a reply leaves out is missing, what it adds is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from workbench.evidence.judge import MAX_CLAIMS
from workbench.evidence.llm.schema import (
    VERDICTS,
    ConflictItem,
    ContextItem,
    RefusalItem,
    RubricReply,
    Verdict,
    VerdictItem,
)
from workbench.evidence.llm.tolerant import load_object
from workbench.evidence.llm.words import read_number, read_verdict, shown

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
