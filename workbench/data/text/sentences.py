"""Sentences, clauses and claims of a text, each a span of the original.

The splitter walks over candidate ends (full stops, question marks, semicolons, line breaks) and decides each by what
stands around it, so decimals, versions, abbreviations, URLs, list numbers, quotes and …… are not torn apart.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from workbench.data.text.normalise import Span, unspaced
from workbench.data.text.words import stop_words, word_list
from workbench.language import pattern
from workbench.steps import checkpoint

# ------------------------------------------------------------------------------
# What surrounds an answer by mistake: tool calls, control tokens, an echo of the prompt, a JSON envelope.


#: Markup of a tool call or a control token, to its end where it has one.
TOOL_CALL = re.compile(
    r"<(tool_call|function_call|tool|invoke)\b[^>]*>.*?(?:</\1>|\Z)|</?(?:tool_call|function_call|invoke)\b[^>]*>"
    r"|\"(?:tool_calls?|function_call|tool_name)\"\s*:|<\|[a-z_]+\|>",
    re.IGNORECASE | re.DOTALL,
)


def prompt_lines() -> re.Pattern[str]:
    """A line of a prompt: a role or part with a colon, or the instruction to answer from the context."""
    line = r"^[ \t]*(?:(?:«prompt_role»)[ \t]*[:：][ \t]*\S.*|(?:«prompt_line»).*)$"
    return pattern("sentences", line, re.IGNORECASE | re.MULTILINE)


_JSON_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)"(\s*:)?')
_JSON_OPENING = re.compile(r"\{\s*[\"'}]|\[\s*\{")
_FENCE = re.compile(r"\s*```\w*\s*(.*?)\s*(?:```)?\s*", re.DOTALL)
_CALL_KEYS = re.compile(
    r"\"(?:tool_calls?|function_call|tool_name)\"\s*:|\"function\"\s*:\s*\{"
    r"|\"name\"\s*:\s*\"[^\"\n]*\"\s*,\s*\"(?:arguments|parameters)\"\s*:"
)
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
#: Objects of JSON that are looked for in one text.
_MANY = 50


def json_body(text: str) -> tuple[int, int] | None:
    """Where the JSON object (or list of objects) stands that ``text`` is as a whole, in a code fence or bare; else None.

    A fence or an object that breaks off counts as well.
    """
    fenced = _FENCE.fullmatch(text) if "```" in text else None
    start, end = fenced.span(1) if fenced else (len(text) - len(text.lstrip()), len(text.rstrip()))
    opening = _JSON_OPENING.match(text, start, end)
    if opening is None:
        return None
    ending = _json_end(text[start:end])
    whole = ending == end - start if ending is not None else _JSON_STRING.search(text, start, end) is not None
    return (start, end) if whole else None


def _json_end(text: str) -> int | None:
    """Where the JSON value at the start of ``text`` ends; None where it is none."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text)[1]
    except (ValueError, RecursionError):
        return None


def calls(text: str) -> list[tuple[int, int]]:
    """Where tool calls and control tokens stand in ``text``: marked up, or as objects of JSON."""
    found = [match.span() for match in TOOL_CALL.finditer(text)]
    at = 0
    for opening in islice(_JSON_OPENING.finditer(text), _MANY):
        if opening.start() < at or not _CALL_KEYS.search(text, opening.start()):
            continue
        length = _json_end(text[opening.start() :])
        at = len(text) if length is None else opening.start() + length
        if _CALL_KEYS.search(text, opening.start(), at):
            found.append((opening.start(), at))
    return sorted(found)


#: A line near the end that heads a list of sources, with what follows: such lines have no full stop but in names of files.
_SOURCES = (
    r"\n[ \t#*_>-]*(?:«source_head»)[ \t*_]*[:：]?[ \t*_]*(?=\n|\S)"
    r"(?:(?![^\n]*[^\W\d_]{3}[.。!?！？](?:\s|$))[^\n]*\n?)+\Z"
)


