"""The only place that builds markup. Everything that goes in is escaped, whatever it is.

``W.HTML`` runs scripts, so no text of a user ever reaches a widget but through :func:`h` and :func:`safe`:
control characters are removed, text with direction overrides is isolated in ``<bdi>``, long texts are cut for display
and say so. There are no scripts, no event attributes and no addresses outside the page in what is made here.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from html.parser import HTMLParser
from importlib import resources
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from workbench.data.schema import none_if_missing
from workbench.data.text.normalise import SURROGATE, unspaced
from workbench.language import has_text, language_of
from workbench.language import text as _t
from workbench.language.numbers import score

if TYPE_CHECKING:
    import pandas as pd

#: Characters of a text that are shown at once, and how many more unfold; the rest is only in exports.
SHOWN, UNFOLDED = 3000, 20_000


#: Tokens of a text that are compared; longer ones are compared as far as that.
MOST_TOKENS = 1500
#: Share of the shorter text below which two texts are two different ones.
LITTLE = 0.3


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VOID = frozenset({"br", "hr", "img", "meta"})
_TAGS = _words(
    "a b bdi blockquote body br button code dd details div dl dt em figcaption figure h1 h2 h3 h4 head hr html i img "
    "li mark meta ol p pre small span strong style sub summary sup table tbody td th thead title tr ul"
)
_ATTRIBUTES = _words(
    "class title id href src alt lang target dir open colspan rowspan scope style width height charset content name role "
    "aria-label aria-hidden"
)
#: Everything below space but tab and newline, DEL, the C1 block, lone surrogates and non-characters.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ufff9-\ufffb\ufffe\uffff]")
_DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
#: Places on the page, pictures in it, and the notebooks beside the one that shows it.
_ADDRESS = re.compile(r"#|data:image/png;base64,|\d\d_\w+\.ipynb$")


@dataclass(frozen=True, slots=True)
class Mark:
    """A stretch ``[start, end)`` of a text to point out: a CSS class, a sign beside it and what a pointer shows."""

    start: int
    end: int
    kind: str
    sign: str = ""
    title: str = ""


def clean(text: Any) -> str:
    """``text`` without control characters (tab and newline stay); lone surrogates become U+FFFD."""
    return SURROGATE.sub("\ufffd", _CONTROL.sub("", str(text)))


def safe(text: Any) -> Markup:
    """Any value as escaped text; markup made here passes unchanged, None and missing values are an en dash.

    A text with direction marks or overrides is wrapped in ``<bdi>``, so that it cannot turn what stands around it.
    """
    if isinstance(text, Markup):
        return text
    if not isinstance(text, str) and none_if_missing(text) is None:
        return Markup("–")
    cleaned = clean(text)
    escaped = escape(cleaned)
    return Markup("<bdi>") + escaped + Markup("</bdi>") if _DIRECTION.search(cleaned) else escaped


def h(tag: str, *children: Any, cls: str = "", **attributes: Any) -> Markup:
    """One element. Children are escaped (or markup made here; None is left out); so are attribute values.

    Raises ``ValueError`` for an element, an attribute or an address that this project does not use: scripts, event
    handlers, links out.
    """
    if tag not in _TAGS:
        raise ValueError(f"element {tag!r} is not used here")
    if cls:
        attributes["class"] = cls
    opening = f"<{tag}{''.join(_attribute(name, value) for name, value in attributes.items())}>"
    if tag in _VOID:
        return Markup(opening)
    return Markup(opening) + join(children) + Markup(f"</{tag}>")


def quiet(*children: Any, tag: str = "span") -> Markup:
    """Words in the softer ink."""
    return h(tag, *children, cls="wb-quiet")


def empty(words: str) -> Markup:
    """What stands where there is nothing to show."""
    return h("div", words, cls="wb-empty")


def join(parts: Iterable[Any], separator: str | Markup = "") -> Markup:
    """Escaped parts, one after the other; None is left out."""
    return safe(separator).join(safe(part) for part in parts if part is not None)


def _attribute(name: str, value: Any) -> str:
    name = name.replace("_", "-")
    if name not in _ATTRIBUTES:
        raise ValueError(f"attribute {name!r} is not used here")
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    if name in ("href", "src") and not _ADDRESS.match(str(value)):
        raise ValueError(f"{name} must stay within the page")
    return f' {name}="{escape(_DIRECTION.sub("", clean(value)))}"'


class _Restored(HTMLParser):
    """Rebuilds markup through :func:`h`; what this module does not make, and what stands in such elements, is left out."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.stack: list[tuple[str, dict[str, Any], list[Any]]] = [("div", {}, [])]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element, with the attributes that a card has."""
        known = ("class", "title", "open", "dir")
        kept: dict[str, Any] = {name: True if value is None else value for name, value in attrs if name in known}
        if tag in ("br", "hr"):
            self.stack[-1][2].append(h(tag, **kept))
        elif tag not in _VOID:
            self.stack.append((tag, kept, []))

    def handle_endtag(self, tag: str) -> None:
        """Close the element, and those left open in it."""
        while len(self.stack) > 1 and tag in [name for name, _, _ in self.stack[1:]]:
            name, kept, children = self.stack.pop()
            if name in _TAGS and name != "style":
                self.stack[-1][2].append(h(name, *children, **kept))
            if name == tag:
                break

    def handle_data(self, data: str) -> None:
        """Text."""
        self.stack[-1][2].append(data)


