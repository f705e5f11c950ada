"""Columns that nobody knows: recognised by their kin, suggested by a word, mapped, and remembered for the file."""

from __future__ import annotations

import pytest

from workbench.cli import main
from workbench.data.columns import FILE, remember_mapping, suggested_mapping
from workbench.data.load import columns_of, load_samples
from workbench.errors import InputError

ROW = "How long?,90 days.,['Kept for 90 days.'],90 days\n"


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Write a CSV under headings; the cache is one of its own."""
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))

    def write(headings):
        path = tmp_path / "own.csv"
        path.write_text(headings + "\n" + ROW, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("headings", ["Prompt,Bot says,Chunks,Gold", "用户提问,机器人回答,召回片段,金标准"])
def test_what_people_call_them_is_recognised(file, headings):
    row = load_samples(file(headings)).frame.iloc[0]
    assert (row["question"], row["answer"], row["reference"]) == ("How long?", "90 days.", "90 days")
    assert row["contexts"] == [{"text": "Kept for 90 days."}]


@pytest.mark.parametrize(
    ("headings", "pairs"),
    [
        (
            "Customer asked,Model said,What came back,Truth says",
            {"Customer asked": "question", "Model said": "answer", "Truth says": "reference"},
        ),
        (
            "用户问了什么,客服答了什么,来源,标准说法",
            {"用户问了什么": "question", "客服答了什么": "answer", "标准说法": "reference"},
        ),
    ],
)
def test_others_are_suggested_by_a_word_in_their_name(file, headings, pairs):
    assert suggested_mapping(headings.split(",")) == pairs
    with pytest.raises(InputError) as caught:
        load_samples(file(headings))
    first = next(iter(pairs))
    assert f"mapping={pairs}" in str(caught.value) and f"--map 'question={first}'" in str(caught.value)


def test_a_mapping_is_remembered_for_the_file_and_others_of_its_columns(file, tmp_path, capsys):
    path = file("a,b,c,d")
    options = ["question=a", "answer=b", "contexts=c", "reference=d"]
    assert main(["check", str(path), *(part for option in options for part in ("--map", option))]) == 0
    assert "1 kept" in capsys.readouterr().out
    again = load_samples(path)
    assert again.frame["answer"].tolist() == ["90 days."]
    assert "chose before" in again.warnings["reason"].iloc[0]
    assert columns_of(path).known == {"question": "a", "answer": "b", "contexts": "c", "reference": "d"}
    other, next_export = tmp_path / "other.csv", tmp_path / "next.csv"
    other.write_text("a,b\nHow?,So.\n")
    with pytest.raises(InputError, match="no column of questions"):
        load_samples(other)
    next_export.write_text(path.read_text())
    assert load_samples(next_export).frame["answer"].tolist() == ["90 days."]
    remember_mapping(path, None)
    with pytest.raises(InputError, match="no column of questions"):
        load_samples(path)


def test_a_choice_that_no_longer_fits_is_left_out(file, tmp_path):
    path = file("question,b,c,d")
    remember_mapping(path, {"gone": "answer", "b": "no_such_field"})
    assert load_samples(path).frame["answer"].tolist() == [None]
    (tmp_path / "cache" / FILE).write_text("[")
    assert len(load_samples(path)) == 1


def test_a_pair_without_a_sign_is_refused(file, capsys):
    assert main(["check", str(file("a,b,c,d")), "--map", "question"]) == 2
    assert "write FIELD=COLUMN" in capsys.readouterr().err
