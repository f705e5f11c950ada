"""What a claim leaves to somebody that a sentence lays down: whether a thing must be done, and when.

"Bags must be left in the cloakroom" is not borne out by "you may leave them there, but you don't have to", nor "until two
hours before" by "at any time". The words are the ``leeway`` of the languages' ``polarity.toml``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from workbench.data.text.normalise import HAN_CHARACTER
from workbench.evidence.offline.grid import ClaimWords
from workbench.evidence.offline.lexicon import tables
from workbench.evidence.offline.words import FUNCTION, NUMBER, Analysis, run_of

#: Share, by rarity, of a sentence that claim and question must speak of, and that of a sentence with an hour or a day in it.
_NAMED, _NAMED_TIME = 0.5, 0.4
#: How much a number of the sentence counts that they have.
_NUMBER = 0.5
#: Kinds of quantities that say when.
_WHEN = ("time", "duration", "date")


@dataclass(frozen=True, slots=True)
class _Words:
    """Patterns of one language: what must be, what need not be, whenever one likes, and what sets a limit in time."""

    duty: re.Pattern[str]
    free: re.Pattern[str]
    any_time: re.Pattern[str]
    limit: re.Pattern[str]

    def stance(self, text: str) -> int:
        """1 where a text says that something must be, -1 where it need not be, 0 where it says neither."""
        return -1 if self.free.search(text) else 1 if self.duty.search(text) else 0


def overrides(claim: ClaimWords, question: Analysis, text: Analysis, sentence: int) -> bool:
    """Whether a sentence lays down what a claim leaves open, or leaves open what the claim says must be."""
    start, end = text.bounds[sentence].tolist()
    said, there = claim.source.folded[claim.start : claim.end], text.folded[start:end]
    for words in _words():
        mine, theirs = words.stance(said), words.stance(there)
        if mine * theirs < 0 and _named(claim, question, text, sentence) >= _NAMED:
            return True
        if words.any_time.search(said) and words.limit.search(there) and not words.any_time.search(there):
            told = text.quantities[run_of(text.quantity_sentence, sentence)]
            if any(q.kind in _WHEN for q in told) and _named(claim, question, text, sentence) >= _NAMED_TIME:
                return True
    return False


def _named(claim: ClaimWords, question: Analysis, text: Analysis, sentence: int) -> float:
    """The share, by rarity, of a sentence's telling words that claim or question have."""
    known = {*claim.source.ids[claim.words].tolist(), *question.ids.tolist()}
    written = claim.source.folded[claim.start : claim.end] + question.folded
    words = text.words_between(*text.bounds[sentence].tolist())
    total = named = 0.0
    for at in range(words.start, words.stop):
        if text.kind[at] == FUNCTION:
            continue
        word = text.word(at)
        weight = float(text.weight[at]) if text.kind[at] != NUMBER else _NUMBER * (int(text.ids[at]) in known)
        total += weight
        named += weight * (int(text.ids[at]) in known or (HAN_CHARACTER.match(word) is not None and word in written))
    return named / total if total > 0 else 0.0


@cache
def _words() -> tuple[_Words, ...]:
    found = [table["leeway"] for table in tables("polarity") if "leeway" in table]
    return tuple(_Words(*(re.compile(each[name]) for name in ("duty", "free", "any_time", "limit"))) for each in found)
