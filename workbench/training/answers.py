"""Fit the model of :mod:`workbench.evidence.offline.answers` and say how well it judges.

``python -m workbench.training.answers --data FOLDER --report --out FILE`` reads ``evouna`` (answers judged by
people) and ``xquad`` (questions, spans and sentences in English and Chinese) below ``FOLDER``. Real answers teach the
English model. No labelled Chinese set has an open licence, so pairs made by rule teach the Chinese one what differs; it
starts from the English weights and moves away from them only as far as its pairs ask for. Runs are repeatable.

A fifth of the questions of EVOUNA is kept apart: ``--last`` adds its figures to the report, to be looked at once.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from workbench.data.text.quantities import quantities
from workbench.data.text.sentences import sentences
from workbench.data.text.words import tokens
from workbench.diagnosis.statistics import auroc, sigmoid
from workbench.evidence.offline.answer_features import compared
from workbench.evidence.offline.answers import FEATURES, SHAPES, cleaned
from workbench.evidence.offline.contradiction import opposite_words

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]

FOLDS = 5
#: Strength of the L2 penalty on the weights, which are all of values near [0, 1] or logarithms of counts.
PENALTY = 2.0
#: The same on how far Chinese weights lie from English ones, and those of statements from those of spans.
PULL = 6.0
#: How much a real pair counts with one reference, against one with several.
ONE_REFERENCE = 2.0
#: How much a wrong answer counts beside a right one: less, for a right answer that is failed costs more trust than a wrong
#: one that is passed. Of the answers with one reference about .08 of the right and .13 of the wrong ones are then misjudged.
WRONG = 0.7
#: How much a pair counts whose alternatives were cut to the most typical one, as most users have but one.
CUT = 0.6
#: How much a pair made by rule counts beside the real ones: little where it only shows wording, of which the real ones show
#: more, and more where it shows what the real ones hardly have.
MADE, MADE_WORDING = 0.6, 0.16
#: And how much less where the reference is a span: of those the judged pairs tell nearly everything, but for these kinds.
MADE_SPAN, MADE_SPAN_RARE = 0.1, 0.35
RARE = frozenset(("yes or no", "denied premise", "held premise", "unspecified", "identifier", "exchanged"))
WORDING = frozenset((
    "span", "span in sentence", "longer than the reference", "other span", "replaced", "elsewhere", "reworded", "altered",
    "both points",
))  # fmt: skip
#: Share of the labelled pairs that are called close.
CLOSE = 0.1


@dataclass(frozen=True, slots=True)
class Pair:
    """One judged answer. ``kind``: the system that answered, or the rule that made the pair."""

    question: str
    answer: str
    references: tuple[str, ...]
    right: bool
    kind: str
    language: str


# ---------------------------------------------------------------- pairs that people judged


def judged(folder: Path) -> list[Pair]:
    """The pairs of EVOUNA below ``folder``."""
    rows = [
        json.loads(line)
        for source in sorted((folder / "evouna").glob("*.jsonl"))
        for line in source.read_text(encoding="utf-8").split("\n")
        if line.strip()
    ]
    return [Pair(r["question"], r["answer"], tuple(r["reference"]), r["right"], r["system"], "en") for r in rows]


def part_of(question: str) -> int:
    """A number from the text of the question alone, so that its five rows stay together."""
    return int(hashlib.sha256(question.encode()).hexdigest()[:8], 16)


@cache
def typical(references: tuple[str, ...]) -> int:
    """The alternative that is most like all the others in its letters: the first ones are often odd."""
    grams = [{r.lower()[i : i + 3] for i in range(max(1, len(r) - 2))} for r in references]
    likeness = [sum(2 * len(a & b) / (len(a) + len(b)) for b in grams) for a in grams]
    return int(np.argmax(likeness))


# ---------------------------------------------------------------- pairs made by rule


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question with the span that answers it, the sentence where it stands, and its place there."""

    question: str
    span: str
    sentence: str
    at: int
    paragraph: int


@cache
def _forms(language: str) -> Mapping[str, list[str]]:
    source = resources.files(__package__).joinpath("answers.toml").read_text(encoding="utf-8")
    return tomllib.loads(source)[language]


def _asked(folder: Path, language: str) -> list[_Asked]:
    data = json.loads((folder / "xquad" / f"xquad.{language}.json").read_text(encoding="utf-8"))["data"]
    found = []
    for number, paragraph in enumerate(p for article in data for p in article["paragraphs"]):
        spans = sentences(paragraph["context"])
        for row in paragraph["qas"]:
            answer = row["answers"][0]
            start = answer["answer_start"]
            inside = [s for s in spans if s.start <= start and start + len(answer["text"]) <= s.end]
            if inside:
                found.append(_Asked(row["question"], answer["text"], inside[0].text, start - inside[0].start, number))
    return found