def spoken(text: str) -> list[tuple[int, int]]:
    """The parts of ``text`` that speak to the reader, as offsets: without tool calls, control tokens, code blocks and
    lines of a prompt; of a text that is JSON as a whole, the string values that are sentences."""
    body = json_body(text)
    removed = calls(text)
    if body is not None:
        values = [match.span(1) for match in _JSON_STRING.finditer(text, *body) if match.group(2) is None]
        inside = [(start, end) for start, end in values if re.search(rf"\s\S|[{unspaced()}]{{2}}", text[start:end])]
        return [(s, e) for s, e in inside if not any(low <= s and e <= high for low, high in removed)]
    removed += [match.span() for found in (_CODE, prompt_lines()) for match in found.finditer(text)]
    sources = pattern("sentences", _SOURCES, re.IGNORECASE).search(text) if "\n" in text else None
    if sources and re.search(r"\w", text[: sources.start()]):
        removed.append((sources.start(), len(text)))
    parts, at = [], 0
    for start, end in sorted(removed):
        if start > at:
            parts.append((at, start))
        at = max(at, end)
    return [*parts, (at, len(text))] if at < len(text) else parts


# ------------------------------------------------------------------------------
# Sentences.


MAX_CLAIMS = 200

_CLOSERS = "\"'”’」』）)】]》>*_`"
_GLUED_MARKS = r"(?:\[\w[^\]\n]{0,40}\](?!\()|【[^】\n]{1,40}】)*"
_CANDIDATE = re.compile(
    rf"(?P<sign>[。！？!?｡]+|…{{2,}}|\.{{3,}}|[.；;…]|\n)(?P<close>[{re.escape(_CLOSERS)}]*){_GLUED_MARKS}"
)
_LAST_WORD = re.compile(r"[A-Za-z][A-Za-z.]*$")
_LIST_NUMBER = re.compile(r"(?:^|\n)[ \t]*(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,4})$")
_OPENING = re.compile(r"[\s\"'“‘(\[（【「]*")


def sentences(text: str) -> list[Span]:
    """The sentences of ``text`` in order, without surrounding white space.

    Line breaks end a sentence only where a line is a list item, heading, table row or paragraph of its own; a line
    wrapped in the middle of an English sentence goes on. Together the spans hold every non-space character.
    """
    spans: list[Span] = []
    start = 0
    for end in _ends(text):
        spans.extend(_trimmed(text, start, end))
        start = end
    spans.extend(_trimmed(text, start, len(text)))
    return spans


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        begin = start + len(piece) - len(piece.lstrip())
        yield Span(begin, begin + len(stripped), stripped)


def _ends(text: str) -> Iterator[int]:
    for match in _CANDIDATE.finditer(text):
        checkpoint()
        sign = match[0][0]
        if sign == "\n":
            if _line_ends(text, match.start()):
                yield match.start() + 1
        elif sign in ".…":
            if _stop_ends(text, match):
                yield match.end()
        elif (not _in_bracket(text, match.start())) if sign in ";；" else _mark_ends(text, match):
            yield match.end()


#: The longest bracket that holds a sentence together.
_BRACKET = 160
_OPENED, _CLOSED = frozenset("([（【"), frozenset(")]）】")


def _in_bracket(text: str, at: int) -> bool:
    """Whether a place lies in a bracket: "Ann Lee (born 1970; a painter) lives here" is one sentence."""
    return _unmatched(reversed(text[max(0, at - _BRACKET) : at]), _OPENED, _CLOSED) and _unmatched(
        text[at : at + _BRACKET], _CLOSED, _OPENED
    )


def _unmatched(characters: Iterable[str], wanted: frozenset[str], other: frozenset[str]) -> bool:
    """Whether one of the wanted brackets is met in a line that none of the other kind stands for."""
    depth = 0
    for character in characters:
        if character == "\n":
            return False
        depth += (character in other) - (character in wanted)
        if depth < 0:
            return True
    return False


_ITEM = r"[ \t]*(?:[-*+•·●◦▪–—|#>]|\d{1,3}[.)、．）]|[（(]\d{1,3}[)）]|[①-⑳]|(?:«numeral»)+、)"


def _line_ends(text: str, at: int) -> bool:
    """Whether a line break ends the sentence: always but for a line wrapped inside a sentence."""
    before = text[max(0, at - 200) : at].rstrip(" \t\r")
    after = text[at + 1 : at + 200]
    if not before or not after.strip(" \t\r") or after.lstrip(" \t\r").startswith("\n"):
        return True
    if pattern("sentences", _ITEM).match(after) or before.endswith("\n"):
        return True
    following = after.lstrip()[:1]
    return not (following.islower() or (before[-1] in ",，、" and following not in "|"))


