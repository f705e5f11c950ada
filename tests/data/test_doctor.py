"""The data doctor: each check on the smallest set that shows it, and silence on a healthy one."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.data.corpus import load_corpus
from workbench.data.doctor import COLUMNS, LEVELS, UNLOCKS, check
from workbench.data.load import load_samples
from workbench.errors import InputError
from workbench.language import get_language, has_text, set_language

LONG = "The trial lasts fourteen days and can be extended once."


def found(rows: list[dict[str, Any]], name: str, **options: Any) -> list[tuple[str, int, list[str]]]:
    frame = check(load_samples(rows), **options)
    picked = frame[frame["check"] == name]
    return list(zip(picked["level"], picked["n"], picked["sample_ids"], strict=True))


def sample(sample_id: str, **fields: Any) -> dict[str, Any]:
    return {"id": sample_id, "question": f"What is {sample_id}?", **fields}


CASES: list[tuple[str, str, list[str], list[dict[str, Any]]]] = [
    ("duplicate_questions", "warning", ["a", "b"],
     [sample("a", question="Why?"), sample("b", question=" why？"), sample("c")]),
    ("contradictory_labels", "error", ["a", "b"],
     [sample("a", question="Why?", reference="x"), sample("b", question="why?", reference="y")]),
    ("included_and_forbidden", "error", ["a"],
     [sample("a", must_include=["500 connections"], must_not_include=["500"]),
      sample("b", must_include=[["five", "500"]], must_not_include=["500"])]),
    ("refusal_with_points", "error", ["a"],
     [sample("a", expect_refusal=True, must_include=["x"]), sample("b", expect_refusal=True, must_include=[])]),
    ("expected_and_banned_documents", "error", ["a"],
     [sample("a", expected_docs=["hr-1"], must_not_retrieve=["hr-*"]),
      sample("b", expected_docs={"hr-1": 0}, must_not_retrieve=["hr-*"])]),
    ("vacuous_cases", "warning", ["a"], [sample("a"), sample("b", reference="x"), sample("c", expected_docs=[])]),
    ("missing_answers", "warning", ["a"], [sample("a", answer=None), sample("b", answer="x")]),
    ("empty_answers", "warning", ["a"], [sample("a", answer=" "), sample("b", answer="x")]),
    ("answer_is_reference", "warning", ["a", "b", "c"], [sample(one, answer=LONG, reference=LONG) for one in "abc"]),
    ("unbalanced_types", "note", ["x"],
     [sample("x", type="rare")] + [sample(str(at), type="fact") for at in range(11)]),
    ("answer_in_other_language", "note", ["a"],
     [sample("a", answer="试用期为十四天，可以由销售团队延长一次，之后不能再延长。"), sample("b", answer=LONG)]),
    ("ids_never_match", "error", ["a"],
     [sample("a", expected_docs=["x.md"], contexts=[{"doc_id": "x", "text": "t"}])]),
    ("contexts_without_ids", "warning", ["a"], [sample("a", expected_docs=["x"], contexts=["t"])]),
    ("unknown_citations", "warning", ["a"],
     [sample("a", citations=["z"], contexts=[{"doc_id": "x", "text": "t"}]),
      sample("b", citations=["x", "1"], contexts=[{"doc_id": "x", "text": "t"}])]),
    ("k_beyond_list", "warning", ["a", "b"], [sample("a", contexts=["t"]), sample("b", contexts=["t", "u"])]),
    ("nothing_retrieved", "note", ["a"], [sample("a", contexts=[]), sample("b", contexts=["t"])]),
    ("empty_contexts", "warning", ["a"], [sample("a", contexts=["t", " "]), sample("b", contexts=["t"])]),
    ("duplicate_contexts", "warning", ["a", "b"],
     [sample("a", contexts=["t", "t"]),
      sample("b", contexts=[{"doc_id": "x", "text": "t"}, {"doc_id": "x", "text": "u"}]),
      sample("c", contexts=["t", "u"])]),
    ("reference_in_contexts", "warning", ["a"],
     [sample("a", reference=LONG, contexts=[LONG.upper() + " ."]),
      sample("b", reference=LONG, contexts=["Billing. " * 9 + LONG])]),
    ("scores_not_descending", "warning", ["a"],
     [sample("a", contexts=[{"text": "t", "score": 0.1}, {"text": "u", "score": 0.3}, {"text": "v", "score": 0.2}]),
      sample("b", contexts=[{"text": "t", "score": 0.3}, {"text": "u", "score": 0.3}])]),
    ("scores_ascending", "warning", ["a"],
     [sample("a", contexts=[{"text": "t", "score": 0.1}, {"text": "u", "score": 0.3}])]),
    ("tenant_only_on_documents", "warning", ["a"],
     [sample("a", contexts=[{"text": "t", "tenant": "acme"}]), sample("b")]),
    ("unreadable_values", "error", ["a"], [sample("a", contexts=5), sample("b")]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "level", "ids", "rows"), CASES, ids=[case[0] for case in CASES])
def test_each_check_names_exactly_the_samples_concerned(name, level, ids, rows):
    assert found(rows, name) == [(level, len(ids), ids)]


def test_rejected_rows_are_reported():
    assert found([sample("a"), sample("a"), {"question": ""}], "rejected_rows") == [("error", 2, [])]


def test_same_question_of_two_tenants_is_no_duplicate():
    rows = [sample("a", question="Why?", tenant="x"), sample("b", question="Why?", tenant="y")]
    assert found(rows, "duplicate_questions") == []


def test_ids_against_the_corpus():
    rows = [
        sample("a", expected_docs=["x", "gone"], contexts=[{"doc_id": "x", "text": "t"}]),
        sample("b", expected_docs=["x"], contexts=[{"doc_id": "elsewhere", "text": "t"}]),
    ]
    corpus = load_corpus([{"id": "x", "text": "t"}])
    assert found(rows, "expected_not_in_corpus", corpus=corpus) == [("warning", 1, ["a"])]
    assert found(rows, "retrieved_not_in_corpus", corpus=corpus) == [("warning", 1, ["b"])]
    assert found(rows, "ids_never_match", corpus=corpus) == []


def test_kinds_of_cases_that_are_missing():
    assert found([sample("a", expect_refusal=False)], "no_refusal_cases") == [("note", 0, [])]
    assert found([sample("a", expect_refusal=True)], "no_refusal_cases") == []
    assert found([sample("a", type="权限")], "no_permission_cases") == []
    assert found([sample("a", must_not_retrieve=["x"])], "no_permission_cases") == []
    assert found([sample("a")], "no_permission_cases") == [("note", 0, [])]


def test_languages_of_the_questions():
    rows = [sample("a", question="试用期多久？"), sample("b", question="How long is the trial?")]
    frame = check(load_samples(rows))
    message = frame.loc[frame["check"] == "language_mix", "message"].iloc[0]
    assert "zh 1" in message and "en 1" in message


def test_sets_that_differ():
    other = load_samples([sample("b", reference="y"), sample("c", question="else"), sample("d")], name="second")
    rows = [sample("a"), sample("b", reference="x"), sample("c", question="something")]
    assert found(rows, "different_samples", others=[other]) == [("warning", 2, ["a", "d"])]
    assert found(rows, "different_questions", others=[other]) == [("error", 1, ["c"])]
    assert found(rows, "different_references", others=other) == [("warning", 1, ["b"])]
    assert found([sample("z")], "different_samples", others=[other])[0][0] == "error"
    assert check(load_samples(rows), others=[load_samples(rows)])["check"].str.startswith("different").sum() == 0


def test_a_healthy_set_has_nothing_to_say():
    contexts = [{"doc_id": one, "text": f"text of {one}", "score": 1.0} for one in "vwxyz"]
    rows = [
        sample(
            str(at), answer="An answer.", reference="The reference.", contexts=contexts, expected_docs=["x"],
            tenant="t", must_include=["answer"], must_not_retrieve=["secret-*"], expect_refusal=at == 0 or None,
            type="fact", latency_ms=5,
        )
        for at in range(6)
    ]  # fmt: skip
    rows[0] |= {"must_include": None}
    corpus = load_corpus([{"id": one, "text": f"text of {one}"} for one in "vwxyz"])
    assert check(load_samples(rows), corpus).empty


def test_what_would_unlock_more_is_named_for_each_missing_column():
    checks = check(load_samples([sample("a", contexts=["t"])]))["check"].tolist()
    assert [one for one in checks if one.startswith("unlock_")] == [
        f"unlock_{one}" for one in UNLOCKS if one != "contexts"
    ]


def test_the_frame_and_its_order():
    frame = check(load_samples([sample("a", contexts=5), sample("b", answer=" ")]))
    assert tuple(frame.columns) == COLUMNS and frame["n"].dtype == "int64"
    ranks = [LEVELS.index(level) for level in frame["level"]]
    assert ranks == sorted(ranks) and set(ranks) == {0, 1, 2}


def test_both_languages_say_everything():
    frame = check(load_samples([sample("a", contexts=5), sample("b", answer=" ")]))
    before = get_language()
    set_language("zh")
    try:
        chinese = check(load_samples([sample("a", contexts=5), sample("b", answer=" ")]))
    finally:
        set_language(before)
    assert chinese["check"].tolist() == frame["check"].tolist()
    assert all(any("\u4e00" <= c <= "\u9fff" for c in text) for text in chinese["message"] + chinese["remedy"])
    names = {case[0] for case in CASES} | {f"unlock_{one}" for one in UNLOCKS}
    assert all(has_text(f"doctor.{name}.message") and has_text(f"doctor.{name}.remedy") for name in names)


def test_an_empty_set_and_a_bad_k():
    assert check(load_samples([{"question": ""}]))["check"].tolist() == ["rejected_rows"]
    with pytest.raises(InputError, match="k=0"):
        check(load_samples([sample("a")]), k=0)
