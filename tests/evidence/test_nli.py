"""Local cross-encoders as judges, on tiny random models that the test builds: labels, batches, windows, spans."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from workbench.data.schema import Context, Sample
from workbench.errors import JudgeError
from workbench.evidence.nli import CrossModel, NliJudge, label_places

WORDS = [
    "the",
    "tower",
    "is",
    "was",
    "built",
    "in",
    "paris",
    "berlin",
    "1889",
    "330",
    "metres",
    "tall",
    ".",
    "塔",
    "高",
    "米",
    "在",
    "巴",
    "黎",
]
SAMPLE = Sample(
    "s", "How tall is the tower?", "The tower is 330 metres tall. The tower was built in Paris.",
    (Context("The tower is 330 metres tall."), Context("The tower is in Berlin.")), "330 metres",
)  # fmt: skip


def saved(folder: Path, labels: list[str], *, tokens: bool = False) -> Path:
    """A random one-layer BERT with ``labels``, saved with its tokenizer."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import (
        BertConfig,
        BertForSequenceClassification,
        BertForTokenClassification,
        PreTrainedTokenizerFast,
    )

    torch.manual_seed(0)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS]
    tokenizer = Tokenizer(models.WordPiece({piece: at for at, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]")
    config = BertConfig(
        vocab_size=len(pieces), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=64, id2label=dict(enumerate(labels)), label2id={name: at for at, name in enumerate(labels)},
    )  # fmt: skip
    model = (BertForTokenClassification if tokens else BertForSequenceClassification)(config)
    # The last layer tells labels well apart, so that an exchange of labels cannot go unseen.
    model.classifier.weight.data *= 30
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


PAIRS = [("the tower is 330 metres tall .", "the tower is tall"), ("塔 在 巴 黎", "塔 高"), ("berlin", "paris 1889")]


@pytest.fixture(scope="module")
def nli(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("nli"), ["contradiction", "entailment", "neutral"])


def plain_probabilities(folder: Path, premise: str, hypothesis: str) -> np.ndarray:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForSequenceClassification.from_pretrained(folder)
    with torch.inference_mode():
        return torch.softmax(model(**tokenizer(premise, hypothesis, return_tensors="pt")).logits[0], -1).numpy()


def test_labels_are_read_from_the_model_and_batches_do_not_change_scores(nli):
    entail, contradict = CrossModel(nli).scores(PAIRS)
    for at, (premise, hypothesis) in enumerate(PAIRS):
        expected = plain_probabilities(nli, premise, hypothesis)
        assert entail[at] == pytest.approx(expected[1], abs=1e-5)
        assert contradict[at] == pytest.approx(expected[0], abs=1e-5)


def test_labels_in_another_order(nli):
    first, second = CrossModel(nli), CrossModel(nli, labels=("entailment", "neutral", "contradiction"))
    swapped = second.scores(PAIRS)
    assert swapped[0] == pytest.approx(first.scores(PAIRS)[1], abs=1e-6)


@pytest.mark.parametrize(
    ("names", "kind", "places"),
    [
        (["contradiction", "entailment", "neutral"], "nli", (1, 0)),
        (["ENTAILMENT", "NEUTRAL", "CONTRADICTION"], "nli", (0, 2)),
        (["not_entailment", "entailment"], "nli", (1, -1)),
        (["consistent", "inconsistent"], "nli", (0, 1)),
        (["hallucinated", "consistent"], "nli", (1, 0)),
        (["supported", "hallucinated"], "tokens", (0, 1)),
        (["LABEL_0"], "score", (0, -1)),
    ],
)
def test_what_labels_mean(names, kind, places):
    assert label_places(names, kind, "m") == places


def test_labels_that_say_nothing_are_an_error_that_names_the_remedy():
    with pytest.raises(JudgeError, match="labels="):
        label_places(["LABEL_0", "LABEL_1", "LABEL_2"], "nli", "m")


def test_a_folder_that_is_no_model(tmp_path):
    with pytest.raises(JudgeError, match="cannot be loaded"):
        CrossModel(tmp_path)


def test_a_model_with_one_score(tmp_path):
    model = CrossModel(saved(tmp_path, ["consistency"]))
    entail, contradict = model.scores(PAIRS)
    assert model.kind == "score"
    assert ((entail > 0) & (entail < 1)).all()
    assert np.isnan(contradict).all()


def test_a_model_that_marks_tokens(tmp_path):
    model = CrossModel(saved(tmp_path, ["supported", "hallucinated"], tokens=True))
    entail, contradict = model.scores(PAIRS)
    assert model.kind == "tokens"
    assert ((entail >= 0) & (entail <= 1)).all()
    assert np.isnan(contradict).all()
    longer = model.scores([(PAIRS[0][0], "the tower is tall"), (PAIRS[0][0], "the tower")])[0]
    assert not math.isnan(longer.sum())


class Spy:
    """A model that supports what stands in the premise letter for letter and contradicts all else."""

    name, fingerprint = "spy", "1"

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []

    def scores(self, pairs):
        self.pairs += pairs
        found = np.array([hypothesis.rstrip(".") in premise for premise, hypothesis in pairs], dtype=np.float32)
        return found, 1.0 - found


def test_the_judge_asks_for_every_claim_and_context_and_keeps_the_rest():
    spy = Spy()
    judge = NliJudge(spy, encoder=None)
    (found,) = judge.examine([SAMPLE])
    assert judge.method == "nli-spy"
    assert judge.name.startswith("nli-spy#1/")
    assert found.entail[:2].tolist() == [[1.0, 0.0], [0.0, 0.0]]
    assert found.contradict[:2].tolist() == [[0.0, 1.0], [1.0, 1.0]]
    assert found.claims[2].side == "reference"
    assert found.entail[2, 0] >= 0.5  # a bare value is looked up, not asked
    assert found.relevance.shape == (2,)
    assert ("The tower is in Berlin.", "The tower was built in Paris.") in spy.pairs
    assert all(hypothesis != "330 metres" for _, hypothesis in spy.pairs)


def test_a_long_context_is_asked_window_by_window():
    spy = Spy()
    text = " ".join(f"Paragraph {at} is about the weather in some region of the world." for at in range(80))
    sample = Sample("l", "q", "The tower is tall.", (Context(f"{text} The tower is tall."),))
    (found,) = NliJudge(spy, encoder=None).examine([sample])
    assert found.entail[0, 0] == 1.0
    assert len(spy.pairs) > 3


def test_it_runs_with_a_real_model(nli):
    (found,) = NliJudge(nli, encoder=None).examine([SAMPLE])
    assert found.state == "ok"
    assert np.isfinite(found.entail).all()


def test_a_model_without_contradiction_leaves_it_to_the_narrow_signs():
    class OneScore(Spy):
        def scores(self, pairs):
            return super().scores(pairs)[0], np.full(len(pairs), np.nan, dtype=np.float32)

    sample = Sample("c", "q", "The tower is 320 metres tall.", (Context("The tower is 330 metres tall."),))
    (found,) = NliJudge(OneScore(), encoder=None).examine([sample])
    assert found.contradict[0, 0] >= 0.5
    assert found.entail[0, 0] == 0.0
