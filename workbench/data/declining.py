"""Answers that decline, in any natural wording, English and Chinese.

An answer is cut into clauses (in Chinese what stands between commas). A clause declines, fills (an apology, a redirect,
an offer, a remark about the sources) or states something. An answer is a refusal when something in it declines and
nothing is left that states. The decisions are those of a small trained model (``declining_model.py``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

from workbench.data.declining_features import language_of
from workbench.data.declining_model import Clause, clause, rest, rest_values, whole
from workbench.data.declining_segments import segments
from workbench.data.sentences import claims
from workbench.data.text import Span, normalise

MAX_SEGMENTS = 400


@dataclass(frozen=True, slots=True)
class Refusal:
    """How far an answer declines.

    ``probability`` in [0, 1]: that the answer as a whole is a refusal. ``declines``: the segments that decline.
    ``residual``: what it still states; with any of it the answer is no refusal. ``probability`` ≥ .5 if and only if
    something declines and nothing is left. Spans index the answer.
    """

    probability: float
    declines: list[Span]
    residual: list[Span]


def declines(segment: str) -> bool:
    """Whether one sentence or clause declines to answer or says that the answer is not to be found.

    A rule about declining ("if nothing is found, …", 未找到文档时…) does not, nor does a product that lacks something.
    """
    return clause(segment).declines >= 0.5


def refusal(text: str, extra_phrases: Sequence[str] = ()) -> Refusal:
    """Whether ``text`` declines, and what it still states.

    ``extra_phrases`` are further wordings of declining, compared as normalised text. Of a long text the first
    ``MAX_SEGMENTS`` clauses are read. A text without words has probability 0.
    """
    cut = segments(text)[:MAX_SEGMENTS]
    if not cut:
        return Refusal(0.0, [], [])
    phrases = tuple(normalise(phrase) for phrase in extra_phrases if phrase.strip())
    clauses = [_judged(span.text, phrases) for span, _ in cut]
    left = _left(cut, clauses)
    strongest = max(c.declines for c in clauses)
    probability = whole(strongest, max(left.values(), default=None), language_of(text))
    return _settled(probability, cut, clauses, left)


def _judged(segment: str, phrases: Sequence[str]) -> Clause:
    if any(phrase in normalise(segment) for phrase in phrases):
        return Clause(1.0, 0.0, 0.0)
    return clause(segment)


def _left(cut: Sequence[tuple[Span, int]], clauses: Sequence[Clause]) -> dict[int, float]:
    """The probability of each clause that it states something that is left; clauses without any claim are not there."""
    rows = rest_values([span.text for span, _ in cut], [number for _, number in cut], clauses)
    likely = {i: rest(row, language_of(cut[i][0].text)) for i, row in rows.items()}
    return {i: p for i, p in likely.items() if not _is_scrap(cut[i][0].text) and (p < 0.5 or _stated(cut[i][0]))}


def _is_scrap(segment: str) -> bool:
    """The end of an enumeration that was cut off (", and occupations"): under three Latin words and no digit."""
    return segment.isascii() and len(segment.split()) < 3 and not re.search(r"\d", segment)


def _stated(span: Span) -> list[Span]:
    """The claims of a clause, without greetings, questions and offers; a clause taken to decline may still hold one."""
    found = [Span(span.start + c.start, span.start + c.end, c.text) for c in claims(span.text).spans]
    return found or [span] * declines(span.text)


def _settled(
    probability: float, cut: Sequence[tuple[Span, int]], clauses: Sequence[Clause], left: dict[int, float]
) -> Refusal:
    """The spans that agree with the probability of the whole."""
    spans = [span for span, _ in cut]
    strongest = max(c.declines for c in clauses)
    if probability >= 0.5:
        cutoff = min(0.5, strongest)
        return Refusal(probability, list(compress(spans, (c.declines >= cutoff for c in clauses))), [])
    stating = [i for i, p in left.items() if p >= 0.5]
    if strongest < 0.5 or not stating:
        return Refusal(probability, [], [])
    found = [span for i, span in enumerate(spans) if clauses[i].declines >= 0.5 and i not in stating]
    return Refusal(probability, found, [claim for i in stating for claim in _stated(spans[i])])
