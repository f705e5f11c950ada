"""Data sets of questions, whose answers are gold: SQuAD, HotpotQA, MuSiQue, KILT, TriviaQA, benchmarks of a harness.

What a data set calls ``answer`` is a reference; so it is beside a column that holds what a system said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.data.columns import aliases, fold, resolve
from workbench.data.formats.records import (
    WHOLE_FILE,
    Records,
    Remark,
    Row,
    as_list,
    as_mapping,
    looks_structured,
    mapped,
    opened,
    why,
)


def squad(row: Row) -> list[Row]:
    """Questions of SQuAD's paragraphs, which are their contexts."""
    done = []
    for number, part in enumerate(as_list(row.get("paragraphs")), 1):
        for item in as_list(part.get("qas")) if isinstance(part, Mapping) else ():
            if isinstance(item, Mapping):
                context = {
                    "text": part.get("context"),
                    "title": row.get("title"),
                    "doc_id": f"{row.get('title')}#{number}",
                }
                refusal = {"expect_refusal": item["is_impossible"]} if "is_impossible" in item else {}
                done.append({**item, "contexts": [{k: v for k, v in context.items() if v is not None}], **refusal})
    return done or [row]


def hotpot(row: Row) -> Row:
    """HotpotQA's answer is the gold one; supporting facts name the relevant paragraphs by title."""
    facts, context = row.get("supporting_facts"), row.get("context")
    titles = (
        facts.get("title") if isinstance(facts, Mapping) else [f[0] for f in as_list(facts) if isinstance(f, list) and f]
    )
    if isinstance(context, Mapping) and {"title", "sentences"} <= context.keys():
        context = list(map(list, zip(context["title"], context["sentences"], strict=False)))
    found = {"reference": row.pop("answer", None), "expected_docs": list(dict.fromkeys(map(str, titles or ()))) or None}
    return {**row, "contexts": context, **found}


def musique(row: Row) -> Row:
    """MuSiQue's paragraphs, of which those that support the answer are expected."""
    parts = [as_mapping(part) for part in as_list(row.get("paragraphs"))]
    named = [{**part, "doc_id": str(part.get("idx", at))} for at, part in enumerate(parts)]
    expected = [part["doc_id"] for part in named if part.get("is_supporting")]
    refusal = {"expect_refusal": not row["answerable"]} if isinstance(row.get("answerable"), bool) else {}
    gold = "reference" if any("is_supporting" in part for part in parts) else "answer"
    kept = {gold if name == "answer" else name: value for name, value in row.items() if name != "paragraphs"}
    return {**kept, "contexts": named, "expected_docs": expected or None, **refusal}


def kilt(row: Row) -> Row:
    """KILT's outputs are gold: answers, and the pages that show them."""
    given = [as_mapping(part) for part in as_list(row.pop("output", None))]
    pages = [as_mapping(page) for part in given for page in as_list(part.get("provenance"))]
    ids = [str(found) for page in pages if (found := page.get("wikipedia_id") or page.get("title")) is not None]
    return {**row, "reference": [part["answer"] for part in given if part.get("answer")] or None,
            "expected_docs": list(dict.fromkeys(ids)) or None}  # fmt: skip


def is_kilt(columns: set[str], records: Records) -> bool:
    """Whether outputs are answers with the pages that show them."""
    firsts = [next(iter(as_list(row.get("output"))), None) for row in records.rows[:20]]
    return "input" in columns and any(isinstance(one, Mapping) and "provenance" in one for one in firsts)


def instructed(row: Row) -> Row:
    """An instruction with the text that it is about, if any."""
    given = (row.pop("instruction", None), row.pop("input", None))
    return {"question": "\n".join(part for part in given if isinstance(part, str) and part.strip()), **row}


def first_text(value: Any) -> Any:
    """The first of nested lists' texts: a harness keeps several replies to a question."""
    while isinstance(value := opened(value), list) and value:
        value = value[0]
    return value


#: Keys of an object that is an answer with other forms of it.
_ALIASES = {"Aliases", "aliases", "normalized_aliases", "NormalizedAliases"}


def has_gold_answers(columns: set[str], records: Records) -> bool:
    """Whether ``answer`` is the reference: :func:`gold_answers`."""
    own = _answer_column(columns)
    known = resolve([name for name in records.columns if name != own], "sample")
    if own is None or "reference" in known or "question" not in known:
        return False
    if any(as_mapping(row.get(own)).keys() & _ALIASES for row in records.rows[:20]):
        return True
    marks = {fold(name) for name in columns} & set(aliases("keys")["data_set"])
    return bool(marks) or _said_beside(own, records) is not None


def _answer_column(columns: set[str]) -> str | None:
    return next((name for name in sorted(columns) if fold(name) == "answer"), None)


def _said_beside(own: str, records: Records) -> str | None:
    """The column beside ``own`` that holds what the system said, in words."""
    for name in records.columns:
        if fold(name) in aliases("keys")["said"]:
            both = [row[name] for row in records.rows[:50] if row.get(name) is not None and row.get(own) is not None]
            if both and all(isinstance(value, str) and not looks_structured(value) for value in both):
                return name
    return None


def gold_answers(records: Records) -> Records:
    """``answer`` as the reference: beside what the system said, or where only data sets have such columns."""
    own = _answer_column(set(records.columns)) or ""
    said = _said_beside(own, records)
    warnings = list(records.warnings)
    if said is not None:
        warnings.append(Remark(WHOLE_FILE, own, why("is_reference", answers=repr(said))))

    def name(row: Row) -> Row:
        own_too = {"reference": _with_aliases(row[own])} if own in row else {}
        return {key: value for key, value in row.items() if key != own} | own_too

    return replace(mapped(records, name), warnings=warnings)


def _with_aliases(value: Any) -> Any:
    """TriviaQA's answers: a value and its aliases."""
    if not isinstance(value, Mapping) or not value.keys() & _ALIASES:
        return value
    return [value.get("Value") or value.get("value"), *as_list(value.get("Aliases") or value.get("aliases"))]
