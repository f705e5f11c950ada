"""Numerals in words: Chinese (一千五百, 三点五, 二〇二四) and English (twenty-five, two hundred)."""

from __future__ import annotations

import re

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