class Maker:
    """Makes pairs of one language from questions, spans and sentences, in an order that a seed fixes."""

    def __init__(self, folder: Path, language: str, seed: int = 11) -> None:
        self.language = language
        self.forms = _forms(language)
        self.rows = _asked(folder, language)
        self.random = random.Random(seed)
        self.numeric = [row for row in self.rows if _kind(row.span) != "text"]
        self.plain = [row for row in self.rows if _kind(row.span) == "text"]
        self.beside: dict[int, list[_Asked]] = {}
        for row in self.rows:
            self.beside.setdefault(row.paragraph, []).append(row)

    def pairs(self) -> list[Pair]:
        """All pairs, about every second question: more of them tell nothing new."""
        rows = self.rows[::2]
        found = [pair for row in rows for pair in self._spans(row)]
        makers = (
            self._yes_or_no, self._denied, self._listed, self._unspecified, self._statements, self._two_points,
            self._identifiers, self._exchanged,
        )  # fmt: skip
        for make in makers:
            found += [pair for row in rows if self.random.random() < 0.8 for pair in make(row)]
        return [pair for pair in found if pair.answer.strip() and all(r.strip() for r in pair.references)]

    def _pair(self, row: _Asked, answer: str, reference: str, right: bool, kind: str, question: str = "") -> Pair:
        return Pair(question or row.question, answer, (reference,), right, kind, self.language)

    def _form(self, name: str, **parts: str) -> str:
        form = self.random.choice(self.forms[name])
        for key, value in parts.items():
            form = form.replace("{" + key + "}", value)
        return form

    def _other(self, row: _Asked) -> str:
        """Another span of the same kind, from the same paragraph where there is one."""
        kind = _kind(row.span)
        beside = [r.span for r in self.beside[row.paragraph] if _kind(r.span) == kind and not _shares(r.span, row.span)]
        pool = [r.span for r in (self.plain if kind == "text" else self.numeric) if not _shares(r.span, row.span)]
        if kind != "text" and self.random.random() < 0.5:
            shifted = _shifted(row.span, self.random)
            if shifted != row.span:
                return shifted
        return self.random.choice(beside) if beside and self.random.random() < 0.6 else self.random.choice(pool)

    def _replaced(self, row: _Asked, other: str) -> str:
        return _stripped(row.sentence[: row.at] + other + row.sentence[row.at + len(row.span) :])

    def _elsewhere(self, row: _Asked) -> str:
        """A sentence of the same paragraph that does not hold the answer."""
        beside = [r.sentence for r in self.beside[row.paragraph] if row.span not in r.sentence]
        return _stripped(self.random.choice(beside or [self.random.choice(self.rows).sentence]))

    def _loosely(self, text: str, keep: Sequence[str] = (), most: float = 0.4) -> str:
        """``text`` in fewer words: a stand-in for other wording. Numbers, names and what is in ``keep`` stay."""
        lost = self.random.uniform(0.0, most)
        pieces = re.split(r"(\s+)", text) if self.language == "en" else _pieces(text)
        kept = [p for p in pieces if _stays(p, keep) or self.random.random() > lost]
        return "".join(kept) or text

    def _reworded(self, text: str, keep: Sequence[str] = ()) -> str:
        """Other wording, now and then with few of the words left."""
        return self._loosely(text, keep, 0.4 if self.random.random() < 0.6 else 0.9)

    def _spans(self, row: _Asked) -> Iterator[Pair]:
        """A span as reference: alone, in a form, in its sentence; another span in the same ways; a refusal."""
        d = self._elsewhere(row)
        yield self._pair(row, self._form("short", a=row.span), row.span, True, "span")
        sentence = _stripped(row.sentence)
        if self.random.random() < 0.5:
            yield self._pair(row, self._form("statement", c=sentence, d=d), row.span, True, "span in sentence")
        if self.random.random() < 0.3:
            reference = self._loosely(row.span) if len(row.span) > 12 else row.span
            yield self._pair(row, self._form("short", a=row.span), reference, True, "longer than the reference")
        other = self._other(row)
        yield self._pair(row, self._form("short", a=other), row.span, False, "other span")
        if self.random.random() < 0.5:
            replaced = self._replaced(row, other)
            yield self._pair(row, self._form("statement", c=replaced, d=d), row.span, row.span in replaced, "replaced")
        if self.random.random() < 0.3 and row.span not in d:
            yield self._pair(row, self._form("statement", c=d, d=self._elsewhere(row)), row.span, False, "elsewhere")
        if self.random.random() < 0.15:
            yield self._pair(row, self._form("refusal"), row.span, False, "refusal")
        if _NAME.fullmatch(row.span):
            first, last = row.span.split()
            yield self._pair(row, self._form("short", a=last), row.span, True, "surname")
            others = [r.span for r in self.plain if _NAME.fullmatch(r.span) and not _shares(r.span, row.span)]
            stranger = self.random.choice(others).split()
            mixed = f"{first} {stranger[1]}" if self.random.random() < 0.6 else f"{stranger[0]} {last}"
            yield self._pair(row, self._form("short", a=mixed), row.span, False, "part of another name")

    def _statements(self, row: _Asked) -> Iterator[Pair]:
        """A whole sentence as reference: in other wording, with its span or a word altered, denied, another sentence."""
        sentence, d = _stripped(row.sentence), self._elsewhere(row)
        loose = self._reworded(sentence, [row.span])
        yield self._pair(row, self._form("statement", c=loose, d=d), sentence, True, "reworded")
        other = self._replaced(row, self._other(row))
        if row.span not in other:
            yield self._pair(row, self._form("statement", c=self._loosely(other), d=d), sentence, False, "altered")
        chance = self.random.random()
        if chance < 0.6:
            beside = f"{_stripped(row.question)}, {d}" if self.random.random() < 0.5 else d
            said = self._form("statement", c=self._loosely(beside), d=self._elsewhere(row))
            if row.span not in said:
                yield self._pair(row, said, sentence, False, "elsewhere")
        elif chance < 0.75:
            yield self._pair(row, self._form("deny", c=sentence), sentence, False, "denied")
        elif chance < 0.85:
            yield self._pair(row, self._form("refusal"), sentence, False, "refusal")
        opposite = _opposed(sentence, row.question)
        if opposite and self.random.random() < 0.7:
            yield self._pair(row, self._form("statement", c=self._loosely(opposite), d=d), sentence, False, "opposite")

    def _identifiers(self, row: _Asked) -> Iterator[Pair]:
        """An identifier as reference, alone or in a statement; another one that looks like it."""
        if self.random.random() < 0.7:
            return
        right, wrong = self.random.sample(_IDENTIFIERS, 2)
        d = self._elsewhere(row)
        statement = self.random.random() < 0.5
        reference = f"{_stripped(row.sentence)} ({right})" if statement else right
        for identifier in (right, wrong):
            name = self._form("short", a=f"`{identifier}`")
            told = f"{self._loosely(_stripped(row.sentence), [row.span])} (`{identifier}`)"
            answer = self._form("statement", c=told, d=d) if statement else name
            yield self._pair(row, answer, reference, identifier == right, "identifier")

    def _two_points(self, row: _Asked) -> Iterator[Pair]:
        """Two questions of one paragraph asked at once: both answered, one answered, one answered wrongly."""
        beside = [r for r in self.beside[row.paragraph] if r.sentence != row.sentence and not _shares(r.span, row.span)]
        if not beside:
            return
        other = self.random.choice(beside)
        question = f"{row.question} {other.question}"
        one, two = _stripped(row.sentence), _stripped(other.sentence)
        brief = self.random.random() < 0.4
        stop = self.forms["stop"][0]
        reference = self._form("both", x=row.span, y=other.span) if brief else f"{one}{stop}{two}"
        reworded = [self._reworded(one, [row.span]), self._reworded(two, [other.span])]
        first, second = self.random.sample(reworded, 2)
        yield self._pair(row, f"{first}{stop}{second}", reference, True, "both points", question)
        left = reworded[0] if self.random.random() < 0.5 else reworded[1]
        missing = row.span if left == reworded[1] else other.span
        if missing not in left:
            yield self._pair(row, self._form("statement", c=left, d=""), reference, False, "one point", question)
        wrong = self._replaced(row, self._other(row))
        if row.span not in wrong + reworded[1]:
            yield self._pair(row, f"{wrong}{stop}{reworded[1]}", reference, False, "one point altered", question)

    def _exchanged(self, row: _Asked) -> Iterator[Pair]:
        """Two sentences that give a number each, and the same with the values exchanged: the words of the question decide."""
        kind = _kind(row.span)
        beside = [r for r in self.beside[row.paragraph] if r.sentence != row.sentence and _kind(r.span) == kind]
        beside = [r for r in beside if not _shares(r.span, row.span) and r.span not in row.sentence]
        if not beside or kind == "text":
            return
        other = self.random.choice(beside)
        stop = self.forms["stop"][0]
        if row.span in other.sentence:
            return
        right = [_stripped(row.sentence), _stripped(other.sentence)]
        wrong = [self._replaced(row, other.span), self._replaced(other, row.span)]
        for told in (right, wrong):
            first, second = self.random.sample(told, 2)
            yield self._pair(row, f"{first}{stop}{second}", row.span, told is right, "exchanged")

    def _clause(self, row: _Asked) -> tuple[str, str]:
        """The clause that holds the span, and the same with another span in its place; empty where it is too long."""
        before, after = row.sentence[: row.at], row.sentence[row.at + len(row.span) :]
        head = re.split(r"[，,；;：:](?!\d)", before)[-1]
        tail = re.split(r"[，,；;。.:：](?!\d)", _stripped(after))[0]
        true, false = (f"{head}{span}{tail}".strip() for span in (row.span, self._other(row)))
        least, most = (6, 34) if self.language == "zh" else (18, 110)
        return (true, false) if least <= len(true) <= most and len(false) <= most else ("", "")

    def _yes_or_no(self, row: _Asked) -> Iterator[Pair]:
        """A statement asked about: the reference says yes, or no to an altered one."""
        true, false = self._clause(row)
        if not true:
            return
        holds = self.random.random() < 0.5
        c, d = (true, self._elsewhere(row)) if holds else (false, true)
        question = self._form("ask", c=c)
        name = "yes" if holds else "no"
        reference = self._form(f"{name}_reference", c=c)
        for right in (True, False):
            said = name if right else ("no" if holds else "yes")
            yield self._pair(row, self._form(said, c=c, d=d), reference, right, "yes or no", question)
        if self.random.random() < 0.2:
            yield self._pair(row, self._form("refusal"), reference, False, "refusal", question)

    def _denied(self, row: _Asked) -> Iterator[Pair]:
        """A premise that the reference denies, in one wording or another; most right answers deny it too."""
        true, c = self._clause(row)
        if not c:
            return
        question = self._form("why", c=c)
        d, e = self._elsewhere(row), true
        stop = self.forms["stop"][0]
        told = self.random.random() < 0.5
        reference = self._form("deny", c=self._loosely(c)) + (f"{stop}{e}" if told else "")
        right = self._form("deny", c=self._loosely(c))
        if told and self.random.random() < 0.4:
            right = self._loosely(e) if self.random.random() < 0.4 else f"{right}{stop}{self._loosely(e)}"
        yield self._pair(row, right, reference, True, "denied premise", question)
        wrong = self._form("assert", c=self._loosely(c), d=d)
        if self.random.random() < 0.1:
            wrong = self._form("deny", c=self._loosely(d)[:30])
        yield self._pair(row, wrong, reference, False, "denied premise", question)
        if self.random.random() < 0.5:
            asserted = self._form("assert", c=self._loosely(e), d=d)
            yield self._pair(row, self._form("assert", c=self._loosely(e), d=e), asserted, True, "held premise", question)
            denied = self._form("deny", c=self._loosely(e))
            yield self._pair(row, denied, asserted, False, "held premise", question)

    def _listed(self, row: _Asked) -> Iterator[Pair]:
        """Several spans as reference: in another order, or one of them left out or replaced."""
        spans = list(dict.fromkeys(r.span for r in self.beside[row.paragraph] if len(r.span) < 40))
        if len(spans) < 3:
            return
        x, y, z = self.random.sample(spans, 3)
        if _shares(x, y) or _shares(y, z) or _shares(x, z):
            return
        reference = self._form("list", x=x, y=y, z=z)
        items = [x, y, z]
        self.random.shuffle(items)
        bullets = "\n".join(f"- {item}" for item in items)
        moved = self._form("list", x=items[0], y=items[1], z=items[2])
        answer = bullets if self.random.random() < 0.4 else self._form("short", a=moved)
        yield self._pair(row, answer, reference, True, "list")
        fewer = self._form("pair", x=items[0], y=items[1]) if self.random.random() < 0.6 else items[0]
        yield self._pair(row, self._form("short", a=fewer), reference, False, "list cut short")
        changed = self._form("list", x=items[0], y=self.random.choice(self.rows).span, z=items[2])
        if items[1] not in changed:
            yield self._pair(row, self._form("short", a=changed), reference, False, "list altered")

    def _unspecified(self, row: _Asked) -> Iterator[Pair]:
        """A reference that says that nothing is said."""
        if self.random.random() < 0.4:
            yield self._pair(row, self._form("refusal"), self._form("unspecified"), True, "unspecified")
            yield self._pair(row, self._form("short", a=row.span), self._form("unspecified"), False, "unspecified")


