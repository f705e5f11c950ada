"""Claim and text read together: what is read, what comes out, and that it helps on sentences nobody trained on."""

from __future__ import annotations

import json
import random
from importlib import resources
from itertools import islice

import numpy as np
import pytest

import workbench as wb
from tests.evidence.word_encoder import WordEncoder
from workbench.diagnosis.statistics import auroc
from workbench.evidence.encoders.resolve import resolve_encoder
from workbench.evidence.offline import reader as reading_model
from workbench.evidence.offline.reader import Pair, fitting, load_reader
from workbench.evidence.offline.reading import FEATURES, both, joined, version
from workbench.training import joining, reading


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
    mine = (row for row in reading.families(code) if row.source[:4] in ("near", "free") and row.apart)
    return list(islice(mine, 480))[::3]


@pytest.mark.parametrize("code", ["en", "zh"])
def test_sentences_of_others_are_told_apart_in_both_languages(reader, code):
    rows = held_out(code)
    read = reader.read([row.pair for row in rows])
    borne_out = np.array([row.label == reading.BORNE_OUT for row in rows])
    assert len(rows) == 160 and auroc(borne_out, read[:, 0].astype(float)) > 0.75


class TestJoined:
    """What the reader says counts where it is sure, and only of what words and numbers leave open."""

    CONTEXT = "Staff may take the shuttle home after nine in the evening. Parking is paid by the visitor."
    OPEN = "People who work late get a lift."

    @pytest.fixture()
    def says(self, monkeypatch):
        """Let the reader say the same of everything; what it was asked is in the list."""
        asked = []

        def use(borne_out, left_open, denied, answers=0.5, same=0.5):
            def read(self, pairs):
                asked.extend(pairs)
                return np.array([[borne_out, left_open, denied, answers, same]] * len(pairs), dtype=np.float32).reshape(-1, 5)

            monkeypatch.setattr(reading_model.Reader, "read", read)
            return asked

        return use

    def claim(self, answer, context=CONTEXT, tmp_path=None, question="How do people get home at night?"):
        sample = {"question": question, "answer": answer, "contexts": [context]}
        claims = wb.evaluate([sample], progress=False, cache_dir=tmp_path).claims()
        return claims[claims["side"] == "answer"].iloc[0]

    @pytest.mark.parametrize(
        ("read", "verdict"),
        [
            ((0.9, 0.05, 0.05), {"supported"}),
            ((0.02, 0.03, 0.95), {"contradicted"}),
            ((0.1, 0.8, 0.1), {"unsure", "not_mentioned"}),
        ],
    )
    def test_where_it_is_sure_it_decides(self, says, tmp_path, read, verdict):
        says(*read)
        assert self.claim(self.OPEN, tmp_path=tmp_path)["verdict"] in verdict

    def test_the_surer_it_is_the_better_a_claim_is_supported(self, says, tmp_path):
        supports = []
        for borne_out in (0.02, 0.3, 0.7, 0.98):
            says(borne_out, (1 - borne_out) / 2, (1 - borne_out) / 2)
            supports.append(self.claim(self.OPEN, tmp_path=tmp_path / str(borne_out))["support"])
        assert supports == sorted(supports) and supports[-1] - supports[0] > 0.4

    @pytest.mark.parametrize(("borne_out", "verdict"), [(0.75, "not_mentioned"), (0.97, "unsure")])
    def test_a_number_that_no_text_tells_is_unsure_at_most(self, says, tmp_path, borne_out, verdict):
        says(borne_out, (1 - borne_out) / 2, (1 - borne_out) / 2)
        assert self.claim("A further 58 sites joined in 2031.", tmp_path=tmp_path)["verdict"] == verdict

    def test_of_an_answer_with_several_claims_the_whole_is_read_as_well(self, says, tmp_path):
        asked = says(0.5, 0.3, 0.2)
        self.claim(f"{self.OPEN} Nobody has to walk.", tmp_path=tmp_path)
        assert {pair.claim for pair in asked} == {self.OPEN, "Nobody has to walk.", f"{self.OPEN} Nobody has to walk."}

    @pytest.mark.parametrize(
        ("answer", "context"),
        [
            ("Staff may take the shuttle home after nine in the evening.", CONTEXT),
            ("班车在晚上九点以后送员工回家。", CONTEXT),
            ("The shuttle leaves at 8 pm.", "The shuttle leaves at 9 pm."),
        ],
        ids=["said already", "another script", "a sign against it"],
    )
    def test_what_need_not_be_read_is_not(self, says, tmp_path, answer, context):
        asked = says(0.3, 0.3, 0.4)
        self.claim(answer, context, tmp_path)
        assert [pair for pair in asked if pair.claim == answer] == []

    def test_an_answer_that_says_what_its_reference_says_makes_its_point(self, says, tmp_path):
        sample = {
            "question": "How do people get home at night?", "answer": "They are driven.", "contexts": [self.CONTEXT],
            "reference": "After nine in the evening staff members may take the company shuttle home.",
        }  # fmt: skip
        right = []
        for name, same in (("low", 0.05), ("high", 0.97)):
            says(0.3, 0.4, 0.3, same=same)
            scores = wb.evaluate([sample], progress=False, cache_dir=tmp_path / name).scores()
            right.append(float(scores["end_to_end_correct"].iloc[0]))
        assert right == [0.0, 1.0]


def test_the_judge_names_the_reader_that_it_used():
    samples = [{"question": "Are gift cards refunded?", "answer": "No.", "contexts": ["Gift cards are not refunded."]}]
    result = wb.evaluate(samples, progress=False)
    assert version() in result.manifest["judge"] and version().startswith(reading_model.version())


class TestTogether:
    """How the words of a claim and the reader count together."""

    def test_the_weights_are_for_what_is_computed(self):
        assert set(joined().names) == set(FEATURES)

    def test_of_claim_and_answer_the_geometric_mean_is_taken(self):
        alone, within = np.array([0.8, 0.1, 0.1, 0.3, 0.2]), np.array([0.2, 0.4, 0.4, 0.9, 0.6])
        # √(.8 · .2) = .4, √(.1 · .4) = .2 twice
        np.testing.assert_allclose(both(alone, within), [0.5, 0.25, 0.25, 0.9, 0.6])

    def test_what_tells_has_the_weight(self):
        """Where the reader alone is right its weight grows; what is held out is not looked at."""
        chance = random.Random(1)
        cases, features = [], []
        for at in range(400):
            supported, held_out = chance.random() < 0.5, at % 4 == 0
            row = [chance.gauss(0, 1) for _ in FEATURES]
            row[1] = 2.0 if supported != held_out else -2.0
            cases.append(joining.Case(joining._sample("", ["a"], "b"), supported, "one", held_out))
            features.append((np.array([row]), np.array([0.5])))
        model = joining.fit(cases, features)
        weights = dict(zip(model.names, (model.weight / model.scale).tolist(), strict=True))
        assert weights["read"] > 1.0 and all(abs(weights[name]) < 0.3 for name in FEATURES if name != "read")
        # What is held out is turned round: all of it is told wrong.
        assert "AUROC 0.0" in next(line.replace("AUROC 0.500 ", "AUROC ") for line in joining.report(cases, features, model))
