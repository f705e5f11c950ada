"""A report as files: JUnit XML, one flat table (CSV, Parquet), an Excel workbook; and the findings of a session."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from workbench.data.files import (
    REPORT_FORMATS,
    in_one_cell,
    redacted,
    replacing,
    without_controls,
    write_csv,
    write_text,
)
from workbench.data.schema import none_if_missing
from workbench.errors import InputError
from workbench.language import speaking
from workbench.language import text as _t
from workbench.reports import exchange, render
from workbench.reports.content import Changes, FailingSample, Measure, Report
from workbench.reports.render import without_keys
from workbench.reports.sections import build_report, expected, thresholds_words
from workbench.views.html import clean
from workbench.views.wording import cause_title, level_title, state_title

if TYPE_CHECKING:
    import pandas as pd

    from workbench.views.session import Session


# ------------------------------------------------------------------------------
# JUnit XML: what build servers read. Control characters that XML cannot hold are left out, keys are hidden.


STATES = ("passed", "failed", "skipped", "error")


@dataclass(frozen=True)
class Case:
    """One test case: a rule of a gate, or a sample of an evaluation.

    Attributes
    ----------
    suite, name
        The group it stands in (``red lines``, a cause …) and what it is called.
    state
        One of :data:`STATES`.
    message, detail
        One line that says what is wrong, and more of it.
    seconds
        How long the sample took, 0 when unknown.
    """

    suite: str
    name: str
    state: str = "passed"
    message: str = ""
    detail: str = ""
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.state not in STATES:
            raise ValueError(f"state {self.state!r} is not one of {', '.join(STATES)}")


def junit_xml(title: str, cases: Sequence[Case], properties: Mapping[str, object] | None = None) -> str:
    """The cases as JUnit XML, one suite for each ``suite`` in the order of their first cases.

    Parameters
    ----------
    title
        Name of the whole.
    properties
        What every suite carries: run, judge, thresholds …
    """
    order = {name: place for place, name in enumerate(dict.fromkeys(case.suite for case in cases))}
    ordered = sorted(cases, key=lambda case: order[case.suite])
    root = ElementTree.Element("testsuites", {"name": _text(title), **_counts(ordered)})
    for name, group in groupby(ordered, key=lambda case: case.suite):
        members = list(group)
        suite = ElementTree.SubElement(root, "testsuite", {"name": _text(name), **_counts(members)})
        if properties:
            holder = ElementTree.SubElement(suite, "properties")
            for key, value in properties.items():
                ElementTree.SubElement(holder, "property", {"name": _text(key), "value": _text(value)})
        for case in members:
            _add(suite, case, title)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def write_junit(
    path: str | Path, title: str, cases: Sequence[Case], properties: Mapping[str, object] | None = None
) -> Path:
    """Write :func:`junit_xml` to ``path``, whole or not at all. Raises ``InputError`` when it cannot be written."""
    return write_text(path, junit_xml(title, cases, properties))


def _add(suite: ElementTree.Element, case: Case, title: str) -> None:
    names = {
        "name": _text(case.name),
        "classname": f"{_text(title)}.{_text(case.suite)}",
        "time": f"{case.seconds:.3f}",
    }
    element = ElementTree.SubElement(suite, "testcase", names)
    tag = {"failed": "failure", "skipped": "skipped", "error": "error"}.get(case.state)
    if tag is not None:
        inner = ElementTree.SubElement(element, tag, {"message": _text(case.message)})
        inner.text = _text(case.detail or case.message)


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    states = [case.state for case in cases]
    return {
        "tests": str(len(states)), "failures": str(states.count("failed")), "errors": str(states.count("error")),
        "skipped": str(states.count("skipped")), "time": f"{sum(case.seconds for case in cases):.3f}",
    }  # fmt: skip


def _text(value: object) -> str:
    return redacted(without_controls(str(value)))


# ------------------------------------------------------------------------------
# An evaluation as JUnit XML: one test case a sample, failures with their cause and evidence.


#: Suite of samples without a case type.
_SUITE = "samples"


def write_samples(report: Report, target: Path) -> Path:
    """Write one case for each sample: failed with cause and evidence, skipped where nothing could be tested."""
    manifest = report.evaluation.manifest
    known = {"judge": manifest.get("judge"), "encoder": manifest.get("encoder"), "data_hash": manifest.get("data_hash"),
             "workbench": manifest.get("workbench"), "thresholds": thresholds_words(report.evaluation.thresholds),
             "date": report.date.isoformat()}  # fmt: skip
    with speaking(report.language):
        return write_junit(target, report.evaluation.name, cases(report), {k: v for k, v in known.items() if v})


def cases(report: Report) -> list[Case]:
    """The test cases, in the order of the data, suites by case type."""
    failures, samples = report.failures, report.evaluation.samples.frame
    rows = zip(failures.index, failures.to_dict("records"), samples.to_dict("records"), strict=True)
    return [_case(str(name), row, sample) for name, row, sample in rows]


def _case(sample_id: str, row: Any, sample: Any) -> Case:
    suite = none_if_missing(sample.get("case_type")) or _SUITE
    latency = none_if_missing(sample.get("latency_ms"))
    seconds = float(latency) / 1000 if isinstance(latency, (int, float)) and latency >= 0 else 0.0
    cause = cause_title(row["primary_cause"])
    if row["passed"] is None or row["passed"] != row["passed"]:
        return Case(str(suite), sample_id, "skipped", f"{cause}: {row['advice']}", seconds=seconds)
    if row["passed"]:
        return Case(str(suite), sample_id, seconds=seconds)
    return Case(str(suite), sample_id, "failed", f"{cause}: {row['evidence']}", _detail(sample, row), seconds)


def _detail(sample: Any, row: Any) -> str:
    answer = none_if_missing(sample.get("answer"))
    told = {
        "question": sample.get("question"), "answer": _t("report.broken.no_answer") if answer is None else answer,
        "expected": expected(sample), "why": row["evidence"], "fix": row["advice"],
    }  # fmt: skip
    shown = {name: " ".join(render.head(str(text), 2000)).strip() for name, text in told.items() if text}
    return "\n".join(f"{_t(f'report.broken.{name}').rstrip(':：')}: {text}" for name, text in shown.items())


# ------------------------------------------------------------------------------
# A report as two tables, for spreadsheets and programs: its samples, and its findings.


#: Columns of a sample, in their order; one float column a metric follows.
SAMPLE = (
    "sample_id", "question", "answer", "passed", "cause", "sub_cause", "causes", "confidence", "evidence", "advice", "verdict",
    "verdict_note", "findings",
)  # fmt: skip
#: Columns of a finding; rate and interval are numbers, ``sample_ids`` are parted by "; ".
FINDING = (
    "finding", "title", "note", "panel", "n", "n_total", "value", "low", "high", "sample_ids", "filter", "thresholds", "runs",
    "created", "snippet",
)  # fmt: skip
_NUMBERS = ("confidence", "value", "low", "high")


def rows(report: Report) -> pd.DataFrame:
    """One row for each failing sample, then one for each other sample of a finding: columns :data:`SAMPLE`, then every
    metric's score. ``findings`` names the findings that it is in by their numbers; missing values are empty."""
    within: dict[str, list[str]] = {}
    for at, item in enumerate(report.findings, 1):
        for sample_id in item.sample_ids:
            within.setdefault(sample_id, []).append(str(at))
    known = Known(report)
    ids = dict.fromkeys([*(item.sample_id for item in report.failing), *within])
    found = [{**known.sample(name), "findings": "; ".join(within.get(name, ())) or None} for name in ids]
    metrics = report.evaluation.scores().columns
    frame = _framed(found, [*SAMPLE, *metrics], numbers=(*_NUMBERS, *metrics))
    frame["passed"] = frame["passed"].astype("boolean")
    return frame


