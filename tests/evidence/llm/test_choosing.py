"""Whom to ask: verdicts by kind, what the model is expected to say, and sums that cancel; worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.evidence.judge import Claim, SampleEvidence
from workbench.evidence.llm.choosing import KINDS, chance_of_change, choose, expected, learn_lines, moments, verdicts

AS_SAID = dict.fromkeys(KINDS, (0.0, 1.0))


def test_verdicts_by_kind_without_those_that_are_missing():
    claims = [Claim("answer", "a", other_entail=0.3), Claim("reference", "b"), Claim("answer", "c", other_entail=0.9)]
    grid = np.array([[0.2, 0.7], [0.1, 0.4], [0.9, 0.8]], dtype=np.float32)
    evidence = SampleEvidence(
        "s", claims=claims, entail=grid, contradict=np.zeros_like(grid), declines=0.1,
        relevance=np.array([0.5, np.nan], dtype=np.float32),
    )  # fmt: skip
    found = {kind: values.round(4).tolist() for kind, values in verdicts(evidence).items()}
    assert found == {
        "answer": [0.7, 0.9], "reference": [0.4], "answer_by_reference": [0.3, 0.9], "declines": [0.1],
        "relevance": [0.5],
    }  # fmt: skip
    assert verdicts(SampleEvidence("s", state="judge_error")) == {}


def test_without_pairs_the_offline_judge_is_taken_at_its_word():
    assert learn_lines([]) == AS_SAID
    assert expected({"answer": np.array([0.2, 0.9])}, AS_SAID)["answer"].tolist() == [0.2, 0.9]


def test_a_line_is_learnt_from_shares():
    # One sample of 98 claims at p = 0, all called supported: least squares with two verdicts' worth of (0, 1),
    # low = 98 / (98 + 2), high = 2 / 2.
    pairs = [({"answer": np.zeros(98)}, {"answer": np.ones(3)})]
    low, high = learn_lines(pairs)["answer"]
    assert (low, high) == (pytest.approx(0.98), pytest.approx(1.0))
    assert learn_lines(pairs)["reference"] == (0.0, 1.0)


@given(st.floats(0, 0.4), st.floats(0.6, 1))
def test_a_line_is_found_again(low, high):
    random = np.random.default_rng(0)
    pairs = []
    for _ in range(400):
        p = np.full(6, random.random())
        pairs.append(({"answer": p}, {"answer": (random.random(6) < low * (1 - p) + high * p).astype(float)}))
    assert learn_lines(pairs)["answer"] == pytest.approx((low, high), abs=0.08)


def test_bias_variance_and_chance_of_change():
    found = {"answer": np.array([0.9, 0.6])}
    bias, variance = moments([found], AS_SAID)
    share, whole = 0, len(KINDS)
    # Offline counts 1 of 1; the model is expected at (.9 + .6) / 2, and at .9 · .6 for both.
    assert bias[0, [share, whole]] == pytest.approx([-0.25, -0.46])
    assert variance[0, [share, whole]] == pytest.approx([(0.09 + 0.24) / 4, 0.54 * 0.46])
    assert chance_of_change(found, AS_SAID) == pytest.approx(0.46) and chance_of_change({}, AS_SAID) == 1
    assert not bias[0, 1:whole].any()


def test_a_mean_that_few_samples_take_part_in_counts_as_much():
    bias, variance = moments([{"answer": np.array([0.8])}, {"declines": np.array([0.5])}, {}], AS_SAID)
    assert bias[0, 0] == pytest.approx(-0.2 * 3) and variance[0, 0] == pytest.approx(0.16 * 9)
    assert (variance[2] > 0).all()


def test_what_is_left_cancels():
    bias = np.array([[-0.1], [-0.1], [0.2], [-0.5]])
    variance = np.full((4, 1), 0.05)
    # Asked: -0.5 alone; the others add up to nothing.
    assert choose(bias, variance, np.ones(4), np.ones(4, dtype=bool), 1) == [3]


def test_costs_and_permission_are_kept():
    bias, variance = np.zeros((3, 1)), np.array([[0.3], [0.2], [0.1]])
    allowed = np.array([True, True, False])
    assert choose(bias, variance, np.array([5.0, 1.0, 1.0]), allowed, 4) == [1]
    assert choose(bias, variance, np.array([5.0, 1.0, 1.0]), allowed, 6) == [1, 0]
    assert choose(bias, variance, np.ones(3), np.zeros(3, dtype=bool), 6) == []


def test_thousands_of_samples_are_chosen_from_quickly():
    random = np.random.default_rng(1)
    bias, variance = random.normal(-0.1, 0.2, (20_000, 10)), random.random((20_000, 10))
    chosen = choose(bias, variance, np.ones(20_000), np.ones(20_000, dtype=bool), 16_000)
    assert len(chosen) == len(set(chosen)) == 16_000
    left = np.setdiff1d(np.arange(20_000), chosen)
    assert np.abs(bias[left].sum(axis=0)).max() < 0.2 * np.abs(bias.sum(axis=0)).min()
