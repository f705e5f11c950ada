"""Numbers, dates, times, units and names in a text, brought to comparable form.

1,500 = 1500 = 1.5千 = 一千五百; 2024-05-01 = 2024年5月1日 = May 1, 2024; 3–5 days = 3到5天. Digits inside identifiers
(``doc-12``, ``ERR-1042``) are no numbers, and 三个月 is not 90 天. Spans index the original text.
"""

from __future__ import annotations

import math
import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from workbench.data.text.normalise import HAN, normalise_with_map
from workbench.data.text.words import HAN as HAN_entities
from workbench.data.text.words import word_list

# ------------------------------------------------------------------------------
# Numerals in words: Chinese (一千五百, 三点五, 二〇二四) and English (twenty-five, two hundred).


_LONGEST = 24

DIGITS = dict(zip("零〇一二两三四五六七八九", (0, 0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9), strict=True))
_POWERS = {"十": 10, "百": 100, "千": 1000}
_BIG = {"万": 10**4, "亿": 10**8}
SCALES = {
    "十": 10.0, "百": 1e2, "千": 1e3, "万": 1e4, "十万": 1e5, "百万": 1e6, "千万": 1e7, "亿": 1e8, "万亿": 1e12,
    "k": 1e3, "hundred": 1e2, "thousand": 1e3, "million": 1e6, "mn": 1e6, "billion": 1e9, "bn": 1e9, "trillion": 1e12,
}  # fmt: skip
_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
WORDS = {name: value for value, name in enumerate(_ONES.split())}
WORDS |= {name: 10 * value for value, name in enumerate(_TENS.split(), start=2)}
_ENGLISH_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_MONTH_NAMES = """january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sept sep|
october oct|november nov|december dec"""
MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES.split("|"), start=1) for name in names.split()}
_ORDINAL_NAMES = "first second third fourth fifth sixth seventh eighth ninth tenth"
ORDINALS = {name: value for value, name in enumerate(_ORDINAL_NAMES.split(), start=1)}


def chinese_number(text: str) -> float | None:
    """The value of a Chinese numeral (三, 十二, 两百, 一千五百, 二〇二四, 三点五, 一万二), None if it is none."""
    if len(text) > _LONGEST:
        return None
    whole, point, fraction = text.partition("点")
    if point:
        left, digits = chinese_number(whole), [DIGITS.get(c) for c in fraction]
        if left is None or not digits or None in digits:
            return None
        return float(f"{int(left)}.{''.join(map(str, digits))}")
    if all(c in DIGITS for c in whole) and whole:
        return float("".join(str(DIGITS[c]) for c in whole))
    return _positional(whole)


def _positional(text: str) -> float | None:
    total, section, digit, power = 0, 0, 0, 1
    for character in text:
        if character in DIGITS:
            digit = DIGITS[character]
            power = 1 if character in "零〇" else power
        elif character in _POWERS:
            power = _POWERS[character]
            section += (digit or 1) * power
            digit, power = 0, power // 10
        elif character in _BIG:
            big = _BIG[character]
            total = (total + section + digit) * big if big > 10**4 else total + (section + digit or 1) * big
            section, digit, power = 0, 0, big // 10
        else:
            return None
    return float(total + section + digit * power)


def english_number(text: str) -> float | None:
    """The value of an English numeral in lower case (twenty-five, two hundred and ten), None if it is none."""
    total, current = 0, 0
    if len(text) > 8 * _LONGEST:
        return None
    for word in re.split(r"[\s-]+", text):
        if word in WORDS:
            current += WORDS[word]
        elif word == "hundred":
            current = (current or 1) * 100
        elif word in _ENGLISH_SCALES:
            total += (current or 1) * _ENGLISH_SCALES[word]
            current = 0
        elif word not in ("and", "a"):
            return None
    return float(total + current)


