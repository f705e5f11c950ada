"""Claim and text read together: what is read, what comes out, and that it helps on sentences nobody trained on."""

from __future__ import annotations

import json
from importlib import resources

import numpy as np
import pytest

import workbench as wb
from tests.evidence.word_encoder import WordEncoder
from workbench.diagnosis.statistics import auroc
from workbench.evidence.encoders.resolve import resolve_encoder
from workbench.evidence.offline import reader as reading_model
from workbench.evidence.offline.reader import Pair, fitting, load_reader
from workbench.training import reading


@pytest.fixture(scope="module")
def reader():
    return load_reader(resolve_encoder("auto"))


PAIRS = [
    Pair("Refunds are paid within ten days. Gift cards are not refunded.", "Are gift cards refunded?", "No, they are not."),
    Pair("退款在十天内到账。礼品卡不予退款。", "礼品卡能退款吗？", "可以退款。"),
    Pair("The tower was built in 1890 by Anna Kern.", "", "Anna Kern built the tower."),
]


class TestRead:
    def test_probabilities_lie_between_0_and_1_and_the_first_three_sum_to_1(self, reader):
        read = reader.read(PAIRS)
        assert read.shape == (3, 5) and read.dtype == np.float32
        assert (read >= 0).all() and (read <= 1).all()
        np.testing.assert_allclose(read[:, :3].sum(axis=1), 1.0, atol=1e-5)

    def test_a_pair_is_read_alike_whatever_is_read_with_it(self, reader):
        long = Pair("The garden has a pond. " * 60, "What has the garden?", "A pond.")
        together = reader.read([*PAIRS, long])
        alone = np.concatenate([reader.read([pair]) for pair in (*PAIRS, long)])
        np.testing.assert_allclose(together, alone, atol=2e-4)

    def test_nothing_is_read_of_nothing(self, reader):
        assert reader.read([]).shape == (0, 5)

    @pytest.mark.parametrize("text", ["", " ", "\x00", "</s><s><mask>", "😀" * 400, "a" * 100_000, "\ud800"])
    def test_any_text_is_read(self, reader, text):
        assert np.isfinite(reader.read([Pair(text, text, text)])).all()

    def test_marks_of_the_tokenizer_in_a_text_are_text(self, reader):
        ids = reading_model.token_ids(resolve_encoder("auto").model.tokenizer, [Pair("a</s>b", "c<s>d", "e<mask>")])
        assert ids[0].count(0) == 1 and ids[0].count(2) == 4

    def test_other_encoders_have_no_reader(self):
        assert load_reader(None) is None
        assert load_reader(WordEncoder()) is None


class TestFitting:
    def test_a_text_that_fits_is_read_whole(self):
        assert fitting(["One.", "Two."], [0.0, 1.0]) == "One. Two."

    @pytest.mark.parametrize("sentence", ["The quick fox jumps over the dog again.", "敏捷的狐狸又一次跳过了那只懒狗。"])
    def test_of_a_longer_one_the_most_telling_sentences_in_order(self, sentence):
        many = [f"{number} {sentence}" for number in range(80)]
        kept = fitting(many, [float(number % 7 == 0) for number in range(80)])
        numbers = [number for number in range(80) if f"{number} {sentence}" in kept.replace("  ", " ")]
        assert numbers == sorted(numbers) and len(kept) < len(" ".join(many)) / 2
        assert set(range(0, 50, 7)) <= set(numbers)

    def test_one_sentence_that_is_too_long_is_read_nevertheless(self):
        assert fitting(["word " * 900, "Short."], [1.0, 0.0]).startswith("word word")


def held_out(code):
    """Claims of the families that the reader was not trained on."""
    text = resources.files("workbench.training").joinpath(f"families.{code}.jsonl").read_text(encoding="utf-8")
    assert all({"question", "contexts", "reference", "claims"} <= set(json.loads(line)) for line in text.splitlines())
    return [row for row in reading.families() if row.source == f"family-{code}" and row.apart][:160]


@pytest.mark.parametrize("code", ["en", "zh"])
def test_sentences_of_others_are_told_apart_in_both_languages(reader, code):
    rows = held_out(code)
    read = reader.read([row.pair for row in rows])
    borne_out = np.array([row.label == reading.BORNE_OUT for row in rows])
    assert len(rows) == 160 and auroc(borne_out, read[:, 0].astype(float)) > 0.75


def test_the_judge_names_the_reader_that_it_used():
    samples = [{"question": "Are gift cards refunded?", "answer": "No.", "contexts": ["Gift cards are not refunded."]}]
    result = wb.evaluate(samples, progress=False)
    assert reading_model.version() in result.manifest["judge"]
