"""``report``: write a saved evaluation, with what was pinned in the notebooks, for others to read."""

from __future__ import annotations

import argparse
import datetime

from workbench.commands.shared import say
from workbench.reports.writing import FORMATS


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("folder", metavar="DIR", help="a folder that score --out wrote")
    parser.add_argument("--format", choices=tuple(FORMATS), default="html", help="default html")
    parser.add_argument("--language", choices=("en", "zh"), help="language of the report (default: the data's)")
    parser.add_argument("--out", required=True, metavar="FILE", help="file to write; Markdown puts pictures beside it")
    parser.add_argument("--baseline", metavar="DIR", help="an evaluation to compare with")
    parser.add_argument("--date", type=datetime.date.fromisoformat, metavar="YYYY-MM-DD",
                        help="date printed on the report (default today)")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Open the evaluation and its session, and write the report."""
    from workbench.evaluation import load_evaluation
    from workbench.reports.findings import export_findings
    from workbench.views.session import Session

    session = Session(load_evaluation(options.folder))
    baseline = load_evaluation(options.baseline) if options.baseline else None
    path = export_findings(
        session, options.out, format=options.format, language=options.language, baseline=baseline, date=options.date
    )
    say(f"written to {path} ({path.stat().st_size:,} bytes)")
    return 0
