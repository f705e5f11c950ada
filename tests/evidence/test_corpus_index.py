"""Exact ranks: equal to a full sort, ties included, in blocks of any size; BM25 over both languages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import CancelledError
from workbench.evidence import corpus_index as ranks
from workbench.evidence.corpus_index import Lexical, id_order, search, terms


def unit(rows):
    rows = np.asarray(rows, dtype=np.float64)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def full_sort(query, documents, ids):
    """All documents in order: by float64 cosine, then by id."""
    cosines = (query.astype(np.float64) * documents.astype(np.float64)).sum(axis=1)
    return sorted(range(len(ids)), key=lambda at: (-cosines[at], ids[at]))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 6), st.integers(0, 9), st.integers(1, 60))
def test_ranks_and_nearest_equal_a_full_sort_with_ties(seed, n, m, copies, block):
    random = np.random.default_rng(seed)
    documents = unit(random.normal(size=(n, 5)) + 3)
    # Copies of whole documents tie exactly; rows moved by one unit in the last place must not.
    documents = np.concatenate([documents, documents[random.integers(0, n, copies)]])
    nudged = documents[random.integers(0, n, copies)].copy()
    nudged[:, 0] = np.nextafter(nudged[:, 0], np.float32(2))
    documents = np.concatenate([documents, nudged])
    ids = [f"d{number}" for number in random.permutation(len(documents))]
    queries = unit(random.normal(size=(m, 5)) + 3)
    query = np.repeat(np.arange(m), len(documents))
    document = np.tile(np.arange(len(documents)), m)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranks, "BLOCK", block)
        patch.setattr(ranks, "QUERIES", 4)
        patch.setattr(ranks, "ROWS", 7)
        patch.setattr(ranks, "SMALLEST_BLOCK", 3)
        found = search(queries, documents, id_order(ids), k=4, pairs=(query, document))
    for row, question in enumerate(queries):
        order = full_sort(question, documents, ids)
        assert found.nearest[row].tolist() == order[:4]
        mine = found.ranks[row * len(documents) : (row + 1) * len(documents)]
        assert [order.index(at) + 1 for at in range(len(documents))] == mine.tolist()


def test_ties_go_to_the_id_that_sorts_first():
    documents = unit([[1, 0], [1, 0], [1, 0], [0, 1]])
    found = search(
        unit([[1, 0.1]]), documents, id_order(["c", "a", "b", "d"]), k=4, pairs=(np.zeros(4, int), np.arange(4))
    )
    assert found.ranks.tolist() == [3, 1, 2, 4] and found.nearest[0].tolist() == [1, 2, 0, 3]


def test_differences_below_float32_still_count():
    """0.6 in float32 against its neighbour: the product rounds both to one number, the order does not."""
    low, high = np.float32(0.6), np.nextafter(np.float32(0.6), np.float32(1))
    documents = np.array([[low, 0.8], [high, 0.8]], dtype=np.float32)
    query = np.array([[0.001, 1.0]], dtype=np.float32)
    assert (query @ documents.T)[0, 0] == (query @ documents.T)[0, 1]
    found = search(query, documents, id_order(["a", "b"]), k=2, pairs=(np.array([0, 0]), np.array([0, 1])))
    assert found.ranks.tolist() == [2, 1] and found.nearest[0].tolist() == [1, 0]


def test_many_documents_in_many_blocks_are_found_in_bounded_memory():
    import tracemalloc

    random = np.random.default_rng(1)
    documents, queries = unit(random.normal(size=(20_000, 16))), unit(random.normal(size=(200, 16)))
    target = random.integers(0, 20_000, 200)
    order = np.arange(20_000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranks, "BLOCK", 200_000)
        tracemalloc.start()
        found = search(queries, documents, order, k=10, pairs=(np.arange(200), target))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    cosines = queries.astype(float) @ documents.astype(float).T
    mine = cosines[np.arange(200), target][:, None]
    assert np.array_equal(found.ranks, 1 + (cosines > mine + 1e-12).sum(axis=1))
    assert np.array_equal(found.nearest, np.argsort(-cosines, axis=1, kind="stable")[:, :10])
    assert most < 6_000_000 < cosines.nbytes


def test_it_can_be_stopped_and_needs_no_documents():
    documents = unit(np.eye(3))
    with pytest.raises(CancelledError):
        search(documents, documents, np.arange(3), k=1, stop=lambda: True)
    found = search(np.empty((0, 3), np.float32), documents, np.arange(3), k=2)
    assert found.nearest.shape == (0, 2) and found.ranks.shape == (0,)


# ---------------------------------------------------------------- words

TEXTS = [
    "Audit logs are kept for 90 days.",
    "日志保留 90 天，之后自动删除。",
    "An export holds at most 10 MB.",
    "导出文件最大 10 MB。",
]


@pytest.fixture
def lexical():
    return Lexical([terms(text) for text in TEXTS], np.arange(4))


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("How long is an audit log kept?", 0),
        ("日志保留多久？", 1),
        ("日誌保留多久？", 1),
        ("exported files", 2),
        ("导出的文件", 3),
    ],
)
def test_words_of_both_languages_find_their_document(lexical, question, first):
    scores = lexical.scores(terms(question))
    assert lexical.best(scores, 4)[0] == first and lexical.rank(scores, first) == 1


def test_bm25_by_hand():
    """Documents of length 1 and 3, one term in one of them: idf ln(1 + 1.5/1.5), tf 1 / (1 + k1 (1 - b + b 1/2))."""
    lexical = Lexical([["x"], ["y", "y", "z"]], np.arange(2))
    expected = np.log(2) / (1 + 1.2 * (0.25 + 0.75 * 0.5))
    assert lexical.scores(["x"]).tolist() == pytest.approx([expected, 0])
    assert lexical.idf("x") == pytest.approx(np.log(2)) and lexical.idf("absent") == pytest.approx(np.log(6))


def test_what_shares_no_term_is_never_returned_and_comes_last(lexical):
    scores = lexical.scores(terms("日志保留多久？"))
    assert lexical.best(scores, 4).tolist() == [1] and lexical.rank(scores, 0) == 4
    nothing = lexical.scores(terms("weather"))
    assert not nothing.any() and [lexical.rank(nothing, at) for at in range(4)] == [4] * 4
    assert lexical.best(nothing, 4).tolist() == []


def test_equal_scores_go_to_the_id_that_sorts_first():
    lexical = Lexical([["x"], ["x"], ["x"]], id_order(["c", "a", "b"]))
    scores = lexical.scores(["x"])
    assert [lexical.rank(scores, at) for at in range(3)] == [3, 1, 2] and lexical.best(scores, 2).tolist() == [1, 2]


@pytest.mark.parametrize("texts", [[""], ["", "的"], ["、。"], ["a"]])
def test_empty_documents_and_questions_are_no_error(texts):
    lexical = Lexical([terms(text) for text in texts], np.arange(len(texts)))
    for question in ("", "的", "x", "？"):
        assert lexical.scores(terms(question)).shape == (len(texts),)
