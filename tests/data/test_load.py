"""Loading samples: what is kept, what is rejected and why; the rows always add up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbench.data.load import load_samples
from workbench.data.schema import SAMPLE_FIELDS, SampleSet
from workbench.errors import InputError
from workbench.language import get_language, speaking

RESULT_FILES = Path(__file__).resolve().parents[3] / "shared" / "data" / "result_files"


def adds_up(samples: SampleSet) -> bool:
    return samples.n_read == len(samples.frame) + samples.rejected["row"].nunique()


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    return path


# ---------------------------------------------------------------- the frame


def test_frame_has_the_contract_columns_in_order_then_the_users_own():
    samples = load_samples([{"question": "q", "team": "blue", "n": 3}])
    assert tuple(samples.frame.columns) == (*SAMPLE_FIELDS, "team", "n")
    assert samples.frame.index.name == "sample_id"
    assert samples.frame.loc["1", "n"] == 3


def test_missing_values_are_none_and_columns_keep_their_types():
    samples = load_samples([{"question": "q", "answer": None, "latency_ms": None}, {"question": "r", "answer": "a"}])
    assert samples.frame["answer"].tolist() == [None, "a"]
    assert samples.frame["reference"].tolist() == [None, None]
    assert samples.frame["expect_refusal"].dtype == object
    assert samples.frame["latency_ms"].dtype == float
    assert np.isnan(samples.frame["latency_ms"]).all()


def test_nan_is_missing_and_words_are_words(tmp_path):
    frame = pd.DataFrame({"question": ["a", "b"], "answer": [float("nan"), "None"], "ground_truth": ["nan", pd.NA]})
    loaded = load_samples(frame).frame
    assert loaded["answer"].tolist() == [None, "None"]
    assert loaded["reference"].tolist() == ["nan", None]
    path = tmp_path / "words.csv"
    path.write_text("question,answer\na,null\nb,None\nc,N/A\nd,\n", encoding="utf-8")
    assert load_samples(path).frame["answer"].tolist() == ["null", "None", "N/A", None]


def test_an_empty_answer_is_kept_apart_from_a_missing_one():
    assert load_samples([{"question": "a", "answer": ""}, {"question": "b"}]).frame["answer"].tolist() == ["", None]


def test_samples_can_be_read_as_objects():
    sample = load_samples([{"question": "q", "contexts": [{"text": "t", "metadata": {"source": "s"}}]}]).samples()[0]
    assert sample.contexts is not None and sample.contexts[0].source == "s"


def test_a_loaded_frame_loads_again_unchanged():
    first = load_samples([{"id": 7, "question": "q", "contexts": ["t"], "expected_docs": {"d": 2}, "latency_ms": 3}])
    again = load_samples(first)
    pd.testing.assert_frame_equal(first.frame, again.frame)


# ---------------------------------------------------------------- ids


@pytest.mark.parametrize(
    ("given_id", "kept"),
    [
        (7, "7"),
        (7.0, "7"),
        ("7", "7"),
        (2**53 + 1, "9007199254740993"),
        (" a ", "a"),
        (np.int64(5), "5"),
        (True, "True"),
    ],
)
def test_ids_become_text(given_id, kept):
    assert load_samples([{"id": given_id, "question": "q"}]).frame.index.tolist() == [kept]


def test_ids_in_files_are_text_from_the_first_byte(tmp_path):
    path = tmp_path / "ids.csv"
    path.write_text("id,question\n007,a\n9007199254740993,b\n9007199254740992,c\n1e5,d\n", encoding="utf-8")
    assert load_samples(path).frame.index.tolist() == ["007", "9007199254740993", "9007199254740992", "1e5"]


def test_ids_in_a_float_column_of_a_frame_lose_the_point():
    frame = pd.DataFrame({"id": [7, None], "question": ["a", "b"]})
    assert load_samples(frame).frame.index.tolist() == ["7", "2"]


def test_a_missing_id_is_made_from_the_row_and_never_meets_a_given_one():
    samples = load_samples([{"id": "2", "question": "a"}, {"id": None, "question": "b"}])
    assert samples.frame.index.tolist() == ["2", "row-2"]
    assert samples.warnings["row"].tolist() == [2]


def test_of_a_repeated_id_the_later_row_is_rejected():
    samples = load_samples([{"id": 1, "question": "a"}, {"id": "1", "question": "b"}])
    assert samples.frame["question"].tolist() == ["a"]
    assert samples.rejected.to_dict("records") == [
        {"row": 2, "field": "sample_id", "reason": "is the id of row 1 already", "excerpt": "1"}
    ]


# ---------------------------------------------------------------- rejections and unreadable values


def test_a_row_without_question_is_rejected_with_its_place():
    samples = load_samples([{"question": "a"}, {"question": "  "}, {"question": None}, {"question": {"x": 1}}])
    assert len(samples) == 1 and samples.n_read == 4
    assert samples.rejected["row"].tolist() == [2, 3, 4]
    assert set(samples.rejected["field"]) == {"question"}


def test_an_unreadable_field_keeps_the_row_and_says_so():
    samples = load_samples([{"id": "x", "question": "q", "contexts": 5, "expect_refusal": "perhaps"}])
    assert samples.frame.loc["x", "contexts"] is None
    errors = samples.attributes["input_errors"]
    assert set(errors) == {"contexts", "expect_refusal"} and set(errors["contexts"]) == {"x"}
    assert sorted(samples.warnings["field"]) == ["contexts", "expect_refusal"]
    assert samples.rejected.empty


def test_strict_raises_one_line_for_everything():
    rows = [{"question": "a", "contexts": 5}, {"question": ""}, "text"]
    with pytest.raises(InputError, match=r"3 problems: row 1, contexts .*; row 2, question .*; row 3") as caught:
        load_samples(rows, strict=True)
    assert len(str(caught.value)) <= 400 and "\n" not in str(caught.value)
    load_samples([{"question": "a"}], strict=True)


def test_lone_surrogates_become_replacement_characters_and_name_the_row(tmp_path):
    path = tmp_path / "broken.jsonl"
    path.write_text('{"question": "a"}\n{"question": "b", "contexts": ["x\\ud800y"]}\n', encoding="utf-8")
    samples = load_samples(path)
    assert samples.frame["contexts"].tolist()[1] == [{"text": "x\ufffdy"}]
    assert samples.warnings["row"].tolist() == [2]
    assert load_samples([{"question": "a\ud800"}]).frame["question"].tolist() == ["a\ufffd"]


# ---------------------------------------------------------------- names, mapping, near misses


def test_chinese_headings_are_known():
    row = {
        "问题": "多少？",
        "回答": "五百",
        "上下文": ["甲", "乙"],
        "标准答案": "五百个",
        "期望文档": "a,b",
        "应拒答": "否",
    }
    sample = load_samples([row]).frame.iloc[0]
    assert sample["question"] == "多少？" and sample["answer"] == "五百" and sample["reference"] == "五百个"
    assert [item["text"] for item in sample["contexts"]] == ["甲", "乙"]
    assert sample["expected_docs"] == ["a", "b"] and sample["expect_refusal"] is False


def test_traditional_headings_are_known():
    sample = load_samples([{"問題": "多少？", "回答": "五百", "標準答案": "五百個"}]).frame.iloc[0]
    assert (sample["question"], sample["answer"], sample["reference"]) == ("多少？", "五百", "五百個")


def test_values_no_file_could_hold_are_kept_in_the_form_of_json():
    row = {"question": "q", "tags": {7: {1, 2}}, "usage": {"n": np.int64(3)}, "mine": [float("nan"), (1, b"x")]}
    sample = load_samples([row]).frame.iloc[0]
    assert sample["tags"] == {"7": [1, 2]} and sample["usage"] == {"n": 3} and sample["mine"] == [None, [1, "x"]]
    json.dumps([sample["tags"], sample["usage"], sample["mine"]])


@pytest.mark.parametrize("mapping", [{"frage": "question"}, {"question": "frage"}])
def test_mapping_is_accepted_either_way_round(mapping):
    assert load_samples([{"frage": "q"}], mapping=mapping).frame["question"].tolist() == ["q"]


def test_mapping_wins_over_recognised_names():
    row = {"question": "short", "full": "long", "answer": "a"}
    frame = load_samples([row], mapping={"full": "question"}).frame
    assert frame["question"].tolist() == ["long"]
    assert frame["question (as recorded)"].tolist() == ["short"]


@pytest.mark.parametrize(
    ("mapping", "says"),
    [({"frag": "question"}, "did you mean 'frage'"), ({"frage": "questoin"}, "names no field")],
)
def test_a_wrong_mapping_is_refused_with_a_hint(mapping, says):
    with pytest.raises(InputError, match=says):
        load_samples([{"frage": "q"}], mapping=mapping)


def test_near_misses_get_a_suggestion():
    with pytest.raises(InputError, match=r"mapping=\{'qestion': 'question'\}"):
        load_samples([{"qestion": "a", "answer": "b"}])
    samples = load_samples([{"question": "a", "ground_thruth": "b"}])
    assert "did you mean reference" in samples.warnings["reason"].iloc[0]
    assert samples.frame["ground_thruth"].tolist() == ["b"]


def test_remarks_are_in_the_language_of_the_data_unless_one_was_chosen(tmp_path):
    path = tmp_path / "三月.csv"
    path.write_bytes("问题,回答,应拒答\n如何退款？,七天内。,也许\n,没有问题,\n".encode("gb18030"))
    samples = load_samples(path)
    assert samples.warnings["reason"].str.contains("编码|真").all()
    assert samples.rejected["reason"].tolist() == ["缺失；每一行都需要问题"]
    assert "既不是真也不是假" in samples.attributes["input_errors"]["expect_refusal"]["1"]
    with speaking("en"):
        assert "is missing; every row needs a question" in load_samples(path).rejected["reason"].tolist()


def test_headings_that_only_hint_are_suggested_in_chinese_too(tmp_path):
    path = tmp_path / "四月.csv"
    path.write_text("工单,客户说,理想回复,找到的片段\n1,如何退款？,七天内。,七天内可以退款。\n", "utf-8")
    with pytest.raises(InputError, match="is it '客户说'") as caught:
        load_samples(path)
    assert "'理想回复': 'reference', '找到的片段': 'contexts'" in str(caught.value) and get_language() == "zh"


def test_records_with_different_names_meet_in_one_field():
    rows = [{"question": "a", "answer": "1"}, {"query": "b", "response": "2"}, {"问题": "c", "回答": "3"}]
    frame = load_samples(rows).frame
    assert frame["question"].tolist() == ["a", "b", "c"] and frame["answer"].tolist() == ["1", "2", "3"]


def test_a_null_answer_is_not_replaced_by_another_column():
    frame = load_samples([{"question": "a", "answer": None, "output": "raw"}]).frame
    assert frame["answer"].tolist() == [None] and frame["output"].tolist() == ["raw"]


# ---------------------------------------------------------------- fields


@pytest.mark.parametrize(
    ("given_value", "kept"),
    [
        (["a", 2], ["a", "2"]),
        ({"a": 2, "b": 0}, {"a": 2.0, "b": 0.0}),
        ("a; b", ["a", "b"]),
        ("['a', 'b']", ["a", "b"]),
        ('{"a": 1}', {"a": 1.0}),
        ([["a", "b"], "c"], [["a", "b"], "c"]),
        ([{"doc_id": "a", "grade": 2}], {"a": 2.0}),
        ([{"id": 7}], ["7"]),
        ([], []),
        (None, None),
        (7, ["7"]),
        ({7: True}, {"7": 1.0}),
    ],
)
def test_expected_documents(given_value, kept):
    assert load_samples([{"question": "q", "expected_docs": given_value}]).frame["expected_docs"].iloc[0] == kept


@pytest.mark.parametrize(
    ("word", "value"),
    [("true", True), ("是", True), (1, True), ("No", False), ("否", False), (0.0, False), ("", None), (np.True_, True)],
)
def test_booleans_in_text(word, value):
    assert load_samples([{"question": "q", "expect_refusal": word}]).frame["expect_refusal"].iloc[0] is value


@pytest.mark.parametrize(
    ("given_value", "kept"),
    [
        (["a", "b"], [{"text": "a"}, {"text": "b"}]),
        ([{"page_content": "a", "metadata": {"source": "s"}}], [{"text": "a", "metadata": {"source": "s"}}]),
        ([{"id": 7, "content": "a", "score": "0.5"}], [{"text": "a", "doc_id": "7", "score": 0.5}]),
        ([{"chunk": "a", "source_id": "x"}], [{"text": "a", "doc_id": "x"}]),
        ([["a", 0.5]], [{"text": "a", "score": 0.5}]),
        ([{"node": {"text": "a", "node_id": "n"}, "score": 0.5}], [{"text": "a", "doc_id": "n", "score": 0.5}]),
        ([{"text": "b", "rank": 2}, {"text": "a", "rank": 1}], [{"text": "a"}, {"text": "b"}]),
        ({"d1": "a"}, [{"text": "a", "doc_id": "d1"}]),
        ("one text", [{"text": "one text"}]),
        ("[1] one text", [{"text": "[1] one text"}]),
        ([], []),
        ("[]", []),
        ([""], [{"text": ""}]),
        (None, None),
        (np.array(["a", "b"]), [{"text": "a"}, {"text": "b"}]),
        ([{"文档ID": "甲", "内容": "文"}], [{"text": "文", "doc_id": "甲"}]),
    ],
)
def test_contexts(given_value, kept):
    assert load_samples([{"question": "q", "contexts": given_value}]).frame["contexts"].iloc[0] == kept


def test_ids_and_scores_beside_the_texts():
    row = {
        "user_input": "q",
        "retrieved_contexts": ["a", "b"],
        "retrieved_context_ids": [1, "x"],
        "retrieved_scores": [2, 1],
    }
    found = load_samples([row]).frame["contexts"].iloc[0]
    assert found == [{"text": "a", "doc_id": "1", "score": 2.0}, {"text": "b", "doc_id": "x", "score": 1.0}]
    only_ids = load_samples([{"question": "q", "retrieved_doc_ids": "a,b"}]).frame["contexts"].iloc[0]
    assert only_ids == [{"text": "", "doc_id": "a"}, {"text": "", "doc_id": "b"}]
    uneven = load_samples([{"question": "q", "contexts": ["a"], "retrieved_doc_ids": ["1", "2"]}])
    assert uneven.frame["contexts"].iloc[0] == [{"text": "a"}]
    assert "2 values of doc_id beside 1 contexts" in uneven.warnings["reason"].iloc[0]


def test_the_last_thing_the_user_said_is_the_question():
    talk = [
        {"type": "human", "content": "first"},
        {"type": "ai", "content": "yes"},
        {"type": "human", "content": "last"},
    ]
    assert load_samples([{"user_input": talk, "response": "r"}]).frame["question"].tolist() == ["last"]
    assert load_samples([{"user_input": json.dumps(talk)}]).frame["question"].tolist() == ["last"]


def test_layered_cases():
    row = {
        "id": "c1", "question": "q", "expected_doc_ids": ["d1"], "must_include": ["x", ["y", "z"]],
        "expect_refusal": False,
        "refusal_phrases": ["无法回答"], "type": "policy", "must_not_include": "a;b",
    }  # fmt: skip
    sample = load_samples([row]).frame.loc["c1"]
    assert sample["must_include"] == ["x", ["y", "z"]] and sample["must_not_include"] == ["a", "b"]
    assert sample["case_type"] == "policy" and sample["refusal_phrases"] == ["无法回答"]


def test_seconds_become_milliseconds():
    assert load_samples([{"question": "q", "latency_s": 1.5}]).frame["latency_ms"].tolist() == [1500.0]


# ---------------------------------------------------------------- recorded scores


def test_scores_of_other_tools_are_kept_under_their_names():
    rows = [
        {"question": "a", "faithfulness": 0.5, "answer_relevancy": None, "rouge_score(mode=fmeasure)": "0.25"},
        {"question": "b", "faithfulness": "N/A", "answer_relevancy": float("nan"), "rouge_score(mode=fmeasure)": 1},
    ]
    scores = load_samples(rows).recorded_scores
    assert list(scores) == ["faithfulness", "answer_relevancy", "rouge_score(mode=fmeasure)"]
    assert scores.dtypes.tolist() == [np.dtype(float)] * 3
    assert scores["faithfulness"].tolist()[0] == 0.5 and np.isnan(scores["faithfulness"].tolist()[1])
    assert scores["answer_relevancy"].isna().all() and scores.index.tolist() == ["1", "2"]


def test_a_score_that_is_no_number_is_missing_with_a_warning():
    samples = load_samples([{"question": "a", "faithfulness": 0.5}, {"question": "b", "faithfulness": "high"}])
    assert np.isnan(samples.recorded_scores["faithfulness"].iloc[1])
    assert samples.warnings[["row", "field"]].values.tolist() == [[2, "faithfulness"]]


def test_scores_follow_the_rows_that_are_kept():
    samples = load_samples([{"question": "", "faithfulness": 0.1}, {"question": "b", "faithfulness": 0.9}])
    assert samples.recorded_scores["faithfulness"].to_dict() == {"2": 0.9}


# ---------------------------------------------------------------- runs and cases


RUNS = [
    {"id": 1, "question": "a", "answer": "x", "run": "old"},
    {"id": 1, "question": "a", "answer": "y", "run": "new"},
]


def test_a_file_of_several_runs_needs_a_choice():
    with pytest.raises(InputError, match=r"2 runs \(old, new\); choose one with run='old'"):
        load_samples(RUNS)
    samples = load_samples(RUNS, run="new")
    assert samples.frame["answer"].tolist() == ["y"] and adds_up(samples)
    with pytest.raises(InputError, match="no run 'other'"):
        load_samples(RUNS, run="other")
    assert len(load_samples(RUNS[:1])) == 1
    with pytest.raises(InputError, match="no column named run"):
        load_samples([{"question": "a"}], run="old")


def test_cases_fill_what_the_recording_lacks():
    cases = [
        {"id": 1, "question": "q1", "reference": "r1", "expected_docs": ["d"], "owner": "me"},
        {"id": "2", "question": "q2", "reference": "r2"},
        {"id": 3, "question": "q3"},
    ]
    samples = load_samples([{"id": "1", "answer": "a1"}, {"id": 2, "answer": None, "reference": "own"}], cases=cases)
    assert samples.frame["question"].tolist() == ["q1", "q2"]
    assert samples.frame["reference"].tolist() == ["r1", "own"]
    assert samples.frame["expected_docs"].tolist() == [["d"], None]
    assert samples.frame["owner"].tolist() == ["me", None]
    assert "1 cases have no sample" in samples.warnings["reason"].iloc[0]


def test_cases_join_by_question_when_the_recording_has_no_ids():
    samples = load_samples(
        [{"question": "How  many?", "answer": "5"}], cases=[{"id": "c9", "question": "how many?", "reference": "5"}]
    )
    assert samples.frame.index.tolist() == ["c9"] and samples.frame["reference"].tolist() == ["5"]


def test_a_sample_without_case_and_question_is_rejected():
    samples = load_samples([{"id": 1, "answer": "a"}, {"id": 9, "answer": "b"}], cases=[{"id": 1, "question": "q"}])
    assert samples.frame.index.tolist() == ["1"] and samples.rejected["row"].tolist() == [2] and adds_up(samples)


# ---------------------------------------------------------------- what is no sample set


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ([{"faithfulness": 0.5, "context_recall": 1.0}], "scores without questions"),
        ([{"0": {"faithfulness": 1.0}}, {"0": {"faithfulness": 0.5}}], "scores by number without questions"),
        ({"faithfulness": 0.5, "answer_relevancy": 0.7}, "aggregate scores"),
        ([{"field": "question", "a": "q1"}, {"field": "answer", "a": "a1"}], "transposed"),
        ([{"metric": "faithfulness", "mean": 0.5}, {"metric": "recall", "mean": 0.1}], "aggregate scores"),
        ({"faithfulness": {"0": 0.5, "1": 0.1}}, "scores without questions"),
        ([{"doc_id": "a", "text": "t"}], "load_corpus"),
        ([{"a": 1, "b": 2}], "no column of questions among a, b"),
        ([], "no dicts"),
        ([1, 2], "no dicts"),
        ({}, "empty object"),
        (5, "cannot be loaded"),
        (None, "cannot be loaded"),
        (pd.DataFrame(), "no rows"),
        (pd.DataFrame({"question": []}), "no rows"),
    ],
)
def test_what_is_no_sample_set_is_refused_in_one_line(source, says):
    with pytest.raises(InputError, match=says) as caught:
        load_samples(source)
    assert len(str(caught.value)) <= 400 and "\n" not in str(caught.value)


# ---------------------------------------------------------------- files people really wrote


@pytest.fixture
def result_files() -> Path:
    if not RESULT_FILES.is_dir():
        pytest.skip("the folder of result files is not here")
    return RESULT_FILES


@pytest.mark.parametrize(
    ("name", "n", "fields", "scores"),
    [
        ("06_questions.json", 25, ["question", "reference"], []),
        ("06_rag_outputs.json", 25, ["question", "answer", "contexts", "reference"], []),
        ("06_ragas_results_mostly_nan.json", 25, ["question", "answer", "contexts", "reference"],
         ["faithfulness", "answer_relevancy", "context_recall", "answer_correctness"]),
        ("07_ragchecker_inputs.json", 2, ["question", "answer", "contexts", "reference"], []),
        ("12_ragas_fr_nan_empty_contexts.csv", 6, ["question", "answer", "contexts", "reference"],
         ["faithfulness", "answer_relevancy", "context_precision", "context_recall"]),
        ("14_clapnq_question_dev_answerable.tsv", 300, ["question", "reference", "expected_docs"], []),
    ],
)  # fmt: skip
def test_real_files_load_whole(result_files, name, n, fields, scores):
    samples = load_samples(result_files / name)
    assert len(samples) == samples.n_read == n and samples.rejected.empty
    filled = [column for column in SAMPLE_FIELDS if samples.frame[column].notna().any()]
    assert filled == fields and list(samples.recorded_scores) == scores


def test_real_ragchecker_outputs_keep_all_scores(result_files):
    scores = load_samples(result_files / "07_ragchecker_outputs.json").recorded_scores
    assert {"precision", "recall", "f1", "claim_recall", "faithfulness", "self_knowledge"} <= set(scores)
    assert scores.notna().all().all()


def test_real_ids_beyond_two_to_the_53_stay_exact(result_files):
    index = load_samples(result_files / "14_clapnq_question_dev_answerable.tsv").frame.index
    assert "6401197308716204890" in index and index.is_unique


@pytest.mark.parametrize("name", ["06_ragas_report.txt", "06_ragas_scores_rerun.json", "README.md"])
def test_real_files_that_are_no_sample_set_are_refused(result_files, name):
    with pytest.raises(InputError) as caught:
        load_samples(result_files / name)
    assert name in str(caught.value) and len(str(caught.value)) <= 400


# ---------------------------------------------------------------- anything at all

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(
    ["question", "answer", "contexts", "reference", "expected_docs", "id", "must_include", "expect_refusal", "tags",
     "inputs", "outputs", "metrics", "vars", "response", "run", "retrieved_doc_ids", "latency_ms", "faithfulness",
     "usage", "logprobs",
     "citations", "input", "output", "user_input", "error", "问题", "testCase", "score"]
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.dictionaries(NAMES | st.text(max_size=6), VALUES, max_size=6) | VALUES, max_size=5))
def test_any_list_loads_or_is_refused_in_one_line(rows):
    try:
        samples = load_samples(rows)
    except InputError as error:
        assert len(str(error)) <= 400
        return
    assert adds_up(samples) and samples.n_read <= len(rows)
    assert all(isinstance(question, str) and question.strip() for question in samples.frame["question"])
    assert samples.frame.index.is_unique
    for items in samples.frame["contexts"]:
        assert items is None or all(isinstance(item["text"], str) for item in items)
    json.dumps(samples.frame["contexts"].tolist(), default=str).encode("utf-8")


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(content=st.binary(max_size=60) | st.text(max_size=80).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_file_loads_or_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / "any.bin"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_samples(path)
    assert len(str(caught.value)) <= 400


BEGINNINGS = ['{"question": "a"}\n', "question,answer\na,b\n", '[{"question": "a"},', "PK\x03\x04", "PAR1", "\x1f\x8b"]


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(prefix=st.sampled_from(BEGINNINGS), rest=st.text(max_size=60))
def test_a_good_beginning_and_any_end(tmp_path, prefix, rest):
    path = tmp_path / "any.txt"
    path.write_bytes((prefix + rest).encode("utf-8", "surrogatepass"))
    try:
        samples = load_samples(path)
    except InputError as error:
        assert len(str(error)) <= 400
        return
    assert adds_up(samples)


@pytest.mark.parametrize("heads", [
    ["User asked", "Bot replied", "Retrieved passages", "Should have said"],
    ["用户提问", "机器人回复", "命中片段", "正确答案"],
])  # fmt: skip
def test_plain_headings_of_people_who_write_tables(heads):
    samples = load_samples([dict(zip(heads, ("Who pays?", "We do.", "We pay.", "We pay."), strict=True))])
    assert samples.frame[["question", "answer", "reference"]].iloc[0].tolist() == ["Who pays?", "We do.", "We pay."]
    assert [item["text"] for item in samples.frame["contexts"].iloc[0]] == ["We pay."]
