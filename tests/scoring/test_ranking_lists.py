"""Metrics of lists in a given order, where an expected entry may name alternatives."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import InputError
from workbench.scoring.ranking import evaluate_rankings, list_metrics

NAMES = ["precision@5", "precision_returned@5", "recall@5", "hit@5", "reciprocal_rank@5", "ndcg@5",
         "average_precision@5", "holes@5", "duplicate_rate"]  # fmt: skip


def score(lists: list[list[str]], expected: list[list[tuple[set[str], float]]], metrics: list[str] = NAMES) -> dict:
    """Metrics of lists of document names against entries (alternatives, grade)."""
    entries = [(s, names, grade) for s, row in enumerate(expected) for names, grade in row]
    items = []
    for s, row in enumerate(lists):
        for rank, name in enumerate(row):
            hits = [e for e, (owner, names, _) in enumerate(entries) if owner == s and name in names]
            items += [(s, rank, hash(name), entry) for entry in hits or [-1]]
    columns = np.array(items, dtype=np.int64).reshape(-1, 4).T
    return list_metrics(
        metrics, n_samples=len(lists), sample=columns[0], rank=columns[1], document=columns[2], entry=columns[3],
        entry_sample=np.array([e[0] for e in entries], dtype=int), entry_grade=np.array([e[2] for e in entries]),
    )  # fmt: skip


def test_alternatives_count_once_at_the_first_of_them() -> None:
    got = score([["a2", "a1", "x", "b"]], [[({"a1", "a2"}, 1), ({"b"}, 1), ({"c"}, 1)]])
    assert got["precision@5"][0] == pytest.approx(2 / 5)
    assert got["precision_returned@5"][0] == pytest.approx(2 / 4)
    assert got["recall@5"][0] == pytest.approx(2 / 3)
    assert got["average_precision@5"][0] == pytest.approx((1 + 2 / 4) / 3)
    assert got["holes@5"][0] == pytest.approx(1 / 5)


def test_one_document_may_satisfy_two_entries() -> None:
    got = score([["ab", "x"]], [[({"ab"}, 1), ({"ab", "b"}, 1)]])
    assert got["recall@5"][0] == got["ndcg@5"][0] * 1 == got["average_precision@5"][0] == 1 or got["ndcg@5"][0] <= 1
    assert got["recall@5"][0] == 1 and got["average_precision@5"][0] == 1
    assert got["precision@5"][0] == pytest.approx(1 / 5)


def test_repeated_documents_keep_the_first_rank() -> None:
    got = score([["a", "a", "b", "a"]], [[({"a"}, 1), ({"b"}, 1)]])
    assert got["average_precision@5"][0] == 1 and got["ndcg@5"][0] == 1
    assert got["duplicate_rate"][0] == 0.5


def test_nothing_expected_is_nan_and_nothing_retrieved_is_zero() -> None:
    got = score([["a"], [], ["a"]], [[], [({"a"}, 1)], [({"a"}, 0)]])
    assert np.isnan(got["recall@5"]).tolist() == [True, False, True]
    assert got["recall@5"][1] == got["ndcg@5"][1] == got["hit@5"][1] == 0
    assert np.isnan(got["holes@5"]).tolist() == [True, False, False]
    assert np.isnan(got["duplicate_rate"]).tolist() == [False, True, False]
    assert np.isnan(got["precision_returned@5"]).tolist() == [True, True, True]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=9), min_size=1, max_size=5), st.integers(0, 9999))
def test_without_alternatives_equal_to_evaluate_rankings(lists: list[list[str]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    grades = [{d: int(rng.integers(0, 4)) for d in "abcd" if rng.random() < 0.7} | {"e": 1} for _ in lists]
    got = score(lists, [[({d}, g) for d, g in row.items()] for row in grades])
    qrels = [(str(s), d, g) for s, row in enumerate(grades) for d, g in row.items()]
    run = [(str(s), d, -float(i)) for s, row in enumerate(lists) for i, d in enumerate(row)] or [("none", "x", 0.0)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = evaluate_rankings(
            pd.DataFrame(qrels, columns=["query_id", "doc_id", "relevance"]),
            pd.DataFrame(run, columns=["query_id", "doc_id", "score"]),
            NAMES,
        )
    for name in NAMES:
        assert np.nan_to_num(got[name]) == pytest.approx(expected[name].to_numpy()), name


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from("abcdef"), max_size=8),
    st.lists(st.tuples(st.sets(st.sampled_from("abcdef"), min_size=1), st.integers(0, 3)), min_size=1, max_size=4),
)
def test_every_value_in_0_1_whatever_overlaps(retrieved: list[str], entries: list) -> None:
    for values in score([retrieved], [entries]).values():
        assert np.isnan(values).all() or (values.min() >= 0 and values.max() <= 1)


def test_arrays_of_different_lengths_are_refused() -> None:
    empty = np.zeros(0, dtype=int)
    with pytest.raises(InputError, match="different lengths"):
        list_metrics(["ndcg@5"], n_samples=1, sample=np.zeros(1, dtype=int), rank=empty, document=empty, entry=empty,
                     entry_sample=empty, entry_grade=empty)  # fmt: skip
