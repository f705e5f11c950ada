"""Long contexts: only what can matter is encoded, and it is found wherever it stands."""

from __future__ import annotations

import numpy as np
import pytest

from tests.evidence import word_encoder as helper
from workbench.data.schema import Context, Sample
from workbench.evidence.cache import Cache
from workbench.evidence.encoders.resolve import load_cached
from workbench.evidence.offline.examination import Examination
from workbench.evidence.offline.excerpts import LONG, excerpt
from workbench.evidence.offline.grid import claim_words
from workbench.evidence.offline.judge import OfflineJudge
from workbench.evidence.offline.models import load_coefficients
from workbench.evidence.offline.vectors import VectorStore
from workbench.evidence.offline.words import analyse

FILLER = {
    "en": "Chapter {} tells of harbours, mills and the people who worked there. It names ships. Others follow. ",
    "zh": "第{}章讲述港口、磨坊和在那里工作的人。其中列出了船只的名称。其余的随后再说。",
}
FACT = {"en": "The pump has a warranty of two years. ", "zh": "这台水泵的保修期为两年。"}
ASKED = {"en": ("How long is the warranty?", "The pump has a warranty of two years."),
         "zh": ("保修期多长？", "这台水泵的保修期为两年。")}  # fmt: skip


def page(language: str, n: int, at: int) -> str:
    parts = [FILLER[language].format(i) for i in range(n)]
    return "".join([*parts[:at], FACT[language], *parts[at:]])


def judged(sample: Sample, encoder: object) -> object:
    (found,) = OfflineJudge(encoder).examine([sample])
    return found


def test_a_short_text_is_read_as_a_whole() -> None:
    claim = analyse(ASKED["en"][1])
    rows = [claim_words(claim, 0, len(claim.text))]
    assert excerpt(analyse("x" * (LONG - 1)), rows) is None
    assert excerpt(analyse(page("en", 60, 3)), rows) is not None


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("at", [0, 77, 149])
def test_the_fact_is_found_wherever_it_stands_for_a_fifth_of_the_cost(language: str, at: int) -> None:
    text, encoder = page(language, 150, at), helper.WordEncoder()
    question, answer = ASKED[language]
    found = judged(Sample("s", question, answer, (Context(text),)), encoder)
    assert found.entail[0, 0] >= 0.8
    start, end = found.spans[0, 0]
    assert text[start:end].strip() == FACT[language].strip()
    assert found.n_sentences[0] == len(analyse(text).bounds)
    in_parts = [piece for piece in encoder.texts if piece != text]
    assert sum(map(len, in_parts)) - len(question) - len(answer) <= len(text) / 5


@pytest.mark.parametrize(("reference", "share"), [("1,500", 0.2), ("两年", 0.2), ("a warranty of two years", 1.0)])
def test_only_words_that_cannot_be_compared_have_a_text_of_another_script_read_evenly(reference: str, share: float) -> None:
    """A bare number is the same in every script: a Chinese page is read for it as for Chinese words."""
    text = analyse(page("zh", 150, 77))
    rows = [claim_words(found, 0, len(found.text)) for found in map(analyse, (*ASKED["zh"], reference))]
    read = excerpt(text, rows)
    assert read is not None
    assert (sum(map(len, read.strings)) <= share * len(text.text)) is True
    assert any(FACT["zh"][:8] in piece for piece in read.strings)
    if share == 1.0:
        assert sum(map(len, read.strings)) > 0.2 * len(text.text)


def test_a_number_in_another_notation_and_a_contradiction_are_read_too() -> None:
    text = page("en", 80, 40).replace("two years", "1,500 days")
    for number, supported in ((1500, True), (900, False)):
        sample = Sample("s", ASKED["en"][0], f"The pump has a warranty of {number} days.", (Context(text),))
        found = judged(sample, helper.WordEncoder())
        assert bool(found.entail[0, 0] >= 0.5) is supported
        assert bool(found.contradict[0, 0] >= 0.5) is not supported


