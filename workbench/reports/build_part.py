"""A report, gathered from its sections."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.data.redact import redacted
from workbench.language import get_language, speaking
from workbench.language import text as _t
from workbench.reports.report import Material, Report
from workbench.views.finding import Finding


def build_report(
    evaluation: Any,
    *,
    baseline: Any = None,
    findings: Sequence[Finding] = (),
    annotations: Mapping[str, Any] | None = None,
    language: str | None = None,
    date: datetime.date | None = None,
) -> Report:
    """Gather the content of a report.

    Parameters
    ----------
    evaluation
        An ``Evaluation``, under the thresholds that hold.
    baseline
        The evaluation that it is compared with; None leaves the comparison out.
    findings, annotations
        The pins in their order, and the user's verdicts by sample id (see ``Session``).
    language
        ``"en"`` or ``"zh"``; default: the one in force.
    date
        Printed on the report; default today.

    Raises
    ------
    InputError
        For an unknown language.
    """
    with speaking(language or get_language()):
        return _gather(_material(evaluation, baseline, annotations or {}), tuple(findings), date or _today())


def _today() -> datetime.date:
    return datetime.datetime.now(datetime.UTC).date()


def _material(evaluation: Any, baseline: Any, annotations: Mapping[str, Any]) -> Material:
    from workbench.reports.changes import compared

    comparison = None if baseline is None else compared(baseline, evaluation)
    failures = evaluation.failures()
    # What a service said when it failed may hold the key that it was called with.
    silent = failures["primary_cause"].eq("no_answer").to_numpy(dtype=bool)
    failures["evidence"] = [redacted(t) if s else t for t, s in zip(failures["evidence"], silent, strict=True)]
    return Material(
        evaluation, baseline, failures, evaluation.samples.frame, evaluation.summary(), comparison, annotations
    )


def _gather(material: Material, findings: tuple[Finding, ...], date: datetime.date) -> Report:
    from workbench.reports import broken, changes, measured, next_steps, quality, verdict, where

    table = quality.measures(material)
    changed = changes.changes(material)
    steps = next_steps.actions(material)
    return Report(
        title=_title(material),
        subtitle=_subtitle(material, date),
        language=get_language(),
        date=date,
        verdict=verdict.verdict(material, table, changed),
        measures=table,
        ladder=quality.ladder(material),
        causes=broken.causes(material),
        places=where.places(material),
        changes=changed,
        findings=findings,
        actions=steps,
        measured=measured.measured(material),
        failing=broken.failing_rows(material),
        n_total=material.n,
        failures=material.failures,
        evaluation=material.evaluation,
        baseline=material.baseline,
    )


def _title(material: Material) -> str:
    if material.baseline is None:
        return _t("report.title.one", name=material.evaluation.name)
    return _t("report.title.two", name=material.evaluation.name, baseline=material.baseline.name)


def _subtitle(material: Material, date: datetime.date) -> str:
    judge = str(material.evaluation.manifest.get("judge") or "none").partition("/")[0]
    said = _t("report.title.no_judge") if judge == "none" else _t("report.title.judge", judge=judge)
    return " · ".join([_t("report.title.date", year=date.year, month=date.month, day=date.day, name=_month(date)),
                       _t("report.title.cases", n=f"{material.n:,}"), said])  # fmt: skip


def _month(date: datetime.date) -> str:
    return ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][date.month - 1]