_NAME = re.compile(r"[A-Z][a-z]+ [A-Z][a-z]+")
#: Names of settings, flags, codes and parts, pairs of which look alike.
_IDENTIFIERS = [
    f"{first}{second}{third}"
    for first, second in (("max_", "retry"), ("min_", "retry"), ("read_", "buffer"), ("write_", "buffer"), ("--no-", "cache"))
    for third in ("_count", "_size", "_limit")
] + [f"{series}-{number}" for series in ("AX", "BX", "TR", "ERR", "PN") for number in (12, 21, 40, 104, 140, 2001)]


def _kind(span: str) -> str:
    """The kind of the quantity that a short span is, ``"text"`` without one."""
    found = quantities(span)
    return found[0].kind if found and sum(len(q.text) for q in found) * 2 > len(span) else "text"


def _stays(piece: str, keep: Sequence[str]) -> bool:
    named = piece[:1].isupper() or any(c.isdigit() for c in piece) or not piece.strip()
    return named or any(kept and (kept in piece or piece in kept) for kept in keep)


def _shares(one: str, other: str) -> bool:
    a, b = one.lower(), other.lower()
    return a in b or b in a or len(set(a.split()) & set(b.split())) > 0


def _shifted(span: str, rng: random.Random) -> str:
    """The span with its last number a little off."""
    numbers = list(re.finditer(r"\d+", span))
    if not numbers:
        return span
    at = rng.choice(numbers)
    value = int(at[0])
    off = max(0, value + rng.choice([-3, -2, -1, 1, 2, 3, 10]))
    return span[: at.start()] + str(off if off != value else value + 1) + span[at.end() :]


