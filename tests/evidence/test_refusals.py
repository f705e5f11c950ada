"""Refusals by words and vectors: the arithmetic by hand, where the vectors come from, and the fit."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.evidence import word_encoder as helper
from workbench.data.schema import Sample
from workbench.data.text.refusals import Clause, clause, cut_clauses, refusal, with_log_odds
from workbench.data.text.words import Span
from workbench.evidence.offline.judge import OfflineJudge
from workbench.evidence.offline.models import RefusalModel, clause_vectors, load_refusal_model
from workbench.evidence.offline.vectors import TextVectors, VectorStore
from workbench.evidence.offline.words import analyse
from workbench.training import refusals_vectors as refusals_train
from workbench.training.refusals import parse

FIT_REST = {"intercept": 0.0, "weights": dict.fromkeys([f"v{i}" for i in range(12)], 0.0)}
WHOLE = {"intercept": 0.0, "weights": {"weaker": 1.0, "refuses": 0.0}}


def model_of(weights: list[list[float]], intercept=(0.0, 0.0)) -> RefusalModel:
    """A model of two-dimensional vectors that says the same in both languages."""
    table = {"clause": {"intercept": list(intercept), "weights": weights}, "rest": FIT_REST, "whole": WHOLE}
    return RefusalModel(2, "t", {"en": table, "zh": table})


def test_further_evidence_is_added_as_log_odds():
    c = with_log_odds(Clause(0.2, 0.3, 0.5), np.log(5), 0.0)
    assert (c.refuses, c.fills, c.states) == pytest.approx((1 / 1.8, 0.3 / 1.8, 0.5 / 1.8))
    assert with_log_odds(Clause(0.2, 0.3, 0.5), 0.0, 0.0) == Clause(0.2, 0.3, 0.5)
    assert with_log_odds(Clause(0.0, 0.0, 1.0), 900.0, 0.0) == Clause(0.0, 0.0, 1.0)
    assert with_log_odds(Clause(1.0, 0.0, 0.0), -900.0, 900.0).refuses == pytest.approx(1.0)


@pytest.mark.parametrize("text", ["Red car; blue sea", "红车，蓝海"])
def test_a_clause_has_the_mean_of_its_words_and_the_answer(text):
    cut = cut_clauses(text)
    words = np.tile(np.array([[3.0, 4.0]], dtype=np.float32), (len(analyse(text).starts), 1))
    half = analyse(text).words_between(cut[1][0].start, len(text))
    words[half] = [0.0, 2.0]
    rows = clause_vectors(text, cut, TextVectors(np.array([1.0, 0.0], dtype=np.float32), words))
    assert rows == pytest.approx(np.array([[0.6, 0.8, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0]]))


def test_a_clause_without_words_has_zeros():
    rows = clause_vectors("x", [(Span(0, 0, ""), 0)], TextVectors(np.ones(2), np.ones((1, 2))))
    assert rows.tolist() == [[0.0, 0.0, 1.0, 1.0]]


def test_vectors_of_no_weight_change_no_clause():
    text = "I could not find the price. It is 5 euros."
    cut = cut_clauses(text)
    judged = model_of([[0.0] * 4] * 2).clauses(cut, np.ones((len(cut), 4)))
    for (span, _), c in zip(cut, judged, strict=True):
        assert c.refuses == pytest.approx(clause(span.text).refuses)


@pytest.mark.parametrize("text", ["It costs five euros.", "价格是五元。"])
def test_vectors_can_outweigh_the_words(text):
    vectors = TextVectors(np.array([1.0, 0.0]), np.ones((len(analyse(text).starts), 2)))
    assert refusal(text).probability < 0.5
    found = model_of([[0.0, 0.0, 25.0, 0.0], [0.0] * 4]).refusal(text, vectors)
    assert found.probability >= 0.5
    assert [text[span.start : span.end] for span in found.spans] == [text]
    assert found.refusing >= 0.5 > found.left


def test_phrases_of_the_user_count_with_vectors_too():
    text = "Computer says maybe."
    vectors = TextVectors(np.zeros(2), np.zeros((3, 2)))
    found = model_of([[0.0] * 4] * 2).refusal(text, vectors, ["computer says"])
    assert found.refusing == pytest.approx(1.0)


def test_texts_without_words():
    found = model_of([[0.0] * 4] * 2).refusal("…", TextVectors(np.zeros(2), np.zeros((0, 2))))
    assert (found.probability, found.refusing, found.left) == (0.0, 0.0, 0.0)


def test_only_vectors_of_the_encoder_are_read():
    model = model_of([[0.0] * 4] * 2)
    assert model.reads(TextVectors(np.zeros(2), np.zeros((1, 2))))
    assert not model.reads(TextVectors(np.zeros(2), None))
    assert not model.reads(TextVectors(np.zeros(3), np.zeros((1, 3))))


def test_models_are_those_of_the_embedded_encoder():
    model = load_refusal_model("multilingual-e5-small-q4")
    assert model is not None
    assert model.dimension == 384
    assert sorted(model.tables) == ["en", "zh"]
    assert all(np.shape(table["clause"]["weights"]) == (2, 768) for table in model.tables.values())
    assert load_refusal_model("another") is None
    assert load_refusal_model(None) is None


def test_an_encoder_of_that_name_with_other_vectors_is_judged_by_words():
    sample = Sample("d", "What does it cost?", "I could not find any information about that.", ())
    (found,) = OfflineJudge(helper.WordEncoder()).examine([sample])
    assert found.spans == pytest.approx(refusal(sample.answer).refusing)


REFUSALS = {
    "That stays between the two parties, so my lips are sealed.": "What was agreed?",
    "Whatever was agreed there has left no trace in these papers.": "What was agreed?",
    "这事儿翻遍了手头的东西也没个影子。": "双方谈成了什么？",
    "恕我无从知晓他们谈成了什么。": "双方谈成了什么？",
}
ANSWERS = {
    "Keep the lid sealed until the two parties have signed.": "When may the lid be opened?",
    "The parties agreed on 40 euros a month.": "What was agreed?",
    "全城只有这一家店卖这种茶。": "哪里能买到这种茶？",
    "双方谈成的价格是每月四十元。": "双方谈成了什么？",
}


@pytest.mark.xdist_group("encoders")
def test_the_judge_reads_refusals_with_the_embedded_encoder():
    judge = OfflineJudge("e5")
    asked = [*REFUSALS.items(), *ANSWERS.items()]
    samples = [Sample(str(at), question, text, ()) for at, (text, question) in enumerate(asked)]
    declines = [evidence.declines for evidence in judge.examine(samples)]
    assert min(declines[: len(REFUSALS)]) >= 0.5
    assert max(declines[len(REFUSALS) :]) < 0.5
    assert load_refusal_model("multilingual-e5-small-q4").version in judge.name


def test_no_text_is_encoded_for_refusals_alone():
    """The vectors of an answer's clauses are those of its words: the answer is encoded once, as a whole."""
    encoder = helper.WordEncoder()
    text = "I looked, but found nothing. Ask the office; they know."
    list(OfflineJudge(encoder).examine([Sample("d", "q", text, ())]))
    assert encoder.texts.count(text) == 1
    assert not [other for other in encoder.texts if other in text and other != text and len(other) > 1]


