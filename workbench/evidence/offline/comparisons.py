"""Which of two things is more, which of two comes first, what has taken the place of what, and which goes with which.

"Ann is taller than Bob, Bob is taller than Carl" tells that Ann is taller than Carl, that Carl is shorter than Ann, and
that Carl is not taller than Ann. "Switch it off before you clean it" tells that cleaning comes after, in whatever words.
"They moved from Leeds to York" tells that they are in Leeds no longer. "Ann and Bob are 20 and 19 years old, respectively"
tells that Bob is 19. "Ann (1935–1977)" tells when she was born and when she died. "It holds only three tools" tells that it
does not hold a hammer, a saw, a drill and a file.
The patterns are those of the languages' ``polarity.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from workbench.data.text.words import normalise, stem
from workbench.evidence.offline.lexicon import lexicon, tables
from workbench.evidence.offline.words import FUNCTION, NUMBER, analyse, word_id

#: Characters of a claim, or of a claim and a sentence, up to which they are read for what they compare: longer ones are no
#: sentences, and patterns with several open ends take time that grows with the square of the length.
LONGEST = 1000
#: (greater, lesser, quality, whether strictly)
Order = tuple[str, str, int, bool]


def ordered(claim: str, text: str) -> int:
    """1 when the comparatives of ``text`` tell the one of ``claim``, -1 when they tell the reverse, else 0."""
    if not _cue().search(claim) or not _cue().search(text):
        return 0
    mine = comparatives(claim)
    if len(mine) == 0:
        return 0
    found = [_told(one, comparatives(text)) for one in mine]
    return -1 if -1 in found else int(all(one == 1 for one in found))


@lru_cache(maxsize=4096)
def comparatives(text: str, *, nouns: bool = False) -> tuple[Order, ...]:
    """The comparatives of a text; "less" and opposites are turned round, so that one quality is one direction. With ``nouns``
    also those of what two things have ("has a longer notice period than"), whose names then hold the verb, perhaps."""
    found: list[Order] = []
    folded = normalise(text) if len(text) <= LONGEST else ""
    for more, level, noun, parts in _patterns():
        for pattern, strict in ((more, True), (level, False), *(((noun, True),) if nouns else ())):
            for match in pattern.finditer(folded):
                how, turned = quality(match["how"])
                left = [_name(match["left"])]
                right = [name for name in map(_name, parts.split(match["right"])) if name]
                pairs = [(a, b) for a in left for b in right]
                found += [(b, a, how, strict) if turned else (a, b, how, strict) for a, b in pairs]
    return tuple(found)


def sequence_reversed(claim: str, sentence: str) -> bool:
    """Whether a sentence tells the two steps of a claim in the other sequence.

    Half of the content words of each step of the claim stand in the opposite step of the sentence, and none of one of
    them in its own.
    """
    mine, theirs = steps(claim), steps(sentence)
    return any(
        2 * len(first & later) >= len(first)
        and 2 * len(then & earlier) >= len(then)
        and not (first & earlier and then & later)
        for first, then in mine
        for earlier, later in theirs
    )


@lru_cache(maxsize=4096)
def steps(text: str) -> tuple[tuple[frozenset[int], frozenset[int]], ...]:
    """(what comes first, what then) of a text, each as ids of content words that the other has not."""
    found = []
    for cue, orders in _sequences():
        folded = normalise(text) if cue.search(text) else ""
        for pattern in orders:
            if match := pattern.search(folded):
                first, then = (_content(match[name]) for name in ("first", "then"))
                if first - then and then - first:
                    found.append((first - then, then - first))
                    break
    return tuple(found)


def out_of_order(claim: str, text: str) -> bool:
    """Whether a claim tells steps ("first …, then …, finally …") in another order than a text that orders them, too.

    A step of the claim is the clause of the text that has most of its content words, and more than half of them.
    """
    for marks in _markers():
        mine = _marked(marks, normalise(claim)) if len(marks.findall(normalise(claim))) > 1 else []
        theirs = _marked(marks, normalise(text)) if len(mine) > 1 and marks.search(normalise(text)) else []
        places = []
        for step in mine:
            shares = [len(step & other) / len(step) for other in theirs]
            best = max(shares, default=0.0)
            if best > 0.5 and shares.count(best) == 1:
                places.append(shares.index(best))
        if len(places) > 1 and places != sorted(places):
            return True
    return False


def _marked(marks: re.Pattern[str], folded: str) -> list[frozenset[int]]:
    """The content words of each clause of a text, as its marks of order and its stops cut it."""
    pieces = (_content(piece) for cut in marks.split(folded) for piece in re.split(r"[。.;；，,](?!\d)", cut))
    return [piece for piece in pieces if len(piece) > 1]


def other_cause(claim: str, question: str, sentence: str) -> tuple[str, str] | None:
    """(cause of the claim, of the sentence) where both give a cause of one thing, in the words of the claim or the question,
    and have no word of it in common; else None."""
    for causes in _causes() if len(claim) + len(sentence) <= LONGEST else ():
        mine, theirs = _cause(causes, normalise(claim)), _cause(causes, normalise(sentence))
        if mine is None or theirs is None:
            continue
        effect, cause = _content(mine["effect"] or ""), _content(mine["cause"])
        their_effect, their_cause = _content(theirs["effect"] or ""), _content(theirs["cause"])
        known = effect | _content(normalise(question))
        same = their_effect and 2 * len(their_effect & known) >= len(their_effect)
        if same and cause and their_cause and not cause & (their_cause | their_effect):
            return mine["cause"], theirs["cause"]
    return None


def _cause(causes: Sequence[re.Pattern[str]], folded: str) -> re.Match[str] | None:
    return next((match for form in causes if (match := form.search(folded))), None)


def turned_round(claim: str, sentence: str) -> bool:
    """Whether a claim tells of a way from where a sentence says that it leads to, and to somewhere else: from the archive to
    the drive, where things are moved to the archive."""
    for ways in _ways() if len(claim) + len(sentence) <= LONGEST else ():
        said = [(_content(m["start"]), _content(m["end"])) for m in ways[0].finditer(normalise(claim))]
        ends = [_content(m["end"]) for way in ways for m in way.finditer(normalise(sentence))] if said else []
        there = _content(sentence) if said else frozenset()
        for start, end in said:
            # What moved on from where it had been moved to before has not turned round: the sentence must name both.
            if any(start & other for other in ends) and not any(end & other for other in ends) and end & there:
                return True
    return False


def superseded(claim: str, sentence: str) -> tuple[str, str] | None:
    """(old, new) where a sentence tells that something has given way to another thing and the claim says that it is still so;
    None where it does not, or speaks of the past."""
    for forms, past in _changes():
        found = [match for form in forms for match in form.finditer(normalise(sentence))]
        said = normalise(claim) if found else ""
        for match in found:
            old, new = (re.compile(rf"(?<![a-z0-9]){re.escape(match[name].strip())}(?![a-z0-9])") for name in ("old", "new"))
            if old.search(said) and not new.search(said) and not past.search(said):
                return match["old"].strip(), match["new"].strip()
    return None


def paired(claim: str, sentence: str) -> int:
    """1 when the claim pairs what ``sentence`` pairs by "respectively", -1 when it takes another of the same list, else 0."""
    lists = _lists(sentence)
    if lists is None:
        return 0
    said = frozenset(analyse(claim).ids.tolist())
    mine = [[at for at, item in enumerate(items) if item <= said] for items in lists]
    if any(len(found) != 1 for found in mine):
        return 0
    return 1 if mine[0] == mine[1] else -1


@lru_cache(maxsize=4096)
def _lists(sentence: str) -> tuple[tuple[frozenset[int], ...], tuple[frozenset[int], ...]] | None:
    """The two lists, of one length, whose items "respectively" pairs: ids of the content words of each item."""
    cue = _respectively().search(normalise(sentence))
    if cue is None:
        return None
    text = analyse(sentence)
    joints = _joints()
    found: list[tuple[int, list[frozenset[int]]]] = []
    items: list[frozenset[int]] = []
    item: set[int] = set()
    joined = False
    end = 0
    for start, stop, number, kind in zip(text.starts, text.ends, text.ids.tolist(), text.kind, strict=True):
        word, gap = text.folded[start:stop], text.folded[end:start].strip()
        parts = word in joints or gap in joints or gap in (",", "，")
        # "Basic and Pro hold 10 and 50 GB": no function word stands between the lists.
        second = kind == NUMBER and joined and bool(item)
        if parts or kind == FUNCTION or gap or second or cue.start() <= start < cue.end():
            items += [frozenset(item)] if item else []
            item = set()
            joined |= word in joints or gap in joints
            if not parts:
                found += [(int(start), items)] if joined and len(items) > 1 else []
                items, joined = [], False
        if kind != FUNCTION and word not in joints and not cue.start() <= start < cue.end():
            item.add(number)
        end = stop
    items += [frozenset(item)] if item else []
    found += [(end, items)] if joined and len(items) > 1 else []
    before = [some for at, some in found if at <= cue.start() + 1]
    after = [some for at, some in found if at > cue.start() + 1]
    chosen = (before[-1], after[0]) if before and after else before[-2:]
    if len(chosen) < 2 or len(chosen[0]) < len(chosen[1]):
        return None
    heads, values = chosen  # "At the time, Venus and Serena": what a comma parts may stand before the list
    return tuple(heads[-len(values) :]), tuple(values)


def lifespan(claim: str, sentence: str) -> tuple[int, list[tuple[int, int]]]:
    """Whether a claim dates a birth or a death as the brackets after a name in ``sentence`` do ("(1935–1977)"): 1, or -1 when
    it has the year of the other one, else 0; and where the words for what is told so stand in the claim."""
    told: list[tuple[int, int]] = []
    for forms, dated in _lives():
        found = [(way, match) for way, form in forms for match in form.finditer(claim)]
        span = dated.search(sentence) if found else None
        if span is not None:
            years = int(span["born"]), int(span["died"])
            for way, match in found:
                said = int(match["year"])
                if said == years[1 - way] != years[way]:
                    return -1, []
                told += [match.span("word")] if said == years[way] else []
    return int(bool(told)), told


def outnumbered(items: Sequence[str], sentence: str) -> tuple[str, str] | None:
    """(the list, the words for their number) where the items that a claim lists are more than ``sentence`` tells that there
    are only; None where they are not. What stands before the number must stand in the claim."""
    folded = normalise(sentence)
    found = [match for limited in _limits() for match in limited.finditer(folded)]
    told = [quantity.value for match in found for quantity in analyse(match["number"]).quantities[:1] if quantity.value]
    if not found or len(told) < len(found) or max(told) >= len(items):
        return None
    about = _content(folded[: found[0].start("number")])
    listed = ", ".join(items)
    return (listed[:80], found[0][0]) if about and about <= _content(listed) else None


@cache
def _lives() -> tuple[tuple[tuple[tuple[int, re.Pattern[str]], ...], re.Pattern[str]], ...]:
    """For each language: how a birth (0) and a death (1) are dated in words, and the brackets after a name."""
    found = [table["life"] for table in tables("polarity")]
    forms = [[(way, re.compile(form, re.I)) for way, name in enumerate(("born", "died")) for form in t[name]] for t in found]
    return tuple((tuple(some), re.compile(t["brackets"])) for some, t in zip(forms, found, strict=True))


@cache
def _limits() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(table["limit"]["only"]) for table in tables("polarity"))


@cache
def _respectively() -> re.Pattern[str]:
    return re.compile("|".join(word for table in tables("polarity") for word in table["words"]["respectively"].split()))


@cache
def _joints() -> frozenset[str]:
    return frozenset(word for table in tables("polarity") for word in table["words"]["and"].split())


def _content(text: str) -> frozenset[int]:
    words = analyse(text)
    return frozenset(words.ids[words.kind != FUNCTION].tolist())


def _told(one: Order, told: tuple[Order, ...]) -> int:
    greater, lesser, quality, strict = one
    above: dict[str, set[str]] = {}
    for a, b, how, is_strict in told:
        if how == quality:
            above.setdefault(a, set()).add(b)
            if not is_strict:
                above.setdefault(b, set()).add(a)
    if _reaches(above, greater, lesser):
        return 1
    return -1 if strict and _reaches(above, lesser, greater) else 0


def _reaches(above: dict[str, set[str]], start: str, end: str) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        for other in above.get(waiting.pop(), ()):
            if other == end:
                return True
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return False


def quality(how: str) -> tuple[int, bool]:
    """(quality, whether turned) of a comparative: taller and shorter are one quality, the one with the lower id."""
    words = {"less": "less more", "fewer": "less more"}.get(how, how).split()
    turned = words[0] == "less"
    word = words[-1]
    number, others = word_id(word), lexicon().opposites.get(word_id(word), frozenset())
    if not others and word.endswith("er"):
        base = word_id(stem(word[:-2]))
        number, others = base, lexicon().opposites.get(base, frozenset())
    # Several words may face several others: all of one side are one end of the quality.
    same = {number}.union(*(lexicon().opposites.get(other, frozenset()) for other in others)) - others
    lowest = min(same | others)
    return lowest, turned != (lowest in others)


def _name(words: str) -> str:
    return re.sub(r"^(?:the|a|an|and|that|so) ", "", words.strip()).strip()


@cache
def _cue() -> re.Pattern[str]:
    return re.compile("|".join(table["comparison"]["cue"] for table in tables("polarity")))


@cache
def _sequences() -> tuple[tuple[re.Pattern[str], tuple[re.Pattern[str], ...]], ...]:
    found = [table["sequence"] for table in tables("polarity")]
    return tuple((re.compile(t["cue"], re.I), tuple(map(re.compile, t["orders"]))) for t in found)


@cache
def _causes() -> tuple[tuple[re.Pattern[str], ...], ...]:
    return tuple(tuple(map(re.compile, table["sequence"]["causes"])) for table in tables("polarity"))


@cache
def _markers() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(table["sequence"]["marks"]) for table in tables("polarity"))


@cache
def _ways() -> tuple[tuple[re.Pattern[str], ...], ...]:
    """For each language how a way is told: with both of its ends, and with its end alone."""
    return tuple(tuple(map(re.compile, table["sequence"]["ways"])) for table in tables("polarity"))


@cache
def _changes() -> tuple[tuple[tuple[re.Pattern[str], ...], re.Pattern[str]], ...]:
    found = [table["change"] for table in tables("polarity")]
    return tuple((tuple(map(re.compile, t["forms"])), re.compile(t["past"])) for t in found)


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], ...], ...]:
    found = [table["comparison"] for table in tables("polarity")]
    return tuple(tuple(re.compile(t[name]) for name in ("more", "level", "noun", "parts")) for t in found)
