"""What monitoring says in words, the same in the command and in the panel."""

from __future__ import annotations

from workbench.diagnosis.alerts import Armed, statistic_title, value_text
from workbench.diagnosis.monitoring import Monitoring
from workbench.diagnosis.query_log import ERROR, LATENCY, REFUSED
from workbench.language import text as _t


def window_text(window: int | str) -> str:
    """ "200 requests" or "6h"."""
    text = str(window)
    return _t("monitoring.words.requests", n=f"{int(text):,}") if text.isdigit() else text


def watched_words(found: Monitoring) -> str:
    """What was watched, in how many windows, against what."""
    baseline = _t("monitoring.words.own") if found.own_baseline else found.baseline.name
    return _t("monitoring.words.watched", name=found.log.name, n=f"{len(found.log):,}", windows=f"{len(found.spans):,}",
              window=window_text(found.window), baseline=baseline, n_baseline=f"{len(found.baseline):,}")  # fmt: skip


def verdict_words(found: Monitoring) -> str:
    """How many alerts, and which still fire."""
    if not found.spans:
        return _t("monitoring.words.no_windows", n=f"{len(found.log):,}", window=window_text(found.window))
    if not found.n_fired:
        return _t("monitoring.words.quiet")
    if not found.firing:
        return _t("monitoring.words.fired_cleared", n=f"{found.n_fired:,}")
    names = ", ".join(statistic_title(event.statistic) for event in found.firing)
    return _t("monitoring.words.fired", n=f"{found.n_fired:,}", firing=len(found.firing), names=names)


def note_lines(found: Monitoring) -> list[str]:
    """What a reader should know: rejected rows, no times, what is not recorded, an evaluation as baseline."""
    log = found.log
    lines = [_t(f"monitoring.words.{name}") for name in log.notes]
    if log.n_rejected:
        lines.append(_t("monitoring.words.rejected", n=f"{log.n_rejected:,}", total=f"{log.n_read:,}"))
    lacking = [statistic_title(name) for column, name in _WANTED if column not in log.columns]
    if lacking:
        lines.append(_t("monitoring.words.lacks", names=", ".join(lacking)))
    if log.ignored:
        lines.append(_t("monitoring.words.ignored", names=", ".join(log.ignored[:8])))
    if not found.own_baseline and found.baseline.times is None and log.times is not None:
        lines.append(_t("monitoring.words.other_baseline"))
    return lines


_WANTED = ((LATENCY, "latency_p95"), (REFUSED, "refusal_rate"), (ERROR, "error_rate"))


def rule_words(item: Armed) -> str:
    """ "latency p95 up by more than 50 % of the baseline (relative): baseline 1,833 ms (n = 1,500), limit …"."""
    return f"{rule_title(item)}: {problem_words(item) or limit_words(item)}"


def rule_title(item: Armed) -> str:
    """The rule without its numbers here: statistic, direction, change and its kind."""
    rule, name = item.rule, item.rule.statistic
    if rule.kind == "relative":
        change = f"{rule.change * 100:g}"
    elif name.endswith("_rate"):
        change = _t("monitoring.words.points", n=f"{rule.change * 100:g}")
    else:
        change = value_text(name, rule.change)
    return _t(f"monitoring.command.rule_{rule.kind}", statistic=statistic_title(name), change=change,
              worse=_t(f"monitoring.direction.{item.worse}"))  # fmt: skip


def limit_words(item: Armed) -> str:
    """Baseline, limit and clear level."""
    name = item.rule.statistic
    return _t("monitoring.command.limits", baseline=value_text(name, item.level.value), n=f"{item.level.n:,}",
              limit=value_text(name, item.limit), clear=value_text(name, item.clear_level))  # fmt: skip


def problem_words(item: Armed) -> str:
    """Why the rule cannot fire; empty when it can."""
    if not item.problem:
        return ""
    reason = _t(f"monitoring.problem.{item.problem}", n=f"{item.level.n:,}", min_n=item.rule.min_n)
    return _t("monitoring.command.cannot_fire", reason=reason)
