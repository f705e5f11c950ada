"""TREC files and BEIR folders: read, written, read again; every fault named by file and row."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from workbench.data.formats.trec import load_trec, read_beir, read_qrels, read_run, write_qrels, write_run
from workbench.errors import InputError

RUN = "q1 Q0 d1 1 2.5 mine\nq1 Q0 d2 2 nan mine\n"


def put(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_both_files_become_frames(tmp_path: Path) -> None:
    qrels, run = load_trec(qrels=put(tmp_path / "a", "q1 0 007 2\nq1\t0\td2  -1\r\n"), run=put(tmp_path / "b", RUN))
    assert qrels.to_dict("list") == {"query_id": ["q1", "q1"], "doc_id": ["007", "d2"], "relevance": [2, -1]}
    assert qrels["relevance"].dtype == "int64"
    assert run["score"][0] == 2.5 and np.isnan(run["score"][1])
    assert list(run.columns) == ["query_id", "doc_id", "score", "rank", "tag"]


def test_a_part_not_asked_for_is_none_and_nothing_asked_for_is_an_error(tmp_path: Path) -> None:
    assert load_trec(run=put(tmp_path / "b", RUN)).qrels is None
    with pytest.raises(InputError, match="qrels file, a run file or both"):
        load_trec()


def test_words_that_look_missing_quotes_marks_and_wide_blanks_are_ids(tmp_path: Path) -> None:
    path = put(tmp_path / "q", '\ufeffnull 0 NA 1\nnan 0 "a 0.5\n文档 0 a\u3000b 1')
    frame = read_qrels(path)
    assert frame["query_id"].tolist() == ["null", "nan", "文档"]
    assert frame["doc_id"].tolist() == ["NA", '"a', "a\u3000b"]
    assert frame["relevance"].tolist() == [1.0, 0.5, 1.0]


def test_blank_lines_are_passed_over_and_rows_are_still_those_of_the_file(tmp_path: Path) -> None:
    assert len(read_qrels(put(tmp_path / "q", "q1 0 a 1\n\nq2 0 b 1\n\n"))) == 2
    with pytest.raises(InputError, match="q2, row 3: relevance is 'x'"):
        read_qrels(put(tmp_path / "q2", "q1 0 a 1\n\nq2 0 b x\n"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"q1 0 a 1\nq1 0 b\n", "row 2: 3 fields instead of 4"),
        (b"q1 0 a 1 9\n", "row 1: 5 fields instead of 4"),
        (b"q1 0 a 1\nq1 0 b 1 9\n", "row 2: 5 fields instead of 4"),
        (b"q1 0 a 1\nq1 0 b yes\n", "row 2: relevance is 'yes', not a finite number"),
        (b"q1 0 a 1\nq1 0 b nan\n", "row 2: relevance is 'nan', not a finite number"),
        (b"q1 0 a 1\nq1 0 \xff 1\n", "row 2: not UTF-8"),
        (b"query-id\tcorpus-id\tscore\nq1\ta\t1\n", "row 1: 3 fields instead of 4"),
    ],
)
def test_a_faulty_qrels_file_is_named_with_its_row(tmp_path: Path, content: bytes, message: str) -> None:
    path = put(tmp_path / "bad.qrels", content)
    with pytest.raises(InputError, match=message) as caught:
        read_qrels(path)
    assert "bad.qrels" in str(caught.value) and len(str(caught.value)) <= 400


def test_a_faulty_run_a_folder_and_no_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="row 2: score is 'high', not a number"):
        read_run(put(tmp_path / "r", "q1 Q0 a 1 2 t\nq1 Q0 b 2 high t\n"))
    with pytest.raises(InputError, match="no such file"):
        read_run(tmp_path / "absent")
    with pytest.raises(InputError, match="is a folder"):
        read_run(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read_run(put(tmp_path / "r.gz", b"not packed"))


@pytest.mark.parametrize("name", ["a.run", "a.run.gz"])
def test_a_run_reads_back_as_written_in_rank_order(tmp_path: Path, name: str) -> None:
    frame = pd.DataFrame(
        {"query_id": ["q2", "q1", "q2", "q2"], "doc_id": ["a", "文", "b", "c"], "score": [0.1 + 0.2, 1e-300, 1.0, 1.0]}
    )
    write_run(frame, tmp_path / name, tag="t")
    back = read_run(tmp_path / name)
    assert back["doc_id"].tolist() == ["c", "b", "a", "文"]
    assert back["rank"].tolist() == ["1", "2", "3", "1"]
    assert back["score"].tolist() == [1.0, 1.0, 0.1 + 0.2, 1e-300]
    assert sorted(p.name for p in tmp_path.iterdir()) == [name]


def test_qrels_read_back_as_written(tmp_path: Path) -> None:
    frame = pd.DataFrame({"query_id": ["1", "1"], "doc_id": ["a", "b"], "relevance": [2.0, 0.5]})
    write_qrels(frame, tmp_path / "q")
    assert (tmp_path / "q").read_text() == "1 0 a 2\n1 0 b 0.5\n"
    pd.testing.assert_frame_equal(read_qrels(tmp_path / "q").astype(frame.dtypes), frame)


def test_what_the_format_cannot_hold_is_refused_and_the_old_file_stays(tmp_path: Path) -> None:
    path = put(tmp_path / "q", "old")
    for bad in ("a b", "", None, "a\n"):
        frame = pd.DataFrame({"query_id": ["1", "1"], "doc_id": ["a", bad], "relevance": [1, 1]})
        with pytest.raises(InputError, match="row 1: doc_id"):
            write_qrels(frame, path)
    with pytest.raises(InputError, match="column 'relevance'"):
        write_qrels(pd.DataFrame({"query_id": ["1"], "doc_id": ["a"]}), path)
    with pytest.raises(InputError, match="one word"):
        write_run(pd.DataFrame({"query_id": ["1"], "doc_id": ["a"], "score": [1.0]}), path, tag="two words")
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_a_write_that_fails_half_way_leaves_nothing(tmp_path: Path) -> None:
    documents = pd.Series(["a", "\ud800"], dtype=object)
    frame = pd.DataFrame({"query_id": ["1", "1"], "doc_id": documents, "relevance": [1, 1]})
    path = put(tmp_path / "q", "old")
    with pytest.raises(UnicodeEncodeError):
        write_qrels(frame, path)
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    (tmp_path / "qrels").mkdir()
    corpus = [{"_id": "d1", "title": "标题", "text": "正文"}, {"_id": 7, "text": "no title", "metadata": {}}]
    packed = gzip.compress("\n".join(json.dumps(row) for row in corpus).encode())
    (tmp_path / "corpus.jsonl.gz").write_bytes(packed)
    put(tmp_path / "queries.jsonl", '{"_id": "q 1", "text": "什么"}\n')
    put(tmp_path / "qrels/test.tsv", "query-id\tcorpus-id\tscore\nq 1\td1\t1\nq 1\t7\t0\n")
    return tmp_path


def test_a_beir_folder_becomes_three_frames(beir: Path) -> None:
    corpus, queries, qrels = read_beir(beir)
    assert corpus.to_dict("list") == {"doc_id": ["d1", "7"], "title": ["标题", ""], "text": ["正文", "no title"]}
    assert queries.to_dict("list") == {"query_id": ["q 1"], "text": ["什么"]}
    assert qrels.to_dict("list") == {"query_id": ["q 1", "q 1"], "doc_id": ["d1", "7"], "relevance": [1, 0]}
    assert load_trec(qrels=beir).qrels.equals(qrels)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("queries.jsonl", '{"_id": "q1"}\n', "row 1: 'text' is NoneType"),
        ("queries.jsonl", '{"_id": "q1", "text": "a"}\n{oops\n', "row 2: not a line of JSON"),
        ("queries.jsonl", "[1]\n", "row 1: a JSON list"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1 d1 1\n", "row 2: expected query-id"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\tinf\n", "row 2: score is"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\n", "no judgements"),
    ],
)
def test_a_faulty_beir_folder_is_named_with_its_row(beir: Path, name: str, content: str, message: str) -> None:
    put(beir / name, content)
    with pytest.raises(InputError, match=message):
        read_beir(beir)


def test_a_missing_split_names_those_that_are_there(beir: Path) -> None:
    with pytest.raises(InputError, match="there are: test"):
        read_beir(beir, split="dev")
    (beir / "queries.jsonl").unlink()
    with pytest.raises(InputError, match=r"no queries\.jsonl"):
        read_beir(beir)
