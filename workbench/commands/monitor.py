"""``monitor``: watch a query log for degradation against a baseline; exit 1 when an alert fired."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.commands.shared import note, say

if TYPE_CHECKING:
    from workbench.diagnosis.monitoring import Monitoring


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("log", metavar="LOG", help="query log (JSONL or CSV, also .gz), or a folder with an evaluation")
    parser.add_argument("--baseline", metavar="DIR|LOG", help="compare with this (default: the log's first 30 %%)")
    parser.add_argument("--until", metavar="TIME", help="the log up to this time is its own baseline")
    parser.add_argument("--window", default="200", metavar="N|TIME", help="requests or time: 200 (default), 6h")
    parser.add_argument("--step", metavar="N|TIME", help="from one window to the next (default: a quarter of it)")
    parser.add_argument(
        "--rule", action="append", default=[], metavar="'STATISTIC KIND CHANGE'",
        help="e.g. 'latency_p95 relative 0.5' or 'refusal_rate absolute 0.05'; replaces the default rules",
    )  # fmt: skip
    parser.add_argument("--min-n", type=int, metavar="N", help="values that a window needs before anything is said")
    parser.add_argument("--map", action="append", default=[], metavar="FIELD=COLUMN", help="where the log has a field")
    parser.add_argument("--webhook", metavar="URL", help="post each alert here (http or https)")
    parser.add_argument("--language", choices=("en", "zh"), help="language of the words (default: English)")
    parser.add_argument("--out", metavar="FILE", help="write it: .json (all of it), or .csv (one row an alert)")


def run(options: argparse.Namespace) -> int:
    """Print what was watched, the rules and each alert; exit 1 with an alert."""
    from workbench.diagnosis.alerts import Webhook
    from workbench.errors import InputError
    from workbench.language import set_language

    set_language(options.language or "en")
    if options.out and Path(options.out).suffix.lower() not in (".json", ".csv"):
        raise InputError(f"--out {options.out}: unknown kind of file; use .json or .csv")
    webhook = Webhook(options.webhook) if options.webhook else None
    watched = _watched(options)
    _report(watched)
    if options.out:
        _write(watched, Path(options.out))
        note(f"written to {options.out}")
    if webhook is not None:
        _send(watched, webhook)
    return 1 if any(found.n_fired for found in watched) else 0


def _watched(options: argparse.Namespace) -> list[Monitoring]:
    """The log against what was asked for, and, when that is an evaluation, against its own beginning as well."""
    from workbench.diagnosis.alerts import default_rules
    from workbench.diagnosis.query_log import load_log
    from workbench.diagnosis.windows import statistics_of
    from workbench.errors import InputError
    from workbench.watching import as_log, monitor

    mapping = dict(item.partition("=")[::2] for item in options.map)
    log = load_log(options.log, mapping=mapping) if mapping else as_log(options.log)
    rules = [_rule(text) for text in options.rule] or default_rules(statistics_of(log.columns))
    if options.min_n is not None:
        rules = [rule.replace(min_n=options.min_n) for rule in rules]
    if options.baseline and options.until:
        raise InputError("--baseline and --until exclude each other; give one")
    asked = {"window": options.window, "step": options.step, "rules": rules}
    found = monitor(log, options.baseline, until=options.until, **asked)
    is_evaluation = not found.own_baseline and found.baseline.times is None
    return [found, monitor(log, **asked)] if is_evaluation and log.times is not None and len(log) > 1 else [found]


def _rule(text: str) -> Any:
    from workbench.diagnosis.alerts import Rule
    from workbench.errors import InputError

    parts = text.split()
    try:
        name, kind, change = parts[0], parts[1], float(parts[2].rstrip("%")) / (100 if parts[2].endswith("%") else 1)
    except (IndexError, ValueError):
        form = "STATISTIC absolute|relative CHANGE, e.g. latency_p95 relative 0.5"
        raise InputError(f"--rule {text!r}: write {form}") from None
    return Rule(name, change, kind)


def _report(watched: list[Monitoring]) -> None:
    from workbench.diagnosis.watching_words import note_lines, watched_words
    from workbench.language import text as _t

    found, *own = watched
    say(watched_words(found))
    for line in note_lines(found):
        note(line)
    for row, field, reason, _ in found.log.rejections[:20]:
        note(f"  row {row}, {field}: {reason}")
    _say_alerts(found)
    for other in own:
        numbers = {"n_baseline": f"{len(other.baseline):,}", "n": f"{len(other.log):,}"}
        say(f"\n{_t('monitoring.command.own', **numbers)}")
        _say_alerts(other)


def _say_alerts(found: Monitoring) -> None:
    from workbench.diagnosis.watching_words import rule_words, verdict_words
    from workbench.language import text as _t

    say(f"\n{_t('monitoring.command.rules')}")
    for item in found.armed:
        say(f"  {rule_words(item)}")
    say(f"\n{_t('monitoring.command.alerts')}")
    for event in found.events:
        say(f"  {'▲' if event.state == 'fired' else '▼'} {event.message}")
    say(verdict_words(found))


def _write(watched: list[Monitoring], path: Path) -> None:
    import pandas as pd

    from workbench.data.files import write_text
    from workbench.data.tables import write_csv

    if path.suffix.lower() == ".csv":
        frames = [found.alerts().assign(against=found.baseline.name) for found in watched]
        write_csv(path, pd.concat([frame for frame in frames if len(frame)] or frames[:1]), index=False)
    else:
        content = watched[0].to_dict() | {"against_own_beginning": [found.to_dict() for found in watched[1:]]}
        write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def _send(watched: list[Monitoring], webhook: Any) -> None:
    """Post every event; what cannot be delivered is said and changes no exit code."""
    from workbench.language import text as _t

    problems = []
    for event in (event for found in watched for event in found.events):
        try:
            webhook(event)
        except OSError as error:
            problems.append(str(error))
            break
    if problems:
        note(_t("monitoring.command.not_delivered", reason=problems[0]))
