"""Which chunk comes next is decided in one place: whatever names the order, every path finds the same cause."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.data.corpus import chunk_order, chunk_place, document_of
from workbench.data.schema import Context

LEFT, RIGHT = "Each plan of the platform allows 500", "concurrent sessions in all of its regions at any time."
ORDERS = {
    "source and position": (
        {"doc_id": "a", "metadata": {"source": "plan"}, "position": 1},
        {"doc_id": "b", "metadata": {"source": "plan"}, "position": 2},
    ),
    "ids": ({"doc_id": "plan#3"}, {"doc_id": "plan#4"}),
    "ids of chunks": ({"doc_id": "plan#chunk-9"}, {"doc_id": "plan#chunk-10"}),
    "source and ids": (
        {"doc_id": "x#3", "metadata": {"source": "plan"}},
        {"doc_id": "y#4", "metadata": {"source": "plan"}},
    ),
}
#: What is expected: a key point, found by the text alone, or a reference, found by the judge.
EXPECTED = {
    "point": {"must_include": ["500 concurrent sessions"]},
    "reference": {"reference": "Each plan of the platform allows 500 concurrent sessions in all of its regions."},
}


def _evaluated(order: str, expected: str, retrieved: int, with_corpus: bool) -> str:
    chunks = [{"text": text, **place} for text, place in zip((LEFT, RIGHT), ORDERS[order], strict=True)]
    chunks += [{"text": f"Another page speaks of topic {n}, its rules and prices.", "doc_id": f"o{n}"} for n in range(4)]
    row = {
        "question": "How many concurrent sessions does each plan of the platform allow?",
        "answer": "Each plan of the platform allows them in its regions.",
        "contexts": [*chunks[:retrieved], chunks[3]], "expected_docs": [chunks[0]["doc_id"]], **EXPECTED[expected],
    }  # fmt: skip
    corpus = [{**chunk.get("metadata", {}), **chunk} for chunk in chunks] if with_corpus else None
    found = wb.evaluate(wb.load_samples([row]), corpus=corpus, encoder="none", progress=False).failures()
    return found["primary_cause"].iloc[0]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("with_corpus", [False, True])
@pytest.mark.parametrize("expected", EXPECTED)
def test_evidence_across_an_edge_is_split_evidence(order: str, expected: str, with_corpus: bool) -> None:
    assert _evaluated(order, expected, 2, with_corpus) == "split_evidence"


@pytest.mark.parametrize("order", ORDERS)
def test_so_it_is_when_only_the_corpus_has_the_next_chunk(order: str) -> None:
    assert _evaluated(order, "point", 1, True) == "split_evidence"


def test_the_place_of_a_chunk() -> None:
    assert chunk_place("doc-a#chunk-7") == ("doc-a", 7)
    assert chunk_place("doc-7") is None
    assert chunk_place("#3") is None and chunk_place("#3", "doc") == ("doc", 3)
    assert chunk_place("a#3", "doc", 5) == ("doc", 5)
    assert chunk_place(None, "doc") is None and chunk_place(None, "doc", 0) == ("doc", 0)
    assert document_of("a#b#3") == "a#b" and document_of("a") == "a"


def test_only_what_was_prompted_follows() -> None:
    contexts = [Context("t", doc_id=f"d#{n}", prompted=n != 3) for n in (2, 1, 3, 2)]
    assert chunk_order(contexts) == [-1, 0, -1, -1]
