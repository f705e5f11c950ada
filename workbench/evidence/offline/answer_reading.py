"""One text as the judge of answers reads it: what the reader is told, its words, numbers and statements, yes or no.

The words that decide in each language stand in ``answers.toml`` of its language.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import accumulate

from workbench.data.text.normalise import HAN, HAN_CHARACTER, normalise, unaccented
from workbench.data.text.quantities import Quantity, quantities
from workbench.data.text.refusals import refusal
from workbench.data.text.sentences import sentences
from workbench.data.text.words import stem, stop_words, tokens
from workbench.evidence.offline.lexicon import lexicon, word_id
from workbench.evidence.offline.words import RAREST, rarity
from workbench.language import languages, pattern

#: Two words count as alike from this share of common letter trigrams (Dice).
ALIKE = 0.4
#: A word of so many letters has too few trigrams for that: one in common is chance.
SHORT, ALIKE_SHORT = 5, 0.6
#: An answer longer than this is read up to here: what follows adds words by which anything is found.
MAX_CHARACTERS = 6000


# ---------------------------------------------------------------- the words of each language


@cache
def listed(table: str, name: str) -> tuple[str, ...]:
    """The entries of all languages, the longest first."""
    tables = (item.table("answers").get(table, {}) for item in languages())
    entries = [entry for found in tables for entry in found.get(name, "").split("|") if entry]
    return tuple(sorted(dict.fromkeys(entries), key=lambda entry: (-len(entry), entry)))


@cache
def any_of(*names: tuple[str, str]) -> re.Pattern[str]:
    """A pattern of the entries of some tables; Latin ones are bounded by what is no word character."""
    entries = sorted({entry for name in names for entry in listed(*name)}, key=lambda entry: (-len(entry), entry))
    return re.compile("|".join(map(bounded, entries)))


def bounded(entry: str) -> str:
    """The entry as a pattern that cuts no Latin word."""
    before = r"(?<![a-z0-9_])" if entry[0].isascii() and entry[0].isalnum() else ""
    after = r"(?![a-z0-9_])" if entry[-1].isascii() and entry[-1].isalnum() else ""
    return before + re.escape(entry) + after


# ---------------------------------------------------------------- what the reader sees of an answer

_REASONING = r"think(?:ing)?|thoughts?|reason(?:ing)?|reflection|scratchpad|analysis"
_REASONING_BLOCK = re.compile(rf"<({_REASONING})\b[^>]{{0,200}}>.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_REASONING_END = re.compile(rf"\A.*</(?:{_REASONING})\s*>", re.IGNORECASE | re.DOTALL)
_MAY_MARK = re.compile(r"[\[【<#（(]")
_MARKDOWN = re.compile(
    r"\*\*|__(?=\S)|`+(?:\w+\n)?|^[ \t]*(?:#{1,6}|>|[-*+•])[ \t]+|(?<![\w*])\*(?=\w)|(?<=\w)\*(?![\w*])",
    re.MULTILINE,
)
_LINK = re.compile(r"\[([^\[\]\n]{1,80})\]\([^()\s]{1,300}\)")


@cache
def _mark() -> re.Pattern[str]:
    """Marks of citation as services write them; a bracket with words in it and no label is left alone."""
    label = "|".join(map(re.escape, listed("wrapping", "sources")))
    return re.compile(
        rf"\[\^?(?:[a-z]{{1,12}}:\s?)?\d{{1,3}}(?:\s*[,;–-]\s*\^?\d{{1,3}})*\](?:\([^()\s]{{1,200}}\))?"
        rf"|【[^】\n]{{1,60}}】|\[(?=[^\]\n]{{0,60}}[\d._#-])[\w{HAN}.#:/-]{{2,60}}\](?!\()"
        rf"|[\[（(](?:{label}|doc|document|ref)\s?[:：\d][^\]）)\n]{{0,80}}[\]）)]"
        r"|<sup>.{0,20}?</sup>|##\d{1,3}\$\$",
        re.IGNORECASE,
    )


@lru_cache(maxsize=4096)
def cleaned(answer: str) -> str:
    """What the reader is told: without reasoning blocks, marks of citation, a list of sources, Markdown signs."""
    text = _REASONING_END.sub("", _REASONING_BLOCK.sub(" ", answer)) if "<" in answer else answer
    text = _mark().sub("", _LINK.sub(r"\1", text)) if _MAY_MARK.search(text) else text
    text = _without_sources(text)
    return _MARKDOWN.sub("", text)[:MAX_CHARACTERS].strip()


@cache
def _source_head() -> re.Pattern[str]:
    heads = "|".join(map(re.escape, listed("wrapping", "sources")))
    return re.compile(rf"\n[ \t#*_]*(?:{heads})[ \t*_]*[:：]", re.IGNORECASE)


def _without_sources(text: str) -> str:
    """``text`` up to a line that heads a list of sources, unless nothing stands before it."""
    head = _source_head().search(text) if "\n" in text else None
    return text[: head.start()] if head and re.search(r"\w", text[: head.start()]) else text


# ---------------------------------------------------------------- a text, read once


class Reading:
    """One text as it is compared: its content words, numbers and statements, each with its place.

    Attributes
    ----------
    folded, squashed
        The text normalised and without accents; the same without spaces and signs.
    words, stems, weights, capital, code, statement
        (n,) content words outside of quantities, folded; their stems; rarity in [0, 1]; whether written with a capital
        inside a sentence; whether an identifier, which only its equal matches; the number of the statement, −1 before it.
    vocabulary
        All words and stems, function words too.
    acronyms, initials_at
        The initials of each run of capitalised words; the same by the offset of each word of the run.
    numbers, number_statement
        What :mod:`workbench.data.text.quantities` finds, and the statements.
    at
        Word or stem → its places among ``words``.
    """

    __slots__ = (
        "_grams", "_initials", "_meanings", "_trigrams", "acronyms", "at", "capital", "code", "edges", "folded",
        "foreign", "han", "initials_at", "length", "number_statement", "numbers", "offsets", "squashed", "statement",
        "statements", "stems", "text", "vocabulary", "weights", "words",
    )  # fmt: skip

    def __init__(self, text: str) -> None:
        self.text = text
        self.folded = plain(text)
        self.han = is_han(text)
        self.numbers, inside = _numbers(text)
        self.statements = _statements(text)
        begins = [start for start, _ in self.statements]
        read_tokens = [(written, start, _word(written)) for written, start in _tokens(text)]
        affixed = {match.start(): match for match in _affixed().finditer(text)} if "-" in text else {}
        if affixed:
            read_tokens = [
                (affixed[at][0], at, plain(affixed[at][0])) if at in affixed else (written, at, word)
                for written, at, word in read_tokens
                if at in affixed or not any(match.start() < at < match.end() for match in affixed.values())
            ]
        self.length = len(read_tokens)
        self.vocabulary = {word for _, _, word in read_tokens}
        self.vocabulary |= set(map(stem, self.vocabulary))
        content = [
            (written, start, word)
            for written, start, word in read_tokens
            if (start not in inside or (_is_code(written) and not written[0].isdigit()))
            and (word not in _functional() or _is_name(written))
        ]
        if not content and not self.numbers:
            content = read_tokens
        self.words = [word for _, _, word in content]
        self.capital = [w[0].isupper() and (at not in begins or len(w) == 1 or len(content) < 5) for w, at, _ in content]
        self.code = [_is_code(written) for written, _, _ in content]
        self.foreign = [written.isascii() and written.isalpha() for written, _, _ in content]
        self.offsets = [start for _, start, _ in content]
        self.statement = [bisect_right(begins, start) - 1 for start in self.offsets]
        self.number_statement = [bisect_right(begins, number.start) - 1 for number in self.numbers]
        self.stems = [stem(word) for word in self.words]
        self.weights = [_weight(word, capital) for word, capital in zip(self.words, self.capital, strict=True)]
        self.at: dict[str, list[int]] = {}
        for i, (word, root) in enumerate(zip(self.words, self.stems, strict=True)):
            self.at.setdefault(word, []).append(i)
            if root != word:
                self.at.setdefault(root, []).append(i)
        for i, (written, _, _) in enumerate(content):
            # A file of another encoding may have lost the letters with accents (Lszl).
            kept = written.encode("ascii", "ignore").decode().lower()
            if not self.han and 1 < len(kept) < len(written):
                self.at.setdefault(kept, []).append(i)
        self.initials_at = _initials(read_tokens)
        self.acronyms = set(self.initials_at.values())
        self._trigrams: dict[str, list[str]] | None = None
        self._grams: frozenset[str] | None = None
        self._initials: str | None = None
        self._meanings: dict[int, int] | None = None
        pieces = re.findall(r"\w+", _affixed().sub(lambda match: match[0].replace("-", ""), self.folded))
        self.squashed = "".join(pieces)
        self.edges = {0, *accumulate(map(len, pieces))}

    def holds(self, word: str, root: str) -> bool:
        """Whether a word, or one of its stem, stands here; a Han word may be segmented otherwise."""
        return word in self.at or root in self.at or (self.han and len(word) > 1 and word in self.folded)

    def holds_squashed(self, other: str) -> bool:
        """Whether the squashed text ``other`` stands here, from the edge of a word to another."""
        start = self.squashed.find(other) if other else -1
        while start >= 0:
            end = start + len(other)
            if (start in self.edges or _loose(self.squashed, start)) and (end in self.edges or _loose(self.squashed, end)):
                return True
            start = self.squashed.find(other, start + 1)
        return False

    def written_large(self, i: int) -> bool:
        """Whether word ``i`` is written in capitals, as initials are."""
        written = self.text[self.offsets[i] : self.offsets[i] + len(self.words[i])]
        return len(written) > 1 and written.isupper() and written.isascii()

    def alike(self, word: str, name: bool = False) -> int | None:
        """The place of the word that shares most letter trigrams with ``word``, from :data:`ALIKE` on.

        Of names, those that differ in the last letter alone, a or o, are two (Mario, Maria); so are words that a prefix
        turns into the opposite of each other (limited, unlimited), and words that do not begin with the same sound
        (sandstone, limestone).
        """
        if self._trigrams is None:
            self._trigrams = {}
            for mine in self.at:
                for gram in _trigrams(mine):
                    self._trigrams.setdefault(gram, []).append(mine)
        shared: dict[str, int] = {}
        wanted = _trigrams(word)
        for gram in wanted:
            for mine in self._trigrams.get(gram, ()):
                shared[mine] = shared.get(mine, 0) + 1
        best, place = (ALIKE if len(word) > SHORT else ALIKE_SHORT), None
        for mine, count in shared.items():
            dice = 2 * count / (len(wanted) + len(_trigrams(mine)))
            if name and mine[:-1] == word[:-1] and {mine[-1], word[-1]} == {"a", "o"}:
                continue
            if dice >= best and begins_alike(mine, word) and not _turned(mine, word):
                best, place = dice, self.at[mine][0]
        return place

    def synonym(self, word: str) -> int | None:
        """The place of a word that the lexicon says means the same, or is of that kind."""
        others = _alike(word)
        if not others:
            return None
        if self._meanings is None:
            self._meanings = {word_id(mine): i for i, mine in reversed(list(enumerate(self.words)))}
        return min((self._meanings[other] for other in others if other in self._meanings), default=None)

    def initials_of(self, acronym: str) -> int:
        """The place of the first of the words that begin with the letters of ``acronym``; −1 without them."""
        if self._initials is None:
            self._initials = "".join(word[0] for word in self.words)
        return self._initials.find(acronym)

    def grams(self) -> frozenset[str]:
        """Character grams: bigrams of Han script, else trigrams, of the folded text."""
        if self._grams is None:
            self._grams = frozenset(_grams(self.folded))
        return self._grams


@lru_cache(maxsize=16384)
def read(text: str) -> Reading:
    """The :class:`Reading` of a text; the latest are kept, for the alternatives of a question come again."""
    return Reading(text)


@lru_cache(maxsize=32768)
def plain(text: str) -> str:
    """Normalised and without accents."""
    return unaccented(normalise(text))


_POSSESSIVE = re.compile(r"['’]s?$")


@lru_cache(maxsize=65536)
def _word(written: str) -> str:
    """One word as it is compared: ``O'Brien's`` → ``o'brien``, ``U.S.`` → ``us``, a glued mark of citation off."""
    word = _POSSESSIVE.sub("", plain(written))
    if "." in word and all(len(part) <= 1 for part in word.split(".")):
        return word.replace(".", "")
    glued = re.fullmatch(r"([a-z]{4,})\d{1,2}", word)
    return glued[1] if glued else word.rstrip(".")


