"""Kinds of question that are learnt: what separates is found in both languages, chance is not, slices do not use it."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.diagnosis.learnt_types import REST, learnt_types
from workbench.diagnosis.queries import LEARNT, TYPES, Dimensions, SampleOutcomes, type_matrix, value_title
from workbench.errors import InputError

ASKED = {
    "en": ("How many seats does plan {} hold?", "Can I get a refund for order {}?", "Who approves invoice {}?"),
    "zh": ("套餐{}支持多少个并发会话？", "订单{}可以申请退款吗？", "发票{}由谁审批？"),
}
CAUSE = {"en": "refund", "zh": "退款"}


def learnt(questions, failed):
    """The kinds of questions that were all tested."""
    return learnt_types(questions, type_matrix(questions), TYPES, failed, np.ones(len(failed), dtype=bool))


@pytest.mark.parametrize("code", ["en", "zh"])
def test_what_separates_is_found(code):
    questions = [ASKED[code][at % 3].format(at) for at in range(90)]
    refunds = np.array([CAUSE[code] in question for question in questions])
    failed = refunds & (np.arange(90) % 10 != 1)
    found = learnt(questions, failed)
    assert len(found.kinds) == 1 and found.n == 90 and found.tried > 1
    assert (np.array([value == REST for value in found.values]) == ~refunds).all()


@pytest.mark.parametrize("code", ["en", "zh"])
def test_chance_is_not_learnt(code):
    questions = [ASKED[code][at % 3].format(at % 17) for at in range(90)]
    draws = [np.random.default_rng(seed).random(90) < 0.4 for seed in range(20)]
    assert sum(bool(learnt(questions, failed).kinds) for failed in draws) <= 3


def test_sets_that_say_nothing():
    none = np.zeros(3, dtype=bool)
    assert learnt(["Who?"] * 3, none).kinds == () and learnt([], none[:0]).values == ()
    assert learnt(["Who pays?"] * 30, np.arange(30) % 2 == 0).kinds == (), "questions that are all alike"
    with pytest.raises(InputError, match="evaluation"):
        Dimensions(wb.load_samples([{"question": "Who pays?"}]))[LEARNT]


def test_as_a_dimension(monkeypatch):
    rows = [{"question": ASKED["en"][at % 3].format(at), "answer": "5" if at % 3 == 1 else "6", "must_include": ["6"],
             "contexts": ["6"]} for at in range(60)]  # fmt: skip
    evaluation = wb.evaluate(wb.load_samples(rows), judge=None, encoder="none", progress=False)
    frame = wb.breakdown(evaluation, LEARNT)
    assert frame["n"].tolist() == [20, 40] and frame["n_failing"].tolist() == [20, 0]
    assert value_title(LEARNT, REST) == "all other questions" and value_title(LEARNT, "refund") == "“refund”"
    dimensions = Dimensions(evaluation)
    assert LEARNT not in dimensions.names() and LEARNT not in dimensions.informative()
    passed = SampleOutcomes(np.zeros(60, dtype=bool), np.ones(60, dtype=bool), np.full(60, "pass", dtype=object))
    dimensions.learn_from(passed)
    assert dimensions[LEARNT].values == (REST,), "other thresholds, other kinds"
    panel = wb.panels.query_types(wb.Session(evaluation), LEARNT)
    assert "learnt from what separates" in panel.count.value and panel.table()["n_failing"].tolist() == [20, 0]
