"""``notebooks``: run all notebooks headless over an evaluation."""

from __future__ import annotations

import argparse
from pathlib import Path

from workbench.commands.shared import note, say


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("folder", metavar="DIR", help="a folder that score --out wrote")
    parser.add_argument("--out", required=True, metavar="FOLDER", help="where the executed notebooks are written")
    parser.add_argument("--baseline", metavar="DIR", help="the evaluation that notebook 06 compares with")
    parser.add_argument("--corpus", help="the knowledge base, for notebooks 03 and 04")
    parser.add_argument("--only", action="append", metavar="NAME", help="only notebooks whose name begins with this")
    parser.add_argument("--language", choices=("en", "zh"), help="language of the panels (default: the data's)")


def run(options: argparse.Namespace) -> int:
    """Execute each notebook; exit 1 when a cell or a panel failed."""
    from workbench.errors import InputError
    from workbench.evaluation import load_evaluation
    from workbench.reports.executed import execute, notebook_folder

    load_evaluation(options.folder)
    books = sorted(notebook_folder().glob("*.ipynb"))
    chosen = [b for b in books if not options.only or any(b.stem.startswith(name) for name in options.only)]
    if not chosen:
        raise InputError(f"--only {' '.join(options.only)}: no such notebook; there are {', '.join(b.stem for b in books)}")
    out = Path(options.out).resolve()
    given = {"DATA": options.folder, "BASELINE": options.baseline, "CORPUS": options.corpus}
    parameters = {name: str(Path(value).resolve()) for name, value in given.items() if value}
    parameters |= {"OUT": str(out / "findings")} | ({"LANGUAGE": options.language} if options.language else {})
    failed = 0
    for book in chosen:
        problems = execute(book, out / book.name, parameters)
        failed += bool(problems)
        say(f"{book.name}: {'failed' if problems else 'ok'}")
        for problem in problems:
            note(f"  {' '.join(problem.split())[:400]}")
    return 1 if failed else 0
