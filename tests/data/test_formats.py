"""Every file format and every tool's export: recognised by content, read exactly, refused clearly when broken."""

from __future__ import annotations

import gzip
import io
import json
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.data.formats import source as bytesource
from workbench.data.formats import tables as workbook
from workbench.data.formats.records import looks_structured, parse_literal
from workbench.data.load import load_samples
from workbench.errors import InputError

FILES = Path(__file__).parent / "files"
ROWS = [
    {"id": "a", "question": "Wie viel?", "answer": "五百", "contexts": ["t1", "t2"]},
    {"id": "b", "question": "什么？", "answer": None, "contexts": []},
]


def save(path: Path, content: str | bytes, encoding: str = "utf-8") -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def refused(path: Path, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        load_samples(path)
    assert len(str(caught.value)) <= 400 and "\n" not in str(caught.value)


def check_rows(samples) -> None:
    assert samples.frame.index.tolist() == ["a", "b"]
    assert samples.frame["question"].tolist() == ["Wie viel?", "什么？"]
    assert samples.frame["answer"].tolist() == ["五百", None]
    assert samples.frame["contexts"].tolist() == [[{"text": "t1"}, {"text": "t2"}], []]
    assert samples.n_read == 2 and samples.rejected.empty


# ---------------------------------------------------------------- JSON

SHAPES: dict[str, Any] = {
    "list": ROWS,
    "results": {"results": ROWS, "metrics": {"x": 1}},
    "data": {"version": 2, "data": ROWS},
    "samples": {"samples": ROWS},
    "nested": {"results": {"version": 3, "results": ROWS}},
    "other name": {"meta": "x", "my_rows": ROWS},
    "columns": {key: [row[key] for row in ROWS] for key in ROWS[0]},
    "numbered columns": {key: {str(at): row[key] for at, row in enumerate(ROWS)} for key in ROWS[0]},
    "split": {"columns": list(ROWS[0]), "index": [0, 1], "data": [list(row.values()) for row in ROWS]},
    "by id": {row["id"]: {key: row[key] for key in row if key != "id"} for row in ROWS},
    "server rows": {"rows": [{"row_idx": at, "row": row} for at, row in enumerate(ROWS)]},
}


@pytest.mark.parametrize("shape", list(SHAPES))
def test_shapes_of_json(tmp_path, shape):
    check_rows(load_samples(save(tmp_path / "x.txt", json.dumps(SHAPES[shape]))))
    check_rows(load_samples(save(tmp_path / "y.csv", json.dumps(SHAPES[shape], indent=2, ensure_ascii=False))))


def test_json_lines_whatever_the_name(tmp_path):
    lines = "\n".join(json.dumps(row) for row in ROWS)
    check_rows(load_samples(save(tmp_path / "x.json", lines)))
    check_rows(load_samples(save(tmp_path / "x.csv", "\ufeff" + lines.replace("\n", "\r\n\r\n") + "\n")))
    check_rows(load_samples(save(tmp_path / "x.jsonl.gz", gzip.compress(lines.encode()))))


def test_one_record_alone_is_a_set_of_one(tmp_path):
    assert len(load_samples(save(tmp_path / "x.jsonl", json.dumps(ROWS[0])))) == 1
    assert len(load_samples(save(tmp_path / "x.json", json.dumps(ROWS[0], indent=1)))) == 1


def test_a_broken_line_is_rejected_with_its_number(tmp_path):
    path = save(tmp_path / "x.jsonl", '{"question": "a"}\n\n{"question": "b"\n[1]\n{"question": "c"}\n')
    samples = load_samples(path)
    assert samples.frame["question"].tolist() == ["a", "c"] and samples.n_read == 4
    assert samples.rejected["row"].tolist() == [2, 3]
    assert "line 3 is no valid JSON" in samples.rejected["reason"].iloc[0]


def test_the_record_separator_of_json_lines_is_the_line_feed_only(tmp_path):
    path = save(tmp_path / "x.jsonl", '{"question": "a\u2028b\u0085c"}\n{"question": "d"}\n')
    assert load_samples(path).frame["question"].tolist() == ["a\u2028b\u0085c", "d"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[" * 100_000, "no valid JSON"),
        ('{"a":' * 50_000, "no valid JSON"),
        ('[{"question": "a"}', "no valid JSON"),
        ('[{"id": ' + "9" * 5000 + ', "question": "a"}]', "no valid JSON"),
        ("[]", "an empty list"),
        ("[1, 2, 3]", "no list of records"),
        ('{"faithfulness": 0.5, "recall": 0.1}', "aggregate scores"),
        ("", "is empty"),
        ("   \n\t", "is empty"),
        ("\ufeff", "is empty"),
        ("just some words", "text report"),
        ("question,answer\n", "no records"),
        ("a,b\n1,2\n", "no column of questions"),
    ],
)
def test_broken_or_foreign_text_is_refused(tmp_path, content, says):
    refused(save(tmp_path / "x.json", content), says)


# ---------------------------------------------------------------- CSV and TSV


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_delimiters_are_recognised(tmp_path, delimiter):
    rows = [["id", "question", "answer"], ["1", 'a "b", c; d', "x\ty"], ["2", "two\nlines", "z"]]
    text = "\n".join(delimiter.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows)
    frame = load_samples(save(tmp_path / "x.txt", text)).frame
    assert frame["question"].tolist() == ['a "b", c; d', "two\nlines"]
    assert frame["answer"].tolist() == ["x\ty", "z"]


def test_row_numbers_count_records_and_not_lines(tmp_path):
    path = save(tmp_path / "x.csv", 'question,answer\n"a\nb\nc",1\n\n,2\nd,3\n')
    samples = load_samples(path)
    assert samples.frame.index.tolist() == ["1", "3"]
    assert samples.rejected["row"].tolist() == [2]


def test_ragged_rows(tmp_path):
    samples = load_samples(save(tmp_path / "x.csv", "id,question,answer\n1,a,b,c\n2,b\n3,c,d,,\n"))
    assert samples.frame.index.tolist() == ["2", "3"] and samples.n_read == 3
    assert samples.rejected[["row", "excerpt"]].values.tolist() == [[1, "1"]]
    assert samples.warnings[["row", "field"]].values.tolist() == [[2, "answer"]]


def test_encodings(tmp_path):
    text = "问题,回答\n什么是年假？,每年五天\n"
    for encoding in ("utf-8-sig", "utf-16", "utf-8"):
        samples = load_samples(save(tmp_path / "x.csv", text, encoding))
        assert samples.frame["answer"].tolist() == ["每年五天"] and samples.warnings.empty
    samples = load_samples(save(tmp_path / "x.csv", text, "gb18030"))
    assert samples.frame["answer"].tolist() == ["每年五天"]
    assert "GB 18030" in samples.warnings["reason"].iloc[0] and samples.warnings["row"].iloc[0] == 0
    samples = load_samples(save(tmp_path / "x.csv", "question,answer\ncafé,tr\u00e8s bien\n", "latin-1"))
    assert samples.frame["question"].tolist() == ["café"] and "Windows-1252" in samples.warnings["reason"].iloc[0]


@pytest.mark.parametrize(
    ("text", "encoding", "name"),
    [
        ("問題,回答\n什麼是特別休假？,員工每年享有五天，請於系統中申請。\n", "big5", "Big5"),
        ("問題,回答\n年假幾天,五天\n", "big5", "Big5"),
        ("問題,回答\n什麼是特別休假？,員工每年享有五天，請於系統中申請。\n", "gb18030", "GB 18030"),
        ("问题,回答\n什么是年假？,员工每年享有五天带薪休假。\n", "gb18030", "GB 18030"),
        ("问题,回答\n年假几天,五天\n", "gb18030", "GB 18030"),
    ],
)
def test_the_chinese_encoding_is_the_one_that_gives_common_characters(tmp_path, text, encoding, name):
    samples = load_samples(save(tmp_path / "x.csv", text, encoding))
    question, answer = text.splitlines()[1].split(",")
    assert samples.frame[["question", "answer"]].values.tolist() == [[question, answer]]
    assert f" {name} " in samples.warnings["reason"].iloc[0]


def test_repeated_and_empty_column_names(tmp_path):
    frame = load_samples(save(tmp_path / "x.csv", ",question,question,\n0,a,b,c\n")).frame
    assert frame["question"].tolist() == ["a"] and frame["question (2)"].tolist() == ["b"]
    assert frame["column 1"].tolist() == ["0"] and frame["column 4"].tolist() == ["c"]


def test_formulas_and_nul_are_text(tmp_path):
    frame = load_samples(save(tmp_path / "x.csv", "question,answer\n=1+1,=cmd|' /C calc'!A0\na\x00b,c\n")).frame
    assert frame["answer"].tolist() == ["=cmd|' /C calc'!A0", "c"] and frame["question"].tolist() == ["=1+1", "a\x00b"]


def test_an_open_quote_is_reported(tmp_path):
    samples = load_samples(save(tmp_path / "x.csv", 'question,answer\na,"b\nc,d\n'))
    assert "never closed" in samples.warnings["reason"].iloc[0]


def test_a_frame_written_by_pandas_comes_back(tmp_path):
    frame = pd.DataFrame(
        {"user_input": ["q"], "retrieved_contexts": [["it's", 'a "b"\n']], "response": ["r"], "faithfulness": [np.nan]}
    )
    frame.to_csv(tmp_path / "x.csv")
    samples = load_samples(tmp_path / "x.csv")
    assert samples.frame["contexts"].iloc[0] == [{"text": "it's"}, {"text": 'a "b"\n'}]
    assert samples.recorded_scores["faithfulness"].isna().all()


def test_a_very_long_line_loads_quickly(tmp_path):
    started = time.process_time()
    path = save(tmp_path / "x.jsonl", json.dumps({"question": "q", "answer": "a" * 20_000_000}))
    assert len(load_samples(path).frame["answer"].iloc[0]) == 20_000_000
    path = save(tmp_path / "x.csv", "question,answer\nq," + "a" * 5_000_000 + "\n")
    assert len(load_samples(path).frame["answer"].iloc[0]) == 5_000_000
    assert time.process_time() - started < 20


# ---------------------------------------------------------------- lists written as text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("['a', 'b']", ["a", "b"]),
        ('["a", "b"]', ["a", "b"]),
        ("['a' 'b'\n 'c']", ["a", "b", "c"]),
        ("['it\\'s', \"x, 'y'\"]", ["it's", "x, 'y'"]),
        ("['line\\nbreak', 'real\nbreak']", ["line\nbreak", "real\nbreak"]),
        ("array(['a', 'b'], dtype=object)", ["a", "b"]),
        ("[array(['a']), array(['b'])]", [["a"], ["b"]]),
        ("[]", []),
        ("['']", [""]),
        ("('a', 'b')", ["a", "b"]),
        ("[1, -2.5, nan, None, True]", [1, -2.5, None, None, True]),
        ("[{'doc_id': 7, 'text': 'x'}]", [{"doc_id": 7, "text": "x"}]),
        (
            "[Document(metadata={'source': 's'}, page_content='p')]",
            [{"metadata": {"source": "s"}, "page_content": "p"}],
        ),
        ('{"a": null}', {"a": None}),
        ("['\\u4e2d', '文']", ["中", "文"]),
    ],
)
def test_written_lists(text, value):
    assert looks_structured(text)
    assert parse_literal(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "[__import__('os').system('true')]",
        "['a'] + ['b']",
        "[x for x in (1,)]",
        "['a', open('/etc/passwd')]",
        "['a'",
        "[" * 500 + "]" * 500,
        "['a'*1000000000]",
        "{'a': {'b': " * 100 + "1" + "}}" * 100,
        "[Document(**{'a': 1})]" + "x",
    ],
)
def test_anything_but_values_is_unreadable(text):
    with pytest.raises(ValueError):
        parse_literal(text)


