"""One sample before the offline judge: its claims, its texts, and what each text says about each claim.

All texts of the sample (contexts, neighbouring chunks joined, reference, answer) are laid out in one grid, the claims
of both sides, the question and the whole reference are its rows; every figure is then a reduction of that grid.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.schema import Sample
from workbench.data.text.normalise import HAN_CHARACTER
from workbench.data.text.points import find_point
from workbench.data.text.quantities import Quantity, quantities, same_quantity
from workbench.data.text.sentences import denied
from workbench.data.text.words import Span
from workbench.evidence.offline import answer_reading
from workbench.evidence.offline.alignment import ALIGNMENT, Alignment, align, alignment_features
from workbench.evidence.offline.arithmetic import worked_out
from workbench.evidence.offline.asked import points_asked
from workbench.evidence.offline.belonging import of_another
from workbench.evidence.offline.cells import CellVerdict, cell_verdict, tables_in
from workbench.evidence.offline.claims import ClaimSpan, bare_values, claims_of, is_code, joints
from workbench.evidence.offline.contradiction import Sign, contradictions
from workbench.evidence.offline.excerpts import Excerpt, excerpt
from workbench.evidence.offline.features import (
    LEXICAL,
    claim_negations,
    lexical_features,
    sentence_cover,
    stated_in,
    untold,
)
from workbench.evidence.offline.granting import granted
from workbench.evidence.offline.grid import ClaimWords, Grid, Windows, claim_words, windows
from workbench.evidence.offline.in_parts import COMMON_SHARE, HELD, LINKING, PARTS, tell_in_parts
from workbench.evidence.offline.lists import lists_in
from workbench.evidence.offline.models import Coefficients
from workbench.evidence.offline.reading import join
from workbench.evidence.offline.relations import relate
from workbench.evidence.offline.settling import settles
from workbench.evidence.offline.subjects import of_another_subject
from workbench.evidence.offline.vectors import TextVectors, sentence_vectors, vectors_of
from workbench.evidence.offline.versions import out_of_date
from workbench.evidence.offline.words import DATES, FUNCTION, NUMBER, Analysis, Floats, Numbers, analyse
from workbench.language import pattern

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
#: How far what the sentence before says is said by the one that continues it.
CONTINUES = 0.8
#: Rarity from which a word of the question that the answer lacks tells what was asked.
KEY = 0.2
#: Rarity from which a word tells which thing of a list is meant.
LISTED = 0.4
#: Letters and digits of a claim that can be said to stand in a text as it is.
STANDS = 10
#: Support of a bare value that stands in a text, and that does not.
VALUE_FOUND, VALUE_ABSENT = 0.95, 0.03


def _widened(probability: Floats) -> Floats:
    """Drawn towards the unsure band: across languages only the alignment speaks, and it cannot see small changes."""
    return (UNSURE + WIDENED * (probability - UNSURE)).astype(np.float32)


@lru_cache(maxsize=4096)
def _squashed(folded: str) -> str:
    """A folded text without spaces and signs but a bar for each stop, for nothing stands across one."""
    return "|".join("".join(re.findall(r"\w+", part)) for part in re.split(r"[。！？!?；;\n]|\.(?!\w)", folded))


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
        #: What a reader says of claims, by number; see :meth:`workbench.evidence.offline.reader.Reader.read`.
        self.readings: Mapping[int, Floats] = {}
        #: How likely the answer says the same as the reference, as read; NaN where that was not.
        self.same = math.nan
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
        places: dict[tuple[int, int], int] = {}
        for number in range(len(self.claims)):
            if self.spans[number].value:
                continue
            for sentence, sign in contradictions(self.grid, number):
                key = (number, int(self.grid.owners(sentence)))
                if key not in found or sign.probability > found[key].probability:
                    found[key], places[key] = sign, sentence
            for others in (self.other_values, self.of_another):
                if number in others:
                    at, sign = others[number]
                    found.setdefault((number, at), sign)
            for at in self._verbatim(number):
                found.pop((number, at), None)  # what stands there as it is is not denied there
            for at, verdict in self.cells.get(number, {}).items():
                if verdict.agrees:
                    found.pop((number, at), None)
                else:
                    found[number, at] = Sign(CELL, "cell", verdict.claimed, verdict.found)
            for at, (bears_out, sentence) in self.settled.get(number, {}).items():
                # What one sentence settles another may deny of what the claim speaks of, and may not speak of that at all.
                if bears_out and sentence in (-1, places.get((number, at), sentence)):
                    if (number, at) in found and found[number, at].kind != "subject":
                        del found[number, at]
                elif not bears_out:
                    text, place = self.grid.locate(max(sentence, 0))
                    told = text.text[slice(*text.bounds[place].tolist())] if sentence >= 0 else ""
                    found.setdefault((number, at), Sign(SETTLED, "settled", self.claim_text(number)[:80], told[:80]))
        return found

    def _verbatim(self, number: int) -> list[int]:
        """The texts in which a claim of a few words stands as it is, signs and spaces aside."""
        span = self.spans[number]
        said = _squashed(self._source(span).folded[span.start : span.end]).strip("|")
        return [at for at, text in enumerate(self.texts) if len(said) >= STANDS and said in _squashed(text.folded)]

    @cached_property
    def near_question(self) -> Floats:
        """(sentences of the contexts,) how much each says of the question, with the one that it continues."""
        end = int(self.grid.offsets[self.n_contexts])
        rows, before = self.grid.rows[len(self.claims)], self.grid.before[:end]
        weight, present = self.grid.weight[rows], self.grid.present[rows, :end]
        joint = np.maximum(present, CONTINUES * np.where(before >= 0, present[:, before], 0.0))
        return (weight @ joint) / max(float(weight.sum()), 1e-6)

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
            stated = list(stated_in(self.grid, self.grid.rows[number]))
            values = [one.quantity for one in stated]
            if not 1 <= len(values) <= 2 or any(map(asked.holding, values)) or any(one.worked_out for one in stated):
                continue
            here = np.logical_and.reduce([one.sentences[:end] for one in stated])
            beside = self._beside_values(number, values)
            if not here.any() or len(beside) > 1:
                continue
            # A word of the claim that stands where its value does and not by the other one speaks for it.
            rows = self.grid.rows[number]
            told_here = (self.grid.weight[rows] > KEY) & (self.grid.kind[rows] != NUMBER)
            told_here &= self.grid.present[rows, :end][:, here].max(axis=1) >= HELD
            best, other = max(
                ((float(self.near_question[at]), (at, told)) for at, told in self._others_like(values[0], asked)
                 if not any(one.sentences[at] for one in stated) and (self.grid.present[beside, at] >= HELD).all()
                 and not (told_here & (self.grid.present[rows, at] < HELD)).any()),
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
        """The claims of the answer that the contexts make of something else, in the same sentence or in another: the context,
        and the sign."""
        end = int(self.grid.offsets[self.n_contexts])
        found: dict[int, tuple[int, Sign]] = {}
        for number in [n for n, span in enumerate(self.spans) if span.side == "answer" and not span.value] if end else []:
            cover = sentence_cover(self.grid, number)[:end]
            best = float(cover.max(initial=0.0))
            reckoned = any(one.worked_out for one in stated_in(self.grid, self.grid.rows[number]))
            if best < ABOUT or len(claim_negations(self.claims[number])) or reckoned or self._of_some_question(number):
                continue
            text = int(self.grid.owners(int(np.argmax(cover))))
            if (subjects := of_another_subject(self.grid, number, text)) is not None:
                found[number] = text, Sign(OF_ANOTHER, "subject", *subjects)
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
    def settled(self) -> dict[int, dict[int, tuple[bool, int]]]:
        """The claims of the answer that a context settles by more than its words: whether it bears them out, by context, and
        the sentence that does, -1 for several."""
        found: dict[int, dict[int, tuple[bool, int]]] = {}
        for number in [n for n, span in enumerate(self.spans) if span.side == "answer" and not span.value]:
            about = np.maximum(sentence_cover(self.grid, number)[: len(self.near_question)], self.near_question)
            told = {at: settles(self.grid, number, at, self.question, about) for at in range(self.n_contexts)}
            found[number] = {at: one for at, one in told.items() if one is not None}
        return found

    @cached_property
    def by_text(self) -> tuple[Floats, Floats]:
        """(n, texts) entailment and contradiction, by words and numbers and as the reader has it where it is sure."""
        entail, contradict = self.by_words
        return join(self, entail, contradict) if self.readings else (entail, contradict)

    @cached_property
    def by_words(self) -> tuple[Floats, Floats]:
        """(n, texts) entailment and contradiction, by words and numbers."""
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
            lacks = self._each_listed(number, entail[number])
            self._counted(number, entail[number])
            if not lacks:
                tell_in_parts(self, number, entail[number])
            if number in self.other_values:
                among = slice(self.n_contexts + len(self.joints))
                entail[number, among] = np.minimum(entail[number, among], UNSURE)
            for at, verdict in self.cells.get(number, {}).items():
                if verdict.agrees and entail[number, at] >= CODE:
                    entail[number, at] = max(entail[number, at], CELL)
            for at, (bears_out, _) in self.settled.get(number, {}).items():
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
                alike = self._verbatim(number)
                entail[number, alike], contradict[number, alike] = VALUE_FOUND, 0.0
        self._of_the_thing(entail, contradict)
        self._as_of_today(entail, contradict)
        return entail, contradict.astype(np.float32)

    def _of_the_thing(self, entail: Floats, contradict: Floats) -> None:
        """A text that lacks what a claim speaks of is at most unsure (in place) where another has that and denies the claim:
        what the Basic plan costs is not told of Pro."""
        end = self.n_contexts
        for number in range(len(self.claims)):
            against = np.flatnonzero(contradict[number, :end] >= 0.5).tolist()
            if self.spans[number].side != "answer" or not against or entail[number, :end].max() < 0.5:
                continue
            rows = self.grid.rows[number]
            telling = (self.grid.weight[rows] >= LINKING) & (self.grid.kind[rows] != NUMBER)
            there = [slice(*self.grid.offsets[at : at + 2].tolist()) for at in range(end)]
            held = np.array([self.grid.present[rows, some].max(axis=1, initial=0.0) >= HELD for some in there])
            named = np.isin(self.grid.ids[rows], self.question.ids)
            for at in np.flatnonzero(entail[number, :end] >= 0.5).tolist():
                lacks = telling & named & ~held[at]
                if any((lacks & held[other]).any() and not (telling & held[at] & ~held[other]).any() for other in against):
                    entail[number, at] = min(entail[number, at], UNSURE)

    def _as_of_today(self, entail: Floats, contradict: Floats) -> None:
        """A text that is out of date contradicts nothing (in place), and bears nothing out where another says otherwise."""
        past = np.zeros(len(self.texts), dtype=bool)
        past[: self.n_contexts] = out_of_date(self.question, self.texts[: self.n_contexts])
        current = np.arange(len(self.texts)) < self.n_contexts
        current &= ~past
        for number in range(len(self.claims)) if past.any() else ():
            if self.spans[number].side == "answer" and not self.spans[number].value:
                if contradict[number, current].max() >= 0.5 > entail[number, current].max():
                    entail[number, past] = np.minimum(entail[number, past], UNSURE)
                contradict[number, past] = np.minimum(contradict[number, past], BASE_RATE)

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

    def _each_listed(self, number: int, entail: Floats) -> bool:
        """A claim of the answer that lists things is at most unsure (in place) by a text that lists things too and lacks the
        telling words of one of them, or has another in its place: each thing is stated by itself. Whether one is so."""
        claim, rows = self.claims[number], self.grid.rows[number]
        lists = [items for items in lists_in(self.claim_text(number)) if len(items) > 2]
        if self.spans[number].side != "answer" or not lists:
            return False
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
        lacks = False
        for text in np.flatnonzero(entail[: self.n_contexts + len(self.joints)] >= 0.5).tolist():
            there = slice(*self.grid.offsets[text : text + 2].tolist())
            held = self.grid.present[rows][:, there]
            best = held.max(axis=1, initial=0.0)
            if any(len(own) and best[own].max() < HELD for own in things) or self._swapped(number, text, held, things):
                entail[text], lacks = CODE, True
        return lacks

    def _swapped(self, number: int, text: int, held: Floats, things: Sequence[Any]) -> bool:
        """Whether the sentence that lists most of the things of a claim lists another one in the place of one of them."""
        told = np.array([held[own].max(axis=0) >= HELD for own in things if len(own)])
        if len(told) < 2 or not told.any():
            return False
        place = int(np.argmax(told.sum(axis=0)))
        if told[:, place].all() or not told[:, place].any():
            return False
        analysis, sentence = self.grid.locate(int(self.grid.offsets[text]) + place)
        start, end = analysis.bounds[sentence].tolist()
        known = set(self.claims[number].source.ids[self.claims[number].words].tolist())
        for items in lists_in(analysis.text[start:end]):
            last = [analysis.words_between(start + low, start + high) for low, high in items[1:]]
            telling = [[at for at in range(w.start, w.stop) if analysis.weight[at] > LISTED] for w in last]
            if any(some and not any(int(analysis.ids[at]) in known for at in some) for some in telling):
                return True
        return False

    def _counted(self, number: int, entail: Floats) -> None:
        """Raise the support (in place) of a claim with a number that is worked out, by the texts which have all that it says
        beside its numbers and beyond the question."""
        rows = self.grid.rows[number]
        stated = list(stated_in(self.grid, rows))
        if not any(one.worked_out for one in stated):
            return
        known = np.isin(self.grid.ids[rows], self.question.ids)
        new = (self.grid.weight[rows] > COMMON_SHARE) & (self.grid.kind[rows] != NUMBER) & ~known
        claim, reckons = self.claims[number], pattern("offline", "(?:«reckons»)")
        new &= [reckons.fullmatch(claim.source.folded, *claim.source.word_span(at)) is None
                for at in range(claim.words.start, claim.words.stop)]  # fmt: skip
        held = [np.unique(self.grid.owners(np.flatnonzero(one.sentences[: self.grid.n_told]))) for one in stated]
        # The numbers may stand in several contexts, as what is added up does.
        owners = sorted({int(at) for some in held for at in some})
        there = [slice(*self.grid.offsets[at : at + 2].tolist()) for at in owners]
        told = [self.grid.present[rows][new, place].max(axis=1, initial=0.0) >= HELD for place in there]
        if all(map(len, held)) and told and np.logical_or.reduce(told).all():
            for at in owners:
                entail[at] = max(entail[at], PARTS)

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
                lead, rest = answer_reading.polarity_lead(value)
                for at, text in enumerate(self.texts):
                    if lead and not rest and at < self.n_contexts:
                        entail[number, at] = UNSURE  # of which text could a bare "No." be told?
                        continue
                    stands = find_point(value, text.text) is not None
                    reckoned = not stands and at < self.n_contexts and self._works_out(value, at)
                    entail[number, at] = VALUE_FOUND if stands else PARTS if reckoned else VALUE_ABSENT
        if self.reference is not None and any(span.value for span in self.spans):
            self._answer_claims_against_values(entail)

    def _works_out(self, value: str, at: int) -> bool:
        """Whether a value that is one number is worked out from those of a text and of the question, or by the answer."""
        numbers = quantities(value)
        if len(numbers) != 1:
            return False
        reckoned = [one for one in self.grid.stated if one.worked_out and same_quantity(one.quantity, numbers[0])]
        low, high = self.grid.offsets[at : at + 2].tolist()
        by_answer = any(one.sentences[low:high].any() for one in reckoned)
        return by_answer or bool(worked_out(numbers[0], self.question.quantities, self.texts[at].quantities))

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
