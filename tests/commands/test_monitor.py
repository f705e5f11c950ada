"""``monitor`` on the command line: exit codes, words in both languages, files, and the one line for bad input."""

from __future__ import annotations

import http.server
import json
import shutil
import threading
from pathlib import Path

import pandas as pd
import pytest

from workbench.cli import main
from workbench.language import get_language, set_language

SUPPORT = Path(__file__).resolve().parents[2] / "sample_data" / "support"
LOG = str(SUPPORT / "query_log.jsonl")


@pytest.fixture(autouse=True)
def language():
    before = get_language()
    yield
    set_language(before)


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    path = tmp_path_factory.mktemp("logs") / "healthy.jsonl"
    path.write_text("".join(Path(LOG).read_text("utf-8").splitlines(keepends=True)[:3900]), encoding="utf-8")
    return str(path)


def test_an_alert_exits_with_1_and_says_when_and_by_how_much(capsys):
    assert main(["monitor", LOG]) == 1
    out = capsys.readouterr().out
    assert "▲ 2025-06-10 08:34 UTC: latency p95 is 3,558 ms (n = 200), +94 % relative to the baseline" in out
    assert "refusal rate up by more than 5 percentage points (absolute): baseline 7.4 % (n = 1,487), limit" in out
    assert "alerts: 4, still firing: 4" in out


def test_a_healthy_log_exits_with_0(healthy, capsys):
    assert main(["monitor", healthy]) == 0
    assert "no alert" in capsys.readouterr().out


def test_another_log_and_an_evaluation_as_baseline(healthy, tmp_path, capsys):
    assert main(["monitor", LOG, "--baseline", healthy]) == 1
    saved = shutil.copytree(SUPPORT / "evaluations" / "improved", tmp_path / "improved")
    assert main(["monitor", LOG, "--baseline", str(saved)]) == 1
    caught = capsys.readouterr()
    assert "compared with improved (80 requests)" in caught.out and "An evaluation is a test set" in caught.err
    assert "cannot fire: the baseline has too few values (n = 80 of 100)" in caught.out


def test_a_test_set_whose_level_differs_does_not_hide_the_drift(healthy, capsys):
    """The test set asks harder questions: against it little is worse, against the log's own beginning four things are."""
    saved = str(SUPPORT / "evaluations" / "baseline")
    assert main(["monitor", LOG, "--baseline", saved]) == 1
    first, second = capsys.readouterr().out.split("against the log's own beginning")
    assert "refusal rate is" not in first and "latency p95 is" not in first
    assert "alerts: 4, still firing: 4" in second
    assert main(["monitor", healthy, "--baseline", saved]) == 0


def test_in_chinese(capsys):
    assert main(["monitor", LOG, "--language", "zh", "--window", "6h"]) == 1
    assert "相对基线 +172%" in capsys.readouterr().out


def test_rules_of_ones_own(capsys):
    arguments = ["monitor", LOG, "--until", "2025-06-09T00:00:00Z", "--min-n", "20"]
    assert main([*arguments, "--rule", "error_rate absolute 0.9"]) == 0
    assert main([*arguments, "--rule", "latency_p50 relative 20%"]) == 1
    assert "median latency (p50) up by more than 20 % of the baseline (relative)" in capsys.readouterr().out


def test_files(tmp_path, capsys):
    assert main(["monitor", LOG, "--out", str(tmp_path / "a.json")]) == 1
    found = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert len(found["events"]) == 4 and found["own_baseline"] is True and found["n_read"] == 5000
    assert main(["monitor", LOG, "--out", str(tmp_path / "a.csv")]) == 1
    frame = pd.read_csv(tmp_path / "a.csv")
    assert frame["kind"].tolist() == ["relative", "relative", "absolute", "absolute"]


def test_no_data_no_number(tmp_path, capsys):
    path = tmp_path / "short.csv"
    path.write_text("latency_ms\n1\n2\n3\n4\n", encoding="utf-8")
    assert main(["monitor", str(path)]) == 0
    assert "no window of 200 requests fits in: n = 0, no number" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["no_such_log.jsonl"], "cannot be read"),
        ([LOG, "--baseline", "no_such_folder"], "no_such_folder"),
        ([LOG, "--window", "six hours"], "window or step"),
        ([LOG, "--rule", "latency_p95 0.5"], "absolute|relative"),
        ([LOG, "--rule", "latency_p95 percent 0.5"], "use absolute or relative"),
        ([LOG, "--rule", "speed absolute 0.5"], "no such statistic"),
        ([LOG, "--baseline", LOG, "--until", "2025-06-09"], "exclude each other"),
        ([LOG, "--webhook", "file:///etc/passwd"], "only http"),
        ([LOG, "--out", "alerts.doc"], "unknown kind"),
        ([LOG, "--map", "speed=x"], "not known"),
        ([LOG, "--min-n", "0"], "min_n"),
    ],
)
def test_bad_input_exits_with_2_and_one_line(arguments, says, capsys):
    assert main(["monitor", *arguments]) == 2
    caught = capsys.readouterr()
    assert says in caught.err and len(caught.err.strip().splitlines()) == 1 and caught.out == ""


def test_a_webhook_gets_each_event_and_a_dead_one_changes_nothing(capsys):
    bodies = []

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        assert main(["monitor", LOG, "--webhook", f"http://127.0.0.1:{server.server_port}/x"]) == 1
    finally:
        server.shutdown()
        server.server_close()
    assert len(bodies) == 4
    assert main(["monitor", LOG, "--webhook", "http://127.0.0.1:9/s3cret"]) == 1
    err = capsys.readouterr().err
    assert "could not all be delivered" in err and "s3cret" not in err
