"""Paired tests: exact values, mirror, false alarms at the nominal rate, a planted change found."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.multitest import multipletests

from workbench.diagnosis import statistics as paired
from workbench.diagnosis.statistics import BOOTSTRAP_UP_TO

differences = st.lists(st.sampled_from([-1.0, -0.5, -0.1, 0.0, 0.0, 0.3, 1.0]), min_size=1, max_size=60).map(np.array)


# ---------------------------------------------------------------- exact values


@pytest.mark.parametrize(
    ("fixed", "broken", "expected"),
    [(0, 0, 1.0), (3, 3, 1.0), (1, 0, 0.5), (5, 0, 0.03125), (0, 5, 0.03125), (6, 1, 2 * 1 / 128 + 7 / 128)],
)
def test_mcnemar_mid_p_by_hand(fixed, broken, expected):
    """5 against 0: twice the half of 1/32 is 1/32; 6 against 1: 2 · P(X = 0) + P(X = 1) = 2/128 + 7/128."""
    assert paired.mcnemar_mid_p(fixed, broken) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", [7, 60, 999, 5000])
def test_mcnemar_mid_p_equals_the_binomial(n):
    for fewer in (0, n // 3, n // 2 - 1):
        expected = min(1.0, 2 * binom.cdf(fewer, n, 0.5) - binom.pmf(fewer, n, 0.5))
        assert paired.mcnemar_mid_p(n - fewer, fewer) == pytest.approx(expected, rel=1e-8)


def test_the_normal_limit_of_mcnemar_joins_the_exact_one():
    limit = paired.MCNEMAR_NORMAL_FROM
    assert paired.mcnemar_mid_p(limit // 2 + 150, limit // 2 - 149) == pytest.approx(
        paired.mcnemar_mid_p(limit // 2 + 150, limit // 2 - 150), rel=0.02
    )


def test_a_permutation_test_by_hand():
    """0.3 and 0.1: |sum| 0.4 is reached by 2 of 4 sign assignments; 0.3, 0.2, 0.1 by 2 of 8."""
    assert paired.permutation_p(np.array([0.3, 0.1])) == 0.5
    assert paired.permutation_p(np.array([0.3, 0.2, 0.1, 0.0])) == 0.25
    assert paired.permutation_p(np.array([0.3, -0.3])) == 1.0
    assert paired.permutation_p(np.array([0.5, 0.5, -1.0] * 9)) == 1.0
    assert paired.permutation_p(np.zeros(9)) == 1.0 == paired.permutation_p(np.array([]))


def test_a_score_that_is_0_or_1_in_effect_gets_the_same_p_under_either_name():
    assert paired.permutation_p(np.array([0.5] * 6 + [-0.5] + [0.0] * 9)) == paired.mcnemar_mid_p(6, 1)


def test_random_sign_assignments_agree_with_the_sign_test_and_with_the_limit():
    values = np.array([1.0] * 22 + [-1.0] * 7 + [-1 - 1e-7])
    assert paired.permutation_p(values) == pytest.approx(paired.mcnemar_mid_p(22, 8), abs=0.006)
    spread = np.random.default_rng(3).normal(0.05, 1, 1999)
    z = abs(spread.sum()) / math.sqrt((spread**2).sum())
    assert paired.permutation_p(spread) == pytest.approx(math.erfc(z / math.sqrt(2)), abs=0.02)


def test_the_interval_of_equal_differences_is_that_difference():
    assert paired.difference_interval(np.zeros(5))[:2] == (0.0, 0.0)
    assert paired.difference_interval(np.full(4, 0.25))[:2] == (0.25, 0.25)
    assert paired.difference_interval(np.zeros(1))[:2] == (0.0, 0.0)
    assert np.isnan(paired.difference_interval(np.array([0.5]))[0])
    assert np.isnan(paired.difference_interval(np.array([]))[0])


def test_one_differing_pair_never_excludes_no_change():
    """The bias correction of BCa would: 1 of 80 gives an interval that does not touch 0."""
    low, high, _ = paired.difference_interval(np.array([1.0] + [0.0] * 79))
    assert low == 0.0 and 0 < high < 0.06


def test_the_interval_has_the_width_of_its_standard_error():
    values = np.random.default_rng(5).normal(0.1, 1, 400)
    error = values.std(ddof=1) / 20
    low, high, method = paired.difference_interval(values)
    assert method == "paired bootstrap"
    assert low == pytest.approx(values.mean() - 1.96 * error, abs=0.15 * error)
    assert high == pytest.approx(values.mean() + 1.96 * error, abs=0.15 * error)
    many = np.random.default_rng(5).normal(0.1, 1, BOOTSTRAP_UP_TO + 1)
    assert paired.difference_interval(many).method == "normal"


def test_holm_by_hand():
    """0.01 · 3, max(0.03 · 2, …), max(0.04 · 1, …); missing values do not count."""
    assert paired.adjusted([0.04, 0.01, math.nan, 0.03], "holm") == pytest.approx(
        [0.06, 0.03, math.nan, 0.06], nan_ok=True
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_corrections_equal_those_of_statsmodels(p_values):
    for name, theirs in (("holm", "holm"), ("bh", "fdr_bh")):
        assert paired.adjusted(p_values, name) == pytest.approx(multipletests(p_values, method=theirs)[1], abs=1e-12)


def test_no_p_value_to_correct():
    assert np.isnan(paired.adjusted([math.nan, math.nan])).all() and len(paired.adjusted([])) == 0


def test_smallest_detectable_by_hand():
    """20 % of 300 pairs differ: 2.8016 · √(0.2 / 300) = 0.0723."""
    values = np.array([1.0] * 45 + [-1.0] * 15 + [0.0] * 240)
    assert paired.smallest_detectable(values, binary=True) == pytest.approx(0.07234, abs=1e-4)
    assert paired.smallest_detectable(np.zeros(80), binary=True) == 5 / 80
    assert np.isnan(paired.smallest_detectable(np.zeros(80)))
    assert np.isnan(paired.smallest_detectable(np.zeros(4), binary=True)), "4 pairs cannot show anything"
    assert np.isnan(paired.smallest_detectable(np.array([])))


# ---------------------------------------------------------------- properties


@settings(max_examples=80, deadline=None)
@given(differences)
def test_swapping_mirrors_interval_and_test(values):
    shuffled = np.random.default_rng(1).permutation(values)
    low, high, _ = paired.difference_interval(values)
    back_low, back_high, _ = paired.difference_interval(-shuffled)
    assert (low, high) == (-back_high, -back_low) or np.isnan(low)
    assert paired.permutation_p(values) == paired.permutation_p(-shuffled)
    assert paired.exact_mean(values) == -paired.exact_mean(-shuffled)
    assert paired.smallest_detectable(values) == pytest.approx(
        paired.smallest_detectable(-shuffled), nan_ok=True, abs=0
    )


@settings(max_examples=80, deadline=None)
@given(differences)
def test_the_interval_holds_the_mean_and_p_is_a_probability(values):
    low, high, _ = paired.difference_interval(values)
    assert np.isnan(low) or low - 1e-9 <= values.mean() <= high + 1e-9
    assert 0 < paired.permutation_p(values) <= 1


# ---------------------------------------------------------------- over many seeds


def tolerance(rate: float, seeds: int) -> float:
    """Four standard errors of a rate over so many seeds."""
    return 4 * math.sqrt(rate * (1 - rate) / seeds)


def test_false_alarms_of_pass_and_fail_come_at_the_nominal_rate():
    """1,000 seeds of 300 shuffled pairs, 20 % of them discordant, so that nothing has changed."""
    rng = np.random.default_rng(11)
    discordant = rng.binomial(300, 0.2, 1000)
    fixed = rng.binomial(discordant, 0.5)
    alarms = [paired.mcnemar_mid_p(f, d - f) < 0.05 for f, d in zip(fixed.tolist(), discordant.tolist(), strict=True)]
    assert np.mean(alarms) == pytest.approx(0.05, abs=tolerance(0.05, 1000))


def test_false_alarms_of_scores_come_at_the_nominal_rate():
    """1,000 seeds of 60 shuffled pairs of skewed scores: test and interval alike."""
    rng = np.random.default_rng(12)
    alarms, outside = [], []
    for _ in range(1000):
        values = (rng.random(60) ** 3 - rng.random(60) ** 3) * (rng.random(60) < 0.6)
        values *= rng.choice([-1, 1], 60)
        alarms.append(paired.permutation_p(values, flips=999) < 0.05)
        low, high, _ = paired.difference_interval(values)
        outside.append(low > 0 or high < 0)
    assert np.mean(alarms) == pytest.approx(0.05, abs=tolerance(0.05, 1000))
    # A percentile interval of 60 pairs is a little narrow; it may not be more than half as often wrong again.
    assert np.mean(outside) == pytest.approx(0.05, abs=tolerance(0.05, 1000) + 0.015)


def test_a_planted_change_of_ten_points_is_found():
    """300 pairs, 20 % discordant, 15 % fixed against 5 % broken: power 97 % (normal calculation), at least 90 % asked."""
    rng = np.random.default_rng(13)
    drawn = rng.multinomial(300, [0.15, 0.05, 0.8], size=1000)
    found = [paired.mcnemar_mid_p(int(fixed), int(broken)) < 0.05 for fixed, broken, _ in drawn]
    assert np.mean(found) >= 0.9
