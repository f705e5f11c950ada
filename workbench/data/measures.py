"""Reading the quantities of a text: numbers, percentages, money, dates, times, durations, versions, ordinals.

One pattern over the normalised text finds them; a reader for each kind turns a match into value, bounds and unit.
"""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources

from workbench.data.normalising import HAN, normalise_with_map
from workbench.data.numerals import MONTHS, ORDINALS, SCALES, WORDS, chinese_number, english_number


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
_ENGLISH = rf"(?:{_ONE_WORD}|a(?=\ (?:hundred|thousand|million)\b))(?:[\ -](?:and\ )?(?:{_ONE_WORD}|hundred|thousand|million|billion)\b)*"
_MONTH = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
_SCALE = (
    r"(?:万亿|千万|百万|十万|万|亿|千|百|k(?![a-z])|(?:hundred|thousand|million|billion|trillion|mn|bn)\b)"
)
_CN_NUMBER = rf"[{_CN}]+(?:点[零〇一二三四五六七八九]+)?"


@cache
def _unit_pattern() -> str:
    spellings = sorted(_units(), key=len, reverse=True)
    latin = [re.escape(s).replace(r"\ ", r"[\ -]") for s in spellings if re.search("[a-z]$", s)]
    other = [re.escape(s) for s in spellings if not re.search("[a-z]$", s)]
    return rf"(?:(?:{'|'.join(other)})|(?:{'|'.join(latin)})(?![a-z0-9_]))"


@cache
def _quantity_pattern() -> re.Pattern[str]:
    number = rf"(?:{_ARABIC}|(?<![{_CN}]){_CN_NUMBER}|\b{_ENGLISH}\b)"
    single = rf"(?:{number})"
    unit = _unit_pattern()
    return re.compile(
        rf"""
          (?P<skip>https?://[^\s{HAN}]+|[\w.+-]{{1,64}}@[\w.-]+\w)
        | (?P<ymd>(?<![\w.])(?P<y1>\d{{4}})(?P<sep>[-/.])(?P<m1>\d{{1,2}})(?P=sep)(?P<d1>\d{{1,2}})(?!\d|[-/.]\d))
        | (?P<cdate>(?<!\d)(?P<y2>\d{{4}}|[〇零一二三四五六七八九]{{4}})\ ?年(?:\ ?(?P<m2>\d{{1,2}}|[一二三四五六七八九十]{{1,2}})\ ?月(?!份?内)
              (?:\ ?(?P<d2>\d{{1,2}}|[一二三四五六七八九十]{{1,3}})\ ?[日号])?)?)
        | (?P<cmd>(?<![\d.])(?P<m3>\d{{1,2}}|(?<![{_CN}个])[一二三四五六七八九十]{{1,2}})\ ?月\ ?(?P<d3>\d{{1,2}}|[一二三四五六七八九十]{{1,3}})\ ?[日号])
        | (?P<mdy>\b(?P<m4>{_MONTH})\.?\ (?P<d4>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\ (?P<y4>\d{{4}}))?(?![\d:]|\ ?%|,\d))
        | (?P<dmy>(?<![\w.,])(?P<d5>\d{{1,2}})(?:st|nd|rd|th)?\ (?:of\ )?(?P<m5>{_MONTH})\b\.?(?:,?\ (?P<y5>\d{{4}})(?!\d))?)
        | (?P<my>\b(?P<m6>{_MONTH})\.?,?\ (?:of\ )?(?P<y6>(?:1[5-9]|20)\d\d)(?!\d))
        | (?P<time>(?<![\w.:])(?P<hh>[01]?\d|2[0-4]):(?P<mm>[0-5]\d)(?::[0-5]\d)?(?:\ ?(?P<half>[ap])\.?m\b\.?)?(?![:\d]))
        | (?P<ampm>(?<![\w.:])(?P<h2>1[0-2]|0?[1-9])\ ?(?P<half2>[ap])\.?m\b\.?)
        | (?P<version>(?<![\w.-])(?:v(?=\d)\d+(?:\.\d+)*|\d+(?:\.\d+){{2,}}(?!\d))(?:-(?:alpha|beta|rc)[.\d]*)?(?![\w%]|\.\d))
        | (?P<named>(?:\b(?:version|release)|版本(?:号)?(?:为|是)?)\ ?v?(?P<ver>\d+(?:\.\d+)+)(?!\d))
        | (?P<ident>(?<![\w])(?=[a-z0-9_.\#/-]*\d)(?:[a-z_][a-z0-9_]*(?:[-\#./][a-z0-9_]+)*)(?![\w]))
        | (?P<cpercent>(?P<cp>百分之|千分之)(?P<pv>{_ARABIC}|{_CN_NUMBER}))
        | (?P<ordinal>第\ ?(?P<o1>\d+|[{_CN}]+)(?:\ ?(?:个|名|位|次|条|章|节|步|版|季度|天|年|周))?|(?<![\w.])(?P<o2>\d+)(?:st|nd|rd|th)\b
              |\b(?P<o3>first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)\b(?!\ of\ all|\s*[,-]))
        | (?P<plain>
            (?P<cur>us\$\ ?|hk\$\ ?|[$¥€£]\ ?|(?<![a-z])rmb\ ?|usd\ ?|eur\ ?|cny\ ?|人民币\ ?)?
            (?P<sign>(?<![\w)])[-+](?=\d))?
            (?P<n1>(?<![a-z_\d.]){single})\ ?(?P<s1>{_SCALE})?(?:\ |-(?!\ ?\d))?(?P<u1>%|percent\b|{unit})?
            (?:\ ?(?:-|~|至|到|to\b|and\b(?=\ ?\d[^.]{{0,12}}$)|or\b)\ ?(?P<cur2>[$¥€£])?(?P<n2>{single})\ ?(?P<s2>{_SCALE})?
              [\ -]?(?P<u2>%|percent\b|{unit})?)?
          )
        """,
        re.VERBOSE,
    )