def _initials(read_tokens: Sequence[tuple[str, int, str]]) -> dict[int, str]:
    """By the offset of each capitalised word the initials, in lower case, of its run of two and more; function words
    inside a run are passed over, and one that a sentence opens with begins none."""
    found: dict[int, str] = {}
    run: list[tuple[int, str]] = []
    for written, at, word in [*read_tokens, ("", 0, "")]:
        if written[:1].isupper() and (run or word not in _functional()):
            run.append((at, word if len(run) > 1 and re.fullmatch("[IVX]+", written) else word[:1]))
        elif word not in _functional() and not (run and len(written) in (2, 3) and written.islower()):
            if len(run) > 1:
                found |= dict.fromkeys((start for start, _ in run), "".join(letter for _, letter in run))
            run = []
    return found


def _is_name(written: str) -> bool:
    """A function word that is none as it is written: ``US``, ``WHO``, ``U.S``."""
    return len(written) > 1 and written.isupper() and not HAN_CHARACTER.match(written)


@lru_cache(maxsize=65536)
def _is_code(written: str) -> bool:
    """Whether a token is an identifier (``read_timeout_ms``, ``--force``, ``AX-40``), which only its equal matches."""
    if written.startswith("--") or any(sign in written for sign in "_@#\\") or "/" in written:
        return True
    digits = any(map(str.isdigit, written))
    marked = re.fullmatch(r"[A-Za-z]{4,}\d{1,2}|\d+(?:st|nd|rd|th|s)", written)
    return digits and any(c.isalpha() for c in written) and not marked


