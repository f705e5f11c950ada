"""The picture of panel 08: the ROC curve with the cut on it, and agreement over all cuts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.language import text as _t
from workbench.views.fonts import drawable
from workbench.views.plots import BLUE, GREEN, GREY, VERMILLION, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from workbench.diagnosis.calibrating import Calibration


def calibration_figure(found: Calibration, title: str, *, theme: str = "print") -> Figure:
    """Left: share of wrong answers found against share of right ones blamed, one point a cut. Right: kappa over cuts.

    The cut in force is a blue dot, the suggested one a green diamond, its 95 % interval a green band.
    """
    with drawing(9.6, 3.1, theme) as (figure, axes):
        axes.remove()
        left, right = figure.subplots(1, 2, gridspec_kw={"width_ratios": (1, 1.9)})
        figure.subplots_adjust(left=0.065, right=0.985, top=0.88, bottom=0.17, wspace=0.2)
        for panel in (left, right):
            panel.spines[["top", "right"]].set_visible(False)
        curve = found.roc()
        _roc(left, found, curve)
        _kappa(right, found, curve)
        left.set_title(drawable(title, 120))
    return figure


def _roc(axes: Axes, found: Calibration, curve: Any) -> None:
    from workbench.diagnosis.roc import rates

    points = curve[["false_alarm", "found"]].dropna().sort_values(["false_alarm", "found"])
    axes.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls=":")
    axes.plot(points["false_alarm"], points["found"], color=VERMILLION, lw=1.6, marker=".", ms=4)
    alarm, hit = rates(found.right, found.judged[:, None])
    _mark(axes, float(alarm[0]), float(hit[0]), f"{found.cut:.2f}", BLUE, "o")
    if found.suggested.value == found.suggested.value:
        row = curve.iloc[int(np.argmin(np.abs(curve["cut"] - found.suggested.value)))]
        _mark(axes, row["false_alarm"], row["found"], f"{found.suggested.value:.2f}", GREEN, "D", below=True)
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.14))
    axes.set_xlabel(drawable(_t("calibration.axis.blamed"), 60))
    axes.set_ylabel(drawable(_t("calibration.axis.found"), 60))


def _mark(axes: Axes, x: float, y: float, words: str, color: str, marker: str, below: bool = False) -> None:
    if math.isnan(x) or math.isnan(y):
        return
    size, face = (8, color) if marker == "o" else (6, "none")
    axes.plot([x], [y], marker, color=color, ms=size, mfc=face, mew=1.8)
    axes.annotate(words, (x, y), xytext=(7, -15 if below else 5), textcoords="offset points", color=color)


def _kappa(axes: Axes, found: Calibration, curve: Any) -> None:
    axes.plot(curve["cut"], curve["kappa"], color=VERMILLION, lw=1.6)
    if found.suggested.value == found.suggested.value:
        low, high = found.suggested.low, max(found.suggested.high, found.suggested.low + 0.004)
        axes.axvspan(low, high, color=GREEN, alpha=0.18, lw=0)
        axes.axvline(found.suggested.value, color=GREEN, lw=1.4, ls="--")
        axes.annotate(drawable(_t("calibration.axis.suggested", cut=f"{found.suggested.value:.2f}"), 40),
                      (found.suggested.value, 0), xycoords=("data", "axes fraction"), xytext=(4, 5),
                      textcoords="offset points", color=GREEN)  # fmt: skip
    axes.axvline(found.cut, color=BLUE, lw=1.6)
    # Beyond 0.9 there is no room on the right.
    at_edge = found.cut > 0.9
    axes.annotate(f"{found.cut:.2f}", (found.cut, 1), xycoords=("data", "axes fraction"),
                  xytext=(-3 if at_edge else 3, -9), ha="right" if at_edge else "left",
                  textcoords="offset points", color=BLUE)  # fmt: skip
    lowest = curve["kappa"].min()
    axes.set(xlim=(0, 1), ylim=(min(0.0, lowest if lowest == lowest else 0.0) - 0.02, 1.04))
    axes.set_xlabel(drawable(_t("calibration.axis.cut"), 60))
    axes.set_ylabel(drawable(_t("calibration.axis.kappa"), 60))
