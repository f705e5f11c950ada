"""A smaller set that looks like the whole one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.data.text import language

if TYPE_CHECKING:
    import pandas as pd


def stratified(frame: pd.DataFrame, n: int) -> pd.DataFrame:
    """``n`` rows of a sample frame, in their order, spread over case type, language and expected refusal.

    Every stratum gets its share, small ones at least one row while there is room; within a stratum rows are taken evenly.
    """
    if n >= len(frame):
        return frame
    strata: dict[tuple[str, ...], list[int]] = {}
    kinds = zip(frame["case_type"].tolist(), frame["question"].tolist(), frame["expect_refusal"].tolist(), strict=True)
    for place, (case_type, question, refusal) in enumerate(kinds):
        strata.setdefault((str(case_type), language(question), str(refusal)), []).append(place)
    order = sorted(
        ((rank + 0.5) / len(rows), -len(rows), row) for rows in strata.values() for rank, row in enumerate(_spread(rows))
    )
    firsts = sorted((rows[0] for rows in strata.values()), key=lambda row: row)[:n]
    chosen = dict.fromkeys(firsts)
    for *_, row in order:
        if len(chosen) >= n:
            break
        chosen[row] = None
    return frame.iloc[sorted(chosen)]


def _spread(rows: list[int]) -> list[int]:
    """Rows reordered so that every prefix is spread evenly over them."""
    taken: list[int] = []
    step = len(rows)
    seen: set[int] = set()
    while step >= 1:
        for place in range(0, len(rows), step):
            if place not in seen:
                seen.add(place)
                taken.append(rows[place])
        step //= 2
    return taken