def _mark_ends(text: str, match: re.Match[str]) -> bool:
    """Whether ``!`` or ``?`` ends a sentence: not in a URL (``a?b=1``), nor in a bracket or quote that goes on."""
    following = text[match.end() : match.end() + 2]
    if match[0][0] in "!?" and re.match(r"[A-Za-z0-9=&/]", following):
        return False
    if not match["close"]:
        return True
    goes_on = pattern("sentences", "[，,、]|«attributive»").match(following)
    return not goes_on and not following.lstrip()[:1].islower()


def _stop_ends(text: str, match: re.Match[str]) -> bool:
    """Whether a full stop (or an ellipsis) ends a sentence."""
    following = text[match.end() : match.end() + 40]
    if match["sign"].startswith(("…", "...")):
        return _ellipsis_ends(match["sign"], following)
    if following and not following[0].isspace():
        return _glued_stop_ends(text, match, following)
    before = text[max(0, match.start() - 40) : match.start()]
    if _LIST_NUMBER.search(before) and following.strip():
        return False
    return not _is_abbreviation(before, following)


def _ellipsis_ends(sign: str, following: str) -> bool:
    if sign == "…" and not following[:1].isspace():
        return False
    head = _OPENING.sub("", following, count=1)[:1]
    return not head or not (head.islower() or head in "，,、。！？!?")


def _glued_stop_ends(text: str, match: re.Match[str], following: str) -> bool:
    """A stop without a space after it ends a sentence only where words have none, and not in a list number."""
    previous = text[match.start() - 1 : match.start()]
    if re.match(f"[{unspaced()}]", following):
        return not _LIST_NUMBER.search(text[max(0, match.start() - 40) : match.start()])
    file_name = re.match(r"[a-z]{2,5}\d?(?![a-z])", following) is not None  # the ending of a file's name
    return re.match(f"[{unspaced()}]", previous) is not None and not file_name


def _is_abbreviation(before: str, following: str) -> bool:
    word = _LAST_WORD.search(before)
    if not word:
        return False
    name = word[0].lower()
    head = _OPENING.sub("", following, count=1)[:1]
    if name in word_list("abbreviation", "sure"):
        return name != "no" or head.isdigit()
    if len(name) == 1 and word[0].isupper():
        # "vitamin A. They …": what begins with a function word is no surname.
        following_word = re.match(r"[A-Za-z]+", _OPENING.sub("", following, count=1))
        named = following_word is None or following_word[0].lower() not in stop_words()
        return bool(head) and head.isupper() and name != "i" and named
    goes_on = bool(head) and (head.islower() or head.isdigit() or head in ",;(")
    return goes_on and name in word_list("abbreviation", "any")


# ------------------------------------------------------------------------------
# Clauses.


_CLAUSE_CUT = (
    r"[；;]|,\s+(?:«conjunction»)\s+(?=(?:(?:«subject»)\b\s+(?:[\w'-]+\s+)?[\w'-]+|[A-Z][\w-]+\s+[a-z]+))"
    r"|[，,]\s*(?=«clause_start»)|(?P<own>[，,]\s*(?=«clause_subject»))"
    r"|[，,]\s*(?=(?P<again>(?!«no_subject»)[UNSPACED]{2}))"
)
_MIN_CLAUSE = 4


def clauses(text: str) -> list[Span]:
    """The parts of one sentence that state a fact each; the sentence itself where no safe cut is found.

    Cut at semicolons, at ", and / but / while …" before a new subject and verb, and at a comma before what begins a clause
    or, after a predicate, before a new subject or one that is named again.
    """
    return list(_clauses(text, 0, len(text)))


def _clauses(text: str, start: int, end: int) -> Iterator[Span]:
    at = start
    adverbial = pattern("sentences", "«adverbial»", re.IGNORECASE)
    for match in pattern("sentences", _CLAUSE_CUT.replace("UNSPACED", unspaced())).finditer(text, start, end):
        long_enough = match.start() - at >= _MIN_CLAUSE and end - match.end() >= _MIN_CLAUSE
        before = text[at : match.start()]
        stated = match["again"] in before if match["again"] else True
        if stated and (match["own"] or match["again"]):
            stated = pattern("sentences", "«predicate»").search(before) is not None
        if long_enough and stated and not adverbial.match(before):
            yield from _trimmed(text, at, match.start())
            at = match.end()
    yield from _trimmed(text, at, end)