def _opposed(sentence: str, question: str) -> str:
    """The sentence with its first word that has a listed opposite replaced by it; empty without one."""
    for token in tokens(sentence):
        word = token.text.lower()
        others = opposite_words(word) if len(word) > 1 else ()
        if others and word not in question.lower():
            return sentence[: token.start] + others[0].replace("_", " ") + sentence[token.end :]
    return ""


def _stripped(sentence: str) -> str:
    return sentence.strip().rstrip("。.!！?？;；")


def _pieces(text: str) -> list[str]:
    found, at = [], 0
    for token in tokens(text):
        found += [text[at : token.start], token.text]
        at = token.end
    return [piece for piece in [*found, text[at:]] if piece]


# ---------------------------------------------------------------- rows of values


@dataclass(frozen=True, slots=True)
class Table:
    """The values of pairs: ``rows`` (m, n) for each way to read each reference, the pair ``starts`` at, (k,) ``right``."""

    pairs: list[Pair]
    rows: Floats
    owners: Ints
    starts: Ints
    right: Flags

    def best(self, weights: Floats) -> tuple[Ints, Floats]:
        """(k,) the row of the best alternative of each pair under ``weights``, and its log-odds."""
        scores = log_odds(self.rows, weights)
        top = np.maximum.reduceat(scores, self.starts)
        which = np.repeat(np.arange(len(self.starts)), np.diff(np.append(self.starts, len(scores))))
        candidates = np.flatnonzero(scores == top[which])
        _, first = np.unique(which[candidates], return_index=True)
        return candidates[first], top


