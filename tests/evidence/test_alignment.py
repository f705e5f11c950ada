"""Soft alignment, on vectors whose cosines are known."""

from __future__ import annotations

import numpy as np
import pytest

from tests.evidence import word_encoder as helper
from workbench.evidence.offline.alignment import (
    ALIGNMENT,
    BLOCK_CHARACTERS,
    BLOCK_HAN_CHARACTERS,
    _around,
    _steps,
    align,
    alignment_features,
    blocks,
    word_vectors,
)
from workbench.evidence.offline.grid import Grid, claim_words, windows
from workbench.evidence.offline.vectors import VectorStore, sentence_vectors
from workbench.evidence.offline.words import analyse


def aligned(claim: str, *evidence: str):
    texts = [analyse(text) for text in evidence]
    words = claim_words(analyse(claim), 0, len(claim))
    grid = Grid([words], texts)
    store = VectorStore(helper.WordEncoder(), tokens=True)
    vectors = store.get([claim, *evidence], "passage")
    found = align(grid, [vectors[claim].words[words.words]], [vectors[text].words for text in evidence])
    return grid, found, windows(texts)


def features(claim: str, *evidence: str) -> dict[str, float]:
    grid, found, spans = aligned(claim, *evidence)
    return dict(zip(ALIGNMENT, alignment_features(grid, found, spans)[0, 0].tolist(), strict=True))


def test_word_vectors_are_the_mean_of_the_tokens_that_touch_a_word():
    text = analyse("abc def")
    vectors = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    spans = np.array([[0, 2], [2, 3], [4, 7]])
    found = word_vectors(text, vectors, spans)
    half = np.sqrt(0.5)
    assert found == pytest.approx(np.array([[half, half, 0], [0, 0, 1]]), abs=1e-6)


def test_a_word_without_tokens_has_a_row_of_zeros():
    text = analyse("abc def")
    found = word_vectors(text, np.array([[1.0, 0.0]], dtype=np.float32), np.array([[0, 3]]))
    assert found.tolist() == [[1, 0], [0, 0]]


@pytest.mark.parametrize("claim", ["The tower was built in Paris.", "企业版支持五百名用户"])
def test_a_text_aligns_with_itself_perfectly(claim):
    for name, value in features(claim, claim).items():
        assert value == pytest.approx(1.0, abs=1e-4), name


def test_the_worst_word_names_itself():
    found = features("The tower was built in Berlin.", "The tower was built in Paris.")
    assert found["worst_name"] < 0.6
    assert found["mean_alignment"] > found["worst_name"]


def test_the_same_words_elsewhere_are_no_relation():
    """Munich is there, but not near what is said of it: plain alignment is blind to that, relational is not."""
    evidence = "Berlin hosted the great festival of music. " + "It rained a lot in spring. " * 3 + "Munich slept."
    right, wrong = (features(f"{city} hosted the great festival.", evidence) for city in ("Berlin", "Munich"))
    assert wrong["mean_alignment"] == pytest.approx(right["mean_alignment"], abs=1e-5)
    assert wrong["worst_relational"] < right["worst_relational"] - 0.1


def test_around_is_the_highest_value_nearby_in_the_same_text():
    values = np.zeros((1, 40), dtype=np.float32)
    values[0, 20] = 1.0
    expected = np.zeros(40)
    expected[14:27] = 1.0
    assert _around(values, _steps([40]))[0].tolist() == expected.tolist()
    expected[:18] = 0.0
    assert _around(values, _steps([18, 22]))[0].tolist() == expected.tolist()
    short = np.array([[0.0, 1.0, 0.0]], dtype=np.float32)
    assert _around(short, _steps([3])).tolist() == [[1.0, 1.0, 1.0]]
    assert _around(short, _steps([1, 0, 2])).tolist() == [[0.0, 1.0, 1.0]]


def test_around_equals_a_plain_loop():
    values = np.random.default_rng(0).normal(size=(3, 31)).astype(np.float32)
    expected = [[row[max(0, at - 6) : at + 7].max() for at in range(31)] for row in values]
    assert np.maximum(_around(values, _steps([31])), -1) == pytest.approx(np.maximum(np.array(expected), -1))


def test_a_long_text_is_cut_into_blocks_of_sentences_that_hold_every_word():
    for sentence, limit in (
        ("A sentence about the number {}. ", BLOCK_CHARACTERS),
        ("这是第{}句话，说明一些事情。", BLOCK_HAN_CHARACTERS),
    ):
        text = analyse("".join(sentence.format(i) for i in range(120)))
        found = blocks(text)
        assert len(found) > 1
        assert all(end - start <= limit for start, end in found)
        inside = sum(text.words_between(start, end).stop - text.words_between(start, end).start for start, end in found)
        assert inside == len(text.ids)


def test_a_sentence_longer_than_a_block_is_cut():
    text = analyse("word" * 2000)
    assert all(end - start <= BLOCK_CHARACTERS for start, end in blocks(text))


def test_vectors_of_a_long_text_cover_all_words():
    text = " ".join(f"Sentence {i} is about topic {i}." for i in range(150))
    vectors = VectorStore(helper.WordEncoder(), tokens=True).get([text], "passage")[text]
    assert (np.linalg.norm(vectors.words, axis=1) > 0.99).all()


def test_each_text_is_encoded_once():
    encoder = helper.WordEncoder()
    store = VectorStore(encoder, tokens=True)
    store.get(["one text", "another", "one text"], "passage")
    store.get(["another", "one text"], "passage")
    assert sorted(encoder.texts) == ["another", "one text"]


def test_sentence_vectors_are_means():
    text = analyse("One two. Three four five.")
    words = np.random.default_rng(0).normal(size=(len(text.ids), 8)).astype(np.float32)
    found = sentence_vectors(text.sentence, len(text.bounds), words)
    expected = words[2:].sum(axis=0)
    assert found[1] == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)


def test_nothing_to_align():
    grid, found, spans = aligned("...", "Some text.")
    assert alignment_features(grid, found, spans).shape == (1, 1, len(ALIGNMENT))
    grid, found, _ = aligned("A claim.", "。。。")
    assert found.plain.shape == (grid.rows[0].stop, 1)
