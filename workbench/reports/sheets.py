"""The sheets of the workbook: headings and rows of plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.language import text as _t
from workbench.reports import phrases, tables_out
from workbench.reports.report import Changes, Measure, Report
from workbench.views.names import state_title

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Sheet:
    """One sheet. ``widths`` in characters by column; ``kinds``: column → rate, count or bold; ``table``: whether its
    headings are frozen and filtered."""

    name: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]
    widths: Sequence[int] = ()
    kinds: Mapping[int, str] = field(default_factory=dict)
    table: bool = True


def sheets(report: Report) -> list[Sheet]:
    """Report, metrics, causes, where, changes (with a baseline), findings, failing samples, all samples, states, how."""
    scores, states = report.evaluation.scores(), report.evaluation.states()
    found = [_report(report), _metrics(report.measures), _causes(report), _where(report)]
    if report.changes is not None:
        found.append(_changes(report.changes))
    if report.findings:
        found.append(_findings(report))
    found += [_failing(report), _samples(report, scores), _states(states), _measured(report)]
    return found


def _name(key: str) -> str:
    return _t(f"report.workbook.{key}")


def _report(report: Report) -> Sheet:
    rows = [[report.subtitle], [""], *([sentence] for sentence in report.verdict), [""], [_t("report.section.next")]]
    if not report.actions:
        rows.append([phrases.nothing(report, "next")])
    for action in report.actions:
        title = f"{'⚠ ' if action.red_line else ''}{action.title}"
        rows.append([f"{title}: {phrases.touches(action)}. {' '.join(action.advice)}"])
    notes = [[line] for line in ([] if report.findings else [_t("report.findings.none")])]
    notes += [[line] for line in ([] if report.changes else [_t("report.changes.none")])]
    return Sheet(_name("report"), [report.title], [*rows, [""], *notes], (110,), table=False)


def _metrics(measures: Sequence[Measure]) -> Sheet:
    keys = ("metric", "mean", "low", "high", "n_ok", "n_not_applicable", "n_undefined", "n_error", "n_skipped", "n_total",
            "low_bound", "high_bound", "target", "attainable", "meets_target", "before", "after", "delta", "delta_low",
            "delta_high", "p", "n_pairs", "method", "reading")  # fmt: skip
    rows = [[_metric_value(measure, key) for key in keys] for measure in measures]
    return Sheet(_name("metrics"), [_t(f"report.columns.{key}") for key in keys], rows, (30, *[11] * 21, 34, 60))


def _metric_value(measure: Measure, key: str) -> Any:
    if key == "metric":
        return measure.title
    if key in ("n_not_applicable", "n_undefined", "n_error", "n_skipped"):
        return measure.states.get(key[2:], 0)
    return getattr(measure, key)


def _causes(report: Report) -> Sheet:
    keys = ("cause", "layer", "n", "n_any", "n_total", "rate", "low", "high", "sub_causes", "advice")
    rows = [[c.title, c.layer_title, c.n, c.n_any, c.n_total, c.n / c.n_total, c.low, c.high, dict(c.sub_causes), c.advice]
            for c in report.causes]  # fmt: skip
    heads = [_t(f"report.columns.{key}") for key in keys]
    return Sheet(_name("causes"), heads, rows, (30, 16, 9, 9, 9, 9, 9, 9, 30, 80), {5: "rate", 6: "rate", 7: "rate"})


def _where(report: Report) -> Sheet:
    keys = ("dimension", "value", "n_failing", "n", "rate", "low", "high", "lift", "q_value", "causes")
    rows = [[part.title, s.value, s.n_failing, s.n, s.rate, s.low, s.high, s.lift, s.q_value, s.causes]
            for part in report.places for s in part.rows]  # fmt: skip
    heads = [_t(f"report.columns.{key}") for key in keys]
    return Sheet(_name("where"), heads, rows, (22, 40, 9, 9, 9, 9, 9, 9, 9, 60), {4: "rate", 5: "rate", 6: "rate"})


def _changes(changes: Changes) -> Sheet:
    keys = ("change", "sample_id", "question", "cause_before", "cause_after", "answer_changed")
    rows: list[list[Any]] = [
        [_t(f"report.changes.{item.change}") if item.change else _t("report.columns.noise"), item.sample_id, item.question,
         item.cause_before, item.cause_after, item.answer_changed]
        for item in (*changes.flipped, *changes.same_answer, *changes.noise)
    ]  # fmt: skip
    rows += [[_t("report.columns.flow"), "; ".join(f.sample_ids), None, f.cause_before, f.cause_after, None]
             for f in changes.flows if f.moved]  # fmt: skip
    return Sheet(_name("changes"), [_t(f"report.columns.{key}") for key in keys], rows, (16, 24, 60, 26, 26, 12))


def _findings(report: Report) -> Sheet:
    keys = ("finding", "title", "note", "n", "n_total", "rate", "low", "high", "sample_ids", "filter", "thresholds", "runs",
            "created", "snippet")  # fmt: skip
    rows = [[at, f.title, f.note, f.n, f.n_total, f.value, f.low, f.high, "; ".join(f.sample_ids), phrases.filter_words(f),
             phrases.values(f.thresholds), "; ".join(f.runs), f.created, f.snippet]
            for at, f in enumerate(report.findings, 1)]  # fmt: skip
    heads = [_t(f"report.columns.{key}") for key in keys]
    return Sheet(_name("findings"), heads, rows, (9, 40, 50, 9, 9, 9, 9, 9, 50, 30, 40, 24, 20, 60),
                 {5: "rate", 6: "rate", 7: "rate"})  # fmt: skip


def _failing(report: Report) -> Sheet:
    keys = ("sample_id", "cause", "sub_cause", "confidence", "question", "answer", "evidence", "advice", "verdict", "note")
    rows = [[f.sample_id, f.cause_title, f.sub_cause, f.confidence, f.question, f.answer, f.evidence, f.advice, f.verdict,
             f.note] for f in report.failing]  # fmt: skip
    heads = [_t(f"report.columns.{key}") for key in keys]
    return Sheet(_name("failing"), heads, rows, (16, 22, 18, 11, 50, 60, 60, 60, 12, 30))


def _samples(report: Report, scores: pd.DataFrame) -> Sheet:
    """Every sample with its texts, outcome and scores."""
    known = tables_out.Known(report)
    texts = ("sample_id", "question", "answer", "passed", "cause", "confidence")
    rows = []
    for sample_id in scores.index:
        own = known.sample(sample_id)
        rows.append([*(own[name] for name in texts), *(own[name] for name in scores.columns)])
    heads = [*(_t(f"report.columns.{key}") for key in texts), *map(str, scores.columns)]
    return Sheet(_name("samples"), heads, rows, (16, 50, 60, 9, 22, 11))


def _states(states: pd.DataFrame) -> Sheet:
    cells = states.to_numpy(dtype=object)
    titles = {value: state_title(value) for value in set(cells.ravel().tolist())}
    rows = [[name, *map(titles.__getitem__, values)] for name, values in zip(states.index, cells.tolist(), strict=True)]
    return Sheet(_name("states"), [_t("report.columns.sample_id"), *map(str, states.columns)], rows, (16,))


def _measured(report: Report) -> Sheet:
    own = report.measured
    rows: list[list[Any]] = [[name, value] for name, value in own.facts]
    rows += [[_t("report.measured.trust"), line] for line in own.trust]
    rows += [[_t("report.measured.trust"), " · ".join(row)] for row in own.trust_table]
    lacking = [f"{what}: {n} / {own.n_total} → {unlocks}" for what, n, unlocks in own.unchecked]
    rows += [[_t("report.measured.unchecked"), line] for line in (*lacking, *own.notes)]
    heads = [_t("report.columns.what"), _t("report.columns.value")]
    return Sheet(_name("measured"), heads, rows, (34, 110))
