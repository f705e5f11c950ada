"""Fixtures of the view tests: a hand-made evaluation, English unless a test chooses otherwise."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from workbench import language


def _load():
    spec = importlib.util.spec_from_file_location("fake_evaluation", Path(__file__).with_name("fake_evaluation.py"))
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["fake_evaluation"] = module
    spec.loader.exec_module(module)
    return module


FAKE = _load()


@pytest.fixture
def fake():
    """The class of a hand-made evaluation."""
    return FAKE.FakeEvaluation


@pytest.fixture(autouse=True)
def english(monkeypatch):
    """Texts in English, whatever other tests chose; error handlers raise."""
    monkeypatch.setattr(language, "_current", "en")
    monkeypatch.setattr(language, "_chosen", True)
    monkeypatch.delenv("WORKBENCH_STRICT", raising=False)
