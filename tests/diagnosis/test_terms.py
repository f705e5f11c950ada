"""Words of failing questions: the formula by hand, base rates, and no alarm over common words."""

from __future__ import annotations

import numpy as np
import pytest

from tests.two_runs import WRONG, case, run
from workbench.diagnosis.missed import find_misses
from workbench.diagnosis.statistics import Z
from workbench.diagnosis.vocabulary import TERM_COLUMNS, log_odds, terms_of


def test_the_formula_by_hand():
    # 6 of 10 against 1 of 10, prior 10: α = 3.5 → 9.5 / 10.5 against 4.5 / 15.5
    found = log_odds([6], [1], 10, 10, prior=10)
    spread = np.sqrt(1 / 9.5 + 1 / 10.5 + 1 / 4.5 + 1 / 15.5)
    value = np.log(9.5 / 10.5) - np.log(4.5 / 15.5)
    assert found.value == pytest.approx([value]) and found.z == pytest.approx([value / spread])
    assert found.low == pytest.approx([value - Z * spread]) and found.high == pytest.approx([value + Z * spread])


def test_the_two_groups_are_treated_alike():
    there, back = log_odds([6, 2], [1, 2], 10, 12), log_odds([1, 2], [6, 2], 12, 10)
    np.testing.assert_allclose(there.value, -back.value)
    np.testing.assert_allclose(there.low, -back.high)


def test_a_word_that_all_or_none_have_says_nothing():
    assert np.isnan(log_odds([10, 0], [10, 0], 10, 10).value).all()


def test_a_rare_word_is_drawn_to_nothing():
    found = log_odds([1, 30], [0, 0], 100, 100)
    assert 0 < found.value[0] < found.value[1] and found.low[0] < 0 < found.low[1]


def test_the_planted_word_comes_first_with_its_base_rates():
    texts = ["退款 问题"] * 20 + ["refund question"] * 5 + ["问题"] * 40 + ["question"] * 35
    failed = np.array([True] * 25 + [False] * 75)
    frame = terms_of(texts, failed)
    assert tuple(frame.columns) == TERM_COLUMNS and frame["term"].tolist()[:2] == ["退款", "refund"]
    first = frame.loc[0]
    assert (first["n"], first["n_failing"], first["rate"], first["base_rate"]) == (20, 20, 1.0, 0.25)
    assert (first["share_failing"], first["share_passing"]) == (0.8, 0.0) and first["low"] > 0 and first["q_value"] < 0.01
    assert frame.set_index("term").loc["问题", ["share_failing", "share_passing"]].tolist() == [0.8, pytest.approx(40 / 75)]


def test_a_word_counts_once_a_question():
    frame = terms_of(["x x x x", "x", "z", "z"], np.array([True, True, False, False]), min_n=1)
    assert frame.loc[0, ["term", "n"]].tolist() == ["x", 2]


@pytest.mark.parametrize("failed", [[True] * 3, [False] * 3])
def test_without_contrast_there_is_nothing(failed):
    assert len(terms_of(["x"] * 3, np.array(failed), min_n=1)) == 0


def test_a_word_of_both_groups_is_no_finding_and_a_rare_one_is_left_out():
    questions = ["refund rules", "refund days", "audit logs", "audit days", "logs kept", "roles"]
    frame = terms_of(questions, [True, True, False, False, False, False], min_n=2).set_index("term")
    assert frame.index[0] == "refund" and frame.loc["refund", ["rate", "base_rate"]].tolist() == [1, pytest.approx(1 / 3)]
    assert frame.loc["days", "low"] < 0 < frame.loc["days", "high"] and "rules" not in frame.index


def test_both_panels_and_the_function_show_the_same_numbers_for_the_same_terms(monkeypatch):
    """Every failing case here is one with a missed document, so that panel 04 and panel 05 speak of the same questions."""
    from workbench.diagnosis.vocabulary import failing_terms
    from workbench.views import plots
    from workbench.views.panels import query_types, vocabulary

    rows = [case(f"s{i}", *([WRONG, False] if i < 8 else [])) | {"question": f"{'refund' if i < 7 else 'audit'} days?"}
            for i in range(24)]  # fmt: skip
    evaluation = run(rows)
    found = failing_terms(evaluation)
    assert found.loc[0, ["term", "n", "n_failing"]].tolist() == ["refund", 7, 7]
    drawn = {}
    monkeypatch.setattr(plots, "log_odds", lambda terms, *ends, notes, **_: drawn.update(
        {term: (note, *numbers) for term, note, *numbers in zip(terms, notes, *ends, strict=True)}))  # fmt: skip
    misses = find_misses(evaluation.evidence, evaluation.thresholds.k)
    gaps = [vocabulary.Gap(miss, -1, (), (), (), ()) for miss in misses]
    assert {miss.sample_id for miss in misses} == {f"s{i}" for i in range(8)}
    vocabulary.failing_picture([row["question"] for row in rows], gaps)
    line = found.set_index("term").loc["refund"]
    assert drawn["refund"] == ("7 / 7", line["log_odds"], line["low"], line["high"]) and list(drawn) == list(found["term"])
    assert f"{line['log_odds']:.2f}" in query_types.terms_table(found)
