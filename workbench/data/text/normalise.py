"""One form of text for matching: width, case, traditional or simplified, dashes, quotes and spaces made alike.

Offsets lead back to the text as it was given; normalised text is never shown. No function raises on any string.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from workbench.data.text.kept import kept
from workbench.language import by_languages, languages

KANA = "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"
HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"


@by_languages(maxsize=8)
def unspaced() -> str:
    """The characters of the known languages that part no words by spaces, as ranges of a regular expression."""
    own = (language.facts for language in languages() if language.script)
    return "".join(facts["script"] for facts in own if not facts["spaced"])


#: The same of the languages of the package, and one such character, a run of them.
HAN = unspaced()
HAN_CHARACTER = re.compile(f"[{HAN}]")
HAN_RUN = re.compile(f"[{HAN}]+")
#: What goes on a folded Latin word, letters with accents too ("Noël" holds no "no"), as ranges of a regular expression.
LATIN = "a-z0-9_\u00df-\u00f6\u00f8-\u024f"
#: Half of a character, which no file, frame or tokenizer takes.
SURROGATE = re.compile("[\ud800-\udfff]")
_ACCENTS = re.compile("[\u0300-\u036f]")
_MARK = "\u0300-\u036f\u3099\u309a"
_CLUSTER = re.compile(f"[^{_MARK}][{_MARK}]+|.", re.DOTALL)
#: Characters without marks of their own, to be folded at once; else one cluster.
_STRETCH = re.compile(f"([^{_MARK}]{{1,256}}(?![{_MARK}]))|{_CLUSTER.pattern}", re.DOTALL)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


@dataclass(frozen=True, slots=True)
class Span:
    """A piece ``[start, end)`` of an original text, and the text that stands there."""

    start: int
    end: int
    text: str


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


def normalise(text: str) -> str:
    """``text`` for matching: NFKC, case folded, traditional → simplified, dashes, quotes and white space unified.

    Invisible format characters are dropped, runs of white space become one space, ends are stripped. Idempotent.
    """
    return _normalise_cached(text) if len(text) <= 2000 else _normalise(text)


def _normalise(text: str) -> str:
    folded = _fold_aligned(text)
    return " ".join((_fold_with_map(text)[0] if folded is None else folded).split())


_normalise_cached = lru_cache(maxsize=32768)(_normalise)


def normalise_with_map(text: str) -> tuple[str, Offsets]:
    """``normalise(text)`` and the ``Offsets`` that lead from it back to ``text``."""
    return _mapped_before(text) if len(text) > 2000 else _mapped(text)


def _mapped(text: str) -> tuple[str, Offsets]:
    folded = _fold_aligned(text)
    if folded is not None:
        plain = " ".join(folded.split())
        if len(plain) == len(folded):
            return plain, Offsets()
        return _fold_spaces(folded, range(len(folded)), range(1, len(folded) + 1))
    return _fold_spaces(*_fold_with_map(text))


#: Several readers ask for the map of one long text, one after the other.
_mapped_before = kept(characters=2_000_000)(_mapped)


def _fold_aligned(text: str) -> str | None:
    """The folded text if every character folds to exactly one, else None."""
    if text.isascii():
        return text.lower()
    folded = text.translate(_character_table() if HAN_CHARACTER.search(text) else _WIDTH_TABLE)
    if _INVISIBLE.search(folded) or not unicodedata.is_normalized("NFKC", folded):
        return None
    lowered = folded.casefold()
    return lowered if len(lowered) == len(text) and unicodedata.is_normalized("NFKC", lowered) else None


@lru_cache(maxsize=65536)
def _fold_cluster(piece: str) -> str:
    """One character with its combining marks, folded; may be longer or empty."""
    if _INVISIBLE.match(piece):
        return ""
    table = _character_table() if HAN_CHARACTER.match(piece) else _WIDTH_TABLE
    once = unicodedata.normalize("NFKC", piece.translate(table)).casefold()
    twice = unicodedata.normalize("NFKC", once).translate(table)
    return unicodedata.normalize("NFKC", simplify(twice).casefold())


def simplify(text: str) -> str:
    """``text`` with each traditional character in its simplified form; as long as the text itself."""
    return text.translate(_character_table()) if HAN_CHARACTER.search(text) else text


def _fold_with_map(text: str) -> tuple[str, list[int], list[int]]:
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    for stretch in _STRETCH.finditer(text):
        whole = _fold_aligned(stretch[0]) if stretch[1] else None
        if whole is not None:
            pieces.append(whole)
            starts.extend(range(at, at + len(whole)))
            ends.extend(range(at + 1, at + 1 + len(whole)))
            at += len(whole)
            continue
        for piece in _CLUSTER.findall(stretch[0]):
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
    for begin, stop in _word_runs(folded):
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


#: Characters that fold one to one: full width forms, dashes, quotes, white space.
_WIDTH_TABLE = {
    **{0xFF01 + i: chr(0x21 + i) for i in range(94)},
    **dict.fromkeys([0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2212], "-"),
    **dict.fromkeys([0x201C, 0x201D, 0x201E, 0x301D, 0x301E], '"'),
    **dict.fromkeys([0x2018, 0x2019, 0x201B, 0x02BC], "'"),
    **dict.fromkeys([0x00A0, 0x3000, 0x2002, 0x2003, 0x2009, 0x202F], " "),
    **{0x301C: "~", 0xFFE5: "¥", 0x2044: "/", 0x2022: "·", 0x30FB: "·"},
}


@cache
def _character_table() -> dict[int, str]:
    """``_WIDTH_TABLE`` and the two written forms of a script made one (traditional → simplified).

    Character by character so that a substring of a text folds to a substring of the folded text.
    """
    table = dict(_WIDTH_TABLE)
    for forms in filter(None, (language.table("words").get("forms") for language in languages())):
        import opencc

        characters = [chr(code) for first, end in forms["ranges"] for code in range(first, end)]
        converted = opencc.OpenCC(forms["converter"]).convert("\n".join(characters)).split("\n")
        pairs = zip(characters, converted, strict=True)
        table |= {ord(old): new for old, new in pairs if old != new and len(new) == 1}
    return table


def scrub(text: str) -> str:
    """``text`` with lone surrogates replaced by U+FFFD: no file and no frame can hold them."""
    return text if text.isascii() or not SURROGATE.search(text) else SURROGATE.sub("\ufffd", text)


def scrubbed(value: Any) -> Any:
    """``value`` with every text in it scrubbed; the very same object where there is nothing to replace."""
    return _replaced(value) if _has_surrogate(value) else value


def _has_surrogate(value: Any) -> bool:
    if isinstance(value, str):
        return not value.isascii() and SURROGATE.search(value) is not None
    if isinstance(value, dict):
        return any(_has_surrogate(key) or _has_surrogate(part) for key, part in value.items())
    return isinstance(value, (list, tuple)) and any(map(_has_surrogate, value))


def _replaced(value: Any) -> Any:
    if isinstance(value, dict):
        return {_replaced(key): _replaced(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replaced(part) for part in value]
    return scrub(value) if isinstance(value, str) else value


def unaccented(folded: str) -> str:
    """A text without the accents of its letters, decomposed where it has any."""
    return folded if folded.isascii() else _ACCENTS.sub("", unicodedata.normalize("NFD", folded))
