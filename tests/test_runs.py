"""Runs that know themselves: configurations from file to evaluation, the index beside the runs, the history command."""

from __future__ import annotations

import json
import sqlite3

import pytest

import workbench as wb
from tests.two_runs import RIGHT, WRONG, case, run
from workbench.cli import main
from workbench.data.run_config import plain_config, read_config
from workbench.errors import InputError
from workbench.runs import INDEX


@pytest.fixture(autouse=True)
def english():
    wb.set_language("en")
    yield
    wb.set_language(None)


def save(folder, name, bad, config, date, n=30):
    rows = [case(f"q{at}", WRONG if at < bad else RIGHT) for at in range(n)]
    run(rows, name, config={**config, "date": date}).save(folder / name)


@pytest.fixture
def runs(tmp_path):
    """Four runs; the third changes the prompt and breaks half of the samples."""
    for at, (bad, config) in enumerate([(2, {"k": 5}), (2, {"k": 5}), (17, {"k": 8}), (17, {"k": 8})]):
        save(tmp_path / "runs", f"run {at + 1}", bad, {"model": "m", **config}, f"2026-01-0{at + 1}")
    return tmp_path / "runs"


def test_a_configuration_is_flat_short_and_keeps_no_secret(tmp_path):
    found = plain_config({"retriever": {"k": 5}, "prompt": "line\n" * 50, "api_key": "s3cr3t", "none": None, "on": True})
    assert found["retriever.k"] == 5 and found["prompt"].startswith("sha256:") and found["on"] is True
    assert "s3cr3t" not in str(found) and "none" not in found
    (tmp_path / "c.toml").write_text('[config]\nmodel = "a"\nk = 3\ndate = 2026-01-02\n', encoding="utf-8")
    assert read_config(tmp_path / "c.toml") == {"model": "a", "k": 3, "date": "2026-01-02"}
    with pytest.raises(InputError, match="not valid TOML"):
        (tmp_path / "bad.toml").write_text("a b", encoding="utf-8")
        read_config(tmp_path / "bad.toml")


def test_the_configuration_of_a_recording_reaches_its_evaluation(tmp_path):
    path = tmp_path / "run.jsonl"
    row = {"question": "Q?", "answer": "5", "must_include": ["5"], "config": {"model": "column", "k": 5, "temp": 1}}
    path.write_text(json.dumps(row) + "\n" + json.dumps(row | {"config": {"model": "column", "k": 9}}), encoding="utf-8")
    (tmp_path / "run.manifest.json").write_text(
        json.dumps({"config": {"model": "manifest", "index": 3}, "started": "2026-01-01"}), encoding="utf-8"
    )
    assert wb.load_samples(path).attributes["config"] == {"model": "column", "index": 3, "date": "2026-01-01"}
    (tmp_path / "run.toml").write_text('model = "beside"', encoding="utf-8")
    out = tmp_path / "out"
    given = ["score", str(path), "--judge", "none", "--quiet", "--out", str(out), "--config", "k=7", "--config", "prompt=v2"]
    assert main(given) == 0
    config = wb.load_evaluation(out).manifest["config"]
    assert config == {"model": "beside", "index": 3, "date": "2026-01-01", "k": 7, "prompt": "v2"}


def test_a_history_is_one_row_a_run_in_the_order_of_dates(runs):
    found = wb.history(runs, progress=False)
    table = found.table
    assert table["run"].tolist() == ["run 1", "run 2", "run 3", "run 4"] and table["config.k"].tolist() == [5, 5, 8, 8]
    assert table["passed"].round(3).tolist() == [0.933, 0.933, 0.433, 0.433]
    assert "recall@5" in table and table["cause.contradiction"].sum() == 38
    step = found.regressions.iloc[0]
    assert (step["run"], step["blamed"]) == ("run 3", ["k"]) and found.regressed
    assert found.open("run 3").name == "run 3" and found.config("run 1")["k"] == 5


