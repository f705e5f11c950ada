"""Evaluations that reports are made of; English unless a test chooses otherwise."""

from __future__ import annotations

import datetime

import pytest

import workbench as wb
from tests.reports.hostile import ROWS
from workbench import language

DATE = datetime.date(2026, 11, 29)


@pytest.fixture(autouse=True)
def english(monkeypatch):
    """Texts in English, whatever other tests chose."""
    monkeypatch.setattr(language, "_current", "en")
    monkeypatch.setattr(language, "_chosen", True)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    """A saved evaluation of texts that try to break out."""
    folder = tmp_path_factory.mktemp("reports") / "hostile"
    result = wb.evaluate(wb.load_samples(ROWS), judge="offline", encoder="none", progress=False, name="<i>run</i>")
    result.save(folder)
    return folder


@pytest.fixture
def evaluation(hostile):
    """The evaluation, opened."""
    return wb.load_evaluation(hostile)


@pytest.fixture(scope="session")
def better(tmp_path_factory):
    """The same cases, of which one was repaired and one broke."""
    folder = tmp_path_factory.mktemp("reports") / "better"
    rows = [dict(row) for row in ROWS]
    rows[2]["answer"], rows[3]["answer"] = "企业版支持 500 个并发会话。", "There are 900 sessions."
    wb.evaluate(wb.load_samples(rows), judge="offline", encoder="none", progress=False, name="better").save(folder)
    return folder
