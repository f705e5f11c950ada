"""What of a sample is read together, and how much it counts beside what words and numbers tell.

A logistic regression weighs both: on claims that stay close to a text words tell more, in free wording they tell nothing. What
words bear out, the reader can make unsure but no more; and a number that no text tells it cannot make supported.
"""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections.abc import Collection, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.evidence.offline import reader
from workbench.evidence.offline.answer_features import STATEMENT
from workbench.evidence.offline.answer_reading import read
from workbench.evidence.offline.claims import is_code
from workbench.evidence.offline.features import sentence_cover, untold
from workbench.evidence.offline.models import Logistic
from workbench.evidence.offline.reader import CLAIM_TOKENS, TEXT_TOKENS, Pair, fitting, tokens
from workbench.evidence.offline.words import NUMBER, is_han

if TYPE_CHECKING:
    from workbench.evidence.offline.examination import Examination

Floats = NDArray[Any]

#: Where the weights of :func:`joined` stand.
FILE = "joined.toml"
#: Characters of a question that are needed to tell what is asked.
ASKS = 4
#: Support by words and numbers, and share of a claim's words in one sentence, from which together a claim is not read: what
#: stays so close to a text words and numbers tell better than the reader.
TOLD, NEAR = 0.5, 0.8
#: What words, numbers and the reader tell of a claim: the log-odds that it is borne out by either (the second also times
#: whether there is a question), whether there is a question, whether a number of it is written so in no context nor in the
#: question, and the share of its words in one sentence, by itself and times the first.
FEATURES = ("words", "read", "asked_read", "asked", "rewritten", "near", "near_words")
#: Log-odds are bound to this, which is a probability of .99.
MOST = 4.6
#: From this probability on a claim that words do not bear out either is said to be denied.
NAMED = 0.9
#: Support by words from which the reader can make a claim unsure, but no more, and what is then left at least; and the most of
#: a claim with a number or code that no context tells, unsure as well: it knows little of how things are written.
HALF_TOLD, DOUBTED, UNTOLD = 0.4, 0.25, 0.45
#: The reader's probability from which such a claim is unsure, and the most of it up to there: invented details have numbers.
SURE, INVENTED = 0.8, 0.19
#: From this probability on, and up to what it leaves, the reader is sure whether a claim addresses the question.
ADDRESSED = 0.85
#: The same of whether an answer says what its reference says.
SAME = 0.9
#: How much a sentence that is near the question counts beside one that is near the claim.
OF_QUESTION = 0.5


def pairs(seen: Examination, near: bool = False) -> dict[int, Pair]:
    """By number, the claims of the answer that are read, each with what all contexts together tell about it: not what is told
    in another script, nor what a narrow sign speaks against or a rule settles, nor code or a bare yes or no; what stays close
    to a text only where ``near``."""
    end = seen.n_contexts + len(seen.joints)
    if not end or seen.answered:
        return {}
    borne_out = seen.by_words[0][:, :end]
    known = {number for number, at in seen.signs if at < end}
    known |= {number for number, told_by in seen.settled.items() if any(bears_out for bears_out, _ in told_by.values())}
    known |= {number for number, told_by in seen.cells.items() if told_by}
    found = {}
    for number, span in enumerate(seen.spans):
        best = int(np.argmax(borne_out[number]))
        alike = seen.texts[best].han == is_han(seen.claim_text(number))
        close = borne_out[number, best] >= TOLD and _near(seen, number) >= NEAR
        plain = number not in known and alike and not is_code(seen.claim_text(number))
        if span.side == "answer" and plain and (near or not close):
            found[number] = Pair(told(seen, [number]), _asked(seen), seen.claim_text(number))
    return found


def whole(seen: Examination, read: Collection[int]) -> list[Pair]:
    """The answer as one claim, where some of its several claims are read and it is short enough: who reads a sentence alone
    does not know whom or what it goes on about."""
    numbers = [number for number, span in enumerate(seen.spans) if span.side == "answer"]
    answer = seen.answer.text.strip() if seen.answer is not None else ""
    if len(numbers) < 2 or not read or tokens(answer) > CLAIM_TOKENS:
        return []
    return [Pair(told(seen, numbers), _asked(seen), answer)]


def _asked(seen: Examination) -> str:
    return seen.question.text if len(seen.question.text) >= ASKS else ""


def told(seen: Examination, numbers: Sequence[int]) -> str:
    """The sentences of the contexts that tell most about claims and the question, in order; all of them where they fit."""
    end = int(seen.grid.offsets[seen.n_contexts])
    near = np.max([seen.sentence_scores(number)[:end] for number in numbers], axis=0)
    if seen.rows[len(seen.claims)].n_words:
        near = near + OF_QUESTION * seen.sentence_scores(len(seen.claims))[:end]
    return fitting([_sentence(seen, at) for at in range(end)], near.tolist())


