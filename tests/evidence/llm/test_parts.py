"""The parts the judge is made of: pace, budget, places of claims, parts of claims, comparing questions."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import numpy as np
import pytest

from workbench.data.schema import Context, Sample
from workbench.errors import InputError
from workbench.evidence.encoders.small import NgramEncoder
from workbench.evidence.judge import ReverseQuestion, SampleEvidence
from workbench.evidence.llm import asking, client, judge, replies
from workbench.evidence.llm.budget import Budget, Price, Spending, estimate_tokens, price_of
from workbench.evidence.llm.client import Allowance, Pace
from workbench.evidence.llm.evidence import Places, QuestionComparer, Texts, kinds_of, locate, parts_of
from workbench.evidence.llm.judge import Outcomes, meaning
from workbench.evidence.llm.prompts import family, make_task


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


# ---------------------------------------------------------------- pace


def test_an_allowance_refills_evenly():
    clock = Clock()
    allowance = Allowance(60, clock)
    allowance.take(10)
    assert allowance.wait(1) == pytest.approx(1.0)
    clock.now += 2.5
    assert allowance.wait(1) == 0 and allowance.wait(4) == pytest.approx(1.5)
    clock.now += 100
    # More than the bucket holds may be taken once it is full; the debt is then waited for.
    assert allowance.wait(1000) == 0
    allowance.take(30)
    assert allowance.wait(1) == pytest.approx(21.0)
    assert Allowance(None, clock).wait(1e9) == 0


def test_the_limit_halves_on_429_and_grows_back():
    clock = Clock()
    pace = Pace(16, clock=clock)
    pace.pushed_back()
    pace.pushed_back()
    assert pace.limit == 8
    clock.now += 2
    pace.timed_out()
    assert pace.limit == 4
    for _ in range(200):
        pace.succeeded(0.1)
    assert pace.limit == 16
    for _ in range(20):
        clock.now += 2
        pace.pushed_back()
    assert pace.limit == 1


def test_sudden_slowness_narrows_the_limit():
    clock = Clock()
    pace = Pace(10, clock=clock)
    for _ in range(20):
        pace.succeeded(0.5)
    pace.succeeded(1.9)
    assert pace.limit == 10
    pace.succeeded(9.0)
    assert pace.limit == 8


def test_retry_after_holds_back_new_requests():
    async def main():
        pace = Pace(4)
        pace.pushed_back(0.2)
        started = asyncio.get_running_loop().time()
        async with pace.slot():
            waited = asyncio.get_running_loop().time() - started
        pace.pushed_back(10_000)
        async with asyncio.timeout(1), pace.slot():
            return waited

    assert asyncio.run(main()) >= 0.19


def test_no_more_than_the_limit_run_at_once():
    async def main():
        pace, running, peak = Pace(3), 0, 0

        async def one():
            nonlocal running, peak
            async with pace.slot():
                running += 1
                peak = max(peak, running)
                await asyncio.sleep(0.001)
                running -= 1

        await asyncio.gather(*(one() for _ in range(20)))
        return peak, pace.in_flight

    assert asyncio.run(main()) == (3, 0)


# ---------------------------------------------------------------- budget


def test_token_estimates():
    assert estimate_tokens("") == 0
    assert estimate_tokens("上传上限，是") == 6
    assert estimate_tokens("a" * 7) == 2
    assert estimate_tokens("上限 2GB") == 2 + 2


def test_prices(tmp_path):
    assert price_of("gpt-4o-mini") == price_of("openai/gpt-4o-mini-2024-07-18") == Price(0.15, 0.6)
    assert price_of("some-local-model") is None
    assert Price(2.0, 8.0).cost(1_000_000, 500_000) == 6.0
    table = tmp_path / "p.toml"
    table.write_text("[models]\nx = 3\n")
    with pytest.raises(InputError, match="not a price table"):
        price_of("x", table)
    with pytest.raises(InputError, match="cannot be read"):
        price_of("x", tmp_path / "none.toml")


def test_budget_forms():
    assert Budget.of(None) == Budget() and Budget.of(2) == Budget(cost=2)
    assert Budget.of({"calls": 3}) == Budget(calls=3)
    for wrong in ({"calls": -1}, {"tokens": True}, {"cost": float("nan")}, "3"):
        with pytest.raises((InputError, TypeError)):
            Budget.of(wrong)


def test_running_calls_count_towards_the_budget():
    spending = Spending(Budget(calls=2, tokens=1000), Price(1, 1))
    assert spending.exceeded_by(100, 100) is None
    spending.reserve(400, 400)
    assert "1000 tokens" in spending.exceeded_by(200, 100)
    spending.reserve(400, 400, sign=-1)
    spending.completed(10, 10)
    spending.reserve(10, 10)
    assert "2 calls" in spending.exceeded_by(1, 1)
    assert spending.cost == pytest.approx(20e-6)


# ---------------------------------------------------------------- places


@pytest.mark.parametrize(
    "quote, found",
    [
        ("上限为 2GB", "上限为 2GB"), ("上限为2gb。", None), ("上限为 ２ＧＢ", "上限为 2GB"), ("文件…2GB", "2GB"),
        ("FILES  may", "Files may"), ("a &lt; b", "a < b"), ("", None), ("…", None), ("没有的话", None),
    ],
)  # fmt: skip
def test_quotes_are_located(quote, found):
    text = "说明：文件上限为 2GB。Files may grow if a < b."
    place = locate(quote, text)
    assert (None if place is None else text[slice(*place)]) == found


def test_claims_are_placed():
    text = "备份保留 30 天。审计日志保留 12 年，由管理员查看。"
    places = Places(text)
    assert places.find("审计日志保留 12 年") == (10, 21, 1)
    start, end, sentence = places.find("管理员可以查看审计日志")
    assert (text[start:end], sentence) == ("审计日志保留 12 年，由管理员查看。", 1)
    assert places.find("完全无关的内容")[:2] == (-1, -1)
    assert Places("").find("x") == (-1, -1, 0)


def test_parts_of_an_unsupported_claim_are_looked_up():
    text = "Halden Logistics 的备份保留 30 天。"
    parts = parts_of(text, 0, len(text) - 1, Texts(["Halden Logistics 的备份保留 90 天"]), supported=False)
    by_text = {part["text"]: (part["kind"], part["support"]) for part in parts}
    assert by_text["30 天"] == ("number", 0.0) and by_text["备份"] == ("term", 1.0)
    assert by_text["Halden Logistics"] == ("entity", 1.0)
    assert all(text[p["start"] : p["end"]] == p["text"] for p in parts)
    assert kinds_of(text, parts) == ("number", "entity")
    supported = parts_of(text, 0, len(text) - 1, Texts([]), supported=True)
    assert {part["support"] for part in supported} == {1.0} and "number" not in kinds_of(text, supported)


# ---------------------------------------------------------------- splitting


def test_long_contexts_are_cut_at_sentences_and_nothing_is_lost():
    text = "。".join(f"第{n}句话说了一些事情" for n in range(60)) + "。"
    item = Sample("a", "问？", "答。", (Context(text), Context("短。"), Context("x" * 2000)))
    task = make_task(item, 100)
    pieces = [piece for part in task.parts for piece in part]
    for index, context in enumerate(item.contexts):
        own = [piece for piece in pieces if piece.index == index]
        assert "".join(piece.text for piece in own) == context.text
        assert all(context.text[p.start : p.start + len(p.text)] == p.text for p in own)
    assert all(sum(estimate_tokens(p.text) for p in part) <= 100 for part in task.parts)
    assert all(piece.text.endswith("。") for piece in pieces if piece.index == 0)
    assert make_task(item, 100_000).parts == (tuple(make_task(item, 100_000).parts[0]),)


# ---------------------------------------------------------------- questions and families


class Fixed:
    """An encoder that gives unrelated texts one cosine and knows no paraphrase."""

    name, dimension = "fixed", 3

    def encode(self, texts, kind="passage"):
        return np.tile(np.array([[1.0, 0.0, 0.0]], dtype=np.float32), (len(texts), 1))


@pytest.mark.parametrize(
    "question, near, far",
    [
        ("备份保留多久？", "备份保留的时间是多久？", "如何重置密码？"),
        ("How long are backups kept?", "For how long are backups kept?", "Who wrote it?"),
    ],
)
def test_questions_are_compared_on_one_scale(question, near, far):
    evidence = SampleEvidence("a", questions=[ReverseQuestion(text) for text in (question, near, far)])
    QuestionComparer(NgramEncoder()).compare(evidence, question)
    same, close, unrelated = (item.similarity for item in evidence.questions)
    assert same == 1.0 and close > 0.6 and unrelated < 0.2


def test_an_encoder_that_tells_nothing_apart_gives_zero():
    evidence = SampleEvidence("a", questions=[ReverseQuestion("x?")])
    QuestionComparer(Fixed()).compare(evidence, "y?")
    assert evidence.questions[0].similarity == 0.0


def test_families():
    assert family("gpt-4o") == family("o3-mini") == "openai"
    assert family("Qwen/Qwen2.5-7B-Instruct") == "qwen" and family("my-finetune") is None


# ---------------------------------------------------------------- outcomes

CODE = re.compile(r'(?:_error|CallError|problem|Problem)\(\s*"([a-z_]+)"|code = "([a-z_]+)"|"(unknown_verdict)" if')


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_reason_has_words_in_both_languages(language):
    sources = [Path(module.__file__).read_text(encoding="utf-8") for module in (client, replies, asking, judge)]
    codes = {next(filter(None, found)) for text in sources for found in CODE.findall(text)} | set(replies.CODES)
    assert len(codes) >= 14
    assert {
        code for code in codes | {"ok", "partly", "budget", "cancelled"} if meaning(code, language) == code
    } == set()


def test_outcomes_count_each_sample_once_by_its_latest():
    outcomes = Outcomes()
    outcomes.start(3)
    for item in (
        SampleEvidence("a", "judge_error", "timeout: no reply within 60 s"),
        SampleEvidence("b", "skipped", "budget: the budget of 3 calls is spent"),
        SampleEvidence("c", missing={"relevancy": ("judge_error", "not_json: x")}),
        SampleEvidence("a"),
    ):
        outcomes.add(item)
    frame = outcomes.frame()
    assert dict(zip(frame["outcome"], frame["n"], strict=True)) == {"ok": 1, "budget": 1, "partly": 1}
    assert outcomes.ids() == ["b", "c"] and outcomes.ids("budget") == ["b"]
