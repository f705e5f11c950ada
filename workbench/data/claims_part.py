"""What a text states: its claims, each a span of the original."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.data.sentences import MAX_CLAIMS, Claims, _clauses, _is_heading, _stripped_claim, sentences
from workbench.data.text import Span
from workbench.data.wrapping import spoken


def claims(text: str) -> Claims:
    """What ``text`` states: sentences, cut into clauses, without what states nothing.

    Questions, greetings, offers of help, headings, table rules and statements that decline are left out; list markers
    and citation marks at the edges are no part of a span. Tool calls and an echo of the prompt state nothing; raw JSON states
    what its values state. At most ``MAX_CLAIMS``.
    """
    found: list[Span] = []
    for start, end in spoken(text):
        for sentence in sentences(text[start:end]):
            found += _claims_of(text, start + sentence.start, start + sentence.end)
            if len(found) > MAX_CLAIMS:
                return Claims(tuple(found[:MAX_CLAIMS]), True)
    return Claims(tuple(found), False)


def _claims_of(text: str, start: int, end: int) -> Iterator[Span]:
    """The claims of one sentence."""
    from workbench.data.declining import declines

    if _is_heading(text[start:end]):
        return
    for clause in _clauses(text, start, end):
        claim = _stripped_claim(text, clause)
        if claim is not None and not declines(claim.text):
            yield claim
