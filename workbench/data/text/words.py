"""Recognising and cutting text, Chinese and English alike.

Everything here works on plain strings. Offsets are always into the text as it was given. No function raises on any
string, lone surrogates and control characters included.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from workbench.data.text.normalise import (
    HAN,
    HAN_CHARACTER,
    HANGUL,
    KANA,
    Offsets,
    Span,
    fold_surrogates,
    normalise,
    normalise_with_map,
    simplify,
)

__all__ = [
    "HAN", "HANGUL", "KANA", "Offsets", "Span", "Token", "char_ngrams", "content_words", "fold_surrogates", "language",
    "normalise", "normalise_with_map", "stem", "stop_words", "tokens", "word_list", "words",
]  # fmt: skip

_WORD = rf"[^\W{HAN}{KANA}]"


@dataclass(frozen=True, slots=True)
class Token:
    """One word or identifier of an original text, ``text == original[start:end]``."""

    text: str
    start: int
    end: int


# ---------------------------------------------------------------- language

_SCRIPTS = {
    "ja": re.compile(f"[{KANA}]"),
    "zh": HAN_CHARACTER,
    "ko": re.compile(f"[{HANGUL}]"),
    "ru": re.compile("[\u0400-\u04ff]"),
    "ar": re.compile("[\u0600-\u06ff]"),
    "he": re.compile("[\u0590-\u05ff]"),
    "th": re.compile("[\u0e00-\u0e7f]"),
    "hi": re.compile("[\u0900-\u097f]"),
    "el": re.compile("[\u0370-\u03ff]"),
}
_LATIN_WORD = re.compile("[A-Za-zÀ-ɏ]+")


@lru_cache(maxsize=32768)
def language(text: str) -> str:
    """The language as an ISO 639-1 code, ``"other"`` where nothing tells it (no letters).

    Decided by script first (kana before Han, a Han character weighs as four Latin letters, more where the
    Latin words are no English sentence); Latin text of 20 letters or more goes to a small language model, shorter
    Latin text is ``"en"``.
    """
    sample = text[:2000]
    latin = sum(map(len, _LATIN_WORD.findall(sample)))
    if sample.isascii():
        return _latin_language(sample, latin)
    counts = {name: len(pattern.findall(sample)) for name, pattern in _SCRIPTS.items()}
    han, kana = counts["zh"], counts.pop("ja")
    if kana and kana * 5 >= han and (han + kana) * 2 >= latin:
        return "ja"
    name, count = max(counts.items(), key=lambda item: item[1])
    weight = 4 if name == "zh" else 2 if name == "ko" else 1
    if count and (count * weight >= latin or (count * 12 >= latin and not _looks_english(sample))):
        return name
    return _latin_language(sample, latin)


def _latin_language(sample: str, letters: int) -> str:
    if letters == 0:
        return "other"
    if letters < 20 or _looks_english(sample):
        return "en"
    return str(_identifier().classify(" ".join(_LATIN_WORD.findall(sample)))[0])


#: Languages in Latin script that questions are written in; without this list keywords come out as Pidgin or Latin.
_LATIN_LANGUAGES = (
    "en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "nb", "fi", "pl", "cs", "sk", "hu", "ro", "hr", "sl", "et", "lv",
    "lt", "tr", "id", "ms", "vi", "tl", "sw", "ca",
)  # fmt: skip


@cache
def _identifier() -> Any:
    """The language identifier, read once (about a second)."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    known = set(identifier.nb_classes)
    identifier.set_languages([code for code in _LATIN_LANGUAGES if code in known])
    return identifier


def _looks_english(sample: str) -> bool:
    """Whether at least a fifth of the words are English function words: no model is needed then."""
    found = _LATIN_WORD.findall(sample.lower())
    cues = word_list("language", "english")
    return sum(word in cues for word in found) * 5 >= len(found)


# ---------------------------------------------------------------- words

_LETTERS = rf"(?:{_WORD}[\u0300-\u036f]*)+"
_TOKEN = re.compile(
    rf"""
      (?P<han>[{HAN}]+)
    | (?P<kana>[{KANA}]+)
    | (?P<url>https?://[^\s<>"'，。；、）】》」{HAN}]+)
    | (?P<path>(?<![\w/.])(?:/[A-Za-z_{{][A-Za-z0-9_.{{}}-]*)+)
    | (?P<flag>(?<!\S)--[A-Za-z][A-Za-z0-9-]*)
    | (?P<number>\d{{1,3}}(?:[,，]\d{{3}})+(?:\.\d+)?(?!\d))
    | (?P<sign>[A-Za-z]\+\+|[CF]\#(?!\w)|\.NET\b)
    | (?P<word>{_LETTERS}(?:['’]{_LETTERS})?(?:[-.\#:/@+‐–]{_LETTERS})*)
    """,
    re.VERBOSE,
)
_PART = re.compile(r"[^-/:+‐–]+")
_NUMBER_UNIT = re.compile(
    r"""(?P<number>\d+(?:\.\d+)?)(?P<unit>[kmgt]i?b|[kmgt]bps|ms|min|hrs?|km|cm|mm|kg|mg|px|usd|eur|rmb|cny
        |[kmg]?hz|kwh|mah)""",
    re.IGNORECASE | re.VERBOSE,
)
_RANGE = re.compile(r"\d+(?:\.\d+)?(?:[-–]\d+(?:\.\d+)?)")
_JOINERS = re.compile(r"[-/:+‐–]")


