"""Finding the quantities of a text: numbers, percentages, money, dates, times, durations, versions, ordinals, phone numbers.

One pattern over the folded text finds where a quantity may begin; a reader for each kind turns it into a
:class:`Quantity`. The grammar only finds them; see :mod:`workbench.data.text.quantity_grammar` for what gives them meaning.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from workbench.data.text.kept import kept
from workbench.data.text.quantity_grammar import BROKEN, Also, chinese_number, english_number, scale_of
from workbench.data.text.quantity_numbers import (
    AND_HALF,
    Number,
    NumberReader,
    Unit,
    plain_value,
    small_number,
    told_to,
)
from workbench.steps import checkpoint


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity of an original text.

    ``kind`` is one of number, percent, money, date, time, duration, version, ordinal, phone. ``value`` is None for a
    range, a version and a phone number; a time's value is minutes after midnight. A date's value is its digits
    (20240501, 202405, 2024, 501) and its unit says which parts it has: ``ymd``, ``ym``, ``y``, ``md``, ``m``, ``yq`` and
    ``q`` (quarter), ``yh`` and ``h`` (half year), ``w`` (day of the week, Monday 1), ``decade`` (1990, or 90 without its
    century), ``century``. ``low`` and ``high`` bound the quantity: both equal ``value`` for an exact one, differ for a
    range, one is infinite for "at most" / "at least". ``unit`` is the canonical unit, None without one or with one of
    counting, and the text of a version or phone number.

    ``cue`` is what stands around it: ``<``, ``<=``, ``>``, ``>=``, ``~`` for about, or nothing. ``step`` is the value of
    its last written place (1.5 million: 100,000), ``per`` what one such amount is for (60 km/h: hour), and ``also`` what
    else it may mean, as (value, unit, kind): 5/6/2024 is a day in May or June. ``wide`` is its span with the words that
    say all that: "at most", "per day", "or so".
    """

    start: int
    end: int
    text: str
    value: float | None
    low: float
    high: float
    unit: str | None
    kind: str
    cue: str = ""
    step: float = 0.0
    per: str | None = None
    also: Also = ()
    wide: tuple[int, int] = field(default=(0, 0), compare=False)


# ---------------------------------------------------------------- finding quantities


def quantities(text: str) -> list[Quantity]:
    """The quantities of ``text`` in order, without overlaps."""
    return list(_quantities(text))


@kept(characters=4_000_000)
def _quantities(text: str) -> tuple[Quantity, ...]:
    return tuple(_Reader(text))


