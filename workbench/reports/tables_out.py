"""A report as one table, for spreadsheets and programs: the pins sample by sample, then every failing sample."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.data.files import replacing
from workbench.data.tables import without_controls
from workbench.language import speaking
from workbench.reports import phrases
from workbench.reports.report import Failing, Report
from workbench.reports.secrets import without_keys
from workbench.views.finding import Finding

if TYPE_CHECKING:
    import pandas as pd

#: Text columns of a row, in their order; one float column a metric follows.
TEXTS = (
    "part", "finding", "title", "note", "sample_id", "question", "answer", "passed", "cause", "sub_cause", "causes",
    "confidence", "evidence", "advice", "verdict", "verdict_note", "n", "n_total", "value", "low", "high", "filter",
    "thresholds", "runs", "created", "snippet",
)  # fmt: skip
_NUMBERS = ("confidence", "value", "low", "high")
_COUNTS = ("finding", "n", "n_total")


def rows(report: Report) -> pd.DataFrame:
    """One row for each sample of each pin (``part`` = finding), then one for each failing sample (``part`` = failing).

    A pin without sample ids has one row. Columns :data:`TEXTS`, then every metric's score; missing ones are empty.
    """
    import pandas as pd

    with speaking(report.language):
        known = Known(report)
        found = [row for at, item in enumerate(report.findings, 1) for row in _pinned(known, at, item)]
        found += [{"part": "failing", **known.sample(item.sample_id)} for item in report.failing]
    found = [{name: without_keys(v) if isinstance(v, str) else v for name, v in row.items()} for row in found]
    frame = pd.DataFrame(found, columns=[*TEXTS, *report.evaluation.scores().columns])
    return _typed(frame)


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    for name in frame.columns:
        if name in _COUNTS:
            frame[name] = frame[name].astype("Int64")
        elif name in _NUMBERS or name not in TEXTS:
            frame[name] = frame[name].astype("float64")
        elif name == "passed":
            frame[name] = frame[name].astype("boolean")
    return frame


class Known:
    """What is known of each sample, looked up by id."""

    def __init__(self, report: Report) -> None:
        self._failing: dict[str, Failing] = {item.sample_id: item for item in report.failing}
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


def _pinned(known: Known, at: int, finding: Finding) -> list[dict[str, Any]]:
    own = {
        "part": "finding", "finding": at, "title": finding.title, "note": finding.note, "n": finding.n,
        "n_total": finding.n_total, "value": finding.value, "low": finding.low, "high": finding.high,
        "filter": phrases.filter_words(finding), "thresholds": phrases.values(finding.thresholds),
        "runs": "; ".join(finding.runs), "created": finding.created, "snippet": finding.snippet,
    }  # fmt: skip
    return [{**known.sample(sample_id), **own} for sample_id in finding.sample_ids] or [own]


def write_parquet(report: Report, target: Path) -> Path:
    """Write :func:`rows` as Parquet, typed. Text is kept as it is (nothing runs it), but for control characters."""
    import pandas as pd

    frame = rows(report)
    for name in frame.columns:
        if frame[name].dtype.kind not in "fiub" and not isinstance(frame[name].dtype, (pd.Int64Dtype, pd.BooleanDtype)):
            frame[name] = pd.array([_text(value) for value in frame[name].tolist()], dtype="str")
    with replacing(target) as temporary:
        frame.to_parquet(temporary, index=False)
    return target


def _text(value: Any) -> str | None:
    return without_controls(value) if isinstance(value, str) else None
