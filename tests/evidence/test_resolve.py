"""From names to judges; agreement of sampled answers; one scale of answer similarity; who wrote the answers."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pytest_httpserver import HTTPServer

import workbench as wb
from tests.evidence.llm.scripted import KEY, Model, failure, sample
from tests.scripted import sample_set
from workbench.data.schema import Context, Sample
from workbench.errors import InputError, JudgeError
from workbench.evidence.cache import Cache
from workbench.evidence.consistency import ngram_consistency, sampled_consistencies
from workbench.evidence.encoders.small import NgramEncoder
from workbench.evidence.llm import LLMJudge
from workbench.evidence.llm.cascade import CascadeJudge
from workbench.evidence.llm.rubric import presets
from workbench.evidence.nli import NliJudge
from workbench.evidence.offline.judge import OfflineJudge
from workbench.evidence.offline.models import AnswerSimilarity
from workbench.evidence.resolve import generator_of, resolve_judge, spent_so_far, tell_generator
from workbench.language import text


@pytest.fixture
def service(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Model:
    """A scripted model that the environment points to."""
    model = Model()
    httpserver.expect_request("/v1/chat/completions", method="POST").respond_with_handler(model)
    monkeypatch.setenv("OPENAI_BASE_URL", httpserver.url_for("/v1"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return model


# ---------------------------------------------------------------- names


def test_names_give_judges(service: Model, tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    assert resolve_judge(None) is None and resolve_judge("none") is None
    assert isinstance(resolve_judge("offline", encoder="none"), OfflineJudge)
    model = resolve_judge("llm:m", encoder="ngram", cache=cache, options={"questions": 1}, workers=2, generator="g")
    assert isinstance(model, LLMJudge) and isinstance(model.encoder, NgramEncoder) and model.cache is cache
    assert (model.settings.questions, model.settings.workers, model.settings.generator) == (1, 2, "g")
    both = resolve_judge("offline+llm:m", encoder="none", cache=cache, options={"share": 0.2, "doubt": 0.1})
    assert isinstance(both, CascadeJudge) and (both.share, both.doubt) == (0.2, 0.1)
    assert both.offline.encoder is None and isinstance(both.llm.encoder, NgramEncoder)
    assert resolve_judge(both) is both


def test_the_encoder_of_the_evaluation_is_the_models(tmp_path: Path) -> None:
    class Own:
        name, dimension = "own", 2

        def encode(self, texts: list[str], kind: str = "passage") -> np.ndarray:
            return np.tile(np.array([[1.0, 0.0]], dtype=np.float32), (len(texts), 1))

    own: Any = Own()
    judge = resolve_judge("llm:m", encoder=own, cache=Cache(tmp_path))
    assert judge.encoder is own and "encoder=own" in judge.name
    for nothing in (None, "none", "auto"):
        assert isinstance(resolve_judge("llm:m", encoder=nothing, cache=Cache(tmp_path)).encoder, NgramEncoder)
    named = resolve_judge("llm:m", encoder=own, cache=Cache(tmp_path), options={"encoder": "ngram"})
    assert isinstance(named.encoder, NgramEncoder), "an option wins"


def test_a_local_cross_encoder_takes_the_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    cross = SimpleNamespace(name="cross", fingerprint="f")
    monkeypatch.setattr("workbench.evidence.nli.CrossModel", lambda model, labels: seen.append((model, labels)) or cross)
    judge = resolve_judge("nli:folder/model", encoder="none")
    assert isinstance(judge, NliJudge) and seen == [("folder/model", None)]
    assert judge.encoder is None and judge.name.startswith("nli-cross#f/")


@pytest.mark.parametrize(
    ("judge", "options", "says"),
    [
        ("oracle", None, "oracle"),
        ("llm:", None, "llm:MODEL"),
        ("offline+llm: ", None, "llm:MODEL"),
        ("llm:m", {"wrokers": 3}, "wrokers"),
        ("offline+llm:m", {"share": 2.0}, "share"),
        ("llm:m", "absent.toml", "absent.toml"),
        (object(), None, "needs a name"),
    ],
)
def test_what_is_wrong_is_named(judge: Any, options: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        resolve_judge(judge, options=options, encoder="none")


def test_an_address_without_a_scheme_and_a_missing_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "user:pass@host/v1")
    with pytest.raises(InputError, match="OPENAI_BASE_URL") as raised:
        resolve_judge("llm:m")
    assert "pass@" not in str(raised.value)
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    asked: list[str] = []
    offline = SimpleNamespace(name="o", method="o", examine=lambda samples: asked.append("offline"))
    for judge in (LLMJudge("m", cache=False), CascadeJudge(offline, LLMJudge("m", cache=False))):
        with pytest.raises(JudgeError, match="OPENAI_API_KEY"):
            list(judge.examine([sample()]))
    assert asked == [], "nothing is done before what is missing is said"


def test_without_the_package_the_remedy_is_said(service: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(JudgeError, match=r"pip install 'workbench\[llm\]'"):
        list(resolve_judge("llm:m", encoder="none").examine([sample()]))


# ---------------------------------------------------------------- sampled answers


def test_word_pairs_worked_by_hand() -> None:
    # "plan a keeps logs": pairs plan-a, a-keeps, keeps-logs; the other answer has plan-a and a-keeps.
    assert ngram_consistency("Plan A keeps logs.", ["plan A keeps nothing"]) == pytest.approx(2 / 3)
    # A sentence of one word counts the word: in one of two answers.
    assert ngram_consistency("Yes.", ["Yes, it does.", "No."]) == 0.5
    assert ngram_consistency("上限为 2GB。", ["上限为 2GB。"]) == 1.0
    assert math.isnan(ngram_consistency("。", ["x"])) and math.isnan(ngram_consistency("x", ["…"]))


def several(**changes: Any) -> Sample:
    others = ("上限为 2GB。", "上限为 2GB。保留 30 天。", "不清楚。")
    return sample(answer="上限为 2GB。保留 30 天。", sampled_answers=others, **changes)


def test_without_a_judge_words_are_compared_and_with_the_offline_one_support() -> None:
    items = [several(), sample(2), sample(3, answer=None, sampled_answers=("x",))]
    words = sampled_consistencies(items, None)
    assert list(words) == ["s1"] and words["s1"].method == "ngram"
    assert words["s1"].score == ngram_consistency("上限为 2GB。保留 30 天。", several().sampled_answers)
    judged = sampled_consistencies(items, OfflineJudge("none"))
    assert list(judged) == ["s1"] and judged["s1"].method == "support:offline-lexical"
    same = sampled_consistencies([sample(answer="上限为 2GB。", sampled_answers=("上限为 2GB。",))], OfflineJudge("none"))
    other = sampled_consistencies([sample(answer="上限为 2GB。", sampled_answers=("上限为 5GB。",))], OfflineJudge("none"))
    assert same["s1"].score > judged["s1"].score > other["s1"].score >= 0


def rows() -> list[dict[str, Any]]:
    item = several()
    return [
        {"sample_id": "a", "question": item.question, "answer": item.answer, "reference": item.reference,
         "contexts": [{"text": c.text} for c in item.contexts or ()], "sampled_answers": list(item.sampled_answers)},
        {"sample_id": "b", "question": item.question, "answer": item.answer, "contexts": []},
        {"sample_id": "c", "question": item.question, "answer": None, "contexts": [], "sampled_answers": ["x"]},
    ]  # fmt: skip


def test_the_model_is_asked_about_sampled_answers_only_by_name(service: Model, tmp_path: Path) -> None:
    options: dict[str, Any] = {"judge": "llm:m", "encoder": "none", "cache_dir": tmp_path, "progress": False}
    default = wb.evaluate(sample_set(rows()), **options)
    assert not any(asked.name == "part" for asked in service.requests)
    assert default.evidence.samples.loc["a", "text_sampled_consistency_method"] == "ngram"
    before = len(service.requests)
    named = wb.evaluate(sample_set(rows()), metrics=["sampled_consistency"], **options)
    assert [asked.name for asked in service.requests[before:]] == ["part"]
    # Sentence 1 stands in two of three other answers, sentence 2 in one of three.
    assert named.scores()["sampled_consistency"].tolist() == pytest.approx([0.5, math.nan, math.nan], nan_ok=True)
    assert named.states()["sampled_consistency"].tolist() == ["ok", "not_applicable", "undefined"]
    assert named.manifest["spending"]["calls"] == 1
    again = wb.evaluate(sample_set(rows()), metrics=["sampled_consistency"], **options)
    assert len(service.requests) == before + 1 and again.manifest["spending"]["calls"] == 0
    assert again.scores().equals(named.scores())


def test_a_model_that_fails_on_sampled_answers_gives_an_error_and_no_number(service: Model, tmp_path: Path) -> None:
    service.fault = lambda asked: "no JSON" if asked.name == "part" else None
    found = wb.evaluate(sample_set(rows()), judge="llm:m", encoder="none", cache_dir=tmp_path, progress=False,
                        metrics=["sampled_consistency", "faithfulness"])  # fmt: skip
    assert found.states().loc["a"].tolist() == ["judge_error", "ok"]
    assert found.errors()["sample_id"].tolist() == ["a"] and "not_json" in found.errors()["reason"].iloc[0]


# ---------------------------------------------------------------- similarity, generator, exports


def test_the_models_answer_similarity_is_the_offline_judges(service: Model, tmp_path: Path) -> None:
    item = sample(2)
    (model,) = resolve_judge("llm:m", encoder="ngram", cache=Cache(tmp_path)).examine([item])
    (offline,) = OfflineJudge("ngram").examine([item])
    assert 0 < model.answer_similarity <= 1
    assert model.answer_similarity == pytest.approx(offline.answer_similarity, abs=1e-6)
    assert "similarity" not in model.missing
    (alone,) = resolve_judge("llm:m", encoder="ngram", cache=Cache(tmp_path)).examine([sample(4, reference=None)])
    assert math.isnan(alone.answer_similarity) and alone.missing["similarity"][0] == "skipped"


def test_percentiles_of_known_cosines() -> None:
    scale = AnswerSimilarity(None, np.array([0.0, 0.5, 1.0]))
    assert [scale.of(c) for c in (-1.0, 0.25, 0.5, 2.0)] == [0.0, 0.25, 0.5, 1.0]
    assert AnswerSimilarity(None).of(0.3) == pytest.approx(0.3)


def test_who_wrote_the_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")  # a judge that cannot ask says nothing else

    def written(*usages: Any, source: str = "") -> Any:
        found = sample_set([{"sample_id": str(i), "question": "q", "usage": usage} for i, usage in enumerate(usages)])
        return type(found)(**{**vars(found), "source": source}) if source else found

    assert generator_of(written({"model": "a"}, {"model": "b"}, {"model": "b"}, None, {"total_tokens": 3})) == "b"
    run = tmp_path / "run.jsonl"
    (tmp_path / "run.manifest.json").write_text(json.dumps({"config": {"top_k": 5, "model": "qwen-max"}}))
    assert generator_of(written(None, source=str(run))) == "qwen-max"
    assert generator_of(written(None, source=str(tmp_path / "other.jsonl"))) is None
    judge = LLMJudge("Qwen3-32B", cache=False)
    told = text("llm.warning.family", judge="Qwen3-32B", generator="qwen-max")
    assert judge.warnings == [] and tell_generator(judge, "qwen-max") == [told]
    assert tell_generator(LLMJudge("Qwen3", generator="gpt-x", cache=False), "qwen-max") == [], "the option wins"
    assert tell_generator(OfflineJudge("none"), "qwen-max") == []


def test_cost_so_far() -> None:
    judge = LLMJudge("gpt-4.1-mini", cache=False)
    judge.spending.completed(1_000_000, 0)
    assert spent_so_far(judge) == f", 1 calls, ${judge.price.input:.4f}"
    assert spent_so_far(LLMJudge("m", cache=False)) == ", 0 calls, price unknown" and spent_so_far(None) == ""


def test_rating_by_name_and_with_a_set(service: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path))
    frame = wb.rate("llm:m", sample_set(rows()), "faithfulness")
    assert frame["score"].tolist() == pytest.approx([0.75, 0.75, math.nan], nan_ok=True)
    assert list(presets()) == ["faithfulness", "relevance", "completeness"]
    for name in ("with_ragas", "recorded_judgements", "rate"):
        assert callable(getattr(wb, name))


def test_a_bad_key_stops_the_cascade_with_the_remedy(service: Model, tmp_path: Path) -> None:
    service.fault = lambda asked: failure(401, "bad key")
    contexts = (Context("别的内容。"),)
    judge = resolve_judge("offline+llm:m", encoder="none", cache=Cache(tmp_path), options={"share": 1.0, "doubt": 0.0})
    with pytest.raises(JudgeError, match="OPENAI_API_KEY"):
        list(judge.examine([sample(n, contexts=contexts) for n in range(5)]))
