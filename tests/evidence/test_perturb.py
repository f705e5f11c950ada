"""The generator of training statements: what it says it changed is changed, and what it calls supported stands there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from workbench.data.text.quantities import contains_quantity, quantities
from workbench.diagnosis.statistics import auroc
from workbench.evidence.offline.features import lexical_features
from workbench.evidence.offline.grid import Grid, claim_words, windows
from workbench.evidence.offline.models import load_coefficients
from workbench.evidence.offline.words import analyse
from workbench.training.perturb import CHANGES, counts, statements

ENGLISH = [
    "The old harbour was built by Anna Berg in 1889 and it is 330 metres long. Carl Holm extended the northern pier in"
    " 1912. The town of Lund has always supported the harbour.",
    "The library holds 4500 books about Japan. It was founded in Osaka by Kenji Sato, and it is open on Sundays."
    " Visitors were never allowed to enter the small archive.",
]
CHINESE = [
    "这座古老的港口由安娜·贝格在1889年建造，长330米。卡尔·霍尔姆于1912年扩建了北部码头。隆德市一直支持港口的发展。",
    "图书馆收藏了4500本关于日本的书籍，由佐藤健二在大阪创立，周日开放。参观者以前不能进入小型档案馆。",
]
DATA = Path(__file__).parents[3] / "shared" / "data" / "xquad"


@pytest.mark.parametrize("paragraphs", [ENGLISH, CHINESE])
def test_statements_are_what_they_say(paragraphs):
    made = statements(paragraphs, seed=1, per_paragraph=3)
    assert any(s.supported for s in made)
    assert any(not s.supported for s in made)
    for statement in made:
        text = paragraphs[statement.group]
        assert statement.evidence == text
        if statement.supported:
            assert (statement.start, statement.end) == (0, 0)
        else:
            changed = statement.text[statement.start : statement.end]
            assert changed
            assert statement.text[: statement.start] in text
            assert statement.text not in text


def test_a_changed_number_stands_nowhere_in_the_text():
    for paragraphs in (ENGLISH, CHINESE):
        made = [s for s in statements(paragraphs, 0, 3, ("number", "date")) if not s.supported]
        assert {s.change for s in made} <= {"number", "date"}
        assert made
        for statement in made:
            (changed,) = quantities(statement.text[statement.start : statement.end])
            assert not contains_quantity(quantities(statement.evidence), changed)


def test_the_same_seed_gives_the_same_statements():
    assert statements(ENGLISH, seed=3) == statements(ENGLISH, seed=3)
    assert statements(ENGLISH, seed=3) != statements(ENGLISH, seed=4)


def test_counts_by_hand():
    made = statements(ENGLISH, seed=0, changes=("negation",))
    found = dict(counts(made))
    assert sum(found.values()) == len(made)
    assert found.keys() <= {"none", "shortened", "merged", "negation"}


@pytest.mark.parametrize(("language", "least"), [("en", 0.85), ("zh", 0.85)])
def test_the_lexical_model_tells_real_paragraphs_from_changed_ones(language, least):
    path = DATA / f"xquad.{language}.json"
    if not path.is_file():
        pytest.skip("the labelled sets are not here")
    articles = json.loads(path.read_text(encoding="utf-8"))["data"]
    paragraphs = [p["context"] for article in articles[:8] for p in article["paragraphs"]]
    made = statements(paragraphs, seed=99, per_paragraph=4)
    assert {s.change for s in made} >= set(CHANGES)
    model = load_coefficients(None).models["support"]
    from workbench.evidence.offline.features import LEXICAL

    scores = []
    for statement in made:
        grid = Grid([claim_words(analyse(statement.text), 0, len(statement.text))], [analyse(statement.evidence)])
        values = lexical_features(grid, windows(grid.texts))
        scores.append(float(model.probability(values, LEXICAL).max()))
    labels = np.array([s.supported for s in made])
    assert auroc(labels, np.array(scores)) >= least
    numbers = np.array([s.supported or s.change in ("number", "date") for s in made])
    assert auroc(labels[numbers], np.array(scores)[numbers]) >= 0.95
