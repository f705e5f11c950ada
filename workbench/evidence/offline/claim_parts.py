"""The parts of a claim, each with support of its own, so that one wrong word in a long sentence is named."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.text.markers import absolutes
from workbench.data.text.quantities import Quantity
from workbench.evidence.offline.alignment import Alignment
from workbench.evidence.offline.grid import ClaimWords, Grid, Windows, names_of, quantities_of
from workbench.evidence.offline.models import Logistic
from workbench.evidence.offline.words import DATES, FUNCTION, NAME, NUMBER, Floats

#: What is known of a word of a claim in the window that supports the claim best; alignments are 0 without vectors.
SPAN = (
    "present",  # how far the window holds it
    "lacking",  # (1 - present) x rarity: a common word that is absent does little harm
    "displaced",  # how far the window holds it, but in no sentence beside a neighbour of the claim, x rarity
    "name_lacking",  # (1 - present) for a word of a name
    "spelling",  # share of its character grams that one sentence holds
    "alignment",  # nearest word of the window
    "relational",  # the same near its neighbours
)
#: Support of a number: beside a neighbour of the claim, elsewhere in the window, absent (wrong in nine cases of ten).
NUMBER_SUPPORT = (0.97, 0.85, 0.06)

#: Content words to each side that count as the neighbours of a word.
_REACH = 2


def span_features(grid: Grid, alignment: Alignment | None, row: int, spans: Windows, window: int) -> Floats:
    """(m, len(SPAN)) float32 for the words of one claim in one window."""
    rows = grid.rows[row]
    inside = slice(int(spans.first[window]), int(spans.last[window]))
    out = np.zeros((rows.stop - rows.start, len(SPAN)), dtype=np.float32)
    if not len(out):
        return out
    weight = grid.weight[rows]
    present = grid.present[rows][:, inside].max(axis=1)
    out[:, 0] = present
    out[:, 1] = (1.0 - present) * weight
    out[:, 2] = (present - _beside(grid.present[rows][:, inside], weight)) * weight
    out[:, 3] = (1.0 - present) * (grid.kind[rows] == NAME)
    out[:, 4] = grid.spelt[rows][:, inside].max(axis=1)
    if alignment is not None:
        out[:, 5] = alignment.plain[rows][:, inside].max(axis=1)
        out[:, 6] = alignment.relational[rows][:, inside].max(axis=1)
    return out


def _beside(present: Floats, weight: Floats) -> Floats:
    """(m,) how far a sentence holds each word together with one of its content neighbours (two to each side)."""
    content = np.flatnonzero(weight > 0)
    result = present.max(axis=1)
    if len(content) < 2:
        return result
    mine = present[content]
    near = np.zeros_like(mine)
    for step in range(1, min(_REACH, len(content) - 1) + 1):
        np.maximum(near[step:], mine[:-step], out=near[step:])
        np.maximum(near[:-step], mine[step:], out=near[:-step])
    result[content] = np.minimum(mine, near).max(axis=1)
    return result


def word_support(model: Logistic, features: Floats, kind: NDArray[np.int8]) -> Floats:
    """(m,) calibrated support of the words of a claim; those of numbers by whether the number is there."""
    support = model.probability(features, SPAN)
    here, elsewhere, absent = NUMBER_SUPPORT
    number = np.where(features[:, 0] < 0.5, absent, np.where(features[:, 2] > 0.0, elsewhere, here))
    return np.where(kind == NUMBER, number, support).astype(np.float32)


def claim_parts(claim: ClaimWords, support: Floats, negation_support: float) -> list[dict[str, Any]]:
    """Numbers, dates, names, negations and content words of a claim, in order, without overlaps.

    Parameters
    ----------
    support
        (m,) support of each word of the claim.
    negation_support
        Support of its negations.
    """
    text = claim.source.text
    found: list[tuple[int, int, str]] = [(q.start, q.end, _number_kind(q)) for q in quantities_of(claim)]
    _add(found, [(n.start, n.end, "entity") for n in names_of(claim)])
    within = [span for span in claim.source.negation_spans.tolist() if claim.start <= span[0] and span[1] <= claim.end]
    negated = [(start, end, "negation") for start, end in within]
    _add(found, negated)
    words = range(claim.words.start, claim.words.stop)
    starts, ends, kind = claim.source.starts, claim.source.ends, claim.source.kind
    _add(found, [(int(starts[at]), int(ends[at]), "term") for at in words if kind[at] != FUNCTION])
    parts = []
    for start, end, name in sorted(found):
        value = negation_support if name == "negation" else _lowest(claim, support, start, end)
        parts.append({"start": start, "end": end, "text": text[start:end], "kind": name, "support": value})
    return parts


def _add(found: list[tuple[int, int, str]], more: list[tuple[int, int, str]]) -> None:
    """Add the spans that overlap none of those found before; linear in the text, which can be a million words long."""
    taken = bytearray(max((end for _, end, _ in (*found, *more)), default=0))
    for start, end, _ in found:
        taken[start:end] = b"\1" * (end - start)
    for start, end, name in more:
        if not any(taken[start:end]):
            taken[start:end] = b"\1" * (end - start)
            found.append((start, end, name))


def _number_kind(quantity: Quantity) -> str:
    return "date" if quantity.kind in DATES else "number"


def _lowest(claim: ClaimWords, support: Floats, start: int, end: int) -> float:
    """Mean support of the content words of a part (of all its words when it has no content word)."""
    words = claim.source.words_between(start, end)
    inside = slice(words.start - claim.words.start, max(words.start, words.stop) - claim.words.start)
    values = support[inside]
    content = values[claim.source.weight[claim.words][inside] > 0]
    chosen = content if len(content) else values
    return round(float(chosen.mean()), 6) if len(chosen) else 0.5


def serious_kinds(claim: ClaimWords, parts: list[dict[str, Any]], cut: float = 0.5) -> tuple[str, ...]:
    """What makes the claim serious when it is unsupported.

    ``number`` and ``date`` where one of them is itself below ``cut``; ``absolute`` where it allows no exception;
    ``entity`` where it names something.
    """
    weak = {part["kind"] for part in parts if part["support"] < cut}
    found = [name for name in ("number", "date") if name in weak]
    if absolutes(claim.source.text[claim.start : claim.end]):
        found.append("absolute")
    if any(part["kind"] == "entity" for part in parts):
        found.append("entity")
    return tuple(found)


