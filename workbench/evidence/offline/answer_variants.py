"""The ways to read one reference: without what its point does not need, in another form of its name, its value alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import pairwise

from workbench.data.text.normalise import HAN, HAN_CHARACTER
from workbench.data.text.quantities import date_parts, same_quantity
from workbench.data.text.words import normalise
from workbench.evidence.offline.answer_reading import Reading, any_of, bounded, cleaned, is_han, listed, read
from workbench.evidence.offline.answer_values import clause_starts, empty_characters
from workbench.evidence.offline.claims import bare_values
from workbench.language import pattern

_BRACKETS = re.compile(r"\s*[（(\[][^（()）\[\]]*[)）\]]\s*")


def variants(question: str, reference: str) -> list[str]:
    """The ways to read a reference: as it is, and what is left of it without what its point does not need.

    That is what stands in brackets, a title, the clause that says more of the value that the question asks for; a name
    that has another form is read in that, too.
    """
    kind = asked_kind(question)
    inverted = _inverted(reference) if kind == "person" else None
    if inverted:
        return [inverted]
    found = list(_plain_variants(reference))
    found += _telling(question, reference)
    asks = _asks_for(question)
    return found + [value for value in (_value_alone(reference) if asks else ()) if asks == "value" or _is_named(value)]


@lru_cache(maxsize=16384)
def _plain_variants(reference: str) -> tuple[str, ...]:
    whole = cleaned(reference) or reference
    plain = _BRACKETS.sub(" ", whole).strip()
    noted = _remark().search(plain)
    plain = plain[: noted.start()].strip() if noted and noted.start() else plain
    found = [whole, plain, *(_untitled().sub("", text).strip() for text in (whole, plain)), _ending().sub("", plain).strip()]
    found += _either(plain)
    items = [item.strip() for item in re.split("[,，]", plain)]
    named = [item for item in items if not is_beside(item)]
    if 0 < len(named) < len(items):
        found.append(", ".join(named))
    for tail, form in (entry.split("=") for entry in listed("names", "shortened")):
        if plain.endswith(tail) and len(plain) > len(tail) + 2:
            found.append(plain[: -len(tail)] + form)
    for text in (whole, plain):
        for name, others in _other_names().items():
            pattern = _name_pattern(name)
            if name in text.lower() and pattern.search(text):
                found += [pattern.sub(_written(other), text) for other in others]
    if "·" in plain and all(HAN_CHARACTER.match(c) or c == "·" for c in plain):
        found.append(plain.rpartition("·")[2])  # the family name of a transcribed name
    return tuple(text for text in dict.fromkeys(found) if text == whole or re.search(r"\w", text))


def _inverted(name: str) -> str | None:
    """A name whose last part stands first (Dane, Carl) in its usual order; None for any other text."""
    match = re.fullmatch(r"([A-Z][\w’'-]+), ((?:[A-Z][\w’'-]*\.? ?){1,3})", name.strip())
    return f"{match[2].strip()} {match[1]}" if match and not _ending().search(name) else None


@cache
def _remark() -> re.Pattern[str]:
    """The head of a remark after a value."""
    return re.compile(rf"[\s,;.，；。](?:{'|'.join(map(bounded, listed('wrapping', 'remark')))})\s*[:：]", re.IGNORECASE)


@cache
def _ending() -> re.Pattern[str]:
    """What ends a name and is no part of it; in Han script after two characters or more."""
    latin = "|".join(re.escape(entry) for entry in listed("names", "endings") if entry.isascii())
    other = "|".join(re.escape(entry) for entry in listed("names", "endings") if not entry.isascii())
    return re.compile(rf",?\s+(?:{latin})$" + (rf"|(?<=[{HAN}]{{2}})(?:{other})$" if other else ""), re.IGNORECASE)


def is_beside(part: str) -> bool:
    """Whether an item only says who the one before is (his wife, King of Veria)."""
    roles = "|".join(map(re.escape, filter(None, listed("names", "after"))))
    beside = "|".join(map(bounded, filter(None, listed("names", "beside"))))
    return re.match(rf"(?:{beside})|(?:{roles})\s+of\b", part.lower()) is not None


def _either(value: str) -> list[str]:
    """The values of which a short reference says that any one will do; none where they are quantities."""
    joins = any_of(("wrapping", "either"))
    clause = any_of(("joining", "clause")).search(value.lower())
    short = len(value) * (2 if is_han(value) else 1) <= SHORT_VALUE
    if not short or not joins.search(value.lower()) or read(value).numbers or clause:
        return []
    parts = [part.strip() for part in re.split(rf"[,，、]|{joins.pattern}", value, flags=re.IGNORECASE)]
    parts = [part for part in parts if re.search(r"\w", part)]
    return parts if len(parts) > 1 and all(len(part.split()) <= 3 for part in parts) else []


def _telling(question: str, reference: str) -> list[str]:
    """What of a reference of several statements or clauses tells what the one question asks for: the sentences, where others
    do not, and the clause that repeats most of the question, where it is one."""
    kind = asked_kind(question)
    spans = read(reference).statements
    if not kind or len(spans) > MOST_SENTENCES or (len(spans) == 1 and len(read(reference).words) <= SHORT_SENTENCE):
        return []
    asked = read(question)
    tell = [reference[start:end] for start, end in spans if tells(kind, reference[start:end], asked)]
    found = [" ".join(tell)] if 0 < len(tell) < len(spans) else []
    if kind != "time" and tell and found:
        found.append(_undated(found[0]))
    times = [number.text for number in read(" ".join(tell)).numbers] if kind == "time" else []
    if 1 < len(times) <= 3:
        found.append(", ".join(times))
    clauses = [part for text in tell for part in _clauses(text) if tells(kind, part, asked)]
    shared = [_repeats(asked, read(part)) for part in clauses]
    if len(clauses) > 1 and shared.count(most := max(shared)) == 1 and most:
        found.append(clauses[shared.index(most)])
    elif len(clauses) == 1 and len(read(clauses[0]).words) > 1:
        found += clauses
    return found


def _undated(text: str) -> str:
    """A text without its quantities and the word that leads to each."""
    before = "|".join(map(bounded, listed("joining", "leading")))
    for number in sorted(read(text).numbers, key=lambda n: -n.start):
        head = re.sub(rf"(?:{before})\s*$", "", text[: number.start], flags=re.IGNORECASE)
        text = head.rstrip() + text[number.end :]
    return text


def _repeats(asked: Reading, part: Reading) -> int:
    """How many words of a question a clause repeats; of Han script, characters."""
    if part.han and asked.han:
        return len(set(asked.squashed) & set(part.squashed) - empty_characters())
    return sum(asked.holds(word, root) for word, root in zip(part.words, part.stems, strict=True))


def _clauses(text: str) -> list[str]:
    starts = sorted({*clause_starts(text), *(match.end() for match in re.finditer("，", text)), len(text)})
    return [text[start:end].strip(" ,，;；.。、") for start, end in pairwise(starts)]


@lru_cache(maxsize=4096)
def asked_kind(question: str) -> str:
    """``time``, ``person`` or ``place`` where a question asks for that alone; else empty."""
    folded = normalise(question)
    if len(pattern("offline", "(?:«interrogative»)").findall(folded)) > 1 or any_of(("asked", "more")).search(folded):
        return ""
    if pattern("offline", "«asks_reason»|«asks_duration»|«asks_count»|«asks_way»").search(folded):
        return ""
    kinds = ("time", "person", "place")
    found = [kind for kind in kinds if pattern("offline", f"«asks_{kind}»").search(folded)]
    return found[0] if len(found) == 1 else ""


def tells(kind: str, text: str, asked: Reading) -> bool:
    """Whether a text gives a time, or a name, that the question does not have."""
    told = read(text)
    if kind == "time":
        new = (n for n in told.numbers if not any(same_quantity(n, other) for other in asked.numbers))
        return any(n.kind in ("date", "time", "duration") or date_parts(n) or n.value is None for n in new)
    if told.han:  # names in Han script are not told from other words
        markers = any_of(("asked", f"tells_{kind}")).finditer(told.folded)
        return any(match.end() < len(told.folded) for match in markers)
    named = zip(told.words, told.stems, told.capital, strict=True)
    return any(capital and not asked.holds(word, root) for word, root, capital in named)


def _written(name: str) -> str:
    """A listed name as it is written: initials and Roman numerals in capitals."""
    return name.upper() if len(name) <= 4 else re.sub(r"\bI[iv]+\b", lambda match: match[0].upper(), name.title())


@cache
def _untitled() -> re.Pattern[str]:
    """Titles before a name, or in Han script after one of two characters or more."""
    before = "|".join(map(re.escape, filter(None, listed("names", "titles"))))
    after = "|".join(map(re.escape, filter(None, listed("names", "after"))))
    return re.compile(rf"^(?:(?:{before})\s+)+(?=[^\W\d_])|(?<=^[{HAN}]{{2}})(?:{after})$|(?<=^[{HAN}]{{3}})(?:{after})$"
                      rf"|(?<=^[{HAN}]{{4}})(?:{after})$", re.IGNORECASE)  # fmt: skip


@cache
def _other_names() -> Mapping[str, tuple[str, ...]]:
    groups = [tuple(group.split("=")) for group in listed("names", "same")]
    return {name: tuple(other for other in group if other != name) for group in groups for name in group}


@cache
def _name_pattern(name: str) -> re.Pattern[str]:
    return re.compile(bounded(name) if name[-1] != "." else bounded(name[:-1]) + r"\.", re.IGNORECASE)


#: A reference of more words may tell more than what is asked for.
SHORT_SENTENCE = 4
#: One of more sentences is an answer at length, which is wanted as a whole.
MOST_SENTENCES = 3
#: A value of so many characters (of Han script: half as many) may have something added to it.
SHORT_VALUE = 60


@lru_cache(maxsize=16384)
def _value_alone(reference: str) -> tuple[str, ...]:
    """The value that a reference begins with, where it goes on to say something about it."""
    match = _added().search(reference)
    counted = re.match(r"[^:：]{1,30}(?=[:：])", reference)
    if counted and read(counted[0]).numbers:
        match = re.compile("[:：]").search(reference)  # "Three: Rome, Milan and Turin"
    if match is None:
        return ()
    value = reference[: match.start()].strip()
    if match[0].strip() in (".", "。") and not bare_values(value):
        return ()  # a statement, after which another one follows
    if not re.search(r"\w", value) or len(value) * (2 if is_han(value) else 1) > SHORT_VALUE:
        return ()
    return (value,)


@cache
def _added() -> re.Pattern[str]:
    """A relative clause, or a sentence of its own."""
    adds = [entry for entry in listed("asked", "adds") if entry]
    latin = "|".join(re.escape(entry) for entry in adds if entry[0].isascii())
    other = "|".join(re.escape(entry) for entry in adds if not entry[0].isascii())
    return re.compile(rf",\s+(?:{latin})\b|[，,](?:{other})|(?<=[^\W\d_]{{3}})\.\s+(?=[A-Z])|。(?=.)")


@lru_cache(maxsize=4096)
def _asks_for(question: str) -> str:
    """``value`` where a question asks for one value (a person, a place, a time, a number), ``thing`` where it asks which or
    what one thing is, which its name tells; else empty."""
    folded = normalise(question)
    if any_of(("asked", "more")).search(folded):
        return ""
    values = {match.start() for match in any_of(("asked", "value")).finditer(folded)}
    things = {match.start() for match in any_of(("asked", "beside")).finditer(folded)}
    return "value" if len(values) == 1 else "thing" if not values and len(things) == 1 else ""


def _is_named(value: str) -> bool:
    """Whether a value is a name or a quantity alone."""
    told = read(value)
    return all(told.capital) and all(word[0].isalnum() for word in told.words)
