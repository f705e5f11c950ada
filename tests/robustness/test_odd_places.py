"""Where things are written: devices and foreign files are never replaced, every refusal is one clear error."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.data.files import replacing, replacing_folder, write_text


@pytest.fixture
def evaluation() -> wb.Evaluation:
    """The smallest one."""
    return wb.evaluate(wb.load_samples([{"question": "q?", "answer": "a."}]), judge=None, progress=False)


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """Something that exists and is neither a file nor a folder."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_a_device_or_pipe_is_never_replaced(pipe: Path, evaluation: wb.Evaluation) -> None:
    with pytest.raises(wb.InputError, match="no folder"):
        evaluation.save(pipe)
    with pytest.raises(wb.InputError, match="no folder"), replacing_folder(pipe):
        pass
    with pytest.raises(wb.InputError, match="no ordinary file"):
        write_text(pipe, "x")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert [path.name for path in pipe.parent.iterdir()] == ["pipe"]


@pytest.mark.parametrize("place", ["a\0b", "\ud800", "x" * 300, 5, None])
def test_an_impossible_place_is_an_input_error(place: Any, evaluation: wb.Evaluation, tmp_path: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    with pytest.raises(wb.InputError) as caught:
        evaluation.save(place)
    assert len(str(caught.value)) <= 400 and "\n" not in str(caught.value)
    with pytest.raises(wb.InputError):
        wb.load_evaluation(place)
    assert not list(tmp_path.iterdir())


def test_saving_into_the_folder_one_stands_in(evaluation: wb.Evaluation, tmp_path: Path,
                                              monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    folder = evaluation.save(tmp_path / "评测 é😀")
    monkeypatch.chdir(folder)
    evaluation.save(".")
    assert wb.load_evaluation(tmp_path / "评测 é😀").scores().equals(evaluation.scores())
    assert [path.name for path in tmp_path.iterdir()] == ["评测 é😀"]


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    for context in (replacing(tmp_path / "a"), replacing_folder(tmp_path / "b")):
        with pytest.raises(wb.InputError, match="No space left"), context:
            raise OSError(28, "No space left on device")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("runs", [(None, None), (5, 5), ("nowhere", "nowhere")])
def test_comparing_what_is_no_evaluation(runs: tuple[Any, Any]) -> None:
    with pytest.raises(wb.InputError):
        wb.compare(*runs)


def test_alternatives_of_refusal_phrases_are_phrases() -> None:
    samples = wb.load_samples([{"question": "q?", "answer": "nope sir", "refusal_phrases": [["nope sir", "never"], "no way"]}])
    assert samples.frame["refusal_phrases"].iloc[0] == ["nope sir", "never", "no way"]
    result = wb.evaluate(samples, judge="offline", encoder="none", progress=False)
    assert result.scores()["refused"].tolist() == [1.0]
