"""Options and output that several verbs share."""

from __future__ import annotations

import argparse
import sys
from typing import Any


def data_arguments(parser: argparse.ArgumentParser) -> None:
    """DATA, its corpus and how to read it."""
    parser.add_argument("data", metavar="DATA", help="a recording: JSON, JSONL, CSV, TSV, Excel or Parquet")
    parser.add_argument("--corpus", help="the knowledge base, any of the same formats")
    parser.add_argument("--cases", help="a file of cases that the recording refers to by id")
    parser.add_argument("--run", dest="run_name", help="which run, when the file holds several")


def load(options: argparse.Namespace) -> tuple[Any, Any]:
    """The samples and the corpus (or None) that the options name."""
    from workbench.data.corpus import load_corpus
    from workbench.data.load import load_samples

    corpus = load_corpus(options.corpus) if options.corpus else None
    return load_samples(options.data, cases=options.cases, run=options.run_name, corpus=corpus), corpus


def say(text: str = "") -> None:
    """Write one line of output."""
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """Write one line beside the output, for people."""
    sys.stderr.write(text + "\n")


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


def judge_arguments(parser: argparse.ArgumentParser) -> None:
    """Judge, encoder and what a language model needs."""
    parser.add_argument("--judge", default="offline", help="offline (default), llm:MODEL, offline+llm:MODEL, nli:FOLDER, none")
    parser.add_argument("--encoder", default="auto", help="auto (default), e5, use, ngram, none, or a model's name or folder")
    parser.add_argument("--judge-options", metavar="FILE", help="options of a language model, TOML with an [llm] table")
    parser.add_argument("--timeout", type=seconds, help="seconds for one request (default 60, or what the options file says)")
    parser.add_argument("--generator", metavar="MODEL", help="model that wrote the answers (default: what the recording says)")
    parser.add_argument("--workers", type=positive, help="requests at once")


def printable(table: Any) -> str:
    """A frame as plain text, whole."""
    import pandas as pd

    with pd.option_context("display.width", 200, "display.max_colwidth", 80):
        return str(table.to_string(na_rep="–"))
