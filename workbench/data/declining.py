"""Answers that decline, in any natural wording, English and Chinese.

An answer is cut into clauses (in Chinese what stands between commas). A clause declines, fills (an apology, a redirect,
an offer, a remark about the sources) or states something. An answer is a refusal when something in it declines and
nothing is left that states. The decisions are those of a small trained model (``declining_model.py``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from workbench.data.claims_part import claims
from workbench.data.declining_asked import asked_values
from workbench.data.declining_features import language_of
from workbench.data.declining_model import Clause, clause, coefficients, log_odds, logistic, rest_values, whole_values
from workbench.data.declining_segments import segments
from workbench.data.text import Span, normalise
from workbench.data.wrapping import spoken

MAX_SEGMENTS = 400
_BELOW = math.nextafter(0.5, 0.0)


Cut = Sequence[tuple[Span, int]]
"""Clauses, each with the number of its sentence."""
Models = Callable[[str], Mapping[str, Any]]
"""The models ``rest``, ``whole`` and ``asked`` of ``declining_model.py`` for a language."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """How far an answer declines.

    ``probability`` in [0, 1]: that the answer as a whole is a refusal. ``declines``: the segments that decline.
    ``residual``: what it still states; with any of it the answer is no refusal. Spans index the answer.
    ``declining``, ``left`` in [0, 1]: that something declines, and that something is still stated.

    ``probability`` ≥ .5 if and only if something declines and nothing is left, both as spans and as ``declining`` ≥ .5
    and ``left`` < .5.
    """

    probability: float
    declines: list[Span]
    residual: list[Span]
    declining: float = 0.0
    left: float = 0.0


def declines(segment: str) -> bool:
    """Whether one sentence or clause declines to answer or says that the answer is not to be found.

    A rule about declining ("if nothing is found, …", 未找到文档时…) does not, nor does a product that lacks something.
    """
    return clause(segment).declines >= 0.5


def refusal(text: str, extra_phrases: Sequence[str] = (), question: str = "") -> Refusal:
    """Whether ``text`` declines, and what it still states.

    ``extra_phrases`` are further wordings of declining, compared as normalised text. With the ``question`` it is known
    what would answer it: "no objections are on record" answers whether there were any. Of a long text the first
    ``MAX_SEGMENTS`` clauses are read. A text without words has probability 0.
    """
    cut = cut_clauses(text)
    return refusal_of(text, cut, [clause(span.text) for span, _ in cut], coefficients, extra_phrases, question)


def cut_clauses(text: str) -> Cut:
    """The clauses that are read of ``text``: of what speaks to the reader, without tool calls and an echo of the prompt."""
    cut: list[tuple[Span, int]] = []
    for start, end in spoken(text):
        before = cut[-1][1] + 1 if cut else 0
        found = segments(text[start:end])
        cut += [(Span(start + s.start, start + s.end, s.text), before + number) for s, number in found]
    return cut[:MAX_SEGMENTS]


def refusal_of(
    text: str,
    cut: Cut,
    judged: Sequence[Clause],
    models: Models,
    extra_phrases: Sequence[str] = (),
    question: str = "",
    more: Sequence[float] = (),
) -> Refusal:
    """The same from clauses ``cut`` that were judged already, by whatever means, and the models fitted on those.

    ``more``: further values that the model ``asked`` was fitted with.
    """
    if not cut:
        return Refusal(0.0, [], [])
    phrases = tuple(normalise(phrase) for phrase in extra_phrases if phrase.strip())
    clauses = [_with_phrases(span.text, c, phrases) for (span, _), c in zip(cut, judged, strict=True)]
    left = _left(cut, clauses, models)
    table = models(language_of(text))
    strongest = max(c.declines for c in clauses)
    if question.strip():
        values = [*asked_values(question, [span.text for span, _ in cut], clauses, left), *more]
        return _settled(_guarded(logistic(values, table["asked"]), strongest), cut, clauses, left)
    values = whole_values(strongest, max(left.values(), default=None))
    return _settled(logistic(values, table["whole"]), cut, clauses, left)


def _guarded(probability: float, strongest: float) -> float:
    """The probability of a refusal, lowered where no clause seems to decline: by half of the log-odds of the strongest.

    Answers outnumber refusals in use by far more than in the collections that the models were fitted on, and an answer
    that fits its question badly is not yet a refusal.
    """
    if strongest >= 0.5:
        return probability
    odds = log_odds(probability) + 0.5 * log_odds(strongest)
    return 1 / (1 + math.exp(-odds))


def _with_phrases(segment: str, judged: Clause, phrases: Sequence[str]) -> Clause:
    declined = any(phrase in normalise(segment) for phrase in phrases)
    return Clause(1.0, 0.0, 0.0) if declined else judged


def _left(cut: Cut, clauses: Sequence[Clause], models: Models) -> dict[int, float]:
    """The probability of each clause that it states something that is left; clauses without any claim are not there."""
    rows = rest_values([span.text for span, _ in cut], [number for _, number in cut], clauses)
    likely = {i: logistic(row, models(language_of(cut[i][0].text))["rest"]) for i, row in rows.items()}
    return {i: p for i, p in likely.items() if not _is_scrap(cut[i][0].text) and (p < 0.5 or _stated(cut[i][0]))}


def _is_scrap(segment: str) -> bool:
    """The end of an enumeration that was cut off (", and occupations"): under three Latin words and no digit."""
    return segment.isascii() and len(segment.split()) < 3 and not re.search(r"\d", segment)


def _stated(span: Span) -> list[Span]:
    """The claims of a clause, without greetings, questions and offers; a clause taken to decline may still hold one."""
    found = [Span(span.start + c.start, span.start + c.end, c.text) for c in claims(span.text).spans]
    return found or [span] * declines(span.text)


def _settled(probability: float, cut: Cut, clauses: Sequence[Clause], left: Mapping[int, float]) -> Refusal:
    """The spans, and the two probabilities, that agree with the probability of the whole."""
    spans = [span for span, _ in cut]
    strongest, most_left = max(c.declines for c in clauses), max(left.values(), default=0.0)
    if probability >= 0.5:
        found = list(compress(spans, (c.declines >= min(0.5, strongest) for c in clauses)))
        return Refusal(probability, found, [], max(strongest, probability), min(most_left, 1 - probability, _BELOW))
    stating = [i for i, p in left.items() if p >= 0.5]
    if strongest < 0.5 or not stating:
        return Refusal(probability, [], [], strongest if strongest < 0.5 else probability, most_left)
    found = [span for i, span in enumerate(spans) if clauses[i].declines >= 0.5 and i not in stating]
    residual = [claim for i in stating for claim in _stated(spans[i])]
    return Refusal(probability, found, residual, strongest, most_left)
