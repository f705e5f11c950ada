"""Agreement worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workbench.diagnosis.statistics import agreement
from workbench.errors import InputError


def test_two_classes_by_hand() -> None:
    labels = ["right"] * 40 + ["wrong"] * 20
    predictions = ["right"] * 30 + ["wrong"] * 10 + ["wrong"] * 15 + ["right"] * 5
    found = agreement(labels, predictions, positive="wrong")
    assert found["n"] == 60
    assert found["accuracy"] == pytest.approx(45 / 60)
    assert found["precision"] == pytest.approx(15 / 25)
    assert found["recall"] == pytest.approx(15 / 20)
    assert found["f1"] == pytest.approx(2 * 15 / (20 + 25))
    expected = (40 * 35 + 20 * 25) / 3600
    assert found["kappa"] == pytest.approx((0.75 - expected) / (1 - expected))
    assert found["kappa_low"] < found["kappa"] < found["kappa_high"]


def test_a_missing_prediction_is_an_error_of_the_judge() -> None:
    found = agreement([1, 0, 1, 0], [1, None, float("nan"), 0])
    assert (found["n"], found["n_error"], found["accuracy"]) == (2, 2, 1)


def test_no_pairs_give_no_numbers() -> None:
    found = agreement([], [])
    assert found["n"] == 0
    assert found.drop(["n", "n_error"]).isna().all()
    assert agreement([True], [None])["n_error"] == 1


def test_one_class_has_no_kappa() -> None:
    found = agreement(["a", "a"], ["a", "a"])
    assert found["accuracy"] == 1
    assert math.isnan(found["kappa"])


def test_labels_of_any_kind() -> None:
    assert agreement(np.array([True, False]), [True, False])["kappa"] == 1
    found = agreement(["好", "差", "中", "好"], ["好", "中", "中", "好"])
    assert found["f1"] == pytest.approx((1 + 0 + 2 / 3) / 3)


def test_unequal_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="2 labels and 1 predictions"):
        agreement([1, 2], [1])
