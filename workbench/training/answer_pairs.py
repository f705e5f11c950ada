"""Pairs of answer and reference that are made by rule, from questions, spans and sentences of XQuAD.

What stands in them is known to be right or wrong because of how it was made. The forms of what is said are in
``answers.toml``.
"""

from __future__ import annotations

import json
import random
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from workbench.data.text.quantities import quantities
from workbench.data.text.sentences import sentences
from workbench.data.text.words import tokens
from workbench.evidence.offline.answer_reading import read
from workbench.evidence.offline.answer_variants import asked_kind, tells
from workbench.evidence.offline.contradiction import opposite_words

#: The languages that pairs are made in.
ENGLISH, CHINESE = "en", "zh"


@dataclass(frozen=True, slots=True)
class Pair:
    """One judged answer. ``kind``: the system that answered, or the rule that made the pair."""

    question: str
    answer: str
    references: tuple[str, ...]
    right: bool
    kind: str
    language: str


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question with the span that answers it, the sentence where it stands, and its place there."""

    question: str
    span: str
    sentence: str
    at: int
    paragraph: int


@cache
def forms(language: str) -> Mapping[str, list[str]]:
    """The forms of what is said in a language."""
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
        self.forms = forms(language)
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
            self._identifiers, self._exchanged, self._notations, self._rounded, self._short_forms, self._contrasted,
            self._either, self._told_beside,
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

    def _notations(self, row: _Asked) -> Iterator[Pair]:
        """A number or a date in another notation; another value in that notation."""
        if _kind(row.span) == "text":
            return
        shifted = _shifted(row.span, self.random)
        for value, right in ((row.span, True), (shifted, False)):
            written = _written_otherwise(value, self.language, self.random)
            if written != value and (right or shifted != row.span):
                said = self._form("short", a=written) if self.random.random() < 0.6 else self._replaced(row, written)
                yield self._pair(row, said, row.span, right, "notation")

    def _rounded(self, row: _Asked) -> Iterator[Pair]:
        """A number in fewer digits; that of another one."""
        found = re.fullmatch(r"\D{0,3}(\d{1,3}(?:,\d{3})+|\d{4,8})(?!\d).{0,12}", row.span)
        value = int(found[1].replace(",", "")) if found else 0
        if value < 1000 or value % 1000 == 0 or _kind(row.span) == "date" or 1000 <= value <= 2100:
            return
        for factor, right in ((1.0, True), (self.random.choice((0.7, 1.4)), False)):
            step = 10 ** (len(str(value)) - 2)
            low = int(value * factor) // step * step
            written = f"{low:,}" if self.language == "en" else _in_han(low, self.forms["numerals"])
            yield self._pair(row, self._form("over", a=written), row.span, right, "rounded")

    def _short_forms(self, row: _Asked) -> Iterator[Pair]:
        """An organisation or a person by a short form of the name; by that of another one."""
        if self.random.random() < 0.6:
            return
        name, short, other = self._organisation() if self.random.random() < 0.6 else self._person()
        question = self._form("who")
        yield self._pair(row, self._form("short", a=short), name, True, "short form", question)
        yield self._pair(row, self._form("short", a=other), name, False, "short form", question)

    def _organisation(self) -> tuple[str, str, str]:
        """The name of an organisation, its short form, and the one of another."""
        region, two = self.random.choice(self.forms["regions"]), self.random.sample(self.forms["subjects"], 2)
        kind = self.random.choice(self.forms["kinds"])
        if self.language == CHINESE:
            shorts = [f"{region[0]}{subject[0]}{kind}" for subject in two]
            return f"{region}{two[0]}{kind}", shorts[0], shorts[1]
        shorts = [f"{region[0]}{subject[0]}{kind[0]}" for subject in two]
        return f"{region} {two[0]} {kind}", shorts[0], shorts[1]

    def _person(self) -> tuple[str, str, str]:
        """The name of a person, the family name (or with the first one in short), and that of another with that first name."""
        first, (last, other) = self.random.choice(self.forms["firsts"]), self.random.sample(self.forms["lasts"], 2)
        joint = self.forms["joint"][0]
        short = self.random.choice([last, f"{first}{last}"]) if self.language == CHINESE else f"{first[0]}. {last}"
        return f"{first}{joint}{last}", short, f"{first}{joint}{other}"

    def _contrasted(self, row: _Asked) -> Iterator[Pair]:
        """Two spans of which one is set aside."""
        if self.random.random() < 0.6:
            return
        other = self._other(row)
        for x, y in ((row.span, other), (other, row.span)):
            yield self._pair(row, self._form("contrast", x=x, y=y), row.span, y == row.span, "contrast")

    def _either(self, row: _Asked) -> Iterator[Pair]:
        """Two spans of which one is enough."""
        most = 20 if self.language == "en" else 8
        spans = [r.span for r in [row, *self.beside[row.paragraph]] if len(r.span) <= most and not quantities(r.span)]
        beside = [span for span in spans if not _shares(span, row.span)]
        if not beside or row.span not in spans:
            return
        reference = self._form("either", x=row.span, y=self.random.choice(beside))
        yield self._pair(row, self._form("short", a=row.span), reference, True, "either")
        other = self.random.choice(self.plain).span
        if not _shares(other, reference):
            yield self._pair(row, self._form("short", a=other), reference, False, "either")

    def _told_beside(self, row: _Asked) -> Iterator[Pair]:
        """A reference that tells what was asked in one of two sentences: that one told alone, and the other one."""
        d, sentence, kind = self._elsewhere(row), _stripped(row.sentence), asked_kind(row.question)
        if not kind or row.span in d or tells(kind, d, read(row.question)) or not tells(kind, sentence, read(row.question)):
            return
        stop = self.forms["stop"][0]
        first, second = (d, sentence) if self.random.random() < 0.6 else (sentence, d)
        reference = f"{first}{stop}{second}{stop.strip()}"
        told = self._form("short", a=row.span) if self.random.random() < 0.5 else f"{sentence}{stop.strip()}"
        yield self._pair(row, told, reference, True, "told beside")
        yield self._pair(row, f"{d}{stop.strip()}", reference, False, "told beside")

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
        least, most = (6, 34) if self.language == CHINESE else (18, 110)
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
            yield self._pair(
                row, self._form("assert", c=self._loosely(e), d=e), asserted, True, "held premise", question
            )
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
    for first, second in (
        ("max_", "retry"),
        ("min_", "retry"),
        ("read_", "buffer"),
        ("write_", "buffer"),
        ("--no-", "cache"),
    )
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


def _written_otherwise(span: str, language: str, rng: random.Random) -> str:
    """A span with its numbers in words, with the other unit or with the parts of its date in another order."""
    if language == CHINESE:
        day = re.fullmatch(r"(\d{4})年(\d{1,2})月(\d{1,2})日", span)
        if day and rng.random() < 0.5:
            return f"{day[1]}-{int(day[2]):02}-{int(day[3]):02}"
        numerals = forms(CHINESE)["numerals"]
        span = re.sub(r"(?<!\d)\d{4}(?=\s?年)", lambda year: "".join(numerals[int(c)] for c in year[0]), span)
        number = r"(?<![0-9A-Za-z.,:–-])\d{1,9}(?![0-9A-Za-z.,:%–-])"
        return re.sub(number, lambda match: _in_han(int(match[0]), numerals), span)
    words = forms("en")["numerals"]
    span = re.sub(r"(?<=\d),(?=\d{3})", "", span) if "," in span and rng.random() < 0.5 else span
    span = span.replace("%", " per cent")
    return re.sub(r"(?<![\w.,:–-])\d{1,2}(?![\w.,:%–-])", lambda m: words[int(m[0])] if int(m[0]) < len(words) else m[0], span)


def _in_han(value: int, forms: Sequence[str]) -> str:
    """A number in Han numerals, from ten thousand up with the unit before it where it is a round one."""
    digits, (ten, hundred, thousand, myriad, hundred_million) = forms[:10], forms[10:15]
    for size, unit in ((10**8, hundred_million), (10**4, myriad)):
        if value >= size:
            return f"{value / size:g}{unit}" if value % (size // 100) == 0 else str(value)
    found, gap = "", False
    for size, unit in ((1000, thousand), (100, hundred), (10, ten), (1, "")):
        digit, value = divmod(value, size)
        if digit:
            found += (digits[0] if gap and found else "") + digits[digit] + unit
        gap = not digit
    found = found[1:] if found.startswith(digits[1] + ten) else found
    return found or digits[0]


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
