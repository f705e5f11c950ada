"""``plan``: calls, tokens, time and price of judging; spends nothing."""

from __future__ import annotations

import argparse

from workbench.commands.shared import data_arguments, judge_arguments, load, note, positive, say


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    data_arguments(parser)
    judge_arguments(parser)
    parser.add_argument("--metrics", help="names parted by commas, as for score; sampled_consistency takes calls of its own")
    parser.add_argument("--limit", type=positive, help="plan only this many samples")


def run(options: argparse.Namespace) -> int:
    """Print the plan."""
    from workbench.data.sampling import stratified
    from workbench.data.schema import iter_samples
    from workbench.evidence.actuals import generator_of, tell_generator
    from workbench.evidence.cache import Cache
    from workbench.evidence.consistency import METRIC
    from workbench.evidence.resolve import resolve_judge

    samples, _ = load(options)
    frame = samples.frame if options.limit is None else stratified(samples.frame, options.limit)
    judge = resolve_judge(
        options.judge, encoder=options.encoder, cache=Cache(), options=options.judge_options, workers=options.workers,
        timeout=options.timeout, generator=options.generator,
    )  # fmt: skip
    plan = getattr(judge, "plan", None)
    if plan is None:
        say(f"{len(frame):,} samples; judge {options.judge} makes no calls and costs nothing")
        return 0
    tell_generator(judge, generator_of(samples))
    found = plan(list(iter_samples(frame)))
    say(str(found))
    if METRIC in (options.metrics or "").split(","):
        n = sum(bool(sample.answer and sample.sampled_answers) for sample in iter_samples(frame))
        say(f"{METRIC}: about {n:,} more calls, one for each answer that has sampled_answers")
    for warning in found.warnings:
        note(f"warning: {warning}")
    return 0