def log_odds(rows: Floats, weights: Floats) -> Floats:
    """(m,) log-odds of rows under ``weights`` (2, n + 1): one line for each shape, the intercept last."""
    of = weights[rows[:, -1].astype(int)]
    return np.asarray((rows * of[:, :-1]).sum(axis=1) + of[:, -1])


def table(pairs: Sequence[Pair]) -> Table:
    """The :class:`Table` of pairs."""
    rows: list[list[float]] = []
    owners: list[int] = []
    starts = []
    for pair in pairs:
        found, of = compared(pair.question, cleaned(pair.answer), pair.references)
        starts.append(len(rows))
        rows += found
        owners += of
    right = np.array([pair.right for pair in pairs])
    return Table(list(pairs), np.array(rows), np.array(owners), np.array(starts), right)


def cut_to_one(judged_table: Table) -> tuple[Floats, Flags]:
    """(k, n) the row of the most typical alternative alone, and (k,) whether the pair makes sense so.

    It makes none where there was one alternative before, nor where the answer was accepted for another alternative that
    shares nothing with this one.
    """
    recall, grams = (list(FEATURES).index(name) for name in ("recall", "grams"))
    ends = np.append(judged_table.starts[1:], len(judged_table.rows))
    chosen, sensible = [], []
    for pair, start, end in zip(judged_table.pairs, judged_table.starts, ends, strict=True):
        of = judged_table.owners[start:end] == typical(pair.references)
        candidates = start + np.flatnonzero(of)
        row = judged_table.rows[candidates[np.argmax(judged_table.rows[candidates, recall])]]
        chosen.append(row)
        alien = row[recall] < 0.2 and row[grams] < 0.15
        sensible.append(len(pair.references) > 1 and not (pair.right and alien))
    return np.array(chosen), np.array(sensible)