def restored(text: str) -> Markup:
    """Markup of this module that was kept in a file, built anew: only known elements and a few attributes pass."""
    parser = _Restored()
    parser.feed(text)
    parser.close()
    while len(parser.stack) > 1:
        parser.handle_endtag(parser.stack[-1][0])
    return join(parser.stack[0][2])


# Texts.


def marked(text: str, marks: Sequence[Mark] = (), shown: int = SHOWN) -> Markup:
    """``text`` with stretches pointed out, cut after ``shown`` characters with the rest to unfold.

    Marks are offsets in ``text``; where they overlap a piece looks like both.
    """
    head = _segments(text, 0, min(shown, len(text)), marks)
    if len(text) <= shown:
        return h("span", head, cls="wb-text")
    until = min(len(text), shown + UNFOLDED)
    label = _t("panels.common.show_more", shown=f"{shown:,}", total=f"{len(text):,}")
    rest: list[Any] = [_segments(text, shown, until, marks)]
    if until < len(text):
        rest.append(quiet(_t("panels.common.cut_for_display", left=f"{len(text) - until:,}"), tag="em"))
    more = h("details", h("summary", label), *rest, cls="wb-more")
    return h("span", head, "…", more, cls="wb-text")


def text_differences(own: str, other: str, kind: str) -> list[Mark]:
    """The stretches of ``own`` that ``other`` has not, by words, or by characters where words are not parted by spaces.

    Stretches with white space between them are one, and so is all of a text that has little in common with the other.
    """
    # Numbers, words, single characters where words are not parted by spaces, white space, other signs.
    token = re.compile(rf"[0-9]+(?:[.,:][0-9]+)*|(?:(?![{unspaced()}])[^\W\d_])+|\s+|.", re.DOTALL)
    mine, theirs = (token.findall(text)[:MOST_TOKENS] for text in (own, other))
    starts = [0, *accumulate(map(len, mine))]
    title = _t(f"compare.panel.only_{'after' if kind == 'new' else 'before'}")
    matcher = SequenceMatcher(None, mine, theirs, autojunk=False)
    steps = matcher.get_opcodes()
    common = sum(len("".join(mine[i:j]).replace(" ", "")) for tag, i, j, _, _ in steps if tag == "equal")
    if common < LITTLE * min(len(text.replace(" ", "")) for text in (own, other)):
        return [Mark(0, starts[-1], kind, "", title)] if own.strip() else []
    found: list[Mark] = []
    for tag, i, j, _, _ in steps:
        if tag in ("replace", "delete") and "".join(mine[i:j]).strip():
            follows = bool(found) and not own[found[-1].end : starts[i]].strip()
            start = found.pop().start if follows else starts[i]
            found.append(Mark(start, starts[j], kind, "", title))
    return found


def excerpt(text: Any, limit: int = 120) -> Markup:
    """The first ``limit`` characters of ``text`` on one line."""
    if not isinstance(text, str):
        return safe(text)
    line = " ".join(text[: 4 * limit].split())
    return safe(line if len(line) <= limit and len(text) <= 4 * limit else line[: limit - 1] + "…")


def _segments(text: str, start: int, end: int, marks: Sequence[Mark]) -> Markup:
    """``text[start:end]`` cut at every edge of a mark; a piece carries the classes of all marks over it."""
    inside = [mark for mark in marks if mark.start < mark.end and mark.start < end and mark.end > start]
    edges = sorted({start, end, *(min(max(at, start), end) for mark in inside for at in (mark.start, mark.end))})
    parts: list[Any] = []
    for first, last in pairwise(edges):
        over = [mark for mark in inside if mark.start < last and mark.end > first]
        if not over:
            parts.append(text[first:last])
            continue
        signs = [h("span", f"{mark.sign} ", cls="wb-sign") for mark in over if mark.sign and mark.start == first]
        kinds = " ".join(dict.fromkeys(f"wb-{mark.kind}" for mark in over))
        titles = "; ".join(dict.fromkeys(mark.title for mark in over if mark.title))
        parts.append(h("mark", *signs, text[first:last], cls=f"wb-mark {kinds}", title=titles or None))
    return join(parts)


