"""Every cut-off in one frozen object, read and written as TOML.

``gate.toml`` is the same file with ``[rules]`` and ``[red_lines]`` added, so that notebooks and the gate agree.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args, get_type_hints

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from workbench.data.files import parsed_toml, read_text, write_text
from workbench.errors import InputError
from workbench.scoring.metrics import every_metric

#: The description of each kind of value says what to use instead of a wrong one.
Depth = Annotated[int, Field(ge=1, description="a whole number from 1 on")]
Share = Annotated[float, Field(ge=0, le=1, description="a number from 0 to 1")]
Percentile = Annotated[float, Field(ge=0, le=100, description="a number from 0 to 100")]
Cut = Annotated[float, Field(ge=0, description="a number from 0 on")]
Cuts = Annotated[dict[str, Cut], Field(description="a table of metric names and numbers from 0 on")]
Match = Annotated[Literal["chunk", "document"], Field(description="'chunk' or 'document'")]

#: Names that older files have and nothing reads any more.
_RETIRED = ("point_recall",)

#: Thresholds that change no score, only what counts as low or as reached.
_OF_SCORES = ("low_score", "low_scores", "targets", "levels", "similarity_percentile")

#: What a mean is called that reaches none of the levels.
LOWEST = "poor"


def _declared(attribute: str) -> dict[str, float]:
    """What the metrics declare, at the depth of the default."""
    found = {item.name.format(k=5): getattr(item, attribute) for item in every_metric()}
    return {name: float(value) for name, value in found.items() if value is not None}


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
    answer_right
        An answer makes the point of its reference from this probability on.
    targets
        Metric → the mean that is aimed for.
    levels
        Word → the mean from which on it holds, for reading only; a mean below all of them is poor.
    match
        ``"chunk"`` (ids as given) or ``"document"`` (a label matches any chunk of its document).

    Raises
    ------
    InputError
        For a value that is out of range or of another kind; the message names it and what to use.

    Examples
    --------
    >>> wb.Thresholds(k=3).replace(support=0.6).support
    0.6
    """

    k: Depth = 5
    support: Share = 0.5
    contradiction: Share = 0.5
    unsure_band: Share = 0.3
    relevance: Share = 0.5
    refusal: Share = 0.5
    similarity_percentile: Percentile = 95.0
    low_score: Share = 0.5
    low_scores: Cuts = field(default_factory=lambda: _declared("low_score"))
    answer_right: Share = 0.5
    targets: Cuts = field(default_factory=lambda: _declared("target"))
    levels: Cuts = field(default_factory=lambda: {"excellent": 0.9, "good": 0.75, "fair": 0.6})
    match: Match = "chunk"

    def __post_init__(self) -> None:
        """Check every value, and freeze the tables."""
        given = {**vars(self), **{name: _plain(getattr(self, name)) for name in ("low_scores", "targets", "levels")}}
        try:
            checked = _adapter().validate_python(given)
        except ValidationError as error:
            first = error.errors()[0]
            name, *inside = (str(part) for part in first["loc"] if part != "[key]")
            hint = Cut if inside else get_type_hints(Thresholds, include_extras=True)[name]
            raise InputError(
                f"thresholds: {'.'.join([name, *inside])} is {first['input']!r}; use {get_args(hint)[1].description}"
            ) from error
        for name, value in checked.items():
            object.__setattr__(self, name, MappingProxyType(value) if isinstance(value, dict) else value)

    @property
    def reading(self) -> tuple[Any, ...]:
        """The thresholds that scores depend on."""
        return tuple(getattr(self, name) for name in _names() if name not in _OF_SCORES)

    def replace(self, **changes: Any) -> Thresholds:
        """A copy with some values changed. Raises ``InputError`` for an unknown name or a value out of range."""
        unknown = changes.keys() - set(_names())
        if unknown:
            raise InputError(f"thresholds: unknown name {sorted(unknown)[0]!r}; known are {', '.join(_names())}")
        return dataclasses.replace(self, **changes)

    def low_cut(self, metric: str) -> float:
        """The value below which a score of ``metric`` is low."""
        return self.low_scores.get(metric, self.low_score)

    def level(self, value: float) -> str:
        """The level of a mean in [0, 1] that is good when high."""
        reached = [name for name, cut in self.levels.items() if value >= cut]
        return max(reached, key=lambda name: self.levels[name]) if reached else LOWEST

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as written to TOML."""
        return {name: _plain(getattr(self, name)) for name in _names()}

    def to_toml(self, path: str | Path | None = None) -> str:
        """The thresholds as TOML text; also written to ``path`` (atomically) when given."""
        import tomlkit

        plain = {name: value for name, value in self.to_dict().items() if not isinstance(value, dict)}
        tables = {name: value for name, value in self.to_dict().items() if isinstance(value, dict)}
        text = tomlkit.dumps({"thresholds": plain | tables})
        if path is not None:
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
        written = isinstance(source, str) and any(sign in source for sign in "\n=[")
        name = "thresholds" if written else str(source)
        table = parsed_toml(str(source) if written else read_text(source), name).get("thresholds", {})
        if not isinstance(table, Mapping):
            raise InputError(f"{name}: [thresholds] must be a table")
        return cls().replace(**{key: value for key, value in table.items() if key not in _RETIRED})


@cache
def _adapter() -> TypeAdapter[Any]:
    hints = get_type_hints(Thresholds, include_extras=True)
    checked = TypedDict("checked", hints)  # type: ignore[misc]
    checked.__pydantic_config__ = ConfigDict(strict=True)  # type: ignore[attr-defined]
    return TypeAdapter(checked)


@cache
def _names() -> tuple[str, ...]:
    return tuple(item.name for item in dataclasses.fields(Thresholds))


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value