# ---------------------------------------------------------------- fitting


#: Values that speak for an answer, and values that speak against it: a weight of the other sign is an accident of the
#: pairs and is left out. The rest may have either sign.
SPEAKS_FOR = frozenset((
    "recall", "recall_exact", "all_found", "grams", "some_grams", "squashed", "recall_lead", "covered", "within", "surname",
    "number_near", "polarity_agrees", "both_deny", "both_negate", "best_point", "declines_alike",
))  # fmt: skip
SPEAKS_AGAINST = frozenset((
    "half_missing", "rarest_missing", "number_missing", "number_other", "substituted", "name_other", "opposite",
    "flipped", "asked_other", "code_missing", "names_missing", "rival_names", "negated", "refused", "polarity_differs",
    "denial_differs", "worst_point", "apart", "declines_not",
))  # fmt: skip


#: Least weights for statements. Pairs made by rule hold the words of their reference or lose them by chance, so they
#: cannot show what judged pairs do: that of two answers the one with more of what is new is the better one.
AT_LEAST = {"recall": 1.0, "grams": 2.0, "some_grams": 0.5}
#: Weights that are at most so: a quantity, an identifier or a name in the place of that of the reference is a fault by what
#: notation means, however many words around it agree.
AT_MOST = {"number_missing": -1.0, "number_other": -1.2, "code_missing": -1.5, "name_other": -3.0, "opposite": -3.5,
           "asked_other": -6.5, "negated": -1.5, "polarity_differs": -3.0}  # fmt: skip
#: More of them for statements.
AT_MOST_STATEMENT = AT_MOST | {"number_missing": -1.5, "names_missing": -0.7, "flipped": -1.5}


def logistic(rows: Floats, right: Flags, counts: Floats, penalty: float, prior: Floats | None = None) -> Floats:
    """(n + 1,) weights of a logistic regression, the intercept last, none of the wrong sign.

    The L2 penalty draws the weights to ``prior`` (zero without one); the intercept is free. ``counts`` (m,) say how much
    each row counts.
    """
    least, most = (AT_LEAST, AT_MOST_STATEMENT) if rows[:, -1].all() else ({}, AT_MOST)
    bounds = [
        (least.get(name, 0.0) if name in SPEAKS_FOR else None, most.get(name, 0.0) if name in SPEAKS_AGAINST else None)
        for name in [*FEATURES, ""]
    ]
    values = np.column_stack([rows, np.ones(len(rows))])
    centre = np.zeros(len(bounds)) if prior is None else prior
    strength = np.full(len(bounds), penalty)
    strength[-1] = 1e-3
    side = np.where(right, 1.0, -1.0)

    def loss(at: Floats) -> tuple[float, Floats]:
        margin = side * (values @ at)
        slope = -counts * side / (1 + np.exp(np.clip(margin, -30, 30)))
        away = strength * (at - centre)
        return float(counts @ np.logaddexp(0, -margin) + away @ (at - centre) / 2), values.T @ slope + away

    low, high = np.array([(-99 if a is None else a, 99 if b is None else b) for a, b in bounds]).T
    start = np.clip(centre, low, high)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 500, "ftol": 1e-8})
    return np.asarray(found.x)


@dataclass(frozen=True, slots=True)
class Data:
    """Everything that is fitted on: judged pairs, the same cut to one alternative, and pairs made by rule."""

    judged: Table
    cut: Floats
    sensible: Flags
    made: Mapping[str, Table]


