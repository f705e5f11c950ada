"""Answers that decline, in any natural wording, English and Chinese.

An answer is cut into segments (clauses; in Chinese what stands between commas). A segment declines, fills (an apology,
a redirect, an offer, a remark about the sources) or states something. An answer is a refusal when something in it
declines and nothing states. The patterns are in ``declining.toml``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources

from workbench.data.sentences import claims, sentences
from workbench.data.text import HAN, Span, normalise


@dataclass(frozen=True, slots=True)
class Refusal:
    """How far an answer declines.

    ``probability`` in [0, 1]: that the answer as a whole is a refusal. ``declines``: the segments that decline.
    ``residual``: what it still states; with any of it the answer is no refusal. Spans index the answer.
    """

    probability: float
    declines: list[Span]
    residual: list[Span]


_QUOTED = re.compile(r'"[^"\n]{1,80}"|“[^”\n]{1,80}”|「[^」\n]{1,80}」|『[^』\n]{1,80}』')
_ENGLISH_CUT = re.compile(
    r";\s*|,?\s+(?:but|however|though|although|yet|because|since|nevertheless|nonetheless)\b,?\s*(?=\S)"
    r"|,\s+(?:and|so|while|as)\s+(?=\S)|:\s+|\s+[-–—]+\s+",
    re.IGNORECASE,
)
_LEADING_CLAUSE = re.compile(r"^(?:although|while|though|even though|since|because|as)\b[^,]{3,200},\s*", re.IGNORECASE)
_CHINESE_CUT = re.compile(r"[，,；;：:]\s*")
_HAN_TEXT = re.compile(f"[{HAN}]")
_LATIN_TEXT = re.compile(r"[A-Za-z]{2}")


@cache
def _patterns(name: str) -> re.Pattern[str]:
    """The compiled alternatives of one table, its ``{blocks}`` filled in."""
    tables = tomllib.loads(resources.files(__package__).joinpath("declining.toml").read_text(encoding="utf-8"))
    blocks = tables["blocks"]
    filled = [_filled(_filled(pattern, blocks), blocks) for pattern in tables[name]["patterns"]]
    return re.compile("|".join(f"(?:{pattern})" for pattern in filled))


def _filled(pattern: str, blocks: dict[str, str]) -> str:
    return re.sub(r"\{([a-z]+)\}", lambda match: blocks[match[1]], pattern)


@lru_cache(maxsize=32768)
def _folded(segment: str) -> str:
    """Normalised, with what stands in quotation marks left out, and at most the first 400 characters."""
    return normalise(_QUOTED.sub('"q"', segment[:600]))[:400].strip(" .。!！,，")


@lru_cache(maxsize=32768)
def declines(segment: str) -> bool:
    """Whether one sentence or clause declines to answer or says that the answer is not to be found.

    A rule about declining ("if nothing is found, …", 未找到文档时…) does not.
    """
    folded = _folded(segment)
    return _patterns("declines").search(folded) is not None and _patterns("conditions").search(folded) is None


def _fills(segment: str) -> bool:
    """Whether a segment only apologises, redirects, offers help or remarks on the sources."""
    return _patterns("fillers").search(_folded(segment)) is not None


def refusal(text: str, extra_phrases: Sequence[str] = ()) -> Refusal:
    """Whether ``text`` declines, and what it still states.

    ``extra_phrases`` are further wordings of declining, compared as normalised text. A text that declines nowhere has
    probability 0.02, one that declines and states nothing 0.97, one that declines and goes on to answer 0.08: set by
    hand, not fitted.
    """
    phrases = tuple(normalise(phrase) for phrase in extra_phrases if phrase.strip())
    found: list[Span] = []
    rest: list[Span] = []
    for sentence in sentences(text):
        declining, stating = _sorted_segments(text, sentence, phrases)
        found += declining
        rest += stating
    if not found:
        return Refusal(0.02, [], [])
    residual = [claim for span in rest for claim in _claims_of(span)]
    return Refusal(0.08 if residual else 0.97, found, residual)


def _sorted_segments(text: str, sentence: Span, phrases: Sequence[str]) -> tuple[list[Span], list[Span]]:
    """The declining and the stating segments of one sentence.

    What stands before the first declining segment of a sentence is its topic ("as for the release date, …"), and
    states something only if it holds a digit.
    """
    if _is_rule(sentence.text):
        return [], [sentence]
    declining: list[Span] = []
    stating: list[Span] = []
    before: list[Span] = []
    for segment in _segments(text, sentence):
        if declines(segment.text) or any(phrase in normalise(segment.text) for phrase in phrases):
            declining.append(segment)
        elif not _fills(segment.text) and not _is_scrap(segment.text):
            (stating if declining else before).append(segment)
    topic = declining and not any(re.search(r"\d", segment.text) for segment in before)
    return declining, [*([] if topic else before), *stating]


def _is_scrap(segment: str) -> bool:
    """The end of an enumeration that was cut off (", and occupations"): under three Latin words and no digit."""
    return segment.isascii() and len(segment.split()) < 3 and not re.search(r"\d", segment)


def _is_rule(sentence: str) -> bool:
    """Whether the whole sentence is a rule ("if …, …"), so that nothing in it is this answer's own declining."""
    folded = _folded(sentence)
    return _patterns("rules").search(folded) is not None


def _segments(text: str, sentence: Span) -> Iterator[Span]:
    """The segments of a sentence, without empty ones."""
    cut = _CHINESE_CUT if _HAN_TEXT.search(sentence.text) and not _mostly_latin(sentence.text) else _ENGLISH_CUT
    start = sentence.start
    leading = _LEADING_CLAUSE.match(sentence.text) if cut is _ENGLISH_CUT else None
    cuts = [match.span() for match in cut.finditer(text, sentence.start, sentence.end)]
    if leading:
        edge = sentence.start + leading.end()
        cuts = sorted({(edge, edge), *cuts})
    for begin, stop in [*cuts, (sentence.end, sentence.end)]:
        piece = text[start:begin]
        if re.search(r"\w", piece):
            lead = len(piece) - len(piece.lstrip())
            yield Span(start + lead, start + len(piece.rstrip()), piece.strip())
        start = stop


def _mostly_latin(sentence: str) -> bool:
    return len(_LATIN_TEXT.findall(sentence)) > len(_HAN_TEXT.findall(sentence))


def _claims_of(span: Span) -> list[Span]:
    return [Span(span.start + c.start, span.start + c.end, c.text) for c in claims(span.text).spans]
