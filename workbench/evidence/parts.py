"""The parts of a claim, each with support of its own, so that one wrong word in a long sentence is named."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.markers import absolutes
from workbench.data.quantities import Quantity
from workbench.evidence.alignment import Alignment
from workbench.evidence.analysis import FUNCTION, NAME, NUMBER
from workbench.evidence.features import ClaimWords, Grid, Windows, quantities_of
from workbench.evidence.support import Logistic

Floats = NDArray[np.float32]

#: What is known of a word of a claim in the window that supports the claim best. Alignments are 0 without token vectors.
SPAN = (
    "present",  # how far the window holds it
    "spelling",  # share of its character grams that one sentence holds
    "in_best_sentence",  # how far the best sentence of the window holds it
    "rarity",  # weight in the language, in [0, 1]
    "number",  # 1 for a word of a number or date
    "name",  # 1 for a word of a name
    "neighbours",  # mean presence of the content words next to it, in the best sentence
    "alignment",  # nearest word of the window
    "relational",  # the same near its neighbours
    "claim_cover",  # rarity-weighted share of the claim that the window holds
)

_DATES = ("date", "time")


def span_features(
    grid: Grid, alignment: Alignment | None, row: int, spans: Windows, window: int, cover: Floats
) -> Floats:
    """(m, len(SPAN)) float32 for the words of one claim; ``cover`` (s,) says how much each sentence holds of it."""
    rows = grid.rows[row]
    inside = slice(int(spans.first[window]), int(spans.last[window]))
    best = inside.start + int(np.argmax(cover[inside]))
    present, weight, kind = grid.present[rows], grid.weight[rows], grid.kind[rows]
    out = np.zeros((rows.stop - rows.start, len(SPAN)), dtype=np.float32)
    if not len(out):
        return out
    out[:, 0] = present[:, inside].max(axis=1)
    out[:, 1] = grid.spelt[rows][:, inside].max(axis=1)
    out[:, 2] = present[:, best]
    out[:, 3] = weight
    out[:, 4] = kind == NUMBER
    out[:, 5] = kind == NAME
    out[:, 6] = _neighbours(present[:, best], weight)
    if alignment is not None:
        out[:, 7] = alignment.plain[rows][:, inside].max(axis=1)
        out[:, 8] = alignment.relational[rows][:, inside].max(axis=1)
    out[:, 9] = float(weight @ out[:, 0]) / max(float(weight.sum()), 1e-6)
    return out


def _neighbours(present: Floats, weight: Floats) -> Floats:
    """Mean presence of the content words before and after each word; 1 where there are none."""
    content = np.flatnonzero(weight > 0)
    if not len(content):
        return np.ones(len(present), dtype=np.float32)
    before = np.searchsorted(content, np.arange(len(present))) - 1
    after = np.searchsorted(content, np.arange(len(present)), side="right")
    has_before, has_after = before >= 0, after < len(content)
    total = np.where(has_before, present[content[before]], 0.0)
    total += np.where(has_after, present[content[np.minimum(after, len(content) - 1)]], 0.0)
    count = has_before.astype(np.float32) + has_after
    return np.where(count > 0, total / np.maximum(count, 1.0), 1.0).astype(np.float32)


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
    names = [n for n in claim.source.names if n.start >= claim.start and n.end <= claim.end]
    _add(found, [(n.start, n.end, "entity") for n in names])
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
    """Add the spans that overlap none of those found before."""
    for start, end, name in more:
        if not any(low < end and start < high for low, high, _ in found):
            found.append((start, end, name))


def _number_kind(quantity: Quantity) -> str:
    return "date" if quantity.kind in _DATES else "number"


def _lowest(claim: ClaimWords, support: Floats, start: int, end: int) -> float:
    """Mean support of the content words of a part (of all its words when it has no content word)."""
    words = claim.source.words_between(start, end)
    inside = slice(words.start - claim.words.start, max(words.start, words.stop) - claim.words.start)
    values = support[inside]
    content = values[claim.source.weight[claim.words][inside] > 0]
    chosen = content if len(content) else values
    return round(float(chosen.mean()), 6) if len(chosen) else 0.5


def word_support(model: Logistic, features: Floats) -> Floats:
    """(m,) calibrated support of the words of a claim."""
    return model.probability(features, SPAN)


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
