"""Whether a key point stands in a text.

Matching is on normalised text with boundaries: 500 is not in 5000, 1500 or 5.00; ``now here`` is not ``nowhere``;
"unlimited" is not made by "not unlimited". 1,500 = 1500 = 1.5k and ``500 GB`` = ``500gb``. :class:`Matcher` prepares a
text once for many points.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from workbench.data.text.kept import kept
from workbench.data.text.normalise import KANA, Offsets, Span, normalise_with_map, unspaced
from workbench.data.text.quantities import Quantity, quantities, same_quantity
from workbench.language import by_languages, languages, pattern


@dataclass(frozen=True)
class _Patterns:
    """What the known languages say of characters: which spaces do not count, which numerals and letters belong together."""

    dropped: re.Pattern[str]
    unspaced: re.Pattern[str]
    numerals: str
    multiplier: re.Pattern[str]


@by_languages(maxsize=8)
def _patterns() -> _Patterns:
    marks = f"{unspaced()}{KANA}"
    return _Patterns(
        re.compile(rf"(?<=[{marks}，。、；：]) | (?=[{marks}，。、；：])|\*\*|__|[`*]"),
        re.compile(f"[{marks}]"),
        "".join(language.table("points").get("numerals", "") for language in languages()),
        pattern("points", "«multiplier»"),
    )


def _compact(folded: str, offsets: Offsets) -> tuple[str, Offsets]:
    """Leave out the spaces next to CJK characters and markdown emphasis, and carry the map along."""
    dropped = _patterns().dropped
    if not dropped.search(folded):
        return folded, offsets
    all_starts = range(len(folded)) if offsets.starts is None else offsets.starts
    all_ends = range(1, len(folded) + 1) if offsets.ends is None else offsets.ends
    kept: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    for begin, end in [*(match.span() for match in dropped.finditer(folded)), (len(folded), len(folded))]:
        kept.append(folded[at:begin])
        starts.extend(all_starts[at:begin])
        ends.extend(all_ends[at:begin])
        at = end
    return "".join(kept), Offsets(starts, ends)


@dataclass(frozen=True, slots=True)
class _Point:
    """A point made ready: its folded text, and its parts where it holds quantities."""

    folded: str
    parts: tuple[str | Quantity, ...] | None


@lru_cache(maxsize=16384)
def _point(point: str) -> _Point:
    bare = point.strip(" 。，；.,;:：!！\"'“”")
    folded, offsets = _compact(*normalise_with_map(bare))
    return _Point(folded.strip(" 。，；.,;:：!！\"'“”"), _parts(folded, _moved(quantities(bare), offsets)))


def _moved(found: list[Quantity], offsets: Offsets) -> list[Quantity]:
    """Quantities of an original text, which knows case and superscripts, at their places in the folded one."""
    if offsets.starts is None or offsets.ends is None:
        return found
    starts, ends = offsets.starts, offsets.ends
    placed = ((q, bisect_left(starts, q.start), bisect_right(ends, q.end)) for q in found)
    return [replace(q, start=start, end=end) for q, start, end in placed if start < end]


def _parts(folded: str, found: list[Quantity]) -> tuple[str | Quantity, ...] | None:
    """Literal pieces and quantities in turn; None without any quantity."""
    if not found:
        return None
    pieces: list[str | Quantity] = []
    at = 0
    for quantity in found:
        pieces += [folded[at : quantity.start].strip(), quantity]
        at = quantity.end
    pieces.append(folded[at:].strip())
    return tuple(pieces)


class Matcher:
    """One text prepared for many points.

    ``find`` looks for the normalised point with boundaries, then, for a point with quantities, for its words with
    quantities of the same value between them.
    """

    __slots__ = ("_folded", "_offsets", "_quantities", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded, self._offsets = _compact(*normalise_with_map(text))
        self._quantities: list[Quantity] | None = None

    def find(self, point: str) -> Span | None:
        """The first span where ``point`` stands unnegated, None if there is none; an empty point stands nowhere."""
        return next(self.find_all(point), None)

    def find_all(self, point: str) -> Iterator[Span]:
        """Every span where ``point`` stands unnegated: literal ones, or else those of equal value."""
        needle = _point(point)
        found = False
        for start, end in self._literal(needle.folded):
            found = True
            yield self._span(start, end)
        if not found and needle.parts is not None:
            for start, end in self._by_value(needle.parts):
                yield self._span(start, end)

    def _literal(self, folded: str) -> Iterator[tuple[int, int]]:
        text = self._folded
        start = text.find(folded) if folded else -1
        while start >= 0:
            end = start + len(folded)
            if _bounded(text, start, end) and not _negated(text, start):
                yield start, end
            start = text.find(folded, start + 1)

    def _by_value(self, parts: tuple[str | Quantity, ...]) -> Iterator[tuple[int, int]]:
        first = next(part for part in parts if isinstance(part, Quantity))
        for index, quantity in enumerate(self._known_quantities()):
            if same_quantity(first, quantity):
                span = self._aligned(parts, index)
                if span is not None and not _negated(self._folded, span[0]):
                    yield span

    def _aligned(self, parts: tuple[str | Quantity, ...], index: int) -> tuple[int, int] | None:
        """The span when ``parts`` stand around quantity number ``index``, the first of theirs."""
        known = self._known_quantities()
        start = self._before(str(parts[0]), known[index].start)
        if start is None:
            return None
        at = known[index].start
        for part in parts[1:]:
            if isinstance(part, Quantity):
                end = self._quantity_at(part, known[index] if index < len(known) else None, at)
                index += 1
            else:
                end = self._after(part, at)
            if end is None:
                return None
            at = end
        return start, at

    def _known_quantities(self) -> list[Quantity]:
        if self._quantities is None:
            self._quantities = _moved(quantities(self._text), self._offsets)
        return self._quantities

    def _before(self, head: str, at: int) -> int | None:
        """Where the words ``head`` begin if they end right before ``at``, spaces aside."""
        if not head:
            return at
        start = _back_over_spaces(self._folded, at) - len(head)
        fits = start >= 0 and self._folded.startswith(head, start)
        return start if fits and _bounded(self._folded, start, start + len(head)) else None

    def _quantity_at(self, wanted: Quantity, found: Quantity | None, at: int) -> int | None:
        """The end of ``found`` if it begins at ``at``, spaces aside, and says the same as ``wanted``."""
        if found is None or not same_quantity(wanted, found) or _back_over_spaces(self._folded, found.start) > at:
            return None
        return found.end

    def _after(self, words: str, at: int) -> int | None:
        """The end of ``words`` if they follow at ``at``, spaces aside."""
        if not words:
            return at
        start = at + 1 if self._folded[at : at + 1] == " " else at
        end = start + len(words)
        return end if self._folded.startswith(words, start) and _bounded(self._folded, start, end) else None

    def _span(self, start: int, end: int) -> Span:
        begin, stop = self._offsets.span(start, end)
        return Span(begin, stop, self._text[begin:stop])


def _back_over_spaces(text: str, at: int) -> int:
    while at > 0 and text[at - 1] == " ":
        at -= 1
    return at


def _bounded(text: str, start: int, end: int) -> bool:
    """Whether no word or number is cut at the edges of ``text[start:end]``."""
    return not (_joined(text, start, text[start], before=True) or _joined(text, end, text[end - 1], before=False))


def _joined(text: str, at: int, inner: str, *, before: bool) -> bool:
    """Whether the character beyond the edge ``at`` belongs to the same word or number as ``inner``."""
    outer = text[at - 1 : at] if before else text[at : at + 1]
    if not outer:
        return False
    numerals = _patterns().numerals
    if inner.isdigit():
        return _digit_joined(text, at, outer, before=before)
    if inner in numerals:
        return outer in numerals or (before and outer.isdigit())
    return _is_letter(inner) and (_is_letter(outer) or outer.isdigit() or outer == "_")


def _digit_joined(text: str, at: int, outer: str, *, before: bool) -> bool:
    if outer.isdigit():
        return True
    if outer in ".,":
        beyond = text[at - 2 : at - 1] if before else text[at + 1 : at + 2]
        return beyond.isdigit()
    if before:
        return _is_letter(outer) or (outer in "_-#" and _is_letter(text[at - 2 : at - 1]))
    if not _patterns().multiplier.fullmatch(outer):
        return False
    return not (_is_letter(outer) and _is_letter(text[at + 1 : at + 2]))


def _is_letter(character: str) -> bool:
    """A letter of a script that parts words with spaces."""
    return character.isalpha() and not _patterns().unspaced.match(character)


def _negated(text: str, start: int) -> bool:
    before = text[max(0, start - 40) : start]
    return bool(pattern("points", "«negated»").search(before) and not pattern("points", "«not_negated»").search(before))


@kept(characters=4_000_000)
def matcher(text: str) -> Matcher:
    """A cached :class:`Matcher` of ``text``."""
    return Matcher(text)


def find_point(point: str, text: str) -> Span | None:
    """The span of ``text`` where the key point ``point`` stands, None if it does not or only negated."""
    return matcher(text).find(point)


# ------------------------------------------------------------------------------
# Across the edge of two chunks.


def stitch(left: str, right: str) -> str:
    """Two neighbouring chunks as one text: a space between words where the language parts them so.

    Chunks that already have white space at the edge are joined as they are.
    """
    return left + _joint(left, right) + right


def _joint(left: str, right: str) -> str:
    if not left or not right or left[-1].isspace() or right[0].isspace():
        return ""
    unspaced = _patterns().unspaced
    return "" if unspaced.match(left[-1]) or unspaced.match(right[0]) or left[-1] in "。！？；，、" else " "


def find_across(point: str, left: str, right: str) -> Span | None:
    """A match of ``point`` that crosses the edge between two chunks, as a span of ``stitch(left, right)``.

    Tried with the chunks' own joint and, for a word or number cut in the middle, with nothing between (the span then
    indexes ``left + right``). A match that lies in one chunk alone does not count.
    """
    edge = len(left)
    for joint in dict.fromkeys((_joint(left, right), "")):
        prepared = Matcher(left + joint + right)
        for span in prepared.find_all(point):
            if span.start < edge and span.end > edge + len(joint):
                return span
    return None