@pytest.mark.parametrize("text", ["[1] said", "plain", "{x} is set", "(see above)", "[citation needed]", "a, b"])
def test_prose_is_no_list(text):
    assert not looks_structured(text)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=15), max_size=4))
def test_a_list_of_texts_survives_every_spelling(items):
    assert parse_literal(repr(items)) == items
    assert parse_literal(json.dumps(items)) == items
    if items:
        assert parse_literal("[" + " ".join(map(repr, items)) + "]") == items


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_parsed_or_refused(text):
    try:
        parse_literal(text)
    except ValueError:
        return


def test_a_cut_off_list_is_an_unreadable_value():
    samples = load_samples([{"question": "q", "contexts": "['a', 'b"}])
    assert samples.frame["contexts"].iloc[0] is None and "contexts" in samples.attributes["input_errors"]


# ---------------------------------------------------------------- Excel, Parquet, data sets


def excel(sheets: dict[str, list[list[Any]]]) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def test_excel(tmp_path):
    content = excel(
        {
            "说明": [["读我"]],
            "数据": [["编号", "问题", "上下文"], [7, "甲", "['x']"], [None, None, None], [8, "乙", None]],
        }
    )
    samples = load_samples(save(tmp_path / "x.dat", content))
    assert samples.frame.index.tolist() == ["7", "8"]
    assert samples.frame["contexts"].tolist() == [[{"text": "x"}], None]
    reasons = samples.warnings["reason"].tolist()
    assert reasons[0] == "忽略了记录之间的 1 个空行" and "说明" in reasons[1]