#: Letters that a word may begin with in one spelling and another; all vowels are one.
_SOUNDS = ("aeiouyh", "ckqgx", "sczx", "jygi", "vwf", "tdz", "pf")


def begins_alike(one: str, other: str) -> bool:
    """Whether two words may begin with the same sound; with an affix (daughter-in-law) a word is another one."""
    a, b = one[:1], other[:1]
    return ("-" in one) == ("-" in other) and (a == b or any(a in sound and b in sound for sound in _SOUNDS))


@cache
def _affixed() -> re.Pattern[str]:
    """A word with a hyphen and an affix that makes it another one."""
    before, after = ("|".join(map(re.escape, listed("names", f"affix_{side}"))) for side in ("before", "after"))
    return re.compile(rf"(?<![\w-])(?:(?:{before})-\w+|\w+(?:{after}))(?![\w-])", re.IGNORECASE)


def _turned(one: str, other: str) -> bool:
    """Whether one of two words is the other with a prefix that makes it the opposite."""
    pairs = ((one, other), (other, one))
    found = ((a[len(p) :], b) for p in listed("polarity", "prefixes") if p for a, b in pairs if a.startswith(p))
    return any(stem(a) == stem(b) for a, b in found)


@cache
def _functional() -> frozenset[str]:
    """Words that carry no point: function words, and negations, which are compared as such."""
    return stop_words() | frozenset(listed("polarity", "negative"))


