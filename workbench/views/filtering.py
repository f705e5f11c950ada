"""Which samples a user looks at: facets of every sample, and a filter over them. Plain functions over frames."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.data.text import language
from workbench.diagnosis.queries import types_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from workbench.views.causes import CauseTable

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
LIGHT = ("question", "answer", "reference", "case_type", "tenant", "expect_refusal")


def light_samples(evaluation: Any) -> pd.DataFrame:
    """The fields of :data:`LIGHT` and ``tags`` of every sample, index ``sample_id``; contexts are not unpacked."""
    import pandas as pd

    evidence = getattr(evaluation, "evidence", None)
    if evidence is None:
        frame: pd.DataFrame = evaluation.samples.frame
        return frame[[name for name in (*LIGHT, "tags") if name in frame]]
    columns = {name: evidence.plain(name) for name in LIGHT}
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
