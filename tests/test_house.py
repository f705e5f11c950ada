"""The inside of the package keeps its order: no circle of imports, languages in their folders, all of it in the wheel."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import grimp
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

ROOT = Path(__file__).resolve().parents[1]


def test_no_circle_of_imports_those_inside_functions_counted() -> None:
    graph = grimp.build_graph("workbench", exclude_type_checking_imports=True)
    names = sorted(graph.modules)
    place = {name: at for at, name in enumerate(names)}
    edges = np.array([(place[a], place[b]) for a in names for b in graph.find_modules_directly_imported_by(a)])
    matrix = csr_array((np.ones(len(edges)), edges.T), shape=(len(names), len(names)))
    _, component = connected_components(matrix, connection="strong")
    within = {at: [n for n, c in zip(names, component, strict=True) if c == at] for at in set(component.tolist())}
    assert not [circle for circle in within.values() if len(circle) > 1]


def test_languages_stand_in_their_folders() -> None:
    """At most eight modules outside may hold Chinese or ask for it: the grammar of numerals, and what fits the models."""
    files = [path for path in (ROOT / "workbench").rglob("*.py") if "language" not in path.parts]
    found = [path for path in files if re.search('"zh"|[\u4e00-\u9fff]', path.read_text(encoding="utf-8"))]
    assert len(found) <= 8, sorted(map(str, found))


def test_the_wheel_holds_every_module_and_resource(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    kinds = {".py", ".toml", ".json", ".txt", ".j2", ".css", ".js", ".otf"}
    there = [path for path in (ROOT / "workbench").rglob("*") if path.suffix in kinds and "__pycache__" not in path.parts]
    assert {path.relative_to(ROOT).as_posix() for path in there} <= packed


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys, workbench.cli as c\ntry: c.main(['--help'])\nexcept SystemExit: pass\n"
        "sys.exit(str([m for m in ('pandas', 'numpy', 'sklearn', 'torch') if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stderr.strip().endswith("[]")
