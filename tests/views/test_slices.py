"""One sample cut out of an evaluation says the same of it as the whole evaluation does."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pandas as pd
import pytest

from workbench.data.schema import none_if_missing
from workbench.evaluation import load_evaluation
from workbench.views.filtering import FRAMES, NOT_FAILING, CauseTable, Slices, explained, facets, light_samples
from workbench.views.session import Session

SAMPLE = Path(__file__).resolve().parents[2] / "sample_data" / "support" / "evaluations" / "baseline"


@pytest.fixture(scope="module")
def evaluation():
    return load_evaluation(SAMPLE)


def plain(frame):
    return frame.reset_index(drop=True).astype(object).where(frame.reset_index(drop=True).notna(), None)


@pytest.mark.parametrize("name", FRAMES)
def test_rows_are_those_of_the_whole_frame(evaluation, name):
    slices, whole = Slices(evaluation), getattr(evaluation, name)()
    for sample_id in evaluation.evidence.ids[::3]:
        own = whole[whole["sample_id"] == sample_id]
        pd.testing.assert_frame_equal(plain(slices.rows(name, sample_id)), plain(own), check_dtype=False)


def test_causes_and_sentences_are_those_of_failures(evaluation):
    slices, failures = Slices(evaluation), evaluation.failures()
    for sample_id, row in failures.iloc[::2].iterrows():
        found = explained(slices, sample_id)
        for name in ("primary_cause", "sub_cause", "causes", "evidence", "advice", "unchecked"):
            assert none_if_missing(found[name]) == none_if_missing(row[name]), (sample_id, name)
        assert set(found["others"]) | {row["primary_cause"]} >= set(row["causes"])


def test_scores_of_one_sample_are_those_of_all(evaluation):
    slices, scores, states = Slices(evaluation), evaluation.scores(), evaluation.states()
    for sample_id in evaluation.evidence.ids[::3]:
        small = slices.small(sample_id)
        pd.testing.assert_series_equal(small.scores().loc[sample_id], scores.loc[sample_id], atol=1e-9)
        assert small.states().loc[sample_id].tolist() == states.loc[sample_id].tolist()


def test_a_set_without_any_answer_stays_one(evaluation):
    evidence = dataclasses.replace(
        evaluation.evidence, samples=evaluation.evidence.samples.assign(answer=None), _read={}
    )
    bare = type(evaluation)(evidence, evaluation.thresholds)
    failures, slices = bare.failures(), Slices(bare)
    for sample_id in evidence.ids[:10]:
        assert explained(slices, sample_id)["primary_cause"] == failures.at[sample_id, "primary_cause"]


def test_the_cause_table_counts_like_failures(evaluation):
    table, failures = CauseTable(evaluation), evaluation.failures()
    assert table.primary.tolist() == failures["primary_cause"].tolist()
    assert table.failing.tolist() == (~failures["primary_cause"].isin(NOT_FAILING)).tolist()
    for cause in ("omission", "retrieval_miss", "contradiction"):
        assert table.has(cause).tolist() == [cause in own for own in failures["causes"]]
    assert table.counts()["failing"] == int(table.failing.sum())


def test_the_light_frame_says_what_the_loaded_one_says(evaluation):
    light, full = light_samples(evaluation), evaluation.samples.frame
    for name in light:
        assert light[name].tolist() == full[name].tolist()
    pd.testing.assert_frame_equal(facets(light), facets(full))


def test_a_session_gives_every_field_of_one_sample(evaluation, tmp_path):
    session = Session(evaluation, path=tmp_path)
    sample_id = evaluation.evidence.ids[0]
    assert session.sample(sample_id) == evaluation.samples.frame.loc[sample_id].to_dict()
