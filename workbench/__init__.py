"""RAG diagnostic workbench: why a retrieval-augmented system answers badly, and what changed between two runs.

``import workbench as wb`` gives the names below; each is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

#: Public name → (module, name there; empty = the module itself).
_NAMES = {
    "agreement": ("workbench.diagnosis.statistics", "agreement"),
    "alerts": ("workbench.diagnosis.alerts", ""),
    "annotator_agreement": ("workbench.diagnosis.calibration", "annotator_agreement"),
    "annotator_pairs": ("workbench.diagnosis.calibration", "annotator_pairs"),
    "baseline_path": ("workbench.views.data_paths", "baseline_path"),
    "breakdown": ("workbench.diagnosis.queries", "breakdown"),
    "calibrate": ("workbench.diagnosis.calibration", "calibrate"),
    "calibration_table": ("workbench.diagnosis.calibration", "calibration_table"),
    "CancelledError": ("workbench.errors", "CancelledError"),
    "check": ("workbench.data.doctor", "check"),
    "Collector": ("workbench.diagnosis.monitoring", "Collector"),
    "compare": ("workbench.api", "compare"),
    "compare_many": ("workbench.api", "compare_many"),
    "Comparison": ("workbench.diagnosis.comparison", "Comparison"),
    "Corpus": ("workbench.data.schema", "Corpus"),
    "corpus_path": ("workbench.views.data_paths", "corpus_path"),
    "Criterion": ("workbench.evidence.llm.rubric", "Criterion"),
    "data_path": ("workbench.views.data_paths", "data_path"),
    "Encoder": ("workbench.evidence.encoders.base", "Encoder"),
    "EncoderError": ("workbench.errors", "EncoderError"),
    "evaluate": ("workbench.api", "evaluate"),
    "evaluate_rankings": ("workbench.scoring.ranking", "evaluate_rankings"),
    "Evaluation": ("workbench.evaluation", "Evaluation"),
    "failing_terms": ("workbench.diagnosis.vocabulary", "failing_terms"),
    "hallucinated_claims": ("workbench.diagnosis.hallucinations", "hallucinated_claims"),
    "InputError": ("workbench.errors", "InputError"),
    "Judge": ("workbench.evidence.judge", "Judge"),
    "judge_corrected_mean": ("workbench.diagnosis.statistics", "judge_corrected_mean"),
    "JudgeError": ("workbench.errors", "JudgeError"),
    "labels_path": ("workbench.views.data_paths", "labels_path"),
    "LLMJudge": ("workbench.evidence.llm", "LLMJudge"),
    "load_corpus": ("workbench.data.corpus", "load_corpus"),
    "load_evaluation": ("workbench.evaluation", "load_evaluation"),
    "load_log": ("workbench.diagnosis.query_log", "load_log"),
    "load_samples": ("workbench.data.load", "load_samples"),
    "load_trec": ("workbench.data.formats.trec", "load_trec"),
    "load_verdicts": ("workbench.diagnosis.calibration", "load_verdicts"),
    "log_path": ("workbench.views.data_paths", "log_path"),
    "metric": ("workbench.scoring.metrics", "metric"),
    "metrics_table": ("workbench.scoring.metrics", "metrics_table"),
    "missed_documents": ("workbench.diagnosis.missed", "missed_documents"),
    "monitor": ("workbench.api", "monitor"),
    "OfflineJudge": ("workbench.evidence.offline.judge", "OfflineJudge"),
    "open": ("workbench.api", "open_evaluation"),
    "oracle_ladder": ("workbench.diagnosis.summary", "oracle_ladder"),
    "panels": ("workbench.panels", ""),
    "query_types": ("workbench.diagnosis.queries", "query_types"),
    "QueryLog": ("workbench.diagnosis.query_log", "QueryLog"),
    "ragas_scores": ("workbench.evidence.adapters", "ragas_scores"),
    "RankingWarning": ("workbench.scoring.ranking", "RankingWarning"),
    "rate": ("workbench.evidence.llm.rubric", "rate"),
    "record": ("workbench.data.record", "record"),
    "recorded_judgements": ("workbench.evidence.adapters", "recorded_judgements"),
    "repeat_noise": ("workbench.diagnosis.calibration", "repeat_noise"),
    "repeated_samples": ("workbench.diagnosis.calibration", "repeated_samples"),
    "resolve_encoder": ("workbench.evidence.encoders.resolve", "resolve_encoder"),
    "resolve_judge": ("workbench.evidence.resolve", "resolve_judge"),
    "rubrics": ("workbench.evidence.llm.rubric", "presets"),
    "Sample": ("workbench.data.schema", "Sample"),
    "SampleEvidence": ("workbench.evidence.judge", "SampleEvidence"),
    "SampleSet": ("workbench.data.schema", "SampleSet"),
    "score_on_cluster": ("workbench.scale", "score_on_cluster"),
    "Session": ("workbench.views.session", "Session"),
    "set_language": ("workbench.language", "set_language"),
    "silver_labels": ("workbench.api", "silver_labels"),
    "Thresholds": ("workbench.scoring.thresholds", "Thresholds"),
    "vocabulary_gaps": ("workbench.diagnosis.vocabulary", "vocabulary_gaps"),
    "with_ragas": ("workbench.evidence.adapters", "with_ragas"),
    "with_silver_labels": ("workbench.api", "with_silver_labels"),
    "WorkbenchError": ("workbench.errors", "WorkbenchError"),
    "worst_slices": ("workbench.diagnosis.slices", "worst_slices"),
}

__all__ = sorted((*_NAMES, "__version__"))


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    module, attribute = _NAMES[name]
    found = importlib.import_module(module)
    value = getattr(found, attribute) if attribute else found
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})


if TYPE_CHECKING:
    from workbench.api import evaluate as evaluate
    from workbench.data.corpus import load_corpus as load_corpus
    from workbench.data.doctor import check as check
    from workbench.data.load import load_samples as load_samples
    from workbench.evaluation import Evaluation as Evaluation
    from workbench.evaluation import load_evaluation as load_evaluation
    from workbench.scoring.thresholds import Thresholds as Thresholds
