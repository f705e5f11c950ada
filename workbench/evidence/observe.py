"""What can be read from a sample's texts without judging: key points, citations, numbers, entities, refusal wording,
copied words of another tenant, signs of a broken format. Threshold-free and the same for every judge.
"""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.data.corpus import chunk_order, chunk_place, document_of
from workbench.data.schema import Context, Corpus, Sample, none_if_missing
from workbench.data.text.citations import Citation, cited_documents, find_citations
from workbench.data.text.markers import absolutes, hedges
from workbench.data.text.points import Matcher, find_across, matcher
from workbench.data.text.quantities import contains_quantity, entities, quantities
from workbench.data.text.refusals import refusal
from workbench.data.text.sentences import CITATION_MARK, calls, json_body, prompt_lines, sentences
from workbench.data.text.words import language, normalise, tokens
from workbench.evidence.offline.words import Numbers
from workbench.language import Language, by_languages, languages, pattern

# ---------------------------------------------------------------- near-verbatim copies
#
# Runs of an answer's letters and digits that stand in some documents and in none that it may use. How long a run has to
# be stands in the language's ``broken.toml``: a Chinese character carries more than a letter.

#: Documents are indexed at every n-th character; a copy is found from this many characters beyond a run on.
STRIDE = 3


class Copies:
    """An index of the runs of documents, by which an answer that copies from them is recognised.

    Runs that also stand in one of the ``free`` texts, which everybody may read, are left out.
    """

    def __init__(self, documents: Mapping[str, str], free: Iterable[str] = ()) -> None:
        self._owners: dict[str, set[str]] = {}
        for key, text in documents.items():
            for run in _runs(text, STRIDE):
                self._owners.setdefault(run, set()).add(key)
        if self._owners:
            for text in free:
                for run in _runs(text) & self._owners.keys():
                    del self._owners[run]

    def shares(self, answer: str, allowed: Iterable[str], among: Collection[str] | None = None) -> dict[str, float]:
        """Documents that the answer copies from → share of its runs found there, in (0, 1].

        Runs that also stand in one of the ``allowed`` texts, or in an indexed document that is not ``among`` those in
        question, do not count.
        """
        if not self._owners:
            return {}
        runs = _runs(answer)
        hits = {run: self._owners[run] for run in runs & self._owners.keys()}
        if among is not None:
            hits = {run: owners for run, owners in hits.items() if all(owner in among for owner in owners)}
        free: set[str] = set().union(*(_runs(text) for text in allowed)) if hits else set()
        counts: dict[str, int] = {}
        for owner in (owner for run, owners in hits.items() if run not in free for owner in owners):
            counts[owner] = counts.get(owner, 0) + 1
        return {owner: n / len(runs) for owner, n in counts.items()}


def _runs(text: str, stride: int = 1) -> set[str]:
    letters = "".join(c for c in normalise(text) if c.isalnum())
    scripts = (item for item in languages() if item.script and len(item.script.findall(letters)) * 3 >= len(letters))
    length = next(scripts, languages()[0]).table("broken").get("copied", 24)
    return {letters[i : i + length] for i in range(0, len(letters) - length + 1, stride)}


# ---------------------------------------------------------------- signs that an answer is broken in form

_LAST_WORD = re.compile(r"\w$")
_WORD = re.compile(r"(?<![\w-])[A-Za-z]{2,}(?![\w-])")
#: What :func:`format_sign` can say.
SIGNS = ("cut_off", "raw_json", "tool_call", "prompt_echo", "wrong_language")

_CUT_REASONS = ("length", "max_tokens", "max_output_tokens", "token_limit")


def format_sign(sample: Sample, row: Mapping[str, Any], right: bool = False) -> str | None:
    """Which sign of a broken format an answer shows: ``cut_off, raw_json, tool_call, prompt_echo, wrong_language``.

    ``right``: it makes the point of its reference, so that a last stop which is missing does not show that it was cut off.
    """
    answer = (sample.answer or "").strip()
    if not answer:
        return None
    if calls(answer):
        return "tool_call"
    if json_body(answer) is not None and "json" not in normalise(sample.question):
        return "raw_json"
    if prompt_lines().search(answer) and not prompt_lines().search(sample.question):
        return "prompt_echo"
    if _cut_off(answer, row) or (not right and _without_stop(answer)):
        return "cut_off"
    return "wrong_language" if _wrong_language(sample.question, answer) else None


def _cut_off(answer: str, row: Mapping[str, Any]) -> bool:
    usage = row.get("usage")
    if isinstance(usage, Mapping) and usage.get("finish_reason") in _CUT_REASONS:
        return True
    open_end, _ = _ends()
    return answer.count("```") % 2 == 1 or open_end.search(answer.splitlines()[-1].strip()) is not None


