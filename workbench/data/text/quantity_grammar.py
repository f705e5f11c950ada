"""The words and patterns by which quantities are found in English and Chinese text, and what their units are worth.

The words of each language stand in its ``units_*.toml``. What they mean is read by libraries: units by pint, Chinese
numerals by cn2an, the names of months and days by dateutil. pint takes two seconds to load, so that the sizes of common
units stand in ``units.toml``, where a test compares them with pint's; it is asked about the others when one turns up.
cn2an needs half a second to load and 50 µs for a numeral: it is loaded with the first numeral of more than one character.
dateparser was left out: it needs milliseconds for a date that the grammar has already taken apart.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from workbench.data.text.normalise import HAN, LATIN, Offsets, normalise_with_map
from workbench.language import codes, language_of

#: Other readings of a quantity: value, unit and kind of each.
Also = tuple[tuple[float, str | None, str], ...]

# ---------------------------------------------------------------- the words of both languages

@cache
def _units() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("units.toml").read_text(encoding="utf-8"))


def tables(code: str = "") -> dict[str, Any]:
    """``units.toml``, which needs no language, or the one of a language."""
    return language_of(code).table("units") if code else _units()


def words_of(language: str, section: str, key: str) -> list[str]:
    """The words of one entry of a language's table."""
    found = tables(language)[section][key]
    return list(found) if isinstance(found, dict) else str(found).split()


def any_of(words: Iterable[str]) -> str:
    """A pattern for any of some words, the longest first."""
    return "(?:" + "|".join(re.escape(word) for word in sorted(set(words), key=len, reverse=True)) + ")"


def _by_initial(words: Iterable[str]) -> str:
    """A pattern for the rest of any of many words, after their first letter, by which most branches are left at once."""
    initials = sorted({word[0] for word in words})
    return "(?:" + "|".join(f"(?<={first})" + any_of(w[1:] for w in words if w[0] == first) for first in initials) + ")"


@cache
def unit_spellings() -> dict[str, tuple[str, str]]:
    """Spelling → (kind, canonical unit), symbols with each prefix among them."""
    known: dict[str, tuple[str, str]] = {}
    for code in codes():
        for kind, units in tables(code).get("units", {}).items():
            for name, spellings in units.items():
                known |= {spelling.replace("-", " "): (kind, name) for spelling in spellings.split()}
    for symbol in [*symbols(), *tables()["spelt"]]:
        if len(symbol) > 1:  # a single letter needs its case, see _cased
            known.setdefault(symbol.lower(), _symbol(symbol))
            known.setdefault(re.sub("^u", "μ", symbol.lower()), _symbol(symbol))
    return known


def symbols() -> list[str]:
    """All symbols of the SI that are read, with each of their prefixes."""
    return [prefix + base for base, prefixes in tables()["symbols"].items() for prefix in prefixes]


def _symbol(written: str) -> tuple[str, str]:
    return "number", tables()["spelt"].get(written, written)


@cache
def _cased() -> dict[str, tuple[str, str]]:
    """Symbols that only their case tells from another (mW, MW; Mb, MB)."""
    exact = [*symbols(), *tables()["spelt"]]
    folded = [symbol.lower() for symbol in exact]
    return {symbol: _symbol(symbol) for symbol in exact if folded.count(symbol.lower()) > 1 or len(symbol) == 1}


# ---------------------------------------------------------------- what a unit is worth


@cache
def known_sizes() -> dict[str, tuple[str, float, float]]:
    """Unit → (base of its dimension, how many of them it is, its zero)."""
    known = {}
    for section in ("sizes", "own"):
        for base, units in tables()[section].items():
            for name, size in units.items():
                factor, zero = size if isinstance(size, list) else (size, 0.0)
                known[name] = (base, float(factor), float(zero))
    return known


@cache
def registry() -> Any:
    """pint's units; loaded with the first unit that has no size of its own here."""
    import pint

    return pint.UnitRegistry(cache_folder=":auto:")


@lru_cache(maxsize=4096)
def size_of(unit: str) -> tuple[str, float, float] | None:
    """What :func:`known_sizes` says of a unit, else pint; None where it has no size but its name."""
    if unit in known_sizes():
        return known_sizes()[unit]
    if unit not in symbols():
        return None
    base = registry().Quantity(1.0, unit).to_base_units()
    return str(base.units), float(base.magnitude), 0.0


