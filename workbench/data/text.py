"""Normalising, recognising and cutting text, Chinese and English alike.

Everything here works on plain strings. Offsets are always into the text as it was given; normalised text is for
matching only and is never shown. No function raises on any string, lone surrogates and control characters included.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff々〇"
KANA = "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"
HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
_WORD = rf"[^\W{HAN}{KANA}]"

_HAN_CHARACTER = re.compile(f"[{HAN}]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACES = re.compile(r"\s+")
_NON_SPACE_RUN = re.compile(r"\S+")
_CLUSTER = re.compile("[^\u0300-\u036f\u3099\u309a][\u0300-\u036f\u3099\u309a]+|.", re.DOTALL)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


@dataclass(frozen=True, slots=True)
class Span:
    """A piece ``[start, end)`` of an original text, and the text that stands there."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Token:
    """One word or identifier of an original text, ``text == original[start:end]``."""

    text: str
    start: int
    end: int


class Offsets:
    """Where each character of a normalised text came from.

    ``starts[i]`` and ``ends[i]`` bound the original characters that made normalised character ``i``; both are None
    where the two texts have the same offsets.
    """

    __slots__ = ("ends", "starts")

    def __init__(self, starts: Sequence[int] | None = None, ends: Sequence[int] | None = None) -> None:
        self.starts = starts
        self.ends = ends

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The original ``(start, end)`` of the normalised range; an empty range gives an empty one."""
        if self.starts is None or self.ends is None:
            return start, end
        if end <= start:
            at = self.starts[start] if start < len(self.starts) else (self.ends[-1] if self.ends else 0)
            return at, at
        return self.starts[start], self.ends[end - 1]


# ---------------------------------------------------------------- normalising


def normalise(text: str) -> str:
    """``text`` for matching: NFKC, case folded, traditional → simplified, dashes, quotes and white space unified.

    Invisible format characters are dropped, runs of white space become one space, ends are stripped. Idempotent.
    """
    if len(text) <= 2000:
        return _normalise_cached(text)
    return _normalise(text)


@lru_cache(maxsize=32768)
def _normalise_cached(text: str) -> str:
    return _normalise(text)


def _normalise(text: str) -> str:
    if text.isascii():
        return " ".join(text.lower().split())
    folded = _fold_aligned(text)
    if folded is None:
        folded = "".join([_fold_cluster(piece) for piece in _CLUSTER.findall(text)])
    return _strip_folded(folded)


def _strip_folded(folded: str) -> str:
    return " ".join(folded.split())


def normalise_with_map(text: str) -> tuple[str, Offsets]:
    """``normalise(text)`` and the ``Offsets`` that lead from it back to ``text``."""
    folded: str | None = text.lower() if text.isascii() else _fold_aligned(text)
    if folded is not None:
        plain = _strip_folded(folded)
        if len(plain) == len(folded):
            return plain, Offsets()
        return _fold_spaces(folded, range(len(folded)), range(1, len(folded) + 1))
    return _fold_spaces(*_fold_with_map(text))


def _fold_aligned(text: str) -> str | None:
    """The folded text if every character folds to exactly one, else None."""
    table = _character_table() if _HAN_CHARACTER.search(text) else _WIDTH_TABLE
    folded = text.translate(table)
    if _INVISIBLE.search(folded) or not unicodedata.is_normalized("NFKC", folded):
        return None
    lowered = folded.casefold()
    return lowered if len(lowered) == len(text) and unicodedata.is_normalized("NFKC", lowered) else None


@lru_cache(maxsize=65536)
def _fold_cluster(piece: str) -> str:
    """One character with its combining marks, folded; may be longer or empty."""
    if _INVISIBLE.match(piece):
        return ""
    table = _character_table() if _HAN_CHARACTER.match(piece) else _WIDTH_TABLE
    once = unicodedata.normalize("NFKC", piece.translate(table)).casefold()
    twice = unicodedata.normalize("NFKC", once).translate(table)
    return unicodedata.normalize("NFKC", _simplify(twice).casefold())


def _simplify(text: str) -> str:
    return text.translate(_character_table()) if _HAN_CHARACTER.search(text) else text


def _fold_with_map(text: str) -> tuple[str, list[int], list[int]]:
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    for piece in _CLUSTER.findall(text):
        folded, following = _fold_cluster(piece), at + len(piece)
        pieces.append(folded)
        starts.extend([at] * len(folded))
        ends.extend([following] * len(folded))
        at = following
    return "".join(pieces), starts, ends


def _fold_spaces(folded: str, starts: Sequence[int], ends: Sequence[int]) -> tuple[str, Offsets]:
    """Fold white space and keep the map."""
    words: list[str] = []
    kept_starts: list[int] = []
    kept_ends: list[int] = []
    previous = 0
    for match in _word_runs(folded):
        begin, stop = match
        if words:
            kept_starts.append(starts[previous])
            kept_ends.append(ends[begin - 1])
        words.append(folded[begin:stop])
        kept_starts.extend(starts[begin:stop])
        kept_ends.extend(ends[begin:stop])
        previous = stop
    return " ".join(words), Offsets(kept_starts, kept_ends)


def _word_runs(folded: str) -> Iterable[tuple[int, int]]:
    """The runs that ``str.split`` would give, with their offsets."""
    at = 0
    for word in folded.split():
        begin = folded.index(word, at)
        at = begin + len(word)
        yield begin, at


def _width_table() -> dict[int, str]:
    """Characters that fold one to one: full width forms, dashes, quotes, white space."""
    table = {0xFF01 + i: chr(0x21 + i) for i in range(94)}
    table.update(dict.fromkeys([0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2212], "-"))
    table.update(dict.fromkeys([0x201C, 0x201D, 0x201E, 0x301D, 0x301E], '"'))
    table.update(dict.fromkeys([0x2018, 0x2019, 0x201B, 0x02BC], "'"))
    table.update(dict.fromkeys([0x00A0, 0x3000, 0x2002, 0x2003, 0x2009, 0x202F], " "))
    table.update({0x301C: "~", 0xFFE5: "¥", 0x2044: "/", 0x2022: "·", 0x30FB: "·"})
    return table


_WIDTH_TABLE = _width_table()


@cache
def _character_table() -> dict[int, str]:
    """``_WIDTH_TABLE`` and, character by character, traditional → simplified.

    Character by character so that a substring of a text folds to a substring of the folded text.
    """
    import opencc

    blocks = [range(0x3400, 0x4DC0), range(0x4E00, 0xA000), range(0x20000, 0x2EBF0)]
    characters = [chr(code) for block in blocks for code in block]
    converted = opencc.OpenCC("t2s").convert("\n".join(characters)).split("\n")
    pairs = zip(characters, converted, strict=True)
    table = {ord(old): new for old, new in pairs if old != new and len(new) == 1}
    return _WIDTH_TABLE | table


def fold_surrogates(text: str) -> tuple[str, bool]:
    """``text`` with each lone surrogate replaced by U+FFFD, and whether there was one."""
    if text.isascii() or not _SURROGATE.search(text):
        return text, False
    return _SURROGATE.sub("\ufffd", text), True


# ---------------------------------------------------------------- language

_SCRIPTS = {
    "ja": re.compile(f"[{KANA}]"),
    "zh": _HAN_CHARACTER,
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

    Decided by script first (kana before Han, a Han character weighs as four Latin letters, more where the Latin words are
    no English sentence); Latin text of 20 letters or more goes to a small language model, shorter Latin text is ``"en"``.
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
    import py3langid

    words = " ".join(_LATIN_WORD.findall(sample))
    return str(py3langid.classify(words)[0])


_ENGLISH_CUES = frozenset(
    [
        "the",
        "is",
        "are",
        "was",
        "were",
        "of",
        "and",
        "to",
        "in",
        "for",
        "with",
        "that",
        "this",
        "what",
        "how",
        "when",
        "which",
        "does",
        "do",
        "can",
        "you",
        "not",
        "from",
        "have",
    ]
)


def _looks_english(sample: str) -> bool:
    """Whether at least a fifth of the words are English function words: no model is needed then."""
    found = _LATIN_WORD.findall(sample.lower())
    return sum(word in _ENGLISH_CUES for word in found) * 5 >= len(found)


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
    r"(?P<number>\d+(?:\.\d+)?)(?P<unit>[kmgt]i?b|[kmgt]bps|ms|min|hrs?|km|cm|mm|kg|mg|px|usd|eur|rmb|cny|[kmg]?hz|kwh|mah)",
    re.IGNORECASE,
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
    for word in _cut(run.translate(_character_table())):
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


def words_many(texts: Iterable[str]) -> list[list[str]]:
    """:func:`words` of each text, each distinct text worked out once."""
    known: dict[str, list[str]] = {}
    result = []
    for text in texts:
        found = known.get(text)
        if found is None:
            found = known[text] = words(text)
        result.append(found)
    return result


@cache
def stop_words() -> frozenset[str]:
    """English and Chinese function words, normalised. Negations and numbers are not among them."""
    source = resources.files(__package__).joinpath("stopwords.toml").read_text(encoding="utf-8")
    return frozenset(word for value in tomllib.loads(source).values() for word in value.split())


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
