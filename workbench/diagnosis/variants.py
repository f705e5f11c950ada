"""Other ways of writing one term, found by form alone: word forms, identifiers, abbreviations, shared characters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from workbench.data.normalising import HAN_RUN
from workbench.data.text import char_ngrams, content_words, stem

_IDENTIFIER_PART = re.compile(r"[a-z]+|\d+")
#: Smallest Dice coefficient of character pairs (single characters for Chinese) that makes a candidate.
SHARED = 0.5
#: Content words in one phrase of a document at most.
PHRASE = 2


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a missing term may be called in a document. ``score`` in (0, 1]; ``kind``: how it was found."""

    text: str
    score: float
    kind: str


def phrases(text: str) -> list[str]:
    """Content words of a text and runs of up to ``PHRASE`` neighbouring ones, each once, in order."""
    found = content_words(text)
    runs = [found[i : i + size] for size in range(1, PHRASE + 1) for i in range(len(found) - size + 1)]
    return list(dict.fromkeys(_join(run) for run in runs))


def _join(run: Sequence[str]) -> str:
    """Chinese words without, others with a space between."""
    joined = run[0]
    for before, word in pairwise(run):
        space = "" if HAN_RUN.fullmatch(before[-1]) and HAN_RUN.fullmatch(word[0]) else " "
        joined += space + word
    return joined


def by_form(term: str, options: Iterable[str]) -> list[Candidate]:
    """Which of ``options`` are ``term`` in another form, best first."""
    found = [candidate for option in options if (candidate := _related(term, option)) is not None]
    return sorted(found, key=lambda candidate: (-candidate.score, len(candidate.text), candidate.text))


def _related(term: str, option: str) -> Candidate | None:
    if option == term:
        return None
    single = " " not in option
    if single and stem(term) == stem(option):
        return Candidate(option, 0.98, "form")
    if _parts(term) == _parts(option) and len(_parts(term)) > 1:
        return Candidate(option, 0.97, "identifier")
    if _abbreviates(term, option) or _abbreviates(option, term):
        return Candidate(option, 0.9, "abbreviation")
    shared = _shared(term, option) if single else 0.0
    return Candidate(option, round(shared, 3), "characters") if shared >= SHARED else None


def _parts(term: str) -> list[str]:
    """Letters and digits of an identifier apart: ``e-3304`` and ``e3304`` → ``["e", "3304"]``."""
    return _IDENTIFIER_PART.findall(term)


def _abbreviates(short: str, long: str) -> bool:
    """Initials of the words of ``long``; or, for Chinese, its first character and others of it in order."""
    if HAN_RUN.fullmatch(short) and HAN_RUN.fullmatch(long):
        return 2 <= len(short) <= 4 and len(long) >= 2 * len(short) - 1 and _in_order(short, long)
    words = re.split(r"[\s-]+", long)
    return len(words) > 1 and short.isascii() and short == "".join(word[:1] for word in words)


def _in_order(short: str, long: str) -> bool:
    if short[0] != long[0] or long.startswith(short):
        return False
    rest = iter(long)
    return all(character in rest for character in short)


def _shared(term: str, option: str) -> float:
    """Dice coefficient of character pairs, of single characters where a term is Chinese."""
    if bool(HAN_RUN.fullmatch(term)) != bool(HAN_RUN.fullmatch(option)):
        return 0.0
    if any(character.isdigit() for character in term + option):
        return 0.0
    size = 1 if HAN_RUN.fullmatch(term) else 2
    mine, other = set(char_ngrams(term, size)), set(char_ngrams(option, size))
    return 2 * len(mine & other) / max(len(mine) + len(other), 1)
