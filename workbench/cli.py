"""The command line: one sub-command a verb, exit 0 fine, 1 gate failed, 2 bad usage or input (one line, no traceback)."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from workbench.errors import InputError, WorkbenchError

FINE, GATE_FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

#: Verb → (module below ``workbench.commands``, help). Each module has ``arguments(parser)`` and ``run(options) -> int``.
VERBS = {
    "check": "examine a data set before scoring it",
    "plan": "calls, tokens, time and price of judging; spends nothing",
    "score": "examine a recording and save the evaluation; resumes what was killed",
    "compare": "what changed between two evaluations, and whether it is real",
    "gate": "check an evaluation against rules; exit 1 when one fails",
    "record": "ask a live service all cases and keep what it says",
    "report": "write an evaluation as html, md, xlsx, csv, parquet or junit",
    "notebooks": "run the notebooks headless over an evaluation",
    "monitor": "watch a query log for degradation against a baseline",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s", stream=sys.stderr)
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
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


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m workbench", description="RAG diagnostic workbench")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="verb")
    for verb, summary in VERBS.items():
        command = verbs.add_parser(verb, help=summary, description=summary)
        module = importlib.import_module(f"workbench.commands.{verb}")
        module.arguments(command)
        command.set_defaults(run=module.run)
    return parser


def _one_line(error: object) -> str:
    return str(InputError(str(error)))
