"""How many files of the package do the common steps enter? Fewer is easier to follow, and to step through.

``python tests/benchmarks/files_entered.py [FOLDER] [-v]``; FOLDER holds the sample data (default: this repository's).
"""

from __future__ import annotations

import inspect
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import workbench as wb

ROOT = str(Path(wb.__file__).parent)


def entered(step: Callable[[], Any]) -> tuple[Any, set[str]]:
    """What ``step`` returns, and the files of the package in which it called a function; importing does not count."""
    files: set[str] = set()

    def note(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_flags & inspect.CO_OPTIMIZED and code.co_filename.startswith(ROOT):
            files.add(code.co_filename)

    sys.setprofile(note)
    try:
        result = step()
    finally:
        sys.setprofile(None)
    return result, files


def measure(folder: Path) -> dict[str, set[str]]:
    """Step → the files that it enters, on the sample data in ``folder``."""
    found: dict[str, set[str]] = {}
    with tempfile.TemporaryDirectory() as cache:
        path = folder / "support" / "runs" / "baseline.jsonl"
        corpus = wb.load_corpus(folder / "support" / "corpus.jsonl")
        samples, found["load_samples"] = entered(lambda: wb.load_samples(path))
        evaluation, found["evaluate (cold)"] = entered(
            lambda: wb.evaluate(samples, corpus=corpus, encoder="none", cache_dir=cache, progress=False)
        )
        _, found["failures()"] = entered(evaluation.failures)
        session = wb.Session(wb.load_evaluation(folder / "support" / "evaluations" / "baseline"), path=Path(cache) / "s")
        panel, found["opening panel 02"] = entered(lambda: wb.panels.low_scores(session))
        slider = panel.cut

        def move() -> None:
            slider.value = round(slider.value - 0.05, 2)

        _, found["first slider step"] = entered(move)  # from failures by cause to low scores: another list and card
        _, found["one slider step"] = entered(move)
    return found


if __name__ == "__main__":
    folders = [name for name in sys.argv[1:] if not name.startswith("-")]
    here = Path(folders[0]) if folders else Path(__file__).parents[2] / "sample_data"
    for step, files in measure(here).items():
        print(f"{len(files):4}  {step}")
        if "-v" in sys.argv:
            print("      " + " ".join(sorted(str(Path(f).relative_to(ROOT)) for f in files)))
