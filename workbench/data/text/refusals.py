"""Answers that refuse, in any natural wording of a known language, and the claims of those that state something.

An answer is cut into clauses (where words are not parted by spaces, what stands between commas). A clause refuses, fills (an
apology, a redirect, an offer, a remark about the sources) or states something. An answer is a refusal when something in it
refuses and nothing is left that states.

Three steps decide, each a logistic model whose coefficients stand in ``refusal_model.json`` of a language, written by
``python -m workbench.training.refusals``: what each clause does (:func:`clause`, a softmax over :func:`features`), what of the
other clauses is left of an answer (:data:`REST`), and whether the answer is a refusal (:data:`WHOLE`, or :data:`ASKED` where
the question is known). In a language without such a model a clause refuses where one of the patterns ``refuses`` of its
``refusals.toml`` stands, and the other steps are those of English.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import compress, zip_longest
from typing import Any

from workbench.data.text.normalise import Span, normalise
from workbench.data.text.sentences import (
    MAX_CLAIMS,
    Claims,
    _clauses,
    _is_heading,
    _stripped_claim,
    denied,
    sentences,
    spoken,
)
from workbench.data.text.words import written_in
from workbench.language import Language, by_languages, languages, pattern

# ------------------------------------------------------------------------------
# What a text states: its claims, each a span of the original.


def claims(text: str) -> Claims:
    """What ``text`` states: sentences, cut into clauses, without what states nothing.

    Questions, greetings, offers of help, headings, table rules and statements that refuse are left out; list markers and
    citation marks at the edges are no part of a span. Tool calls and an echo of the prompt state nothing; raw JSON states what
    its values state. At most ``MAX_CLAIMS``.
    """
    found: list[Span] = []
    for start, end in spoken(text):
        cut = list(sentences(text[start:end]))
        for sentence, following in zip_longest(cut, cut[1:]):
            if not _is_heading(sentence.text, "" if following is None else following.text):
                clauses = _clauses(text, start + sentence.start, start + sentence.end)
                stated = (claim for c in clauses if (claim := _stripped_claim(text, c)) is not None)
                found += [claim for claim in stated if not refuses(claim.text) or denied(claim.text.lower())]
            if len(found) > MAX_CLAIMS:
                return Claims(tuple(found[:MAX_CLAIMS]), True)
    return Claims(tuple(found), False)


# ------------------------------------------------------------------------------
# What the model sees in a clause: word classes, their order, and the words themselves.
#
# A clause such as "the notes don't say who signed" becomes classes in order (source, negation, saying, question word).
# Ordered pairs and triples of classes carry over to wordings that nobody has listed; single words and word pairs add
# what the classes miss. The classes are in ``refusals.toml`` of a language. Time is linear in the length of a clause, of
# which at most ``MAX_WORDS`` words are read.


MAX_WORDS = 60
_ACTORS = frozenset({"SRC", "THING", "ME", "YOU", "THIS", "NEG", "CANT", "LACK"})
_REFUSING = frozenset({"NEG", "CANT", "LACK", "ABLE", "LIMIT"})
_PIVOTS = frozenset({"NEG", "CANT", "LACK", "LIMIT"})
_SUBJECTS = ("ME", "SRC", "THIS", "INFO", "THING", "YOU")
_VERBS = ("KNOW", "SAY", "FIND", "GIVE", "INFO", "LIMIT", "SRC", "THING")
_OBJECTS = frozenset({"SAY", "FIND", "KNOW", "GIVE", "INFO"}) | _ACTORS | _REFUSING

_QUOTED = re.compile(r'"[^"\n]{1,80}"|“[^”\n]{1,80}”|「[^」\n]{1,80}」|『[^』\n]{1,80}』')
_SPACED_WORD = re.compile(r"[a-z]+(?:[-'][a-z]+)*|\d[\d.,:]*|[?]")
_CAPITAL = re.compile(r"\w\W{1,3}[A-Z][a-z]")

Item = tuple[str, tuple[str, ...]]
"""A word and its classes."""


@lru_cache(maxsize=32768)
def folded(segment: str) -> str:
    """Normalised, with what stands in quotation marks left out, and at most the first 400 characters."""
    return normalise(_QUOTED.sub('"q"', segment[:600]))[:400].strip(" .。!！,，")


@dataclass(frozen=True)
class _Words:
    """What ``refusals.toml`` of one language says of words; ``stems`` stand for any ending, the longest first."""

    known: Mapping[str, tuple[str, ...]]
    stems: Sequence[tuple[str, tuple[str, ...]]]
    word: re.Pattern[str]
    contractions: Sequence[tuple[re.Pattern[str], str]]
    reach: int

    def classes(self, word: str) -> tuple[str, ...]:
        """The classes of a word, none for one that is not listed."""
        return self.known.get(word) or next((names for stem, names in self.stems if word.startswith(stem)), ())


@cache
def _words_of(own: Language) -> _Words:
    table = own.table("refusals")
    found: dict[str, dict[str, None]] = {}
    for name, entries in table.get("classes", {}).items():
        for word in entries.split():
            found.setdefault(word, {})[name] = None
    known = {word: tuple(names) for word, names in found.items()}
    stems = sorted(((w[:-1], names) for w, names in known.items() if w.endswith("*")), key=lambda entry: -len(entry[0]))
    word = _SPACED_WORD
    if not own.facts["spaced"]:
        longest_first = "".join(f"{re.escape(w)}|" for w in sorted(known, key=len, reverse=True))
        word = re.compile(rf"{longest_first}\d+(?:\.\d+)?|[a-z][a-z0-9-]*|[{own.facts['script']}]")
    contractions = [(re.compile(short), full) for short, full in table.get("contractions", ())]
    return _Words(known, stems, word, contractions, table.get("reach", 6))


@lru_cache(maxsize=32768)
def _classes(own: Language, word: str) -> tuple[str, ...]:
    return ("NUM",) if word[0].isdigit() else _words_of(own).classes(word)


def _read(segment: str) -> tuple[str, Language, list[Item]]:
    """The folded text without contractions, its language, and its words with their classes; all numbers are ``#``."""
    text = folded(segment)
    own = _modelled(text)
    for short, full in _words_of(own).contractions:
        text = short.sub(full, text)
    words = [match[0] for match in _words_of(own).word.finditer(text)][:MAX_WORDS]
    return text, own, [("#" if word[0].isdigit() else word, _classes(own, word)) for word in words]


