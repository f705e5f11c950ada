"""What panel 05 shows, as plain functions: pictures and tables of a breakdown, of slices, of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.diagnosis.breakdown import Group
from workbench.diagnosis.dimensions import dimension_title, value_title
from workbench.language import text as _t
from workbench.views.html import Markup, h, table
from workbench.views.names import cause_title, interval_text, rate_text
from workbench.views.plots_slices import rate_bars, rate_grid

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

#: Rows of the tables of the panel.
ROWS = 30


def say(key: str, **values: Any) -> str:
    """A text of the panel in the language in force."""
    return _t(f"queries.panel.{key}", **values)


def group_title(names: Sequence[str], group: Group) -> str:
    """A group for a reader: its values, translated where they are ours; folded groups say how many they are."""
    if group.values is None:
        return group.label
    return " × ".join(value_title(name, value) for name, value in zip(names, group.values, strict=True))


def causes_words(causes: dict[str, int], most: int = 3) -> str:
    """ "omission 5 · retrieval miss 3", the most frequent ones."""
    return " · ".join(f"{cause_title(name)} {count}" for name, count in list(causes.items())[:most])


def breakdown_figure(frame: pd.DataFrame, rows: Sequence[Group], base: float, *, theme: str = "print") -> Figure:
    """A breakdown (see ``wb.breakdown``) as bars, or as a grid for two dimensions; ``base``: the rate of all."""
    names = frame.attrs["by"]
    titles = [group_title(names, group) for group in rows]
    title = _figure_title(frame, titles, base)
    if len(names) == 2:
        return _grid(frame, rows, title, theme)
    notes = [
        say("note", failing=f"{line.n_failing:,}", n=f"{line.n:,}", rate=rate_text(line.rate),
             interval=interval_text(line.low, line.high, rate=True)) + "  " + causes_words(line.causes, 2)
        for line in frame.itertuples()
    ]  # fmt: skip
    return rate_bars(titles, frame["rate"], frame["low"], frame["high"], base, notes=notes, title=title, theme=theme)


def _figure_title(frame: pd.DataFrame, titles: Sequence[str], base: float) -> str:
    """What to see: the group that fails most often beyond doubt, or that there is none."""
    out = frame[(frame["folded"] == 0) & (frame["low"] > base)]
    dimension = " × ".join(dimension_title(name) for name in frame.attrs["by"])
    if out.empty:
        return say("title_none", dimension=dimension, base=rate_text(base))
    at = out["low"].astype(float).idxmax()
    line = frame.loc[at]
    return say("title_out", value=titles[int(at)], failing=f"{line['n_failing']:,}", n=f"{line['n']:,}",
                rate=rate_text(line["rate"]), base=rate_text(base))  # fmt: skip


def _grid(frame: pd.DataFrame, rows: Sequence[Group], title: str, theme: str) -> Figure:
    first, second = frame.attrs["by"]
    cells = {group.values: at for at, group in enumerate(rows) if group.values is not None and not group.folded}
    across = [list(dict.fromkeys(values[place] for values in cells)) for place in (0, 1)]
    shape = (len(across[0]), len(across[1]))
    grids = {name: np.full(shape, np.nan) for name in ("rate", "n", "n_failing")}
    for values, at in cells.items():
        place = across[0].index(values[0]), across[1].index(values[1])
        for name, grid in grids.items():
            grid[place] = frame[name].iloc[at]
    left, top = (
        [value_title(name, value) for value in found] for name, found in zip((first, second), across, strict=True)
    )
    return rate_grid(left, top, grids["rate"], grids["n"], grids["n_failing"], title=title, theme=theme)


def breakdown_table(frame: pd.DataFrame, rows: Sequence[Group], most: int = ROWS) -> Markup:
    """A breakdown as a reader wants it."""
    import pandas as pd

    shown = frame.head(most)
    titles = [group_title(frame.attrs["by"], group) for group in rows[: len(shown)]]
    columns = {
        "value": titles, "n": shown["n"].tolist(), "n_failing": shown["n_failing"].tolist(),
        "rate": [rate_text(value) for value in shown["rate"]],
        "interval": [interval_text(a, b, rate=True) for a, b in zip(shown["low"], shown["high"], strict=True)],
        "causes": [causes_words(causes) for causes in shown["causes"]],
    }  # fmt: skip
    return table(pd.DataFrame(columns), headings=_headings(columns), total=len(frame))


def slices_table(slices: pd.DataFrame) -> Markup:
    """The worst slices, or the sentence that there are none."""
    import pandas as pd

    tried = f"{slices.attrs.get('n_tried', 0):,}"
    if slices.empty:
        return h("p", say("no_slices", tried=tried), cls="wb-empty")
    columns = {
        "rule": slices["rule"].tolist(), "n": slices["n"].tolist(), "n_failing": slices["n_failing"].tolist(),
        "rate": [rate_text(value) for value in slices["rate"]], "lift": slices["lift"].tolist(),
        "q_value": [f"{value:.3f}" if value >= 0.001 else "< 0.001" for value in slices["q_value"]],
    }  # fmt: skip
    same = [
        h("p", f"{rule}: ", say("same", rules="; ".join(rules[:3])), cls="wb-quiet")
        for rule, rules in zip(slices["rule"], slices["same_samples"], strict=True) if rules
    ]  # fmt: skip
    body = table(pd.DataFrame(columns), headings=_headings(columns), formats={"rule": str})
    return h("div", h("h4", say("slices", tried=tried)), body, *same)


def terms_table(terms: pd.DataFrame) -> Markup:
    """Words that lean to failing questions with their base rates; those whose interval leaves 0 first."""
    import pandas as pd

    sure = terms[terms["low"] > 0]
    if sure.empty:
        return h("div", h("h4", say("terms")), h("p", say("no_terms"), cls="wb-quiet"))
    columns = {
        "term": sure["term"].tolist(), "n": sure["n"].tolist(), "n_failing": sure["n_failing"].tolist(),
        "shares": [f"{rate_text(a)} / {rate_text(b)}"
                   for a, b in zip(sure["share_failing"], sure["share_passing"], strict=True)],
        "log_odds": [f"{v:.2f} ({interval_text(a, b)})"
                     for v, a, b in zip(sure["log_odds"], sure["low"], sure["high"], strict=True)],
    }  # fmt: skip
    body = table(pd.DataFrame(columns), headings=_headings(columns))
    return h("div", h("h4", say("terms")), body)


def _headings(columns: dict[str, Any]) -> dict[str, str]:
    return {name: _t(f"queries.columns.{name}") for name in columns}
