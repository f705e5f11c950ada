"""What the model of declining sees in a clause: word classes, their order, and the words themselves.

A clause such as "the notes don't say who signed" becomes classes in order (source, negation, saying, question word).
Ordered pairs and triples of classes carry over to wordings that nobody has listed; single words and word pairs add
what the classes miss. The classes are in ``declining_words.toml``. Time is linear in the length of a clause, of which
at most ``MAX_WORDS`` words are read.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib import resources

from workbench.data.text import HAN, normalise

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
