"""A wrong call of any verb: exit code 2 and one clear line."""

from __future__ import annotations

import pytest

from workbench.cli import VERBS, main

CALLS = [[], ["bogus"], *([verb, "--bogus"] for verb in VERBS), ["score", "x", "--out", "y", "--k", "abc"],
         ["score", "x" * 5000, "--out", "y", "--judge", "none"], ["check", "a\0b"], ["check", "nowhere\nat all.csv"],
         ["report", "nowhere", "--out", "x", "--date", "2020-13-01"], ["gate", "nowhere", "--rules", "nowhere"]]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=lambda call: " ".join(call)[:30].replace("\0", "0"))
def test_one_line_and_exit_code_two(call: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(call)
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    said = capsys.readouterr()
    assert code == 2
    assert not said.out
    assert said.err.startswith("error: ") and said.err.count("\n") == 1 and len(said.err) <= 410
