from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest

from workbench.data.files import JsonLines
from workbench.data.formats.source import read_records


def _many(path: Path, name: int) -> None:
    lines = JsonLines(path, sync=False)
    for n in range(50):
        lines.append({"name": name, "n": n, "text": "字" * 2000})


def test_lines_of_several_processes_stand_whole(tmp_path):
    path = tmp_path / "deep" / "log.jsonl"
    workers = [multiprocessing.get_context("fork").Process(target=_many, args=(path, name)) for name in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    found = JsonLines(path)
    assert len(found.read_new()) == 150 and found.unreadable == 0
    assert found.read_new() == []


def test_a_torn_line_is_never_glued_to_the_next(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"a": 1}\n[2]\n{"b"', encoding="utf-8")
    lines = JsonLines(path, ascii=False)
    assert lines.read_new() == [{"a": 1}] and lines.unreadable == 1
    lines.append({"c": "中"}, {"d": 4})
    assert lines.read_new() == [{"c": "中"}, {"d": 4}] and lines.unreadable == 2
    assert "中" in path.read_text(encoding="utf-8")


def test_appending_nothing_tries_the_place(tmp_path):
    lines = JsonLines(tmp_path / "log.jsonl")
    assert lines.read_new() == []
    lines.append()
    assert (tmp_path / "log.jsonl").read_bytes() == b""
    with pytest.raises(OSError):
        JsonLines(tmp_path).append()


def test_a_log_of_one_record(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"latency_ms": 5, "faithfulness": [0.5]}) + "\n", encoding="utf-8")
    assert read_records(path, log=True).rows == [{"latency_ms": 5, "faithfulness": [0.5]}]
    (tmp_path / "log.csv").write_text("latency_ms,refused\n5,no\n7,\n", encoding="utf-8")
    found = read_records(tmp_path / "log.csv", log=True)
    assert found.rows == [{"latency_ms": "5", "refused": "no"}, {"latency_ms": "7", "refused": None}]
