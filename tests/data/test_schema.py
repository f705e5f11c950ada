"""Sample sets and corpora behave as people expect of a collection."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.data.schema import Context, Sample

ROWS = [
    {"sample_id": "a", "question": "One?", "answer": "Yes.", "contexts": ["t"], "faithfulness": 0.5},
    {"sample_id": "7", "question": "<script>alert(1)</script>\u202egnp", "reference": "x" * 500},
    {"sample_id": "c", "question": "Three?"},
    {"question": ""},
]
DOCUMENTS = [{"doc_id": "d#1", "text": "First.", "source": "d", "position": 1}, {"doc_id": "e", "text": "<b>Second</b>"}]


def test_samples_are_iterated_counted_and_found():
    samples = wb.load_samples(ROWS)
    assert len(samples) == 3 and [sample.sample_id for sample in samples] == ["a", "7", "c"]
    assert list(samples) == samples.samples() and isinstance(next(iter(samples)), Sample)
    assert samples["7"] == samples[1] == samples[-2] == samples[np.int64(1)]
    assert samples["a"].contexts == (Context("t"),)


def test_what_is_not_there_is_said():
    samples = wb.load_samples(ROWS)
    with pytest.raises(KeyError, match="'7x'"):
        samples["7x"]
    with pytest.raises(IndexError, match="position 3"):
        samples[3]
    with pytest.raises(TypeError):
        samples[1.5]


def test_the_head_is_a_set_of_its_own():
    samples = wb.load_samples(ROWS)
    first = samples.head(1)
    assert [s.sample_id for s in first] == ["a"] and first.recorded_scores["faithfulness"].tolist() == [0.5]
    assert repr(first) == "SampleSet('samples': 2 rows read = 1 kept + 1 rejected)"
    assert len(samples.head(0)) == 0 and len(samples.head()) == len(samples) == 3
    assert len(wb.load_samples(first)) == 1


def test_an_id_is_in_it_and_a_slice_is_a_set():
    samples, corpus = wb.load_samples(ROWS), wb.load_corpus(DOCUMENTS)
    assert "a" in samples and samples[0] in samples and "7x" not in samples and "e" in corpus
    assert samples[1:].frame.index.tolist() == samples.frame.index[1:].tolist() and len(samples[-1:]) == 1
    assert repr(samples[1:]) == "SampleSet('samples': 3 rows read = 2 kept + 1 rejected)"
    assert len(samples[1:].recorded_scores) == 2 and len(wb.load_samples(samples[1:])) == 2
    assert repr(corpus[1:]) == "Corpus('corpus': 1 documents of 1 rows read)" and corpus[1:][0] == corpus["e"]


def test_a_notebook_shows_a_table_in_which_nothing_runs():
    page = wb.load_samples(ROWS)._repr_html_()
    assert "4 rows read = 3 kept + 1 rejected" in page and page.count("<tr") == 5
    assert "<script" not in page and "&lt;script&gt;" in page and "\u202e" not in page
    assert "x" * 119 + "…" in page and "1 ×" in page and "None" not in page
    assert "<table" in wb.load_samples(ROWS).head(0)._repr_html_()


def test_a_corpus_too():
    corpus = wb.load_corpus(DOCUMENTS)
    assert [document.doc_id for document in corpus] == ["d#1", "e"]
    assert corpus["d#1"] == corpus[0] == Context("First.", "d#1", position=1, source="d")
    assert len(corpus.head(1)) == 1 and repr(corpus.head(1)) == "Corpus('corpus': 1 documents of 1 rows read)"
    assert "&lt;b&gt;Second" in corpus._repr_html_() and "<b>" not in corpus._repr_html_()
