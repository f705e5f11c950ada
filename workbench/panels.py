"""The panels by name, as notebooks use them: ``wb.panels.low_scores(session)``.

This is where the layers meet: panels that write files are handed the functions of ``workbench.reports``, which the view
layer itself does not know. Each panel is imported when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.views.panels.calibration import CalibrationPanel
    from workbench.views.panels.compare import Compare
    from workbench.views.panels.dataset import Dataset
    from workbench.views.panels.export import Export
    from workbench.views.panels.hallucinations import Hallucinations
    from workbench.views.panels.low_scores import LowScores
    from workbench.views.panels.missed_documents import MissedDocuments
    from workbench.views.panels.monitoring import MonitoringPanel
    from workbench.views.panels.query_types import QueryTypes
    from workbench.views.panels.repair_plan import RepairPlanPanel, SweepPanel
    from workbench.views.panels.score import Score
    from workbench.views.panels.vocabulary import VocabularyPanel
    from workbench.views.session import Session


def _module(name: str) -> Any:
    return import_module(f"workbench.views.panels.{name}")


def dataset(source: Any, corpus: Any = None, mapping: Mapping[str, str] | None = None) -> Dataset:
    """Panel 00: does my data load, what is in it, where do I go? ``source``: a path, a session or a set of samples;
    ``mapping``: column → field where names are not recognised."""
    return _module("dataset").Dataset(source, corpus, mapping)


def score(session: Session, data: Mapping[str, str | Path] | None = None, out: str | Path | None = None) -> Score:
    """Panel 01: how good is it? ``data``: names and paths to choose from; ``out``: where a new evaluation is saved."""
    return _module("score").Score(session, data, out=out)


def low_scores(session: Session, metric: str | None = None) -> LowScores:
    """Panel 02: which samples fail and what do they look like?"""
    return _module("low_scores").LowScores(session, metric)


def missed_documents(session: Session, corpus: Any = None, encoder: Any = None) -> MissedDocuments:
    """Panel 03: where in embedding space are the documents we missed? ``corpus``: the knowledge base, or its path."""
    return _module("missed_documents").MissedDocuments(session, corpus, encoder)


def vocabulary(
    session: Session, corpus: Any = None, encoder: Any = None, folder: str | Path = "findings"
) -> VocabularyPanel:
    """Panel 04: which words never meet? ``folder``: where accepted synonyms are exported to."""
    return _module("vocabulary").VocabularyPanel(session, corpus, encoder, folder)


def query_types(session: Session, by: str | None = None, other: str | None = None, min_n: int = 5) -> QueryTypes:
    """Panel 05: which kinds of query fail? ``by``, ``other``: dimensions as in ``wb.breakdown``."""
    return _module("query_types").QueryTypes(session, by, other, min_n)


def compare(session: Session, before: Any = None, mapping: Mapping[str, str] | None = None) -> Compare:
    """Panel 06: what got worse, and is it real? ``before``: the run to compare the session's with (an evaluation, the
    folder of one, or a recording, read with ``mapping``), or several."""
    from workbench.evidence.parts import is_saved
    from workbench.reports import gate

    if isinstance(before, (str, Path)) and not is_saved(before):
        before = import_module("workbench.api").open_evaluation(before, mapping=mapping)
    return _module("compare").Compare(session, before, gate)


def hallucinations(session: Session) -> Hallucinations:
    """Panel 07: what was made up, and how serious is it?"""
    return _module("hallucinations").Hallucinations(session)


def monitoring(
    session_or_log: Any, log: Any = None, baseline: Any = None, *, window: int | str | None = None,
    until: float | str | None = None,
) -> MonitoringPanel:  # fmt: skip
    """Panel 09: is production drifting? A session (pins go there) and its log, or only a log; see ``wb.monitor``."""
    return _module("monitoring").MonitoringPanel(session_or_log, log, baseline, window=window, until=until)


def calibration(session: Session, labels: Any = None) -> CalibrationPanel:
    """Panel 08: can I trust the judge, and where should the cut be? ``labels``: verdicts, as ``wb.load_verdicts`` reads."""
    from workbench.reports.gate import freeze

    return _module("calibration").CalibrationPanel(session, labels, freeze)


def repair_plan(session: Session, corpus: Any = None, encoder: Any = None, **options: Any) -> RepairPlanPanel:
    """Panel 11: what would each fix bring? ``options`` as for ``wb.repair_plan``."""
    from workbench.reports.render import write_repair

    return _module("repair_plan").RepairPlanPanel(session, write_repair, corpus, encoder, **options)


def sweep(session: Session, corpus: Any, **options: Any) -> SweepPanel:
    """Below panel 11: how many contexts are enough? ``options`` as for ``wb.sweep``."""
    return _module("repair_plan").SweepPanel(session, corpus, **options)


def export(
    session: Session, folder: str | Path = "findings", before: Any = None, rules: str | Path | None = None,
    mapping: Mapping[str, str] | None = None,
) -> Export:  # fmt: skip
    """Panel 10: what do I hand to my team? ``before``: the run that the report compares with (the folder of an evaluation, or
    a recording, read with ``mapping``); ``rules``: a rules file, whose verdict stands on page one."""
    return _module("export").Export(session, partial(_write_report, mapping), folder, before, rules)


def _write_report(mapping: Mapping[str, str] | None, session: Session, path: Path, *, before: str | Path = "",
                  rules: str | Path = "", **options: Any) -> Path:  # fmt: skip
    """The report of a session, against a run and under rules where they are named."""
    from workbench.reports.gate import check, load_rules
    from workbench.reports.tables import export_findings

    baseline = import_module("workbench.api").open_evaluation(before, mapping=mapping) if before else None
    file = load_rules(rules) if rules else None
    gate = None if file is None else lambda: check(session.evaluation, file, baseline)
    return export_findings(session, path, baseline=baseline, gate=gate, **options)
