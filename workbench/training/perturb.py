"""Statements that a text supports, and the same with one thing changed so that it does not: training and test material.

From a paragraph one sentence is taken and one part of it is changed: a number, a date, a name (by another of the same
paragraph, or a foreign one), a word, a negation, a listed opposite. The changed span is kept, so that judging single
words can be trained and tested too. English and Chinese alike; the same seed gives the same examples.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from workbench.data.text.markers import negations
from workbench.data.text.quantities import Entity, Quantity, contains_quantity, quantities
from workbench.data.text.sentences import sentences
from workbench.evidence.offline.contradiction import opposite_words
from workbench.evidence.offline.lexicon import tables
from workbench.evidence.offline.words import TERM, Analysis, analyse

#: Kinds of change, in the order they are tried in turn. ``none`` leaves the statement as it is, ``shortened`` keeps a
#: part of it, ``merged`` makes one statement of two sentences; all three are supported.
CHANGES = ("number", "date", "name_same_text", "name_foreign", "term_same_text", "term_foreign", "negation", "antonym")
#: Further kinds of change: another strength, two parts exchanged, a detail from elsewhere.
MORE_CHANGES = ("strength", "role_swap", "added_detail", "negation", "antonym")
KEPT = ("none", "shortened", "merged")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement about ``evidence``, ``supported`` or changed at ``[start, end)`` (both 0 when not changed)."""

    text: str
    evidence: str
    supported: bool
    change: str
    start: int = 0
    end: int = 0
    group: int = 0


def statements(
    paragraphs: Sequence[str], seed: int = 0, per_paragraph: int = 4, changes: Sequence[str] = CHANGES
) -> list[Statement]:
    """Supported and changed statements for each paragraph, about as many of one as of the other.

    Parameters
    ----------
    paragraphs
        Texts of several sentences in one language; ``Statement.group`` is the number of the paragraph.
    per_paragraph
        Sentences taken from each; every sentence gives one supported statement and one changed one where any change
        is possible. Changes take turns, so that each kind gets its share.
    """
    chance = random.Random(seed)
    analysed = [analyse(text) for text in paragraphs]
    turn = 0
    made: list[Statement] = []
    for number, text in enumerate(analysed):
        foreign = analysed[(number + 1 + chance.randrange(max(1, len(analysed) - 1))) % len(analysed)]
        for sentence in _chosen(text, per_paragraph, chance):
            made.append(_kept(sentence, text, number, chance))
            for offset in range(len(changes)):
                kind = changes[(turn + offset) % len(changes)]
                changed = _CHANGERS[kind](sentence, text, foreign, chance)
                if changed is not None:
                    body, start, end = changed
                    made.append(Statement(body, text.text, False, kind, start, end, number))
                    turn += offset + 1
                    break
    return made


_Changed = tuple[str, int, int]


def _chosen(text: Analysis, n: int, chance: random.Random) -> list[str]:
    least = 14 if _is_chinese(text.text) else 40
    long = [s.text for s in sentences(text.text) if least <= len(s.text) <= 400]
    return chance.sample(long, min(n, len(long)))


def _is_chinese(text: str) -> bool:
    return re.search("[\u4e00-\u9fff]", text) is not None


def _kept(sentence: str, text: Analysis, group: int, chance: random.Random) -> Statement:
    """The sentence as it is, without what follows its last comma, or with another sentence of the text joined to it."""
    chinese = _is_chinese(sentence)
    commas = [match.start() for match in re.finditer(r"[,，](?!\d)", sentence)]
    cut = commas[-1] if commas else 0
    way = chance.random()
    if way < 0.33 and cut > len(sentence) * 0.4:
        return Statement(sentence[:cut] + ("。" if chinese else "."), text.text, True, "shortened", group=group)
    others = [s.text for s in sentences(text.text) if s.text != sentence and len(s.text) < 250]
    if way > 0.67 and others:
        joint = "，" if chinese else ", and "
        merged = sentence.rstrip("。.") + joint + chance.choice(others)
        return Statement(merged, text.text, True, "merged", group=group)
    return Statement(sentence, text.text, True, "none", group=group)


def _replaced(sentence: str, start: int, end: int, instead: str) -> _Changed:
    return sentence[:start] + instead + sentence[end:], start, start + len(instead)


def _number(sentence: str, text: Analysis, foreign: Analysis, chance: random.Random) -> _Changed | None:
    found = [q for q in quantities(sentence) if q.kind in ("number", "percent", "money", "duration")]
    found = [q for q in found if re.search(r"\d", q.text)]
    return _other_digits(sentence, found, text, chance)