def features(segment: str) -> set[str]:
    """The names of what holds of one clause."""
    text, own, items = _read(segment)
    places = [(i, name) for i, (_, names) in enumerate(items) for name in names]
    found = {"c:" + name for _, name in places}
    found.update(_pairs(places, _words_of(own).reach), _triples(places), _neighbours(items))
    found.update(_frame(items), _shape(segment, text, items))
    if not own.facts["spaced"]:
        signs = re.sub(r"\d+", "#", text)
        found.update("g:" + signs[start : start + n] for n in (2, 3) for start in range(len(signs) - n + 1))
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


# ------------------------------------------------------------------------------
# The models: what each clause does, what is left, and the answer as a whole.


REST = (
    "states", "refuses", "fills", "before_in_sentence", "before", "after_in_sentence", "digit", "name", "contrast",
    "length", "question", "states_before_in_sentence",
)  # fmt: skip
WHOLE = ("weaker", "refuses")


@dataclass(frozen=True, slots=True)
class Clause:
    """What a clause does: probabilities in [0, 1] that sum to 1."""

    refuses: float
    fills: float
    states: float


#: What is said of a clause in a language without a model: that a pattern of refusals stands in it, or none.
_MATCHED, _UNMATCHED = Clause(0.96, 0.02, 0.02), Clause(0.02, 0.08, 0.9)


@cache
def _own_coefficients(own: Language) -> Mapping[str, Any] | None:
    content = own.file("refusal_model.json")
    return None if content is None else json.loads(content)


def _modelled(text: str) -> Language:
    """The language of a clause if it has a model, else English."""
    own = written_in(text)
    return languages()[0] if _own_coefficients(own) is None else own


def model_language(text: str) -> str:
    """The code of the language whose model reads ``text``."""
    return _modelled(text).code


def coefficients(code: str) -> Mapping[str, Any]:
    """The models of a language that has them: ``clause``, ``rest``, ``whole`` and ``asked``."""
    return next(found for own in languages() if own.code == code and (found := _own_coefficients(own)) is not None)


@by_languages(maxsize=65536)
def clause(segment: str) -> Clause:
    """What one clause does, whatever stands around it."""
    if pattern("refusals", "«refuses»").search(folded(segment)):
        return _MATCHED
    model = _own_coefficients(written_in(folded(segment)))
    return _UNMATCHED if model is None else weighed(features(segment), model["clause"])


