"""The human-labelled sets that the offline judge is trained on, read into one form.

The sets are no part of the package: ``folder`` is where they were downloaded to (``wice/oracle_claim_dev.jsonl``,
``begin_wow/begin_dev_wow.tsv``, ``clapnq/clapnq_dev_answerable.jsonl``, ``xquad/xquad.en.json`` and ``.zh.json``).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.data.claims_part import claims
from workbench.errors import InputError
from workbench.evidence.perturb import CHANGES, Statement, statements


@dataclass(frozen=True, slots=True)
class Example:
    """A claim and a text, and whether people (or how it was made) say that the text supports it.

    ``source`` is the set with its language (``wice-en``), ``group`` what must not be parted between folds, ``change``
    the label or the kind of change, ``[start, end)`` the changed span of a perturbation.
    """

    claim: str
    evidence: str
    supported: bool
    source: str
    group: str
    change: str
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, a text that answers it (its own passage), an answer, and the sentences people chose as evidence."""

    question: str
    passage: str
    answer: str
    source: str
    sentences: tuple[str, ...] = ()


def wice(folder: Path) -> list[Example]:
    """Claims of an encyclopedia and the web pages they cite; supported, or partly or not supported."""
    return [
        Example(r["claim"], " ".join(r["evidence"]), r["label"] == "supported", "wice-en", r["claim"], r["label"])
        for r in _json_lines(folder / "wice" / "oracle_claim_dev.jsonl")
    ]


def begin(folder: Path) -> list[Example]:
    """Replies of dialogue models and the sentence of knowledge that they were given."""
    path = _existing(folder / "begin_wow" / "begin_dev_wow.tsv")
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Example(r["response"], r["knowledge"], r["begin_label"] == "Fully attributable", "begin-en", r["knowledge"],
                    r["begin_label"])
            for r in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]  # fmt: skip


def clapnq(folder: Path) -> list[Asked]:
    """Questions with a passage and an answer in a person's own words."""
    return [
        Asked(r["input"], r["passages"][0]["text"], output["answer"], "clapnq-en", tuple(output["selected_sentences"]))
        for r in _json_lines(folder / "clapnq" / "clapnq_dev_answerable.jsonl")
        for output in r["output"][:1]
        if output["answer"].strip()
    ]


def xquad(folder: Path, language: str) -> list[Asked]:
    """Questions with a paragraph and a short answer; ``language`` is en or zh, the same questions in both."""
    data = json.loads(_existing(folder / "xquad" / f"xquad.{language}.json").read_text(encoding="utf-8"))["data"]
    return [
        Asked(qa["question"], paragraph["context"], qa["answers"][0]["text"], f"xquad-{language}")
        for article in data
        for paragraph in article["paragraphs"]
        for qa in paragraph["qas"]
    ]


def perturbed(folder: Path, language: str, seed: int = 0, per_paragraph: int = 3) -> list[Example]:
    """Statements made from the paragraphs, as they are and with one thing changed."""
    made = statements(paragraphs(folder, language), seed, per_paragraph, CHANGES)
    return [_example(statement, f"xquad-{language}") for statement in made]


def _example(s: Statement, source: str) -> Example:
    return Example(s.text, s.evidence, s.supported, source, f"{source}{s.group}", s.change, s.start, s.end)


def own_and_other(asked: list[Asked]) -> list[Example]:
    """Each claim of each answer over the answer's own passage (supported) and over that of the next question (not)."""
    found = []
    for at, item in enumerate(asked):
        other = next(a for a in [*asked[at + 1 :], *asked] if a.passage != item.passage)
        for claim in claims(item.answer).spans:
            found.append(Example(claim.text, item.passage, True, item.source, item.passage, "own"))
            found.append(Example(claim.text, other.passage, False, item.source, item.passage, "other"))
    return found


def paragraphs(folder: Path, language: str) -> list[str]:
    """The distinct paragraphs of XQuAD in one language, in order: those of two languages correspond."""
    return list(dict.fromkeys(asked.passage for asked in xquad(folder, language)))


def across(folder: Path) -> list[Example]:
    """Statements of one language over the paragraph in the other language, and over the next paragraph (not)."""
    found = []
    for mine, other in (("en", "zh"), ("zh", "en")):
        texts = paragraphs(folder, other)
        for statement in statements(paragraphs(folder, mine), 1, 1, ("number", "date", "name_foreign", "term_foreign")):
            number, source = statement.group, f"{mine}-{other}"
            own, following = texts[number], texts[(number + 1) % len(texts)]
            found.append(Example(statement.text, own, statement.supported, source, str(number), statement.change))
            if statement.supported:
                found.append(Example(statement.text, following, False, source, str(number), "other"))
    return found


def xquad_across(folder: Path, language: str) -> list[Asked]:
    """Questions and answers of one language with the paragraph of the other."""
    english, chinese = xquad(folder, "en"), xquad(folder, "zh")
    pairs = zip(english, chinese, strict=True) if language == "en" else zip(chinese, english, strict=True)
    return [Asked(mine.question, other.passage, mine.answer, f"across-{language}") for mine, other in pairs]


def some(asked: list[Asked], n: int) -> list[Asked]:
    """``n`` of the questions, evenly spread."""
    step = max(1, len(asked) // n)
    return asked[::step][:n]


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    with _existing(path).open(encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"{path.name} is not in {path.parent.parent}: give the folder that holds {path.parent.name}/")
    return path