def tokens(text: str) -> list[Token]:
    """The words of ``text`` in order, without punctuation.

    Han text is segmented (jieba), Latin and other scripts give words, runs of kana stay whole. Identifiers are kept
    whole (``doc-a#1``, ``foo_bar``, ``v2.3.1``, ``ERR-1042``, ``/api/v1``, URLs, e-mail addresses); hyphenated plain
    words, number ranges and a number with its unit (``500GB``) are parted.
    """
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        kind, start, piece = match.lastgroup, match.start(), match[0]
        if kind == "han":
            found.extend(_segmented(piece, start))
        elif kind == "word":
            found.extend(_word_tokens(piece, start))
        elif kind == "url":
            piece = piece.rstrip(".,;:!?)")
            found.append(Token(piece, start, start + len(piece)))
        else:
            found.append(Token(piece, start, start + len(piece)))
    return found


def _segmented(run: str, start: int) -> list[Token]:
    """Words of a run of Han characters; segmented in simplified form, cut from the original."""
    found = []
    at = 0
    for word in _cut(simplify(run)):
        found.append(Token(run[at : at + len(word)], start + at, start + at + len(word)))
        at += len(word)
    return found


def _word_tokens(piece: str, start: int) -> list[Token]:
    """One Latin-like run as one identifier, or parted at its joiners."""
    unit = _NUMBER_UNIT.fullmatch(piece)
    if unit:
        cut = start + unit.end("number")
        return [Token(unit["number"], start, cut), Token(unit["unit"], cut, start + len(piece))]
    if not _JOINERS.search(piece) or _is_identifier(piece):
        return [Token(piece, start, start + len(piece))]
    return [Token(part[0], start + part.start(), start + part.end()) for part in _PART.finditer(piece)]


def _is_identifier(piece: str) -> bool:
    if any(sign in piece for sign in "_#@"):
        return True
    return any(map(str.isdigit, piece)) and not _RANGE.fullmatch(piece)


@cache
def _segmenter() -> Any:
    """The fastest segmenter at hand: rjieba, else jieba (the same words, about 20 times slower)."""
    try:
        import rjieba
    except ImportError:
        import jieba

        jieba.setLogLevel("ERROR")
        return jieba.lcut
    return rjieba.cut


@lru_cache(maxsize=65536)
def _cut_cached(run: str) -> tuple[str, ...]:
    return tuple(_segmenter()(run))


def _cut(run: str) -> Sequence[str]:
    """Segmented words of a run of simplified Han characters; short runs repeat, so they are cached."""
    if len(run) == 1:
        return (run,)
    return _cut_cached(run) if len(run) <= 64 else _segmenter()(run)


def words(text: str) -> list[str]:
    """Normalised words for counting and ranking: :func:`tokens` of the normalised text, digit groups joined."""
    found: list[str] = []
    for match in _TOKEN.finditer(normalise(text)):
        kind, piece = match.lastgroup, match[0]
        if kind == "han":
            found.extend(_cut(piece))
        elif kind == "word" and not piece.isalpha():
            found.extend(token.text for token in _word_tokens(piece, 0))
        elif kind == "number":
            found.append(piece.replace(",", ""))
        else:
            found.append(piece)
    return found


@cache
def word_list(table: str, name: str) -> frozenset[str]:
    """The list ``name`` of ``table`` in ``words.toml``."""
    tables = tomllib.loads(resources.files(__package__).joinpath("words.toml").read_text(encoding="utf-8"))
    return frozenset(tables[table][name].split())


@cache
def stop_words() -> frozenset[str]:
    """English and Chinese function words, normalised. Negations and numbers are not among them."""
    return word_list("stop", "en") | word_list("stop", "zh")


def content_words(text: str) -> list[str]:
    """:func:`words` without function words, in order, repetitions kept."""
    stop = stop_words()
    return [word for word in words(text) if word not in stop]


def char_ngrams(text: str, n: int) -> list[str]:
    """The overlapping character ``n``-grams of the normalised text without its spaces' edges, in order.

    A text shorter than ``n`` gives itself; an empty one gives nothing.
    """
    folded = normalise(text)
    if len(folded) <= n:
        return [folded] if folded else []
    return [folded[i : i + n] for i in range(len(folded) - n + 1)]


# ---------------------------------------------------------------- stems

_VOWEL = re.compile("[aeiouy]")
_STEM_RULES = (
    ("ational", "ate"), ("ization", "ize"), ("isation", "ize"), ("fulness", "ful"), ("ousness", "ous"),
    ("iveness", "ive"), ("ements", ""), ("ations", "ate"), ("ement", ""), ("ation", "ate"), ("ities", "ity"),
    ("ments", ""), ("ions", ""), ("ment", ""), ("ness", ""), ("ies", "y"), ("ied", "y"), ("ion", ""),
    ("sses", "ss"), ("ing", ""), ("est", ""), ("ers", ""), ("ors", ""), ("ed", ""), ("er", ""), ("or", ""),
    ("ly", ""), ("es", ""), ("s", ""), ("e", ""),
)  # fmt: skip


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A light English stem of a normalised word, for comparing word forms; other words come back unchanged.

    Rules of our own after Porter's first steps: one ending is cut where at least three letters with a vowel remain.
    """
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    if word.endswith("ss"):
        return word
    if word in ("used", "uses", "using"):
        return "use"
    for ending, instead in _STEM_RULES:
        if word.endswith(ending):
            root = word[: -len(ending)]
            if len(root) >= 3 and _VOWEL.search(root):
                return _tidy(root + instead)
    return word


def _tidy(root: str) -> str:
    """Undo doubled consonants and a final e, so that ``planned`` and ``plan``, ``used`` and ``use`` meet."""
    if len(root) > 3 and root[-1] == root[-2] and root[-1] not in "aeiouls":
        return root[:-1]
    return root[:-1] if root.endswith("e") and len(root) > 3 else root