# ------------------------------------------------------------------------------
# What of a sentence is a claim.


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of a text, and whether more than ``MAX_CLAIMS`` were found and the rest left out."""

    spans: tuple[Span, ...]
    capped: bool


_LIST_MARK = (
    r"(?:[ \t]*(?:[-*+•·●◦▪]\s+|#{1,6}\s+|>\s*|\(?\d{1,3}[.)、．）](?!\d)\s*|[（(]\d{1,3}[)）]\s*|[①-⑳]\s*"
    r"|(?:«numeral»){1,3}、))+"
)
CITATION_MARK = pattern(
    "sentences",
    r"""[ \t]{0,3}(?:\[\^?\d+(?:[ \t]{0,2}[,，、–-][ \t]{0,2}\d+)*\] | 【[^】\n]{1,40}】
        | \[(?=[^\]\n]{0,60}[\d#_-])[A-Za-z][\w.:#/-]{0,60}\](?!\()
        | [\[（(](?:«source_label»)[ ]?[:：\d][^\]）)\n]{0,80}[\]）)] | <sup>[^<\n]{0,20}</sup> | \#\#\d{1,3}\$\$)""",
    re.VERBOSE | re.IGNORECASE,
)
_TABLE_RULE = re.compile(r"^[\s|:=*_-]+$")


def _is_heading(sentence: str, following: str = "") -> bool:
    """Whether a sentence is a heading, a rule or, by what follows it, the head of a table."""
    return (
        bool(re.match(r"#{1,6}\s", sentence))
        or bool(_TABLE_RULE.match(sentence))
        or ("|" in sentence and "-" in following and bool(_TABLE_RULE.match(following)))
        or (sentence.endswith((":", "：")) and len(sentence) <= 80)
    )


_STOPS = " \t\r\n。！!？?.;；,，、"


def _stripped_claim(text: str, span: Span) -> Span | None:
    """The span without list marker and citation marks at its edges, or None if nothing is stated."""
    asks = span.text.rstrip(_CLOSERS + "]" + _STOPS[:4]).endswith(("?", "？"))
    if asks or pattern("sentences", "«no_claim»", re.IGNORECASE).search(span.text):
        return None
    start, end = span.start, span.end
    mark = pattern("sentences", _LIST_MARK).match(text, start, end)
    if mark and mark.end() < end:
        start = mark.end()
    while leading := CITATION_MARK.match(text, start, end):
        start = leading.end()
    for _ in range(2):  # "Yes, according to the manual, …"
        lead_in = pattern("sentences", "(?:«lead_in»)", re.IGNORECASE).match(text, start, end)
        if lead_in and end - lead_in.end() >= _MIN_CLAUSE:
            start = lead_in.end()
    body = text[start : start + _trailing_marks(text[start:end])]
    start += len(body) - len(body.lstrip())
    body = body.strip()
    return Span(start, start + len(body), body) if re.search(r"\w", body) else None


def _trailing_marks(body: str) -> int:
    """Where ``body`` ends when the citation marks at its end, with the stop after them, are left out."""
    end = len(body)
    while True:
        stripped = body[:end].rstrip(_STOPS)
        if not stripped.endswith(("]", "】", ")", "）", "</sup>", "$$")):
            return end
        near = max(0, len(stripped) - 100)
        opening = max(stripped.rfind(sign, near) for sign in ("[", "【", "(", "（", "<sup>", "##"))
        if opening < 0 or not CITATION_MARK.fullmatch(stripped[opening:]):
            return end
        end = len(stripped[:opening].rstrip())


def denied(folded: str, start: int = 0, end: int | None = None) -> tuple[int, int] | None:
    """Where in ``[start, end)`` of a folded text the statement stands that the rest of it denies ("there is no evidence that
    …", "… is a myth"); None where none is."""
    end = len(folded) if end is None else end
    before = pattern("sentences", "(?:«denied_before»)").match(folded, start, end)
    low = before.end() if before else start
    after = pattern("sentences", "(?:«denied_after»)").search(folded, low, end)
    high = after.start() if after else end
    return (low, high) if (before or after) and high - low >= 4 else None
