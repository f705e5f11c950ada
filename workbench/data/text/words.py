"""Recognising and cutting text of any known language.

Everything here works on plain strings. Offsets are always into the text as it was given. No function raises on any
string, lone surrogates and control characters included.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from workbench.data.text.normalise import (
    HAN,
    HANGUL,
    KANA,
    Offsets,
    Span,
    normalise,
    normalise_with_map,
    simplify,
    unspaced,
)
from workbench.language import Language, by_languages, languages
from workbench.steps import checkpoint

__all__ = [
    "HAN", "HANGUL", "KANA", "Offsets", "Span", "Token", "char_ngrams", "content_words", "language",
    "normalise", "normalise_with_map", "stem", "stop_words", "tokens", "word_list", "words", "written_in",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Token:
    """One word or identifier of an original text, ``text == original[start:end]``."""

    text: str
    start: int
    end: int


# ------------------------------------------------------------------------------
# Which language a text is in.


_LATIN_WORD = re.compile("[A-Za-zÀ-ɏ]+")
_KANA = re.compile(f"[{KANA}]")
#: Scripts of languages that have no folder, and how much a character weighs against a Latin letter.
_SCRIPTS = {
    code: (re.compile(f"[{ranges}]"), weight)
    for code, ranges, weight in (
        ("ko", HANGUL, 2), ("ru", "\u0400-\u04ff", 1), ("ar", "\u0600-\u06ff", 1), ("he", "\u0590-\u05ff", 1),
        ("th", "\u0e00-\u0e7f", 1), ("hi", "\u0900-\u097f", 1), ("el", "\u0370-\u03ff", 1),
    )
}  # fmt: skip


def language(text: str) -> str:
    """The language as an ISO 639-1 code, ``"other"`` where nothing tells it (no letters).

    Decided by script first (kana before Han; a character of a known language weighs as many Latin letters as its table
    says, more where the Latin words are no English sentence), then by the cue words of known languages; other Latin text of
    20 letters or more goes to a small language model, shorter one is English.
    """
    return _language(text[:2000])


@by_languages(maxsize=32768)
def _language(sample: str) -> str:
    known = languages()
    latin = sum(map(len, _LATIN_WORD.findall(sample)))
    if sample.isascii():
        return _latin_language(sample, latin)
    counts = {own.code: (len(own.script.findall(sample)), _weight(own)) for own in known if own.script}
    counts |= {code: (len(of.findall(sample)), weight) for code, (of, weight) in _SCRIPTS.items() if code not in counts}
    kana = len(_KANA.findall(sample))
    shared = sum(counts[own.code][0] for own in known if "ja" in own.facts.get("script_also_of", ()))
    if kana and kana * 5 >= shared and (shared + kana) * 2 >= latin:
        return "ja"
    name, (count, weight) = max(counts.items(), key=lambda item: item[1][0])
    if count and (count * weight >= latin or (count * 12 >= latin and _by_cues(sample) is None)):
        return name
    return _latin_language(sample, latin)


def _weight(own: Language) -> int:
    return int(own.table("words").get("weight", 1))


def _latin_language(sample: str, letters: int) -> str:
    if letters == 0:
        return "other"
    cued = _by_cues(sample)
    if cued is not None or letters < 20:
        return (cued or languages()[0]).code
    return str(_identifier().classify(" ".join(_LATIN_WORD.findall(sample)))[0])


def _by_cues(sample: str) -> Language | None:
    """The language in Latin script of whose cue words at least a fifth of the words are: no model is needed then."""
    found = _LATIN_WORD.findall(sample.lower())
    shares = [(sum(word in _cues(own) for word in found), own) for own in languages() if own.script is None]
    most, best = max(shares, key=lambda share: share[0])
    return best if most * 5 >= len(found) else None


@cache
def _cues(own: Language) -> frozenset[str]:
    return frozenset(own.table("words").get("cues", "").split())


@by_languages(maxsize=32768)
def written_in(text: str) -> Language:
    """The known language of a clause, by its script and cue words alone; English where nothing tells."""
    known = languages()
    latin = sum("a" <= c <= "z" or "A" <= c <= "Z" for c in text)
    for own in known:
        count = len(own.script.findall(text)) if own.script and not text.isascii() else 0
        if count and count * _weight(own) >= latin:
            return own
    if sum(own.script is None for own in known) == 1:
        return known[0]
    return _by_cues(text) or known[0]


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


# ------------------------------------------------------------------------------
# Words.


@by_languages(maxsize=8)
def _tokenizer() -> tuple[re.Pattern[str], dict[str, Language]]:
    """What finds tokens, and the names of its groups that are runs of characters without spaces, with their language."""
    own = {f"run{i}": one for i, one in enumerate(languages()) if one.script and not one.facts["spaced"]}
    runs = "".join(f"(?P<{name}>[{one.facts['script']}]+) | " for name, one in own.items())
    letters = rf"(?:[^\W{unspaced()}{KANA}][\u0300-\u036f]*)+"
    pattern = rf"""
      {runs}(?P<kana>[{KANA}]+)
    | (?P<url>https?://[^\s<>"'，。；、）】》」{unspaced()}]+)
    | (?P<path>(?<![\w/.])(?:/[A-Za-z_{{][A-Za-z0-9_.{{}}-]*)+)
    | (?P<flag>(?<!\S)--[A-Za-z][A-Za-z0-9-]*)
    | (?P<number>\d{{1,3}}(?:[,，]\d{{3}})+(?:\.\d+)?(?!\d))
    | (?P<sign>[A-Za-z]\+\+|[CF]\#(?!\w)|\.NET\b)
    | (?P<word>{letters}(?:['’]{letters})?(?:[-.\#:/@+‐–]{letters})*)
    """
    return re.compile(pattern, re.VERBOSE), own


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

    Runs of a language without spaces are segmented, other scripts give words, runs of kana stay whole. Identifiers are kept
    whole (``doc-a#1``, ``foo_bar``, ``v2.3.1``, ``ERR-1042``, ``/api/v1``, URLs, e-mail addresses); hyphenated plain
    words, number ranges and a number with its unit (``500GB``) are parted.
    """
    pattern, runs = _tokenizer()
    found: list[Token] = []
    for match in pattern.finditer(text):
        checkpoint()
        kind, start, piece = str(match.lastgroup), match.start(), match[0]
        if kind in runs:
            at = start
            for word in _cut(runs[kind], simplify(piece), text[start - 1 : start].isdigit()):
                found.append(Token(text[at : at + len(word)], at, at + len(word)))
                at += len(word)
        elif kind == "word":
            found.extend(_word_tokens(piece, start))
        else:
            piece = piece.rstrip(".,;:!?)") if kind == "url" else piece
            found.append(Token(piece, start, start + len(piece)))
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


def _cut(own: Language, run: str, counted: bool) -> Sequence[str]:
    """The words of a run of normalised characters; short runs repeat, so they are cached.

    ``counted``: whether digits stand right before it. A measure word is then a word of its own: the segmenter, which does
    not see the digits, would cut 25天年假 into 天年 and 假.
    """
    if len(run) == 1 or own.table("words").get("segmenter") != "jieba":
        return tuple(run)
    found = _cut_cached(run) if len(run) <= 64 else _segmenter()(run)
    if counted and len(found[0]) > 1 and run[0] in own.table("words")["measure"]:
        return (run[0], *_cut(own, run[1:], False))
    return found


def words(text: str) -> list[str]:
    """Normalised words for counting and ranking: :func:`tokens` of the normalised text, digit groups joined."""
    pattern, runs = _tokenizer()
    found: list[str] = []
    folded = normalise(text)
    for match in pattern.finditer(folded):
        kind, piece = str(match.lastgroup), match[0]
        if kind in runs:
            found.extend(_cut(runs[kind], piece, folded[match.start() - 1 : match.start()].isdigit()))
        elif kind == "word" and not piece.isalpha():
            found.extend(token.text for token in _word_tokens(piece, 0))
        else:
            found.append(piece.replace(",", "") if kind == "number" else piece)
    return found


@by_languages(maxsize=32)
def word_list(table: str, name: str) -> frozenset[str]:
    """The list ``name`` under ``[table]`` in ``words.toml`` of every language together."""
    return frozenset().union(*(own.table("words").get(table, {}).get(name, "").split() for own in languages()))


def stop_words() -> frozenset[str]:
    """Function words of every language, normalised. Negations and numbers are not among them."""
    return word_list("stop", "words")


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


# ------------------------------------------------------------------------------
# Stems of English words.


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

    Rules of our own after Porter's first steps: one ending is cut where at least three letters with a vowel remain;
    irregular forms are listed in ``words.toml``.
    """
    word = _irregular().get(word, word)
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


@by_languages(maxsize=8)
def _irregular() -> dict[str, str]:
    """Irregular form → plain form."""
    tables = (own.table("words").get("irregular", {}).get("words", "") for own in languages())
    lines = [verb.split() for table in tables for line in table.splitlines() for verb in line.split("|")]
    return {form: plain for plain, *forms in filter(None, lines) for form in forms}


def _tidy(root: str) -> str:
    """Undo doubled consonants and a final e, so that ``planned`` and ``plan``, ``used`` and ``use`` meet."""
    if len(root) > 3 and root[-1] == root[-2] and root[-1] not in "aeiouls":
        return root[:-1]
    return root[:-1] if root.endswith("e") and len(root) > 3 else root
