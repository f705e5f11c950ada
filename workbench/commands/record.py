"""``record``: ask a live service all cases and keep everything it says."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from workbench.commands.shared import positive, say, seconds


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("cases", metavar="CASES", help="a file of cases, any format that loads")
    parser.add_argument("--endpoint", required=True, metavar="URL", help="the service; it takes JSON by POST")
    parser.add_argument("--out", required=True, metavar="RUN.jsonl", help="file to append to; recorded cases are skipped")
    parser.add_argument("--request", metavar="JSON", help='template of the body, e.g. \'{"query": "{question}"}\', or @FILE')
    parser.add_argument("--response", metavar="FIELD=PATH", action="append", default=[], help="where a field stands")
    parser.add_argument("--header", metavar="NAME=VALUE", action="append", default=[], help="${NAME} reads the environment")
    parser.add_argument("--config", metavar="KEY=VALUE", action="append", default=[], help="kept in the manifest")
    parser.add_argument("--concurrency", type=positive, default=8, help="requests at once (default 8)")
    parser.add_argument("--timeout", type=seconds, default=60.0, help="seconds for one request (default 60)")
    parser.add_argument("--retries", type=int, default=3, help="further tries of a request that failed (default 3)")
    parser.add_argument("--retry-errors", action="store_true", help="ask again the cases whose row has an error")


def run(options: argparse.Namespace) -> int:
    """Record and print how it went."""
    from workbench.data.record import record

    template: Any = options.request
    if template and template.startswith("@"):
        template = _read(template[1:])
    result = record(
        options.cases, endpoint=options.endpoint, out=options.out, request=template,
        response=_pairs(options.response, "--response"), headers=_pairs(options.header, "--header"),
        config=_typed(_pairs(options.config, "--config")), concurrency=options.concurrency, timeout=options.timeout,
        retries=options.retries, retry_errors=options.retry_errors,
    )  # fmt: skip
    say(f"{result.n_cases:,} cases: {result.n_recorded:,} asked now, {result.n_kept:,} recorded before")
    say(f"{result.n_errors:,} rows hold an error; --retry-errors asks those again")
    say(f"saved to {result.path}")
    return 0


def _pairs(given: list[str], option: str) -> dict[str, str] | None:
    from workbench.errors import InputError

    pairs = [item.partition("=") for item in given]
    if bad := [name for name, sign, _ in pairs if not sign or not name]:
        raise InputError(f"{option} {bad[0]!r}: write NAME=VALUE")
    return {name: value for name, _, value in pairs} or None


def _typed(config: dict[str, str] | None) -> dict[str, Any] | None:
    """Numbers and true / false of the configuration with their type: ``top_k=5`` is sent as 5."""
    if config is None:
        return None
    known = {name: _json(value) for name, value in config.items()}
    return {name: config[name] if value is None else value for name, value in known.items()}


def _json(value: str) -> int | float | bool | None:
    try:
        read = json.loads(value)
    except ValueError:
        return None
    return read if isinstance(read, int | float) else None


def _read(path: str) -> str:
    from workbench.errors import InputError

    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
