"""A user's own columns may have any name: none is lost and none is taken for what an evaluation found."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from workbench.data.schema import AS_RECORDED


@pytest.mark.parametrize("name", ["missed", "silver", "judge_state", "text_topic", "input_errors", "contexts_recorded",
                                  "not_in_corpus", "recorded:x"])  # fmt: skip
@pytest.mark.parametrize("value", [True, "{bad", [["a"]], {"a": 1}])
def test_an_own_column_survives_under_a_name_of_its_own(name: str, value: object, tmp_path: Path) -> None:
    row = {"question": "How many days?", "answer": "5 days.", "contexts": ["5 days"], "expected_docs": ["a"]}
    plain = wb.evaluate(wb.load_samples([row]), judge=None, progress=False)
    result = wb.evaluate(wb.load_samples([row | {name: value}]), judge=None, progress=False)
    assert result.samples.frame[name + AS_RECORDED].iloc[0] is not None
    assert result.scores().equals(plain.scores())
    assert result.summary()["method"].tolist() == plain.summary()["method"].tolist()
    assert result.failures()["primary_cause"].tolist() == plain.failures()["primary_cause"].tolist()
    assert name + AS_RECORDED in wb.load_evaluation(result.save(tmp_path / "e")).samples.frame
