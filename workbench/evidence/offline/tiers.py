"""Which of several conditions with a number holds for what is asked, and what is denied to those who ask.

"€70 for applicants aged 24 and over, €37.50 for those under 24": of a 20-year-old the first is not borne out. "Patients who
take blood thinners must not use ibuprofen": to somebody who takes them it is denied, whatever may be used otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from workbench.data.text.quantities import Quantity
from workbench.evidence.offline.grid import ClaimWords, quantities_of
from workbench.evidence.offline.polarity import read
from workbench.evidence.offline.words import FUNCTION, NUMBER, Analysis, run_of
from workbench.language import pattern

#: Rarity from which a word tells; the share, by rarity, of whom a sentence denies something that the question must name, and
#: of what it denies that the claim must name.
_TELLING, _NAMED, _MEANT = 0.3, 0.55, 0.5
_OVER, _UNDER = frozenset((">", ">=")), frozenset(("<", "<="))
#: Words after a negation that say what is denied.
_OBJECT = 3
#: Characters before and after a number without a unit in which an age is told.
_AROUND = 24


def of_another_tier(claim: ClaimWords, question: Analysis, text: Analysis, sentence: int) -> bool:
    """Whether a number of the question breaks a condition of the sentence that a claim rests on, and keeps that of another
    sentence of the text, while the claim does not speak of the condition itself."""
    mine = quantities_of(claim)
    for condition in _conditions(text, sentence):
        if any(condition.value is not None and one.value == condition.value for one in mine):
            continue
        for asked in question.quantities:
            if asked.value is None or not _alike(asked, question, condition, text) or _keeps(asked.value, condition):
                continue
            others = (other for at in range(len(text.bounds)) if at != sentence for other in _conditions(text, at))
            if any(_alike(asked, question, other, text) and _keeps(asked.value or 0.0, other) for other in others):
                return True
    return False


def of_the_opposite_tier(claim: ClaimWords, text: Analysis, sentence: int) -> bool:
    """Whether a claim gives the limit of one sentence of a text with what another says, the one it rests on, of the other side
    of that limit: "above 2,000, the line manager" where it is up to 2,000 that he approves."""
    mine = [q for q in quantities_of(claim) if q.cue in _OVER | _UNDER and q.value is not None]
    for one in mine:
        rivals = _UNDER if one.cue in _OVER else _OVER
        here = [q for q in _conditions(text, sentence) if q.value == one.value and q.unit == one.unit]
        if not here or any(q.cue not in rivals for q in here):
            continue
        for at in range(len(text.bounds)):
            same = (q for q in _conditions(text, at) if q.value == one.value and q.unit == one.unit and q.cue not in rivals)
            if at != sentence and any(same):
                return True
    return False


def _conditions(text: Analysis, sentence: int) -> Iterator[Quantity]:
    """The limits and ranges of a sentence."""
    for quantity in text.quantities[run_of(text.quantity_sentence, sentence)]:
        if quantity.low < quantity.high and quantity.cue != "~" and (quantity.cue or quantity.value is None):
            yield quantity


def _keeps(value: float, condition: Quantity) -> bool:
    if condition.cue in ("<", ">") and condition.value is not None:
        return value < condition.value if condition.cue == "<" else value > condition.value
    return condition.low <= value <= condition.high


def _alike(asked: Quantity, question: Analysis, condition: Quantity, text: Analysis) -> bool:
    """Whether two numbers measure the same: in one unit, or both an age."""
    if asked.unit == condition.unit and asked.unit is not None:
        return asked.kind == condition.kind
    ages = ("year", None)
    return asked.unit in ages and condition.unit in ages and _is_age(asked, question) and _is_age(condition, text)


def _is_age(quantity: Quantity, text: Analysis) -> bool:
    near = text.folded[max(0, quantity.start - _AROUND) : quantity.end + _AROUND]
    return math.isfinite(quantity.value or 0.0) and pattern("offline", "«age»").search(near) is not None


def denied_to_who_asks(claim: ClaimWords, question: Analysis, text: Analysis, sentence: int) -> bool:
    """Whether a sentence denies what a claim grants to those whom it names and of whom the question says that it is they."""
    found = read(text, sentence)
    source = claim.source
    mine = {int(number) for number in source.ids[claim.words]}
    own = read(source, int(source.sentence[claim.words.start])) if claim.n_words else None
    if own is None or own.operators:
        return False
    asked = set(question.ids.tolist())
    for operator in found.operators:
        scope = [at for at in operator.scope if text.kind[at] not in (FUNCTION, NUMBER)][:_OBJECT]
        others = [at for at in found.content if at not in operator.scope and at < operator.at and text.weight[at] > _TELLING]
        named = [at for at in others if int(text.ids[at]) in asked and int(text.ids[at]) not in mine]
        if operator.unless or len(named) < 2 or _weight(text, named) < _NAMED * _weight(text, others):
            continue
        meant = [at for at in scope if int(text.ids[at]) in mine and int(text.ids[at]) not in asked]
        if _weight(text, meant) >= _MEANT * _weight(text, scope) > 0:
            return True
    return False


def _weight(text: Analysis, words: Sequence[int]) -> float:
    return float(text.weight[list(words)].sum()) if words else 0.0
