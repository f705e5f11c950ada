"""A mean in one word: by limits in force, of what the data allow, and the other way round where low is good."""

from __future__ import annotations

import math

import pytest

from tests.two_runs import RIGHT, WRONG, case, run
from workbench.diagnosis.summary import level
from workbench.errors import InputError
from workbench.language import speaking
from workbench.scoring.metrics import definitions
from workbench.scoring.thresholds import Thresholds
from workbench.views.wording import level_title, levels_words

KNOWN = definitions(5)


@pytest.mark.parametrize(
    ("metric", "mean", "attainable", "word"),
    [
        ("faithfulness", 0.9, 1.0, "excellent"),
        ("faithfulness", 0.8999, 1.0, "good"),
        ("faithfulness", 0.6, 1.0, "fair"),
        ("faithfulness", 0.59, 1.0, "poor"),
        ("precision@5", 0.19, 0.2, "excellent"),  # one relevant document of five: 0.19 of 0.20
        ("hallucination_rate", 0.05, 0.0, "excellent"),
        ("hallucination_rate", 0.3, 0.0, "fair"),
        ("context_relevance", 0.2, 1.0, None),  # many contexts are fetched, one may be enough
        ("leaks", 0.0, 0.0, None),  # a count
        ("hedging", 0.1, math.nan, None),  # neither direction is good
        ("faithfulness", math.nan, math.nan, None),
    ],
)
def test_a_mean_in_one_word(metric, mean, attainable, word):
    assert level(KNOWN[metric], mean, attainable, Thresholds()) == word


def test_the_limits_are_the_users(tmp_path):
    own = Thresholds(levels={"great": 0.99, "usable": 0.5})
    assert [own.level(value) for value in (1.0, 0.99, 0.98, 0.5, 0.2)] == ["great", "great", "usable", "usable", "poor"]
    assert Thresholds.from_toml(own.to_toml()) == own and own.reading == Thresholds().reading
    with pytest.raises(InputError, match="levels"):
        Thresholds(levels={"great": -1.0})


def test_words_in_both_languages():
    with speaking("en"):
        assert "excellent from 0.90, good from 0.75, fair from 0.60; below that poor" in levels_words(Thresholds())
        assert (level_title("good"), level_title("own"), level_title(None), level_title(math.nan)) == ("good", "own", "", "")
    with speaking("zh"):
        assert "优秀 ≥ 0.90、良好 ≥ 0.75、一般 ≥ 0.60；更低为较差" in levels_words(Thresholds())


def test_the_spread_comes_on_request():
    points = {"must_include": [RIGHT, "and this"]}
    evaluation = run([case("a", RIGHT, **points), case("b", WRONG, **points), case("c", RIGHT, **points)])
    plain, wide = evaluation.summary(), evaluation.summary(spread=True)
    assert list(wide.columns) == [*plain.columns, "min", "median", "max", "std", "level"]
    assert evaluation.scores()["key_point_coverage"].tolist() == [0.5, 0.0, 0.5]
    row = wide.loc["key_point_coverage"]
    assert row[["min", "median", "max"]].tolist() == [0.0, 0.5, 0.5] and row["std"] == pytest.approx((1 / 12) ** 0.5)
