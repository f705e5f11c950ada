"""A damaged evaluation is one clear error that names the file; nothing of it is attributed to the wrong sample."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import workbench as wb

FRAMES = ("samples", "contexts", "claims", "support")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two judged samples on disk."""
    samples = wb.load_samples([
        {"question": f"How many days {i}?", "answer": "It is 5 days.", "contexts": ["It is 5 days."], "tags": {"a": 1}}
        for i in range(2)
    ])  # fmt: skip
    result = wb.evaluate(samples, judge="offline", encoder="none", progress=False)
    return result.save(tmp_path_factory.mktemp("saved") / "evaluation")


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    import shutil

    return Path(shutil.copytree(saved, tmp_path / "evaluation"))


def opened(folder: Path) -> None:
    """Open an evaluation and look at everything."""
    result = wb.load_evaluation(folder)
    for table in (result.scores, result.failures, result.claims, result.contexts, result.support, result.spans):
        table()
    assert len(result.samples) == 2


def refused(folder: Path) -> str:
    """The one line that opening it gives."""
    with pytest.raises(wb.InputError) as caught:
        opened(folder)
    assert len(str(caught.value)) <= 400
    return str(caught.value)


@pytest.mark.parametrize("name", [f"{frame}.parquet" for frame in FRAMES])
@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b[: len(b) // 2], lambda b: b"\0" * len(b)])
def test_a_cut_off_file(folder: Path, name: str, damage: Callable[[bytes], bytes]) -> None:
    (folder / name).write_bytes(damage((folder / name).read_bytes()))
    assert name in refused(folder)


@pytest.mark.parametrize(("frame", "column"), [("claims", "start"), ("claims", "other_entail"), ("contexts", "rank"),
                                               ("contexts", "relevance"), ("support", "entail")])  # fmt: skip
def test_values_of_the_wrong_kind(folder: Path, frame: str, column: str) -> None:
    path = folder / f"{frame}.parquet"
    pd.read_parquet(path).assign(**{column: "{bad"}).to_parquet(path, index=False)
    assert f"{frame}.parquet" in refused(folder)


@pytest.mark.parametrize("frame", ["contexts", "claims", "support"])
def test_a_row_without_a_sample_belongs_to_none(folder: Path, frame: str) -> None:
    path = folder / f"{frame}.parquet"
    rows = pd.read_parquet(path)
    ids = rows["sample_id"].astype(object)
    ids.iloc[0] = None
    rows.assign(sample_id=pd.Categorical(ids)).to_parquet(path, index=False)
    assert "stands in no row of samples" in refused(folder)


@pytest.mark.parametrize("column", ["tags", "judge_missing", "judge_conflicts", "input_errors"])
def test_a_nested_column_that_is_no_json(folder: Path, column: str) -> None:
    path = folder / "samples.parquet"
    pd.read_parquet(path).assign(**{column: "{bad"}).to_parquet(path, index=False)
    assert f"column {column} holds no JSON" in refused(folder)


@pytest.mark.parametrize("spans", ["{bad", "5", "[5]", '[{"start": 1}]', "[" * 100_000])
def test_spans_that_are_no_list_of_parts(folder: Path, spans: str) -> None:
    path = folder / "claims.parquet"
    pd.read_parquet(path).assign(spans=spans).to_parquet(path, index=False)
    assert "claims.parquet: column spans" in refused(folder)


@pytest.mark.parametrize(("column", "value"), [("judge_method", 5), ("judge_method", ["a"]), ("text_format", "sideways"),
                                               ("text_format", 1.5)])  # fmt: skip
def test_a_word_that_is_none_of_those_known(folder: Path, column: str, value: object) -> None:
    path = folder / "samples.parquet"
    rows = pd.read_parquet(path)
    rows[column] = [value] * len(rows)
    rows.to_parquet(path, index=False)
    assert f"samples.parquet: column {column}" in refused(folder)


@pytest.mark.parametrize("manifest", ["[]", "{", "null", '{"layout": "x"}', '{"layout": 99}', '{"metrics": ["nope"]}',
                                      '{"metrics": 5}'])  # fmt: skip
def test_a_damaged_manifest(folder: Path, manifest: str) -> None:
    (folder / "manifest.json").write_text(manifest, encoding="utf-8")
    refused(folder)


@pytest.mark.parametrize("text", ["[thresholds]\nk = 0", "x", "thresholds = 5", "[thresholds.targets]\na = 'b'"])
def test_damaged_thresholds(folder: Path, text: str) -> None:
    (folder / "thresholds.toml").write_text(text, encoding="utf-8")
    refused(folder)


def test_without_a_manifest_it_still_opens(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    (folder / "manifest.json").unlink()
    assert manifest["layout"] == 1
    opened(folder)