def scale_of(unit: str, other: str) -> tuple[float, float] | None:
    """(factor, shift) that turn a value in ``unit`` into one in ``other``; None where they have no dimension in common."""
    mine, theirs = size_of(unit), size_of(other)
    if mine is None or theirs is None or mine[0] != theirs[0]:
        return None
    return mine[1] / theirs[1], (mine[2] - theirs[2]) / theirs[1]


# ---------------------------------------------------------------- numerals


@lru_cache(maxsize=8192)
def chinese_number(text: str) -> float | None:
    """The value of a Chinese numeral (三, 一千五百, 二〇二四, 三点五, 一万二, 壹佰, 1亿2000万), None if it is none."""
    digits = words_of("zh", "numerals", "digits")[0]
    if len(text) == 1 and text in digits:
        return float(_DIGITS[digits.index(text)])
    if not text or len(text) > _LONGEST:
        return None
    import cn2an

    one, bare = digits[2], words_of("zh", "numerals", "powers")[0][1:]
    try:
        value = float(cn2an.cn2an(one + text if text[0] in bare else text, "smart"))
    except (ValueError, KeyError, IndexError, TypeError):
        return _with_hundred_millions(text)
    return value if math.isfinite(value) else None


def _with_hundred_millions(text: str) -> float | None:
    """What cn2an gives up at: thousands behind hundred millions (一亿零一千)."""
    powers, zeros = words_of("zh", "numerals", "powers")[0], words_of("zh", "numerals", "digits")[0][:2]
    head, large, tail = text.rpartition(powers[-1])
    parts = [chinese_number(head), chinese_number(tail.lstrip(zeros))] if head and large else []
    first, second = parts if len(parts) == 2 else (None, None)
    return None if first is None or second is None else first * 1e8 + second


_LONGEST = 24
#: The values of ``digits`` in units_zh.toml.
_DIGITS = (0, 0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9)


@lru_cache(maxsize=8192)
def english_number(text: str) -> float | None:
    """The value of an English numeral in lower case (twenty-five, two hundred and ten, a dozen), None if it is none."""
    g = grammar()
    total, current, seen = 0.0, 0.0, False
    for word in re.split(r"[\s,-]+", text):
        if word in g.ones:
            year = 10 <= current < 100 and g.ones[word] >= 10  # nineteen eighty-two
            current, seen = current * (100 if year else 1) + g.ones[word], True
        elif word == "hundred":
            current, seen = (current or 1) * 100, True
        elif word in g.groups:
            current, seen = (current or 1) * g.groups[word], True
        elif word in g.scales:
            total, current, seen = total + (current or 1) * g.scales[word], 0.0, True
        elif word not in g.little:
            return None
    return total + current if seen else None


# ---------------------------------------------------------------- characters that folding would lose

#: Superscripts and vulgar fractions, moved to private characters: folded as usual 10⁵ would be 105 and 1½ would be 11/2.
_SUPER = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
RAISED = "".join(chr(0xE070 + at) for at in range(len(_SUPER)))
_VULGAR = "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
BROKEN_PARTS = (
    (1, 2),
    (1, 3),
    (2, 3),
    (1, 4),
    (3, 4),
    (1, 5),
    (2, 5),
    (3, 5),
    (4, 5),
    (1, 6),
    (5, 6),
    (1, 8),
    (3, 8),
    (5, 8),
    (7, 8),
)
BROKEN = "".join(chr(0xE090 + at) for at in range(len(_VULGAR)))
_KEEP = str.maketrans(_SUPER + _VULGAR, RAISED + BROKEN)
_LOST = re.compile(f"[{_SUPER}{_VULGAR}]")
LOWERED = str.maketrans(RAISED, "0123456789-")


def folded(text: str) -> tuple[str, Offsets]:
    """``text`` normalised for matching, with superscripts and vulgar fractions kept apart, and the map back."""
    return normalise_with_map(text.translate(_KEEP) if not text.isascii() and _LOST.search(text) else text)


# ---------------------------------------------------------------- the grammar, over folded text


