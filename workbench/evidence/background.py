"""How similar unrelated texts are to an encoder: the yardstick for every similarity that is shown.

Absolute cosines mean nothing: those of unrelated texts lie around 0.80 for e5, around 0 for character n-grams, and
higher between two texts of one language than across languages. A similarity is therefore read as its percentile among
random pairs of the same encoder and the same languages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.evidence.embed import Encoder, Kind

#: Distinct texts encoded of each side, at most: enough for thousands of different pairs.
SAMPLE_TEXTS = 400


def random_pair_similarities(
    encoder: Encoder,
    texts: Sequence[str],
    n: int = 2000,
    seed: int = 0,
    *,
    others: Sequence[str] | None = None,
    kind: Kind = "passage",
    other_kind: Kind = "passage",
) -> np.ndarray:
    """Sorted cosines, float32, of ``n`` random pairs of different texts.

    Parameters
    ----------
    encoder
        Best a ``CachedEncoder``.
    texts
        One side of the pairs, repeated ones counted once; at most ``SAMPLE_TEXTS`` of them, drawn at random, are used.
    n
        Number of pairs, drawn with replacement.
    seed
        The same seed over the same texts, in any order, gives the same pairs.
    others
        The other side (e.g. documents where ``texts`` are questions); default: ``texts`` themselves.
    kind, other_kind
        How each side is encoded.

    Returns
    -------
    array (n,) ascending; empty when there are no two different texts.
    """
    random = np.random.default_rng(seed)
    left = _sample(texts, random)
    right = left if others is None else _sample(others, random)
    rows, columns = _pairs(left, right, n, random)
    if not len(rows):
        return np.empty(0, dtype=np.float32)
    a = encoder.encode(left, kind)
    b = a if right is left and kind == other_kind else encoder.encode(right, other_kind)
    return np.sort(np.einsum("ij,ij->i", a[rows], b[columns])).astype(np.float32)


def backgrounds_by_language(
    encoder: Encoder,
    texts: Sequence[str],
    languages: Sequence[str],
    *,
    others: Sequence[str] | None = None,
    other_languages: Sequence[str] | None = None,
    **options: Any,
) -> dict[tuple[str, str], np.ndarray]:
    """:func:`random_pair_similarities` for each pair (language of a text, language of an other).

    ``languages`` and ``other_languages`` run beside ``texts`` and ``others``; ``options`` are passed on. Pairs of
    languages without two different texts are left out.
    """
    left = _by_language(texts, languages)
    right = left if others is None else _by_language(others, other_languages or [])
    found = {
        (one, other): random_pair_similarities(encoder, left[one], others=right[other], **options)
        for one in sorted(left)
        for other in sorted(right)
    }
    return {pair: values for pair, values in found.items() if len(values)}


def percentile(similarity: Any, background: np.ndarray) -> Any:
    """Where a similarity lies among random pairs: 0–100, half of the ties counted below.

    Parameters
    ----------
    similarity
        A number or an array of any shape; NaN stays NaN.
    background
        Sorted, from :func:`random_pair_similarities`.

    Returns
    -------
    A float for a number, else a float64 array of the same shape; NaN where the background is empty.
    """
    values = np.asarray(similarity, dtype=np.float64)
    if not len(background):
        ranks = np.full(values.shape, np.nan)
    else:
        below = np.searchsorted(background, values.astype(background.dtype), side="left")
        upto = np.searchsorted(background, values.astype(background.dtype), side="right")
        ranks = np.where(np.isnan(values), np.nan, 50.0 * (below + upto) / len(background))
    return float(ranks) if np.ndim(similarity) == 0 else ranks


def _sample(texts: Sequence[str], random: np.random.Generator) -> list[str]:
    """At most ``SAMPLE_TEXTS`` distinct texts; the order they came in does not matter."""
    distinct = sorted(set(texts))
    if len(distinct) <= SAMPLE_TEXTS:
        return distinct
    return [distinct[i] for i in np.sort(random.choice(len(distinct), SAMPLE_TEXTS, replace=False))]


def _pairs(
    left: Sequence[str], right: Sequence[str], n: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Positions of ``n`` pairs whose texts differ; fewer than ``n`` only when there is no such pair at all."""
    if len(set(left) | set(right)) < 2 or not left or not right:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    place = {text: i for i, text in enumerate(right)}
    same = np.array([place.get(text, -1) for text in left])
    rows = random.integers(0, len(left), 4 * n)
    columns = random.integers(0, len(right), 4 * n)
    # A text and itself: the neighbour instead, so that two texts are enough.
    columns = np.where(columns == same[rows], (columns + 1) % len(right), columns)
    keep = np.flatnonzero(columns != same[rows])[:n]
    return rows[keep], columns[keep]


def _by_language(texts: Sequence[str], languages: Sequence[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for text, language in zip(texts, languages, strict=True):
        groups.setdefault(language, []).append(text)
    return groups