def _date(sentence: str, text: Analysis, foreign: Analysis, chance: random.Random) -> _Changed | None:
    found = [q for q in quantities(sentence) if q.kind == "date" or _is_year(q)]
    return _other_digits(sentence, [q for q in found if re.search(r"\d", q.text)], text, chance)


def _is_year(quantity: Quantity) -> bool:
    return quantity.kind == "number" and re.fullmatch(r"1[5-9]\d\d|20\d\d", quantity.text) is not None


def _other_digits(sentence: str, found: list[Quantity], text: Analysis, chance: random.Random) -> _Changed | None:
    """Another number that does not stand in the text: its last or first digits changed."""
    for quantity in chance.sample(found, len(found)):
        digits = chance.choice(list(re.finditer(r"\d+", quantity.text)))
        for _ in range(8):
            other = _near(digits[0], chance)
            changed = quantity.text[: digits.start()] + other + quantity.text[digits.end() :]
            fresh = quantities(changed)
            if fresh and not contains_quantity(text.quantities, fresh[0]) and other not in text.text:
                return _replaced(sentence, quantity.start, quantity.end, changed)
    return None


def _near(digits: str, chance: random.Random) -> str:
    value, n = int(digits), len(digits)
    large = [7, 11, 18] if n == 4 else [10 ** (n - 1), 2 * 10 ** (n - 1)]
    step = chance.choice([1, 2, 3, 5, *large])
    other = value + step if chance.random() < 0.5 or value <= step else value - step
    return str(other)


def _names_of(text: Analysis) -> list[str]:
    return list(dict.fromkeys(name.text for name in text.names if _is_name(name)))


def _is_name(name: Entity) -> bool:
    return name.kind in ("name", "title") and len(name.text) > 1


def _swap_name(sentence: str, others: list[str], chance: random.Random) -> _Changed | None:
    mine = [name for name in analyse(sentence).names if _is_name(name)]
    for name in chance.sample(mine, len(mine)):
        fitting = [other for other in others if other not in sentence and not _overlap(other, name.text)]
        if fitting:
            return _replaced(sentence, name.start, name.end, chance.choice(fitting))
    return None


def _overlap(a: str, b: str) -> bool:
    """Whether one name is part of the other or they share a word (the same person, perhaps)."""
    words = set(a.lower().split()) & set(b.lower().split())
    return a in b or b in a or bool(words) or (len(a) > 1 and a[:2] == b[:2])


def _name_same_text(sentence: str, text: Analysis, foreign: Analysis, chance: random.Random) -> _Changed | None:
    return _swap_name(sentence, _names_of(text), chance)


def _name_foreign(sentence: str, text: Analysis, foreign: Analysis, chance: random.Random) -> _Changed | None:
    return _swap_name(sentence, [name for name in _names_of(foreign) if name not in text.text], chance)


def _terms(text: Analysis) -> list[tuple[int, int]]:
    """Offsets of rare content words, those worth exchanging."""
    places = range(len(text.ids))
    return [
        (int(text.starts[at]), int(text.ends[at]))
        for at in places
        if text.kind[at] == TERM and text.weight[at] > 0.6 and text.ends[at] - text.starts[at] > 1
    ]


def _swap_term(sentence: str, others: list[str], chance: random.Random) -> _Changed | None:
    mine = _terms(analyse(sentence))
    for start, end in chance.sample(mine, len(mine)):
        word = sentence[start:end]
        fitting = [w for w in others if (w not in sentence and w[-2:] == word[-2:]) or _alike(w, word)]
        fitting = [w for w in fitting if w.lower() not in sentence.lower()]
        if fitting:
            return _replaced(sentence, start, end, chance.choice(fitting))
    return None


def _alike(word: str, other: str) -> bool:
    """Two Chinese words of one length, or two English ones with the same ending (the same part of speech, mostly)."""
    if _is_chinese(word) != _is_chinese(other):
        return False
    return len(word) == len(other) if _is_chinese(word) else word[-2:] == other[-2:]


def _term_same_text(sentence: str, text: Analysis, foreign: Analysis, chance: random.Random) -> _Changed | None:
    return _swap_term(sentence, [text.text[s:e] for s, e in _terms(text)], chance)


def _term_foreign(sentence: str, text: Analysis, foreign: Analysis, chance: random.Random) -> _Changed | None:
    words = [foreign.text[s:e] for s, e in _terms(foreign)]
    return _swap_term(sentence, [word for word in words if word.lower() not in text.folded], chance)


_ENGLISH_VERB = re.compile(r"\b(is|are|was|were|has|have|had|can|could|will|would|may|should|must)\b(?! not\b|n't)")
_CHINESE_VERB = re.compile("(?<![不没未无])(是|有|会|能|可以|要|在|为|被|包括|需要|属于|成为)(?![不没])")


