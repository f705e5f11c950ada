"""The calibrated models: their files, their arithmetic, their report; and that training learns what it is shown."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workbench.errors import WorkbenchError
from workbench.evidence.offline.features import LEXICAL
from workbench.evidence.offline.models import Logistic, excess, load_coefficients, percentile, write_table
from workbench.training.fit import at_cut, auroc, calibration_error, calibration_plot, difference_interval, fit, fold_of
from workbench.training.rows import MADE_SHARE, NLI_SHARE, _weights


def model(**weights: float) -> Logistic:
    n = len(weights)
    return Logistic(tuple(weights), np.array(list(weights.values())), np.zeros(n), np.ones(n), 0.0)


def test_a_probability_by_hand():
    one = Logistic(("a", "b"), np.array([2.0, -1.0]), np.array([0.5, 1.0]), np.array([0.5, 2.0]), 0.3)
    logit = 0.3 + 2.0 * (1.0 - 0.5) / 0.5 - 1.0 * (3.0 - 1.0) / 2.0
    found = one.probability(np.array([[3.0, 9.0, 1.0]]), ("b", "unused", "a"))
    assert found[0] == pytest.approx(1 / (1 + math.exp(-logit)), abs=1e-6)


def test_a_feature_that_is_not_computed_is_an_error():
    with pytest.raises(WorkbenchError, match="'b'"):
        model(a=1.0, b=1.0).probability(np.zeros((1, 1)), ("a",))


def test_extreme_values_stay_probabilities():
    found = model(a=1000.0).probability(np.array([[1e6], [-1e6]]), ("a",))
    assert found.tolist() == pytest.approx([1.0, 0.0], abs=1e-6)


def test_a_table_is_read_as_it_was_written():
    import tomllib

    written = Logistic(("a", "b"), np.array([0.5, -2.0]), np.array([1.0, 2.0]), np.array([3.0, 4.0]), 0.25)
    text = write_table("support", written)
    read = Logistic.from_table(tomllib.loads(text)["models"]["support"])
    assert read.names == ("b", "a")
    values = np.array([[0.3, 0.7]])
    assert read.probability(values, ("a", "b")) == pytest.approx(written.probability(values, ("a", "b")))


@pytest.mark.parametrize("encoder", [None, "multilingual-e5-small-q4", "an unknown one"])
def test_every_file_has_every_model_and_the_right_signs(encoder):
    found = load_coefficients(encoder)
    assert found.method == ("offline-e5" if encoder == "multilingual-e5-small-q4" else "offline-lexical")
    assert found.uses_tokens is (found.method == "offline-e5")
    wanted = {"support", "span", "relevance_question", "relevance_reference", "relevance_question_across",
              "relevance_reference_across", "sentence_question", "sentence_reference", "relevancy"}  # fmt: skip
    assert wanted <= found.models.keys()
    signs = dict(zip(found.models["support"].names, found.models["support"].weight, strict=True))
    for name in ("token_cover", "gram_cover"):
        assert signs[name] > 0, name
    lowering = ("negation_gap", "antonym", "rival", "exchanged", "stronger", "number_missing", "name_altered")
    for name in (*lowering, "missing_mass"):
        assert signs[name] < 0, name


def test_coefficients_are_a_few_kilobytes_of_readable_text():
    from importlib import resources

    files = [
        f for f in resources.files("workbench.evidence.offline").joinpath("coefficients").iterdir() if f.name.endswith("toml")
    ]
    assert {f.name for f in files} == {"e5.toml", "joined.toml", "lexical.toml"}
    assert all(len(f.read_bytes()) < 12_000 for f in files)


def test_percentiles_and_excess():
    background = np.linspace(0.7, 0.9, 21)
    assert percentile(np.array([0.6, 0.8, 0.95]), background) == pytest.approx([0.0, 0.5, 1.0])
    assert excess(np.array([0.8, 0.89, np.nan]), background) == pytest.approx([0.0, 1.0, 0.0])
    assert excess(np.array([5.0, -5.0]), background).tolist() == [5.0, -2.0]
    assert excess(np.array([0.5]), None).tolist() == [0.0]


# ---------------------------------------------------------------- figures of the report


def test_auroc_by_hand():
    labels = np.array([True, False, True, False])
    assert auroc(labels, np.array([0.9, 0.8, 0.7, 0.1])) == 0.75
    assert auroc(labels, np.array([0.5, 0.5, 0.5, 0.5])) == 0.5
    assert math.isnan(auroc(np.array([True, True]), np.array([0.1, 0.2])))


def test_auroc_equals_scikit_learns_with_ties():
    from sklearn.metrics import roc_auc_score

    random = np.random.default_rng(1)
    labels, scores = random.random(200) < 0.4, np.round(random.random(200), 1)
    assert auroc(labels, scores) == pytest.approx(roc_auc_score(labels, scores))


def test_figures_at_a_cut_by_hand():
    labels = np.array([True, True, False, False])
    balanced, f1 = at_cut(labels, np.array([0.9, 0.4, 0.6, 0.1]))
    assert (balanced, f1) == (0.5, 0.5)
    assert math.isnan(at_cut(np.array([True]), np.array([0.9]))[0])


def test_calibration_error_by_hand():
    labels = np.array([True, False, True, True])
    assert calibration_error(labels, np.array([0.55, 0.55, 0.95, 0.95])) == pytest.approx(0.05)
    assert calibration_error(np.array([True]), np.array([1.0])) == 0.0


def test_the_interval_of_a_real_difference_excludes_zero():
    random = np.random.default_rng(0)
    labels = random.random(300) < 0.5
    good, floor = labels + random.normal(0, 0.5, 300), labels + random.normal(0, 3, 300)
    groups = np.arange(300).astype(str)
    low, high = difference_interval(labels, good, floor, groups)
    assert 0 < low < auroc(labels, good) - auroc(labels, floor) < high
    assert difference_interval(labels, good, good, groups) == (0.0, 0.0)


def test_the_plot_is_a_png(tmp_path):
    path = tmp_path / "calibration.png"
    labels = np.tile([True, False], 50)
    calibration_plot(path, [("set", labels, np.linspace(0, 1, 100))])
    assert path.read_bytes().startswith(b"\x89PNG")


# ---------------------------------------------------------------- training


def test_training_learns_what_it_is_shown_and_ignores_a_constant():
    random = np.random.default_rng(0)
    values = random.normal(size=(400, 2)).astype(np.float32)
    values = np.concatenate([values, np.ones((400, 1), np.float32)], axis=1)
    labels = values[:, 0] > 0
    found = fit(values, labels, np.ones(400), ("useful", "noise", "constant"))
    weights = dict(zip(found.names, found.weight, strict=True))
    assert weights["useful"] > 1.0
    assert abs(weights["noise"]) < 0.3
    assert weights["constant"] == pytest.approx(0.0, abs=1e-6)


def test_real_sets_weigh_the_same_and_perturbations_little():
    sources = ["wice-en"] * 30 + ["begin-en"] * 10 + ["xquad-en"] * 50 + ["nli-fm2"] * 8
    labels = [at % 3 == 0 for at in range(len(sources))]
    weights = _weights(sources, labels)
    wice, begin, made, pairs = weights[:30], weights[30:40], weights[40:90], weights[90:]
    assert wice.sum() == pytest.approx(begin.sum())
    assert made.sum() / wice.sum() == pytest.approx(MADE_SHARE)
    assert pairs.sum() / wice.sum() == pytest.approx(NLI_SHARE)
    supported = np.array(labels[:30])
    assert wice[supported].sum() == pytest.approx(wice[~supported].sum())


def test_folds_keep_groups_together_in_every_run():
    assert fold_of("a claim") == fold_of("a claim")
    assert len({fold_of(str(at)) for at in range(100)}) == 10


def test_names_of_features_are_unique():
    from workbench.evidence.offline.alignment import ALIGNMENT

    assert len({*LEXICAL, *ALIGNMENT}) == len(LEXICAL) + len(ALIGNMENT)