@lru_cache(maxsize=65536)
def _weight(word: str, capital: bool) -> float:
    return 1.0 if capital else max(0.1, min(rarity(word), RAREST) / RAREST)


def _tokens(text: str) -> list[tuple[str, int]]:
    """The tokens with their offsets; single letters that follow each other are one (``P. V.`` → ``PV``)."""
    found: list[tuple[str, int]] = []
    last = -2
    for token in tokens(text):
        single = len(token.text) == 1 and token.text.isascii() and token.text.isupper()
        if single and last >= 0 and text[last : token.start].strip(" .") == "":
            found[-1] = (found[-1][0] + token.text, found[-1][1])
        else:
            found.append((token.text, token.start))
        last = token.end if single else -2
    return found


#: A year with a mark of citation glued to it, as some services write: ``18501``.
_GLUED_YEAR = re.compile(r"(?<![\d.,])(1[0-9]\d\d|20[0-2]\d)[1-9](?![\d.,]\d|\d)")


def _numbers(text: str) -> tuple[list[Quantity], set[int]]:
    """The quantities of a text, and every offset inside of one."""
    found = quantities(text)
    if (glued := _GLUED_YEAR.search(text)) is not None:
        found = found + quantities(text[glued.start() : glued.end() - 1])
    found = _respelled(text, found)
    inside = {at for q in found for at in range(q.start, q.end)}
    for match in _amount().finditer(text):
        if match.start() not in inside:
            start, end = match.span()
            told = quantities(_amounts()[match[0]] + text[end : end + 12])[0]  # with what it is for: twice a day
            found = [*found, replace(told, start=start, end=end, text=match[0])]
            inside |= set(range(start, end))
    return found, inside


