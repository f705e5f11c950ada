"""Long texts, cut around what matters in them; the cut is always said."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.language import text as _t
from workbench.reports.report import Stretch

#: Characters of an answer beside an example, and of a text in the appendix.
EXAMPLE, APPENDIX = 420, 240
#: Rows of the appendix, of a finding's table and of a list of ids.
ROWS, TABLE, IDS = 2000, 20, 200
#: Characters kept before the first wrong stretch.
_LEAD = 120


def around(text: str, wrong: Sequence[Stretch], limit: int = EXAMPLE) -> tuple[str, tuple[Stretch, ...], str]:
    """``text`` cut to ``limit`` characters around its first wrong stretch, the stretches in it, and what was left out.

    The last is an empty text when nothing was cut.
    """
    inside = tuple(item for item in wrong if 0 <= item.start < item.end)
    if len(text) <= limit:
        return text, _shifted(inside, 0, len(text)), ""
    first = max(0, min((item.start for item in inside), default=0) - _LEAD)
    start = min(first, len(text) - limit)
    return text[start : start + limit], _shifted(inside, start, start + limit), cut_note(limit, len(text))


def head(text: str, limit: int = APPENDIX) -> tuple[str, str]:
    """The first ``limit`` characters on one line, and the note that says what was cut (or an empty text)."""
    if len(text) <= limit:
        return " ".join(text.split()), ""
    return " ".join(text[:limit].split()) + "…", cut_note(limit, len(text))


def cut_note(shown: int, total: int) -> str:
    """What was cut, in the language in force."""
    return _t("report.failing.cut", shown=f"{shown:,}", total=f"{total:,}")


def _shifted(wrong: Sequence[Stretch], start: int, end: int) -> tuple[Stretch, ...]:
    """Stretches within ``[start, end)``, counted from ``start``."""
    return tuple(
        Stretch(max(item.start, start) - start, min(item.end, end) - start, item.kind)
        for item in wrong
        if item.start < end and item.end > start
    )