def fit_shapes(rows: Floats, right: Flags, counts: Floats, prior: Floats | None = None) -> Floats:
    """(2, n + 1) weights for spans and for statements, each drawn to its line of ``prior``, else statements to spans."""
    found: list[Floats] = []
    for shape in range(len(SHAPES)):
        of = rows[:, -1] == shape
        centre = prior[shape] if prior is not None else (found[0] if found else None)
        found.append(logistic(rows[of], right[of], counts[of], PENALTY if centre is None else PULL, centre))
    return np.array(found)


def fit_english(data: Data, use: Flags, made: Flags) -> Floats:
    """The English weights (2, n + 1) from the judged pairs ``use`` and the made pairs ``made``.

    Which alternative of a pair is meant is not said by the labels: it is the one that the model of the round before
    likes best.
    """
    many = np.array([len(pair.references) > 1 for pair in data.judged.pairs])
    right = data.judged.right
    base = np.where(many, 1.0, ONE_REFERENCE) * np.where(right, 1.0, WRONG)
    cut = use & data.sensible
    ours = data.made["en"]
    told = np.array([MADE_WORDING if pair.kind in WORDING else MADE for pair in ours.pairs])
    span = np.array([MADE_SPAN_RARE if pair.kind in RARE else MADE_SPAN for pair in ours.pairs])
    told[ours.right] *= told[~ours.right].sum() / told[ours.right].sum()
    weights = np.zeros((len(SHAPES), len(FEATURES) + 1))
    for name in ("recall", "squashed", "grams"):
        weights[:, list(FEATURES).index(name)] = 1.0
    for _ in range(3):
        at, _ = data.judged.best(weights)
        mine = ours.rows[ours.best(weights)[0]][made]
        rows = np.vstack([data.judged.rows[at][use], data.cut[cut], mine])
        labels = np.concatenate([right[use], right[cut], ours.right[made]])
        by_rule = told[made] * np.where(mine[:, -1] == 0, span[made], 1.0)
        parts = [base[use], CUT * np.where(right, 1.0, WRONG)[cut], by_rule]
        weights = fit_shapes(rows, labels, np.concatenate(parts))
    return weights


def fit_chinese(data: Data, english: Floats, made: Flags) -> Floats:
    """The Chinese weights from pairs made by rule, drawn to the English ones."""
    ours = data.made["zh"]
    at, _ = ours.best(english)
    counts = 2 * np.where(ours.right, (~ours.right).sum() / ours.right.sum(), 1.0)
    return fit_shapes(ours.rows[at][made], ours.right[made], counts[made], english)


# ---------------------------------------------------------------- figures


def figures(scores: Floats, right: Flags) -> dict[str, float]:
    """Number of pairs, agreement at one half, AUROC, share of right ones failed and of wrong ones passed."""
    passed = scores >= 0.5
    failed = float((~passed[right]).mean()) if right.any() else math.nan
    let_by = float(passed[~right].mean()) if (~right).any() else math.nan
    return {
        "pairs": len(right), "agreement": round(float((passed == right).mean()), 4), "auroc": round(auroc(right, scores), 4),
        "right_failed": round(failed, 4), "wrong_passed": round(let_by, 4),
    }  # fmt: skip


def by_part(pairs: Sequence[Pair], scores: Floats, right: Flags) -> dict[str, dict[str, float]]:
    """:func:`figures` of all pairs, with one reference and with several, and for each kind."""
    many = np.array([len(pair.references) > 1 for pair in pairs])
    kinds = np.array([pair.kind for pair in pairs])
    parts = {"all": np.ones(len(pairs), dtype=bool), "one reference": ~many, "several references": many}
    parts |= {kind: kinds == kind for kind in dict.fromkeys(kinds.tolist())}
    return {name: figures(scores[part], right[part]) for name, part in parts.items() if part.any()}


def close_band(scores: Floats) -> tuple[float, float]:
    """The band around one half, even in log-odds, that holds the share :data:`CLOSE` of the scores."""
    distance = np.sort(np.abs(np.log(scores / (1 - scores))))
    reach = float(distance[int(CLOSE * len(distance))])
    return round(1 / (1 + math.exp(reach)), 4), round(1 / (1 + math.exp(-reach)), 4)


