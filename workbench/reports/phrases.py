"""Short lines that every format of a report says in the same words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.language import has_text
from workbench.language import text as _t
from workbench.reports import words
from workbench.reports.report import Action, Changes, Report
from workbench.views.filtering import Filter
from workbench.views.finding import Finding
from workbench.views.names import cause_title, metric_title


def nothing(report: Report, part: str) -> str:
    """Why a part about failures is empty: nothing fails, or nothing could be tested."""
    tested = report.failures["passed"].notna().any()
    return _t(f"report.{part}.none" if tested else f"report.{part}.none_tested")


def own_table(finding: Finding) -> tuple[list[str], list[list[Any]]]:
    """Headings and rows of a finding's table, without columns that are empty; causes by their names."""
    kept = [at for at in range(len(finding.columns)) if any(row[at] not in (None, "") for row in finding.rows)]
    heads = [column(finding.columns[at]) for at in kept]
    rows = [[cause_title(row[at]) if finding.columns[at] == "cause" else row[at] for at in kept] for row in finding.rows]
    return heads, rows


def column(name: str) -> str:
    """The heading of a column of a finding's table."""
    key = f"panels.columns.{name}"
    return _t(key) if has_text(key) else metric_title(name)


def filter_words(finding: Finding) -> str:
    """The filter that was in force, in one line."""
    return Filter.from_dict(finding.filter).words() or _t("report.findings.no_filter")


def values(plain: Any) -> str:
    """Thresholds as they were stored, in one line."""
    if not isinstance(plain, Mapping):
        return str(plain)
    parts = [f"{name} ({values(value)})" if isinstance(value, Mapping) else f"{name} {value}" for name, value in plain.items()]
    return " · ".join(parts)


def number_line(finding: Finding) -> str:
    """What a finding states: its rate with interval, and how many of how many samples."""
    size = _t("report.findings.size", n=words.count(finding.n), total=words.count(finding.n_total))
    if finding.value is None:
        return size
    interval = words.rate_interval(finding.low, finding.high)
    return f"{words.percent(finding.value)}{f' ({interval})' if interval else ''} · {size}"


def causes_intro(report: Report, end: str = "") -> str:
    """How many samples fail, out of how many, and how to read the bars."""
    counts = {"n_failing": words.count(report.n_failing), "n": words.count(report.n_total)}
    told = _t("report.broken.intro", **counts)
    return words.sentences([told, _t("report.broken.scale", end=end)]) if end else told


def changes_counts(changes: Changes) -> str:
    """How many samples changed in which way, what the set could show, and permission leaks."""
    counts = {name: words.count(n) for name, n in changes.counts.items()}
    told = [_t("report.changes.counts", n=words.count(changes.n_pairs), **counts)]
    if changes.smallest is not None:
        least = words.percent(changes.smallest, unit=False)
        told.append(_t("report.changes.smallest", n=words.count(changes.n_pairs), points=least))
    if any(changes.red_lines.values()):
        told.append(_t("report.changes.red_lines", **dict[str, Any](changes.red_lines)))
    return words.sentences(told)


def touches(action: Action) -> str:
    """How many of the failing samples an action touches."""
    return _t("report.next.touches", n=words.count(action.n), n_failing=words.count(action.n_failing))


def coverage(report: Report) -> str:
    """How many failing samples all actions together touch."""
    touched = sum(action.n for action in report.actions)
    return _t("report.next.coverage", n=words.count(touched), n_failing=words.count(report.n_failing))


def failing_intro(report: Report, most: int) -> str:
    """How many samples fail and, when not all are shown, where the others are."""
    told = [_t("report.failing.intro", n=words.count(report.n_failing), total=words.count(report.n_total))]
    if report.n_failing > most:
        told.append(_t("report.failing.capped", shown=words.count(most), n=words.count(report.n_failing)))
    return words.sentences(told)
