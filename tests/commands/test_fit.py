"""``fit`` on the command line: the file, the evaluation under it, the report that names it."""

from __future__ import annotations

import json

import pytest

from workbench.cli import main

DATA, LABELS = "sample_data/support/evaluations/baseline", "sample_data/support/verdicts.csv"


def test_a_judge_is_fitted_saved_and_reported(tmp_path, capsys):
    file, folder = tmp_path / "mine.toml", tmp_path / "under"
    assert main(["fit", DATA, "--labels", LABELS, "--error-rate", "0.2", "--name", "mine", "--out", str(file),
                 "--save", str(folder)]) == 0  # fmt: skip
    said = capsys.readouterr().out
    assert "32 labels agree" in said and "refusal: 22 labels; it takes 30." in said and str(file) in said
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["fitted"]["name"] == "mine" and "NaN" not in json.dumps(manifest["fitted"])
    for language, words in (("en", "Fitted judge: mine"), ("zh", "拟合评判者：mine")):
        out = tmp_path / f"report.{language}.md"
        assert main(["report", str(folder), "--format", "md", "--language", language, "--out", str(out)]) == 0
        assert words in out.read_text(encoding="utf-8") and manifest["fitted"]["hash"] in out.read_text(encoding="utf-8")
    assert main(["fit", str(folder), "--labels", LABELS]) == 2
    assert "already" in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--labels", "missing.csv"], ["--labels", LABELS, "--error-rate", "2"]])
def test_what_cannot_be_fitted_is_said_in_one_line(options, tmp_path, capsys):
    assert main(["fit", DATA, *options, "--out", str(tmp_path / "judge.toml")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error:") and error.count("\n") == 1 and not (tmp_path / "judge.toml").exists()
