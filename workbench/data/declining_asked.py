"""How the question decides whether an answer is a refusal.

"No objections are on record" answers whether there were any; "the report gives no figure" does not answer how many.
Beside what the clauses do (``declining_model.py``), :data:`ASKED` looks at whether the question wants yes or no, whether
it asks about the documents themselves, and how far the clause that declines and those that state repeat its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from workbench.data.declining_features import classified, language_of
from workbench.data.declining_model import Clause, log_odds, whole_values

ASKED = (
    "weaker", "declines", "left", "yes_no", "yes_no_declines", "yes_no_left", "head_declines", "head",
    "declining_overlap", "declining_new", "stating_overlap", "stating_new", "overlap", "asks_say", "asks_say_declines",
    "asks_source", "asks_source_declines",
    "whether_said", "whether_said_weaker",
)  # fmt: skip
#: Unlisted words that count as many.
_MANY = 12

_YES_NO = {
    "en": re.compile(
        r"^(?:(?:so|and|but|please|hi|hello|hey|ok)[, ]+)*(?:is|are|was|were|do|does|did|can|could|will|would|should"
        r"|has|have|had|may|must|am|any|isn't|aren't|don't|doesn't|didn't|can't)\b|,\s*(?:is|are|was|were|do|does|did|can)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(r"[吗嗎]|(?<![什怎多这那])么[？?]?$|是否|能否|可否|有无|([\u4e00-\u9fff]{1,2})[不没沒]\1"),
}
_HEAD = re.compile(r"\W*(?:no\b|yes\b|not\b|none\b|nope\b|never\b|没有|沒有|不|是的|有|可以|能|会|會|无|無)", re.IGNORECASE)


def asked_values(
    question: str, segments: Sequence[str], clauses: Sequence[Clause], left: Mapping[int, float]
) -> list[float]:
    """The values of :data:`ASKED` for an answer's clauses, as judged, to ``question``.

    ``left``: the probability of each clause but the one that declines most that it states something that is left.
    """
    chief = max(range(len(clauses)), key=lambda i: clauses[i].declines)
    stating = max(left, key=lambda i: left[i]) if left else None
    most_left = log_odds(left[stating] if stating is not None else 0.0)
    weaker, mild = whole_values(clauses[chief].declines, left[stating] if stating is not None else None)
    asked, classes = _content(question), _classes(question)
    yes_no = float(wants_yes_or_no(question))
    head = float(_HEAD.match(segments[0]) is not None)
    say, source = float(not classes.isdisjoint(("SAY", "FIND"))), float("SRC" in classes)
    told = [segments[i] for i, p in left.items() if p >= 0.5]
    return [
        weaker, mild, most_left, yes_no, yes_no * mild, yes_no * most_left, yes_no * head, head,
        _overlap(asked, [segments[chief]]), _new(asked, [segments[chief]]),
        _overlap(asked, [segments[stating]] if stating is not None else []), _new(asked, told),
        _overlap(asked, segments), say, say * mild, source, source * mild,
        yes_no * say, yes_no * say * weaker,
    ]  # fmt: skip


def wants_yes_or_no(question: str) -> bool:
    """Whether a question can be answered by yes or no."""
    return _YES_NO[language_of(question)].search(question.strip()) is not None


@lru_cache(maxsize=8192)
def _content(text: str) -> frozenset[str]:
    """The words that no class of declining lists: what a text is about."""
    return frozenset(word for word, names in classified(text) if not names and (len(word) > 2 or not word.isascii()))


@lru_cache(maxsize=8192)
def _classes(text: str) -> frozenset[str]:
    return frozenset(name for _, names in classified(text) for name in names)


def _words(segments: Sequence[str]) -> Iterator[str]:
    return (word for segment in segments for word in _content(segment))


def _overlap(asked: frozenset[str], segments: Sequence[str]) -> float:
    """Share of the question's words that the segments repeat."""
    return len(asked & set(_words(segments))) / max(len(asked), 1)


def _new(asked: frozenset[str], segments: Sequence[str]) -> float:
    """How many words the question does not have, of :data:`_MANY`."""
    return min(len(set(_words(segments)) - asked), _MANY) / _MANY
