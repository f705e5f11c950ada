"""The knowledge base, and contexts matched to it by content."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.data.corpus import SHINGLE, TextIndex, load_corpus, match_contexts, shingles
from workbench.data.load import load_samples
from workbench.data.schema import CORPUS_FIELDS
from workbench.errors import InputError

ENGLISH = "The trial period lasts fourteen days and can be extended once by the sales team on request."
CHINESE = "企业版支持五百个并发连接，标准版支持一百个并发连接，超过之后会返回错误码四二九，请联系管理员调整配额。"
OTHER = "Backups are kept for thirty days in the same region as the workspace and are encrypted at rest."


def corpus(**more):
    rows = [
        {"doc_id": "trial", "text": ENGLISH, "title": "Trial", "tenant": "acme", "position": 3, "source": "billing.md"},
        {"doc_id": "limits", "text": CHINESE},
        {"doc_id": "backup", "text": OTHER, **more},
    ]
    return load_corpus(rows)


def contexts_of(texts, **options):
    return load_samples([{"question": "q", "contexts": texts}], **options).frame["contexts"].iloc[0]


# ---------------------------------------------------------------- loading


def test_corpus_frame():
    loaded = corpus(lang="en")
    assert loaded.frame.index.name == "doc_id" and loaded.frame.index.tolist() == ["trial", "limits", "backup"]
    assert tuple(loaded.frame.columns) == (*CORPUS_FIELDS, "lang")
    assert loaded.frame["tenant"].tolist() == ["acme", None, None]
    assert loaded.frame["position"].tolist()[0] == 3.0 and np.isnan(loaded.frame["position"].iloc[1])
    assert loaded.n_read == len(loaded) == 3


@pytest.mark.parametrize(
    "row",
    [
        {"_id": 7, "text": "t", "title": "x"},
        {"id": "7", "page_content": "t", "metadata": {"title": "x"}},
        {"文档编号": 7.0, "内容": "t", "标题": "x"},
        {"chunk_id": "7", "content": "t", "metadata": '{"title": "x"}'},
    ],
)
def test_names_of_other_tools(row):
    frame = load_corpus([row]).frame
    assert frame.index.tolist() == ["7"] and frame["text"].tolist() == ["t"] and frame["title"].tolist() == ["x"]


def test_rows_add_up_and_say_why():
    loaded = load_corpus(
        [{"id": 1, "text": "a"}, {"id": "1", "text": "b"}, {"id": 2, "text": " "}, "x", {"id": {}, "text": "c"}]
    )
    assert loaded.n_read == 5 == len(loaded) + loaded.rejected["row"].nunique()
    assert loaded.rejected[["row", "field"]].values.tolist() == [[2, "doc_id"], [3, "text"], [4, ""], [5, "doc_id"]]


def test_a_corpus_without_ids_counts_its_rows():
    assert load_corpus([{"text": "a"}, {"text": "b"}]).frame.index.tolist() == ["1", "2"]


def test_corpus_from_a_file_and_by_mapping(tmp_path):
    path = tmp_path / "kb.csv"
    path.write_text("key,words\n007,abc\n", encoding="utf-8")
    with pytest.raises(InputError, match="no column of texts among key, words"):
        load_corpus(path)
    loaded = load_corpus(path, mapping={"words": "text", "doc_id": "key"})
    assert loaded.frame.index.tolist() == ["007"] and loaded.name == "kb"


# ---------------------------------------------------------------- matching


def test_exact_texts_take_the_id_and_what_the_corpus_knows():
    found = contexts_of(["  " + ENGLISH.upper() + "\n", "unrelated"], corpus=corpus())
    assert found[0]["doc_id"] == "trial" and found[0]["tenant"] == "acme" and found[0]["position"] == 3
    assert found[0]["metadata"] == {"matched_by": "content", "source": "billing.md"}
    assert found[0]["text"] == "  " + ENGLISH.upper() + "\n"
    assert found[1] == {"text": "unrelated"}


@pytest.mark.parametrize(
    ("text", "doc_id"),
    [
        (ENGLISH[4:70], "trial"),
        ("Context 1: " + OTHER + " (see the handbook)", "backup"),
        (CHINESE[3:40], "limits"),
        (CHINESE.replace("，", ","), "limits"),
        (ENGLISH[:20] + OTHER[20:40] + "something else entirely that is not in the corpus at all", None),
        ("fourteen days", None),
        ("", None),
    ],
)
def test_contained_texts_are_found_and_others_are_not(text, doc_id):
    assert contexts_of([text], corpus=corpus())[0].get("doc_id") == doc_id


def test_counts_are_reported():
    samples = load_samples(
        [{"question": "q", "contexts": [ENGLISH, OTHER[5:80], "nothing", {"text": "x", "doc_id": "limits"}]}],
        corpus=corpus(),
    )
    assert samples.attributes["matched_contexts"] == {"exact": 1, "near": 1, "unmatched": 1, "with_id": 1}
    assert "3 contexts came without ids: 1 are documents" in samples.warnings["reason"].iloc[0]


def test_recorded_ids_are_never_changed_and_texts_are_filled_in():
    found = contexts_of(
        [{"doc_id": "limits", "text": ENGLISH}, {"doc_id": "backup"}, {"doc_id": "gone"}], corpus=corpus()
    )
    assert [item["doc_id"] for item in found] == ["limits", "backup", "gone"]
    assert [item["text"] for item in found] == [ENGLISH, OTHER, ""]


def test_matching_changes_no_set_in_place():
    samples = load_samples([{"question": "q", "contexts": [ENGLISH]}])
    before = [dict(item) for item in samples.frame["contexts"].iloc[0]]
    matched = match_contexts(samples, corpus())
    assert samples.frame["contexts"].iloc[0] == before and matched.frame["contexts"].iloc[0] != before


def test_ideal_contexts_become_expected_documents():
    rows = [
        {"user_input": "a", "reference_contexts": [ENGLISH, CHINESE[2:45]]},
        {"user_input": "b", "reference_contexts": ["no such text"]},
        {"user_input": "c", "reference_contexts": [ENGLISH], "expected_docs": ["mine"]},
    ]
    frame = load_samples(rows, corpus=corpus()).frame
    assert frame["expected_docs"].tolist() == [["trial", "limits"], None, ["mine"]]


def test_of_identical_documents_the_first_wins():
    assert TextIndex([OTHER, ENGLISH, ENGLISH]).find(ENGLISH) == (1, "exact")


def test_a_sampled_index_finds_the_same(monkeypatch):
    monkeypatch.setattr("workbench.data.corpus.MAX_SHINGLES", 60)
    index = TextIndex([ENGLISH, CHINESE, OTHER])
    assert index.find(OTHER[2:-2]) == (2, "near") and index.find("x" * 100) == (None, "")


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_can_be_looked_up(document, text):
    at, how = TextIndex([document, ENGLISH]).find(text)
    assert (at is None) == (how == "")
    assert len(shingles(text)) <= max(0, len(text) - SHINGLE + 1)


def test_a_frame_or_a_mapping_is_a_corpus_too(tmp_path):
    assert load_corpus({"a": "x", 7: "y"}).frame["text"].to_dict() == {"a": "x", "7": "y"}
    (tmp_path / "one.jsonl").write_text('{"_id": "a", "text": "x"}', encoding="utf-8")
    assert load_corpus(tmp_path / "one.jsonl").frame["text"].to_dict() == {"a": "x"}
    assert load_corpus(pd.DataFrame({"id": [1], "text": ["a"]})).frame.index.tolist() == ["1"]