# Tables.


def table(
    frame: pd.DataFrame,
    *,
    headings: Mapping[str, str] | str = "",
    formats: Mapping[str, Callable[[Any], Any]] | None = None,
    total: int | None = None,
    caption: str = "",
    current: Any = None,
) -> Markup:
    """One page of a frame (columns only, no index), with "50 of 6,337" below when ``total`` is more than is shown.

    Parameters
    ----------
    headings
        Column → heading, or the area of the texts that name the columns; what they do not name is called as it is.
    formats
        Column → function of a cell giving text or markup; by default numbers with two decimals, texts cut.
    current
        The index label of the row to point out.
    """
    formats = formats or {}
    if isinstance(headings, str):
        keys = {str(name): f"{headings}.{name}" for name in frame} if headings else {}
        headings = {name: _t(key) for name, key in keys.items() if has_text(key)}
    align = {name: "wb-number" if _is_numeric(frame[name]) else "" for name in frame.columns}
    head = h("tr", *(h("th", headings.get(str(name), name), cls=own, scope="col") for name, own in align.items()))
    columns = [[formats.get(name, cell)(value) for value in frame[name].tolist()] for name in frame.columns]
    rows = [
        h("tr", *(h("td", value, cls=own) for value, own in zip(row, align.values(), strict=True)),
          cls="wb-current" if label == current else "")
        for label, row in zip(frame.index.tolist(), zip(*columns, strict=True), strict=False)
    ]  # fmt: skip
    body = h("table", h("thead", head), h("tbody", *rows), cls="wb-table")
    title = h("p", caption, cls="wb-caption") if caption else None
    more = None
    if total is not None and total > len(frame):
        more = quiet(_t("panels.common.of", shown=f"{len(frame):,}", total=f"{total:,}"), tag="p")
    return h("div", title, body, more, cls="wb-scroll")


def cell(value: Any) -> Markup:
    """A value as a table shows it: two decimals for floats, thousands marked in counts, lists joined, texts cut."""
    if isinstance(value, bool):
        return safe(_t("panels.common.yes" if value else "panels.common.no"))
    if isinstance(value, float) and value == value:
        return safe(score(value))
    if isinstance(value, int):
        return safe(f"{value:,}")
    if isinstance(value, (list, tuple)):
        return excerpt(", ".join(str(item) for item in value))
    return excerpt(value)


def _is_numeric(column: pd.Series[Any]) -> bool:
    if column.dtype.kind != "O":
        return column.dtype.kind in "fiu"
    return bool(len(column)) and all(isinstance(value, (int, float)) for value in column)


# Pages and pictures.


def picture(png: bytes, caption: str) -> Markup:
    """A PNG inside the page, with its caption as alternative text."""
    address = "data:image/png;base64," + base64.b64encode(png).decode("ascii")
    return h("figure", h("img", src=address, alt=caption), h("figcaption", caption), cls="wb-picture")


def notebook_link(name: str) -> Markup:
    """A link to a notebook in the same folder, by its question."""
    return h("a", f"{name} – {_t(f'panels.notebooks.{name}')}", href=f"{name}.ipynb", target="_blank")


@cache
def style() -> Markup:
    """The style sheet, as one element; it follows JupyterLab's variables and works without them, light and dark."""
    css = resources.files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    return Markup("<style>") + Markup(css) + Markup("</style>")


def prose(language: str | None = None) -> Markup:
    """A style that shows the prose of a notebook in ``language`` (default: the one in force), where its cells have it in an
    element of that language (``<div lang="…" hidden>``); what is outside of such elements is English."""
    cell, own = ".jp-RenderedMarkdown", f'[lang="{language_of(language).code}"]'
    hidden = f"{cell} > [lang]:not({own}), {cell}:has(> {own}) > :not({own})"
    rules = f"{hidden} {{ display: none; }} {cell} > {own} {{ display: block; }}"
    return Markup("<style>") + Markup(rules) + Markup("</style>")


class Fragment(Markup):
    """Markup that a notebook shows when it is the last line of a cell."""

    def _repr_html_(self) -> str:
        return str(self)


def fragment(*parts: Any, cls: str = "") -> Fragment:
    """A piece that looks the same inside and outside of a notebook: the style sheet and the parts."""
    return Fragment(h("div", style(), *parts, cls=f"wb {cls}".strip()))


def page(title: str, *parts: Any, language: str | None = None) -> Markup:
    """A complete page in one file, without scripts, in ``language`` (default: the one in force)."""
    head = h("head", h("meta", charset="utf-8"), h("title", title), style())
    body = h("body", h("div", *parts, cls="wb wb-page"))
    return Markup("<!DOCTYPE html>\n") + h("html", head, body, lang=language_of(language).facts.get("html_lang", language))
