"""The command line: one sub-command a verb, exit 0 fine, 1 gate failed, 2 bad usage or input (one line, no traceback)."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import logging
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from workbench.data.files import REPORT_FORMATS, read_text, write_csv, write_text
from workbench.errors import InputError, WorkbenchError
from workbench.language import codes, set_language
from workbench.language import text as _t

if TYPE_CHECKING:
    from workbench.diagnosis.monitoring import Monitoring
    from workbench.evaluation import Evaluation
    from workbench.repair.plan import RepairPlan
    from workbench.scoring.thresholds import Thresholds


FINE, GATE_FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

#: What does a verb, from its options to an exit code.
_Run = Callable[[argparse.Namespace], int]
#: Verb → its help, its options, what it does; each stands with :func:`_verb` below.
VERBS: dict[str, tuple[str, tuple[Any, ...], _Run]] = {}
#: The language that commands speak of their own work; set anew by each call.
_language = "en"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s", stream=sys.stderr)
    global _language
    parser = _Parser(prog="python -m workbench", description="RAG diagnostic workbench")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="verb")
    for verb, (summary, own, run) in VERBS.items():
        command = verbs.add_parser(verb, help=summary, description=summary)
        for flags, how in own:
            command.add_argument(*flags, **how)
        command.add_argument("--language", choices=codes(), help="language of the words (default: English, or the data's)")
        command.set_defaults(run=run)
    options = parser.parse_args(arguments)
    _language = options.language or "en"
    if options.language:
        set_language(options.language)
    try:
        return options.run(options)
    except WorkbenchError as error:
        print(f"error: {_one_line(error)}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("interrupted; what was finished is kept", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (``| head``): not our error, and nothing more can be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with a call in one line; ``--help`` has the rest. Sub-commands are of this class too."""

    def error(self, message: str) -> NoReturn:
        """Exit with 2 after one line of at most 400 characters."""
        self.exit(BAD_INPUT, f"error: {_one_line(f'{message}; see {self.prog} --help')}\n")


def _one_line(error: object) -> str:
    return str(InputError(str(error)))


# ------------------------------------------------------------------------------
# Options and output that several verbs share.


def positive(text: str) -> int:
    """A whole number from 1 on, for argparse."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1 on")
    return value


def seconds(text: str) -> float:
    """A positive number of seconds, for argparse."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number of seconds")
    return value


