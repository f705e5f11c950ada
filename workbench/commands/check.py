"""``check``: the data doctor."""

from __future__ import annotations

import argparse

from workbench.commands.shared import data_arguments, load, say


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    data_arguments(parser)
    parser.add_argument("--against", action="append", default=[], metavar="DATA", help="another run of the same cases")
    parser.add_argument("--language", choices=("en", "zh"), help="language of the findings")
    parser.add_argument("--k", type=int, default=5, help="depth that ranking metrics will use (default 5)")


def run(options: argparse.Namespace) -> int:
    """Print what was read, what was rejected and what the doctor found."""
    from workbench.data.doctor import check
    from workbench.data.load import load_samples
    from workbench.language import set_language

    if options.language:
        set_language(options.language)
    samples, corpus = load(options)
    others = [load_samples(path) for path in options.against]
    rejected = samples.rejected["row"].nunique()
    say(f"{samples.name}: {samples.n_read:,} rows read, {len(samples):,} kept, {rejected:,} rejected")
    for row in samples.rejected.head(20).itertuples():
        say(f"  row {row.row}, {row.field}: {row.reason}")
    for row in samples.warnings.head(20).itertuples():
        say(f"  note: row {row.row}, {row.field}: {row.reason}")
    findings = check(samples, corpus, others, k=options.k)
    for finding in findings.itertuples():
        say(f"{finding.level:8} {finding.message} {finding.remedy}")
    return 0
