"""The list of traps names tests that exist."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def test_every_trap_has_its_tests() -> None:
    groups = tomllib.loads(Path(__file__).with_name("where.toml").read_text(encoding="utf-8"))
    named = {place for traps in groups.values() for places in traps.values() for place in places}
    assert all(places for traps in groups.values() for places in traps.values())
    files = {place.partition("::")[0] for place in named}
    there = {f"{file}::{test}" for file in files for test in _tests(TESTS / file)}
    assert named - there == set()


def _tests(path: Path) -> list[str]:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return [node.name for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
