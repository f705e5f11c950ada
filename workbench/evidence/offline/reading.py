"""What of a sample is read together, and where what the reader says counts beside what words and numbers tell.

It counts where it is sure. On claims of human-labelled sets the two together are better than either; on answers in free
wording, where words tell nothing, most that is told is the reader's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.evidence.offline.answer_features import STATEMENT
from workbench.evidence.offline.answer_reading import read
from workbench.evidence.offline.features import claim_negations
from workbench.evidence.offline.reader import CLAIM_TOKENS, TEXT_TOKENS, Pair, fitting, tokens
from workbench.evidence.offline.words import NUMBER, is_han

if TYPE_CHECKING:
    from workbench.evidence.offline.examination import Examination

Floats = NDArray[Any]

#: Characters of a question that are needed to tell what is asked.
ASKS = 4
#: Support by words and numbers from which a claim is not read: what stays close to a text the reader doubts too often.
TOLD = 0.5
#: Share of the words of a claim and of a sentence, by their rarity, from which one repeats the other.
ALIKE = 0.75
#: From these probabilities on the reader is sure that a claim is borne out; the second for one with a number which is not
#: written so in any context or the question, of which it knows less. And that a claim is not borne out, if it has none such.
BORNE_OUT, NOT_BORNE_OUT = (0.6, 0.8), 0.7
#: From this one on a contradiction is named; and what is left of a claim that the contexts leave open.
NAMED, UNSURE = 0.9, 0.45
#: From this probability on, and up to what it leaves, the reader is sure whether a claim addresses the question.
ADDRESSED = 0.85
#: The same of whether an answer says what its reference says.
SAME = 0.9
#: How much a sentence that is near the question counts beside one that is near the claim.
OF_QUESTION = 0.5


def pairs(seen: Examination) -> dict[int, Pair]:
    """By number, the claims of the answer that are read, each with what all contexts together tell about it: not what words
    and numbers tell already, what repeats a sentence or is told in another script, nor what a narrow sign speaks against."""
    end = seen.n_contexts + len(seen.joints)
    if not end:
        return {}
    question = seen.question.text if len(seen.question.text) >= ASKS else ""
    borne_out = seen.by_words[0][:, :end]
    known = {number for number, at in seen.signs if at < end} | set(np.flatnonzero(borne_out.max(axis=1) >= TOLD).tolist())
    found = {}
    for number, span in enumerate(seen.spans):
        alike = seen.texts[int(np.argmax(borne_out[number]))].han == is_han(seen.claim_text(number))
        if span.side == "answer" and number not in known and alike and not _repeats(seen, number):
            found[number] = Pair(told(seen, number), question, seen.claim_text(number))
    return found


def told(seen: Examination, number: int) -> str:
    """The sentences of the contexts that tell most about a claim and the question, in order; all of them where they fit."""
    end = int(seen.grid.offsets[seen.n_contexts])
    near = seen.sentence_scores(number)[:end]
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


def join(seen: Examination, entail: Floats, contradict: Floats) -> tuple[Floats, Floats]:
    """(n, texts) each: how far each text bears out and denies each claim, with the reader's word where it is sure."""
    entail, contradict, end = entail.copy(), contradict.copy(), seen.n_contexts + len(seen.joints)
    for number, (borne_out, left_open, denied, *_) in seen.readings.items():
        otherwise = not _as_written(seen, number)
        best, against = int(np.argmax(entail[number, :end])), int(np.argmax(contradict[number, :end]))
        if borne_out >= BORNE_OUT[otherwise]:
            entail[number, best] = max(entail[number, best], (0.5 + borne_out) / 2)
            contradict[number, :end] = np.minimum(contradict[number, :end], 1.0 - borne_out)
        elif otherwise:
            continue
        elif denied >= NOT_BORNE_OUT:
            entail[number, :end] = np.minimum(entail[number, :end], 1.0 - denied)
            if denied >= NAMED:
                contradict[number, against] = max(contradict[number, against], denied)
        elif left_open >= NOT_BORNE_OUT:
            entail[number, :end] = np.minimum(entail[number, :end], UNSURE)
    return entail, contradict


def addressing(even: float, told: float) -> float:
    """The probability that an answer addresses its question, ``even`` by words and vectors, where the reader is sure of it."""
    return max(even, 0.5) if told >= ADDRESSED else min(even, 1.0 - ADDRESSED) if told <= 1.0 - ADDRESSED else even


def same(rules: float, told: float) -> float:
    """The probability that an answer makes the point of its reference, ``rules`` by words and numbers, where the reader is
    sure whether both say the same."""
    return max(rules, (0.5 + told) / 2) if told >= SAME else min(rules, 1.0 - SAME) if told <= 1.0 - SAME else rules


def _repeats(seen: Examination, number: int) -> bool:
    """Whether a claim has nearly the words of one sentence of the contexts, and no more, and as many negations."""
    claim = seen.claims[number]
    weights = dict(zip(claim.source.ids[claim.words].tolist(), claim.source.weight[claim.words].tolist(), strict=True))
    negations = len(claim_negations(claim))
    for at, text in enumerate(seen.texts[: seen.n_contexts]):
        for place, sentence in enumerate(seen.grid.read[at].tolist()):
            here = slice(*np.searchsorted(text.sentence, [sentence, sentence + 1]).tolist())  # words are in order
            told = dict(zip(text.ids[here].tolist(), text.weight[here].tolist(), strict=True))
            shared = sum(weight for word, weight in weights.items() if word in told)
            union = sum(weights.values()) + sum(weight for word, weight in told.items() if word not in weights)
            if shared >= ALIKE * union > 0 and seen.grid.negations[int(seen.grid.offsets[at]) + place] == negations:
                return True
    return False


def _as_written(seen: Examination, number: int) -> bool:
    """Whether all numbers of a claim stand, written alike, in the contexts or in the question."""
    claim = seen.claims[number]
    places = range(claim.words.start, claim.words.stop)
    wanted = {claim.source.word(at) for at in places if claim.source.kind[at] == NUMBER}
    texts = (*seen.texts[: seen.n_contexts], seen.question)
    return wanted <= {text.word(at) for text in texts for at in np.flatnonzero(text.kind == NUMBER).tolist()}
