"""Answers that decline, in any natural wording, English and Chinese.

An answer is cut into clauses (in Chinese what stands between commas). A clause declines, fills (an apology, a redirect,
an offer, a remark about the sources) or states something. An answer is a refusal when something in it declines and
nothing is left that states. The decisions are those of a small trained model (``declining_model.py``).
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from itertools import compress
from typing import Any

from workbench.data.text.sentences import (
    MAX_CLAIMS,
    Claims,
    _clauses,
    _is_heading,
    _stripped_claim,
    sentences,
    spoken,
)
from workbench.data.text.words import HAN, Span, normalise

# ------------------------------------------------------------------------------
# What a text states: its claims, each a span of the original.


def claims(text: str) -> Claims:
    """What ``text`` states: sentences, cut into clauses, without what states nothing.

    Questions, greetings, offers of help, headings, table rules and statements that decline are left out; list markers
    and citation marks at the edges are no part of a span. Tool calls and an echo of the prompt state nothing; raw JSON states
    what its values state. At most ``MAX_CLAIMS``.
    """
    found: list[Span] = []
    for start, end in spoken(text):
        for sentence in sentences(text[start:end]):
            found += _claims_of(text, start + sentence.start, start + sentence.end)
            if len(found) > MAX_CLAIMS:
                return Claims(tuple(found[:MAX_CLAIMS]), True)
    return Claims(tuple(found), False)


def _claims_of(text: str, start: int, end: int) -> Iterator[Span]:
    """The claims of one sentence."""

    if _is_heading(text[start:end]):
        return
    for clause in _clauses(text, start, end):
        claim = _stripped_claim(text, clause)
        if claim is not None and not declines(claim.text):
            yield claim


# ------------------------------------------------------------------------------
# What the model of declining sees in a clause: word classes, their order, and the words themselves.
#
# A clause such as "the notes don't say who signed" becomes classes in order (source, negation, saying, question word).
# Ordered pairs and triples of classes carry over to wordings that nobody has listed; single words and word pairs add
# what the classes miss. The classes are in ``declining_words.toml``. Time is linear in the length of a clause, of which
# at most ``MAX_WORDS`` words are read.


MAX_WORDS = 60
_REACH = {"en": 6, "zh": 8}
_ACTORS = frozenset({"SRC", "THING", "ME", "YOU", "THIS", "NEG", "CANT", "LACK"})
_REFUSING = frozenset({"NEG", "CANT", "LACK", "ABLE", "LIMIT"})
_PIVOTS = frozenset({"NEG", "CANT", "LACK", "LIMIT"})
_SUBJECTS = ("ME", "SRC", "THIS", "INFO", "THING", "YOU")
_VERBS = ("KNOW", "SAY", "FIND", "GIVE", "INFO", "LIMIT", "SRC", "THING")
_OBJECTS = frozenset({"SAY", "FIND", "KNOW", "GIVE", "INFO"}) | _ACTORS | _REFUSING

_QUOTED = re.compile(r'"[^"\n]{1,80}"|“[^”\n]{1,80}”|「[^」\n]{1,80}」|『[^』\n]{1,80}』')
_ENGLISH_WORD = re.compile(r"[a-z]+(?:[-'][a-z]+)*|\d[\d.,:]*|[?]")
_HAN = re.compile(f"[{HAN}]")
_CAPITAL = re.compile(r"\w\W{1,3}[A-Z][a-z]")
_CONTRACTIONS = tuple(
    (re.compile(pattern), full)
    for pattern, full in (
        (r"\b(?:can't|cannot|cant)\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"n't\b", " not"),
        (r"\b(i|we|you|they|he|she|it|that|there|what|who)'(?:m|re)\b", r"\1 are"),
        (r"\b(it|that|there|what|who|he|she|here)'s\b", r"\1 is"),
        (r"'ve\b", " have"),
        (r"'d\b", " would"),
        (r"'ll\b", " will"),
    )
)

Item = tuple[str, tuple[str, ...]]
"""A word and its classes."""


@lru_cache(maxsize=32768)
def folded(segment: str) -> str:
    """Normalised, with what stands in quotation marks left out, and at most the first 400 characters."""
    return normalise(_QUOTED.sub('"q"', segment[:600]))[:400].strip(" .。!！,，")


def language_of(text: str) -> str:
    """``"zh"`` for a clause with at least as many Han characters as a fourth of its Latin letters, else ``"en"``."""
    han = len(_HAN.findall(text))
    return "zh" if han and han * 4 >= len(re.findall("[A-Za-z]", text)) else "en"


@cache
def _classes(language: str) -> dict[str, tuple[str, ...]]:
    """The classes of each listed word."""
    tables = tomllib.loads(resources.files(__package__).joinpath("declining_words.toml").read_text(encoding="utf-8"))
    found: dict[str, dict[str, None]] = {}
    for name, entries in tables[language].items():
        for word in entries.split():
            found.setdefault(word, {})[name] = None
    return {word: tuple(names) for word, names in found.items()}


@cache
def _stems() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """English entries that stand for any ending, the longest first."""
    entries = [(word[:-1], names) for word, names in _classes("en").items() if word.endswith("*")]
    return tuple(sorted(entries, key=lambda entry: -len(entry[0])))


@lru_cache(maxsize=32768)
def _english_classes(word: str) -> tuple[str, ...]:
    if word[0].isdigit():
        return ("NUM",)
    known = _classes("en").get(word)
    return known or next((names for stem, names in _stems() if word.startswith(stem)), ())


@cache
def _chinese_word() -> re.Pattern[str]:
    longest_first = sorted(_classes("zh"), key=len, reverse=True)
    listed = "|".join(map(re.escape, longest_first))
    return re.compile(rf"{listed}|\d+(?:\.\d+)?|[a-z][a-z0-9-]*|[{HAN}]")


def _items(text: str, language: str) -> list[Item]:
    """The words of a folded clause with their classes; all numbers are the word ``#``."""
    if language == "zh":
        known = _classes("zh")
        words = [match[0] for match in _chinese_word().finditer(text)][:MAX_WORDS]
        return [("#", ("NUM",)) if word[0].isdigit() else (word, known.get(word, ())) for word in words]
    words = [match[0] for match in _ENGLISH_WORD.finditer(text)][:MAX_WORDS]
    return [("#" if word[0].isdigit() else word, _english_classes(word)) for word in words]


