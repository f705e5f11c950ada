"""An evaluation as JUnit XML: one test case a sample, failures with their cause and evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.data.schema import none_if_missing
from workbench.language import speaking
from workbench.language import text as _t
from workbench.reports import extracts
from workbench.reports.broken import expected
from workbench.reports.junit import Case, write_junit
from workbench.reports.measured import thresholds_words
from workbench.reports.report import Report
from workbench.views.names import cause_title

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
    return "\n".join(f"{_t(f'report.broken.{name}').rstrip(':：')}: {_cut(str(text))}" for name, text in told.items() if text)


def _cut(text: str, limit: int = 2000) -> str:
    return " ".join(extracts.head(text, limit)).strip()
