"""Which way a sentence says things: what in it is negated, excepted, asked, weakened, and where the broader is the stronger.

Reading one sentence marks its *operators*: a negation with the words it reaches, an exception that turns what the rest
says, an answer "No." after a question. A word is negated when an odd number of operators reach it (*not prohibited* is
allowed); how many negations a sentence has elsewhere does not matter. In *downward* places (under a negation, after
*every*, *if*, *at most*) what is said of the broader holds for the narrower, not the other way. The words are listed in
``polarity_<language>.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from workbench.evidence.offline.lexicon import lexicon, tables
from workbench.evidence.offline.words import FUNCTION, RAREST, Analysis, analyse, rarity, run_of, word_id

#: Words that a negation reaches at most, within its clause.
_REACH = 14
#: Words after "every" that belong to what it ranges over.
_RANGE = 6
_CLAUSE_END = re.compile(r"[,;:，；：()（）—!?！？。]|--|\.(?!\d)")
_PARTICLE_END = re.compile(r"\s*[,，。.!！:：;；—-]")
#: Categories of expressions whose words are no further negation.
_TAKING = ("forward", "clause", "harmless")
_HAN_WORD = re.compile("^[\u3400-\u9fff]")
_CHAR = re.compile("[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Operator:
    """Something that negates ``scope`` (numbers of content words of the text); ``focus``: the first of them, -1 = any.

    ``unless``: words one of which must be spoken of for the operator to hold (an exception).
    """

    at: int
    scope: tuple[int, ...]
    focus: int
    unless: tuple[int, ...] = ()


@dataclass(slots=True)
class Reading:
    """One sentence read. Numbers are those of the words of the whole text.

    Attributes
    ----------
    first, last
        Its words are ``[first, last)``.
    content
        Its content words, and those function words that have an opposite (before, with).
    clause
        Word → number of its clause.
    flips
        Content word that is itself a negation → id of what it negates (unable → able).
    operators
        The negations and exceptions.
    downward
        Runs of words each of which something turns downward; a word in an odd number of them is in a downward place.
    ranks
        (scale, rank, word that it stands before, its own place): *all*, *most*, *must*, *may*.
    conditions
        Runs of words that an "if" opens.
    only, disjunctions
        Places of *only*, and of *or*.
    others, predicates
        Places of words for everybody else, or for the ordinary (*any*, *regular*); of words that begin a predicate.
    passive, asks, hedged
        Whether it is passive, a question that the next sentence does not answer, said to be merely possible.
    """

    first: int
    last: int
    content: list[int]
    clause: dict[int, int] = field(default_factory=dict)
    flips: dict[int, int] = field(default_factory=dict)
    operators: list[Operator] = field(default_factory=list)
    downward: list[frozenset[int]] = field(default_factory=list)
    conditions: list[frozenset[int]] = field(default_factory=list)
    ranks: list[tuple[str, int, int, int]] = field(default_factory=list)
    only: list[int] = field(default_factory=list)
    disjunctions: list[int] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    predicates: list[int] = field(default_factory=list)
    passive: bool = False
    asks: bool = False

    def negated(self, active: Iterable[Operator]) -> set[int]:
        """The content words that an odd number of the operators, or the word itself, negate."""
        found = set(self.flips)
        for operator in active:
            found ^= set(operator.scope)
        return found

    def down(self, spoken: set[int] | None = None) -> set[int]:
        """The words in downward places, as turned by what reaches a ``spoken`` word (None: by everything): a negation
        inside a part that the other side lacks altogether does not turn that part."""
        found: set[int] = set()
        for scope in self.downward:
            if spoken is None or scope & spoken:
                found ^= scope
        return found

    def predicate(self, at: int) -> int:
        """Where the predicate begins after a word; the end of the sentence where none is known."""
        return min((place for place in self.predicates if place > at), default=self.last)

    @property
    def excepted(self) -> list[tuple[int, ...]]:
        """The words of each exception."""
        return [operator.unless for operator in self.operators if operator.unless]


def read(text: Analysis, sentence: int) -> Reading:
    """The :class:`Reading` of a sentence of an analysed text."""
    return _read(text.text, sentence)


@lru_cache(maxsize=16384)
def _read(string: str, sentence: int) -> Reading:
    text = analyse(string)
    start, end = text.bounds[sentence].tolist()
    words = text.words_between(start, end)
    return _Reader(text, words.start, max(words.start, words.stop), start, end, sentence).reading()


class _Reader:
    """Reads one sentence: finds the marks, cuts the clauses, lays out the scopes."""

    def __init__(self, text: Analysis, first: int, last: int, start: int, end: int, sentence: int) -> None:
        self.text, self.first, self.last, self.start, self.end, self.sentence = text, first, last, start, end, sentence
        places = range(first, last)
        starts = dict(zip(places, text.starts[first:last].tolist(), strict=True))
        ends = dict(zip(places, text.ends[first:last].tolist(), strict=True))
        self.words = {at: text.folded[starts[at] : ends[at]] for at in places}
        marks = list(self._marks())
        # "No, you cannot": the particle answers, the sentence says by itself what it says.
        particles = {at for *_, low, high in marks if self._opens(low, high) for at in range(low, high)}
        self.marks = [mark for mark in marks if mark[2] not in particles]
        marked = {at for mark in self.marks for at in range(mark[2], mark[3])}
        kinds = text.kind
        self.flips = self._flips()
        opposed, ids = lexicon().opposites, text.ids
        self.content = [
            at
            for at in range(first, last)
            if at not in particles
            and ((kinds[at] != FUNCTION and at not in marked) or at in self.flips or int(ids[at]) in opposed)
        ]
        self.negating = sorted(mark[2] for mark in self.marks if mark[0] == "forward")
        self.predicating = [mark[2] for mark in self.marks if mark[0] == "predicate"]
        self.clause = self._clauses(starts, ends)

    def reading(self) -> Reading:
        """The marks laid out as operators, ranks and downward places."""
        found = Reading(self.first, self.last, self.content, self.clause, self.flips)
        found.others = [at for at, word in self.words.items() if word in listed_words("others")]
        found.predicates = self.predicating
        for category, value, low, high in self.marks:
            self._apply(found, category, value, low, high)
        self._supposed(found)
        self._answered(found)
        return found

    # -- marks -----------------------------------------------------------------------------------------------

    def _marks(self) -> Iterator[tuple[str, Any, int, int]]:
        """(category, value, first word, past the last word) of the listed expressions and the negations."""
        taken: set[int] = set()
        for quantity in self.text.quantities[run_of(self.text.quantity_sentence, self.sentence)]:
            # "No less than 12" denies nothing and limits nothing else.
            if quantity.cue and quantity.cue != "~" and self.start <= quantity.start < self.end:
                taken.update(range(*self._touched(*quantity.wide)))
        known = _entries()
        for at in range(self.first, self.last):
            if at in taken:
                continue
            for words, meanings in known.get(self.words[at], ()):
                n = len(words)
                if at + n <= self.last and all(self.words[at + step] == words[step] for step in range(1, n)):
                    for category, value in meanings:
                        yield category, value, at, at + n
                    if any(category in _TAKING for category, _ in meanings):
                        taken.update(range(at, at + n))
                    break
        if _CHAR.search(self.text.folded, self.start, self.end):
            for match in _han_pattern().finditer(self.text.folded, self.start, self.end):
                low, high = self._touched(match.start(), match.end())
                if taken.issuperset(range(low, high)):
                    continue
                for category, value in _han_entries()[match[0]]:
                    yield category, value, low, high
                    if category in _TAKING:
                        taken.update(range(low, high))
        first, last = self.text.negation_spans[:, 0].searchsorted((self.start, self.end)).tolist()
        for start, end in self.text.negation_spans[first:last].tolist():
            low, high = self._touched(start, end)
            if not taken & set(range(low, high)):
                yield "forward", None, low, high

    def _touched(self, start: int, end: int) -> tuple[int, int]:
        """The words that ``[start, end)`` touches."""
        low = int(self.text.ends.searchsorted(start, side="right"))
        high = int(self.text.starts.searchsorted(end, side="left"))
        return max(low, self.first), min(max(high, low + 1), self.last)

    def _flips(self) -> dict[int, int]:
        """Words that are negations of another word, beside those that the lists name."""
        found = {}
        for at, word in self.words.items():
            base = _negative_of(word)
            if base is not None:
                found[at] = base
        return found

    def _clauses(self, starts: dict[int, int], ends: dict[int, int]) -> dict[int, int]:
        boundary = {low for category, _, low, _ in self.marks if category == "boundary"}
        clause, found = 0, {}
        for at in range(self.first, self.last):
            if at in boundary or (at > self.first and _CLAUSE_END.search(self.text.folded, ends[at - 1], starts[at])):
                clause += 1
            found[at] = clause
        return found

    # -- scopes ----------------------------------------------------------------------------------------------

    def _supposed(self, found: Reading) -> None:
        """A clause in Han script that ends in a particle supposes something: "whoever gives no notice, …"."""
        for number in sorted(set(self.clause.values())):
            words = [at for at in range(self.first, self.last) if self.clause[at] == number]
            end = int(self.text.ends[words[-1]])
            if self.words[words[-1]] in listed_words("supposes") and self.text.folded[end : end + 1] in ("，", ","):
                found.conditions.append(frozenset(at for at in words if at in self.content))

    def _apply(self, found: Reading, category: str, value: Any, low: int, high: int) -> None:
        if category == "forward":
            self._forward(found, low, high)
        elif category == "clause":
            here = self.clause.get(low)
            scope = tuple(at for at in self.content if self.clause[at] == here and not low <= at < high)
            found.operators.append(Operator(low, scope, -1))
            found.downward.append(frozenset(scope))
        elif category == "restrictor":
            found.downward.append(frozenset(self._range(high)))
        elif category in ("conditional", "downward"):
            found.downward.append(frozenset(self._after(high)))
            found.conditions += found.downward[-1:] if category == "conditional" else []
        elif category == "except":
            self._except(found, low, high)
        elif category == "only":
            found.only.append(low)
        elif category == "or":
            # "A bowling alley (or bowling centre)" is one thing with two names.
            if self.text.folded[: int(self.text.starts[low])].rstrip()[-1:] not in ("(", "（"):
                found.disjunctions.append(low)
        elif category == "passive":
            found.passive = True
        elif category in ("quantity", "frequency", "modality"):
            head = next((at for at in self.content if at >= high), -1)
            found.ranks.append((category, value, head, low))

    def _forward(self, found: Reading, low: int, high: int) -> None:
        kinds = self.text.kind
        own = [at for at in range(low, high) if at in self.content and at not in self.flips]
        inside = [at for at in own if kinds[at] != FUNCTION or at > low]
        # "He can't, because the room is for staff" denies nothing of the room.
        ends = any(mark[0] == "boundary" and mark[2] == high for mark in self.marks)
        following = [at for at in self._after(high) if at not in inside and not ends]
        if self.words[low] in listed_words("narrow"):
            # "Lacks ribosomes and makes lipids".
            joint = min((at for at in range(high, self.last) if self.words[at] in listed_words("and")), default=self.last)
            following = [at for at in following if at < joint]
        end = self._end_of_modifier(low, high, following)
        if end is not None:
            following = [at for at in following if at < end]
            if not inside and not following:
                found.operators.append(Operator(low, (), -1))
                return
        # What the next negation of the clause reaches is its own: "does not work without the battery".
        stop = min((at for at in self.negating if at >= high and not self._flipped(at)), default=self.last)
        scope = tuple([*inside, *(at for at in following if at < stop)][:_REACH])
        whole = (*inside, *following)
        if self.words[low] in listed_words("short"):
            scope, whole = scope[:2], whole[:2]
        elif self.words.get(high) in listed_words("light"):
            # "Refunds are not available" denies the refunds.
            scope = tuple(at for at in self.content if self.clause[at] == self.clause[low])
            found.operators.append(Operator(low, scope, -1))
            found.downward.append(frozenset(scope))
            return
        if not scope:
            scope = tuple(at for at in self.content if at < low and self.clause[at] == self.clause[low])
        if scope:
            found.operators.append(Operator(low, scope, -1 if self.words[low] in listed_words("subject") else scope[0]))
            found.downward.append(frozenset(whole or scope))

    def _end_of_modifier(self, low: int, high: int, following: list[int]) -> int | None:
        """Where a negation inside a modifier ends, which in Chinese stands before a subject that the predicate then speaks of
        freely ("leave not taken can be kept"); None where it denies the predicate."""
        here = self.clause[low]
        predicates = [at for at in (*self.predicating, *self.negating) if at > low and self.clause[at] == here]
        particle = next((at for at in range(high, self.last) if self.words[at] in listed_words("relative")), self.last)
        if any(at > particle for at in predicates):
            return particle
        if any(at >= high for at in predicates) and self.words[low].startswith(tuple(listed_words("attributive"))):
            # Without a particle: of the verb alone, which the segmenter may have glued to the negation.
            return high if self.words[low] not in listed_words("attributive") or not following else following[0] + 1
        return None

    def _flipped(self, at: int) -> bool:
        """Whether a word is negated by its own form (unable): a negation before it reaches it."""
        return at in self.flips

    def _opens(self, low: int, high: int) -> bool:
        """Whether words open the sentence, or what is said after "A:", and are parted from what follows."""
        start, end = int(self.text.starts[low]), int(self.text.ends[high - 1])
        first = low == self.first or (
            start - self.start <= 9 and self.text.folded[self.start : start].rstrip().endswith((":", "："))
        )
        return first and high < self.last and _PARTICLE_END.match(self.text.folded, end, self.end) is not None

    def _after(self, at: int) -> list[int]:
        """The content words from ``at`` to the end of the clause."""
        if at >= self.last:
            return []
        here = self.clause[at]
        return [word for word in self.content if word >= at and self.clause[word] == here]

    def _range(self, at: int) -> list[int]:
        """What a quantifier at ``at`` ranges over: up to the predicate."""
        stop = min((low for low in self.predicating if low >= at), default=self.last)
        return [word for word in self._after(at) if word < min(stop, at + _RANGE)]

    def _except(self, found: Reading, low: int, high: int) -> None:
        if _HAN_WORD.match(self.words[low]):
            excepted = self._until_outside(high) or tuple(self._after(high))
        else:
            excepted = tuple(self._after(high))
        here = self.clause[low]
        after_subject = any(at < low and self.clause[at] == here for at in self.content)
        written = self.text.folded[int(self.text.starts[low]) : int(self.text.ends[high - 1])]
        if after_subject and written in listed_words("denying"):
            return  # "the price does not include tax" denies; "all of it, not including tax" excepts
        near = {here} if after_subject else {here, here + 1, here - 1}
        rest = tuple(at for at in self.content if at not in excepted and self.clause[at] in near)
        if excepted and rest:
            found.operators.append(Operator(low, rest, -1, excepted))

    def _until_outside(self, high: int) -> tuple[int, ...]:
        """The words of a Chinese exception: up to the word that closes it, which the segmenter may glue to the last."""
        start = int(self.text.starts[high]) if high < self.last else self.end
        closing = _closing().search(self.text.folded, start, self.end)
        if closing is None:
            return ()
        return tuple(at for at in self.content if high <= at and int(self.text.starts[at]) < closing.start())

    def _answered(self, found: Reading) -> None:
        """A question says nothing, unless the next sentence begins with yes or no."""
        if not _question_end().search(self.text.text[self.start : self.end]):
            return
        answer = 0
        if self.sentence + 1 < len(self.text.bounds):
            start, end = self.text.bounds[self.sentence + 1].tolist()
            answer = answered(self.text.folded[start:end])
        found.asks = answer == 0
        if answer < 0:
            found.operators.append(Operator(self.first, tuple(self.content), -1))


def answered(text: str) -> int:
    """1 for a text that opens with yes, -1 for one that opens with no, else 0."""
    yes, no = _answers()
    text = _answer_head().sub("", text)
    if no.match(text):
        return -1
    return 1 if yes.match(text) else 0


# ---------------------------------------------------------------- the listed words


@cache
def _answers() -> tuple[re.Pattern[str], re.Pattern[str]]:
    def pattern(name: str) -> re.Pattern[str]:
        words = sorted((w for table in tables("polarity") for w in table["words"][name].split()), key=len, reverse=True)
        return re.compile(rf"(?:{'|'.join(map(re.escape, words))})(?=$|[\s,，。.!！;；:：—-])")

    return pattern("yes"), pattern("no")


def _listed() -> Iterator[tuple[str, str, Any]]:
    """(expression, category, value) of all lists."""
    for table in tables("polarity"):
        for category in ("forward", "clause", "restrictor", "conditional", "downward", "predicate", "boundary", "except",
                         "harmless"):  # fmt: skip
            for word in table[category].split():
                yield word, category, None
        for scale, levels in table["scales"].items():
            for rank, level in enumerate(levels.split(" | ")):
                for word in level.split():
                    yield word, scale, rank + 1
        for category in ("only", "passive", "or"):
            for word in table["words"][category].split():
                yield word, category, None


@cache
def _entries() -> dict[str, list[tuple[tuple[str, ...], list[tuple[str, Any]]]]]:
    """First word of a Latin expression → its expressions, longest first, with their meanings."""
    meanings: dict[tuple[str, ...], list[tuple[str, Any]]] = {}
    for word, category, value in _listed():
        if not _HAN_WORD.match(word):
            meanings.setdefault(tuple(word.split("_")), []).append((category, value))
    found: dict[str, list[tuple[tuple[str, ...], list[tuple[str, Any]]]]] = {}
    for words in sorted(meanings, key=len, reverse=True):
        found.setdefault(words[0], []).append((words, meanings[words]))
    return found


@cache
def _han_entries() -> dict[str, list[tuple[str, Any]]]:
    found: dict[str, list[tuple[str, Any]]] = {}
    for word, category, value in _listed():
        if _HAN_WORD.match(word):
            found.setdefault(word, []).append((category, value))
    return found


@cache
def _han_pattern() -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(_han_entries(), key=len, reverse=True))))


@cache
def _negatives() -> dict[str, int]:
    """A word that negates another → the id of the other."""
    found = {}
    for table in tables("polarity"):
        for line in table["negative"].strip().splitlines():
            words, base = line.split(" : ")
            found.update({word: word_id(base) for word in words.split()})
    return found


def _words(name: str) -> list[str]:
    return [word for table in tables("polarity") for word in table["words"][name].split()]


@cache
def _question_end() -> re.Pattern[str]:
    return re.compile(rf"[?？][\s\"'”’)）*]*$|(?:{'|'.join(map(re.escape, _words('question_end')))})[。.]?\s*$")


@cache
def _answer_head() -> re.Pattern[str]:
    return re.compile(rf"^\s*(?:{'|'.join(map(re.escape, _words('answer_head')))})\s*[:：.]\s*")


@cache
def listed_words(name: str) -> frozenset[str]:
    """The words of one list of ``[words]``, of all languages; what each list means is said in the tables."""
    return frozenset(_words(name))


@cache
def _closing() -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, _words("except_end"))))


@cache
def _not_un() -> frozenset[str]:
    return frozenset(word for table in tables("polarity") for word in table["not_un"].split())


@lru_cache(maxsize=65536)
def _negative_of(word: str) -> int | None:
    """Id of the word that a folded word negates: listed, or formed with un- from a known word."""
    listed = _negatives().get(word)
    if listed is not None:
        return listed
    if word.startswith("un") and len(word) >= 6 and word not in _not_un() and rarity(word[2:]) < RAREST:
        return word_id(word[2:])
    return None
