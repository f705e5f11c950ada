"""RAG diagnostic workbench: why a retrieval-augmented system answers badly, and what changed between two runs.

``import workbench as wb`` gives the names below; each is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

#: Public name → (module, name there; empty = the module itself).
_NAMES = {
    "Collector": ("workbench.diagnosis.collector", "Collector"),
    "QueryLog": ("workbench.diagnosis.query_log", "QueryLog"),
    "alerts": ("workbench.diagnosis.alerts", ""),
    "load_log": ("workbench.diagnosis.query_log", "load_log"),
    "log_path": ("workbench.views.chosen", "log_path"),
    "monitor": ("workbench.watching", "monitor"),
    "CancelledError": ("workbench.errors", "CancelledError"),
    "Comparison": ("workbench.diagnosis.comparison", "Comparison"),
    "Corpus": ("workbench.data.schema", "Corpus"),
    "Encoder": ("workbench.evidence.embed", "Encoder"),
    "EncoderError": ("workbench.errors", "EncoderError"),
    "Evaluation": ("workbench.evaluation", "Evaluation"),
    "InputError": ("workbench.errors", "InputError"),
    "Judge": ("workbench.evidence.judge", "Judge"),
    "JudgeError": ("workbench.errors", "JudgeError"),
    "Sample": ("workbench.data.schema", "Sample"),
    "SampleEvidence": ("workbench.evidence.judge", "SampleEvidence"),
    "SampleSet": ("workbench.data.schema", "SampleSet"),
    "Session": ("workbench.views.session", "Session"),
    "Thresholds": ("workbench.scoring.thresholds", "Thresholds"),
    "WorkbenchError": ("workbench.errors", "WorkbenchError"),
    "breakdown": ("workbench.diagnosis.breakdown", "breakdown"),
    "agreement": ("workbench.diagnosis.calibration", "agreement"),
    "annotator_agreement": ("workbench.diagnosis.calibration_labels", "annotator_agreement"),
    "annotator_pairs": ("workbench.diagnosis.calibration_labels", "annotator_pairs"),
    "baseline_path": ("workbench.views.chosen", "baseline_path"),
    "calibrate": ("workbench.diagnosis.calibrating", "calibrate"),
    "calibration_table": ("workbench.diagnosis.calibrating", "calibration_table"),
    "check": ("workbench.data.doctor", "check"),
    "compare": ("workbench.comparing", "compare"),
    "compare_many": ("workbench.comparing", "compare_many"),
    "corpus_path": ("workbench.views.chosen", "corpus_path"),
    "data_path": ("workbench.views.chosen", "data_path"),
    "evaluate": ("workbench.running", "evaluate"),
    "RankingWarning": ("workbench.scoring.ranking", "RankingWarning"),
    "evaluate_rankings": ("workbench.scoring.ranking", "evaluate_rankings"),
    "failing_terms": ("workbench.diagnosis.terms", "failing_terms"),
    "hallucinated_claims": ("workbench.diagnosis.hallucinations", "hallucinated_claims"),
    "judge_corrected_mean": ("workbench.diagnosis.corrected", "judge_corrected_mean"),
    "labels_path": ("workbench.views.chosen", "labels_path"),
    "load_corpus": ("workbench.data.corpus", "load_corpus"),
    "load_evaluation": ("workbench.evaluation", "load_evaluation"),
    "load_samples": ("workbench.data.load", "load_samples"),
    "load_trec": ("workbench.data.formats.trec", "load_trec"),
    "load_verdicts": ("workbench.diagnosis.calibration_labels", "load_verdicts"),
    "metric": ("workbench.scoring.custom", "metric"),
    "metrics_table": ("workbench.scoring.metrics", "metrics_table"),
    "missed_documents": ("workbench.diagnosis.missed", "missed_documents"),
    "open": ("workbench.running", "open_evaluation"),
    "oracle_ladder": ("workbench.diagnosis.summary", "oracle_ladder"),
    "panels": ("workbench.panels", ""),
    "Criterion": ("workbench.evidence.llm.rubric", "Criterion"),
    "LLMJudge": ("workbench.evidence.llm", "LLMJudge"),
    "OfflineJudge": ("workbench.evidence.offline", "OfflineJudge"),
    "ragas_scores": ("workbench.evidence.adapters.ragas", "ragas_scores"),
    "rate": ("workbench.evidence.llm.rubric", "rate"),
    "recorded_judgements": ("workbench.evidence.adapters.recorded", "recorded_judgements"),
    "rubrics": ("workbench.evidence.llm.rubric", "presets"),
    "with_ragas": ("workbench.evidence.adapters.ragas", "with_ragas"),
    "query_types": ("workbench.diagnosis.queries", "query_types"),
    "record": ("workbench.data.record", "record"),
    "repeat_noise": ("workbench.diagnosis.repeats", "repeat_noise"),
    "repeated_samples": ("workbench.diagnosis.repeats", "repeated_samples"),
    "resolve_encoder": ("workbench.evidence.embed", "resolve_encoder"),
    "resolve_judge": ("workbench.evidence.resolve", "resolve_judge"),
    "score_on_cluster": ("workbench.scale", "score_on_cluster"),
    "silver_labels": ("workbench.silver", "silver_labels"),
    "with_silver_labels": ("workbench.silver", "with_silver_labels"),
    "set_language": ("workbench.language", "set_language"),
    "vocabulary_gaps": ("workbench.diagnosis.vocabulary", "vocabulary_gaps"),
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
    from workbench.data.corpus import load_corpus as load_corpus
    from workbench.data.doctor import check as check
    from workbench.data.load import load_samples as load_samples
    from workbench.evaluation import Evaluation as Evaluation
    from workbench.evaluation import load_evaluation as load_evaluation
    from workbench.running import evaluate as evaluate
    from workbench.scoring.thresholds import Thresholds as Thresholds
