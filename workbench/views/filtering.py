"""Which samples a user looks at: facets of every sample, and a filter over them. Plain functions over frames."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.data.text.words import language
from workbench.diagnosis.causes import NOT_FAILING
from workbench.diagnosis.queries import types_of
from workbench.evidence.frames import recorded_fields, recorded_scores
from workbench.scoring.metrics import definition

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray


# Causes of failure as panels need them: for all samples only what is counted and filtered, in full for one sample.

class CauseTable:
    """The causes of every sample as arrays. No sentence is written, so that a slider over many samples can be followed.

    Attributes
    ----------
    primary
        (n,) names, ``pass`` and ``not_checked`` included.
    confidence
        (n,) in [0, 1] of the primary cause, NaN without one.
    """

    def __init__(self, evaluation: Any) -> None:
        causes = evaluation.causes
        self.primary: NDArray[np.object_] = causes.names()
        self.confidence: NDArray[np.float64] = causes.confidence
        self.known = tuple(rule.name for rule in causes.rules)
        self._holds = causes.holds

    @property
    def failing(self) -> NDArray[np.bool_]:
        """(n,) whether the sample fails."""
        return ~np.isin(self.primary, NOT_FAILING)

    def has(self, cause: str) -> NDArray[np.bool_]:
        """(n,) whether ``cause`` is among the causes; also for ``failing``, ``pass`` and ``not_checked``."""
        if cause == "failing":
            return self.failing
        if cause in self.known:
            found: NDArray[np.bool_] = self._holds[:, self.known.index(cause)]
            return found
        return np.asarray(self.primary == cause, dtype=bool)

    def counts(self) -> dict[str, int]:
        """How many samples have each cause; those that none has are left out."""
        names = ("failing", *self.known, *NOT_FAILING)
        return {name: n for name in names if (n := int(self.has(name).sum()))}


def explained(slices: Slices, sample_id: str) -> dict[str, Any]:
    """One sample's row of ``failures()``, with ``others``: what each further cause rests on (cause → sentence)."""
    small = slices.small(sample_id)
    row = small.failures().loc[sample_id].to_dict()
    sentences = small.causes.explanations(0)
    sentences.pop(row["primary_cause"], None)
    return {**row, "others": sentences}


# Which end of a metric is the bad one, and which samples lie beyond a cut.

def higher_is_better(metric: str) -> bool | None:
    """The direction of ``metric``; None where neither is good in itself. An undeclared metric is better high."""
    found = definition(metric)
    return True if found is None else found.higher_is_better


def low_is_bad(metric: str) -> bool:
    """Whether the samples below a cut are the ones to look at (else those above it)."""
    return higher_is_better(metric) is not False


def is_low(metric: str, value: float, cut: float) -> bool:
    """Whether one score lies on the bad side of ``cut``; never for a missing score or a metric without direction."""
    better = higher_is_better(metric)
    return better is not None and bool(value < cut if better else value > cut)


def beyond(values: ArrayLike, cut: float, *, low_is_bad: bool) -> NDArray[np.bool_]:
    """Which scores lie on the bad side of ``cut``, shape (n,); missing scores do not."""
    scores = np.asarray(values, dtype=float)
    return scores < cut if low_is_bad else scores > cut


def offered(scores: pd.DataFrame) -> list[str]:
    """Metrics that have at least one score, in the order of the frame."""
    return [str(name) for name in scores.columns[scores.notna().any()]]


def first_choice(metrics: list[str], has_low: Callable[[str], bool] = lambda _: True) -> str | None:
    """The metric to begin with: of those with anything on the bad side of their cut (``has_low``) the most telling;
    None when there is no metric."""
    telling = {name: found.begin_with for name in metrics if (found := definition(name)) and found.begin_with}
    ordered = sorted(telling, key=lambda name: telling[name])
    return next((name for name in (*filter(has_low, ordered), *ordered, *metrics)), None)


# One sample out of a large evaluation: its rows of every frame, without computing those of all the others.

#: Methods of an evaluation whose frames have several rows a sample.
FRAMES = ("claims", "contexts", "support", "spans", "errors")


def records(frame: pd.DataFrame) -> Iterator[Any]:
    """The rows of a frame as named tuples."""
    return iter(frame.itertuples())


class Slices:
    """The frames of single samples of one evaluation. The sample asked for last is kept ready."""

    def __init__(self, evaluation: Any) -> None:
        self._evaluation = evaluation
        self._sample_id: str | None = None
        self._small: Any = None
        self._kept: dict[str, Any] = {}

    def small(self, sample_id: str) -> Any:
        """The evaluation of this sample alone."""
        if sample_id != self._sample_id:
            self._sample_id, self._small, self._kept = sample_id, self._evaluation.one(sample_id), {}
        return self._small

    def rows(self, name: str, sample_id: str) -> pd.DataFrame:
        """The rows of one sample in the frame ``name``, one of :data:`FRAMES`, or ``points`` for the key points and
        forbidden contents with where they stand in the answer; empty when it has none."""
        small = self.small(sample_id)
        if name not in self._kept:
            self._kept[name] = small.evidence.claims if name == "points" else getattr(small, name)()
        frame: pd.DataFrame = self._kept[name]
        return frame

    def sample(self, sample_id: str) -> dict[str, Any]:
        """One sample as loaded, every field: field → value."""
        small = self.small(sample_id)
        if "sample" not in self._kept:
            self._kept["sample"] = {name: values[0] for name, values in recorded_fields(small.evidence).items()}
        return dict(self._kept["sample"])

    def recorded(self, sample_id: str) -> dict[str, float]:
        """The scores that another tool recorded for one sample."""
        found = {name: float(values[0]) for name, values in recorded_scores(self.small(sample_id).evidence).items()}
        return {name: value for name, value in found.items() if value == value}


