"""What samples can be parted by: question types, language, length, numbers, expected documents, tags, own columns.

A :class:`Dimension` gives each sample one value, several (a question can have several types), or none. Values are plain
text, the same in every language; how they are called for a reader is in ``workbench/language/queries.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.data.normalising import HAN_CHARACTER
from workbench.data.schema import SAMPLE_FIELDS, judgements, none_if_missing
from workbench.data.text import language
from workbench.diagnosis.queries import TYPES, questions_of, sample_frame, type_matrix
from workbench.errors import InputError
from workbench.language import has_text
from workbench.language import text as _t

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

#: Dimensions that are made from the samples, in the order in which they are offered.
DERIVED = ("query_type", "case_type", "language", "length", "numbers", "expected_documents", "tenant")
#: A number column with more distinct values than this is cut at its quartiles.
MOST_NUMBERS = 8
#: Counts from here on are one value ("3+").
MOST_COUNTED = 3
LENGTHS = ("short", "medium", "long")
#: Sizes (words; 1.7 Han characters weigh as one) from which a question is ``medium`` and ``long``.
MEDIUM_FROM, LONG_FROM = 6, 15

_ALIASES = {"query_types": "query_type", "question_type": "query_type", "expected_docs": "expected_documents"}
_NUMBER = re.compile(r"(?<![A-Za-z\d_-])\d+(?:[.,:/．]\d+|，\d{3}(?!\d))*(?![\d-]*[a-z]\w*-)")
_WORD = re.compile(r"[^\W\d_]+|\d+")
_QUESTION_CUT = 300


@dataclass(frozen=True)
class Dimension:
    """One way to part n samples.

    Attributes
    ----------
    name
        Its stable name: one of :data:`DERIVED`, ``tags.<name>`` or a column of the user.
    values
        The values by code, at least one sample each.
    rows, codes
        Memberships, (m,): sample ``rows[i]`` has value ``codes[i]``. Sorted by row; a sample without a value has code
        ``len(values)``.
    numbers
        (n,) the numbers behind an ordered dimension, NaN where missing; None for names.
    multiple
        Whether a sample can have several values (its counts then add up to more than n).
    """

    name: str
    values: tuple[str, ...]
    rows: Ints
    codes: Ints
    numbers: NDArray[np.float64] | None = None
    ordered: bool = False
    multiple: bool = False

    @property
    def title(self) -> str:
        """Its name for a reader, in the language in force."""
        return dimension_title(self.name)

    def mask(self, code: int, n: int) -> NDArray[np.bool_]:
        """(n,) which samples have the value of ``code``."""
        found = np.zeros(n, dtype=bool)
        found[self.rows[self.codes == code]] = True
        return found


def dimension_title(name: str) -> str:
    """The name of a dimension for a reader."""
    key = f"queries.dimensions.{name}"
    if has_text(key):
        return _t(key)
    own = name.removeprefix("tags.")
    # A tag "language" beside the language of the question would be two choices of one name.
    return _t("queries.tag", name=own) if own != name and has_text(f"queries.dimensions.{own}") else own


def value_title(dimension: str, value: str) -> str:
    """A value of a dimension for a reader: types and lengths are translated, the user's own words stay."""
    key = f"queries.{'types' if dimension == 'query_type' else dimension}.{value}"
    known = dimension in ("query_type", "length", "language") and has_text(key)
    return _t(key) if known else value


