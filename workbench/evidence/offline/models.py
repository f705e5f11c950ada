"""The calibrated models of the offline judge: logistic regressions whose coefficients are readable files.

``coefficients/<name>.toml`` holds one model for each question the judge answers, as trained by
:mod:`workbench.training.fit`. Every feature has a ``weight`` and the ``center`` and ``scale`` it is standardised
with, so that weights compare: p = 1 / (1 + exp(−(intercept + Σ weight · (x − center) / scale))).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.text.refusals import (
    Clause,
    Cut,
    Refusal,
    clause,
    cut_clauses,
    folded,
    model_language,
    refusal_of,
    with_log_odds,
)
from workbench.errors import WorkbenchError
from workbench.evidence.offline.vectors import TextVectors
from workbench.evidence.offline.words import analyse

if TYPE_CHECKING:
    from workbench.data.schema import Sample
    from workbench.evidence.encoders.base import Encoder
    from workbench.evidence.judge import SampleEvidence

# ------------------------------------------------------------------------------
# Refusals read with the vectors of the embedded e5, beside the words.
#
# ``workbench.data.text.refusals`` judges each clause of an answer by its words. Here a second softmax judges it by vectors:
# the mean of the clause's word vectors, which know the rest of the answer, and the vector of the whole answer. Both are
# taken from what the judge has encoded anyway. The two judgements are multiplied (their log-odds added), and what is left
# and the answer as a whole are judged by models of the same form as the lexical ones, fitted on these clauses. Where the
# question is known, so is a direct reading of the two vectors, answer and question, and of their product.
#
# ``coefficients/refusal_e5.json``, for each language: ``clause`` (``intercept``, and ``weights`` of refusing and of
# filling against stating, one for each dimension of the clause and then of the answer), ``rest``, ``whole``, ``asked`` and
# ``pair`` (``intercept``, and ``weights`` for each dimension of the answer, the question and their product). Written by
# ``python -m workbench.training.refusals_vectors``.


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
        """Whether ``text`` refuses, and what it still states; see :func:`workbench.data.text.refusals.refusal`.

        ``asked``: the vectors of the question, without which it is left aside.
        """
        cut = cut_clauses(text)
        judged = self.clauses(cut, clause_vectors(text, cut, vectors)) if cut else []
        if asked is None or not any(map(str.isalnum, question)):
            return refusal_of(text, cut, judged, self.tables.__getitem__, extra_phrases)
        more = [self.pair(model_language(text), vectors.text, asked.text)]
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
            level, weights = self._heads[model_language(folded(span.text))]
            refusing, filling = level + weights @ row
            judged.append(with_log_odds(clause(span.text), float(refusing), float(filling)))
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


# ------------------------------------------------------------------------------


#: The file for encoders that have none of their own.
LEXICAL_FILE = "lexical"


@dataclass(frozen=True)
class Logistic:
    """One logistic regression over named features."""

    names: tuple[str, ...]
    weight: NDArray[np.float64]
    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    intercept: float

    def probability(self, values: NDArray[Any], names: Sequence[str]) -> NDArray[np.float32]:
        """Probabilities in (0, 1) for rows of features.

        Parameters
        ----------
        values
            (…, f) features.
        names
            What the last axis holds; may hold more than the model needs, in any order.

        Raises
        ------
        WorkbenchError
            When a feature of the model is not among ``names``.
        """
        missing = [name for name in self.names if name not in names]
        if missing:
            raise WorkbenchError(f"the offline judge's model needs the feature {missing[0]!r}, which is not computed")
        chosen = values[..., [list(names).index(name) for name in self.names]].astype(np.float64)
        logit = self.intercept + ((chosen - self.center) / self.scale) @ self.weight
        return (1.0 / (1.0 + np.exp(-np.clip(logit, -30, 30)))).astype(np.float32)

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Logistic:
        """A model from its TOML table."""
        features = table["features"]
        weight, center, scale = (
            np.array([item[key] for item in features.values()], np.float64) for key in ("weight", "center", "scale")
        )
        return cls(tuple(features), weight, center, scale, float(table["intercept"]))


@dataclass(frozen=True)
class Coefficients:
    """The models of one encoder.

    Attributes
    ----------
    method
        How the judge names itself with them, e.g. ``offline-e5``.
    uses_tokens
        Whether they need token vectors.
    models
        ``support`` (claim and evidence in one script), ``support_across`` (in two), ``span`` (one part of a claim),
        ``relevance_question``, ``relevance_reference``, ``sentence_question``, ``sentence_reference``, ``relevancy``.
    random_pairs
        Evenly spaced quantiles of the cosines of random pairs, by kind of pair; empty when not known.
    version
        Changes whenever the file was trained anew; part of the judge's name.
    """

    method: str
    uses_tokens: bool
    models: Mapping[str, Logistic]
    version: str
    random_pairs: Mapping[str, NDArray[np.float64]]


def load_coefficients(encoder: str | None) -> Coefficients:
    """The coefficients for the encoder of that name, the lexical ones for None or an unknown encoder."""
    for name, table in coefficient_tables().items():
        if encoder is not None and encoder in table.get("encoders", ()):
            return _read(name)
    return _read(LEXICAL_FILE)


@cache
def coefficient_tables() -> dict[str, dict[str, Any]]:
    """The files of coefficients by name, as they are written."""
    folder = resources.files(__package__).joinpath("coefficients")
    found = sorted((item for item in folder.iterdir() if item.name.endswith(".toml")), key=lambda item: item.name)
    return {item.name.removesuffix(".toml"): tomllib.loads(item.read_text(encoding="utf-8")) for item in found}


@cache
def _read(name: str) -> Coefficients:
    table = coefficient_tables()[name]
    models = {key: Logistic.from_table(value) for key, value in table["models"].items()}
    pairs = {key: np.array(value, dtype=np.float64) for key, value in table.get("random_pairs", {}).items()}
    return Coefficients(table["method"], bool(table["uses_tokens"]), models, str(table["version"]), pairs)


def percentile(cosines: NDArray[Any], background: NDArray[np.float64]) -> NDArray[np.float32]:
    """Where cosines lie among those of random pairs, in [0, 1]; ``background`` = evenly spaced quantiles."""
    levels = np.linspace(0.0, 1.0, len(background))
    return np.interp(np.asarray(cosines, dtype=np.float64), background, levels).astype(np.float32)


def excess(cosines: NDArray[Any], background: NDArray[np.float64] | None) -> NDArray[np.float32]:
    """How far cosines lie above those of random pairs, 1 = as far as the 95th percentile lies above the median.

    Clipped to [-2, 5]; 0 for NaN and where no random pairs are known.
    """
    values = np.asarray(cosines, dtype=np.float64)
    if background is None:
        return np.zeros(values.shape, dtype=np.float32)
    levels = np.linspace(0.0, 1.0, len(background))
    middle, high = np.interp([0.5, 0.95], levels, background)
    scaled = np.clip((values - middle) / max(high - middle, 1e-6), -2.0, 5.0)
    return np.where(np.isnan(scaled), 0.0, scaled).astype(np.float32)


def write_table(name: str, model: Logistic) -> str:
    """A model as TOML text, the heaviest feature first, six significant digits."""
    order = np.argsort(-np.abs(model.weight), kind="stable")
    lines = [f"[models.{name}]", f"intercept = {model.intercept:.6g}", "", f"[models.{name}.features]"]
    for at in order:
        values = f"weight = {model.weight[at]:.6g}, center = {model.center[at]:.6g}, scale = {model.scale[at]:.6g}"
        lines.append(f"{model.names[at]} = {{ {values} }}")
    return "\n".join([*lines, ""])


# ------------------------------------------------------------------------------
# Similarity of an answer and its reference, on one scale for every encoder and every judge.
#
# Raw cosines mean nothing (e5's lie in 0.80–0.92), so the cosine is said as a percentile among those of unrelated texts.


class AnswerSimilarity:
    """Percentile in [0, 1] of a cosine among those of unrelated texts under one encoder.

    Parameters
    ----------
    encoder
        What the vectors come from; None: every cosine is its own percentile.
    known
        Evenly spaced quantiles of the cosines of random pairs of answer and reference; default those of the encoder's
        coefficients, else the cosines between the sentences of ``unrelated.txt``.
    """

    def __init__(self, encoder: Encoder | None, known: NDArray[Any] | None = None) -> None:
        self.encoder = encoder
        self._known = known

    def of(self, cosine: float) -> float:
        """The percentile of ``cosine``."""
        return float(percentile(np.array(cosine), self.background))

    def compare(self, evidence: SampleEvidence, sample: Sample) -> None:
        """Set the similarity of answer and reference in ``evidence``, when there are both."""
        if self.encoder is None or not sample.answer or not sample.reference or evidence.state != "ok":
            return
        answer, reference = self.encoder.encode([sample.answer, sample.reference], "passage")
        evidence.answer_similarity = self.of(float(answer @ reference))
        evidence.missing.pop("similarity", None)

    @cached_property
    def background(self) -> NDArray[Any]:
        """Evenly spaced quantiles of the cosines of unrelated texts."""
        known = self._known
        if known is None and self.encoder is not None:
            known = load_coefficients(self.encoder.name).random_pairs.get("answer_reference")
        if known is not None or self.encoder is None:
            return np.array([0.0, 1.0]) if known is None else known
        lines = resources.files(__package__).joinpath("unrelated.txt").read_text(encoding="utf-8").splitlines()[1:]
        rows, half = self.encoder.encode(lines, "passage"), len(lines) // 2
        pairs = [part @ part.T for part in (rows[:half], rows[half:])]
        cosines = np.concatenate([values[np.triu_indices(half, 1)] for values in pairs])
        return np.quantile(cosines.astype(np.float64), np.linspace(0.0, 1.0, 21))
