"""RAG diagnostic workbench: why a retrieval-augmented system answers badly, and what changed between two runs.

``import workbench as wb`` gives these names; each is loaded when it is first used. Everything else is imported from its
module.

Load
    load_samples, load_corpus, check, load_evaluation
Score
    open, evaluate, score_on_cluster, evaluate_rankings, Thresholds, metrics_table, metric, cause
Diagnose
    missed_documents, vocabulary_gaps, failing_terms, query_types, breakdown, worst_slices, hallucinated_claims
Repair
    repair_plan, sweep, replay
Compare and watch
    compare, history, monitor, Collector, golden
Trust
    agreement, fit, suggest, judge_panel, prompts, rate, prefer
Look
    Session, panels, set_language, data_path
Types and errors
    Evaluation, SampleSet, WorkbenchError, InputError

These are what ``dir(wb)`` and completion show. Tools for one purpose each are reached in the same way:

Other formats and tools
    load_log, load_trec, recorded_judgements, with_ragas, with_silver_labels, under_definitions, RankingWarning
Watching
    alerts, compare_arms
Judges and people
    load_verdicts, load_judge, calibrate, calibration_table, annotator_agreement, repeat_noise, right_rate, order_bias,
    verbosity_bias
Lines of the notebooks
    baseline_path, corpus_path, labels_path, log_path
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError as _Error

__version__ = "0.1.0"

#: Module → what is public of it; ``name=other`` is the name there, a name that ends in ``.`` the module itself.
_EVERYDAY = {
    "data.load": "load_samples", "data.corpus": "load_corpus", "data.doctor": "check",
    "evaluation": "load_evaluation Evaluation", "api": "open=open_evaluation evaluate compare monitor",
    "scale": "score_on_cluster", "scoring.ranking": "evaluate_rankings", "scoring.thresholds": "Thresholds",
    "scoring.metrics": "metrics_table metric", "diagnosis.causes": "cause", "diagnosis.missed": "missed_documents",
    "diagnosis.vocabulary": "vocabulary_gaps failing_terms", "diagnosis.queries": "query_types breakdown",
    "diagnosis.slices": "worst_slices", "diagnosis.hallucinations": "hallucinated_claims", "repair.plan": "repair_plan",
    "repair.sweep": "sweep", "repair.replay": "replay", "runs": "history", "diagnosis.monitoring": "Collector",
    "diagnosis.golden": "golden.", "diagnosis.statistics": "agreement", "diagnosis.fitting": "fit suggest",
    "diagnosis.judges": "judge_panel prefer", "evidence.llm.prompts": "prompts", "evidence.llm.rubric": "rate",
    "views.session": "Session", "panels": "panels.", "language": "set_language", "views.data_paths": "data_path",
    "data.schema": "SampleSet", "errors": "WorkbenchError InputError",
}  # fmt: skip
_SPECIAL = {
    "diagnosis.query_log": "load_log", "data.formats.trec": "load_trec", "api": "with_silver_labels",
    "evidence.adapters": "recorded_judgements with_ragas", "scoring.definitions": "under_definitions",
    "scoring.ranking": "RankingWarning", "diagnosis.alerts": "alerts.", "diagnosis.experiment": "compare_arms",
    "diagnosis.calibration": "load_verdicts calibrate calibration_table annotator_agreement repeat_noise",
    "diagnosis.fitting": "load_judge right_rate", "diagnosis.judges": "order_bias verbosity_bias",
    "views.data_paths": "baseline_path corpus_path labels_path log_path",
}  # fmt: skip


def _places(modules: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Public name → (module, name there; empty = the module itself)."""
    listed = [(entry, module) for module, entries in modules.items() for entry in entries.split()]
    return {entry.partition("=")[0].rstrip("."): (module, "" if entry.endswith(".") else entry.rpartition("=")[2])
            for entry, module in listed}  # fmt: skip


_SHOWN = _places(_EVERYDAY)
_NAMES = _SHOWN | _places(_SPECIAL)

__all__ = sorted((*_NAMES, "__version__"))


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    module, attribute = _NAMES[name]
    found = importlib.import_module(f"workbench.{module}")
    value = getattr(found, attribute) if attribute else found
    globals()[name] = value
    return value


def _show_errors_in_words() -> None:
    """In IPython, an error of this package is one box in plain words; ``%tb`` shows the traceback."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:

        def shown(*told: Any, **options: Any) -> Any:
            return importlib.import_module("workbench.views.error_box").show_error(*told, **options)

        shell.set_custom_exc((_Error,), shown)


_show_errors_in_words()


def __dir__() -> list[str]:
    return [*_SHOWN, "__version__"]


if TYPE_CHECKING:
    from workbench.api import evaluate as evaluate
    from workbench.data.corpus import load_corpus as load_corpus
    from workbench.data.doctor import check as check
    from workbench.data.load import load_samples as load_samples
    from workbench.evaluation import Evaluation as Evaluation
    from workbench.evaluation import load_evaluation as load_evaluation
    from workbench.scoring.thresholds import Thresholds as Thresholds