def examined(data: Data) -> tuple[dict[str, Any], dict[str, Floats], tuple[float, float]]:
    """The report, the final weights by language, and the band of close calls.

    The band is that of pairs with one reference, or cut to one: with dozens of aliases hardly any call is close.
    """
    parts = np.array([part_of(pair.question) for pair in data.judged.pairs])
    apart = parts % 5 == 4
    fold = parts // 5 % FOLDS
    made_fold = {k: np.array([part_of(p.question) // 5 % FOLDS for p in t.pairs]) for k, t in data.made.items()}
    scores, alone = np.zeros(len(parts)), np.zeros(len(parts))
    made_scores = {k: np.zeros(len(t.pairs)) for k, t in data.made.items()}
    for number in range(FOLDS):
        english = fit_english(data, ~apart & (fold != number), made_fold["en"] != number)
        weights = {"en": english, "zh": fit_chinese(data, english, made_fold["zh"] != number)}
        held = ~apart & (fold == number)
        scores[held] = sigmoid(data.judged.best(english)[1][held])
        alone[held] = sigmoid(log_odds(data.cut[held], english))
        for language, made in data.made.items():
            held = made_fold[language] == number
            made_scores[language][held] = sigmoid(made.best(weights[language])[1][held])
    everything = np.ones(len(data.made["en"].pairs), dtype=bool)
    tuned = fit_english(data, ~apart, everything)
    right = data.judged.right
    report: dict[str, Any] = {}
    report["EVOUNA TQ, folds by question"] = by_part(_some(data.judged.pairs, ~apart), scores[~apart], right[~apart])
    cut = ~apart & data.sensible
    report["EVOUNA TQ, cut to the typical alternative"] = {"all": figures(alone[cut], right[cut])}
    last = sigmoid(data.judged.best(tuned)[1])[apart]
    report["EVOUNA TQ, the fifth kept apart"] = by_part(_some(data.judged.pairs, apart), last, right[apart])
    for language, made in data.made.items():
        report[f"made by rule, {language}"] = by_part(made.pairs, made_scores[language], made.right)
    english = fit_english(data, np.ones(len(parts), dtype=bool), everything)
    chinese = fit_chinese(data, english, np.ones(len(data.made["zh"].pairs), dtype=bool))
    alike = np.array([len(pair.references) == 1 for pair in data.judged.pairs]) & ~apart
    return report, {"en": english, "zh": chinese}, close_band(np.concatenate([scores[alike], alone[cut]]))


def _some(pairs: Sequence[Pair], use: Flags) -> list[Pair]:
    return [pair for pair, used in zip(pairs, use, strict=True) if used]


def resource(report: Mapping[str, Any], weights: Mapping[str, Floats], band: tuple[float, float]) -> dict[str, Any]:
    """What is written to ``answer_right.json``."""
    models = {
        language: {
            shape: {
                "intercept": round(float(found[i, -1]), 4),
                "weights": {name: round(float(w), 4) for name, w in zip(FEATURES, found[i], strict=False)},
            }
            for i, shape in enumerate(SHAPES)
        }
        for language, found in weights.items()
    }
    return {
        "about": "Logistic models of offline/answers.py, fitted by training/answers.py. English: answers of EVOUNA (TriviaQA"
        " half, Apache-2.0) and pairs made by rule; Chinese: pairs made by rule over XQuAD (CC BY-SA 4.0).",
        "close_call": list(band), "models": models, "checked": report,
    }  # fmt: skip


def gathered(folder: Path) -> Data:
    """Read, make and compare all pairs."""
    people = table(judged(folder))
    cut, sensible = cut_to_one(people)
    return Data(people, cut, sensible, {language: table(Maker(folder, language).pairs()) for language in ("en", "zh")})


def _written(report: Mapping[str, Any], last: bool) -> Iterator[str]:
    for part, lines in report.items():
        if "kept apart" in part and not last:
            continue
        yield part
        for name, f in lines.items():
            yield (
                f"  {name:26} {f['pairs']:6}  agreement {f['agreement']:.3f}  AUROC {f['auroc']:.3f}"
                f"  right failed {f['right_failed']:.3f}  wrong passed {f['wrong_passed']:.3f}"
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Fit the model that says whether an answer is right.")
    parser.add_argument("--data", type=Path, required=True, help="folder that holds evouna and xquad")
    parser.add_argument("--report", action="store_true", help="print the figures")
    parser.add_argument("--last", action="store_true", help="with the figures of the fifth that is kept apart")
    parser.add_argument("--out", type=Path, help="file for the coefficients")
    options = parser.parse_args(arguments)
    report, weights, band = examined(gathered(options.data))
    if options.report:
        for line in _written(report, options.last):
            sys.stdout.write(line + "\n")
    if options.out:
        text = json.dumps(resource(report, weights, band), ensure_ascii=False, indent=1)
        options.out.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
