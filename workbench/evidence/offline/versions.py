"""Which of several contexts are out of date, as they or the others say.

"Price list 2022, valid until 31 March 2024" beside "this list replaces all earlier ones": an answer that follows the first is
not borne out where the second says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.evidence.offline.words import Analysis
from workbench.language import pattern

#: Characters at the beginning of a text that say of what version it is.
_HEAD = 160


def out_of_date(question: Analysis, texts: Sequence[Analysis]) -> NDArray[np.bool_]:
    """(texts,) whether a text says at its beginning that it holds no longer, or another one that it replaces the earlier ones;
    none where all would be, or where the question asks for an earlier state."""
    none = np.zeros(len(texts), dtype=bool)
    if len(texts) < 2 or pattern("offline", "«asks_earlier»").search(question.folded):
        return none
    replacing = np.array([pattern("offline", "«replaces»").search(text.folded) is not None for text in texts], dtype=bool)
    past = [pattern("offline", "«outdated»").search(text.folded, 0, _HEAD) is not None for text in texts]
    found = np.array(past, dtype=bool) & ~replacing
    if not found.any() and replacing.sum() == 1:
        found = ~replacing
    return none if found.all() else found