def test_broken_workbooks(tmp_path, monkeypatch):
    content = excel({"s": [["question"], ["a"]]})
    refused(save(tmp_path / "x.xlsx", content[: len(content) // 2]), "no readable Excel file")
    refused(save(tmp_path / "x.xlsx", excel({"s": []})), "is empty")
    refused(save(tmp_path / "x.xlsx", excel({"s": [["question"]]})), "header and no rows")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("data.csv", "question\na\n")
    refused(save(tmp_path / "x.zip", stream.getvalue()), "zip file and no workbook")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("xl/workbook.xml", "<no")
    refused(save(tmp_path / "x.xlsx", stream.getvalue()), "cannot be read")
    monkeypatch.setattr(workbook, "MAX_UNPACKED", 1000)
    refused(save(tmp_path / "x.xlsx", content), "export it as CSV")


def test_parquet_and_frames(tmp_path):
    frame = pd.DataFrame(ROWS)
    check_rows(load_samples(frame))
    frame.to_parquet(tmp_path / "x.csv")
    check_rows(load_samples(tmp_path / "x.csv"))
    check_rows(load_samples(frame.set_index("id")))
    refused(save(tmp_path / "x.parquet", b"PAR1" + b"\x00" * 50), "no readable Parquet")


def test_hugging_face_data_sets(tmp_path):
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_list(ROWS)
    check_rows(load_samples(data))
    data.save_to_disk(tmp_path / "set")
    check_rows(load_samples(tmp_path / "set"))
    check_rows(load_samples(datasets.DatasetDict({"test": data})))
    several = datasets.DatasetDict({"train": data, "test": data})
    with pytest.raises(InputError, match=r"several splits \(train, test\)"):
        load_samples(several)
    several.save_to_disk(tmp_path / "dict")
    refused(tmp_path / "dict", "several splits")
    check_rows(load_samples(tmp_path / "dict" / "test"))


def test_beir_folders(tmp_path):
    save(tmp_path / "corpus.jsonl", '{"_id": "d1", "title": "T", "text": "x"}\n')
    save(tmp_path / "queries.jsonl", '{"_id": "q1", "text": "who?"}\n{"_id": "q2", "text": "not judged"}\n')
    (tmp_path / "qrels").mkdir()
    save(tmp_path / "qrels" / "test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td9\t0\n")
    samples = load_samples(tmp_path, corpus=tmp_path)
    assert samples.frame["question"].to_dict() == {"q1": "who?"} and samples.n_read == 1
    assert samples.frame["expected_docs"].iloc[0] == {"d1": 2.0, "d9": 0.0}


# ---------------------------------------------------------------- places and foreign files


def test_places_that_hold_no_file(tmp_path):
    refused(tmp_path / "none.json", "no such file")
    refused(tmp_path, "no saved data set")
    refused(Path("a\x00b"), "cannot be read")
    refused(Path("x" * 5000), "cannot be read|no such file")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\xd0\xcf\x11\xe0" + b"\0" * 20, "old Excel"),
        (b"%PDF-1.7 ...", "PDF"),
        (b"\x80\x04\x95" + b"x" * 20, "pickle"),
        (b"\x1f\x8b\x08" + b"x" * 20, "gzip"),
        (gzip.compress(b'{"question": "a"}' * 99, mtime=0)[:-20], "gzip"),
        (bytes(range(32)) * 20, "no text"),
    ],
)
def test_foreign_files(tmp_path, content, says):
    refused(save(tmp_path / "x", content), says)


def test_a_gzip_bomb_stops_at_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(bytesource, "MAX_BYTES", 100_000)
    refused(save(tmp_path / "x.gz", gzip.compress(b"a" * 10_000_000)), "unpacks to more than")


def test_format_can_be_forced(tmp_path):
    path = save(tmp_path / "x", "[question],answer\na,b\n")
    assert load_samples(path, format="csv", mapping={"[question]": "question"}).frame["answer"].tolist() == ["b"]
    with pytest.raises(InputError, match="format 'xml' is not known"):
        load_samples(path, format="xml")


# ---------------------------------------------------------------- other tools


def only(rows: Any):
    samples = load_samples(rows)
    assert len(samples) == samples.n_read == 1
    return samples.frame.iloc[0], samples.recorded_scores.iloc[0].to_dict(), samples


def test_ragas_old_and_new():
    for row in (
        {"question": "q", "answer": "a", "contexts": ["c"], "ground_truths": ["g"]},
        {"question": "q", "answer": "a", "contexts": ["c"], "ground_truth": "g"},
        {"user_input": "q", "response": "a", "retrieved_contexts": ["c"], "reference": "g"},
    ):
        sample, _, _ = only([row])
        assert (sample["question"], sample["answer"], sample["reference"]) == ("q", "a", "g")
        assert sample["contexts"] == [{"text": "c"}]


def test_ragchecker():
    row = {
        "query_id": "0", "query": "q", "gt_answer": "g", "response": "r",
        "retrieved_context": [{"doc_id": "000", "text": "t"}],
        "retrieved2answer": [["Entailment"]], "metrics": {"precision": 0.5, "claim_recall": 1.0},
    }  # fmt: skip
    sample, scores, _ = only({"results": [row], "metrics": {"overall": {"precision": 50.0}}})
    assert sample.name == "0" and sample["reference"] == "g" and sample["contexts"] == [{"text": "t", "doc_id": "000"}]
    assert scores == {"precision": 0.5, "claim_recall": 1.0}


def test_deepeval():
    case = {
        "input": "q", "actualOutput": "a", "expectedOutput": "e", "context": ["ideal"], "retrievalContext": ["r"],
        "metricsData": [{"name": "Answer Relevancy", "score": 0.5, "threshold": 0.7},
                        {"name": "Faithfulness", "score": None}],
        "completionTime": 1.5,
    }  # fmt: skip
    sample, scores, _ = only({"testCases": [case], "metricsScores": [{"metric": "x", "scores": [1.0]}]})
    assert sample["contexts"] == [{"text": "r"}] and sample["reference"] == "e" and sample["latency_ms"] == 1500.0
    assert sample["reference_contexts"] == ["ideal"]
    assert scores["Answer Relevancy"] == 0.5 and np.isnan(scores["Faithfulness"])


def test_langsmith_experiments():
    run = {
        "id": "run", "example_id": "e1", "inputs": {"question": "q"}, "outputs": {"answer": "a", "contexts": ["c"]},
        "reference_outputs": {"answer": "r"}, "feedback": {"correctness": {"score": 1}}, "execution_time": 0.5,
    }  # fmt: skip
    sample, scores, _ = only([run])
    assert sample.name == "e1" and sample["answer"] == "a" and sample["reference"] == "r"
    assert sample["contexts"] == [{"text": "c"}] and sample["latency_ms"] == 500.0 and scores == {"correctness": 1.0}
    flat = pd.DataFrame({"inputs.q": ["q"], "outputs.output": ["a"], "reference.answer": ["r"], "feedback.ok": [0.5]})
    sample, scores, _ = only(flat)
    assert (sample["question"], sample["answer"], sample["reference"], scores) == ("q", "a", "r", {"ok": 0.5})


def test_langsmith_data_sets_hold_references():
    sample, _, samples = only([{"inputs": {"question": "q"}, "outputs": {"answer": "r"}, "metadata": {}}])
    assert sample["reference"] == "r" and sample["answer"] is None
    assert "reference answers" in samples.warnings["reason"].iloc[0]


def test_promptfoo():
    result = {
        "testIdx": 3, "promptIdx": 0, "provider": {"id": "openai:x"}, "vars": {"question": "q", "context": "c"},
        "response": {"output": "o", "tokenUsage": {"total": 9}}, "score": 1, "namedScores": {"Tone": 0.5},
        "latencyMs": 12,
        "testCase": {"assert": [{"type": "icontains", "value": "x"}, {"type": "contains-any", "value": ["y", "z"]},
                                {"type": "not-contains", "value": "n"}, {"type": "factuality", "value": "ref"}]},
    }  # fmt: skip
    sample, scores, _ = only({"evalId": "e", "results": {"version": 3, "prompts": [{}], "results": [result]}})
    assert sample.name == "3" and sample["answer"] == "o" and sample["reference"] == "ref"
    assert sample["must_include"] == ["x", ["y", "z"]] and sample["must_not_include"] == ["n"]
    assert sample["latency_ms"] == 12.0 and scores == {"score": 1.0, "Tone": 0.5}
    with pytest.raises(InputError, match="2 runs"):
        load_samples([result, {**result, "provider": "other"}])


def test_trulens():
    calls = [{"args": {"question": "q", "context": text}, "ret": 0.5} for text in ("c1", "c2", "c1")]
    row = {
        "record_id": "r1", "app_id": "app", "input": "q", "output": "a", "Context Relevance": 0.5,
        "Context Relevance_calls": calls, "latency": 2, "tags": "-",
    }  # fmt: skip
    for source in ([row], [{**row, "Context Relevance_calls": json.dumps(calls)}]):
        sample, scores, _ = only(source)
        assert sample.name == "r1" and sample["contexts"] == [{"text": "c1"}, {"text": "c2"}]
        assert sample["latency_ms"] == 2000.0 and scores == {"Context Relevance": 0.5} and sample["tags"] is None


def test_phoenix():
    documents = [{"document.content": "d", "document.id": "1", "document.score": 0.5}]
    spans = pd.DataFrame(
        {
            "context.span_id": ["s1", "s2"], "context.trace_id": ["t", "t"], "parent_id": [None, "s1"],
            "attributes.input.value": ["q", "q"], "attributes.output.value": ["a", None],
            "attributes.retrieval.documents": [None, documents],
        }
    )  # fmt: skip
    sample, _, _ = only(spans)
    assert sample.name == "t" and sample["contexts"] == [{"text": "d", "doc_id": "1", "score": 0.5}]
    table = pd.DataFrame(
        {"input": ["q"], "output": ["a"], "reference": ["doc"]}, index=pd.Index(["s"], name="context.span_id")
    )
    sample, _, _ = only(table)
    assert sample.name == "s" and sample["contexts"] == [{"text": "doc"}] and sample["reference"] is None


# ---------------------------------------------------------------- kept files


@pytest.mark.parametrize("path", sorted(FILES.glob("*.*")), ids=lambda path: path.name)
def test_example_files_load_whole(path):
    samples = load_samples(path)
    assert samples.n_read == len(samples) == 2 and samples.warnings.empty


def test_there_are_example_files():
    assert len(list(FILES.glob("*.*"))) >= 4