def _spelt_out(segment: str) -> tuple[str, str]:
    """The folded text without contractions, and its language."""
    text = folded(segment)
    language = language_of(text)
    if language == "en":
        for pattern, full in _CONTRACTIONS:
            text = pattern.sub(full, text)
    return text, language


def classified(segment: str) -> list[Item]:
    """The words of a text with their classes, at most :data:`MAX_WORDS`."""
    return _items(*_spelt_out(segment))


def features(segment: str) -> set[str]:
    """The names of what holds of one clause."""
    text, language = _spelt_out(segment)
    items = _items(text, language)
    places = [(i, name) for i, (_, names) in enumerate(items) for name in names]
    found = {"c:" + name for _, name in places}
    found.update(_pairs(places, _REACH[language]), _triples(places), _neighbours(items))
    found.update(_frame(items), _shape(segment, text, items))
    if language == "zh":
        found.update(_grams(re.sub(r"\d+", "#", text)))
    return found


def _pairs(places: Sequence[tuple[int, str]], reach: int) -> Iterator[str]:
    """Ordered pairs of classes within ``reach`` words; neighbours once more as such."""
    for at, (i, first) in enumerate(places):
        for j, second in places[at + 1 : at + 12]:
            if j - i > reach:
                break
            if j > i:
                yield f"{first}>{second}"
                if j == i + 1:
                    yield f"{first}+{second}"


def _triples(places: Sequence[tuple[int, str]]) -> Iterator[str]:
    """Actor, refusing word, and what is refused, in order."""
    key = [place for place in places if place[1] in _OBJECTS]
    for a, (i, actor) in enumerate(key):
        if actor not in _ACTORS:
            continue
        for b, (j, refusing) in enumerate(key[a + 1 : a + 8], a + 1):
            if refusing in _REFUSING and i < j <= i + 8:
                for k, thing in key[b + 1 : b + 6]:
                    if j < k <= j + 6:
                        yield f"{actor}>{refusing}>{thing}"


def _frame(items: Sequence[Item]) -> Iterator[str]:
    """Who does not do what: the class before the first refusing word and the one after, ``x`` for an unlisted word."""
    pivot = next((i for i, (_, names) in enumerate(items) if not _PIVOTS.isdisjoint(names)), None)
    if pivot is None:
        yield "f:none"
        return
    subject = _main_class(items[:pivot], _SUBJECTS)
    thing = _first_class(items[pivot + 1 : pivot + 7])
    asked = any("WH" in names for _, names in items[pivot + 1 :])
    refusing = next(name for name in items[pivot][1] if name in _PIVOTS)
    yield f"f:{subject}|{thing}"
    yield f"f:{subject}|{refusing}|{thing}"
    yield f"f:{subject}|?" if asked else f"f:{subject}|."
    yield f"f:?{thing}" if asked else f"f:.{thing}"