#: A numeral after a name or another word with a capital (Henry VIII, World War II).
_ROMAN = re.compile(r"(?<=[a-z]\s)(?=[IVX])(X{0,3})(IX|IV|V?I{0,3})(?![\w'’-]|\.\w)")
_COUNTED = re.compile(r"(?<=[a-z]\s)[A-Z][a-z]+\b")
_ROMAN_VALUES = {"": 0, "I": 1, "II": 2, "III": 3, "IV": 4, "V": 5, "VI": 6, "VII": 7, "VIII": 8, "IX": 9}


def _respelled(text: str, found: list[Quantity]) -> list[Quantity]:
    """The quantities of a text, with those whose spelling hides what they are: the Roman numeral of a king, a range in words
    (between ten and twelve), a season of two years (1979-80), a century in Han numerals."""
    more: list[Quantity] = []
    for match in _ROMAN.finditer(text):
        before = re.search(r"([^\W\d_]+)\s$", text[: match.start()])
        if before and before[1][0].isupper() and (len(match[0]) > 1 or not re.match(r"\s+[a-z]", text[match.end() :])):
            more.append(_numbered(match, 10.0 * len(match[1]) + _ROMAN_VALUES[match[2]]))
    for match in _COUNTED.finditer(text):  # World War Two
        value = _numerals().get(match[0].lower())
        before = re.search(r"([^\W\d_]+)\s$", text[: match.start()])
        if value and before and before[1][0].isupper():
            more.append(_numbered(match, value))
    for match in pattern("offline", "(?:«respelled»)", re.IGNORECASE).finditer(text):
        plainly = "".join(_in_digits(part) for part in re.split(r"(\W+)", match[0]))
        plainly = re.sub(r"(?<=\d)\.(?=\d\d ?[ap])", ":", plainly)  # half past seven, written 7.30 pm
        plainly = re.sub(r"(?<=[bce])\.\s?", "", plainly, flags=re.IGNORECASE)  # 44 B.C.
        whole = quantities(plainly) or quantities(plainly[1:])
        if len(whole) == 1 and whole[0].text != match[0]:
            more.append(replace(whole[0], start=match.start(), end=match.end(), text=match[0]))
    for match in _SEASON.finditer(text):
        if (int(match[1][2:]) + 1) % 100 == int(match[2]):
            whole = quantities(f"{match[1]}-{int(match[1]) + 1}")
            more.append(replace(whole[0], start=match.start(), end=match.end(), text=match[0]))
    kept = [q for q in found if not any(q.start < new.end and new.start < q.end for new in more)]
    return [*kept, *more] if more else found


