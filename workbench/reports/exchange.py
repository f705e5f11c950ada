"""Scores, causes and verdicts back to where a recording came from, and a short summary for pull requests.

Each file is what the tool's own interface takes, by trace id: Langfuse ``POST /api/public/ingestion``, LangSmith
``Client.create_feedback(**line)``, Phoenix ``POST /v1/trace_annotations``, MLflow ``mlflow.log_feedback(**line)``
(its ``source`` as ``AssessmentSource(**source)``). Only scores that are known are
written, and causes as words; nothing is sent.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from workbench.data.files import write_text
from workbench.data.schema import none_if_missing
from workbench.language import speaking
from workbench.language import text as _t
from workbench.reports.content import Report
from workbench.reports.render import md, md_table, without_keys

#: Failing samples that a summary names.
SHOWN = 10
_TRACES = ("trace_id", "traceId", "run_id")
_PREFIX = "workbench"


class Told(NamedTuple):
    """One thing about one trace: a number or a word, and why."""

    trace: str
    name: str
    value: float | str
    why: str | None


def told(report: Report) -> Iterator[Told]:
    """Every known score of every sample, then whether it passed and its primary cause with the evidence for it."""
    frame, scores, failures = report.evaluation.samples.frame, report.evaluation.scores(), report.failures
    column = next((name for name in _TRACES if name in frame.columns), None)
    named = frame.index.tolist() if column is None else [none_if_missing(value) for value in frame[column].tolist()]
    for trace, sample_id, values, row in zip(
        named, frame.index.tolist(), scores.to_dict("records"), failures.to_dict("records"), strict=True
    ):
        trace = str(sample_id if trace is None else trace)
        for name, value in values.items():
            if value == value:
                yield Told(trace, f"{_PREFIX}.{name}", float(value), None)
        if none_if_missing(row["passed"]) is not None:
            yield Told(trace, f"{_PREFIX}.passed", float(row["passed"]), None)
            why = without_keys(str(row["evidence"])) if row["evidence"] else None
            yield Told(trace, f"{_PREFIX}.cause", str(row["primary_cause"]), why)


def _langfuse(report: Report) -> str:
    at = f"{report.date.isoformat()}T00:00:00Z"

    def event(one: Told) -> dict[str, Any]:
        # The same score of the same trace has the same id, so that importing twice replaces it.
        own = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{one.trace}/{one.name}"))
        kind = "NUMERIC" if isinstance(one.value, float) else "CATEGORICAL"
        body = {"id": own, "traceId": one.trace, "name": one.name, "value": one.value, "dataType": kind, "comment": one.why}
        change = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{one.trace}/{one.name}/{one.value}"))
        return {"id": change, "timestamp": at, "type": "score-create", "body": body}

    return _json({"batch": [event(one) for one in told(report)]})


def _phoenix(report: Report) -> str:
    def annotation(one: Told) -> dict[str, Any]:
        found = {"score": one.value} if isinstance(one.value, float) else {"label": one.value}
        kind = "LLM" if "llm:" in str(report.evaluation.manifest.get("judge")) else "CODE"
        own = {"name": one.name, "annotator_kind": kind, "trace_id": one.trace, "identifier": _PREFIX}
        return own | {"result": found | ({"explanation": one.why} if one.why else {})}

    return _json({"data": [annotation(one) for one in told(report)]})


def _langsmith(report: Report) -> str:
    def feedback(one: Told) -> dict[str, Any]:
        found = {"score": one.value} if isinstance(one.value, float) else {"value": one.value}
        own = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{one.trace}/{one.name}"))
        return {"run_id": one.trace, "key": one.name, **found, "comment": one.why, "feedback_id": own}

    return _lines(feedback(one) for one in told(report))


def _mlflow(report: Report) -> str:
    judge = str(report.evaluation.manifest.get("judge"))
    source = {"source_type": "LLM_JUDGE" if "llm:" in judge else "CODE", "source_id": f"{_PREFIX}/{judge}"}
    rows = ({"trace_id": one.trace, "name": one.name, "value": one.value, "rationale": one.why, "source": source}
            for one in told(report))  # fmt: skip
    return _lines(rows)


def _summary(report: Report) -> str:
    """Title, verdict and the first failing samples in Markdown, short enough for a pull request."""
    heads = [_t("report.columns.sample_id"), _t("report.columns.cause"), _t("report.columns.question")]
    rows = [(one.sample_id, one.cause_title, one.question) for one in report.failing[:SHOWN]]
    table = md_table(heads, [[_cell(value) for value in row] for row in rows]) if rows else ""
    more = [_t("panels.common.of", shown=len(rows), total=report.n_failing)] if report.n_failing > len(rows) else []
    parts = [f"## {md(report.title)}", "\n".join(f"* {md(line)}" for line in report.verdict), table, *more]
    return without_keys("\n\n".join(part for part in parts if part)) + "\n"


def _cell(value: str) -> str:
    line = " ".join(value.split())
    return str(md(line if len(line) <= 120 else line[:119] + "…")).replace("|", "\\|")


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _lines(rows: Iterator[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


#: Format → its text.
WRITERS: dict[str, Callable[[Report], str]] = {
    "summary": _summary, "langfuse": _langfuse, "langsmith": _langsmith, "phoenix": _phoenix, "mlflow": _mlflow,
}  # fmt: skip


def write_back(report: Report, target: Path, format: str) -> Path:
    """Write a report in one of :data:`WRITERS`."""
    with speaking(report.language):
        return write_text(target, WRITERS[format](report))
