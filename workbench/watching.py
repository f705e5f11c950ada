"""Monitoring logs and evaluations by what they are or where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.diagnosis.alerts import Rule
from workbench.diagnosis.monitoring import Monitoring, log_of, watch_log
from workbench.diagnosis.query_log import QueryLog, load_log
from workbench.evaluation import Evaluation, load_evaluation


def as_log(source: Any) -> QueryLog:
    """A log from a log, an evaluation, a folder that holds one, a file, records or a frame.

    Raises
    ------
    InputError
        When nothing of the kind can be read there.
    """
    if isinstance(source, QueryLog):
        return source
    if isinstance(source, (str, Path)) and Path(source).expanduser().is_dir():
        source = load_evaluation(source)
    return log_of(source) if isinstance(source, Evaluation) else load_log(source)


def monitor(
    log: Any, baseline: Any = None, *, window: int | str = 200, step: int | str | None = None,
    rules: Sequence[Rule] | None = None, until: float | str | None = None,
) -> Monitoring:  # fmt: skip
    """Is production drifting? Watch a query log against a baseline.

    Parameters
    ----------
    log, baseline
        Each a file (JSONL or CSV, also gzipped), a folder with a saved evaluation, an ``Evaluation``, a ``QueryLog``,
        records or a frame. Without a baseline the beginning of the log is one: its first 30 %, or up to ``until``.
    window, step
        A number of requests, or a time such as ``"6h"``; the step is a quarter of the window by default.
    rules
        What counts as degraded; by default ``workbench.diagnosis.alerts.default_rules``.
    until
        A time ("2025-06-09T00:00:00Z") or a share in (0, 1): where the log's own baseline ends.

    Returns
    -------
    Monitoring
        ``.windows()``, ``.alerts()``, ``.rules_table()``, ``.events``, ``.firing``.

    Raises
    ------
    InputError
        For anything that cannot be read, or a window, step or rule that does not fit the log.
    """
    reference = None if baseline is None else as_log(baseline)
    return watch_log(as_log(log), reference, window=window, step=step, rules=rules, until=until)
