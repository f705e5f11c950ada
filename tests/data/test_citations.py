"""Every form of a citation mark, and what is none."""

from __future__ import annotations

import pytest

from workbench.data.text.citations import cited_documents, find_citations

KNOWN = ["doc-a#1", "doc-b#12", "n3"]


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        ("As stated [1].", ["1"]),
        ("Both [1,2] and [3]。", ["1", "2", "3"]),
        ("范围见【3】与【4、5】。", ["3", "4", "5"]),
        ("See [2-4].", ["2", "3", "4"]),
        ("Known [doc-a#1] and unknown [doc-x#99], [n999].", ["doc-a#1", "doc-x#99", "n999"]),
        ("A [link](doc-b#12) and a footnote [^1].", ["doc-b#12", "1"]),
        ("来源标注【来源：doc-a#1】。", ["doc-a#1"]),
        ("No mark: [note], [see above], array[0:2] x, [link](https://example.com).", []),
        ("", []),
    ],
)
def test_marks(answer: str, named: list[str]) -> None:
    assert [c.doc_id for c in find_citations(answer, KNOWN)] == named


def test_offsets_are_those_of_the_mark() -> None:
    answer = "前文 [1, 2] 后文"
    assert {answer[c.start : c.end] for c in find_citations(answer)} == {"[1, 2]"}


def test_a_huge_range_is_two_citations() -> None:
    assert [c.number for c in find_citations("[1-9999]")] == [1, 9999]


def test_the_services_list_holds_ids_numbers_or_mappings() -> None:
    found = cited_documents(["doc-a#1", 2, {"doc_id": "doc-b#12"}, {"other": 1}, None, "[3]"])
    assert [(c.doc_id, c.number) for c in found] == [("doc-a#1", None), ("2", 2), ("doc-b#12", None), ("3", 3)]
    assert cited_documents("not a list") == []