def test_the_fit_learns_what_the_vectors_tell():
    """Clauses that decline lie apart from those that state in vectors of words by spelling."""
    kinds = ("^Nothing on {}.", "§Costs {} much.", "~Ask them about {}.")
    lines = [kind.format(x) for kind in kinds for x in "abcdef"]
    answers = [parse(line, f"en-{at % 3}") for at, line in enumerate(lines)]
    store = VectorStore(helper.WordEncoder(), tokens=True)
    vectors = refusals_train.vectors_of(store, answers, ["Costs little."])
    head = refusals_train.fit_head(answers, vectors)
    level, weights = np.array(head["intercept"]), np.array(head["weights"])
    declining = [float((level + weights @ vectors.answers[a.text][0])[0]) for a in answers]
    assert min(declining[:6]) > max(declining[6:])
    assert head == refusals_train.fit_head(answers, vectors)


def test_the_file_is_json_with_a_line_for_each_row():
    text = refusals_train.written({"en": {"clause": {"weights": [[1.0, 2.0], [3.0, 4.0]]}}}, 1)
    assert "[1.0, 2.0]" in text
    assert json.loads(text)["languages"]["en"]["clause"]["weights"] == [[1.0, 2.0], [3.0, 4.0]]
    assert len(json.loads(text)["version"]) == 8