class _Reader(NumberReader):
    """Goes through a folded text once; which patterns are tried depends on the character where a quantity would begin."""

    def __iter__(self) -> Iterator[Quantity]:
        g, text, at = self.g, self.text, 0
        readers = {
            "latin": self.at_word,
            "digit": self.at_digit,
            "point": self.at_digit,
            "han": self.at_han,
            "mark": self.at_mark,
        }
        while (candidate := g.candidate.search(text, at)) is not None:
            checkpoint()
            found = readers[candidate.lastgroup or ""](candidate.start())
            if isinstance(found, Quantity):
                yield found
                at = self.floor
            elif found is not None:
                at = self.floor = found
            else:
                rest = g.rest.match(text, candidate.start())
                at = max(candidate.end(), rest.end() if rest else 0)

    # ------------------------------------------------ what may stand where; an int is where to look on

    def at_mark(self, at: int) -> Quantity | int | None:
        """A mark of citation is passed over; ``\\frac{1}{2}`` and ½ are fractions."""
        g = self.g
        if (mark := g.mark.match(self.text, at)) is not None:
            return mark.end()
        if self.text[at] in BROKEN:
            return self.plain(at, self.vulgar(at))
        match = g.frac.match(self.text, at)
        if match is None or not int(match[2]):
            return None
        return self.plain(at, Number(int(match[1]) / int(match[2]), 0.0, match.end()))

    def at_word(self, at: int) -> Quantity | int | None:
        """What begins with a Latin word: a number in words, a date, a unit; where to go on for a name that holds digits."""
        g, text = self.g, self.text
        before = text[at - 1 : at]
        if before.isalnum() and before.isascii():
            return None
        for pattern in (g.skip, g.identifier):
            if (
                pattern is g.identifier
                and (match := g.word_dates.match(text, at)) is not None
                and self.allows_date(match)
            ):
                return self.date(match)
            if (skipped := pattern.match(text, at)) is not None:
                return self.named_version(skipped) or skipped.end()
        if (match := g.word_clock.match(text, at)) is not None:
            return self.word_clock(match)
        if (match := g.word_fraction.match(text, at)) is not None and (found := self.word_fraction(match)):
            return found
        word = g.word.match(text, at)
        name = word[0] if word else ""
        if name in g.ordinal_words and (found := self.word_ordinal(at)) is not None:
            return found
        if (match := g.english.match(text, at)) is not None:
            return self.english(at, match)
        return self.month(at, name) if name in g.months else self.article(at, name)

    def named_version(self, match: re.Match[str]) -> Quantity | None:
        """``v2.3``, that an identifier might be."""
        version = self.g.version.match(self.text, match.start())
        if version is None:
            return None
        return self.version(match.start(), version.end(), re.sub(r"^v\.?\ ?", "", version[0]))

    def at_digit(self, at: int) -> Quantity | int | None:
        """What begins with a digit or sign: number and unit, date, time, range; where to go on for an identifier."""
        g, text = self.g, self.text
        before = text[max(self.floor, at - 28) : at]
        last = before[-1:]
        glued = last.isascii() and last.isalpha() and not before.endswith((*g.signs, *g.version_before))
        if last and (last in "_." or last.isdigit() or glued):
            return None
        if text[at] == ".":
            return None if last and not last.isspace() and last not in "(<>=~" else self.plain(at, self.arabic(at))
        digits = g.digits.match(text, at)
        end = digits.end() if digits else at
        following = text[end : end + 1]
        if following in "@." and (skipped := g.skip.match(text, at)) is not None:
            return skipped.end()
        if following == "." and before.endswith(g.version_before):
            found = g.dotted.match(text, at)
            if found is not None:
                return self.version(at, found.end(), found[0])
        if before.endswith(g.eras_before) and (found := g.era_year.match(text, at)) is not None:
            word = next(w for w in g.eras_before if before.endswith(w))
            upper = self.original[self.offsets.span(at - len(word), at)[0]].isupper()
            if found[2] if not word.isascii() else upper:
                return self.made(at - len(word), found.end(), float(g.era[word] * int(found[1])), "y", "date")
        if end - at < 3 and following and following in _LIST_MARKS and self.lists(at):
            return None
        if following and following in g.dates_go_on:
            if following == " " and (found := g.after_era.match(text, at)) is not None:
                return self.made(at, found.end(), float(int(found[1]) * g.era[found[2]]), "y", "date")
            match = g.digit_dates.match(text, at)
            if match is not None and (dated := self.dated(match, before)) is not None:
                return dated
        return self.plain(at, self.arabic(at))

    def at_han(self, at: int) -> Quantity | int | None:
        """What begins with a character of a numeral, a weekday or "half"."""
        g, text, first = self.g, self.text, self.text[at]
        if first == g.half:
            return self.half(at)
        if first in g.weekday_firsts:
            match = g.weekday.match(text, at)
            return self.days(match) if match is not None and text[at - 1 : at] not in g.before_weekday else None
        if first not in g.numerals:
            if (match := g.han_quarter.match(text, at)) is not None:
                return self.made(at, match.end(), float(small_number(match["q"])), "q", "date")
            if g.ordinal_next.match(text, at) is not None:
                return self.made(at, at + 2, float(g.ordinal_nexts[first]), "ordinal", "ordinal")
            if (match := g.han_ordinal.match(text, at)) is not None:
                value = float(match["o"]) if match["o"].isdigit() else chinese_number(match["o"])
                return None if value is None else self.made(at, match.end(), value, "ordinal", "ordinal")
        if text.startswith(g.one_half, at):
            return self.plain(at, Number(0.5, 0.0, at + 2))
        if first not in g.numerals or (at > self.floor and text[at - 1] in g.numerals):
            return None
        ahead = g.han_ahead.match(text, at)
        if ahead is not None:
            if (match := g.han_fraction.match(text, at)) is not None and (
                found := self.han_fraction(match)
            ) is not None:
                return found
            match = g.digit_dates.match(text, at)
            if match is not None and (dated := self.dated(match, text[max(self.floor, at - 28) : at])) is not None:
                return dated
        return self.plain(at, self.han(at))

    def lists(self, at: int) -> bool:
        """Whether a number begins a line and only counts an item of a list."""
        text, begin = self.text, self.offsets.span(at, at + 1)[0]
        end = at + 2 if text[at + 1 : at + 2].isdigit() else at + 1
        if text[end : end + 1] not in _LIST_MARKS or not text[end : end + 1]:
            return False
        mark = text[end]
        if mark == "." and text[end + 1 : end + 2] != " ":
            return False
        if mark == "、" and text[end + 1 : end + 2].isdigit():
            return False
        return len(text) > end + 2 and (self.original[:begin].rpartition("\n")[2].strip(" \t#*>-(") == "")

    # ------------------------------------------------ numbers

    # ------------------------------------------------ kinds that begin with a word

    def english(self, at: int, match: re.Match[str]) -> Quantity | int | None:
        """A number written in English words, with what follows it."""
        number = self.words(match)
        if number is None:
            return None
        return self.plain(at, number)

    def word_fraction(self, match: re.Match[str]) -> Quantity | None:
        """``half of``, ``two thirds``, ``one in five``."""
        g = self.g
        previous = self.text[max(0, match.start() - 12) : match.start()].split()
        if match["half"]:
            if previous and previous[-1] in g.half_before:
                return None
            return self.plain(match.start(), self.scaled(Number(0.5, 0.0, match.end())))
        if match["i"]:
            top, under = self.small(match["i"]), self.small(match["j"])
            if not 0 < top < under or under > 100:
                return None
            return self.plain(match.start(), Number(top / under, 0.0, match.end()))
        top, under = self.small(match["n"]), g.fractions[match["d"]]
        after = self.text[match.end() : match.end() + 3]
        part = match[0].endswith((" of a", " of an"))
        if match["n"] in ("a", "an") and not (part or after.startswith(" of")):
            return None
        if match["d"] in ("second", "third", "fifth", "tenth") and top > 1:
            return None
        number = Number(top / under, 0.0, match.end())
        found = self.plain(match.start(), self.scaled(number) if part else number)
        if found is not None and under == 4 and not part and not after.startswith(" of"):
            return replace(found, also=((3.0 * top, "month", "duration"),))
        return found

    def word_ordinal(self, at: int) -> Quantity | None:
        """"the third quarter", "second floor": an ordinal in words where it counts."""
        g, text = self.g, self.text
        word = re.compile(r"[a-z]+(?:[- ][a-z]+)?").match(text, at)
        name = word[0] if word and word[0] in g.ordinals else re.split("[- ]", word[0])[0] if word else ""
        end = at + len(name)
        before = text[max(0, at - 8) : at].split()
        if name == "second" and before and before[-1] in g.second_before:
            return None
        if name not in g.ordinals or _NO_ORDINAL.match(text, end):
            return None
        return self.made(at, end, float(g.ordinals[name]), "ordinal", "ordinal")

    def month(self, at: int, word: str) -> Quantity | None:
        """A month by its name alone; "may" and "march" need a word before them that only a month can follow."""
        g = self.g
        before = self.text[max(0, at - 9) : at].split()
        if len(word) < 4 or not self.original[self.offsets.span(at, at + 1)[0]].isupper():
            return None
        if word in ("may", "march", "june", "april", "august") and not (before and before[-1] in g.month_words):
            return None
        month = g.months[word]
        return self.last_day(self.made(at, at + len(word), float(month), "m", "date"), at, at + len(word), {"m": month})

    def last_day(self, found: Quantity, begin: int, end: int, parts: dict[str, int]) -> Quantity:
        """"The end of March" may be told by its last day; that of February is known with the year."""
        text, month, year = self.text, parts.get("m", 0), parts.get("y", 0)
        told = self.g.month_end.match(text, end) or text[max(0, begin - 12) : begin].endswith(self.g.end_of_month)
        if not month or "d" in parts or not told or (month == 2 and not year):
            return found
        day = next(day for day in (31, 30, 29, 28) if is_day(year or 2000, month, day))
        value = float((found.value or 0) * 100 + day)
        return replace(found, also=((value, f"{found.unit}d", "date"),))

    def article(self, at: int, word: str) -> Quantity | None:
        """``an hour and a half``; ``within a month``, where what stands around leaves no other reading."""
        if word not in ("a", "an"):
            return None
        unit = self.unit(at + len(word))
        if unit is None or unit.kind != "duration":
            return None
        if self.text.startswith(AND_HALF, unit.end):
            return self.made(at, unit.end + len(AND_HALF), 1.5, unit.name, unit.kind)
        alone = self.text[:at].endswith(self.g.before_article) and not self.g.after_article.match(self.text, unit.end)
        return self.plain(at, Number(1.0, 0.0, at + len(word))) if alone else None

    # ------------------------------------------------ kinds of Chinese words

    def half(self, at: int) -> Quantity | None:
        """"half a year": a half before its unit, not one after a number."""
        g, text = self.g, self.text
        if at and text[at - 1] in g.before_half:
            return None
        unit = self.unit(at + 1)
        if unit is None or unit.kind == "count" or text[at + 1 : at + 2] in g.after_half:
            return None
        return self.plain(at, Number(0.5, 0.0, at + 1))

    def han_fraction(self, match: re.Match[str]) -> Quantity | None:
        """A fraction written in characters, "two thirds"; per cent and per mille among them."""
        under = self.g.scales.get(match["under"]) or plain_value(match["under"])
        top = plain_value(match["top"])
        if not under or top is None:
            return None
        if under in (100, 1000, 10000):
            value = top * 100 / under
            return self.made(match.start(), match.end(), value, "%", "percent", step=told_to(value), cued=True)
        return self.plain(match.start(), Number(top / under, 0.0, match.end()))

    # ------------------------------------------------ dates and times

    def allows_date(self, match: re.Match[str]) -> bool:
        """Short names of days need another day beside them, and a bare Q3 its capital."""
        if match.lastgroup == "quarter" and not match["y7"]:
            return self.original[self.offsets.span(match.start(), match.start() + 1)[0]].isupper()
        return True

    def dated(self, match: re.Match[str], before: str) -> Quantity | int | None:
        """What a pattern of dates and times found at a number; None where the words around it say otherwise."""
        g, kind = self.g, match.lastgroup or ""
        if kind in _NUMBERED and ((before[-1:] in "./" and before[-1:]) or before.endswith(g.signs)):
            return None
        if kind == "time":
            return self.time(match, match["hh"], match["mm"], match["half"], before)
        if kind == "ampm":
            return self.time(match, match["h5"], None, match["half2"], before)
        if kind == "oclock":
            return self.time(match, match["h6"], None, None, before)
        if kind == "clock":
            return self.clock(match, before)
        if kind == "phone":
            begin = match.start() - 1 if before.endswith("(") and ")" in match[0] else match.start()
            return self.made(begin, match.end(), None, re.sub(r"\D", "", match[0]), "phone")
        if kind == "version":
            thousands = g.arabic.match(self.text, match.start())
            if thousands is not None and thousands.lastgroup == "dots":
                return None
            return self.version(match.start(), match.end(), match[0])
        if kind == "ordinal":
            return self.made(match.start(), match.end(), float(match["o2"]), "ordinal", "ordinal")
        return self.date(match)

    def date(self, match: re.Match[str]) -> Quantity | None:
        """A date in any of the grammar's forms."""
        g, kind = self.g, match.lastgroup or ""
        if kind in ("days", "dayname", "w", "w2"):
            return self.days(match)
        if kind == "numeric":
            return self.numeric(match)
        if kind == "decade":
            century = match["t1"]
            if not century and match[0].endswith("s") and not self.text[: match.start()].endswith(("the ", "'")):
                return None
            return self.made(match.start(), match.end(), float((century or "") + match["t2"]), "decade", "date")
        if kind in ("century", "wcentury"):
            number = float(match["c1"]) if kind == "century" else float(g.ordinals[match["o8"]])
            if kind == "century" and match["t3"]:
                return self.made(match.start(), match.end(), (number - 1) * 100 + float(match["t3"]), "decade", "date")
            return self.made(match.start(), match.end(), number, "century", "date")
        value, unit, numbers = 0, "", {}
        for part, groups in _DATE_PARTS[kind]:
            given = match[groups[0]] or (match[groups[1]] if len(groups) > 1 else None)
            if given:
                numbers[part] = number = self.part_of_date(given)
                value, unit = value * (100 if unit else 1) + number, unit + part
        month = numbers.get("m", 1)
        if not 1 <= month <= 12 or ("d" in numbers and not is_day(numbers.get("y", 2000), month, numbers["d"])):
            return None
        found = self.made(match.start(), match.end(), float(value), unit, "date", cued=True)
        return self.last_day(found, match.start(), match.end(), numbers)

    def part_of_date(self, written: str) -> int:
        """A year, month, day, quarter or half year, by its number or name."""
        if written.isdigit():
            return int(written)
        for names in (self.g.months, self.g.ordinals, self.g.half_years):
            if written in names:
                return names[written]
        return small_number(written)

    def days(self, match: re.Match[str]) -> Quantity:
        """One weekday, or from one to another, as numbers from 1 (Monday)."""
        g = self.g
        first, second = match["w1"] or match[0] if "w1" in match.re.groupindex else match["w"], match["w2"]
        low, high = (g.days.get(day) or min(g.weekdays.index(day) + 1, 7) if day else None for day in (first, second))
        assert low is not None
        if high is None:
            return self.made(match.start(), match.end(), float(low), "w", "date")
        return self.made(match.start(), match.end(), None, "w", "date", low=float(low), high=float(high))

    def numeric(self, match: re.Match[str]) -> Quantity | None:
        """``05/13/2024`` has one reading, ``5/6/2024`` two; with points the day stands first."""
        from dateutil import parser

        try:
            readings = [parser.parse(match[0], dayfirst=first) for first in (False, True)]
        except (ValueError, OverflowError):
            return None
        values = [float(day.year * 10000 + day.month * 100 + day.day) for day in readings]
        first, other = values if match["sep2"] != "." else reversed(values)
        also: Also = ((other, "ymd", "date"),) if other != first and match["sep2"] != "." else ()
        return replace(self.made(match.start(), match.end(), first, "ymd", "date"), also=also)

    def time(self, match: re.Match[str], hour: str, minute: str | None, half: str | None, before: str) -> Quantity:
        """A time of the day; ``3 o'clock`` may be either half of it."""
        end, begin = match.end(), match.start()
        words, begin = self.part_of_day(before, begin)
        if half is None and (after := self.g.part_of_day.match(self.text, end)) is not None:
            half, end = ("a" if after["am"] else "p"), after.end()
        return self.moment(begin, end, int(hour), int(minute or 0), half or words, open_=match.lastgroup == "oclock")

    def part_of_day(self, before: str, begin: int) -> tuple[str | None, int]:
        """``a``, ``p`` or ``n`` (noon) of a Chinese word right before a time, and where that word begins."""
        g, near = self.g, before.rstrip()
        for words, half in ((g.noon, "n"), (g.am, "a"), (g.pm, "p")):
            for word in words:
                if near.endswith(word):
                    return half, begin - (len(before) - len(near)) - len(word)
        return None, begin

    def moment(
        self, begin: int, end: int, hour: int, minute: int, half: str | None, *, open_: bool = False
    ) -> Quantity:
        """A time of day in minutes since midnight, ``half``: "a" or "p" where said."""
        if half == "p" and hour <= 12:
            hour = hour % 12 + 12
        elif half == "a" and hour <= 12:
            hour %= 12
        elif half == "n" and hour < 4:
            hour += 12
        value = float((hour * 60 + minute) % 1440)
        also: Also = (((value + 720) % 1440, "hm", "time"),) if open_ and not half and hour <= 12 else ()
        return replace(self.made(begin, end, value, "hm", "time", cued=True), also=also)

    def clock(self, match: re.Match[str], before: str) -> Quantity | None:
        """Clock times in Chinese; a bare "three o'clock" may be three points, so that something must say that it is a time."""
        g = self.g
        words, begin = self.part_of_day(before, match.start())
        hour = small_number(match["h7"])
        minute = 30 if match["half3"] else g.quarters.get(match["q5"] or "", small_number(match["mm2"]))
        after = self.text[match.end() : match.end() + 1]
        told = (
            match["half3"]
            or match["q5"]
            or match["sharp"]
            or (match["mm2"] and not match[0][-1].isdigit() and match[0][-1] not in g.han)
        )
        by_place = (before[-1:] in g.before_clock or not before) and (not after or after in g.after_clock)
        by_place = by_place or g.until.search(self.text[max(0, match.start() - 6) : match.start()]) is not None
        if hour > 24 or minute > 59 or not (words or told or by_place or (hour > 12 and match["h7"].isdigit())):
            return None
        return self.moment(begin, match.end(), hour, minute, words, open_=True)

    def word_clock(self, match: re.Match[str]) -> Quantity | None:
        """A time in words, "half past three", and named ones such as noon."""
        g = self.g
        if match["name"]:
            return self.made(match.start(), match.end(), float(g.clock_names[match["name"]]), "hm", "time")
        hour = int(self.small(match["hour"] or match["hour2"]))
        minute = 0
        if match["half"]:
            word = match["half"].removesuffix(" minutes")
            minute = 30 if word == "half" else 15 if word.endswith("quarter") else int(english_number(word) or 0)
            if match["way"] == "to":
                hour, minute = (hour - 1) % 12, 60 - minute
        half = match["ap"] or ("a" if match["am"] else "p" if match["pm"] else None)
        return self.moment(match.start(), match.end(), hour, minute, half, open_=True)

    def version(self, begin: int, end: int, written: str) -> Quantity:
        """A version as written, without its leading v; the words before a bare number are no part of the span."""
        return self.made(begin, end, None, written, "version")

    # ------------------------------------------------ a number with what stands around it

    def plain(self, at: int, number: Number | None) -> Quantity | None:
        """A number with currency, sign, scale and unit, or two with a range sign between."""
        if number is None or not math.isfinite(number.value):
            return None
        g, text = self.g, self.text
        before = text[max(self.floor, at - 28) : at]
        begin, sign, currency = self.ahead(at, before)
        formula = currency is not None and currency.spelling == "$" and text[number.end : number.end + 1] == "$"
        if formula:
            begin, currency = at, None
        if currency and number.end < len(text) and text[number.end] in "mbt":
            number = self.money_scale(number)
        unit = None if currency or formula else self.unit_or_half(number)
        end = unit.end if unit else number.end
        if (second := self.second(at, begin, end, before, currency)) is not None and (
            found := self.range(begin, number, unit, second, currency, sign)
        ) is not None:
            return found
        if not currency and self.is_article(at, number, unit):
            return None
        kind, name = (currency.kind, currency.name) if currency else self.kind_of(at, number, unit)
        value = -number.value if sign else number.value
        value, step, end = self.summed(value, number.step, name, end) if unit else (value, number.step, end)
        also = self.readings(value, number, unit, currency)
        per, after = self.per(begin, end, unit)
        if unit and unit.spelling in g.rates:
            name, per = g.rates[unit.spelling]
        if sign and name == "degree":
            name, also = "celsius", ()
        if before.rstrip().endswith(g.loss) and kind == "money":
            also = ((-value, name, kind),)
        return self.made(begin, end, value, name, kind, step=step, per=per, also=also, cued=True, after=after)

    def ahead(self, at: int, before: str) -> tuple[int, bool, Unit | None]:
        """(begin, negative, currency) of what stands right before a number."""
        g, currency, near = self.g, None, before.rstrip(" ")
        if near.endswith(g.signs):
            sign = next(s for s in g.signs if near.endswith(s))
            glued = near[: -len(sign)][-1:]
            if not (sign[0].isalpha() and sign[0].isascii() and glued.isalpha() and glued.isascii()):
                kind, name = g.units[sign]
                currency, at = Unit(kind, name, at, sign), at - (len(before) - len(near)) - len(sign)
                near = near[: -len(sign)]
        if near[-1:] in ("-", "+") and near[-1:]:
            glued = text_before = near[-2:-1]
            if text_before and near[:-1].endswith(g.signs) and currency is None and self.text[at - 1] == near[-1]:
                begin, _, currency = self.ahead(at - 1, before[: len(near) - 1])
                return begin, near[-1] == "-", currency
            if not text_before or (
                not (text_before.isascii() and (text_before.isalnum() or text_before in ")_]"))
                and len(near) == len(near.rstrip())
            ):
                adjacent = self.text[at - 1 : at] == near[-1:]
                return (at - 1, near[-1] == "-", currency) if adjacent else (at, False, currency)
            return at, False, currency
        bare = near.rstrip(" ")
        if bare.endswith(g.negatives):
            word = next(w for w in g.negatives if bare.endswith(w))
            rest = bare[: -len(word)][-1:]
            if not (rest.isascii() and rest.isalnum()):
                return self.text.rindex(word, 0, at), True, currency
        return at, False, currency

    def kind_of(self, at: int, number: Number, unit: Unit | None) -> tuple[str, str | None]:
        """The kind of quantity and its unit: a bare number, a year, what the unit measures."""
        if unit is None or unit.kind == "count":
            return "number", None
        if unit.spelling == self.g.year_word and number.end == at + 4 and 1000 <= number.value <= 2999:
            return "date", "y"
        return unit.kind, unit.name

    def readings(self, value: float, number: Number, unit: Unit | None, currency: Unit | None) -> Also:
        """What else the number or its unit may mean."""
        g, told = self.g, currency or unit
        kind, name = (told.kind, told.name) if told and told.kind != "count" else ("number", None)
        also: list[tuple[float, str | None, str]] = [(other, name, kind) for other in number.also]
        if told and told.spelling in g.also:
            also += [(value, other[1], other[0]) for other in g.also[told.spelling] if other[0] != "percent"]
        return tuple(also)

    def is_article(self, at: int, number: Number, unit: Unit | None) -> bool:
        """Words that only look like Chinese numbers."""
        g, text = self.g, self.text
        written = text[at : number.end]
        if text[at] not in g.numerals:
            return written == "one" and (unit is None or unit.kind == "count")
        if number.value == 1 and unit is not None and unit.kind == "duration" and g.for_each.search(text[:at]):
            return True  # what is counted by the day is no day
        bare = unit is None or unit.kind == "count"
        if written in g.no_words or written + text[number.end : number.end + 1] in g.no_pairs:
            return bare or unit is None or not text.startswith(unit.spelling, number.end) or len(unit.spelling) == 1
        if len(written) > 1:
            return False
        if written in g.bare and written != g.ten_word and (bare or self.unit(at) is not None):
            return True
        if written == g.han[2]:
            return bare
        return unit is None and text[number.end : number.end + 1].strip() != ""

    def second(
        self, at: int, begin: int, end: int, before: str, currency: Unit | None
    ) -> tuple[Number, Unit | None, bool, str] | None:
        """The other end of a range, its unit, whether it is negative, and how it is written."""
        g, text = self.g, self.text
        if not text[end : end + 1] or text[end] not in g.joints:
            return None
        between = text[max(self.floor, begin - 9) : begin].endswith(g.between)
        joint = (g.and_ if between else g.to).match(text, end)
        if joint is None:
            return None
        start = joint.end()
        if text[start : start + 1] in _CURRENCY_SIGNS:
            if not currency and re.fullmatch(r"[12]\d{3}", text[begin:end]):
                return None  # from 2022 to $1,512M
            start += 1
        negative = text[start : start + 1] == "-" and text[start + 1 : start + 2].isdigit()
        start += negative
        number = self.number(start)
        if number is None or (
            text[start] in g.han and number.end == start + 1 and text[start] in g.bare and text[start] != g.ten_word
        ):
            return None
        if currency and text[number.end : number.end + 1] in ("m", "b", "t"):
            number = self.money_scale(number)
        unit = None if currency else self.unit_or_half(number)
        if unit is None and text[start] in g.han and not between and text[number.end : number.end + 1].strip():
            return None
        if joint[0].strip() == "-" and _MORE_DIGITS.match(text, number.end):
            return None
        return number, unit, negative, text[start : number.end]

    def range(
        self, begin: int, number: Number, unit: Unit | None, second: tuple[Number, Unit | None, bool, str],
        currency: Unit | None, sign: bool,
    ) -> Quantity | None:  # fmt: skip
        """Two numbers as one quantity from low to high; None where they are no range, such as a date or a product."""
        other, other_unit, negative, written = second
        named = currency or other_unit or unit
        low, high = -number.value if sign else number.value, -other.value if negative else other.value
        if 1500 <= low < 2100 and len(written) == 2 and written.isdigit() and high == (low + 1) % 100:
            high = low + 1  # 2018-19
        years = low.is_integer() and 1000 <= low <= 2999 and 1000 <= high <= 2999
        if number.step == 1.0 and other.step > 1.0 and low < high / other.step and unit is None:
            low *= other.step  # 3 to 5 million
        if unit and other_unit and unit.name != other_unit.name and unit.name and other_unit.name:
            factor = scale_of(unit.name, other_unit.name)
            if factor is None:
                return None
            low = low * factor[0] + factor[1]
        kind, name = ("number", None)
        if named and named.kind != "count" and not (years and named.name == "year"):
            kind, name = named.kind, named.name
        end = other_unit.end if other_unit else other.end
        per = None
        if other_unit and other_unit.spelling in self.g.rates:
            name, per = self.g.rates[other_unit.spelling]
        low, high = min(low, high), max(low, high)
        if low == high:
            return None
        rate, after = self.per(begin, end, other_unit)
        per = per or rate
        return self.made(
            begin, end, None, name, kind, low=low, high=high, step=other.step, per=per, cued=True, after=after
        )

    def summed(self, value: float, step: float, name: str | None, end: int) -> tuple[float, float, int]:
        """Smaller units that go on with the same amount: 1 hour 30 minutes; in the first unit."""
        while name is not None and (joint := self.g.joint.match(self.text, end)) is not None:
            number = self.number(joint.end()) if self.text[joint.end() : joint.end() + 1] else None
            unit = self.unit(number.end) if number else None
            if number is None or unit is None:
                return value, step, end
            options = [*self.g.parts.get(unit.spelling, ()), unit.name]
            scale = next((s for option in options if option and (s := scale_of(option, name))), None)
            if scale is None or scale[1] or not scale[0] < 1 or not 0 < number.value * scale[0] < 1:
                return value, step, end
            value += math.copysign(number.value * scale[0], value)
            step, end = number.step * scale[0], unit.end
        return value, step, end

    def per(self, begin: int, end: int, unit: Unit | None) -> tuple[str | None, int]:
        """What one such amount is for, and where that ends: 60 km/h, 5 dollars a month."""
        g, text = self.g, self.text
        match = g.per.match(text, end) or (g.per_thing.match(text, end) if unit is None else None)
        if match is not None:
            other = self.unit(match.end())
            if other is not None and other.name:
                # The thing that is counted is no part of the number: "600 requests per minute".
                return (other.name if other.kind != "count" else None), end if match.re is g.per_thing else other.end
        each = text.rfind(g.each, max(self.floor, begin - 8), begin)
        other = self.unit(each + len(g.each)) if each >= 0 else None
        return (other.name if other is not None and other.kind == "duration" else None), end

    def made(
        self, begin: int, end: int, value: float | None, unit: str | None, kind: str, *, low: float = math.nan,
        high: float = math.nan, step: float = 0.0, per: str | None = None, also: Also = (), cued: bool = False, after: int = 0,
    ) -> Quantity:  # fmt: skip
        """A quantity of the original text, with the words that bound it."""
        cue, first, last = self.cue(begin, end) if cued else ("", begin, end)
        if value is not None:
            low = -math.inf if cue[:1] == "<" else value
            high = math.inf if cue[:1] == ">" else value
        start, stop = self.offsets.span(begin, end)
        wide = self.offsets.span(first, max(last, after))
        self.floor = end
        text = self.original[start:stop]
        return Quantity(start, stop, text, value, low, high, unit, kind, cue, step, per, also, wide)

    def cue(self, begin: int, end: int) -> tuple[str, int, int]:
        """What bounds or rounds the number between two places, and where they reach with its words."""
        g, text = self.g, self.text
        at = end + 1 if text[end : end + 1] == " " else end
        after = text[at : at + 12]
        if after.startswith(g.after_words):
            word = next(w for w in g.after_words if after.startswith(w))
            if not (word[-1].isalpha() and word.isascii() and after[len(word) : len(word) + 1].isalpha()):
                return g.after[word], begin, at + len(word)
        origin = max(0, begin - 40)
        before, first = text[origin:begin].rstrip(" (:"), None
        while before.endswith(g.fillers) and not before.endswith(g.before_words):
            before = before[: -len(max((w for w in g.fillers if before.endswith(w)), key=len))].rstrip(" ")
            first = begin  # what stands between the two has a meaning of its own
        if (loose := g.loose_cue.search(before)) is not None and not before.endswith(g.before_words):
            return g.before[loose["cue"]], begin, end
        if before.endswith(g.before_words):
            word = next(w for w in g.before_words if before.endswith(w))
            rest = before[: -len(word)]
            if not (word[0].isascii() and word[0].isalpha() and rest[-1:].isascii() and rest[-1:].isalnum()):
                denied = g.negated.search(rest) if g.before[word] in ("<", ">") else None
                if denied is not None:
                    return _OPPOSITE[g.before[word]], origin + denied.start(), end
                return g.before[word], origin + len(rest) if first is None else first, end
        return "", begin, end