def _main_class(items: Sequence[Item], wanted: Sequence[str]) -> str:
    present = {name for _, names in items for name in names}
    found = next((name for name in wanted if name in present), None)
    return found or ("x" if any(not names for _, names in items) else "-")


def _first_class(items: Sequence[Item]) -> str:
    found = next((name for _, names in items for name in _VERBS if name in names), None)
    return found or ("x" if any(not names for _, names in items) else "-")


def _neighbours(items: Sequence[Item]) -> Iterator[str]:
    """Words and word pairs; ``^`` and ``$`` are the edges."""
    previous = "^"
    for word, _ in [*items, ("$", ())]:
        yield "w:" + word
        yield f"b:{previous} {word}"
        previous = word


def _shape(segment: str, text: str, items: Sequence[Item]) -> Iterator[str]:
    """First and last class, length, unlisted words, digits, names."""
    if items:
        for name in items[0][1] or ("x",):
            yield "first:" + name
        for name in items[-1][1] or ("x",):
            yield "last:" + name
    yield f"len:{min(5, (len(items) + 1).bit_length())}"
    yield f"x:{min(5, (sum(not names for _, names in items) + 1).bit_length())}"
    if re.search(r"\d", text):
        yield "digit"
    if text.isascii() and _CAPITAL.search(segment[:600]):
        yield "name"


def _grams(text: str) -> Iterator[str]:
    for n in (2, 3):
        for start in range(len(text) - n + 1):
            yield "g:" + text[start : start + n]


# ------------------------------------------------------------------------------
# A small trained model of declining: what each clause does, what is left, and the answer as a whole.
#
# Three steps, each a logistic model whose coefficients stand in ``declining_model.json``, one set for each language:
#
# * a clause declines, fills (an apology, a redirect, an offer, a remark about the sources) or states: softmax over the
#   features of ``declining_features.py``;
# * every clause but the one that declines most states something that is left of an answer: ``REST``;
# * the answer is a refusal: from the clause that declines most and the one that states most: ``WHOLE``, or where the
#   question is known ``ASKED`` of ``declining_asked.py``.
#
# Written by ``python -m workbench.training.refusals``.