class Dimensions:
    """The dimensions of a set of samples, each worked out when it is first asked for.

    Parameters
    ----------
    source
        An evaluation, a set of samples or its frame.
    """

    def __init__(self, source: Any) -> None:
        self.frame: pd.DataFrame = sample_frame(source)
        self.n = len(self.frame)
        self._known: dict[str, Dimension] = {}
        self._tags: dict[str, list[Any]] | None = None

    def names(self) -> list[str]:
        """Names of the dimensions in which some sample has a value, those made from the question first."""
        derived = [name for name in DERIVED if self._recorded(name)]
        tags = [f"tags.{name}" for name in self.tags]
        own = [str(name) for name in self.frame.columns if name not in SAMPLE_FIELDS and _plain(self.frame[name])]
        return [*derived, *tags, *own]

    def informative(self) -> list[str]:
        """Those of :meth:`names` that part the samples: at least two values, and not nearly one value a sample."""
        found = []
        for name in self.names():
            dimension = self[name]
            if 2 <= len(dimension.values) <= max(20, self.n // 5):
                found.append(name)
        return found

    def lacking(self) -> list[str]:
        """Fields that would give further dimensions and are not recorded."""
        fields = ("case_type", "expected_docs", "tags", "tenant")
        return [name for name in fields if name not in self.frame or not self.frame[name].notna().any()]

    def __getitem__(self, name: str) -> Dimension:
        """The dimension ``name``; also found: a tag by its bare name, one question type, ``type`` (case or question).

        Raises
        ------
        InputError
            When there is none of that name.
        """
        name = self.resolve(name)
        if name not in self._known:
            self._known[name] = self._made(name)
        return self._known[name]

    def resolve(self, name: str) -> str:
        """The stable name behind ``name``. Raises ``InputError`` for an unknown one."""
        name = _ALIASES.get(name, name)
        if name == "type":
            return "case_type" if self._recorded("case_type") else "query_type"
        if name in DERIVED or name in TYPES or (name in self.frame.columns and name not in SAMPLE_FIELDS):
            return name
        if name.removeprefix("tags.") in self.tags:
            return f"tags.{name.removeprefix('tags.')}"
        raise InputError(f"there is nothing to group by under {name!r}; choose among {', '.join(self.names())[:250]}")

    @property
    def tags(self) -> dict[str, list[Any]]:
        """Tag → value of every sample (None without)."""
        if self._tags is None:
            column = self.frame["tags"].tolist() if "tags" in self.frame else []
            keys = dict.fromkeys(str(key) for item in column if isinstance(item, Mapping) for key in item)
            self._tags = {
                key: [item.get(key) if isinstance(item, Mapping) else None for item in column] for key in keys
            }
        return self._tags

    def _recorded(self, name: str) -> bool:
        field = "expected_docs" if name == "expected_documents" else name
        return field not in SAMPLE_FIELDS or (field in self.frame and bool(self.frame[field].notna().any()))

    def _made(self, name: str) -> Dimension:
        if name == "query_type":
            return _of_matrix(name, TYPES, type_matrix(questions_of(self.frame)))
        if name in TYPES:
            types = self["query_type"]
            held = types.mask(types.values.index(name), self.n) if name in types.values else np.zeros(self.n, bool)
            return of_values(name, ["yes" if item else "no" for item in held])
        if name.startswith("tags.") and name.removeprefix("tags.") in self.tags:
            return of_values(name, self.tags[name.removeprefix("tags.")])
        maker = {
            "language": self._language, "length": self._length, "numbers": self._numbers,
            "expected_documents": self._expected,
        }.get(name)  # fmt: skip
        return maker() if maker else of_values(name, self._column(name))

    def _column(self, name: str) -> list[Any]:
        return self.frame[name].tolist() if name in self.frame else [None] * self.n

    def _language(self) -> Dimension:
        return of_values("language", _each(questions_of(self.frame), lambda text: language(text[:_QUESTION_CUT])))

    def _length(self) -> Dimension:
        sizes = np.array(_each(questions_of(self.frame), question_size), dtype=float)
        codes = np.digitize(sizes, [MEDIUM_FROM, LONG_FROM]).astype(np.int64)
        return _of_codes("length", LENGTHS, codes, ordered=True)

    def _numbers(self) -> Dimension:
        return _counted("numbers", _each(questions_of(self.frame), count_numbers))

    def _expected(self) -> Dimension:
        found = [judgements(none_or(item)) for item in self._column("expected_docs")]
        return _counted("expected_documents", [
            None if item is None else sum(entry.grade >= 1 for entry in item) for item in found
        ])  # fmt: skip


def none_or(value: Any) -> Any:
    """A nested cell, None where it is missing."""
    return value if isinstance(value, (list, tuple, Mapping)) else none_if_missing(value)


def question_size(question: str) -> float:
    """Words of a question; 1.7 Han characters weigh as one word."""
    han = len(HAN_CHARACTER.findall(question))
    return len(_WORD.findall(HAN_CHARACTER.sub(" ", question))) + han / 1.7


def count_numbers(question: str) -> int:
    """Numbers written in digits, those inside identifiers (E-1207, v2) left out."""
    return len(_NUMBER.findall(question))


def _each(texts: Sequence[str], function: Any) -> list[Any]:
    known: dict[str, Any] = {}
    for text in texts:
        if text not in known:
            known[text] = function(text)
    return [known[text] for text in texts]


def _plain(column: pd.Series) -> bool:
    """Whether a column holds text, numbers or truth values, not lists."""
    known = column.dropna()
    return len(known) > 0 and isinstance(known.iloc[0], (str, bool, int, float, np.generic))


def of_values(name: str, values: Iterable[Any]) -> Dimension:
    """A dimension of one value a sample: text as it is, few numbers each for itself, many cut at their quartiles."""
    import pandas as pd

    column = [_scalar(value) for value in values]
    known = [value for value in column if value is not None]
    if known and all(isinstance(value, float) for value in known):
        numbers = np.array([np.nan if value is None else value for value in column], dtype=float)
        return _of_numbers(name, numbers)
    texts = [None if value is None else value if isinstance(value, str) else f"{value:g}" for value in column]
    codes, uniques = pd.factorize(pd.Series(texts, dtype=object), sort=True)
    return _of_codes(name, tuple(map(str, uniques)), np.asarray(codes, dtype=np.int64))


def _scalar(value: Any) -> str | float | None:
    value = none_if_missing(value)
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else ("yes" if value else "no")
    if isinstance(value, (int, float, np.number)):
        return float(value)
    return str(value)[:200]


def _of_numbers(name: str, numbers: NDArray[np.float64]) -> Dimension:
    known = numbers[np.isfinite(numbers)]
    distinct = np.unique(known)
    if len(distinct) <= MOST_NUMBERS:
        codes = np.where(np.isfinite(numbers), np.searchsorted(distinct, numbers), len(distinct))
        return _of_codes(name, tuple(f"{value:g}" for value in distinct), codes, numbers=numbers, ordered=True)
    cuts = np.unique(np.quantile(known, [0.25, 0.5, 0.75]))
    edges = [known.min(), *cuts, known.max()]
    labels = tuple(f"{low:.4g} – {high:.4g}" for low, high in pairwise(edges))
    codes = np.where(np.isfinite(numbers), np.searchsorted(cuts, numbers, side="right"), len(labels))
    return _of_codes(name, labels, codes, numbers=numbers, ordered=True)


def _counted(name: str, counts: Sequence[int | None]) -> Dimension:
    numbers = np.array([np.nan if item is None else item for item in counts], dtype=float)
    labels = (*map(str, range(MOST_COUNTED)), f"{MOST_COUNTED}+")
    codes = np.where(np.isnan(numbers), len(labels), np.minimum(np.nan_to_num(numbers), MOST_COUNTED))
    return _of_codes(name, labels, codes, numbers=numbers, ordered=True)


def _of_codes(
    name: str, labels: Sequence[str], codes: Any, *, numbers: NDArray[np.float64] | None = None, ordered: bool = False
) -> Dimension:
    """A dimension of one code a sample (< 0 or ≥ len(labels): none); values that no sample has are left out."""
    codes = np.asarray(codes, dtype=np.int64)
    codes = np.where((codes < 0) | (codes >= len(labels)), len(labels), codes)
    counts = np.bincount(codes, minlength=len(labels) + 1)[: len(labels)]
    used = np.flatnonzero(counts)
    place = np.full(len(labels) + 1, len(used), dtype=np.int64)
    place[used] = np.arange(len(used))
    values = tuple(labels[int(code)] for code in used)
    return Dimension(name, values, np.arange(len(codes)), place[codes], numbers, ordered)


def _of_matrix(name: str, labels: Sequence[str], matrix: NDArray[np.bool_]) -> Dimension:
    used = np.flatnonzero(matrix.any(axis=0))
    rows, codes = np.nonzero(matrix[:, used])
    return Dimension(name, tuple(labels[int(code)] for code in used), rows, codes, multiple=True)
