"""The offline judge end to end: what it says of small samples in both languages, and that it says the same again."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.evidence import word_encoder as helper
from workbench.data.schema import Context, Sample
from workbench.errors import EncoderError
from workbench.evidence.judge import MAX_CLAIMS, Judge
from workbench.evidence.offline.claims import bare_values, claims_of, joints
from workbench.evidence.offline.examination import Examination
from workbench.evidence.offline.judge import OfflineJudge
from workbench.evidence.offline.models import load_coefficients

TOWER = "The Eiffel Tower was built in 1889 by Gustave Eiffel. The tower is 330 metres tall."
SUPPORTED = Sample("s", "When was the tower built?", "The Eiffel Tower was built in 1889.", (Context(TOWER),))
WRONG = Sample("w", "How tall is the tower?", "The tower is 320 metres tall.", (Context(TOWER),), "330 metres")
CHINESE = Sample(
    "z", "企业版支持多少用户？", "企业版最多支持 500 名用户。",
    (Context("企业版最多支持 1000 名用户。"), Context("个人版支持 5 名用户。")), "1000 名",
)  # fmt: skip
SPLIT = Sample(
    "p", "What is the refund period?", "The refund period is 30 days.",
    (Context("The refund period is", doc_id="x#1"), Context("30 days. After that nothing is paid.", doc_id="x#2")),
)  # fmt: skip


def judged(sample: Sample, encoder=None):
    (evidence,) = OfflineJudge(encoder).examine([sample])
    return evidence


@pytest.fixture(params=["none", "tokens", "plain"])
def encoder(request):
    return {"none": lambda: None, "tokens": helper.WordEncoder, "plain": helper.PlainEncoder}[request.param]()


def test_it_is_a_judge_whose_name_tells_encoders_apart(encoder):
    judge = OfflineJudge(encoder)
    assert isinstance(judge, Judge)
    assert judge.name != OfflineJudge("ngram").name
    assert judge.method == ("offline-e5" if isinstance(encoder, helper.WordEncoder) else "offline-lexical")


def test_shapes_states_and_ranges(encoder):
    for sample in (SUPPORTED, WRONG, CHINESE, SPLIT):
        found = judged(sample, encoder)
        n, t = len(found.claims), len(sample.contexts)
        assert found.sample_id == sample.sample_id
        assert found.state == "ok"
        assert found.entail.shape == found.contradict.shape == found.stitched_entail.shape == (n, t)
        assert found.spans.shape == (n, t, 2)
        assert found.relevance.shape == found.similarity.shape == found.n_sentences.shape == (t,)
        for values in (found.entail, found.contradict, found.relevance):
            assert ((values >= 0) & (values <= 1)).all()
        assert (found.relevant_sentences <= found.n_sentences).all()
        assert 0 <= found.relevancy <= 1
        for claim in found.claims:
            text = sample.answer if claim.side == "answer" else sample.reference
            assert text[claim.start : claim.end] == claim.text
            for part in claim.spans:
                assert text[part["start"] : part["end"]] == part["text"]
                assert 0 <= part["support"] <= 1
                assert part["kind"] in ("number", "date", "entity", "negation", "term")


def test_a_supported_claim(encoder):
    found = judged(SUPPORTED, encoder)
    assert found.entail[0, 0] >= 0.5
    assert found.contradict[0, 0] < 0.2
    start, end = found.spans[0, 0]
    assert TOWER[start:end] == "The Eiffel Tower was built in 1889 by Gustave Eiffel."
    if not isinstance(encoder, helper.WordEncoder):  # its cosines are not e5's
        assert found.relevance[0] >= 0.5
    assert found.relevancy >= 0.5


@pytest.mark.parametrize(("sample", "wrong"), [(WRONG, "320 metres"), (CHINESE, "500 名")])
def test_a_wrong_number_is_contradicted_explained_and_named(sample, wrong, encoder):
    found = judged(sample, encoder)
    claim = found.claims[0]
    assert found.contradict[0].max() >= 0.5
    assert found.entail[0].max() < 0.5
    assert "≠" in claim.reason
    assert "number" in claim.kinds
    weakest = min(claim.spans, key=lambda part: part["support"])
    assert weakest["text"] == wrong
    assert weakest["support"] < 0.5


def test_the_claim_and_the_reference_are_compared_both_ways(encoder):
    answer, reference = judged(WRONG, encoder).claims
    assert (answer.side, reference.side) == ("answer", "reference")
    assert answer.other_entail < 0.5
    assert reference.other_entail < 0.5
    right = judged(Sample("r", "q?", "The tower is 330 metres tall.", (), "330 metres"), encoder)
    assert [claim.other_entail >= 0.5 for claim in right.claims] == [True, True]


def test_evidence_across_the_edge_of_two_chunks(encoder):
    found = judged(SPLIT, encoder)
    assert found.entail[0].max() < 0.5
    assert found.stitched_entail[0, 0] >= 0.5
    assert np.isnan(found.stitched_entail[0, 1])


def test_chunks_that_are_no_neighbours_are_not_joined():
    apart = [Context("a", doc_id="x#1"), Context("b", doc_id="x#3"), Context("c", doc_id="y#2"), Context("d")]
    assert joints(apart) == []
    near = [Context("5", source="doc", position=1), Context("支持", source="doc", position=0)]
    assert [(j.left, j.right, j.text) for j in joints(near)] == [(1, 0, "支持5")]


def test_two_languages_are_unsure_without_token_vectors_not_wrong():
    sample = Sample("x", "发布会在哪里？", "The launch takes place in Berlin.", (Context("发布会将在柏林举行。"),))
    found = judged(sample)
    assert 0.2 <= found.entail[0, 0] < 0.5


def test_no_contexts_no_answer_no_reference(encoder):
    nothing = judged(Sample("n", "q"), encoder)
    assert nothing.entail.shape == (0, 0)
    assert math.isnan(nothing.declines)
    assert math.isnan(nothing.relevancy)
    unread = judged(Sample("u", "q", "The tower is 330 metres tall.", None), encoder)
    assert unread.entail.shape == (1, 0)
    assert unread.claims[0].kinds == ("number",)
    empty = judged(Sample("e", "", "", (Context(""),), ""), encoder)
    assert empty.claims == []
    assert empty.n_sentences.tolist() == [1.0]


def test_a_refusal_and_what_is_left_of_it(encoder):
    declined = judged(Sample("d", "What does it cost?", "I could not find any information about that.", ()), encoder)
    assert declined.declines >= 0.5
    assert declined.residual < 0.5
    assert [claim for claim in declined.claims if claim.side == "answer"] == []
    both = "没有找到企业版的价格信息，但是企业版的价格是每月 500 元。"
    answered = judged(Sample("b", "企业版的价格是多少？", both, ()), encoder)
    assert answered.declines >= 0.5
    assert answered.residual >= 0.5


def test_an_answer_that_contradicts_itself(encoder):
    sample = Sample(
        "c", "Is it limited?", "The API is not rate limited. The API is rate limited.", (Context("It rains."),)
    )
    assert [(a, b) for a, b, _ in judged(sample, encoder).conflicts] == [(0, 1)]


def test_claims_are_capped_and_it_is_said():
    answer = " ".join(f"Item number {i} costs {i} dollars." for i in range(MAX_CLAIMS + 20))
    found = judged(Sample("m", "q", answer, (Context("Nothing."),)))
    assert len(found.claims) == MAX_CLAIMS
    assert str(MAX_CLAIMS) in found.reason


def test_a_long_context_is_read_to_its_end(encoder):
    filler = " ".join(f"Paragraph {i} is about the weather of some region." for i in range(120))
    found = judged(
        Sample("l", "When was it built?", SUPPORTED.answer, (Context(f"{filler} {TOWER} {filler}"),)), encoder
    )
    assert found.entail[0, 0] >= 0.5
    start, end = found.spans[0, 0]
    assert "1889" in f"{filler} {TOWER} {filler}"[start:end]


def test_judgements_do_not_depend_on_the_company(encoder):
    together = {e.sample_id: e for e in OfflineJudge(encoder).examine([CHINESE, SPLIT, WRONG, SUPPORTED])}
    for sample in (SUPPORTED, WRONG, CHINESE, SPLIT):
        alone = judged(sample, encoder)
        other = together[sample.sample_id]
        for name in ("entail", "contradict", "relevance", "similarity", "stitched_entail"):
            assert getattr(alone, name) == pytest.approx(getattr(other, name), abs=1e-5, nan_ok=True)
        assert [c.spans for c in alone.claims] == [c.spans for c in other.claims]


def test_renaming_and_reordering_contexts_changes_nothing_else(encoder):
    swapped = Sample("z2", CHINESE.question, CHINESE.answer, CHINESE.contexts[::-1], CHINESE.reference)
    first, second = judged(CHINESE, encoder), judged(swapped, encoder)
    assert first.entail == pytest.approx(second.entail[:, ::-1], abs=1e-6)
    assert first.relevance == pytest.approx(second.relevance[::-1], abs=1e-6)


def test_each_text_is_encoded_once_in_a_batch():
    encoder = helper.WordEncoder()
    again = Sample("s2", SUPPORTED.question, SUPPORTED.answer, SUPPORTED.contexts)
    list(OfflineJudge(encoder).examine([SUPPORTED, again, SUPPORTED]))
    assert sorted(encoder.texts) == sorted({SUPPORTED.question, SUPPORTED.answer, TOWER})


@pytest.mark.parametrize("reference", ["…", "。。。", "---", "!", "“ ”；…"])
def test_punctuation_is_no_statement(reference):
    assert claims_of(reference, "reference") == claims_of(reference, "answer") == ([], False)


def test_a_reference_of_punctuation_expects_nothing(tmp_path):
    row = {"question": "How long?", "answer": "It takes 5 days.", "reference": "…", "contexts": ["It takes 5 days."]}
    result = wb.evaluate(wb.load_samples([row]), encoder="none", progress=False, cache_dir=tmp_path)
    assert "retrieval_miss" not in result.failures()["causes"].iloc[0]


def test_bare_values_of_a_reference():
    texts = {
        "1000; 2000": ["1000", "2000"],
        "张三、李四": ["张三", "李四"],
        "2,500 元": ["2,500 元"],
        "Berlin": ["Berlin"],
    }
    for reference, values in texts.items():
        assert [reference[start:end] for start, end in bare_values(reference)] == values
    for statement in ("The tower is tall.", "企业版支持 500 名用户", "It was built in 1889; it is tall."):
        assert bare_values(statement) == ()
    spans, capped = claims_of("1000；2000", "reference")
    assert [(s.start, s.end, s.value) for s in spans] == [(0, 4, True), (5, 9, True)]
    assert not capped


#: Beside any characters, what the rules look for: without it they would hardly be entered.
TEXT = st.one_of(
    st.text(max_size=80),
    st.lists(
        st.sampled_from(
            ["How many", "How long", "Who", "Is it", "only", "not", "except", "all", "and", ",", ":", ";", ".", "\n", "|",
             "three", "3", "5 kg", "10%", "12 May", "2019", "from", "to", "Ann", "Basic", "XR-20", "days", "otherwise",
             "几个", "多久", "谁", "是否", "只有", "不", "除了", "外", "所有", "和", "、", "，", "：", "；", "。", "三个",
             "5公斤", "5月12日", "2019年", "从", "到", "张三", "基础版", "天", "1–3岁", "可以", "不可以", "否则", "每日两次",
             "-", "yes", "no", "twice a day", "applies"]
        ),
        max_size=14,
    ).map(" ".join),
)  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(TEXT, TEXT, st.lists(TEXT, max_size=3), TEXT)
def test_any_text_can_be_judged(question, answer, contexts, reference):
    found = judged(Sample("x", question, answer, tuple(Context(text) for text in contexts), reference))
    assert found.state == "ok"
    assert np.isfinite(found.entail).all()
    assert ((found.relevance >= 0) & (found.relevance <= 1)).all()


def test_the_similarity_of_answer_and_reference_is_a_percentile_for_any_encoder():
    """Equal texts lie above all unrelated ones, unrelated ones among them."""
    reference = "The ferry to the island leaves every two hours."
    for encoder in (helper.PlainEncoder(), "ngram"):
        same = judged(Sample("a", "q", reference, (), reference), encoder)
        other = judged(Sample("b", "q", "Copper is a metal that people use for wires.", (), reference), encoder)
        assert same.answer_similarity == 1.0
        assert other.answer_similarity < 1.0
    assert math.isnan(judged(Sample("c", "q", reference, (), reference)).answer_similarity)


class Bad:
    """An encoder of a user that returns what ``make`` makes of the number of texts."""

    name, dimension = "bad", 3

    def __init__(self, make):
        self.make = make

    def encode(self, texts, kind="passage"):
        return self.make(len(texts))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda n: np.ones((n, 4)), r"shape \(\d, 4\) for \d texts, expected \(\d, 3\)"),
        (lambda n: np.ones(n), r"expected \(\d, 3\)"),
        (lambda n: np.ones((n + 1, 3)), "expected"),
        (lambda n: np.full((n, 3), np.nan), "NaN or infinite"),
        (lambda n: np.full((n, 3), 1e300), "NaN or infinite"),
        (lambda n: np.ones((n, 3)) * 1j, "complex numbers"),
        (lambda n: [["a"] * 3] * n, "no table of real numbers"),
        (lambda n: [[1.0] * (i + 1) for i in range(n)], "no table of real numbers|expected"),
        (lambda n: None, "no table of real numbers|expected"),
    ],
)
def test_an_encoder_that_returns_no_vectors_is_one_error(make, says, tmp_path):
    rows = [{"question": "How long?", "answer": "It takes 5 days.", "contexts": ["It takes 5 days.", "Two weeks."]}]
    with pytest.raises(EncoderError, match=f"encoder bad returned .*({says})") as caught:
        wb.evaluate(wb.load_samples(rows), encoder=Bad(make), progress=False, cache_dir=tmp_path)
    assert "\n" not in str(caught.value)


def test_an_outdated_page_beside_the_right_one_is_a_conflict_between_contexts():
    contexts = (Context("商务版每席位每月 86 元，按年付费。", "now"), Context("商务版每席位每月 78 元，按年付费。", "2022"))
    sample = Sample("1", "商务版多少钱？", "商务版每席位每月 86 元，按年付费。", contexts=contexts)
    found = next(OfflineJudge("none").examine([sample]))
    assert found.entail[0, 0] >= found.contradict[0].max() >= 0.5
    alone = Sample("1", "商务版多少钱？", "商务版每席位每月 86 元，按年付费。", contexts=contexts[1:])
    found = next(OfflineJudge("none").examine([alone]))
    assert found.contradict[0, 0] > found.entail[0, 0]


def test_a_judge_over_judged_samples_does_not_load_its_encoder(monkeypatch, tmp_path):
    loads = []

    def load(name):
        loads.append(name)
        return helper.WordEncoder()

    monkeypatch.setattr("workbench.evidence.encoders.resolve.resolve_encoder", load)
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path))
    rows = [{"question": "How much is it?", "answer": "It is 5 euros.", "contexts": ["The price is 5 euros."]}]
    first = wb.evaluate(rows, encoder="e5", progress=False)
    again = wb.evaluate(rows, encoder="e5", progress=False)
    assert loads == ["e5"] and first.claims()["support"].tolist() == again.claims()["support"].tolist()


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What does Northwind Ltd pay?", "The documents do not mention what Northwind Ltd pays."),
        ("北风公司付多少钱？", "很抱歉，北风有限公司的合同价格属于其他客户的信息，我不能透露。"),
    ],
)
def test_what_declines_claims_nothing(question: str, answer: str) -> None:
    rows = [{"sample_id": "1", "question": question, "answer": answer, "contexts": ["Plans cost 5 euros."],
             "expect_refusal": True}]  # fmt: skip
    result = wb.evaluate(rows, encoder="none", progress=False)
    assert result.failures()["primary_cause"].tolist() == ["pass"]
    assert not len(result.claims())


@pytest.mark.parametrize(
    ("answer", "context"),
    [
        ("A full export can be requested once every 22 days.",
         "A full export is a set of ZIP files with a manifest. It can be requested once every 7 days."),
        ("完整导出包每 22 天可以申请一次。", "完整导出包是一组带清单的压缩文件。它每 7 天可以申请一次。"),
    ],
)  # fmt: skip
def test_a_sentence_that_leans_on_the_one_before_is_read_with_it(answer: str, context: str) -> None:
    rows = [{"question": "?", "answer": answer, "contexts": [context]}]
    assert wb.evaluate(rows, encoder="none", progress=False).claims()["verdict"].tolist() == ["contradicted"]


@pytest.mark.parametrize(
    ("question", "answer", "reference", "numbered"),
    [
        (
            "How is the well kept clean?",
            "A grate covers the shaft. Each spring the warden lowers a pump, and mud from the bottom is taken out.",
            "Each spring mud is taken from the bottom of the shaft with a pump that the warden lowers.",
            "Each spring 340 kg of mud are taken from the bottom of the shaft with a pump that the warden lowers.",
        ),
        (
            "水井怎么保持清洁？",
            "井口盖着铁栅。每年春天管理员放下水泵，把井底的淤泥清除干净。",
            "管理员每年春天用水泵清除井底淤泥。",
            "管理员每年春天用水泵清除井底淤泥340公斤。",
        ),
    ],
)
def test_a_claim_of_the_reference_may_be_told_in_several_sentences(
    question: str, answer: str, reference: str, numbered: str
) -> None:
    def verdicts(of: str) -> list[bool]:
        examined = Examination(Sample("1", question, answer, reference=of), load_coefficients(None), {}, {})
        entail, _ = examined.by_text
        mine = [number for number, span in enumerate(examined.spans) if span.side == "reference"]
        return (entail[mine, examined.answer_at] >= 0.5).tolist()

    assert verdicts(reference) == [True]
    assert verdicts(numbered) == [False]