REST = (
    "states", "declines", "fills", "before_in_sentence", "before", "after_in_sentence", "digit", "name", "contrast",
    "length", "question", "states_before_in_sentence",
)  # fmt: skip
WHOLE = ("weaker", "declines")
_CONTRAST = re.compile(
    r"^(?:but|however|still|though|yet|that said|in general|generally|typically|usually)\b"
    r"|^(?:但|不过|然而|可是|一般|通常)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Clause:
    """What a clause does: probabilities in [0, 1] that sum to 1."""

    declines: float
    fills: float
    states: float


@cache
def coefficients(language: str) -> Mapping[str, Any]:
    """The models of ``"en"`` or ``"zh"``: ``clause``, ``rest``, ``whole`` and ``asked``."""
    text = resources.files(__package__).joinpath("declining_model.json").read_text(encoding="utf-8")
    return json.loads(text)[language]


@lru_cache(maxsize=65536)
def clause(segment: str) -> Clause:
    """What one clause does, whatever stands around it."""
    model = coefficients(language_of(folded(segment)))["clause"]
    return weighed(features(segment), model)


def weighed(found: set[str], model: Mapping[str, Any]) -> Clause:
    """The softmax over the features ``found``; stating is the level that the two others are measured from."""
    weights = model["weights"]
    known = [weights[name] for name in found if name in weights]
    declining = model["intercept"][0] + math.fsum(pair[0] for pair in known)
    filling = model["intercept"][1] + math.fsum(pair[1] for pair in known)
    top = max(declining, filling, 0.0)
    parts = [math.exp(value - top) for value in (declining, filling, 0.0)]
    return Clause(*(part / sum(parts) for part in parts))


def tilted(c: Clause, declining: float, filling: float) -> Clause:
    """``c`` with further evidence: log-odds of declining and of filling against stating, each within ±30."""
    more = [math.exp(max(-30.0, min(30.0, value))) for value in (declining, filling)]
    parts = (c.declines * more[0], c.fills * more[1], c.states)
    total = math.fsum(parts)
    return Clause(*(part / total for part in parts)) if total > 0 else c


def log_odds(p: float) -> float:
    """ln(p / (1 − p)) with both cut off at 1e-4."""
    return math.log((p + 1e-4) / (1 - p + 1e-4))


def rest_values(segments: Sequence[str], in_sentence: Sequence[int], clauses: Sequence[Clause]) -> dict[int, list[float]]:
    """The values of ``REST`` for every clause but the one that declines most, by its place.

    ``in_sentence``: the number of the sentence in which each clause stands.
    """
    chief = max(range(len(clauses)), key=lambda i: clauses[i].declines)
    first = next((i for i, c in enumerate(clauses) if c.declines >= 0.5), chief)
    found = {}
    for i, (segment, c) in enumerate(zip(segments, clauses, strict=True)):
        if i != chief:
            same, before = in_sentence[i] == in_sentence[chief], i < first
            found[i] = _rest_row(segment, c, same, before)
    return found


def _rest_row(segment: str, c: Clause, same: bool, before: bool) -> list[float]:
    states = log_odds(c.states)
    unit = 20 if language_of(segment) == "zh" else 60
    return [
        states, log_odds(c.declines), log_odds(c.fills), float(before and same), float(before and not same),
        float(same and not before), float(bool(re.search(r"\d", segment))),
        float(bool(re.search(r"\w\W{1,3}[A-Z][a-z]", segment))), float(bool(_CONTRAST.search(segment))),
        min(len(segment) / unit, 2.0), float(segment.rstrip().endswith(("?", "？"))), states * (before and same),
    ]  # fmt: skip


def whole_values(declining: float, left: float | None) -> list[float]:
    """The values of ``WHOLE``; ``left`` is None where no other clause is left.

    An answer must decline and leave nothing: the weaker of the two counts, and how surely it declines at most mildly.
    """
    declines = log_odds(declining)
    nothing_left = -log_odds(0.0 if left is None else left)
    return [min(declines, nothing_left), min(declines, 2.0)]


def logistic(values: Sequence[float], model: Mapping[str, Any]) -> float:
    """1 / (1 + exp(−(intercept + Σ weight · value)))."""
    total = model["intercept"] + math.fsum(w * v for w, v in zip(model["weights"].values(), values, strict=True))
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, total))))


# ------------------------------------------------------------------------------
# How the question decides whether an answer is a refusal.
#
# "No objections are on record" answers whether there were any; "the report gives no figure" does not answer how many.
# Beside what the clauses do (``declining_model.py``), :data:`ASKED` looks at whether the question wants yes or no, whether
# it asks about the documents themselves, and how far the clause that declines and those that state repeat its words.


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
    asked, classes = _content(question), _question_classes(question)
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
def _question_classes(text: str) -> frozenset[str]:
    return frozenset(name for _, names in classified(text) for name in names)


def _words(segments: Sequence[str]) -> Iterator[str]:
    return (word for segment in segments for word in _content(segment))


def _overlap(asked: frozenset[str], segments: Sequence[str]) -> float:
    """Share of the question's words that the segments repeat."""
    return len(asked & set(_words(segments))) / max(len(asked), 1)


def _new(asked: frozenset[str], segments: Sequence[str]) -> float:
    """How many words the question does not have, of :data:`_MANY`."""
    return min(len(set(_words(segments)) - asked), _MANY) / _MANY


# ------------------------------------------------------------------------------
# Cutting an answer into the clauses that each decline, fill or state.


_ENGLISH_CUT = re.compile(
    r";\s*|,?\s+(?:but|however|though|although|yet|because|since|nevertheless|nonetheless)\b,?\s*(?=\S)"
    r"|,\s+(?:and|so|while|as)\s+(?=\S)|:\s+|\s+[-–—]+\s+",
    re.IGNORECASE,
)
_LEADING_CLAUSE = re.compile(r"^(?:although|while|though|even though|since|because|as)\b[^,]{3,200},\s*", re.IGNORECASE)
_CHINESE_CUT = re.compile(r"[，；;：]\s*|(?:(?<!\d)[,:]|[,:](?!\d))\s*")
_HAN_TEXT = re.compile(f"[{HAN}]")
_LATIN_TEXT = re.compile(r"[A-Za-z]{2}")


def segments(text: str) -> list[tuple[Span, int]]:
    """The clauses of ``text`` in order (in Chinese what stands between commas), each with the number of its sentence."""
    return [(span, i) for i, sentence in enumerate(sentences(text)) for span in _segments(text, sentence)]


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


# ------------------------------------------------------------------------------


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
