"""The calibrated models of the offline judge: logistic regressions whose coefficients are readable files.

``coefficients/<name>.toml`` holds one model for each question the judge answers, as trained by
:mod:`workbench.evidence.train`. Every feature has a ``weight`` and the ``center`` and ``scale`` it is standardised
with, so that weights compare: p = 1 / (1 + exp(−(intercept + Σ weight · (x − center) / scale))).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import WorkbenchError

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
    for name, table in _files().items():
        if encoder is not None and encoder in table.get("encoders", ()):
            return _read(name)
    return _read(LEXICAL_FILE)


@cache
def _files() -> dict[str, dict[str, Any]]:
    folder = resources.files(__package__).joinpath("coefficients")
    found = sorted((item for item in folder.iterdir() if item.name.endswith(".toml")), key=lambda item: item.name)
    return {item.name.removesuffix(".toml"): tomllib.loads(item.read_text(encoding="utf-8")) for item in found}


@cache
def _read(name: str) -> Coefficients:
    table = _files()[name]
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