def with_reference(seen: Examination) -> list[Pair]:
    """The answer beside a reference that states something, where both are short enough to be read whole; else nothing: whether
    a mere name or value is given words tell better."""
    if seen.answer is None or seen.reference is None or len(read(seen.reference.text).words) < STATEMENT:
        return []
    answer, reference = seen.answer.text.strip(), seen.reference.text.strip()
    fits = tokens(answer) <= CLAIM_TOKENS and tokens(reference) <= TEXT_TOKENS
    return [Pair(reference, seen.question.text, answer)] if fits and answer else []


def _sentence(seen: Examination, at: int) -> str:
    text, sentence = seen.grid.locate(at)
    start, end = text.bounds[sentence].tolist()
    return text.text[start:end]


# ---------------------------------------------------------------- joined


def features(seen: Examination, number: int, read: Floats) -> tuple[float, ...]:
    """:data:`FEATURES` of a claim; ``read``: what the reader says of it."""
    words, said = _log_odds(seen.by_words[0][number, : seen.n_contexts + len(seen.joints)].max()), _log_odds(read[0])
    asked, near = float(bool(_asked(seen))), _near(seen, number)
    return words, said, asked * said, asked, float(not _as_written(seen, number)), near, near * words


@cache
def joined() -> Logistic:
    """How words and reader count together, as written by :mod:`workbench.training.joining`."""
    return Logistic.from_table(tomllib.loads(_file())["models"]["joined"])


@cache
def version() -> str:
    """Changes whenever the reader does, or how it counts."""
    return f"{reader.version()}.{hashlib.sha256(_file().encode()).hexdigest()[:4]}"


def _file() -> str:
    return resources.files(__package__).joinpath("coefficients", FILE).read_text(encoding="utf-8")


def join(seen: Examination, entail: Floats, contradict: Floats) -> tuple[Floats, Floats]:
    """(n, texts) each: how far each text bears out and denies each claim, by words and reader together."""
    entail, contradict, end = entail.copy(), contradict.copy(), seen.n_contexts + len(seen.joints)
    numbers = list(seen.readings)
    table = np.array([features(seen, number, seen.readings[number]) for number in numbers])
    for number, supported in zip(numbers, joined().probability(table, FEATURES).tolist(), strict=True):
        best, against = int(np.argmax(entail[number, :end])), int(np.argmax(contradict[number, :end]))
        words, (said, _, denied, *_) = float(entail[number, best]), seen.readings[number].tolist()
        if words >= HALF_TOLD:
            supported = max(supported, DOUBTED)
        elif untold(seen.grid, number, seen.question)[:end].all():
            supported = min(supported, UNTOLD if said >= SURE else max(words, INVENTED))
        entail[number, :end] = np.minimum(entail[number, :end], supported)
        entail[number, best] = supported
        contradict[number, :end] = np.minimum(contradict[number, :end], 1.0 - supported)
        if denied >= NAMED and supported < 0.5 and words < HALF_TOLD:
            contradict[number, against] = max(contradict[number, against], denied)
    return entail, contradict


def both(alone: Floats, within: Floats) -> Floats:
    """What the reader says of a claim, read ``alone`` and with the answer it stands ``within``: of the first three the
    geometric mean; whether it addresses the question the whole answer tells."""
    told = np.sqrt(np.maximum(alone[:3] * within[:3], 1e-12))
    return np.concatenate([told / told.sum(), within[3:]])


def _log_odds(probability: float) -> float:
    odds = math.log(max(probability, 1e-6) / max(1.0 - probability, 1e-6))
    return min(max(odds, -MOST), MOST)


def addressing(even: float, told: float) -> float:
    """The probability that an answer addresses its question, ``even`` by words and vectors, where the reader is sure of it."""
    return max(even, 0.5) if told >= ADDRESSED else min(even, 1.0 - ADDRESSED) if told <= 1.0 - ADDRESSED else even


def same(rules: float, told: float) -> float:
    """The probability that an answer makes the point of its reference, ``rules`` by words and numbers, where the reader is
    sure whether both say the same."""
    return max(rules, (0.5 + told) / 2) if told >= SAME else min(rules, 1.0 - SAME) if told <= 1.0 - SAME else rules


def _near(seen: Examination, number: int) -> float:
    """The largest share of a claim's words, by rarity, that one sentence of the contexts has."""
    cover = sentence_cover(seen.grid, number)[: int(seen.grid.offsets[seen.n_contexts])]
    return float(cover.max(initial=0.0))


def _as_written(seen: Examination, number: int) -> bool:
    """Whether all numbers of a claim stand, written alike, in the contexts or in the question."""
    claim = seen.claims[number]
    places = range(claim.words.start, claim.words.stop)
    wanted = {claim.source.word(at) for at in places if claim.source.kind[at] == NUMBER}
    texts = (*seen.texts[: seen.n_contexts], seen.question)
    return wanted <= {text.word(at) for text in texts for at in np.flatnonzero(text.kind == NUMBER).tolist()}
