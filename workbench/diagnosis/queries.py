"""What kind of question each sample asks, what samples can be parted by, and how often each part fails.

The types of questions rest on readable cues: regular expressions in ``language/<code>/query_types.toml`` over the
normalised question (lower case, simplified characters, half width), so that anybody can read why a question was given a
type, and change it. They may stand anywhere in the question, whole words only: "however" is no how-question. A question
can have several types ("when and where").

==============  ====================================================================================
who             asks for a person ("which team" is ``which``)
what            asks for a thing with the word what
when            asks for a time: a point, a duration, how often (these are no ``how_many``)
where           asks for a place
why             asks for a reason
how             asks for a manner; not "how many", not "how come"
procedure       asks what steps to take (always ``how`` as well)
how_many        asks for a number, an amount, a measure
which           asks to choose among some
yes_no          can be answered with yes or no
comparison      sets things against each other, "is it a or b"
list            asks for several items
definition      asks what a word means
keyword         a few words and no sentence
other           none of these
==============  ====================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.data.schema import NESTED_FIELDS, SAMPLE_FIELDS, iter_samples, judgements, none_if_missing
from workbench.data.text.normalise import normalise
from workbench.data.text.words import language
from workbench.diagnosis.learnt_types import REST, TYPE, LearntTypes, learnt_types
from workbench.diagnosis.statistics import wilson
from workbench.errors import InputError
from workbench.evidence.frames import Evidence, own_columns
from workbench.language import Language, has_text, languages
from workbench.language import text as _t

Ints = NDArray[np.int64]


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
_TOKEN = re.compile(r"[^\s,;]+")


class _Cues:
    """The cues of one language; of a language without ``query_types.toml`` nothing holds."""

    def __init__(self, language: Language) -> None:
        table = language.table("query_types")
        self._parts = table.get("parts", {})
        self.ignored = self._joined(table.get("ignored"))
        self._types = {
            name: (self._joined(rule.get("cues")), self._joined(rule.get("unless")), self._joined(rule.get("ignored")),
                   tuple(rule.get("needs", ())))
            for name, rule in table.items() if name in _BY_CUES
        }  # fmt: skip
        self.implied = [(name, other) for name in self._types for other in table[name].get("implies", ())]
        keyword = table.get("keyword", {})
        self._sentence, self._longest = self._joined(keyword.get("unless")), keyword.get("longest", 0)
        self._spaced = bool(language.facts["spaced"])

    def _joined(self, patterns: Sequence[str] | None) -> re.Pattern[str] | None:
        filled = [_PART.sub(lambda match: self._parts[match[1]], pattern) for pattern in patterns or ()]
        return re.compile("|".join(filled)) if filled else None

    def types(self, text: str) -> Iterator[str]:
        """The types that hold for a normalised question."""
        kept = self.ignored.sub(" ", text) if self.ignored else text
        for name, (cues, unless, ignored, needs) in self._types.items():
            own = ignored.sub(" ", kept) if ignored else kept
            there = not needs or any(word in own for word in needs)
            if there and cues and cues.search(own) and not (unless and unless.search(own)):
                yield name

    def is_keywords(self, text: str) -> bool:
        """A few words that are no sentence."""
        size = len(_TOKEN.findall(text)) if self._spaced else len(text.replace(" ", ""))
        return 0 < size <= self._longest and not (self._sentence and self._sentence.search(text))


_cues = cache(_Cues)


def types_of(question: str) -> frozenset[str]:
    """The types of one question, at least one; ``other`` and ``keyword`` never stand beside another."""
    text = normalise(question[:LONGEST])
    return _types_of(text, tuple(_written_in(text)))


@lru_cache(maxsize=65_536)  # filters, breakdowns and slices ask about the same questions
def _types_of(text: str, written_in: tuple[Language, ...]) -> frozenset[str]:
    asked = [_cues(language) for language in written_in]
    found = {name for cues in asked for name in cues.types(text)}
    found |= {other for cues in asked for name, other in cues.implied if name in found}
    return frozenset(found or {"keyword" if asked[0].is_keywords(text) else "other"})


def _written_in(text: str) -> list[Language]:
    """Languages whose cues apply: those whose script a text shows, the others where there is none or Latin words too."""
    found = [item for item in languages() if item.script and item.script.search(text)]
    if not found or len(_LATIN.findall(text)) >= 3:
        found += [item for item in languages() if not item.script]
    return found


def type_matrix(questions: Iterable[str]) -> NDArray[np.bool_]:
    """(n, len(TYPES)): which types each question has; each distinct question is read once."""
    rows = _each(list(questions), lambda question: [name in found for found in [types_of(question)] for name in TYPES])
    return np.array(rows, dtype=bool).reshape(-1, len(TYPES))


#: Fields by which nothing is grouped.
_TEXTS = ("contexts", "answer", "reference", "references", "must_include", "must_not_include", "sampled_answers", "metadata")


def sample_frame(source: Any) -> pd.DataFrame:
    """The samples of an evaluation (all fields that they can be grouped by), of a set of samples, or the frame itself.

    Raises ``InputError`` when there are no questions in it.
    """
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
    """The recorded fields that samples can be grouped by; contexts and texts are not unpacked."""
    names = [name for name in own_columns(evidence) if name not in _TEXTS]
    columns = {name: evidence.nested(name) if name in NESTED_FIELDS else evidence.plain(name) for name in names}
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()}).set_axis(evidence.ids)


_ASKED = ("question", "history", "rewritten_question")


def questions_of(frame: pd.DataFrame) -> list[str]:
    """The questions as text, each as it stands for itself after what was said before; a missing one is empty."""
    if "history" in frame.columns or "rewritten_question" in frame.columns:
        samples = iter_samples(frame[[name for name in _ASKED if name in frame.columns]])
        return [sample.asked if isinstance(sample.question, str) else "" for sample in samples]
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

    Examples
    --------
    >>> wb.query_types(wb.load_evaluation("evaluations/baseline"))["how_many"].sum().item()
    31
    """
    frame = sample_frame(source)
    return pd.DataFrame(type_matrix(questions_of(frame)), index=frame.index, columns=list(TYPES))