# The filter.

#: The parts of a filter that are one choice each; None = any.
CHOICES = ("cause", "type", "asked", "language", "tag")
#: Up to this many samples the types of their questions are worked out for the filter.
ASKED_UP_TO = 20_000
#: Characters of a text that free-text search looks at.
SEARCHED = 20_000


@dataclass(frozen=True)
class Filter:
    """What is shown. All parts hold at once; an empty part lets everything through.

    Attributes
    ----------
    cause
        A primary or contributing cause, ``pass``, or ``failing`` for any cause.
    type, asked, language, tag
        ``case_type``; a type of question (``how_many`` …); ``zh``, ``en`` …; a tag as ``name=value``.
    text
        Words that all stand in question, answer, reference or id, in any case.
    sample_ids, label
        An arbitrary set of samples (a click elsewhere) and how to call it.
    """

    cause: str | None = None
    type: str | None = None
    asked: str | None = None
    language: str | None = None
    tag: str | None = None
    text: str = ""
    sample_ids: tuple[str, ...] | None = None
    label: str = ""

    def replace(self, **changes: Any) -> Filter:
        """A copy with some parts changed. Raises ``TypeError`` for an unknown part."""
        if changes.get("sample_ids") is not None:
            changes["sample_ids"] = tuple(str(item) for item in changes["sample_ids"])
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """The parts that are set, as plain values."""
        return {name: value for name, value in dataclasses.asdict(self).items() if value not in (None, "")}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Filter:
        """Read what :meth:`to_dict` wrote; unknown parts are left out."""
        known = {item.name for item in dataclasses.fields(cls)}
        return cls().replace(**{name: value for name, value in plain.items() if name in known})

    def words(self) -> str:
        """The filter in one readable line; empty when nothing is set."""
        parts = [f"{name} = {value}" for name in CHOICES if (value := getattr(self, name))]
        if self.text:
            parts.append(f"“{self.text}”")
        if self.sample_ids is not None:
            parts.append(self.label or f"{len(self.sample_ids)} ids")
        return " · ".join(parts)


#: Fields that filters, lists and searches look at.
ALL_SHOWN, LEAST_SHOWN = 200_000_000, 200
LIGHT = ("question", "answer", "reference", "case_type", "tenant", "expect_refusal")


def light_samples(evaluation: Any) -> pd.DataFrame:
    """The fields of :data:`LIGHT` and ``tags`` of every sample, index ``sample_id``; contexts are not unpacked.

    Of an evaluation in parts a text is cut, so that all of one field are about :data:`ALL_SHOWN` characters.
    """
    import pandas as pd

    evidence = evaluation.evidence
    shown = max(LEAST_SHOWN, ALL_SHOWN // max(len(evidence), 1))
    columns = {name: evidence.beginnings(name, shown) for name in LIGHT}
    return pd.DataFrame({**columns, "tags": evidence.nested("tags")}, index=evidence.ids, dtype=object)


def facets(samples: pd.DataFrame) -> pd.DataFrame:
    """What every sample can be filtered by: index ``sample_id``; ``type, language`` (or None), ``tags``, ``asked``
    (tuples; the latter empty above :data:`ASKED_UP_TO` samples)."""
    import pandas as pd

    def column(name: str) -> list[Any]:
        return samples[name].tolist() if name in samples else [None] * len(samples)

    known: dict[str, str] = {}
    questions = [str(question)[:300] for question in column("question")]
    for question in questions:
        if question not in known:
            known[question] = language(question)
    types = [str(value) if isinstance(value, str) else None for value in column("case_type")]
    tags = [tuple(f"{k}={v}" for k, v in item.items()) if isinstance(item, Mapping) else () for item in column("tags")]
    asked = [tuple(sorted(types_of(q))) if len(questions) <= ASKED_UP_TO else () for q in questions]
    values = {"type": types, "language": [known[question] for question in questions], "tags": tags, "asked": asked}
    return pd.DataFrame(values, index=samples.index, dtype=object)


def search_texts(samples: pd.DataFrame) -> list[str]:
    """One lower-case text a sample: id, question, answer and reference, each cut to :data:`SEARCHED` characters."""
    columns = [samples[name].tolist() for name in ("question", "answer", "reference") if name in samples]
    ids = samples.index.tolist()
    return [
        "\n".join(str(item)[:SEARCHED] for item in row if isinstance(item, str)).lower()
        for row in zip(ids, *columns, strict=True)
    ]


def matching(chosen: Filter, known: pd.DataFrame, causes: CauseTable, texts: Any) -> NDArray[np.bool_]:
    """Which rows of ``known`` (see :func:`facets`) pass the filter.

    Parameters
    ----------
    causes
        The causes of the same samples, in the same order.
    texts
        A function without arguments that gives :func:`search_texts`; called only when there is something to search.
    """
    import numpy as np

    keep = np.ones(len(known), dtype=bool)
    for name in ("type", "language"):
        if wanted := getattr(chosen, name):
            keep &= (known[name] == wanted).to_numpy(dtype=bool)
    for part, column in ((chosen.tag, "tags"), (chosen.asked, "asked")):
        if part:
            keep &= np.fromiter((part in values for values in known[column]), dtype=bool, count=len(known))
    if chosen.cause:
        keep &= causes.has(chosen.cause)
    if chosen.sample_ids is not None:
        keep &= known.index.isin(chosen.sample_ids)
    for word in chosen.text.lower().split():
        keep &= np.fromiter((word in text for text in texts()), dtype=bool, count=len(known))
    return keep
