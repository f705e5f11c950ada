"""Every cut-off in one frozen object, read and written as TOML.

``gate.toml`` is the same file with ``[rules]`` and ``[red_lines]`` added, so that notebooks and the gate agree.
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from workbench.errors import InputError

#: A sample with a lower score is a low-scoring one; other metrics use ``low_score``.
LOW_SCORES: Mapping[str, float] = MappingProxyType({"faithfulness": 0.7})

TARGETS: Mapping[str, float] = MappingProxyType({
    "precision@5": 0.7, "recall@5": 0.8, "ndcg@5": 0.7, "faithfulness": 0.9, "answer_relevancy": 0.8,
    "context_relevance": 0.7,
})  # fmt: skip


@dataclass(frozen=True)
class Thresholds:
    """Cut-offs that turn evidence into verdicts, states, failures and causes. All are probabilities in [0, 1] but ``k``.

    Attributes
    ----------
    k
        Depth of the ranking metrics and of the missed-document view, ≥ 1.
    support, contradiction
        A claim is supported / contradicted from this probability on.
    unsure_band
        A claim whose best probability lies less than this below ``support`` is unsure.
    relevance, refusal
        A context is relevant / an answer declines from this probability on.
    similarity_percentile
        In (0, 100]: a similarity counts as near from this percentile of random pairs on.
    low_score, low_scores
        Below it a sample's score is low; ``low_scores`` names the metrics with a cut of their own.
    point_recall
        Share of reference claims that a right answer makes when there are no key points (must be exceeded).
    targets
        Metric → the mean that is aimed for.
    match
        ``"chunk"`` (ids as given) or ``"document"`` (a label matches any chunk of its document).
    """

    k: int = 5
    support: float = 0.5
    contradiction: float = 0.5
    unsure_band: float = 0.3
    relevance: float = 0.5
    refusal: float = 0.5
    similarity_percentile: float = 95.0
    low_score: float = 0.5
    low_scores: Mapping[str, float] = field(default_factory=lambda: LOW_SCORES)
    point_recall: float = 0.7
    targets: Mapping[str, float] = field(default_factory=lambda: TARGETS)
    match: str = "chunk"

    def __post_init__(self) -> None:
        """Freeze the mappings and check every range."""
        for name in ("low_scores", "targets"):
            object.__setattr__(self, name, MappingProxyType(_cuts(name, getattr(self, name))))
        _check(self)

    def replace(self, **changes: Any) -> Thresholds:
        """A copy with some values changed. Raises ``InputError`` for an unknown name or a value out of range."""
        unknown = changes.keys() - {item.name for item in dataclasses.fields(self)}
        if unknown:
            raise InputError(f"thresholds: unknown name {sorted(unknown)[0]!r}; known are {', '.join(_names())}")
        return dataclasses.replace(self, **changes)

    def low_cut(self, metric: str) -> float:
        """The value below which a score of ``metric`` is low."""
        return self.low_scores.get(metric, self.low_score)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as written to TOML."""
        return {name: dict(v) if isinstance(v := getattr(self, name), Mapping) else v for name in _names()}

    def to_toml(self, path: str | Path | None = None) -> str:
        """The thresholds as TOML text; also written to ``path`` (atomically) when given."""
        lines = ["[thresholds]"]
        tables: list[str] = []
        for name, value in self.to_dict().items():
            if isinstance(value, dict):
                cuts = [f"{json.dumps(key, ensure_ascii=False)} = {cut!r}" for key, cut in value.items()]
                tables += ["", f"[thresholds.{name}]", *cuts]
            else:
                lines.append(f"{name} = {_toml(value)}")
        text = "\n".join([*lines, *tables]) + "\n"
        if path is not None:
            from workbench.data.files import write_text

            write_text(path, text)
        return text

    @classmethod
    def from_toml(cls, source: str | Path) -> Thresholds:
        """Read a TOML file (or TOML text) that has a ``[thresholds]`` table; other tables are left alone.

        Raises
        ------
        InputError
            For invalid TOML, an unknown name or a value out of range.
        """
        name, text = _read(source)
        try:
            table = tomllib.loads(text).get("thresholds", {})
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{name}: not valid TOML ({error})") from error
        if not isinstance(table, Mapping):
            raise InputError(f"{name}: [thresholds] must be a table")
        return cls().replace(**table)


def _names() -> tuple[str, ...]:
    return tuple(item.name for item in dataclasses.fields(Thresholds))


def _cuts(name: str, given: Any) -> dict[str, float]:
    """Metric → number, checked for being that."""
    try:
        return {str(key): float(cut) for key, cut in given.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"thresholds: {name} must be a table of metric names and numbers ({error})") from error


def _toml(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _read(source: str | Path) -> tuple[str, str]:
    if isinstance(source, str) and ("\n" in source or "=" in source or "[" in source):
        return "thresholds", source
    try:
        return str(source), Path(source).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{source}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{source}: is no UTF-8 text; save it as UTF-8") from error


def _check(t: Thresholds) -> None:
    if isinstance(t.k, bool) or not isinstance(t.k, int) or t.k < 1:
        raise InputError(f"thresholds: k is {t.k!r}; use a whole number from 1 on")
    if t.match not in ("chunk", "document"):
        raise InputError(f"thresholds: match is {t.match!r}; use 'chunk' or 'document'")
    unit = ("support", "contradiction", "unsure_band", "relevance", "refusal", "low_score", "point_recall")
    for name in unit:
        _in_range(name, getattr(t, name), 1)
    _in_range("similarity_percentile", t.similarity_percentile, 100)
    for name, value in (*t.low_scores.items(), *t.targets.items()):
        _in_range(name, value, float("inf"))


def _in_range(name: str, value: Any, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= high:
        raise InputError(f"thresholds: {name} is {value!r}; use a number from 0 to {high:g}")