def _option(*flags: str, **how: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    return flags, how


def _verb(name: str, summary: str, *options: Any) -> Callable[[_Run], _Run]:
    """Make a function the sub-command ``name``; ``summary`` is its help."""

    def declared(run: _Run) -> _Run:
        VERBS[name] = (summary, options, run)
        return run

    return declared


#: DATA, its corpus and how to read it.
DATA = (
    _option("data", metavar="DATA", help="a recording: JSON, JSONL, CSV, TSV, Excel or Parquet"),
    _option("--corpus", help="the knowledge base, any of the same formats"),
    _option("--cases", help="a file of cases that the recording refers to by id"),
    _option("--run", dest="run_name", help="which run, when the file holds several"),
    _option("--map", action="append", default=[], metavar="FIELD=COLUMN",
            help="which column is which field, e.g. question=Prompt; remembered for the file"),
)  # fmt: skip

#: Judge, encoder and what a language model needs.
JUDGE = (
    _option("--judge", default="offline",
            help="offline (default), llm:MODEL, offline+llm:MODEL, nli:FOLDER, none, or fit's FILE"),
    _option("--encoder", default="auto", help="auto (default), e5, use, ngram, none, or a model's name or folder"),
    _option("--judge-options", metavar="FILE", help="options of a language model, TOML with an [llm] table"),
    _option("--prompts", metavar="FOLDER", help="a language model's prompts of your own: NAME.txt, NAME.en.txt"),
    _option("--timeout", type=seconds, help="seconds for one request (default 60, or what the options file says)"),
    _option("--generator", metavar="MODEL", help="model that wrote the answers (default: what the recording says)"),
    _option("--workers", type=positive, help="requests at once"),
)  # fmt: skip
FOLDER = _option("folder", metavar="DIR", help="a folder that score --out wrote")


def load(options: argparse.Namespace) -> tuple[Any, Any]:
    """The samples and the corpus (or None) that the options name."""
    from workbench.data.columns import remember_mapping
    from workbench.data.corpus import load_corpus
    from workbench.data.load import load_samples

    corpus = load_corpus(options.corpus) if options.corpus else None
    mapping = _pairs(options.map, "--map")
    samples = load_samples(options.data, cases=options.cases, run=options.run_name, corpus=corpus, mapping=mapping)
    if mapping:
        remember_mapping(options.data, mapping)
    return samples, corpus


def _w(key: str, **values: Any) -> str:
    """What a command says of its own work, in the language asked for; English when none was, whatever the data's is."""
    return _t(f"commands.{key}", _language, **values)


def say(text: str = "") -> None:
    """Write one line of output."""
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """Write one line beside the output, for people."""
    sys.stderr.write(text + "\n")


def _thresholds(path: str | None) -> Thresholds | None:
    from workbench.scoring.thresholds import Thresholds

    return Thresholds.from_toml(path) if path else None


def _check_kind(out: str | None, *kinds: str) -> None:
    """Before any work: whether ``--out`` names a kind of file that can be written."""
    if out and Path(out).suffix.lower() not in kinds:
        raise InputError(f"--out {out}: unknown kind of file; use {', '.join(kinds)}")


def _pairs(given: list[str], option: str) -> dict[str, str] | None:
    pairs = [item.partition("=") for item in given]
    if bad := [name for name, sign, _ in pairs if not sign or not name]:
        raise InputError(f"{option} {bad[0]!r}: write {'FIELD=COLUMN' if option == '--map' else 'NAME=VALUE'}")
    return {name: value for name, _, value in pairs} or None


def _typed(config: dict[str, str] | None) -> dict[str, Any] | None:
    """Numbers and true / false of the configuration with their type: ``top_k=5`` is sent as 5."""
    if config is None:
        return None

    def typed(value: str) -> str | int | float:
        try:
            read = json.loads(value)
        except ValueError:
            return value
        return read if isinstance(read, int | float) else value

    return {name: typed(value) for name, value in config.items()}


# ------------------------------------------------------------------------------
# The verbs, in the order of the work.


@_verb(
    "check", "examine a data set before scoring it",
    *DATA,
    _option("--against", action="append", default=[], metavar="DATA", help="another run of the same cases"),
    _option("--k", type=int, default=5, help="depth that ranking metrics will use (default 5)"),
)  # fmt: skip
def run_check(options: argparse.Namespace) -> int:
    """Print what was read, what was rejected and what the doctor found."""
    from workbench.data.doctor import check
    from workbench.data.load import load_samples

    samples, corpus = load(options)
    others = [load_samples(path) for path in options.against]
    rejected = samples.rejected["row"].nunique()
    say(_w("rows", name=samples.name, read=f"{samples.n_read:,}", kept=f"{len(samples):,}", rejected=f"{rejected:,}"))
    for row in samples.rejected.head(20).itertuples():
        say(_w("rejected_row", row=row.row, field=row.field, reason=row.reason))
    for row in samples.warnings.head(20).itertuples():
        say(_w("note_row" if row.row else "note_file", row=row.row, field=row.field or samples.name, reason=row.reason))
        if row.excerpt and not row.row:
            say(f"        {row.excerpt}")
    findings = check(samples, corpus, others, k=options.k)
    for finding in findings.itertuples():
        say(f"{finding.level:8} {finding.message} {finding.remedy}")
    return 0


@_verb(
    "plan", "calls, tokens, time and price of judging; spends nothing",
    *DATA,
    *JUDGE,
    _option("--metrics", help="names parted by commas, as for score; sampled_consistency takes calls of its own"),
    _option("--limit", type=positive, help="plan only this many samples"),
)  # fmt: skip
def run_plan(options: argparse.Namespace) -> int:
    """Print the plan."""
    from workbench.data.schema import iter_samples, stratified
    from workbench.evidence.cache import Cache
    from workbench.evidence.consistency import METRIC
    from workbench.evidence.resolve import generator_of, resolve_judge, tell_generator

    samples, _ = load(options)
    frame = samples.frame if options.limit is None else stratified(samples.frame, options.limit)
    judge = resolve_judge(
        options.judge, encoder=options.encoder, cache=Cache(), options=options.judge_options, workers=options.workers,
        timeout=options.timeout, generator=options.generator, prompts=options.prompts,
    )  # fmt: skip
    plan = getattr(judge, "plan", None)
    if plan is None:
        say(_w("no_calls", n=f"{len(frame):,}", judge=options.judge))
        return 0
    tell_generator(judge, generator_of(samples))
    found = plan(list(iter_samples(frame)))
    say(str(found))
    if METRIC in (options.metrics or "").split(","):
        n = sum(bool(sample.answer and sample.sampled_answers) for sample in iter_samples(frame))
        say(_w("more_calls", metric=METRIC, n=f"{n:,}"))
    for warning in found.warnings:
        note(f"warning: {warning}")
    return 0


@_verb(
    "score", "examine a recording and save the evaluation; resumes what was killed",
    *DATA,
    *JUDGE,
    _option("--k", type=positive, help="depth of the ranking metrics (default 5)"),
    _option("--thresholds", metavar="FILE", help="TOML file with a [thresholds] table"),
    _option("--metrics", help="all, or names parted by commas (default: the default set)"),
    _option("--limit", type=positive, help="score only this many samples, spread over case types and languages"),
    _option("--name", help="title of the evaluation (default: the file's name)"),
    _option("--config", metavar="FILE|KEY=VALUE", action="append", default=[],
            help="how the system was set up: a TOML file, or single values (model, k, commit, …)"),
    _option("--quiet", action="store_true", help="no progress bar"),
    _option("--out", required=True, metavar="DIR", help="folder to write the evaluation to"),
)  # fmt: skip
def run_score(options: argparse.Namespace) -> int:
    """Evaluate, save, and print the summary."""
    from workbench.api import evaluate
    from workbench.data.schema import stratified
    from workbench.evaluation import check_target
    from workbench.scoring.thresholds import Thresholds

    check_target(options.out)
    thresholds = _thresholds(options.thresholds) or Thresholds()
    if options.k is not None:
        thresholds = thresholds.replace(k=options.k)
    metrics = options.metrics if options.metrics in (None, "all") else options.metrics.split(",")
    samples, corpus = load(options)
    if options.limit is not None and options.limit < len(samples):
        samples = dataclasses.replace(samples, frame=stratified(samples.frame, options.limit))
        note(_w("chosen", n=f"{len(samples):,}"))
    result = evaluate(
        samples, corpus=corpus, judge=options.judge, encoder=options.encoder, metrics=metrics, thresholds=thresholds,
        name=options.name, progress=not options.quiet and sys.stderr.isatty(), workers=options.workers,
        timeout=options.timeout, judge_options=options.judge_options, generator=options.generator,
        config=_config(options.config), prompts=options.prompts,
    )  # fmt: skip
    folder = result.save(options.out)
    summary = result.summary(intervals=False)
    for name, row in summary[summary["n_ok"] > 0].iterrows():
        say(_w("metric", name=name, mean=row["mean"], n=row["n_ok"], total=row["n_total"]))
    failed = int((result.causes.primary >= 0).sum())
    say(_w("fail", failed=f"{failed:,}", n=f"{len(result):,}", errors=f"{result.n_judge_errors:,}"))
    _judge_errors(result)
    judged = result.manifest.get("judged", {})
    say(_w("judged", asked=f"{judged.get('asked', 0):,}", known=f"{judged.get('from_cache', 0):,}"))
    _spent(result.manifest)
    rejected = samples.rejected["row"].nunique()
    if rejected:
        note(_w("rejected", n=f"{rejected:,}"))
    say(_w("saved", path=folder))
    return 0


def _config(given: list[str]) -> dict[str, Any]:
    """The configuration that ``--config`` names: files first, single values over them."""
    from workbench.data.run_config import read_config

    files = [item for item in given if "=" not in item]
    found = {key: value for path in files for key, value in read_config(path).items()}
    return found | (_typed(_pairs([item for item in given if "=" in item], "--config")) or {})


def _judge_errors(result: Evaluation) -> None:
    """Why samples, or parts of them, could not be judged, the most frequent cause first."""
    errors = result.errors()
    reasons = errors.loc[errors["state"] == "judge_error", "reason"]
    causes = Counter(str(reason).partition(":")[0] for reason in reasons)
    if causes:
        said = ", ".join(f"{cause} {count:,}" for cause, count in causes.most_common())
        say(_w("judge_errors", said=said))


def _spent(manifest: Mapping[str, Any]) -> None:
    """What a language model took, and what asking it only in doubt saved."""
    spent, cascade = manifest.get("spending"), manifest.get("cascade")
    if spent:
        cost = _w("unknown_price") if spent["cost"] is None else f"${spent['cost']:.4f}"
        names = ("calls", "repairs", "sent", "received", "cached")
        say(_w("spent", cost=cost, **{name: f"{spent[name]:,}" for name in names}))
    if cascade:
        keys = {"asked": "n_asked", "n": "n_samples", "saved": "calls_saved", "full": "calls_full",
                "disagreed": "n_disagreed", "compared": "n_compared"}  # fmt: skip
        say(_w("cascade", **{name: f"{cascade[key]:,}" for name, key in keys.items()}))


@_verb(
    "fit", "fit the judge of an evaluation to verdicts of your own",
    FOLDER,
    _option("--labels", required=True, metavar="FILE",
            help="your verdicts (sample_id, verdict); 30 are enough to start"),
    _option("--error-rate", type=float, default=0.1, metavar="SHARE",
            help="how many of the verdicts that are not unsure may be wrong (default 0.1)"),
    _option("--name", help="title of the fitted judge"),
    _option("--out", metavar="FILE", help="file to write (default DIR/session/judge.toml)"),
    _option("--save", metavar="DIR", help="also write the evaluation as the fitted judge sees it"),
)  # fmt: skip
def run_fit(options: argparse.Namespace) -> int:
    """Fit, write the file, and say what it is worth."""
    from workbench.diagnosis.fitting import fit
    from workbench.evaluation import SESSION, check_target, load_evaluation

    if options.save:
        check_target(options.save)
    evaluation = load_evaluation(options.folder)
    out = Path(options.out or Path(options.folder) / SESSION / "judge.toml")
    fitted = fit(evaluation, options.labels, error_rate=options.error_rate, name=options.name, out=out)
    for line in fitted.words():
        say(line)
    say(_w("saved", path=out))
    if options.save:
        say(_w("saved", path=evaluation.with_judge(fitted).save(options.save)))
    return 0


@_verb(
    "compare", "what changed between two evaluations, and whether it is real",
    _option("before", metavar="DIR_A", help="the evaluation before"),
    _option("after", metavar="DIR_B", help="the evaluation after"),
    _option("--thresholds", metavar="FILE", help="put both under the thresholds of this TOML file"),
    _option("--correction", choices=("holm", "bh"), default="holm", help="for how many metrics were looked at"),
    _option("--out", metavar="FILE", help="write all of it: .html, .md, .json, or .csv (one row a sample)"),
)  # fmt: skip
def run_compare(options: argparse.Namespace) -> int:
    """Print what to know first, the verdict, the ledger, the tests and the samples that flipped."""
    from workbench.api import compare
    from workbench.reports.comparisons import comparison_parts, write_comparison

    set_language(options.language or "en")
    _check_kind(options.out, ".csv", ".json", ".md", ".html")
    comparison = compare(
        options.before, options.after, thresholds=_thresholds(options.thresholds), correction=options.correction
    )
    for title, body in comparison_parts(comparison):
        say(f"\n{title}\n{body}")
    if options.out:
        write_comparison(comparison, options.out)
        note(f"written to {options.out}")
    return 0


@_verb(
    "history", "which change broke it; exit 1 on a regression beyond noise",
    _option("runs", metavar="RUNS", nargs="+", help="a folder of evaluations, or their folders, oldest first"),
    _option("--format", choices=("text", "md", "html", "json"), default="text", help="default text"),
    _option("--out", metavar="FILE", help="write it there instead of printing it; needed for html"),
    _option("--cards", metavar="URL", default="", help="address of the HTML, for the links of --format md"),
    _option("--measure", default="passed", help="passed (default) or end_to_end_correct"),
    _option("--alpha", type=float, default=0.05, help="rate of false alarms over the whole series (default 0.05)"),
    _option("--without-flaky", action="store_true", help="leave out samples that flip without a change"),
    _option("--thresholds", metavar="FILE", help="put all runs under the thresholds of this TOML file"),
    _option("--bisect", nargs=2, metavar=("GOOD", "BAD"), help="which run to record next to know what broke it"),
)  # fmt: skip
def run_history(options: argparse.Namespace) -> int:
    """Print or write the history; 1 when the last run is worse, beyond noise."""
    from workbench.reports import comparisons as reports
    from workbench.runs import history
    from workbench.views.history import bisect_lines

    set_language(options.language or "en")
    if options.format == "html" and not options.out:
        raise InputError("--format html needs --out FILE")
    found = history(
        options.runs[0] if len(options.runs) == 1 else options.runs, measure=options.measure, alpha=options.alpha,
        thresholds=_thresholds(options.thresholds),
        without_flaky=options.without_flaky, progress=sys.stderr.isatty(),
    )  # fmt: skip
    if options.bisect:
        for line in bisect_lines(found, *options.bisect):
            say(line)
        return 0
    content = {
        "text": lambda: reports.history_text(found), "md": lambda: reports.history_markdown(found, cards=options.cards),
        "html": lambda: reports.history_html(found), "json": lambda: reports.history_json(found),
    }[options.format]()  # fmt: skip
    if options.out:
        write_text(options.out, content)
        note(f"written to {options.out}")
    else:
        say(content.rstrip("\n"))
    return GATE_FAILED if found.regressed else FINE


@_verb(
    "gate", "check an evaluation against rules; exit 1 when one fails",
    FOLDER,
    _option("--baseline", metavar="DIR_A", help="the evaluation that it must not be worse than"),
    _option("--rules", required=True, metavar="FILE", help="gate.toml: thresholds, [rules] and [red_lines]"),
    _option("--junit", metavar="FILE", help="write the result as JUnit XML as well"),
    _option("--history", metavar="RUNS", help="leave samples out that flip without a change in these runs"),
)  # fmt: skip
def run_gate(options: argparse.Namespace) -> int:
    """Print every rule and how it went; 1 when one failed."""
    from workbench.evaluation import load_evaluation
    from workbench.reports.gate import check, load_rules

    set_language(options.language or "en")
    rules = load_rules(options.rules)
    baseline = load_evaluation(options.baseline) if options.baseline else None
    flaky: list[str] = []
    if options.history:
        from workbench.runs import history

        series = history(options.history, progress=sys.stderr.isatty()).series
        flaky = series.ids[series.flaky].tolist()
    result = check(load_evaluation(options.folder), rules, baseline, flaky=flaky)
    for line in result.words():
        say(line)
    if options.junit:
        result.junit(options.junit)
    return 0 if result.passed else 1


#: How a live service is asked.
SERVICE = (
    _option("--endpoint", required=True, metavar="URL", help="the service; it takes JSON by POST"),
    _option("--request", metavar="JSON", help='template of the body, e.g. \'{"query": "{question}"}\', or @FILE'),
    _option("--response", metavar="FIELD=PATH", action="append", default=[], help="where a field stands"),
    _option("--header", metavar="NAME=VALUE", action="append", default=[], help="${NAME} reads the environment"),
    _option("--concurrency", type=positive, default=8, help="requests at once (default 8)"),
    _option("--timeout", type=seconds, default=60.0, help="seconds for one request (default 60)"),
    _option("--retries", type=int, default=3, help="further tries of a request that failed (default 3)"),
)  # fmt: skip


@_verb(
    "record", "ask a live service all cases and keep what it says",
    _option("cases", metavar="CASES", help="a file of cases, any format that loads"),
    *SERVICE,
    _option("--out", required=True, metavar="RUN.jsonl", help="file to append to; recorded cases are skipped"),
    _option("--config", metavar="KEY=VALUE", action="append", default=[], help="kept with the run"),
    _option("--retry-errors", action="store_true", help="ask again the cases whose row has an error"),
)  # fmt: skip
def run_record(options: argparse.Namespace) -> int:
    """Record and print how it went."""
    from workbench.data.record import record

    result = record(options.cases, endpoint=options.endpoint, out=options.out, retry_errors=options.retry_errors,
                    config=_typed(_pairs(options.config, "--config")), **_service(options))  # fmt: skip
    counts = {"cases": result.n_cases, "now": result.n_recorded, "before": result.n_kept}
    say(_w("recorded", **{name: f"{n:,}" for name, n in counts.items()}))
    say(_w("recorded_errors", n=f"{result.n_errors:,}"))
    say(_w("saved", path=result.path))
    return 0


def _service(options: argparse.Namespace) -> dict[str, Any]:
    """How the options say that a service is asked, for ``record``; what was not named is absent."""
    template = options.request
    if template and template.startswith("@"):
        template = read_text(template[1:])
    found = {
        "request": template, "response": _pairs(options.response, "--response"), "headers": _pairs(options.header, "--header"),
        "concurrency": options.concurrency, "timeout": options.timeout, "retries": options.retries,
    }  # fmt: skip
    return {name: value for name, value in found.items() if value is not None}


#: How a repair plan is made, beside the knowledge base.
PLANNED = (
    _option("--encoder", default="auto", help="encoder of the repair plan; none = words only (default auto)"),
    _option("--documents", metavar="PATH", help="whole documents to cut anew, and missing ones: a folder or a file"),
    _option("--rerank", action="append", default=["relevance"], metavar="FOLDER", help="rerank with this cross-encoder too"),
    _option("--price", metavar="DOLLARS|MODEL", help="of a million prompt tokens, or a model with a known price"),
)


@_verb(
    "repair", "what each fix would bring: samples mended and broken, points, tokens",
    FOLDER,
    _option("--corpus", help="the knowledge base; without one only the recorded lists are changed"),
    *PLANNED,
    _option("--out", metavar="FILE", help="write it as well: .md (a page), or .csv (one row a fix)"),
)  # fmt: skip
def run_repair(options: argparse.Namespace) -> int:
    """Print the plan, and write it."""
    from workbench.evaluation import load_evaluation

    _check_kind(options.out, ".md", ".csv")
    plan = _repair_plan(options, load_evaluation(options.folder), options.corpus)
    say(str(plan))
    if options.out:
        out = Path(options.out)
        from workbench.reports.render import write_repair

        say(_w("saved", path=write_csv(out, plan.table()) if out.suffix == ".csv" else write_repair(plan, out)))
    return 0


@_verb(
    "replay", "ask the generator again with other contexts: is it retrieval or generation?",
    FOLDER,
    _option("--corpus", help="the knowledge base that contexts are taken from"),
    *PLANNED,
    *SERVICE,
    _option("--contexts", default="oracle,none", metavar="ARMS",
            help="oracle, none, recorded, plan, or keys of fixes, parted by commas (default oracle,none)"),
    _option("--samples", choices=("all", "failing"), default="all", help="which are asked (default all)"),
    _option("--prompt", metavar="CAUSE|@FILE", help="instructions to try: the prompt for a cause, or a file"),
    _option("--budget", type=float, metavar="DOLLARS", help="send nothing if the prompts cost more (needs --price)"),
    _option("--judge", default="same", help="who judges the new answers, as for score (default: the judge of DIR)"),
    _option("--send", action="store_true", help="ask; without it only the plan of calls is printed"),
    _option("--out", required=True, metavar="FOLDER", help="recordings and scored runs; answered questions are skipped"),
)  # fmt: skip
def run_replay(options: argparse.Namespace) -> int:
    """Print the plan of calls; with ``--send`` ask, print what was measured, and save each run."""
    from workbench.evaluation import load_evaluation
    from workbench.repair.plan import prompt
    from workbench.repair.replay import Replay, replay

    plan = _repair_plan(options, load_evaluation(options.folder), options.corpus)
    wanted = options.prompt and (read_text(options.prompt[1:]) if options.prompt.startswith("@") else prompt(options.prompt))
    out = Path(options.out)
    given = {"contexts": options.contexts.split(","), "samples": options.samples, "prompt": wanted, "out": out,
             "budget": options.budget, "judge": options.judge, "encoder": options.encoder}  # fmt: skip
    planned = replay(options.endpoint, plan, ask=False, **given, **_service(options))
    say(str(planned))
    if not options.send:
        say(_t("repair.replay.sent"))
        return 0
    found = replay(options.endpoint, plan, progress=sys.stderr.isatty(), **given, **_service(options))
    assert isinstance(found, Replay)
    say(str(found))
    for arm, run in found.runs.items():
        say(_w("saved", path=run.save(found.recordings[arm].path.with_suffix(""))))
    return 0


def _repair_plan(options: argparse.Namespace, evaluation: Evaluation, corpus: str | None) -> RepairPlan:
    from workbench.repair.plan import accepted_synonyms, repair_plan

    price = options.price
    with suppress(TypeError, ValueError):
        price = float(price)
    return repair_plan(evaluation, corpus, encoder=None if options.encoder == "auto" else options.encoder,
                       documents=options.documents, synonyms=accepted_synonyms(Path(options.folder) / "session"), price=price,
                       rerank=options.rerank, progress=sys.stderr.isatty())  # fmt: skip


@_verb(
    "report", "write an evaluation as a report, a table, or what a tracing tool imports",
    FOLDER,
    _option("--format", choices=tuple(REPORT_FORMATS), default="html", help="default html"),
    _option("--out", required=True, metavar="FILE", help="file to write; Markdown puts pictures beside it"),
    _option("--baseline", metavar="DIR", help="an evaluation to compare with"),
    _option("--rules", metavar="FILE", help="a rules file: its verdict stands on page one"),
    _option("--date", type=datetime.date.fromisoformat, metavar="YYYY-MM-DD",
            help="date printed on the report (default today)"),
    _option("--repair", metavar="CORPUS", help="add the repair plan, worked out over this knowledge base"),
    *PLANNED,
)  # fmt: skip
def run_report(options: argparse.Namespace) -> int:
    """Open the evaluation and its session, and write the report."""
    from workbench.evaluation import load_evaluation
    from workbench.reports.gate import check, load_rules
    from workbench.reports.tables import export_findings
    from workbench.views.session import Session

    session = Session(load_evaluation(options.folder))
    baseline = load_evaluation(options.baseline) if options.baseline else None
    rules = load_rules(options.rules) if options.rules else None
    plan = _repair_plan(options, session.evaluation, options.repair) if options.repair else None
    path = export_findings(
        session, options.out, format=options.format, language=options.language, baseline=baseline, date=options.date,
        gate=rules and (lambda: check(session.evaluation, rules, baseline)), repair=plan,
    )  # fmt: skip
    say(_w("written", path=path, size=f"{path.stat().st_size:,}"))
    return 0


@_verb(
    "notebooks", "run the notebooks headless over an evaluation",
    FOLDER,
    _option("--out", required=True, metavar="FOLDER", help="where the executed notebooks are written"),
    _option("--baseline", metavar="DIR", help="the evaluation that notebook 06 compares with"),
    _option("--corpus", help="the knowledge base, for notebooks 03 and 04"),
    _option("--only", action="append", metavar="NAME", help="only notebooks whose name begins with this"),
)  # fmt: skip
def run_notebooks(options: argparse.Namespace) -> int:
    """Execute each notebook; exit 1 when a cell or a panel failed."""
    from workbench.evaluation import EvaluationOfParts, load_evaluation
    from workbench.reports.notebooks import OVER_PARTS, execute, notebook_folder

    in_parts = isinstance(load_evaluation(options.folder), EvaluationOfParts)
    books = sorted(notebook_folder().glob("*.ipynb"))
    names = options.only or (OVER_PARTS if in_parts else ("",))
    chosen = [b for b in books if b.stem.startswith(tuple(names))]
    if not chosen:
        raise InputError(f"--only {' '.join(options.only)}: no such notebook; there are {', '.join(b.stem for b in books)}")
    if in_parts and (left := [b.stem for b in books if b not in chosen]):
        note(_w("left_out", names=", ".join(left)))
    out = Path(options.out).resolve()
    parameters = _notebook_parameters(options) | {"OUT": str(out / "findings")}
    failed = 0
    for book in chosen:
        problems = execute(book, out / book.name, parameters)
        failed += bool(problems)
        say(_w("failed" if problems else "ok", name=book.name))
        for problem in problems:
            note(f"  {' '.join(problem.split())[:400]}")
    return 1 if failed else 0


@_verb(
    "app", "serve the notebooks as pages on this machine, for people who write no code",
    FOLDER,
    _option("--baseline", metavar="DIR", help="the evaluation that notebook 06 compares with"),
    _option("--corpus", help="the knowledge base, for notebooks 03 and 04"),
    _option("--port", type=positive, help="default: a free one"),
)  # fmt: skip
def run_app(options: argparse.Namespace) -> int:
    """Serve until interrupted."""
    from workbench.evaluation import load_evaluation
    from workbench.language import main_language, suggest_language
    from workbench.reports.app import serve

    suggest_language(main_language(load_evaluation(options.folder).evidence.plain("question")))
    if options.language:
        set_language(options.language)
    return serve(_notebook_parameters(options), options.port, said=partial(print, flush=True))


def _notebook_parameters(options: argparse.Namespace) -> dict[str, str]:
    """The lines of the notebooks that the options fill in."""
    given = {"DATA": options.folder, "BASELINE": options.baseline, "CORPUS": options.corpus}
    parameters = {name: str(Path(value).resolve()) for name, value in given.items() if value}
    return parameters | ({"LANGUAGE": options.language} if options.language else {})


@_verb(
    "golden", "what a golden set lacks and could do without, and what a log would add",
    _option("cases", metavar="CASES", help="the golden set: cases, or a recording of them"),
    _option("--log", metavar="LOG", help="questions of the live service (any recording or query log)"),
    _option("--history", metavar="RUNS", help="evaluations, to see which cases never tell runs apart"),
    _option("--change", type=float, default=0.05, metavar="SHARE", help="the change that should show (default 0.05)"),
    _option("--n", type=int, default=20, metavar="N", help="cases to propose from the log (default 20)"),
    _option("--out", metavar="FILE", help="write the proposed cases in the layered format (needs --log)"),
)  # fmt: skip
def run_golden(options: argparse.Namespace) -> int:
    """Print what is missing, what tells nothing, what is there twice and what the log would add."""
    from workbench.data.load import load_samples
    from workbench.diagnosis import golden

    set_language(options.language or "en")
    if options.out and not options.log:
        raise InputError("--out needs --log: cases are proposed from a log")
    cases, series, proposed = load_samples(options.cases), None, None
    if options.history:
        from workbench.runs import history

        series = history(options.history, progress=sys.stderr.isatty()).series
    if options.log:
        proposed = golden.proposed_cases(load_samples(options.log), cases, options.n)
    for line in golden.upkeep_lines(cases, series=series, proposed=proposed, change=options.change):
        say(line)
    if options.out and proposed is not None:
        note(f"written to {golden.export_cases(proposed, options.out)}")
    return FINE


@_verb(
    "monitor", "watch a query log for degradation against a baseline",
    _option("log", metavar="LOG", help="query log (JSONL or CSV, also .gz), or a folder with an evaluation"),
    _option("--baseline", metavar="DIR|LOG|LEVELS",
            help="compare with this, or a level: 0.8, recall@k=0.8 (default: the log's first 30 %%)"),
    _option("--until", metavar="TIME", help="the log up to this time is its own baseline"),
    _option("--window", default="200", metavar="N|TIME", help="requests or time: 200 (default), 6h"),
    _option("--step", metavar="N|TIME", help="from one window to the next (default: a quarter of it)"),
    _option("--rule", action="append", default=[], metavar="'STATISTIC KIND CHANGE'",
            help="e.g. 'latency_p95 relative 0.5' or 'refusal_rate absolute 0.05'; replaces the default rules"),
    _option("--min-n", type=int, metavar="N", help="values that a window needs before anything is said"),
    _option("--map", action="append", default=[], metavar="FIELD=COLUMN", help="where the log has a field"),
    _option("--arm", metavar="COLUMN", help="compare its values (arms, releases) with each other instead; "
            "exit 1 when one is worse"),
    _option("--control", metavar="VALUE", help="the arm to compare with (default: the one that comes first)"),
    _option("--webhook", metavar="URL", help="post each alert here (http or https)"),
    _option("--out", metavar="FILE", help="write it: .json (all of it), or .csv (one row an alert)"),
)  # fmt: skip
def run_monitor(options: argparse.Namespace) -> int:
    """Print what was watched, the rules and each alert; exit 1 with an alert."""
    from workbench.diagnosis.alerts import Webhook
    set_language(options.language or "en")
    _check_kind(options.out, ".json", ".csv")
    if options.arm:
        return _compare_arms(options)
    webhook = Webhook(options.webhook) if options.webhook else None
    watched = _watched(options)
    _report(watched)
    if options.out:
        _write(watched, Path(options.out))
        note(f"written to {options.out}")
    if webhook is not None:
        _send(watched, webhook)
    return 1 if any(found.n_fired for found in watched) else 0


def _compare_arms(options: argparse.Namespace) -> int:
    """Print every arm against the control; 1 when one is worse."""
    from workbench.diagnosis.experiment import arm_lines, compare_arms
    from workbench.diagnosis.query_log import load_log

    log = load_log(options.log, mapping=_pairs(options.map, "--map"), groups=[options.arm])
    found = compare_arms(log, options.arm, control=options.control)
    for line in arm_lines(found):
        say(line)
    if options.out:
        if Path(options.out).suffix.lower() == ".csv":
            write_csv(options.out, found, index=False)
        else:
            write_text(options.out, found.to_json(orient="records", force_ascii=False, indent=1) + "\n")
        note(f"written to {options.out}")
    return GATE_FAILED if (found["verdict"] == "worse").any() else FINE


def _watched(options: argparse.Namespace) -> list[Monitoring]:
    """The log against what was asked for, and, when that is an evaluation, against its own beginning as well."""
    from workbench.api import as_log, monitor
    from workbench.diagnosis.alerts import default_rules
    from workbench.diagnosis.query_log import load_log, statistics_of
    mapping = _pairs(options.map, "--map")
    log = load_log(options.log, mapping=mapping) if mapping else as_log(options.log)
    known = statistics_of(log.columns)
    rules: Any = [_rule(text, [item.name for item in known]) for text in options.rule] or None
    if options.min_n is not None:
        rules = [rule.replace(min_n=options.min_n) for rule in rules or default_rules(known)]
    if options.baseline and options.until:
        raise InputError("--baseline and --until exclude each other; give one")
    asked = {"window": options.window, "step": options.step, "rules": rules}
    found = monitor(log, _baseline(options.baseline), until=options.until, **asked)
    is_evaluation = not found.own_baseline and found.baseline.times is None
    return [found, monitor(log, **asked)] if is_evaluation and log.times is not None and len(log) > 1 else [found]


def _baseline(text: str | None) -> Any:
    """A number, levels as NAME=NUMBER parted by commas, or the path that was given."""
    if text is None or Path(text).exists():
        return text
    try:
        pairs = [part.partition("=") for part in text.split(",")]
        return {name: float(value) for name, _, value in pairs} if "=" in text else float(text)
    except ValueError:
        return text


def _rule(text: str, known: list[str]) -> Any:
    from workbench.diagnosis.alerts import Rule
    from workbench.diagnosis.monitoring import statistic_name
    parts = text.split()
    try:
        name, kind, change = parts[0], parts[1], float(parts[2].rstrip("%")) / (100 if parts[2].endswith("%") else 1)
    except (IndexError, ValueError):
        form = "STATISTIC absolute|relative CHANGE, e.g. latency_p95 relative 0.5"
        raise InputError(f"--rule {text!r}: write {form}") from None
    return Rule(statistic_name(name, known), change, kind)


def _report(watched: list[Monitoring]) -> None:
    from workbench.diagnosis.monitoring import note_lines, rule_words, verdict_words, watched_words

    first = watched[0]
    for line in note_lines(first):
        note(line)
    for row, field, reason, _ in first.log.rejections[:20]:
        note(f"  row {row}, {field}: {reason}")
    for found in watched:
        numbers = {"n_baseline": f"{len(found.baseline):,}", "n": f"{len(found.log):,}"}
        say(watched_words(found) if found is first else f"\n{_t('monitoring.command.own', **numbers)}")
        say("\n".join([f"\n{_t('monitoring.command.rules')}", *(f"  {rule_words(item)}" for item in found.rule_states)]))
        say(f"\n{_t('monitoring.command.alerts')}")
        for event in found.events:
            say(f"  {'▲' if event.state == 'fired' else '▼'} {event.message}")
        say(verdict_words(found))


def _write(watched: list[Monitoring], path: Path) -> None:
    import pandas as pd

    if path.suffix.lower() == ".csv":
        frames = [found.alerts().assign(against=found.baseline.name) for found in watched]
        write_csv(path, pd.concat([frame for frame in frames if len(frame)] or frames[:1]), index=False)
    else:
        content = watched[0].to_dict() | {"against_own_beginning": [found.to_dict() for found in watched[1:]]}
        write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def _send(watched: list[Monitoring], webhook: Any) -> None:
    """Post every event; what cannot be delivered is said and changes no exit code."""
    try:
        for event in (event for found in watched for event in found.events):
            webhook(event)
    except OSError as error:
        note(_t("monitoring.command.not_delivered", reason=str(error)))
