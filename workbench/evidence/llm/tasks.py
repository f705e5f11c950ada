"""What is asked about one sample: which texts there are, how long contexts are split, the messages of each call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from workbench.data.schema import Sample
from workbench.evidence.judge import MAX_CLAIMS
from workbench.evidence.llm.budget import estimate_tokens, message_tokens
from workbench.evidence.llm.prompts import (
    Message,
    addresses_judge,
    escaped,
    language_name,
    numbered,
    prompt_language,
    render,
)
from workbench.evidence.llm.schema import part_schema, questions_schema, rubric_schema, shape, verify_schema

#: Where sizes are bounded: pairs of conflicting claims in one reply, characters of a claim or a quote.
MOST_CONFLICTS, MOST_CHARACTERS = 10, 400


@dataclass(frozen=True, slots=True)
class Piece:
    """A context, or a part of a long one. ``index``: its place in the sample; ``start``: its offset in the context."""

    index: int
    start: int
    text: str


@dataclass(frozen=True)
class Task:
    """One sample made ready for asking.

    ``parts`` holds the pieces of each call, at least one (perhaps empty) list. ``flags``: which of ``answer, reference,
    contexts`` there are. ``blank``: prompted contexts without any text; they say nothing about anything.
    """

    sample: Sample
    language: str
    reply_language: str
    answer: str
    reference: str
    parts: tuple[tuple[Piece, ...], ...]
    blank: frozenset[int] = frozenset()
    notes: tuple[str, ...] = field(default=())

    @property
    def flags(self) -> frozenset[str]:
        """Which of ``answer, reference, contexts`` the first call is about."""
        present = {"answer": self.answer, "reference": self.reference, "contexts": self.parts[0]}
        return frozenset(name for name, value in present.items() if value)

    @property
    def relevance_basis(self) -> str:
        """``reference`` or ``question``."""
        return "reference" if self.reference else "question"


def make_task(sample: Sample, context_tokens: int, language: str | None = None) -> Task:
    """Prepare ``sample``: prompted contexts in order, in parts of at most ``context_tokens`` estimated tokens."""
    from workbench.data.text import fold_surrogates
    from workbench.data.text import language as language_of

    clean = _cleaned(sample, fold_surrogates)
    pieces: list[Piece] = []
    blank = set()
    for index, context in enumerate(clean.contexts or ()):
        if context.prompted and not context.text.strip():
            blank.add(index)
        elif context.prompted:
            pieces.extend(_pieces(index, context.text, context_tokens))
    parts = tuple(_parts(pieces, context_tokens)) or ((),)
    return Task(
        sample=sample,
        language=language or prompt_language(clean.question),
        reply_language=language_of(clean.question),
        answer=(clean.answer or "").strip(),
        reference=(clean.reference or "").strip(),
        parts=parts,
        blank=frozenset(blank),
        notes=(*_split_note(parts, context_tokens), *_addressing(clean)),
    )


def _cleaned(sample: Sample, fold: Any) -> Sample:
    """``sample`` with lone surrogates replaced one for one, so that it can be sent."""
    import dataclasses

    def clean(text: str | None) -> str | None:
        return None if text is None else fold(text)[0]

    contexts = sample.contexts and tuple(dataclasses.replace(c, text=clean(c.text) or "") for c in sample.contexts)
    return dataclasses.replace(
        sample, question=clean(sample.question) or "", answer=clean(sample.answer), reference=clean(sample.reference),
        contexts=contexts,
    )  # fmt: skip


def _pieces(index: int, text: str, limit: int) -> list[Piece]:
    """``text`` whole, or cut at ends of sentences so that no piece has more than ``limit`` estimated tokens."""
    if estimate_tokens(text) <= limit:
        return [Piece(index, 0, text)]
    from workbench.data.sentences import sentences

    cuts = [0]
    end = 0
    for span in sentences(text):
        if estimate_tokens(text[cuts[-1] : span.end]) > limit:
            cuts.extend(_inner_cuts(text, cuts[-1], max(end, cuts[-1]), span.end, limit))
        end = span.end
    bounds = zip(cuts, [*cuts[1:], len(text)], strict=True)
    return [Piece(index, start, text[start:stop]) for start, stop in bounds if text[start:stop].strip()]


def _inner_cuts(text: str, start: int, before: int, stop: int, limit: int) -> list[int]:
    """Where to cut ``text[start:stop]``: before its last sentence, and inside that where it alone is too long."""
    cuts = [before] if before > start else []
    at = before
    while estimate_tokens(text[at:stop]) > limit:
        at += max(1, limit)
        cuts.append(at)
    return cuts


def _parts(pieces: Sequence[Piece], limit: int) -> list[tuple[Piece, ...]]:
    """Consecutive pieces that fit together."""
    parts: list[list[Piece]] = []
    used = 0
    for piece in pieces:
        size = estimate_tokens(piece.text)
        if not parts or used + size > limit:
            parts.append([])
            used = 0
        parts[-1].append(piece)
        used += size
    return [tuple(part) for part in parts]


def _split_note(parts: Sequence[Sequence[Piece]], limit: int) -> list[str]:
    if len(parts) < 2:
        return []
    return [f"the contexts have more than {limit} tokens and were judged in {len(parts)} parts"]


def _addressing(sample: Sample) -> list[str]:
    """Findings: texts that speak to the judge. They are judged like any other text."""
    texts = [(f"context {n}", c.text) for n, c in enumerate(sample.contexts or (), start=1) if c.prompted]
    texts.append(("the answer", sample.answer or ""))
    found = [(name, passage) for name, text in texts if (passage := addresses_judge(text))]
    return [f"{name} has text that addresses the judge: “{passage}”" for name, passage in found]


# ---------------------------------------------------------------- calls


@dataclass(frozen=True)
class Call:
    """One request: ``name`` of its prompt, messages and the schema of its reply.

    ``sizes``: (least, most) of the schema's lists, texts and numbers; see :func:`schema.sized`.
    """

    name: str
    messages: list[Message]
    schema: dict[str, Any]
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @cached_property
    def tokens(self) -> int:
        """Estimated tokens of the messages."""
        return message_tokens(self.messages)

    @cached_property
    def content(self) -> str:
        """Everything that the reply depends on, as one text."""
        return json.dumps([self.name, self.messages, self.schema], ensure_ascii=True, sort_keys=True)


def verify_call(task: Task) -> Call:
    """The first call: claims of both sides against the first part of the contexts, relevance, refusal."""
    schema = verify_schema(task.flags)
    values = _values(task, schema) | {"contexts": _contexts(task.parts[0])}
    # A claim may put the question's words in place of a pronoun, so it can be longer than its text.
    longest = max(len(task.answer), len(task.reference)) + len(task.sample.question)
    sizes = _context_sizes(task, 0) | {"text": (1, min(longest, MOST_CHARACTERS)), "conflicts": (0, MOST_CONFLICTS)}
    sizes |= {"answer_claims": (0, _most_claims(task.answer)), "reference_claims": (1, _most_claims(task.reference))}
    return Call("verify", render("verify", task.language, task.flags, values), schema, sizes)


def part_call(task: Task, part: int, claims: Sequence[str], *, relevance: bool = True) -> Call:
    """A further call: numbered claims against part ``part`` of the contexts."""
    schema = part_schema(relevance)
    values = _values(task, schema) | {
        "contexts": _contexts(task.parts[part]),
        "claims": numbered("claim", claims),
    }
    flags = task.flags | ({"relevance"} if relevance else set())
    sizes = _context_sizes(task, part) | {"claims": (len(claims), len(claims)), "claim": (1, len(claims))}
    return Call("part", render("part", task.language, flags, values), schema, sizes)


def questions_call(task: Task, n: int) -> Call:
    """The call for ``n`` reverse questions; it holds the answer and nothing else of the sample."""
    schema = questions_schema()
    values = {
        "answer": escaped(task.answer),
        "n": str(n),
        "language": language_name(task.reply_language, task.language),
        "shape": shape(schema),
    }
    return Call(
        "questions",
        render("questions", task.language, (), values),
        schema,
        {"questions": (1, n), "items": (1, MOST_CHARACTERS // 2)},
    )


def rubric_call(task: Task, name: str, criterion: str) -> Call:
    """A rating of the answer by one criterion; of long contexts only the first part is shown."""
    schema = rubric_schema()
    values = _values(task, schema) | {"contexts": _contexts(task.parts[0]), "name": name, "criterion": criterion}
    sizes = {"reasoning": (1, MOST_CHARACTERS)}
    return Call("rubric", render("rubric", task.language, task.flags, values), schema, sizes)


def repair_call(call: Call, language: str, reply: str, problems: str) -> Call:
    """``call`` once more, with the reply that could not be used and what was wrong with it."""
    asked = render("repair", language, (), {"problems": problems, "shape": shape(call.schema)})
    shown = [{"role": "assistant", "content": reply[:4000]}] if reply.strip() else []
    return Call(call.name, [*call.messages, *shown, *asked], call.schema, call.sizes)


def _context_sizes(task: Task, part: int) -> dict[str, tuple[int, int]]:
    n, longest = len(task.parts[part]), max((len(piece.text) for piece in task.parts[part]), default=0)
    return {"contexts": (n, n), "verdicts": (n, n), "context": (1, n), "quote": (0, min(longest, MOST_CHARACTERS))}


def _most_claims(text: str) -> int:
    """More claims than ``text`` can hold: no statement has fewer than about four tokens."""
    return min(MAX_CLAIMS, 2 + estimate_tokens(text) // 4)


def _values(task: Task, schema: dict[str, Any]) -> dict[str, str]:
    return {
        "question": escaped(task.sample.question),
        "answer": escaped(task.answer),
        "reference": escaped(task.reference),
        "shape": shape(schema),
    }


def _contexts(pieces: Sequence[Piece]) -> str:
    return numbered("context", [piece.text for piece in pieces])