def finding_rows(report: Report) -> pd.DataFrame:
    """One row for each finding, in their order: columns :data:`FINDING`."""
    with speaking(report.language):
        found = [{**{name: getattr(item, name) for name in FINDING if hasattr(item, name)}, "finding": at,
                  "sample_ids": "; ".join(item.sample_ids), "filter": render.filter_words(item),
                  "thresholds": render.values(item.thresholds), "runs": "; ".join(item.runs)}
                 for at, item in enumerate(report.findings, 1)]  # fmt: skip
    return _framed(found, FINDING, numbers=_NUMBERS)


def _framed(found: Sequence[Mapping[str, Any]], columns: Sequence[str], numbers: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    clear = [{name: without_keys(v) if isinstance(v, str) else v for name, v in row.items()} for row in found]
    frame = pd.DataFrame(clear, columns=list(columns))
    return frame.astype({name: "float64" for name in columns if name in numbers})


def _write_tables(report: Report, target: Path, write_one: Callable[[Path, pd.DataFrame], Any]) -> Path:
    """The samples to ``target``, the findings to ``<name>_findings`` beside it; the findings first."""
    write_one(target.with_name(f"{target.stem}_findings{target.suffix}"), finding_rows(report))
    write_one(target, rows(report))
    return target


class Known:
    """What is known of each sample, looked up by id."""

    def __init__(self, report: Report) -> None:
        self._failing: dict[str, FailingSample] = {item.sample_id: item for item in report.failing}
        failures, samples = report.failures, report.evaluation.samples.frame
        self._scores = report.evaluation.scores()
        self._values = self._scores.to_numpy(dtype=float).tolist()
        self._rows = {str(name): at for at, name in enumerate(samples.index)}
        ours = {"cause": "primary_cause"}
        names = ("passed", "cause", "sub_cause", "confidence", "evidence", "advice")
        self._columns = {name: samples[name].tolist() for name in ("question", "answer")}
        self._columns |= {name: failures[ours.get(name, name)].tolist() for name in names}
        self._columns["causes"] = ["; ".join(row) for row in failures["causes"]]

    def sample(self, sample_id: str) -> dict[str, Any]:
        """The columns of one sample; only its id when it is not in this evaluation (a pin of other data)."""
        at, own = self._rows.get(sample_id), self._failing.get(sample_id)
        if at is None:
            return {"sample_id": sample_id}
        return {
            "sample_id": sample_id, **{name: values[at] for name, values in self._columns.items()},
            "verdict": own.verdict if own else None, "verdict_note": own.note if own else None,
            **dict(zip(self._scores.columns, self._values[at], strict=True)),
        }  # fmt: skip


def write_parquet(target: Path, frame: pd.DataFrame) -> None:
    """A table as Parquet, typed. Text is kept as it is (nothing runs it), but for control characters."""
    import pandas as pd

    for name in frame.columns:
        if frame[name].dtype.kind not in "fiub" and not isinstance(frame[name].dtype, pd.BooleanDtype):
            frame[name] = pd.array([without_controls(x) if isinstance(x, str) else None for x in frame[name]], dtype="str")
    with replacing(target) as temporary:
        frame.to_parquet(temporary, index=False)


# ------------------------------------------------------------------------------
# The sheets of the workbook: headings and rows of plain values.


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


def _sheet(name: str, keys: Iterable[str], rows: list[list[Any]], widths: Sequence[int], rates: Sequence[int] = ()) -> Sheet:
    """A sheet whose headings are the texts of ``keys``; ``rates``: the columns that hold shares."""
    heads = [_t(f"report.columns.{key}") for key in keys]
    return Sheet(_name(name), heads, rows, tuple(widths), dict.fromkeys(rates, "rate"))


def _report(report: Report) -> Sheet:
    rows = [[report.subtitle], [""], *([sentence] for sentence in report.verdict), [""], [_t("report.section.next")]]
    if not report.actions:
        rows.append([render.nothing(report, "next")])
    for action in report.actions:
        title = f"{'⚠ ' if action.red_line else ''}{action.title}"
        rows.append([f"{title}: {render.touches(action)}. {' '.join(action.advice)}"])
    notes = [[line] for line in ([] if report.findings else [_t("report.findings.none")])]
    notes += [[line] for line in ([] if report.changes else [_t("report.changes.none")])]
    return Sheet(_name("report"), [report.title], [*rows, [""], *notes], (110,), table=False)


def _metrics(measures: Sequence[Measure]) -> Sheet:
    keys = ("metric", "mean", "level", "low", "high", "n_ok", "n_not_applicable", "n_undefined", "n_error", "n_skipped",
            "n_total", "low_bound", "high_bound", "target", "attainable", "meets_target", "before", "after", "delta",
            "delta_low", "delta_high", "p", "n_pairs", "method", "reading")  # fmt: skip
    rows = [[_metric_value(measure, key) for key in keys] for measure in measures]
    return _sheet("metrics", keys, rows, (30, *[11] * 22, 34, 60))


def _metric_value(measure: Measure, key: str) -> Any:
    if key in ("metric", "level"):
        return measure.title if key == "metric" else level_title(measure.level)
    if key in ("n_not_applicable", "n_undefined", "n_error", "n_skipped"):
        return measure.states.get(key[2:], 0)
    return getattr(measure, key)


def _causes(report: Report) -> Sheet:
    keys = ("cause", "layer", "n", "n_any", "n_total", "rate", "low", "high", "sub_causes", "advice")
    rows = [[c.title, c.layer_title, c.n, c.n_any, c.n_total, c.n / c.n_total, c.low, c.high, dict(c.sub_causes), c.advice]
            for c in report.causes]  # fmt: skip
    return _sheet("causes", keys, rows, (30, 16, 9, 9, 9, 9, 9, 9, 30, 80), rates=(5, 6, 7))


def _where(report: Report) -> Sheet:
    keys = ("dimension", "value", "n_failing", "n", "rate", "low", "high", "lift", "q_value", "causes")
    rows = [[part.title, s.value, s.n_failing, s.n, s.rate, s.low, s.high, s.lift, s.q_value, s.causes]
            for part in report.places for s in part.rows]  # fmt: skip
    return _sheet("where", keys, rows, (22, 40, 9, 9, 9, 9, 9, 9, 9, 60), rates=(4, 5, 6))


def _changes(changes: Changes) -> Sheet:
    keys = ("change", "sample_id", "question", "cause_before", "cause_after", "answer_changed")
    rows: list[list[Any]] = [
        [_t(f"report.changes.{item.change}") if item.change else _t("report.columns.noise"), item.sample_id, item.question,
         item.cause_before, item.cause_after, item.answer_changed]
        for item in (*changes.flipped, *changes.same_answer, *changes.noise)
    ]  # fmt: skip
    rows += [[_t("report.columns.flow"), "; ".join(f.sample_ids), None, f.cause_before, f.cause_after, None]
             for f in changes.flows if f.moved]  # fmt: skip
    return _sheet("changes", keys, rows, (16, 24, 60, 26, 26, 12))


def _findings(report: Report) -> Sheet:
    keys = ("finding", "title", "note", "n", "n_total", "rate", "low", "high", "sample_ids", "filter", "thresholds", "runs",
            "created", "snippet")  # fmt: skip
    rows = [[at, f.title, f.note, f.n, f.n_total, f.value, f.low, f.high, "; ".join(f.sample_ids), render.filter_words(f),
             render.values(f.thresholds), "; ".join(f.runs), f.created, f.snippet]
            for at, f in enumerate(report.findings, 1)]  # fmt: skip
    return _sheet("findings", keys, rows, (9, 40, 50, 9, 9, 9, 9, 9, 50, 30, 40, 24, 20, 60), rates=(5, 6, 7))


def _failing(report: Report) -> Sheet:
    keys = ("sample_id", "cause", "sub_cause", "confidence", "question", "answer", "evidence", "advice", "verdict", "note")
    rows = [[f.sample_id, f.cause_title, f.sub_cause, f.confidence, f.question, f.answer, f.evidence, f.advice, f.verdict,
             f.note] for f in report.failing]  # fmt: skip
    return _sheet("failing", keys, rows, (16, 22, 18, 11, 50, 60, 60, 60, 12, 30))


def _samples(report: Report, scores: pd.DataFrame) -> Sheet:
    """Every sample with its texts, outcome and scores."""
    known = Known(report)
    texts = ("sample_id", "question", "answer", "passed", "cause", "confidence")
    rows = []
    for sample_id in scores.index:
        own = known.sample(sample_id)
        own["cause"] = cause_title(own["cause"])
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


# ------------------------------------------------------------------------------
# From a report's content to files.


def write(report: Report, path: str | Path, format: str) -> Path:
    """Write a report, whole or not at all, and give the file.

    Parameters
    ----------
    path
        The ending of the format is added when it has none (".1" of "gpt-4.1" is none). Markdown puts its pictures into
        ``<name>_files`` beside it; CSV and Parquet hold the samples, and the findings are in ``<name>_findings`` beside it.
    format
        One of :data:`workbench.data.files.REPORT_FORMATS`.

    Raises
    ------
    InputError
        For an unknown format, or a place that cannot be written.
    """
    if format not in REPORT_FORMATS:
        raise InputError(f"format {format!r} is not known; use one of {', '.join(REPORT_FORMATS)}")
    target = Path(path).expanduser()
    if not target.name:
        raise InputError(f"{str(path)!r} names no file; give the name of one")
    target = target if target.suffix[1:].isalpha() else target.with_name(target.name + REPORT_FORMATS[format])
    if target.is_dir():
        raise InputError(f"{target}: is a folder; give the name of a file")
    return _WRITERS[format](report, target)


_WRITERS: dict[str, Callable[[Report, Path], Path]] = {
    "html": lambda report, target: write_text(target, render.html(report)),
    "md": lambda report, target: render.write_markdown(report, target),
    "xlsx": lambda report, target: write_workbook(report, target),
    "csv": lambda report, target: _write_tables(report, target, partial(write_csv, index=False)),
    "parquet": lambda report, target: _write_tables(report, target, write_parquet),
    "junit": lambda report, target: write_samples(report, target),
    **{name: partial(exchange.write_back, format=name) for name in exchange.WRITERS},
}


# ------------------------------------------------------------------------------
# What a user hands over: the session's pins, in their order, within a report.


def export_findings(
    session: Session,
    path: str | Path,
    *,
    format: str = "html",
    language: str | None = None,
    baseline: Any = None,
    date: datetime.date | None = None,
    gate: Any = None,
    repair: Any = None,
) -> Path:
    """Write the session's pins, with the report around them, to one file and give it.

    Without pins the report shows the failing samples. Thresholds, pins and verdicts are those in force in the session.

    Parameters
    ----------
    format
        ``html``, ``md``, ``xlsx``, ``csv``, ``parquet``, ``junit``, ``summary`` (short Markdown for a pull request), or
        what ``langfuse``, ``langsmith``, ``phoenix`` and ``mlflow`` import (by trace id).
    language
        a code of :func:`workbench.language.codes`; default: the one in force.
    baseline
        An evaluation to compare with.
    date
        Printed on the report; default today.
    gate
        See :func:`~workbench.reports.sections.build_report`.
    repair
        What ``wb.repair_plan`` returned, for a page of its own in HTML and Markdown.

    Raises
    ------
    InputError
        For an unknown format or language, or a place that cannot be written.
    """
    report = build_report(
        session.evaluation, baseline=baseline, findings=session.findings, annotations=session.annotations,
        language=language, date=date, gate=gate, repair=repair,
    )  # fmt: skip
    return write(report, path, format)


# ------------------------------------------------------------------------------
# The Excel file: typed columns, frozen headings, filters; text is text, whatever it begins with. Cells are written one by
# one and not by ``DataFrame.to_excel``, which marks no cell as text: one that begins with "=" would run when it is edited.


#: The most characters of a cell, and rows of a sheet, that Excel can hold.
CELL, ROWS = 32_767, 1_048_576
#: Longest name of a sheet.
_NAME = 31
#: What a spreadsheet would take for a formula when the cell is edited: such a cell is marked as text.
_FORMULA = re.compile(r"^[\s]*[=+\-@|%＝＋－＠]")


def write_workbook(report: Report, target: Path) -> Path:
    """Write the workbook, whole or not at all; the same report gives the same bytes."""
    import xlsxwriter

    with speaking(report.language), replacing(target) as temporary:
        options = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False,
                   "nan_inf_to_errors": False, "in_memory": True}  # fmt: skip
        book = xlsxwriter.Workbook(str(temporary), options)
        created = datetime.datetime.combine(report.date, datetime.time())
        book.set_properties({"title": clean(report.title)[:250], "created": created})
        writer = _Writer(book)
        first, *others = sheets(report)
        writer.add(first)
        charts = book.add_worksheet(_name("charts"))
        for sheet in others:
            writer.add(sheet)
        _add_charts(book, charts, report)
        writer.say_cuts()
        book.close()
    return target


