"""The parts of a claim with support of their own, and what makes it serious: read from the texts, not from the model.

A model gives one verdict for a claim. Which number, name or word of an unsupported claim is the wrong one is seen by
looking it up: a part that stands in no context has support 0. Every part of a supported claim has support 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from workbench.data.markers import absolutes, negations
from workbench.data.quantities import Quantity, contains_quantity, entities, quantities
from workbench.data.text import Token, normalise, stop_words, tokens

_DATES = ("date", "time")
_QUANTITIES = frozenset(("number", "percent", "money", "date", "time", "duration", "version", "ordinal"))

Part = tuple[int, int, str]


class Texts:
    """The contexts that parts are looked up in."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = list(texts)

    @cached_property
    def _quantities(self) -> list[Quantity]:
        return [quantity for text in self._texts for quantity in quantities(text)]

    @cached_property
    def _folded(self) -> str:
        return "\n".join(normalise(text) for text in self._texts)

    def has_quantity(self, quantity: Quantity) -> bool:
        """Whether one of the texts says the same number or date."""
        return contains_quantity(self._quantities, quantity)

    def has(self, words: str) -> bool:
        """Whether ``words`` stand in one of the texts, after folding."""
        return normalise(words) in self._folded


def parts_of(text: str, start: int, end: int, texts: Texts, supported: bool) -> list[dict[str, Any]]:
    """Numbers, dates, names, negations and content words of ``text[start:end]``, in order, without overlaps.

    Each is ``{"start", "end", "text", "kind", "support"}`` with offsets in ``text`` and support 0 or 1.
    """
    claim = text[start:end]
    found: list[tuple[Part, bool]] = [
        ((q.start, q.end, _kind(q.kind)), texts.has_quantity(q)) for q in quantities(claim)
    ]
    _add(found, ((e.start, e.end, "entity") for e in entities(claim) if e.kind not in _QUANTITIES), claim, texts)
    _add(found, ((n.start, n.end, "negation") for n in negations(claim)), claim, texts)
    _add(found, ((t.start, t.end, "term") for t in tokens(claim) if _says_something(t)), claim, texts)
    return [
        {
            "start": start + low,
            "end": start + high,
            "text": claim[low:high],
            "kind": kind,
            "support": float(supported or there),
        }
        for (low, high, kind), there in sorted(found)
    ]


def kinds_of(claim: str, parts: list[dict[str, Any]]) -> tuple[str, ...]:
    """What makes the claim serious when it is unsupported, as :class:`~workbench.evidence.judge.Claim` has it.

    ``number`` and ``date`` where one of them stands in no context; ``absolute`` where it allows no exception;
    ``entity`` where it names something.
    """
    weak = {part["kind"] for part in parts if part["support"] < 0.5}
    found = [name for name in ("number", "date") if name in weak]
    if absolutes(claim):
        found.append("absolute")
    if any(part["kind"] == "entity" for part in parts):
        found.append("entity")
    return tuple(found)


def _kind(kind: str) -> str:
    return "date" if kind in _DATES else "number"


def _add(found: list[tuple[Part, bool]], more: Iterable[Part], claim: str, texts: Texts) -> None:
    for start, end, kind in more:
        if not any(low < end and start < high for (low, high, _), _ in found):
            found.append(((start, end, kind), texts.has(claim[start:end])))


def _says_something(token: Token) -> bool:
    return normalise(token.text) not in stop_words() and any(c.isalnum() for c in token.text)