# ------------------------------------------------------------------------------
# What samples can be parted by: question types, language, length, numbers, expected documents, tags, own columns.
#
# A :class:`Dimension` gives each sample one value, several (a question can have several types), or none. Values are plain
# text, the same in every language; how they are called for a reader is in ``workbench/language/queries.toml``.


#: The dimension that is learnt from which questions fail; not among the conditions of slices, which look for the same.
LEARNT = "learnt_type"
#: Dimensions that are made from the samples, in the order in which they are offered.
DERIVED = ("query_type", "case_type", "language", "length", "numbers", "expected_documents", "tenant")
#: A number column with more distinct values than this is cut at its quartiles.
MOST_NUMBERS = 8
#: Counts from here on are one value ("3+").
MOST_COUNTED = 3
LENGTHS = ("short", "medium", "long")
#: Sizes in words, see :func:`question_size`, from which a question is ``medium`` and ``long``.
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
    if dimension == LEARNT:
        known_type = value_title("query_type", value.removeprefix(TYPE))
        return _t("queries.rest") if value == REST else known_type if value.startswith(TYPE) else f"“{value}”"
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
        self._source = source
        self._found: SampleOutcomes | None = None
        self.frame: pd.DataFrame = sample_frame(source)
        self.n = len(self.frame)
        self._known: dict[str, Dimension] = {}

    def names(self) -> list[str]:
        """Names of the dimensions in which some sample has a value, those made from the question first."""
        derived = [name for name in DERIVED if self._recorded(name)]
        tags = [f"tags.{name}" for name in self.tags]
        own = [str(name) for name in self.frame.columns if name not in SAMPLE_FIELDS and _plain(self.frame[name])]
        return [*derived, *tags, *own]

    def informative(self) -> list[str]:
        """Those of :meth:`names` that part the samples: at least two values, and not nearly one value a sample."""
        most = max(20, self.n // 5)
        return [name for name in self.names() if 2 <= len(self[name].values) <= most]

    def lacking(self) -> list[str]:
        """Fields that would give further dimensions and are not recorded."""
        fields = ("case_type", "expected_docs", "tags", "tenant")
        return [name for name in fields if name not in self.frame or not self.frame[name].notna().any()]

    def learn_from(self, found: SampleOutcomes) -> None:
        """What became of every sample, for the kinds that are learnt; without it that of the evaluation."""
        self._found = found
        self.__dict__.pop("learnt", None), self._known.pop(LEARNT, None)

    @cached_property
    def learnt(self) -> LearntTypes:
        """The kinds of question learnt from which of them fail. Raises ``InputError`` where nothing was evaluated."""
        if self._found is None and not hasattr(self._source, "causes"):
            raise InputError("kinds of question are learnt from an evaluation: score the samples first")
        found, questions = self._found or outcomes(self._source), questions_of(self.frame)
        return learnt_types(questions, type_matrix(questions), TYPES, found.failed & found.tested, found.tested)

    def __getitem__(self, name: str) -> Dimension:
        """The dimension ``name``; also found: a tag by its bare name, one question type, ``type`` (case or question).

        Raises ``InputError`` when there is none of that name.
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
        if name in (*DERIVED, LEARNT) or name in TYPES or (name in self.frame.columns and name not in SAMPLE_FIELDS):
            return name
        if name.removeprefix("tags.") in self.tags:
            return f"tags.{name.removeprefix('tags.')}"
        raise InputError(f"there is nothing to group by under {name!r}; choose among {', '.join(self.names())[:250]}")

    @cached_property
    def tags(self) -> dict[str, list[Any]]:
        """Tag → value of every sample (None without)."""
        column = [item if isinstance(item, Mapping) else {} for item in self.frame.get("tags", ())]
        keys = dict.fromkeys(key for item in column for key in item)
        return {str(key): [item.get(key) for item in column] for key in keys}

    def _recorded(self, name: str) -> bool:
        field = "expected_docs" if name == "expected_documents" else name
        return field not in SAMPLE_FIELDS or (field in self.frame and bool(self.frame[field].notna().any()))

    def _made(self, name: str) -> Dimension:
        if name == "query_type":
            matrix = type_matrix(questions_of(self.frame))
            used = np.flatnonzero(matrix.any(axis=0))
            rows, codes = np.nonzero(matrix[:, used])
            return Dimension(name, tuple(TYPES[int(code)] for code in used), rows, codes, multiple=True)
        if name == LEARNT:
            return of_values(name, self.learnt.values)
        if name in TYPES:
            types = self["query_type"]
            held = types.mask(types.values.index(name), self.n) if name in types.values else np.zeros(self.n, bool)
            return of_values(name, ["yes" if item else "no" for item in held])
        if name.startswith("tags.") and name.removeprefix("tags.") in self.tags:
            return of_values(name, self.tags[name.removeprefix("tags.")])
        questions = questions_of(self.frame)
        if name == "language":
            return of_values(name, _each(questions, lambda text: language(text[:_QUESTION_CUT])))
        if name == "length":
            sizes = np.array(_each(questions, question_size), dtype=float)
            return _of_codes(name, LENGTHS, np.digitize(sizes, [MEDIUM_FROM, LONG_FROM]), ordered=True)
        if name == "numbers":
            return _counted(name, _each(questions, count_numbers))
        column = self.frame[name if name != "expected_documents" else "expected_docs"] if self._there(name) else None
        values = [None] * self.n if column is None else column.tolist()
        if name == "expected_documents":
            found = [judgements(none_or(item)) for item in values]
            return _counted(name, [None if own is None else sum(entry.grade >= 1 for entry in own) for own in found])
        return of_values(name, values)

    def _there(self, name: str) -> bool:
        return ("expected_docs" if name == "expected_documents" else name) in self.frame


def none_or(value: Any) -> Any:
    """A nested cell, None where it is missing."""
    return value if isinstance(value, (list, tuple, Mapping)) else none_if_missing(value)


def question_size(question: str) -> float:
    """Words of a question; of a language that does not part them, so many characters weigh as one word."""
    size = 0.0
    for item in languages():
        if item.script and not item.facts["spaced"]:
            size += len(item.script.findall(question)) / item.facts.get("characters_per_word", 2.0)
            question = item.script.sub(" ", question)
    return size + len(_WORD.findall(question))


def count_numbers(question: str) -> int:
    """Numbers written in digits, those inside identifiers (E-1207, v2) left out."""
    return len(_NUMBER.findall(question))


def _each(texts: Sequence[str], function: Callable[[str], Any]) -> list[Any]:
    """``function`` of each text; each distinct text is read once."""
    known = {text: function(text) for text in dict.fromkeys(texts)}
    return [known[text] for text in texts]


def _plain(column: pd.Series) -> bool:
    """Whether a column holds text, numbers or truth values, not lists."""
    known = column.dropna()
    return len(known) > 0 and isinstance(known.iloc[0], (str, bool, int, float, np.generic))


def of_values(name: str, values: Iterable[Any]) -> Dimension:
    """A dimension of one value a sample: text as it is, few numbers each for itself, many cut at their quartiles."""
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
    values = tuple(labels[int(code)] for code in used)
    # A code's place among those in use; that of "none" comes after all of them.
    return Dimension(name, values, np.arange(len(codes)), np.searchsorted(used, codes), numbers, ordered)


# ------------------------------------------------------------------------------
# How often samples fail in each group: by one dimension or by two, with intervals and causes.


COLUMNS = ("value", "n", "n_failing", "rate", "low", "high", "causes", "n_not_checked", "folded")
#: Between the two values of a pivot.
TIMES = " × "


class SampleOutcomes(NamedTuple):
    """Per sample: failed, tested (neither passed nor failed where False), and the primary cause by name."""

    failed: NDArray[np.bool_]
    tested: NDArray[np.bool_]
    causes: NDArray[Any]


def outcomes(evaluation: Any) -> SampleOutcomes:
    """What became of every sample, in the order of the samples."""
    causes = evaluation.causes
    return SampleOutcomes(causes.primary >= 0, causes.primary >= -1, causes.names())


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
    left, right = (pd.DataFrame({"row": part.rows, "code": part.codes}) for part in parts)
    both = left.merge(right, on="row", suffixes=("", "_other"))
    codes = both["code"].to_numpy() * (len(parts[1].values) + 1) + both["code_other"].to_numpy()
    return both["row"].to_numpy(), codes


def _values(parts: Sequence[Dimension], code: int) -> tuple[str, ...]:
    codes = [code] if len(parts) == 1 else list(divmod(code, len(parts[1].values) + 1))
    return tuple((*part.values, _t("queries.missing"))[at] for part, at in zip(parts, codes, strict=True))


def breakdown(evaluation: Any, by: str | Sequence[str], min_n: int = 5) -> pd.DataFrame:
    """Failures by group.

    Parameters
    ----------
    by
        A dimension (``query_type, case_type, language, length, numbers, expected_documents, tenant``, a tag, a column of
        the user, one question type, or ``learnt_type``: kinds learnt from the wording of failing and passing questions, see
        :mod:`workbench.diagnosis.learnt_types`), or two of them for a pivot.
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

    Examples
    --------
    >>> wb.breakdown(wb.load_evaluation("evaluations/baseline"), "language")["n"].sum().item()
    80
    """
    return grouped(Dimensions(evaluation), outcomes(evaluation), by, min_n)[0]


def grouped(
    dimensions: Dimensions, found: SampleOutcomes, by: str | Sequence[str], min_n: int = 5
) -> tuple[pd.DataFrame, list[Group]]:
    """:func:`breakdown` over what is known already, and the groups row by row."""
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


def _row(group: Group, found: SampleOutcomes) -> tuple[Any, ...]:
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
