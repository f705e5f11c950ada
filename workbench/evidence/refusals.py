"""Refusals read with the vectors of the embedded e5, beside the words.

``workbench.data.declining`` judges each clause of an answer by its words. Here a second softmax judges it by vectors:
the mean of the clause's word vectors, which know the rest of the answer, and the vector of the whole answer. Both are
taken from what the judge has encoded anyway. The two judgements are multiplied (their log-odds added), and what is left
and the answer as a whole are judged by models of the same form as the lexical ones, fitted on these clauses. Where the
question is known, so is a direct reading of the two vectors, answer and question, and of their product.

``coefficients/refusal_e5.json``, for each language: ``clause`` (``intercept``, and ``weights`` of declining and of
filling against stating, one for each dimension of the clause and then of the answer), ``rest``, ``whole``, ``asked`` and
``pair`` (``intercept``, and ``weights`` for each dimension of the answer, the question and their product). Written by
``python -m workbench.evidence.refusals_train``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.declining import Cut, Refusal, cut_clauses, refusal_of
from workbench.data.declining_features import folded, language_of
from workbench.data.declining_model import Clause, clause, tilted
from workbench.evidence.analysis import analyse
from workbench.evidence.vectors import TextVectors

Floats = NDArray[Any]

#: The direct reading of the vectors says at most this much, in log-odds.
PAIR_MOST = 8.0
#: Where the coefficients of the embedded e5 stand.
E5_FILE = "refusal_e5.json"


@dataclass(frozen=True)
class RefusalModel:
    """The models of refusals of one encoder, by language.

    ``dimension``: length of the encoder's vectors. ``version``: changes whenever the models were fitted anew.
    """

    dimension: int
    version: str
    tables: Mapping[str, Mapping[str, Any]]

    @cached_property
    def _heads(self) -> dict[str, tuple[Floats, Floats]]:
        """Intercepts (2,) and weights (2, 2 d) of each language."""
        clauses = {language: table["clause"] for language, table in self.tables.items()}
        return {name: (np.array(c["intercept"]), np.array(c["weights"])) for name, c in clauses.items()}

    def reads(self, vectors: TextVectors) -> bool:
        """Whether the models hold for such vectors."""
        return vectors.words is not None and len(vectors.text) == self.dimension

    def refusal(
        self,
        text: str,
        vectors: TextVectors,
        extra_phrases: Sequence[str] = (),
        question: str = "",
        asked: TextVectors | None = None,
    ) -> Refusal:
        """Whether ``text`` declines, and what it still states; see :func:`workbench.data.declining.refusal`.

        ``asked``: the vectors of the question, without which it is left aside.
        """
        cut = cut_clauses(text)
        judged = self.clauses(cut, clause_vectors(text, cut, vectors)) if cut else []
        if asked is None or not question.strip():
            return refusal_of(text, cut, judged, self.tables.__getitem__, extra_phrases)
        more = [self.pair(language_of(text), vectors.text, asked.text)]
        return refusal_of(text, cut, judged, self.tables.__getitem__, extra_phrases, question, more)

    def pair(self, language: str, answer: Floats, question: Floats) -> float:
        """Log-odds of a refusal by the vectors of answer and question alone, within ±:data:`PAIR_MOST`."""
        return pair_log_odds(*self._pairs[language], pair_row(answer, question))

    @cached_property
    def _pairs(self) -> dict[str, tuple[float, Floats]]:
        pairs = {language: table["pair"] for language, table in self.tables.items()}
        return {name: (float(p["intercept"]), np.array(p["weights"])) for name, p in pairs.items()}

    def clauses(self, cut: Cut, rows: Floats) -> list[Clause]:
        """What each clause does, by its words and its row of :func:`clause_vectors`."""
        judged = []
        for (span, _), row in zip(cut, rows, strict=True):
            level, weights = self._heads[language_of(folded(span.text))]
            declining, filling = level + weights @ row
            judged.append(tilted(clause(span.text), float(declining), float(filling)))
        return judged


def pair_log_odds(level: float, weights: Floats, row: Floats) -> float:
    """``level`` + ``weights`` · ``row``, within ±:data:`PAIR_MOST`."""
    return max(-PAIR_MOST, min(PAIR_MOST, level + float(weights @ row)))


def pair_row(answer: Floats, question: Floats) -> Floats:
    """(3 d,) float64: the vectors of answer and question, and their product times √d so that it is as large."""
    mine, theirs = answer.astype(np.float64), question.astype(np.float64)
    return np.concatenate([mine, theirs, mine * theirs * len(mine) ** 0.5])


def clause_vectors(text: str, cut: Cut, vectors: TextVectors) -> Floats:
    """(clauses, 2 d) float64: the mean word vector of each clause as a unit row, then the vector of the answer.

    A clause without words has zeros. ``vectors`` must have word vectors.
    """
    words, analysed = vectors.words, analyse(text)
    assert words is not None
    sums = np.array([words[analysed.words_between(s.start, s.end)].sum(axis=0) for s, _ in cut], dtype=np.float64)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    whole = np.broadcast_to(vectors.text.astype(np.float64), (len(cut), len(vectors.text)))
    return np.concatenate([sums / np.where(lengths > 0, lengths, 1.0), whole], axis=1)


@cache
def load_refusal_model(encoder: str | None) -> RefusalModel | None:
    """The models for the encoder of that name; None where there are none and words alone must do."""
    table = json.loads(resources.files(__package__).joinpath("coefficients", E5_FILE).read_text(encoding="utf-8"))
    if encoder not in table["encoders"]:
        return None
    return RefusalModel(int(table["dimension"]), str(table["version"]), table["languages"])
