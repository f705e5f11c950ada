"""Numbers as a reader sees them: rounded half up by hand, and the same wherever they are written."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.two_runs import WRONG, case, run
from workbench.language import numbers, speaking
from workbench.reports.gate import check, read_rules
from workbench.reports.render import html as page
from workbench.reports.sections import build_report
from workbench.views import wording


@pytest.mark.parametrize("value, shown", [
    (0.125, "+13"), (-0.125, "−13"), (0.115, "+12"), (0.285, "+29"), (0.0, "0"), (-0.0, "0"), (math.nan, "–"),
    (None, "–"), (math.inf, "–"), (0.004, "+0.4"), (-0.0035, "−0.4"), (0.0094, "+0.9"), (0.0095, "+1"), (1e-5, "0.0"),
])  # fmt: skip
def test_points_are_rounded_half_up_and_signed(value, shown):
    assert numbers.points(value) == shown
    assert numbers.points(value, signed=False) == shown.removeprefix("+")


@pytest.mark.parametrize("value, shown", [
    (0.125, "13 %"), (0.124999, "12 %"), (0.005, "1 %"), (0.675, "68 %"), (57 / 200, "29 %"), (1.0, "100 %"),
    (0.0, "0 %"), (-0.0, "0 %"), (-0.125, "−13 %"), (np.float64(0.5), "50 %"), (pd.NA, "–"), (np.nan, "–"),
])  # fmt: skip
def test_rates_are_rounded_half_up(value, shown):
    assert numbers.percent(value) == shown
    with speaking("zh"):
        assert numbers.percent(value) == shown.replace(" ", "")


def test_scores_intervals_and_chances_by_hand():
    assert [numbers.score(x) for x in (0.125, 0.375, 0.005, -0.004, 2, 1e18)] == \
        ["0.13", "0.38", "0.01", "0.00", "2.00", "1000000000000000000.00"]  # fmt: skip
    assert [numbers.score(x, signed=True) for x in (0.125, -0.125, -0.0)] == ["+0.13", "−0.13", "0.00"]
    assert numbers.interval(0.125, 0.5) == "0.13 – 0.50" and numbers.interval(0.125, 0.5, rate=True) == "13 – 50 %"
    assert numbers.interval(-0.125, 0.125, signed=True) == "−0.13 – +0.13" and numbers.interval(0.1, math.nan) == ""
    assert [numbers.chance(p) for p in (0, 0.00099, 0.0455, 0.125, 1.0)] == ["< 0.001", "< 0.001", "0.046", "0.13", "1.00"]
    assert [numbers.p_value(p) for p in (0.0001, 0.04, None)] == ["p < 0.001", "p = 0.040", "p –"]
    assert numbers.count(12345) == "12,345" and numbers.count(None) == "–"


def test_report_panel_gate_and_command_line_write_the_same_points():
    """5 of 40 cases fixed is 12.5 points: 13 everywhere."""
    before = run([case(f"s{i}", *([WRONG] if i < 10 else [])) for i in range(40)], "before")
    after = run([case(f"s{i}", *([WRONG] if i < 5 else [])) for i in range(40)], "after")
    comparison = wb.compare(before, after)
    delta = comparison.passing["delta"]
    assert delta == 0.125 and wording.points(delta) == numbers.points(delta) == "+13"
    assert "13 points better: 75 % → 88 % of 40 pass" in comparison.verdict
    assert "+13" in page(build_report(after, baseline=before)) and "+12" not in page(build_report(after, baseline=before))
    found = check(before, read_rules("[rules.no_regression]\nmetrics = ['passed']\nmax_drop = 0.01"), after)
    assert "−13" in found.checks[0].message