_SEASON = re.compile(r"(?<![\d/–-])(1\d{3}|20\d\d)[/–-](\d\d)(?![\d/–-])")


def _numbered(match: re.Match[str], value: float) -> Quantity:
    """An ordinal that stands where ``match`` is."""
    start, end = match.span()
    return replace(quantities("2nd")[0], start=start, end=end, text=match[0], value=value, low=value, high=value)


@cache
def _numerals() -> Mapping[str, float]:
    """The numerals that may follow a name → their values."""
    return {word: float(value) for word, _, value in (entry.partition("=") for entry in listed("names", "numerals"))}


def _in_digits(part: str) -> str:
    """A part of a text with its numerals in words or Han script in digits."""
    told = quantities(part)
    if len(told) == 1 and told[0].text == part and told[0].value is not None and told[0].kind == "number":
        return f"{told[0].value:g}"
    return pattern("offline", "(?:«numerals»)").sub(lambda match: _value(match[0]), part)


def _value(numeral: str) -> str:
    told = quantities(numeral)
    return f"{told[0].value:g}" if told and told[0].value is not None else numeral


@cache
def _amounts() -> Mapping[str, str]:
    """Words that are a quantity by themselves (doubled, a fortnight) → the quantity in digits."""
    tables = (item.table("answers").get("amounts", {}) for item in languages())
    return {word: amount for table in tables for amount, words in table.items() for word in words.split("|")}


@cache
def _amount() -> re.Pattern[str]:
    """Written small: with a capital they are part of a name."""
    return re.compile("|".join(map(bounded, sorted(_amounts(), key=len, reverse=True))) or r"(?!)")


def _statements(text: str) -> list[tuple[int, int]]:
    """The sentences that state something: without courtesy, and without the words that lead in. A list is one of them, with
    the line that heads it."""
    courtesy = _opening("courtesy")
    found: list[tuple[int, int]] = []
    items = 0
    for span in sentences(text):
        polite = courtesy.match(span.text.lower())
        if polite is not None and (len(span.text) <= 60 or polite.end() >= 12):
            continue
        item = _ITEM.match(text, span.start) is not None
        items = items + 1 if item else 0
        if found and item and (items > 1 or text[: found[-1][1]].rstrip().endswith((":", "："))):
            found[-1] = (found[-1][0], span.end)
        else:
            found.append((span.start, span.end))
    return found or [(0, len(text))]


_ITEM = re.compile(r"(?:[-*+•·]|\(?\d{1,2}[.)、．）]|[①-⑳])\s*\S")


@cache
def _opening(name: str) -> re.Pattern[str]:
    return re.compile(rf"\W*(?:{'|'.join(map(bounded, listed('wrapping', name)))})")


@lru_cache(maxsize=65536)
def _alike(word: str) -> frozenset[int]:
    return lexicon().alike(word_id(word))


@lru_cache(maxsize=65536)
def _trigrams(word: str) -> frozenset[str]:
    return frozenset(word[i : i + 3] for i in range(len(word) - 2)) if len(word) > 3 else frozenset([word])


def _loose(squashed: str, at: int) -> bool:
    """Whether a word may begin or end at this place of a squashed text: Han script has no edges but those of numbers."""
    before, after = squashed[at - 1 : at], squashed[at : at + 1]
    return bool(HAN_CHARACTER.match(before or "") or HAN_CHARACTER.match(after or ""))


_RUNS = re.compile(rf"[{HAN}]+|[^\W{HAN}]+")


def _grams(folded: str) -> list[str]:
    """Bigrams of runs of Han characters and trigrams of other words; a shorter run is its own gram."""
    found: list[str] = []
    for run in _RUNS.findall(folded):
        n = 2 if HAN_CHARACTER.match(run) else 3
        found += [run[i : i + n] for i in range(len(run) - n + 1)] or [run]
    return found