def weighed(found: set[str], model: Mapping[str, Any]) -> Clause:
    """The softmax over the features ``found``; stating is the level that the two others are measured from."""
    weights = model["weights"]
    known = [weights[name] for name in found if name in weights]
    refusing = model["intercept"][0] + math.fsum(pair[0] for pair in known)
    filling = model["intercept"][1] + math.fsum(pair[1] for pair in known)
    top = max(refusing, filling, 0.0)
    parts = [math.exp(value - top) for value in (refusing, filling, 0.0)]
    return Clause(*(part / sum(parts) for part in parts))


def with_log_odds(c: Clause, refusing: float, filling: float) -> Clause:
    """``c`` with further evidence: log-odds of refusing and of filling against stating, each within ±30."""
    more = [math.exp(max(-30.0, min(30.0, value))) for value in (refusing, filling)]
    parts = (c.refuses * more[0], c.fills * more[1], c.states)
    total = math.fsum(parts)
    return Clause(*(part / total for part in parts)) if total > 0 else c


def log_odds(p: float) -> float:
    """ln(p / (1 − p)) with both cut off at 1e-4."""
    return math.log((p + 1e-4) / (1 - p + 1e-4))


def rest_values(segments: Sequence[str], in_sentence: Sequence[int], clauses: Sequence[Clause]) -> dict[int, list[float]]:
    """The values of ``REST`` for every clause but the one that refuses most, by its place.

    ``in_sentence``: the number of the sentence in which each clause stands.
    """
    chief = max(range(len(clauses)), key=lambda i: clauses[i].refuses)
    first = next((i for i, c in enumerate(clauses) if c.refuses >= 0.5), chief)
    found = {}
    for i, (segment, c) in enumerate(zip(segments, clauses, strict=True)):
        if i != chief:
            same, before = in_sentence[i] == in_sentence[chief], i < first
            found[i] = _rest_row(segment, c, same, before)
    return found


def _rest_row(segment: str, c: Clause, same: bool, before: bool) -> list[float]:
    states = log_odds(c.states)
    unit = _modelled(segment).table("refusals").get("unit", 60)
    contrast = pattern("refusals", r"^(?:«contrast»)", re.IGNORECASE).search(segment)
    return [
        states, log_odds(c.refuses), log_odds(c.fills), float(before and same), float(before and not same),
        float(same and not before), float(bool(re.search(r"\d", segment))), float(bool(_CAPITAL.search(segment))),
        float(contrast is not None), min(len(segment) / unit, 2.0), float(segment.rstrip().endswith(("?", "？"))),
        states * (before and same),
    ]  # fmt: skip


def whole_values(refusing: float, left: float | None) -> list[float]:
    """The values of ``WHOLE``; ``left`` is None where no other clause is left.

    An answer must refuse and leave nothing: the weaker of the two counts, and how surely it refuses at most mildly.
    """
    refuses = log_odds(refusing)
    nothing_left = -log_odds(0.0 if left is None else left)
    return [min(refuses, nothing_left), min(refuses, 2.0)]


def logistic(values: Sequence[float], model: Mapping[str, Any]) -> float:
    """1 / (1 + exp(−(intercept + Σ weight · value)))."""
    total = model["intercept"] + math.fsum(w * v for w, v in zip(model["weights"].values(), values, strict=True))
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, total))))


# ------------------------------------------------------------------------------
# How the question decides whether an answer is a refusal.
#
# "No objections are on record" answers whether there were any; "the report gives no figure" does not answer how many.
# Beside what the clauses do, :data:`ASKED` looks at whether the question wants yes or no, whether it asks about the
# documents themselves, and how far the clause that refuses and those that state repeat its words.


ASKED = (
    "weaker", "refuses", "left", "yes_no", "yes_no_refuses", "yes_no_left", "head_refuses", "head",
    "refusing_overlap", "refusing_new", "stating_overlap", "stating_new", "overlap", "asks_say", "asks_say_refuses",
    "asks_source", "asks_source_refuses",
    "whether_said", "whether_said_weaker",
)  # fmt: skip
#: Unlisted words that count as many.
_MANY = 12