def _without_stop(answer: str) -> bool:
    """Whether a longer text's other sentences end in a stop and its last one does not."""
    _, stop = _ends()
    last = answer.splitlines()[-1].strip()
    listed = re.match(r"[-*•\d|]", last) is not None or "\n" in answer
    written = next((item for item in languages() if item.script and item.script.search(answer)), languages()[0])
    ended = stop.search(answer[:-1]) is not None and len(answer) > written.table("broken").get("long", 60)
    # The last words may be a value, a link or an identifier rather than a broken sentence.
    value = re.search(r"[\d@/_#]", (last.split() or [""])[-1]) is not None
    return ended and not listed and _LAST_WORD.search(last) is not None and not value


@by_languages(maxsize=8)
def _ends() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What a whole text does not end in, and what a sentence ends in."""
    tables = [(item, item.table("broken")) for item in languages()]
    goes_on, stops = (re.escape("".join(str(table.get(name, "")) for _, table in tables)) for name in ("open", "stops"))
    words = [
        (r"(?<!\S)" if item.facts["spaced"] else "") + f"(?:{'|'.join(map(re.escape, table['never_last']))})$"
        for item, table in tables
        if "never_last" in table
    ]
    open_end = "|".join([rf"[,:;(\[“‘—{goes_on}-]$|(?<!\S)[\"']$", *words])
    return re.compile(open_end, re.IGNORECASE), re.compile(f"[.!?{stops}]")


def _wrong_language(question: str, answer: str) -> bool:
    """Asked in one known language and answered in another; bare keywords and other languages tell nothing."""
    known = {item.code: item for item in languages()}
    asked, given = known.get(language(question)), known.get(language(answer))
    if asked is None or given is None or asked is given or (asked.script and asked.script.search(answer)):
        return False
    return _tells(asked, question, "asked_by") and _tells(given, answer, "told_by")


def _tells(item: Language, text: str, name: str) -> bool:
    """Whether ``text`` has enough words or characters to tell that it is in the language."""
    least = item.table("broken").get(name)
    return least is not None and len((item.script or _WORD).findall(text)) >= least


# ---------------------------------------------------------------- one sample


@dataclass(slots=True)
class Point:
    """A key point or a forbidden content: where it stands, in the answer and in each context.

    ``across`` marks contexts at whose edge to their successor it stands, though in neither alone; ``elsewhere`` says
    where it stands when no context has it: ``split`` (across an edge with a chunk that was not retrieved), ``missed``
    (in an expected document that was not retrieved), ``corpus`` (in some other document) or empty.
    """

    side: str
    number: int
    text: str
    start: int = -1
    end: int = -1
    inside: list[tuple[int, int]] = field(default_factory=list)
    across: list[bool] = field(default_factory=list)
    elsewhere: str = ""


@dataclass(slots=True)
class Observation:
    """What the texts of one sample show: scalar facts (columns ``text_…``), points, citations, per-context figures."""

    facts: dict[str, Any] = field(default_factory=dict)
    points: list[Point] = field(default_factory=list)
    citations: list[tuple[Citation, int, str]] = field(default_factory=list)
    n_tokens: list[int] = field(default_factory=list)
    answer_share: list[float] = field(default_factory=list)


def observe(
    sample: Sample, row: Mapping[str, Any], corpus: ChunkIndex | None = None, *, read_refusal: bool = True,
    right: bool = False,
) -> Observation:  # fmt: skip
    """Read one sample. ``row`` has its further fields (``citations, must_not_retrieve, expected_docs, usage``).

    ``read_refusal``: False where a judge has said already whether the answer declines. ``right``: as :func:`format_sign`.
    """
    contexts = sample.contexts or ()
    found = Observation(n_tokens=[len(tokens(c.text)) for c in contexts])
    found.points = [
        _point(side, number, entry, sample, row, corpus)
        for side, entries in (("point", sample.must_include), ("forbidden", sample.must_not_include))
        for number, entry in enumerate(entries)
    ]
    found.answer_share = [0.0] * len(contexts)
    banned = row.get("must_not_retrieve")
    hits = [any(fnmatch.fnmatchcase(c.doc_id or "", str(p)) for p in banned or ()) for c in contexts]
    found.facts["text_must_not_retrieve"] = None if banned is None else float(sum(hits))
    if sample.answer and sample.answer.strip():
        found.citations = _citations(sample, row, corpus)
        found.facts |= _answer_facts(sample, row, read_refusal, right)
        _leaks(found, sample, corpus)
    if sample.reference:
        found.facts |= _entity_facts("text_entities", sample.reference, contexts)
    return found


class ChunkIndex:
    """A corpus made ready: chunks by id, neighbours by document and position, copies of foreign words."""

    def __init__(self, corpus: Corpus) -> None:
        frame = corpus.frame
        self.texts: dict[str, str] = dict(zip(frame.index.astype(str), frame["text"], strict=True))
        tenants = zip(frame.index.astype(str), frame["tenant"].astype(object), strict=True)
        self.tenants = {doc_id: str(tenant) for doc_id, tenant in tenants if none_if_missing(tenant) is not None}
        self._places: dict[str, tuple[str, int]] = {}
        self._at: dict[tuple[str, int], str] = {}
        for doc_id, source, position in zip(frame.index.astype(str), frame["source"], frame["position"], strict=True):
            place = chunk_place(doc_id, none_if_missing(source), none_if_missing(position))
            if place is not None:
                self._places[doc_id] = place
                self._at.setdefault(place, doc_id)
        shared = (text for doc_id, text in self.texts.items() if doc_id not in self.tenants)
        self.copies = Copies({doc_id: self.texts[doc_id] for doc_id in self.tenants}, shared)

    def neighbours(self, doc_id: str | None) -> tuple[str | None, str | None]:
        """Ids of the chunks before and after ``doc_id`` in its document, None at the ends."""
        if doc_id is None or doc_id not in self._places:
            return None, None
        source, position = self._places[doc_id]
        return self._at.get((source, position - 1)), self._at.get((source, position + 1))


# ---------------------------------------------------------------- key points


def _point(
    side: str, number: int, entry: Sequence[str], sample: Sample, row: Mapping[str, Any], corpus: ChunkIndex | None
) -> Point:
    contexts = sample.contexts or ()
    made = _first(entry, matcher(sample.answer)) if sample.answer else None
    point = Point(side, number, " | ".join(entry))
    if made is not None:
        point.start, point.end = made
    if side == "point":
        point.inside = [_first(entry, matcher(c.text)) or (-1, -1) for c in contexts]
        point.across = [
            after >= 0 and any(find_across(option, c.text, contexts[after].text) is not None for option in entry)
            for c, after in zip(contexts, chunk_order(contexts), strict=True)
        ]
        seen = any(start >= 0 and c.prompted for (start, _), c in zip(point.inside, contexts, strict=True))
        if corpus is not None and not seen and not any(point.across):
            point.elsewhere = _elsewhere(entry, contexts, row, corpus)
    return point


def _first(entry: Iterable[str], text: Matcher) -> tuple[int, int] | None:
    span = next((span for option in entry if (span := text.find(option)) is not None), None)
    return None if span is None else (span.start, span.end)


def _elsewhere(entry: Sequence[str], contexts: Sequence[Context], row: Mapping[str, Any], corpus: ChunkIndex) -> str:
    """Where in the corpus a point stands that no context has."""
    retrieved = {c.doc_id for c in contexts if c.prompted}
    for context in contexts:
        before, after = corpus.neighbours(context.doc_id) if context.prompted else (None, None)
        pairs = [(corpus.texts[before], context.text)] if before and before not in retrieved else []
        pairs += [(context.text, corpus.texts[after])] if after and after not in retrieved else []
        if any(find_across(option, *pair) is not None for pair in pairs for option in entry):
            return "split"
    expected = row.get("expected_docs") or ()
    ids = {str(i) for item in expected for i in (item if isinstance(item, (list, tuple)) else (item,))} - retrieved
    if any(_first(entry, matcher(corpus.texts[i])) for i in ids if i in corpus.texts):
        return "missed"
    return ""


# ---------------------------------------------------------------- citations and leaks


def _citations(sample: Sample, row: Mapping[str, Any], corpus: ChunkIndex | None) -> list[tuple[Citation, int, str]]:
    """Each citation with the 1-based rank that it resolves to (0 = nothing) and the id that it names."""
    contexts = sample.contexts or ()
    known = [c.doc_id for c in contexts if c.doc_id] + list(corpus.texts if corpus is not None else ())
    marks = find_citations(sample.answer or "", known)
    marks += cited_documents(row.get("citations"))
    return [(mark, *_resolved(mark, contexts)) for mark in marks]


def _resolved(mark: Citation, contexts: Sequence[Context]) -> tuple[int, str]:
    for rank, context in enumerate(contexts, 1):
        if mark.doc_id is not None and mark.doc_id == context.doc_id:
            return rank, mark.doc_id
    if mark.number is not None and 1 <= mark.number <= len(contexts):
        return mark.number, contexts[mark.number - 1].doc_id or ""
    named = (rank for rank, c in enumerate(contexts, 1) if mark.doc_id == (c.source or document_of(c.doc_id or "")))
    return (next(named, 0) if mark.doc_id else 0), mark.doc_id or ""


def _leaks(found: Observation, sample: Sample, corpus: ChunkIndex | None) -> None:
    """Words that stand in the answer and only in documents of another tenant, and foreign documents it cites."""
    contexts = sample.contexts or ()
    if sample.tenant is None:
        return
    foreign = [c.tenant is not None and c.tenant != sample.tenant for c in contexts]
    own = [c.text for c, other in zip(contexts, foreign, strict=True) if not other]
    allowed = [sample.conversation, sample.reference or "", *own]
    copies = Copies({str(i): c.text for i, c in enumerate(contexts) if foreign[i]})
    for key, share in copies.shares(sample.answer or "", allowed).items():
        found.answer_share[int(key)] = share
    if corpus is not None:
        recorded = {c.doc_id for c in contexts}
        others = {d for d, tenant in corpus.tenants.items() if tenant != sample.tenant and d not in recorded}
        copied = corpus.copies.shares(sample.answer or "", allowed, others)
        found.facts["text_foreign_answered"] = sorted(copied) or None
        cited = {doc for _, rank, doc in found.citations if rank == 0 and doc in others}
        found.facts["text_foreign_cited"] = sorted(cited) or None


# ---------------------------------------------------------------- figures of the answer


def _answer_facts(sample: Sample, row: Mapping[str, Any], read_refusal: bool, right: bool) -> dict[str, Any]:
    answer, contexts = sample.answer or "", sample.contexts or ()
    bare = without_citations(answer)
    declined = refusal(bare, sample.refusal_phrases, sample.asked) if read_refusal else None
    stated = quantities(bare)
    asked = Numbers((q, 0) for q in quantities(sample.conversation))
    new = [q for q in stated if not contains_quantity(asked.near(q), q)]
    shown = Numbers((q, 0) for c in contexts if c.prompted for q in quantities(c.text))
    return {
        **({"text_declines": declined.refusing, "text_residual": declined.left} if declined else {}),
        "text_tokens": len(tokens(answer)),
        "text_hedges": len(hedges(answer)),
        "text_absolutes": len(absolutes(answer)),
        "text_numbers": len(new),
        "text_numbers_found": sum(contains_quantity(shown.near(q), q) for q in new),
        **_disagreeing(bare[:COMPARED]),
        **_entity_facts("text_answer_entities", bare, contexts),
        "text_format": format_sign(sample, row, right),
    }


def without_citations(text: str) -> str:
    """``text`` with citation marks blanked, offsets kept: marks are no part of a claim, its numbers or its entities."""
    return CITATION_MARK.sub(lambda match: " " * len(match.group()), text)


#: Characters before a quantity that may tell what it is a quantity of; the whole sentence would make a long one slow.
NEAR = 200
#: Characters of an answer whose quantities are held against each other, as many as judges examine.
COMPARED = 30_000


def _disagreeing(text: str) -> dict[str, int]:
    """Quantities that are given two values: the same words before them in another sentence, the same unit, another value."""
    slots: dict[tuple[str, str | None], set[tuple[float, float]]] = {}
    for sentence in sentences(text):
        for q in quantities(sentence.text):
            before = sentence.text[max(q.start - NEAR, 0) : q.start]
            head = " ".join(t.text.casefold() for t in tokens(before)[-3:])
            slots.setdefault((head, q.unit), set()).add((q.low, q.high))
    wrong = sum(len(values) > 1 for (head, _), values in slots.items() if head) + _illogical(text)
    return {"text_quantities": max(len(slots), wrong), "text_quantities_disagreeing": wrong}


def _illogical(text: str) -> int:
    """Sentences whose total is not the sum of the two or more parts of one unit that they name, or whose span of years
    ends before it begins."""
    found = 0
    for sentence in sentences(text):
        total = pattern("offline", "(?:«total»)").search(sentence.text.lower())
        spans = pattern("offline", "(?:«from_to»)", re.IGNORECASE).finditer(sentence.text)
        for first, last in (filter(None, match.groups()) for match in spans):
            found += int(first) > int(last)
        stated = [q for q in quantities(sentence.text) if q.value is not None and not q.cue] if total else []
        after = [q for q in stated if total and q.start >= total.end()][:1]
        parts = [q.value for q in stated if after and q.unit == after[0].unit and q.start < after[0].start]
        if after and len(parts) >= 2 and after[0].kind not in ("date", "time", "percent"):
            found += not math.isclose(sum(v for v in parts if v is not None), after[0].value or 0.0, rel_tol=0.02)
    return found


def _entity_facts(name: str, text: str, contexts: Sequence[Context]) -> dict[str, Any]:
    """Distinct entities of ``text``, and how many of them stand in the prompted contexts."""
    wanted = {e.text: e for e in entities(text)}
    shown = [matcher(c.text) for c in contexts if c.prompted]
    found = sum(any(m.find(text) is not None for m in shown) for text in wanted)
    return {name: len(wanted), f"{name}_found": found}