def _negation(sentence: str, text: Analysis, foreign: Analysis, chance: random.Random) -> _Changed | None:
    if negations(sentence):
        return None
    if _is_chinese(sentence):
        found = list(_CHINESE_VERB.finditer(sentence))
        if not found:
            return None
        match = chance.choice(found)
        instead = "没有" if match[0] == "有" else f"不{match[0]}"
        return _replaced(sentence, match.start(), match.end(), instead)
    found = list(_ENGLISH_VERB.finditer(sentence))
    if not found:
        return None
    match = chance.choice(found)
    return _replaced(sentence, match.end(), match.end(), " not")


def _antonym(sentence: str, text: Analysis, foreign: Analysis, chance: random.Random) -> _Changed | None:
    analysed = analyse(sentence)
    found: list[tuple[int, int, str]] = []
    for start, end in zip(analysed.starts.tolist(), analysed.ends.tolist(), strict=True):
        found.extend((start, end, other) for other in opposite_words(analysed.folded[start:end])[:1])
    found = [item for item in found if item[2].replace("_", " ") not in sentence.lower()]
    if not found:
        return None
    start, end, other = chance.choice(found)
    return _replaced(sentence, start, end, other.replace("_", " "))


def _strength(sentence: str, text: Analysis, foreign: Analysis, chance: random.Random) -> _Changed | None:
    """A weaker quantity, frequency or modality made the strongest of its scale (some → all, 可以 → 必须)."""
    if negations(sentence):
        return None
    found: list[tuple[int, int, str]] = []
    for pattern, strongest in _weaker():
        found += [(m.start(), m.end(), strongest) for m in pattern.finditer(sentence)]
    if not found:
        return None
    return _replaced(sentence, *chance.choice(found))


@cache
def _weaker() -> list[tuple[re.Pattern[str], str]]:
    """For each scale of each language the words of its lower half, and its strongest word."""
    found = []
    for table in tables("polarity"):
        for levels in table["scales"].values():
            steps = [level.split() for level in levels.split(" | ")]
            weaker = [word for step in steps[:-1] for word in step if len(word) > 1]
            bounded = [rf"\b{re.escape(w)}\b" if w.isascii() else re.escape(w) for w in sorted(weaker, key=len, reverse=True)]
            found.append((re.compile("|".join(bounded)), steps[-1][0]))
    return found


def _role_swap(sentence: str, text: Analysis, foreign: Analysis, chance: random.Random) -> _Changed | None:
    """Two names, or two numbers of one kind, exchanged; not those that stand side by side in a list."""
    mine = analyse(sentence)
    names: list[Entity | Quantity] = [n for n in mine.names if _is_name(n)]
    numbers: list[Entity | Quantity] = [q for q in mine.quantities if q.kind == "number" and not _is_year(q)]
    pairs: list[tuple[Entity | Quantity, Entity | Quantity]] = []
    for found in (names, numbers):
        pairs += [
            (a, b)
            for a, b in itertools.pairwise(found)
            if not _overlap(a.text, b.text) and _content_between(mine, a.end, b.start)
        ]
    if not pairs:
        return None
    a, b = chance.choice(pairs)
    changed = sentence[: a.start] + b.text + sentence[a.end : b.start] + a.text + sentence[b.end :]
    return changed, a.start, a.start + len(b.text)


def _content_between(text: Analysis, start: int, end: int) -> bool:
    inside = text.words_between(start, end)
    return bool((text.weight[inside] > 0).any()) if inside.stop > inside.start else False


def _added_detail(sentence: str, text: Analysis, foreign: Analysis, chance: random.Random) -> _Changed | None:
    """A clause about something else joined to the sentence."""
    others = [s.text for s in sentences(foreign.text) if 12 <= len(s.text) <= 160]
    if not others:
        return None
    chinese = _is_chinese(sentence)
    clause = re.split("[,，;；]", chance.choice(others).rstrip("。."))[0]
    head = sentence.rstrip("。.")
    joint = "，" if chinese else ", and "
    return head + joint + clause + ("。" if chinese else "."), len(head), len(head) + len(joint) + len(clause)


_CHANGERS: dict[str, Callable[[str, Analysis, Analysis, random.Random], _Changed | None]] = {
    "number": _number,
    "date": _date,
    "name_same_text": _name_same_text,
    "name_foreign": _name_foreign,
    "term_same_text": _term_same_text,
    "term_foreign": _term_foreign,
    "negation": _negation,
    "antonym": _antonym,
    "strength": _strength,
    "role_swap": _role_swap,
    "added_detail": _added_detail,
}


def counts(made: Sequence[Statement]) -> Iterator[tuple[str, int]]:
    """(change, number of statements), in the order of first appearance."""
    for change in dict.fromkeys(statement.change for statement in made):
        yield change, sum(statement.change == change for statement in made)