# ---------------------------------------------------------------- yes and no, denying, declining


@lru_cache(maxsize=16384)
def polarity_lead(text: str) -> tuple[int, str]:
    """(1 for yes, −1 for no, 0 for neither) that a text begins with, and what follows it."""
    folded = plain(text)
    match = _yes_no_lead().match(folded)
    if match is None:
        return 0, text
    rest = folded[match.end() :]
    return (-1 if match["no"] else 1), rest if re.search(r"\w", rest) else ""


@cache
def _yes_no_lead() -> re.Pattern[str]:
    """Yes or no at the start, after words that lead in, and before a stop or the end."""
    yes, no = ("|".join(map(re.escape, listed("polarity", name))) for name in ("yes", "no"))
    lead_in = "|".join(map(re.escape, listed("wrapping", "lead_in")))
    before = rf"\W*(?:(?:{lead_in})[^,，:：]{{0,40}}[,，:：]\s*)?"
    return re.compile(rf"{before}(?:(?P<no>{no})|(?:{yes}))\s*(?:[,，.。!！;；:：-]|$)\s*")


def asks_yes_or_no(asked: Reading) -> bool:
    """Whether a question is answered by yes or no: it asks so and offers no choice."""
    if not asked.folded or any_of(("polarity", "choice")).search(asked.folded):
        return False
    return _asking().search(asked.folded) is not None


@cache
def _asking() -> re.Pattern[str]:
    """A Latin entry opens a clause, one in Han script may stand anywhere."""
    entries = listed("polarity", "asks")
    latin = "|".join(map(re.escape, (entry for entry in entries if entry[0].isascii())))
    other = "|".join(re.escape(entry) for entry in entries if not entry[0].isascii())
    return re.compile(rf"(?:^|[,;.:]\s*)(?:{latin})\b|{other}")


def polarity(text: Reading, asked: Reading, sure: bool = False) -> int:
    """Whether a text answers with yes (1) or no (−1); 0 where it says nothing about what was asked.

    It begins with yes or no, or with a short clause that is negative; or it disputes something; or else the clause that
    shares most words with the question, and enough of them, is negative or not. ``sure``: a clause says yes only where it
    has every telling word of the question.
    """
    lead, _ = polarity_lead(text.text)
    if lead:
        return lead
    clauses = cut_clauses(text.folded)
    for clause in clauses[:2]:
        disputed = any_of(("denial", "disputes")).search(clause)
        if disputed and disputed[0] not in asked.folded and not negations(clause):
            return -1
    if len(clauses) > 1 and len(clauses[0]) <= 6 and HAN_CHARACTER.search(clauses[0]) and negations(clauses[0]):
        return -1
    stated = [clause for clause in clauses if not _condition().search(clause.strip())]
    conditions = [read(clause) for clause in clauses if clause not in stated and stated]
    words = zip(asked.weights, asked.words, asked.stems, strict=True)
    best = 0.4 * sum(w for w, word, root in words if not any(part.holds(word, root) for part in conditions))
    told = 0
    for clause in stated or clauses:
        part = read(clause)
        words = zip(part.weights, part.words, part.stems, strict=True)
        shared = sum(w for w, word, root in words if asked.holds(word, root) or asked.synonym(word) is not None)
        if shared > best:
            best, told = shared, -1 if is_negative(clause) != _asks_negatively(asked.folded) else 1
            if sure and told > 0 and _lacks_point(part, asked):
                told = 0
    silent = any_of(("unspecified", "says")).search(text.folded) is not None
    if not told and not silent and len(text.statements) == 1 and len(clauses) <= 2 and not _asks_negatively(asked.folded):
        # Told in other words: a short answer with a negation in it says no.
        told = -1 if any(map(is_negative, clauses)) else 0
    return told


