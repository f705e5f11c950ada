"""RAG diagnostic workbench: why a retrieval-augmented system answers badly, and what changed between two runs.

``import workbench as wb`` gives these names; each is loaded when it is first used. Everything else is imported from its
module.

Load
    load_samples, load_corpus, check, load_evaluation, load_verdicts, load_log, load_trec
Score
    open, evaluate, score_on_cluster, evaluate_rankings, Thresholds, metrics_table, metric, cause
Judges and other tools
    prompts, rate, prefer, recorded_judgements, with_ragas, with_silver_labels
Diagnose
    missed_documents, vocabulary_gaps, failing_terms, query_types, breakdown, worst_slices, hallucinated_claims,
    under_definitions
Repair
    repair_plan, sweep, replay
Compare and watch
    compare, history, monitor, compare_arms, Collector, alerts, golden
Trust
    agreement, annotator_agreement, calibrate, calibration_table, repeat_noise, fit, load_judge,
    suggest, right_rate, judge_panel, order_bias, verbosity_bias
Look
    Session, panels, set_language, data_path, baseline_path, corpus_path, labels_path, log_path
Types and errors
    Evaluation, SampleSet, WorkbenchError, InputError, RankingWarning
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError as _Error

__version__ = "0.1.0"

#: Module → what is public of it, in groups; ``name=other`` is the name there, a name that ends in ``.`` the module itself.
_GROUPS = (
    {
        "data.load": "load_samples", "data.corpus": "load_corpus", "data.doctor": "check", "evaluation": "load_evaluation",
        "diagnosis.calibration": "load_verdicts", "diagnosis.query_log": "load_log", "data.formats.trec": "load_trec",
    },
    {
        "api": "open=open_evaluation evaluate", "scale": "score_on_cluster", "scoring.ranking": "evaluate_rankings",
        "scoring.thresholds": "Thresholds", "scoring.metrics": "metrics_table metric", "diagnosis.causes": "cause",
    },
    {
        "evidence.llm.prompts": "prompts", "evidence.llm.rubric": "rate", "diagnosis.judges": "prefer",
        "evidence.adapters": "recorded_judgements with_ragas", "api": "with_silver_labels",
    },
    {
        "diagnosis.missed": "missed_documents", "diagnosis.vocabulary": "vocabulary_gaps failing_terms",
        "diagnosis.queries": "query_types breakdown", "diagnosis.slices": "worst_slices",
        "diagnosis.hallucinations": "hallucinated_claims", "scoring.definitions": "under_definitions",
    },
    {"repair.plan": "repair_plan", "repair.sweep": "sweep", "repair.replay": "replay"},
    {
        "api": "compare monitor", "runs": "history", "diagnosis.experiment": "compare_arms",
        "diagnosis.monitoring": "Collector", "diagnosis.alerts": "alerts.", "diagnosis.golden": "golden.",
    },
    {
        "diagnosis.statistics": "agreement",
        "diagnosis.calibration": "annotator_agreement calibrate calibration_table repeat_noise",
        "diagnosis.judges": "judge_panel order_bias verbosity_bias",
        "diagnosis.fitting": "fit load_judge right_rate suggest",
    },
    {
        "views.session": "Session", "panels": "panels.", "language": "set_language",
        "views.data_paths": "data_path baseline_path corpus_path labels_path log_path",
    },
    {
        "evaluation": "Evaluation", "data.schema": "SampleSet", "errors": "WorkbenchError InputError",
        "scoring.ranking": "RankingWarning",
    },
)  # fmt: skip

#: Public name → (module, name there; empty = the module itself).
_NAMES = {
    entry.partition("=")[0].rstrip("."): (module, "" if entry.endswith(".") else entry.rpartition("=")[2])
    for group in _GROUPS
    for module, entries in group.items()
    for entry in entries.split()
}

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
            """Loaded when the first error is there."""
            return importlib.import_module("workbench.views.error_box").show_error(*told, **options)

        shell.set_custom_exc((_Error,), shown)


_show_errors_in_words()


def __dir__() -> list[str]:
    return [*_NAMES, "__version__"]


if TYPE_CHECKING:
    from workbench.api import evaluate as evaluate
    from workbench.data.corpus import load_corpus as load_corpus
    from workbench.data.doctor import check as check
    from workbench.data.load import load_samples as load_samples
    from workbench.evaluation import Evaluation as Evaluation
    from workbench.evaluation import load_evaluation as load_evaluation
    from workbench.scoring.thresholds import Thresholds as Thresholds
