"""A judge or a metric may be anyone's: what it yields never ends a run and never becomes a score it cannot be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.data.schema import Sample
from workbench.errors import JudgeError
from workbench.evidence.cache import Cache
from workbench.evidence.judge import Claim, ReverseQuestion, SampleEvidence
from workbench.evidence.run import examine, from_text, to_text
from workbench.scoring import metrics as custom

N_CONTEXTS = 2


class Scripted:
    """A judge that yields what a function makes of each sample."""

    name = "scripted"

    def __init__(self, make: Callable[[Sample], Any]) -> None:
        self.make = make

    def examine(self, samples: Sequence[Sample]) -> Iterator[SampleEvidence]:
        for sample in samples:
            yield self.make(sample)


def recording(n: int = 2) -> wb.SampleSet:
    """Samples with two contexts and a reference each."""
    return wb.load_samples([
        {"sample_id": str(i), "question": f"Question {i}?", "answer": f"It is {i}.", "contexts": ["It is 1.", "No."],
         "reference": "It is 1."}
        for i in range(n)
    ])  # fmt: skip


def good(sample: Sample, **changes: Any) -> SampleEvidence:
    """Evidence that is as it should be, with some parts changed."""
    parts: dict[str, Any] = {
        "claims": [Claim("answer", "It is 1.", 0, 3)],
        "entail": np.full((1, N_CONTEXTS), 0.9, np.float32),
        "contradict": np.full((1, N_CONTEXTS), 0.1, np.float32),
        "relevance": np.full(N_CONTEXTS, 0.5, np.float32),
    }
    return SampleEvidence(sample.sample_id, **(parts | changes))


def evaluated(make: Callable[[Sample], Any], cache: Path) -> wb.Evaluation:
    """Two samples judged by a scripted judge."""
    return wb.evaluate(recording(), judge=Scripted(make), progress=False, cache_dir=cache)


def test_good_evidence_is_taken_as_it_is(tmp_path: Path) -> None:
    result = evaluated(good, tmp_path)
    assert result.scores()["faithfulness"].tolist() == [1.0, 1.0]
    assert result.errors().empty


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"entail": np.zeros((1, 3), np.float32)}, "entail has shape (1, 3)"),
        ({"entail": np.zeros(2, np.float32)}, "entail has shape (2,)"),
        ({"entail": np.full((1, 2), 7.0)}, "entail holds values outside [0, 1]"),
        ({"contradict": np.full((1, 2), -np.inf)}, "contradict holds"),
        ({"relevance": np.zeros(5)}, "relevance has shape (5,)"),
        ({"similarity": np.full(2, np.inf)}, "similarity holds"),
        ({"spans": np.zeros((1, 1, 2))}, "spans has shape"),
        ({"claims": [Claim("bogus", "x")]}, "side 'bogus'"),  # type: ignore[arg-type]
        ({"claims": [Claim("answer", "x", 5, 900)]}, "a claim at 5–900"),
        ({"claims": [Claim("answer", "x", other_entail=9.0)]}, "other_entail is 9"),
        ({"claims": [Claim("answer", "x", spans=[{"start": 0}])]}, "lacks end"),
        ({"conflicts": [(0, 9, 0.5)]}, "conflict (0, 9) of 1 claims"),
        ({"state": "splendid"}, "state 'splendid'"),
        ({"declines": 5.0}, "declines is 5"),
        ({"answer_similarity": -4.0}, "answer_similarity is -4"),
        ({"questions": [ReverseQuestion("x", float("inf"))]}, "similarity of a question"),
        ({"missing": {"claims": "x"}}, "a value of the wrong kind"),
        ({"claims": None}, "a value of the wrong kind"),
    ],
)
def test_evidence_that_cannot_be_is_a_judge_error_of_its_sample_alone(
    changes: dict[str, Any], said: str, tmp_path: Path
) -> None:
    result = evaluated(lambda sample: good(sample, **changes) if sample.sample_id == "0" else good(sample), tmp_path)
    assert result.states()["faithfulness"].tolist() == ["judge_error", "ok"]
    assert said in result.errors()["reason"].iloc[0]
    values = result.scores()["context_relevance"].dropna()
    assert ((values >= 0) & (values <= 1)).all()


def test_evidence_that_cannot_be_is_not_kept(tmp_path: Path) -> None:
    evaluated(lambda sample: good(sample, declines=5.0), tmp_path)
    assert evaluated(good, tmp_path).states()["faithfulness"].tolist() == ["ok", "ok"]


@pytest.mark.parametrize("stray", [None, {}, "text", SampleEvidence("never asked for")])
def test_what_the_judge_was_not_asked_for_is_left_out(stray: Any, tmp_path: Path) -> None:
    result = evaluated(lambda sample: good(sample) if sample.sample_id == "0" else stray, tmp_path)
    assert result.states()["faithfulness"].tolist() == ["ok", "judge_error"]


@pytest.mark.parametrize("bad", [[0], [3], [9], [2, 7]])
def test_a_sample_that_a_judge_raises_on_is_an_error_of_that_sample_alone(bad: list[int], tmp_path: Path) -> None:
    class Grouped(Scripted):
        """Looks at three samples before it yields one, as judges do that work in groups."""

        def examine(self, samples: Sequence[Sample]) -> Iterator[SampleEvidence]:
            for start in range(0, len(samples), 3):
                yield from [self.make(sample) for sample in samples[start : start + 3]]

    def some_fail(sample: Sample) -> SampleEvidence:
        if int(sample.sample_id) in bad:
            raise RuntimeError("the model fell over")
        return good(sample)

    result = wb.evaluate(recording(10), judge=Grouped(some_fail), progress=False, cache_dir=tmp_path)
    assert np.flatnonzero(result.states()["faithfulness"] == "judge_error").tolist() == bad
    assert set(result.errors()["reason"]) == {"the judge failed on this sample: RuntimeError: the model fell over"}
    asked: list[str] = []
    again = Scripted(lambda sample: asked.append(sample.sample_id) or good(sample))
    wb.evaluate(recording(10), judge=again, progress=False, cache_dir=tmp_path)
    assert asked == [str(at) for at in bad]


def test_a_judge_that_raises_on_everything_is_one_clear_error(tmp_path: Path) -> None:
    def fails(sample: Sample) -> SampleEvidence:
        raise RuntimeError("the model fell over")

    for n in (1, 2, 500):
        with pytest.raises(JudgeError, match=r"judge scripted failed \(RuntimeError: the model fell over\)"):
            wb.evaluate(recording(n), judge=Scripted(fails), progress=False, cache_dir=tmp_path)


def test_a_judge_that_yields_twice_counts_once(tmp_path: Path) -> None:
    class Twice(Scripted):
        def examine(self, samples: Sequence[Sample]) -> Iterator[SampleEvidence]:
            for sample in (*samples, *samples):
                yield good(sample)

    seen: list[int] = []
    samples = [Sample("a", "q?", contexts=None, answer="x"), Sample("b", "r?", contexts=None, answer="x")]
    examined = examine(samples, Twice(good), cache=Cache(tmp_path), progress=lambda done, total, cached: seen.append(done))
    assert set(examined.evidence) == {"a", "b"} and max(seen) == 2


def test_half_characters_that_a_model_writes_can_be_kept() -> None:
    evidence = SampleEvidence("a", claims=[Claim("answer", "broken \ud83d end")], notes=["\udfff"])
    read = from_text(to_text(evidence), "a")
    assert read.claims[0].text == "broken \ufffd end" and read.notes == ["\ufffd"]


@pytest.mark.parametrize("value", ["a word", [1], {}, 10**400, 1j, object(), np.array([1, 2])])
def test_a_metric_that_returns_no_number_is_an_input_error(value: Any) -> None:
    wb.metric("hostile", lambda row: value)
    try:
        result = wb.evaluate(recording(), judge=None, metrics=["hostile"], progress=False)
        assert result.states()["hostile"].tolist() == ["input_error", "input_error"]
    finally:
        custom.unregister("hostile")


@pytest.mark.parametrize("metrics", ["bogus", ["bogus"], [5], 5])
def test_a_metric_that_does_not_exist_costs_no_judgement(metrics: Any) -> None:
    def never(sample: Sample) -> SampleEvidence:
        raise AssertionError("the judge was asked")

    with pytest.raises(wb.InputError, match="metric"):
        wb.evaluate(recording(), judge=Scripted(never), metrics=metrics, progress=False)


@pytest.mark.parametrize("name", ["low_scores", "targets"])
@pytest.mark.parametrize("value", [0, None, "x", [], {"faithfulness": "high"}, {"faithfulness": None}])
def test_thresholds_of_the_wrong_kind_are_input_errors(name: str, value: Any) -> None:
    with pytest.raises(wb.InputError, match=name):
        wb.Thresholds().replace(**{name: value})


def test_a_metric_name_with_quotes_survives_the_thresholds_file() -> None:
    thresholds = wb.Thresholds(targets={'say "hi"\n\\': 0.5})
    assert wb.Thresholds.from_toml(thresholds.to_toml()).targets == {'say "hi"\n\\': 0.5}
