"""Traps of metric definitions that no other test shows."""

from __future__ import annotations

import math
from typing import Any

import pytest

import workbench as wb
from tests.scoring.test_metrics import ABSENT, CONTEXTS, CONTRADICTED, SUPPORTED, scored
from tests.scripted import ScriptedJudge, evidence, sample_set
from workbench.evaluation import Evaluation
from workbench.evidence.collect import collect
from workbench.language import text
from workbench.scoring.metrics import METRICS

#: Metrics whose names say that less is better, and those of which neither direction is good in itself.
BAD = ("hallucination", "contradiction", "not_mentioned", "noise", "forbidden", "leaks", "must_not", "over_refusal", "risk",
       "overconfidence", "duplicate", "holes", "unused")  # fmt: skip
NEUTRAL = {"self_knowledge", "unsure_share", "contexts_used_share", "refused", "hedging", "answer_perplexity"}


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_the_direction_of_a_metric_is_what_its_name_says(metric: Any) -> None:
    expected = None if metric.name in NEUTRAL else not any(word in metric.name for word in BAD)
    assert metric.higher_is_better is expected
    assert metric.formula and metric.low < metric.high


def test_the_hallucination_rate_is_high_when_bad_and_its_two_classes_stand_apart() -> None:
    scores, _ = scored({}, answer=[SUPPORTED, SUPPORTED, CONTRADICTED, ABSENT])
    assert scores["hallucination_rate"] == 1 / 2
    assert scores["contradiction_rate"] == scores["not_mentioned_rate"] == 1 / 4


def test_points_that_the_answer_does_not_make_are_not_faithful_but_undefined() -> None:
    scores, states = scored({"must_include": ["900"], "answer": "It is this."})
    assert scores["key_point_coverage"] == 0
    assert states["key_point_grounding"] == "undefined"


def test_a_case_that_asserts_nothing_passes_nothing_and_the_doctor_says_so() -> None:
    samples = sample_set([{"question": "q", "answer": "Some answer."}])
    result = Evaluation(collect(samples, None))
    assert result.states().iloc[0]["end_to_end_correct"] == "not_applicable"
    assert result.failures().iloc[0]["passed"] is None
    assert "vacuous_cases" in set(wb.check(samples)["check"])


def test_a_low_score_of_the_answer_alone_is_never_blamed_on_retrieval() -> None:
    row = {"question": "q", "answer": "It is this.", "contexts": CONTEXTS, "expected_docs": ["d1"]}
    judge = ScriptedJudge(lambda sample: evidence(sample, [{"entail": [0.0, 0.9, 0.0]}], relevancy=0.1))
    failure = Evaluation(collect(sample_set([row]), judge)).failures().iloc[0]
    assert failure["primary_cause"] == "off_topic"
    assert not {"retrieval_miss", "not_indexed", "split_evidence"} & set(failure["causes"])
    assert failure["advice"] == text("causes.off_topic.advice")


def test_a_right_number_beside_a_wrong_one_is_not_averaged_away() -> None:
    """Faithfulness 0 with everything else perfect: no single score is there to hide it, and the sample fails."""
    row = {"question": "q", "answer": "It is 7.", "contexts": CONTEXTS}
    said = lambda sample: evidence(sample, [{**ABSENT, "kinds": ["number"]}], relevancy=1.0)  # noqa: E731
    result = Evaluation(collect(sample_set([row]), ScriptedJudge(said)))
    assert "overall" not in result.scores()
    assert result.failures().iloc[0]["primary_cause"] == "hallucination"


def test_entity_recall_looks_at_the_reference_and_is_undefined_without_entities() -> None:
    row = {
        "reference": "Ada Lovelace wrote it.",
        "answer": "Grace Hopper.",
        "contexts": [{"doc_id": "d", "text": "Ada Lovelace"}],
    }
    assert scored(row)[0]["context_entity_recall"] == 1
    assert scored(row)[0]["entity_precision"] == 0
    assert math.isnan(scored({**row, "reference": "so it is"})[0]["context_entity_recall"])