def _add_charts(book: Any, sheet: Any, report: Report) -> None:
    """Causes as bars, and the means of the first table (before and after where there is a baseline)."""
    sheet.hide_gridlines(2)
    measures = [at for at, m in enumerate(report.measures, 1) if m.shown and 0 <= m.mean <= 1]
    drawn = []
    if report.causes:
        drawn.append((_t("report.broken.picture", n_failing=report.n_failing, n=report.n_total), _name("causes"),
                      [(2, _t("report.columns.n"))], len(report.causes)))  # fmt: skip
    if measures:
        heads = [(16, _t("report.columns.before")), (17, _t("report.columns.after"))] if report.changes else [
            (1, _t("report.columns.mean"))]  # fmt: skip
        drawn.append((_t("report.section.quality"), _name("metrics"), heads, max(measures)))
    for at, (title, source, series, last) in enumerate(drawn):
        chart = book.add_chart({"type": "bar"})
        for (column, name), colour in zip(series, ("#999999", "#0072b2")[-len(series) :], strict=True):
            chart.add_series({
                "name": name, "categories": [source, 1, 0, last, 0], "values": [source, 1, column, last, column],
                "fill": {"color": colour}, "data_labels": {"value": True}, "gap": 60,
            })  # fmt: skip
        chart.set_title({"name": title, "name_font": {"size": 12}})
        chart.set_y_axis({"reverse": True})
        chart.set_x_axis({"min": 0, "major_gridlines": {"visible": False}, "visible": False})
        chart.set_legend({"position": "bottom"} if len(series) > 1 else {"none": True})
        chart.set_size({"width": 620, "height": 90 + 26 * last * len(series)})
        sheet.insert_chart(0, 11 * at, chart, {"description": title})


