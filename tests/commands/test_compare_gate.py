"""``compare`` and ``gate`` on the command line: what is printed, written and returned."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

from tests.two_runs import two_runs
from workbench.cli import main

RULES = Path(__file__).resolve().parents[2] / "sample_data" / "support" / "gate.toml"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return tuple(str(run.save(folder / run.name)) for run in two_runs())


def test_compare_prints_the_verdict_first_and_then_the_ledger(saved, capsys):
    assert main(["compare", *saved]) == 0
    out = capsys.readouterr().out
    assert out.index("17 points worse") < out.index("retrieval_miss") < out.index("recall@5")
    assert "fixed 1 · broken 2 · still failing 1 · still passing 2 · not comparable 0" in out
    assert "6 matched, 1 only before, 1 only after" in out


def test_compare_in_chinese(saved, capsys):
    assert main(["compare", *saved, "--language", "zh"]) == 0
    assert "下降 17 个百分点" in capsys.readouterr().out


def test_compare_writes_what_the_suffix_says(saved, tmp_path, capsys):
    for suffix in ("csv", "json", "md", "html"):
        assert main(["compare", *saved, "--out", str(tmp_path / f"c.{suffix}")]) == 0
    flips = pd.read_csv(tmp_path / "c.csv")
    assert flips["change"].tolist() == ["fixed", "broken", "broken", "still_failing", "still_passing", "still_passing"]
    content = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))
    assert content["counts"]["broken"] == 2 and sum(row["n"] for row in content["ledger"]) == 6
    assert "# before → after" in (tmp_path / "c.md").read_text(encoding="utf-8")
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>") and "<script" not in page and "17 points worse" in page


@pytest.mark.parametrize(
    "arguments",
    [["compare", "{0}", "nowhere"], ["compare", "{0}", "{1}", "--out", "x.docx"],
     ["gate", "{0}", "--rules", "nowhere.toml"], ["gate", "nowhere", "--rules", str(RULES)],
     ["gate", "{0}", "--rules", str(RULES), "--baseline", "nowhere"]],
)  # fmt: skip
def test_bad_usage_is_exit_2_in_one_line(arguments, saved, capsys):
    assert main([item.format(*saved) for item in arguments]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ") and err.count("\n") == 1 and "Traceback" not in err


def test_gate_exit_codes_and_junit(saved, tmp_path, capsys):
    rules = tmp_path / "gate.toml"
    rules.write_text('[red_lines]\nmust_pass = ["b"]\n[rules.at_least]\npassed = 0.4\n', encoding="utf-8")
    assert main(["gate", saved[0], "--rules", str(rules)]) == 0
    assert "before passes: 2 rules checked." in capsys.readouterr().out
    xml = tmp_path / "gate.xml"
    assert main(["gate", saved[1], "--rules", str(rules), "--junit", str(xml)]) == 1
    out = capsys.readouterr().out
    assert (
        "✗ red line: b must pass: it does not: retrieval miss" in out
        and "after is blocked: 1 of 2 rules failed." in out
    )
    root = ElementTree.parse(xml).getroot()
    assert root.get("failures") == "1" and "b must pass" in root.find(".//testcase").get("name")


def test_gate_refuses_a_bad_rules_file(saved, tmp_path, capsys):
    rules = tmp_path / "gate.toml"
    rules.write_text("[rules.at_least]\nfaithfulnes = 0.9\n", encoding="utf-8")
    assert main(["gate", saved[0], "--rules", str(rules)]) == 2
    assert "did you mean 'faithfulness'" in capsys.readouterr().err


def test_the_example_rules_are_read(saved, capsys):
    """The named cases are not in these runs, so the red lines block; a regression needs its baseline."""
    assert main(["gate", saved[1], "--rules", str(RULES), "--language", "zh"]) == 1
    out = capsys.readouterr().out
    assert "本次评测中没有 qa-010" in out and "没有基线，无法检查" in out
