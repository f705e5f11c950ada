"""What kind of question each sample asks: types by readable cues, in English and Chinese.

The cues stand in ``query_types.toml`` as regular expressions over the normalised question (lower case, simplified
characters, half width), so that anybody can read why a question was given a type, and change it. They may stand anywhere
in the question, whole words only: "however" is no how-question. A question can have several types ("when and where").

==============  ====================================================================================
who             asks for a person ("which team" is ``which``)          谁、哪位
what            asks for a thing with the word what                    什么、啥
when            asks for a time: a point, a duration, how often        什么时候、几点、多久
where           asks for a place                                       哪里、在哪
why             asks for a reason                                      为什么、怎么会
how             asks for a manner; not "how many", not "how come"      怎么、如何
procedure       asks what steps to take (always ``how`` as well)       怎么重置…、流程、步骤
how_many        asks for a number, an amount, a measure                多少、几个、多大
which           asks to choose among some                              哪个、哪些
yes_no          can be answered with yes or no                         吗、是否、能不能
comparison      sets things against each other, "is it a or b"         区别、比…更、还是
list            asks for several items                                 哪些、列出
definition      asks what a word means                                 什么是、什么意思
keyword         a few words and no sentence
other           none of these
==============  ====================================================================================
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.data.schema import NESTED_FIELDS, SAMPLE_FIELDS, judgements, none_if_missing
from workbench.data.text.normalise import HAN_CHARACTER, normalise
from workbench.data.text.words import language
from workbench.diagnosis.causes import NOT_CHECKED, NOT_FAILING
from workbench.diagnosis.statistics import wilson
from workbench.errors import InputError
from workbench.evidence.frames import own_columns
from workbench.language import has_text
from workbench.language import text as _t

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

    from workbench.evidence.frames import Evidence


#: Types in the order of the columns.
TYPES = (
    "who", "what", "when", "where", "why", "how", "procedure", "how_many", "which", "yes_no", "comparison", "list",
    "definition", "keyword", "other",
)  # fmt: skip
_BY_CUES = TYPES[:-2]
#: Characters of a question that are looked at.
LONGEST = 2000
_LATIN = re.compile("[a-z]+")
_PART = re.compile(r"\{([a-z]+)\}")
_TOKEN = re.compile(r"[^\s,;、]+")


@dataclass(frozen=True)
class _Rule:
    cues: re.Pattern[str]
    unless: re.Pattern[str] | None
    needs: tuple[str, ...] = ()

    def holds(self, question: str) -> bool:
        """Whether the rule matches a question."""
        if self.needs and not any(word in question for word in self.needs):
            return False
        return bool(self.cues.search(question)) and not (self.unless and self.unless.search(question))


@dataclass(frozen=True)
class _Rules:
    """The rules of one language."""

    ignored: re.Pattern[str]
    types: Mapping[str, _Rule]
    sentence: re.Pattern[str]
    longest: int


@cache
def _cues() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("query_types.toml").read_text(encoding="utf-8"))


def _joined(patterns: Sequence[str], parts: Mapping[str, str]) -> re.Pattern[str]:
    filled = [_PART.sub(lambda match: parts[match[1]], pattern) for pattern in patterns]
    return re.compile("|".join(filled))


@cache
def _rules(language: str) -> _Rules:
    cues = _cues()
    parts = cues["parts"]
    types = {}
    for name in _BY_CUES:
        unless = cues[name].get("unless", {}).get(language)
        needs = tuple(cues[name].get("needs", {}).get(language, ()))
        types[name] = _Rule(_joined(cues[name][language], parts), _joined(unless, parts) if unless else None, needs)
    keyword = cues["keyword"]
    sentence = _joined(keyword["unless"][language], parts)
    return _Rules(_joined(cues["ignored"][language], parts), types, sentence, keyword["longest"][language])


@cache
def _implied() -> tuple[tuple[str, str], ...]:
    return tuple((name, other) for name in _BY_CUES for other in _cues()[name].get("implies", ()))


def types_of(question: str) -> frozenset[str]:
    """The types of one question, at least one; ``other`` and ``keyword`` never stand beside another."""
    text = normalise(question[:LONGEST])
    found: set[str] = set()
    languages = _languages(text)
    for code in languages:
        rules = _rules(code)
        kept = rules.ignored.sub(" ", text)
        found.update(name for name, rule in rules.types.items() if rule.holds(kept))
    found.update(other for name, other in _implied() if name in found)
    if found:
        return frozenset(found)
    return frozenset({"keyword" if _is_keywords(text, languages[0]) else "other"})


def _languages(text: str) -> tuple[str, ...]:
    """Whose cues apply: Chinese where there is a Han character, English without, both where a text is mixed."""
    if not HAN_CHARACTER.search(text):
        return ("en",)
    return ("zh", "en") if len(_LATIN.findall(text)) >= 3 else ("zh",)


def _is_keywords(text: str, language: str) -> bool:
    rules = _rules(language)
    size = len(text.replace(" ", "")) if language == "zh" else len(_TOKEN.findall(text))
    return 0 < size <= rules.longest and not rules.sentence.search(text)


def type_matrix(questions: Iterable[str]) -> NDArray[np.bool_]:
    """(n, len(TYPES)): which types each question has; each distinct question is read once."""
    place = {name: at for at, name in enumerate(TYPES)}
    known: dict[str, list[int]] = {}
    rows: list[int] = []
    columns: list[int] = []
    n = 0
    for question in questions:
        found = known.get(question)
        if found is None:
            found = known[question] = [place[name] for name in types_of(question)]
        rows.extend([n] * len(found))
        columns.extend(found)
        n += 1
    matrix = np.zeros((n, len(TYPES)), dtype=bool)
    matrix[rows, columns] = True
    return matrix


def sample_frame(source: Any) -> pd.DataFrame:
    """The samples of an evaluation (all fields but contexts), of a set of samples, or the frame itself.

    Raises
    ------
    InputError
        When there are no questions in it.
    """
    import pandas as pd

    frame: pd.DataFrame
    if isinstance(source, pd.DataFrame):
        frame = source
    elif hasattr(source, "evidence"):
        frame = _recorded(source.evidence)
    else:
        frame = source.frame if hasattr(source, "frame") else source.samples.frame
    if "question" not in frame.columns:
        raise InputError("there is no column “question” in what was given; give an evaluation or a set of samples")
    return frame


def _recorded(evidence: Evidence) -> pd.DataFrame:
    """The recorded fields without contexts, which take long to unpack and are not asked for here."""
    import pandas as pd

    names = [name for name in own_columns(evidence) if name != "contexts"]
    columns = {name: evidence.nested(name) if name in NESTED_FIELDS else evidence.plain(name) for name in names}
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()}).set_axis(evidence.ids)


def questions_of(frame: pd.DataFrame) -> list[str]:
    """The questions as text; a missing one is empty."""
    return [item if isinstance(item, str) else "" for item in frame["question"].tolist()]


def query_types(source: Any) -> pd.DataFrame:
    """The types of every question.

    Parameters
    ----------
    source
        An ``Evaluation``, a ``SampleSet``, or a frame with a column ``question``.

    Returns
    -------
    DataFrame, index ``sample_id``, one boolean column for each of :data:`TYPES`; at least one holds in every row.

    Raises
    ------
    InputError
        When there are no questions in it.
    """
    import pandas as pd

    frame = sample_frame(source)
    return pd.DataFrame(type_matrix(questions_of(frame)), index=frame.index, columns=list(TYPES))


# ------------------------------------------------------------------------------
# What samples can be parted by: question types, language, length, numbers, expected documents, tags, own columns.
#
# A :class:`Dimension` gives each sample one value, several (a question can have several types), or none. Values are plain
# text, the same in every language; how they are called for a reader is in ``workbench/language/queries.toml``.


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


# ------------------------------------------------------------------------------
# How often samples fail in each group: by one dimension or by two, with intervals and causes.


COLUMNS = ("value", "n", "n_failing", "rate", "low", "high", "causes", "n_not_checked", "folded")
#: Between the two values of a pivot.
TIMES = " × "


class Outcomes(NamedTuple):
    """Per sample: failed, tested (neither passed nor failed where False), and the primary cause by name."""

    failed: NDArray[np.bool_]
    tested: NDArray[np.bool_]
    causes: NDArray[Any]


def outcomes(evaluation: Any) -> Outcomes:
    """What became of every sample, in the order of the samples."""
    causes = getattr(evaluation, "causes", None)
    if causes is not None:
        return Outcomes(causes.primary >= 0, causes.primary >= -1, causes.names())
    failures = evaluation.failures()
    names = failures["primary_cause"].to_numpy(dtype=object)
    return Outcomes(~np.isin(names, NOT_FAILING), names != NOT_CHECKED, names)


@dataclass(frozen=True)
class Group:
    """Samples that are counted together: positions ``rows``; ``values``: one for each dimension, None = folded."""

    values: tuple[str, ...] | None
    rows: NDArray[np.intp]
    folded: int = 0

    @property
    def label(self) -> str:
        """What the column ``value`` says."""
        return _t("queries.folded", n=f"{self.folded:,}") if self.values is None else TIMES.join(self.values)


def groups(dimensions: Dimensions, by: Sequence[str], tested: NDArray[np.bool_], min_n: int) -> list[Group]:
    """The groups of one or two dimensions; those with fewer than ``min_n`` tested samples are folded into one (a single
    such group keeps its name).

    In a dimension where samples have several values, the folded group holds the samples that stand in no other.
    """
    parts = [dimensions[name] for name in by]
    rows, codes = _memberships(parts)
    order = np.argsort(codes, kind="stable")
    rows, codes = rows[order], codes[order]
    starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]]) if len(codes) else np.empty(0, dtype=np.int64)
    kept: list[Group] = []
    small: list[Group] = []
    for start, stop in pairwise([*starts, len(codes)]):
        found = rows[start:stop]
        values = _values(parts, int(codes[start]))
        (kept if tested[found].sum() >= min_n else small).append(Group(values, found))
    if len(small) == 1:
        kept.append(Group(small[0].values, small[0].rows, 1))
    elif small:
        shown = np.unique(np.concatenate([group.rows for group in kept])) if kept else np.empty(0, dtype=np.int64)
        rest = np.setdiff1d(np.concatenate([group.rows for group in small]), shown)
        kept.append(Group(None, rest, len(small)))
    return kept


def _memberships(parts: Sequence[Dimension]) -> tuple[NDArray[Any], NDArray[Any]]:
    if len(parts) == 1:
        return parts[0].rows, parts[0].codes
    import pandas as pd

    left, right = (pd.DataFrame({"row": part.rows, "code": part.codes}) for part in parts)
    both = left.merge(right, on="row", suffixes=("", "_other"))
    codes = both["code"].to_numpy() * (len(parts[1].values) + 1) + both["code_other"].to_numpy()
    return both["row"].to_numpy(), codes


def _values(parts: Sequence[Dimension], code: int) -> tuple[str, ...]:
    codes = [code] if len(parts) == 1 else list(divmod(code, len(parts[1].values) + 1))
    missing = _t("queries.missing")
    return tuple(
        part.values[at] if at < len(part.values) else missing for part, at in zip(parts, codes, strict=True)
    )


def breakdown(evaluation: Any, by: str | Sequence[str], min_n: int = 5) -> pd.DataFrame:
    """Failures by group.

    Parameters
    ----------
    by
        A dimension (``query_type, case_type, language, length, numbers, expected_documents, tenant``, a tag, a column of
        the user, or one question type), or two of them for a pivot.
    min_n
        Groups with fewer tested samples are folded into one last row that says how many they are, so that n adds up.

    Returns
    -------
    DataFrame with ``value`` (of a pivot ``"a × b"``), ``n`` tested samples, ``n_failing``, ``rate`` in [0, 1] with its
    95 % Wilson interval ``low, high``, ``causes`` (primary cause → number, most frequent first), ``n_not_checked`` (samples
    that nothing could be said of; not part of ``n``) and ``folded`` (how many values the row stands for; 0 for an
    ordinary one). Ordered dimensions keep their order, others begin with the highest rate. A rate without samples is NaN.
    ``attrs``: ``by, n_tested, n_not_checked, multiple`` (a sample is counted in several rows, so that n does not add up).

    Raises
    ------
    InputError
        For an unknown dimension, more than two, or ``min_n`` below 1.
    """
    return grouped(Dimensions(evaluation), outcomes(evaluation), by, min_n)[0]


def grouped(
    dimensions: Dimensions, found: Outcomes, by: str | Sequence[str], min_n: int = 5
) -> tuple[pd.DataFrame, list[Group]]:
    """:func:`breakdown` over what is known already, and the groups row by row."""
    import pandas as pd

    names = checked_names(dimensions, by)
    if min_n < 1:
        raise InputError(f"min_n is {min_n}; use a number from 1 on")
    rows = groups(dimensions, names, found.tested, min_n)
    frame = pd.DataFrame([_row(group, found) for group in rows], columns=list(COLUMNS))
    ordered = len(names) == 1 and dimensions[names[0]].ordered
    keys = [group.folded > 0 for group in rows]
    frame = frame.assign(_last=keys, _rate=0.0 if ordered else -frame["rate"].astype(float), _n=0 if ordered else -frame["n"])
    order = frame.sort_values(["_last", "_rate", "_n"], kind="stable").index
    rows = [rows[at] for at in order]
    frame = frame.loc[order, list(COLUMNS)].reset_index(drop=True)
    if len(names) == 2:
        for place, name in enumerate(names):
            frame[name] = [None if group.values is None else group.values[place] for group in rows]
    frame.attrs = {
        "by": names, "n_tested": int(found.tested.sum()), "n_not_checked": int((~found.tested).sum()),
        "multiple": any(dimensions[name].multiple for name in names),
    }  # fmt: skip
    return frame, rows


def checked_names(dimensions: Dimensions, by: str | Sequence[str]) -> list[str]:
    """The stable names of one or two dimensions. Raises ``InputError`` for another number or an unknown name."""
    names = [dimensions.resolve(name) for name in ([by] if isinstance(by, str) else by)]
    if not 1 <= len(names) <= 2 or len(set(names)) != len(names):
        raise InputError(f"group by one dimension or by two different ones, not by {', '.join(names) or 'none'}")
    return names


def _row(group: Group, found: Outcomes) -> tuple[Any, ...]:
    tested = group.rows[found.tested[group.rows]]
    failing = tested[found.failed[tested]]
    n, n_failing = len(tested), len(failing)
    interval = wilson(n_failing, n)
    names, counts = np.unique(found.causes[failing].astype(str), return_counts=True)
    causes = {str(names[at]): int(counts[at]) for at in np.argsort(-counts, kind="stable")}
    rate = n_failing / n if n else float("nan")
    return (
        group.label, n, n_failing, rate, interval.low, interval.high, causes, len(group.rows) - n, group.folded
    )  # fmt: skip
