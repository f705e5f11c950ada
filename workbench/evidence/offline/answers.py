"""Whether an answer makes the point of its reference, as a calibrated probability, from the texts alone.

An answer and one alternative of its reference are compared by some forty readable values: how much of what is *new* in
the reference (what the question does not say already) stands in the answer, word for word, alike, or as the same
quantity; what stands there instead; whether both say yes, both deny, both decline. A logistic model for each language
weighs them; its coefficients, with the figures that they were checked by, stand in ``answer_right.json`` and are
written by :mod:`workbench.training.answers`.

One alternative is enough: the probability of an answer is that of the alternative which fits it best, so a further
alternative never lowers it, and neither their order nor their number counts by itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.text.sentences import denied
from workbench.data.text.words import content_words, normalise
from workbench.evidence.offline.answer_features import AT, FEATURES, STATEMENT, compared
from workbench.evidence.offline.answer_parts import by_parts, lacks_value
from workbench.evidence.offline.answer_reading import (
    Reading,
    cleaned,
    declines_itself,
    is_han,
    is_negative,
    plain,
    read,
)
from workbench.evidence.offline.answer_values import one_within
from workbench.evidence.offline.grid import claim_words
from workbench.evidence.offline.relations import relate
from workbench.evidence.offline.words import NAME, analyse
from workbench.language import languages, pattern

#: What is said of an answer that tells one of the things that are asked and leaves out another.
LEFT_OUT = "part left out"
#: The last value says which weights count: a span is to be found, a statement to be told as a whole.
SHAPES = ("span", "statement")
#: The most that an answer without any number can reach where a number is asked for.
UNCOUNTED = 0.1
#: What is left where two parts of the reference have changed places, and the sentences of an answer that are looked at.
EXCHANGED, _SENTENCES = 0.1, 10

#: The most that an answer can reach which gives another identifier than the reference.
OTHER_IDENTIFIER = 0.2
#: The probability where any one value of a range is asked for and the answer gives one within.
WITHIN = 0.9

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class AnswerRight:
    """How likely an answer makes the point of its reference.

    ``probability`` in [0, 1]. ``alternative``: index of the alternative that fits best, −1 without any. ``reason``: what
    decided, one of ``makes the point``, ``declines alike``, ``answers where the reference declines``, ``declines``, ``other
    polarity``, ``denies``, ``other number``, ``other value`` (the number stands there for something else), ``opposite``,
    ``other name``, ``other word``, ``part missing``, ``part left out`` (one of several that are asked), ``differs``, ``no
    answer``, ``no reference``. ``close_call``: the probability lies in the band around one half that holds a tenth of the
    labelled pairs. ``features``: the values by name, of the best alternative.
    """

    probability: float
    alternative: int
    reason: str
    close_call: bool = False
    features: Mapping[str, float] = field(default_factory=dict)


def answer_right(question: str, answer: str | None, references: str | Sequence[str]) -> AnswerRight:
    """Whether ``answer`` makes the point of one of ``references``, given the ``question`` (may be empty).

    >>> answer_right("Who wrote Emma?", "It was written by Jane Austen.", ["Austen"]).probability > 0.5
    True
    """
    alternatives = [references] if isinstance(references, str) else list(references)
    usable = [i for i, alternative in enumerate(alternatives) if alternative and alternative.strip()]
    if not usable:
        return AnswerRight(0.0, -1, "no reference")
    said = cleaned(answer or "")
    if not re.search(r"\w", said):
        return AnswerRight(0.0, usable[0], "no answer")
    rows, owners = compared(question, said, [alternatives[i] for i in usable])
    model = coefficients(language_of(question, said))
    scores = model.probabilities(np.array(rows))
    left_out = [False] * len(owners)
    for row, owner in enumerate(owners):
        if rows[row][AT["squashed"]] >= 1 and scores[row] >= 0.5 and len(read(alternatives[usable[owner]]).words) < STATEMENT:
            continue  # a name word for word, or by its initials
        told = by_parts(
            question, said, alternatives[usable[owner]], float(scores[row]), partial(_told, question, said, model)
        )
        scores[row], left_out[row] = told.probability, told.left_out
    if pattern("offline", "«count»").search(normalise(question)):
        # Who is asked how many and gives none of the numbers has not answered, however much else is the same.
        table = np.array(rows)
        missing = table[:, [AT["number_wanted"], AT["number_missing"]]].min(axis=1) - table[:, AT["number_near"]] == 1.0
        scores = np.where(missing, np.minimum(scores, UNCOUNTED), scores)
    for row, owner in enumerate(owners):
        if lacks_value(question, said, alternatives[usable[owner]]):
            scores[row] = min(scores[row], UNCOUNTED)
        within = one_within(read(question), read(said), read(alternatives[usable[owner]]))
        scores[row] = scores[row] if within is None else WITHIN if within else 1 - WITHIN
        if _other_identifier(read(question), read(said), read(alternatives[usable[owner]])):
            scores[row] = min(scores[row], OTHER_IDENTIFIER)
        # "I could not find this" makes no point, where the reference is a word like "this" alone.
        if rows[row][AT["refused"]] > 0.5 and not content_words(alternatives[usable[owner]]):
            scores[row] = min(scores[row], 1 - rows[row][AT["refused"]])
    for row, owner in enumerate(owners):
        if scores[row] >= 0.5 and _exchanges(said, alternatives[usable[owner]]):
            scores[row] = EXCHANGED
    inner = _denied(said)
    if inner is not None:
        # Who denies what the reference says is as wrong as who says it would be right.
        for row, owner in enumerate(owners):
            reference = alternatives[usable[owner]]
            if not _denied(reference) and not declines_itself(reference) and not is_negative(plain(reference)):
                denied_part = model.probabilities(np.array(compared(question, inner, [reference])[0])).max()
                scores[row] = min(scores[row], 1 - denied_part)
    best = int(np.argmax(scores))
    probability = float(scores[best])
    low, high = close_band()
    values = dict(zip(FEATURES, rows[best], strict=True))
    reason = LEFT_OUT if probability < 0.5 and left_out[best] else _reason(values, probability)
    return AnswerRight(probability, usable[owners[best]], reason, low <= probability <= high, values)


def _other_identifier(asked: Reading, said: Reading, wanted: Reading) -> bool:
    """Whether an answer lacks an identifier with digits of a reference and has another of the same form instead."""
    codes = [{word for word, code in zip(text.words, text.code, strict=True) if code and re.search(r"\d", word)}
             for text in (wanted, said)]  # fmt: skip
    missing = {re.sub(r"\d+", "0", code) for code in codes[0] - codes[1] if not said.holds_squashed(re.sub(r"\W", "", code))}
    others = {re.sub(r"\d+", "0", code) for code in codes[1] - codes[0] if code not in asked.at}
    return bool(missing & others)


def _denied(text: str) -> str | None:
    """The statement that the first sentence of a text denies."""
    start, end = read(text).statements[0]
    found = denied(text.lower(), start, end)
    return None if found is None else text[slice(*found)]


def _told(question: str, said: str, model: Coefficients, part: str) -> float:
    """The probability that an answer makes the point of a part of its reference."""
    rows = np.array(compared(question, said, [part])[0])
    rows[:, [AT["asked_other"], AT["refused"]]] = 0.0  # the other values stand there as well, or are declined
    return float(model.probabilities(rows).max())


def _exchanges(said: str, reference: str) -> bool:
    """Whether a sentence of the answer says what the reference says with two names in each other's place (who sued whom)."""
    wanted, told = analyse(reference), analyse(said)
    names = [kind == NAME or reference[at].isupper() for kind, at in zip(wanted.kind, wanted.starts.tolist(), strict=True)]
    if len(wanted.bounds) != 1 or sum(names) < 2:
        return False
    claim = claim_words(wanted, 0, len(reference))
    pairs = (relate(claim, told, at).exchanged for at in range(min(len(told.bounds), _SENTENCES)))
    return any(all(any(names[slice(*part)]) for part in pair) for pair in pairs if pair is not None)