# ------------------------------------------------------------------------------
# Reading the quantities of a text: numbers, percentages, money, dates, times, durations, versions, ordinals.
#
# One pattern over the normalised text finds them; a reader for each kind turns a match into value, bounds and unit.


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity of an original text.

    ``kind`` is one of number, percent, money, date, time, duration, version, ordinal. ``value`` is None for a range and
    a version; a date's value is its digits (20240501, 202405, 2024, 501) and its unit says which parts it has
    (``ymd``, ``ym``, ``y``, ``md``, ``m``); a time's value is minutes after midnight. ``low`` and ``high`` bound the
    quantity: both equal ``value`` for an exact one, differ for a range, one is infinite for "at most" / "at least".
    ``unit`` is the canonical unit, None without one, and the text of a version.
    """

    start: int
    end: int
    text: str
    value: float | None
    low: float
    high: float
    unit: str | None
    kind: str


# ---------------------------------------------------------------- units


@cache
def _units() -> dict[str, tuple[str, str]]:
    """Spelling → (kind, canonical unit)."""
    tables = tomllib.loads(resources.files(__package__).joinpath("units.toml").read_text(encoding="utf-8"))
    known = {}
    for kind, units in tables.items():
        for name, spellings in units.items():
            for spelling in spellings.split():
                known[spelling.replace("-", " ")] = (kind, name)
    return known


def _unit_of(written: str | None) -> tuple[str, str | None]:
    """(kind, unit) of a unit as written; an unknown or counting one is a plain number."""
    if not written:
        return "number", None
    kind, name = _units().get(written.replace("-", " "), ("count", ""))
    return ("number", None) if kind == "count" else (kind, name)


# ---------------------------------------------------------------- patterns, over normalised text

_CN = "零〇一二两三四五六七八九十百千万亿"
_ARABIC = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?"
_ONE_WORD = "(?:" + "|".join(sorted(WORDS, key=len, reverse=True)) + ")"
_MORE_WORDS = rf"(?:[\ -](?:and\ )?(?:{_ONE_WORD}|hundred|thousand|million|billion)\b)*"
_ENGLISH = rf"(?:{_ONE_WORD}|a(?=\ (?:hundred|thousand|million)\b)){_MORE_WORDS}"
_MONTH = "(?:" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b"
_ORDINAL_WORD = "(?:" + "|".join(ORDINALS) + ")"
_MONEY_NAME = r"(?:rmb|usd|eur|cny|hkd|jpy|gbp)\b"
_SCALE = r"(?:万亿|千万|百万|十万|万|亿|千|百|k(?![a-z])|(?:hundred|thousand|million|billion|trillion|mn|bn)\b)"
_CN_NUMBER = rf"[{_CN}]+(?:点[零〇一二三四五六七八九]+)?"
_CN_MONTH = r"(?:\d{1,2}|[一二三四五六七八九十]{1,2})"
_CN_DAY = r"(?:\d{1,2}|[一二三四五六七八九十]{1,3})"
_CN_YEAR = r"(?:\d{4}|[〇零一二三四五六七八九]{4})"


@cache
def _unit_pattern() -> str:
    spellings = sorted(_units(), key=len, reverse=True)
    latin = [re.escape(s).replace(r"\ ", r"[\ -]") for s in spellings if re.search("[a-z]$", s)]
    other = [re.escape(s) for s in spellings if not re.search("[a-z]$", s)]
    return rf"(?:(?:{'|'.join(other)})|(?:{'|'.join(latin)})(?![a-z0-9_]))"


_SKIP = rf"(?P<skip>https?://[^\s{HAN}]+|(?<![\w.+-])[\w.+-]{{1,64}}@[\w.-]+\w)"
_TIME = r"""(?P<time>(?<![\w.:])(?P<hh>[01]?\d|2[0-4]):(?P<mm>[0-5]\d)(?::[0-5]\d)?
    (?:\ ?(?P<half>[ap])\.?m\b\.?)?(?![:\d]))"""
_AMPM = r"(?P<ampm>(?<![\w.:])(?P<h2>1[0-2]|0?[1-9])\ ?(?P<half2>[ap])\.?m\b\.?)"
_YMD = r"(?P<ymd>(?<![\w.])(?P<y1>\d{4})(?P<sep>[-/.])(?P<m1>\d{1,2})(?P=sep)(?P<d1>\d{1,2})(?!\d|[-/.]\d))"
_CN_DATE = rf"""(?P<cdate>(?<!\d)(?P<y2>{_CN_YEAR})\ ?年(?!前|后|内|以)
    (?:\ ?(?P<m2>{_CN_MONTH})\ ?月(?:\ ?(?P<d2>{_CN_DAY})\ ?[日号])?)?)"""
_CN_MONTH_DAY = rf"(?P<cmd>(?<![\d.{_CN}])(?P<m3>{_CN_MONTH})\ ?月\ ?(?P<d3>{_CN_DAY})\ ?[日号])"
_MDY = rf"""(?P<mdy>\b(?P<m4>{_MONTH})\.?\ (?P<d4>\d{{1,2}})(?:st|nd|rd|th)?(?:\ ?,?\ (?P<y4>\d{{4}})(?!\d))?
    (?![\d:]|\ ?%|,\d))"""
_DMY = rf"""(?P<dmy>(?<![\w.,])(?P<d5>\d{{1,2}})(?:st|nd|rd|th)?\ (?:of\ )?(?P<m5>{_MONTH})\.?
    (?:\ ?,?\ (?P<y5>\d{{4}})(?!\d))?)"""
_MY = rf"(?P<my>\b(?P<m6>{_MONTH})\.?(?:\ ?,)?\ (?:of\ )?(?P<y6>[1-9]\d{{3}})(?!\d|[.,:]\d|\ ?%))"
_VERSION = r"""(?P<version>(?<![\w.-])(?:v(?=\d)\d+(?:\.\d+)*|\d+(?:\.\d+){2,}(?!\d))(?:-(?:alpha|beta|rc)[.\d]*)?
    (?!['a-z0-9_%]|\.\d))"""
_NAMED = r"(?P<named>(?:\b(?:version|release)|版本(?:号)?(?:为|是)?)\ ?v?(?P<ver>\d+(?:\.\d+)+)(?!\d))"
_IDENTIFIER = r"""(?P<ident>(?!(?:mid|pre|post|non|early|late|top|under|over)-\d)
    (?=[a-z_]+(?:[-.\#/][a-z_]+)*[-.\#/]?\d)
    [a-z_][a-z0-9_]*(?:[-\#./][a-z0-9_]+)*(?![a-z0-9_]))"""
_PERCENT_WORDS = rf"(?P<cpercent>(?P<cp>百分之|千分之)(?P<pv>{_ARABIC}|{_CN_NUMBER}))"
_CN_ORDINAL = rf"(?P<o1_>第\ ?(?P<o1>\d+|[{_CN}]+)(?:\ ?(?:个|名|位|次|条|章|节|步|版|季度|天|年|周))?)"
_ORDINAL = r"(?P<o2_>(?<![\w.])(?P<o2>\d+)(?:st|nd|rd|th)\b)"
_ORDINAL_NAME = rf"(?P<o3_>\b(?P<o3>{_ORDINAL_WORD})\b(?!\ of\ all|\s*[,-]))"


@cache
def _latin_pattern() -> re.Pattern[str]:
    """What may begin at the first letter of a Latin word."""
    number = rf"\b{_ENGLISH}\b"
    return _compiled(_SKIP, _VERSION, _NAMED, _MDY, _MY, _IDENTIFIER, _ORDINAL_NAME, _plain_pattern(number))


@cache
def _digit_pattern() -> re.Pattern[str]:
    """What may begin at a digit, a sign or a currency sign."""
    dates = _YMD, _CN_DATE, _CN_MONTH_DAY, _DMY
    return _compiled(_SKIP, *dates, _TIME, _AMPM, _VERSION, _ORDINAL, _plain_pattern(_ARABIC))


@cache
def _chinese_pattern() -> re.Pattern[str]:
    """What may begin at a Chinese numeral or marker."""
    number = rf"(?<![{_CN}]){_CN_NUMBER}"
    return _compiled(_PERCENT_WORDS, _CN_DATE, _CN_MONTH_DAY, _NAMED, _CN_ORDINAL, _plain_pattern(number))


def _compiled(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.VERBOSE)


def _plain_pattern(number: str) -> str:
    """A number, or two with a range sign between, with currency, scale and unit."""
    unit = rf"(?:%|percent\b|{_unit_pattern()})"
    any_number = rf"(?:{_ARABIC}|{_CN_NUMBER}|\b{_ENGLISH}\b)"
    return rf"""
        (?P<plain>
        (?P<cur>us\$\ ?|hk\$\ ?|[$¥€£]\ ?|(?<![a-z])(?:rmb|usd|eur|cny|人民币)\ ?)?
        (?P<sign>(?<![\w)])[-+](?=\d))?
        (?P<n1>(?<![a-z_\d.])(?:{number}|(?<=[a-z币$¥€£\ +-]){_ARABIC}))
            \ ?(?P<s1>{_SCALE})?(?:\ |-(?!\ ?\d))?
            (?P<u1>(?(cur)(?!{_MONEY_NAME})){unit})?
        (?:\ ?(?:-|~|至|到|to\b|or\b)\ ?(?P<cur2>[$¥€£])?(?P<n2>{any_number})\ ?(?P<s2>{_SCALE})?
            [\ -]?(?P<u2>{unit})?)?
        )"""


_CANDIDATE = re.compile(rf"(?P<latin>[a-z_]+)|(?P<digit>\d|[$¥€£]|[-+](?=\d))|(?P<chinese>[{_CN}第]|版本|人民币)")
_JOINED = frozenset("0123456789-#./_@:+$")


@cache
def _starters() -> frozenset[str]:
    """Latin words with which a quantity may begin."""
    more = ["hundred", "thousand", "million", "a", "version", "release", "http", "https"]
    return frozenset([*WORDS, *MONTHS, *ORDINALS, *more, "rmb", "usd", "eur", "cny", "us", "hk"])


def _matches(folded: str) -> Iterator[re.Match[str]]:
    """The matches in order, without overlaps; the pattern tried depends on the character at which it would begin."""
    at = 0
    while (candidate := _CANDIDATE.search(folded, at)) is not None:
        match = _match_at(folded, candidate)
        if match is not None:
            yield match
        at = match.end() if match is not None else _past(folded, candidate)


def _match_at(folded: str, candidate: re.Match[str]) -> re.Match[str] | None:
    kind, start, end = candidate.lastgroup, candidate.start(), candidate.end()
    if kind == "digit":
        return _digit_pattern().match(folded, start)
    if kind == "chinese":
        return _chinese_pattern().match(folded, start)
    if candidate[0] in _starters() or folded[end : end + 1] in _JOINED:
        return _latin_pattern().match(folded, start)
    return None


_RUN_REST = re.compile(rf"[a-z_]*(?:[-.#/][a-z_]+)*|\d*|[{_CN}]*")


def _past(folded: str, candidate: re.Match[str]) -> int:
    """Where to look on after a candidate that came to nothing: behind its run, so that no run is read twice."""
    rest = _RUN_REST.match(folded, candidate.start())
    return max(candidate.end(), rest.end() if rest else 0)


_AT_MOST = re.compile(
    r"""(?:最多|至多|不超过|不多于|不得超过|上限(?:为|是)?|≤|<=|<|低于|少于|小于|\bat\ most|\bup\ to|\bno\ more\ than
        |\bnot\ more\ than|\bmaximum(?:\ of)?|\bless\ than|\bunder|\bwithin)
        \s*(?:可?(?:支持|容纳|上传|使用|为|达)?)\s*$""",
    re.VERBOSE,
)
_AT_LEAST = re.compile(
    r"""(?:至少|最少|不少于|不低于|不小于|≥|>=|>|超过|多于|大于|高于|\bat\ least|\bno\ (?:less|fewer)\ than
        |\bnot\ less\ than|\bminimum(?:\ of)?|\bmore\ than|\bover|\bexceed(?:s|ing)?)
        \s*(?:为|达)?\s*$""",
    re.VERBOSE,
)
_AFTER_MOST = re.compile(r"\s*(?:以内|之内|以下|内\b|or less|or fewer|maximum|max\b)")
_AFTER_LEAST = re.compile(r"\s*(?:以上|及以上|起|or more|or above|minimum|\+)")


def quantities(text: str) -> list[Quantity]:
    """The quantities of ``text`` in order, without overlaps."""
    return list(_quantities_cached(text) if len(text) <= 2000 else _quantities(text))


@lru_cache(maxsize=32768)
def _quantities_cached(text: str) -> tuple[Quantity, ...]:
    return _quantities(text)


def _quantities(text: str) -> tuple[Quantity, ...]:
    folded, offsets = normalise_with_map(text)
    found = []
    for match in _matches(folded):
        parts = _read(match)
        if parts is None:
            continue
        value, low, high, unit, kind, begin, stop = parts
        start, end = offsets.span(begin, stop)
        found.append(Quantity(start, end, text[start:end], value, low, high, unit, kind))
    return tuple(found)


_Parts = tuple[float | None, float, float, str | None, str, int, int]


def _read(match: re.Match[str]) -> _Parts | None:
    """The quantity of a match, None for identifiers and words that only look like numbers."""
    reader = _READERS.get(match.lastgroup or "")
    return reader(match) if reader else None


def _exact(match: re.Match[str], value: float, unit: str | None, kind: str) -> _Parts:
    return value, value, value, unit, kind, match.start(), match.end()


def _date(match: re.Match[str], year: str | None, month: str | None, day: str | None) -> _Parts | None:
    y = int(chinese_number(year) or 0) if year and not year.isdigit() else int(year or 0)
    m, d = _month_number(month), _small(day)
    if m is None or d is None or m > 12 or d > 31:
        return None
    unit = ("y" if year else "") + ("m" if month else "") + ("d" if day else "")
    value = 0
    for present, part, width in ((year, y, 1), (month, m, 100), (day, d, 100)):
        value = value * width + part if present else value
    return _exact(match, float(value), unit, "date")


def _small(written: str | None) -> int | None:
    if not written:
        return 0
    value = float(written) if written.isdigit() else chinese_number(written)
    return None if value is None else int(value)


def _month_number(written: str | None) -> int | None:
    return MONTHS[written] if written in MONTHS else _small(written)


def _time(match: re.Match[str], hour: str, minute: str | None, half: str | None) -> _Parts:
    hours = int(hour) % 12 + (12 if half == "p" else 0) if half else int(hour)
    return _exact(match, float(hours * 60 + int(minute or 0)), "hm", "time")


def _version(match: re.Match[str], number: str) -> _Parts:
    """A version as written, without its leading v; the words before a bare number are no part of the span."""
    begin = match.start() if number.startswith("v") else match.end() - len(number)
    return None, math.nan, math.nan, number.removeprefix("v"), "version", begin, match.end()


def _percent_words(match: re.Match[str]) -> _Parts | None:
    value = _number(match["pv"])
    if value is None:
        return None
    return _exact(match, value / (10 if match["cp"] == "千分之" else 1), "%", "percent")


def _ordinal(match: re.Match[str], value: float | None) -> _Parts | None:
    return None if value is None else _exact(match, value, "ordinal", "ordinal")


def _number(written: str) -> float | None:
    if written[0].isdigit():
        try:
            return float(written.replace(",", ""))
        except ValueError:
            return None
    return chinese_number(written) if written[0] in _CN else english_number(written)


def _plain(match: re.Match[str]) -> _Parts | None:
    first = _scaled(match["n1"], match["s1"])
    if first is None or not math.isfinite(first):
        return None
    written = match["u2"] or match["u1"]
    if _is_article(match, written):
        return None
    if match["sign"] == "-":
        first = -first
    kind, unit = ("number", "decade") if _is_decade(match, written) else _kind_of(match, written)
    if match["n2"] is not None:
        second = _scaled(match["n2"], match["s2"])
        if second is None:
            return None
        second = _end_of_years(match, first, second)
        if (
            match["s2"]
            and not match["s1"]
            and not match["u1"]
            and first < second / SCALES[match["s2"]] + 1e9
        ):
            first = first * SCALES[match["s2"]] if first < second else first
        low, high = min(first, second), max(first, second)
        return None, low, high, unit, kind, match.start(), _stop(match)
    return _bounded(match, first, unit, kind)


def _is_decade(match: re.Match[str], written: str | None) -> bool:
    """``1980s``, ``80s``, 80年代: the unit that was read is no unit of time."""
    if match["n2"] is not None or not match["n1"].isdigit() or not match["n1"].endswith("0"):
        return False
    if written == "s":
        before = match.string[: match.start("n1")]
        glued = match.string.startswith("s", match.end("n1"))
        return glued and (len(match["n1"]) == 4 or (len(match["n1"]) == 2 and before.endswith(("the ", "'"))))
    return written == "年" and match.string.startswith("代", match.end())


def _end_of_years(match: re.Match[str], first: float, second: float) -> float:
    """The second year of ``2018–19`` in full; other numbers as they are."""
    short = re.fullmatch(r"1[5-9]\d\d|20\d\d", match["n1"]) and re.fullmatch(r"\d\d", match["n2"])
    if short and not match["s1"] and not match["s2"] and second == (first + 1) % 100:
        return first + 1
    return second


def _stop(match: re.Match[str]) -> int:
    end = match.end()
    while match.string[end - 1] in " -":
        end -= 1
    return end


def _scaled(written: str, scale: str | None) -> float | None:
    value = _number(written)
    return None if value is None else value * SCALES.get((scale or "").strip(), 1.0)


def _kind_of(match: re.Match[str], written: str | None) -> tuple[str, str | None]:
    if written and (written == "%" or written.startswith("percent")):
        return "percent", "%"
    currency = (match["cur"] or match["cur2"] or "").strip()
    if currency:
        return _unit_of(currency)
    return _unit_of(written)


def _is_article(match: re.Match[str], written: str | None) -> bool:
    """Words that only look like numbers: 一个, 一般, 十分, 千万, "one of the"."""
    number = match["n1"]
    if number[0].isdigit() or match["n2"] is not None or match["cur"]:
        return False
    if number[0] in _CN:
        return _chinese_article(match, number, written)
    return number == "one" and (not written or _unit_of(written)[1] is None)


def _chinese_article(match: re.Match[str], number: str, written: str | None) -> bool:
    if len(number) > 1 and not set(number) <= {"千", "万", "百", "十", "一"}:
        return False
    if len(number) > 1:
        return number in ("千万", "万一", "万万", "一一", "百万", "十一") and not written and number != "十一"
    if number in "千万亿百零〇" and not match["s1"]:
        return not written or _unit_of(written)[1] is None
    if number == "一":
        return not written or _unit_of(written)[1] is None or (match["s1"] in ("百", "千") and False)
    if number == "十" and match.string[match.end("n1") : match.end("n1") + 1] == "分":
        return not match.string.startswith("分钟", match.end("n1"))
    return not written and match.string[match.end() : match.end() + 1].strip() != "" and not match["s1"]


def _bounded(match: re.Match[str], value: float, unit: str | None, kind: str) -> _Parts:
    low = high = value
    before = match.string[max(0, match.start() - 24) : match.start()]
    after = match.string[match.end() : match.end() + 12]
    if _AT_MOST.search(before) or _AFTER_MOST.match(after):
        low = -math.inf
    elif _AT_LEAST.search(before) or _AFTER_LEAST.match(after):
        high = math.inf
    begin = match.start() + len(match[0]) - len(match[0].lstrip())
    return value, low, high, unit, kind, begin, _stop(match)


_READERS = {
    "ymd": lambda m: _date(m, m["y1"], m["m1"], m["d1"]),
    "cdate": lambda m: _date(m, m["y2"], m["m2"], m["d2"]),
    "cmd": lambda m: _date(m, None, m["m3"], m["d3"]),
    "mdy": lambda m: _date(m, m["y4"], m["m4"], m["d4"]),
    "dmy": lambda m: _date(m, m["y5"], m["m5"], m["d5"]),
    "my": lambda m: _date(m, m["y6"], m["m6"], None),
    "time": lambda m: _time(m, m["hh"], m["mm"], m["half"]),
    "ampm": lambda m: _time(m, m["h2"], None, m["half2"]),
    "version": lambda m: _version(m, m[0]),
    "named": lambda m: _version(m, m["ver"]),
    "cpercent": _percent_words,
    "o1_": lambda m: _ordinal(m, _number(m["o1"])),
    "o2_": lambda m: _ordinal(m, _number(m["o2"])),
    "o3_": lambda m: _ordinal(m, float(ORDINALS[m["o3"]])),
    "plain": _plain,
}


# ------------------------------------------------------------------------------
# Names, titles, identifiers, numbers and dates of a text.


@dataclass(frozen=True, slots=True)
class Entity:
    """A name, title, quoted term, identifier, number or date; ``kind`` says which: name, title, quoted, code, or the
    kind of a quantity.
    """

    start: int
    end: int
    text: str
    kind: str


_PLACE_ENDS = """有限公司 集团 公司 大学 学院 银行 医院 委员会 研究院 研究所 协会 部门 中心
省 市 县 区 州 国 岛 河 山 湖 机场 车站 战役 王朝"""
_CAPITALISED = r"[A-Z][A-Za-zÀ-ɏ0-9’'-]*"
#: How an identifier begins: no part of the name before it (Error E-1207).
_CODE_HEAD = r"[A-Za-z]{1,20}[-./_\#]?\d"
_ENTITY = re.compile(
    rf"""
      (?P<title>《[^《》\n]{{1,60}}》)
    | (?P<quoted>[“「『][^“”「」『』\n]{{1,40}}[”」』]|"[^"\n]{{1,40}}"|`[^`\n]{{1,60}}`)
    | (?P<code>(?<![A-Za-z0-9_])(?=[A-Za-z_]{{1,60}}(?:[-.\#/_][A-Za-z_]{{1,60}}){{0,8}}[-.\#/_]?\d)
            [A-Za-z_][A-Za-z0-9_]*(?:[-\#./][A-Za-z0-9_]+)*(?![A-Za-z0-9_])
        | \b[a-z]+(?:_[a-z0-9]+)+\b | (?<![A-Za-z0-9_])[A-Z]{{2,}}(?:[-_][A-Z0-9]+)*(?![A-Za-z0-9_]))
    | (?P<name>(?<![A-Za-z0-9_]){_CAPITALISED}(?:\ (?:(?:of|the|and|de|van|von|for|&)\ )?(?!{_CODE_HEAD}){_CAPITALISED})*)
    | (?P<place>[{HAN_entities}]{{2,8}}?(?:{"|".join(_PLACE_ENDS.split())}))
    """,
    re.VERBOSE,
)


def entities(text: str) -> list[Entity]:
    """Names, titles, quoted terms, identifiers, numbers and dates of ``text``, in order, without overlaps.

    English names are capitalised words that do not merely open a sentence; Chinese ones are recognised by 《》, quotes
    and the endings of organisations and places, so that a bare personal name in Chinese is not found.
    """
    measured = [Entity(q.start, q.end, q.text, q.kind) for q in quantities(text)]
    ends = [entity.end for entity in measured]
    found = list(measured)
    for match in _ENTITY.finditer(text):
        entity = _entity(text, match)
        if entity is None:
            continue
        following = bisect_right(ends, entity.start)
        if following == len(measured) or measured[following].start >= entity.end:
            found.append(entity)
    return sorted(found, key=lambda entity: entity.start)


def _entity(text: str, match: re.Match[str]) -> Entity | None:
    kind = match.lastgroup or ""
    start, end = match.span()
    if kind in ("title", "quoted"):
        start, end = start + 1, end - 1
        kind = "title" if kind == "title" else "quoted"
    elif kind == "name":
        start = _name_start(text, start, end)
        if start >= end:
            return None
    elif kind == "place":
        start = _place_start(text, start, end)
        kind = "name"
    return Entity(start, end, text[start:end], kind)


def _name_start(text: str, start: int, end: int) -> int:
    """Where the name begins without words capitalised only by their position; ``end`` if nothing is left."""
    words = text[start:end].split(" ")
    while words and words[0].lower().strip("'’") in word_list("name", "common_starts"):
        start += len(words.pop(0)) + 1
    if not words:
        return end
    opens = re.search(r"(?:^|[.!?。！？:：;；\n•*-])[\s\"'“(]*$", text[max(0, start - 8) : start]) is not None
    single = len(words) == 1 and not re.search(r"[A-Z\d]", words[0][1:])
    return end if opens and single else start


def _place_start(text: str, start: int, end: int) -> int:
    """Cut function words from the front of a Chinese name found by its ending."""
    cut = max((match.end() for match in _NOT_NAME.finditer(text, start, end - 1)), default=start)
    return cut if end - cut >= 2 else start


_NOT_NAME = re.compile("[的在是和与及从到对向于由为被把将了着过这那各每该本其]|位于|以及|来自|属于")


# ------------------------------------------------------------------------------


__all__ = [
    "Entity", "Quantity", "chinese_number", "contains_quantity", "entities", "quantities", "same_quantity", "traits",
]  # fmt: skip

_EXACT_UNITS = {
    "millisecond": ("second", 0.001), "second": ("second", 1.0), "minute": ("second", 60.0), "hour": ("second", 3600.0),
    "day": ("second", 86400.0), "week": ("second", 604800.0),
    "month": ("month", 1.0), "quarter": ("month", 3.0), "year": ("month", 12.0),
    "mm": ("m", 0.001), "cm": ("m", 0.01), "m": ("m", 1.0), "km": ("m", 1000.0),
    "mg": ("g", 0.001), "g": ("g", 1.0), "kg": ("g", 1000.0), "ton": ("g", 1e6),
    "ml": ("litre", 0.001), "litre": ("litre", 1.0),
    "Hz": ("Hz", 1.0), "kHz": ("Hz", 1e3), "MHz": ("Hz", 1e6), "GHz": ("Hz", 1e9),
    "bps": ("bps", 1.0), "kbps": ("bps", 1e3), "Mbps": ("bps", 1e6), "Gbps": ("bps", 1e9),
    "cent": ("USD", 0.01), "jiao": ("CNY", 0.1), "W": ("W", 1.0), "kW": ("W", 1e3),
}  # fmt: skip
_BYTE_STEPS = {"byte": 0, "KB": 1, "MB": 2, "GB": 3, "TB": 4, "PB": 5}


def same_quantity(a: Quantity, b: Quantity) -> bool:
    """Whether two quantities say the same: value, unit and, for ranges, both ends.

    Units convert only where that is exact (24 hours = 1 day, 12 months = 1 year, 1 GB = 1024 or 1000 MB; a month is no
    number of days). A quantity without a unit equals one with a unit of counting, and a year equals the bare number.
    "at most 5" and "at least 5" differ; either equals a bare 5.
    """
    if a.kind == "version" or b.kind == "version":
        return _same_version(a, b)
    if a.kind == "date" or b.kind == "date":
        return _same_date(a, b)
    if {a.kind, b.kind} & {"time", "ordinal"} and a.kind != b.kind:
        return False
    if (a.value is None) != (b.value is None):
        return False
    return any(_same_bounds(a, b, factor) for factor in _factors(a.unit, b.unit))


def _same_version(a: Quantity, b: Quantity) -> bool:
    left, right = (q.unit if q.kind == "version" else _plain_text(q) for q in (a, b))
    return left is not None and left == right


def _plain_text(quantity: Quantity) -> str | None:
    if quantity.kind != "number" or quantity.unit is not None or quantity.value is None:
        return None
    return quantity.text.strip()


def _same_date(a: Quantity, b: Quantity) -> bool:
    if a.kind == b.kind:
        return a.unit == b.unit and a.value == b.value
    date, other = (a, b) if a.kind == "date" else (b, a)
    return date.unit == "y" and other.kind == "number" and other.unit is None and other.value == date.value


def _factors(a: str | None, b: str | None) -> list[float]:
    """By what a value in unit ``a`` is multiplied to be in unit ``b``; empty where the units do not compare."""
    if a == b:
        return [1.0]
    if a in _EXACT_UNITS and b in _EXACT_UNITS:
        (base_a, size_a), (base_b, size_b) = _EXACT_UNITS[a], _EXACT_UNITS[b]
        return [size_a / size_b] if base_a == base_b else []
    if a in _BYTE_STEPS and b in _BYTE_STEPS:
        steps = _BYTE_STEPS[a] - _BYTE_STEPS[b]
        return [1000.0**steps, 1024.0**steps]
    return []


def _same_bounds(a: Quantity, b: Quantity, factor: float) -> bool:
    if a.value is None or b.value is None:
        return _close(a.low * factor, b.low) and _close(a.high * factor, b.high)
    if not _close(a.value * factor, b.value):
        return False
    opposite = (a.low == -math.inf and b.high == math.inf) or (a.high == math.inf and b.low == -math.inf)
    return not opposite


def _close(a: float, b: float) -> bool:
    return a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def traits(quantity: Quantity) -> frozenset[tuple[str, Any]]:
    """What a quantity can be looked up by: two that say the same, or have an end in common, share a trait.

    The converse does not hold: what shares a trait is then compared. Ends are rounded to one part in a million, each
    filed under two neighbours so that no pair parts at the edge.
    """
    if quantity.kind == "version":
        return frozenset([("version", quantity.unit)])
    if quantity.kind == "date":
        return frozenset(_date_traits(int(quantity.value or 0), quantity.unit or ""))
    ends = {end for end in (quantity.value, quantity.low, quantity.high) if end is not None and math.isfinite(end)}
    found = {trait for end in ends for size in _sizes(quantity.unit) for trait in _rounded(end * size)}
    if quantity.unit is None and quantity.value is not None:
        found |= {("version", quantity.text.strip()), ("y", int(quantity.value))}
    return frozenset(found)


def _date_traits(digits: int, parts: str) -> Iterator[tuple[str, Any]]:
    for part in reversed(parts):
        digits, value = (digits, digits) if part == "y" else divmod(digits, 100)
        yield part, value


def _sizes(unit: str | None) -> set[float]:
    """One unit in itself and in the units that it converts to."""
    if unit in _BYTE_STEPS:
        return {1.0, 1000.0 ** _BYTE_STEPS[unit], 1024.0 ** _BYTE_STEPS[unit]}
    return {1.0, _EXACT_UNITS[unit][1]} if unit in _EXACT_UNITS else {1.0}


def _rounded(value: float) -> Iterator[tuple[str, Any]]:
    if abs(value) < 1e-6:
        yield "zero", 0
    if value:
        step = math.floor(math.log(abs(value)) * 1e6)
        yield "end", step
        yield "end", step + 1


def contains_quantity(text_quantities: Iterable[Quantity], quantity: Quantity) -> bool:
    """Whether one of ``text_quantities`` says the same as ``quantity``."""
    return any(same_quantity(found, quantity) for found in text_quantities)
