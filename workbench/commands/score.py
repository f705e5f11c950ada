"""``score``: examine a recording and save the evaluation."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workbench.commands.shared import data_arguments, judge_arguments, load, note, positive, say

if TYPE_CHECKING:
    from workbench.data.schema import SampleSet
    from workbench.evaluation import Evaluation


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    data_arguments(parser)
    judge_arguments(parser)
    parser.add_argument("--k", type=positive, help="depth of the ranking metrics (default 5)")
    parser.add_argument("--thresholds", metavar="FILE", help="TOML file with a [thresholds] table")
    parser.add_argument("--metrics", help="all, or names parted by commas (default: the default set)")
    parser.add_argument("--limit", type=positive, help="score only this many samples, spread over case types and languages")
    parser.add_argument("--name", help="title of the evaluation (default: the file's name)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder to write the evaluation to")


def run(options: argparse.Namespace) -> int:
    """Evaluate, save, and print the summary."""
    from workbench.data.sampling import stratified
    from workbench.evaluation import check_target
    from workbench.running import evaluate
    from workbench.scoring.thresholds import Thresholds

    check_target(options.out)
    thresholds = Thresholds.from_toml(options.thresholds) if options.thresholds else Thresholds()
    if options.k is not None:
        thresholds = thresholds.replace(k=options.k)
    metrics = options.metrics if options.metrics in (None, "all") else options.metrics.split(",")
    samples, corpus = load(options)
    if options.limit is not None and options.limit < len(samples):
        samples = dataclasses.replace(samples, frame=stratified(samples.frame, options.limit))
        note(f"{len(samples):,} samples chosen, spread over case types and languages")
    result = evaluate(
        samples, corpus=corpus, judge=options.judge, encoder=options.encoder, metrics=metrics, thresholds=thresholds,
        name=options.name, progress=not options.quiet and sys.stderr.isatty(), workers=options.workers,
        timeout=options.timeout, judge_options=options.judge_options, generator=options.generator,
    )  # fmt: skip
    folder = result.save(options.out)
    _report(result, str(folder), samples)
    return 0


def _report(result: Evaluation, folder: str, samples: SampleSet) -> None:
    summary = result.summary(intervals=False)
    for name, row in summary[summary["n_ok"] > 0].iterrows():
        say(f"{name:34} {row['mean']:8.3f}   n {row['n_ok']} of {row['n_total']}")
    failed = int((result.causes.primary >= 0).sum())
    say(f"{failed:,} of {len(result):,} samples fail; {result.n_judge_errors:,} could not be judged")
    _judge_errors(result)
    judged = result.manifest.get("judged", {})
    say(f"{judged.get('asked', 0):,} samples judged now, {judged.get('from_cache', 0):,} known from before")
    _spent(result.manifest)
    rejected = samples.rejected["row"].nunique()
    if rejected:
        note(f"{rejected:,} rows of the recording were rejected; see rejected.parquet or run check")
    say(f"saved to {folder}")


def _judge_errors(result: Evaluation) -> None:
    """Why samples, or parts of them, could not be judged, the most frequent cause first."""
    errors = result.errors()
    reasons = errors.loc[errors["state"] == "judge_error", "reason"]
    causes = Counter(str(reason).partition(":")[0] for reason in reasons)
    if causes:
        said = ", ".join(f"{cause} {count:,}" for cause, count in causes.most_common())
        say(f"judge errors: {said}; each with its reason in errors.csv; the next run tries those samples again")


def _spent(manifest: Mapping[str, Any]) -> None:
    """What a language model took, and what asking it only in doubt saved."""
    spent, cascade = manifest.get("spending"), manifest.get("cascade")
    if spent:
        cost = "unknown price" if spent["cost"] is None else f"${spent['cost']:.4f}"
        say(
            f"spent: {spent['calls']:,} calls ({spent['repairs']:,} repairs), {spent['sent']:,} tokens sent and "
            f"{spent['received']:,} received, {cost}; {spent['cached']:,} replies known from before"
        )
    if cascade:
        say(
            f"cascade: {cascade['n_asked']:,} of {cascade['n_samples']:,} samples asked about, {cascade['calls_saved']:,} of "
            f"{cascade['calls_full']:,} calls saved; the judges disagreed on {cascade['n_disagreed']:,} of "
            f"{cascade['n_compared']:,}"
        )
