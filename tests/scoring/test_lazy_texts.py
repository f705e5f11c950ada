"""Texts of the table of failures are made for the rows that are looked at, and are strings like any other."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.scripted import ScriptedJudge, random_rows, random_script, sample_set
from workbench.diagnosis import causes as module
from workbench.evidence.collect import collect
from workbench.scoring.scored import LazyTexts, repeated, state_names


@pytest.fixture
def made() -> list[int]:
    return []


@pytest.fixture
def frame(made: list[int]) -> pd.DataFrame:
    def make(row: int) -> str:
        made.append(row)
        return f"row {row}"

    return pd.DataFrame({"n": range(100), "text": LazyTexts.of(np.arange(100), make)}, index=[f"s{i}" for i in range(100)])


def test_only_the_rows_that_are_looked_at_are_made(frame: pd.DataFrame, made: list[int]) -> None:
    assert len(frame) == 100 and frame.dtypes["text"] == "str" and made == []
    page = frame[frame["n"] % 10 == 3].sort_values("n", ascending=False).iloc[:3]
    assert made == []
    assert page["text"].tolist() == ["row 93", "row 83", "row 73"] and sorted(made) == [73, 83, 93]
    assert frame.loc["s7"].to_dict()["text"] == "row 7" and frame["text"].iloc[-1] == "row 99"
    assert len(made) == 5


def test_they_are_strings_like_any_other(frame: pd.DataFrame) -> None:
    plain = pd.Series([f"row {i}" for i in range(100)], index=frame.index, name="text")
    pd.testing.assert_series_equal(frame["text"], plain)
    assert frame["text"].str.endswith("7").sum() == 10 and (frame["text"] == "row 3").sum() == 1
    assert frame["text"].isna().sum() == 0 and frame.to_csv().count("row") == 100
    pd.testing.assert_frame_equal(copy.deepcopy(frame), frame)
    pd.testing.assert_series_equal(pd.concat([frame["text"], plain]), pd.concat([plain, plain]))
    assert frame["text"].reindex(["s1", "none"]).isna().tolist() == [False, True]


def test_repeated_values_and_states() -> None:
    assert repeated(["a", "b"], np.array([1, 0, 1])).tolist() == ["b", "a", "b"]
    assert state_names(np.array([0, 0], dtype=np.int8)).tolist() == ["ok", "ok"]


def test_failures_speak_the_language_in_force_when_they_were_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation = wb.Evaluation(collect(sample_set(random_rows(40)), ScriptedJudge(random_script())))
    asked: list[int] = []
    real = module.Causes.evidence
    monkeypatch.setattr(module.Causes, "evidence", lambda self, rule, code: asked.append(code) or real(self, rule, code))
    wb.set_language("zh")
    chinese = evaluation.failures()
    wb.set_language("en")
    english = evaluation.failures()
    assert asked == []
    failing = np.flatnonzero(english["primary_cause"].ne("pass"))
    assert len(failing) and (english["evidence"].iloc[failing] != chinese["evidence"].iloc[failing]).any()
    assert chinese["evidence"].str.contains("[\u4e00-\u9fff]").any()
