"""What a sentence tells without saying it: a day's total of what is taken several times, and what follows a missed limit.

"Two tablets three times a day" bears out six tablets a day and no other number; "return it within two hours, otherwise 15
euros are due" bears out that 15 euros are due after more than two hours. The patterns are the ``reckoning`` of the
languages' ``polarity.toml``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

from workbench.data.text.normalise import HAN_CHARACTER
from workbench.data.text.quantities import Quantity, same_quantity
from workbench.evidence.offline.answer_values import clause_starts
from workbench.evidence.offline.grid import ClaimWords, quantities_of
from workbench.evidence.offline.lexicon import tables
from workbench.evidence.offline.words import FUNCTION, NUMBER, Analysis, analyse, run_of

#: Share, by rarity, of what follows a missed limit that a claim must tell.
_TOLD = 0.4


@dataclass(frozen=True, slots=True)
class _Words:
    """Patterns of one language: a period, a number of times in it, "each time", "otherwise", a negation."""

    period: re.Pattern[str]
    times: re.Pattern[str]
    each: re.Pattern[str]
    otherwise: re.Pattern[str]
    negates: re.Pattern[str]


def reckoned(claim: ClaimWords, question: Analysis, text: Analysis, sentence: int) -> bool | None:
    """Whether a sentence bears out what a claim says by reckoning or by an "otherwise"; None where it does not tell."""
    start, end = text.bounds[sentence].tolist()
    told = text.quantities[run_of(text.quantity_sentence, sentence)]
    mine = quantities_of(claim)
    if not told or not mine:
        return None
    said, there = claim.source.folded[claim.start : claim.end], text.folded[start:end]
    for words in _words():
        found = _total(words, mine, said, question.folded, told, there, start)
        found = _missed_limit(words, claim, mine, text, told, (start, end)) if found is None else found
        if found is not None:
            return found
    return None


def _total(
    words: _Words, mine: Sequence[Quantity], said: str, asked: str, told: Sequence[Quantity], there: str, start: int
) -> bool | None:
    """Whether the one number of a claim about a period is that of a time by the times in that period."""
    mine = [q for q in mine if q.kind != "duration"]
    if len(mine) != 1 or mine[0].kind != "number" or mine[0].unit is not None or mine[0].value is None:
        return None
    if words.each.search(said) or not (words.period.search(said) or words.period.search(asked)):
        return None
    if words.each.search(asked):
        return None
    times = [q for q in told if q.value is not None and _is_times(words, q, there, start)]
    amounts = [q for q in told if q.kind == "number" and q.unit is None and q.value is not None and q not in times]
    if len(times) != 1 or len(amounts) != 1 or words.each.search(times[0].text):
        return None
    total = (times[0].value or 0.0) * (amounts[0].value or 0.0)
    return math.isclose(total, mine[0].value, rel_tol=1e-9)


def _is_times(words: _Words, quantity: Quantity, there: str, start: int) -> bool:
    """Whether a number says how many times something happens in a period, which is named beside it."""
    low, high = quantity.start - start, quantity.end - start
    near = there[max(0, low - 4) : low] if HAN_CHARACTER.match(there, max(low - 1, 0)) else there[high : high + 12]
    return words.times.search(quantity.text) is not None and words.period.search(near) is not None


def _missed_limit(
    words: _Words, claim: ClaimWords, mine: Sequence[Quantity], text: Analysis, told: Sequence[Quantity],
    bounds: tuple[int, int],
) -> bool | None:  # fmt: skip
    """Whether the claim tells of a missed limit what the sentence says after "otherwise"; False where only one of the two is
    negative."""
    start, end = bounds
    match = words.otherwise.search(text.folded, start, end)
    if match is None:
        return None
    missed = [q for q in mine for limit in told if limit.end <= match.start() and _beyond(q, limit)]
    if not missed:
        return None
    after = [q for q in told if q.start >= match.end()]
    rest = [q for q in mine if q not in missed]
    if any(not any(same_quantity(q, other) for other in after) for q in rest):
        return None
    pieces = list(_pieces(claim))
    others = [piece for piece in pieces if not any(piece[0] <= q.start < piece[1] for q in missed)] or pieces
    said = " ".join(claim.source.folded[low:high] for low, high in others)
    words_after = text.words_between(match.end(), end)
    weights = [(at, float(text.weight[at])) for at in range(words_after.start, words_after.stop)
               if text.kind[at] not in (FUNCTION, NUMBER)]  # fmt: skip
    ids = frozenset(analyse(said).ids.tolist())
    held = sum(w * (1.0 if int(text.ids[at]) in ids else _stands(text, at, said)) for at, w in weights)
    if not weights or held < _TOLD * sum(w for _, w in weights):
        return None
    negative = [words.negates.search(part) is not None for part in (said, text.folded[match.end() : end])]
    return negative[0] == negative[1]


def _beyond(claimed: Quantity, limit: Quantity) -> bool:
    """Whether a quantity is what lies on the other side of a limit, also in another unit (half an hour, 30 minutes)."""
    upward = limit.cue in ("<", "<=") and claimed.cue in (">", ">=")
    downward = limit.cue in (">", ">=") and claimed.cue in ("<", "<=")
    if not (upward or downward) or claimed.value is None or limit.value is None:
        return False
    one, other = (replace(q, low=q.value or 0.0, high=q.value or 0.0, cue="") for q in (claimed, limit))
    return same_quantity(one, other)


def _pieces(claim: ClaimWords) -> Iterator[tuple[int, int]]:
    """Offsets of the clauses of a claim in its text."""
    cuts = [claim.start, *(at for at in clause_starts(claim.source.text) if claim.start < at < claim.end), claim.end]
    yield from pairwise(cuts)


def _stands(text: Analysis, at: int, said: str) -> float:
    """The share of the Han characters of a word that stand in what is said; 0 for other words."""
    word = text.folded[int(text.starts[at]) : int(text.ends[at])]
    return sum(one in said for one in word) / len(word) if HAN_CHARACTER.match(word) else 0.0


@cache
def _words() -> tuple[_Words, ...]:
    found = [table["reckoning"] for table in tables("polarity") if "reckoning" in table]
    return tuple(_Words(*(re.compile(t[name]) for name in ("period", "times", "each", "otherwise", "negates"))) for t in found)
