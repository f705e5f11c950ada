"""Ctrl-C: the command ends at once, and what was judged until then is not judged again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from workbench.evidence.cache import Cache
from workbench.evidence.run import NAMESPACE


def test_an_interrupted_score_ends_at_once_and_goes_on_where_it_was(tmp_path: Path) -> None:
    rows = [
        {"sample_id": f"{at}", "question": f"When was house {at} built?", "answer": f"It was built in {1900 + at % 99}.",
         "contexts": [f"House {at} was built in {1900 + at % 97} by a firm from the north.", f"House {at} is tall."]}
        for at in range(2500)
    ]  # fmt: skip
    data, cache = tmp_path / "run.jsonl", Cache(tmp_path / "cache")
    data.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    command = [sys.executable, "-m", "workbench", "score", str(data), "--encoder", "none", "--out", str(tmp_path / "out")]
    options = {"env": os.environ | {"WORKBENCH_CACHE": str(cache.folder)}, "text": True, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, stdout=subprocess.PIPE, **options) as running:
        while cache.count(NAMESPACE) == 0:
            time.sleep(0.05)
            assert running.poll() is None
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    assert running.returncode == 130 and "what was finished is kept" in said and not (tmp_path / "out").exists()
    kept = cache.count(NAMESPACE)
    again = subprocess.run(command, stdout=subprocess.PIPE, check=True, **options)
    known = int(re.search(r"([\d,]+) known from before", again.stdout)[1].replace(",", ""))
    assert 0 < kept == known < 2500