#: What is said of an answer that fails, by the first value that holds; the bound is what the value must exceed.
_REASONS = (
    ("declines_not", 0.5, "answers where the reference declines"), ("refused", 0.5, "declines"),
    ("polarity_differs", 0.5, "other polarity"), ("denial_differs", 0.5, "denies"), ("negated", 0.5, "denies"),
    ("number_other", 0.5, "other number"), ("asked_other", 0.5, "other value"),
    ("opposite", 0.5, "opposite"), ("name_other", 0.5, "other name"),
    ("substituted", 0.5, "other word"), ("recall", 0.25, "part missing"),
)  # fmt: skip


def _reason(values: Mapping[str, float], probability: float) -> str:
    if probability >= 0.5:
        return "declines alike" if values["declines_alike"] else "makes the point"
    return next((reason for name, bound, reason in _REASONS if values[name] > bound), "differs")


# ---------------------------------------------------------------- the model


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Two logistic models over :data:`FEATURES`, for spans and for statements: ``weights`` (2, n), ``intercepts`` (2,)."""

    weights: Floats
    intercepts: Floats

    def log_odds(self, rows: Floats) -> Floats:
        """(m,) log-odds of (m, n) rows."""
        shape = rows[:, -1].astype(np.int64)
        return np.einsum("ij,ij->i", rows, self.weights[shape]) + self.intercepts[shape]

    def probabilities(self, rows: Floats) -> Floats:
        """(m,) probabilities of (m, n) rows."""
        return 1 / (1 + np.exp(-np.clip(self.log_odds(rows), -30, 30)))


@cache
def _fitted() -> Mapping[str, Any]:
    return json.loads(resources.files(__package__).joinpath("answer_right.json").read_text(encoding="utf-8"))


@cache
def coefficients(language: str) -> Coefficients:
    """The models of a language, the English ones where it has none of its own."""
    models = _fitted()["models"]
    found = [models.get(language, models["en"])[shape] for shape in SHAPES]
    weights = np.array([[model["weights"][name] for name in FEATURES] for model in found])
    return Coefficients(weights, np.array([model["intercept"] for model in found]))


def close_band() -> tuple[float, float]:
    """The lowest and the highest probability that is a close call: a tenth of the labelled pairs lies between."""
    low, high = _fitted()["close_call"]
    return low, high


def language_of(question: str, answer: str) -> str:
    """Which model judges: that of the language without spaces where Han script prevails, else the English one."""
    unspaced = (item.code for item in languages() if not item.facts["spaced"])
    return next(unspaced, "en") if is_han(question + answer[:500]) else "en"
