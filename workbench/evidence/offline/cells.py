"""Tables inside texts, read by cell: what stands where a row and a column meet that a claim names.

A cell says something only with the headings of its row and column. The words of a claim may all stand in a table and its
value in the next row: :func:`cell_verdict` tells the two apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from workbench.data.text.normalise import unspaced
from workbench.data.text.points import find_point
from workbench.data.text.quantities import quantities, relation
from workbench.data.text.words import normalise

#: Cells of one table that are read; a larger one is data, not text.
_CELLS = 4000
_RULE = re.compile(r"[\s|:=+-]*")
_MARKS = re.compile(r"[*_`]+")


@dataclass(frozen=True, slots=True)
class Table:
    """Headings of the columns, and the rows; all as written, each row as long as the headings."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class CellVerdict:
    """``agrees``: the claim has the value of the cell that it names; else ``claimed`` stands for what is ``found`` there."""

    agrees: bool
    claimed: str = ""
    found: str = ""


@lru_cache(maxsize=2048)
def tables_in(text: str) -> tuple[Table, ...]:
    """The tables of a text: lines one after the other with the same number of cells, parted by ``|`` or tabs."""
    if "|" not in text and "\t" not in text:
        return ()
    found: list[Table] = []
    run: list[tuple[str, ...]] = []
    for line in [*text.splitlines(), ""]:
        cells = _cells_of(line)
        if run and (cells is None or (cells and len(cells) != len(run[0]))):
            if len(run) > 1 and len(run) * len(run[0]) <= _CELLS:
                found.append(Table(run[0], tuple(run[1:])))
            run = []
        if cells:
            run.append(cells)
    return tuple(found)


def _cells_of(line: str) -> tuple[str, ...] | None:
    """The cells of a line, None for a line of no table; empty for the rule below the headings."""
    mark = "|" if "|" in line else "\t"
    if mark not in line:
        return None
    if mark == "|" and _RULE.fullmatch(line):
        return ()
    inner = line.strip().removeprefix("|").removesuffix("|") if mark == "|" else line
    cells = tuple(_MARKS.sub("", cell).strip() for cell in inner.split(mark))
    return cells if len(cells) > 1 else None


def cell_verdict(claim: str, text: str) -> CellVerdict | None:
    """What the tables of a text say about a claim that names one of their rows; None where nothing can be told."""
    return next((verdict for table in tables_in(text) if (verdict := _in_table(claim, table)) is not None), None)


def _in_table(claim: str, table: Table) -> CellVerdict | None:
    folded = normalise(claim)
    rows = _named(folded, [row[0] for row in table.rows])
    if not rows:
        return None
    width = range(1, len(table.head))
    columns = [at + 1 for at in _named(folded, table.head[1:])]
    meant = [table.rows[row][at] for row in rows for at in columns or width if table.rows[row][at]]
    held = [value for value in meant if find_point(value, claim)]
    others = [cell for at, row in enumerate(table.rows) for column, cell in enumerate(row)
              if column and cell and cell not in meant and (column in columns or at in rows or not columns)]  # fmt: skip
    # A value that stands inside one that was meant (5 in 5 GB), or is the name of a row, is none of its own.
    rest = folded
    for value in (*held, *(table.rows[row][0] for row in rows)):
        rest = rest.replace(normalise(value), " ")
    wrong = next(_wrong(rest, meant, others), None)
    if wrong is not None:
        return CellVerdict(False, *wrong)
    return CellVerdict(True) if held and columns else None


def _wrong(rest: str, meant: Sequence[str], others: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(what is claimed, what the named cell has) where what is left of the claim has the value of another cell."""
    stated = quantities(rest)
    for value in meant:
        mine = quantities(value)
        for other in others:
            theirs = quantities(other)
            if bool(mine) != bool(theirs):
                continue
            alike = not mine or (len(mine) == len(theirs) == 1 and relation(mine[0], theirs[0]) == "different")
            if alike and find_point(other, rest):
                yield other, value
        if len(mine) == 1:
            yield from ((one.text, value) for one in stated if relation(mine[0], one) == "different" and mine[0].unit)


def _named(folded: str, headings: Sequence[str]) -> list[int]:
    """The headings that stand in a folded claim as whole words; one that stands inside another named one is not meant."""
    found = [at for at, heading in enumerate(headings) if heading and _stands(normalise(heading), folded)]
    texts = [normalise(headings[at]) for at in found]
    return [at for at, mine in zip(found, texts, strict=True) if not any(mine != other and mine in other for other in texts)]


def _stands(heading: str, folded: str) -> bool:
    if re.search(f"[{unspaced()}]", heading):
        return heading in folded
    stem = re.escape(heading.removesuffix("s") if len(heading) > 3 else heading)
    return re.search(rf"(?<!\w){stem}(?:s|es)?(?!\w)", folded) is not None
