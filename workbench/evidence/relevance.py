"""How far a context helps to produce the reference or answer the question, and whether an answer addresses it.

The question (or the reference) is laid over the contexts like a claim; names, order and rarity count as they do for
support. Similarities are taken relative to random pairs, since an absolute cosine means nothing. The models and their
coefficients come from :mod:`workbench.evidence.support`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.quantities import quantities
from workbench.data.text import normalise
from workbench.evidence.analysis import FUNCTION, NAME, NUMBER, Analysis
from workbench.evidence.features import LEXICAL, sentence_cover
from workbench.evidence.grid import ClaimWords, Grid

if TYPE_CHECKING:
    from workbench.evidence.examination import Examination

Floats = NDArray[Any]

#: Features of a pair (question, text).
QUESTION = ("gram_cover", "word_cover", "sentence_cover", "name_cover", "pair_cover", "similarity")
#: Features of a pair (reference, text), with those of the question.
REFERENCE = ("entail", "reference_cover", "reference_sentence_cover", "reference_names", *QUESTION)
#: Features of a sentence of a context.
SENTENCE = ("question_cover", "question_similarity", "reference_cover", "length")
#: Features of a pair (question, answer).
RELEVANCY = ("question_cover", "similarity", "type_fits", "type_misses", "bare", "length", "across")

_TYPES: Sequence[tuple[str, re.Pattern[str]]] = (
    (
        "count",
        re.compile(r"\bhow (?:many|much|old|long|far|often|tall|large|big|high)\b|多少|几(?!乎|何)|多[大长久远高快]"),
    ),
    (
        "time",
        re.compile(
            r"\bwhen\b|\bwhat (?:year|date|month|day|time|century|decade)\b|\bwhich year\b"
            r"|什么时候|何时|哪一?年|哪天|几月|时间"
        ),
    ),
    ("name", re.compile(r"\b(?:who|whom|whose|where|which)\b|谁|哪里|哪儿|何处|哪[个位家些一]|什么(?:名|人|地方)")),
    (
        "polar",
        re.compile(
            r"^(?:is|are|was|were|do|does|did|can|could|may|will|would|should|has|have)\\b"
            r"|是否|能否|吗[？?]?$|可不可以|能不能|是不是|有没有"
        ),
    ),
)
_POLAR_ANSWER = re.compile(r"^(?:yes|no|not|never|是|否|不|可以|能|会|有|没有|支持|不支持|对)")


@lru_cache(maxsize=8192)
def question_type(question: str) -> str:
    """``count``, ``time``, ``name``, ``polar`` or ``open``: what kind of answer a question asks for."""
    folded = normalise(question)
    return next((name for name, pattern in _TYPES if pattern.search(folded)), "open")


def type_fit(question: str, answer: Analysis) -> tuple[float, float]:
    """(fits, misses): whether the answer has what the type of question asks for; (0, 0) for open questions."""
    kind = question_type(question)
    if kind == "open":
        return 0.0, 0.0
    if kind == "count":
        has = bool(answer.quantities)
    elif kind == "time":
        has = any(q.kind in ("date", "time", "duration", "number", "ordinal") for q in answer.quantities)
    elif kind == "polar":
        has = _POLAR_ANSWER.search(normalise(answer.text)) is not None or len(answer.ids) > 3
    else:
        has = bool((answer.kind == NAME).any()) or bool(len(answer.ids) <= 4 and (answer.kind != NUMBER).any())
    return float(has), float(not has)


def relevancy_features(question: ClaimWords, answer: Analysis, similarity: float) -> Floats:
    """(len(RELEVANCY),) float32 for one question and answer.

    ``similarity``: how far theirs exceeds that of random pairs, 0 without an encoder.
    """
    fits, misses = type_fit(question.source.text, answer)
    content = int((answer.kind != FUNCTION).sum())
    across = float(question.source.han != answer.han and len(answer.ids) > 0 and not _neutral(answer))
    values = [_cover(question, answer), similarity, fits, misses, float(content <= 4), np.log1p(content), across]
    return np.array(values, dtype=np.float32)


def context_features(lexical: Floats, owner: NDArray[np.int64], entail: Floats, similarity: Floats) -> Floats:
    """(T, len(REFERENCE)) float32; what concerns the reference is 0 without one.

    Parameters
    ----------
    lexical
        (1 or 2, w, len(LEXICAL)): rows of the question and of the reference, for the windows of the contexts.
    owner
        (w,) the context of each window.
    entail
        (m, T) support of the claims of the reference.
    similarity
        (T,) how far the similarity of the question and each context exceeds that of random pairs.
    """
    out = np.zeros((len(similarity), len(REFERENCE)), dtype=np.float32)
    if not len(similarity) or not len(owner):
        return out
    firsts = np.flatnonzero(np.diff(owner, prepend=-1))
    best = np.maximum.reduceat(lexical, firsts, axis=1)
    at = owner[firsts]
    if len(lexical) > 1:
        out[:, 0] = entail.max(axis=0, initial=0.0)
        out[at, 1:4] = best[1][:, [_COVER, _SENTENCE, _NAMES]]
    out[at, 4:9] = best[0][:, [_GRAMS, _COVER, _SENTENCE, _NAMES, _PAIRS]]
    out[:, 9] = similarity
    return out


_GRAMS, _COVER, _SENTENCE, _NAMES, _PAIRS = map(
    LEXICAL.index, ("gram_cover", "word_cover", "sentence_cover", "name_cover", "pair_cover")
)


def sentence_features(question: Floats, similarity: Floats, reference: Floats, lengths: NDArray[np.int64]) -> Floats:
    """(s, len(SENTENCE)) float32.

    Parameters
    ----------
    question, reference
        (s,) rarity-weighted share of the content words of the question and of the reference in each sentence.
    similarity
        (s,) how far the similarity with the question exceeds that of random pairs, 0 without token vectors.
    lengths
        (s,) words.
    """
    return np.stack([question, similarity, reference, np.log1p(lengths)], axis=1).astype(np.float32)


def _cover(question: ClaimWords, answer: Analysis) -> float:
    """Rarity-weighted share of the question's content words that the answer holds."""
    grid = Grid([question], [answer])
    total = float(grid.weight.sum())
    return float(grid.weight @ grid.present.max(axis=1, initial=0.0)) / total if total > 0 else 0.0