def test_the_index_is_used_and_follows_what_changed(runs, monkeypatch):
    wb.history(runs, progress=False)
    import workbench.runs as module

    read = []
    load = module.load_evaluation
    monkeypatch.setattr(module, "load_evaluation", lambda path, **more: read.append(path.name) or load(path, **more))
    first = wb.history(runs, progress=False)
    assert not read and first.series.steps()["verdict"].tolist() == ["noise", "broke", "noise"]
    save(runs, "run 4", 2, {"model": "m", "k": 8}, "2026-01-04")
    assert not wb.history(runs, progress=False).regressed and read == ["run 4"]
    (runs / INDEX).write_bytes(b"no database")
    assert len(wb.history(runs, progress=False)) == 4 and len(read) == 5, "a damaged index is made anew"
    with sqlite3.connect(runs / INDEX) as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (4,)


def test_other_thresholds_are_a_change_that_is_named(runs, tmp_path):
    changed = wb.load_evaluation(runs / "run 2")
    changed = changed.with_thresholds(changed.thresholds.replace(k=8, support=0.6))
    found = wb.history({"a": runs / "run 1", "b": changed}, progress=False).series
    assert found.changes_between(0, 1) == "thresholds default → k=8, support=0.6"


def test_runs_that_cannot_be_read_say_so(tmp_path):
    with pytest.raises(InputError, match="is no folder"):
        wb.history(tmp_path / "absent")
    with pytest.raises(InputError, match="holds no evaluation"):
        wb.history(tmp_path)
    with pytest.raises(InputError, match="measure 'recall' is not known"):
        wb.history(tmp_path, measure="recall")


@pytest.mark.parametrize(
    ("language", "words"), [("en", "run 3 broke it: 50 points worse"), ("zh", "run 3 开始变坏：比 run 2 低 50")]
)
def test_the_command_says_what_broke_it_and_fails(runs, capsys, language, words):
    assert main(["history", str(runs), "--language", language]) == 1
    assert words in capsys.readouterr().out


def test_markdown_links_to_the_cards_of_the_page(runs, tmp_path, capsys):
    page = tmp_path / "history.html"
    assert main(["history", str(runs), "--format", "html", "--out", str(page)]) == 1
    assert main(["history", str(runs), "--format", "md", "--cards", "history.html"]) == 1
    markdown = capsys.readouterr().out
    assert "[q10](history.html#sample-q10)" in markdown and 'id="sample-q10"' in page.read_text(encoding="utf-8")
    assert main(["history", str(runs), "--format", "json"]) == 1
    content = json.loads(capsys.readouterr().out)
    assert content["regressed"] and content["steps"][1]["blamed"] == ["k"] and len(content["runs"]) == 4
    assert main(["history", str(runs / "run 1"), str(runs / "run 2")]) == 0
    assert main(["history", str(runs), "--format", "html"]) == 2, "a page needs a file"
    assert main(["history", str(runs), "--bisect", "run 1", "run 3"]) == 0
    assert "k made it worse: 5 → 8." in capsys.readouterr().out


def test_the_gate_leaves_flaky_samples_out_on_request(tmp_path, capsys):
    for at in range(3):
        rows = [case(f"q{n}", WRONG if n == 0 and at else RIGHT) for n in range(10)]
        run(rows, f"r{at}", config={"k": 5, "date": str(at)}).save(tmp_path / "runs" / f"r{at}")
    rules = tmp_path / "gate.toml"
    rules.write_text('[red_lines]\nmust_pass = ["q0", "q1"]\n', encoding="utf-8")
    command = ["gate", str(tmp_path / "runs" / "r2"), "--rules", str(rules)]
    assert main(command) == 1
    assert main([*command, "--history", str(tmp_path / "runs")]) == 0
    assert "it flips without a change (1 flaky samples" in capsys.readouterr().out


def test_names_that_hold_markup_stay_text(tmp_path):
    for at, bad in enumerate((0, 20)):
        rows = [case(f"<b>q{n}|", WRONG if n < bad else RIGHT) for n in range(30)]
        config = {"date": f"{at}", "<img src=x>": f"<script>{at}</script>|"}
        run(rows, f"[r](x){at}", config=config).save(tmp_path / "runs" / f"r{at}")
    page = tmp_path / "h.html"
    assert main(["history", str(tmp_path / "runs"), "--format", "html", "--out", str(page)]) == 1
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text and "<img src=x" not in text and "<b>q" not in text
    out = tmp_path / "h.md"
    assert main(["history", str(tmp_path / "runs"), "--format", "md", "--out", str(out)]) == 1
    assert "<script" not in out.read_text(encoding="utf-8") and "[r](x)" not in out.read_text(encoding="utf-8")
