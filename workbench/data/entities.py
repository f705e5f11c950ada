"""Names, titles, identifiers, numbers and dates of a text."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from workbench.data.measures import quantities
from workbench.data.text import HAN, word_list


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
    | (?P<place>[{HAN}]{{2,8}}?(?:{"|".join(_PLACE_ENDS.split())}))
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