_WORTH = re.compile(
    rf"[\d{_CN}]|\b(?:{_ONE_WORD}|hundred|thousand|million|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)\b|{_MONTH}"
)
_AT_MOST = re.compile(
    r"(?:最多|至多|不超过|不多于|不得超过|上限(?:为|是)?|≤|<=|<|\bat most|\bup to|\bno more than|\bnot more than|\bmaximum(?: of)?|\bless than|\bunder|\bwithin|低于|少于|小于)\s*(?:可?(?:支持|容纳|上传|使用|为|达)?)\s*$"
)
_AT_LEAST = re.compile(
    r"(?:至少|最少|不少于|不低于|不小于|≥|>=|>|超过|多于|大于|高于|\bat least|\bno (?:less|fewer) than|\bnot less than|\bminimum(?: of)?|\bmore than|\bover|\bexceed(?:s|ing)?)\s*(?:为|达)?\s*$"
)
_AFTER_MOST = re.compile(r"\s*(?:以内|之内|以下|内\b|or less|or fewer|maximum|max\b)")
_AFTER_LEAST = re.compile(r"\s*(?:以上|及以上|起|or more|or above|minimum|\+)")


@lru_cache(maxsize=32768)
def _quantities_cached(text: str) -> tuple[Quantity, ...]:
    folded, offsets = normalise_with_map(text)
    if not _WORTH.search(folded):
        return ()
    found = []
    for match in _quantity_pattern().finditer(folded):
        parts = _read(match)
        if parts is None:
            continue
        value, low, high, unit, kind, begin, stop = parts
        start, end = offsets.span(begin, stop)
        found.append(Quantity(start, end, text[start:end], value, low, high, unit, kind))
    return tuple(found)


def quantities(text: str) -> list[Quantity]:
    """The quantities of ``text`` in order, without overlaps."""
    return list(_quantities_cached(text))


_Parts = tuple[float | None, float, float, str | None, str, int, int]


def _read(match: re.Match[str]) -> _Parts | None:
    """The quantity of a match, None for identifiers and words that only look like numbers."""
    kind = match.lastgroup
    group = next((name for name in _GROUPS if match[name] is not None), kind)
    reader = _READERS.get(group or "")
    return reader(match) if reader else None


_GROUPS = (
    "skip", "ymd", "cdate", "cmd", "mdy", "dmy", "my", "time", "ampm", "version", "named", "ident", "cpercent", "ordinal",
    "plain",
)  # fmt: skip


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


def _version(match: re.Match[str]) -> _Parts:
    named = match["ver"]
    text = named or match[0].removeprefix("v")
    begin = match.start("ver") if named else match.start()
    return None, math.nan, math.nan, text, "version", begin, match.end()


def _percent_words(match: re.Match[str]) -> _Parts | None:
    value = _number(match["pv"])
    if value is None:
        return None
    return _exact(match, value / (10 if match["cp"] == "千分之" else 1), "%", "percent")


def _ordinal(match: re.Match[str]) -> _Parts | None:
    written = match["o1"] or match["o2"]
    value = _number(written) if written else float(ORDINALS[match["o3"]])
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
    kind, unit = _kind_of(match, written)
    if match["n2"] is not None:
        second = _scaled(match["n2"], match["s2"])
        if second is None:
            return None
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


_NOT_NUMBERS = re.compile(
    r"[一两千万百十](?:个|些|样|定|般|旦|直|起|下|点|种|致|次性|同|切|并|律|方面|部分|边|者|家|时|体|键|级|经|概|项|名|位|份|条|款|张|系列|分|面|行|侧|步|路|会|律|旁|脸|道|块|手|人|段|场|组|层|篇|座|部|批|向|带|词)"
)


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
    "version": _version,
    "named": _version,
    "cpercent": _percent_words,
    "ordinal": _ordinal,
    "plain": _plain,
}
