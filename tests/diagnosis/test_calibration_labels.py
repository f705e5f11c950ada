"""Verdicts from files, their majority, and agreement between people: values worked by hand or published."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workbench.diagnosis.calibration import (
    annotator_agreement,
    annotator_pairs,
    consensus,
    count_table,
    krippendorff_alpha,
    load_labels,
    load_verdicts,
    own_verdicts,
)
from workbench.errors import InputError
from workbench.views.session import Annotation


def verdicts(*rows):
    return load_verdicts([dict(zip(("sample_id", "annotator", "verdict"), row, strict=True)) for row in rows])


def test_a_file_is_read_with_either_language_s_words_and_only_this_run(tmp_path) -> None:
    file = tmp_path / "v.csv"
    file.write_text(
        "run,sample_id,annotator,verdict,note\n"
        "one,007,chen,错误,价格\none,007,okafor,FAIL,\none,8,chen,正确,\ntwo,8,chen,unsure,\none,9,chen,,later\n",
        encoding="utf-8-sig",
    )
    found = load_verdicts(file, "one")
    assert found["sample_id"].tolist() == ["007", "007", "8"]
    assert found["verdict"].tolist() == ["wrong", "wrong", "right"]
    assert found["note"].tolist() == ["价格", "", ""]
    assert len(load_verdicts(file)) == 4


def test_a_run_without_verdicts_is_empty_and_names_those_that_have_some(tmp_path) -> None:
    file = tmp_path / "v.csv"
    file.write_text("run,sample_id,verdict\nbaseline,1,right\n", encoding="utf-8")
    found = load_verdicts(file, "improved")
    assert len(found) == 0
    assert found.attrs["runs"] == ["baseline"]


def test_a_row_without_a_run_counts_for_every_run() -> None:
    rows = [{"run": "one", "sample_id": "1", "verdict": "right"}, {"run": "", "sample_id": "2", "verdict": "wrong"}]
    assert load_verdicts(rows, "one")["sample_id"].tolist() == ["1", "2"]
    assert load_verdicts(rows, "two")["sample_id"].tolist() == ["2"]


def test_what_is_no_verdict_is_named_with_its_row(tmp_path) -> None:
    file = tmp_path / "v.csv"
    file.write_text("sample_id,verdict\n1,right\n2,不支持\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"v\.csv, row 2, verdict: '不支持' is no verdict; use right, wrong or unsure"):
        load_verdicts(file)
    file.write_text("sample_id,score\n1,0.5\n", encoding="utf-8")
    with pytest.raises(InputError, match="no column 'verdict'"):
        load_verdicts(file)


def test_who_judged_twice_is_taken_at_the_last_word() -> None:
    found = verdicts(("1", "a", "right"), ("1", "a", "wrong"), ("1", "b", "right"))
    assert found["verdict"].tolist() == ["wrong", "right"]
    assert found.attrs["n_replaced"] == 1


def test_the_majority_of_those_who_were_sure() -> None:
    rows = [("s", "a", "right"), ("s", "b", "wrong"), ("t", "a", "wrong"), ("t", "b", "unsure"), ("u", "a", "unsure")]
    assert consensus(verdicts(*rows)).to_dict() == {"s": None, "t": "wrong", "u": None}
    assert len(consensus(own_verdicts({}))) == 0


def test_the_verdicts_of_a_session() -> None:
    found = own_verdicts({"a": Annotation("right", "n"), "b": Annotation(None, "only a note")})
    assert found[["sample_id", "verdict", "note"]].to_numpy().tolist() == [["a", "right", "n"]]


def test_alpha_is_krippendorff_s_own_example() -> None:
    """Four observers, twelve units with gaps: nominal alpha 0.743 (Krippendorff 2011, "Computing Krippendorff's
    Alpha-Reliability", section C)."""
    table = [
        "1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 .",
    ]  # fmt: skip
    pairs = [(unit, value) for row in table for unit, value in enumerate(row.split()) if value != "."]
    assert krippendorff_alpha(count_table(*zip(*pairs, strict=True))) == pytest.approx(0.743, abs=5e-4)


def test_alpha_of_two_annotators_by_hand() -> None:
    """3 of 4 agree: D_o = 2/8; values right 5, wrong 3: D_e = 30/56; alpha = 1 − 0.25 / (30/56)."""
    rows = [("1", "right", "right"), ("2", "right", "right"), ("3", "wrong", "wrong"), ("4", "right", "wrong")]
    found = annotator_agreement(verdicts(*[(i, who, said) for i, a, b in rows for who, said in (("x", a), ("y", b))]))
    assert found["alpha"] == pytest.approx(1 - 0.25 * 56 / 30)
    assert found["agreement"] == pytest.approx(0.75)
    assert (found["n"], found["n_annotators"]) == (4, 2)
    assert found["alpha_low"] < found["alpha"] < found["alpha_high"]


def test_where_alpha_is_undefined() -> None:
    alone = annotator_agreement(verdicts(("1", "a", "right"), ("2", "a", "wrong")))
    assert alone["n"] == 0
    assert math.isnan(alone["alpha"])
    assert math.isnan(alone["agreement"])
    same = annotator_agreement(verdicts(("1", "a", "right"), ("1", "b", "right")))
    assert math.isnan(same["alpha"])
    assert same["agreement"] == 1


def test_alpha_does_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(3)
    units, values = np.repeat(np.arange(30), 3), rng.integers(0, 3, 90)
    order = rng.permutation(90)
    first, second = count_table(units, values), count_table(units[order], values[order])
    assert krippendorff_alpha(first) == pytest.approx(krippendorff_alpha(second), abs=1e-12)


def test_pairs_of_annotators_over_what_both_judged() -> None:
    rows = [("1", "a", "right"), ("1", "b", "right"), ("2", "a", "wrong"), ("2", "b", "wrong"), ("3", "a", "right")]
    found = annotator_pairs(verdicts(*rows))
    assert found[["first", "second", "n", "kappa"]].to_numpy().tolist() == [["a", "b", 2, 1.0]]


def test_labels_of_another_run_are_told_and_not_taken_for_none(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text("run,sample_id,verdict\nbefore,a,right\n", encoding="utf-8")
    with pytest.raises(InputError, match="the labels are on before and none on 'after'"):
        load_labels(path, "after")
    assert len(load_labels(path, "before")) == 1 and not len(load_verdicts(path, "after"))