def _neutral(text: Analysis) -> bool:
    """Whether a text is only numbers and names, which belong to no language."""
    return bool(np.isin(text.kind, (NUMBER, NAME)).all())


def across(seen: Examination) -> NDArray[np.bool_]:
    """(T,) whether the question and each context are in different scripts, so that words cannot be compared."""
    return np.array([text.han != seen.question.han for text in seen.texts[: seen.n_contexts]], dtype=bool)


def features_of(seen: Examination, similarity: Floats) -> Floats:
    """:func:`context_features` of an examined sample; ``similarity`` (T,) relative to random pairs."""
    n, among = len(seen.claims), seen.windows.owner < seen.n_contexts
    reference = [at for at, span in enumerate(seen.spans) if span.side == "reference"]
    entail = seen.by_text[0][reference][:, : seen.n_contexts]
    return context_features(seen.lexical[n:, among], seen.windows.owner[among], entail, similarity)


def sentence_features_of(seen: Examination, similarity: Floats) -> Floats:
    """:func:`sentence_features` of all sentences of the contexts of an examined sample."""
    n, end = len(seen.claims), int(seen.grid.offsets[seen.n_contexts])
    question = sentence_cover(seen.grid, n)[:end]
    reference = np.zeros_like(question) if seen.reference is None else sentence_cover(seen.grid, n + 1)[:end]
    return sentence_features(question, similarity[:end], reference, seen.grid.lengths[:end])


#: A comma parts values too, but not the digits of a number nor a date from its year.
_VALUES = re.compile(r"\s*(?:[;；、]|[,，](?!\d)(?!\s*\d{4}\b))\s*")


@lru_cache(maxsize=8192)
def bare_values(reference: str) -> tuple[tuple[int, int], ...]:
    """Offsets of the values of a reference that is a bare value or values parted by ``; ； 、 ,``; empty otherwise.

    A value is a short phrase: a number with its unit, a name, a date; what has a verb or a full stop is a statement.
    Punctuation alone is neither.
    """
    spans = []
    at = 0
    for match in [*_VALUES.finditer(reference), None]:
        end = match.start() if match else len(reference)
        piece = reference[at:end].strip()
        if piece and not all(unicodedata.category(character)[0] in "PZC" for character in piece):
            start = reference.index(piece, at)
            spans.append((start, start + len(piece)))
        at = match.end() if match else end
    if spans and all(_is_value(reference[start:end]) for start, end in spans):
        return tuple(spans)
    return ()


_STATEMENT = re.compile(
    r"[。！？!?，,：:]|\.\s|\.$|\b(?:is|are|was|were|be|has|have|had|can|will|must|should|may|do|does|did|not|because)\b"
)
_CHINESE_STATEMENT = re.compile("[是有为在会能将可被应须不]|由.{1,8}(?:负责|决定|组成)")


def _is_value(piece: str) -> bool:
    found = quantities(piece)
    if len(found) == 1 and len(found[0].text) >= 0.6 * len(piece):
        return True
    if _STATEMENT.search(piece.rstrip(".。")):
        return False
    if re.search("[\u4e00-\u9fff]", piece):
        return len(piece) <= 10 and not _CHINESE_STATEMENT.search(piece)
    return len(piece.split()) <= 5
