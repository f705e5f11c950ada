"""``gate``: check an evaluation against a rules file; exit 1 when a rule or red line fails."""

from __future__ import annotations

import argparse

from workbench.commands.shared import say


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("folder", metavar="DIR", help="a folder that score --out wrote")
    parser.add_argument("--baseline", metavar="DIR_A", help="the evaluation that it must not be worse than")
    parser.add_argument("--rules", required=True, metavar="FILE", help="gate.toml: thresholds, [rules] and [red_lines]")
    parser.add_argument("--junit", metavar="FILE", help="write the result as JUnit XML as well")
    parser.add_argument("--language", choices=("en", "zh"), help="language of the messages (default: English)")


def run(options: argparse.Namespace) -> int:
    """Print every rule and how it went; 1 when one failed."""
    from workbench.evaluation import load_evaluation
    from workbench.language import set_language
    from workbench.reports.gate import check, load_rules

    set_language(options.language or "en")
    rules = load_rules(options.rules)
    baseline = load_evaluation(options.baseline) if options.baseline else None
    result = check(load_evaluation(options.folder), rules, baseline)
    for line in result.words():
        say(line)
    if options.junit:
        result.junit(options.junit)
    return 0 if result.passed else 1
