"""A number at a place of a text, in digits or words of either language, and the unit behind it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from workbench.data.text.quantity_grammar import (
    BROKEN,
    BROKEN_PARTS,
    LOWERED,
    chinese_number,
    english_number,
    folded,
    grammar,
    tables,
)  # fmt: skip


@dataclass(slots=True)
class Number:
    """A number as it stands: the value, that of its last place, where it ends, and what else it may be."""

    value: float
    step: float
    end: int
    also: tuple[float, ...] = ()
    unit: tuple[str, str] | None = None


@dataclass(slots=True)
class Unit:
    """A unit as it stands: its kind, canonical name (of one that only counts: ``count``), end and spelling."""

    kind: str
    name: str | None
    end: int
    spelling: str


AND_HALF = " and a half"
_POINT_WORDS = re.compile(r" point(?: [a-z]+)+?(?=\b(?! (?:zero|one|two|three|four|five|six|seven|eight|nine)\b))")


class NumberReader:
    """Reads numbers and units of one folded text; nothing before ``floor`` is looked at."""

    def __init__(self, text: str) -> None:
        self.original = text
        self.text, self.offsets = folded(text)
        self.floor = 0
        self.g = grammar()

    def unit(self, at: int) -> Unit | None:
        """The unit that begins at a place, a space or hyphen before it aside."""
        g, text = self.g, self.text
        first = text[at : at + 1]
        if first == " " or (first == "-" and not text[at + 1 : at + 2].isdigit()):
            at += 1
            first = text[at : at + 1]
        if not first or first.isdigit():
            return None
        if first >= "\u3400" and first not in BROKEN:
            if first not in g.unit_firsts:
                return None
            for length in range(min(g.longest, len(text) - at), 0, -1):
                spelling = text[at : at + length]
                if spelling in g.units:
                    return Unit(*g.units[spelling], at + length, spelling)
            return None
        if first == "\\" and text.startswith("\\%", at):
            return Unit("percent", "%", at + 2, "%")
        if text.startswith("u.s. dollar", at):
            at += 5
        match = g.latin_unit.match(text, at)
        return self.latin_unit(match) if match else None

    def latin_unit(self, match: re.Match[str]) -> Unit | None:
        """The unit of some Latin letters: as a phrase (square metres), by its case (mW, MW), else by its spelling."""
        g, text = self.g, self.text
        spelling, end = match[0], match.end()
        if spelling in g.long_first and (more := g.more_words.match(text, end)) is not None:
            words = (spelling + more[0].replace("-", " ")).split(" ")
            for length in range(len(words), 1, -1):
                longer = " ".join(words[:length])
                if longer in g.units:
                    return Unit(*g.units[longer], match.start() + len(longer), longer)
        if not spelling.isascii():
            spelling = spelling.replace("° ", "°").translate(LOWERED)
        if spelling in g.case_matters:
            written = self.original[slice(*self.offsets.span(match.start(), end))]
            if written in g.cased:
                return Unit(*g.cased[written], end, written)
        if spelling in g.rates:
            return Unit("number", g.rates[spelling][0], end, spelling)
        known = g.units.get(spelling)
        return Unit(*known, end, spelling) if known else None

    def unit_or_half(self, number: Number) -> Unit | None:
        """The unit of a number; 两个半小时 and 一年半 add a half to the number, a glued letter may be a thousand."""
        g, text = self.g, self.text
        if text.startswith(g.and_half, number.end):
            unit = self.unit(number.end + len(g.and_half))
            if unit is not None and unit.kind != "count":
                number.value, number.step = number.value + 0.5, 0.0
                return unit
        if text[number.end : number.end + 1] == g.tens_of or text[number.end : number.end + 2] == " " + g.tens_of:
            return self.tenths(number)
        if number.value < 100 and (match := g.discount.match(text, number.end)) is not None:
            # 八折 and 七五折 are 80 % and 75 % of a price.
            number.value, number.step = number.value * 10 if number.value < 10 else number.value, 1.0
            return Unit("percent", "%", match.end(), "%")
        if text[number.end - 1].isalpha() and text.endswith(tuple(g.multiples), 0, number.end):
            return Unit("number", "times", number.end, "times")
        unit = self.unit(number.end)
        if unit is None or unit.kind == "count":
            return unit
        if text[unit.end : unit.end + 1] == g.half and text[unit.end + 1 : unit.end + 2] not in g.after_half:
            number.value, number.step = number.value + 0.5, 0.0
            unit.end += 1
        elif text.startswith(AND_HALF, unit.end):
            number.value, number.step = number.value + 0.5, 0.0
            unit.end += len(AND_HALF)
        return unit

    def tenths(self, number: Number) -> Unit | None:
        """三成 and 七成五 are 30 % and 75 %."""
        g, text = self.g, self.text
        match = next((m for back in (1, 3) if (m := g.tenths.match(text, number.end - back)) and m["tens"]), None)
        if match is None or number.value >= 10:
            return None
        number.value = number.value * 10 + (small_number(match["more"]) if match["more"] else 5 if match["half"] else 0)
        number.step = 1.0 if match["more"] or match["half"] else 10.0 * min(number.step, 1.0)
        return Unit("percent", "%", match.end(), "%")

    def number(self, at: int) -> Number | None:
        """A number of any script that begins at a place."""
        text, g = self.text, self.g
        first = text[at : at + 1]
        if first.isdigit() or (first == "." and text[at + 1 : at + 2].isdigit()):
            return self.arabic(at)
        if first and first in g.han:
            return self.han(at)
        if first and first in BROKEN:
            return self.vulgar(at)
        if (match := g.english.match(text, at)) is not None:
            return self.words(match)
        return None

    def arabic(self, at: int) -> Number | None:
        """A number in digits, with separators of any region, an exponent, a fraction or a word for thousands."""
        g, text = self.g, self.text
        match = g.ten.match(text, at)
        if match is not None:
            exponent = int(match["p1"] or match["p2"].translate(LOWERED))
            return self.scaled(Number(raised(1.0, exponent), 0.0, match.end()))
        match = g.arabic.match(text, at)
        if match is None:
            return None
        also: tuple[float, ...] = ()
        written, kind = match[0], match.lastgroup
        end = match.end()
        if kind == "comma" and not self.decimal_comma(match):
            written = written.partition(",")[0]
            end = at + len(written)
        elif kind == "comma":
            written = written.replace(",", ".")
        elif kind == "dots":
            written = written.replace(".", "").replace(",", ".")
        elif kind == "spaced":
            if self.labelled(at) or text[match.end() : match.end() + 1] == "-":
                written = written.partition(" ")[0]
                end = at + len(written)
            else:
                written = written.replace(" ", "")
        else:
            written = written.replace(",", "").replace("'", "")
        if written[0] == ".":
            written = "0" + written
        value, step = float(written), 10.0 ** -len(written.partition(".")[2])
        if not math.isfinite(value):
            return None
        if (
            kind == "simple"
            and len(written) - written.find(".") == 4
            and "." in written
            and 0 < value < 1000
            and written[0] != "0"
        ):
            also = (value * 1000,)
        if (power := g.power.match(text, end)) is not None:
            exponent = int(power["p1"] or power["p3"] or power["p2"].translate(LOWERED))
            return self.scaled(Number(raised(value, exponent), raised(step, exponent), power.end()))
        after = text[end : end + 1]
        if after and after in BROKEN:
            return self.vulgar(end, value)
        if value.is_integer() and after in " /" and (slash := g.slash.match(text, end)) is not None:
            top, under = float(slash["top"] or value), float(slash["under"])
            if text[at - 1 : at] != "/" and 1 < under <= 1000 and top < under:
                return Number(top / under + (value if slash["top"] else 0.0), 0.0, slash.end())
        return self.scaled(Number(value, step, end, also))

    def vulgar(self, at: int, whole: float = 0.0) -> Number:
        """``½``, also behind a whole number."""
        top, under = BROKEN_PARTS[BROKEN.index(self.text[at])]
        return Number(whole + top / under, 0.0, at + 1)

    def decimal_comma(self, match: re.Match[str]) -> bool:
        """``1,5 %``: a comma before one or two digits is a decimal one where a unit or a currency says so."""
        if self.text[max(self.floor, match.start() - 4) : match.start()].rstrip().endswith(self.g.signs):
            return True
        unit = self.unit(match.end())
        return unit is not None and unit.kind != "count"

    def labelled(self, at: int) -> bool:
        """Whether a word before a number only counts pages, figures … with it."""
        word = re.search(r"([a-z]+)\.? $", self.text[max(self.floor, at - 12) : at])
        return word is not None and word[1] in self.g.labels

    def scaled(self, number: Number) -> Number:
        """A number with the words for thousands and millions behind it."""
        g, text, end = self.g, self.text, number.end
        after = text[end : end + 2]
        if not after or not (after[0].isalpha() or after[0] in " -"):
            return number
        if (match := g.word_scale.match(text, end)) is not None:
            size = g.scales[match["s"] or match["k"]] * (g.scales[match["t"]] if match["t"] else 1.0)
            if match["k"] == "k" and text[end] == " ":
                return number
            return Number(number.value * size, number.step * size, match.end())
        if after.lstrip()[:1] in g.han and (match := g.han_scale.match(text, end)) is not None:
            if (
                match["scale"][0] in g.han[12:]
                and (unit := self.unit(end)) is not None
                and unit.spelling[0] == match["scale"][0]
            ):
                return number
            if match["rest"]:
                begin = end - 1
                while text[begin - 1 : begin].isdigit() or text[begin - 1 : begin] in (",", "."):
                    begin -= 1
                whole = chinese_number(text[begin : match.end()].replace(",", "").replace(" ", ""))
                if whole is not None:
                    return Number(whole, told_to(whole), match.end())
            size = g.scales[match["scale"]]
            return Number(number.value * size, number.step * size, match.end("scale"))
        letter = self.original[self.offsets.span(end, end + 1)[0]] if after[0].isalpha() else ""
        if letter in g.glued and not after[1:].isalnum():
            return Number(number.value * g.glued[letter], number.step * g.glued[letter], end + 1)
        return number

    def money_scale(self, number: Number) -> Number:
        """``$5M``, ``$5m``: behind a currency small letters are thousands too."""
        g = self.g
        letters = re.compile(r"mm|[mbt]").match(self.text, number.end)
        if letters is None or self.text[letters.end() : letters.end() + 1].isalnum():
            return number
        size = g.glued_money[letters[0]]
        return Number(number.value * size, number.step * size, letters.end())

    def han(self, at: int) -> Number | None:
        """A number in Chinese characters."""
        g, text = self.g, self.text
        run = g.han_run.match(text, at)
        if run is None:
            return None
        value, end = chinese_number(run[0]), run.end()
        if value is None:
            return None
        whole = run[0].partition(tables("zh")["numerals"]["point"])
        if whole[1] and text[end : end + 1] and text[end] in g.han[12:]:
            scale = g.han_scale.match(text, end)
            if scale is not None:
                size = g.scales[scale["scale"]]
                return Number(value * size, 10.0 ** -len(whole[2]) * size, scale.end("scale"))
        return Number(value, 10.0 ** -len(whole[2]) if whole[1] else told_to(value), end)

    def words(self, match: re.Match[str]) -> Number | None:
        """A number in English words: two and a half million, three point five."""
        if match[0] in self.g.multiples:
            return Number(float(self.g.multiples[match[0]]), 1.0, match.end())
        value = english_number(match[0].removesuffix(" of"))
        if value is None:
            return None
        end = match.end()
        if self.text.startswith(AND_HALF, end):
            end += len(AND_HALF)
            return self.scaled(Number(value + 0.5, 0.0, end))
        if (point := _POINT_WORDS.match(self.text, end)) is not None:
            digits = [self.g.ones.get(word, 10) for word in point[0].split()[1:]]
            if max(digits) < 10:
                value = float(f"{int(value)}.{''.join(map(str, digits))}")
                return self.scaled(Number(value, 10.0 ** -len(digits), point.end()))
        return self.scaled(Number(value, told_to(value), end))

    def small(self, word: str) -> float:
        """A small number in digits or one word."""
        return float(word) if word.isdigit() else 1.0 if word in ("a", "an") else float(self.g.ones[word])


def raised(value: float, exponent: int) -> float:
    """``value`` times a power of ten, from its digits so that 2.5e-3 is 0.0025 and nothing near it."""
    return float(f"{value!r}e{exponent}") if "e" not in repr(value) else value * 10.0**exponent


def told_to(value: float) -> float:
    """The place that a number in words is told to: 五千 to the thousand, 五千二百 to the last one."""
    if not value.is_integer() or value % 1000:
        return 1.0
    digits = f"{value:.0f}"
    return 10.0 ** (len(digits) - len(digits.rstrip("0")))


def plain_value(written: str) -> float | None:
    """A number in digits or Chinese characters, None for neither."""
    try:
        return float(written.replace(",", ""))
    except ValueError:
        return chinese_number(written)


def small_number(written: str | None) -> int:
    """A small number in digits or Chinese, 0 for none."""
    if not written:
        return 0
    return int(float(written) if written.isdigit() else chinese_number(written) or 0)
