"""From pages written by hand to the chunks of the knowledge base.

A page is a Markdown file with a short head between two ``---`` lines: ``doc`` (id), ``title``, ``tenant``
(``null`` = shared by all), ``language``, and where needed ``chunking``, ``indexed`` and ``variants``, a table
whose columns fill ``{placeholders}``: near-identical pages (years, tenants, sites, plans) that differ in a few
numbers. One paragraph is one chunk; ``chunking: cut`` pages carry ``<cut>`` where a careless splitter cut a
paragraph in two, a ``chunking: whole`` page is one chunk, too long for the window of a small encoder.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .files import Row

CUT = "<cut>"


def read_chunks(folder: Path) -> list[Row]:
    """All chunks of all pages, in the order of file names: doc_id, text, title, tenant, position, source."""
    return [chunk for page in _pages(folder) for chunk in _chunks(page)]


def unindexed(folder: Path) -> set[str]:
    """Ids of the chunks of pages that were written but never put into the index."""
    return {chunk["doc_id"] for page in _pages(folder) if page.get("indexed") == "false" for chunk in _chunks(page)}


def _pages(folder: Path) -> list[Row]:
    return [page for path in sorted(folder.glob("*.md")) for page in _variants(path.read_text(encoding="utf-8"))]


def _variants(text: str) -> list[Row]:
    """One page for each row of the variants table, or the page itself."""
    head, body = _split_head(text)
    table = head.pop("variants", [])
    if not table:
        return [{**head, "body": body}]
    names, *rows = ([cell.strip() for cell in line.split("|")] for line in table)
    return [{**_filled(head, dict(zip(names, row, strict=True)), body)} for row in rows]


def _filled(head: Row, values: dict[str, str], body: str) -> Row:
    page = {key: _fill(value, values) for key, value in head.items()}
    return {**page, "body": _fill(body, values)}


def _fill(text: str, values: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: values[match.group(1)], text)


def _split_head(text: str) -> tuple[dict[str, Any], str]:
    _, head, body = text.split("---\n", 2)
    fields: dict[str, Any] = {}
    for line in head.splitlines():
        if line.startswith("  "):
            fields["variants"].append(line)
        else:
            key, _, value = line.partition(":")
            fields[key] = value.strip() if key != "variants" else []
    return fields, body


def _chunks(page: Row) -> list[Row]:
    """The chunks of one page; ``position`` counts from 1 within the page."""
    rows = []
    for position, text in enumerate(_pieces(page), start=1):
        rows.append(
            {
                "doc_id": f"{page['doc']}#{position}",
                "text": text,
                "title": page["title"],
                "tenant": None if page["tenant"] == "null" else page["tenant"],
                "position": position,
                "source": page["doc"],
            }
        )
    return rows


def _pieces(page: Row) -> list[str]:
    paragraphs = [part.strip() for part in page["body"].split("\n\n")]
    paragraphs = [part for part in paragraphs if part and not part.startswith("#")]
    if page.get("chunking") == "whole":
        return ["\n".join(paragraphs)]
    return [piece.strip() for part in paragraphs for piece in part.split(CUT)]
