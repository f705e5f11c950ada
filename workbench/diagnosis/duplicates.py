"""Near-duplicates: documents that say nearly the same in nearly the same words, and so take each other's places.

Two documents are near-duplicates when the Dice coefficient of their sets of index terms is at least :data:`NEAR`. Pages
for other years, sites or plans made from one template lie above it; different passages of one page lie well below.
Words decide, not vectors: the cosines of unrelated passages of one topic are as high as those of copies.
"""

from __future__ import annotations

from collections.abc import Sequence

#: Smallest Dice coefficient of two near-duplicates.
NEAR = 0.5
#: Documents of fewer terms are near-duplicates only when their terms are the same.
FEW = 5


def dice(one: frozenset[str], other: frozenset[str]) -> float:
    """2 |A ∩ B| / (|A| + |B|) in [0, 1]; 0 when both are empty."""
    total = len(one) + len(other)
    return 2 * len(one & other) / total if total else 0.0


def near(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two documents, as sets of their terms, are near-duplicates."""
    if min(len(one), len(other)) < FEW:
        return bool(one) and one == other
    return dice(one, other) >= NEAR


def copies(ahead: Sequence[frozenset[str]], document: frozenset[str]) -> list[bool]:
    """Which of the documents ``ahead``, in order, are copies: of ``document``, or of one that came earlier.

    Without the copies, ``document`` would stand as many places higher.
    """
    firsts: list[frozenset[str]] = [document]
    found = []
    for terms in ahead:
        copy = any(near(terms, first) for first in firsts)
        found.append(copy)
        if not copy:
            firsts.append(terms)
    return found