def asked_values(
    question: str, segments: Sequence[str], clauses: Sequence[Clause], left: Mapping[int, float]
) -> list[float]:
    """The values of :data:`ASKED` for an answer's clauses, as judged, to ``question``.

    ``left``: the probability of each clause but the one that refuses most that it states something that is left.
    """
    chief = max(range(len(clauses)), key=lambda i: clauses[i].refuses)
    stating = max(left, key=lambda i: left[i]) if left else None
    most_left = log_odds(left[stating] if stating is not None else 0.0)
    weaker, mild = whole_values(clauses[chief].refuses, left[stating] if stating is not None else None)
    asked, classes = _content(question), {name for _, names in _items(question) for name in names}
    yes_no = float(wants_yes_or_no(question))
    head = float(pattern("refusals", r"\W*(?:«head»)", re.IGNORECASE).match(segments[0]) is not None)
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
    asked = _modelled(question).table("refusals").get("yes_no", "(?!)")
    return re.search(asked, question.strip(), re.IGNORECASE) is not None


@lru_cache(maxsize=8192)
def _items(text: str) -> list[Item]:
    return _read(text)[2]


@lru_cache(maxsize=8192)
def _content(text: str) -> frozenset[str]:
    """The words that no class of refusals lists: what a text is about."""
    return frozenset(word for word, names in _items(text) if not names and (len(word) > 2 or not word.isascii()))


def _overlap(asked: frozenset[str], segments: Sequence[str]) -> float:
    """Share of the question's words that the segments repeat."""
    return len(asked & frozenset().union(*map(_content, segments))) / max(len(asked), 1)


def _new(asked: frozenset[str], segments: Sequence[str]) -> float:
    """How many words the question does not have, of :data:`_MANY`."""
    return min(len(frozenset().union(*map(_content, segments)) - asked), _MANY) / _MANY


# ------------------------------------------------------------------------------
# Cutting an answer into the clauses that each refuse, fill or state.


MAX_SEGMENTS = 400

Cut = Sequence[tuple[Span, int]]
"""Clauses, each with the number of its sentence."""


def segments(text: str) -> list[tuple[Span, int]]:
    """The clauses of ``text`` in order, each with the number of its sentence."""
    return [(span, i) for i, sentence in enumerate(sentences(text)) for span in _segments(text, sentence)]


def _segments(text: str, sentence: Span) -> Iterator[Span]:
    """The segments of a sentence, without empty ones."""
    table = _cut_by(sentence.text).table("refusals")
    start = sentence.start
    cut = re.compile(table.get("cut", r"[;；]\s*"), re.IGNORECASE)
    cuts = [match.span() for match in cut.finditer(text, sentence.start, sentence.end)]
    leading = re.match(table.get("leading", "(?!)"), sentence.text, re.IGNORECASE)
    if leading:
        edge = sentence.start + leading.end()
        cuts = sorted({(edge, edge), *cuts})
    for begin, stop in [*cuts, (sentence.end, sentence.end)]:
        piece = text[start:begin]
        if re.search(r"\w", piece):
            lead = len(piece) - len(piece.lstrip())
            yield Span(start + lead, start + len(piece.rstrip()), piece.strip())
        start = stop


def _cut_by(sentence: str) -> Language:
    """The language by whose marks a sentence is cut: one whose characters are no fewer than pairs of Latin letters."""
    for own in languages():
        count = len(own.script.findall(sentence)) if own.script else 0
        if count and count >= len(re.findall("[A-Za-z]{2}", sentence)):
            return own
    latin = written_in(sentence)
    return latin if latin.script is None else languages()[0]


def cut_clauses(text: str) -> Cut:
    """The clauses that are read of ``text``: of what speaks to the reader, without tool calls and an echo of the prompt."""
    cut: list[tuple[Span, int]] = []
    for start, end in spoken(text):
        before = cut[-1][1] + 1 if cut else 0
        found = segments(text[start:end])
        cut += [(Span(start + s.start, start + s.end, s.text), before + number) for s, number in found]
    return cut[:MAX_SEGMENTS]


# ------------------------------------------------------------------------------
# The answer.


_BELOW = math.nextafter(0.5, 0.0)