def _lacks_point(part: Reading, asked: Reading) -> bool:
    """Whether a clause leaves out a telling word of a question."""
    telling = 0.5 * max(asked.weights, default=0.0)
    words = zip(asked.weights, asked.words, asked.stems, strict=True)
    return any(w > telling and not part.holds(word, root) and part.synonym(word) is None for w, word, root in words)


@cache
def _condition() -> re.Pattern[str]:
    """A clause that only says when something holds: how it begins, in Han script also how it ends."""
    begins = "|".join(map(bounded, listed("polarity", "condition")))
    inside = "|".join(entry for entry in listed("polarity", "condition") if len(entry) > 1 and not entry.isascii())
    ends = "|".join(map(re.escape, filter(None, listed("polarity", "condition_end"))))
    return re.compile(rf"^(?:{begins})" + (rf"|{inside}" if inside else "") + (rf"|[{HAN}](?:{ends})$" if ends else ""))


@lru_cache(maxsize=4096)
def _asks_negatively(folded: str) -> bool:
    """Whether the clause that asks is negative itself."""
    asking = [clause for clause in cut_clauses(folded) if _asking().search(clause)] or [folded]
    return is_negative(asking[-1])


@lru_cache(maxsize=4096)
def cut_clauses(folded: str) -> tuple[str, ...]:
    """The clauses of a folded text, as its stops and commas cut it."""
    parts = re.split(r"[;；。!?！？\n]+|[,，:：](?!\d)|\.(?!\w)|(?<!\d)[,，]|\bbut\b|\bhowever\b", folded[:1500])
    return tuple(part for part in parts if re.search(r"\w", part))


@lru_cache(maxsize=16384)
def negations(folded: str) -> int:
    """How many negations are left in a clause where two that stand together cancel out (not forbidden)."""
    wanted = frozenset(listed("polarity", "negative"))
    found = [m for m in _negating().finditer(folded) if m[0] in wanted]
    left, at = 0, 0
    while at < len(found):
        gap = found[at + 1].start() - found[at].end() if at + 1 < len(found) else 99
        if gap <= (1 if found[at][0].isascii() else 0):
            at += 2
        else:
            left, at = left + 1, at + 1
    return left


@cache
def _negating() -> re.Pattern[str]:
    return any_of(("polarity", "negative"), ("polarity", "harmless"))


def denies(text: Reading, asked: Reading) -> bool:
    """Whether a text says that what was supposed is not so, or that it cannot be said.

    A denial that the question has as well, and one that only describes a thing (leave that was not taken), is none.
    """
    for match in any_of(("denial", "denies")).finditer(text.folded[:300]):
        if match[0] not in asked.folded and not _describing().match(text.folded, match.end()):
            return True
    return False


@cache
def _describing() -> re.Pattern[str]:
    particles = "|".join(map(re.escape, filter(None, listed("denial", "describing"))))
    return re.compile(rf"[{HAN}]{{0,4}}(?:{particles})[{HAN}]" if particles else r"(?!)")


@lru_cache(maxsize=16384)
def declines_itself(reference: str) -> bool:
    """Whether a reference says that its sources do not tell: little else stands in it."""
    folded = plain(reference)
    match = any_of(("unspecified", "says")).search(folded)
    if match is None:
        return False
    rest = read(folded[: match.start()] + " " + folded[match.end() :])
    return (len(rest.words) <= 2 and not rest.numbers) or refusal(reference).probability >= 0.5


def says_nothing(said: Reading, refused: float) -> bool:
    """Whether an answer says that nothing is said about it."""
    if refused >= 0.5:
        return True
    start, end = said.statements[0]
    return any_of(("unspecified", "says")).search(plain(said.text[start:end])) is not None


def is_negative(clause: str) -> bool:
    """Whether a clause is negative, or disputes what it names."""
    return negations(clause) > 0 or any_of(("denial", "disputes")).search(clause) is not None


def is_han(text: str) -> bool:
    """Whether Han characters, each worth two letters, outweigh the Latin ones."""
    han = len(HAN_CHARACTER.findall(text))
    return han > 0 and 2 * han >= sum(c.isascii() and c.isalpha() for c in text)
