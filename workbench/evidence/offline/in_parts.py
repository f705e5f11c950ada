"""Claims that no single sentence tells but the contexts together do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.data.text.normalise import HAN_CHARACTER
from workbench.evidence.offline.features import claim_negations, codes_of, holds_code
from workbench.evidence.offline.words import NAME, NUMBER, TERM, Floats

if TYPE_CHECKING:
    from workbench.evidence.offline.examination import Examination

#: Support of a claim that the contexts tell in parts: all in one run but for words of the question, or in two runs; and how
#: far a word must stand in a sentence for that.
PARTS, PARTS_BROKEN, HELD = 0.7, 0.6, 0.6
#: Rarity of the words that such a claim may have beside, "year" or "ahead", and their share of its rarity.
COMMON, COMMON_SHARE = 0.6, 0.12
#: Rarity from which a word that two contexts share links them.
LINKING = 0.5


def tell_in_parts(seen: Examination, number: int, entail: Floats) -> None:
    """Raise the support (in place) of a claim of the answer that no single sentence tells but the contexts together do.

    Two documents put together, or the question repeated around a value: every content word stands in a context (but
    for few that the question says, or common ones); those that it does not say follow one another as they do there,
    with at most one break; no sign is against it.
    """
    claim, rows, end = seen.claims[number], seen.grid.rows[number], int(seen.grid.offsets[seen.n_contexts])
    if seen.spans[number].side != "answer" or not end or entail[: seen.n_contexts + len(seen.joints)].max() >= 0.5:
        return
    content = np.flatnonzero(seen.grid.weight[rows] > 0)
    held = seen.grid.present[rows][content, :end] >= HELD
    kind = seen.grid.kind[rows][content]
    places = (claim.words.start + content).tolist()
    said = [claim.source.folded[claim.source.starts[at] : claim.source.ends[at]] for at in places]
    # The segmenter may cut the words of an unspaced question another way.
    glued = [len(word) > 1 and HAN_CHARACTER.match(word) is not None and word in seen.question.folded for word in said]
    asked = (np.isin(seen.grid.ids[rows][content], seen.question.ids) | np.array(glued, dtype=bool)) & (kind != NUMBER)
    lacking = np.asarray(~held.any(axis=1), dtype=bool)
    weight = seen.grid.weight[rows][content]
    common = lacking & ~asked & (kind == TERM) & (weight <= COMMON)
    if weight[common].sum() <= COMMON_SHARE * weight.sum():
        content, held, kind, asked, lacking = (x[~common] for x in (content, held, kind, asked, lacking))
    # Values alone, one for each part of the question, need not stand together.
    values = bool(len(content)) and bool(np.isin(kind, (NUMBER, NAME)).all())
    foreign = lacking & (kind == NAME) & (seen.grid.present[rows][content, :end].max(axis=1) < 0.4)
    # Where all that is new is a name or a number, the question may be said in other words than the contexts.
    spared = 0.5 if (~asked).any() and np.isin(kind[~asked], (NUMBER, NAME)).all() else 0.34
    if (len(content) < 3 and not values) or lacking[~asked].any() or foreign.any() or lacking.sum() > spared * asked.sum():
        return
    texts = [text.folded for text in seen.texts[: seen.n_contexts]]
    if any(not any(holds_code(text, code) for text in texts) for code in codes_of(claim)):
        return
    if any(number == claimed and at < seen.n_contexts for claimed, at in seen.signs):
        return
    fresh = held[~asked]
    broken, throughout = (int((~(row[:-1] & row[1:]).any(axis=1)).sum()) for row in (fresh, held))
    negated = len(claim_negations(claim))
    if not len(fresh) or (not values and (broken > 1 or (broken and len(fresh) < 4 and throughout > 1))):
        return
    resting = np.flatnonzero(fresh.sum(axis=0) >= max(1.0, (0.0 if values else 0.4) * len(fresh)))
    if negated and not seen.grid.negations[resting].any():
        return
    owners = np.unique(seen.grid.owners(resting))
    rare = seen.grid.weight[rows][content]
    about = asked & ~lacking & ((kind == NAME) | (rare >= 0.9))
    if not values and not (
        _joined(seen, held[rare > LINKING], fresh, held[about], owners)
        or _each_asked(seen, held[asked & (rare > LINKING)], fresh)
    ):
        return
    entail[owners] = np.maximum(entail[owners], PARTS_BROKEN if broken else PARTS)


def _joined(seen: Examination, held: Any, fresh: Any, named: Any, owners: Any) -> bool:
    """Whether contexts that hold what is new hang together, and hold a name or rare word of the question where it has one:
    two do that have a telling word of the claim in common (what one calls the maker the other places in a town)."""
    of = seen.grid.owners(np.arange(held.shape[1]))
    words, new, names = (
        np.stack([row[:, of == at].any(axis=1) for at in range(seen.n_contexts)], axis=1) for row in (held, fresh, named)
    )
    for first in owners.tolist():
        reached = np.arange(seen.n_contexts) == first
        for _ in range(2):
            reached |= words[words[:, reached].any(axis=1)].any(axis=0)
        if new[:, reached].any(axis=1).all() and (not len(names) or names[:, reached].any()):
            return True
    return False


def _each_asked(seen: Examination, asked: Any, fresh: Any) -> bool:
    """Whether each context that is needed for what is new holds a telling word of the question that no other one does:
    the parts of a question, answered from one context each."""
    of = seen.grid.owners(np.arange(asked.shape[1]))
    words, new = (
        np.stack([row[:, of == at].any(axis=1) for at in range(seen.n_contexts)], axis=1) for row in (asked, fresh)
    )
    own = words[words.sum(axis=1) == 1].any(axis=0)
    return bool(own.any()) and bool(new[:, own].any(axis=1).all())
