"""Types of questions: the traps one by one, and precision and recall on a collection labelled beforehand."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scripted import sample_set
from workbench import language
from workbench.data.text.normalise import normalise
from workbench.diagnosis import queries
from workbench.diagnosis.queries import TYPES, query_types, type_matrix, types_of
from workbench.errors import InputError
from workbench.language import language_of

COLLECTION = [
    json.loads(line) for line in Path(__file__).with_name("questions.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize(
    ("question", "wanted", "never"),
    [
        ("However, the export is slow", set(), {"how"}),
        ("企业版支持多少并发会话？", {"how_many"}, {"other", "what"}),
        ("How many seats are there?", {"how_many"}, {"how"}),
        ("How long are logs kept, and how many of them?", {"when", "how_many"}, {"how"}),
        ("How long are logs kept?", {"when"}, {"how_many"}),
        ("日志保留多久？", {"when"}, {"how_many"}),
        ("几个工作日之内到账，每次最多几张？", {"when", "how_many"}, set()),
        ("How come it fails?", {"why"}, {"how"}),
        ("Is it refundable or non-refundable?", {"comparison"}, set()),
        ("Is it refundable or not?", {"yes_no"}, {"comparison"}),
        ("這個方案可以退款嗎？", {"yes_no"}, set()),
        ("能不能退款", {"yes_no"}, set()),
        ("What happens when the trial ends?", {"what"}, {"when"}),
        ("什么时候到账？", {"when"}, {"what"}),
        ("为什么失败？", {"why"}, {"what"}),
        ("这一步被称为什么？", {"what"}, {"why"}),
        ("几乎所有人都投诉过。", {"other"}, {"how_many"}),
        ("无论如何都要处理。", {"other"}, {"how"}),
        ("The plan, which I bought, is gone.", set(), {"which"}),
        ("Somewhere in the showroom", set(), {"where", "how"}),
        ("The WHO guideline on masks", set(), {"who"}),
        ("有无限多的素数？", set(), {"yes_no"}),
        ("", {"other"}, set()),
        ("ＨＯＷ　ＭＡＮＹ users?", {"how_many"}, {"how"}),
    ],
)
def test_traps(question, wanted, never):
    found = types_of(question)
    assert wanted <= found and not never & found


def test_the_collection_has_both_languages_and_halves():
    frame = pd.DataFrame(COLLECTION)
    sizes = frame[frame["half"] != "later"].groupby(["language", "half"]).size()
    assert len(sizes) == 4 and sizes.groupby("language").sum().min() >= 150 and sizes.min() >= 75
    assert frame["question"].is_unique and {name for types in frame["types"] for name in types} == set(TYPES)


@pytest.mark.parametrize("code", ["en", "zh"])
def test_precision_and_recall_on_the_half_that_no_cue_was_written_for(code):
    held = [item for item in COLLECTION if item["language"] == code and item["half"] == "held_out"]
    found = pd.DataFrame(type_matrix(item["question"] for item in held), columns=list(TYPES))
    wanted = pd.DataFrame({name: [name in item["types"] for item in held] for name in TYPES})
    right = (found & wanted).sum()
    assert (right / wanted.sum()).min() >= 0.85
    assert (right / found.sum()).min() >= 0.85
    assert right.sum() / found.to_numpy().sum() >= 0.95 and right.sum() / wanted.to_numpy().sum() >= 0.95


def test_questions_collected_after_the_cues():
    later = [item for item in COLLECTION if item["half"] == "later"]
    wrong = [item["question"] for item in later if set(item["types"]) != types_of(item["question"])]
    assert len(later) >= 70 and len(wrong) <= 3, wrong


@given(st.text(max_size=80))
def test_any_text_has_a_type_and_the_same_one_each_time(text):
    found = types_of(text)
    assert found and found <= set(TYPES) and found == types_of(text)
    assert not found & {"keyword", "other"} or len(found) == 1


def test_the_words_that_cues_need_leave_no_cue_out():
    """``needs`` saves time only: wherever a cue is found, one of the words is there."""
    for name, (cues, _, _, needs) in queries._cues(language_of("en"))._types.items():
        for item in COLLECTION:
            question = normalise(item["question"])
            assert not (cues.search(question) and needs) or any(word in question for word in needs), (name, question)


def test_a_language_of_ones_own_brings_its_cues(tmp_path, monkeypatch):
    monkeypatch.setattr(language, "_known", dict(language._known))
    (tmp_path / "language.toml").write_text("name = 'tlhIngan'\nscript = '\\uf8d0-\\uf8ff'\n", encoding="utf-8")
    (tmp_path / "query_types.toml").write_text("[where]\ncues = ['\uf8d8\uf8e1']\nimplies = ['which']\n", encoding="utf-8")
    language.add_language("tlh", tmp_path)
    assert types_of("\uf8d0\uf8d8\uf8e1") == {"where", "which"} and types_of("\uf8d0") == {"other"}
    assert types_of("Who pays?") == {"who"}


def test_frame_of_a_set():
    samples = sample_set([{"question": "Who pays?"}, {"question": None}, {"question": "谁付款，付多少？"}])
    frame = query_types(samples)
    assert frame.index.tolist() == ["0", "1", "2"] and tuple(frame.columns) == TYPES
    assert set(map(str, frame.dtypes)) == {"bool"} and frame.any(axis=1).all()
    assert frame.loc["2", ["who", "how_many"]].all() and frame.loc["1", "other"]
    pd.testing.assert_frame_equal(query_types(samples.frame), frame)


def test_something_without_questions_is_refused():
    with pytest.raises(InputError, match="question"):
        query_types(pd.DataFrame({"answer": ["yes"]}))


def test_long_and_hostile_questions_are_quick():
    types_of("who " * 100_000)
    types_of("怎么" * 50_000)
    types_of(("is it a" + " or" * 500) * 3)
