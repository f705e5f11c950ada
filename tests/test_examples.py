"""The examples in the docstrings of the public names work as they stand, in the folder of the sample data."""

from __future__ import annotations

import doctest
import inspect
from pathlib import Path

import pandas as pd
import pytest

import workbench as wb
from workbench.diagnosis import causes
from workbench.language import get_language, speaking
from workbench.scoring import metrics

FUNCTIONS = [name for name in wb.__all__ if inspect.isfunction(getattr(wb, name))]
CLASSES = ["Collector", "Evaluation", "Session", "Thresholds"]


@pytest.mark.parametrize("name", [*FUNCTIONS, *CLASSES])
def test_each_public_name_has_an_example_that_works(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).resolve().parents[1] / "sample_data" / "support")
    found = doctest.DocTestFinder(recurse=False).find(getattr(wb, name), name, globs={"wb": wb, "pd": pd})
    assert found and found[0].examples, f"{name} has no example"
    with speaking(get_language()):
        result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(found[0], out=print)
    metrics.unregister("answer_words")
    causes.unregister("too_short")
    assert result.failed == 0