def test_samples_that_share_a_text_share_its_pieces() -> None:
    text, encoder = page("en", 150, 77), helper.WordEncoder()
    samples = [
        Sample(str(i), ASKED["en"][0], f"{ASKED['en'][1]} It was sold {i} times.", (Context(text),)) for i in range(4)
    ]
    list(OfflineJudge(encoder).examine(samples))
    assert len(encoder.texts) == len(set(encoder.texts))


@pytest.mark.parametrize("at", [0, 149])
def test_a_long_context_is_as_similar_as_a_retriever_finds_it(at: int) -> None:
    """One vector of the text as it is, of its beginning where the window ends; not one of what is read of it."""
    text, encoder = page("en", 150, at), helper.WordEncoder()
    question, answer = ASKED["en"]
    found = judged(Sample("s", question, answer, (Context(text), Context("It opens at nine."), Context(text))), encoder)
    asked, told = encoder.encode([question], "query")[0], encoder.encode([text], "passage")[0]
    assert found.similarity[[0, 2]] == pytest.approx([float(asked @ told)] * 2, abs=1e-5)


def test_the_vector_of_a_long_context_is_that_of_ranks_in_a_corpus(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path))
    encoder, text = helper.WordEncoder(), page("en", 150, 77)
    encoder.fingerprint = "a"
    load_cached(encoder).encode([text], "passage")
    encoder.texts.clear()
    judged(Sample("s", *ASKED["en"], (Context(text),)), encoder)
    assert text not in encoder.texts


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_read_says_what_reading_everything_says(language: str) -> None:
    """The vectors of the whole text and those of its pieces give the same where each word has one vector."""
    question, answer = ASKED[language]
    sample = Sample("s", question, answer, (Context(page(language, 60, 20)),))
    store = VectorStore(helper.WordEncoder(), tokens=True)
    coefficients = load_coefficients(helper.WordEncoder().name)
    whole, queries = store.get([sample.contexts[0].text, answer], "passage"), store.get([question], "query")
    every = Examination(sample, coefficients, whole, queries)
    some = Examination(sample, coefficients, store.get([answer], "passage"), queries)
    pieces = store.get([piece for one in some.excerpts if one for piece in one.strings], "passage")
    some.read_pieces(pieces, store.as_retrieved(some.long_contexts))
    assert np.allclose(every.by_text[0], some.by_text[0], atol=1e-5)


class Windowed(helper.WordEncoder):
    """Sees so many pieces of a text, as a model with a window does."""

    window = 512

    def _tokens(self, text):
        return tuple(found[: self.window] for found in super()._tokens(text))


@pytest.mark.parametrize("text", [page("en", 60, 3), page("zh", 40, 3), "a b. " * 330, "a " * 900])
def test_what_a_window_holds_is_encoded_once_and_the_rest_beside_it(text: str) -> None:
    """One pass gives the vector of a text as a retriever has it and those of its words; no word is without one."""
    seen, every = Windowed(), helper.WordEncoder()
    found, whole = (VectorStore(encoder, tokens=True).get([text], "passage")[text] for encoder in (seen, every))
    assert every.texts == [text] and seen.texts[0] == text
    assert sum(map(len, seen.texts[1:])) < len(text)
    np.testing.assert_allclose(found.text, seen.encode([text])[0], atol=1e-6)
    np.testing.assert_allclose(found.words, whole.words, atol=1e-6)


def test_word_vectors_are_kept_for_the_next_run(tmp_path) -> None:
    first, second = helper.WordEncoder(), helper.WordEncoder()
    first.fingerprint = second.fingerprint = "a"
    texts = ["The pump has a warranty.", "这台水泵的保修期为两年。", "broken \ud83d half"]
    made = VectorStore(first, tokens=True, cache=Cache(tmp_path)).get(texts, "passage")
    read = VectorStore(second, tokens=True, cache=Cache(tmp_path)).get(texts, "passage")
    assert second.texts == [] and all((made[text].words == read[text].words).all() for text in texts)
    other = helper.WordEncoder()
    other.fingerprint = "b"
    VectorStore(other, tokens=True, cache=Cache(tmp_path)).get(texts, "passage")
    assert sorted(other.texts) == sorted(texts)
