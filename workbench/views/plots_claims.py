"""The picture of panel 07: answer claims by verdict, those without support by severity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.language import text as _t
from workbench.views import plots
from workbench.views.fonts import drawable
from workbench.views.names import rate_text, verdict_title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

#: Colour and hatch of each severity; the hatch tells them apart without colour.
_LOOK = {"high": ("#D55E00", "///"), "medium": ("#E69F00", "\\\\"), "low": ("#F0E442", "")}


def verdict_bars(counts: pd.DataFrame, title: str, *, theme: str = "print") -> Figure:
    """One bar a verdict, from ``verdict_counts``; claims without support are split by severity."""
    names = [verdict_title(name) for name in counts.index]
    total = int(counts["n"].sum())
    with plots.drawing(9.6, 2.3, theme) as (figure, axes):
        figure.subplots_adjust(left=0.16, right=0.8, top=0.84, bottom=0.14)
        for row, (verdict, values) in enumerate(counts.iterrows()):
            left = 0
            for level, (color, hatch) in _LOOK.items():
                axes.barh(row, values[level], 0.62, left=left, color=color, hatch=hatch, edgecolor="#00000055", lw=0.5)
                left += values[level]
            rest = values["n"] - left
            axes.barh(row, rest, 0.62, left=left, color="#009E73" if verdict == "supported" else "#999999")
            words = f"{values['n']:,.0f} · {rate_text(values['n'] / total) if total else ''}"
            if left:
                levels = ", ".join(
                    f"{_t(f'hallucinations.severity.{level}')} {values[level]:.0f}" for level in _LOOK if values[level]
                )
                words += f"  ({levels})"
            axes.annotate(drawable(words, 70), (values["n"], row), xytext=(6, -3), textcoords="offset points")
        axes.set_yticks(range(len(names)), [drawable(name, 30) for name in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlim(0, max(total, 1))
        axes.tick_params(axis="y", length=0)
        axes.set_title(drawable(title, 110))
    return figure
