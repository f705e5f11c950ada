"""Breakdowns worked by hand; planted slices found, and none on labels that were shuffled."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import workbench as wb
from tests.scripted import sample_set
from workbench import language
from workbench.diagnosis.queries import Dimensions, count_numbers, of_values, question_size
from workbench.diagnosis.slices import Candidates, Totals, exact, slices_of, strength
from workbench.diagnosis.statistics import wilson
from workbench.errors import InputError


@dataclass
class Outcome:
    """A set of samples and which failed; None = not checked."""

    samples: object
    failed: list

    @property
    def causes(self) -> SimpleNamespace:
        names = ["not_checked" if bad is None else "omission" if bad else "pass" for bad in self.failed]
        codes = [-2 if bad is None else 0 if bad else -1 for bad in self.failed]
        return SimpleNamespace(primary=np.array(codes, dtype=int), names=lambda: np.array(names, dtype=object))


@pytest.fixture(autouse=True)
def english(monkeypatch):
    monkeypatch.setattr(language, "_current", "en")
    monkeypatch.setattr(language, "_chosen", True)


def make(columns, failed):
    n = len(failed)
    rows = [{"question": "Ask", **{name: values[i] for name, values in columns.items()}} for i in range(n)]
    return Outcome(sample_set(rows), list(failed))


# ------------------------------------------------------------ dimensions


@pytest.mark.parametrize(
    ("question", "numbers"),
    [("E-1207", 0), ("Is 5 more than 3?", 2), ("超过 30 天", 1), ("１，０００ 元", 1), ("v2 of the plan", 0), ("", 0)],
)
def test_numbers_in_a_question(question, numbers):
    assert count_numbers(question) == numbers


def test_sizes_of_both_languages_are_alike():
    assert question_size("How long are audit logs kept?") == 6
    assert question_size("审计日志保留多长时间？") == pytest.approx(10 / 1.7)


def test_dimensions_of_the_samples():
    samples = sample_set([
        {"question": "Who?", "expected_docs": ["a", "b"], "tags": {"area": "x"}, "plan": "gold", "seats": 3},
        {"question": "谁？", "expected_docs": {"a": 0, "b": 2}, "tags": {"area": "y"}, "plan": None, "seats": 7},
        {"question": "Who?", "expected_docs": None, "tags": None, "plan": "gold", "seats": None},
    ])  # fmt: skip
    found = Dimensions(samples)
    assert set(found.names()) == {
        "query_type", "language", "length", "numbers", "expected_documents", "tags.area", "plan", "seats",
    }  # fmt: skip
    assert found["expected_documents"].values == ("1", "2") and found["expected_documents"].codes.tolist() == [1, 0, 2]
    assert found["area"] is found["tags.area"] and found["area"].values == ("x", "y")
    assert found["plan"].values == ("gold",) and found["plan"].codes.tolist() == [0, 1, 0]
    assert found["seats"].values == ("3", "7") and found["seats"].ordered
    assert found["type"].name == "query_type" and found["who"].values == ("yes",)
    with pytest.raises(InputError, match="colour"):
        found["colour"]


def test_many_numbers_are_cut_at_their_quartiles():
    found = of_values("latency", [float(i) for i in range(100)])
    assert len(found.values) == 4 and np.bincount(found.codes).tolist() == [25, 25, 25, 25]


# ------------------------------------------------------------ breakdown


def test_a_breakdown_by_hand():
    failed = [True] * 3 + [False] * 2 + [None] + [True] + [False] * 4 + [True, False, False]
    evaluation = make({"case_type": ["a"] * 6 + ["b"] * 5 + ["c"] * 2 + [None]}, failed)
    frame = wb.breakdown(evaluation, "case_type", min_n=5)
    assert frame["value"].tolist() == ["a", "b", "2 smaller groups together"]
    assert frame["n"].tolist() == [5, 5, 3] and frame["n_failing"].tolist() == [3, 1, 1]
    assert frame["rate"].tolist() == pytest.approx([0.6, 0.2, 1 / 3]) and frame["n_not_checked"].tolist() == [1, 0, 0]
    assert frame["causes"].tolist() == [{"omission": 3}, {"omission": 1}, {"omission": 1}]
    interval = wilson(3, 5)
    assert frame.loc[0, ["low", "high"]].tolist() == [interval.low, interval.high]
    assert frame["n"].sum() == frame.attrs["n_tested"] == 13 and frame.attrs["n_not_checked"] == 1


def test_ordered_dimensions_keep_their_order_and_one_small_group_its_name():
    docs = [["x"]] * 5 + [["x", "y"]] * 6 + [["x", "y", "z"]]
    evaluation = make({"expected_docs": docs}, [False] * 5 + [True] * 7)
    frame = wb.breakdown(evaluation, "expected_documents")
    assert frame["value"].tolist() == ["1", "2", "3+"] and frame["folded"].tolist() == [0, 0, 1]


def test_a_pivot_counts_every_pair():
    evaluation = make({"case_type": ["a", "a", "b", "b"] * 5, "tenant": ["p", "q"] * 10}, [True, False, False, False] * 5)
    frame = wb.breakdown(evaluation, ("case_type", "tenant"))
    assert frame["value"].tolist()[0] == "a × p" and frame["n"].tolist() == [5] * 4
    assert frame.loc[0, ["case_type", "tenant", "rate"]].tolist() == ["a", "p", 1.0]


def test_a_question_of_two_types_counts_in_both_and_says_so():
    samples = sample_set([{"question": "When and where is it?"}] * 5)
    frame = wb.breakdown(Outcome(samples, [True] * 5), "query_type")
    assert sorted(frame["value"]) == ["when", "where"] and frame.attrs["multiple"] and frame["n"].tolist() == [5, 5]


def test_nothing_checked_has_no_rate():
    frame = wb.breakdown(make({"tenant": ["a"] * 3}, [None] * 3), "tenant", min_n=1)
    assert frame["n"].tolist() == [0] and frame["rate"].isna().all() and frame["n_not_checked"].tolist() == [3]


@pytest.mark.parametrize("by", ["colour", [], ["tenant", "tenant"], ["tenant", "language", "length"]])
def test_wrong_dimensions_are_refused(by):
    with pytest.raises(InputError):
        wb.breakdown(make({"tenant": ["a"]}, [True]), by)


# ------------------------------------------------------------ worst slices


def planted(n, seed, inside=0.9, outside=0.15):
    """Three dimensions; failing is likely where all three conditions hold."""
    rng = np.random.default_rng(seed)
    columns = {
        "case_type": rng.choice(["fact", "policy", "refusal"], n).tolist(),
        "tenant": rng.choice(["a", "b"], n).tolist(),
        "expected_docs": [["x", "y", "z"][: int(k)] for k in rng.integers(1, 4, n)],
        "noise": rng.choice(list("pqrst"), n).tolist(), "other": rng.choice(list("uvw"), n).tolist(),
    }  # fmt: skip
    where = np.array([
        kind == "policy" and tenant == "b" and len(docs) >= 2
        for kind, tenant, docs in zip(columns["case_type"], columns["tenant"], columns["expected_docs"], strict=True)
    ])  # fmt: skip
    return make(columns, (rng.random(n) < np.where(where, inside, outside)).tolist()), where


@pytest.mark.parametrize("seed", range(5))
def test_a_planted_slice_is_found_first(seed):
    evaluation, where = planted(400, seed)
    frame = wb.worst_slices(evaluation)
    rule = {("case_type", "=", "policy"), ("tenant", "=", "b"), ("expected_documents", "≥", "2")}
    assert set(frame.loc[0, "conditions"]) == rule
    assert frame.loc[0, "rule"].count("∧") == 2
    assert frame.loc[0, "sample_ids"] == evaluation.samples.frame.index[where].tolist()
    assert frame.loc[0, "n"] == where.sum() and frame.loc[0, "q_value"] <= 0.05
    assert frame.loc[0, "p_value"] < 1e-6 and 1 < frame.loc[0, "lift"] < frame.loc[0, "rate"] / np.mean(evaluation.failed)
    assert len(frame) <= 2 and frame.attrs["n_tried"] > 100


def test_the_rule_reads_in_both_languages(monkeypatch):
    evaluation, _ = planted(400, 0)
    assert wb.worst_slices(evaluation).loc[0, "rule"] == "type = policy ∧ expected documents ≥ 2 ∧ tenant = b"
    monkeypatch.setattr(language, "_current", "zh")
    assert wb.worst_slices(evaluation).loc[0, "rule"] == "用例类型 = policy ∧ 期望文档数 ≥ 2 ∧ 租户 = b"


def test_no_slice_on_shuffled_labels():
    evaluation, _ = planted(120, 1)
    dimensions, n = Dimensions(evaluation), 120
    tested = np.ones(n, dtype=bool)
    reported = 0
    for seed in range(200):
        shuffled = np.random.default_rng(seed).permutation(np.array(evaluation.failed))
        reported += len(slices_of(dimensions, shuffled, tested)) > 0
    assert reported <= 20  # 5 % of 200 is 10; the chance of more than 20 is 0.1 %


def test_both_corrections_find_it_and_count_alike(monkeypatch):
    evaluation, _ = planted(400, 2)
    by_permutation = wb.worst_slices(evaluation)
    monkeypatch.setattr("workbench.diagnosis.slices.AFFORDABLE", 0)
    by_bound = wb.worst_slices(evaluation)
    assert (by_permutation.attrs["method"], by_bound.attrs["method"]) == ("Westfall–Young", "Tarone–Bonferroni")
    same = ["rule", "n", "n_failing", "p_value", "sample_ids"]
    assert by_bound.loc[0, same].tolist() == by_permutation.loc[0, same].tolist()


def test_counts_of_all_conjunctions_by_brute_force():
    rng = np.random.default_rng(3)
    items = rng.random((60, 6)) < 0.5
    failed = rng.random(60) < 0.4
    found = Candidates(items, np.array([0, 0, 1, 2, 3, 4]), 4)
    x = found.failing(failed)
    np.testing.assert_array_equal(x, found._counted(np.bincount(found.profile, weights=failed).astype(np.float32)))
    assert len({tuple(row) for row in found.members}) == len(found)
    for at, members in enumerate(found.members):
        held = items[:, members[members >= 0]].all(axis=1)
        assert held.sum() == found.n[at] >= 4 and (held & failed).sum() == x[at]
        assert not {0, 1} <= set(members.tolist())


def test_strength_and_exact_p_by_hand():
    totals = Totals(10, 5)
    assert exact(4, 4, totals) == pytest.approx(5 * 4 * 3 * 2 / (10 * 9 * 8 * 7))
    # 4 of 4 inside, 1 of 6 outside: G² = 2 (4 ln 2 + 0 + 1 ln(1/3) + 5 ln(5/3))
    by_hand = 2 * (4 * np.log(2) + np.log(1 / 3) + 5 * np.log(5 / 3))
    assert strength(np.array([4]), np.array([4]), totals) == pytest.approx([by_hand])
    assert strength(np.array([4]), np.array([2]), totals) == [0.0]


def test_nearly_identical_slices_are_one():
    rng = np.random.default_rng(4)
    kind = rng.choice(["x", "y", "z"], 300)
    twin = np.where(rng.random(300) < 0.03, "z", kind)
    failed = rng.random(300) < np.where(kind == "x", 0.8, 0.1)
    frame = wb.worst_slices(make({"case_type": kind.tolist(), "twin": twin.tolist()}, failed.tolist()))
    assert len(frame) == 1 and len(frame.loc[0, "conditions"]) == 1 and frame.loc[0, "same_samples"]


def test_nothing_to_find():
    for failed in ([False] * 30, [True] * 30, [None] * 30):
        frame = wb.worst_slices(make({"tenant": ["a", "b"] * 15}, failed))
        assert len(frame) == 0 and "rule" in frame.columns


def test_the_difference_between_two_evaluations():
    """Only what passed before and fails now with another answer is broken."""
    n = 200
    kind = ["new" if i % 4 == 0 else "old" for i in range(n)]
    answers = [f"answer {i}" for i in range(n)]
    before = make({"case_type": kind, "answer": answers}, [i % 10 == 1 for i in range(n)])
    after = make({"case_type": kind, "answer": [f"{a}!" if k == "new" else a for a, k in zip(answers, kind, strict=True)]},
                 [k == "new" or i % 10 in (1, 3) for i, k in enumerate(kind)])  # fmt: skip
    frame = wb.worst_slices(after, before=before)
    assert frame.loc[0, "conditions"] == [("case_type", "=", "new")]
    assert frame.loc[0, ["n", "n_failing"]].tolist() == [50, 50]
    assert frame.attrs["n_tested"] == n - 20 and frame.attrs["n_failing"] == 50
    assert len(wb.worst_slices(before, before=before)) == 0
