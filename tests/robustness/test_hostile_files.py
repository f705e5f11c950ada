"""Files made to fill time or memory end in one clear line (or are read) within 5 CPU seconds and 1 GB."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import workbench as wb
from workbench.data.formats import source
from workbench.errors import WorkbenchError

DEEP = 1_000_000
#: Loads each file of a folder in turn and says time, memory at its highest so far, and what came of it.
LOADER = """
import json, re, sys, time
from pathlib import Path
import workbench as wb
from workbench.errors import WorkbenchError
wb.load_samples([{"question": "What is loaded first?"}])
for path in sorted(Path(sys.argv[1]).iterdir()):
    started = time.process_time()
    try:
        said = f"{len(wb.load_samples(path))} rows"
    except WorkbenchError as error:
        said = str(error)
    # Of this program alone: ``ru_maxrss`` begins with what the one that started it had.
    peak = int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
    print(json.dumps([path.name, time.process_time() - started, peak, said]), flush=True)
"""


def workbook(sheet: bytes) -> bytes:
    """A workbook of one sheet whose XML is ``sheet``."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")
        with archive.open("xl/worksheets/sheet1.xml", "w") as part:
            for _ in range(len(sheet) and 200):
                part.write(sheet)
    return packed.getvalue()


def hostile(folder: Path) -> None:
    """One file of each kind."""
    files = {
        "deep_list.json": "[" * DEEP,
        "deep_closed.json": "[" * DEEP + "]" * DEEP,
        "deep_object.json": '{"a":' * DEEP + "1" + "}" * DEEP,
        "deep_line.jsonl": '{"question": "ok"}\n{"question": ' + "[" * DEEP + "\n",
        "deep_cell.csv": 'question,contexts\nWhy?,"' + "[" * DEEP + '"\n',
        "deep_repr.csv": 'question,contexts\nWhy?,"' + "{'a': " * 100_000 + '"\n',
        "backslashes.csv": "question,contexts\nWhy?,\"['" + "\\" * 500_000 + '"\n',
        "quotes.csv": "question,contexts\nWhy?," + '"' * 1_000_001 + "\n",
        "one_after_another.json": "{}\n" * 200_000 + "{",
        "nul.jsonl": '{"question": "a\\u0000b"}\n' + "\x00" * 5_000_000,
        "nul.csv": "question,answer\n" + "\x00," * 500_000 + "\n",
        "formula.csv": "question,answer\n\"=HYPERLINK(\"\"http://x\"\")\",=cmd|' /C calc'!A0\n",
        "wide.csv": "question," + ",".join(f"c{n}" for n in range(16_000)) + "\nWhy?\n",
        "wider.csv": "question," + ",".join(f"c{n}" for n in range(50_000)) + "\nWhy?\n",
        "number.json": '[{"question": "Why?", "n": ' + "9" * 1_000_000 + "}]",
        "brackets.json": "[{]}" * 500_000,
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "bomb.xlsx").write_bytes(workbook(b"0" * 1_000_000))
    big = pa.array(["x" * 20_000])
    bomb = pa.DictionaryArray.from_arrays(pa.array([0] * 200_000, pa.int32()), big)
    pq.write_table(pa.table({"question": bomb, "answer": bomb}), folder / "bomb.parquet")
    with (folder / "line_of_1_gb.jsonl").open("wb") as stream:
        stream.write(b'{"question": "')
        stream.truncate(1024**3)  # takes no place on the disk
    with (folder / "second_line_of_1_gb.jsonl").open("wb") as stream:
        stream.write(b'{"question": "Why?"}\n{"question": "')
        stream.truncate(1024**3)


def test_hostile_files_end_in_time_and_memory(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    hostile(folder)
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", LOADER, str(folder)], capture_output=True, text=True, timeout=600, cwd=root,
                          env={**os.environ, "PYTHONPATH": str(root)})  # fmt: skip
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [name for name, *_ in found] == sorted(item.name for item in folder.iterdir()), done.stderr[-2000:]
    for name, seconds, peak, said in found:
        assert seconds < 5 and peak < 1024**2, (name, seconds, peak)
        assert said.endswith(" rows") or (said.startswith((name, "the table")) and "\n" not in said and len(said) < 500), said
    told = {name: said for name, _, _, said in found}
    bad = ("wider.csv", "bomb.xlsx", "bomb.parquet", "line_of_1_gb.jsonl", "second_line_of_1_gb.jsonl", "deep_list.json")
    for name in bad:
        assert not told[name].endswith(" rows"), told
    assert told["formula.csv"] == "1 rows"


def test_a_long_line_is_found_wherever_it_stands(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "MAX_LINE", 1000)
    monkeypatch.setattr(source, "_CHUNK", 10)
    file = tmp_path / "x.jsonl"
    long = '{"question": "' + "a" * 1200 + '"}'
    for lines in ([long], ['{"question": "q"}', long], [*['{"question": "q"}'] * 40, long]):
        file.write_text("\n".join(lines), encoding="utf-8")
        with pytest.raises(WorkbenchError, match=r"line .* longer than"):
            wb.load_samples(file)
    file.write_text("\n".join(json.dumps({"id": at, "question": "q"}) for at in range(80)), encoding="utf-8")
    assert len(wb.load_samples(file)) == 80