_LIST_MARKS = ".)、"
#: "Must not take more than": a bound that is denied.
_OPPOSITE = {"<": ">=", ">": "<="}
_CURRENCY_SIGNS = frozenset("$¥€£₹")
#: "first of all", "second-hand"; but "the second-most populous" counts.
_NO_ORDINAL = re.compile(r" of all\b|\s*,|\s*-(?!most\b|[a-z]+est\b)")
_MORE_DIGITS = re.compile(r"-\d")
#: Kinds of dates that may not stand behind a point, a slash or a currency.
_NUMBERED = frozenset(["ymd", "numeric", "cmd", "dmy", "ampm", "time", "version", "ordinal", "decade"])
#: The groups that hold the parts of a date, for each kind of date in the grammar.
_DATE_PARTS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "ymd": (("y", ("y1",)), ("m", ("m1",)), ("d", ("d1",))),
    "cdate": (("y", ("y2",)), ("m", ("m2",)), ("d", ("d2",)), ("q", ("q2", "q3")), ("h", ("h2",))),
    "cmd": (("m", ("m3",)), ("d", ("d3",))),
    "yq": (("y", ("y11",)), ("q", ("q4",))),
    "yh": (("y", ("y12",)), ("h", ("h4",))),
    "nquarter": (("y", ("y13",)), ("q", ("o9", "o10"))),
    "dmy": (("y", ("y5",)), ("m", ("m5",)), ("d", ("d5",))),
    "mdy": (("y", ("y4",)), ("m", ("m4",)), ("d", ("d4",))),
    "my": (("y", ("y6",)), ("m", ("m6",))),
    "quarter": (("y", ("y7",)), ("q", ("q1",))),
    "halfyear": (("y", ("y8",)), ("h", ("h1",))),
    "wquarter": (("y", ("y9",)), ("q", ("o4", "o5"))),
    "whalf": (("y", ("y10",)), ("h", ("o6",))),
}  # fmt: skip


def is_day(year: int, month: int, day: int) -> bool:
    """Whether the calendar has such a day."""
    try:
        datetime.date(max(year, 4) if month != 2 or year else 2000, month, day)
    except ValueError:
        return False
    return True
