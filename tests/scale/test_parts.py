"""A result in parts is one evaluation: what is shown of it is what the same samples in one folder show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import workbench as wb
from tests.scripted import random_rows
from workbench import evaluation as evaluations
from workbench.evaluation import Evaluation, load_evaluation
from workbench.evidence.parts import PARTS, write_parts
from workbench.views.card import card_html
from workbench.views.session import Session

ROWS = random_rows(60)
CHANGED = [row | ({"answer": "It is 5."} if at % 3 == 0 else {}) for at, row in enumerate(ROWS)]


def evaluated(rows: list[dict[str, Any]]) -> Evaluation:
    return wb.evaluate(rows, encoder="none", progress=False)


def in_parts(rows: list[dict[str, Any]], folder: Path, size: int = 20) -> Path:
    places = range(0, len(rows), size)
    parts = [evaluated(rows[start : start + size]).save(folder / f"{start:05d}-part") for start in places]
    write_parts(folder, parts)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return in_parts(ROWS, tmp_path_factory.mktemp("runs") / "before")


@pytest.fixture(scope="module")
def whole() -> Evaluation:
    return evaluated(ROWS)


@pytest.mark.parametrize("thresholds", [None, wb.Thresholds(k=2, support=0.9)])
@pytest.mark.parametrize("name", ["scores", "states", "summary", "failures", "head"])
def test_what_is_said_of_all_samples_is_that_of_one_evaluation(
    name: str, thresholds: wb.Thresholds | None, folder: Path, whole: Evaluation
) -> None:
    parts = load_evaluation(folder, thresholds=thresholds)
    one = whole if thresholds is None else whole.with_thresholds(thresholds)
    pd.testing.assert_frame_equal(getattr(parts, name)(), getattr(one, name)())


@pytest.mark.parametrize("name", ["claims", "contexts", "support", "spans", "errors"])
def test_tables_of_evidence_have_the_same_rows(name: str, folder: Path, whole: Evaluation) -> None:
    def rows(frame: pd.DataFrame) -> list[str]:
        return sorted(str(row) for row in frame.astype(object).where(frame.notna(), None).itertuples(index=False))

    assert rows(getattr(load_evaluation(folder), name)()) == rows(getattr(whole, name)())


def test_groups_slices_and_words_are_those_of_one_evaluation(tmp_path: Path) -> None:
    rows = [
        {"sample_id": f"s{at}", "question": f"How many days has month {at}?", "must_include": ["5 days"],
         "answer": "It has 7 days." if at % 4 == 0 and at % 8 else "It has 5 days.", "tags": {"team": "ab"[at % 4 == 0]}}
        for at in range(240)
    ]  # fmt: skip
    parts, one = load_evaluation(in_parts(rows, tmp_path / "run", 80)), evaluated(rows)
    for ask in (wb.worst_slices, wb.query_types, wb.failing_terms, lambda source: wb.breakdown(source, ("team", "length"))):
        pd.testing.assert_frame_equal(ask(parts), ask(one))


@pytest.mark.parametrize("size", [20, 24])
def test_two_results_are_compared_however_they_were_cut(size: int, folder: Path, whole: Evaluation, tmp_path: Path) -> None:
    after, other = load_evaluation(in_parts(CHANGED, tmp_path / "after", size)), evaluated(CHANGED)
    expected = wb.compare(whole, other)
    for before in (load_evaluation(folder), whole):
        found = wb.compare(before, after)
        pd.testing.assert_frame_equal(found.flips(), expected.flips())
        pd.testing.assert_frame_equal(found.tests(), expected.tests())


def test_parts_whose_ids_clash_are_told_apart(tmp_path: Path) -> None:
    parts = [evaluated(ROWS[start : start + 5]).renamed({row["sample_id"]: str(at) for at, row in enumerate(ROWS[start:])})
             .save(tmp_path / f"{start}") for start in (0, 5)]  # fmt: skip
    write_parts(tmp_path, parts)
    found = load_evaluation(tmp_path)
    assert list(found.evidence.ids) == [f"{part}:{at}" for part in (1, 2) for at in range(5)]
    assert found.one("2:3").evidence.plain("question")[0] == ROWS[8]["question"]
    assert set(found.claims()["sample_id"]) == set(found.evidence.ids)


def test_no_more_evidence_than_allowed_stays_in_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []
    real = evaluations.load_evaluation
    monkeypatch.setattr(evaluations, "KEPT_OPEN", 20)
    monkeypatch.setattr(evaluations, "_OPEN_PARTS", evaluations._OpenParts())
    monkeypatch.setattr(evaluations, "load_evaluation", lambda part: opened.append(part) or real(part))
    found = real(folder)
    for kept in (3, 5):  # one of three parts stays, the others are read again
        found.failures()
        assert len(opened) == kept and len(evaluations._OPEN_PARTS._opened) == 1
    for sample_id in ("s000050", "s000051", "s000050"):
        found.one(sample_id).scores()
    assert len(opened) == 6 and len(evaluations._OPEN_PARTS._opened) == 1


def test_what_needs_all_evidence_at_once_says_so(folder: Path, tmp_path: Path) -> None:
    found = load_evaluation(folder)
    for ask in (lambda: found.view, lambda: found.samples, lambda: found.evidence.support, lambda: found.save(tmp_path / "x")):
        with pytest.raises(wb.InputError, match="3 parts; open one of them, such as 00000-part"):
            ask()


@pytest.mark.parametrize("content", ["{", "[]", json.dumps({"parts": ["gone"]})])
def test_a_damaged_list_of_parts_is_named(content: str, tmp_path: Path) -> None:
    (tmp_path / PARTS).write_text(content, encoding="utf-8")
    with pytest.raises(wb.InputError, match="score the files again"):
        wb.open(tmp_path)


def test_panels_show_all_parts(folder: Path, whole: Evaluation, tmp_path: Path) -> None:
    opened = wb.open(in_parts(CHANGED, folder.parent / "after"), progress=False)
    session, one = Session(opened, path=tmp_path / "a"), Session(evaluated(CHANGED), path=tmp_path / "b")
    for name in ("score", "low_scores", "query_types"):
        shown, expected = (getattr(wb.panels, name)(own) for own in (session, one))
        pd.testing.assert_frame_equal(shown.table(), expected.table())
    shown, expected = wb.panels.compare(session, before=folder), wb.panels.compare(one, before=whole)
    for panel in (shown, expected):
        panel.series.work.join()
    pd.testing.assert_frame_equal(shown.table(), expected.table())
    assert [str(shown.body(name)) for name in shown.ids()[:3]] == [str(expected.body(name)) for name in shown.ids()[:3]]
    assert card_html(session, "s000045") == card_html(one, "s000045")