class Grammar:
    """Patterns and tables, made once of the words of both languages."""

    def __init__(self) -> None:
        en, zh = tables("en"), tables("zh")
        self._numerals(en, zh)
        self._calendar(en, zh)
        self._clock(en, zh)
        self._cues(en, zh)
        self._unit_tables()
        self._starts(zh)

    def _numerals(self, en: dict[str, Any], zh: dict[str, Any]) -> None:
        ones, tens = words_of("en", "numerals", "ones"), words_of("en", "numerals", "tens")
        self.ones = {w: n for n, w in enumerate(ones)} | {w: 10 * n for n, w in enumerate(tens, start=2)}
        self.groups: dict[str, int] = en["numerals"]["groups"]
        self.fractions: dict[str, int] = en["numerals"]["fractions"]
        self.little = {*words_of("en", "numerals", "article"), *words_of("en", "numerals", "and")}
        self.before_article = tuple(f"{word} " for word in en["numerals"]["before_article"].split())
        self.after_article = re.compile(en["numerals"]["after_article"])
        self.for_each = re.compile(zh["numerals"]["for_each"])
        self.scales: dict[str, float] = en["scales"] | zh["scales"]
        self.glued, self.glued_money = en["glued"], en["glued_money"]
        self.large = large = [word for word in en["scales"] if len(word) > 2]
        numerals = zh["numerals"]
        self.han = numerals["digits"] + numerals["powers"] + numerals["formal"]
        digits = numerals["digits"]
        self.ten_word = numerals["powers"][0]
        self.tens_of, self.half, self.bare = numerals["tenths"], numerals["half"], frozenset(numerals["bare"])
        self.one_half = tuple(numerals["one_half"].split())
        self.multiples: dict[str, int] = en["numerals"]["multiples"]
        self.discount = re.compile(rf"\ ?{numerals['discount']}(?!{any_of(numerals['after_discount'].split())})")
        self.no_words = frozenset(numerals["not_numbers"].split())
        self.no_pairs = frozenset(numerals["not_with_unit"].split())
        one = any_of(self.ones)
        gap = r"(?:[\ -]|(?<=thousand),\ (?=\w+\ hundred\b)|(?<=million),\ (?=\w+\ (?:hundred|thousand)\b))"
        more = rf"(?:{gap}(?:and\ )?(?:{any_of([*self.ones, *large, *self.groups])})\b)*"
        self.english = re.compile(
            rf"(?:{one}|(?:an?|{one})\ (?=(?:{any_of([*large, 'dozen'])})\b)(?:{any_of([*large, 'dozen'])}))"
            rf"\b{more}|a\ couple(?:\ of)?\b|{any_of(self.multiples)}\b"
        )
        self.arabic = re.compile(
            r"""(?P<plain>\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!,?\d)|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?(?!,?\d)
            |\d{1,3}(?:'\d{3})+(?:\.\d+)?(?!\d))
            |(?P<dots>[1-9]\d{0,2}(?:\.\d{3}){2}(?:,\d+)?(?!\d|\.\d)|[1-9]\d{0,2}(?:\.\d{3})+,\d{1,2}(?![\d,]))
            |(?P<spaced>(?<!\d\ )[1-9]\d{0,2}(?:\ \d{3}){1,4}(?:\.\d+)?(?![\d,]|\ ?-?\d|\.\d))
            |(?P<comma>0,\d+(?!,?\d)|\d+,\d{1,2}(?![\d,]))
            |(?P<simple>\d*\.\d+|\d+)""",
            re.VERBOSE,
        )
        self.power = re.compile(
            rf"\ ?(?:[×x*·]|\\times|\\cdot)\ ?10(?:\ ?(?:\^|\*\*)\ ?[{{(]?(?P<p1>[-+]?\d{{1,3}})[}})]?|(?P<p2>[{RAISED}]+))"
            rf"|e(?P<p3>[-+]?\d{{1,3}})(?![{LATIN}])"
        )
        self.ten = re.compile(rf"10(?:(?:\^|\*\*)[{{(]?(?P<p1>[-+]?\d{{1,3}})[}})]?|(?P<p2>[{RAISED}]+))")
        self.slash = re.compile(r"(?:\ (?P<top>\d{1,2}))?\ ?/\ ?(?P<under>\d{1,4})(?![\d/a-z]|[.,]\d)")
        self.han_run = re.compile(rf"[{self.han}]+(?:{numerals['point']}[{digits}]+)?")
        self.han_scale = re.compile(
            rf"\ ?(?P<scale>{any_of(zh['scales'])})"
            rf"(?P<rest>(?:[{digits[:2]}]?\d+(?:\.\d+)?{any_of(zh['scales'])})*(?:[{digits[:2]}]\d+)?)"
        )
        self.word_scale = re.compile(
            rf"\ ?-?(?P<s>{any_of(large)})\b(?:\ (?P<t>{any_of(large)})\b)?"
            rf"|\ ?(?P<k>{any_of(['k', 'mn', 'bn', 'tn', 'mln'])})(?![{LATIN}])"
        )
        number = rf"(?:\d[\d,]*(?:\.\d+)?|[{self.han}]+(?:{numerals['point']}[{digits}]+)?)"
        self.han_fraction = re.compile(rf"(?P<under>\d+|[{self.han}]+){numerals['fraction']}(?P<top>{number})")
        self.tenths = re.compile(
            rf"(?P<tens>\d(?:\.\d)?|[{digits[2:]}])\ ?{self.tens_of}"
            rf"(?:(?P<more>[{digits[2:]}](?![{self.han}]))|(?P<half>{self.half})"
            rf"|(?!{any_of(numerals['after_tenths'].split())}))"
        )
        self.and_half = numerals["and_half"]
        self.after_half, self.before_half = frozenset(numerals["after_half"]), frozenset(numerals["before_half"])
        self.word_fraction = re.compile(
            rf"(?:(?P<half>half)(?=(?:\ (?:of|a|an|the|as|dozen)|[\ -](?:hour|day|year|month|century|million|billion))\b)"
            rf"(?:\ an?\b)?"
            rf"|(?P<n>an?|\d{{1,2}}|{one})[\ -](?P<d>{any_of(self.fractions)})\b"
            rf"(?!\ (?:to|past|of\ an?\ (?:year|century))\b|\ ?\d)"
            rf"(?:\ of\ an?(?=\ (?:hour|day|mile|million|billion)\b))?"
            rf"|(?P<i>{one}|\d{{1,3}})\ (?:out\ of|in)\ (?:every\ )?(?P<j>{one}|\d{{1,3}})\b(?!\ ?[\d,.%:/-]))"
        )
        self.frac = re.compile(r"\\[dt]?frac\{(\d+)\}\{(\d+)\}")
        self.negatives = tuple(w for table in (en, zh) for w in table["numerals"]["negative"].split())

    def _calendar(self, en: dict[str, Any], zh: dict[str, Any]) -> None:
        from dateutil.parser import parserinfo

        names = enumerate(parserinfo.MONTHS, start=1)
        self.months = {name.lower(): number for number, spelt in names for name in spelt}
        self.days = {name.lower(): n for n, spelt in enumerate(parserinfo.WEEKDAYS, start=1) for name in spelt}
        self.days |= {f"{name}s": n for name, n in self.days.items() if len(name) > 4}
        month = any_of(self.months) + r"\b"
        day, full_day = any_of(self.days), any_of(name for name in self.days if len(name) > 4)
        nth = {word: number for number, word in enumerate(words_of("en", "numerals", "ordinals"), start=1)}
        tens = words_of("en", "numerals", "tens")
        self.ordinals = nth | {
            f"{ten}{joint}{word}": 10 * at + value
            for at, ten in enumerate(tens, start=2) for joint in "- " for word, value in list(nth.items())[:9]
        }  # fmt: skip
        self.ordinal_words = frozenset(re.split("[- ]", word)[0] for word in self.ordinals)
        order = rf"(?:(?P<{{0}}>{any_of(list(nth)[:4])})|(?P<{{1}}>[1-4])(?:st|nd|rd|th))"
        self.word_dates = re.compile(
            rf"""(?P<mdy>(?P<m4>{month})\.?\ (?P<d4>\d{{1,2}})(?:st|nd|rd|th)?(?:\ ?,?\ (?P<y4>\d{{4}})(?!\d))?
                (?![\d:]|\ ?%|,\d))
            |(?P<my>(?P<m6>{month})\.?(?:\ ?,)?\ (?:of\ )?(?P<y6>[1-9]\d{{3}})(?!\d|[.,:]\d|\ ?%))
            |(?P<quarter>q(?P<q1>[1-4])(?:\ |,\ |\ of\ |/|-)?(?:(?:fy)?(?P<y7>[12]\d{{3}}))?(?![\w-]))
            |(?P<halfyear>h(?P<h1>[12])(?:\ |\ of\ |/|-)(?:fy)?(?P<y8>[12]\d{{3}})(?![\w-]))
            |(?P<wquarter>{order.format("o4", "o5")}[\ -]quarter
                (?:(?:\ of|,)?(?:\ (?:fiscal|the\ year))?\ (?P<y9>[12]\d{{3}})(?!\d))?)
            |(?P<whalf>(?P<o6>first|second)\ half\ of\ (?:the\ year\ )?(?P<y10>[12]\d{{3}})(?!\d))
            |(?P<wcentury>(?P<o8>{any_of(self.ordinals)})[\ -]century\b)
            |(?P<days>(?P<w1>{day})\.?(?:\ ?-\ ?|\ (?:to|through)\ )(?P<w2>{day})\b)
            |(?P<dayname>{full_day}\b)""",
            re.VERBOSE,
        )
        self.digit_dates = self._digit_dates(zh["dates"], zh["numerals"]["digits"], month, order)
        self.weekday = re.compile(
            rf"{any_of(zh['dates']['weekday'].split())}(?P<w>[{zh['dates']['weekdays']}])(?![{zh['dates']['no_weekday']}{zh['numerals']['powers']}])"
            rf"(?:\ ?(?:-|~|{any_of(zh['cue_fillers']['to'].split())})\ ?{any_of(zh['dates']['weekday'].split())}?"
            rf"(?P<w2>[{zh['dates']['weekdays']}])(?!\d))?"
        )
        self.before_weekday = frozenset(zh["dates"]["before_weekday"])
        self.weekdays = zh["dates"]["weekdays"]
        ordinal_of, first = any_of(zh["dates"]["ordinal_of"].split()), zh["dates"]["ordinal"]
        self.han_ordinal = re.compile(rf"{first}\ ?(?P<o>\d+|[{self.han}]+)(?:\ ?{ordinal_of})?")
        self.ordinal_next, self.ordinal_nexts = re.compile(zh["dates"]["ordinal_next"]), zh["dates"]["ordinal_nexts"]
        self.han_quarter = re.compile(
            rf"{first}?\ ?(?P<q>[1-4]|[{zh['numerals']['digits'][2:8]}])\ ?{zh['dates']['quarter']}"
        )
        self.half_years: dict[str, int] = zh["dates"]["half"]
        self.month_words = frozenset(words_of("en", "dates", "before_month"))
        self.year_word, self.month_word = zh["dates"]["year"], zh["dates"]["month"]
        self.era = en["dates"]["era"] | zh["dates"]["era"] | {"ad ": 1}
        self.eras_before = tuple(sorted([*zh["dates"]["era"], "ad "], key=len, reverse=True))
        self.era_year = re.compile(rf"(\d{{1,4}})(?!\d)(\ ?{self.year_word})?")
        self.after_era = re.compile(rf"(\d{{1,4}})\ ({any_of(en['dates']['era'])})\b")

    def _digit_dates(self, words: dict[str, Any], digits: str, month: str, order: str) -> re.Pattern[str]:
        """What may begin at a digit, or with a Chinese numeral."""
        small, year, half = rf"(?:\d{{1,2}}|[{self.han[2:13]}]{{1,3}})", words["year"], any_of(words["half"])
        quarter = rf"{words['ordinal']}?\ ?(?P<q2>[1-4]|[{digits[2:8]}])\ ?{words['quarter']}|q(?P<q3>[1-4])"
        clock = tables("zh")["clock"]
        return re.compile(
            rf"""(?P<ymd>(?P<y1>\d{{4}})(?P<sep>[-/.])(?P<m1>\d{{1,2}})(?P=sep)(?P<d1>\d{{1,2}})(?!\d|[-/.]\d))
            |(?P<numeric>\d{{1,2}}(?P<sep2>[-/.])\d{{1,2}}(?P=sep2)[12]\d{{3}}(?!\d|[-/.]\d))
            |(?P<cdate>(?P<y2>\d{{4}}|[{digits}]{{4}})\ ?{year}(?![{words["after_year"]}]|\ ?{words["decade"][1:]})
                (?:\ ?(?:(?P<m2>{small})\ ?{words["month"]}(?!{words["ordinal"]})(?:\ ?(?P<d2>{small})\ ?[{words["day"]}])?
                |(?:{quarter})|(?P<h2>{half})))?)
            |(?P<cmd>(?P<m3>{small})\ ?{words["month"]}(?:\ ?(?P<d3>{small})\ ?[{words["day"]}])?)
            |(?P<yq>(?P<y11>[12]\d{{3}})\ ?-?q(?P<q4>[1-4])(?!\w))
            |(?P<yh>(?P<y12>[12]\d{{3}})\ ?-?h(?P<h4>[12])(?!\w))
            |(?P<nquarter>{order.format("o9", "o10")}[\ -]quarter\ (?:of\ )?(?P<y13>[12]\d{{3}})(?!\d))
            |(?P<dmy>(?P<d5>\d{{1,2}})(?:st|nd|rd|th)?\ (?:of\ )?(?P<m5>{month})\.?(?:\ ?,?\ (?P<y5>\d{{4}})(?!\d))?)
            |(?P<time>(?P<hh>[01]?\d|2[0-4]):(?P<mm>[0-5]\d)(?::[0-5]\d)?(?:\ ?(?P<half>[ap])\.?m\b\.?)?(?![:\d]))
            |(?P<ampm>(?P<h5>1[0-2]|0?[1-9])\ ?(?P<half2>[ap])\.?m\b\.?)
            |(?P<oclock>(?P<h6>1[0-2]|[1-9])\ ?o'clock)
            |(?P<phone>\d{{3,4}}[-\ ]\d{{3,4}}[-\ ]\d{{4}}(?![\d-])|\d{{2,4}}(?:-\d{{3,5}}){{2}}(?![\d-])
                |\d{{3}}\)\ ?\d{{3}}[-\ ]\d{{4}}(?![\d-])|0\d{{2,3}}-\d{{7,8}}(?![\d-])
                |(?=[\d-]*\d{{3}})\d{{1,5}}(?:-\d{{1,7}}){{3,4}}(?![\d-]))
            |(?P<version>\d+(?:\.\d+){{2,}}(?!\d)(?:-(?:alpha|beta|rc)[.\d]*)?(?!['{LATIN}%]|\.\d))
            |(?P<decade>(?P<t1>[12]\d)?(?P<t2>\d0)(?:'?s(?![{LATIN}])|\ ?{words["decade"]}))
            |(?P<century>(?P<c1>\d{{1,2}})(?:(?:st|nd|rd|th)[\ -]century\b|\ ?{words["century"]}
                (?:(?P<t3>\d0)\ ?{words["decade"]})?))
            |(?P<ordinal>(?P<o2>\d+)(?:st|nd|rd|th)\b)
            |(?P<clock>(?P<h7>\d{{1,2}}|[{self.han[:13]}]{{1,3}})\ ?
                (?:(?P<sharp>{any_of(w for w in clock["hour"].split() if len(w) > 1)})
                |{any_of(w for w in clock["hour"].split() if len(w) == 1)}(?:(?P<half3>{clock["half"]})
                |(?P<q5>{any_of(clock["quarters"])})
                |\ ?(?P<mm2>\d{{1,2}}|[{self.han[:13]}]{{1,3}})\ ?(?:{any_of(clock["minute"].split())})?)?)(?![{digits}]))""",
            re.VERBOSE,
        )

    def _clock(self, en: dict[str, Any], zh: dict[str, Any]) -> None:
        self.clock_names: dict[str, int] = en["clock"]["names"]
        hour = rf"(?:{any_of(list(self.ones)[1:13])}|1[0-2]|[1-9])\b"
        minutes = any_of([*self.ones, "twenty-five"])
        parts = "|".join(f"(?P<am>{en['clock']['am']})|(?P<pm>{en['clock']['pm']})".split("\n"))
        self.word_clock = re.compile(
            rf"(?:(?P<half>half(?=\ past)|(?:a\ )?quarter|{minutes}(?:\ minutes|(?=\ past)))\ "
            rf"(?P<way>past|to|after)\ (?P<hour>{hour})"
            rf"|(?P<hour2>{hour})\ o'clock)"
            rf"(?:\ (?:{parts})|\ ?(?P<ap>[ap])\.?m\b)?|(?P<name>{any_of(self.clock_names)})\b"
        )
        self.part_of_day = re.compile(rf"\ (?:{parts})\b")
        self.am, self.pm = tuple(zh["clock"]["am"].split()), tuple(zh["clock"]["pm"].split())
        self.noon = tuple(zh["clock"]["noon"].split())
        self.quarters: dict[str, int] = zh["clock"]["quarters"]
        hours, to = any_of(zh["clock"]["hour"].split()), any_of(zh["cue_fillers"]["to"].split())
        self.until = re.compile(rf"(?:{hours}|{any_of(zh['clock']['half'].split())}|:\d\d)\ ?(?:[-~–—]|{to})\ ?$")
        self.month_end = re.compile(rf"\ ?{any_of(zh['dates']['month_end'].split())}")
        self.end_of_month = tuple(en["dates"]["month_end"])
        self.before_clock, self.after_clock = frozenset(zh["clock"]["before"]), frozenset(zh["clock"]["after_time"])

    def _cues(self, en: dict[str, Any], zh: dict[str, Any]) -> None:
        def gathered(section: str) -> dict[str, str]:
            return {word: cue for table in (en, zh) for cue, words in table[section].items() for word in words}

        self.before = gathered("cues")
        self.before_words = tuple(sorted(self.before, key=len, reverse=True))
        self.after = gathered("cues_after")
        self.after_words = tuple(sorted(self.after, key=len, reverse=True))
        self.fillers = tuple(zh["cue_fillers"]["fillers"])
        loose, no_gap = any_of(zh["cue_fillers"]["loose"].split()), zh["cue_fillers"]["no_gap"]
        self.loose_cue = re.compile(rf"(?P<cue>{loose})(?:(?![{no_gap}{self.han}])[{HAN}]){{1,5}}$")
        self.negated = re.compile(
            rf"(?:\b{any_of(en['cue_fillers']['not'].split())}\b|{any_of(zh['cue_fillers']['not'].split())})[^.,;:，。；：]*$"
        )
        self.loss = (*en["cue_fillers"]["loss"], *zh["cue_fillers"]["loss"])
        self.between = (en["cue_fillers"]["between"] + " ", zh["cue_fillers"]["between"])
        self.to = re.compile(rf"\ ?(?:-|~|{any_of(zh['cue_fillers']['to'].split())}|(?:to|or)\b)\ ?")
        self.and_ = re.compile(
            rf"\ ?(?:-|~|(?:and|to)\b|{any_of([*zh['cue_fillers']['and'].split(), *zh['cue_fillers']['to'].split()])})\ ?"
        )
        self.joint = re.compile(rf"(?:\ and\ |,\ and\ |,\ |\ ?[{zh['numerals']['joint']}]?\ ?)(?=[\d{self.han}])")
        self.parts = {word: names.split() for table in (en, zh) for word, names in table["parts"].items()}
        self.joints = frozenset(" -~" + "".join(zh["cue_fillers"]["to"].split() + zh["cue_fillers"]["and"].split()))
        self.per = re.compile(
            rf"\ ?(?:/|per\ |{zh['cue_fillers']['per']}"
            rf"|(?:an?|each|every)\ (?=(?:second|minute|hour|day|week|month|quarter|year)\b))"
        )
        self.per_thing = re.compile(r"\ (?P<thing>[a-z]{2,12})\ ?(?:/|per\ )")
        self.each = zh["cue_fillers"]["per"]
        self.version_before = tuple(
            w + end for w in words_of("en", "no_numbers", "version") for end in (" ", " v")
        ) + tuple(w for t in words_of("zh", "no_numbers", "version") for w in (t, t + " ", t + "v"))
        self.labels = frozenset(words_of("en", "no_numbers", "labels"))
        self.second_before = frozenset(words_of("en", "no_numbers", "before_ordinal_second"))
        self.half_before = frozenset(words_of("en", "no_numbers", "before_half"))

    def _unit_tables(self) -> None:
        self.units, self.cased = unit_spellings(), _cased()
        self.case_matters = frozenset(symbol.lower() for symbol in self.cased)
        self.long_first = frozenset(spelling.split(" ")[0] for spelling in self.units if " " in spelling)
        self.unit_firsts = frozenset(spelling[0] for spelling in self.units if not spelling.isascii())
        self.longest = max(len(spelling) for spelling in self.units if not spelling.isascii())
        self.rates = {w: tuple(rate.split()) for lang in codes() for w, rate in tables(lang).get("rates", {}).items()}
        self.also = {
            spelling: tuple(tuple(meaning.split(" ", 1)) for meaning in meanings.split(","))
            for lang in codes() for spelling, meanings in tables(lang).get("also", {}).items()
        }  # fmt: skip
        money = [s for s, (kind, name) in self.units.items() if kind == "money" and name not in ("cent", "jiao", "fen")]
        self.signs = tuple(
            sorted((s for s in money if not s.isalpha() or (s.isascii() and len(s) == 3)), key=len, reverse=True)
        )
        self.signs += tuple(tables("zh")["currency"]["before"].split())
        self.latin_unit = re.compile(
            rf"(?:°\ ?)?[a-zμω$]+[23{RAISED[2:4]}]?(?![{LATIN}])|(?:h|d|m|min)(?=\d+\ ?(?:h|m|min|s|sec)\b)|[%‰$€£¥₹₩₽¢°]"
        )
        self.more_words = re.compile(r"(?:[ -][a-z]+){1,2}")

    def _starts(self, zh: dict[str, Any]) -> None:
        self.weekday_firsts = frozenset(word[0] for word in zh["dates"]["weekday"].split())
        firsts = {*self.weekday_firsts, *self.ordinal_nexts, zh["dates"]["ordinal"], self.half}
        firsts |= {word[0] for word in self.one_half}
        self.numerals = frozenset(self.han)
        self.word, self.digits, self.dotted = (
            re.compile("[a-z]+"),
            re.compile(r"\d+"),
            re.compile(r"\d+(?:\.\d+)+(?!\d)"),
        )
        dates = zh["dates"]
        self.dates_go_on = frozenset(
            " -/.:'qhsnrtap)" + self.year_word + self.month_word + dates["century"][0] + dates["quarter"][0]
        )
        self.dates_go_on |= {word[0] for word in zh["clock"]["hour"].split()}
        self.han_ahead = re.compile(
            rf"[{self.han}]+\ ?(?:[{self.year_word}{self.month_word}{dates['century'][0]}{dates['quarter'][0]}]"
            rf"|{any_of(zh['clock']['hour'].split())}|{zh['numerals']['fraction']})"
        )
        han = "".join(sorted({*self.han, *firsts}))
        words = {*self.ones, *self.multiples, *self.months, *self.days}
        words |= {*self.ordinal_words, *self.fractions, *self.clock_names}
        durations = [w for w, (kind, _) in self.units.items() if kind == "duration" and w.isalpha() and w.isascii()]
        after_article = any_of([*self.large, *self.groups, *self.fractions, *durations])
        # A set first: the engine then runs over what is in none of them, as most Chinese text is.
        self.candidate = re.compile(
            rf"[a-z_\d.{han}\[【#<\\{BROKEN}](?:(?<=[a-z_])(?<![a-z_].)"
            rf"(?P<latin>(?:{_by_initial(words)}(?![a-z_])|(?<=a)n?\ (?={after_article}\b)"
            rf"|(?<=h)ttps?:|(?:(?<=h)undred|(?<=t)housand|(?<=m)illion|(?<=[hqv]))(?=\ |\d|\.\d)"
            rf"|[a-z_]*+(?=(?:[-.#/+][a-z_]+){{0,8}}+(?:[-.#/]?\d|@))))"
            rf"|(?<=[{han}])(?P<han>)|(?<=\d)(?P<digit>)|(?<=\.)\d(?P<point>)"
            rf"|(?<=[\[【#<\\{BROKEN}])(?P<mark>(?<=\[)(?=\^?(?:id:|citation:)?\d)|(?<=【)(?=\d)|(?<=\#)\#(?=\d)|(?<=<)sup>(?=\d)|(?<=\\)[dt]?frac|(?<=[{BROKEN}])))"
        )
        self.rest = re.compile(rf"[a-z_]*(?:[-.#/][a-z_]+)*|\d+|[{self.han}]+")
        self.skip = re.compile(rf"https?://[^\s{HAN}]+|(?<![\w.+-])[\w.+-]{{1,64}}@[\w.-]+\w")
        self.mark = re.compile(
            r"\[\^?(?:id:|citation:)?\d{1,3}(?:\ ?[-,;]\ ?\^?(?:id:|citation:)?\d{1,3})*\]"
            r"|【\d+[^】]{0,40}】|\#\#\d+\$\$|<sup>\[?\d[\d,\ -]*\]?</sup>"
        )
        self.identifier = re.compile(
            r"(?!(?:mid|pre|post|non|early|late|top|under|over)-\d)(?=[a-z_]+(?:[-.\#/][a-z_]+)*[-.\#/]?\d)"
            rf"[a-z_][a-z0-9_]*(?:[-\#./][a-z0-9_]+)*(?![{LATIN}])"
        )
        self.version = re.compile(rf"v\.?\ ?\d+(?:\.\d+)*(?:-(?:alpha|beta|rc)[.\d]*)?(?!['{LATIN}%]|\.\d)")


@cache
def grammar() -> Grammar:
    """The grammar; made with the first text."""
    return Grammar()
