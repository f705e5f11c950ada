"""One sample before the offline judge: its claims, its texts, and what each text says about each claim.

All texts of the sample (contexts, neighbouring chunks joined, reference, answer) are laid out in one grid, the claims
of both sides, the question and the whole reference are its rows; every figure is then a reduction of that grid.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.schema import Sample
from workbench.data.text.normalise import HAN_CHARACTER
from workbench.data.text.points import find_point
from workbench.data.text.quantities import Quantity
from workbench.data.text.sentences import denied
from workbench.data.text.words import Span
from workbench.evidence.offline import answer_reading
from workbench.evidence.offline.alignment import ALIGNMENT, Alignment, align, alignment_features
from workbench.evidence.offline.asked import points_asked
from workbench.evidence.offline.belonging import of_another
from workbench.evidence.offline.cells import CellVerdict, cell_verdict, tables_in
from workbench.evidence.offline.claims import ClaimSpan, bare_values, claims_of, is_code, joints
from workbench.evidence.offline.contradiction import Sign, contradictions
from workbench.evidence.offline.excerpts import Excerpt, excerpt
from workbench.evidence.offline.features import (
    LEXICAL,
    claim_negations,
    codes_of,
    holds_code,
    lexical_features,
    sentence_cover,
    untold,
)
from workbench.evidence.offline.granting import granted
from workbench.evidence.offline.grid import ClaimWords, Grid, Windows, claim_words, windows
from workbench.evidence.offline.lists import lists_in
from workbench.evidence.offline.models import Coefficients
from workbench.evidence.offline.reckoning import reckoned
from workbench.evidence.offline.relations import relate
from workbench.evidence.offline.vectors import TextVectors, sentence_vectors, vectors_of
from workbench.evidence.offline.words import DATES, FUNCTION, NAME, NUMBER, TERM, Analysis, Floats, Numbers, analyse

# ------------------------------------------------------------------------------


_COVER, _WORST, _EDITED, _PERSONAL = map(LEXICAL.index, ("word_cover", "worst_word", "edited", "personal"))

#: Words of claims times sentences of texts that are compared in full: some 80 MB.
CELLS = 8_000_000
#: Words of the question, and of the reference as a whole, that contexts are compared with.
WHOLE_WORDS = 512
#: What is said of claim and evidence in two scripts when no word can be compared and there are no token vectors.
UNKNOWN = 0.3
#: Across languages a probability is drawn to the middle of the unsure band, by this share of its distance.
UNSURE, WIDENED = 0.35, 0.7
#: The most that code or a formula is supported that does not stand in the text as it is, and a claim that repeats a sentence
#: but for a telling word: unsure. From which rarity of that word times the share of the sentence on: nobody calls a claim
#: supported that was made by exchanging a word; where less is repeated, people do in three of five (WiCE, BEGIN). And the
#: most that a word is there which tells.
CODE, EDITED, EXCHANGED = 0.45, 0.45, 0.4
#: From this alignment on the missing words are there in another spelling (licence, license).
SPELT_ALIKE = 0.95
#: A cell of a table that the claim names by row and column: how sure it is that it holds, or that it says otherwise.
CELL = 0.85
#: Contradiction where no sign shows, as a share of what support leaves.
BASE_RATE = 0.03
#: What is left of the support by a text that has at most a fifth of a claim's content words, by rarity.
UNTOUCHED = 0.3
#: What is left of the support by a text that has a number or code of the claim nowhere. People call 1 to 14 % of such claims
#: supported (CLAPnq, BEGIN, WiCE), however alike the rest is.
UNTOLD = 0.2
#: Support of a claim that the contexts tell in parts: all in one run but for words of the question, or in two runs; and how
#: far a word must stand in a sentence for that.
PARTS, PARTS_BROKEN, HELD = 0.7, 0.6, 0.6
#: How much words, by rarity, count beside character grams in what answer and reference tell of each other's claims; the share
#: of it that makes a claim, and how steeply that is so. Below the last a negation of one side alone is no chance.
WORDS_TOLD, MADE, TOLD_STEEP, NOTHING_SEEN = 0.75, 0.45, 8.0, 0.2
#: A sentence with this share of a question's words answers it by yes or no, and what is then said of a bare yes or no.
ASKED, ANSWERED = 0.6, 0.8
#: By how much a sentence must say more of the question, of its content by rarity, than those with the value of a bare answer
#: for the answer to be unsure, to be contradicted, and how far it is then. Of 155 right numbers of XQuAD (a third of its
#: questions that these were not chosen on) 3 are unsure, of 440 others of the same paragraph 92 are and 184 contradicted.
SAYS_LESS, SAYS_LITTLE, OTHER_VALUE = 0.2, 0.4, 0.6
#: How sure it is that a value is another thing's which stands beside that thing in the same sentence; the share of a claim
#: from which a sentence is about it, by how much less another may hold, and how many are looked at.
OF_ANOTHER, ABOUT, AS_MUCH, SENTENCES = 0.8, 0.4, 0.1, 4
#: How sure is what a sentence settles (:attr:`Examination.settled`).
SETTLED = 0.8
#: Rarity of the words that such a claim may have beside, "year" or "ahead", and their share of its rarity.
COMMON, COMMON_SHARE = 0.6, 0.12
#: Rarity from which a word of the question that the answer lacks tells what was asked.
KEY = 0.2
#: Rarity from which a word that two contexts share links them.
LINKING = 0.5
#: Rarity from which a word tells which thing of a list is meant.
LISTED = 0.4
#: Support of a bare value that stands in a text, and that does not.
VALUE_FOUND, VALUE_ABSENT = 0.95, 0.03


def _widened(probability: Floats) -> Floats:
    """Drawn towards the unsure band: across languages only the alignment speaks, and it cannot see small changes."""
    return (UNSURE + WIDENED * (probability - UNSURE)).astype(np.float32)


def _has_han(claim: ClaimWords) -> bool:
    return HAN_CHARACTER.search(claim.source.text, claim.start, claim.end) is not None


class Examination:
    """One sample laid out. ``n`` claims, ``T`` contexts, ``w`` windows over all texts.

    Parameters
    ----------
    passages, queries
        Vectors of the sample's texts by text; empty without an encoder.
    declined
        Parts of the answer that decline.
    """

    def __init__(
        self,
        sample: Sample,
        coefficients: Coefficients,
        passages: Mapping[str, TextVectors],
        queries: Mapping[str, TextVectors],
        declined: Sequence[Span] = (),
    ) -> None:
        self.sample, self.coefficients = sample, coefficients
        self.passages, self.queries = passages, queries
        #: Whether the question and the whole reference are related to the texts like claims; training asks for that.
        self.relates_all = False
        self.contexts = sample.contexts or ()
        self.joints = joints(self.contexts)
        answer, self.answer_capped = claims_of(sample.answer, "answer", declined)
        reference, self.reference_capped = claims_of(sample.reference, "reference")
        self.answer = analyse(sample.answer) if sample.answer else None
        self.reference = analyse(sample.reference) if sample.reference else None
        self.question = analyse(sample.question)
        if self.answer is not None and self.answered and not answer:
            answer = [ClaimSpan("answer", 0, len(self.answer.text), 0)]
        self.spans = [*answer, *reference]
        self.texts = self._texts()
        #: For each claim the statement that it denies, which is what is looked for then, or None.
        self.denied = [denied(self._source(span).folded, span.start, span.end) for span in self.spans]
        places = [inner or (span.start, span.end) for span, inner in zip(self.spans, self.denied, strict=True)]
        self.claims = [claim_words(self._source(s), *at) for s, at in zip(self.spans, places, strict=True)]

    def _texts(self) -> list[Analysis]:
        """Contexts, joints, then the reference and the answer where there are any."""
        own = [text for text in (self.reference, self.answer) if text is not None]
        return [*(analyse(c.text) for c in self.contexts), *(analyse(j.text) for j in self.joints), *own]

    def _source(self, span: ClaimSpan) -> Analysis:
        source = self.answer if span.side == "answer" else self.reference
        assert source is not None
        return source

    # -- where the texts are ---------------------------------------------------------------------------------

    @property
    def n_contexts(self) -> int:
        """T."""
        return len(self.contexts)

    @cached_property
    def reference_at(self) -> int:
        """Number of the reference among the texts, -1 without one."""
        return -1 if self.reference is None else len(self.contexts) + len(self.joints)

    @cached_property
    def answer_at(self) -> int:
        """Number of the answer among the texts, -1 without one."""
        return -1 if self.answer is None else len(self.texts) - 1

    # -- the grid --------------------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> list[ClaimWords]:
        """The claims, then the question, then the whole reference where there is one."""
        whole = [self.question] + ([self.reference] if self.reference is not None else [])
        ends = [len(t.text) if len(t.ids) <= WHOLE_WORDS else int(t.ends[WHOLE_WORDS - 1]) for t in whole]
        return [*self.claims, *(claim_words(text, 0, end) for text, end in zip(whole, ends, strict=True))]

    @cached_property
    def grid(self) -> Grid:
        """All rows against all texts."""
        # All sentences are compared by their words, but where that would be too many only those that are read.
        cells = sum(row.n_words for row in self.rows) * sum(len(text.bounds) for text in self.texts)
        read = [None if some is None or cells <= CELLS else some.sentences for some in self.excerpts]
        found = Grid(self.rows, self.texts, read, self.question, len(self.contexts) + len(self.joints))
        found.n_related = len(self.rows) if self.relates_all else len(self.claims)
        return found

    @cached_property
    def windows(self) -> Windows:
        """Windows over all texts."""
        return windows(self.texts, read=self.grid.read)

    @cached_property
    def excerpts(self) -> list[Excerpt | None]:
        """What is read of each text, None for all of it. Answer and reference are read as a whole."""
        own = (self.reference_at, self.answer_at)
        return [None if at in own else excerpt(text, self.rows) for at, text in enumerate(self.texts)]

    @cached_property
    def lexical(self) -> Floats:
        """(n + 1 or 2, w, len(LEXICAL)): claims, question, reference."""
        return lexical_features(self.grid, self.windows)

    @cached_property
    def alignment(self) -> Alignment | None:
        """Token alignment of all rows, None where the coefficients use none."""
        if not self.coefficients.uses_tokens:
            return None
        mine = [self._words(row.source)[row.words] for row in self.rows]
        return align(self.grid, mine, [self._words_read(at) for at in range(len(self.texts))], self.read)

    @cached_property
    def read(self) -> NDArray[np.bool_]:
        """(s,) the sentences of the grid that are read: whose words have vectors."""
        found = np.ones(self.grid.n_sentences, dtype=bool)
        for at, some in enumerate(self.excerpts):
            if some is not None:
                here = slice(*self.grid.offsets[at : at + 2].tolist())
                found[here] = np.isin(self.grid.read[at], some.sentences)
        return found

    @property
    def long_contexts(self) -> list[str]:
        """The contexts that are read in parts."""
        return [context.text for context, some in zip(self.contexts, self.excerpts, strict=False) if some is not None]

    def read_pieces(self, pieces: Mapping[str, TextVectors], wholes: Mapping[str, Floats]) -> None:
        """Take the vectors of what is read of the long texts from those of its pieces, and their own from ``wholes`` (joints
        need none); without pieces they have none."""
        if pieces:
            long = [some for some in self.excerpts if some is not None]
            read = {s.text.text: vectors_of(s, pieces, wholes.get(s.text.text, np.empty(0))) for s in long}
            self.passages = {**self.passages, **read}

    def _words_read(self, at: int) -> Floats:
        """Vectors of the words of a text that are read."""
        words, text, some = self._words(self.texts[at]), self.texts[at], self.excerpts[at]
        return words if some is None or len(words) < len(text.ids) else words[np.isin(text.sentence, some.sentences)]

    def _words(self, text: Analysis) -> Floats:
        known = self.queries if text is self.question else self.passages
        words = known[text.text].words
        assert words is not None
        return words

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the last axis of :attr:`features` holds."""
        return (*LEXICAL, *ALIGNMENT) if self.alignment is not None else LEXICAL

    @cached_property
    def features(self) -> Floats:
        """(rows, w, f)."""
        if self.alignment is None:
            return self.lexical
        return np.concatenate([self.lexical, alignment_features(self.grid, self.alignment, self.windows)], axis=2)

    # -- support ---------------------------------------------------------------------------------------------

    @cached_property
    def window_support(self) -> Floats:
        """(n, w) probability that a window supports a claim."""
        features = self.features[: len(self.claims)]
        models = self.coefficients.models
        result = models["support"].probability(features, self.names)
        # Function words make nothing likely.
        telling = np.array([bool((c.source.weight[c.words] > 0).any()) for c in self.claims], dtype=bool)
        untouched = telling[:, None] & (features[..., _COVER] <= 0.2)
        result = np.where(untouched, UNTOUCHED * result, result)
        # Where a telling word is missing in a context and the claim repeats the rest, another thing was meant, perhaps: not
        # sure. A reference or an answer may simply say less.
        other = (features[..., _EDITED] >= EDITED) & (features[..., _WORST] <= EXCHANGED) & (result >= 0.5) & (result < 0.75)
        other &= self.windows.owner < self.n_contexts + len(self.joints)
        if "missing_alignment" in self.names:
            other &= features[..., self.names.index("missing_alignment")] < SPELT_ALIKE
        result = np.where(other, CODE, result)
        across = self._across_scripts()
        if across.any():
            other = np.full_like(result, UNKNOWN)
            if self.alignment is not None and "support_across" in models:
                other = _widened(models["support_across"].probability(features, self.names))
            result = np.where(across, other, result)
        return result

    def _across_scripts(self) -> NDArray[np.bool_]:
        """(n, w) whether claim and window are in different scripts, so that words cannot be compared.

        A claim of both scripts ("set client_id" in Chinese) can be compared with a text in Han script.
        """
        mine = np.array([claim.source.han for claim in self.claims], dtype=bool)
        mixed = np.array([_has_han(claim) for claim in self.claims], dtype=bool)
        theirs = np.array([text.han for text in self.texts], dtype=bool)[self.windows.owner]
        return (mine[:, None] != theirs[None, :]) & ~(mixed[:, None] & theirs[None, :])

    @cached_property
    def signs(self) -> dict[tuple[int, int], Sign]:
        """The strongest sign of contradiction for each (claim, text) that has one."""
        found: dict[tuple[int, int], Sign] = {}
        for number in range(len(self.claims)):
            if self.spans[number].value:
                continue
            for sentence, sign in contradictions(self.grid, number):
                key = (number, int(self.grid.owners(sentence)))
                if key not in found or sign.probability > found[key].probability:
                    found[key] = sign
            for others in (self.other_values, self.of_another):
                if number in others:
                    at, sign = others[number]
                    found.setdefault((number, at), sign)
            for at, verdict in self.cells.get(number, {}).items():
                if verdict.agrees:
                    found.pop((number, at), None)
                else:
                    found[number, at] = Sign(CELL, "cell", verdict.claimed, verdict.found)
            for at, bears_out in self.settled.get(number, {}).items():
                if bears_out:
                    found.pop((number, at), None)
                else:
                    found.setdefault((number, at), Sign(SETTLED, "settled", self.claim_text(number)[:80], ""))
        return found

    @cached_property
    def near_question(self) -> Floats:
        """(sentences of the contexts,) how much each says of the question, or the one before that it leans on."""
        end = int(self.grid.offsets[self.n_contexts])
        asked = sentence_cover(self.grid, len(self.claims))[:end]
        return np.maximum(asked, 0.8 * np.where(self.grid.leaning[:end], np.roll(asked, 1), 0.0))

    @cached_property
    def other_values(self) -> dict[int, tuple[int, Sign]]:
        """The claims of the answer that say a value and nothing beside it, where the contexts have it only in sentences that
        say much less of the question than one with another value of its kind ("until 6 p.m." of a Thursday on which it is
        9 p.m.): the context of the other value, and the sign."""
        end = int(self.grid.offsets[self.n_contexts])
        alone = [n for n, span in enumerate(self.spans) if span.side == "answer" and not span.value] if end else []
        asked = Numbers((quantity, 0) for quantity in self.question.quantities)
        found: dict[int, tuple[int, Sign]] = {}
        for number in alone:
            if self._of_some_question(number):
                continue
            rows = self.grid.rows[number]
            stated = [one for one in self.grid.stated if rows.start <= one.rows.start < rows.stop]
            values = [one.quantity for one in stated]
            if not 1 <= len(values) <= 2 or any(map(asked.holding, values)):
                continue
            here = np.logical_and.reduce([one.sentences[:end] for one in stated])
            beside = self._beside_values(number, values)
            if not here.any() or len(beside) > 1:
                continue
            best, other = max(
                ((float(self.near_question[at]), (at, told)) for at, told in self._others_like(values[0], asked)
                 if not any(one.sentences[at] for one in stated) and (self.grid.present[beside, at] >= HELD).all()),
                key=lambda pair: pair[0], default=(0.0, None),
            )  # fmt: skip
            gap = best - float(self.near_question[here].max())
            if other is not None and gap >= SAYS_LESS:
                text = int(self.grid.owners(other[0]))
                probability = OTHER_VALUE if gap >= SAYS_LITTLE else UNSURE
                found[number] = text, Sign(probability, "number", values[0].text, other[1].text)
        return found

    def _of_some_question(self, number: int) -> bool:
        """Whether a claim is a bare value and several things are asked: which of them it answers is not known."""
        return points_asked(self.question.text) > 1 and bool(bare_values(self.claim_text(number)))

    @cached_property
    def of_another(self) -> dict[int, tuple[int, Sign]]:
        """The claims of the answer of which the contexts have a value for something else in the same sentence: the context,
        and the sign."""
        end = int(self.grid.offsets[self.n_contexts])
        found: dict[int, tuple[int, Sign]] = {}
        for number in [n for n, span in enumerate(self.spans) if span.side == "answer" and not span.value] if end else []:
            cover = sentence_cover(self.grid, number)[:end]
            best = float(cover.max(initial=0.0))
            if best < ABOUT or len(claim_negations(self.claims[number])) or self._of_some_question(number):
                continue
            near = np.flatnonzero(cover >= best - AS_MUCH)[:SENTENCES].tolist()
            pairs = [of_another(self.claims[number], self.question, *self.grid.locate(sentence)) for sentence in near]
            told = [pair for pair in pairs if pair is not None]
            if len(told) == len(near):
                at = int(self.grid.owners(near[0]))
                found[number] = at, Sign(OF_ANOTHER, "pairing", *told[0])
        return found

    def _beside_values(self, number: int, values: Sequence[Quantity]) -> list[int]:
        """The rows of the telling words of a claim that are no part of its values and that the question does not have."""
        claim, first = self.claims[number], self.grid.rows[number].start
        source, asked = claim.source, frozenset(self.question.ids.tolist())
        found = []
        for row, at in enumerate(range(claim.words.start, claim.words.stop), first):
            start, end = int(source.starts[at]), int(source.ends[at])
            glued = HAN_CHARACTER.match(source.folded, start) is not None and source.folded[start:end] in self.question.folded
            known = int(source.ids[at]) in asked or glued or any(q.wide[0] <= start < q.wide[1] for q in values)
            if source.weight[at] > KEY and not known:
                found.append(row)
        return found

    def _others_like(self, value: Quantity, asked: Numbers) -> Iterator[tuple[int, Quantity]]:
        """(sentence, quantity) of the contexts' quantities of the kind of a value that the question does not have."""
        for owner, text in enumerate(self.texts[: self.n_contexts]):
            for quantity, sentence in zip(text.quantities, text.quantity_sentence.tolist(), strict=True):
                alike = quantity.kind == value.kind and (quantity.unit == value.unit or value.kind in DATES)
                if alike and not asked.holding(quantity) and (at := self.grid.column(owner, sentence)) >= 0:
                    yield at, quantity

    @cached_property
    def cells(self) -> dict[int, dict[int, CellVerdict]]:
        """For each claim that denies nothing what the tables of the texts say about it, by text."""
        tabled = [at for at in range(self.n_contexts) if tables_in(self.texts[at].text)]
        plain = [n for n in range(len(self.claims)) if not self.spans[n].value and not len(claim_negations(self.claims[n]))]
        found = {n: {at: cell_verdict(self.claim_text(n), self.texts[at].text) for at in tabled} for n in plain if tabled}
        return {n: {at: told for at, told in some.items() if told is not None} for n, some in found.items()}

    @cached_property
    def settled(self) -> dict[int, dict[int, bool]]:
        """The claims of the answer that a context settles by what it grants or refuses, by a total, or by an "otherwise":
        whether it bears the claim out, by context."""
        found: dict[int, dict[int, bool]] = {}
        for number in [n for n, span in enumerate(self.spans) if span.side == "answer" and not span.value]:
            about = np.maximum(sentence_cover(self.grid, number)[: len(self.near_question)], self.near_question)
            for at in range(self.n_contexts):
                low, high = self.grid.offsets[at : at + 2].tolist()
                nearest = [low + place for place in np.argsort(-about[low:high])[:SENTENCES].tolist()]
                for sentence in nearest:
                    place = (self.claims[number], self.question, *self.grid.locate(sentence))
                    told = granted(*place)
                    told = reckoned(*place) if told is None else told
                    if told is not None:
                        found.setdefault(number, {})[at] = told
                        break
        return found

    @cached_property
    def by_text(self) -> tuple[Floats, Floats]:
        """(n, texts) entailment and contradiction."""
        shape = (len(self.claims), len(self.texts))
        entail = np.zeros(shape, dtype=np.float32)
        if self.claims and len(self.windows):
            firsts = np.flatnonzero(np.diff(self.windows.owner, prepend=-1))
            entail[:, self.windows.owner[firsts]] = np.maximum.reduceat(self.window_support, firsts, axis=1)
        for number in range(len(self.claims)):
            lacking = untold(self.grid, number, self.question)
            entail[number, lacking] *= UNTOLD
            self._on_the_whole(number, entail[number], lacking)
            entail[number] = self._at_most_unsure(number, entail[number])
            self._each_listed(number, entail[number])
            self._counted(number, entail[number])
            self._in_parts(number, entail[number])
            if number in self.other_values:
                among = slice(self.n_contexts + len(self.joints))
                entail[number, among] = np.minimum(entail[number, among], UNSURE)
            for at, verdict in self.cells.get(number, {}).items():
                if verdict.agrees and entail[number, at] >= CODE:
                    entail[number, at] = max(entail[number, at], CELL)
            for at, bears_out in self.settled.get(number, {}).items():
                if bears_out:
                    entail[number, at] = max(entail[number, at], SETTLED)
        self._values(entail)
        contradict = BASE_RATE * (1.0 - entail)
        self._bare_yes_or_no(entail, contradict)
        for (claim, text), sign in self.signs.items():
            contradict[claim, text] = sign.probability
            entail[claim, text] = min(entail[claim, text], 1.0 - sign.probability)
        for number, inner in enumerate(self.denied):
            if inner is not None:
                told, refuted = entail[number].copy(), contradict[number].copy()
                contradict[number] = np.where(told >= 0.5, told, BASE_RATE)
                entail[number] = np.where(refuted >= 0.5, refuted, np.where(told >= 0.5, 1.0 - told, UNSURE))
                whole = self.claim_text(number).strip(" .。!！").lower()
                alike = np.array([whole in text.folded for text in self.texts], dtype=bool)
                entail[number, alike], contradict[number, alike] = VALUE_FOUND, 0.0
        return entail, contradict.astype(np.float32)

    def _on_the_whole(self, number: int, entail: Floats, lacking: NDArray[np.bool_]) -> None:
        """Raise the support (in place) of a claim of the answer by the reference, and the other way, by how much of what it
        says beyond the question is told anywhere there: of two texts about one thing each tells it in sentences of its own.

        Not where a number or code of it is told nowhere, nor where only one side is negative and support sees nothing.
        """
        claim, rows = self.claims[number], self.grid.rows[number]
        at = self.reference_at if self.spans[number].side == "answer" else self.answer_at
        weight = self.grid.weight[rows]
        if at < 0 or lacking[at] or not weight.any():
            return
        there = slice(*self.grid.offsets[at : at + 2].tolist())
        new = weight * ~np.isin(self.grid.ids[rows], self.question.ids)
        new = new if new.sum() > LINKING / 2 else weight
        words = float(new @ self.grid.present[rows][:, there].max(axis=1, initial=0.0)) / float(new.sum())
        grams = self.grid.gram_present[self.grid.gram_rows[number]][:, there].max(axis=1, initial=0.0)
        told = WORDS_TOLD * words + (1 - WORDS_TOLD) * float(grams.mean() if len(grams) else words)
        best = there.start + int(np.argmax(sentence_cover(self.grid, number)[there])) if there.stop > there.start else -1
        flipped = best >= 0 and (len(claim_negations(claim)) > 0) != bool(self.grid.negations[best])
        if told >= MADE and not (flipped and entail[at] < NOTHING_SEEN):
            entail[at] = max(entail[at], 1 / (1 + math.exp(-TOLD_STEEP * (told - MADE))))

    def _each_listed(self, number: int, entail: Floats) -> None:
        """A claim of the answer that lists things is at most unsure (in place) by a text that lists things too and lacks the
        telling words of one of them: each thing is stated by itself."""
        claim, rows = self.claims[number], self.grid.rows[number]
        lists = [items for items in lists_in(self.claim_text(number)) if len(items) > 2]
        if self.spans[number].side != "answer" or not lists:
            return
        first, source = claim.words.start, claim.source
        telling = self.grid.weight[rows] > LISTED
        things = []
        for items in lists:
            for start, end in items[1:]:
                at = source.words_between(claim.start + start, claim.start + end)
                own = np.arange(max(at.start, first), min(at.stop, claim.words.stop)) - first
                named = own[telling[own]]
                # The last thing of a list is named before what is said of it: up to a function word.
                after = own[(self.grid.kind[rows][own] == FUNCTION) & (own > named[:1].min(initial=len(telling)))]
                things.append(named[named < after.min(initial=len(telling))])
        for text in np.flatnonzero(entail[: self.n_contexts + len(self.joints)] >= 0.5).tolist():
            there = slice(*self.grid.offsets[text : text + 2].tolist())
            best = self.grid.present[rows][:, there].max(axis=1, initial=0.0)
            if any(len(own) and best[own].max() < HELD for own in things):
                entail[text] = CODE

    def _counted(self, number: int, entail: Floats) -> None:
        """Raise the support (in place) of a claim that says nothing beyond the question but a number which is worked out."""
        rows = self.grid.rows[number]
        stated = [one for one in self.grid.stated if rows.start <= one.rows.start < rows.stop]
        known = np.isin(self.grid.ids[rows], self.question.ids)
        new = (self.grid.weight[rows] > 0) & (self.grid.kind[rows] != NUMBER) & ~known
        if stated and all(one.worked_out for one in stated) and not new.any():
            rests = np.flatnonzero(np.logical_and.reduce([one.sentences for one in stated]))
            texts = np.unique(self.grid.owners(rests[rests < self.grid.n_told]))
            entail[texts] = np.maximum(entail[texts], PARTS)

    def _in_parts(self, number: int, entail: Floats) -> None:
        """Raise the support (in place) of a claim of the answer that no single sentence tells but the contexts together do.

        Two documents put together, or the question repeated around a value: every content word stands in a context (but
        for few that the question says, or common ones); those that it does not say follow one another as they do there,
        with at most one break; no sign is against it.
        """
        claim, rows, end = self.claims[number], self.grid.rows[number], int(self.grid.offsets[self.n_contexts])
        if self.spans[number].side != "answer" or not end or entail[: self.n_contexts + len(self.joints)].max() >= 0.5:
            return
        content = np.flatnonzero(self.grid.weight[rows] > 0)
        held = self.grid.present[rows][content, :end] >= HELD
        kind = self.grid.kind[rows][content]
        places = (claim.words.start + content).tolist()
        said = [claim.source.folded[claim.source.starts[at] : claim.source.ends[at]] for at in places]
        # The segmenter may cut the words of an unspaced question another way.
        glued = [len(word) > 1 and HAN_CHARACTER.match(word) is not None and word in self.question.folded for word in said]
        asked = (np.isin(self.grid.ids[rows][content], self.question.ids) | np.array(glued, dtype=bool)) & (kind != NUMBER)
        lacking = np.asarray(~held.any(axis=1), dtype=bool)
        weight = self.grid.weight[rows][content]
        common = lacking & ~asked & (kind == TERM) & (weight <= COMMON)
        if weight[common].sum() <= COMMON_SHARE * weight.sum():
            content, held, kind, asked, lacking = (x[~common] for x in (content, held, kind, asked, lacking))
        # Values alone, one for each part of the question, need not stand together.
        values = bool(len(content)) and bool(np.isin(kind, (NUMBER, NAME)).all())
        foreign = lacking & (kind == NAME) & (self.grid.present[rows][content, :end].max(axis=1) < 0.4)
        # Where all that is new is a name or a number, the question may be said in other words than the contexts.
        spared = 0.5 if (~asked).any() and np.isin(kind[~asked], (NUMBER, NAME)).all() else 0.34
        if (len(content) < 3 and not values) or lacking[~asked].any() or foreign.any() or lacking.sum() > spared * asked.sum():
            return
        texts = [text.folded for text in self.texts[: self.n_contexts]]
        if any(not any(holds_code(text, code) for text in texts) for code in codes_of(claim)):
            return
        if any(number == claimed and at < self.n_contexts for claimed, at in self.signs):
            return
        fresh = held[~asked]
        broken, throughout = (int((~(row[:-1] & row[1:]).any(axis=1)).sum()) for row in (fresh, held))
        negated = len(claim_negations(claim))
        if not len(fresh) or (not values and (broken > 1 or (broken and len(fresh) < 4 and throughout > 1))):
            return
        resting = np.flatnonzero(fresh.sum(axis=0) >= max(1.0, (0.0 if values else 0.4) * len(fresh)))
        if negated and not self.grid.negations[resting].any():
            return
        owners = np.unique(self.grid.owners(resting))
        rare = self.grid.weight[rows][content]
        about = asked & ~lacking & ((kind == NAME) | (rare >= 0.9))
        if not values and not (
            self._joined(held[rare > LINKING], fresh, held[about], owners)
            or self._each_asked(held[asked & (rare > LINKING)], fresh)
        ):
            return
        entail[owners] = np.maximum(entail[owners], PARTS_BROKEN if broken else PARTS)

    def _joined(self, held: Any, fresh: Any, named: Any, owners: Any) -> bool:
        """Whether contexts that hold what is new hang together, and hold a name or rare word of the question where it has one:
        two do that have a telling word of the claim in common (what one calls the maker the other places in a town)."""
        of = self.grid.owners(np.arange(held.shape[1]))
        words, new, names = (
            np.stack([row[:, of == at].any(axis=1) for at in range(self.n_contexts)], axis=1) for row in (held, fresh, named)
        )
        for first in owners.tolist():
            reached = np.arange(self.n_contexts) == first
            for _ in range(2):
                reached |= words[words[:, reached].any(axis=1)].any(axis=0)
            if new[:, reached].any(axis=1).all() and (not len(names) or names[:, reached].any()):
                return True
        return False

    def _each_asked(self, asked: Any, fresh: Any) -> bool:
        """Whether each context that is needed for what is new holds a telling word of the question that no other one does:
        the parts of a question, answered from one context each."""
        of = self.grid.owners(np.arange(asked.shape[1]))
        words, new = (
            np.stack([row[:, of == at].any(axis=1) for at in range(self.n_contexts)], axis=1) for row in (asked, fresh)
        )
        own = words[words.sum(axis=1) == 1].any(axis=0)
        return bool(own.any()) and bool(new[:, own].any(axis=1).all())

    def _at_most_unsure(self, number: int, entail: Floats) -> Floats:
        """The support of a claim that cannot be read: "No." alone says too little, code and formulas count only verbatim; what
        one says of oneself ("Me too!") no text tells."""
        claim = self.claims[number]
        if not (claim.source.weight[claim.words] > 0).any():
            told = self.lexical[number, self.windows.owner < self.n_contexts]
            own = told[:, _PERSONAL].min(initial=1.0) > 0 and len(told) > 0
            return np.minimum(entail, UNSURE) if own else np.full_like(entail, UNSURE)
        text = self.claim_text(number)
        if not is_code(text):
            return entail
        squashed = "".join(text.split())
        told = np.array([squashed in "".join(other.text.split()) for other in self.texts], dtype=bool)
        return np.where(told, entail, np.minimum(entail, CODE))

    @cached_property
    def answered(self) -> int:
        """1 where the whole answer is a bare yes, -1 where it is a bare no, else 0; only of a question that wants one."""
        lead, rest = answer_reading.polarity_lead(self.answer.text if self.answer is not None else "")
        if not lead or (analyse(rest).weight > 0.3).any():
            return 0
        return lead if answer_reading.asks_yes_or_no(answer_reading.read(self.question.text)) else 0

    def _bare_yes_or_no(self, entail: Floats, contradict: Floats) -> None:
        """What a bare yes or no says is the question: each text tells it, denies it (in place), or leaves it open."""
        mine = [number for number, span in enumerate(self.spans) if span.side == "answer"]
        if not self.answered or len(mine) != 1:
            return
        cover = sentence_cover(self.grid, len(self.claims))
        asked = claim_words(self.question, 0, len(self.question.text))
        for at in range(self.n_contexts + len(self.joints)):
            low, high = int(self.grid.offsets[at]), int(self.grid.offsets[at + 1])
            best = low + int(np.argmax(cover[low:high])) if high > low else -1
            if best < 0 or cover[best] < ASKED:
                continue
            text, sentence = self.grid.locate(best)
            found = relate(asked, text, sentence)
            denies = found.clash is not None or found.opposed is not None
            denies |= of_another(asked, self.question, text, sentence) is not None
            denies |= granted(asked, self.question, text, sentence) is False
            if denies != (self.answered < 0):
                entail[mine[0], at], contradict[mine[0], at] = 1.0 - ANSWERED, ANSWERED
            else:
                entail[mine[0], at], contradict[mine[0], at] = ANSWERED, 0.0

    def _values(self, entail: Floats) -> None:
        """A bare value of the reference is supported where it stands, and only there."""
        for number, span in enumerate(self.spans):
            if span.value:
                value = self.claim_text(number)
                for at, text in enumerate(self.texts):
                    entail[number, at] = VALUE_FOUND if find_point(value, text.text) else VALUE_ABSENT
        if self.reference is not None and any(span.value for span in self.spans):
            self._answer_claims_against_values(entail)

    def _answer_claims_against_values(self, entail: Floats) -> None:
        """An answer claim that makes a value of a bare reference is supported by it; others cannot be told."""
        values = [self.claim_text(at) for at, span in enumerate(self.spans) if span.value]
        for number, span in enumerate(self.spans):
            if span.side == "answer":
                made = any(find_point(value, self.claim_text(number)) for value in values)
                entail[number, self.reference_at] = VALUE_FOUND if made else VALUE_ABSENT

    @cached_property
    def best_windows(self) -> NDArray[np.int64]:
        """(n,) the window of any context that supports each claim best, -1 without contexts."""
        among = np.flatnonzero(self.windows.owner < self.n_contexts + len(self.joints))
        if not len(among) or not self.claims:
            return np.full(len(self.claims), -1, dtype=np.int64)
        return among[np.argmax(self.window_support[:, among], axis=1)]

    def evidence_spans(self) -> NDArray[np.int32]:
        """(n, T, 2) offsets of the sentence of each context that says most about each claim; -1 where none does."""
        spans = np.full((len(self.claims), self.n_contexts, 2), -1, dtype=np.int32)
        for number in range(len(self.claims)):
            cover = self.sentence_scores(number)
            for at in range(self.n_contexts):
                low, high = self.grid.offsets[at], self.grid.offsets[at + 1]
                best = int(low + np.argmax(cover[low:high])) if high > low else -1
                if best >= 0 and cover[best] > 0.0:
                    spans[number, at] = self.texts[at].bounds[self.grid.read[at][best - low]]
        return spans

    def sentence_scores(self, row: int) -> Floats:
        """(s,) how much each sentence of the grid says about a row: its rarity-weighted cover, or its alignment."""
        if self.alignment is None:
            return sentence_cover(self.grid, row)
        rows = self.grid.rows[row]
        weight = self.grid.weight[rows] + 1e-3
        return (weight @ (0.5 * self.grid.present[rows] + 0.5 * self.alignment.plain[rows])) / weight.sum()

    def claim_text(self, number: int) -> str:
        """The text of a claim."""
        span = self.spans[number]
        return self._source(span).text[span.start : span.end]

    def window_text(self, number: int) -> str:
        """The text of a window."""
        text, first = self.grid.locate(int(self.windows.first[number]))
        _, last = self.grid.locate(int(self.windows.last[number]) - 1)
        return text.text[int(text.bounds[first, 0]) : int(text.bounds[last, 1])]

    # -- similarities ----------------------------------------------------------------------------------------

    def similarities(self) -> Floats:
        """(T,) cosine of the question and each context as a retriever sees them, NaN without an encoder."""
        if not self.queries or not self.n_contexts:
            return np.full(self.n_contexts, np.nan, dtype=np.float32)
        rows = np.stack([self.passages[context.text].text for context in self.contexts])
        return (rows @ self.queries[self.sample.question].text).astype(np.float32)

    def sentence_similarities(self) -> Floats:
        """(s,) cosine of the question and the mean word vector of each sentence of the grid; NaN where it is not read."""
        question = self.queries.get(self.sample.question)
        if self.alignment is None or question is None or not self.texts:
            return np.full(self.grid.n_sentences, np.nan, dtype=np.float32)
        known = self.grid.word_sentence[self.read[self.grid.word_sentence]]
        words = np.concatenate([self._words_read(at) for at in range(len(self.texts))])
        rows = sentence_vectors(known, self.grid.n_sentences, words)
        return np.where(self.read, rows @ question.text, np.nan).astype(np.float32)

    def answer_cosine(self) -> float:
        """Cosine of the question and the mean word vector of the answer, its own vector without those; else NaN."""
        question = self.queries.get(self.sample.question)
        if question is None or self.answer is None:
            return float("nan")
        vectors = self.passages[self.answer.text]
        if vectors.words is None:
            return float(vectors.text @ question.text)
        mean = vectors.words.sum(axis=0)
        length = float(np.linalg.norm(mean))
        return float(mean @ question.text) / length if length > 0 else float("nan")
