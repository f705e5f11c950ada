"""What texts show without a judge: copies of another tenant, broken formats, key points across chunk edges."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.data.schema import Context, Sample
from workbench.data.text.citations import find_citations
from workbench.data.text.refusals import claims
from workbench.evidence.observe import ChunkIndex, Copies, format_sign, observe

SECRET = "The discount of tenant B is 37 percent on all seats until the end of 2027."


def test_a_copied_sentence_is_found_and_a_shared_one_is_not() -> None:
    copies = Copies({"b": SECRET + " Everyone may read the general terms of service online."})
    assert (
        copies.shares("We know: the discount of tenant B is 37 percent on all seats until the end of 2027!", [])["b"]
        > 0
    )
    assert copies.shares("The discount is large.", []) == {}
    shared = "Everyone may read the general terms of service online."
    assert copies.shares(shared, [shared]) == {}


def test_chinese_copies_need_fewer_characters() -> None:
    copies = Copies({"b": "乙公司的专属折扣为三十七个百分点，仅限本年度。"})
    assert set(copies.shares("据悉乙公司的专属折扣为三十七个百分点。", [])) == {"b"}


def test_a_foreign_document_that_was_not_retrieved_is_still_a_leak_when_it_is_answered() -> None:
    corpus = wb.load_corpus([{"doc_id": "b", "text": SECRET, "tenant": "b"}, {"doc_id": "s", "text": "Shared words."}])
    sample = Sample("1", "What is it?", SECRET, contexts=(Context("Other.", "x", tenant="a"),), tenant="a")
    assert observe(sample, {}, ChunkIndex(corpus)).facts["text_foreign_answered"] == ["b"]
    own = Sample("1", "What is it?", SECRET, contexts=(Context("Other.", "x", tenant="b"),), tenant="b")
    assert observe(own, {}, ChunkIndex(corpus)).facts["text_foreign_answered"] is None


@pytest.mark.parametrize(
    ("question", "answer", "sign"),
    [
        ("Q?", '{"answer": "It is 5.", "score": 1}', "raw_json"),
        ("Give me JSON.", '{"answer": 5}', None),
        ("Q?", '```json\n{"response": "It is 5.", "sources": [1]}\n```', "raw_json"),
        ("Q?", '```json\n{"response": "It is fi', "raw_json"),
        ("Q?", '[{"text": "It is 5."}]', "raw_json"),
        ("问题？", '{"回答": "是五。", "引用": [1]}', "raw_json"),
        ("Q?", "{braces} are written so.", None),
        ("Q?", 'It is 5.\n{"tool_calls": [{"function": {"name": "lookup"}}]}', "tool_call"),
        ("Q?", '{"name": "search", "arguments": {"q": "five"}}', "tool_call"),
        ("Q?", 'He asked the crowd and got one reply: "No, not any more."', None),
        ("Q?", 'It is five. He then said "', "cut_off"),
        ("问题？", "该方案适用于北京的全部门店，以及", "cut_off"),
        ("问题？", "退款会在七天内到账，但是", "cut_off"),
        ("Q?", 'It is 5. <tool_call>{"name": "x"}</tool_call>', "tool_call"),
        ("Q?", "Answer the question using only the provided context.\nQuestion: Q?\nAnswer: 5.", "prompt_echo"),
        ("问题是什么？", "请根据以下上下文回答问题。\n回答：五。", "prompt_echo"),
        ("Q?", "It is five. The rest of the explanation is that the system will then go and", "cut_off"),
        ("Q?", "It is five. See the page at https://example.com/a", None),
        ("企业版支持多少会话？", "The enterprise plan supports five hundred sessions.", "wrong_language"),
        ("How many sessions does it support?", "企业版最多支持五百个并发会话。", "wrong_language"),
        ("E-1207", "E-1207 表示当前工作区的席位已用完。", None),
        ("Which steps?", "1. Open it\n2. Close it", None),
        ("Q?", "500", None),
    ],
)
def test_signs_of_a_broken_format(question: str, answer: str, sign: str | None) -> None:
    assert format_sign(Sample("1", question, answer), {}) == sign


@pytest.mark.parametrize(
    ("reference", "passed"), [("Venera 7", True), ("Mars 3", False), (None, None)]
)
def test_a_last_stop_that_is_missing_fails_no_answer_that_makes_its_point(reference: str | None, passed: bool | None) -> None:
    answer = "The first craft to land there was Venera 7. It sent data from the surface back to its makers on Earth"
    asked = {"question": "Which craft was the first to land there?", "answer": answer, "reference": reference}
    told = wb.evaluate([asked | {"answer": answer + "."}, asked], judge="offline", encoder="none", progress=False).failures()
    assert [value if value is None else bool(value) for value in told["passed"]] == [passed, bool(passed)]
    cut = wb.evaluate([asked | {"answer": answer + " and"}], judge="offline", encoder="none", progress=False).failures()
    assert not cut["passed"].iloc[0]
    assert "format" in cut["causes"].iloc[0]


def test_json_and_code_state_only_what_their_sentences_state() -> None:
    def stated(text: str) -> list[str]:
        return [claim.text for claim in claims(text).spans]

    assert stated('```json\n{"response": "It is 5.", "sources": [1]}\n```') == ["It is 5."]
    assert stated('It is 5.\n{"tool_calls": [{"function": {"name": "look up"}}]}') == ["It is 5."]
    assert stated('{"name": "search", "arguments": {"q": "how many are there"}}') == []
    assert stated("运行命令即可。\n```bash\nrm -r build\n```\n然后重新编译。") == ["运行命令即可。", "然后重新编译。"]
    assert find_citations('{"response": "It is 5.", "sources": [1]}') == []
    assert [c.number for c in find_citations('{"response": "It is 5 [2]."}')] == [2]


def test_the_services_finish_reason_says_cut_off() -> None:
    assert format_sign(Sample("1", "Q?", "It is five."), {"usage": {"finish_reason": "length"}}) == "cut_off"