Models = Callable[[str], Mapping[str, Any]]
"""The models ``rest``, ``whole`` and ``asked`` for the code of a language."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """How far an answer refuses.

    ``probability`` in [0, 1]: that the answer as a whole is a refusal. ``spans``: the segments that refuse. ``residual``: what
    it still states; with any of it the answer is no refusal. Spans index the answer. ``refusing``, ``left`` in [0, 1]: that
    something refuses, and that something is still stated.

    ``probability`` ≥ .5 if and only if something refuses and nothing is left, both as spans and as ``refusing`` ≥ .5 and
    ``left`` < .5.
    """

    probability: float
    spans: list[Span]
    residual: list[Span]
    refusing: float = 0.0
    left: float = 0.0


def refuses(segment: str) -> bool:
    """Whether one sentence or clause refuses to answer or says that the answer is not to be found.

    A rule about refusing ("if nothing is found, …") does not, nor does a product that lacks something.
    """
    return clause(segment).refuses >= 0.5


def refusal(text: str, extra_phrases: Sequence[str] = (), question: str = "") -> Refusal:
    """Whether ``text`` refuses, and what it still states.

    ``extra_phrases`` are further wordings of refusing, compared as normalised text. With the ``question`` it is known what
    would answer it: "no objections are on record" answers whether there were any. Of a long text the first
    ``MAX_SEGMENTS`` clauses are read. A text without words has probability 0.
    """
    cut = cut_clauses(text)
    return refusal_of(text, cut, [clause(span.text) for span, _ in cut], coefficients, extra_phrases, question)


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
    clauses = [
        Clause(1.0, 0.0, 0.0) if any(phrase in normalise(span.text) for phrase in phrases) else c
        for (span, _), c in zip(cut, judged, strict=True)
    ]
    left = _left(cut, clauses, models)
    table = models(model_language(text))
    strongest = max(c.refuses for c in clauses)
    if not any(map(str.isalnum, question)):
        values = whole_values(strongest, max(left.values(), default=None))
        return _agreed(logistic(values, table["whole"]), cut, clauses, left)
    values = [*asked_values(question, [span.text for span, _ in cut], clauses, left), *more]
    probability = logistic(values, table["asked"])
    if not may_decline(text):
        probability = min(probability, strongest)
    if strongest < 0.5:
        # Answers outnumber refusals in use by far more than in the collections that the models were fitted on, and an
        # answer that fits its question badly is not yet a refusal.
        probability = 1 / (1 + math.exp(-log_odds(probability) - 0.5 * log_odds(strongest)))
    return _agreed(probability, cut, clauses, left)


def may_decline(text: str) -> bool:
    """Whether a text has one of the words without which no answer of a known language declines."""
    return _cue().search(text.lower()) is not None


@by_languages(maxsize=8)
def _cue() -> re.Pattern[str]:
    cues = (own.table("answers").get("refusing", {}).get("cues", "") for own in languages())
    found = [cue for listed in cues for cue in listed.split("|") if cue]
    # A word begins with it, but a contraction ends in it: there is no "no" in Fresno.
    begins = [rf"(?<![a-z]){re.escape(cue)}" if re.fullmatch("[a-z]+", cue) else re.escape(cue) for cue in found]
    return re.compile("|".join(begins) or "(?!)")


def _left(cut: Cut, clauses: Sequence[Clause], models: Models) -> dict[int, float]:
    """The probability of each clause that it states something that is left; clauses without any claim are not there."""
    rows = rest_values([span.text for span, _ in cut], [number for _, number in cut], clauses)
    likely = {i: logistic(row, models(model_language(cut[i][0].text))["rest"]) for i, row in rows.items()}
    return {i: p for i, p in likely.items() if not _is_scrap(cut[i][0].text) and (p < 0.5 or _stated(cut[i][0]))}


def _is_scrap(segment: str) -> bool:
    """The end of an enumeration that was cut off (", and occupations"): under three Latin words and no digit."""
    return segment.isascii() and len(segment.split()) < 3 and not re.search(r"\d", segment)


def _stated(span: Span) -> list[Span]:
    """The claims of a clause, without greetings, questions and offers; a clause taken to refuse may still hold one."""
    found = [Span(span.start + c.start, span.start + c.end, c.text) for c in claims(span.text).spans]
    return found or [span] * refuses(span.text)


def _agreed(probability: float, cut: Cut, clauses: Sequence[Clause], left: Mapping[int, float]) -> Refusal:
    """The spans, and the two probabilities, that agree with the probability of the whole."""
    spans = [span for span, _ in cut]
    strongest, most_left = max(c.refuses for c in clauses), max(left.values(), default=0.0)
    if probability >= 0.5:
        found = list(compress(spans, (c.refuses >= min(0.5, strongest) for c in clauses)))
        return Refusal(probability, found, [], max(strongest, probability), min(most_left, 1 - probability, _BELOW))
    stating = [i for i, p in left.items() if p >= 0.5]
    if strongest < 0.5 or not stating:
        return Refusal(probability, [], [], strongest if strongest < 0.5 else probability, most_left)
    found = [span for i, span in enumerate(spans) if clauses[i].refuses >= 0.5 and i not in stating]
    residual = [claim for i in stating for claim in _stated(spans[i])]
    return Refusal(probability, found, residual, strongest, most_left)
