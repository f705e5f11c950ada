"""Traps of frames and files, from the file on disk to the loaded frame."""

from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pytest

import workbench as wb


def loaded(tmp_path: Path, text: str, name: str = "data.csv") -> wb.SampleSet:
    path = tmp_path / name
    path.write_bytes(text.encode("utf-8"))
    return wb.load_samples(path)


def test_a_lone_surrogate_is_replaced_and_its_row_named(tmp_path: Path) -> None:
    samples = loaded(
        tmp_path, '{"question": "q", "answer": "a \\ud83d b"}\n{"question": "r", "answer": "b"}\n', "d.jsonl"
    )
    assert samples.frame["answer"].tolist() == ["a � b", "b"]
    assert samples.warnings["row"].astype(int).tolist() == [1]
    assert "answer" in samples.warnings["field"].tolist()


@pytest.mark.parametrize("given", ["7.0", "007", "1e+17", "100000000000000001"])
def test_an_id_is_the_text_that_stands_in_the_file(tmp_path: Path, given: str) -> None:
    samples = loaded(tmp_path, f"sample_id,question,answer,expected_docs\n{given},q,a,{given}\n")
    assert samples.frame.index.tolist() == [given]
    assert list(samples.frame["expected_docs"].iloc[0]) == [given]


def test_two_long_ids_do_not_become_one(tmp_path: Path) -> None:
    ids = ["100000000000000001", "100000000000000002"]
    samples = loaded(tmp_path, "sample_id,question,answer\n" + "".join(f"{i},q,a\n" for i in ids))
    assert samples.frame.index.tolist() == ids
    assert samples.rejected.empty


@pytest.mark.parametrize("word", ["null", "None", "nan", "N/A", "NA", "NULL"])
def test_a_word_is_a_word_and_only_an_empty_cell_is_missing(tmp_path: Path, word: str) -> None:
    samples = loaded(tmp_path, f"question,answer,reference\nq,{word},\n")
    assert samples.frame["answer"].iloc[0] == word
    assert samples.frame["reference"].iloc[0] is None


def test_none_and_nan_of_a_frame_are_missing() -> None:
    frame = pd.DataFrame({"question": ["a", "b", "c"], "answer": [None, float("nan"), "None"]})
    assert wb.load_samples(frame).frame["answer"].tolist() == [None, None, "None"]


def test_a_newline_in_a_quoted_field_breaks_no_record_and_rows_are_counted_as_records(tmp_path: Path) -> None:
    samples = loaded(tmp_path, 'question,answer\n"two\nlines","a\n\nb"\n,no question\nlast,c\n')
    assert samples.frame["question"].tolist() == ["two\nlines", "last"]
    assert samples.frame["answer"].iloc[0] == "a\n\nb"
    assert samples.n_read == 3
    assert samples.rejected["row"].astype(int).tolist() == [2]


def test_rows_add_up(tmp_path: Path) -> None:
    lines = ['{"question": "q", "answer": "a", "sample_id": "1"}', "{broken", '{"answer": "no question"}',
             '{"question": "again", "sample_id": "1"}']  # fmt: skip
    path = tmp_path / "d.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    samples = wb.load_samples(path)
    assert samples.n_read == 4 == len(samples.frame) + samples.rejected["row"].nunique()
    assert list(samples.rejected.columns) == ["row", "field", "reason", "excerpt"] == list(samples.warnings.columns)