class _Writer:
    """Writes sheets and remembers what had to be cut."""

    def __init__(self, book: Any) -> None:
        self._book = book
        self._cut_cells = 0
        self._cut_rows: list[str] = []
        self._first: Any = None
        self._first_end = 0
        top = {"valign": "top"}
        self._formats = {
            "head": book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"}),
            "text": book.add_format({**top, "text_wrap": True}),
            "quoted": book.add_format({**top, "text_wrap": True, "quote_prefix": True}),
            "score": book.add_format({**top, "num_format": "0.00"}),
            "count": book.add_format({**top, "num_format": "#,##0"}),
            "rate": book.add_format({**top, "num_format": "0 %"}),
            "bold": book.add_format({**top, "text_wrap": True, "bold": True}),
        }

    def add(self, sheet: Sheet) -> None:
        """One sheet: headings frozen with filters, columns as wide as asked."""
        own = self._book.add_worksheet(sheet.name[:_NAME])
        rows = sheet.rows[: ROWS - 1]
        if len(rows) < len(sheet.rows):
            self._cut_rows.append(
                _t("report.workbook.cut_rows", sheet=sheet.name, shown=f"{len(rows):,}", total=f"{len(sheet.rows):,}")
            )
        for at, head in enumerate(sheet.heads):
            self._cell(own, 0, at, head, "head")
            own.set_column(at, at, sheet.widths[at] if at < len(sheet.widths) else 12)
        for line, row in enumerate(rows, 1):
            for at, value in enumerate(row):
                self._cell(own, line, at, value, sheet.kinds.get(at, ""))
        if sheet.table:
            own.freeze_panes(1, 1)
            own.autofilter(0, 0, max(len(rows), 1), max(len(sheet.heads) - 1, 0))
        if self._first is None:
            self._first, self._first_end = own, len(rows) + 2

    def _cell(self, sheet: Any, row: int, column: int, value: Any, kind: str) -> None:
        value = in_one_cell(value) if isinstance(value, (list, tuple, dict)) else none_if_missing(value)
        if value is None:
            return
        if isinstance(value, bool):
            sheet.write_boolean(row, column, value, self._formats["text"])
        elif isinstance(value, (int, float)):
            self._number(sheet, row, column, value, kind)
        else:
            self._text(sheet, row, column, str(value), kind)

    def _number(self, sheet: Any, row: int, column: int, value: float, kind: str) -> None:
        if not math.isfinite(value):
            self._text(sheet, row, column, str(value), kind)
            return
        usual = "count" if isinstance(value, int) else "score"
        sheet.write_number(row, column, value, self._formats[kind if kind in ("rate", "count") else usual])

    def _text(self, sheet: Any, row: int, column: int, value: str, kind: str) -> None:
        text = without_keys(clean(value))
        if _units(text) > CELL:
            self._cut_cells += 1
            text = _within(text, CELL)
        look = kind if kind in ("head", "bold") else "quoted" if _FORMULA.match(text) else "text"
        sheet.write_string(row, column, text, self._formats[look])

    def say_cuts(self) -> None:
        """Lines on the first sheet about what does not fit into Excel."""
        lines = list(self._cut_rows)
        if self._cut_cells:
            lines.append(_t("report.workbook.cut_cells", n=f"{self._cut_cells:,}"))
        for at, line in enumerate(lines):
            self._text(self._first, self._first_end + at, 0, line, "")


def _units(text: str) -> int:
    """Length as Excel counts it: in UTF-16 code units."""
    return len(text) if text.isascii() else len(text) + sum(ord(c) > 0xFFFF for c in text)


def _within(text: str, limit: int) -> str:
    """``text`` cut to ``limit`` UTF-16 code units, ending in an ellipsis."""
    return text.encode("utf-16-le")[: 2 * (limit - 1)].decode("utf-16-le", "ignore") + "…"
