"""What a user hands over: the session's pins, in their order, within a report."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.reports.build_part import build_report
from workbench.reports.writing import write

if TYPE_CHECKING:
    from workbench.views.session import Session


def export_findings(
    session: Session,
    path: str | Path,
    *,
    format: str = "html",
    language: str | None = None,
    baseline: Any = None,
    date: datetime.date | None = None,
) -> Path:
    """Write the session's pins, with the report around them, to one file and give it.

    Without pins the report shows the failing samples. Thresholds, pins and verdicts are those in force in the session.

    Parameters
    ----------
    format
        ``html``, ``md``, ``xlsx``, ``csv``, ``parquet`` or ``junit``.
    language
        ``"en"`` or ``"zh"``; default: the one in force.
    baseline
        An evaluation to compare with.
    date
        Printed on the report; default today.

    Raises
    ------
    InputError
        For an unknown format or language, or a place that cannot be written.
    """
    report = build_report(
        session.evaluation, baseline=baseline, findings=session.findings, annotations=session.annotations,
        language=language, date=date,
    )  # fmt: skip
    return write(report, path, format)
